/* browser.c — one table of profiles, and the six questions about a session of a browser. */
#include "remember/browser.h"

#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { RATE_LIMITS = 3 };

enum mutation { MUTATION_NEVER, MUTATION_GATED };
static const struct browser_policy {
	const char *profile;
	bool is_blocked; /* every action is refused, whoever asks */
	bool may_log_in, owes_cleanup;
	enum mutation mutation;
	int sessions;
} policies[] = {
	{ .profile = "inspect_local", .sessions = 5 },
	{ .profile = "service_ops", .may_log_in = true, .mutation = MUTATION_GATED, .sessions = 3 },
	{ .profile = "risky_edit", .owes_cleanup = true, .sessions = 2 },
	{ .profile = "workspace_edit", .is_blocked = true },
	{ .profile = "remote_handoff", .is_blocked = true },
};

static const struct {
	const char *name;
	bool mutates;
} actions[] = {
	{ "read", false },
	{ "navigate", false },
	{ "fetch_resource", false },
	{ "screenshot", false },
	{ "crawl_batch", false },
	{ "fillform", true },
	{ "interact", true },
	{ "submit", true },
};

static const struct browser_policy *policy_of(const char *profile)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (text_eq(policies[i].profile, profile))
			return &policies[i];
	return NULL;
}

static const char *class_of(const char *action)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (text_eq(actions[i].name, action))
			return actions[i].mutates ? "mutating" : "read_only";
	return "unknown";
}

/* The host of an address or pattern: without scheme, user, port, leading "*." and trailing dot.  "" when there is none. */
static const char *host_of(struct arena *a, const char *pattern)
{
	const char *scheme = strstr(pattern, "://"), *p = scheme ? scheme + 3 : pattern;
	size_t n = strcspn(p, "/?#");
	char *host = arena_strndup(a, p, n), *at = strrchr(host, '@'), *port;

	host = at ? at + 1 : host;
	if (text_starts(host, "*."))
		host += 2;
	port = strchr(host, ':');
	if (port)
		*port = '\0';
	n = strlen(host);
	while (n && host[n - 1] == '.')
		host[--n] = '\0';
	for (size_t i = 0; i < n; i++)
		host[i] = (char)tolower((unsigned char)host[i]);
	return text_is_id(host) ? host : "";
}

/* The note about the site, when there is one inside of the workspace; or NULL. */
static const char *note_of(const struct contract_place *at, const struct browser_request *q)
{
	const char *host = q->url_pattern ? host_of(at->a, q->url_pattern) : "", *path = q->site_note;
	struct bytes text;

	if (!path && *host)
		path = arena_printf(at->a, "skills/browser-site-notes/%s.md", host);
	return path && file_read(at->sys, at->a, at->root_fd, path, 1 << 20, FILE_BENEATH, &text, NULL) == OK
		? path
		: NULL;
}

struct judging {
	struct arena *a;
	struct json *doc, *checks;
	struct buf why;
};

static void because(struct judging *j, const char *text)
{
	buf_addf(&j->why, "%s%s", j->why.n ? "; " : "", text);
}

static void flag(struct judging *j, const char *name)
{
	json_setb(j->a, j->doc, name, true);
}

static void begin(struct judging *j)
{
	static const char *const flags[] = { "allow_single_session", "block_mutation", "require_user_login",
		"require_confirmation", "pause_profile", "require_cleanup_evidence", "allow_parallel" };

	buf_init(&j->why, j->a);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		json_setb(j->a, j->doc, flags[i], false);
}

static struct json *end(struct judging *j)
{
	json_sets(j->a, j->doc, "reason", j->why.n ? j->why.p : "ok");
	json_set(j->a, j->doc, "checks", j->checks);
	return j->doc;
}

/* What can be said about it when its profile may use a browser. */
static void judge(struct judging *j, const struct browser_request *q, const struct browser_policy *p,
	int64_t rate_limited)
{
	const char *class = class_of(q->action);
	bool mutates = text_eq(class, "mutating"), is_known = !text_eq(class, "unknown"), ok = is_known;

	json_sets(j->a, j->checks, "action_class", class);
	json_setb(j->a, j->checks, "login_ok", !q->needs_login || p->may_log_in);
	json_sets(j->a, j->checks, "mutation_mode", p->mutation == MUTATION_GATED ? "gated" : "never");
	if (!is_known) {
		flag(j, "require_confirmation");
		because(j, "the action is not known");
	}
	if (q->needs_login) {
		flag(j, "require_user_login");
		if (!p->may_log_in)
			because(j, "this profile does not log in");
		ok &= p->may_log_in;
	}
	if (mutates && p->mutation == MUTATION_NEVER) {
		flag(j, "block_mutation");
		because(j, "this profile changes nothing on a site");
		ok = false;
	} else if (mutates) {
		flag(j, "require_confirmation");
		because(j, "it changes something on a site, which a person confirms");
	}
	if (rate_limited >= RATE_LIMITS) {
		flag(j, "pause_profile");
		because(j, "it was turned away three times in a day");
		ok = false;
	}
	json_setb(j->a, j->checks, "require_cleanup_evidence", p->owes_cleanup);
	if (ok && p->owes_cleanup)
		flag(j, "require_cleanup_evidence");
	bool may_parallel = q->wants_parallel && p->sessions > 1 && !mutates && is_known;
	json_setb(j->a, j->checks, "parallel_ok", !q->wants_parallel || may_parallel);
	if (ok && may_parallel)
		flag(j, "allow_parallel");
	if (q->wants_parallel && !may_parallel)
		because(j, "several at once are for reading only");
	ok &= !q->wants_parallel || may_parallel;
	if (ok)
		flag(j, "allow_single_session");
	json_seti(j->a, j->doc, "max_sessions", p->sessions);
}

struct json *browser_verify(
	const struct contract_place *at, const struct browser_request *q, int64_t rate_limited)
{
	struct judging j = {
		.a = at->a, .doc = json_new(at->a, JSON_OBJECT), .checks = json_new(at->a, JSON_OBJECT)
	};
	const struct browser_policy *p = q->profile ? policy_of(q->profile) : NULL;
	const char *note;

	begin(&j);
	if (!q->action || !q->url_pattern || !q->profile || !*q->url_pattern) {
		flag(&j, "require_confirmation");
		because(&j, "action, url_pattern and profile must be said");
		return end(&j);
	}
	json_setb(at->a, j.checks, "profile_policy", p != NULL);
	json_setb(at->a, j.checks, "hard_block", p && p->is_blocked);
	if (p && p->is_blocked) {
		because(&j, "this profile uses no browser");
		return end(&j);
	}
	if (!p) {
		flag(&j, "require_confirmation");
		because(&j, "nothing says how this profile uses a browser");
		return end(&j);
	}
	note = note_of(at, q);
	json_sets(at->a, j.checks, "existing_site_note", note);
	json_setb(at->a, j.checks, "site_note_auto_resolved", note && !q->site_note);
	judge(&j, q, p, rate_limited);
	return end(&j);
}
