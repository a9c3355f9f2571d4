/*
 * level.h - how strict calls of unknown species are: kmerhash-method(7)
 */
#ifndef KH_TRANSLATED_LEVEL_H
#define KH_TRANSLATED_LEVEL_H

#include "translated/look_up.h"

/* The level of that name; NULL: there is none. */
const kh_translated_level *kh_translated_level_of(const char *name);
/* The level that is taken if nobody asks for another. */
const kh_translated_level *kh_translated_level_usual(void);

#endif
