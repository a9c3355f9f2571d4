/*
 * match_item.h - what a thread of match_kernels.cuh does   [HD]
 *
 * For nvcc, and for the tests that do the same on the CPU (tests/fake_match.c).
 */
#ifndef KH_CUDA_KERNELS_MATCH_ITEM_H
#define KH_CUDA_KERNELS_MATCH_ITEM_H

#include "classify/match_small.h"
#include "cuda/kernels/engine.h"

#define KH_GPU_SUMS 48                  /* species of a long fragment */

/* Adds n, and returns what was there before. */
static KH_HD uint32_t kh_gpu_add(uint32_t *count, uint32_t n)
{
#ifdef __CUDA_ARCH__
	return atomicAdd(count, n);
#else
	*count += n;
	return *count - n;
#endif
}

/* The record of a mate of fragment i; without bases, if there is none. */
static KH_HD kh_gpu_record kh_gpu_mate(const kh_gpu_query *q, uint32_t i, int mate)
{
	const kh_gpu_record none = { 0, 0 };

	if (mate == 1 && q->order.mate == 0)
		return none;
	return q->record[q->order.step * i + (mate == 1 ? q->order.mate : 0)];
}

static KH_HD bool kh_gpu_is_long(const kh_gpu_query *q, uint32_t i)
{
	return !kh_match_is_segment(kh_gpu_mate(q, i, 0).len, kh_gpu_mate(q, i, 1).len);
}

/* Where fragment i gets what is wanted beside its call. */
static KH_HD kh_beside kh_gpu_beside(const kh_gpu_query *q, uint32_t i)
{
	return kh_beside_of(q->beside.candidates, q->beside.second, i);
}

static KH_HD void kh_gpu_leave_to_host(const kh_gpu_query *q, uint32_t i)
{
	const kh_call left = { KH_GPU_CALL_LEFT, 0, 0, 0 };

	q->call[i] = left;
	kh_beside_clear(kh_gpu_beside(q, i));
	kh_gpu_add(&q->counts[KH_GPU_HOST], 1);
}

static KH_HD uint32_t kh_gpu_parts(uint64_t len)
{
	return (uint32_t)((len + KH_MATCH_PART_BASES - 1) / KH_MATCH_PART_BASES);
}

static KH_HD kh_mate kh_gpu_bases(const kh_gpu_query *q, uint64_t at, uint32_t len)
{
	const kh_mate m = { q->bases, q->amb, at, len, 0, 0, 0 };

	return m;
}

/* A part: its number of those of its record, which is the record of this mate. */
typedef struct kh_gpu_numbered {
	uint32_t i, n;
	int mate;
} kh_gpu_numbered;

static KH_HD kh_gpu_numbered kh_gpu_part_number(const kh_gpu_query *q, const kh_gpu_slice *s)
{
	const uint32_t first = kh_gpu_parts(kh_gpu_mate(q, s->fragment, 0).len);
	const int mate = s->number >= first;
	const kh_gpu_numbered p = {
		s->number - (mate ? first : 0),
		mate ? kh_gpu_parts(kh_gpu_mate(q, s->fragment, 1).len) : first, mate
	};

	return p;
}

static KH_HD kh_mate kh_gpu_part_of(const kh_gpu_query *q, const kh_gpu_slice *s)
{
	const kh_gpu_numbered p = kh_gpu_part_number(q, s);
	const kh_gpu_record r = kh_gpu_mate(q, s->fragment, p.mate);
	const uint64_t i = p.i;
	const uint32_t from = (uint32_t)(r.len * i / p.n), to = (uint32_t)(r.len * (i + 1) / p.n);

	return kh_gpu_bases(q, (uint64_t)r.word * 32 + from, to - from);
}

/* Number i of all: fragments, then parts of long ones. */
static KH_HD kh_small_segment kh_gpu_item(const kh_gpu_query *q, uint32_t i)
{
	kh_small_segment j;

	j.mark = q->mark;
	j.s.number = i;
	j.s.whole = i < q->n;
	for (int k = 0; k < 2; k++) {
		const kh_gpu_record none = { 0, 0 };
		const kh_gpu_record r = i < q->n ? kh_gpu_mate(q, i, k) : none;

		j.s.mate[k] = kh_gpu_bases(q, (uint64_t)r.word * 32, r.len);
	}
	if (i >= q->n)
		j.s.mate[0] = kh_gpu_part_of(q, &q->slice[i - q->n]);
	return j;
}

static KH_HD void kh_gpu_give_call(const kh_gpu_query *q, const kh_small *x,
				   const kh_small_segment *j, uint32_t i)
{
	kh_call c = kh_small_call(x, j, q->rule.confidence, kh_gpu_beside(q, i));

	if (q->found && c.taxon != KH_NO_TAXON)
		c.found = kh_small_found(x, j, q->had);
	q->call[i] = c;
}

