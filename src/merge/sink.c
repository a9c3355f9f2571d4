#include <config.h>
#include "merge/formats_in.h"
#include "merge/read_in.h"

#include <string.h>

/* --- text ------------------------------------------------------------------------- */
int kh_merge_flush(kh_merge_sink *s)
{
	if (!s->rc)
		s->rc = kh_buf_check(&s->b, s->err);
	if (!s->rc && s->b.n > 0)
		s->rc = kh_writer_put(s->writer, s->b.p, s->b.n, s->err);
	s->b.n = 0;
	return s->rc;
}

void kh_merge_flush_much(kh_merge_sink *s)
{
	enum { MUCH = 1 << 18 };

	if (s->b.lost || s->b.n >= MUCH)
		kh_merge_flush(s);
}

void kh_merge_put_name(kh_merge_sink *s, const char *name, const char *not)
{
	const size_t at = s->b.n;

	kh_buf_string(&s->b, name);
	for (size_t i = at; i < s->b.n; i++)
		if (strchr(not, s->b.p[i]))
			s->b.p[i] = '_';
}

void kh_merge_end_row(kh_merge_sink *s)
{
	kh_buf_add(&s->b, "\n", 1);
	kh_merge_flush_much(s);
}

/* --- lineages --------------------------------------------------------------------- */
const char kh_merge_ranks[] = "DKPCOFGS";

const char *kh_merge_code(char letter)
{
	static const char letters[] = "D\0K\0P\0C\0O\0F\0G\0S";
	const char *at = letter ? strchr(kh_merge_ranks, letter) : NULL;

	return at ? letters + 2 * (at - kh_merge_ranks) : NULL;
}

const char *kh_merge_rank(const char *name)
{
	const kh_rank rank = kh_rank_find(name, strlen(name));
	const char letter = name[0] && !name[1]		     ? (char)(name[0] & ~0x20)
			    : strcmp(name, "acellular root") ? kh_rank_letter(rank)
							     : kh_rank_place(rank);
	const char *code = kh_merge_code(letter);

	if (!code && name[0] && strchr("RDKPCOFGS", name[0]) && strlen(name) < KH_MERGE_CODE &&
	    strspn(name + 1, "0123456789") == strlen(name + 1))
		return name;
	return code;
}

int kh_merge_rank_of(const kh_merge *m, uint32_t taxon)
{
	const char *code = m->taxon[taxon].code;
	const char *at = code[0] && !code[1] ? strchr(kh_merge_ranks, code[0]) : NULL;

	return at ? (int)(at - kh_merge_ranks) : -1;
}

kh_merge_lineage kh_merge_lineage_of(const kh_merge *m, uint32_t taxon)
{
	kh_merge_lineage lineage;

	for (int i = 0; i < KH_MERGE_RANKS; i++)
		lineage.taxon[i] = KH_NO_TAXON;
	for (; taxon != KH_NO_TAXON; taxon = m->taxon[taxon].parent) {
		const int i = kh_merge_rank_of(m, taxon);

		if (i >= 0 && lineage.taxon[i] == KH_NO_TAXON)
			lineage.taxon[i] = taxon;
	}
	return lineage;
}

void kh_merge_put_lineage(kh_merge_sink *s, const kh_merge *m, uint32_t taxon)
{
	const kh_merge_lineage lineage = kh_merge_lineage_of(m, taxon);
	const char *between = "";

	for (int i = 0; i < KH_MERGE_RANKS; i++) {
		if (lineage.taxon[i] == KH_NO_TAXON)
			continue;
		kh_buf_print(&s->b, "%s%c__", between, kh_merge_ranks[i] | 0x20);
		kh_merge_put_name(s, kh_merge_name(m, lineage.taxon[i]), ";");
		between = ";";
	}
}

/* --- cells ------------------------------------------------------------------------ */
bool kh_merge_wanted(const kh_merge *m, uint32_t taxon, const char *code)
{
	return !code || strcmp(m->taxon[taxon].code, code) == 0;
}

const kh_merge_cell *kh_merge_find_cell(const kh_merge *m, uint32_t taxon, uint32_t sample)
{
	size_t lo = m->first[taxon], hi = m->first[taxon + 1];

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (m->cell[mid].sample < sample)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->first[taxon + 1] && m->cell[lo].sample == sample ? &m->cell[lo] : NULL;
}

double kh_merge_share(uint64_t part, uint64_t all)
{
	return all > 0 ? (double)part / (double)all : 0;
}
