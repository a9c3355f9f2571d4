#include <config.h>
#include "taxonomy/lineage_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/columns.h"

enum { MAX_PARTS = 128 };

int kh_lineages_new(kh_lineages **l, kh_err *err)
{
	*l = kh_array(1, sizeof **l, err);
	return *l ? KH_OK : KH_ENOMEM;
}

void kh_lineages_free(kh_lineages *l)
{
	if (!l)
		return;
	free(l->text.p);
	free(l->node);
	free(l->entry);
	kh_numbers_clear(&l->numbers);
	kh_errs_clear(&l->doubts);
	free(l);
}

/* --- taxa by their paths ---------------------------------------------------------- */
uint64_t kh_lineages_hash_on(uint64_t h, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t kh_lineages_hash(kh_span s)
{
	return kh_lineages_hash_on(KH_LINEAGES_EMPTY, s.p, s.n);
}

static bool same(kh_span a, kh_span b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

uint32_t kh_lineages_find(const kh_lineages *l, kh_span path)
{
	const uint64_t hash = kh_lineages_hash(path);
	size_t at = 0;
	uint32_t i = kh_numbers_next(&l->numbers, hash, &at);

	while (i != KH_NO_NUMBER && !same(kh_lineages_path(l, &l->node[i]), path))
		i = kh_numbers_next(&l->numbers, hash, &at);
	return i;
}

/* The taxon of a path, which is added if it is new. */
static int intern(kh_lineages *l, kh_span path, const kh_lineage_node *like, uint32_t *number,
		  kh_err *err)
{
	int rc;

	*number = kh_lineages_find(l, path);
	if (*number != KH_NO_NUMBER) {
		if (l->node[*number].rank != like->rank)
			l->node[*number].rank = KH_RANK_NONE;
		return KH_OK;
	}
	if (l->n >= INT32_MAX / 2)
		return kh_fail(err, KH_EFORMAT, "too many taxa in lineages");
	rc = KH_GROW(l->node, l->cap, l->n + 1, err);
	if (rc)
		return rc;
	l->node[l->n] = *like;
	l->node[l->n].path_len = path.n;
	l->node[l->n].path = l->text.n;
	l->node[l->n].name += l->text.n;
	l->node[l->n].name_len = path.n - like->name;
	kh_buf_add(&l->text, path.p, path.n);
	if ((rc = kh_buf_check(&l->text, err)))
		return rc;
	*number = (uint32_t)l->n++;
	return kh_numbers_add(&l->numbers, kh_lineages_hash(path), *number, err);
}

/* --- a lineage -------------------------------------------------------------------- */
static const struct {
	char letter;
	const char *rank;
} prefixes[] = { { 'd', "domain" }, { 'k', "kingdom" }, { 'p', "phylum" },  { 'c', "class" },
		 { 'o', "order" },  { 'f', "family" },  { 'g', "genus" },   { 's', "species" },
		 { 't', "strain" } };
enum { N_PREFIXES = sizeof prefixes / sizeof *prefixes };

/* Parts without a prefix have these ranks, and then the species. */
static const char *const place[] = { "domain", "phylum", "class", "order", "family", "genus" };
enum { PLACES = sizeof place / sizeof *place };

struct parts {
	kh_span part[MAX_PARTS];        /* with the prefix in front of the name */
	uint8_t rank[MAX_PARTS];
	size_t front[MAX_PARTS];        /* bytes in front of the name: 3 or 0 */
	size_t n;
	bool closed;                    /* a ';' stands behind the last one */
};

static kh_rank rank_named(const char *name)
{
	return kh_rank_find(name, strlen(name));
}

const char *kh_lineages_letters(kh_rank rank)
{
	static const char letters[N_PREFIXES][3] = { "dk", "k", "p", "c", "o", "f", "g", "s", "t" };

	for (int i = 0; i < N_PREFIXES && rank != KH_RANK_NONE; i++)
		if (rank_named(prefixes[i].rank) == rank)
			return letters[i];
	return "";
}

/* Greengenes and MetaPhlAn have k__ in front of what is a domain. */
static bool is_domain(kh_span name)
{
	static const char *const domain[] = { "Bacteria", "Archaea", "Eukaryota", "Eukarya",
					      "Viruses", "Viroids" };

	for (size_t i = 0; i < sizeof domain / sizeof *domain; i++)
		if (kh_span_is(name, domain[i]))
			return true;
	return false;
}

static kh_rank rank_of(kh_span part, int prefix, bool first)
{
	if (prefix < 0)
		return KH_RANK_NONE;
	if (first && prefixes[prefix].letter == 'k' &&
	    is_domain((kh_span) { part.p + 3, part.n - 3 }))
		prefix = 0;
	return rank_named(prefixes[prefix].rank);
}

/* Which prefix a part has, or -1. */
static int prefix_of(kh_span s)
{
	if (s.n < 3 || s.p[1] != '_' || s.p[2] != '_')
		return -1;
	for (int i = 0; i < N_PREFIXES; i++)
		if (s.p[0] == prefixes[i].letter)
			return i;
	return -1;
}

#define BAD(row, errs, err, fmt, ...) kh_errs_note(errs, err, KH_EFORMAT, \
	"%s:%llu: column 2: " fmt, (row)->file, (row)->line, __VA_ARGS__)

static int check_part(const kh_lineage_row *row, kh_span s, kh_errs *errs, kh_err *err, bool *bad)
{
	*bad = s.n > 0 && !kh_span_is_printable(s);
	return *bad ? BAD(row, errs, err, "\"%s\" is not printable text", kh_span_show(s).s)
		    : KH_OK;
}

/* Splits a lineage into its parts that are not empty, with their prefixes. */
static int split(const kh_lineage_row *row, struct parts *x, kh_errs *errs, kh_err *err, bool *bad)
{
	const char *p = row->lineage.p, *end = p + row->lineage.n;
	int last = -1, rc = KH_OK;
	size_t with = 0, all = 0;

	for (; p <= end && !rc && !*bad; all++) {
		const char *semi = memchr(p, ';', (size_t)(end - p));
		const kh_span s = kh_span_trim(p, semi ? semi : end);
		const int prefix = prefix_of(s);

		p = semi ? semi + 1 : end + 1;
		rc = check_part(row, s, errs, err, bad);
		with += prefix >= 0;
		if (prefix >= 0 && prefix <= last) {
			*bad = true;
			return BAD(row, errs, err, "\"%s\" stands behind a part with %c__",
				   kh_span_show(s).s, prefixes[last].letter);
		}
		last = prefix;
		if (s.n <= (prefix >= 0 ? 3 : 0)) {
			all -= s.n == 0;
			x->closed = s.n == 0;
			continue;
		}
		if (x->n == MAX_PARTS) {
			*bad = true;
			return BAD(row, errs, err, "more than %d parts", (int)MAX_PARTS);
		}
		x->rank[x->n] = rank_of(s, prefix, x->n == 0);
		x->front[x->n] = prefix >= 0 ? 3 : 0;
		x->closed = false;
		x->part[x->n++] = s;
	}
	if (rc || *bad)
		return rc;
	*bad = x->n == 0 || (with > 0 && with < all);
	if (x->n == 0)
		return BAD(row, errs, err, "\"%s\" names no taxon", kh_span_show(row->lineage).s);
	return *bad ? BAD(row, errs, err, "\"%s\": some parts have a rank such as p__ in front, "
			  "others have none", kh_span_show(row->lineage).s)
		    : KH_OK;
}

/* Gives ranks to parts without prefixes.  Lineages that are closed may end above the species, as
 * those of DADA2's sets do; of others the last part is one. */
static void rank_by_place(struct parts *x)
{
	if (x->front[0] > 0)
		return;
	for (size_t i = 0; i < PLACES && x->n <= PLACES + 1; i++)
		x->rank[i] = rank_named(place[i]);
	x->rank[0] = rank_named(place[0]);
	if (x->n > 1 && (!x->closed || x->n > PLACES))
		x->rank[x->n - 1] = KH_RANK_SPECIES;
}

/* Is the name of a species its epithet alone, as in Greengenes?  One word of small letters. */
static bool is_epithet(kh_span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < 'a' || s.p[i] > 'z') && s.p[i] != '-')
			return false;
	return s.n > 0 && s.p[0] != '-';
}

