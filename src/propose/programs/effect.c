/* effect.c — adding effects: what a file operand means beyond its path class, and the memory of written files.
 *
 * The same bytes are harmless in notes.txt and a back door in ~/.bashrc, so every written path is also judged by what it is.
 * The list is short on purpose: files that some program will run or trust later without being asked. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <string.h>

/* What every effect of a call has: the tag, its flags, and the program's plain name. */
static void fill(struct call *k, struct effect *e, enum tag t, unsigned flags)
{
	e->tag = tag_name(t);
	e->flags |= flags;
	e->program = k->head;
}

struct effect *fx(struct call *k, enum tag t, const struct word *target, unsigned flags)
{
	struct effect *e = walk_effect(k->w, k->c, tag_kind(t), target);
	fill(k, e, t, flags);
	return e;
}

/* For a target that is no word of the command. */
struct effect *fx_name(struct call *k, enum tag t, const char *target, unsigned flags)
{
	struct effect *e = fx(k, t, NULL, flags);
	e->target = target;
	return e;
}

/* Ends in one of these names, or lies below one of these directories. */
static const struct {
	const char
		*part; /* leading "/": whole component(s); trailing "/": a directory anywhere in the path */
	enum tag tag;
} places[] = {
	{ "/.ssh/", TAG_PERSISTENCE_SSH },
	{ "/authorized_keys", TAG_PERSISTENCE_SSH },
	{ "/etc/cron", TAG_PERSISTENCE_CRON },
	{ "/var/spool/cron", TAG_PERSISTENCE_CRON },
	{ "/etc/sudoers", TAG_PERSISTENCE_SUDOERS },
	{ "/etc/pam.d/", TAG_PERSISTENCE_SUDOERS },
	{ "/.git/hooks/", TAG_PERSISTENCE_GIT_HOOK },
	{ "/.git/config", TAG_PERSISTENCE_GIT_CONFIG },
	{ "/.gitconfig", TAG_PERSISTENCE_GIT_CONFIG },
	{ "/.config/git/config", TAG_PERSISTENCE_GIT_CONFIG },
	{ "/.bashrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.bash_profile", TAG_PERSISTENCE_SHELL_RC },
	{ "/.bash_login", TAG_PERSISTENCE_SHELL_RC },
	{ "/.bash_logout", TAG_PERSISTENCE_SHELL_RC },
	{ "/.bash_aliases", TAG_PERSISTENCE_SHELL_RC },
	{ "/.profile", TAG_PERSISTENCE_SHELL_RC },
	{ "/.zshrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.zshenv", TAG_PERSISTENCE_SHELL_RC },
	{ "/.zprofile", TAG_PERSISTENCE_SHELL_RC },
	{ "/.zlogin", TAG_PERSISTENCE_SHELL_RC },
	{ "/.kshrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.cshrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.tcshrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.xinitrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.xprofile", TAG_PERSISTENCE_SHELL_RC },
	{ "/.xsession", TAG_PERSISTENCE_SHELL_RC },
	{ "/fish/config.fish", TAG_PERSISTENCE_SHELL_RC },
	{ "/etc/profile", TAG_PERSISTENCE_SHELL_RC },
	{ "/systemd/system/", TAG_PERSISTENCE_UNIT },
	{ "/systemd/user/", TAG_PERSISTENCE_UNIT },
	{ "/LaunchAgents/", TAG_PERSISTENCE_UNIT },
	{ "/LaunchDaemons/", TAG_PERSISTENCE_UNIT },
	{ "/.config/autostart/", TAG_PERSISTENCE_UNIT },
	{ "/etc/init.d/", TAG_PERSISTENCE_UNIT },
	{ "/etc/rc.local", TAG_PERSISTENCE_UNIT },
};

/* What kind of file this is, by the table above; TAG_COUNT when it is an ordinary one. */
static enum tag place_of(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *part = places[i].part;
		size_t n = strlen(part);
		/* An entry that ends in a slash, or one of the system's, covers what lies below it; any
		 * other one must be the end of the path. */
		bool is_below =
			part[n - 1] == '/' || text_starts(part, "/etc/") || text_starts(part, "/var/");
		const char *hit = strstr(path, part);
		if (hit && (is_below || !hit[n]))
			return places[i].tag;
	}
	return clients_care_anywhere(path) ? TAG_PERSISTENCE_CLIENT : TAG_COUNT;
}

/* Writing there leaves nothing behind. */
static bool is_sink(const struct word *x)
{
	return word_is_any(x, "/dev/null /dev/stdout /dev/stderr /dev/tty /dev/stdin /dev/full") ||
		(x->certainty == CERTAIN && text_starts(x->text, "/dev/fd/"));
}

