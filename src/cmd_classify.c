/* cmd_classify.c - kmerhash classify */
#include <config.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "build.h"
#include "clash.h"
#include "cmd.h"
#include "mem.h"
#include "output.h"
#include "ranks.h"
#include "run.h"

struct values {
	kh_words references, maps, seqids;
	const char *taxonomy;
	const char *db, *output, *report, *json, *classified, *unclassified, *device, *col5, *placement;
	uint64_t threads, block_size;
	double confidence;
	bool paired, interleaved, precise, names, zero_counts, minimizer_data, mpa;
	bool no_mate_check, allow_no_eof, no_verify;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	{ "db", 'd', KH_OPT_TEXT, "FILE", "the database, or a folder with just one", AT(db), 0, 0 },
	{ "references", 'R', KH_OPT_LIST, "FILE", "in place of a database: references, indexed in memory",
	  AT(references), 0, 0 },
	{ "taxonomy", 't', KH_OPT_TEXT, "DIR", "taxonomy of the references, as for build", AT(taxonomy), 0, 0 },
	{ "accession2taxid", 'a', KH_OPT_LIST, "FILE", "table of accessions, as for build", AT(maps), 0, 0 },
	{ "seqid2taxid", 'm', KH_OPT_LIST, "FILE", "table of sequence ids, as for build", AT(seqids), 0, 0 },
	{ "threads", 'p', KH_OPT_UINT, "N", "worker threads [all CPUs]", AT(threads), 1, 4096 },
	{ "paired", 'P', KH_OPT_FLAG, NULL, "files come in pairs: mates 1, mates 2", AT(paired), 0, 0 },
	{ "interleaved", 'i', KH_OPT_FLAG, NULL, "mates follow one another in one file", AT(interleaved), 0, 0 },
	{ "output", 'o', KH_OPT_TEXT, "FILE", "a line for each read or pair; '-': no lines [standard output]",
	  AT(output), 0, 0 },
	{ "report", 'r', KH_OPT_TEXT, "FILE", "table of taxa", AT(report), 0, 0 },
	{ "json", 0, KH_OPT_TEXT, "FILE", "summary of the run", AT(json), 0, 0 },
	{ "confidence", 'c', KH_OPT_REAL, "SHARE", "features of a read that must agree with the call [0]",
	  AT(confidence), 0, 1 },
	{ "precise", 0, KH_OPT_FLAG, NULL, "fewer, surer calls of species", AT(precise), 0, 0 },
	{ "use-names", 'n', KH_OPT_FLAG, NULL, "names beside taxids in the lines", AT(names), 0, 0 },
	{ "classified-out", 'C', KH_OPT_TEXT, "FILE", "classified reads ('#' in pairs: _1 and _2)",
	  AT(classified), 0, 0 },
	{ "unclassified-out", 'U', KH_OPT_TEXT, "FILE", "the others, alike", AT(unclassified), 0, 0 },
	{ "report-zero-counts", 0, KH_OPT_FLAG, NULL, "taxa without reads in the report, too",
	  AT(zero_counts), 0, 0 },
	{ "report-minimizer-data", 0, KH_OPT_FLAG, NULL, "features and distinct features in the report",
	  AT(minimizer_data), 0, 0 },
	{ "use-mpa-style", 0, KH_OPT_FLAG, NULL, "lineage and count in the report", AT(mpa), 0, 0 },
	{ "kraken-col5", 0, KH_OPT_TEXT, "WHAT", "column 5: features, or none [features]", AT(col5), 0, 0 },
	{ "no-mate-check", 0, KH_OPT_FLAG, NULL, "names of mates need not agree", AT(no_mate_check), 0, 0 },
	{ "allow-no-eof", 0, KH_OPT_FLAG, NULL, "accept BGZF without its end-of-file block",
	  AT(allow_no_eof), 0, 0 },
	{ "no-verify", 0, KH_OPT_FLAG, NULL, "do not check the index of the database", AT(no_verify), 0, 0 },
	{ "device", 0, KH_OPT_TEXT, "NAME", "auto, cpu, cuda or cuda:0,2 [auto]", AT(device), 0, 0 },
	{ "placement", 0, KH_OPT_TEXT, "WHERE", "index on several devices or ranks: auto, replicate, shard [auto]",
	  AT(placement), 0, 0 },
	{ "block-size", 0, KH_OPT_SIZE, "SIZE", "bytes of text a worker takes at a time [what suits the device]",
	  AT(block_size), 1, 1 << 30 },
	{ "quiet", 'q', KH_OPT_QUIETER, NULL, "errors only", 0, 0, 0 },
	{ "verbose", 'v', KH_OPT_LOUDER, NULL, "say more", 0, 0, 0 },
	{ "gzip-compressed", 0, KH_OPT_SILENT, NULL, "as kraken2; compression is detected", 0, 0, 0 },
	{ "bzip2-compressed", 0, KH_OPT_NOTE, NULL, "as kraken2; ignored", 0, 0, 0 },
	{ "memory-mapping", 'M', KH_OPT_NOTE, NULL, "as kraken2; ignored", 0, 0, 0 },
	{ "quick", 'Q', KH_OPT_NOTE, NULL, "as kraken2; ignored", 0, 0, 0 },
	{ "minimum-hit-groups", 'g', KH_OPT_NOTE_ARG, "N", "as kraken2; ignored", 0, 0, 0 },
	{ "minimum-base-quality", 0, KH_OPT_NOTE_ARG, "N", "as kraken2; ignored", 0, 0, 0 },
	{ NULL, 0, KH_OPT_FLAG, NULL, NULL, 0, 0, 0 }
};

