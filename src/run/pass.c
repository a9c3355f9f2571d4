/* pass.c - counts fragments and keeps them, then writes their outputs anew */
#include <config.h>
#include "run/pass.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"
#include "classify/match.h"
#include "run/waiting.h"
#include "sample/frames.h"
#include "sample/qualities.h"

/* What a worker has to itself. */
struct worker {
	kh_classes classes;
	kh_class_of *of;                /* the classes of the fragments of a job */
	size_t cap_of;
	kh_buf frame, id;
	kh_qualities qualities;
};

struct kh_pass {
	kh_pass_options o;
	kh_match_db db;
	uint32_t *guess;                /* of its targets */
	kh_class_rule rule;
	struct worker *worker;
	/* Counts the fragments of most tasks; NULL: workers count them all.  `marked`: workers have
	 * marked intervals that it does not know. */
	kh_census *census;
	const kh_backend *be;           /* of the census */
	atomic_bool marked;
	unsigned n_to;
	uint32_t **to;                  /* places among all of the classes of each worker, and then
					 * of each bank of the census; NULL: as they are */
	uint64_t base;                  /* of tickets */
	kh_frames *kept;                /* NULL: no outputs are written again */
	kh_marks marks;                 /* where fragments lie */
	kh_coverage *coverage;          /* NULL: not wanted */
	kh_classes classes;             /* of all */
	bool lent;                      /* they are those of one counter, which has all */
	kh_by_genus by_genus;
	kh_model model;
	kh_pass_result result;
};

/* --- opening ---------------------------------------------------------------------- */
/* Opens the file for what waits for its final call: beside the lines or the reads, unless these
 * are no files. */
static int open_kept(kh_pass *s, kh_err *err)
{
	const char *tmp = getenv("TMPDIR"), *beside = NULL;
	char *name = NULL;
	int rc;

	for (int k = 0; k < KH_N_BY_FRAGMENT && !beside; k++) {
		const char *path = s->o.path[k];

		if (path && strcmp(path, "-") != 0 && strncmp(path, "/dev/", 5) != 0)
			beside = path;
	}
	if (!beside && (rc = kh_print(&name, err, "%s/", tmp && *tmp ? tmp : "/tmp")))
		return rc;
	rc = kh_frames_open(&s->kept, beside ? beside : name, s->o.threads, s->o.reads, err);
	free(name);
	return rc;
}

int kh_pass_open(kh_pass **out, const kh_pass_options *o, kh_err *err)
{
	kh_pass *s = kh_array(1, sizeof *s, err);
	int rc;

	if (!s)
		return KH_ENOMEM;
	s->o = *o;
	s->rule = (kh_class_rule) { o->rule, &s->db };
	s->guess = kh_array(KH_MATCH_GUESSES, sizeof *s->guess, err);
	s->worker = kh_array(o->threads, sizeof *s->worker, err);
	s->result.first = kh_array(o->db->tax->n, sizeof *s->result.first, err);
	s->result.direct = kh_array(o->db->tax->n, sizeof *s->result.direct, err);
	rc = s->guess && s->worker && s->result.first && s->result.direct ? KH_OK : KH_ENOMEM;
	kh_match_db_init(&s->db, o->db, o->rule);
	if (!rc)
		kh_match_db_guess(&s->db, s->guess, o->db->h->bins);
	if (!rc)
		rc = kh_by_genus_init(&s->by_genus, o->db, o->threads, err);
	for (unsigned i = 0; i < o->threads && !rc; i++)
		rc = kh_classes_init(&s->worker[i].classes, err);
	if (!rc)
		rc = kh_classes_init(&s->classes, err);
	if (!rc)
		rc = kh_marks_init(&s->marks, o->db, err);
	if (!rc && o->coverage)
		rc = kh_coverage_new(&s->coverage, o->db, err);
	if (!rc && o->change && (o->lines || o->reads))
		rc = open_kept(s, err);
	if (rc) {
		kh_pass_close(s);
		return rc;
	}
	*out = s;
	return KH_OK;
}

