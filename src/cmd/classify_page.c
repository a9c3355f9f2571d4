/* classify_page.c - the facts of a run on the page of classify --html */
#include <config.h>
#include "cmd/classify_in.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "merge/formats.h"
#include "page/known.h"
#include "page/species.h"

/* COVERED: the coverage of so many species is drawn, those with the most reads, as the page must
 * not grow with the database. */
enum { FACTS = 20, VALUE = 300, COVERED = 300 };

/* Facts about the run, as pairs of label and text. */
struct facts {
	kh_page_fact v[FACTS];
	size_t n;
	char value[FACTS][VALUE];
};

static void add_text(struct facts *f, const char *label, const char *value, bool code)
{
	f->v[f->n++] = (kh_page_fact) { .label = label, .value = value, .code = code };
}

static void add(struct facts *f, const char *label, const char *fmt, ...) KH_PRINTF(3, 4);
static void add(struct facts *f, const char *label, const char *fmt, ...)
{
	char *value = f->value[f->n];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, VALUE, fmt, ap);
	va_end(ap);
	add_text(f, label, value, false);
}

/* Appends a word, quoted for a shell where it needs that. */
static void add_word(kh_buf *b, const char *word)
{
	const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
			     "-_./:=,+@%^";

	if (*word && word[strspn(word, plain)] == '\0') {
		kh_buf_string(b, word);
		return;
	}
	kh_buf_string(b, "'");
	for (; *word; word++)
		kh_buf_add(b, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	kh_buf_string(b, "'");
}

/* Appends words, each after a blank. */
static void add_words(kh_buf *b, const char *const *word, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		kh_buf_string(b, b->n ? " " : "");
		add_word(b, word[i]);
	}
}

static int command_line(const struct classify *j, kh_buf *b, kh_err *err)
{
	size_t n = 0;

	kh_buf_string(b, "kmerhash");
	while (j->argv[n])
		n++;
	add_words(b, (const char *const *)j->argv, n);
	kh_buf_add(b, "", 1);
	return kh_buf_check(b, err);
}

/* The files of a sample, the first mates of pairs before the second ones. */
static int input_files(const kh_sheet_sample *x, kh_buf *b, kh_err *err)
{
	for (size_t i = 0; i < x->n_reads; i++)
		for (int mate = 0; mate < 1 + x->reads[i].paired; mate++)
			add_words(b, x->reads[i].path[mate], x->reads[i].n);
	kh_buf_add(b, "", 1);
	return kh_buf_check(b, err);
}

/* Has the sample pairs only? */
static bool is_paired(const struct classify *j, const kh_sheet_sample *x)
{
	bool all = x->n_reads > 0;

	for (size_t i = 0; i < x->n_reads; i++)
		all &= x->reads[i].paired;
	return all || j->paired;
}

/* The options that calls of the first pass depend on. */
static void add_options(const struct classify *j, kh_buf *b)
{
	const struct classify_values *v = &j->v;
	char confidence[32], unknown[32];

	for (size_t i = 0; i < v->db.n; i++)
		add_words(b, (const char *const[]) { "--db", v->db.v[i] }, 2);
	snprintf(confidence, sizeof confidence, "%.15g", v->confidence);
	if (v->confidence > 0)
		add_words(b, (const char *const[]) { "--confidence", confidence }, 2);
	if (v->unknown) {
		snprintf(unknown, sizeof unknown, "unknown=%s", v->unknown);
		add_words(b, (const char *const[]) { "--set", unknown }, 2);
	}
	if (v->kraken.bzip2)
		add_words(b, (const char *const[]) { "--set", "bzip2" }, 2);
	if (v->reads.no_mate_check)
		add_words(b, (const char *const[]) { "--set", "no-mate-check" }, 2);
}

/* The command that takes out the reads of a taxon by their first calls, which alignments have, and
 * aligned where that can be: page.h.  Nothing for a sample of pairs and single reads, which only a
 * sheet can name. */
static int readout(const struct classify *j, size_t sample, kh_buf *b, kh_err *err)
{
	const kh_sheet_sample *x = &j->sheet.v[sample];
	const bool aligned = !kh_db_is_thin(j->db->h);

	if (x->n_reads != 1 || j->kraken)       /* Kraken 2's rule has more options */
		return KH_OK;
	kh_buf_string(b, "kmerhash classify");
	add_options(j, b);
	if (j->v.reads.interleaved || is_paired(j, x))
		kh_buf_string(b, j->v.reads.interleaved ? " --interleaved" : " --paired");
	kh_buf_string(b, " --output - --extract ");
	kh_buf_add(b, "", 1);
	kh_buf_string(b, aligned ? " --sam " : " --classified-out ");
	kh_buf_add(b, "", 1);
	kh_buf_string(b, aligned ? ".sam" : ".fq");
	for (size_t i = 0; i < x->reads[0].n; i++)
		for (int mate = 0; mate <= x->reads[0].paired; mate++)
			add_words(b, &x->reads[0].path[mate][i], 1);
	kh_buf_add(b, "", 1);
	return kh_buf_check(b, err);
}

