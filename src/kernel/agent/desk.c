/* desk.c — the supervisor's side: who asks from inside the session is heard, and answered.
 *
 * One thread takes the calls; workers answer them, each with its own view of the workspace, as if it were a process of
 * its own: what a person changes meanwhile (a freeze, a grant, a profile) counts for the next call (standby.c).  Threads that write to the chain at
 * the same time share the sync of the disk (record/chain.c).
 *
 * What comes from inside is the word of something that is governed.  It may propose, and redeem what was permitted here before; there is
 * nothing else to ask. */
#include "base/fds.h"
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/agent/parts.h"
#include "kernel/task/contain.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE_S = 10 };

/* One who asks, in the queue. */
struct visit {
	struct visit *next;
	struct desk_caller caller;
};

/* A kernel that judges one call at a time and is kept for the next one.  Each has files open, and what is inside must not use up those that the
 * record needs: so there are few, and the one that was used last is taken first. */
struct judge {
	struct judge *next;
	struct standby standby;
};

static struct judge *take_judge(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->judges && s->judge_count == AGENT_JUDGES)
		pthread_cond_wait(&s->judged, &s->lock);
	struct judge *j = s->judges;
	if (j)
		s->judges = j->next;
	else if ((j = calloc(1, sizeof(*j))))
		s->judge_count++;
	else
		mem_exhausted(0);
	pthread_mutex_unlock(&s->lock);
	return j;
}

static void give_judge(struct session *s, struct judge *j)
{
	pthread_mutex_lock(&s->lock);
	j->next = s->judges;
	s->judges = j;
	pthread_cond_signal(&s->judged);
	pthread_mutex_unlock(&s->lock);
}

/* ---- one record for all of them ---- */

/* Decisions of calls that are judged at the same time are written and synced together.  Its kernel only has the key and the chain; one that
 * cannot be opened now costs nothing but that: each judge writes by itself then. */
static void open_writer(struct session *s)
{
	struct err e = { 0 };
	struct kernel *k;

	if (standby_open(&s->writer, s->sys, s->root, &k, &e) || kernel_arm(k, &e) || key_keeper(k->key)) {
		standby_close(&s->writer);
		return;
	}
	k->recorder.is_hurried = true; /* whoever asks here waits */
	s->group = recorder_group_new(&k->recorder);
}

static void close_writer(struct session *s)
{
	recorder_group_free(s->group);
	s->group = NULL;
	standby_close(&s->writer);
}

/* Not where another directory has taken the place of the state since. */
static struct recorder_group *group_for(struct session *s, const struct kernel *k)
{
	struct stat own, its;

	return s->group && fstat(k->ws->state_fd, &own) == 0 && fstat(s->writer.k.ws->state_fd, &its) == 0 &&
			own.st_dev == its.st_dev && own.st_ino == its.st_ino
		? s->group
		: NULL;
}

/* ---- one question ---- */

static void count(struct session *s, const struct hook_answer *answer)
{
	pthread_mutex_lock(&s->lock);
	s->count.calls++;
	s->count.refused += answer->verdict == V_DENY;
	s->count.asked += answer->verdict == V_ESCALATE;
	pthread_mutex_unlock(&s->lock);
}

/* The client says in the line which one it is; it changes only the words it is answered in. */
static int before(struct session *s, struct arena *a, struct kernel *k, const struct client *c,
	const struct tool_call *call, struct hook_said *ret, struct err *e)
{
	struct hook_answer answer;
	int rc = hook_before(k, a, c->name, c->speech->can_ask, call, &answer, e);

	if (rc)
		return rc;
	if (answer.outside_profile && c->speech->rewrite)
		answer.instead = permit_add(s, a, contain_text_of(call), &answer);
	count(s, &answer);
	hook_say_before(a, c, call, &answer, ret);
	return OK;
}

static int after(struct arena *a, struct kernel *k, const struct client *c, const struct tool_call *call,
	struct hook_said *ret, struct err *e)
{
	const char *text = NULL;
	int rc = hook_after(k, a, c->name, call, &text, e);

	if (rc == OK)
		hook_say_after(a, c, text, ret);
	return rc;
}

static int judge_hook(struct session *s, struct standby *standby, struct arena *a, pid_t pid,
	const struct client *c, bool is_before, struct bytes payload, struct hook_said *ret, struct err *e)
{
	struct kernel_session session = { .task_id = s->task_id,
		.started = s->started,
		.profile = s->chosen,
		.walls = s->profile,
		.caller_pid = pid,
		.is_cut_off = s->is_cut_off };
	struct tool_call call;
	struct kernel *k;

	if (!c || !c->speech)
		return err_set(e, E_INPUT, "HOOK_CLIENT", "no client with a hook is called that");
	int rc = clients_read_call(c, a, payload, &call, e);
	if (rc) {
		snprintf(e->code, sizeof(e->code), "HOOK_PAYLOAD");
		return rc;
	}
	rc = standby_open(standby, s->sys, s->root, &k, e);
	if (rc)
		return rc;
	if (s->tmp)
		k->guard.at.tmpdir = s->tmp;
	k->session = &session;
	k->group = group_for(s, k);
	if (!s->chosen)
		rc = workspace_agent_profile(s->sys, a, k->ws, &k->guard.profiles, &session.profile, e);
	if (rc == OK)
		rc = is_before ? before(s, a, k, c, &call, ret, e) : after(a, k, c, &call, ret, e);
	k->session = NULL;
	/* A line to a signer is not kept: others wait for one. */
	if (rc || (k->key && key_keeper(k->key)))
		standby_close(standby);
	return rc;
}

