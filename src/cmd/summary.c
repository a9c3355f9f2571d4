#include <config.h>
#include "cmd/summary.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/options.h"
#include "cmd/record.h"

static json_t *database(const kh_summary *s)
{
	const kh_db *db = s->db;
	const kh_db_header *h = db->h;
	const char *scheme = db->k2                             ? "kraken2"
			     : h->sampling.scheme == KH_SYNCMER ? "syncmer" : "minhash";
	char digest[20], name[256];

	snprintf(digest, sizeof digest, "%016" PRIx64, h->digest);
	kh_cmd_db_name(db, name, sizeof name);
	return json_pack("{s:o, s:s, s:I, s:s, s:I, s:I, s:I, s:s}", "name",
			 kh_record_path(name), "tool", h->tool,
			 "version", (json_int_t)h->version, "scheme", scheme,
			 "k", (json_int_t)h->sampling.k, "targets", (json_int_t)h->n_targets,
			 "features", (json_int_t)h->features, "digest", digest);
}

static json_t *fragments(const kh_run_summary *s)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "input", (json_int_t)s->fragments,
			 "classified", (json_int_t)s->classified,
			 "unclassified", (json_int_t)(s->fragments - s->classified),
			 "bases", (json_int_t)s->bases);
}

static json_t *run(const kh_summary *s)
{
	char date[KH_DATE];

	kh_cmd_date(kh_cmd_now(), date);
	json_t *o = json_pack("{s:s, s:o, s:s, s:i, s:f, s:f, s:f, s:I}", "date", date,
			      "sample", kh_record_path(s->sample), "backend", s->backend,
			      "threads", (int)s->threads, "seconds_database", s->seconds_database,
			      "seconds_classify", s->counts->seconds,
			      "seconds_total", kh_cmd_seconds(),
			      "peak_memory", (json_int_t)kh_cmd_peak());

	if (o && s->record && json_object_update(o, s->record)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* Whether the second pass changed calls, and how many. */
static json_t *sample(const kh_pass_result *r)
{
	const char *state = r->model->changes ? "changed"
			  : r->model->small   ? "kept: too few fragments"
					      : "kept: not asked for";

	return json_pack("{s:s, s:I, s:I, s:I}", "calls", state, "changed",
			 (json_int_t)r->changed, "classes", (json_int_t)r->classes->n,
			 "least_fragments", (json_int_t)KH_SAMPLE_LEAST);
}

/* NULL if memory ran out for any of its members. */
static json_t *summary(const kh_summary *s)
{
	json_t *options = json_pack("{s:f}", "confidence", s->confidence);

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o*, s:o}", "tool", "kmerhash",
			 "version", PACKAGE_VERSION, "database", database(s),
			 "fragments", fragments(s->counts), "options", options,
			 "sample", s->pass ? sample(s->pass) : NULL, "run", run(s));
}

int kh_summary_text(kh_buf *b, const kh_summary *s, kh_err *err)
{
	return kh_record_text(b, summary(s), KH_RECORD_REALS, err);
}
