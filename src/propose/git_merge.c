/* git_merge.c — which changes of a git configuration file a run may leave behind.
 *
 * A run writes a copy of the file.  Afterwards each setting that the copy has otherwise than before is looked up here: those of the table
 * start nothing and lead git nowhere else, and are written into the file outside; all others are dropped and told.  A list of what is
 * harmful would have to be as long as git's manual, and longer with each version.
 *
 * The file outside keeps its own bytes: only lines of settings that were let through are replaced, added or taken away.  The result is
 * read once more, and anything but the expected settings in it means that nothing is merged. */
#include "base/text.h"
#include "propose/git.h"
#include "propose/git_text.h"
#include "propose/propose.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_BYTES = 1000, DROPPED_MOST = 64 };

/* ---- what may be left behind ---- */

enum value_kind {
	VALUE_TEXT, /* that people read */
	VALUE_WORD, /* letters, digits and a few signs */
	VALUE_SWITCH,
	VALUE_REF, /* refs/... */
	VALUE_REMOTE /* the name of a remote that is known outside, or "." */
};

/* "*" is a name of its own between section and last part. */
static const struct {
	const char *section, *name;
	enum value_kind kind;
} harmless[] = {
	{ "user", "name", VALUE_TEXT },
	{ "user", "email", VALUE_TEXT },
	{ "author", "name", VALUE_TEXT },
	{ "author", "email", VALUE_TEXT },
	{ "committer", "name", VALUE_TEXT },
	{ "committer", "email", VALUE_TEXT },
	{ "branch.*", "remote", VALUE_REMOTE },
	{ "branch.*", "merge", VALUE_REF },
	{ "branch.*", "rebase", VALUE_SWITCH },
	{ "branch.*", "description", VALUE_TEXT },
	{ "core", "bare", VALUE_SWITCH },
	{ "core", "filemode", VALUE_SWITCH },
	{ "core", "logallrefupdates", VALUE_WORD },
	{ "core", "ignorecase", VALUE_SWITCH },
	{ "core", "precomposeunicode", VALUE_SWITCH },
	{ "core", "symlinks", VALUE_SWITCH },
	{ "core", "repositoryformatversion", VALUE_WORD },
	{ "core", "autocrlf", VALUE_WORD },
	{ "core", "eol", VALUE_WORD },
	{ "core", "safecrlf", VALUE_WORD },
	{ "core", "quotepath", VALUE_SWITCH },
	{ "core", "abbrev", VALUE_WORD },
	{ "core", "sparsecheckout", VALUE_SWITCH },
	{ "core", "sparsecheckoutcone", VALUE_SWITCH },
	{ "core", "untrackedcache", VALUE_WORD },
	{ "core", "commitgraph", VALUE_SWITCH },
	{ "core", "multipackindex", VALUE_SWITCH },
	{ "index", "sparse", VALUE_SWITCH },
	{ "extensions", "objectformat", VALUE_WORD },
	{ "extensions", "refstorage", VALUE_WORD },
	{ "extensions", "worktreeconfig", VALUE_SWITCH },
	{ "extensions", "relativeworktrees", VALUE_SWITCH },
	{ "pull", "rebase", VALUE_SWITCH },
	{ "pull", "ff", VALUE_WORD },
	{ "merge", "ff", VALUE_WORD },
	{ "merge", "conflictstyle", VALUE_WORD },
	{ "rebase", "autostash", VALUE_SWITCH },
	{ "rerere", "enabled", VALUE_SWITCH },
	{ "diff", "renames", VALUE_WORD },
	{ "color", "ui", VALUE_WORD },
};

static bool is_word(const char *value)
{
	return strlen(value) <= 40 &&
		strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=") ==
		strlen(value);
}

static bool is_switch(const char *value)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "0", "1", "merges" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* One line of plain text, which can be written down as it is. */
static bool is_text(const char *value)
{
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return strlen(value) <= VALUE_BYTES && text_utf8_valid(value, strlen(value)) == strlen(value);
}

static bool has_remote(const struct git_text *now, const char *name)
{
	for (size_t i = 0; i < now->count; i++) {
		const char *section = now->sections[now->settings[i].section].name;
		if (text_starts(section, "remote.") && text_eq(section + 7, name) &&
			text_eq(now->settings[i].name, "url"))
			return true;
	}
	return false;
}

