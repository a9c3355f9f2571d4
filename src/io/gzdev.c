/*
 * gzdev.c - chooses what is read, run and given out next of a gzip file that a device inflates
 *
 * Slots go round: batch i is read into slot i % 2, and the text of run i is in slot i % 2 for text.
 * One lock guards all state that changes; it is held for a few instructions.
 */
#include <config.h>
#include "io/gzdev.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/system.h"

enum {
	SLOTS = KH_INFLATER_SLOTS, FRONT = KH_INFLATER_FRONT, CARRY = KH_INFLATER_CARRY,
	FIRST = 4               /* the first batch is that part of a slot */
};

struct slot {                   /* of compressed bytes */
	bool used;
	uint64_t at;            /* in the file, of the byte behind the front */
	size_t n, chunks;
	size_t asked, read;     /* chunks */
};

struct text {
	bool ready;             /* there is some that was not given out */
	size_t n, given;        /* bytes of the slot: where it ends, and what was given out */
	unsigned refs;          /* parts that are not finished */
};

struct kh_gzdev {
	kh_gzdev_options o;
	kh_inflater_file *f;
	bool members;
	pthread_mutex_t mu;     /* guards all below */
	pthread_cond_t changed;
	uint64_t changes;
	struct slot in[SLOTS];
	struct text text[SLOTS];
	uint64_t n_batches;     /* that were begun to be read */
	uint64_t batch;         /* the one that is run next */
	uint64_t n_runs, n_given;       /* runs, and those whose text was all given out */
	uint64_t next_at;       /* in the file: the next batch */
	unsigned readers;
	bool running;
	bool ended, failed;
	enum kh_inflater_stop stop;
	/* where the next run begins, in slot batch % SLOTS, whose front ends at byte `base` of the
	 * file */
	kh_inflater_place place;
	uint64_t base, member_at;
	uint8_t window[32768];  /* the text in front of `place` */
	uint32_t last_n;        /* text of the last member, of BGZF */
};

int kh_gzdev_new(kh_gzdev **out, const kh_gzdev_options *o, kh_err *err)
{
	kh_gzdev *g = kh_array(1, sizeof *g, err);

	*out = NULL;
	if (!g)
		return KH_ENOMEM;
	pthread_mutex_init(&g->mu, NULL);
	pthread_cond_init(&g->changed, NULL);
	g->o = *o;
	const int rc = o->by.f->file_open(o->by.z, &g->f, err);
	if (!rc && g->f)
		*out = g;
	else
		kh_gzdev_free(g);
	return rc;
}

void kh_gzdev_free(kh_gzdev *g)
{
	if (!g)
		return;
	if (g->f)
		g->o.by.f->file_close(g->f);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->mu);
	free(g);
}

void kh_gzdev_start(kh_gzdev *g, uint64_t member_at, uint64_t at, bool members)
{
	const uint32_t data = FRONT + (uint32_t)(at - member_at);

	for (int i = 0; i < SLOTS; i++) {
		g->in[i] = (struct slot) { .used = false };
		g->text[i] = (struct text) { .ready = false };
	}
	g->members = members;
	g->n_batches = g->batch = g->n_runs = g->n_given = 0;
	g->next_at = g->base = g->member_at = member_at;
	g->ended = g->failed = false;
	g->stop = KH_INFLATER_ODD;
	g->place = (kh_inflater_place) { .bit = 8 * data, .head = FRONT };
	g->last_n = 0;
}

uint64_t kh_gzdev_taken(const kh_gzdev *g)
{
	return g->next_at;
}

/* --- what is to be done; under the lock ------------------------------------------------- */
static void has_changed(kh_gzdev *g)
{
	g->changes++;
	pthread_cond_broadcast(&g->changed);
}

/* The device cannot go on. */
static void fail(kh_gzdev *g)
{
	g->ended = g->failed = true;
	g->stop = KH_INFLATER_ODD;
}

static bool may_run(const kh_gzdev *g)
{
	const struct slot *in = &g->in[g->batch % SLOTS];
	const struct text *to = &g->text[g->n_runs % SLOTS];

	return !g->running && in->used && in->read == in->chunks && !to->ready && to->refs == 0;
}

/* Has the batch that is read now, or can be, a chunk that nobody reads? */
static bool may_read(kh_gzdev *g)
{
	const size_t chunk = g->o.by.f->chunk_bytes, slot = g->o.by.f->slot_bytes(g->f);
	/* nothing else can be done before there is text of the first batch */
	const size_t most = g->n_batches == 0 ? slot / FIRST : slot;
	const struct slot *now = g->n_batches ? &g->in[(g->n_batches - 1) % SLOTS] : NULL;
	struct slot *next = &g->in[g->n_batches % SLOTS];

	if (now && now->used && now->asked < now->chunks)
		return true;
	if (next->used || g->next_at >= g->o.size)
		return false;
	const uint64_t left = g->o.size - g->next_at;
	const size_t n = left < most ? (size_t)left : most;

	*next = (struct slot) { .used = true, .at = g->next_at, .n = n,
				.chunks = (n + chunk - 1) / chunk };
	g->next_at += n;
	g->n_batches++;
	return true;
}

