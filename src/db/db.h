/*
 * db.h - the database file: kmerhash-db(5)
 *
 * A header of 4096 bytes, then sections at multiples of 4096, the last of them a table
 * of XXH3 checksums, one for each 16 MiB of what stands between header and table.
 * The header has the length of the file, the checksum of the table and its own; it is
 * written last.  A reader maps the file: many processes share one copy.
 *
 * Example: a build is killed while it writes.  The file has no header yet, nor its name, so no
 * reader takes it for a database.  If a byte changes later, the checksum of its 16 MiB says so.
 */
#ifndef KH_DB_H
#define KH_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "index/index.h"
#include "index/seeds.h"
#include "base/msg.h"
#include "io/output.h"
#include "kmer/sampling.h"
#include "kraken2/format.h"
#include "taxonomy/taxonomy.h"
#include "kmer/text.h"
#include "translated/section.h"

#define KH_DB_MAGIC "\x89KHDB\r\n\x1a"
#define KH_DB_VERSION 4
#define KH_DB_PAGE 4096
#define KH_DB_CHUNK (UINT64_C(1) << 24)

enum kh_section {
	KH_SEC_INDEX,           /* lines and lists of 256 ranges: index/seeds.h */
	KH_SEC_DIR,             /* kh_seed_range[256] */
	KH_SEC_TEXT,            /* bases of the targets, and alleles: kmer/text.h; or 0, 0 */
	KH_SEC_KEPT,            /* which they are: kh_db_kept */
	KH_SEC_STRAINS,         /* kh_text_strains; it need not be there: 0, 0 */
	KH_SEC_TAXA,            /* n_taxa of kh_db_taxon */
	KH_SEC_NAMES,           /* NUL-terminated names of taxa */
	KH_SEC_TARGETS,         /* n_targets of kh_db_target */
	KH_SEC_IDS,             /* NUL-terminated ids of targets */
	KH_SEC_UNMAPPED,        /* NUL-terminated ids of sequences without a taxon */
	KH_SEC_TRANSLATED,      /* translated/section.h; it need not be there: 0, 0 */
	KH_SEC_SUMS,            /* XXH3 of each 16 MiB */
	KH_N_SECTIONS
};
#define KH_SECTIONS_MAX 16      /* places in the header; those of no section are 0, 0 */

typedef struct kh_db_extent {
	uint64_t at, bytes;
} kh_db_extent;

typedef struct kh_db_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;          /* 4096 */
	uint64_t byte_order;            /* 0x0102030405060708 */
	uint64_t file_bytes;
	struct {
		uint32_t scheme, k, s, stride;
	} sampling;                     /* kh_sampling, with ... */
	uint32_t least;                 /*   ... this */
	uint32_t no_repeats;            /*   ... and this */
	uint64_t bins;                  /* one past the last bin */
	uint64_t locations;             /* of all seeds, without those that have too many */
	uint64_t features;              /* seeds */
	uint64_t over;                  /* of these, with too many places */
	uint64_t bases;                 /* of targets */
	uint64_t sequences;             /* read, with those that have no taxon */
	uint64_t unmapped;              /* sequences that have no taxon */
	uint64_t unmapped_bases;
	uint64_t digest;                /* of all sequences and their ids, in order */
	uint64_t max_bytes;             /* what the file was not to exceed; 0: it had no limit */
	uint32_t n_targets;
	uint32_t n_taxa;
	uint32_t word_bits;             /* of a bin in a line: kh_seed_bits */
	uint32_t zero;
	char tool[32];                  /* "kmerhash 0.3.0" */
	kh_db_extent section[KH_SECTIONS_MAX];
	uint64_t sums;                  /* XXH3 of the table of checksums */
	char zero2[KH_DB_PAGE - 456];
	uint64_t self;                  /* XXH3 of the header up to here */
} kh_db_header;

static_assert(sizeof(kh_db_header) == KH_DB_PAGE, "the header is one page");
static_assert(offsetof(kh_db_header, section) == 184, "where these are, by kmerhash-db(5)");

/* Has it no text?  Then there is nothing to compare reads with but its seeds. */
static inline bool kh_db_is_thin(const kh_db_header *h)
{
	return h->section[KH_SEC_TEXT].at == 0;
}

static inline kh_sampling kh_db_sampling(const kh_db_header *h)
{
	return (kh_sampling) { h->sampling.scheme, h->sampling.k, h->sampling.s,
			       h->sampling.stride, h->least, h->no_repeats };
}

static inline void kh_db_set_sampling(kh_db_header *h, const kh_sampling *s)
{
	h->sampling.scheme = s->scheme;
	h->sampling.k = s->k;
	h->sampling.s = s->s;
	h->sampling.stride = s->stride;
	h->least = s->least;
	h->no_repeats = s->no_repeats;
}

typedef struct kh_db_taxon {
	uint32_t taxid, parent, end;    /* numbers in preorder */
	uint32_t rank;
	uint64_t name;                  /* offset in the names */
} kh_db_taxon;

typedef struct kh_db_target {
	uint32_t first_bin;
	uint32_t taxon;                 /* preorder number */
	uint64_t bases;
	uint64_t digest;                /* of its bases: build.h */
	uint64_t id;                    /* offset in the ids */
} kh_db_target;

/* A stretch of a target whose text is there: in text and index, it has bins of its own.  What is
 * like text that was kept of the species is left out. */
typedef struct kh_db_kept {
	uint32_t target;                /* its number */
	uint32_t at;                    /* where it begins in the target, in bins */
	uint32_t first_bin, bins;
	uint32_t alleles;               /* bins of stretches before it that have alleles, plus 1; 0:
					 * it has none */
} kh_db_kept;

