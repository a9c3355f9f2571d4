/* gather.c - what the processes of a build tell each other about the references */
#include <config.h>
#include "build/build_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"

/* What must be the same in all processes. */
struct facts {
	char tool[128];                 /* version and backend */
	kh_sampling sampling;
	uint32_t max_span, max_locations, allow;
	uint64_t n_refs, max_db_size;
};

static int compare(const kh_mail *m, unsigned peer, kh_err *err)
{
	const struct facts *f = m->recv[peer], *first = m->recv[0];

	if (m->got[peer] != m->got[0] || m->got[0] != sizeof *f)
		return kh_fail(err, KH_EUSAGE, "process %u is another version of this program",
			       peer);
	if (memcmp(f->tool, first->tool, sizeof f->tool) != 0)
		return kh_fail(err, KH_EUSAGE,
			       "process %u runs %.127s, process 0 %.127s: all must run the same "
			       "(--device)",
			       peer, f->tool, first->tool);
	if (memcmp(f, first, sizeof *f) != 0)
		return kh_fail(err, KH_EUSAGE,
			       "process %u was started with other options than process 0", peer);
	return KH_OK;
}

int kh_build_agree(const struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	struct facts me;
	kh_mail m;
	int rc;

	if (!o->comm)
		return KH_OK;
	if (kh_comm_size(o->comm) > KH_MEMBERS_MAX)
		return kh_fail(err, KH_EUSAGE, "%u processes are more than %d",
			       kh_comm_size(o->comm), KH_MEMBERS_MAX);
	memset(&me, 0, sizeof me);
	snprintf(me.tool, sizeof me.tool, "%s on %s", PACKAGE_STRING, b->on.choice.backend->name);
	me.sampling = o->sampling;
	me.max_span = o->max_span;
	me.max_locations = o->max_locations;
	me.allow = (uint32_t)o->allow_duplicates << 1 | o->allow_no_eof;
	me.n_refs = o->n_refs;
	me.max_db_size = o->max_db_size;
	rc = kh_comm_gather(o->comm, &me, sizeof me, true, &m, err);
	for (unsigned r = 1; r < m.size && !rc; r++)
		rc = compare(&m, r, err);
	kh_mail_clear(&m);
	return rc;
}

/* Each process has read the taxonomy by itself, and must have found the same as process 0. */
int kh_build_same_taxa(const struct build *b, kh_err *err)
{
	const kh_taxonomy *t = b->taxa.tax;
	const size_t four = sizeof *t->taxid;
	uint64_t sum[2] = { XXH3_64bits(b->taxa.taxon, b->taxa.n_targets * four), t->n };
	kh_mail m;
	int rc;

	if (!b->o->comm)
		return KH_OK;
	sum[0] = kh_fmix64(sum[0] ^ XXH3_64bits(t->taxid, t->n * four));
	sum[0] = kh_fmix64(sum[0] ^ XXH3_64bits(t->parent, t->n * four));
	sum[0] = kh_fmix64(sum[0] ^ XXH3_64bits(t->rank, t->n));
	rc = kh_comm_gather(b->o->comm, sum, sizeof sum, true, &m, err);
	for (unsigned r = 1; r < m.size && !rc; r++)
		if (m.got[r] != sizeof sum || memcmp(m.recv[r], m.recv[0], sizeof sum) != 0)
			rc = kh_fail(err, KH_EFORMAT,
				     "process %u has another taxonomy than process 0 (%s)", r,
				     b->o->taxonomy ? b->o->taxonomy : "lineages");
	kh_mail_clear(&m);
	return rc;
}

int kh_build_broadcast(const struct build *b, void *p, size_t n, kh_err *err)
{
	return b->o->comm ? kh_comm_broadcast(b->o->comm, 0, p, n, err) : KH_OK;
}

int kh_build_total(struct build *b, kh_err *err)
{
	uint64_t x[3] = { b->refs.bases, b->refs.next_bin, b->refs.n };
	int rc = b->o->comm ? kh_comm_sum(b->o->comm, x, 3, err) : KH_OK;

	b->all = (struct totals) { x[0], x[1], x[2] };
	return rc;
}

/* --- sequences -------------------------------------------------------------------- */
/* What a process sends before its array of kh_ref. */
struct preface {
	uint64_t bins, ids, first_file;
};

static int fail_mail(unsigned peer, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EIO, "process %u sent %s in a way that is not this version's", peer,
		       what);
}

