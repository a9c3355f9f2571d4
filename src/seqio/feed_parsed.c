/*
 * feed_parsed.c - four-line FASTQ that the device which inflates it also parses: from files to jobs
 * whose records never were on the host
 *
 * This comes before blocks, for one file, or one of each mate: gzip, or plain if the device is to
 * parse that, too.  The device holds inflated text
 * of each file (io/gzdev.h).  A window of the text, or one of each mate's, beginning at the same
 * record number, is parsed into as many fragments as are whole in both, in one of the parser's
 * buffers; tasks of these are the jobs.  Used text makes room for the next run, and the rest of a
 * record is copied in front of its text on the device, so the two files may progress unevenly.
 *
 * A record that is not plain (seqio/four_lines.h), such as one with a U, damage, the end of a file,
 * a fault of the device, or a lack of room end this for good.  The feed then reads on behind the
 * last fragment, as if it had made these jobs itself: it knows the number of the record, its line
 * and its byte, and takes the text that the device still has as from any gzip source.  So the host
 * finds and reports all errors of a file, with the same numbers.
 *
 * A worker takes a job if there is one; else it parses a window if no other worker does, reads,
 * inflates, or waits.
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdlib.h>
#include "base/mem.h"
#include "seqio/feed_in.h"

struct waiter {
	struct waiter *next;
	bool woken;
};

struct buffer {
	kh_inflater_parse x;            /* its tasks */
	unsigned refs;                  /* of them, that are not released */
};

struct feed_parsed {
	/* guards all below but waiters, and the sources meanwhile */
	pthread_mutex_t mu;
	enum { NEW, ON, OFF } state;
	kh_inflater_parser *parser;
	bool parsing;
	struct buffer buffer[KH_PARSER_BUFFERS];
	unsigned n_buffers;             /* of them */
	uint64_t n_parsed, n_given;     /* buffers */
	uint32_t next;                  /* task of buffer n_given */
	bool rest[2];                   /* of a text no whole record is left */
	uint64_t n_rec, byte[2];        /* that fragments were made of */
	kh_event *changed;
	struct waiter *waiters;         /* under the lock of the monitor */
};

int feed_parsed_open(kh_feed *f, kh_err *err)
{
	const kh_feed_options *o = &f->o;
	struct feed_parsed *p;

	if (!o->parse || !o->inflate.f || o->n_path[0] != 1 || o->interleaved || o->pieces ||
	    o->mask.quality)
		return KH_OK;
	p = f->parsed = kh_array(1, sizeof *p, err);
	if (!p)
		return KH_ENOMEM;
	pthread_mutex_init(&p->mu, NULL);
	return kh_event_new(&p->changed, f->m, err);
}

void feed_parsed_close(kh_feed *f)
{
	struct feed_parsed *p = f->parsed;

	if (!p)
		return;
	if (p->parser)
		f->o.inflate.f->parser_close(p->parser);
	kh_event_free(p->changed);
	pthread_mutex_destroy(&p->mu);
	free(p);
}

/* --- waiting ------------------------------------------------------------------------------ */
static void wake_all(kh_feed *f)
{
	struct feed_parsed *p = f->parsed;

	kh_monitor_lock(f->m);
	for (struct waiter *w = p->waiters; w; w = w->next)
		w->woken = true;
	p->waiters = NULL;
	kh_monitor_unlock(f->m);
	kh_event_set(p->changed);
}

/* Waits, outside the lock, until another worker wakes all. */
static int await_change(kh_feed *f)
{
	struct feed_parsed *p = f->parsed;
	struct waiter w = { NULL, false };

	kh_monitor_lock(f->m);
	w.next = p->waiters;
	p->waiters = &w;
	kh_monitor_unlock(f->m);
	pthread_mutex_unlock(&p->mu);
	const int rc = kh_event_wait(p->changed, &w.woken);
	if (rc) {                       /* nobody waits any more */
		kh_monitor_lock(f->m);
		p->waiters = NULL;
		kh_monitor_unlock(f->m);
	}
	pthread_mutex_lock(&p->mu);
	return rc;
}

/* --- what follows is done under the lock ------------------------------------------------------ */
static kh_gzdev *device_of(kh_feed *f, unsigned s)
{
	return kh_source_gzdev(f->st[s].read.in->src);
}

