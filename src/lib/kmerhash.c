/*
 * kmerhash.c - the library: a database on its devices, and the threads that use it
 *
 * It has a slot for each thread: a queue of the engine, with the tasks that may be under way in
 * it.  A call takes a slot, and more if they are free and its batch is worth it, cuts the
 * batch into parts, and gives each part to the engine as a job, as run/flow.c does with the jobs
 * of files.
 */
#include <config.h>
#include "lib/kmerhash_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "db/in_use.h"
#include "run/load.h"

static_assert((int)KMERHASH_ENOMEM == KH_ENOMEM && (int)KMERHASH_EIO == KH_EIO &&
	      (int)KMERHASH_EFORMAT == KH_EFORMAT && (int)KMERHASH_EUSAGE == KH_EUSAGE &&
	      (int)KMERHASH_EDEVICE == KH_EDEVICE && (int)KMERHASH_ENODEV == KH_ENODEV,
	      "codes are passed on as they are");

/* The least bases of a part, as fewer are not worth a thread; and the most fragments, as their
 * calls take memory. */
enum { PART_BASES = 1 << 15, PART_READS = 1 << 15 };

/* One call of kmerhash_classify. */
struct run {
	kmerhash *k;
	const kmerhash_read *read;
	kmerhash_call *call;
	size_t n;
	uint64_t part;                  /* bases of a part */
	struct slot **slot;             /* by worker */
	kh_monitor *m;                  /* its lock protects the following */
	size_t next;                    /* read of the next part */
	size_t failed;                  /* the first part that failed began here; n: none has */
	kh_err err;
};

static void silent(void)
{
	kh_log_level(KH_SILENT);
}

int kh_lib_tell(kmerhash_error *error, int rc, const kh_err *err)
{
	if (rc && error) {
		error->code = rc;
		snprintf(error->message, sizeof error->message, "%s", err->msg);
	}
	return rc;
}

const char *kmerhash_version(void)
{
	return PACKAGE_VERSION;
}

/* --- opening ---------------------------------------------------------------------- */
static void add_second(kmerhash_call *c, const kh_second *x, const kh_taxonomy *tax)
{
	if (x->taxon == KH_NO_TAXON)
		return;
	c->second = tax->taxid[x->taxon];
	c->second_hits = x->hits < c->features ? x->hits : c->features;
}

/* A task is done: gives its calls to the caller. */
static int take_calls(void *arg, kh_task *t, kh_err *err)
{
	const kh_taxonomy *tax = ((const struct slot *)arg)->tax;
	const struct flight *f = (const void *)((const char *)t - offsetof(struct flight, task));

	(void)err;
	for (size_t i = 0; i < f->batch.n; i++) {
		const kh_call *c = &f->call[i];

		f->to[i] = (kmerhash_call) {
			.taxid = c->taxon == KH_NO_TAXON ? 0 : tax->taxid[c->taxon],
			.features = c->kmers, .hits = c->hits, .found = c->found
		};
		if (f->second)
			add_second(&f->to[i], &f->second[i], tax);
	}
	return KH_OK;
}

/* What is opened. */
struct paths {
	const char *const *v;
	size_t n;
};

