/* console.c — sessions of the console, and what a browser must bring.
 *
 * Against pages of others: the name in Host must be ours, so that a name that was made to point here opens nothing; whatever a cookie speaks
 * for must come from a page of this origin, as the browser itself says (Sec-Fetch-Site, Origin) and as only such a page can (X-Helm,
 * X-Helm-Page).  Only digests of cookies and words are kept. */
#include "serve/console.h"

#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/person.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	SESSIONS = 256,
	CHALLENGES = 256,
	RINGS = 32,
	TOKEN_BYTES = 32,
	OUTPUT_MOST = 32 << 20,
	ASK_MS = 60000
};
static const int64_t SECOND_US = 1000000;
static const char COOKIE[] = "__Host-helm";

struct session {
	uint8_t cookie[SHA256_SIZE], page[SHA256_SIZE];
	char label[128], key_id[128], invite[128];
	int64_t until_us;
	uint64_t number;
	bool is_open;
};
struct console {
	struct server *s;
	pthread_mutex_t lock;
	struct session sessions[SESSIONS];
	size_t next_session, next_challenge[RINGS];
	/* Those of strangers who want to come in have a ring of their own: however many they ask for, nobody's act is lost. */
	struct challenge {
		uint8_t b[32];
		int64_t until_us;
	} challenges
		[RINGS]
		[CHALLENGES]; /* of who is known; of who is not, by where they are: nobody uses up those of others */
	uint8_t link[SHA256_SIZE];
	int64_t link_until_us; /* 0: there is none, or it was used */
	const char *invite; /* whoever comes by the link may register a key under this name; or NULL */
	const char *origin; /* "https://console.example.com"; NULL: only names of loopback */
	const char *program; /* helm */
	const struct console_challenges *shared; /* or NULL */
};

struct console *console_new(struct server *s, const struct json *options)
{
	struct console *x = calloc(1, sizeof(*x));
	const char *link = json_get_text(options, "token_sha256", "");

	if (!x)
		mem_exhausted(0);
	x->s = s;
	pthread_mutex_init(&x->lock, NULL);
	x->origin = json_get_text(options, "origin", NULL);
	x->program = json_get_text(options, "program", "helm");
	x->invite = json_get_text(options, "invite", NULL);
	if (hex_decode(link, strlen(link), x->link, sizeof(x->link), true))
		x->link_until_us = json_get_int(options, "token_expires_us", 0);
	return x;
}

void console_free(struct console *x)
{
	free(x);
}

/* ---- paths, names and origins ---- */

bool console_is_api(const char *path)
{
	return text_starts(path, "/api/v1/console/");
}

bool console_is_path(const char *path)
{
	return text_eq(path, "/console") || text_starts(path, "/console/") || console_is_api(path);
}

/* "localhost:7714" without its port; NULL: it is no name with a port. */
static const char *name_of(struct arena *a, const char *host)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
	size_t n = end ? (size_t)(end + 1 - host) : strcspn(host, ":");

	if (!n || (host[n] && (host[n] != ':' || strspn(host + n + 1, "0123456789") != strlen(host + n + 1))))
		return NULL;
	return arena_strndup(a, host, n);
}

static bool is_near_name(const char *name)
{
	return text_eq(name, "localhost") || text_eq(name, "127.0.0.1") || text_eq(name, "[::1]");
}

/* ":7714". */
static const char *own_port(const struct server *s)
{
	const char *port = strrchr(s->base_url, ':');

	return port ? port : "";
}

/* The origin that a request was made to, when that is one of ours; NULL: it is not. */
const char *console_origin(struct call *c)
{
	const char *host = call_header(c, "Host"), *name = host ? name_of(c->a, host) : NULL;
	const char *own = c->server->console->origin,
		   *said = host ? arena_printf(c->a, "http%s://%s", c->peer.is_tls ? "s" : "", host) : NULL;

	if (!name)
		return NULL;
	if (own)
		return text_eq(said, own) ? own : NULL;
	/* The very port, too: a program that stands between a page and us under a port of its own has another origin, and so have the keys that are
	 * used there. */
	return is_near_name(name) && c->peer.is_loopback && text_eq(host + strlen(name), own_port(c->server))
		? said
		: NULL;
}

