/* complete.c — what may be typed next: words of the table, and names of what is there.
 *
 * The shells' scripts ask the program itself (`helm completion words -- WORD...`), which answers from the
 * table, the ends of the ledgers and small files, in a few milliseconds. A person who presses Tab asked no
 * question: whatever fails here means that nothing is offered, and no error is printed.
 *
 * Names come from files that agents may write, and a shell inserts them into a command line. So only names
 * that are one harmless word are offered. */
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/cmd_actions.h"
#include "cli/gen.h"
#include "cli/opt.h"
#include "kernel/approval/approval.h"
#include "kernel/setup/setup.h"
#include "kernel/workspace.h"
#include "model/command.h"
#include "model/profile.h"
#include "proof/preimage.h"
#include "record/record.h"

#include <string.h>

enum { NEWEST = 50 };

/* The scripts stay small on purpose: they hand over the words and print the answers, so they need no
 * update when commands change. */
void gen_completion(struct buf *to, const char *shell)
{
	const char *name = command_program();

	if (text_eq(shell, "bash"))
		buf_addf(to,
			"# bash completion for %s\n"
			"_%s() {\n"
			"  local IFS=$'\\n'\n"
			"  COMPREPLY=($(compgen -W \"$(%s completion words -- "
			"\"${COMP_WORDS[@]:1:COMP_CWORD}\" "
			"2>/dev/null)\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
			"}\n"
			"complete -o default -F _%s %s\n",
			name, name, name, name, name);
	else if (text_eq(shell, "zsh"))
		buf_addf(to,
			"#compdef %s\n"
			"# zsh completion for %s\n"
			"_%s() {\n"
			"  local -a found\n"
			"  found=(${(f)\"$(%s completion words -- ${words[2,CURRENT]} 2>/dev/null)\"})\n"
			"  if (( $#found )); then compadd -a found; else _files; fi\n"
			"}\n"
			"if [ \"$funcstack[1]\" = \"_%s\" ]; then _%s \"$@\"; else compdef _%s %s; "
			"fi\n",
			name, name, name, name, name, name, name, name);
	else
		buf_addf(to,
			"# fish completion for %s\n"
			"function __%s_words\n"
			"  set -l words (commandline -opc) (commandline -ct)\n"
			"  %s completion words -- $words[2..-1] 2>/dev/null\n"
			"end\n"
			"complete -c %s -a '(__%s_words)'\n",
			name, name, name, name, name);
}

/* Prints a word if it begins with what was typed. */
static void offer(struct cli *r, const char *word, const char *typed)
{
	if (strncmp(word, typed, strlen(typed)) == 0)
		out(r, "%s\n", word);
}

/* Offers a name from a file. One that a terminal cannot show as it is, or that a shell would take for more
 * than one word, is not offered. */
static void offer_name(struct cli *r, const char *name, const char *typed)
{
	if (name && *name && !strpbrk(name, " \t\n'\"$`\\") &&
		text_eq(text_safe(r->a, name, strlen(name), false), name))
		offer(r, name, typed);
}

static void offer_options(struct cli *r, const struct opt *o, const char *typed)
{
	for (; o && o->name; o++)
		offer(r, arena_printf(r->a, "--%s", o->name), typed);
}

static void offer_choices(struct cli *r, const char *choices, const char *typed)
{
	struct bytes rest = bytes_of(choices);

	while (rest.p) {
		struct bytes one = text_cut(&rest, '|');
		offer(r, arena_strndup(r->a, (const char *)one.p, one.n), typed);
	}
}

/* ---- what is there ---- */

/* The workspace's profiles, or the shipped ones when there are none to read. */
static void offer_profiles(struct cli *r, const char *typed)
{
	struct profiles p;

	if (!r->ws || workspace_profiles(r->sys, r->a, r->ws, &p, NULL))
		profiles_builtin(r->a, &p);
	for (size_t i = 0; i < p.count; i++)
		offer_name(r, p.list[i].name, typed);
}

/* Every client that setup knows, once. */
static void offer_clients(struct cli *r, const char *typed)
{
	struct setup s;
	const char *last = "";

	if (!r->ws || setup_open(r->sys, r->a, r->ws, NULL, &s, NULL))
		return;
	const struct json *rows = setup_status(&s, NULL);
	json_each (row, rows) {
		const char *name = json_get_text(row, "client", "");
		if (!text_eq(name, last))
			offer_name(r, name, typed);
		last = name;
	}
}

