/* question.c — what servers ask guests: that their model says something (sampling), or their person (elicitation).
 *
 * It is an effect of the server: off unless a person let this server ask (`passes`), decided about with the principal mcp:SERVER, on disk
 * before the guest hears of it, and its answer on record before the server does.  It goes to the guest for whom the server is working; when it
 * works for several at once nobody can tell for whom it asks, and nobody is asked.
 *
 * A question is a flight that goes the other way: its guest is the one who is asked, and its answer goes to the server. */
#include "serve/mcp/calling.h"

#include "base/schema.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { REJECTED = -1, MEMBERS_MOST = 32 };

struct asked {
	struct upstream *u;
	uint64_t starts, carrier;
	const char *word;
	char id[40]; /* by which the guest answers */
	int is_dropped; /* the server does not wait; atomic */
};

static const char *word_of(const char *method)
{
	return text_eq(method, "sampling/createMessage") ? "sampling"
		: text_eq(method, "elicitation/create")	 ? "elicitation"
							 : NULL;
}

/* ---- to the server ---- */

static void say(struct upstream *u, uint64_t starts, struct arena *a, const struct json *message)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, message, 0);
	upstream_say(u, starts, buf_bytes(&text));
}

/* Its call waits again, and no longer than calls do. */
static void close_question(const struct asked *q, struct sys *s)
{
	pthread_mutex_lock(&q->u->lock);
	q->u->questions--;
	for (struct flight *f = q->u->pending; f; f = f->next_pending)
		if (f->number == q->carrier)
			f->deadline_us = s->mono_us(s) + f->timeout_us;
	pthread_mutex_unlock(&q->u->lock);
}

static void send_to_server(struct flight *f, struct bytes message, bool is_last)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct asked *q = f->transport;

	if (!is_last)
		return;
	close_question(q, f->g->server->sys);
	if (__atomic_load_n(&q->is_dropped, __ATOMIC_SEQ_CST))
		return;
	if (message.p)
		upstream_say(q->u, q->starts, message);
	else
		say(q->u, q->starts, &a, rpc_error(&a, f->rpc.id, RPC_INTERNAL, "nobody is there any more"));
}

/* ---- is it a question at all? ---- */

/* What servers must not ask for by a form, and what no tool needs a person to type.  Letters and digits only, so that it is found however it
 * is written; short ones count as words of their own, or they would be in half of all texts ("shipping" has a pin in it). */
