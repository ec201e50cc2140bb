/* harness_after.c — after work ended: what its row shows, and whether that is enough to call it done. */
#include "remember/harness_parts.h"

#include "base/file.h"
#include "base/text.h"
#include "remember/evidence.h"

#include <fcntl.h>
#include <string.h>

static const struct json *harness_of(const struct json *row)
{
	return json_get(json_get(row, "meta"), "harness");
}

/* All that a row says in words, folded. */
static const char *blob_of(struct arena *a, const struct json *row)
{
	static const char *const said[] = { "task_name", "command_preview", "runtime_target", "runtime_note",
		"failure_stage", "failure_reason" };
	struct buf text;

	buf_init(&text, a);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		buf_addf(&text, "%s ", json_get_text(row, said[i], ""));
	buf_adds(&text, json_get_text(harness_of(row), "user_request", ""));
	return harness_folded(a, text.p);
}

/* ---- what a row shows by itself ---- */

static const char *told_by(const struct json *row)
{
	static const char *const members[] = { "runtime_note", "failure_reason", "command_preview" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get_text(row, members[i], "")[0])
			return json_get_text(row, members[i], "");
	return "";
}

static void mark_inferred(struct arena *a, struct json *doc, const char *source)
{
	json_setb(a, doc, "inferred", true);
	json_sets(a, doc, "inference_source", source);
}

static struct json *infer_browser(struct arena *a, const struct json *row, const char *blob)
{
	static const char *const signs[] = { "browser", "playwright", "snapshot", "selector", "dom", "click",
		"safari", "chrome", "firefox", "network", NULL };
	static const char *const reusable[] = { "api", "endpoint", "json", "network", "reuse", NULL };
	struct json *doc = json_new(a, JSON_OBJECT);
	bool is_api = harness_has_any(blob, reusable);

	if (!harness_has_any(blob, signs))
		return NULL;
	json_sets(a, doc, "reason", "the task speaks of a browser");
	json_sets(a, doc, "evidence", told_by(row));
	json_setb(a, doc, "api_reusable", is_api);
	json_sets(a, doc, "next_action", is_api ? "reuse_api" : "review");
	mark_inferred(a, doc, "task_ledger");
	return doc;
}

static struct json *infer_retrieval(struct arena *a, const struct json *row, const char *blob)
{
	static const char *const signs[] = { "fetch", "retriev", "reader", "blocked", "403", "429", "waf",
		"auth", "browser", "network", "endpoint", "json", "spa", "challenge", NULL };
	static const char *const browser[] = { "browser", "playwright", "snapshot", "selector", "dom", NULL };
	static const char *const network[] = { "network", "endpoint", "json", "api", "reuse", NULL };
	static const char *const auth[] = { "auth", "login", "paywall", NULL };
	static const char *const unsafe[] = { "unsafe", NULL };
	static const char *const approval[] = { "approval", NULL };

	if (!harness_has_any(blob, signs))
		return NULL;
	const bool is_browser = harness_has_any(blob, browser);
	const struct retrieval r = { .stage = is_browser ? "browser_snapshot" : "cheap_fetch",
		.text = blob,
		.is_unsafe = harness_has_any(blob, unsafe),
		.needs_approval = harness_has_any(blob, approval),
		.needs_auth = harness_has_any(blob, auth),
		.found_api = harness_has_any(blob, network),
		.used_browser = is_browser };
	struct json *doc = evidence_retrieval(a, &r);
	json_sets(a, doc, "recovery_artifact", told_by(row));
	mark_inferred(a, doc, "task_ledger");
	return doc;
}

/* The first word of the command that names a file of the workspace. */
static struct json *infer_file(const struct contract_place *at, const struct json *row)
{
	struct sys *s = at->sys;
	uint8_t first[INTAKE_BYTES];
	size_t i = 0;

	json_each (word, json_get(row, "command")) {
		const char *path = json_text(word);
		struct stat st;
		if (!i++ || !path || path[0] == '-' || !*path)
			continue;
		AUTO(close_fd)
		int fd = path[0] == '/'
			? -1
			: s->open(s, at->root_fd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0, 0);
		if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH) || !S_ISREG(st.st_mode))
			continue;
		ssize_t n = s->read(s, fd, first, sizeof(first));
		if (n < 0)
			continue;
		struct json *doc = evidence_file(at->a, path, (struct bytes){ first, (size_t)n }, st.st_size);
		mark_inferred(at->a, doc, "task_ledger_existing_path");
		return doc;
	}
	return NULL;
}

