#include <config.h>
#include "run/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "run/select.h"
#include "kmer/text.h"

/* --- the header --------------------------------------------------------------------- */
/* May a read of the selection lie in this target?  It lies in the species that it is called. */
static bool is_listed(const kh_taxonomy *tax, const kh_select *s, uint32_t taxon)
{
	const uint32_t species = tax->species[taxon];
	uint32_t i = taxon;

	if (!s || !s->side || s->side[taxon] == KH_SIDE_CLASSIFIED)
		return true;
	if (species != KH_NO_TAXON)
		for (i = species; i < tax->end[species] && s->side[i] != KH_SIDE_CLASSIFIED;)
			i++;
	return species != KH_NO_TAXON && i < tax->end[species];
}

int kh_sam_header(kh_buf *b, const kh_db *db, const kh_select *s, kh_err *err)
{
	kh_buf_string(b, "@HD\tVN:1.6\tSO:unsorted\tGO:query\n");
	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];

		if (!is_listed(db->tax, s, t->taxon))
			continue;
		kh_buf_string(b, "@SQ\tSN:");
		kh_buf_string(b, db->ids + t->id);
		kh_buf_print(b, "\tLN:%" PRIu64 "\n", t->bases);
	}
	kh_buf_string(b, "@PG\tID:kmerhash\tPN:kmerhash\tVN:" PACKAGE_VERSION "\n");
	return kh_buf_check(b, err);
}

/* --- a line ------------------------------------------------------------------------- */
/* A record, as it was read. */
struct read {
	const char *bases, *quality;    /* quality: NULL if it has none */
	uint64_t len;
};

/* An alignment with its read, in the direction of the target. */
struct laid {
	const kh_db *db;
	const kh_aligned *x;
	const kh_align_run *run;
	struct read read;
	uint64_t text;                  /* the base of the text that x->at is */
};

static char complement(char c)
{
	switch (c) {
	case 'A': return 'T';
	case 'C': return 'G';
	case 'G': return 'C';
	case 'T': return 'A';
	default: return c;
	}
}

/* Base i of the read in the direction of the target: what is none of ACGTU is N. */
static char read_base(const struct laid *l, uint64_t i)
{
	const char given = l->read.bases[l->x->back ? l->read.len - 1 - i : i];
	const char upper = (char)(given & ~0x20), c = upper == 'U' ? 'T' : upper;
	const char known = c == 'A' || c == 'C' || c == 'G' || c == 'T' ? c : 'N';

	return l->x->back ? complement(known) : known;
}

/* Base i of the target behind x->at. */
static char text_base(const struct laid *l, uint64_t i)
{
	return "ACGT"[kh_text_bases(l->db->text, l->text + i) & 3];
}

/* Where a base of a target is in the text: stretches are in the order of targets and places. */
static uint64_t in_text(const kh_db *db, uint32_t target, uint64_t at)
{
	const uint64_t stride = db->h->sampling.stride;
	uint32_t low = 0, high = db->n_kept;

	while (high - low > 1) {
		const uint32_t mid = low + (high - low) / 2;
		const kh_db_kept *k = &db->kept[mid];

		if (k->target < target || (k->target == target && k->at * stride <= at))
			low = mid;
		else
			high = mid;
	}
	return db->kept[low].first_bin * stride + (at - db->kept[low].at * stride);
}

/* Bases of the read that are in front of the alignment, and behind it. */
static uint64_t clip(const struct laid *l, bool front)
{
	return front != l->x->back ? l->x->from : l->read.len - l->x->to;
}

static void add_clip(kh_buf *b, uint64_t n)
{
	if (n > 0)
		kh_buf_print(b, "%" PRIu64 "S", n);
}

static void add_cigar(kh_buf *b, const struct laid *l)
{
	add_clip(b, clip(l, true));
	for (uint32_t i = 0; i < l->x->n_runs; i++) {
		const int64_t gap = l->run[i].gap;

		kh_buf_print(b, "%" PRIu32 "M", l->run[i].columns);
		if (gap)
			kh_buf_print(b, "%" PRId64 "%c", gap < 0 ? -gap : gap, gap < 0 ? 'I' : 'D');
	}
	add_clip(b, clip(l, false));
}

/* Appends NM and MD: how many columns differ from the text, and in which bases. */
static void add_differences(kh_buf *b, const struct laid *l)
{
	uint64_t q = clip(l, true), t = 0, same = 0, differ = l->x->gap_columns;
	kh_buf md = { .n = 0 };

	for (uint32_t i = 0; i < l->x->n_runs; i++) {
		const int64_t gap = l->run[i].gap;

		for (uint32_t k = 0; k < l->run[i].columns; k++, q++, t++) {
			const char base = text_base(l, t);

			if (read_base(l, q) == base) {
				same++;
				continue;
			}
			kh_buf_print(&md, "%" PRIu64 "%c", same, base);
			same = 0;
			differ++;
		}
		if (gap < 0)
			q += (uint64_t)-gap;
		if (gap > 0) {
			kh_buf_print(&md, "%" PRIu64 "^", same);
			for (int64_t k = 0; k < gap; k++, t++)
				kh_buf_add(&md, &(char){ text_base(l, t) }, 1);
			same = 0;
		}
	}
	kh_buf_print(&md, "%" PRIu64, same);
	kh_buf_print(b, "\tNM:i:%" PRIu64 "\tMD:Z:", differ);
	kh_buf_add(b, md.p, md.n);
	b->lost |= md.lost;
	free(md.p);
}

