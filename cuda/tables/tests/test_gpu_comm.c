/*
 * test_gpu_comm.c - what GPUs send each other: sizes of all kinds, sums, members that fail
 *
 * All GPUs are members; where there is but one, it talks to itself.
 */
#define TEST_MAIN
#include "tests/test_gpu.h"

#include "cuda/tables/comm.h"
#include "cuda/kernels/gpu.h"
#include "kmer/kmer.h"

enum { MOST = 16, ROUNDS = 12 };

static int device[MOST];
static size_t n;
static bool nccl;                /* else by peer copies */
static cudaStream_t stream[MOST];

struct side {
	/* seen: recv as the next operation in the stream finds it */
	kh_gpu_buf send, recv, seen;
	size_t at[MOST], bytes[MOST], from[MOST], got[MOST], out, in;
};

static uint8_t made(size_t i, size_t j, size_t k, unsigned round)
{
	return (uint8_t)kh_fmix64((i * MOST + j) << 40 ^ (uint64_t)round << 34 ^ k);
}

/* Nothing, one byte, odd numbers of them, and a lot. */
static size_t some_bytes(void)
{
	static const size_t edge[] = { 0, 0, 1, 7, 4096, 65537 };

	return test_rand() % 3 ? edge[test_rand() % 6] : test_rand() % 3000000;
}

static void make_sides(struct side *s)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			s[i].bytes[j] = s[j].got[i] = some_bytes();
	for (size_t i = 0; i < n; i++) {
		s[i].out = s[i].in = 3;         /* nothing is aligned */
		for (size_t j = 0; j < n; j++) {
			s[i].at[j] = s[i].out;
			s[i].out += s[i].bytes[j];
		}
		for (size_t j = n; j-- > 0;) {  /* in another order than it is sent */
			s[i].from[j] = s[i].in;
			s[i].in += s[i].got[j] + 1;
		}
	}
}

static void put_side(struct side *s, size_t i, unsigned round)
{
	uint8_t *h = malloc(s->out);

	memset(h, 0, s->out);
	for (size_t j = 0; j < n; j++)
		for (size_t k = 0; k < s->bytes[j]; k++)
			h[s->at[j] + k] = made(i, j, k, round);
	OK(kh_gpu_use(device[i], err));
	OK(kh_gpu_room(&s->send, s->out, err));
	OK(kh_gpu_room(&s->recv, s->in, err));
	OK(kh_gpu_room(&s->seen, s->in, err));
	OK(KH_GPU(cudaMemcpy(s->send.p, h, s->out, cudaMemcpyHostToDevice), err));
	OK(KH_GPU(cudaDeviceSynchronize(), err));       /* the streams do not wait for it */
	/* no member may write there before this */
	OK(KH_GPU(cudaMemsetAsync(s->recv.p, 0xa5, s->in, stream[i]), err));
	free(h);
}

/* In the stream, behind what comes. */
static void see_side(struct side *s, size_t i)
{
	OK(kh_gpu_use(device[i], err));
	OK(KH_GPU(cudaMemcpyAsync(s->seen.p, s->recv.p, s->in, cudaMemcpyDeviceToDevice,
				  stream[i]),
		  err));
}

static void drop_side(struct side *s)
{
	kh_gpu_drop(&s->send);
	kh_gpu_drop(&s->recv);
	kh_gpu_drop(&s->seen);
}

static void check_side(struct side *s, size_t i, unsigned round)
{
	uint8_t *h = malloc(s->in);
	size_t guards = 0;

	OK(kh_gpu_use(device[i], err));
	OK(KH_GPU(cudaMemcpy(h, s->seen.p, s->in, cudaMemcpyDeviceToHost), err));
	for (size_t j = 0; j < n; j++) {
		for (size_t k = 0; k < s->got[j]; k++)
			if (h[s->from[j] + k] != made(j, i, k, round))
				fail_msg("member %zu: byte %zu of %zu from %zu is wrong", i, k,
					 s->got[j], j);
		guards += h[s->from[j] + s->got[j]] == 0xa5;
	}
	assert_int_equal(guards, n);
	free(h);
}

/* In every other round a second message goes along with the first. */
TEST(test_all_to_all)
{
	static struct side s[2][MOST];
	kh_gpu_message p[2][MOST];
	kh_gpu_comm *c = NULL;

	OK(kh_gpu_comm_open(&c, device, n, err));
	for (unsigned round = 0; round < ROUNDS; round++) {
		const unsigned times = 1 + round % 2;

		for (unsigned k = 0; k < times; k++) {
			make_sides(s[k]);
			for (size_t i = 0; i < n; i++) {
				struct side *x = &s[k][i];

				put_side(x, i, 2 * round + k);
				p[k][i] = (kh_gpu_message) {
					x->send.p, x->at,
					x->bytes,  x->recv.p,
					x->from,   x->got,
					stream[i], k + 1 < times ? &p[1][i] : NULL
				};
			}
		}
		OK(kh_gpu_comm_all_to_all(c, p[0], err));
		for (unsigned k = 0; k < times; k++)
			for (size_t i = 0; i < n; i++)
				see_side(&s[k][i], i);
		OK(kh_gpu_comm_wait(c, stream, err));
		for (unsigned k = 0; k < times; k++)
			for (size_t i = 0; i < n; i++)
				check_side(&s[k][i], i, 2 * round + k);
	}
	for (size_t i = 0; i < 2 * n; i++)
		drop_side(&s[i / n][i % n]);
	kh_gpu_comm_close(c);
}