/* A member of each row, the newest first; a name that comes several times in a row is offered once. */
static void offer_rows(struct cli *r, const struct json *rows, const char *member, const char *typed)
{
	const char *last = "";

	for (uint32_t i = rows->n; i-- > 0;) {
		const char *name = receipt_id_short(r->a, json_get_text(rows->items[i], member, ""));
		if (!text_eq(name, last))
			offer_name(r, name, typed);
		last = name;
	}
}

/* Checkpoints of the tree one stands in: by id, and by the label that a person gave. */
static void offer_checkpoints(struct cli *r, const char *typed)
{
	struct checkpoint_store st;
	struct json *rows;
	struct err e = { 0 };

	if (!r->ws || checkpoint_cli_open(r, &st, &e))
		return;
	if (checkpoint_list(&st, &rows, &e) == OK && rows->n) {
		offer(r, "latest", typed);
		offer_rows(r, rows, "checkpoint_id", typed);
		offer_rows(r, rows, "label", typed);
	}
	checkpoint_close(&st);
}

static void offer_tasks(struct cli *r, const char *typed)
{
	struct actions_place o = actions_place_from(r);
	o.is_quick = true;
	struct json *rows;

	if (actions_tasks(&o, NEWEST, &rows, NULL) == OK)
		offer_rows(r, rows, "task_id", typed);
}

struct kept {
	struct arena *a;
	struct json *rows;
};

static int keep_session(void *arg, struct json *row, struct err *e)
{
	struct kept *k = arg;

	(void)e;
	json_push(k->a, k->rows, json_copy(k->a, row));
	return OK;
}

static void offer_sessions(struct cli *r, const char *typed)
{
	struct actions_place o = actions_place_from(r);
	o.is_quick = true;
	struct kept k = { r->a, json_new(r->a, JSON_ARRAY) };
	struct part part;

	if (actions_session_list(&o, 0, NEWEST, &part, keep_session, &k, NULL) == OK)
		offer_rows(r, k.rows, "session", typed);
}

static void offer_receipts(struct cli *r, const char *typed)
{
	struct json *rows;

	if (rows_tail(r->sys, r->a, r->ws->state_fd, RECEIPTS, NEWEST, &rows, NULL) == OK)
		offer_rows(r, rows, "receipt_id", typed);
}

/* Requests or grants in this state. */
static void offer_answers(struct cli *r, bool grants, const char *state, const char *typed)
{
	struct json *doc;
	int64_t now = r->sys->now_us(r->sys);

	if (approvals_load(r->sys, r->a, r->ws, &doc, NULL))
		return;
	json_each_member (m, json_get(doc, grants ? "grants" : "requests"))
		if (text_eq((grants ? grant_state : request_state)(m->value, now), state))
			offer_name(r, m->name, typed);
}

/* `kind` is one word of a row's arguments or of an option's value, as help shows it. Most kinds need a
 * workspace with state. */
static void offer_kind(struct cli *r, const char *kind, const char *typed)
{
	if (text_eq(kind, "PROFILE"))
		offer_profiles(r, typed);
	if (text_eq(kind, "CLIENT"))
		offer_clients(r, typed);
	/* Everything below is read from the state of a workspace. */
	if (!r->ws || r->ws->state_fd < 0)
		return;
	if (text_eq(kind, "CHECKPOINT"))
		offer_checkpoints(r, typed);
	if (text_eq(kind, "TASK"))
		offer_tasks(r, typed);
	if (text_eq(kind, "SESSION"))
		offer_sessions(r, typed);
	if (text_eq(kind, "RECEIPT"))
		offer_receipts(r, typed);
	if (text_eq(kind, "REQUEST"))
		offer_answers(r, false, "pending", typed);
	if (text_eq(kind, "APPROVED"))
		offer_answers(r, false, "approved", typed);
	if (text_eq(kind, "GRANT"))
		offer_answers(r, true, "in force", typed);
}

/* Reads the same text that help shows: "REQUEST|GRANT", "[CLIENT]", "add|list|remove [KEY]". Words in
 * capitals are kinds; others stand for themselves. */
