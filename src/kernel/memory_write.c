/* memory_write.c — lines of memory: through the gate, onto the record, into the file.
 *
 * Trust only ever falls: an entry has the least trust of who writes it and what it comes from.  What has too little of it waits until a person
 * accepts it, and nothing of memory is ever asked when something is decided. */
#include "base/file.h"
#include "base/hash.h"
#include "kernel/act.h"
#include "kernel/memory_parts.h"
#include "kernel/person.h"
#include "privacy/privacy.h"
#include "remember/ontology.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 200 };

/* One change of memory on its way: under the lock. */
struct writing {
	struct kernel *k;
	struct arena *a;
	struct memory_place m;
	struct json *entries;
	struct json *event; /* what is put on record */
	struct json *answer;
	bool is_person;
	struct memory_act act;
};

static int begin(
	struct writing *x, struct kernel *k, struct arena *a, const char *event, int *ret_lock, struct err *e)
{
	struct err why = { 0 };
	const char *time;
	char *id;
	int rc = memory_take_lock(k, ret_lock, e);

	*x = (struct writing){ .k = k, .a = a, .m = memory_place_of(k->sys, k->ws) };
	if (rc == OK)
		rc = memory_entries_bound(&x->m, a, &x->entries, e);
	if (rc == OK)
		rc = memory_next_id(k, a, MEMORY_ENTRIES, "mem-", &id, &time, e);
	if (rc)
		return rc;
	x->is_person = person_is_outside(k->sys, a, k->ws, &why) == OK;
	x->event = json_new(a, JSON_OBJECT);
	x->answer = json_new(a, JSON_OBJECT);
	json_sets(a, x->event, "id", id);
	json_sets(a, x->event, "timestamp", time);
	json_sets(a, x->event, "event", event);
	json_sets(a, x->event, "writer", memory_trust_name(x->is_person ? TRUST_PERSON : TRUST_AGENT));
	return OK;
}

/* The receipt that permits it, and the event.  `path`: of the file that is changed behind it; or NULL. */
static int put_on_record(struct writing *x, const char *verb, const char *path, struct err *e)
{
	struct json *about = json_new(x->a, JSON_OBJECT);

	json_make_utf8(x->a, x->event);
	privacy_redact_json(x->a, x->event); /* as the ledger writes it: the digest is over that */
	json_sets(x->a, about, "entry_id", json_get_text(x->event, "id", ""));
	json_sets(x->a, about, "entry_sha256", memory_event_sha256(x->a, x->event));
	json_sets(x->a, about, "event", json_get_text(x->event, "event", ""));
	if (json_get_text(x->event, "file", NULL))
		json_sets(x->a, about, "file", json_get_text(x->event, "file", NULL));
	x->act = (struct memory_act){ .verb = verb,
		.path = path,
		.task_id = json_get_text(x->event, "task_id", NULL),
		.about = about };
	int rc = memory_act_begin(x->k, x->a, &x->act, e);
	if (rc)
		return rc;
	if (x->act.receipt_id) {
		json_sets(x->a, x->event, "receipt_id", x->act.receipt_id);
		json_seti(x->a, x->event, "receipt_clock", x->act.receipt_clock);
	}
	rc = memory_act_row(x->a, &x->act, MEMORY_ENTRIES, x->event, e);
	return rc ? memory_act_end(x->a, &x->act, rc, e) : OK;
}

static int finish(struct writing *x, int rc, struct json **ret, struct err *e)
{
	rc = memory_act_end(x->a, &x->act, rc, e);
	if (rc)
		return rc;
	json_sets(x->a, x->answer, "receipt_id", x->act.receipt_id);
	*ret = x->answer;
	return OK;
}

/* Change a file, and tell about what was left out of it. */
static int change_file(struct writing *x, const char *file, memory_edit *edit, void *arg, struct err *e)
{
	struct json *conflicts;
	const char *kept;
	int rc = memory_change_file(&x->m, x->a, file, edit, arg, &conflicts, &kept, e);

	if (rc == OK && conflicts)
		json_set(x->a, x->answer, "conflicts", conflicts);
	if (rc == OK && kept)
		json_sets(x->a, x->answer, "kept", kept);
	return rc;
}

static int change_lines(
	struct writing *x, const struct json *entry, memory_edit *edit, bool always, struct err *e)
{
	struct memory_lines l = {
		.id = json_get_text(entry, "id", ""), .lines = json_get(entry, "lines"), .always = always
	};
	const char *file = json_get_text(entry, "file", "");