/* Everything a run holds. */
struct job {
	struct values v;
	kh_run_options o;
	kh_words file[2];
	char *name[2][2];               /* classified, unclassified; mates in files of their own */
	kh_choice choice;
	kh_comm *comm;                  /* NULL: one rank; else: */
	kh_ranks *ranks;
	kh_backend dealing;
	kh_choice deal;                 /* rank 0: that deals tasks to all */
	kh_monitor *m;
	kh_feed *feed;
	kh_db *db;
	kh_tally tally;
	kh_run_summary sum;
	kh_out *report, *json;          /* NULL: not wanted */
	int memory;                     /* file of the database of --references, or -1 */
	double loaded;                  /* seconds until the database was there */
};

/* --- options ----------------------------------------------------------------------------- */
/* With '#' in its name, a file for each mate. */
static int split_name(const char *name, bool paired, char *out[2], kh_err *err)
{
	const char *hash = name ? strchr(name, '#') : NULL;

	if (!name)
		return KH_OK;
	if (!paired || !hash) {
		out[0] = strdup(name);
		return out[0] ? KH_OK : kh_fail_nomem(err);
	}
	for (int i = 0; i < 2; i++)
		if (asprintf(&out[i], "%.*s_%d%s", (int)(hash - name), name, i + 1, hash + 1) < 0) {
			out[i] = NULL;
			return kh_fail_nomem(err);
		}
	return KH_OK;
}

static int add_inputs(struct job *j, int n, char **path, kh_err *err)
{
	bool two = j->v.paired && !j->v.interleaved;
	int rc = KH_OK;

	if (n == 0)
		return kh_fail(err, KH_EUSAGE, "no reads are named");
	if (two && n % 2)
		return kh_fail(err, KH_EUSAGE, "--paired needs an even number of files, not %d", n);
	for (int i = 0; i < n && !rc; i++) {
		kh_words *w = &j->file[two ? i % 2 : 0];

		if ((rc = kh_comm_check_input(j->comm, path[i], err)))
			return rc;
		rc = kh_grow((void **)&w->v, &w->cap, w->n + 1, sizeof *w->v, err);
		if (!rc)
			w->v[w->n++] = path[i];
	}
	return rc;
}

