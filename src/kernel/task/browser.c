/* browser.c — runs that use a browser: judged before they start, counted while they run, and owing proof that they cleaned up.
 *
 * By default the answer is only noted (a row browser_recon_shadow, which `helm shadow-report` counts).  Where a person has said so
 * (HELM_BROWSER_GATE=1) it is part of the decision: what it blocks is denied, what it asks for a person confirms, both signed like any other. */
#include "remember/browser.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "remember/memory.h"

#define BLOCKED "deny.browser"
#define ASKED "risk.browser"
#define SESSIONS "max_sessions_reached"
enum { LOOKED_AT = 2000, MINUTES = 10, EXIT_BROWSER = 27, EXIT_CLEANUP = 28 };

static bool is_switched_on(struct task *t)
{
	struct sys *s = t->k->sys;
	const char *said = s->getenv(s, "HELM_BROWSER_GATE");

	if (!said || !*said)
		said = s->getenv(s, "OPENCLAW_BROWSER_GATE");
	return said && *said && !text_eq(said, "0") && !text_eq(said, "false") && !text_eq(said, "no") &&
		!text_eq(said, "off");
}

struct counting {
	struct arena *a;
	const char *own_id, *profile;
	int64_t now_us;
	struct json *seen;
	int64_t open, refused;
};

static bool is_ended(const struct json *row)
{
	static const char *const open[] = { "queued", "running", "browser_recon", "browser_recon_shadow",
		"browser_approved_with_risk", "browser_approved_by_site_note" };

	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		if (text_eq(json_get_text(row, "status", ""), open[i]))
			return false;
	return true;
}

/* The newest row of a task says whether its session is open. */
static int look_back(void *arg, struct json *row)
{
	struct counting *c = arg;
	const char *id = json_get_text(row, "task_id", NULL), *profile = json_get_text(row, "profile", "");
	const struct json *fetched =
		json_get(json_get(json_get(row, "meta"), "harness"), "retrieval_evidence");
	int64_t us;

	if (!id || json_get(c->seen, id) || text_eq(id, c->own_id) || !text_eq(profile, c->profile))
		return 0;
	json_setb(c->a, c->seen, id, true);
	if (!memory_time(json_get_text(row, "started_at", ""), &us))
		return 0;
	if (text_eq(json_get_text(fetched, "exit_classification", ""), "fetch_blocked") &&
		us > c->now_us - (int64_t)24 * 3600 * 1000000)
		c->refused++;
	if (json_is(json_get(row, "browser_recon"), JSON_OBJECT) && !is_ended(row) &&
		!json_get_text(row, "cleanup_status", NULL) &&
		us > c->now_us - (int64_t)MINUTES * 60 * 1000000)
		c->open++;
	return 0;
}

/* A ledger that cannot be read hides sessions, and then there may be as many as there can. */
static bool count_sessions(struct task *t, struct counting *ret)
{
	*ret = (struct counting){ .a = t->a,
		.own_id = t->id,
		.profile = t->profile->name,
		.now_us = t->k->sys->now_us(t->k->sys),
		.seen = json_new(t->a, JSON_OBJECT) };
	return rows_back(t->k->sys, t->a, t->k->ws->state_fd, TASK_LEDGER, LOOKED_AT, NULL, look_back, ret,
		       NULL) == OK;
}

int task_browser_look(struct task *t, struct err *e)
{
	const struct contract_place at = skill_place(t->k->sys, t->a, t->k->ws);
	const struct run_browser *b = t->spec->browser;
	struct counting c;

	if (!b)
		return OK;
	const struct browser_request q = { .action = b->action,
		.url_pattern = b->url_pattern,
		.profile = t->profile->name,
		.needs_login = b->needs_login,
		.wants_parallel = b->wants_parallel,
		.site_note = b->site_note };
	bool is_counted = count_sessions(t, &c);
	t->browser = browser_verify(&at, &q, c.refused);
	t->is_browser_held = is_switched_on(t);
	json_seti(t->a, t->browser, "open_sessions", c.open);
	if (!is_counted ||
		(json_get(t->browser, "max_sessions") &&
			c.open >= json_get_int(t->browser, "max_sessions", 0)))
		json_sets(t->a, t->browser, "block_reason", SESSIONS);
	json_set(t->a, t->row, "browser_recon", t->browser);
	return t->is_browser_held ? OK : task_put_aside(t, "browser_recon_shadow", e);
}

void task_browser_hold(struct task *t)
{
	const char *full = json_get_text(t->browser, "block_reason", NULL),
		   *why = json_get_text(t->browser, "reason", "");

	if (!t->browser || !t->is_browser_held)
		return;
	if (full || !json_get_bool(t->browser, "allow_single_session", false)) {
		t->request.at_least.action = ACTION_DENY;
		t->request.at_least.rule = BLOCKED;
		t->request.at_least.text =
			full ? "as many sessions of a browser are open as this profile may have" : why;
	} else if (json_get_bool(t->browser, "require_confirmation", false) &&
		t->request.at_least.action < ACTION_ASK) {
		t->request.at_least.action = ACTION_ASK;
		t->request.at_least.rule = ASKED;
		t->request.at_least.text = why;
	}
}

const char *task_browser_stopped(struct task *t)
{
	const char *rule = t->report->handling.decision.detail_code;

	if (!rule || (!text_eq(rule, BLOCKED) && !text_eq(rule, ASKED)))
		return NULL;
	json_sets(t->a, t->row, "browser_block_reason",
		json_get_text(t->browser, "block_reason", json_get_text(t->browser, "reason", "")));
	if (text_eq(rule, ASKED))
		return "browser_requires_approval";
	t->report->exit_code = EXIT_BROWSER;
	return "browser_blocked";
}

int task_browser_allowed(struct task *t, struct err *e)
{
	const char *rule = t->request.at_least.rule;

	return t->browser && rule && text_eq(rule, ASKED) ? task_put_aside(t, "browser_approved_with_risk", e)
							  : OK;
}

bool task_browser_owes(struct task *t)
{
	if (!t->browser || !t->is_browser_held ||
		!json_get_bool(t->browser, "require_cleanup_evidence", false))
		return false;
	t->report->hint = arena_printf(t->a,
		"say what became of the session: helm browser cleanup %s --status ok --evidence TEXT", t->id);
	return true;
}

int task_browser_exit(const struct task *t, int exit_code)
{
	return text_eq(t->report->status, BROWSER_OWES) && !exit_code ? EXIT_CLEANUP : exit_code;
}