	if (text_eq(json_get_text(entry, "layer", ""), "ontology") ||
		!file_exists(x->k->sys, x->k->ws->root_fd, file))
		return OK;
	int rc = change_file(x, file, edit, &l, e);
	if (rc == OK && l.left)
		json_seti(x->a, x->answer, "left_as_edited",
			json_get_int(x->answer, "left_as_edited", 0) + (int64_t)l.left);
	return rc;
}

/* ---- where it goes ---- */

bool memory_is_note(struct arena *a, const char *file)
{
	return text_eq(path_clean(a, file), file) &&
		(text_starts(file, "notes/") || text_starts(file, "memory/")) &&
		!text_starts(file, "memory/ontology/") && !text_starts(file, "memory/tree/") &&
		text_ends(file, ".md") && !strstr(file, "/.");
}

static bool is_memory_file(struct arena *a, const char *file)
{
	return text_eq(file, "MEMORY.md") || memory_is_note(a, file);
}

static int choose_file(struct writing *x, const struct memory_writing *w, const char **ret, struct err *e)
{
	const char *today = json_get_text(x->event, "timestamp", "");

	if (w->file && !text_eq(w->layer, "notes"))
		return err_set(e, E_USAGE, "MEMORY_FILE", "--file goes with --layer notes");
	if (text_eq(w->layer, "long_term_memory"))
		*ret = "MEMORY.md";
	else if (text_eq(w->layer, "daily_memory"))
		*ret = arena_printf(x->a, "memory/%.10s.md", today);
	else if (!w->file || !memory_is_note(x->a, w->file))
		return err_set(e, E_USAGE, "MEMORY_FILE",
			"a note needs --file: a Markdown file below notes/ or memory/%s%s",
			w->file ? ", not " : "", w->file ? w->file : "");
	else
		*ret = w->file;
	return memory_check_place(&x->m, x->a, *ret, e);
}

/* ---- what it says ---- */

static const char *as_item(struct arena *a, const char *text)
{
	bool has_mark = strchr("-*+#>|", text[0]) || (text[0] >= '0' && text[0] <= '9' && strstr(text, ". "));

	return has_mark ? text : arena_printf(a, "- %s", text);
}

static void leave_out(struct writing *x, const struct gated *g, struct json *left)
{
	struct json *one = json_new(x->a, JSON_OBJECT);

	json_sets(x->a, one, "as", gate_answer_name(g->is));
	json_sets(x->a, one, "why", g->why);
	json_sets(x->a, one, "text", g->text);
	json_push(x->a, left, one);
}

static int gate_lines(struct writing *x, const struct memory_writing *w, const char *file, struct err *e)
{
	struct json *lines = json_new(x->a, JSON_ARRAY), *left = json_new(x->a, JSON_ARRAY);
	/* All of it first: a key has many lines, of which only the first says what it is. */
	size_t n;
	const char *kept = privacy_redact(x->a, (const char *)w->text.p, w->text.n, &n);
	struct bytes rest = { (const uint8_t *)kept, n };
	struct memory_known *known;
	int64_t redacted = n != w->text.n || memcmp(kept, w->text.p, n) != 0;
	int rc = memory_known_load(&x->m, x->a, &known, e);

	while (rc == OK && rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		struct gated g;
		if (!line.n || (line.n == 1 && line.p[0] == '\r'))
			continue;
		if (lines->n == MOST_LINES)
			return err_set(
				e, E_LIMIT, "MEMORY_TEXT", "one entry has at most %d lines", MOST_LINES);
		memory_gate(known, x->a, file, line, &g);
		redacted += g.is_redacted;
		if (g.is == GATE_NEW) {
			json_pushs(x->a, lines, as_item(x->a, g.text));
			continue;
		}
		leave_out(x, &g, left);
	}
	json_set(x->a, x->event, "lines", lines);
	json_set(x->a, x->answer, "lines", lines);
	json_set(x->a, x->answer, "left_out", left);
	json_seti(x->a, x->answer, "redacted", redacted);
	return rc;
}

