#include <config.h>
#include "run/waiting.h"

#include <string.h>
#include "run/select.h"
#include "sample/frames.h"

enum { NUMBERS = 11 };          /* of a fragment, at most */

/* Bytes that two ids begin with. */
static size_t alike(const kh_line_parts *a, const kh_line_parts *b)
{
	const size_t n = a->id_len < b->id_len ? a->id_len : b->id_len;
	size_t i = 0;

	while (i < n && a->id[i] == b->id[i])
		i++;
	return i;
}

static bool same_lengths(const kh_line_parts *a, const kh_line_parts *b)
{
	return a->mates == b->mates && a->len[0] == b->len[0] && a->len[1] == b->len[1] &&
	       a->ambiguous == b->ambiguous;
}

void kh_waiting_put(kh_buf *f, const kh_waiting *k, const kh_waiting *last)
{
	const kh_line_parts *l = &k->line;
	const bool same = same_lengths(l, &last->line);
	const size_t old = alike(l, &last->line), rest = l->id_len - old;
	char *at;

	if (!kh_buf_reserve(f, NUMBERS * KH_FRAME_NUMBER + rest))
		return;
	at = kh_frame_put(f->p + f->n, 4 * k->class + 2 * !same + (k->said != KH_NO_TAXON));
	if (k->said != KH_NO_TAXON)
		at = kh_frame_put(at, k->said);
	if (k->class == 0)              /* KH_NO_TAXON becomes 0 */
		at = kh_frame_put(at, (uint32_t)(k->call.taxon + 1));
	at = kh_frame_put(at, k->call.kmers);
	at = kh_frame_put(at, k->call.hits);
	if (!same) {
		at = kh_frame_put(at, l->mates);
		at = kh_frame_put(at, l->len[0]);
		at = kh_frame_put(at, l->len[1]);
		at = kh_frame_put(at, l->ambiguous);
	}
	at = kh_frame_put(at, old);
	at = kh_frame_put(at, rest);
	memcpy(at, l->id + old, rest);
	f->n = (size_t)(at + rest - f->p);
}

void kh_waiting_read(const char **at, kh_waiting *k, kh_buf *id)
{
	kh_line_parts *l = &k->line;
	const uint64_t head = kh_frame_read(at);
	size_t rest;

	k->class = head / 4;
	k->call = (kh_call) { .taxon = KH_NO_TAXON };
	k->said = head % 2 ? (uint32_t)kh_frame_read(at) : KH_NO_TAXON;
	if (k->class == 0)
		k->call.taxon = (uint32_t)kh_frame_read(at) - 1;
	k->call.kmers = (uint32_t)kh_frame_read(at);
	k->call.hits = (uint32_t)kh_frame_read(at);
	if (head / 2 % 2) {
		l->mates = kh_frame_read(at) != 0;
		l->len[0] = kh_frame_read(at);
		l->len[1] = kh_frame_read(at);
		l->ambiguous = kh_frame_read(at);
	}
	id->n = (size_t)kh_frame_read(at);
	rest = (size_t)kh_frame_read(at);
	kh_buf_add(id, *at, rest);
	*at += rest;
	l->id = id->p;
	l->id_len = id->n;
}

void kh_waiting_put_reads(kh_buf *f, const kh_job *job, size_t i)
{
	const kh_block *b[2];
	const kh_record *r[2];

	kh_job_records(job, i, b, r);
	kh_frame_number(f, r[1] ? 2 : 1);
	for (int mate = 0; mate < 2 && r[mate]; mate++) {
		kh_frame_number(f, r[mate]->name - r[mate]->text + r[mate]->name_len);
		kh_frame_number(f, r[mate]->text_len);
		kh_buf_add(f, b[mate]->text + r[mate]->text, (size_t)r[mate]->text_len);
	}
}

void kh_waiting_format_reads(const char **at, const kh_taxonomy *tax, const kh_style *style,
			     uint32_t taxon, const kh_result_bufs *to)
{
	const enum kh_side side = kh_select_side(style->select, taxon);
	const uint64_t mates = kh_frame_read(at);
	const uint32_t taxid =
		side == KH_SIDE_CLASSIFIED ? tax->taxid[taxon] : 0;

	for (uint64_t mate = 0; mate < mates; mate++) {
		const size_t head = (size_t)kh_frame_read(at), n = (size_t)kh_frame_read(at);
		kh_buf *b = NULL;

		if (side != KH_SIDE_NEITHER)
			b = kh_result_buf_reads(to, side, (int)mate, mates == 2);
		if (b)
			kh_format_record(b, *at, head, n, taxid);
		*at += n;
	}
}
