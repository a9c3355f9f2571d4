/* parser.c - the memory of a device that parses what it has inflated, and windows of text */
#include <config.h>
#include "cuda/inflate/inflater.h"

#include <stdlib.h>
#include "base/mem.h"
#include "cuda/inflate/inflater_in.h"
#include "cuda/inflate/parse.h"

enum {
	BUFFERS = KH_PARSER_BUFFERS,
	DEVICE_BUFFERS = 8,     /* for each device, so that its queues do not wait for tasks */
	LEAST_BUFFERS = 4,
	NAME_BYTES = KH_PARSER_WINDOW / 8,      /* of a buffer's names */
	READ_BYTES = 16         /* that kernels read at once, from a multiple of it on */
};

struct kh_inflater_parser {
	kh_inflater_parser *next;
	kh_inflater *z;
	int device;
	cudaStream_t stream;
	uint32_t window;        /* bytes of a text, at most */
	bool several_devices;
	bool wants_names;
	unsigned n_buffers;
	uint32_t cap;           /* fragments of a buffer */
	uint32_t mate_words;    /* of the records of a text in a buffer */
	uint64_t scratch_bytes;
	/* far: a window of a text on another device */
	KH_GPU_BUFS(all, result, feeds_before0, feeds_before1, feed0, feed1, n_words, words_before,
		    len, scratch, far, result_host, n_name, names_before, fragment, name_text);
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
	const size_t names = p->cap * sizeof(kh_parsed_fragment) + NAME_BYTES;

	return p->cap * sizeof(uint32_t) + (p->wants_names ? names : 0);
}

static struct shown shown(const kh_inflater_parser *p, unsigned buffer)
{
	uint32_t *const len = p->shown[buffer].p;
	kh_parsed_fragment *const fragment = (kh_parsed_fragment *)(len + p->cap);