static int set_window(struct writing *x, const struct memory_writing *w, struct err *e)
{
	int64_t from = x->k->sys->now_us(x->k->sys), until;

	if (w->valid_from && !memory_time(w->valid_from, &from))
		return err_set(e, E_USAGE, "MEMORY_TIME", "--valid-from '%s' is no time", w->valid_from);
	if (w->valid_until && (!memory_time(w->valid_until, &until) || until <= from))
		return err_set(e, E_USAGE, "MEMORY_TIME",
			"--valid-until '%s' is no time behind the beginning", w->valid_until);
	json_sets(x->a, x->event, "valid_from", text_time_iso(x->a, from));
	json_sets(x->a, x->event, "valid_until", w->valid_until ? text_time_iso(x->a, until) : NULL);
	return OK;
}

/* The least trust of who writes and of what it comes from. */
static int set_sources(
	struct writing *x, const struct memory_writing *w, enum memory_trust *ret, struct err *e)
{
	enum memory_trust trust = x->is_person ? TRUST_PERSON : TRUST_AGENT, of;
	struct json *sources = json_new(x->a, JSON_ARRAY), *one;
	int rc = OK;

	if (w->from && memory_trust_parse(w->from, &of) && of < trust)
		trust = of;
	for (size_t i = 0; rc == OK && i < w->source_count + (w->task_id != NULL); i++) {
		const char *named =
			i < w->source_count ? w->sources[i] : arena_printf(x->a, "task:%s", w->task_id);
		rc = memory_source(&x->m, x->a, x->entries, named, &one, e);
		if (rc)
			return rc;
		json_push(x->a, sources, one);
		if (memory_trust_parse(json_get_text(one, "trust", ""), &of) && of < trust)
			trust = of;
	}
	json_set(x->a, x->event, "sources", sources);
	json_sets(x->a, x->event, "trust", memory_trust_name(trust));
	json_sets(x->a, x->answer, "trust", memory_trust_name(trust));
	if (w->task_id)
		json_sets(x->a, x->event, "task_id", w->task_id);
	*ret = trust;
	return OK;
}

/* *ret_waits: something of it is more trusted than what would take its place. */
static int set_superseded(struct writing *x, const struct memory_writing *w, enum memory_trust trust,
	bool *ret_waits, struct err *e)
{
	struct json *ids = json_new(x->a, JSON_ARRAY);
	enum memory_trust of;

	for (size_t i = 0; i < w->supersedes_count; i++) {
		const struct json *old = memory_entry(x->entries, w->supersedes[i]);
		if (!old || !text_eq(json_get_text(old, "state", ""), "current"))
			return err_set(e, E_MISSING, "MEMORY_ENTRY", "there is no entry '%s' that holds now",
				w->supersedes[i]);
		*ret_waits |= !memory_trust_parse(json_get_text(old, "trust", ""), &of) || of > trust;
		json_pushs(x->a, ids, w->supersedes[i]);
	}
	json_set(x->a, x->event, "supersedes", ids);
	return OK;
}

/* ---- into the file ---- */

static int put_lines(struct writing *x, const struct json *entry, struct err *e)
{
	const char *file = json_get_text(entry, "file", "");
	struct memory_lines l = { .id = json_get_text(entry, "id", ""), .lines = json_get(entry, "lines") };

	if (text_eq(json_get_text(entry, "layer", ""), "daily_memory"))
		l.heading = arena_printf(x->a, "# %.10s", path_base(file));
	int rc = change_file(x, file, memory_edit_add, &l, e);
	json_each (old, json_get(entry, "supersedes"))
		if (rc == OK && json_text(old))
			rc = change_lines(
				x, memory_entry(x->entries, json_text(old)), memory_edit_strike, false, e);
	return rc;
}

static int put_row(struct writing *x, const struct json *entry, struct err *e)
{
	struct json *row = json_copy(x->a, json_get(entry, "row"));
	const char *file = json_get_text(entry, "file", "");
	struct buf line;

	json_sets(x->a, row, "memory_id", json_get_text(entry, "id", ""));
	buf_init(&line, x->a);
	json_write(&line, row, JSON_SORT | JSON_SPACED);
	return memory_append_row(&x->m, x->a, file, buf_bytes(&line), e);
}

static int put_entry(struct writing *x, const struct json *entry, struct err *e)
{
	return text_eq(json_get_text(entry, "layer", ""), "ontology") ? put_row(x, entry, e)
								      : put_lines(x, entry, e);
}

/* ---- the ontology ---- */

