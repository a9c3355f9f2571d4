/*
 * parse.h - four-line FASTQ parsed by a GPU, where it was inflated: the launcher
 *
 * A window of a text, or of two texts with mates, begins at a record.  Four lines are one; what
 * they must be to be plain is in seqio/four_lines.h.
 *
 *	count	line feeds of each tile of a window; their sums
 *	lines	where the line feeds are
 *	check	eight lanes a fragment: are its records plain?
 *	mates	a thread a fragment: do its mates have one name?
 *	settle	sums of words say where each fragment's are; fragments in front of the first odd one
 *		are taken, as many as both texts have whole; where the texts go on
 *	pack	eight lanes a record: bases to words, and records, as kernels/engine.h has them
 *	name	eight lanes a fragment: names, lengths and ambiguous k-mers, if they are wanted
 */
#ifndef KH_CUDA_INFLATE_PARSE_H
#define KH_CUDA_INFLATE_PARSE_H

#include "classify/match_small.h"
#include "cuda/kernels/engine.h"
#include "io/inflater.h"
#include "seqio/four_lines.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	KH_PARSE_TILE = 4096,           /* bytes, from a multiple of it on */
	KH_PARSE_TILES = KH_PARSER_WINDOW / KH_PARSE_TILE + 1
};

typedef struct kh_parse_text {
	const char *text;               /* of a slot, aligned to 16, whose bytes from a multiple of
					 * 16 in front of `from` to 16 behind `to` are readable */
	uint32_t from, to;              /* KH_PARSER_WINDOW bytes at most */
	uint32_t *feeds_before;         /* KH_PARSE_TILES: line feeds in front of each tile */
	uint32_t *feed;                 /* 4 cap: where the first line feeds are */
} kh_parse_text;

typedef struct kh_parse_result {
	uint32_t n_feeds[2];            /* line feeds of the windows */
	uint32_t odd;                   /* the first fragment that is odd (kh_inflater_parse), or
					 * UINT32_MAX */
	uint32_t n;                     /* fragments */
	uint32_t used[2];               /* where they end */
	uint32_t name_bytes;            /* of all their names */
	uint32_t first_word[KH_PARSER_TASKS + 1];       /* of each task */
} kh_parse_result;

/* All that kernels get; memory of the device. */
typedef struct kh_parse_batch {
	kh_parse_text in[2];
	uint32_t texts;                 /* 1 or 2 */
	bool any_names;                 /* those of mates need not agree */
	uint32_t cap;                   /* fragments */
	kh_parse_result *result;
	uint32_t *n_words, *words_before;       /* cap + 1: of each fragment, and in front */
	uint32_t *len;                  /* cap: bases of each */
	/* Of `texts` times kh_parse_words(), and one more; of texts times cap.  Words of a record
	 * are counted from those of its task. */
	uint64_t *bases;
	uint32_t *amb;
	kh_gpu_record *record;
	/* NULL, or names are wanted: cap of these; room for the names, of which no more fragments
	 * are taken; cap + 1: bytes of each name, and in front; k of ambiguous k-mers */
	kh_parsed_fragment *fragment;
	char *name_text;
	uint32_t name_text_room, *n_name, *names_before, k;
	void *scratch;
	uint64_t scratch_bytes;
} kh_parse_batch;

/* Launchers; they return a cudaError_t.  Bytes of scratch: */
int kh_gpu_parse_prepare(uint32_t cap, uint64_t *scratch_bytes);
int kh_gpu_parse(const kh_parse_batch *b, void *stream);

#ifdef __cplusplus
}
#endif

/* A record has as many qualities as bases, so a window has no more words. */
static inline uint32_t kh_parse_words(uint32_t window, uint32_t cap)
{
	return window / 64 + cap;
}

/* Are names wanted, and what else lines have of a fragment? */
static KH_HD bool kh_parse_wants_names(const kh_parse_batch *b)
{
	return b->fragment != NULL;
}

static KH_HD kh_four_lines kh_parse_lines(const kh_parse_text *t, uint32_t i)
{
	const uint32_t *feed = t->feed + 4 * i;
	const kh_four_lines r = { i ? feed[-1] + 1 : t->from,
				  { feed[0], feed[1], feed[2], feed[3] } };

	return r;
}

/* Fragments that both windows have whole. */
static KH_HD uint32_t kh_parse_whole(const kh_parse_batch *b)
{
	uint32_t n = b->cap;

	for (uint32_t t = 0; t < b->texts; t++)
		n = b->result->n_feeds[t] / 4 < n ? b->result->n_feeds[t] / 4 : n;
	return n;
}

/* Fragment i is not whole. */
static KH_HD void kh_parse_skip(const kh_parse_batch *b, uint32_t i)
{
	b->n_words[i] = 0;
	if (kh_parse_wants_names(b))
		b->n_name[i] = 0;
}

