#include <config.h>
#include "sample/qualities.h"

#include "sample/logs.h"

static void count(kh_qualities *q, uint32_t least, uint32_t most)
{
	q->least = least < q->least || q->least == 0 ? least : q->least;
	q->most = most > q->most ? most : q->most;
}

void kh_qualities_add(kh_qualities *q, const kh_job *job, uint32_t k)
{
	for (int mate = 0; mate < 2 && job->block[mate]; mate++) {
		const kh_record *r = job->block[mate]->rec + job->from[mate];
		const size_t n = job->interleaved ? 2 * job->n : job->n;

		for (size_t i = 0; i < n && job->block[mate]->errors; i++) {
			const uint32_t right = KH_EXP2_ONE + 1 - r[i].errors;

			if (r[i].errors == 0)
				continue;
			count(q, r[i].errors, r[i].errors);
			q->reads++;
			if (right > 0)
				q->share += kh_exp2q(k * (uint64_t)((24 << 16) -
								    kh_log2q(right)));
		}
	}
}

void kh_qualities_join(kh_qualities *q, const kh_qualities *other)
{
	if (other->reads == 0)
		return;
	q->share += other->share;
	q->reads += other->reads;
	count(q, other->least, other->most);
}

uint32_t kh_qualities_share(const kh_qualities *q)
{
	return q->least < q->most ? (uint32_t)(q->share / q->reads) : 0;
}
