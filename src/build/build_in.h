/*
 * build_in.h - inside a build: what its steps share
 *
 *	build.c     calls the steps in order
 *	input.c     looks at the references; same.c: whether they stay the same
 *	plan.c      estimates memory and disk
 *	base.c      the database that a build adds to
 *	read.c      one pass over the references
 *	text.c      their text while they are read, and as a section
 *	taxa.c      the taxa of sequences, and which of them are targets
 *	strains.c   which text is kept; kept.c: the stretches of it, and their alleles
 *	index.c     the index; write_db.c: the other sections
 */
#ifndef KH_BUILD_BUILD_IN_H
#define KH_BUILD_BUILD_IN_H

#include "base/timing.h"
#include "build/limit.h"
#include "build/refs.h"
#include "index/pairs.h"
#include "index/seeds.h"

/* A part of the digest of a sequence. */
struct part {
	uint64_t seq, digest;
	bool known;                     /* it has a k-mer */
};

struct worker {
	kh_timer timer;
	kh_pieces pieces;
	kh_features features;           /* of the block that it samples */
	struct part *part;
	size_t n, cap;
};

struct totals {
	uint64_t bases, bins, sequences;
};

/* Of the references: bytes of text, decompressed, as far as their sizes tell. */
struct input {
	uint64_t text;
	uint64_t small_gz;              /* in small gzip files, which are inflated ahead */
	bool known;                     /* false if one of them is not a regular file */
};

/* One pass over the references. */
struct reading {
	kh_monitor *m;
	kh_feed *feed;
	kh_store *store;                /* features */
	uint64_t memory;                /* for these, 0: no limit */
	struct worker *worker;          /* o->threads */
	double started;
};

/* The taxonomy, and the targets: the sequences that have a taxon of it. */
struct taxa {
	kh_taxdump *dump;
	kh_taxonomy *tax;
	uint32_t n_targets;
	uint32_t *target;               /* n_targets: number of the sequence */
	uint32_t *first, *taxon;        /* n_targets: kh_bins */
	kh_bin_map bins;                /* the bins of targets and of their species */
	bool *dropped;                  /* by sequence: it is no target */
	/* the stretches of the targets that the database has */
	kh_db_kept *kept;
	uint32_t *alleles;              /* NULL, or of the text as it was read: kmer/text.h */
	struct kh_tile_strains *strains;        /* the same; by tile: alike.c */
	uint64_t *tiles;                /* by target: its first tile, among those of all; */
	uint32_t tile;                  /* bases of a tile */
	kh_db_allele *few;              /* alleles that reads are not compared with */
	size_t n_few, cap_few;
	uint32_t n_kept;
	size_t cap_kept;
};

/* What a build adds to: its sequences are the first ones, in their order. */
struct base {
	size_t n;                       /* of them */
	/* by its taxa: their taxids in the taxonomy of the build, or 0 */
	uint32_t *now;
};

/* The references as they were when they were read first. */
struct same {
	struct found *found;            /* n_refs: their files; NULL: not looked at */
	uint64_t *digest;               /* n_refs: of the sequences in each; NULL: not read */
};

/* The database file. */
struct file {
	kh_db_writer *w;
	kh_seed_range *dir;
	uint64_t image_bytes;
};

struct build {
	const kh_build_options *o;
	kh_build_summary *sum;
	kh_sampling sampling;
	kh_limit limit;
	bool thin;                      /* without text: the limit has no room for it */
	uint64_t part;                  /* of 2^32 features, those that a share is of */
	struct totals all;
	kh_refs refs;
	struct input input;
	struct reading in;
	struct taxa taxa;
	struct base base;
	struct same same;
	struct file out;
	struct text *text;              /* what text.c keeps */
};

/* Makes b->input, and guesses the bases of all references; fails if one cannot be read. */
int kh_build_look(struct build *b, uint64_t *bases, kh_err *err);

/* Fails if a file of references, or the sequences in one, are not what they were at the first call.
 * To be called before and after a pass; and when digests have been added up, where the stride is
 * that of the pass before. */
int kh_build_same_files(struct build *b, kh_err *err);
int kh_build_same_sequences(struct build *b, kh_err *err);
void kh_build_same_clear(struct build *b);

/* One pass over the references, with b->sampling. */
int kh_build_read(struct build *b, kh_err *err);
/* Bytes of text in a block. */
static inline size_t kh_build_block_size(const struct build *b)
{
	return b->o->block_size ? b->o->block_size : KH_BLOCK_SIZE;
}
/* Frees what a pass has made, all but its figures. */
void kh_build_forget(struct build *b);
/* Adds up the digests of sequences of which several workers have read parts. */
void kh_build_add_digests(struct build *b);

/* b->sum->estimate and b->in.memory; fails if there is too little memory. */
int kh_build_plan(struct build *b, kh_err *err);
/* Bytes of a database of all features, as far as the sizes of the inputs tell; 0: they do not. */
uint64_t kh_build_estimate_file(const struct build *b);
/* Fails if features that memory has no room for have none on disk. */
int kh_build_plan_spill(const struct build *b, kh_err *err);

/* The taxon of each sequence; those that have one become targets, and which text of these is kept
 * is chosen. */
int kh_build_find_targets(struct build *b, kh_err *err);

/* --- a build that adds to a database; else nothing to do --- */
/* Its sequences, as the first ones of an empty kh_refs. */
int kh_build_base_refs(struct build *b, kh_err *err);
/* When the targets and their taxa are there: where its bins go, and what has become of its
 * taxa. */
