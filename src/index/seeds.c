/* seeds.c - a range of the index: made, and checked; seeds.h */
#include <config.h>
#include "index/seeds.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { LINE = 64 };

uint64_t kh_seed_line_bytes(const kh_seed_range *r)
{
	uint64_t lines = 0;

	for (unsigned i = 0; i < KH_SEED_LEVELS; i++)
		lines += r->lines[i];
	return lines * LINE;
}

uint64_t kh_seed_bytes(const kh_seed_range *r)
{
	return (kh_seed_line_bytes(r) + 4 * (uint64_t)r->words + LINE - 1) / LINE * LINE;
}

void kh_image_clear(kh_image *im)
{
	free(im->line);
	free(im->word);
	free(im->cut.in);
	free(im->cut.species_no);
	*im = (kh_image) { .line = NULL };
}

/* --- making a range ------------------------------------------------------------------- */
static int room_to_cut(kh_cut *c, const kh_bins *bins, size_t longest, kh_err *err)
{
	if (!c->in)
		c->in = kh_array(bins->n_species, sizeof *c->in, err);
	return c->in ? KH_GROW(c->species_no, c->cap_species, longest, err) : KH_ENOMEM;
}

/* The target of a bin that is not before target t: often t itself, or, with strains, the next
 * one. */
static uint32_t target_from(const kh_bins *b, uint32_t t, uint32_t bin)
{
	for (int i = 0; i < 4 && t < b->n_targets; i++, t++)
		if (bin < b->first[t + 1])
			return t;
	return kh_bins_target(b, bin);
}

/* Keeps the first places of each species, of n ascending, distinct bins; how many are left. */
static size_t cut_list(kh_cut *c, const kh_bins *b, uint32_t *bin, size_t n)
{
	uint32_t t = n > 0 ? kh_bins_target(b, bin[0]) : 0;
	size_t kept = 0;

	if (n <= KH_SPECIES_PLACES)
		return n;
	for (size_t i = 0; i < n; i++) {
		t = target_from(b, t, bin[i]);
		c->species_no[i] = kh_bins_species_no(b, t);
		if (c->in[c->species_no[i]]++ < KH_SPECIES_PLACES)
			bin[kept++] = bin[i];
	}
	for (size_t i = 0; i < n; i++)
		c->in[c->species_no[i]] = 0;
	return kept;
}

/* The list of the pairs from .. to - 1, which have one key: their distinct bins, cut by species.
 * It has room for one of each, and may be where their bins are. */
static int make_list(const kh_pairs *p, size_t from, size_t to, kh_cut *cut, const kh_bins *bins,
		     uint32_t *list, size_t *n, kh_err *err)
{
	const int rc = room_to_cut(cut, bins, to - from, err);

	*n = 0;
	for (size_t i = from; i < to && !rc; i++)
		if (*n == 0 || list[*n - 1] != p->loc[i])
			list[(*n)++] = p->loc[i];
	*n = rc ? 0 : cut_list(cut, bins, list, *n);
	return rc;
}

/* The next seed, with n bins: its slots, and its list. */
static int add_seed(kh_image *im, uint32_t bits, kh_pairs *to, uint64_t key, const uint32_t *bin,
		    size_t n, kh_err *err)
{
	kh_seed_range *r = &im->range;
	const bool over = n > KH_LIST_MAX, listed = n > KH_SEED_SLOTS && !over;
	const size_t slots = over || listed ? 1 : n;
	int rc = listed ? KH_GROW(im->word, im->cap_word, r->words + n, err) : KH_OK;

	for (size_t j = 0; j < n && listed && !rc; j++)
		im->word[r->words + j] = bin[j] | (j + 1 < n ? KH_SEED_MORE : 0);
	for (size_t j = 0; j < slots; j++) {
		to->key[to->n] = key;
		to->loc[to->n++] = over     ? kh_seed_over(bits)
				   : listed ? (UINT32_C(1) << bits) + 1 + r->words
					    : bin[j] + 1;
	}
	r->words += listed ? (uint32_t)n : 0;
	r->seeds++;
	r->lists += listed;
	r->over += over;
	im->locations += over ? 0 : n;
	return rc;
}

