/* load_in.h - what open.c asks of load.c, and load.c of check.c, facts.c and text.c */
#ifndef KH_DB_LOAD_IN_H
#define KH_DB_LOAD_IN_H

#include "db/db.h"

/* Checks db->map, and sets the members of db that point into it or are made from it. On failure
 * the caller closes db. */
int kh_db_load(kh_db *db, const kh_db_options *o, kh_err *err);

/* Fails: the file is no database, as `what` says. */
static inline int kh_db_bad(const kh_db *db, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: %s", db->path, what);
}

static inline const void *kh_db_section(const kh_db *db, enum kh_section s)
{
	return (const char *)db->map + db->h->section[s].at;
}

/* Checks all but the index and the text against the checksums. */
int kh_db_check_rest(const kh_db *db, unsigned threads, kh_err *err);
/* Checks the text so. */
int kh_db_check_text(const kh_db *db, unsigned threads, kh_err *err);

/* Fails if what the file says twice is not the same; sections have been loaded. */
int kh_db_check_facts(const kh_db *db, kh_err *err);
/* The digest of the targets, in their order. */
uint64_t kh_db_digest(const kh_db *db);

/* Fails unless the ranges of the index lie in order, without holes. */
int kh_db_check_seed_ranges(const kh_db *db, kh_err *err);

/* The stretches that are kept: db->kept, where each begins, its taxon, and where the last
 * one ends; fails if they do not fit one another and the targets. */
int kh_db_read_kept(kh_db *db, uint32_t *first, uint32_t *taxon, uint64_t *end, kh_err *err);

/* Sets db->text; targets have been loaded. */
int kh_db_find_text(kh_db *db, kh_err *err);

/* db->strains, and in db->bins the taxa of species, which become the LCA of their targets'. */
int kh_db_find_strains(kh_db *db, kh_err *err);
/* The latter: a species is called by the LCA of its targets, which is a strain if all are of that.
 * Its taxa in db->bins are the species themselves before. */
int kh_db_name_species(kh_db *db, const kh_tree *tree, kh_err *err);

#endif
