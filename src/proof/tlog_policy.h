/* tlog_policy.h — whose signatures make a checkpoint count (docs/formats/fleet-notes.md, c2sp.org/tlog-policy).
 *
 * Logs and witnesses by their keys, groups of witnesses, and the one that has to have cosigned. */
#ifndef PROOF_TLOG_POLICY_H
#define PROOF_TLOG_POLICY_H

#include "proof/note.h"

enum { TLOG_POLICY_LIMIT = 64 << 10, TLOG_POLICY_MOST = 64 }; /* bytes; logs, witnesses and groups, of each */

struct tlog_party {
	struct note_key key;
	const char *name; /* of a witness, in this policy; NULL for a log */
	const char *url; /* or NULL */
};
struct tlog_group {
	const char *name;
	size_t needed; /* of the members */
	size_t *members, n; /* below witness_count: a witness; from there on: a group */
};
struct tlog_policy {
	struct tlog_party *logs, *witnesses;
	struct tlog_group *groups;
	size_t log_count, witness_count, group_count;
	size_t quorum; /* counted as members are; TLOG_NO_QUORUM */
};
#define TLOG_NO_QUORUM SIZE_MAX /* nobody needs to have cosigned */

/* TLOG_POLICY, with the line that is wrong. */
int tlog_policy_parse(
	struct arena *a, struct bytes text, const char *where, struct tlog_policy *ret, struct err *e);
/* One log, and each of these witnesses has to have cosigned. */
struct tlog_policy tlog_policy_of(
	struct arena *a, const struct note_key *log, const struct note_key *witnesses, size_t n);

/* Is the quorum there when these cosigned?  One for each witness. */
bool tlog_policy_met(const struct tlog_policy *p, const bool *has_cosigned);

/* What a checkpoint says that counts under a policy. */
struct tlog_seen {
	struct tlog_head head;
	const struct tlog_party *log; /* that signed it */
	size_t cosigned; /* how many witnesses did */
	uint64_t first_time, last_time; /* of their cosignatures; 0 when there are none */
	struct bytes note;
};
/* OK only when the log that the checkpoint is of signed it and the quorum cosigned: NOTE_*, TLOG_HEAD, TLOG_EXTENSION, TLOG_LOG when it is
 * of no log of the policy, TLOG_QUORUM. */
int tlog_policy_check(struct arena *a, const struct tlog_policy *p, struct bytes checkpoint,
	const char *where, struct tlog_seen *ret, struct err *e);

#endif