/* The name of a species whose part is an epithet begins with that of its genus. */
static int name_species(kh_lineages *l, const struct parts *x, uint32_t number, kh_err *err)
{
	kh_lineage_node *species = &l->node[number];
	kh_span genus;

	if (x->rank[x->n - 1] != KH_RANK_SPECIES || x->n < 2 ||
	    x->rank[x->n - 2] != KH_RANK_GENUS || !is_epithet(kh_lineages_name(l, species)))
		return KH_OK;
	const size_t at = l->text.n, name = species->name, len = species->name_len;

	genus = kh_lineages_name(l, &l->node[species->parent]);
	if (!kh_buf_reserve(&l->text, genus.n + 1 + len))
		return kh_buf_check(&l->text, err);
	kh_buf_add(&l->text, kh_lineages_name(l, &l->node[species->parent]).p, genus.n);
	kh_buf_string(&l->text, " ");
	kh_buf_add(&l->text, l->text.p + name, len);
	species->name = at;
	species->name_len = l->text.n - at;
	return KH_OK;
}

/* Adds a taxon for each prefix of a lineage; *number: the last one. */
static int intern_all(kh_lineages *l, const kh_lineage_row *row, const struct parts *x,
		      uint32_t *number, kh_err *err)
{
	kh_buf path = { .n = 0 };
	int rc = KH_OK;

	for (size_t i = 0; i < x->n && !rc; i++) {
		const kh_span s = x->part[i];

		kh_buf_string(&path, i > 0 ? ";" : "");
		const kh_lineage_node like = { .name = path.n + x->front[i], .rank = x->rank[i],
				    .parent = i > 0 ? *number : UINT32_MAX,
				    .by_place = x->front[i] == 0,
				    .file = row->file, .line = row->line };
		kh_buf_add(&path, s.p, s.n);
		if (!(rc = kh_buf_check(&path, err)))
			rc = intern(l, (kh_span) { path.p, path.n }, &like, number, err);
		if (!rc && i == 0 && like.by_place && x->n > PLACES + 1)
			l->node[*number].deep = true;
	}
	if (!rc)
		rc = name_species(l, x, *number, err);
	free(path.p);
	return rc;
}

