/* area_notes.c — notes and memory: files of text, line by line.
 *
 * Links are not followed and names that begin with a dot are not looked into, so neither a circle of links nor the settings of
 * a note program become part of an answer.  What is too large, binary or closed is named once and left out. */
#include "remember/context_parts.h"

#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ONTOLOGY_DIR "memory/ontology"

static bool is_kind(const struct source *s, const char *kind)
{
	return text_eq(s->kind, kind);
}

bool path_is_memory(const char *path)
{
	return text_starts(path, "memory/");
}

/* Curated files count for every source; memory/ only where it is the memory of an agent. */
bool path_is_note(const struct source *s, const char *path)
{
	return s->is_vault || text_eq(path, "MEMORY.md") || text_eq(path, "memory/README.md") ||
		text_starts(path, "notes/") ||
		(path_is_memory(path) && (is_kind(s, "helm") || is_kind(s, "openclaw"))) ||
		(text_starts(path, "history/") && is_kind(s, "hermes"));
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcasecmp(name + n - m, end) == 0;
}

static bool is_structured(const char *name)
{
	return ends_in(name, ".json") || ends_in(name, ".jsonl");
}

static bool is_text_name(const char *name)
{
	return ends_in(name, ".md") || ends_in(name, ".txt") || is_structured(name);
}

/* ---- the files ---- */

struct walk {
	struct search *x;
	struct source *s;
	struct arena a;
	file_seen *file;
	dir_seen *dir;
	void *arg;
	bool is_flat; /* directories in it are not entered */
};

