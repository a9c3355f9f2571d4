/* test_waiting.c - frames in a file, and fragments that wait in them */
#include "test.h"

#include <unistd.h>
#include "run/waiting.h"
#include "sample/frames.h"

/* --- frames ----------------------------------------------------------------------- */
enum { FRAMES = 20 };

static void made_frame(kh_buf *f, uint64_t ticket)
{
	f->n = 0;
	for (uint64_t i = 0; i < ticket * ticket * 500; i++)
		kh_frame_number(f, kh_fmix64(ticket * 1000003 + i) >> i % 64);
}

static void frames(bool pack)
{
	kh_frames *s;
	kh_buf f = { .n = 0 }, want = { .n = 0 };
	kh_err err;

	assert_int_equal(kh_frames_open(&s, "frames", 2, pack, &err), 0);
	for (uint64_t t = FRAMES; t-- > 0;) {
		made_frame(&f, t);
		assert_int_equal(kh_frames_put(s, t % 2, t, &f, &err), 0);
	}
	assert_int_equal(kh_frames_count(s), FRAMES);
	for (uint64_t t = 0; t < FRAMES; t++) {
		const char *at;

		assert_int_equal(kh_frames_get(s, 0, t, &f, &err), 0);
		made_frame(&want, t);
		assert_int_equal(f.n, want.n);
		if (f.n == 0)
			continue;
		assert_memory_equal(f.p, want.p, f.n);
		at = f.p;
		for (uint64_t i = 0; i < t * t * 500; i++)
			assert_true(kh_frame_read(&at) == kh_fmix64(t * 1000003 + i) >> i % 64);
		assert_ptr_equal(at, f.p + f.n);
	}
	kh_frames_close(s);
	assert_int_equal(kh_frames_open(&s, "no/such/folder", 1, pack, &err), KH_EIO);
	kh_frames_close(NULL);
	free(f.p);
	free(want.p);
}

TEST(test_frames)
{
	frames(true);
	frames(false);
}

/* --- fragments that wait ------------------------------------------------------------ */
enum { WAITING = 500, ID = 60 };

static uint64_t some_number(void) { return test_rand() >> test_rand() % 64; }

/* With an id that begins as the one before, or is empty, and often the same lengths. */
static void made_waiting(kh_waiting *k, const kh_waiting *last, char *id)
{
	const size_t same = last->line.id_len ? test_rand() % (last->line.id_len + 1) : 0;

	*k = *last;
	k->class = test_rand() % 3 ? some_number() >> 2 : 0;
	k->call = (kh_call) { .taxon = k->class || test_rand() % 2 ? KH_NO_TAXON
								    : (uint32_t)some_number() / 2,
			      .kmers = (uint32_t)some_number(),
			      .hits = (uint32_t)some_number() };
	if (test_rand() % 4 == 0) {
		k->line.mates = test_rand() % 2;
		k->line.len[0] = some_number();
		k->line.len[1] = some_number();
		k->line.ambiguous = some_number();
	}
	k->line.id = id;
	k->line.id_len = test_rand() % 8 ? same + test_rand() % (ID - same + 1) : 0;
	if (same)
		memcpy(id, last->line.id, same);
	for (size_t i = same; i < ID; i++)
		id[i] = (char)('a' + test_rand() % 2);
}

TEST(test_waiting)
{
	static char id[WAITING][ID];
	static kh_waiting want[WAITING];
	kh_waiting none = { .class = 0 }, have = none;
	kh_buf f = { .n = 0 }, room = { .n = 0 };
	const char *at;

	for (int i = 0; i < WAITING; i++) {
		const kh_waiting *last = i ? &want[i - 1] : &none;

		made_waiting(&want[i], last, id[i]);
		kh_waiting_put(&f, &want[i], last);
	}
	at = f.p;
	for (int i = 0; i < WAITING; i++) {
		const kh_line_parts *a = &want[i].line, *b = &have.line;

		kh_waiting_read(&at, &have, &room);
		assert_true(want[i].class == have.class);
		assert_memory_equal(&want[i].call, &have.call, sizeof have.call);
		assert_true(a->mates == b->mates && a->len[0] == b->len[0] &&
			    a->len[1] == b->len[1] && a->ambiguous == b->ambiguous);
		assert_int_equal(a->id_len, b->id_len);
		if (a->id_len)
			assert_memory_equal(a->id, b->id, a->id_len);
	}
	assert_ptr_equal(at, f.p + f.n);
	free(f.p);
	free(room.p);
}
