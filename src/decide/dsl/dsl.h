/* dsl.h — the policy language for graph-shaped organisations: rules over nodes, edges, agents and flows.
 *
 * A policy can only restrict.  Its rules are tried in a fixed order for each subject of a change; the first one that holds decides
 * about that subject, and the strictest subject decides about the change.  No rule can say "allow": ALLOW means that this
 * policy has no objection.
 *
 * Everything here is pure: no file, no clock, no allocation but in the arena given, and the same input gives the same bytes.
 * Text, depth, rules, operations, instructions and subjects are bounded, so any input ends soon.  What cannot be judged (a member of another
 * type, a missing member, an exhausted bound) is DENY, never "did not apply".
 *
 * The language is described in docs/formats/policy-dsl.md. */
#ifndef DECIDE_DSL_DSL_H
#define DECIDE_DSL_DSL_H

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	DSL_MAX_BYTES = 1 << 20, /* of one policy text */
	DSL_MAX_SUBJECTS = 256, /* in one request */
	DSL_MAX_REWRITES = 4, /* of one subject */
	DSL_FUEL = 10000 /* instructions for one subject */
};

/* One thing wrong with a policy text, or worth knowing about it. */
struct dsl_problem {
	const char *code; /* "E_TYPE": refused; "W_...": a warning */
	uint32_t line, column; /* from 1; columns count characters */
	const char *word; /* what stands there, made safe for a terminal; "" at the end of the text */
	const char *text; /* what is wrong */
	const char *fix; /* what to write instead */
	bool is_warning;
};

struct dsl_problems {
	struct dsl_problem *items; /* in the order of the text */
	size_t n;
	size_t errors; /* how many are not warnings */
};

struct dsl_policy;

/* Read, check, compile and verify one policy text.  NULL when it has an error: then `ret` says which, at most one per rule, so that a person
 * can mend several at once.  Warnings never prevent compiling. */
const struct dsl_policy *dsl_compile(struct arena *a, struct bytes text, struct dsl_problems *ret);

/* What the text says, without its layout, comments and order, and the digest of that: "sha256:" and hex digits over
 * "HELM/PolicyDSL/v1\n" and the canonical JSON of the document. */
const struct json *dsl_document(const struct dsl_policy *p);
const char *dsl_hash(const struct dsl_policy *p);

/* Judge a request {subjects, delta, snapshot, facts}.  The answer: {verdict, reason_code, code, rule, policy_hash, input_hash, cpi,
 * subjects}; each subject has its steps, what was read, and what its verdict asks for.  Suggested patches are described and never applied.
 * E_INPUT when the request has not that shape; the caller must treat it as DENY. */
int dsl_judge(struct arena *a, const struct dsl_policy *p, const struct json *request, struct json **ret,
	struct err *e);

/* The text of an accepted policy in its one layout, comments kept; formatting that again gives the same bytes. */
struct bytes dsl_format(struct arena *a, struct bytes text);

/* What to tell a person in a language ("en", "de", ...) about one judged subject: the verdict and the reason, from share/messages/.  The
 * engine itself speaks in keys and arguments only.  A language or key that is not there is English; an argument that is not there stays "{name}". */
const char *dsl_explain(struct arena *a, const struct json *subject, const char *language);
/* Whether there are texts in this language; `ret_all` gets the names of all that are there. */
bool dsl_language(struct arena *a, const char *language, const char **ret_all);

#endif
