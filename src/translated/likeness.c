/* likeness.c - amino acids of a mate beside those of the text where it lies */
#include <config.h>
#include "translated/likeness.h"

#include "kmer/residues.h"

/* Of a codon whose first base is lowest. */
static char residue(uint64_t codon)
{
	return kh_residue((codon & 3) << 4 | (codon & 12) | (codon >> 4 & 3));
}

void kh_likeness_add(kh_likeness *l, const kh_translated *t, const kh_translated_place *p,
		     const kh_read_frame *f)
{
	const bool down = f->strand != p->strand;
	const uint32_t from = down ? f->len - p->to : p->from;
	const uint32_t to = down ? f->len - p->from : p->to;

	for (uint32_t i = f->pos % 3; i + 3 <= to; i += 3) {
		const int64_t at = p->at + (int64_t)(down ? f->len - 3 - i : i);
		uint64_t text;

		if (i < from || (kh_bases_at(f->read->unknown, i) & 63) != 0)
			continue;
		text = kh_text_bases(t->text, (uint64_t)at) & 63;
		if (down)
			text = kh_kmer_rc(text, 3);
		l->codons++;
		l->same += residue(kh_bases_at(f->read->base, i) & 63) == residue(text);
	}
}
