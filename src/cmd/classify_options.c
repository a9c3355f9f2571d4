/* classify_options.c - the options of classify: checks them, and sets up the run by them */
#include <config.h>
#include "cmd/classify_in.h"

#include <stdlib.h>
#include <string.h>
#include "db/kraken.h"
#include "translated/level.h"

#define AT(field) offsetof(struct classify_values, field)

const kh_opt kh_classify_opts[] = {
	KH_LIST("db", 'd', AT(db), "FILE",
		"a database, or a folder with just one; several are used as one"),
	KH_UINT("threads", 'p', AT(threads), 1, 4096, "N", "worker threads [all CPUs]"),
	KH_FLAG("paired", 'P', AT(reads.paired), "files come in pairs: mates 1, mates 2"),
	KH_FLAG("interleaved", 'i', AT(reads.interleaved), "mates follow one another in one file"),
	KH_TEXT("output", 'o', AT(out.output), "FILE",
		"a line for each read or pair; '-': no lines [standard output]"),
	KH_TEXT("report", 'r', AT(out.report), "FILE", "table of taxa"),
	KH_TEXT("json", 0, AT(out.json), "FILE", "summary of the run"),
	KH_TEXT("html", 0, AT(out.html), "FILE", "the result as a page for a browser"),
	KH_TEXT("paf", 0, AT(out.paf), "FILE", "where reads lie in references"),
	KH_TEXT("sam", 0, AT(out.sam), "FILE",
		"the same with the reads, for viewers; --extract chooses taxa"),
	KH_TEXT("prefix", 0, AT(out.prefix), "OUT",
		"names what is written: OUT.tsv, OUT.report, OUT.json, ..."),
	KH_TEXT("write", 0, AT(out.write), "WHAT[,WHAT...]",
		"of --prefix or --samples: lines or lines.gz, report, json, html, profile,\n"
		"                                   paf or paf.gz, sam or sam.gz\n"
		"                                   [lines,report,json]"),
	KH_TEXT("samples", 's', AT(many.samples), "SHEET",
		"many samples: a table of sample, reads1, reads2, perhaps control"),
	KH_TEXT("outdir", 'O', AT(out.outdir), "DIR",
		"of samples: SAMPLE.report, SAMPLE.json and SAMPLE.tsv go there"),
	KH_FLAG("resume", 0, AT(many.resume), "of samples: pass over those that are there already"),
	KH_TEXT("candidates", 0, AT(out.candidates), "FILE",
		"of a database that is one part of several: what --join needs"),
	KH_LIST("join", 0, AT(join), "FILE",
		"candidates of a --db; one of each: only reads that several parts\n"
		"                                   know are compared"),
	KH_REAL("confidence", 'c', AT(confidence), 0, 1, "SHARE",
		"share of a read's 12-mers that must match the called reference [0]"),
	KH_FLAG("sample-pass", 0, AT(sample_pass),
		"calls are checked by what the whole sample says"),
	KH_TEXT("profile", 0, AT(out.profile), "FILE",
		"table of species: how much of each, how near"),
	KH_FLAG("use-names", 'n', AT(line.names), "names beside taxids in the lines"),
	KH_TEXT("classified-out", 'C', AT(out.classified), "FILE",
		"classified reads ('#' in pairs: _1 and _2)"),
	KH_TEXT("unclassified-out", 'U', AT(out.unclassified), "FILE", "the others, alike"),
	KH_LIST("extract", 'e', AT(extract), "TAXA",
		"--classified-out, --paf and --sam take reads of these clades\n"
		"                                   (taxids or names) only"),
	KH_LIST("exclude", 'x', AT(exclude), "TAXA",
		"reads of these clades go to neither file"),
	KH_TEXT("device", 0, AT(device), "NAME",
		"auto (all GPUs, else the CPU), cpu, cuda or cuda:0,2 [auto]"),
	KH_OPTS_COMMON,
	KH_GONE("output-format", "--write has lines, lines.gz or neither"),
	KH_GONE("report-minimizer-data", "--set distinct does the same"),
	KH_GONE("precise",
		"--confidence 0.3 avoids as many wrong calls, and loses fewer right ones"),
	KH_OPTS_END
};

const kh_group kh_classify_groups[] = {
	{ "db", "The database", "--db refs.khdb reads.fq.gz >lines.tsv" },
	{ "paired", "Reads", "--db refs.khdb --paired reads_1.fq.gz reads_2.fq.gz >lines.tsv" },
	{ "output", "Results", "--db refs.khdb --report r.report --html r.html -o - reads.fq" },
	{ "samples", "Many samples", "--db refs.khdb --samples sheet.tsv --outdir results" },
	{ "candidates", "A database in parts",
	  "--db a.khdb --db b.khdb --join a.cand --join b.cand reads.fq >lines.tsv" },
	{ "confidence", "Calls", "--db refs.khdb --sample-pass --profile p.tsv -o - reads.fq" },
	{ "use-names", "Lines", "--db refs.khdb --use-names reads.fq >lines.tsv" },
	{ "classified-out", "Reads by taxon",
	  "--db refs.khdb --extract 9606 --unclassified-out rest.fq --output - reads.fq" },
	{ "device", "The run", "--db refs.khdb --device cuda:0 --quiet reads.fq >lines.tsv" },
	{ NULL, NULL, NULL }
};