/* An allele in a stretch that has less than one in KH_DB_FEW bases: reads do not ask for it, but
 * references that are added do. */
#define KH_DB_FEW 1024
typedef struct kh_db_allele {
	uint32_t bin;
	uint32_t base;                  /* its number in the bin << 2 | the XOR */
} kh_db_allele;

/* Immutable after opening; any number of threads may use it. */
typedef struct kh_db {
	/* NULL, or it is a database of Kraken 2: then `image` has the cells of its table, `tax` its
	 * taxonomy, and the header, made up here, the place of the index, the numbers of keys and
	 * of taxa, k and a checksum; what follows is not there */
	kh_k2 *k2;
	const kh_db_header *h;
	const void *image;              /* the index: lines of 64 bytes, words of lists of 4 */
	kh_seed_index seeds;
	kh_taxonomy *tax;
	const kh_db_target *target;     /* h->n_targets */
	const char *ids;
	const char *unmapped;           /* h->unmapped strings */
	kh_bins bins;
	kh_bin_map bin_map;             /* what bins points to */
	const uint32_t *text;           /* words of 16 bases for each bin */
	/* the stretches, bins.n_targets of them: what `bins` calls a target is one of these */
	const kh_db_kept *kept;
	uint32_t n_kept;
	kh_text_stretch *stretch;       /* each of these in the text */
	bool alleles;                   /* some have alleles that reads ask for, */
	const kh_db_allele *few;        /* and there are others, in their order */
	uint64_t n_few;
	const kh_text_strains *strains; /* in the order of bins */
	uint32_t n_strains;
	kh_translated translated;       /* its head is NULL where there is none */
	const uint64_t *sums;           /* XXH3 of each KH_DB_CHUNK behind the header */
	/* the index still has to be checked, by its checksums and kh_seeds_check; */
	bool unchecked;
	bool stamps;    /* when that is done, a stamp remembers it */
	/* NULL, or it is several databases as one: then it has no map, and what is said of the
	 * index above is not there (join.h) */
	struct kh_joined *joined;
	/* the map; of several databases `path` has all of theirs */
	char *path;
	void *map;
	uint64_t bytes;
	int fd;
	struct {                        /* of one of several: its text as it is mapped once more */
		const void *text;       /* or NULL */
		uint64_t bytes;
	} beside;
	struct {                        /* the file as it was when it was opened: in_use.h */
		uint64_t ino, mtime, ctime;
		bool times_hold;        /* ctime cannot be put back */
		uint64_t header;        /* its XXH3, if it can */
	} was;
} kh_db;

typedef struct kh_db_options {
	/* do not check the index: neither its checksums nor its structure */
	bool no_verify;
	/* not checked here either, as the backend checks it while loading */
	bool later;
	/* do not check a file again that was checked before: stamp.h */
	bool stamps;
	bool again;                     /* check it this time nevertheless */
	bool kraken;                    /* databases of Kraken 2 are welcome */
	unsigned threads;
} kh_db_options;

/* `path` is a file, or a folder with exactly one *.khdb, or one with a database of Kraken 2; *file,
 * to be freed, is that file, or hash.k2d. */
int kh_db_find(char **file, const char *path, kh_err *err);
int kh_db_open(kh_db **db, const char *path, const kh_db_options *o, kh_err *err);
/* The same for a database in memory: `map` is borrowed and aligned to 64. For tests and fuzzing. */
int kh_db_open_bytes(kh_db **db, const void *map, uint64_t bytes, const kh_db_options *o,
		     kh_err *err);
void kh_db_close(kh_db *db);
/* Does the checks of the index that were left out at opening: checksums and structure. */
int kh_db_check(const kh_db *db, unsigned threads, kh_err *err);
/* Does only the first of these two checks, that of the checksums. */
int kh_db_check_sums(const kh_db *db, unsigned threads, kh_err *err);
/* Fails if the file has been changed or replaced since it was opened. */
int kh_db_unchanged(const kh_db *db, kh_err *err);

/* Where a bin lies that bins.h says is of target t, which is a kept stretch. */
typedef struct kh_db_locus {
	uint32_t target, at;            /* bins behind its first one */
} kh_db_locus;

static inline kh_db_locus kh_db_locate(const kh_db *db, uint32_t t, uint32_t bin)
{
	return (kh_db_locus) { db->kept[t].target, db->kept[t].at + bin - db->bins.first[t] };
}

/* Bases of a kept stretch. */
static inline uint64_t kh_db_kept_bases(const kh_db *db, const kh_db_kept *k)
{
	const uint64_t stride = db->h->sampling.stride, bases = k->bins * stride;
	const uint64_t left = db->target[k->target].bases - k->at * stride;

	return left < bases ? left : bases;
}

/* --- writing ---------------------------------------------------------------------- */
typedef struct kh_db_writer kh_db_writer;

int kh_db_create(kh_db_writer **w, const char *path, kh_err *err);
void kh_db_abandon(kh_db_writer *w);            /* after commit too; NULL is fine */
/* Starts section s at the next page; sections in any order, each once. */
int kh_db_begin(kh_db_writer *w, enum kh_section s, kh_err *err);
int kh_db_append(kh_db_writer *w, const void *p, size_t n, kh_err *err);
/* Runs fn; meanwhile, a second thread computes the checksums of what is appended while it is
 * written. */
int kh_db_with_helper(kh_db_writer *w, int (*fn)(void *arg, kh_err *err), void *arg, kh_err *err);
/* The size of the file if it is committed now. */
uint64_t kh_db_length(const kh_db_writer *w);
/* The extents, lengths and checksums in h are filled in here. */
int kh_db_commit(kh_db_writer *w, kh_db_header *h, kh_err *err);

#endif
