#include <config.h>
#include "cmd/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"

enum { MAX_OPTS = 96, OPT_HELP = 256, OPT_VERSION, FIRST_LONG };

const kh_opt kh_settings_common[] = {
	KH_SETTINGS_COMMON,
	KH_OPTS_END
};

static void show_heading(const kh_command *c, const kh_opt *o)
{
	for (const kh_group *g = c->groups; g && g->before; g++)
		if (strcmp(g->before, o->name) == 0)
			printf("\n%s:\n    kmerhash %s %s\n", g->heading, c->name, g->example);
}

void kh_usage(const kh_command *c)
{
	printf("Usage: kmerhash %s [options] %s\n%s\n\nOptions:\n", c->name, c->operands,
	       c->summary);
	for (const kh_opt *o = c->opts; o->name; o++) {
		char left[64];

		if (o->hidden)
			continue;
		show_heading(c, o);
		snprintf(left, sizeof left, "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
		printf("%-34s %s\n", left, o->help);
	}
	printf("  -h, --help                       this text\n"
	       "      --version                    the version of the program\n"
	       "The manual page kmerhash-%s(1) says more.\n", c->name);
}

static void list_settings(const kh_command *c)
{
	printf("Settings of kmerhash %s, each as --set KEY=VALUE, or --set KEY:\n", c->name);
	for (const kh_opt *o = c->settings; o->name; o++) {
		char left[64];

		snprintf(left, sizeof left, "  %s%s%s", o->name, o->arg ? "=" : "",
			 o->arg ? o->arg : "");
		printf("%-34s %s\n", left, o->help);
	}
}

static int wrong(const kh_command *c, const char *fmt, ...) KH_PRINTF(2, 3);
static int wrong(const kh_command *c, const char *fmt, ...)
{
	char text[512], all[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(all, sizeof all, "%s (kmerhash %s -h lists the options)", text, c->name);
	kh_log_failure(c->name, all);
	return -2;
}

/* --- values ----------------------------------------------------------------------- */
/* The end of the number that s begins with; NULL: it begins with none. */
static const char *parse_digits(const char *s, uint64_t *x)
{
	char *end;

	errno = 0;
	*x = strtoull(s, &end, 10);
	return *s < '0' || *s > '9' || errno ? NULL : end;
}

bool kh_parse_uint(const char *s, uint64_t *x)
{
	const char *end = parse_digits(s, x);

	return end && *end == 0;
}

bool kh_parse_size(const char *s, uint64_t *x)
{
	static const char unit[] = "KMGT";
	const char *end = parse_digits(s, x);
	const char *u = end && *end & 0x40 ? strchr(unit, *end & ~0x20) : NULL;
	const unsigned shift = u ? 10 * (unsigned)(u - unit + 1) : 0;

	if (!end || *x > UINT64_MAX >> shift)
		return false;
	*x <<= shift;
	return end[u != NULL] == 0;
}

bool kh_parse_real(const char *s, double *x)
{
	char *end;

	errno = 0;
	*x = strtod(s, &end);
	return end != s && !errno && *end == 0;
}

int kh_words_add(kh_words *w, const kh_words *more, kh_err *err)
{
	const int rc = KH_GROW(w->v, w->cap, w->n + more->n, err);

	for (size_t i = 0; i < more->n && !rc; i++)
		w->v[w->n++] = more->v[i];
	return rc;
}

/* The greatest value of an option, as one gives it. */
static kh_size most_of(const kh_opt *o)
{
	kh_size text;

	if (o->kind == KH_OPT_SIZE)
		return kh_size_as_option((uint64_t)o->max);
	snprintf(text.s, sizeof text.s, "%.0f", o->max);
	return text;
}

/* `as` is what the user knows the option by: "--threads", "--set block-size". */
static int set_number(const kh_command *c, const kh_opt *o, const char *as, const char *arg,
		      void *to)
{
	double x;

	if (o->kind == KH_OPT_REAL) {
		if (!kh_parse_real(arg, &x) || !(x >= o->min && x <= o->max))
			return wrong(c, "%s: '%s' is not a number from %g to %g", as, arg,
				     o->min, o->max);
		*(double *)to = x;
		return 0;
	}
	if (!(o->kind == KH_OPT_SIZE ? kh_parse_size : kh_parse_uint)(arg, to))
		return wrong(c, "%s: '%s' is not a %s", as, arg,
			     o->kind == KH_OPT_SIZE ? "size (such as 512M)" : "whole number");
	x = (double)*(uint64_t *)to;
	if (o->max <= 0 && x < o->min)
		return wrong(c, "%s: %s is less than %.0f", as, arg, o->min);
	if (o->max > 0 && (x < o->min || x > o->max))
		return wrong(c, "%s: %s is not in %.0f to %s", as, arg, o->min,
			     most_of(o).s);
	return 0;
}

/* 0, or what kh_opt_parse returns. */
static int set(const kh_command *c, const kh_opt *o, const char *as, const char *arg, void *values)
{
	void *to = (char *)values + o->at;
	kh_words *w = to;
	kh_err err = { 0, "" };

	switch (o->kind) {
	case KH_OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case KH_OPT_TEXT:
		*(const char **)to = arg;
		return 0;
	case KH_OPT_LIST:
		return kh_words_add(w, &(kh_words) { .v = &arg, .n = 1 }, &err)
			       ? -kh_cmd_fail(c, &err) : 0;
	case KH_OPT_LOUDER:
		kh_log_level(KH_DEBUG);
		return 0;
	case KH_OPT_QUIETER:
		kh_log_level(KH_ERROR);
		return 0;
	case KH_OPT_LOG_JSON:
		kh_log_json(c->name);   /* it may have been shortened, so that it was not found */
		return 0;
	default:
		return set_number(c, o, as, arg, to);
	}
}

/* The row whose name is the n characters at `name`; NULL: there is none. */
static const kh_opt *row_of(const kh_opt *o, const char *name, size_t n)
{
	while (o->name && (strncmp(o->name, name, n) != 0 || o->name[n]))
		o++;
	return o->name ? o : NULL;
}

/* --set KEY=VALUE */
static int change_setting(const kh_command *c, const char *word, void *values)
{
	const size_t n = strcspn(word, "=");
	const kh_opt *o = row_of(c->settings, word, n);
	char as[64];

	if (!o)
		return wrong(c, "--set: '%.*s' is none of the settings, which --set help lists",
			     (int)n, word);
	if (o->arg && !word[n])
		return wrong(c, "--set %s needs a value: --set %s=%s", o->name, o->name, o->arg);
	if (!o->arg && word[n])
		return wrong(c, "--set %s takes no value", o->name);
	snprintf(as, sizeof as, "--set %s", o->name);
	return set(c, o, as, o->arg ? word + n + 1 : NULL, values);
}

/* Looked for before anything is parsed: a message on what is wrong with other options is of it. */
static void find_log_json(const kh_command *c, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--set=log-json") == 0 ||
		    (strcmp(argv[i], "log-json") == 0 && strcmp(argv[i - 1], "--set") == 0))
			kh_log_json(c->name);
}

/* --- the parser ------------------------------------------------------------------- */
/* What getopt_long needs to know of the options of a command.  It knows only those that -h lists,
 * as any other one would make a prefix of these ambiguous. */
struct getopt_tables {
	struct option longs[MAX_OPTS + 3];
	const kh_opt *of[MAX_OPTS];
	char shorts[2 * MAX_OPTS + 4];
};

static void make_tables(struct getopt_tables *t, const kh_command *c)
{
	char *at = t->shorts;
	int n = 0;

	*at++ = ':';
	*at++ = 'h';
	for (const kh_opt *o = c->opts; o->name; o++) {
		if (o->hidden)
			continue;
		assert(n < MAX_OPTS);
		t->of[n] = o;
		t->longs[n] = (struct option) { o->name,
						o->arg ? required_argument : no_argument, NULL,
						FIRST_LONG + n };
		n++;
		if (o->letter)
			*at++ = o->letter;
		if (o->letter && o->arg)
			*at++ = ':';
	}
	*at = 0;
	t->longs[n] = (struct option) { "help", no_argument, NULL, OPT_HELP };
	t->longs[n + 1] = (struct option) { "version", no_argument, NULL, OPT_VERSION };
	t->longs[n + 2] = (struct option) { NULL, 0, NULL, 0 };
}

/* Says what is wrong with a word that getopt_long does not take. */
static int not_taken(const kh_command *c, const struct getopt_tables *t, const char *word)
{
	const size_t n = strcspn(word, "=");
	const char *names[MAX_OPTS + 2];
	char all[256] = "";
	size_t n_names = 0, begin = 0;
	const kh_opt *o;

	if (optopt >= OPT_HELP)
		return wrong(c, "option '%.*s' takes no argument", (int)n, word);
	if (optopt)
		return wrong(c, "unknown option '-%c'", optopt);
	if ((o = row_of(c->opts, word + 2, n - 2)))     /* one that is hidden is gone */
		return wrong(c, "%.*s is no option any more: %s", (int)n, word, o->help);
	if ((o = row_of(c->settings, word + 2, n - 2)))
		return wrong(c, "--%s is a setting: --set %s%s%s", o->name, o->name,
			     o->arg ? "=" : "", o->arg ? o->arg : "");
	for (const struct option *l = t->longs; l->name; l++) {
		names[n_names++] = l->name;
		if (strncmp(l->name, word + 2, n - 2) != 0)
			continue;
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s--%s", begin ? ", " : "",
			 l->name);
		begin++;
	}
	if (begin > 1)
		return wrong(c, "option '%.*s' may be %s", (int)n, word, all);
	const char *nearest = kh_nearest(word + 2, n - 2, names, n_names);
	if (nearest)
		return wrong(c, "unknown option '%.*s', did you mean --%s?", (int)n, word, nearest);
	return wrong(c, "unknown option '%.*s'", (int)n, word);
}

