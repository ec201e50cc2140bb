/* cmd_memory_note.c — notes with a lifecycle, wording that claims too much, vaults, and the tree of summaries. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/memory.h"
#include "remember/front_matter.h"

#include <fcntl.h>
#include <string.h>

const struct opt memory_note_opts[] = {
	{ "to", OPT_VALUE, "STATE", "the state it goes to", "captured|reviewed|applied|promoted|rejected",
		false },
	{ "draft", OPT_VALUE, "TEXT", "a new text; - is standard input", NULL, false },
	{ "incident", OPT_VALUE, "ID", "why a promotion is taken back", NULL, false },
	{ 0 },
};
const struct opt lint_phrase_opts[] = {
	{ "state", OPT_VALUE, "STATE", "the state of the note that the text is about", NULL, true },
	{ "text", OPT_VALUE, "TEXT", "the text; - is standard input", NULL, true },
	{ 0 },
};
const struct opt memory_tree_status_opts[] = {
	{ "root", OPT_VALUE, "DIR", "another tree than memory/tree of the workspace", NULL, false },
	{ 0 },
};
const struct opt memory_tree_refresh_opts[] = {
	{ "trigger", OPT_VALUE, "WHAT", "why now",
		"cron|telegram_answer|task_ledger_change|obsidian_user_edit|global_compact", true },
	{ "source", OPT_VALUE, "ID", "the source whose summary it is", NULL, false },
	{ "topic", OPT_VALUE, "ID", "the topic whose summary it is", NULL, false },
	{ "text", OPT_VALUE, "TEXT", "the new summary; - is standard input; without it only times change",
		NULL, false },
	{ "linked-source", OPT_LIST, "ID", "a source that the topic rests on", NULL, false },
	{ "reason", OPT_VALUE, "TEXT", "a note for the record", NULL, false },
	{ "budget", OPT_INT, "TOKENS", "how long the page over all topics may be (default 3000)", NULL,
		false },
	{ "force", OPT_FLAG, NULL, "also over what a person edited", NULL, false },
	{ 0 },
};

/* The value of an option, or what standard input has when it is "-". */
static int text_of(struct cli *r, const char *option, const char **ret, struct err *e)
{
	const char *given = opt_text(r, option, NULL);
	struct bytes text;

	*ret = given;
	if (!given || !text_eq(given, "-"))
		return OK;
	int rc = file_read(r->sys, r->a, AT_FDCWD, "-", 1 << 20, FILE_FOLLOW, &text, e);
	if (rc == OK)
		*ret = (const char *)text.p;
	return rc;
}

/* ---- notes ---- */

static int show_note(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct front_matter f;
	struct bytes text;
	int rc = file_read(
		r->sys, r->a, r->ws->root_fd, r->args[0], MEMORY_FILE_BYTES, FILE_BENEATH, &text, e);

	if (rc)
		return rc;
	front_matter_parse(r->a, text, &f);
	struct json *problems = memory_note_problems(r->a, f.fields);
	const char *state = json_get_text(f.fields, "state", "captured");
	json_sets(r->a, doc, "file", r->args[0]);
	json_sets(r->a, doc, "state", state);
	json_sets(r->a, doc, "retention", memory_note_retention(state));
	json_setb(r->a, doc, "edited_by_person", memory_note_is_edited(r->a, f.fields, f.body));
	json_set(r->a, doc, "problems", problems);
	out_result(r, doc);
	return problems->n ? EXIT_NO : 0;
}

int cmd_memory_note(struct cli *r, struct err *e)
{
	struct note_change c = { .to = opt_text(r, "to", NULL), .incident = opt_text(r, "incident", NULL) };
	struct kernel k = { 0 };
	struct json *doc;
	int rc = text_of(r, "draft", &c.draft, e);

	c.file = path_clean(r->a, r->args[0]);
	if (!text_ends(c.file, ".md") || (!text_starts(c.file, "notes/") && !text_starts(c.file, "memory/")))
		return err_set(e, E_USAGE, "MEMORY_FILE",
			"'%s' is no note: a Markdown file below notes/ or memory/ of the workspace", c.file);
	if (rc == OK && !c.to && !c.draft)
		return show_note(r, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = memory_note(&k, r->a, &c, &doc, e);
	kernel_close(&k);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int cmd_lint_phrase(struct cli *r, struct err *e)
{
	const char *text;
	struct json *doc;
	int rc = text_of(r, "text", &text, e);

	if (rc == OK)
		rc = memory_lint(r->a, opt_text(r, "state", ""), bytes_of(text), &doc, e);
	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_GATE;
}

int cmd_validate_vault(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = memory_vault(r->sys, r->a, r->args[0], &doc, e);

	if (rc)
		return rc;
	out_result(r, doc);
	return json_get(doc, "missing")->n ? EXIT_GATE : 0;
}

/* ---- summaries ---- */

int cmd_memory_tree_status(struct cli *r, struct err *e)
{
	const char *root = opt_text(r, "root", NULL);
	struct json *doc;

	if (!root)
		root = path_join(r->a, r->ws->root, MEMORY_TREE);
	int rc = memory_tree_status(r->sys, r->a, AT_FDCWD, root, &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int cmd_memory_tree_refresh(struct cli *r, struct err *e)
{
	const char *source = opt_text(r, "source", NULL), *topic = opt_text(r, "topic", NULL), **linked;
	struct kernel k = { 0 };
	struct json *row;
	struct tree_refresh t = { .layer = source ? "source"
			: topic			  ? "topic"
						  : "global",
		.id = source ? source : topic,
		.trigger = opt_text(r, "trigger", ""),
		.reason = opt_text(r, "reason", NULL),
		.budget = opt_int(r, "budget", 0),
		.always = opt_flag(r, "force") };

	if (source && topic)
		return err_set(
			e, E_USAGE, "MEMORY_TREE", "one refresh is of a source or of a topic, not of both");
	if (t.budget < 0)
		return err_set(e, E_USAGE, "MEMORY_TREE", "--budget takes a number of tokens");
	t.linked_count = opt_list(r, "linked-source", &linked);
	t.linked = (const char *const *)linked;
	int rc = text_of(r, "text", &t.text, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = memory_tree_refresh(&k, r->a, &t, &row, e);
	kernel_close(&k);
	if (rc == OK)
		out_result(r, row);
	return rc;
}
