/* test_writer.c - bytes put by many threads, copied and lent: the file has them in order */
#include "test.h"

#include <stdatomic.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include "base/order.h"
#include "io/bgzf.h"
#include "io/writer.h"

enum { THREADS = 8, PIECES = 600, WORKS = 24, MOST = 5 * KH_BGZF_UNIT };

/* What a thread fills, and gets back when all of it is compressed. */
struct piece {
	struct run *run;
	kh_loan loan;
	uint64_t ticket;
	size_t n;
	char p[MOST];
};

struct run {
	kh_monitor *m;
	kh_writer *text;
	kh_queue *idle;
	kh_order *order;
	bool lend;
	uint64_t next;
	struct piece all[WORKS];
};

static uint64_t mix(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

/* Piece i of the sequence: mostly short, or some units and a bit, or just units. */
static size_t make_piece(char *p, uint64_t i)
{
	size_t n = (size_t)(mix(i + 1) % 200);

	if (i % 3 == 1)
		n = (size_t)(mix(i + 2) % MOST);
	else if (i % 7 == 2)
		n = (1 + i % 4) * KH_BGZF_UNIT;
	for (size_t k = 0; k < n; k++)
		p[k] = "ACGT\n"[mix(i * MOST + k) >> 40 & 3];
	return n;
}

static void come_back(void *arg)
{
	struct piece *x = arg;

	memset(x->p, 'x', x->n);        /* it may not be read any more */
	kh_queue_push(x->run->idle, x);
}

static int deliver(void *arg, void *item, kh_err *err)
{
	struct run *r = arg;
	struct piece *x = item;
	int rc;

	kh_lend(&x->loan, come_back, x);
	rc = r->lend ? kh_writer_lend(r->text, x->p, x->n, &x->loan, err)
		     : kh_writer_put(r->text, x->p, x->n, err);
	kh_loan_end(&x->loan);
	return rc;
}

static int worker(void *arg, unsigned id, kh_err *err)
{
	struct run *r = arg;
	int rc = KH_OK;

	(void)id;
	(void)err;
	while (!rc) {
		kh_monitor_lock(r->m);
		uint64_t ticket = r->next++;
		kh_monitor_unlock(r->m);
		if (ticket >= PIECES)
			return KH_OK;
		if (kh_order_may_put(r->order, ticket, true) < 0)
			return KH_ECANCEL;
		struct piece *x = kh_queue_try(r->idle);
		if (!x && (rc = kh_writer_help(r->text)) < 0)
			return rc;
		if (!x && !(x = kh_queue_pop(r->idle)))
			return KH_ECANCEL;
		x->ticket = ticket;
		x->n = make_piece(x->p, ticket);
		rc = kh_order_put(r->order, ticket, x, deliver, r);
		if (!rc)
			rc = kh_writer_help(r->text);
	}
	return rc;
}

static void check_file(const char *path)
{
	static char want[MOST], got[MOST];
	gzFile f = gzopen(path, "rb");

	assert_non_null(f);
	for (uint64_t i = 0; i < PIECES; i++) {
		size_t n = make_piece(want, i);

		assert_int_equal(gzread(f, got, (unsigned)n), (int)n);
		assert_memory_equal(got, want, n);
	}
	assert_int_equal(gzread(f, got, 1), 0);
	assert_int_equal(gzclose(f), Z_OK);
}

/* The size and the digest that the text tells are those of the file. */
static void check_digest(const kh_writer *t, const char *path)
{
	FILE *f = fopen(path, "r");
	uint64_t bytes, xxh3;
	char *got;
	long n;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	got = malloc((size_t)n);
	assert_int_equal(fread(got, 1, (size_t)n, f), n);
	fclose(f);
	assert_true(kh_writer_digest(t, &bytes, &xxh3));
	assert_int_equal(bytes, n);
	assert_true(xxh3 == XXH3_64bits(got, (size_t)n));
	free(got);
}

TEST(test_sequence)
{
	static struct run r;

	for (int way = 0; way < 4; way++) {
		char path[64];
		kh_writer_options o = { .path = path, .bgzf = way < 2, .digest = true,
					.threads = THREADS };

		snprintf(path, sizeof path, "/tmp/kh-text-%d-%d%s", (int)getpid(), way,
			 way < 2 ? ".gz" : "");
		memset(&r, 0, sizeof r);
		r.lend = way % 2 == 0;
		OK(kh_monitor_new(&r.m, err));
		OK(kh_writer_open_for(&r.text, &o, r.m, err));
		OK(kh_queue_new(&r.idle, r.m, WORKS, err));
		OK(kh_order_new(&r.order, r.m, WORKS, err));
		for (int i = 0; i < WORKS; i++) {
			r.all[i].run = &r;
			kh_queue_push(r.idle, &r.all[i]);
		}
		OK(kh_threads_run(r.m, THREADS, worker, &r, err));
		OK(kh_writer_commit(&r.text, 1, err));
		for (int i = 0; i < WORKS; i++)         /* all have come back */
			assert_non_null(kh_queue_try(r.idle));
		check_digest(r.text, path);
		kh_writer_close(r.text);
		kh_queue_free(r.idle);
		kh_order_free(r.order);
		kh_monitor_free(r.m);
		check_file(path);
		unlink(path);
	}
}
