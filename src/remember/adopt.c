/* adopt.c — the registry of adopted sources, and what there is to adopt. */
#include "remember/adopt.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const struct doc registry = { .file = CONTEXT_SOURCES,
	.lock = "context_sources.lock",
	.type = JSON_OBJECT,
	.max_bytes = 1 << 20,
	.code = "ADOPT_REGISTRY" };

/* ---- the registry ---- */

static bool is_record(const struct json *r)
{
	static const char *const members[] = { "name", "kind", "root", "state_dir_name" };
	const char *state = json_get_text(r, "state_dir_name", "");

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!*json_get_text(r, members[i], ""))
			return false;
	return !strchr(state, '/') && !text_eq(state, ".") && !text_eq(state, "..") &&
		*json_get_text(r, "root", "") == '/';
}

static bool is_adopted_here(const struct context_place *at, const struct json *record)
{
	const char *digest = json_sha256(at->a, record);

	json_each (one, at->adopted)
		if (text_eq(json_sha256(at->a, one), digest))
			return true;
	return at->is_own;
}

/* Keys and trust are nobody's context.  The default workspace lies in the helm home, and is one. */
static bool is_closed(const struct context_place *at, const char *root)
{
	return at->helm_home && (path_is_below(root, at->helm_home) || path_is_below(at->helm_home, root)) &&
		!path_is_below(root, arena_printf(at->a, "%s/workspace", at->helm_home));
}

/* Why this record is not read; NULL: it is. */
static const char *refused(const struct context_place *at, const struct json *record, const char *root)
{
	const char *name = json_get_text(record, "name", "");

	if (is_closed(at, root))
		return arena_printf(at->a, "'%s' was left out: it holds, or lies in, Helm's own keys", name);
	if (is_adopted_here(at, record))
		return NULL;
	return arena_printf(at->a,
		"'%s' was left out: it came with the files, and nobody adopted it here; 'helm adopt --from-path %s "
		"--name %s --kind %s' does",
		name, text_quote(at->a, root), text_quote(at->a, name),
		text_quote(at->a, json_get_text(record, "kind", "")));
}

static const char *resolved(struct arena *a, const char *path)
{
	char *real = realpath(path, NULL);
	const char *copy = real ? arena_strdup(a, real) : path_clean(a, path);

	free(real);
	return copy;
}

struct json *sources_load(const struct context_place *at, struct json *warnings)
{
	struct arena *a = at->a;
	struct json *doc = NULL, *list = json_new(a, JSON_ARRAY);
	struct err e = { 0 };
	size_t n = 0;

	if (at->state_fd < 0)
		return list;
	if (doc_load(at->sys, a, at->state_fd, &registry, &doc, &e)) {
		json_push(a, warnings, json_stringf(a, "no adopted source was searched: %s", e.text));
		return list;
	}
	json_each (record, json_get(doc, "sources")) {
		n++;
		if (!is_record(record)) {
			json_push(a, warnings,
				json_stringf(a,
					"%s: record %zu was left out: name, kind, root (an absolute path) and "
					"state_dir_name (a name) must be texts",
					CONTEXT_SOURCES, n));
			continue;
		}
		struct json *copy = json_copy(a, record);
		json_sets(a, copy, "root", resolved(a, json_get_text(record, "root", "")));
		const char *why = refused(at, record, json_get_text(copy, "root", ""));
		if (why)
			json_push(a, warnings, json_stringf(a, "%s: %s", CONTEXT_SOURCES, why));
		else
			json_push(a, list, copy);
	}
	return list;
}

struct json *sources_list(const struct context_place *at, struct json *warnings)
{
	struct json *list = sources_load(at, warnings);

	json_each (one, list) {
		const char *name = json_get_text(one, "name", "");
		const char *note = arena_printf(at->a, "%s/%s.json", ONBOARDING, name);
		bool has_note = text_is_id(name) && file_exists(at->sys, at->state_fd, note);
		json_setb(at->a, one, "is_there",
			file_is_dir(at->sys, AT_FDCWD, json_get_text(one, "root", "")));
		json_sets(at->a, one, "migration_note",
			has_note ? arena_printf(at->a, "%s/%s", at->state_dir, note) : NULL);
	}
	return list;
}