struct same_row {
	struct arena *a;
	const char *digest;
	uint64_t line;
};

static int is_same_row(void *arg, uint64_t line, const struct json *row, struct err *e)
{
	struct same_row *s = arg;

	(void)e;
	if (!row)
		return 0;
	struct json *bare = json_copy(s->a, row);
	(void)json_remove(bare, "memory_id");
	if (text_eq(json_sha256(s->a, bare), s->digest))
		s->line = line;
	return s->line != 0;
}

static int gate_row(struct writing *x, const struct memory_writing *w, const char **ret_file, struct err *e)
{
	struct json *row, *left = json_new(x->a, JSON_ARRAY);
	struct relation r;
	struct entity n;
	int rc = json_parse(x->a, w->text, "the row", NULL, &row, e);

	if (rc)
		return rc;
	bool is_relation = relation_read(x->a, row, &r);
	if (!json_is(row, JSON_OBJECT) || (!is_relation && !entity_read(x->a, row, &n)))
		return err_set(e, E_INPUT, "MEMORY_ROW",
			"a row of the ontology has id and type, or from, to and relation_type");
	(void)json_remove(row, "memory_id");
	privacy_redact_json(x->a, row);
	*ret_file = is_relation ? ONTOLOGY_RELATIONS : ONTOLOGY_ENTITIES;
	rc = memory_check_place(&x->m, x->a, *ret_file, e);
	if (rc)
		return rc;
	struct same_row same = { x->a, json_sha256(x->a, row), 0 };
	rc = ontology_each(x->k->sys, x->k->ws->root_fd, *ret_file, is_same_row, &same, e);
	if (rc < 0)
		return rc;
	if (same.line) {
		struct json *one = json_new(x->a, JSON_OBJECT);
		json_sets(x->a, one, "as", "duplicate");
		json_set(x->a, one, "why",
			json_stringf(x->a, "line %llu says it already", (unsigned long long)same.line));
		json_push(x->a, left, one);
	} else {
		json_set(x->a, x->event, "row", row);
	}
	json_set(x->a, x->answer, "left_out", left);
	return OK;
}

/* ---- write ---- */

static int prepare(
	struct writing *x, const struct memory_writing *w, bool *ret_waits, bool *ret_is_empty, struct err *e)
{
	bool is_row = text_eq(w->layer, "ontology");
	enum memory_trust trust;
	const char *file = NULL;
	int rc = is_row ? gate_row(x, w, &file, e) : choose_file(x, w, &file, e);

	if (rc)
		return rc;
	json_sets(x->a, x->event, "layer", w->layer);
	json_sets(x->a, x->event, "file", file);
	json_sets(x->a, x->answer, "file", file);
	if (!is_row)
		rc = gate_lines(x, w, file, e);
	if (rc == OK)
		rc = set_window(x, w, e);
	if (rc == OK)
		rc = set_sources(x, w, &trust, e);
	*ret_waits = rc == OK && trust < TRUST_AGENT;
	if (rc == OK)
		rc = set_superseded(x, w, trust, ret_waits, e);
	*ret_is_empty = is_row ? !json_get(x->event, "row") : rc == OK && !json_get(x->event, "lines")->n;
	return rc;
}

int memory_write(
	struct kernel *k, struct arena *a, const struct memory_writing *w, struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	bool waits, is_empty;
	struct writing x;
	int rc = begin(&x, k, a, "write", &lock, e);

	if (rc == OK)
		rc = prepare(&x, w, &waits, &is_empty, e);
	if (rc)
		return rc;
	json_sets(a, x.answer, "status", is_empty ? "nothing" : waits ? "waiting" : "written");
	if (is_empty) {
		*ret = x.answer;
		return OK;
	}
	json_sets(a, x.answer, "entry", json_get_text(x.event, "id", ""));
	if (waits)
		json_sets(a, x.event, "event", "queue");
	const char *file = json_get_text(x.event, "file", "");
	rc = put_on_record(&x, waits ? "queue" : "write", waits ? NULL : file, e);
	if (rc)
		return rc;
	if (!waits)
		rc = put_entry(&x, x.event, e);
	return finish(&x, rc, ret, e);
}

/* ---- what waits ---- */

