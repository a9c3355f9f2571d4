/* inspect.c - kmerhash inspect */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cmd/options.h"
#include "cmd/record.h"
#include "db/db.h"
#include "db/in_use.h"
#include "io/output.h"
#include "page/known.h"
#include "run/open.h"
#include "run/report.h"
#include "kmer/text.h"

struct values {
	uint64_t threads;
	const char *db, *taxdump, *find;
	bool json, taxa, targets, unmapped, no_verify;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	KH_TEXT("db", 'd', AT(db), "FILE", "the database, if it is not the operand"),
	KH_FLAG("json", 'j', AT(json), "parameters and counts as JSON"),
	KH_FLAG("taxa", 't', AT(taxa), "all taxa and their locations, as a kraken-style report"),
	KH_FLAG("targets", 'g', AT(targets),
		"a line a target: id, taxid, bases, first bin, digest"),
	KH_FLAG("unmapped", 'u', AT(unmapped), "ids of the sequences that had no taxon"),
	KH_TEXT("find", 'f', AT(find), "NAME",
		"taxa that have this in their name, or this taxid, and their genomes"),
	KH_TEXT("taxdump", 0, AT(taxdump), "DIR", "write its taxonomy: nodes.dmp, names.dmp"),
	KH_UINT("threads", 'p', AT(threads), 1, 4096, "N",
		"threads that check the file [all CPUs]"),
	KH_OPT_SET_ROW,
	KH_OPTS_END
};

static const kh_opt settings[] = {
	KH_FLAG("no-verify", 0, AT(no_verify), "do not check the index"),
	KH_SETTINGS_COMMON,
	KH_OPTS_END
};

/* Adds the bins of the seeds of a line. */
static void count_line(const kh_db *db, const kh_seed_range *r, const void *line, uint64_t *direct)
{
	const kh_seed_index *x = &db->seeds;
	uint32_t value, one;

	for (uint32_t slot = 0; slot < kh_seed_slots(x->bits) &&
	     (value = kh_seed_value(line, slot, x->bits)) != 0; slot++) {
		const uint32_t *w = kh_seed_bins(x, r, value, &one);

		if (*w == KH_SEED_MANY)
			continue;
		do {
			const uint32_t bin = *w & ~KH_SEED_MORE;

			direct[db->bins.taxon[kh_bins_target(&db->bins, bin)]]++;
		} while (*w++ & KH_SEED_MORE);
	}
}

static void count(const kh_db *db, uint64_t *direct)
{
	for (int p = 0; p < KH_RANGES; p++) {
		const kh_seed_range *r = &db->seeds.dir[p];
		const char *line = (const char *)db->image + 64 * r->first_line;

		for (uint64_t left = kh_seed_line_bytes(r) / 64; left > 0; left--, line += 64)
			count_line(db, r, line, direct);
	}
}

/* Of the features that the scheme keeps, how many are in the database. */
static double kept_share(const kh_db_header *h)
{
	const kh_sampling s = kh_db_sampling(h);

	return (double)kh_sampling_share(&s) / 4294967296.0;
}

/* What a database has of its references. */
typedef struct text_facts {
	uint64_t bases;                 /* that are kept */
	uint64_t with_alleles;          /* of these, in stretches with alleles that reads ask for */
	uint64_t alleles;               /* all */
} text_facts;

static text_facts text_of(const kh_db *db)
{
	const uint32_t words = db->h->sampling.stride / KH_TEXT_WORD;
	text_facts f = { .alleles = db->n_few };

	for (uint32_t i = 0; i < db->n_kept; i++) {
		const uint64_t bases = kh_db_kept_bases(db, &db->kept[i]);
		const bool has = db->kept[i].alleles > 0;
		const uint32_t *word = has ? db->text + db->stretch[i].alleles : NULL;

		f.bases += bases;
		f.with_alleles += has ? bases : 0;
		for (uint64_t w = 0; has && w < (uint64_t)db->kept[i].bins * words; w++)
			f.alleles += kh_text_count(kh_text_differ(word[w], 0));
	}
	return f;
}

/* Places of seeds for each base of text. */
static double seeds_a_base(const kh_db_header *h, const text_facts *f)
{
	return f->bases ? (double)h->locations / (double)f->bases : 0;
}

/* --- as text ---------------------------------------------------------------------- */
static void print_text(const kh_db *db)
{
	const text_facts f = text_of(db);

	printf("bases kept\t%" PRIu64 "\nstretches kept\t%" PRIu32 "\nbases of text\t%" PRIu64
	       "\nbases with alleles\t%" PRIu64 "\nalleles\t%" PRIu64
	       "\nseeds a base kept\t%.4f\n", f.bases, db->n_kept,
	       kh_db_is_thin(db->h) ? 0 : f.bases, f.with_alleles, f.alleles,
	       seeds_a_base(db->h, &f));
}

