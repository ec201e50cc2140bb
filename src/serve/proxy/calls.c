/* calls.c — calls of tools as they are put together: what all wire forms have in common. */
#include "base/text.h"
#include "serve/proxy/form.h"
#include "serve/serve.h"

#include <string.h>

void form_begin(struct assembly *x, const struct form *form, const char *const *offered)
{
	*x = (struct assembly){ .form = form, .offered = offered };
}

void form_end(struct assembly *x)
{
	arena_done(&x->a);
	arena_done(&x->scratch);
	arena_done(&x->kept);
	*x = (struct assembly){ 0 };
}

void form_fault(struct assembly *x, const char *fault)
{
	if (!x->fault)
		x->fault = fault;
}

void call_fault(struct tool_use *u, const char *fault)
{
	if (!u->fault)
		u->fault = fault;
}

/* ---- which call ---- */

struct tool_use *call_find(const struct assembly *x, const char *key)
{
	for (size_t i = 0; i < x->n; i++)
		if (text_eq(x->calls[i].key, key))
			return &x->calls[i];
	return NULL;
}

struct settled *call_settled(const struct assembly *x, const char *key)
{
	for (size_t i = 0; i < x->settled_n; i++)
		if (text_eq(x->settled[i].key, key))
			return &x->settled[i];
	return NULL;
}

static struct tool_use *add_call(struct assembly *x, const char *key)
{
	if (x->n == CALLS_MOST) {
		form_fault(x, "the answer has more calls than are looked at");
		return NULL;
	}
	if (!x->calls)
		x->calls = arena_zalloc(&x->a, CALLS_MOST, sizeof(*x->calls));
	struct tool_use *u = &x->calls[x->n++];
	*u = (struct tool_use){ .key = arena_strdup(&x->a, key) };
	buf_init(&u->args, &x->a);
	return u;
}

struct tool_use *call_at(struct assembly *x, const char *key)
{
	struct tool_use *u = call_find(x, key);

	if (u)
		return u;
	if (call_settled(x, key)) {
		form_fault(x, "a call goes on after it was decided about");
		return NULL;
	}
	return add_call(x, key);
}

/* ---- what it says ---- */

bool call_text(struct tool_use *u, const struct json *v, const char **ret)
{
	if (!v || json_is(v, JSON_NULL))
		return false;
	if (!json_text(v)) {
		call_fault(u, "the call has a member that is no text");
		return false;
	}
	*ret = json_text(v);
	return true;
}

void call_add_args(struct tool_use *u, const struct json *piece)
{
	if (!piece || json_is(piece, JSON_NULL))
		return;
	if (!json_is(piece, JSON_STRING)) {
		call_fault(u, "its arguments are no text");
		return;
	}
	if (u->is_closed)
		call_fault(u, "its arguments go on after their end");
	u->has_args = true;
	buf_add(&u->args, piece->text, piece->n);
}

static bool is_offered(const struct assembly *x, const char *name)
{
	for (size_t i = 0; x->offered && x->offered[i]; i++)
		if (text_eq(x->offered[i], name))
			return true;
	return false;
}

/* Some clients put pieces of a name together, others take the last one.  The same name again is harmless; pieces are a name only when they make one that was
 * offered and are none themselves; anything else is two names. */
void call_name(struct assembly *x, struct tool_use *u, const struct json *name)
{
	const char *text = NULL;

	if (!call_text(u, name, &text) || !*text)
		return;
	if (!u->name) {
		u->name = arena_strdup(&x->a, text);
		return;
	}
	if (text_eq(u->name, text))
		return;
	const char *joined = arena_printf(&x->a, "%s%s", u->name, text);
	if (is_offered(x, u->name) || is_offered(x, text))
		call_fault(u, "the call has two names");
	u->name = joined;
}

/* ---- complete ---- */

/* Members that say which item it is, not what it does. */
static bool is_label(const char *name)
{
	static const char *const names[] = { "id", "type", "status", "call_id", "name", "result", "results",
		"outputs", "output", "created_by", "cache_control", "caller" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(names[i], name))
			return true;
	return false;
}

static struct json *parse_args(struct assembly *x, struct tool_use *u)
{
	struct json *input = NULL;
	struct err e = { 0 };

