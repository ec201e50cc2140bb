/* web.c — asking others over HTTP by libcurl: the only file that knows it.
 *
 * One question, one answer, within a time and a size.  No redirect is followed, no proxy is taken from the environment, certificates are
 * verified.  What comes back is bytes: whoever asked says what they may be. */
#include "serve/web.h"
#include "base/text.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

enum { SESSION = 257 };
struct taking {
	char *p;
	size_t n, most;
	bool is_too_much, is_all;
	bool is_head_over; /* the headers of an answer came whole */
	char session[SESSION];
	const struct web_ask *q;
};

/* Not in the arena: running out of it must not jump over the library. */
static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct taking *t = arg;

	n *= size;
	if (n > t->most - t->n) {
		t->is_too_much = true;
		return 0;
	}
	char *more = realloc(t->p, t->n + n + 1);
	if (!more)
		return 0;
	memcpy(more + t->n, data, n);
	t->p = more;
	t->n += n;
	t->is_all =
		t->q->heard && t->q->heard(t->q->heard_arg, (struct bytes){ (const uint8_t *)t->p, t->n });
	return t->is_all ? 0 : n;
}

/* "Name: value" and the end of the line. */
static size_t take_header(char *data, size_t size, size_t n, void *arg)
{
	static const char session[] = "mcp-session-id:";
	struct taking *t = arg;
	size_t all = size * n, skip = strlen(session);

	if (all >= 5 && memcmp(data, "HTTP/", 5) == 0)
		t->is_head_over = false; /* behind an interim answer another one begins */
	t->is_head_over |= (all == 1 && data[0] == '\n') || (all == 2 && memcmp(data, "\r\n", 2) == 0);
	if (all <= skip || strncasecmp(data, session, skip) != 0)
		return all;
	while (skip < all && data[skip] == ' ')
		skip++;
	size_t end = all;
	while (end > skip && strchr("\r\n ", data[end - 1]))
		end--;
	if (end - skip < SESSION) {
		memcpy(t->session, data + skip, end - skip);
		t->session[end - skip] = '\0';
	}
	return all;
}

/* Other than 0 ends it. */
static int look(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return __atomic_load_n((const int *)arg, __ATOMIC_SEQ_CST);
}

static void free_taking(struct taking *t)
{
	free(t->p);
}

static void free_list(struct curl_slist **l)
{
	curl_slist_free_all(*l);
}

static void free_easy(CURL **h)
{
	curl_easy_cleanup(*h);
}

int web_start(struct err *e)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) ? err_set(e, E_IO, "WEB_START", "libcurl does not start")
						     : OK;
}

static void set_up(CURL *h, const struct web_ask *q, struct curl_slist *headers, struct taking *t)
{
	curl_easy_setopt(h, CURLOPT_URL, q->url);
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_PROXY, "");
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)q->timeout_ms);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, t);
	if (q->is_cancelled) {
		curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, look);
		curl_easy_setopt(h, CURLOPT_XFERINFODATA, (void *)(uintptr_t)q->is_cancelled);
	}
	if (q->socket)
		curl_easy_setopt(h, CURLOPT_UNIX_SOCKET_PATH, q->socket);
	if (q->ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, q->ca_file);
	if (q->cert_file) {
		curl_easy_setopt(h, CURLOPT_SSLCERT, q->cert_file);
		curl_easy_setopt(h, CURLOPT_SSLKEY, q->key_file);
	}
	if (q->body.p) {
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, q->body.p);
	}
	if (q->method)
		curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, q->method);
}

/* In words, where the library has none of its own or says something else. */
static const char *what_happened(CURLcode code, bool has_head)
{
	if (code == CURLE_OK)
		return "the connection was closed inside the headers of the answer";
	if (has_head)
		return curl_easy_strerror(code);
	switch (code) {
	case CURLE_GOT_NOTHING:
		return "the connection was closed before an answer";
	case CURLE_UNSUPPORTED_PROTOCOL: /* the protocol of an answer: no other is ever asked for */
		return "the answer has no status line of HTTP";
	case CURLE_WEIRD_SERVER_REPLY:
		return "the headers of the answer cannot be read";
	default:
		return curl_easy_strerror(code);
	}
}

