/* verify.c - kmerhash verify */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cmd/options.h"
#include "db/db.h"

struct values {
	uint64_t threads;
	bool quiet;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	KH_UINT("threads", 'p', AT(threads), 1, 4096, "N", "worker threads [all CPUs]"),
	KH_FLAG("quiet", 'q', AT(quiet), "say nothing of sound databases"),
	KH_OPT_SET_ROW,
	KH_OPTS_END
};

static int run(const kh_command *c, int argc, char **argv)
{
	struct values v = { .threads = 0 };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &v), status = 0;

	if (first <= 0)
		return -first;
	if (first == argc) {
		kh_fail(&err, KH_EUSAGE, "no database is named");
		return kh_cmd_fail(c, &err);
	}
	if (kh_cmd_check_printing((const char *const *)argv + first, (size_t)(argc - first),
				  "the database", &err))
		return kh_cmd_fail(c, &err);
	if (v.quiet)
		kh_log_level(KH_ERROR);
	kh_db_options o = { .stamps = true, .again = true, .kraken = true,
			    .threads = kh_cmd_threads(v.threads) };
	for (int i = first; i < argc; i++) {
		kh_db *db = NULL;

		if (kh_db_open(&db, argv[i], &o, &err)) {
			status = kh_cmd_fail(c, &err);
			continue;
		}
		if (!v.quiet) {
			kh_cmd_print(db->path, strlen(db->path));
			printf(": sound (%" PRIu64 " bytes, %" PRIu64 " features, %" PRIu32
			       " sequences)\n", db->bytes, db->h->features, db->h->n_targets);
		}
		kh_db_close(db);
	}
	return status;
}

const kh_command kh_cmd_verify = {
	"verify", "check a database, every byte", "DATABASE.khdb...", opts, kh_settings_common, run,
	NULL
};
