#include <config.h>
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *kh_array(size_t n, size_t size, kh_err *err)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		kh_fail(err, KH_ENOMEM, "out of memory: %zu times %zu bytes", n, size);
	return p;
}

int kh_print(char **text, kh_err *err, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(text, fmt, ap);
	va_end(ap);
	if (n >= 0)
		return KH_OK;
	*text = NULL;
	return kh_fail_nomem(err);
}

int kh_grow(void **p, size_t *cap, size_t need, size_t size, kh_err *err)
{
	size_t n = *cap + *cap / 2 + 16, bytes;

	if (need <= *cap)
		return KH_OK;
	if (n < need)
		n = need;
	if (__builtin_mul_overflow(n, size, &bytes))
		return kh_fail_nomem(err);
	void *q = realloc(*p, bytes);
	if (!q)
		return kh_fail(err, KH_ENOMEM, "out of memory: %zu bytes", bytes);
	*p = q;
	*cap = n;
	return KH_OK;
}

bool kh_all_zero(const void *p, size_t bytes)
{
	const char *byte = p;

	while (bytes > 0 && byte[bytes - 1] == 0)
		bytes--;
	return bytes == 0;
}

int kh_by_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t whole_pages(size_t bytes)
{
	return (bytes / KH_LARGE_PAGE + 1) * KH_LARGE_PAGE;
}

void *kh_array_large(size_t n, size_t size, kh_err *err)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - 2 * KH_LARGE_PAGE) {
		kh_fail_nomem(err);
		return NULL;
	}
	if (bytes < KH_LARGE_PAGE)
		return kh_array(n, size, err);
	p = aligned_alloc(KH_LARGE_PAGE, whole_pages(bytes));
	if (!p)
		kh_fail(err, KH_ENOMEM, "out of memory: %zu bytes", bytes);
#ifdef MADV_HUGEPAGE
	else
		madvise(p, whole_pages(bytes), MADV_HUGEPAGE);
#endif
	return p;
}

/* A large page begins at a multiple of its size: what is before and behind is given back. */
void *kh_pages(size_t bytes, kh_err *err)
{
	const size_t size = whole_pages(bytes);
	char *p = mmap(NULL, size + KH_LARGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (p == MAP_FAILED) {
		kh_fail_nomem(err);
		return NULL;
	}
	before = (size_t)(-(uintptr_t)p % KH_LARGE_PAGE);
	if (before)
		munmap(p, before);
	munmap(p + before + size, KH_LARGE_PAGE - before);
#ifdef MADV_HUGEPAGE
	madvise(p + before, size, MADV_HUGEPAGE);
#endif
	return p + before;
}

void kh_pages_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, whole_pages(bytes));
}
