/* web.c — an upstream that is reached over HTTP: greeted, asked, one thread for each call that waits for it.
 *
 * Answers come as one JSON document or as events, of which the one with our id counts.  What proves who we are is read where a person said, each
 * time it is needed, and stands nowhere else; a token of client credentials is kept until it is over. */
#include "serve/web.h"
#include "serve/mcp/mcp.h"

#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MOST = 256, PAGES_MOST = 200, SECRET_BYTES = 64 << 10, TOKEN_S = 300 };

struct exchange {
	struct upstream *u;
	struct arena a;
	const struct json *row;
	struct snapshot *snap;
	int64_t timeout_ms;
	int *is_cancelled; /* or NULL */
	struct flight *f; /* what it is asked; or NULL */
	size_t heard; /* so much of the answer was listened to */
	int64_t asked; /* the number of what is to be answered */
};

static void exchange_done(struct exchange *x)
{
	snapshot_drop(x->u->g, x->snap);
	arena_done(&x->a);
}

static int exchange_begin(struct exchange *x, struct err *e)
{
	x->snap = snapshot_take(x->u->g);
	x->row = upstream_row(x->u, x->snap);
	return x->row ? OK : err_set(e, E_MISSING, "MCP_UNKNOWN", "server '%s' is not as it was", x->u->id);
}

/* ---- who we are ---- */

static int secret_of(struct exchange *x, const struct json *from, const char *env, const char *file,
	const char **ret, struct err *e)
{
	struct sys *s = x->u->g->server->sys;
	const char *name = json_get_text(from, env, NULL), *path = json_get_text(from, file, NULL);
	struct bytes text;

	*ret = NULL;
	if (name) {
		*ret = s->getenv(s, name);
		return *ret && **ret
			? OK
			: err_set(e, E_MISSING, "MCP_SECRET", "the variable %s is not set", name);
	}
	if (!path)
		return OK;
	int rc = file_read(s, &x->a, AT_FDCWD, path, SECRET_BYTES, FILE_FOLLOW, &text, e);
	if (rc)
		return rc;
	size_t n = text.n;
	while (n && strchr("\r\n \t", (char)text.p[n - 1]))
		n--;
	*ret = arena_strndup(&x->a, (const char *)text.p, n);
	return OK;
}

/* What stands between & and = of a form. */
static const char *form_text(struct arena *a, const char *text)
{
	struct buf to;

	buf_init(&to, a);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *p))
			buf_addc(&to, (char)*p);
		else
			buf_addf(&to, "%%%02X", *p);
	return to.p;
}

static int ask_token(struct exchange *x, const struct json *oauth, struct err *e)
{
	struct upstream *u = x->u;
	struct sys *s = u->g->server->sys;
	const char *secret, *scope = json_get_text(oauth, "scope", NULL);
	struct web_answer said = { 0 };
	struct json *doc;
	int rc = secret_of(x, oauth, "client_secret_env", "client_secret_file", &secret, e);

	if (rc)
		return rc;
	const char *form = arena_printf(&x->a,
		"grant_type=client_credentials&client_id=%s&client_secret=%s&resource=%s%s%s",
		form_text(&x->a, json_get_text(oauth, "client_id", "")),
		form_text(&x->a, secret ? secret : ""), form_text(&x->a, json_get_text(x->row, "url", "")),
		scope ? "&scope=" : "", scope ? form_text(&x->a, scope) : "");
	const struct web_ask q = { .url = json_get_text(oauth, "token_url", ""),
		.ca_file = json_get_text(x->row, "ca_file", NULL),
		.body = bytes_of(form),
		.type = "application/x-www-form-urlencoded",
		.timeout_ms = x->timeout_ms };
	rc = web_ask(&x->a, &q, &said, e);
	if (rc)
		return err_wrap(e, "no token for '%s'", u->id);
	if (said.status != 200 || json_parse(&x->a, said.body, "token", NULL, &doc, NULL) ||
		!json_get_text(doc, "access_token", NULL))
		return err_set(e, E_DENIED, "MCP_TOKEN", "no token for '%s': the address answers %d", u->id,
			said.status);
	int64_t lasts = json_get_int(doc, "expires_in", TOKEN_S);
	pthread_mutex_lock(&u->lock);
	free(u->token);
	u->token = strdup(json_get_text(doc, "access_token", ""));
	u->token_until_us = s->mono_us(s) + (lasts > 60 ? lasts - 30 : lasts / 2) * 1000000;
	pthread_mutex_unlock(&u->lock);
	return OK;
}

