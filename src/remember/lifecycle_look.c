/* lifecycle_look.c — what the life of skills looks like: summary, events, outcomes.  Reads only. */
#include "base/text.h"
#include "record/record.h"
#include "remember/lifecycle.h"
#include "remember/memory.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS "events.jsonl"
enum { DAY_S = 24 * 3600, USED_OFTEN = 3 };

/* ---- summary ---- */

struct ranked {
	const char *id;
	double days;
};

static int longest_first(const void *x, const void *y)
{
	const struct ranked *p = x, *q = y;

	int64_t x_days = (int64_t)p->days, y_days = (int64_t)q->days;

	return x_days != y_days ? (x_days < y_days ? 1 : -1) : strcmp(q->id, p->id);
}

static double days_since(const struct lifecycle *l, const char *text)
{
	int64_t us;

	return text && memory_time(text, &us) ? (double)(l->at.sys->now_us(l->at.sys) - us) / 1e6 / DAY_S : 0;
}

static bool is_in(const struct json *entry, const char *state)
{
	return text_eq(json_get_text(entry, "state", "active"), state);
}

/* [[id, whole days]], longest first. */
static struct json *rank(struct arena *a, struct ranked *list, size_t n)
{
	struct json *out = json_new(a, JSON_ARRAY);

	if (n)
		qsort(list, n, sizeof(*list), longest_first);
	for (size_t i = 0; i < n; i++) {
		struct json *pair = json_new(a, JSON_ARRAY);
		json_pushs(a, pair, list[i].id);
		json_push(a, pair, json_number(a, (int64_t)list[i].days));
		json_push(a, out, pair);
	}
	return out;
}

static bool is_protected(const struct lifecycle *l, const struct json *entry)
{
	json_each (source, json_get(l->config, "protect_sources"))
		if (json_text(source) && text_eq(json_text(source), json_get_text(entry, "source", "")))
			return true;
	return false;
}

static struct json *count_states(struct arena *a, const struct json *skills)
{
	static const char *const states[] = { "active", "stale", "archived", "missing" };
	struct json *counts = json_new(a, JSON_OBJECT);
	int64_t pinned = 0;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		int64_t n = 0;
		json_each_member (m, skills)
			n += is_in(m->value, states[i]);
		json_seti(a, counts, states[i], n);
	}
	json_each_member (m, skills)
		pinned += json_get_bool(m->value, "pinned", false);
	json_seti(a, counts, "pinned", pinned);
	return counts;
}

static void advise(struct arena *a, struct json *list, size_t n, const char *kind, const char *detail,
	const char *command)
{
	struct json *one = json_new(a, JSON_OBJECT);

	if (!n)
		return;
	json_sets(a, one, "kind", kind);
	json_sets(a, one, "detail", arena_printf(a, "%zu %s", n, detail));
	json_sets(a, one, "command", command);
	json_push(a, list, one);
}

static struct json *pin_candidates(struct arena *a, const struct json *skills)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each_member (m, skills) {
		int64_t uses = json_get_int(m->value, "use_count", 0);
		if (uses < USED_OFTEN || json_get_bool(m->value, "pinned", false) ||
			is_in(m->value, "archived") || is_in(m->value, "missing"))
			continue;
		struct json *pair = json_new(a, JSON_ARRAY);
		json_pushs(a, pair, m->name);
		json_push(a, pair, json_number(a, uses));
		json_push(a, list, pair);
	}
	return list;
}

int lifecycle_summary(struct lifecycle *l, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	const struct json *skills = json_get(l->usage, "skills"),
			  *limit = json_get(l->config, "archive_after_days");
	struct json *doc = json_new(a, JSON_OBJECT), *claims, *clusters, *actions = json_new(a, JSON_ARRAY);
	struct ranked *never = arena_zalloc(a, skills->n + 1, sizeof(*never)),
		      *least = arena_zalloc(a, skills->n + 1, sizeof(*least)),
		      *old = arena_zalloc(a, skills->n + 1, sizeof(*old));
	size_t never_n = 0, least_n = 0, old_n = 0;
	int rc = lifecycle_umbrella(l, 3, &clusters, e);

	if (rc == OK)
		rc = claims_find(l, &claims, e);
	if (rc)
		return rc;
	claims = claims_open(l, claims);
	json_each_member (m, skills) {
		const char *used = json_get_text(m->value, "last_used_at", NULL);
		double days = days_since(l, used ? used : json_get_text(m->value, "first_seen_at", NULL));
		if (!json_is(m->value, JSON_OBJECT) || is_in(m->value, "archived") ||
			is_in(m->value, "missing"))
			continue;
		if (used)
			least[least_n++] = (struct ranked){ m->name, days };
		else if (!json_get_int(m->value, "use_count", 0))
			never[never_n++] = (struct ranked){ m->name, days };
		if (!json_get_bool(m->value, "pinned", false) && !is_protected(l, m->value) &&
			days >= (json_is(limit, JSON_NUMBER) ? strtod(limit->text, NULL) : 120))
			old[old_n++] = (struct ranked){ m->name, days };
	}
	json_seti(a, doc, "total", skills->n);
	json_set(a, doc, "counts", count_states(a, skills));
	json_set(a, doc, "never_used", rank(a, never, never_n));
	json_set(a, doc, "least_recently_used", rank(a, least, least_n));
	json_set(a, doc, "archive_candidates", rank(a, old, old_n));
	json_set(a, doc, "pin_candidates", pin_candidates(a, skills));
	json_set(a, doc, "umbrella_candidates", clusters);
	json_set(a, doc, "negative_claim_candidates", claims);
	advise(a, actions, never_n, "review_never_used", "skills were never used",
		"helm skill-lifecycle stale");
	advise(a, actions, old_n, "review_archive_candidates", "skills are idle for long",
		"helm skill-lifecycle archive SKILL");
	advise(a, actions, json_get(doc, "pin_candidates")->n, "consider_pinning", "skills are used often",
		"helm skill-lifecycle pin SKILL");
	advise(a, actions, clusters->n, "review_umbrella", "groups of skills could be one",
		"helm skill-lifecycle umbrella");
	advise(a, actions, claims->n, "review_negative_claims", "lines say that something does not work",
		"helm skill-lifecycle negative-claims --persist");
	json_set(a, doc, "recommended_actions", actions);
	*ret = doc;
	return OK;
}

