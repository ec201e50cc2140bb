/* edit.c — the rules about changing files, as data, and the answer they give. */
#include "remember/edit.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

static const char shipped[] =
	"{\"default\":\"patch_first\",\"max_patch_failures_per_file\":2,"
	"\"on_repeated_patch_failure\":\"reload_context_then_decompose\","
	"\"requires_checkpoint_for\":[\"shared_workflow\",\"skill_router\",\"automation\"],"
	"\"read_before_write\":{\"mode\":\"required\"},"
	"\"whole_file_rewrite_allowed_for\":[\"new_file\",\"generated_artifact\",\"small_file\",\"explicit_user_request\"],"
	"\"small_file_bytes\":4096,\"generated_paths\":[\"dist/**\",\"build/**\",\"**/*.lock\",\"**/*.min.*\"]}";

int edit_policy(const struct contract_place *at, struct json **ret, bool *ret_is_held, struct err *e)
{
	struct json *base, *own;

	if (json_parse(at->a, BYTES_LITERAL(shipped), "edit policy", NULL, &base, NULL))
		BUG("the shipped edit policy is no JSON");
	int rc = doc_read(at->sys, at->a, at->root_fd, EDIT_POLICY, 1 << 20, FILE_BENEATH, &own, e);
	*ret_is_held = rc != E_MISSING;
	if (rc && rc != E_MISSING)
		return rc;
	if (rc == OK && !json_is(own, JSON_OBJECT))
		return err_set(e, E_INPUT, "EDIT_POLICY", EDIT_POLICY " must be an object");
	if (rc == OK)
		doc_lay_over(at->a, base, own);
	*ret = base;
	return OK;
}

static bool lists(const struct json *list, const char *text)
{
	json_each (one, list)
		if (json_text(one) && text_eq(json_text(one), text))
			return true;
	return false;
}

/* From any directory of the path on: a pattern is about the tree, and the path begins at the root of the machine. */
static bool matches(const char *glob, const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (text_glob(glob, p, true))
			return true;
	}
	return false;
}

static bool is_generated(const struct json *policy, const char *path)
{
	json_each (glob, json_get(policy, "generated_paths"))
		if (json_text(glob) && matches(json_text(glob), path))
			return true;
	return false;
}

/* What the file itself gives as a reason to write all of it; NULL: nothing. */
static const char *reason_of(const struct json *policy, const struct edit_request *q)
{
	if (!q->exists)
		return "new_file";
	if (is_generated(policy, q->path))
		return "generated_artifact";
	return q->size <= json_get_int(policy, "small_file_bytes", 4096) ? "small_file" : NULL;
}

static void judge_rewrite(
	struct arena *a, const struct json *policy, const struct edit_request *q, struct json *codes)
{
	const struct json *allowed = json_get(policy, "whole_file_rewrite_allowed_for");
	const char *own = reason_of(policy, q);

	if (own && lists(allowed, own))
		return;
	if (!q->rewrite_reason)
		json_pushs(a, codes, "missing_whole_file_rewrite_reason");
	else if (!lists(allowed, q->rewrite_reason) || !text_eq(q->rewrite_reason, "explicit_user_request"))
		json_pushs(a, codes, "whole_file_rewrite_not_allowed");
}

/* What was seen must be what is there. */
static void judge_read(struct arena *a, const struct edit_request *q, struct json *codes)
{
	const struct json *r = q->read;

	if (!json_is(r, JSON_OBJECT)) {
		json_pushs(a, codes, "missing_read_evidence");
		return;
	}
	if (!text_eq(json_get_text(r, "path", ""), q->path))
		json_pushs(a, codes, "read_evidence_path_mismatch");
	if (!json_get_text(r, "read_at", "")[0])
		json_pushs(a, codes, "read_evidence_missing_read_at");
	if (json_get_int(r, "mtime_ns", -1) != q->mtime_ns)
		json_pushs(a, codes, "read_evidence_stale_mtime");
	if (json_get_int(r, "size", -1) != q->size)
		json_pushs(a, codes, "read_evidence_stale_size");
}

/* Kinds of files that a mistake in reaches far. */
static bool needs_checkpoint(const struct json *policy, const char *path)
{
	static const struct {
		const char *kind, *glob;
	} kinds[] = {
		{ "shared_workflow", ".github/workflows/**" },
		{ "shared_workflow", "references/**" },
		{ "skill_router", "skills/**" },
		{ "automation", "scripts/**" },
		{ "automation", "**/crontab" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (matches(kinds[i].glob, path) &&
			lists(json_get(policy, "requires_checkpoint_for"), kinds[i].kind))
			return true;
	return false;
}

struct json *edit_judge(struct arena *a, const struct json *policy, const struct edit_request *q)
{
	struct json *doc = json_new(a, JSON_OBJECT), *codes = json_new(a, JSON_ARRAY);
	const bool is_tired = q->failures >= json_get_int(policy, "max_patch_failures_per_file", 2);
	const char *next = "write";

	if (q->exists &&
		text_eq(json_get_text(json_get(policy, "read_before_write"), "mode", ""), "required"))
		judge_read(a, q, codes);
	if (q->is_rewrite && text_eq(json_get_text(policy, "default", ""), "patch_first"))
		judge_rewrite(a, policy, q, codes);
	if (!q->is_rewrite && is_tired)
		json_pushs(a, codes, "repeated_patch_failure");
	if (is_tired)
		next = json_get_text(policy, "on_repeated_patch_failure", "reload_context_then_decompose");
	else if (q->failures)
		next = "retry";
	json_sets(a, doc, "path", q->path);
	json_sets(a, doc, "kind", q->is_rewrite ? "rewrite" : "patch");
	json_setb(a, doc, "ok", !codes->n);
	json_set(a, doc, "codes", codes);
	json_sets(a, doc, "next", next);
	json_setb(a, doc, "requires_checkpoint", q->exists && needs_checkpoint(policy, q->path));
	return doc;
}
