/* notes.c — what the text has written, copied and linked so far.
 *
 * A command that writes a script and runs it, or makes a link and writes through it, can only be judged with what it did a moment
 * ago.  So the content of each written file is kept as far as it is known, and where each link leads.  Paths are
 * followed as the kernel does: link by link, and ".." goes up from where the link led to, not from where its name
 * stands.  Only the newest entries are kept: commands that write a file and then run it do both nearby. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>

enum { NOTES_MAX = 64, LINKS_FOLLOWED = 16, LINK_BYTES = 4096 };

struct notes {
	size_t count, link_count;
	struct {
		const char *path, *to; /* both absolute where that is known */
	} links[NOTES_MAX];
	struct {
		const char *path;
		struct feed content;
	} written[NOTES_MAX];
};

static struct notes *notes_of(struct call *k, bool creates)
{
	void **place = walk_notes(k->w);
	if (!*place && creates)
		*place = arena_zalloc(walk_arena(k->w), 1, sizeof(struct notes));
	return *place;
}

static size_t kept(size_t count)
{
	return count < NOTES_MAX ? count : NOTES_MAX;
}

void note_written(struct call *k, const char *path, struct feed content)
{
	struct notes *n = notes_of(k, true);
	size_t i = n->count++ % NOTES_MAX;
	n->written[i].path = path;
	n->written[i].content = content;
}

/* The newest entry of exactly this path. */
static bool find_exact(const struct notes *n, const char *path, struct feed *ret)
{
	for (size_t i = 0; i < kept(n->count); i++) {
		size_t at = (n->count - 1 - i) % NOTES_MAX;
		if (text_eq(n->written[at].path, path)) {
			*ret = n->written[at].content;
			return true;
		}
	}
	return false;
}

/* What is added to known text is known; anything else makes the whole unknown. */
void note_appended(struct call *k, const char *path, struct feed content)
{
	struct notes *n = notes_of(k, true);
	struct feed before;
	if (!find_exact(n, path, &before)) {
		note_written(k, path, content);
		return;
	}
	if (before.kind == FEED_KNOWN && content.kind == FEED_KNOWN) {
		struct buf b;
		buf_init(&b, walk_arena(k->w));
		buf_add(&b, before.text, before.n);
		buf_add(&b, content.text, content.n);
		content = (struct feed){ .kind = FEED_KNOWN, .text = b.p, .n = b.n };
	} else if (content.kind != FEED_FETCHED && content.kind != FEED_DECODED) {
		content.kind = before.kind == FEED_FETCHED || before.kind == FEED_DECODED ? before.kind
											  : FEED_UNKNOWN;
		content.text = NULL;
	}
	note_written(k, path, content);
}

