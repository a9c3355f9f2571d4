/*
 * cover.c - over how much of the genome the fragments are spread that fit a species alone
 *
 * Reads of a strain of the species fall everywhere on its genome.  Reads of a relative that is not
 * in the database fit the species alone only where the relative is similar to it, or rarely, as
 * they fit other species as well.  So n counts the short fragments that have the species alone as
 * their best, a place in it, and more k-mers found there than chance gives.  The genome is cut into
 * tracts with one and a half to three of these fragments each, where empty tracts say most.  If the
 * species lies over the share a of G tracts, the number of tracts with any fragment is
 *
 *	a G mean of (1 - e^(-n u / (U a G)))
 *
 * The mean is over tracts from which perfect reads were made (probe.c): u is the share of a tract's
 * reads that fit the species alone, U the mean of u.  So genes that sisters share do not count
 * as missing, and the number of reads does not matter.  Of all fragments that sharing gives the
 * species, the share U should fit it alone; the part is the measured share divided by U.  A
 * fragment leads if no other species is near the best.  A species' own fragments lead as often as
 * perfect reads do; those of an organism that is about as far from several species seldom lead.
 *
 * A sister that is not in the database lacks genes here and there.  Of a pair that lies across the
 * border of such a gene one mate only fits, so pairs tell best.  Of single reads, tracts of many
 * genes do not show that, but tracts shorter than genes do: if the fragments lie in fewer genes,
 * more of them share a tract.  And the more genes the sister lacks, the more of its fragments lie
 * in a gene only in part, so that they look farther.  For a species that is far from its reference,
 * how many fragments share a tract is weighed against how many look farther.  But fragments of
 * other organisms that are like it by chance look farther, too; so where pairs say that it has its
 * genes, the weight of its divergence is taken as all, and only tracts tell.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "sample/logs.h"

/* In 1/1024, but for fragments. */
enum {
	CLEAR = 6,              /* of 32 k-mers so many must be found */
	SOME = 52,              /* of perfect reads so many must be alone: .05 */
	MOST = 4 * KH_COVER_ONE,
	OFF = 686,              /* .67: the standard error, times the root of the fragments */
	/* cover times part of what is there: .66.  Chosen on worlds of close species (ties.py,
	 * seeds 5 and 21), where 47 of 48 that are present have .84 and more, and .66 and .72 do
	 * the same */
	THERE = 676,
	/* those of its alone that lead, of as many as of its own, .56: on the same worlds present
	 * ones have .68 and more, 21 of 26 absent ones less; real strains and worlds of
	 * bench/worlds .87 and more */
	LEAD = 573,
	/* what cannot be told from its reference lacks nothing but genes: a divergence, and so many
	 * perfect reads that are alone, .9; and a divergence of what no sister is near */
	AS_IT_IS = 3,
	TOLD = 922,
	PART_OF = 10,
	/* Bases of a tract that is shorter than genes; from which divergence on these are asked;
	 * and what is weighed: fragments that are together, of as many as expected, beyond 1 and
	 * 0.005 for each 1/1000 of divergence, and the weight of one divergence, beyond .87 less
	 * 0.004 for each.  CROWDED fragments that should be together say half of what many do.  Of
	 * what is as far everywhere no more are together than if it were over .875, and a few.
	 * Chosen with bench/sisters, seeds 1 to 4, so that little is lost of uneven strains there,
	 * and nothing on bench/worlds: --lone --seed 990, and --half training */
	GENES = 512,
	LACKING = 40,
	MORE_FAR = 5,
	CROWDED = 60,
	ALIKE = 890,
	ALIKE_FAR = 4,
	WITH_GENES = 896,
	A_FEW = 61,
	/* bases between mates that fit nothing else, for each pair of which one mate only fits;
	 * and a standard error.  In bench/sisters, seeds 1 to 4, where mates are 200 apart, 95 % of
	 * strains have .051 or less of such pairs, of sisters .057 or more; real strains
	 * (bench/foreign, the first half) have .005 or less */
	ONE_MATE_EACH = 3200,
	/* with fewer, by so many standard errors, it has the genes: in the same samples, of 90, 92,
	 * 94, 95 and 96 %, uneven strains that are taken for sisters have 6251 pairs, in place of
	 * 21,311, and no sister is kept for it; with 1 a sister of 1398 is, with 3 it is 7117 */
	BY_ERRORS = 2,
	SOUGHT = 512,           /* bases between mates, less than KH_RESCUE_BEHIND */
	/* cover of a strain that is far from its reference, .86: B. subtilis has .89, S. mitis on
	 * S. pneumoniae .79; its divergence, and the weight of one of these alone */
	ALL_OVER = 881,
	FAR = 85,
	ONE_OF = KH_WEIGHT_ONE / 10 * 8,
	/* the same of one whose genes all are there and as far: .95, and nearly all of the weight;
	 * S. pneumoniae on S. mitis has .89, S. bongori on S. enterica a weight of .95 */
	AS_GOOD_AS_ALL = 973,
	/* the cover, .75, divergence and weight of one strain whose fragments are all its own; what
	 * is its reference has no genes that are far from it */
	STEADY = 768,
	STEADY_FAR = 3,
	STEADY_OF = KH_WEIGHT_ONE / 10 * 7
};