static int find_entry(struct writing *x, const char *id, const char *state, struct json **ret, struct err *e)
{
	struct json *entry = memory_entry(x->entries, id);

	if (!entry)
		return err_set(e, E_MISSING, "MEMORY_ENTRY", "there is no entry '%s'", id);
	if (!text_eq(json_get_text(entry, "state", ""), state))
		return err_set(e, E_INPUT, "MEMORY_ENTRY", "entry '%s' is %s, not %s", id,
			json_get_text(entry, "state", "?"), state);
	*ret = entry;
	return OK;
}

static void about_entry(struct writing *x, const char *id, const char *reason)
{
	json_sets(x->a, x->event, "entry", id);
	json_sets(x->a, x->answer, "entry", id);
	if (reason)
		json_sets(x->a, x->event, "reason", reason);
}

int memory_accept(struct kernel *k, struct arena *a, const char *id, struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *entry;
	struct writing x;
	int rc = person_is_outside(k->sys, a, k->ws, e);

	if (rc == OK)
		rc = begin(&x, k, a, "accept", &lock, e);
	if (rc == OK)
		rc = find_entry(&x, id, "waiting", &entry, e);
	if (rc)
		return rc;
	about_entry(&x, id, NULL);
	/* What is let in is bound by the word that lets it in. */
	json_sets(a, x.event, "accepts_sha256", json_get_text(entry, "event_sha256", ""));
	json_sets(a, x.answer, "status", "written");
	json_sets(a, x.answer, "file", json_get_text(entry, "file", ""));
	rc = put_on_record(&x, "accept", json_get_text(entry, "file", ""), e);
	if (rc)
		return rc;
	rc = put_entry(&x, entry, e);
	return finish(&x, rc, ret, e);
}

/* ---- lines that came around the gate ---- */

/* Lines of one file on their way onto the record: those of one run, or those that no run is known for. */
struct taking {
	struct writing *x;
	const char *file;
	const struct memory_runs *runs;
	const struct json *run; /* NULL: none */
	struct json *lines, *left, *old; /* old: entries whose lines were changed */
	bool has_begun, is_more; /* there are lines of others */
};

/* A line with a secret stays where it is: it is the person's to take it out. */
static const char *why_not_taken(struct arena *a, const struct memory_line *line, const char *said)
{
	if (memory_has_secret(a, said))
		return arena_printf(a, "line %lld has a secret: take it out", (long long)line->number);
	if (memory_has_unseen(said) || strlen(said) != line->text.n ||
		!text_eq(said, text_safe(a, said, strlen(said), false)))
		return arena_printf(a, "line %lld has characters that nobody sees: take them out",
			(long long)line->number);
	return NULL;
}

static int take_line(void *arg, const struct memory_line *line)
{
	struct taking *t = arg;
	struct arena *a = t->x->a;
	const char *said = arena_strndup(a, (const char *)line->text.p, line->text.n),
		   *why = line->is_on_record ? NULL : why_not_taken(a, line, said);

	if (why) {
		leave_out(
			t->x, &(struct gated){ .is = GATE_JUNK, .text = "(not shown)", .why = why }, t->left);
		return 0;
	}
	if (line->is_on_record)
		return 0;
	const struct json *run = memory_run_of(t->runs, t->file, line->text);
	if (t->has_begun && run != t->run) {
		t->is_more = true;
		return 0;
	}
	t->has_begun = true;
	t->run = run;
	json_pushs(a, t->lines, said);
	if (text_eq(json_get_text(line->entry, "state", ""), "current"))
		json_pushs(a, t->old, line->id);
	return 0;
}

/* The event: a person stands for the lines, and what a run wrote has no more trust than what comes out of that run. */
static void say_taken(struct taking *t)
{
	struct arena *a = t->x->a;
	struct json *event = t->x->event, *sources = json_new(a, JSON_ARRAY);
	const char *task = json_get_text(t->run, "task_id", NULL); /* a contained call has none */
	const char *trust = memory_trust_name(t->run ? memory_trust_of_task(t->run) : TRUST_PERSON);

	if (t->run) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "kind", task ? "task" : "file");
		json_sets(a, one, "id", task ? task : t->file);
		json_sets(a, one, "trust", trust);
		json_push(a, sources, one);
	}
	json_sets(a, event, "layer", text_eq(t->file, "MEMORY.md") ? "long_term_memory" : "notes");
	json_sets(a, event, "file", t->file);
	json_set(a, event, "lines", t->lines);
	json_set(a, event, "sources", sources);
	json_set(a, event, "supersedes", t->old);
	json_sets(a, event, "trust", trust);
	json_sets(a, event, "valid_from", json_get_text(event, "timestamp", ""));
	json_sets(a, event, "valid_until", NULL);
}

