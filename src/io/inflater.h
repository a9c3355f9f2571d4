/*
 * inflater.h - the functions of a device that inflates gzip files, in batches (gzdev.h)
 *
 * A file gets two slots for compressed bytes and two for text, in the memory of a device: while the
 * text of one batch is given out, the next one is inflated, and the one behind that is read.  A run
 * inflates what is in a slot, from a place where the text in front is known, up to the end of the
 * last block that is there, or less.  What it gives is proven: each block begins where the one in
 * front of it ended, no match copies from before its member, and each member that ends in it has
 * the CRC and the length that its trailer says.  It stops in front of anything else.
 */
#ifndef KH_IO_INFLATER_H
#define KH_IO_INFLATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

typedef struct kh_inflater kh_inflater;                 /* of a command; for any threads */
typedef struct kh_inflater_file kh_inflater_file;       /* slots for one file */

enum {
	KH_INFLATER_SLOTS = 2,
	/* Bytes at the beginning of a slot for what is left of the batch before. */
	KH_INFLATER_FRONT = 1 << 22,
	/* Bytes of the header of a file's first member, at most. */
	KH_INFLATER_HEAD = 1 << 10,
	/* Bytes of a slot for text in front of that of a run, for what is left of the one
	 * before. */
	KH_INFLATER_CARRY = 1 << 16
};
#define KH_INFLATER_NONE UINT32_MAX

/* Where text is known in front; counted from the beginning of a slot. */
typedef struct kh_inflater_place {
	uint32_t bit;           /* of a block; with `head`, behind that header; or of a trailer */
	uint32_t head;          /* byte of the header of the member that begins here, or NONE */
	uint32_t window;        /* bytes in front that may be copied from, up to 32768 */
	uint32_t crc;           /* of the member, up to here, */
	uint64_t n;             /*   and its bytes */
} kh_inflater_place;

enum kh_inflater_stop {
	KH_INFLATER_MORE,       /* the next block is not all there: it was carried in front of the
				 * other slot, whose bytes are to be run with it */
	KH_INFLATER_AGAIN,      /* there was no room: the same slot is to be run from there */
	KH_INFLATER_TAIL,       /* at a trailer that only the sequential reader can judge */
	KH_INFLATER_ODD         /* at something else that is only for the host */
};

typedef struct kh_inflater_run {
	unsigned in, text;      /* slots */
	uint32_t end;           /* where the bytes of the slot end */
	bool members;           /* BGZF: begins and ends at headers of members */
	bool last;              /* no bytes follow in the file */
	/* Where it begins; then, where it stopped. With MORE, counted from the beginning of the
	 * other slot. */
	kh_inflater_place place;
	/* result */
	uint32_t n_text;        /* bytes, in the slot for text */
	uint32_t head;          /* the header of the member at `place`, if it began in this slot;
				 * else NONE.  Counted in the slot that was run. */
	uint32_t last_n;        /* text of the last member that ended, or NONE */
	uint8_t window[32768];  /* the text in front of `place`: the last place.window bytes */
	enum kh_inflater_stop stop;
} kh_inflater_run;

/* Reads n bytes of the file's compressed bytes, number `at` and those that follow. */
typedef int kh_inflater_fill(void *arg, void *to, uint64_t at, size_t n, kh_err *err);

/* --- text that is parsed where it is ------------------------------------------------------ */
/* Four-line FASTQ of one text, or of two with mates, is parsed in windows of these, and becomes
 * fragments in one of the parser's buffers, which go round. */
typedef struct kh_inflater_parser kh_inflater_parser;
enum {
	KH_PARSER_WINDOW = 1 << 26,     /* bytes of a text, at most */
	KH_PARSER_BUFFERS = 32,         /* at most */
	/* fragments of a task, and tasks of a buffer, at most */
	KH_PARSER_TASK = 1 << 14,
	KH_PARSER_TASKS = KH_PARSER_WINDOW / 128 / KH_PARSER_TASK
};

/* The fragments of a task.  What lies on the device is as its kernels read it. */
typedef struct kh_parsed_there {
	uint32_t n, n_words;
	bool mates;                     /* a fragment has two records, side by side */
	int device;
	const uint32_t *len;            /* bases of each fragment, on the host */
	const uint64_t *bases;          /* the rest is there */
	const uint32_t *amb;
	const void *record;
	unsigned buffer;
} kh_parsed_there;

typedef struct kh_inflater_parse {
	kh_inflater_file *file[2];      /* [1] NULL: no mates; it may be on another device */
	unsigned text[2];               /* slots */
	size_t from[2], to[2];          /* of what a record begins at; counted as for `get` */
	bool any_names;                 /* those of mates need not agree */
	unsigned buffer;
	/* result: whole fragments, up to the end of one of the texts, or of the buffer, or up to
	 * one that is not plain (seqio/four_lines.h), or too long for a task */
	size_t used[2];                 /* where they end */
	bool all[2];                    /* no whole record is left */
	bool odd;                       /* the next one is not plain */
	uint32_t n_tasks;
	kh_parsed_there task[KH_PARSER_TASKS];
} kh_inflater_parse;

typedef struct kh_inflater_functions {
	/* *f becomes NULL where there is no room; then the host inflates. */
	int (*file_open)(kh_inflater *z, kh_inflater_file **f, kh_err *err);
	void (*file_close)(kh_inflater_file *f);
	/* Bytes that are read into a slot, behind its front, and of a piece of them. */
	size_t (*slot_bytes)(const kh_inflater_file *f);
	size_t piece_bytes;
	/* Any thread: n <= piece_bytes bytes, which `fill` gives, to byte `to` of a slot. */
	int (*put)(kh_inflater_file *f, unsigned slot, uint32_t to, size_t n,
		   kh_inflater_fill *fill, void *arg, uint64_t at, kh_err *err);
	/* One thread at a time for a file.  The first run of a file begins at a member. */
	int (*run)(kh_inflater_file *f, kh_inflater_run *r, kh_err *err);
	/* Any thread: text [from, from + n) of a slot; that of a run is from KH_INFLATER_CARRY
	 * on. */
	int (*get)(kh_inflater_file *f, unsigned text, size_t from, size_t n, char *to,
		   kh_err *err);
	/* The same text is copied in front of that of the other slot. */
	int (*carry)(kh_inflater_file *f, unsigned text, size_t from, size_t n, kh_err *err);
	/* For text of this file, as the first one, on its device.  *p becomes NULL where there is
	 * no room. */
	int (*parser_open)(kh_inflater_file *f, kh_inflater_parser **p, kh_err *err);
	unsigned (*parser_buffers)(const kh_inflater_parser *p);
	/* When no task reads what it parsed. */
	void (*parser_close)(kh_inflater_parser *p);
	/* One thread at a time. */
	int (*parse)(kh_inflater_parser *p, kh_inflater_parse *x, kh_err *err);
} kh_inflater_functions;

/* Who inflates; f NULL: the host. */
typedef struct kh_inflate_by {
	const kh_inflater_functions *f;
	kh_inflater *z;
} kh_inflate_by;

#endif
