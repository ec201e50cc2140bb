/* failure.c — signatures of failures, and the four rules about what to do when they repeat. */
#include "remember/failure.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/failure_table.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

enum {
	LONGEST_TARGET = 128,
	LONGEST_SAID = 200,
	FINGERPRINT = 8,
	SHA_LEAST = 7,
	SHA_MOST = 40,
	DIGITS_LEAST = 4
};

/* ---- which kind ---- */

static bool is_guard(const struct json *event)
{
	const char *stage = json_get_text(event, "failure_stage", ""),
		   *reason = json_get_text(event, "failure_reason", "");
	int64_t code = json_get_int(event, "exit_code", 0);

	return text_eq(stage, "guard") || text_eq(stage, "tool_grant") || code == 24 || code == 25 ||
		strcasestr(reason, "blocked by guard");
}

/* The signal that ended the command: as the run saw it, or as its shell passed it on. */
static int signal_of(const struct json *event)
{
	static const int passed_on[] = { SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV,
		SIGTERM };
	const int64_t seen = json_get_int(event, "exit_signal", 0),
		      code = json_get_int(event, "exit_code", 0);

	if (seen > 0 && seen < 65)
		return (int)seen;
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		if (code == 128 + passed_on[i])
			return passed_on[i];
	return 0;
}

/* What the words behind a killed command may still say: why it killed itself, or was killed. */
static bool is_reason_of(const char *error_class, int signal)
{
	static const char *const ends[] = { "assertion_failed", "out_of_memory", "memory_error", "panic" };

	if (signal != SIGABRT && signal != SIGKILL)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_eq(ends[i], error_class))
			return true;
	return false;
}

static bool find_by_code(struct arena *a, const struct json *event, struct failure_found *ret)
{
	const int64_t code = json_get_int(event, "exit_code", 0);
	const char *const *words;
	size_t n;
	bool is_sure;

	if (!code)
		return false;
	return (failure_last_command(a, json_get(event, "command"), &words, &n, &is_sure) &&
		       failure_exit(a, words, n, code, ret)) ||
		failure_exit(a, NULL, 0, code, ret);
}

/* What it printed, then the reason that is on record, then its exit code. */
static struct failure_found find_kind(struct arena *a, const struct json *event, struct bytes said)
{
	const struct json *meta = json_get(event, "meta");
	const char *reason = json_get_text(event, "failure_reason", ""),
		   *command = json_get_text(event, "command_preview", "");
	const int signal = signal_of(event);
	struct failure_found found = { 0 };

	if (is_guard(event))
		return (struct failure_found){ "guard_deny", NULL };
	if (text_eq(json_get_text(event, "status", ""), "timeout"))
		return (struct failure_found){ "timeout", NULL };
	if (!said.n)
		said = bytes_of(json_get_text(meta, "stderr", json_get_text(meta, "error", "")));
	const bool is_found = failure_read(a, command, said, &found) ||
		(!signal && failure_read(a, "", bytes_of(reason), &found));
	if (signal && !(is_found && is_reason_of(found.error_class, signal)))
		return (struct failure_found){ "signal_killed", NULL };
	if (is_found || find_by_code(a, event, &found))
		return found;
	found.error_class =
		said.n || *reason || json_get_int(event, "exit_code", 0) ? "exit_nonzero" : "unknown";
	return found;
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

/* Without secrets and control characters. */
static const char *shown_line(struct arena *a, const char *line)
{
	size_t n;
	const char *clean = privacy_redact(a, line, strlen(line), &n);

	return text_safe(a, clean, n < LONGEST_SAID ? n : LONGEST_SAID, false);
}

struct json *failure_signature(
	struct arena *a, const struct json *event, const struct failure_place *at, struct bytes said)
{
	const char *profile = json_get_text(event, "profile", NULL),
		   *preview = json_get_text(event, "command_preview", ""), *script = script_of(event);
	const struct failure_found found = find_kind(a, event, said);
	const char *component = component_of(event), *tool = tool_of(a, event), *class = found.error_class;
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
	if (found.line)
		json_sets(a, doc, "said", shown_line(a, found.line));
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

enum { SAME = 2, PATCHES = 2, SAME_TOOL = 3 };

/* One rule each: the signature that it holds for; NULL: it does not hold. */
static const struct json *find_often(const struct json *history, const char *member, size_t least)
{
	const struct json *last = NULL;

	/* The newest first: it is what a run asks about. */
	for (size_t i = json_is(history, JSON_ARRAY) ? history->n : 0; i-- > 0;) {
		const char *text = json_get_text(json_get(history->items[i], "signature"), member, NULL);
		if (text && with(history, member, text, &last) >= least)
			return last;
	}
	return NULL;
}

static const struct json *find_same(const struct json *history)
{
	return find_often(history, "fingerprint", SAME);
}

static const struct json *find_patches(const struct json *history)
{
	const struct json *last = NULL;

	return with(history, "error_class", "patch_failed", &last) >= PATCHES ? last : NULL;
}

static const struct json *find_tool(const struct json *history)
{
	return find_often(history, "tool", SAME_TOOL);
}

static const struct json *find_credential(const struct json *history)
{
	const struct json *last = NULL;

	return with(history, "error_class", "credential_invalid_grant", &last) ? last : NULL;
}

static const struct transition {
	const struct json *(*find)(const struct json *history);
	const char *action, *reason;
} transitions[] = {
	{ find_same, FAILURE_STOP, "the same failure happened twice" },
	{ find_patches, "reload_file_and_decompose", "patches failed twice" },
	{ find_tool, "create_skill_repair_candidate", "the same tool failed three times" },
	{ find_credential, "auth_recovery_profile", "a credential is not valid any more" },
};

struct json *failure_transition(struct arena *a, const struct json *history)
{
	for (size_t i = 0; i < ARRAY_SIZE(transitions); i++) {
		const struct json *found = transitions[i].find(history);
		if (found)
			return follows(a, transitions[i].action, transitions[i].reason, found);
	}
	return follows(a, NULL, NULL, NULL);
}

struct json *failure_next(struct arena *a, const struct json *history)
{
	const struct json *newest =
		json_get(json_is(history, JSON_ARRAY) && history->n ? history->items[history->n - 1] : NULL,
			"signature");
	/* From the most special to the most general. */
	static const unsigned char order[] = { 3, 1, 2, 0 };
	static const char *const about[] = { "fingerprint", "error_class", "tool", "error_class" };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct transition *one = &transitions[order[i]];
		const struct json *found = one->find(history);
		const char *member = about[order[i]];
		/* An older failure has been answered then. */
		if (!found || !text_eq(json_get_text(found, member, ""), json_get_text(newest, member, "-")))
			continue;
		struct json *doc = follows(a, one->action, one->reason, newest);
		const struct json *same = find_same(history);
		json_setb(a, doc, "stop",
			same &&
				text_eq(json_get_text(same, "fingerprint", ""),
					json_get_text(newest, "fingerprint", "-")));
		return doc;
	}
	return follows(a, NULL, NULL, NULL);
}
