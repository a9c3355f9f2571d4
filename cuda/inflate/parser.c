/* parser.c - the memory of a device that parses what it has inflated, and windows of text */
#include <config.h>
#include "cuda/inflate/inflater.h"

#include <stdlib.h>
#include "base/mem.h"
#include "cuda/inflate/inflater_in.h"
#include "cuda/inflate/parse.h"

enum {
	BUFFERS = KH_PARSER_BUFFERS,
	EACH = 8,               /* for each device, so that its queues do not wait for tasks */
	LEAST = 4,
	NAMES = KH_PARSER_WINDOW / 8,   /* bytes of a buffer's */
	READ = 16               /* bytes that kernels read at once, from a multiple of it on */
};

struct kh_inflater_parser {
	kh_inflater_parser *next;
	kh_inflater *z;
	int device;
	cudaStream_t stream;
	uint32_t window;        /* bytes of a text, at most */
	bool several;           /* devices */
	bool names;             /* are wanted */
	unsigned buffers;
	uint32_t cap;           /* fragments of a buffer */
	uint32_t words;         /* of a mate's records */
	uint64_t scratch;
	/* far: a window of a text on another device */
	KH_GPU_BUFS(all, result, tile0, tile1, line0, line1, each, word, len, sort, far, host,
		    n_name, name, fragment, letters);
	/* of each buffer; shown: what the host is shown, in large pages, made when first needed */
	kh_gpu_buf bases[BUFFERS], amb[BUFFERS], record[BUFFERS], shown[BUFFERS];
};

/* What the host is shown of a buffer. */
struct shown {
	uint32_t *len;
	kh_parsed_fragment *fragment;
	char *names;
};

static size_t shown_bytes(const kh_inflater_parser *p)
{
	const size_t names = p->cap * sizeof(kh_parsed_fragment) + NAMES;

	return p->cap * sizeof(uint32_t) + (p->names ? names : 0);
}

static struct shown shown(const kh_inflater_parser *p, unsigned buffer)
{
	uint32_t *const len = p->shown[buffer].p;
	kh_parsed_fragment *const fragment = (kh_parsed_fragment *)(len + p->cap);

	if (!p->names)
		return (struct shown) { len, NULL, NULL };
	return (struct shown) { len, fragment, (char *)(fragment + p->cap) };
}

static void parser_free(kh_inflater_parser *p)
{
	cudaSetDevice(p->device);
	if (p->stream)
		cudaStreamDestroy(p->stream);
	KH_GPU_DROP(p->all);
	KH_GPU_DROP(p->bases);
	KH_GPU_DROP(p->amb);
	KH_GPU_DROP(p->record);
	KH_GPU_DROP(p->shown);
	free(p);
}

/* The next files are parsed with the same memory. */
void kh_inflate_parser_close(kh_inflater_parser *p)
{
	pthread_mutex_lock(&p->z->mu);
	p->next = p->z->parser;
	p->z->parser = p;
	pthread_mutex_unlock(&p->z->mu);
}

static kh_inflater_parser *take_spare(kh_inflater *z, int device, bool names)
{
	kh_inflater_parser **at = &z->parser, *p;

	pthread_mutex_lock(&z->mu);
	while ((p = *at) && (p->device != device || p->names != names))
		at = &p->next;
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&z->mu);
	return p;
}

void kh_inflate_parsers_free(kh_inflater *z)
{
	for (kh_inflater_parser *p; (p = z->parser);) {
		z->parser = p->next;
		parser_free(p);
	}
}

static size_t far_bytes(const kh_inflater_parser *p)
{
	return p->several ? p->window + (size_t)KH_PARSE_TILE + READ : 0;
}