static int fault_of(CURLcode code, const struct taking *t, struct err *e)
{
	if (t->is_too_much)
		return err_set(e, E_LIMIT, "WEB_TOO_LARGE", "the answer is larger than %zu bytes", t->most);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return err_set(e, E_IO, "WEB_TIMEOUT", "there was no answer in time");
	return err_set(e, E_IO, "WEB_UNREACHABLE", "%s", what_happened(code, t->is_head_over));
}

int web_ask(struct arena *a, const struct web_ask *q, struct web_answer *ret, struct err *e)
{
	AUTO(free_taking) struct taking t = { .most = q->most_bytes ? q->most_bytes : 1 << 20, .q = q };
	AUTO(free_list) struct curl_slist *headers = NULL;
	AUTO(free_easy) CURL *h = curl_easy_init();
	long status = 0;

	if (!h)
		return err_set(e, E_IO, "WEB_START", "libcurl does not start");
	for (size_t i = 0; i < q->header_count; i++)
		headers = curl_slist_append(headers, q->headers[i]);
	if (q->token)
		headers = curl_slist_append(headers, arena_printf(a, "Authorization: Bearer %s", q->token));
	if (q->body.p)
		headers = curl_slist_append(
			headers, arena_printf(a, "Content-Type: %s", q->type ? q->type : "application/json"));
	set_up(h, q, headers, &t);
	CURLcode code = curl_easy_perform(h);
	/* The library takes a connection that is closed inside the headers for the end of them. */
	(void)curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	if ((code != CURLE_OK || !t.is_head_over || status < 200) && !t.is_all)
		return fault_of(code, &t, e);
	ret->status = (int)status;
	ret->body = (struct bytes){ (const uint8_t *)arena_strndup(a, t.p ? t.p : "", t.n), t.n };
	char *type = NULL;
	(void)curl_easy_getinfo(h, CURLINFO_CONTENT_TYPE, &type);
	ret->type = type ? arena_strdup(a, type) : NULL;
	ret->session = t.session[0] ? arena_strdup(a, t.session) : NULL;
	return OK;
}

/* ---- many at once ---- */

enum { POLL_MS = 1000, GONE_AT_ONCE = 64, BUFFER_BYTES = 32 << 10 };

struct posted {
	void (*fn)(void *);
	void *arg;
	struct posted *next;
};

struct web_loop {
	struct sys *sys;
	int64_t looked_us; /* when somebody was last looked for who has fallen silent */
	CURLM *multi;
	pthread_t thread;
	pthread_mutex_t lock;
	struct posted *first, **last; /* under the lock */
	bool is_over; /* the same */
	int watched; /* epoll over those who listen to us */
	void (*on_gone)(void *arg);
	void (*on_round)(void *arg);
	void *round_arg;
	struct web_transfer *transfers;
};

struct web_transfer {
	struct web_loop *l;
	CURL *h;
	struct curl_slist *headers;
	struct web_spec spec;
	bool has_begun, is_paused;
	int64_t heard_us;
	struct web_transfer *next, **self;
};

static void forget(struct web_transfer *t)
{
	(void)curl_multi_remove_handle(t->l->multi, t->h);
	curl_easy_cleanup(t->h);
	curl_slist_free_all(t->headers);
	*t->self = t->next;
	if (t->next)
		t->next->self = t->self;
	free(t);
}

