/* chat.c — chat completions: choices with a message, or pieces of one (delta), whose tool_calls are told by their index; and the older function_call. */
#include "base/text.h"
#include "serve/proxy/form.h"

#include <string.h>

/* ---- reading ---- */

static void take_usage(struct assembly *x, const struct json *usage)
{
	int64_t input, output;

	if (!json_int(json_get(usage, "prompt_tokens"), &input))
		return;
	output = json_get_int(usage, "completion_tokens", 0);
	x->usage = (struct usage){ true, input, output,
		json_get_int(json_get(usage, "prompt_tokens_details"), "cached_tokens", 0) };
}

static void take_head(struct assembly *x, const struct json *data)
{
	const char *id = json_get_text(data, "id", NULL), *model = json_get_text(data, "model", NULL);

	if (id && !x->id)
		x->id = arena_strdup(&x->kept, id);
	if (model && !x->model)
		x->model = arena_strdup(&x->kept, model);
	if (!x->created)
		x->created = json_get_int(data, "created", 0);
	take_usage(x, json_get(data, "usage"));
}

/* One entry of tool_calls: all of a call, or a piece. */
static void take_call(struct assembly *x, int64_t choice, size_t place, const struct json *t, bool is_whole)
{
	int64_t index = json_get_int(t, "index", (int64_t)place);
	struct tool_use *u =
		call_at(x, arena_printf(&x->scratch, "%lld/%lld", (long long)choice, (long long)index));
	const struct json *function = json_get(t, "function"), *custom = json_get(t, "custom");
	const char *id = NULL, *type = NULL;

	if (!u)
		return;
	u->choice = choice;
	if (!json_is(t, JSON_OBJECT) || (function && custom)) {
		call_fault(u, "it is no call that can be read");
		return;
	}
	if (call_text(u, json_get(t, "id"), &id) && *id) {
		if (u->id && !text_eq(u->id, id))
			call_fault(u, "two calls have one place");
		u->id = arena_strdup(&x->a, id);
	}
	if (call_text(u, json_get(t, "type"), &type)) {
		if (!text_eq(type, "function") && !text_eq(type, "custom"))
			call_fault(u, "this type of call is not known");
		u->type = arena_strdup(&x->a, type);
	}
	u->is_text |= custom != NULL;
	call_name(x, u, json_get(custom ? custom : function, "name"));
	call_add_args(u, json_get(custom ? custom : function, custom ? "input" : "arguments"));
	if (is_whole)
		call_close(x, u);
}

static void take_function(struct assembly *x, int64_t choice, const struct json *f, bool is_whole)
{
	struct tool_use *u = call_at(x, arena_printf(&x->scratch, "%lld/f", (long long)choice));

	if (!u)
		return;
	u->choice = choice;
	if (!json_is(f, JSON_OBJECT))
		call_fault(u, "it is no call that can be read");
	call_name(x, u, json_get(f, "name"));
	call_add_args(u, json_get(f, "arguments"));
	if (is_whole)
		call_close(x, u);
}

/* So many calls, or pieces of them. */
static size_t take_message(struct assembly *x, int64_t choice, const struct json *m, bool is_whole)
{
	const struct json *calls = json_get(m, "tool_calls"), *function = json_get(m, "function_call");
	size_t place = 0;

	if (calls && !json_is(calls, JSON_ARRAY) && !json_is(calls, JSON_NULL))
		form_fault(x, "tool_calls is no list");
	json_each (t, calls)
		take_call(x, choice, place++, t, is_whole);
	if (!function || json_is(function, JSON_NULL))
		return place;
	take_function(x, choice, function, is_whole);
	return place + 1;
}

static int64_t choice_of(const struct json *c, size_t place)
{
	return json_get_int(c, "index", (int64_t)place);
}

static void end_choice(struct assembly *x, int64_t choice)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].choice == choice && !x->calls[i].is_closed)
			call_close(x, &x->calls[i]);
}

static void read_event(struct assembly *x, const struct sse_event *ev, const struct json *data)
{
	const struct json *choices = json_get(data, "choices");
	size_t place = 0, pieces = 0;

	(void)ev;
	take_head(x, data);
	if (choices && !json_is(choices, JSON_ARRAY) && !json_is(choices, JSON_NULL))
		form_fault(x, "choices is no list");
	json_each (c, choices) {
		int64_t choice = choice_of(c, place++);
		const struct json *delta = json_get(c, "delta"), *message = json_get(c, "message");
		pieces += take_message(x, choice, delta, false) + take_message(x, choice, message, false);
		if (json_text(json_get(c, "finish_reason")))
			end_choice(x, choice);
	}
	if (calls_alike(data) > pieces)
		form_fault(x, "an event has a call at a place where none belongs");
}

