/*
 * inflater.c - the memory of devices that inflate, and copies to and from it
 *
 * Files have slots of their own; what kernels need beside them each device has once, so that
 * batches of several files go through it one after the other, while others are copied.  Copies go
 * through pinned chunks, which the thread that needs one takes, with a stream, from those that are
 * free.
 */
#include <config.h>
#include "cuda/inflate/inflater.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"
#include "cuda/inflate/inflater_in.h"

/* Bytes of a slot, the most first; less, where a device has no room: batches of fewer leave its
 * processors without work. */
static const size_t sizes[] = { (size_t)64 << 20, (size_t)32 << 20, (size_t)16 << 20 };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* What others may still take of a device. */
#define SPARE (UINT64_C(2) << 30)

/* --- memory ------------------------------------------------------------------------------- */
static int room_buffers(const struct kh_inflate_device *d, struct kh_inflate_room *x, kh_err *err)
{
	const size_t segments = KH_INF_SEGMENTS, window = (size_t)KH_INF_WINDOW * d->groups;
	const struct {
		kh_gpu_buf *b;
		size_t bytes;
	} room[] = {
		{ &x->counts, sizeof(kh_inf_counts) },
		{ &x->maybe, (size_t)KH_INF_MAYBE * 4 },
		{ &x->key, segments * 8 },
		{ &x->sorted, segments * 8 },
		{ &x->segment, segments * sizeof(kh_inf_segment) },
		{ &x->stripe, (size_t)KH_INF_STRIPES * sizeof(kh_inf_stripe) },
		{ &x->unit, (size_t)KH_INF_STRIPES * KH_INF_UNITS * sizeof(kh_inf_unit) },
		{ &x->member, (segments + 1) * sizeof(kh_inf_member) },
		{ &x->token, (size_t)kh_inflate_cap_row(d->slot) * KH_INF_LANES * 4 },
		{ &x->symbol, (size_t)kh_inflate_cap_text(d->slot) * 2 + 256 },
		{ &x->map, window * 2 },
		{ &x->windows, window },
		{ &x->sort, d->scratch },
	};
	int rc = kh_gpu_host_room(&x->host, sizeof(kh_inf_counts) + KH_INF_WINDOW, err);

	for (size_t i = 0; i < sizeof room / sizeof *room && !rc; i++)
		rc = kh_gpu_room_exact(room[i].b, room[i].bytes, err);
	return rc;
}

static uint64_t file_bytes(size_t slot)
{
	return SLOTS * ((uint64_t)slot + FRONT + CARRY + kh_inflate_cap_text(slot));
}

static uint64_t room_bytes(const struct kh_inflate_device *d, size_t slot)
{
	return (uint64_t)kh_inflate_cap_row(slot) * KH_INF_LANES * 4 +
	       2 * (uint64_t)kh_inflate_cap_text(slot) + d->groups * 3 * KH_INF_WINDOW +
	       (UINT64_C(64) << 20);
}

int kh_inflate_left(const kh_inflater *z, uint64_t *bytes, kh_err *err)
{
	size_t all = 0, is_free = 0;
	int rc = KH_GPU(cudaMemGetInfo(&is_free, &all), err);
	const uint64_t taken = all - is_free;

	*bytes = is_free > SPARE ? is_free - SPARE : 0;
	if (z->limit && taken + *bytes > z->limit)
		*bytes = z->limit > taken ? z->limit - taken : 0;
	return rc;
}

static void room_drop(struct kh_inflate_room *x)
{
	if (x->done)
		cudaEventDestroy(x->done);
	if (x->stream)
		cudaStreamDestroy(x->stream);
	x->done = NULL;
	x->stream = NULL;
	KH_GPU_DROP(x->all);
}

