/* evidence_command.h — which commands may show afterwards that work was done: references/evidence_commands.json.
 *
 * A list of beginnings, compared word by word.  The tree brings the file about itself: what nobody accepted counts only where the shipped list
 * agrees.  Nothing here runs anything: what is on the list is decided about and recorded like any run.  docs/formats/completion.md. */
#ifndef REMEMBER_EVIDENCE_COMMAND_H
#define REMEMBER_EVIDENCE_COMMAND_H

#include "base/json.h"

#define EVIDENCE_FILE "references/evidence_commands.json"

struct evidence_rules {
	int64_t max_commands, timeout_seconds, output_chars;
	const struct json *allowed; /* [[word...]...] */
	const struct json *readback; /* the same, for services */
	const struct json *repository; /* [{root, prefixes}] */
	const struct evidence_rules *within; /* must agree as well; or NULL */
};

/* What the file says, and the shipped limits where it says none.  E_INPUT EVIDENCE_COMMANDS. */
int evidence_rules_parse(struct arena *a, struct bytes text, struct evidence_rules *ret, struct err *e);
const struct evidence_rules *evidence_rules_shipped(struct arena *a);
/* Only where both permit it. */
struct evidence_rules evidence_rules_both(
	const struct evidence_rules *own, const struct evidence_rules *within);
/* What `own` permits and `than` does not, as a person reads it; empty: it is as strict. */
struct json *evidence_rules_loosen(
	struct arena *a, const struct evidence_rules *own, const struct evidence_rules *than);

struct evidence_question {
	const struct json *argv; /* [word...] */
	const char *tree, *workspace; /* where it is worked, and what roots of repositories are relative to */
	bool is_readback;
};
/* The beginning that permits it; or NULL, and *ret_why says why not. */
const struct json *evidence_prefix(struct arena *a, const struct evidence_rules *rules,
	const struct evidence_question *q, const char **ret_why);

/* "test", "build", "static_check" or "verification". */
const char *evidence_kind(const struct json *prefix);

#endif
