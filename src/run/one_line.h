/*
 * one_line.h - a read as Kraken 2 writes it: its sequence in one line, with x for masked bases
 */
#ifndef KH_RUN_ONE_LINE_H
#define KH_RUN_ONE_LINE_H

#include "base/buf.h"
#include "seqio/feed.h"

/* Record r with " kraken:taxid|N" at the end of its header, unless taxid is 0; bases of a quality
 * below `quality` are written as x. */
void kh_one_line(kh_buf *b, const kh_block *blk, const kh_record *r, uint32_t taxid,
		 unsigned char quality);

#endif