/* Another room. */
static int room_open(struct kh_inflate_device *d, kh_err *err)
{
	struct kh_inflate_room *x = &d->room[d->rooms];
	int rc = room_buffers(d, x, err);

	if (!rc)
		rc = kh_gpu_first_stream(&x->stream, err);
	if (!rc)
		rc = KH_GPU(cudaEventCreateWithFlags(&x->done, cudaEventDisableTiming |
							       cudaEventBlockingSync), err);
	if (rc)
		room_drop(x);
	else
		d->rooms++;
	return rc;
}

/* Makes a device ready, for slots of the size that there is room for two files of, or one.  Its
 * state becomes NEVER: there is none. */
static int device_open(kh_inflater *z, struct kh_inflate_device *d, kh_err *err)
{
	bool fits = false;
	uint64_t bytes = 0;
	int rc = KH_GPU(kh_gpu_inflate_prepare(&fits, &d->groups, &d->scratch), err);

	d->state = NEVER;
	if (!rc)
		rc = kh_inflate_left(z, &bytes, err);
	if (rc || !fits)
		return rc;
	for (int i = 0; i < N_SIZES && !d->slot; i++) {
		const size_t slot = z->slot ? z->slot : sizes[i];

		if (room_bytes(d, slot) + 2 * file_bytes(slot) <= bytes)
			d->slot = slot;
	}
	if (!d->slot)
		return KH_OK;
	rc = room_open(d, err);
	if (!rc)
		d->state = READY;
	return rc;
}

/* --- files ---------------------------------------------------------------------------------- */
static void file_free(kh_inflater_file *f)
{
	cudaSetDevice(f->d->number);
	KH_GPU_DROP(f->all);
	free(f);
}

/* Zeros: kernels read some words beside what there is. */
static int file_rooms(kh_inflater_file *f, kh_err *err)
{
	const struct kh_inflate_device *d = f->d;
	const cudaStream_t stream = d->room[0].stream;
	const size_t in = d->slot + FRONT + KH_INF_PAD;
	const size_t text = CARRY + kh_inflate_cap_text(d->slot) + 256;
	const size_t bytes[] = { in, in, text, text, KH_INF_WINDOW, KH_INF_WINDOW };
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof f->all / sizeof *f->all && !rc; i++) {
		rc = kh_gpu_room_exact(&f->all[i], bytes[i], err);
		if (!rc)
			rc = KH_GPU(cudaMemsetAsync(f->all[i].p, 0, bytes[i], stream), err);
	}
	return rc ? rc : KH_GPU(cudaStreamSynchronize(stream), err);
}

static int file_new(kh_inflater *z, struct kh_inflate_device *d, kh_inflater_file **out,
		    kh_err *err)
{
	kh_inflater_file *f;
	uint64_t bytes = 0;
	int rc = kh_inflate_left(z, &bytes, err);

	if (rc || file_bytes(d->slot) > bytes)
		return rc;
	f = kh_array(1, sizeof *f, err);
	if (!f)
		return KH_ENOMEM;
	f->z = z;
	f->d = d;
	rc = file_rooms(f, err);
	if (rc)
		file_free(f);
	else
		*out = f;
	return rc;
}

/* The slots of a file that is closed are used for the next one. */
static kh_inflater_file *take_spare(kh_inflater *z, const struct kh_inflate_device *d)
{
	for (kh_inflater_file **at = &z->spare, *f; (f = *at); at = &f->next)
		if (f->d == d) {
			*at = f->next;
			return f;
		}
	return NULL;
}

static struct kh_inflate_device *least_used(kh_inflater *z)
{
	struct kh_inflate_device *best = &z->device[0];

	for (size_t i = 1; i < z->n; i++)
		if (z->device[i].files < best->files)
			best = &z->device[i];
	return best;
}

/* The room that the fewest files have; another one, if all have some, and there is as much memory
 * again for what parses. */
static struct kh_inflate_room *least_room(const kh_inflater *z, struct kh_inflate_device *d)
{
	struct kh_inflate_room *best = &d->room[0];
	kh_err err = { 0, "" };
	uint64_t bytes = 0;

