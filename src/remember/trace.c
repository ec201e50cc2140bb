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

/* Lines that are not on record: a run that says so wrote them, or the last one that changed the file may have. */
struct blaming {
	struct memory_place *m;
	struct arena *a;
	const char *file;
	const struct json *entries;
	const struct memory_runs *runs;
	struct json *last; /* of the file; NULL: nobody has looked yet */
};

static const struct json *last_run(struct blaming *b)
{
	struct json *name = json_string(b->a, b->file), *found = name;
	bool is_more;

	if (b->last)
		return b->last;
	(void)rows_back_recent(b->m->sys, b->a, b->m->state_fd, TASK_LEDGER, path_base(b->file), last_touch,
		&found, &is_more, NULL);
	b->last = found == name ? json_new(b->a, JSON_NULL) : found;
	return b->last;
}

static struct json *outside(struct blaming *b, struct bytes bare)
{
	struct json *v = json_new(b->a, JSON_OBJECT);
	const struct json *run = memory_run_of(b->runs, b->file, bare), *last;

	json_sets(b->a, v, "writer", run ? "run" : "outside");
	json_sets(b->a, v, "state", "not written through helm");
	if (run) {
		const char *decision = json_get_text(run, "decision_id", NULL);
		json_sets(b->a, v, "trust", memory_trust_name(memory_trust_of_task(run)));
		json_sets(b->a, v, "timestamp", json_get_text(run, "finished_at", NULL));
		json_sets(b->a, v, "task_id", json_get_text(run, "task_id", NULL));
		if (decision)
			json_set(b->a, v, "receipt_id", json_stringf(b->a, "rcpt_%s", decision));
		return v;
	}
	last = last_run(b);
	if (json_is(last, JSON_OBJECT)) {
		json_sets(b->a, v, "last_run", json_get_text(last, "task_id", NULL));
		json_sets(b->a, v, "last_run_at", json_get_text(last, "finished_at", NULL));
	}
	return v;
}

static struct json *blame_line(struct blaming *b, struct bytes line)
{
	static const char *const members[] = { "writer", "trust", "timestamp", "task_id", "receipt_id",
		"accepted_by", "valid_until" };
	struct arena *a = b->a;
	struct json *v;
	char id[MEMORY_ID + 1];
	struct bytes text;

	if (!memory_line_entry(line, id, &text))
		return outside(b, text);
	const struct json *entry = memory_entry(b->entries, id);
	if (!entry || !memory_is_line(a, json_get(entry, "lines"), text)) {
		/* The name of an entry says nothing about a line that is not the entry's. */
		v = outside(b, text);
		json_sets(a, v, "entry", id);
		json_sets(a, v, "state",
			entry ? "changed since it was written" : "names an entry that was never made");
		return v;
	}
	v = json_new(a, JSON_OBJECT);
	json_sets(a, v, "entry", id);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get_text(entry, members[i], NULL))
			json_sets(a, v, members[i], json_get_text(entry, members[i], NULL));
	json_sets(a, v, "state", json_get_text(entry, "state", ""));
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
	struct blaming b = { m, a, file, entries, memory_runs_load(m, a), NULL };
	rest = text;
	while (rest.p && rest.n) {
		size_t n;
		struct bytes line = text_cut(&rest, '\n');
		struct json *v = blame_line(&b, line);
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
	struct names said; /* lines with their names, that are what was written */
	struct json *others; /* {place: entry} of lines that say something else than what they name */
	const char *top; /* the directory that is walked */
	size_t events;
	off_t end; /* of MEMORY_ENTRIES, at the moment that is looked at */
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
	/* A receipt that refused it has its digest, too. */
	if (id && digest && memory_receipt_permits(receipt) && !json_get(v->bound, id))
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

	(void)e;
	if (place >= v->end)
		return 1;
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
		else if (memory_is_line(v->a, json_get(entry, "lines"), bare))
			names_add(&v->said,
				arena_printf(v->a, "%s %.*s", id, (int)bare.n, (const char *)bare.p));
		else
			json_sets(v->a, v->others, at, id);
	}
}

/* Does everything that the entry says still stand somewhere? */
static bool is_all_said(struct verifying *v, const char *id)
{
	json_each (line, json_get(memory_entry(v->entries, id), "lines")) {
		const char *said = json_text(line) ? json_text(line) : "";
		if (!names_has(&v->said, arena_printf(v->a, "%s %s", id, said)) &&
			!names_has(&v->said, arena_printf(v->a, "%s %s", id, memory_struck(v->a, said))))
			return false;
	}
	return true;
}

/* A line that is not what the entry says which it names: a person may have changed it.  Where all that was written is still there as well, the
 * name was copied to something else. */
static void tell_others(struct verifying *v)
{
	json_each_member (other, v->others) {
		const char *id = json_text(other->value);
		bool is_copied = is_all_said(v, id);
		find(v, is_copied, is_copied ? "copied_name" : "edited", id,
			arena_printf(v->a,
				is_copied ? "%s has the name of an entry that says something else"
					  : "%s was changed since",
				other->name));
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

/* What writers change together (entries, files), read as it is at one moment: under their lock.  Where no lock can be made
 * (a place that is only read) nobody writes. */
static int read_moment(struct verifying *v, struct json **ret_beside, struct err *e)
{
	static const char *const tops[] = { "memory", "notes" };
	AUTO(close_fd) int lock = -1;
	struct memory_place *m = v->m;
	struct bytes text;
	struct err why = { 0 };
	size_t damaged;
	int rc = file_lock(m->sys, m->state_fd, MEMORY_LOCK, MEMORY_LOCK_MS, &lock, &why);

	if (rc && text_eq(why.code, "FILE_LOCKED")) {
		*e = why;
		return rc;
	}
	rc = memory_entries(m, v->a, &v->entries, &damaged, e);
	if (rc == OK)
		rc = ledger_end(m->sys, m->state_fd, MEMORY_ENTRIES, &v->end, e);
	if (rc)
		return rc;
	if (file_read(m->sys, v->a, m->root_fd, "MEMORY.md", MEMORY_FILE_BYTES, FILE_BENEATH, &text, NULL) ==
		OK)
		check_text(v, "MEMORY.md", text);
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		v->top = tops[i];
		(void)file_walk_names(m->sys, m->root_fd, tops[i], check_file, v, NULL);
	}
	tell_others(v);
	return memory_outside_now(m, v->a, ret_beside, e);
}

/* The chain is read behind that moment, and an entry is written behind its receipt: so every entry that is looked at has its receipt in what is
 * read. */
int memory_verify(struct memory_place *m, struct arena *a, struct json **ret, struct err *e)
{
	struct verifying v = { .m = m,
		.a = a,
		.findings = json_new(a, JSON_ARRAY),
		.bound = json_new(a, JSON_OBJECT),
		.others = json_new(a, JSON_OBJECT),
		.seen = { .a = a },
		.said = { .a = a } };
	struct json *beside;
	int rc = read_moment(&v, &beside, e);

	if (rc == OK)
		rc = receipts_each(m->sys, m->state_fd, note_receipt, &v, e);
	if (rc == OK)
		rc = rows_each(m->sys, m->state_fd, MEMORY_ENTRIES, 0, check_event, &v, e);
	if (rc < 0)
		return rc;
	json_each (one, beside)
		if (json_get_text(one, "unread", NULL))
			find(&v, false, "unread", NULL, json_get_text(one, "unread", ""));
		else
			find(&v, false, "outside", NULL,
				arena_printf(a, "%s: lines that are not on record: %lld",
					json_get_text(one, "file", ""),
					(long long)json_get_int(one, "lines", 0)));
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
