/* rewire.c — the gateway in the place of servers, in a client's settings; and the old words back.
 *
 * A client goes on knowing a server by its name, and its tools by theirs: only what is started for it is another program.  The words that were
 * there are kept in the helm home before the file changes, because they may hold secrets and because they are how it is taken
 * back.  Killed in between, the record speaks of a change that did not happen, and taking it back does nothing. */
#include "kernel/mcp/mcp.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_edit.h"
#include "base/text.h"
#include "base/toml.h"

#include <fcntl.h>
#include <string.h>

enum { FILE_BYTES = 16 << 20 };
static const struct doc REWIRED = { .file = "mcp-rewired.json",
	.lock = "mcp-rewired.json.lock",
	.type = JSON_OBJECT,
	.max_bytes = 64 << 20,
	.code = "MCP_REWIRED",
	.newest = 1 };

struct rewiring {
	struct sys *sys;
	struct arena *a;
	const struct workspace *ws;
	const char *client, *program;
};

static const char *digest_of(struct arena *a, struct bytes text)
{
	return sha256_prefixed(a, text.p, text.n);
}

static int read_file(
	const struct rewiring *w, const char *path, struct bytes *ret, unsigned *ret_mode, struct err *e)
{
	struct stat st;

	/* The mode is that of the new file: without it nothing is written. */
	if (w->sys->stat(w->sys, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
		return err_sys(e, "FILE_OPEN", "cannot open '%s'", path);
	if (S_ISLNK(st.st_mode))
		return err_set(e, E_INPUT, "SETUP_LINK",
			"'%s' is a symbolic link; settings are only edited where they really lie", path);
	int rc = file_read(w->sys, w->a, AT_FDCWD, path, FILE_BYTES, 0, ret, e);
	if (rc == OK)
		*ret_mode = st.st_mode & 07777;
	return rc;
}

/* ---- entries ---- */

static const char *const gateway_words[] = { "mcp", "gateway" };

static struct json *words_of(const struct rewiring *w, const char *id)
{
	struct json *args = json_new(w->a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(gateway_words); i++)
		json_pushs(w->a, args, gateway_words[i]);
	json_pushs(w->a, args, "--workspace");
	json_pushs(w->a, args, w->ws->root);
	json_pushs(w->a, args, "--server");
	json_pushs(w->a, args, id);
	json_pushs(w->a, args, "--client");
	json_pushs(w->a, args, w->client);
	return args;
}

static struct json *entry_of(const struct rewiring *w, const char *id)
{
	struct json *entry = json_new(w->a, JSON_OBJECT);

	json_sets(w->a, entry, "command", w->program);
	json_set(w->a, entry, "args", words_of(w, id));
	return entry;
}

static bool is_ours(const struct json *entry)
{
	const char *first = json_text(json_at(json_get(entry, "args"), 0)),
		   *second = json_text(json_at(json_get(entry, "args"), 1));

	return first && second && text_eq(first, gateway_words[0]) && text_eq(second, gateway_words[1]);
}

/* Where an entry stands: ["mcpServers", NAME] or below a project. */
static size_t steps_of(const struct json *found, struct json_step steps[4])
{
	const char *project = json_get_text(found, "project", NULL);
	size_t n = 0;

	if (project) {
		steps[n++] = (struct json_step){ "projects", 0 };
		steps[n++] = (struct json_step){ project, 0 };
	}
	steps[n++] = (struct json_step){ json_get_text(found, "member", ""), 0 };
	steps[n++] = (struct json_step){ json_get_text(found, "name", ""), 0 };
	return n;
}

/* ---- tables of TOML ---- */

struct block {
	size_t at, n;
};

static const char *header_name(struct arena *a, const char *line)
{
	static const char before[] = "[mcp_servers.";
	const char *name = line + strspn(line, " \t");

	if (!text_starts(name, before))
		return NULL;
	name += strlen(before);
	if (*name == '"' || *name == '\'')
		return arena_strndup(a, name + 1, strcspn(name + 1, "\"'"));
	return arena_strndup(a, name, strcspn(name, ".] \t"));
}

/* From its header to the next table that is not one of its own; blank lines and comments before that belong to it. */
static bool find_block(struct arena *a, struct bytes text, const char *name, struct block *ret)
{
	struct bytes rest = text;
	bool is_in = false;

	*ret = (struct block){ 0 };
	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		const char *s = arena_strndup(a, (const char *)line.p, line.n);
		size_t at = (size_t)(line.p - text.p);
		if (s[strspn(s, " \t")] != '[')
			continue;
		const char *whose = header_name(a, s);
		bool is_mine = whose && text_eq(whose, name);
		if (is_in && !is_mine) {
			ret->n = at - ret->at;
			return true;
		}
		if (is_mine && !is_in)
			ret->at = at;
		is_in |= is_mine;
	}
	ret->n = text.n - ret->at;
	return is_in;
}

/* What the client does with a server, other than starting it, stays. */
static void keep_lines(struct arena *a, struct bytes block, struct buf *to)
{
	static const char *const kept[] = { "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec",
		"enabled", "required", "enabled_tools", "disabled_tools" };
	struct bytes rest = block;
	size_t tables = 0;

	while (rest.p && tables < 2) {
		struct bytes line = text_cut(&rest, '\n');
		const char *s = arena_strndup(a, (const char *)line.p, line.n), *word = s + strspn(s, " \t");
		tables += *word == '[';
		for (size_t i = 0; i < ARRAY_SIZE(kept) && tables < 2; i++)
			if (strcspn(word, " \t=") == strlen(kept[i]) && text_starts(word, kept[i]))
				buf_addf(to, "%s\n", s);
	}
}

static struct bytes put_block(struct arena *a, struct bytes text, struct block at, struct bytes with)
{
	struct buf all;

	buf_init(&all, a);
	buf_add(&all, text.p, at.at);
	buf_add(&all, with.p, with.n);
	buf_add(&all, text.p + at.at + at.n, text.n - at.at - at.n);
	return buf_bytes(&all);
}

static struct bytes toml_entry(const struct rewiring *w, const char *id, struct bytes old)
{
	struct arena *a = w->a;
	const char *first = (const char *)old.p;
	struct buf to;

	buf_init(&to, a);
	buf_addf(&to, "%.*s\n", (int)strcspn(first, "\r\n"), first);
	buf_adds(&to, "command = ");
	json_write(&to, json_string(a, w->program), 0);
	buf_adds(&to, "\nargs = ");
	json_write(&to, words_of(w, id), JSON_SPACED);
	buf_addc(&to, '\n');
	keep_lines(a, old, &to);
	if (old.n > 1 && old.p[old.n - 1] == '\n' && old.p[old.n - 2] == '\n')
		buf_addc(&to, '\n');
	return buf_bytes(&to);
}

/* ---- one entry in a text ---- */

static int put_entry(const struct rewiring *w, const struct json *found, const char *id, struct bytes *text,
	struct json *olds, struct err *e)
{
	struct arena *a = w->a;
	const char *path = json_get_text(found, "path", "");
	struct json *old = json_new(a, JSON_OBJECT);
	struct json_step steps[4];
	struct bytes was;
	struct block at;
	int rc = OK;

	if (!text_ends(path, ".toml")) {
		rc = json_edit_replace(
			a, *text, path, steps, steps_of(found, steps), entry_of(w, id), text, &was, e);
	} else if (find_block(a, *text, json_get_text(found, "name", ""), &at)) {
		was = (struct bytes){ (const uint8_t *)arena_strndup(a, (const char *)text->p + at.at, at.n),
			at.n };
		*text = put_block(a, *text, at, toml_entry(w, id, was));
	} else {
		rc = err_set(e, E_INPUT, "MCP_REWIRE", "%s: the table of server '%s' is not found", path,
			json_get_text(found, "name", ""));
	}
	if (rc)
		return rc;
	json_sets(a, old, "name", json_get_text(found, "name", ""));
	json_sets(a, old, "member", json_get_text(found, "member", ""));
	if (json_get(found, "project"))
		json_sets(a, old, "project", json_get_text(found, "project", ""));
	json_set(a, old, "was", json_stringn(a, (const char *)was.p, was.n));
	json_push(a, olds, old);
	return OK;
}

/* Only if it is ours still: what somebody wrote in its place is theirs. */
static int take_entry(
	const struct rewiring *w, const char *path, const struct json *old, struct bytes *text, struct err *e)
{
	struct arena *a = w->a;
	struct bytes was = { (const uint8_t *)json_get(old, "was")->text, json_get(old, "was")->n }, ignored;
	struct json_step steps[4];
	struct json *doc, *value;
	struct block at;
	int rc;

	if (text_ends(path, ".toml")) {
		bool is_there = find_block(a, *text, json_get_text(old, "name", ""), &at);
		const char *block = is_there ? arena_strndup(a, (const char *)text->p + at.at, at.n) : "";
		if (strstr(block, "\"gateway\""))
			*text = put_block(a, *text, at, was);
		return OK;
	}
	rc = json_parse(a, *text, path, NULL, &doc, e);
	if (rc == OK)
		rc = json_parse(a, was, path, NULL, &value, e);
	if (rc)
		return rc;
	size_t depth = steps_of(old, steps);
	const struct json *there = doc;
	for (size_t i = 0; i < depth; i++)
		there = json_get(there, steps[i].name);
	return is_ours(there) ? json_edit_replace(a, *text, path, steps, depth, value, text, &ignored, e)
			      : OK;
}

/* ---- plans ---- */

static const char *registered(const struct json *registry, const struct json *found)
{
	json_each_member (m, json_get(registry, "servers"))
		if (text_eq(json_get_text(json_get(m->value, "source"), "entry_sha256", ""),
			    json_get_text(found, "entry_sha256", "-")))
			return m->name;
	return NULL;
}

static int plan_file(const struct rewiring *w, const struct json *registry, const struct json *all,
	const char *path, struct mcp_rewiring *ret, struct err *e)
{
	struct arena *a = w->a;
	struct json *olds = json_new(a, JSON_ARRAY);
	int rc = read_file(w, path, &ret->before, &ret->mode, e);

	ret->client = w->client;
	ret->path = path;
	ret->after = ret->before;
	ret->servers = json_new(a, JSON_ARRAY);
	json_each (found, all) {
		const char *id = rc == OK && text_eq(json_get_text(found, "path", ""), path)
			? registered(registry, found)
			: NULL;
		if (!id || json_get_bool(found, "is_ours", false))
			continue;
		rc = put_entry(w, found, id, &ret->after, olds, e);
		json_pushs(a, ret->servers, id);
	}
	ret->record = json_new(a, JSON_OBJECT);
	json_sets(a, ret->record, "client", w->client);
	json_set(a, ret->record, "was", json_stringn(a, (const char *)ret->before.p, ret->before.n));
	json_sets(a, ret->record, "rewired_sha256", digest_of(a, ret->after));
	json_set(a, ret->record, "entries", olds);
	return rc;
}

int mcp_rewire_plan(struct sys *s, struct arena *a, const struct workspace *ws, const char *project,
	const char *client, const char *program, struct mcp_rewiring **ret, size_t *ret_n, struct err *e)
{
	const struct rewiring w = { s, a, ws, client, program };
	struct json *registry, *notes, *all = mcp_find_servers(s, a, ws->home, project, &notes),
				       *paths = json_new(a, JSON_OBJECT);
	int rc = mcp_load(s, a, ws, &registry, e);

	json_each (found, all)
		if (text_eq(json_get_text(found, "client", ""), client) &&
			!json_get_bool(found, "is_ours", false) && registered(registry, found))
			json_setb(a, paths, json_get_text(found, "path", ""), true);
	*ret = arena_zalloc(a, (size_t)paths->n + 1, sizeof(**ret));
	*ret_n = 0;
	json_each_member (m, paths)
		if (rc == OK)
			rc = plan_file(&w, registry, all, m->name, &(*ret)[(*ret_n)++], e);
	return rc;
}

static int plan_back(const struct rewiring *w, const char *path, const struct json *record,
	struct mcp_rewiring *ret, struct err *e)
{
	const struct json *was = json_get(record, "was");
	int rc = read_file(w, path, &ret->before, &ret->mode, e);

	ret->client = w->client;
	ret->path = path;
	ret->servers = json_new(w->a, JSON_ARRAY);
	ret->after = ret->before;
	if (rc)
		return rc;
	if (text_eq(digest_of(w->a, ret->before), json_get_text(record, "rewired_sha256", ""))) {
		ret->after = (struct bytes){ (const uint8_t *)was->text, was->n };
		return OK;
	}
	json_each (old, json_get(record, "entries"))
		if (rc == OK)
			rc = take_entry(w, path, old, &ret->after, e);
	return rc;
}

static int load_records(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct err why = { 0 };

	*ret = json_new(a, JSON_OBJECT);
	int rc = workspace_open_beside(s, a, ws, false, &fd, &why);
	return rc == E_MISSING ? OK
		: rc	       ? err_set(e, rc, why.code, "%s", why.text)
			       : doc_load(s, a, fd, &REWIRED, ret, e);
}

int mcp_unwire_plan(struct sys *s, struct arena *a, const struct workspace *ws, const char *client,
	struct mcp_rewiring **ret, size_t *ret_n, struct err *e)
{
	const struct rewiring w = { s, a, ws, client, NULL };
	struct json *records;
	int rc = load_records(s, a, ws, &records, e);

	*ret_n = 0;
	if (rc)
		return rc;
	const struct json *files = json_get(records, "files");
	*ret = arena_zalloc(a, (files ? files->n : 0) + 1, sizeof(**ret));
	json_each_member (m, files) {
		struct err why = { 0 };
		if (!text_eq(json_get_text(m->value, "client", ""), client))
			continue;
		rc = plan_back(&w, m->name, m->value, &(*ret)[*ret_n], &why);
		if (rc && rc != E_MISSING)
			return err_set(e, rc, why.code, "%s", why.text);
		*ret_n += rc == OK;
	}
	return OK;
}

/* ---- making it so ---- */

static int put_record(struct sys *s, struct arena *a, int fd, const struct mcp_rewiring *w, struct err *e)
{
	struct json *doc;
	int rc = doc_load(s, a, fd, &REWIRED, &doc, e);

	if (rc)
		return rc;
	struct json *files = doc_part(a, doc, "files");
	json_seti(a, doc, "version", 1);
	if (w->record)
		json_set(a, files, w->path, w->record);
	else
		(void)json_remove(files, w->path);
	return doc_replace(s, a, fd, &REWIRED, doc, e);
}

int mcp_rewire(struct sys *s, struct arena *a, const struct workspace *ws, const struct mcp_rewiring *w,
	struct err *e)
{
	const struct rewiring about = { s, a, ws, w->client, NULL };
	AUTO(close_fd) int fd = -1;
	AUTO(close_fd) int lock = -1;
	AUTO(close_fd) int dir = -1;
	struct bytes now;
	unsigned mode;
	int rc = workspace_open_beside(s, a, ws, true, &fd, e);

	if (rc == OK)
		rc = doc_lock(s, fd, &REWIRED, &lock, e);
	if (rc == OK)
		rc = read_file(&about, w->path, &now, &mode, e);
	if (rc == OK && !bytes_eq(now, w->before))
		rc = err_set(
			e, E_INPUT, "MCP_REWIRE_CHANGED", "'%s' was changed meanwhile; try again", w->path);
	if (rc == OK && w->record)
		rc = put_record(s, a, fd, w, e);
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD,
			arena_strndup(a, w->path, strlen(w->path) - strlen(path_base(w->path))), &dir, e);
	if (rc == OK)
		rc = file_replace(s, dir, path_base(w->path), (mode_t)mode, w->after, e);
	return rc || w->record ? rc : put_record(s, a, fd, w, e);
}
