/* guard_properties_test.c — what must hold for any command, tried on thousands of them.
 *
 * A wrapper, a prefix, another spelling of the same words, an added command or an added rule never lowers a decision; a list
 * is judged at least as strictly as each of its parts.  The commands are those of the case files, so a property is tried on
 * everything the tables name. */
#include "base/json.h"
#include "base/text.h"
#include "tools/cases.h"
#include "tools/guard_fixture.h"
#include "tools/unit.h"

#include <string.h>

enum { MAX_COMMANDS = 16384, MAX_WORDS = 64 };

struct command {
	const char *profile;
	const char *text; /* as shell text */
	const char *argv[MAX_WORDS]; /* when it came as words; argc 0 otherwise */
	size_t argc;
	enum rule_effect action; /* as shell text */
	enum rule_effect argv_action;
	bool readable;
};

static struct guard_fixture g;
static struct arena keep;
static struct command *commands;
static size_t command_count;

/* Words that mean the same without quotes are left alone, so that ~ and * keep their meaning. */
static void add_word(struct buf *b, const char *word)
{
	if (b->n)
		buf_addc(b, ' ');
	if (*word &&
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~=:,+@%-*") ==
			strlen(word)) {
		buf_adds(b, word);
		return;
	}
	buf_addc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *word);
	buf_addc(b, '\'');
}

static enum rule_effect judge(const char *profile, const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };

	return guard_fixture_shell(&g, &a, profile, text, strlen(text)).action;
}

static void finish_command(struct command *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct decision d = guard_fixture_shell(&g, &a, c->profile, c->text, strlen(c->text));

	c->action = d.action;
	c->readable = d.proposal->readable;
	if (c->argc)
		c->argv_action = guard_fixture_argv(&g, &a, c->profile, c->argv, c->argc).action;
}

static void add_command(const struct json *row, const char *profile)
{
	assert_true(command_count < MAX_COMMANDS); /* none is left out without a word */
	struct command *c = &commands[command_count];
	struct buf b;

	*c = (struct command){ .profile = profile };
	if (json_get(row, "shell")) {
		c->text = json_get_text(row, "shell", NULL);
	} else {
		buf_init(&b, &keep);
		json_each (word, json_get(row, "argv")) {
			if (c->argc == MAX_WORDS)
				return;
			c->argv[c->argc++] = json_text(word);
			add_word(&b, json_text(word));
		}
		c->text = b.p;
	}
	if (!c->text)
		return;
	finish_command(c);
	command_count++;
}

static void load(const char *path)
{
	struct bytes text = cases_read(&keep, path);

	while (text.p && text.n) {
		struct bytes line = text_cut(&text, '\n');
		struct json *row;
		if (line.n == 0)
			continue;
		assert_int_equal(json_parse(&keep, line, path, NULL, &row, NULL), OK);
		add_command(row, json_get_text(row, "profile", "workspace_edit"));
		if (!json_get(row, "profile"))
			add_command(row, "inspect_local");
	}
}

static int begin(void **state)
{
	(void)state;
	guard_fixture_begin(&g);
	commands = arena_zalloc(&keep, MAX_COMMANDS, sizeof(*commands));
	load("tests/cases/guard.jsonl");
	load("tests/cases/guard_safe.jsonl");
	load("tests/cases/guard_destructive.jsonl");
	return 0;
}

static int done(void **state)
{
	(void)state;
	guard_fixture_done(&g);
	arena_done(&keep);
	return 0;
}

/* A text that uses positional parameters means something else where there are others. */
static bool has_positionals(const struct command *c)
{
	return strstr(c->text, "$@") || strstr(c->text, "$*") || strstr(c->text, "$1") ||
		strstr(c->text, "${#");
}

static size_t failures;

static void expect(
	bool holds, const char *what, const struct command *c, const char *text, enum rule_effect got)
{
	if (holds)
		return;
	if (failures++ < 60)
		print_message("%s: %s %s -> %s :: %s\n", what, c->profile, action_name(c->action),
			action_name(got), text);
}

