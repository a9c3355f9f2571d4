#include <config.h>
#include "run/format.h"

#include <string.h>
#include "base/digits.h"

/* --- into memory that has been made: each returns the place of the next byte ---------- */
enum {
	FIXED = 256,            /* all of a line but id, name and k-mers */
	KMER_RUN = 24           /* of these, a run */
};

/* Ids are mostly so short that a call costs more than copying them, by two copies that overlap. */
static char *put_id(char *at, const char *p, size_t n)
{
	if (n < 8 || n > 32)
		return put_text(at, p, n);
	if (n <= 16) {
		memcpy(at, p, 8);
		memcpy(at + n - 8, p + n - 8, 8);
	} else {
		memcpy(at, p, 16);
		memcpy(at + n - 16, p + n - 16, 16);
	}
	return at + n;
}

/* A taxid as it stands in the line already: many digits are copied faster than made.  It has at
 * most ten of them, and what is behind it belongs to the line, too. */
typedef struct number {
	char *at;
	size_t len;
} number;

/* "taxid:count" */
static char *put_pair(char *at, number taxid, uint64_t count)
{
	char digits[10];

	memcpy(digits, taxid.at, sizeof digits);
	memcpy(at, digits, sizeof digits);
	at = put_char(at + taxid.len, ':');
	return put_number(at, count);
}

/* "0:count", or "A:count" for ambiguous k-mers */
static char *put_named(char *at, char name, uint64_t count)
{
	at = put_char(at, name);
	at = put_char(at, ':');
	return put_number(at, count);
}

/* Pairs with a blank between. */
static char *put_features(char *at, const kh_call *c, bool called, number taxid, uint64_t ambiguous)
{
	const uint64_t hits = called ? c->hits : 0,
		       other = c->kmers > hits ? c->kmers - hits : 0;
	const char *const start = at;

	if (called)
		at = put_pair(at, taxid, c->hits);
	if (other || (!called && !ambiguous)) {
		at = at > start ? put_char(at, ' ') : at;
		at = put_named(at, '0', other);
	}
	if (!ambiguous)
		return at;
	at = at > start ? put_char(at, ' ') : at;
	return put_named(at, 'A', ambiguous);
}

/* "562:13 0:4 A:31 |:| 562:2": what the k-mers of a fragment were called, as Kraken 2 writes it.
 * Between two runs stands a blank, and behind ambiguous k-mers one more even at the end. */
static char *put_kmers(char *at, const kh_taxonomy *tax, const kh_k2_run *run, size_t n)
{
	if (n == 0)
		return put_text(at, "0:0", 3);
	for (size_t i = 0; i < n; i++) {
		const uint32_t what = run[i].what;

		if (what == KH_K2_MATES || what == KH_K2_FRAMES) {
			at = put_text(at, what == KH_K2_MATES ? "|:|" : "-:-", 3);
		} else {
			if (what == KH_K2_AMBIGUOUS)
				*at++ = 'A';
			else
				at = put_number(at, what == KH_NO_TAXON ? 0 : tax->taxid[what]);
			*at++ = ':';
			at = put_number(at, run[i].n);
		}
		*at = ' ';
		at += i + 1 < n || what == KH_K2_AMBIGUOUS;
	}
	return at;
}

static char *put_taxon(char *at, const kh_style *s, const char *name, size_t len, uint32_t taxid,
		       number *where)
{
	if (s->names) {
		at = put_text(at, name, len);
		at = put_text(at, " (taxid ", 8);
	}
	where->at = at;
	at = put_number(at, taxid);
	where->len = (size_t)(at - where->at);
	return s->names ? put_char(at, ')') : at;
}

/* --- further columns --------------------------------------------------------------- */
/* The letter in front of a taxon in a lineage, or 0: it is left out. */
static char lineage_letter(const kh_taxonomy *t, uint32_t taxon)
{
	const char letter = t->letter[taxon];

	return letter ? (char)(letter | 0x20) : 0;
}

