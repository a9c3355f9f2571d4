#include <config.h>
#include "build/bracken_sequences.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* --- what is to come -------------------------------------------------------------- */
/* Lists the targets of each id.  Goes from the last target to the first, so that the lists are in
 * order. */
static int list_targets(kh_sequences *s, kh_err *err)
{
	const kh_db *db = s->db;

	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const char *id = db->ids + db->target[i].id;
		const int added = kh_idmap_want(s->ids, id, strlen(id), err);

		if (added < 0)
			return added;
		s->n_ids += (size_t)added;
	}
	for (size_t i = 0; i < s->n_ids; i++)
		s->to_come[i] = KH_NO_TARGET;
	for (uint32_t i = db->h->n_targets; i-- > 0;) {
		const char *id = db->ids + db->target[i].id;
		uint32_t *first = &s->to_come[kh_idmap_number(s->ids, id, strlen(id))];

		s->next[i] = *first;
		*first = i;
	}
	return KH_OK;
}

static int list_others(kh_sequences *s, kh_err *err)
{
	const char *id = s->db->unmapped;

	for (uint64_t i = 0; i < s->db->h->unmapped; i++, id += strlen(id) + 1) {
		const int added = kh_idmap_want(s->ids, id, strlen(id), err);

		if (added < 0)
			return added;
	}
	return KH_OK;
}

int kh_sequences_open(kh_sequences *s, const kh_db *db, kh_err *err)
{
	int rc = kh_idmap_new(&s->ids, err);

	s->db = db;
	s->n_all = db->h->sequences;
	if (rc)
		return rc;
	s->to_come = kh_array(db->h->n_targets, sizeof *s->to_come, err);
	s->next = kh_array(db->h->n_targets, sizeof *s->next, err);
	s->target = kh_array(s->n_all, sizeof *s->target, err);
	s->digest = kh_array(s->n_all, sizeof *s->digest, err);
	if (!s->to_come || !s->next || !s->target || !s->digest)
		return KH_ENOMEM;
	rc = list_targets(s, err);
	return rc ? rc : list_others(s, err);
}

void kh_sequences_clear(kh_sequences *s)
{
	kh_idmap_free(s->ids);
	free(s->to_come);
	free(s->next);
	free(s->target);
	free(s->digest);
	*s = (kh_sequences) { .db = NULL };
}

/* --- while they are read ---------------------------------------------------------- */
int kh_sequences_begin(void *sequences, const char *id, const char *path, kh_err *err)
{
	kh_sequences *s = sequences;
	const size_t number = kh_idmap_number(s->ids, id, strlen(id));
	uint32_t target = KH_NO_TARGET;

	if (number == SIZE_MAX)
		return kh_fail(err, KH_EFORMAT, "%s: sequence '%.200s' is not in the database, so "
			       "these are not the references that it was made of", path, id);
	if (number < s->n_ids) {
		target = s->to_come[number];
		if (target != KH_NO_TARGET)
			s->to_come[number] = s->next[target];
	}
	if (s->n == s->n_all || (number < s->n_ids && target == KH_NO_TARGET))
		return kh_fail(err, KH_EFORMAT, "%s: sequence '%.200s' occurs more often than in "
			       "the references that the database was made of", path, id);
	s->target[s->n++] = target;
	return KH_OK;
}

void kh_sequences_piece(kh_sequences *s, const kh_block_pieces *of, const kh_piece *p)
{
	if (s->target[p->seq] != KH_NO_TARGET)
		atomic_fetch_add(&s->digest[p->seq],
				 kh_digest(of, p, s->db->h->sampling.stride));
}

uint32_t kh_sequences_taxon(const kh_sequences *s, uint64_t i)
{
	const uint32_t target = s->target[i];

	return target == KH_NO_TARGET ? KH_NO_TAXON : s->db->target[target].taxon;
}

/* --- when they have been read ----------------------------------------------------- */
static int check_all_came(const kh_sequences *s, kh_err *err)
{
	uint64_t missing = 0;
	uint32_t first = KH_NO_TARGET;

	for (size_t i = 0; i < s->n_ids; i++)
		for (uint32_t t = s->to_come[i]; t != KH_NO_TARGET; t = s->next[t], missing++)
			first = t < first ? t : first;
	if (missing == 0)
		return KH_OK;
	return kh_fail(err, KH_EFORMAT, "%" PRIu64 " sequence%s of the database %s not among the "
		       "references given, of these first '%.200s'", missing,
		       kh_plural(missing), missing == 1 ? "is" : "are",
		       s->db->ids + s->db->target[first].id);
}

int kh_sequences_check(const kh_sequences *s, const kh_refs *refs, kh_err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		const kh_db_target *t =
			s->target[i] == KH_NO_TARGET ? NULL : &s->db->target[s->target[i]];
		const kh_ref *r = &refs->ref[i];

		if (t && r->bases != t->bases)
			return kh_fail(err, KH_EFORMAT, "sequence '%.200s' has %" PRIu64 " bases, "
				       "and %" PRIu64 " in the database", kh_refs_id(refs, i),
				       r->bases, t->bases);
		if (t && s->digest[i] != t->digest)
			return kh_fail(err, KH_EFORMAT, "sequence '%.200s' has not the bases that "
				       "it had when the database was made", kh_refs_id(refs, i));
	}
	return check_all_came(s, err);
}