/* From now on the feed goes on. */
static void end(kh_feed *f)
{
	struct feed_parsed *p = f->parsed;

	p->state = OFF;
	for (unsigned s = 0; s < f->n_streams; s++) {
		struct feed_stream *st = &f->st[s];

		if (st->read.in)
			kh_source_take_back(st->read.in->src);
		if (p->n_rec == 0)
			continue;
		st->read.at = p->byte[s];       /* of a plain file */
		st->read.fresh = false;
		st->position = (kh_position) { .name = feed_file_name(st, 0),
					       .line = 1 + 4 * p->n_rec, .byte = p->byte[s],
					       .n_rec = p->n_rec, .format = '@' };
		pthread_mutex_lock(&f->lock);
		st->format = '@';
		st->n_rec = p->n_rec;
		pthread_mutex_unlock(&f->lock);
	}
	if (p->parser)
		kh_log(KH_DEBUG, "%s: %llu records were parsed on the device",
		       feed_file_name(&f->st[0], 0), (unsigned long long)p->n_rec);
	wake_all(f);
}

/* Opens the files.  Can a device inflate all of them, and parse?  What fails here fails again, and
 * is reported, when the feed goes on. */
static bool begin(kh_feed *f)
{
	struct feed_parsed *p = f->parsed;
	kh_err err = { 0, "" };
	kh_gz_step step;

	for (unsigned s = 0; s < f->n_streams; s++) {
		struct feed_stream *st = &f->st[s];

		if (!st->read.in && feed_open_next(f, st, &err))
			return false;
		if (kh_source_size(st->read.in->src) == 0)
			return false;
		const int rc = feed_ask(f, st, &step, &err);
		if (rc > 0)
			kh_gz_do(&step);
		if (rc < 0 || (f->o.parse_plain && kh_source_lend(st->read.in->src, &err)) ||
		    !device_of(f, s))
			return false;
	}
	const int rc = f->o.inflate.f->parser_open(kh_gzdev_file(device_of(f, 0)),
						   f->o.text != KH_FEED_BASES, &p->parser, &err);
	if (rc || !p->parser)
		kh_log(KH_DEBUG, "the host parses: %s", rc ? err.msg : "the device has no room");
	if (!rc && p->parser)
		p->n_buffers = f->o.inflate.f->parser_buffers(p->parser);
	return !rc && p->parser;
}

/* Gives out the next task. */
static bool give(kh_feed *f, kh_job *job)
{
	struct feed_parsed *p = f->parsed;

	if (p->n_given == p->n_parsed)
		return false;
	const kh_inflater_parse *x = &p->buffer[p->n_given % p->n_buffers].x;
	const kh_parsed_there *t = &x->task[p->next++];
	*job = (kh_job) { .ticket = f->n_job++, .first = f->n_frag, .n = t->n, .there = t };
	f->n_frag += t->n;
	if (p->next == x->n_tasks) {
		p->next = 0;
		p->n_given++;
	}
	return true;
}

static bool has_buffer(const struct feed_parsed *p)
{
	return p->n_parsed - p->n_given < p->n_buffers &&
	       p->buffer[p->n_parsed % p->n_buffers].refs == 0;
}

/* Has stream s text with records?  *part: that. */
static bool has_text(kh_feed *f, unsigned s, kh_gzdev_part *part)
{
	kh_gzdev_look(device_of(f, s), part);
	return part->g && !f->parsed->rest[s];
}

/* Takes what a window has given. */
static void take(kh_feed *f, const kh_inflater_parse *x)
{
	struct feed_parsed *p = f->parsed;
	struct buffer *b = &p->buffer[p->n_parsed % p->n_buffers];
	bool on = !x->odd;

	b->refs = x->n_tasks;
	p->n_parsed += x->n_tasks > 0;
	for (uint32_t k = 0; k < x->n_tasks; k++)
		p->n_rec += x->task[k].n;
	for (unsigned s = 0; s < f->n_streams; s++) {
		const size_t used = x->used[s] - x->from[s];
		kh_gzdev_part left;

		p->byte[s] += used;
		if (kh_source_kind(f->st[s].read.in->src) == KH_SOURCE_RANGES)
			feed_count_read(f, used);
		kh_gzdev_look(device_of(f, s), &left);
		p->rest[s] = x->all[s] && used < left.n && x->to[s] == left.from + left.n;
		/* a record longer than a window */
		on = on && !(x->all[s] && used == 0 && !p->rest[s]);
		kh_gzdev_use(device_of(f, s), used);
	}
	if (!on)
		end(f);
}

