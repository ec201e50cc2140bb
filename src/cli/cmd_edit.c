/* cmd_edit.c — how files are to be changed: the policy, evidence that one was read, and what would be said about a change. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/skill.h"
#include "kernel/workspace.h"
#include "remember/edit.h"

#include <fcntl.h>
#include <string.h>

const struct opt edit_check_opts[] = {
	{ "rewrite", OPT_FLAG, NULL, "all of it is written anew", NULL, false },
	{ "reason", OPT_VALUE, "REASON", "why all of it: explicit_user_request", NULL, false },
	{ "read-evidence-json", OPT_VALUE, "OBJECT", "what 'helm edit read' said", NULL, false },
	{ "failures", OPT_INT, "N", "so many changes of it have failed (0)", NULL, false },
	{ 0 },
};

static const char *full_path(struct cli *r)
{
	return path_clean(r->a, workspace_named(r->sys, r->a, r->args[0]));
}

static bool look(struct cli *r, const char *path, struct edit_request *ret)
{
	struct stat st;

	*ret = (struct edit_request){ .path = path };
	if (r->sys->stat(r->sys, AT_FDCWD, path, &st, 0) || !S_ISREG(st.st_mode))
		return false;
	ret->exists = true;
	ret->size = st.st_size;
	ret->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return true;
}

int cmd_edit_policy(struct cli *r, struct err *e)
{
	const struct contract_place at = skill_place(r->sys, r->a, r->ws);
	struct json *doc;
	bool is_held;
	int rc = edit_policy(&at, &doc, &is_held, e);

	if (rc)
		return rc;
	json_setb(r->a, doc, "held", is_held);
	out_result(r, doc);
	return 0;
}

int cmd_edit_read(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	const char *path = full_path(r);
	struct edit_request q;

	if (!look(r, path, &q))
		return err_set(e, E_MISSING, "EDIT_FILE", "there is no file '%s'", path);
	json_sets(r->a, doc, "path", path);
	json_seti(r->a, doc, "mtime_ns", q.mtime_ns);
	json_seti(r->a, doc, "size", q.size);
	json_sets(r->a, doc, "read_at", text_time_iso(r->a, r->sys->now_us(r->sys)));
	out_result(r, doc);
	return 0;
}

int cmd_edit_check(struct cli *r, struct err *e)
{
	const struct contract_place at = skill_place(r->sys, r->a, r->ws);
	const char *evidence = opt_text(r, "read-evidence-json", NULL);
	struct edit_request q;
	struct json *policy, *read = NULL, *doc;
	bool is_held;
	int rc = edit_policy(&at, &policy, &is_held, e);

	if (rc)
		return rc;
	if (evidence && json_parse(r->a, bytes_of(evidence), "--read-evidence-json", NULL, &read, e))
		return err_set(e, E_USAGE, "EDIT_EVIDENCE", "--read-evidence-json takes a JSON object");
	(void)look(r, full_path(r), &q);
	q.is_rewrite = opt_flag(r, "rewrite");
	q.rewrite_reason = opt_text(r, "reason", NULL);
	q.read = read;
	q.failures = opt_int(r, "failures", 0);
	doc = edit_judge(r->a, policy, &q);
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_NO;
}
