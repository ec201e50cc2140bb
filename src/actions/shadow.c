/* shadow.c — the shadow report: what gates that only watch saw, whether that is enough to switch them on, and which rows say so.
 *
 * One table says what a feature is, how rows count and what its verdict is, so that whoever writes such rows and whoever reads them
 * agree. */
#include "actions/shadow.h"

#include "base/doc.h"
#include "base/text.h"
#include "record/record.h"
#include "remember/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 5000, SAMPLES = 5, TOP = 5 };
#define DAY_US (INT64_C(24) * 3600 * 1000000)
#define PROXY_EVENTS "traces/proxy-events.jsonl"
#define PROMOTIONS "skill-promotion-state.json"

struct shadow {
	struct arena *a;
	int64_t since_us;
	struct json *ledger, *proxy, *promotions; /* rows inside of the window; entries */
	int64_t ledger_lines, proxy_lines, ledger_timeless, proxy_timeless;
	bool has_promotions;
};

/* ---- reading ---- */

/* A time in any of the members that rows have it in; false: none can be read. */
static bool time_of(const struct json *row, int64_t *ret)
{
	static const char *const names[] = { "updated_at", "started_at", "timestamp", "created_at",
		"notified_at" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *v = json_get(row, names[i]);
		if (json_is(v, JSON_NUMBER)) {
			*ret = (int64_t)(strtod(v->text, NULL) * 1e6);
			return true;
		}
		if (json_text(v) && memory_time(json_text(v), ret))
			return true;
	}
	return false;
}

static int take(const struct shadow_place *p, const char *file, struct shadow *s, struct json *to,
	int64_t *lines, int64_t *timeless, struct err *e)
{
	struct json *rows;
	int rc = rows_tail(p->sys, p->a, p->state_fd, file, LINES, &rows, e);

	if (rc == E_MISSING)
		return OK;
	if (rc)
		return rc;
	*lines = rows->n;
	json_each (row, rows) {
		int64_t us;
		if (!time_of(row, &us))
			++*timeless;
		else if (us < s->since_us)
			continue;
		json_push(s->a, to, row);
	}
	return OK;
}

/* ---- counting ---- */

static const char *sample_id(struct arena *a, const struct json *row)
{
	static const char *const names[] = { "task_id", "taskId", "id", "trace_id", "traceId" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = json_get_text(row, names[i], NULL),
			   *slash = text ? strrchr(text, '/') : NULL;
		if (text && *text)
			return slash ? arena_strdup(a, slash + 1) : text;
	}
	return NULL;
}

static bool has_text(const struct json *list, const char *text)
{
	json_each (one, list)
		if (json_text(one) && text_eq(json_text(one), text))
			return true;
	return false;
}

static void sample(struct arena *a, struct json *samples, const struct json *row)
{
	const char *id = sample_id(a, row);

	if (id && samples->n < SAMPLES && !has_text(samples, id))
		json_pushs(a, samples, id);
}

static bool is_status(const struct json *row, const char *status)
{
	return text_eq(json_get_text(row, "status", ""), status);
}

static void count(struct arena *a, struct json *to, const char *name)
{
	json_seti(a, to, name, json_get_int(to, name, 0) + 1);
}

static const char *const flags[] = { "allow_single_session", "block_mutation", "require_confirmation",
	"require_user_login", "require_cleanup_evidence", "allow_parallel", "pause_profile" };

static struct json *count_browser(struct shadow *s)
{
	struct json *doc = json_new(s->a, JSON_OBJECT), *by_flag = json_new(s->a, JSON_OBJECT),
		    *samples = json_new(s->a, JSON_ARRAY);

