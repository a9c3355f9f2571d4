#include <config.h>
#include "run/volumes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match.h"
#include "db/join.h"

#define SHARED UINT32_MAX
#define GROUP KH_ANSWERS_GROUP

struct volume {
	kh_answers_in *in;
	kh_least least;
	bool compared;                  /* fragments that have its seeds are */
};

struct kh_volumes {
	const kh_joined *all;
	kh_tree tree;
	uint32_t want;
	kh_least least;
	struct volume *volume;          /* all->n; in the order of the databases */
	uint32_t *owner;                /* by species: 1 + the volume that has it, or SHARED */
};

/* --- opening ------------------------------------------------------------------------------- */
static int fail_head(const kh_answers_in *f, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EUSAGE, "%s: these candidates %s", kh_answers_in_path(f), what);
}

/* The number of the volume that a file is of. */
static int find_volume(const kh_volumes *p, const kh_answers_in *f, unsigned *i, kh_err *err)
{
	const kh_answers_head *h = kh_answers_in_head(f);
	const char *const want[] = { "with neither --sample-pass nor --set second-best",
				     "with --sample-pass", "with --set second-best" };

	for (*i = 0; *i < p->all->n && p->all->volume[*i]->h->self != h->db; ++*i)
		;
	if (*i == p->all->n)
		return fail_head(f, "are of none of the databases", err);
	if (strncmp(h->tool, PACKAGE_STRING, sizeof h->tool) != 0)
		return fail_head(f, "were made by another version than " PACKAGE_STRING, err);
	if (h->n_taxa != p->all->volume[*i]->h->n_taxa)
		return fail_head(f, "are of none of the databases", err);
	if (h->want != p->want)
		return kh_fail(err, KH_EUSAGE, "%s: to be joined so, these candidates are to be "
			       "made %s", kh_answers_in_path(f), want[p->want]);
	if (p->volume[*i].in)
		return kh_fail(err, KH_EUSAGE, "%s and %s are of the same database",
			       kh_answers_in_path(p->volume[*i].in), kh_answers_in_path(f));
	return KH_OK;
}

static int open_file(kh_volumes *p, const char *path, kh_err *err)
{
	kh_answers_in *f = NULL;
	unsigned i;
	int rc = kh_answers_in_open(&f, path, err);

	if (!rc)
		rc = find_volume(p, f, &i, err);
	if (rc)
		kh_answers_in_close(f);
	else
		p->volume[i].in = f;
	return rc;
}

/* Each volume has a file, and all are of the same reads. */
static int check_files(const kh_volumes *p, kh_err *err)
{
	for (unsigned i = 0; i < p->all->n; i++)
		if (!p->volume[i].in)
			return kh_fail(err, KH_EUSAGE, "%s: no --join has its candidates",
				       p->all->volume[i]->path);
	for (unsigned i = 1; i < p->all->n; i++) {
		const kh_answers_tail *a = kh_answers_in_tail(p->volume[0].in);
		const kh_answers_tail *b = kh_answers_in_tail(p->volume[i].in);

		if (a->fragments != b->fragments || a->reads != b->reads)
			return kh_fail(err, KH_EFORMAT, "%s and %s are of different reads: %"
				       PRIu64 " and %" PRIu64 " fragments",
				       kh_answers_in_path(p->volume[0].in),
				       kh_answers_in_path(p->volume[i].in), a->fragments,
				       b->fragments);
	}
	return KH_OK;
}

int kh_volumes_can_join(const kh_db *db, kh_err *err)
{
	if (db->h->max_bytes == 0 || db->h->least == 0)
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "%s leaves out k-mers, as it was built with --max-db-size: "
		       "it cannot be a part that --join takes", db->path);
}

/* All volumes look up the same seeds. */
static int check_seeds(const kh_joined *all, kh_err *err)
{
	const kh_db *a = all->volume[0];
	int rc = kh_volumes_can_join(a, err);

	for (unsigned i = 1; i < all->n && !rc; i++) {
		const kh_db *b = all->volume[i];

		rc = kh_volumes_can_join(b, err);
		if (!rc && a->h->no_repeats != b->h->no_repeats)
			rc = kh_fail(err, KH_EUSAGE, "%s was built with --set keep-repeats, and %s "
				     "without it: they cannot be joined",
				     a->h->no_repeats ? b->path : a->path,
				     a->h->no_repeats ? a->path : b->path);
		else if (!rc && a->h->least != b->h->least)
			rc = kh_fail(err, KH_EUSAGE, "%s and %s leave out different shares of "
				     "their k-mers and cannot be joined: build each part with "
				     "--set total-bases of all references", a->path, b->path);
	}
	return rc;
}

