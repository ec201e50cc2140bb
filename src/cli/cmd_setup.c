/* cmd_setup.c — setup: put Helm in front of an agent client, look whether it stands there, and take it
 * away again.
 *
 * Nothing is changed before a person has seen what would change: on a terminal they type APPROVE,
 * elsewhere --yes says so. After an installation a destructive call is made through the new entry, and it
 * must be denied with a receipt that verifies. "Installed" is not yet "armed": a client may still skip the
 * hook, and the exit code tells the difference. */
#include "actions/actions.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "clients/clients.h"
#include "kernel/mcp/mcp.h"
#include "kernel/posture.h"
#include "kernel/setup/setup.h"
#include "kernel/standing.h"
#include "kernel/task/contain.h"
#include "verify/verify.h"

#include <string.h>
#include <unistd.h>

#define SCOPE \
	{ \
		"scope", OPT_VALUE, "SCOPE", "this user's settings, or the project's", "user|project", false \
	}
#define PROJECT \
	{ \
		"project", OPT_VALUE, "DIR", "the project; default: the one the current directory is in", \
			NULL, false \
	}

const struct opt setup_opts[] = {
	SCOPE,
	PROJECT,
	CONFIRM_OPTIONS,
	{ "contain", OPT_VALUE, "ON|OFF", "run the client's shell commands inside the walls of the profile",
		"on|off", false },
	{ "context", OPT_FLAG, NULL,
		"also start each session with what 'helm context pack' prints; without it an earlier entry for that is taken out",
		NULL, false },
	PERSON_KEY,
	{ 0 },
};
const struct opt setup_remove_opts[] = {
	SCOPE,
	PROJECT,
	CONFIRM_OPTIONS,
	PERSON_KEY,
	{ 0 },
};
const struct opt setup_status_opts[] = { PROJECT, { 0 } };
const struct opt setup_repair_opts[] = { PROJECT, { 0 } };

static int open_setup(struct cli *r, struct setup *ret, struct err *e)
{
	return setup_open(r->sys, r->a, r->ws, opt_text(r, "project", NULL), ret, e);
}

static const char *shown(struct cli *r, const char *s)
{
	return text_safe(r->a, s, strlen(s), false);
}

/* Has nobody chosen a profile that holds here? */
static bool is_unchosen(struct cli *r)
{
	const struct posture *p = posture_of(r->sys, r->ws);

	return !json_get(p->word, "default_profile") && !json_get(p->own, "default_profile");
}

/* What destroys, under the profile that will hold: whoever approves reads what will be, not what could be. */
static void explain_destructive(struct cli *r, const char *profile)
{
	enum destructive_rule rule = DESTRUCTIVE_ASK;
	const struct profile *p;
	struct profiles all;
	struct err e = { 0 };

	if (workspace_profiles(r->sys, r->a, r->ws, &all, &e) == OK &&
		profiles_get(&all, profile, &p, &e) == OK)
		(void)workspace_destructive(r->sys, r->a, r->ws, p, &rule, &e);
	out(r,
		rule == DESTRUCTIVE_CHECKPOINT
			? "  What destroys and can be undone will be saved first and run without a question; its receipt names the "
			  "checkpoint (destructive=checkpoint; 'helm profile use %s --destructive ask' has it asked).\n"
			: "  What destroys will be asked about or denied (destructive=ask; 'helm profile use %s --destructive "
			  "checkpoint' has what can be undone saved first and run without a question).\n",
		shown(r, profile));
}

/* By which profile calls will be decided when this is done: where nobody has chosen, a person gets the one for agents. */
static void explain_profile(struct cli *r, const char *profile)
{
	struct err e = { 0 };
	bool is_given = is_unchosen(r) && person_is_there(r, &e) == OK;

	out(r, "  Calls will be decided by the profile '%s'%s ('helm profile use NAME' chooses another).\n",
		is_given ? AGENT_PROFILE : shown(r, profile),
		is_given		 ? ", made for agents, because nobody has chosen one here"
			: is_unchosen(r) ? "; the one for agents, '" AGENT_PROFILE
					   "', takes a person at a terminal"
					 : "");
	explain_destructive(r, is_given ? AGENT_PROFILE : profile);
}