void kh_pass_close(kh_pass *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->to && i < s->n_to; i++)
		free(s->to[i]);
	free(s->to);
	if (s->census)
		s->be->census.close(s->census);
	for (unsigned i = 0; s->worker && i < s->o.threads; i++) {
		kh_classes_clear(&s->worker[i].classes);
		free(s->worker[i].frame.p);
		free(s->worker[i].id.p);
		free(s->worker[i].of);
	}
	if (s->lent)
		s->classes.at = NULL;
	kh_classes_clear(&s->classes);
	kh_by_genus_clear(&s->by_genus);
	kh_model_clear(&s->model);
	kh_frames_close(s->kept);
	kh_coverage_free(s->coverage);
	free(s->result.first);
	free(s->result.direct);
	kh_marks_clear(&s->marks);
	free(s->guess);
	free(s->worker);
	free(s);
}

bool kh_pass_writes(const kh_pass *s)
{
	return s->kept != NULL;
}

int kh_pass_begin(kh_pass *s, const kh_compute *compute, kh_err *err)
{
	const kh_census_options o = { .interval = s->marks.first,
				      .n_targets = (uint32_t)s->o.db->h->n_targets };
	int rc = KH_OK;

	s->base = s->kept ? kh_frames_count(s->kept) : 0;
	/* coverage is of each fragment, not of each class */
	if (s->be || s->coverage || !compute->be->census.open)
		return KH_OK;
	s->be = compute->be;
	rc = s->be->census.open(&s->census, compute->engine, &o, err);
	if (!rc && !s->census)
		kh_log(KH_DEBUG, "second pass: fragments are counted on the host");
	return rc;
}

/* --- the first pass --------------------------------------------------------------- */
bool kh_pass_compares(const kh_pass *s)
{
	return s->by_genus.of != NULL;
}

void kh_pass_ask(const kh_pass *s, kh_task *t)
{
	t->census = s->census;
	t->classes_wanted = s->kept != NULL;
}

/* Counts n fragments of a task from number `from` on. */
static int count(kh_pass *s, struct worker *w, const kh_task *t, size_t from, size_t n,
		 kh_err *err)
{
	const kh_candidates *cand = t->candidates + from;
	const kh_class_of *of = w->of + from;
	int rc = kh_classes_add(&w->classes, &s->rule, t->call + from, cand, n, w->of + from, err);

	if (rc)
		return rc;
	kh_marks_add(&s->marks, &w->classes, of, cand, n);
	for (size_t i = 0; s->coverage && i < n; i++)
		if (of[i].target != KH_NO_TARGET)
			kh_coverage_add(s->coverage, &w->classes.at[of[i].index], of[i].target,
					cand[i].bin);
	return KH_OK;
}

/* Counts what the census has left to the host.  That is all which has a class of which translated
 * seeds say something, so the class of what they may call is among those of the worker. */
static int count_left(kh_pass *s, struct worker *w, const kh_task *t, kh_err *err)
{
	int rc = KH_OK;

	if (t->left)
		atomic_store_explicit(&s->marked, true, memory_order_relaxed);
	for (size_t i = 0; i < t->job->n && !rc; i++) {
		w->of[i].index = KH_NO_CLASS;
		if (t->left && t->class_of[i] == KH_UNCOUNTED)
			rc = count(s, w, t, i, 1, err);
	}
	return rc;
}

/* The class of a fragment as a frame has it: 0 for none, else its number among those of the worker,
 * or of the census, and which of these, by its lowest bit. */
static uint64_t class_in_frame(const struct worker *w, const kh_task *t, size_t i)
{
	const uint32_t counted = t->census ? t->class_of[i] : KH_UNCOUNTED;
	const uint32_t index = counted == KH_UNCOUNTED ? w->of[i].index : counted;

	return index == KH_NO_CLASS ? 0 : 2 * ((uint64_t)index + 1) + (counted != KH_UNCOUNTED);
}

/* Makes the frame of a job. */
static int keep_job(kh_pass *s, struct worker *w, unsigned worker, const kh_task *t, kh_err *err)
{
	kh_waiting k[2] = { { .class = 0 } };

	w->frame.n = 0;
	kh_frame_number(&w->frame, worker);
	for (size_t i = 0; i < t->job->n; i++) {
		kh_waiting *now = &k[i % 2];

		now->class = class_in_frame(w, t, i);
		now->call = t->call[i];
		now->said = t->like ? t->like[i].said : KH_NO_TAXON;
		kh_line_of(&now->line, s->o.style, t->job, i);
		kh_waiting_put(&w->frame, now, &k[(i + 1) % 2]);
		if (s->o.reads)
			kh_waiting_put_reads(&w->frame, t->job, i);
	}
	return kh_buf_check(&w->frame, err);
}