static bool names_secret(struct arena *a, const char *text)
{
	static const char *const parts[] = { "passw", "passphrase", "passcode", "secret", "token", "apikey",
		"accesskey", "privatekey", "signingkey", "credential", "cardnumber", "creditcard",
		"securitycode", "mnemonic", "seedphrase", "recoveryphrase" };
	static const char *const words[] = { "pwd", "pin", "otp", "cvv", "cvc" };
	size_t size = 2 * strlen(text) + 3, n = 0, m = 0;
	char *plain = arena_alloc(a, size), *apart = arena_alloc(a, size);
	bool was_small = false;

	apart[m++] = ' ';
	for (const char *p = text; *p; p++) {
		bool is_big = *p >= 'A' && *p <= 'Z', is_small = *p >= 'a' && *p <= 'z';
		if (is_big && was_small)
			apart[m++] = ' '; /* userPin */
		if (is_big || is_small || (unsigned char)*p >= 0x80)
			plain[n++] = apart[m++] = (char)(is_big ? *p + ('a' - 'A') : *p);
		else
			apart[m++] = ' '; /* also after digits: pin2 */
		was_small = is_small;
	}
	plain[n] = '\0';
	apart[m++] = ' ';
	apart[m] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(plain, parts[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(apart, arena_printf(a, " %s ", words[i])))
			return true;
	return false;
}

/* A choice, a yes or no, or a number of up to three digits takes no secret, whatever is said of it ("do not give us your pin"). */
static bool can_hold_secret(const struct json *field)
{
	const char *type = json_get_text(field, "type", "");
	int64_t least, most;

	if (json_is(json_get(field, "enum"), JSON_ARRAY) || text_eq(type, "boolean"))
		return false;
	return !text_eq(type, "integer") || !json_int(json_get(field, "minimum"), &least) ||
		!json_int(json_get(field, "maximum"), &most) || least < -999 || most > 999;
}

/* By the name of a field, by what the person is shown of it, or by the question itself. */
static bool asks_secret(struct arena *a, const struct json *args)
{
	const struct json *form = json_get(args, "requestedSchema");

	if (!form)
		return false; /* sampling: nobody types anything */
	if (names_secret(a, json_get_text(args, "message", "")) ||
		names_secret(a, json_get_text(form, "title", "")) ||
		names_secret(a, json_get_text(form, "description", "")))
		return true;
	json_each_member (m, json_get(form, "properties"))
		if (can_hold_secret(m->value) &&
			(names_secret(a, m->name) || names_secret(a, json_get_text(m->value, "title", "")) ||
				names_secret(a, json_get_text(m->value, "description", ""))))
			return true;
	return false;
}

static const char *bad_sampling(const struct json *p)
{
	const char *context = json_get_text(p, "includeContext", "none");
	const struct json *messages = json_get(p, "messages");

	if (!json_is(messages, JSON_ARRAY) || !messages->n)
		return "messages are a list";
	if (!json_is(json_get(p, "maxTokens"), JSON_NUMBER))
		return "maxTokens is missing";
	if (!text_eq(context, "none") || json_get(p, "tools") || json_get(p, "toolChoice"))
		return "neither context of the session nor tools are offered to servers";
	return NULL;
}

static const char *bad_elicitation(struct arena *a, const struct json *p)
{
	const struct json *schema = json_get(p, "requestedSchema"), *asked = json_get(schema, "properties");
	struct schema *form;

	if (!text_eq(json_get_text(p, "mode", "form"), "form"))
		return "only forms are offered to servers";
	if (!json_get_text(p, "message", NULL) || !json_is(asked, JSON_OBJECT) || asked->n > MEMBERS_MOST)
		return "message is a text, and requestedSchema an object with up to 32 properties";
	json_each_member (m, asked)
		if (text_eq(json_get_text(m->value, "type", ""), "object"))
			return "a form has no objects in it";
	/* Else no answer could be held against it. */
	return schema_compile(a, schema, "requestedSchema", &form, NULL) ? "requestedSchema is no schema"
									 : NULL;
}

/* What the registry would say of a tool is said here of what is asked. */
static void judge(struct flight *f, struct calling *c)
{
	struct json *grave;

	c->said = (struct mcp_answer){ .action = ACTION_ALLOW, .effect = "write", .pin = { "", "" } };
	(void)texts_check(&f->a, c->args, &grave);
	if (grave->n) {
		c->said.action = ACTION_DENY;
		c->said.code = REASON_PROMPT_INJECTION_DETECTED;
		c->said.rule = "mcp.asks_model";
		c->said.text = "What the server wants to be asked gives instructions of its own.";
	}
	if (asks_secret(&f->a, c->args)) {
		c->said.action = ACTION_DENY;
		c->said.code = REASON_POLICY_VIOLATION;
		c->said.rule = "mcp.asks_secret";
		c->said.text = "Servers may not ask for passwords, keys or cards by a form.";
	}
}

/* ---- the answer ---- */

static void hold_back(struct flight *f, const char *why)
{
	f->result = NULL;
	f->error = json_get(rpc_error(&f->a, NULL, RPC_INTERNAL, why), "error");
}

/* Nothing but the answer goes there: no secret, and nothing of a form that was not sent. */
static void check_answer(struct flight *f, const struct calling *c, struct json *about)
{
	const char *action = json_get_text(f->result, "action", "");
	struct json *content = json_get(f->result, "content"), *grave;
	struct schema *form;
	struct err e = { 0 };
	size_t secrets = texts_check(&f->a, f->result, &grave);

	if (secrets)
		json_seti(&f->a, about, "result_secrets", (int64_t)secrets);
	if (secrets) {
		hold_back(f, "The answer holds a secret; it is held back.");
		return;
	}
	if (!text_eq(c->method, "elicitation/create"))
		return;
	if (!text_eq(action, "accept")) {
		f->result = json_new(&f->a, JSON_OBJECT);
		json_sets(&f->a, f->result, "action", text_eq(action, "decline") ? "decline" : "cancel");
	} else if (content &&
		(schema_compile(&f->a, json_get(c->args, "requestedSchema"), "requestedSchema", &form, &e) ||
			schema_check(form, content, &e))) {
		hold_back(f, arena_printf(&f->a, "The answer does not fit the form: %s", e.text));
	}
}

static void tell_server(struct flight *f, struct calling *c)
{
	(void)c;
	if (f->error)
		flight_refuse(f, (int)json_get_int(f->error, "code", RPC_INTERNAL),
			json_get_text(f->error, "message", "the client answered with an error"));
	else if (f->result)
		flight_answer(f, f->result);
	else
		flight_refuse(f, REJECTED, "nobody answered in time");
}

/* It need not be answered any more. */
static void call_off(struct flight *f, const struct asked *q)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *params = json_new(&a, JSON_OBJECT);
	struct buf line;

	json_sets(&a, params, "requestId", q->id);
	json_sets(&a, params, "reason", "it is not waited for any more");
	buf_init(&line, &a);
	json_write(&line, rpc_notification(&a, "notifications/cancelled", params), 0);
	pthread_mutex_lock(&f->g->lock);
	if (f->guest->tell)
		f->guest->tell(f->guest, buf_bytes(&line));
	pthread_mutex_unlock(&f->g->lock);
}