/* ---- adopting ---- */

int source_plan(const struct context_place *at, const struct adoption *what, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct json *record = json_new(a, JSON_OBJECT);
	const char *name =
		what->name ? what->name : arena_printf(a, "%s-%s", what->kind, path_base(what->root));

	if (!file_is_dir(at->sys, AT_FDCWD, what->root))
		return err_set(e, E_MISSING, "ADOPT_MISSING", "'%s' is no directory; nothing was adopted",
			what->root);
	if (text_eq(what->root, at->root))
		return err_set(e, E_INPUT, "ADOPT_SELF",
			"'%s' is the workspace itself, which is searched anyway", what->root);
	if (text_eq(what->root, "/") || is_closed(at, what->root))
		return err_set(e, E_INPUT, "ADOPT_PLACE",
			"'%s' cannot be a source: it holds, or lies in, what must stay closed", what->root);
	if (!text_is_id(name))
		return err_set(e, E_INPUT, "ADOPT_NAME",
			"'%s' cannot be the name of a source: letters, digits, '.', '_', '-', and no '.' at the "
			"beginning; give one with --name",
			name);
	json_sets(a, record, "name", name);
	json_sets(a, record, "kind", what->kind);
	json_sets(a, record, "root", what->root);
	json_sets(a, record, "state_dir_name", what->state_name);
	json_sets(a, record, "mode", "read-only");
	*ret = record;
	return OK;
}

static int put_note(const struct context_place *at, const struct json *record, struct err *e)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT), *steps = json_new(a, JSON_ARRAY);
	const char *name = json_get_text(record, "name", "");
	struct buf text;

	json_sets(a, doc, "source_name", name);
	json_sets(a, doc, "source_kind", json_get_text(record, "kind", ""));
	json_sets(a, doc, "source_root", json_get_text(record, "root", ""));
	json_sets(a, doc, "mode", "read-only");
	json_sets(a, doc, "intent", "read-only adoption");
	json_push(a, steps,
		json_stringf(a, "helm context QUERY --adapter %s searches this source alone", name));
	json_pushs(a, steps, "helm context QUERY searches it beside the workspace");
	json_push(a, steps, json_stringf(a, "helm sources --remove %s ends the adoption", name));
	json_set(a, doc, "next_steps", steps);
	buf_init(&text, a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	int rc = file_mkdirs(at->sys, at->state_fd, ONBOARDING, 0700, e);
	return rc ? rc
		  : file_replace(at->sys, at->state_fd, arena_printf(a, "%s/%s.json", ONBOARDING, name), 0600,
			    buf_bytes(&text), e);
}

struct json *sources_with(struct arena *a, const struct json *list, const struct json *record)
{
	struct json *all = json_new(a, JSON_ARRAY);
	const char *name = json_get_text(record, "name", ""), *root = json_get_text(record, "root", "");

	json_each (old, list)
		if (!text_eq(json_get_text(old, "name", ""), name) &&
			!text_eq(json_get_text(old, "root", ""), root))
			json_push(a, all, old);
	json_push(a, all, json_copy(a, record));
	return all;
}

struct json *sources_without(struct arena *a, const struct json *list, const char *name)
{
	struct json *rest = json_new(a, JSON_ARRAY);

	json_each (old, list)
		if (!text_eq(json_get_text(old, "name", ""), name))
			json_push(a, rest, old);
	return rest;
}

/* The note comes first: a source that is registered has one. */
int source_put(const struct context_place *at, const struct json *record, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct arena *a = at->a;
	struct json *doc;
	int rc = doc_lock(at->sys, at->state_fd, &registry, &lock, e);

	if (rc == OK)
		rc = doc_load(at->sys, a, at->state_fd, &registry, &doc, e);
	if (rc == OK)
		rc = put_note(at, record, e);
	if (rc)
		return rc;
	json_set(a, doc, "sources", sources_with(a, json_get(doc, "sources"), record));
	return doc_replace(at->sys, a, at->state_fd, &registry, doc, e);
}

