/* cmd/build.c - kmerhash build */
#include <config.h>

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "classify/backend.h"
#include "build/build.h"
#include "build/references.h"
#include "cmd/options.h"
#include "base/mem.h"
#include "base/size.h"
#include "db/in_use.h"
#include "io/paths.h"
#include "kmer/text.h"

struct values {
	const char *db, *base, *taxonomy, *scheme, *list, *device;
	kh_words maps, seqids, assemblies, lineages;
	uint64_t total_bases;
	uint64_t threads, k, smer, features, stride;
	uint64_t memory, block_size, max_db_size;
	double max_unmapped;
	bool translated, keep_all, dry_run, allow_duplicates, allow_no_eof;
	bool header_lineage, keep_repeats, move_taxa;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	KH_TEXT("db", 'd', AT(db), "FILE", "the database to make (NAME.khdb)"),
	KH_TEXT("base", 'b', AT(base), "FILE",
		"a database that the references join, with its k, scheme and so on"),
	KH_FLAG("translated", 0, AT(translated),
		"keep translated seeds, which tell the genus of reads of unknown species"),
	KH_TEXT("taxonomy", 't', AT(taxonomy), "DIR",
		"folder with nodes.dmp, names.dmp, perhaps merged.dmp"),
	KH_LIST("accession2taxid", 'a', AT(maps), "FILE",
		"table of accessions, plain or gz; may be repeated"),
	KH_LIST("seqid2taxid", 'm', AT(seqids), "FILE",
		"table of two columns: sequence id, taxid; goes first"),
	KH_TEXT("list", 'l', AT(list), "FILE", "names of more references, one a line"),
	KH_LIST("assemblies", 'A', AT(assemblies), "FILE",
		"table of more references: file, taxid of all its sequences"),
	KH_LIST("lineage", 'L', AT(lineages), "FILE",
		"in place of a taxonomy, or beside it: id, lineage (as GTDB's)"),
	KH_FLAG("header-lineage", 0, AT(header_lineage),
		"the same of lineages in header lines (as SILVA's)"),
	KH_UINT("threads", 'p', AT(threads), 1, 4096, "N", "worker threads [all CPUs]"),
	KH_UINT("kmer-len", 'k', AT(k), KH_K_MIN, KH_K_MAX, "N",
		"bases of a k-mer, 8 to 31 [by the size of the references]"),
	KH_SIZE("max-db-size", 0, AT(max_db_size), 1, 0, "SIZE",
		"bytes of the database at most: it has what share of the k-mers fits"),
	KH_REAL("max-unmapped", 0, AT(max_unmapped), 0, 1, "SHARE",
		"fail if more sequences have no taxon [0.05]"),
	KH_SIZE("memory", 0, AT(memory), 0, 0, "SIZE",
		"k-mers take at most this much memory, the rest is on disk"),
	KH_TEXT("device", 0, AT(device), "NAME",
		"who inflates large .gz references: auto (a GPU), cpu, cuda [auto]"),
	KH_FLAG("dry-run", 0, AT(dry_run), "check what is named and say what it will take, only"),
	KH_OPTS_COMMON,
	KH_GONE("allow-unmapped", "--max-unmapped 1 does the same"),
	KH_OPTS_END
};

