/* taxa.c - the taxa of the references, and which of these are targets */
#include <config.h>
#include "build/build_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "taxonomy/lineage.h"
#include "kmer/text.h"

/* Finds the taxid that headers and tables give for each sequence. */
static int look_up(struct build *b, uint32_t *taxid, kh_err *err)
{
	const kh_refs *r = &b->refs;
	int rc = b->o->lineages ? kh_lineages_map(b->o->lineages, r->map, err) : KH_OK;

	for (size_t i = 0; i < b->o->n_maps && !rc; i++)
		rc = kh_idmap_load(r->map, b->o->maps[i], err);
	for (size_t i = 0; i < r->n && !rc; i++)
		taxid[i] = i < b->base.n             ? kh_build_base_taxid(b, i)
			   : r->ref[i].header_taxid ? r->ref[i].header_taxid
						    : kh_idmap_taxid(r->map, r->number[i]);
	return rc;
}

/* The sequences that this build adds: all, or those beside the ones of --base. */
struct added {
	size_t n, unmapped;
	const char *new;                /* "new " if there is a --base */
};

/* Names some of the added sequences without a taxon. said: their taxids, or 0. */
static void tell_unmapped(const struct build *b, const uint32_t *said, const struct added *a)
{
	enum { SHOWN = 10 };
	const bool one = a->unmapped == 1;
	size_t shown = 0;

	kh_log(KH_WARN, "%zu of %zu %ssequence%s %s no taxon and %s left out", a->unmapped, a->n,
	       a->new, kh_plural(a->n), one ? "has" : "have", one ? "is" : "are");
	for (size_t i = b->base.n; i < b->refs.n && shown < SHOWN; i++) {
		char why[48] = "";

		if (!b->taxa.dropped[i])
			continue;
		if (said[i])
			snprintf(why, sizeof why, ": the taxonomy lacks taxid %" PRIu32, said[i]);
		kh_log(KH_WARN, "  no taxon: %s%s%s%s", kh_refs_id(&b->refs, i),
		       b->o->n_refs > 1 ? " in " : "",
		       b->o->n_refs > 1 ? b->o->refs[b->refs.ref[i].file] : "", why);
		shown++;
	}
	if (a->unmapped > shown)
		kh_log(KH_WARN, "  and %zu more", a->unmapped - shown);
}

static int judge_unmapped(const struct build *b, const struct added *a, kh_err *err)
{
	const kh_build_options *o = b->o;

	if (o->max_unmapped >= 1)
		return KH_OK;
	if (a->unmapped == a->n && o->header_lineages && !o->base)
		return kh_fail(err, KH_EFORMAT, "none of %zu sequence%s has a lineage in its "
			       "header line, or in a table that --lineage TABLE names (build "
			       "--max-unmapped 1 makes an empty database)", a->n,
			       kh_plural(a->n));
	if (a->unmapped == a->n)
		return kh_fail(err, KH_EFORMAT, "none of %zu %ssequence%s has a taxon of this "
			       "taxonomy%s", a->n, a->new, kh_plural(a->n),
			       o->base ? "" : " (build --max-unmapped 1 makes an empty database)");
	if ((double)a->unmapped > o->max_unmapped * (double)a->n)
		return kh_fail(err, KH_EFORMAT, "%zu of %zu %ssequences %s no taxon, more than "
			       "build --max-unmapped %g allows", a->unmapped, a->n, a->new,
			       a->unmapped == 1 ? "has" : "have", o->max_unmapped);
	return KH_OK;
}

static int check_unmapped(const struct build *b, const uint32_t *said, kh_err *err)
{
	const kh_build_options *o = b->o;
	struct added a = { .n = b->refs.n - b->base.n, .new = o->base ? "new " : "" };
	bool taxids = o->n_maps > 0 || o->lineages || o->max_unmapped >= 1;
	int rc;

	if (b->refs.n == 0 && o->max_unmapped < 1)
		return kh_fail(err, KH_EFORMAT, "the references hold no sequence");
	for (size_t i = b->base.n; i < b->refs.n; i++) {
		a.unmapped += b->taxa.dropped[i];
		taxids |= said[i] > 0;
	}
	if (a.unmapped == 0)
		return KH_OK;
	if (!taxids)
		return kh_fail(err, KH_EFORMAT, "no table of taxids was given%s "
			       "(--accession2taxid, --seqid2taxid, --assemblies or --lineage), and "
			       "no header line has a taxid",
			       o->base ? " for the new sequences" : "");
	if (b->limit.builds == 0)       /* reported once */
		tell_unmapped(b, said, &a);
	rc = judge_unmapped(b, &a, err);
	if (!rc && b->limit.builds == 0 && !o->dry_run)
		kh_log(KH_WARN, "kmerhash inspect --unmapped lists them");
	return rc;
}