/* The text inside something that runs it too: at least as strict. */
static void enclosures_never_lower(void **state)
{
	static const char *const frames[][2] = { { "true; ", "" }, { "true && ", "" }, { "false || ", "" },
		{ "(\n", "\n)" }, { "{\n", "\n}" }, { "if true; then\n", "\nfi" },
		{ "if false; then\n", "\nfi" }, { "while :; do\n", "\nbreak; done" }, { "! ", "" },
		{ "", "\ntrue" }, { "f() {\n", "\n}; f" }, { "for i in 1; do\n", "\ndone" },
		{ "echo \"$(\n", "\n)\"" }, { "case x in *)\n", "\n;; esac" }, { "", " &\nwait" },
		{ "set -e\n", "" }, { "cat /dev/null; ", "; true" } };
	size_t n = 0;

	(void)state;
	failures = 0;
	for (size_t i = 0; i < command_count; i++)
		for (size_t f = 0; f < ARRAY_SIZE(frames); f++) {
			AUTO(arena_done) struct arena a = { 0 };
			const struct command *c = &commands[i];
			/* A line that ends inside a here-document or a comment cannot be followed by more on the line. */
			bool is_open =
				strstr(c->text, "<<") || strchr(c->text, '#') || text_ends(c->text, "&");
			const char *text = arena_printf(&a, "%s%s%s", frames[f][0], c->text, frames[f][1]);
			enum rule_effect got;
			if (!c->readable || has_positionals(c) ||
				(is_open && *frames[f][1] && *frames[f][1] != '\n'))
				continue;
			got = judge(c->profile, text);
			expect(got >= c->action, "enclosed", c, text, got);
			n++;
		}
	print_message("%zu texts, %zu failures\n", n, failures);
	assert_int_equal(failures, 0);
}

static const char *sq(struct arena *a, const char *text)
{
	struct buf b;

	buf_init(&b, a);
	buf_addc(&b, '\'');
	for (; *text; text++)
		if (*text == '\'')
			buf_adds(&b, "'\\''");
		else
			buf_addc(&b, *text);
	buf_addc(&b, '\'');
	return b.p;
}

/* The text given to a shell by a program. */
static void shells_never_lower(void **state)
{
	static const char *const shells[] = { "sh -c", "bash -c", "bash -xc", "/bin/sh -c", "env bash -c",
		"nohup sh -c", "timeout 5 bash -lc", "sudo sh -c", "busybox sh -c", "eval" };
	size_t n = 0;

	(void)state;
	failures = 0;
	for (size_t i = 0; i < command_count; i++)
		for (size_t s = 0; s < ARRAY_SIZE(shells); s++) {
			AUTO(arena_done) struct arena a = { 0 };
			const struct command *c = &commands[i];
			const char *text = arena_printf(&a, "%s %s", shells[s], sq(&a, c->text));
			enum rule_effect got;
			if (!c->readable || has_positionals(c))
				continue;
			got = judge(c->profile, text);
			expect(got >= c->action, "in a shell", c, text, got);
			n++;
		}
	print_message("%zu texts, %zu failures\n", n, failures);
	assert_int_equal(failures, 0);
}

