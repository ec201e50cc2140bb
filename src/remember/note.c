/* note.c — notes with a lifecycle: captured, reviewed, applied, promoted, rejected; and words that claim more than that. */
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "remember/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char *const states[] = { "captured", "reviewed", "applied", "promoted", "rejected", NULL };
static const char *const kinds[] = { "auto_fetch", "web_fetch", "user_paste", "telegram_intake",
	"tool_output", NULL };
static const char *const agents[] = { "openclaw", "helm", "user", NULL };

static bool is_any(const char *word, const char *const *of)
{
	for (; *of; of++)
		if (text_eq(word, *of))
			return true;
	return false;
}

static double number_of(const struct json *fields, const char *name, double fallback)
{
	const struct json *v = json_get(fields, name);

	return json_is(v, JSON_NUMBER) ? strtod(v->text, NULL) : fallback;
}

static bool is_scope(const char *scope)
{
	const char *slash = strchr(scope, '/');

	return slash && slash > scope && slash[1] && !strchr(slash + 1, '/');
}

struct json *memory_note_problems(struct arena *a, const struct json *fields)
{
	struct json *list = json_new(a, JSON_ARRAY);
	const struct json *from = json_get(fields, "provenance");
	const char *state = json_get_text(fields, "state", "");
	double confidence = number_of(fields, "confidence", -1);

	if (!*json_get_text(fields, "source_id", ""))
		json_pushs(a, list, "source_id is missing");
	if (!is_scope(json_get_text(fields, "scope", "")))
		json_pushs(a, list, "scope is not of the form area/sub");
	if (!is_any(state, states))
		json_pushs(a, list, "state is none of captured, reviewed, applied, promoted, rejected");
	if (!is_any(json_get_text(from, "kind", ""), kinds))
		json_pushs(a, list,
			"provenance.kind is none of auto_fetch, web_fetch, user_paste, telegram_intake, tool_output");
	if (!is_any(json_get_text(from, "agent", ""), agents))
		json_pushs(a, list, "provenance.agent is none of openclaw, helm, user");
	if (json_is(json_get(fields, "confidence"), JSON_NUMBER) ? confidence < 0 || confidence > 1
								 : json_get(fields, "confidence") &&
				!json_is(json_get(fields, "confidence"), JSON_NULL))
		json_pushs(a, list, "confidence is no number from 0 to 1");
	if (text_eq(state, "promoted") && (confidence < 0 || !*json_get_text(fields, "promoted_at", "")))
		json_pushs(a, list, "a promoted note needs promoted_at and confidence");
	return list;
}

const char *memory_note_retention(const char *state)
{
	return text_eq(state, "captured") || text_eq(state, "rejected") ? "raw_capture" : "durable";
}

const char *memory_note_refuses(const struct json *fields, const struct note_move *m)
{
	static const char *const next[][2] = { { "captured", "reviewed" }, { "reviewed", "applied" },
		{ "applied", "promoted" }, { "promoted", "applied" } };
	const char *from = json_get_text(fields, "state", "captured");
	bool is_next = false;

	if (!is_any(m->to, states))
		return "there is no such state: captured, reviewed, applied, promoted, rejected";
	if (text_eq(from, "rejected"))
		return "a rejected note stays rejected";
	for (size_t i = 0; i < ARRAY_SIZE(next); i++)
		is_next |= text_eq(from, next[i][0]) && text_eq(m->to, next[i][1]);
	if (!is_next && !text_eq(m->to, "rejected"))
		return "a note goes from captured to reviewed, applied, promoted; or to rejected";
	/* What the note says of itself, whoever writes it can have written. */
	if (text_eq(m->to, "promoted") && !m->is_person)
		return "promoting takes a person";
	if (text_eq(from, "promoted") && text_eq(m->to, "applied") && !m->incident && !m->is_person)
		return "taking a promotion back takes --incident, or a person";
	return NULL;
}

bool memory_note_is_edited(struct arena *a, const struct json *fields, struct bytes body)
{
	const char *digest = json_get_text(fields, NOTE_BODY_DIGEST, NULL);
	bool is_empty = true;

	for (size_t i = 0; i < body.n; i++)
		is_empty &= memchr(" \t\r\n", body.p[i], 4) != NULL;
	if (json_get_text(fields, "last_user_edit", NULL))
		return true;
	return !is_empty && (!digest || !text_eq(digest, sha256_hex(a, body.p, body.n)));
}

/* ---- words that claim more than the state holds ---- */

