/* claims.c — lines of skills that say that something does not work, and how long that is believed.
 *
 * A claim is found again by its skill and its text, whatever line it stands in by now; the id is that of the line it was found in first.  One whose
 * line is gone is resolved. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "remember/lifecycle.h"
#include "remember/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, CLAIM_TEXT = 240, DAY_S = 24 * 3600, PREFIX_WORDS = 64 };

/* ---- finding ---- */

/* Those of the first Helm come first, so that its claims keep their keyword. */
static const char *const keywords[] = { "does not work", "doesn't work", "unavailable", "not installed",
	"not supported", "failed", "안 됨", "없음", "불가", "실패", "지원하지 않음", "does not exist",
	"doesn't exist", "do not exist", "don't exist", "do not work", "don't work", "no longer works",
	"no longer exists", "there is no command", "there is no option", "there is no such",
	"there is no way", "no such command", "no such option", "not available", "not implemented",
	"unsupported", "doesn't support", "does not support", "is broken", "cannot be used", "can't be used",
	"not possible", "없다", "없습니다", "안 된다", "안 됩니다", "지원하지 않", "지원되지 않",
	"작동하지 않", "동작하지 않", "존재하지 않", NULL };

static const char *keyword_in(const char *folded)
{
	for (const char *const *k = keywords; *k; k++)
		if (strstr(folded, *k))
			return *k;
	return NULL;
}

/* As many characters as fit, none of them cut. */
static const char *cut(struct arena *a, const char *text, size_t most)
{
	const char *p = text;

	for (size_t n = 0; *p && n < most; n++) {
		p++;
		while (((unsigned char)*p & 0xc0) == 0x80)
			p++;
	}
	return arena_strndup(a, text, (size_t)(p - text));
}

static const char *claim_id(struct arena *a, const char *skill, size_t line, const char *text)
{
	const char *whole = arena_printf(a, "%s|%zu|%s", skill, line, text);

	return arena_printf(a, "sha256:%.16s", sha256_prefixed(a, whole, strlen(whole)) + strlen("sha256:"));
}

static const char *stripped(struct arena *a, struct bytes line)
{
	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	while (line.n && strchr(" \t\r", line.p[0])) {
		line.p++;
		line.n--;
	}
	return arena_strndup(a, (const char *)line.p, line.n);
}

static void find_in(struct lifecycle *l, const struct skill *s, struct json *list)
{
	struct arena *a = l->at.a;
	const char *file = arena_printf(a, "%s/SKILL.md", s->dir);
	struct bytes text;
	bool is_fenced = false;
	size_t number = 0, n;

	if (file_read(l->at.sys, a, l->at.root_fd, file, MAX_TEXT, FILE_BENEATH, &text, NULL))
		return;
	text.p = (const uint8_t *)text_utf8(a, (const char *)text.p, text.n, "?", &n);
	text.n = n;
	while (text.n) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		struct bytes line = { text.p, end ? (size_t)(end - text.p) : text.n };
		text = (struct bytes){ line.p + line.n + (end != NULL), text.n - line.n - (end != NULL) };
		const char *said = stripped(a, line);
		number++;
		if (text_starts(said, "```")) {
			is_fenced = !is_fenced;
			continue;
		}
		const char *word = is_fenced ? NULL : keyword_in(text_fold(a, said, strlen(said)));
		if (!word)
			continue;
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "claim_id", claim_id(a, s->id, number, said));
		json_sets(a, one, "skill_id", s->id);
		json_sets(a, one, "skill_md", file);
		json_seti(a, one, "line_no", (int64_t)number);
		json_sets(a, one, "keyword", word);
		json_sets(a, one, "text", cut(a, said, CLAIM_TEXT));
		json_push(a, list, one);
	}
}

int claims_find(struct lifecycle *l, struct json **ret, struct err *e)
{
	static const char *const rooms[] = { "skills", "skills/.archive", NULL };
	struct skill *skills;
	size_t n;
	int rc = skill_list(&l->at, rooms, &skills, &n, e);

	*ret = json_new(l->at.a, JSON_ARRAY);
	for (size_t i = 0; rc == OK && i < n; i++)
		if (skills[i].has_text)
			find_in(l, &skills[i], *ret);
	return rc;
}

/* ---- keeping ---- */

static struct json *entry_of(struct lifecycle *l, const char *skill_id)
{
	return json_get(json_get(l->usage, "skills"), skill_id);
}

static struct json *claims_of(struct lifecycle *l, struct json *entry)
{
	struct json *list = json_get(entry, "negative_claims");

	if (!json_is(list, JSON_ARRAY)) {
		list = json_new(l->at.a, JSON_ARRAY);
		json_set(l->at.a, entry, "negative_claims", list);
	}
	return list;
}

