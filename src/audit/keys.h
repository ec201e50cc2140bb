/* keys.h — are the files of keys/ and trust/ what was written to them, and what can be brought back. */
#ifndef AUDIT_KEYS_H
#define AUDIT_KEYS_H

#include "audit/audit.h"

/* An empty report, for whoever asks about nothing but keys. */
struct log_report audit_report_new(struct arena *a);

/* keys/history.jsonl made whole again: from what is left of it, from the seams of a chain, from a copy, and where one byte was changed by
 * the digest that the next link has of it; a root.key with one wrong digit by its public key.  Nothing is believed that its signatures
 * do not prove.  What was damaged stays beside it as NAME.damaged-TIME. */
struct keys_repair {
	int state_fd; /* of a workspace, whose chain is read; -1: none */
	struct bytes copy; /* of the history; or { 0 } */
	bool apply; /* false: only say */
	bool accept_loss; /* go on without links that cannot be brought back: the key in force begins a new line */
};
struct keys_repaired {
	bool is_sound; /* before: nothing to do */
	bool is_whole; /* everything can be brought back, or was */
	bool has_new_line; /* with accept_loss */
	int64_t links, mended, brought; /* in all; by their digest; from elsewhere */
	const char *aside; /* or NULL */
	const char *text; /* what is missing, for a person; NULL: nothing */
};
int audit_keys_repair(struct sys *s, struct arena *a, const char *keys_dir, const struct keys_repair *how,
	struct keys_repaired *ret, struct err *e);

#endif
