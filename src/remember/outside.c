/* outside.c — lines that somebody put into memory without going through the gate.
 *
 * Files of memory belong to people, and a run that may write files may write these, too.  So what stands there is compared with what is on
 * record, and what a run has added beside it is told with the run: it comes from a program, and nobody has looked at it. */
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/record.h"
#include "remember/ontology.h"
#include "remember/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_TOLD = 64, MOST_FILES = 32, MOST_RUNS = 16 };

bool memory_is_file(const char *path)
{
	return text_eq(path, "MEMORY.md") || text_eq(path, ONTOLOGY_ENTITIES) ||
		text_eq(path, ONTOLOGY_RELATIONS) ||
		((text_starts(path, "memory/") || text_starts(path, "notes/")) &&
			!text_starts(path, "memory/ontology/") && !text_starts(path, "memory/tree/") &&
			text_ends(path, ".md"));
}

/* ---- lines ---- */

/* Where a text is, from line to line: what a person reads as one thing is no row of lines. */
struct reading {
	bool is_fenced, is_front;
	struct bytes shipped;
};

/* What stands in every new MEMORY.md tells nobody anything. */
static bool is_shipped(const struct reading *r, struct bytes line)
{
	for (struct bytes rest = r->shipped; rest.p && rest.n;)
		if (bytes_eq(text_cut(&rest, '\n'), line))
			return true;
	return false;
}

/* Does the line say something, and can it carry the name of an entry? */
static bool says_something(struct reading *r, int64_t number, struct bytes line)
{
	while (line.n && memchr(" \t\r", line.p[0], 3)) {
		line.p++;
		line.n--;
	}
	bool is_rule = line.n >= 3 && memcmp(line.p, "---", 3) == 0;
	bool is_fence = line.n >= 3 && (memcmp(line.p, "```", 3) == 0 || memcmp(line.p, "~~~", 3) == 0);
	if (is_rule && (number == 1 || r->is_front))
		r->is_front = number == 1;
	if (is_fence)
		r->is_fenced = !r->is_fenced;
	return line.n && !is_rule && !is_fence && !r->is_front && !r->is_fenced && line.p[0] != '#' &&
		!(line.n >= 4 && memcmp(line.p, "<!--", 4) == 0) && !is_shipped(r, line);
}

static bool is_row_on_record(struct arena *a, const struct json *entries, struct bytes line)
{
	struct json *row = row_parse(a, line, "ontology");
	const struct json *entry = memory_entry(entries, json_get_text(row, "memory_id", ""));

	if (!entry)
		return false;
	(void)json_remove(row, "memory_id");
	return text_eq(json_sha256(a, row), json_sha256(a, json_get(entry, "row")));
}

static bool is_on_record(struct arena *a, const struct json *entry, struct bytes bare)
{
	const char *state = json_get_text(entry, "state", "");

	return entry && !text_eq(state, "waiting") && !text_eq(state, "rejected") &&
		memory_is_line(a, json_get(entry, "lines"), bare);
}

int memory_lines_each(struct memory_place *m, struct arena *a, const struct json *entries, const char *file,
	memory_line_visit *fn, void *arg, struct err *e)
{
	bool is_rows = text_ends(file, ".jsonl");
	struct reading r = { 0 };
	struct bytes text;
	int64_t number = 0;
	int rc = file_read(m->sys, a, m->root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, e);

	if (rc)
		return rc;
	if (text_eq(file, "MEMORY.md"))
		(void)embed_find("share/workspace/MEMORY.md", &r.shipped);
	while (rc == OK && text.p) {
		struct memory_line line = { .number = ++number };
		struct bytes whole = text_cut(&text, '\n');
		bool is_named = memory_line_entry(whole, line.id, &line.text);
		if (is_rows ? !whole.n : !says_something(&r, number, whole))
			continue;
		line.entry = is_named ? memory_entry(entries, line.id) : NULL;
		line.is_named = is_named;
		line.is_on_record = is_rows ? is_row_on_record(a, entries, whole)
					    : is_on_record(a, line.entry, line.text);
		rc = fn(arg, &line);
	}
	return rc < 0 ? rc : OK;
}

uint64_t memory_line_digest(struct bytes line)
{
	uint8_t h[SHA256_SIZE];
	uint64_t v = 0;

	while (line.n && memchr(" \t", line.p[0], 2)) {
		line.p++;
		line.n--;
	}
	sha256(line.p, line.n, h);
	for (size_t i = 0; i < sizeof(v); i++)
		v = v << 8 | h[i];
	return v;
}

/* ---- before and after ---- */

struct seen_file {
	const char *file;
	struct stat st; /* st_ino 0: it was not there */
	struct bytes text;
	uint64_t *lines; /* digests, sorted; made when the file has changed */
	size_t n;
};
struct memory_seen {
	struct seen_file files[4];
};

