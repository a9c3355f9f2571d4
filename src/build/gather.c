/* build_ranks.c - what the ranks of a build tell each other about the references */
#include <config.h>
#include "build_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "mem.h"

/* What each rank gave: kh_comm_all_to_all with room for it. */
struct mail {
	unsigned size;
	void **recv;
	size_t *got;
};

static void mail_clear(struct mail *m)
{
	for (unsigned r = 0; m->recv && r < m->size; r++)
		free(m->recv[r]);
	free(m->recv);
	free(m->got);
	*m = (struct mail) { .recv = NULL };
}

/* n bytes of each rank, to rank 0 alone or to all. */
static int gather(struct mail *m, kh_comm *c, const kh_db_stretch *give, bool to_all, kh_err *err)
{
	const void **send = kh_array(kh_comm_size(c), sizeof *send, err);
	size_t *n = send ? kh_array(kh_comm_size(c), sizeof *n, err) : NULL;
	int rc;

	*m = (struct mail) { .size = kh_comm_size(c) };
	m->recv = n ? kh_array(m->size, sizeof *m->recv, err) : NULL;
	m->got = m->recv ? kh_array(m->size, sizeof *m->got, err) : NULL;
	rc = m->got ? KH_OK : KH_ENOMEM;
	for (unsigned r = 0; r < m->size && !rc; r++) {
		send[r] = give->p;
		n[r] = r == 0 || to_all ? give->n : 0;
	}
	if (!rc)
		rc = kh_comm_all_to_all(c, send, n, m->recv, m->got, err);
	free(send);
	free(n);
	return rc;
}

/* What all ranks must have alike. */
struct facts {
	char tool[128];                 /* version and backend */
	kh_sketch sketch;
	uint32_t max_span, allow;
	uint64_t n_refs;
};

static int compare(const struct mail *m, unsigned rank, kh_err *err)
{
	const struct facts *f = m->recv[rank], *first = m->recv[0];

	if (m->got[rank] != m->got[0] || m->got[0] != sizeof *f)
		return kh_fail(err, KH_EUSAGE, "rank %u is another version of this program", rank);
	if (memcmp(f->tool, first->tool, sizeof f->tool) != 0)
		return kh_fail(err, KH_EUSAGE, "rank %u runs %.127s, rank 0 %.127s: all must run the same "
			       "(--device)", rank, f->tool, first->tool);
	if (memcmp(f, first, sizeof *f) != 0)
		return kh_fail(err, KH_EUSAGE, "rank %u was started with other options than rank 0", rank);
	return KH_OK;
}

int kh_build_agree(const struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	struct facts me;
	struct mail m;
	int rc;

	if (!o->comm)
		return KH_OK;
	if (kh_comm_size(o->comm) > KH_MEMBERS_MAX)
		return kh_fail(err, KH_EUSAGE, "%u ranks are more than %d", kh_comm_size(o->comm), KH_MEMBERS_MAX);
	memset(&me, 0, sizeof me);
	snprintf(me.tool, sizeof me.tool, "%s on %s", PACKAGE_STRING, b->choice.backend->name);
	me.sketch = o->sketch;
	me.max_span = o->max_span;
	me.allow = (uint32_t)o->allow_duplicates << 1 | o->allow_no_eof;
	me.n_refs = o->n_refs;
	rc = gather(&m, o->comm, &(kh_db_stretch) { &me, sizeof me }, true, err);
	for (unsigned r = 1; r < m.size && !rc; r++)
		rc = compare(&m, r, err);
	mail_clear(&m);
	return rc;
}

/* Each rank has read the taxonomy by itself; what it made of it must be what rank 0 did. */
int kh_build_same_taxa(const struct build *b, kh_err *err)
{
	const kh_taxonomy *t = b->tax;
	const size_t four = sizeof *t->taxid;
	uint64_t sum[2] = { XXH3_64bits(b->taxon, b->n_targets * four), t->n };
	struct mail m;
	int rc;

	if (!b->o->comm)
		return KH_OK;
	sum[0] = kh_fmix64(sum[0] ^ XXH3_64bits(t->taxid, t->n * four));
	sum[0] = kh_fmix64(sum[0] ^ XXH3_64bits(t->parent, t->n * four));
	sum[0] = kh_fmix64(sum[0] ^ XXH3_64bits(t->rank, t->n));
	rc = gather(&m, b->o->comm, &(kh_db_stretch) { sum, sizeof sum }, true, err);
	for (unsigned r = 1; r < m.size && !rc; r++)
		if (m.got[r] != sizeof sum || memcmp(m.recv[r], m.recv[0], sizeof sum) != 0)
			rc = kh_fail(err, KH_EFORMAT, "rank %u has another taxonomy than rank 0 (%s)", r, b->o->taxonomy);
	mail_clear(&m);
	return rc;
}

int kh_build_share(const struct build *b, void *p, size_t n, kh_err *err)
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

/* --- sequences -------------------------------------------------------------------------- */
/* What a rank says in front of its kh_ref. */
struct preface {
	uint64_t bins, ids, first_file;
};

