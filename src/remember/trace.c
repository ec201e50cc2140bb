/* trace.c — from a line to its entry and its receipt, and whether they agree.
 *
 * The chain is the truth: an entry counts when a receipt has its digest.  A line that a person changed or took out is theirs, and is told; a
 * line that names an entry nobody made, or an entry that no receipt knows, is an error. */
#include "base/file.h"
#include "base/hash.h"
#include "record/record.h"
#include "remember/parts.h"

#include <string.h>

/* ---- blame ---- */

static int last_touch(void *arg, struct json *row)
{
	struct json **found = arg;
	const char *file = json_text(*found);

	json_each (path, json_get(row, "touched_paths"))
		if (json_text(path) && text_eq(json_text(path), file)) {
			*found = row;
			return 1;
		}
	return 0;
}

/* Lines without a mark were not written through Helm; the last run that changed the file may have. */
static struct json *outside(struct memory_place *m, struct arena *a, const char *file)
{
	struct json *name = json_string(a, file), *found = name, *v = json_new(a, JSON_OBJECT);
	bool is_more;

	(void)rows_back_recent(
		m->sys, a, m->state_fd, TASK_LEDGER, path_base(file), last_touch, &found, &is_more, NULL);
	json_sets(a, v, "writer", "outside");
	json_sets(a, v, "state", "not written through helm");
	if (found != name) {
		json_sets(a, v, "last_run", json_get_text(found, "task_id", NULL));
		json_sets(a, v, "last_run_at", json_get_text(found, "finished_at", NULL));
	}
	return v;
}

static struct json *blame_line(
	struct arena *a, const struct json *entries, struct bytes line, struct json *unmarked)
{
	static const char *const members[] = { "writer", "trust", "timestamp", "task_id", "receipt_id",
		"accepted_by", "valid_until" };
	struct json *v;
	char id[MEMORY_ID + 1];
	struct bytes text;

	if (!memory_line_entry(line, id, &text))
		return json_copy(a, unmarked);
	const struct json *entry = memory_entry(entries, id);
	v = json_new(a, JSON_OBJECT);
	json_sets(a, v, "entry", id);
	if (!entry) {
		json_sets(a, v, "writer", "outside");
		json_sets(a, v, "state", "names an entry that was never made");
		return v;
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get_text(entry, members[i], NULL))
			json_sets(a, v, members[i], json_get_text(entry, members[i], NULL));
	json_sets(a, v, "state",
		memory_is_line(a, json_get(entry, "lines"), text) ? json_get_text(entry, "state", "")
								  : "changed since it was written");
	return v;
}

int memory_blame(struct memory_place *m, struct arena *a, const char *file, struct json **ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *lines = json_new(a, JSON_ARRAY), *entries;
	struct bytes text, rest;
	size_t damaged;
	int64_t number = 0;
	int rc = file_read(m->sys, a, m->root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, e);

	if (rc == OK)
		rc = memory_entries(m, a, &entries, &damaged, e);
	if (rc)
		return rc;
	struct json *unmarked = outside(m, a, file);
	rest = text;
	while (rest.p && rest.n) {
		size_t n;
		struct bytes line = text_cut(&rest, '\n');
		struct json *v = blame_line(a, entries, line, unmarked);
		const char *shown = text_utf8(a, (const char *)line.p, line.n, TEXT_BYTE, &n);
		json_seti(a, v, "line", ++number);
		json_set(a, v, "text", json_stringn(a, shown, n));
		json_push(a, lines, v);
	}
	json_sets(a, doc, "file", file);
	json_set(a, doc, "lines", lines);
	*ret = doc;
	return OK;
}

/* ---- verify ---- */

struct verifying {
	struct memory_place *m;
	struct arena *a;
	struct json *entries, *findings;
	struct json *bound; /* {event id: digest that a receipt has} */
	struct names seen; /* entries that some line names */
	const char *top; /* the directory that is walked */
	size_t events;
	bool is_wrong;
};

static void find(struct verifying *v, bool is_error, const char *kind, const char *entry, const char *detail)
{
	struct json *f = json_new(v->a, JSON_OBJECT);

	v->is_wrong |= is_error;
	json_sets(v->a, f, "kind", kind);
	json_sets(v->a, f, "severity", is_error ? "error" : "info");
	json_sets(v->a, f, "entry", entry);
	json_sets(v->a, f, "detail", detail);
	json_push(v->a, v->findings, f);
}

static int note_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct verifying *v = arg;
	const struct json *about = json_get(receipt, "metadata");
	const char *id = json_get_text(about, "entry_id", NULL),
		   *digest = json_get_text(about, "entry_sha256", NULL);

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (id && digest && !json_get(v->bound, id))
		json_sets(v->a, v->bound, id, digest);
	return 0;
}

