/* align.c - places become alignments: align_in.h */
#include <config.h>
#include "classify/align_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match_score.h"
#include "kmer/refine.h"

enum {
	APART = 2048,           /* bases between beginnings of parts that are joined, at most; */
	DRIFT = 4               /* their diagonals differ by one in so many of these at most */
};

/* Where a mate, or a part of a record, lies in a species. */
struct place {
	uint32_t species_no;
	uint32_t mate, back;
	uint32_t kept;                  /* number of the stretch of a target (kh_db.kept) */
	int64_t at;                     /* in the text: of its first base as it lies there */
	uint64_t offset;                /* of its first base in the record */
	uint32_t len;
	uint32_t score;
	int32_t margin;                 /* by which other places are behind */
	bool part;                      /* of a long record */
};

struct kh_aligner {
	const kh_db *db;
	const kh_job *job;
	kh_alignments *to;              /* NULL: they are not wanted */
	struct place *place;            /* of the fragment under way */
	size_t n_places, cap_places;
	uint32_t species_no;            /* that its call rests on */
	kh_ungapped_list joined;        /* of the alignment under way */
	kh_refiner refiner;
};

void kh_alignments_clear(kh_alignments *a)
{
	free(a->v);
	free(a->run);
	free(a->list);
	*a = (kh_alignments) { .n = 0 };
}

int kh_aligner_new(kh_aligner **a, const kh_db *db, kh_err *err)
{
	*a = kh_array(1, sizeof **a, err);
	if (!*a)
		return KH_ENOMEM;
	(*a)->db = db;
	return KH_OK;
}

void kh_aligner_free(kh_aligner *a)
{
	if (!a)
		return;
	free(a->place);
	free(a->joined.v);
	kh_refiner_clear(&a->refiner);
	free(a);
}

int kh_aligner_begin(kh_aligner *a, const kh_job *job, kh_alignments *to, kh_err *err)
{
	int rc = KH_OK;

	a->job = job;
	a->to = to;
	if (!to)
		return KH_OK;
	to->n = to->n_runs = 0;
	rc = kh_grow((void **)&to->list, &to->cap_list, job->n, sizeof *to->list, err);
	if (!rc)
		memset(to->list, 0, job->n * sizeof *to->list);
	return rc;
}

bool kh_aligner_wanted(const kh_aligner *a)
{
	return a->to != NULL;
}

/* --- places ------------------------------------------------------------------------------ */
/* Do two places have the mate elsewhere? */
static bool is_elsewhere(const kh_place *a, const kh_place *b)
{
	const int64_t far = kh_place_at(a) - kh_place_at(b);

	return a->target != b->target || kh_place_strand(a) != kh_place_strand(b) ||
	       far > KH_MATCH_ASIDE || far < -KH_MATCH_ASIDE;
}

/* By how much the score of a claim, which has its mates at these places, is above what others would
 * give that were compared. */
static int32_t margin_of(const kh_matching *m, const kh_claim *c, const kh_place at[2])
{
	int32_t second = 0, alone[2] = { 0, 0 };

	for (const kh_place *p = m->place; p < m->place + m->n_place; p++) {
		const uint32_t i = kh_place_mate(p);
		int32_t score = (int32_t)p->fit.score;

		if (c->mates >> i & 1 && !is_elsewhere(p, &at[i]))
			continue;
		alone[i] = score > alone[i] ? score : alone[i];
		if (c->mates >> !i & 1)
			score += (int32_t)at[!i].fit.score -
				 (kh_places_beside(p, &at[!i]) ? 0 : KH_MATCH_APART);
		second = score > second ? score : second;
	}
	second = alone[0] + alone[1] > second ? alone[0] + alone[1] : second;
	return c->score - second;
}

/* Which record of the fragment a mate, or a part, is of. */
static uint32_t record_of(const kh_aligner *a, const kh_segment *s, uint32_t mate, uint64_t *offset)
{
	const uint64_t at = s->mate[mate].at;
	const kh_block *b[2];
	const kh_record *r[2];

	kh_job_records(a->job, s->number, b, r);
	if (!s->whole)
		mate = s->mate[0].bases != b[0]->bases || at < r[0]->seq ||
		       at - r[0]->seq >= r[0]->len;
	*offset = at - r[mate]->seq;
	return mate;
}

