/* parts.h — inside authority/: small readers that several gates share. */
#ifndef DECIDE_AUTHORITY_PARTS_H
#define DECIDE_AUTHORITY_PARTS_H

#include "decide/authority/authority.h"

/* The text is an element of the list. */
bool texts_have(const struct json *list, const char *text);
/* The same, whatever the case of ASCII letters. */
bool texts_have_caseless(const struct json *list, const char *text);
/* A member that is a time; false when it is not there or is none. */
bool member_time(const struct json *doc, const char *name, int64_t *ret_us);
/* The same of a document whose schema says that it is there and is one. */
int64_t checked_time(const struct json *doc, const char *name);
/* "sha256:..." or hex over canonical JSON of the document without one member; NULL when it has no canonical form. */
char *hash_without(struct arena *a, const struct json *doc, const char *without);
/* Ed25519 over a message; key and signature in lower-case hex, with or without "ed25519:". */
bool signature_holds(const char *public_key, struct bytes message, const char *signature);
/* A section of the policy in use; NULL when there is none. */
const struct json *section_of(const struct judging *j, const char *name);
/* Who asks: as authenticated, and as claimed only when nobody authenticated them. */
const char *who_asks(const struct judging *j);
/* The key of what is used once: parts with their lengths in front, so that no two things share one. */
const char *once_key(struct judging *j, const char *kind, const char *name);
/* A member for the receipt. */
void bind_text(struct judging *j, struct gate_answer *ret, const char *name, const char *value);

#endif