int source_remove(const struct context_place *at, const char *name, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct arena *a = at->a;
	struct json *doc;
	int rc = doc_lock(at->sys, at->state_fd, &registry, &lock, e);

	if (rc == OK)
		rc = doc_load(at->sys, a, at->state_fd, &registry, &doc, e);
	if (rc)
		return rc;
	const struct json *all = json_get(doc, "sources");
	struct json *list = sources_without(a, all, name);
	if (!json_is(all, JSON_ARRAY) || list->n == all->n)
		return err_set(e, E_MISSING, "ADOPT_UNKNOWN",
			"there is no source '%s'; 'helm sources' lists them", name);
	json_set(a, doc, "sources", list);
	return doc_replace(at->sys, a, at->state_fd, &registry, doc, e);
}

/* ---- what there is ---- */

struct finding {
	struct sys *s;
	struct arena *a;
	const char *home;
	struct json *found; /* of one kind */
};

static bool is_there(const struct finding *f, const char *dir, const char *name)
{
	return file_exists(f->s, AT_FDCWD, arena_printf(f->a, "%s/%s", dir, name));
}

static void find_named(struct finding *f, const char *const *names)
{
	for (; *names; names++)
		if (file_is_dir(f->s, AT_FDCWD, arena_printf(f->a, "%s/%s", f->home, *names)))
			json_push(f->a, f->found, json_stringf(f->a, "%s/%s", f->home, *names));
}

/* Each child of a directory that has `mark` in it; with `mark` "" any that is a directory. */
static void find_children(struct finding *f, const char *parent, const char *below, const char *mark)
{
	char **names = NULL;
	size_t n = 0;

	if (file_list(f->s, f->a, AT_FDCWD, parent, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(f->a, "%s/%s%s", parent, names[i], below);
		if (file_is_dir(f->s, AT_FDCWD, path) && (!*mark || is_there(f, path, mark)))
			json_pushs(f->a, f->found, path);
	}
}

static void find_vaults(struct finding *f)
{
	static const char *const parents[] = { "Obsidian", "Vaults", "Documents/Obsidian", "Documents/Vaults",
		"Documents/Notes", "Notes" };

	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		const char *parent = arena_printf(f->a, "%s/%s", f->home, parents[i]);
		if (is_there(f, parent, ".obsidian"))
			json_pushs(f->a, f->found, parent);
		else
			find_children(f, parent, "", ".obsidian");
	}
}

/* Workspaces of the Python Helm: a ledger, and not the file that ours has. */
static void find_python(struct finding *f)
{
	struct json *all = json_new(f->a, JSON_ARRAY), *old = f->found;

	f->found = all;
	find_children(f, f->home, "", ".helm/task-ledger.jsonl");
	if (is_there(f, f->home, ".helm/workspace/.helm/task-ledger.jsonl"))
		json_push(f->a, all, json_stringf(f->a, "%s/.helm/workspace", f->home));
	f->found = old;
	json_each (path, all)
		if (!is_there(f, json_text(path), ".helm/workspace.json"))
			json_pushs(f->a, f->found, json_text(path));
}

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static int deepest_first(const void *p, const void *q)
{
	const char *x = json_text(*(struct json *const *)p), *y = json_text(*(struct json *const *)q);
	size_t dx = depth_of(x), dy = depth_of(y);

	return dx != dy ? (dx < dy) - (dx > dy) : strcmp(x, y);
}

/* What contains another one says nothing new. */
static void put_kind(struct finding *f, struct json *to, const char *kind)
{
	struct json *list = json_new(f->a, JSON_ARRAY);

	if (f->found->n)
		qsort(f->found->items, f->found->n, sizeof(*f->found->items), deepest_first);
	json_each (path, f->found) {
		bool is_around = false;
		json_each (kept, list)
			is_around |= path_is_below(json_text(kept), json_text(path));
		if (!is_around)
			json_push(f->a, list, path);
	}
	if (list->n)
		json_set(f->a, to, kind, list);
	f->found = json_new(f->a, JSON_ARRAY);
}