/* Pairs become slots, in their order, which are not more: so they take the same scratch. */
static int add_seeds(kh_image *im, const kh_bins *bins, kh_pairs *p, kh_err *err)
{
	kh_pairs to = { p->key, p->loc, 0 };
	int rc = KH_OK;

	for (size_t i = 0, end; i < p->n && !rc; i = end) {
		const uint64_t key = p->key[i];
		size_t n = 1;

		for (end = i + 1; end < p->n && p->key[end] == key;)
			end++;
		if (end - i > 1)
			rc = make_list(p, i, end, &im->cut, bins, p->loc + i, &n, err);
		if (!rc)
			rc = add_seed(im, bins->bits, &to, key, p->loc + i, n, err);
	}
	*p = to;
	im->range.slots = (uint32_t)to.n;
	if (rc || im->range.words < (UINT64_C(1) << bins->bits) - 1)
		return rc;
	return kh_fail(err, KH_EUSAGE, "%" PRIu32 " words of lists in one of 256 ranges of the "
		       "index are too many", im->range.words);
}

/* Fills a slot of a line, in words of 32 bits, that is free. */
static void put_slot(uint32_t line[16], uint32_t slot, uint32_t tag, uint32_t value, uint32_t bits)
{
	const uint32_t bit = 8 * kh_seed_slots(bits) + slot * (bits + 1), shift = bit % 32;

	line[slot / 4] |= tag << slot % 4 * 8;
	line[bit / 32] |= value << shift;
	if (shift + bits + 1 > 32)
		line[bit / 32 + 1] |= value >> (32 - shift);
}

/* Fills a level of B lines with slots in the order of y; those that are left over become the first
 * ones, with the y of the next level. */
static void fill_level(uint32_t *line, uint32_t B, uint32_t bits, kh_pairs *p)
{
	const uint32_t slots = kh_seed_slots(bits);
	uint64_t number = 0;
	size_t left = 0, slot = 0;

	for (size_t i = 0; i < p->n; i++) {
		const uint64_t place = kh_seed_place(p->key[i], B);

		slot = place >> 8 == number ? slot : 0;
		number = place >> 8;
		if (slot < slots) {
			put_slot(line + number * (LINE / 4), (uint32_t)slot++,
				 (uint32_t)place & 255, p->loc[i], bits);
			continue;
		}
		p->key[left] = kh_seed_next(p->key[i]);
		p->loc[left++] = p->loc[i];
	}
	p->n = left;
}

/* The pairs that are left, sorted, at the beginning of the scratch. */
static void sort_left(kh_pair_scratch *scratch, kh_pairs *p)
{
	const size_t n = p->n;

	if (p->key != scratch->key) {
		memcpy(scratch->key, p->key, n * sizeof *p->key);
		memcpy(scratch->loc, p->loc, n * sizeof *p->loc);
	}
	kh_pair_scratch_sort(scratch, n, p);
}

static int fill_levels(kh_image *im, uint32_t bits, kh_pair_scratch *scratch, kh_pairs *p,
		       kh_err *err)
{
	const uint32_t slots = kh_seed_slots(bits);
	uint64_t lines = 0;

	for (unsigned level = 0; p->n > 0; level++) {
		const uint32_t B = kh_seed_lines(level, p->n, slots);

		if (level == KH_SEED_LEVELS)
			return kh_fail(err, KH_EUSAGE, "%" PRIu32 " seeds in one of 256 ranges of "
				       "the index do not fit its levels", im->range.seeds);
		if (KH_GROW(im->line, im->cap_line, (size_t)lines + B, err))
			return KH_ENOMEM;
		memset(im->line + lines, 0, (size_t)B * sizeof *im->line);
		fill_level((void *)(im->line + lines), B, bits, p);
		if (p->n > 0)
			sort_left(scratch, p);
		im->range.lines[level] = B;
		lines += B;
	}
	return KH_OK;
}

int kh_seeds_encode(kh_image *im, kh_pair_scratch *scratch, kh_pairs *p, const kh_bins *bins,
		    kh_err *err)
{
	int rc;

	im->range = (kh_seed_range) { .words = 0 };
	im->locations = 0;
	rc = add_seeds(im, bins, p, err);
	return rc ? rc : fill_levels(im, bins->bits, scratch, p, err);
}

