/* shadow.c — a candidate that decides beside the policy in use, and answers nobody.
 *
 * Only where it would have answered otherwise a line is written, in the helm home, where nothing that is governed can write.  It is a
 * note for whoever prepares a change, not evidence: a line that cannot be written is left out. */
#include "kernel/policy/policy.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture.h"
#include "kernel/skill.h"
#include "privacy/privacy.h"

#include <fcntl.h>
#include <string.h>

#define SHADOW_FILE "policy-shadow.jsonl"
enum { SHADOW_LIMIT_BYTES = 32 << 20 };

static const char *shadow_file(struct arena *a, const struct workspace *ws)
{
	const char *dir = workspace_beside(a, ws);

	return dir ? arena_printf(a, "%s/" SHADOW_FILE, dir) : NULL;
}

static bool has_room(struct sys *s, const char *file)
{
	struct stat st;

	return s->stat(s, AT_FDCWD, file, &st, AT_SYMLINK_NOFOLLOW) || st.st_size < SHADOW_LIMIT_BYTES;
}

/* Nothing that looks like a credential is written down here either. */
static void note(struct kernel *k, struct arena *a, struct json *row)
{
	const char *file = shadow_file(a, k->ws);
	AUTO(close_fd) int fd = -1;
	struct buf line;

	if (!file || !has_room(k->sys, file))
		return;
	privacy_redact_json(a, row);
	buf_init(&line, a);
	json_write(&line, row, JSON_SPACED | JSON_SORT);
	(void)file_append_later(k->sys, AT_FDCWD, file, 0600, buf_bytes(&line), &fd, NULL);
}

/* What would be decided under another profile, or under the contract of a skill: rules and walls are those of the candidate. */
static const struct policy_answer *ask_candidate(struct kernel *k, struct arena *a, const struct json *entry,
	const struct policy_question *q, const struct decision *guard)
{
	const char *name = json_get_text(entry, "profile", NULL),
		   *skill = json_get_text(entry, "skill", NULL);
	struct policy_answer *p = arena_zalloc(a, 1, sizeof(*p));
	const struct profile *profile = name ? profiles_find(&k->guard.profiles, name) : guard->profile;
	struct decision d;
	struct skill_use use;
	struct terms_breach breach;
	struct err e = { 0 };

	*p = (struct policy_answer){ .sha256 = json_get_text(entry, "sha256", ""),
		.name = json_get_text(entry, "name", ""),
		.verdict = V_DENY,
		.is_whole = true };
	if (!profile || !q->proposal) {
		p->text = "there is no such profile";
		return p;
	}
	if (skill && skill_use(k, a, skill, profile, &use, &e)) {
		p->rule = "skill.contract";
		p->text = arena_strdup(a, e.text);
		return p;
	}
	profile = skill ? use.profile : profile;
	const struct decide_context at = { .a = a,
		.mode = GUARD_ENFORCE,
		.placement = guard->placement,
		.workspace = guard->workspace,
		.home = k->ws->home,
		.now_us = guard->evaluated_us };
	const struct terms_call call = { .tree = k->ws->root,
		.state = k->ws->state_dir,
		.tool = text_eq(q->action, "EXECUTE_COMMAND") ? NULL : q->tool,
		.is_shell = q->tools != NULL,
		.is_walled = guard->placement == IN_SANDBOX };
	decide(k->guard.policy, profile, q->proposal, &at, &d);
	p->verdict = d.verdict;
	p->rule = d.detail_code;
	p->text = d.summary;
	if (profile->terms && decide_terms(a, profile->terms, &call, q->proposal, &breach)) {
		p->verdict = V_DENY;
		p->rule = breach.rule;
		p->text = breach.text;
	}
	return p;
}

const struct policy_answer *policy_shadow_ask(
	struct kernel *k, struct arena *a, const struct policy_question *q, const struct decision *guard)
{
	const struct json *entry = json_get(posture_of(k->sys, k->ws)->word, "policy_shadow");
	const struct policy_facts about = { .is_required = true };
	const struct ruleset *rules = entry ? policy_shadow_rules(k->sys, a, k->ws) : NULL;
	struct policy_question whole = *q;