static int open_all(kmerhash *k, const struct paths *p, const kmerhash_options *o, kh_err *err)
{
	const kh_load_options lo = { .db = p->v,
				     .n = p->n,
				     .on = &k->on,
				     .no_verify = o->no_verify != 0,
				     .stamps = true,
				     .confidence = o->confidence,
				     .want = o->want == KMERHASH_SECOND   ? KH_WANT_SECOND
					     : o->want == KMERHASH_SAMPLE ? KH_WANT_CANDIDATES
									  : KH_WANT_NONE,
				     .min_groups = 2 };
	const kh_compute_options co = { .on = &k->on,
					.rule = &k->rule,
					.block_size = k->on.choice.backend->read_block_size };
	const unsigned depth = k->on.choice.backend->depth;
	int rc = kh_load(&k->db, &k->rule, &lo, err);

	if (rc || (rc = kh_compute_open(&k->compute, k->db, &co, err)))
		return rc;
	k->slot = kh_array(k->n_slots, sizeof *k->slot, err);
	k->idle = kh_array(k->n_slots, sizeof *k->idle, err);
	if (!k->slot || !k->idle)
		return KH_ENOMEM;
	for (unsigned i = 0; i < k->n_slots; i++) {
		struct slot *s = &k->slot[i];

		*s = (struct slot) { .tax = k->db->tax, .depth = depth,
				     .tasks = kh_compute_tasks(&k->compute, i, take_calls, s),
				     .flight = kh_array(depth, sizeof *s->flight, err) };
		if (!s->flight)
			return KH_ENOMEM;
		k->idle[k->n_idle++] = s;
	}
	return KH_OK;
}

static int open_options(kmerhash **out, const struct paths *p, const kmerhash_options *o,
			kh_err *err)
{
	const kh_load_options lo = { .db = p->v, .n = p->n };
	kmerhash *k;
	int rc;

	if (!(o->confidence >= 0 && o->confidence <= 1))
		return kh_fail(err, KH_EUSAGE, "the confidence must be between 0 and 1, not %g",
			       o->confidence);
	if (o->want != KMERHASH_CALLS && o->want != KMERHASH_SECOND && o->want != KMERHASH_SAMPLE)
		return kh_fail(err, KH_EUSAGE, "`want` is %d, which is none of the values it may "
			       "have; where it was `precise`, a confidence of 0.3 serves", o->want);
	k = kh_array(1, sizeof *k, err);
	if (!k)
		return KH_ENOMEM;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->given, NULL);
	k->on.threads = k->n_slots = o->threads ? o->threads : kh_cpus();
	rc = kh_load_devices(&k->on.choice, o->device, &lo, err);
	if (!rc)
		rc = open_all(k, p, o, err);
	if (rc) {
		kmerhash_close(k);
		return rc;
	}
	*out = k;
	return KH_OK;
}

int kmerhash_open_several(kmerhash **k, const char *const *path, size_t n,
			  const kmerhash_options *options, kmerhash_error *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const kmerhash_options defaults = { .device = NULL };
	const struct paths p = { path, n };
	kh_err err = { 0, "" };
	int rc;

	pthread_once(&once, silent);
	rc = n > 0 ? open_options(k, &p, options ? options : &defaults, &err)
		   : kh_fail(&err, KH_EUSAGE, "no database is named");
	return kh_lib_tell(error, rc, &err);
}

int kmerhash_open(kmerhash **k, const char *path, const kmerhash_options *options,
		  kmerhash_error *error)
{
	return kmerhash_open_several(k, &path, 1, options, error);
}

void kmerhash_close(kmerhash *k)
{
	if (!k)
		return;
	if (k->compute.be)              /* first, as tasks under way use memory of the slots */
		kh_compute_close(&k->compute);
	for (unsigned i = 0; k->slot && i < k->n_slots; i++) {
		struct slot *s = &k->slot[i];

		for (unsigned f = 0; s->flight && f < s->depth; f++) {
			kh_batch_free(&s->flight[f].batch);
			free(s->flight[f].call);
			free(s->flight[f].second);
		}
		free(s->flight);
	}
	kh_db_close(k->db);
	pthread_cond_destroy(&k->given);
	pthread_mutex_destroy(&k->lock);
	free(k->idle);
	free(k->slot);
	free(k);
}

/* --- slots -------------------------------------------------------------------------- */
unsigned kh_lib_take_slots(kmerhash *k, unsigned least, unsigned want, struct slot **slot)
{
	unsigned n = 0;

	pthread_mutex_lock(&k->lock);
	while (k->n_idle < least)
		pthread_cond_wait(&k->given, &k->lock);
	while (n < want && k->n_idle > 0)
		slot[n++] = k->idle[--k->n_idle];
	pthread_mutex_unlock(&k->lock);
	return n;
}