	json_seti(s->a, doc, "shadow_count", 0);
	json_seti(s->a, doc, "enforced_block_count", 0);
	json_seti(s->a, doc, "enforced_approval_count", 0);
	json_each (row, s->ledger) {
		if (is_status(row, "browser_blocked"))
			count(s->a, doc, "enforced_block_count");
		if (is_status(row, "browser_requires_approval"))
			count(s->a, doc, "enforced_approval_count");
		if (!is_status(row, "browser_recon_shadow"))
			continue;
		count(s->a, doc, "shadow_count");
		sample(s->a, samples, row);
		for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
			if (json_get_bool(json_get(row, "browser_recon"), flags[i], false))
				count(s->a, by_flag, arena_printf(s->a, "%s_true", flags[i]));
	}
	json_set(s->a, doc, "decision_breakdown", by_flag);
	json_set(s->a, doc, "samples", samples);
	return doc;
}

static struct json *count_pauses(struct shadow *s)
{
	struct json *doc = json_new(s->a, JSON_OBJECT), *samples = json_new(s->a, JSON_ARRAY);

	json_seti(s->a, doc, "blocked_count", 0);
	json_each (row, s->ledger)
		if (is_status(row, "blocked_by_pause")) {
			count(s->a, doc, "blocked_count");
			sample(s->a, samples, row);
		}
	json_set(s->a, doc, "samples", samples);
	return doc;
}

static const char *issue_name(const struct json *issue)
{
	return json_text(issue) ? json_text(issue)
				: json_get_text(issue, "issue", json_get_text(issue, "code", NULL));
}

/* [{issue, count}], the most frequent first; equal ones as they were met. */
static struct json *top_issues(struct arena *a, const struct json *counts)
{
	struct json *list = json_new(a, JSON_ARRAY), *top = json_new(a, JSON_ARRAY);

	json_each_member (m, counts) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "issue", m->name);
		json_set(a, one, "count", m->value);
		json_push(a, list, one);
	}
	for (size_t i = 1; i < list->n; i++)
		for (size_t j = i; j > 0 &&
			json_get_int(list->items[j - 1], "count", 0) <
				json_get_int(list->items[j], "count", 0);
			j--) {
			struct json *x = list->items[j];
			list->items[j] = list->items[j - 1];
			list->items[j - 1] = x;
		}
	for (size_t i = 0; i < list->n && i < TOP; i++)
		json_push(a, top, list->items[i]);
	return top;
}

/* Older writers called the verdict `action`. */
static const char *verdict_of(const struct json *row)
{
	static const char *const known[] = { "ok", "nudge_and_retry", "abort", "give_up", NULL };
	const char *said = json_get_text(row, "verdict", NULL), *action = json_get_text(row, "action", NULL);

	for (const char *const *k = known; !said && action && *k; k++)
		if (text_eq(*k, action))
			return action;
	return said;
}

static struct json *count_repairs(struct shadow *s)
{
	static const char *const verdicts[] = { "ok", "nudge_and_retry", "abort", "give_up" };
	struct json *doc = json_new(s->a, JSON_OBJECT), *by = json_new(s->a, JSON_OBJECT),
		    *issues = json_new(s->a, JSON_OBJECT), *samples = json_new(s->a, JSON_ARRAY);

	json_seti(s->a, doc, "event_count", 0);
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		json_seti(s->a, by, verdicts[i], 0);
	json_set(s->a, doc, "verdict_breakdown", by);
	json_seti(s->a, doc, "shadow_event_count", 0);
	json_each (row, s->proxy) {
		const char *verdict = verdict_of(row);
		if (!verdict)
			continue;
		count(s->a, doc, "event_count");
		if (json_get(by, verdict))
			count(s->a, by, verdict);
		if (json_get_bool(row, "shadow_mode", false))
			count(s->a, doc, "shadow_event_count");
		json_each (issue, json_get(row, "issues"))
			if (issue_name(issue))
				count(s->a, issues, issue_name(issue));
		sample(s->a, samples, row);
	}
	json_set(s->a, doc, "top_issues", top_issues(s->a, issues));
	json_set(s->a, doc, "samples", samples);
	return doc;
}

