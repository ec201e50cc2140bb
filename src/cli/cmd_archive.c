/* cmd_archive.c — archive: old closed files of the record go to another place, and a signed receipt says so.
 *
 * Nothing is deleted: files are copied, compared and put on record before they leave the workspace.  What must be said is the moment
 * before which everything in a file has to lie; where it goes may be said. */
#include "base/file.h"
#include "cli/cmd.h"
#include "cli/cmd_log.h"
#include "kernel/workspace.h"

#include <string.h>
#include <unistd.h>

const struct opt archive_opts[] = {
	{ "before", OPT_VALUE, "TIME", "only files in which everything is older than this: 90d, 2026-05-01",
		NULL, true },
	{ "to", OPT_VALUE, "DIR", "where to; a place below the helm home when not given", NULL, false },
	CONFIRM_OPTIONS,
	{ 0 },
};

/* Inside the state it would be where it was. */
static int read_to(struct cli *r, const char **ret, struct err *e)
{
	const char *to = opt_text(r, "to", NULL), *beside = workspace_beside(r->a, r->ws);
	char cwd[4096];

	if (!to && !beside)
		return err_set(e, E_USAGE, "ARCHIVE_TO", "there is no helm home; say where to with --to DIR");
	if (!to) {
		*ret = path_join(r->a, beside, "archive");
		return OK;
	}
	if (!getcwd(cwd, sizeof(cwd)))
		return err_sys(e, "ARCHIVE_TO", "cannot tell the current directory");
	*ret = path_clean(r->a, path_join(r->a, cwd, to));
	if (path_is_below(*ret, r->ws->state_dir))
		return err_set(e, E_INPUT, "ARCHIVE_INSIDE",
			"'%s' is inside the workspace's state; archive elsewhere", *ret);
	return OK;
}

static void step(void *arg, uint64_t done, uint64_t total)
{
	struct progress *p = arg;

	p->total = total >> 20;
	progress_step(p, done >> 20);
}

static void show(struct cli *r, const struct json *report)
{
	const struct json *files = json_get(report, "files");
	bool is_dry = json_get_bool(report, "dry_run", false);

	json_each (row, files)
		out(r, "%s  %lld bytes%s\n", json_get_text(row, "file", ""),
			(long long)json_get_int(row, "bytes", 0),
			json_get(row, "last") ? arena_printf(r->a, "  receipts %lld to %lld",
							(long long)json_get_int(row, "first", 0),
							(long long)json_get_int(row, "last", 0))
					      : "");
	if (!files->n)
		out(r, "no closed file holds only what is older than %s; nothing was moved\n",
			json_get_text(report, "before", ""));
	else if (is_dry)
		out(r, "would move %u file%s to %s\n", files->n, files->n == 1 ? "" : "s",
			json_get_text(report, "to", ""));
	else
		out(r,
			files->n == 1
				? "moved %u file to %s\nput it back where it was, and it is as before\n"
				: "moved %u files to %s\nput them back where they were, and they are as before\n",
			files->n, json_get_text(report, "to", ""));
}

static int archive(struct cli *r, bool is_dry, bool *ret_has_work, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder rec = { 0 };
	struct progress p;
	struct archive_how how = { .is_dry = is_dry, .step = step, .arg = &p };
	struct json *report;
	int rc = opt_since(r, "before", &how.before_us, e);

	if (rc == OK)
		rc = read_to(r, &how.to, e);
	if (rc == OK)
		rc = cmd_log_key(r, &key, e);
	if (rc)
		return rc;
	cmd_log_recorder(r, &rec, key);
	progress_begin(&p, r, "archiving MiB", 0);
	rc = log_archive(&rec, r->a, &how, &report, e);
	progress_end(&p);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, report);
	else
		show(r, report);
	*ret_has_work = json_get(report, "files")->n > 0;
	return OK;
}

int cmd_archive(struct cli *r, struct err *e)
{
	return confirm_and_do(r, archive, "move them?", e);
}
