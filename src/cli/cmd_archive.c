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
	{ "before", OPT_VALUE, "TIME",
		"only files in which everything is older than this (RFC 3339, or a date)", NULL, false },
	{ "to", OPT_VALUE, "DIR", "where to; a place below the helm home when not given", NULL, false },
	{ "dry-run", OPT_FLAG, NULL, "only say what would go", NULL, false },
	{ "shown", OPT_FLAG, NULL,
		"erase what is kept of the arguments of calls, and nothing else; takes --yes", NULL, false },
	{ "session", OPT_VALUE, "SESSION", "with --shown: only what this session asked for", NULL, false },
	{ "yes", OPT_FLAG, NULL, "with --shown: do it; without, only say what would go", NULL, false },
	{ 0 },
};

/* A whole date is its first moment, in UTC. */
static int read_before(struct cli *r, int64_t *ret, struct err *e)
{
	const char *text = opt_text(r, "before", NULL);

	if (!text)
		return err_set(e, E_USAGE, "USAGE_MISSING", "--before TIME is required");
	if (strlen(text) == strlen("2026-01-01"))
		text = arena_printf(r->a, "%sT00:00:00Z", text);
	if (!text_parse_time(text, strlen(text), ret))
		return err_set(e, E_USAGE, "TIME",
			"--before '%s' is not a time such as 2026-04-13 or 2026-04-13T09:10:00Z",
			opt_text(r, "before", ""));
	return OK;
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
		out(r, "would move %u file%s to %s; do it without --dry-run\n", files->n,
			files->n == 1 ? "" : "s", json_get_text(report, "to", ""));
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
			is_dry ? "; to do it: repeat with --yes" : "; the record stays whole without them");
}

/* A session is erased whole, unless a time is given. */
static int erase_shown(struct cli *r, struct recorder *rec, struct err *e)
{
	struct shown_choice choice = { .before_us = r->sys->now_us(r->sys),
		.session = opt_text(r, "session", NULL),
		.is_dry = opt_flag(r, "dry-run") || !opt_flag(r, "yes") };
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
	return OK;
}

int cmd_archive(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder rec = { 0 };
	struct progress p;
	struct archive_how how = { .is_dry = opt_flag(r, "dry-run"), .step = step, .arg = &p };
	struct json *report;
	bool is_shown = opt_flag(r, "shown");
	int rc = is_shown ? OK : read_before(r, &how.before_us, e);

	if (rc == OK && !is_shown && (opt_text(r, "session", NULL) || opt_flag(r, "yes")))
		rc = err_set(e, E_USAGE, "ARCHIVE_SHOWN", "--session and --yes go with --shown");
	if (rc == OK && !is_shown)
		rc = read_to(r, &how.to, e);
	if (rc == OK)
		rc = cmd_log_key(r, &key, e);
	if (rc)
		return rc;
	cmd_log_recorder(r, &rec, key);
	if (is_shown)
		return erase_shown(r, &rec, e);
	progress_begin(&p, r, "archiving MiB", 0);
	rc = log_archive(&rec, r->a, &how, &report, e);
	progress_end(&p);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, report);
	else
		show(r, report);
	return OK;
}
