/* cmd_checkpoint.c — checkpoint create, list, show, preview, restore.
 *
 * The work is done in execute/checkpoint; here options become requests, and results become text or JSON. A
 * restore changes files, so on a terminal it shows its plan and asks, it saves what it replaces unless
 * that is declined, and it writes a row to the task ledger before and after, so that a crash in the middle
 * can be seen. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/workspace.h"
#include "record/record.h"
#include "verify/verify.h"

#include <inttypes.h>

/* A screen's worth; --json lists everything. */
enum { SHOWN_MAX = 40 };

const struct opt checkpoint_create_opts[] = {
	{ "label", OPT_VALUE, "NAME",
		"name of the checkpoint: letters, digits, '.', '_', '-' (default: manual)", NULL, false },
	{ "include", OPT_LIST, "PATH", "save this file or directory; without it, the whole workspace", NULL,
		false },
	{ "exclude", OPT_LIST, "GLOB", "leave out what matches, as a line of .gitignore would", NULL, false },
	{ "include-git", OPT_FLAG, NULL, "save version-control directories, too", NULL, false },
	{ "include-state", OPT_FLAG, NULL, "save Helm's own state, too (never put back by a restore)", NULL,
		false },
	{ "task-id", OPT_VALUE, "ID", "the task this checkpoint belongs to", NULL, false },
	{ "dry-run", OPT_FLAG, NULL, "say what would be saved; write nothing", NULL, false },
	{ 0 },
};
const struct opt checkpoint_list_opts[] = {
	{ "limit", OPT_INT, "N", "show the newest N (default 20; 0: all)", NULL, false },
	{ 0 },
};
const struct opt checkpoint_preview_opts[] = {
	{ "diff", OPT_FLAG, NULL, "say how each file stands against the disk, and show text changes", NULL,
		false },
	{ "only", OPT_LIST, "PATH", "look at this file or directory only", NULL, false },
	{ 0 },
};
const struct opt checkpoint_restore_opts[] = {
	CONFIRM_OPTIONS,
	{ "only", OPT_LIST, "PATH", "restore this file or directory only", NULL, false },
	{ "delete-new", OPT_FLAG, NULL, "remove files that the checkpoint does not have", NULL, false },
	{ "no-backup", OPT_FLAG, NULL, "do not save what is about to be replaced", NULL, false },
	{ "include-git", OPT_FLAG, NULL, "restore version-control directories, too", NULL, false },
	{ "all-links", OPT_FLAG, NULL, "restore links that lead outside the workspace, too", NULL, false },
	{ "verify", OPT_FLAG, NULL,
		"read every file, also those that look the same, and read back what was written", NULL,
		false },
	{ "set-ids", OPT_FLAG, NULL,
		"restore set-user-id and set-group-id bits of files, too; a person's to ask", NULL, false },
	{ 0 },
};

/* ---- what all of them need ---- */

/* Does the store of the tree lack the checkpoint that was named, and has the workspace's own one it? */
static bool is_of_workspace(struct cli *r, struct checkpoint_store *st)
{
	AUTO(checkpoint_close) struct checkpoint_store own = { .dir_fd = -1 };
	struct err e = { 0 };
	struct json *v;

	if (!text_starts(r->cmd->args, "CHECKPOINT") || text_eq(r->ws->tree, r->ws->root) ||
		text_eq(r->args[0], "latest") || checkpoint_find(st, r->args[0], &v, &e) != E_MISSING)
		return false;
	return checkpoint_open(&own, r->sys, r->a, r->ws->root_fd, r->ws->state_fd, r->ws->state_name, &e) ==
		OK &&
		checkpoint_find(&own, r->args[0], &v, &e) == OK;
}

/* Opens the store of the tree the user stands in, or of the workspace that --path names: whoever names a workspace means its own files.  Where
 * nothing can be saved from, and for a checkpoint that only the workspace has, it is the workspace's, too.  Only `create` may make a store that is
 * not there. */
