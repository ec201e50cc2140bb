/* ask.h — one question, one answer, over the socket of somebody who keeps a key (docs/formats/signer.md).
 *
 * A length in four bytes, and one JSON document.  Whoever is asked knows us by our user id, and we know them by what they sign. */
#ifndef RECORD_ASK_H
#define RECORD_ASK_H

#include "base/json.h"
#include "base/sys.h"

struct ask_line {
	struct sys *sys;
	const char *socket;
	int fd; /* -1: not connected */
	pid_t owner; /* of fd: a forked child connects for itself */
	struct arena answer; /* the newest one */
};

void ask_open(struct ask_line *l, struct sys *s, const char *socket);
void ask_close(struct ask_line *l); /* for AUTO() */
/* {op, record} as it is sent. */
struct bytes ask_question(struct arena *a, const char *op, const struct json *record);
/* The answer, which lives until the next question.  A connection that was lost is made once again: whoever is asked gives the same answer.
 * False with errno. */
bool ask(struct ask_line *l, struct bytes question, struct json **ret);

#endif