static int by_value(const void *x, const void *y)
{
	uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;

	return p < q ? -1 : p > q;
}

/* Before a run everybody waits, so the text is kept as it is. */
static void look_at(struct memory_place *m, struct arena *a, struct seen_file *f)
{
	if (m->sys->stat(m->sys, m->root_fd, f->file, &f->st, AT_SYMLINK_NOFOLLOW) ||
		file_read(m->sys, a, m->root_fd, f->file, MEMORY_FILE_BYTES, FILE_BENEATH, &f->text, NULL)) {
		f->st = (struct stat){ 0 };
		f->text = (struct bytes){ 0 };
	}
}

static void take_lines(struct arena *a, struct seen_file *f)
{
	struct bytes rest = f->text;
	size_t room = 1;

	for (size_t i = 0; i < rest.n; i++)
		room += rest.p[i] == '\n';
	f->lines = arena_zalloc(a, room, sizeof(*f->lines));
	while (rest.p) {
		char id[MEMORY_ID + 1];
		struct bytes bare;
		(void)memory_line_entry(text_cut(&rest, '\n'), id, &bare);
		f->lines[f->n++] = memory_line_digest(bare);
	}
	qsort(f->lines, f->n, sizeof(*f->lines), by_value);
}

struct memory_seen *memory_look(struct memory_place *m, struct arena *a)
{
	struct memory_seen *seen = arena_zalloc(a, 1, sizeof(*seen));
	const char *today = text_time_iso(a, m->sys->now_us(m->sys));

	seen->files[0].file = "MEMORY.md";
	seen->files[1].file = arena_printf(a, "memory/%.10s.md", today);
	seen->files[2].file = ONTOLOGY_ENTITIES;
	seen->files[3].file = ONTOLOGY_RELATIONS;
	for (size_t i = 0; i < ARRAY_SIZE(seen->files); i++)
		look_at(m, a, &seen->files[i]);
	return seen;
}

static bool is_as_it_was(struct memory_place *m, const struct seen_file *f)
{
	struct stat st;

	if (m->sys->stat(m->sys, m->root_fd, f->file, &st, AT_SYMLINK_NOFOLLOW))
		return !f->st.st_ino;
	return st.st_ino == f->st.st_ino && st.st_size == f->st.st_size &&
		st.st_ctim.tv_sec == f->st.st_ctim.tv_sec && st.st_ctim.tv_nsec == f->st.st_ctim.tv_nsec;
}

struct comparing {
	struct arena *a;
	const struct seen_file *before; /* or NULL */
	struct json *digests;
	int64_t count;
};

static int add_new(void *arg, const struct memory_line *line)
{
	struct comparing *c = arg;
	uint64_t digest = memory_line_digest(line->text);

	if (line->is_on_record ||
		(c->before && c->before->n &&
			bsearch(&digest, c->before->lines, c->before->n, sizeof(digest), by_value)))
		return 0;
	c->count++;
	if (c->digests->n < MOST_TOLD)
		json_push(c->a, c->digests, json_stringf(c->a, "%016llx", (unsigned long long)digest));
	return 0;
}

struct finding {
	struct memory_place *m;
	struct arena *a;
	struct json *entries; /* read when the first file has changed */
	struct json *found; /* or NULL */
};

static void compare(struct finding *x, const char *file, const struct seen_file *before)
{
	struct comparing c = { .a = x->a, .before = before, .digests = json_new(x->a, JSON_ARRAY) };
	size_t damaged;

	/* Without the entries nothing is on record: too much is told then, never too little. */
	if (!x->entries && memory_entries(x->m, x->a, &x->entries, &damaged, NULL))
		x->entries = json_new(x->a, JSON_OBJECT);
	if (memory_lines_each(x->m, x->a, x->entries, file, add_new, &c, NULL) || !c.count)
		return;
	struct json *one = json_new(x->a, JSON_OBJECT);
	json_sets(x->a, one, "file", file);
	json_seti(x->a, one, "lines", c.count);
	json_set(x->a, one, "sha256_64", c.digests);
	if (!before)
		json_setb(x->a, one, "may_be_older", true);
	if (!x->found)
		x->found = json_new(x->a, JSON_ARRAY);
	json_push(x->a, x->found, one);
}

struct json *memory_outside(
	struct memory_place *m, struct arena *a, struct memory_seen *before, const struct json *touched)
{
	struct finding x = { .m = m, .a = a };
	size_t files = 0;

	for (size_t i = 0; i < ARRAY_SIZE(before->files); i++)
		if (!is_as_it_was(m, &before->files[i])) {
			take_lines(a, &before->files[i]);
			compare(&x, before->files[i].file, &before->files[i]);
		}
	json_each (path, touched) {
		bool is_seen = !json_text(path) || !memory_is_file(json_text(path));
		for (size_t i = 0; i < ARRAY_SIZE(before->files) && !is_seen; i++)
			is_seen = text_eq(before->files[i].file, json_text(path));
		if (!is_seen && files++ < MOST_FILES)
			compare(&x, json_text(path), NULL);
	}
	return x.found;
}

