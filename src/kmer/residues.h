/*
 * residues.h - amino acids of codons, by the standard code
 */
#ifndef KH_KMER_RESIDUES_H
#define KH_KMER_RESIDUES_H

/* Of a codon, a number below 64 whose first base is highest: AAA, AAC, ... TTT; '*' is a stop. */
static inline char kh_residue(unsigned codon)
{
	static const char code[65] = "KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLL"
				     "EDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF";

	return code[codon];
}

#endif