/* Parses a window of the text that is there, outside the lock. */
static void parse(kh_feed *f, uint32_t k, const kh_gzdev_part part[2])
{
	struct feed_parsed *p = f->parsed;
	kh_inflater_parse *x = &p->buffer[p->n_parsed % p->n_buffers].x;
	kh_err err = { 0, "" };

	*x = (kh_inflater_parse) { .any_names = f->o.no_mate_check, .k = k,
				   .buffer = (unsigned)(p->n_parsed % p->n_buffers) };
	for (unsigned s = 0; s < f->n_streams; s++) {
		const size_t n = part[s].n < KH_PARSER_WINDOW ? part[s].n : KH_PARSER_WINDOW;

		x->file[s] = kh_gzdev_file(device_of(f, s));
		x->text[s] = part[s].text;
		x->from[s] = part[s].from;
		x->to[s] = part[s].from + n;
	}
	p->parsing = true;
	pthread_mutex_unlock(&p->mu);
	const int rc = f->o.inflate.f->parse(p->parser, x, &err);
	pthread_mutex_lock(&p->mu);
	p->parsing = false;
	if (rc) {
		kh_log(KH_DEBUG, "the host parses the rest: %s", err.msg);
		end(f);
	} else {
		take(f, x);
	}
	wake_all(f);
}

/* Joins texts, or parses, if that is possible. */
static bool go_on(kh_feed *f, uint32_t k)
{
	struct feed_parsed *p = f->parsed;
	kh_gzdev_part part[2];
	bool all = has_buffer(p), some = false;

	if (p->parsing || p->state != ON)
		return false;
	for (unsigned s = 0; s < f->n_streams; s++) {
		if (p->rest[s]) {
			const int rc = kh_gzdev_join(device_of(f, s));

			p->rest[s] = rc == 0;
			some = some || rc != 0;
			if (rc < 0) {
				end(f);
				return true;
			}
			if (rc > 0)     /* a run has a slot */
				wake_all(f);
		}
		all = has_text(f, s, &part[s]) && all;
	}
	if (all)
		parse(f, k, part);
	return some || all;
}

/* Does what a source wants next.  1: it was done; 0: nothing at present; < 0: there will be
 * no more text. */
static int serve_sources(kh_feed *f)
{
	struct feed_parsed *p = f->parsed;
	kh_gzdev_part part;
	kh_gz_step step;
	kh_err err = { 0, "" };
	int rc;

	for (unsigned s = 0; s < f->n_streams; s++) {
		if ((rc = feed_ask(f, &f->st[s], &step, &err)) < 0)
			return rc;
		if (rc > 0 && step.by_device.what != KH_GZDEV_WAIT) {
			feed_do(f, f->st[s].read.in, &step, &p->mu);
			/* there is a text, or a run, or a slot, whose chunks all may read */
			wake_all(f);
			return 1;
		}
		if (rc == 0 && !p->parsing && !has_text(f, s, &part) && !part.g)
			return KH_ECANCEL;
	}
	return 0;
}

int kh_feed_parsed(kh_feed *f, uint32_t k, bool wait, kh_job *job, kh_err *err)
{
	struct feed_parsed *p = f->parsed;
	int rc = -1, done;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->mu);
	if (p->state == NEW && !begin(f))
		end(f);
	else if (p->state == NEW)
		p->state = ON;
	while (rc < 0) {
		if (kh_monitor_stopped(f->m))
			break;
		if (give(f, job))
			rc = 1;
		else if (p->state == OFF)
			rc = 0;
		else if (go_on(f, k) || (done = serve_sources(f)) > 0)
			continue;
		else if (done < 0 && !p->parsing)
			end(f);
		else if (go_on(f, k))
			continue;
		else if (!wait)
			rc = KH_FEED_LATER;
		else
			await_change(f);
	}
	pthread_mutex_unlock(&p->mu);
	return rc < 0 ? kh_monitor_error(f->m, err) : rc;
}

void feed_parsed_release(kh_feed *f, const kh_parsed_there *t)
{
	struct feed_parsed *p = f->parsed;

	pthread_mutex_lock(&p->mu);
	const unsigned refs = --p->buffer[t->buffer].refs;
	pthread_mutex_unlock(&p->mu);
	if (refs == 0)
		wake_all(f);
}
