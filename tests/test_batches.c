/* test_batches.c - tasks that wait on a device are launched together, on made-up GPUs */
#include "cuda/engine/batch.h"
#include "fake_gpu.h"
#include "test_gpu.h"

enum { TASKS = KH_BATCHES + 5 };

/* Tasks of no fragments. */
static void make_tasks(kh_batch_task task[TASKS], uint32_t counts[TASKS], uint32_t results[TASKS])
{
	static uint32_t mark, text[64];

	for (uint32_t i = 0; i < TASKS; i++) {
		counts[i] = 100 + i;
		results[i] = 0;
		task[i] = (kh_batch_task) { .q = { .db.text = text, .mark = &mark,
						   .counts = &counts[i] },
					    .results = &results[i],
					    .bytes = sizeof results[i] };
	}
}

/* Some are launched as they come; others wait until one of these is done, and are launched
 * together, but for those that are taken back. */
TEST(test_batches)
{
	static kh_batch_task task[TASKS];
	uint32_t counts[TASKS], results[TASKS];
	kh_batches *b = NULL;

	fake_reset(UINT64_C(1) << 20);
	OK(kh_batches_open(&b, 0, 0, err));
	make_tasks(task, counts, results);
	fake.busy = true;
	for (uint32_t i = 0; i < TASKS; i++) {
		kh_batches_put(b, &task[i]);
		assert_int_equal(task[i].launched, i < KH_BATCHES);
	}
	kh_batches_drop(b, &task[KH_BATCHES + 2]);
	kh_batches_drop(b, &task[KH_BATCHES + 4]);
	kh_batches_put(b, &task[KH_BATCHES + 4]);
	OK(kh_batches_wait(b, &task[0], err));
	assert_int_equal(results[0], 100);
	fake.busy = true;
	assert_int_equal(fake.together, 1);
	OK(kh_batches_wait(b, &task[KH_BATCHES], err));
	assert_int_equal(fake.together, 4);
	for (uint32_t i = 1; i < TASKS; i++)
		if (i != KH_BATCHES + 2)
			OK(kh_batches_wait(b, &task[i], err));
	for (uint32_t i = 0; i < TASKS; i++)
		assert_int_equal(results[i], i == KH_BATCHES + 2 ? 0 : 100 + i);
	kh_batches_close(b);
	fake_reset(UINT64_C(4) << 30);
}

/* Whatever call fails: the tasks say so, if somebody asks why, and are nobody's any more. */
TEST(test_failing_batches)
{
	static kh_batch_task task[TASKS];
	uint32_t counts[TASKS], results[TASKS];
	long calls = 1;

	for (long n = 0; n <= calls; n++) {
		kh_err why = { 0, "" };
		kh_batches *b = NULL;
		int failed = 0;

		fake_reset(UINT64_C(1) << 20);
		OK(kh_batches_open(&b, 0, 0, err));
		make_tasks(task, counts, results);
		fake.busy = true;
		fake.fails_at = n > 0 ? fake_calls() + n : 0;
		calls = n > 0 ? calls : -fake_calls();
		for (uint32_t i = 0; i < TASKS; i++)
			kh_batches_put(b, &task[i]);
		for (uint32_t i = 0; i < TASKS; i++)
			failed += kh_batches_wait(b, &task[i], n % 2 ? &why : NULL) != KH_OK;
		calls += n > 0 ? 0 : fake_calls();
		assert_int_equal(failed > 0, n > 0);
		assert_int_equal(failed > 0 && n % 2, why.msg[0] != 0);
		fake.fails_at = 0;
		kh_batches_close(b);
	}
	fake_reset(UINT64_C(4) << 30);
}
