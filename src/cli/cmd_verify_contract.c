/* cmd_verify_contract.c — what is promised, tried out here: judged and compared, nothing run and nothing changed. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/approval/approval.h"
#include "kernel/foresee.h"

#include <string.h>

struct probing {
	struct cli *r;
	struct guard g;
	struct json *checks;
	bool ok;
};

static void probed(struct probing *p, const char *name, bool ok, const char *detail)
{
	struct json *one = json_new(p->r->a, JSON_OBJECT);

	json_sets(p->r->a, one, "name", name);
	json_setb(p->r->a, one, "ok", ok);
	json_sets(p->r->a, one, "detail", detail);
	json_push(p->r->a, p->checks, one);
	p->ok &= ok;
}

/* What is said about a command, under a profile; what cannot be judged counts as let through, so that the check does not hold. */
static enum rule_effect said_about(
	struct probing *p, const struct guard *g, const char *profile, const char *const *argv, size_t argc)
{
	const struct foresee_question question = { .profile = profile, .argv = argv, .argc = argc };
	AUTO(foresight_done) struct foresight f = { 0 };

	return foresee(g, p->r->a, &question, &f, NULL) == OK ? f.h.decision.action : ACTION_ALLOW;
}

static void try_commands(struct probing *p)
{
	static const struct {
		const char *name, *profile;
		const char *argv[4];
		size_t argc;
		enum rule_effect least;
	} tries[] = {
		{ "guard_denies_destructive", "risky_edit", { "rm", "-rf", "/" }, 3, ACTION_ASK },
		{ "guard_reads_shells", "risky_edit", { "sh", "-c", "true; rm -fr /" }, 3, ACTION_ASK },
		{ "profile_write_denied", "inspect_local", { "touch", "x" }, 2, ACTION_DENY },
		{ "tool_grant_denied", "workspace_edit", { "curl", "https://example.org" }, 2, ACTION_ASK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		enum rule_effect said = said_about(p, &p->g, tries[i].profile, tries[i].argv, tries[i].argc);
		probed(p, tries[i].name, said >= tries[i].least, action_name(said));
	}
}

static void try_keys(struct probing *p)
{
	const char *home = p->r->ws->helm_home;
	const char *const argv[] = { "cat", path_join(p->r->a, home ? home : "/", "keys/root.key") };
	enum rule_effect said = said_about(p, &p->g, "risky_edit", argv, 2);

	probed(p, "keys_stay_closed", home && said >= ACTION_ASK, action_name(said));
}

/* Rules that nobody can read must not be milder than any. */
static void try_broken_rules(struct probing *p)
{
	static const char *const look[] = { "ls" };
	const struct policy_source broken = { .file = BYTES_LITERAL("{\"version\": "),
		.file_name = "guard_policy.json" };
	struct guard g = p->g;

	g.policy = policy_compile(p->r->a, &broken);
	enum rule_effect said = said_about(p, &g, "inspect_local", look, 1);
	probed(p, "guard_fails_closed", said >= ACTION_ASK, action_name(said));
}

static void try_approvals(struct probing *p)
{
	struct arena *a = p->r->a;
	int64_t now = p->r->sys->now_us(p->r->sys);
	struct json *late = json_new(a, JSON_OBJECT), *answered = json_new(a, JSON_OBJECT);

	json_sets(a, doc_part(a, late, "request"), "expires_at", text_time_iso(a, now - 1000000));
	json_sets(a, doc_part(a, answered, "request"), "expires_at",
		text_time_iso(a, now + 3600 * (int64_t)1000000));
	json_sets(a, answered, "response", "approved");
	json_sets(a, answered, "resolved_at", text_time_iso(a, now));
	const char *x = request_state(late, now), *y = request_state(answered, now);
	probed(p, "approval_ttl_consume_once", !text_eq(x, "pending") && !text_eq(y, "pending"),
		arena_printf(a, "late: %s, answered: %s", x, y));
}

int cmd_verify_contract(struct cli *r, struct err *e)
{
	struct probing p = { .r = r, .checks = json_new(r->a, JSON_ARRAY), .ok = true };
	struct json *doc = json_new(r->a, JSON_OBJECT);
	int rc = guard_open(r->sys, r->a, r->ws, NULL, &p.g, e);

	if (rc)
		return rc;
	try_commands(&p);
	try_keys(&p);
	try_broken_rules(&p);
	try_approvals(&p);
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_set(r->a, doc, "checks", p.checks);
	json_setb(r->a, doc, "ok", p.ok);
	out_result(r, doc);
	return p.ok ? 0 : EXIT_NO;
}
