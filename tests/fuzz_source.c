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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include "fuzz.h"
#include "gz_make.h"
#include "io/source.h"

enum { TEXT_MAX = 1 << 20 };

struct out {
	struct bytes text;
	int rc;
	kh_err err;
};

static struct out read_all(const char *path, bool runs)
{
	struct out o = { { NULL, 0 }, 0, { 0, "" } };
	static char buf[1 << 16];
	kh_source *s = NULL;
	kh_bgzf_run run = { 0 };
	int64_t n = 0;

	o.rc = kh_source_open(&s, path, &o.err);
	if (o.rc)
		return o;
	for (bool more = runs; more && kh_source_kind(s) == KH_SOURCE_BGZF;) {
		size_t got = 0;

		o.rc = kh_source_bgzf_run(s, &run, 1000, &o.err);
		char *p = malloc(run.n_out + 1);
		if (!o.rc)
			o.rc = kh_bgzf_run_inflate(&run, "", p, &got, &o.err);
		bytes_add(&o.text, p, got);
		free(p);
		more = !o.rc && run.n_out > 0 && o.text.n < TEXT_MAX;
	}
	kh_bgzf_run_free(&run);
	if (!o.rc && !(runs && kh_source_kind(s) == KH_SOURCE_BGZF)) {
		while (o.text.n < TEXT_MAX
		       && (n = kh_source_read(s, buf, sizeof buf, &o.err)) > 0)
			bytes_add(&o.text, buf, (size_t)n);
		o.rc = n < 0 ? (int)n : 0;
	}
	kh_source_close(s);
	return o;
}

static void check(const struct bytes *file, const struct bytes *text)
{
	static const char *const library[] = { "zlib", "" };
	struct out first = { { NULL, 0 }, 0, { 0, "" } };
	char path[32];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (write(fd, file->p, file->n) != (ssize_t)file->n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	for (int how = 0; how < 4; how++) {
		setenv("KH_GZ", library[how / 2], 1);
		struct out o = read_all(path, how % 2);

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
