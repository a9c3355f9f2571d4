/* streams.h - the standard streams and the stack, as whoever started the program left them */
#ifndef KH_CMD_STREAMS_H
#define KH_CMD_STREAMS_H

/* Makes what the program prints safe: descriptors 0 to 2 are open, and what is printed waits if
 * one does not block and has no room.  0, or -1: /dev/null cannot be opened. */
int kh_cmd_streams(void);
/* A stack of KH_STACK bytes at least.  0, or -1: the limit does not allow that. */
enum { KH_STACK = 1 << 20 };
int kh_cmd_stack(void);

#endif
