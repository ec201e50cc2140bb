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

/* Characters that nobody sees and a model reads: of no width, of direction, tags. */
static bool is_invisible(uint32_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) ||
		c == 0xfeff || c == 0x00ad || c == 0x180e || (c >= 0xe0000 && c <= 0xe01ef) || c == 0x034f;
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
	for (size_t i = 0; i < n;) {
		uint32_t c;
		size_t len = text_decode(text + i, n - i, &c);
		if (!len) {
			i++;
			continue;
		}
		/* A joiner between two emoji is how these are written. */
		if (is_invisible(c) && !(c == 0x200d && i && (unsigned char)text[i - 1] >= 0x80)) {
			found(a, to, "hidden_instruction", "critical",
				arena_printf(a, "invisible character U+%04X", c), SIZE_MAX);
			return;
		}
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

void mcp_inspect_text(struct arena *a, const char *text, size_t n, struct json *to)
{
	const char *copy = arena_strndup(a, text, n);

	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		const char *at = strcasestr(copy, phrases[i].phrase);
		if (at)
			found(a, to, phrases[i].finding, phrases[i].severity, at, strlen(at));
	}
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

struct json *mcp_inspect_tools(struct arena *a, const struct json *tools)
{
	struct json *all = json_new(a, JSON_ARRAY);

	json_each (tool, tools) {
		struct json *here = json_new(a, JSON_ARRAY);
		struct err e = { 0 };
		inspect_value(a, tool, 0, here);
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
