/* cmd_build.c - kmerhash build */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "build.h"
#include "clash.h"
#include "cmd.h"
#include "mem.h"

struct values {
	const char *db, *taxonomy, *scheme, *device, *list;
	kh_words maps, seqids;
	uint64_t threads, k, smer, features, stride, max_span, memory, gpu_memory, block_size;
	double max_unmapped;
	bool allow_unmapped, allow_duplicates, allow_no_eof;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	{ "db", 'd', KH_OPT_TEXT, "FILE", "the database to make (NAME.khdb)", AT(db), 0, 0 },
	{ "taxonomy", 't', KH_OPT_TEXT, "DIR", "folder with nodes.dmp, names.dmp, perhaps merged.dmp",
	  AT(taxonomy), 0, 0 },
	{ "accession2taxid", 'a', KH_OPT_LIST, "FILE", "table of accessions, plain or gz; may be repeated",
	  AT(maps), 0, 0 },
	{ "seqid2taxid", 'm', KH_OPT_LIST, "FILE", "table of two columns: sequence id, taxid; goes first",
	  AT(seqids), 0, 0 },
	{ "list", 'l', KH_OPT_TEXT, "FILE", "names of more reference files, one a line", AT(list), 0, 0 },
	{ "threads", 'p', KH_OPT_UINT, "N", "worker threads [all CPUs]", AT(threads), 1, 4096 },
	{ "scheme", 0, KH_OPT_TEXT, "NAME", "which k-mers are kept: syncmer or minhash [syncmer]",
	  AT(scheme), 0, 0 },
	{ "kmer-len", 'k', KH_OPT_UINT, "N", "bases of a k-mer, 8 to 31 [by the size of the references]",
	  AT(k), KH_K_MIN, KH_K_MAX },
	{ "smer-len", 's', KH_OPT_UINT, "N", "syncmer: bases of an s-mer, k - N even [k - 4; from k = 20 on k - 6]", AT(smer), 2, 30 },
	{ "features", 0, KH_OPT_UINT, "N", "minhash: features kept of a window [16]", AT(features), 1,
	  KH_MINHASH_S_MAX },
	{ "stride", 0, KH_OPT_UINT, "N", "bases of a bin [112]", AT(stride), 16, KH_STRIDE_MAX },
	{ "max-span", 0, KH_OPT_UINT, "N", "bases that a pair, or a segment of a long read, spans [1008]",
	  AT(max_span), 64, 1 << 20 },
	{ "max-unmapped", 0, KH_OPT_REAL, "SHARE", "fail if more sequences have no taxon [0.5]",
	  AT(max_unmapped), 0, 1 },
	{ "allow-unmapped", 0, KH_OPT_FLAG, NULL, "never fail for sequences without a taxon",
	  AT(allow_unmapped), 0, 0 },
	{ "allow-duplicates", 0, KH_OPT_FLAG, NULL, "a sequence id may occur again, with the taxon that tables give it",
	  AT(allow_duplicates), 0, 0 },
	{ "allow-no-eof", 0, KH_OPT_FLAG, NULL, "accept BGZF without its end-of-file block",
	  AT(allow_no_eof), 0, 0 },
	{ "device", 0, KH_OPT_TEXT, "NAME", "auto, cpu, cuda or cuda:0,2 [auto]", AT(device), 0, 0 },
	{ "memory", 0, KH_OPT_SIZE, "SIZE", "keep at most this much of features in memory, the rest on disk",
	  AT(memory), 0, 0 },
	{ "gpu-memory", 0, KH_OPT_SIZE, "SIZE", "use at most this much of a GPU's memory", AT(gpu_memory), 0, 0 },
	{ "block-size", 0, KH_OPT_SIZE, "SIZE", "bytes of text a worker takes at a time [what suits the device]",
	  AT(block_size), 1, 1 << 30 },
	{ "quiet", 'q', KH_OPT_QUIETER, NULL, "errors only", 0, 0, 0 },
	{ "verbose", 'v', KH_OPT_LOUDER, NULL, "say more", 0, 0, 0 },
	{ NULL, 0, KH_OPT_FLAG, NULL, NULL, 0, 0, 0 }
};

static int add_word(kh_words *w, const char *s, kh_err *err)
{
	int rc = kh_grow((void **)&w->v, &w->cap, w->n + 1, sizeof *w->v, err);

	if (!rc)
		w->v[w->n++] = s;
	return rc;
}

/* The lines of a file, as words that live as long as *text. */
static int read_list(const char *path, char **text, kh_words *w, kh_err *err)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0, cap = 0, got;
	int rc = f ? KH_OK : kh_fail_errno(err, path);

	while (!rc) {
		rc = kh_grow((void **)text, &cap, n + 65536, 1, err);
		if (rc || (got = fread(*text + n, 1, 65535, f)) == 0)
			break;
		n += got;
	}
	if (!rc && ferror(f))
		rc = kh_fail_errno(err, path);
	if (f)
		fclose(f);
	if (rc)
		return rc;
	(*text)[n] = 0;
	if (strlen(*text) < n)          /* of find -print0, say: only the first name would count */
		return kh_fail(err, KH_EFORMAT, "%s: a NUL byte at %zu; expected names of files, one a line",
			       path, strlen(*text));
	for (char *save = NULL, *s = strtok_r(*text, "\r\n", &save); s && !rc;
	     s = strtok_r(NULL, "\r\n", &save))
		rc = add_word(w, s, err);
	return rc;
}

