/* held.c — lines of memory that stand on record.
 *
 * A line counts when it names an entry, says exactly what that entry says, and the entry holds.  Everything else in these files may have
 * been written by anybody: a person with an editor, a run that went around the gate, a repository that was pulled. */
#include "remember/held.h"

#include "base/file.h"
#include "base/text.h"
#include "remember/parts.h"

#include <stdlib.h>
#include <string.h>

static void add_lines(struct held *h, const struct json *entry)
{
	json_each (line, json_get(entry, "lines")) {
		if (!json_text(line) || !*json_text(line))
			continue;
		if (h->n == h->room) {
			size_t room = h->room ? 2 * h->room : 64;
			h->lines = arena_grow(
				h->a, h->lines, h->n * sizeof(*h->lines), room * sizeof(*h->lines));
			h->room = room;
		}
		h->lines[h->n++] = (struct held_line){ .entry = entry, .text = json_text(line) };
	}
}

int held_load(struct memory_place *m, struct arena *a, struct held *ret, struct err *e)
{
	int64_t now = m->sys->now_us(m->sys);
	struct json *entries;
	int rc = memory_entries_bound(m, a, &entries, e);

	if (rc)
		return rc;
	*ret = (struct held){ .m = *m, .a = a, .entries = entries, .files = json_new(a, JSON_OBJECT) };
	for (uint32_t i = entries->n; i-- > 0;) /* by id, which is by time */
		if (memory_entry_holds(entries->members[i].value, now) &&
			!text_eq(json_get_text(entries->members[i].value, "layer", ""), "ontology"))
			add_lines(ret, entries->members[i].value);
	return OK;
}

/* {"id\x1ftext": number of the line} of a file: read once, and only when a line of it is asked for. */
static const struct json *lines_in(struct held *h, const char *file)
{
	struct json *lines = json_get(h->files, file);
	struct bytes text;
	int64_t number = 0;

	if (lines)
		return lines;
	lines = json_new(h->a, JSON_OBJECT);
	json_set(h->a, h->files, file, lines);
	if (file_read(h->m.sys, h->a, h->m.root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, NULL))
		return lines;
	while (text.p) {
		char id[MEMORY_ID + 1];
		struct bytes bare, line = text_cut(&text, '\n');
		number++;
		if (memory_line_entry(line, id, &bare))
			json_append(h->a, lines,
				arena_printf(h->a, "%s\x1f%.*s", id, (int)bare.n, (const char *)bare.p),
				json_number(h->a, number));
	}
	return lines;
}

int64_t held_place(struct held *h, const struct held_line *l)
{
	const char *id = json_get_text(l->entry, "id", ""), *file = json_get_text(l->entry, "file", "");
	const char *line = arena_printf(h->a, "%s\x1f%s", id, l->text);

	return json_get_int(lines_in(h, file), line, 0);
}
