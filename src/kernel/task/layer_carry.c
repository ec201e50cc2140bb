/* layer_carry.c — the end of a session's layer: what its client's table names is carried back, the rest is kept aside.
 *
 * Everything in a layer was written by programs that nobody trusts: names, modes, links, sizes.  So it is entered by descriptors that follow no link, modes
 * are given back before anything is read, and only the content of regular files is taken.  On the operator's side no link is followed either, and a
 * directory counts only while it is the one that was there when the session began.
 *
 * Each file is carried or kept aside by one rename and is gone from the layer then: a helm that is killed meanwhile goes on with the rest. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/layer_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SAME_BYTES = 1 << 20 };

/* Caches of tools that find none of their own in the session's home. */
static const char *const caches[] = { ".cache/", ".npm/", ".yarn/", ".bun/", ".cargo/", ".rustup/", "go/",
	".gradle/", ".m2/", ".ivy2/", ".nuget/", ".dotnet/", ".gem/", ".bundle/", ".composer/", ".ccache/",
	".node-gyp/", ".local/share/pnpm/", ".local/state/", ".pki/", ".node_repl_history", ".python_history",
	".bash_history", ".lesshst", ".wget-hsts", NULL };

/* ---- what layer.json says ---- */

static void read_place(const struct json *one, struct layer_place *ret)
{
	*ret = (struct layer_place){ .rel = json_get_text(one, "rel", NULL),
		.real = json_get_text(one, "real", NULL),
		.dev = json_get_int(one, "dev", 0),
		.ino = json_get_int(one, "ino", 0) };
}

int layer_read(struct layer_ending *x, const struct json *doc, struct err *e)
{
	const struct client *c = clients_find(json_get_text(doc, "client", ""));
	int rc = doc_check_version(doc, "version", 1, LAYER_FILE, e);

	if (rc)
		return rc;
	bool ok = c && c->session && json_is(json_get(doc, "sources"), JSON_ARRAY);

	json_each (one, json_get(doc, "places")) {
		struct layer_place p;
		read_place(one, &p);
		ok = ok && p.rel && p.real && *p.real == '/' && x->place_count < LAYER_PLACES;
		if (ok && *p.rel)
			x->places[x->place_count++] = p;
		else if (ok)
			x->home = p;
	}
	if (!ok || !x->home.real)
		return err_set(e, E_INPUT, "LAYER_FILE", "the session's " LAYER_FILE " is not understood");
	x->doc = doc;
	x->needs = c->session;
	x->title = c->title;
	x->is_moved = json_get_bool(doc, "moved", false);
	x->is_moved_outside = json_get_bool(doc, "moved_outside", false);
	x->carried = json_new(x->a, JSON_ARRAY);
	x->left = json_new(x->a, JSON_ARRAY);
	return OK;
}

bool layer_is_named(const char *rel, const char *const *patterns)
{
	for (; patterns && *patterns; patterns++) {
		const size_t n = strlen(*patterns);
		const char end = (*patterns)[n - 1];
		if (end == '/' ? strncmp(rel, *patterns, n) == 0
				: end == '*'
				? strncmp(rel, *patterns, n - 1) == 0 && !strchr(rel + n - 1, '/')
				: text_eq(rel, *patterns))
			return true;
	}
	return false;
}

/* ---- the operator's side ---- */

static int open_dir(struct sys *s, int dirfd, const char *path, uint64_t resolve)
{
	return s->open(s, dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, resolve);
}

/* The very directory that was there when the session began; a link on the way, or another directory, is none. */
static int open_place(const struct layer_ending *x, const struct layer_place *p)
{
	int fd = open_dir(x->s, AT_FDCWD, p->real, RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd >= 0 && p->ino &&
		(x->s->stat(x->s, fd, "", &st, AT_EMPTY_PATH) || (int64_t)st.st_ino != p->ino ||
			(int64_t)st.st_dev != p->dev)) {
		close_fd(&fd);
		errno = ESTALE;
	}
	return fd;
}

