/* status.c — is the guard really armed?
 *
 * Settings that name us prove little: the program may be gone, the workspace too, and what lets a client
 * skip hooks differs from client to client (clients/).  So each of these is looked at, and a doubt is never
 * called armed.
 *
 * States: "armed" (every check passed), "not_armed" (the client would not run it), "degraded" (some entries
 * are missing), "broken" (it would not run), "recovery_required" (a change was interrupted), "absent" (no
 * entry of ours), "unknown" (the settings cannot be judged).  Only "armed" is ever reported as armed. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/setup/parts.h"
#include "kernel/task/contain.h"

#include <fcntl.h>
#include <string.h>

struct look {
	const struct setup *s;
	const struct client *c;
	struct client_look at;
};

/* The last finding counts, so checks go from the general to the decisive. */
static void look_is(struct look *l, const char *state, const char *detail)
{
	l->at.state = state;
	l->at.detail = detail;
}

/* ---- one file ---- */

/* A regular file that somebody may execute. */
static bool can_run(const struct look *l, const char *program)
{
	struct stat st;

	return l->s->sys->stat(l->s->sys, AT_FDCWD, program, &st, 0) == 0 && S_ISREG(st.st_mode) &&
		st.st_mode & 0111;
}

/* Does the program it names exist, and does it decide by a workspace that is there? */
static void look_at_command(struct look *l, const struct json *entry)
{
	struct arena *a = l->s->a;
	const char *command = json_get_text(entry, "command", "");
	struct json *words = setup_words(a, command);
	const char *program = json_text(json_at(words, 0));

	/* Without that ending a missing program counts as "go on" to the client. */
	if (!text_ends(command, "|| exit 2"))
		json_pushs(a, l->at.warnings,
			"the command does not end in \"|| exit 2\": a call passes when Helm cannot run");
	if (program[0] != '/' || !can_run(l, program)) {
		look_is(l, "broken", arena_printf(a, "'%s' is not there or cannot be executed", program));
		return;
	}
	const char *place = setup_workspace_of(a, entry);
	if (place && !file_is_dir(l->s->sys, AT_FDCWD, place))
		look_is(l, "broken", arena_printf(a, "the workspace '%s' is gone", place));
}

static void look_is_absent(struct look *l)
{
	look_is(l, "absent",
		arena_printf(l->s->a, "not guarded; 'helm setup %s --scope %s' installs it", l->c->name,
			l->at.scope));
}

/* Armed until something is found that speaks against it; the client's own check has the last word. */
static void look_at_entry(struct look *l, const struct json *doc)
{
	struct setup_place place, after;
	struct arena *a = l->s->a;
	size_t events = 0, found = 0;

	if (!setup_find_entry(a, l->c, doc, "pre-tool", &place)) {
		look_is_absent(l);
		return;
	}
	look_is(l, "armed", "every tool call is decided and recorded");
	if (!text_eq(json_get_text(place.box, "matcher", ".*"), ".*"))
		json_pushs(a, l->at.warnings, "the matcher leaves some tools out");
	for (const struct client_event *ev = l->c->setup->events; ev->event; ev++) {
		struct json *only = json_new(a, JSON_OBJECT), *hooks = json_new(a, JSON_OBJECT);
		struct json *groups = json_get(json_get(doc, "hooks"), ev->event);
		json_set(a, only, "hooks", hooks);
		if (groups)
			json_set(a, hooks, ev->event, groups);
		found += setup_find_entry(a, l->c, only, ev->verb, &after);
		events++;
	}
	if (found < events)
		look_is(l, "degraded",
			arena_printf(a, "%zu of %zu entries are missing; 'helm setup %s' restores them",
				events - found, events, l->c->name));
	look_at_command(l, place.entry);
	l->at.entry = place.entry;
	l->at.box = place.box;
	l->at.group = place.group;
	l->at.handler = place.handler;
	if (l->c->setup->look)
		l->c->setup->look(&l->at);
}

