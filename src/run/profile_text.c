/*
 * profile_text.c - a profile in words: a table, which people read from the top
 */
#include <config.h>
#include "run/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

double kh_profile_identity(uint32_t shape)
{
	return (1000 - kh_divergence[shape]) / 10.0;
}

const char *kh_detected_name(enum kh_detected d)
{
	static const char *const name[] = { "-", "no", "low", "yes" };

	return name[d];
}

bool kh_profile_has_identity(const kh_profile_row *r)
{
	const kh_presence *p = r->presence;

	return p && p->verdict != KH_TOO_FEW && (p->by_long || kh_fit_short(&p->fit) >= KH_FEW) &&
	       (p->fit.own || p->fit.weight[0] >= KH_WEIGHT_ONE / 2);
}

/* --- the table --------------------------------------------------------------------- */
/* Columns that people read; and the others. */
static const char header[] =
	"name\trank\tdetected\treads\tdistinct_reads\treads_percent\tabundance_percent\t"
	"identity_percent\twhy\t"
	"taxid\tparent\tverdict\treads_first\treads_final\tbases_percent\tidentity_low\t"
	"identity_high\tcovered_percent\tstretches\tstretches_expected\tdistinct_features\t"
	"features_percent\n";

/* The columns that only species have, or none. */
static void add_presence(kh_buf *b, const kh_profile_row *r)
{
	const kh_presence *p = r->presence;
	/* of the features of the species' fragments, the share that they found */
	const double total = p ? (double)p->fit.total : 0;
	const double features = total > 0 ? (double)p->share * 4 / total : 0;
	char covered[16] = "-";

	if (!r->part)
		snprintf(covered, sizeof covered, "%.4f", 100 * r->covered);
	if (!kh_profile_has_identity(r))
		kh_buf_string(b, "\t-\t-");
	else
		kh_buf_print(b, "\t%.1f\t%.1f", kh_profile_identity(p->fit.high),
			     kh_profile_identity(p->fit.low));
	if (!p)
		kh_buf_print(b, "\t-\t-\t-\t%" PRIu64 "\t-\n", r->distinct);
	else
		kh_buf_print(b, "\t%s\t%" PRIu64 "\t%.1f\t%" PRIu64 "\t%.2f\n", covered, p->found,
			     (double)p->expected / 256, r->distinct,
			     100 * features);
}

static void add_row(const kh_profile *p, const kh_profile_row *r, kh_buf *b)
{
	const kh_taxonomy *tax = p->db->tax;
	char abundance[16] = "-", identity[16] = "-", different[32] = "-", text[KH_PROFILE_WHY];
	const char *why = kh_profile_why(p, r, text);

	if (kh_profile_has_abundance(r))
		snprintf(abundance, sizeof abundance, "%.6f", 100 * r->genomes);
	if (kh_profile_has_identity(r))
		snprintf(identity, sizeof identity, "%.1f",
			 kh_profile_identity(r->presence->fit.shape[0]));
	kh_buf_string(b, kh_profile_name(p, r->taxon));
	if (tax->species[r->taxon] == r->taxon)
		snprintf(different, sizeof different, "%.2f", r->different);
	kh_buf_print(b, "\t%s\t%s\t%.2f\t%s\t%.6f\t%s\t%s\t", kh_rank_name(tax->rank[r->taxon]),
		     kh_detected_name(r->detected), r->reads, different,
		     100 * kh_profile_share(p, r->reads), abundance, identity);
	kh_buf_string(b, why);
	kh_buf_print(b, "\t%" PRIu32 "\t%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%.6f",
		     tax->taxid[r->taxon], r->parent ? tax->taxid[r->parent] : 0,
		     kh_profile_verdict(r), r->first, r->final,
		     100 * r->bases);
	if (tax->species[r->taxon] == r->taxon)
		add_presence(b, r);
	else
		kh_buf_string(b, "\t-\t-\t-\t-\t-\t-\t-\n");
}

double kh_profile_residues(const kh_profile_unknown *u)
{
	return u->is.codons > 0 ? (double)u->is.same / (double)u->is.codons : 0;
}

