/* keys.h — the key history when it is damaged: how far it went, and going on without what is lost (docs/formats/key-history.md). */
#ifndef RECORD_KEYS_H
#define RECORD_KEYS_H

#include "record/record.h"

/* How far the history went, and what it said: {version: 1, links, sha256 of the newest line, copy, check}.  A history that keys_end_holds() refuses has lost
 * links, or is an older copy. */
#define KEY_HISTORY_END "history.end"
struct keys_end {
	int64_t links; /* 0: not known */
	const char *sha256;
	const char *copy; /* of all links; nobody believes it but by its signatures */
};
/* False, and 0 links, when there is none that can be believed. */
bool keys_end_read(struct sys *s, struct arena *a, int dirfd, const char *dir, struct keys_end *ret);
/* `history`: all of it; a torn last line is left out. */
int keys_end_write(
	struct sys *s, struct arena *a, int dirfd, const char *dir, struct bytes history, struct err *e);
/* True also when nothing is known. */
bool keys_end_holds(struct arena *a, const struct keys_end *end, struct bytes history);

/* The links between the history and the key in force are lost: the key begins a new line of keys, signed by itself.  Keys before it
 * are no longer followed from it. */
int keys_begin_line(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *reason,
	struct json **ret_link, struct err *e);

#endif
