/* ceiling.c — ceilings, kept as one document; see ceiling.h. */
#include "kernel/ceiling.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/sealed.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/operator_files.h"

#include <fcntl.h>

static const struct doc STORE = { .file = CEILINGS,
	.lock = CEILINGS ".lock",
	.type = JSON_OBJECT,
	.max_bytes = 1 << 20,
	.code = "CEILINGS",
	.newest = 1 };
enum { CEILINGS_MOST = 100 };

int ceilings_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	const char *dir = workspace_beside(a, ws);
	AUTO(close_fd) int fd = -1;
	struct err why = { 0 };
	int rc = dir ? file_open_dir(s, AT_FDCWD, dir, &fd, &why) : E_MISSING;

	if (rc == E_MISSING) {
		*ret = json_new(a, JSON_OBJECT);
		return OK;
	}
	return rc ? err_set(e, rc, why.code, "%s", why.text)
		  : sealed_load(s, a, fd, &STORE, CEILINGS_NAME, ret, e);
}

bool ceiling_is_one(const struct json *row)
{
	return json_get(row, "tool_call_limit") || json_get(row, "spend_limit_cents") ||
		json_get(row, "approval_required_above_cents");
}

static int record_act(struct kernel *k, struct arena *a, const char *id, const struct json *row,
	const char *by, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *what = json_copy(a, row), *receipt;

	json_sets(a, what, "budget_id", id);
	json_set(a, about, "serve_budget", what);
	return act_record(k, a,
		&(struct act){ .effect_id = "helm.serve/budget",
			.type = "setting",
			.output_hash = json_sha256(a, what),
			.executor_id = by,
			.about = about },
		&receipt, e);
}

int ceiling_put(
	struct kernel *k, struct arena *a, const char *id, struct json *row, const char *by, struct err *e)
{
	const char *dir = workspace_beside(a, k->ws);
	AUTO(close_fd) int fd = -1;
	AUTO(close_fd) int lock = -1;
	struct json *doc;

	if (!dir)
		return err_set(e, E_MISSING, "CEILINGS", "there is no helm home to keep budgets in");
	int rc = file_mkdirs(k->sys, AT_FDCWD, dir, 0700, e);
	if (rc == OK)
		rc = file_open_dir(k->sys, AT_FDCWD, dir, &fd, e);
	if (rc == OK)
		rc = doc_lock(k->sys, fd, &STORE, &lock, e);
	if (rc == OK)
		rc = sealed_load(k->sys, a, fd, &STORE, CEILINGS_NAME, &doc, e);
	if (rc)
		return rc;
	struct json *budgets = doc_part(a, doc, "budgets");
	if (budgets->n >= CEILINGS_MOST && !json_get(budgets, id))
		return err_set(e, E_LIMIT, "CEILINGS", "there are %d budgets already", CEILINGS_MOST);
	json_sets(a, row, "updated_at", text_time_z(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "updated_by", by);
	rc = record_act(k, a, id, row, by, e);
	if (rc)
		return rc;
	json_seti(a, doc, "version", 1);
	if (ceiling_is_one(row))
		json_set(a, budgets, id, json_copy(a, row));
	else
		(void)json_remove(budgets, id);
	return sealed_replace(k->sys, a, fd, &STORE, doc, e);
}

/* ---- as budgets ---- */

static void add_budget(struct arena *a, struct json *list, const char *id, const struct json *row,
	const char *what, const char *unit, const char *limit)
{
	struct json *budget = json_new(a, JSON_OBJECT);
	const char *subject = json_get_text(row, "subject", "*");

	json_sets(a, budget, "id", arena_printf(a, "ceiling.%s.%s", id, what));
	/* Who only wants to be asked sets no sum. */
	json_seti(a, budget, "limit", json_get_int(row, limit, INT64_C(1) << 52));
	json_sets(a, budget, "unit", unit);
	json_sets(a, budget, "period", json_get_text(row, "window", "total"));
	json_sets(a, budget, "per", text_eq(subject, "*") ? "all" : subject);
	if (text_eq(unit, "cents") && json_get(row, "approval_required_above_cents"))
		json_seti(a, budget, "ask_above", json_get_int(row, "approval_required_above_cents", 0));
	json_push(a, list, budget);
}

void ceilings_add(struct arena *a, const struct json *ceilings, struct json *document)
{
	struct json *budgets;

	if (!json_get(ceilings, "budgets") || !json_get(ceilings, "budgets")->n)
		return;
	struct json *limits = doc_part(a, document, "limits");
	budgets = json_get(limits, "budgets");
	if (!budgets) {
		budgets = json_new(a, JSON_ARRAY);
		json_set(a, limits, "budgets", budgets);
	}
	json_each_member (m, json_get(ceilings, "budgets")) {
		if (json_get(m->value, "tool_call_limit"))
			add_budget(a, budgets, m->name, m->value, "calls", "requests", "tool_call_limit");
		if (json_get(m->value, "spend_limit_cents") ||
			json_get(m->value, "approval_required_above_cents"))
			add_budget(a, budgets, m->name, m->value, "spend", "cents", "spend_limit_cents");
	}
}