static bool is_change(enum effect_kind kind)
{
	return kind == FX_WRITE || kind == FX_MOVE;
}

/* A device is never an ordinary file: reading and writing one are effects of their own. A write that
 * turns out to go to a sink becomes a harmless read. */
static void judge_device(struct effect *e)
{
	bool is_read = e->kind == FX_READ;
	if (e->path_class == PATH_DEV && (is_read || e->kind <= FX_PERMISSION)) {
		enum tag t = is_read ? TAG_DEVICE_READ : TAG_DEVICE_WRITE;
		e->kind = FX_DEVICE;
		e->tag = tag_name(t);
	} else if (e->path_class == PATH_SINK && e->kind == FX_WRITE) {
		e->kind = FX_READ;
		e->tag = tag_name(TAG_READ_QUERY);
	}
}

/* The newest of so many is enough: commands that write and then run a file do both nearby. */
enum { NOTES_MAX = 64 };
/* What the text has written and linked so far. Only the newest entries are kept: commands that write a
 * file and then run it do both nearby. */
struct notes {
	size_t count, link_count;
	struct {
		const char *path, *to;
	} links[NOTES_MAX];
	struct {
		const char *path;
		struct feed content;
	} written[NOTES_MAX];
};

/* Remembers the content of a file, so that running it later in the same text is judged by that content. */
void note_written(struct call *k, const char *path, struct feed content)
{
	void **place = walk_notes(k->w);
	if (!*place)
		*place = arena_zalloc(walk_arena(k->w), 1, sizeof(struct notes));
	struct notes *n = *place;
	size_t i = n->count++ % NOTES_MAX;
	n->written[i].path = path;
	n->written[i].content = content;
}

/* Remembers a symbolic link. A relative target is relative to the directory of the link. */
void note_link(struct call *k, const char *path, const struct word *to)
{
	struct arena *a = walk_arena(k->w);
	if (to->certainty != CERTAIN) {
		note_written(k, path, (struct feed){ .kind = FEED_UNKNOWN });
		return;
	}
	if (!*walk_notes(k->w))
		*walk_notes(k->w) = arena_zalloc(a, 1, sizeof(struct notes));
	struct notes *n = *walk_notes(k->w);
	size_t i = n->link_count++ % NOTES_MAX;
	const char *slash = strrchr(path, '/');
	bool is_free = word_starts(to, "/") || word_starts(to, "~") || !slash;
	n->links[i].path = path;
	n->links[i].to = is_free ? to->text : arena_printf(a, "%.*s/%s", (int)(slash - path), path, to->text);
}

/* Where a path leads when it goes through a link made earlier, or NULL. is_entry: the last component
 * itself is meant and not what it points to, as when a link is deleted. */
static const char *through_link(struct call *k, const char *path, bool is_entry)
{
	struct notes *n = *walk_notes(k->w);
	size_t have = !n ? 0 : n->link_count < NOTES_MAX ? n->link_count : NOTES_MAX;
	for (size_t i = 0; i < have; i++) {
		size_t len = strlen(n->links[i].path);
		if (strncmp(path, n->links[i].path, len) == 0 &&
			(path[len] == '/' || (!path[len] && !is_entry)))
			return arena_printf(walk_arena(k->w), "%s%s", n->links[i].to, path + len);
	}
	return NULL;
}

/* ln -s /bin/rm y: then ./y is rm. */
const char *note_program(struct call *k, const char *path)
{
	const char *to = through_link(k, path, false);
	return to && program_find(path_base(to), strlen(path_base(to))) ? to : NULL;
}

/* The newest entry of a path counts. Without a path it only says whether anything was noted. */
bool note_find(struct call *k, const char *path, struct feed *ret)
{
	struct notes *n = *walk_notes(k->w);
	if (!n || !path)
		return n != NULL;
	size_t have = n->count < NOTES_MAX ? n->count : NOTES_MAX;
	for (size_t i = 0; i < have; i++) {
		size_t at = (n->count - 1 - i) % NOTES_MAX;
		if (text_eq(n->written[at].path, path)) {
			*ret = n->written[at].content;
			return true;
		}
	}
	return false;
}

/* The one place where an effect on a file is made. It adds the effect by path class, the same effect on
 * what a link made earlier leads to, and a second effect when the file is one that others run or trust.
 * Reading a file with a secret's name becomes a secret read. The effect returned is the one on the path
 * itself; when a second one was added it is a copy, because adding an effect may move the list, so
 * changes to it are then lost. */
