/*
 * test_comm.c - the communicator, by processes that mpirun starts: run_mpi.sh
 *
 *	test_comm messages     everything that is sent comes, whole and in order
 *	test_comm fail R       process R fails: the others' calls say so
 *	test_comm stop R       process R stops answering (SIGSTOP): the others say so
 *	test_comm slow R       process R fails, and the next takes its time to clear up
 *	test_comm late R       process R ends long after the others: that is no failure
 *	test_comm delay        microseconds of a message there and back (no verdict)
 *
 * Exit status 0, or 1 with a line on stderr.  Without cmocka: it also runs where that is not.
 */
#include <config.h>
#include "comm/comm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kmer/kmer.h"

static kh_comm *c;
static unsigned rank, size;
static kh_err err;

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "test_comm: process %u: %s: %s\n", rank, what, err.msg);
	exit(1);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	return kh_fmix64(kh_fmix64(a + 1) ^ (b + 1));
}

/* --- messages of any size between any processes on any channel -------------------- */
enum { ROUNDS = 200, FIRST = 1, LAST = 3 };     /* channels */

/* Bytes of message i from a to b on a channel: a few are of several transfers. */
static size_t size_of(uint64_t id)
{
	uint64_t h = mix(id, 7);

	if (h % 797 == 0)
		return 16 << 20;
	if (h % 1097 == 0)
		return (size_t)((40 << 20) + h % 1000);
	return h % 3 == 0 ? h % 8 : h % 5 == 0 ? h % 100000 : h % 3000;
}

static uint64_t id_of(unsigned from, unsigned to, unsigned channel, unsigned i)
{
	return ((uint64_t)from << 48) + ((uint64_t)to << 32) + (channel << 16) + i;
}

static void fill(unsigned char *p, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i += 1 + i / 64)
		p[i] = (unsigned char)mix(id, i);
}

static void check_message(const kh_message *m, unsigned i)
{
	uint64_t id = id_of(m->from, rank, m->channel, i);
	const unsigned char *p = m->p;

	must(m->n == size_of(id), "a message has its length, and its place");
	for (size_t j = 0; j < m->n; j += 1 + j / 64)
		must(p[j] == (unsigned char)mix(id, j), "a message has its bytes");
	free(m->p);
}

static void post_round(unsigned i)
{
	for (unsigned to = 0; to < size; to++)
		for (unsigned ch = FIRST; ch <= LAST; ch++) {
			uint64_t id = id_of(rank, to, ch, i);
			size_t n = size_of(id);
			unsigned char *p = n ? malloc(n) : NULL;

			must(!n || p, "memory");
			fill(p, n, id);
			must(!kh_comm_post(c, to, ch, p, n, &err), "post");
		}
}

static void all_to_all_messages(void)
{
	unsigned *seen = calloc(size * (LAST + 1), sizeof *seen);
	kh_message m;

	must(seen != NULL, "memory");
	for (unsigned i = 0; i < ROUNDS; i++) {
		post_round(i);
		for (unsigned k = 0; k < size; k++) { /* of channel 3 from each process, in order */
			must(!kh_comm_take_from(c, k, LAST, &m, &err), "take_from");
			must(m.from == k && m.channel == LAST, "from whom and where");
			check_message(&m, i);
		}
		for (unsigned k = 0; k < 2 * size; k++) {
			must(!kh_comm_take(c, 1 << FIRST | 1 << (FIRST + 1), true, &m, &err),
			     "take");
			must(m.channel == FIRST || m.channel == FIRST + 1,
			     "only what was asked for");
			check_message(&m, seen[m.from * (LAST + 1) + m.channel]++);
		}
	}
	must(!kh_comm_barrier(c, &err), "barrier");
	must(!kh_comm_take(c, ~0U, false, &m, &err) && m.from == KH_NOBODY && !m.p,
	     "nothing is left");
	free(seen);
}

/* --- collectives ------------------------------------------------------------------ */
static void sums(unsigned round)
{
	uint64_t x[5], want[5] = { 0 };

	for (unsigned i = 0; i < 5; i++) {
		x[i] = mix(round * 8 + i, rank);
		for (unsigned r = 0; r < size; r++)
			want[i] += mix(round * 8 + i, r);
	}
	must(!kh_comm_sum(c, x, round % 6, &err), "sum");
	must(memcmp(x, want, round % 6 * sizeof *x) == 0, "sums modulo 2^64");
}

static void broadcasts(unsigned round)
{
	unsigned root = (unsigned)(mix(round, 3) % size);
	size_t n = mix(round, 4) % 5000;
	unsigned char *p = calloc(n + 1, 1), *q = calloc(n + 1, 1);

	must(p && q, "memory");
	fill(q, n, round);
	if (rank == root)
		memcpy(p, q, n);
	must(!kh_comm_broadcast(c, root, p, n, &err), "broadcast");
	must(memcmp(p, q, n) == 0, "the root's bytes");
	free(p);
	free(q);
}