/* A word with one dash that is the name of an option, as -db, would be letters and a value.
 * Returns 0, or what kh_opt_parse does. */
static int check_dashes(const kh_command *c, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *word = argv[i][0] == '-' ? argv[i] + 1 : "";
		const size_t n = strcspn(word, "=");

		if (n > 1 && row_of(c->opts, word, n))
			return wrong(c, "-%.*s has one dash: --%.*s", (int)n, word, (int)n, word);
	}
	return 0;
}

int kh_opt_parse(const kh_command *c, int argc, char **argv, void *values)
{
	struct getopt_tables t;
	int got, rc = 0;

	find_log_json(c, argc, argv);
	make_tables(&t, c);
	if ((rc = check_dashes(c, argc, argv)))
		return rc;
	opterr = 0;
	while (!rc && (got = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		char as[64];
		int i = got - FIRST_LONG;

		if (got == 'h' || got == OPT_HELP) {
			kh_usage(c);
			return 0;
		}
		if (got == OPT_VERSION) {
			puts(PACKAGE_STRING);
			return 0;
		}
		if (got == ':')
			return wrong(c, "option '%s' needs an argument", argv[optind - 1]);
		if (got == '?')
			return not_taken(c, &t, argv[optind - 1]);
		for (i = i < 0 ? 0 : i; got < FIRST_LONG && t.of[i]->letter != got; i++)
			;
		snprintf(as, sizeof as, "--%s", t.of[i]->name);
		if (t.of[i]->kind == KH_OPT_SET && strcmp(optarg, "help") == 0) {
			list_settings(c);
			return 0;
		}
		rc = t.of[i]->kind == KH_OPT_SET ? change_setting(c, optarg, values)
						 : set(c, t.of[i], as, optarg, values);
	}
	return rc ? rc : optind;
}