const kh_opt kh_classify_settings[] = {
	KH_TEXT("placement", 0, AT(placement), "WHERE",
		"where the index lies: auto, replicate, shard, host or host-lists [auto]"),
	KH_TEXT("join", 0, AT(join_taxa), "names",
		"of several databases: taxa of lineages are found by name and rank"),
	KH_TEXT("unknown", 0, AT(unknown), "LEVEL",
		"genera, families of unknown species: strict, balanced, sensitive [strict]"),
	KH_FLAG("distinct", 0, AT(distinct), "features and distinct features in the report"),
	KH_FLAG("zero-counts", 0, AT(zero_counts), "taxa without reads in the report"),
	KH_FLAG("mpa-style", 0, AT(mpa), "the report in the style of MetaPhlAn"),
	KH_TEXT("check-sheet", 0, AT(many.check_sheet), "SHEET",
		"only check a table of samples, and print its rows"),
	KH_TEXT("sample", 0, AT(many.sample), "NAME",
		"what the sample is called [--prefix, or the first input]"),
	KH_FLAG("keep-going", 0, AT(many.keep_going), "of samples: go on behind one that fails"),
	KH_FLAG("lineage-column", 0, AT(line.lineage),
		"a column more in the lines: the lineage of the taxon"),
	KH_FLAG("second-best", 0, AT(line.second),
		"a column more in the lines: the second-best taxon and its hits"),
	KH_FLAG("identity", 0, AT(line.identity),
		"a column more in the lines: the identity"),
	KH_FLAG("no-mate-check", 0, AT(reads.no_mate_check), "names of mates need not agree"),
	KH_FLAG("allow-no-eof", 0, AT(reads.allow_no_eof),
		"accept BGZF without its end-of-file block"),
	KH_FLAG("no-verify", 0, AT(no_verify), "do not check the index of the database"),
	KH_FLAG("verify", 0, AT(verify), "check it, though it has not changed since it was"),
	KH_SIZE("gpu-memory", 0, AT(gpu_memory), 0, 0, "SIZE",
		"use at most this much of a GPU's memory"),
	KH_TEXT("inflate", 0, AT(inflate), "WHO",
		"who inflates large gzip files: device, where it can, or host [device]"),
	KH_TEXT("parse", 0, AT(parse), "WHO",
		"who parses reads, for reports and lines: the same [device, plain files host]"),
	KH_SIZE("block-size", 0, AT(reads.block_size), 1, 1 << 30, "SIZE",
		"bytes of text a worker takes at a time [what suits the device]"),
	KH_UINT("minimum-hit-groups", 0, AT(kraken.min_groups), 0, INT32_MAX, "N",
		"with Kraken 2's databases: hit groups a call needs [2]"),
	KH_UINT("minimum-base-quality", 0, AT(kraken.min_quality), 0, INT32_MAX, "N",
		"with these: lesser bases are ambiguous [0]"),
	KH_FLAG("quick", 0, AT(kraken.quick), "with these: stop at so many hit groups"),
	KH_FLAG("bzip2", 0, AT(kraken.bzip2), "files of reads are compressed by bzip2"),
	KH_FLAG("kraken2", 0, AT(kraken.kraken2), "say at the end what Kraken 2 says"),
	KH_SETTINGS_COMMON,
	KH_OPTS_END
};

static int set_placement(struct classify *j, kh_err *err)
{
	static const char *const name[] = { [KH_PLACE_AUTO] = "auto",
					    [KH_PLACE_REPLICATE] = "replicate",
					    [KH_PLACE_HOST] = "host",
					    [KH_PLACE_HOST_LISTS] = "host-lists",
					    [KH_PLACE_SHARD] = "shard" };
	enum { N = sizeof name / sizeof *name };
	unsigned i = KH_PLACE_AUTO;

	while (i < N && j->v.placement && strcmp(j->v.placement, name[i]) != 0)
		i++;
	if (i == N)
		return kh_fail(err, KH_EUSAGE,
			       "--set placement: '%s' is none of auto, replicate, shard, host and "
			       "host-lists", j->v.placement);
	j->on.placement = (enum kh_placement)i;
	return KH_OK;
}