/* What the entry runs and by which rules calls will be decided, in words, before it is asked about. */
static int explain(struct cli *r, const struct setup_change *c, struct err *e)
{
	const char *profile;
	int rc = workspace_default_profile(r->sys, r->a, r->ws, &profile, e);

	if (rc || r->is_json)
		return rc;
	out(r, "%s, scope %s: %s %s\n", c->client, c->scope, c->before.p ? "edits" : "creates",
		shown(r, c->path));
	/* The client was set up for another workspace before. */
	if (c->moved_from)
		out(r,
			"  %snow decides by another workspace%s: until now %s, from now on %s.\n  What was "
			"recorded stays where it was.\n",
			paint(r, PAINT_WARN), paint(r, PAINT_OFF), shown(r, c->moved_from),
			shown(r, r->ws->root));
	out(r, "  runs before every tool call:\n    %s\n", shown(r, c->command));
	const struct json *differences = posture_differences(r->sys, r->a, r->ws);
	json_each (one, differences)
		out(r, "  %snote%s: %s.  %s\n", paint(r, PAINT_WARN), paint(r, PAINT_OFF),
			shown(r, json_get_text(one, "text", "")), shown(r, json_get_text(one, "remedy", "")));
	explain_profile(r, profile);
	return OK;
}

/* What every operation reports about a change: which client, which file, which command. */
static struct json *result(struct cli *r, const char *operation, const struct setup_change *c)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, doc, "operation", operation);
	json_sets(r->a, doc, "target", c->client);
	json_sets(r->a, doc, "scope", c->scope);
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_sets(r->a, doc, "hook_config_path", c->path);
	json_sets(r->a, doc, "command", c->command);
	if (c->moved_from)
		json_sets(r->a, doc, "previous_workspace", c->moved_from);
	return doc;
}

/* For clients whose settings cannot be edited safely: what a person pastes. Nothing was armed, so the exit
 * code is "no". */
static int paste(struct cli *r, const char *client, const char *snippet)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, doc, "operation", "install");
	json_sets(r->a, doc, "target", client);
	json_sets(r->a, doc, "client_state", "print_config_only");
	json_sets(r->a, doc, "lifecycle", "absent");
	json_sets(r->a, doc, "snippet", snippet);
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s\nNothing was written, and nothing is armed by this program.\n", snippet);
	return EXIT_NO;
}

/* The whole file as it would be, and nothing written. */
static int show_plan(struct cli *r, const struct setup_change *c)
{
	struct json *doc = result(r, "install", c), *actions = json_new(r->a, JSON_ARRAY);

	json_pushs(r->a, actions, arena_printf(r->a, "%s %s", c->before.p ? "edit" : "create", c->path));
	json_set(r->a, doc, "planned_actions", actions);
	json_sets(r->a, doc, "client_state", "planned");
	json_sets(r->a, doc, "lifecycle", "planned");
	json_set(r->a, doc, "planned_text", json_stringn(r->a, (const char *)c->after.p, c->after.n));
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	out(r, "\n%s would be:\n%s", shown(r, c->path),
		text_safe(r->a, (const char *)c->after.p, c->after.n, true));
	out(r, "\nNothing was written.\n");
	return 0;
}

/* The status row of the file that was changed. */
static const struct json *row_of(const struct setup *s, const struct setup_change *c)
{
	const struct json *rows = setup_status(s, c->client);
	json_each (row, rows)
		if (text_eq(json_get_text(row, "file", ""), c->path))
			return row;
	return NULL;
}

/* How far the client's calls are held, in words that promise no more: a hook that is not armed holds nothing yet. */
static const char *containment(bool is_armed, bool is_wanted)
{
	if (!is_armed)
		return is_wanted
			? "not contained yet: once it is armed, its shell commands run in the sandbox of the profile"
			: "nothing is judged yet; once it is armed: judged, not contained";
	return is_wanted ? "contained: its shell commands run inside the walls of the profile"
			 : "judged, not contained: what is allowed runs with all of your rights";
}

