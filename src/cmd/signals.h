/* signals.h - how signals end the program */
#ifndef KH_CMD_SIGNALS_H
#define KH_CMD_SIGNALS_H

/* Signals from people, batch systems, containers and limits end the program as usual, but
 * temporary files are removed before that. A signal that was ignored when the program started
 * stays ignored, except SIGPIPE: a closed pipe ends the program quietly. */
void kh_cmd_signals(void);

#endif
