/*
 * batch.c - a batch is launched on a device, and its result taken
 */
#include <config.h>
#include "cuda/inflate/inflater.h"

#include <string.h>
#include "cuda/inflate/inflater_in.h"

static kh_inf_batch batch_of(const kh_inflater_file *f, const kh_inflater_run *r)
{
	const struct kh_inflate_device *d = f->d;
	const struct kh_inflate_room *x = f->room;
	const kh_inflater_place *p = &r->place;
	void *const window[2] = { f->window0.p, f->window1.p };

	return (kh_inf_batch) {
		.in = (const uint32_t *)(void *)kh_inflate_in_of(f, r->in),
		.n = r->end,
		.start = { p->bit, p->head, p->window, p->crc, p->n },
		.members = r->members,
		.last = r->last,
		.cap_row = kh_inflate_cap_row(d->slot),
		.cap_text = kh_inflate_cap_text(d->slot),
		.c = x->counts.p,
		.maybe = x->maybe.p,
		.key = x->key.p,
		.sorted = x->sorted.p,
		.segment = x->segment.p,
		.stripe = x->stripe.p,
		.unit = x->unit.p,
		.member = x->member.p,
		.token = x->token.p,
		.symbol = x->symbol.p,
		.text = (uint8_t *)kh_inflate_text_of(f, r->text) + CARRY,
		.map = x->map.p,
		.windows = x->windows.p,
		.window = window[f->window],
		.window_behind = window[!f->window],
		.scratch = x->sort.p,
		.n_scratch = d->scratch,
		.groups = d->groups,
	};
}

/* Launches a batch and waits for its result, which is in x->host then, and the window behind. */
static int launch(struct kh_inflate_room *x, const kh_inf_batch *b, kh_err *err)
{
	char *host = x->host.p;
	int rc = KH_GPU(cudaMemsetAsync((char *)(uintptr_t)b->in + b->n, 0, KH_INF_PAD, x->stream),
			err);

	if (!rc)
		rc = KH_GPU(kh_gpu_inflate(b, x->stream), err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(host, b->c, sizeof *b->c, cudaMemcpyDeviceToHost,
					    x->stream), err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(host + sizeof *b->c, b->window_behind, KH_INF_WINDOW,
					    cudaMemcpyDeviceToHost, x->stream), err);
	if (!rc)
		rc = KH_GPU(cudaEventRecord(x->done, x->stream), err);
	return rc ? rc : KH_GPU(cudaEventSynchronize(x->done), err);
}

/* What is not used is carried in front of the other slot, from where places are counted then. */
static int carry(const kh_inflater_file *f, kh_inflater_run *r, kh_err *err)
{
	kh_inflater_place *p = &r->place;
	const bool head = p->head != KH_INFLATER_NONE;
	const uint32_t from = head ? p->head : p->bit / 8, n = r->end - from;
	int rc;

	if (n > FRONT || r->last) {
		r->stop = KH_INFLATER_ODD;
		return KH_OK;
	}
	rc = KH_GPU(cudaMemcpyAsync(kh_inflate_in_of(f, !r->in) + FRONT - n,
				    kh_inflate_in_of(f, r->in) + from, n,
				    cudaMemcpyDeviceToDevice, f->room->stream), err);
	p->bit = p->bit - 8 * from + 8 * (FRONT - n);
	if (head)
		p->head = FRONT - n;
	return rc ? rc : KH_GPU(cudaStreamSynchronize(f->room->stream), err);
}

/* The text of a plain file is there already. */
static int take_plain(const kh_inflater_file *f, kh_inflater_run *r, kh_err *err)
{
	cudaStream_t stream = f->room->stream;
	int rc;

	r->n_text = r->end - FRONT;
	r->head = r->last_n = KH_INFLATER_NONE;
	r->place = (kh_inflater_place) { .bit = 8 * FRONT, .head = KH_INFLATER_NONE };
	r->stop = r->last ? KH_INFLATER_ODD : KH_INFLATER_MORE;
	rc = KH_GPU(cudaMemcpyAsync(kh_inflate_text_of(f, r->text) + CARRY,
				    kh_inflate_in_of(f, r->in) + FRONT, r->n_text,
				    cudaMemcpyDeviceToDevice, stream), err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(stream), err);
}

int kh_inflate_run(kh_inflater_file *f, kh_inflater_run *r, kh_err *err)
{
	static const enum kh_inflater_stop stop[] = { [KH_INF_MORE] = KH_INFLATER_MORE,
						      [KH_INF_AGAIN] = KH_INFLATER_AGAIN,
						      [KH_INF_TAIL] = KH_INFLATER_TAIL,
						      [KH_INF_ODD] = KH_INFLATER_ODD };
	struct kh_inflate_room *x = f->room;
	const kh_inf_batch b = batch_of(f, r);
	const kh_inf_counts *c = x->host.p;
	int rc = kh_gpu_use(f->d->number, err);

	pthread_mutex_lock(&x->run);
	if (!rc)
		rc = r->plain ? take_plain(f, r, err) : launch(x, &b, err);
	if (!rc && !r->plain) {
		r->n_text = c->n_text;
		r->stop = stop[c->stop & 3];
		r->last_n = c->last_n;
		r->head = c->head;
		r->place = (kh_inflater_place) { c->end.bit, c->end.head, c->end.window, c->end.crc,
						 c->end.n };
		memcpy(r->window, (char *)x->host.p + sizeof *c, KH_INF_WINDOW);
		f->window = !f->window;
		if (r->stop == KH_INFLATER_MORE)
			rc = carry(f, r, err);
	}
	pthread_mutex_unlock(&x->run);
	return rc;
}