/* Put in is not armed: whoever relies on the exit code hears the difference. */
static int show_installed(
	struct cli *r, const struct setup *s, const struct setup_change *c, const char *receipt)
{
	struct json *doc = result(r, "install", c), *test = json_new(r->a, JSON_OBJECT);
	const struct json *row = row_of(s, c);
	bool is_armed = json_get_bool(row, "armed", false),
	     is_wanted = contain_is_on(r->sys, r->ws, clients_find(c->client)->name);
	const char *undo = arena_printf(r->a, "helm setup remove %s --scope %s", c->client, c->scope);

	if (r->is_json) {
		json_sets(r->a, doc, "binary_path", s->program);
		json_setb(r->a, doc, "hook_installed", true);
		json_sets(r->a, doc, "client_state", json_get_text(row, "state", ""));
		json_sets(r->a, doc, "lifecycle", is_armed ? "active" : "pending");
		json_setb(r->a, doc, "armed", is_armed);
		json_setb(r->a, doc, "codex_trust_pending", text_eq(c->client, "codex") && !is_armed);
		json_sets(r->a, doc, "detail", json_get_text(row, "detail", ""));
		json_sets(r->a, doc, "containment", is_armed && is_wanted ? "walls" : "none");
		json_set(r->a, doc, "warnings", json_copy(r->a, json_get(row, "warnings")));
		/* setup_install() fails unless the test call was denied and its receipt verifies, so both
		 * are true here. */
		json_setb(r->a, test, "denied", true);
		json_sets(r->a, test, "receipt_id", receipt);
		json_setb(r->a, test, "verified", true);
		json_set(r->a, doc, "self_test", test);
		json_sets(r->a, doc, "uninstall_command", undo);
		json_sets(
			r->a, doc, "recovery_command", arena_printf(r->a, "helm setup repair %s", c->client));
		json_setb(r->a, doc, "recovery_required", false);
		out_json(r, doc);
		return is_armed ? 0 : EXIT_NO;
	}
	out(r, "\ninstalled.  Self-test: a destructive call was denied, and its receipt %s verifies.\n",
		shown(r, receipt));
	out(r, "%s%s%s: %s\n", paint(r, is_armed ? PAINT_GOOD : PAINT_WARN),
		is_armed ? "armed" : "NOT ARMED YET", paint(r, PAINT_OFF),
		called(r->a, shown(r, json_get_text(row, "detail", ""))));
	json_each (w, json_get(row, "warnings"))
		out(r, "note: %s\n", shown(r, json_text(w)));
	struct machine m;
	machine_look(r->sys, r->a, r->ws->helm_home, &m);
	out(r, "%s\nsandbox: %s\n\nundo: %s\n", containment(is_armed, is_wanted), machine_line(r->a, &m),
		called(r->a, undo));
	return is_armed ? 0 : EXIT_NO;
}

/* The profile for agents, where nobody has chosen one.  It permits more than the one that holds without a choice, so it takes a
 * person; without one it is only said. */
static void choose_profile(struct cli *r)
{
	struct json *receipt;
	struct kernel k;
	struct err e = { 0 };

	if (!is_unchosen(r))
		return;
	int rc = person_is_there(r, &e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, &e);
	if (rc == OK) {
		rc = workspace_use_profile(&k, r->a, AGENT_PROFILE, NULL, &receipt, &e);
		kernel_close(&k);
	}
	if (r->is_json)
		return;
	if (rc == OK)
		out(r,
			"\nprofile: " AGENT_PROFILE
			", made for agents: ordinary work in the tree is not asked about, what it loses is saved "
			"first,\nand what leaves the tree is asked about ('helm profile use NAME' chooses another)\n%s\n",
			shown(r,
				actions_profile_text(
					r->a, json_get(standing(r->sys, r->a, r->ws), "profile"))));
	else
		out(r,
			"\nprofile: workspace_edit; the one for agents takes a person at a terminal: helm profile use " AGENT_PROFILE
			"\n");
}

/* On unless it was decided otherwise, where the client can be told another command.  Off, once it is on, is a person's act: what runs
 * bare has all of the user's rights. */