/* An interrupted change outweighs everything else that was found. */
static void look_at_file(struct look *l)
{
	struct bytes text;
	struct json *doc, *pending = NULL;
	struct err e = { 0 };
	const struct setup *s = l->s;

	if (setup_read(s, l->at.root, l->c->setup->file, &text, NULL, NULL, &e) ||
		(text.p && setup_parse(s->a, l->c, text, l->at.path, &doc, &e)))
		look_is(l, "broken", arena_strdup(s->a, e.text));
	else if (!text.p)
		look_is_absent(l);
	else
		look_at_entry(l, doc);
	if (s->ws->state_fd >= 0 &&
		doc_read(s->sys, s->a, s->ws->state_fd, SETUP_RECOVERY, SETUP_FILE_LIMIT, 0, &pending,
			NULL) == OK &&
		text_eq(json_get_text(pending, "path", ""), l->at.path))
		look_is(l, "recovery_required",
			arena_printf(
				s->a, "a change was interrupted; run 'helm setup repair %s'", l->c->name));
}

/* The walls that count are those of the workspace by which the entry decides, wherever one looks from. */
static bool is_contained(const struct look *l)
{
	const struct setup *s = l->s;
	const char *place = l->at.entry ? setup_workspace_of(s->a, l->at.entry) : NULL;
	struct workspace *ws = NULL;
	struct err e = { 0 };

	if (!place || text_eq(place, s->ws->root))
		return contain_is_on(s->sys, s->ws, l->c->name);
	if (workspace_open(s->sys, s->a, place, 0, &ws, &e))
		return false;
	bool is_on = contain_is_on(s->sys, ws, l->c->name);
	workspace_close(ws);
	return is_on;
}

/* A call inside the client's own sandbox hands a descriptor to its session, which Yama can forbid for good. */
static void warn_of_yama(const struct look *l)
{
	struct bytes text;

	if (l->c->sandbox &&
		file_read(l->s->sys, l->s->a, AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", 16, 0, &text,
			NULL) == OK &&
		text.n && text.p[0] == '3')
		json_pushs(l->s->a, l->at.warnings,
			arena_printf(l->s->a,
				"kernel.yama.ptrace_scope is 3: no shell command runs while %s's own sandbox is on; "
				"start it without: %s",
				l->c->title, l->c->sandbox->off));
}

/* A client without settings in this place gives no row, unless we could install there. */
static void add_row(const struct setup *s, const struct client *c, const char *scope, const char *root,
	const struct json *records, struct json *rows)
{
	struct arena *a = s->a;
	struct json *row = json_new(a, JSON_OBJECT), *settings = json_new(a, JSON_ARRAY);
	struct look l = { s, c,
		{ .sys = s->sys,
			.a = a,
			.home = s->home,
			.project = s->project,
			.scope = scope,
			.root = root,
			.warnings = json_new(a, JSON_ARRAY) } };

	clients_settings_in(s->sys, a, c, root, settings);
	if (!c->setup && !settings->n)
		return;
	l.at.path = c->setup ? arena_printf(a, "%s/%s", root, c->setup->file) : json_text(settings->items[0]);
	if (c->setup)
		look_at_file(&l);
	else if (c->speech)
		look_is(&l, "unknown",
			arena_printf(a, "its settings cannot be judged; 'helm setup %s' says what to paste",
				c->name));
	else
		look_is(&l, "absent",
			arena_printf(a,
				"not guarded: there is no hook for %s yet; 'helm agent' puts it inside walls",
				c->title));
	/* What a person put in and somebody took out is no client that was never guarded. */
	if (text_eq(l.at.state, "absent") && setup_record_of(records, c->name, l.at.path))
		look_is(&l, "broken",
			arena_printf(a,
				"our entries were put in and are gone; 'helm setup %s --scope %s' puts them back, 'helm setup remove %s' ends it",
				c->name, scope, c->name));
	json_sets(a, row, "client", c->name);
	json_sets(a, row, "scope", scope);
	json_sets(a, row, "file", l.at.path);
	json_set(a, row, "settings", settings);
	json_sets(a, row, "state", l.at.state);
	bool is_armed = text_eq(l.at.state, "armed"), has_walls = is_armed && is_contained(&l);
	if (has_walls)
		warn_of_yama(&l);
	json_setb(a, row, "armed", is_armed);
	json_sets(a, row, "containment", has_walls ? "walls" : "none");
	json_sets(a, row, "detail",
		!is_armed ? l.at.detail
			  : arena_printf(a, "%s; %s", l.at.detail,
				    has_walls ? "shell commands run inside walls" : "judged, not contained"));
	json_set(a, row, "warnings", l.at.warnings);
	json_push(a, rows, row);
}

