/* grant.h — what a person was asked, and what a person has granted.
 *
 * A decision asks because of effects: this rule, about this effect, on this operand.  A `cover` is one such reason without the
 * operand's text: receipts say what was granted without repeating what was typed.  A grant lists the covers it answers and how
 * far it reaches; decide/ says whether it answers a question. */
#ifndef MODEL_GRANT_H
#define MODEL_GRANT_H

#include "base/err.h"
#include "base/json.h"
#include "model/decision.h"

#include <stdbool.h>
#include <stdint.h>

struct cover {
	const char *rule;
	bool is_whole; /* about the command as a whole: there is no effect, and nothing below is set */
	enum effect_kind kind;
	const char *tag; /* "" when there is none */
	enum path_class path_class;
	enum certainty certainty;
	unsigned flags; /* enum effect_flags */
	const char *operand; /* SHA-256 over target, what it resolves to, and the directory it is seen from */
};
bool cover_eq(const struct cover *x, const struct cover *y);

/* How far an answer reaches. */
enum reach {
	REACH_EXACT, /* this very input, seen from this directory */
	REACH_SHAPE, /* whatever has the same effects, on operands of the same class */
	REACH_PATH, /* the same effects below one directory */
	REACH_HOST, /* the same effects on one host */
	REACH_COUNT
};
const char *reach_name(enum reach r);

enum { MOST_APPROVERS = 100 };

struct grant {
	const char *id; /* "grant-" and 12 hex digits */
	enum reach reach;
	bool is_once;
	const char *principal, *session; /* whom it answers; NULL: anybody */
	const char *profile; /* never NULL */
	const char *args_sha256, *cwd; /* of REACH_EXACT */
	const char *path, *host; /* of REACH_PATH, REACH_HOST */
	int64_t created_us, expires_us;
	const char *request_id; /* the question it answers; NULL: given without one */
	const char *responder; /* who said so */
	int approvers; /* so many people, by keys of their own; 0: one */
	const char *quorum_sha256; /* digest of what they signed; NULL with one */
	struct cover *covers;
	size_t cover_count;
};

/* The documents of docs/formats/approvals.md.  Reading is strict: what is not understood whole is no grant (E_INPUT GRANT_FORMAT). */
struct json *covers_to_json(struct arena *a, const struct cover *covers, size_t n);
int covers_from_json(
	struct arena *a, const struct json *doc, struct cover **ret, size_t *ret_n, struct err *e);
struct json *grant_to_json(struct arena *a, const struct grant *g);
int grant_from_json(struct arena *a, const struct json *doc, struct grant *ret, struct err *e);

#endif
