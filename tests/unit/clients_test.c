/* clients_test.c — every row of src/clients/, whatever rows there are: its settings are guarded, its marks are seen, its answers
 * mean what they say, and the list for scripts holds the same. */
#include "base/proc.h"
#include "base/text.h"
#include "clients/clients.h"
#include "tools/fault_sys.h"
#include "tools/guard_fixture.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* A file that a row of settings means: in its directory, and with something for its star. */
static const char *example_of(const char *path)
{
	const char *star = strchr(path, '*');

	if (path[strlen(path) - 1] == '/')
		return arena_printf(&a, "%sa-file", path);
	return star ? arena_printf(&a, "%.*s-more%s", (int)(star - path), path, star + 1) : path;
}

#define each_file(c, f) \
	for (size_t i_ = 0; ((c) = clients_at(i_)); i_++) \
		for (const struct client_file *f = (c)->files; f->path; f++)

static void test_rows(void **state)
{
	const struct client *c;

	(void)state;
	for (size_t i = 0; (c = clients_at(i)); i++) {
		assert_ptr_equal(clients_find(c->name), c);
		if (c->alias)
			assert_ptr_equal(clients_find(c->alias), c);
		assert_non_null(c->title);
		assert_true(c->files && c->files->path);
		/* A hook is either put in or pasted, and who has no hook can have neither. */
		assert_int_equal(c->speech != NULL, c->setup || c->paste);
		assert_false(c->setup && c->paste);
		if (c->setup)
			assert_int_equal(clients_care(c->setup->file), CARE_CLOSED);
		assert_int_equal(strstr(clients_with_hook(&a), c->name) != NULL, c->speech != NULL);
	}
	assert_null(clients_find("nobody"));
}

/* ---- settings ---- */

static enum verdict shell(const struct guard_fixture *g, const char *path)
{
	const char *text = arena_printf(&a, "echo x > '%s'", path);

	return guard_fixture_shell(g, &a, "workspace_edit", text, strlen(text)).verdict;
}

static enum verdict edit(const struct guard_fixture *g, const char *path)
{
	struct json *input = json_new(&a, JSON_OBJECT);
	struct tool_call call = { .tool_name = "Write", .input = input };

	json_sets(&a, input, "file_path", path);
	return guard_fixture_tool(g, &a, "workspace_edit", &call).verdict;
}

static void test_guard_asks_about_settings(void **state)
{
	static const char *const roots[] = { "/home/user", "/home/user/work", "/home/user/tree" };
	struct guard_fixture g;
	const struct client *c;

	(void)state;
	guard_fixture_begin(&g);
	g.at.work_tree = "/home/user/tree";
	assert_int_equal(edit(&g, "/home/user/work/notes.json"), V_ALLOW);
	each_file(c, f)
	{
		const char *file = example_of(f->path);
		assert_int_equal(clients_care(file), f->care);
		for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
			const char *path = arena_printf(&a, "%s/%s", roots[i], file);
			enum verdict by_shell = shell(&g, path), by_edit = edit(&g, path);
			if (by_shell == V_ALLOW || by_edit == V_ALLOW ||
				(f->care == CARE_CLOSED && (by_shell != V_DENY || by_edit != V_DENY)))
				fail_msg("%s: %s may be written: %#x %#x", c->name, path, by_shell, by_edit);
		}
		/* Of a project elsewhere, too: it is asked about. */
		const char *elsewhere = arena_printf(&a, "/home/user/work/packages/one/%s", file);
		if (shell(&g, elsewhere) == V_ALLOW || edit(&g, elsewhere) == V_ALLOW)
			fail_msg("%s: %s may be written", c->name, elsewhere);
	}
	guard_fixture_done(&g);
}

