/* timing.h - what the workers of a run spend their time with, for -v */
#ifndef KH_BASE_TIMING_H
#define KH_BASE_TIMING_H

enum { KH_TIMER_KINDS = 6 };               /* kinds of work */

/* One worker's, or the sum of several. */
typedef struct kh_timer {
	double at, spent[KH_TIMER_KINDS];  /* seconds: of the last look at the clock; since then */
} kh_timer;

void kh_timer_start(kh_timer *l);
/* The time since the last call was spent with that kind of work. */
void kh_timer_mark(kh_timer *l, int kind);
void kh_timer_add(kh_timer *sum, const kh_timer *l);
/* Logs shares of the sum of so many workers; name: of each kind, then NULL. */
void kh_timer_show(const kh_timer *sum, unsigned workers, const char *const *name);

#endif