int checkpoint_cli_open(struct cli *r, struct checkpoint_store *st, struct err *e)
{
	const bool creates = text_eq(r->cmd->is->name, "checkpoint create");

	if (!r->path_option)
		workspace_stand(r->sys, r->a, r->ws, NULL);
	if (r->ws->no_tree && !creates)
		workspace_leave(&r->ws);
	int rc = workspace_checkpoints(r->sys, r->a, r->ws, creates && !opt_flag(r, "dry-run"), st, e);
	if (rc || !is_of_workspace(r, st))
		return rc;
	checkpoint_close(st);
	workspace_leave(&r->ws);
	return workspace_checkpoints(r->sys, r->a, r->ws, false, st, e);
}

/* `--include $HELM_WORKSPACE` names the workspace as --path does: its own files are saved, wherever one stands. */
static void take_named_workspace(struct cli *r, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (paths[i][0] != '/' ||
			!path_is_below(workspace_named(r->sys, r->a, paths[i]), r->ws->root))
			return;
	if (n && !r->path_option)
		r->path_option = r->ws->root;
}

/* Paths as people give them, relative to the workspace or absolute inside it, as paths relative to it. */
static int inside(struct cli *r, const char **paths, size_t n, const char ***ret, struct err *e)
{
	const char **v = arena_zalloc(r->a, n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		const char *path = path_clean(r->a, paths[i]);
		if (path[0] == '/') {
			if (!path_is_below(path, r->ws->tree))
				path = workspace_named(r->sys, r->a, path);
			if (!path_is_below(path, r->ws->tree))
				return err_set(e, E_INPUT, "CHECKPOINT_PATH",
					"'%s' is outside the workspace %s", paths[i], r->ws->tree);
			/* Below the tree: what is left is relative to it. */
			path += strlen(r->ws->tree);
			path += *path == '/';
		}
		v[i] = *path ? path : ".";
	}
	*ret = v;
	return OK;
}

/* One digit behind the point below ten: "1.5 MiB", "12 MiB". */
const char *checkpoint_size_text(struct arena *a, int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double n = (double)bytes;
	size_t unit = 0;

	while (n >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		n /= 1024;
		unit++;
	}
	return arena_printf(a, unit && n < 10 ? "%.1f %s" : "%.0f %s", n, units[unit]);
}

/* A short age for a table; "-" when the time cannot be read. */
static const char *age_text(struct cli *r, const char *created)
{
	int64_t us, seconds;

	if (!text_parse_time(created, strlen(created), &us))
		return "-";
	seconds = (r->sys->now_us(r->sys) - us) / 1000000;
	if (seconds < 120)
		return arena_printf(r->a, "%" PRId64 " s", seconds < 0 ? 0 : seconds);
	if (seconds < 7200)
		return arena_printf(r->a, "%" PRId64 " min", seconds / 60);
	if (seconds < 172800)
		return arena_printf(r->a, "%" PRId64 " h", seconds / 3600);
	return arena_printf(r->a, "%" PRId64 " d", seconds / 86400);
}

static const char *safe(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

/* The paths that were chosen, as they were given. */
static const char *paths_text(struct cli *r, const struct json *record)
{
	struct buf to;

	buf_init(&to, r->a);
	json_each (path, json_get(record, "paths"))
		buf_addf(&to, "%s%s", to.n ? " " : "", json_text(path) ? safe(r, json_text(path)) : "?");
	return to.n ? to.p : "-";
}

/* ---- create ---- */

/* Files that could not be saved are always told: a checkpoint that lacks them must not look complete. */
static struct json *skipped_json(struct cli *r, const struct checkpoint_result *made)
{
	struct json *list = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < made->skipped_count; i++) {
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "path", safe(r, made->skipped[i].path));
		json_sets(r->a, row, "reason", made->skipped[i].reason);
		json_push(r->a, list, row);
	}
	return list;
}

