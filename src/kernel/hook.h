/* hook.h — the calls of an agent client, before and after they are made. */
#ifndef KERNEL_HOOK_H
#define KERNEL_HOOK_H

#include "clients/clients.h"
#include "kernel/kernel.h"

struct hook_answer {
	enum verdict verdict;
	bool is_quiet; /* nothing but reading: not on record */
	const char *code; /* reason code; "" when allowed */
	const char *text; /* for the model: what was understood, why not, what to do instead */
	const char *short_text; /* for the person, one sentence */
	const char *receipt_id; /* or NULL */
	const char
		*contained; /* what the client is to run instead, so that it runs inside the walls; or NULL */
	/* The call is permitted by a person and needs more than the walls of its session give: it is carried out once, outside of them, under
	 * this profile.  NULL: the client does it itself. */
	const char *outside_profile;
	struct json *outside_terms; /* what the person's answer is about */
	bool is_asked_elsewhere; /* a question that the client must not answer */
	const char *decision_id; /* or NULL: nothing is on record */
	const char *cwd; /* where it was judged to run; or NULL */
	const char *instead; /* what the client is to run in its place; set by the supervisor; or NULL */
};

/* One call before it is made.  What only reads passes with a note in tool-calls.jsonl; everything else is
 * decided and signed before the answer is known.  `can_ask`: the client can put a question to a person.  An
 * error means that it must be blocked. */
int hook_before(struct kernel *k, struct arena *a, const char *client, bool can_ask,
	const struct tool_call *call, struct hook_answer *ret, struct err *e);

/* What would be decided about it now, made in the directory that the call names or that we stand in: h->verdict, and h->asked, what policies are asked.  `policy`: one that is
 * tried beside those in use; or NULL.  `more`: facts beside those that the door knows; or NULL.  Nothing is written. */
int hook_foresee(struct kernel *k, const char *client, bool can_ask, const struct tool_call *call,
	const struct ruleset *policy, const struct json *more, struct handling *h, struct err *e);
/* Would this call pass as one that only looks, now?  Nothing is written. */
bool hook_only_looks(struct kernel *k, struct arena *a, const char *client, const struct tool_call *call);

/* What became of it: an outcome receipt bound to the decision of the same call.  *ret_text: which wall refused it, for the model; or NULL. */
int hook_after(struct kernel *k, struct arena *a, const char *client, const struct tool_call *call,
	const char **ret_text, struct err *e);

/* ---- what the client is told (hook_words.c) ---- */

struct hook_said {
	int exit_code;
	struct bytes out, err; /* for its standard output and error */
};
void hook_say_before(struct arena *a, const struct client *c, const struct tool_call *call,
	const struct hook_answer *answer, struct hook_said *ret);
void hook_say_after(struct arena *a, const struct client *c, const char *text, struct hook_said *ret);
/* It could not be decided on record, or not in time: a block, in the client's words.  `c` NULL: nobody knows in whose. */
void hook_say_failure(struct arena *a, const struct client *c, const struct err *e, struct hook_said *ret);
void hook_say_late(struct arena *a, const struct client *c, struct hook_said *ret);

#endif
