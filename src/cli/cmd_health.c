/* cmd_health.c — health: which models answer, which one to use; freshness: how old what sources outside said is. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_serve.h"
#include "kernel/workspace.h"
#include "remember/health.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const struct opt health_probe_opts[] = {
	{ "model", OPT_VALUE, "REF", "only this one", NULL, false },
	{ "current-model", OPT_VALUE, "REF", "only those that are better than this one", NULL, false },
	{ "again", OPT_FLAG, NULL, "also models that failed a moment ago and wait", NULL, false },
	{ 0 },
};
const struct opt health_watch_opts[] = {
	{ "current-model", OPT_VALUE, "REF", "those that are better than this one are asked", NULL, true },
	{ "interval-seconds", OPT_INT, "N", "so long between two rounds (60)", NULL, false },
	{ "duration-seconds", OPT_INT, "N", "all in all (600)", NULL, false },
	{ 0 },
};
const struct opt health_select_opts[] = {
	{ "no-save", OPT_FLAG, NULL, "do not keep what was selected", NULL, false },
	{ 0 },
};
const struct opt health_launch_opts[] = {
	{ "current-model", OPT_VALUE, "REF", "the model in use; only better ones are asked", NULL, false },
	{ 0 },
};
enum { LAUNCH_SECONDS = 300 };
const struct opt freshness_opts[] = {
	{ "state-path", OPT_VALUE, "FILE", "another file than the workspace's", NULL, false },
	{ "strict-high-risk", OPT_FLAG, NULL,
		"a source of high risk whose last attempt failed is not fresh, however recent its last success",
		NULL, false },
	{ 0 },
};

static int begin(struct cli *r, struct health *h, struct err *e)
{
	const struct health_place at = { r->sys, r->a, r->ws->root_fd, r->ws->state_name };

	return health_open(h, &at, e);
}

int cmd_health_state(struct cli *r, struct err *e)
{
	struct health h;
	struct json *state;
	int rc = begin(r, &h, e);

	if (rc == OK)
		rc = health_state(&h, &state, e);
	if (rc == OK)
		out_result(r, state);
	return rc;
}

int cmd_health_select(struct cli *r, struct err *e)
{
	struct health h;
	struct json *doc;
	int rc = begin(r, &h, e);

	if (rc == OK)
		rc = health_select(&h, !opt_flag(r, "no-save"), &doc, e);
	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_text(doc, "model", NULL) ? 0 : EXIT_NO;
}

int cmd_health_providers(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "PROVIDER", "KIND", "CONFIGURED", "CONFIDENCE", "NAMES" };
	struct json *doc = health_providers(r->sys, r->a);

	(void)e;
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	out(r, "mode=%s readiness=%s\n\n", safe_member(r, doc, "mode"), safe_member(r, doc, "readiness"));
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, json_get(doc, "providers")) {
		struct buf names;
		buf_init(&names, r->a);
		json_each (name, json_get(one, "detected_env_names"))
			buf_addf(&names, "%s%s", names.n ? " " : "", json_text(name));
		const char *const cells[] = { safe_member(r, one, "provider"), safe_member(r, one, "kind"),
			json_get_bool(one, "configured", false) ? "yes" : "no",
			safe_member(r, one, "confidence"), names.n ? names.p : "-" };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

/* ---- asking ---- */

static int ask(
	struct cli *r, const struct health *h, const struct json *model, struct json **ret, struct err *e)
{
	struct json *request, *options = json_new(r->a, JSON_OBJECT), *said;
	struct err why = { 0 };
	int code, rc = health_request(h, model, &request, ret, e);

	if (rc || *ret)
		return rc;
	json_set(r->a, options, "probe", request);
	rc = serve_ask(
		r, options, (int)json_get_int(request, "timeout_ms", 30000) + 5000, &said, &code, &why);
	const char *body = rc ? "" : json_get_text(said, "body", "");
	const struct health_answer x = { .status = rc ? 0 : (int)json_get_int(said, "status", 0),
		.body = bytes_of(body),
		.error = rc ? why.text : json_get_text(said, "error", NULL),
		.latency_ms = rc ? 0 : json_get_int(said, "latency_ms", 0) };
	*ret = health_result(h, model, &x);
	return OK;
}

/* One that failed a moment ago is not asked again before its time. */
static struct json *skipped(
	struct cli *r, const struct json *model, const struct json *state, int64_t until_us)
{
	struct json *doc =
		json_copy(r->a, json_get(json_get(state, "models"), json_get_text(model, "ref", "")));

	json_setb(r->a, doc, "skipped", true);
	json_sets(r->a, doc, "detail",
		arena_printf(
			r->a, "not asked again before %s; --again asks now", text_time_iso(r->a, until_us)));
	return doc;
}

static int probe_all(struct cli *r, struct health *h, const char *only, const char *better_than, bool again,
	struct json **ret, struct err *e)
{
	struct json *list = json_new(r->a, JSON_ARRAY), *state;
	int rc = health_state(h, &state, e);

