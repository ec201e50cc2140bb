/* bundle.h — files that people write become policy documents (docs/formats/policy-document.md).
 *
 * Pure: bytes in, a document or a list of problems out.  No file is opened here; a policy that names another file gets its bytes from the
 * caller.  Nothing is understood half: an unknown member, kind, version, operator or code is a problem with file, line, column, the word that
 * stands there and what to write instead.  Expressions are compiled while reading, so that a broken one stops the load and not the first request. */
#ifndef DECIDE_BUNDLE_BUNDLE_H
#define DECIDE_BUNDLE_BUNDLE_H

#include "base/json.h"
#include "base/mem.h"
#include "proof/sign.h"

#include <stdbool.h>
#include <stdint.h>

enum { POLICY_MAX_BYTES = 8 << 20 };

/* What kind of file it is.  The names are those of `--as` and of --json. */
#define POLICY_SHAPES(X) \
	X(DETECT, "detect") \
	X(DOCUMENT, "policy") /* helm.policy.v1, in YAML or JSON */ \
	X(BUNDLE, "bundle") /* bundle v1 */ \
	X(PACKS, "packs") /* jurisdiction, industry, business */ \
	X(SERVE, "serve") /* TOML that names a reference pack */ \
	X(ACTIONS, "actions") /* a reference pack with runtime actions */ \
	X(MAPPING, "mapping") /* a compliance reference pack */ \
	X(LAYERS, "layers") \
	X(REQUIREMENTS, "requirements") \
	X(LAUNCH, "launch") /* TOML of an app, a substrate or skills */ \
	X(GRAPH, "graph") /* rules over nodes, edges and flows */ \
	X(LINT, "lint") /* three older shapes: only `policy import` reads them */ \
	X(MANAGED, "managed") \
	X(LOADER, "loader")

enum policy_shape {
#define POLICY_SHAPE_ENUM(id, name) POLICY_SHAPE_##id,
	POLICY_SHAPES(POLICY_SHAPE_ENUM)
#undef POLICY_SHAPE_ENUM
		POLICY_SHAPE_COUNT
};
const char *policy_shape_name(enum policy_shape s);
/* POLICY_SHAPE_COUNT when there is none of that name. */
enum policy_shape policy_shape_find(const char *name);

enum policy_severity { POLICY_ERROR, POLICY_WARNING, POLICY_NOTE, POLICY_SEVERITIES };

struct policy_problem {
	enum policy_severity severity;
	const char *code; /* BUNDLE_INVALID, RULE_INVALID, POLICY_MEMBER, ... */
	const char *file;
	uint32_t line, column; /* from 1; columns count characters; 0: about the file as a whole */
	const char *rule; /* id; or NULL */
	const char *word; /* what stands there, harmless for a terminal; or "" */
	const char *text; /* what is wrong */
	const char *fix; /* what to write instead */
};

struct policy_problems {
	struct policy_problem *items;
	size_t n, room;
	size_t errors, warnings;
	size_t left_out; /* so many more were found and are not kept */
};
const char *policy_severity_name(enum policy_severity s);
/* "file:line:column: text, at 'word'; fix". */
char *policy_problem_line(struct arena *a, const struct policy_problem *p);
/* {code, severity, file, line, column, rule, word, text, fix} each. */
struct json *policy_problems_json(struct arena *a, const struct policy_problems *p);

/* Bytes of a file that a policy names, relative to its own directory and never outside it. */
typedef int policy_fetch(void *ctx, const char *name, struct bytes *ret, struct err *e);

struct policy_input {
	struct bytes text;
	const char *name; /* for messages; its last part stands in origins */
	enum policy_shape shape; /* DETECT, or what the caller says it is */
	bool as_policy; /* a compliance pack is compiled into rules instead of a mapping */
	bool is_import; /* the three older shapes are read, too */
	const struct json *
		known_variables; /* list of names that this installation supplies; for --as policy; or NULL */
	policy_fetch *fetch; /* NULL: nothing else can be read */
	void *fetch_ctx;
};

struct policy_reading {
	enum policy_shape shape;
	struct bytes text; /* of the file, and its name, as they were given */
	const char *file;
	struct json *document; /* helm.policy.v1; NULL when there is an error */
	struct json *source; /* the tree as it was written; NULL when it is no tree */
	struct policy_problems problems;
	const char *name, *version; /* or "" */
	const char *content_hash; /* by the rule of the shape (hex), or NULL */
	struct json *
		report; /* what the shape declares beside rules (declared without rule, controls, unsupplied variables); or NULL */
};

/* OK when there is a document.  E_INPUT otherwise: *e is the first error, problems has all. E_LIMIT for what is too large.  *ret is filled either way. */
int policy_document_read(
	struct arena *a, const struct policy_input *in, struct policy_reading *ret, struct err *e);

