/* cmd_promotion.c — skill-promotion: what could become a skill, and the answers; skill-intake: skills from outside. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/intake.h"
#include "kernel/person.h"
#include "record/record.h"
#include "remember/intake.h"
#include "remember/promotion.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PROMOTION_STATE "skill-promotion-state.json"
#define STATE_PATH \
	{ \
		"state-path", OPT_VALUE, "FILE", "another state file than the workspace's", NULL, false \
	}

const struct opt promotion_digest_opts[] = {
	{ "cadence", OPT_VALUE, "WORD", "how often it is sent (default daily)", "daily|weekly", false },
	{ "max", OPT_INT, "N", "at most so many (default 5)", NULL, false },
	{ "traces-dir", OPT_VALUE, "DIR", "only traces of this directory", NULL, false },
	{ "no-record", OPT_FLAG, NULL, "do not keep what was offered", NULL, false },
	STATE_PATH,
	{ 0 },
};
const struct opt promotion_decide_opts[] = {
	{ "by", OPT_VALUE, "NAME", "who says so (default: this user)", NULL, false },
	{ "reason", OPT_VALUE, "TEXT", "why, of a rejection", NULL, false },
	STATE_PATH,
	{ 0 },
};
const struct opt promotion_state_opts[] = { STATE_PATH, { 0 } };
const struct opt intake_classify_opts[] = {
	{ "description", OPT_VALUE, "TEXT", "what it says about itself", NULL, false },
	{ 0 },
};
const struct opt intake_validate_opts[] = {
	{ "risk-class", OPT_VALUE, "CLASS", "D0, D1, D2, D3 or X", NULL, true },
	{ "default-action", OPT_VALUE, "ACTION", "what is done with it", NULL, true },
	{ 0 },
};

/* A file that is named with its directory is somebody's own; otherwise the workspace's. */
static struct promotion_place promotion_at(struct cli *r)
{
	const char *given = opt_text(r, "state-path", NULL),
		   *env = r->sys->getenv(r->sys, "HELM_SKILL_PROMOTION_STATE");

	if (!given)
		given = env && *env ? env : r->sys->getenv(r->sys, "OPENCLAW_SKILL_PROMOTION_STATE");
	bool is_own = given && *given;
	return (struct promotion_place){ .sys = r->sys,
		.a = r->a,
		.dir_fd = is_own ? AT_FDCWD : r->ws->state_fd,
		.file = is_own ? given : PROMOTION_STATE,
		.traces = { r->sys, r->a, r->ws->state_fd, NULL } };
}

const char *traces_dir(struct cli *r, const char *given)
{
	const char *env = r->sys->getenv(r->sys, "HELM_TRACES_DIR");

	if (!given)
		given = env && *env ? env : r->sys->getenv(r->sys, "OPENCLAW_TRACES_DIR");
	return given && *given ? workspace_named(r->sys, r->a, given) : NULL;
}

