#include <config.h>
#include "kraken2/frames.h"

#include "kmer/residues.h"
#include "kraken2/scan.h"

/* Residues that change into one another most easily have one number (Solis 2015). */
static unsigned char group(char residue)
{
	static const char *const member[] = { "*", "A", "NQS", "C", "DE", "F", "G", "H", "IL", "K",
					      "P", "R", "MV", "T", "W", "Y" };
	unsigned char i = 0;

	for (;; i++)
		for (const char *c = member[i]; *c; c++)
			if (*c == residue)
				return i;
}

void kh_k2_translate(const unsigned char *base, uint64_t n, unsigned char *to,
		     kh_k2_frame frame[KH_K2_N_FRAMES])
{
	unsigned char residue[64], *end[KH_K2_N_FRAMES];
	const uint64_t each = n / 3 + 1;
	unsigned codon = 0, back = 0, whole = 0;

	for (unsigned i = 0; i < 64; i++)
		residue[i] = group(kh_residue(i));
	for (int i = 0; i < KH_K2_N_FRAMES; i++) {
		unsigned char *at = to + (uint64_t)i * each;

		at[0] = KH_K2_CHAR_AMBIGUOUS;
		frame[i] = (kh_k2_frame) { at, n < 3 };
		end[i] = i < 3 ? at : at + each;
	}
	for (uint64_t i = 0; i < n; i++) {
		const unsigned b = base[i];
		const int f = (int)(i % 3);

		codon = (codon << 2 | (b & 3)) & 63;
		back = back >> 2 | (3 - (b & 3)) << 4;
		whole = b == KH_K2_CHAR_AMBIGUOUS ? 0 : whole + 1;
		if (i < 2)
			continue;
		*end[f]++ = whole < 3 ? KH_K2_CHAR_AMBIGUOUS : residue[codon];
		*--end[f + 3] = whole < 3 ? KH_K2_CHAR_AMBIGUOUS : residue[back];
		frame[f].n++;
		frame[f + 3].n++;
		frame[f + 3].residue = end[f + 3];
	}
}
