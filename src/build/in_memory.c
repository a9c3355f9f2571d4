/* in_memory.c - a build whose database is a file of memory: classify --references */
#include <config.h>
#include "build/build.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/system.h"

int kh_build_in_memory(kh_build_options o, kh_memory_db *db, kh_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char spill[PATH_MAX];
	kh_build_summary sum;
	int rc;

	db->fd = kh_system_memory_file();
	if (db->fd < 0)
		return kh_fail_errno(err, "memory for the index");
	snprintf(db->name, sizeof db->name, "/dev/fd/%d", db->fd);
	o.db = db->name;
	o.in_memory = true;
	snprintf(spill, sizeof spill, "%s/kmerhash", tmp && *tmp ? tmp : "/tmp");
	o.spill = spill;
	rc = kh_build(&o, &sum, err);
	if (rc)
		return rc;
	kh_log(KH_INFO,
	       "%" PRIu32 " targets, %" PRIu64 " bases indexed in memory: %" PRIu64 " bytes",
	       sum.header.n_targets, sum.header.bases, sum.header.file_bytes);
	return KH_OK;
}

void kh_memory_db_close(kh_memory_db *db)
{
	if (db->fd >= 0)
		close(db->fd);
	db->fd = -1;
}
