/* session_tables_test.c — the tables of what a session's client carries back name nothing that starts or steers anything.
 *
 * `session_tables_test --print` prints them, a word and a path per line, for tests of the command line. */
#include "base/text.h"
#include "clients/clients.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>

static void print_list(const char *what, const char *const *list)
{
	for (; list && *list; list++)
		printf("%s %s\n", what, *list);
}

static void print_tables(void)
{
	static const char *const hows[] = { "lines", "json", "members", "login" };
	const struct client *c;

	for (size_t i = 0; (c = clients_at(i)); i++) {
		if (!c->session)
			continue;
		printf("client %s\nprogram %s\nvariable %s\n", c->name, c->session->program,
			c->session->home_variable ? c->session->home_variable : "-");
		print_list("state", c->session->state);
		print_list("moved", c->session->moved);
		print_list("closed", c->session->closed);
		print_list("dropped", c->session->dropped);
		for (const struct client_file *f = c->files; f->path; f++)
			printf("file %s\n", f->path);
		for (const struct client_carry *r = c->session->carried; r && r->path; r++)
			printf("carried %s %s %s\n", r->path, hows[r->how], r->suffix ? r->suffix : "");
	}
}

static bool overlaps(const char *x, const char *y)
{
	size_t n = strlen(x) < strlen(y) ? strlen(x) : strlen(y);

	return text_eq(x, y) || (strncmp(x, y, n) == 0 && (x[n - 1] == '/' && y[n - 1] == '/'));
}

static void test_nothing_that_starts_is_carried(void **state)
{
	static const char *const steer[] = { "settings", "hook", "agents", "commands", "skill", "plugin",
		"CLAUDE.md", "AGENTS.md", "GEMINI.md", "config", "/local/", "/bin/", "prompts", "rules",
		"output-styles", "snapshot" };
	const struct client *c;

	(void)state;
	for (size_t i = 0; (c = clients_at(i)); i++)
		for (const struct client_carry *r = c->session ? c->session->carried : NULL; r && r->path;
			r++) {
			for (size_t k = 0; k < ARRAY_SIZE(steer); k++)
				assert_false(strstr(r->path, steer[k]));
			for (const char *const *p = c->session->closed; p && *p; p++)
				assert_false(overlaps(r->path, *p));
			/* A document that holds settings, too, only by members. */
			if (r->how != CARRY_MEMBERS)
				assert_int_equal(clients_care(r->path), CARE_NONE);
			/* A directory is never taken whole. */
			assert_true(!text_ends(r->path, "/") || (r->suffix && *r->suffix));
			assert_true(
				(r->how == CARRY_MEMBERS || r->how == CARRY_LOGIN) == (r->members != NULL));
			assert_true((r->how == CARRY_LOGIN) == (r->login != NULL));
		}
}

static void test_members_that_start_are_not_carried(void **state)
{
	static const char *const never[] = { "mcpServers", "hooks", "hasTrustDialogAccepted", "allowedTools",
		"env", "apiKeyHelper", "enabledMcpjsonServers", "disabledMcpjsonServers", "mcpContextUris",
		"hasClaudeMdExternalIncludesApproved", "customApiKeyResponses", "primaryApiKey",
		"oauthAccount", "bypassPermissionsModeAccepted", "permissions", "OPENAI_API_KEY",
		"statusLine" };
	const struct client *c;

	(void)state;
	for (size_t i = 0; (c = clients_at(i)); i++)
		for (const struct client_carry *r = c->session ? c->session->carried : NULL; r && r->path;
			r++)
			for (const struct client_member *m = r->members; m && m->path; m++) {
				const char *last = strrchr(m->path, '.');
				last = last ? last + 1 : m->path;
				for (size_t k = 0; k < ARRAY_SIZE(never); k++) {
					size_t n = strlen(last);
					assert_string_not_equal(last, never[k]);
					assert_string_not_equal(m->path, never[k]);
					/* No pattern that would take it along. */
					assert_false(last[n - 1] == '*' && m->type != MEMBER_NUMBER &&
						strncmp(last, never[k], n - 1) == 0);
				}
			}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_that_starts_is_carried),
		cmocka_unit_test(test_members_that_start_are_not_carried),
	};

	if (argc == 2 && text_eq(argv[1], "--print")) {
		print_tables();
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