static const kh_opt settings[] = {
	KH_TEXT("scheme", 0, AT(scheme), "NAME",
		"which k-mers are kept: syncmer or minhash [syncmer]"),
	KH_UINT("smer-len", 0, AT(smer), 2, 30, "N",
		"syncmer: bases of an s-mer, k - N even [by the size of the references]"),
	KH_UINT("features", 0, AT(features), 1, KH_MINHASH_S_MAX, "N",
		"minhash: k-mers kept of a window [by the size of the references]"),
	KH_UINT("stride", 0, AT(stride), 16, KH_TEXT_SPAN, "N",
		"bases of a bin: 16, 32, 64 ... 512 [by the size of the references]"),
	KH_FLAG("keep-all", 0, AT(keep_all), "keep text of strains that are alike, too"),
	KH_SIZE("total-bases", 0, AT(total_bases), 1, 0, "SIZE",
		"of the references: k and stride follow it, and they are read once"),
	KH_FLAG("keep-repeats", 0, AT(keep_repeats),
		"keep k-mers that are tandem repeats (as ACACAC...), too"),
	KH_FLAG("move-taxa", 0, AT(move_taxa),
		"lineages move taxa of the taxonomy, as GTDB's do in NCBI's"),
	KH_FLAG("allow-duplicates", 0, AT(allow_duplicates),
		"a sequence id may occur again, with the taxon that tables give it"),
	KH_FLAG("allow-no-eof", 0, AT(allow_no_eof), "accept BGZF without its end-of-file block"),
	KH_SIZE("block-size", 0, AT(block_size), 1, 1 << 30, "SIZE",
		"bytes of text a worker takes at a time"),
	KH_SETTINGS_COMMON,
	KH_OPTS_END
};

/* Everything a build holds. */
struct build_cmd {
	struct values v;
	kh_build_options o;
	kh_db *base;
	kh_references refs;
	kh_devices on;                  /* those that inflate */
	kh_inflater *inflater;          /* theirs, or NULL */
	kh_out **copy;                  /* of inputs that cannot be read twice */
	kh_called *called;              /* their paths, and the inputs' names, which are owned */
	size_t n_copies, cap, cap_called;
};

/* --- the references --------------------------------------------------------------- */
/* Copies an input beside the database; its path is that of the copy, and messages have its name. */
static int keep_stream(struct build_cmd *j, char **path, kh_err *err)
{
	char *name = strdup(strcmp(*path, "-") == 0 ? "standard input" : *path);
	int rc = name ? KH_OK : kh_fail_nomem(err);

	if (rc || (rc = KH_GROW(j->copy, j->cap, j->n_copies + 1, err)) ||
	    (rc = KH_GROW(j->called, j->cap_called, j->n_copies + 1, err)) ||
	    (rc = kh_spool(&j->copy[j->n_copies], *path, j->v.db, err))) {
		free(name);
		return rc;
	}
	const char *copy = kh_out_file(j->copy[j->n_copies]);
	kh_log(KH_DEBUG, "%s is kept in %s, to be read twice", name, copy);
	j->called[j->n_copies++] = (kh_called) { copy, name };
	kh_log_called(j->called, j->n_copies);
	free(*path);
	*path = strdup(copy);
	return *path ? KH_OK : kh_fail_nomem(err);
}

/* Copies the inputs that are not regular files, as they have to be read more than once. */
static int keep_streams(struct build_cmd *j, kh_err *err)
{
	struct stat st;
	int rc = KH_OK;

	for (size_t i = 0; i < j->refs.n && !rc; i++) {
		char **path = &j->refs.path[i];

		if (strcmp(*path, "-") == 0 || (stat(*path, &st) == 0 && !S_ISREG(st.st_mode)))
			rc = keep_stream(j, path, err);
	}
	return rc;
}

static int find_references(struct build_cmd *j, int n, char **operand, kh_err *err)
{
	const struct values *v = &j->v;
	kh_references *r = &j->refs;
	int rc = KH_OK;

	for (int i = 0; i < n && !rc; i++)
		rc = kh_references_add(r, operand[i], err);
	for (size_t i = 0; i < v->assemblies.n && !rc; i++)
		rc = kh_references_table(r, v->assemblies.v[i], err);
	if (!rc && v->list)
		rc = kh_references_list(r, v->list, err);
	for (size_t i = 0; i < v->lineages.n && !rc; i++)
		rc = kh_references_lineages(r, v->lineages.v[i], err);
	if (rc)
		return rc;
	if (r->n == 0 && r->errs.found == 0)
		return kh_fail(err, KH_EUSAGE, "no references are named");
	rc = kh_references_check(r, err);
	const bool twice = !kh_build_settled(&j->o) || v->header_lineage || j->o.max_db_size > 0;
	if (!rc && r->errs.found == 0 && twice && !v->dry_run)
		rc = keep_streams(j, err);
	if (!rc && r->errs.found == 0 && v->header_lineage)
		rc = kh_references_headers(r, err);
	r->may_be_twice = v->allow_duplicates;
	r->move_taxa = v->move_taxa;
	if (!rc && r->errs.found == 0)
		rc = kh_references_finish(r, v->taxonomy, err);
	return rc;
}