/* What pairs of which one mate only fits say of a species' genes. */
enum mates { SAY_NOTHING, LACK_GENES, HAVE_GENES };

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* --- how much ---------------------------------------------------------------------------- */
static void count_mates(kh_cover *to, uint32_t mates, uint64_t many)
{
	if (mates == KH_ONE_MATE)
		kh_add(&to->one_mate, many);
	if (mates < KH_MATES_APART)
		return;
	kh_add(&to->both_mates, many);
	kh_add(&to->apart,
	       many * KH_MATES_STEP * (2 * (mates - KH_MATES_APART) + 1) / 2);
}

void kh_cover_count(kh_modelling *w, const kh_class *k)
{
	kh_cover *to;

	if (!k->located || k->cell / KH_SHARES == KH_LONG)
		return;
	to = &w->m->at[w->place[kh_class_alone(k)] - 1].cover;
	if (k->species[1] == KH_NO_TAXON && kh_is_called(w, k, k->species[0]))
		count_mates(to, kh_mates_fit(k->species, k->drop), k->many);
	/* others tell nothing */
	if (k->cell % KH_SHARES < CLEAR)
		return;
	kh_add(&to->n, k->many);
	if (k->species[1] == KH_NO_TAXON)
		kh_add(&to->sole, k->many);
}

/* A tract is so many intervals, as a power of two, that 1.5 fragments or more should lie in it; but
 * there are four tracts at least.  Tracts of genes are those, or shorter. */
static void cut(kh_presence *p, uint64_t interval)
{
	kh_cover *c = &p->cover;

	while (c->n > 0 && 2 * (c->n << c->shift) < 3 * p->length && p->length >> c->shift > 4)
		c->shift++;
	while (c->shift_genes < c->shift && interval << (c->shift_genes + 1) <= GENES)
		c->shift_genes++;
}

void kh_cover_begin(kh_modelling *w)
{
	const uint64_t interval = (uint64_t)KH_INTERVAL * w->in->db->h->sampling.stride;

	for (uint32_t i = 0; i < w->m->n; i++)
		cut(&w->m->at[i], interval);
}

/* The share of the tracts with any, in 1/2^34, of a species that is all over the share a of them,
 * where a tract has `depth` fragments, in 1/2^20. */
static uint64_t hit(const kh_probe *q, uint64_t depth, uint64_t a)
{
	const uint32_t all = KH_PROBES * KH_PROBE_READS;
	uint64_t sum = 0;

	if (q->all_alone == 0)
		return a * (KH_EXP2_ONE - kh_exp2q(KH_LOG2_E * depth / (a << 10)));
	const uint32_t tracts = all / q->reads;

	for (uint32_t j = 0; j < all; j += q->reads) {
		const uint32_t in_it = q->alone[j / KH_PROBE_READS] >> j % KH_PROBE_READS,
			       u = (uint32_t)__builtin_popcount(in_it & ((1u << q->reads) - 1));

		sum += KH_EXP2_ONE -
		       kh_exp2q(KH_LOG2_E * depth * tracts * u / (q->all_alone * a << 10));
	}
	return a * sum / tracts;
}

/* The least share that as many tracts have any of. */
static uint32_t find_share(const kh_presence *p, const kh_probe *q, uint8_t shift, uint64_t found)
{
	const uint64_t per = (p->cover.n << shift << 20) / p->length,
		       depth = per < 64 << 20 ? per : 64 << 20,
		       is = ((found << shift << 20) / p->length) << 14;
	uint32_t below = 0, from = MOST;

	while (from - below > 1) {
		const uint32_t a = (below + from) / 2;

		*(hit(q, depth, a) < is ? &below : &from) = a;
	}
	return from;
}

