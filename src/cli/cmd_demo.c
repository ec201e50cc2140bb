/* cmd_demo.c — a small workspace to try things on: two tasks, a failed one among them, and a real
 * checkpoint to go back to.
 *
 * It is written only into a new or empty directory, so it can never mix with somebody's files. */
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/kernel.h"

#include <fcntl.h>
#include <string.h>

/* A directory that is not there counts as empty. */
static int must_be_empty(struct cli *r, const char *dir, struct err *e)
{
	char **names;
	size_t n;

	if (file_list(r->sys, r->a, AT_FDCWD, dir, &names, &n, NULL) || !n)
		return OK;
	return err_set(
		e, E_INPUT, "DEMO_NOT_EMPTY", "'%s' is not empty; name another place with --path", dir);
}

/* Shipped files: share/demo/X goes to X, share/demo/helm/X to .helm/X. */
static int write_files(struct cli *r, struct err *e)
{
	static const char prefix[] = "share/demo/", state[] = "share/demo/helm/";
	const char *name;
	struct bytes content;

	for (size_t i = 0; embed_at(i, &name, &content); i++) {
		if (!text_starts(name, prefix))
			continue;
		const char *to = text_starts(name, state)
			? arena_printf(r->a, ".helm/%s", name + strlen(state))
			: name + strlen(prefix);
		char *dir = arena_strdup(r->a, to), *slash = strrchr(dir, '/');
		int rc = OK;
		if (slash) {
			*slash = '\0';
			rc = file_mkdirs(r->sys, r->ws->root_fd, dir, 0755, e);
		}
		if (rc == OK)
			rc = file_replace(r->sys, r->ws->root_fd, to, 0644, content, e);
		if (rc)
			return rc;
	}
	return OK;
}

/* The shipped ledger names a checkpoint that does not exist. Its id is replaced by that of the one that
 * was really made, so that the failed task can be undone. */
static int bind_checkpoint(struct cli *r, const char *id, struct err *e)
{
	static const char shipped[] = "20260413T090959Z-demo-router-edit";
	struct bytes text;
	struct buf out_text;
	int rc = file_read(r->sys, r->a, r->ws->state_fd, TASK_LEDGER, 1 << 20, 0, &text, e);

	if (rc)
		return rc;
	const char *all = arena_strndup(r->a, (const char *)text.p, text.n), *at = strstr(all, shipped);
	if (!at)
		return OK;
	buf_init(&out_text, r->a);
	buf_add(&out_text, all, (size_t)(at - all));
	buf_adds(&out_text, id);
	buf_adds(&out_text, at + strlen(shipped));
	return file_replace(r->sys, r->ws->state_fd, TASK_LEDGER, 0600, buf_bytes(&out_text), e);
}

/* Files are written before the checkpoint is made, or there would be nothing to save. */
int cmd_demo(struct cli *r, struct err *e)
{
	struct json *done;
	struct checkpoint_store store;
	struct checkpoint_result made;
	struct checkpoint_request want = { .label = "demo-router-edit", .task_id = "demo-task-002" };
	bool new_key;
	int rc = workspace_open(
		r->sys, r->a, r->path_option ? r->path_option : "helm-demo", WORKSPACE_NEW, &r->ws, e);

	if (rc == OK)
		rc = must_be_empty(r, r->ws->root, e);
	if (rc == OK)
		rc = workspace_init(r->sys, r->a, r->ws, false, &done, e);
	if (rc == OK)
		rc = kernel_ensure_key(r->sys, r->a, &new_key, e);
	if (rc == OK)
		rc = write_files(r, e);
	/* The state directory did not exist when the workspace was opened. */
	if (rc == OK && r->ws->state_fd < 0)
		rc = file_open_dir(r->sys, r->ws->root_fd, ".helm", &r->ws->state_fd, e);
	if (rc == OK)
		rc = checkpoint_open(&store, r->sys, r->a, r->ws->root_fd, r->ws->state_fd, ".helm", e);
	if (rc)
		return rc;
	rc = checkpoint_create(&store, &want, &made, e);
	checkpoint_close(&store);
	if (rc == OK)
		rc = bind_checkpoint(r, made.id, e);
	if (rc)
		return rc;
	if (r->is_json) {
		json_sets(r->a, done, "checkpoint_id", made.id);
		out_json(r, done);
		return 0;
	}
	out(r,
		"workspace=%s\ncheckpoint=%s\n\nnext:\n  helm status --brief --path %s\n  helm dashboard "
		"--path %s\n",
		r->ws->root, made.id, r->ws->root, r->ws->root);
	return 0;
}
