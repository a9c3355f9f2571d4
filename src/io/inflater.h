/*
 * inflater.h - the functions of a device that inflates gzip files, in batches (gzdev.h)
 *
 * A file gets two slots for compressed bytes and two for text, in the memory of a device: while the
 * text of one batch is given out, the next one is inflated, and the one behind that is read.  A run
 * inflates a slot, from a place where the text in front is known, up to the end of the last block
 * that is whole in the slot, or less.  The text of a run is proven: each block begins where the one
 * in front ended, no match copies from before its member, and each member that ends in the run has
 * the CRC and the length of its trailer.  A run stops in front of anything else.
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
	/* Bytes at the beginning of a slot for the rest of the batch before. */
	KH_INFLATER_FRONT = 1 << 22,
	/* Bytes of the header of a file's first member, at most. */
	KH_INFLATER_HEAD = 1 << 10,
	/* Bytes in front of the text in its slot, for the rest of the text before. */
	KH_INFLATER_CARRY = 1 << 16
};
#define KH_INFLATER_NONE UINT32_MAX

/* A place where the text in front is known; counted from the beginning of a slot. */
typedef struct kh_inflater_place {
	uint32_t bit;           /* of a block (with `head`, behind that header), or of a trailer */
	uint32_t head;          /* byte of the header of the member that begins here, or NONE */
	uint32_t window;        /* bytes in front that may be copied from, up to 32768 */
	uint32_t crc;           /* of the member, up to here, */
	uint64_t n;             /*   and its bytes */
} kh_inflater_place;

enum kh_inflater_stop {
	KH_INFLATER_MORE,       /* the next block is not whole: its bytes were copied in front of
				 * those of the other slot, which is to be run next */
	KH_INFLATER_AGAIN,      /* no room for more text: the same slot is to be run from there */
	KH_INFLATER_TAIL,       /* at a trailer that only the sequential reader can judge */
	KH_INFLATER_ODD         /* at something else that is only for the host */
};

typedef struct kh_inflater_run {
	unsigned in, text;      /* slots */
	uint32_t end;           /* of the bytes in the slot */
	bool plain;             /* the bytes are the text */
	bool members;           /* BGZF: begins and ends at headers of members */
	bool last;              /* no bytes follow in the file */
	/* In: where the run begins; out: where it stopped. With MORE, counted from the beginning of
	 * the other slot. */
	kh_inflater_place place;
	/* result */
	uint32_t n_text;        /* bytes, in the slot for text */
	uint32_t head;          /* the header, in the slot that was run, of the member at `place`,
				 * or NONE if it is not in this slot */
	uint32_t last_n;        /* text of the last member that ended, or NONE */
	uint8_t window[32768];  /* the text in front of `place`: the last place.window bytes */
	enum kh_inflater_stop stop;
} kh_inflater_run;

/* Reads n compressed bytes, from byte `at` of the file on. */
typedef int kh_inflater_fill(void *arg, void *to, uint64_t at, size_t n, kh_err *err);

/* --- text that is parsed where it is ------------------------------------------------------ */
/* Four-line FASTQ of one text, or of the two of mates, is parsed a window at a time into fragments,
 * in one of the parser's buffers, which are used in turn. */
typedef struct kh_inflater_parser kh_inflater_parser;
enum {
	KH_PARSER_WINDOW = 1 << 26,     /* bytes of a text, at most */
	KH_PARSER_BUFFERS = 32,         /* at most */
	KH_PARSER_NAME = 1000,          /* bytes of a name, at most, where names are wanted */
	/* fragments of a task, and tasks of a buffer, at most */
	KH_PARSER_TASK = 1 << 14,
	KH_PARSER_TASKS = KH_PARSER_WINDOW / 128 / KH_PARSER_TASK
};

/* What a line of the output has of a fragment. */
typedef struct kh_parsed_fragment {
	uint32_t name;                  /* of its first record, in kh_parsed_there.names */
	uint16_t n_name;
	uint16_t len[2];                /* bases of its records */
	uint16_t ambiguous;             /* k-mers with a base that is not known */
} kh_parsed_fragment;

/* The fragments of a task.  Data on the device have the form that its kernels read. */
typedef struct kh_parsed_there {
	uint32_t n, n_words;
	bool mates;                     /* a fragment has two records, side by side */
	int device;
	const uint32_t *len;            /* bases of each fragment, on the host */
	const kh_parsed_fragment *fragment;     /* on the host, too; NULL: not wanted */
	const char *names;
	const uint64_t *bases;          /* on the device, and so are the next two */
	const uint32_t *amb;
	const void *record;
	unsigned buffer;
} kh_parsed_there;

typedef struct kh_inflater_parse {
	kh_inflater_file *file[2];      /* [1] NULL: no mates; it may be on another device */
	unsigned text[2];               /* slots */
	size_t from[2], to[2];          /* a record begins at `from`; counted as for `get` */
	bool any_names;                 /* the names of mates need not agree */
	uint32_t k;                     /* of ambiguous k-mers, where names are wanted */
	unsigned buffer;
	/* result: whole fragments, up to the end of a text or of the buffer, or up to a fragment
	 * that is odd: not plain (seqio/four_lines.h), too long for a task, with too long a name,
	 * or of two reads that are not mates */
	size_t used[2];                 /* where these fragments end */
	bool all[2];                    /* no whole record is left */
	bool odd;                       /* the next one is */
	uint32_t n_tasks;
	kh_parsed_there task[KH_PARSER_TASKS];
} kh_inflater_parse;

typedef struct kh_inflater_functions {
	/* *f becomes NULL if there is no room; then the host inflates. */
	int (*file_open)(kh_inflater *z, kh_inflater_file **f, kh_err *err);
	void (*file_close)(kh_inflater_file *f);
	/* Bytes that a slot takes behind its front, and bytes of a chunk of them. */
	size_t (*slot_bytes)(const kh_inflater_file *f);
	size_t chunk_bytes;
	/* Any thread: n <= chunk_bytes bytes, which `fill` gives, to byte `to` of a slot. */
	int (*put)(kh_inflater_file *f, unsigned slot, uint32_t to, size_t n,
		   kh_inflater_fill *fill, void *arg, uint64_t at, kh_err *err);
	/* One thread at a time for a file.  The first run of a file begins at a member. */
	int (*run)(kh_inflater_file *f, kh_inflater_run *r, kh_err *err);
	/* Any thread: text [from, from + n) of a slot; a run's begins at KH_INFLATER_CARRY. */
	int (*get)(kh_inflater_file *f, unsigned text, size_t from, size_t n, char *to,
		   kh_err *err);
	/* Copies such text in front of the text of the other slot. */
	int (*carry)(kh_inflater_file *f, unsigned text, size_t from, size_t n, kh_err *err);
	/* A parser on the device of f, the file of the first mates; names: for lines of the output.
	 * *p becomes NULL if there is no room. */
	int (*parser_open)(kh_inflater_file *f, bool names, kh_inflater_parser **p, kh_err *err);
	unsigned (*parser_buffers)(const kh_inflater_parser *p);
	/* When no task reads its fragments any more. */
	void (*parser_close)(kh_inflater_parser *p);
	/* One thread at a time. */
	int (*parse)(kh_inflater_parser *p, kh_inflater_parse *x, kh_err *err);
} kh_inflater_functions;

/* The device that inflates; f NULL: the host does. */
typedef struct kh_inflate_by {
	const kh_inflater_functions *f;
	kh_inflater *z;
} kh_inflate_by;

#endif