static bool is_terminal(const struct json *row)
{
	static const char word[] = "terminal_without_tool";

	json_each (issue, json_get(row, "issues"))
		if (issue_name(issue) && strstr(issue_name(issue), word))
			return true;
	return text_eq(json_get_text(row, "event_type", ""), word) ||
		text_eq(json_get_text(row, "type", ""), word);
}

static struct json *count_responds(struct shadow *s)
{
	struct json *doc = json_new(s->a, JSON_OBJECT);

	json_seti(s->a, doc, "terminal_without_tool_events", 0);
	json_seti(s->a, doc, "would_have_helped_estimate", 0);
	json_each (row, s->proxy)
		if (is_terminal(row)) {
			count(s->a, doc, "terminal_without_tool_events");
			if (json_get_bool(row, "tool_required", false))
				count(s->a, doc, "would_have_helped_estimate");
		}
	return doc;
}

static struct json *count_promotions(struct shadow *s)
{
	static const char *const names[] = { "candidates_notified", "approved", "rejected", "pending" };
	struct json *doc = json_new(s->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_seti(s->a, doc, names[i], 0);
	json_each (entry, s->promotions) {
		const char *status = json_get_text(entry, "status", "");
		count(s->a, doc, "candidates_notified");
		count(s->a, doc,
			text_eq(status, "approved") || text_eq(status, "rejected") ? status : "pending");
	}
	return doc;
}

static struct json *count_sessions(struct shadow *s)
{
	struct json *doc = json_new(s->a, JSON_OBJECT), *by = json_new(s->a, JSON_OBJECT);

	json_seti(s->a, doc, "count", 0);
	json_each (row, s->ledger)
		if (strstr(json_get_text(row, "browser_block_reason", ""), "max_sessions")) {
			count(s->a, doc, "count");
			count(s->a, by, json_get_text(row, "profile", "unknown"));
		}
	json_set(s->a, doc, "by_profile", by);
	return doc;
}

/* Once for each task: a flag that is copied into later rows is the same debt. */
static struct json *count_cleanups(struct shadow *s)
{
	struct json *doc = json_new(s->a, JSON_OBJECT), *owed = json_new(s->a, JSON_OBJECT),
		    *given = json_new(s->a, JSON_OBJECT), *ended = json_new(s->a, JSON_OBJECT);
	int64_t missing = 0;