struct json *harness_infer(const struct contract_place *at, const struct json *row,
	const struct json *contract, bool is_demanded)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT);
	const char *blob = blob_of(a, row);

	for (enum harness_kind k = 0; k < EVIDENCE_KINDS; k++) {
		const struct harness_evidence *h = &harness_evidence[k];
		struct json *found;
		if (json_is(json_get(harness_of(row), h->member), JSON_OBJECT) ||
			(is_demanded && !contract_demands(contract, h->section, row)))
			continue;
		found = k == EVIDENCE_BROWSER	  ? infer_browser(a, row, blob)
			: k == EVIDENCE_RETRIEVAL ? infer_retrieval(a, row, blob)
						  : infer_file(at, row);
		if (found)
			json_set(a, doc, h->member, found);
	}
	return doc;
}

/* ---- is it done? ---- */

/* Kinds of completion_evidence ("test:pytest") that stand for a signal. */
static const struct {
	const char *signal, *kinds[8];
} kinds_of[] = {
	{ "file_diff", { "diff" } },
	{ "diagnostics", { "diagnostics" } },
	{ "direct_inspection", { "inspect", "review" } },
	{ "test_or_lint_or_diff", { "test", "pytest", "lint", "ruff", "mypy", "diff", "gate" } },
	{ "healthcheck", { "healthcheck", "probe" } },
	{ "provider_result", { "provider", "api", "remote", "service" } },
	{ "handoff_target", { "handoff" } },
};

static bool is_kind(const char *item, const char *kind)
{
	size_t n = strlen(kind);

	return strncmp(item, kind, n) == 0 && item[n] == ':' && item[n + 1];
}

static bool has_kind(const struct json *row, const char *signal)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds_of); i++) {
		if (!text_eq(kinds_of[i].signal, signal))
			continue;
		json_each (item, json_get(row, "completion_evidence"))
			for (const char *const *kind = kinds_of[i].kinds; json_text(item) && *kind; kind++)
				if (is_kind(json_text(item), *kind))
					return true;
	}
	return false;
}

static bool has_items(const struct json *list)
{
	return json_is(list, JSON_ARRAY) && list->n;
}

static const struct json *write_validation(const struct json *row)
{
	const struct json *v = json_get(harness_of(row), "write_validation");

	if (!v)
		v = json_get(row, "write_validation");
	return v ? v : json_get(json_get(row, "memory_capture"), "write_validation");
}

bool harness_shows(struct arena *a, const struct json *row, const char *signal)
{
	static const char *const tests[] = { "test", "pytest", "lint", "ruff", "mypy", "tsc", "check", NULL };
	const struct json *exit_code = json_get(row, "exit_code"), *checked = write_validation(row);
	int64_t code;
	bool is_clean = json_int(exit_code, &code) && code == 0,
	     has_paths = has_items(json_get(row, "touched_paths")) ||
		has_items(json_get(checked, "checked_paths"));

	if (has_kind(row, signal))
		return true;
	if (text_eq(signal, "completion_evidence"))
		return has_items(json_get(row, "completion_evidence"));
	if (text_eq(signal, "checkpoint_id") || text_eq(signal, "handoff_target"))
		return json_get_text(row, signal[0] == 'c' ? "checkpoint_id" : "runtime_target", "")[0];
	if (text_eq(signal, "write_validation"))
		return json_get_bool(checked, "ok", false);
	if (text_eq(signal, "process_exit"))
		return is_clean;
	if (text_eq(signal, "file_diff"))
		return has_paths;
	if (text_eq(signal, "test_or_lint_or_diff"))
		return has_paths ||
			(is_clean &&
				harness_has_any(
					harness_folded(a, json_get_text(row, "command_preview", "")), tests));
	return false;
}

/* Names of `list` that the row shows, or does not, joined. */
static const char *signals(struct arena *a, const struct json *row, const struct json *list, bool shown)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, "");
	json_each (one, list)
		if (json_text(one) && harness_shows(a, row, json_text(one)) == shown)
			buf_addf(&text, "%s%s", text.n ? ", " : "", json_text(one));
	return text.p;
}