int layer_open_real(const struct layer_ending *x, const char *rel, bool make, const char **ret_name)
{
	const struct layer_place *p = &x->home;
	const char *state = x->needs->state ? x->needs->state[0] : "";
	const bool is_moved = x->is_moved_outside && layer_is_named(rel, x->needs->moved);

	for (size_t i = 0; i < x->place_count; i++)
		if (text_starts(rel, x->places[i].rel) || (is_moved && text_eq(x->places[i].rel, state)))
			p = &x->places[i];
	if (p != &x->home && !is_moved)
		rel += strlen(p->rel);
	int fd = open_place(x, p);
	for (const char *slash; fd >= 0 && (slash = strchr(rel, '/')); rel = slash + 1) {
		const char *name = arena_strndup(x->a, rel, (size_t)(slash - rel));
		AUTO(close_fd) int parent = fd;
		fd = open_dir(x->s, parent, name, 0);
		if (fd < 0 && errno == ENOENT && make && x->s->mkdir(x->s, parent, name, 0700) == 0)
			fd = open_dir(x->s, parent, name, 0);
	}
	*ret_name = rel;
	return fd;
}

/* ---- files that come back ---- */

/* As every client names its own files: no name that a terminal or a shell reads otherwise. */
static bool is_plain_path(const char *rel)
{
	for (const char *p = rel; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@=/", *p))
			return false;
	return true;
}

static const struct client_carry *find_row(const struct layer_ending *x, const char *rel)
{
	for (const struct client_carry *c = x->needs->carried; c && c->path; c++)
		if (text_ends(c->path, "/") ? text_starts(rel, c->path) && text_ends(rel, c->suffix)
					    : text_eq(rel, c->path))
			return is_plain_path(rel) ? c : NULL;
	return NULL;
}

static const char *put_back(struct layer_ending *x, int real, const char *name, struct bytes content,
	const char *rel, const char *how)
{
	struct err why = { 0 };
	struct stat st;
	mode_t mode = x->s->stat(x->s, real, name, &st, AT_SYMLINK_NOFOLLOW) ? 0600 : st.st_mode & 0777;

	if (file_replace(x->s, real, name, mode, content, &why))
		return arena_printf(x->a, "it cannot be carried back: %s", why.text);
	x->carried_count++;
	if (x->carried->n < LAYER_LISTED) {
		struct json *one = json_new(x->a, JSON_OBJECT);
		json_sets(x->a, one, "path", rel);
		json_sets(x->a, one, "how", how);
		json_push(x->a, x->carried, one);
	}
	return NULL;
}

/* As many bytes as both begin with, up to the end of a line. */
static size_t same_lines(struct bytes x, struct bytes y)
{
	size_t n = 0, line = 0;

	while (n < x.n && n < y.n && x.p[n] == y.p[n])
		if (x.p[n++] == '\n')
			line = n;
	return line;
}

static struct json *parse(struct layer_ending *x, struct bytes text)
{
	struct json *doc = NULL;

	return json_parse(&x->scratch, text, "session", NULL, &doc, NULL) ? NULL : doc;
}

/* Transcripts and histories are one object per line. */
static bool is_objects(struct layer_ending *x, struct bytes lines)
{
	bool ok = true;

	while (ok && lines.p && lines.n) {
		struct arena_mark mark = arena_mark(&x->scratch);
		struct bytes line = text_cut(&lines, '\n');
		ok = !line.n || json_is(parse(x, line), JSON_OBJECT);
		arena_release(&x->scratch, mark);
	}
	return ok;
}

/* Both files began as one and have only grown: what the session added is added.  Done once more, it adds nothing. */
static const char *carry_lines(
	struct layer_ending *x, int real, const char *name, struct bytes session, const char *rel)
{
	struct bytes now = { (const uint8_t *)"", 0 };
	struct err why = { 0 };
	int rc = file_read(x->s, &x->scratch, real, name, LAYER_LINES_BYTES, 0, &now, &why);
	struct buf all;

	if (rc && rc != E_MISSING)
		return arena_printf(x->a, "it cannot be carried back: %s", why.text);
	while (session.n && session.p[session.n - 1] != '\n')
		session.n--; /* a line that was not finished */
	size_t same = now.n <= session.n && now.n && memcmp(now.p, session.p, now.n) == 0
		? now.n
		: same_lines(now, session);
	struct bytes fresh = { session.p + same, session.n - same };
	if (!fresh.n || (now.n >= fresh.n && memcmp(now.p + now.n - fresh.n, fresh.p, fresh.n) == 0))
		return NULL;
	if (!is_objects(x, fresh))
		return "not every line that was added is a JSON object";
	buf_init(&all, &x->scratch);
	buf_add(&all, now.p, now.n);
	if (now.n && same != now.n && now.p[now.n - 1] != '\n')
		buf_addc(&all, '\n');
	buf_add(&all, fresh.p, fresh.n);
	return put_back(x, real, name, (struct bytes){ (const uint8_t *)all.p, all.n }, rel, "lines");
}

static const char *carry_json(
	struct layer_ending *x, int real, const char *name, struct bytes session, const char *rel)
{
	struct bytes now;

	if (!parse(x, session))
		return "it is no JSON document";
	if (file_read(x->s, &x->scratch, real, name, LAYER_JSON_BYTES, 0, &now, NULL) == OK &&
		now.n == session.n && memcmp(now.p, session.p, now.n) == 0)
		return NULL;
	return put_back(x, real, name, session, rel, "document");
}

/* The session chose the mode of its directories, the topmost ones, too. */
static int open_top(const struct layer_ending *x, const char *name)
{
	AUTO(close_fd) int at = x->s->open(x->s, x->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0);

	if (at >= 0)
		(void)x->s->chmod(x->s, at, 0700);
	return open_dir(x->s, x->dir, name, 0);
}

/* Where the session's own version of a file lies: in an overlay, or in its home. */
static int open_source(const struct layer_ending *x, const char *rel, const char **ret_rest)
{
	const char *inner = x->is_moved && layer_is_named(rel, x->needs->moved)
		? arena_printf(x->a, "%s%s", x->needs->state[0], rel)
		: rel;

	json_each (one, json_get(x->doc, "sources")) {
		const char *from = json_get_text(one, "rel", ""), *dir = json_get_text(one, "dir", "");
		if (*from && text_starts(inner, from)) {
			*ret_rest = inner + strlen(from);
			return open_top(x, dir);
		}
	}
	*ret_rest = inner;
	return open_top(x, LAYER_HOME);
}

static struct json *read_json_at(struct layer_ending *x, int dir, const char *rel)
{
	struct json *doc = NULL;

	return dir < 0 || doc_read(x->s, &x->scratch, dir, rel, LAYER_JSON_BYTES, FILE_BENEATH, &doc, NULL)
		? NULL
		: doc;
}

/* Was the login there before, and is it of the same account?  NULL: yes. */
static const char *why_no_login(struct layer_ending *x, const struct client_carry *row,
	const struct json *session, const struct json *now)
{
	const struct client_login *l = row->login;
	const struct json *mine = session, *theirs = now;

	if (!now || !members_at(x->a, now, row->members->path))
		return "a first login in a session is kept aside, not carried back";
	if (l->file) {
		const char *name;
		AUTO(close_fd) int from = open_source(x, l->file, &name);
		mine = read_json_at(x, from, name);
		AUTO(close_fd) int real = layer_open_real(x, l->file, false, &name);
		theirs = read_json_at(x, real, name);
	}
	const char *account = json_text(members_at(x->a, mine, l->account));
	if (!account || !*account || !text_eq(account, json_text(members_at(x->a, theirs, l->account)) ?: ""))
		return "the login is of another account than before, or does not say of which";
	const struct json *next = members_at(x->a, session, l->newer), *old = members_at(x->a, now, l->newer);
	int64_t next_n = 0, old_n = 0;
	if (json_int(next, &next_n) && json_int(old, &old_n))
		return next_n >= old_n ? NULL : "the login outside is newer";
	return json_text(next) && json_text(old) && strcmp(json_text(next), json_text(old)) >= 0
		? NULL
		: "the login outside is newer, or does not say when it was made";
}

static const char *members_sentence(struct layer_ending *x, const struct json *names)
{
	struct buf text;

	if (!names->n)
		return NULL;
	buf_init(&text, x->a);
	buf_adds(&text, "not carried back from it:");
	json_each (one, names)
		buf_addf(&text, " %s", json_text(one));
	return text.p;
}

static const char *carry_members(struct layer_ending *x, int real, const char *name, struct bytes text,
	const char *rel, const struct client_carry *row)
{
	struct json *session = parse(x, text), *now = NULL;
	struct bytes have;
	struct err e = { 0 };
	AUTO(close_fd) int was_dir = open_dir(x->s, x->dir, LAYER_WAS, 0);
	const struct json *was = read_json_at(x, was_dir, rel);
	int rc = file_read(x->s, &x->scratch, real, name, LAYER_JSON_BYTES, 0, &have, &e);

	if (!json_is(session, JSON_OBJECT))
		return "it is no JSON document";
	if (rc && rc != E_MISSING)
		return arena_printf(x->a, "it cannot be carried back: %s", e.text);
	if (rc == OK && !json_is(now = parse(x, have), JSON_OBJECT))
		return "the file outside is no JSON document";
	const char *why = row->how == CARRY_LOGIN ? why_no_login(x, row, session, now) : NULL;
	if (why)
		return why;
	const struct json *before = was ? was : now ? json_copy(&x->scratch, now) : NULL;
	if (!now)
		now = json_new(&x->scratch, JSON_OBJECT);
	if (members_merge(&x->scratch, row->members, session, was, now)) {
		struct buf out;
		buf_init(&out, &x->scratch);
		json_write(&out, now, JSON_INDENT);
		buf_addc(&out, '\n');
		why = put_back(
			x, real, name, (struct bytes){ (const uint8_t *)out.p, out.n }, rel, "members");
		if (why)
			return why;
	}
	return members_sentence(
		x, members_left(&x->scratch, row->members, x->needs->dropped_members, session, before));
}

const char *layer_carry(
	struct layer_ending *x, int parent, const char *name, const char *rel, const struct client_carry *row)
{
	const char *real_name;
	struct bytes text;
	struct err e = { 0 };
	struct stat st;
	const size_t most = row->how == CARRY_LINES ? LAYER_LINES_BYTES : LAYER_JSON_BYTES;

	if (x->s->stat(x->s, parent, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_nlink != 1)
		return "it is a file that has other names, too";
	if (file_read(x->s, &x->scratch, parent, name, most, 0, &text, &e))
		return arena_printf(x->a, "it cannot be carried back: %s", e.text);
	AUTO(close_fd) int real = layer_open_real(x, rel, row->how != CARRY_LOGIN, &real_name);
	if (real < 0)
		return row->how == CARRY_LOGIN && errno == ENOENT
			? "a first login in a session is kept aside, not carried back"
			: arena_printf(x->a, "its place in the home directory cannot be opened: %s",
				  strerror(errno));
	switch (row->how) {
	case CARRY_LINES:
		return carry_lines(x, real, real_name, text, rel);
	case CARRY_JSON:
		return carry_json(x, real, real_name, text, rel);
	case CARRY_MEMBERS:
	case CARRY_LOGIN:
		return carry_members(x, real, real_name, text, rel, row);
	}
	return "it is not known how";
}

/* ---- what stays aside ---- */

static void tell_left(struct layer_ending *x, const char *rel, int64_t bytes, const char *why)
{
	struct json *one = json_new(x->a, JSON_OBJECT);

	x->left_count++;
	if (x->left->n >= LAYER_LISTED)
		return;
	json_set(x->a, one, "path",
		json_stringn(x->a, rel, strlen(rel) > LAYER_PATH_TOLD ? LAYER_PATH_TOLD : strlen(rel)));
	json_seti(x->a, one, "bytes", bytes);
	json_sets(x->a, one, "why", why);
	json_push(x->a, x->left, one);
}

static const char *why_left(const struct layer_ending *x, const char *rel)
{
	return layer_is_named(rel, x->needs->state)
		? arena_printf(x->a, "not among the files that a session of %s carries back", x->title)
		: "not part of the client's state";
}

/* By one rename, with modes that start nothing. */
static bool keep_aside(struct layer_ending *x, int parent, const char *name, const char *rel)
{
	AUTO(close_fd) int kept = -1, file = x->s->open(x->s, parent, name, O_PATH | O_NOFOLLOW, 0, 0);
	struct stat st;
	const char *last = strrchr(rel, '/');

	if (file >= 0 && x->s->stat(x->s, file, "", &st, AT_EMPTY_PATH) == 0)
		(void)x->s->chmod(x->s, file, (st.st_mode & 0100) | 0600);
	const char *dir = last ? arena_printf(x->a, LAYER_KEPT "/%.*s", (int)(last - rel), rel) : LAYER_KEPT;
	if (file_mkdirs(x->s, x->dir, dir, 0700, NULL) == OK && (kept = open_dir(x->s, x->dir, dir, 0)) >= 0)
		return x->s->rename(x->s, parent, name, kept, last ? last + 1 : rel, 0) == 0;
	return false;
}

/* Is it as the operator has it, so that nothing is lost with it? */
static bool is_same(
	struct layer_ending *x, int parent, const char *name, const char *rel, const struct stat *st)
{
	const char *real_name;
	AUTO(close_fd) int real = layer_open_real(x, rel, false, &real_name);
	struct bytes here, there;

	return real >= 0 && st->st_size <= SAME_BYTES &&
		file_read(x->s, &x->scratch, real, real_name, SAME_BYTES, 0, &there, NULL) == OK &&
		there.n == (size_t)st->st_size &&
		file_read(x->s, &x->scratch, parent, name, SAME_BYTES, 0, &here, NULL) == OK &&
		here.n == there.n && memcmp(here.p, there.p, here.n) == 0;
}

static void end_file(
	struct layer_ending *x, int parent, const char *name, const char *rel, const struct stat *st)
{
	/* copy_file() gave it this time. */
	const bool is_untouched = st->st_mtim.tv_sec == 1 && st->st_mtim.tv_nsec == 0;
	const struct client_carry *row = find_row(x, rel);
	const char *why = NULL;

	if (is_untouched || !st->st_size) {
		(void)x->s->unlink(x->s, parent, name, 0);
		return;
	}
	if (row)
		why = layer_carry(x, parent, name, rel, row);
	else if (layer_is_named(rel, x->needs->dropped) || layer_is_named(rel, caches))
		x->dropped++;
	else if (!is_same(x, parent, name, rel, st))
		why = why_left(x, rel);
	if (why && keep_aside(x, parent, name, rel))
		tell_left(x, rel, (int64_t)st->st_size, why);
	else if (why)
		x->is_stuck = true;
	else
		(void)x->s->unlink(x->s, parent, name, 0);
}

/* Links, pipes, sockets, devices.  A device 0:0 is the mark of an overlay for a name that was deleted. */
static void end_other(
	struct layer_ending *x, int parent, const char *name, const char *rel, const struct stat *st)
{
	const bool is_ours = layer_is_named(rel, caches) || layer_is_named(rel, x->needs->dropped);
	bool is_place = false;

	for (size_t i = 0; i < x->place_count; i++)
		is_place |= text_starts(x->places[i].rel, rel) &&
			strlen(rel) + 1 == strlen(x->places[i].rel); /* layer.c made this link */
	if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0))
		x->deleted += !is_ours;
	else if (is_ours)
		x->dropped++;
	else if (!(is_place && S_ISLNK(st->st_mode)))
		tell_left(x, rel, 0,
			S_ISLNK(st->st_mode) ? "a link is not kept" : "a pipe, socket or device is not kept");
	(void)x->s->unlink(x->s, parent, name, 0);
}

