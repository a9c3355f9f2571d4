/*
 * draw.c - reads drawn from references, for measurements: plain, in one gzip stream, or as BGZF
 *
 *	draw OUT READS LENGTH INSERT ERROR ALIEN SEED PACK THREADS FILE.fa...
 *
 * INSERT 0: single reads, to OUT.fq; else pairs, to OUT_1.fq and OUT_2.fq.  PACK, a sum: 1, of
 * each file FILE.gz as well, one member of zlib's level 6; 2, FILE.bgz.  Places are drawn from all
 * of the plain FASTA files, so that neighbours in the output have nothing in common; a fraction
 * ERROR of bases is another one, a fraction ALIEN of reads is random.  Qualities have four levels,
 * each mostly as the one before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include "../../gz_make.h"

enum { CHUNK = 20000, MEMBER = 65280, RECORD = 2048, FILES = 4096 };

struct source {
	const char *text;
	uint64_t at, size;      /* at: of all files together */
};

static struct source source[FILES];
static int n_sources;
static uint64_t total, reads, insert, seed;
static size_t length;
static double error, alien;
static int pack;
static const char *out;
static atomic_ullong next_chunk;

/* What is written of a mate: plain, .gz, .bgz, in order of chunks. */
static struct mate {
	FILE *to[3];
	uint64_t n;
	uLong crc;
} mate[2];
static uint64_t turn;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;

static void die(const char *what)
{
	fprintf(stderr, "draw: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t random_of(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double unit(uint64_t *x)
{
	return (double)(random_of(x) >> 11) * 0x1p-53;
}

/* n bases from a place on, if there are so many of one sequence. */
static int bases_at(const struct source *s, uint64_t at, size_t n, char *to)
{
	size_t got = 0;

	for (; at < s->size && got < n; at++) {
		const char c = s->text[at];

		if (c != '\n' && c != 'A' && c != 'C' && c != 'G' && c != 'T')
			return 0;
		if (c != '\n')
			to[got++] = c;
	}
	return got == n;
}

static void draw_fragment(uint64_t *x, size_t n, char *to)
{
	if (unit(x) < alien) {
		for (size_t i = 0; i < n; i++)
			to[i] = "ACGT"[random_of(x) & 3];
		return;
	}
	for (;;) {
		const uint64_t at = random_of(x) % total;
		int i = 0;

		while (i + 1 < n_sources && source[i + 1].at <= at)
			i++;
		if (bases_at(&source[i], at - source[i].at, n, to))
			return;
	}
}

static char complement(char c)
{
	return c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : c == 'T' ? 'A' : c;
}

/* The record of a mate, which is the fragment's beginning, or the reverse of its end. */
static size_t put(uint64_t *x, uint64_t number, const char *fragment, size_t n, int reverse,
		  char *to)
{
	size_t at = (size_t)sprintf(to, "@L1:%llu:%05llu:%05llu\n",
				    (unsigned long long)(1101 + number / 4000000),
				    (unsigned long long)(number / 40 % 100000),
				    (unsigned long long)(number * 7919 % 100000));
	char quality = 'F';

	for (size_t i = 0; i < length; i++) {
		char c = reverse ? complement(fragment[n - 1 - i]) : fragment[i];

		if (unit(x) < error)
			c = "ACGT"[(strchr("ACGT", c) - "ACGT" + 1 + random_of(x) % 3) & 3];
		to[at++] = c;
	}
	memcpy(to + at, "\n+\n", 3);
	at += 3;
	for (size_t i = 0; i < length; i++) {
		if (unit(x) < 0.3) {
			const double u = unit(x);

			quality = u < 0.7 ? 'F' : u < 0.85 ? ':' : u < 0.95 ? ',' : '#';
		}
		to[at++] = quality;
	}
	to[at++] = '\n';
	return at;
}

static void put_bytes(FILE *to, const void *p, size_t n)
{
	if (fwrite(p, 1, n, to) != n)
		die(out);
}

/* A part of a stream of deflate. */
static size_t deflated(const char *p, size_t n, char *to, size_t room)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)p, .avail_in = (uInt)n,
		       .next_out = (Bytef *)to, .avail_out = (uInt)room };

	if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		die("deflate");
	deflate(&z, Z_SYNC_FLUSH);
	deflateEnd(&z);
	return z.total_out;
}