/* One entry.  *ret_is_more: there are lines of other runs. */
static int accept_some(struct kernel *k, struct arena *a, const char *file, struct json *answer,
	bool *ret_is_more, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *unused, *some;
	struct writing x;
	int rc = begin(&x, k, a, "write", &lock, e);

	*ret_is_more = false;
	if (rc == OK)
		rc = memory_check_place(&x.m, a, file, e);
	if (rc)
		return rc;
	struct taking t = { .x = &x,
		.file = file,
		.runs = memory_runs_load(&x.m, a),
		.lines = json_new(a, JSON_ARRAY),
		.left = json_new(a, JSON_ARRAY),
		.old = json_new(a, JSON_ARRAY) };
	rc = memory_lines_each(&x.m, a, x.entries, file, take_line, &t, e);
	if (rc)
		return rc;
	json_set(a, answer, "left_out", t.left);
	if (!t.lines->n)
		return OK;
	say_taken(&t);
	rc = put_on_record(&x, "accept", file, e);
	if (rc)
		return rc;
	struct memory_lines l = {
		.id = json_get_text(x.event, "id", ""), .lines = t.lines, .entries = x.entries
	};
	rc = finish(&x, change_file(&x, file, memory_edit_name, &l, e), &unused, e);
	if (rc)
		return rc;
	some = json_new(a, JSON_OBJECT);
	json_sets(a, some, "entry", l.id);
	json_sets(a, some, "trust", json_get_text(x.event, "trust", ""));
	json_sets(a, some, "receipt_id", x.act.receipt_id);
	json_set(a, some, "lines", t.lines);
	json_push(a, json_get(answer, "entries"), some);
	json_sets(a, answer, "status", "written");
	*ret_is_more = t.is_more;
	return OK;
}

int memory_accept_file(struct kernel *k, struct arena *a, const char *file, struct json **ret, struct err *e)
{
	struct json *answer = json_new(a, JSON_OBJECT);
	bool is_more = true;
	int rc = person_is_outside(k->sys, a, k->ws, e);

	if (rc == OK && !is_memory_file(a, file))
		rc = err_set(e, E_USAGE, "MEMORY_FILE",
			"'%s' is neither an entry (mem-...) nor MEMORY.md or a Markdown file below memory/ or notes/",
			file);
	json_sets(a, answer, "status", "nothing");
	json_sets(a, answer, "file", file);
	json_set(a, answer, "entries", json_new(a, JSON_ARRAY));
	while (rc == OK && is_more)
		rc = accept_some(k, a, file, answer, &is_more, e);
	if (rc == OK)
		*ret = answer;
	return rc;
}

int memory_reject(struct kernel *k, struct arena *a, const char *id, const char *reason, struct json **ret,
	struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *entry;
	struct writing x;
	int rc = person_is_outside(k->sys, a, k->ws, e);

	if (rc == OK)
		rc = begin(&x, k, a, "reject", &lock, e);
	if (rc == OK)
		rc = find_entry(&x, id, "waiting", &entry, e);
	if (rc)
		return rc;
	about_entry(&x, id, reason);
	json_sets(a, x.answer, "status", "rejected");
	rc = put_on_record(&x, "reject", NULL, e);
	if (rc)
		return rc;
	return finish(&x, rc, ret, e);
}

/* ---- take it back ---- */

/* Written or accepted by a person; or nobody knows. */
static bool is_of_person(const struct json *entry)
{
	enum memory_trust of;

	return !memory_trust_parse(json_get_text(entry, "trust", ""), &of) || of > TRUST_AGENT ||
		json_get_text(entry, "accepted_by", NULL);
}

static int may_revert(struct writing *x, const struct json *entry, const char *id, struct err *e)
{
	if (x->is_person || !is_of_person(entry))
		return OK;
	return err_set(e, E_DENIED, "MEMORY_DENIED",
		"entry '%s' is a person's word: only a person takes it back", id);
}

