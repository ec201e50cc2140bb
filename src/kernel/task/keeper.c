/* keeper.c — the keeper of a session: the process outside the walls that redeems calls and has them run inside.
 *
 * One for each client process, session, work tree, profile and policy; started by the first call that needs it, and ended when the
 * client's process is gone, when nobody needed it for a while, or when nothing inside lives any more.  It belongs to nobody's terminal
 * and holds no key.  It does one thing at a time, and none of them for long.
 *
 *	wrapper connects -> redeem (ticket.c) -> close what appeared since -> note what arms later code -> run inside
 *	command ended    -> hold what it armed -> row -> tell the wrapper
 *
 * Names at the roots of workspace and work tree are looked at before the wrapper is told.  The walk below them may take long in a large
 * tree; it is made afterwards, for all calls since the last one, where anything was heard to change (watch.c), and no more than a tenth of
 * the time goes into it. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/task/keeper_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 256,
	HEARD = 5,
	POLLED_MAX = HEARD + CONNECTIONS_MAX + ANNOUNCED_MAX,
	START_MS = 10000
};
static const int64_t IDLE_US = 15LL * 60 * 1000000, ALONE_US = 60LL * 60 * 1000000;

#define COMMANDS_DIR ".helm-commands"

/* ---- telling the wrapper ---- */

static void answer(const struct call *c, uint32_t kind, int number, const char *word, const char *code)
{
	const char *texts[] = { word, code };
	struct bundle b = {
		.kind = kind, .number = number, .texts = texts, .text_count = 2, .fds = { -1, -1, -1, -1, -1 }
	};

	(void)bundle_send(c->socket, &b); /* one that is gone needs no answer */
}

