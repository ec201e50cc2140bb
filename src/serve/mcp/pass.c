/* pass.c — resources, prompts and completions of servers: passed on where a person let them, each decided about and on record like a call.
 *
 * Whose they are.  A gateway to one server gives names as that server does.  One to several gives prompts the names that tools have
 * ("SERVER__NAME"), and resources the address helm://SERVER/ADDRESS, so that what a guest names says whose it is.  A list of several servers is asked
 * of all of them at once, page after page, and answered in one piece; one that does not answer is left out. */
#include "serve/mcp/calling.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SCHEME "helm://"
enum { ROUNDS_MOST = 40, ITEMS_MOST = 4096, WATCHED_MOST = 1000 };

/* What a method is about, and by which member it names one of them. */
static const struct method {
	const char *name, *word;
	const char *list; /* of a list: the member of its result; NULL: it is about one */
} methods[] = {
	{ "resources/list", "resources", "resources" },
	{ "resources/templates/list", "resources", "resourceTemplates" },
	{ "resources/read", "resources", NULL },
	{ "resources/subscribe", "resources", NULL },
	{ "resources/unsubscribe", "resources", NULL },
	{ "prompts/list", "prompts", "prompts" },
	{ "prompts/get", "prompts", NULL },
	{ "completion/complete", "completions", NULL },
};

static const struct method *method_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (text_eq(methods[i].name, name))
			return &methods[i];
	return NULL;
}

bool is_passed(const struct json *row, const char *word)
{
	json_each (one, json_get(row, "passes"))
		if (json_text(one) && text_eq(json_text(one), word))
			return true;
	return false;
}

static bool is_passing(const struct flight *f, const struct json_member *m, const char *word)
{
	struct sys *s = f->g->server->sys;

	return is_offered(f, m->name) && is_passed(m->value, word) &&
		text_eq(mcp_state(m->value, s->now_us(s)), "approved");
}

static const struct json *servers_of(const struct flight *f)
{
	return f->snap ? json_get(f->snap->registry, "servers") : NULL;
}

bool some_pass(const struct flight *f, const char *word)
{
	json_each_member (m, servers_of(f))
		if (is_passing(f, m, word))
			return true;
	return false;
}

/* ---- names ---- */

static bool is_plain(const struct gateway *g)
{
	const struct json *only = json_get(g->o, "servers");

	return only && only->n == 1;
}

static const char *exposed_uri(const struct gateway *g, struct arena *a, const char *server, const char *uri)
{
	return is_plain(g) ? uri : arena_printf(a, SCHEME "%s/%s", server, uri);
}

/* Its own address, if it is one of this server; else NULL. */
static const char *own_uri(const struct flight *f, const char *server, const char *uri)
{
	size_t n = strlen(server);

	if (is_plain(f->g))
		return uri;
	if (!text_starts(uri, SCHEME) || strncmp(uri + strlen(SCHEME), server, n) != 0 ||
		uri[strlen(SCHEME) + n] != '/')
		return NULL;
	return uri + strlen(SCHEME) + n + 1;
}

static const char *own_name(struct flight *f, const char *server, const char *name)
{
	const char *before = exposed_name(&f->a, f, server, "");

	return text_starts(name, before) && name[strlen(before)] ? name + strlen(before) : NULL;
}

/* The member by which a request names one thing, and where it stands. */
static struct json *naming(struct json *args, const char **ret_member)
{
	struct json *ref = json_get(args, "ref");

	*ret_member = ref ? text_eq(json_get_text(ref, "type", ""), "ref/prompt") ? "name" : "uri"
		: json_get(args, "uri") ? "uri"
					: "name";
	return ref ? ref : args;
}

/* The server that the request is about, with its own name for the thing in `args`.  A list names none: there is only one. */
static const struct json *server_of(
	struct flight *f, const struct method *method, struct json *args, const char **ret_id)
{
	const char *member;
	struct json *where = naming(args, &member);
	const char *name = json_get_text(where, member, NULL);
	const struct json *only = NULL, *found = NULL;
	size_t count = 0;

	json_each_member (m, servers_of(f)) {
		if (!is_passing(f, m, method->word))
			continue;
		const char *own = !name		 ? NULL
			: text_eq(member, "uri") ? own_uri(f, m->name, name)
						 : own_name(f, m->name, name);
		if (own && !found) {
			found = m->value;
			*ret_id = m->name;
			json_sets(&f->a, where, member, own);
		}
		if (!found)
			*ret_id = m->name;
		only = m->value;
		count++;
	}
	return found ? found : count == 1 && !name ? only : NULL;
}

static void rename_member(struct flight *f, const char *server, struct json *of, const char *member)
{
	const char *uri = json_get_text(of, member, NULL);

	if (uri)
		json_sets(&f->a, of, member, exposed_uri(f->g, &f->a, server, uri));
}

