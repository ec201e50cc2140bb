/* inspect.c — what a server says about its tools, read as somebody who means harm would have written it.
 *
 * A description is read by a model, which may take it for an order.  These are shapes of such orders: they make a finding that a person and
 * the record are told, and never a rewritten text. */
#include "kernel/mcp/mcp.h"

#include "base/embed.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { EVIDENCE = 80, LONG_CODE = 120, FINDINGS_MOST = 200 };

static const struct {
	const char *finding, *severity, *phrase;
} phrases[] = {
	{ "hidden_instruction", "critical", "ignore previous" },
	{ "hidden_instruction", "critical", "ignore all previous" },
	{ "hidden_instruction", "critical", "ignore the above" },
	{ "hidden_instruction", "critical", "ignore your instructions" },
	{ "hidden_instruction", "critical", "disregard previous" },
	{ "hidden_instruction", "critical", "disregard all previous" },
	{ "hidden_instruction", "critical", "disregard your" },
	{ "hidden_instruction", "critical", "do not tell the user" },
	{ "hidden_instruction", "critical", "don't tell the user" },
	{ "hidden_instruction", "critical", "do not inform the user" },
	{ "hidden_instruction", "critical", "do not mention this" },
	{ "hidden_instruction", "critical", "without telling the user" },
	{ "hidden_instruction", "critical", "never tell the user" },
	{ "hidden_instruction", "critical", "never mention this" },
	{ "hidden_instruction", "critical", "not be shown to the user" },
	{ "hidden_instruction", "critical", "hide this from the user" },
	{ "hidden_instruction", "critical", "even if approval" },
	{ "hidden_instruction", "critical", "<|system|>" },
	{ "hidden_instruction", "critical", "[inst]" },
	{ "hidden_instruction", "critical", "<important>" },
	{ "hidden_instruction", "critical", "<system>" },
	{ "hidden_instruction", "critical", "</system>" },
	{ "hidden_instruction", "critical", "<|im_start|>" },
	{ "hidden_instruction", "critical", "[system]" },
	{ "hidden_instruction", "critical", "before using this tool, read" },
	{ "hidden_instruction", "critical", "before using any other tool" },
	{ "role_override", "high", "you are now" },
	{ "role_override", "high", "new instructions:" },
	{ "role_override", "high", "from now on you" },
	{ "role_override", "high", "act as the system" },
	{ "role_override", "high", "override your" },
	{ "shell_execution", "high", "run the following command" },
	{ "shell_execution", "high", "execute the following command" },
	{ "shell_execution", "high", "run this command" },
	{ "shell_execution", "high", "| sh" },
	{ "shell_execution", "high", "| bash" },
	{ "file_system_access", "high", "~/.ssh" },
	{ "file_system_access", "high", "id_rsa" },
	{ "file_system_access", "high", "id_ed25519" },
	{ "file_system_access", "high", "/etc/passwd" },
	{ "file_system_access", "high", "/etc/shadow" },
	{ "file_system_access", "high", "~/.aws" },
	{ "file_system_access", "high", ".env file" },
	{ "file_system_access", "high", "~/.cursor/mcp.json" },
	{ "config_template_injection", "medium", "${" },
	{ "config_template_injection", "medium", "<%" },
};

static const char *const severities[] = { "", "low", "medium", "high", "critical" };

int mcp_severity(const char *name)
{
	for (size_t i = 1; i < ARRAY_SIZE(severities); i++)
		if (text_eq(severities[i], name))
			return (int)i;
	return 0;
}

const char *mcp_worst(const struct json *findings)
{
	int worst = 0;

	json_each (one, findings) {
		int here = mcp_severity(json_get_text(one, "severity", ""));
		worst = here > worst ? here : worst;
	}
	return severities[worst];
}