struct effect *fx_path(struct call *k, enum tag t, const struct word *target, unsigned flags)
{
	enum effect_kind kind = tag_kind(t);
	if ((kind == FX_WRITE || kind == FX_READ) && is_sink(target))
		return NULL;
	/* grep -rl x | xargs sed -i: files that somebody listed are edited in place; which ones is not
	 * known, and that is ordinary. */
	if (t == TAG_WRITE_EDIT && target->certainty == DYNAMIC && target->is_guarded)
		return fx(k, t, NULL, flags);
	struct effect *e = walk_path(k->w, k->c, kind, target);
	fill(k, e, t, flags);
	judge_device(e);
	if (!e->target)
		return e;
	const char *to = *walk_notes(k->w)
		? through_link(k, e->target, kind == FX_DELETE || t == TAG_WRITE_LINK)
		: NULL;
	if (to) {
		struct word real = walk_word(k->w, to, target->at);
		/* The effect on the real place is added first and the list may move, so the first effect
		 * is made anew behind it. */
		if (!text_eq(real.text, e->target) && k->link_depth < 4) {
			k->link_depth++;
			(void)fx_path(k, t, &real, flags);
			k->link_depth--;
			e = walk_path(k->w, k->c, kind, target);
			fill(k, e, t, flags);
		}
	}
	const struct surroundings *at = walk_surroundings(k->w);
	if (kind == FX_READ &&
		(paths_is_secret(at, e->target) || (e->resolved && paths_is_secret(at, e->resolved)))) {
		e->kind = FX_SECRET_READ;
		e->tag = tag_name(TAG_SECRET_FILE);
		return e;
	}
	if (!is_change(kind) || t == TAG_MOVE_FROM)
		return e;
	enum tag place = place_of(e->target);
	if (place == TAG_COUNT && e->resolved)
		place = place_of(e->resolved);
	if (place == TAG_COUNT)
		return e;
	struct effect *copy = arena_alloc(walk_arena(k->w), sizeof(*e));
	*copy = *e;
	e = walk_effect(k->w, k->c, tag_kind(place), target);
	fill(k, e, place, flags);
	e->target = copy->target;
	e->path_class = copy->path_class;
	return copy;
}

void fx_paths(struct call *k, enum tag t, const struct word *v, size_t n, unsigned flags)
{
	for (size_t i = 0; i < n; i++)
		(void)fx_path(k, t, &v[i], flags);
}

/* "-" is standard input. */
void fx_read(struct call *k, const struct word *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!word_is(&v[i], "-"))
			(void)fx_path(k, TAG_READ_FILE, &v[i], 0);
}

/* Directories that are full of credentials: listing them is harmless, copying them along is not. */
static bool is_secret_tree(const char *path)
{
	static const char *const names[] = { "/.ssh", "/.aws", "/.gnupg", "/.kube", "/.config/gcloud",
		"/.azure", "/.password-store", "/.docker", "/Keychains", "/.config/gh", "/.mozilla",
		"/etc/ssl/private" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_ends(path, names[i]))
			return true;
	return false;
}

/* Like fx_read() for programs that take whole directories along (cp -r, tar, scp). */
void fx_read_tree(struct call *k, const struct word *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (word_is(&v[i], "-"))
			continue;
		struct effect *e = fx_path(k, TAG_READ_FILE, &v[i], FXF_RECURSIVE);
		if (e && e->kind == FX_READ && e->target && is_secret_tree(e->target)) {
			e->kind = FX_SECRET_READ;
			e->tag = tag_name(TAG_SECRET_FILE);
		}
	}
}

/* The path is the root or below it. */
static bool is_inside(const char *path, const char *root)
{
	size_t n = root ? strlen(root) : 0;
	return n && strncmp(path, root, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Stands for some file below a directory, whose name is not known. */
struct word word_below(struct call *k, const struct word *dir)
{
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c);
	struct word r = *dir;
	bool ends = dir->text_n && dir->text[dir->text_n - 1] == '/';
	r.marked = NULL;
	r.is_guarded = true;
	r.is_quoted = true;
	/* In the workspace some file is any file; elsewhere it must be judged by the worst that could lie there. */
	if (dir->certainty == CERTAIN && !word_starts(dir, "/") && !word_starts(dir, "~") &&
		!strstr(dir->text, "..") && cwd &&
		(is_inside(cwd, at->workspace) || is_inside(cwd, at->work_tree)))
		return walk_word(
			k->w, arena_printf(walk_arena(k->w), "%s%s{}", dir->text, ends ? "" : "/"), dir->at);
	r.text = arena_printf(walk_arena(k->w), "%s%s", dir->text, ends ? "" : "/");
	r.text_n = strlen(r.text);
	if (dir->certainty == CERTAIN) {
		r.known_n = r.text_n;
		r.certainty = PREFIXED;
	}
	return r;
}