/* Words in front of words. */
static void wrappers_never_lower(void **state)
{
	static const char *const wrappers[][4] = { { "env" }, { "nohup" }, { "nice" }, { "nice", "-n", "5" },
		{ "timeout", "5" }, { "sudo" }, { "setsid" }, { "stdbuf", "-o0" }, { "time" },
		{ "env", "-i" }, { "env", "A=1" }, { "sudo", "-u", "root" }, { "ionice", "-c3" },
		{ "strace", "-f" } };
	size_t n = 0;

	(void)state;
	failures = 0;
	for (size_t i = 0; i < command_count; i++)
		for (size_t w = 0; w < ARRAY_SIZE(wrappers); w++) {
			AUTO(arena_done) struct arena a = { 0 };
			const struct command *c = &commands[i];
			const char *argv[MAX_WORDS + 4];
			size_t argc = 0;
			struct buf b;
			enum rule_effect got;
			/* "nohup A=1 x" runs a program called A=1: another command. */
			if (!c->argc || strchr(c->argv[0], '='))
				continue;
			buf_init(&b, &a);
			while (argc < 4 && wrappers[w][argc]) {
				argv[argc] = wrappers[w][argc];
				add_word(&b, argv[argc++]);
			}
			for (size_t k = 0; k < c->argc; k++) {
				argv[argc++] = c->argv[k];
				add_word(&b, c->argv[k]);
			}
			got = guard_fixture_argv(&g, &a, c->profile, argv, argc).action;
			expect(got >= c->argv_action, "wrapped", c, b.p, got);
			n++;
		}
	print_message("%zu texts, %zu failures\n", n, failures);
	assert_int_equal(failures, 0);
}

/* One plain word in another spelling. */
static const char *respell(struct arena *a, const char *word, int how)
{
	size_t n = strlen(word);

	switch (how) {
	case 0:
		return arena_printf(a, "'%s'", word);
	case 1:
		return arena_printf(a, "\"%s\"", word);
	case 2:
		return arena_printf(a, "\\%s", word);
	case 3:
		return arena_printf(a, "%.*s''%s", (int)(n / 2), word, word + n / 2);
	case 4:
		return arena_printf(a, "$'%s'", word);
	case 5:
		return arena_printf(a, "%.*s\\\n%s", (int)(n / 2), word, word + n / 2);
	default:
		return arena_printf(a, "%.*s\"%s\"", (int)(n / 2), word, word + n / 2);
	}
}

/* Letters, digits and a few signs: quoting them changes nothing.  A word with = may be an assignment, ~ and * expand. */
static bool is_plain(const char *word)
{
	return *word &&
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@%-") ==
		strlen(word);
}

static bool is_keyword(const char *word)
{
	static const char *const words[] = { "time", "if", "for", "while", "until", "case", "select",
		"function", "coproc", "then", "do", "alias", "export", "declare", "local" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_eq(words[i], word))
			return true;
	return false;
}

static void spelling_changes_nothing(void **state)
{
	size_t n = 0;

	(void)state;
	failures = 0;
	for (size_t i = 0; i < command_count; i++)
		for (size_t k = 0; k < commands[i].argc && k < 5; k++)
			for (int how = 0; how < 7; how++) {
				AUTO(arena_done) struct arena a = { 0 };
				const struct command *c = &commands[i];
				struct buf b;
				enum rule_effect got;
				if (!is_plain(c->argv[k]) || (k == 0 && is_keyword(c->argv[0])))
					continue;
				buf_init(&b, &a);
				for (size_t w = 0; w < c->argc; w++)
					if (w == k)
						buf_addf(&b, "%s%s", b.n ? " " : "",
							respell(&a, c->argv[w], how));
					else
						add_word(&b, c->argv[w]);
				got = judge(c->profile, b.p);
				expect(got == c->action, "respelled", c, b.p, got);
				n++;
			}
	print_message("%zu texts, %zu failures\n", n, failures);
	assert_int_equal(failures, 0);
}