static int token_of(struct exchange *x, const char **ret, struct err *e)
{
	struct upstream *u = x->u;
	struct sys *s = u->g->server->sys;
	const struct json *oauth = json_get(x->row, "oauth");
	int rc = OK;

	if (!oauth)
		return secret_of(x, x->row, "bearer_env", "bearer_file", ret, e);
	pthread_mutex_lock(&u->lock);
	bool is_fresh = u->token && s->mono_us(s) < u->token_until_us;
	pthread_mutex_unlock(&u->lock);
	if (!is_fresh)
		rc = ask_token(x, oauth, e);
	pthread_mutex_lock(&u->lock);
	*ret = u->token ? arena_strdup(&x->a, u->token) : NULL;
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* ---- one message there, one back ---- */

static void add_data(struct buf *data, struct bytes line)
{
	const char *s = (const char *)line.p;

	if (line.n <= 5 || memcmp(s, "data:", 5) != 0)
		return;
	size_t skip = s[5] == ' ' ? 6 : 5;
	if (data->n)
		buf_addc(data, '\n');
	buf_add(data, s + skip, line.n - skip);
}

/* Of the events, the data of the one that answers. */
static bool read_events(struct arena *a, struct bytes text, const struct json *id, struct rpc *ret)
{
	struct bytes rest = text;
	struct buf data;

	buf_init(&data, a);
	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		add_data(&data, line);
		if ((!line.n || !rest.p) && data.n) {
			rpc_read(a, buf_bytes(&data), ret);
			if (ret->kind == RPC_RESPONSE && json_eq(ret->id, id))
				return true;
			buf_init(&data, a);
		}
	}
	return false;
}

/* Events that are complete, as they come: what it says meanwhile is told.  True: this one answers; what answers is read at the end. */
static bool hear_event(struct exchange *x, struct bytes event)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes rest = event;
	struct buf data;
	struct rpc m;
	int64_t id;

	buf_init(&data, &a);
	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		add_data(&data, line);
	}
	if (!data.n)
		return false;
	rpc_read(&a, buf_bytes(&data), &m);
	if (m.kind == RPC_NOTIFICATION && x->f)
		upstream_said(x->u, &a, &m, x->f);
	else if (m.kind == RPC_REQUEST && x->f)
		question_heard(x->u, buf_bytes(&data), &m, x->f);
	return m.kind == RPC_RESPONSE && json_int(m.id, &id) && id == x->asked;
}

/* A server may leave the stream open behind its answer: nobody waits for its end. */
static bool hear_more(void *arg, struct bytes so_far)
{
	struct exchange *x = arg;
	const char *p = (const char *)so_far.p;

	for (size_t at = x->heard; at < so_far.n; at++) {
		bool is_end = p[at] == '\n' && at > x->heard &&
			(p[at - 1] == '\n' || (p[at - 1] == '\r' && at > x->heard + 1 && p[at - 2] == '\n'));
		if (!is_end)
			continue;
		bool is_answer = hear_event(x, (struct bytes){ so_far.p + x->heard, at - x->heard });
		x->heard = at + 1;
		if (is_answer)
			return true;
	}
	return false;
}