/* It is no taxon, so that it has no number, and the line of its genus or family is its parent. */
static void add_organism(const kh_profile *p, const kh_profile_unknown *u, kh_buf *b)
{
	const kh_taxonomy *tax = p->db->tax;
	const double reads = (double)u->is.fragments;
	char text[KH_PROFILE_WHY];

	kh_buf_string(b, kh_profile_unknown_name(p, u, text));
	kh_buf_print(b, "\t%s\tyes\t%.2f\t-\t%.6f\t-\t%.1f\t", u->family ? "genus" : "species",
		     reads, 100 * kh_profile_share(p, reads), 100 * kh_profile_residues(u));
	kh_buf_string(b, kh_profile_unknown_why(p, u, text));
	kh_buf_print(b, "\t0\t%" PRIu32 "\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n",
		     tax->taxid[u->taxon]);
}

static void add_unknown(const kh_profile *p, kh_buf *b)
{
	/* of no species that was judged to be there */
	const double reads = (double)p->fragments > p->named ? (double)p->fragments - p->named : 0;

	kh_buf_print(b, "unknown\t-\t-\t%.2f\t-\t%.6f\t%.6f\t-\t%s\t0\t0\t-\t%" PRIu64
		     "\t%" PRIu64 "\t%.6f\t-\t-\t-\t-\t-\t-\t-\n",
		     reads, 100 * kh_profile_share(p, reads), 100 * p->unknown_genomes,
		     "what belongs to no species that was judged to be there", p->first, p->final,
		     100 * p->unknown_bases);
}

/* A row and what it is ordered by: species first, then what is above them, and of each rank the
 * most abundant first. */
struct place {
	const kh_profile_row *row;
	int rank;
};

static int by_place(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	const double pairs[][2] = { { b->rank, a->rank },
				    { a->row->genomes, b->row->genomes },
				    { a->row->bases, b->row->bases },
				    { a->row->reads, b->row->reads },
				    { (double)a->row->first, (double)b->row->first },
				    { b->row->taxon, a->row->taxon } };

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i][0] > pairs[i][1] || pairs[i][0] < pairs[i][1])
			return pairs[i][0] > pairs[i][1] ? -1 : 1;
	return 0;
}

/* The places of all rows in order. */
static struct place *order_rows(const kh_profile *p, kh_err *err)
{
	static const char ranks[] = "SGFOCPKD";
	struct place *place = kh_array(p->n, sizeof *place, err);

	for (size_t i = 0; place && i < p->n; i++) {
		const char letter = p->db->tax->letter[p->row[i].taxon];
		const char *at = strchr(ranks, letter);

		place[i] = (struct place) { &p->row[i], at ? (int)(at - ranks) : 8 };
	}
	if (place && p->n > 0)
		qsort(place, p->n, sizeof *place, by_place);
	return place;
}

/* Rows in order, of which each thread of a team writes some. */
struct writing {
	const kh_profile *p;
	struct place *place;
	size_t above;                   /* the first one above species: organisms stand before it */
	kh_buf *part;                   /* of each thread */
	unsigned threads;
};

static void add_organisms(const kh_profile *p, kh_buf *b)
{
	for (size_t i = 0; i < p->n_unknown; i++)
		add_organism(p, &p->unknown[i], b);
}

static int write_some(void *arg, unsigned id, kh_err *err)
{
	const struct writing *w = arg;
	const size_t n = w->p->n;
	kh_buf *b = &w->part[id];

	for (size_t i = n * id / w->threads; i < n * (id + 1) / w->threads; i++) {
		if (i == w->above)
			add_organisms(w->p, b);
		add_row(w->p, w->place[i].row, b);
	}
	return kh_buf_check(b, err);
}

static int add_rows(const kh_profile *p, kh_team *team, kh_buf *b, kh_err *err)
{
	struct writing w = { .p = p, .place = order_rows(p, err), .threads = kh_team_size(team) };
	int rc;

	w.part = kh_array(w.threads, sizeof *w.part, err);
	rc = w.place && w.part ? KH_OK : KH_ENOMEM;
	while (!rc && w.above < p->n && w.place[w.above].rank == 0)
		w.above++;
	kh_buf_string(b, header);
	if (!rc)
		rc = kh_team_run(team, write_some, &w, err);
	for (unsigned i = 0; w.part && i < w.threads; i++) {
		kh_buf_add(b, w.part[i].p, w.part[i].n);
		free(w.part[i].p);
	}
	if (w.above == p->n)
		add_organisms(p, b);
	add_unknown(p, b);
	free(w.part);
	free(w.place);
	return rc;
}

int kh_profile_table(kh_buf *b, const kh_db *db, const kh_results *r, kh_err *err)
{
	kh_profile p;
	int rc = kh_profile_make(&p, db, r, err);

	if (rc)
		return rc;
	rc = add_rows(&p, r->team, b, err);
	kh_profile_clear(&p);
	return rc;
}
