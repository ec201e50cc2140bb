/* failure.c — signatures of failures, and the four rules about what to do when they repeat. */
#include "remember/failure.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
	SAID_BYTES = 8 << 10,
	LONGEST_TARGET = 128,
	FINGERPRINT = 8,
	SHA_LEAST = 7,
	SHA_MOST = 40,
	DIGITS_LEAST = 4
};

/* ---- which kind ---- */

/* In this order the first that occurs decides. */
static const struct {
	const char *word, *error_class;
} words[] = {
	{ "invalid_grant", "credential_invalid_grant" },
	{ "token has been expired", "credential_invalid_grant" },
	{ "token expired", "credential_invalid_grant" },
	{ "token revoked", "credential_invalid_grant" },
	{ "expired or revoked", "credential_invalid_grant" },
	{ "oauth invalid token", "credential_invalid_grant" },
	{ "google sheets", "google_sheets_api" },
	{ "sheets.googleapis", "google_sheets_api" },
	{ "gemini video", "gemini_video_api" },
	{ "obsidian link", "obsidian_link_maintenance" },
	{ "guard deny", "guard_deny" },
	{ "guard approval required", "guard_deny" },
	{ "blocked by guard", "guard_deny" },
	{ "malformed patch", "patch_failed" },
	{ "patch failed", "patch_failed" },
	{ "failed to apply patch", "patch_failed" },
	{ "hunk failed", "patch_failed" },
	{ "hunk #", "patch_failed" },
	{ "patch does not apply", "patch_failed" },
	{ "timed out", "timeout" },
	{ "timeout", "timeout" },
	{ "command not found", "command_not_found" },
	{ "permission denied", "permission_denied" },
	{ "operation not permitted", "permission_denied" },
	{ "read-only file system", "permission_denied" },
	{ "network is unreachable", "network_unreachable" },
	{ "connection refused", "network_unreachable" },
	{ "no route to host", "network_unreachable" },
	{ "could not resolve host", "dns_failure" },
	{ "name or service not known", "dns_failure" },
	{ "temporary failure in name resolution", "dns_failure" },
	{ "too many requests", "rate_limited" },
	{ "rate limit", "rate_limited" },
	{ "no space left on device", "disk_full" },
	{ "out of memory", "out_of_memory" },
	{ "cannot allocate memory", "out_of_memory" },
	{ "assertionerror", "assertion_failed" },
	{ "assertion", "assertion_failed" },
	{ "syntaxerror", "syntax_error" },
	{ "syntax error", "syntax_error" },
	{ "modulenotfounderror", "import_error" },
	{ "importerror", "import_error" },
	{ "cannot find module", "import_error" },
	{ "merge conflict", "merge_conflict" },
	{ "no such file or directory", "file_not_found" },
};

/* "HTTP 404", "status 503", "HTTP/1.1 429". */
static const char *http_class(const char *folded)
{
	static const char *const before[] = { "http ", "http/1.1 ", "http/2 ", "status ", "status code ",
		"error " };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		for (const char *p = folded; (p = strstr(p, before[i])); p++) {
			const char *code = p + strlen(before[i]);
			if (strspn(code, "0123456789") != 3)
				continue;
			if (strncmp(code, "429", 3) == 0)
				return "rate_limited";
			if (*code == '4' || *code == '5')
				return *code == '4' ? "http_4xx" : "http_5xx";
		}
	return NULL;
}

static const char *class_of(struct arena *a, struct bytes said)
{
	size_t n = said.n > SAID_BYTES ? SAID_BYTES : said.n, clean;

	if (!n)
		return NULL;
	const char *text = text_utf8(a, (const char *)said.p, n, "?", &clean),
		   *folded = text_fold(a, text, clean);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(folded, words[i].word))
			return words[i].error_class;
	const char *http = http_class(folded);
	return http ? http : "exit_nonzero";
}

static bool is_guard(const struct json *event)
{
	const char *stage = json_get_text(event, "failure_stage", ""),
		   *reason = json_get_text(event, "failure_reason", "");
	int64_t code = json_get_int(event, "exit_code", 0);

	return text_eq(stage, "guard") || text_eq(stage, "tool_grant") || code == 24 || code == 25 ||
		strcasestr(reason, "blocked by guard");
}

