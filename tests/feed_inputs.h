/* feed_inputs.h - text as an input of each kind */
#ifndef KH_FEED_INPUTS_H
#define KH_FEED_INPUTS_H

#include <fcntl.h>
#include <sys/stat.h>
#include "feed_harness.h"

/* A record for tests that look at names only. */
#define R(name) "@" name "\nACGT\n+\nIIII\n"

enum kind { RANGES, PIPE, GZ, BGZF, BGZF_GZ, N_KINDS };

struct input {
	int fd;
	char path[32];
};

static inline struct input make_input(enum kind kind, const char *s, size_t n)
{
	struct input in;
	struct bytes b = { NULL, 0 };
	int p[2];

	switch (kind) {
	case RANGES:
		bytes_add(&b, s, n);
		break;
	case PIPE:
		assert_int_equal(pipe(p), 0);
		fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
		assert_int_equal(write(p[1], s, n), n);
		close(p[1]);
		in.fd = p[0];
		snprintf(in.path, sizeof in.path, "/proc/self/fd/%d", in.fd);
		return in;
	case GZ:
		add_gz(&b, s, n / 3);
		add_gz(&b, s + n / 3, n - n / 3);
		break;
	case BGZF:
		add_bgzf(&b, s, n, test_rand() % (n < 60000 ? n + 1 : 60000) + 1);
		add_bgzf_eof(&b);
		break;
	case BGZF_GZ:                           /* goes on as plain gzip */
		add_bgzf(&b, s, n / 2, n < 100000 ? n / 4 + 1 : 60000);
		if (test_rand() % 2)
			add_bgzf_eof(&b);
		add_gz(&b, s + n / 2, n - n / 2);
		break;
	case N_KINDS:
		break;
	}
	in.fd = bytes_file(in.path, b.p, b.n);
	free(b.p);
	return in;
}

/* So many letters, in lines of so many. */
static inline size_t put_lines(char *s, size_t len, size_t width, const char *letters)
{
	size_t n = 0, k = strlen(letters);

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && i % width == 0)
			s[n++] = '\n';
		s[n++] = letters[test_rand() % k];
	}
	s[n++] = '\n';
	return n;
}

#endif
