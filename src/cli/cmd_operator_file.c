/* cmd_operator_file.c — operator-file list, accept, reset: documents by which operators decide who may do what, when they are damaged. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/operator_files.h"

const struct opt operator_file_opts[] = {
	PERSON_KEY,
	{ 0 },
};

enum { SHOWN_BYTES = 8192 };

static int list_files(struct cli *r)
{
	static const char *const headings[] = { "NAME", "STATE", "WHAT IT HOLDS", "FILE" };
	struct json *list = operator_files_list(r->sys, r->a, r->ws);
	bool is_sound = true;

	json_each (row, list)
		is_sound &= !text_eq(json_get_text(row, "state", ""), "damaged");
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_setb(r->a, doc, "sound", is_sound);
		json_set(r->a, doc, "files", list);
		out_json(r, doc);
		return is_sound ? 0 : EXIT_NO;
	}
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (row, list) {
		const char *cells[] = { json_get_text(row, "name", ""), json_get_text(row, "state", ""),
			json_get_text(row, "about", ""), json_get_text(row, "file", "") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	json_each (row, list)
		if (json_get_text(row, "text", NULL))
			out(r, "\n%s: %s\n", json_get_text(row, "name", ""), json_get_text(row, "text", ""));
	return is_sound ? 0 : EXIT_NO;
}

/* The operator sees what it says before it counts again, and types a word. */
static int ask(struct cli *r, bool is_accept, struct err *e)
{
	const char *path, *means, *typed, *word = is_accept ? "ACCEPT" : "RESET";
	const char *const words[] = { word, NULL };
	struct person who = { 0 };
	struct bytes text;
	int rc = operator_file_show(r->sys, r->a, r->ws, r->args[1], &path, &text, &means, e);

	if (rc == OK)
		rc = person_open(r->sys, r->a, r->ws, opt_text(r, "key", NULL), &who, e);
	if (rc == OK && is_accept)
		rc = person_may_loosen(r->sys, r->a, r->ws, e);
	const bool has_key = who.key;
	key_free(&who.key);
	if (rc || has_key) /* a registered key has answered */
		return rc;
	size_t n = text.n < SHOWN_BYTES ? text.n : SHOWN_BYTES;
	const char *says = is_accept ? arena_printf(r->a, "%s\n%s%s\nThis counts from now on.", path,
					       text_safe(r->a, (const char *)text.p, n, true),
					       n < text.n ? "\n(more follows)" : "")
				     : arena_printf(r->a, "%s is put aside. %s", path, means);
	return approver_says(r,
		       arena_printf(r->a, "%s\nType %s to go on, anything else to leave it: ", says, word),
		       words, &typed)
		? OK
		: err_set(e, E_INPUT, "APPROVAL_UNCONFIRMED", "nothing was changed");
}

int cmd_operator_file(struct cli *r, struct err *e)
{
	const char *action = r->args[0], *aside = NULL;
	const bool is_accept = text_eq(action, "accept");

	if (text_eq(action, "list") && r->arg_count == 1)
		return list_files(r);
	if ((!is_accept && !text_eq(action, "reset")) || r->arg_count != 2)
		return err_set(e, E_USAGE, "USAGE_ACTION", "say: list, or accept NAME, or reset NAME");
	int rc = ask(r, is_accept, e);
	if (rc == OK)
		rc = is_accept ? operator_file_accept(r->sys, r->a, r->ws, r->args[1], e)
			       : operator_file_reset(r->sys, r->a, r->ws, r->args[1], &aside, e);
	if (rc)
		return rc;
	if (!r->is_json && aside)
		out(r, "What was there lies in %s\n", aside);
	(void)list_files(r);
	return 0;
}
