/*
 * join.h - several databases, used as if they were one
 *
 * What a fragment is compared with are bases, so the score of a place does not depend on what else
 * is in a database.  Databases with seeds of the same kind are joined by numbers: the bins, targets
 * and stretches of each come behind those of the one before it, and taxa have those of the joined
 * tree.  Then the rule sees one database, and what it makes is what a database of all references
 * would give, in this order:
 *
 *	index   stays where it is; a seed is looked up in each (index/joint.h)
 *	text    each file's section is mapped once more, at the address that follows from its bins,
 *	        so that one pointer leads to all; pages are those of the file, and take no memory
 *	        of their own.  Between two texts are bins of zeros that no target has
 *	others  targets, stretches, strains and ids are copied, with their new numbers
 *
 * It differs from a database of all references where a species has references in two of them:
 * text that is alike is there twice then, and a seed may have more places in the species than one
 * index would keep.
 */
#ifndef KH_DB_JOIN_H
#define KH_DB_JOIN_H

#include "db/db.h"
#include "index/joint.h"

typedef struct kh_joined {
	kh_db **volume;                 /* n */
	unsigned n;
	kh_seed_joint index;
	uint64_t bins;                  /* of all, without those between their texts */
	/* what the joined database points to */
	kh_db_header h;
	kh_seed_index *seeds;           /* n; each of the next two, too */
	uint32_t *first_bin;
	uint64_t *hole;                 /* bins in front of it that belong to no database */
	uint32_t **number;              /* n: of its taxa those of the joined tree */
	kh_db_target *target;
	char *ids;
	kh_db_kept *kept;
	kh_text_strains *strains;
	void *texts;                    /* addresses of all texts */
	size_t text_bytes;
} kh_joined;

/* Joins n databases of files.  On success *db owns them, and is closed as any database; if this
 * fails, they stay the caller's.  Fails if two of them are the same, have seeds of different kinds,
 * or do not agree on their taxa; by_name: see taxonomy/join.h. */
int kh_db_join(kh_db **db, kh_db *const *volume, unsigned n, bool by_name, kh_err *err);
/* Called by kh_db_close. */
void kh_joined_free(kh_joined *j);

/* The databases that it is made of: itself, or several. */
static inline unsigned kh_db_volumes(const kh_db *db)
{
	return db->joined ? db->joined->n : 1;
}

static inline const kh_db *kh_db_volume(const kh_db *db, unsigned i)
{
	return db->joined ? db->joined->volume[i] : db;
}

/* The number of a base of the text, as one database of all references would number it. */
uint64_t kh_db_base_number(const kh_db *db, uint64_t base);

#endif