static void drop_call(struct keeper *x, struct call *c)
{
	for (struct call **p = &x->calls; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	x->call_count--;
	x->used_us = x->sys->mono_us(x->sys);
	close(c->socket);
	close_fd(&c->said);
	arena_done(&c->a);
	free(c);
}

/* ---- one call ---- */

/* Which file has this name now; NULL: none. */
static const char *file_at(struct keeper *x, struct arena *a, const char *path)
{
	struct stat st;

	if (x->sys->stat(x->sys, AT_FDCWD, path, &st, 0))
		return NULL;
	return arena_printf(a, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

/* A mount lies on a file, not on a name: whoever puts another file there, as programs do that save by renaming, takes it away. */
static const char *const *not_closed_yet(struct keeper *x, struct arena *a, const char *const *places)
{
	size_t n = 0, count = 0;

	while (places && places[count])
		count++;
	const char **fresh = arena_zalloc(a, count + 1, sizeof(*fresh));
	for (size_t i = 0; i < count; i++) {
		const char *now = file_at(x, a, places[i]);
		if (now && !text_eq(now, json_get_text(x->closed_as, places[i], "")))
			fresh[n++] = places[i];
	}
	return fresh;
}

static void now_closed(struct keeper *x, struct arena *a, const char *const *places)
{
	for (; *places; places++) {
		const char *now = file_at(x, a, *places), *name = arena_strdup(&x->a, *places);
		if (!json_get(x->closed_as, name))
			json_pushs(&x->a, x->closed, name);
		json_sets(&x->a, x->closed_as, name, now ? arena_strdup(&x->a, now) : "");
	}
}

/* What has come since the walls went up, or was put in the place of what was closed. */
static int close_new_places(struct keeper *x, struct task *t)
{
	const char *const *hidden = not_closed_yet(x, t->a, t->rules.hidden);
	const char *const *read_only = not_closed_yet(x, t->a, t->rules.read_only);

	if (session_close_places(x->session, hidden, read_only))
		return -1;
	now_closed(x, t->a, hidden);
	now_closed(x, t->a, read_only);
	return 0;
}

/* Clients that keep what a command prints in a file let it be read again; what goes through a pipe is theirs alone. */
static void keep_said(struct keeper *x, struct call *c, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	c->said = x->sys->open(
		x->sys, AT_FDCWD, arena_printf(&c->a, "/proc/self/fd/%d", fd), O_RDONLY | O_NONBLOCK, 0, 0);
	c->said_from = st.st_size;
}

/* The last of it, as a run has it. */
static void take_said(struct keeper *x, struct call *c, struct run_result *result)
{
	struct run_stream *said = &result->err;
	struct stat st;

	if (c->said < 0 || fstat(c->said, &st) || st.st_size <= c->said_from)
		return;
	off_t from = st.st_size - (off_t)sizeof(said->tail);
	ssize_t n = x->sys->pread(
		x->sys, c->said, said->tail, sizeof(said->tail), from > c->said_from ? from : c->said_from);
	said->tail_n = n > 0 ? (size_t)n : 0;
	result->captured = n > 0;
}

static int start(struct keeper *x, struct call *c, const struct bundle *b, size_t argc, struct err *e)
{
	struct arena *a = &c->a;
	struct task *t = keeper_task_of(x, c);
	const char **texts = (const char **)b->texts;
	const char *const *environment = contained_environment(t,
		c->announced ? announced_environment(a, texts + CALL_ARGS + argc + 1)
			     : texts + CALL_ARGS + argc + 1);
	const char *note = t->tmpdir ? arena_printf(a, "%s/.%s.cwd", t->tmpdir, t->id) : NULL;
	struct run_result *result = arena_zalloc(a, 1, sizeof(*result));
	struct session_call how = { .program = b->texts[CALL_SHELL],
		.environment = environment,
		.cwd = b->texts[CALL_CWD],
		.note = note,
		.umask = (mode_t)strtoul(b->texts[CALL_UMASK], NULL, 8),
		.limits = b->texts[CALL_LIMITS],
		.streams = { b->fds[0], b->fds[1], b->fds[2] },
		.extra = b->fds[3],
		.reads_only = c->reads_only };

	struct run_spec *spec = arena_zalloc(a, 1, sizeof(*spec));
	*spec = x->spec;
	spec->cwd = how.cwd;
	t->spec = spec;
	keep_said(x, c, b->fds[2]);
	texts[CALL_ARGS + argc] = NULL;
	how.argv = shell_argv(a, how.program, b->texts[CALL_NAME], ticket_text(c->ticket), texts + CALL_ARGS,
		how.cwd, note, how.extra >= 0);
	keeper_end_between(x);
	git_private_refresh(&x->base);
	int rc = keeper_look_again(x, t, e);
	if (rc == OK)
		rc = keeper_note_before(x, e);
	if (rc)
		return rc;
	t->armed = x->base.armed;
	t->modes = x->base.modes;
	t->hooks = x->base.hooks;
	t->linked_own = x->base.linked_own;
	task_look_at_memory(t);
	result->started_us = x->sys->now_us(x->sys);
	t->result = result;
	if (x->base.egress.lost)
		return err_set(
			e, E_IO, "EGRESS_ROW", "a connection could not be recorded: %s", x->base.egress.lost);
	if (close_new_places(x, t) || session_run(x->session, c->number, &how))
		return err_sys(e, "SESSION_LOST", "the session has ended");
	c->task = t;
	return OK;
}

/* What the wrapper sent: is it whole?  *ret_argc: of the shell. */
static bool is_sound(const struct bundle *b, size_t *ret_argc)
{
	int64_t argc;

	if (b->kind != CONTAINED_CALL || b->text_count < CALL_ARGS + 1 || b->fds[2] < 0 ||
		!text_int(b->texts[CALL_ARGC], &argc) || argc < 0 ||
		(size_t)argc > b->text_count - CALL_ARGS - 1)
		return false;
	*ret_argc = (size_t)argc;
	return b->texts[CALL_CWD][0] == '/' && b->texts[CALL_SHELL][0] == '/';
}

static int begin(struct keeper *x, struct call *c, const struct bundle *b, struct err *e)
{
	struct redeeming r = { .session = x->name, .peer = c->peer };
	size_t argc;

	if (!is_sound(b, &argc))
		return err_set(e, E_DENIED, "CONTAINED_FORM", "the call cannot be read");
	if (c->announced && !text_eq(c->announced, b->texts[CALL_ID]))
		return err_set(e, E_DENIED, "CONTAINED_FORM", "this is the way of another call");
	r.text = b->texts[CALL_TEXT];
	r.cwd = b->texts[CALL_CWD];
	int rc = ticket_read(x->sys, &c->a, x->home, b->texts[CALL_ID], &c->ticket, e);
	if (rc == OK)
		rc = ticket_redeem(&x->k, &c->a, c->ticket, &r, e);
	if (rc)
		return rc;
	announced_drop(&x->announced, x->sys, x->dir, b->texts[CALL_ID]);
	c->reads_only = b->number == CALL_READS_ONLY ||
		call_reads_only(&c->a, c->peer, task_tree(&x->base), c->announced);
	return start(x, c, b, argc, e);
}

/* The client's shell goes there, if it is a place outside, too: not into a directory of the session's own. */
static void leave_cwd(struct keeper *x, const struct task *t, const char *dir)
{
	struct sys *s = x->sys;

	for (const struct sandbox_own *own = t->rules.own; own && own->at; own++)
		if (path_is_below(dir, own->at) && !path_is_below(dir, task_tree(t)))
			return;
	if (t->tmp.path && path_is_below(dir, t->tmp.path))
		return;
	if (*dir == '/' && file_is_dir(s, AT_FDCWD, dir))
		(void)s->symlink(s, dir, x->dir, arena_printf(t->a, SESSION_CWD "/%s", t->id));
}

/* The row of a call that ran inside. */
static void put_row(struct keeper *x, struct call *c)
{
	static const char *const names[] = { "client", "session", "tool", "profile" };
	struct task *t = c->task;
	struct arena *a = &c->a;
	struct err e = { 0 };

	json_sets(a, t->row, "at", text_time_iso(a, x->sys->now_us(x->sys)));
	json_sets(a, t->row, "event", CONTAINED_EVENT);
	json_sets(a, t->row, "contained_id", t->id);
	/* Under another name than in the rows of call and outcome, whose pair it does not part. */
	json_sets(a, t->row, CONTAINED_USE, json_get_text(c->ticket, "tool_use_id", NULL));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(c->ticket, names[i]))
			json_set(a, t->row, names[i], json_get(c->ticket, names[i]));
	json_seti(a, t->row, "exit_code", t->result->exit_code);
	if (t->result->exit_signal)
		json_seti(a, t->row, "exit_signal", t->result->exit_signal);
	if (c->reads_only)
		json_setb(a, t->row, "reads_only", true);
	task_protections(a, t->row, &x->base.rules, &t->result->report);
	/* A note that is lost costs nobody his result; where it binds connections, they are the last ones. */
	if (ledger_note(x->sys, a, x->ws->state_fd, TOOL_CALLS, t->row, &e) &&
		json_get(t->row, "rows_sha256"))
		x->base.egress.lost = arena_strdup(&x->a, e.text);
}

static void end(struct keeper *x, struct call *c, const struct session_news *news)
{
	struct task *t = c->task;
	struct run_result *result = (struct run_result *)t->result;

	result->report = news->report;
	x->has_mounts = news->report.read_only_held;
	result->exit_signal = WIFSIGNALED(news->status) ? WTERMSIG(news->status) : 0;
	result->exit_code = result->exit_signal ? 128 + result->exit_signal : WEXITSTATUS(news->status);
	if (news->report.refused[0]) {
		answer(c, CONTAINED_REFUSED, 0, arena_printf(&c->a, "not run: %s", news->report.refused),
			"CONTAINED_START");
		drop_call(x, c);
		return;
	}
	if (t->profile->writes == ALLOWANCE_YES) {
		git_private_merge(&x->base, t);
		armed_check(t);
		t->nested = x->base.nested;
		prompt_look_at_heard(t, x->watch);
		keeper_keep_left(x, t);
		armed_tell(t);
		task_tell_memory(t, NULL, t->row);
		if (!x->walk_due_us)
			x->walk_due_us = keeper_walk_at(x);
	}
	if (news->status == 0 && news->note[0])
		leave_cwd(x, t, news->note);
	if (x->call_count == 1 && t->profile->writes == ALLOWANCE_YES)
		keeper_begin_between(x);
	if (x->recovered)
		task_hint(t, x->recovered);
	x->recovered = NULL;
	take_said(x, c, result);
	task_tell_refusal(t);
	task_egress_tell_call(&x->base, t);
	put_row(x, c);
	answer(c, CONTAINED_ENDED, news->status, t->report->hint ? t->report->hint : "", "");
	drop_call(x, c);
}

/* ---- events ---- */

static struct call *find_call(struct keeper *x, uint32_t number)
{
	for (struct call *c = x->calls; c; c = c->next)
		if (c->number == number)
			return c;
	return NULL;
}

/* False: nothing inside lives any more. */
static bool hear_inside(struct keeper *x)
{
	struct session_news news;

	if (session_hear(x->session, &news))
		return false;
	struct call *c = news.call ? find_call(x, news.call) : NULL;
	if (news.what == SESSION_STOPPED && c)
		answer(c, CONTAINED_STOPPED, 0, "", "");
	else if (news.what == SESSION_ENDED && c)
		end(x, c, &news);
	return true;
}

/* The call itself, or a signal for it.  A wrapper that is gone takes what it ran in the foreground with it, as a shell that is killed
 * together with its group does. */
static void hear_wrapper(struct keeper *x, struct call *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bundle b;
	struct err e = { 0 };
	bool is_new = !c->task;

	if (bundle_receive(is_new ? &c->a : &a, c->socket, &b)) {
		if (!is_new) {
			session_signal(x->session, c->number, SIGKILL);
			c->peer = 0; /* its end is still awaited, and told to nobody */
			return;
		}
		drop_call(x, c);
		return;
	}
	if (is_new && b.kind == CONTAINED_ANNOUNCED) {
		announced_add(&x->announced, x->sys, x->dir, &b);
		drop_call(x, c);
		return;
	}
	if (is_new && begin(x, c, &b, &e)) {
		if (!c->announced || announced_refuse(x->sys, x->home, c->socket, &b, &e))
			answer(c, CONTAINED_REFUSED, 0, e.text, e.code);
		bundle_close_fds(&b);
		drop_call(x, c);
		return;
	}
	if (!is_new && b.kind == CONTAINED_SIGNAL && b.number > 0 && b.number < NSIG)
		session_signal(x->session, c->number, b.number);
	bundle_close_fds(&b);
}

/* A wrapper, or a hook that announces a call; by its call pipe: the id of that. */
static void add_connection(struct keeper *x, int fd, pid_t peer, const char *announced)
{
	struct call *c = fd >= 0 && x->call_count < CONNECTIONS_MAX ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		close_fd(&fd);
		return;
	}
	*c = (struct call){ .number = ++x->last, .socket = fd, .peer = peer, .said = -1, .next = x->calls };
	if (announced)
		c->announced = arena_strdup(&c->a, announced);
	x->calls = c;
	x->call_count++;
	x->used_us = x->sys->mono_us(x->sys);
}

static void take_connection(struct keeper *x)
{
	pid_t peer = 0;
	int fd = session_accept(x->listener, &peer);

	add_connection(x, fd, peer, NULL);
}

/* Wrappers that have read the byte of their pipe. */
static void take_announced(struct keeper *x, const struct pollfd *p, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		pid_t peer = 0;
		if (!(p[i].revents & POLLOUT))
			continue;
		int fd = call_pipe_accept(x->announced.calls[i].pipe, &peer);
		add_connection(x, fd, peer, x->announced.calls[i].id);
		announced_drop(&x->announced, x->sys, x->dir, x->announced.calls[i].id);
	}
}