/* One line of the head.  An interim answer (100, 103) is followed by another one. */
static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct web_transfer *t = arg;
	AUTO(arena_done) struct arena a = { 0 };
	long status = 0;

	n *= size;
	size_t length = n;
	while (length && strchr("\r\n", data[length - 1]))
		length--;
	(void)curl_easy_getinfo(t->h, CURLINFO_RESPONSE_CODE, &status);
	if (t->has_begun || status < 200)
		return n;
	if (!length) {
		t->has_begun = true;
		t->spec.begin(t->spec.arg, (int)status);
		return n;
	}
	struct bytes value = { (const uint8_t *)data, length }, name = text_cut(&value, ':');
	if (!value.p)
		return n; /* the line of the status */
	while (value.n && (*value.p == ' ' || *value.p == '\t'))
		value = (struct bytes){ value.p + 1, value.n - 1 };
	t->spec.header(t->spec.arg, arena_strndup(&a, (const char *)name.p, name.n),
		arena_strndup(&a, (const char *)value.p, value.n));
	return n;
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct web_transfer *t = arg;

	t->heard_us = t->l->sys->mono_us(t->l->sys);
	t->is_paused = !t->spec.data(t->spec.arg, (struct bytes){ (const uint8_t *)data, n * size });
	return t->is_paused ? CURL_WRITEFUNC_PAUSE : n * size;
}

static void prepare(struct web_transfer *t)
{
	const struct web_spec *q = &t->spec;
	CURL *h = t->h;

	curl_easy_setopt(h, CURLOPT_PRIVATE, t);
	curl_easy_setopt(h, CURLOPT_URL, q->url);
	curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_PROXY, "");
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(h, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(h, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, (long)q->connect_ms);
	/* Asked for plain, and decoded when it comes otherwise. */
	curl_easy_setopt(h, CURLOPT_ACCEPT_ENCODING, "identity");
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	if (q->ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, q->ca_file);
	if (q->body.p) {
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, q->body.p);
	}
	if (text_eq(q->method, "HEAD"))
		curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, q->method);
}

struct web_transfer *web_send(struct web_loop *l, const struct web_spec *spec)
{
	struct web_transfer *t = calloc(1, sizeof(*t));

	if (!t || !(t->h = curl_easy_init()))
		mem_exhausted(0);
	t->l = l;
	t->spec = *spec;
	t->heard_us = l->sys->mono_us(l->sys);
	for (size_t i = 0; spec->headers[i]; i++)
		t->headers = curl_slist_append(t->headers, spec->headers[i]);
	prepare(t);
	t->next = l->transfers;
	t->self = &l->transfers;
	if (t->next)
		t->next->self = &t->next;
	l->transfers = t;
	(void)curl_multi_add_handle(l->multi, t->h);
	return t;
}

void web_go_on(struct web_transfer *t)
{
	t->is_paused = false;
	t->heard_us = t->l->sys->mono_us(t->l->sys);
	(void)curl_easy_pause(t->h, CURLPAUSE_CONT);
}

void web_cancel(struct web_transfer *t)
{
	forget(t);
}