/* What was saved, what it cost, and how to go back. */
static void say_created(struct cli *r, const struct checkpoint_result *made)
{
	out(r, "%s%s%s: %" PRIu64 " file%s, %s%s\n", paint(r, PAINT_ACCENT), made->id, paint(r, PAINT_OFF),
		made->files, made->files == 1 ? "" : "s", checkpoint_size_text(r->a, (int64_t)made->bytes),
		made->is_same ? ", the same as the last one" : "");
	out(r, "saved %s\n", safe(r, r->ws->tree));
	out(r, "read %" PRIu64 " changed file%s, stored %s", made->read_files,
		made->read_files == 1 ? "" : "s", checkpoint_size_text(r->a, (int64_t)made->stored_bytes));
	out(r,
		made->excluded ? "; left out %" PRIu64
				 " (version control, caches: 'helm checkpoint create --help')\n"
			       : "\n",
		made->excluded);
	out(r, "\ngo back with:\n  %s\n",
		hint(r, arena_printf(r->a, "helm checkpoint restore %s", made->id)));
}

/* The same numbers as a real checkpoint, without one. */
static int say_dry_run(struct cli *r, const struct checkpoint_result *made)
{
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_setb(r->a, doc, "dry_run", true);
		json_sets(r->a, doc, "root", safe(r, r->ws->tree));
		json_seti(r->a, doc, "files", (int64_t)made->files);
		json_seti(r->a, doc, "directories", (int64_t)made->directories);
		json_seti(r->a, doc, "links", (int64_t)made->links);
		json_seti(r->a, doc, "bytes", (int64_t)made->bytes);
		json_seti(r->a, doc, "read_files", (int64_t)made->read_files);
		json_seti(r->a, doc, "read_bytes", (int64_t)made->read_bytes);
		json_seti(r->a, doc, "excluded", (int64_t)made->excluded);
		json_set(r->a, doc, "skipped", skipped_json(r, made));
		out_json(r, doc);
		return 0;
	}
	out(r, "would save %s: %" PRIu64 " file%s, %s; new or changed: %" PRIu64 " (%s)\n",
		safe(r, r->ws->tree), made->files, made->files == 1 ? "" : "s",
		checkpoint_size_text(r->a, (int64_t)made->bytes), made->read_files,
		checkpoint_size_text(r->a, (int64_t)made->read_bytes));
	return 0;
}

/* Warnings come before the result, for a dry run as well. */
int cmd_checkpoint_create(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	const char **given, **paths;
	size_t n = opt_list(r, "include", &given);
	struct shown shown = { .r = r };
	struct checkpoint_progress progress = { show_step, &shown };
	struct checkpoint_result made;

	take_named_workspace(r, given, n);
	if (checkpoint_cli_open(r, &st, e) || inside(r, given, n, &paths, e))
		return e->rc;
	struct checkpoint_request q = { .label = opt_text(r, "label", "manual"),
		.task_id = opt_text(r, "task-id", NULL),
		.paths = paths,
		.path_count = n,
		.include_git = opt_flag(r, "include-git"),
		.include_state = opt_flag(r, "include-state"),
		.is_dry_run = opt_flag(r, "dry-run"),
		.progress = &progress };
	const char **excludes;
	q.exclude_count = opt_list(r, "exclude", &excludes);
	q.excludes = excludes;
	int rc = checkpoint_create(&st, &q, &made, e);
	show_end(&shown);
	if (rc)
		return rc;
	for (size_t i = 0; i < made.skipped_count; i++)
		warn(r, "not saved: %s (%s)", safe(r, made.skipped[i].path), made.skipped[i].reason);
	if (made.unstable)
		warn(r,
			made.unstable == 1 ? "%" PRIu64 " file changed while it was read; it is marked"
					   : "%" PRIu64
					     " files changed while they were read; they are marked",
			made.unstable);
	/* Damage that was found on the way is told even when the checkpoint itself is whole. */
	if (made.repaired || made.damaged_packs)
		warn(r,
			"the store was damaged: %" PRIu64 " objects and %" PRIu64
			" packs; what they held of these files was saved again, older checkpoints may have "
			"lost files",
			made.repaired, made.damaged_packs);
	if (made.healed)
		warn(r, "%s", made.healed);
	if (q.is_dry_run)
		return say_dry_run(r, &made);
	json_sets(r->a, made.record, "root", safe(r, r->ws->tree));
	if (r->is_json)
		out_json(r, made.record);
	else
		say_created(r, &made);
	return 0;
}