/* A volume has its taxa in the order of all. */
static int check_volume(const kh_volumes *p, unsigned i, kh_err *err)
{
	const kh_db *db = p->all->volume[i];
	const uint32_t *number = p->all->number[i];

	for (uint32_t t = 1; t < db->h->n_taxa; t++)
		if (number[t - 1] >= number[t])
			return kh_fail(err, KH_EUSAGE, "%s: its taxa have another order than those "
				       "of all parts", db->path);
	return KH_OK;
}

/* Notes which volume has a species, and which are in several. */
static void find_owners(kh_volumes *p)
{
	for (unsigned i = 0; i < p->all->n; i++) {
		const kh_db *db = p->all->volume[i];

		for (uint32_t t = 0; t < db->h->n_targets; t++) {
			const uint32_t taxon = p->all->number[i][db->target[t].taxon];
			uint32_t *owner = &p->owner[kh_tree_own_species(&p->tree, taxon)];

			*owner = *owner == 0 || *owner == i + 1 ? i + 1 : SHARED;
		}
	}
}

static int open_all(kh_volumes *p, const kh_volumes_options *o, kh_err *err)
{
	int rc = check_seeds(p->all, err);

	if (rc)
		return rc;
	p->volume = kh_array(p->all->n, sizeof *p->volume, err);
	p->owner = kh_array(p->tree.n, sizeof *p->owner, err);
	if (!p->volume || !p->owner)
		return KH_ENOMEM;
	for (size_t i = 0; i < o->n && !rc; i++)
		rc = open_file(p, o->path[i], err);
	if (!rc)
		rc = check_files(p, err);
	for (unsigned i = 0; i < p->all->n && !rc; i++) {
		const kh_db *db = p->all->volume[i];

		rc = check_volume(p, i, err);
		kh_match_least_of(db->h, &p->volume[i].least);
		/* with alleles somewhere, more places are compared everywhere */
		p->volume[i].compared = o->compared || (p->want == KH_WANT_NONE &&
						      db->alleles != o->db->alleles);
	}
	if (!rc)
		find_owners(p);
	return rc;
}

int kh_volumes_open(kh_volumes **out, const kh_volumes_options *o, kh_err *err)
{
	kh_volumes *p = kh_array(1, sizeof *p, err);

	if (!p)
		return KH_ENOMEM;
	*out = p;
	*p = (kh_volumes) { .all = o->db->joined, .tree = kh_taxonomy_tree(o->db->tax),
			  .want = o->rule->want };
	kh_match_least_of(o->db->h, &p->least);
	return open_all(p, o, err);
}

void kh_volumes_close(kh_volumes *p)
{
	if (!p)
		return;
	for (unsigned i = 0; p->volume && i < p->all->n; i++)
		kh_answers_in_close(p->volume[i].in);
	free(p->volume);
	free(p->owner);
	free(p);
}

int kh_volumes_check(const kh_volumes *p, uint64_t fragments, const kh_answers_sum *sum,
		     kh_err *err)
{
	const kh_answers_tail *t = kh_answers_in_tail(p->volume[0].in);

	kh_log(KH_INFO, "%" PRIu64 " of %" PRIu64 " fragment%s %s compared with the databases, as "
	       "candidates do not suffice", sum->compared, fragments, kh_plural(fragments),
	       sum->compared == 1 ? "was" : "were");
	if (t->fragments == fragments && t->reads == sum->reads)
		return KH_OK;
	return kh_fail(err, KH_EFORMAT, "%s: these candidates are of other reads: %" PRIu64
		       " fragment%s, and %" PRIu64 " %s read", kh_answers_in_path(p->volume[0].in),
		       t->fragments, kh_plural(t->fragments), fragments,
		       fragments == 1 ? "was" : "were");
}

/* --- a fragment ------------------------------------------------------------------------------ */
/* Is a taxon in a species that several volumes have?  Then all of them call its strains. */
static bool is_shared(const kh_volumes *p, uint32_t taxon)
{
	const uint32_t species = taxon != KH_NO_TAXON ? p->tree.species[taxon] : KH_NO_TAXON;

	return species != KH_NO_TAXON && p->owner[species] == SHARED;
}

