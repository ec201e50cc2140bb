/* sessions.c — <helm home>/sessions: how a keeper is found, started when there is none, and cleared away when it was killed.
 *
 * A wrapper connects to the keeper's socket.  Inside a client's own sandbox it cannot: there it takes the call pipe that the hook left
 * for this call (execute/call_pipe.c).  It never starts a keeper from there on a way that is closed: a keeper inside that sandbox would
 * end with it. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/task/contain_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { START_MS = 10000 };

/* A socket to the keeper, or -1 with errno. */
static int connect_to(struct sys *s, const char *dir)
{
	AUTO(close_fd) int at = -1;

	return file_open_dir(s, AT_FDCWD, dir, &at, NULL) ? -1 : session_connect(at);
}

void sessions_sweep(struct sys *s, struct arena *a, const char *helm_home)
{
	const char *all = arena_printf(a, "%s/" SESSIONS_DIR, helm_home);
	char **names;
	size_t n;

	if (file_list(s, a, AT_FDCWD, all, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(a, "%s/%s", all, names[i]);
		if (names[i][0] == '.')
			continue;
		int fd = connect_to(s, dir);
		/* Any other error says something about us, not about the one who may listen there. */
		if (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT))
			file_remove_tree(s, AT_FDCWD, dir);
		if (fd >= 0)
			close(fd);
	}
}

/* Nobody listens; any other error says that we may not ask. */
static bool is_absent(int why)
{
	return why == ENOENT || why == ECONNREFUSED;
}

static int connect_by_pipe(struct sys *s, struct arena *a, const char *dir, const char *id)
{
	AUTO(close_fd) int at = -1;

	return file_open_dir(s, AT_FDCWD, arena_printf(a, "%s/" SESSION_PIPES, dir), &at, NULL)
		? -1
		: call_pipe_connect(at, id);
}

/* What happened, why, and what to type. */
static int refuse_sandbox(struct err *e, const struct json *ticket, int why)
{
	const struct client *c = clients_find(json_get_text(ticket, "client", ""));
	const char *title = c ? c->title : "the client";

	return err_set(e, E_DENIED, "CONTAINED_SANDBOX",
		"not run: %s's own sandbox keeps this call from reaching Helm's (%s); start %s without it: %s",
		title, strerror(why), title,
		c && c->sandbox && c->sandbox->off ? c->sandbox->off : "see its manual");
}

/* Under the lock: one of all who find no keeper starts it. */
static int start_and_connect(struct sys *s, struct arena *a, const char *helm_home, const struct json *ticket,
	const char *dir, int *ret, struct err *e)
{
	const char *all = arena_printf(a, "%s/" SESSIONS_DIR, helm_home);
	AUTO(close_fd) int lock = -1;
	int rc = file_mkdirs(s, AT_FDCWD, all, 0700, e);

	if (rc == OK)
		rc = file_lock(s, AT_FDCWD, arena_printf(a, "%s/.lock", all), START_MS, &lock, e);
	if (rc)
		return errno == EROFS || errno == EACCES || errno == EPERM ? refuse_sandbox(e, ticket, errno)
									   : rc;
	if ((*ret = connect_to(s, dir)) < 0) {
		rc = keeper_start(s, a, helm_home, ticket, e);
		*ret = rc ? -1 : connect_to(s, dir);
	}
	return rc || *ret >= 0
		? rc
		: err_sys(e, "SESSION_START", "the session that was started cannot be reached");
}

int keeper_connect(struct sys *s, struct arena *a, const char *helm_home, const struct json *ticket,
	struct keeper_link *ret, struct err *e)
{
	const char *dir = arena_printf(a, "%s/" SESSIONS_DIR "/%s", helm_home, ticket_session(a, ticket));

	*ret = (struct keeper_link){ .socket = connect_to(s, dir) };
	if (ret->socket >= 0)
		return OK;
	if (is_absent(errno))
		return start_and_connect(s, a, helm_home, ticket, dir, &ret->socket, e);
	ret->socket = connect_by_pipe(s, a, dir, json_get_text(ticket, "id", ""));
	ret->is_by_pipe = ret->socket >= 0;
	return ret->is_by_pipe ? OK : refuse_sandbox(e, ticket, errno);
}