const char *console_rp_id(struct call *c)
{
	const char *origin = console_origin(c), *host = origin ? strstr(origin, "://") : NULL;

	return host ? name_of(c->a, host + strlen("://")) : NULL;
}

int console_check_host(struct call *c, struct err *e)
{
	if (console_origin(c))
		return OK;
	return call_refuse(c, e, 421, "MISDIRECTED",
		"the console is not offered under this name; it answers to localhost on this machine, and to the name of --origin");
}

/* A page of ours has asked for it.  Links and typed addresses open pages, not the API. */
int console_check_browser(struct call *c, struct err *e)
{
	const char *site = call_header(c, "Sec-Fetch-Site"), *origin = call_header(c, "Origin"),
		   *own = console_origin(c);
	bool writes = !text_eq(c->method, "GET") && !text_eq(c->method, "HEAD");

	if (!site || !text_eq(site, "same-origin"))
		return call_refuse(
			c, e, 403, "CROSS_SITE", "only a page of this console may ask this with a session");
	if ((origin || writes) && (!origin || !own || !text_eq(origin, own)))
		return call_refuse(c, e, 403, "CROSS_SITE", "the page that asks is not one of this console");
	if (writes && (!call_header(c, "X-Helm") || !text_eq(call_header(c, "X-Helm"), "1")))
		return call_refuse(c, e, 403, "CROSS_SITE", "X-Helm: 1 is missing");
	return OK;
}

/* ---- sessions ---- */

/* The value of our cookie; NULL: there is none. */
const char *console_cookie(const struct call *c)
{
	for (size_t i = 0; i < c->header_count; i++) {
		const char *at = strcasecmp(c->headers[i].name, "Cookie") == 0 ? c->headers[i].value : NULL;
		for (; at && *at; at += strcspn(at, ";"), at += strspn(at, "; "))
			if (text_starts(at, COOKIE) && at[strlen(COOKIE)] == '=')
				return arena_strndup(c->a, at + strlen(COOKIE) + 1,
					strcspn(at + strlen(COOKIE) + 1, "; "));
	}
	return NULL;
}

void console_set_cookie(struct call *c, const char *value, int64_t lasts_s)
{
	call_send_header(c, "Set-Cookie",
		arena_printf(c->a, "%s=%s; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=%lld", COOKIE,
			value, (long long)lasts_s));
}

bool console_has_cookie(const struct call *c)
{
	return console_is_api(c->path) && console_cookie(c) != NULL;
}

static bool is_same(const uint8_t *x, const uint8_t *y)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < SHA256_SIZE; i++)
		differ |= (unsigned char)(x[i] ^ y[i]);
	return !differ;
}

/* Under the lock.  A key that is no longer registered ends its sessions. */
static struct session *find(struct console *x, struct call *c)
{
	const char *cookie = console_cookie(c), *page = call_header(c, "X-Helm-Page");
	uint8_t digest[SHA256_SIZE], word[SHA256_SIZE];
	int64_t now = x->s->sys->now_us(x->s->sys);

	if (!cookie || !page)
		return NULL;
	sha256(cookie, strlen(cookie), digest);
	sha256(page, strlen(page), word);
	for (struct session *one = x->sessions; one < x->sessions + SESSIONS; one++)
		if (one->is_open && is_same(one->cookie, digest))
			return now < one->until_us && is_same(one->page, word) ? one : NULL;
	return NULL;
}

static bool is_registered(struct server *s, struct arena *a, const char *key_id)
{
	const char *label;
	struct err why = { 0 };
	bool is_known = false;

	return person_of_key(s->sys, a, key_id, &is_known, &label, &why) == OK && is_known;
}