static bool is_at_or_below(const char *path, const char *dir, size_t n)
{
	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

/* A program changes a file, or whatever lies in a directory: what was known of its content no longer holds. */
void note_changed(struct call *k, const char *path, bool is_tree)
{
	struct notes *n = notes_of(k, false);
	size_t len = strlen(path);
	if (is_tree && text_ends(path, "/{}"))
		len -= 3;
	while (is_tree && len > 1 && path[len - 1] == '/')
		len--;
	for (size_t i = 0; n && i < kept(n->count); i++)
		if (is_tree ? is_at_or_below(n->written[i].path, path, len)
			    : text_eq(n->written[i].path, path))
			n->written[i].content = (struct feed){ .kind = FEED_UNKNOWN };
}

/* The copy of a file, or of a directory with files in it, holds what the original holds. */
void note_copied(struct call *k, const char *from, const char *to)
{
	struct notes *n = notes_of(k, true);
	struct arena *a = walk_arena(k->w);
	size_t len = strlen(from), have = kept(n->count);
	struct feed content;
	for (size_t i = 0; i < kept(n->link_count); i++)
		if (text_eq(n->links[i].path, from)) {
			struct word lead = walk_word(k->w, n->links[i].to, k->c->at);
			note_link(k, to, &lead);
			return;
		}
	for (size_t i = 0; i < have; i++)
		if (is_at_or_below(n->written[i].path, from, len) && n->written[i].path[len])
			note_written(k, arena_printf(a, "%s%s", to, n->written[i].path + len),
				n->written[i].content);
	if (!note_find(k, from, &content))
		content = (struct feed){ .kind = FEED_FILE, .text = from, .n = len };
	note_written(k, to, content);
}

/* A relative target is relative to the directory of the link. */
void note_link(struct call *k, const char *path, const struct word *to)
{
	struct arena *a = walk_arena(k->w);
	struct notes *n = notes_of(k, true);
	size_t i = n->link_count++ % NOTES_MAX;
	const char *slash = strrchr(path, '/');
	bool is_free = word_starts(to, "/") || word_starts(to, "~") || !slash;
	if (to->certainty != CERTAIN)
		note_written(k, path, (struct feed){ .kind = FEED_UNKNOWN });
	n->links[i].path = path;
	if (to->certainty != CERTAIN) /* it leads where its unknown parts say */
		n->links[i].to = walk_marked(k->w, to);
	else
		n->links[i].to =
			is_free ? to->text : arena_printf(a, "%.*s/%s", (int)(slash - path), path, to->text);
}

/* Where a link of this name leads: one made by this text, or one on disk (only where ".." follows: all other links are followed
 * where the path is judged). */
static const char *link_at(struct call *k, const char *path, bool looks_on_disk)
{
	const struct notes *n = notes_of(k, false);
	const struct surroundings *at = walk_surroundings(k->w);
	struct arena *a = walk_arena(k->w);
	char text[LINK_BYTES];
	for (size_t i = n ? kept(n->link_count) : 0; i-- > 0;)
		if (text_eq(n->links[i].path, path))
			return n->links[i].to[0] == '~' && at->home
				? arena_printf(a, "%s%s", at->home, n->links[i].to + 1)
				: n->links[i].to;
	if (!looks_on_disk || !at->sys)
		return NULL;
	ssize_t got = at->sys->readlink(at->sys, AT_FDCWD, path, text, sizeof(text) - 1);
	if (got < 0)
		return NULL;
	text[got] = '\0';
	return text[0] == '/' ? arena_strdup(a, text)
			      : arena_printf(a, "%.*s/%s", (int)(strrchr(path, '/') - path), path, text);
}

/* Some part of it is a marker of the evaluator. */
static bool is_unknown(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			return true;
	return false;
}

/* The path as the kernel would walk it, or NULL when that is how it reads anyway. */
static const char *walked(struct call *k, const char *path, bool is_entry)
{
	struct arena *a = walk_arena(k->w);
	const char *out = "", *rest = path;
	unsigned links = 0;
	while (*rest) {
		rest += strspn(rest, "/");
		size_t n = strcspn(rest, "/");
		const char *part = arena_strndup(a, rest, n), *after = rest + n + strspn(rest + n, "/");
		rest = after;
		if (!n || text_eq(part, "."))
			continue;
		if (text_eq(part, "..")) {
			const char *slash = strrchr(out, '/');
			out = slash ? arena_strndup(a, out, (size_t)(slash - out)) : "";
			continue;
		}
		const char *here = arena_printf(a, "%s/%s", out, part);
		const char *to = *after || !is_entry ? link_at(k, here, text_starts(after, "..")) : NULL;
		if (to && is_unknown(to))
			return arena_printf(a, "%s/%s", to, after);
		if (to && links++ < LINKS_FOLLOWED && to[0] == '/') {
			rest = arena_printf(a, "%s/%s", to, after);
			out = "";
		} else {
			out = here;
		}
	}
	out = *out ? out : "/";
	return links || !text_eq(out, path_clean(a, path)) ? out : NULL;
}

const char *note_physical(struct call *k, const struct word *x, bool is_entry)
{
	const struct notes *n = notes_of(k, false);
	const char *cwd;
	if (!(n && n->link_count) && !strstr(x->text, ".."))
		return NULL;
	if (x->text_n && x->text[x->text_n - 1] == '/') /* link/ is what it leads to */
		is_entry = false;
	if ((x->certainty != CERTAIN && !x->is_glob) || x->origin != ORIGIN_LITERAL || !x->text_n)
		return NULL;
	if (x->text[0] == '/')
		return walked(k, x->text, is_entry);
	cwd = walk_cwd(k->w, k->c);
	return cwd ? walked(k, arena_printf(walk_arena(k->w), "%s/%s", cwd, x->text), is_entry) : NULL;
}

/* ln -s /bin/rm y: then ./y is rm. */
const char *note_program(struct call *k, const char *path)
{
	const char *to = notes_of(k, false) ? walked(k, path, false) : NULL;
	return to && program_find(path_base(to), strlen(path_base(to))) ? to : NULL;
}

bool note_find(struct call *k, const char *path, struct feed *ret)
{
	const struct notes *n = notes_of(k, false);
	if (!n || !path)
		return n != NULL;
	if (find_exact(n, path, ret))
		return true;
	const char *to = n->link_count ? walked(k, path, false) : NULL;
	return to && find_exact(n, to, ret);
}