static bool is_section(const char *row, const char *section)
{
	size_t n = strcspn(row, "*");

	return row[n] ? strncmp(row, section, n) == 0 && section[n] && is_text(section + n)
		      : text_eq(row, section);
}

/* value NULL: the name alone, which is a switch that is on. */
static bool is_harmless(const struct git_text *now, const char *section, const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		if (!text_eq(harmless[i].name, name) || !is_section(harmless[i].section, section))
			continue;
		if (!value)
			return harmless[i].kind == VALUE_SWITCH;
		/* No such setting has a command as its value; a reader of another kind might think so. */
		if (*value == '!' || strncasecmp(value, "ext::", 5) == 0)
			return false;
		switch (harmless[i].kind) {
		case VALUE_TEXT:
			return is_text(value);
		case VALUE_WORD:
			return is_word(value);
		case VALUE_SWITCH:
			return is_switch(value);
		case VALUE_REF:
			return text_starts(value, "refs/") && is_text(value);
		case VALUE_REMOTE:
			return text_eq(value, ".") || has_remote(now, value);
		}
	}
	return false;
}

bool git_key_is_harmless(const char *key, const char *value)
{
	static const struct git_text none;
	const char *dot = strchr(key, '.'), *last = strrchr(key, '.');
	char section[256], name[64];

	if (!dot || (size_t)(last - key) >= sizeof(section) || strlen(last + 1) >= sizeof(name))
		return false;
	snprintf(section, sizeof(section), "%.*s", (int)(last - key), key);
	for (char *p = section; *p && *p != '.'; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
	snprintf(name, sizeof(name), "%s", last + 1);
	for (char *p = name; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
	/* Which remotes there are is not known here: naming one is what `git branch --set-upstream-to` does. */
	if (text_starts(section, "branch.") && text_eq(name, "remote"))
		return is_word(value) || text_eq(value, ".");
	return is_harmless(&none, section, name, value);
}

/* ---- comparing ---- */

static const char *section_of(const struct git_text *x, size_t i)
{
	return x->sections[x->settings[i].section].name;
}

static bool has_key(const struct git_text *x, size_t i, const char *section, const char *name)
{
	return text_eq(x->settings[i].name, name) && text_eq(section_of(x, i), section);
}

/* The next setting of this key, from `i` on; x->count: there is none. */
static size_t find_key(const struct git_text *x, size_t i, const char *section, const char *name)
{
	while (i < x->count && !has_key(x, i, section, name))
		i++;
	return i;
}

static bool is_same_value(const char *x, const char *y)
{
	return x && y ? text_eq(x, y) : x == y;
}

/* Has the key the same values, in the same order, in both? */
static bool is_same_key(
	const struct git_text *x, const struct git_text *y, const char *section, const char *name)
{
	size_t i = find_key(x, 0, section, name), k = find_key(y, 0, section, name);

	while (i < x->count && k < y->count) {
		if (!is_same_value(x->settings[i].value, y->settings[k].value))
			return false;
		i = find_key(x, i + 1, section, name);
		k = find_key(y, k + 1, section, name);
	}
	return i >= x->count && k >= y->count;
}

/* ---- writing ---- */

struct edit {
	size_t from, to;
	const char *text;
};

struct merging {
	struct arena *a;
	struct git_text base, now, inside;
	bool is_trusted; /* `inside` is: each of its changes is let through */
	const char *const *approved; /* see propose_git_merge_approved(); or NULL */
	struct edit *edits;
	size_t edit_count, room;
	bool *is_removed; /* of settings of `now` */
	struct buf tail; /* sections that it does not have */
	const char *tail_section;
	struct git_merge *ret;
};

static void add_edit(struct merging *m, size_t from, size_t to, const char *text)
{
	if (m->edit_count == m->room) {
		size_t more = m->room ? 2 * m->room : 16;
		m->edits = arena_grow(m->a, m->edits, m->room * sizeof(*m->edits), more * sizeof(*m->edits));
		m->room = more;
	}
	m->edits[m->edit_count++] = (struct edit){ from, to, text };
}

static const char *make_line(struct arena *a, const char *name, const char *value)
{
	struct buf line;

	buf_init(&line, a);
	buf_adds(&line, name);
	if (!value)
		return line.p;
	bool is_quoted = !*value || strpbrk(value, " \t#;\n") != NULL;
	buf_adds(&line, is_quoted ? " = \"" : " = ");
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addc(&line, '\\');
		if (*p == '\n' || *p == '\t' || *p == '\b')
			buf_adds(&line, *p == '\n' ? "\\n" : *p == '\t' ? "\\t" : "\\b");
		else
			buf_addc(&line, *p);
	}
	if (is_quoted)
		buf_addc(&line, '"');
	return line.p;
}

/* Of the line of a setting; all of the line where nothing else stands on it. */
static void remove_setting(struct merging *m, size_t i)
{
	const struct git_setting *s = &m->now.settings[i];
	const uint8_t *p = m->now.text.p;
	size_t from = s->from, to = s->to;

	while (from && (p[from - 1] == ' ' || p[from - 1] == '\t'))
		from--;
	if (from && p[from - 1] != '\n') {
		from = s->from;
	} else {
		to += to < m->now.text.n && p[to] == '\r';
		to += to < m->now.text.n && p[to] == '\n';
	}
	m->is_removed[i] = true;
	add_edit(m, from, to, "");
}

/* Behind the last setting of the last section of that name; or in one that is put to the end. */
static void insert_setting(struct merging *m, const char *section, const char *name, const char *value)
{
	const char *line = make_line(m->a, name, value), *dot = strchr(section, '.');
	size_t at = m->now.section_count;

	while (at-- > 0)
		if (text_eq(m->now.sections[at].name, section))
			break;
	if (at < m->now.section_count) {
		size_t behind = m->now.sections[at].to;
		for (size_t i = 0; i < m->now.count; i++)
			if (m->now.settings[i].section == at)
				behind = m->now.settings[i].to;
		add_edit(m, behind, behind, arena_printf(m->a, "\n\t%s", line));
		return;
	}
	if (!m->tail_section || !text_eq(m->tail_section, section)) {
		buf_addc(&m->tail, '[');
		buf_add(&m->tail, section, dot ? (size_t)(dot - section) : strlen(section));
		if (dot)
			buf_adds(&m->tail, " \"");
		for (const char *p = dot ? dot + 1 : ""; *p; p++) {
			if (*p == '"' || *p == '\\')
				buf_addc(&m->tail, '\\');
			buf_addc(&m->tail, *p);
		}
		buf_adds(&m->tail, dot ? "\"]\n" : "]\n");
		m->tail_section = section;
	}
	buf_addf(&m->tail, "\t%s\n", line);
}

/* The values of `inside` in the place of those of `now`. */
static void put_key(struct merging *m, const char *section, const char *name)
{
	const struct git_text *now = &m->now, *inside = &m->inside;
	size_t i = find_key(now, 0, section, name), k = find_key(inside, 0, section, name);

	for (; i < now->count; i = find_key(now, i + 1, section, name)) {
		const struct git_setting *s = &now->settings[i];
		if (k >= inside->count) {
			remove_setting(m, i);
			continue;
		}
		const char *value = inside->settings[k].value;
		if (!is_same_value(s->value, value))
			add_edit(m, s->from, s->to,
				make_line(m->a,
					arena_strndup(m->a, (const char *)now->text.p + s->from,
						s->name_to - s->from),
					value));
		k = find_key(inside, k + 1, section, name);
	}
	for (; k < inside->count; k = find_key(inside, k + 1, section, name))
		insert_setting(m, section, name, inside->settings[k].value);
}

/* A section of which nothing is left goes, too. */
static void remove_empty(struct merging *m)
{
	const struct git_text *now = &m->now;

	for (size_t s = 0; s < now->section_count; s++) {
		size_t at = now->sections[s].to, had = 0,
		       end = s + 1 < now->section_count ? now->sections[s + 1].from : now->text.n;
		bool is_empty = true;
		for (size_t i = 0; i < now->count; i++) {
			if (now->settings[i].section != s)
				continue;
			had++;
			is_empty &= m->is_removed[i];
			for (; at < now->settings[i].from; at++)
				is_empty &= strchr(" \t\r\n", now->text.p[at]) != NULL;
			at = now->settings[i].to;
		}
		for (; at < end; at++)
			is_empty &= strchr(" \t\r\n", now->text.p[at]) != NULL;
		for (size_t i = 0; i < m->edit_count && is_empty; i++)
			is_empty = !(*m->edits[i].text && m->edits[i].from >= now->sections[s].to &&
				m->edits[i].from <= end);
		if (had && is_empty)
			add_edit(m, now->sections[s].from, end, "");
	}
}

static int by_place(const void *x, const void *y)
{
	const struct edit *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to == b->to ? 0 : a->to < b->to ? -1 : 1;
}

static struct bytes write_text(struct merging *m)
{
	struct buf out;
	size_t at = 0;

	remove_empty(m);
	/* Equal places stay in their order: those behind each other at one place are all insertions. */
	for (size_t i = 1; i < m->edit_count; i++)
		for (size_t k = i; k && by_place(&m->edits[k - 1], &m->edits[k]) > 0; k--) {
			struct edit e = m->edits[k];
			m->edits[k] = m->edits[k - 1];
			m->edits[k - 1] = e;
		}
	buf_init(&out, m->a);
	for (size_t i = 0; i < m->edit_count; i++) {
		const struct edit *e = &m->edits[i];
		if (e->from > at)
			buf_add(&out, m->now.text.p + at, e->from - at);
		if (e->from >= at)
			buf_adds(&out, e->text);
		at = e->to > at ? e->to : at;
	}
	if (m->now.text.n > at)
		buf_add(&out, m->now.text.p + at, m->now.text.n - at);
	if (m->tail.n && out.n && out.p[out.n - 1] != '\n')
		buf_addc(&out, '\n');
	buf_add(&out, m->tail.p, m->tail.n);
	return buf_bytes(&out);
}

/* ---- the merge ---- */

static void drop(struct merging *m, const char *section, const char *name, bool is_outside)
{
	struct git_merge *ret = m->ret;
	size_t k = find_key(&m->inside, 0, section, name);

	ret->is_cut |= ret->dropped_count == DROPPED_MOST;
	if (ret->dropped_count == DROPPED_MOST)
		return;
	const char *key = arena_printf(m->a, "%s.%s", section, name), *value = NULL;
	/* Of several values the first one that starts something is told. */
	for (; k < m->inside.count; k = find_key(&m->inside, k + 1, section, name)) {
		const char *one = m->inside.settings[k].value;
		if (!value || (one && git_setting_runs(key, one) && !git_setting_runs(key, value)))
			value = one ? one : "true";
	}
	ret->dropped[ret->dropped_count++] = (struct git_dropped){ .key = key,
		.value = value,
		.runs = value && git_setting_runs(key, value),
		.is_outside = is_outside };
}

/* Did an operator say yes to a change of this key?  Whatever git would run is not let through by that. */
static bool is_approved(const struct merging *m, const char *section, const char *name, const char *value)
{
	const char *key = arena_printf(m->a, "%s.%s", section, name);

	if (value &&
		(*value == '-' || *value == '!' || strcasestr(value, "::") || !is_text(value) ||
			git_setting_runs(key, value)))
		return false;
	for (const char *const *p = m->approved; p && *p; p++) {
		const size_t n = strlen(*p);
		bool is_address = text_eq(name, "url") || text_eq(name, "pushurl") || text_eq(name, "fetch");
		if (n && (*p)[n - 1] == '.'
				? is_address && strlen(section) == n - 1 && text_starts(*p, section)
				: strcasecmp(key, *p) == 0)
			return true;
	}
	return false;
}

static bool is_let_through(const struct merging *m, const char *section, const char *name, const char *value)
{
	return is_harmless(&m->now, section, name, value) || is_approved(m, section, name, value);
}

/* One key that the run has left otherwise than it found it. */
static void merge_key(struct merging *m, const char *section, const char *name)
{
	bool is_let = true;

	if (is_same_key(&m->inside, &m->now, section, name))
		return; /* somebody outside has done the same */
	for (size_t k = find_key(&m->inside, 0, section, name); k < m->inside.count;
		k = find_key(&m->inside, k + 1, section, name))
		is_let &= is_let_through(m, section, name, m->inside.settings[k].value);
	if (find_key(&m->inside, 0, section, name) >= m->inside.count)
		is_let = is_harmless(&m->now, section, name, "true") ||
			is_harmless(&m->now, section, name, ".") ||
			is_harmless(&m->now, section, name, "refs/x") || is_approved(m, section, name, NULL);
	is_let |= m->is_trusted;
	if (is_let && !is_same_key(&m->base, &m->now, section, name))
		drop(m, section, name, true);
	else if (is_let)
		put_key(m, section, name);
	else
		drop(m, section, name, false);
}

/* Was it looked at already, as an earlier setting of the same key? */
static bool is_first(const struct git_text *x, size_t i)
{
	return find_key(x, 0, section_of(x, i), x->settings[i].name) == i;
}

static void merge_keys(struct merging *m)
{
	const struct git_text *inside = &m->inside, *base = &m->base;

	for (size_t i = 0; i < inside->count; i++)
		if (is_first(inside, i) &&
			!is_same_key(inside, base, section_of(inside, i), inside->settings[i].name))
			merge_key(m, section_of(inside, i), inside->settings[i].name);
	for (size_t i = 0; i < base->count; i++)
		if (is_first(base, i) &&
			find_key(inside, 0, section_of(base, i), base->settings[i].name) >= inside->count)
			merge_key(m, section_of(base, i), base->settings[i].name);
}

/* Is each setting of the result one of the file outside, or one of the run's that is let through? */
static bool is_as_expected(struct merging *m, struct bytes text)
{
	struct git_text got;

	if (!git_text_read(m->a, text, &got))
		return false;
	for (size_t i = 0; i < got.count; i++) {
		const char *section = section_of(&got, i), *name = got.settings[i].name;
		if (is_same_key(&got, &m->now, section, name))
			continue;
		if (!is_same_key(&got, &m->inside, section, name) ||
			!(m->is_trusted || is_let_through(m, section, name, got.settings[i].value)))
			return false;
	}
	for (size_t i = 0; i < m->now.count; i++) {
		const char *section = section_of(&m->now, i), *name = m->now.settings[i].name;
		if (!is_same_key(&got, &m->now, section, name) &&
			!is_same_key(&got, &m->inside, section, name))
			return false;
	}
	return true;
}

static void merge(struct arena *a, struct bytes base, struct bytes now, struct bytes inside, bool is_trusted,
	const char *const *approved, struct git_merge *ret)
{
	struct merging m = { .a = a, .is_trusted = is_trusted, .approved = approved, .ret = ret };

	*ret = (struct git_merge){ .text = now };
	ret->dropped = arena_zalloc(a, DROPPED_MOST, sizeof(*ret->dropped));
	if (bytes_eq(base, inside))
		return;
	ret->is_unread = !git_text_read(a, base, &m.base) || !git_text_read(a, now, &m.now) ||
		!git_text_read(a, inside, &m.inside);
	if (ret->is_unread)
		return;
	m.is_removed = arena_zalloc(a, m.now.count + 1, sizeof(*m.is_removed));
	buf_init(&m.tail, a);
	merge_keys(&m);
	if (!m.edit_count && !m.tail.n)
		return;
	struct bytes text = write_text(&m);
	ret->is_unread = !is_as_expected(&m, text);
	if (ret->is_unread)
		return;
	ret->text = text;
	ret->is_changed = true;
}

void propose_git_merge(
	struct arena *a, struct bytes base, struct bytes now, struct bytes inside, struct git_merge *ret)
{
	merge(a, base, now, inside, false, NULL, ret);
}

void propose_git_merge_approved(struct arena *a, struct bytes base, struct bytes now, struct bytes inside,
	const char *const *approved, struct git_merge *ret)
{
	merge(a, base, now, inside, false, approved, ret);
}

struct bytes propose_git_refresh(struct arena *a, struct bytes base, struct bytes inside, struct bytes now)
{
	struct git_merge m;

	merge(a, base, inside, now, true, NULL, &m);
	return m.text;
}
