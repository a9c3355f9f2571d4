#include <config.h>
#include "run/load.h"

#include <stdlib.h>
#include <string.h>
#include "classify/match.h"
#include "db/kraken.h"

int kh_load_devices(kh_choice *c, const char *device, const char *path, bool aligned, kh_err *err)
{
	char *file = NULL;
	bool kraken = false;

	/* what is wrong with the path is said where it is opened */
	if (kh_db_find(&file, path, NULL) == KH_OK)
		kraken = kh_db_is_kraken_file(file);
	free(file);
	if (!device || strcmp(device, "auto") == 0)
		device = !kraken && aligned ? "cpu" : "auto";   /* which alone aligns */
	return kraken ? kh_backend_choose_kraken(c, device, err)
		      : kh_backend_choose(c, device, err);
}

/* What a database of Kraken 2 cannot be asked for, and its own options. */
static int set_kraken(const kh_db *db, const kh_load_options *o, kh_err *err)
{
	kh_k2_rule *rule = &db->k2->rule;

	if (o->want != KH_WANT_NONE)
		return kh_fail(err, KH_EUSAGE, "%s: --sample-pass, --profile and --set second-best "
			       "need a database that kmerhash has built", db->path);
	if (o->on->comm)
		return kh_fail(err, KH_EUSAGE, "%s: a database of Kraken 2 is for one process",
			       db->path);
	if (o->on->choice.backend->kraken != o->on->choice.backend)
		return kh_fail(err, KH_EUSAGE, "%s: a database of Kraken 2 needs --device cpu "
			       "here, not %s", db->path, o->on->choice.backend->name);
	rule->confidence = o->confidence;
	rule->min_groups = o->min_groups;
	rule->quick = o->quick;
	return KH_OK;
}

int kh_load(kh_db **db, kh_rule *rule, const kh_load_options *o, kh_err *err)
{
	const kh_db_options d = { .no_verify = o->no_verify,
				  .later = o->on->choice.backend->loads || o->on->comm,
				  .stamps = o->stamps && !o->on->comm,
				  .again = o->verify,
				  .kraken = true,
				  .threads = o->on->threads };
	int rc = kh_db_open(db, o->path, &d, err);

	if (rc)
		return rc;
	if (!(*db)->k2 && kh_db_is_thin((*db)->h) && (o->aligned || o->want != KH_WANT_NONE))
		return kh_fail(err, KH_EUSAGE, "%s has no text, as it was built with a small "
			       "--max-db-size: --sample-pass, --profile, --paf, --sam, --set "
			       "identity and --set second-best need one that has", o->path);
	if (o->aligned && ((*db)->k2 || !o->on->choice.backend->on_host || o->on->comm))
		return kh_fail(err, KH_EUSAGE, "%s: --paf, --sam and --set identity need a "
			       "database that kmerhash has built, --device cpu and one process",
			       o->path);
	kh_rule_init(rule, (*db)->h);
	rule->confidence = (uint32_t)(o->confidence * 1000 + 0.5);
	rule->candidates = o->want;
	return (*db)->k2 ? set_kraken(*db, o, err) : KH_OK;
}
