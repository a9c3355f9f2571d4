/* nearest.h - the word that somebody may have meant */
#ifndef KH_CMD_NEAREST_H
#define KH_CMD_NEAREST_H

#include <stddef.h>

/* Of n_words the one that the fewest letters make of the n characters at `word`, if these are
 * few; else NULL. */
const char *kh_nearest(const char *word, size_t n, const char *const *words, size_t n_words);

#endif
