/* label.c — how far a remembered thing can be relied upon, and how that changes.
 *
 * A label only ever says less by itself: what nobody confirms becomes stale, and nothing is deleted.  More trust takes evidence, and
 * the highest takes a person. */
#include "remember/memory.h"

#include "remember/parts.h"

#include <string.h>

enum { DAY_S = 86400 };

static bool parse_day(const char *text, int64_t *ret_us)
{
	return text && memory_time(text, ret_us);
}

static int64_t age_days(const char *confirmed, int64_t now_us, bool *ret_is_known)
{
	int64_t us;

	*ret_is_known = parse_day(confirmed, &us);
	if (!*ret_is_known || us > now_us)
		return 0;
	return (now_us - us) / 1000000 / DAY_S;
}

/* age_days and freshness, by last_confirmed_at. */
static const char *put_age(struct arena *a, struct json *label, int64_t now_us)
{
	bool is_known;
	int64_t days = age_days(json_get_text(label, "last_confirmed_at", NULL), now_us, &is_known);
	const char *freshness = !is_known ? "stale" : days <= 30 ? "fresh" : days <= 90 ? "aging" : "stale";

	json_sets(a, label, "freshness", freshness);
	json_set(a, label, "age_days", is_known ? json_number(a, days) : json_new(a, JSON_NULL));
	return freshness;
}

/* Words about things that change without asking us. */
static bool needs_live_source(struct arena *a, const struct json *row, const struct json *quality)
{
	static const char *const words[] = { "calendar", "schedule", "amount", "price", "briefing", "latest",
		"current", "file exists", "modified", "캘린더", "일정", "금액", "가격", "브리핑", "최신",
		"현재", "파일 존재", "수정됨" };
	static const char *const members[] = { "task_name", "command_preview", "runtime_note" };

	if (json_get_bool(quality, "requires_live_source", false) ||
		text_eq(json_get_text(row, "profile", ""), "service_ops"))
		return true;
	for (size_t m = 0; m < ARRAY_SIZE(members); m++) {
		const char *text = json_get_text(row, members[m], "");
		const char *lower = memory_lower(a, text, strlen(text));
		for (size_t w = 0; w < ARRAY_SIZE(words); w++)
			if (memory_has_word(lower, words[w]))
				return true;
	}
	return false;
}

static const char *first_status(
	const struct json *row, const struct json *plan, const struct json *quality, const char *freshness)
{
	const char *status = json_get_text(row, "status", "");
	const struct json *flags = json_get(plan, "review_flags"), *events = json_get(plan, "event_types");
	bool is_completed = text_eq(status, "completed");

	if (text_eq(status, "failed"))
		return "raw";
	if (json_get_bool(quality, "deprecated", false) ||
		*json_get_text(quality, "deprecation_reason", "") ||
		text_eq(json_get_text(quality, "status", ""), "deprecated"))
		return "deprecated";
	if (text_eq(freshness, "stale"))
		return "stale";
	if (json_get_bool(quality, "promotion_approved", false) && json_get(quality, "promotion_evidence") &&
		!text_eq(json_get_text(json_get(plan, "claim_state"), "confidence_hint", "low"), "low") &&
		flags->n == 0 && is_completed)
		return "promoted";
	if ((is_completed || text_eq(status, "handoff_required")) && events->n)
		return "candidate";
	return "raw";
}

struct json *memory_label(struct arena *a, const struct json *row, const struct json *plan, int64_t now_us)
{
	struct json *label = json_new(a, JSON_OBJECT);
	const struct json *quality = json_get(json_get(row, "meta"), "memory_quality");
	const struct json *claim = json_get(plan, "claim_state");
	const char *id = json_get_text(quality, "memory_id", "");

	if (!*id)
		id = json_get_text(row, "task_id", "");
	json_sets(a, label, "memory_id", *id ? id : "unassigned");
	json_sets(a, label, "status", "raw");
	json_sets(a, label, "last_confirmed_at", json_get_text(claim, "last_confirmed_at", NULL));
	const char *freshness = put_age(a, label, now_us);
	json_sets(a, label, "status", first_status(row, plan, quality, freshness));
	json_sets(a, label, "confidence", json_get_text(claim, "confidence_hint", "low"));
	json_setb(a, label, "requires_live_source", needs_live_source(a, row, quality));
	json_sets(a, label, "deprecation_reason", json_get_text(quality, "deprecation_reason", NULL));
	json_sets(a, label, "memory_kind",
		text_eq(json_get_text(row, "status", ""), "failed") ? "error_prevention" : "experience");
	json_sets(a, label, "automatic_action", "downrank_only");
	json_setb(a, label, "deletion_eligible", false);
	return label;
}

