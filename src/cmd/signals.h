/* signals.h - how signals end the program */
#ifndef KH_CMD_SIGNALS_H
#define KH_CMD_SIGNALS_H

/* Signals that people, batch systems, containers and limits send end the program as they would
 * have done, but temporary files are removed before.  Those that whoever started it has ignored
 * stay ignored, but for SIGPIPE: a closed pipe ends the program quietly. */
void kh_cmd_signals(void);

#endif