/* By its number the server says how far it is. */
static void begin_flight(struct exchange *x, int64_t id, struct json *params)
{
	struct json *meta = json_get(params, "_meta");

	x->f->upstream_id = id;
	if (!x->f->progress_token)
		return;
	if (!meta) {
		meta = json_new(&x->a, JSON_OBJECT);
		json_set(&x->a, params, "_meta", meta);
	}
	json_seti(&x->a, meta, "progressToken", id);
}

static const char *expanded(struct exchange *x, const char *text)
{
	return mcp_expanded(x->u->g->server->sys, &x->a, text);
}

static size_t add_headers(struct exchange *x, struct web_ask *q)
{
	struct upstream *u = x->u;

	q->headers[q->header_count++] = "Accept: application/json, text/event-stream";
	pthread_mutex_lock(&u->lock);
	if (u->session[0])
		q->headers[q->header_count++] = arena_printf(&x->a, "Mcp-Session-Id: %s", u->session);
	if (u->version[0])
		q->headers[q->header_count++] = arena_printf(&x->a, "Mcp-Protocol-Version: %s", u->version);
	pthread_mutex_unlock(&u->lock);
	json_each_member (m, json_get(x->row, "headers"))
		if (q->header_count < WEB_HEADERS && json_text(m->value))
			q->headers[q->header_count++] =
				arena_printf(&x->a, "%s: %s", m->name, expanded(x, json_text(m->value)));
	return q->header_count;
}

static int tell(struct exchange *x, const struct json *message, struct web_answer *said, struct err *e)
{
	const char *token;
	struct buf text;
	int rc = token_of(x, &token, e);

	if (rc)
		return rc;
	buf_init(&text, &x->a);
	json_write(&text, message, 0);
	x->heard = 0;
	struct web_ask q = { .url = expanded(x, json_get_text(x->row, "url", "")),
		.ca_file = json_get_text(x->row, "ca_file", NULL),
		.token = token,
		.body = buf_bytes(&text),
		.timeout_ms = x->timeout_ms,
		.most_bytes = MCP_LINE_MOST,
		.is_cancelled = x->is_cancelled,
		.heard = hear_more,
		.heard_arg = x };
	(void)add_headers(x, &q);
	return web_ask(&x->a, &q, said, e);
}

static int ask(struct exchange *x, const char *method, struct json *params, struct rpc *ret,
	struct web_answer *said, struct err *e)
{
	int64_t id = upstream_next_id(x->u);
	if (x->f)
		begin_flight(x, id, params);
	struct json *message = rpc_request(&x->a, id, method, params);
	x->asked = id;
	int rc = tell(x, message, said, e);

	if (rc)
		return rc;
	if (said->type && strncasecmp(said->type, "text/event-stream", strlen("text/event-stream")) == 0) {
		if (read_events(&x->a, said->body, json_get(message, "id"), ret))
			return OK;
		return err_set(e, E_INPUT, "MCP_ANSWER", "its events hold no answer");
	}
	rpc_read(&x->a, said->body, ret);
	if (ret->kind == RPC_RESPONSE && json_eq(ret->id, json_get(message, "id")))
		return OK;
	return err_set(e, E_INPUT, "MCP_ANSWER", "it answers %d, and nothing of the protocol", said->status);
}

/* ---- the greeting ---- */

static int list_tools(struct exchange *x, struct offer *o, struct err *e)
{
	const char *cursor = NULL;

	for (int page = 0; page < PAGES_MOST; page++) {
		struct json *params = json_new(&x->a, JSON_OBJECT);
		struct web_answer said;
		struct rpc m;
		if (cursor)
			json_sets(&x->a, params, "cursor", cursor);
		int rc = ask(x, "tools/list", params, &m, &said, e);
		if (rc)
			return rc;
		if (m.error)
			return err_set(e, E_INPUT, "MCP_ANSWER", "it does not list its tools: %.200s",
				json_get_text(m.error, "message", ""));
		if (!offer_add(o, m.result))
			break;
		cursor = json_get_text(m.result, "nextCursor", NULL);
		if (!cursor || !*cursor)
			return OK;
	}
	return err_set(e, E_LIMIT, "MCP_TOOLS", "it lists more tools than are looked at");
}

