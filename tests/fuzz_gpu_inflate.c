/*
 * fuzz_gpu_inflate.c - any bytes as a gzip file, inflated by a GPU that is made up, and by the host
 *
 * The data are read as they are, and as deflate data of two members with right trailers, in batches
 * of a size that the first byte tells.  Text and errors must be the same.
 */
#define _GNU_SOURCE
#include <config.h>
#include "cuda/inflate/inflater.h"
#include "fake_gpu.h"
#include "fuzz.h"
#include "gz_together.h"

enum { TEXT_MAX = 1 << 20, SIZES = 16 };

/* One for each size of batches, used again. */
static kh_inflater *inflater_of(unsigned size)
{
	static kh_inflater *all[SIZES];
	const kh_devices on = { .choice = { .n = 1 } };
	kh_err err = { 0, "" };

	if (!all[size]) {
		const size_t slot = 2048 + 400 * (size_t)size;

		REQUIRE(kh_cuda_inflater_open_with(&all[size], &on, slot, &err) == 0);
	}
	return all[size];
}

static void check_file(const struct bytes *file, unsigned size)
{
	const kh_together with = { .threads = 1, .part = 3001, .least = 1,
				   .by = { &kh_cuda_inflater, inflater_of(size) } };

	REQUIRE(same_as_alone(file, &with));
}

/* Adds a member with the data, as far as zlib goes through them. */
static void add_data(struct bytes *file, const uint8_t *data, size_t size)
{
	uint8_t *text = malloc(TEXT_MAX);
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (unsigned)size,
		       .next_out = text, .avail_out = TEXT_MAX };

	inflateInit2(&z, -15);
	inflate(&z, Z_FINISH);
	bytes_add(file, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	bytes_add(file, data, size - z.avail_in);
	add_trailer(file, text, TEXT_MAX - z.avail_out);
	inflateEnd(&z);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned slot = size ? data[0] % SIZES : 0;
	struct bytes file = { NULL, 0 }, twice = { NULL, 0 };

	setenv("KH_GZ", "zlib", 1);
	if (fake.memory[0] == 0)
		fake_reset(UINT64_C(64) << 30);
	if (size > 1) {
		bytes_add(&file, data + 1, size - 1);
		check_file(&file, slot);
		add_data(&twice, data + 1, size - 1);
		add_data(&twice, data + 1, size - 1);
		check_file(&twice, slot);
	}
	free(twice.p);
	free(file.p);
	return 0;
}
