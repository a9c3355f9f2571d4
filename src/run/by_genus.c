#include <config.h>
#include "run/by_genus.h"

#include <stdlib.h>
#include "base/mem.h"
#include "classify/compute.h"
#include "translated/section.h"

/* --- opening -------------------------------------------------------------------------- */
/* What the database has of each species, and which taxa are families. */
static void set_up(kh_by_genus *g)
{
	const kh_translated *t = &g->db->translated;

	for (size_t i = 0; i < t->n_stretches; i++) {
		const kh_translated_stretch *s = &t->stretch[i];

		if (s->genus != KH_NO_TAXON)
			g->of[s->species].width += s->end - s->begin;
	}
	for (uint32_t i = 0; i < g->db->tax->n; i++)
		g->of[i].width = g->of[i].width / KH_GENOME_WINDOWS + 1;
	for (uint32_t i = 0; i < t->head->genera; i++) {
		kh_by_genus_sum *family = &g->of[t->genus[i].family];

		family->many_genera = family->family;
		family->family = t->genus[i].family > 0;
	}
}

int kh_by_genus_init(kh_by_genus *g, const kh_db *db, unsigned threads, kh_err *err)
{
	const uint32_t n = db->tax->n;

	*g = (kh_by_genus) { .db = db, .threads = threads };
	if (!db->translated.head)
		return KH_OK;
	g->of = kh_array(n, sizeof *g->of, err);
	g->many = kh_array(n, sizeof *g->many, err);
	g->agrees = kh_array(n, sizeof *g->agrees, err);
	g->dropped = kh_array(n, sizeof *g->dropped, err);
	g->classed = kh_array(threads, sizeof *g->classed, err);
	if (!g->classed || !g->of || !g->many || !g->agrees || !g->dropped)
		return KH_ENOMEM;
	set_up(g);
	return KH_OK;
}

void kh_by_genus_clear(kh_by_genus *g)
{
	for (unsigned i = 0; g->classed && i < g->threads; i++)
		free(g->classed[i].v);
	free(g->classed);
	free(g->of);
	free(g->many);
	free(g->agrees);
	free(g->dropped);
	*g = (kh_by_genus) { .db = NULL };
}

/* --- what is said --------------------------------------------------------------------- */
/* What is said of a fragment, in taxa. */
struct said {
	uint32_t genus, family;         /* KH_NO_TAXON: none */
	uint32_t of_genus, of_family;   /* their grades */
	uint32_t call;                  /* in place of the genus */
};

static struct said said_of(const kh_by_genus *g, uint32_t x)
{
	const kh_translated *t = &g->db->translated;
	struct said s = { KH_NO_TAXON, KH_NO_TAXON, KH_GRADE_NONE, KH_GRADE_NONE, KH_NO_TAXON };
	uint32_t place;

	if (kh_is_graded(x)) {
		place = kh_graded_place(x);
		s.of_genus = kh_graded_genus(x);
		s.of_family = kh_graded_family(x);
	} else if (x != KH_NO_TAXON && g->of[x].family) {
		s.family = x;
		s.of_family = KH_GRADE_CALLED;
		return s;
	} else {
		place = x == KH_NO_TAXON ? x : kh_translated_genus_of(t, x);
		s.of_genus = s.of_family = KH_GRADE_CALLED;
	}
	if (place == KH_NO_TAXON)
		return (struct said) { KH_NO_TAXON, KH_NO_TAXON, 0, 0, KH_NO_TAXON };
	s.genus = t->genus[place].taxon;
	s.call = kh_compute_called(g->db->tax, t->genus[place].called);
	if (t->genus[place].family > 0)
		s.family = t->genus[place].family;
	return s;
}

/* --- counting ------------------------------------------------------------------------- */
static void count(_Atomic uint64_t *n, uint64_t more)
{
	atomic_fetch_add_explicit(n, more, memory_order_relaxed);
}

static void count_grade(kh_by_genus_sum *s, uint32_t grade, const kh_likeness *l)
{
	count(&s->weak, grade >= KH_GRADE_WEAK);
	if (grade < KH_GRADE_FIRM)
		return;
	count(&s->firm, 1);
	if (l->stretch != KH_NO_STRETCH_LIKE) {
		count(&s->codons, l->codons);
		count(&s->same, l->same);
	}
}

/* Where a fragment waits until the sample agrees. */
static _Atomic uint64_t *waiting(const kh_by_genus *g, uint32_t graded)
{
	const uint32_t genus = g->db->translated.genus[kh_graded_place(graded)].taxon;

	return &g->of[genus].waiting[kh_graded_family(graded)];
}