int kh_build_base_taxa(struct build *b, kh_err *err);
/* What its taxa are in the taxonomy of the build. */
int kh_build_base_now(struct build *b, kh_err *err);
/* The taxid of one of its sequences in that taxonomy, or 0. */
uint32_t kh_build_base_taxid(const struct build *b, size_t seq);
/* Fails if too many of its sequences have no taxon any more. */
int kh_build_base_check(const struct build *b, kh_err *err);

/* --- the text of the references --- */
int kh_build_text_start(struct build *b, kh_err *err);
/* Called by any worker. */
int kh_build_text_add(struct build *b, const kh_block_pieces *s, kh_err *err);
/* When all have been read: all of it in one array. */
int kh_build_text_join(struct build *b, const uint32_t **text, kh_err *err);
/* Finds the stretches that the database keeps: b->taxa.kept, but for the numbers of bins. */
int kh_build_keep(struct build *b, kh_err *err);
/* What is known of a tile of a target, in bits; 0: it is not kept. */
enum {
	KH_TILE_KEPT = 1,
	KH_TILE_WHOLE = 2,      /* of the first tile: nobody looks at the others of its target */
	KH_TILE_ALLELES = 4
};
/* Adds stretches of target i to it: all of its bins, or the tiles, of so many bases, for which
 * kept[tile] is not 0. */
int kh_build_keep_whole(struct build *b, uint32_t i, kh_err *err);
int kh_build_keep_tiles(struct build *b, uint32_t i, const uint8_t *kept, uint32_t tile,
			kh_err *err);
/* Adds what a database that is added to has kept, with its alleles, and marks its tiles in `kept`,
 * those of target i from kept[tiles[i]] on; *n: how many targets it has. */
int kh_build_keep_old(struct build *b, uint8_t *kept, const uint64_t *tiles, uint32_t tile,
		      uint32_t *n, kh_err *err);
/* Where a stretch that is kept begins in the text as it was read, and how long it is. */
static inline uint64_t kh_build_kept_at(const struct build *b, const kh_db_kept *k, uint64_t *bases)
{
	const kh_ref *r = &b->refs.ref[b->taxa.target[k->target]];
	const uint64_t stride = b->sampling.stride, left = r->bases - k->at * stride;

	*bases = left < k->bins * stride ? left : k->bins * stride;
	return (r->first_bin + (uint64_t)k->at) * stride;
}
/* b->taxa.alleles, for a build where there may be some. */
int kh_build_room_for_alleles(struct build *b, kh_err *err);
/* Marks the stretches of b->taxa.kept that have alleles in their tiles; but those of tiles that are
 * in many species are taken away. */
int kh_build_find_alleles(struct build *b, const uint32_t *text, const uint8_t *kept,
			  const uint64_t *tiles, uint32_t tile, kh_err *err);
/* Takes away those of tiles that are in many species: shared_text.c. */
int kh_build_drop_shared(struct build *b, const uint32_t *text, uint32_t tile, kh_err *err);
/* Numbers the bins of these stretches, but for those with few alleles, which become b->taxa.few. */
int kh_build_number_alleles(struct build *b, kh_err *err);
/* Appends the alleles, if there are any, to the section of the text. */
int kh_build_write_alleles(struct build *b, kh_err *err);
/* b->taxa.strains, for a build where there may be some. */
int kh_build_room_for_strains(struct build *b, uint64_t tiles, kh_err *err);
/* A tile that target `strain` is like.  Two tiles of that target lie on it, so this is known part
 * by part. */
struct kh_like {
	uint32_t strain;
	uint64_t tile;                  /* among those of all targets */
	uint32_t own;                   /* the taxon of its target */
	bool differs, known;
};
/* The text of that strain is like the tiles of a target from its base `at` up to base `end`; bit i
 * of `differ`: it differs in number i of these.  *last: the tile that it was like last, which is
 * noted when the next one comes, or at the end. */
void kh_build_like(const struct build *b, struct kh_like *last, uint32_t target, uint64_t at,
		   uint64_t end, uint32_t differ);
void kh_build_end_like(const struct build *b, struct kh_like *last);
/* Takes over what a database knows of the tiles of its stretch `old`, which was added last, when
 * its alleles have been.  *next: the first record that may be of this stretch; becomes that of the
 * next stretch. */
void kh_build_take_strains(struct build *b, const kh_db_kept *old, uint32_t *next);
/* Writes all of that as a section, if there is any. */
int kh_build_write_strains(struct build *b, kh_err *err);
/* Samples the features of the stretches that are kept, when their bins have numbers. */
int kh_build_text_sample(struct build *b, kh_err *err);
int kh_build_text_write(struct build *b, kh_err *err);
/* Which bases of the text are unknown: translated/make.h. */
const uint16_t *const *kh_build_text_unknown(const struct build *b);
void kh_build_text_free(struct build *b);
/* The translated seeds, if they are wanted. */
int kh_build_translated_write(struct build *b, kh_err *err);

/* --- the index --- */
/* Called by any worker: the features of a block of the text that is kept. */
int kh_build_index_add(struct build *b, unsigned worker, const kh_block_pieces *s, kh_err *err);
/* Sorts and encodes them, as a section of the file. */
int kh_build_index_write(struct build *b, kh_err *err);

/* Writes all sections. */
int kh_build_write(struct build *b, kh_err *err);
/* The file is complete, and gets its name. */
int kh_build_commit(struct build *b, kh_err *err);

#endif
