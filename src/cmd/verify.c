/* cmd_verify.c - kmerhash verify */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "cmd.h"
#include "db.h"

struct values {
	uint64_t threads;
	bool quiet;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	{ "threads", 'p', KH_OPT_UINT, "N", "worker threads [all CPUs]", AT(threads), 1, 4096 },
	{ "quiet", 'q', KH_OPT_FLAG, NULL, "say nothing of sound databases", AT(quiet), 0, 0 },
	{ NULL, 0, KH_OPT_FLAG, NULL, NULL, 0, 0, 0 }
};

static int run(const kh_command *c, int argc, char **argv)
{
	struct values v = { .threads = 0 };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &v), status = 0;

	if (first <= 0)
		return first < 0 ? 2 : 0;
	if (first == argc) {
		kh_fail(&err, KH_EUSAGE, "no database is named");
		return kh_cmd_fail(c, &err);
	}
	kh_db_options o = { .threads = kh_cmd_threads(v.threads) };
	for (int i = first; i < argc; i++) {
		kh_db *db = NULL;

		if (kh_db_open(&db, argv[i], &o, &err)) {
			status = kh_cmd_fail(c, &err);
			continue;
		}
		if (!v.quiet)
			printf("%s: sound (%" PRIu64 " bytes, %" PRIu64 " features, %" PRIu32 " targets)\n",
			       db->path, db->bytes, db->h->features, db->h->n_targets);
		kh_db_close(db);
	}
	return status;
}

const kh_command kh_cmd_verify = {
	"verify", "check a database, every byte", "DATABASE.khdb...", opts, run
};
