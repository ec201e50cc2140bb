/* parts.h — inside egress/: what the readers give and the door keeps about a connection. */
#ifndef EXECUTE_EGRESS_PARTS_H
#define EXECUTE_EGRESS_PARTS_H

#include "base/http.h"
#include "base/text.h"
#include "execute/egress/egress.h"

#include <sys/types.h>

struct egress_target {
	char host[EGRESS_HOST]; /* as egress_host() gives it */
	uint16_t port;
	bool is_address;
	uint8_t address[EGRESS_ADDRESS];
};

/* ---- socks.c: bytes read, 0: more must come, -1: refused ---- */

enum {
	SOCKS_OK = 0,
	SOCKS_FAILURE = 1,
	SOCKS_FORBIDDEN = 2,
	SOCKS_UNREACHABLE = 4,
	SOCKS_NO_SUCH_COMMAND = 7,
	SOCKS_NO_SUCH_ADDRESS = 8
};
int socks_greeting(const uint8_t *p, size_t n); /* n > 0 */
int socks_request(const uint8_t *p, size_t n, struct egress_target *ret, uint8_t *ret_code);

/* ---- hello.c ---- */

enum hello { HELLO_MORE, HELLO_PASS, HELLO_REFUSE };
/* May these first bytes of a client go to `host`?  PASS also for what is no TLS at all, or names nobody. */
enum hello hello_judge(const uint8_t *p, size_t n, const char *host);

/* ---- http.c ---- */

struct http_request {
	struct egress_target target;
	bool is_connect;
	int minor; /* of HTTP/1.x */
	const char *method, *path, *fields, *end; /* in the text that was read */
	size_t method_n, path_n;
	struct http_body body;
};

/* Length of the head, 0: more must come, -1: refused, for the reason in *ret_why. */
ssize_t http_request(const char *p, size_t n, struct http_request *ret, const char **ret_why);
void http_forward(struct buf *to, const struct http_request *r);
ssize_t http_answer(struct buf *to, const char *p, size_t n, bool *ret_is_last);

/* ---- resolve.c: names are looked up in threads, so that a slow one holds nobody ---- */

enum { MAX_ADDRESSES = 16 };
struct lookup {
	struct lookup *next;
	void *owner; /* NULL: nobody waits any more */
	char host[EGRESS_HOST];
	uint8_t addresses[MAX_ADDRESSES][EGRESS_ADDRESS];
	int n; /* how many, or -1 */
};
struct resolver;
struct resolver *resolver_new(egress_resolve *fn, void *arg);
int resolver_fd(const struct resolver *r); /* readable when one is done */
struct lookup *resolver_ask(struct resolver *r, void *owner, const char *host);
/* The next one that is done, whose owner may be gone; NULL: none.  The caller frees it. */
struct lookup *resolver_take(struct resolver *r);

/* ---- confine.c ---- */

/* No write, no program, no privilege from here on; as far as this kernel can. */
void egress_confine(void);

#endif
