/* door.c — the door's process: one thread, one epoll, up to EGRESS_LINKS connections.
 *
 * Nothing here waits for anybody but in epoll_wait(): sockets do not block, names are looked up in threads (resolve.c), and a
 * connection that takes too long at any step is ended.  When all places are taken, the oldest connection that has been silent since it
 * came makes room; if there is none, new ones wait in the kernel's queue.
 *
 * For every connection one line goes into the pipe of records when it ends.  That write may block, and then everything stops: what
 * cannot be recorded does not happen. */
#include "execute/egress/door.h"

#include "base/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	GREET_MS = 30000,
	LOOK_MS = 1000,
	EVENTS = 256,
	OTHER_FDS = 64,
	MESSAGE_MOST = 64 << 10,
	SILENT_US = 500000
};

static int64_t clock_us(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- records ---- */

static const char *via_name(enum via via)
{
	static const char *const names[] = { "none", "connect", "http", "socks5" };
	TABLE_COVERS(names, VIA_COUNT);

	return names[via];
}

/* Into the link's own memory, which goes with it. */
static void put_record(struct door *d, struct link *l)
{
	struct json *row = json_new(&l->a, JSON_OBJECT);
	struct buf line;

	json_seti(&l->a, row, "at", l->begun_us);
	json_sets(&l->a, row, "host", l->target.host);
	json_seti(&l->a, row, "port", l->target.port);
	json_sets(&l->a, row, "address", l->address[0] ? l->address : NULL);
	json_sets(&l->a, row, "via", via_name(l->via));
	json_sets(&l->a, row, "verdict", l->is_refused ? "refused" : "admitted");
	json_sets(&l->a, row, "reason", l->reason);
	json_sets(&l->a, row, "rule", l->rule);
	json_seti(&l->a, row, "bytes_out", l->server.fd >= 0 ? (int64_t)l->up.bytes : 0);
	json_seti(&l->a, row, "bytes_in", (int64_t)l->down.bytes);
	json_seti(&l->a, row, "duration_ms", (clock_us(CLOCK_MONOTONIC) - l->begun_mono_us) / 1000);
	buf_init(&line, &l->a);
	json_write(&line, row, 0);
	buf_addc(&line, '\n');
	for (size_t done = 0; done < line.n;) {
		ssize_t n = write(d->how->records, line.p + done, line.n - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			d->is_over = true; /* nobody keeps the record any more */
			return;
		}
		done += (size_t)n;
	}
}

/* ---- connections ---- */

void link_wait(struct door *d, struct link *l, int64_t ms)
{
	l->deadline_us = d->now_us + ms * 1000;
}

/* It is taken apart after the round, because epoll may still name it in this one. */
void link_end(struct door *d, struct link *l)
{
	if (l->stage == STAGE_DEAD)
		return;
	l->stage = STAGE_DEAD;
	if (l->next)
		l->next->prev = l->prev;
	if (l->prev)
		l->prev->next = l->next;
	else
		d->links = l->next;
	d->count--;
	if (l->lookup)
		l->lookup->owner = NULL;
	if (l->reason)
		put_record(d, l);
	flow_done(d, &l->up);
	flow_done(d, &l->down);
	close_fd(&l->client.fd);
	close_fd(&l->server.fd);
	l->next = d->dead;
	d->dead = l;
}

static void bury(struct door *d)
{
	while (d->dead) {
		struct link *l = d->dead;
		d->dead = l->next;
		arena_done(&l->a);
		free(l);
	}
}

static void watch_end(struct door *d, struct end *x, uint32_t want, bool is_held)
{
	struct epoll_event ev = { .events = want, .data.ptr = x };

	if (x->fd < 0)
		return;
	/* Whoever has hung up while his last bytes still wait for the other side would be told all the time. */
	if (!want && is_held) {
		if (x->is_known)
			(void)epoll_ctl(d->epoll, EPOLL_CTL_DEL, x->fd, NULL);
		x->is_known = false;
		return;
	}
	if (x->is_known && x->on == want)
		return;
	(void)epoll_ctl(d->epoll, x->is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, x->fd, &ev);
	x->is_known = true;
	x->on = want;
}

void link_watch(struct door *d, struct link *l)
{
	bool is_connected = l->stage == STAGE_HELLO || l->stage == STAGE_RELAY;
	bool is_read = l->stage == STAGE_GREET || l->stage == STAGE_ASK || l->stage == STAGE_HELLO ||
		l->stage == STAGE_LINGER ||
		(l->stage == STAGE_RELAY && !l->up.is_ended && !flow_is_held(&l->up) &&
			!(l->via == VIA_HTTP && l->body.kind == BODY_NONE));
	uint32_t client = (is_read ? EPOLLIN : 0) | (flow_is_held(&l->down) ? EPOLLOUT : 0),
		 server = (l->stage == STAGE_CONNECT || (is_connected && flow_is_held(&l->up)) ? EPOLLOUT
											       : 0) |
		(is_connected && !l->down.is_ended && !flow_is_held(&l->down) ? EPOLLIN : 0);

	if (l->stage == STAGE_DEAD)
		return;
	watch_end(d, &l->client, client, flow_is_held(&l->up));
	watch_end(d, &l->server, server, flow_is_held(&l->down) || l->down.is_ended);
}

/* The answer goes out; what the client says meanwhile is thrown away, so that its end of the connection is not reset before it
 * has read the answer. */
static void linger(struct door *d, struct link *l)
{
	if (!flow_flush(&l->down, l->client.fd)) {
		link_end(d, l);
		return;
	}
	if (!l->down.held_n && !l->down.is_shut) {
		(void)shutdown(l->client.fd, SHUT_WR);
		l->down.is_shut = true;
	}
	for (int i = 0; i < 4; i++) {
		ssize_t n = read(l->client.fd, d->chunk, CHUNK);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			link_end(d, l);
			return;
		}
	}
}

