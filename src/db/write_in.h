/*
 * write_in.h - inside the writing of a database: write.c by one process, write_parts.c by several
 */
#ifndef KH_DB_WRITE_IN_H
#define KH_DB_WRITE_IN_H

#include <xxhash.h>
#include "db/db.h"
#include "base/threads.h"

struct kh_db_writer {
	kh_out *out;
	uint64_t at;                    /* bytes in the file */
	XXH3_state_t *sum;              /* of the block being filled */
	uint64_t *sums;
	size_t n_sums, cap_sums;
	uint64_t summed;                /* bytes that the checksums cover so far */
	kh_queue *todo, *done;          /* stretches for the helper; NULL: there is none */
	int current;                    /* section, or -1 */
	kh_db_extent section[KH_ALL_SECTIONS];
};

#endif