/* Fragment i, whose records are plain if `good`: notes its words and bases; false: it is odd, also
 * if it is too long for the kernels that compare without parts, or its name is too long. */
static KH_HD bool kh_parse_note(const kh_parse_batch *b, uint32_t i, bool good)
{
	uint32_t len[2] = { 0, 0 }, name = 0;

	for (uint32_t t = 0; t < b->texts && good; t++) {
		const kh_four_lines r = kh_parse_lines(&b->in[t], i);

		len[t] = kh_four_lines_bases(&r);
		if (kh_parse_wants_names(b) && t == 0)
			name = kh_four_lines_name(b->in[0].text, &r);
	}
	good = good && kh_match_is_segment(len[0], len[1]) && name <= KH_PARSER_NAME;
	if (kh_parse_wants_names(b))
		b->n_name[i] = good ? name : 0;
	b->n_words[i] = good ? (len[0] + 31) / 32 + (len[1] + 31) / 32 : 0;
	b->len[i] = len[0] + len[1];
	return good;
}

/* Of n fragments, those whose names there is room for. */
static KH_HD uint32_t kh_parse_fit_names(const kh_parse_batch *b, uint32_t n)
{
	uint32_t least = 0, most = n;   /* there is room for `least`, and for `most` at most */

	while (least < most) {
		const uint32_t i = least + (most - least + 1) / 2;

		if (b->names_before[i] <= b->name_text_room)
			least = i;
		else
			most = i - 1;
	}
	return least;
}

/* Sums of words and of names are known, and odd fragments. */
static KH_HD void kh_parse_settle(const kh_parse_batch *b)
{
	kh_parse_result *r = b->result;
	const uint32_t whole = kh_parse_whole(b);
	uint32_t n = r->odd < whole ? r->odd : whole;

	if (kh_parse_wants_names(b))
		n = kh_parse_fit_names(b, n);
	r->n = n;
	r->name_bytes = kh_parse_wants_names(b) ? b->names_before[n] : 0;
	for (uint32_t t = 0; t < b->texts; t++)
		r->used[t] = n ? b->in[t].feed[4 * n - 1] + 1 : b->in[t].from;
	for (uint32_t k = 0; k <= KH_PARSER_TASKS; k++)
		r->first_word[k] = b->words_before[k * KH_PARSER_TASK < n ? k * KH_PARSER_TASK : n];
	/* a word without a known base, which is read behind the last one */
	b->bases[b->words_before[n]] = 0;
	b->amb[b->words_before[n]] = UINT32_MAX;
}

/* Packs the record of fragment i in text t: this lane's words. */
static KH_HD void kh_parse_pack(const kh_parse_batch *b, uint32_t i, uint32_t t, uint32_t lane,
				uint32_t lanes)
{
	const kh_four_lines r = kh_parse_lines(&b->in[t], i);
	const uint32_t len = kh_four_lines_bases(&r), words = (len + 31) / 32;
	const uint32_t at = b->words_before[i] + (t ? b->n_words[i] - words : 0);
	const uint32_t task = b->words_before[i / KH_PARSER_TASK * KH_PARSER_TASK];
	const kh_gpu_record rec = { at - task, len };

	for (uint32_t w = lane; w < words; w += lanes) {
		const uint32_t left = len - 32 * w;

		kh_chars_pack(b->in[t].text, r.end[0] + 1 + 32 * w, left < 32 ? left : 32,
			      &b->bases[at + w], &b->amb[at + w]);
	}
	if (lane == 0)
		b->record[b->texts * i + t] = rec;
}

/* What lines have of fragment i, which is packed: this lane's bytes of the name. */
static KH_HD void kh_parse_name(const kh_parse_batch *b, uint32_t i, uint32_t lane,
				uint32_t lanes)
{
	const char *name = b->in[0].text + kh_parse_lines(&b->in[0], i).at + 1;
	kh_parsed_fragment f = { b->names_before[i], (uint16_t)b->n_name[i], { 0, 0 }, 0 };
	uint32_t word = b->words_before[i], ambiguous = 0;

	for (uint32_t k = lane; k < f.n_name; k += lanes)
		b->name_text[f.name + k] = name[k];
	if (lane != 0)
		return;
	for (uint32_t t = 0; t < b->texts; t++) {
		const kh_four_lines r = kh_parse_lines(&b->in[t], i);
		const uint32_t len = kh_four_lines_bases(&r);

		f.len[t] = (uint16_t)len;
		ambiguous += kh_ambiguous_kmers(b->amb + word, len, b->k);
		word += (len + 31) / 32;
	}
	f.ambiguous = (uint16_t)ambiguous;
	b->fragment[i] = f;
}

#endif
