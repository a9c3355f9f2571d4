/*
 * progress.h - how far a long step is: what is done, how fast, and the time that is left
 *
 *	read 12.3 of 45.6 MB, 118 MB/s, 1 s left
 *
 * It is the line of msg.h that replaces itself, so it is seen only on a terminal.
 */
#ifndef KH_BASE_PROGRESS_H
#define KH_BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct kh_step {
	const char *doing;              /* "read" */
	const char *things;             /* what is counted; NULL: bytes */
	double started;                 /* kh_seconds() of its begin */
	uint64_t done, total;           /* total 0: not known */
} kh_step;

/* Any thread, often: it says something at most once a second. */
void kh_progress(const kh_step *s);

/* The line as it is after so many seconds.  In the first half second nothing is known of the rate;
 * without a total, or when all is done, nothing of the time left. */
void kh_step_text(const kh_step *s, double seconds, char *text, size_t size);

#endif
