/* frames.h - bases to residues, in six reading frames and in the alphabet of Kraken 2 */
#ifndef KH_KRAKEN2_FRAMES_H
#define KH_KRAKEN2_FRAMES_H

#include <stdint.h>

enum { KH_K2_N_FRAMES = 6 };

typedef struct kh_k2_frame {
	const unsigned char *residue;
	uint64_t n;
} kh_k2_frame;

/*
 * Translates n bases (scan.h), with room for 2 n + 6 residues.  Frames are in the order of
 * Kraken 2: frame i has the codons whose last base is number i modulo 3, counted from 0; the three
 * behind have the codons of the other strand in their places, from the end.  With less than three
 * bases each frame has one ambiguous residue.
 */
void kh_k2_translate(const unsigned char *base, uint64_t n, unsigned char *to,
		     kh_k2_frame frame[KH_K2_N_FRAMES]);

#endif
