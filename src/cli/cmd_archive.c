/* cmd_archive.c — archive: old closed files of the record go to another place, and a signed receipt says so.
 *
 * Nothing of the record is deleted (what is kept beside it, the arguments of calls, can be: --shown): files are copied, compared and put on record before they leave the workspace.  What must be said is the moment
 * before which everything in a file has to lie; where it goes may be said. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_log.h"
#include "kernel/workspace.h"
#include "record/shown.h"

#include <string.h>
#include <unistd.h>

const struct opt archive_opts[] = {
	{ "before", OPT_VALUE, "TIME", "only files in which everything is older than this: 90d, 2026-05-01",
		NULL, false },
	{ "to", OPT_VALUE, "DIR", "where to; a place below the helm home when not given", NULL, false },
	{ "shown", OPT_FLAG, NULL, "erase what is kept of the arguments of calls, and nothing else", NULL,
		false },
	{ "session", OPT_VALUE, "SESSION", "with --shown: only what this session asked for", NULL, false },
	CONFIRM_OPTIONS,
	{ 0 },
};

static int read_before(struct cli *r, int64_t *ret, struct err *e)
{
	if (!opt_text(r, "before", NULL))
		return err_set(e, E_USAGE, "USAGE_MISSING", "--before TIME is required");
	return opt_since(r, "before", ret, e);
}

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

static void show_erased(struct cli *r, const struct json *report)
{
	long long lines = (long long)json_get_int(report, "lines", 0),
		  bytes = (long long)json_get_int(report, "bytes", 0);
	bool is_dry = json_get_bool(report, "dry_run", false);

	if (!lines)
		out(r, "nothing is kept of what was asked then; nothing was erased\n");
	else
		out(r, "%s %s of what was asked, %lld bytes%s\n", is_dry ? "would erase" : "erased",
			text_count(r->a, lines, "line"), bytes,
			is_dry ? "" : "; the record stays whole without them");
}

/* A session is erased whole, unless a time is given. */
static int erase_shown(struct cli *r, struct recorder *rec, bool is_dry, bool *ret_has_work, struct err *e)
{
	struct shown_choice choice = {
		.before_us = r->sys->now_us(r->sys), .session = opt_text(r, "session", NULL), .is_dry = is_dry
	};
	struct json *report;
	int rc = choice.session && !opt_text(r, "before", NULL) ? OK : read_before(r, &choice.before_us, e);

	if (rc == OK && opt_text(r, "to", NULL))
		rc = err_set(e, E_USAGE, "ARCHIVE_SHOWN",
			"--shown erases, so there is no place to move it to: leave out --to");
	if (rc == OK)
		rc = shown_erase(rec, r->a, &choice, &report, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, report);
	else
		show_erased(r, report);
	*ret_has_work = json_get_int(report, "lines", 0) > 0;
	return OK;
}

static int archive(struct cli *r, bool is_dry, bool *ret_has_work, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder rec = { 0 };
	struct progress p;
	struct archive_how how = { .is_dry = is_dry, .step = step, .arg = &p };
	struct json *report;
	const bool is_shown = opt_flag(r, "shown");
	int rc = is_shown ? OK : read_before(r, &how.before_us, e);

	if (rc == OK && !is_shown && opt_text(r, "session", NULL))
		rc = err_set(e, E_USAGE, "ARCHIVE_SHOWN", "--session goes with --shown");
	if (rc == OK && !is_shown)
		rc = read_to(r, &how.to, e);
	if (rc == OK)
		rc = cmd_log_key(r, &key, e);
	if (rc)
		return rc;
	cmd_log_recorder(r, &rec, key);
	if (is_shown)
		return erase_shown(r, &rec, is_dry, ret_has_work, e);
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
	return confirm_and_do(r, archive, opt_flag(r, "shown") ? "erase it?" : "move them?", e);
}
