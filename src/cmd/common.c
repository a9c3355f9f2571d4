/* common.c - functions of several commands: messages, checks of files, threads, seconds, memory */
#include <config.h>
#include <unistd.h>
#include "base/escape.h"
#include "cmd/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "base/mem.h"
#include "base/memory_left.h"
#include "base/threads.h"
#include "build/references.h"
#include "db/join.h"
#include "io/paths.h"
#include "taxonomy/taxonomy.h"

int kh_cmd_fail(const kh_command *c, const kh_err *err)
{
	char text[sizeof err->msg + 64];
	const bool limited = err->code == KH_ENOMEM && !strstr(err->msg, "ulimit") &&
			     kh_address_space_left() != UINT64_MAX;

	snprintf(text, sizeof text, "%s%s", err->msg[0] ? err->msg : "stopped",
		 limited ? "; its address space is limited (ulimit -v)" : "");
	kh_log_failure(c->name, text);
	return err->code == KH_EUSAGE ? 2 : 1;
}

int kh_cmd_fail_all(const kh_command *c, const kh_errs *errs)
{
	char more[64];
	int status = 2;

	for (size_t i = 0; i < errs->n; i++)
		if (kh_cmd_fail(c, &errs->v[i]) == 1)
			status = 1;
	snprintf(more, sizeof more, "%zu more error%s not shown",
		 errs->found - errs->n, errs->found - errs->n == 1 ? " is" : "s are");
	if (errs->found > errs->n)
		kh_log_failure(c->name, more);
	return status;
}

int kh_cmd_make_folder(const char *folder, kh_err *err)
{
	struct stat st;
	/* what keeps it from being made tells more than that it is not there */
	const int why = mkdir(folder, 0777) != 0 ? errno : 0;

	if (stat(folder, &st) != 0)
		return kh_fail(err, KH_EIO, "%s: cannot be made: %s", folder,
			       strerror(why ? why : errno));
	if (!S_ISDIR(st.st_mode))
		return kh_fail(err, KH_EIO, "%s: is no folder", folder);
	if (access(folder, W_OK | X_OK) != 0)
		return kh_fail(err, KH_EIO, "%s: nothing can be written into this folder: %s",
			       folder, strerror(errno));
	return KH_OK;
}

int kh_cmd_check_references(const kh_paths *p, const kh_references *r, const char *list,
			    const char *taxonomy, kh_err *err)
{
	int rc = kh_paths_inputs(p, (const char *const *)r->path, r->n, "a reference", err);

	if (!rc)
		rc = kh_paths_inputs(p, (const char *const *)r->report, r->n_reports,
				     "the report of a tree", err);
	if (!rc && list)
		rc = kh_paths_input(p, list, "the list of references", err);
	for (int i = 0; i < KH_TAXDUMP_FILES && taxonomy && !rc; i++) {
		char *path;

		if (!(rc = kh_print(&path, err, "%s/%s", taxonomy, kh_taxdump_file[i])))
			rc = kh_paths_input(p, path, "a file of the taxonomy", err);
		free(path);
	}
	return rc;
}

void kh_cmd_print(const char *text, size_t n)
{
	char *shown = isatty(STDOUT_FILENO) ? malloc(KH_ESCAPED * n + 1) : NULL;

	if (shown)
		fwrite(shown, 1, kh_escape(shown, text, n, "\n\t"), stdout);
	else if (!isatty(STDOUT_FILENO))
		fwrite(text, 1, n, stdout);
	free(shown);
}

int kh_cmd_check_printing(const char *const *path, size_t n, const char *what, kh_err *err)
{
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	if (!rc)
		rc = kh_paths_output(p, "-", err);
	if (!rc)
		rc = kh_paths_inputs(p, path, n, what, err);
	kh_paths_free(p);
	return rc;
}

/* What the environment asks for, 0 if it does not: for this program, for the tasks of a job, or for
 * any program with threads. */
static uint64_t threads_by_environment(void)
{
	static const char *const name[] = { "KMERHASH_THREADS", "SLURM_CPUS_PER_TASK",
					    "OMP_NUM_THREADS" };

	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		const char *text = getenv(name[i]);
		uint64_t n;

		if (text && kh_parse_uint(text, &n) && n > 0)
			return n;
		if (text && *text && i == 0)
			kh_log(KH_WARN, "KMERHASH_THREADS is not a whole number: '%s'", text);
	}
	return 0;
}

unsigned kh_cmd_threads(uint64_t asked)
{
	const unsigned cpus = kh_cpus();
	const uint64_t n = asked ? asked : threads_by_environment();

	if (n == 0)
		return cpus;
	if (n > cpus) {
		kh_log(KH_WARN, "%" PRIu64 " threads asked for, %u CPU%s there: using %u", n, cpus,
		       cpus == 1 ? " is" : "s are", cpus);
		return cpus;
	}
	return (unsigned)n;
}

double kh_cmd_seconds(void)
{
	static double began;
	double now = kh_seconds();

	if (began == 0)
		began = now;
	return now - began;
}

/* VmHWM counts pages of files, too; those of a mapped database are shared, and the system can
 * drop them. */
uint64_t kh_cmd_peak(void)
{
	unsigned long long peak = 0, files = 0, x;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "VmHWM: %llu", &x) == 1)
			peak = x;
		if (sscanf(line, "RssFile: %llu", &x) == 1)
			files = x;
	}
	if (f)
		fclose(f);
	return (uint64_t)(peak > files ? peak - files : peak) * 1024;
}

/* --- dates and names -------------------------------------------------------------- */
time_t kh_cmd_now(void)
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	return fixed && kh_parse_uint(fixed, &seconds) ? (time_t)seconds : time(NULL);
}

void kh_cmd_date(time_t when, char text[KH_DATE])
{
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(text, KH_DATE, "%Y-%m-%d %H:%M UTC", &tm))
		text[0] = '\0';
}

void kh_cmd_file_date(const char *path, char text[KH_DATE])
{
	struct stat st;

	text[0] = '\0';
	if (stat(path, &st) == 0)
		kh_cmd_date(st.st_mtime, text);
}

static void add_name(const char *path, char *name, size_t size)
{
	size_t n = strlen(path), from;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (from = n; from > 0 && path[from - 1] != '/'; from--)
		;
	if (n - from > 5 && memcmp(path + n - 5, ".khdb", 5) == 0)
		n -= 5;
	snprintf(name, size, "%.*s", (int)(n - from), path + from);
}

void kh_cmd_db_name(const struct kh_db *db, char *name, size_t size)
{
	size_t n = 0;

	for (unsigned i = 0; i < kh_db_volumes(db); i++) {
		if (i > 0)
			snprintf(name + n, size - n, " + ");
		n += strlen(name + n) * (i > 0);
		add_name(kh_db_volume(db, i)->path, name + n, size - n);
		n += strlen(name + n);
	}
}