/* The id without "RS_" or "GB_" in front of the accession of an assembly. */
kh_span kh_lineages_plain_id(kh_span s)
{
	const bool gtdb = s.n > 7 && (memcmp(s.p, "RS_GC", 5) == 0 || memcmp(s.p, "GB_GC", 5) == 0);

	return gtdb ? (kh_span) { s.p + 3, s.n - 3 } : s;
}

int kh_lineages_add(kh_lineages *l, const kh_lineage_row *row, kh_errs *errs, kh_err *err)
{
	struct parts x = { .n = 0 };
	const kh_span id = kh_lineages_plain_id(row->id);
	kh_lineage_entry e = { .id_len = id.n, .line = row->line, .file = row->file };
	bool bad = id.p && id.n == 0;
	int rc;

	if (bad)
		return kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: column 1: the id is empty",
				    row->file, row->line);
	rc = split(row, &x, errs, err, &bad);
	if (rc || bad)
		return rc;
	x.closed |= row->closed;
	rank_by_place(&x);
	if ((rc = intern_all(l, row, &x, &e.node, err)) || !id.p)
		return rc;
	e.id = l->text.n;
	kh_buf_add(&l->text, id.p, id.n);
	if ((rc = kh_buf_check(&l->text, err)) ||
	    (rc = KH_GROW(l->entry, l->entries_cap, l->n_entries + 1, err)))
		return rc;
	l->entry[l->n_entries++] = e;
	return KH_OK;
}

/* --- header lines ----------------------------------------------------------------- */
kh_span kh_lineages_in_header(kh_span s, bool *closed)
{
	const char *const end = s.p + s.n, *p = s.p, *semi;

	while (p < end && *p != ' ' && *p != '\t')
		p++;
	semi = memchr(s.p, ';', (size_t)(p - s.p));
	*closed = semi != NULL;
	if (!semi) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		return (kh_span) { p, memchr(p, ';', (size_t)(end - p)) ? (size_t)(end - p) : 0 };
	}
	const char *bar = memrchr(s.p, '|', (size_t)(semi - s.p));
	/* ">id;size=9;" and ">id;tax=d:Bacteria,..." of USEARCH are no lineages */
	if (!bar && memchr(s.p, '=', (size_t)(p - s.p)))
		return (kh_span) { s.p, 0 };
	p = bar ? bar + 1 : s.p;
	return (kh_span) { p, (size_t)(end - p) };
}