/* What a result names becomes what the guest may ask for. */
void pass_rename(struct flight *f, const struct calling *c)
{
	struct arena *a = &f->a;

	if (is_plain(f->g) || !f->result)
		return;
	json_each (one, json_get(f->result, "prompts"))
		if (c->method && json_get_text(one, "name", NULL))
			json_sets(a, one, "name",
				exposed_name(a, f, c->server, json_get_text(one, "name", "")));
	json_each (one, json_get(f->result, "resources"))
		if (c->method)
			rename_member(f, c->server, one, "uri");
	json_each (one, json_get(f->result, "resourceTemplates"))
		if (c->method)
			rename_member(f, c->server, one, "uriTemplate");
	json_each (one, json_get(f->result, "contents"))
		if (c->method)
			rename_member(f, c->server, one, "uri");
	json_each (one, json_get(f->result, "content"))
		if (text_eq(json_get_text(one, "type", ""), "resource_link") &&
			is_passed(c->row, "resources"))
			rename_member(f, c->server, one, "uri");
}

/* ---- news of what is watched ---- */

static void watch(struct flight *f, const struct calling *c, bool is_on)
{
	struct guest *u = f->guest;
	const char *uri = json_get_text(c->args, "uri", NULL);

	if (!uri)
		return;
	pthread_mutex_lock(&f->g->lock);
	struct json *mine = json_get(u->watched, c->server);
	if (!is_on && mine) {
		(void)json_remove(mine, uri);
	} else if (is_on && (!mine || mine->n < WATCHED_MOST)) {
		if (!mine) {
			mine = json_new(&u->a, JSON_OBJECT);
			json_set(&u->a, u->watched, c->server, mine);
		}
		json_setb(&u->a, mine, uri, true);
	}
	pthread_mutex_unlock(&f->g->lock);
}

/* From before the server knows of it, so that nothing is missed, until it is not so, or it said no. */
static void watched(struct flight *f, const struct calling *c)
{
	if (text_eq(c->method, "resources/unsubscribe") || !f->result)
		watch(f, c, false);
}

void pass_updated(struct upstream *u, const struct json *params)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *uri = json_get_text(params, "uri", NULL);
	struct json *told = json_new(&a, JSON_OBJECT);
	struct buf line;

	if (!uri)
		return;
	json_sets(&a, told, "uri", exposed_uri(u->g, &a, u->id, uri));
	buf_init(&line, &a);
	json_write(&line, rpc_notification(&a, "notifications/resources/updated", told), 0);
	pthread_mutex_lock(&u->g->lock);
	for (struct guest *o = u->g->guests; o; o = o->next)
		if (o->tell && json_get(json_get(o->watched, u->id), uri))
			o->tell(o, buf_bytes(&line));
	pthread_mutex_unlock(&u->g->lock);
}

/* ---- one of one server ---- */

static int pass_one(
	struct flight *f, const char *server, const struct json *row, struct json *args, struct err *e)
{
	struct calling *c = arena_zalloc(&f->a, 1, sizeof(*c));

	c->server = server;
	c->row = row;
	c->method = c->tool = f->rpc.method;
	c->u = upstream_get(f->g, c->server, c->row);
	if (!upstream_want(c->u, f))
		return OK;
	c->args = args;
	c->said = (struct mcp_answer){ .action = ACTION_ALLOW, .effect = "read", .pin = { "", "" } };
	int rc = calling_decide(f, c, NULL, e);
	if (rc)
		return rc;
	if (c->h.verdict == V_ALLOW) {
		calling_dispatch(f, c);
		if (text_eq(c->method, "resources/subscribe"))
			watch(f, c, true);
		if (strstr(c->method, "subscribe"))
			c->told = watched;
		return OK;
	}
	calling_note(f, c, NULL, NULL);
	flight_refuse(f, RPC_INTERNAL,
		arena_printf(&f->a, "Access Denied: %s",
			c->h.decision.summary ? c->h.decision.summary
					      : reason_get(c->h.decision.reason_code)->meaning));
	return OK;
}

static struct json *args_of(struct flight *f)
{
	struct json *args = f->rpc.params ? json_copy(&f->a, f->rpc.params) : json_new(&f->a, JSON_OBJECT);

	(void)json_remove(args, "_meta");
	return args;
}

/* ---- a list of several ---- */

struct part {
	struct flight *parent;
	const char *server, *cursor;
	bool is_asked;
	char *text; /* its answer; NULL: there is none */
	size_t n;
};
struct gathering {
	const struct method *method;
	struct part *parts;
	size_t count;
	int rounds;
	struct json *items;
};

