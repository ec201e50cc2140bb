/* cmd_skill_draft.c — skills while they are made: scaffold, draft, assessment, promotion, review. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/memory.h"
#include "kernel/person.h"
#include "kernel/skill.h"
#include "record/record.h"
#include "remember/draft.h"
#include "remember/lifecycle.h"

#include <string.h>
#include <unistd.h>

#define NAMED \
	{ \
		"name", OPT_VALUE, "NAME", "of the skill: a-z, 0-9 and '-'", NULL, true \
	}
#define DESCRIBED \
	{ "description", OPT_VALUE, "TEXT", "one sentence: what it does, and when to use it", NULL, true }, \
	{ \
		"emoji", OPT_VALUE, "CHARACTER", "shown beside its name", NULL, false \
	}

const struct opt skill_new_opts[] = {
	{ "description", OPT_VALUE, "TEXT", "one sentence: what it does, and when to use it", NULL, false },
	{ 0 },
};
const struct opt skill_create_opts[] = {
	NAMED,
	DESCRIBED,
	{ "bins", OPT_WORDS, "PROGRAM", "programs that it needs; several may follow", NULL, false },
	{ "env", OPT_WORDS, "VARIABLE", "variables of the environment that it needs; several may follow",
		NULL, false },
	{ 0 },
};
const struct opt skill_draft_opts[] = {
	{ "task-id", OPT_VALUE, "ID", "the task that was completed", NULL, true },
	NAMED,
	DESCRIBED,
	{ 0 },
};
const struct opt skill_name_opts[] = {
	NAMED,
	{ 0 },
};
const struct opt skill_promote_opts[] = {
	NAMED,
	{ "approve", OPT_FLAG, NULL, "you have read it", NULL, false },
	{ "dry-run", OPT_FLAG, NULL, "say what would be done, and do nothing", NULL, false },
	{ "replace", OPT_FLAG, NULL, "a live skill of that name goes to the archive", NULL, false },
	{ 0 },
};
const struct opt skill_approve_opts[] = {
	NAMED,
	{ "dry-run", OPT_FLAG, NULL, "say what would be done, and do nothing", NULL, false },
	{ "replace", OPT_FLAG, NULL, "a live skill of that name goes to the archive", NULL, false },
	{ 0 },
};
const struct opt skill_reject_opts[] = {
	NAMED,
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, true },
	{ 0 },
};

static struct contract_place place(struct cli *r)
{
	return skill_place(r->sys, r->a, r->ws);
}

/* ---- making one ---- */

/* A path that can be pasted, wherever one stands, and what comes next. */
static void tell_made(struct cli *r, struct json *doc, const char *next)
{
	const char *at = arena_printf(r->a, "%s/%s", r->ws->root, json_get_text(doc, "path", "")),
		   *file = text_quote(r->a, arena_printf(r->a, "%s/SKILL.md", at));

	if (r->is_json) {
		out_json(r, doc);
		return;
	}
	out(r, "skill=%s\npath=%s\n", safe_member(r, doc, "skill"), text_safe(r->a, at, strlen(at), false));
	out(r, "\nnext:\n  edit %s\n  %s\n", text_safe(r->a, file, strlen(file), false), hint(r, next));
}

static int create(struct cli *r, const struct draft_spec *d, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *doc;
	int rc = skill_create(&at, d, &doc, e);

	if (rc == OK)
		tell_made(r, doc, arena_printf(r->a, "helm skill validate %s", d->name));
	return rc;
}

int cmd_skill_new(struct cli *r, struct err *e)
{
	const struct draft_spec d = { .name = r->args[0],
		.description = opt_text(r, "description", "Say what it does, and when to use it.") };

	return create(r, &d, e);
}

int cmd_skill_create(struct cli *r, struct err *e)
{
	const char **bins, **env;
	struct draft_spec d = { .name = opt_text(r, "name", ""),
		.description = opt_text(r, "description", ""),
		.emoji = opt_text(r, "emoji", NULL) };

	d.bin_count = opt_list(r, "bins", &bins);
	d.env_count = opt_list(r, "env", &env);
	d.bins = (const char *const *)bins;
	d.env = (const char *const *)env;
	return create(r, &d, e);
}

struct logged {
	struct cli *r;
	const char *task_id;
	struct json *rows;
};

static int take_logged(void *arg, off_t at, uint64_t line, const struct json *row, struct err *e)
{
	struct logged *l = arg;

	(void)at;
	(void)line;
	(void)e;
	if (row && text_eq(json_get_text(row, "task_id", ""), l->task_id))
		json_push(l->r->a, l->rows, json_copy(l->r->a, row));
	return 0;
}

static int draft(struct cli *r, const char *id, const struct draft_spec *d, struct json **ret, struct err *e)
{
	const struct contract_place at = place(r);
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct logged log = { r, id, json_new(r->a, JSON_ARRAY) };
	struct json *task;
	int rc = memory_task(&m, r->a, id, &task, e);

	if (rc == OK)
		rc = rows_each(r->sys, r->ws->state_fd, COMMAND_LOG, 0, take_logged, &log, e);
	return rc ? rc : skill_draft(&at, d, task, log.rows, ret, e);
}

