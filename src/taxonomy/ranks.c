/* ranks.c - the names and letters of ranks */
#include <config.h>
#include "taxonomy/taxonomy.h"

#include <string.h>

/* Append only: the index is the number in database files. */
static const struct {
	const char *name;
	uint8_t len;
	char letter, place;             /* kh_rank_letter, kh_rank_place */
} ranks[KH_RANKS] = {
#define R(name, letter) { name, sizeof name - 1, letter, letter }
#define AT(place, name) { name, sizeof name - 1, 0, place }
	R("no rank", 0), R("clade", 0),
	AT('D', "acellular root"), R("cellular root", 0),
	R("superkingdom", 'D'), R("domain", 'D'),
	AT('D', "realm"), AT('D', "subrealm"),
	R("kingdom", 'K'), R("subkingdom", 0),
	R("superphylum", 0), R("phylum", 'P'), R("subphylum", 0), R("infraphylum", 0),
	R("superclass", 0), R("class", 'C'), R("subclass", 0), R("infraclass", 0),
	R("cohort", 0), R("subcohort", 0),
	R("superorder", 0), R("order", 'O'), R("suborder", 0), R("infraorder", 0),
	R("parvorder", 0),
	R("superfamily", 0), R("family", 'F'), R("subfamily", 0),
	R("tribe", 0), R("subtribe", 0),
	R("genus", 'G'), R("subgenus", 0),
	R("section", 0), R("subsection", 0), R("series", 0), R("subseries", 0),
	R("species group", 0), R("species subgroup", 0),
	R("species", 'S'), R("forma specialis", 0), R("subspecies", 0),
	R("varietas", 0), R("subvariety", 0), R("forma", 0),
	R("serogroup", 0), R("serotype", 0), R("strain", 0), R("isolate", 0),
	R("biotype", 0), R("genotype", 0), R("morph", 0), R("pathogroup", 0),
#undef R
#undef AT
};

const char *kh_rank_name(kh_rank r)
{
	return ranks[r < KH_RANKS ? r : KH_RANK_NONE].name;
}

kh_rank kh_rank_find(const char *name, size_t len)
{
	for (kh_rank r = 0; r < KH_RANKS; r++)
		if (ranks[r].len == len && !memcmp(ranks[r].name, name, len))
			return r;
	return KH_RANK_NONE;
}

char kh_rank_letter(kh_rank r)
{
	return r < KH_RANKS ? ranks[r].letter : 0;
}

char kh_rank_place(kh_rank r)
{
	return r < KH_RANKS ? ranks[r].place : 0;
}