static int check_files(const struct job *j, int n, char **input, kh_err *err)
{
	const char *path[] = { j->o.output, j->v.report, j->v.json, j->name[0][0], j->name[0][1],
			       j->name[1][0], j->name[1][1] };
	const kh_paths out = { path, sizeof path / sizeof *path };
	const kh_words *more[] = { &j->v.references, &j->v.maps, &j->v.seqids };
	char *db = NULL;
	int rc = kh_clash_outputs(out, err);

	if (!rc)
		rc = kh_clash_inputs(out, (kh_paths) { (const char *const *)input, (size_t)n }, "an input", err);
	for (int i = 0; i < 3 && !rc; i++)
		rc = kh_clash_inputs(out, (kh_paths) { more[i]->v, more[i]->n }, "an input", err);
	if (rc || j->v.references.n)
		return rc;
	rc = kh_db_find(&db, j->v.db, err);
	if (!rc)
		rc = kh_clash_inputs(out, (kh_paths) { (const char *const *)&db, 1 }, "the database", err);
	free(db);
	return rc;
}

static int set_placement(struct job *j, kh_err *err)
{
	static const char *const name[] = {
		[KH_PLACE_AUTO] = "auto", [KH_PLACE_REPLICATE] = "replicate", [KH_PLACE_SHARD] = "shard",
		[KH_PLACE_SHARD_PEER] = "shard-peer", [KH_PLACE_SHARD_EXCHANGE] = "shard-exchange"
	};
	enum { N = sizeof name / sizeof *name };
	unsigned i = KH_PLACE_AUTO;

	while (i < N && j->v.placement && strcmp(j->v.placement, name[i]) != 0)
		i++;
	if (i == N)
		return kh_fail(err, KH_EUSAGE, "--placement: '%s' is none of auto, replicate and shard",
			       j->v.placement);
	j->o.placement = (enum kh_placement)i;
	if (!j->v.references.n || !j->comm)
		return KH_OK;
	if (i >= KH_PLACE_SHARD)
		return kh_fail(err, KH_EUSAGE, "each rank indexes --references: --placement shard needs --db");
	j->o.placement = KH_PLACE_REPLICATE;
	return KH_OK;
}

static int to_options(struct job *j, int n, char **path, kh_err *err)
{
	struct values *v = &j->v;
	int rc;

	if (v->references.n && !v->taxonomy)
		return kh_fail(err, KH_EUSAGE, "--references needs --taxonomy DIR");
	if (v->references.n && v->db && v->db != getenv("KMERHASH_DB"))
		return kh_fail(err, KH_EUSAGE, "--references are in place of --db: not both");
	if (!v->references.n && (!v->db || !*v->db))
		return kh_fail(err, KH_EUSAGE, "--db FILE is needed, or --references FILE");
	if (v->col5 && strcmp(v->col5, "none") != 0 && strcmp(v->col5, "features") != 0)
		return kh_fail(err, KH_EUSAGE, "--kraken-col5: '%s' is neither features nor none", v->col5);
	if ((v->minimizer_data || v->zero_counts || v->mpa) && !v->report)
		return kh_fail(err, KH_EUSAGE, "the shape of a report is asked for, but --report is not");
	if (v->minimizer_data && v->mpa)
		return kh_fail(err, KH_EUSAGE, "--use-mpa-style has no columns for --report-minimizer-data");
	if (v->minimizer_data && v->zero_counts) {      /* some readers divide by the distinct ones */
		kh_log(KH_WARN, "--report-zero-counts is left out beside --report-minimizer-data");
		v->zero_counts = false;
	}
	j->o.paired = v->paired || v->interleaved;
	j->o.output = !v->output ? "-" : strcmp(v->output, "-") == 0 ? NULL : v->output;
	j->o.threads = kh_cmd_threads(v->threads);
	j->o.sketches = v->minimizer_data;
	j->o.style.names = v->names;
	j->o.style.no_col5 = v->col5 && strcmp(v->col5, "none") == 0;
	if ((rc = set_placement(j, err)) || (rc = add_inputs(j, n, path, err)) ||
	    (rc = split_name(v->classified, j->o.paired, j->name[0], err)) ||
	    (rc = split_name(v->unclassified, j->o.paired, j->name[1], err)))
		return rc;
	for (int i = 0; i < 2; i++) {
		j->o.classified[i] = j->name[0][i];
		j->o.unclassified[i] = j->name[1][i];
	}
	return check_files(j, n, path, err);
}

