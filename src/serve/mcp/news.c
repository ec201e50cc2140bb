/* news.c — what servers say by themselves: progress, what they log, that something has changed.
 *
 * It goes to guests that wait for this server, or that watch what has changed; all of it is looked at like a result, and none of it may take
 * a place from an answer. */
#include "serve/mcp/mcp.h"

#include "base/text.h"

static const char *const levels[] = { "debug", "info", "notice", "warning", "error", "critical", "alert",
	"emergency" };
enum { GUESTS_AT_ONCE = 64 };

static int level_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (text_eq(levels[i], name))
			return (int)i;
	return -1;
}

/* ---- what is offered to a server ---- */

struct json *upstream_hello(struct arena *a, const struct json *row)
{
	static const char *const offered[] = { "sampling", "elicitation" };
	struct json *params = json_new(a, JSON_OBJECT), *info = json_new(a, JSON_OBJECT),
		    *capabilities = json_new(a, JSON_OBJECT);

	json_sets(a, info, "name", "helm");
	json_sets(a, info, "version", HELM_VERSION);
	json_sets(a, params, "protocolVersion", MCP_LATEST);
	/* Nothing but what a person let it ask; never roots. */
	for (size_t i = 0; i < ARRAY_SIZE(offered); i++)
		if (is_passed(row, offered[i]))
			json_set(a, capabilities, offered[i], json_new(a, JSON_OBJECT));
	json_set(a, params, "capabilities", capabilities);
	json_set(a, params, "clientInfo", info);
	return params;
}

/* ---- to whom ---- */

static void send(struct arena *a, struct flight *f, const char *method, struct json *params)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, rpc_notification(a, method, params), 0);
	f->send(f, buf_bytes(&text), false);
}

/* Its token is the number that the request had. */
static void pass_progress(struct upstream *u, struct arena *a, const struct json *params, struct flight *f)
{
	int64_t token;

	if (!f->progress_token || !json_int(json_get(params, "progressToken"), &token) ||
		token != f->upstream_id)
		return;
	struct json *told = progress_check(a, upstream_row(u, f->snap), params);
	json_set(a, told, "progressToken", json_copy(a, f->progress_token));
	send(a, f, "notifications/progress", told);
}

static void pass_log(struct upstream *u, struct arena *a, const struct json *params, struct flight *f)
{
	const struct json *row = upstream_row(u, f->snap);
	int level = level_of(json_get_text(params, "level", "")),
	    least = __atomic_load_n(&f->guest->level, __ATOMIC_RELAXED);

	if (level < least || f->is_stateless || !f->can_hear || !is_passed(row, "logging"))
		return;
	struct json *told = told_check(a, row, params);
	if (!told)
		return;
	json_sets(a, told, "level", levels[level]);
	json_sets(a, told, "logger", u->id);
	send(a, f, "notifications/message", told);
}

static void pass_to(struct upstream *u, struct arena *a, const struct rpc *m, struct flight *f)
{
	if (text_eq(m->method, "notifications/progress"))
		pass_progress(u, a, m->params, f);
	else
		pass_log(u, a, m->params, f);
}

/* One of each guest is enough for what it logs. */
static void pass_to_all(struct upstream *u, struct arena *a, const struct rpc *m)
{
	const struct guest *told[GUESTS_AT_ONCE];
	size_t n = 0;
	bool is_log = text_eq(m->method, "notifications/message");

	pthread_mutex_lock(&u->lock);
	for (struct flight *f = u->pending; f && n < GUESTS_AT_ONCE; f = f->next_pending) {
		bool is_new = true;
		for (size_t i = 0; i < n; i++)
			is_new &= told[i] != f->guest;
		if (is_new || !is_log)
			pass_to(u, a, m, f);
		if (is_new && is_log)
			told[n++] = f->guest;
	}
	pthread_mutex_unlock(&u->lock);
}

static void pass_change(struct upstream *u, const char *method, const char *word)
{
	struct snapshot *s = snapshot_take(u->g);
	bool is_wanted = is_passed(upstream_row(u, s), word);

	snapshot_drop(u->g, s);
	if (is_wanted)
		guests_tell(u->g, method);
}

void upstream_said(struct upstream *u, struct arena *a, const struct rpc *m, struct flight *f)
{
	if (text_eq(m->method, "notifications/progress") || text_eq(m->method, "notifications/message")) {
		if (f)
			pass_to(u, a, m, f);
		else
			pass_to_all(u, a, m);
	} else if (text_eq(m->method, "notifications/cancelled")) {
		question_dropped(u, json_get(m->params, "requestId"));
	} else if (text_eq(m->method, "notifications/resources/updated")) {
		pass_updated(u, m->params);
	} else if (text_eq(m->method, "notifications/resources/list_changed")) {
		pass_change(u, m->method, "resources");
	} else if (text_eq(m->method, "notifications/prompts/list_changed")) {
		pass_change(u, m->method, "prompts");
	}
}

/* ---- how much of it ---- */

static void tell_level(struct flight *f, struct upstream *u, int level)
{
	struct json *params = json_new(&f->a, JSON_OBJECT), *message;
	struct buf text;

	pthread_mutex_lock(&u->lock);
	bool is_there = u->state == UP_READY && json_get(u->offer->capabilities, "logging");
	pthread_mutex_unlock(&u->lock);
	if (!is_there)
		return;
	json_sets(&f->a, params, "level", levels[level]);
	message = rpc_request(&f->a, upstream_next_id(u), "logging/setLevel", params);
	buf_init(&text, &f->a);
	json_write(&text, message, 0);
	upstream_say(u, 0, buf_bytes(&text));
}

/* Servers are told, too, as far as they run and log at all; a guest hears no more than it asked for in any case. */
int step_level(struct flight *f, struct err *e)
{
	int level = level_of(json_get_text(f->rpc.params, "level", ""));

	(void)e;
	if (level < 0) {
		flight_refuse(f, RPC_BAD_PARAMS,
			"level is one of debug, info, notice, warning, error, critical, alert, emergency");
		return OK;
	}
	__atomic_store_n(&f->guest->level, level, __ATOMIC_RELAXED);
	json_each_member (m, f->snap ? json_get(f->snap->registry, "servers") : NULL)
		if (is_offered(f, m->name) && is_passed(m->value, "logging"))
			tell_level(f, upstream_get(f->g, m->name, m->value), level);
	flight_answer(f, json_new(&f->a, JSON_OBJECT));
	return OK;
}
