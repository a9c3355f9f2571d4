/* fake_parse.c - the launcher by which four-line FASTQ is parsed, on one thread, without a GPU */
#include <config.h>

#include "cuda/inflate/parse.h"

int kh_gpu_parse_prepare(uint32_t cap, uint64_t *scratch_bytes)
{
	(void)cap;
	*scratch_bytes = 256;
	return 0;
}

static void find_lines(const kh_parse_batch *b, uint32_t t)
{
	const kh_parse_text *x = &b->in[t];
	uint32_t n = 0;

	for (uint32_t i = x->from; i < x->to; i++) {
		if (x->text[i] != '\n')
			continue;
		if (n < 4 * b->cap)
			x->feed[n] = i;
		n++;
	}
	b->result->n_feeds[t] = n;
}

static bool check(const kh_parse_batch *b, uint32_t i)
{
	kh_four_lines r[2];
	bool good = true;

	for (uint32_t t = 0; t < b->texts; t++) {
		r[t] = kh_parse_lines(&b->in[t], i);
		good = kh_four_lines_are_plain(b->in[t].text, &r[t], 0, 1) && good;
	}
	good = kh_parse_note(b, i, good);
	return good && (b->texts < 2 || b->any_names ||
			kh_four_lines_are_mates(b->in[0].text, &r[0], b->in[1].text, &r[1]));
}

int kh_gpu_parse(const kh_parse_batch *b, void *stream)
{
	uint32_t whole, sum = 0, names = 0;

	(void)stream;
	b->result->odd = UINT32_MAX;
	for (uint32_t t = 0; t < b->texts; t++)
		find_lines(b, t);
	whole = kh_parse_whole(b);
	for (uint32_t i = 0; i <= b->cap; i++) {
		kh_parse_skip(b, i);
		if (i < whole && !check(b, i) && b->result->odd == UINT32_MAX)
			b->result->odd = i;
		b->words_before[i] = sum;
		sum += b->n_words[i];
		if (kh_parse_wants_names(b)) {
			b->names_before[i] = names;
			names += b->n_name[i];
		}
	}
	kh_parse_settle(b);
	for (uint32_t i = 0; i < b->result->n; i++)
		for (uint32_t t = 0; t < b->texts; t++)
			kh_parse_pack(b, i, t, 0, 1);
	for (uint32_t i = 0; i < b->result->n && kh_parse_wants_names(b); i++)
		kh_parse_name(b, i, 0, 1);
	return 0;
}
