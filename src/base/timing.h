/* timing.h - what the workers of a run spend their time on, for -v */
#ifndef KH_BASE_TIMING_H
#define KH_BASE_TIMING_H

enum { KH_TIMER_KINDS = 7 };               /* kinds of work */

/* The times of one worker, or the sum of several. */
typedef struct kh_timer {
	/* seconds: when the clock was last read; by kind of work */
	double at, spent[KH_TIMER_KINDS];
} kh_timer;

/* From now on; what was counted before stays. */
void kh_timer_start(kh_timer *t);
/* Counts the time since the last call for that kind of work. */
void kh_timer_mark(kh_timer *t, int kind);
void kh_timer_add(kh_timer *sum, const kh_timer *t);
/* Logs how the time of so many workers was shared; name: those of the kinds, then NULL. */
void kh_timer_show(const kh_timer *sum, unsigned workers, const char *const *name);

#endif