/* Options in any order, bundled or not, short or long. */
static void spellings_of_options_change_nothing(void **state)
{
	static const char *const groups[][8] = {
		{ "rm -rf %s", "rm -fr %s", "rm -r -f %s", "rm -f -r %s", "rm -Rf %s",
			"rm --recursive --force %s", "rm --recursive -f %s", "rm %s -rf" },
		{ "git clean -fdx", "git clean -xdf", "git clean -f -d -x", "git clean --force -d -x" },
		{ "chmod -R 777 %s", "chmod --recursive 777 %s", "chmod 777 -R %s" },
		{ "cp -rf a %s", "cp -fr a %s", "cp -r -f a %s", "cp --recursive --force a %s" },
	};
	static const char *const targets[] = { "/", "build", "/etc", "~", "..", "/tmp/x", "$X", "\"$X/\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		for (size_t t = 0; t < ARRAY_SIZE(targets); t++) {
			AUTO(arena_done) struct arena a = { 0 };
			enum rule_effect first = ACTION_ALLOW;
			for (size_t k = 0; k < 8 && groups[i][k]; k++) {
				const char *mark = strstr(groups[i][k], "%s");
				const char *text = mark
					? arena_printf(&a, "%.*s%s%s", (int)(mark - groups[i][k]),
						  groups[i][k], targets[t], mark + 2)
					: groups[i][k];
				enum rule_effect got = judge("risky_edit", text);
				if (k == 0)
					first = got;
				else if (got != first)
					fail_msg(
						"%s: %s, not %s", text, action_name(got), action_name(first));
			}
		}
}

/* Two commands in a row; the first in a subshell, so that its cd and its variables stay there. */
static void lists_are_as_strict_as_their_parts(void **state)
{
	uint32_t seed = 12345;
	size_t n = 0;

	(void)state;
	failures = 0;
	for (; n < 6000; n++) {
		AUTO(arena_done) struct arena a = { 0 };
		const struct command *x, *y;
		const char *text;
		enum rule_effect got, alone;
		seed = seed * 1664525u + 1013904223u;
		x = &commands[(seed >> 8) % command_count];
		seed = seed * 1664525u + 1013904223u;
		y = &commands[(seed >> 8) % command_count];
		if (!x->readable || !y->readable)
			continue;
		text = arena_printf(&a, "(\n%s\n)\n%s", x->text, y->text);
		got = judge(y->profile, text);
		alone = judge(y->profile, x->text);
		expect(got >= y->action && got >= alone, "list", y, text, got);
	}
	print_message("%zu texts, %zu failures\n", n, failures);
	assert_int_equal(failures, 0);
}

static void added_rules_never_lower(void **state)
{
	static const char *const files[] = {
		"{\"version\": 1}",
		"{\"version\": 1, \"require_approval\": [{\"id\": \"x\", \"patterns\": [\"git\"]}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"type\": \"regex\", \"patterns\": "
		"[\"rm|ls\"]}]}",
		"{\"version\": 1, \"require_approval\": [{\"id\": \"risk.sudo\", \"type\": \"effect\","
		"\"when\": {\"kind\": \"write\"}}]}",
		"{\"version\": 1, \"override\": {\"risk.git_clean\": \"allow\", \"risk.sudo\": \"warn\"}}",
		"{\"version\": 1, \"profile_rules\": {\"inspect_local\": {\"writes_allowed\": true, "
		"\"on_write\": \"allow\"},"
		"\"workspace_edit\": {\"network_allowed\": true}}}",
		"{\"version\": 7}",
		"nonsense",
	};
	const struct policy *shipped = g.policy;

	(void)state;
	failures = 0;
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct policy_source from = { .file = bytes_of(files[f]), .file_name = "guard_policy.json" };
		g.policy = policy_compile(&a, &from);
		for (size_t i = 0; i < command_count; i++) {
			enum rule_effect got = judge(commands[i].profile, commands[i].text);
			expect(got >= commands[i].action, files[f], &commands[i], commands[i].text, got);
		}
		g.policy = shipped;
	}
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enclosures_never_lower),
		cmocka_unit_test(shells_never_lower),
		cmocka_unit_test(wrappers_never_lower),
		cmocka_unit_test(spelling_changes_nothing),
		cmocka_unit_test(spellings_of_options_change_nothing),
		cmocka_unit_test(lists_are_as_strict_as_their_parts),
		cmocka_unit_test(added_rules_never_lower),
	};
	return cmocka_run_group_tests_name("guard_properties", tests, begin, done);
}
