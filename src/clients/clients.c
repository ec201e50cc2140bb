/* clients.c — the lookups over all rows, and what payloads of all clients have in common; see clients.h.
 *
 * Two kinds of callers come here. Setup, doctor and the hook commands ask for one client by name. The
 * guard asks about paths: for each path a command wants to write, whether it steers any client at all, so
 * those lookups are made to be cheap.
 *
 * A payload comes from outside and is read narrowly: a size limit, an object, a tool's name and an object
 * of input are needed, and anything less is an error that the hook turns into a denial. */
#include "clients/clients.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "clients/parts.h"

#include <fcntl.h>
#include <string.h>

enum { PAYLOAD_LIMIT = 8 << 20, SETTINGS_LIMIT = 4 << 20 };

#define CLIENTS_ADDRESS(id) &client_##id,
static const struct client *const all[] = { CLIENTS(CLIENTS_ADDRESS) };
#undef CLIENTS_ADDRESS

/* Marks of no client in particular: a guarded run sets the first, and some agents set the second by
 * convention. */
static const struct client somebody = { .marks = MARKS("HELM_TASK_ID", "AI_AGENT") };

const struct client *clients_at(size_t i)
{
	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

const struct client *clients_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (text_eq(all[i]->name, name) || (all[i]->alias && text_eq(all[i]->alias, name)))
			return all[i];
	return NULL;
}

const char *clients_with_hook(struct arena *a)
{
	struct buf names;

	buf_init(&names, a);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->speech)
			buf_addf(&names, "%s%s", names.n ? ", " : "", all[i]->name);
	return names.p;
}

/* ---- marks ---- */

/* Row 0 is `somebody`; behind it come the clients in their order. */
const char *clients_mark_at(size_t i)
{
	for (size_t k = 0; k <= ARRAY_SIZE(all); k++)
		for (const char *const *m = k ? all[k - 1]->marks : somebody.marks; m && *m; m++)
			if (i-- == 0)
				return *m;
	return NULL;
}

const char *clients_mark_in_environment(struct sys *s)
{
	const char *mark;

	for (size_t i = 0; (mark = clients_mark_at(i)); i++) {
		const char *value = s->getenv(s, mark);
		if (value && *value)
			return mark;
	}
	return NULL;
}

/* ---- settings ---- */

/* Whether a path is the one a row names: a directory (ends in '/'), a name with one '*', or the very path.
 * Every path of every command is held against every row, and the first byte rules most of them out. */
static bool is_it(const char *pattern, const char *path)
{
	if (*pattern != *path)
		return false;
	size_t n = strlen(pattern);
	const char *star = strchr(pattern, '*');
	if (pattern[n - 1] == '/')
		return strncmp(path, pattern, n) == 0 && path[n];
	if (!star)
		return text_eq(path, pattern);
	return strncmp(path, pattern, (size_t)(star - pattern)) == 0 && strlen(path) >= n - 1 &&
		text_ends(path, star + 1);
}

/* The strictest care of all rows that name this path. */
enum client_care clients_care(const char *path)
{
	enum client_care care = CARE_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct client_file *f = all[i]->files; f->path; f++)
			if (f->care > care && is_it(f->path, path))
				care = f->care;
	return care;
}

/* The same for a path whose root is not known: each of its tails is tried, so that
 * /any/where/.claude/settings.json is found. An absolute path begins with '/', which no row does; its
 * first tail is tried in the loop. */
enum client_care clients_care_anywhere(const char *path)
{
	enum client_care care = *path == '/' ? CARE_NONE : clients_care(path);

	for (const char *p = path; care != CARE_CLOSED && (p = strchr(p, '/')); p++) {
		enum client_care here = clients_care(p + 1);
		care = here > care ? here : care;
	}
	return care;
}

/* For whoever moves or deletes a directory: `path` is a proper parent of the named file. */
enum client_care clients_care_below(const char *path)
{
	enum client_care care = CARE_NONE;
	size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct client_file *f = all[i]->files; f->path; f++)
			if (f->care > care && strncmp(f->path, path, n) == 0 && f->path[n] == '/')
				care = f->care;
	return care;
}

enum client_care clients_care_below_anywhere(const char *path)
{
	enum client_care care = *path == '/' ? CARE_NONE : clients_care_below(path);

	for (const char *p = path; care != CARE_CLOSED && (p = strchr(p, '/')); p++) {
		enum client_care here = clients_care_below(p + 1);
		care = here > care ? here : care;
	}
	return care;
}

static bool has(const struct json *list, const char *text)
{
	json_each (one, list)
		if (text_eq(json_text(one), text))
			return true;
	return false;
}

