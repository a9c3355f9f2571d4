/*
 * shared_text.c - alleles of text that many species have
 *
 * A mobile element, or a gene that hardly changes, is in many species, and where these have many
 * strains, each of them has other alleles there.  Then a read of one species that differs in a few
 * bases has these bases, by chance, among the alleles of another one, and fits that one best.  So a
 * tile has no alleles if half of its k-mers are in SPECIES species or more: without them all of
 * these fit as well, and the read is called what they have in common.
 *
 * The k-mers are those by which what is alike is found (seen.h).  Only those of tiles with alleles
 * are remembered, and then looked for in all text that is kept.  How many species have one does not
 * depend on the order in which they are gone through; and a tile that lost its alleles in a
 * database that is added to would have lost them in a build of all references, too.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "build/seen.h"

enum { SPECIES = 16 };

/* A k-mer that is remembered: its key plus 1, from bit 8 on, and how many species have it, SPECIES
 * at most; 0: a free place. */
typedef _Atomic uint64_t kmer_slot;

enum { COUNT_BITS = 8 };

/* What is done, one after the other, with the tiles of each species: count their k-mers, remember
 * these, look for them, and take alleles away. */
enum step { COUNT, ENTER, SEE, DROP, STEPS };

struct shared {
	const struct build *b;
	const uint32_t *text;
	uint32_t tile;
	uint32_t *kept, *first;         /* stretches by species; of which species x begins with
					 * kept[first[x]] */
	uint32_t n_species;
	kmer_slot *kmer;                /* open addressing */
	size_t size;
	enum step step;
	_Atomic uint64_t n;             /* k-mers of tiles with alleles */
	_Atomic uint32_t next;          /* species */
};

/* K-mers of a species that are remembered, by their places among all of these. */
struct places {
	size_t *at;
	size_t n, cap;
};

/* --- k-mers ------------------------------------------------------------------------------ */
/* Where a key is, or would be. */
static size_t place_of(const struct shared *c, uint64_t key)
{
	size_t i = (size_t)((unsigned __int128)kh_fmix64(key) * c->size >> 64);

	for (uint64_t is; (is = atomic_load(&c->kmer[i])) != 0 && is >> COUNT_BITS != key + 1;)
		i = i + 1 < c->size ? i + 1 : 0;
	return i;
}

static void enter(struct shared *c, uint64_t key)
{
	const uint64_t mine = (key + 1) << COUNT_BITS;

	for (bool there = false; !there;) {
		uint64_t is = 0;
		const size_t i = place_of(c, key);

		/* another worker may have taken it for another key */
		there = atomic_compare_exchange_strong(&c->kmer[i], &is, mine) || is == mine;
	}
}

/* How many species have the k-mer there. */
static uint32_t species_of(const struct shared *c, size_t place)
{
	return (uint32_t)(atomic_load(&c->kmer[place]) & ((1 << COUNT_BITS) - 1));
}

static void add_species(struct shared *c, size_t place)
{
	uint64_t is = atomic_load(&c->kmer[place]);

	while ((is & ((1 << COUNT_BITS) - 1)) < SPECIES &&
	       !atomic_compare_exchange_weak(&c->kmer[place], &is, is + 1))
		;
}

static int see(struct shared *c, struct places *found, uint64_t key, kh_err *err)
{
	const size_t i = place_of(c, key);
	int rc = KH_OK;

	if (atomic_load(&c->kmer[i]) == 0)
		return KH_OK;
	rc = KH_GROW(found->at, found->cap, found->n + 1, err);
	if (!rc)
		found->at[found->n++] = i;
	return rc;
}

static int by_place(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* Counts the species for each k-mer that it has. */
static void count_species(struct shared *c, struct places *found)
{
	if (found->n > 0)
		qsort(found->at, found->n, sizeof *found->at, by_place);
	for (size_t i = 0; i < found->n; i++)
		if (i == 0 || found->at[i] != found->at[i - 1])
			add_species(c, found->at[i]);
	found->n = 0;
}

static bool is_shared(const struct shared *c, const uint64_t *key, size_t n)
{
	size_t many = 0;

	for (size_t i = 0; i < n; i++)
		many += species_of(c, place_of(c, key[i])) >= SPECIES;
	return n > 0 && 2 * many >= n;
}

/* --- tiles ------------------------------------------------------------------------------- */
static bool any_allele(const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] != 0)
			return true;
	return false;
}

