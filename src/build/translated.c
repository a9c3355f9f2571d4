/* translated.c - the translated seeds of a build: the targets by genus, and the section */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "translated/make.h"

/* Animals and plants: little of their genomes is genes, and most of their ORFs are none. */
#define METAZOA 33208
#define VIRIDIPLANTAE 33090

static bool has_few_genes(const kh_taxonomy *t, uint32_t taxon)
{
	for (; taxon > 0; taxon = t->parent[taxon])
		if (t->taxid[taxon] == METAZOA || t->taxid[taxon] == VIRIDIPLANTAE)
			return true;
	return false;
}

/* A genus is called only if it has one in so many, at least, of the species that are its own or, in
 * its family, of no genus of the references.  With fewer, a species that is not among these is more
 * likely of another genus; and genera of such families are close.  So the family is called, unless
 * the references tell how close they are: thresholds.c. */
#define SHARE 4

/* What is called of a taxon, and its family, or 0. */
struct calls {
	uint32_t called, family;
};

static int find_calls(const struct build *b, struct calls **calls, kh_err *err)
{
	const kh_taxonomy *t = b->taxa.tax;
	const kh_rank family = kh_rank_find("family", strlen("family"));
	uint32_t *species = kh_array(t->n, sizeof *species, err);
	uint32_t *here = kh_array(t->n, sizeof *here, err);     /* of genera of the tree */
	int rc = KH_ENOMEM;

	*calls = kh_array(t->n, sizeof **calls, err);
	if (species && here && *calls)
		rc = kh_taxdump_count_species(b->taxa.dump, t, species, err);
	for (uint32_t i = rc ? 1 : t->n; i-- > 1;) {
		if (t->rank[i] == KH_RANK_GENUS)
			here[i] = species[i];
		here[t->parent[i]] += here[i];
	}
	for (uint32_t i = 0; !rc && i < t->n; i++) {
		uint32_t up = t->parent[i];

		while (up > 0 && (t->rank[up] < 2 || t->rank[up] > family))     /* 1: clade */
			up = t->parent[up];
		(*calls)[i] = (struct calls) { i, up };
		if (t->rank[i] == KH_RANK_GENUS &&
		    species[up] - here[up] > (SHARE - 1) * (uint64_t)species[i])
			(*calls)[i].called = up;
	}
	free(species);
	free(here);
	return rc;
}

static int by_genus(const void *a, const void *b)
{
	const kh_translated_target *x = a, *y = b;

	if (x->genus != y->genus)
		return x->genus < y->genus ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* What the database has of a target, from `from` on. */
static kh_translated_target target_of(const struct build *b, uint32_t i, const struct calls *calls,
				      uint64_t from, uint64_t bases)
{
	const struct taxa *t = &b->taxa;
	const uint32_t genus = kh_translated_taxon(t->tax, t->taxon[i]);
	const kh_ref *r = &b->refs.ref[t->target[i]];
	const uint32_t code = kh_taxdump_code(t->dump, t->tax->taxid[t->taxon[i]]);

	return (kh_translated_target) { .genus = genus,
					.called = calls[genus].called,
					.family = calls[genus].family,
					.at = (uint64_t)r->first_bin * b->sampling.stride + from,
					.bases = bases,
					.code_4 = code == 4 };
}

static size_t find_targets(const struct build *b, const struct calls *calls,
			   kh_translated_target *to)
{
	const struct taxa *t = &b->taxa;
	const uint64_t stride = b->sampling.stride;
	size_t n = 0;

	for (uint32_t i = 0; i < t->n_kept; i++) {
		const kh_db_kept *k = &t->kept[i];
		const uint64_t from = k->at * stride, most = k->bins * stride;
		const uint64_t left = b->refs.ref[t->target[k->target]].bases - from;

		/* lineages have numbers of their own */
		if (b->o->taxonomy && has_few_genes(t->tax, t->taxon[k->target]))
			continue;
		to[n] = target_of(b, k->target, calls, from, left < most ? left : most);
		to[n++].db_at = k->first_bin * stride;
	}
	if (n > 0)
		qsort(to, n, sizeof *to, by_genus);
	return n;
}

static int append(void *arg, const void *p, size_t n, kh_err *err)
{
	return kh_db_append(arg, p, n, err);
}

struct writing {
	struct build *b;
	const kh_translated_made *made;
};

static int write_made(void *arg, kh_err *err)
{
	const struct writing *w = arg;
	const int rc = kh_db_begin(w->b->out.w, KH_SEC_TRANSLATED, err);

	return rc ? rc : kh_translated_put(w->made, append, w->b->out.w, err);
}

int kh_build_translated_write(struct build *b, kh_err *err)
{
	kh_translated_input in = { .threads = b->o->threads };
	kh_translated_target *target;
	kh_translated_made *made = NULL;
	struct calls *calls = NULL;
	int rc;

	if (!b->o->translated)
		return KH_OK;
	target = kh_array(b->taxa.n_kept, sizeof *target, err);
	rc = target ? kh_build_text_join(b, &in.text, err) : KH_ENOMEM;
	if (!rc)
		rc = find_calls(b, &calls, err);
	if (!rc) {
		in.unknown = kh_build_text_unknown(b);
		in.target = target;
		in.n_targets = find_targets(b, calls, target);
		in.db_bases = b->sum->header.bins * b->sampling.stride;
		rc = kh_translated_make(&made, &in, err);
	}
	if (!rc)        /* a second thread makes the checksums meanwhile */
		rc = kh_db_with_helper(b->out.w, write_made, &(struct writing) { b, made }, err);
	kh_translated_made_free(made);
	free(target);
	free(calls);
	return rc;
}
