/* card.c — resume cards: how a task ended, for whoever goes on with it.
 *
 * One file per finished task, below state-snapshots/.  The newest ones are kept, the file of the oldest
 * becomes the next card: a new file for each run would cost more than everything that is in it, and a
 * directory that only grows would slow down every run after. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "privacy/privacy.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CARDS "state-snapshots"
enum { KEEP_CARDS = 32, DROP_AT_ONCE = 8 };

/* A part of a file name: lower case, nothing that is special anywhere. */
static char *slug(struct arena *a, const char *text)
{
	struct buf out;

	buf_init(&out, a);
	for (; *text && out.n < 80; text++) {
		char c = (char)tolower((unsigned char)*text);
		if (isalnum((unsigned char)c) || (c && strchr("._-", c)))
			buf_addc(&out, c);
		else if (out.n && out.p[out.n - 1] != '-')
			buf_addc(&out, '-');
	}
	while (out.n && strchr("-._", out.p[out.n - 1]))
		out.p[--out.n] = '\0';
	const char *start = out.p + strspn(out.p, "-._");
	return *start ? arena_strdup(a, start) : arena_strdup(a, "task");
}

/* Advice in one line for each way to end. */
const char *task_next_step(const char *status)
{
	if (text_eq(status, "completed"))
		return "nothing is open; go on with the next task";
	if (text_eq(status, "handoff_required"))
		return "do it at the target, then record the outcome";
	return "read the failure, then retry with 'helm task retry'";
}

/* Names begin with a time, so their order is their age.  Names with a dot are being written. */
void task_list_cards(struct kernel *k, struct arena *a, struct task_cards *ret)
{
	char **names;
	size_t n, from = 0;

	*ret = (struct task_cards){ 0 };
	if (file_list(k->sys, a, k->ws->state_fd, CARDS, &names, &n, NULL))
		return;
	while (from < n && names[from][0] == '.')
		from++;
	*ret = (struct task_cards){ .names = names + from, .n = n - from };
	if (ret->n)
		ret->newest = arena_printf(a, "%s/" CARDS "/%s", k->ws->state_dir, names[n - 1]);
}

/* The file of the oldest card becomes the new one: put aside, written over, and given its name, so that a
 * reader sees one card or the other.  Only a plain file without other names is written to. */
static int rewrite_oldest(
	struct kernel *k, struct arena *a, int dir, const char *oldest, const char *name, struct bytes text)
{
	struct sys *s = k->sys;
	const char *aside = arena_printf(a, ".%s.tmp", oldest);
	struct stat st;

	if (s->rename(s, dir, oldest, dir, aside, RENAME_NOREPLACE))
		return -1;
	AUTO(close_fd) int fd = s->open(s, dir, aside, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (fd >= 0 && s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) &&
		st.st_nlink == 1 && s->write(s, fd, text.p, text.n) == (ssize_t)text.n &&
		s->truncate(s, fd, (off_t)text.n) == 0 &&
		s->rename(s, dir, aside, dir, name, RENAME_NOREPLACE) == 0)
		return OK;
	(void)s->unlink(s, dir, aside, 0);
	return -1;
}

/* Not synced: a card that a power cut loses is not missed, since the ledger has the facts. */
static int put_card(
	struct kernel *k, struct arena *a, const struct task_cards *old, const char *name, struct bytes text)
{
	struct sys *s = k->sys;
	struct err e;

	if (file_mkdirs(s, k->ws->state_fd, CARDS, 0700, &e))
		return -1;
	size_t extra = old->n > KEEP_CARDS ? old->n - KEEP_CARDS : 0;
	AUTO(close_fd) int dir = s->open(s, k->ws->state_fd, CARDS, O_RDONLY | O_DIRECTORY, 0, 0);
	if (dir < 0)
		return -1;
	/* Many, from times when all were kept, go a few at a time. */
	for (size_t i = 1; i <= extra && i <= DROP_AT_ONCE; i++)
		(void)s->unlink(s, dir, old->names[i], 0);
	if (old->n >= KEEP_CARDS && rewrite_oldest(k, a, dir, old->names[0], name, text) == OK)
		return OK;
	return file_put(s, dir, name, 0600, text, &e);
}

/* What a card says of a row.  Secrets are taken out, because cards are given to models. */
static const struct json *shown_members(struct arena *a, const struct json *row)
{
	static const char *const names[] = { "task_id", "task_name", "status", "profile", "runtime_backend",
		"command_preview", "checkpoint_id", "failure_reason", "exit_code" };
	struct json *shown = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(row, names[i]))
			json_set(a, shown, names[i], json_copy(a, json_get(row, names[i])));
	privacy_redact_json(a, shown);
	return shown;
}

struct json *task_snapshot(
	struct kernel *k, struct arena *a, const struct task_cards *old, const struct json *given)
{
	const struct json *row = shown_members(a, given);
	const char *status = json_get_text(row, "status", ""),
		   *checkpoint = json_get_text(row, "checkpoint_id", NULL);
	const char *id = json_get_text(row, "task_id", ""), *name = json_get_text(row, "task_name", "");
	const char *reason = json_get_text(row, "failure_reason", NULL);
	struct buf text;

	buf_init(&text, a);
	buf_addf(&text, "[STATE_SNAPSHOT]\n- task_id: %s\n- objective: %s\n- current_state: %s\n", id, name,
		status);
	buf_addf(&text, "- confirmed_facts:\n  - status=%s\n  - profile=%s\n  - runtime_backend=%s\n", status,
		json_get_text(row, "profile", ""), json_get_text(row, "runtime_backend", ""));
	if (checkpoint)
		buf_addf(&text, "  - checkpoint_id=%s\n", checkpoint);
	buf_addf(&text,
		"- attempted_actions:\n  - %s\n- blockers: ", json_get_text(row, "command_preview", ""));
	if (reason)
		buf_addf(&text, "\n  - %s\n", reason);
	else if (text_eq(status, "failed"))
		buf_addf(&text, "\n  - exit code %lld\n", (long long)json_get_int(row, "exit_code", 0));
	else
		buf_adds(&text, "none\n");
	buf_addf(&text, "- recommended_next_step: %s\n", task_next_step(status));
	if (checkpoint)
		buf_addf(&text, "- rollback_or_resume_hint: helm checkpoint restore %s\n", checkpoint);
	else
		buf_adds(&text, "- rollback_or_resume_hint: no checkpoint is attached\n");
	int64_t now_us = k->sys->now_us(k->sys);
	const char *name_now =
		arena_printf(a, "%s-%s-%s.md", text_time_compact(a, now_us), slug(a, id), slug(a, name));
	if (put_card(k, a, old, name_now, buf_bytes(&text)))
		return NULL;
	struct json *about = json_new(a, JSON_OBJECT);
	json_sets(a, about, "created_at", text_time_iso(a, now_us));
	json_sets(a, about, "path", arena_printf(a, "%s/" CARDS "/%s", k->ws->state_name, name_now));
	json_sets(a, about, "format", "markdown");
	json_sets(a, about, "summary", arena_printf(a, "%s: %s", status, name));
	return about;
}
