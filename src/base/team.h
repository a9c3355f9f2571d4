/*
 * team.h - threads that run one function after the other: a round each
 *
 * Where rounds are short, starting threads anew for each would take longer than the work.
 */
#ifndef KH_BASE_TEAM_H
#define KH_BASE_TEAM_H

#include "base/threads.h"

/* n threads, one of them the caller's; only the thread that made a team runs and frees it.  NULL is
 * a team of the caller alone. */
typedef struct kh_team kh_team;

int kh_team_new(kh_team **t, kh_monitor *m, unsigned n, kh_err *err);
void kh_team_free(kh_team *t);
unsigned kh_team_size(const kh_team *t);
/* As kh_threads_run. */
int kh_team_run(kh_team *t, kh_worker_fn *fn, void *arg, kh_err *err);

#endif
