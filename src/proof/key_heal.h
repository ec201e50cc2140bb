/* key_heal.h — files of a key that are damaged, where it is known from elsewhere which key it must be. */
#ifndef PROOF_KEY_HEAL_H
#define PROOF_KEY_HEAL_H

#include "proof/key.h"

/* The secret alone, whatever its .pub says. */
int key_load_secret(
	struct sys *s, int dirfd, const char *dir, const char *name, struct key **ret, struct err *e);
/* Make NAME.pub again from the key.  What is in its place is replaced, also an empty directory. */
int key_write_public(
	struct sys *s, int dirfd, const char *dir, const char *name, const struct key *k, struct err *e);
/* A secret of which one digit was changed, known by its public key: the file is made right.  E_CORRUPT KEY_FORMAT when that is not it. */
int key_mend(struct sys *s, int dirfd, const char *dir, const char *name, const uint8_t pub[SIGN_PUBLIC],
	struct err *e);

#endif