/* Nobody has used it for a while: is it still of use?  A server that runs inside is, as long as its client lives. */
static bool is_idle(struct keeper *x)
{
	int64_t now = x->sys->mono_us(x->sys);

	if (x->calls || now < x->look_us)
		return false;
	x->look_us = now + IDLE_US;
	return now >= x->used_us + IDLE_US &&
		(session_is_empty(x->session) || (x->client < 0 && now >= x->used_us + ALONE_US));
}

/* How long nobody need look. */
static int patience_ms(const struct keeper *x)
{
	int64_t now = x->sys->mono_us(x->sys), until = x->look_us;

	if (x->walk_due_us && x->walk_due_us < until)
		until = x->walk_due_us;
	if (x->prompt.due_us && x->prompt.due_us < until)
		until = x->prompt.due_us;
	return until <= now ? 0 : (int)((until - now) / 1000 + 1);
}

static void keep(struct keeper *x)
{
	for (;;) {
		struct run_request *door = &x->base.run; /* what goes through it is heard here, too */
		struct pollfd p[POLLED_MAX] = { { session_fd(x->session), POLLIN, 0 },
			{ x->listener, POLLIN, 0 }, { x->client, POLLIN, 0 },
			{ door->side_fd ? *door->side_fd : -1, POLLIN, 0 },
			{ keeper_who_runs(x) && !x->prompt.due_us ? watch_fd(x->watch) : -1, POLLIN, 0 } };
		struct call *of[CONNECTIONS_MAX];
		size_t n = 0;
		if (is_idle(x))
			return;
		for (struct call *c = x->calls; c && n < CONNECTIONS_MAX; c = c->next) {
			if (!c->peer)
				continue;
			of[n] = c;
			p[HEARD + n++] = (struct pollfd){ c->socket, POLLIN, 0 };
		}
		size_t pipes = announced_poll(&x->announced, p + HEARD + n);
		int ready = poll(p, HEARD + n + pipes, patience_ms(x));
		if (ready < 0 && errno != EINTR)
			return;
		if (p[2].revents)
			return; /* the client has ended */
		keeper_hear_tree(x, p[4].revents);
		if (x->walk_due_us && x->sys->mono_us(x->sys) >= x->walk_due_us)
			keeper_walk_if_changed(x);
		if (ready <= 0)
			continue;
		if (p[3].revents)
			door->on_side(door->side_arg);
		take_announced(x, p + HEARD + n, pipes);
		for (size_t i = 0; i < n; i++)
			if (p[HEARD + i].revents)
				hear_wrapper(x, of[i]);
		if (p[0].revents && !hear_inside(x))
			return;
		if (p[1].revents)
			take_connection(x);
	}
}

