/* detach.c — a session that goes on when the person's window is closed, and how a person comes back to it.
 *
 * Its supervisor is a process of its own, of nobody's terminal.  It keeps the session's terminal and what that has shown last, and
 * listens on a socket below the helm home: nothing inside a session can make a socket that reaches it.  Everything else is as in any
 * other session. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/agent/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTACH_DIR "attach" /* below the helm home */

static const char *place_of(struct arena *a, const struct workspace *ws, const char *task_id)
{
	return arena_printf(a, "%s/" ATTACH_DIR "/%s", ws->helm_home, task_id);
}

/* Of supervisors that were killed. */
static void sweep(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const char *all = arena_printf(a, "%s/" ATTACH_DIR, ws->helm_home);
	char **names = NULL;
	size_t n = 0;

	if (file_list(s, a, AT_FDCWD, all, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *one = arena_printf(a, "%s/%s", all, names[i]);
		AUTO(close_fd) int dir = -1;
		if (file_open_dir(s, AT_FDCWD, one, &dir, NULL))
			continue;
		AUTO(close_fd) int fd = session_connect(dir);
		if (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT))
			file_remove_tree(s, AT_FDCWD, one);
	}
}

/* ---- the supervisor ---- */

struct leaving {
	struct sys *sys;
	const char *root;
	struct agent_spec spec;
	struct agent_alone alone;
	mode_t umask;
};

static void tell(struct sys *s, struct arena *a, int to, const struct json *doc)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, doc, 0);
	buf_addc(&text, '\n');
	(void)!s->write(s, to, text.p, text.n);
}

static int listen_at(struct leaving *x, const char *place, struct err *e)
{
	AUTO(close_fd) int dir = -1;
	int rc = file_mkdirs(x->sys, AT_FDCWD, place, 0700, e);

	if (rc == OK)
		rc = file_open_dir(x->sys, AT_FDCWD, place, &dir, e);
	if (rc)
		return rc;
	x->alone.terminal.listener = session_listen(dir);
	if (x->alone.terminal.listener < 0)
		return err_sys(e, "AGENT_DETACH", "nobody could come back to it: no socket in '%s'", place);
	(void)fcntl(x->alone.terminal.listener, F_SETFL, O_NONBLOCK);
	return OK;
}

/* The exit code; *ret_why: what to tell whoever started it, when it has not begun. */
static int supervise(struct leaving *x, struct arena *a, const char **ret_why)
{
	struct workspace *ws;
	struct kernel k;
	struct run_report report;
	struct err e = { 0 };
	int rc = workspace_open(x->sys, a, x->root, 0, &ws, &e);
	const char *place = rc ? NULL : place_of(a, ws, x->spec.task_id);

	if (rc == OK)
		rc = kernel_open(x->sys, a, ws, &k, &e);
	if (rc == OK) {
		rc = listen_at(x, place, &e);
		if (rc == OK)
			rc = agent_run(&k, a, &x->spec, &report, &e);
		kernel_close(&k);
		file_remove_tree(x->sys, AT_FDCWD, place);
	}
	*ret_why = rc ? arena_strdup(a, e.text) : report.message;
	return rc == E_DENIED ? 25 : rc ? 1 : report.exit_code;
}

static void be_supervisor(void *arg, int ready)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct leaving *x = arg;
	const char *why = NULL;

	umask(x->umask);
	x->alone.began = ready;
	int code = supervise(x, &a, &why);
	if (x->alone.began >= 0) {
		struct json *doc = json_new(&a, JSON_OBJECT);
		json_seti(&a, doc, "exit_code", code ? code : 1);
		json_sets(&a, doc, "text", why ? why : "the session has ended before it began");
		tell(x->sys, &a, ready, doc);
	}
	_exit(code);
}

void agent_has_begun(struct agent_alone *x, struct sys *s, struct arena *a, const char *task_id)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	if (x->began < 0)
		return;
	json_sets(a, doc, "task_id", task_id);
	json_seti(a, doc, "pid", getpid());
	tell(s, a, x->began, doc);
	close_fd(&x->began);
	x->began = -1;
}

/* ---- whoever starts it ---- */

/* One line; empty when there is none. */
static struct bytes hear(struct sys *s, struct arena *a, int from)
{
	char *text = arena_text(a, AGENT_LINE);
	size_t n = 0;

	while (n < AGENT_LINE && !memchr(text, '\n', n)) {
		ssize_t got = s->read(s, from, text + n, AGENT_LINE - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return (struct bytes){ (const uint8_t *)text, n };
}

int agent_detach(struct sys *s, struct arena *a, const struct workspace *ws, const struct agent_spec *spec,
	struct json **ret, struct err *e)
{
	struct leaving x = { .sys = s, .root = ws->root, .spec = *spec, .umask = umask(0) };
	struct bytes said = { 0 };
	int ready[2];
	char *id;

	umask(x.umask);
	if (!ws->helm_home)
		return err_set(e, E_MISSING, "AGENT_DETACH",
			"there is no home directory to come back to it through");
	/* Whoever is at a terminal sees that it is not there; here nobody would. */
	const struct client *c = clients_find(spec->client);
	const char *program = c && c->session ? c->session->program : spec->client;
	if (!task_finds_program(s, a, program, spec->cwd))
		return err_set(e, E_MISSING, "AGENT_PROGRAM", "'%s' is not there: PATH names no such program",
			program);
	int rc = record_new_task_id(a, s, &id, e);
	if (rc)
		return rc;
	sweep(s, a, ws);
	run_alone_look(&x.alone.terminal);
	x.spec.task_id = id;
	x.spec.alone = &x.alone;
	if (pipe2(ready, O_CLOEXEC))
		return err_sys(e, "AGENT_DETACH", "it cannot be started");
	rc = session_detach(s, ready[1], be_supervisor, &x);
	close(ready[1]);
	AUTO(close_fd) int from = ready[0];
	said = rc ? said : hear(s, a, from);
	if (!said.n)
		return err_set(e, E_IO, "AGENT_DETACH",
			"it ended before it began; 'helm agent list --all' may say more");
	return json_parse(a, said, "the supervisor's word", NULL, ret, e);
}

int agent_attach(struct sys *s, struct arena *a, const struct workspace *ws, const char *id, bool *ret_ended,
	struct err *e)
{
	const struct json *row;
	enum attach_end end;
	AUTO(close_fd) int dir = -1;
	int rc = agent_find_running(s, a, ws, id, &row, e);

	if (rc)
		return rc;
	id = json_get_text(row, "task_id", "");
	if (!json_get_bool(row, "detached", false) || !ws->helm_home)
		return err_set(e, E_INPUT, "AGENT_ATTACH",
			"session '%s' has the terminal it was started on; one that is started with --detach can be attached to",
			id);
	if (!isatty(0) || !isatty(1))
		return err_set(e, E_USAGE, "AGENT_ATTACH", "this takes a terminal");
	rc = file_open_dir(s, AT_FDCWD, place_of(a, ws, id), &dir, e);
	if (rc)
		return rc;
	AUTO(close_fd) int fd = session_connect(dir);
	if (fd < 0 || attach_sit(fd, &end))
		return err_sys(e, "AGENT_ATTACH", "session '%s' cannot be reached", id);
	if (end == ATTACH_BUSY)
		return err_set(e, E_DENIED, "AGENT_BUSY", "somebody else is attached to session '%s'", id);
	*ret_ended = end == ATTACH_ENDED;
	return OK;
}
