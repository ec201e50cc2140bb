/* cmd_fleet.c — helm fleet: this machine as one of many.  helm-serve has the network, and does what has to do with it. */
#include "cli/cmd_fleet.h"
#include "base/file.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_serve.h"
#include "kernel/fleet/fleet.h"
#include "kernel/person.h"
#include "kernel/workspace.h"

#include <fcntl.h>
#include <string.h>

#define HOW_TO_JOIN "helm fleet join URL --token-file FILE, with a token of 'helm fleet token' at the centre"

const struct opt fleet_join_opts[] = {
	{ "token-file", OPT_VALUE, "FILE",
		"the token of 'helm fleet token' at the centre is in this file; - is standard input", NULL,
		false },
	{ "ca", OPT_VALUE, "FILE", "certificates that count for the ledger, in PEM (those of the system)",
		NULL, false },
	{ "ship", OPT_VALUE, "WHAT",
		"what leaves this machine: receipts; also captions, the redacted beginnings of commands; also questions that wait for a person, so that the centre can answer (receipts)",
		"receipts|captions|questions", false },
	{ "root", OPT_VALUE, "KEY",
		"pin this root key, in 64 hex digits, which says who may answer from the centre; the token must name it, too (none: nobody may)",
		NULL, false },
	{ 0 },
};

static struct json *question(struct cli *r, const char *verb)
{
	struct json *q = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, q, "do", verb);
	return q;
}

/* What the other program says about it, or the error that it printed. */
static int ask_ship(struct cli *r, struct json *q, struct json **ret, struct err *e)
{
	struct json *options = json_new(r->a, JSON_OBJECT);
	int code;

	json_set(r->a, options, "ship", q);
	return serve_ask(r, options, 300000, ret, &code, e);
}

static int read_token(struct cli *r, const char **ret, struct err *e)
{
	const char *file = opt_text(r, "token-file", NULL);
	struct bytes text;

	*ret = NULL;
	if (!file)
		return OK;
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 16384, FILE_FOLLOW, &text, e);
	if (rc)
		return rc;
	char *token = arena_strndup(r->a, (const char *)text.p, text.n);
	token[strcspn(token, " \r\n")] = '\0';
	*ret = token;
	return OK;
}

static int load(struct cli *r, struct json **ret_joined, struct json **ret_state, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK)
		rc = fleet_joined(r->sys, r->a, home, ret_joined, e);
	if (rc == OK)
		rc = fleet_state(r->sys, r->a, home, ret_state, e);
	return rc;
}

static int need_joined(struct cli *r, struct json **ret, struct err *e)
{
	struct json *state;
	int rc = load(r, ret, &state, e);

	return rc || *ret ? rc
			  : err_set(e, E_MISSING, "FLEET_NOT_JOINED",
				    "this user has joined no fleet; to join one: " HOW_TO_JOIN);
}

int cmd_fleet_join(struct cli *r, struct err *e)
{
	struct json *q = question(r, "join"), *answer, *joined;
	const char *token, *url = r->arg_count ? r->args[0] : NULL, *ca = opt_text(r, "ca", NULL),
			   *root = opt_text(r, "root", NULL);
	int rc = read_token(r, &token, e);

	if (rc == OK && !url != !token)
		rc = err_set(e, E_USAGE, "USAGE",
			"give the URL of the ledger and --token-file to join; neither, to add this workspace to the fleet that was joined");
	if (rc == OK && !url && root)
		rc = err_set(e, E_USAGE, "USAGE", "--root is pinned when the fleet is joined, with the URL");
	if (rc == OK && !url)
		rc = need_joined(r, &joined, e);
	if (rc == OK && url && !url_is_private(url))
		rc = err_set(e, E_USAGE, "USAGE", "'%s' is not https://, and not of this machine", url);
	if (rc == OK)
		rc = person_is_outside(r->sys, r->a, r->ws, e);
	if (rc)
		return rc;
	if (token)
		json_sets(r->a, q, "token", token);
	if (url) {
		size_t n = strlen(url);
		json_sets(r->a, q, "url", arena_strndup(r->a, url, n && url[n - 1] == '/' ? n - 1 : n));
	}
	if (ca)
		json_sets(r->a, q, "ca", workspace_named(r->sys, r->a, ca));
	if (root)
		json_sets(r->a, q, "root", root);
	json_sets(r->a, q, "ship", opt_text(r, "ship", "receipts"));
	json_sets(r->a, q, "workspace", r->ws->root);
	rc = ask_ship(r, q, &answer, e);
	if (rc)
		return rc;
	if (!json_get(answer, "root_key") && text_eq(json_get_text(answer, "ship", ""), "questions"))
		warn(r, "No root key is pinned, so nobody answers questions from the centre; --root KEY pins one at joining");
	if (r->is_json)
		out_json(r, answer);
	else
		out(r, "Joined %s as node %s.  'helm fleet sync' sends what is recorded; the service of docs/guides/fleet.md goes on doing so.\n",
			fleet_cell(r, answer, "origin"), fleet_cell(r, answer, "node"));
	return 0;
}

