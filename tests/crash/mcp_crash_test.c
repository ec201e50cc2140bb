/* mcp_crash_test.c — approving a server, and putting the gateway into a client's settings, when every single system call fails or is the last one.
 *
 * A tool may be called only if its approval is on record; whoever was told OK finds it so.  Settings are the old bytes or the new ones, and can be
 * taken back from either. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/mcp/mcp.h"
#include "tools/crash.h"
#include "tools/place.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>

static const char settings[] = "{ \"mcpServers\" : {\"s\":{\"command\":\"true\"} } }\n";
static const char tool[] = "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]";

static void set_home(struct crash *c, struct fault *f, struct place *p)
{
	p->env[0] = arena_printf(&p->a, "HOME=%s", c->t.path);
	f->env = p->env;
}

static int open_all(struct crash *c, struct sys *s, struct place *p, struct err *e)
{
	int rc = workspace_open(s, &p->a, arena_printf(&p->a, "%s/ws", c->t.path), 0, &p->ws, e);

	if (rc == OK)
		rc = kernel_open(s, &p->a, p->ws, &p->k, e);
	p->is_open = rc == OK;
	return rc;
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *doc;

	assert_int_equal(json_parse(a, bytes_of(text), "test", NULL, &doc, NULL), OK);
	return doc;
}

static void setup(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	const struct person who = { .name = "somebody" };
	struct fault f;
	struct json *done, *notes, *row;
	struct err e = { 0 };
	bool created;

	fault_init(&f);
	set_home(c, &f, &p);
	assert_int_equal(workspace_open(&f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), WORKSPACE_NEW,
				 &p.ws, &e),
		OK);
	assert_int_equal(workspace_init(&f.sys, &p.a, p.ws, false, &done, &e), OK);
	assert_int_equal(kernel_ensure_key(&f.sys, &p.a, &created, &e), OK);
	workspace_close(p.ws);
	assert_int_equal(mkdirat(c->t.fd, "project", 0700), 0);
	assert_int_equal(file_create(&f.sys, c->t.fd, "project/.mcp.json", 0600, bytes_of(settings), &e), OK);
	assert_int_equal(open_all(c, &f.sys, &p, &e), OK);
	const struct json *found = mcp_find_servers(
		&f.sys, &p.a, p.ws->home, arena_printf(&p.a, "%s/project", c->t.path), &notes);
	assert_int_equal(found->n, 1);
	assert_int_equal(mcp_add(&p.k, &p.a, "s", json_get(json_at(found, 0), "how"), &who, &row, &e), OK);
}

static int approve(struct crash *c, struct err *e)
{
	AUTO(place_close) struct place p = { 0 };
	const struct person who = { .name = "somebody" };
	const struct mcp_terms terms = { 0 };
	struct json *row;

	set_home(c, &c->f, &p);
	int rc = open_all(c, &c->f.sys, &p, e);
	return rc ? rc : mcp_approve(&p.k, &p.a, "s", parse(&p.a, tool), &terms, &who, &row, e);
}

static void check_approved(struct crash *c, const struct crash_end *end)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct json *registry, *row;
	struct bytes record = { 0 };
	struct err e = { 0 };

	fault_init(&f);
	set_home(c, &f, &p);
	assert_int_equal(open_all(c, &f.sys, &p, &e), OK);
	assert_int_equal(mcp_load(&f.sys, &p.a, p.ws, &registry, &e), OK);
	assert_int_equal(mcp_find(&p.a, registry, "s", &row, &e), OK);
	bool is_approved = text_eq(mcp_state(row, 0), "approved");
	assert_int_equal(
		file_read(&f.sys, &p.a, c->t.fd, "ws/.helm/receipts.jsonl", 1 << 20, 0, &record, &e), OK);
	if (is_approved)
		assert_non_null(memmem(record.p, record.n, "helm.mcp/approve", strlen("helm.mcp/approve")));
	if (!end->was_killed && end->rc == OK)
		assert_true(is_approved);
}

static int rewire(struct crash *c, struct err *e)
{
	AUTO(place_close) struct place p = { 0 };
	struct mcp_rewiring *list;
	size_t n;

	set_home(c, &c->f, &p);
	int rc = workspace_open(&c->f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), 0, &p.ws, e);
	if (rc == OK)
		rc = mcp_rewire_plan(&c->f.sys, &p.a, p.ws, arena_printf(&p.a, "%s/project", c->t.path),
			"claude-code", "/usr/bin/helm", &list, &n, e);
	if (rc == OK && n != 1)
		rc = err_set(e, E_IO, "TEST", "nothing was planned"); /* the settings could not be read */
	return rc ? rc : mcp_rewire(&c->f.sys, &p.a, p.ws, &list[0], e);
}

static void check_rewired(struct crash *c, const struct crash_end *end)
{
	AUTO(place_close) struct place p = { 0 };
	struct mcp_rewiring *list;
	struct fault f;
	struct bytes text = { 0 };
	struct err e = { 0 };
	size_t n;

	fault_init(&f);
	set_home(c, &f, &p);
	assert_int_equal(
		workspace_open(&f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), 0, &p.ws, &e), OK);
	assert_int_equal(file_read(&f.sys, &p.a, c->t.fd, "project/.mcp.json", 1 << 20, 0, &text, &e), OK);
	bool is_new = memmem(text.p, text.n, "gateway", strlen("gateway")) != NULL;
	assert_true(is_new || bytes_is(text, settings));
	if (!end->was_killed && end->rc == OK)
		assert_true(is_new);
	assert_int_equal(mcp_unwire_plan(&f.sys, &p.a, p.ws, "claude-code", &list, &n, &e), OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(mcp_rewire(&f.sys, &p.a, p.ws, &list[i], &e), OK);
	assert_int_equal(file_read(&f.sys, &p.a, c->t.fd, "project/.mcp.json", 1 << 20, 0, &text, &e), OK);
	assert_true(bytes_is(text, settings));
}

static void test_approve(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "approve", setup, approve, check_approved }, NULL) > 5);
}

static void test_rewire(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "rewire", setup, rewire, check_rewired }, NULL) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_approve), cmocka_unit_test(test_rewire) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