int memory_revert(struct kernel *k, struct arena *a, const char *id, const char *reason, bool always,
	struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *entry;
	struct writing x;
	int rc = begin(&x, k, a, "revert", &lock, e);

	if (rc == OK)
		rc = find_entry(&x, id, "current", &entry, e);
	if (rc == OK)
		rc = may_revert(&x, entry, id, e);
	if (rc)
		return rc;
	if (text_eq(json_get_text(entry, "layer", ""), "ontology"))
		return err_set(e, E_INPUT, "MEMORY_ENTRY",
			"rows of the ontology are not taken out: write one that supersedes '%s'", id);
	about_entry(&x, id, reason);
	json_sets(a, x.answer, "status", "reverted");
	json_sets(a, x.answer, "file", json_get_text(entry, "file", ""));
	rc = put_on_record(&x, "revert", json_get_text(entry, "file", ""), e);
	if (rc)
		return rc;
	rc = change_lines(&x, entry, memory_edit_remove, always, e);
	json_each (name, json_get(entry, "supersedes")) {
		const struct json *old = json_text(name) ? memory_entry(x.entries, json_text(name)) : NULL;
		if (rc == OK && old && !memory_entry_is_replaced(old, id))
			rc = change_lines(&x, old, memory_edit_unstrike, false, e);
	}
	return finish(&x, rc, ret, e);
}

/* ---- a whole text ---- */

/* The lines of a text, sorted. */
struct line_set {
	struct bytes *p;
	size_t n;
};

static int by_line(const void *x, const void *y)
{
	const struct bytes *p = x, *q = y;
	size_t n = p->n < q->n ? p->n : q->n;
	int order = n ? memcmp(p->p, q->p, n) : 0;

	return order ? order : (p->n > q->n) - (p->n < q->n);
}

static struct line_set lines_of(struct arena *a, struct bytes text)
{
	struct line_set s = { 0 };
	size_t room = 1;

	for (size_t i = 0; i < text.n; i++)
		room += text.p[i] == '\n';
	s.p = arena_zalloc(a, room, sizeof(*s.p));
	while (text.p)
		s.p[s.n++] = text_cut(&text, '\n');
	qsort(s.p, s.n, sizeof(*s.p), by_line);
	return s;
}

static bool has_line(const struct line_set *s, struct bytes line)
{
	return s->n && bsearch(&line, s->p, s->n, sizeof(*s->p), by_line);
}

struct merging {
	struct writing *x;
	struct bytes base, ours;
	struct json *conflicts;
};

/* An agent takes out its own lines, and those of other agents.  A line that names no entry a person has written. */
static int check_kept(struct writing *x, struct bytes before, struct bytes after, struct err *e)
{
	struct line_set kept = x->is_person ? (struct line_set){ 0 } : lines_of(x->a, after);

	while (!x->is_person && before.p) {
		char id[MEMORY_ID + 1];
		struct bytes line = text_cut(&before, '\n'), bare;
		if (!line.n || has_line(&kept, line))
			continue;
		if (!memory_line_entry(line, id, &bare) || is_of_person(memory_entry(x->entries, id)))
			return err_set(e, E_DENIED, "MEMORY_DENIED",
				"the merge would take out or change a person's line, and nothing was written: '%s'; "
				"leave it as it is, or propose another with 'helm memory write --supersedes'",
				text_safe(x->a, (const char *)bare.p, bare.n < 200 ? bare.n : 200, false));
	}
	return OK;
}

static int merge_text(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	struct merging *m = arg;

	memory_merge(a, m->base, m->ours, text, ret, &m->conflicts);
	return check_kept(m->x, text, buf_bytes(ret), e);
}

/* What would be refused is refused before anything is on record. */
static int try_merge(struct merging *m, const char *file, struct err *e)
{
	struct kernel *k = m->x->k;
	struct bytes text = bytes_of("");
	struct err why = { 0 };
	struct buf unused;
	int rc = file_read(
		k->sys, m->x->a, k->ws->root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, &why);

	buf_init(&unused, m->x->a);
	if (rc && rc != E_MISSING)
		return err_set(e, rc, why.code, "%s", why.text);
	if (rc)
		text = bytes_of("");
	return merge_text(m, m->x->a, text, &unused, e);
}

/* May this new line be written?  A person's text is taken as it is.  Where lines go as well, one that is like another may be what became
 * of it. */
static bool may_add(struct writing *x, struct memory_known *known, const char *file, struct bytes line,
	bool takes_out, struct json *left)
{
	struct gated g;

	if (x->is_person)
		return true;
	memory_gate(known, x->a, file, line, &g);
	if (g.is == GATE_NEW || (g.is != GATE_JUNK && takes_out))
		return true;
	leave_out(x, &g, left);
	return false;
}