static void offer_argument(struct cli *r, const char *args, size_t place, const char *typed)
{
	struct bytes words = bytes_of(args);
	struct bytes word = { 0 };

	for (size_t i = 0; words.p && i <= place; i++)
		word = text_cut(&words, ' ');
	char *text = arena_strndup(r->a, (const char *)word.p, word.n);
	struct bytes rest = bytes_of(text);
	while (rest.p) {
		struct bytes one = text_cut(&rest, '|');
		char *name = arena_strndup(r->a, (const char *)one.p, one.n);
		name += *name == '[';
		name[strcspn(name, "].")] = '\0';
		if (*name >= 'a' && *name <= 'z')
			offer(r, name, typed);
		else
			offer_kind(r, name, typed);
	}
}

/* The value of an option: its choices, or what the option's name or its value's name means. */
static void offer_value(struct cli *r, const struct opt *o, const char *typed)
{
	if (o->choices)
		offer_choices(r, o->choices, typed);
	else if (text_ends(o->name, "task-id"))
		offer_kind(r, "TASK", typed);
	else if (text_eq(o->name, "profile"))
		offer_kind(r, "PROFILE", typed);
	else if (text_eq(o->name, "client"))
		offer_kind(r, "CLIENT", typed);
	else if (text_eq(o->name, "session"))
		offer_kind(r, "SESSION", typed);
	else if (text_eq(o->name, "approval-id"))
		offer_kind(r, "APPROVED", typed);
	else
		offer_kind(r, o->value, typed);
}

/* ---- where the cursor stands ---- */

/* Plumbing is not offered: it is for scripts. */
static void offer_commands(struct cli *r, const char *typed)
{
	for (size_t i = 0; i < command_count; i++)
		if (!strchr(commands[i]->is->name, ' ') && commands[i]->is->group != GROUP_PLUMBING)
			offer(r, commands[i]->is->name, typed);
	for (size_t i = 0; i < family_count; i++)
		offer(r, families[i].name, typed);
}

/* The second words that go with a first one. */
static void offer_verbs(struct cli *r, const char *noun, const char *typed)
{
	size_t n = strlen(noun);

	for (size_t i = 0; i < command_count; i++)
		if (strncmp(commands[i]->is->name, noun, n) == 0 && commands[i]->is->name[n] == ' ')
			offer(r, commands[i]->is->name + n + 1, typed);
}

/* The option of this name that takes a value, or NULL. */
static const struct opt *value_option(const struct cmd *c, const char *word)
{
	const struct opt *lists[] = { c->opts, opt_globals() };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct opt *o = lists[i]; o && o->name; o++)
			if (o->kind != OPT_FLAG && strncmp(word, "--", 2) == 0 && text_eq(word + 2, o->name))
				return o;
	return NULL;
}

/* Opens the workspace of the words typed so far, so that `--path W` completes from W. */
static void open_workspace(struct cli *r, char **words, size_t n)
{
	const char *path = NULL;

	for (size_t i = 0; i + 2 < n; i++)
		if (text_eq(words[i], "--path") || text_eq(words[i], "--workspace"))
			path = words[i + 1];
	if (workspace_open(r->sys, r->a, path, WORKSPACE_OPTIONAL, &r->ws, NULL))
		r->ws = NULL;
}

/* The last word is the one being typed. What stands before it decides: nothing, a family, an option that
 * wants a value, or arguments, of which the place is counted. Behind "--" the words belong to another
 * program. */
void gen_candidates(struct cli *r, char **words, size_t n)
{
	const char *typed = n ? words[n - 1] : "";
	size_t used = 1, place = 0;

	/* The first word: a command or a family. */
	if (n <= 1) {
		offer_commands(r, typed);
		return;
	}
	const struct helm_command *known = command_find(words[0], n > 2 ? words[1] : NULL, &used);
	/* The second word may complete a family's verb. */
	if (n == 2)
		offer_verbs(r, words[0], typed);
	if (!known)
		return;
	const struct cmd *c = commands[known - command_table];
	const struct opt *o = n > used ? value_option(c, words[n - 2]) : NULL;
	open_workspace(r, words, n);
	if (o) {
		offer_value(r, o, typed);
		return;
	}
	/* Own options first, then those of all commands. */
	if (typed[0] == '-') {
		offer_options(r, c->opts, typed);
		offer_options(r, opt_globals(), typed);
		return;
	}
	/* Counts the arguments before the cursor; values of options are none. */
	for (size_t i = used; i + 1 < n; i++) {
		if (text_eq(words[i], "--"))
			return;
		if (words[i][0] != '-')
			place++;
		else if (value_option(c, words[i]))
			i++;
	}
	if (c->max_args < 0 || place < (size_t)c->max_args)
		offer_argument(r, c->args, place, typed);
}
