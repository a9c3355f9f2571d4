/*
 * base.c - a build that adds references to a database
 *
 * The database's sequences become the first ones of the build, with the digests and taxids that it
 * has for them.  Its text becomes that of its sequences, with holes where some of it was left out,
 * and is sampled again: its index is not looked at.  So all that follows is what a build from all
 * references does.
 */
#include <config.h>
#include "build/build_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/lineage.h"

/* --- its sequences ------------------------------------------------------------------ */
static int check_counts(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const char *p = db->unmapped, *end = p + h->section[KH_SEC_UNMAPPED].bytes;
	uint64_t n = 0;

	for (; p < end; p += strlen(p) + 1)
		n++;
	if (n != h->unmapped || h->sequences != n + h->n_targets)
		return kh_fail(err, KH_EFORMAT, "%s: not a usable database: its numbers of "
			       "sequences do not fit one another", db->path);
	return KH_OK;
}

static int add_ref(kh_refs *r, const char *id, const kh_ref *ref, kh_err *err)
{
	const size_t at = r->ids.n;
	int rc;

	kh_buf_word(&r->ids, id, strlen(id));
	if ((rc = kh_buf_check(&r->ids, err)) ||
	    (rc = KH_GROW(r->ref, r->cap, r->n + 1, err)))
		return rc;
	r->ref[r->n] = *ref;
	r->ref[r->n].known = 1;
	r->ref[r->n++].id = at;
	return kh_refs_number(r, "", err);
}

/* Behind the last bin of target t, where no bins of it were left out. */
static uint64_t end_of_target(const kh_db *db, uint32_t t, uint64_t first_bin)
{
	const uint64_t bases = db->target[t].bases, stride = db->h->sampling.stride;

	return first_bin + (bases ? bases / stride + (bases % stride != 0) : 1) + 1;
}

/* Adds the sequences of the database: the targets, and behind them those without a taxon, which
 * have no bins; where these were among the targets is not known, and nothing depends on it. */
static int add_refs(kh_refs *r, const kh_db *db, kh_err *err)
{
	const char *unmapped = db->unmapped;
	int rc = KH_OK;

	for (uint32_t t = 0; t < db->h->n_targets && !rc; t++) {
		const kh_db_target *x = &db->target[t];
		const kh_ref ref = { .first_bin = (uint32_t)r->next_bin, .bases = x->bases,
				     .digest = x->digest,
				     .header_taxid = db->tax->taxid[x->taxon] };

		rc = add_ref(r, db->ids + x->id, &ref, err);
		r->next_bin = end_of_target(db, t, r->next_bin);
		if (!rc && r->next_bin > UINT32_MAX)
			rc = kh_fail(err, KH_EUSAGE, "%s: its targets have too many bins to be "
				     "numbered: build it anew from all references, with a greater "
				     "--set stride", db->path);
	}
	for (uint64_t u = 0; u < db->h->unmapped && !rc; u++) {
		const kh_ref ref = { .first_bin = (uint32_t)r->next_bin };

		rc = add_ref(r, unmapped, &ref, err);
		unmapped += strlen(unmapped) + 1;
	}
	return rc;
}

int kh_build_base_refs(struct build *b, kh_err *err)
{
	const kh_db *db = b->o->base;
	kh_refs *r = &b->refs;
	int rc;

	if (!db)
		return KH_OK;
	if ((rc = check_counts(db, err)))
		return rc;
	r->allow_duplicates = true;     /* the database may have some */
	rc = add_refs(r, db, err);
	r->allow_duplicates = b->o->allow_duplicates;
	r->base = db->path;
	r->n_base = b->base.n = r->n;
	r->bases = db->h->bases + db->h->unmapped_bases;
	return rc;
}

