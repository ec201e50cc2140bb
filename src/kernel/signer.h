/* signer.h — the keeper of a key for another user: what it signs, and what it refuses (docs/formats/signer.md).
 *
 * It runs as a user of its own, so that whoever runs as the one it signs for cannot read the secret.  They can ask.  So what it signs has
 * to be harmless to sign for anybody who asks: the next receipt of a chain that it has signed from the first receipt on, and never a
 * second one for the same place; the head over exactly those receipts; decision records, which count as part of a receipt.  What only a
 * person may say (a grant, and whatever loosens) it signs when a key says so that a person registered with the signer itself. */
#ifndef KERNEL_SIGNER_H
#define KERNEL_SIGNER_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

struct signer;

/* `home`: the signer's own helm home, with its key; SIGNER_RUNS when another one works there.  Everything is closed by signer_close(). */
int signer_open(struct sys *s, const char *home, struct signer **ret, struct err *e);
void signer_close(struct signer **s); /* for AUTO() */
/* The answer to one question of one user: {signature}, or {error, text} and perhaps {missing: [receipt]}.  What it signs is on disk before this
 * returns.  Never fails: what is not understood is refused. */
struct json *signer_answer(struct signer *g, struct arena *a, uid_t user, struct bytes question);

/* Who answers behind a socket: the above, or the keeper of a log (kernel/log_keeper.h).  Never fails: what is not understood is refused in
 * the answer. */
struct signer_door {
	struct json *(*answer)(void *arg, struct arena *a, uid_t user, struct bytes question);
	void *arg;
};
/* Answer on a socket until *stop is set.  `users` are those who may ask.  Nobody waits for somebody who is silent: each has a
 * connection and a buffer of their own, and those who say nothing for ten seconds are hung up on. */
int signer_serve(const struct signer_door *door, struct sys *s, const char *socket, const uid_t *users,
	size_t user_count, volatile const int *stop, struct err *e);
struct signer_door signer_door_of(struct signer *g);

#endif