/* Letters alone, so that a bullet or a blank more is no other claim. */
static const char *normal(struct arena *a, const char *text)
{
	struct buf out;
	const char *folded = text_fold(a, text, strlen(text));

	buf_init(&out, a);
	for (const char *p = folded; *p; p++)
		if ((unsigned char)*p >= 0x80 || strchr("abcdefghijklmnopqrstuvwxyz0123456789", *p))
			buf_addc(&out, *p);
		else if (out.n && out.p[out.n - 1] != ' ')
			buf_addc(&out, ' ');
	return out.p;
}

static struct json *same_claim(struct lifecycle *l, const struct json *list, const struct json *found)
{
	const char *text = normal(l->at.a, json_get_text(found, "text", ""));

	json_each (one, list)
		if (text_eq(json_get_text(one, "claim_id", ""), json_get_text(found, "claim_id", "-")) ||
			text_eq(normal(l->at.a, json_get_text(one, "text", "")), text))
			return one;
	return NULL;
}

static const char *stamp(struct lifecycle *l)
{
	int64_t us = l->at.sys->now_us(l->at.sys);

	return text_time_iso(l->at.a, us - us % 1000000);
}

static struct json *new_claim(
	struct lifecycle *l, const struct json *found, int64_t ttl_days, double confidence)
{
	struct arena *a = l->at.a;
	struct json *one = json_new(a, JSON_OBJECT);
	static const char *const names[] = { "claim_id", "text", "keyword", "skill_md", "line_no" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_set(a, one, names[i], json_copy(a, json_get(found, names[i])));
	json_sets(a, one, "detected_at", stamp(l));
	json_sets(a, one, "last_revalidated_at", NULL);
	json_seti(a, one, "ttl_days", ttl_days);
	json_set(a, one, "confidence", json_double(a, confidence));
	json_sets(a, one, "status", "needs_review");
	return one;
}

/* Claims of skills that are on disk, whose line is not there any more. */
static int64_t resolve_gone(struct lifecycle *l, const struct json *found)
{
	struct arena *a = l->at.a;
	int64_t gone = 0;

	json_each_member (m, json_get(l->usage, "skills"))
		json_each (claim, json_get(m->value, "negative_claims")) {
			bool is_there = text_eq(json_get_text(claim, "status", ""), "resolved") ||
				text_eq(json_get_text(m->value, "state", ""), "missing");
			json_each (one, found)
				is_there |= text_eq(json_get_text(one, "skill_id", ""), m->name) &&
					text_eq(normal(a, json_get_text(one, "text", "")),
						normal(a, json_get_text(claim, "text", "-")));
			if (is_there)
				continue;
			json_sets(a, claim, "status", "resolved");
			json_sets(a, claim, "revalidation_note", "the line is gone");
			json_sets(a, claim, "last_revalidated_at", stamp(l));
			gone++;
		}
	return gone;
}

int claims_persist(struct lifecycle *l, const struct json *found, int64_t ttl_days, double confidence,
	struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *doc = json_new(a, JSON_OBJECT), *scanned;
	int64_t added = 0, kept = 0;
	int rc = OK;

	json_each (one, found)
		if (rc == OK && !entry_of(l, json_get_text(one, "skill_id", "")))
			rc = lifecycle_scan(l, false, &scanned, e);
	if (rc)
		return rc;
	json_each (one, found) {
		struct json *entry = entry_of(l, json_get_text(one, "skill_id", ""));
		if (!json_is(entry, JSON_OBJECT))
			continue;
		struct json *list = claims_of(l, entry), *known = same_claim(l, list, one);
		if (!known) {
			json_push(a, list, new_claim(l, one, ttl_days, confidence));
			added++;
			continue;
		}
		json_set(a, known, "line_no", json_copy(a, json_get(one, "line_no")));
		json_set(a, known, "skill_md", json_copy(a, json_get(one, "skill_md")));
		kept++;
	}
	json_seti(a, doc, "added", added);
	json_seti(a, doc, "kept", kept);
	json_seti(a, doc, "removed_stale", 0);
	json_seti(a, doc, "gone", resolve_gone(l, found));
	*ret = doc;
	return lifecycle_save(l, e);
}

struct json *claims_open(struct lifecycle *l, const struct json *found)
{
	struct json *list = json_new(l->at.a, JSON_ARRAY);

	json_each (one, found) {
		const struct json *known = same_claim(
			l, json_get(entry_of(l, json_get_text(one, "skill_id", "")), "negative_claims"), one);
		if (!known || !text_eq(json_get_text(known, "status", ""), "resolved"))
			json_push(l->at.a, list, one);
	}
	return list;
}

/* ---- due ---- */

struct due {
	struct json *claim;
	double days;
};

static int longest_first(const void *x, const void *y)
{
	const struct due *p = x, *q = y;

	return p->days < q->days ? 1 : p->days > q->days ? -1 : 0;
}

/* Days beyond its time; negative or NAN: it is not due. */
static double overdue(const struct json *claim, int64_t now_us, const char **ret_anchor)
{
	const char *again = json_get_text(claim, "last_revalidated_at", NULL),
		   *since = again ? again : json_get_text(claim, "detected_at", "");
	const struct json *ttl = json_get(claim, "ttl_days");
	double days = json_is(ttl, JSON_NUMBER) ? strtod(ttl->text, NULL) : 0;
	int64_t us;

	*ret_anchor = again ? "last_revalidated_at" : "detected_at";
	if (text_eq(json_get_text(claim, "status", ""), "resolved") || days <= 0 || !memory_time(since, &us))
		return -1;
	return (double)(now_us - us) / 1e6 / DAY_S - days;
}

static struct json *due_claim(
	struct lifecycle *l, const char *skill, const struct json *claim, const char *anchor, double days)
{
	struct arena *a = l->at.a;
	struct json *one = json_copy(a, claim);
	const char *probe = json_get_text(claim, "probe_command", NULL);
	const char *const *argv;
	size_t argc;