/* ---- how it stands ---- */

static void print_stopped(struct cli *r, const struct json *chain, bool *is_sound)
{
	const struct json *stopped = json_get(chain, "stopped");

	if (stopped)
		out(r, "  STOPPED %s: %s\n", fleet_cell(r, stopped, "code"), fleet_cell(r, stopped, "why"));
	*is_sound &= !stopped;
}

static void print_chain(
	struct cli *r, const char *name, int64_t acked, int64_t head, const struct json *chain)
{
	out(r, "%s  %lld of %lld receipts are in the ledger  %s\n", name, (long long)acked, (long long)head,
		fleet_cell(r, chain, "workspace"));
}

/* Every workspace that was joined, as it is now; then what else the state knows, such as a chain that was left behind.  False: something stands. */
static bool print_chains(struct cli *r, const struct json *backlog, const struct json *state)
{
	const struct json *known = json_get(state, "chains");
	struct json *shown = json_new(r->a, JSON_OBJECT);
	bool is_sound = true;

	json_each (one, json_get(backlog, "chains")) {
		const char *session = json_get_text(one, "session_id", NULL);
		if (json_get(one, "error"))
			out(r, "%s cannot be read: %s\n", fleet_cell(r, one, "workspace"),
				fleet_cell(r, one, "error"));
		if (!session)
			continue;
		print_chain(r, session, json_get_int(one, "acked", 0), json_get_int(one, "head", 0), one);
		print_stopped(r, json_get(known, session), &is_sound);
		json_setb(r->a, shown, session, true);
	}
	json_each_member (m, known) {
		if (json_get(shown, m->name))
			continue;
		print_chain(r, m->name, json_get_int(m->value, "acked", 0), json_get_int(m->value, "head", 0),
			m->value);
		print_stopped(r, m->value, &is_sound);
	}
	int64_t waiting = json_get_int(backlog, "waiting", 0), unread = json_get_int(backlog, "unread", 0);
	out(r, "Backlog: %s%lld receipt%s to send", unread ? "at least " : "", (long long)waiting,
		waiting == 1 ? "" : "s");
	out(r, unread ? "; %lld of the workspaces cannot be read\n" : "\n", (long long)unread);
	return is_sound;
}

static int print_state(struct cli *r, const struct json *joined, const struct json *state)
{
	bool is_sound = true;

	out(r, "Fleet %s, node %s, %s\n", fleet_cell(r, joined, "origin"), fleet_cell(r, joined, "node"),
		fleet_cell(r, joined, "url"));
	if (json_get(joined, "root_key"))
		out(r, "Answers from the centre: of those whom root key %s names\n",
			fleet_cell(r, joined, "root_key"));
	else
		out(r, "Answers from the centre: of nobody, no root key is pinned\n");
	out(r, "Last contact: %s\n", json_get_text(state, "contact", "never"));
	is_sound &= print_chains(r, fleet_backlog(r->sys, r->a, joined, state), state);
	static const char *const wrong[] = { "stopped", "alarm", "away" };
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct json *one = json_get(state, wrong[i]);
		if (one)
			out(r, "%s %s: %s\n",
				i == 2	    ? "Not reached"
					: i ? "ALARM"
					    : "STOPPED",
				fleet_cell(r, one, "code"), fleet_cell(r, one, "why"));
		is_sound &= !one;
	}
	json_each (one, json_get(state, "missed")) {
		out(r, "NOT OBEYED order %lld (%s) in %s: %s\n",
			(long long)json_get_int(json_get(one, "order"), "seq", 0),
			fleet_cell(r, json_get(one, "order"), "kind"), fleet_cell(r, one, "workspace"),
			fleet_cell(r, one, "why"));
		is_sound = false;
	}
	if (json_get(state, "checkpoint"))
		out(r, "Checkpoint: %lld leaves, checked\n",
			(long long)json_get_int(state, "checkpoint_size", 0));
	out(r, "Orders obeyed: %lld", (long long)json_get_int(state, "order", 0));
	out(r, json_get_int(state, "lease", 0) ? "; lease %lld s\n" : "\n",
		(long long)json_get_int(state, "lease", 0));
	return is_sound ? 0 : 1;
}