/* ---- who has put them there ---- */

struct memory_runs {
	struct arena *a;
	struct json *rows; /* the newest first */
};

static int take_run(void *arg, struct json *row)
{
	struct memory_runs *r = arg;

	if (json_is(json_get(row, "memory_outside"), JSON_ARRAY))
		json_push(r->a, r->rows, row);
	return 0;
}

struct memory_runs *memory_runs_load(struct memory_place *m, struct arena *a)
{
	static const char *const ledgers[] = { TASK_LEDGER, TOOL_CALLS };
	struct memory_runs *r = arena_zalloc(a, 1, sizeof(*r));
	bool is_more;

	*r = (struct memory_runs){ a, json_new(a, JSON_ARRAY) };
	for (size_t i = 0; i < ARRAY_SIZE(ledgers); i++)
		(void)rows_back_recent(
			m->sys, a, m->state_fd, ledgers[i], "memory_outside", take_run, r, &is_more, NULL);
	return r;
}

static const struct json *has_digest(const struct json *row, const char *file, const char *digest)
{
	json_each (one, json_get(row, "memory_outside"))
		if (text_eq(json_get_text(one, "file", ""), file))
			json_each (have, json_get(one, "sha256_64"))
				if (json_text(have) && text_eq(json_text(have), digest))
					return one;
	return NULL;
}

const struct json *memory_run_of(const struct memory_runs *r, const char *file, struct bytes line)
{
	char digest[20];

	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)memory_line_digest(line));
	json_each (row, r->rows)
		if (has_digest(row, file, digest))
			return row;
	return NULL;
}

/* ---- all of it, for whoever reviews ---- */

struct reviewing {
	struct memory_place *m;
	struct arena *a;
	const struct json *entries;
	const struct memory_runs *runs;
	struct json *found;
	const char *file;
	int64_t count, files;
	struct json *tasks;
};

static int review_line(void *arg, const struct memory_line *line)
{
	struct reviewing *x = arg;

	if (line->is_on_record)
		return 0;
	x->count++;
	const struct json *run = memory_run_of(x->runs, x->file, line->text);
	const char *task = json_get_text(run, "task_id", json_get_text(run, "contained_id", NULL));
	bool is_known = !task || x->tasks->n >= MOST_RUNS;
	json_each (have, x->tasks)
		is_known |= task && text_eq(json_text(have), task);
	if (!is_known)
		json_pushs(x->a, x->tasks, task);
	return 0;
}

static void review_file(struct reviewing *x, const char *file)
{
	struct json *one;
	struct err e = { 0 };

	x->file = file;
	x->count = 0;
	x->tasks = json_new(x->a, JSON_ARRAY);
	int rc = memory_lines_each(x->m, x->a, x->entries, file, review_line, x, &e);
	if (rc == E_MISSING || (rc == OK && !x->count))
		return;
	one = json_new(x->a, JSON_OBJECT);
	json_sets(x->a, one, "file", file);
	json_seti(x->a, one, "lines", x->count);
	json_set(x->a, one, "runs", x->tasks);
	if (rc)
		json_sets(x->a, one, "unread", e.text);
	json_push(x->a, x->found, one);
}

int memory_outside_now(struct memory_place *m, struct arena *a, struct json **ret, struct err *e)
{
	struct reviewing x = { .m = m, .a = a, .found = json_new(a, JSON_ARRAY) };
	struct json *files = json_new(a, JSON_OBJECT), *entries;
	size_t n = 0, damaged;
	char **names;
	int rc = memory_entries(m, a, &entries, &damaged, e);

	if (rc)
		return rc;
	x.entries = entries;
	x.runs = memory_runs_load(m, a);
	json_sets(a, files, "MEMORY.md", "");
	json_sets(a, files, ONTOLOGY_ENTITIES, "");
	json_sets(a, files, ONTOLOGY_RELATIONS, "");
	if (file_list(m->sys, a, m->root_fd, "memory", &names, &n, NULL))
		n = 0;
	/* By name, so the newest days are the last ones. */
	for (size_t i = n; i-- > 0 && files->n < MOST_FILES;)
		if (text_ends(names[i], ".md") && !text_eq(names[i], "README.md"))
			json_sets(a, files, arena_printf(a, "memory/%s", names[i]), "");
	json_each (row, x.runs->rows)
		json_each (one, json_get(row, "memory_outside"))
			if (memory_is_file(json_get_text(one, "file", "")))
				json_sets(a, files, json_get_text(one, "file", ""), "");
	json_each_member (file, files)
		review_file(&x, file->name);
	*ret = x.found;
	return OK;
}