static uint32_t root(uint64_t x)
{
	uint32_t r = 0;

	while ((uint64_t)(r + 1) * (r + 1) <= x)
		r++;
	return r;
}

/* So many fragments are in a tract of genes with another one before them, if they are all over the
 * share a of these.  The genome is that of the strain with the shortest one; but it may have more
 * than one sequence, and the species more than one strain, so that the cover is more than one. */
static int64_t together(const kh_presence *p, const kh_probe *q, uint64_t a)
{
	const kh_cover *c = &p->cover;
	const uint64_t share = c->share > KH_COVER_ONE ? c->share : KH_COVER_ONE,
		       length = p->least * share / KH_COVER_ONE,
		       per = (c->n << c->shift_genes << 20) / length,
		       depth = per < 64 << 20 ? per : 64 << 20,
		       tracts = (length * hit(q, depth, a) >> 34) >> c->shift_genes;

	return (int64_t)(c->n > tracts ? c->n - tracts : 0);
}

/* Of all that the species has, and that is clear, n would be alone; `alone`: of perfect reads. */
static uint32_t find_part(const kh_modelling *w, uint32_t i, uint32_t alone)
{
	const kh_cover *c = &w->m->at[i].cover;
	uint64_t many[KH_CELLS], all = 0, part;

	kh_many_of(w, i, many);
	for (uint32_t cell = 0; cell < KH_LONG * KH_SHARES; cell++)
		all += cell % KH_SHARES >= CLEAR ? many[cell] : 0;
	if (alone == 0 || all == 0)
		return 0;
	part = (c->n << 8) * KH_COVER_ONE / all * KH_COVER_ONE / alone;
	return part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
}

/* Of those that are its alone, so many lead: of as many as of perfect reads, if these are some. */
static uint32_t find_lead(const kh_cover *c, const kh_probe *q)
{
	const uint64_t all = KH_PROBES * KH_PROBE_READS;

	if (q->all_sole * KH_COVER_ONE < SOME * all)
		return KH_COVER_ONE;
	return (uint32_t)(c->sole * KH_COVER_ONE * q->all_alone / q->all_sole / c->n);
}

/* --- what follows ------------------------------------------------------------------------- */
/* All of its genes are there, and are as far: it may lie over as good as all of the genome, by two
 * standard errors, and its fragments may have one divergence, whose shape *shape becomes. */
static bool is_even(const kh_modelling *w, const kh_presence *p, uint32_t *shape)
{
	const kh_cover *c = &p->cover;
	uint64_t many[KH_CELLS];

	kh_many_of(w, (uint32_t)(p - w->m->at), many);
	return !p->by_long && c->n >= KH_COVER_LEAST &&
	       c->share + 2 * c->off >= AS_GOOD_AS_ALL &&
	       kh_fit_is_even(&p->fit, &w->m->shapes, many, shape);
}

static bool is_far(const kh_presence *p)
{
	return p->cover.n >= KH_COVER_LEAST && kh_divergence[p->fit.one_shape] >= LACKING;
}

/* The share of its fragments that are seen, in 1/65536. */
static uint64_t seen_of(const kh_modelling *w, const kh_presence *p)
{
	uint64_t many[KH_CELLS], all = 0, seen = 0;

	kh_many_of(w, (uint32_t)(p - w->m->at), many);
	for (uint32_t cell = 0; cell < KH_LONG * KH_SHARES; cell++) {
		all += many[cell];
		seen += many[cell] * w->m->shapes.seen[p->fit.one_shape][cell / KH_SHARES];
	}
	return seen > all ? seen / all : 1;
}

/* One mate only of a pair fits at the border of a gene that a sister lacks.  The farther mates are
 * apart, the more borders are between them; ends of sequences are borders, too.  Those that are too
 * far apart are not sought beside each other. */
static enum mates mates_of(const kh_presence *p)
{
	const uint64_t apart = p->cover.apart,
		       may = apart / ONE_MATE_EACH + 2 * apart * p->sequences / p->bases,
		       off = root(may);

	if (apart > SOUGHT * p->cover.both_mates)
		return SAY_NOTHING;
	if (p->cover.one_mate > may + off)
		return LACK_GENES;
	return p->cover.one_mate + BY_ERRORS * off < may ? HAVE_GENES : SAY_NOTHING;
}

