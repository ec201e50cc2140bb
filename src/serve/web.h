/* web.h — inside serve/: asking others over HTTP. */
#ifndef SERVE_WEB_H
#define SERVE_WEB_H

#include "base/err.h"
#include "base/mem.h"

#include <stdint.h>

enum { WEB_HEADERS = 4 };
struct web_ask {
	const char *method; /* NULL: POST with a body, else GET */
	const char *url;
	const char *socket; /* of this machine, instead of the host in the url; or NULL */
	const char *ca_file; /* whose certificates count; NULL: those of the system */
	const char *cert_file, *key_file; /* who asks, in PEM; or NULL */
	const char *token; /* Authorization: Bearer; or NULL */
	const char *headers[WEB_HEADERS];
	size_t header_count;
	struct bytes body; /* JSON; p NULL: none */
	int64_t timeout_ms;
	size_t most_bytes; /* of the answer; 0: 1 MiB */
};
struct web_answer {
	int status;
	struct bytes body; /* with a NUL behind it */
};
/* Once, before the first question. */
int web_start(struct err *e);
/* OK for any status.  WEB_TIMEOUT, WEB_UNREACHABLE with E_IO, WEB_TOO_LARGE with E_LIMIT. */
int web_ask(struct arena *a, const struct web_ask *q, struct web_answer *ret, struct err *e);

#endif
