/* http.h — inside serve/http/: what the doors share. */
#ifndef SERVE_HTTP_HTTP_H
#define SERVE_HTTP_HTTP_H

#include "serve/feed.h"
#include "serve/serve.h"

/* ---- decide.c: the way of every door to kernel_handle() ---- */

struct tool_question {
	const char *tool; /* also what policies know as the action, unless `action` says otherwise */
	const char *action; /* or NULL */
	const char *session; /* or NULL */
	const char *effect_id; /* the caller's; or NULL */
	const struct json *args, *context; /* or NULL */
	const struct json *draft; /* what a yes is bound to beside them; or NULL */
	const char *door; /* NULL: "api" */
	struct json *about; /* further members of the receipt; or NULL */
	const char *source; /* which route; NULL: "api.evaluate" */
	const char *principal; /* for whom an administrator asks; NULL: the caller */
	const char *budget_id; /* or NULL */
	const struct draw *draws; /* used up with an answer that is no question; or NULL */
	size_t draw_count;
	const char *refused, *why; /* a rule of the door's own that denies it, and its sentence; or NULL */
	enum tool_effects effects;
	enum placement placement; /* left out: UNSANDBOXED */
	const char *as; /* the tool that it is understood as, where its own name says nothing; or NULL */
	const struct json *as_input; /* and what that one is given; NULL: args */
	const struct json *known; /* further facts of the door; or NULL */
	const struct ruleset *policy; /* in the place of the one that the server was started with; or NULL */
	bool is_without_policy; /* that one does not speak about such questions: it is not asked */
	const struct surroundings *where; /* NULL: those of the workspace */
};
/* The policy that the server was started with, as it is for this request; NULL: there is none. */
const struct ruleset *call_policy(const struct call *c);
/* Understood as a tool call (a shell command among its arguments is read), decided by profiles, guard rules and policies, on record.
 * h begins as { .a = c->a }.  503 when it could not be recorded. */
int decide_tool(struct call *c, const struct tool_question *q, struct handling *h, struct err *e);
/* The same for a route that ASKS_ONLY: `then` gives the answer, once it is on record.  h and arg are in c->a. */
typedef void decide_then(struct call *c, const struct handling *h, void *arg);
int decide_tool_then(
	struct call *c, const struct tool_question *q, decide_then *then, void *arg, struct err *e);
/* Its two steps, for who has more to say in between: the question, in c->a; and the answer. */
int decide_prepare(struct call *c, const struct tool_question *q, struct request **ret, struct err *e);
int decide_run(struct call *c, struct request *r, struct handling *h, struct err *e);
/* Who is asked about.  Whoever has a key with the scope admin or service may ask for others; anybody else is who the key says: 403. */
int call_principal(struct call *c, const char *said, const char **ret, struct err *e);
/* points.c: what the other decision points of the installation say about it; NULL: none is asked.  What each said is added to `about`. */
bool points_are_asked(struct server *s); /* others have a say: a decision may wait for them */
const struct pdp_facts *points_ask(struct call *c, const struct request *r, struct json *about);
/* A receipt that is no decision (an outcome, a token, an agreement), on disk when this returns OK.  DRAW_REFUSED as it is; 503 otherwise. */
int call_record(struct call *c, const struct draft *d, struct json **ret_receipt, struct err *e);
/* {allow, verdict, receipt_id, decision_id, decision_hash, reason_code, reason, policy_ref, lamport_clock, approval_id?}. */
struct json *decision_json(struct call *c, const struct handling *h);
/* The caller's context with who they really are in it. */
struct json *call_context(struct call *c, const struct json *said);
/* What a request says beside its context, so that policies see it; nothing when `value` is NULL.  400 where the context says something else under that
 * name. */
int call_context_add(
	struct call *c, struct json *context, const char *name, const struct json *value, struct err *e);

/* mcp.c: servers of tools that nobody has approved, of the caller's tenant. */
int64_t mcp_quarantined(struct call *c);

/* ---- receipts.c: what stands in the chain, on disk, and belongs to the caller's tenant ---- */

struct receipts_filter {
	const char *session, *verdict, *reason_code, *principal, *effect; /* NULL: any */
	int64_t from_us, to_us; /* 0: any */
	const char *tenant; /* what another one asked is nobody else's */
	const char *home; /* whose it is when it names none */
};
/* Everything that is the caller's. */
struct receipts_filter receipts_mine(const struct call *c);
/* Of the query. */
int receipts_read_filter(struct call *c, struct receipts_filter *ret, struct err *e);
bool receipts_is_wanted(const struct receipts_filter *w, const struct json *receipt);
struct receipts_page {
	struct json *list; /* oldest first */
	int64_t last; /* clock of the last one */
	bool is_more;
};
int receipts_page(struct call *c, const struct receipts_filter *w, uint64_t since, int64_t limit,
	struct receipts_page *ret, struct err *e);
/* By its id, the short form of it, or that of its decision.  404 when there is none. */
int receipts_find(struct call *c, const char *id, struct json **ret, struct err *e);
/* The session that its caller named; "" when there is none. */
const char *receipt_session(const struct json *receipt);
/* Signed by this workspace's key, and as it was signed. */
bool receipt_verifies(struct call *c, const struct json *receipt);

/* ---- evidence.c ---- */

/* A signed pack of what was chosen, whole, in memory; one at a time.  A session is bound to the caller's tenant. */
struct evidence_choice;
int evidence_export(struct call *c, struct evidence_choice *choice, struct bytes *ret, struct err *e);

#endif