/* --- sequences that are called alike ---------------------------------------------- */
struct alike {
	size_t number, i;               /* of its id; which sequence it is */
	uint64_t digest;
};

static int by_digest(const void *a, const void *b)
{
	const struct alike *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->digest != y->digest)
		return x->digest < y->digest ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

/* Sequences of several files may be called alike, but a file and its copy are a mistake: fails if
 * two of them have the same bases, unless ids may occur twice or header lines have lineages. */
static int check_copies(const struct build *b, kh_err *err)
{
	const kh_refs *r = &b->refs;
	struct alike *v;
	int rc = KH_OK;

	if (r->n_again == 0 || r->allow_duplicates || r->lineages)
		return KH_OK;
	v = kh_array(r->n, sizeof *v, err);
	if (!v)
		return KH_ENOMEM;
	for (size_t i = 0; i < r->n; i++)
		v[i] = (struct alike) { r->number[i], i, r->ref[i].digest };
	qsort(v, r->n, sizeof *v, by_digest);
	for (size_t k = 1; k < r->n && !rc; k++) {
		const kh_ref *x = &r->ref[v[k - 1].i], *y = &r->ref[v[k].i];

		if (v[k].number == v[k - 1].number && x->digest == y->digest &&
		    x->bases == y->bases && v[k - 1].i >= b->base.n)
			rc = kh_fail(err, KH_EFORMAT, "sequence '%.200s' is the same in %s (taxid "
				     "%" PRIu32 ") and in %s (taxid %" PRIu32 "): leave one out "
				     "(--set allow-duplicates takes both)", kh_refs_id(r, v[k].i),
				     b->o->refs[x->file], x->header_taxid, b->o->refs[y->file],
				     y->header_taxid);
	}
	free(v);
	return rc;
}

/* --- what can never be found -------------------------------------------------------- */
/* Targets without a k-mer. */
static void tell_short(const struct build *b)
{
	enum { SHOWN = 10 };
	const struct taxa *t = &b->taxa;
	size_t n = 0;

	for (uint32_t i = 0; i < t->n_targets; i++)
		n += !b->refs.ref[t->target[i]].known;
	if (n == 0)
		return;
	kh_log(KH_WARN, "%zu of %" PRIu32 " sequence%s with a taxon can never be found, as %s no "
	       "%u bases in a row that are known", n, t->n_targets, kh_plural(t->n_targets),
	       n == 1 ? "it has" : "they have", b->sampling.k);
	n = 0;
	for (uint32_t i = 0; i < t->n_targets && n < SHOWN; i++)
		if (!b->refs.ref[t->target[i]].known) {
			kh_log(KH_WARN, "  never found: %s (taxid %" PRIu32 ")",
			       kh_refs_id(&b->refs, t->target[i]), t->taxon[i]);
			n++;
		}
}

/* Files without a sequence. */
static int tell_empty(const struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	bool *has = kh_array(o->n_refs, sizeof *has, err);
	size_t n = 0, first = 0;

	if (!has)
		return KH_ENOMEM;
	for (size_t i = b->base.n; i < b->refs.n; i++)
		has[b->refs.ref[i].file] = true;
	for (size_t i = 0; i < o->n_refs; i++)
		if (!has[i] && n++ == 0)
			first = i;
	free(has);
	if (b->refs.n_again > 0)
		kh_log(KH_INFO, "%zu sequence%s the name of an earlier one", b->refs.n_again,
		       b->refs.n_again == 1 ? " has" : "s have");
	if (n > 0)
		kh_log(KH_WARN, "%zu of %zu file%s %s no sequence; the first is %s", n, o->n_refs,
		       kh_plural(o->n_refs), n == 1 ? "has" : "have", o->refs[first]);
	return KH_OK;
}

