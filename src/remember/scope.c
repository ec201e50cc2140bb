/* scope.c — what a message asks for at most, by its verbs: looking, keeping, changing, deleting, sending.  The narrowest verb locks.
 *
 * Advice for whoever talks to people; it permits nothing. */
#include "remember/evidence.h"

#include "base/text.h"
#include "remember/parts.h"

#include <ctype.h>
#include <string.h>

enum scope { SCOPE_INSPECT, SCOPE_SAVE, SCOPE_EDIT, SCOPE_DELETE, SCOPE_SEND, SCOPE_COUNT };
static const char *const names[SCOPE_COUNT] = { "inspect", "save", "edit", "delete", "external_send" };

static const struct {
	enum scope scope;
	const char *words; /* English, whole words */
	const char *stems; /* Korean, anywhere */
} verbs[] = {
	{ SCOPE_INSPECT, "check review inspect show list look read find view see",
		"확인 살펴 검토 봐줘 체크 알려 보여 조회 읽어 찾아" },
	{ SCOPE_SAVE, "save record log capture note store archive",
		"저장 기록 남겨 정리해놔 정리해둬 메모 캡처" },
	{ SCOPE_EDIT, "edit update modify change fix patch rename refactor adjust",
		"수정 고쳐 바꿔 업데이트 반영 갱신 추가 교체" },
	{ SCOPE_DELETE, "delete remove drop purge cancel rm", "삭제 지워 없애 제거 취소" },
	{ SCOPE_SEND, "send push commit post publish submit broadcast deploy share",
		"보내 전송 푸시 커밋 발송 등록 올려 공유" },
};

static const struct {
	const char *name;
	unsigned scopes; /* bit per scope */
} resources[] = {
	{ "google_calendar", 1 << SCOPE_INSPECT | 1 << SCOPE_EDIT | 1 << SCOPE_DELETE },
	{ "google_sheets", 1 << SCOPE_INSPECT | 1 << SCOPE_SAVE | 1 << SCOPE_EDIT },
	{ "cron_jobs", 1 << SCOPE_INSPECT | 1 << SCOPE_EDIT | 1 << SCOPE_DELETE },
	{ "openclaw_memory", 1 << SCOPE_INSPECT | 1 << SCOPE_SAVE | 1 << SCOPE_EDIT },
	{ "openclaw_skills", 1 << SCOPE_INSPECT | 1 << SCOPE_EDIT },
	{ "helm_memory_tree", 1 << SCOPE_INSPECT | 1 << SCOPE_SAVE | 1 << SCOPE_EDIT },
	{ "obsidian_vault_existing", 1 << SCOPE_INSPECT | 1 << SCOPE_SAVE | 1 << SCOPE_EDIT },
	{ "downloads_existing", 1 << SCOPE_INSPECT | 1 << SCOPE_DELETE },
	{ "telegram_outbound", 1 << SCOPE_INSPECT | 1 << SCOPE_SEND },
	{ "git_repository", 1 << SCOPE_INSPECT | 1 << SCOPE_SAVE | 1 << SCOPE_EDIT | 1 << SCOPE_SEND },
};

struct finding_verbs {
	struct arena *a;
	const char *text; /* lower case */
	struct json *matches;
	int narrowest; /* -1: none */
};

static void take(struct finding_verbs *f, enum scope scope, const char *verb, const char *language, size_t at)
{
	struct json *one = json_new(f->a, JSON_OBJECT);

	json_sets(f->a, one, "scope", names[scope]);
	json_sets(f->a, one, "verb", verb);
	json_sets(f->a, one, "language", language);
	json_seti(f->a, one, "start", (int64_t)at);
	json_seti(f->a, one, "end", (int64_t)(at + strlen(verb)));
	json_push(f->a, f->matches, one);
	if (f->narrowest < 0 || (int)scope < f->narrowest)
		f->narrowest = (int)scope;
}