static int step_answered(struct flight *f, struct err *e)
{
	struct calling *c = f->state;

	f->ask = (struct bytes){ 0 };
	c->tell = tell_server;
	if (!f->result && !f->error) {
		f->trouble = __atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST) ? "cancelled" : "timeout";
		call_off(f, f->transport);
	}
	return calling_outcome(f, e);
}

/* ---- deciding about it ---- */

static void ask_guest(struct flight *f, struct calling *c)
{
	struct asked *q = f->transport;
	struct sys *s = f->g->server->sys;
	struct json *message = rpc_request(&f->a, 0, c->method, c->args);
	struct buf text;

	snprintf(q->id, sizeof(q->id), "helm-ask-%llu", (unsigned long long)f->number);
	json_sets(&f->a, message, "id", q->id);
	buf_init(&text, &f->a);
	json_write(&text, message, 0);
	f->ask = buf_bytes(&text);
	f->state = c;
	f->step = step_answered;
	f->wake_us = s->mono_us(s) + MCP_ASK_S * INT64_C(1000000);
	c->sent_us = s->mono_us(s);
	c->checked = check_answer;
	/* From here to its outcome there is no way back. */
	f->call.is_made = true;
	(void)call_hold(&f->call);
	calling_taint(f, c);
}

static int step_question(struct flight *f, struct err *e)
{
	struct calling *c = arena_zalloc(&f->a, 1, sizeof(*c));
	const struct asked *q = f->transport;

	c->u = q->u;
	c->server = q->u->id;
	c->row = upstream_row(q->u, f->snap);
	c->method = c->tool = f->rpc.method;
	c->principal = arena_printf(&f->a, "mcp:%s", c->server);
	c->args = f->rpc.params ? json_copy(&f->a, f->rpc.params) : json_new(&f->a, JSON_OBJECT);
	(void)json_remove(c->args, "_meta");
	if (!c->row || !is_passed(c->row, q->word)) {
		flight_refuse(f, RPC_NO_METHOD, "this is not offered to servers");
		return OK;
	}
	const char *bad =
		text_eq(q->word, "sampling") ? bad_sampling(c->args) : bad_elicitation(&f->a, c->args);
	judge(f, c);
	int rc = calling_decide(f, c, bad, e);
	if (rc)
		return rc;
	if (c->h.verdict == V_ALLOW) {
		ask_guest(f, c);
		return OK;
	}
	calling_note(f, c, NULL, NULL);
	flight_refuse(f, bad ? RPC_BAD_PARAMS : REJECTED,
		arena_printf(&f->a, "Access Denied: %s",
			bad				? bad
				: c->h.decision.summary ? c->h.decision.summary
							: reason_get(c->h.decision.reason_code)->meaning));
	return OK;
}

/* ---- for whom ---- */

static bool may_ask(const struct flight *f, const char *word)
{
	return f->can_hear && !f->is_stateless &&
		(text_eq(word, "sampling") ? f->guest->may_sample : f->guest->may_elicit);
}