/* ---- the beginning and the end ---- */

/* Commands that its client has for the shells it starts, and finds by another way than PATH when nobody stands in between: links to the
 * client's own program, in the session's temporary directory.  Without them such a command is not found, which harms nobody. */
static void make_commands(struct keeper *x)
{
	const struct client *c = clients_find(json_get_text(x->ticket, "client", ""));
	const struct sandbox_own *own = x->base.rules.own;
	const char *outside = own ? own->from : x->base.tmpdir;
	char exe[PATH_MAX];
	ssize_t n = x->sys->readlink(x->sys, AT_FDCWD,
		arena_printf(&x->a, "/proc/%lld/exe", (long long)json_get_int(x->ticket, "client_pid", 0)),
		exe, sizeof(exe) - 1);

	if (!c || !c->commands || !c->session || !outside || !x->base.tmpdir || n <= 0)
		return;
	exe[n] = '\0';
	/* One that another program starts, as a script does, is not known by its process. */
	if (!text_eq(path_base(exe), c->session->program))
		return;
	const char *dir = arena_printf(&x->a, "%s/" COMMANDS_DIR, outside);
	if (x->sys->mkdir(x->sys, AT_FDCWD, dir, 0700))
		return;
	for (const char *const *name = c->commands; *name; name++)
		(void)x->sys->symlink(x->sys, exe, AT_FDCWD, arena_printf(&x->a, "%s/%s", dir, *name));
	x->base.commands = arena_printf(&x->a, "%s/" COMMANDS_DIR, x->base.tmpdir);
}