struct json *sources_detect(struct sys *s, struct arena *a, const char *home)
{
	static const char *const openclaw[] = { ".openclaw/workspace", ".openclaw", "openclaw", "OpenClaw",
		NULL };
	static const char *const hermes[] = { ".hermes", "hermes", "Hermes", NULL };
	static const char *const codex[] = { ".codex/memories", NULL };
	struct json *doc = json_new(a, JSON_OBJECT);
	struct finding f = { s, a, home, json_new(a, JSON_ARRAY) };

	if (!home)
		return doc;
	find_named(&f, openclaw);
	put_kind(&f, doc, "openclaw");
	find_named(&f, hermes);
	put_kind(&f, doc, "hermes");
	find_vaults(&f);
	put_kind(&f, doc, "obsidian");
	find_children(&f, arena_printf(a, "%s/.claude/projects", home), "/memory", "");
	put_kind(&f, doc, "claude-code");
	find_named(&f, codex);
	put_kind(&f, doc, "codex");
	find_python(&f);
	put_kind(&f, doc, "helm");
	return doc;
}

static bool has_app(struct sys *s, struct arena *a, const char *home)
{
	static const char *const places[] = { "/Applications/Obsidian.app",
		"/usr/share/applications/obsidian.desktop", "/opt/Obsidian" };
	bool found = home && file_exists(s, AT_FDCWD, arena_printf(a, "%s/Applications/Obsidian.app", home));

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		found |= file_exists(s, AT_FDCWD, places[i]);
	return found;
}

/* ---- survey ---- */

static void advise(const struct context_place *at, struct json *actions, const struct json *paths,
	const char *name, const char *kind)
{
	const char *path = json_text(json_at(paths, 0));

	if (path)
		json_push(at->a, actions,
			json_stringf(at->a, "helm adopt --path %s --from-path %s --name %s --kind %s",
				text_quote(at->a, at->root), text_quote(at->a, path), name, kind));
}

static bool is_adopted(const struct json *adopted, const char *path)
{
	json_each (one, adopted)
		if (text_eq(json_get_text(one, "root", ""), path))
			return true;
	return false;
}

static bool has_vault(const struct context_place *at, const struct json *adopted)
{
	json_each (one, adopted)
		if (file_exists(at->sys, AT_FDCWD,
			    arena_printf(at->a, "%s/.obsidian", json_get_text(one, "root", ""))))
			return true;
	return false;
}

struct json *sources_survey(
	const struct context_place *at, const char *home, const char *layout, struct json *warnings)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT), *adopted = sources_load(at, warnings),
		    *candidates = json_new(a, JSON_OBJECT), *actions = json_new(a, JSON_ARRAY);

	json_each_member (m, sources_detect(at->sys, a, home)) {
		struct json *list = json_new(a, JSON_ARRAY);
		json_each (path, m->value) {
			const char *real = resolved(a, json_text(path));
			if (!is_adopted(adopted, real) && !text_eq(real, at->root))
				json_push(a, list, path);
		}
		if (list->n)
			json_set(a, candidates, m->name, list);
	}
	advise(at, actions, json_get(candidates, "openclaw"), "openclaw-main", "openclaw");
	advise(at, actions, json_get(candidates, "hermes"), "hermes-main", "hermes");
	advise(at, actions, json_get(candidates, "obsidian"), "obsidian-main", "generic");
	if (!json_get(candidates, "obsidian") && !has_vault(at, adopted))
		json_pushs(a, actions,
			"Connect a note vault with 'helm adopt --from-path DIR', or keep Markdown notes in memory/ and notes/.");
	advise(at, actions, json_get(candidates, "claude-code"), "claude-code-main", "claude-code");
	advise(at, actions, json_get(candidates, "codex"), "codex-main", "codex");
	advise(at, actions, json_get(candidates, "helm"), "helm-main", "helm");
	if (!adopted->n)
		json_pushs(a, actions, "Run 'helm doctor' and 'helm validate'.");
	json_sets(a, doc, "workspace", at->root);
	json_sets(a, doc, "layout", layout);
	json_set(a, doc, "adopted_sources", adopted);
	json_set(a, doc, "detected_candidates", candidates);
	json_setb(a, doc, "obsidian_app_installed", has_app(at->sys, a, home));
	json_set(a, doc, "actions", actions);
	return doc;
}