static int alloc_targets(struct build *b, kh_err *err)
{
	struct taxa *t = &b->taxa;
	const size_t n = b->refs.n;

	t->target = kh_array(n, sizeof *t->target, err);
	t->first = kh_array(n, sizeof *t->first, err);
	t->taxon = kh_array(n, sizeof *t->taxon, err);
	t->dropped = kh_array(n, sizeof *t->dropped, err);
	return t->target && t->first && t->taxon && t->dropped ? KH_OK : KH_ENOMEM;
}

/* Which sequences are targets: `said` has the taxid of each, 0 for none. Until the tree has been
 * made, taxon[] of a target holds its taxid. */
static void choose_targets(struct build *b, const uint32_t *said)
{
	struct taxa *t = &b->taxa;

	for (size_t i = 0; i < b->refs.n; i++) {
		const uint32_t taxid = said[i] ? kh_taxdump_find(t->dump, said[i]) : 0;

		t->dropped[i] = !taxid;
		if (!taxid)
			continue;
		t->target[t->n_targets] = (uint32_t)i;
		t->taxon[t->n_targets++] = taxid;
	}
}

/* Numbers the bins of the stretches that are kept. */
static int number_kept(struct build *b, uint32_t *first, uint32_t *taxon, kh_err *err)
{
	struct taxa *t = &b->taxa;
	uint64_t bin = 0;
	uint32_t i = 0;

	for (uint32_t target = 0; target < t->n_targets; target++) {
		t->first[target] = (uint32_t)bin;
		for (; i < t->n_kept && t->kept[i].target == target; i++) {
			t->kept[i].first_bin = first[i] = (uint32_t)bin;
			taxon[i] = t->taxon[target];
			bin += t->kept[i].bins + UINT64_C(1);
		}
	}
	b->sum->header.bins = bin;
	if (bin < KH_SEED_MANY)
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "%" PRIu64 " bins of %" PRIu32 " bases are more than a "
		       "database can number: use a greater --set stride, up to %d",
		       bin, b->sampling.stride, KH_TEXT_SPAN);
}

/* Finds which text of the targets is kept, and numbers its bins. */
static int find_bins(struct build *b, kh_err *err)
{
	struct taxa *t = &b->taxa;
	const kh_tree tree = kh_taxonomy_tree(t->tax);
	uint32_t *first = NULL, *taxon = NULL;
	int rc = kh_build_keep(b, err);

	if (!rc) {
		first = kh_array(t->n_kept, sizeof *first, err);
		taxon = kh_array(t->n_kept, sizeof *taxon, err);
		rc = first && taxon ? number_kept(b, first, taxon, err) : KH_ENOMEM;
	}
	if (!rc) {
		const kh_bins kept = { .n_targets = t->n_kept, .first = first, .taxon = taxon };

		rc = kh_bin_map_init(&t->bins, &kept, b->sum->header.bins, &tree, err);
	}
	t->bins.bins.bits = kh_seed_bits(t->bins.end);
	free(first);
	free(taxon);
	return rc;
}

/* The targets, and the part of the taxonomy that they need. */
static int map_targets(struct build *b, const uint32_t *said, kh_err *err)
{
	struct taxa *t = &b->taxa;
	int rc = alloc_targets(b, err);

	if (rc)
		return rc;
	choose_targets(b, said);
	rc = kh_build_base_check(b, err);
	if (!rc)
		rc = check_unmapped(b, said, err);
	if (!rc)
		rc = check_copies(b, err);
	if (!rc && b->limit.builds == 0) {
		tell_short(b);
		rc = tell_empty(b, err);
	}
	if (!rc)
		rc = kh_taxonomy_prune(&t->tax, t->dump, t->taxon, t->n_targets, err);
	for (uint32_t i = 0; i < t->n_targets && !rc; i++)
		t->taxon[i] = kh_taxonomy_find(t->tax, t->taxon[i]);
	return rc ? rc : find_bins(b, err);
}

int kh_build_find_targets(struct build *b, kh_err *err)
{
	double t = kh_seconds();
	uint32_t *taxid = kh_array(b->refs.n, sizeof *taxid, err);
	int rc = taxid ? kh_build_base_now(b, err) : KH_ENOMEM;

	if (!rc)
		rc = look_up(b, taxid, err);
	if (!rc)
		rc = map_targets(b, taxid, err);
	if (!rc)
		rc = kh_build_base_taxa(b, err);
	free(taxid);
	b->sum->seconds_map = kh_seconds() - t;
	return rc;
}