	if (json_get(entry, "profile") || json_get(entry, "skill"))
		return ask_candidate(k, a, entry, q, guard);
	if (!rules)
		return NULL;
	whole.known = policy_known(a, entry, q);
	return policy_judge(a, rules, &about, &whole, guard);
}

void policy_shadow_note(struct kernel *k, struct arena *a, const struct policy_answer *p,
	const struct policy_question *q, const struct decision *guard, enum verdict live,
	const char *live_rule, const char *decision_id)
{
	if (!p || policy_with_guard(p, guard) == live)
		return;
	struct json *row = json_new(a, JSON_OBJECT);
	json_sets(a, row, "at", text_time_iso(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "shadow", p->sha256);
	json_sets(a, row, "decision_id", decision_id);
	json_sets(a, row, "live", verdict_name(live));
	json_sets(a, row, "live_rule", live_rule);
	json_sets(a, row, "would_be", verdict_name(policy_with_guard(p, guard)));
	json_sets(a, row, "rule", p->rule ? p->rule : p->gate);
	json_sets(a, row, "origin", p->origin);
	json_sets(a, row, "text", p->text);
	json_set(a, row, "asked", policy_question_kept(a, q));
	note(k, a, row);
}

/* ---- the report ---- */

struct reading {
	struct arena *a;
	const char *sha256, *since;
	struct json *rows;
	size_t unreadable;
};

static int take_row(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct reading *r = arg;
	struct json *row;

	(void)offset;
	(void)line;
	(void)e;
	if (!is_whole || json_parse(r->a, text, SHADOW_FILE, NULL, &row, NULL))
		r->unreadable++;
	else if (text_eq(json_get_text(row, "shadow", ""), r->sha256) &&
		strcmp(json_get_text(row, "at", ""), r->since) >= 0)
		json_push(r->a, r->rows, row);
	return 0;
}

static void count_rules(struct arena *a, const struct json *rows, struct json *by_rule)
{
	json_each (row, rows) {
		const char *rule = json_get_text(row, "rule", "-"), *to = json_get_text(row, "would_be", "");
		struct json *found = NULL;
		json_each (one, by_rule)
			if (text_eq(json_get_text(one, "rule", ""), rule) &&
				text_eq(json_get_text(one, "would_be", ""), to))
				found = one;
		if (!found) {
			found = json_new(a, JSON_OBJECT);
			json_sets(a, found, "rule", rule);
			json_sets(a, found, "would_be", to);
			json_seti(a, found, "count", 0);
			json_push(a, by_rule, found);
		}
		json_seti(a, found, "count", json_get_int(found, "count", 0) + 1);
	}
}

int policy_shadow_report(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	const struct json *entry = json_get(posture_of(s, ws)->word, "policy_shadow");
	struct json *doc = json_new(a, JSON_OBJECT), *by_rule = json_new(a, JSON_ARRAY);
	const char *file = shadow_file(a, ws);
	struct reading r = { .a = a,
		.sha256 = json_get_text(entry, "sha256", ""),
		.since = json_get_text(entry, "at", ""),
		.rows = json_new(a, JSON_ARRAY) };

	if (!entry)
		return err_set(e, E_MISSING, "POLICY_NO_SHADOW",
			"no policy decides beside the one in use here; 'helm policy shadow start FILE' lets one");
	int rc = file && file_exists(s, AT_FDCWD, file) ? lines_each(s, AT_FDCWD, file, take_row, &r, e) : OK;
	if (rc)
		return rc;
	count_rules(a, r.rows, by_rule);
	json_set(a, doc, "shadow", json_copy(a, entry));
	json_seti(a, doc, "different", r.rows->n);
	json_seti(a, doc, "unreadable", (int64_t)r.unreadable);
	json_setb(a, doc, "is_full", file && !has_room(s, file));
	json_set(a, doc, "by_rule", by_rule);
	json_set(a, doc, "differences", r.rows);
	*ret = doc;
	return OK;
}