	for (unsigned i = 1; i < d->rooms; i++)
		if (d->room[i].files < best->files)
			best = &d->room[i];
	if (best->files > 0 && d->rooms < ROOMS && !kh_inflate_left(z, &bytes, &err) &&
	    2 * room_bytes(d, d->slot) <= bytes && !room_open(d, &err))
		best = &d->room[d->rooms - 1];
	return best;
}

static int file_open(kh_inflater *z, kh_inflater_file **out, kh_err *err)
{
	int rc = KH_OK;

	*out = NULL;
	pthread_mutex_lock(&z->mu);
	struct kh_inflate_device *d = least_used(z);
	rc = kh_gpu_use(d->number, err);
	*out = rc ? NULL : take_spare(z, d);
	if (!*out && !rc && d->state == NEW)
		rc = device_open(z, d, err);
	if (!*out && !rc && d->state == READY)
		rc = file_new(z, d, out, err);
	if (*out) {
		d->files++;
		(*out)->room = least_room(z, d);
		(*out)->room->files++;
	}
	pthread_mutex_unlock(&z->mu);
	if (*out)
		kh_log(KH_DEBUG, "cuda:%d inflates, %s at a time", d->number,
		       kh_size_show(d->slot).s);
	else
		kh_log(KH_DEBUG, "the host inflates: cuda:%d %s%s", d->number,
		       rc ? "cannot: " : "has no room", rc ? err->msg : "");
	/* without room, or a device that works, the host does it */
	return rc == KH_ENOMEM || rc == KH_EDEVICE ? KH_OK : rc;
}

static void file_close(kh_inflater_file *f)
{
	kh_inflater *z = f->z;

	pthread_mutex_lock(&z->mu);
	f->d->files--;
	f->room->files--;
	f->next = z->spare;
	z->spare = f;
	pthread_mutex_unlock(&z->mu);
}

static size_t slot_bytes(const kh_inflater_file *f)
{
	return f->d->slot;
}

/* --- copies ------------------------------------------------------------------------------- */
static void chunk_free(struct kh_inflate_chunk *p)
{
	if (p->stream)
		cudaStreamDestroy(p->stream);
	kh_gpu_drop(&p->host);
	free(p);
}

static int chunk_take(kh_inflater_file *f, struct kh_inflate_chunk **out, kh_err *err)
{
	struct kh_inflate_chunk *p;
	int rc = kh_gpu_use(f->d->number, err);

	pthread_mutex_lock(&f->z->mu);
	p = *out = f->d->chunk;
	if (p)
		f->d->chunk = p->next;
	pthread_mutex_unlock(&f->z->mu);
	if (rc || p)
		return rc;
	p = kh_array(1, sizeof *p, err);
	if (!p)
		return KH_ENOMEM;
	rc = kh_gpu_first_stream(&p->stream, err);
	if (!rc)
		rc = kh_gpu_host_pages(&p->host, CHUNK, err);
	if (rc)
		chunk_free(p);
	else
		*out = p;
	return rc;
}

static void chunk_give_back(kh_inflater_file *f, struct kh_inflate_chunk *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&f->z->mu);
	p->next = f->d->chunk;
	f->d->chunk = p;
	pthread_mutex_unlock(&f->z->mu);
}

