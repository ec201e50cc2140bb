/* verify.h — what a document proves, and what it does not.
 *
 * Three questions, never merged:
 *
 *   integrity   is it unchanged since whoever holds the key it names signed it?
 *   trusted     does it verify under a key the caller brought from elsewhere?
 *   complete    is anything missing, where that can be known at all?
 *
 * A document is never trusted on a key it carries.  Each answer starts as "not established" and only a check that was really
 * made changes it, so nothing passes by being absent.  The first failure is named exactly: which record, which member,
 * what was expected, what was found.
 *
 * Verification is pure: no clock, no environment, no network, no randomness.  This folder uses base, model and proof
 * only; it cannot decide, execute or sign. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "base/hash.h"
#include "base/json.h"
#include "base/stream.h"
#include "proof/gap.h"
#include "proof/merkle.h"

#include <stdbool.h>
#include <stdint.h>

enum answer { ANSWER_UNKNOWN, ANSWER_YES, ANSWER_NO };
const char *answer_name(enum answer x); /* "not established", "yes", "no" */

enum { KEY_SIZE = 32, SIGNATURE_SIZE = 64 };

struct trusted_key {
	const char *id; /* routing hint only; "" when unknown */
	uint8_t key[KEY_SIZE];
	const uint8_t *post_quantum; /* the same signer's ML-DSA-65 key (proof/mldsa.h), or NULL */
	/* A record that says it was made outside this window is not trusted: from a trust file, or not_after from a revocation.
	 * NULL: no bound.  A thief of the key can write any time; only an anchored tree head shows that a record was there
	 * before. */
	const char *not_before, *not_after;
	/* From a key history: the number of the link that introduced it; 0: not from one.  Who follows whom is told by this and
	 * by the place in a chain, never by a clock: behind a receipt of one key no receipt of a lower number is trusted. */
	unsigned order;
};

/* What the caller brings. */
struct trust {
	const struct trusted_key *keys;
	size_t key_count;
	bool allow_legacy; /* accept records without a version tag, marked as legacy */
	bool allow_self_attested; /* accept embedded keys, as internal consistency only */
	const char *root,
		*old_root; /* roots from elsewhere, for proofs: hex, or "sha256:" and hex for packs; or NULL */
	const struct json *side_head; /* the head file beside an audit log, or NULL */
	const struct gaps *gaps; /* holes in a chain that are on record elsewhere; or NULL */
	unsigned threads; /* for long chains; 0 or 1: only the caller, at most 64 */
	unsigned
		key_order; /* what is verified continues a chain whose newest key has this order; 0: it begins one */
};

/* 64 hex digits with optional "ed25519:" and surrounding white space. */
bool trust_parse_key(const char *text, uint8_t ret_key[KEY_SIZE]);
/* One more trusted key: hex, or the name of a file that holds it.  A whole trust file (trust.c says which forms). */
int trust_add_key(struct sys *s, struct arena *a, const char *key, struct trust *t, struct err *e);
#define TRUSTED_KEYS "keys.json" /* what 'helm key trust' keeps, in trust/ of the helm home */
int trust_add_file(struct sys *s, struct arena *a, const char *path, struct trust *t, struct err *e);

/* A key history (docs/formats/key-history.md) extends trust: from a key in *t to those that follow or precede it, each for its place
 * in the order.  Refused: a history that does not verify, or that has none of the keys in *t. */
int trust_add_history(struct sys *s, struct arena *a, const char *path, struct trust *t, struct err *e);
int trust_add_history_text(
	struct arena *a, struct bytes text, const char *name, struct trust *t, struct err *e);

/* The receipt with which a chain goes on under another key carries the links of the history in between. */
#define KEY_EFFECT "helm.key/continues"
/* The same from such receipts, in the order of the chain.  What is none, does not verify, or is not tied to a key in *t adds
 * nothing; true when *t has changed. */
bool trust_add_seams(struct arena *a, const struct json *const *receipts, size_t n, struct trust *t);
/* The same from a text with one receipt per line. */
bool trust_add_seam_lines(struct arena *a, struct bytes text, struct trust *t);

