#include <config.h>
#include "run/load.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match.h"
#include "db/join.h"
#include "db/kraken.h"

/* What is wrong with the path is said where it is opened. */
static bool is_kraken(const char *path)
{
	char *file = NULL;
	const bool is = kh_db_find(&file, path, NULL) == KH_OK && kh_db_is_kraken_file(file);

	free(file);
	return is;
}

/* Of several databases. */
static int choose_for_several(kh_choice *c, const char *device, const kh_load_options *o,
			      kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < o->n && !rc; i++)
		if (is_kraken(o->db[i]))
			rc = kh_fail(err, KH_EUSAGE, "%s: a database of Kraken 2 is not used "
				     "together with others", o->db[i]);
	return rc ? rc : kh_backend_choose(c, device, err);
}

int kh_load_devices(kh_choice *c, const char *device, const kh_load_options *o, kh_err *err)
{
	const bool kraken = o->n == 1 && is_kraken(o->db[0]);
	int rc;

	if (!device || strcmp(device, "auto") == 0)
		device = !kraken && o->aligned ? "cpu" : "auto";        /* which alone aligns */
	if (o->n > 1)
		return choose_for_several(c, device, o, err);
	rc = kh_backend_choose(c, device, err);
	if (!rc && kraken)
		c->backend = c->backend->kraken;
	return rc;
}

/* What a database of Kraken 2 cannot be asked for, and its own options. */
static int set_kraken(const kh_db *db, const kh_load_options *o, kh_err *err)
{
	kh_k2_rule *rule = &db->k2->rule;

	if (o->want != KH_WANT_NONE)
		return kh_fail(err, KH_EUSAGE, "%s: --sample-pass, --profile and --set second-best "
			       "need a database that kmerhash has built", db->path);
	if (o->on->choice.backend->kraken != o->on->choice.backend)
		return kh_fail(err, KH_EUSAGE, "%s: a database of Kraken 2 needs --device cpu "
			       "here, not %s", db->path, o->on->choice.backend->name);
	rule->confidence = o->confidence;
	rule->min_groups = o->min_groups;
	rule->quick = o->quick;
	return KH_OK;
}

/* Opens several databases, and joins them. */
static int open_several(kh_db **db, const kh_load_options *o, const kh_db_options *d, kh_err *err)
{
	kh_db **volume = kh_array(o->n, sizeof(kh_db *), err);
	int rc = volume ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < o->n && !rc; i++) {
		rc = kh_db_open(&volume[i], o->db[i], d, err);
		if (!rc && volume[i]->translated.head)
			kh_log(KH_WARN, "%s: translated seeds are not used, as there are several "
			       "databases", volume[i]->path);
	}
	if (!rc)
		rc = kh_db_join(db, volume, (unsigned)o->n, o->by_name, err);
	for (size_t i = 0; volume && i < o->n && rc; i++)
		kh_db_close(volume[i]);
	free(volume);
	return rc;
}

int kh_load(kh_db **db, kh_rule *rule, const kh_load_options *o, kh_err *err)
{
	const kh_db_options d = { .no_verify = o->no_verify,
				  .later = o->on->choice.backend->loads,
				  .stamps = o->stamps,
				  .again = o->verify,
				  .kraken = true,
				  .threads = o->on->threads };
	int rc = o->n == 1 ? kh_db_open(db, o->db[0], &d, err) : open_several(db, o, &d, err);

	if (rc)
		return rc;
	if (!(*db)->k2 && kh_db_is_thin((*db)->h) && (o->aligned || o->want != KH_WANT_NONE))
		return kh_fail(err, KH_EUSAGE, "%s lacks the bases of its references, as it was "
			       "built with a small --max-db-size: --sample-pass, --profile, "
			       "--paf, --sam, --set identity and --set second-best need them",
			       (*db)->path);
	if (o->aligned && ((*db)->k2 || !o->on->choice.backend->on_host))
		return kh_fail(err, KH_EUSAGE, "%s: --paf, --sam and --set identity need a "
			       "database that kmerhash has built, and --device cpu",
			       (*db)->path);
	if (o->unknown)
		(*db)->translated.level = *o->unknown;
	kh_rule_init(rule, (*db)->h);
	rule->confidence = (uint32_t)(o->confidence * 1000 + 0.5);
	rule->want = o->want;
	return (*db)->k2 ? set_kraken(*db, o, err) : KH_OK;
}
