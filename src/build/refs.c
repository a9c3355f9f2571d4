#include <config.h>
#include "build/refs.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/lineage.h"

size_t kh_refs_front(const kh_sampling *rule)
{
	return (rule->stride + rule->k + 31) / 32 * 32;
}

int kh_refs_init(kh_refs *r, const kh_sampling *rule, kh_err *err)
{
	size_t words = kh_refs_front(rule) / 32;

	*r = (kh_refs) { .sampling = *rule };
	r->carry_bases = kh_array(words, sizeof *r->carry_bases, err);
	r->carry_amb = kh_array(words, sizeof *r->carry_amb, err);
	if (!r->carry_bases || !r->carry_amb)
		return KH_ENOMEM;
	return kh_idmap_new(&r->map, err);
}

void kh_refs_clear(kh_refs *r)
{
	free(r->ref);
	free(r->ids.p);
	free(r->number);
	free(r->last);
	free(r->carry_bases);
	free(r->carry_amb);
	kh_idmap_free(r->map);
	*r = (kh_refs) { .ref = NULL };
}

/* --- packed bases, one at a time: only a few hundred a block, so this need not be fast --- */
static void set_base(uint64_t *bases, uint32_t *amb, uint64_t i, unsigned base, unsigned is_amb)
{
	unsigned sh = (unsigned)(i & 31);

	bases[i >> 5] = (bases[i >> 5] & ~(UINT64_C(3) << 2 * sh)) | (uint64_t)base << 2 * sh;
	amb[i >> 5] = (amb[i >> 5] & ~(UINT32_C(1) << sh)) | (uint32_t)is_amb << sh;
}

static void keep_carry(kh_refs *r, const kh_block *b, uint64_t from, uint64_t to)
{
	r->carry = (uint32_t)(to - from);
	for (uint64_t i = from; i < to; i++)
		set_base(r->carry_bases, r->carry_amb, i - from, kh_packed_base(b->bases, i),
			 kh_packed_amb(b->amb, i));
}

static void put_carry(const kh_refs *r, kh_block *b, uint64_t at)
{
	for (uint32_t i = 0; i < r->carry; i++)
		set_base(b->bases, b->amb, at + i, kh_packed_base(r->carry_bases, i),
			 kh_packed_amb(r->carry_amb, i));
}

/* --- sequences -------------------------------------------------------------------- */
/* May ref i have the id that ref `before` has?  Contigs of assemblies are called alike. */
static bool may_be_again(const kh_refs *r, size_t i, size_t before)
{
	const kh_ref *x = &r->ref[i], *y = &r->ref[before];

	return x->header_taxid && y->header_taxid && (x->file != y->file || r->lineages);
}

int kh_refs_number(kh_refs *r, const char *path, kh_err *err)
{
	const char *id = kh_refs_id(r, r->n_numbered);
	const size_t len = strlen(id), i = r->n_numbered;
	int rc, added;

	if (len == 0)
		return kh_fail(err, KH_EFORMAT, "%s: sequence %zu of the input has no id", path,
			       i + 1);
	rc = KH_GROW(r->number, r->cap_number, i + 1, err);
	if (rc)
		return rc;
	added = kh_idmap_want(r->map, id, len, err);
	if (added < 0)
		return added;
	const size_t number = kh_idmap_number(r->map, id, len);
	if ((rc = KH_GROW(r->last, r->cap_last, number + 1, err)))
		return rc;
	if (!added && !r->allow_duplicates && r->last[number] < r->n_base)
		return kh_fail(err, KH_EFORMAT, "%s: sequence '%.*s' is in %s already: leave it "
			       "out; if it is another one, --set allow-duplicates takes both",
			       path, len > 200 ? 200 : (int)len, id, r->base);
	if (!added && !r->allow_duplicates && !may_be_again(r, i, r->last[number]))
		return kh_fail(err, KH_EFORMAT,
			       "%s: sequence '%.*s' occurs for the second time (sequence %zu of "
			       "the input): leave a copy out; if it is none, --set "
			       "allow-duplicates takes both, as a row for each file in a table "
			       "of --assemblies or --lineage does",
			       path, len > 200 ? 200 : (int)len, id, i + 1);
	r->n_again += !added;
	r->last[number] = i;
	r->number[r->n_numbered++] = number;
	return KH_OK;
}