static int rooms(kh_inflater_parser *p, kh_err *err)
{
	const size_t cap = p->cap, words = 2 * (size_t)p->words + 1;
	const struct {
		kh_gpu_buf *b;
		size_t bytes;
	} room[] = {
		{ &p->result, sizeof(kh_parse_result) },
		{ &p->tile0, KH_PARSE_TILES * 4 },
		{ &p->tile1, KH_PARSE_TILES * 4 },
		{ &p->line0, 4 * cap * 4 },
		{ &p->line1, 4 * cap * 4 },
		{ &p->each, (cap + 1) * 4 },
		{ &p->word, (cap + 1) * 4 },
		{ &p->len, cap * 4 },
		{ &p->sort, p->scratch },
		{ &p->far, far_bytes(p) },
		{ &p->n_name, p->names ? (cap + 1) * 4 : 0 },
		{ &p->name, p->names ? (cap + 1) * 4 : 0 },
		{ &p->fragment, p->names ? cap * sizeof(kh_parsed_fragment) : 0 },
		{ &p->letters, p->names ? NAMES : 0 },
	};
	int rc = kh_gpu_host_room(&p->host, sizeof(kh_parse_result), err);

	for (size_t i = 0; i < sizeof room / sizeof *room && !rc; i++)
		rc = kh_gpu_room_exact(room[i].b, room[i].bytes, err);
	for (unsigned i = 0; i < p->buffers && !rc; i++) {
		rc = kh_gpu_room_exact(&p->bases[i], words * 8, err);
		if (!rc)
			rc = kh_gpu_room_exact(&p->amb[i], words * 4, err);
		if (!rc)
			rc = kh_gpu_room_exact(&p->record[i], 2 * cap * sizeof(kh_gpu_record), err);
	}
	return rc;
}

/* Bytes of device memory, with some to spare. */
static uint64_t needed(const kh_inflater_parser *p)
{
	const uint64_t buffer = 2 * (p->words * 12ul + p->cap * sizeof(kh_gpu_record));

	const uint64_t names = p->names ? p->cap * (8 + sizeof(kh_parsed_fragment)) + NAMES : 0;

	return p->buffers * buffer + p->cap * 48ul + far_bytes(p) + names + ((uint64_t)8 << 20);
}

static int make(kh_inflater_parser *p, kh_err *err)
{
	int rc = KH_GPU(kh_gpu_parse_prepare(p->cap, &p->scratch), err);

	if (!rc)
		rc = kh_gpu_first_stream(&p->stream, err);
	return rc ? rc : rooms(p, err);
}

static int parser_new(const kh_inflater_file *f, bool names, kh_inflater_parser **out, kh_err *err)
{
	const uint32_t text = CARRY + kh_inflate_cap_text(f->d->slot);
	const uint32_t window = text < KH_PARSER_WINDOW ? text : KH_PARSER_WINDOW;
	kh_inflater_parser *p = kh_array(1, sizeof *p, err);
	uint64_t bytes = 0;
	int rc;

	if (!p)
		return KH_ENOMEM;
	p->z = f->z;
	p->device = f->d->number;
	p->window = window;
	p->several = f->z->n > 1;
	p->names = names;
	p->buffers = EACH * f->z->n < BUFFERS ? EACH * (unsigned)f->z->n : BUFFERS;
	p->cap = window / 128;
	p->words = kh_parse_words(window, p->cap);
	rc = kh_gpu_use(p->device, err);
	if (!rc)
		rc = kh_inflate_left(f->z, &bytes, err);
	while (p->buffers > LEAST && needed(p) > bytes)
		p->buffers--;
	if (!rc && bytes >= needed(p) && !(rc = make(p, err)))
		*out = p;
	else
		parser_free(p);
	return rc;
}

int kh_inflate_parser_open(kh_inflater_file *f, bool names, kh_inflater_parser **p, kh_err *err)
{
	*p = take_spare(f->z, f->d->number, names);
	return *p ? KH_OK : parser_new(f, names, p, err);
}

unsigned kh_inflate_parser_buffers(const kh_inflater_parser *p)
{
	return p->buffers;
}

