/* manager.c — what a service manager is told, and what it asks for: ready, read everything again, about to end (sd_notify(3)).  Sockets that it has
 * opened are taken in listen.c. */
#include "serve/serve.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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

/* Both are tried: a policy that cannot be used keeps nobody from another certificate. */
int server_reload(struct server *s, struct err *e)
{
	struct err why = { 0 };

	manager_tell(s, "RELOADING=1");
	int rc = policy_load(s, e);
	if (rc)
		log_line(s, "error", NULL, "the policy stays as it was: %s", e->text);
	else
		log_line(s, "info", NULL, "the policy was loaded again");
	if (listen_reload(s, &why)) {
		log_line(s, "error", NULL, "the certificate stays as it was: %s", why.text);
		if (rc == OK)
			rc = err_set(e, why.rc, why.code, "%s", why.text);
	}
	manager_tell(s, "READY=1");
	return rc;
}