/* Whatever goes wrong before a call is a refusal in the client's words; behind it there is nothing left to stop. */
static void answer_hook(
	struct session *s, struct arena *a, pid_t pid, const struct json *line, struct bytes payload, int fd)
{
	const struct client *c = clients_find(json_get_text(line, "client", ""));
	const bool is_before = !text_eq(json_get_text(line, "verb", ""), "post-tool");
	struct hook_said said = { 0 };
	struct err e = { 0 };
	struct judge *judge = take_judge(s);
	int rc = judge_hook(s, &judge->standby, a, pid, c, is_before, payload, &said, &e);
	struct buf text;

	give_judge(s, judge);
	if (rc) {
		if (is_before)
			hook_say_failure(a, c, &e, &said);
		else
			said = (struct hook_said){ .exit_code = 1,
				.err = bytes_of(arena_printf(
					a, "helm: %s\n", text_safe(a, e.text, strlen(e.text), false))) };
	}
	buf_init(&text, a);
	buf_addf(&text, "%d %zu %zu\n", said.exit_code, said.out.n, said.err.n);
	buf_add(&text, said.out.p, said.out.n);
	buf_add(&text, said.err.p, said.err.n);
	(void)fds_send(fd, buf_bytes(&text), NULL, 0);
}

static int check_streams(const int *streams, struct err *e)
{
	for (int i = 0; i < 3; i++)
		if (streams[i] < 0)
			return err_set(e, E_INPUT, "AGENT_STREAMS", "its three streams must come along");
	return OK;
}

static int answer_gateway(struct session *s, struct json *ret, struct arena *a, const struct json *line,
	int conn, int *streams, struct err *e)
{
	int code, rc = check_streams(streams, e);

	if (rc == OK)
		rc = gateway_outside(s, a, json_get(line, "servers"), streams, conn, &code, e);
	if (rc == OK)
		json_seti(a, ret, "exit_code", code);
	return rc;
}

static int answer_outside(struct session *s, struct json *ret, struct arena *a, const struct json *line,
	int conn, int *streams, struct err *e)
{
	const char *id = json_get_text(line, "id", "");
	int code, rc = check_streams(streams, e);

	if (rc)
		return rc;
	struct permit *p = permit_take(s, id);
	if (!p)
		return err_set(e, E_DENIED, "AGENT_PERMIT",
			"'%s' permits nothing here: it is unknown in this session, was used, or is too late; propose the call again",
			text_safe(a, id, strlen(id) > 80 ? 80 : strlen(id), false));
	rc = outside_run(s, p, streams, conn, &code, e);
	permit_free(p);
	if (rc == OK)
		json_seti(a, ret, "exit_code", code);
	return rc;
}

static void answer_status(struct session *s, struct arena *a, struct json *ret)
{
	pthread_mutex_lock(&s->lock);
	json_sets(a, ret, "task_id", s->task_id);
	json_sets(a, ret, "client", s->client);
	json_sets(a, ret, "profile", s->profile);
	json_sets(a, ret, "started_at", text_time_iso(a, s->started_us));
	json_seti(a, ret, "calls", s->count.calls);
	json_seti(a, ret, "refused", s->count.refused);
	json_seti(a, ret, "asked", s->count.asked);
	json_seti(a, ret, "outside", s->count.outside);
	pthread_mutex_unlock(&s->lock);
}

/* An error is an answer, too: whoever asks must not be left to guess. */
static void put_error(struct arena *a, const struct err *e, struct json *to)
{
	struct json *error = json_new(a, JSON_OBJECT);

	json_seti(a, error, "rc", e->rc);
	json_sets(a, error, "code", e->code);
	json_sets(a, error, "text", text_safe(a, e->text, strlen(e->text), false));
	json_set(a, to, "error", error);
}