/* ---- events ---- */

struct gathering {
	struct arena *a;
	const char *skill;
	bool only_outcomes;
	struct json *rows;
};

static int gather(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct gathering *g = arg;

	(void)place;
	(void)line;
	(void)e;
	if (row && (!g->skill || text_eq(json_get_text(row, "skill_id", ""), g->skill)) &&
		(!g->only_outcomes || json_is(json_get(row, "outcome"), JSON_OBJECT)))
		json_push(g->a, g->rows, json_copy(g->a, row));
	return 0;
}

static int rows_of(struct lifecycle *l, const char *skill, bool only_outcomes, size_t limit,
	struct json **ret, struct err *e)
{
	struct gathering g = { l->at.a, skill, only_outcomes, json_new(l->at.a, JSON_ARRAY) };
	int rc = l->dir_fd < 0 ? OK : rows_each(l->at.sys, l->dir_fd, EVENTS, 0, gather, &g, e);

	*ret = g.rows;
	if (rc == OK && limit && g.rows->n > limit) {
		*ret = json_new(l->at.a, JSON_ARRAY);
		for (size_t i = g.rows->n - limit; i < g.rows->n; i++)
			json_push(l->at.a, *ret, g.rows->items[i]);
	}
	return rc;
}

int lifecycle_events(struct lifecycle *l, const char *skill, size_t limit, struct json **ret, struct err *e)
{
	return rows_of(l, skill, false, limit, ret, e);
}

static void count_text(struct arena *a, struct json *counts, const char *name)
{
	json_seti(a, counts, name, json_get_int(counts, name, 0) + 1);
}

int lifecycle_outcomes(struct lifecycle *l, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *rows, *by_skill = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY),
			   *doc = json_new(a, JSON_OBJECT);
	int rc = rows_of(l, NULL, true, 0, &rows, e);

	if (rc)
		return rc;
	json_each (row, rows) {
		const char *id = json_get_text(row, "skill_id", "?");
		const struct json *outcome = json_get(row, "outcome");
		struct json *one = json_get(by_skill, id);
		if (!one) {
			static const char *const names[] = { "total", "success", "failure",
				"improvement_candidates" };
			one = json_new(a, JSON_OBJECT);
			json_sets(a, one, "skill_id", id);
			for (size_t i = 0; i < ARRAY_SIZE(names); i++)
				json_seti(a, one, names[i], 0);
			json_set(a, one, "evidence_quality", json_new(a, JSON_OBJECT));
			json_set(a, by_skill, id, one);
		}
		const char *status = json_get_text(outcome, "status", "");
		count_text(a, one, "total");
		if (text_eq(status, "success") || text_eq(status, "failure"))
			count_text(a, one, status);
		if (json_get_bool(outcome, "improvement_candidate", false))
			count_text(a, one, "improvement_candidates");
		count_text(a, json_get(one, "evidence_quality"),
			json_get_text(outcome, "evidence_quality", "unknown"));
	}
	json_sort_members(by_skill);
	json_each_member (m, by_skill)
		json_push(a, list, m->value);
	json_seti(a, doc, "total_outcomes", rows->n);
	json_set(a, doc, "skills", list);
	*ret = doc;
	return OK;
}

int lifecycle_candidates(struct lifecycle *l, size_t limit, struct json **ret, struct err *e)
{
	struct json *rows, *list = json_new(l->at.a, JSON_ARRAY);
	int rc = rows_of(l, NULL, true, 0, &rows, e);

	if (rc)
		return rc;
	for (size_t i = rows->n; i-- > 0 && (!limit || list->n < limit);)
		if (json_get_bool(json_get(rows->items[i], "outcome"), "improvement_candidate", false))
			json_push(l->at.a, list, rows->items[i]);
	*ret = list;
	return OK;
}

int lifecycle_selection(
	struct lifecycle *l, const char *skill, size_t limit, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *rows, *doc = json_new(a, JSON_OBJECT), *reasons = json_new(a, JSON_OBJECT),
			   *quality = json_new(a, JSON_OBJECT);
	int rc = rows_of(l, skill, true, limit, &rows, e);

	if (rc)
		return rc;
	json_each (row, rows) {
		const struct json *outcome = json_get(row, "outcome");
		count_text(a, reasons, json_get_text(outcome, "selection_reason", "unknown"));
		count_text(a, quality, json_get_text(outcome, "evidence_quality", "unknown"));
	}
	json_seti(a, doc, "total", rows->n);
	json_set(a, doc, "selection_reasons", reasons);
	json_set(a, doc, "evidence_quality", quality);
	*ret = doc;
	return OK;
}