static void add_read(kh_buf *b, const struct laid *l)
{
	const uint64_t n = l->read.len;

	if (!kh_buf_reserve(b, 2 * n + 2))
		return;
	b->p[b->n++] = '\t';
	for (uint64_t i = 0; i < n; i++)
		b->p[b->n++] = read_base(l, i);
	b->p[b->n++] = '\t';
	for (uint64_t i = 0; i < n && l->read.quality; i++)
		b->p[b->n++] = l->read.quality[l->x->back ? n - 1 - i : i];
	if (!l->read.quality)
		b->p[b->n++] = '*';
}

/* --- a fragment --------------------------------------------------------------------- */
enum { PAIRED = 1, PROPER = 2, MATE_UNMAPPED = 8, BACK = 16, MATE_BACK = 32, FIRST = 64,
       SECOND = 128, SUPPLEMENTARY = 2048 };

static unsigned flags(const kh_aligned *x, bool pair, bool again, const kh_aligned *mate)
{
	unsigned f = (x->back ? BACK : 0) | (again ? SUPPLEMENTARY : 0);

	if (!pair)
		return f;
	f |= PAIRED | (x->mate ? SECOND : FIRST);
	if (!mate)
		return f | MATE_UNMAPPED;
	return f | (mate->back ? MATE_BACK : 0) |
	       (mate->target == x->target && mate->back != x->back ? PROPER : 0);
}

/* RNEXT, PNEXT and TLEN. */
static void add_mate(kh_buf *b, const kh_db *db, const kh_aligned *x, const kh_aligned *mate)
{
	int64_t length = 0;

	if (!mate) {
		kh_buf_string(b, "\t*\t0\t0");
		return;
	}
	kh_buf_string(b, "\t");
	kh_buf_string(b, mate->target == x->target ? "=" : db->ids + db->target[mate->target].id);
	if (mate->target == x->target) {
		const uint64_t from = x->at < mate->at ? x->at : mate->at;
		const uint64_t to = x->end > mate->end ? x->end : mate->end;
		const bool front = x->at < mate->at || (x->at == mate->at && x->mate == 0);

		length = front ? (int64_t)(to - from) : -(int64_t)(to - from);
	}
	kh_buf_print(b, "\t%" PRIu64 "\t%" PRId64, mate->at + 1, length);
}

static void add_line(kh_buf *b, const struct laid *l, const kh_line_parts *parts, unsigned flag,
		     const kh_aligned *mate)
{
	const kh_aligned *x = l->x;

	kh_buf_add(b, parts->id, parts->id_len);
	kh_buf_print(b, "\t%u\t", flag);
	kh_buf_string(b, l->db->ids + l->db->target[x->target].id);
	kh_buf_print(b, "\t%" PRIu64 "\t%" PRIu32 "\t", x->at + 1, x->quality);
	add_cigar(b, l);
	add_mate(b, l->db, x, mate);
	add_read(b, l);
	add_differences(b, l);
	kh_buf_print(b, "\tAS:i:%" PRIu32 "\n", x->score);
}

/* The bases and qualities of a record, in a buffer that has them in one line each; at: where its
 * text begins there. */
static struct read read_of(const kh_buf *one, size_t at, const kh_record *r)
{
	const char *text = one->p + at;
	const char *bases = (const char *)memchr(text, '\n', one->n - at) + 1;

	return (struct read) { .bases = bases, .quality = r->fastq ? bases + r->len + 3 : NULL,
			       .len = r->len };
}

void kh_format_sam(kh_buf *b, kh_buf *one, const kh_db *db, const kh_task *t, size_t i)
{
	const kh_alignments *a = t->aligned;
	const kh_aligned *first[2] = { NULL, NULL }, *v = a->v + a->list[i].from;
	const kh_block *blk[2];
	const kh_record *r[2];
	size_t at[2] = { 0, 0 };
	kh_line_parts parts;

	if (a->list[i].n == 0)
		return;
	kh_line_of_records(&parts, t->job, i);
	kh_job_records(t->job, i, blk, r);
	one->n = 0;
	for (int mate = 0; mate < 2 && r[mate]; mate++) {
		at[mate] = one->n;
		kh_one_line(one, blk[mate], r[mate], 0, 0);
	}
	if (one->lost) {
		b->lost = true;
		return;
	}
	for (size_t k = a->list[i].n; k-- > 0;)
		first[v[k].mate] = &v[k];
	for (size_t k = 0; k < a->list[i].n; k++) {
		const kh_aligned *x = &v[k], *mate = parts.mates ? first[!x->mate] : NULL;
		const struct laid l = { .db = db, .x = x, .run = a->run + x->first_run,
					.read = read_of(one, at[x->mate], r[x->mate]),
					.text = in_text(db, x->target, x->at) };

		add_line(b, &l, &parts, flags(x, parts.mates, x != first[x->mate], mate), mate);
	}
}