static int note_claim(kh_aligner *a, kh_matching *m, const kh_segment *s, const kh_claim *c,
		      kh_err *err)
{
	/* with what losses may be greater by */
	const uint32_t less = KH_ALIGN_MARGIN + kh_region_lone_loss(m->db, s, m->found[0].n_regions,
								    m->found[1].n_regions);
	kh_place at[2];
	int32_t margin;
	int rc = KH_OK;

	for (int i = 0; i < 2; i++)
		at[i] = m->place[c->mates >> i & 1 ? c->place[i] : 0];
	/* the margin is of all places that could have nearly as much, too */
	for (uint32_t i = 0; i < 2 && s->whole; i++)
		if (c->mates >> i & 1 && !m->found[i].crowd)
			kh_regions_compare_from(m, s, i, (int64_t)at[i].fit.score - less, less);
	margin = kh_extent_any(m->crowd) ? 0 : margin_of(m, c, at);
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		if (!(c->mates >> i & 1))
			continue;
		rc = kh_grow((void **)&a->place, &a->cap_places, a->n_places + 1,
			     sizeof *a->place, err);
		if (rc)
			break;
		struct place *p = &a->place[a->n_places++];
		*p = (struct place) { .species_no = c->species_no,
				      .back = kh_place_strand(&at[i]),
				      .kept = at[i].target,
				      .at = kh_place_at(&at[i]),
				      .len = s->mate[i].len,
				      .score = at[i].fit.score,
				      .margin = margin,
				      .part = !s->whole };
		p->mate = record_of(a, s, i, &p->offset);
	}
	return rc;
}

int kh_aligner_note(kh_aligner *a, kh_matching *m, const kh_segment *s, kh_err *err)
{
	const kh_claim *best = a->to ? kh_match_best(&m->here) : NULL;
	int rc = KH_OK;

	if (!best)
		return KH_OK;
	if (s->whole) {
		a->species_no = best->species_no;
		return note_claim(a, m, s, best, err);
	}
	for (uint32_t i = 0; i < m->here.n && !rc; i++)
		if (m->here.v[i].score >= KH_MATCH_PART)
			rc = note_claim(a, m, s, &m->here.v[i], err);
	return rc;
}

void kh_aligner_choose(kh_aligner *a, uint32_t species_no)
{
	a->species_no = species_no;
}

/* A record of this fragment as it lies in a stretch of a target. */
static kh_along along_of(const kh_aligner *a, size_t number, const struct place *x)
{
	const kh_db_kept *k = &a->db->kept[x->kept];
	const uint64_t begin = k->first_bin * (uint64_t)a->db->h->sampling.stride;
	const kh_text_stretch *s = &a->db->stretch[x->kept];
	const uint32_t *alleles =
		s->alleles > 0 ? a->db->text + (s->alleles - begin / KH_TEXT_WORD) : NULL;
	const kh_block *b[2];
	const kh_record *r[2];

	kh_job_records(a->job, number, b, r);
	return (kh_along) { b[x->mate]->bases, b[x->mate]->amb, r[x->mate]->seq, r[x->mate]->len,
			    x->back, a->db->text, alleles, begin, s->end };
}

