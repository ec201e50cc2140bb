/* ask.c — the inside of a session: `helm outside` and `helm status` ask the supervisor; `helm hook` does it by itself (cli/hook_inside.c).
 *
 * Outside of every session the first system call says so, and the caller goes on as if there were no sessions. */
#include "base/fds.h"
#include "base/text.h"
#include "execute/execute.h"
#include "kernel/agent/parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool agent_is_inside(void)
{
	AUTO(close_fd) int fd = desk_connect();

	return fd >= 0;
}

static int nobody(struct err *e)
{
	return err_set(e, E_MISSING, "AGENT_NONE",
		"this is not inside a supervised session; 'helm agent CLIENT' starts one");
}

/* What the supervisor could not do is our error, too. */
static int check_error(const struct json *answer, struct err *e)
{
	const struct json *error = json_get(answer, "error");

	if (!error)
		return OK;
	int64_t rc = json_get_int(error, "rc", E_IO);
	return err_set(e, rc < 0 ? (int)rc : E_IO, json_get_text(error, "code", "AGENT_TALK"), "%s",
		json_get_text(error, "text", "the supervisor refused"));
}

int agent_ask_status(struct sys *s, struct arena *a, struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = desk_connect();
	struct json *line = json_new(a, JSON_OBJECT);

	if (fd < 0)
		return nobody(e);
	json_sets(a, line, "ask", "status");
	int rc = talk_send(fd, a, line, NULL, e);
	if (rc == OK)
		rc = talk_receive(s, fd, a, 0, ret, NULL, NULL, e);
	return rc ? rc : check_error(*ret, e);
}

/* Signals that a person or a client sends to what runs. */
static int hear_signals(void)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		sigaddset(&set, passed[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Until there is an answer, signals that reach us go on to what runs. */
static void wait_for_answer(struct sys *s, int conn, int signals)
{
	for (;;) {
		struct pollfd p[] = { { conn, POLLIN, 0 }, { signals, POLLIN, 0 } };
		struct signalfd_siginfo info;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[0].revents)
			return;
		if (p[1].revents && s->read(s, signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			uint8_t number = (uint8_t)info.ssi_signo;
			(void)fds_send(conn, (struct bytes){ &number, 1 }, NULL, 0);
		}
	}
}

/* What runs outside in our place has our streams. */
static int ask_with_streams(
	struct sys *s, struct arena *a, const struct json *line, int *ret_code, struct err *e)
{
	AUTO(close_fd) int fd = desk_connect();
	struct json *answer;
	const int streams[] = { 0, 1, 2 };

	if (fd < 0)
		return nobody(e);
	AUTO(close_fd) int signals = hear_signals();
	int rc = talk_send(fd, a, line, streams, e);
	if (rc == OK) {
		wait_for_answer(s, fd, signals);
		rc = talk_receive(s, fd, a, 0, &answer, NULL, NULL, e);
	}
	if (rc == OK)
		rc = check_error(answer, e);
	if (rc == OK)
		*ret_code = (int)json_get_int(answer, "exit_code", 1);
	return rc;
}

int agent_ask_outside(struct sys *s, struct arena *a, const char *id, int *ret_code, struct err *e)
{
	struct json *line = json_new(a, JSON_OBJECT);

	json_sets(a, line, "ask", "outside");
	json_sets(a, line, "id", id);
	return ask_with_streams(s, a, line, ret_code, e);
}

int agent_ask_gateway(
	struct sys *s, struct arena *a, const struct json *servers, int *ret_code, struct err *e)
{
	struct json *line = json_new(a, JSON_OBJECT);

	json_sets(a, line, "ask", "gateway");
	json_set(a, line, "servers", json_copy(a, servers));
	return ask_with_streams(s, a, line, ret_code, e);
}