/* A walk over the seeds that a fragment has found, of which there are kh_call.found. */
typedef struct kh_gpu_had {
	uint32_t fragment;
	int mates;                      /* that were begun */
	uint32_t word, end;             /* of the last one of these: the next word, and behind it */
	uint32_t bits;                  /* seeds of the word before */
} kh_gpu_had;

/* The key of the next one. */
static KH_HD uint64_t kh_gpu_next_had(const kh_gpu_query *q, kh_gpu_had *x)
{
	const uint32_t k = q->rule.sampling.k;

	while (!x->bits) {
		if (x->word == x->end) {
			const kh_gpu_record r = kh_gpu_mate(q, x->fragment, x->mates++);

			x->word = r.word;
			x->end = r.word + (r.len + 31) / 32;
		}
		if (x->word < x->end)
			x->bits = q->had[x->word++];
	}
	const uint64_t at = UINT64_C(32) * (x->word - 1) + kh_lowest_bit(x->bits);

	x->bits &= x->bits - 1;
	return kh_key(kh_bits_canonical(kh_packed_bits(q->bases, at, k), k));
}

static KH_HD void kh_gpu_give_part(const kh_gpu_query *q, const kh_small *x,
				   const kh_small_segment *j, uint32_t i)
{
	kh_gpu_part *p = &q->part[i - q->n];
	const kh_claim *best = kh_match_best(&x->m.here);
	uint32_t n = 0;

	p->kmers = kh_mate_kmers(&x->m, &j->s, 0);
	for (uint32_t k = 0; k < x->m.here.n; k++) {
		const kh_claim *v = &x->m.here.v[k];
		kh_gpu_part_claim c = { v->species_no, v->score, v->matches, v->columns, v->hits,
					v->variable, 0 };

		if (v->score < KH_MATCH_PART)
			continue;
		if (v->score == best->score)
			c.strain = kh_strain_of_claim(&x->m, &j->s, v);
		p->claim[n++] = c;
	}
	p->n = n;
}

/* Gives what number i of all was found to be. */
static KH_HD void kh_gpu_give(const kh_gpu_query *q, const kh_small *x, const kh_small_segment *j,
			      uint32_t i)
{
	if (i < q->n)
		kh_gpu_give_call(q, x, j, i);
	else
		kh_gpu_give_part(q, x, j, i);
}

static KH_HD kh_part_best kh_gpu_part_best(const kh_match_db *db, const kh_gpu_part *p)
{
	kh_part_best best = kh_part_best_none();

	for (uint32_t c = 0; c < p->n; c++)
		kh_part_see(db, &best, p->claim[c].species_no, p->claim[c].score);
	return best;
}

/* What parts of a fragment say together, in rooms for KH_GPU_SUMS species. */
typedef struct kh_gpu_summed {
	kh_sums sums;
	uint64_t bases;
	uint32_t kmers;
} kh_gpu_summed;

static KH_HD bool kh_gpu_in_first_round(const kh_gpu_query *q, uint32_t part)
{
	const kh_gpu_numbered of = kh_gpu_part_number(q, &q->slice[part]);

	return kh_part_in_first_round(of.i, of.n);
}

/* Is a part to be compared: one of those that are compared first, or one of the others? */
static KH_HD bool kh_gpu_wants_part(const kh_gpu_query *q, uint32_t part, bool first_round)
{
	return kh_gpu_in_first_round(q, part) == first_round &&
	       (first_round || q->call[q->slice[part].fragment].taxon == KH_GPU_CALL_OPEN);
}

/* What number i of all is compared with, if it is a part. */
static KH_HD kh_kept kh_gpu_kept(const kh_gpu_query *q, uint32_t i)
{
	if (i < q->n || kh_gpu_in_first_round(q, i - q->n))
		return kh_kept_all();
	return q->part[i - q->n - q->slice[i - q->n].number].kept;
}

/* Adds the claims of a part.  False: there is no room. */
static KH_HD bool kh_gpu_add_part(const kh_match_db *db, const kh_gpu_part *p, kh_gpu_summed *to)
{
	const kh_part_best best = kh_gpu_part_best(db, p);

	for (uint32_t c = 0; c < p->n; c++) {
		const kh_gpu_part_claim *x = &p->claim[c];
		const kh_claim claim = { x->species_no, x->score, x->matches, x->columns, 1,
					 { 0, 0 }, x->hits, x->variable };
		uint32_t number;

		if (!kh_sums_add(db, &to->sums, &best, &claim, &number))
			return false;
	}
	return true;
}

/* Adds those of a fragment's parts that are compared first, or the others.  False: there is no
 * room. */
static KH_HD bool kh_gpu_add_parts(const kh_gpu_query *q, const kh_match_db *db,
				   const kh_gpu_long *l, bool first_round, kh_gpu_summed *to)
{
	for (uint32_t k = l->first; k < l->first + l->n; k++) {
		if (kh_gpu_in_first_round(q, k) != first_round)
			continue;
		to->bases += kh_gpu_part_of(q, &q->slice[k]).len;
		to->kmers += q->part[k].kmers;
		if (!kh_gpu_add_part(db, &q->part[k], to))
			return false;
	}
	return true;
}