static bool is_word_at(const char *text, const char *at, size_t n)
{
	return !(at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		!(isalnum((unsigned char)at[n]) || at[n] == '_');
}

/* Each verb once, where it first stands. */
static void find_verbs(struct finding_verbs *f, enum scope scope, const char *list, bool is_whole)
{
	const char *const *words;
	size_t n;

	if (!text_words(f->a, list, &words, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(words[i]);
		for (const char *at = f->text; (at = strstr(at, words[i])); at += len)
			if (!is_whole || is_word_at(f->text, at, len)) {
				take(f, scope, words[i], is_whole ? "en" : "ko", (size_t)(at - f->text));
				break;
			}
	}
}

/* Something quoted, a path, or a name that begins with a capital. */
static bool has_target(const char *message)
{
	const char *quote = strpbrk(message, "\"'`");

	if (quote && strchr(quote + 1, *quote) > quote + 1)
		return true;
	for (const char *p = message; *p; p++) {
		bool begins = p == message || isspace((unsigned char)p[-1]);
		size_t n = strcspn(p, " \t\r\n");
		if (begins && memchr(p, '/', n) && n > 1)
			return true;
		if (begins && p != message && isupper((unsigned char)*p) && n >= 3)
			return true;
	}
	return false;
}

static const char *refusal_of(const struct finding_verbs *f, bool needs_target, bool has_one)
{
	return f->narrowest < 0		   ? "no_verb_detected"
		: needs_target && !has_one ? "missing_explicit_target"
					   : NULL;
}

static struct json *attempt_of(struct arena *a, const char *attempt, const char *resource, int locked)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	int wanted = -1;
	bool ok;

	for (int i = 0; i < SCOPE_COUNT; i++)
		if (attempt && text_eq(attempt, names[i]))
			wanted = i;
	ok = wanted >= 0 && wanted <= locked;
	const char *why = ok ? "within the locked scope" : "beyond the locked scope";
	for (size_t i = 0; resource && i < ARRAY_SIZE(resources); i++)
		if (text_eq(resource, resources[i].name) && ok && !(resources[i].scopes & 1u << wanted)) {
			ok = false;
			why = "the resource does not permit it";
		}
	json_sets(a, doc, "scope", attempt);
	json_sets(a, doc, "resource", resource);
	json_setb(a, doc, "allowed", ok);
	json_sets(a, doc, "reason", why);
	return doc;
}

bool scope_knows(const char *resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
		if (text_eq(resource, resources[i].name))
			return true;
	return false;
}

struct json *scope_evaluate(struct arena *a, const struct scope_question *q)
{
	static const char *const live[] = { "calendar", "schedule", "price", "latest", "current", "today",
		"일정", "최신", "현재", "오늘", NULL };
	struct json *doc = json_new(a, JSON_OBJECT), *targets = json_new(a, JSON_ARRAY);
	struct finding_verbs f = { .a = a,
		.text = memory_lower(a, q->message, strlen(q->message)),
		.matches = json_new(a, JSON_ARRAY),
		.narrowest = -1 };
	bool is_live = false;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		find_verbs(&f, verbs[i].scope, verbs[i].words, true);
		find_verbs(&f, verbs[i].scope, verbs[i].stems, false);
	}
	for (size_t i = 0; i < q->target_count; i++)
		json_pushs(a, targets, q->targets[i]);
	for (const char *const *w = live; *w; w++)
		is_live |= strstr(f.text, *w) != NULL;
	bool needs_target = f.narrowest >= SCOPE_EDIT;
	const char *refusal = refusal_of(&f, needs_target, q->target_count || has_target(q->message));
	json_sets(a, doc, "message", q->message);
	json_set(a, doc, "matches", f.matches);
	json_sets(a, doc, "locked_scope", f.narrowest < 0 ? NULL : names[f.narrowest]);
	json_setb(a, doc, "requires_target", needs_target);
	json_set(a, doc, "targets", targets);
	json_setb(a, doc, "needs_live_source", is_live);
	json_sets(a, doc, "refusal_reason", refusal);
	bool ok = !refusal;
	if (q->attempt) {
		struct json *attempt = attempt_of(a, q->attempt, q->resource, f.narrowest);
		ok &= json_get_bool(attempt, "allowed", false);
		json_set(a, doc, "attempt", attempt);
	}
	json_setb(a, doc, "allowed", ok);
	return doc;
}
