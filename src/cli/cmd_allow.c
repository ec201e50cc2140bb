/* cmd_allow.c — allow: let runs here write or read in one more place or reach one more host, see what is allowed, and take it back.
 *
 * It loosens what holds here, so it takes a person; taking it back takes anybody outside a guarded run. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/allow.h"
#include "kernel/hosts.h"
#include "kernel/posture.h"
#include "proof/preimage.h"

#include <string.h>
#include <unistd.h>

const struct opt allow_opts[] = {
	{ "read", OPT_FLAG, NULL, "with 'path': runs may read there, and not write", NULL, false },
	PERSON_KEY,
	{ 0 },
};

static int list(struct cli *r)
{
	const struct json *word = posture_of(r->sys, r->ws)->word, *all = json_get(word, "allowed_paths"),
			  *read = json_get(word, "readable_paths"), *hosts = json_get(word, "egress");
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (r->is_json) {
		json_set(r->a, doc, "paths", all ? json_copy(r->a, all) : json_new(r->a, JSON_OBJECT));
		json_set(r->a, doc, "readable", read ? json_copy(r->a, read) : json_new(r->a, JSON_OBJECT));
		json_set(r->a, doc, "hosts", hosts ? json_copy(r->a, hosts) : json_new(r->a, JSON_ARRAY));
		out_json(r, doc);
		return 0;
	}
	json_each_member (m, all)
		out(r, "path  %s  since %s\n", text_safe(r->a, m->name, m->name_n, false),
			json_text(m->value) ? json_text(m->value) : "?");
	json_each_member (m, read)
		out(r, "read  %s  since %s\n", text_safe(r->a, m->name, m->name_n, false),
			json_text(m->value) ? json_text(m->value) : "?");
	json_each (host, hosts)
		out(r, "host  %s\n", json_text(host) ? json_text(host) : "?");
	if ((!all || !all->n) && (!read || !read->n) && (!hosts || !hosts->n))
		out(r, "nothing is allowed here beyond the profile\n");
	return 0;
}

/* As the person sees it from where they stand. */
static const char *absolute(struct cli *r, const char *path)
{
	char cwd[4096];

	if (*path == '/' || !getcwd(cwd, sizeof(cwd)))
		return path_clean(r->a, path);
	return path_clean(r->a, path_join(r->a, cwd, path));
}

static int change(struct cli *r, const char *what, bool is_host, enum allowing how, struct err *e)
{
	const bool is_removed = how == ALLOW_NO_MORE;
	struct person who = { 0 };
	struct json *receipt;
	struct kernel k;
	int rc;

	if (r->sys->getenv(r->sys, "HELM_TASK_ID"))
		return err_set(e, E_DENIED, "ALLOW_INSIDE",
			"a guarded run cannot open its own walls; a person does that");
	rc = is_removed ? person_is_outside(r->sys, r->a, r->ws, e) : person_loosens(r, &who, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		rc = is_host ? hosts_allow(&k, r->a, what, is_removed, who.name, &receipt, e)
			     : allow_path(&k, r->a, what, how, who.name, &receipt, e);
		kernel_close(&k);
	}
	key_free(&who.key);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, receipt);
	else
		out(r, "%s=%s\nreceipt=%s\n", is_removed ? "forbidden" : "allowed",
			text_safe(r->a, what, strlen(what), false),
			receipt_id_short(r->a, safe_member(r, receipt, "receipt_id")));
	return 0;
}

int cmd_allow(struct cli *r, struct err *e)
{
	const char *verb = r->args[0];

	if (text_eq(verb, "list") && r->arg_count == 1)
		return list(r);
	if (text_eq(verb, "path") && r->arg_count == 2)
		return change(
			r, absolute(r, r->args[1]), false, opt_flag(r, "read") ? ALLOW_READ : ALLOW_WRITE, e);
	if (text_eq(verb, "host") && r->arg_count == 2)
		return change(r, r->args[1], true, ALLOW_WRITE, e);
	if (text_eq(verb, "remove") && r->arg_count == 2)
		return strchr(r->args[1], '/') ? change(r, absolute(r, r->args[1]), false, ALLOW_NO_MORE, e)
					       : change(r, r->args[1], true, ALLOW_NO_MORE, e);
	return err_set(e, E_USAGE, "USAGE_ARGUMENTS",
		"say 'allow path [--read] PATH', 'allow host HOST[:PORT]', 'allow remove PATH|HOST' or 'allow list'");
}
