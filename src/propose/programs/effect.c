/* effect.c — adding effects: what a file operand means beyond its path class.
 *
 * The same bytes are harmless in notes.txt and a back door in ~/.bashrc, so every written path is also judged by what it is.
 * The list is short on purpose: files that some program will run or trust later without being asked. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>

/* What every effect of a call has: the tag, its flags, and the program's plain name. */
static void fill(struct call *k, struct effect *e, enum tag t, unsigned flags)
{
	e->tag = tag_name(t);
	e->flags |= flags;
	e->program = k->head;
}

/* HTTP://name@Host/Path is http://name@host/Path, and rules name it so. */
static const char *plain_address(struct arena *a, const char *address)
{
	const char *host = strstr(address, "://");
	char *text = arena_strdup(a, address);
	size_t scheme = host ? (size_t)(host - address) + 3 : 0;
	size_t end = scheme + strcspn(address + scheme, "/?#");
	const char *at = memrchr(address, '@', end);

	if (!host && strpbrk(address, "@: "))
		return address;
	for (size_t i = 0; i < end; i++)
		if (i < scheme || !at || address + i > at)
			text[i] = (char)tolower((unsigned char)text[i]);
	return text;
}

/* The value of a credential that goes to whoever `part` is a part of what is asked of. */
void fx_sent(struct call *k, const struct word *part, const struct word *url)
{
	if (!walk_sends_credential(part))
		return;
	struct effect *e = walk_effect(k->w, k->c, FX_SECRET_READ, url);
	fill(k, e, TAG_SECRET_SENT, 0);
}

struct effect *fx(struct call *k, enum tag t, const struct word *target, unsigned flags)
{
	if (tag_kind(t) == FX_NETWORK && target && target->text)
		fx_sent(k, target, target);
	struct effect *e = walk_effect(k->w, k->c, tag_kind(t), target);
	fill(k, e, t, flags);
	if (e->kind == FX_NETWORK && e->target && target && target->certainty == CERTAIN)
		e->target = plain_address(walk_arena(k->w), e->target);
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
	{ "/.git/config.worktree", TAG_PERSISTENCE_GIT_CONFIG },
	{ "/.git/modules/", TAG_PERSISTENCE_GIT_CONFIG },
	{ "/.git", TAG_PERSISTENCE_GIT_CONFIG }, /* a file that says where the repository is */
	{ "/.envrc", TAG_PERSISTENCE_SHELL_RC },
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
	{ "/.inputrc", TAG_PERSISTENCE_SHELL_RC },
	{ "/.pam_environment", TAG_PERSISTENCE_SHELL_RC },
	{ "/.config/environment.d/", TAG_PERSISTENCE_SHELL_RC },
	{ "/fish/config.fish", TAG_PERSISTENCE_SHELL_RC },
	{ "/fish/conf.d/", TAG_PERSISTENCE_SHELL_RC },
	{ "/etc/profile", TAG_PERSISTENCE_SHELL_RC },
	{ "/systemd/system/", TAG_PERSISTENCE_UNIT },
	{ "/systemd/user/", TAG_PERSISTENCE_UNIT },
	{ "/LaunchAgents/", TAG_PERSISTENCE_UNIT },
	{ "/LaunchDaemons/", TAG_PERSISTENCE_UNIT },
	{ "/.config/autostart/", TAG_PERSISTENCE_UNIT },
	{ "/etc/init.d/", TAG_PERSISTENCE_UNIT },
	{ "/etc/rc.local", TAG_PERSISTENCE_UNIT },
};

/* Could a pattern such as ".gi?/h[o]oks/x" be a file of such a place?  Component by component from the end; whatever lies in a directory
 * counts. */
static bool may_be_in(const char *pattern, const char *part)
{
	char name[64], wanted[64];
	size_t said = 0; /* how much of it is no wildcard */
	const char *end = pattern + strlen(pattern), *at = part + strlen(part);

	if (at[-1] == '/') { /* one component of the pattern is the file's name */
		while (end > pattern && *--end != '/')
			;
		at--;
	}
	while (at > part) {
		const char *from = end, *want = at;
		while (from > pattern && from[-1] != '/')
			from--;
		while (want > part && want[-1] != '/')
			want--;
		if (from == end || (size_t)(end - from) >= sizeof(name) ||
			(size_t)(at - want) >= sizeof(wanted))
			return false;
		snprintf(name, sizeof(name), "%.*s", (int)(end - from), from);
		snprintf(wanted, sizeof(wanted), "%.*s", (int)(at - want), want);
		/* A star does not stand for a hidden name. */
		if ((wanted[0] == '.' && name[0] != '.') || !text_glob(name, wanted, false))
			return false;
		said += strcspn(name, "*?[") > (name[0] == '.');
		end = from - (from > pattern);
		at = want - (want > part);
	}
	return said;
}

