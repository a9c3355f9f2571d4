/* bracken_distrib.c - kmerhash bracken-distrib */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"
#include "build/bracken.h"
#include "build/references.h"
#include "cmd/options.h"
#include "db/kraken.h"
#include "io/paths.h"
#include "io/writer.h"
#include "run/load.h"

struct values {
	const char *db, *lengths, *outdir, *list, *device;
	uint64_t step, threads, block_size;
	double confidence;
	bool no_verify, allow_no_eof;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	KH_TEXT("db", 'd', AT(db), "FILE", "the database, or a folder with just one"),
	KH_TEXT("read-length", 'l', AT(lengths), "N[,N...]",
		"lengths of reads, a table for each [50,75,100,150,200,250,300]"),
	KH_TEXT("outdir", 'O', AT(outdir), "DIR",
		"folder of the tables [that of the database]"),
	KH_TEXT("list", 0, AT(list), "FILE", "names of more references, one a line"),
	KH_UINT("step", 0, AT(step), 1, 1 << 20, "N",
		"bases from the begin of one N-mer to the next [1]"),
	KH_REAL("confidence", 'c', AT(confidence), 0, 1, "SHARE",
		"as classify is going to be run [0]"),
	KH_UINT("threads", 'p', AT(threads), 1, 4096, "N", "worker threads [all CPUs]"),
	KH_TEXT("device", 0, AT(device), "NAME",
		"auto (all GPUs, else the CPU), cpu, cuda or cuda:0,2 [auto]"),
	KH_OPTS_COMMON,
	KH_OPTS_END
};

static const kh_opt settings[] = {
	KH_SIZE("block-size", 0, AT(block_size), 1, 1 << 30, "SIZE",
		"bytes of text a worker takes at a time [what suits the device]"),
	KH_FLAG("no-verify", 0, AT(no_verify), "do not check the index of the database"),
	KH_FLAG("allow-no-eof", 0, AT(allow_no_eof), "accept BGZF without its end-of-file block"),
	KH_SETTINGS_COMMON,
	KH_OPTS_END
};

enum { MAX_LENGTHS = 64, MAX_LENGTH = 100000 };

struct distrib_cmd {
	struct values v;
	uint32_t length[MAX_LENGTHS];
	unsigned n_lengths;
	char *file;                     /* the database */
	char *path[MAX_LENGTHS];        /* the tables */
	kh_writer *out[MAX_LENGTHS];
	kh_pair_counts counts[MAX_LENGTHS];
	kh_references refs;
	kh_devices on;
	kh_db *db;
	kh_distrib_summary sum;
};

/* --- options ---------------------------------------------------------------------- */
static int parse_lengths(struct distrib_cmd *j, kh_err *err)
{
	const char *text = j->v.lengths ? j->v.lengths : "50,75,100,150,200,250,300";

	for (const char *p = text;; p++) {
		char *end;
		const unsigned long n = *p >= '0' && *p <= '9' ? strtoul(p, &end, 10) : 0;

		if (n < 2 || n > MAX_LENGTH || (*end != ',' && *end != 0))
			return kh_fail(err, KH_EUSAGE, "--read-length: '%s' is not a list of "
				       "lengths from 2 to %d, with commas", text, MAX_LENGTH);
		for (unsigned i = 0; i < j->n_lengths; i++)
			if (j->length[i] == n)
				return kh_fail(err, KH_EUSAGE, "--read-length: %lu is named twice",
					       n);
		if (j->n_lengths == MAX_LENGTHS)
			return kh_fail(err, KH_EUSAGE, "--read-length: more than %d lengths",
				       MAX_LENGTHS);
		j->length[j->n_lengths++] = (uint32_t)n;
		p = end;
		if (*p == 0)
			return KH_OK;
	}
}

/* Names the tables as Bracken looks for them in its database folder. */
static int name_tables(struct distrib_cmd *j, kh_err *err)
{
	const int n = (int)(kh_base_name(j->file) - j->file);
	int rc = KH_OK;

	for (unsigned i = 0; i < j->n_lengths && !rc; i++)
		rc = kh_print(&j->path[i], err, "%.*s%sdatabase%" PRIu32 "mers.kmer_distrib",
			      j->v.outdir ? (int)strlen(j->v.outdir) : n,
			      j->v.outdir ? j->v.outdir : j->file, j->v.outdir ? "/" : "",
			      j->length[i]);
	return rc;
}

static int check_paths(const struct distrib_cmd *j, kh_err *err)
{
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	for (unsigned i = 0; i < j->n_lengths && !rc; i++)
		rc = kh_paths_output(p, j->path[i], err);
	if (!rc)
		rc = kh_paths_input(p, j->file, "the database", err);
	if (!rc)
		rc = kh_cmd_check_references(p, &j->refs, j->v.list, NULL, err);
	kh_paths_free(p);
	return rc;
}

static int find_references(struct distrib_cmd *j, int n, char **operand, kh_err *err)
{
	int rc = KH_OK;

	for (int i = 0; i < n && !rc; i++)
		rc = kh_references_add(&j->refs, operand[i], err);
	if (!rc && j->v.list)
		rc = kh_references_list(&j->refs, j->v.list, err);
	if (!rc && j->refs.n == 0 && j->refs.errs.found == 0)
		return kh_fail(err, KH_EUSAGE, "no references are named: those that the database "
			       "was made of are needed");
	return rc ? rc : kh_references_check(&j->refs, err);
}

