/* cmd_freeze.c — freeze, unfreeze: stop everything, and let it go on.
 *
 * Stopping must be easy and going on must be deliberate: anybody outside a guarded run may freeze, but
 * only somebody who is not stopped by it, a person and not an agent, may lift it. */
#include "actions/actions.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "clients/clients.h"
#include "kernel/freeze.h"
#include "proof/preimage.h"

#include <fcntl.h>
#include <string.h>

const struct opt freeze_opts[] = {
	{ "principal", OPT_VALUE, "WHO", "only this one, for example agent:codex (default: everybody)", NULL,
		false },
	{ "agent", OPT_VALUE, "ID",
		"stop this one agent, by the name of its client: every call of agent:ID is denied until 'helm unfreeze --agent ID'",
		NULL, false },
	{ "fence", OPT_VALUE, "FILE",
		"obey a signed emergency stop command (docs/formats/fence.md); --json prints the acknowledgement",
		NULL, false },
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, false },
	{ 0 },
};
const struct opt unfreeze_opts[] = {
	{ "principal", OPT_VALUE, "WHO", "only this one, for example agent:codex (default: everybody)", NULL,
		false },
	{ "agent", OPT_VALUE, "ID", "let this one agent go on", NULL, false },
	{ "fence", OPT_FLAG, NULL, "lift the fence of an emergency stop", NULL, false },
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, false },
	PERSON_KEY,
	{ 0 },
};

typedef int change_fn(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret, struct err *e);

/* Whether the caller may do this. A guarded run may do neither: it could stop others or free itself. */
static int from_outside(struct cli *r, change_fn *fn, struct person *ret, struct err *e)
{
	/* Every guarded run sets this variable for what it starts. */
	if (r->sys->getenv(r->sys, "HELM_TASK_ID"))
		return err_set(e, E_DENIED, "FREEZE_INSIDE",
			"a guarded run cannot freeze or unfreeze; a person does that");
	if (fn != freeze_lift)
		return OK;
	/* Anybody may stop; to go on takes a person. */
	return person_here(r, ret, e);
}

/* What is frozen, since when and why. */
static int show(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = freeze_load(r->sys, r->a, r->ws, &doc, e);

	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	json_each_member (m, doc) {
		const char *who = text_safe(r->a, m->name, m->name_n, false),
			   *why = json_get_text(json_get(m->value, "metadata"), "reason", "");
		out(r, "%s  since %s%s%s\n  to go on: %s\n", text_eq(who, "*") ? "everybody" : who,
			safe_member(r, m->value, "timestamp"), *why ? "  " : "",
			text_safe(r->a, why, strlen(why), false), actions_unfreeze(r->a, who));
	}
	if (!doc->n)
		out(r, "nothing is frozen\n");
	return 0;
}

/* The agent as its calls are recorded: a client has one name, whatever people call it.  One that nobody knows is stopped all the same. */
static int agent_principal(struct cli *r, const char *name, const char **ret, struct err *e)
{
	if (text_starts(name, "agent:"))
		name += strlen("agent:");
	if (!*name || name[strcspn(name, "/ \t\r\n")])
		return err_set(e, E_USAGE, "FREEZE_AGENT",
			"'%s' is no name of an agent; give that of its client, for example claude-code",
			name);
	const struct client *c = clients_find(name);
	if (!c)
		warn(r, "no client is called '%s'; the clients are those of 'helm setup status'",
			text_safe(r->a, name, strlen(name), false));
	*ret = arena_printf(r->a, "agent:%s", c ? c->name : name);
	return OK;
}

/* Who is meant.  What was frozen under another spelling is lifted under that one. */
static int whom(struct cli *r, bool is_lift, const char **ret, struct err *e)
{
	const char *agent = opt_text(r, "agent", NULL), *who = opt_text(r, "principal", NULL);
	bool is_fence = is_lift && opt_flag(r, "fence");
	struct json *doc;
	int rc = OK;

	if (!!agent + !!who + is_fence > 1)
		return err_set(e, E_USAGE, "USAGE", "give one of --agent, --principal and --fence");
	if (who && !*who)
		return err_set(e, E_USAGE, "USAGE", "--principal is empty; without it everybody is meant");
	*ret = is_fence ? FREEZE_FENCE : who ? who : "*";
	if (is_lift && agent)
		who = text_starts(agent, "agent:") ? agent : arena_printf(r->a, "agent:%s", agent);
	if (is_lift && who && freeze_load(r->sys, r->a, r->ws, &doc, NULL) == OK && json_get(doc, who)) {
		*ret = who;
		return OK;
	}
	if (agent || (who && text_starts(who, "agent:")))
		rc = agent_principal(r, agent ? agent : who, ret, e);
	return rc;
}

/* The freeze takes effect with its receipt, which is shown. */
static int change(struct cli *r, change_fn *fn, const char *word, struct err *e)
{
	const char *who = NULL;
	struct person by = { 0 };
	struct kernel k;
	struct json *receipt;
	int rc = whom(r, fn == freeze_lift, &who, e);

	if (rc == OK)
		rc = from_outside(r, fn, &by, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	k.person = &by;
	rc = fn(&k, r->a, who, opt_text(r, "reason", ""), &receipt, e);
	key_free(&by.key);
	kernel_close(&k);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, receipt);
	else
		out(r, "%s=%s\nreceipt=%s\n", word,
			text_eq(who, "*") ? "everybody" : text_safe(r->a, who, strlen(who), false),
			receipt_id_short(r->a, safe_member(r, receipt, "receipt_id")));
	if (!r->is_json && fn != freeze_lift)
		out(r, "to go on: %s\n",
			hint(r, actions_unfreeze(r->a, text_safe(r->a, who, strlen(who), false))));
	return 0;
}

/* The acknowledgement is what whoever commanded it wants to have. */
static int obey(struct cli *r, const char *file, struct err *e)
{
	struct json *envelope, *ack;
	struct kernel k;
	struct bytes text;
	int rc = from_outside(r, freeze_set, NULL, e);

	if (rc == OK)
		rc = file_read(r->sys, r->a, AT_FDCWD, file, 1 << 16, 0, &text, e);
	if (rc == OK)
		rc = json_parse(r->a, text, file, NULL, &envelope, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	rc = fence_obey(&k, r->a, envelope, &ack, e);
	kernel_close(&k);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, ack);
	else
		out(r, "fenced=%s\nreceipt_hash=%s\n", r->ws->root,
			safe_member(r, json_get(ack, "state"), "receipt_hash"));
	return OK;
}

/* "status" is an argument and not a verb of its own, so any other argument is refused. */
int cmd_freeze(struct cli *r, struct err *e)
{
	if (r->arg_count && text_eq(r->args[0], "status"))
		return show(r, e);
	if (r->arg_count)
		return err_set(e, E_USAGE, "USAGE_ARGUMENTS", "unexpected argument '%s'", r->args[0]);
	if (opt_text(r, "fence", NULL))
		return obey(r, opt_text(r, "fence", NULL), e);
	return opt_text(r, "agent", NULL) ? change(r, agent_kill, "stopped", e)
					  : change(r, freeze_set, "frozen", e);
}

int cmd_unfreeze(struct cli *r, struct err *e)
{
	return change(r, freeze_lift, "unfrozen", e);
}
