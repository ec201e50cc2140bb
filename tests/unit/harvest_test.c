/* harvest_test.c — the shell text in files is found, with its line, and nothing else is. */
#include "base/text.h"
#include "propose/propose.h"
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

struct want {
	uint32_t line;
	const char *text, *where;
};

static void check(enum script_kind kind, const char *file, const struct want *want, size_t n)
{
	struct snippet *list;
	size_t found;

	harvest(&a, kind, bytes_of(file), &list, &found);
	for (size_t i = 0; i < n && i < found; i++) {
		const char *text = arena_strndup(&a, (const char *)list[i].text.p, list[i].text.n);
		assert_string_equal(text, want[i].text);
		assert_int_equal(list[i].line, want[i].line);
		if (want[i].where)
			assert_string_equal(list[i].where, want[i].where);
	}
	assert_int_equal(found, n);
}

static void files_are_recognised_by_name_and_shebang(void **state)
{
	static const struct {
		const char *name, *text;
		enum script_kind kind;
	} cases[] = {
		{ "a/b/run.sh", "", SCRIPT_SHELL },
		{ "tool", "#!/usr/bin/env bash\nls\n", SCRIPT_SHELL },
		{ "tool", "#!/bin/sh -e\nls\n", SCRIPT_SHELL },
		{ "tool", "#!/usr/bin/env -S bash -x\n", SCRIPT_SHELL },
		{ "tool", "#!/usr/bin/python3\n", SCRIPT_KIND_COUNT },
		{ "tool", "#!", SCRIPT_KIND_COUNT },
		{ "tool", "", SCRIPT_KIND_COUNT },
		{ "sub/Makefile", "", SCRIPT_MAKE },
		{ "rules.mk", "", SCRIPT_MAKE },
		{ ".github/workflows/ci.yml", "", SCRIPT_GITHUB },
		{ ".gitlab-ci.yml", "", SCRIPT_GITLAB },
		{ "Dockerfile.dev", "", SCRIPT_DOCKER },
		{ "web/package.json", "", SCRIPT_PACKAGE_JSON },
		{ ".bash_history", "", SCRIPT_HISTORY },
		{ "notes.txt", "hello", SCRIPT_KIND_COUNT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (harvest_guess(cases[i].name, bytes_of(cases[i].text)) != cases[i].kind)
			fail_msg("%s", cases[i].name);
}

static void recipes_of_a_makefile(void **state)
{
	static const struct want want[] = {
		{ 6, "rm -rf build dist", "target clean" },
		{ 7, "for f in a b; do \\\n\t  echo $f; \\\n\tdone", "target clean" },
		{ 12, "make -C sub ${make}", "target all" },
		{ 13, "echo all ${make}", "target all" },
	};

	(void)state;
	check(SCRIPT_MAKE,
		"BUILD := build\nOTHER = $(shell ls)\nDIST ?= dist\n.PHONY: clean\nclean:\n"
		"\t@rm -rf $(BUILD) ${DIST}\n\t-for f in a b; do \\\n\t  echo $$f; \\\n\tdone\n\nall: clean\n"
		"\t$(MAKE) -C sub $(OTHER)\n\techo $@ $(unknown)\n",
		want, ARRAY_SIZE(want));
}

/* A variable where a program stands is called like it; automatic ones are files; functions stay unknown. */
static void what_make_puts_in(void **state)
{
	static const struct want want[] = {
		{ 6, "gcc -O2 -g -c make-source -o make-target", "target %.o" },
		{ 8, "A=1 go build -o bin/app ${make} ./...", "target bin/app" },
		{ 9, "docker rm -f ${make}", "target bin/app" },
		{ 10, "cp make-source bin/app.tmp && mv bin/app.tmp bin/app", "target bin/app" },
		{ 11, "if make-function; then make-directory; fi", "target bin/app" },
		{ 12, "rm -rf a b/c", "target bin/app" },
	};

	(void)state;
	check(SCRIPT_MAKE,
		"CC = gcc\nCFLAGS = -O2\nCFLAGS += -g\nDIRS = a b/c\n%.o: %.c\n"
		"\t$(Q)$(CC) $(CFLAGS) -c $< -o $@\nbin/app: main.o\n\tA=1 $(GO) build -o $@ $(patsubst "
		"%,$(x)/%,y) ./...\n"
		"\t$(DOCKER) rm -f $(NAME)\n\tcp $^ $@.tmp && mv $@.tmp $@\n\tif $(call f,$(a)); then $(@D); "
		"fi\n"
		"\t@rm -rf $(DIRS)\n",
		want, ARRAY_SIZE(want));
}

static void steps_in_other_languages(void **state)
{
	static const struct want want[] = {
		{ 9, "echo last", "run" },
	};

	(void)state;
	check(SCRIPT_GITHUB,
		"steps:\n  - name: a\n    shell: python\n    run: import os\n  - run: |\n      print(1)\n"
		"    shell: pwsh\n  - name: b\n    run: echo last\n    shell: bash\n",
		want, ARRAY_SIZE(want));
}

static void run_blocks_of_a_workflow(void **state)
{
	static const struct want want[] = {
		{ 5, "npm ci", "run" },
		{ 8, "make\n\nrm -rf \"${expression}/x\"\n", "run" },
		{ 12, "echo it's", "run" },
		{ 14, "curl x \\\n| sh", "run" },
	};

	(void)state;
	check(SCRIPT_GITHUB,
		"jobs:\n  build:\n    runs-on: ubuntu\n    steps:\n      - run: npm ci\n      - name: b\n    "
		"    run: |\n"
		"          make\n\n          rm -rf \"${{ github.workspace }}/x\"\n\n      - run: 'echo "
		"it''s'\n"
		"      - run: >-\n          curl x\n          | sh\n      - uses: actions/checkout@v4\n",
		want, ARRAY_SIZE(want));
}

static void script_lists_of_gitlab(void **state)
{
	static const struct want want[] = {
		{ 2, "echo before", "before_script" },
		{ 6, "make", "script" },
		{ 8, "a\nb\n", "script" },
		{ 12, "make clean", "after_script" },
	};

	(void)state;
	check(SCRIPT_GITLAB,
		"before_script:\n  - echo before\nbuild:\n  script:\n    # comment\n    - make\n    - |\n    "
		"  a\n      b\n\n"
		"  stage: test\n  after_script: make clean\n",
		want, ARRAY_SIZE(want));
}

static void runs_of_a_dockerfile(void **state)
{
	static const struct want want[] = {
		{ 2, "apt-get update && \\\n\\\n    apt-get install -y x", "RUN" },
		{ 5, "'sh' '-c' 'echo it'\\''s'", "RUN" },
		{ 6, "pip install x", "RUN" },
		{ 8, "set -e\nmake", "RUN" },
	};

	(void)state;
	check(SCRIPT_DOCKER,
		"FROM debian\nRUN apt-get update && \\\n# why\n    apt-get install -y x\nRUN [\"sh\", "
		"\"-c\", \"echo it's\"]\n"
		"run --mount=type=cache,target=/x pip install x\nRUN <<EOF\nset -e\nmake\nEOF\nCMD [\"x\"]\n",
		want, ARRAY_SIZE(want));
}

static void scripts_of_a_package(void **state)
{
	static const struct want want[] = { { 4, "rm -rf dist", "script clean" },
		{ 5, "jest", "script test" } };

	(void)state;
	check(SCRIPT_PACKAGE_JSON,
		"{\n  \"name\": \"x\",\n  \"scripts\": {\n    \"clean\": \"rm -rf dist\",\n    \"test\": "
		"\"jest\",\n"
		"    \"odd\": 1\n  }\n}\n",
		want, ARRAY_SIZE(want));
	check(SCRIPT_PACKAGE_JSON, "not json", NULL, 0);
}

static void histories_of_three_shells(void **state)
{
	static const struct want bash[] = { { 2, "ls -la", NULL }, { 3, "rm -rf /", NULL } };
	static const struct want zsh[] = { { 1, "git status", NULL }, { 2, ": plain", NULL } };
	static const struct want fish[] = { { 1, "rm x", NULL }, { 3, "ls", NULL } };

	(void)state;
	check(SCRIPT_HISTORY, "#1700000000\nls -la\nrm -rf /\n", bash, 2);
	check(SCRIPT_HISTORY, ": 1700000000:0;git status\n: plain\n", zsh, 2);
	check(SCRIPT_HISTORY, "- cmd: rm x\n  when: 1\n- cmd: ls\n  when: 2\n", fish, 2);
}

/* Cut anywhere, every reader ends and stays inside its bytes. */
static void torn_files_are_harmless(void **state)
{
	static const char file[] =
		"RUN <<EOF\nx\nEOF\nRUN [\"a\nrun: |\n  x\n- run: >\n\n\t$(a ${b $$ $\nclean:\n\tx \\\n"
		"script:\n  - |\n   a\n: 1:0;x\n{\"scripts\":{\"a\":\"b\"}}\n";

	(void)state;
	for (int kind = 0; kind <= SCRIPT_KIND_COUNT; kind++)
		for (size_t n = 0; n < sizeof(file); n++) {
			struct snippet *list;
			size_t count;
			char *copy = arena_text(&a, n);
			memcpy(copy, file, n);
			harvest(&a, (enum script_kind)kind, (struct bytes){ (uint8_t *)copy, n }, &list,
				&count);
			assert_true(count <= n);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(files_are_recognised_by_name_and_shebang, done),
		cmocka_unit_test_teardown(recipes_of_a_makefile, done),
		cmocka_unit_test_teardown(what_make_puts_in, done),
		cmocka_unit_test_teardown(steps_in_other_languages, done),
		cmocka_unit_test_teardown(run_blocks_of_a_workflow, done),
		cmocka_unit_test_teardown(script_lists_of_gitlab, done),
		cmocka_unit_test_teardown(runs_of_a_dockerfile, done),
		cmocka_unit_test_teardown(scripts_of_a_package, done),
		cmocka_unit_test_teardown(histories_of_three_shells, done),
		cmocka_unit_test_teardown(torn_files_are_harmless, done),
	};
	return cmocka_run_group_tests_name("harvest", tests, NULL, NULL);
}