static void feed_options(struct job *j)
{
	const kh_backend *be = j->o.choice->backend;
	const size_t suits = j->o.placement == KH_PLACE_SHARD_EXCHANGE ? be->far_block_size : be->block_size;

	j->o.feed = (kh_feed_options) {
		.path = { j->file[0].v, j->file[1].v }, .n_path = { j->file[0].n, j->file[1].n },
		.interleaved = j->v.interleaved, .no_mate_check = j->v.no_mate_check,
		.allow_no_eof = j->v.allow_no_eof, .block_size = j->v.block_size ? j->v.block_size : suits,
		.n_blocks = (size_t)j->o.threads * (be->depth + 1) + 2
	};
}

/* --- report and summary ------------------------------------------------------------------ */
/* All but its name. */
static int write_file(kh_out *out, const char *p, size_t n, kh_err *err)
{
	int rc = kh_out_write(out, p, n, err);

	return rc ? rc : kh_out_sync(out, err);
}

static int write_report(struct job *j, kh_err *err)
{
	kh_report_options o = { j->v.zero_counts, j->v.minimizer_data, j->v.mpa };
	kh_buf b = { NULL, 0, 0 };
	int rc = kh_report(&b, j->db->tax, &j->tally, &o, err);

	if (!rc)
		rc = write_file(j->report, b.p, b.n, err);
	free(b.p);
	return rc;
}

/* Counts and parameters are the same for any backend and number of threads; what is
 * not stands in "run". */
static json_t *summary(const struct job *j)
{
	const kh_db_header *h = j->db->h;
	const kh_run_summary *s = &j->sum;
	char digest[20];

	snprintf(digest, sizeof digest, "%016" PRIx64, h->digest);
	return json_pack(
		"{s:s, s:s, s:{s:s, s:I, s:s, s:I, s:I, s:I, s:s}, s:{s:I, s:I, s:I, s:I}, "
		"s:{s:f, s:b}, s:{s:s, s:i, s:i, s:f, s:f, s:f, s:I}}",
		"tool", "kmerhash", "version", PACKAGE_VERSION,
		"database", "tool", h->tool, "version", (json_int_t)h->version,
		"scheme", h->sketch.scheme == KH_SYNCMER ? "syncmer" : "minhash",
		"k", (json_int_t)h->sketch.k, "targets", (json_int_t)h->n_targets,
		"features", (json_int_t)h->features, "digest", digest,
		"fragments", "input", (json_int_t)s->fragments, "classified", (json_int_t)s->classified,
		"unclassified", (json_int_t)(s->fragments - s->classified), "bases", (json_int_t)s->bases,
		"options", "confidence", j->v.confidence, "precise", (int)j->v.precise,
		"run", "backend", j->choice.backend->name, "ranks", (int)kh_comm_size(j->comm), "threads", (int)j->o.threads,
		"seconds_database", j->loaded, "seconds_classify", s->seconds,
		"seconds_total", kh_cmd_seconds(), "peak_memory", (json_int_t)kh_cmd_peak());
}