static int set_contained(struct cli *r, const char *name, struct err *e)
{
	const struct client *c = clients_find(name);
	const char *given = opt_text(r, "contain", NULL);
	bool is_on = contain_is_on(r->sys, r->ws, c->name),
	     on = given ? text_eq(given, "on") : is_on || !contain_is_decided(r->sys, r->ws, c->name);
	struct person who = { 0 };
	struct json *receipt;
	struct kernel k;
	int rc = OK;

	if (!c->speech || !c->speech->rewrite)
		return given && on
			? err_set(e, E_INPUT, "SETUP_CONTAIN",
				  "%s runs what it was about to run: its calls are judged, not contained",
				  c->title)
			: OK;
	if (on == is_on && contain_is_decided(r->sys, r->ws, c->name))
		return OK;
	if (is_on)
		rc = person_loosens(r, &who, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		rc = contain_set(&k, r->a, c->name, on, who.name, &receipt, e);
		kernel_close(&k);
	}
	key_free(&who.key);
	return rc;
}

/* ---- servers of tools ---- */

/* Those that were imported are started by the gateway from now on, or by the client again. */
static int rewire(struct cli *r, struct mcp_rewiring *list, size_t n, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; i < n && rc == OK; i++) {
		rc = mcp_rewire(r->sys, r->a, r->ws, &list[i], e);
		if (rc || r->is_json)
			continue;
		out(r, "%s: ", shown(r, list[i].path));
		if (!list[i].record)
			out(r, "servers of tools are started by the client again\n");
		else
			out(r, "%u server%s of tools behind the gateway\n", list[i].servers->n,
				list[i].servers->n == 1 ? "" : "s");
	}
	return rc;
}

static int put_gateway(struct cli *r, const struct setup *s, const char *client, struct err *e)
{
	struct mcp_rewiring *list;
	size_t n;
	int rc = mcp_rewire_plan(
		r->sys, r->a, r->ws, s->project, clients_find(client)->name, s->program, &list, &n, e);

	return rc ? rc : rewire(r, list, n, e);
}

static int explain_gateway(struct cli *r, const struct setup *s, const char *client, struct err *e)
{
	struct mcp_rewiring *list;
	size_t n;
	int rc = mcp_rewire_plan(
		r->sys, r->a, r->ws, s->project, clients_find(client)->name, s->program, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n && !r->is_json; i++)
		json_each (id, list[i].servers)
			out(r, "  starts the gateway in the place of server '%s': %s\n", json_text(id),
				shown(r, list[i].path));
	return rc;
}

/* Plan, explain, ask, install, and then look again at what the client would really do. */
int cmd_setup(struct cli *r, struct err *e)
{
	const char *client = r->args[0], *receipt = "";
	struct setup s;
	struct setup_change c;
	int rc = open_setup(r, &s, e);

	if (rc)
		return rc;
	/* Clients without settings that can be edited have text to paste instead. */
	const char *snippet = setup_snippet(&s, client, e);
	if (snippet)
		return paste(r, client, snippet);
	s.with_context = opt_flag(r, "context");
	rc = setup_plan(&s, client, opt_text(r, "scope", NULL), &c, e);
	if (rc == OK)
		rc = explain(r, &c, e);
	if (rc == OK)
		rc = explain_gateway(r, &s, client, e);
	if (rc)
		return rc;
	if (opt_flag(r, "dry-run"))
		return show_plan(r, &c);
	rc = confirm_approve(r, "", e);
	if (rc == OK)
		rc = setup_install(&s, &c, &receipt, e);
	if (rc == OK)
		rc = set_contained(r, client, e);
	if (rc == OK)
		rc = put_gateway(r, &s, client, e);
	if (rc == OK)
		choose_profile(r);
	return rc ? rc : show_installed(r, &s, &c, receipt);
}