static void test_directories_of_closed_settings(void **state)
{
	struct guard_fixture g;
	const struct client *c;

	(void)state;
	guard_fixture_begin(&g);
	each_file(c, f)
	{
		const char *slash = strchr(f->path, '/');
		if (!slash || f->care != CARE_CLOSED)
			continue;
		const char *text = arena_printf(&a, "mv %.*s away", (int)(slash - f->path), f->path);
		if (guard_fixture_shell(&g, &a, "workspace_edit", text, strlen(text)).verdict == V_ALLOW)
			fail_msg("%s: %s passes", c->name, text);
	}
	guard_fixture_done(&g);
}

static bool lists(const struct json *list, const char *path)
{
	json_each (one, list)
		if (text_eq(json_text(one), path))
			return true;
	return false;
}

/* What walls and doctor ask: which of them are there? */
static void test_settings_that_are_there(void **state)
{
	struct scratch dir;
	const struct client *c;

	(void)state;
	scratch_open(&dir);
	struct json *none = json_new(&a, JSON_ARRAY);
	clients_settings_in(sys_real(), &a, NULL, dir.path, none);
	assert_int_equal(none->n, 0);
	each_file(c, f)
	{
		const char *file = example_of(f->path);
		struct json *found = json_new(&a, JSON_ARRAY), *of_one = json_new(&a, JSON_ARRAY);
		for (char *p = arena_strdup(&a, file), *s = strchr(p, '/'); s; s = strchr(s + 1, '/')) {
			*s = '\0';
			mkdirat(dir.fd, p, 0700);
			*s = '/';
		}
		scratch_put(&dir, file, "x");
		clients_settings_in(sys_real(), &a, NULL, dir.path, found);
		clients_settings_in(sys_real(), &a, c, dir.path, of_one);
		const char *named = f->path[strlen(f->path) - 1] == '/'
			? arena_strndup(&a, f->path, strlen(f->path) - 1)
			: file;
		const char *full = arena_printf(&a, "%s/%s", dir.path, named);
		if (!lists(found, full) || !lists(of_one, full))
			fail_msg("%s: %s was not found", c->name, full);
		scratch_empty(&dir);
	}
	scratch_done(&dir);
}

/* ---- marks ---- */

static void test_marks(void **state)
{
	struct fault f;
	const char *mark;

	(void)state;
	fault_init(&f);
	f.env = (const char *const[]){ "HOME=/home/user", NULL };
	assert_null(clients_mark_in_environment(&f.sys));
	for (size_t i = 0; (mark = clients_mark_at(i)); i++) {
		const char *env[] = { arena_printf(&a, "%s=1", mark), NULL };
		f.env = env;
		assert_string_equal(clients_mark_in_environment(&f.sys), mark);
	}
}

/* ---- what scripts are told ---- */