static kh_parse_batch batch_of(kh_inflater_parser *p, const kh_inflater_parse *x)
{
	uint32_t *const tile[2] = { p->tile0.p, p->tile1.p }, *const line[2] = { p->line0.p,
										 p->line1.p };
	kh_parse_batch b = {
		.texts = x->file[1] ? 2 : 1,
		.any_names = x->any_names,
		.result = p->result.p,
		.cap = p->cap,
		.words = p->each.p,
		.word = p->word.p,
		.len = p->len.p,
		.bases = p->bases[x->buffer].p,
		.amb = p->amb[x->buffer].p,
		.record = p->record[x->buffer].p,
		.fragment = p->names ? p->fragment.p : NULL,
		.names = p->letters.p,
		.names_room = NAMES,
		.n_name = p->n_name.p,
		.name = p->name.p,
		.k = x->k,
		.scratch = p->sort.p,
		.n_scratch = p->scratch,
	};

	for (uint32_t t = 0; t < b.texts; t++)
		b.in[t] = (kh_parse_text) { kh_inflate_text_of(x->file[t], x->text[t]),
					    (uint32_t)x->from[t], (uint32_t)x->to[t], tile[t],
					    line[t] };
	return b;
}

/* Copies a text of another device to this one, where its bytes are counted from *base on. */
static int bring(kh_inflater_parser *p, const kh_inflater_file *f, kh_parse_text *t, uint32_t *base,
		 kh_err *err)
{
	const uint32_t first = t->from / READ * READ, n = t->to + READ - first;
	const char *there = t->p + first;
	char *here;

	if (f->d->number == p->device)
		return KH_OK;
	*base = t->from / KH_PARSE_TILE * KH_PARSE_TILE;
	here = (char *)p->far.p + (first - *base);
	t->p = p->far.p;
	t->from -= *base;
	t->to -= *base;
	return KH_GPU(cudaMemcpyPeerAsync(here, p->device, there, f->d->number, n, p->stream), err);
}

static int fetch(kh_inflater_parser *p, void *to, const void *from, size_t bytes, kh_err *err)
{
	return KH_GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, p->stream), err);
}

/* Launches it, and waits for the result, the lengths, and what lines have. */
static int launch(kh_inflater_parser *p, const kh_parse_batch *b, const struct shown *to,
		  kh_err *err)
{
	const kh_parse_result *r = p->host.p;
	int rc = KH_GPU(kh_gpu_parse(b, p->stream), err);

	if (!rc)
		rc = fetch(p, p->host.p, b->result, sizeof *r, err);
	if (!rc)
		rc = KH_GPU(cudaStreamSynchronize(p->stream), err);
	if (!rc && r->n > 0)
		rc = fetch(p, to->len, b->len, r->n * sizeof *b->len, err);
	if (!rc && r->n > 0 && p->names)
		rc = fetch(p, to->fragment, b->fragment, r->n * sizeof *b->fragment, err);
	if (!rc && r->n > 0 && p->names)
		rc = fetch(p, to->names, b->names, r->names, err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

int kh_inflate_parse(kh_inflater_parser *p, kh_inflater_parse *x, kh_err *err)
{
	kh_parse_batch b = batch_of(p, x);
	const kh_parse_result *r = p->host.p;
	uint32_t base[2] = { 0, 0 };
	int rc = kh_gpu_use(p->device, err);

	if (!rc)
		rc = kh_gpu_host_pages(&p->shown[x->buffer], shown_bytes(p), err);
	const struct shown to = shown(p, x->buffer);

	if (!rc && b.texts > 1)
		rc = bring(p, x->file[1], &b.in[1], &base[1], err);
	if (!rc)
		rc = launch(p, &b, &to, err);
	if (rc)
		return rc;
	x->n_tasks = (r->n + KH_PARSER_TASK - 1) / KH_PARSER_TASK;
	for (uint32_t t = 0; t < b.texts; t++) {
		x->used[t] = r->used[t] + base[t];
		x->all[t] = r->lines[t] / 4 == r->n;
	}
	x->odd = r->odd == r->n;
	for (uint32_t k = 0; k < x->n_tasks; k++) {
		const uint32_t from = k * KH_PARSER_TASK, left = r->n - from;

		x->task[k] = (kh_parsed_there) {
			.n = left < KH_PARSER_TASK ? left : KH_PARSER_TASK,
			.n_words = r->word[k + 1] - r->word[k],
			.mates = b.texts > 1,
			.device = p->device,
			.len = to.len + from,
			.fragment = p->names ? to.fragment + from : NULL,
			.names = to.names,
			.bases = b.bases + r->word[k],
			.amb = b.amb + r->word[k],
			.record = b.record + (size_t)b.texts * from,
			.buffer = x->buffer,
		};
	}
	return KH_OK;
}