enum check_status { CHECK_PASS, CHECK_FAIL, CHECK_NOT_APPLICABLE, CHECK_STATUSES };
struct check {
	const char *name;
	enum check_status status;
	const char *detail; /* "" when there is nothing to say */
};

/* One verification: the question, then the answers. */
struct verification {
	struct arena *a;
	const struct trust *trust;

	const char *kind; /* "receipt", "receipt chain", "decision record", ... */
	enum answer integrity, trusted, complete;
	const char *error; /* stable name of the first failure, or NULL */
	const char *text; /* the same for a person */
	/* The first broken link; NULL where it does not apply. */
	const char *record, *member, *expected, *found;
	const struct trusted_key *signer_key; /* the trusted key that verified, or NULL */
	unsigned key_order; /* of a chain: of its newest key, or what it continues */
	size_t lines_before; /* of a chain: lines of the file that stand before this text */
	const char *signer; /* hex of the key that verified, or NULL */
	bool is_legacy, is_self_attested;
	bool is_no_record, is_damaged;
	struct check *checks;
	size_t check_count, check_cap;
	struct json *values; /* what was recomputed: hashes, preimages */
	struct json *notes; /* sentences: what this does not establish */
};

void verification_begin(struct verification *v, struct arena *a, const struct trust *trust, const char *kind);

enum headline {
	HEADLINE_TAMPERED,
	HEADLINE_UNVERIFIED,
	HEADLINE_ADMISSIBLE,
	HEADLINE_DAMAGED,
	HEADLINE_NO_RECORD,
	HEADLINE_COUNT
};
/* ADMISSIBLE: integrity and trust both established.  TAMPERED: it is a record, and its integrity is refuted.  DAMAGED: it begins
 * like one and ends too early.  NO_RECORD: nothing says that it ever was one.  All else is UNVERIFIED. */
enum headline verification_headline(const struct verification *v);
const char *headline_name(enum headline h);
struct json *verification_json(struct arena *a, const struct verification *v);
/* What was compared with the ledgers beside a chain, as one more check of it: entries that differ refute it. */
void verification_ledgers(struct verification *v, bool ok, const char *detail);

/* Any document: finds out what it is and verifies it.  A text of several lines, each an object, is a chain or journal.
 * `name` is for messages.  Always fills *v.  What cannot be read is TAMPERED or DAMAGED with the parser's words when it begins like
 * a record, and no record otherwise. */
void verify_document(struct verification *v, struct bytes text, const char *name);

/* The kinds, when the caller knows.  All fill *v after verification_begin(). */
void verify_receipt(struct verification *v, const struct json *receipt);
/* The text of one receipt, read strictly. */
void verify_receipt_text(struct verification *v, struct bytes text, const char *name);
/* Receipts in causal order, and permits.  Checks identity, integrity, policy, execution_observation, closure, permit. */
void verify_receipts(struct verification *v, const struct json *receipts, const struct json *permits);
/* One receipt per line.  Links are followed within each session; a decision record carried as `subject` is verified with
 * the receipt that stands for it.  On trust->threads threads. */
void verify_receipt_lines(struct verification *v, struct bytes text, const char *name);
/* The same for an open file of any length, piece by piece (of about so many bytes, which is what it needs of memory), when it holds one
 * chain.  False: it does not; begin again.  *ret_rc: it could not be read. */
enum { VERIFY_PIECE = 8 << 20 };
bool verify_receipt_file(struct verification *v, struct sys *sys, int fd, const char *name,
	size_t piece_bytes, int *ret_rc, struct err *e);
/* One line of such a chain alone: everything but its place.  *ret is the receipt, NULL when it is none. */
bool verify_receipt_line(struct verification *v, struct bytes line, const char *name, struct json **ret,
	struct hash *ret_chain);
