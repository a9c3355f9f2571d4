/* classify_page.c - what the page of classify --html says of the run */
#include <config.h>
#include "cmd/classify_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/source.h"
#include "merge/formats.h"
#include "page/page.h"

enum { FACTS = 11, VALUE = 200 };

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
static int add_word(kh_buf *b, const char *word, kh_err *err)
{
	const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
			     "-_./:=,+@%^";
	int rc;

	if (*word && word[strspn(word, plain)] == '\0')
		return kh_buf_add(b, word, strlen(word), err);
	rc = kh_buf_add(b, "'", 1, err);
	for (; !rc && *word; word++)
		rc = *word == '\'' ? kh_buf_add(b, "'\\''", 4, err) : kh_buf_add(b, word, 1, err);
	return rc ? rc : kh_buf_add(b, "'", 1, err);
}

/* Appends words, each after a blank, and a NUL. */
static int add_words(kh_buf *b, const char *const *word, size_t n, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = b->n ? kh_buf_add(b, " ", 1, err) : KH_OK;
		if (!rc)
			rc = add_word(b, word[i], err);
	}
	return rc ? rc : kh_buf_add(b, "", 1, err);
}

static int command_line(const struct classify *j, kh_buf *b, kh_err *err)
{
	size_t n = 0;
	int rc = kh_buf_add(b, "kmerhash", 8, err);

	while (j->argv[n])
		n++;
	return rc ? rc : add_words(b, (const char *const *)j->argv, n, err);
}

/* The files of mates 1 or 2 of the operands; NULL: none. */
static const kh_sheet_reads *files_of(const struct classify *j, int mate)
{
	const kh_sheet_reads *r = j->sheet.v[0].reads;

	return mate == 0 || r->paired ? r : NULL;
}