	if (u->is_text) {
		input = json_new(&x->a, JSON_OBJECT);
		json_set(&x->a, input, "input", json_stringn(&x->a, u->args.p, u->args.n));
		return input;
	}
	if (!u->has_args) {
		call_fault(u, "it has no arguments");
		return NULL;
	}
	if (json_parse(&x->a, buf_bytes(&u->args), "arguments", NULL, &input, &e)) {
		call_fault(u, arena_printf(&x->a, "its arguments cannot be read: %s", e.text));
		return NULL;
	}
	if (!json_is(input, JSON_OBJECT)) {
		call_fault(u, "its arguments are no JSON object");
		return NULL;
	}
	return input;
}

static struct json *item_input(struct assembly *x, const struct tool_use *u)
{
	struct json *input = json_new(&x->a, JSON_OBJECT);

	json_each_member (m, u->item)
		if (!is_label(m->name))
			json_set(&x->a, input, m->name, json_copy(&x->a, m->value));
	return input;
}

/* The last piece of the call: from now on it is known what it does, or that nobody can say. */
void call_close(struct assembly *x, struct tool_use *u)
{
	struct json *all = json_new(&x->a, JSON_OBJECT);

	u->is_closed = true;
	if (!u->name || !*u->name) {
		call_fault(u, "it has no name");
	} else if (strlen(u->name) > NAME_MOST ||
		!text_eq(text_safe(&x->a, u->name, strlen(u->name), false), u->name)) {
		call_fault(u, "its name is no name of a tool");
		u->name = NULL;
	}
	if (u->item) /* part of the tool's name when it is judged */
		(void)call_text(u, json_get(u->item, "server_label"), &(const char *){ NULL });
	if (u->id && strlen(u->id) > NAME_MOST)
		u->id = arena_strndup(&x->a, u->id, NAME_MOST);
	u->input = u->item && !u->has_args ? item_input(x, u) : parse_args(x, u);
	if (u->fault) {
		u->input = NULL;
		return;
	}
	json_sets(&x->a, all, "type", u->type ? u->type : "function");
	json_sets(&x->a, all, "name", u->name);
	json_set(&x->a, all, "input", u->input);
	struct buf text;
	buf_init(&text, &x->a);
	json_canonical(&text, all);
	snprintf(u->digest, sizeof(u->digest), "%s", sha256_hex(&x->a, text.p, text.n));
}

bool call_is_settled(const struct assembly *x, const struct tool_use *u)
{
	const struct settled *before = call_settled(x, u->key);

	return before && !u->fault && text_eq(before->digest, u->digest);
}

/* ---- what looks like a call ---- */

/* Vendors write one word in several ways: tool_calls, toolCall, functionCall, toolUse, tool-call.  True when `name` ends in one of them, and with `is_all` when it is one. */
static bool says_call(const char *name, bool is_all)
{
	static const char *const words[] = { "toolcall", "toolcalls", "functioncall", "functioncalls",
		"tooluse", "tooluses" };
	char plain[NAME_MOST];
	size_t n = 0;

	for (; *name && n + 1 < sizeof(plain); name++)
		if (*name != '_' && *name != '-')
			plain[n++] = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_all ? text_eq(plain, words[i]) : text_ends(plain, words[i]))
			return true;
	return false;
}

static bool is_call_type(const char *type)
{
	return text_ends(type, "_call") || says_call(type, false) || text_eq(type, "mcp_approval_request");
}

/* Lists of what was offered or said before, and the arguments of calls, are no calls. */
static bool is_other(const char *name)
{
	static const char *const names[] = { "tools", "tool_choice", "metadata", "input", "instructions",
		"prompt", "usage", "logprobs" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(names[i], name))
			return true;
	return false;
}

size_t calls_alike(const struct json *doc)
{
	const char *type = json_get_text(doc, "type", "");
	size_t n = is_call_type(type);

	json_each (item, doc)
		n += calls_alike(item);
	json_each_member (m, doc) {
		if (is_other(m->name) || (n && text_eq(m->name, "action")))
			continue;
		if (text_eq(m->name, "tool_calls") && json_is(m->value, JSON_ARRAY))
			n += m->value->n;
		else if (text_eq(m->name, "tool_calls") || text_eq(m->name, "function_call"))
			n += !json_is(m->value, JSON_NULL);
		else if (says_call(m->name, true) && json_is(m->value, JSON_ARRAY))
			n += m->value->n;
		else if (says_call(m->name, true) && json_is(m->value, JSON_OBJECT))
			n++; /* a flag of that name says what a model can do */
		else
			n += calls_alike(m->value);
	}
	return n;
}

