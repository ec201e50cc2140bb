/* freshness.c — when sources outside were last reached, and whether that is recent enough for what depends on them. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "remember/health.h"
#include "remember/memory.h"

#include <string.h>

static const struct {
	const char *id, *risk;
	int64_t minutes;
} connectors[] = {
	{ "google_calendar", "high", 10 }, { "google_sheets", "high", 30 }, { "telegram", "high", 1 },
	{ "google_gmail", "medium", 30 }, { "google_drive", "medium", 60 }, { "notion", "medium", 60 },
	{ "obsidian_vault", "low", 5 }, { "github_briefing", "low", 720 },
	{ NULL, "medium", 60 }, /* any other */
};

static size_t row_of(const char *id)
{
	size_t i = 0;

	while (connectors[i].id && !text_eq(connectors[i].id, id))
		i++;
	return i;
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (; text && *list; list++)
		if (text_eq(*list, text))
			return true;
	return false;
}

static struct json *assess(struct arena *a, const char *id, const struct json *c, bool is_strict, int64_t now)
{
	static const char *const risks[] = { "low", "medium", "high", NULL };
	static const char *const reasons[] = { "none", "network_error", "auth_expired", "rate_limited",
		"not_scheduled", "blocked", "unknown", NULL };
	const size_t row = row_of(id);
	const char *risk = json_get_text(c, "risk_class", NULL),
		   *reason = json_get_text(c, "stale_reason", NULL),
		   *seen = json_get_text(c, "last_seen", NULL),
		   *worked = json_get_text(c, "last_success", NULL);
	int64_t minutes = json_get_int(c, "freshness_sla_minutes", connectors[row].minutes), ok_us, seen_us;
	bool has_worked = worked && memory_time(worked, &ok_us);
	struct json *doc = json_new(a, JSON_OBJECT);

	risk = is_one_of(risk, risks) ? risk : connectors[row].risk;
	reason = !reason ? "none" : is_one_of(reason, reasons) ? reason : "unknown";
	bool is_fresh = has_worked && now - ok_us <= minutes * 60 * 1000000;
	if (is_strict && text_eq(risk, "high") && has_worked && seen && memory_time(seen, &seen_us) &&
		seen_us > ok_us && !text_eq(reason, "none"))
		is_fresh = false;
	json_sets(a, doc, "connector_id", id);
	json_sets(a, doc, "risk_class", risk);
	json_seti(a, doc, "freshness_sla_minutes", minutes);
	json_sets(a, doc, "last_seen", seen);
	json_sets(a, doc, "last_success", worked);
	json_sets(a, doc, "stale_reason", !is_fresh && text_eq(reason, "none") ? "not_scheduled" : reason);
	json_setb(a, doc, "fresh", is_fresh);
	json_set(a, doc, "age_seconds",
		has_worked ? json_number(a, now > ok_us ? (now - ok_us) / 1000000 : 0)
			   : json_new(a, JSON_NULL));
	return doc;
}

int freshness_status(struct sys *s, struct arena *a, int dirfd, const char *file, bool is_strict,
	struct json **ret, struct err *e)
{
	struct json *state, *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	const int64_t now = s->now_us(s);
	int rc = doc_read(s, a, dirfd, file, 16 << 20, 0, &state, e);

	if (rc == E_MISSING) {
		state = json_new(a, JSON_OBJECT);
		rc = OK;
	}
	if (rc == OK)
		rc = doc_check_version(state, "version", 1, file, e);
	if (rc)
		return rc;
	struct json *all = json_get(state, "connectors");
	if (json_is(all, JSON_OBJECT))
		json_sort_members(all);
	json_each_member (m, all)
		json_push(a, list, assess(a, m->name, m->value, is_strict, now));
	json_seti(a, doc, "state_version", json_get_int(state, "version", 1));
	json_sets(a, doc, "checked_at", text_time_iso(a, now));
	json_set(a, doc, "connectors", list);
	*ret = doc;
	return OK;
}
