/* promotion.c — the digest of what could become a skill, and its state file. */
#include "remember/promotion.h"

#include "base/doc.h"
#include "base/hash.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { SUCCESSES = 3, USUAL = 5, SUMMARY_BYTES = 800, ID_LENGTH = 8 };

static struct doc doc_of(const struct promotion_place *p)
{
	return (struct doc){ .file = p->file,
		.lock = arena_printf(p->a, "%s.lock", p->file),
		.type = JSON_OBJECT,
		.max_bytes = 16 << 20,
		.mode = 0644,
		.code = "PROMOTION_STATE" };
}

static struct json *entries_of(const struct promotion_place *p, struct json *doc)
{
	struct json *list = json_get(doc, "entries");

	if (!json_is(list, JSON_ARRAY)) {
		list = json_new(p->a, JSON_ARRAY);
		json_set(p->a, doc, "entries", list);
	}
	return list;
}

static struct json *find_entry(const struct json *list, const char *id)
{
	json_each (one, list)
		if (text_eq(json_get_text(one, "candidate_id", ""), id))
			return one;
	return NULL;
}

/* Both parts with a NUL between them, so that no two pairs are one text. */
static const char *candidate_id(struct arena *a, const char *skill, const char *name)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, skill ? skill : "");
	buf_addc(&text, '\0');
	buf_adds(&text, name);
	return arena_strndup(a, sha256_prefixed(a, text.p, text.n) + strlen("sha256:"), ID_LENGTH);
}

static bool is_decided(const struct json *entry)
{
	const char *status = json_get_text(entry, "status", "");

	return text_eq(status, "approved") || text_eq(status, "rejected");
}

/* Under the id of its normal name; ids of other spellings, as older versions made them, count as well. */
static struct json *known_as(
	const struct promotion_place *p, const struct json *entries, const struct json *group, const char *id)
{
	struct json *entry = find_entry(entries, id);

	return entry ? entry
		     : find_entry(entries,
			       candidate_id(p->a, json_get_text(group, "skill", NULL),
				       json_get_text(group, "task_name", "")));
}

static struct json *offer(
	const struct promotion_place *p, const struct json *group, const char *id, bool is_new)
{
	struct arena *a = p->a;
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "candidate_id", id);
	json_sets(a, one, "skill", json_get_text(group, "skill", NULL));
	json_sets(a, one, "task_name", json_get_text(group, "task_name", ""));
	json_seti(a, one, "count", json_get_int(group, "count", 0));
	json_set(a, one, "sample_trace_ids", json_get(group, "sample_trace_ids"));
	json_sets(a, one, "status", is_new ? "new" : "reminder");
	return one;
}

static struct json *new_entry(const struct promotion_place *p, const struct json *candidate, const char *now)
{
	static const char *const names[] = { "skill", "task_name", "count", "sample_trace_ids" };
	struct arena *a = p->a;
	struct json *entry = json_new(a, JSON_OBJECT), *print = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_set(a, print, names[i], json_copy(a, json_get(candidate, names[i])));
	json_sets(a, entry, "candidate_id", json_get_text(candidate, "candidate_id", ""));
	json_set(a, entry, "fingerprint", print);
	json_sets(a, entry, "notified_at", now);
	json_sets(a, entry, "status", "notified");
	return entry;
}

/* At most SUMMARY_BYTES, cut between characters. */
static const char *summary(struct arena *a, const struct json *candidates, size_t more)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text,
		candidates->n ? "Work that succeeded again and again and could become a skill:\n"
			      : "Nothing succeeded often enough to become a skill.");
	json_each (one, candidates) {
		const char *skill = json_get_text(one, "skill", NULL),
			   *sample = json_text(json_at(json_get(one, "sample_trace_ids"), 0));
		buf_addf(&text, "\n[%s] %s%s%s x%lld (%s)%s", json_get_text(one, "candidate_id", ""),
			skill ? skill : "", skill ? " / " : "", json_get_text(one, "task_name", ""),
			(long long)json_get_int(one, "count", 0), sample ? sample : "-",
			text_eq(json_get_text(one, "status", ""), "reminder") ? " (reminder)" : "");
	}
	if (more)
		buf_addf(&text, "\n+ %zu more", more);
	if (text.n <= SUMMARY_BYTES)
		return text.p;
	size_t n = SUMMARY_BYTES - strlen("...");
	while (n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return arena_printf(a, "%.*s...", (int)n, text.p);
}

static struct json *examples(struct arena *a, const struct json *candidates)
{
	struct json *list = json_new(a, JSON_ARRAY);
	const char *id = json_get_text(json_at(candidates, 0), "candidate_id", NULL);

	if (!id)
		return list;
	json_pushs(a, list, arena_printf(a, "approve %s", id));
	json_pushs(a, list, arena_printf(a, "reject %s not worth it", id));
	json_pushs(a, list, arena_printf(a, "details %s", id));
	return list;
}

