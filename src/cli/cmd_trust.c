/* cmd_trust.c — workspace show, workspace trust: what was decided about a place, and accepting what its tree brings along; and who
 * may do such things, for every command that asks.
 *
 * A tree's own profiles and rules count only after a person has read here what they would permit.  What is shown is what is taken:
 * a file that changes between the two is refused. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "kernel/state_files.h"
#include "kernel/task/task.h"
#include "proof/preimage.h"

#include <string.h>

const struct opt workspace_trust_opts[] = {
	{ "require-key", OPT_VALUE, "YES|NO", "from now on only a registered key answers here, no terminal",
		"yes|no", false },
	{ "degraded", OPT_VALUE, "NAMES|YES|NO",
		"runs go on without these guarantees of the sandbox on this machine; yes: those that it cannot meet now",
		NULL, false },
	PERSON_KEY,
	{ 0 },
};

/* Not every command that a person uses takes a key. */
int person_here(struct cli *r, struct person *ret, struct err *e)
{
	const char *key = NULL;

	for (const struct opt *o = r->cmd->opts; o && o->name; o++)
		if (text_eq(o->name, "key"))
			key = opt_text(r, "key", NULL);
	return person_open(r->sys, r->a, r->ws, key, ret, e);
}

int person_loosens(struct cli *r, struct person *ret, struct err *e)
{
	int rc = person_here(r, ret, e);

	if (rc == OK && (rc = person_may_loosen(r->sys, r->a, r->ws, e)))
		key_free(&ret->key);
	return rc;
}

int person_is_there(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	int rc = person_loosens(r, &who, e);

	key_free(&who.key);
	return rc;
}

/* ---- show ---- */

static struct json *show_json(struct cli *r)
{
	const struct posture *p = posture_of(r->sys, r->ws);
	struct json *doc = json_new(r->a, JSON_OBJECT), *frozen = NULL, *paused = NULL;
	const char *profile = NULL;

	(void)workspace_default_profile(r->sys, r->a, r->ws, &profile, NULL);
	(void)freeze_load(r->sys, r->a, r->ws, &frozen, NULL);
	(void)pause_load(r->sys, r->a, r->ws, &paused, NULL);
	json_each_member (m, paused)
		(void)json_remove(m->value, "token_sha256");
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_sets(r->a, doc, "decided_by", p->receipt_id);
	json_sets(r->a, doc, "decided_for", p->outer ? p->outer : p->is_spoken ? r->ws->root : NULL);
	json_sets(r->a, doc, "problem", p->broken);
	json_sets(r->a, doc, "profile", profile);
	json_sets(r->a, doc, "destructive", json_get_text(p->word, "destructive", NULL));
	json_setb(r->a, doc, "require_key", json_get_bool(p->word, "require_key", false));
	const unsigned waived = posture_waived(r->sys, r->a, r->ws);
	json_setb(r->a, doc, "degraded", waived);
	json_set(r->a, doc, "degraded_guarantees", guarantees_list(r->a, waived));
	json_setb(r->a, doc, "degraded_elsewhere", json_get_bool(p->word, "degraded", false) && !waived);
	json_set(r->a, doc, "frozen", frozen ? frozen : json_new(r->a, JSON_NULL));
	json_set(r->a, doc, "paused", paused ? paused : json_new(r->a, JSON_NULL));
	json_set(r->a, doc, "accepted",
		json_get(p->word, "accepted") ? json_copy(r->a, json_get(p->word, "accepted"))
					      : json_new(r->a, JSON_OBJECT));
	json_set(r->a, doc, "differences", posture_differences(r->sys, r->a, r->ws));
	return doc;
}

/* Names alone, or a dash. */
static void names_line(struct cli *r, const char *title, const struct json *object)
{
	out(r, "%s=", title);
	json_each_member (m, object)
		out(r, "%s%s", m == object->members ? "" : ",", text_safe(r->a, m->name, m->name_n, false));
	out(r, "%s\n", object && object->n ? "" : "-");
}

int cmd_workspace_show(struct cli *r, struct err *e)
{
	static const char *const texts[] = { "workspace", "decided_for", "decided_by", "profile",
		"destructive", "problem" };
	static const char *const lists[] = { "frozen", "paused", "accepted" };
	struct json *doc = show_json(r);

	(void)e;
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (json_get_text(doc, texts[i], NULL))
			out(r, "%s=%s\n", texts[i], safe_member(r, doc, texts[i]));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		names_line(r, lists[i],
			json_is(json_get(doc, lists[i]), JSON_OBJECT) ? json_get(doc, lists[i]) : NULL);
	if (json_get_bool(doc, "require_key", false))
		out(r, "require_key=yes\n");
	if (json_get_bool(doc, "degraded", false))
		out(r, "degraded=yes\ndegraded_guarantees=%s\n",
			guarantees_text(r->a, posture_waived(r->sys, r->a, r->ws), ","));
	if (json_get_bool(doc, "degraded_elsewhere", false))
		out(r,
			"note=degraded was accepted for another machine and does not count here; "
			"helm workspace trust --degraded yes\n");
	json_each (one, json_get(doc, "differences"))
		out(r, "note=%s; %s\n", safe_member(r, one, "text"), safe_member(r, one, "remedy"));
	return 0;
}

/* ---- trust ---- */

static char *offer_text(struct cli *r, const struct json *offer)
{
	const struct json *list = json_get(offer, "becomes_possible");
	struct buf text;

	buf_init(&text, r->a);
	buf_addf(&text, "Workspace %s\n", safe_member(r, offer, "workspace"));
	json_each (one, json_get(offer, "files"))
		if (!text_eq(json_get_text(one, "state", ""), "in force"))
			buf_addf(&text, "  %s: %s\n", safe_member(r, one, "file"),
				safe_member(r, one, "state"));
	buf_adds(&text,
		list->n ? "If you accept its own files, this becomes possible:\n"
			: "Nothing becomes possible that is not now.\n");
	json_each (one, list)
		buf_addf(&text, "  + %s\n", text_safe(r->a, json_text(one), one->n, false));
	return text.p;
}