	json_sets(a, one, "skill_id", skill);
	json_sets(a, one, "anchor", anchor);
	json_set(a, one, "due_since_days", json_double(a, round(days * 10) / 10));
	if (probe)
		json_setb(a, one, "probe_allowed", claims_may_probe(l, probe, &argv, &argc));
	else
		json_sets(a, one, "probe_allowed", NULL);
	return one;
}

struct json *claims_due(struct lifecycle *l)
{
	struct arena *a = l->at.a;
	struct json *list = json_new(a, JSON_ARRAY);
	struct due *all = NULL;
	size_t n = 0, room = 0;
	const int64_t now_us = l->at.sys->now_us(l->at.sys); /* one moment for all of them */

	json_each_member (m, json_get(l->usage, "skills"))
		json_each (claim, json_get(m->value, "negative_claims")) {
			const char *anchor;
			double days = overdue(claim, now_us, &anchor);
			if (!(days >= 0))
				continue;
			if (n == room) {
				all = arena_grow(a, all, n * sizeof(*all), (room + 64) * sizeof(*all));
				room += 64;
			}
			all[n++] = (struct due){ due_claim(l, m->name, claim, anchor, days), days };
		}
	/* Stable: equal ones keep their order. */
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && longest_first(&all[j - 1], &all[j]) > 0; j--) {
			struct due x = all[j];
			all[j] = all[j - 1];
			all[j - 1] = x;
		}
	for (size_t i = 0; i < n; i++)
		json_push(a, list, all[i].claim);
	return list;
}

/* ---- looking again ---- */

int claims_get(
	struct lifecycle *l, const char *skill_id, const char *claim_id_, struct json **ret, struct err *e)
{
	struct json *entry = entry_of(l, skill_id);

	if (!json_is(entry, JSON_OBJECT))
		return err_set(e, E_USAGE, "SKILL_UNKNOWN", "no skill '%.100s' was seen here", skill_id);
	json_each (claim, json_get(entry, "negative_claims"))
		if (text_eq(json_get_text(claim, "claim_id", ""), claim_id_)) {
			*ret = claim;
			return OK;
		}
	return err_set(e, E_USAGE, "CLAIM_UNKNOWN", "skill '%s' has no claim '%.100s'", skill_id, claim_id_);
}

/* The words of a prefix: one text, or a list of them. */
static size_t prefix_words(struct arena *a, const struct json *prefix, const char *const **ret)
{
	size_t n = 0;
	const char **words;

	if (json_text(prefix))
		return text_words(a, json_text(prefix), ret, &n) ? n : 0;
	words = arena_zalloc(a, PREFIX_WORDS + 1, sizeof(*words));
	json_each (word, prefix) {
		if (!json_text(word) || n == PREFIX_WORDS)
			return 0;
		words[n++] = json_text(word);
	}
	*ret = words;
	return n;
}

bool claims_may_probe(
	struct lifecycle *l, const char *command, const char *const **ret_argv, size_t *ret_argc)
{
	if (!text_words(l->at.a, command, ret_argv, ret_argc) || !*ret_argc)
		return false;
	json_each (prefix, json_get(l->config, "negative_claim_safe_probe_prefixes")) {
		const char *const *words;
		size_t n = prefix_words(l->at.a, prefix, &words), i = 0;
		while (i < n && i < *ret_argc && text_eq(words[i], (*ret_argv)[i]))
			i++;
		if (n && i == n)
			return true;
	}
	return false;
}

int claims_update(struct lifecycle *l, const char *skill_id, struct json *claim, const char *status,
	const char *note, const struct json *probe, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *more = json_new(a, JSON_OBJECT);

	json_sets(a, claim, "status", status);
	json_sets(a, claim, "last_revalidated_at", stamp(l));
	if (note)
		json_sets(a, claim, "revalidation_note", note);
	if (probe)
		json_set(a, claim, "last_probe", json_copy(a, probe));
	json_sets(a, more, "claim_id", json_get_text(claim, "claim_id", ""));
	json_sets(a, more, "status", status);
	if (note)
		json_sets(a, more, "note", note);
	int rc = lifecycle_save(l, e);
	return rc ? rc : lifecycle_event(l, "negative_claim_revalidated", skill_id, more, e);
}
