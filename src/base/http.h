/* http.h — HTTP/1 as bytes, read in one way or refused: for whoever passes messages on, and for whoever answers them. */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include "base/text.h"

#include <sys/types.h>

struct http_field {
	const char *name, *value; /* in the text that was read */
	size_t name_n, value_n;
};

enum body_kind { BODY_NONE, BODY_LENGTH, BODY_CHUNKED };
struct http_body {
	enum body_kind kind;
	uint64_t left;
	unsigned digits;
	enum {
		CHUNK_SIZE,
		CHUNK_SIZE_LF,
		CHUNK_DATA,
		CHUNK_DATA_CR,
		CHUNK_DATA_LF,
		CHUNK_LAST_CR,
		CHUNK_LAST_LF
	} at;
};

/* The first line of a request, in the text that was read. */
struct http_first {
	const char *method, *target;
	size_t method_n, target_n;
	int minor; /* of HTTP/1.x */
};

bool http_is_token(const char *p, size_t n);
bool http_is_word(const char *p, size_t n, const char *word); /* in whatever case */

/* How long the head is, with its empty line; 0: not all of it is there; -1: it is none.  The bytes before `from` were looked at before. */
ssize_t http_head_length(const char *p, size_t n, size_t from);
/* The next line without its end; false at the empty one. */
bool http_next_line(const char **at, const char *end, const char **ret, size_t *ret_n);
/* False also at the end; a line that is no field leaves `*is_bad`. */
bool http_next_field(const char **at, const char *end, struct http_field *ret, bool *is_bad);
/* Does a Connection field name this one? */
bool http_is_nominated(const char *fields, const char *end, const char *name, size_t name_n);

/* Each gives NULL, or why the request is refused. */
const char *http_first_line(const char *p, size_t n, struct http_first *ret);
const char *http_framing(const char *fields, const char *end, int minor, struct http_body *ret);
/* The whole head of a request to a server of ours: its target is a path, and it names one host. */
const char *http_own_request(const char *p, size_t n, struct http_body *ret);

/* How many of these bytes belong to the body; -1: its frame is broken.  kind is BODY_NONE when it has ended. */
ssize_t http_body(struct http_body *b, const char *p, size_t n);

#endif