static void on_client(struct door *d, struct link *l, uint32_t events)
{
	if (l->stage == STAGE_GREET || l->stage == STAGE_ASK)
		link_greet(d, l);
	else if (l->stage == STAGE_HELLO && events & EPOLLIN)
		link_hello(d, l);
	else if (l->stage == STAGE_RELAY && l->client.on & EPOLLIN && events & (EPOLLIN | EPOLLHUP))
		flow_up(d, l);
	else if (events & (EPOLLHUP | EPOLLERR) && l->stage != STAGE_LINGER)
		link_end(d, l);
	if (events & EPOLLOUT && (l->stage == STAGE_RELAY || l->stage == STAGE_HELLO))
		flow_down(d, l);
	if (l->stage == STAGE_LINGER)
		linger(d, l);
}

static void on_server(struct door *d, struct link *l, uint32_t events)
{
	if (l->stage == STAGE_CONNECT) {
		link_connected(d, l);
		return;
	}
	if (events & EPOLLOUT && l->stage == STAGE_RELAY)
		flow_up(d, l);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && (l->stage == STAGE_RELAY || l->stage == STAGE_HELLO))
		flow_down(d, l);
}

/* ---- what comes in ---- */

static void listen_for(struct door *d, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0, .data.ptr = &d->listener };

	if (d->listener >= 0 && d->is_listening != on)
		(void)epoll_ctl(d->epoll, EPOLL_CTL_MOD, d->listener, &ev);
	d->is_listening = on;
}

/* Links are in the order they came, the newest first.  Who came a moment ago may have spoken already. */
static struct link *oldest_silent(struct door *d)
{
	struct link *found = NULL;

	for (struct link *l = d->links; l; l = l->next)
		if (l->stage == STAGE_GREET && d->now_us - l->begun_mono_us >= SILENT_US)
			found = l;
	return found;
}

static void take_one(struct door *d, int fd)
{
	struct link *l = calloc(1, sizeof(*l));
	int on = 1;

	if (!l)
		mem_exhausted(sizeof(*l));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	l->client = (struct end){ .link = l, .fd = fd };
	l->server = (struct end){ .link = l, .fd = -1 };
	l->begun_us = clock_us(CLOCK_REALTIME);
	l->begun_mono_us = d->now_us;
	l->next = d->links;
	if (d->links)
		d->links->prev = l;
	d->links = l;
	d->count++;
	link_wait(d, l, d->how->greet_ms ? d->how->greet_ms : GREET_MS);
	link_watch(d, l);
}

static void take_new(struct door *d)
{
	for (int i = 0; i < 64; i++) {
		struct link *silent = d->count >= d->most ? oldest_silent(d) : NULL;
		if (d->count >= d->most && !silent) {
			listen_for(d, false);
			return;
		}
		int fd = accept4(d->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		if (silent)
			link_end(d, silent);
		take_one(d, fd);
	}
}

static void take_resolved(struct door *d)
{
	struct lookup *found;

	while ((found = resolver_take(d->resolver))) {
		struct link *l = found->owner;
		if (l) {
			link_resolved(d, l, found);
			if (l->stage == STAGE_LINGER)
				linger(d, l);
			link_watch(d, l);
		}
		free(found);
	}
}

/* "r" and lines "from TAB rule"; "w" and who refusals name. */
static void take_text(struct door *d, char *text)
{
	if (text[0] == 'w')
		d->who = arena_strdup(&d->a, text + 1);
	for (char *line = text[0] == 'r' ? text + 1 : NULL, *next; line && *line; line = next) {
		char *end = strchrnul(line, '\n'), *tab = strchr(line, '\t');
		next = *end ? end + 1 : end;
		*end = '\0';
		if (tab && tab < end) {
			*tab = '\0';
			(void)egress_add(&d->a, &d->rules, tab + 1, arena_strdup(&d->a, line), NULL);
		}
	}
}

static void take_listener(struct door *d, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &d->listener };

	if (d->listener >= 0) {
		close(fd);
		return;
	}
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	d->listener = fd;
	d->is_listening = true;
	(void)epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* One message of whoever started us.  One that was cut off could name more than was meant: it ends the door. */
static void take_control(struct door *d)
{
	char text[MESSAGE_MOST + 1];
	struct fds_got got;
	ssize_t n = fds_receive(d->how->control, text, MESSAGE_MOST, MSG_DONTWAIT, &got);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		d->is_over = true;
		return;
	}
	text[n] = '\0';
	if (got.fds[0] >= 0) {
		take_listener(d, got.fds[0]);
		got.fds[0] = -1;
	}
	fds_close(&got);
	take_text(d, text);
}