/* A number with its digits grouped by threes. */
static const char *grouped(char text[32], uint64_t n)
{
	char *p = text + 31;

	*p = '\0';
	for (unsigned k = 0; k == 0 || n > 0; k++, n /= 10) {
		if (k && k % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + n % 10);
	}
	return p;
}

static void tell_files(const struct classify *j, const char *name, struct facts *f)
{
	char date[KH_DATE];

	if (j->db->joined) {
		add(f, "Databases", "%s, by %s", name, j->db->h->tool);
		add_text(f, "Database files", j->db->path, true);
		return;
	}
	kh_cmd_file_date(j->db->path, date);
	add(f, "Database", "%s, of %s, by %s", name, date, j->db->h->tool);
	add_text(f, "Database file", j->v.db.v[0], true);
}

/* What a database of ours is made of, and what it lacks. */
static void tell_database(const struct classify *j, const kh_page_known *k, struct facts *f)
{
	const kh_db_header *h = j->db->h;
	const kh_sampling s = kh_db_sampling(h);
	char a[32], b[32], c[32], part[80] = "", unmapped[80] = "";

	if (kh_db_is_thin(h))
		snprintf(part, sizeof part, ", limited in size: %.3g %% of the features",
			 (double)kh_sampling_share(&s) / 4294967296.0 * 100);
	add(f, "Kind", "%s%s%s", kh_db_is_thin(h) ? "features of references without their bases"
	    : "references with their bases", h->section[KH_SEC_TRANSLATED].at
	    ? ", and what they may code for" : "", part);
	part[0] = '\0';
	if (k->parts)
		snprintf(part, sizeof part, "; of %s only a plasmid or another part of the genome",
			 grouped(a, k->parts));
	if (h->unmapped)
		snprintf(unmapped, sizeof unmapped, "; %s sequences that were given have no taxon",
			 grouped(b, h->unmapped));
	add(f, "Species in it", "%s%s%s", grouped(c, k->species), part, unmapped);
}

static void tell_run(const struct classify *j, const kh_page_known *k, struct facts *f)
{
	const kh_db_header *h = j->db->h;
	char a[32], b[100], c[32];

	kh_cmd_date(kh_cmd_now(), a);
	add(f, "Date", "%s", a);
	add_text(f, "Program", PACKAGE_STRING, false);
	kh_cmd_db_name(j->db, b, sizeof b);
	tell_files(j, b, f);
	if (j->db->k2) {
		add(f, "Contents", "%s minimizers, %" PRIu32 " taxa, by Kraken 2",
		    grouped(a, h->features), h->n_taxa);
		add(f, "Minimizers", "of %" PRIu32 " characters, k = %" PRIu32, j->db->k2->rule.l,
		    j->db->k2->rule.k);
	} else {
		add(f, "Contents", "%s sequence%s, %s bases, %s features, %" PRIu32 " taxa",
		    grouped(a, h->n_targets), kh_plural(h->n_targets), grouped(b, h->bases),
		    grouped(c, h->features), h->n_taxa);
		add(f, "Features", "%s, k = %u", h->sampling.scheme == KH_SYNCMER ? "open syncmers"
		    : "minhash windows", (unsigned)h->sampling.k);
		tell_database(j, k, f);
		add(f, "Digest", "%016" PRIx64, h->digest);
	}
	add(f, "Confidence", "%g", j->v.confidence);
}

/* --- the page ----------------------------------------------------------------------- */
/* What the page is made of besides the counts. */
struct parts {
	kh_page_rows rows;
	double unknown;                 /* abundance of what is unknown */
	kh_covered *covered;
	size_t n_covered;
	kh_buf command, inputs, readout;
	char *name;
	kh_page_taxon *taxa;
	kh_page_known known;
};

static int add_profile(struct parts *x, const struct classify *j, const kh_results *r,
		       kh_err *err)
{
	const kh_pass_result *pass = kh_pass_result_of(r->pass);
	kh_profile p;
	int rc = kh_profile_make(&p, j->db, r, err);

	if (rc)
		return rc;
	x->unknown = p.unknown_genomes;
	rc = kh_page_rows_make(&x->rows, &p, err);
	if (!rc)
		rc = kh_page_rows_next(&x->rows, &p, pass->classes, err);
	kh_profile_clear(&p);
	return rc ? rc : kh_coverage_list(pass->coverage, pass->classes, COVERED, &x->covered,
					  &x->n_covered, err);
}