	json_each (row, s->ledger) {
		const char *id = sample_id(s->a, row);
		if (!id)
			continue;
		if (json_get_bool(json_get(row, "browser_recon"), "require_cleanup_evidence", false))
			json_setb(s->a, owed, id, true);
		if (json_get_text(row, "cleanup_status", NULL))
			json_setb(s->a, given, id, true);
		if (is_status(row, "browser_cleanup_required") || json_get_int(row, "exit_code", 0) == 28)
			json_setb(s->a, ended, id, true);
	}
	json_each_member (m, owed)
		missing += !json_get(given, m->name);
	json_seti(s->a, doc, "required_count", owed->n);
	json_seti(s->a, doc, "missing_cleanup_count", missing);
	json_seti(s->a, doc, "exit_28_count", ended->n);
	return doc;
}

/* ---- verdicts ---- */

/* part / whole at or above percent. */
static bool is_share(int64_t part, int64_t whole, int64_t percent)
{
	return part * 100 >= whole * percent;
}

static const char *judge_browser(const struct json *f)
{
	int64_t n = json_get_int(f, "shadow_count", 0),
		blocks = json_get_int(json_get(f, "decision_breakdown"), "block_mutation_true", 0);

	return !n			  ? "no_signal"
		: n < 10		  ? "needs_more_data"
		: is_share(blocks, n, 50) ? "caution"
					  : "ready_to_enforce";
}

static const char *judge_pause(const struct json *f)
{
	return json_get_int(f, "blocked_count", 0) ? "ready_to_enforce" : "no_signal";
}

static const char *judge_repair(const struct json *f)
{
	const struct json *by = json_get(f, "verdict_breakdown");
	int64_t n = json_get_int(f, "event_count", 0),
		bad = json_get_int(by, "abort", 0) + json_get_int(by, "give_up", 0);

	return n < 5 ? "needs_more_data" : is_share(bad, n, 50) ? "caution" : "ready_to_enforce";
}

static const char *judge_respond(const struct json *f)
{
	int64_t n = json_get_int(f, "terminal_without_tool_events", 0);

	return !n								    ? "no_signal"
		: is_share(json_get_int(f, "would_have_helped_estimate", 0), n, 30) ? "ready_to_enforce"
										    : "caution";
}

static const char *judge_cleanup(const struct json *f)
{
	int64_t n = json_get_int(f, "required_count", 0);

	return !n							       ? "no_signal"
		: is_share(json_get_int(f, "missing_cleanup_count", 0), n, 30) ? "caution"
									       : "ready_to_enforce";
}

static const char *judge_never(const struct json *f)
{
	(void)f;
	return "no_signal";
}

static const struct feature {
	const char *name;
	struct json *(*count)(struct shadow *s);
	const char *(*judge)(const struct json *f);
	const char *enforce; /* how a person switches it on */
} features[] = {
	{ "browser_verifier", count_browser, judge_browser, "set HELM_BROWSER_GATE=1" },
	{ "pause_gate", count_pauses, judge_pause,
		"nothing to switch on: a paused profile is refused already" },
	{ "model_repair", count_repairs, judge_repair, "set HELM_MODEL_REPAIR=1" },
	{ "synthetic_respond_inferred", count_responds, judge_respond, "set HELM_SYNTHETIC_RESPOND=1" },
	{ "skill_promotion", count_promotions, judge_never, "answer with 'helm skill-promotion pending'" },
	{ "max_sessions_hits", count_sessions, judge_never, "set HELM_BROWSER_GATE=1" },
	{ "cleanup_evidence_gate", count_cleanups, judge_cleanup, "set HELM_BROWSER_GATE=1" },
};

bool shadow_is_feature(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (text_eq(features[i].name, name))
			return true;
	return false;
}

static struct json *advice(struct arena *a, const struct feature *f, const struct json *counted)
{
	static const struct {
		const char *verdict, *reason;
	} reasons[] = { { "no_signal", "nothing was seen that it would have acted upon" },
		{ "needs_more_data", "too little was seen to judge" },
		{ "caution", "it would have stopped, or missed, a large part of what was seen" },
		{ "ready_to_enforce", "what was seen speaks for it" } };
	struct json *doc = json_new(a, JSON_OBJECT);
	const char *verdict = f->judge(counted);
	size_t i = 0;

	while (!text_eq(reasons[i].verdict, verdict))
		i++;
	json_sets(a, doc, "verdict", verdict);
	json_sets(a, doc, "reason", reasons[i].reason);
	json_sets(a, doc, "next_step",
		text_eq(verdict, "ready_to_enforce")  ? f->enforce
			: text_eq(verdict, "caution") ? "look at the samples first, then decide"
						      : "leave it watching");
	return doc;
}

/* ---- all of it ---- */

static bool is_wanted(const struct shadow_ask *q, const char *name)
{
	for (size_t i = 0; i < q->feature_count; i++)
		if (text_eq(q->features[i], name) || text_eq(q->features[i], "all"))
			return true;
	return !q->feature_count;
}

static struct json *filter_of(struct arena *a, const struct shadow_ask *q)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < q->feature_count; i++) {
		if (text_eq(q->features[i], "all"))
			return json_new(a, JSON_NULL);
		json_pushs(a, list, q->features[i]);
	}
	return list->n ? list : json_new(a, JSON_NULL);
}

static struct json *freshness(const struct shadow *s)
{
	struct json *doc = json_new(s->a, JSON_OBJECT);