/* ---- the loop ---- */

static void check_deadlines(struct door *d)
{
	for (struct link *l = d->links, *next; l; l = next) {
		next = l->next;
		if (d->now_us < l->deadline_us)
			continue;
		link_timeout(d, l);
		if (l->stage == STAGE_LINGER)
			linger(d, l);
		link_watch(d, l);
	}
}

static void on_link(struct door *d, struct end *x, uint32_t events)
{
	struct link *l = x->link;
	uint64_t before = l->up.bytes + l->down.bytes;

	if (l->stage == STAGE_DEAD)
		return;
	if (x == &l->client)
		on_client(d, l, events);
	else
		on_server(d, l, events);
	if (l->stage == STAGE_LINGER && x != &l->client)
		linger(d, l);
	if ((l->stage == STAGE_RELAY || l->stage == STAGE_HELLO) && l->up.bytes + l->down.bytes != before)
		link_wait(d, l, d->how->idle_ms ? d->how->idle_ms : 600000);
	link_watch(d, l);
}

static void serve(struct door *d)
{
	struct epoll_event events[EVENTS];
	int64_t look_us = 0;

	while (!d->is_over) {
		int n = epoll_wait(d->epoll, events, EVENTS, LOOK_MS);
		d->now_us = clock_us(CLOCK_MONOTONIC);
		for (int i = 0; i < n && !d->is_over; i++) {
			void *what = events[i].data.ptr;
			if (what == &d->listener)
				take_new(d);
			else if (what == d->resolver)
				take_resolved(d);
			else if (what == d)
				take_control(d);
			else
				on_link(d, what, events[i].events);
		}
		if (d->now_us >= look_us) {
			check_deadlines(d);
			look_us = d->now_us + (int64_t)LOOK_MS * 1000 / 4;
			listen_for(d, true);
		}
		bury(d);
		if (d->count < d->most)
			listen_for(d, true);
	}
}

/* Two descriptors for each connection, fewer connections where the system gives fewer; what is left is for pipes. */
static void find_most(struct door *d)
{
	struct rlimit files = { OTHER_FDS + 2, OTHER_FDS + 2 };
	const rlim_t want = 6 * EGRESS_LINKS + OTHER_FDS;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < want) {
		files.rlim_cur = files.rlim_max < want ? files.rlim_max : want;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	size_t pairs = files.rlim_cur > OTHER_FDS + 2 ? (size_t)(files.rlim_cur - OTHER_FDS) / 2 : 1;
	d->most = pairs < EGRESS_LINKS ? pairs : EGRESS_LINKS;
	d->pipes_left = pairs - d->most;
}

int egress_serve(const struct egress_service *how, struct err *e)
{
	struct door *d = calloc(1, sizeof(*d));
	struct epoll_event ev = { .events = EPOLLIN };

	if (!d)
		mem_exhausted(sizeof(*d));
	*d = (struct door){ .how = how, .who = "this profile", .listener = -1 };
	find_most(d);
	if (!how->is_open)
		egress_confine();
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	d->resolver = resolver_new(how->resolve, how->arg);
	d->now_us = clock_us(CLOCK_MONOTONIC);
	ev.data.ptr = d->resolver;
	int rc = epoll_ctl(d->epoll, EPOLL_CTL_ADD, resolver_fd(d->resolver), &ev);
	ev.data.ptr = d;
	rc |= epoll_ctl(d->epoll, EPOLL_CTL_ADD, how->control, &ev);
	rc = rc ? err_sys(e, "EGRESS_SERVE", "the door cannot wait for connections") : OK;
	if (rc == OK)
		serve(d);
	while (d->links)
		link_end(d, d->links);
	bury(d);
	flow_pipes_done(d);
	close_fd(&d->listener);
	close_fd(&d->epoll);
	arena_done(&d->a);
	free(d); /* the resolver stays: one of its threads may be busy */
	return rc;
}