int skill_draft_from(
	struct cli *r, const char *task_id, const char *name, const char *description, struct err *e)
{
	const struct draft_spec d = { .name = name, .description = description };
	struct json *doc;

	return draft(r, task_id, &d, &doc, e);
}

int cmd_skill_draft(struct cli *r, struct err *e)
{
	const struct draft_spec d = { .name = opt_text(r, "name", ""),
		.description = opt_text(r, "description", ""),
		.emoji = opt_text(r, "emoji", NULL) };
	struct json *doc;
	int rc = draft(r, opt_text(r, "task-id", ""), &d, &doc, e);

	if (rc == OK)
		tell_made(r, doc, arena_printf(r->a, "helm skill assess-draft --name %s", d.name));
	return rc;
}

/* ---- what is missing ---- */

int cmd_skill_assess(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *doc;
	int rc = skill_assess(&at, opt_text(r, "name", ""), &doc, e);

	if (rc)
		return rc;
	bool is_passed = json_get_bool(doc, "passed", false);
	if (r->is_json) {
		out_json(r, doc);
		return is_passed ? 0 : EXIT_NO;
	}
	out(r, "draft=%s\npassed=%s\n", safe_member(r, doc, "draft"), is_passed ? "yes" : "no");
	json_each (one, skill_assess_words(r->a, doc))
		out(r, "missing=%s\n", text_safe(r->a, json_text(one), one->n, false));
	return is_passed ? 0 : EXIT_NO;
}

static void record(struct cli *r, const char *name, const char *event)
{
	const struct lifecycle_outcome o = { .event = event, .duration_ms = -1 };

	lifecycle_record(r->sys, r->a, r->ws->root_fd, r->ws->state_fd, name, &o);
}

/* A promoted skill is accepted as it is: a person has read it. */
static int pin_promoted(struct cli *r, const char *name, const char *target, struct err *e)
{
	const struct contract_place at = place(r);
	struct kernel k = { 0 };
	const char *sha256;
	struct json *files = NULL;
	int rc = skill_digest(&at, target, &sha256, &files, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = skill_pin(
			&k, r->a, name, sha256, files, arena_printf(r->a, "user:%u", getuid()), NULL, e);
	kernel_close(&k);
	return rc;
}

static int promote(struct cli *r, bool is_approved, struct err *e)
{
	const struct contract_place at = place(r);
	const char *name = opt_text(r, "name", ""), *target = arena_printf(r->a, "skills/%s", name);
	struct json *doc = json_new(r->a, JSON_OBJECT), *next = json_new(r->a, JSON_ARRAY), *assessment,
		    *words;
	int rc = skill_assess(&at, name, &assessment, e);

	if (rc)
		return rc;
	words = skill_assess_words(r->a, assessment);
	bool is_passed = skill_assess_passes(assessment, name, opt_flag(r, "replace"));
	json_sets(r->a, doc, "source", json_get_text(assessment, "draft", ""));
	json_sets(r->a, doc, "target", target);
	json_set(r->a, doc, "assessment_summary", words);
	json_set(r->a, doc, "next_steps", next);
	if (!is_passed || !is_approved) {
		json_pushs(r->a, next,
			is_passed ? "read it, then repeat this with --approve"
				  : "add what is missing, then assess it again");
		json_setb(r->a, doc, "promotable", false);
		out_json(r, doc);
		return EXIT_NO;
	}
	if (opt_flag(r, "dry-run")) {
		json_pushs(r->a, next, "repeat this without --dry-run");
		json_setb(r->a, doc, "promotable", true);
		out_json(r, doc);
		return 0;
	}
	rc = person_is_outside(r->sys, r->a, r->ws, e);
	if (rc == OK)
		rc = skill_promote(&at, name, opt_flag(r, "replace"), &target, e);
	if (rc == OK)
		rc = pin_promoted(r, name, target, e);
	if (rc)
		return rc;
	record(r, name, "skill_promoted");
	json_pushs(r->a, next, "helm skill-lifecycle scan");
	json_sets(r->a, doc, "promoted_to", target);
	out_json(r, doc);
	return 0;
}

int cmd_skill_promote(struct cli *r, struct err *e)
{
	return promote(r, opt_flag(r, "approve"), e);
}

int cmd_skill_approve(struct cli *r, struct err *e)
{
	return promote(r, true, e);
}

/* ---- review ---- */

int cmd_skill_diff(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *doc, *all = json_new(r->a, JSON_OBJECT);
	int rc = skill_compare(&at, opt_text(r, "name", ""), &doc, e);

	if (rc)
		return rc;
	json_sets(r->a, all, "workspace", r->ws->root);
	json_each_member (m, doc)
		json_set(r->a, all, m->name, m->value);
	if (r->is_json) {
		out_json(r, all);
		return 0;
	}
	r->is_document = true;
	json_each (line, json_get(doc, "diff"))
		out(r, "%s\n", text_safe(r->a, line->text, line->n, true));
	if (!json_get(doc, "diff")->n)
		out(r, "no difference\n");
	return 0;
}

int cmd_skill_reject(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	const char *name = opt_text(r, "name", "");
	struct json *doc;
	int rc = skill_reject(&at, name, opt_text(r, "reason", ""), &doc, e);

	if (rc)
		return rc;
	record(r, name, "skill_rejected");
	out_result(r, doc);
	return 0;
}
