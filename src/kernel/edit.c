/* edit.c — tools that change files, held to the edit policy of the workspace.
 *
 * Only a workspace with references/edit_policy.json is held to one: the file can make things stricter, and that is all it does.  What a session has seen of a file
 * is what its calls read or wrote; a file that changed since then must be looked at again. */
#include "kernel/edit.h"

#include "base/file.h"
#include "base/text.h"
#include "kernel/skill.h"
#include "propose/propose.h"
#include "record/record.h"
#include "remember/edit.h"

#include <fcntl.h>
#include <string.h>

enum { LOOKED_AT = 2000 };
static const char *const kinds[] = { "", "read", "patch", "rewrite" };

static bool stat_of(struct sys *s, const char *path, struct stat *ret)
{
	return s->stat(s, AT_FDCWD, path, ret, 0) == 0 && S_ISREG(ret->st_mode);
}

static void put_stat(struct arena *a, struct json *doc, const struct stat *st)
{
	json_seti(a, doc, "mtime_ns", (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec);
	json_seti(a, doc, "size", st->st_size);
}

const char *edit_path(struct arena *a, const struct json *input, const char *cwd)
{
	static const char *const names[] = { "file_path", "path", "notebook_path", "target_file",
		"absolute_path" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *path = json_get_text(input, names[i], NULL);
		if (path && *path)
			return path_clean(a, path[0] == '/' ? path : path_join(a, cwd ? cwd : "/", path));
	}
	return NULL;
}

/* ---- what the session knows of it ---- */

struct looking {
	const char *path;
	struct json *read; /* what was seen last; NULL: nothing */
	const char *at; /* and when */
	int64_t failures;
};

/* Newest first.  The outcome of a call has no verdict; failures count up to the last look or change. */
static int look_back(void *arg, struct json *row)
{
	struct looking *l = arg;
	struct json *edit = json_get(row, "edit");
	const char *kind = json_get_text(edit, "kind", "");
	bool is_outcome = !json_get(row, "verdict"),
	     failed = text_eq(json_get_text(row, "outcome", ""), "failed");

	if (!edit || !text_eq(json_get_text(edit, "path", ""), l->path))
		return 0;
	if (is_outcome && failed) {
		l->failures += !text_eq(kind, "read");
		return 0;
	}
	bool was_seen = is_outcome ||
		(text_eq(kind, "read") && text_eq(json_get_text(row, "verdict", ""), verdict_name(V_ALLOW)));
	if (!was_seen)
		return 0;
	l->read = json_get(edit, "mtime_ns") ? edit : NULL;
	l->at = json_get_text(row, "at", "");
	return 1;
}

static const char *sentence(struct arena *a, const struct json *said, const char *path)
{
	struct buf text;

	buf_init(&text, a);
	buf_addf(&text, "the edit policy of this workspace does not let %s be changed like this (", path);
	json_each (code, json_get(said, "codes"))
		buf_addf(&text, "%s%s", code == json_at(json_get(said, "codes"), 0) ? "" : ", ",
			json_text(code));
	buf_addf(&text, "); read it first, and change a part of it: %s", json_get_text(said, "next", ""));
	return text.p;
}

static void deny(struct request *q, const char *text)
{
	if (q->at_least.action == ACTION_DENY)
		return;
	q->at_least.action = ACTION_DENY;
	q->at_least.rule = "deny.edit_policy";
	q->at_least.text = text;
	q->at_least.effect = NULL;
}

static struct json *evidence_of(struct arena *a, const struct looking *l)
{
	struct json *doc = l->read ? json_copy(a, l->read) : NULL;

	if (doc)
		json_sets(a, doc, "read_at", l->at);
	return doc;
}

void edit_hold(struct kernel *k, struct arena *a, const struct tool_call *call, const char *cwd,
	struct request *q, struct json **ret)
{
	const struct contract_place at = skill_place(k->sys, a, k->ws);
	const enum file_tool kind = propose_file_tool(call->tool_name, call->input);
	const char *path = kind == FILE_TOOL_NONE ? NULL : edit_path(a, call->input, cwd);
	struct json *policy, *doc;
	struct err why = { 0 };
	struct stat st;
	bool is_held = false;

	*ret = NULL;
	if (!path || !file_exists(k->sys, k->ws->root_fd, EDIT_POLICY))
		return;
	int rc = edit_policy(&at, &policy, &is_held, &why);
	if (rc && kind != FILE_TOOL_READ)
		deny(q, arena_printf(a, EDIT_POLICY " cannot be read, so nothing is changed: %s", why.text));
	if (rc || !is_held)
		return;
	bool exists = stat_of(k->sys, path, &st);
	doc = json_new(a, JSON_OBJECT);
	json_sets(a, doc, "path", path);
	json_sets(a, doc, "kind", kinds[kind]);
	if (exists)
		put_stat(a, doc, &st);
	*ret = doc;
	if (kind == FILE_TOOL_READ)
		return;
	struct looking l = { .path = path };
	if (call->session)
		(void)rows_back(k->sys, a, k->ws->state_fd, TOOL_CALLS, LOOKED_AT, call->session, look_back,
			&l, NULL);
	const struct edit_request asked = { .path = path,
		.is_rewrite = kind == FILE_TOOL_REWRITE,
		.exists = exists,
		.size = exists ? st.st_size : 0,
		.mtime_ns = json_get_int(doc, "mtime_ns", 0),
		.read = evidence_of(a, &l),
		.failures = l.failures };
	struct json *said = edit_judge(a, policy, &asked);
	if (!json_get_bool(said, "ok", false))
		deny(q, sentence(a, said, path));
}

void edit_after(struct kernel *k, struct arena *a, const struct json *before, struct json *row)
{
	const struct json *edit = json_get(before, "edit");
	const char *path = json_get_text(edit, "path", NULL);
	struct json *doc = json_new(a, JSON_OBJECT);
	struct stat st;

	if (!path)
		return;
	json_sets(a, doc, "path", path);
	json_sets(a, doc, "kind", json_get_text(edit, "kind", ""));
	if (stat_of(k->sys, path, &st))
		put_stat(a, doc, &st);
	json_set(a, row, "edit", doc);
}