int promotion_digest(
	const struct promotion_place *p, const struct promotion_digest *d, struct json **ret, struct err *e)
{
	static const struct trace_least least = { SUCCESSES, SIZE_MAX, SIZE_MAX };
	struct arena *a = p->a;
	const struct doc file = doc_of(p);
	AUTO(close_fd) int lock = -1;
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY), *state, *traces;
	const char *now = text_time_iso(a, p->sys->now_us(p->sys));
	size_t most = d->most ? d->most : USUAL, more = 0;
	bool is_changed = false;
	int rc = trace_newest(&p->traces, TRACES_LOOKED_AT, &traces, e);

	if (rc == OK && d->record)
		rc = doc_lock(p->sys, p->dir_fd, &file, &lock, e);
	if (rc == OK)
		rc = doc_load(p->sys, a, p->dir_fd, &file, &state, e);
	if (rc)
		return rc;
	struct json *entries = entries_of(p, state);
	json_each (group, json_get(trace_candidates(a, traces, &least), "scaffold")) {
		const char *id = candidate_id(
			a, json_get_text(group, "skill", NULL), json_get_text(group, "name", ""));
		struct json *entry = known_as(p, entries, group, id);
		if (is_decided(entry))
			continue;
		if (list->n >= most) {
			more++;
			continue;
		}
		struct json *one =
			offer(p, group, entry ? json_get_text(entry, "candidate_id", id) : id, !entry);
		json_push(a, list, one);
		if (!entry) {
			json_push(a, entries, new_entry(p, one, now));
			is_changed = true;
		}
	}
	json_sets(a, doc, "generated_at", now);
	json_sets(a, doc, "cadence", d->cadence);
	json_set(a, doc, "candidates", list);
	json_sets(a, doc, "summary_text", summary(a, list, more));
	json_set(a, doc, "approval_reply_examples", examples(a, list));
	*ret = doc;
	return is_changed && d->record ? doc_replace(p->sys, a, p->dir_fd, &file, state, e) : OK;
}

/* ---- answers ---- */

bool promotion_reply(struct arena *a, const char *text, enum promotion_verb *ret_verb, const char **ret_id,
	const char **ret_reason)
{
	static const char *const verbs[] = { "approve", "reject", "details" };
	size_t v = 0;

	text += strspn(text, " \t");
	while (v < ARRAY_SIZE(verbs) && strncasecmp(text, verbs[v], strlen(verbs[v])) != 0)
		v++;
	if (v == ARRAY_SIZE(verbs))
		return false;
	const char *p = text + strlen(verbs[v]), *id = p + strspn(p, " \t");
	size_t n = strspn(id, "0123456789abcdefABCDEF");
	const char *rest = id + n + strspn(id + n, " \t");
	if (id == p || n != ID_LENGTH || (rest == id + n && *rest && *rest != '\n') ||
		(v == PROMOTION_REJECT && strpbrk(rest, "\r\n")))
		return false;
	char *lower = arena_strndup(a, id, n);
	for (char *c = lower; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	*ret_verb = (enum promotion_verb)v;
	*ret_id = lower;
	*ret_reason = v == PROMOTION_REJECT && *rest ? rest : NULL;
	return true;
}

int promotion_decide(const struct promotion_place *p, enum promotion_verb verb, const char *given,
	const char *by, const char *reason, struct json **ret, struct err *e)
{
	struct arena *a = p->a;
	const struct doc file = doc_of(p);
	AUTO(close_fd) int lock = -1;
	struct json *state;
	char *id = arena_strdup(a, given);
	int rc = doc_lock(p->sys, p->dir_fd, &file, &lock, e);

	for (char *c = id; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (rc == OK)
		rc = doc_load(p->sys, a, p->dir_fd, &file, &state, e);
	if (rc)
		return rc;
	struct json *entry = find_entry(entries_of(p, state), id);
	if (!entry)
		return err_set(e, E_MISSING, "PROMOTION_UNKNOWN", "no candidate '%.40s' was offered", given);
	*ret = entry;
	if (verb == PROMOTION_DETAILS)
		return OK;
	if (is_decided(entry))
		return err_set(e, E_INPUT, "PROMOTION_DECIDED", "candidate %s is %s already", id,
			json_get_text(entry, "status", "decided"));
	const char *now = text_time_iso(a, p->sys->now_us(p->sys));
	if (verb == PROMOTION_APPROVE) {
		json_sets(a, entry, "status", "approved");
		json_sets(a, entry, "approved_by", by);
		json_sets(a, entry, "approved_at", now);
	} else {
		json_sets(a, entry, "status", "rejected");
		json_sets(a, entry, "rejected_by", by);
		json_sets(a, entry, "rejected_at", now);
		json_sets(a, entry, "reason", reason);
	}
	return doc_replace(p->sys, a, p->dir_fd, &file, state, e);
}

int promotion_pending(const struct promotion_place *p, struct json **ret, struct err *e)
{
	const struct doc file = doc_of(p);
	struct json *state, *list = json_new(p->a, JSON_ARRAY);
	int rc = doc_load(p->sys, p->a, p->dir_fd, &file, &state, e);

	if (rc)
		return rc;
	json_each (one, json_get(state, "entries"))
		if (!is_decided(one))
			json_push(p->a, list, one);
	*ret = list;
	return OK;
}
