/* chain_key.h — whose key does a record go on under? */
#ifndef KERNEL_CHAIN_KEY_H
#define KERNEL_CHAIN_KEY_H

#include "kernel/workspace.h"

struct key;

/* Is the key of this name (64 hex digits) one of this helm home: `key`, or one that it follows? */
bool chain_key_is_own(
	struct sys *s, struct arena *a, const char *helm_home, const struct key *key, const char *hex);
/* Did an operator say that this key of somebody else, or one of theirs that is lost, counts? */
bool chain_key_is_trusted(struct sys *s, struct arena *a, const char *helm_home, const char *hex);

/* May a writer with this key go on with the record of the workspace?  E_INPUT KEY_FOREIGN, with the remedy, when the newest receipt is
 * signed by a key that is neither: the record could not be verified as a whole any more, by anybody. */
int chain_key_check(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct key *key, struct err *e);
/* What to do about it, for doctor. */
const char *chain_key_remedy(struct sys *s, struct arena *a, const struct workspace *ws, const char *hex);

#endif
