/* sealed.h — a document of operators that is known by its digest: a changed byte, an older copy and a removed file are found.
 *
 * Such a document decides who may do what, and one changed digit of a key in it is still a well-formed document.  So FILE.seal beside it
 * has the digest of the bytes that were written last:
 *
 *	{ "version": 1, "sha256": [NEW] or [NEW, OLD], "check": ... }
 *
 * A writer first allows both, then replaces the document, then allows only the new one; killed anywhere, one of the two is there and
 * allowed.  A document without a seal was written by an older version, and is read as it is; the next change seals it.  A seal that
 * cannot be read is an error like a document that cannot: nobody knows then what was written last. */
#ifndef BASE_SEALED_H
#define BASE_SEALED_H

#include "base/doc.h"

#define SEALED_COMMAND "helm operator-file"

/* As doc_read(), and E_CORRUPT with SEAL_CHANGED, SEAL_MISSING or SEAL_READ.  Each error names the file and what helps; `name` is what
 * SEALED_COMMAND calls it. */
int sealed_read(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes,
	const char *name, struct json **ret, struct err *e);
/* As doc_load() and doc_replace(). */
int sealed_load(struct sys *s, struct arena *a, int dirfd, const struct doc *d, const char *name,
	struct json **ret, struct err *e);
int sealed_replace(struct sys *s, struct arena *a, int dirfd, const struct doc *d, const struct json *doc,
	struct err *e);

/* Is there a seal, and is this what was written last?  `doc` as sealed_replace() with this style writes it.  For a document that something
 * else proves, when its file is damaged or gone. */
bool sealed_is(
	struct sys *s, struct arena *a, int dirfd, const char *path, const struct json *doc, unsigned style);

/* An operator has looked: the bytes that are there now are the right ones. */
int sealed_accept(
	struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes, struct err *e);
/* An operator gives it up: document and seal lie as NAME.damaged-TIME beside, and the next reader finds none.  *ret_aside is the document's
 * new name; NULL: there was none. */
int sealed_put_aside(
	struct sys *s, struct arena *a, int dirfd, const char *path, const char **ret_aside, struct err *e);

#endif
