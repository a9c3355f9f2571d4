/* source_in.h - what source.c and source_gz.c share */
#ifndef KH_SOURCE_IN_H
#define KH_SOURCE_IN_H

#include "inflate.h"
#include "source.h"

enum { KH_SOURCE_IN = 1 << 18 };        /* compressed bytes held; above any BGZF block */

/* At a member, inside one, or behind the last. */
enum kh_gz_state { KH_GZ_NONE, KH_GZ_MEMBER, KH_GZ_BODY, KH_GZ_TRAILER, KH_GZ_END };

struct kh_source {
	char *name;
	int fd;
	bool own_fd;
	enum kh_source_kind kind;
	uint64_t size;          /* of a regular file, else 0 */
	uint64_t taken;         /* read from fd */
	uint8_t *in;            /* KH_INFLATE_BACK + KH_SOURCE_IN bytes */
	size_t pos, end;        /* of what is there and not used yet */
	bool at_end;            /* fd has no more */
	bool in_step, looked;   /* at the first bytes */
	kh_err late;            /* to be told once what was right has been given */

	enum kh_gz_state gz;
	kh_inflate *z;
	uint32_t crc;
	uint64_t n_member;      /* decoded bytes of the member */
	uint64_t member_at;     /* offset of its header in the file */
	size_t bsize;           /* its size by its BGZF field, or 0 */
	bool any_member, open_end;      /* the last member was a BGZF block with bytes in it */
	bool allow_no_eof;
};

/* Makes `need` bytes available behind pos, fewer only at the end of the file. */
int kh_source_fill(kh_source *s, size_t need, kh_err *err);
/* In step: is it time to be content with what has been read? */
bool kh_source_dry(const kh_source *s);
static inline uint64_t kh_source_at(const kh_source *s) { return s->taken - (s->end - s->pos); }

/* The first bytes say gzip: finds out whether BGZF, gets ready. */
int kh_gz_open(kh_source *s, kh_err *err);
int64_t kh_gz_read(kh_source *s, uint8_t *buf, size_t n, kh_err *err);

#endif
