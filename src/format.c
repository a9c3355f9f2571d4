#include <config.h>
#include "format.h"

#include <string.h>
#include "mem.h"

int kh_buf_room(kh_buf *b, size_t more, kh_err *err)
{
	return kh_grow((void **)&b->p, &b->cap, b->n + more, 1, err);
}

int kh_buf_add(kh_buf *b, const char *p, size_t n, kh_err *err)
{
	int rc = kh_buf_room(b, n, err);

	if (rc || n == 0)               /* both may be NULL */
		return rc;
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return KH_OK;
}

/* --- into room that has been made ------------------------------------------------------ */
enum { NUMBER = 20, FIXED = 256 };      /* digits of a u64; all of a line but id and name */

static void put_number(kh_buf *b, uint64_t x)
{
	char digit[NUMBER];
	int n = NUMBER;

	do {
		digit[--n] = (char)('0' + x % 10);
		x /= 10;
	} while (x > 0);
	memcpy(b->p + b->n, digit + n, (size_t)(NUMBER - n));
	b->n += (size_t)(NUMBER - n);
}

static void put_char(kh_buf *b, char c)
{
	b->p[b->n++] = c;
}

static void put_bytes(kh_buf *b, const char *p, size_t n)
{
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

/* " taxid:count", without the blank if it is the first of column 5 */
static void put_pair(kh_buf *b, bool *any, uint64_t count)
{
	put_char(b, ':');
	put_number(b, count);
	*any = true;
}

/* k-mers of a record that hold a base other than ACGTU. */
static uint64_t ambiguous_kmers(const kh_block *b, const kh_record *r, uint32_t k)
{
	uint64_t words = r->len / 32, n = 0, run = 0;
	uint32_t any = 0;

	if (r->len < k)
		return 0;
	for (uint64_t w = 0; w < words; w++)
		any |= b->amb[(r->seq >> 5) + w];
	if (r->len % 32)
		any |= b->amb[(r->seq >> 5) + words] & ((UINT32_C(1) << r->len % 32) - 1);
	if (!any)
		return 0;
	for (uint64_t i = 0; i < r->len; i++) {
		run = kh_packed_amb(b->amb, r->seq + i) ? k : run > 0 ? run - 1 : 0;
		n += i + 1 >= k && run > 0;
	}
	return n;
}

static void put_column5(kh_buf *b, const kh_call *c, uint32_t taxid, uint64_t ambiguous)
{
	bool any = false;

	if (taxid) {
		put_number(b, taxid);
		put_pair(b, &any, c->hits);
	}
	if (c->features > (taxid ? c->hits : 0) || (!taxid && !ambiguous)) {
		if (any)
			put_char(b, ' ');
		put_char(b, '0');
		put_pair(b, &any, c->features - (taxid ? c->hits : 0));
	}
	if (ambiguous) {
		if (any)
			put_char(b, ' ');
		put_char(b, 'A');
		put_pair(b, &any, ambiguous);
	}
}

static void put_taxon(kh_buf *b, const kh_style *s, const char *name, size_t len, uint32_t taxid)
{
	if (!s->names) {
		put_number(b, taxid);
		return;
	}
	put_bytes(b, name, len);
	put_bytes(b, " (taxid ", 8);
	put_number(b, taxid);
	put_char(b, ')');
}

int kh_format_line(kh_buf *b, const kh_style *s, const kh_job *job, size_t i, const kh_call *call,
		   kh_err *err)
{
	const kh_block *blk[2];
	const kh_record *r[2];
	bool called = call->taxon != KH_TAXON_NONE;
	uint32_t taxid = called ? s->tax->taxid[call->taxon] : 0;
	const char *name = called ? s->tax->names + s->tax->name[call->taxon] : "unclassified";
	size_t name_len = s->names ? strlen(name) : 0, id_len;
	const char *id;
	uint64_t ambiguous;
	int rc;

	kh_job_records(job, i, blk, r);
	id = blk[0]->text + r[0]->name;
	id_len = r[0]->id_len;
	if (r[1] && id_len > 2 && id[id_len - 2] == '/' && (id[id_len - 1] == '1' || id[id_len - 1] == '2'))
		id_len -= 2;
	rc = kh_buf_room(b, id_len + name_len + FIXED, err);
	if (rc)
		return rc;
	put_char(b, called ? 'C' : 'U');
	put_char(b, '\t');
	put_bytes(b, id, id_len);
	put_char(b, '\t');
	put_taxon(b, s, name, name_len, taxid);
	put_char(b, '\t');
	put_number(b, r[0]->len);
	if (r[1]) {
		put_char(b, '|');
		put_number(b, r[1]->len);
	}
	put_char(b, '\t');
	if (s->no_col5) {
		put_bytes(b, "0:0", 3);
	} else {
		ambiguous = ambiguous_kmers(blk[0], r[0], s->k);
		if (r[1])
			ambiguous += ambiguous_kmers(blk[1], r[1], s->k);
		put_column5(b, call, taxid, ambiguous);
	}
	put_char(b, '\n');
	return KH_OK;
}

int kh_format_read(kh_buf *b, const kh_block *blk, const kh_record *r, uint32_t taxid, kh_err *err)
{
	const char *text = blk->text + r->text;
	size_t head = (size_t)(r->name - r->text) + r->name_len, len = (size_t)r->text_len;
	int rc = kh_buf_room(b, len + FIXED, err);

	if (rc)
		return rc;
	put_bytes(b, text, head);
	if (taxid) {
		put_bytes(b, " kraken:taxid|", 14);
		put_number(b, taxid);
	}
	put_bytes(b, text + head, len - head);
	if (b->p[b->n - 1] != '\n')
		put_char(b, '\n');
	return KH_OK;
}