static int open_all(struct keeper *x, struct err *e)
{
	struct sys *s = x->sys;
	const char *dir = arena_printf(&x->a, "%s/" SESSIONS_DIR "/%s", x->home, x->name);
	const char *tree = json_get_text(x->ticket, "tree", "");

	sessions_sweep(s, &x->a, x->home);
	int rc = workspace_open(s, &x->a, json_get_text(x->ticket, "workspace", ""), 0, &x->ws, e);

	if (rc == OK)
		rc = kernel_open_unarmed(s, &x->a, x->ws, &x->k, e);
	if (rc == OK)
		rc = profiles_get(
			&x->k.guard.profiles, json_get_text(x->ticket, "profile", ""), &x->base.profile, e);
	if (rc == OK)
		rc = ticket_narrow(&x->k, &x->a, x->ticket, &x->base.profile, e);
	if (rc == OK)
		rc = file_mkdirs(s, AT_FDCWD, arena_printf(&x->a, "%s/" SESSION_CWD, dir), 0700, e);
	if (rc == OK)
		rc = file_mkdirs(s, AT_FDCWD, arena_printf(&x->a, "%s/" SESSION_PIPES, dir), 0700, e);
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, dir, &x->dir, e);
	if (rc)
		return rc;
	x->spec = (struct run_spec){ .cwd = json_get_text(x->ticket, "cwd", "/") };
	x->base.k = &x->k;
	x->base.a = &x->a;
	x->base.spec = &x->spec;
	x->base.at = guard_at(&x->k.guard, &x->a, x->spec.cwd);
	x->base.at.work_tree = *tree ? tree : NULL;
	workspace_stand(s, &x->a, x->ws, *tree ? tree : x->spec.cwd);
	x->base.id = arena_printf(&x->a, "session-%s", x->name);
	x->base.row = json_new(&x->a, JSON_OBJECT);
	x->base.happened = json_new(&x->a, JSON_OBJECT);
	if (x->base.profile->terms)
		rc = skill_make_places(s, &x->a, x->base.profile->terms, task_tree(&x->base), e);
	if (rc == OK)
		rc = task_egress_open(&x->base, e);
	if (rc)
		return rc;
	task_egress_listen(&x->base);
	struct json *done;
	rc = autorun_recover(&x->k, &x->a, task_tree(&x->base), &done, e);
	if (rc)
		return rc;
	x->recovered = autorun_said(&x->a, done);
	task_tmp_take(s, &x->a, "/tmp", &x->base.tmp);
	if (x->base.profile->writes == ALLOWANCE_YES)
		keeper_look_first(x);
	task_rules(&x->base);
	make_commands(x);
	x->closed = json_new(&x->a, JSON_ARRAY);
	x->closed_as = json_new(&x->a, JSON_OBJECT);
	now_closed(x, &x->a, not_closed_yet(x, &x->a, x->base.rules.hidden));
	now_closed(x, &x->a, not_closed_yet(x, &x->a, x->base.rules.read_only));
	x->closed_before = x->closed->n;
	x->walked_us = x->walked_all_us = s->now_us(s);
	x->used_us = s->mono_us(s);
	x->look_us = x->used_us + IDLE_US;
	rc = session_start(s, &x->base.rules, &x->session, e);
	if (rc == OK)
		rc = (x->listener = session_listen(x->dir)) < 0
			? err_sys(e, "SESSION_START", "cannot listen in the session's directory")
			: OK;
	return rc ? rc : ticket_watch_client(s, x->ticket, &x->client, e);
}