static int make_parts(struct parts *x, const struct classify *j, size_t i, const kh_results *r,
		      kh_err *err)
{
	int rc = kh_classify_sample_name(j, i, &x->name, err);

	if (!rc && !(x->taxa = kh_page_taxa(j->db->tax, err)))
		rc = KH_ENOMEM;
	if (!rc)
		rc = kh_page_known_make(&x->known, j->db, err);
	if (!rc && r->pass)
		rc = add_profile(x, j, r, err);
	if (!rc)
		rc = input_files(&j->sheet.v[i], &x->inputs, err);
	if (!rc)
		rc = readout(j, i, &x->readout, err);
	return rc ? rc : command_line(j, &x->command, err);
}

static void clear_parts(struct parts *x)
{
	kh_page_rows_clear(&x->rows);
	free(x->covered);
	free(x->command.p);
	free(x->inputs.p);
	free(x->readout.p);
	free(x->taxa);
	free(x->name);
	kh_page_known_clear(&x->known);
}

static void tell_sample(const struct classify *j, const struct parts *x, const kh_results *r,
			bool pairs, struct facts *f)
{
	char number[3][32];

	add(f, pairs ? "Pairs" : "Reads", "%s, %s classified; %s bases",
	    grouped(number[0], r->sum.fragments), grouped(number[1], r->sum.classified),
	    grouped(number[2], r->sum.bases));
	if (r->pass)
		add(f, "Unknown", "%.3f %% of the abundance: reads that belong to no species that "
		    "was judged to be there", 100 * x->unknown);
	if (j->v.sample_pass && r->sum.kept)
		add(f, "Second pass", "calls are those of the first pass, as fewer than %d "
		    "fragments say too little", KH_SAMPLE_LEAST);
	add_text(f, "Input", x->inputs.p, true);
	add_text(f, "Command", x->command.p, true);
}

int kh_classify_page(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct classify *j = arg;
	const bool pairs = is_paired(j, &j->sheet.v[i]);
	struct parts x = { .name = NULL };
	struct facts f = { .n = 0 };
	int rc = make_parts(&x, j, i, r, err);

	if (!rc) {
		const kh_page_sample sample = { .name = x.name,
						.direct = r->tally.direct,
						.unclassified = r->tally.unclassified,
						.readout = x.readout.p,
						.row = x.rows.row,
						.n_rows = x.rows.n,
						.coverage = x.covered,
						.n_coverage = x.n_covered };

		tell_run(j, &x.known, &f);
		tell_sample(j, &x, r, pairs, &f);
		rc = kh_page_write(b, &(kh_page) { .unit = pairs ? "pairs" : "reads",
						   .taxon = x.taxa, .n_taxa = j->db->tax->n,
						   .sample = &sample, .n_samples = 1,
						   .column = kh_page_species,
						   .n_columns = r->pass ? KH_PAGE_PROFILE : 0,
						   .db = r->pass ? j->db : NULL,
						   .k = kh_rule_counted(&j->rule).k,
						   .fact = f.v, .n_facts = f.n,
						   .known = &x.known }, err);
	}
	clear_parts(&x);
	return rc;
}

/* --- of a sheet of samples ------------------------------------------------------------ */
int kh_classify_samples_page(const struct classify *j, kh_merge *reports, kh_err *err)
{
	kh_buf *line = kh_array(reports->n_samples, sizeof *line, err);
	struct facts f = { .n = 0 };
	kh_buf command = { .n = 0 };
	kh_merge_sink sink = { .writer = j->page, .err = err };
	kh_page_known known = { .db = NULL };
	char number[32];
	int rc = line ? kh_page_known_make(&known, j->db, err) : KH_ENOMEM;

	for (size_t i = 0, k = 0; i < j->sheet.n && !rc; i++)
		if (j->sample[i].there && !(rc = readout(j, i, &line[k], err))) {
			reports->sample[k].readout = line[k].p;
			k++;
		}
	if (!rc && !(rc = command_line(j, &command, err))) {
		tell_run(j, &known, &f);
		add(&f, "Samples", "%s", grouped(number, reports->n_samples));
		add_text(&f, "Command", command.p, true);
		const kh_merge_options o = { .fact = f.v, .n_facts = f.n, .known = &known,
					     .to = reports->n_samples };
		kh_merge_page(reports, &o, &sink);
		rc = kh_merge_flush(&sink);
	}
	kh_page_known_clear(&known);
	for (size_t k = 0; line && k < reports->n_samples; k++) {
		reports->sample[k].readout = NULL;
		free(line[k].p);
	}
	free(line);
	free(command.p);
	free(sink.b.p);
	return rc;
}
