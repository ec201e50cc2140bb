/* doc.h — one JSON document in one file: read it, change it under its lock, replace it whole.
 *
 * For small state that is rewritten, not for ledgers.  A document is described once (struct doc), so that every reader and
 * writer of it agrees about its name, its lock, its size and what it must be.  The rule is the same for all of them: a file
 * that is not there is an empty document; a file that is there and cannot be understood is an error, never an empty one, because
 * whoever writes it back would lose what it held.
 *
 *	AUTO(close_fd) int lock = -1;
 *	struct json *doc;
 *	int rc = doc_lock(s, fd, &THINGS, &lock, e);
 *	if (rc == OK)
 *		rc = doc_load(s, a, fd, &THINGS, &doc, e);
 *	... change *doc ...
 *	return doc_replace(s, a, fd, &THINGS, doc, e);	   closing the lock is the end */
#ifndef BASE_DOC_H
#define BASE_DOC_H

#include "base/json.h"
#include "base/sys.h"

struct doc {
	const char *file, *lock; /* names in the directory; lock NULL: nobody changes it in place */
	enum json_type type; /* JSON_OBJECT or JSON_ARRAY */
	size_t max_bytes; /* 0: 1 MiB */
	mode_t mode; /* of a new file; 0: 0600 */
	unsigned style; /* json_write flags beside JSON_INDENT */
	const char *code; /* of the error when it is not of that type */
	int64_t newest; /* the newest version of it that is read; 0: it has none */
	const char *version; /* the member that says the version; NULL: "version" */
};

enum { DOC_LOCK_MS = 5000 }; /* how long a writer waits for another one */

/* Wait for the lock, at most DOC_LOCK_MS. */
int doc_lock(struct sys *s, int dirfd, const struct doc *d, int *ret_fd, struct err *e);
/* The document, a new empty one when there is no file.  Any other doubt is an error, also a version that is newer than `newest`. */
int doc_load(
	struct sys *s, struct arena *a, int dirfd, const struct doc *d, struct json **ret, struct err *e);
/* On disk when this returns OK; otherwise the file is as it was. */
int doc_replace(struct sys *s, struct arena *a, int dirfd, const struct doc *d, const struct json *doc,
	struct err *e);

#define DOC_NEWER "STATE_NEWER"
/* May a document be read whose `member` says its version: a whole number, or a text that ends in one ("helm-key-history/v1")?  OK when it is
 * `newest`, older, or not there.  E_IO STATE_NEWER when it is newer or no version, as for a file that cannot be read now: nothing is made in its place, because whoever wrote it back would
 * lose what it does not know.  The text names `file`, both versions, and what to do. */
int doc_check_version(
	const struct json *doc, const char *member, int64_t newest, const char *file, struct err *e);
/* The same of a described document; OK where it has no version. */
int doc_check(const struct doc *d, const struct json *doc, struct err *e);
/* Is this that error? */
bool doc_is_newer(const struct err *e);
/* Is it the content that is wrong, so that making the file again helps?  No access, a failing disk, a newer version and too little memory are
 * not. */
bool doc_is_damage(const struct err *e);

/* A JSON file that somebody else describes: file_read() with its flags and errors, then json_parse(). */
int doc_read(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes, unsigned flags,
	struct json **ret, struct err *e);

/* The member `name` of an object, made as an empty object when it is not there. */
struct json *doc_part(struct arena *a, struct json *doc, const char *name);

/* Put `over` into `base`: objects member by member, of everything else what `over` says. */
void doc_lay_over(struct arena *a, struct json *base, const struct json *over);

#endif