static int greet(struct exchange *x, struct offer *o, struct err *e)
{
	struct upstream *u = x->u;
	struct web_answer said = { 0 };
	struct rpc m;

	pthread_mutex_lock(&u->lock);
	u->session[0] = u->version[0] = '\0';
	pthread_mutex_unlock(&u->lock);
	int rc = ask(x, "initialize", upstream_hello(&x->a, x->row), &m, &said, e);
	if (rc)
		return rc;
	if (m.error)
		return err_set(e, E_INPUT, "MCP_ANSWER", "it answers the greeting with an error: %.200s",
			json_get_text(m.error, "message", ""));
	pthread_mutex_lock(&u->lock);
	snprintf(u->session, sizeof(u->session), "%s", said.session ? said.session : "");
	snprintf(u->version, sizeof(u->version), "%.15s",
		json_get_text(m.result, "protocolVersion", MCP_LATEST));
	pthread_mutex_unlock(&u->lock);
	o->capabilities = json_copy(&o->a, json_get(m.result, "capabilities"));
	o->name = arena_strdup(&o->a, json_get_text(json_get(m.result, "serverInfo"), "name", ""));
	o->version = arena_strdup(&o->a, json_get_text(json_get(m.result, "serverInfo"), "version", ""));
	rc = tell(x, rpc_notification(&x->a, "notifications/initialized", NULL), &said, e);
	return rc || !json_get(o->capabilities, "tools") ? rc : list_tools(x, o, e);
}

/* Of one that was greeted: in the session that there is, or else in a new one. */
static int list_again(struct exchange *x, struct offer *o, struct err *e)
{
	struct upstream *u = x->u;

	pthread_mutex_lock(&u->lock);
	o->capabilities = json_copy(&o->a, u->offer->capabilities);
	o->name = arena_strdup(&o->a, u->offer->name);
	o->version = arena_strdup(&o->a, u->offer->version);
	pthread_mutex_unlock(&u->lock);
	if (!json_get(o->capabilities, "tools") || list_tools(x, o, e) == OK)
		return OK;
	*e = (struct err){ 0 };
	o->tools = json_new(&o->a, JSON_ARRAY);
	return greet(x, o, e);
}

void *upstream_web(void *arg)
{
	struct upstream *u = arg;
	struct exchange x = { .u = u };
	struct offer *o = offer_new();
	struct err e = { 0 };
	int rc = exchange_begin(&x, &e);

	pthread_mutex_lock(&u->lock);
	bool is_known = u->must_list && u->offer;
	pthread_mutex_unlock(&u->lock);
	x.timeout_ms = json_get_int(x.row, "start_s", MCP_START_S) * 1000;
	if (rc == OK)
		rc = is_known ? list_again(&x, o, &e) : greet(&x, o, &e);
	exchange_done(&x);
	if (rc) {
		offer_drop(u, o);
		upstream_has_failed(u, e.text);
		return NULL;
	}
	pthread_mutex_lock(&u->lock);
	u->threads++;
	u->has_thread = false;
	o->refs++;
	pthread_mutex_unlock(&u->lock);
	upstream_is_ready(u, o);
	upstream_keep(u, o);
	offer_drop(u, o);
	pthread_mutex_lock(&u->lock);
	u->threads--;
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

/* ---- calls ---- */

struct sent {
	struct upstream *u;
	struct flight *f;
};

/* A session that it does not know any more is begun anew, by whoever asks next. */
static void forget_session(struct upstream *u)
{
	pthread_mutex_lock(&u->lock);
	if (u->state == UP_READY)
		u->state = UP_IDLE;
	pthread_mutex_unlock(&u->lock);
}

static const char *call_it(struct exchange *x, struct flight *f, struct err *e)
{
	struct web_answer said = { 0 };
	struct rpc m;
	int rc = exchange_begin(x, e);

	/* A person may be asked meanwhile. */
	bool asks = is_passed(x->row, "sampling") || is_passed(x->row, "elicitation");
	x->timeout_ms = f->timeout_us / 1000 + (asks ? MCP_ASK_S * 1000 : 0);
	x->is_cancelled = &f->is_cancelled;
	x->f = f;
	if (rc == OK)
		rc = ask(x, f->method, json_copy(&x->a, f->params), &m, &said, e);
	if (said.status == 404)
		forget_session(x->u);
	if (rc)
		return __atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST) ? "cancelled"
			: text_eq(e->code, "WEB_TIMEOUT")		   ? "timeout"
									   : e->text;
	f->result = m.result ? json_copy(&f->a, m.result) : NULL;
	f->error = m.error ? json_copy(&f->a, m.error) : NULL;
	f->result_bytes = said.body.n;
	return NULL;
}