/* Do these sequences of a process fit the counts, and refer to files that exist? */
static bool are_sound(const struct build *b, const kh_mail *m, unsigned peer)
{
	const size_t left = (size_t)b->all.sequences - b->refs.n;
	struct preface p;

	if (m->got[peer] < sizeof p)
		return false;
	memcpy(&p, m->recv[peer], sizeof p);
	const kh_ref *ref = (const kh_ref *)((const char *)m->recv[peer] + sizeof p);
	const size_t bytes = m->got[peer] - sizeof p, n = bytes / sizeof *ref;

	if (bytes % sizeof *ref || n > left || p.first_file > b->o->n_refs)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ref[i].id >= p.ids || ref[i].file >= b->o->n_refs - p.first_file)
			return false;
	return true;
}

/* Replaces the sequences of this process by those of all. */
static int join_refs(struct build *b, const kh_mail *m, kh_err *err)
{
	kh_refs *r = &b->refs;
	uint64_t bin = 0, id = 0;
	int rc = KH_GROW(r->ref, r->cap, (size_t)b->all.sequences, err);

	if (rc)
		return rc;
	r->n = 0;
	for (unsigned k = 0; k < m->size; k++) {
		const kh_ref *from = (const kh_ref *)((char *)m->recv[k] + sizeof(struct preface));
		size_t n = (m->got[k] - sizeof(struct preface)) / sizeof *from;
		struct preface p;

		if (!are_sound(b, m, k))
			return fail_mail(k, "its sequences", err);
		memcpy(&p, m->recv[k], sizeof p);
		if (k == kh_comm_self(b->o->comm)) {
			b->mine.first_seq = r->n;
			b->mine.first_bin = (uint32_t)bin;
		}
		for (size_t i = 0; i < n; i++) {
			kh_ref x = from[i];

			x.id += id;
			x.first_bin += (uint32_t)bin;
			x.file += (uint32_t)p.first_file;
			r->ref[r->n++] = x;
		}
		bin += p.bins;
		id += p.ids;
	}
	r->next_bin = bin;
	r->bases = b->all.bases;
	return r->n == b->all.sequences && bin == b->all.bins ? KH_OK
	       : kh_fail(err, KH_EIO, "the processes sent %zu sequences of %llu", r->n,
			 (unsigned long long)b->all.sequences);
}

/* Process 0: takes the ids of all processes, and fails if one occurs twice. */
static int join_ids(struct build *b, const kh_mail *m, kh_err *err)
{
	kh_refs *r = &b->refs;
	int rc;

	r->ids.n = 0;
	for (unsigned k = 0; k < m->size; k++) {
		const char *text = m->recv[k];

		if (m->got[k] > 0 && text[m->got[k] - 1] != 0)
			return fail_mail(k, "its ids", err);
		kh_buf_add(&r->ids, text, m->got[k]);
	}
	rc = kh_buf_check(&r->ids, err);
	for (size_t i = 0; i < r->n && !rc; i++)
		if (r->ref[i].id >= r->ids.n)
			rc = kh_fail(err, KH_EIO, "the id of sequence %zu was not sent", i + 1);
	while (!rc && r->n_numbered < r->n)
		rc = kh_refs_number(r, b->o->refs[r->ref[r->n_numbered].file], err);
	return rc;
}

int kh_build_gather(struct build *b, kh_err *err)
{
	kh_refs *r = &b->refs;
	const struct preface p = { r->next_bin, r->ids.n, b->mine.first_file };
	const size_t bytes = r->n * sizeof *r->ref;
	kh_mail refs = { .recv = NULL }, ids = { .recv = NULL };
	char *text;
	int rc;

	b->mine.n_own = r->n;
	if (!b->o->comm)
		return KH_OK;
	text = malloc(sizeof p + bytes);
	if (!text)
		return kh_fail_nomem(err);
	memcpy(text, &p, sizeof p);
	if (bytes > 0)
		memcpy(text + sizeof p, r->ref, bytes);
	rc = kh_comm_gather(b->o->comm, text, sizeof p + bytes, true, &refs, err);
	free(text);
	if (!rc)
		rc = join_refs(b, &refs, err);
	kh_mail_clear(&refs);
	if (!rc)
		rc = kh_comm_gather(b->o->comm, r->ids.p, p.ids, false, &ids, err);
	if (!rc && kh_comm_self(b->o->comm) == 0)
		rc = join_ids(b, &ids, err);
	kh_mail_clear(&ids);
	return rc;
}

