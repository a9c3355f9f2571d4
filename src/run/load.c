#include <config.h>
#include "run/load.h"

int kh_load(kh_db **db, kh_rule *rule, const kh_load_options *o, kh_err *err)
{
	const kh_db_options d = { .no_verify = o->no_verify,
				  .later = o->on->choice.backend->loads || o->on->comm,
				  .stamps = o->stamps && !o->on->comm,
				  .again = o->verify,
				  .threads = o->on->threads };
	int rc = kh_db_open(db, o->path, &d, err);

	if (rc)
		return rc;
	kh_rule_init(rule, (*db)->h);
	rule->confidence = (uint32_t)(o->confidence * 1000 + 0.5);
	rule->candidates = o->candidates;
	return KH_OK;
}