/* ---- list, show ---- */

/* Two members say it: `retention` is how older records spelled it. */
static bool is_pinned(const struct json *record)
{
	return json_get_bool(record, "pinned", false) ||
		text_eq(json_get_text(record, "retention", ""), "pinned");
}

/* Records of older versions lack some members; they show "-". */
static void put_row(struct cli *r, struct out_table *t, const struct json *v)
{
	int64_t files = json_get_int(v, "files", -1), bytes = json_get_int(v, "bytes", -1);
	const char *cells[] = { safe(r, json_get_text(v, "checkpoint_id", "?")),
		safe(r, json_get_text(v, "label", "-")),
		files < 0 ? "-" : arena_printf(r->a, "%" PRId64, files),
		bytes < 0 ? "-" : checkpoint_size_text(r->a, bytes),
		age_text(r, json_get_text(v, "created_at", "")), is_pinned(v) ? "pinned" : "-",
		paths_text(r, v) };
	const enum paint paints[ARRAY_SIZE(cells)] = { PAINT_ACCENT };

	out_row(t, cells, paints);
}

/* The newest come last, so that they stand next to the prompt. */
static void show_list(struct cli *r, const struct json *all, int64_t limit)
{
	static const char *const headings[] = { "ID", "LABEL", "FILES", "SIZE", "AGE", "KEPT", "PATHS" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	uint32_t first = limit && all->n > limit ? all->n - (uint32_t)limit : 0;

	for (uint32_t i = first; i < all->n; i++)
		put_row(r, t, json_at(all, i));
	out_table_end(t);
	if (first)
		out(r, "%u of %u, all with --limit 0\n", all->n - first, all->n);
}

/* Whoever works in a project sees those of the workspace itself, too: a list of none is not the whole answer. */
static int list_own(struct cli *r, struct json **ret, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store own = { .dir_fd = -1 };

	*ret = json_new(r->a, JSON_ARRAY);
	if (text_eq(r->ws->tree, r->ws->root))
		return OK;
	int rc = checkpoint_open(&own, r->sys, r->a, r->ws->root_fd, r->ws->state_fd, r->ws->state_name, e);
	return rc ? rc : checkpoint_list(&own, ret, e);
}

int cmd_checkpoint_list(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	int64_t limit = opt_int(r, "limit", 20);
	struct json *all, *own, *shown = json_new(r->a, JSON_ARRAY);

	if (limit < 0)
		return err_set(e, E_USAGE, "USAGE", "--limit must be 0 or more");
	if (checkpoint_cli_open(r, &st, e) || checkpoint_list(&st, &all, e) || list_own(r, &own, e))
		return e->rc;
	if (r->is_json) {
		const uint32_t n = own->n + all->n;
		for (uint32_t i = limit && n > limit ? n - (uint32_t)limit : 0; i < n; i++)
			json_push(r->a, shown, i < own->n ? json_at(own, i) : json_at(all, i - own->n));
		out_json(r, shown);
		return 0;
	}
	if (!all->n)
		out(r, "no checkpoints of %s yet; `helm checkpoint create` makes one\n",
			safe(r, r->ws->tree));
	else
		show_list(r, all, limit);
	if (own->n) {
		out(r, "\nOf the workspace itself, %s:\n", safe(r, r->ws->root));
		show_list(r, own, limit);
	}
	return 0;
}

/* Every member of the record, and the two commands that use it. */
int cmd_checkpoint_show(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct json *v;

	if (checkpoint_cli_open(r, &st, e) || checkpoint_find(&st, r->args[0], &v, e))
		return e->rc;
	if (r->is_json) {
		out_json(r, v);
		return 0;
	}
	json_each_member (m, v) {
		struct buf text;
		buf_init(&text, r->a);
		if (json_text(m->value))
			buf_adds(&text, safe(r, json_text(m->value)));
		else
			json_write(&text, m->value, JSON_SPACED);
		out(r, "%s=%s\n", m->name, text.p);
	}
	const char *id = json_get_text(v, "checkpoint_id", "");
	out(r, "preview=%s\n", hint(r, arena_printf(r->a, "helm checkpoint preview %s --diff", id)));
	out(r, "restore=%s\n", hint(r, arena_printf(r->a, "helm checkpoint restore %s", id)));
	return 0;
}

/* ---- preview and restore ---- */

/* Files that are as they were saved are listed only when asked for. */
static struct json *changes_json(struct cli *r, const struct checkpoint_restored *back, bool with_same)
{
	struct json *list = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < back->change_count; i++) {
		const struct checkpoint_change *c = &back->changes[i];
		if (c->state == CHECKPOINT_SAME && !with_same)
			continue;
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "path", safe(r, c->path));
		json_sets(r->a, row, "state", checkpoint_state_name(c->state));
		json_sets(r->a, row, "kind", c->kind);
		json_seti(r->a, row, "size", (int64_t)c->size);
		if (c->note)
			json_sets(r->a, row, "note", c->note);
		if (c->is_missed)
			json_setb(r->a, row, "not_back", true);
		if (c->is_binary)
			json_setb(r->a, row, "binary", true);
		if (c->diff)
			json_sets(r->a, row, "diff", text_safe(r->a, c->diff, strlen(c->diff), true));
		json_push(r->a, list, row);
	}
	return list;
}