int kh_pass_count(kh_pass *s, unsigned worker, const kh_task *t, kh_err *err)
{
	struct worker *w = &s->worker[worker];
	const kh_job *job = t->job;
	int rc = KH_GROW(w->of, w->cap_of, job->n, err);

	kh_qualities_add(&w->qualities, job, kh_rule_counted(s->o.rule).k);
	if (!rc && !t->census)
		rc = count(s, w, t, 0, t->job->n, err);
	else if (!rc && (t->left || t->like))
		rc = count_left(s, w, t, err);
	if (!rc)
		rc = kh_by_genus_add(&s->by_genus, worker, t, w->of, err);
	if (rc || !s->kept)
		return rc;
	rc = keep_job(s, w, worker, t, err);
	return rc ? rc : kh_frames_put(s->kept, worker, s->base + job->ticket, &w->frame, err);
}

/* --- the model -------------------------------------------------------------------- */
/* Of so many, the one that has all classes; or n: none or several have some. */
static unsigned only_one(const kh_classes *counted, unsigned n)
{
	unsigned only = n;

	for (unsigned i = 0; i < n; i++) {
		if (counted[i].n > 0 && only < n)
			return n;
		only = counted[i].n > 0 ? i : only;
	}
	return only;
}

/* Takes the classes of one as they are. */
static void lend(kh_pass *s, const kh_classes *from)
{
	s->lent = true;
	s->classes.at = from->at;
	s->classes.n = from->n;
	memcpy(s->classes.many, from->many, sizeof from->many);
}

/* Joins what the workers have counted, and the banks of the census. */
static int join(kh_pass *s, kh_team *team, kh_err *err)
{
	const unsigned workers = s->o.threads, n = workers + (s->census ? s->census->banks : 0);
	kh_classes *counted = kh_array(n, sizeof *counted, err);
	kh_census_bank p;
	int rc = counted && (s->to = kh_array(n, sizeof *s->to, err)) ? KH_OK : KH_ENOMEM;

	s->n_to = rc ? 0 : n;
	for (unsigned i = 0; i < workers && !rc; i++)
		counted[i] = s->worker[i].classes;
	for (unsigned i = workers; i < n && !rc; i++) {
		rc = s->be->census.read(s->census, i - workers, team, &p, err);
		if (rc)
			break;
		counted[i] = (kh_classes) { .at = p.at, .n = p.n };
		memcpy(counted[i].many, p.many, sizeof p.many);
	}
	const unsigned only = rc ? n : only_one(counted, n);

	if (!rc && only < n)
		lend(s, &counted[only]);
	else if (!rc)
		rc = kh_classes_join(&s->classes, counted, n, s->to, team, err);
	free(counted);
	return rc;
}

/* How many tracts of each target have a fragment of the shares in own[target]. */
static int search(void *arg, const uint32_t *own, const uint8_t *shift, uint32_t *found,
		  kh_err *err)
{
	kh_pass *s = arg;
	const uint32_t *also = s->marked ? (const uint32_t *)s->marks.mask : NULL;
	const kh_census_search q = { own, shift, also, found };
	const int rc = s->be->census.search(s->census, &q, err);

	s->marked = false;      /* the census has them from now on */
	return rc;
}

/* Moves the counts of classes to their final calls. */
static void move_counts(kh_pass *s, kh_moves *moves)
{
	const kh_model *m = &s->model;
	kh_tally *tally = moves->tally;

	memcpy(s->result.first, tally->direct, tally->n * sizeof *tally->direct);
	memcpy(s->result.direct, tally->direct, tally->n * sizeof *tally->direct);
	for (uint32_t t = 0; t < tally->n; t++) {
		s->result.direct[t] -= m->first[t];
		tally->direct[t] += m->last[t] - m->first[t];
	}
	tally->unclassified += m->last[tally->n] - m->first[tally->n];
	moves->classified += (int64_t)(m->first[tally->n] - m->last[tally->n]);
	moves->changed += m->changed;
}

/* The same of what has no class. */
static void move_others(const kh_model *m, kh_moves *moves)
{
	/* what a call becomes stays what it is */
	for (uint32_t t = 0; t < moves->tally->n; t++)
		kh_moves_add(moves, t, kh_model_end(m, t), moves->direct[t]);
}

