/* fuzz_ambiguous.c — a text that others read differently never makes an answer milder.
 *
 * The first byte chooses the profile, the second the tool and its argument, the third what is put in, the fourth where; the rest is the text.
 * The call is judged with and without it.  With a NUL or a byte that is not UTF-8 it is denied; with a character without a width the
 * answer is at least as strict as without. */
#include "fuzz.h"

#include "base/err.h"
#include "base/json.h"
#include "decide/decide.h"
#include "propose/propose.h"

#include <string.h>

static struct arena keep;
static struct profiles profiles;
static const struct policy *policy;

static const struct {
	const char *tool, *argument;
} calls[] = { { "Bash", "command" }, { "Read", "file_path" }, { "Write", "file_path" }, { "Edit", "path" },
	{ "delete_file", "path" }, { "Grep", "path" }, { "WebFetch", "url" }, { "apply_patch", "input" },
	{ "write_stdin", "chars" }, { "mcp__fs__read_file", "path" }, { "mcp__fs__delete", "target" },
	{ "mcp__db__query", "sql" }, { "mcp__sh__run", "command" }, { "mcp__web__get", "url" },
	{ "mcp__x__y", "anything" } };

static struct json *argument(struct arena *a, unsigned which, const char *text, size_t n)
{
	struct json *input = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);

	json_set(a, input, calls[which].argument, json_stringn(a, text, n));
	if (which != 2) /* a file with its content, for the one that has both */
		return input;
	json_sets(a, input, "content", "x");
	json_push(a, list, json_stringn(a, text, n));
	json_set(a, input, "more", list);
	return input;
}

static enum rule_effect judge(struct arena *a, unsigned profile, unsigned which, const char *text, size_t n)
{
	static const struct surroundings at = { .cwd = "/home/user/work",
		.home = "/home/user",
		.workspace = "/home/user/work",
		.state_dir = "/home/user/work/.helm",
		.tmpdir = "/tmp" };
	const struct decide_context context = { .a = a, .workspace = at.workspace };
	const struct tool_call call = { .tool_name = calls[which].tool,
		.input = argument(a, which, text, n) };
	struct proposal p = { 0 };
	struct decision d;
	struct buf shown;

	propose_tool(a, &at, &call, &p);
	decide(policy, &profiles.list[profile % profiles.count], &p, &context, &d);
	if (d.action >= ACTION_ASK && d.verdict == V_ALLOW)
		BUG("a person is asked, and it is allowed");
	buf_init(&shown, a);
	json_write(&shown, decision_to_json(a, &d), 0);
	if (text_utf8_valid(shown.p, shown.n) < shown.n)
		BUG("the decision is not UTF-8");
	return d.action;
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static const struct {
		const char *text;
		size_t n;
		bool is_denied;
	} odd[] = { { "", 1, true }, { "\xff", 1, true }, { "\xc0\xaf", 2, true },
		{ "\xed\xa0\x80", 3, true }, { "\xe2\x80\x8b", 3, false }, { "\xe2\x80\xae", 3, false },
		{ "\xef\xbb\xbf", 3, false } };
	AUTO(arena_done) struct arena a = { 0 };

	if (size < 5)
		return;
	if (!policy) {
		profiles_builtin(&keep, &profiles);
		policy = policy_compile(&keep, NULL);
	}
	const char *text = (const char *)data + 4;
	size_t n = size - 4, at = data[3] * n / 256;
	unsigned which = data[1] % ARRAY_SIZE(calls), kind = data[2] % ARRAY_SIZE(odd);
	/* Not inside a character, and not beside one of the same kind: the text itself is clear. */
	if (n > 4000 || memchr(text, '\0', n) || text_utf8_valid(text, n) < n ||
		text_first_unseen(text, n) < n)
		return;
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	struct buf with;
	buf_init(&with, &a);
	buf_add(&with, text, at);
	buf_add(&with, odd[kind].text, odd[kind].n);
	buf_add(&with, text + at, n - at);
	enum rule_effect before = judge(&a, data[0], which, text, n),
			 after = judge(&a, data[0], which, with.p, with.n);
	if (odd[kind].is_denied ? after != ACTION_DENY : after < before)
		BUG("a text with two readings made the answer milder");
}
