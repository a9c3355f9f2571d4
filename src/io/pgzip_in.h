/* pgzip_in.h - chunks, for pgzip.c, pgzip_chunk.c and pgzip_part.c */
#ifndef KH_IO_PGZIP_IN_H
#define KH_IO_PGZIP_IN_H

#include <pthread.h>
#include "io/deflate.h"
#include "io/pgzip.h"

/* The end of a member that is followed by another one. */
struct pgzip_event {
	size_t at;              /* behind its last symbol */
	uint32_t crc, n;        /* of its trailer */
	uint64_t next_at;       /* offset of the next header in the file */
};

enum pgzip_stop {
	PGZIP_NONE,             /* no place to begin was found */
	PGZIP_NEXT,             /* at a place that the next chunk may begin at */
	PGZIP_EARLY,            /* at a block's end: the input or the room ends in the next one */
	PGZIP_TAIL,             /* behind a member's last block: at its trailer */
	PGZIP_BAD               /* at a block's end: the next one cannot be decoded */
};

struct kh_pgzip_chunk {
	kh_pgzip *p;

	/* as read */
	uint64_t at;            /* offset of in[0] in the file */
	uint8_t *in;            /* n bytes and KH_DEFLATE_PAD zeros */
	size_t n, cap_in;
	size_t nominal;         /* of the n bytes; the others are also the next chunk's */
	bool last;              /* no bytes follow */
	bool known;             /* begins at `start`, with d.out and d.oldest as its window */
	size_t text;            /* symbols, at most, unless its first block has more */

	/* as decoded */
	kh_deflate d;
	size_t cap_out;         /* of d.out */
	bool no_memory;
	kh_deflate_start start; /* where decoding began */
	enum pgzip_stop stop;
	bool by_output;           /* EARLY: the room ended, not the input */
	size_t end_bit;         /* where decoding stopped, behind n_out - WINDOW symbols */
	size_t n_out;
	kh_deflate_start end;   /* the same place, as the next chunk would find it */
	struct pgzip_event *event;
	size_t n_event, cap_event;

	/* as given out */
	kh_deflate_bytes bytes;
	size_t given, events_given;

	/* under the pgzip's lock */
	bool busy;              /* a thread decodes it */
	unsigned refs;          /* parts that are not finished */
};

/* A finished part whose CRC is not joined to that of the text in front yet. */
struct pgzip_done {
	bool there;
	uint32_t crc;           /* of the n bytes behind its last event, or of all */
	uint64_t n;
	bool restarts;          /* it has an event, behind whose last one `member_at` is */
	uint64_t member_at;
};

struct kh_pgzip {
	kh_pgzip_options o;
	kh_deflate_finder finder;

	/* in order */
	struct kh_pgzip_chunk *ring;
	size_t n_ring;
	uint64_t head, tail;
	uint8_t *ahead;         /* bytes that were read, but are not nominal in any chunk */
	size_t n_ahead;
	uint64_t ahead_at;      /* their offset in the file */
	bool at_end;
	bool proven;            /* the chunk at head is */
	uint64_t at;            /* bit of the file: the last proven start of a block, */
	kh_deflate_start next;  /*   and the same as a search would find it */
	uint8_t window[KH_DEFLATE_WINDOW];      /* its last n_window bytes: the text in front */
	size_t n_window;
	uint8_t *rest;          /* compressed bytes from there to the next chunk's first one */
	size_t n_rest, cap_rest;
	bool tail_reached;      /* `at` is at a trailer */
	bool leave;
	uint64_t n_parts;

	pthread_mutex_t mu;
	pthread_cond_t changed;
	/* under mu */
	uint64_t changes;
	uint64_t n_joined;      /* parts that are joined */
	uint32_t crc;           /* of the member, in joined parts */
	uint64_t n_member;
	uint64_t member_at;
	struct pgzip_done *done;      /* number % n_ring */
};

/* Under mu: wakes all that wait. */
static inline void pgzip_has_changed(kh_pgzip *p)
{
	p->changes++;
	pthread_cond_broadcast(&p->changed);
}

/* Decodes a chunk as it was read, from its start if that is known. */
void pgzip_decode(struct kh_pgzip_chunk *c, const kh_deflate_finder *finder);
/* Makes d.out hold n symbols. */
bool pgzip_reserve(struct kh_pgzip_chunk *c, size_t n);

#endif