static void check_sources(struct verifying *v, const char *id, const struct json *event)
{
	enum memory_trust trust, lowest = TRUST_PERSON;
	struct json *found;

	json_each (source, json_get(event, "sources")) {
		struct err why = { 0 };
		const char *named = arena_printf(
			v->a, "%s:%s", json_get_text(source, "kind", ""), json_get_text(source, "id", ""));
		if (memory_trust_parse(json_get_text(source, "trust", ""), &trust) && trust < lowest)
			lowest = trust;
		if (memory_source(v->m, v->a, v->entries, named, &found, &why))
			find(v, true, "source_missing", id, why.text);
	}
	if (!memory_trust_parse(json_get_text(event, "trust", ""), &trust) || trust > lowest)
		find(v, true, "trust_raised", id, "it claims more trust than its sources have");
}

static int check_event(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct verifying *v = arg;
	const char *id = json_get_text(row, "id", "");
	const char *digest = json_get_text(v->bound, id, NULL);

	(void)place;
	(void)e;
	v->events++;
	if (!row || !*id) {
		find(v, true, "damaged", NULL,
			arena_printf(
				v->a, "line %llu of " MEMORY_ENTRIES " is no row", (unsigned long long)line));
		return 0;
	}
	if (!digest)
		find(v, true, "unbound", id, "no receipt of the chain knows it");
	else if (!text_eq(digest, memory_event_sha256(v->a, row)))
		find(v, true, "changed", id, "it is not what its receipt has the digest of");
	if (json_get(row, "trust"))
		check_sources(v, id, row);
	json_each (text, json_get(row, "lines"))
		if (json_text(text) && memory_has_secret(v->a, json_text(text)))
			find(v, true, "secret", id, "it has something in it that must not be kept");
	return 0;
}

static void check_text(struct verifying *v, const char *file, struct bytes text)
{
	int64_t number = 0;

	while (text.p) {
		char id[MEMORY_ID + 1];
		struct bytes bare, line = text_cut(&text, '\n');
		number++;
		if (!memory_line_entry(line, id, &bare))
			continue;
		const char *at = arena_printf(v->a, "%s:%lld", file, (long long)number);
		const struct json *entry = memory_entry(v->entries, id);
		const char *state = json_get_text(entry, "state", "");
		names_add(&v->seen, id);
		if (!entry)
			find(v, true, "unknown_entry", id,
				arena_printf(v->a, "%s names an entry that was never made", at));
		else if (text_eq(state, "waiting") || text_eq(state, "rejected"))
			find(v, true, "not_accepted", id,
				arena_printf(v->a, "%s has what nobody accepted", at));
		else if (text_eq(state, "reverted"))
			find(v, false, "back_again", id,
				arena_printf(v->a, "%s has what was taken back", at));
		else if (!memory_is_line(v->a, json_get(entry, "lines"), bare))
			find(v, false, "edited", id, arena_printf(v->a, "%s was changed since", at));
	}
}

static int check_file(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct verifying *v = arg;
	struct bytes text;

	(void)parent;
	(void)e;
	if (S_ISDIR(st->st_mode))
		return name[0] == '.' ? FILE_SKIP : 0;
	if (!S_ISREG(st->st_mode) || !text_ends(name, ".md"))
		return 0;
	const char *file = arena_printf(v->a, "%s/%s", v->top, rel);
	if (file_read(v->m->sys, v->a, v->m->root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, NULL) ==
		OK)
		check_text(v, file, text);
	return 0;
}

int memory_verify(struct memory_place *m, struct arena *a, struct json **ret, struct err *e)
{
	static const char *const tops[] = { "memory", "notes" };
	struct verifying v = { .m = m,
		.a = a,
		.findings = json_new(a, JSON_ARRAY),
		.bound = json_new(a, JSON_OBJECT),
		.seen = { .a = a } };
	struct bytes text;
	size_t damaged;
	int rc = memory_entries(m, a, &v.entries, &damaged, e);

	if (rc == OK)
		rc = receipts_each(m->sys, m->state_fd, note_receipt, &v, e);
	if (rc == OK)
		rc = rows_each(m->sys, m->state_fd, MEMORY_ENTRIES, 0, check_event, &v, e);
	if (rc < 0)
		return rc;
	if (file_read(m->sys, a, m->root_fd, "MEMORY.md", MEMORY_FILE_BYTES, FILE_BENEATH, &text, NULL) == OK)
		check_text(&v, "MEMORY.md", text);
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		v.top = tops[i];
		(void)file_walk_names(m->sys, m->root_fd, tops[i], check_file, &v, NULL);
	}
	json_each_member (entry, v.entries)
		if (text_eq(json_get_text(entry->value, "state", ""), "current") &&
			!names_has(&v.seen, entry->name) &&
			!text_eq(json_get_text(entry->value, "layer", ""), "ontology"))
			find(&v, false, "gone", entry->name,
				arena_printf(a, "%s does not have it any more",
					json_get_text(entry->value, "file", "its file")));
	struct json *doc = json_new(a, JSON_OBJECT);
	json_setb(a, doc, "ok", !v.is_wrong);
	json_seti(a, doc, "entries", v.entries->n);
	json_seti(a, doc, "events", (int64_t)v.events);
	json_set(a, doc, "findings", v.findings);
	*ret = doc;
	return OK;
}
