/* feed.h — inside serve/: what is sent as it happens, text by text. */
#ifndef SERVE_FEED_H
#define SERVE_FEED_H

#include "serve/serve.h"

/* The beginning of a caller's own struct.  `more` writes into `text` what there is now; `may_listen` says whether the stream goes on, and is asked every time. */
struct feed {
	struct events stream;
	struct server *server;
	struct arena a; /* as long as the stream */
	struct arena out; /* of `text` */
	struct buf text;
	size_t sent;
	int64_t beat_us,
		asked_us; /* the last sign of life; when it was last read whether the caller still may */
	const char *key_id; /* of who listens; NULL: a key of the environment, or the socket */
	void (*more)(struct feed *f);
	bool (*may_listen)(struct feed *f);
	void (*gone)(struct feed *f); /* at its end; or NULL */
};
/* `size` bytes that begin with a feed; they are freed at its end. */
void *feed_new(struct call *c, size_t size, void (*more)(struct feed *f), bool (*may_listen)(struct feed *f));
/* By the key it came with. */
bool feed_by_key(struct feed *f);
void feed_start(struct call *c, struct feed *f);

#endif
