/* ask.c — for 'helm mcp show' and the like: start servers, say what they offer, end. */
#include "serve/mcp/mcp.h"

#include <stdio.h>

static void print(struct flight *f, struct bytes message, bool is_last)
{
	(void)f;
	(void)is_last;
	if (message.p)
		printf("%.*s\n", (int)message.n, (const char *)message.p);
	fflush(stdout);
}

int ask_serve(struct server *s, struct err *e)
{
	struct gateway *g = s->gateway;
	struct guest *u = guest_new(g, "user", "default", e);

	if (!u)
		return e->rc;
	struct flight *f = flight_new(u, BYTES_LITERAL("{}"), SCOPE_READ);
	f->step = step_ask;
	f->send = print;
	flight_go(f);
	pthread_mutex_lock(&g->lock);
	while (g->flights)
		pthread_cond_wait(&g->idle, &g->lock);
	pthread_mutex_unlock(&g->lock);
	return OK;
}
