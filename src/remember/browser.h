/* browser.h — may a browser be used like this, under this profile?  docs/formats/browser.md.
 *
 * Judges what somebody says they are about to do; what the browser then does is held by walls, egress and policy like everything else. */
#ifndef REMEMBER_BROWSER_H
#define REMEMBER_BROWSER_H

#include "remember/contract.h"

#define BROWSER_ACTIONS "read|navigate|fetch_resource|screenshot|crawl_batch|fillform|interact|submit"
#define BROWSER_CLEANUPS "ok|partial|failed|not_required"

struct browser_request {
	const char *action, *url_pattern, *profile; /* NULL: not said, which is malformed */
	bool needs_login, wants_parallel;
	const char *site_note; /* below the workspace; or NULL: looked for by the host */
};
/* {allow_single_session, block_mutation, require_user_login, require_confirmation, pause_profile, require_cleanup_evidence, allow_parallel, reason,
 * checks {}, max_sessions}.  `rate_limited`: how often the profile was turned away in the last day. */
struct json *browser_verify(
	const struct contract_place *at, const struct browser_request *q, int64_t rate_limited);

#endif
