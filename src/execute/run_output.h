/* run_output.h — inside execute/: what a command prints. */
#ifndef EXECUTE_RUN_OUTPUT_H
#define EXECUTE_RUN_OUTPUT_H

#include "execute/execute.h"

/* Keeps the last RUN_TAIL_BYTES bytes of a stream. */
void run_output_keep(struct run_stream *stream, const char *p, size_t n);
/* False when our own reader has gone, or what it reads takes no more. */
bool run_output_pass(int to, const char *p, size_t n);

#endif