uint32_t kh_lineages_header_taxid(const kh_lineages *l, const char *header, size_t len)
{
	bool closed;
	const kh_span s = kh_lineages_in_header((kh_span) { header, len }, &closed);
	const char *p = s.p, *const end = s.p + s.n;
	kh_buf path = { .n = 0 };
	uint32_t i = KH_NO_NUMBER;

	while (s.n > 0 && p <= end) {
		const char *semi = memchr(p, ';', (size_t)(end - p));
		const kh_span part = kh_span_trim(p, semi ? semi : end);

		p = semi ? semi + 1 : end + 1;
		if (part.n <= (prefix_of(part) >= 0 ? 3 : 0))
			continue;
		kh_buf_string(&path, path.n > 0 ? ";" : "");
		kh_buf_add(&path, part.p, part.n);
	}
	if (path.n > 0 && !path.lost)
		i = kh_lineages_find(l, (kh_span) { path.p, path.n });
	free(path.p);
	return i == KH_NO_NUMBER ? 0 : l->node[i].taxid;
}

/* --- tables ----------------------------------------------------------------------- */
/* A table of lineages: its rows, and in which of their columns ids and lineages are. */
struct table {
	kh_tsv *tsv;
	kh_columns c;
	int id, lineage;
	bool begun;                     /* these are known */
};

/* Without a header, rows have two columns. */
static int first_row(struct table *t, kh_span row, bool *header, kh_errs *errs, kh_err *err)
{
	static const char *const lineage[] = { "gtdb_taxonomy", "taxonomy", "lineage", "taxon",
					       "classification", NULL };
	static const char *const id[] = { "accession", "user_genome", "id", "genome", NULL };
	int rc = kh_columns_first(&t->c, t->tsv, row, errs, err);

	t->lineage = kh_columns_find(&t->c, lineage);
	t->id = kh_columns_find(&t->c, id);
	*header = t->lineage >= 0 || kh_row_is_comment(row);
	t->begun = t->lineage >= 0 || !*header;
	if (*header) {          /* or a comment, in front of it */
		t->id = t->id < 0 ? t->lineage == 0 : t->id;
		return rc;
	}
	t->id = 0;
	t->lineage = 1;
	t->c.between = '\t';
	if (!rc && t->c.n > 2 && memchr(row.p, '\t', row.n))
		rc = kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: %d columns, and none of them is "
				  "called gtdb_taxonomy, taxonomy, lineage or classification; "
				  "expected an id, a tab and a lineage", t->tsv->name,
				  (unsigned long long)t->tsv->line, t->c.n);
	return rc;
}

static int table_row(kh_lineages *l, struct table *t, kh_span row, kh_errs *errs, kh_err *err)
{
	const unsigned long long line = t->tsv->line;
	int rc = kh_columns_split(&t->c, t->tsv, row, errs, err);

	if (rc || t->c.n < 0)
		return rc;
	if (t->c.n <= t->id || t->c.n <= t->lineage)
		return kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: %s, expected an id, a tab "
				    "and a lineage", t->tsv->name, line,
				    t->c.n == 1 ? "one column" : "too few columns");
	const kh_lineage_row x = { t->tsv->name, line, t->c.v[t->id], t->c.v[t->lineage], false };
	return kh_lineages_add(l, &x, errs, err);
}

int kh_lineages_parse(kh_lineages *l, kh_tsv *tsv, kh_errs *errs, kh_err *err)
{
	const size_t before = errs->found;
	struct table t = { .tsv = tsv };
	kh_span row;
	int got, rc = KH_OK;

	while (!rc && (got = kh_tsv_next(tsv, &row, err)) != 0) {
		bool header = got > 0 && (kh_row_is_blank(row) ||
					  (t.begun && kh_row_is_comment(row)));

		if (got < 0) {
			rc = got;
		} else if (!header && !t.begun) {
			rc = first_row(&t, row, &header, errs, err);
			if (errs->found > before)
				break;          /* no row can be read */
		}
		if (!rc && !header)
			rc = table_row(l, &t, row, errs, err);
	}
	return rc;
}

int kh_lineages_load(kh_lineages *l, const char *path, kh_errs *errs, kh_err *err)
{
	kh_err one = { 0, "" };
	kh_tsv t;
	int rc = kh_tsv_open(&t, path, &one);

	rc = rc ? kh_errs_add(errs, &one, err) : kh_lineages_parse(l, &t, errs, err);
	kh_tsv_clear(&t);
	return rc;
}
