/* fuzz_proxy.c — what a vendor sends to the proxy: a form, where it is cut, and bytes.
 *
 * The first byte chooses the form, the second how the rest is cut.  Whatever it is: the events together are the bytes; the same bytes in one piece say the same;
 * and with every call refused nothing that leaves holds a call. */
#include "fuzz.h"

#include "base/text.h"
#include "serve/proxy/alike.h"
#include "serve/proxy/form.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

struct told {
	struct bulk passed, held;
	size_t calls;
	bool has_fault;
	bool is_denied; /* every call is refused, and the reason told in its place */
};

/* Without what was refused. */
static void rewrite(struct assembly *x, struct told *t, struct bytes events)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	if (form_rewrite(x, &a, events, &text))
		bulk_add(&t->passed, text.p, text.n);
	else
		t->has_fault = true;
}

static void decide(struct assembly *x, struct told *t)
{
	t->calls += x->n;
	t->has_fault |= x->fault != NULL;
	for (size_t i = 0; i < x->n; i++)
		check(x->fault || x->calls[i].fault || (x->calls[i].name && x->calls[i].input));
	const char *why[CALLS_MOST];
	for (size_t i = 0; i < CALLS_MOST; i++)
		why[i] = "no";
	form_settle(x, t->is_denied ? why : NULL);
	if (!t->has_fault && t->is_denied)
		rewrite(x, t, bulk_bytes(&t->held));
	else if (!t->has_fault)
		bulk_add(&t->passed, t->held.p, t->held.n);
	bulk_drop(&t->held, t->held.n);
}

/* Cut into steps, and with the short way for events that are alike; or whole, and each of them parsed. */
static void read_all(const struct form *form, const uint8_t *data, size_t size, size_t step, struct told *t)
{
	AUTO(sse_free) struct sse s = { .most_bytes = 1 << 16 };
	struct alike alike = { .n = 0 };
	AUTO(form_end) struct assembly x;
	struct err e = { 0 };
	size_t all = 0;

	form_begin(&x, form, NULL);
	for (size_t at = 0; at < size && !t->has_fault; at += step) {
		struct bytes in = { data + at, size - at < step ? size - at : step };
		while (in.n && !t->has_fault) {
			AUTO(arena_done) struct arena a = { 0 };
			struct sse_event ev;
			size_t taken, n;
			bool is_whole;
			if (step < size && !s.event.n && !s.is_after_cr &&
				(taken = alike_take(&alike, in, &n))) {
				bulk_add(&t->passed, in.p, taken);
				all += taken;
				in = (struct bytes){ in.p + taken, in.n - taken };
				continue;
			}
			if (sse_take(&s, in, &taken, &is_whole, &e)) {
				t->has_fault = true;
				break;
			}
			check(taken > 0);
			in = (struct bytes){ in.p + taken, in.n - taken };
			if (!is_whole)
				continue;
			sse_read(&s, &a, &ev);
			check(memcmp(ev.raw.p, data + all, ev.raw.n) == 0);
			all += ev.raw.n;
			enum seen seen = form_see(&x, &ev);
			if (seen == SEEN_PASS && t->is_denied)
				rewrite(&x, t, ev.raw);
			else
				bulk_add(seen == SEEN_PASS ? &t->passed : &t->held, ev.raw.p, ev.raw.n);
			alike_forget(&alike);
			if (seen == SEEN_PASS && ev.has_data)
				alike_learn(&alike, ev.raw);
			sse_next(&s);
			if (seen == SEEN_DECIDE)
				decide(&x, t);
		}
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static const struct form *const forms[] = { &form_chat, &form_responses, &form_messages,
		&form_other };
	struct told cut = { 0 }, whole = { 0 }, denied = { .is_denied = true }, left = { 0 };

	if (size < 2)
		return;
	const struct form *form = forms[data[0] % ARRAY_SIZE(forms)];
	read_all(form, data + 2, size - 2, 1 + data[1] * 3u, &cut);
	read_all(form, data + 2, size - 2, size, &whole);
	check(cut.calls == whole.calls && cut.has_fault == whole.has_fault);
	check(cut.passed.n == whole.passed.n &&
		(!cut.passed.n || memcmp(cut.passed.p, whole.passed.p, cut.passed.n) == 0));
	read_all(form, data + 2, size - 2, size, &denied);
	read_all(form, (const uint8_t *)denied.passed.p, denied.passed.n, size, &left);
	check(!left.calls);
	bulk_free(&denied.passed);
	bulk_free(&denied.held);
	bulk_free(&left.passed);
	bulk_free(&left.held);
	bulk_free(&cut.passed);
	bulk_free(&cut.held);
	bulk_free(&whole.passed);
	bulk_free(&whole.held);
}