int cmd_promotion_digest(struct cli *r, struct err *e)
{
	struct promotion_place p = promotion_at(r);
	const struct promotion_digest d = { .cadence = opt_text(r, "cadence", "daily"),
		.most = (size_t)opt_int(r, "max", 5),
		.record = !opt_flag(r, "no-record") };
	struct json *doc;

	p.traces.dir = traces_dir(r, opt_text(r, "traces-dir", NULL));
	int rc = promotion_digest(&p, &d, &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

/* ---- the draft of what was approved ---- */

struct sample {
	struct arena *a;
	const char *name, *skill, *task_id;
};

static int find_sample(void *arg, struct json *row)
{
	struct sample *s = arg;

	if (row_is_open(row) || !text_eq(json_get_text(row, "status", ""), "completed") ||
		!text_eq(json_get_text(row, "task_name", ""), s->name) ||
		!text_eq(json_get_text(row, "skill", ""), s->skill))
		return 0;
	s->task_id = arena_strdup(s->a, json_get_text(row, "task_id", ""));
	return 1;
}

/* "Deploy the Docs!" is deploy-the-docs. */
static const char *draft_name(struct arena *a, const char *name)
{
	enum { MOST = 48 };
	struct buf to;

	buf_init(&to, a);
	for (const char *p = name; *p && to.n < MOST; p++)
		if (isalnum((unsigned char)*p))
			buf_addc(&to, (char)tolower((unsigned char)*p));
		else if (to.n && to.p[to.n - 1] != '-')
			buf_addc(&to, '-');
	while (to.n && to.p[to.n - 1] == '-')
		to.n--;
	return to.n ? arena_strndup(a, to.p, to.n) : "approved-skill";
}

/* The answer is on record already: a draft that cannot be made is said, and takes nothing back. */
static void make_draft(struct cli *r, struct json *entry)
{
	const struct json *print = json_get(entry, "fingerprint");
	struct sample s = { r->a, json_get_text(print, "task_name", ""), json_get_text(print, "skill", ""),
		NULL };
	const char *name = draft_name(r->a, s.name), *next;
	struct err why = { 0 };

	(void)rows_back(r->sys, NULL, r->ws->state_fd, TASK_LEDGER, 0, NULL, find_sample, &s, &why);
	if (!s.task_id) {
		warn(r, "no draft was made: no completed task of that name is in the ledger");
		return;
	}
	if (skill_draft_from(r, s.task_id, name,
		    arena_printf(r->a, "%s: what task %s did.", s.name, s.task_id), &why)) {
		warn(r, "no draft was made: %s", why.text);
		return;
	}
	next = arena_printf(r->a, "helm skill assess-draft --name %s", name);
	json_sets(r->a, entry, "draft", name);
	json_sets(r->a, entry, "next_command", next);
}

static int decide(struct cli *r, enum promotion_verb verb, struct err *e)
{
	const struct promotion_place p = promotion_at(r);
	struct json *entry;
	int rc = verb == PROMOTION_DETAILS ? OK : person_is_outside(r->sys, r->a, r->ws, e);

	if (rc == OK)
		rc = promotion_decide(&p, verb, r->args[0],
			verb == PROMOTION_DETAILS
				? NULL
				: opt_text(r, "by", arena_printf(r->a, "user:%u", getuid())),
			verb == PROMOTION_REJECT ? opt_text(r, "reason", NULL) : NULL, &entry, e);
	if (rc)
		return rc;
	if (verb == PROMOTION_APPROVE)
		make_draft(r, entry);
	out_result(r, entry);
	return rc;
}

int cmd_promotion_approve(struct cli *r, struct err *e)
{
	return decide(r, PROMOTION_APPROVE, e);
}

int cmd_promotion_reject(struct cli *r, struct err *e)
{
	return decide(r, PROMOTION_REJECT, e);
}

int cmd_promotion_details(struct cli *r, struct err *e)
{
	return decide(r, PROMOTION_DETAILS, e);
}

/* The answer of somebody who was sent the digest, as they wrote it. */
int cmd_promotion_reply(struct cli *r, struct err *e)
{
	const struct promotion_place p = promotion_at(r);
	struct json *doc = json_new(r->a, JSON_OBJECT), *entry = NULL;
	enum promotion_verb verb;
	const char *id, *reason, *outcome = "ok";
	int rc = person_is_outside(r->sys, r->a, r->ws, e);

	if (rc)
		return rc;
	if (!promotion_reply(r->a, r->args[0], &verb, &id, &reason)) {
		outcome = "not_an_approval";
	} else {
		struct err why = { 0 };
		rc = promotion_decide(&p, verb, id,
			opt_text(r, "by", arena_printf(r->a, "user:%u", getuid())), reason, &entry, &why);
		if (rc && rc != E_MISSING && rc != E_INPUT) {
			*e = why;
			return rc;
		}
		outcome = rc == E_MISSING ? "unknown_id" : rc == E_INPUT ? "already_processed" : "ok";
	}
	if (text_eq(outcome, "ok") && verb == PROMOTION_APPROVE)
		make_draft(r, entry);
	json_sets(r->a, doc, "outcome", outcome);
	json_set(r->a, doc, "entry", entry ? entry : json_new(r->a, JSON_NULL));
	out_result(r, doc);
	return text_eq(outcome, "ok") ? 0 : EXIT_NO;
}

int cmd_promotion_pending(struct cli *r, struct err *e)
{
	const struct promotion_place p = promotion_at(r);
	struct json *list;
	int rc = promotion_pending(&p, &list, e);

	if (rc == OK)
		out_result(r, list);
	return rc;
}

int cmd_promotion_state_path(struct cli *r, struct err *e)
{
	const struct promotion_place p = promotion_at(r);
	const char *path =
		p.dir_fd == AT_FDCWD ? p.file : arena_printf(r->a, "%s/%s", r->ws->state_dir, p.file);
	struct json *doc = json_new(r->a, JSON_OBJECT);

	(void)e;
	if (!r->is_json) {
		out(r, "%s\n", text_safe(r->a, path, strlen(path), false));
		return 0;
	}
	json_sets(r->a, doc, "state_path", path);
	out_json(r, doc);
	return 0;
}

/* ---- from outside ---- */

int cmd_intake_classify(struct cli *r, struct err *e)
{
	(void)e;
	out_result(r, intake_classify(r->a, r->args[0], opt_text(r, "description", NULL)));
	return 0;
}

int cmd_intake_validate(struct cli *r, struct err *e)
{
	struct json *doc = intake_validate(
		r->a, r->args[0], opt_text(r, "risk-class", ""), opt_text(r, "default-action", ""));

	(void)e;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_NO;
}

int cmd_intake_scan(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = intake_scan(r->sys, r->a, r->ws, workspace_named(r->sys, r->a, r->args[0]), &doc, e);

	if (rc)
		return rc;
	bool is_fine = text_eq(json_get_text(doc, "verdict", ""), "accept");
	if (r->is_json) {
		out_json(r, doc);
		return is_fine ? 0 : EXIT_NO;
	}
	out(r, "verdict=%s class=%s files=%lld sha256=%s\n", safe_member(r, doc, "verdict"),
		safe_member(r, json_get(doc, "words"), "risk_class"),
		(long long)json_get_int(doc, "file_count", 0), safe_member(r, doc, "sha256"));
	json_each (one, json_get(doc, "findings"))
		out(r, "%s %s %s:%lld %s: %s\n", safe_member(r, one, "severity"), safe_member(r, one, "kind"),
			safe_member(r, one, "file"), (long long)json_get_int(one, "line", 0),
			safe_member(r, one, "why"), safe_member(r, one, "text"));
	return is_fine ? 0 : EXIT_NO;
}
