/* proxy_tool.c — answers of models, read as the proxy reads them: for the comparison with another reader (proxy.t).
 *
 * Each line of standard input is {"form", "pieces": [hex, ...], "deny"}: an answer that comes in these pieces.  Each line of standard output is {"passed": hex,
 * "calls": [{"name", "input", "fault"}], "fault", "left"}: what would have left with every call allowed, or with "deny" before the first one, what was decided
 * about, and how many bytes were still held at the end. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/proxy/alike.h"
#include "serve/proxy/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer {
	struct arena a;
	struct assembly x;
	struct sse s;
	struct alike alike;
	struct bulk passed, held;
	struct json *calls;
	const char *fault;
	bool is_denied; /* nothing leaves from the first decision on */
};

static const struct form *form_named(const char *name)
{
	const struct form *const all[] = { &form_chat, &form_responses, &form_messages, &form_other };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (text_eq(all[i]->name, name))
			return all[i];
	return &form_other;
}

static void decide(struct answer *n)
{
	if (n->x.fault && !n->fault)
		n->fault = arena_strdup(&n->a, n->x.fault);
	for (size_t i = 0; i < n->x.n; i++) {
		const struct tool_use *u = &n->x.calls[i];
		struct json *row = json_new(&n->a, JSON_OBJECT);
		json_sets(&n->a, row, "name", u->name ? u->name : "");
		if (u->input)
			json_set(&n->a, row, "input", json_copy(&n->a, u->input));
		if (u->fault)
			json_sets(&n->a, row, "fault", u->fault);
		json_push(&n->a, n->calls, row);
	}
	if (n->is_denied)
		n->fault = "denied";
	if (n->fault)
		return;
	form_settle(&n->x, NULL);
	bulk_add(&n->passed, n->held.p, n->held.n);
	bulk_drop(&n->held, n->held.n);
}

static void take(struct answer *n)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sse_event ev;

	sse_read(&n->s, &a, &ev);
	enum seen seen = form_see(&n->x, &ev);
	bulk_add(seen == SEEN_PASS ? &n->passed : &n->held, ev.raw.p, ev.raw.n);
	alike_forget(&n->alike);
	if (seen == SEEN_PASS && ev.has_data)
		alike_learn(&n->alike, ev.raw);
	sse_next(&n->s);
	if (seen == SEEN_DECIDE)
		decide(n);
}

static void feed(struct answer *n, struct bytes in)
{
	struct err e = { 0 };

	while (in.n && !n->fault) {
		size_t taken, count;
		bool is_whole;
		if (!n->s.event.n && !n->s.is_after_cr && (taken = alike_take(&n->alike, in, &count))) {
			bulk_add(&n->passed, in.p, taken);
			in = (struct bytes){ in.p + taken, in.n - taken };
			continue;
		}
		if (sse_take(&n->s, in, &taken, &is_whole, &e)) {
			n->fault = "too large";
			return;
		}
		in = (struct bytes){ in.p + taken, in.n - taken };
		if (is_whole)
			take(n);
	}
}

static void print(struct answer *n)
{
	struct json *doc = json_new(&n->a, JSON_OBJECT);
	char *hex = arena_text(&n->a, 2 * n->passed.n + 1);
	struct buf text;

	hex_encode((const uint8_t *)n->passed.p, n->passed.n, hex);
	json_sets(&n->a, doc, "passed", hex);
	json_set(&n->a, doc, "calls", n->calls);
	if (n->fault)
		json_sets(&n->a, doc, "fault", n->fault);
	json_seti(&n->a, doc, "left", (int64_t)n->held.n);
	json_seti(&n->a, doc, "input_tokens", n->x.usage.is_known ? n->x.usage.input : -1);
	buf_init(&text, &n->a);
	json_write(&text, doc, 0);
	printf("%s\n", text.p);
}

static void run(struct bytes line)
{
	struct answer n = { .s = { .most_bytes = 8 << 20 } };
	struct json *doc;
	struct err e = { 0 };

	n.calls = json_new(&n.a, JSON_ARRAY);
	if (json_parse(&n.a, line, "line", NULL, &doc, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	form_begin(&n.x, form_named(json_get_text(doc, "form", "")), NULL);
	n.is_denied = json_get_bool(doc, "deny", false);
	json_each (piece, json_get(doc, "pieces")) {
		uint8_t *bytes = arena_alloc(&n.a, piece->n / 2 + 1);
		if (!hex_decode(piece->text, piece->n, bytes, piece->n / 2, true))
			exit(1);
		feed(&n, (struct bytes){ bytes, piece->n / 2 });
	}
	if (n.s.event.n && !n.fault)
		take(&n);
	print(&n);
	form_end(&n.x);
	sse_free(&n.s);
	bulk_free(&n.passed);
	bulk_free(&n.held);
	arena_done(&n.a);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0)
		run((struct bytes){ (const uint8_t *)line, (size_t)n });
	free(line);
	return 0;
}
