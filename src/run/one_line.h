/*
 * one_line.h - a read as Kraken 2 writes it: its sequence in one line, with x for masked bases
 */
#ifndef KH_RUN_ONE_LINE_H
#define KH_RUN_ONE_LINE_H

#include "base/buf.h"
#include "seqio/feed.h"

/* A header line of n bytes, with or without '>' or '@', that gets " kraken:taxid|N" behind its
 * first word, where it does not become part of a SAM tag, and loses those that it had.  Needs
 * n + 24 bytes; gives the place of the next one. */
char *kh_put_header(char *to, const char *line, size_t n, uint32_t taxid);

/* Record r with such a header, unless taxid is 0; bases of a quality below `quality` are written as
 * x. */
void kh_one_line(kh_buf *b, const kh_block *blk, const kh_record *r, uint32_t taxid,
		 unsigned char quality);

#endif