/* Takes out our entries only. Receipts and keys stay: what happened is not undone. */
int cmd_setup_remove(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *done = json_new(r->a, JSON_ARRAY);
	struct setup s;
	struct setup_change *changes;
	struct mcp_rewiring *wired;
	size_t n, wired_n;
	int rc = open_setup(r, &s, e);

	if (rc == OK)
		rc = setup_plan_removal(&s, r->args[0], opt_text(r, "scope", NULL), &changes, &n, e);
	if (rc == OK)
		rc = mcp_unwire_plan(
			r->sys, r->a, r->ws, clients_find(r->args[0])->name, &wired, &wired_n, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < wired_n && !r->is_json; i++)
		out(r, "%s: takes the gateway out of %s\n", wired[i].client, shown(r, wired[i].path));
	for (size_t i = 0; i < n && !r->is_json; i++)
		out(r, "%s, scope %s: %s %s\n", changes[i].client, changes[i].scope,
			changes[i].after.p ? "takes our entries out of" : "removes",
			shown(r, changes[i].path));
	/* Nothing to remove needs no word from anybody. */
	bool is_change = (n || wired_n) && !opt_flag(r, "dry-run");
	if (is_change)
		rc = person_is_there(r, e);
	if (rc == OK && is_change)
		rc = confirm_approve(r, "", e);
	if (rc == OK && is_change)
		rc = rewire(r, wired, wired_n, e);
	for (size_t i = 0; i < n && rc == OK; i++) {
		json_push(r->a, done, result(r, "remove", &changes[i]));
		rc = opt_flag(r, "dry-run") ? OK : setup_remove(&s, &changes[i], e);
	}
	if (rc)
		return rc;
	json_sets(r->a, doc, "operation", "remove");
	n += wired_n;
	json_sets(r->a, doc, "client_state", n ? "removed" : "absent");
	json_set(r->a, doc, "changes", done);
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s\n",
			!n				 ? "nothing of ours was there"
				: opt_flag(r, "dry-run") ? "Nothing was written."
							 : "removed.  Receipts and keys stay.");
	return 0;
}

/* Finishes or takes back a change that a crash interrupted. */
int cmd_setup_repair(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	const char *what = "";
	struct setup s;
	int rc = open_setup(r, &s, e);

	if (rc == OK)
		rc = setup_repair(&s, r->args[0], &what, e);
	if (rc)
		return rc;
	json_sets(r->a, doc, "operation", "repair");
	json_sets(r->a, doc, "target", r->args[0]);
	json_sets(r->a, doc, "detail", what);
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s\n", what);
	return 0;
}

/* In the words of `helm status`. */
static void say_unguarded(struct cli *r, const struct setup *s, const struct json *rows)
{
	const struct json *found = setup_found_clients(s, rows);
	const struct client *c = clients_find(found->n ? json_text(json_at(found, 0)) : "");

	json_each (row, rows)
		if (!text_eq(json_get_text(row, "state", ""), "absent") &&
			!text_eq(json_get_text(row, "state", ""), "unknown"))
			return;
	if (c)
		out(r, "No agent is guarded here: %s\n", hint(r, setup_advice(r->a, c)));
	else
		out(r, "No agent is guarded here, and none that Helm knows was found for this user.\n");
}

/* The exit code is 0 only when a guard is armed and none that was put in is less than that. */
int cmd_setup_status(struct cli *r, struct err *e)
{
	static const char *const headings[] = { "CLIENT", "SCOPE", "STATE", "DETAIL" };
	const char *client = r->arg_count ? r->args[0] : NULL;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct setup s;
	int rc = open_setup(r, &s, e);

	if (rc)
		return rc;
	if (client && !clients_find(client))
		return err_set(e, E_USAGE, "SETUP_CLIENT", "no client is called '%s': %s", client,
			clients_with_hook(r->a));
	struct json *rows = setup_status(&s, client);
	int code = setup_is_sound(rows) ? 0 : EXIT_NO;
	json_set(r->a, doc, "clients", rows);
	if (r->is_json) {
		out_json(r, doc);
		return code;
	}
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (row, rows) {
		const char *cells[] = { json_get_text(row, "client", ""), json_get_text(row, "scope", ""),
			json_get_text(row, "state", ""),
			called(r->a, shown(r, json_get_text(row, "detail", ""))) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	json_each (row, rows)
		json_each (w, json_get(row, "warnings"))
			out(r, "note: %s, scope %s: %s\n", json_get_text(row, "client", ""),
				json_get_text(row, "scope", ""), shown(r, json_text(w)));
	if (!client)
		say_unguarded(r, &s, rows);
	return code;
}