static void check_completion(
	struct checks *c, const struct json *policy, const struct json *row, enum harness_level level)
{
	const struct json *rule = json_get(
				  json_get(policy, "completion_policy"), json_get_text(row, "profile", "")),
			  *gate = json_get(row, "finalization_gate");
	const char *missing = signals(c->a, row, json_get(rule, "all_of"), false),
		   *found = signals(c->a, row, json_get(rule, "one_of"), true);

	if (json_is(gate, JSON_OBJECT) && !json_get_bool(gate, "ok", false))
		check_add(c, "completion_policy", false, "its finalization gate does not hold");
	else if (level < LEVEL_BALANCED || !rule)
		check_add(c, "completion_policy", true, "nothing is asked for at this level");
	else if (*missing)
		check_add(c, "completion_policy", false, "it lacks %s", missing);
	else if (has_items(json_get(rule, "one_of")) && !*found)
		check_add(c, "completion_policy", false, "one of these must show that it is done: %s",
			signals(c->a, row, json_get(rule, "one_of"), false));
	else
		check_add(c, "completion_policy", true, "%s", *found ? found : "it has what is asked for");
}

static void check_evidence(struct checks *c, const struct json *contract, const struct json *row)
{
	for (enum harness_kind k = 0; k < EVIDENCE_KINDS; k++) {
		const struct harness_evidence *h = &harness_evidence[k];
		const struct json *have = json_get(harness_of(row), h->member);
		bool is_wanted = contract_demands(contract, h->section, row);
		const char *missing = harness_missing_fields(c->a, json_get(contract, h->section), have);
		check_add(c, h->name, !is_wanted || (json_is(have, JSON_OBJECT) && !*missing), "%s%s",
			!is_wanted			      ? "not asked for"
				: !json_is(have, JSON_OBJECT) ? "asked for, and not there"
				: *missing		      ? "it lacks "
							      : "there",
			is_wanted && json_is(have, JSON_OBJECT) ? missing : "");
	}
	const struct json *valid = write_validation(row);
	bool is_wanted = contract_demands(contract, "artifact_validation", row);
	const char *missing = harness_missing_fields(c->a, json_get(contract, "artifact_validation"), valid);
	check_add(c, "artifact_validation", !is_wanted || (json_get_bool(valid, "ok", false) && !*missing),
		"%s",
		!is_wanted				    ? "not asked for"
			: !valid			    ? "asked for, and not there"
			: json_get_bool(valid, "ok", false) ? "what was written was looked at"
							    : "what was written does not hold");
}

/* Is there something outside of the command's own word for it? */
static void check_result(struct checks *c, const struct json *contract, const struct json *row)
{
	const char *profile = json_get_text(row, "profile", ""), *status = json_get_text(row, "status", "");
	const struct json *h = harness_of(row);
	bool is_done = text_eq(status, "completed"),
	     is_grounded = json_is(json_get(h, "browser_evidence"), JSON_OBJECT) ||
		json_is(json_get(h, "retrieval_evidence"), JSON_OBJECT) ||
		has_items(json_get(row, "checkpoint_paths")) || json_get_text(row, "checkpoint_id", "")[0] ||
		(text_eq(profile, "inspect_local") && is_done),
	     is_wanted = json_get_bool(json_get(contract, "result_contract"), "required", false),
	     is_risky = text_eq(profile, "service_ops") || text_eq(profile, "risky_edit") ||
		text_eq(profile, "remote_handoff");

	check_add(c, "result_consistency", is_grounded || !is_wanted, "%s",
		is_grounded ? "something besides the command shows it" : "only the command itself says so");
	if (!is_grounded && is_done && is_risky)
		json_push(c->a, c->warnings,
			json_stringf(c->a,
				"a completed %s with neither browser evidence, retrieval evidence nor a checkpoint",
				profile));
}

static bool is_open_capture(const char *status)
{
	return text_eq(status, "capture_planned") || text_eq(status, "capture_partial") ||
		text_eq(status, "unknown");
}

static void check_finalization(struct checks *c, const struct json *row, const struct json *own,
	const struct json *contract, enum harness_level level)
{
	const char *status = json_get_text(json_get(row, "memory_capture"), "finalization_status", "unknown");
	bool is_wanted = own && level >= LEVEL_BALANCED &&
		json_get_bool(contract, "require_finalization_written", true);

	check_add(c, "finalization", !is_wanted || !is_open_capture(status), "%s%s",
		is_wanted ? "" : "not asked for: ", status);
}