static const char *error_class(struct arena *a, const struct json *event, struct bytes said)
{
	const struct json *meta = json_get(event, "meta");
	const char *reason = json_get_text(event, "failure_reason", ""), *found = NULL;

	if (is_guard(event))
		return "guard_deny";
	if (text_eq(json_get_text(event, "status", ""), "timeout"))
		return "timeout";
	if (!said.n)
		said = bytes_of(json_get_text(meta, "stderr", json_get_text(meta, "error", "")));
	found = class_of(a, said);
	/* What it printed and nobody knows says less than a reason that somebody does. */
	if (!found || text_eq(found, "exit_nonzero")) {
		const char *other = class_of(a, bytes_of(reason));
		found = other ? other : found;
	}
	if (found && !text_eq(found, "exit_nonzero"))
		return found;
	if (json_get_int(event, "exit_signal", 0))
		return "signal_killed";
	if (json_get_int(event, "exit_code", 0) == 127)
		return "command_not_found";
	return found || json_get_int(event, "exit_code", 0) ? "exit_nonzero" : "unknown";
}

/* ---- by what ---- */

static bool is_python(const char *base)
{
	return text_starts(base, "python");
}

static bool is_shell(const char *base)
{
	static const char *const shells[] = { "sh", "bash", "zsh", "dash", "ksh" };

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (text_eq(shells[i], base))
			return true;
	return false;
}

static const char *head_of(const struct json *event)
{
	const char *head = json_text(json_at(json_get(event, "command"), 0));

	return head ? path_base(head) : "";
}

/* The first operand that names a script; NULL: there is none. */
static const char *script_of(const struct json *event)
{
	const struct json *command = json_get(event, "command");

	for (size_t i = 1; is_python(head_of(event)) && command && i < command->n; i++) {
		const char *word = json_text(command->items[i]);
		if (!word || text_eq(word, "-c") || text_eq(word, "-m"))
			return NULL;
		if (word[0] != '-')
			return text_ends(word, ".py") || strchr(word, '/') ? word : NULL;
	}
	return NULL;
}

static const char *tool_of(struct arena *a, const struct json *event)
{
	const char *script = script_of(event), *head = head_of(event);

	if (script) {
		const char *base = path_base(script), *dot = strrchr(base, '.');
		return dot && dot > base ? arena_strndup(a, base, (size_t)(dot - base)) : base;
	}
	if (!*head && text_eq(json_get_text(event, "runtime_backend", ""), "conversation"))
		return "conversation";
	return *head ? head : "unknown";
}

/* ---- about what ---- */

static bool is_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Is this the name of a temporary directory, and how long is it? */
static size_t temporary(const char *p)
{
	static const char *const places[] = { "/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/",
		"/dev/shm/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_starts(p, places[i]))
			return strlen(places[i]);
	return 0;
}

/* A part of a name that nobody chose: six letters and digits or more, mixed; or what mktemp puts behind "tmp.". */
static bool is_made(const char *p, size_t n, const char *before, const char *from)
{
	size_t digits = 0, letters = 0;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)p[i]) != 0;
		letters += isalpha((unsigned char)p[i]) != 0;
	}
	bool is_mktemp = before - from >= 3 && *before == '.' && memcmp(before - 3, "tmp", 3) == 0;
	return n >= 6 && (is_mktemp || (digits && letters));
}

/* One path below a temporary directory: what was made up for the run is left out. */
static const char *put_temporary(struct buf *to, const char *p)
{
	size_t head = temporary(p);
	const char *from = p;

	buf_add(to, p, head);
	for (p += head; *p && !strchr(" \t\n'\":;,|&<>()", *p);) {
		size_t n = 0;
		while (is_letter(p[n]) && p[n] != '_')
			n++;
		if (!n) {
			buf_addc(to, *p++);
			continue;
		}
		if (is_made(p, n, p - 1, from)) {
			/* Digits that stand alone at the end of a word are left out, as before; everything else is named. */
			size_t letters = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
			if (letters && letters + strspn(p + letters, "0123456789") == n &&
				n - letters >= DIGITS_LEAST)
				buf_add(to, p, letters);
			else
				buf_adds(to, "<tmp>");
		} else if (strspn(p, "0123456789") == n && n >= DIGITS_LEAST) {
			/* left out */
		} else {
			buf_add(to, p, n);
		}
		p += n;
	}
	return p;
}