/* The sequences of all ranks, for those of this one. */
static int join_refs(struct build *b, const struct mail *m, kh_err *err)
{
	kh_refs *r = &b->refs;
	uint64_t bin = 0, id = 0;
	int rc = kh_grow((void **)&r->ref, &r->cap, (size_t)b->all.sequences, sizeof *r->ref, err);

	if (rc)
		return rc;
	r->n = 0;
	for (unsigned k = 0; k < m->size; k++) {
		const kh_ref *from = (const kh_ref *)((char *)m->recv[k] + sizeof(struct preface));
		size_t n = (m->got[k] - sizeof(struct preface)) / sizeof *from;
		struct preface p;

		memcpy(&p, m->recv[k], sizeof p);
		if (k == kh_comm_rank(b->o->comm)) {
			b->first_seq = r->n;
			b->first_bin = (uint32_t)bin;
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
	return KH_OK;
}

/* Rank 0: the ids of all, and whether one occurs twice. */
static int join_ids(struct build *b, const struct mail *m, kh_err *err)
{
	kh_refs *r = &b->refs;
	int rc = KH_OK;

	r->ids_len = 0;
	for (unsigned k = 0; k < m->size && !rc; k++) {
		rc = kh_grow((void **)&r->ids, &r->cap_ids, r->ids_len + m->got[k] + 1, 1, err);
		if (!rc)
			memcpy(r->ids + r->ids_len, m->recv[k], m->got[k]);
		r->ids_len += m->got[k];
	}
	while (!rc && r->n_numbered < r->n)
		rc = kh_refs_number(r, b->o->refs[r->ref[r->n_numbered].file], err);
	return rc;
}

int kh_build_gather(struct build *b, kh_err *err)
{
	kh_refs *r = &b->refs;
	const struct preface p = { r->next_bin, r->ids_len, b->first_file };
	const size_t bytes = r->n * sizeof *r->ref;
	kh_db_stretch give = { NULL, sizeof p + bytes };
	struct mail refs = { .recv = NULL }, ids = { .recv = NULL };
	char *text;
	int rc;

	b->n_own = r->n;
	if (!b->o->comm)
		return KH_OK;
	give.p = text = malloc(give.n);
	if (!text)
		return kh_fail_nomem(err);
	memcpy(text, &p, sizeof p);
	if (bytes > 0)
		memcpy(text + sizeof p, r->ref, bytes);
	rc = gather(&refs, b->o->comm, &give, true, err);
	free(text);
	if (!rc)
		rc = join_refs(b, &refs, err);
	mail_clear(&refs);
	if (!rc)
		rc = gather(&ids, b->o->comm, &(kh_db_stretch) { r->ids, p.ids }, false, err);
	if (!rc && kh_comm_rank(b->o->comm) == 0)
		rc = join_ids(b, &ids, err);
	mail_clear(&ids);
	return rc;
}

/* --- the file ---------------------------------------------------------------------------------- */
int kh_build_create(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	const bool first = kh_comm_rank(c) == 0;
	struct mail m;
	int rc = first ? kh_db_create(&b->w, b->o->db, err) : KH_OK;

	if (rc || !c)
		return rc;
	kh_db_stretch name = { first ? kh_db_file(b->w) : NULL, 0 };
	name.n = first ? strlen(name.p) + 1 : 0;
	rc = gather(&m, c, &name, true, err);
	if (!rc && !first)
		rc = kh_db_join(&b->w, b->o->db, m.recv[0], err);
	mail_clear(&m);
	return rc ? rc : kh_comm_barrier(c, err);       /* no one takes it away before all have it */
}

/* The ranges of all ranks, each with what it has found in its lists, behind one another. */
static int join_ranges(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	struct mail m;
	uint64_t at = 0;
	size_t n = 0;
	int rc = gather(&m, c, &(kh_db_stretch) { b->dir, b->ranges * sizeof *b->dir }, true, err);

	for (unsigned r = 0; r < m.size && !rc; r++) {
		const size_t ranges = m.got[r] / sizeof *b->dir;

		if (ranges > KH_RANGES - n)
			rc = kh_fail(err, KH_EIO, "the ranks made more than %d ranges", KH_RANGES);
		else
			memcpy(b->dir + n, m.recv[r], m.got[r]);
		for (size_t i = 0; i < ranges && !rc; i++, n++) {
			b->dir[n].first_bucket += at / 64;
			b->dir[n].first_loc += at / 4;
		}
		if (ranges > 0 && !rc)
			at = b->dir[n - 1].first_bucket * 64 + kh_range_bytes(&b->dir[n - 1]);
	}
	mail_clear(&m);
	assert(rc || n == KH_RANGES);
	return rc ? rc : kh_comm_sum(c, &b->sum->header.locations, 1, err);
}

int kh_build_join(struct build *b, kh_err *err)
{
	int rc;

	if (!b->o->comm)
		return KH_OK;
	rc = kh_db_append_ranks(b->w, b->o->comm, b->kept, b->ranges, b->o->threads, err);
	return rc ? rc : join_ranges(b, err);
}
