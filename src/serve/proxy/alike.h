/* alike.h — inside serve/proxy/: events of text that differ from the last one in nothing but the text; pure.
 *
 * A long answer is thousands of events that are the same to the byte but for a few words.  The first of them is parsed and found to hold no call; the next ones are compared
 * with it: every byte must be the same, except inside the values of a few members that cannot say anything else ("content", "text", ...), and those must be strings, or
 * whole numbers, as JSON has them.  So what is let through this way has the structure of something that was looked at. */
#ifndef SERVE_PROXY_ALIKE_H
#define SERVE_PROXY_ALIKE_H

#include "serve/proxy/sse.h"

enum { GAPS_MOST = 8, ALIKE_MOST = 4096 };

struct alike {
	char raw[ALIKE_MOST]; /* the last one that was looked at */
	size_t n; /* 0: there is none */
	struct alike_gap {
		uint16_t start, end; /* of what may differ; of a string without its quotes */
		bool is_number;
	} gaps[GAPS_MOST];
	size_t gap_n;
};

/* This event passed, and no call is open. */
void alike_learn(struct alike *x, struct bytes raw);
void alike_forget(struct alike *x);
/* So many bytes at the beginning are whole events that are alike; *ret_n says how many events. */
size_t alike_take(const struct alike *x, struct bytes in, size_t *ret_n);

#endif