/* A project without entries of its own is guarded by those of the user: the client reads both. */
static void note_guarded_by_user(struct arena *a, struct json *rows)
{
	json_each (user, rows) {
		if (!json_get_bool(user, "armed", false) ||
			!text_eq(json_get_text(user, "scope", ""), "user"))
			continue;
		json_each (row, rows)
			if (text_eq(json_get_text(row, "client", ""), json_get_text(user, "client", "")) &&
				text_eq(json_get_text(row, "state", ""), "absent"))
				json_sets(
					a, row, "detail", "nothing here; the settings of the user guard it");
	}
}

/* Also looks at places that are on record and are neither home nor project. */
struct json *setup_status(const struct setup *s, const char *client)
{
	struct json *rows = json_new(s->a, JSON_ARRAY), *records = NULL;
	const struct client *wanted = client ? clients_find(client) : NULL, *c;

	if (s->ws->state_fd >= 0)
		(void)!setup_records(s, &records, NULL);
	for (size_t i = 0; (c = clients_at(i)); i++) {
		if (client && c != wanted)
			continue;
		if (s->home)
			add_row(s, c, "user", s->home, records, rows);
		if (s->project && !(c->setup && c->setup->is_of_user))
			add_row(s, c, "project", s->project, records, rows);
		json_each (record, records) {
			const char *root = json_get_text(record, "root", "");
			if (c->setup && text_eq(json_get_text(record, "client", ""), c->name) && *root &&
				!(s->home && text_eq(root, s->home)) &&
				!(s->project && text_eq(root, s->project)))
				add_row(s, c, json_get_text(record, "scope", ""), root, records, rows);
		}
	}
	note_guarded_by_user(s->a, rows);
	return rows;
}

/* Could a shell of this user start it? */
static bool is_in_path(const struct setup *s, const char *program)
{
	const char *path = s->sys->getenv(s->sys, "PATH");

	for (struct bytes rest = path ? bytes_of(path) : (struct bytes){ 0 }; rest.n;) {
		struct bytes dir = text_cut(&rest, ':');
		struct stat st;
		if (dir.n && dir.p[0] == '/' &&
			s->sys->stat(s->sys, AT_FDCWD,
				path_join(s->a, arena_strndup(s->a, (const char *)dir.p, dir.n), program),
				&st, 0) == 0 &&
			S_ISREG(st.st_mode) && st.st_mode & 0111)
			return true;
	}
	return false;
}

static bool has_user_settings(const struct json *rows, const struct client *c)
{
	json_each (row, rows)
		if (text_eq(json_get_text(row, "client", ""), c->name) &&
			text_eq(json_get_text(row, "scope", ""), "user") && json_get(row, "settings")->n)
			return true;
	return false;
}

struct json *setup_found_clients(const struct setup *s, const struct json *rows)
{
	struct json *found = json_new(s->a, JSON_ARRAY);
	const struct client *c;

	for (size_t i = 0; (c = clients_at(i)); i++)
		if ((c->setup || c->speech || c->session) &&
			(has_user_settings(rows, c) || (c->session && is_in_path(s, c->session->program))))
			json_pushs(s->a, found, c->name);
	return found;
}

const char *setup_advice(struct arena *a, const struct client *c)
{
	return arena_printf(a, c->setup || c->speech ? "helm setup %s" : "helm agent %s", c->name);
}

/* At least one client is armed, and none is in doubt. */
bool setup_is_sound(const struct json *rows)
{
	size_t armed = 0;

	json_each (row, rows) {
		const char *state = json_get_text(row, "state", "");
		if (text_eq(state, "armed"))
			armed++;
		else if (!text_eq(state, "absent") && !text_eq(state, "unknown"))
			return false;
	}
	return armed > 0;
}
