/* checking.h — inside audit/: one check of a log, as log_check.c and log_heads.c share it. */
#ifndef AUDIT_CHECKING_H
#define AUDIT_CHECKING_H

#include "audit/finding.h"
#include "audit/parts.h"

/* What a signed head says, here or elsewhere. */
struct claim {
	uint64_t size;
	struct hash root;
	bool is_anchor;
	uint32_t line; /* of heads.jsonl */
	const char *where; /* of an anchor */
	const char *timestamp;
	unsigned key_order; /* of its signer */
	const char *chain; /* what was verified before: of this chain; NULL: a signed head */
	bool is_refuted; /* an anchor that did not fit: judged when all repairs are known */
	struct hash found;
};

/* Sorted by size, so that one index follows the growing tree. */
struct claims {
	struct claim *list;
	size_t n, cap, at; /* at: the next one to look at */
};

/* The stored leaves, a window at a time. */
struct stored_leaves {
	char *step;
	uint64_t n, from, held;
	uint64_t wrong, unreadable;
};

/* How far the log was verified before (log_verified.c). */
struct verified {
	const struct json *doc; /* NULL: not at all */
	size_t first; /* the file of the cut to go on in, */
	off_t at; /* behind so many bytes of it, */
	uint64_t line; /* and so many lines, */
	struct hash digest; /* which had this digest */
	off_t heads_bytes; /* of log/heads.jsonl */
};

struct log_checking {
	struct sys *sys;
	struct arena *a;
	const struct log_cut *cut;
	struct trust trust; /* the caller's, and the gaps that are on record */
	struct json *trusted; /* the caller's, as texts (verified_trust()) */
	const struct log_check_options *options;
	struct log_report *report;
	struct json *findings, *files;
	/* The chain so far. */
	uint64_t n; /* clock of the newest receipt */
	uint64_t receipts; /* that are there */
	uint64_t lost; /* in gaps that are on record */
	uint64_t gap_at; /* the receipt behind the newest of them */
	struct hash last;
	struct merkle tree;
	const char *session;
	struct json *seams; /* of repairs: {"receipt","timestamp"} */
	struct gaps gaps;
	struct json *mended; /* files that repairs have changed: {"file","sha256_before","sha256_after"} */
	bool has_gaps, is_broken; /* is_broken: a hole that is not on record */
	bool has_key_seams; /* that the chain tells of is in `trust` */
	char signer[2 * KEY_SIZE + 1]; /* the key that the newest receipt names */
	const struct trusted_key *signer_key; /* the same in `trust`; NULL: none */
	unsigned key_order; /* of the newest key so far, by what receipts name */
	struct claims claims;
	struct stored_leaves stored;
	uint64_t confirmed; /* size of the largest signed head that fits */
	uint64_t head_lines; /* whole lines of log/heads.jsonl, */
	uint64_t heads_before; /* how many there were when the log was last verified, */
	const char *heads_before_time, *heads_before_chain;
	bool is_last_wrong; /* the newest receipt is not the one that the stored leaf knows */
	bool is_current; /* nobody has written since the moment it was looked at */
	struct verified known;
	bool is_doubted; /* what was verified before is not what is there now */
	const struct log_file *skipped; /* the file before this one was moved away and cannot be read */
	uint64_t archived; /* receipts that were passed so */
	/* The file being read. */
	const char *file, *previous_file, *previous_sha256;
	uint64_t line;
	uint64_t done_bytes, total_bytes;
};

/* One more finding (finding.h).  Returns it, so that a place and members can be named. */
struct json *finding_add(struct log_checking *c, enum finding kind, const char *text);
void finding_member(
	struct log_checking *c, struct json *f, const char *member, const char *expected, const char *found);

/* log_check.c: the key with this hex among the trusted, also when only the chain itself tells of it; or NULL. */
const struct trusted_key *checking_key(struct log_checking *c, const char *hex);

/* log_heads.c.  In this order: anchors before the moment of the check is taken, heads at that moment, each claim when the tree
 * has its size, and at the end those that speak of a longer log. */
void heads_collect_anchors(struct log_checking *c, int state_fd, struct json *shown);
int heads_read(struct log_checking *c, struct err *e);
void heads_check(struct log_checking *c, struct claim *claim);
void heads_conclude(struct log_checking *c);
/* Are there as many as there were? */
void heads_conclude_count(struct log_checking *c);
/* One more, that is not signed but known. */
void heads_add(struct log_checking *c, const struct claim *claim);

/* log_moved.c: what a trusted receipt says of a file that was moved away; NULL: nobody trusted says so. */
const struct json *moved_row(struct log_checking *c, const struct log_file *f);
/* It cannot be read where it is: a notice. */
void moved_note(struct log_checking *c, const struct log_file *f, const struct json *row);
/* Go past such a file; and on behind it, with the first receipt of the next one. */
void moved_pass(struct log_checking *c, const struct log_file *f);
void moved_behind(struct log_checking *c, const struct json *receipt);
/* log_check.c: the stored leaf of receipt number i (from 0); false when there is none that can be read. */
bool stored_leaf(struct log_checking *c, uint64_t i, struct hash *ret);

/* log_verified.c.  A set of trusted keys as texts. */
struct json *verified_trust(struct arena *a, const struct trust *t);
/* Begin behind what was verified before, if that is still what the files of the cut are, from outside; before heads_read(). */
void verified_resume(struct log_checking *c);
/* When everything is read: what was verified before must be a beginning of it; before heads_read(). */
void verified_claim(struct log_checking *c);
/* Anchors that speak of what was verified before must be those that were compared then; behind heads_read(). */
void verified_claims(struct log_checking *c);
/* A sound log: remember it. */
void verified_keep(struct log_checking *c);

#endif