/* ---- one answer ---- */

static enum seen seen_of(const struct assembly *x)
{
	if (x->fault)
		return SEEN_DECIDE;
	for (size_t i = 0; i < x->n; i++)
		if (!x->calls[i].is_closed)
			return SEEN_HOLD;
	return x->n ? SEEN_DECIDE : SEEN_PASS;
}

static bool is_blank(struct bytes data)
{
	for (size_t i = 0; i < data.n; i++)
		if (!strchr(" \t\n", data.p[i]) || !data.p[i])
			return false;
	return true;
}

enum seen form_see(struct assembly *x, const struct sse_event *ev)
{
	struct json *data = NULL;
	struct err e = { 0 };

	arena_reset(&x->scratch);
	if (ev->odd)
		form_fault(x, arena_printf(&x->kept, "an event cannot be read: %s", ev->odd));
	else if (!ev->has_data || is_blank(ev->data))
		return x->fault ? SEEN_DECIDE : x->n ? SEEN_HOLD : SEEN_PASS;
	else if (bytes_is(ev->data, "[DONE]"))
		return form_over(x);
	else if (json_parse(&x->scratch, ev->data, "event", NULL, &data, &e))
		form_fault(x, arena_printf(&x->kept, "an event cannot be read: %s", e.text));
	else if (!json_is(data, JSON_OBJECT))
		form_fault(x, "an event is no JSON object");
	else
		x->form->event(x, ev, data);
	return seen_of(x);
}

enum seen form_over(struct assembly *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (!x->calls[i].is_closed)
			call_close(x, &x->calls[i]);
	x->is_finished = true;
	return x->n || x->fault ? SEEN_DECIDE : SEEN_PASS;
}

enum seen form_whole(struct assembly *x, const struct json *doc)
{
	if (json_is(doc, JSON_OBJECT))
		x->form->document(x, doc);
	else
		form_fault(x, "the answer is no JSON object");
	if (calls_alike(doc) > x->n)
		form_fault(x, "the answer has a call at a place where none belongs");
	return form_over(x);
}

void form_settle(struct assembly *x, const char *const *why)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct tool_use *u = &x->calls[i];
		struct settled *s = call_settled(x, u->key);
		if (!s && x->settled_n == SETTLED_MOST) {
			form_fault(x, "the answer has more calls than are looked at");
			break;
		}
		if (!x->settled)
			x->settled = arena_zalloc(&x->kept, SETTLED_MOST, sizeof(*x->settled));
		if (!s) {
			s = &x->settled[x->settled_n++];
			s->key = arena_strdup(&x->kept, u->key);
		}
		memcpy(s->digest, u->digest, sizeof(s->digest));
		s->is_allowed = !why || !why[i];
		s->why = s->is_allowed ? NULL : arena_strdup(&x->kept, why[i]);
	}
	x->n = 0;
	x->calls = NULL;
	arena_reset(&x->a);
}

bool calls_allowed(const struct assembly *x, const char *prefix)
{
	for (size_t i = 0; i < x->settled_n; i++)
		if (x->settled[i].is_allowed && text_starts(x->settled[i].key, prefix))
			return true;
	return false;
}

/* ---- without what was refused ---- */

static void rewrite_event(struct assembly *x, struct arena *a, const struct sse_event *ev, struct buf *to)
{
	struct json *data;
	struct err e = { 0 };

	if (ev->has_data && json_parse(a, ev->data, "event", NULL, &data, &e) == OK &&
		json_is(data, JSON_OBJECT) && x->form->rewrite_event(a, x, data, to))
		return;
	buf_add(to, ev->raw.p, ev->raw.n);
}

/* The next of events that are all here; only the last may lack its empty line.  False: there is none. */
static bool next_event(struct sse *s, struct arena *a, struct bytes *rest, struct sse_event *ret)
{
	bool is_whole = false;

	sse_next(s);
	while (rest->n && !is_whole) {
		size_t taken;
		struct err e = { 0 };
		if (sse_take(s, *rest, &taken, &is_whole, &e))
			BUG("an event is larger than all of them");
		*rest = (struct bytes){ rest->p + taken, rest->n - taken };
	}
	if (s->event.n)
		sse_read(s, a, ret);
	return s->event.n > 0;
}