static void check_status(struct checks *c, const struct json *row)
{
	const char *status = json_get_text(row, "status", "unknown");

	check_add(c, "task_status", text_eq(status, "completed") || text_eq(status, "handoff_required"), "%s",
		status);
}

/* What a row stands under: the policy, its contract, and how strict to be. */
struct standing {
	struct json *policy, *own, *contract;
	enum harness_level level;
};

static int standing_of(
	const struct contract_place *at, const struct json *row, struct standing *ret, struct err *e)
{
	const char *skill = json_get_text(row, "skill", NULL),
		   *said = json_get_text(harness_of(row), "enforcement_level", NULL);
	int rc = harness_policy(at, &ret->policy, e);

	ret->own = NULL;
	if (rc == OK && skill)
		rc = skill_contract(at, skill, &ret->own, e);
	if (rc)
		return rc;
	ret->contract = skill_contract_whole(at->a, ret->own);
	ret->level = harness_level_of(ret->policy, json_get_text(harness_of(row), "model_tier", "frontier"),
		json_get_text(row, "profile", ""), ret->contract);
	/* What was said when it started cannot be talked down afterwards. */
	const enum harness_level kept = harness_level_parse(said, LEVEL_LIGHT);
	ret->level = kept > ret->level ? kept : ret->level;
	return OK;
}

int harness_postflight(const struct contract_place *at, const char *task_id, const struct json *row,
	struct json **ret, struct err *e)
{
	struct json *doc = json_new(at->a, JSON_OBJECT);
	struct checks c = checks_begin(at->a);
	struct standing s;
	int rc = row ? standing_of(at, row, &s, e) : OK;

	if (rc)
		return rc;
	json_sets(at->a, doc, "task_id", task_id);
	json_set(at->a, doc, "entry", row ? json_copy(at->a, row) : json_new(at->a, JSON_NULL));
	check_add(&c, "task_ledger_entry", row != NULL, "%s", row ? "there" : "no such task");
	if (row) {
		json_sets(at->a, doc, "enforcement_level", harness_level_name(s.level));
		check_status(&c, row);
		check_finalization(&c, row, s.own, s.contract, s.level);
		check_evidence(&c, s.own, row);
		check_completion(&c, s.policy, row, s.level);
		harness_check_route(&c, s.contract, json_get(harness_of(row), "route_decision"),
			json_get_text(row, "command_preview", ""));
		check_result(&c, s.contract, row);
	}
	checks_end(&c, doc);
	*ret = doc;
	return OK;
}

int harness_reply(const struct contract_place *at, const struct json *row, struct json **ret, struct err *e)
{
	static const char *const kept[] = { "task_id", "task_name", "status", "skill", "profile" };
	struct json *doc = json_new(at->a, JSON_OBJECT), *task = json_new(at->a, JSON_OBJECT);
	struct checks c = checks_begin(at->a);
	struct standing s;
	int rc = row ? standing_of(at, row, &s, e) : OK;

	if (rc)
		return rc;
	for (size_t i = 0; row && i < ARRAY_SIZE(kept); i++)
		json_sets(at->a, task, kept[i], json_get_text(row, kept[i], NULL));
	if (row) {
		const struct json *gate = json_get(row, "finalization_gate");
		check_status(&c, row);
		check_add(&c, "claim_evidence", !gate || json_get_bool(gate, "ok", false), "%s",
			!gate ? "nothing was claimed" : json_get_text(gate, "arbiter", "hold"));
	}
	if (row && s.level >= LEVEL_BALANCED) {
		bool is_known = json_get_bool(harness_of(row), "context_satisfied", false) ||
			!json_get_bool(json_get(s.contract, "context"), "required", false);
		check_add(&c, "task_name", json_get_text(row, "task_name", "")[0], "%s",
			json_get_text(row, "task_name", "it has no name"));
		check_add(&c, "skill_contract", s.own || !json_get_text(row, "skill", NULL), "%s",
			s.own ? "there" : "its skill has none");
		check_add(&c, "context_hydration", is_known, "%s",
			is_known ? "done, or not asked for" : "the contract asks for it");
		check_finalization(&c, row, s.own, s.contract, s.level);
	}
	json_sets(at->a, doc, "reason", !row ? "task_not_found" : c.ok ? "reply_allowed" : "reply_blocked");
	json_set(at->a, doc, "task", task);
	checks_end(&c, doc);
	json_setb(at->a, doc, "ok", row && c.ok);
	*ret = doc;
	return OK;
}
