/* read.c - a further sample of a table: a report or a profile, whatever its first bytes say */
#include <config.h>
#include "merge/read_in.h"

#include <stdlib.h>
#include "base/mem.h"

static int by_taxon(const void *a, const void *b)
{
	const kh_merge_cell *x = a, *y = b;

	return (x->taxon > y->taxon) - (x->taxon < y->taxon);
}

/* Sorts the cells of the last sample by taxon; one that is there twice is an error. */
static int check_twice(kh_merge_reader *r, size_t from)
{
	kh_merge *m = r->m;
	int rc = KH_OK;

	if (m->n_cells > from)
		qsort(m->cell + from, m->n_cells - from, sizeof *m->cell, by_taxon);
	for (size_t i = from + 1; i < m->n_cells && !rc; i++)
		if (m->cell[i].taxon == m->cell[i - 1].taxon)
			rc = KH_MERGE_BAD(r, "%s: taxid %u has two rows", r->tsv.name,
					  m->taxon[m->cell[i].taxon].taxid);
	return rc;
}

/* The abundances of all species of a profile, each rounded, and of the unknown add up to one. */
static int check_abundances(kh_merge_reader *r, size_t from)
{
	const kh_merge *m = r->m;
	uint64_t sum = m->sample[r->sample].unknown.abundance, n = 1;

	for (size_t i = from; i < m->n_cells; i++)
		if (m->taxon[m->cell[i].taxon].code[0] == 'S') {
			sum += m->cell[i].abundance;
			n++;
		}
	if (sum + n >= KH_MERGE_ONE && sum <= KH_MERGE_ONE + n)
		return KH_OK;
	return KH_MERGE_BAD(r, "%s: the abundances of species and of the unknown add up to %.6f "
			    "%%, not to 100: rows are missing, or were changed", r->tsv.name,
			    (double)sum * 100 / KH_MERGE_ONE);
}

/* --- an input --------------------------------------------------------------------- */
/* Are all samples reports, or all of them profiles? */
static int check_kind(kh_merge_reader *r, bool profile)
{
	kh_merge *m = r->m;

	if (r->sample == 0)
		m->profiles = profile;
	return m->profiles == profile
		       ? KH_OK
		       : KH_MERGE_BAD(r, "%s is a %s, but %s is a %s: they cannot be in one table",
				      r->tsv.name, profile ? "profile" : "report",
				      m->sample[0].path, profile ? "report" : "profile");
}

static int read_any(kh_merge_reader *r)
{
	const int profile = kh_tsv_begins(&r->tsv, KH_MERGE_PROFILE_HEAD, r->err);
	const int rc = profile < 0 ? kh_merge_unreadable(r) : check_kind(r, profile);

	if (profile < 0 || rc || !r->sound)
		return rc;
	return profile ? kh_merge_read_profile(r) : kh_merge_read_report(r);
}

int kh_merge_read(kh_merge *m, const char *name, const char *path, kh_errs *errs, kh_err *err)
{
	kh_merge_reader r = { .m = m, .sample = (uint32_t)m->n_samples, .errs = errs, .err = err,
			      .sound = true };
	const size_t cells = m->n_cells;
	kh_err one = { 0, "" };
	int rc = kh_tsv_open(&r.tsv, path, &one);

	if (rc) {
		kh_tsv_clear(&r.tsv);
		return kh_errs_add(errs, &one, err);
	}
	rc = KH_GROW(m->sample, m->samples_cap, m->n_samples + 1, err);
	if (!rc) {
		m->sample[m->n_samples++] = (kh_merge_sample) { .name = name, .path = path };
		rc = read_any(&r);
	}
	if (!rc)
		rc = check_twice(&r, cells);
	if (!rc && r.sound && m->profiles)
		rc = check_abundances(&r, cells);
	kh_tsv_clear(&r.tsv);
	return rc;
}