static void *be_call(void *arg)
{
	struct sent sent = *(struct sent *)arg;
	struct exchange x = { .u = sent.u };
	struct err e = { 0 };

	free(arg);
	const char *trouble = call_it(&x, sent.f, &e);
	exchange_done(&x);
	flight_back(sent.f, trouble);
	pthread_mutex_lock(&sent.u->lock);
	sent.u->threads--;
	pthread_mutex_unlock(&sent.u->lock);
	return NULL;
}

/* A thread that `u` counts, without signals: they are the main thread's.  False: there are too many. */
static bool start_counted(struct upstream *u, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	pthread_t thread;

	pthread_mutex_lock(&u->lock);
	bool is_full = u->threads >= CALLS_MOST;
	u->threads += !is_full;
	pthread_mutex_unlock(&u->lock);
	if (is_full)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool is_there = pthread_create(&thread, NULL, fn, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (is_there) {
		pthread_detach(thread);
		return true;
	}
	pthread_mutex_lock(&u->lock);
	u->threads--;
	pthread_mutex_unlock(&u->lock);
	return false;
}

void upstream_send_web(struct upstream *u, struct flight *f)
{
	struct sent *sent = malloc(sizeof(*sent));

	if (!sent)
		mem_exhausted(0);
	*sent = (struct sent){ u, f };
	if (start_counted(u, be_call, sent))
		return;
	free(sent);
	flight_back(f, "too many calls wait for it");
}

/* ---- answers to what it asked ---- */

struct said {
	struct upstream *u;
	size_t n;
	char text[];
};

static void *be_saying(void *arg)
{
	struct said *said = arg;
	struct exchange x = { .u = said->u };
	struct web_answer answer = { 0 };
	struct json *message;
	struct err e = { 0 };
	int rc = exchange_begin(&x, &e);

	x.timeout_ms = MCP_TIMEOUT_S * 1000;
	if (rc == OK)
		rc = json_parse(&x.a, (struct bytes){ (const uint8_t *)said->text, said->n }, "answer", NULL,
			&message, &e);
	if (rc == OK)
		rc = tell(&x, message, &answer, &e);
	if (rc)
		log_line(said->u->g->server, "warning", NULL, "server '%s' could not be answered: %s",
			said->u->id, e.text);
	exchange_done(&x);
	pthread_mutex_lock(&said->u->lock);
	said->u->threads--;
	pthread_mutex_unlock(&said->u->lock);
	free(said);
	return NULL;
}

void upstream_say_web(struct upstream *u, struct bytes message)
{
	struct said *said = calloc(1, sizeof(*said) + message.n);

	if (!said)
		mem_exhausted(0);
	said->u = u;
	said->n = message.n;
	memcpy(said->text, message.p, message.n);
	if (!start_counted(u, be_saying, said))
		free(said);
}