/* The order is that of enum checkpoint_state. */
static enum paint state_paint(enum checkpoint_state s)
{
	static const enum paint paints[] = { PAINT_MUTED, PAINT_WARN, PAINT_WARN, PAINT_BAD, PAINT_GOOD,
		PAINT_MUTED };
	TABLE_COVERS(paints, CHECKPOINT_STATES);

	return paints[s];
}

/* Colours by the first letter of each line, as every diff is coloured. */
static void put_diff(struct cli *r, const char *diff)
{
	struct bytes rest = bytes_of(diff);

	while (rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		enum paint p = !line.n	   ? PAINT_OFF
			: line.p[0] == '+' ? PAINT_GOOD
			: line.p[0] == '-' ? PAINT_BAD
			: line.p[0] == '@' ? PAINT_ACCENT
					   : PAINT_OFF;
		out(r, "%s%s%s\n", paint(r, p), text_safe(r->a, (const char *)line.p, line.n, false),
			paint(r, PAINT_OFF));
	}
}

/* "left alone" explains what a restore will not touch. */
static void put_change(struct cli *r, const struct checkpoint_change *c)
{
	bool is_left = c->note && !(c->state == CHECKPOINT_NEW && text_eq(c->note, "new"));

	out(r, "%s%-8s%s %s%s%s%s\n", paint(r, state_paint(c->state)), checkpoint_state_name(c->state),
		paint(r, PAINT_OFF), safe(r, c->path), text_eq(c->kind, "dir") ? "/" : "",
		is_left ? glyph(r, "  — left alone: ", "  - left alone: ") : "", is_left ? c->note : "");
	if (c->diff)
		put_diff(r, c->diff);
	else if (c->is_binary)
		out(r, "  (binary, or too large to compare line by line)\n");
}

/* Entries that are as they were saved are not listed, and what is not back has its own list (say_missed). What is beyond `max` is
 * counted. */
