/* mem.h - memory of checked size */
#ifndef KH_BASE_MEM_H
#define KH_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* Zeroed room for n elements, to be freed by free(); NULL and a message if there
 * is none or n * size overflows.  n == 0 gives a pointer that may be freed. */
void *kh_array(size_t n, size_t size, kh_err *err);

/* Room for n elements, not zeroed, in large pages if it is large and the system has them: a system
 * takes long to give out many small ones.  To be freed by free(). */
void *kh_array_large(size_t n, size_t size, kh_err *err);

/* Makes *p (from malloc, or NULL) hold at least `need` elements of `size` bytes;
 * *cap is in elements and grows by half.  *p is untouched on failure. */
int kh_grow(void **p, size_t *cap, size_t need, size_t size, kh_err *err);
/* The same by the names of the pointer and of its cap. */
#define KH_GROW(p, cap, need, err) kh_grow((void **)&(p), &(cap), need, sizeof *(p), err)

/* As asprintf; *text becomes NULL if there is no memory. */
int kh_print(char **text, kh_err *err, const char *fmt, ...) KH_PRINTF(3, 4);

bool kh_all_zero(const void *p, size_t bytes);
/* For qsort of uint64_t: the lesser first. */
int kh_by_u64(const void *a, const void *b);

#define KH_LARGE_PAGE ((size_t)2 << 20)

/* `bytes` of zeroed memory in large pages, where the system has them: for what is large and is read
 * at random, as the addresses of few large pages are all known to the processor.  Given back by
 * kh_pages_free. */
void *kh_pages(size_t bytes, kh_err *err);
void kh_pages_free(void *p, size_t bytes);

#endif