/* Adds up what species have in parts, all or the first ones, where sum `best` has credit, and what
 * its genus has. */
static KH_HD void kh_gpu_share_parts(const kh_gpu_query *q, const kh_match_db *db,
				     const kh_gpu_long *l, bool all, kh_sums *sums, uint32_t best)
{
	const uint32_t species_no = sums->claims.v[best].species_no;
	const uint32_t genus = kh_species_genus(db, species_no);

	for (uint32_t k = l->first; k < l->first + l->n; k++) {
		const kh_gpu_part *p = &q->part[k];
		bool own = false, kin = false;

		if (!all && !kh_gpu_in_first_round(q, k))
			continue;
		const int32_t most = kh_gpu_part_best(db, p).score;

		for (uint32_t c = 0; c < p->n; c++) {
			if (p->claim[c].score != most)
				continue;
			own |= p->claim[c].species_no == species_no;
			kin |= kh_species_genus(db, p->claim[c].species_no) == genus;
		}
		for (uint32_t c = 0; c < p->n && own; c++)
			if (p->claim[c].score == most)
				sums->sum[kh_claims_of(&sums->claims, p->claim[c].species_no)]
					.shared += (uint32_t)most;
		sums->sum[best].kin += kin ? (uint32_t)most : 0;
	}
}

/* The strain that part k says of a species; KH_NO_TAXON: the species is not among its best ones, or
 * only the first parts have been compared, and k is none of them. */
static KH_HD uint32_t kh_gpu_strain_by(const kh_gpu_query *q, const kh_match_db *db, uint32_t k,
				       bool all, uint32_t species_no)
{
	const kh_gpu_part *p = &q->part[k];

	if (!all && !kh_gpu_in_first_round(q, k))
		return KH_NO_TAXON;
	const int32_t most = kh_gpu_part_best(db, p).score;

	for (uint32_t c = 0; c < p->n; c++)
		if (p->claim[c].species_no == species_no && p->claim[c].score == most)
			return p->claim[c].strain;
	return KH_NO_TAXON;
}

/* What parts, all or the first ones, say of the strain of a species. */
static KH_HD kh_strain_poll kh_gpu_poll(const kh_gpu_query *q, const kh_match_db *db,
					const kh_gpu_long *l, bool all, uint32_t species_no)
{
	kh_strain_poll p = kh_strain_poll_of(kh_species_taxon(db, species_no), 0);
	const uint32_t end = l->first + l->n;
	uint32_t strain;

	if (!kh_species_has_strains(db, species_no))
		return p;
	do {
		for (uint32_t k = l->first; k < end; k++)
			if ((strain = kh_gpu_strain_by(q, db, k, all, species_no)) != KH_NO_TAXON)
				kh_strain_poll_see(&db->tree, &p, strain);
		for (uint32_t k = l->first; k < end; k++)
			if ((strain = kh_gpu_strain_by(q, db, k, all, species_no)) != KH_NO_TAXON)
				kh_strain_poll_count(&db->tree, &p, strain);
	} while (kh_strain_poll_next(&p));
	return p;
}

/* The call of a long fragment: by the parts that are compared first, if these tell enough; if not,
 * it is open, and follows from all. */
static KH_HD void kh_gpu_sum(const kh_gpu_query *q, const kh_match_db *db, const kh_gpu_long *l,
			     bool first_round)
{
	kh_call *const call = &q->call[l->fragment];
	kh_claim claim[KH_GPU_SUMS];
	kh_alone alone[KH_GPU_SUMS];
	kh_sum sum[KH_GPU_SUMS];
	kh_gpu_summed x = { { { claim, alone, 0, KH_GPU_SUMS, NULL }, sum }, 0, 0 };
	kh_strain_poll poll = kh_strain_poll_of(0, 0);
	uint32_t best;

	if (!first_round && call->taxon != KH_GPU_CALL_OPEN)
		return;
	if (!kh_gpu_add_parts(q, db, l, true, &x) ||
	    (!first_round && !kh_gpu_add_parts(q, db, l, false, &x))) {
		kh_gpu_leave_to_host(q, l->fragment);
		return;
	}
	best = kh_sums_best(&x.sums);
	if (best != UINT32_MAX)
		poll = kh_gpu_poll(q, db, l, !first_round, x.sums.claims.v[best].species_no);
	if (first_round && (!kh_match_long_sure(db, &x.sums, x.bases, x.kmers) ||
		      kh_strain_poll_is_open(&poll))) {
		call->taxon = KH_GPU_CALL_OPEN;
		q->part[l->first].kept = kh_sums_kept(&x.sums);
		return;
	}
	if (best != UINT32_MAX)
		kh_gpu_share_parts(q, db, l, !first_round, &x.sums, best);
	*call = kh_small_call_long(db, &x.sums, best, poll.taxon, x.bases, x.kmers,
				   q->rule.confidence, kh_gpu_beside(q, l->fragment));
}

#endif