/* Who does not take the answer is not waited for. */
static void be_patient(int fd)
{
	const struct timeval wait = { .tv_sec = PATIENCE_S };

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

static void serve(struct session *s, const struct desk_caller *caller)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int fd = caller->fd;
	int streams[3] = { -1, -1, -1 };
	struct json *line, *answer = json_new(&a, JSON_OBJECT);
	struct bytes body;
	struct err e = { 0 };

	be_patient(fd);
	int rc = talk_receive(s->sys, fd, &a, PATIENCE_S * 1000000, &line, &body, streams, &e);
	const char *ask = rc ? "" : json_get_text(line, "ask", "");
	if (rc == OK && text_eq(ask, "hook"))
		answer_hook(s, &a, caller->pid, line, body, fd);
	else if (rc == OK && text_eq(ask, "outside"))
		rc = answer_outside(s, answer, &a, line, fd, streams, &e);
	else if (rc == OK && text_eq(ask, "gateway"))
		rc = answer_gateway(s, answer, &a, line, fd, streams, &e);
	else if (rc == OK && text_eq(ask, "status"))
		answer_status(s, &a, answer);
	else if (rc == OK)
		rc = err_set(&e, E_INPUT, "AGENT_TALK", "nothing is known by that name");
	if (rc)
		put_error(&a, &e, answer);
	if (!text_eq(ask, "hook"))
		(void)talk_send(fd, &a, answer, NULL, &e);
	for (int i = 0; i < 3; i++)
		close_fd(&streams[i]);
	/* A process that was forked meanwhile may have the same socket: this ends it for all. */
	(void)shutdown(fd, SHUT_RDWR);
}

/* ---- threads ---- */

/* The next who waits; NULL when it is over.  Under the lock. */
static struct visit *next_visit(struct session *s)
{
	s->idle++;
	while (!s->first && !s->is_over)
		pthread_cond_wait(&s->arrived, &s->lock);
	s->idle--;
	struct visit *v = s->first;
	if (v) {
		s->waiting--;
		s->first = v->next;
		if (!s->first)
			s->last = &s->first;
	}
	return v;
}

/* Answers one after the other, and stays when nobody waits: memory that was used once is quicker the next time. */
static void *be_worker(void *arg)
{
	struct session *s = arg;
	struct visit *v;

	pthread_mutex_lock(&s->lock);
	while ((v = next_visit(s))) {
		pthread_mutex_unlock(&s->lock);
		serve(s, &v->caller);
		free(v);
		pthread_mutex_lock(&s->lock);
	}
	s->workers--;
	pthread_cond_signal(&s->left);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Nobody waits behind another one as long as there may be one worker more.  False: nobody will ever come to it, or too many wait. */
static bool receive_visit(struct session *s, const struct desk_caller *caller)
{
	pthread_t thread;

	if (s->waiting >= s->idle && s->workers < AGENT_THREADS &&
		pthread_create(&thread, NULL, be_worker, s) == 0) {
		pthread_detach(thread);
		s->workers++;
	}
	if (!s->workers || s->waiting >= AGENT_WAITING)
		return false;
	struct visit *v = calloc(1, sizeof(*v));
	if (!v)
		mem_exhausted(0);
	v->caller = *caller;
	*s->last = v;
	s->last = &v->next;
	s->waiting++;
	pthread_cond_signal(&s->arrived);
	return true;
}

/* Who is turned away hears it at once, and so does everybody once there is no desk any more: each is a descriptor of ours, and what is
 * inside must not use up those that the record needs. */
static void *be_clerk(void *arg)
{
	struct session *s = arg;
	struct desk_caller caller;

	while (desk_accept(s->desk, s->stop, &caller) == 0) {
		pthread_mutex_lock(&s->lock);
		if (!receive_visit(s, &caller))
			close(caller.fd);
		pthread_mutex_unlock(&s->lock);
	}
	close_fd(&s->desk);
	s->desk = -1;
	return NULL;
}

/* All signals stay with the thread that waits for the client. */
int desk_begin(struct session *s, struct err *e)
{
	sigset_t all, old;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->arrived, NULL);
	pthread_cond_init(&s->left, NULL);
	pthread_cond_init(&s->judged, NULL);
	s->last = &s->first;
	if (s->desk < 0)
		return err_set(e, E_IO, "AGENT_DESK",
			"the session cannot be heard: the kernel hands no calls to a supervisor (Linux 5.14 or newer does)");
	s->stop = eventfd(0, EFD_CLOEXEC);
	if (s->stop < 0)
		return err_sys(e, "AGENT_DESK", "the session cannot be heard");
	open_writer(s);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&s->clerk, NULL, be_clerk, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errno) {
		close_writer(s);
		return err_sys(e, "AGENT_DESK", "no thread can be started%s", err_start_hint());
	}
	s->has_clerk = true;
	return OK;
}

/* Whoever has asked is answered still; what is left in the queue when no worker could be had is told nothing. */
void desk_end(struct session *s)
{
	const uint64_t one = 1;

	if (!s->has_clerk) {
		close_fd(&s->desk);
		close_fd(&s->stop);
		return;
	}
	(void)!s->sys->write(s->sys, s->stop, &one, sizeof(one));
	pthread_join(s->clerk, NULL);
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_broadcast(&s->arrived);
	while (s->workers)
		pthread_cond_wait(&s->left, &s->lock);
	pthread_mutex_unlock(&s->lock);
	for (struct visit *v = s->first, *next; v; v = next) {
		next = v->next;
		close(v->caller.fd);
		free(v);
	}
	for (struct judge *j = s->judges, *next; j; j = next) {
		next = j->next;
		standby_close(&j->standby);
		free(j);
	}
	s->judges = NULL;
	close_writer(s);
	s->has_clerk = false;
	close_fd(&s->stop);
}