/* The names that --degraded has, as DEMAND_*. */
static int read_names(struct cli *r, const char *text, unsigned *ret, struct err *e)
{
	struct bytes rest = bytes_of(text);

	*ret = 0;
	while (rest.p) {
		struct bytes one = text_cut(&rest, ',');
		const char *name = arena_strndup(r->a, (const char *)one.p, one.n);
		enum guarantee g;
		if (!guarantee_parse(name, &g))
			return err_set(e, E_USAGE, "TRUST_DEGRADED",
				"--degraded is yes, no, or names of guarantees (%s), not '%s'",
				guarantees_text(r->a, DEMAND_ALL, ","), name);
		*ret |= 1u << g;
	}
	return OK;
}

/* "yes": what this machine cannot meet, found out by trying. */
static int find_unmet(struct cli *r, unsigned *ret, struct err *e)
{
	struct machine m;

	walls_probe(r->sys, r->a, r->ws, &m);
	*ret = machine_unmet(&m);
	return *ret ? OK
		    : err_set(e, E_INPUT, "TRUST_DEGRADED",
			      "this machine meets every guarantee now, so there is nothing to accept; "
			      "guarantees can be named: %s",
			      guarantees_text(r->a, DEMAND_ALL, ","));
}

/* Adds to the offer what --degraded makes possible. */
static int offer_degraded(
	struct cli *r, const char *degraded, unsigned *waived, struct json *offer, struct err *e)
{
	int rc = text_eq(degraded, "yes") ? find_unmet(r, waived, e) : OK;

	if (rc == OK && *waived)
		json_pushs(r->a, json_get(offer, "becomes_possible"),
			arena_printf(r->a,
				"runs go on where this machine cannot guarantee %s, and say so each time",
				guarantees_text(r->a, *waived, ", ")));
	return rc;
}

/* With --json it is only shown: a program that reads cannot give a person's word. */
int cmd_workspace_trust(struct cli *r, struct err *e)
{
	static const char *const words[] = { "TRUST", NULL };
	const char *typed, *degraded = opt_text(r, "degraded", NULL);
	bool asks_less = degraded && !text_eq(degraded, "no");
	unsigned waived = 0;
	struct person who = { 0 };
	struct json *offer, *receipt;
	struct kernel k;
	int rc = asks_less && !text_eq(degraded, "yes") ? read_names(r, degraded, &waived, e) : OK;

	if (rc == OK)
		rc = accepted_offer(r->sys, r->a, r->ws, &offer, e);
	if (rc == OK && !r->is_json)
		rc = asks_less || json_get(offer, "becomes_possible")->n ? person_loosens(r, &who, e)
									 : person_here(r, &who, e);
	if (rc == OK && asks_less)
		rc = offer_degraded(r, degraded, &waived, offer, e);
	if (rc || r->is_json) {
		key_free(&who.key);
		if (rc == OK)
			out_json(r, offer);
		return rc;
	}
	const char *text = offer_text(r, offer);
	if (who.key)
		out(r, "%s", text);
	if (!who.key && json_get(offer, "becomes_possible")->n &&
		!approver_says(r,
			arena_printf(r->a, "%sType TRUST to go on, anything else to leave it: ", text), words,
			&typed))
		return err_set(e, E_INPUT, "APPROVAL_UNCONFIRMED", "nothing was changed");
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		k.person = &who;
		rc = accepted_take(&k, r->a, offer, opt_text(r, "require-key", NULL),
			degraded ? &waived : NULL, who.name, &receipt, e);
		kernel_close(&k);
	}
	key_free(&who.key);
	if (rc == OK)
		out(r, "accepted=%s\nreceipt=%s\n", text_safe(r->a, r->ws->root, strlen(r->ws->root), false),
			receipt_id_short(r->a, safe_member(r, receipt, "receipt_id")));
	return rc;
}

/* ---- repair ---- */

const struct opt workspace_repair_opts[] = {
	PERSON_KEY,
	{ 0 },
};

static int repair_settings(struct cli *r, const struct person *who, struct json *done, struct err *e)
{
	struct json *receipt;
	struct kernel k;
	bool is_strict = false;

	if (!posture_of(r->sys, r->ws)->broken)
		return OK;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	k.person = who;
	rc = posture_repair(&k, r->a, who->name, &receipt, &is_strict, e);
	kernel_close(&k);
	if (rc)
		return rc;
	json_pushs(r->a, done,
		arena_printf(r->a, "%s, on record as %s",
			is_strict
				? "settings: freezes, pauses and the like are back; what was permitted has to be said again, "
				  "because receipts are lost behind the newest act"
				: "settings: as the newest act in the record says",
			receipt_id_short(r->a, json_get_text(receipt, "receipt_id", ""))));
	return OK;
}

int cmd_workspace_repair(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *done = json_new(r->a, JSON_ARRAY);
	struct person who = { 0 };
	int rc = person_here(r, &who, e);

	if (rc == OK)
		rc = state_files_repair(r->sys, r->a, r->ws, done, e);
	if (rc == OK)
		rc = repair_settings(r, &who, done, e);
	key_free(&who.key);
	if (rc)
		return rc;
	json_set(r->a, doc, "repaired", done);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	json_each (one, done)
		out(r, "%s\n", text_safe(r->a, json_text(one), one->n, false));
	if (!done->n)
		out(r, "there is nothing to repair: the settings and the files of this place can be read\n");
	return 0;
}
