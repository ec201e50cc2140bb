/* resolve.c — names to addresses, in threads, so that a name whose server is slow holds nobody but who asked for it.
 *
 * getaddrinfo() can only be waited for.  Of the sources that it may have, the file of hosts and DNS are used: both are part of the
 * C library, and others would be loaded into a program that is linked to be whole.  Threads are started when there is work and none is idle, up to MAX_THREADS.  They touch nothing but the lookups they are given. */
#include "execute/egress/parts.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <nss.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MAX_THREADS = 16, STACK_BYTES = 512 << 10 };

struct resolver {
	egress_resolve *fn;
	void *arg;
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct lookup *waiting, **waiting_end, *done;
	int threads, idle;
};

/* TCP only, so that every address comes once. */
static int resolve_by_system(void *arg, const char *host, uint8_t (*ret)[EGRESS_ADDRESS], int most)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct addrinfo *list;
	int n = 0;

	(void)arg;
	if (getaddrinfo(host, NULL, &want, &list))
		return -1;
	for (const struct addrinfo *one = list; one && n < most; one = one->ai_next) {
		if (one->ai_family == AF_INET6) {
			memcpy(ret[n++], &((struct sockaddr_in6 *)one->ai_addr)->sin6_addr, EGRESS_ADDRESS);
		} else if (one->ai_family == AF_INET) {
			memset(ret[n], 0, 10);
			memset(ret[n] + 10, 0xff, 2);
			memcpy(ret[n++] + 12, &((struct sockaddr_in *)one->ai_addr)->sin_addr, 4);
		}
	}
	freeaddrinfo(list);
	return n;
}

static void *work(void *arg)
{
	struct resolver *r = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct lookup *l = r->waiting;
		if (!l) {
			r->idle++;
			pthread_cond_wait(&r->work, &r->lock);
			r->idle--;
			continue;
		}
		r->waiting = l->next;
		if (!r->waiting)
			r->waiting_end = &r->waiting;
		pthread_mutex_unlock(&r->lock);
		l->n = r->fn(r->arg, l->host, l->addresses, MAX_ADDRESSES);
		pthread_mutex_lock(&r->lock);
		l->next = r->done;
		r->done = l;
		(void)!write(r->fd, &one, sizeof(one));
	}
	return NULL;
}

struct resolver *resolver_new(egress_resolve *fn, void *arg)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (!r)
		mem_exhausted(sizeof(*r));
	*r = (struct resolver){ .fn = fn ? fn : resolve_by_system, .arg = arg };
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->waiting_end = &r->waiting;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	(void)__nss_configure_lookup("hosts", "files dns");
	return r;
}

int resolver_fd(const struct resolver *r)
{
	return r->fd;
}

/* When none can be started, those there are do it; without any, the lookup waits until its connection times out. */
static void start_thread(struct resolver *r)
{
	pthread_attr_t how;
	pthread_t thread;

	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_BYTES);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &how, work, r) == 0)
		r->threads++;
	pthread_attr_destroy(&how);
}

struct lookup *resolver_ask(struct resolver *r, void *owner, const char *host)
{
	struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		mem_exhausted(sizeof(*l));
	l->owner = owner;
	memcpy(l->host, host, strlen(host) + 1);
	pthread_mutex_lock(&r->lock);
	*r->waiting_end = l;
	r->waiting_end = &l->next;
	if (!r->idle && r->threads < MAX_THREADS)
		start_thread(r);
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
	return l;
}

struct lookup *resolver_take(struct resolver *r)
{
	uint64_t count;

	pthread_mutex_lock(&r->lock);
	struct lookup *l = r->done;
	if (l)
		r->done = l->next;
	else
		(void)!read(r->fd, &count, sizeof(count));
	pthread_mutex_unlock(&r->lock);
	return l;
}