static void ask_read(kh_gzdev *g, kh_gzdev_step *step)
{
	struct slot *in = &g->in[(g->n_batches - 1) % SLOTS];

	step->what = KH_GZDEV_READ;
	step->slot = (unsigned)((g->n_batches - 1) % SLOTS);
	step->chunk = in->asked++;
	g->readers++;
}

int kh_gzdev_next(kh_gzdev *g, kh_gzdev_step *step)
{
	int rc = 1;

	pthread_mutex_lock(&g->mu);
	*step = (kh_gzdev_step) { .g = g, .what = KH_GZDEV_WAIT, .seen = g->changes };
	if (!g->ended && may_run(g)) {
		step->what = KH_GZDEV_RUN;
		g->running = true;
	} else if (!g->ended && may_read(g)) {
		ask_read(g, step);
	} else {
		rc = !g->text[g->n_given % SLOTS].ready && (!g->ended || g->running);
	}
	pthread_mutex_unlock(&g->mu);
	return rc;
}

/* --- it is done --------------------------------------------------------------------------- */
static int fill(void *arg, void *to, uint64_t at, size_t n, kh_err *err)
{
	const kh_gzdev *g = arg;
	const ssize_t got = kh_read_at(g->o.fd, to, n, at);

	return got < 0           ? kh_fail_errno(err, g->o.name)
	       : (size_t)got < n ? kh_fail(err, KH_EIO, "%s: became shorter", g->o.name) : KH_OK;
}

static void do_read(const kh_gzdev_step *step)
{
	kh_gzdev *g = step->g;
	struct slot *in = &g->in[step->slot];
	const kh_inflater_functions *f = g->o.by.f;
	const size_t from = step->chunk * f->chunk_bytes, left = in->n - from;
	kh_err err = { 0, "" };
	const int rc = f->put(g->f, step->slot, FRONT + (uint32_t)from,
			      left < f->chunk_bytes ? left : f->chunk_bytes, fill, g,
			      in->at + from, &err);

	pthread_mutex_lock(&g->mu);
	in->read++;
	g->readers--;
	if (rc)
		fail(g);
	has_changed(g);
	pthread_mutex_unlock(&g->mu);
}

/* Under the lock: what a run has given. */
static void take_result(kh_gzdev *g, const kh_inflater_run *r)
{
	struct slot *in = &g->in[r->in];

	if (r->head != KH_INFLATER_NONE)
		g->member_at = g->base + r->head - FRONT;
	g->place = r->place;
	memcpy(g->window, r->window, sizeof g->window);
	if (r->last_n != KH_INFLATER_NONE)
		g->last_n = r->last_n;
	if (r->n_text > 0) {
		g->text[r->text] = (struct text) { .ready = true, .n = CARRY + r->n_text,
						     .given = CARRY };
		g->n_runs++;
	}
	g->stop = r->stop;
	g->ended = r->stop == KH_INFLATER_TAIL || r->stop == KH_INFLATER_ODD;
	if (r->stop == KH_INFLATER_MORE) {
		g->base += in->n;
		in->used = false;
		g->batch++;
	}
}

static void do_run(kh_gzdev *g)
{
	const struct slot *in = &g->in[g->batch % SLOTS];
	kh_inflater_run r = { .in = (unsigned)(g->batch % SLOTS),
			      .text = (unsigned)(g->n_runs % SLOTS),
			      .end = FRONT + (uint32_t)in->n,
			      .plain = g->o.plain,
			      .members = g->members,
			      .last = in->at + in->n == g->o.size,
			      .place = g->place };
	kh_err err = { 0, "" };
	const int rc = g->o.by.f->run(g->f, &r, &err);

	if (rc)
		kh_log(KH_DEBUG, "%s: the host inflates the rest: %s", g->o.name, err.msg);
	pthread_mutex_lock(&g->mu);
	g->running = false;
	if (rc)
		fail(g);
	else
		take_result(g, &r);
	has_changed(g);
	pthread_mutex_unlock(&g->mu);
}

void kh_gzdev_do(const kh_gzdev_step *step)
{
	kh_gzdev *g = step->g;

	if (step->what == KH_GZDEV_READ) {
		do_read(step);
	} else if (step->what == KH_GZDEV_RUN) {
		do_run(g);
	} else {
		pthread_mutex_lock(&g->mu);
		while (g->changes == step->seen)
			pthread_cond_wait(&g->changed, &g->mu);
		pthread_mutex_unlock(&g->mu);
	}
}

