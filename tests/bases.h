/* bases.h - what base a character is */
#ifndef KH_TEST_BASES_H
#define KH_TEST_BASES_H

/* A=0 C=1 G=2 T=U=3 in either case; 4 for all else. */
static inline unsigned base_of(unsigned char c)
{
	unsigned u = c & 0xdfu;                 /* upper case */
	unsigned b = (u >> 1) & 3u;             /* A0 C1 T2 U2 G3 */
	unsigned ok = (u == 'A') | (u == 'C') | (u == 'G') | (u == 'T') | (u == 'U');
	return ok && c >= 'A' ? b ^ (b >> 1) : 4u;
}

#endif