static void everyone(unsigned round)
{
	unsigned char buf[64 * 64];
	const void *send[64];
	void *recv[64];
	size_t n[64], got[64];

	must(size <= 64, "64 processes at most");
	for (unsigned r = 0; r < size; r++) {
		send[r] = buf + 64 * r;
		n[r] = mix(id_of(rank, r, 0, round), 1) % 64;
		fill(buf + 64 * r, n[r], id_of(rank, r, 0, round));
	}
	must(!kh_comm_all_to_all(c, send, n, recv, got, &err), "all_to_all");
	for (unsigned r = 0; r < size; r++) {
		uint64_t id = id_of(r, rank, 0, round);

		must(got[r] == mix(id, 1) % 64, "length from each");
		fill(buf, got[r], id);
		for (size_t j = 0; j < got[r]; j += 1 + j / 64)
			must(((unsigned char *)recv[r])[j] == buf[j], "bytes from each");
		free(recv[r]);
	}
	for (int to_all = 0; to_all < 2; to_all++) {
		const bool here = to_all || rank == 0;
		kh_mail m;

		must(!kh_comm_gather(c, &rank, rank % 2 ? sizeof rank : 0, to_all, &m, &err),
		     "gather");
		for (unsigned r = 0; r < size; r++)
			must(m.got[r] == (r % 2 && here ? sizeof r : 0) &&
				     (!m.got[r] || !memcmp(m.recv[r], &r, sizeof r)),
			     "what each gave");
		kh_mail_clear(&m);
	}
}

/* --- faults ----------------------------------------------------------------------- */
static int leave(int status)
{
	const int at_once = kh_comm_close(c);

	if (at_once) {
		fflush(stdout);
		_exit(at_once);
	}
	return status;
}

/* Waits for the failure, in a call as a command would. */
static int outlive(unsigned bad, const char *how, bool slow)
{
	char want[64];
	kh_message m;
	int rc = kh_comm_take(c, 1 << FIRST, true, &m, &err);

	snprintf(want, sizeof want, "process %u %s", bad, how);
	if (!rc || strncmp(err.msg, want, strlen(want)) != 0 || !kh_comm_check(c, &err) ||
	    !kh_comm_post(c, bad, FIRST, NULL, 0, &err) || !kh_comm_barrier(c, &err)) {
		fprintf(stderr, "test_comm: process %u: not '%s' but '%s'\n", rank, want, err.msg);
		return 3;
	}
	printf("process %u saw it: %s\n", rank, err.msg);
	fflush(stdout);
	kh_comm_fail(c, &err);
	if (slow) {
		sleep(5);
		printf("process %u has cleared up\n", rank);
		fflush(stdout);
	}
	return leave(1);
}

static int fault(const char *kind, unsigned bad)
{
	kh_message m;

	must(!kh_comm_barrier(c, &err), "barrier");
	must(!kh_comm_post(c, bad, LAST, NULL, 0, &err), "post");
	if (rank != bad)
		return outlive(bad,
			       strcmp(kind, "stop") == 0 ? "does not answer"
							 : "failed: the disk is full",
			       strcmp(kind, "slow") == 0 && rank == (bad + 1) % size);
	for (unsigned r = 0; r < size;
	     r++) /* have come out of the barrier, or that is what fails */
		must(!kh_comm_take_from(c, r, LAST, &m, &err), "take");
	if (strcmp(kind, "stop") != 0) {
		kh_fail(&err, KH_EIO, "the disk is full");
		kh_comm_fail(c, &err);
		return leave(1);
	}
	raise(SIGSTOP);
	return 1;
}

/* Twice the time-out and more after the others have come to their end. */
static void part_late(unsigned late)
{
	must(!kh_comm_barrier(c, &err), "barrier");
	if (rank == late)
		sleep(9);
}

static void delay(void)
{
	enum { N = 2000 };
	kh_message m;
	double t;

	must(!kh_comm_barrier(c, &err), "barrier");
	t = kh_seconds();
	for (int i = 0; i < N && rank < 2; i++) {
		if (rank == 0)
			must(!kh_comm_post(c, 1, 1, NULL, 0, &err), "post");
		must(!kh_comm_take_from(c, 1 - rank, 1, &m, &err), "take");
		free(m.p);
		if (rank == 1)
			must(!kh_comm_post(c, 0, 1, NULL, 0, &err), "post");
	}
	if (rank == 0)
		printf("%.1f us there and back\n", (kh_seconds() - t) / N * 1e6);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	must(!kh_comm_open(&c, &err), "open");
	must(c != NULL, "several processes");
	rank = kh_comm_self(c);
	size = kh_comm_size(c);
	if (strcmp(what, "fail") == 0 || strcmp(what, "stop") == 0 || strcmp(what, "slow") == 0)
		return fault(what, (unsigned)atoi(argv[2]));
	if (strcmp(what, "late") == 0)
		part_late((unsigned)atoi(argv[2]));
	if (strcmp(what, "delay") == 0)
		delay();
	for (unsigned i = 0; i < 300 && strcmp(what, "messages") == 0; i++) {
		sums(i);
		broadcasts(i);
		everyone(i);
	}
	if (strcmp(what, "messages") == 0)
		all_to_all_messages();
	return leave(0);
}