static bool takes_lines_out(struct arena *a, struct bytes base, struct bytes text)
{
	struct line_set rest = lines_of(a, text);

	while (base.p)
		if (!has_line(&rest, text_cut(&base, '\n')))
			return true;
	return false;
}

/* Lines that the base does not have become lines of this entry: without secrets, with its mark, and an agent's through the gate. */
static int mark_new_lines(struct writing *x, const char *file, struct bytes base, struct bytes text,
	struct bytes *ret, struct err *e)
{
	struct json *lines = json_new(x->a, JSON_ARRAY), *left = json_new(x->a, JSON_ARRAY);
	const char *id = json_get_text(x->event, "id", "");
	struct line_set old = lines_of(x->a, base);
	bool takes_out = takes_lines_out(x->a, base, text);
	struct memory_known *known = NULL;
	struct buf b;
	int rc = x->is_person ? OK : memory_known_load(&x->m, x->a, &known, e);

	buf_init(&b, x->a);
	while (rc == OK && text.p && text.n) {
		char had[MEMORY_ID + 1];
		struct bytes line = text_cut(&text, '\n'), bare;
		size_t n;
		if (!line.n || has_line(&old, line)) {
			buf_add(&b, line.p, line.n);
			buf_addc(&b, '\n');
			continue;
		}
		if (!x->is_person && lines->n + left->n == MOST_LINES)
			return err_set(e, E_LIMIT, "MEMORY_TEXT", "an agent adds at most %d lines at once",
				MOST_LINES);
		(void)memory_line_entry(line, had, &bare);
		if (!may_add(x, known, file, bare, takes_out, left))
			continue;
		const char *shown = text_safe(x->a, (const char *)bare.p, bare.n, false);
		const char *said = privacy_redact(x->a, shown, strlen(shown), &n);
		said = arena_strndup(x->a, said, n);
		json_pushs(x->a, lines, said);
		buf_addf(&b, "%s <!-- %s -->\n", said, id);
	}
	json_set(x->a, x->event, "lines", lines);
	json_set(x->a, x->answer, "lines", lines);
	if (left->n)
		json_set(x->a, x->answer, "left_out", left);
	*ret = buf_bytes(&b);
	return rc;
}

int memory_merge_in(struct kernel *k, struct arena *a, const char *file, struct bytes base, struct bytes text,
	struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct writing x;
	struct merging m = { .x = &x, .base = base };
	int rc = begin(&x, k, a, "merge", &lock, e);

	if (rc == OK && is_memory_file(a, file))
		rc = memory_check_place(&x.m, a, file, e);
	else if (rc == OK)
		rc = err_set(e, E_USAGE, "MEMORY_FILE",
			"'%s' is no file of memory: MEMORY.md, or a Markdown file below memory/ or notes/",
			file);
	if (rc == OK)
		rc = mark_new_lines(&x, file, base, text, &m.ours, e);
	if (rc == OK)
		rc = try_merge(&m, file, e);
	if (rc)
		return rc;
	json_sets(a, x.event, "layer", text_eq(file, "MEMORY.md") ? "long_term_memory" : "notes");
	json_sets(a, x.event, "file", file);
	json_sets(a, x.event, "trust", json_get_text(x.event, "writer", ""));
	json_sets(a, x.event, "base_sha256", sha256_prefixed(a, base.p, base.n));
	json_sets(a, x.event, "valid_from", json_get_text(x.event, "timestamp", ""));
	json_sets(a, x.event, "valid_until", NULL);
	json_sets(a, x.answer, "status", "merged");
	json_sets(a, x.answer, "entry", json_get_text(x.event, "id", ""));
	json_sets(a, x.answer, "file", file);
	rc = put_on_record(&x, "merge", file, e);
	if (rc)
		return rc;
	rc = change_file(&x, file, merge_text, &m, e);
	if (rc == OK && m.conflicts) {
		const char *kept;
		rc = memory_keep_conflicts(&x.m, a, file, m.conflicts, &kept, e);
		json_set(a, x.answer, "conflicts", m.conflicts);
		json_sets(a, x.answer, "kept", rc ? NULL : kept);
	}
	return finish(&x, rc, ret, e);
}
