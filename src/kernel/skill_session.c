/* skill_session.c — which skills are active in a client's session.
 *
 * One file for each session, in <helm home>/trees/<digest>/skill-sessions/, where nothing that is governed can write.  It holds the contracts as they
 * were when they were activated: editing the file of a contract does not change what a session is held to. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/skill.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

#define SESSIONS "skill-sessions"
enum { MAX_SESSION_BYTES = 4 << 20, MOST_ACTIVE = 32 };

/* ---- where ---- */

static const char *dir_of(struct arena *a, const struct workspace *ws)
{
	const char *beside = workspace_beside(a, ws);

	return beside ? arena_printf(a, "%s/" SESSIONS, beside) : NULL;
}

static struct doc doc_of(struct arena *a, const char *client, const char *session)
{
	const char *whole = arena_printf(a, "%s\n%s", client, session);
	const char *name = arena_strndup(a, sha256_prefixed(a, whole, strlen(whole)) + strlen("sha256:"), 32);

	return (struct doc){ .file = arena_printf(a, "%s.json", name),
		.lock = arena_printf(a, "%s.lock", name),
		.type = JSON_OBJECT,
		.max_bytes = MAX_SESSION_BYTES,
		.code = "SKILL_SESSION" };
}

/* ---- activation ---- */

/* What the person's text or the model named: "plugin:name" is the name. */
static const char *plain_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* A client without a tool for skills reads the file that tells how. */
static const char *read_skill(struct arena *a, const struct tool_call *call)
{
	static const char *const names[] = { "file_path", "path", "command", "cmd" };
	static const char file[] = "/SKILL.md";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = json_get_text(call->input, names[i], ""), *end = strstr(text, file);
		const char *start = end ? memrchr(text, '/', (size_t)(end - text)) : NULL;
		if (start && start + 1 < end)
			return arena_strndup(a, start + 1, (size_t)(end - start - 1));
	}
	return NULL;
}

const char *skill_called(struct arena *a, const char *client, const struct tool_call *call)
{
	static const char *const names[] = { "skill", "skill_name", "name", "command" };
	const char *name = NULL;

	if (strcasecmp(call->tool_name, "skill") == 0)
		for (size_t i = 0; i < ARRAY_SIZE(names) && !name; i++)
			name = json_get_text(call->input, names[i], NULL);
	else if (text_eq(client, "codex"))
		name = read_skill(a, call);
	name = name ? plain_name(name) : NULL;
	return name && text_is_id(name) ? name : NULL;
}

static void put_active(struct arena *a, struct json *doc, const struct skill_use *use, const char *at)
{
	struct json *list = json_get(doc, "skills"), *one = json_new(a, JSON_OBJECT);

	if (!json_is(list, JSON_ARRAY)) {
		list = json_new(a, JSON_ARRAY);
		json_set(a, doc, "skills", list);
	}
	json_sets(a, one, "name", use->name);
	json_sets(a, one, "sha256", use->sha256);
	json_sets(a, one, "at", at);
	json_set(a, one, "contract", use->contract ? json_copy(a, use->contract) : json_new(a, JSON_OBJECT));
	json_push(a, list, one);
}

static bool is_active(const struct json *doc, const struct skill_use *use)
{
	json_each (one, json_get(doc, "skills"))
		if (text_eq(json_get_text(one, "name", ""), use->name) &&
			text_eq(json_get_text(one, "sha256", ""), use->sha256 ? use->sha256 : ""))
			return true;
	return false;
}

int skill_activate(struct kernel *k, struct arena *a, const char *client, const char *session,
	const struct skill_use *use, struct err *e)
{
	const char *dir = dir_of(a, k->ws);
	const struct doc d = doc_of(a, client, session);
	AUTO(close_fd) int fd = -1;
	AUTO(close_fd) int lock = -1;
	struct json *doc;

	if (!dir)
		return err_set(e, E_MISSING, "SKILL_SESSION", "there is no helm home to keep the session in");
	int rc = file_mkdirs(k->sys, AT_FDCWD, dir, 0700, e);
	if (rc == OK)
		rc = file_open_dir(k->sys, AT_FDCWD, dir, &fd, e);
	if (rc == OK)
		rc = doc_lock(k->sys, fd, &d, &lock, e);
	if (rc == OK)
		rc = doc_load(k->sys, a, fd, &d, &doc, e);
	if (rc || is_active(doc, use))
		return rc;
	const struct json *list = json_get(doc, "skills");
	if (list && list->n >= MOST_ACTIVE)
		return err_set(e, E_LIMIT, "SKILL_SESSION", "more than %d skills are active in this session",
			MOST_ACTIVE);
	json_sets(a, doc, "client", client);
	json_sets(a, doc, "session", session);
	put_active(a, doc, use, text_time_iso(a, k->sys->now_us(k->sys)));
	return doc_replace(k->sys, a, fd, &d, doc, e);
}