static void end_dir(struct layer_ending *x, int fd, const char *rel, int depth);

static void end_entry(struct layer_ending *x, int parent, const char *name, const char *rel, int depth)
{
	AUTO(close_fd) int at = x->s->open(x->s, parent, name, O_PATH | O_NOFOLLOW, 0, 0);
	struct stat st;

	if (at < 0 || x->s->stat(x->s, at, "", &st, AT_EMPTY_PATH)) {
		x->is_stuck |= at >= 0 || errno != ENOENT;
		return;
	}
	/* The session chose the modes. */
	if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
		(void)x->s->chmod(x->s, at, S_ISDIR(st.st_mode) ? 0700 : (st.st_mode & 0100) | 0600);
	if (S_ISDIR(st.st_mode)) {
		AUTO(close_fd) int sub = open_dir(x->s, parent, name, 0);
		if (sub < 0)
			x->is_stuck = true;
		else if (depth >= LAYER_DEPTH)
			tell_left(x, rel, 0, "directories so deep are not kept");
		else
			end_dir(x, sub, rel, depth + 1);
		return;
	}
	const char *outer = rel, *state = x->needs->state ? x->needs->state[0] : "";
	if (x->is_moved && text_starts(rel, state) && layer_is_named(rel + strlen(state), x->needs->moved))
		outer = rel + strlen(state);
	struct arena_mark mark = arena_mark(&x->scratch);
	if (S_ISREG(st.st_mode))
		end_file(x, parent, name, outer, &st);
	else
		end_other(x, parent, name, outer, &st);
	arena_release(&x->scratch, mark);
}

