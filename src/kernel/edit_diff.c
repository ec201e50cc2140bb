/* edit_diff.c — what a file tool of an agent client is about to change, as a diff that an operator reads before they answer.
 *
 * The content before is that of the file now; the content after follows from the arguments, as the clients describe their tools.  What cannot be told is
 * said, and never guessed: the arguments are shown beside it. */
#include "base/diff.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/edit.h"
#include "privacy/privacy.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <string.h>

enum { CONTENT_MOST = 256 << 10, CELLS_MOST = 4 << 20 };

static const char *const old_names[] = { "old_string", "old_str", "old_text", "search", NULL },
			 *const new_names[] = { "new_string", "new_str", "new_text", "replace", NULL },
			 *const whole_names[] = { "content", "contents", "file_text", "text", NULL },
			 *const insert_names[] = { "new_str", "insert_text", "text", "new_string", NULL };

struct change {
	struct sys *s;
	struct arena *a;
	const struct json *input;
	const char *path;
	struct bytes before, after;
	bool exists;
	const char *why; /* there is no diff */
};

static const struct json *text_of(const struct json *doc, const char *const *names)
{
	for (; *names; names++) {
		const struct json *v = json_get(doc, *names);
		if (json_is(v, JSON_STRING))
			return v;
	}
	return NULL;
}

static struct bytes bytes_in(const struct json *text)
{
	return (struct bytes){ (const uint8_t *)text->text, text->n };
}

/* One replacement in what was left by those before it. */
static void replace(struct change *c, const struct json *edit)
{
	const struct json *from = text_of(edit, old_names), *to = text_of(edit, new_names);
	bool all = json_get_bool(edit, "replace_all", false) ||
		json_get_int(edit, "expected_replacements", 1) > 1;
	const char *at = (const char *)c->after.p, *end = at + c->after.n, *hit;
	struct buf out;

	if (!from || !to) {
		c->why = "the arguments do not say which text is replaced by which";
		return;
	}
	if (!from->n && !c->after.n) {
		c->after = bytes_in(to);
		return;
	}
	hit = from->n && c->after.n ? memmem(at, c->after.n, from->text, from->n) : NULL;
	if (!hit) {
		c->why = "the text that is to be replaced does not stand in the file now";
		return;
	}
	buf_init(&out, c->a);
	do {
		buf_add(&out, at, (size_t)(hit - at));
		buf_add(&out, to->text, to->n);
		at = hit + from->n;
		hit = all ? memmem(at, (size_t)(end - at), from->text, from->n) : NULL;
	} while (hit && out.n <= CONTENT_MOST);
	buf_add(&out, at, (size_t)(end - at));
	c->after = buf_bytes(&out);
}

/* Behind so many lines. */
static void insert(struct change *c, int64_t line)
{
	const struct json *text = text_of(c->input, insert_names);
	const char *start = (const char *)c->before.p, *at = start, *end = start + c->before.n;
	struct buf out;

	if (!text) {
		c->why = "the arguments do not say what is inserted";
		return;
	}
	for (; line > 0 && at < end; line--) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	buf_init(&out, c->a);
	buf_add(&out, start, (size_t)(at - start));
	buf_add(&out, text->text, text->n);
	if (text->n && text->text[text->n - 1] != '\n')
		buf_addc(&out, '\n');
	buf_add(&out, at, (size_t)(end - at));
	c->after = buf_bytes(&out);
}

/* ---- a cell of a notebook ---- */

static struct bytes source_of(struct change *c, const struct json *cell)
{
	const struct json *source = json_get(cell, "source");
	struct buf text;

	buf_init(&text, c->a);
	if (json_is(source, JSON_STRING))
		buf_add(&text, source->text, source->n);
	json_each (line, source)
		if (json_is(line, JSON_STRING))
			buf_add(&text, line->text, line->n);
	return buf_bytes(&text);
}

static const struct json *cell_of(const struct change *c, const struct json *notebook)
{
	const char *id = json_get_text(c->input, "cell_id", NULL);
	int64_t number = json_get_int(c->input, "cell_number", -1), i = 0;

	json_each (cell, json_get(notebook, "cells")) {
		if (id ? text_eq(json_get_text(cell, "id", ""), id) : i == number)
			return cell;
		i++;
	}
	return NULL;
}

