/* contained.c — `helm contained`: the wrapper's steps, and the record of what was refused.
 *
 * The wrapper must be quick, so it opens nothing but the ticket and the keeper's socket: the keeper knows workspace and policy already.
 * Only a refusal opens them here, to be signed. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/contain_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { TRIES = 3 };

static const char *const *texts_of(
	struct sys *s, struct arena *a, const struct contained_call *call, const char *cwd, size_t *ret_n)
{
	size_t argc = 0, envc = 0, n = CALL_ARGS;

	while (call->args[argc])
		argc++;
	while (environ[envc])
		envc++;
	const char **texts = arena_zalloc(a, CALL_ARGS + argc + envc + 2, sizeof(*texts));
	mode_t mask = umask(0);
	umask(mask);
	texts[CALL_ID] = call->id;
	texts[CALL_TEXT] = call->text;
	texts[CALL_CWD] = cwd;
	texts[CALL_SHELL] = shell_of_caller(s, a);
	texts[CALL_NAME] = call->name;
	texts[CALL_UMASK] = arena_printf(a, "%o", mask);
	texts[CALL_LIMITS] = session_limits(a);
	texts[CALL_ARGC] = arena_printf(a, "%zu", argc);
	for (size_t i = 0; i < argc; i++)
		texts[n++] = call->args[i];
	texts[n++] = ""; /* the end of the arguments */
	for (size_t i = 0; i < envc; i++)
		texts[n++] = environ[i];
	*ret_n = n;
	return texts;
}

/* No call is known.  Where a sandbox hides the whole directory, that says nothing about the call. */
static int explain_hidden(struct sys *s, struct arena *a, const char *home, struct err *e)
{
	const char *dir = arena_printf(a, "%s/" CALLS_DIR, home);

	if (file_is_dir(s, AT_FDCWD, dir))
		return E_DENIED;
	return err_set(e, E_DENIED, "CONTAINED_SANDBOX",
		"not run: no call can be found here, because '%s' cannot be read; let the client's own sandbox read it, "
		"or start the client without its sandbox: %s, or: %s",
		dir, clients_find("codex")->sandbox->off, clients_find("claude-code")->sandbox->off);
}

/* Can a file be made in this directory?  The keeper sees a read-only mount itself; what Landlock refuses only we can see.  A file system
 * that knows no files without a name says nothing. */
static bool can_write(struct sys *s, const char *dir)
{
	AUTO(close_fd) int fd = *dir ? s->open(s, AT_FDCWD, dir, O_TMPFILE | O_RDWR, 0600, 0) : -1;

	return !*dir || fd >= 0 || (errno != EACCES && errno != EROFS && errno != EPERM);
}

/* A keeper may end between our connecting and its reading: then the ticket still lies there, and another one is started. */
static int try_all(struct sys *s, struct arena *a, const char *home, const struct contained_call *call,
	const char *cwd, bool *ret_is_by_pipe, int *ret_status, const char **ret_word, struct err *e)
{
	struct bundle b = { .kind = CONTAINED_CALL, .fds = { call->input_fd, 1, 2, call->state_fd, -1 } };
	struct json *ticket;
	int rc;

	b.texts = texts_of(s, a, call, cwd, &b.text_count);
	for (int i = 0;; i++) {
		struct keeper_link to = { .socket = -1 };
		rc = ticket_read(s, a, home, call->id, &ticket, e);
		if (rc == E_DENIED)
			return explain_hidden(s, a, home, e);
		if (rc == OK)
			rc = keeper_connect(s, a, home, ticket, &to, e);
		if (rc)
			return rc;
		*ret_is_by_pipe = to.is_by_pipe;
		b.number = to.is_by_pipe && !can_write(s, json_get_text(ticket, "tree", "")) ? CALL_READS_ONLY
											     : 0;
		rc = contained_wait(a, to.socket, &b, ret_status, ret_word, e);
		close(to.socket);
		if (rc != E_IO || i == TRIES ||
			!file_exists(s, AT_FDCWD, arena_printf(a, "%s/" CALLS_DIR "/%s", home, call->id)))
			return rc;
	}
}

/* Signed and on disk, like any other denial. */
int contained_refused(struct sys *s, struct arena *a, const char *home, const struct contained_call *call,
	const char *cwd, struct err *e)
{
	struct err late = { 0 }, why = *e;
	struct json *ticket = NULL;
	struct workspace *ws = NULL;
	struct kernel k;
	struct handling h = { .a = a };

	if (ticket_read(s, a, home, call->id, &ticket, &late))
		ticket = NULL;
	const char *text = ticket && !*call->text ? ticket_text(ticket) : call->text,
		   *client = json_get_text(ticket, "client", NULL), *chosen;
	int rc = workspace_open(s, a, json_get_text(ticket, "workspace", NULL), 0, &ws, &late);
	if (rc == OK)
		rc = kernel_open(s, a, ws, &k, &late);
	if (rc) {
		workspace_close(ws);
		return err_set(
			e, E_DENIED, why.code, "%s (and this is not on record: %s)", why.text, late.text);
	}
	struct surroundings at = guard_at(&k.guard, a, cwd);
	struct request q = { .who = { .door = "contained",
				     .subject_id = client ? arena_printf(a, "agent:%s", client)
							  : arena_printf(a, "user:%u", getuid()),
				     .session = json_get_text(ticket, "session", NULL) },
		.what = { .tool = "Bash",
			.action = "AGENT_TOOL_CALL",
			.shell = bytes_of(text),
			.preview = text },
		.where = &at,
		.mode = GUARD_ENFORCE,
		.at_least = { .action = ACTION_DENY, .rule = "deny.not_redeemed", .text = why.text } };
	rc = workspace_default_profile(s, a, ws, &chosen, &late);
	if (rc == OK)
		rc = profiles_get(&k.guard.profiles, chosen, &q.profile, &late);
	if (rc == OK)
		rc = kernel_handle(&k, &q, &h, &late);
	kernel_close(&k);
	workspace_close(ws);
	*e = why;
	return rc ? err_set(e, E_DENIED, why.code, "%s (and this is not on record: %s)", why.text, late.text)
		  : E_DENIED;
}

int contained_run(struct sys *s, struct arena *a, const struct contained_call *call, int *ret_status,
	const char **ret_word, struct err *e)
{
	char *here = realpath(".", NULL);
	const char *cwd = here ? arena_strdup(a, here) : "", *home;
	bool is_by_pipe = false;
	int rc = workspace_helm_home(s, a, &home, e);

	free(here);
	if (rc)
		return rc;
	rc = try_all(s, a, home, call, cwd, &is_by_pipe, ret_status, ret_word, e);
	/* Inside a client's own sandbox the keeper has it recorded. */
	return rc == E_DENIED && !is_by_pipe ? contained_refused(s, a, home, call, cwd, e) : rc;
}

int contained_start(struct sys *s, struct arena *a, const char *id, struct err *e)
{
	struct keeper_link to = { .socket = -1 };
	struct json *ticket;
	const char *home;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc == OK)
		rc = ticket_read(s, a, home, id, &ticket, e);
	if (rc == OK)
		rc = keeper_connect(s, a, home, ticket, &to, e);
	close_fd(&to.socket);
	return rc;
}
