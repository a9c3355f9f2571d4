/* test_page.c - the page: its data are those that were given, and no text can end its block */
#include "test.h"

#include <jansson.h>
#include <math.h>
#include "page/page.h"

static const kh_page_taxon taxon[] = {
	{ .taxid = 1, .parent = 0, .name = "root", .rank = "no rank" },
	{ .taxid = 2, .parent = 0, .name = "</script><script>x", .rank = "superkingdom" },
	{ .taxid = 10, .parent = 1, .name = "a \"quoted\" \\ name\t", .rank = "species" },
	{ .taxid = 11, .parent = 1, .name = "nothing here", .rank = "species" },
	{ .taxid = 3, .parent = 0, .name = "caf\xe9", .rank = "superkingdom" },
	{ .taxid = 12, .parent = 4, .name = "\xd7\x97\xe2\x80\xae", .rank = "species" },
};
enum { N = sizeof taxon / sizeof *taxon };

/* The page of p, and its data. */
static json_t *page_of(const kh_page *p, kh_buf *b)
{
	const char begin[] = "id=\"data\">";
	json_error_t wrong;

	OK(kh_page_write(b, p, err));
	kh_buf_add(b, "", 1);
	const char *data = strstr(b->p, begin), *end;
	assert_non_null(data);
	data += strlen(begin);
	end = strstr(data, "</script>");
	assert_non_null(end);
	assert_null(memchr(data, '<', (size_t)(end - data)));
	json_t *root = json_loadb(data, (size_t)(end - data), 0, &wrong);
	if (!root)
		fail_msg("%s", wrong.text);
	return root;
}

static const char *text_at(const json_t *array, size_t i)
{
	return json_string_value(json_array_get(array, i));
}

static json_int_t number_at(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

/* What has no reads in any sample is left out, and parents are counted without it. */
static void check_taxa(const json_t *root)
{
	const json_t *taxa = json_object_get(root, "taxa"), *name = json_object_get(taxa, "name");
	const json_t *ranks = json_object_get(root, "ranks"), *rank = json_object_get(taxa, "rank");

	assert_int_equal(json_array_size(name), N - 1);
	assert_string_equal(text_at(name, 1), taxon[1].name);
	assert_string_equal(text_at(name, 2), "a \"quoted\" \\ name\\x09");
	assert_string_equal(text_at(name, 3), "caf\\xe9");
	assert_string_equal(text_at(name, 4), taxon[5].name);
	assert_int_equal(number_at(json_object_get(taxa, "taxid"), 3), 3);
	assert_int_equal(number_at(json_object_get(taxa, "parent"), 2), 1);
	assert_int_equal(number_at(json_object_get(taxa, "parent"), 4), 3);
	assert_int_equal(json_array_size(ranks), 3);
	assert_string_equal(text_at(ranks, (size_t)number_at(rank, 4)), "species");
}

static void check_samples(const json_t *samples)
{
	const json_t *s = json_array_get(samples, 0), *values = json_object_get(s, "values");
	const json_t *v = json_object_get(s, "direct");

	assert_int_equal(json_array_size(samples), 2);
	assert_string_equal(json_string_value(json_object_get(s, "name")), "a<b");
	assert_int_equal(json_integer_value(json_object_get(s, "unclassified")), 7);
	assert_int_equal(json_array_size(v), N - 1);
	assert_int_equal(number_at(v, 2), 5);
	assert_int_equal(number_at(v, 4), 2);
	assert_int_equal(json_object_size(values), 2);
	v = json_object_get(values, "2");
	assert_true(json_real_value(json_array_get(v, 0)) == 0.5);
	assert_string_equal(text_at(v, 1), "ye<s");
	v = json_object_get(values, "4");
	assert_true(json_is_null(json_array_get(v, 0)));
	assert_true(json_is_null(json_array_get(v, 1)));
	v = json_object_get(json_array_get(samples, 1), "values");
	assert_int_equal(json_object_size(v), 0);
}

TEST(test_data)
{
	const uint64_t direct[2][N] = { { 1, 0, 5, 0, 0, 2 }, { 0, 3, 0, 0, 0, 0 } };
	const kh_page_value value[][2] = { { { .number = 0.5 }, { .text = "ye<s" } },
					   { { .number = INFINITY }, { .text = NULL } } };
	const kh_page_row row[] = { { 2, value[0] }, { 5, value[1] } };
	const kh_page_column column[] = {
		{ .key = "ani", .label = "ANI", .kind = KH_PAGE_PERCENT, .digits = 1 },
		{ .key = "detected", .label = "Detected", .kind = KH_PAGE_TEXT },
	};
	const kh_page_sample sample[] = {
		{ .name = "a<b", .direct = direct[0], .unclassified = 7, .row = row, .n_rows = 2 },
		{ .name = "b", .direct = direct[1] },
	};
	const kh_page_fact fact = { .label = "Command", .value = "<!--", .code = true };
	kh_buf b = { .n = 0 };
	json_t *root = page_of(&(kh_page) { .unit = "reads", .taxon = taxon, .n_taxa = N,
					    .sample = sample, .n_samples = 2, .column = column,
					    .n_columns = 2, .fact = &fact, .n_facts = 1 }, &b);

	check_taxa(root);
	check_samples(json_object_get(root, "samples"));
	const json_t *f = json_array_get(json_object_get(root, "facts"), 0);
	assert_string_equal(json_string_value(json_object_get(f, "value")), "<!--");
	assert_true(json_is_true(json_object_get(f, "code")));
	json_decref(root);
	free(b.p);
}
/* A run without reads still has the root. */
TEST(test_empty)
{
	const uint64_t direct[N] = { 0 };
	const kh_page_sample sample = { .name = "", .direct = direct };
	kh_buf b = { .n = 0 };
	json_t *root = page_of(&(kh_page) { .title = "T", .unit = "pairs", .taxon = taxon,
					    .n_taxa = N, .sample = &sample, .n_samples = 1 }, &b);
	const json_t *taxid = json_object_get(json_object_get(root, "taxa"), "taxid");

	assert_int_equal(json_array_size(taxid), 1);
	assert_string_equal(json_string_value(json_object_get(root, "title")), "T");
	assert_int_equal(json_array_size(json_object_get(root, "columns")), 0);
	/* the template's own marks are gone, and it is there from end to end */
	assert_null(strstr(b.p, "@CSS@"));
	assert_null(strstr(b.p, "@DATA@"));
	assert_null(strstr(b.p, "@JS@"));
	assert_int_equal(strncmp(b.p, "<!DOCTYPE html>", 15), 0);
	assert_non_null(strstr(b.p, "</html>"));
	json_decref(root);
	free(b.p);
}