static size_t uuid_at(const char *p)
{
	static const unsigned groups[] = { 8, 4, 4, 4, 12 };
	const char *q = p;

	for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
		for (unsigned i = 0; i < groups[g]; i++, q++)
			if (!isxdigit((unsigned char)*q))
				return 0;
		if (g + 1 < ARRAY_SIZE(groups) && *q++ != '-')
			return 0;
	}
	return (size_t)(q - p);
}

/* 2026-01-02T03:04:05, with what belongs to it; 20260102T030405Z. */
static size_t time_at(const char *p)
{
	static const char *const shapes[] = { "dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd",
		"ddddddddTddddddZ", "dddddddd-dddddd", "dddddddd_dddddd" };

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t n = 0;
		while (shapes[i][n] &&
			(shapes[i][n] == 'd' ? isdigit((unsigned char)p[n]) != 0 : p[n] == shapes[i][n]))
			n++;
		if (!shapes[i][n])
			return n + strspn(p + n, ".0123456789Z+:");
	}
	return 0;
}

static size_t sha_at(const char *p)
{
	size_t n = 0;

	while (is_hex(p[n]))
		n++;
	return n >= SHA_LEAST && n <= SHA_MOST && !is_letter(p[n]) ? n : 0;
}

/* https://host/path?query: without the query, the scheme in small letters. */
static const char *put_address(struct buf *to, const char *p)
{
	size_t scheme = strcspn(p, ":"), n = strcspn(p, " \t\n'\"?#");

	for (size_t i = 0; i < n; i++)
		buf_addc(to, i < scheme ? (char)tolower((unsigned char)p[i]) : p[i]);
	return p + n + strcspn(p + n, " \t\n'\"");
}

const char *failure_normal(struct arena *a, const struct failure_place *at, const char *text)
{
	struct buf to;
	const char *p = text;

	buf_init(&to, a);
	if (at->workspace && at->workspace[0] && path_is_below(text, at->workspace)) {
		buf_adds(&to, "<workspace>");
		p += strlen(at->workspace);
	} else if (at->home && at->home[0] && at->home[1] && path_is_below(text, at->home)) {
		buf_adds(&to, "~");
		p += strlen(at->home);
	}
	while (*p) {
		bool is_start = p == text || !is_letter(p[-1]);
		size_t n;
		if ((p == text || strchr(" \t'\"=:", p[-1])) && temporary(p)) {
			p = put_temporary(&to, p);
		} else if (is_start &&
			(strncasecmp(p, "http://", 7) == 0 || strncasecmp(p, "https://", 8) == 0)) {
			p = put_address(&to, p);
		} else if (is_start && (n = uuid_at(p))) {
			buf_adds(&to, "<uuid>");
			p += n;
		} else if (is_start && (n = time_at(p))) {
			buf_adds(&to, "<ts>");
			p += n;
		} else if (is_start && (n = sha_at(p))) {
			buf_adds(&to, "<sha>");
			p += n;
		} else {
			buf_addc(&to, *p++);
		}
	}
	return to.p;
}

/* Digits with what a clock or a stopwatch puts between or behind them: 0.031, 12:40:05, 35ms, 2 s. */
static size_t measure_at(const char *p)
{
	static const char *const units[] = { "ms", "us", "ns", "s", "sec", "secs", "second", "seconds", "min",
		"minutes", "h" };
	size_t n = strspn(p, "0123456789"), more = n;

	if (!n)
		return 0;
	while (p[more] && strchr(".:", p[more]) && isdigit((unsigned char)p[more + 1]))
		more += 1 + strspn(p + more + 1, "0123456789");
	const char *unit = p + more + (p[more] == ' ');
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (text_starts(unit, units[i]) && !is_letter(unit[strlen(units[i])]))
			return more;
	return more > n || n >= DIGITS_LEAST ? more : 0;
}

