/* console.h — inside serve/: who looks at the console, and whether a browser's request may be answered at all.
 *
 * The console is a page that reads; what it does goes through the kernel with a signature of a person's key.  A reader comes in by a
 * one-time link or with a registered key, and then has a session: a cookie, and beside it a word that only pages of this very origin know,
 * because cookies of one host are shared by all of its ports.  Sessions live in memory and end with the server. */
#ifndef SERVE_CONSOLE_H
#define SERVE_CONSOLE_H

#include "kernel/approval/approval.h"
#include "serve/serve.h"

struct console;
/* `options` is the member `console` of the server's options, or NULL: {origin, token_sha256, token_expires_us, invite}. */
struct console *console_new(struct server *s, const struct json *options);
void console_free(struct console *x);

/* A path of the console: its pages, or its part of the API. */
bool console_is_path(const char *path);
bool console_is_api(const char *path);
/* Was it asked for by a name of ours, and, when a cookie speaks for the caller, by one of our own pages?  421, 403. */
int console_check_host(struct call *c, struct err *e);
int console_check_browser(struct call *c, struct err *e);
/* Does the request bring a session that holds?  Then who it is. */
bool console_has_cookie(const struct call *c);
bool console_who(struct call *c, struct who *ret);

/* pages.c: the pages themselves, which hold no data; and the documents, where they are installed. */
int console_page(struct call *c, struct err *e);
int console_document(struct call *c, struct err *e);

/* The cookie of the console and its value, for whoever keeps sessions elsewhere than here; NULL: there is none. */
const char *console_cookie(const struct call *c);
void console_set_cookie(struct call *c, const char *value, int64_t lasts_s);

/* What a session is. */
struct console_session {
	const char *label, *key_id; /* NULL: by a link, and looks only */
	const char *may_register; /* the name under which one key may be registered; or NULL */
	int64_t expires_us;
	uint64_t number; /* of this server's sessions */
};
/* Does it go on?  For whoever listens longer than one request.  Whether its key is still registered is read every other second; *asked_us is
 * when that was read last. */
bool console_is_alive(struct server *s, uint64_t number, int64_t *asked_us);
bool console_session_of(struct call *c, struct console_session *ret);
/* The one-time link that the server was started with: true once. */
bool console_take_link(struct call *c, const char *token, const char **ret_invite);
/* A session begins: sets the cookie, *ret_page is what pages send beside it. */
int console_begin(struct call *c, const struct console_session *who, int64_t lasts_us, const char **ret_page,
	struct err *e);
void console_end(struct call *c);
/* The right to register is used up. */
void console_registered(struct call *c);

/* A challenge that counts once, within five minutes: made, and taken. */
int console_challenge(struct call *c, uint8_t ret[32], struct err *e);
bool console_take_challenge(struct call *c, const uint8_t challenge[32]);

/* Where any of several servers may take what another one has made: instead of those in memory.  Set before there are callers. */
struct console_challenges {
	int (*make)(struct call *c, uint8_t ret[32], struct err *e);
	bool (*take)(struct call *c, const uint8_t challenge[32]);
};
void console_share_challenges(struct server *s, const struct console_challenges *by);

/* Of the request: "http://localhost:7714", and the name that keys are bound to, "localhost". */
const char *console_origin(struct call *c);
const char *console_rp_id(struct call *c);

/* act.c: an act that a passkey signs, {act, at, nonce, ...} about one place, which `kind` and `place` name ("workspace" or "origin"); `nonce` counts once. */
enum { CONSOLE_REASON_MOST = 1000 };
int console_new_act(struct call *c, const char *verb, const char *kind, const char *place, struct json **ret,
	struct err *e);
/* The member `message` of the body: one of ours, of this verb, about this place, of the last minutes, and not shown before. */
int console_read_act(struct call *c, const char *verb, const char *kind, const char *place,
	struct bytes *ret_message, struct json **ret, struct err *e);
const char *console_reason(const struct json *doc); /* NULL: it is too long */
/* How far an answer reaches: this very call once, or whatever is alike for some hours. */
int console_read_terms(struct call *c, const struct json *request, struct approval_terms *ret, struct err *e);

/* One cell of a file for spreadsheets: quoted always; one that would be taken for a formula begins with an apostrophe. */
void console_csv_cell(struct buf *to, const struct json *v);

/* What a command of `helm` prints with --json, for views that are the same there; `words` ends in NULL.  `input` may be empty. */
int console_ask_helm(struct call *c, const char *const *words, struct bytes input, struct json **ret,
	int *ret_code, struct err *e);

#endif
