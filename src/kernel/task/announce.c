/* announce.c — a call that was allowed is announced to the keeper of its session, by the hook.
 *
 * The hook stands outside of a client's own sandbox, and the wrapper may stand inside.  So the hook starts the keeper, makes a FIFO for
 * the one call and hands its descriptor to the keeper.  It gives no right: what comes by it is redeemed like every other call, and only
 * the call that was announced can come by it. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/task/contain_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { START_MS = 15000 };

/* ---- in the hook ---- */

/* By another process: the keeper is a copy of the one that starts it, and the hook holds a key. */
static void start_session(struct sys *s, const char *program, const char *id)
{
	const char *const argv[] = { program, "contained", id, "--start", NULL };
	struct proc p = { 0 };
	struct proc_end end;
	struct err e = { 0 };

	if (proc_start(s, &PROC_SPEC(argv), &p, &e) == OK)
		(void)proc_wait(s, &p, START_MS, &end, &e);
}

static int connect_in(struct sys *s, const char *dir, int *ret_dir)
{
	close_fd(ret_dir);
	*ret_dir = -1;
	return file_open_dir(s, AT_FDCWD, dir, ret_dir, NULL) ? -1 : session_connect(*ret_dir);
}

void call_announce(
	struct sys *s, struct arena *a, const char *program, const char *helm_home, const struct json *ticket)
{
	const char *id = json_get_text(ticket, "id", "");
	const char *dir = arena_printf(a, "%s/" SESSIONS_DIR "/%s", helm_home, ticket_session(a, ticket));
	AUTO(close_fd) int at = -1;
	AUTO(close_fd) int to = connect_in(s, dir, &at);

	if (to < 0 && (errno == ENOENT || errno == ECONNREFUSED)) {
		start_session(s, program, id);
		to = connect_in(s, dir, &at);
	}
	if (to < 0)
		return;
	AUTO(close_fd) int pipe = call_pipe_make(at, arena_printf(a, SESSION_PIPES "/%s", id));
	struct bundle b = {
		.kind = CONTAINED_ANNOUNCED, .texts = &id, .text_count = 1, .fds = { pipe, -1, -1, -1, -1 }
	};
	if (pipe >= 0)
		(void)bundle_send(to, &b);
}

/* ---- in the keeper ---- */

static void drop_at(struct announced *x, struct sys *s, int session_dir, size_t i)
{
	char path[sizeof(SESSION_PIPES) + ANNOUNCED_ID];

	snprintf(path, sizeof(path), SESSION_PIPES "/%s", x->calls[i].id);
	(void)s->unlink(s, session_dir, path, 0);
	close(x->calls[i].pipe);
	memmove(&x->calls[i], &x->calls[i + 1], (--x->n - i) * sizeof(x->calls[0]));
}

void announced_add(struct announced *x, struct sys *s, int session_dir, struct bundle *b)
{
	const char *id = b->text_count ? b->texts[0] : "";
	struct stat st;

	if (text_is_id(id) && strlen(id) < ANNOUNCED_ID && b->fds[0] >= 0 && fstat(b->fds[0], &st) == 0 &&
		S_ISFIFO(st.st_mode)) {
		announced_drop(x, s, session_dir, id);
		if (x->n == ANNOUNCED_MAX)
			drop_at(x, s, session_dir, 0);
		snprintf(x->calls[x->n].id, ANNOUNCED_ID, "%s", id);
		x->calls[x->n++].pipe = b->fds[0];
		b->fds[0] = -1;
	}
	bundle_close_fds(b);
}

void announced_drop(struct announced *x, struct sys *s, int session_dir, const char *id)
{
	for (size_t i = 0; i < x->n; i++)
		if (text_eq(x->calls[i].id, id)) {
			drop_at(x, s, session_dir, i);
			return;
		}
}

size_t announced_poll(const struct announced *x, struct pollfd *to)
{
	for (size_t i = 0; i < x->n; i++)
		to[i] = (struct pollfd){ x->calls[i].pipe, POLLOUT, 0 };
	return x->n;
}

struct refusal {
	struct sys *sys;
	const char *home;
	const struct bundle *b;
	struct err e;
};

static void record_and_tell(void *arg, int socket)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct refusal *r = arg;
	const struct contained_call call = { .id = r->b->texts[CALL_ID], .text = r->b->texts[CALL_TEXT] };

	(void)contained_refused(r->sys, &a, r->home, &call, r->b->texts[CALL_CWD], &r->e);
	const char *texts[] = { r->e.text, r->e.code };
	(void)bundle_send(socket,
		&(struct bundle){ .kind = CONTAINED_REFUSED,
			.texts = texts,
			.text_count = ARRAY_SIZE(texts),
			.fds = { -1, -1, -1, -1, -1 } });
	_exit(0);
}

int announced_refuse(
	struct sys *s, const char *helm_home, int socket, const struct bundle *b, const struct err *e)
{
	struct refusal r = { s, helm_home, b, *e };

	return b->text_count > CALL_CWD ? session_detach(s, socket, record_and_tell, &r) : -1;
}

/* A proxy of this machine: the client's, which listens in its own sandbox. */
static bool names_local_proxy(const char *entry)
{
	return strcasestr(entry, "proxy") && strncasecmp(entry, "no_proxy=", strlen("no_proxy=")) != 0 &&
		(strstr(entry, "localhost") || strstr(entry, "127.0.0.1"));
}

const char *const *announced_environment(struct arena *a, const char *const *given)
{
	size_t n = 0, have = 0;

	while (given[have])
		have++;
	const char **kept = arena_zalloc(a, have + 1, sizeof(*kept));
	for (size_t i = 0; i < have; i++)
		if (!names_local_proxy(given[i]))
			kept[n++] = given[i];
	return kept;
}

bool call_reads_only(struct arena *a, pid_t peer, const char *tree, bool is_sandboxed)
{
	struct statvfs at;

	if (statvfs(arena_printf(a, "/proc/%d/root%s", (int)peer, tree), &at))
		return is_sandboxed;
	return at.f_flag & ST_RDONLY;
}
