/* cmd_memory_write.c — helm memory: lines that are written, where they come from, and taking them back. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/memory.h"
#include "proof/preimage.h"

#include <fcntl.h>
#include <string.h>

#define REASON \
	{ \
		"reason", OPT_VALUE, "TEXT", "why", NULL, false \
	}
const struct opt memory_write_opts[] = {
	{ "layer", OPT_VALUE, "LAYER", "where to (default daily_memory)",
		"daily_memory|long_term_memory|notes|ontology", false },
	{ "file", OPT_VALUE, "FILE", "for notes: a Markdown file below notes/ or memory/", NULL, false },
	{ "text", OPT_VALUE, "TEXT", "what to remember; without it, standard input", NULL, false },
	{ "from", OPT_VALUE, "ORIGIN", "where the text comes from, when not from who writes it",
		"tool_output|fetched", false },
	{ "source", OPT_LIST, "SOURCE",
		"what it is taken from: receipt:ID, task:ID, memory:ID, file:PATH or url:ADDRESS", NULL,
		false },
	{ "task-id", OPT_VALUE, "TASK", "the task it was learned in", NULL, false },
	{ "supersedes", OPT_LIST, "ENTRY", "an entry that does not hold any more", NULL, false },
	{ "valid-from", OPT_VALUE, "TIME", "since when it holds (default now)", NULL, false },
	{ "valid-until", OPT_VALUE, "TIME", "until when it holds", NULL, false },
	{ 0 },
};
const struct opt memory_reject_opts[] = { REASON, { 0 } };
const struct opt memory_revert_opts[] = { REASON,
	{ "force", OPT_FLAG, NULL, "also lines that somebody changed since", NULL, false }, { 0 } };
const struct opt memory_merge_opts[] = {
	{ "base", OPT_VALUE, "FILE", "the text as it was when it was read", NULL, true },
	{ "input", OPT_VALUE, "FILE", "the text as it should be; - is standard input", NULL, true },
	{ 0 },
};
const struct opt memory_entries_opts[] = {
	{ "waiting", OPT_FLAG, NULL, "only what waits for a person", NULL, false },
	{ "current", OPT_FLAG, NULL, "only what holds now", NULL, false },
	{ 0 },
};

static const char *safe(struct cli *r, const struct json *obj, const char *name)
{
	const char *text = json_get_text(obj, name, "-");

	return text_safe(r->a, text, strlen(text), false);
}

/* Of its receipt, as people type it. */
static const char *short_id(struct cli *r, const struct json *obj)
{
	return json_get_text(obj, "receipt_id", NULL) ? receipt_id_short(r->a, safe(r, obj, "receipt_id"))
						      : "-";
}

/* The result of an act: the document, or its sentences.  Exit 1 when something of it could not be put in its place. */
static int show(struct cli *r, struct json *doc)
{
	bool is_kept = json_get_text(doc, "kept", NULL) || json_get(doc, "conflicts");

	if (r->is_json) {
		out_json(r, doc);
		return is_kept ? EXIT_NO : 0;
	}
	const char *status = json_get_text(doc, "status", "");
	out(r, "%s", status);
	if (json_get_text(doc, "entry", NULL))
		out(r, " %s", safe(r, doc, "entry"));
	if (json_get_text(doc, "file", NULL) && !text_eq(status, "nothing"))
		out(r, " %s", safe(r, doc, "file"));
	if (json_get_text(doc, "receipt_id", NULL))
		out(r, " (%s)", short_id(r, doc));
	out(r, "\n");
	json_each (one, json_get(doc, "entries"))
		out(r, "%s trust=%s, lines: %u (%s)\n", safe(r, one, "entry"), safe(r, one, "trust"),
			json_get(one, "lines")->n, short_id(r, one));
	if (text_eq(status, "waiting"))
		out(r, "It comes from %s, so a person decides: helm memory accept %s\n",
			safe(r, doc, "trust"), safe(r, doc, "entry"));
	json_each (one, json_get(doc, "left_out"))
		out(r, "left out, %s: %s\n", safe(r, one, "as"), safe(r, one, "why"));
	if (json_get_int(doc, "redacted", 0))
		out(r, "lines that had a secret, which was taken out: %lld\n",
			(long long)json_get_int(doc, "redacted", 0));
	if (json_get_int(doc, "left_as_edited", 0))
		out(r, "lines that somebody changed since, and that stay: %lld\n",
			(long long)json_get_int(doc, "left_as_edited", 0));
	if (is_kept)
		warn(r, "somebody else changed the same lines; theirs stand, the others are in %s",
			safe(r, doc, "kept"));
	return is_kept ? EXIT_NO : 0;
}