/* Writes what there is of a chunk, in turn: the text, one deflate stream's part, members. */
static void *work(void *arg)
{
	const int mates = insert ? 2 : 1;
	const size_t room = (size_t)CHUNK * RECORD;
	char *text = malloc(2 * room), *packed = malloc(2 * room), fragment[65536];

	(void)arg;
	for (uint64_t c; (c = atomic_fetch_add(&next_chunk, 1)) * CHUNK < reads;) {
		/* mixed, as else one chunk's numbers were those of another one, moved along */
		uint64_t first = seed * 1000003 + c, x = random_of(&first);
		size_t n[2] = { 0, 0 }, gz[2] = { 0, 0 };
		uLong crc[2] = { 0, 0 };
		struct bytes bgz[2] = { { NULL, 0 }, { NULL, 0 } };

		for (uint64_t i = c * CHUNK; i < reads && i < (c + 1) * CHUNK; i++) {
			const size_t all = insert ? insert : length;

			draw_fragment(&x, all, fragment);
			for (int k = 0; k < mates; k++)
				n[k] += put(&x, i, fragment, all, k,
					    text + (size_t)k * room + n[k]);
		}
		for (int k = 0; k < mates; k++) {
			const char *from = text + (size_t)k * room;

			if (pack & 1) {
				gz[k] = deflated(from, n[k], packed + (size_t)k * room, room);
				crc[k] = crc32(0, (const Bytef *)from, (uInt)n[k]);
			}
			if (pack & 2)
				add_bgzf(&bgz[k], from, n[k], MEMBER);
		}
		pthread_mutex_lock(&mu);
		while (turn != c)
			pthread_cond_wait(&turned, &mu);
		for (int k = 0; k < mates; k++) {
			struct mate *m = &mate[k];
			const char *t = text + (size_t)k * room, *p = packed + (size_t)k * room;

			put_bytes(m->to[0], t, n[k]);
			if (pack & 1) {
				m->crc = crc32_combine(m->crc, crc[k], (z_off_t)n[k]);
				m->n += n[k];
				put_bytes(m->to[1], p, gz[k]);
			}
			if (pack & 2)
				put_bytes(m->to[2], bgz[k].p, bgz[k].n);
			free(bgz[k].p);
		}
		turn++;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&mu);
	}
	free(text);
	free(packed);
	return NULL;
}

static void open_outputs(int k)
{
	static const char *const suffix[3] = { "", ".gz", ".bgz" };

	for (int i = 0; i < 3; i++) {
		char name[4096];

		if (i && !(pack & i))
			continue;
		snprintf(name, sizeof name, insert ? "%s_%d.fq%s" : "%s%.0d.fq%s", out,
			 insert ? k + 1 : 0, suffix[i]);
		mate[k].to[i] = fopen(name, "wb");
		if (!mate[k].to[i])
			die(name);
		setvbuf(mate[k].to[i], NULL, _IONBF, 0);
	}
	if (pack & 1)
		fwrite("\x1f\x8b\x08\0\0\0\0\0\0\xff", 1, 10, mate[k].to[1]);
}

static void end_outputs(int k)
{
	const uint32_t tail[2] = { (uint32_t)mate[k].crc, (uint32_t)mate[k].n };

	if (pack & 1) {
		fwrite("\3\0", 1, 2, mate[k].to[1]);
		fwrite(tail, 1, 8, mate[k].to[1]);
	}
	if (pack & 2) {
		struct bytes eof = { NULL, 0 };

		add_bgzf_eof(&eof);
		put_bytes(mate[k].to[2], eof.p, eof.n);
		free(eof.p);
	}
	for (int i = 0; i < 3; i++)
		if (mate[k].to[i] && fclose(mate[k].to[i]))
			die(out);
}

static void open_source(const char *path)
{
	struct source *s = &source[n_sources];
	const int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	if (st.st_size == 0)
		return;
	n_sources++;
	s->at = total;
	s->size = (uint64_t)st.st_size;
	s->text = mmap(NULL, s->size, PROT_READ, MAP_SHARED, fd, 0);
	if (s->text == MAP_FAILED)
		die(path);
	total += s->size;
}

int main(int argc, char **argv)
{
	pthread_t thread[256];

	if (argc < 11 || argc - 10 > FILES) {
		fputs("draw OUT READS LENGTH INSERT ERROR ALIEN SEED PACK THREADS FILE.fa...\n",
		      stderr);
		return 2;
	}
	out = argv[1];
	reads = strtoull(argv[2], NULL, 10);
	length = strtoul(argv[3], NULL, 10);
	insert = strtoull(argv[4], NULL, 10);
	error = atof(argv[5]);
	alien = atof(argv[6]);
	seed = strtoull(argv[7], NULL, 10);
	pack = atoi(argv[8]);
	const int threads = atoi(argv[9]);
	if (2 * length + 64 > RECORD || threads < 1 || threads > 256 || insert > 65536 ||
	    (insert && insert < length))
		return 2;
	for (int i = 10; i < argc; i++)
		open_source(argv[i]);
	for (int k = 0; k < (insert ? 2 : 1); k++)
		open_outputs(k);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			die("a thread");
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int k = 0; k < (insert ? 2 : 1); k++)
		end_outputs(k);
	return 0;
}