static void put_changes(struct cli *r, const struct checkpoint_restored *back, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < back->change_count; i++) {
		if (back->changes[i].state == CHECKPOINT_SAME || back->changes[i].is_missed)
			continue;
		if (n++ < max)
			put_change(r, &back->changes[i]);
	}
	if (n > max)
		out(r, "... and %zu more; --json lists them all\n", n - max);
}

/* Every path that was asked for and is not back, with the reason; on stderr, where a script's output does not hide them. */
static void say_missed(struct cli *r, const struct checkpoint_restored *back, bool is_dry_run)
{
	size_t shown = 0;

	for (size_t i = 0; i < back->change_count; i++) {
		const struct checkpoint_change *c = &back->changes[i];
		if (c->is_missed && shown++ < SHOWN_MAX)
			warn(r, "%s: %s (%s)", is_dry_run ? "would not come back" : "not back",
				safe(r, c->path), safe(r, c->note));
	}
	if (shown > SHOWN_MAX)
		warn(r, "and %zu more; --json lists them all", shown - SHOWN_MAX);
}

/* What the checkpoint holds: everything except files that are only on disk. */
static struct json *files_json(struct cli *r, const struct checkpoint_restored *back)
{
	struct json *files = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < back->change_count; i++)
		if (back->changes[i].state != CHECKPOINT_NEW)
			json_pushs(r->a, files, safe(r, back->changes[i].path));
	return files;
}

/* A restore that changes nothing, over everything that was saved, including what a real restore leaves
 * alone by default. */