/* --- checking one that was read ------------------------------------------------------- */
struct check {
	const kh_seed_index *x;
	const kh_seed_range *r;
	const uint32_t *list;           /* the range's words */
	uint32_t n_bins;
	uint64_t lists, over;           /* in lines, so far */
};

static const char *check_lists(const struct check *c, uint64_t *lists)
{
	uint64_t n = 0;

	*lists = 0;
	for (uint64_t i = 0; i < c->r->words; i++) {
		const uint32_t bin = c->list[i] & ~KH_SEED_MORE;

		if (bin >= c->n_bins || (n > 0 && bin <= (c->list[i - 1] & ~KH_SEED_MORE)))
			return "locations are not ascending bins";
		n++;
		if (c->list[i] & KH_SEED_MORE)
			continue;
		if (n <= KH_SEED_SLOTS || n > KH_LIST_MAX)
			return "a list is too short or too long";
		n = 0;
		++*lists;
	}
	return n > 0 ? "the last list has no end" : NULL;
}

static const char *check_value(struct check *c, uint32_t value)
{
	const uint64_t bins = UINT64_C(1) << c->x->bits, at = value - bins - 1;

	if (value <= bins)
		return value > c->n_bins ? "a seed lies behind the text" : NULL;
	if (value == kh_seed_over(c->x->bits)) {
		c->over++;
		return NULL;
	}
	if (at >= c->r->words || (at > 0 && c->list[at - 1] & KH_SEED_MORE))
		return "a list does not begin where a seed says";
	c->lists++;
	return NULL;
}

/* *used: slots of the line. */
static const char *check_line(struct check *c, const uint8_t *line, uint32_t *used)
{
	const uint32_t bits = c->x->bits, slots = kh_seed_slots(bits);
	const uint32_t end = 8 * slots + slots * (bits + 1);
	uint32_t n = 0;

	for (; n < slots; n++) {
		const uint32_t value = kh_seed_value(line, n, bits);
		const char *why = value ? check_value(c, value) : NULL;

		if (value == 0)
			break;
		if (why)
			return why;
		if (n > 0 && line[n] < line[n - 1])
			return "tags are not ascending";
	}
	*used = n;
	for (uint32_t i = n; i < slots; i++)
		if (line[i] != 0 || kh_seed_value(line, i, bits) != 0)
			return "a slot that is free is not zero";
	return end < 512 && kh_word(line, end, 512 - end) != 0 ? "a spare bit is not zero" : NULL;
}

static const char *check_levels(struct check *c)
{
	const uint32_t slots = kh_seed_slots(c->x->bits);
	const uint8_t *line = (const uint8_t *)c->x->image + 64 * c->r->first_line;
	uint64_t n = c->r->slots;
	const char *why;

	for (unsigned level = 0; level < KH_SEED_LEVELS; level++) {
		const uint32_t B = c->r->lines[level];
		uint64_t used = 0;

		if (B != kh_seed_lines(level, n, slots))
			return "a level has another number of lines than its slots need";
		for (uint32_t i = 0; i < B; i++, line += LINE) {
			uint32_t some;

			if ((why = check_line(c, line, &some)))
				return why;
			used += some;
		}
		if (used > n || (n > 0 && used == 0))
			return "a level has another number of slots than it should";
		n -= used;
	}
	return n > 0 ? "there are fewer slots than the directory says" : NULL;
}

int kh_seeds_check(const kh_seed_index *x, unsigned range, uint32_t n_bins, kh_err *err)
{
	const kh_seed_range *r = &x->dir[range];
	struct check c = { .x = x, .r = r, .n_bins = n_bins,
			   .list = (const uint32_t *)x->image + r->first_word };
	const char *end = (const char *)x->image + 64 * r->first_line +
			  kh_seed_bytes(r);
	uint64_t lists;
	const char *why = check_lists(&c, &lists);

	if (!why)
		why = check_levels(&c);
	if (!why && c.over != r->over)
		why = "seeds with too many bins are not as many as the directory says";
	if (!why && (c.lists != lists || lists != r->lists))
		why = "a list has no seed, or several";
	for (const char *p = (const char *)(c.list + r->words); p < end && !why; p++)
		if (*p)
			why = "a byte behind its lists is not zero";
	return why ? kh_fail(err, KH_EFORMAT, "%s", why) : KH_OK;
}
