/*
 * fuzz_reader.c - any bytes as sequences: the feed against the reference
 *
 * The block size and the rest follow from the bytes, so that a file of the corpus is
 * just text.  Whatever the cut, records and messages must be those of one block.
 */
#include <config.h>
#include "fuzz.h"
#include "feed_harness.h"
#include "four_lines.h"
#include "reader_compare.h"

static void check(const char *what, const char *path, size_t block_size, const char *why)
{
	if (!why)
		return;
	fprintf(stderr, "%s, block size %zu, %s: %s\n", what, block_size, path, why);
	abort();
}

static bool begins_fastq(const struct ref *r, const char *data, size_t n)
{
	(void)data;
	(void)n;
	for (size_t i = 0; i < r->n_line; i++)
		if (r->line[i].cut > 0)
			return r->line[i].s[0] == '@';
	return false;
}

static void one(const struct ref *r, kh_feed_options *o, const char *message, char *keep)
{
	struct got g;

	got_run(&g, o, 1);
	const char *what = o->pieces        ? "pieces"
			   : o->interleaved ? "interleaved"
					    : "records";
	if (o->interleaved) {
		if (!r->bad_line && (r->n_rec % 2 != 0) != (g.rc != 0))
			check(what, o->path[0][0], o->block_size, "odd or even?");
		if (r->bad_line || r->n_rec % 2 == 0)
			check(what, o->path[0][0], o->block_size,
			      compare(&g, r, o->path[0][0]));
	} else {
		check(what, o->path[0][0], o->block_size, compare(&g, r, o->path[0][0]));
	}
	if (message && g.rc && strcmp(message, g.err.msg)) {
		fprintf(stderr, "%s\n%s\n", message, g.err.msg);
		check(what, o->path[0][0], o->block_size, "the messages differ");
	}
	if (keep)
		strcpy(keep, g.rc ? g.err.msg : "");
	got_free(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[32], first[sizeof ((kh_err *)0)->msg];
	const char *p = path;
	uint64_t h = 0xcbf29ce484222325u;
	struct ref r;

	/* not this grammar's: gzip and the other formats known by magic */
	static const char *const magic[] = { "\x1f", "\x28", "BZh",  "\xfd",
					     "\x04", "LZIP", "PK",   "7z",
					     "CRAM", "NCBI", "\xff", "\xfe",
					     "BAM\1" };
	for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++)
		if (size >= strlen(magic[i]) && !memcmp(data, magic[i], strlen(magic[i])))
			return 0;
	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 0x100000001b3u;
	int fd = bytes_file(path, data, size);
	ref_parse(&r, (const char *)data, size);
	kh_feed_options o = {
		.path = { &p, NULL },
		.n_path = { 1, 0 },
		.no_mate_check = true,
		.workers = 1,
		.block_size = size + 1,
	};
	one(&r, &o, NULL, first);
	o.block_size = 1 + h % 16;
	one(&r, &o, first, NULL);
	o.block_size = 1 + h / 16 % (size + 1);
	one(&r, &o, first, NULL);
	o.interleaved = true;
	one(&r, &o, NULL, NULL);
	o.interleaved = false;
	if (!begins_fastq(&r, (const char *)data, size)) {
		o.pieces = true;
		o.front = 32 * (h / 256 % 3);
		one(&r, &o, NULL, first);
		o.block_size = 1 + h / 1024 % 16;
		one(&r, &o, first, NULL);
	}
	ref_free(&r);
	close(fd);
	size_t n_plain;
	char *text = calloc(size + KH_SCAN_PAD, 1);
	memcpy(text, data, size);
	check("four lines", "", size, four_lines_differ(text, size, &n_plain));
	free(text);
	return 0;
}
