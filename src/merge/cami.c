#include <config.h>
#include "merge/cami.h"

#include <inttypes.h>

static const struct {
	char letter;
	const char *name;
} ranks[] = { { 'D', "superkingdom" }, { 'P', "phylum" }, { 'C', "class" },  { 'O', "order" },
	      { 'F', "family" },       { 'G', "genus" },  { 'S', "species" } };
enum { N_RANKS = sizeof ranks / sizeof *ranks };

static int rank_of(const kh_taxonomy *tax, uint32_t taxon)
{
	for (int i = 0; i < N_RANKS; i++)
		if (tax->letter[taxon] == ranks[i].letter)
			return i;
	return -1;
}

/* A bar stands between the parts of a path, so one in a name becomes '_'. */
static void put_name(kh_buf *b, const char *name)
{
	const size_t from = b->n;

	kh_buf_string(b, name);
	for (size_t i = from; i < b->n; i++)
		if (b->p[i] == '|')
			b->p[i] = '_';
}

/* The taxon and those above it by rank, with nothing for ranks that are not there. */
static void put_path(kh_buf *b, const kh_taxonomy *tax, uint32_t taxon, int rank, bool names)
{
	uint32_t at[N_RANKS] = { 0 };

	for (; taxon != 0; taxon = tax->parent[taxon]) {
		const int i = rank_of(tax, taxon);

		if (i >= 0 && !at[i])
			at[i] = taxon;
	}
	for (int i = 0; i <= rank; i++) {
		kh_buf_string(b, i > 0 ? "|" : "\t");
		if (at[i] && names)
			put_name(b, tax->names + tax->name[at[i]]);
		else if (at[i])
			kh_buf_print(b, "%" PRIu32, tax->taxid[at[i]]);
	}
}

static void put_rank(kh_buf *b, const kh_cami *c, int rank)
{
	for (uint32_t t = 1; t < c->tax->n; t++) {
		if (!(c->share[t] > 0) || rank_of(c->tax, t) != rank)
			continue;
		kh_buf_print(b, "%" PRIu32 "\t%s", c->tax->taxid[t], ranks[rank].name);
		put_path(b, c->tax, t, rank, false);
		put_path(b, c->tax, t, rank, true);
		kh_buf_print(b, "\t%.6f\n", 100 * c->share[t]);
	}
}

void kh_cami_profile(kh_buf *b, const kh_cami *c)
{
	kh_buf_string(b, "@SampleID:");
	kh_buf_string(b, c->sample);
	kh_buf_string(b, "\n@Version:0.10.0\n@Ranks:superkingdom|phylum|class|order|family|genus|"
		      "species\n");
	if (c->taxonomy_id) {
		kh_buf_string(b, "@TaxonomyID:");
		kh_buf_string(b, c->taxonomy_id);
		kh_buf_string(b, "\n");
	}
	kh_buf_string(b, "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n");
	for (int rank = 0; rank < N_RANKS; rank++)
		if (!c->rank || c->rank == ranks[rank].letter)
			put_rank(b, c, rank);
}