/* Does it lack genes that strains have?  It has fragments in so many tracts of genes.  The fewer
 * are seen, the more of these are in the genes that are near.  Where fewer than two should be
 * together, nothing is said. */
static bool lacks_genes(const kh_modelling *w, const kh_presence *p, uint64_t found)
{
	uint32_t shape;

	if (!is_far(p) || is_even(w, p, &shape))
		return false;
	const enum mates mates = mates_of(p);

	if (mates == LACK_GENES)
		return true;
	const kh_probe *q = &w->probe[p - w->m->at];
	const uint64_t d = kh_divergence[p->fit.one_shape],
		       far = 1 + KH_COVER_ONE * seen_of(w, p) / (65536 + 64 * MORE_FAR * d);
	const bool one = p->fit.one_weight >= KH_WEIGHT_EVEN;
	const int64_t are = (int64_t)(p->cover.n - found), all = together(p, q, KH_COVER_ONE),
		      may = together(p, q, one ? WITH_GENES : far),
		      weight = mates == HAVE_GENES ? KH_COVER_ONE : p->fit.one_weight >> 10,
		      alike = weight + ALIKE_FAR * (int64_t)d - ALIKE;

	return all > 1 &&
	       3 * KH_COVER_ONE * (are - may) > (all + CROWDED) * (one ? A_FEW : alike);
}

/* It lies over enough, with enough of its own. */
static bool is_there(const kh_cover *c)
{
	const uint32_t share = least(c->share + c->off, KH_COVER_ONE);

	return share * least(c->part, KH_COVER_ONE) >= THERE * KH_COVER_ONE;
}

/* Do so few lead that they are a relative's?  Not where they cannot be told from the reference, and
 * all genes are there: no relative is as near. */
static bool leads_seldom(const kh_presence *p)
{
	const kh_cover *c = &p->cover;

	return c->lead < LEAD && (kh_divergence[p->fit.one_shape] > AS_IT_IS ||
				  p->fit.one_weight < KH_WEIGHT_EVEN ||
				  c->share < AS_GOOD_AS_ALL + 2 * c->off);
}

/* A strain beside a relative is not judged so: most of these are the relative's. */
static bool is_refuted(const kh_presence *p)
{
	const kh_cover *c = &p->cover;
	const uint32_t d = kh_divergence[p->fit.one_shape];
	const bool as_it_is = p->fit.one_weight >> 4 >= KH_NEARLY_ALL && c->alone >= TOLD &&
			      (d <= AS_IT_IS || (d <= PART_OF && !c->sister));

	return c->n >= KH_COVER_LEAST && c->alone >= SOME && !as_it_is &&
	       p->fit.kind != KH_FIT_TWO && (!is_there(c) || c->lacks || leads_seldom(p));
}

/* found[i]: its tracts with any; found_genes[i]: those of genes, of species that are far. */
static int search(kh_modelling *w, uint64_t *found, uint64_t *found_genes, kh_err *err)
{
	uint32_t *own = kh_array(w->m->n, sizeof *own, err);
	uint8_t *shift = kh_array(w->m->n, sizeof *shift, err);
	bool any = false;
	int rc = own && shift ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < w->m->n && !rc; i++) {
		own[i] = w->m->at[i].cover.n >= KH_COVER_LEAST ? UINT32_MAX << CLEAR : 0;
		shift[i] = w->m->at[i].cover.shift;
	}
	if (!rc)
		rc = kh_search(w, own, shift, found, err);
	for (uint32_t i = 0; i < w->m->n && !rc; i++) {
		any = any || is_far(&w->m->at[i]);
		own[i] = is_far(&w->m->at[i]) ? own[i] : 0;
		shift[i] = w->m->at[i].cover.shift_genes;
	}
	if (!rc && any)
		rc = kh_search(w, own, shift, found_genes, err);
	free(own);
	free(shift);
	return rc;
}

static void describe(kh_modelling *w, uint32_t i, uint64_t found, uint64_t found_genes)
{
	const kh_probe *q = &w->probe[i];
	kh_presence *p = &w->m->at[i];
	kh_cover *c = &p->cover;

	c->alone = q->all_alone * KH_COVER_ONE / (KH_PROBES * KH_PROBE_READS);
	c->sister = q->all_sole * KH_COVER_ONE < TOLD * KH_PROBES * KH_PROBE_READS;
	c->share = find_share(p, q, c->shift, found);
	c->off = root(OFF * OFF / c->n);
	c->lacks = lacks_genes(w, p, found_genes);
	c->part = find_part(w, i, c->alone);
	if (c->n >= KH_COVER_LEAST && c->alone >= SOME)
		c->borne = kh_fit_short(&p->fit) * least(c->part, MOST) / KH_COVER_ONE;
	c->lead = find_lead(c, q);
	p->refuted = is_refuted(p);
}

