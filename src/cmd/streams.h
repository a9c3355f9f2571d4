/* streams.h - makes the standard streams and the stack fit for use, however the program was
 * started */
#ifndef KH_CMD_STREAMS_H
#define KH_CMD_STREAMS_H

/* Opens those of the descriptors 0 to 2 that are closed, and makes printing wait where a
 * descriptor does not block and has no room. 0, or -1: /dev/null cannot be opened. */
int kh_cmd_streams(void);
/* Makes sure of a stack of at least KH_STACK bytes. 0, or -1: the limit does not allow that. */
enum { KH_STACK = 1 << 20 };
int kh_cmd_stack(void);

#endif