static void end_transfer(struct web_loop *l, CURLMsg *m)
{
	struct web_transfer *t = NULL;
	struct err e = { 0 };

	(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
	CURLcode code = m->data.result;
	struct web_spec spec = t->spec;
	bool has_begun = t->has_begun;
	long asked_bytes = 0;

	(void)l;
	(void)curl_easy_getinfo(m->easy_handle, CURLINFO_REQUEST_SIZE, &asked_bytes);
	forget(t);
	if (code == CURLE_OK && has_begun) {
		spec.end(spec.arg, NULL);
		return;
	}
	/* Who was asked may have done what it was asked for, whatever became of the answer. */
	(void)err_set(&e, E_IO,
		code == CURLE_OPERATION_TIMEDOUT       ? "WEB_TIMEOUT"
			: has_begun || asked_bytes > 0 ? "WEB_INCOMPLETE"
						       : "WEB_UNREACHABLE",
		"%s", what_happened(code, has_begun));
	spec.end(spec.arg, &e);
}

static _Thread_local struct web_loop *own_loop; /* that this thread runs */

/* Everything that was posted until now; false: it is over. */
static bool run_posted(struct web_loop *l)
{
	for (;;) {
		pthread_mutex_lock(&l->lock);
		struct posted *p = l->first;
		bool is_over = l->is_over;
		if (p && !(l->first = p->next))
			l->last = &l->first;
		pthread_mutex_unlock(&l->lock);
		if (!p)
			return !is_over;
		p->fn(p->arg);
		free(p);
	}
}

static bool has_posted(struct web_loop *l)
{
	pthread_mutex_lock(&l->lock);
	bool has = l->first != NULL;
	pthread_mutex_unlock(&l->lock);
	return has;
}

/* Once a second. */
static void look_who_is_silent(struct web_loop *l)
{
	int64_t now = l->sys->mono_us(l->sys);
	struct err e = { 0 };

	if (now - l->looked_us < 1000000)
		return;
	l->looked_us = now;
	for (struct web_transfer *t = l->transfers, *next; t; t = next) {
		struct web_spec spec = t->spec;
		next = t->next;
		if (t->is_paused || now - t->heard_us < spec.idle_s * 1000000)
			continue;
		forget(t);
		(void)err_set(&e, E_IO, "WEB_TIMEOUT", "nothing came for %lld s", (long long)spec.idle_s);
		spec.end(spec.arg, &e);
	}
}

static void look_who_is_gone(struct web_loop *l)
{
	struct epoll_event gone[GONE_AT_ONCE];
	int n = epoll_wait(l->watched, gone, GONE_AT_ONCE, 0);

	for (int i = 0; i < n; i++)
		l->on_gone(gone[i].data.ptr);
}

static void *be_loop(void *arg)
{
	struct web_loop *l = arg;
	int running, left;

	own_loop = l;
	while (run_posted(l)) {
		struct curl_waitfd more = { .fd = l->watched, .events = CURL_WAIT_POLLIN };
		CURLMsg *m;
		(void)curl_multi_perform(l->multi, &running);
		while ((m = curl_multi_info_read(l->multi, &left)))
			if (m->msg == CURLMSG_DONE)
				end_transfer(l, m);
		/* What these steps have left to be done by this very thread, before it waits. */
		if (!run_posted(l))
			break;
		if (l->on_round)
			l->on_round(l->round_arg);
		(void)curl_multi_poll(l->multi, &more, 1, has_posted(l) ? 0 : POLL_MS, NULL);
		look_who_is_gone(l);
		look_who_is_silent(l);
	}
	while (l->transfers)
		forget(l->transfers);
	return NULL;
}

void web_post(struct web_loop *l, void (*fn)(void *), void *arg)
{
	struct posted *p = calloc(1, sizeof(*p));

	if (!p)
		mem_exhausted(0);
	*p = (struct posted){ fn, arg, NULL };
	pthread_mutex_lock(&l->lock);
	*l->last = p;
	l->last = &p->next;
	pthread_mutex_unlock(&l->lock);
	if (own_loop != l) /* this thread looks before it waits */
		(void)curl_multi_wakeup(l->multi);
}

void web_watch(struct web_loop *l, int fd, void *arg)
{
	struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = arg };

	(void)epoll_ctl(l->watched, EPOLL_CTL_ADD, fd, &ev);
}

void web_unwatch(struct web_loop *l, int fd)
{
	(void)epoll_ctl(l->watched, EPOLL_CTL_DEL, fd, NULL);
}

void web_on_gone(struct web_loop *l, void (*fn)(void *arg))
{
	l->on_gone = fn;
}

void web_on_round(struct web_loop *l, void (*fn)(void *arg), void *arg)
{
	l->round_arg = arg;
	l->on_round = fn;
}

int web_loop_start(struct sys *s, struct web_loop **ret, struct err *e)
{
	struct web_loop *l = calloc(1, sizeof(*l));
	sigset_t all, old;

	if (!l)
		mem_exhausted(0);
	pthread_mutex_init(&l->lock, NULL);
	l->sys = s;
	l->last = &l->first;
	l->multi = curl_multi_init();
	l->watched = epoll_create1(EPOLL_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool is_there = l->multi && l->watched >= 0 && pthread_create(&l->thread, NULL, be_loop, l) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!is_there)
		return err_set(e, E_IO, "WEB_START", "libcurl does not start");
	*ret = l;
	return OK;
}

void web_loop_stop(struct web_loop *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->is_over = true;
	pthread_mutex_unlock(&l->lock);
	(void)curl_multi_wakeup(l->multi);
	pthread_join(l->thread, NULL);
	(void)curl_multi_cleanup(l->multi);
	close_fd(&l->watched);
	free(l);
}