static int print_report(struct cli *r, const struct json *state)
{
	struct json *joined, *kept;
	struct err e = { 0 };

	if (load(r, &joined, &kept, &e) || !joined)
		return 0;
	return print_state(r, joined, state);
}

int cmd_fleet_status(struct cli *r, struct err *e)
{
	struct json *joined, *state, *doc = json_new(r->a, JSON_OBJECT);
	int rc = load(r, &joined, &state, e);

	if (rc)
		return rc;
	if (!joined && !r->is_json)
		out(r, "This user has joined no fleet.  To join one: " HOW_TO_JOIN "\n");
	if (r->is_json) {
		json_set(r->a, doc, "joined", joined ? joined : json_new(r->a, JSON_NULL));
		json_set(r->a, doc, "state", state);
		if (joined)
			json_set(r->a, doc, "backlog", fleet_backlog(r->sys, r->a, joined, state));
		out_json(r, doc);
	}
	return joined && !r->is_json ? print_state(r, joined, state) : 0;
}

int cmd_fleet_sync(struct cli *r, struct err *e)
{
	struct json *answer;
	int rc = ask_ship(r, question(r, "sync"), &answer, e);

	if (rc)
		return rc;
	const bool is_behind = json_get_bool(answer, "behind", false);
	if (r->is_json) {
		out_json(r, answer);
		return is_behind ? 1 : 0;
	}
	out(r, "Sent %lld receipt%s.\n", (long long)json_get_int(answer, "sent", 0),
		json_get_int(answer, "sent", 0) == 1 ? "" : "s");
	rc = print_report(r, answer);
	if (is_behind)
		out(r, "Not everything is sent yet.  To go on:\n  helm fleet sync\n");
	return is_behind ? 1 : rc;
}

int cmd_fleet_ship(struct cli *r, struct err *e)
{
	struct json *options = json_new(r->a, JSON_OBJECT);

	json_set(r->a, options, "ship", question(r, "run"));
	return serve_become(r, options, e);
}

int cmd_fleet_rejoin(struct cli *r, struct err *e)
{
	struct json *q = question(r, "rejoin"), *answer;
	int rc = person_is_outside(r->sys, r->a, r->ws, e);

	if (rc)
		return rc;
	json_sets(r->a, q, "workspace", r->ws->root);
	rc = ask_ship(r, q, &answer, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, answer);
	else
		out(r, "The chain begins again in the ledger, which keeps what it had.  'helm fleet sync' sends it.\n");
	return 0;
}

/* ---- the end of it ---- */

const struct opt fleet_leave_opts[] = {
	PERSON_KEY,
	{ 0 },
};

static int leave_one(
	struct cli *r, const char *root, const struct person *who, const struct json *joined, struct err *e)
{
	AUTO(fleet_close) struct workspace *ws = NULL;
	AUTO(kernel_close) struct kernel k = { 0 };
	int rc = workspace_open(r->sys, r->a, root, 0, &ws, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, ws, &k, e);
	k.person = who->key ? who : NULL;
	return rc ? rc : fleet_leave(&k, r->a, joined, e);
}

/* On record here, told there where that is possible, then forgotten. */
int cmd_fleet_leave(struct cli *r, struct err *e)
{
	struct json *joined, *answer;
	struct person who = { 0 };
	struct err away = { 0 };
	int rc = need_joined(r, &joined, e);

	if (rc == OK)
		rc = person_here(r, &who, e);
	json_each (root, rc == OK ? json_get(joined, "workspaces") : NULL)
		if (rc == OK)
			rc = leave_one(r, json_text(root), &who, joined, e);
	key_free(&who.key);
	if (rc)
		return rc;
	if (ask_ship(r, question(r, "sync"), &answer, &away))
		warn(r, "the ledger could not be told: %s", away.text);
	else if (json_get_bool(answer, "behind", false))
		warn(r, "the ledger was not sent everything that is recorded here, and so not told");
	rc = fleet_forget(r->sys, r->a, r->ws->helm_home, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, joined);
	else
		out(r, "Left %s.  The ledger keeps what it has.\n", json_get_text(joined, "origin", ""));
	return 0;
}