static size_t lineage_bytes(const kh_taxonomy *t, uint32_t taxon)
{
	size_t n = 0;

	for (; taxon != KH_NO_TAXON && taxon > 0; taxon = t->parent[taxon])
		if (lineage_letter(t, taxon))
			n += strlen(t->names + t->name[taxon]) + sizeof "d__;" - 1;
	return n;
}

/* "d__Bacteria;...;s__Escherichia coli", from its end on; "-" if there is nothing to be said. */
static char *put_lineage(char *at, const kh_taxonomy *t, uint32_t taxon)
{
	const size_t n = lineage_bytes(t, taxon);
	char *p = at + n;

	if (n == 0)
		return put_char(at, '-');
	for (; taxon > 0; taxon = t->parent[taxon]) {
		const char letter = lineage_letter(t, taxon), *name = t->names + t->name[taxon];
		const size_t len = strlen(name);

		if (!letter)
			continue;
		p -= len + 4;
		memcpy(put_text(put_char(p, letter), "__", 2), name, len);
		p[len + 3] = ';';
	}
	return at + n - 1;              /* over the last semicolon */
}

static char *put_second(char *at, const kh_style *s, const kh_line_parts *l, const kh_call *c)
{
	const kh_second *x = l->second;

	if (!x || x->taxon == KH_NO_TAXON)
		return put_char(at, '-');
	at = put_number(at, s->tax->taxid[x->taxon]);
	at = put_char(at, ':');
	return put_number(at, x->hits < c->kmers ? x->hits : c->kmers);
}

/* "0.9867" of the columns, or "-" if there are none. */
static char *put_identity(char *at, const kh_line_parts *l)
{
	const uint64_t share = l->columns ? l->matches * 10000 / l->columns : 0;

	if (l->columns == 0)
		return put_char(at, '-');
	at = put_text(at, share < 10000 ? "0." : "1.", 2);
	at = put_number(at, share / 1000 % 10);
	return put_three(at, (uint32_t)(share % 1000));
}

/* Of a fragment that a device has parsed. */
static void line_of_parsed(kh_line_parts *l, const kh_parsed_there *t, size_t i)
{
	const kh_parsed_fragment *f = &t->fragment[i];

	*l = (kh_line_parts) { .id = t->names + f->name, .id_len = f->n_name, .mates = t->mates,
			       .len = { f->len[0], f->len[1] }, .ambiguous = f->ambiguous };
}

static void line_of_records(kh_line_parts *l, const kh_block *const blk[2],
			    const kh_record *const r[2])
{
	*l = (kh_line_parts) { .id = blk[0]->text + r[0]->name, .id_len = r[0]->id_len,
			 .mates = r[1] != NULL, .len = { r[0]->len, r[1] ? r[1]->len : 0 } };
}

/* The name that mates share. */
static void cut_mate(kh_line_parts *l)
{
	if (l->mates && l->id_len > 2 && l->id[l->id_len - 2] == '/' &&
	    (l->id[l->id_len - 1] == '1' || l->id[l->id_len - 1] == '2'))
		l->id_len -= 2;
}

void kh_line_of_records(kh_line_parts *l, const kh_job *job, size_t i)
{
	const kh_block *blk[2];
	const kh_record *r[2];

	kh_job_records(job, i, blk, r);
	line_of_records(l, blk, r);
	cut_mate(l);
}

void kh_line_of(kh_line_parts *l, const kh_style *s, const kh_job *job, size_t i)
{
	const kh_block *blk[2];
	const kh_record *r[2];

	if (job->there) {
		line_of_parsed(l, job->there, i);
	} else {
		kh_job_records(job, i, blk, r);
		line_of_records(l, blk, r);
		for (int mate = 0; mate < 2 && r[mate] && s->column5 == KH_COLUMN5_FEATURES; mate++)
			l->ambiguous += kh_ambiguous_kmers(&blk[mate]->amb[r[mate]->seq >> 5],
							   r[mate]->len, s->k);
	}
	cut_mate(l);
}

