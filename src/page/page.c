#include <config.h>
#include "page/page.h"
#include "base/escape.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "page/known.h"
#include "page/template.h"

/* The taxa that are written, and their places in the data. */
struct chosen {
	const kh_page *p;
	uint32_t *at;                   /* by taxon: its place in the page, if it is kept */
	bool *kept;
	json_t *ranks;                  /* the names of ranks that occur */
};

/* --- JSON ------------------------------------------------------------------------- */
static json_t *text_of(const char *s)
{
	char *shown = s ? kh_escaped(s) : NULL;
	json_t *t = shown ? json_string(shown) : NULL;

	free(shown);
	return t;
}

/* Takes over the new reference. If it is NULL, as memory ran out, the array becomes NULL, too. */
static void push(json_t **array, json_t *value)
{
	if (json_array_append_new(*array, value) == 0)
		return;
	json_decref(*array);
	*array = NULL;
}

/* The same of an object. */
static void set(json_t **object, const char *key, json_t *value)
{
	if (json_object_set_new(*object, key, value) == 0)
		return;
	json_decref(*object);
	*object = NULL;
}

static json_t *integer(uint64_t n) { return json_integer((json_int_t)n); }

/* --- taxa ------------------------------------------------------------------------- */
/* Has a row text, as that of a species that lost its reads? */
static bool has_words(const kh_page *p, const kh_page_row *r)
{
	for (size_t k = 0; k < p->n_columns; k++)
		if (p->column[k].kind == KH_PAGE_TEXT && r->value[k].text)
			return true;
	return false;
}

static int choose(struct chosen *c, kh_err *err)
{
	const kh_page *p = c->p;
	uint32_t n = 0;

	c->at = kh_array(p->n_taxa, sizeof *c->at, err);
	c->kept = kh_array(p->n_taxa, sizeof *c->kept, err);
	if (!c->at || !c->kept)
		return KH_ENOMEM;
	for (size_t s = 0; s < p->n_samples; s++) {
		const kh_page_sample *x = &p->sample[s];

		for (size_t i = 0; i < p->n_taxa; i++)
			c->kept[i] |= x->direct[i] > 0;
		for (size_t i = 0; i < x->n_rows; i++)
			c->kept[x->row[i].taxon] |= has_words(p, &x->row[i]);
	}
	for (size_t i = p->n_taxa; i-- > 1;)
		c->kept[p->taxon[i].parent] |= c->kept[i];
	c->kept[0] = true;
	for (size_t i = 0; i < p->n_taxa; i++)
		if (c->kept[i])
			c->at[i] = n++;
	return KH_OK;
}

/* Finds or adds a rank; there are only some dozens. */
static json_t *rank_number(struct chosen *c, const char *rank)
{
	const size_t n = json_array_size(c->ranks);

	for (size_t i = 0; i < n; i++)
		if (strcmp(json_string_value(json_array_get(c->ranks, i)), rank) == 0)
			return integer(i);
	push(&c->ranks, text_of(rank));
	return c->ranks ? integer(n) : NULL;
}

static json_t *taxa(struct chosen *c)
{
	json_t *taxid = json_array(), *parent = json_array(), *rank = json_array();
	json_t *name = json_array();

	for (size_t i = 0; i < c->p->n_taxa; i++) {
		const kh_page_taxon *t = &c->p->taxon[i];

		if (!c->kept[i])
			continue;
		push(&taxid, integer(t->taxid));
		push(&parent, integer(c->at[t->parent]));
		push(&rank, rank_number(c, t->rank));
		push(&name, text_of(t->name));
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "taxid", taxid, "parent", parent, "rank", rank,
			 "name", name);
}

/* --- samples, columns, facts ------------------------------------------------------ */
static json_t *values(const kh_page *p, const kh_page_row *r)
{
	json_t *all = json_array();

	for (size_t k = 0; k < p->n_columns; k++) {
		const kh_page_value v = r->value[k];

		if (p->column[k].kind == KH_PAGE_TEXT)
			push(&all, v.text ? text_of(v.text) : json_null());
		else
			push(&all, isfinite(v.number) ? json_real(v.number) : json_null());
	}
	return all;
}

static json_t *reference(const kh_db *db, const kh_covered_target *x)
{
	const kh_db_target *target = &db->target[x->target];
	json_t *bins = json_array();

	for (size_t i = 0; i < x->n; i++)
		push(&bins, integer(x->part[i]));
	return json_pack("{s:o, s:I, s:I, s:o}", "id", text_of(db->ids + target->id), "bases",
			 (json_int_t)target->bases, "reads", (json_int_t)x->many, "bins", bins);
}

static json_t *covered(const kh_db *db, const kh_covered *x)
{
	json_t *references = json_array(), *identity = json_array();

	for (size_t i = 0; i < x->n; i++)
		push(&references, reference(db, &x->target[i]));
	for (size_t i = 0; i < KH_SHARES; i++)
		push(&identity, integer(x->share[i]));
	return json_pack("{s:I, s:o, s:o}", "reads", (json_int_t)x->many, "references",
			 references, "identity", identity);
}

/* By taxid, of taxa that are in the page. */
static json_t *coverage(const struct chosen *c, const kh_page_sample *s)
{
	json_t *all = json_object();

	for (size_t i = 0; i < s->n_coverage; i++) {
		const kh_covered *x = &s->coverage[i];
		char taxid[16];

		snprintf(taxid, sizeof taxid, "%lu", (unsigned long)c->p->taxon[x->species].taxid);
		if (c->kept[x->species])
			set(&all, taxid, covered(c->p->db, x));
	}
	return all;
}