/* --- options ---------------------------------------------------------------------- */
static int check_taxonomy(const struct values *v, kh_err *err)
{
	const bool lineages = v->lineages.n > 0 || v->header_lineage;

	if (!v->taxonomy && !lineages)
		return kh_fail(err, KH_EUSAGE, "--taxonomy DIR is needed, or --lineage FILE");
	if (!v->taxonomy && (v->maps.n || v->seqids.n || v->assemblies.n))
		return kh_fail(err, KH_EUSAGE, "a table of taxids has no meaning without a "
			       "--taxonomy, as lineages make numbers of their own");
	if (v->move_taxa && !(v->taxonomy && lineages))
		return kh_fail(err, KH_EUSAGE, "--set move-taxa is for lineages beside a "
			       "--taxonomy");
	return KH_OK;
}

/* Sets the parameters that databases are compared by, unless they are those of --base. */
static int set_parameters(const struct values *v, kh_build_options *o, kh_err *err)
{
	const bool minhash = v->scheme && strcmp(v->scheme, "minhash") == 0;

	o->max_db_size = v->max_db_size;
	if (v->base) {
		if (v->translated || v->scheme || v->k || v->total_bases || v->smer ||
		    v->features || v->stride || v->keep_repeats)
			return kh_fail(err, KH_EUSAGE, "--kmer-len, --translated and the settings "
				       "scheme, total-bases, smer-len, features, stride and "
				       "keep-repeats are those of --base");
		return KH_OK;
	}
	if (v->scheme && !minhash && strcmp(v->scheme, "syncmer") != 0)
		return kh_fail(err, KH_EUSAGE, "--set scheme: '%s' is neither syncmer nor minhash",
			       v->scheme);
	o->sampling = (kh_sampling) { .scheme = minhash ? KH_MINHASH : KH_SYNCMER,
				      .k = (uint32_t)v->k,
				      .s = (uint32_t)(minhash ? v->features : v->smer),
				      .stride = (uint32_t)v->stride,
				      .no_repeats = !v->keep_repeats };
	o->bases = v->total_bases;
	o->translated = v->translated;
	o->keep_all = v->keep_all;
	if (v->stride & (v->stride - 1))
		return kh_fail(err, KH_EUSAGE, "--set stride: a stride is 16, 32, 64, 128, 256 or "
			       "512");
	return KH_OK;
}

/* Sets the options that do not depend on the references. */
static int to_options(const struct values *v, kh_build_options *o, kh_err *err)
{
	int rc;

	if (!v->db)
		return kh_fail(err, KH_EUSAGE, "--db FILE is needed");
	if ((rc = check_taxonomy(v, err)) || (rc = set_parameters(v, o, err)))
		return rc;
	o->db = v->db;
	o->taxonomy = v->taxonomy;
	o->threads = kh_cmd_threads(v->threads);
	o->memory = v->memory;
	o->max_unmapped = v->max_unmapped;
	o->allow_duplicates = v->allow_duplicates;
	o->allow_no_eof = v->allow_no_eof;
	o->block_size = v->block_size;
	o->dry_run = v->dry_run;
	return KH_OK;
}

/* The database that is added to, and what it says of how it was made. */
static int open_base(struct build_cmd *j, kh_err *err)
{
	/* its index is not used */
	const kh_db_options dbo = { .later = true, .stamps = true, .threads = j->o.threads };
	kh_build_options *o = &j->o;
	int rc;

	if (!j->v.base)
		return KH_OK;
	if ((rc = kh_db_open(&j->base, j->v.base, &dbo, err)) ||
	    (j->base->unchecked && (rc = kh_db_check_sums(j->base, o->threads, err))))
		return rc;
	o->keep_all = j->v.keep_all;
	if (j->base->translated.head)
		return kh_fail(err, KH_EUSAGE, "%s: nothing can be added to it, as it has "
			       "translated seeds: build it anew from all references",
			       j->base->path);
	if (kh_db_is_thin(j->base->h))
		return kh_fail(err, KH_EUSAGE, "%s: nothing can be added to it, as it lacks "
			       "the bases of its references: build it anew from all of them",
			       j->base->path);
	o->base = j->base;
	o->sampling = kh_db_sampling(j->base->h);
	if (o->max_db_size == 0)
		o->max_db_size = j->base->h->max_bytes;
	return KH_OK;
}