static void print_parameters(const kh_db *db)
{
	const kh_db_header *h = db->h;
	char name[256], date[KH_DATE];

	kh_cmd_db_name(db, name, sizeof name);
	kh_cmd_file_date(db->path, date);
	printf("database\t");
	kh_cmd_print(db->path, strlen(db->path));
	printf("\nname\t");
	kh_cmd_print(name, strlen(name));
	printf("\ndate\t%s\nwritten by\t%s\nformat\t%" PRIu32 "\nbytes\t%" PRIu64 "\n", date,
	       h->tool, h->version, h->file_bytes);
	printf("scheme\t%s\nk\t%" PRIu32 "\n%s\t%" PRIu32 "\nstride\t%" PRIu32
	       "\n",
	       kh_scheme_name(h->sampling.scheme), h->sampling.k,
	       h->sampling.scheme == KH_SYNCMER ? "s-mer" : "features a window", h->sampling.s,
	       h->sampling.stride);
	printf("sequences\t%" PRIu64 "\nwithout a taxon\t%" PRIu64 "\ntargets\t%" PRIu32
	       "\nbases\t%" PRIu64 "\ntaxa\t%" PRIu32 "\nbins\t%" PRIu64 "\n",
	       h->sequences, h->unmapped, h->n_targets, h->bases, h->n_taxa, h->bins);
	printf("species\t%" PRIu32 "\nrepeats left out\t%s\n", db->bins.n_species,
	       h->no_repeats ? "yes" : "no");
	printf("features\t%" PRIu64 "\noverpopulated\t%" PRIu64 "\nlocations\t%" PRIu64 "\n",
	       h->features, h->over, h->locations);
	printf("share of features\t%.6f\nlargest size allowed\t", kept_share(h));
	if (h->max_bytes)
		printf("%" PRIu64 "\n", h->max_bytes);
	else
		printf("any\n");
	printf("index bytes\t%" PRIu64 "\n", h->section[KH_SEC_INDEX].bytes);
	if (h->section[KH_SEC_TRANSLATED].at)
		printf("bytes of translated seeds\t%" PRIu64 "\n",
		       h->section[KH_SEC_TRANSLATED].bytes);
	print_text(db);
	printf("digest\t%016" PRIx64 "\n", h->digest);
}

static void print_targets(const kh_db *db)
{
	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];

		kh_cmd_print(db->ids + t->id, strlen(db->ids + t->id));
		printf("\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t%016" PRIx64 "\n",
		       db->tax->taxid[t->taxon], t->bases, t->first_bin,
		       t->digest);
	}
}

static void print_unmapped(const kh_db *db)
{
	const char *p = db->unmapped, *end = p + db->h->section[KH_SEC_UNMAPPED].bytes;

	for (; p < end; p += strlen(p) + 1) {
		kh_cmd_print(p, strlen(p));
		putchar('\n');
	}
}

static int print_taxa(const kh_db *db, kh_err *err)
{
	/* a taxon may have none: what its genomes share with others of the species is kept once */
	kh_report_options o = { .zero_counts = true, .taxa_only = true };
	kh_tally t;
	kh_buf b = { .n = 0 };
	int rc = kh_tally_init(&t, db->tax->n, false, err);

	if (!rc) {
		count(db, t.direct);
		rc = kh_report(&b, db->tax, &t, &o, err);
	}
	if (!rc)
		kh_cmd_print(b.p, b.n);
	free(b.p);
	kh_tally_clear(&t);
	return rc;
}

/* --- was a taxon looked for? -------------------------------------------------------- */
/* Is it the taxid, or in the name, of whatever case? */
static bool is_called(const kh_taxonomy *tax, uint32_t t, const char *words)
{
	char taxid[16];

	snprintf(taxid, sizeof taxid, "%" PRIu32, tax->taxid[t]);
	return strcmp(taxid, words) == 0 || strcasestr(tax->names + tax->name[t], words) != NULL;
}

/* The same of other names. */
static bool is_called_else(const kh_db *db, uint32_t t, const char *words)
{
	const char *name = db->k2 ? NULL : db->tax->names + db->tax->name[t];

	while (name && (name = kh_taxonomy_next_name(db->tax, t, name)))
		if (strcasestr(name, words))
			return true;
	return false;
}

