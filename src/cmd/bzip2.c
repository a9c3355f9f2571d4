/*
 * bzip2.c - lets bzip2(1) decompress reads into pipes while they are classified
 *
 * The sheet has the names of the files until all are checked, then those of the pipes: a.fq.bz2
 * becomes, for example, /dev/fd/5.
 */
#include <config.h>
#include "cmd/classify_in.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/mem.h"

/* Starts bzip2 on a file; *end: where its text can be read. */
static int start(const char *path, pid_t *pid, int *end, kh_err *err)
{
	extern char **environ;
	char *own = strdup(path);
	char *argv[] = { (char *)"bzip2", (char *)"-dc", (char *)"--", own, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], rc;

	if (!own)
		return kh_fail_nomem(err);
	if (pipe2(ends, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0) {
		free(own);
		return kh_fail_errno(err, "bzip2");
	}
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	rc = posix_spawnp(pid, "bzip2", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	free(own);
	if (rc) {
		close(ends[0]);
		return kh_fail(err, KH_EIO, "bzip2: %s", strerror(rc));
	}
	*end = ends[0];
	return KH_OK;
}

/* Lets a file of the sheet be read from a pipe, with all that point to its name. */
static int replace(struct classify *j, size_t i, kh_err *err)
{
	kh_sheet_reads *reads = j->sheet.v[0].reads;
	char **path = &j->sheet.file[i].path, *name;
	struct kh_decompressed *d = &j->decompressed[j->n_decompressed];
	int rc = start(*path, &d->pid, &d->end, err);

	if (rc)
		return rc;
	j->n_decompressed++;
	if ((rc = kh_print(&name, err, "/dev/fd/%d", d->end)))
		return rc;
	for (size_t k = 0; k < reads->n; k++)
		for (int mate = 0; mate <= reads->paired; mate++)
			if (reads->path[mate][k] == *path)
				reads->path[mate][k] = name;
	d->path = *path;
	*path = name;
	return KH_OK;
}

int kh_classify_decompress(struct classify *j, kh_err *err)
{
	int rc = KH_OK;

	if (!(j->decompressed = kh_array(j->sheet.n_files, sizeof *j->decompressed, err)))
		return KH_ENOMEM;
	for (size_t i = 0; i < j->sheet.n_files && !rc; i++)
		rc = replace(j, i, err);
	return rc;
}

int kh_classify_decompressed(void *arg, size_t i, kh_err *err)
{
	struct classify *j = arg;
	int rc = KH_OK, status;

	(void)i;
	for (size_t k = 0; k < j->n_decompressed && !rc; k++)
		if (waitpid(j->decompressed[k].pid, &status, 0) > 0 && status != 0)
			rc = kh_fail(err, KH_EFORMAT, "%s: bzip2 cannot read it to its end",
				     j->decompressed[k].path);
	return rc;
}

void kh_classify_end_decompress(struct classify *j)
{
	for (size_t k = 0; k < j->n_decompressed; k++) {
		close(j->decompressed[k].end);
		free(j->decompressed[k].path);
	}
	free(j->decompressed);
}