/* --- an alignment --------------------------------------------------------------------------- */
static int64_t least(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

static int64_t most(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

/* Joins two HSPs by a gap: the first one ends, and the second begins, where most of the
 * columns between match.  False: there is no room. */
static bool join(const kh_along *l, kh_ungapped *p, kh_ungapped *q)
{
	const int64_t lacks = most(0, p->at - q->at);   /* bases of the record in the gap */
	const int64_t low = most(least(p->to, q->from - lacks), p->from + 1);
	const int64_t high = least(most(p->to, q->from - lacks), q->to - lacks - 1);
	int64_t sum = 0, best = 0, where = low;

	if (low > high)
		return false;
	/* by one column more in front of the gap, and one less behind it */
	for (int64_t i = low; i < high; i++) {
		sum += kh_along_match(l, i, p->at) - kh_along_match(l, i + lacks, q->at);
		if (sum > best) {
			best = sum;
			where = i + 1;
		}
	}
	p->to = where;
	q->from = where + lacks;
	return true;
}

/* Adds an HSP behind the others, with a gap between them. */
static int add_stretch(kh_aligner *a, const kh_along *l, kh_ungapped x, kh_err *err)
{
	kh_ungapped_list *s = &a->joined;
	kh_ungapped *last = s->n > 0 ? &s->v[s->n - 1] : NULL;

	if (last && last->at != x.at && !join(l, last, &x))
		return KH_OK;
	return kh_ungapped_put(s, x, err);
}

/* Adds the HSPs of a part. */
static int add_part(kh_aligner *a, const kh_along *l, const struct place *x, kh_err *err)
{
	const int64_t front = l->back ? (int64_t)(l->len - x->offset - x->len)
				      : (int64_t)x->offset;
	kh_oriented read[2];
	const kh_laid laid = { &read[x->back], x->len, l->text, l->alleles, l->begin,
			       l->end, NULL };
	int rc = KH_OK;

	kh_text_read(read, l->bases, l->amb, l->seq + x->offset, x->len);
	const kh_alignment best = kh_text_fit(&laid, x->at, 0, x->len);
	const kh_chain chain = kh_chain_of(&laid, x->at, &best, x->part);

	for (uint32_t i = 0; i < chain.n && !rc; i++) {
		const uint32_t in_front = chain.n - 1 - chain.behind;
		const kh_chain_hsp *of =
			&chain.v[i < in_front ? chain.n - 1 - i : i - in_front];

		rc = add_stretch(a, l, (kh_ungapped) { of->from + front, of->to + front,
						      x->at + of->aside - front }, err);
	}
	return rc;
}

static uint32_t quality_of(int64_t margin)
{
	const int64_t x = margin * KH_ALIGN_SURE / KH_ALIGN_MARGIN;

	return (uint32_t)least(most(x, 0), KH_ALIGN_SURE);
}

/* The HSPs become an alignment. */
static int add_aligned(kh_aligner *a, const kh_along *l, kh_aligned *x, uint64_t edits,
		       kh_err *err)
{
	const kh_ungapped *s = a->joined.v, *last = s + a->joined.n - 1;
	const int64_t first = s->from;
	kh_alignments *to = a->to;
	int rc = kh_grow((void **)&to->v, &to->cap, to->n + 1, sizeof *to->v, err);

	if (!rc)
		rc = kh_grow((void **)&to->run, &to->cap_runs, to->n_runs + a->joined.n,
			     sizeof *to->run, err);
	if (rc)
		return rc;
	x->from = (uint64_t)(l->back ? (int64_t)l->len - last->to : first);
	x->to = (uint64_t)(l->back ? (int64_t)l->len - first : last->to);
	x->end = x->at + (uint64_t)(last->at + last->to) - l->begin;
	x->at += (uint64_t)(s->at + first) - l->begin;
	x->first_run = to->n_runs;
	x->n_runs = (uint32_t)a->joined.n;
	for (; s <= last; s++) {
		const int64_t gap = s < last ? s[1].at - s->at : 0;
		const uint32_t columns = (uint32_t)(s->to - s->from);

		to->run[to->n_runs++] = (kh_align_run) { columns, (int32_t)gap };
		x->columns += columns + (uint64_t)(gap < 0 ? -gap : gap);
		x->gaps += gap != 0;
		x->gap_columns += (uint32_t)(gap < 0 ? -gap : gap);
	}
	x->matches = x->columns - edits;
	to->v[to->n++] = *x;
	return KH_OK;
}

/* The first base of the record would be there in the text. */
static int64_t diagonal(const struct place *x, uint64_t len)
{
	return x->at - (int64_t)(x->back ? len - x->offset - x->len : x->offset);
}

/* Does the place of a part follow that of one before it? */
static bool follows(const struct place *x, const struct place *before, uint64_t len)
{
	const int64_t far = (int64_t)(x->offset - before->offset);
	const int64_t drift = diagonal(x, len) - diagonal(before, len);

	return x->mate == before->mate && x->back == before->back && x->kept == before->kept &&
	       far <= APART && DRIFT * (drift < 0 ? -drift : drift) <= far;
}

/* Makes an alignment of places that follow one another. */
static int align(kh_aligner *a, size_t number, const struct place *x, size_t n, kh_err *err)
{
	const kh_along l = along_of(a, number, x);
	const kh_db_kept *k = &a->db->kept[x->kept];
	kh_aligned to = { .mate = x->mate, .target = k->target, .back = x->back,
			  .at = k->at * (uint64_t)a->db->h->sampling.stride };
	int64_t margin = 0;
	uint64_t edits;
	int rc = KH_OK;

	a->joined.n = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		/* in the order of the target */
		const struct place *part = &x[x->back ? n - 1 - i : i];

		to.score += part->score;
		margin += part->margin;
		rc = add_part(a, &l, part, err);
	}
	to.quality = quality_of(margin);
	if (!rc)
		rc = kh_refine(&a->refiner, &l, &a->joined, &edits, err);
	return rc ? rc : add_aligned(a, &l, &to, edits, err);
}

/* By the order of its bases in the fragment. */
static int by_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->mate != y->mate)
		return x->mate < y->mate ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int kh_aligner_end(kh_aligner *a, size_t number, kh_err *err)
{
	const struct place *x = a->place;
	const kh_block *b[2];
	const kh_record *r[2];
	size_t n = 0;
	int rc = KH_OK;

	if (!a->to)
		return KH_OK;
	for (size_t i = 0; i < a->n_places; i++)
		if (x[i].species_no == a->species_no)
			a->place[n++] = x[i];
	if (n > 1)                      /* some parts are compared before others */
		qsort(a->place, n, sizeof *a->place, by_order);
	kh_job_records(a->job, number, b, r);
	a->to->list[number].from = a->to->n;
	for (size_t i = 0, end; i < n && !rc; i = end) {
		for (end = i + 1; end < n && follows(&x[end], &x[end - 1], r[x[i].mate]->len);)
			end++;
		rc = align(a, number, &x[i], end - i, err);
	}
	a->to->list[number].n = a->to->n - a->to->list[number].from;
	return rc;
}

void kh_aligner_forget(kh_aligner *a)
{
	a->n_places = 0;
}