/* Bytes of the sentence around a place, at most `most` characters to one side. */
static struct bytes around(const char *text, size_t at, size_t most, bool is_behind)
{
	size_t n = strlen(text), from = at, to = at, count = 0;

	while (count < most && (is_behind ? to < n : from > 0)) {
		char c = is_behind ? text[to] : text[from - 1];
		if (strchr(".!?\n;", c))
			break;
		count += ((unsigned char)c & 0xc0) != 0x80;
		if (is_behind)
			to++;
		else
			from--;
	}
	return (struct bytes){ (const uint8_t *)text + from, to - from };
}

static bool is_negated(struct arena *a, const struct json *rules, const char *text, size_t start, size_t end)
{
	enum { NEAR = 24 };
	struct bytes before = around(text, start, NEAR, false), behind = around(text, end, NEAR, true);
	const char *sides[] = { arena_strndup(a, (const char *)before.p, before.n),
		arena_strndup(a, (const char *)behind.p, behind.n) };

	json_each (word, json_get(rules, "negations"))
		for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
			if (memory_has_word(sides[i], json_text(word)))
				return true;
	return false;
}

/* The first place where it stands as a word and is not negated. */
static bool claims(struct arena *a, const struct json *rules, const char *text, const char *phrase)
{
	size_t n = strlen(phrase);

	for (const char *at = strstr(text, phrase); at; at = strstr(at + 1, phrase)) {
		size_t start = (size_t)(at - text);
		const char *around_it = arena_strndup(a, at - (start > 0), n + 1 + (start > 0));
		if (memory_has_word(around_it, phrase) && !is_negated(a, rules, text, start, start + n))
			return true;
	}
	return false;
}

int memory_lint(struct arena *a, const char *state, struct bytes text, struct json **ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *rules;
	struct bytes table;

	if (!is_any(state, states))
		return err_set(e, E_USAGE, "MEMORY_STATE",
			"'%s' is no state: captured, reviewed, applied, promoted, rejected", state);
	if (!embed_find("share/memory/phrases.json", &table))
		return err_set(
			e, E_MISSING, "MEMORY_PHRASES", "share/memory/phrases.json is not in this program");
	int rc = json_parse(a, table, "phrases.json", NULL, &rules, e);
	if (rc)
		return rc;
	const char *low = memory_lower(a, (const char *)text.p, text.n);
	json_setb(a, doc, "ok", true);
	json_sets(a, doc, "state", state);
	json_sets(a, doc, "reason", NULL);
	json_each (rule, json_get(rules, "claims")) {
		bool is_held = false;
		json_each (s, json_get(rule, "states"))
			is_held |= text_eq(json_text(s), state);
		json_each (phrase, json_get(rule, "phrases")) {
			if (is_held || !json_get_bool(doc, "ok", false) ||
				!claims(a, rules, low, json_text(phrase)))
				continue;
			json_setb(a, doc, "ok", false);
			json_sets(a, doc, "reason", json_get_text(rule, "reason", ""));
			json_sets(a, doc, "phrase", json_text(phrase));
		}
	}
	*ret = doc;
	return OK;
}

/* ---- vaults ---- */

int memory_vault(struct sys *s, struct arena *a, const char *dir, struct json **ret, struct err *e)
{
	static const char *const folders[] = { "00-Inbox", "10-Topics", "20-Sources", "30-Decisions",
		"40-Audit", "90-Rejected", NULL };
	struct json *doc = json_new(a, JSON_OBJECT), *missing = json_new(a, JSON_ARRAY),
		    *extra = json_new(a, JSON_ARRAY);
	char **names;
	size_t n;

	if (!file_is_dir(s, AT_FDCWD, dir))
		return err_set(e, E_USAGE, "MEMORY_VAULT", "'%s' is no directory", dir);
	int rc = file_list(s, a, AT_FDCWD, dir, &names, &n, e);
	if (rc)
		return rc;
	for (const char *const *f = folders; *f; f++)
		if (!file_is_dir(s, AT_FDCWD, path_join(a, dir, *f)))
			json_pushs(a, missing, *f);
	for (size_t i = 0; i < n; i++)
		if (names[i][0] != '.' && !is_any(names[i], folders) &&
			file_is_dir(s, AT_FDCWD, path_join(a, dir, names[i])))
			json_pushs(a, extra, names[i]);
	json_sets(a, doc, "vault_root", dir);
	json_set(a, doc, "missing", missing);
	json_set(a, doc, "extra", extra);
	*ret = doc;
	return OK;
}
