/* manager.c — what a service manager is told, and what it asks for: ready, read everything again, about to end (sd_notify(3)).  Sockets that it has
 * opened are taken in listen.c. */
#include "base/text.h"
#include "serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* READY=1 and the like, where somebody listens (sd_notify(3)). */
void manager_tell(struct server *s, const char *state)
{
	const char *path = s->sys->getenv(s->sys, "NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	AUTO(close_fd) int fd = s->sys->datagram_local(s->sys);
	if (fd < 0)
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

struct watchdog manager_watchdog(struct server *s)
{
	const char *usec = s->sys->getenv(s->sys, "WATCHDOG_USEC"),
		   *pid = s->sys->getenv(s->sys, "WATCHDOG_PID");
	struct watchdog w = { 0 };
	int64_t period, whose;

	if (!usec || !text_int(usec, &period) || period <= 0 ||
		(pid && (!text_int(pid, &whose) || whose != getpid())))
		return w;
	w.every_us = period / 3 + 1;
	return w;
}

/* Workers that stand still while somebody waits for them are no sign of life. */
static void sign_of_life(struct server *s, struct watchdog *w)
{
	uint64_t taken = work_taken(s);

	if (work_waiting(s) == 0 || taken != w->taken)
		manager_tell(s, "WATCHDOG=1");
	w->taken = taken;
}

int manager_wait(struct server *s, struct watchdog *w, const sigset_t *mine)
{
	struct timespec most = { .tv_sec = w->every_us / 1000000, .tv_nsec = w->every_us % 1000000 * 1000 };
	int number;

	if (!w->every_us)
		return sigwaitinfo(mine, NULL);
	sign_of_life(s, w);
	while ((number = sigtimedwait(mine, NULL, &most)) < 0 && errno == EAGAIN)
		sign_of_life(s, w);
	return number;
}

/* Both are tried: a policy that cannot be used keeps nobody from another certificate. */
int server_reload(struct server *s, struct err *e)
{
	struct err why = { 0 };

	manager_tell(s, "RELOADING=1");
	int rc = policy_load(s, e);
	if (rc)
		log_line(s, "error", NULL, "the policy stays as it was: %s", e->text);
	else
		work_reloaded(s);
	if (rc == OK)
		log_line(s, "info", NULL, "the policy was loaded again");
	if (listen_reload(s, &why)) {
		log_line(s, "error", NULL, "the certificate stays as it was: %s", why.text);
		if (rc == OK)
			rc = err_set(e, why.rc, why.code, "%s", why.text);
	}
	manager_tell(s, "READY=1");
	return rc;
}
