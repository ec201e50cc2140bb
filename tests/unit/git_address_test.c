/* git_address_test.c — where a push goes and a fetch comes from is what git itself says about the same files. */
#include "propose/git.h"

#include "base/file.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct arena a;
static struct scratch t;

static int begin(void **state)
{
	(void)state;
	scratch_open(&t);
	mkdirat(t.fd, "repo", 0700);
	mkdirat(t.fd, "repo/sub", 0700);
	mkdirat(t.fd, "repo/.git", 0700);
	mkdirat(t.fd, "repo/.git/objects", 0700);
	mkdirat(t.fd, "repo/.git/refs", 0700);
	mkdirat(t.fd, "repo/.git/remotes", 0700);
	mkdirat(t.fd, "repo/.git/branches", 0700);
	mkdirat(t.fd, "repo/.git/worktrees", 0700);
	mkdirat(t.fd, "repo/.git/worktrees/w", 0700);
	mkdirat(t.fd, "linked", 0700);
	mkdirat(t.fd, "home", 0700);
	scratch_put(&t, "repo/.git/HEAD", "ref: refs/heads/work\n");
	return 0;
}

static int done(void **state)
{
	(void)state;
	scratch_done(&t);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* Under the scratch directory, as a repository at `where` with the person's home in home/. */
static const char *address(const char *where, const char *remote, bool is_push)
{
	static const char *const none[] = { NULL };
	const struct surroundings at = {
		.sys = sys_default(), .home = arena_printf(&a, "%s/home", t.path), .environment = none
	};

	return git_address(&a, &at, arena_printf(&a, "%s/%s", t.path, where), remote, is_push);
}

#define ORIGIN "[remote \"origin\"]\n\turl = https://one.example/x.git\n"

static void the_address_is_that_of_the_settings(void **state)
{
	static const struct {
		const char *config, *remote, *push, *fetch;
	} cases[] = {
		{ ORIGIN, "origin", "https://one.example/x.git", "https://one.example/x.git" },
		{ ORIGIN, NULL, "https://one.example/x.git", "https://one.example/x.git" },
		{ "[Remote \"origin\"]\n URL = a:b ; no more\n", "origin", "a:b", "a:b" },
		{ "[remote \"Origin\"]\n url = a:b\n", "origin", NULL, NULL },
		{ ORIGIN "\tpushurl = ssh://two.example/x\n\tpushurl = three.example:x\n", "origin",
			"ssh://two.example/x, three.example:x", "https://one.example/x.git" },
		{ ORIGIN "\turl = https://four.example/x\n", "origin",
			"https://one.example/x.git, https://four.example/x",
			"https://one.example/x.git, https://four.example/x" },
		{ ORIGIN "[url \"https://evil.example/\"]\n\tinsteadOf = https://one.example/\n", "origin",
			"https://evil.example/x.git", "https://evil.example/x.git" },
		{ ORIGIN "[url \"e:\"]\n\tinsteadOf = https://\n[url \"f:\"]\n\tinsteadOf = https://one.\n",
			NULL, "f:example/x.git", "f:example/x.git" },
		{ ORIGIN "[url \"e:\"]\n\tpushInsteadOf = https://\n", "origin", "e:one.example/x.git",
			"https://one.example/x.git" },
		{ ORIGIN "\tpushurl = p:x\n[url \"e:\"]\n\tpushInsteadOf = p:\n", "origin", "p:x",
			"https://one.example/x.git" },
		{ "[url \"e:\"]\n\tinsteadOf = gh:\n", "gh:me/x", "e:me/x", "e:me/x" },
		{ ORIGIN, "https://five.example/y", NULL, NULL },
		{ "[remote \"o\"]\n url = https://me:word@one.example/x\n", "o", "https://me@one.example/x",
			"https://me@one.example/x" },
		{ ORIGIN "[remote \"up\"]\n url = up:x\n[branch \"work\"]\n remote = up\n", NULL, "up:x",
			"up:x" },
		{ ORIGIN "[remote \"up\"]\n url = up:x\n[branch \"work\"]\n pushRemote = up\n", NULL, "up:x",
			"https://one.example/x.git" },
		{ ORIGIN "[remote \"up\"]\n url = up:x\n[remote]\n pushDefault = up\n", NULL, "up:x",
			"https://one.example/x.git" },
		{ ORIGIN "[branch \"other\"]\n remote = up\n", NULL, "https://one.example/x.git",
			"https://one.example/x.git" },
		{ ORIGIN "[http]\n proxy = http://me:word@p.example:1\n", "origin",
			"https://one.example/x.git through http://me@p.example:1",
			"https://one.example/x.git through http://me@p.example:1" },
		{ ORIGIN "\tproxy = q.example\n", "origin", "https://one.example/x.git through q.example",
			"https://one.example/x.git through q.example" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scratch_put(&t, "repo/.git/config", cases[i].config);
		for (int push = 0; push < 2; push++) {
			const char *want = push ? cases[i].push : cases[i].fetch,
				   *got = address("repo/sub", cases[i].remote, push);
			if ((want && (!got || strcmp(got, want) != 0)) || (!want && got))
				fail_msg("case %zu, push %d: '%s', not '%s'", i, push, got ? got : "-",
					want ? want : "-");
		}
	}
}

static void every_file_that_git_reads_counts(void **state)
{
	(void)state;
	scratch_put(&t, "repo/.git/config", "[include]\n\tpath = ../more\n");
	scratch_put(&t, "repo/more", ORIGIN);
	assert_string_equal(address("repo", "origin", true), "https://one.example/x.git");
	scratch_put(
		&t, "home/.gitconfig", "[url \"e:\"]\n\tinsteadOf = https://\n[include]\n\tpath = ~/again\n");
	assert_string_equal(address("repo", "origin", true), "e:one.example/x.git");
	scratch_put(&t, "home/again", "[url \"f:\"]\n\tinsteadOf = https://one\n[include]\n\tpath = again\n");
	assert_string_equal(address("repo", "origin", true), "f:.example/x.git");
	scratch_put(&t, "repo/.git/remotes/old", "URL: old:x\nPull: master\nURL: older:x\n");
	assert_string_equal(address("repo", "old", true), "old:x, older:x");
	scratch_put(&t, "repo/.git/branches/ancient", "ancient:x#main\n");
	assert_string_equal(address("repo", "ancient", true), "ancient:x");
	assert_null(address("repo", "../config", true));
}

static void linked_trees_have_their_repositorys_settings(void **state)
{
	(void)state;
	scratch_put(&t, "repo/.git/config", ORIGIN);
	scratch_put(&t, "linked/.git", arena_printf(&a, "gitdir: %s/repo/.git/worktrees/w\n", t.path));
	scratch_put(&t, "repo/.git/worktrees/w/commondir", "../..\n");
	scratch_put(&t, "repo/.git/worktrees/w/HEAD", "ref: refs/heads/there\n");
	scratch_put(&t, "repo/.git/worktrees/w/config.worktree",
		"[branch \"there\"]\n\tpushRemote = https://w.example\n");
	assert_string_equal(address("linked", "origin", true), "https://one.example/x.git");
	assert_string_equal(address("linked", NULL, true), "https://w.example");
	assert_string_equal(address("repo/.git", "origin", false), "https://one.example/x.git");
}

static void nothing_is_said_where_nothing_is_known(void **state)
{
	const struct surroundings lexical = { 0 };

	(void)state;
	assert_null(git_address(&a, &lexical, "/x", "origin", true));
	assert_null(address("home", "origin", true));
	assert_null(git_address(&a, &(struct surroundings){ .sys = sys_default() }, "x", "origin", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_address_is_that_of_the_settings, begin, done),
		cmocka_unit_test_setup_teardown(every_file_that_git_reads_counts, begin, done),
		cmocka_unit_test_setup_teardown(linked_trees_have_their_repositorys_settings, begin, done),
		cmocka_unit_test_setup_teardown(nothing_is_said_where_nothing_is_known, begin, done),
	};
	return cmocka_run_group_tests_name("git_address", tests, NULL, NULL);
}