int cmd_checkpoint_preview(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	bool with_diff = opt_flag(r, "diff");
	struct checkpoint_restored back;
	const char **given, **only;
	size_t n = opt_list(r, "only", &given);

	if (checkpoint_cli_open(r, &st, e) || inside(r, given, n, &only, e))
		return e->rc;
	struct checkpoint_restore q = { .id = r->args[0],
		.only = only,
		.only_count = n,
		.is_dry_run = true,
		/* A preview shows everything that was saved, also what a restore would leave alone. */
		.include_git = true,
		.include_state = true,
		.all_links = true,
		.set_ids = true,
		.with_diff = with_diff };
	if (checkpoint_restore(&st, &q, &back, e))
		return e->rc;
	if (!r->is_json) {
		r->is_document = with_diff;
		put_changes(r, &back, with_diff ? SIZE_MAX : SHOWN_MAX);
		out(r, "%s%" PRIu64 " of %zu entries are as they were saved\n",
			back.unchanged == back.change_count ? "" : "\n", back.unchanged, back.change_count);
		say_missed(r, &back, true);
		return 0;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_set(r->a, doc, "checkpoint", back.record);
	json_set(r->a, doc, "files", files_json(r, &back));
	if (with_diff)
		json_set(r->a, doc, "changes", changes_json(r, &back, true));
	out_json(r, doc);
	return 0;
}

/* One row of the task ledger when a restore begins and one when it is done. */
struct row_writer {
	struct cli *r;
	char *task_id, *started_at;
	struct open_run open; /* so that a restore that died is recognised as dead */
	struct json *begun; /* the first row; NULL before it is written */
	struct json *digests; /* of the rows, for the receipt */
};

static int add_row(struct row_writer *w, const struct json *row, struct err *e)
{
	char digest[SHA256_HEX];
	int rc = ledger_append(w->r->sys, w->r->a, w->r->ws->state_fd, TASK_LEDGER, row, digest, e);

	if (rc == OK)
		json_pushs(w->r->a, w->digests, digest);
	return rc;
}

static int write_row(void *arg, const struct json *row, struct err *e)
{
	struct row_writer *w = arg;
	struct cli *r = w->r;
	bool is_done = text_eq(json_get_text(row, "stage", ""), "finished");
	int64_t missed = json_get_int(row, "not_back", 0);
	struct json *task = json_new(r->a, JSON_OBJECT);
	const char *id = json_get_text(row, "checkpoint_id", "");
	const char *now = text_time_iso(r->a, r->sys->now_us(r->sys));

	/* The first row; the second one keeps its time. */
	if (!w->started_at)
		w->started_at = arena_strdup(r->a, now);
	if (!is_done && w->open.fd < 0 && open_run_begin(r->sys, r->ws->state_fd, w->task_id, &w->open, e))
		return e->rc;
	json_sets(r->a, task, "task_id", w->task_id);
	json_set(r->a, task, "task_name", json_stringf(r->a, "checkpoint restore %s", id));
	json_set(r->a, task, "command_preview", json_stringf(r->a, "helm checkpoint restore %s", id));
	json_sets(r->a, task, "status", !is_done ? "running" : missed ? "failed" : "completed");
	if (is_done && missed) {
		const struct json *first = json_at(json_get(row, "not_back_first"), 0);
		json_sets(r->a, task, "failure_stage", "execution");
		json_set(r->a, task, "failure_reason",
			json_stringf(r->a, "partial: %" PRId64 " not back, the first is %s (%s)", missed,
				json_get_text(first, "path", "?"), json_get_text(first, "reason", "?")));
	}
	json_sets(r->a, task, "started_at", w->started_at);
	json_seti(r->a, task, "pid", getpid());
	json_seti(r->a, task, "pid_start", proc_start_ticks(r->sys, 0));
	if (w->open.fd >= 0)
		json_sets(r->a, task, "open_run", w->open.name);
	if (is_done)
		json_sets(r->a, task, "finished_at", now);
	json_set(r->a, task, "restore", json_copy(r->a, row));
	int rc = add_row(w, task, e);
	if (rc == OK && is_done)
		open_run_end(r->sys, r->ws->state_fd, &w->open);
	if (rc == OK)
		w->begun = is_done ? NULL : task;
	return rc;
}

/* A restore that failed on the way says so; when not even that can be written, the next run does. */
static void write_failure(struct row_writer *w, const char *why)
{
	struct cli *r = w->r;
	struct err late = { 0 };

	if (w->begun) {
		json_sets(r->a, w->begun, "status", "failed");
		json_sets(r->a, w->begun, "failure_stage", "execution");
		json_sets(r->a, w->begun, "failure_reason", why);
		json_sets(r->a, w->begun, "finished_at", text_time_iso(r->a, r->sys->now_us(r->sys)));
		if (add_row(w, w->begun, &late) == OK)
			open_run_end(r->sys, r->ws->state_fd, &w->open);
	}
	close_fd(&w->open.fd);
}

/* Always ends with the way back, when there is one. */
static void say_restored(
	struct cli *r, const struct checkpoint_restored *back, bool is_dry_run, bool was_shown)
{
	if (!was_shown)
		put_changes(r, back, SHOWN_MAX);
	json_each (path, back->leftovers)
		out(r, "%s leftover %s\n", is_dry_run ? "would remove" : "removed", json_text(path));
	if (is_dry_run) {
		out(r, "\nnothing was changed; %" PRIu64 " entries are as they were saved\n",
			back->unchanged);
		return;
	}
	out(r,
		"%swritten=%" PRIu64 " touched=%" PRIu64 " deleted=%" PRIu64 " unchanged=%" PRIu64
		" skipped=%" PRIu64 " not_back=%" PRIu64 "\n",
		was_shown ? "" : "\n", back->written, back->touched, back->deleted, back->unchanged,
		back->skipped, back->missed);
	if (opt_flag(r, "verify"))
		out(r, "verified=%" PRIu64 "\n", back->verified);
	if (back->backup_id)
		out(r, "undo with:\n  %s\n",
			hint(r, arena_printf(r->a, "helm checkpoint restore %s", back->backup_id)));
}

/* Only what was changed is listed. */
static struct json *restored_json(struct cli *r, const struct checkpoint_restored *back, bool is_dry_run)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_set(r->a, doc, "checkpoint", back->record);
	json_setb(r->a, doc, "dry_run", is_dry_run);
	json_sets(r->a, doc, "backup", back->backup_id);
	json_seti(r->a, doc, "written", (int64_t)back->written);
	json_seti(r->a, doc, "touched", (int64_t)back->touched);
	json_seti(r->a, doc, "deleted", (int64_t)back->deleted);
	json_seti(r->a, doc, "unchanged", (int64_t)back->unchanged);
	json_seti(r->a, doc, "skipped", (int64_t)back->skipped);
	json_seti(r->a, doc, "not_back", (int64_t)back->missed);
	if (opt_flag(r, "verify"))
		json_seti(r->a, doc, "verified", (int64_t)back->verified);
	json_set(r->a, doc, "leftovers", back->leftovers);
	json_set(r->a, doc, "changes", changes_json(r, back, false));
	return doc;
}