/* The place among all classes of one that a counter knows by this number. */
static size_t place_of_class(const kh_pass *s, unsigned counter, uint64_t number)
{
	return s->to[counter] ? s->to[counter][number] : number;
}

static uint32_t decision_of(const void *pass, unsigned worker, uint32_t class)
{
	const kh_pass *s = pass;

	return s->model.decision[place_of_class(s, worker, class)];
}

static int join_and_model(kh_pass *s, kh_team *team, uint64_t fragments, double *joined,
			  kh_err *err)
{
	kh_qualities qualities = { .reads = 0 };
	int rc = join(s, team, err);

	*joined = kh_seconds();
	kh_by_genus_agree(&s->by_genus);
	for (unsigned i = 0; i < s->o.threads; i++)
		kh_qualities_join(&qualities, &s->worker[i].qualities);
	const kh_model_input in = { .db = s->o.db,
				    .rule = s->o.rule,
				    .classes = &s->classes,
				    .mask = (const uint32_t *)s->marks.mask,
				    .search = s->census ? search : NULL,
				    .arg = s,
				    .fragments = fragments,
				    .errors_leave = kh_qualities_share(&qualities),
				    .change = s->o.change,
				    .agreed = s->by_genus.agrees,
				    .team = team };

	return rc ? rc : kh_model_make(&s->model, &in, err);
}

int kh_pass_fit(kh_pass *s, kh_team *team, uint64_t fragments, kh_tally *tally, kh_err *err)
{
	const double began = kh_seconds();
	kh_moves moves = { .tally = tally, .direct = s->result.direct };
	double joined;
	int rc = join_and_model(s, team, fragments, &joined, err);

	if (rc)
		return rc;
	s->result.model = &s->model;
	s->result.classes = &s->classes;
	s->result.coverage = s->coverage;
	s->result.kept = s->kept ? kh_frames_bytes(s->kept) : 0;
	move_counts(s, &moves);
	kh_by_genus_judge(&s->by_genus, &s->model, decision_of, s, &moves);
	s->result.by_genus = &s->by_genus;
	move_others(&s->model, &moves);
	s->result.changed = moves.changed;
	s->result.classified = moves.classified;
	kh_log(KH_DEBUG, "second pass: %zu classes of fragments, %u species, %llu calls changed; "
	       "%.3f s for the classes, %.3f s for the model; %s kept for lines",
	       s->classes.n, s->model.n, (unsigned long long)s->result.changed, joined - began,
	       kh_seconds() - joined, kh_size_show(s->result.kept).s);
	return KH_OK;
}

const kh_pass_result *kh_pass_result_of(const kh_pass *s)
{
	return s ? &s->result : NULL;
}

/* --- outputs ------------------------------------------------------------------------ */
uint64_t kh_pass_jobs(const kh_pass *s)
{
	return s->kept ? kh_frames_count(s->kept) : 0;
}

/* Makes the call of a fragment that this worker kept the final one. */
static void set_call(const kh_pass *s, unsigned worker, kh_waiting *k)
{
	/* banks of the census stand behind the workers */
	const unsigned counter =
		k->class % 2 ? s->o.threads + worker % (s->n_to - s->o.threads) : worker;

	if (k->class > 0)
		k->call.taxon = s->model.decision[place_of_class(s, counter, k->class / 2 - 1)];
	if (kh_by_genus_end(&s->by_genus, k->said, &k->call) || k->class == 0)
		k->call.taxon = kh_model_end(&s->model, k->call.taxon);
}

int kh_pass_format(kh_pass *s, unsigned worker, uint64_t ticket, const kh_result_bufs *to,
		     kh_err *err)
{
	struct worker *w = &s->worker[worker];
	kh_buf *f = &w->frame;
	kh_waiting k = { .class = 0 };
	int rc = kh_frames_get(s->kept, worker, ticket, f, err);
	const char *at = f->p;
	const unsigned by = rc ? 0 : (unsigned)kh_frame_read(&at);

	while (!rc && at < f->p + f->n) {
		kh_waiting_read(&at, &k, &w->id);
		set_call(s, by, &k);
		if (to->lines)
			kh_format_parts(to->lines, s->o.style, &k.line, &k.call);
		if (s->o.reads)
			kh_waiting_format_reads(&at, s->o.db->tax, s->o.style, k.call.taxon, to);
	}
	return rc ? rc : kh_buf_check(&w->id, err);
}