static int write_json(const struct job *j, kh_err *err)
{
	json_t *root = summary(j);
	char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
	kh_buf b = { NULL, 0, 0 };
	int rc = text ? kh_buf_add(&b, text, strlen(text), err) : kh_fail_nomem(err);

	if (!rc)
		rc = kh_buf_add(&b, "\n", 1, err);
	if (!rc)
		rc = write_file(j->json, b.p, b.n, err);
	free(b.p);
	free(text);
	json_decref(root);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------- */
/* A database of the references in an anonymous file of memory; its name for kh_db_open. */
static int build_in_memory(struct job *j, char name[32], kh_err *err)
{
	kh_build_options o = { .refs = j->v.references.v, .n_refs = j->v.references.n, .db = name,
		.taxonomy = j->v.taxonomy, .sketch = { .scheme = KH_SYNCMER, .stride = KH_STRIDE },
		.max_span = KH_MAX_SPAN, .threads = j->o.threads,
		.device = j->v.device ? j->v.device : "auto", .max_unmapped = KH_MAX_UNMAPPED,
		.allow_no_eof = j->v.allow_no_eof };
	kh_words *maps = &j->v.seqids;          /* these go first, as in build */
	kh_build_summary sum;
	int rc = kh_grow((void **)&maps->v, &maps->cap, maps->n + j->v.maps.n, sizeof *maps->v, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < j->v.maps.n; i++)
		maps->v[maps->n++] = j->v.maps.v[i];
	o.maps = maps->v;
	o.n_maps = maps->n;
	j->memory = memfd_create("kmerhash", MFD_CLOEXEC);
	if (j->memory < 0)
		return kh_fail_errno(err, "memory for the index");
	snprintf(name, 32, "/proc/self/fd/%d", j->memory);
	rc = kh_build(&o, &sum, err);
	if (!rc)
		kh_log(KH_INFO, "%" PRIu32 " targets, %" PRIu64 " bases indexed in memory: %" PRIu64 " bytes",
		       sum.header.n_targets, sum.header.bases, sum.header.file_bytes);
	return rc;
}

static int load_db(struct job *j, kh_err *err)
{
	kh_db_options o = { .no_verify = j->v.no_verify, .later = j->choice.backend->loads || j->comm,
			    .threads = j->o.threads };
	char name[32];
	int rc = j->v.references.n ? build_in_memory(j, name, err) : KH_OK;

	if (!rc)
		rc = kh_db_open(&j->db, j->v.references.n ? name : j->v.db, &o, err);
	if (rc)
		return rc;
	kh_rule_init(&j->o.rule, j->db->h);
	j->o.rule.confidence = (uint32_t)(j->v.confidence * 1000 + 0.5);
	j->o.rule.precise = j->v.precise;
	j->o.style.tax = j->db->tax;
	j->o.style.k = j->db->h->sketch.k;
	j->loaded = kh_cmd_seconds();
	return KH_OK;
}

/* Early: a folder that cannot be written to is told at once. */
static int open_tables(struct job *j, kh_err *err)
{
	int rc = j->v.report ? kh_out_open(&j->report, j->v.report, err) : KH_OK;

	if (!rc && j->v.json)
		rc = kh_out_open(&j->json, j->v.json, err);
	return rc;
}

static int write_tables(void *arg, kh_err *err)
{
	struct job *j = arg;
	int rc = j->report ? write_report(j, err) : KH_OK;

	return rc || !j->json ? rc : write_json(j, err);
}

static void tell(const struct job *j)
{
	const kh_run_summary *s = &j->sum;
	double t = s->seconds > 0 ? s->seconds : 1e-9;

	kh_log(KH_INFO, "%" PRIu64 " %s, %" PRIu64 " classified (%.2f %%)", s->fragments,
	       j->o.paired ? "pairs" : "reads", s->classified,
	       s->fragments ? 100.0 * (double)s->classified / (double)s->fragments : 0.0);
	kh_log(KH_INFO, "%s classify on %s: %.0f %s/s, %.1f s and %.1f s for the database, %.0f MB of memory",
	       PACKAGE_STRING, j->choice.backend->name, (double)s->fragments / t,
	       j->o.paired ? "pairs" : "reads", t, j->loaded, (double)kh_cmd_peak() * 1e-6);
}

/* --- one rank, or several ------------------------------------------------------------------- */
static kh_ranks_options ranks_options(const struct job *j)
{
	return (kh_ranks_options) {
		.comm = j->comm, .choice = &j->choice, .rule = &j->o.rule, .placement = j->o.placement,
		.threads = j->o.threads, .block_size = j->o.feed.block_size, .no_verify = j->v.no_verify,
		.sketches = j->o.sketches
	};
}

static int join_ranks(struct job *j, kh_err *err)
{
	const kh_ranks_options o = ranks_options(j);
	int rc = j->comm ? kh_ranks_open(&j->ranks, j->db, &o, err) : KH_OK;

	if (rc || !j->comm)
		return rc;
	const kh_share s = kh_ranks_share(j->ranks);
	kh_log(KH_DEBUG, "%s of the index on %s: ranges %u to %u, %" PRIu64 " bytes",
	       s.sharded ? "a part" : "all", j->choice.backend->name, s.from, s.to, s.bytes);
	j->o.ranks = j->ranks;
	return KH_OK;
}

/* Rank 0, or the only one. */
static int lead(struct job *j, kh_err *err)
{
	int rc;

	if ((rc = kh_monitor_new(&j->m, err)) || (rc = kh_feed_open(&j->feed, &j->o.feed, j->m, err)) ||
	    (rc = open_tables(j, err)) || (rc = load_db(j, err)) || (rc = join_ranks(j, err)) ||
	    (rc = kh_run(&j->o, j->db, j->feed, j->m, &j->tally, &j->sum, err)))
		return rc;
	if (j->report)
		rc = kh_out_commit(j->report, err);
	return rc || !j->json ? rc : kh_out_commit(j->json, err);
}

/* All others: no input, no output. */
static int follow(struct job *j, kh_err *err)
{
	int rc = load_db(j, err);

	if (!rc)
		rc = join_ranks(j, err);
	return rc ? rc : kh_ranks_serve(j->ranks, err);
}

static int classify(struct job *j, kh_err *err)
{
	int rc = kh_backend_choose(&j->choice, j->v.device ? j->v.device : "auto", err);

	if (rc)
		return rc;
	if (j->comm) {
		const kh_ranks_options o = ranks_options(j);

		if ((rc = kh_ranks_backend(&j->dealing, &o, err)))
			return rc;
		j->deal = (kh_choice) { .backend = &j->dealing, .n = 1 };
	}
	j->o.comm = j->comm;
	j->o.choice = j->comm ? &j->deal : &j->choice;
	j->o.before_commit = write_tables;
	j->o.arg = j;
	feed_options(j);
	rc = kh_comm_rank(j->comm) == 0 ? lead(j, err) : follow(j, err);
	return rc || !j->comm ? rc : kh_comm_barrier(j->comm, err);     /* all is well everywhere */
}

static void clear(struct job *j)
{
	kh_tally_clear(&j->tally);
	kh_ranks_close(j->ranks);
	kh_feed_close(j->feed);
	kh_monitor_free(j->m);
	kh_db_close(j->db);
	if (j->memory >= 0)
		close(j->memory);
	free(j->v.references.v);
	free(j->v.maps.v);
	free(j->v.seqids.v);
	kh_out_close(j->report);
	kh_out_close(j->json);
	for (int i = 0; i < 2; i++) {
		free(j->file[i].v);
		free(j->name[i][0]);
		free(j->name[i][1]);
	}
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct job j = { .v = { .db = getenv("KMERHASH_DB") }, .memory = -1 };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &j.v), rc;

	if (first <= 0) {
		clear(&j);
		return first == -2 ? 1 : first < 0 ? 2 : 0;
	}
	rc = kh_comm_open(&j.comm, &err);
	kh_log_rank(kh_comm_rank(j.comm));
	if (!rc)
		rc = to_options(&j, argc - first, argv + first, &err);
	if (!rc)
		rc = classify(&j, &err);
	if (rc && j.comm)
		kh_comm_fail(j.comm, &err);
	if (rc)
		rc = kh_cmd_fail(c, &err);
	else if (kh_comm_rank(j.comm) == 0)
		tell(&j);
	clear(&j);
	kh_comm_close(j.comm);
	return rc;
}

const kh_command kh_cmd_classify = {
	"classify", "report the taxa of reads", "READS.fq[.gz]...", opts, run
};
