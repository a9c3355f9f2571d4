/* clash.h - no output of a command may be one of its inputs, or another output */
#ifndef KH_CLASH_H
#define KH_CLASH_H

#include <stddef.h>
#include "msg.h"

typedef struct kh_paths {
	const char *const *v;           /* NULL among outputs: not wanted */
	size_t n;
} kh_paths;

/* Which of these will be the same file; "-" is standard output.  What is there is known by device
 * and inode, what is not by its folder and name.  Devices and pipes take what several write. */
int kh_clash_outputs(kh_paths out, kh_err *err);
/* `what`: "an input", for the message. */
int kh_clash_inputs(kh_paths out, kh_paths in, const char *what, kh_err *err);

#endif