/* --- its taxa in the taxonomy of the build ------------------------------------------- */
/* The number of a lineage means nothing in a taxonomy: another taxon may have it there. */
static int check_kind(const struct build *b, const uint8_t *made, kh_err *err)
{
	const kh_db *db = b->o->base;

	for (uint32_t t = 0; t < db->h->n_targets && !b->o->lineages; t++) {
		const uint32_t taxon = db->target[t].taxon;

		if (made[taxon])
			return kh_fail(err, KH_EUSAGE, "%s has taxa of lineages, such as '%s', "
				       "which the taxonomy in %s cannot have: give the tables of "
				       "lineages, too", db->path,
				       db->tax->names + db->tax->name[taxon], b->o->taxonomy);
	}
	return KH_OK;
}

/* A taxid of a dump is the taxon's for good, and merged ones are followed. That of a lineage is a
 * number that another path may have now, so the path decides. */
static int find_taxa(struct build *b, uint8_t *made, kh_err *err)
{
	const kh_taxonomy *old = b->o->base->tax;
	int rc = kh_lineages_made(old, made, err);

	if (!rc)
		rc = check_kind(b, made, err);
	if (!rc && b->o->lineages)
		rc = kh_lineages_numbers(b->o->lineages, old, b->base.now, err);
	for (uint32_t i = 0; i < old->n && !rc; i++)
		if (made[i] == KH_MADE_ELSE || (made[i] == KH_MADE_BELOW && !b->base.now[i]))
			b->base.now[i] = kh_taxdump_find(b->taxa.dump, old->taxid[i]);
	return rc;
}

int kh_build_base_now(struct build *b, kh_err *err)
{
	const kh_taxonomy *old = b->o->base ? b->o->base->tax : NULL;
	uint8_t *made;
	int rc;

	if (!old)
		return KH_OK;
	b->base.now = kh_array(old->n, sizeof *b->base.now, err);
	if (!b->base.now)
		return KH_ENOMEM;
	if (!b->o->taxonomy)
		return kh_lineages_numbers(b->o->lineages, old, b->base.now, err);
	made = kh_array(old->n, sizeof *made, err);
	rc = made ? find_taxa(b, made, err) : KH_ENOMEM;
	free(made);
	return rc;
}

uint32_t kh_build_base_taxid(const struct build *b, size_t seq)
{
	const uint32_t taxid = b->refs.ref[seq].header_taxid;

	return taxid ? b->base.now[kh_taxonomy_find(b->o->base->tax, taxid)] : 0;
}

int kh_build_base_check(const struct build *b, kh_err *err)
{
	const uint32_t n = b->o->base ? b->o->base->h->n_targets : 0;
	uint32_t lost = 0;

	for (size_t i = 0; i < b->base.n; i++)
		lost += b->refs.ref[i].header_taxid && b->taxa.dropped[i];
	if (lost <= b->o->max_unmapped * n)
		return KH_OK;
	return kh_fail(err, KH_EFORMAT,
		       "%" PRIu32 " of %" PRIu32 " target%s of %s %s no taxon in %s, more than "
		       "build --max-unmapped %g allows%s", lost, n, kh_plural(n),
		       b->o->base->path, lost == 1 ? "has" : "have",
		       b->o->taxonomy ? b->o->taxonomy : "the lineages given", b->o->max_unmapped,
		       lost == n ? ": is it of the same kind as the one of that database?" : "");
}

struct changes {
	uint32_t removed, merged, renamed, moved, ranks, targets;
};

/* Taxon i of the old tree. */
static void compare_taxon(const struct build *b, uint32_t i, struct changes *c)
{
	const kh_taxonomy *old = b->o->base->tax, *tax = b->taxa.tax;
	const uint32_t taxid = b->base.now[i];
	const uint32_t now = taxid ? kh_taxonomy_find(tax, taxid) : KH_NO_TAXON;

	if (taxid == 0)
		c->removed++;
	else if (taxid != old->taxid[i])        /* of a lineage, it has another number only */
		c->merged += b->o->lineages == NULL;
	else if (now != KH_NO_TAXON) {
		const uint32_t above = b->base.now[old->parent[i]];

		c->renamed += strcmp(old->names + old->name[i], tax->names + tax->name[now]) != 0;
		c->ranks += old->rank[i] != tax->rank[now];
		c->moved += above != tax->taxid[tax->parent[now]];
	}
}

