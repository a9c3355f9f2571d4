/* source_in.h - the source and gzip headers, for the files of source.h and pgzip.h */
#ifndef KH_IO_SOURCE_IN_H
#define KH_IO_SOURCE_IN_H

#include <xxhash.h>
#include "io/inflate.h"
#include "io/source.h"

enum { KH_SOURCE_IN = 1 << 18 };        /* compressed bytes held; above any BGZF block */

/* At a member, inside one, or behind the last. */
enum kh_gz_state { KH_GZ_NONE, KH_GZ_MEMBER, KH_GZ_BODY, KH_GZ_TRAILER, KH_GZ_END };

struct kh_source {
	char *name;
	int fd;
	bool own_fd;
	kh_monitor *m;          /* when it is stopped, a stream is not waited for; or NULL */
	enum kh_source_kind kind;
	uint64_t size;          /* of a regular file, else 0 */
	uint64_t taken;         /* read from fd */
	uint8_t *in;            /* KH_INFLATE_BACK + KH_SOURCE_IN bytes */
	size_t pos, end;        /* in[pos..end): read, but not used yet */
	bool at_end;            /* fd has no more */
	bool in_step, looked;   /* looked: at the first bytes */
	kh_err late;            /* to be reported behind the bytes that are right */
	struct {
		XXH3_state_t *state;    /* of n bytes that were read from fd; NULL: not wanted */
		uint64_t n;
	} digest;

	enum kh_gz_state gz;
	kh_inflate *z;
	uint32_t crc;
	uint64_t n_member;      /* decoded bytes of the member */
	uint64_t member_at;     /* offset of its header in the file */
	size_t bsize;           /* its size by its BGZF field, or 0 */
	bool any_member, open_end;      /* the last member was a BGZF block with bytes in it */
	bool allow_no_eof;

	/* source_together.c */
	kh_together with;
	struct kh_pgzip *pgzip; /* made when first needed */
	struct {
		struct kh_gzdev *g;     /* as pgzip */
		bool none;              /* it has no room, has failed, or did little of this file */
		uint64_t from;          /* where in the file it began */
	} device;
	enum { KH_GZ_ALONE, KH_GZ_BY_THREADS, KH_GZ_BY_DEVICE } together;       /* at work */
	struct {
		uint8_t *p;             /* [pos, end): compressed bytes that threads did not use */
		size_t pos, end;
	} back;
	kh_err fault;           /* of reading the file */
};

/* Up to n of the file's next bytes; 0: the end; < 0. */
int64_t kh_source_raw(kh_source *s, void *buf, size_t n, kh_err *err);
/* Makes `need` bytes available behind pos, fewer only at the end of the file. */
int kh_source_fill(kh_source *s, size_t need, kh_err *err);
/* In step: are there no more bytes at present, so that a read should end? */
bool kh_source_dry(const kh_source *s);
static inline uint64_t kh_source_at(const kh_source *s) { return s->taken - (s->end - s->pos); }

/* For an input whose first bytes are gzip's: sets the kind, gzip or BGZF, and makes the
 * inflater. */
int kh_gz_open(kh_source *s, kh_err *err);
int64_t kh_gz_read(kh_source *s, uint8_t *buf, size_t n, kh_err *err);
/* Between members, or at a trailer: goes to the next member's data.  True: at their first byte. */
bool kh_gz_to_data(kh_source *s);

struct kh_gz_head {
	size_t n;               /* bytes of the header; 0: incomplete */
	size_t bsize;           /* bytes of the block by its BGZF field, or 0 */
	const char *bad;        /* what is wrong with it, or NULL */
};

/* gz_head.c */
struct kh_gz_head kh_gz_parse_head(const uint8_t *p, size_t n);

enum { KH_GZ_TRAILER_BYTES = 8 };

static inline uint32_t kh_le16(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t kh_le32(const uint8_t *p)
{
	return kh_le16(p) | kh_le16(p + 2) << 16;
}

#define KH_GZ_BAD_CRC "CRC-32 differs"
#define KH_GZ_BAD_LENGTH "its length differs"
/* Fails with a message about the member whose header is at byte `at`; `what`: what is wrong. */
int kh_gz_damaged(const char *name, uint64_t at, const char *what, kh_err *err);

#endif