/* Does it lie over so much at least? */
static bool lies_over(const kh_presence *p, uint32_t share)
{
	return !p->by_long && p->cover.n >= KH_COVER_LEAST &&
	       p->cover.share >= share + p->cover.off;
}

/* Would it stand, and lie all over its genome, whatever the text says?  If fewer perfect reads are
 * its alone, or some places have fewer than others, its share and its part are greater; and if
 * fewer of them lead, more of its fragments do in proportion.  (A share is less by one here, as it
 * is rounded.) */
static bool is_clear(const kh_modelling *w, uint32_t i, uint64_t found)
{
	static const kh_probe all_alone;
	kh_presence p = w->m->at[i];
	kh_cover *c = &p.cover;

	if (c->n < KH_COVER_LEAST)
		return false;
	c->share = find_share(&p, &all_alone, c->shift, found) - 1;
	c->off = root(OFF * OFF / c->n);
	c->part = find_part(w, i, KH_COVER_ONE);
	return p.fit.kind == KH_FIT_ONE && p.fit.own && p.fit.many_long < KH_FEW &&
	       !is_far(&p) && lies_over(&p, ALL_OVER) && is_there(c) &&
	       c->sole * KH_COVER_ONE / c->n >= LEAD;
}

/* Which species are clear: their text is not asked. */
static int clear_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const uint32_t end = (uint32_t)kh_modelling_from(w, w->m->n, id + 1);

	(void)err;
	for (uint32_t i = (uint32_t)kh_modelling_from(w, w->m->n, id); i < end; i++)
		w->m->at[i].cover.clear = is_clear(w, i, w->found[i]);
	return KH_OK;
}

static int describe_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const uint32_t end = (uint32_t)kh_modelling_from(w, w->m->n, id + 1);

	(void)err;
	for (uint32_t i = (uint32_t)kh_modelling_from(w, w->m->n, id); i < end; i++)
		if (w->m->at[i].cover.n > 0)
			describe(w, i, w->found[i], w->found_genes[i]);
	return KH_OK;
}

int kh_cover_make(kh_modelling *w, kh_err *err)
{
	int rc;

	w->found = kh_array(w->m->n, sizeof *w->found, err);
	w->found_genes = kh_array(w->m->n, sizeof *w->found_genes, err);
	rc = w->found && w->found_genes ? search(w, w->found, w->found_genes, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_modelling_run(w, w->m->n, KH_MANY_SPECIES, clear_some, err);
	if (!rc)
		rc = kh_probe_make(w, err);
	if (!rc)
		rc = kh_modelling_run(w, w->m->n, KH_MANY_SPECIES, describe_some, err);
	return rc;
}

void kh_cover_rescue(const kh_modelling *w, kh_presence *p)
{
	kh_fit *f = &p->fit;
	const uint32_t d = kh_divergence[f->one_shape];
	uint32_t shape = f->one_shape, weight = f->one_weight;
	/* a strain with little beside what would be a relative */
	const bool little = f->kind == KH_FIT_TWO && f->weight[0] < KH_WEIGHT_ONE / 20;

	if (p->refuted || f->kind == KH_FIT_FEW || (f->own && !little))
		return;
	if (is_even(w, p, &shape))
		weight = weight > KH_WEIGHT_EVEN ? weight : KH_WEIGHT_EVEN;
	else if (!(d <= FAR && weight >= ONE_OF && lies_over(p, ALL_OVER)))
		return;
	f->kind = KH_FIT_ONE;
	f->own = true;
	f->weak = false;
	f->n = 2;
	f->shape[0] = f->low = f->high = shape;
	f->shape[1] = KH_JUNK;
	f->weight[0] = weight;
	f->weight[1] = KH_WEIGHT_ONE - weight;
}

bool kh_cover_is_steady(const kh_presence *p)
{
	return kh_presence_is_there(p) && p->fit.kind == KH_FIT_ONE && lies_over(p, STEADY) &&
	       (p->fit.weight[0] >= KH_WEIGHT_EVEN ||
		(p->fit.weight[0] >= STEADY_OF &&
		 kh_divergence[p->fit.shape[0]] >= STEADY_FAR));
}