void kh_lib_give_slots(kmerhash *k, struct slot **slot, unsigned n)
{
	pthread_mutex_lock(&k->lock);
	for (unsigned i = 0; i < n; i++)
		k->idle[k->n_idle++] = slot[i];
	pthread_cond_broadcast(&k->given);
	pthread_mutex_unlock(&k->lock);
}

/* --- classifying -------------------------------------------------------------------- */
static uint64_t bases_of(const kmerhash_read *r)
{
	return (uint64_t)r->length + (r->mate ? r->mate_length : 0);
}

/* The next reads of the batch that make a job: all pairs, or none.  Parts are taken in order, and
 * one that was taken is finished; so no error in front of the first one is missed. */
static size_t next_part(struct run *r, size_t *from)
{
	uint64_t bases = 0;
	size_t i;

	kh_monitor_lock(r->m);
	*from = i = r->next;
	while (r->failed == r->n && i < r->n && bases < r->part && i - *from < PART_READS &&
	       !r->read[i].mate == !r->read[*from].mate)
		bases += bases_of(&r->read[i++]);
	r->next = i;
	kh_monitor_unlock(r->m);
	return i - *from;
}

static int pack(struct flight *f, const struct run *r, size_t from, size_t n, kh_err *err)
{
	int rc = KH_GROW(f->call, f->cap_call, n, err);

	if (!rc && r->k->rule.want == KH_WANT_SECOND)
		rc = KH_GROW(f->second, f->cap_second, n, err);
	kh_batch_reset(&f->batch);
	f->batch.parsed.mask.u = r->k->db->k2 != NULL;
	f->to = r->call + from;
	for (size_t i = from; i < from + n && !rc; i++) {
		const kmerhash_read *read = &r->read[i];
		const kh_bases seq = { read->sequence, read->length };
		const kh_bases mate = { read->mate, read->mate_length };

		rc = kh_batch_add(&f->batch, &seq, &mate, i, err);
	}
	f->task = (kh_task) { .job = rc ? NULL : kh_batch_job(&f->batch), .call = f->call,
			      .second = f->second };
	return rc;
}

static int submit(const struct run *r, struct slot *s, size_t from, size_t n, kh_err *err)
{
	struct flight *f = &s->flight[s->next];
	int rc = kh_tasks_make_way(&s->tasks, err);

	if (!rc)
		rc = pack(f, r, from, n, err);
	s->next = (s->next + 1) % s->depth;
	return rc ? rc : kh_tasks_submit(&s->tasks, &f->task, err);
}

/* Notes a failure rather than return it, as the others finish what they have taken. */
static int work(void *arg, unsigned worker, kh_err *unused)
{
	struct run *r = arg;
	struct slot *s = r->slot[worker];
	kh_err err = { 0, "" };
	size_t from, n;
	int rc = KH_OK;

	(void)unused;
	while (!rc && (n = next_part(r, &from)) > 0)
		rc = submit(r, s, from, n, &err);
	if (!rc)
		rc = kh_tasks_drain(&s->tasks, &err);
	if (rc) {
		kh_monitor_lock(r->m);
		if (from == r->n)       /* all were submitted */
			from--;
		if (from < r->failed) {
			r->failed = from;
			r->err = err;
		}
		kh_monitor_unlock(r->m);
		kh_tasks_drop(&s->tasks);
	}
	return KH_OK;
}