static int check_join(const struct classify_values *v, kh_err *err)
{
	if (v->join_taxa && strcmp(v->join_taxa, "names") != 0)
		return kh_fail(err, KH_EUSAGE, "--set join takes 'names', not '%s'", v->join_taxa);
	if (v->join_taxa && v->db.n < 2)
		return kh_fail(err, KH_EUSAGE, "--set join=names is for several --db");
	return KH_OK;
}

static int check_unknown(const struct classify_values *v, kh_err *err)
{
	if (!v->unknown || kh_translated_level_of(v->unknown))
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "--set unknown: '%s' is none of strict, balanced and "
		       "sensitive", v->unknown);
}

static int check_who(const char *what, const char *who, kh_err *err)
{
	if (!who || strcmp(who, "host") == 0 || strcmp(who, "device") == 0)
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "--set %s: '%s' is neither device nor host", what, who);
}

/* What the environment names, if no option does. */
static int default_database(struct classify_values *v, kh_err *err)
{
	const char *const env = getenv("KMERHASH_DB");
	const kh_words one = { .v = (const char **)&env, .n = 1 };

	return env && v->db.n == 0 ? kh_words_add(&v->db, &one, err) : KH_OK;
}

/* Which options need, or exclude, one another. */
static int check_database(const struct classify_values *v, kh_err *err)
{
	if (v->verify && v->no_verify)
		return kh_fail(err, KH_EUSAGE, "--set verify and --set no-verify: not both");
	for (size_t i = 0; i < v->db.n; i++)
		if (!*v->db.v[i])
			return kh_fail(err, KH_EUSAGE, "--db FILE is needed");
	return v->db.n > 0 ? KH_OK : kh_fail(err, KH_EUSAGE, "--db FILE is needed");
}

/* A name that asks for another form than a profile has. */
static int check_profile(const char *name, kh_err *err)
{
	const char *end = name ? strrchr(name, '.') : NULL;

	if (!end || (strcmp(end, ".cami") != 0 && strcmp(end, ".json") != 0))
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "--profile: '%s': a profile is a table, such as %.*s.tsv%s",
		       name, (int)(end - name), name,
		       end[1] == 'c' ? "; of that kmerhash merge --format cami-profile makes "
				       "CAMI's" : "");
}

static int check_outputs(const struct classify_values *v, kh_err *err)
{
	if ((v->distinct || v->zero_counts || v->mpa) && !v->out.report)
		return kh_fail(err, KH_EUSAGE,
			       "the shape of a report is asked for, but --report is not");
	if (v->line.second && (v->sample_pass || v->out.profile))
		return kh_fail(err, KH_EUSAGE, "--set second-best is of calls before the second "
			       "pass: not with --sample-pass or --profile");
	if (v->line.identity && v->sample_pass)
		return kh_fail(err, KH_EUSAGE, "--set identity is of calls before the second pass: "
			       "not with --sample-pass");
	if (v->distinct && v->mpa)
		return kh_fail(err, KH_EUSAGE,
			       "--set mpa-style has no columns for --set distinct");
	if ((v->extract.n || v->exclude.n) && !v->out.classified && !v->out.unclassified &&
	    !v->out.paf && !v->out.sam)
		return kh_fail(err, KH_EUSAGE, "--extract and --exclude say which reads are "
			       "written by --classified-out, --unclassified-out, --paf and --sam");
	return check_profile(v->out.profile, err);
}

/* What a choice of reads does not do. */
static void warn_of_choice(const struct classify_values *v)
{
	const bool aligns = kh_classify_aligns(v);

	if (v->exclude.n && !v->extract.n && v->out.unclassified && !v->out.classified &&
	    !aligns)
		kh_log(KH_WARN, "--exclude leaves --unclassified-out as it is, with unclassified "
		       "reads only; --extract %s --unclassified-out FILE has all reads but those "
		       "of the clade", v->exclude.v[0]);
	if (v->sample_pass && aligns && (v->extract.n || v->exclude.n))
		kh_log(KH_WARN, "--paf and --sam have the reads that --extract and --exclude "
		       "choose by the calls before --sample-pass; --classified-out, "
		       "--unclassified-out and the lines have the final calls");
}

static int check_parts(struct classify *j, kh_err *err)
{
	struct classify_values *v = &j->v;

	if (!v->out.candidates && v->join.n == 0)
		return KH_OK;
	if (v->many.samples || (v->out.candidates && v->join.n > 0))
		return kh_fail(err, KH_EUSAGE, "--candidates, --join and --samples: one of them");
	if (v->join.n > 0 && (v->db.n < 2 || v->join.n != v->db.n))
		return kh_fail(err, KH_EUSAGE, "a join needs two or more --db, and a --join for "
			       "each: there are %zu and %zu", v->db.n, v->join.n);
	if (v->join.n > 0)
		return KH_OK;
	if ((v->out.output && strcmp(v->out.output, "-") != 0) || v->out.report || v->out.json ||
	    v->out.html || v->out.profile || v->out.classified || v->out.unclassified ||
	    kh_classify_aligns(v))
		return kh_fail(err, KH_EUSAGE, "--candidates is written alone: --join makes the "
			       "other results");
	if (v->db.n > 1 || j->kraken)
		return kh_fail(err, KH_EUSAGE, "--candidates is for one database that kmerhash has "
			       "built");
	v->out.output = "-";
	return KH_OK;
}