bool console_session_of(struct call *c, struct console_session *ret)
{
	struct console *x = c->server->console;

	pthread_mutex_lock(&x->lock);
	const struct session *one = find(x, c);
	struct session copy = one ? *one : (struct session){ 0 };
	pthread_mutex_unlock(&x->lock);
	if (!one)
		return false;
	*ret = (struct console_session){ .label = copy.key_id[0] ? arena_strdup(c->a, copy.label) : NULL,
		.key_id = copy.key_id[0] ? arena_strdup(c->a, copy.key_id) : NULL,
		.may_register = copy.invite[0] ? arena_strdup(c->a, copy.invite) : NULL,
		.expires_us = copy.until_us,
		.number = copy.number };
	return !ret->key_id || is_registered(c->server, c->a, ret->key_id);
}

bool console_is_alive(struct server *s, uint64_t number, int64_t *asked_us)
{
	enum { KEY_S = 2 };
	AUTO(arena_done) struct arena a = { 0 };
	struct console *x = s->console;
	int64_t now = s->sys->mono_us(s->sys);

	pthread_mutex_lock(&x->lock);
	const struct session *one = &x->sessions[number % SESSIONS];
	bool is_alive = one->is_open && one->number == number && s->sys->now_us(s->sys) < one->until_us;
	const char *key_id = is_alive && one->key_id[0] ? arena_strdup(&a, one->key_id) : NULL;
	pthread_mutex_unlock(&x->lock);
	if (!key_id || now - *asked_us < KEY_S * SECOND_US)
		return is_alive;
	*asked_us = now;
	return is_registered(s, &a, key_id);
}

bool console_who(struct call *c, struct who *ret)
{
	struct console_session who;

	if (!console_is_api(c->path) || !console_session_of(c, &who))
		return false;
	*ret = (struct who){ who.label ? arena_printf(c->a, "person:%s", who.label) : "reader:console",
		auth_home_tenant(c->server), "console", SCOPE_READ };
	return true;
}

static int new_word(struct call *c, const char **ret, uint8_t ret_digest[SHA256_SIZE], struct err *e)
{
	uint8_t bytes[TOKEN_BYTES];

	if (c->server->sys->random(c->server->sys, bytes, sizeof(bytes)))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	*ret = base64_encode(c->a, bytes, sizeof(bytes), BASE64_URL, false);
	sha256(*ret, strlen(*ret), ret_digest);
	return OK;
}

static void keep(char *to, size_t n, const char *from)
{
	snprintf(to, n, "%s", from ? from : "");
}

int console_begin(struct call *c, const struct console_session *who, int64_t lasts_us, const char **ret_page,
	struct err *e)
{
	struct console *x = c->server->console;
	struct session one = { .is_open = true };
	const char *cookie;
	int rc = new_word(c, &cookie, one.cookie, e);

	if (rc == OK)
		rc = new_word(c, ret_page, one.page, e);
	if (rc)
		return rc;
	keep(one.label, sizeof(one.label), who->label);
	keep(one.key_id, sizeof(one.key_id), who->key_id);
	keep(one.invite, sizeof(one.invite), who->may_register);
	one.until_us = x->s->sys->now_us(x->s->sys) + lasts_us;
	pthread_mutex_lock(&x->lock);
	one.number = ++x->next_session;
	x->sessions[one.number % SESSIONS] = one;
	pthread_mutex_unlock(&x->lock);
	console_set_cookie(c, cookie, lasts_us / SECOND_US);
	return OK;
}

void console_end(struct call *c)
{
	struct console *x = c->server->console;

	pthread_mutex_lock(&x->lock);
	struct session *one = find(x, c);
	if (one)
		*one = (struct session){ 0 };
	pthread_mutex_unlock(&x->lock);
	console_set_cookie(c, "", 0);
}

void console_registered(struct call *c)
{
	struct console *x = c->server->console;

	pthread_mutex_lock(&x->lock);
	struct session *one = find(x, c);
	if (one)
		one->invite[0] = '\0';
	pthread_mutex_unlock(&x->lock);
}

/* ---- what counts once ---- */