static bool is_blank(struct bytes text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!strchr(" \t\r\n", text.p[i]))
			return false;
	return true;
}

/* Nothing was written, and nothing waits: exit 1, unless memory says all of it already. */
static int show_written(struct cli *r, struct json *doc)
{
	const struct json *left = json_get(doc, "left_out");
	bool is_there = left && left->n;
	int rc = show(r, doc);

	if (!text_eq(json_get_text(doc, "status", ""), "nothing"))
		return rc;
	json_each (one, left)
		is_there &= text_eq(json_get_text(one, "as", ""), "duplicate") ||
			text_eq(json_get_text(one, "as", ""), "recalled");
	if (is_there)
		warn(r, "nothing was written: memory has it already");
	else
		warn(r, "nothing was written, and nothing waits for a person: %s",
			left && left->n ? safe(r, json_at(left, 0), "why") : "there was no line");
	return is_there ? rc : EXIT_NO;
}

int cmd_memory_write(struct cli *r, struct err *e)
{
	struct kernel k = { 0 };
	struct json *doc;
	const char *text = opt_text(r, "text", NULL), **sources, **old;
	struct memory_writing w = { .layer = opt_text(r, "layer", "daily_memory"),
		.file = opt_text(r, "file", NULL),
		.from = opt_text(r, "from", NULL),
		.task_id = opt_text(r, "task-id", NULL) };
	int64_t from_us = 0, until_us = 0, day_us = 0;
	int rc = opt_since(r, "valid-from", &from_us, e);

	if (rc == OK)
		rc = opt_until(r, "valid-until", &until_us, e);
	if (rc == OK)
		rc = opt_since(r, "valid-until", &day_us, e);
	if (rc)
		return rc;
	until_us -= day_us != until_us; /* the end of a day is its last moment: it is shown as that day */
	w.valid_from = opt_text(r, "valid-from", NULL) ? text_time_iso(r->a, from_us) : NULL;
	w.valid_until = opt_text(r, "valid-until", NULL) ? text_time_iso(r->a, until_us) : NULL;

	w.source_count = opt_list(r, "source", &sources);
	w.sources = (const char *const *)sources;
	w.supersedes_count = opt_list(r, "supersedes", &old);
	w.supersedes = (const char *const *)old;
	if (text)
		w.text = bytes_of(text);
	else
		rc = file_read(r->sys, r->a, AT_FDCWD, "-", 1 << 20, FILE_FOLLOW, &w.text, e);
	if (rc == OK && is_blank(w.text))
		rc = err_set(e, E_USAGE, "MEMORY_TEXT",
			"there is nothing to write down: say it with --text TEXT, or on standard input");
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = memory_write(&k, r->a, &w, &doc, e);
	kernel_close(&k);
	return rc ? rc : show_written(r, doc);
}

typedef int entry_act(struct kernel *k, struct cli *r, struct json **ret, struct err *e);

static int act_on_entry(struct cli *r, entry_act *fn, struct err *e)
{
	struct kernel k = { 0 };
	struct json *doc;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc == OK)
		rc = fn(&k, r, &doc, e);
	kernel_close(&k);
	return rc ? rc : show(r, doc);
}

static int accept_it(struct kernel *k, struct cli *r, struct json **ret, struct err *e)
{
	const char *root = arena_printf(r->a, "%s/", r->ws->root), *file = path_clean(r->a, r->args[0]);

	if (text_starts(r->args[0], "mem-"))
		return memory_accept(k, r->a, r->args[0], ret, e);
	return memory_accept_file(k, r->a, text_starts(file, root) ? file + strlen(root) : file, ret, e);
}

static int reject_it(struct kernel *k, struct cli *r, struct json **ret, struct err *e)
{
	return memory_reject(k, r->a, r->args[0], opt_text(r, "reason", NULL), ret, e);
}

static int revert_it(struct kernel *k, struct cli *r, struct json **ret, struct err *e)
{
	return memory_revert(k, r->a, r->args[0], opt_text(r, "reason", NULL), opt_flag(r, "force"), ret, e);
}

