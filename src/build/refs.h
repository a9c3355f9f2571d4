/*
 * refs.h - the reference sequences of a build: their ids, lengths and bins, and how the
 * blocks of a file become pieces of whole bins
 */
#ifndef KH_BUILD_REFS_H
#define KH_BUILD_REFS_H

#include "base/buf.h"
#include "build/build.h"
#include "taxonomy/seqid.h"

typedef struct kh_refs {
	kh_ref *ref;                    /* n, in input order */
	size_t n, cap;
	kh_buf ids;                     /* NUL-terminated */
	kh_idmap *map;                  /* gives ref i the number i, unless one was a duplicate */
	size_t *number;                 /* the number of ref i in map */
	size_t *last;                   /* by number in map: the last ref that has it */
	size_t n_numbered, cap_number, cap_last;
	size_t n_again;                 /* refs whose id an earlier ref has */
	uint64_t bases;                 /* of all */
	bool allow_duplicates;
	const char *base;               /* the database that the first n_base are from, or NULL */
	size_t n_base;
	const uint32_t *file_taxid;     /* by file, 0: not known; or NULL */
	bool number_later;              /* kh_refs_number is not called */
	bool no_header_taxid;           /* taxids in header lines are of another taxonomy */
	const struct kh_lineages *lineages;     /* header lines have these, or NULL */
	/* NULL, or called when a sequence begins, in order, with the name of its file */
	int (*begun)(void *arg, const char *id, const char *path, kh_err *err);
	void *begun_arg;
	/* of 64 bits, as it may exceed the greatest number of a bin */
	uint64_t next_bin;
	kh_sampling sampling;
	/* the sequence that is not complete, and its bases behind the last whole bin */
	bool open;
	uint64_t done;                  /* its bases before the carried ones */
	uint64_t *carry_bases;
	uint32_t *carry_amb;
	uint32_t carry;                 /* bases, less than stride + k */
} kh_refs;

int kh_refs_init(kh_refs *r, const kh_sampling *rule, kh_err *err);
void kh_refs_clear(kh_refs *r);

/* Room that pieces need in front of a block, in bases: a multiple of 32. */
size_t kh_refs_front(const kh_sampling *rule);

typedef struct kh_pieces {
	kh_piece *v;                    /* grown as needed; to be freed by the caller */
	size_t n, cap;
} kh_pieces;
/* To be called in the order of blocks (kh_feed_options.committed), with the name of b's file: adds
 * the block's sequences to r, *out becomes its pieces, and carried bases are written in front of
 * the first one.  *out must outlive the threads of the run, as any of them may call this. */
int kh_refs_add(kh_refs *r, kh_block *b, const char *path, kh_pieces *out, kh_err *err);

/* Adds the id of the next sequence to the map.  Fails if it has none, or if an earlier sequence has
 * the same.  Where header lines or files say the taxa, only ids of one file must differ, unless its
 * header lines have lineages. */
int kh_refs_number(kh_refs *r, const char *path, kh_err *err);

/* The name of a block's file, for messages; empty for the block that follows the last file. */
static inline const char *kh_refs_path(const char *const *refs, size_t n, size_t file)
{
	return file < n ? refs[file] : "";
}

static inline const char *kh_refs_id(const kh_refs *r, size_t i)
{
	return r->ids.p + r->ref[i].id;
}

#endif