bool console_take_link(struct call *c, const char *token, const char **ret_invite)
{
	struct console *x = c->server->console;
	uint8_t digest[SHA256_SIZE];
	int64_t now = x->s->sys->now_us(x->s->sys);

	sha256(token, strlen(token), digest);
	pthread_mutex_lock(&x->lock);
	bool is_it = x->link_until_us && now < x->link_until_us && is_same(digest, x->link);
	if (is_it)
		x->link_until_us = 0;
	pthread_mutex_unlock(&x->lock);
	*ret_invite = is_it ? x->invite : NULL;
	return is_it;
}

void console_share_challenges(struct server *s, const struct console_challenges *by)
{
	s->console->shared = by;
}

static size_t ring_of(const struct call *c)
{
	uint8_t digest[SHA256_SIZE];
	const char *from = c->peer.address ? c->peer.address : "";

	if (c->who.principal)
		return 0;
	sha256(from, strlen(from), digest);
	return 1 + digest[0] % (RINGS - 1);
}

int console_challenge(struct call *c, uint8_t ret[32], struct err *e)
{
	struct console *x = c->server->console;
	struct challenge one = { .until_us = x->s->sys->mono_us(x->s->sys) + 300 * SECOND_US };

	if (x->shared)
		return x->shared->make(c, ret, e);
	if (x->s->sys->random(x->s->sys, one.b, sizeof(one.b)))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	pthread_mutex_lock(&x->lock);
	size_t ring = ring_of(c);
	x->challenges[ring][x->next_challenge[ring]++ % CHALLENGES] = one;
	pthread_mutex_unlock(&x->lock);
	memcpy(ret, one.b, sizeof(one.b));
	return OK;
}

bool console_take_challenge(struct call *c, const uint8_t challenge[32])
{
	struct console *x = c->server->console;
	int64_t now = x->s->sys->mono_us(x->s->sys);
	bool is_there = false;

	if (x->shared)
		return x->shared->take(c, challenge);
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < ARRAY_SIZE(x->challenges) * CHALLENGES; i++) {
		struct challenge *one = &x->challenges[i / CHALLENGES][i % CHALLENGES];
		if (one->until_us <= now || !is_same(one->b, challenge))
			continue;
		is_there = true;
		*one = (struct challenge){ 0 };
	}
	pthread_mutex_unlock(&x->lock);
	return is_there;
}

/* ---- views that are a command's ---- */

int console_ask_helm(struct call *c, const char *const *words, struct bytes input, struct json **ret,
	int *ret_code, struct err *e)
{
	struct sys *s = c->server->sys;
	struct proc_output said;
	const char *argv[32] = { c->server->console->program };
	size_t n = 1;

	for (; *words && n < ARRAY_SIZE(argv) - 4; words++)
		argv[n++] = *words;
	argv[n++] = "--workspace";
	argv[n++] = c->server->ws->root;
	argv[n++] = "--json";
	argv[n] = NULL;
	const struct proc_spec spec = PROC_SPEC(argv);
	int rc = proc_capture(s, c->a, &spec, input, OUTPUT_MOST, ASK_MS, &said, e);
	if (rc)
		return rc;
	*ret_code = said.end.code;
	if (said.is_cut)
		return err_set(e, E_LIMIT, "CONSOLE_VIEW", "'helm %s' says more than can be shown", argv[1]);
	if (said.out.n)
		return json_parse(c->a, said.out, argv[1], NULL, ret, e);
	return err_set(e, E_IO, "CONSOLE_VIEW", "'helm %s %s' says nothing: %.200s", argv[1],
		argv[2] ? argv[2] : "", (const char *)said.err.p);
}

/* ---- files ---- */

void console_csv_cell(struct buf *to, const struct json *v)
{
	const char *text = json_text(v);

	if (json_is(v, JSON_NUMBER))
		text = v->text;
	buf_addc(to, '"');
	if (text && *text && strchr("=+-@\t\r", *text))
		buf_addc(to, '\'');
	for (; text && *text; text++) {
		if (*text == '"')
			buf_addc(to, '"');
		buf_addc(to, *text);
	}
	buf_addc(to, '"');
}
