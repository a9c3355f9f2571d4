/* finish_deliver.c - the end of a build: images of ranges to the sink */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <string.h>

int kh_wave_out_open(struct kh_wave_out *o, struct kh_cuda_owner *s, kh_err *err)
{
	int rc = kh_gpu_use(s->device, err);

	o->owner = s;
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&o->stream, cudaStreamNonBlocking), err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = KH_GPU(cudaEventCreateWithFlags(&o->ready[i], cudaEventDisableTiming), err);
	return rc;
}

void kh_wave_out_close(struct kh_wave_out *o)
{
	if (!o->owner || cudaSetDevice(o->owner->device) != cudaSuccess)
		return;
	if (o->stream)
		cudaStreamSynchronize(o->stream);
	kh_gpu_drop(&o->image);
	for (int i = 0; i < 2; i++)
		if (o->ready[i])
			cudaEventDestroy(o->ready[i]);
	if (o->stream)
		cudaStreamDestroy(o->stream);
}

void kh_wave_take(struct kh_wave_out *o, struct kh_wave *w)
{
	struct kh_wave_images *im = &w->images;

	o->image = im->image;
	im->image = (kh_gpu_buf) { .budget = o->image.budget };
	memcpy(o->made, im->made, sizeof o->made);
	o->first = im->first;
	o->next = im->next;
	o->held = kh_plan_taken(o->image.bytes);
}

static int fetch(struct kh_wave_out *o, unsigned p, kh_gpu_buf *to, cudaEvent_t ready, kh_err *err)
{
	const struct kh_wave_made *m = &o->made[p];
	int rc = kh_gpu_host_room(to, m->bytes + 1, err);

	if (!rc && m->bytes > 0)
		rc = KH_GPU(cudaMemcpyAsync(to->p, (const char *)o->image.p + m->at, m->bytes,
					    cudaMemcpyDeviceToHost, o->stream), err);
	return rc ? rc : KH_GPU(cudaEventRecord(ready, o->stream), err);
}

/* While one range is written, the next one is copied to the host. */
int kh_wave_deliver(struct kh_wave_out *o, const kh_finish *f, kh_gpu_buf pinned[2], kh_err *err)
{
	int rc = kh_gpu_use(o->owner->device, err);

	if (!rc && o->first < o->next)
		rc = fetch(o, o->first, &pinned[0], o->ready[0], err);
	for (unsigned p = o->first; p < o->next && !rc; p++) {
		const int i = (int)(p - o->first) % 2;
		const struct kh_wave_made *m = &o->made[p];
		kh_image im = { .range = m->seeds, .locations = m->locations };

		if (p + 1 < o->next)
			rc = fetch(o, p + 1, &pinned[!i], o->ready[!i], err);
		if (!rc)
			rc = KH_GPU(cudaEventSynchronize(o->ready[i]), err);
		im.line = pinned[i].p;
		im.word = (void *)((char *)pinned[i].p + m->lists);
		if (!rc)
			rc = f->sink(f->arg, &im, err);
	}
	if (!rc)
		kh_gpu_drop(&o->image);
	return rc;
}