/* A tile of so many bases, from base `at` of the text on. */
static int go_tile(struct shared *c, struct places *found, uint64_t at, uint32_t bases, kh_err *err)
{
	uint32_t *alleles = c->b->taxa.alleles + at / KH_TEXT_WORD;
	const size_t words = (bases + KH_TEXT_WORD - 1) / KH_TEXT_WORD;
	uint64_t key[KH_SEEN_OF_TILE];
	uint32_t pos[KH_SEEN_OF_TILE];
	size_t n;
	int rc = KH_OK;

	if (c->step != SEE && !any_allele(alleles, words))
		return KH_OK;
	n = kh_seen_sample(c->text, at, bases, key, pos);
	if (c->step == COUNT)
		atomic_fetch_add(&c->n, n);
	for (size_t i = 0; c->step == ENTER && i < n; i++)
		enter(c, key[i]);
	for (size_t i = 0; c->step == SEE && i < n && !rc; i++)
		rc = see(c, found, key[i], err);
	if (c->step == DROP && is_shared(c, key, n))
		memset(alleles, 0, words * sizeof *alleles);
	return rc;
}

static int go_species(struct shared *c, struct places *found, uint32_t species, kh_err *err)
{
	int rc = KH_OK;

	for (uint32_t i = c->first[species]; i < c->first[species + 1] && !rc; i++) {
		const kh_db_kept *k = &c->b->taxa.kept[c->kept[i]];
		uint64_t bases;
		const uint64_t at = kh_build_kept_at(c->b, k, &bases);

		for (uint64_t from = 0; from < bases && !rc; from += c->tile) {
			const uint64_t left = bases - from;

			if (k->alleles == 0 && c->step != SEE)
				break;
			rc = go_tile(c, found, at + from, left < c->tile ? (uint32_t)left : c->tile,
				     err);
		}
	}
	count_species(c, found);
	return rc;
}

static int worker(void *arg, unsigned number, kh_err *err)
{
	struct shared *c = arg;
	struct places found = { NULL, 0, 0 };
	int rc = KH_OK;

	(void)number;
	for (uint32_t x; !rc && (x = atomic_fetch_add(&c->next, 1)) < c->n_species;)
		rc = go_species(c, &found, x, err);
	free(found.at);
	return rc;
}

/* --- all of them ------------------------------------------------------------------------- */
/* The stretches by species, of which the taxa are the numbers; true: some of them have alleles. */
static int by_species(struct shared *c, bool *any, kh_err *err)
{
	const struct taxa *t = &c->b->taxa;
	const kh_tree tree = kh_taxonomy_tree(t->tax);
	uint32_t *end;

	c->n_species = t->tax->n;
	c->first = kh_array((size_t)t->tax->n + 2, sizeof *c->first, err);
	c->kept = kh_array(t->n_kept, sizeof *c->kept, err);
	if (!c->first || !c->kept)
		return KH_ENOMEM;
	end = c->first + 1;             /* of species x while they are put in: end[x] */
	for (uint32_t i = 0; i < t->n_kept; i++) {
		c->first[kh_tree_own_species(&tree, t->taxon[t->kept[i].target]) + 2]++;
		*any |= t->kept[i].alleles != 0;
	}
	for (uint32_t x = 0; x < c->n_species; x++)
		end[x + 1] += end[x];
	for (uint32_t i = 0; i < t->n_kept; i++)
		c->kept[end[kh_tree_own_species(&tree, t->taxon[t->kept[i].target])]++] = i;
	return KH_OK;
}

static int room_for_kmers(struct shared *c, kh_err *err)
{
	c->size = (size_t)(atomic_load(&c->n) / 3 * 4 + 64);
	c->kmer = kh_array(c->size, sizeof *c->kmer, err);
	return c->kmer ? KH_OK : KH_ENOMEM;
}

int kh_build_drop_shared(struct build *b, const uint32_t *text, uint32_t tile, kh_err *err)
{
	struct shared c = { .b = b, .text = text, .tile = tile };
	bool any = false;
	int rc = b->taxa.alleles ? by_species(&c, &any, err) : KH_OK;

	for (c.step = COUNT; any && c.step < STEPS && !rc; c.step++) {
		if (c.step == ENTER)
			rc = room_for_kmers(&c, err);
		atomic_store(&c.next, 0);
		if (!rc)
			rc = kh_side_by_side(b->o->threads, worker, &c, err);
	}
	free(c.kept);
	free(c.first);
	free(c.kmer);
	return rc;
}