/* ---- as time goes on ---- */

static const struct lasting {
	const char *status;
	int64_t days;
} lasting[] = { { "raw", 30 }, { "candidate", 60 }, { "promoted", 90 } };

struct json *memory_label_today(struct arena *a, const struct json *label, int64_t now_us)
{
	const char *status = json_get_text(label, "status", "raw");
	const struct lasting *l = &lasting[0]; /* of a status that nobody knows: as of raw */
	bool is_known;

	if (!json_is(label, JSON_OBJECT))
		return NULL;
	struct json *now = json_copy(a, label);
	int64_t days = age_days(json_get_text(label, "last_confirmed_at", NULL), now_us, &is_known);
	(void)put_age(a, now, now_us);
	if (text_eq(status, "stale") || text_eq(status, "deprecated"))
		return now;
	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++)
		if (text_eq(status, lasting[i].status))
			l = &lasting[i];
	if (is_known && days <= l->days)
		return now;
	json_sets(a, now, "status", "stale");
	json_sets(a, now, "decayed_at", text_time_iso(a, now_us));
	json_set(a, now, "decay_reason",
		is_known ? json_stringf(a, "not confirmed for %lld days: look at the live source again",
				   (long long)days)
			 : json_string(
				   a, "nobody knows when it was confirmed: look at the live source again"));
	return now;
}

/* ---- moves ---- */

static const char *lacking(const char *from, const struct json *label, const struct label_move *m)
{
	bool is_candidate = text_eq(m->to, "candidate"), is_promoted = text_eq(m->to, "promoted"),
	     is_deprecated = text_eq(m->to, "deprecated");

	if (is_candidate && !text_eq(from, "raw") && !text_eq(from, "stale"))
		return "only what is raw or stale becomes a candidate";
	if (is_promoted && !text_eq(from, "candidate"))
		return "only a candidate is promoted";
	if (!is_candidate && !is_promoted && !is_deprecated && !text_eq(m->to, "stale"))
		return "the states to move to are candidate, promoted, stale and deprecated";
	if ((is_candidate || is_promoted) && (!m->evidence || !*m->evidence))
		return "it takes evidence (--evidence)";
	if ((is_promoted || is_deprecated) && !m->is_approved)
		return "it takes a person";
	if (is_promoted && text_eq(json_get_text(label, "confidence", "low"), "low"))
		return "its confidence is low: confirm it first";
	if (is_deprecated && (!m->reason || !*m->reason))
		return "it takes a reason (--reason)";
	return NULL;
}

int memory_label_move(struct arena *a, const struct json *label, const struct label_move *move,
	int64_t now_us, struct json **ret, struct err *e)
{
	struct json *today = memory_label_today(a, label, now_us);
	const char *from = json_get_text(today, "status", "raw");
	const char *why_not = today ? lacking(from, today, move) : "the task has no quality label";

	if (why_not)
		return err_set(e, E_USAGE, "MEMORY_LABEL", "a label does not go from %s to %s: %s",
			today ? from : "nothing", move->to, why_not);
	const char *now = text_time_iso(a, now_us);
	json_sets(a, today, "status", move->to);
	json_sets(a, today, "transitioned_at", now);
	json_sets(a, today, "transition_evidence", move->evidence);
	json_setb(a, today, "transition_approved", move->is_approved);
	if (text_eq(move->to, "deprecated"))
		json_sets(a, today, "deprecation_reason", move->reason);
	if (text_eq(move->to, "candidate") || text_eq(move->to, "promoted")) {
		json_sets(a, today, "last_confirmed_at", now);
		(void)json_remove(today, "decayed_at");
		(void)json_remove(today, "decay_reason");
		(void)put_age(a, today, now_us);
	}
	*ret = today;
	return OK;
}