static void end_dir(struct layer_ending *x, int fd, const char *rel, int depth)
{
	char **names = NULL;
	size_t n = 0;

	if (file_list(x->s, x->a, fd, ".", &names, &n, NULL)) {
		x->is_stuck = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		end_entry(x, fd, names[i],
			arena_printf(x->a, "%s%s%s", rel, *rel && !text_ends(rel, "/") ? "/" : "", names[i]),
			depth);
}

/* ---- all of it ---- */

/* First, because whose they are stands in a file that is carried itself. */
static void end_logins(struct layer_ending *x)
{
	for (const struct client_carry *c = x->needs->carried; c && c->path; c++) {
		const char *rest, *last;
		if (c->how != CARRY_LOGIN)
			continue;
		AUTO(close_fd) int from = open_source(x, c->path, &rest);
		last = strrchr(rest, '/');
		AUTO(close_fd)
		int parent = from < 0 ? -1
			: last	      ? open_dir(x->s, from, arena_strndup(x->a, rest, (size_t)(last - rest)),
						RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
				      : open_dir(x->s, from, ".", 0);
		if (parent >= 0)
			end_entry(x, parent, last ? last + 1 : rest, c->path, 0);
	}
}

/* An earlier end of this layer was cut off: what it kept aside is told as well. */
static int tell_kept(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct layer_ending *x = arg;

	(void)parent;
	(void)name;
	(void)e;
	if (S_ISREG(st->st_mode))
		tell_left(x, arena_strdup(x->a, rel), (int64_t)st->st_size, why_left(x, rel));
	return 0;
}

static void end_top(struct layer_ending *x, const char *dir, const char *rel)
{
	AUTO(close_fd) int fd = open_top(x, dir);

	if (fd >= 0)
		end_dir(x, fd, rel, 0);
	else if (errno != ENOENT)
		x->is_stuck = true;
}

static void end_sources(struct layer_ending *x)
{
	(void)file_walk(x->s, x->dir, LAYER_KEPT, tell_kept, x, NULL);
	end_logins(x);
	json_each (one, json_get(x->doc, "sources")) {
		end_top(x, json_get_text(one, "dir", ""), json_get_text(one, "rel", ""));
	}
	end_top(x, LAYER_HOME, "");
}

static bool remove_rest(struct layer_ending *x)
{
	bool is_gone = true;

	json_each (one, json_get(x->doc, "sources")) {
		const char *dir = json_get_text(one, "dir", "");
		file_remove_tree(x->s, x->dir, dir);
		is_gone &= !file_exists(x->s, x->dir, dir);
		file_remove_tree(x->s, x->dir, arena_printf(x->a, "w%s", *dir ? dir + 1 : ""));
	}
	file_remove_tree(x->s, x->dir, LAYER_HOME);
	file_remove_tree(x->s, x->dir, LAYER_WAS);
	is_gone &= !file_exists(x->s, x->dir, LAYER_HOME) && !file_exists(x->s, x->dir, LAYER_WAS);
	return is_gone;
}

static int put_result(struct layer_ending *x, struct json *doc, struct err *e)
{
	struct buf text;

	json_setb(x->a, doc, "ended", true);
	json_sets(x->a, doc, "ended_at", text_time_iso(x->a, x->s->now_us(x->s)));
	json_set(x->a, doc, "carried", x->carried);
	json_seti(x->a, doc, "carried_count", x->carried_count);
	json_set(x->a, doc, "left", x->left);
	json_seti(x->a, doc, "left_count", x->left_count);
	json_seti(x->a, doc, "dropped", x->dropped);
	json_seti(x->a, doc, "deleted", x->deleted);
	buf_init(&text, x->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	return file_replace(
		x->s, x->dir, LAYER_FILE, 0600, (struct bytes){ (const uint8_t *)text.p, text.n }, e);
}

static void end_scratch(struct layer_ending *x)
{
	arena_done(&x->scratch);
}

struct json *layer_end(
	struct sys *s, struct arena *a, const char *helm_home, const char *task_id, struct err *e)
{
	const char *path = arena_printf(a, "%s/" LAYERS "/%s", helm_home, task_id);
	AUTO(close_fd) int dir = open_dir(s, AT_FDCWD, path, 0);
	AUTO(end_scratch) struct layer_ending x = { .s = s, .a = a, .dir = dir };
	struct json *doc;

	if (dir < 0) {
		(void)err_sys(e, "LAYER_FILE", "the session's layer '%s' cannot be opened", path);
		return NULL;
	}
	if (doc_read(s, a, dir, LAYER_FILE, LAYER_JSON_BYTES, 0, &doc, e) || layer_read(&x, doc, e))
		return NULL;
	if (!json_get_bool(doc, "ended", false)) {
		end_sources(&x);
		if (x.is_stuck) {
			(void)err_set(e, E_IO, "LAYER_STUCK",
				"some of it in '%s' could neither be carried back nor kept aside (is the disk full?); the next start tries again",
				path);
			return NULL;
		}
		if (put_result(&x, doc, e))
			return NULL;
	}
	/* Whoever finds the lock removes what is still there. */
	if (remove_rest(&x))
		(void)s->unlink(s, dir, LAYER_LOCK, 0);
	if (!json_get_int(doc, "left_count", 0))
		file_remove_tree(s, AT_FDCWD, path);
	return doc;
}