static int find_taxa(const kh_db *db, const char *words, kh_err *err)
{
	kh_page_known k = { .db = NULL };
	uint32_t found = 0;
	int rc = kh_page_known_make(&k, db, err);

	for (uint32_t t = 0; t < db->tax->n && !rc; t++) {
		const char *name = db->tax->names + db->tax->name[t];

		if (!is_called(db->tax, t, words) && !is_called_else(db, t, words))
			continue;
		if (found++ == 0)
			printf("taxid\trank\tname\tgenomes\tlongest\treferences\n");
		printf("%" PRIu32 "\t%s\t", db->tax->taxid[t], kh_rank_name(db->tax->rank[t]));
		kh_cmd_print(name, strlen(name));
		if (db->k2)
			printf("\t-\t-\t-\n");
		else
			printf("\t%" PRIu32 "\t%" PRIu64 "\t%s\n", k.genomes[t], k.longest[t],
			       db->tax->species[t] != t ? "-" : k.part[t] ? "part" : "whole");
	}
	kh_page_known_clear(&k);
	if (!rc && !found)
		rc = kh_fail(err, KH_EFORMAT, "%s: no taxon of the database has this name or taxid",
			     words);
	return rc;
}

/* --- its taxonomy ------------------------------------------------------------------ */
/* Rows as the NCBI has them.  What the database does not know of a taxon, such as its genetic code,
 * is what the NCBI writes if it is not known. */
static int make_dumps(const kh_db *db, kh_buf *nodes, kh_buf *names, kh_err *err)
{
	const kh_taxonomy *t = db->tax;

	for (uint32_t i = 0; i < t->n; i++) {
		kh_buf_print(nodes, "%" PRIu32 "\t|\t%" PRIu32 "\t|\t%s\t|\t\t|\t8\t|"
			     "\t0\t|\t0\t|\t0\t|\t0\t|\t0\t|\t0\t|\t0\t|\t\t|\n", t->taxid[i],
			     t->taxid[t->parent[i]], kh_rank_name(t->rank[i]));
		kh_buf_print(names, "%" PRIu32 "\t|\t%s\t|\t\t|\tscientific name\t|\n",
			     t->taxid[i], t->names + t->name[i]);
		const char *name = t->names + t->name[i];

		while (db->k2 == NULL && (name = kh_taxonomy_next_name(t, i, name)))
			kh_buf_print(names, "%" PRIu32 "\t|\t%s\t|\t\t|\tsynonym\t|\n", t->taxid[i],
				     name);
	}
	return nodes->lost ? kh_buf_check(nodes, err) : kh_buf_check(names, err);
}

/* Has this file other bytes than these?  False if it is not there. */
static bool differs(const char *path, const kh_buf *text)
{
	FILE *f = fopen(path, "re");
	bool same = f != NULL;
	size_t at = 0, n;
	char some[4096];

	if (!f)
		return errno != ENOENT;
	while (same && (n = fread(some, 1, sizeof some, f)) > 0) {
		same = text->n - at >= n && memcmp(text->p + at, some, n) == 0;
		at += n;
	}
	same = same && at == text->n && !ferror(f);
	fclose(f);
	return !same;
}

/* What is there already is replaced only by the same: else it is somebody's taxonomy. */
static int check_dumps(char *const path[2], const kh_buf text[2], const char *db, kh_err *err)
{
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	for (int i = 0; i < 2 && !rc; i++)
		rc = kh_paths_output(p, path[i], err);
	if (!rc)
		rc = kh_open_check_database(p, db, err);
	for (int i = 0; i < 2 && !rc; i++)
		if (differs(path[i], &text[i]))
			rc = kh_fail(err, KH_EUSAGE, "%s: another taxonomy is there, which is not "
				     "replaced; name a folder without one", path[i]);
	kh_paths_free(p);
	return rc;
}

static int write_dumps(char *const path[2], const kh_buf text[2], kh_err *err)
{
	kh_out *out[2] = { NULL, NULL };
	int rc = KH_OK;

	for (int i = 0; i < 2 && !rc; i++)
		if (!(rc = kh_out_open(&out[i], path[i], err)))
			rc = kh_out_write(out[i], text[i].p, text[i].n, err);
	if (!rc)
		rc = kh_out_commit(out, 2, err);
	kh_out_close(out[0]);
	kh_out_close(out[1]);
	return rc;
}