static void read_document(struct assembly *x, const struct json *doc)
{
	const struct json *choices = json_get(doc, "choices");
	size_t place = 0;

	take_head(x, doc);
	if (choices && !json_is(choices, JSON_ARRAY))
		form_fault(x, "choices is no list");
	json_each (c, choices)
		(void)take_message(x, choice_of(c, place++), json_get(c, "message"), true);
}

/* ---- errors ---- */

static void write_error(struct arena *a, const struct assembly *x, const struct refusal *r, struct buf *to)
{
	(void)x;
	shape_event(to, NULL, shape_openai_error(a, r));
	buf_adds(to, "data: [DONE]\n\n");
}

/* ---- without what was refused ---- */

static struct settled *settled_at(
	struct arena *a, const struct assembly *x, int64_t choice, const struct json *t, size_t place)
{
	return call_settled(x,
		arena_printf(a, "%lld/%lld", (long long)choice,
			(long long)json_get_int(t, "index", (int64_t)place)));
}

/* Calls that stay are counted anew. */
static int64_t place_without(struct arena *a, const struct assembly *x, int64_t choice, int64_t index)
{
	int64_t n = 0;

	for (int64_t i = 0; i < index; i++) {
		const struct settled *s =
			call_settled(x, arena_printf(a, "%lld/%lld", (long long)choice, (long long)i));
		n += !s || s->is_allowed;
	}
	return n;
}

/* Takes what was refused out of a message or a piece of one; what is to be said instead is added to `text`. */
static bool strip_message(
	struct arena *a, struct assembly *x, int64_t choice, struct json *m, bool is_piece, struct buf *text)
{
	struct json *calls = json_get(m, "tool_calls"), *kept = json_new(a, JSON_ARRAY);
	struct settled *f = call_settled(x, arena_printf(a, "%lld/f", (long long)choice));
	bool is_changed = false;
	size_t place = 0;

	json_each (t, calls) {
		struct settled *s = settled_at(a, x, choice, t, place++);
		if (s && !s->is_allowed) {
			is_changed = true;
			if (!s->is_told)
				buf_addf(text, "%s%s", text->n ? "\n" : "", s->why);
			s->is_told = true;
			continue;
		}
		if (is_piece)
			json_seti(a, t, "index",
				place_without(a, x, choice, json_get_int(t, "index", (int64_t)place - 1)));
		json_push(a, kept, t);
	}
	if (is_changed && kept->n)
		json_set(a, m, "tool_calls", kept);
	else if (is_changed)
		(void)json_remove(m, "tool_calls");
	if (f && !f->is_allowed && json_is(json_get(m, "function_call"), JSON_OBJECT)) {
		is_changed |= json_remove(m, "function_call");
		if (!f->is_told)
			buf_addf(text, "%s%s", text->n ? "\n" : "", f->why);
		f->is_told = true;
	}
	return is_changed || (is_piece && kept->n);
}

static void add_text(struct arena *a, struct json *m, const struct buf *text)
{
	const char *before = json_get_text(m, "content", "");

	if (text->n)
		json_sets(a, m, "content", arena_printf(a, "%s%s%s", before, *before ? "\n" : "", text->p));
}

static bool mend_finish(struct arena *a, const struct assembly *x, int64_t choice, struct json *c)
{
	const char *prefix = arena_printf(a, "%lld/", (long long)choice);
	const char *finish = json_get_text(c, "finish_reason", "");
	bool is_ours = false;

	for (size_t i = 0; i < x->settled_n; i++)
		is_ours |= text_starts(x->settled[i].key, prefix);
	if (!is_ours || calls_allowed(x, prefix) ||
		(!text_eq(finish, "tool_calls") && !text_eq(finish, "function_call")))
		return false;
	json_sets(a, c, "finish_reason", "stop");
	return true;
}

static bool strip_choices(struct arena *a, struct assembly *x, struct json *doc, bool is_piece)
{
	static const char *const parts[] = { "delta", "message" };
	bool is_changed = false;
	size_t place = 0;

	json_each (c, json_get(doc, "choices")) {
		int64_t choice = choice_of(c, place++);
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			struct json *m = json_get(c, parts[i]);
			struct buf text;
			buf_init(&text, a);
			if (json_is(m, JSON_OBJECT) && strip_message(a, x, choice, m, is_piece, &text)) {
				is_changed = true;
				add_text(a, m, &text);
			}
		}
		is_changed |= mend_finish(a, x, choice, c);
	}
	return is_changed;
}

static void rewrite_document(struct arena *a, struct assembly *x, struct json *doc)
{
	(void)strip_choices(a, x, doc, false);
}

static bool rewrite_event(struct arena *a, struct assembly *x, struct json *data, struct buf *to)
{
	if (!strip_choices(a, x, data, true))
		return false;
	shape_event(to, NULL, data);
	return true;
}

const struct form form_chat = { "chat", read_event, read_document, shape_openai_error, write_error,
	rewrite_document, rewrite_event };
