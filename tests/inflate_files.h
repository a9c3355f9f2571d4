/* inflate_files.h - gzip files of all kinds, read by a device that inflates, and without one: what
 * comes out must be the same, errors, too; for GPUs that are made up, and for one that is there */
#ifndef KH_TEST_INFLATE_FILES_H
#define KH_TEST_INFLATE_FILES_H

#include "test.h"
#include "cuda/inflate/inflater.h"
#include "gz_together.h"

enum { TEXT = 400000, PART = 30011 };

static kh_inflater *inflater;
static bool two_devices;                /* files go to them in turn */

static void open_inflater(size_t slot)
{
	const kh_devices on = { .choice = { .n = 1 + two_devices, .device = { 0, two_devices } } };

	OK(kh_cuda_inflater_open_with(&inflater, &on, slot, err));
}

/* --- text -------------------------------------------------------------------------------- */
static uint64_t seed;

static unsigned dice(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

/* Records of FASTQ, with some repeats. */
static struct bytes reads(size_t n)
{
	struct bytes b = { NULL, 0 };
	char line[160];

	seed = 1;
	for (unsigned i = 0; b.n < n; i++) {
		const int len = snprintf(line, sizeof line, "@A00123:45:HXXX:1:1101:%u:%u 1:N:0\n",
					 dice(30000), 1000 + i);

		bytes_add(&b, line, (size_t)len);
		for (int k = 0; k < 100; k++)
			line[k] = "ACGT"[dice(4)];
		const unsigned char *from = b.n > 9000 && dice(4) == 0
						    ? b.p + b.n - 3000 - dice(5000) : NULL;
		for (int k = 0; k < 60 && from; k++)
			line[k] = strchr("ACGT", from[k]) ? (char)from[k] : 'A';
		memcpy(line + 100, "\n+\n", 3);
		bytes_add(&b, line, 103);
		for (int k = 0; k < 100; k++)
			line[k] = "F:,#FFFFFFFFF"[dice(13)];
		line[100] = '\n';
		bytes_add(&b, line, 101);
	}
	b.n = n;
	return b;
}

/* --- comparison ---------------------------------------------------------------------------- */
static kh_together by_device(unsigned threads)
{
	return (kh_together) { .threads = threads, .part = PART, .least = 1,
			       .by = { &kh_cuda_inflater, inflater } };
}

/* Reads a file by the device and without; returns how many parts came from the device. */
static size_t compare(const struct bytes *file, unsigned threads)
{
	const kh_together with = by_device(threads), alone = { .part = PART };
	char path[32];
	const int fd = bytes_file(path, file->p, file->n);
	size_t parts = 0;
	struct together_text a = read_together(path, &with, &parts);
	struct together_text b = read_together(path, &alone, NULL);

	assert_int_equal(a.rc, b.rc);
	if (a.rc)
		assert_string_equal(a.err.msg, b.err.msg);
	assert_int_equal(a.text.n, b.text.n);
	if (a.text.n)
		assert_memory_equal(a.text.p, b.text.p, a.text.n);
	free(a.text.p);
	free(b.text.p);
	close(fd);
	return parts;
}

static const size_t slots[] = { 2048, 9000, 70000, 1 << 20 };
enum { N_SLOTS = sizeof slots / sizeof *slots };

/* With batches of several sizes; the device is to give some of it. */
static void compare_all(const struct bytes *file)
{
	size_t parts = 0;

	for (int i = 0; i < N_SLOTS; i++) {
		open_inflater(slots[i]);
		parts += compare(file, 1);
		compare(file, 3);
		kh_cuda_inflater_close(inflater);
	}
	assert_true(parts > 0);
}

/* --- tests ------------------------------------------------------------------------------- */
TEST(levels)
{
	static const int strategy[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE,
					Z_FIXED };
	struct bytes text = reads(TEXT);

	for (int level = 0; level <= 9; level++)
		for (int i = 0; i < (level == 6 ? 5 : 1); i++) {
			struct bytes file = { NULL, 0 };

			add_member(&file, text.p, text.n,
				   &(struct how) { level, strategy[i], .memory = 8 });
			compare_all(&file);
			free(file.p);
		}
	free(text.p);
}

/* Codes of one bit and two: more than four tokens in 16 bits; and a block that is a batch. */
TEST(short_codes)
{
	struct bytes text = reads(TEXT), file = { NULL, 0 };

	for (size_t i = 0; i < text.n; i++)
		text.p[i] = (unsigned char)"AAAAAAAAC"[dice(9)];
	add_member(&file, text.p, text.n, &(struct how) { 6, Z_HUFFMAN_ONLY, .memory = 9 });
	compare_all(&file);
	memset(text.p, 'A', text.n);
	add_member(&file, text.p, text.n, &(struct how) { 9, Z_DEFAULT_STRATEGY, .memory = 9 });
	add_member(&file, text.p, text.n, &(struct how) { 1, Z_FIXED, .memory = 9 });
	compare_all(&file);
	free(file.p);
	free(text.p);
}

TEST(random_bytes)
{
	struct bytes text = reads(TEXT), file = { NULL, 0 };

	for (size_t i = 0; i < text.n; i++)
		text.p[i] = (unsigned char)dice(256);
	add_member(&file, text.p, text.n, &(struct how) { 6, Z_DEFAULT_STRATEGY, .memory = 8 });
	compare_all(&file);
	free(file.p);
	free(text.p);
}

static void add_pieces(struct bytes *to, const struct bytes *text, size_t most)
{
	for (size_t i = 0, n; i < text->n; i += n) {
		n = dice((unsigned)most);
		n = n < text->n - i ? n : text->n - i;
		add_member(to, text->p + i, n, &(struct how) { 1 + (int)dice(9), 0, .memory = 8 });
	}
}

TEST(members)
{
	struct bytes text = reads(TEXT), file = { NULL, 0 };

	add_pieces(&file, &text, 30000);
	compare_all(&file);
	for (int i = 0; i < 20; i++)
		add_gz(&file, NULL, 0);
	add_pieces(&file, &text, 3000);
	compare_all(&file);
	bytes_add(&file, "\0\0\0\0\0\0\0", 7);
	compare_all(&file);
	bytes_add(&file, "x", 1);
	compare_all(&file);
	free(file.p);
	free(text.p);
}

/* Headers with all that they can have, and with what is refused. */
TEST(headers)
{
	static const struct {
		const char *p;
		size_t n;
	} head[] = {
		{ "\x1f\x8b\x08\x08\0\0\0\0\0\3name", 15 },
		{ "\x1f\x8b\x08\x18\0\0\0\0\0\3name\0comment", 23 },
		{ "\x1f\x8b\x08\x1c\0\0\0\0\0\3\5\0ab\1\0xname\0comment", 30 },
		{ "\x1f\x8b\x08\x02\0\0\0\0\0\3\0\0", 12 },
		{ "\x1f\x8b\x08\x80\0\0\0\0\0\3", 10 },
		{ "\x1f\x8b\x07\0\0\0\0\0\0\3", 10 },
	};
	struct bytes text = reads(TEXT / 4);

	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		for (int first = 0; first < 2; first++) {
			struct bytes file = { NULL, 0 };

			if (!first)
				add_gz(&file, text.p, text.n);
			bytes_add(&file, head[i].p, head[i].n);
			add_deflated(&file, text.p, text.n, &level_6);
			add_trailer(&file, text.p, text.n);
			add_gz(&file, text.p, text.n);
			for (int k = 0; k < N_SLOTS; k++) {
				open_inflater(slots[k]);
				compare(&file, 2);
				kh_cuda_inflater_close(inflater);
			}
			free(file.p);
		}
	free(text.p);
}

TEST(bgzf)
{
	static const size_t step[] = { 65280, 10000, 1500 };
	struct bytes text = reads(TEXT);

	for (int i = 0; i < 3; i++) {
		struct bytes file = { NULL, 0 };

		add_bgzf(&file, text.p, text.n, step[i]);
		compare_all(&file);             /* without its last block */
		add_bgzf_eof(&file);
		compare_all(&file);
		add_bgzf(&file, text.p, text.n, step[i]);
		compare_all(&file);
		add_gz(&file, text.p, text.n);
		compare_all(&file);
		add_bgzf(&file, text.p, text.n, step[i]);
		compare_all(&file);
		free(file.p);
	}
	free(text.p);
}

/* A member whose matches copy from the member in front of it. */
TEST(from_before)
{
	struct bytes text = reads(40000);

	for (size_t first = 1; first < 20000; first = 3 * first) {
		const struct how how = { 6, 0, 8, .before = text.p, .n_before = first };
		struct bytes file = { NULL, 0 };

		memcpy(text.p + first + 10, text.p, first < 90 ? first : 90);
		add_gz(&file, text.p, first);
		add_member(&file, text.p + first, text.n - first, &how);
		compare_all(&file);
		free(file.p);
	}
	free(text.p);
}

/* A small file of each kind. */
static struct bytes small(int kind)
{
	struct bytes text = reads(900), file = { NULL, 0 };

	if (kind == 0)
		add_gz(&file, text.p, text.n);
	if (kind == 1)
		add_pieces(&file, &text, 400);
	if (kind == 2) {
		add_bgzf(&file, text.p, text.n, 300);
		add_bgzf_eof(&file);
	}
	if (kind == 3)
		add_member(&file, text.p, text.n, &(struct how) { 0, 0, .memory = 8 });
	free(text.p);
	return file;
}

TEST(cuts)
{
	for (int kind = 0; kind < 4; kind++) {
		struct bytes file = small(kind);

		open_inflater(2048);
		for (size_t n = file.n; n > 0; n--) {
			const struct bytes cut = { file.p, n };

			compare(&cut, 1);
		}
		kh_cuda_inflater_close(inflater);
		free(file.p);
	}
}

TEST(flips)
{
	for (int kind = 0; kind < 4; kind++) {
		struct bytes file = small(kind);

		open_inflater(2048);
		for (size_t i = 0; i < 8 * file.n; i++) {
			file.p[i / 8] ^= (unsigned char)(1 << i % 8);
			compare(&file, 1);
			file.p[i / 8] ^= (unsigned char)(1 << i % 8);
		}
		kh_cuda_inflater_close(inflater);
		free(file.p);
	}
}

#endif
