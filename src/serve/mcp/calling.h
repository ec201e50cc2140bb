/* calling.h — inside serve/mcp/: something that is asked, decided about, made and on record, whoever asks it of whom: a guest of a server (call.c, pass.c), or a
 * server of a guest (question.c). */
#ifndef SERVE_MCP_CALLING_H
#define SERVE_MCP_CALLING_H

#include "serve/mcp/mcp.h"

struct calling {
	const char *exposed, *server, *tool;
	const struct json *row; /* of the registry */
	const struct json *pinned; /* the approved tool; or NULL */
	const struct json *definition; /* by which it is checked */
	struct json *args;
	struct upstream *u;
	struct mcp_answer said;
	struct request *r;
	struct handling h;
	const char *grant; /* the observe grant by which it goes on; or NULL */
	int64_t wait_until_us, sent_us; /* of a person's answer; when it was sent */
	const char *approval; /* what is waited for */
	const char *method; /* of something else than a call of a tool: it is passed on as it is; or NULL */
	const char *principal; /* whose effect it is; NULL: the guest's */
	/* What came back, of which the outcome is on record, to whoever asked. */
	void (*tell)(struct flight *f, struct calling *c);
	/* Looks at what came back before its outcome is recorded, beside what is looked for in every result; or NULL. */
	void (*checked)(struct flight *f, const struct calling *c, struct json *about);
	void (*told)(struct flight *f, const struct calling *c); /* before that; or NULL */
};
/* c->r and c->h: decided, and on disk when it is OK.  `bad_args`: why the arguments are none; or NULL. */
int calling_decide(struct flight *f, struct calling *c, const char *bad_args, struct err *e);
/* It goes to the server after this step; calling_outcome() is the next one. */
void calling_dispatch(struct flight *f, struct calling *c);
int calling_outcome(struct flight *f, struct err *e);
/* The session has read something of this server. */
void calling_taint(struct flight *f, const struct calling *c);
/* For the report: a row of the decision, and with `outcome` one of how it ended. */
void calling_note(struct flight *f, const struct calling *c, const char *outcome, const char *digest);

/* pass.c: names of resources in a result, as guests know them. */
void pass_rename(struct flight *f, const struct calling *c);

#endif