	json_seti(s->a, doc, "ledger_lines_scanned", s->ledger_lines);
	json_seti(s->a, doc, "proxy_events_lines_scanned", s->proxy_lines);
	json_setb(s->a, doc, "skill_state_present", s->has_promotions);
	json_seti(s->a, doc, "ledger_unparseable_timestamp_count", s->ledger_timeless);
	json_seti(s->a, doc, "proxy_unparseable_timestamp_count", s->proxy_timeless);
	json_setb(s->a, doc, "window_truncated", s->ledger_lines >= LINES || s->proxy_lines >= LINES);
	return doc;
}

static int gather(const struct shadow_place *p, struct shadow *s, struct err *e)
{
	struct json *state;
	int rc = take(p, TASK_LEDGER, s, s->ledger, &s->ledger_lines, &s->ledger_timeless, e);

	if (rc == OK)
		rc = take(p, PROXY_EVENTS, s, s->proxy, &s->proxy_lines, &s->proxy_timeless, e);
	if (rc)
		return rc;
	rc = doc_read(p->sys, p->a, p->state_fd, PROMOTIONS, 16 << 20, 0, &state, e);
	s->has_promotions = rc == OK;
	if (rc == OK && json_is(json_get(state, "entries"), JSON_ARRAY))
		s->promotions = json_get(state, "entries");
	return rc == E_MISSING ? OK : rc;
}

int shadow_report(const struct shadow_place *p, const struct shadow_ask *q, struct json **ret, struct err *e)
{
	struct arena *a = p->a;
	const int64_t now = p->sys->now_us(p->sys);
	struct shadow s = { .a = a,
		.since_us = q->since_us,
		.ledger = json_new(a, JSON_ARRAY),
		.proxy = json_new(a, JSON_ARRAY),
		.promotions = json_new(a, JSON_ARRAY) };
	struct json *doc = json_new(a, JSON_OBJECT), *window = json_new(a, JSON_OBJECT),
		    *all = json_new(a, JSON_OBJECT), *advices = json_new(a, JSON_OBJECT);
	int rc = gather(p, &s, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (!is_wanted(q, features[i].name))
			continue;
		struct json *counted = features[i].count(&s);
		json_set(a, all, features[i].name, counted);
		json_set(a, advices, features[i].name, advice(a, &features[i], counted));
	}
	json_seti(a, window, "days", (now - q->since_us + DAY_US / 2) / DAY_US);
	json_sets(a, window, "since", text_time_iso(a, s.since_us));
	json_sets(a, window, "until", text_time_iso(a, now));
	json_sets(a, doc, "generated_at", text_time_iso(a, now));
	json_set(a, doc, "window", window);
	json_set(a, doc, "data_freshness", freshness(&s));
	json_set(a, doc, "features", all);
	json_set(a, doc, "raw_filter_applied", filter_of(a, q));
	if (q->advise)
		json_set(a, doc, "recommendations", advices);
	*ret = doc;
	return OK;
}

static void put_members(struct buf *to, const struct json *doc)
{
	json_each_member (m, doc) {
		buf_addf(to, "- %s: ", m->name);
		json_write(to, m->value, JSON_SPACED);
		buf_addc(to, '\n');
	}
}

const char *shadow_markdown(struct arena *a, const struct json *report)
{
	const struct json *window = json_get(report, "window");
	struct buf text;

	buf_init(&text, a);
	buf_addf(&text, "# Shadow report\n\nMade %s, from %s to %s.\n\n## Data Freshness\n\n",
		json_get_text(report, "generated_at", ""), json_get_text(window, "since", ""),
		json_get_text(window, "until", ""));
	put_members(&text, json_get(report, "data_freshness"));
	json_each_member (m, json_get(report, "features")) {
		buf_addf(&text, "\n## %s\n\n", m->name);
		put_members(&text, m->value);
	}
	if (json_get(report, "recommendations"))
		buf_adds(&text, "\n## Recommendations\n\n");
	json_each_member (m, json_get(report, "recommendations"))
		buf_addf(&text, "- %s: %s: %s; %s\n", m->name, json_get_text(m->value, "verdict", ""),
			json_get_text(m->value, "reason", ""), json_get_text(m->value, "next_step", ""));
	return text.p;
}