/* Borders of ranges: a read that shares i of 32 features with its reference is about so near to it,
 * as k bases in a row are the same for a share I^k of the features. */
static json_t *identities(const kh_page *p)
{
	json_t *all = json_array();

	for (size_t i = 0; i <= KH_SHARES; i++)
		push(&all, json_real(pow((double)i / KH_SHARES, 1.0 / (double)p->k)));
	return all;
}

static json_t *readout(const char *text)
{
	json_t *all = json_array();

	for (int i = 0; i < 3; i++, text += strlen(text) + 1)
		push(&all, text_of(text));
	return all;
}

static json_t *sample(const struct chosen *c, const kh_page_sample *s)
{
	json_t *direct = json_array(), *of = json_object();

	for (size_t i = 0; i < c->p->n_taxa; i++)
		if (c->kept[i])
			push(&direct, integer(s->direct[i]));
	for (size_t i = 0; i < s->n_rows; i++) {
		char at[16];

		snprintf(at, sizeof at, "%lu", (unsigned long)c->at[s->row[i].taxon]);
		if (c->kept[s->row[i].taxon])
			set(&of, at, values(c->p, &s->row[i]));
	}
	json_t *o = json_pack("{s:o, s:I, s:o, s:o}", "name", text_of(s->name), "unclassified",
			      (json_int_t)s->unclassified, "direct", direct, "values", of);
	if (s->readout)
		set(&o, "readout", readout(s->readout));
	if (s->n_coverage > 0)
		set(&o, "coverage", coverage(c, s));
	return o;
}

static json_t *columns(const kh_page *p)
{
	static const char *const kind[] = { "number", "percent", "text" };
	json_t *all = json_array();

	for (size_t k = 0; k < p->n_columns; k++) {
		const kh_page_column *c = &p->column[k];
		json_t *o = json_pack("{s:s, s:s}", "key", c->key, "label", c->label);

		if (c->help)
			set(&o, "help", json_string(c->help));
		set(&o, "kind", json_string(kind[c->kind]));
		set(&o, "digits", integer(c->digits));
		if (c->detail)
			set(&o, "detail", json_true());
		push(&all, o);
	}
	return all;
}

static json_t *facts(const kh_page *p)
{
	json_t *all = json_array();

	for (size_t i = 0; i < p->n_facts; i++) {
		json_t *o = json_pack("{s:o, s:o}", "label", text_of(p->fact[i].label), "value",
				      text_of(p->fact[i].value));

		if (p->fact[i].code)
			set(&o, "code", json_true());
		push(&all, o);
	}
	return all;
}

static json_t *data(struct chosen *c)
{
	const kh_page *p = c->p;
	json_t *o = json_object(), *samples = json_array(), *tree;
	kh_err err;

	c->ranks = json_array();
	tree = taxa(c);
	for (size_t s = 0; s < p->n_samples; s++)
		push(&samples, sample(c, &p->sample[s]));
	set(&o, "format", json_string("kmerhash-page"));
	set(&o, "version", json_integer(2));
	if (p->title)
		set(&o, "title", text_of(p->title));
	set(&o, "unit", text_of(p->unit));
	set(&o, "ranks", c->ranks);
	set(&o, "taxa", tree);
	set(&o, "columns", columns(p));
	if (p->db)
		set(&o, "identities", identities(p));
	set(&o, "samples", samples);
	set(&o, "facts", facts(p));
	if (p->known)
		set(&o, "known", kh_page_known_json(p->known, &err));
	return o;
}

/* Writes each '<' as \u003c: in JSON it only occurs in strings. */
static void add_json(kh_buf *b, const char *s)
{
	for (size_t n; *s; s += n + (s[n] != '\0')) {
		n = strcspn(s, "<");
		kh_buf_add(b, s, n);
		kh_buf_string(b, s[n] ? "\\u003c" : "");
	}
}

/* --- the page --------------------------------------------------------------------- */
/* The template up to `mark`; *t goes on behind it. */
static void add_until(kh_buf *b, const char **t, const char *mark)
{
	const char *end = strstr(*t, mark);

	kh_buf_add(b, *t, (size_t)(end - *t));
	*t = end + strlen(mark);
}

static void add_page(kh_buf *b, const char *json)
{
	const char *t = kh_page_html;

	add_until(b, &t, "@CSS@");
	kh_buf_string(b, kh_page_css);
	add_until(b, &t, "@DATA@");
	add_json(b, json);
	add_until(b, &t, "@JS@");
	kh_buf_string(b, kh_page_js);
	kh_buf_string(b, t);
}

int kh_page_write(kh_buf *b, const kh_page *p, kh_err *err)
{
	struct chosen c = { .p = p };
	json_t *root = NULL;
	char *text = NULL;
	int rc = choose(&c, err);

	if (!rc) {
		root = data(&c);
		text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
		rc = text ? KH_OK : kh_fail_nomem(err);
	}
	if (!rc) {
		add_page(b, text);
		rc = kh_buf_check(b, err);
	}
	free(text);
	json_decref(root);
	free(c.at);
	free(c.kept);
	return rc;
}

kh_page_taxon *kh_page_taxa(const kh_taxonomy *tax, kh_err *err)
{
	kh_page_taxon *t = kh_array(tax->n, sizeof *t, err);

	for (uint32_t i = 0; t && i < tax->n; i++)
		t[i] = (kh_page_taxon) { .taxid = tax->taxid[i],
					 .parent = tax->parent[i],
					 .name = tax->names + tax->name[i],
					 .rank = tax->letter[i] == 'D' ? "domain"
								  : kh_rank_name(tax->rank[i]) };
	return t;
}
