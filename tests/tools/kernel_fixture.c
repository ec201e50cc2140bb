/* kernel_fixture.c — see kernel_fixture.h. */
#include "tools/kernel_fixture.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void need(int rc, const struct err *e)
{
	if (rc == OK)
		return;
	fprintf(stderr, "kernel fixture: %s: %s\n", e->code, e->text);
	abort();
}

static void open_all(struct kernel_fixture *x)
{
	const char *root = arena_printf(&x->process, "%s/ws", x->home.path);
	struct err e = { 0 };

	need(workspace_open(&x->f.sys, &x->process, root, 0, &x->ws, &e), &e);
	need(kernel_open(&x->f.sys, &x->process, x->ws, &x->k, &e), &e);
	x->at = guard_at(&x->k.guard, &x->process, root);
}

void kernel_fixture_setenv(struct kernel_fixture *x, const char *name_and_value)
{
	size_t n = 0;

	while (x->env[n])
		n++;
	if (n + 1 == ARRAY_SIZE(x->env))
		abort();
	x->env[n] = name_and_value;
}

static void begin(struct kernel_fixture *x, void (*open)(struct scratch *))
{
	struct err e = { 0 };
	struct json *done;
	bool created;

	*x = (struct kernel_fixture){ 0 };
	open(&x->home);
	fault_init(&x->f);
	kernel_fixture_setenv(x, arena_printf(&x->process, "HOME=%s", x->home.path));
	kernel_fixture_setenv(x, "PATH=/usr/bin:/bin");
	x->f.env = x->env;
	need(workspace_open(&x->f.sys, &x->process, arena_printf(&x->process, "%s/ws", x->home.path),
		     WORKSPACE_NEW, &x->ws, &e),
		&e);
	need(workspace_init(&x->f.sys, &x->process, x->ws, false, &done, &e), &e);
	need(kernel_ensure_key(&x->f.sys, &x->process, &created, &e), &e);
	workspace_close(x->ws);
	open_all(x);
}

void kernel_fixture_begin(struct kernel_fixture *x)
{
	begin(x, scratch_open_fast);
}

void kernel_fixture_begin_for_runs(struct kernel_fixture *x)
{
	begin(x, scratch_open);
}

void kernel_fixture_reopen(struct kernel_fixture *x)
{
	kernel_close(&x->k);
	workspace_close(x->ws);
	open_all(x);
}

void kernel_fixture_done(struct kernel_fixture *x)
{
	kernel_close(&x->k);
	workspace_close(x->ws);
	arena_done(&x->request);
	arena_done(&x->process);
	scratch_done(&x->home);
}

struct request kernel_fixture_shell(struct kernel_fixture *x, const char *text)
{
	return (struct request){ .who = { .door = "test", .subject_id = "agent:x", .session = "s" },
		.what = { .tool = "sh",
			.action = "EXECUTE_COMMAND",
			.shell = bytes_of(text),
			.preview = text },
		.where = &x->at,
		.profile = profiles_find(&x->k.guard.profiles, "workspace_edit"),
		.mode = GUARD_ENFORCE };
}

struct json *kernel_fixture_rows(struct kernel_fixture *x, const char *file)
{
	struct err e = { 0 };
	struct json *rows;

	need(rows_tail(sys_real(), &x->request, x->ws->state_fd, file, 0, &rows, &e), &e);
	return rows;
}

const struct json *kernel_fixture_last_row(struct kernel_fixture *x, const char *file)
{
	const struct json *rows = kernel_fixture_rows(x, file);

	return rows->n ? rows->items[rows->n - 1] : NULL;
}

bool kernel_fixture_is_durable(struct kernel_fixture *x, const char *file)
{
	struct stat st;

	if (fstatat(x->ws->state_fd, file, &st, 0))
		return true;
	for (size_t i = 0; i < x->f.unsynced_count; i++)
		if (x->f.unsynced[i].dev == st.st_dev && x->f.unsynced[i].ino == st.st_ino)
			return false;
	return true;
}

struct json *kernel_fixture_receipts(struct kernel_fixture *x, const char *type)
{
	struct json *all = kernel_fixture_rows(x, RECEIPTS), *found = json_new(&x->request, JSON_ARRAY);

	json_each (receipt, all)
		if (!type || text_eq(json_get_text(receipt, "type", ""), type))
			json_push(&x->request, found, receipt);
	return found;
}