static const char *shown(struct search *x, const char *path)
{
	return text_safe(x->a, path, strlen(path), false);
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static void see_file(struct walk *w, const char *path, const struct stat *st)
{
	struct note_file f = { path, ns_of(&st->st_mtim), st->st_size };

	if (!is_text_name(path) || (!path_is_note(w->s, path) && !path_is_memory(path)))
		return;
	if (f.mtime_ns / 1000 > w->s->newest_us)
		w->s->newest_us = f.mtime_ns / 1000;
	if (w->file)
		w->file(w->arg, &f);
}

static bool is_closed_to_us(struct walk *w, const char *path)
{
	const char *helm_home = w->x->at->helm_home;

	return text_eq(path, ONTOLOGY_DIR) ||
		(helm_home && text_eq(arena_printf(&w->a, "%s/%s", w->s->root, path), helm_home));
}

static void walk_dir(struct walk *w, const char *path, int depth);

static void walk_entry(struct walk *w, int fd, const char *name, const char *path, int depth)
{
	struct sys *s = w->x->sys;
	struct stat st;

	if (s->stat(s, fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return; /* gone since it was listed */
	if (S_ISREG(st.st_mode))
		see_file(w, path, &st);
	else if (S_ISDIR(st.st_mode) && is_closed_to_us(w, path))
		;
	else if (S_ISDIR(st.st_mode) && w->is_flat)
		w->dir(w->arg, path, ns_of(&st.st_mtim));
	else if (S_ISDIR(st.st_mode))
		walk_dir(w, path, depth + 1);
	else if (S_ISLNK(st.st_mode) && (is_text_name(name) || file_is_dir(s, fd, name)))
		search_warn(w->x, "%s: '%s' is a link, which is not followed", w->s->name, shown(w->x, path));
	else if (!S_ISLNK(st.st_mode) && is_text_name(name))
		search_warn(w->x, "%s: '%s' was not searched: it is no file", w->s->name, shown(w->x, path));
}

static void walk_dir(struct walk *w, const char *path, int depth)
{
	struct sys *s = w->x->sys;
	struct arena_mark mark = arena_mark(&w->a);
	const char *here = *path ? path : ".";
	char **names = NULL;
	size_t n = 0;
	struct stat st;
	struct err e;
	AUTO(close_fd) int fd = s->open(s, w->s->root_fd, here, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);

	if (fd < 0 || depth > MAX_WALK_DEPTH || s->stat(s, fd, "", &st, AT_EMPTY_PATH) ||
		file_list(s, &w->a, fd, ".", &names, &n, &e)) {
		if (fd >= 0 || errno != ENOENT)
			search_warn(w->x, "%s: the directory '%s' was not searched: %s", w->s->name,
				shown(w->x, here),
				depth > MAX_WALK_DEPTH ? "it is too deep" : "it cannot be opened");
		return;
	}
	if (w->dir && !w->is_flat)
		w->dir(w->arg, path, ns_of(&st.st_mtim));
	for (size_t i = 0; i < n; i++)
		if (names[i][0] != '.')
			walk_entry(w, fd, names[i],
				*path ? arena_printf(&w->a, "%s/%s", path, names[i]) : names[i], depth);
	arena_release(&w->a, mark);
}

void notes_walk(struct search *x, struct source *s, file_seen *file, dir_seen *dir, void *arg)
{
	static const char *const places[] = { "history", "memory", "notes" };
	struct walk w = { .x = x, .s = s, .file = file, .dir = dir, .arg = arg };
	struct stat st;

	if (s->root_fd < 0)
		return;
	if (s->is_vault)
		walk_dir(&w, "", 0);
	else if (x->sys->stat(x->sys, s->root_fd, "MEMORY.md", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(st.st_mode))
		see_file(&w, "MEMORY.md", &st);
	for (size_t i = 0; i < ARRAY_SIZE(places) && !s->is_vault; i++)
		if (file_is_dir(x->sys, s->root_fd, places[i]))
			walk_dir(&w, places[i], 0);
	arena_done(&w.a);
}

void notes_list(
	struct search *x, struct source *s, const char *dir, file_seen *file, dir_seen *inside, void *arg)
{
	struct walk w = { .x = x, .s = s, .file = file, .dir = inside, .arg = arg, .is_flat = true };

	walk_dir(&w, dir, 0);
	arena_done(&w.a);
}

/* ---- a file ---- */

/* Only findings over several lines matter here: those in one line are found in the line, too. */
const char *mask_lines(struct arena *a, const char *text, size_t n, size_t *ret_n)
{
	const struct privacy_options secrets = { 1u << PRIVACY_SECRET, false };
	struct privacy_finding *found;
	struct buf out = { 0 };
	size_t from = 0, count = privacy_scan(a, text, n, &secrets, &found);

	for (size_t i = 0; i < count; i++) {
		const struct privacy_finding *f = &found[i];
		if (!memchr(text + f->start, '\n', f->end - f->start))
			continue;
		if (!out.p)
			buf_init(&out, a);
		buf_add(&out, text + from, f->start - from);
		buf_adds(&out, REDACTED);
		for (size_t k = f->start; k < f->end; k++)
			if (text[k] == '\n')
				buf_adds(&out, "\n" REDACTED);
		from = f->end;
	}
	*ret_n = n;
	if (!out.p)
		return text;
	buf_add(&out, text + from, n - from);
	*ret_n = out.n;
	return out.p;
}

/* The day in the name of a daily note: its timestamp is the name without its ending. */
static const char *stem_time(struct arena *a, const char *path, int64_t *ret_us)
{
	const char *name = path_base(path), *slash = strrchr(path, '/');
	const char *dot = strrchr(name, '.');
	char *stem = arena_strndup(a, name, (size_t)(dot - name));

	if (!slash || slash - path < 6 || strncmp(slash - 6, "memory", 6) != 0 ||
		(slash - path > 6 && slash[-7] != '/') || strlen(stem) < 10)
		return NULL;
	return memory_time(arena_strndup(a, stem, 10), ret_us) ? stem : NULL;
}

struct lines {
	struct search *x;
	struct source *s;
	const struct note_file *f;
	struct item like; /* what all of its items have in common */
};

static struct json *line_meta(struct arena *a, const struct note_file *f, uint32_t line)
{
	struct json *meta = json_new(a, JSON_OBJECT);

	json_sets(a, meta, "path", f->path);
	if (line)
		json_seti(a, meta, "line", line);
	return meta;
}

static void offer_line(struct lines *l, const char *p, size_t n, uint32_t number)
{
	struct item i = l->like;
	struct arena *a = &l->x->scratch;
	size_t text_n;

	while (n && strchr(" \t\r\f\v", p[0])) {
		p++;
		n--;
	}
	while (n && strchr(" \t\r\f\v", p[n - 1]))
		n--;
	if (!n)
		return;
	struct arena_mark mark = arena_mark(a);
	bool is_wanted = !l->x->has_words || l->x->watched;
	if (is_wanted || search_fit(l->x, words_fold(a, p, n)) != FIT_NONE) {
		const char *text = text_utf8(a, p, n, TEXT_BYTE, &text_n);
		i.raw = i.excerpt = arena_strndup(a, text, text_n);
		i.raw_n = text_n;
		i.line = number;
		i.meta = line_meta(a, l->f, number);
		search_offer(l->x, &i);
	}
	arena_release(a, mark);
}

static void offer_lines(struct lines *l, const char *text, size_t n, enum area area)
{
	struct search *x = l->x;
	uint32_t number = 0;

	l->like.area = area;
	l->like.kind = area == AREA_NOTES ? "note-line" : "memory-line";
	while (n && (x->has_words || x->found[area] < x->cap)) {
		const char *end = memchr(text, '\n', n);
		size_t len = end ? (size_t)(end - text) : n;
		offer_line(l, text, len, ++number);
		len += end != NULL;
		text += len;
		n -= len;
	}
}

/* A whole file of data is one item. */
static void offer_whole(struct lines *l, const char *text, size_t n)
{
	struct item i = l->like;
	struct arena *a = &l->x->scratch;
	size_t text_n;

	i.raw = text_utf8(a, text, n, TEXT_BYTE, &text_n);
	i.raw_n = text_n;
	i.area = AREA_MEMORY;
	i.kind = "structured-file";
	i.excerpt = NULL; /* the part of it that answers */
	i.meta = line_meta(a, l->f, 0);
	search_offer(l->x, &i);
}

/* Binary, too large, closed: said, and passed over. */
static bool read_text(struct search *x, struct source *s, const struct note_file *f, struct bytes *ret)
{
	struct err e = { 0 };

	if (file_read(x->sys, &x->scratch, s->root_fd, f->path, MAX_NOTE_BYTES, FILE_BENEATH, ret, &e)) {
		if (e.rc != E_MISSING)
			search_warn(x, "%s: '%s' was not searched: %s", s->name, shown(x, f->path), e.text);
		return false;
	}
	if (memchr(ret->p, 0, ret->n < 8192 ? ret->n : 8192)) {
		search_warn(x, "%s: '%s' was not searched: it is no text", s->name, shown(x, f->path));
		return false;
	}
	return true;
}

bool offer_file(struct search *x, struct source *s, const struct note_file *f)
{
	bool as_note = search_wants(x, AREA_NOTES) && path_is_note(s, f->path);
	bool as_memory = search_wants(x, AREA_MEMORY) && path_is_memory(f->path);
	struct bytes text;
	struct arena_mark mark = arena_mark(&x->scratch);
	size_t n;

	if (!as_note && !as_memory)
		return true;
	if (!read_text(x, s, f, &text)) {
		arena_release(&x->scratch, mark);
		return false;
	}
	/* Words that are nowhere in the file are in no line of it. */
	if (!x->has_words || x->watched ||
		search_fit(x, words_fold(&x->scratch, (const char *)text.p, text.n)) != FIT_NONE) {
		const char *masked = mask_lines(&x->scratch, (const char *)text.p, text.n, &n);
		struct lines l = { x, s, f,
			{ .from = s, .title = f->path, .path = f->path, .time_us = f->mtime_ns / 1000 } };
		l.like.timestamp = stem_time(&x->scratch, f->path, &l.like.time_us);
		if (as_note)
			offer_lines(&l, masked, n, AREA_NOTES);
		if (as_memory && is_structured(f->path))
			offer_whole(&l, masked, n);
		else if (as_memory && !as_note)
			offer_lines(&l, masked, n, AREA_MEMORY);
	}
	arena_release(&x->scratch, mark);
	return true;
}

/* ---- all of them ---- */

struct gathered {
	struct search *x;
	struct source *s;
	struct note_file *files;
	size_t count, room;
};

static void gather(void *arg, const struct note_file *f)
{
	struct gathered *g = arg;
	struct arena *a = g->x->a;

	if (g->count == g->room) {
		size_t room = g->room ? 2 * g->room : 256;
		g->files = arena_grow(a, g->files, g->room * sizeof(*f), room * sizeof(*f));
		g->room = room;
	}
	g->files[g->count] = *f;
	g->files[g->count++].path = arena_strdup(a, f->path);
}

static void offer_seen(void *arg, const struct note_file *f)
{
	struct gathered *g = arg;

	(void)offer_file(g->x, g->s, f);
}

static int newest_first(const void *p, const void *q)
{
	const struct note_file *x = p, *y = q;

	return x->mtime_ns != y->mtime_ns ? (x->mtime_ns < y->mtime_ns) - (x->mtime_ns > y->mtime_ns)
					  : strcmp(x->path, y->path);
}

/* With a question every file is read; without one the newest, until there is enough. */
void area_files(struct search *x, struct source *s)
{
	struct gathered g = { .x = x, .s = s };

	if (x->has_words || x->watched) {
		notes_walk(x, s, offer_seen, NULL, &g);
		return;
	}
	notes_walk(x, s, gather, NULL, &g);
	if (g.count)
		qsort(g.files, g.count, sizeof(*g.files), newest_first);
	for (size_t i = 0; i < g.count; i++)
		(void)offer_file(x, s, &g.files[i]);
}