void verify_decision(struct verification *v, const struct json *decision);
void verify_intent(struct verification *v, const struct json *intent);
void verify_permit(struct verification *v, const struct json *permit);
/* The permit's signature over another preimage than its own: for showing that it does not verify. */
void verify_permit_over(struct verification *v, const struct json *permit, struct bytes preimage);
void verify_counterfactual(struct verification *v, const struct json *receipt);
void verify_workstation(struct verification *v, const struct json *receipt);
void verify_external_decisions(struct verification *v, const struct json *document);
void verify_host_evidence(struct verification *v, const struct json *document);

void verify_proofgraph(struct verification *v, const struct json *nodes);
/* Union of two replicas by node hash; values.node_hashes_sorted. */
void verify_proofgraph_merge(struct verification *v, const struct json *x, const struct json *y);
/* The Merkle root and checkpoint id of leaves in a window; values.merkle_root, values.checkpoint_id. */
void verify_condensation(
	struct verification *v, const struct json *leaves, int64_t window_start, int64_t window_end);
void verify_condensation_proof(struct verification *v, const struct json *proof);

void verify_tree_head(struct verification *v, const struct json *head);
void verify_tree_heads_agree(struct verification *v, const struct json *x, const struct json *y);
/* Against a root from elsewhere, as hex; NULL: nothing is established. */
void verify_inclusion(struct verification *v, const struct json *proof, const char *trusted_root);
void verify_consistency(struct verification *v, const struct json *proof, const char *trusted_old_root,
	const char *trusted_new_root);

/* Sealed contract records, as documents that hold the records of one ceremony.  `given` is what the caller pins (keys,
 * authorities, the time of the check), under the names of docs/formats/sealed-records.md; NULL: the keys of v->trust only. */
/* The approvers' keys are in the snapshot the document carries: only a caller who has that snapshot from elsewhere may say
 * that it is pinned. */
void verify_approval(struct verification *v, const struct json *doc, bool is_snapshot_pinned);
void verify_consumption(
	struct verification *v, const struct json *consumption, const char *signature, const char *key);
void verify_admission(struct verification *v, const struct json *admission, const struct json *consumption,
	const char *signature, const char *key, const char *at);
/* A statement is {authority, envelope}. */
void verify_release(struct verification *v, const struct json *statement, const struct json *pinned);
bool verify_release_chain(struct verification *v, const struct json *older, const struct json *newer);
void verify_release_current(
	struct verification *v, const struct json *statement, const struct json *later, const char *at);
void verify_effect_close(struct verification *v, const struct json *doc, const struct json *given);
void verify_disposition(struct verification *v, const struct json *doc, const struct json *given);
void verify_spec_approval(struct verification *v, const struct json *doc, const struct json *given);
void verify_boundary_profile(struct verification *v, const struct json *doc, const struct json *given);
void verify_update_bundle(struct verification *v, const struct json *doc, const struct json *given);
void verify_emergency_stop(
	struct verification *v, const struct json *doc, const char *command_key, const struct json *keyring);

/* Launch effect receipts; binding and evidence may be NULL, and are then not established. */
void verify_launch_receipt(struct verification *v, const struct json *receipt, const struct json *binding,
	const struct json *evidence);
/* values.hash, compared with `declared` unless that is NULL. */
void verify_launch_artifact(struct verification *v, const struct json *artifact, const char *declared);
/* Certification or kernel verdict: hash and signature over the record with both members empty. */
void verify_launch_companion(struct verification *v, const struct json *record, const char *hash_member,
	const char *signature_member);

/* An external authorization document: shape, verdict hash, signature.  The first alone: values.layer is "schema". */
void verify_extauthz(struct verification *v, const struct json *document);
bool verify_extauthz_shape(struct verification *v, const struct json *document);

/* One link per line.  trusted: the key in force is tied to a trusted one; values.active, values.keys. */
void verify_key_history(struct verification *v, struct bytes text, const char *name);

/* Journals: `head` is the side file of the audit log, or NULL. */
void verify_audit_log(struct verification *v, const struct json *events, const struct json *head);
void verify_proxy_journal(struct verification *v, struct bytes text);
void verify_audit_trail(struct verification *v, struct bytes text);

