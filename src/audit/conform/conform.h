/* conform.h — running published answers against what this program says.
 *
 * A directory of cases has a cases.jsonl: one object per line with id, files, expect, basis and sometimes note.  The
 * family is the first part of the id.  A handler reads the case's file through the same functions as `helm verify` and says
 * in `got` what came out; every member of `expect` must be there with the same value.  Handlers hold no answers. */
#ifndef AUDIT_CONFORM_CONFORM_H
#define AUDIT_CONFORM_CONFORM_H

#include "base/json.h"
#include "base/sys.h"

struct conform_case {
	struct arena *a;
	struct sys *sys;
	int dirfd; /* of the directory with cases.jsonl */
	const char *id;
	const char *note; /* "" when there is none */
	const struct json *expect;
	const struct json *files; /* list of names */
	struct bytes text; /* of the first file; empty when there is none */
	const struct json *doc; /* the first file when it is JSON, else NULL */
	struct json *got; /* the handler's answer: an object */
	struct json *also_expect; /* further answers the case file itself states; a handler may add to it */
};

/* Fill c->got.  An error means that the case could not be read, and counts as failed. */
typedef int conform_fn(struct conform_case *c, struct err *e);

/* One row per family; the table is in conform.c. */
struct conform_family {
	const char *name;
	conform_fn *fn;
};

conform_fn conform_canonical_json, conform_ed25519, conform_identifiers; /* base.c */
conform_fn conform_receipt_v5, conform_receipt_chain, conform_receipt_strict, conform_receipt_legacy,
	conform_decision, conform_intent, conform_counterfactual, conform_workstation,
	conform_external_decision, conform_host_evidence, conform_hybrid, conform_launch, conform_extauthz,
	conform_provenance; /* records.c */
conform_fn conform_proofgraph, conform_condensation, conform_translog, conform_journals; /* logs.c */
conform_fn conform_sealed; /* sealed.c */

conform_fn conform_evidence_pack, conform_native_pack, conform_inclusion_proof, conform_sdjwt,
	conform_replay; /* packs.c */

/* result "accept" or "reject". */
void conform_result(struct conform_case *c, bool accepted);

enum conform_outcome {
	CONFORM_PASSED,
	CONFORM_FAILED,
	CONFORM_NOT_SUPPORTED,
	CONFORM_UNSCORED,
	CONFORM_OUTCOMES
};

/* Counts over all cases and per family, and the failures in full. */
struct conform_tally {
	struct arena *a;
	struct json *families; /* rows, in order of first appearance */
	struct json *failures;
	struct json *left_out; /* what is not supported, with the reason: {id, reason} */
	struct json *
		edition; /* of the published vectors that were run: {version, vectors, sha256, is_published}; or NULL */
	int64_t counts[CONFORM_OUTCOMES];
};
void conform_tally_begin(struct conform_tally *t, struct arena *a);
/* What a failed case expected and got is copied. */
void conform_count(struct conform_tally *t, const char *family, enum conform_outcome o, const char *id,
	const struct json *expected, const struct json *got);
struct json *conform_report(const struct conform_tally *t, const char *dir);

/* A suite: cases in the layout that their publisher gave them, and a runner of its own.  Names of files are relative to the folder
 * that is given; what is not there is left out and named in `absent`. */
struct conform_place {
	struct sys *sys;
	int dirfd;
	struct json *absent; /* list of names */
};
typedef int conform_suite_fn(struct conform_place *p, struct conform_tally *t, struct err *e);
conform_suite_fn conform_language; /* language.c */
conform_suite_fn conform_dsl; /* dsl.c */
conform_suite_fn conform_v1, conform_mutations; /* decisions.c */
conform_suite_fn conform_owasp, conform_negative, conform_adversarial; /* boundary.c */
conform_suite_fn conform_bundles, conform_stacks; /* bundles.c */
conform_suite_fn conform_policy_packs, conform_reference_packs; /* policy_files.c */
conform_suite_fn conform_envelope, conform_lifecycle; /* envelope.c */
conform_suite_fn conform_workstation_suite, conform_denial_legibility; /* workstation.c */
conform_suite_fn conform_egress, conform_capability, conform_mcp, conform_managed_agents; /* authority.c */
conform_suite_fn conform_shell; /* shell.c */
/* Counted as not supported; the report says why. */
void conform_leave(struct conform_tally *t, const char *family, const char *id, const char *why);
/* Passed when both are equal; a text is compared with an expected text. */
void conform_answer(struct conform_tally *t, const char *family, const char *id, const struct json *expected,
	const struct json *got);
void conform_text(struct conform_tally *t, const char *family, const char *id, const struct json *expected,
	const char *got);
/* The same as conform_read(), parsed; *ret is NULL when it is not there. */
int conform_document(
	struct conform_place *p, struct arena *a, const char *name, struct json **ret, struct err *e);
/* A document that the program itself carries (share/conform/): what a case is about where its publisher only names it. */
struct json *conform_shipped(struct arena *a, const char *name);
/* The names in a folder of cases; none when it is not there. */
int conform_names(
	struct conform_place *p, struct arena *a, const char *dir, char ***ret, size_t *ret_n, struct err *e);
/* A file of cases; *ret is empty when it is not there. */
int conform_read(
	struct conform_place *p, struct arena *a, const char *name, struct bytes *ret, struct err *e);

#endif