TEST(test_sum)
{
	enum { NUMBERS = 1000 };
	uint64_t h[NUMBERS], *p[MOST];
	kh_gpu_comm *c = NULL;

	OK(kh_gpu_comm_open(&c, device, n, err));
	for (size_t i = 0; i < n; i++) {
		OK(kh_gpu_use(device[i], err));
		OK(KH_GPU(cudaMalloc((void **)&p[i], sizeof h), err));
		for (size_t k = 0; k < NUMBERS; k++)
			h[k] = kh_fmix64(i * NUMBERS + k);
		OK(KH_GPU(cudaMemcpy(p[i], h, sizeof h, cudaMemcpyHostToDevice), err));
		OK(KH_GPU(cudaDeviceSynchronize(), err));
	}
	OK(kh_gpu_comm_sum(c, p, NUMBERS, stream, err));
	OK(kh_gpu_comm_sum(c, p, 0, stream, err));
	OK(kh_gpu_comm_wait(c, stream, err));
	for (size_t i = 0; i < n; i++) {
		OK(kh_gpu_use(device[i], err));
		OK(KH_GPU(cudaMemcpy(h, p[i], sizeof h, cudaMemcpyDeviceToHost), err));
		for (size_t k = 0; k < NUMBERS; k++) {
			uint64_t sum = 0;

			for (size_t j = 0; j < n; j++)
				sum += kh_fmix64(j * NUMBERS + k);
			assert_int_equal(h[k], sum);
		}
		OK(KH_GPU(cudaFree(p[i]), err));
	}
	kh_gpu_comm_close(c);
}

/* By NCCL: a member that does not send what another waits for, all having talked before: the wait
 * ends with an error, and so does all that comes after. */
TEST(test_silence)
{
	static struct side s[MOST];
	kh_gpu_message p[MOST];
	kh_gpu_comm *c = NULL;
	kh_err e = { 0, "" };
	int rc;

	if (!nccl || n < 2)
		return;                 /* a member alone waits for no other */
	setenv("KH_GPU_COMM_TIMEOUT", "15", 1);    /* the first exchange makes connections */
	OK(kh_gpu_comm_open(&c, device, n, err));
	for (size_t i = 0; i < n; i++) {
		memset(&s[i].at, 0, sizeof s[i].at);
		for (size_t j = 0; j < n; j++)
			s[i].bytes[j] = s[i].got[j] = 100;
		s[i].out = s[i].in = 4096;
		put_side(&s[i], i, 0);
		p[i] = (kh_gpu_message) { s[i].send.p, s[i].at, s[i].bytes, s[i].recv.p,
					 s[i].at, s[i].got, stream[i], NULL };
	}
	OK(kh_gpu_comm_all_to_all(c, p, err));
	OK(kh_gpu_comm_wait(c, stream, err));
	s[1].bytes[0] = 0;              /* 0 does not know */
	rc = kh_gpu_comm_all_to_all(c, p, &e);
	if (!rc)
		rc = kh_gpu_comm_wait(c, stream, &e);
	assert_int_not_equal(rc, KH_OK);
	assert_non_null(strstr(e.msg, "cuda:"));
	assert_int_not_equal(kh_gpu_comm_all_to_all(c, p, &e), KH_OK);
	kh_gpu_comm_close(c);
	unsetenv("KH_GPU_COMM_TIMEOUT");
	for (size_t i = 0; i < n; i++)
		drop_side(&s[i]);
}

static _Atomic int let_go;

static void hold_on(void *arg)
{
	(void)arg;
	while (!let_go)
		;
}

/* By peer copies: a stream that does not get done ends in an error that names the device, in time;
 * later calls fail at once. */
TEST(test_stuck)
{
	const int twice[] = { device[0], device[0] };
	cudaStream_t both[2] = { stream[0], NULL };
	kh_gpu_comm *c = NULL;
	kh_err e = { 0, "" };
	double began;

	if (nccl)
		return;
	setenv("KH_GPU_COMM_TIMEOUT", "1", 1);
	OK(kh_gpu_use(device[0], err));
	OK(KH_GPU(cudaStreamCreateWithFlags(&both[1], cudaStreamNonBlocking), err));
	OK(kh_gpu_comm_open(&c, twice, 2, err));
	OK(kh_gpu_comm_wait(c, both, err));
	let_go = 0;
	OK(KH_GPU(cudaLaunchHostFunc(both[1], hold_on, NULL), err));
	began = kh_seconds();
	assert_int_equal(kh_gpu_comm_wait(c, both, &e), KH_EDEVICE);
	assert_true(kh_seconds() - began >= 1 && kh_seconds() - began < 10);
	assert_non_null(strstr(e.msg, "cuda:0 is not done after 1 s (KH_GPU_COMM_TIMEOUT)"));
	let_go = 1;
	OK(KH_GPU(cudaStreamSynchronize(both[1]), err));
	assert_int_equal(kh_gpu_comm_wait(c, both, &e), KH_EIO);
	kh_gpu_comm_close(c);
	OK(KH_GPU(cudaStreamDestroy(both[1]), err));
	unsetenv("KH_GPU_COMM_TIMEOUT");
}

int main(void)
{
	int status;

	if (!gpu_there(&status))
		return status;
	n = (size_t)kh_gpu_count(NULL);
	n = n < MOST ? n : MOST;
	for (size_t i = 0; i < n; i++) {
		device[i] = (int)i;
		if (cudaSetDevice((int)i) != cudaSuccess ||
		    cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking) != cudaSuccess)
			return 1;
	}
	status = test_run(NULL, NULL);
#ifdef HAVE_NCCL
	setenv("KH_GPU_COMM", "nccl", 1);
	nccl = true;
	status += test_run(NULL, NULL);
#endif
	return status;
}