/* Evidence packs: a directory, a tar or a tar.gz, in the manifest layout (EvidencePack v1), the native numbered layout or
 * as an export bundle.  Reading fails (and so step "archive" does) on everything base/tar.h refuses, on links, and past the
 * limits of docs/formats/evidence-pack.md; memory stays bounded whatever the pack claims. */
struct pack_file {
	const char *path;
	uint64_t size_bytes;
	struct hash digest;
	struct bytes content; /* when is_kept */
	bool is_kept;
};
struct pack {
	struct pack_file *files; /* sorted by path */
	size_t n, cap;
	struct json *dirs; /* directory entries, as texts */
	const char *form; /* "directory", "tar", "tar.gz" */
	const char *departure; /* why an archive is not in the form this program writes, or NULL */
	uint64_t total_bytes;
	struct pack_lines *lines; /* what was looked into while it was read; or NULL */
};
/* Lines of receipts as they are read: whole lines, the first of them number `line` of the file. */
typedef void pack_line_visit(void *arg, const char *path, uint64_t line, struct bytes text);
struct pack_reading {
	const struct trust *
		trust; /* receipts in files of lines are verified under it, however many; NULL: only those that are kept */
	pack_line_visit *visit; /* or NULL */
	void *arg;
};
/* `how` NULL: nothing is looked into while it is read. */
int verify_pack_open(struct sys *s, struct arena *a, int dirfd, const char *path,
	const struct pack_reading *how, struct pack *ret, struct err *e);
int verify_pack_stream(struct arena *a, struct stream *in, struct pack *ret, struct err *e);
int verify_pack_bytes(struct arena *a, struct bytes archive, struct pack *ret, struct err *e);
const struct pack_file *verify_pack_find(const struct pack *p, const char *path);
/* Receipts in files of lines that are signed by a trusted key. */
int64_t verify_pack_trusted_lines(const struct pack *p, const struct trust *trust);

/* Whatever layout it is.  v->error names the first failing step; every step or check is in v->checks. */
void verify_pack(struct verification *v, const struct pack *p);
/* It has at least one of the files that some layout of packs is told by; this path is such a file, or leads to one. */
bool verify_pack_is_one(const struct pack *p);
bool verify_pack_name(const char *path);
/* Nothing says that this is a record. */
void verify_no_record(struct verification *v);
/* The same for a pack that could not even be read: step "archive". */
void verify_pack_unreadable(struct verification *v, const struct err *why);

/* A pack of a fleet (docs/formats/fleet-pack.md), from the front to its end; v->trust->keys, when there are any, must be in the history of each machine.  `given` says
 * which log, which witnesses and which orders the caller trusts; without a policy nothing is trusted.  By its first 512 bytes it is told from other archives. */
struct tlog_policy;
struct note_key;
struct fleet_trust {
	const struct tlog_policy *policy; /* or NULL */
	const struct note_key *control; /* or NULL: any */
};
void verify_fleet(struct verification *v, struct stream *in, const struct fleet_trust *given);
bool verify_fleet_is_one(struct bytes start);

/* A pack whose manifest says agent_provenance_pack: values.class, values.failed_checks. */
void verify_provenance(struct verification *v, const struct pack *p);

/* One entry shown, the rest withheld: a proof against a root from elsewhere ("sha256:..."; NULL establishes nothing), and
 * the entry's content where the caller has it (NULL: only the line of the manifest is shown). */
void verify_pack_entry(struct verification *v, const struct json *proof, const char *expected_root,
	const char *expected_path, const struct bytes *content);
/* Some values of one document shown, the rest withheld, against the root that was given. */
void verify_redacted_view(struct verification *v, const struct json *view);
/* A selective disclosure under a trusted issuer key; values.claims. */
void verify_sdjwt(struct verification *v, struct bytes presentation);

/* Tapes of a run against their manifest: values.status COMPLETE or DIVERGED, values.issues. */
void verify_tapes(struct verification *v, const struct json *tape_manifest, const struct json *tapes);
/* The same for the tapes of a pack; nothing is established when it has none. */
void verify_pack_tapes(struct verification *v, const struct pack *p);

#endif
