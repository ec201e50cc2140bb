/* workspace_option.c — which workspace a command line means.
 *
 * --path names the workspace, for every command, and what it names must be one.  Behind two verbs of the Python Helm, `profile run` and
 * `memory capture-chat`, it names files of the workspace instead.  What is no workspace and lies in the one in force is still taken for that;
 * the words for it are --include and --file. */
#include "base/file.h"
#include "base/text.h"
#include "cli/opt.h"
#include "kernel/agent/agent.h"
#include "kernel/guard.h"
#include "kernel/task/task.h"
#include "kernel/workspace.h"

#include <fcntl.h>

#define SOME_WORKSPACE (NEEDS_WORKSPACE | MAY_WORKSPACE | NEW_WORKSPACE | ANY_WORKSPACE | MADE_WORKSPACE)

/* The option of the row that files are named by. */
static const struct opt *file_option(const struct cmd *c)
{
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (o->kind == OPT_LIST && (text_eq(o->name, "include") || text_eq(o->name, "file")))
			return o;
	BUG("a row whose --path may be a file has no option for files");
}

static bool is_path_option(const struct opt_value *v)
{
	return text_eq(v->opt->name, "path");
}

/* --workspace leaves no doubt: then every --path is a file. */
static int find_workspace(struct cli *r, struct err *e)
{
	bool is_named = r->path_option != NULL;

	for (size_t i = 0; i < r->value_count; i++) {
		const struct opt_value *v = &r->values[i];
		if (is_named || !is_path_option(v) || !workspace_is_one(r->sys, r->a, v->text))
			continue;
		if (r->path_option && !text_eq(r->path_option, v->text))
			return err_set(e, E_USAGE, "USAGE_WORKSPACE",
				"'%s' and '%s' are both workspaces; --path names one", r->path_option,
				v->text);
		r->path_option = v->text;
	}
	return OK;
}

/* Does it lie in the workspace, or in the tree one stands in?  A run saves it, so there it must exist; a conversation may have removed it. */
static bool is_file_of(struct cli *r, const char *path)
{
	const char *here = workspace_named(r->sys, r->a, "."), *root = r->ws->root;
	const char *tree = kernel_work_tree(r->sys, r->a, here, r->ws->home);
	const char *from_here = workspace_named(r->sys, r->a, path);
	const char *from_root = path_clean(r->a, path_join(r->a, root, path));
	const bool must_exist = r->cmd->needs & CHILD_ARGV;

	if (path_is_below(from_here, root) || (tree && path_is_below(from_here, tree)))
		return !must_exist || file_exists(r->sys, AT_FDCWD, from_here);
	return path_is_below(from_root, root) && (!must_exist || file_exists(r->sys, AT_FDCWD, from_root));
}

static int take_files(struct cli *r, struct err *e)
{
	const struct opt *file = file_option(r->cmd);

	for (size_t i = 0; i < r->value_count; i++) {
		struct opt_value *v = &r->values[i];
		if (!is_path_option(v) || (r->path_option == v->text))
			continue;
		if (!is_file_of(r, v->text))
			return err_set(e, E_MISSING, "WORKSPACE_MISSING",
				"'%s' is not a workspace, and no file of the workspace %s; 'helm init --path DIR' makes a "
				"workspace, --%s names files",
				v->text, r->ws->root, file->name);
		v->opt = file;
	}
	return OK;
}

static unsigned how_to_open(unsigned needs)
{
	return needs & NEW_WORKSPACE	 ? WORKSPACE_NEW
		: needs & MADE_WORKSPACE ? WORKSPACE_ANY | WORKSPACE_MADE
		: needs & ANY_WORKSPACE	 ? WORKSPACE_ANY
		: needs & MAY_WORKSPACE	 ? WORKSPACE_OPTIONAL
					 : 0;
}

int workspace_option_open(struct cli *r, struct err *e)
{
	const unsigned needs = r->cmd->needs;
	struct workspace *named;

	if (needs & OPENS_ITSELF || (needs & OR_URL && opt_text(r, "url", NULL)))
		return OK;
	if (!(needs & SOME_WORKSPACE)) {
		int rc = r->path_option ? workspace_open(r->sys, r->a, r->path_option, 0, &named, e) : OK;
		if (rc == OK && r->path_option)
			workspace_close(named);
		return rc;
	}
	int rc = needs & PATH_MAY_BE_FILE ? find_workspace(r, e) : OK;
	if (rc)
		return rc;
	autorun_reopen(r->sys, r->a);
	rc = workspace_open(r->sys, r->a, r->path_option, how_to_open(needs), &r->ws, e);
	if (rc && needs & SAYS_INSIDE && text_eq(e->code, "STATE_INSIDE") && agent_is_inside())
		return OK;
	return rc == OK && needs & PATH_MAY_BE_FILE ? take_files(r, e) : rc;
}