static int prepare(struct distrib_cmd *j, int n, char **operand, kh_err *err)
{
	int rc = parse_lengths(j, err);

	if (!rc && (!j->v.db || !*j->v.db))
		return kh_fail(err, KH_EUSAGE, "--db FILE is needed");
	if (!rc && kh_db_is_kraken(j->v.db))
		return kh_fail(err, KH_EUSAGE, "%s is a database of Kraken 2: bracken-build, of "
			       "Bracken, makes its tables", j->v.db);
	if (rc || (rc = find_references(j, n, operand, err)) ||
	    (rc = kh_db_find(&j->file, j->v.db, err)) || (rc = name_tables(j, err)))
		return rc;
	if (j->refs.errs.found > 0)
		return kh_fail(err, j->refs.errs.v[0].code, "%zu error%s, no tables are made",
			       j->refs.errs.found, kh_plural(j->refs.errs.found));
	rc = check_paths(j, err);
	return rc ? rc : kh_backend_choose(&j->on.choice, j->v.device ? j->v.device : "auto", err);
}

/* --- the run ------------------------------------------------------------------------ */
static int open_database(struct distrib_cmd *j, kh_rule *rule, kh_err *err)
{
	const kh_load_options o = { .db = (const char *const *)&j->file,
				    .n = 1,
				    .on = &j->on,
				    .no_verify = j->v.no_verify,
				    .stamps = true,
				    .confidence = j->v.confidence };
	int rc = kh_load(&j->db, rule, &o, err);

	for (unsigned i = 0; i < j->n_lengths && !rc; i++)
		if (j->length[i] < j->db->h->sampling.k)
			rc = kh_fail(err, KH_EUSAGE, "--read-length: %" PRIu32 " is less than a "
				     "k-mer of this database has, %" PRIu32, j->length[i],
				     j->db->h->sampling.k);
	return rc;
}

static int open_tables(struct distrib_cmd *j, kh_err *err)
{
	int rc = j->v.outdir ? kh_cmd_make_folder(j->v.outdir, err) : KH_OK;

	for (unsigned i = 0; i < j->n_lengths && !rc; i++) {
		const kh_writer_options o = { .path = j->path[i], .threads = 1 };

		rc = kh_writer_open(&j->out[i], &o, err);
	}
	return rc;
}

static int write_tables(struct distrib_cmd *j, kh_err *err)
{
	kh_buf b = { .n = 0 };
	int rc = KH_OK;

	for (unsigned i = 0; i < j->n_lengths && !rc; i++) {
		b.n = 0;
		rc = kh_kmer_distrib(&b, &j->counts[i], j->db->tax, err);
		if (!rc)
			rc = kh_writer_put(j->out[i], b.p, b.n, err);
	}
	free(b.p);
	return rc ? rc : kh_writer_commit(j->out, j->n_lengths, err);
}

static int distrib(struct distrib_cmd *j, int n, char **operand, kh_err *err)
{
	kh_rule rule;
	int rc;

	j->on.threads = kh_cmd_threads(j->v.threads);
	if ((rc = prepare(j, n, operand, err)) || (rc = open_tables(j, err)) ||
	    (rc = open_database(j, &rule, err)))
		return rc;
	const kh_distrib_options o = { .refs = (const char *const *)j->refs.path,
				       .n_refs = j->refs.n,
				       .length = j->length,
				       .n_lengths = j->n_lengths,
				       .step = (uint32_t)j->v.step,
				       .rule = &rule,
				       .on = &j->on,
				       .block_size = j->v.block_size,
				       .allow_no_eof = j->v.allow_no_eof };
	rc = kh_distrib(j->counts, j->db, &o, &j->sum, err);
	return rc ? rc : write_tables(j, err);
}

static void log_summary(const struct distrib_cmd *j)
{
	const kh_distrib_summary *s = &j->sum;
	const double t = s->seconds > 0 ? s->seconds : 1e-9;

	kh_log(KH_INFO, "%" PRIu64 " sequence%s, %" PRIu64 " N-mer%s of %u length%s, %.2f %% "
	       "classified", s->sequences, kh_plural(s->sequences), s->nmers,
	       kh_plural(s->nmers), j->n_lengths, kh_plural(j->n_lengths),
	       s->nmers ? 100.0 * (double)s->classified / (double)s->nmers : 0.0);
	kh_log(KH_DEBUG, "classified were %" PRIu64 " of them, the others are called as these",
	       s->calls);
	kh_log(KH_INFO, "%s bracken-distrib on %s: %.0f N-mers/s, %.1f s, %s of memory",
	       PACKAGE_STRING, j->on.choice.backend->name, (double)s->nmers / t, t,
	       kh_size_show(kh_cmd_peak()).s);
}

static void clear(struct distrib_cmd *j)
{
	for (unsigned i = 0; i < j->n_lengths; i++) {
		kh_writer_close(j->out[i]);
		kh_pair_counts_clear(&j->counts[i]);
		free(j->path[i]);
	}
	kh_db_close(j->db);
	kh_references_clear(&j->refs);
	free(j->file);
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct distrib_cmd j = { .v = { .db = getenv("KMERHASH_DB"), .step = 1 } };
	kh_err err = { 0, "" };
	const int first = kh_opt_parse(c, argc, argv, &j.v);

	if (first <= 0)
		return -first;
	int rc = distrib(&j, argc - first, argv + first, &err);
	if (rc)
		rc = j.refs.errs.found ? kh_cmd_fail_all(c, &j.refs.errs) : kh_cmd_fail(c, &err);
	else
		log_summary(&j);
	clear(&j);
	return rc;
}

const kh_command kh_cmd_bracken_distrib = {
	"bracken-distrib", "make the tables that Bracken needs of a database",
	"REFERENCE.fa[.gz]|FOLDER...", opts, settings, run, NULL
};