/* Characters that nobody sees and a model reads: of no width, of direction, tags, selectors of variants, fillers, and what a terminal takes for orders. */
static bool is_invisible(uint32_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
		c == 0xfeff || c == 0x00ad || c == 0x180e || (c >= 0xe0000 && c <= 0xe01ef) || c == 0x034f ||
		(c >= 0xfe00 && c <= 0xfe0f) || c == 0x115f || c == 0x1160 || c == 0x3164 || c == 0xffa0 ||
		(c >= 0x180b && c <= 0x180f) || (c < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
		(c >= 0x7f && c < 0xa0);
}

/* A joiner or a selector behind a sign is how emoji and keys are written; one behind another is not. */
static bool is_of_a_sign(uint32_t c, uint32_t before)
{
	return (c == 0x200d || c == 0xfe0e || c == 0xfe0f) && !is_invisible(before) &&
		(before >= 0xa9 || (before >= '0' && before <= '9') || before == '#' || before == '*');
}

const char *mcp_visible(struct arena *a, const char *text, size_t n)
{
	struct buf to;

	buf_init(&to, a);
	for (size_t i = 0; i < n;) {
		uint32_t c;
		size_t len = text_decode(text + i, n - i, &c);
		if (len && is_invisible(c))
			buf_addf(&to, "\\u{%04X}", c);
		else
			buf_add(&to, text + i, len ? len : 1);
		i += len ? len : 1;
	}
	return text_safe(a, to.p, to.n, false);
}

static void found(struct arena *a, struct json *to, const char *finding, const char *severity,
	const char *evidence, size_t n)
{
	struct json *one;

	json_each (old, to)
		if (text_eq(json_get_text(old, "finding", ""), finding) && !json_get(old, "tool"))
			return;
	if (to->n >= FINDINGS_MOST)
		return;
	one = json_new(a, JSON_OBJECT);
	json_sets(a, one, "finding", finding);
	json_sets(a, one, "severity", severity);
	n = strnlen(evidence, n < EVIDENCE ? n : EVIDENCE);
	while (n && ((unsigned char)evidence[n] & 0xc0) == 0x80)
		n--; /* no half of a character */
	json_sets(a, one, "evidence", mcp_visible(a, evidence, n));
	json_push(a, to, one);
}

static void look_for_invisible(struct arena *a, const char *text, size_t n, struct json *to)
{
	uint32_t before = 0;

	for (size_t i = 0; i < n;) {
		uint32_t c;
		size_t len = text_decode(text + i, n - i, &c);
		if (!len) {
			i++;
			continue;
		}
		bool is_joined = c == 0x200d && before == 0xfe0f;
		if (is_invisible(c) && !is_joined && !is_of_a_sign(c, before)) {
			found(a, to, "hidden_instruction", "critical",
				arena_printf(a, "invisible character U+%04X", c), SIZE_MAX);
			return;
		}
		before = c;
		i += len;
	}
}

/* A long run of letters and digits without a blank: something that is to be decoded. */
static void look_for_code(struct arena *a, const char *text, size_t n, struct json *to)
{
	size_t run = 0;

	for (size_t i = 0; i <= n; i++) {
		bool is_part = i < n && (isalnum((unsigned char)text[i]) || strchr("+/=_-", text[i]));
		if (!is_part && run >= LONG_CODE)
			found(a, to, "encoded_payload", "medium", text + i - run, run);
		run = is_part ? run + 1 : 0;
	}
}

/* "send it to https://..." */
static void look_for_sending(struct arena *a, const char *text, struct json *to)
{
	static const char *const verbs[] = { "send ", "post ", "upload ", "forward ", "exfiltrate ",
		"report " };
	const char *url = strcasestr(text, "http://");

	url = url ? url : strcasestr(text, "https://");
	for (size_t i = 0; url && i < ARRAY_SIZE(verbs); i++) {
		const char *at = strcasestr(text, verbs[i]);
		if (at && at < url && url - at < 200)
			found(a, to, "url_exfiltration", "high", at, strlen(at));
	}
}

static bool is_among(const char *word, size_t n, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == n && strncmp(list[i], word, n) == 0)
			return true;
	return false;
}
#define IS_AMONG(word, n, list) is_among(word, n, list, ARRAY_SIZE(list))

/* "ignore all prior policy text", "disregard any of the above", "forget your rules": a verb, words between, and what was said before. */
static void look_for_ignoring(struct arena *a, const char *text, struct json *to)
{
	static const char *const verbs[] = { "ignore", "disregard", "forget", "bypass", "override" };
	static const char *const between[] = { "the", "all", "any", "of", "these", "those", "your", "my",
		"our", "every", "other", "and", "or", "security", "safety" };
	static const char *const before[] = { "previous", "previously", "prior", "above", "earlier",
		"preceding", "foregoing" };
	static const char *const rules[] = { "instruction", "instructions", "rules", "guidelines", "policy",
		"policies", "approval", "approvals", "restrictions", "guardrails" };
	const char *verb = NULL;
	bool is_yours = false, is_plain = false; /* to forget what was before is also what a memory is for */

	for (const char *p = text; *p;) {
		size_t skip = strcspn(p, "abcdefghijklmnopqrstuvwxyz"), n;
		if (memchr(p, '.', skip))
			verb = NULL;
		p += skip;
		n = strspn(p, "abcdefghijklmnopqrstuvwxyz'");
		bool is_verb = n && IS_AMONG(p, n, verbs);
		if (is_verb) {
			verb = p;
			is_yours = false;
			is_plain = *p == 'i' || *p == 'd';
		} else if (verb &&
			((is_plain && IS_AMONG(p, n, before)) || (is_yours && IS_AMONG(p, n, rules)))) {
			found(a, to, "hidden_instruction", "critical", verb, strlen(verb));
			return;
		} else if (verb && (IS_AMONG(p, n, between) || IS_AMONG(p, n, before))) {
			is_yours |= IS_AMONG(p, n, before);
			is_yours |= n == 4 && strncmp(p, "your", n) == 0;
			is_yours |= n == 3 && (strncmp(p, "all", n) == 0 || strncmp(p, "any", n) == 0);
		} else {
			verb = NULL;
		}
		p += n;
	}
}