/* Is every call that was found on its way out one that was allowed, and as often? */
static bool are_all_allowed(const struct assembly *x, const struct assembly *out)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct tool_use *u = &out->calls[i];
		size_t allowed = 0, leaving = 0;
		for (size_t j = 0; j < x->settled_n; j++)
			allowed += x->settled[j].is_allowed && text_eq(x->settled[j].digest, u->digest);
		for (size_t j = 0; j < out->n; j++)
			leaving += text_eq(out->calls[j].digest, u->digest);
		if (u->fault || leaving > allowed)
			return false;
	}
	return !out->fault;
}

bool form_rewrite(struct assembly *x, struct arena *a, struct bytes events, struct buf *to)
{
	AUTO(form_end) struct assembly out;
	AUTO(sse_free) struct sse before = { .most_bytes = events.n + 1 };
	struct sse_event ev;
	size_t at = to->n;

	while (next_event(&before, a, &events, &ev))
		rewrite_event(x, a, &ev, to);
	struct bytes rest = { (const uint8_t *)to->p + at, to->n - at };
	AUTO(sse_free) struct sse after = { .most_bytes = rest.n + 1 };
	form_begin(&out, x->form, x->offered);
	while (next_event(&after, a, &rest, &ev))
		(void)form_see(&out, &ev);
	(void)form_over(&out);
	return are_all_allowed(x, &out);
}

bool form_rewrite_whole(struct assembly *x, struct arena *a, struct json *doc)
{
	AUTO(form_end) struct assembly out;

	x->form->rewrite_document(a, x, doc);
	form_begin(&out, x->form, x->offered);
	(void)form_whole(&out, doc);
	return are_all_allowed(x, &out);
}

/* ---- which form ---- */

static const struct form *form_of_document(const struct json *doc)
{
	return json_get(doc, "choices")	       ? &form_chat
		: json_get(doc, "output")      ? &form_responses
		: json_get(doc, "stop_reason") ? &form_messages
					       : NULL;
}

static void other_event(struct assembly *x, const struct sse_event *ev, const struct json *data)
{
	(void)ev;
	if (calls_alike(data))
		form_fault(x, "an event has a call at a place where none belongs");
}

static void other_document(struct assembly *x, const struct json *doc)
{
	const struct form *form = form_of_document(doc);

	if (form)
		form->document(x, doc);
}

static void other_rewrite(struct arena *a, struct assembly *x, struct json *doc)
{
	const struct form *form = form_of_document(doc);

	if (form)
		form->rewrite_document(a, x, doc);
}

static void other_error(struct arena *a, const struct assembly *x, const struct refusal *r, struct buf *to)
{
	form_chat.error_events(a, x, r, to);
}

static bool other_rewrite_event(struct arena *a, struct assembly *x, struct json *data, struct buf *to)
{
	(void)a;
	(void)x;
	(void)data;
	(void)to;
	return false;
}

const struct form form_other = { "other", other_event, other_document, shape_openai_error, other_error,
	other_rewrite, other_rewrite_event };

/* As the vendor may read it: decoded, without slashes that say nothing.  NULL: nobody can say how it is read. */
static char *path_as_read(struct arena *a, const char *said)
{
	char *path = path_decoded(a, said, strlen(said)), *to = path;

	if (!path)
		return NULL;
	for (const char *p = path; *p; p++)
		if (*p != '/' || (p[1] && p[1] != '/'))
			*to++ = *p;
	*to = '\0';
	return path;
}

/* By how the path ends: what stands before it is the vendor's. */
const struct form *form_of_path(const char *said)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *path = path_as_read(&a, said);

	if (!path)
		return &form_other;
	const char *responses = strstr(path, "/responses");
	if (text_ends(path, "/chat/completions"))
		return &form_chat;
	if (text_ends(path, "/messages"))
		return &form_messages;
	return responses && (!responses[10] || responses[10] == '/') ? &form_responses : &form_other;
}

bool path_may_hold_answers(const char *said)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *path = path_as_read(&a, said);

	return !path || strstr(path, "/files/") || strstr(path, "/batches/");
}