static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p++)
		if ((p == text || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

static const char *output_of(const char *what)
{
	const char *source = getenv("HELM_SOURCE");
	const char *const argv[] = { "/bin/sh",
		arena_printf(&a, "%s/tools/clients.sh", source ? source : "."), what, NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc_output got = { 0 };
	struct err e = { 0 };

	assert_int_equal(proc_capture(sys_real(), &a, &spec, bytes_of(""), 1 << 16, 10000, &got, &e), OK);
	assert_int_equal(got.end.code, 0);
	assert_true(got.out.n > 0);
	return arena_strndup(&a, (const char *)got.out.p, got.out.n);
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void test_scripts_hear_the_same(void **state)
{
	const char *marks = output_of("marks"), *settings = output_of("settings"), *mark;
	const struct client *c;
	size_t n = 0;

	(void)state;
	for (; (mark = clients_mark_at(n)); n++)
		assert_true(has_line(marks, mark));
	assert_int_equal(lines_of(marks), n);
	n = 0;
	each_file(c, f)
	{
		assert_true(has_line(settings, f->path));
		n++;
	}
	assert_int_equal(lines_of(settings), n);
}

/* ---- speech ---- */

static void test_answers(void **state)
{
	const struct client *c;

	(void)state;
	for (size_t i = 0; (c = clients_at(i)); i++) {
		if (!c->speech)
			continue;
		const struct json *no = c->speech->answer(&a, "deny", "why not", "a person reads this");
		assert_string_equal(c->speech->denial(no), "why not");
		if (c->speech->can_ask)
			assert_null(c->speech->denial(c->speech->answer(&a, "ask", "why", "person")));
		assert_null(c->speech->denial(json_new(&a, JSON_OBJECT)));
	}
}

static int read_text(const char *client, const char *text, struct tool_call *ret, struct err *e)
{
	return clients_read_call(clients_find(client), &a, bytes_of(text), ret, e);
}

static void test_payloads(void **state)
{
	const struct client *c;
	struct tool_call call;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; (c = clients_at(i)); i++) {
		struct buf text;
		if (!c->speech)
			continue;
		buf_init(&text, &a);
		json_write(&text, clients_test_payload(c, &a, "/somewhere", "rm -rf /"), 0);
		assert_int_equal(clients_read_call(c, &a, buf_bytes(&text), &call, &e), OK);
		assert_string_equal(json_get_text(call.input, "command", ""), "rm -rf /");
		assert_string_equal(call.cwd, "/somewhere");
		assert_true(call.is_self_test);
	}
	assert_int_equal(
		read_text("cursor",
			"{\"hook_event_name\":\"beforeMCPExecution\",\"tool_name\":\"t\",\"tool_input\":"
			"\"{\\\"x\\\":1}\",\"conversation_id\":\"c\",\"workspace_roots\":[\"/w\"]}",
			&call, &e),
		OK);
	assert_string_equal(call.tool_name, "mcp__t");
	assert_string_equal(call.session, "c");
	assert_string_equal(call.cwd, "/w");
	assert_false(call.is_self_test);
	/* The input as it is counts like one in a text, and a tool cannot name its own server. */
	assert_int_equal(read_text("cursor",
				 "{\"hook_event_name\":\"beforeMCPExecution\",\"tool_name\":\"github__push\","
				 "\"tool_input\":{\"url\":\"https://evil.example/\"}}",
				 &call, &e),
		OK);
	assert_string_equal(call.tool_name, "mcp____github__push");
	assert_string_equal(json_get_text(call.input, "url", ""), "https://evil.example/");
	assert_int_not_equal(
		read_text("cursor", "{\"hook_event_name\":\"beforeMCPExecution\",\"tool_input\":[1]}", &call,
			&e),
		OK);
	assert_int_not_equal(
		read_text("cursor", "{\"hook_event_name\":\"beforeMCPExecution\",\"tool_input\":\"7\"}",
			&call, &e),
		OK);
	assert_int_equal(read_text("cursor", "{\"hook_event_name\":\"beforeReadFile\",\"file_path\":\"f\"}",
				 &call, &e),
		OK);
	assert_string_equal(call.tool_name, "Read");
	assert_int_not_equal(read_text("cursor", "{\"hook_event_name\":\"beforeDawn\"}", &call, &e), OK);
	assert_int_not_equal(
		read_text("cursor", "{\"hook_event_name\":\"beforeMCPExecution\",\"tool_input\":\"{\"}",
			&call, &e),
		OK);
	assert_int_not_equal(read_text("codex", "[]", &call, &e), OK);
	assert_int_not_equal(read_text("codex", "{}", &call, &e), OK);
	assert_int_not_equal(read_text("codex", "{\"tool_name\":\"Bash\",\"tool_input\":[]}", &call, &e), OK);
	assert_int_not_equal(read_text("codex", "{", &call, &e), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_rows, done),
		cmocka_unit_test_teardown(test_guard_asks_about_settings, done),
		cmocka_unit_test_teardown(test_directories_of_closed_settings, done),
		cmocka_unit_test_teardown(test_settings_that_are_there, done),
		cmocka_unit_test_teardown(test_marks, done),
		cmocka_unit_test_teardown(test_scripts_hear_the_same, done),
		cmocka_unit_test_teardown(test_answers, done),
		cmocka_unit_test_teardown(test_payloads, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