static int copy(struct kh_inflate_chunk *p, void *to, const void *from, size_t n,
		enum cudaMemcpyKind kind, kh_err *err)
{
	int rc = KH_GPU(cudaMemcpyAsync(to, from, n, kind, p->stream), err);

	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

static int put(kh_inflater_file *f, unsigned slot, uint32_t to, size_t n, kh_inflater_fill *fill,
	       void *arg, uint64_t at, kh_err *err)
{
	struct kh_inflate_chunk *p = NULL;
	int rc = chunk_take(f, &p, err);

	assert(n <= CHUNK && to + n <= f->d->slot + FRONT);
	/* a part is read while the one in front goes to the device */
	for (size_t i = 0, m; i < n && !rc; i += m) {
		char *const part = (char *)p->host.p + i;

		m = n - i < PART ? n - i : PART;
		rc = fill(arg, part, at + i, m, err);
		if (!rc)
			rc = KH_GPU(cudaMemcpyAsync(kh_inflate_in_of(f, slot) + to + i, part, m,
						    cudaMemcpyHostToDevice, p->stream), err);
	}
	if (p) {
		const int end = KH_GPU(cudaStreamSynchronize(p->stream), rc ? NULL : err);

		rc = rc ? rc : end;
	}
	chunk_give_back(f, p);
	return rc;
}

static int get(kh_inflater_file *f, unsigned text, size_t from, size_t n, char *to, kh_err *err)
{
	struct kh_inflate_chunk *p = NULL;
	int rc = chunk_take(f, &p, err);

	for (size_t i = 0, m; i < n && !rc; i += m) {
		m = n - i < CHUNK ? n - i : CHUNK;
		rc = copy(p, p->host.p, kh_inflate_text_of(f, text) + from + i, m,
			  cudaMemcpyDeviceToHost, err);
		if (!rc)
			memcpy(to + i, p->host.p, m);
	}
	chunk_give_back(f, p);
	return rc;
}

static int carry(kh_inflater_file *f, unsigned text, size_t from, size_t n, kh_err *err)
{
	struct kh_inflate_chunk *p = NULL;
	int rc = chunk_take(f, &p, err);

	assert(n <= CARRY);
	if (!rc)
		rc = copy(p, kh_inflate_text_of(f, !text) + CARRY - n,
			  kh_inflate_text_of(f, text) + from, n, cudaMemcpyDeviceToDevice, err);
	chunk_give_back(f, p);
	return rc;
}

const kh_inflater_functions kh_cuda_inflater = {
	.file_open = file_open,
	.file_close = file_close,
	.slot_bytes = slot_bytes,
	.chunk_bytes = CHUNK,
	.put = put,
	.run = kh_inflate_run,
	.get = get,
	.carry = carry,
	.parser_open = kh_inflate_parser_open,
	.parser_buffers = kh_inflate_parser_buffers,
	.parser_close = kh_inflate_parser_close,
	.parse = kh_inflate_parse,
};

/* --- all ------------------------------------------------------------------------------------ */
int kh_cuda_inflater_open(kh_inflater **out, const kh_devices *on, kh_err *err)
{
	return kh_cuda_inflater_open_with(out, on, 0, err);
}

int kh_cuda_inflater_open_with(kh_inflater **out, const kh_devices *on, size_t slot, kh_err *err)
{
	kh_inflater *z = kh_array(1, sizeof *z, err);

	if (!z)
		return KH_ENOMEM;
	pthread_mutex_init(&z->mu, NULL);
	z->limit = on->memory;
	z->slot = slot;
	z->device = kh_array(on->choice.n, sizeof *z->device, err);
	for (size_t i = 0; z->device && i < on->choice.n; i++) {
		z->device[i].number = on->choice.device[i];
		for (unsigned k = 0; k < ROOMS; k++)
			pthread_mutex_init(&z->device[i].room[k].run, NULL);
		z->n++;
	}
	*out = z;
	if (z->n > 0)
		return KH_OK;
	kh_cuda_inflater_close(z);
	*out = NULL;
	return KH_ENOMEM;
}

void kh_cuda_inflater_close(kh_inflater *z)
{
	if (!z)
		return;
	kh_inflate_parsers_free(z);
	for (kh_inflater_file *f; (f = z->spare);) {
		z->spare = f->next;
		file_free(f);
	}
	for (size_t i = 0; i < z->n; i++) {
		struct kh_inflate_device *d = &z->device[i];

		cudaSetDevice(d->number);
		for (struct kh_inflate_chunk *p; (p = d->chunk);) {
			d->chunk = p->next;
			chunk_free(p);
		}
		for (unsigned k = 0; k < ROOMS; k++) {
			room_drop(&d->room[k]);
			pthread_mutex_destroy(&d->room[k].run);
		}
	}
	pthread_mutex_destroy(&z->mu);
	free(z->device);
	free(z);
}
