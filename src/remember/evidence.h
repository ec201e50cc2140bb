/* evidence.h — evidence objects: what a file really is, and how far an attempt to fetch something came.  docs/formats/evidence-objects.md. */
#ifndef REMEMBER_EVIDENCE_H
#define REMEMBER_EVIDENCE_H

#include "base/json.h"

/* {path, file_name, extension, size_bytes, claimed_type, detected_type, detected_mime_type, detector, confidence, mismatch, route_decision,
 * parser_family, safe_to_parse, warnings[]} by the first bytes of a file. */
enum { INTAKE_BYTES = 4096 };
struct json *evidence_file(struct arena *a, const char *path, struct bytes first, int64_t size);

/* One attempt. */
struct retrieval {
	const char *stage; /* cheap_fetch, transformed_url, browser_snapshot, browser_network */
	int status; /* of HTTP; 0: none */
	const char *text; /* what came back, or the error; or NULL */
	bool is_unsafe, needs_approval, needs_auth, found_api, used_browser, browser_allowed;
};
/* {attempt_stage, exit_classification, reason, next_attempt_stage, should_stop, browser_allowed} */
struct json *evidence_retrieval(struct arena *a, const struct retrieval *r);

/* Which faults of an answer are asked about again, which end it, and how often. */
struct reply_rules {
	const struct json *nudge_on, *abort_on;
	int64_t max_retries;
};
/* The shipped ones, with what `own` says laid over them; `own` or NULL. */
struct reply_rules evidence_reply_rules(struct arena *a, const struct json *own);
/* A model's answer: {verdict ok|nudge_and_retry|abort|give_up, issues[], nudge, next_attempt, shadow_mode}.  `reply` has content and tool_calls. */
struct json *evidence_reply(struct arena *a, const struct reply_rules *rules, const struct json *reply,
	bool tool_required, int64_t attempt, bool is_shadow);

/* ---- respond.c ---- */

/* A copy of the tools with one named respond, once. */
struct json *respond_inject(struct arena *a, const struct json *tools);
/* Its first message becomes the content, its calls go, others stay.  One that cannot be read: as it was, with _strip_warning. */
struct json *respond_strip(struct arena *a, const struct json *reply);
/* The same; where a tool was required and respond was not called, with _finalize_warning. */
struct json *respond_finalize(struct arena *a, const struct json *reply, bool tool_required);

/* ---- scope.c ---- */

struct scope_question {
	const char *message;
	const char *const *targets;
	size_t target_count;
	const char *attempt, *resource; /* or NULL */
};
/* {message, matches [{scope, verb, language, start, end}], locked_scope, requires_target, targets[], needs_live_source, refusal_reason, attempt?, allowed} */
struct json *scope_evaluate(struct arena *a, const struct scope_question *q);
bool scope_knows(const char *resource);

#endif