/* The options that only the one kind of database knows. */
static void check_kraken(const struct classify *j)
{
	const struct classify_values *v = &j->v;

	if (!j->kraken && (v->kraken.quick || v->kraken.min_groups != 2 || v->kraken.min_quality))
		kh_log(KH_WARN, "the settings quick, minimum-hit-groups and minimum-base-quality "
		       "are for Kraken 2's databases, and ignored");
}

int kh_classify_options(struct classify *j, int n, char **path, kh_err *err)
{
	struct classify_values *v = &j->v;
	int rc;

	if ((rc = default_database(v, err)) || (rc = check_database(v, err)) ||
	    (rc = kh_classify_check_samples(j, n, err)) ||
	    (rc = kh_classify_name_wanted(j, err)) || (rc = check_outputs(v, err)) ||
	    (rc = set_placement(j, err)) || (rc = check_join(v, err)) ||
	    (rc = check_unknown(v, err)) ||
	    (rc = check_who("inflate", v->inflate, err)) ||
	    (rc = check_who("parse", v->parse, err)))
		return rc;
	j->kraken = v->db.n == 1 && kh_db_is_kraken(v->db.v[0]);
	if ((rc = check_parts(j, err)))
		return rc;
	check_kraken(j);
	warn_of_choice(v);
	/* some programs divide by the number of distinct minimizers, which would be 0 */
	if (v->distinct && v->zero_counts && !j->kraken) {
		kh_log(KH_WARN, "--set zero-counts is left out beside --set distinct");
		v->zero_counts = false;
	}
	j->paired = v->reads.paired || v->reads.interleaved;
	j->on.threads = kh_cmd_threads(v->threads);
	j->on.memory = v->gpu_memory;
	j->style.names = v->line.names;
	j->style.lineage = v->line.lineage;
	j->style.second = v->line.second;
	j->style.identity = v->line.identity;
	j->style.column5 = !j->kraken ? KH_COLUMN5_FEATURES
			   : v->kraken.quick ? KH_COLUMN5_QUICK : KH_COLUMN5_KMERS;
	j->style.one_line = j->kraken;
	rc = kh_classify_sheet(j, n, path, err);
	return rc || !v->kraken.bzip2 ? rc : kh_classify_decompress(j, err);
}

/* Seconds that one file of mates may keep the other waiting; 0: for ever. */
static double mate_timeout(void)
{
	const char *env = getenv("KMERHASH_MATE_TIMEOUT");
	double seconds = 60;

	if (env && *env && !(kh_parse_real(env, &seconds) && seconds >= 0)) {
		kh_log(KH_WARN, "KMERHASH_MATE_TIMEOUT is not a number of seconds: '%s'", env);
		seconds = 60;
	}
	return seconds;
}

/* Who parses, the device or the host?  Of plain files 8 threads a device parse less than it does,
 * 16 about as much; nothing between was measured. */
static void choose_parser(const struct classify *j, kh_feed_options *f)
{
	enum { AS_FAST = 12 };
	const char *who = j->v.parse;

	f->parse = !who || strcmp(who, "host") != 0;
	f->parse_plain = who ? f->parse : j->on.threads < AS_FAST * j->on.choice.n;
}

void kh_classify_feed_options(struct classify *j)
{
	const kh_backend *be = j->on.choice.backend;
	const size_t block_size = j->v.reads.block_size;
	const kh_inflate_by by = { be->inflate, j->inflater };
	const uint64_t quality = j->v.kraken.min_quality;
	const kh_mask mask = { true, quality > 94 ? 94 : (unsigned char)quality };

	j->feed = (kh_feed_options) { .interleaved = j->v.reads.interleaved,
				      .mask = j->kraken ? mask : (kh_mask) { false, 0 },
				      .no_mate_check = j->v.reads.no_mate_check,
				      .allow_no_eof = j->v.reads.allow_no_eof,
				      .patience = mate_timeout(),
				      .block_size = block_size ? block_size : be->read_block_size,
				      .workers = j->on.threads,
				      .held = be->depth,
				      .threads = j->on.threads,
				      .inflate = j->inflater ? by : (kh_inflate_by) { NULL, NULL },
				      .digests = j->v.many.samples != NULL };
	choose_parser(j, &j->feed);
}