static int write_taxdump(const kh_db *db, const char *folder, kh_err *err)
{
	kh_buf text[2] = { { .n = 0 }, { .n = 0 } };
	char *path[2] = { NULL, NULL };
	int rc = make_dumps(db, &text[0], &text[1], err);

	if (!rc)
		rc = kh_cmd_make_folder(folder, err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = kh_print(&path[i], err, "%s/%s", folder, kh_taxdump_file[i]);
	if (!rc)
		rc = check_dumps(path, text, db->path, err);
	if (!rc)
		rc = write_dumps(path, text, err);
	for (int i = 0; i < 2; i++) {
		free(path[i]);
		free(text[i].p);
	}
	return rc;
}

/* --- as JSON ---------------------------------------------------------------------- */
static json_t *text_json(const kh_db *db)
{
	const text_facts f = text_of(db);

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "bases_kept", (json_int_t)f.bases,
			 "stretches_kept", (json_int_t)db->n_kept, "bases",
			 (json_int_t)(kh_db_is_thin(db->h) ? 0 : f.bases), "bases_with_alleles",
			 (json_int_t)f.with_alleles, "alleles", (json_int_t)f.alleles,
			 "seeds_a_base", seeds_a_base(db->h, &f));
}

static int print_json(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	char digest[20], name[256], date[KH_DATE];
	json_t *root;
	int rc;

	snprintf(digest, sizeof digest, "%016" PRIx64, h->digest);
	kh_cmd_db_name(db, name, sizeof name);
	kh_cmd_file_date(db->path, date);
	root = json_pack("{s:o, s:o, s:s, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:f, s:s}",
			 "database", kh_record_path(db->path), "name", kh_record_path(name),
			 "date", date, "tool", h->tool, "format",
			 (json_int_t)h->version, "bytes", (json_int_t)h->file_bytes, "scheme",
			 kh_scheme_name(h->sampling.scheme), "k", (json_int_t)h->sampling.k,
			 "s", (json_int_t)h->sampling.s,
			 "stride", (json_int_t)h->sampling.stride,
			 "sequences", (json_int_t)h->sequences, "unmapped",
			 (json_int_t)h->unmapped, "targets", (json_int_t)h->n_targets, "bases",
			 (json_int_t)h->bases, "taxa", (json_int_t)h->n_taxa, "bins",
			 (json_int_t)h->bins, "species", (json_int_t)db->bins.n_species,
			 "repeats_left_out", (int)h->no_repeats, "features",
			 (json_int_t)h->features, "overpopulated", (json_int_t)h->over, "locations",
			 (json_int_t)h->locations, "index_bytes",
			 (json_int_t)h->section[KH_SEC_INDEX].bytes, "text", text_json(db),
			 "translated_bytes",
			 (json_int_t)h->section[KH_SEC_TRANSLATED].bytes, "max_bytes",
			 (json_int_t)h->max_bytes, "share", kept_share(h),
			 "digest", digest);
	rc = root && json_dumpf(root, stdout, JSON_INDENT(2)) == 0 ? KH_OK : kh_fail_nomem(err);
	putchar('\n');
	json_decref(root);
	return rc;
}

static int show(const struct values *v, const kh_db *db, kh_err *err)
{
	int rc = v->taxdump ? write_taxdump(db, v->taxdump, err) : KH_OK;

	if (rc)
		return rc;
	if (v->find)
		return find_taxa(db, v->find, err);
	if (v->targets)
		print_targets(db);
	if (v->unmapped)
		print_unmapped(db);
	if (v->taxa)
		return print_taxa(db, err);
	if (v->targets || v->unmapped || v->taxdump)
		return KH_OK;
	if (v->json)
		return print_json(db, err);
	print_parameters(db);
	return KH_OK;
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct values v = { .db = getenv("KMERHASH_DB") };
	kh_err err = { 0, "" };
	kh_db *db = NULL;
	int first = kh_opt_parse(c, argc, argv, &v), rc;

	if (first <= 0)
		return -first;
	if (argc - first > 1) {
		kh_fail(&err, KH_EUSAGE, "one database at a time");
		return kh_cmd_fail(c, &err);
	}
	const char *path = first < argc ? argv[first] : v.db;
	if (!path) {
		kh_fail(&err, KH_EUSAGE, "no database is named");
		return kh_cmd_fail(c, &err);
	}
	kh_db_options o = { .no_verify = v.no_verify, .threads = kh_cmd_threads(v.threads),
			    .kraken = v.find != NULL };
	rc = kh_cmd_check_printing(&path, 1, "the database", &err);
	if (!rc)
		rc = kh_db_open(&db, path, &o, &err);
	if (!rc)
		rc = kh_db_reason(db, show(&v, db, &err), &err);
	kh_db_close(db);
	return rc ? kh_cmd_fail(c, &err) : 0;
}

const kh_command kh_cmd_inspect = {
	"inspect", "say what is in a database", "DATABASE.khdb", opts, settings, run, NULL
};