void kh_format_parts(kh_buf *b, const kh_style *s, const kh_line_parts *l, const kh_call *call)
{
	bool called = call->taxon != KH_NO_TAXON;
	uint32_t taxid = called ? s->tax->taxid[call->taxon] : 0;
	const char *name = called ? s->tax->names + s->tax->name[call->taxon] : "unclassified";
	size_t name_len = s->names ? strlen(name) : 0;
	const size_t lineage = s->lineage ? lineage_bytes(s->tax, call->taxon) : 0;
	number where;
	char *at;

	if (!kh_buf_reserve(b, l->id_len + name_len + lineage + FIXED + KMER_RUN * l->n_runs))
		return;
	at = put_char(b->p + b->n, called ? 'C' : 'U');
	at = put_char(at, '\t');
	at = put_id(at, l->id, l->id_len);
	at = put_char(at, '\t');
	at = put_taxon(at, s, name, name_len, taxid, &where);
	at = put_char(at, '\t');
	at = put_number(at, l->len[0]);
	if (l->mates) {
		at = put_char(at, '|');
		at = put_number(at, l->len[1]);
	}
	at = put_char(at, '\t');
	switch (s->column5) {
	case KH_COLUMN5_FEATURES:
		at = put_features(at, call, taxid != 0, where, l->ambiguous);
		break;
	case KH_COLUMN5_KMERS:
		at = put_kmers(at, s->tax, l->run, l->n_runs);
		break;
	case KH_COLUMN5_QUICK:
		at = put_text(put_text(at, where.at, where.len), ":Q", 2);
		break;
	}
	if (s->lineage)
		at = put_lineage(put_char(at, '\t'), s->tax, call->taxon);
	if (s->second)
		at = put_second(put_char(at, '\t'), s, l, call);
	if (s->identity)
		at = put_identity(put_char(at, '\t'), l);
	at = put_char(at, '\n');
	b->n = (size_t)(at - b->p);
}

/* Columns of all alignments of a fragment, and how many of them match. */
static void add_identity(const kh_alignments *a, size_t i, kh_line_parts *l)
{
	for (size_t k = 0; k < a->list[i].n; k++) {
		l->matches += a->v[a->list[i].from + k].matches;
		l->columns += a->v[a->list[i].from + k].columns;
	}
}

/* Where a GPU has made the calls, names and masks of a job are in no near cache any more. */
static void prefetch(const kh_job *job, size_t i)
{
	const kh_block *blk[2];
	const kh_record *r[2];

	if (job->there) {
		__builtin_prefetch(job->there->names + job->there->fragment[i].name);
		return;
	}
	kh_job_records(job, i, blk, r);
	__builtin_prefetch(blk[0]->text + r[0]->name);
	for (int mate = 0; mate < 2 && r[mate]; mate++)
		__builtin_prefetch(&blk[mate]->amb[r[mate]->seq >> 5]);
}

void kh_format_line(kh_buf *b, const kh_style *s, const kh_task *t, size_t i)
{
	enum { AHEAD = 12 };
	kh_line_parts l;

	if (i + AHEAD < t->job->n)
		prefetch(t->job, i + AHEAD);
	kh_line_of(&l, s, t->job, i);
	if (t->runs) {
		l.run = t->runs->run + t->runs->list[i].from;
		l.n_runs = t->runs->list[i].n;
	}
	if (s->second)
		l.second = &t->second[i];
	if (s->identity)
		add_identity(t->aligned, i, &l);
	kh_format_parts(b, s, &l, &t->call[i]);
}

void kh_format_record(kh_buf *b, const char *text, size_t head, size_t len, uint32_t taxid)
{
	char *at;

	if (!kh_buf_reserve(b, len + FIXED))
		return;
	at = taxid ? kh_put_header(b->p + b->n, text, head, taxid)
		   : put_text(b->p + b->n, text, head);
	at = put_text(at, text + head, len - head);
	if (at[-1] != '\n')
		at = put_char(at, '\n');
	b->n = (size_t)(at - b->p);
}

void kh_format_read(kh_buf *b, const kh_style *s, const kh_block *blk, const kh_record *r,
		    uint32_t taxid)
{
	if (s->one_line)
		kh_one_line(b, blk, r, taxid, s->quality);
	else
		kh_format_record(b, blk->text + r->text,
				 (size_t)(r->name - r->text) + r->name_len, (size_t)r->text_len,
				 taxid);
}