/* What ruleset_compile() said against the document, with its place in the file: one problem more, and *e says the same. */
int policy_compile_error(struct arena *a, struct policy_reading *from, struct err *e);

/* ---- tests beside a policy ---- */

struct policy_tests {
	const char *policy; /* the file that they test, as written; or NULL */
	struct json *tests; /* [{name, request, facts, expect, origin}]; facts are complete */
	struct policy_problems problems;
};
/* As policy_document_read(): E_INPUT with the first error, and problems has all. */
int policy_tests_read(
	struct arena *a, struct bytes text, const char *name, struct policy_tests *ret, struct err *e);

/* ---- bundle v1 ---- */

/* "BLOCK", "ALLOW", "ESCALATE" in any case into a verdict of a document; NULL for anything else. */
const char *bundle_verdict(const char *word);

/* Several bundles as one.  `bundles` are their trees (policy_reading.source).  Rules are deduplicated by id and sorted by it.  Rules of one id with different
 * verdicts are conflicts: {rule, verdicts}.  With is_first_wins the first bundle decides (as the format says); otherwise the strictest verdict does. */
struct bundle_composed {
	struct json *rules; /* as written, sorted */
	struct json *conflicts;
	const char *hash;
};
void bundle_compose(struct arena *a, const struct json *const *bundles, size_t n, bool is_first_wins,
	struct bundle_composed *ret);

/* ---- layers ---- */

/* The stack validator.  {verdict, hash, conflicts, layers} as specified, and `findings`: what else would widen or confuse. */
struct json *stack_validate(struct arena *a, const struct json *layers);
/* The compiled form's hash, or NULL and *e when a layer or rule is not complete. */
const char *stack_compiled_hash(struct arena *a, const struct json *layers, struct err *e);
/* Could one action be meant by both patterns? */
bool action_overlap(const char *x, const char *y);
/* Does the first cover everything that the second means? */
bool action_covers(const char *pattern, const char *other);

/* ---- requirement graph ---- */

/* The text form of the specification, and canonical JSON.  Hex and "sha256:" as specified. */
const char *requirement_set_hash(struct arena *a, const struct json *set);
const char *requirement_graph_hash(struct arena *a, const struct json *graph);

/* ---- lint ---- */

/* What a document says that is most likely not meant.  Appends to `problems`. */
void policy_lint(
	struct arena *a, const struct json *document, const char *file, struct policy_problems *problems);

/* Does every rule have a chance to speak?  E_INPUT with the code of the first that has none, its place, its id and what to do; for who puts a policy in use. */
int policy_speaks(struct arena *a, const struct json *document, const char *file, struct err *e);
/* What it rests on that somebody must state (ruleset_absences()), as far as policy_lint() has not said it. */
void policy_lint_absences(
	struct arena *a, const struct json *absences, const char *file, struct policy_problems *problems);

/* ---- layout ---- */

/* An accepted text in its one layout; comments stay, and formatting that again gives the same bytes.  Untouched when another layout would mean something else. */
struct bytes policy_format(
	struct arena *a, struct bytes text, enum policy_shape shape, const struct json *source);

/* ---- trust ---- */

/* What is signed: "HELM/PolicyBundle/v1\n" and the canonical JSON of the whole document without `signature`. */
struct bytes policy_signed_bytes(struct arena *a, const struct json *document);
/* The same of other documents that are signed so, each kind by a domain of its own. */
#define POLICY_DOMAIN "HELM/PolicyBundle/v1\n"
#define PRICES_DOMAIN "HELM/PriceTable/v1\n"
struct bytes document_signed_bytes(struct arena *a, const char *domain, const struct json *document);
/* Is its signature one of these bytes by the key that it names?  Whether that key counts is another question. */
bool document_is_signed(struct arena *a, const char *domain, const struct json *document);
/* Put {key, signature} of a signer into a copy of the document. */
struct json *policy_signed(struct arena *a, const struct json *document, const uint8_t pub[SIGN_PUBLIC],
	const uint8_t sig[SIGN_SIZE]);

struct policy_trust {
	const char *const *keys; /* trust roots: "ed25519:hex" */
	size_t key_count;
	const struct json *revoked; /* list of content hashes; or NULL */
	bool must_be_signed;
	uint64_t least_epoch; /* of the policy that is in use: nothing smaller replaces it */
	int64_t verified_us, now_us,
		fresh_us; /* when it was verified last and how long that holds; fresh_us 0: for ever */
};
/* OK, or E_INPUT/E_DENIED with code POLICY_SIGNATURE_INVALID, POLICY_HASH_MISMATCH, POLICY_REVOKED, POLICY_EPOCH_CHANGED or POLICY_NOT_READY (not fresh).
 * Revocation is looked up first, by `content_hash` and by the digest of the document. */
int policy_trust_check(struct arena *a, const struct json *document, const char *content_hash,
	const struct policy_trust *t, struct err *e);

#endif