static int merge_it(struct kernel *k, struct cli *r, struct json **ret, struct err *e)
{
	struct bytes base, text;
	int rc = file_read(
		r->sys, r->a, AT_FDCWD, opt_text(r, "base", ""), MEMORY_FILE_BYTES, FILE_FOLLOW, &base, e);

	if (rc == OK)
		rc = file_read(r->sys, r->a, AT_FDCWD, opt_text(r, "input", ""), MEMORY_FILE_BYTES,
			FILE_FOLLOW, &text, e);
	return rc ? rc : memory_merge_in(k, r->a, r->args[0], base, text, ret, e);
}

int cmd_memory_accept(struct cli *r, struct err *e)
{
	return act_on_entry(r, accept_it, e);
}

int cmd_memory_reject(struct cli *r, struct err *e)
{
	return act_on_entry(r, reject_it, e);
}

int cmd_memory_revert(struct cli *r, struct err *e)
{
	return act_on_entry(r, revert_it, e);
}

int cmd_memory_merge(struct cli *r, struct err *e)
{
	return act_on_entry(r, merge_it, e);
}

/* ---- looks ---- */

static void say_entry(struct cli *r, const struct json *entry)
{
	const struct json *lines = json_get(entry, "lines");

	out(r, "%s %s trust=%s %s%s%s\n", safe(r, entry, "id"), safe(r, entry, "state"),
		safe(r, entry, "trust"), safe(r, entry, "file"),
		json_get_text(entry, "valid_until", NULL) ? " until " : "",
		json_get_text(entry, "valid_until", NULL) ? safe(r, entry, "valid_until") : "");
	json_each (line, lines)
		out(r, "  %s\n", text_safe(r->a, json_text(line), line->n, false));
}

int cmd_memory_entries(struct cli *r, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *entries, *items = json_new(r->a, JSON_ARRAY), *doc = json_new(r->a, JSON_OBJECT);
	size_t damaged;
	int rc = memory_entries(&m, r->a, &entries, &damaged, e);

	if (rc)
		return rc;
	if (damaged)
		warn(r, "lines of " MEMORY_ENTRIES " that are no rows: %zu; 'helm memory verify' names them",
			damaged);
	json_each_member (entry, entries) {
		bool is_waiting = text_eq(json_get_text(entry->value, "state", ""), "waiting");
		if ((opt_flag(r, "waiting") && !is_waiting) ||
			(opt_flag(r, "current") && !memory_entry_holds(entry->value, r->sys->now_us(r->sys))))
			continue;
		json_push(r->a, items, entry->value);
	}
	json_seti(r->a, doc, "count", items->n);
	json_set(r->a, doc, "items", items);
	if (r->is_json) {
		out_json(r, doc);
		return OK;
	}
	json_each (entry, items)
		say_entry(r, entry);
	if (!items->n)
		out(r, "no entries\n");
	return OK;
}

int cmd_memory_blame(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "LINE", "WHO", "WHEN", "RECEIPT", "STATE", "TEXT" };
	struct memory_place m = memory_place_of(r->sys, r->ws);
	const char *root = arena_printf(r->a, "%s/", r->ws->root), *file = path_clean(r->a, r->args[0]);
	struct json *doc;
	int rc = memory_blame(&m, r->a, text_starts(file, root) ? file + strlen(root) : file, &doc, e);

	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, doc);
		return OK;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (line, json_get(doc, "lines")) {
		const char *when = json_get_text(line, "timestamp", json_get_text(line, "last_run_at", "-"));
		const char *cells[] = { arena_printf(r->a, "%lld", (long long)json_get_int(line, "line", 0)),
			safe(r, line, "writer"), arena_strndup(r->a, when, strnlen(when, 19)),
			short_id(r, line), safe(r, line, "state"), safe(r, line, "text") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return OK;
}

int cmd_memory_verify(struct cli *r, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *doc;
	int rc = memory_verify(&m, r->a, &doc, e);

	if (rc)
		return rc;
	bool is_ok = json_get_bool(doc, "ok", false);
	if (r->is_json) {
		out_json(r, doc);
		return is_ok ? 0 : EXIT_NO;
	}
	json_each (f, json_get(doc, "findings"))
		out(r, "%s %s %s: %s\n", safe(r, f, "severity"), safe(r, f, "kind"), safe(r, f, "entry"),
			safe(r, f, "detail"));
	out(r, "%s: %lld entries, each against its receipt, its sources and its file\n",
		is_ok ? "memory is as it was recorded" : "memory is not as it was recorded",
		(long long)json_get_int(doc, "entries", 0));
	return is_ok ? 0 : EXIT_NO;
}
