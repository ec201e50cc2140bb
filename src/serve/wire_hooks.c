/* wire_hooks.c — recv() and gnutls_record_recv() of helm-serve: what connections of its listeners receive is checked before the library has it (wire.c).
 *
 * The library is linked as it is, and offers no place between the socket and its parser.  Symbols of the program come before those of shared libraries, so these
 * two are what it calls; for every other descriptor they are what they were.  Where they are not called, wire_take() refuses every request. */
#include "serve/parts.h"
#include "serve/tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

#define SEEN_BY_LIBRARIES __attribute__((visibility("default")))

SEEN_BY_LIBRARIES ssize_t recv(int fd, void *to, size_t n, int flags);
SEEN_BY_LIBRARIES ssize_t gnutls_record_recv(struct gnutls_session_int *session, void *to, size_t n);

/* Nothing more comes of this connection; 0 ends it. */
static ssize_t refuse_plain(struct wire *w, int fd)
{
	char text[2048];
	size_t n = wire_refusal(w, text, sizeof(text));

	if (n) {
		(void)send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)shutdown(fd, SHUT_WR);
	}
	if (!wire_linger(w))
		return 0;
	errno = EAGAIN;
	return -1;
}

ssize_t recv(int fd, void *to, size_t n, int flags)
{
	struct wire *w = wire_of(fd, false);

	if (w && wire_is_refused(w))
		return refuse_plain(w, fd);
	ssize_t got = recvfrom(fd, to, n, flags, NULL, NULL);
	if (!w || got <= 0 || flags & MSG_PEEK)
		return got;
	size_t passed = wire_check(w, to, (size_t)got);
	return passed ? (ssize_t)passed : refuse_plain(w, fd);
}

ssize_t gnutls_record_recv(struct gnutls_session_int *session, void *to, size_t n)
{
	static tls_read *next;

	if (!__atomic_load_n(&next, __ATOMIC_ACQUIRE)) {
		void *found = dlsym(RTLD_NEXT, "gnutls_record_recv");
		if (!found)
			BUG("gnutls_record_recv");
		__atomic_store_n((void **)(void *)&next, found, __ATOMIC_RELEASE);
	}
	return tls_receive(session, to, n, next);
}