/* The text of the cell, not of the file, whose lines are strings of JSON. */
static void change_cell(struct change *c)
{
	const char *mode = json_get_text(c->input, "edit_mode", "replace");
	const struct json *source = json_get(c->input, "new_source"), *cell = NULL;
	struct json *notebook;

	if (!json_is(source, JSON_STRING)) {
		c->why = "the arguments do not say what the cell becomes";
		return;
	}
	if (json_parse(c->a, c->before, c->path, NULL, &notebook, NULL) == OK)
		cell = cell_of(c, notebook);
	if (!cell && !text_eq(mode, "insert"))
		c->why = "the cell that is to be changed does not stand in the notebook now";
	c->before = cell && !text_eq(mode, "insert") ? source_of(c, cell) : bytes_of("");
	c->after = text_eq(mode, "delete") ? bytes_of("") : bytes_in(source);
}

/* ---- all of it ---- */

static void read_before(struct change *c)
{
	struct err e = { 0 };
	size_t most = json_get(c->input, "new_source") ? CELLS_MOST : CONTENT_MOST;
	int rc = file_read(c->s, c->a, AT_FDCWD, c->path, most, FILE_FOLLOW, &c->before, &e);

	c->exists = rc != E_MISSING;
	if (rc == E_MISSING)
		c->before = bytes_of("");
	else if (rc)
		c->why = arena_printf(c->a, "the file as it is now cannot be compared: %s", e.text);
}

static void apply(struct change *c)
{
	const struct json *edits = json_get(c->input, "edits"), *whole = text_of(c->input, whole_names);

	c->after = c->before;
	if (json_get(c->input, "new_source"))
		change_cell(c);
	else if (json_is(edits, JSON_ARRAY))
		for (uint32_t i = 0; i < edits->n && !c->why; i++)
			replace(c, edits->items[i]);
	else if (json_get(c->input, "insert_line"))
		insert(c, json_get_int(c->input, "insert_line", 0));
	else if (text_of(c->input, old_names))
		replace(c, c->input);
	else if (whole)
		c->after = bytes_in(whole);
	else
		c->why = "the arguments do not say what the file becomes";
	if (!c->why && c->after.n > CONTENT_MOST)
		c->why = "what is written is too large to be compared";
}

static size_t changed_lines(const char *diff, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (diff[i] == '+' || diff[i] == '-') && (!i || diff[i - 1] == '\n');
	return count;
}

/* A line that only changes a secret, or a block that looks like a key, is not in the redacted diff: how many there are is said. */
static const char *hidden_note(struct arena *a, const char *diff)
{
	size_t n = strlen(diff), m;
	const char *clean = privacy_redact(a, diff, n, &m);
	size_t all = changed_lines(diff, n), seen = clean == diff ? all : changed_lines(clean, m);

	return seen < all
		? arena_printf(a, "%zu changed %s not shown, because they look like a key or a password",
			  all - seen, all - seen == 1 ? "line is" : "lines are")
		: NULL;
}

const char *edit_diff(struct sys *s, struct arena *a, const char *tool, const struct json *input,
	const char *cwd, const char **ret_note)
{
	const enum file_tool kind = propose_file_tool(tool, input);
	struct change c = { .s = s, .a = a, .input = input };

	*ret_note = NULL;
	if (kind != FILE_TOOL_PATCH && kind != FILE_TOOL_REWRITE)
		return NULL;
	c.path = edit_path(a, input, cwd);
	if (!c.path)
		return NULL;
	read_before(&c);
	if (!c.why)
		apply(&c);
	if (c.why) {
		*ret_note = c.why;
		return NULL;
	}
	const char *name = text_safe(a, c.path, strlen(c.path), false);
	const char *diff = diff_unified(a, c.exists ? name : "/dev/null", c.before, name, c.after);
	*ret_note = diff ? hidden_note(a, diff) : "it is no text, so there is no diff of it";
	return diff;
}