/* From here on nobody comes any more: whoever needs a keeper starts another one, under the same name.  So the directory goes first, and
 * while nobody can be about to start one; where the lock cannot be had, the next keeper sweeps it. */
static void leave(struct keeper *x)
{
	const char *all = arena_printf(&x->a, "%s/" SESSIONS_DIR, x->home);
	AUTO(close_fd) int lock = -1;

	if (x->dir >= 0 &&
		file_lock(x->sys, AT_FDCWD, arena_printf(&x->a, "%s/.lock", all), START_MS, &lock, NULL) ==
			OK)
		file_remove_tree(x->sys, AT_FDCWD, arena_printf(&x->a, "%s/%s", all, x->name));
	close_fd(&x->listener);
	x->listener = -1;
}

/* Calls that were cut off: what they armed is held, and their wrappers hear that there is nothing to wait for. */
static void cut_off_calls(struct keeper *x)
{
	while (x->calls) {
		struct call *c = x->calls;
		if (c->task && c->task->profile->writes == ALLOWANCE_YES) {
			((struct run_result *)c->task->result)->report.read_only_held = x->has_mounts;
			git_private_merge(&x->base, c->task);
			armed_check(c->task);
			keeper_keep_left(x, c->task);
			keeper_note_left(x, &c->a, c->task, x->sys->now_us(x->sys));
			x->walk_due_us = 1; /* and below the roots */
		}
		drop_call(x, c);
	}
}