/* On a terminal a person may have mistyped the id, so the plan is shown and asked about. Scripts are not
 * asked. */
static bool is_confirmed(struct cli *r, struct checkpoint_store *st, struct checkpoint_restore q,
	bool *ret_shown, struct err *e)
{
	struct checkpoint_restored plan;

	if (opt_flag(r, "yes") || !confirm_can_ask(r))
		return true;
	/* The plan is the restore itself, run without changing anything, so it cannot differ from it. */
	q.is_dry_run = true;
	if (checkpoint_restore(st, &q, &plan, e))
		return true; /* the restore itself will say what is wrong */
	out(r, "What differs from the checkpoint (new files %s):\n",
		q.delete_new ? "go" : "stay, unless --delete-new");
	put_changes(r, &plan, SHOWN_MAX);
	say_missed(r, &plan, true);
	*ret_shown = true;
	return confirm_asks(
		r, arena_printf(r->a, "\nrestore %s?", json_get_text(plan.record, "checkpoint_id", "")));
}

/* The id of the task is made first, so that the rows before and after carry the same one. */
int cmd_checkpoint_restore(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct row_writer writer = { .r = r, .open = { .fd = -1 }, .digests = json_new(r->a, JSON_ARRAY) };
	struct shown shown = { .r = r };
	struct checkpoint_progress progress = { show_step, &shown };
	struct checkpoint_restored back;
	const char **given, **only;
	size_t n = opt_list(r, "only", &given);
	bool was_shown = false;

	if (checkpoint_cli_open(r, &st, e) || inside(r, given, n, &only, e) ||
		record_new_task_id(r->a, r->sys, &writer.task_id, e))
		return e->rc;
	struct checkpoint_restore q = { .id = r->args[0],
		.only = only,
		.only_count = n,
		.delete_new = opt_flag(r, "delete-new"),
		.no_backup = opt_flag(r, "no-backup"),
		.include_git = opt_flag(r, "include-git"),
		.all_links = opt_flag(r, "all-links"),
		.set_ids = opt_flag(r, "set-ids"),
		.verify = opt_flag(r, "verify"),
		.is_dry_run = opt_flag(r, "dry-run"),
		.progress = &progress,
		.record = write_row,
		.record_arg = &writer };
	if (q.set_ids && !q.is_dry_run && person_is_there(r, e))
		return e->rc;
	if (!q.is_dry_run && !is_confirmed(r, &st, q, &was_shown, e)) {
		out(r, "nothing was changed\n");
		return EXIT_NO;
	}
	int rc = checkpoint_restore(&st, &q, &back, e);
	show_end(&shown);
	if (rc)
		write_failure(&writer, e->text);
	if (writer.digests->n)
		cmd_task_bind(r, "restore", writer.task_id, writer.digests);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, restored_json(r, &back, q.is_dry_run));
	else
		say_restored(r, &back, q.is_dry_run, was_shown);
	say_missed(r, &back, q.is_dry_run);
	return back.missed ? EXIT_NO : 0;
}