/* Where the fragment lies in the genome of a species. */
static void count_place(kh_by_genus *g, const kh_likeness *l)
{
	kh_by_genus_sum *s;

	if (l->stretch == KH_NO_STRETCH_LIKE)
		return;
	s = &g->of[g->db->translated.stretch[l->stretch].species];
	count(&s->votes, 1);
	atomic_fetch_or_explicit(&s->windows,
				 UINT64_C(1) << l->at / s->width % KH_GENOME_WINDOWS,
				 memory_order_relaxed);
}

static void add(kh_by_genus *g, const kh_likeness *l)
{
	const struct said s = said_of(g, l->said);

	if (s.genus != KH_NO_TAXON)
		count_grade(&g->of[s.genus], s.of_genus, l);
	if (s.family != KH_NO_TAXON)
		count_grade(&g->of[s.family], s.of_family, l);
	count_place(g, l);
}

int kh_by_genus_add(kh_by_genus *g, unsigned worker, const kh_task *t, const kh_class_of *of,
		    kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; g->of && i < t->job->n && !rc; i++) {
		const uint32_t said = t->like ? t->like[i].said : KH_NO_TAXON;
		kh_by_genus_classed *c = &g->classed[worker];

		if (kh_by_genus_is(g, &t->call[i]))
			count(&g->of[t->call[i].taxon].calls, 1);
		if (said == KH_NO_TAXON)
			continue;
		add(g, &t->like[i]);
		if (!kh_is_graded(said))
			continue;
		if (of[i].index == KH_NO_CLASS)
			count(waiting(g, said), 1);
		else if (!(rc = KH_GROW(c->v, c->cap, c->n + 1, err)))
			c->v[c->n++] = (uint64_t)of[i].index << 32 | said;
	}
	return rc;
}

/* --- agreement ------------------------------------------------------------------------ */
/* Do the fragments of a taxon lie all over the genomes of its species?  Of n, in w windows that are
 * as many as all, w n / (w + n) and more would be hit. */
static bool is_spread(const kh_by_genus *g, uint32_t taxon)
{
	const uint64_t w = KH_GENOME_WINDOWS;
	uint64_t hit = 0, expected = 0;

	for (uint32_t i = taxon; i < g->db->tax->end[taxon]; i++) {
		const uint64_t votes = g->of[i].votes;

		hit += (uint64_t)__builtin_popcountll(g->of[i].windows);
		expected += 256 * w * votes / (w + votes);
	}
	return 256 * 100 * hit >= KH_AGREE_SPREAD * expected;
}

static bool agrees(const kh_by_genus *g, uint32_t taxon)
{
	const kh_by_genus_sum *s = &g->of[taxon];
	const uint64_t share = s->family ? KH_AGREE_FAMILY : KH_AGREE_GENUS;

	return s->firm >= KH_AGREE_LEAST && 100 * s->firm >= share * s->weak &&
	       is_spread(g, taxon);
}

/* The grade from which on fragments are a family's, if the sample agrees on that: also the weak
 * ones, where few are no more than that, and other genera say what that is worth. */
static uint32_t least_grade(const kh_by_genus_sum *s)
{
	return s->many_genera && 100 * s->firm >= KH_AGREE_WEAKLY * s->weak ? KH_GRADE_WEAK
									    : KH_GRADE_FIRM;
}

static bool has_species(const kh_by_genus *g, const kh_model *m, uint32_t genus)
{
	const kh_tree tree = kh_taxonomy_tree(g->db->tax);

	for (uint32_t i = 0; i < m->n; i++)
		if (kh_tree_within(&tree, genus, m->at[i].taxon) && kh_presence_is_there(&m->at[i]))
			return true;
	return false;
}

/* --- what becomes of calls ------------------------------------------------------------ */
/* So many fragments get another call, or none, or had none. */
static void move(kh_by_genus *g, kh_moves *moves, uint32_t from, uint32_t to, uint64_t n)
{
	kh_moves_add(moves, from, to, n);
	if (from != KH_NO_TAXON)
		g->many[from] -= n;
	if (to != KH_NO_TAXON)
		g->many[to] += n;
}

/* What a fragment is called that is said to be so. */
static uint32_t call_of(const kh_by_genus *g, const struct said *s, uint32_t now)
{
	if (s->call != KH_NO_TAXON && g->agrees[s->genus])
		return s->call;
	if (now == KH_NO_TAXON && s->family != KH_NO_TAXON && g->agrees[s->family] &&
	    s->of_family >= least_grade(&g->of[s->family]))
		return s->family;
	return now;
}