/* The name of the first input without its folder and without endings such as .fq.gz. */
static char *sample_name(const struct classify *j, kh_err *err)
{
	static const char *const end[] = { ".gz", ".bgz", ".fastq", ".fq", ".fasta", ".fa",
					   ".fna", "_1", "_R1" };
	const char *path = files_of(j, 0)->path[0][0], *slash = strrchr(path, '/');
	char *name = strdup(slash && slash[1] ? slash + 1 : path);

	if (!name) {
		kh_fail_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
		const size_t n = strlen(name), m = strlen(end[i]);
		const bool mate = end[i][0] == '_';

		if (n > m && strcmp(name + n - m, end[i]) == 0 && (!mate || files_of(j, 1)))
			name[n - m] = '\0';
	}
	return name;
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

static void tell_run(const struct classify *j, struct facts *f)
{
	const kh_db_header *h = j->db->h;
	char a[32], b[32], c[32];

	add_text(f, "Program", PACKAGE_STRING, false);
	add_text(f, "Database", j->v.references.n ? "made of --references" : j->v.db, true);
	if (j->db->k2) {
		add(f, "Contents", "%s minimizers, %" PRIu32 " taxa, by Kraken 2",
		    grouped(a, h->features), h->n_taxa);
		add(f, "Minimizers", "of %" PRIu32 " characters, k = %" PRIu32, j->db->k2->rule.l,
		    j->db->k2->rule.k);
	} else {
		add(f, "Contents", "%s targets, %s bases, %s features, %" PRIu32 " taxa",
		    grouped(a, h->n_targets), grouped(b, h->bases), grouped(c, h->features),
		    h->n_taxa);
		add(f, "Features", "%s, k = %u", h->sampling.scheme == KH_SYNCMER ? "open syncmers"
		    : "minhash windows", (unsigned)h->sampling.k);
		add(f, "Digest", "%016" PRIx64, h->digest);
	}
	add(f, "Confidence", "%g", j->v.confidence);
}

/* --- what a profile says of species ------------------------------------------------- */
enum { DETECTED, ABUNDANCE, IDENTITY, WHY, EVENNESS, COVERED, FIRST, COLUMNS };

static const kh_page_column columns[COLUMNS] = {
	[DETECTED] = { .key = "detected", .label = "Detected", .kind = KH_PAGE_TEXT,
		       .help = "yes; low: by little evidence; no; of what is not judged nothing" },
	[ABUNDANCE] = { .key = "abundance", .label = "Abundance", .kind = KH_PAGE_PERCENT,
			.digits = 3,
			.help = "share of genomes: bases by length of the genome, if it is there" },
	[IDENTITY] = { .key = "identity", .label = "Identity", .kind = KH_PAGE_PERCENT,
		       .digits = 1, .help = "of the sample's strain and the nearest reference" },
	[WHY] = { .key = "why", .label = "Why", .kind = KH_PAGE_TEXT,
		  .help = "what speaks for the species, or against it" },
	[EVENNESS] = { .key = "evenness", .label = "Evenness (found / expected)",
		       .kind = KH_PAGE_PERCENT, .digits = 0, .detail = true,
		       .help = "stretches of the genome with reads, of those expected to" },
	[COVERED] = { .key = "covered", .label = "Genome covered", .kind = KH_PAGE_PERCENT,
		      .digits = 2, .detail = true,
		      .help = "breadth: share of the genome that its reads cover" },
	[FIRST] = { .key = "first", .label = "Called in the first pass", .kind = KH_PAGE_NUMBER,
		    .detail = true },
};

struct species {
	double *number[COLUMNS];        /* by taxon, for columns of numbers */
	const char **word[COLUMNS];     /* for columns of text */
	char (*why)[KH_PROFILE_WHY];
	kh_page_values column[COLUMNS];
	double unknown;                 /* abundance of what is unknown */
};

static int open_columns(struct species *x, uint32_t n, kh_err *err)
{
	if (!(x->why = kh_array(n, sizeof *x->why, err)))
		return KH_ENOMEM;
	for (int c = 0; c < COLUMNS; c++) {
		if (columns[c].kind == KH_PAGE_TEXT) {
			if (!(x->word[c] = kh_array(n, sizeof **x->word, err)))
				return KH_ENOMEM;
			x->column[c].text = x->word[c];
			continue;
		}
		if (!(x->number[c] = kh_array(n, sizeof **x->number, err)))
			return KH_ENOMEM;
		x->column[c].number = x->number[c];
		for (uint32_t i = 0; i < n; i++)
			x->number[c][i] = NAN;
	}
	return KH_OK;
}

static void add_species(struct species *x, const kh_profile *of, const kh_profile_row *r)
{
	const kh_presence *p = r->presence;
	const uint32_t t = r->taxon;

	x->word[WHY][t] = kh_profile_why(of, r, x->why[t]);
	x->number[FIRST][t] = (double)r->first;
	if (!p)
		return;
	if (r->detected)
		x->word[DETECTED][t] = kh_detected_name(r->detected);
	if (kh_profile_has_identity(r))
		x->number[IDENTITY][t] = kh_profile_identity(p->fit.shape[0]) / 100;
	if (p->expected > 0)
		x->number[EVENNESS][t] = fmin(1, (double)p->found * 256 / (double)p->expected);
	x->number[COVERED][t] = r->covered;
}

static int profile_columns(const struct classify *j, const kh_results *r, struct species *x,
			   kh_err *err)
{
	kh_profile p;
	int rc = open_columns(x, j->db->tax->n, err);

	if (!rc)
		rc = kh_classify_profile(j, r, &p, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < p.n; i++) {
		const uint32_t t = p.row[i].taxon;

		if (!p.row[i].part)
			x->number[ABUNDANCE][t] = p.row[i].genomes;
		if (j->db->tax->species[t] == t)
			add_species(x, &p, &p.row[i]);
	}
	x->unknown = p.unknown_genomes;
	kh_profile_clear(&p);
	return KH_OK;
}

/* --- the page ----------------------------------------------------------------------- */
/* What the page is made of besides the counts. */
struct parts {
	struct species species;
	kh_page_covered covered;
	kh_buf command, inputs;
	char *name;
	kh_page_taxon *taxa;
};

static int make_parts(struct parts *x, const struct classify *j, const kh_results *r, kh_err *err)
{
	const kh_pass_result *pass = kh_pass_result_of(r->pass);
	int rc;

	x->name = sample_name(j, err);
	x->taxa = kh_page_taxa(j->db->tax, err);
	rc = x->name && x->taxa ? KH_OK : KH_ENOMEM;
	if (!rc && pass)
		rc = profile_columns(j, r, &x->species, err);
	if (!rc && pass)
		rc = kh_classify_coverage(j, pass, &x->covered, err);
	for (int mate = 0; mate < 2 && !rc && files_of(j, mate); mate++) {
		x->inputs.n -= x->inputs.n > 0; /* without the NUL */
		rc = add_words(&x->inputs, files_of(j, mate)->path[mate], files_of(j, mate)->n,
			       err);
	}
	return rc ? rc : command_line(j, &x->command, err);
}

static void clear_parts(struct parts *x)
{
	for (int c = 0; c < COLUMNS; c++) {
		free(x->species.number[c]);
		free(x->species.word[c]);
	}
	free(x->species.why);
	kh_classify_coverage_clear(&x->covered);
	free(x->command.p);
	free(x->inputs.p);
	free(x->taxa);
	free(x->name);
}

int kh_classify_page(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct classify *j = arg;
	const char *unit = j->paired ? "pairs" : "reads";
	char number[3][32];
	struct parts x = { .name = NULL };
	struct facts f = { .n = 0 };
	int rc = make_parts(&x, j, r, err);

	(void)i;
	if (!rc) {
		const kh_page_sample sample = { .name = x.name,
						.direct = r->tally.direct,
						.unclassified = r->tally.unclassified,
						.column = x.species.column,
						.coverage = x.covered.species,
						.n_coverage = x.covered.n };

		tell_run(j, &f);
		add(&f, j->paired ? "Pairs" : "Reads", "%s, %s classified; %s bases",
		    grouped(number[0], r->sum.fragments), grouped(number[1], r->sum.classified),
		    grouped(number[2], r->sum.bases));
		if (r->pass)
			add(&f, "Unknown", "%.3f %% of the abundance: reads that belong to no "
			    "species that was judged to be there", 100 * x.species.unknown);
		if (j->v.sample_pass && r->sum.kept)
			add(&f, "Second pass", "calls are those of the first pass, as fewer than "
			    "%d fragments say too little", KH_SAMPLE_LEAST);
		add_text(&f, "Input", x.inputs.p, true);
		add_text(&f, "Command", x.command.p, true);
		rc = kh_page_write(b, &(kh_page) { .unit = unit,
						   .taxon = x.taxa, .n_taxa = j->db->tax->n,
						   .sample = &sample, .n_samples = 1,
						   .column = columns,
						   .n_columns = r->pass ? COLUMNS : 0,
						   .identity = x.covered.identity,
						   .n_identities = x.covered.n_identities,
						   .fact = f.v, .n_facts = f.n }, err);
	}
	clear_parts(&x);
	return rc;
}

/* --- of a sheet of samples ------------------------------------------------------------ */
/* What is wrong with a report that was there already, if anything is. */
static int read_report(kh_merge *m, const kh_sheet_sample *x, kh_err *err)
{
	const char *path = x->path[KH_RESULT_REPORT];
	kh_errs errs = { NULL, 0, 0, 0 };
	kh_source *s = NULL;
	int rc = kh_source_open(&s, path, err);

	if (rc)
		return rc;
	const kh_merge_input in = { x->name, path, kh_tsv_source, s };
	rc = kh_merge_read(m, &in, &errs, err);
	if (!rc && errs.n > 0) {
		*err = errs.v[0];
		rc = err->code;
	}
	kh_errs_clear(&errs);
	kh_source_close(s);
	return rc;
}

int kh_classify_samples_page(const struct classify *j, kh_text *out, kh_err *err)
{
	struct facts f = { .n = 0 };
	kh_buf command = { NULL, 0, 0 };
	kh_merge_sink sink = { .text = out, .err = err };
	kh_merge m = { .n = 0 };
	char number[32];
	size_t n = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < j->sheet.n && !rc; i++)
		if (j->sample[i].there) {
			rc = read_report(&m, &j->sheet.v[i], err);
			n++;
		}
	if (!rc)
		rc = kh_merge_finish(&m, err);
	if (!rc && !(rc = command_line(j, &command, err))) {
		tell_run(j, &f);
		add(&f, "Samples", "%s", grouped(number, n));
		add_text(&f, "Command", command.p, true);
		const kh_merge_options o = { .fact = f.v, .n_facts = f.n, .to = n };
		kh_merge_page(&m, &o, &sink);
		rc = kh_merge_flush(&sink, true);
	}
	kh_merge_clear(&m);
	free(command.p);
	free(sink.b.p);
	return rc;
}
