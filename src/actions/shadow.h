/* shadow.h — what features that only watch would have done: the shadow report. */
#ifndef ACTIONS_SHADOW_H
#define ACTIONS_SHADOW_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

struct shadow_place {
	struct sys *sys;
	struct arena *a;
	int state_fd;
};
struct shadow_ask {
	int64_t since_us;
	const char *const *features; /* only these; NULL: all */
	size_t feature_count;
	bool advise;
};
bool shadow_is_feature(const char *name);
/* {generated_at, window, data_freshness, features, raw_filter_applied, recommendations?} */
int shadow_report(const struct shadow_place *p, const struct shadow_ask *q, struct json **ret, struct err *e);
/* The same as a page. */
const char *shadow_markdown(struct arena *a, const struct json *report);

#endif