/* Links are not followed: a link in the place of a settings file counts as one. */
static void add_if_there(struct sys *s, struct arena *a, const char *path, struct json *list)
{
	struct stat st;

	if (s->stat(s, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !has(list, path))
		json_pushs(a, list, path);
}

/* Names in a directory that fit a pattern. */
static void add_matching(
	struct sys *s, struct arena *a, const char *root, const char *pattern, struct json *list)
{
	size_t dir_n = (size_t)(path_base(pattern) - pattern);
	const char *dir = arena_printf(a, "%s/%.*s", root, (int)dir_n, pattern);
	char **names = NULL;
	size_t n = 0;

	if (file_list(s, a, AT_FDCWD, dir, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (is_it(pattern, arena_printf(a, "%.*s%s", (int)dir_n, pattern, names[i])))
			add_if_there(s, a, arena_printf(a, "%s%s", dir, names[i]), list);
}

/* A row with a '*' needs its directory listed; any other is one stat(), and most are neither, because nothing is there. */
void clients_settings_in(
	struct sys *s, struct arena *a, const struct client *c, const char *root, struct json *list)
{
	struct names there;

	names_look(s, AT_FDCWD, root, &there);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (c && c != all[i])
			continue;
		for (const struct client_file *f = all[i]->files; f->path; f++)
			if (!names_may_have(&there, f->path))
				continue;
			else if (strchr(f->path, '*'))
				add_matching(s, a, root, f->path, list);
			else
				add_if_there(
					s, a, path_clean(a, arena_printf(a, "%s/%s", root, f->path)), list);
	}
}

/* Links are followed, because the client follows them, too. */
struct json *client_read_json(const struct client_look *l, const char *path)
{
	struct json *doc = NULL;

	return doc_read(l->sys, l->a, AT_FDCWD, path, SETTINGS_LIMIT, FILE_FOLLOW, &doc, NULL) ? NULL : doc;
}

/* ---- payloads ---- */

/* The member by which a payload of `helm setup` is told from one of a client. It never makes a verdict
 * milder; it only keeps self-tests apart in the record. */
#define SELF_TEST "self_test"

/* The first member that is there under one of several names and is not null. */
static const struct json *first_member(const struct json *doc, const char *const *names)
{
	for (; *names; names++) {
		const struct json *v = json_get(doc, *names);
		if (v && !json_is(v, JSON_NULL))
			return v;
	}
	return NULL;
}

/* A text with a NUL in it reads as if it were missing, and another member or a default would take its place.  The name of the member, or
 * NULL.  The tool's input is looked at when it is judged, and what a call has printed may hold anything. */
static const char *cut_member(const struct json *doc)
{
	static const char *const names[] = { "hook_event_name", "tool_name", "toolName", "session_id",
		"conversation_id", "cwd", "tool_use_id" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *v = json_get(doc, names[i]);
		if (json_is(v, JSON_STRING) && !json_text(v))
			return names[i];
	}
	const struct json *root = json_at(json_get(doc, "workspace_roots"), 0);
	return json_is(root, JSON_STRING) && !json_text(root) ? "workspace_roots" : NULL;
}

/* The common members are read first; then the client's own reader may take over tool and input. What is
 * missing is left NULL, except tool and input, without which nothing can be judged. */
int clients_read_call(
	const struct client *c, struct arena *a, struct bytes payload, struct tool_call *ret, struct err *e)
{
	static const char *const names[] = { "tool_name", "toolName", NULL };
	static const char *const inputs[] = { "tool_input", "toolInput", "args", NULL };
	struct json_limits limits = { .size_bytes = PAYLOAD_LIMIT };
	struct tool_call call = { 0 };
	struct json *doc;
	bool is_read = false;
	int rc = json_parse(a, payload, "payload", &limits, &doc, e);

	if (rc)
		return rc;
	if (!json_is(doc, JSON_OBJECT))
		return err_set(e, E_INPUT, "HOOK_PAYLOAD", "the payload is no JSON object");
	if (cut_member(doc))
		return err_set(e, E_INPUT, "HOOK_PAYLOAD",
			"the member %s of the payload holds a NUL character, so the call is not understood",
			cut_member(doc));
	call.session = json_get_text(doc, "session_id", json_get_text(doc, "conversation_id", NULL));
	call.cwd = json_get_text(doc, "cwd", json_text(json_at(json_get(doc, "workspace_roots"), 0)));
	call.use_id = json_get_text(doc, "tool_use_id", NULL);
	call.response = json_get(doc, "tool_response");
	call.is_self_test = json_get_bool(doc, SELF_TEST, false);
	if (c->speech->read)
		rc = c->speech->read(a, doc, &call, &is_read, e);
	if (rc)
		return rc;
	if (!is_read) {
		const struct json *input = first_member(doc, inputs);
		call.tool_name = json_text(first_member(doc, names));
		call.input = input ? (struct json *)input : json_new(a, JSON_OBJECT);
	}
	if (!call.tool_name || !*call.tool_name)
		return err_set(e, E_INPUT, "HOOK_PAYLOAD", "the payload names no tool");
	if (!json_is(call.input, JSON_OBJECT))
		return err_set(e, E_INPUT, "HOOK_PAYLOAD", "the tool's input is no JSON object");
	*ret = call;
	return OK;
}

struct json *clients_test_payload(
	const struct client *c, struct arena *a, const char *cwd, const char *command)
{
	struct json *doc = c->speech->payload(a, command);

	json_sets(a, doc, "session_id", "helm-setup-self-test");
	json_sets(a, doc, "cwd", cwd);
	json_setb(a, doc, SELF_TEST, true);
	return doc;
}
