/*
 * fuzz_inflate.c - any bytes as deflate data, by the decoder for middles of streams, and zlib
 *
 * The data are decoded from the start of a stream, and with marks for a window that zlib gets.
 * zlib must accept them if and only if the decoder does, end at the same byte, and give the same
 * text. Then they are read as a gzip file with a right trailer, cut into chunks, which must give
 * what the sequential reader gives.
 */
#define _GNU_SOURCE
#include <config.h>
#include "fuzz.h"
#include "gz_together.h"
#include "io/deflate.h"

enum { TEXT_MAX = 1 << 20 };

struct text {
	uint8_t *p;
	size_t n, used;         /* bytes of text, and of data */
	bool ended;
};

static uint8_t window[KH_DEFLATE_WINDOW];

static struct text by_zlib(const uint8_t *data, size_t size, bool windowed)
{
	struct text t = { .p = malloc(TEXT_MAX) };
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (unsigned)size,
		       .next_out = t.p, .avail_out = TEXT_MAX };

	inflateInit2(&z, -15);
	if (windowed)
		inflateSetDictionary(&z, window, sizeof window);
	t.ended = inflate(&z, Z_FINISH) == Z_STREAM_END;
	t.n = TEXT_MAX - z.avail_out;
	t.used = size - z.avail_in;
	inflateEnd(&z);
	return t;
}

static struct text by_us(const uint8_t *data, size_t size, bool windowed)
{
	static kh_deflate d;
	static kh_deflate_bytes bytes;
	struct text t = { .p = malloc(TEXT_MAX) };
	uint8_t *in = calloc(size + KH_DEFLATE_PAD, 1);

	memcpy(in, data, size);
	d = (kh_deflate) { .in = in, .n = size, .at = KH_DEFLATE_WINDOW,
			   .oldest = KH_DEFLATE_WINDOW,
			   .cap = KH_DEFLATE_WINDOW + TEXT_MAX + KH_DEFLATE_SLACK };
	d.out = malloc(d.cap * sizeof *d.out);
	if (windowed)
		kh_deflate_unknown_window(&d);
	enum kh_deflate_state s = kh_deflate_block(&d);
	while (s == KH_DEFLATE_BLOCK && !d.final)
		s = kh_deflate_block(&d);
	t.n = d.at - KH_DEFLATE_WINDOW;
	t.ended = s == KH_DEFLATE_BLOCK && t.n <= TEXT_MAX;
	t.used = (d.bit + 7) / 8;
	kh_deflate_bytes_init(&bytes, window);
	if (t.ended)
		kh_deflate_resolve(&bytes, d.out + KH_DEFLATE_WINDOW, t.n, t.p);
	free(d.out);
	free(in);
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes file = { NULL, 0 }, twice = { NULL, 0 };
	uint8_t how = size ? data[0] : 0;

	setenv("KH_GZ", "zlib", 1);
	for (size_t i = 0; i < sizeof window; i++)
		window[i] = (uint8_t)(i * 7 + i / 256);
	for (int windowed = 0; windowed < 2; windowed++) {
		struct text want = by_zlib(data, size, windowed), got = by_us(data, size, windowed);

		if (want.ended || want.n < TEXT_MAX)
			REQUIRE(got.ended == want.ended);
		if (want.ended && got.ended)
			REQUIRE(got.n == want.n && got.used == want.used
				&& memcmp(got.p, want.p, got.n) == 0);
		if (!windowed) {
			bytes_add(&file, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
			bytes_add(&file, data, want.used);
			add_trailer(&file, want.p, want.n);
		}
		free(want.p);
		free(got.p);
	}
	bytes_add(&twice, file.p, file.n);
	bytes_add(&twice, file.p, file.n);
	const kh_together w = { .threads = 1 + how % 3, .part = 500 * (size_t)(1 + how % 5),
				.chunk = 5 + file.n / 10 * (how % 7), .ahead = 1 + 50 * (how % 4),
				.text = 400 + 1000 * (size_t)(how % 2) };
	REQUIRE(same_as_alone(&twice, &w));
	free(twice.p);
	free(file.p);
	return 0;
}