/* Puts an answer into the numbers of all.  False: no volume of this size gives it. */
static bool renumber(const kh_volumes *p, unsigned i, kh_answer *a, kh_beside beside)
{
	const uint32_t *number = p->all->number[i];
	kh_candidates *c = beside.candidates;
	kh_second *second = beside.second;

	if (a->call.taxon != KH_NO_TAXON)
		a->call.taxon = number[a->call.taxon];
	if (second && second->taxon != KH_NO_TAXON)
		second->taxon = number[second->taxon];
	for (int k = 0; c && k < KH_CANDIDATES; k++)
		if (c->species[k] != KH_NO_TAXON)
			c->species[k] = number[c->species[k]];
	if (!c || c->bin == KH_NO_BIN)
		return true;
	if (c->bin >= p->all->volume[i]->h->bins)
		return false;
	c->bin += p->all->first_bin[i];
	return true;
}

/* Is the answer of the only volume that has seeds of a fragment not that of all? */
static bool is_open(const kh_volumes *p, unsigned i, const kh_answer *a, const kh_second *second)
{
	const kh_least *x = &p->volume[i].least, *all = &p->least;
	const uint32_t score = a->score, level = a->level;

	return (score >= x->call[level]) != (score >= all->call[level]) ||
	       (score >= x->candidates[level]) != (score >= all->candidates[level]) ||
	       is_shared(p, a->call.taxon) ||
	       (second && is_shared(p, second->taxon));
}

static int fail_reads(const kh_volumes *p, unsigned i, uint64_t number, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: these candidates are of other reads: fragment %" PRIu64
		       " or one of the next 7 differs", kh_answers_in_path(p->volume[i].in),
		       number + 1);
}

/* What volumes say of a fragment beside the one that leads. */
struct kh_rivals {
	unsigned leader;                /* a volume */
	unsigned n, loud;               /* others that have seeds, and those that have places */
	bool other;                     /* one cannot be weighed */
	bool early;                     /* of the loud: some have seeds that are looked up early */
	uint16_t by_early[2], by_all[2]; /* the greatest bounds, by these or by all seeds */
	unsigned load[2], near[2];      /* of those that have no places; not of those far behind */
};

static void add_rival(struct kh_rivals *r, const kh_answer *a)
{
	const bool none_early = a->bits & KH_ANSWER_NONE_EARLY;
	uint16_t *most = none_early ? r->by_all : r->by_early;

	r->n++;
	r->other |= !(a->bits & (a->score == 0 ? KH_ANSWER_LEADS : KH_ANSWER_SMALL));
	for (int i = 0; i < 2 && a->score == 0; i++) {
		r->load[i] += a->load[i] & (KH_ANSWER_FAR - 1);
		r->near[i] += a->load[i] & KH_ANSWER_FAR ? 0 : a->load[i];
	}
	if (a->score == 0)
		return;
	r->loud++;
	r->early |= !none_early;
	for (int i = 0; i < 2; i++)
		most[i] = a->bound[i] > most[i] ? a->bound[i] : most[i];
}

/* Takes what volume i says; does it lead? */
static bool take(unsigned i, const kh_answer *a, kh_answer *to, struct kh_rivals *r)
{
	const bool beside = to->bits & KH_ANSWER_ANY;

	if (!(a->bits & KH_ANSWER_ANY) && i > 0)
		return false;
	if (beside && a->score <= to->score) {
		add_rival(r, a);
		return false;
	}
	if (beside)
		add_rival(r, to);
	*to = *a;
	r->leader = i;
	return true;
}

/* May those that have no places crowd a mate, of so many bases, of the leader? */
static bool is_crowded(const kh_answer *a, const struct kh_rivals *r, int mate, uint32_t len)
{
	const bool behind = a->need[mate] + kh_answer_far(len) > len;
	const unsigned load = behind ? r->near[mate] : r->load[mate];
	const unsigned own = a->load[mate] & (KH_ANSWER_FAR - 1);

	return (load > 0 && own + load > KH_ANSWER_LOAD) ||
	       KH_ANSWER_MOST + KH_ANSWER_FEW * r->loud + r->load[mate] > KH_LIST_MAX;
}

/* Do the others not count beside the leader, which has the greatest score, of fragment k? */
static bool leads(const kh_answer *a, const struct kh_rivals *r, const kh_job *job, size_t k)
{
	const bool all_seeds = a->bits & KH_ANSWER_ALL_SEEDS;
	const uint16_t *most = all_seeds ? r->by_all : r->by_early;
	const kh_block *b[2];
	const kh_record *mate[2];

	if (r->n == 0 || !(a->bits & KH_ANSWER_LEADS) || r->other)
		return r->n == 0;
	if (a->score == 0)
		return true;
	if (r->loud > KH_ANSWER_OTHERS || (all_seeds && r->early))
		return false;
	kh_job_records(job, k, b, mate);
	for (int i = 0; i < 2; i++)
		if ((most[i] > 0 && most[i] >= a->need[i]) ||
		    (r->load[i] > 0 && is_crowded(a, r, i, (uint32_t)mate[i]->len)))
			return false;
	return true;
}

