/* door.h — inside egress/: the door's process, and one connection in it. */
#ifndef EXECUTE_EGRESS_DOOR_H
#define EXECUTE_EGRESS_DOOR_H

#include "execute/egress/parts.h"

enum { HEAD_MOST = 32 << 10, CHUNK = 64 << 10 };

/* A connection goes through these in order; REFUSED and LINGER end it. */
enum stage {
	STAGE_GREET, /* the client has not said yet what it wants */
	STAGE_ASK, /* SOCKS: greeted, the request is to come */
	STAGE_RESOLVE,
	STAGE_CONNECT,
	STAGE_HELLO, /* connected; the client's first bytes are looked at before they are passed */
	STAGE_RELAY,
	STAGE_LINGER, /* an answer goes out, and what the client still says is thrown away */
	STAGE_DEAD
};
enum via { VIA_NONE, VIA_CONNECT, VIA_HTTP, VIA_SOCKS, VIA_COUNT };

struct link;
struct end {
	struct link *link;
	int fd; /* -1: none */
	uint32_t on; /* what epoll is asked for */
	bool is_known; /* to epoll */
};

/* Bytes lie in here without being copied into this process. */
struct pipe {
	int fds[2];
	struct pipe *next;
};

/* Bytes in one direction: read, and not yet written. */
struct flow {
	char *held;
	size_t held_n, held_at, cap;
	struct pipe *pipe; /* NULL: none is needed now */
	size_t piped; /* in it; behind what is held */
	bool is_ended, is_shut;
	uint64_t bytes;
};

struct link {
	struct link *next, *prev;
	struct arena a;
	struct end client, server;
	enum stage stage;
	enum via via;
	struct flow up, down; /* to the server; to the client */
	char *head; /* what was read and must be understood first: of the client, then of the server */
	size_t head_n;
	struct http_body body;
	bool is_answered; /* plain HTTP: the head of the answer has passed */
	struct egress_target target;
	const char *rule; /* that admits it */
	struct lookup *lookup;
	uint8_t addresses[MAX_ADDRESSES][EGRESS_ADDRESS];
	int address_n, address_at;
	char address[EGRESS_HOST]; /* that was tried last, or refused; "": none */
	bool is_refused;
	const char *reason; /* one word; NULL: nothing was asked yet */
	int64_t begun_us, begun_mono_us, deadline_us;
};

struct door {
	const struct egress_service *how;
	struct arena a; /* rules */
	struct egress_rules rules;
	const char *who;
	int epoll, listener;
	bool is_listening, is_over;
	struct resolver *resolver;
	struct link *links, *dead;
	size_t count, most;
	struct pipe *pipes; /* that nobody uses */
	size_t pipes_left; /* so many more may be made */
	int64_t now_us;
	char chunk[CHUNK];
};

/* ---- link.c: from the first byte to a connection ---- */

void link_greet(struct door *d, struct link *l);
void link_resolved(struct door *d, struct link *l, const struct lookup *found);
void link_connected(struct door *d, struct link *l); /* the server's socket says something about connect() */
void link_hello(struct door *d, struct link *l);
void link_timeout(struct door *d, struct link *l);

/* ---- flow.c ---- */

static inline bool flow_is_held(const struct flow *f)
{
	return f->held_n || f->piped;
}
void flow_done(struct door *d, struct flow *f); /* with the connection */
void flow_pipes_done(struct door *d);
void flow_hold(struct link *l, struct flow *f, const void *p, size_t n);
void flow_up(struct door *d, struct link *l);
void flow_down(struct door *d, struct link *l);
/* Write what is held; false: the other side is gone. */
bool flow_flush(struct flow *f, int to);

/* ---- door.c ---- */

void link_wait(struct door *d, struct link *l, int64_t ms); /* from now on */
void link_end(struct door *d, struct link *l);
/* Ask epoll for what this connection can do now. */
void link_watch(struct door *d, struct link *l);

#endif
