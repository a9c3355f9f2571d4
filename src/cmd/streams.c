#include <config.h>
#include "cmd/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* --- printing --------------------------------------------------------------------- */
static ssize_t write_patiently(void *cookie, const char *p, size_t n)
{
	const int fd = cookie ? STDERR_FILENO : STDOUT_FILENO;
	size_t done = 0;

	while (done < n) {
		struct pollfd x = { .fd = fd, .events = POLLOUT };
		ssize_t w = write(fd, p + done, n - done);

		if (w >= 0)
			done += (size_t)w;
		else if (errno == EAGAIN)
			poll(&x, 1, -1);
		else if (errno != EINTR)
			break;
	}
	return (ssize_t)done;
}

/* Waits rather than clears O_NONBLOCK, as that flag is shared with other processes. */
static void wait_for_room(FILE **stream, int fd, void *cookie)
{
	const cookie_io_functions_t io = { .write = write_patiently };
	const int flags = fcntl(fd, F_GETFL);
	FILE *f;

	if (flags < 0 || !(flags & O_NONBLOCK))
		return;
	f = fopencookie(cookie, "w", io);
	if (!f)
		return;
	setvbuf(f, NULL, cookie ? _IONBF : _IOFBF, BUFSIZ);
	*stream = f;
}

/* If a standard stream is closed, the next file to be opened would take its number, and messages
 * would be written into that file. So /dev/null takes the number, opened for the direction that
 * is not used. */
static int fill(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY) != fd)
			return -1;
	return 0;
}

int kh_cmd_streams(void)
{
	static char is_error;

	if (fill())
		return -1;
	wait_for_room(&stdout, STDOUT_FILENO, NULL);
	wait_for_room(&stderr, STDERR_FILENO, &is_error);
	return 0;
}