/* ---- what holds ---- */

/* The terms of all, put together; *ret NULL: none of them limits anything. */
static int terms_of(struct arena *a, const struct json *doc, const struct terms **ret, struct err *e)
{
	*ret = NULL;
	json_each (one, json_get(doc, "skills")) {
		struct terms *t = arena_zalloc(a, 1, sizeof(*t));
		int rc = terms_read(a, json_get_text(one, "name", "?"), json_get(one, "contract"), t, e);
		if (rc)
			return rc;
		t->sha256 = json_get_text(one, "sha256", NULL);
		if (terms_bind(t))
			*ret = *ret ? terms_both(a, *ret, t) : t;
	}
	return OK;
}

int skill_narrow(struct kernel *k, struct arena *a, const char *client, const char *session,
	const struct profile **profile, struct err *e)
{
	const char *dir = session ? dir_of(a, k->ws) : NULL;
	const struct terms *t;
	struct json *doc;

	if (!dir)
		return OK;
	const struct doc d = doc_of(a, client, session);
	int rc = doc_read(
		k->sys, a, AT_FDCWD, arena_printf(a, "%s/%s", dir, d.file), MAX_SESSION_BYTES, 0, &doc, e);
	if (rc == E_MISSING)
		return OK;
	if (rc == OK)
		rc = terms_of(a, doc, &t, e);
	if (rc)
		return err_wrap(e, "which skills are active in this session");
	if (t)
		*profile = terms_narrow(a, *profile, t);
	return OK;
}

/* ---- for people ---- */

int skill_sessions(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	const char *dir = dir_of(a, ws);
	struct json *list = json_new(a, JSON_ARRAY);
	char **names;
	size_t n = 0;
	int rc = dir ? file_list(s, a, AT_FDCWD, dir, &names, &n, e) : E_MISSING;

	*ret = list;
	if (rc == E_MISSING)
		return OK;
	for (size_t i = 0; rc == OK && i < n; i++) {
		struct json *doc;
		if (!text_ends(names[i], ".json"))
			continue;
		rc = doc_read(s, a, AT_FDCWD, arena_printf(a, "%s/%s", dir, names[i]), MAX_SESSION_BYTES, 0,
			&doc, e);
		json_each (one, json_get(doc, "skills"))
			(void)json_remove(one, "contract");
		json_push(a, list, doc);
	}
	return rc;
}

int skill_session_end(struct kernel *k, struct arena *a, const char *session, const char *executor,
	struct json **ret_receipt, struct err *e)
{
	const char *dir = dir_of(a, k->ws), *client = NULL;
	struct json *all, *about = json_new(a, JSON_OBJECT);
	int rc = skill_sessions(k->sys, a, k->ws, &all, e);

	if (rc)
		return rc;
	json_each (one, all)
		if (text_eq(json_get_text(one, "session", ""), session))
			client = json_get_text(one, "client", "");
	if (!client)
		return err_set(
			e, E_MISSING, "SKILL_SESSION", "no skill is active in a session '%.100s'", session);
	json_sets(a, about, "session", session);
	json_sets(a, about, "client", client);
	rc = act_record(k, a,
		&(struct act){ .effect_id = "helm.skill/end",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		ret_receipt, e);
	if (rc)
		return rc;
	const struct doc d = doc_of(a, client, session);
	if (k->sys->unlink(k->sys, AT_FDCWD, arena_printf(a, "%s/%s", dir, d.file), 0))
		return err_sys(e, "SKILL_SESSION", "cannot end the session '%s'", session);
	return OK;
}