/* The taxid in the header line, or of its lineage, or else that of the file. */
static uint32_t said_taxid(const kh_refs *r, const kh_block *b, const kh_record *rec)
{
	const char *name = b->text + rec->name;
	uint32_t header = r->no_header_taxid ? 0 : kh_header_taxid(name, rec->name_len);

	if (!header && r->lineages)
		header = kh_lineages_header_taxid(r->lineages, name, rec->name_len);

	return header || !r->file_taxid ? header : r->file_taxid[b->file];
}

static int begin(kh_refs *r, const kh_block *b, const kh_record *rec, const char *path, kh_err *err)
{
	const size_t at = r->ids.n;
	int rc;

	kh_buf_word(&r->ids, b->text + rec->name, rec->id_len);
	if ((rc = kh_buf_check(&r->ids, err)) ||
	    (rc = KH_GROW(r->ref, r->cap, r->n + 1, err)))
		return rc;
	r->ref[r->n++] = (kh_ref) { .id = at,
				    .header_taxid = said_taxid(r, b, rec),
				    .first_bin = r->next_bin <= UINT32_MAX ? (uint32_t)r->next_bin
									   : UINT32_MAX,
				    .file = b->file };
	r->open = true;
	r->done = 0;
	r->carry = 0;
	if (r->begun && (rc = r->begun(r->begun_arg, kh_refs_id(r, r->n - 1), path, err)))
		return rc;
	return r->number_later ? KH_OK : kh_refs_number(r, path, err);
}

/* Appends the next piece of the open sequence: `len` bases from `at`.  Unless the
 * sequence ends with them, whole bins only; the rest is carried. */
static int extend(kh_refs *r, kh_block *b, uint64_t at, uint64_t len, bool last, kh_pieces *out,
		  kh_err *err)
{
	uint64_t starts = kh_sampling_starts(&r->sampling, len);
	uint32_t stride = r->sampling.stride;
	uint64_t local = r->done / stride, bases = len;
	const kh_ref *ref = &r->ref[r->n - 1];

	if (!last) {
		starts -= starts % stride;
		bases = starts;
		keep_carry(r, b, at + bases, at + len);
	}
	r->done += bases;
	if (bases == 0 || (uint64_t)ref->first_bin + r->done / stride >= UINT32_MAX)
		return KH_OK;
	int rc = KH_GROW(out->v, out->cap, out->n + 1, err);
	if (!rc)
		out->v[out->n++] = (kh_piece) { .at = at, .starts = starts, .bases = bases,
			.bin = ref->first_bin + (uint32_t)local, .local = (uint32_t)local,
			.seq = r->n - 1 };
	return rc;
}

static void end(kh_refs *r)
{
	kh_ref *ref = &r->ref[r->n - 1];
	uint64_t bins = (r->done + r->sampling.stride - 1) / r->sampling.stride;

	ref->bases = r->done;
	r->bases += r->done;
	r->next_bin += (bins > 0 ? bins : 1) + 1;       /* zeros are behind them */
	r->open = false;
	r->carry = 0;
}

int kh_refs_add(kh_refs *r, kh_block *b, const char *path, kh_pieces *out, kh_err *err)
{
	const uint64_t front = kh_refs_front(&r->sampling);
	int rc = KH_OK;

	out->n = 0;
	for (size_t i = 0; i < b->n_rec && !rc; i++) {
		const kh_record *rec = &b->rec[i];
		bool last = i + 1 < b->n_rec || b->file_end;
		uint32_t carry = r->carry;

		if (rec->flags & KH_REC_CONTINUES) {
			assert(i == 0 && r->open && rec->seq == front);
			put_carry(r, b, front - carry);
			rc = extend(r, b, front - carry, carry + rec->len, last, out, err);
		} else {
			if (r->open) {          /* it ended with the block before */
				put_carry(r, b, front - carry);
				rc = extend(r, b, front - carry, carry, true, out, err);
				end(r);
			}
			if (!rc)
				rc = begin(r, b, rec, path, err);
			if (!rc)
				rc = extend(r, b, rec->seq, rec->len, last, out, err);
		}
		if (last && r->open)
			end(r);
	}
	if (b->file_end && r->open && !rc) {    /* a last block without records */
		put_carry(r, b, front - r->carry);
		rc = extend(r, b, front - r->carry, r->carry, true, out, err);
		end(r);
	}
	return rc;
}