/* As a model reads it: without what nobody sees, one blank for any space, wide letters as narrow ones, in lower case. */
static const char *as_read(struct arena *a, const char *text, size_t n)
{
	struct buf to;

	buf_init(&to, a);
	for (size_t i = 0; i < n;) {
		uint32_t c;
		size_t len = text_decode(text + i, n - i, &c);
		bool is_space = len &&
			(c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || (c >= 0x2000 && c <= 0x200a) ||
				c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000);
		if (len && c >= 0xff01 && c <= 0xff5e)
			c -= 0xfee0;
		if (is_space) {
			if (to.n && to.p[to.n - 1] != ' ')
				buf_addc(&to, ' ');
		} else if (!len || (c >= 0x80 && !is_invisible(c))) {
			buf_add(&to, text + i, len ? len : 1);
		} else if (c && !is_invisible(c)) { /* a NUL would end what is searched */
			buf_addc(&to, (char)tolower((int)c));
		}
		i += len ? len : 1;
	}
	return to.p ? to.p : "";
}

void mcp_inspect_text(struct arena *a, const char *text, size_t n, struct json *to)
{
	const char *copy = as_read(a, text, n);

	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		const char *at = strstr(copy, phrases[i].phrase);
		if (at)
			found(a, to, phrases[i].finding, phrases[i].severity, at, strlen(at));
	}
	look_for_ignoring(a, copy, to);
	look_for_invisible(a, text, n, to);
	look_for_code(a, text, n, to);
	look_for_sending(a, copy, to);
}

/* Every text and name in a definition. */
static void inspect_value(struct arena *a, const struct json *v, unsigned depth, struct json *to)
{
	enum { DEEPEST = 32 };

	if (!v || depth > DEEPEST)
		return;
	if (v->type == JSON_STRING)
		mcp_inspect_text(a, v->text, v->n, to);
	json_each (one, v)
		inspect_value(a, one, depth + 1, to);
	json_each_member (m, v) {
		/* Schemas refer to their own parts by names that look like much. */
		if (text_eq(m->name, "$schema") || text_eq(m->name, "$ref") || text_eq(m->name, "icons") ||
			text_eq(m->name, "pattern"))
			continue;
		mcp_inspect_text(a, m->name, m->name_n, to);
		inspect_value(a, m->value, depth + 1, to);
	}
}

/* ---- names and purposes of tools ---- */

/* What a tool says it is for is no order, and still what somebody should know before. */
static void look_for_shell(struct arena *a, const struct json *tool, struct json *to)
{
	static const char *const says[] = { "execute a command", "execute commands", "execute a shell",
		"execute shell", "execute arbitrary", "run a command", "run commands", "run a shell",
		"run shell", "run arbitrary", "shell command" };
	const char *text = json_get_text(tool, "description", "");
	const char *copy = as_read(a, text, strlen(text));

	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		const char *at = strstr(copy, says[i]);
		if (at)
			found(a, to, "shell_execution", "high", at, strlen(at));
	}
}

enum { NAME_MOST = 128 };

static size_t points_of(const char *text, uint32_t ret[NAME_MOST])
{
	size_t count = 0, n = strlen(text);

	for (size_t i = 0; i < n && count < NAME_MOST; count++) {
		size_t len = text_decode(text + i, n - i, &ret[count]);
		i += len ? len : 1;
	}
	return count;
}

/* One letter is another one, missing, too many, or two are the wrong way round.  A plural, and a number behind a name, are other names. */
static bool is_slip(const char *x, const char *y)
{
	uint32_t a[NAME_MOST], b[NAME_MOST];
	size_t n = points_of(x, a), m = points_of(y, b), i = 0, j = 0;

	if (n > m)
		return is_slip(y, x);
	if (n < 5 || m - n > 1)
		return false;
	while (i < n && a[i] == b[i])
		i++;
	while (j < n - i && a[n - 1 - j] == b[m - 1 - j])
		j++;
	if (m > n)
		return i + j == n && !(i == n && (b[n] == 's' || (b[n] >= '0' && b[n] <= '9')));
	bool is_swapped = n - i - j == 2 && a[i] == b[i + 1] && a[i + 1] == b[i];
	bool is_digit = n - i - j == 1 && a[i] >= '0' && a[i] <= '9' && b[i] >= '0' && b[i] <= '9';
	return is_swapped || (n - i - j == 1 && !is_digit);
}

