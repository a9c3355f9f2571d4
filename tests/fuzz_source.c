/*
 * fuzz_source.c - any bytes as a gzip file, by each library, as a stream and in runs of
 * BGZF blocks: one verdict and one text
 *
 * Random bytes seldom have a right CRC, so they are also taken as raw deflate data: if
 * zlib can inflate them, they are given a header and a trailer that fit, and then all
 * must read them.
 */
#define _GNU_SOURCE
#include <config.h>
#include "fuzz.h"
#include "gz_together.h"

enum { TEXT_MAX = 1 << 20 };

static void check(const struct bytes *file, const struct bytes *text)
{
	static const char *const library[] = { "zlib", "" };
	struct together_text first = { { NULL, 0 }, 0, { 0, "" } };
	char path[32];
	const int fd = bytes_file(path, file->p, file->n);

	for (int how = 0; how < 4; how++) {
		setenv("KH_GZ", library[how / 2], 1);
		struct together_text o = read_source(path, how % 2, 1 << 16, TEXT_MAX);

		if (how == 0) {
			first = o;
			if (text
			    && (o.rc || o.text.n != text->n
				|| (text->n > 0 && memcmp(o.text.p, text->p, text->n))))
				abort();
			continue;
		}
		if (!o.rc && first.rc && strstr(first.err.msg, "cannot be inflated")) {
			free(o.text.p);         /* inflate.h: tables judged differently */
			continue;
		}
		if (!o.rc != !first.rc && o.text.n < TEXT_MAX
		    && first.text.n < TEXT_MAX) {
			fprintf(stderr, "zlib: %d %s\n%s, %s: %d %s\n", first.rc,
				first.err.msg, library[how / 2],
				how % 2 ? "runs" : "stream", o.rc, o.err.msg);
			abort();
		}
		if (!o.rc && first.text.n < TEXT_MAX
		    && (o.text.n != first.text.n
			|| (o.text.n > 0 && memcmp(o.text.p, first.text.p, o.text.n))))
			abort();
		free(o.text.p);
	}
	free(first.text.p);
	close(fd);
}

/* Takes the bytes as raw deflate data; makes a member (or a BGZF file) of them. */
static void as_deflate(const uint8_t *data, size_t size, bool bgzf)
{
	struct bytes file = { NULL, 0 }, text = { malloc(TEXT_MAX / 4), 0 };
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (unsigned)size };

	z.next_out = text.p;
	z.avail_out = TEXT_MAX / 4;
	inflateInit2(&z, -15);
	int rc = inflate(&z, Z_FINISH);
	size_t n = size - z.avail_in;
	text.n = TEXT_MAX / 4 - z.avail_out;
	inflateEnd(&z);
	if (rc == Z_STREAM_END) {
		bool small = bgzf && text.n <= 65536 && n + 26 <= 65536;

		bytes_add(&file, small ? "\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BC\2\0\0\0"
				       : "\x1f\x8b\x08\0\0\0\0\0\0\xff", small ? 18 : 10);
		bytes_add(&file, data, n);
		add_trailer(&file, text.p, text.n);
		if (small) {
			file.p[16] = (file.n - 1) & 255;
			file.p[17] = (file.n - 1) >> 8 & 255;
			add_bgzf_eof(&file);
		}
		check(&file, &text);
	}
	free(text.p);
	free(file.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes file = { NULL, 0 };

	bytes_add(&file, data, size);
	check(&file, NULL);
	free(file.p);
	as_deflate(data, size, size % 2);
	return 0;
}
