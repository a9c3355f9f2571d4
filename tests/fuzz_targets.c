/*
 * fuzz_targets.c - any bytes as ids and as tables of taxids
 *
 * The first line is a list of wanted ids with blanks between, and is read for header
 * tags; the rest are tables with a form feed between.  Each is parsed twice, in reads
 * of all lengths: the same must come out, and what comes out must stand in the text.
 */
#include <config.h>
#include "fuzz.h"
#include "given.h"
#include "taxonomy/seqid.h"

static size_t want(kh_idmap *m, const char *p, const char *end)
{
	size_t n = 0;
	kh_err err;

	while (p < end) {
		const char *stop = memchr(p, ' ', (size_t)(end - p));
		int rc;
		stop = stop ? stop : end;
		rc = kh_idmap_want(m, p, (size_t)(stop - p), &err);
		REQUIRE(rc == 0 || rc == 1);
		n += (size_t)rc;
		REQUIRE(kh_idmap_want(m, p, (size_t)(stop - p), &err) == 0);
		p = stop + (stop < end);
	}
	return n;
}

static int parse(kh_idmap *m, const char *p, const char *end, size_t step, kh_err *err)
{
	int rc = KH_OK;

	for (int file = 0; p < end && !rc; file++) {
		const char *form_feed = memchr(p, '\f', (size_t)(end - p));
		const char *stop = form_feed ? form_feed : end;
		given r = { p, (size_t)(stop - p), step, step > 0, 0 };
		kh_tsv tsv;

		kh_tsv_init(&tsv, "table", give, &r);
		rc = kh_idmap_parse(m, &tsv, err);
		kh_tsv_clear(&tsv);
		p = stop + (stop < end);
	}
	return rc;
}

/* Is the number in the text?  Leading zeros are. */
static int stands(uint32_t taxid, const char *p, const char *end)
{
	char text[16];
	int n = snprintf(text, sizeof text, "%u", (unsigned)taxid);

	return memmem(p, (size_t)(end - p), text, (size_t)n) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *end = p + size;
	const char *nl = size ? memchr(p, '\n', size) : NULL, *line = nl ? nl : end;
	kh_err err[2] = { { 0 } };
	kh_idmap *m[2];
	size_t n = 0;
	int rc[2];

	uint32_t taxid = kh_header_taxid(p, (size_t)(line - p));
	if (taxid)
		REQUIRE(stands(taxid, p, line));
	for (int i = 0; i < 2; i++) {
		REQUIRE(!kh_idmap_new(&m[i], &err[i]));
		n = want(m[i], p, line);
		rc[i] = nl ? parse(m[i], nl + 1, end, (size_t)i, &err[i]) : KH_OK;
	}
	REQUIRE(rc[0] == rc[1] && (rc[0] == KH_OK || rc[0] == KH_EFORMAT));
	REQUIRE(!strcmp(err[0].msg, err[1].msg) && !rc[0] == !err[0].msg[0]);
	for (size_t i = 0; i <= n && !rc[0]; i++) {
		taxid = kh_idmap_taxid(m[0], i);
		REQUIRE(taxid == kh_idmap_taxid(m[1], i) && (i < n || !taxid));
		if (taxid)
			REQUIRE(stands(taxid, line, end));
	}
	for (int i = 0; i < 2; i++)
		kh_idmap_free(m[i]);
	return 0;
}