/* Uses as many threads as there are slots and parts. */
static int hand_out(struct run *r, uint64_t bases, kh_err *err)
{
	kmerhash *k = r->k;
	const uint64_t most = (k->compute.be->block_size ? k->compute.be->block_size
							 : KH_BLOCK_SIZE) / 2;
	const uint64_t parts = bases / PART_BASES + r->n / PART_READS + 1;
	const unsigned want = parts < k->n_slots ? (unsigned)parts : k->n_slots;
	unsigned n;
	int rc;

	r->slot = kh_array(want, sizeof *r->slot, err);
	if (!r->slot)
		return KH_ENOMEM;
	n = kh_lib_take_slots(k, 1, want, r->slot);
	r->part = bases / n / 2 + 1;
	r->part = r->part < PART_BASES ? PART_BASES : r->part < most ? r->part : most;
	rc = n > 1 ? kh_threads_run(r->m, n, work, r, err) : work(r, 0, err);
	kh_lib_give_slots(k, r->slot, n);
	free(r->slot);
	if (!rc && r->failed < r->n) {
		*err = r->err;
		rc = err->code;
	}
	return kh_db_reason(k->db, rc, err);
}

static int classify(struct run *r, kh_err *err)
{
	uint64_t bases = 0;
	int rc;

	for (size_t i = 0; i < r->n; i++) {
		if (!r->read[i].sequence && r->read[i].length > 0)
			return kh_fail(err, KH_EUSAGE, "read %zu: %zu bases at NULL", i + 1,
				       r->read[i].length);
		bases += bases_of(&r->read[i]);
	}
	rc = kh_monitor_new(&r->m, err);
	if (!rc)
		rc = hand_out(r, bases, err);
	kh_monitor_free(r->m);
	return rc;
}

int kmerhash_classify(kmerhash *k, const kmerhash_read *read, size_t n, kmerhash_call *call,
		      kmerhash_error *error)
{
	struct run r = { .k = k, .read = read, .call = call, .n = n, .failed = n };
	kh_err err = { 0, "" };

	return n == 0 ? KMERHASH_OK : kh_lib_tell(error, classify(&r, &err), &err);
}

/* --- taxonomy ------------------------------------------------------------------------- */
uint32_t kmerhash_taxa(const kmerhash *k)
{
	return k->db->tax->n;
}

int kmerhash_taxon_at(const kmerhash *k, uint32_t i, kmerhash_taxon *taxon)
{
	const kh_taxonomy *t = k->db->tax;

	if (i >= t->n)
		return 0;
	*taxon = (kmerhash_taxon) { .taxid = t->taxid[i],
				    .parent = i == 0 ? 0 : t->taxid[t->parent[i]],
				    .name = t->names + t->name[i],
				    .rank = kh_rank_name(t->rank[i]) };
	return 1;
}

int kmerhash_taxon_find(const kmerhash *k, uint32_t taxid, kmerhash_taxon *taxon)
{
	return kmerhash_taxon_at(k, kh_taxonomy_find(k->db->tax, taxid), taxon);
}

uint32_t kmerhash_taxon_above(const kmerhash *k, uint32_t taxid, const char *rank)
{
	const kh_taxonomy *t = k->db->tax;
	const bool domain = strcmp(rank, "domain") == 0 || strcmp(rank, "superkingdom") == 0;
	uint32_t i = kh_taxonomy_find(t, taxid);

	if (i == KH_NO_TAXON)
		return 0;
	while (domain ? t->letter[i] != 'D' : strcmp(kh_rank_name(t->rank[i]), rank) != 0) {
		if (i == 0)
			return 0;
		i = t->parent[i];
	}
	return t->taxid[i];
}

uint32_t kmerhash_taxon_common(const kmerhash *k, uint32_t a, uint32_t b)
{
	const kh_tree tree = kh_taxonomy_tree(k->db->tax);
	const uint32_t i = kh_taxonomy_find(k->db->tax, a), j = kh_taxonomy_find(k->db->tax, b);

	if (i == KH_NO_TAXON || j == KH_NO_TAXON)
		return 0;
	return k->db->tax->taxid[i < j ? kh_tree_lca(&tree, i, j) : kh_tree_lca(&tree, j, i)];
}