/* --- text --------------------------------------------------------------------------------- */
/* Gives out so many bytes of the next text, which has them. */
static void give(kh_gzdev *g, struct text *t, size_t n)
{
	t->given += n;
	if (t->given < t->n)
		return;
	t->ready = false;
	g->n_given++;
}

/* Cuts off the next part; the parts of a text have about the same size. */
static void cut(kh_gzdev *g, struct text *t, kh_gzdev_part *part)
{
	const size_t left = t->n - t->given, n = left / g->o.part + (left % g->o.part > 0);

	*part = (kh_gzdev_part) { .g = g, .text = (unsigned)(g->n_given % SLOTS),
				  .from = t->given, .n = left / n };
	t->refs++;
	give(g, t, part->n);
}

void kh_gzdev_take(kh_gzdev *g, kh_gzdev_part *part, bool *leave)
{
	part->g = NULL;
	pthread_mutex_lock(&g->mu);
	struct text *t = &g->text[g->n_given % SLOTS];
	*leave = !t->ready && g->ended && !g->running;
	if (t->ready)
		cut(g, t, part);
	pthread_mutex_unlock(&g->mu);
}

int kh_gzdev_finish(kh_gzdev_part *part, char *out, kh_err *err)
{
	const kh_gzdev *g = part->g;
	const int rc = g->o.by.f->get(g->f, part->text, part->from, part->n, out, err);

	kh_gzdev_drop(part);
	return rc;
}

void kh_gzdev_drop(kh_gzdev_part *part)
{
	kh_gzdev *g = part->g;

	pthread_mutex_lock(&g->mu);
	g->text[part->text].refs--;
	has_changed(g);
	pthread_mutex_unlock(&g->mu);
	part->g = NULL;
}

/* --- text that stays on the device ------------------------------------------------------- */
void kh_gzdev_look(kh_gzdev *g, kh_gzdev_part *part)
{
	pthread_mutex_lock(&g->mu);
	const struct text *t = &g->text[g->n_given % SLOTS];
	*part = (kh_gzdev_part) { .g = t->ready ? g : NULL,
				  .text = (unsigned)(g->n_given % SLOTS),
				  .from = t->given, .n = t->n - t->given };
	pthread_mutex_unlock(&g->mu);
}

void kh_gzdev_use(kh_gzdev *g, size_t n)
{
	pthread_mutex_lock(&g->mu);
	give(g, &g->text[g->n_given % SLOTS], n);
	has_changed(g);
	pthread_mutex_unlock(&g->mu);
}

int kh_gzdev_join(kh_gzdev *g)
{
	kh_gzdev_part rest;
	kh_err err = { 0, "" };

	kh_gzdev_look(g, &rest);
	pthread_mutex_lock(&g->mu);
	struct text *next = &g->text[(g->n_given + 1) % SLOTS];
	const bool there = next->ready, over = g->ended && !g->running;
	pthread_mutex_unlock(&g->mu);
	if (!there)
		return over ? KH_ECANCEL : 0;
	/* nobody but the caller gives out text, and nothing is run into a slot that has some */
	const int rc = rest.n > CARRY ? KH_ECANCEL
		       : rest.n > 0   ? g->o.by.f->carry(g->f, rest.text, rest.from, rest.n, &err)
				      : KH_OK;
	if (rc)
		return rc;
	next->given -= rest.n;
	kh_gzdev_use(g, rest.n);
	return 1;
}

kh_inflater_file *kh_gzdev_file(const kh_gzdev *g)
{
	return g->f;
}

/* --- leave ---------------------------------------------------------------------------------- */
static bool is_quiet(const kh_gzdev *g)
{
	unsigned refs = 0;

	for (int i = 0; i < SLOTS; i++)
		refs += g->text[i].refs;
	return !g->running && g->readers == 0 && refs == 0;
}

void kh_gzdev_leave(kh_gzdev *g, kh_gzdev_rest *rest)
{
	const kh_inflater_place *p = &g->place;

	pthread_mutex_lock(&g->mu);
	while (!is_quiet(g))
		pthread_cond_wait(&g->changed, &g->mu);
	pthread_mutex_unlock(&g->mu);
	*rest = (kh_gzdev_rest) { .at = g->base + p->bit / 8 - FRONT,
				  .place = { .where = KH_GZ_AT_BLOCK,
					     .skip = p->bit % 8,
					     .n_window = p->window,
					     .crc = p->crc,
					     .n_member = p->n,
					     .member_at = g->member_at },
				  .open_end = g->members && g->last_n > 0,
				  .failed = g->failed };
	memcpy(rest->place.window, g->window, sizeof g->window);
	if (p->head != KH_INFLATER_NONE) {
		rest->place.where = KH_GZ_AT_HEADER;
		rest->at = g->base + p->head - FRONT;
	} else if (g->stop == KH_INFLATER_TAIL) {
		rest->place.where = KH_GZ_AT_TRAILER;
	}
}