/* All volumes have been asked. */
static int settle(const kh_volumes *p, kh_volumes_asked *w, const kh_task *t, size_t k, kh_err *err)
{
	const struct kh_rivals *r = &w->rivals[k];
	const unsigned i = r->leader;
	kh_answer *a = &w->answer[k];
	const kh_beside beside = kh_beside_of(t->candidates, t->second, k);
	bool open = true;

	if (!(a->bits & KH_ANSWER_ANY)) {
		kh_beside_clear(beside);
		return KH_OK;
	}
	if (!p->volume[i].compared && leads(a, r, t->job, k)) {
		if (!renumber(p, i, a, beside))
			return kh_fail(err, KH_EFORMAT, "%s: a place lies in no reference",
				       kh_answers_in_path(p->volume[i].in));
		open = is_open(p, i, a, beside.second);
	}
	a->bits |= open ? KH_ANSWER_OPEN : 0;
	return KH_OK;
}

/* Takes what a volume says of a fragment beside its answer. */
static void take_beside(const kh_answers *from, size_t at, kh_beside to)
{
	if (to.candidates)
		*to.candidates = from->candidates[at];
	if (to.second)
		*to.second = from->second[at];
}

/* Takes what a volume says of the fragments of a job. */
static int take_volume(const kh_volumes *p, unsigned i, const kh_task *t,
		     kh_answers *from, kh_volumes_asked *to, kh_err *err)
{
	const kh_answers_in *f = p->volume[i].in;
	const kh_job *job = t->job;
	size_t begun = 0;               /* fragments of a group before this one */
	uint8_t check = 0;
	int rc = KH_OK;

	for (size_t k = 0; k < job->n && !rc;) {
		const uint64_t first = job->first + k;
		size_t at = (size_t)(first % KH_ANSWERS_BLOCK);

		if (first >= kh_answers_in_tail(f)->fragments)
			return fail_reads(p, i, first, err);
		rc = kh_answers_read(f, first / KH_ANSWERS_BLOCK, from, err);
		for (; !rc && at < from->n && k < job->n; at++, k++) {
			if (take(i, &from->v[at], &to->answer[k], &to->rivals[k]))
				take_beside(from, at, kh_beside_of(t->candidates, t->second, k));
			if (at % GROUP == 0)
				begun = check = 0;
			check ^= (uint8_t)(to->hash[k] >> 56);
			begun++;
			if ((at % GROUP == GROUP - 1 || at + 1 == from->n) &&
			    begun == at % GROUP + 1 && check != from->check[at / GROUP])
				return fail_reads(p, i, job->first + k + 1 - begun, err);
		}
	}
	return rc;
}

/* Makes room for what is said of the fragments of a job, and counts them. */
static int begin(kh_volumes_asked *w, const kh_job *job, kh_answers_sum *sum, kh_err *err)
{
	int rc = KH_GROW(w->hash, w->cap_hash, job->n, err);

	if (!rc)
		rc = KH_GROW(w->answer, w->cap_answer, job->n, err);
	if (!rc)
		rc = KH_GROW(w->rivals, w->cap_rivals, job->n, err);
	for (size_t i = 0; i < job->n && !rc; i++) {
		w->hash[i] = kh_answers_hash(job, i);
		sum->reads += w->hash[i];
		w->answer[i].bits = 0;
		w->rivals[i] = (struct kh_rivals) { .n = 0 };
	}
	return rc;
}

int kh_volumes_ask(kh_volumes_asked *w, kh_task *t, kh_answers_sum *sum, kh_err *err)
{
	const int rc = begin(w, t->job, sum, err);

	t->answers = w->answer;
	return rc;
}

int kh_volumes_look_up(kh_volumes_asked *w, const kh_volumes *p, kh_answers *scratch, kh_task *t,
		       kh_answers_sum *sum, kh_err *err)
{
	int rc = begin(w, t->job, sum, err);

	for (unsigned i = 0; i < p->all->n && !rc; i++)
		rc = take_volume(p, i, t, scratch, w, err);
	for (size_t i = 0; i < t->job->n && !rc; i++) {
		rc = settle(p, w, t, i, err);
		sum->compared += (w->answer[i].bits & KH_ANSWER_OPEN) != 0;
	}
	t->known = w->answer;
	return rc;
}

void kh_volumes_asked_clear(kh_volumes_asked *w)
{
	free(w->hash);
	free(w->answer);
	free(w->rivals);
}
