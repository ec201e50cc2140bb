/* homes.h — homes are read by allow-list: one answer for runs, contained calls, sessions and servers of the MCP gateway. */
#ifndef KERNEL_TASK_HOMES_H
#define KERNEL_TASK_HOMES_H

#include "base/json.h"
#include "base/sys.h"
#include "execute/execute.h"
#include "model/profile.h"

struct homes_request {
	struct sys *s;
	struct arena *a;
	const char *home; /* of the operator; or NULL */
	const char *helm_home; /* never shown, but for `workspace`; or NULL */
	const char *workspace; /* the run works there, also where it lies in the helm home; or NULL */
	const struct profile *profile; /* whose secrets are shown; NULL: none are */
	const struct sandbox_rules *rules; /* write_paths and layers are known */
	const char *const *own; /* of the client of a session: its credentials are open; or NULL */
	bool is_by_names; /* no mounts: places of layers are read where they are */
	bool has_toolchains;
	struct json *named; /* paths that are shown if they lie in a home */
	const char *tree; /* that git's conditional settings are about; or NULL */
	/* The answer. */
	struct json *shown; /* for rules.shown */
	struct json *
		hidden; /* homes of which nothing is shown, and places with credentials below those that are */
	struct sandbox_home *homes; /* for rules.homes: without `from` and git_config */
};

/* Fills in the answer.  A home that lies in a place that may be written is not covered: credentials in it are hidden one by one. */
void homes_look(struct homes_request *q);

/* For people: the places of their home that runs under this profile read here, besides the work tree: paths; and of those the layers, which a
 * run may write and which are as before afterwards.  `readable`: those that an operator allowed. */
struct json *homes_list(struct sys *s, struct arena *a, const char *home, const char *helm_home,
	const struct profile *p, const char *const *readable);

/* The operator's settings of git that start nothing and hold no credentials, as a configuration file; NULL when there are none, or when
 * `shown` has the operator's own file. */
const char *homes_git_config(const struct homes_request *q);

#endif