	if (!p->wants_names)
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

static kh_inflater_parser *take_spare(kh_inflater *z, int device, bool wants_names)
{
	kh_inflater_parser **at = &z->parser, *p;

	pthread_mutex_lock(&z->mu);
	while ((p = *at) && (p->device != device || p->wants_names != wants_names))
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
	return p->several_devices ? p->window + (size_t)KH_PARSE_TILE + READ_BYTES : 0;
}

static int rooms(kh_inflater_parser *p, kh_err *err)
{
	const size_t cap = p->cap, words = 2 * (size_t)p->mate_words + 1;
	const struct {
		kh_gpu_buf *b;
		size_t bytes;
	} room[] = {
		{ &p->result, sizeof(kh_parse_result) },
		{ &p->feeds_before0, KH_PARSE_TILES * 4 },
		{ &p->feeds_before1, KH_PARSE_TILES * 4 },
		{ &p->feed0, 4 * cap * 4 },
		{ &p->feed1, 4 * cap * 4 },
		{ &p->n_words, (cap + 1) * 4 },
		{ &p->words_before, (cap + 1) * 4 },
		{ &p->len, cap * 4 },
		{ &p->scratch, p->scratch_bytes },
		{ &p->far, far_bytes(p) },
		{ &p->n_name, p->wants_names ? (cap + 1) * 4 : 0 },
		{ &p->names_before, p->wants_names ? (cap + 1) * 4 : 0 },
		{ &p->fragment, p->wants_names ? cap * sizeof(kh_parsed_fragment) : 0 },
		{ &p->name_text, p->wants_names ? NAME_BYTES : 0 },
	};
	int rc = kh_gpu_host_room(&p->result_host, sizeof(kh_parse_result), err);

	for (size_t i = 0; i < sizeof room / sizeof *room && !rc; i++)
		rc = kh_gpu_room_exact(room[i].b, room[i].bytes, err);
	for (unsigned i = 0; i < p->n_buffers && !rc; i++) {
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
	const uint64_t buffer = 2 * (p->mate_words * 12ul + p->cap * sizeof(kh_gpu_record));
	const uint64_t names = p->cap * (8 + sizeof(kh_parsed_fragment)) + NAME_BYTES;

	return p->n_buffers * buffer + p->cap * 48ul + far_bytes(p) +
	       (p->wants_names ? names : 0) + ((uint64_t)8 << 20);
}

static int make(kh_inflater_parser *p, kh_err *err)
{
	int rc = KH_GPU(kh_gpu_parse_prepare(p->cap, &p->scratch_bytes), err);

	if (!rc)
		rc = kh_gpu_first_stream(&p->stream, err);
	return rc ? rc : rooms(p, err);
}

static int parser_new(const kh_inflater_file *f, bool wants_names, kh_inflater_parser **out,
		      kh_err *err)
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
	p->several_devices = f->z->n > 1;
	p->wants_names = wants_names;
	p->n_buffers = DEVICE_BUFFERS * f->z->n < BUFFERS
			       ? DEVICE_BUFFERS * (unsigned)f->z->n : BUFFERS;
	p->cap = window / 128;
	p->mate_words = kh_parse_words(window, p->cap);
	rc = kh_gpu_use(p->device, err);
	if (!rc)
		rc = kh_inflate_left(f->z, &bytes, err);
	while (p->n_buffers > LEAST_BUFFERS && needed(p) > bytes)
		p->n_buffers--;
	if (!rc && bytes >= needed(p) && !(rc = make(p, err)))
		*out = p;
	else
		parser_free(p);
	return rc;
}

int kh_inflate_parser_open(kh_inflater_file *f, bool wants_names, kh_inflater_parser **p,
			   kh_err *err)
{
	*p = take_spare(f->z, f->d->number, wants_names);
	return *p ? KH_OK : parser_new(f, wants_names, p, err);
}

unsigned kh_inflate_parser_buffers(const kh_inflater_parser *p)
{
	return p->n_buffers;
}

static kh_parse_batch batch_of(kh_inflater_parser *p, const kh_inflater_parse *x)
{
	uint32_t *const feeds_before[2] = { p->feeds_before0.p, p->feeds_before1.p };
	uint32_t *const feed[2] = { p->feed0.p, p->feed1.p };
	kh_parse_batch b = {
		.texts = x->file[1] ? 2 : 1,
		.any_names = x->any_names,
		.result = p->result.p,
		.cap = p->cap,
		.n_words = p->n_words.p,
		.words_before = p->words_before.p,
		.len = p->len.p,
		.bases = p->bases[x->buffer].p,
		.amb = p->amb[x->buffer].p,
		.record = p->record[x->buffer].p,
		.fragment = p->wants_names ? p->fragment.p : NULL,
		.name_text = p->name_text.p,
		.name_text_room = NAME_BYTES,
		.n_name = p->n_name.p,
		.names_before = p->names_before.p,
		.k = x->k,
		.scratch = p->scratch.p,
		.scratch_bytes = p->scratch_bytes,
	};

	for (uint32_t t = 0; t < b.texts; t++)
		b.in[t] = (kh_parse_text) { kh_inflate_text_of(x->file[t], x->text[t]),
					    (uint32_t)x->from[t], (uint32_t)x->to[t],
					    feeds_before[t], feed[t] };
	return b;
}

/* Copies a text of another device to this one, where its bytes are counted from *base on. */
static int bring(kh_inflater_parser *p, const kh_inflater_file *f, kh_parse_text *t, uint32_t *base,
		 kh_err *err)
{
	const uint32_t first = t->from / READ_BYTES * READ_BYTES, n = t->to + READ_BYTES - first;
	const char *there = t->text + first;
	char *here;

	if (f->d->number == p->device)
		return KH_OK;
	*base = t->from / KH_PARSE_TILE * KH_PARSE_TILE;
	here = (char *)p->far.p + (first - *base);
	t->text = p->far.p;
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
	const kh_parse_result *r = p->result_host.p;
	int rc = KH_GPU(kh_gpu_parse(b, p->stream), err);

	if (!rc)
		rc = fetch(p, p->result_host.p, b->result, sizeof *r, err);
	if (!rc)
		rc = KH_GPU(cudaStreamSynchronize(p->stream), err);
	if (!rc && r->n > 0)
		rc = fetch(p, to->len, b->len, r->n * sizeof *b->len, err);
	if (!rc && r->n > 0 && p->wants_names)
		rc = fetch(p, to->fragment, b->fragment, r->n * sizeof *b->fragment, err);
	if (!rc && r->n > 0 && p->wants_names)
		rc = fetch(p, to->names, b->name_text, r->name_bytes, err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

int kh_inflate_parse(kh_inflater_parser *p, kh_inflater_parse *x, kh_err *err)
{
	kh_parse_batch b = batch_of(p, x);
	const kh_parse_result *r = p->result_host.p;
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
		x->all[t] = r->n_feeds[t] / 4 == r->n;
	}
	x->odd = r->odd == r->n;
	for (uint32_t k = 0; k < x->n_tasks; k++) {
		const uint32_t from = k * KH_PARSER_TASK, left = r->n - from;

		x->task[k] = (kh_parsed_there) {
			.n = left < KH_PARSER_TASK ? left : KH_PARSER_TASK,
			.n_words = r->first_word[k + 1] - r->first_word[k],
			.mates = b.texts > 1,
			.device = p->device,
			.len = to.len + from,
			.fragment = p->wants_names ? to.fragment + from : NULL,
			.names = to.names,
			.bases = b.bases + r->first_word[k],
			.amb = b.amb + r->first_word[k],
			.record = b.record + (size_t)b.texts * from,
			.buffer = x->buffer,
		};
	}
	return KH_OK;
}