static bool is_ascii_name(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name >= 0x80)
			return false;
	return true;
}

static void look_like(struct arena *a, const char *name, const char *other, struct json *to)
{
	if (is_slip(name, other))
		found(a, to, "typosquat", "high", arena_printf(a, "'%s' looks like '%s'", name, other),
			SIZE_MAX);
}

/* A name that is nearly that of a tool that many people know, or that only looks like one beside it. */
static void look_at_tool_name(struct arena *a, const struct json *known, const struct json *tools,
	const struct json *tool, struct json *to)
{
	const char *name = json_get_text(tool, "name", "");
	const struct json *names = json_get(known, "tools");

	json_each (one, names)
		if (text_eq(json_text(one), name))
			return;
	json_each_member (server, json_get(known, "servers"))
		if (json_get(server->value, name))
			return;
	json_each (one, names)
		look_like(a, name, json_text(one), to);
	json_each_member (server, json_get(known, "servers"))
		json_each_member (m, server->value)
			look_like(a, name, m->name, to);
	json_each (other, tools) {
		const char *beside = json_get_text(other, "name", "");
		if (!is_ascii_name(name) && is_ascii_name(beside))
			look_like(a, name, beside, to);
	}
}

struct json *mcp_inspect_tools(struct arena *a, const struct json *tools)
{
	struct json *all = json_new(a, JSON_ARRAY), *known = NULL;
	struct bytes text;

	if (!embed_find("share/mcp/effects.json", &text) ||
		json_parse(a, text, "share/mcp/effects.json", NULL, &known, NULL))
		known = NULL;

	json_each (tool, tools) {
		struct json *here = json_new(a, JSON_ARRAY);
		struct err e = { 0 };
		inspect_value(a, tool, 0, here);
		look_for_shell(a, tool, here);
		look_at_tool_name(a, known, tools, tool, here);
		if (mcp_check_tool(a, tool, &e))
			found(a, here, "schema_not_understood", "medium", e.text, SIZE_MAX);
		json_each (one, here) {
			json_sets(a, one, "tool", json_get_text(tool, "name", "?"));
			json_push(a, all, one);
		}
	}
	return all;
}

/* ---- how it is started ---- */

static size_t distance(const char *x, const char *y)
{
	enum { MOST = 64 };
	size_t row[MOST + 1], n = strlen(x), m = strlen(y);

	if (n > MOST || m > MOST)
		return MOST;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t up = row[j], cost = diagonal + (x[i - 1] != y[j - 1]);
			size_t least = up + 1 < row[j - 1] + 1 ? up + 1 : row[j - 1] + 1;
			row[j] = cost < least ? cost : least;
			diagonal = up;
		}
	}
	return row[m];
}

static void look_at_name(struct arena *a, const char *id, const char *other, struct json *to)
{
	if (strlen(id) > 4 && !text_eq(id, other) && distance(id, other) <= 2)
		found(a, to, "shadowed_name", "high", arena_printf(a, "'%s' looks like '%s'", id, other),
			SIZE_MAX);
}

/* npx, uvx and the like fetch whatever is newest, unless a version is said. */
static bool is_unpinned(const struct json *how)
{
	static const char *const runners[] = { "npx", "bunx", "pnpx", "uvx", "pipx", "docker", "podman" };
	const char *command = json_get_text(how, "command", "");
	const char *slash = strrchr(command, '/');
	bool fetches = false;

	for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
		fetches |= text_eq(slash ? slash + 1 : command, runners[i]);
	if (!fetches)
		return false;
	json_each (arg, json_get(how, "args")) {
		const char *word = json_text(arg), *at = word && *word != '-' ? strrchr(word, '@') : NULL;
		if ((at && at > word && isdigit((unsigned char)at[1])) ||
			(word && strstr(word, "@sha256:")) || (word && strstr(word, "==")))
			return false;
	}
	return true;
}

struct json *mcp_inspect_server(
	struct arena *a, const char *id, const struct json *how, const struct json *others)
{
	struct json *all = json_new(a, JSON_ARRAY), *doc;
	struct bytes text;

	if (is_unpinned(how))
		found(a, all, "missing_hash", "medium", "it is fetched without a version or digest",
			SIZE_MAX);
	json_each_member (m, others)
		look_at_name(a, id, m->name, all);
	if (embed_find("share/mcp/effects.json", &text) &&
		json_parse(a, text, "share/mcp/effects.json", NULL, &doc, NULL) == OK)
		json_each (name, json_get(doc, "names"))
			look_at_name(a, id, json_text(name) ? json_text(name) : "", all);
	return all;
}
