/* laps.h - what the workers of a run spend their time with, for -v */
#ifndef KH_LAPS_H
#define KH_LAPS_H

enum { KH_LAPS_MAX = 6 };               /* kinds of work */

/* One worker's, or the sum of several. */
typedef struct kh_laps {
	double at, spent[KH_LAPS_MAX];  /* seconds: of the last look at the clock; since then */
} kh_laps;

void kh_laps_begin(kh_laps *l);
/* The time since the last call was spent with that kind of work. */
void kh_lap(kh_laps *l, int kind);
void kh_laps_add(kh_laps *sum, const kh_laps *l);
/* Logs shares of the sum of so many workers; name: of each kind, then NULL. */
void kh_laps_show(const kh_laps *sum, unsigned workers, const char *const *name);

#endif