/* The part is its parent's, which goes on when the last of them is here. */
static void part_send(struct flight *f, struct bytes message, bool is_last)
{
	struct part *p = f->transport;
	struct flight *parent = p->parent;

	if (!is_last)
		return;
	p->text = message.p ? strndup((const char *)message.p, message.n) : NULL;
	p->n = message.n;
	if (__atomic_sub_fetch(&parent->wants, 1, __ATOMIC_SEQ_CST) == 0)
		flight_go(parent);
}

static int step_part(struct flight *f, struct err *e)
{
	const struct part *p = f->transport;
	const struct json *row = json_get(servers_of(f), p->server);

	if (row)
		return pass_one(f, p->server, row, args_of(f), e);
	flight_refuse(f, RPC_NO_METHOD, "Method not found");
	return OK;
}

static void ask_part(struct flight *f, const struct gathering *all, struct part *p)
{
	struct json *params = json_new(&f->a, JSON_OBJECT), *message;
	struct buf text;

	if (p->cursor)
		json_sets(&f->a, params, "cursor", p->cursor);
	message = rpc_request(&f->a, 0, all->method->name, params);
	json_set(&f->a, message, "id", f->rpc.id);
	buf_init(&text, &f->a);
	json_write(&text, message, 0);
	p->is_asked = true;
	guest_hold(f->guest);
	struct flight *part = flight_new(f->guest, buf_bytes(&text), f->call.who.scopes);
	part->is_stateless = f->is_stateless;
	part->has_own = f->has_own;
	part->send = part_send;
	part->transport = p;
	if (part->step == flight_begin) /* else there are too many */
		part->step = step_part;
	f->is_waiting = true;
	__atomic_add_fetch(&f->wants, 1, __ATOMIC_SEQ_CST);
	flight_go(part);
}

static void take_part(struct flight *f, struct gathering *all, struct part *p)
{
	struct json *doc = NULL;

	if (p->text)
		(void)json_parse(
			&f->a, (struct bytes){ (const uint8_t *)p->text, p->n }, "part", NULL, &doc, NULL);
	free(p->text);
	p->text = NULL;
	p->is_asked = false;
	p->cursor = json_get_text(json_get(doc, "result"), "nextCursor", NULL);
	json_each (one, json_get(json_get(doc, "result"), all->method->list))
		if (all->items->n < ITEMS_MOST)
			json_push(&f->a, all->items, one);
}

static int step_gather(struct flight *f, struct err *e)
{
	struct gathering *all = f->state;
	struct json *result = json_new(&f->a, JSON_OBJECT);
	bool is_first = all->rounds++ == 0, is_more = false;

	(void)e;
	for (size_t i = 0; i < all->count; i++)
		if (all->parts[i].is_asked)
			take_part(f, all, &all->parts[i]);
	for (size_t i = 0; i < all->count; i++)
		if (is_first ||
			(all->parts[i].cursor && *all->parts[i].cursor && all->rounds < ROUNDS_MOST &&
				all->items->n < ITEMS_MOST)) {
			ask_part(f, all, &all->parts[i]);
			is_more = true;
		}
	if (is_more)
		return OK;
	json_set(&f->a, result, all->method->list, all->items);
	flight_answer(f, result_of_era(f, result, true));
	return OK;
}

static int gather(struct flight *f, const struct method *method, size_t count, struct err *e)
{
	struct gathering *all = arena_zalloc(&f->a, 1, sizeof(*all));

	if (json_get(f->rpc.params, "cursor")) {
		flight_refuse(f, RPC_BAD_PARAMS, "this list has one page; ask without a cursor");
		return OK;
	}
	*all = (struct gathering){ .method = method,
		.parts = arena_zalloc(&f->a, count, sizeof(*all->parts)),
		.items = json_new(&f->a, JSON_ARRAY) };
	json_each_member (m, servers_of(f))
		if (is_passing(f, m, method->word))
			all->parts[all->count++] = (struct part){ .parent = f, .server = m->name };
	f->state = all;
	f->step = step_gather;
	return step_gather(f, e);
}

int step_pass(struct flight *f, struct err *e)
{
	const struct method *method = method_of(f->rpc.method);
	struct json *args = args_of(f);
	const char *server = NULL;
	size_t count = 0;

	json_each_member (m, servers_of(f))
		count += is_passing(f, m, method->word);
	if (method->list && count > 1)
		return gather(f, method, count, e);
	const struct json *row = count ? server_of(f, method, args, &server) : NULL;
	if (row)
		return pass_one(f, server, row, args, e);
	if (count)
		flight_refuse(f, RPC_BAD_PARAMS,
			"no server that is offered here has this; names are those of the lists");
	else
		flight_refuse(f, RPC_NO_METHOD, "Method not found");
	return OK;
}
