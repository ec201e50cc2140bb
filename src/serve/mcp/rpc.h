/* rpc.h — JSON-RPC 2.0 as the Model Context Protocol uses it: one message, one object. */
#ifndef SERVE_MCP_RPC_H
#define SERVE_MCP_RPC_H

#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_BAD_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_HEADERS = -32020, /* what the headers say is not what the body says */
	RPC_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE, RPC_BAD };
struct rpc {
	enum rpc_kind kind;
	struct json *id; /* of a request or response; text or number */
	const char *method; /* of a request or notification */
	struct json *params; /* object or NULL */
	struct json *result, *error; /* of a response: one of both */
	int code; /* of RPC_BAD */
	const char *why;
};
/* Never fails: what is no message is RPC_BAD, with its id where that can be seen.  The tree lives in `a`. */
void rpc_read(struct arena *a, struct bytes text, struct rpc *ret);

/* Whole messages.  `id` NULL: null, for who could not be understood. */
struct json *rpc_result(struct arena *a, const struct json *id, struct json *result);
struct json *rpc_error(struct arena *a, const struct json *id, int code, const char *text);
struct json *rpc_request(struct arena *a, int64_t id, const char *method, struct json *params);
struct json *rpc_notification(struct arena *a, const char *method, struct json *params);

/* ---- lines ---- */

/* Bytes in pieces, lines out.  A line that is longer than `most` is left out, and said to be. */
struct rpc_lines {
	char *p;
	size_t at, n; /* not given out yet */
	size_t room, most, looked; /* no line ends before `looked` */
	bool is_skipping;
};
void rpc_lines_put(struct rpc_lines *l, const void *from, size_t n);
enum rpc_line { RPC_NO_LINE, RPC_LINE, RPC_LONG_LINE };
/* The next whole line, without its end; valid until the next put.  An empty one is none. */
enum rpc_line rpc_lines_next(struct rpc_lines *l, struct bytes *ret);
bool rpc_lines_has_more(const struct rpc_lines *l); /* another whole line is here */
void rpc_lines_free(struct rpc_lines *l);

#endif
