/* feed.c — the ways to hear of receipts as they come (http/receipts.c, http/console_events.c, fleet/look_events.c) are one stream: a text is made, sent in as many turns as it takes, and then the
 * next is made.  Whoever may not listen any more hears nothing more. */
#include "serve/feed.h"

#include <stdlib.h>
#include <string.h>

static int64_t fill(struct events *s, char *to, size_t room)
{
	struct feed *f = (struct feed *)s;

	if (!f->may_listen(f))
		return -1;
	if (f->sent == f->text.n) {
		arena_reset(&f->out);
		buf_init(&f->text, &f->out);
		f->sent = 0;
		f->more(f);
	}
	size_t n = f->text.n - f->sent < room ? f->text.n - f->sent : room;
	memcpy(to, f->text.p + f->sent, n);
	f->sent += n;
	return (int64_t)n;
}

static void done(struct events *s)
{
	struct feed *f = (struct feed *)s;

	if (f->gone)
		f->gone(f);
	arena_done(&f->out);
	arena_done(&f->a);
	free(f);
}

bool feed_by_key(struct feed *f)
{
	return auth_still(f->server, f->key_id, SCOPE_READ, &f->asked_us);
}

void *feed_new(struct call *c, size_t size, void (*more)(struct feed *f), bool (*may_listen)(struct feed *f))
{
	struct feed *f = calloc(1, size);

	if (!f)
		mem_exhausted(0);
	f->stream = (struct events){ .fill = fill, .done = done };
	f->server = c->server;
	f->more = more;
	f->may_listen = may_listen;
	f->beat_us = f->asked_us = c->server->sys->mono_us(c->server->sys);
	f->key_id = c->who.key_id ? arena_strdup(&f->a, c->who.key_id) : NULL;
	buf_init(&f->text, &f->out);
	return f;
}

void feed_start(struct call *c, struct feed *f)
{
	call_stream(c, &f->stream);
}