static void put_said(struct buf *to, struct bytes said)
{
	static const struct failure_place nowhere = { 0 };
	size_t clean;
	const char *text = text_utf8(to->a, (const char *)said.p, said.n, "?", &clean),
		   *p = failure_normal(to->a, &nowhere, text);

	for (const char *from = p; *p;) {
		size_t n = p == from || !is_letter(p[-1]) ? measure_at(p) : 0;
		if (n)
			buf_addc(to, '#');
		else
			buf_addc(to, *p);
		p += n ? n : 1;
	}
}

const char *failure_said(struct arena *a, struct bytes out, struct bytes err)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct buf to;

	buf_init(&to, &own);
	put_said(&to, out);
	buf_addc(&to, '\n');
	put_said(&to, err);
	return arena_strndup(a, sha256_hex(&own, to.p, to.n), 2 * FINGERPRINT);
}

/* ---- all of it ---- */

static const char *component_of(const struct json *event)
{
	const char *head = head_of(event);

	return is_guard(event) ? "guard" : script_of(event) ? "skill" : is_shell(head) ? "runner" : "unknown";
}

struct json *failure_signature(
	struct arena *a, const struct json *event, const struct failure_place *at, struct bytes said)
{
	const char *profile = json_get_text(event, "profile", NULL),
		   *preview = json_get_text(event, "command_preview", ""), *script = script_of(event);
	const char *component = component_of(event), *tool = tool_of(a, event),
		   *class = error_class(a, event, said);
	const char *target = is_guard(event) ? arena_printf(a, "profile:%s", profile ? profile : "")
		: *preview && strlen(preview) <= LONGEST_TARGET ? failure_normal(a, at, preview)
		: script					? failure_normal(a, at, script)
								: NULL;
	const char *whole = arena_printf(a, "%s|%s|%s|%s", component, tool, class, target ? target : "");
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "component", component);
	json_sets(a, doc, "tool", tool);
	json_sets(a, doc, "profile", profile);
	json_sets(a, doc, "error_class", class);
	json_sets(a, doc, "target", target);
	json_set(a, doc, "fingerprint",
		json_stringn(a, sha256_prefixed(a, whole, strlen(whole)) + strlen("sha256:"), FINGERPRINT));
	return doc;
}

/* ---- what follows ---- */

static struct json *follows(
	struct arena *a, const char *action, const char *reason, const struct json *signature)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "action", action);
	json_sets(a, doc, "reason", reason);
	json_set(a, doc, "signature", signature ? json_copy(a, signature) : json_new(a, JSON_NULL));
	return doc;
}

/* How many of them have this text in the member `name`; *ret_last is the last one. */
static size_t with(
	const struct json *history, const char *name, const char *text, const struct json **ret_last)
{
	size_t n = 0;

	json_each (one, history) {
		const struct json *s = json_get(one, "signature");
		if (!text_eq(json_get_text(s, name, ""), text))
			continue;
		*ret_last = s;
		n++;
	}
	return n;
}

struct json *failure_transition(struct arena *a, const struct json *history)
{
	enum { SAME = 2, PATCHES = 2, SAME_TOOL = 3 };
	const struct json *last = NULL;

	json_each (one, history) {
		const char *print = json_get_text(json_get(one, "signature"), "fingerprint", NULL);
		if (print && with(history, "fingerprint", print, &last) >= SAME)
			return follows(a, "stop_retry_and_diagnose", "the same failure happened twice", last);
	}
	if (with(history, "error_class", "patch_failed", &last) >= PATCHES)
		return follows(a, "reload_file_and_decompose", "patches failed twice", last);
	json_each (one, history) {
		const char *tool = json_get_text(json_get(one, "signature"), "tool", NULL);
		if (tool && with(history, "tool", tool, &last) >= SAME_TOOL)
			return follows(
				a, "create_skill_repair_candidate", "the same tool failed three times", last);
	}
	if (with(history, "error_class", "credential_invalid_grant", &last))
		return follows(a, "auth_recovery_profile", "a credential is not valid any more", last);
	return follows(a, NULL, NULL, NULL);
}