	json_each (model, h->models) {
		const char *ref = json_get_text(model, "ref", "");
		struct json *result = NULL;
		if (rc || (better_than && text_eq(ref, better_than)))
			break;
		if (only && !text_eq(only, ref))
			continue;
		int64_t until = health_wait_until(state, ref);
		if (!again && !only && until > r->sys->now_us(r->sys))
			result = skipped(r, model, state, until);
		else
			rc = ask(r, h, model, &result, e);
		if (rc == OK)
			json_push(r->a, list, result);
	}
	*ret = list;
	return rc ? rc : list->n ? health_keep(h, list, e) : OK;
}

static bool are_healthy(const struct json *results)
{
	json_each (one, results)
		if (!text_eq(json_get_text(one, "status", ""), "healthy"))
			return false;
	return results->n > 0;
}

static struct json *unknown_model(struct cli *r, const char *ref)
{
	struct json *one = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, one, "model", ref);
	json_sets(r->a, one, "status", "unknown");
	json_sets(r->a, one, "checked_at", text_time_iso(r->a, r->sys->now_us(r->sys)));
	json_sets(r->a, one, "error", "the policy has no such model");
	return one;
}

int cmd_health_probe(struct cli *r, struct err *e)
{
	const char *only = opt_text(r, "model", NULL), *current = opt_text(r, "current-model", NULL);
	struct health h;
	struct json *results, *chosen, *doc = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &h, e);

	if (rc)
		return rc;
	if (only && !health_model(&h, only)) {
		results = json_new(r->a, JSON_ARRAY);
		json_push(r->a, results, unknown_model(r, only));
	} else {
		rc = probe_all(r, &h, only, current, opt_flag(r, "again"), &results, e);
	}
	if (rc == OK)
		rc = health_select(&h, true, &chosen, e);
	if (rc)
		return rc;
	json_set(r->a, doc, "results", results);
	json_set(r->a, doc, "selected_model", chosen);
	out_result(r, doc);
	return are_healthy(results) ? 0 : EXIT_NO;
}

/* Until its time is over, or a better model answers. */
int cmd_health_watch(struct cli *r, struct err *e)
{
	const int64_t pause = opt_int(r, "interval-seconds", 60),
		      end = r->sys->mono_us(r->sys) + opt_int(r, "duration-seconds", 600) * 1000000;
	struct health h;
	struct json *results, *chosen;
	int rc = begin(r, &h, e);

	while (rc == OK) {
		rc = probe_all(r, &h, NULL, opt_text(r, "current-model", ""), false, &results, e);
		if (rc)
			break;
		json_each (one, results)
			if (text_eq(json_get_text(one, "status", ""), "healthy")) {
				rc = health_select(&h, true, &chosen, e);
				if (rc == OK)
					out_result(r, chosen);
				return rc;
			}
		if (r->sys->mono_us(r->sys) + pause * 1000000 >= end) {
			struct json *doc = json_new(r->a, JSON_OBJECT);
			json_set(r->a, doc, "results", results);
			out_result(r, doc);
			return EXIT_NO;
		}
		r->sys->sleep_us(r->sys, pause * 1000000);
	}
	return rc;
}

/* The same in the background, for five minutes; its end is in the state. */
int cmd_health_launch(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *results, *chosen;
	const int64_t end = r->sys->mono_us(r->sys) + LAUNCH_SECONDS * (int64_t)1000000;
	struct health h;
	int rc = begin(r, &h, e); /* a policy that cannot be read is said now, to somebody */
	AUTO(close_fd) int nothing = rc ? -1 : r->sys->open(r->sys, AT_FDCWD, "/dev/null", O_RDWR, 0, 0);
	pid_t pid = rc == OK && nothing >= 0 ? r->sys->fork(r->sys) : -1;

	if (rc)
		return rc;
	if (pid < 0)
		return err_sys(e, "HEALTH_LAUNCH", "cannot start the watch");
	if (pid) {
		json_setb(r->a, doc, "launched", true);
		json_seti(r->a, doc, "pid", pid);
		out_result(r, doc);
		return 0;
	}
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(nothing, fd);
	(void)setsid();
	bool is_found = false;
	while (rc == OK && !is_found && r->sys->mono_us(r->sys) < end) {
		rc = probe_all(r, &h, NULL, opt_text(r, "current-model", ""), false, &results, e);
		json_each (one, rc ? NULL : results)
			is_found |= text_eq(json_get_text(one, "status", ""), "healthy");
		if (rc == OK && !results->n)
			break; /* there is no better one */
		if (rc == OK && !is_found)
			r->sys->sleep_us(r->sys, 60 * (int64_t)1000000);
	}
	if (is_found)
		rc = health_select(&h, true, &chosen, e);
	_exit(rc ? 1 : 0);
}

int cmd_freshness_status(struct cli *r, struct err *e)
{
	const char *path = opt_text(r, "state-path", NULL);
	struct json *doc;
	int rc = freshness_status(r->sys, r->a, path ? AT_FDCWD : r->ws->state_fd,
		path ? path : "connector-freshness.json", opt_flag(r, "strict-high-risk"), &doc, e);

	if (rc == OK)
		out_result(r, doc);
	return rc;
}