/* --- excerpts --------------------------------------------------------------------- */
/* Process 0: takes those of a process. */
static int take_excerpts(struct build *b, const kh_mail *m, unsigned peer, kh_err *err)
{
	kh_excerpts *e = &b->excerpts;
	const size_t n = m->got[peer] / sizeof *e->v;
	int rc = m->got[peer] % sizeof *e->v ? fail_mail(peer, "its excerpts", err) : KH_OK;

	if (!rc)
		rc = KH_GROW(e->v, e->cap, e->n + n, err);
	if (!rc && n > 0)
		memcpy(e->v + e->n, m->recv[peer], n * sizeof *e->v);
	for (size_t i = 0; i < n && !rc; i++)
		if (e->v[e->n + i].seq >= b->refs.n)
			rc = fail_mail(peer, "an excerpt", err);
	e->n += rc ? 0 : n;
	return rc;
}

int kh_build_gather_excerpts(struct build *b, kh_err *err)
{
	kh_excerpts *e = &b->excerpts, *from = kh_array(b->o->threads, sizeof *from, err);
	kh_mail m = { .recv = NULL };
	int rc = KH_ENOMEM;

	for (unsigned i = 0; from && i < b->o->threads; i++) {
		from[i] = b->in.worker[i].excerpts;
		for (size_t k = 0; k < from[i].n; k++)
			from[i].v[k].seq += b->mine.first_seq;
	}
	if (from)
		rc = kh_excerpts_join(e, from, b->o->threads, err);
	for (unsigned i = 0; i < b->o->threads; i++) {
		free(b->in.worker[i].excerpts.v);
		b->in.worker[i].excerpts = (kh_excerpts) { NULL, 0, 0 };
	}
	free(from);
	if (rc || !b->o->comm)
		return rc;
	rc = kh_comm_gather(b->o->comm, e->v, e->n * sizeof *e->v, false, &m, err);
	e->n = 0;
	for (unsigned r = 0; r < m.size && !rc && kh_comm_self(b->o->comm) == 0; r++)
		rc = take_excerpts(b, &m, r, err);
	kh_mail_clear(&m);
	return rc;
}

/* --- the file --------------------------------------------------------------------- */
int kh_build_create(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	const bool first = kh_comm_self(c) == 0;
	kh_mail m;
	int rc = first ? kh_db_create(&b->out.w, b->o->db, err) : KH_OK;

	if (rc || !c)
		return rc;
	const char *name = first ? kh_db_file(b->out.w) : "";
	rc = kh_comm_gather(c, name, first ? strlen(name) + 1 : 0, true, &m, err);
	if (!rc && (m.got[0] == 0 || ((const char *)m.recv[0])[m.got[0] - 1] != 0))
		rc = fail_mail(0, "the name of its file", err);
	if (!rc && !first)
		rc = kh_db_join(&b->out.w, b->o->db, m.recv[0], err);
	kh_mail_clear(&m);
	/* so that the file is not removed before all have opened it */
	return rc ? rc : kh_comm_barrier(c, err);
}

/* Puts the ranges of all processes behind one another, with the counts of their lists. */
static int join_ranges(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	kh_mail m;
	uint64_t at = 0;
	size_t n = 0;
	int rc = kh_comm_gather(c, b->out.dir, b->out.ranges * sizeof *b->out.dir, true, &m, err);

	for (unsigned r = 0; r < m.size && !rc; r++) {
		const size_t ranges = m.got[r] / sizeof *b->out.dir;

		if (m.got[r] % sizeof *b->out.dir || ranges > KH_RANGES - n)
			rc = kh_fail(err, KH_EIO, "the processes made more than %d ranges",
				     KH_RANGES);
		else
			memcpy(b->out.dir + n, m.recv[r], m.got[r]);
		for (size_t i = 0; i < ranges && !rc; i++, n++) {
			b->out.dir[n].first_bucket += at / 64;
			b->out.dir[n].first_loc += at / 4;
		}
		if (ranges > 0 && !rc)
			at = b->out.dir[n - 1].first_bucket * 64 +
			     kh_range_bytes(&b->out.dir[n - 1], b->taxa.bins.bins.bits);
	}
	kh_mail_clear(&m);
	assert(rc || n == KH_RANGES);
	return rc ? rc : kh_comm_sum(c, &b->sum->header.locations, 1, err);
}

int kh_build_join(struct build *b, kh_err *err)
{
	int rc;

	if (!b->o->comm)
		return KH_OK;
	rc = kh_db_append_parts(b->out.w, b->o->comm, b->out.kept, b->out.ranges,
				b->o->threads, err);
	return rc ? rc : join_ranges(b, err);
}
