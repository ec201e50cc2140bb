/* social.h — is a request about what people write in public something that may simply be done?
 *
 * Looking at one post is.  Collecting what somebody wrote, and drawing conclusions about them, needs their consent, a purpose, a scope and an end.
 * The answer comes from the words of the request and from what the caller knows. */
#ifndef PRIVACY_SOCIAL_H
#define PRIVACY_SOCIAL_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>

struct social_request {
	const char *message;
	const char *tool; /* the planned one; or NULL */
	const char *account_type; /* "self", "organization", "other"; NULL: what the message says */
	int64_t max_posts; /* 0: what the message says */
	bool is_data_subject, has_consent;
	const char *purpose, *scope, *retention; /* or NULL */
};

enum { SOCIAL_DEFAULT_POSTS = 20, SOCIAL_MOST_POSTS = 100 };

/* {risk low|medium|high, allowed, needs_clarification, post_limit, signals {name: the text that matched}, missing_requirements {consent, purpose,
 * scope, retention: true}, labels []}.  E_INPUT SOCIAL_MESSAGE when the message is no text, or too long to be one. */
int social_judge(struct arena *a, const struct social_request *q, struct json **ret, struct err *e);

#endif