/* What kind of file this is, by the table above; TAG_COUNT when it is an ordinary one. */
static enum tag place_of(const char *path)
{
	const bool is_pattern = strpbrk(path, "*?[");

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *part = places[i].part;
		size_t n = strlen(part);
		/* An entry that ends in a slash, or one of the system's, covers what lies below it; any
		 * other one must be the end of the path. */
		bool is_below =
			part[n - 1] == '/' || text_starts(part, "/etc/") || text_starts(part, "/var/");
		const char *hit = strstr(path, part);
		if ((hit && (is_below || !hit[n])) || (is_pattern && may_be_in(path, part)))
			return places[i].tag;
	}
	return clients_care_anywhere(path) ? TAG_PERSISTENCE_CLIENT : TAG_COUNT;
}

/* Writing there leaves nothing behind. */
static bool is_sink(const struct word *x)
{
	return word_is_any(x, "/dev/null /dev/stdout /dev/stderr /dev/tty /dev/stdin /dev/full") ||
		(x->certainty == CERTAIN && text_starts(x->text, "/dev/fd/") && !strchr(x->text + 8, '/'));
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

/* cat .e*, cat s*.key: a file that the pattern fits now holds a secret. */
static bool selects_secret(struct call *k, const struct word *x)
{
	enum { FILES_LOOKED_AT = 256 };
	const char *files[FILES_LOOKED_AT];

	for (size_t i = 0, n = tree_glob(k, x, files, FILES_LOOKED_AT); i < n; i++)
		if (paths_is_secret(walk_surroundings(k->w), files[i]))
			return true;
	return false;
}

/* cat /proc/$PPID/environ, cat "$D/.aws/credentials": what is known of the name is enough. */
static bool is_secret_in_part(struct call *k, const struct word *x)
{
	if (x->certainty == CERTAIN || x->is_glob)
		return false;
	char *text = arena_strdup(walk_arena(k->w), walk_marked(k->w, x));
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = 'x';
	return strchr(text, '/') && paths_is_secret(walk_surroundings(k->w), text);
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
	/* for f in $(find / -name id_rsa); do cat $f: whichever file it is. */
	if (e->kind == FX_READ && target->origin == ORIGIN_SECRETS) {
		e->kind = FX_SECRET_READ;
		e->tag = tag_name(TAG_SECRET_FILE);
	}
	if (!e->target)
		return e;
	const char *to = note_physical(k, target, kind == FX_DELETE || t == TAG_WRITE_LINK);
	if (to) {
		struct word real = walk_word(k->w, to, target->at);
		if (target->is_glob) {
			real.is_glob = true;
			real.certainty = target->certainty;
			real.known_n = strcspn(to, "*?[");
		}
		/* The effect on the real place is added first and the list may move, so the first effect
		 * is made anew behind it. */
		if (!text_eq(real.text, e->target) && k->link_depth < 4) {
			k->link_depth++;
			(void)fx_path(k, t, &real, flags);
			k->link_depth--;
			e = walk_path(k->w, k->c, kind, target);
			fill(k, e, t, flags);
			judge_device(e);
		}
	}
	if (is_change(kind))
		note_changed(k, e->target, t == TAG_WRITE_EXTRACT);
	const struct surroundings *at = walk_surroundings(k->w);
	if (kind == FX_READ &&
		(paths_is_secret(at, e->target) || (e->resolved && paths_is_secret(at, e->resolved)) ||
			is_secret_in_part(k, target) || selects_secret(k, target))) {
		e->kind = FX_SECRET_READ;
		e->tag = tag_name(TAG_SECRET_FILE);
		return e;
	}
	/* chmod +x .git/hooks/x arms what lies there. */
	bool is_mode = t == TAG_PERMISSION_MODE || t == TAG_PERMISSION_OPEN;
	if ((!is_change(kind) && !is_mode) || t == TAG_MOVE_FROM)
		return e;
	enum tag place = place_of(e->target);
	if (place == TAG_COUNT && e->resolved)
		place = place_of(e->resolved);
	if (place == TAG_COUNT || (is_mode && place != TAG_PERSISTENCE_GIT_HOOK))
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

/* Like fx_read() for programs that take whole directories along (cp -r, tar, scp). */
void fx_read_tree(struct call *k, const struct word *v, size_t n)
{
	const struct surroundings *at = walk_surroundings(k->w);
	for (size_t i = 0; i < n; i++) {
		if (word_is(&v[i], "-"))
			continue;
		struct effect *e = fx_path(k, TAG_READ_FILE, &v[i], FXF_RECURSIVE);
		const char *real = e ? note_physical(k, &v[i], false) : NULL;
		if (e && e->kind == FX_READ && e->target &&
			(paths_holds_secrets(at, walk_arena(k->w), e->target) ||
				(real && paths_holds_secrets(at, walk_arena(k->w), real)) ||
				(e->resolved && paths_holds_secrets(at, walk_arena(k->w), e->resolved)))) {
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