/* Moves the fragments that wait. */
static void move_waiting(kh_by_genus *g, kh_moves *moves)
{
	for (uint32_t i = 0; i < g->db->translated.head->genera; i++)
		for (uint32_t f = KH_GRADE_WEAK; f <= KH_GRADE_CALLED; f++) {
			const uint32_t x = kh_graded(i, KH_GRADE_WEAK, f);
			const struct said s = said_of(g, x);
			const uint32_t now = f == KH_GRADE_CALLED ? s.family : KH_NO_TAXON;

			move(g, moves, now, call_of(g, &s, now), *waiting(g, x));
		}
}

void kh_by_genus_agree(kh_by_genus *g)
{
	for (uint32_t t = 0; g->of && t < g->db->tax->n; t++)
		g->agrees[t] = agrees(g, t);
}

/* Lets those of a class wait that has no call in the end. */
static void add_classed(kh_by_genus *g, kh_by_genus_decision *decision, const void *arg)
{
	for (unsigned w = 0; w < g->threads; w++)
		for (size_t i = 0; i < g->classed[w].n; i++) {
			const uint64_t x = g->classed[w].v[i];

			if (decision(arg, w, (uint32_t)(x >> 32)) == KH_NO_TAXON)
				count(waiting(g, (uint32_t)x), 1);
		}
}

void kh_by_genus_judge(kh_by_genus *g, const kh_model *m, kh_by_genus_decision *decision,
		       const void *arg, kh_moves *moves)
{
	if (!g->of)
		return;
	g->changes = m->changes;
	for (uint32_t t = 0; t < g->db->tax->n; t++) {
		const uint64_t n = g->of[t].calls;

		g->dropped[t] = m->changes && n > 0 && n < KH_BY_GENUS_LEAST && !g->agrees[t] &&
				!has_species(g, m, t);
		g->many[t] = n;
	}
	if (!m->changes)
		return;
	/* what the model takes for something else, by other evidence, is that */
	for (uint32_t t = 0; t < g->db->tax->n; t++)
		g->agrees[t] &= kh_model_end(m, t) == t;
	add_classed(g, decision, arg);
	move_waiting(g, moves);
	for (uint32_t t = 0; t < g->db->tax->n; t++)
		if (g->dropped[t])
			move(g, moves, t, KH_NO_TAXON, g->many[t]);
}

bool kh_by_genus_end(const kh_by_genus *g, uint32_t said, kh_call *c)
{
	if (g->of && g->changes && kh_is_graded(said)) {
		const struct said s = said_of(g, said);
		const uint32_t to = call_of(g, &s, c->taxon);

		if (to != c->taxon) {
			*c = (kh_call) { .taxon = to, .kmers = c->kmers };
			return true;
		}
	}
	if (!kh_by_genus_is(g, c))
		return false;
	if (g->dropped[c->taxon])
		c->taxon = KH_NO_TAXON;
	return true;
}

/* --- unknown organisms ---------------------------------------------------------------- */
/* The two species of a taxon with most votes, of equal ones the lesser first. */
static void find_nearest(const kh_by_genus *g, uint32_t taxon, uint32_t nearest[2])
{
	nearest[0] = nearest[1] = KH_NO_TAXON;
	for (uint32_t i = taxon; i < g->db->tax->end[taxon]; i++) {
		const uint64_t votes = g->of[i].votes;

		if (votes == 0 || g->db->tax->species[i] == KH_NO_TAXON)
			continue;
		if (nearest[0] == KH_NO_TAXON || votes > g->of[nearest[0]].votes) {
			nearest[1] = nearest[0];
			nearest[0] = i;
		} else if (nearest[1] == KH_NO_TAXON || votes > g->of[nearest[1]].votes) {
			nearest[1] = i;
		}
	}
}

/* The fragments of genera below a family on which the sample agrees. */
static uint64_t of_genera(const kh_by_genus *g, uint32_t family)
{
	uint64_t sum = 0;

	for (uint32_t i = family + 1; i < g->db->tax->end[family]; i++)
		sum += g->agrees[i] && !g->of[i].family ? g->of[i].weak : 0;
	return sum;
}

bool kh_by_genus_unknown(const kh_by_genus *g, uint32_t taxon, double known, kh_unknown *u)
{
	const kh_by_genus_sum *s;
	uint64_t genera, n;

	if (!g->of || !g->agrees[taxon])
		return false;
	s = &g->of[taxon];
	genera = s->family ? of_genera(g, taxon) : 0;
	n = s->family && least_grade(s) == KH_GRADE_FIRM ? s->firm : s->weak;
	if (n < 2 * genera || 8 * (double)(n - genera) < known)
		return false;
	*u = (kh_unknown) { .fragments = n - genera, .codons = s->codons, .same = s->same };
	find_nearest(g, taxon, u->nearest);
	return true;
}