static void log_summary(const kh_build_summary *s)
{
	const kh_db_header *h = &s->header;
	double t = kh_cmd_seconds();

	kh_log(KH_INFO,
	       "%" PRIu32 " sequence%s of %" PRIu32 " species, %" PRIu64 " bases, %" PRIu32
	       " tax%s; %s k = %u; %" PRIu64 " features, %" PRIu64 " locations, %" PRIu64 " bytes",
	       h->n_targets, kh_plural(h->n_targets), s->species, h->bases, h->n_taxa,
	       h->n_taxa == 1 ? "on" : "a",
	       kh_scheme_name(h->sampling.scheme), h->sampling.k, h->features, h->locations,
	       h->file_bytes);
	kh_log(KH_DEBUG,
	       "seconds: %.2f reading and sampling, %.2f finding taxa, %.2f sorting and writing",
	       s->seconds_read, s->seconds_map, s->seconds_write);
	kh_log(KH_INFO, "%s build: %.1f Mbases/s, %.1f s, %s of memory", PACKAGE_STRING,
	       (double)(h->bases + h->unmapped_bases) * 1e-6 / (t > 0 ? t : 1e-9), t,
	       kh_size_show(kh_cmd_peak()).s);
}

/* Bytes, and the same in a unit that suits a reader. */
static void print_size(const char *what, uint64_t bytes)
{
	printf("%s\t%" PRIu64 "\t%s\n", what, bytes, kh_size_show(bytes).s);
}

/* Prints what a dry run tells, one figure a line: its name, a tab, bytes or a number. */
static void print_estimate(const struct build_cmd *j, const kh_build_summary *s)
{
	const kh_build_estimate *e = &s->estimate;
	const uint64_t need = e->other + e->kept;

	printf("references\t%zu\n", j->o.n_refs);
	if (e->known)
		printf("bases\t%" PRIu64 "\n", e->bases);
	else
		printf("bases\tunknown\n");
	printf("k\t%" PRIu32 "\n", e->k);
	if (e->left.bytes != UINT64_MAX)
		printf("memory left\t%" PRIu64 " %s\n", e->left.bytes, e->left.limit);
	if (!e->known)
		return;
	printf("features\t%" PRIu64 "\nshare of features\t%.6f\nholds bases\t%s\n", e->distinct,
	       e->share, e->thin ? "no" : "yes");
	print_size("memory", need > e->alike ? need : e->alike);
	print_size("temporary file", e->pairs - e->kept);
	print_size("database", e->file);
	printf("seconds to read\t%.1f\nseconds to find taxa\t%.1f\n", s->seconds_read,
	       s->seconds_map);
}

/* Fails if the database would overwrite a file that it is made of. */
static int check_files(struct build_cmd *j, kh_err *err)
{
	kh_build_options *o = &j->o;
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	o->refs = (const char *const *)j->refs.path;
	o->n_refs = j->refs.n;
	o->file_taxid = j->refs.taxid;
	o->lineages = j->refs.lineages;
	o->header_lineages = j->v.header_lineage;
	if (!rc)
		rc = kh_paths_output(p, j->v.db, err);
	if (!rc && j->base)
		rc = kh_paths_input(p, j->base->path, "the database that is added to", err);
	if (!rc)
		rc = kh_cmd_check_references(p, &j->refs, j->v.list, j->v.taxonomy, err);
	if (!rc && !(rc = kh_paths_inputs(p, o->maps, o->n_maps, "a table", err)) &&
	    !(rc = kh_paths_inputs(p, j->v.lineages.v, j->v.lineages.n, "a table", err)))
		rc = kh_paths_inputs(p, j->v.assemblies.v, j->v.assemblies.n, "a table", err);
	kh_paths_free(p);
	return rc;
}