static void close_all(struct keeper *x)
{
	struct err e = { 0 };

	leave(x);
	session_end(&x->session);
	cut_off_calls(x);
	/* Nobody is left who could be told of a row that is lost. */
	(void)task_egress_close(&x->base, &e);
	keeper_end_between(x);
	(void)recorder_finish(&x->k.recorder, &x->a, &e);
	/* What was told when it was heard is not told again. */
	if (x->walk_due_us && x->walked_all_us < x->walked_us && watch_is_changed(x->watch))
		keeper_walk(x, false);
	if (x->walk_due_us || x->is_owed)
		keeper_walk(x, true);
	watch_end(x->watch);
	keeper_end_journal(x);
	task_tmp_give(x->sys, &x->base.tmp);
	tickets_sweep(x->sys, &x->a, x->home);
	kernel_close(&x->k);
	workspace_close(x->ws);
}

struct beginning {
	struct sys *sys;
	const char *home, *name;
	const struct json *ticket;
};

/* Its whole life.  `ready` hears once how it began. */
static void be_keeper(void *arg, int ready)
{
	const struct beginning *b = arg;
	struct keeper *x = calloc(1, sizeof(*x));
	struct err e = { 0 };

	if (!x)
		_exit(1);
	*x = (struct keeper){ .sys = b->sys,
		.home = b->home,
		.name = b->name,
		.ticket = b->ticket,
		.dir = -1,
		.listener = -1,
		.client = -1,
		.base = { .tmp = { .fd = -1, .rack = -1 } } };
	int rc = open_all(x, &e);
	e.rc = rc;
	(void)!x->sys->write(x->sys, ready, &e, sizeof(e));
	close(ready);
	if (rc == OK)
		keep(x);
	close_all(x);
	_exit(0);
}

int keeper_start(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *ticket, struct err *e)
{
	struct beginning b = { s, helm_home, ticket_session(a, ticket), ticket };
	struct err said = { 0 };
	int ready[2];

	if (pipe2(ready, O_CLOEXEC))
		return err_sys(e, "SESSION_START", "cannot start a session");
	int rc = session_detach(s, ready[1], be_keeper, &b);
	close(ready[1]);
	AUTO(close_fd) int from = ready[0];
	struct pollfd p = { from, POLLIN, 0 };
	if (rc || poll(&p, 1, START_MS) <= 0 ||
		s->read(s, from, &said, sizeof(said)) != (ssize_t)sizeof(said))
		return err_set(e, E_IO, "SESSION_START", "the session could not be started");
	if (said.rc)
		*e = said;
	return said.rc;
}
