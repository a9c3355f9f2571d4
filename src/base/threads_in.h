/* threads_in.h - a monitor from inside, for what lets threads wait */
#ifndef KH_BASE_THREADS_IN_H
#define KH_BASE_THREADS_IN_H

#include <pthread.h>
#include "base/threads.h"

struct kh_monitor {
	pthread_mutex_t mu;
	struct watched {                /* every condition that a thread may wait on */
		pthread_cond_t *cv;
		size_t n;
	} *watched;
	size_t n_watched, cap_watched;
	bool stopped;
	kh_err err;
};

/* Makes n conditions, which a stop of the monitor wakes until they are unwatched. */
int kh_monitor_watch(kh_monitor *m, pthread_cond_t *cv, size_t n, kh_err *err);
void kh_monitor_unwatch(kh_monitor *m, pthread_cond_t *cv, size_t n);

#endif
