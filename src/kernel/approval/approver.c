/* approver.c — is it a person who answers?
 *
 * An agent must not approve what it asked for itself.  It is refused below a guarded run, where an agent
 * client says in the environment that it is one, and below any process that has called a hook of this
 * workspace.  None of this stops a program that wants to deceive and may do as it likes on the machine; the
 * guard denies the words, the sandbox hides the keys, and this closes the ways that lie open. */
#include "base/proc.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/approval/approval.h"
#include "kernel/hook.h"
#include "propose/propose.h"

#include <string.h>
#include <unistd.h>

enum { MAX_ANCESTORS = 64, MAX_WRAPPERS = 3, RECENT_CALLS = 2000 };

/* Programs that only pass on what they were given, so the one that asked is above them. */
static bool is_wrapper(const char *name)
{
	static const char *const names[] = { "busybox", "env", "nice", "timeout", "stdbuf", "setsid",
		"nohup" };

	if (shell_is_known(name))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(names[i], name))
			return true;
	return false;
}

/* Looks up a few ancestors only: the hook is started by its client directly, or through a shell. */
void approver_caller(struct sys *s, int64_t *ret_pid, int64_t *ret_start_ticks)
{
	struct proc_info p = { .parent = getppid() };

	*ret_pid = *ret_start_ticks = 0;
	for (int i = 0; i < MAX_WRAPPERS && p.parent > 1 && proc_look(s, p.parent, &p); i++) {
		/* A shell that leads a terminal's session is where a person types. */
		if (is_wrapper(p.name) && p.tty && p.session == p.pid)
			return;
		*ret_pid = p.pid;
		*ret_start_ticks = p.start_ticks;
		if (!is_wrapper(p.name))
			return;
	}
}

/* By pid and start time, so that a later process with the same pid is not taken for it. */
static bool has_called(const struct json *rows, const struct proc_info *p)
{
	for (uint32_t i = rows->n; i-- > 0;)
		if (json_get_int(rows->items[i], "client_pid", 0) == p->pid &&
			json_get_int(rows->items[i], "client_start", 0) == p->start_ticks)
			return true;
	return false;
}

/* Marks in the environment first, then every ancestor up to the first process.  Ledger rows that cannot be
 * read are an error, and so a refusal. */
int approver_is_outside(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e)
{
	struct proc_info p = { .parent = getppid() };
	struct json *rows;

	const char *mark = clients_mark_in_environment(s);
	if (mark)
		return err_set(e, E_DENIED, "APPROVAL_INSIDE",
			"%s is set: this is inside an agent or a guarded run, which cannot answer for a "
			"person; use a terminal of your own",
			mark);
	int rc = rows_tail(s, a, ws->state_fd, TOOL_CALLS, RECENT_CALLS, &rows, e);
	if (rc)
		return rc;
	for (int i = 0; i < MAX_ANCESTORS && p.parent > 1 && proc_look(s, p.parent, &p); i++)
		if (has_called(rows, &p))
			return err_set(e, E_DENIED, "APPROVAL_INSIDE",
				"process %lld (%s), which started this, is an agent client that asks here; "
				"use a "
				"terminal of your own",
				(long long)p.pid, text_safe(a, p.name, strlen(p.name), false));
	return OK;
}