static void tell_changes(const struct build *b, const struct changes *c)
{
	const kh_db *db = b->o->base;

	if (c->removed + c->merged + c->renamed + c->moved + c->ranks > 0)
		kh_log(c->removed ? KH_WARN : KH_INFO,
		       "of %" PRIu32 " taxa of %s the taxonomy has %" PRIu32 " no more, %" PRIu32
		       " as others (merged), %" PRIu32 " under another name, %" PRIu32
		       " under another parent, %" PRIu32 " with another rank",
		       db->tax->n, db->path, c->removed, c->merged, c->renamed, c->moved, c->ranks);
	if (c->targets > 0)
		kh_log(KH_WARN, "%" PRIu32 " of %" PRIu32 " target%s of %s %s no taxon any more "
		       "and %s left out", c->targets, db->h->n_targets,
		       kh_plural(db->h->n_targets), db->path,
		       c->targets == 1 ? "has" : "have", c->targets == 1 ? "is" : "are");
}

/* What is alike in targets of a species was left out of all but one of them; so their
 * species have to stay together, or to go together, unless all was kept. */
static int check_together(struct build *b, kh_err *err)
{
	enum { NOT_SEEN, GONE, SEEN };  /* SEEN + number: its species */
	const kh_db *db = b->o->base;
	const kh_tree old = kh_taxonomy_tree(db->tax), now = kh_taxonomy_tree(b->taxa.tax);
	uint64_t *left_out = kh_array(db->tax->n, sizeof *left_out, err);
	uint32_t *went = kh_array(db->tax->n, sizeof *went, err), new_target = 0;
	int rc = left_out && went ? KH_OK : KH_ENOMEM;

	for (uint32_t t = 0; t < db->h->n_targets && !rc; t++)
		left_out[kh_tree_own_species(&old, db->target[t].taxon)] += db->target[t].bases;
	for (uint32_t i = 0; i < db->n_kept && !rc; i++)
		left_out[kh_tree_own_species(&old, db->target[db->kept[i].target].taxon)] -=
			kh_db_kept_bases(db, &db->kept[i]);
	for (uint32_t t = 0; t < db->h->n_targets && !rc; t++) {
		const uint32_t species = kh_tree_own_species(&old, db->target[t].taxon);
		const bool gone = b->taxa.dropped[t];
		const uint32_t to = gone ? GONE : SEEN + kh_tree_own_species(
						&now, b->taxa.taxon[new_target++]);

		if (went[species] != NOT_SEEN && went[species] != to && left_out[species] > 0)
			rc = kh_fail(err, KH_EFORMAT, "%s: the genomes of '%s' (taxid %" PRIu32
				     ") are of several species in the new taxonomy, or some of "
				     "none, and what is alike in them was kept once: build it "
				     "anew from all references", db->path,
				     db->tax->names + db->tax->name[species],
				     db->tax->taxid[species]);
		went[species] = to;
	}
	free(left_out);
	free(went);
	return rc;
}

int kh_build_base_taxa(struct build *b, kh_err *err)
{
	const kh_db *db = b->o->base;
	struct changes c = { .removed = 0 };

	if (!db)
		return KH_OK;
	for (size_t i = 0; i < b->base.n; i++)
		c.targets += b->refs.ref[i].header_taxid && b->taxa.dropped[i];
	for (uint32_t i = 1; i < db->tax->n; i++)
		compare_taxon(b, i, &c);
	if (b->limit.builds == 0)       /* reported once */
		tell_changes(b, &c);
	return check_together(b, err);
}
