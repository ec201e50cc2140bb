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

/* A model's answer: {verdict ok|nudge_and_retry|abort|give_up, issues[], nudge, next_attempt, shadow_mode}.  `reply` has content and tool_calls. */
struct json *evidence_reply(struct arena *a, const struct json *reply, bool tool_required, int64_t attempt,
	int64_t max_retries, bool is_shadow);

#endif
