/* record.h — 4: what was decided and what happened, signed, chained, durable.
 *
 * A workspace has one chain of receipts (docs/formats/receipt.md) in <state>/receipts.jsonl, and a Merkle log over it in
 * <state>/log/.  The receipts are the truth; leaves and the tree's right edge can be rebuilt from them at any time.  Tree heads
 * are signed statements about the log at some size: with one of them, a tail that was cut off or rewritten is found, even
 * when everything else was made consistent again.
 *
 * Whoever is told OK has the record on disk.  Whoever is not has nothing there: an append happens wholly or not at all. */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"
#include "proof/key.h"
#include "proof/merkle.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- the chain ---- */

struct recorder {
	struct sys *sys;
	int state_fd; /* borrowed */
	struct key *key; /* borrowed; NULL: reading only */
	/* What the last append left, so that a long-lived writer need not read it again. */
	off_t known_size;
	ino_t known_inode;
	uint64_t clock;
	char chain_id[40];
	struct hash last;
	struct merkle tree;
	uint64_t heads_at; /* size of the newest signed head */
	uint64_t head_interval; /* sign a head at least every so many receipts */
	uint64_t rotate_bytes;
};

/* Nothing is created until the first append.  `key` may be NULL for readers. */
void recorder_open(struct recorder *ret, struct sys *s, int state_fd, struct key *key);

/* One receipt to be.  NULL texts are written as "" where signed, left out elsewhere. */
struct draft {
	const char *receipt_id; /* NULL: "rcpt_" and decision_id */
	const char *decision_id;
	const char *effect_id;
	const char *status;
	const char *verdict;
	const char *reason_code;
	const char *policy_hash;
	const char *args_hash;
	const char *output_hash;
	const char *executor_id;
	const char *correlation_id;
	const char *type; /* "decision", "outcome", "grant", "freeze", "seam", ... */
	const char *effect_type;
	const char *tool_name;
	struct json *metadata; /* object, or NULL; integers and strings only */
	struct json *subject; /* the decision record a decision receipt stands for; or NULL */
};

/* Sign and append n receipts in one durable write.  ret_receipts, when not NULL, receives them as written, in `a`.
 * Refused: LOG_DAMAGED when the tail does not agree with the log (`helm log check` explains), LOG_KEY without a key. */
int recorder_append(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e);

/* A signed decision record v4 from what was decided; `id` is also the receipt's decision_id. */
struct decision_draft {
	const char *id;
	const char *verdict;
	const char *subject_id; /* who asked: "agent:claude-code", "user:1000" */
	const char *action; /* effect class: "EXECUTE_COMMAND", ... */
	const char *resource; /* what on: tool or program name, or a digest */
	const char *effect_digest;
	const char *policy_content_hash;
	const char *policy_version;
	const char *reason, *reason_code;
	struct json *input_context; /* or NULL */
};
int record_decision(struct arena *a, struct sys *s, struct key *key, const struct decision_draft *d,
	struct json **ret_record, char **ret_content_hash, struct err *e);

/* A fresh identifier: prefix and 32 hex digits. */
int record_new_id(struct arena *a, struct sys *s, const char *prefix, char **ret, struct err *e);

/* Many writers in one process: each call waits until its receipts are on disk, and all that wait at the same time share
 * one write and one sync.  Thread-safe. */
struct recorder_group;
struct recorder_group *recorder_group_new(struct recorder *r);
void recorder_group_free(struct recorder_group *g);
int recorder_group_append(struct recorder_group *g, const struct draft *drafts, size_t n, struct err *e);

/* Visit every receipt in order, from the first segment to the last; the row is valid during the call only.  `line` counts
 * within `file`.  fn returns 0 to go on, > 0 to stop, or a negative rc.  A line that is no receipt is given as NULL. */
typedef int receipt_visit(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e);
int receipts_each(struct sys *s, int state_fd, receipt_visit *fn, void *arg, struct err *e);
/* Names of the files that hold the chain, oldest first. */
int receipts_files(struct sys *s, struct arena *a, int state_fd, char ***ret, size_t *ret_n, struct err *e);

/* ---- the log over it ---- */

/* All leaf hashes as stored in log/leaves. */
int log_leaves(
	struct sys *s, struct arena *a, int state_fd, struct hash **ret, uint64_t *ret_n, struct err *e);
/* Sign the present head and append it to log/heads.jsonl. */
int log_sign_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e);
/* The newest signed head, or NULL. */
int log_last_head(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e);
/* Cut the chain after `good_bytes` of its last file; what is cut is kept beside it, and a signed seam says what was lost. */
struct log_damage {
	off_t good_bytes;
	const char *why;
};
int log_repair(struct recorder *r, struct arena *a, const struct log_damage *damage, struct json **ret_seam,
	struct err *e);

/* ---- ledgers ---- */

#define TASK_LEDGER "task-ledger.jsonl"
#define COMMAND_LOG "command-log.jsonl"

/* Append one row, redacted, keys sorted; on disk when this returns OK.  ret_digest, when not NULL, receives the SHA-256 of the
 * line as written, without its newline. */
int ledger_append(struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e);

/* Every row from byte `from` on, in order.  A missing file has none; a line that is no object is given as NULL.  The row is
 * valid during the call only.  fn returns 0 to go on, > 0 to stop, or a negative rc. */
typedef int row_visit(void *arg, off_t offset, uint64_t line, const struct json *row, struct err *e);
int rows_each(
	struct sys *s, int dirfd, const char *file, off_t from, row_visit *fn, void *arg, struct err *e);

/* The last n well-formed rows (0: all) in file order, in time that does not depend on the file's length. */
int rows_tail(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, struct json **ret,
	struct err *e);

/* ---- evidence that leaves the house ----
 *
 * A signed pack of files, the same bytes for the same content on any machine: nothing of the machine enters it, no clock (the
 * pack is as old as its newest record), no user, no host, no locale.  EvidencePack v1 with a seal over the whole manifest:
 * docs/formats/evidence-pack.md. */

struct pack_item {
	const char *path;
	const char *content_type; /* NULL: by the path */
	struct bytes content;
};

struct pack_about {
	const char *actor_did; /* who the evidence is about */
	const char *intent_id; /* which task, session or span was asked for */
	const char *policy_hash; /* "sha256:..." of the policy in force */
	const char *created_at; /* RFC 3339: the newest thing inside */
};

/* The manifest: entries, hash, Merkle root, signature, seal.  Sorts the items by path.  Refused (E_INPUT): no items
 * (PACK_EMPTY), a path twice or in two cases (PACK_PATH), a path the archive would refuse, a created_at that is no time. */
int pack_manifest_build(struct arena *a, const struct pack_about *about, struct pack_item *items, size_t n,
	const struct key *key, struct json **ret, struct err *e);

struct pack_written {
	struct json *manifest;
	uint64_t size_bytes;
	struct hash digest; /* of the archive */
};
/* Build and write the archive: a reader sees the old file or the whole new one, and after OK it survives a crash. */
int pack_write(struct sys *s, struct arena *a, int dirfd, const char *path, const struct pack_about *about,
	struct pack_item *items, size_t n, const struct key *key, struct pack_written *ret, struct err *e);

#endif