/* Large blocks of memory go back to the system at once: of limited size, a database is made in
 * several readings, and what one frees is not of the sizes that the next one takes. */
static void give_back_memory(const struct build_cmd *j)
{
#if defined M_MMAP_THRESHOLD
	if (j->o.max_db_size > 0)
		mallopt(M_MMAP_THRESHOLD, 1 << 20);
#else
	(void)j;
#endif
}

/* Compressed bytes of a file, and of all for each thread, that make a GPU worth while: it is ready
 * after half a second, in which a core inflates some 25 MB. */
enum { LARGE_GZ = 8 << 20, GZ_A_THREAD = 32 << 20 };

static int open_inflater(struct build_cmd *j, kh_err *err)
{
	const char *device = j->v.device ? j->v.device : "auto";
	int rc;

	if (j->o.dry_run || (strcmp(device, "auto") == 0 &&
			     kh_build_gzipped(&j->o, LARGE_GZ, UINT64_MAX) / GZ_A_THREAD <
				     j->o.threads))
		return KH_OK;
	if ((rc = kh_backend_choose(&j->on.choice, device, err)))
		return rc;
	const kh_backend *be = j->on.choice.backend;

	if (be->inflate && !(rc = be->inflater_open(&j->inflater, &j->on, err)))
		j->o.inflate = (kh_inflate_by) { be->inflate, j->inflater };
	return rc;
}

static int build(struct build_cmd *j, int n, char **operand, kh_build_summary *sum, kh_err *err)
{
	int rc;

	if ((rc = to_options(&j->v, &j->o, err)) || (rc = open_base(j, err)) ||
	    (rc = kh_words_add(&j->v.seqids, &j->v.maps, err)))
		return rc;
	/* those by sequence come first */
	j->o.maps = j->v.seqids.v;
	j->o.n_maps = j->v.seqids.n;
	if ((rc = find_references(j, n, operand, err)))
		return rc;
	if (j->refs.errs.found > 0)     /* prints all of them */
		return kh_fail(err, j->refs.errs.v[0].code, "%zu error%s, no database is made",
			       j->refs.errs.found, kh_plural(j->refs.errs.found));
	give_back_memory(j);
	rc = check_files(j, err);
	if (!rc)
		rc = open_inflater(j, err);
	if (!rc)
		rc = kh_build(&j->o, sum, err);
	return j->base ? kh_db_reason(j->base, rc, err) : rc;
}

static void clear(struct build_cmd *j)
{
	kh_log_called(NULL, 0);
	for (size_t i = 0; i < j->n_copies; i++) {
		kh_out_close(j->copy[i]);
		free((char *)j->called[i].name);
	}
	free(j->copy);
	free(j->called);
	if (j->inflater)
		j->on.choice.backend->inflater_close(j->inflater);
	kh_references_clear(&j->refs);
	kh_db_close(j->base);
	free(j->v.maps.v);
	free(j->v.seqids.v);
	free(j->v.assemblies.v);
	free(j->v.lineages.v);
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct build_cmd j = { .v = { .max_unmapped = KH_MAX_UNMAPPED } };
	kh_build_summary sum;
	kh_err err = { 0, "" };
	int rc, first = kh_opt_parse(c, argc, argv, &j.v);

	if (first <= 0) {
		clear(&j);
		return -first;
	}
	rc = build(&j, argc - first, argv + first, &sum, &err);
	if (rc)
		rc = j.refs.errs.found ? kh_cmd_fail_all(c, &j.refs.errs) : kh_cmd_fail(c, &err);
	else if (j.o.dry_run)
		print_estimate(&j, &sum);
	else
		log_summary(&sum);
	clear(&j);
	return rc;
}

const kh_command kh_cmd_build = {
	"build", "make a database of reference genomes", "REFERENCE.fa[.gz]|FOLDER...", opts,
	settings, run, NULL
};