static int to_options(const struct values *v, kh_build_options *o, kh_err *err)
{
	bool minhash = v->scheme && strcmp(v->scheme, "minhash") == 0;

	if (!v->db)
		return kh_fail(err, KH_EUSAGE, "--db FILE is needed");
	if (!v->taxonomy)
		return kh_fail(err, KH_EUSAGE, "--taxonomy DIR is needed");
	if (o->n_refs == 0)
		return kh_fail(err, KH_EUSAGE, "no references are named");
	if (v->scheme && !minhash && strcmp(v->scheme, "syncmer") != 0)
		return kh_fail(err, KH_EUSAGE, "--scheme: '%s' is neither syncmer nor minhash", v->scheme);
	const kh_paths db = { &v->db, 1 };
	int rc = kh_clash_inputs(db, (kh_paths) { o->refs, o->n_refs }, "a reference", err);
	if (!rc)
		rc = kh_clash_inputs(db, (kh_paths) { o->maps, o->n_maps }, "a table", err);
	if (rc)
		return rc;
	o->db = v->db;
	o->taxonomy = v->taxonomy;
	o->sketch = (kh_sketch) { .scheme = minhash ? KH_MINHASH : KH_SYNCMER, .k = (uint32_t)v->k,
		.s = (uint32_t)(minhash ? v->features : v->smer), .stride = (uint32_t)v->stride };
	o->max_span = (uint32_t)v->max_span;
	if (o->max_span < o->sketch.stride)
		return kh_fail(err, KH_EUSAGE, "--max-span must be at least --stride");
	o->threads = kh_cmd_threads(v->threads);
	o->device = v->device ? v->device : "auto";
	o->memory = v->memory;
	o->gpu_memory = v->gpu_memory;
	o->max_unmapped = v->allow_unmapped ? 1 : v->max_unmapped;
	o->allow_duplicates = v->allow_duplicates;
	o->allow_no_eof = v->allow_no_eof;
	o->block_size = v->block_size;
	return KH_OK;
}

static void tell(const kh_build_summary *s, unsigned ranks)
{
	char on[32];
	const kh_db_header *h = &s->header;
	double t = kh_cmd_seconds();

	snprintf(on, sizeof on, ", %u ranks", ranks);
	kh_log(KH_INFO, "%" PRIu32 " targets, %" PRIu64 " bases, %" PRIu32 " taxa; %s k = %u; %" PRIu64
	       " features, %" PRIu64 " locations, %" PRIu64 " bytes", h->n_targets, h->bases, h->n_taxa,
	       h->sketch.scheme == KH_SYNCMER ? "syncmer" : "minhash", h->sketch.k, h->features,
	       h->locations, h->file_bytes);
	kh_log(KH_DEBUG, "seconds: %.2f opening, %.2f reading and sampling, %.2f finding taxa, "
	       "%.2f sorting and writing", s->seconds_open, s->seconds_read, s->seconds_map, s->seconds_write);
	if (s->seconds_ready > 0)
		kh_log(KH_DEBUG, "seconds: %.3f from the first block read to the index in memory",
		       s->seconds_ready);
	kh_log(KH_INFO, "%s build on %s%s: %.1f Mbases/s, %.1f s, %.0f MB of memory", PACKAGE_STRING, s->backend,
	       ranks > 1 ? on : "",
	       (double)(h->bases + h->unmapped_bases) * 1e-6 / (t > 0 ? t : 1e-9), t,
	       (double)kh_cmd_peak() * 1e-6);
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct values v = { .features = 16, .stride = KH_STRIDE, .max_span = KH_MAX_SPAN,
			    .max_unmapped = KH_MAX_UNMAPPED };
	kh_build_options o = { .refs = NULL };
	kh_build_summary sum;
	kh_words refs = { NULL, 0, 0 };
	char *text = NULL;
	kh_err err = { 0, "" };
	int rc, first = kh_opt_parse(c, argc, argv, &v);

	if (first <= 0) {
		free(v.maps.v);
		free(v.seqids.v);
		return first == -2 ? 1 : first < 0 ? 2 : 0;
	}
	rc = kh_comm_open(&o.comm, &err);
	kh_log_rank(kh_comm_rank(o.comm));
	for (int i = first; i < argc && !rc; i++)
		rc = add_word(&refs, argv[i], &err);
	if (!rc && v.list)
		rc = read_list(v.list, &text, &refs, &err);
	for (size_t i = 0; i < v.maps.n && !rc; i++)
		rc = add_word(&v.seqids, v.maps.v[i], &err);
	o.refs = refs.v;
	o.n_refs = refs.n;
	o.maps = v.seqids.v;
	o.n_maps = v.seqids.n;
	if (!rc)
		rc = to_options(&v, &o, &err);
	if (!rc)
		rc = kh_build(&o, &sum, &err);
	if (rc) {
		kh_comm_fail(o.comm, &err);
		rc = kh_cmd_fail(c, &err);
	} else {
		tell(&sum, kh_comm_size(o.comm));
	}
	kh_comm_close(o.comm);
	free(text);
	free(refs.v);
	free(v.maps.v);
	free(v.seqids.v);
	return rc;
}

const kh_command kh_cmd_build = {
	"build", "make a database of reference genomes", "REFERENCE.fa[.gz]...", opts, run
};
