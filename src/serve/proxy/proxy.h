/* proxy.h — the model proxy: between a program and the vendor of its model, so that every call of a tool is decided before the program sees it.
 *
 * How a request goes.  A worker reads it (request.c), asks the kernel whether it may be sent (forward.c; what it may cost is held, budget.c), and hands it
 * to the thread that talks to vendors (../web.c).  The answer comes back there (stream.c): text leaves at once; from the first piece of a call on everything is held
 * until a worker has decided (govern.c) and the receipt is on disk.  Then what is held leaves byte for byte, or an error that the client understands, or
 * the same answer without the call (forms: chat.c, responses.c, messages.c).  At the end the outcome is recorded, and what was held of a budget is settled.
 *
 * Nothing here decides: decide_tool() of ../http/ does, with the kernel of a worker. */
#ifndef SERVE_PROXY_PROXY_H
#define SERVE_PROXY_PROXY_H

#include "serve/serve.h"

struct proxy;
/* `doc` is the member "proxy" of the options (docs/formats/proxy.md).  E_USAGE names what is wrong. */
int proxy_start(struct server *s, const struct json *doc, struct err *e);
void proxy_quiesce(struct server *s); /* while there are workers: everything that was begun ends */
void proxy_stop(struct server *s);
/* The route of any path; never NULL. */
const struct route *proxy_route(const char *method, const char *path);
extern const struct route http_chat_routes[]; /* of `helm serve` */

#endif