/* Under both locks.  What waits for it, if all of that is of one guest. */
static struct flight *carrier_of(struct upstream *u, const char *word)
{
	struct flight *found = NULL;

	for (struct flight *f = u->pending; f; f = f->next_pending) {
		if (f->guest != u->pending->guest)
			return NULL;
		if (!found && may_ask(f, word))
			found = f;
	}
	return found;
}

static const char *refusal(struct upstream *u, const struct flight *carrier, const char *word)
{
	return !word				? "this is not offered to servers"
		: u->questions >= MCP_QUESTIONS ? "too many questions of this server are open"
		: !carrier ? "nobody who answers such questions waits for this server, or more than one"
			   : NULL;
}

void question_heard(struct upstream *u, struct bytes text, const struct rpc *m, struct flight *carrier)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct gateway *g = u->g;
	struct sys *s = g->server->sys;
	const char *word = word_of(m->method);
	struct snapshot *snap = snapshot_take(g);
	uint64_t number = 0;
	struct guest *guest = NULL;

	if (word && !is_passed(upstream_row(u, snap), word))
		word = NULL;
	snapshot_drop(g, snap);
	pthread_mutex_lock(&g->lock);
	pthread_mutex_lock(&u->lock);
	if (word && !carrier)
		carrier = carrier_of(u, word);
	else if (word && !may_ask(carrier, word))
		carrier = NULL;
	uint64_t starts = u->starts;
	const char *why = refusal(u, carrier, word);
	if (!why) {
		u->questions++;
		number = carrier->number;
		guest = carrier->guest;
		guest->refs++;
		carrier->deadline_us = s->mono_us(s) + MCP_ASK_S * INT64_C(1000000);
	}
	pthread_mutex_unlock(&u->lock);
	pthread_mutex_unlock(&g->lock);
	if (why) {
		say(u, starts, &a, rpc_error(&a, m->id, RPC_NO_METHOD, why));
		return;
	}
	struct flight *f = flight_new(guest, text, 0);
	struct asked *q = arena_zalloc(&f->a, 1, sizeof(*q));
	*q = (struct asked){ .u = u, .starts = starts, .carrier = number, .word = word };
	f->is_question = true;
	f->progress_token = NULL;
	f->send = send_to_server;
	f->transport = q;
	if (f->step == flight_begin) /* else there are too many */
		f->step = step_question;
	flight_go(f);
}

/* ---- and back ---- */

/* Under the lock of the gateway. */
void question_ask(struct flight *f)
{
	const struct asked *q = f->transport;
	struct flight *carrier = f->guest->flights;

	while (carrier && carrier->number != q->carrier)
		carrier = carrier->next;
	if (carrier)
		carrier->send(carrier, f->ask, false);
	else if (f->guest->tell)
		f->guest->tell(f->guest, f->ask);
	else
		f->wake_us = 0;
}

void question_answered(struct guest *u, const struct rpc *m)
{
	struct gateway *g = u->g;
	struct flight *found = NULL;

	pthread_mutex_lock(&g->lock);
	for (struct flight **p = &g->asleep; *p && !found; p = &(*p)->next_asleep) {
		const struct asked *q = (*p)->transport;
		if (!(*p)->is_question || (*p)->guest != u || !json_text(m->id) ||
			!text_eq(json_text(m->id), q->id))
			continue;
		found = *p;
		*p = found->next_asleep;
		break;
	}
	pthread_mutex_unlock(&g->lock);
	if (!found)
		return;
	found->result = m->result ? json_copy(&found->a, m->result) : NULL;
	found->error = m->error ? json_copy(&found->a, m->error) : NULL;
	flight_back(found, NULL);
}

void question_dropped(struct upstream *u, const struct json *id)
{
	struct gateway *g = u->g;

	pthread_mutex_lock(&g->lock);
	for (struct flight *f = g->asleep; f && id; f = f->next_asleep) {
		struct asked *q = f->transport;
		if (f->is_question && q->u == u && json_eq(f->rpc.id, id)) {
			__atomic_store_n(&q->is_dropped, 1, __ATOMIC_SEQ_CST);
			__atomic_store_n(&f->is_cancelled, 1, __ATOMIC_SEQ_CST);
		}
	}
	pthread_mutex_unlock(&g->lock);
}
