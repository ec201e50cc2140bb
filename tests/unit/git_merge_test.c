/* git_merge_test.c — what of a git configuration a run may leave behind, and that the file outside keeps its bytes. */
#include "propose/git.h"
#include "propose/git_text.h"
#include "propose/propose.h"

#include "base/text.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

#define CORE "[core]\n\tbare = false\n"
#define ORIGIN \
	"[remote \"origin\"]\n\turl = https://one.example/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"

/* dropped: keys, each followed by a blank. */
static void check(
	const char *base, const char *now, const char *inside, const char *want, const char *dropped)
{
	struct git_merge m;
	struct buf keys;

	propose_git_merge(&a, bytes_of(base), bytes_of(now), bytes_of(inside), &m);
	buf_init(&keys, &a);
	buf_adds(&keys, "");
	for (size_t i = 0; i < m.dropped_count; i++)
		buf_addf(&keys, "%s ", m.dropped[i].key);
	assert_string_equal(keys.p, dropped);
	assert_string_equal(arena_strndup(&a, (const char *)m.text.p, m.text.n), want);
	assert_int_equal(m.is_changed, !text_eq(now, want));
}

static void what_starts_or_redirects_is_dropped(void **state)
{
	static const struct {
		const char *key, *lines;
	} rows[] = {
		{ "core.fsmonitor ", "[core]\n\tfsmonitor = /tmp/x\n" },
		{ "core.hookspath ", "[core]\n\thooksPath = /tmp/x\n" },
		{ "core.worktree ", "[core]\n\tworktree = /tmp\n" },
		{ "core.sshcommand ", "[core] sshCommand = x\n" },
		{ "core.attributesfile ", "[core] attributesFile = x\n" },
		{ "include.path ", "[include]\n\tpath = /tmp/x\n" },
		{ "includeif.gitdir:/.path ", "[includeIf \"gitdir:/\"]\n\tpath = /tmp/x\n" },
		{ "filter.x.smudge ", "[filter \"x\"]\n\tsmudge = x\n" },
		{ "alias.status ", "[alias]\n\tstatus = !x\n" },
		{ "remote.origin.pushurl ", "[remote \"origin\"]\n\tpushurl = https://evil\n" },
		{ "remote.origin.mirror ", "[remote \"origin\"]\n\tmirror = true\n" },
		{ "remote.evil.url ", "[remote \"evil\"]\n\turl = https://evil\n" },
		{ "remote.pushdefault ", "[remote]\n\tpushDefault = evil\n" },
		{ "push.default ", "[push]\n\tdefault = matching\n" },
		{ "branch.main.pushremote ", "[branch \"main\"]\n\tpushRemote = origin\n" },
		{ "branch.main.remote ", "[branch \"main\"]\n\tremote = https://evil\n" },
		{ "url.https://evil/.insteadof ",
			"[url \"https://evil/\"]\n\tinsteadOf = https://one.example/\n" },
		{ "http.proxy ", "[http]\n\tproxy = http://evil\n" },
		{ "http.sslverify ", "[http]\n\tsslVerify = false\n" },
		{ "http.https://one.example/.extraheader ",
			"[http \"https://one.example/\"]\n\textraHeader = x\n" },
		{ "credential.helper ", "[credential]\n\thelper = store\n" },
		{ "submodule.s.url ", "[submodule \"s\"]\n\turl = https://evil\n" },
		{ "extensions.partialclone ", "[extensions]\n\tpartialClone = origin\n" },
		{ "user.signingkey ", "[user]\n\tsigningKey = x\n" },
		{ "commit.gpgsign ", "[commit]\n\tgpgSign = false\n" },
		{ "gpg.program ", "[gpg]\n\tprogram = x\n" },
		{ "anything.else ", "[anything]\n\telse = 1\n" },
		{ "user.name ", "[user]\n\tname = \"two\\nlines\"\n" },
		{ "core.eol ", "[core]\n\teol = \"a b\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *inside = arena_printf(&a, CORE ORIGIN "%s", rows[i].lines);
		check(CORE ORIGIN, CORE ORIGIN, inside, CORE ORIGIN, rows[i].key);
		/* And when it comes with something that may stay. */
		inside = arena_printf(&a, "%s[user]\n\temail = a@b\n", inside);
		check(CORE ORIGIN, CORE ORIGIN, inside, CORE ORIGIN "[user]\n\temail = a@b\n", rows[i].key);
	}
}

static void what_git_does_in_ordinary_work_stays(void **state)
{
	static const struct {
		const char *base, *inside, *want;
	} rows[] = {
		{ CORE, CORE "[user]\n\tname = A B\n\temail = a@b\n",
			CORE "[user]\n\tname = \"A B\"\n\temail = a@b\n" },
		{ CORE ORIGIN, CORE ORIGIN "[branch \"x/y\"]\n\tremote = origin\n\tmerge = refs/heads/m\n",
			CORE ORIGIN "[branch \"x/y\"]\n\tremote = origin\n\tmerge = refs/heads/m\n" },
		{ CORE, CORE "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/m\n",
			CORE "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/m\n" },
		{ CORE "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/m\n" ORIGIN, CORE ORIGIN,
			CORE ORIGIN },
		{ "# mine\n[core] bare = false ; why\n[user]\n\tname = X # me\n",
			"[core] bare = false\n[user]\n\tname = Y\n",
			"# mine\n[core] bare = false ; why\n[user]\n\tname = Y\n" },
		{ "[user]\n\temail = a\n" CORE, "[user]\n\temail = a\n\tname = N\n" CORE,
			"[user]\n\temail = a\n\tname = N\n" CORE },
		{ "[core]\n\tfsmonitor = mine\n", "[core]\n\tfsmonitor = mine\n\tautocrlf = input\n",
			"[core]\n\tfsmonitor = mine\n\tautocrlf = input\n" },
		{ "[a]\r\n\tb = 1\r\n", "[a]\n\tb = 1\n[user]\n\tname = n\n",
			"[a]\r\n\tb = 1\r\n[user]\n\tname = n\n" },
		{ "[user] name = a", "[user] name = b", "[user] name = b" },
		{ "", "[core]\n\tsparseCheckout\n", "[core]\n\tsparsecheckout\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].base, rows[i].base, rows[i].inside, rows[i].want, "");
}

static void what_is_taken_away_counts_too(void **state)
{
	(void)state;
	check(CORE ORIGIN, CORE ORIGIN, CORE, CORE ORIGIN, "remote.origin.url remote.origin.fetch ");
	check("[http]\n\tsslVerify = true\n" CORE, "[http]\n\tsslVerify = true\n" CORE, CORE,
		"[http]\n\tsslVerify = true\n" CORE, "http.sslverify ");
	check(CORE "[user]\n\tname = a\n", CORE "[user]\n\tname = a\n", CORE, CORE, "");
	/* A second value is another list. */
	check(CORE ORIGIN, CORE ORIGIN, CORE ORIGIN "[remote \"origin\"]\n\turl = https://evil\n",
		CORE ORIGIN, "remote.origin.url ");
}

static void what_was_changed_outside_wins(void **state)
{
	(void)state;
	check("[user]\n\tname = a\n", "[user]\n\tname = b\n", "[user]\n\tname = c\n", "[user]\n\tname = b\n",
		"user.name ");
	check("[user]\n\tname = a\n", "[user]\n\tname = c\n", "[user]\n\tname = c\n", "[user]\n\tname = c\n",
		"");
	check("[user]\n\tname = a\n", "[user]\n\tname = a\n" ORIGIN, "[user]\n\tname = c\n",
		"[user]\n\tname = c\n" ORIGIN, "");
	/* A remote that only the run knows is none. */
	check(CORE "[remote \"evil\"]\n\turl = x\n", CORE,
		CORE "[remote \"evil\"]\n\turl = x\n[branch \"m\"]\n\tremote = evil\n", CORE,
		"branch.m.remote ");
	struct bytes copy = propose_git_refresh(
		&a, bytes_of(CORE), bytes_of(CORE "[core]\n\tfsmonitor = x\n"), bytes_of(CORE ORIGIN));
	assert_string_equal(arena_strndup(&a, (const char *)copy.p, copy.n),
		CORE "[core]\n\tfsmonitor = x\n"
		     "[remote \"origin\"]\n\turl = https://one.example/x\n"
		     "\tfetch = +refs/heads/*:refs/remotes/origin/*\n");
}

/* One that git itself refuses, or that reads otherwise in another reader. */
static void what_git_would_not_read_is_not_merged(void **state)
{
	static const char *const texts[] = { "x = 1\n", "[user\n", "[user]\n\tname = \"a\n",
		"[user]\n\t= 1\n", "[user]\n\tname # c\n", "[user]\n\tname = a\\x\n", "[a \"b]\n",
		"[a \"b\" c]\n", "[user]\n\tname = a\\", "[a_b]\n", "[]\n\tx = 1\n",
		"\f[user]\n\tname = a\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct git_merge m;
		propose_git_merge(&a, bytes_of(CORE), bytes_of(CORE), bytes_of(texts[i]), &m);
		assert_true(m.is_unread);
		assert_false(m.is_changed);
	}
	struct git_merge m;
	struct bytes nul = BYTES_LITERAL("[user]\n\tname = a\0b\n");
	propose_git_merge(&a, bytes_of(CORE), bytes_of(CORE), nul, &m);
	assert_true(m.is_unread);
	struct buf many;
	buf_init(&many, &a);
	buf_adds(&many, "[user]\n");
	for (int i = 0; i < GIT_SETTINGS_MOST + 1; i++)
		buf_adds(&many, "name = x\n");
	propose_git_merge(&a, bytes_of(CORE), bytes_of(CORE), buf_bytes(&many), &m);
	assert_true(m.is_unread);
}

static void continued_and_quoted_lines_are_read_as_git_does(void **state)
{
	struct git_text x;

	(void)state;
	assert_true(git_text_read(&a,
		bytes_of("\xef\xbb\xbf[A.B \"C\\\"d\"] e = \"x # y\" ; z\n\tlong = a\\\n  b  c \n[s]k\n"),
		&x));
	assert_int_equal(x.count, 3);
	assert_string_equal(x.sections[0].name, "a.b.C\"d");
	assert_string_equal(x.settings[0].value, "x # y");
	assert_string_equal(x.settings[1].value, "a  b  c");
	assert_null(x.settings[2].value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_starts_or_redirects_is_dropped, done),
		cmocka_unit_test_teardown(what_git_does_in_ordinary_work_stays, done),
		cmocka_unit_test_teardown(what_is_taken_away_counts_too, done),
		cmocka_unit_test_teardown(what_was_changed_outside_wins, done),
		cmocka_unit_test_teardown(what_git_would_not_read_is_not_merged, done),
		cmocka_unit_test_teardown(continued_and_quoted_lines_are_read_as_git_does, done),
	};

	return cmocka_run_group_tests_name("git_merge", tests, NULL, NULL);
}
