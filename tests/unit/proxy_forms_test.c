/* proxy_forms_test.c — answers of models as the proxy reads them: what passes, what is held, what is decided about, and what nobody can decide about. */
#include "base/text.h"
#include "serve/proxy/alike.h"
#include "serve/proxy/form.h"
#include "tools/unit.h"

#include <string.h>

struct answer {
	struct arena a;
	struct assembly x;
	struct sse s;
	struct buf passed, calls; /* calls: "name{input} " for each */
	struct buf held;
	const char *fault; /* of the answer, or of the first call that has one */
	bool is_denied; /* every call is refused, and rewritten */
	bool is_held_back; /* every call is refused, and the answer ends there */
};

static void rewrite(struct answer *n, struct bytes events)
{
	struct buf text;

	buf_init(&text, &n->a);
	if (form_rewrite(&n->x, &n->a, events, &text))
		buf_add(&n->passed, text.p, text.n);
	else
		n->fault = "what was refused cannot be taken out";
}

static void note(struct answer *n)
{
	const char *why[CALLS_MOST];

	if (n->x.fault && !n->fault)
		n->fault = arena_strdup(&n->a, n->x.fault);
	for (size_t i = 0; i < n->x.n; i++) {
		const struct tool_use *u = &n->x.calls[i];
		if (u->fault && !n->fault)
			n->fault = arena_strdup(&n->a, u->fault);
		buf_addf(&n->calls, "%s", u->name ? u->name : "?");
		if (u->input)
			json_write(&n->calls, u->input, 0);
		buf_addc(&n->calls, ' ');
		why[i] = "NO";
	}
	if (n->is_held_back && !n->fault)
		n->fault = "refused";
	if (n->fault)
		return;
	form_settle(&n->x, n->is_denied ? why : NULL);
	if (n->is_denied)
		rewrite(n, buf_bytes(&n->held));
	else
		buf_add(&n->passed, n->held.p, n->held.n);
	n->held.n = 0;
}

static void take(struct answer *n)
{
	struct sse_event ev;

	sse_read(&n->s, &n->a, &ev);
	enum seen seen = form_see(&n->x, &ev);
	if (seen == SEEN_PASS && n->is_denied && n->x.settled_n)
		rewrite(n, ev.raw);
	else
		buf_add(seen == SEEN_PASS ? &n->passed : &n->held, ev.raw.p, ev.raw.n);
	sse_next(&n->s);
	if (seen == SEEN_DECIDE)
		note(n);
}

static void feed(struct answer *n, const char *text, size_t length)
{
	struct bytes in = { (const uint8_t *)text, length };

	while (in.n && !n->fault) {
		size_t taken;
		bool is_whole;
		assert_int_equal(sse_take(&n->s, in, &taken, &is_whole, NULL), OK);
		in = (struct bytes){ in.p + taken, in.n - taken };
		if (is_whole)
			take(n);
	}
}

static void begin(struct answer *n, const struct form *form)
{
	static const char *const offered[] = { "get_weather", "read", NULL };

	*n = (struct answer){ .s = { .most_bytes = 1 << 20 } };
	buf_init(&n->passed, &n->a);
	buf_init(&n->calls, &n->a);
	buf_init(&n->held, &n->a);
	form_begin(&n->x, form, offered);
}

static void end(struct answer *n)
{
	form_end(&n->x);
	sse_free(&n->s);
	arena_done(&n->a);
}

#define CHAT(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"
#define FINISH(why) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}]}\n\n"
#define CALL(more) CHAT("\"tool_calls\":[{\"index\":0," more "}]")
#define DONE "data: [DONE]\n\n"
#define BLOCK(n, more) \
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":" n \
	",\"content_block\":{" more "}}\n\n"
#define INPUT(n, text) \
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":" n \
	",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}}\n\n"
#define STOP(n) "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":" n "}\n\n"
#define ITEM(what, more) \
	"event: response.output_item." what "\ndata: {\"type\":\"response.output_item." what \
	"\",\"output_index\":0,\"item\":{" more "}}\n\n"
#define FUNCTION(args) \
	"\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"c\",\"name\":\"get_weather\",\"arguments\":\"" args \
	"\""
#define COMPLETED(item) \
	"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[{" item \
	"}]}}\n\n"

static const struct {
	const struct form *form;
	const char *text, *calls;
} good[] = {
	{ &form_chat, CHAT("\"content\":\"hi\"") FINISH("stop") DONE, "" },
	{ &form_chat,
		CHAT("\"content\":\"a\"")
			CALL("\"id\":\"1\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"\"}")
				CALL("\"function\":{\"arguments\":\"{\\\"a\\\":\"}")
					CALL("\"function\":{\"arguments\":\"1}\"}") FINISH("tool_calls") DONE,
		"get_weather{\"a\":1} " },
	/* Another kind of end, none at all, or a call behind it. */
	{ &form_chat, CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}") FINISH("stop") DONE,
		"read{} " },
	{ &form_chat, CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}") DONE, "read{} " },
	{ &form_chat, FINISH("stop") CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}") DONE,
		"read{} " },
	{ &form_chat,
		CHAT("\"function_call\":{\"name\":\"read\",\"arguments\":\"{\\\"x\\\":2}\"}")
			FINISH("function_call"),
		"read{\"x\":2} " },
	{ &form_chat,
		CHAT("\"tool_calls\":[{\"type\":\"custom\",\"custom\":{\"name\":\"sh\",\"input\":\"ls -l\"}}]")
			DONE,
		"sh{\"input\":\"ls -l\"} " },
	{ &form_chat,
		CALL("\"function\":{\"name\":\"get_\"}")
			CALL("\"function\":{\"name\":\"weather\",\"arguments\":\"{}\"}") DONE,
		"get_weather{} " },
	{ &form_chat,
		"data: {\"choices\":[{\"index\":0,\"message\":{\"tool\\u005fcalls\":[{\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]}}]}\r\n\r\n" DONE,
		"read{} " },
	{ &form_chat,
		": note\r\n\r\ndata:{\"choices\":\r\ndata: []}\r\n\r\nid: 1\r\nretry: 5\r\n\r\n\r\n" DONE,
		"" },
	{ &form_messages, BLOCK("0", "\"type\":\"text\",\"text\":\"\"") STOP("0"), "" },
	{ &form_messages,
		BLOCK("1", "\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"bash\",\"input\":{}")
			INPUT("1", "{\\\"command\\\":") INPUT("1", "\\\"ls\\\"}")
				STOP("1") "event: ping\ndata: {\"type\":\"ping\"}\n\n",
		"bash{\"command\":\"ls\"} " },
	{ &form_messages,
		BLOCK("1", "\"type\":\"server_tool_use\",\"id\":\"t\",\"name\":\"web_search\",\"input\":{}")
			STOP("1"),
		"web_search{} " },
	{ &form_responses,
		ITEM("added", FUNCTION("")) "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"{}\"}\n\n" ITEM(
			"done", FUNCTION("{}")) COMPLETED(FUNCTION("{}")),
		"get_weather{} " },
	/* Only at the end. */
	{ &form_responses, COMPLETED(FUNCTION("{}")), "get_weather{} " },
	{ &form_responses,
		ITEM("done",
			"\"type\":\"local_shell_call\",\"id\":\"l\",\"call_id\":\"c\",\"action\":{\"type\":\"exec\",\"command\":[\"ls\"]}"),
		"local_shell_call{\"action\":{\"type\":\"exec\",\"command\":[\"ls\"]}} " },
};

static void a_stream_is_the_same_wherever_it_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		size_t n = strlen(good[i].text);
		for (size_t at = 0; at <= n; at++) {
			struct answer x;
			begin(&x, good[i].form);
			feed(&x, good[i].text, at);
			feed(&x, good[i].text + at, n - at);
			assert_null(x.fault);
			assert_string_equal(x.calls.p, good[i].calls);
			assert_int_equal(x.passed.n, n);
			assert_memory_equal(x.passed.p, good[i].text, n);
			assert_int_equal(x.held.n, 0);
			end(&x);
		}
	}
}

static void nothing_of_a_call_passes_before_it_is_decided(void **state)
{
	static const char text[] = CHAT("\"content\":\"a\""),
			  call[] = CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}"),
			  more[] = CHAT("\"content\":\"b\"");
	struct answer x;

	(void)state;
	begin(&x, &form_chat);
	feed(&x, text, strlen(text));
	assert_int_equal(x.passed.n, strlen(text));
	feed(&x, call, strlen(call));
	feed(&x, more, strlen(more));
	assert_int_equal(x.passed.n, strlen(text));
	assert_int_equal(x.held.n, strlen(call) + strlen(more));
	assert_string_equal(x.calls.p, "");
	end(&x);
}

static const struct {
	const struct form *form;
	const char *text, *fault;
} bad[] = {
	{ &form_chat,
		CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"a\\\":1,\\\"a\\\":2}\"}") DONE,
		"cannot be read" },
	{ &form_chat, CALL("\"function\":{\"name\":\"read\",\"arguments\":\"[1]\"}") DONE, "no JSON object" },
	{ &form_chat, CALL("\"function\":{\"name\":\"read\",\"arguments\":{}}") DONE, "no text" },
	{ &form_chat, CALL("\"function\":{\"name\":\"read\"}") DONE, "no arguments" },
	{ &form_chat, CALL("\"function\":{\"arguments\":\"{}\"}") DONE, "no name" },
	{ &form_chat,
		CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}")
			CALL("\"function\":{\"name\":\"other\"}") DONE,
		"two names" },
	{ &form_chat,
		CALL("\"id\":\"1\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}")
			CALL("\"id\":\"2\"") DONE,
		"one place" },
	{ &form_chat,
		CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}") FINISH("tool_calls")
			CALL("\"function\":{\"arguments\":\"x\"}") DONE,
		"goes on after it was decided" },
	{ &form_chat, "data: {\"choices\":[],\"choices\":[]}\n\n", "cannot be read" },
	{ &form_chat, "data: nonsense\n\n", "cannot be read" },
	{ &form_chat, "data: {\"x\":1}\ndata: {\"y\":1}\n\n", "cannot be read" },
	{ &form_chat, " data: {\"x\":1}\n\n", "in different ways" },
	{ &form_chat, "DATA: {\"x\":1}\n\n", "in different ways" },
	{ &form_chat, "{\"choices\":[]}\n\n", "in different ways" },
	{ &form_chat, "data: {\"tool_calls\":[{}]}\n\n", "where none belongs" },
	{ &form_chat, "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"tool_use\"}]}}]}\n\n",
		"where none belongs" },
	{ &form_chat, "data: {\"choices\":[{\"delta\":{\"tool_calls\":{}}}]}\n\n", "no list" },
	{ &form_messages, BLOCK("0", "\"type\":\"something_new\"") STOP("0"), "not known" },
	{ &form_messages, INPUT("3", "{}") STOP("3"), "no name" },
	{ &form_messages, "event: ping\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
		"two names" },
	{ &form_messages,
		BLOCK("0", "\"type\":\"tool_use\",\"name\":\"a\",\"input\":{}") INPUT("0", "{") STOP("0"),
		"cannot be read" },
	{ &form_responses, ITEM("done", "\"type\":\"something_new\""), "not known" },
	{ &form_responses, ITEM("done", FUNCTION("{}")) COMPLETED(FUNCTION("{\\\"a\\\":1}")),
		"not the one that was decided" },
	{ &form_responses,
		ITEM("added", FUNCTION("")) "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"{ }\"}\n\n" ITEM(
			"done", FUNCTION("{}")),
		"in two ways" },
	{ &form_other, "data: {\"x\":{\"type\":\"tool_use\"}}\n\n", "where none belongs" },
};

static void what_cannot_be_understood_is_a_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct answer x;
		begin(&x, bad[i].form);
		feed(&x, bad[i].text, strlen(bad[i].text));
		if (!x.fault || !strstr(x.fault, bad[i].fault))
			fail_msg("%s: %s", bad[i].text, x.fault ? x.fault : "no fault");
		end(&x);
	}
}

static void an_event_has_a_limit(void **state)
{
	struct sse s = { .most_bytes = 8 };
	struct err e = { 0 };
	size_t taken;
	bool is_whole;

	(void)state;
	assert_int_equal(sse_take(&s, BYTES_LITERAL("data: 12"), &taken, &is_whole, &e), OK);
	assert_int_equal(sse_take(&s, BYTES_LITERAL("3"), &taken, &is_whole, &e), E_LIMIT);
	assert_string_equal(e.code, "SSE_SIZE");
	sse_free(&s);
}

/* What leaves when every call is refused, and the reason put in its place: read by the same reader, it holds no call. */
static void what_is_rewritten_holds_no_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct answer x, again;
		begin(&x, good[i].form);
		x.is_denied = true;
		feed(&x, good[i].text, strlen(good[i].text));
		assert_null(x.fault);
		begin(&again, good[i].form);
		feed(&again, x.passed.p, x.passed.n);
		assert_null(again.fault);
		assert_string_equal(again.calls.p, "");
		assert_int_equal(strstr(x.passed.p, "NO") != NULL, *good[i].calls != '\0');
		assert_null(strstr(x.passed.p, "\"finish_reason\":\"tool_calls\""));
		end(&again);
		end(&x);
	}
}

/* ---- a member less ---- */

/* Takes out the nth member of a document, at any depth; *n counts down.  False: it has fewer. */
static bool drop_member(struct json *doc, size_t *n)
{
	json_each_member (m, doc) {
		if ((*n)-- == 0)
			return json_remove(doc, m->name);
		if (drop_member(m->value, n))
			return true;
	}
	json_each (item, doc)
		if (drop_member(item, n))
			return true;
	return false;
}

/* The stream without the nth member of its events, told with the same lines around; false: it has fewer. */
static bool without_member(const char *text, size_t n, struct arena *a, struct buf *to)
{
	AUTO(sse_free) struct sse s = { .most_bytes = 1 << 20 };
	struct bytes in = bytes_of(text);
	bool is_dropped = false;

	while (in.n) {
		struct sse_event ev;
		struct json *doc;
		size_t taken;
		bool is_whole;
		assert_int_equal(sse_take(&s, in, &taken, &is_whole, NULL), OK);
		in = (struct bytes){ in.p + taken, in.n - taken };
		sse_read(&s, a, &ev);
		bool is_json = ev.has_data && json_parse(a, ev.data, "x", NULL, &doc, NULL) == OK;
		if (!is_dropped && is_json && drop_member(doc, &n)) {
			is_dropped = true;
			shape_event(to, ev.name, doc);
		} else {
			buf_add(to, ev.raw.p, ev.raw.n);
		}
		sse_next(&s);
	}
	return is_dropped;
}

/* What stands in a call and nowhere in what is said instead of it. */
static void holds_no_call(const char *passed, const char *from)
{
	static const char *const traces[] = { "get_weather", "\"read\"", "\"bash\"", "\"sh\"", "web_search",
		"\"function_call\":{", "\"tool_calls\":[", "\"arguments\"", "partial_json", "ls -l" };

	for (size_t i = 0; i < ARRAY_SIZE(traces); i++)
		if (strstr(passed, traces[i]))
			fail_msg("%s is left of\n%s\nin\n%s", traces[i], from, passed);
}

/* Whatever member a vendor leaves out: where every call is refused, none leaves, whether its reason is told in its place or all of it is held back. */
static void a_member_less_lets_no_call_through(void **state)
{
	size_t streams = 0, rewritten = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		for (size_t n = 0, is_there = 1; *good[i].calls && is_there; n++) {
			struct answer x, held;
			struct buf text;
			begin(&x, good[i].form);
			buf_init(&text, &x.a);
			is_there = without_member(good[i].text, n, &x.a, &text);
			x.is_denied = true;
			feed(&x, text.p, text.n);
			holds_no_call(x.passed.p, text.p);
			streams += is_there;
			rewritten += strstr(x.passed.p, "NO") != NULL;
			begin(&held, good[i].form);
			held.is_held_back = true;
			feed(&held, text.p, text.n);
			holds_no_call(held.passed.p, text.p);
			end(&held);
			end(&x);
		}
	assert_true(streams > 100 && rewritten > 20);
}

/* A mark of the order of bytes before the first event is no way around. */
static void a_mark_before_a_call_hides_nothing(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf" CALL("\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}") DONE;
	struct answer x;

	(void)state;
	begin(&x, &form_chat);
	x.is_denied = true;
	feed(&x, text, strlen(text));
	assert_string_equal(x.calls.p, "read{} ");
	holds_no_call(x.passed.p, text);
	end(&x);
}

static void whole_answers_are_read_the_same(void **state)
{
	static const struct {
		const struct form *form;
		const char *text;
		size_t calls;
		const char *fault;
	} cases[] = {
		{ &form_chat, "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}", 0, NULL },
		{ &form_chat,
			"{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}},"
			"{\"index\":1,\"message\":{\"function_call\":{\"name\":\"b\",\"arguments\":\"{}\"}}}]}",
			2, NULL },
		{ &form_chat, "{\"choices\":[{\"message\":{}}],\"tool_calls\":[{}]}", 0,
			"where none belongs" },
		{ &form_chat, "[]", 0, "no JSON object" },
		{ &form_messages,
			"{\"content\":[{\"type\":\"text\"},{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{\"type\":\"x_call\"}}]}",
			1, NULL },
		{ &form_responses, "{\"output\":[{\"type\":\"reasoning\"},{" FUNCTION("{}") "}]}", 1, NULL },
		{ &form_other, "{\"data\":[]}", 0, NULL },
		{ &form_other, "{\"output\":[{" FUNCTION("{}") "}]}", 1, NULL },
		{ &form_other, "{\"required_action\":{\"tool_calls\":[{}]}}", 0, "where none belongs" },
		/* Vendors of other forms: Gemini (whole and live), Bedrock's Converse, and others. */
		{ &form_other,
			"{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"a\",\"args\":{}}}]}}]}",
			0, "where none belongs" },
		{ &form_other, "{\"toolCall\":{\"functionCalls\":[{\"name\":\"a\"}]}}", 0,
			"where none belongs" },
		{ &form_other,
			"{\"output\":{\"message\":{\"content\":[{\"toolUse\":{\"name\":\"a\",\"input\":{}}}]}}}",
			0, "is no list" },
		{ &form_other, "{\"message\":{\"content\":[{\"toolUse\":{\"name\":\"a\",\"input\":{}}}]}}", 0,
			"where none belongs" },
		{ &form_other, "{\"parts\":[{\"type\":\"tool-call\",\"toolName\":\"a\"}]}", 0,
			"where none belongs" },
		{ &form_other, "{\"models\":[{\"id\":\"m\",\"tool_call\":true,\"toolUse\":\"yes\"}]}", 0,
			NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct assembly x;
		struct json *doc;
		form_begin(&x, cases[i].form, NULL);
		assert_int_equal(json_parse(&a, bytes_of(cases[i].text), "x", NULL, &doc, NULL), OK);
		enum seen seen = form_whole(&x, doc);
		assert_int_equal(x.n, cases[i].calls);
		assert_int_equal(seen == SEEN_DECIDE, cases[i].calls || cases[i].fault);
		assert_int_equal(x.fault != NULL, cases[i].fault != NULL);
		if (cases[i].fault)
			assert_non_null(strstr(x.fault, cases[i].fault));
		form_end(&x);
	}
}

static void events_are_alike_only_when_nothing_but_their_text_differs(void **state)
{
#define ONE(content) \
	"event: e\ndata: {\"type\":\"e\",\"n\":1,\"delta\":{\"content\": \"" content \
	"\"},\"sequence_number\":41}\n\n"
	static const char first[] = ONE("hello");
	static const struct {
		const char *text;
		bool is_alike;
	} cases[] = { { ONE("hello"), true }, { ONE(""), true },
		{ ONE("\\n \\\" { tool_calls ] \xc3\xa4, longer than before"), true },
		{ "event: e\ndata: {\"type\":\"e\",\"n\":1,\"delta\":{\"content\": \"x\"},\"sequence_number\":1000}\n\n",
			true },
		{ ONE("\\u0041"), false }, { ONE("\xff"), false }, { ONE("a\nb"), false },
		{ ONE("\\x"), false }, { ONE("x\",\"tool_calls\":[{}],\"y\":\""), false },
		{ "event: e\ndata: {\"type\":\"e\",\"n\":2,\"delta\":{\"content\": \"x\"},\"sequence_number\":1}\n\n",
			false },
		{ "event: f\ndata: {\"type\":\"e\",\"n\":1,\"delta\":{\"content\": \"x\"},\"sequence_number\":1}\n\n",
			false },
		{ "event: e\ndata: {\"type\":\"e\",\"n\":1,\"delta\":{\"content\": \"x\"},\"sequence_number\":01}\n\n",
			false },
		{ "event: e\ndata: {\"type\":\"e\",\"n\":1,\"delta\":{\"content\": \"x\"},\"sequence_number\":1}\n",
			false } };
	struct alike x = { .n = 0 };
	size_t n;

	(void)state;
	assert_int_equal(alike_take(&x, BYTES_LITERAL(first), &n), 0);
	alike_learn(&x, BYTES_LITERAL(first));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(alike_take(&x, bytes_of(cases[i].text), &n),
			cases[i].is_alike ? strlen(cases[i].text) : 0);
	assert_int_equal(
		alike_take(&x, BYTES_LITERAL(ONE("a") ONE("b") "data: {}\n\n"), &n), 2 * strlen(ONE("a")));
	assert_int_equal(n, 2);
	/* Nothing in it may differ, it is more than one line, or too long to be worth it. */
	alike_learn(&x, BYTES_LITERAL("data: {\"type\":\"ping\"}\n\n"));
	assert_int_equal(x.n, 0);
	alike_learn(&x, BYTES_LITERAL("data: {\"content\":\ndata: \"x\"}\n\n"));
	assert_int_equal(x.n, 0);
	alike_learn(&x, BYTES_LITERAL("data: {\"content\":\"x\"}\r\n\r\n"));
	assert_int_equal(x.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_the_same_wherever_it_is_cut),
		cmocka_unit_test(nothing_of_a_call_passes_before_it_is_decided),
		cmocka_unit_test(what_cannot_be_understood_is_a_fault),
		cmocka_unit_test(an_event_has_a_limit),
		cmocka_unit_test(what_is_rewritten_holds_no_call),
		cmocka_unit_test(a_member_less_lets_no_call_through),
		cmocka_unit_test(a_mark_before_a_call_hides_nothing),
		cmocka_unit_test(whole_answers_are_read_the_same),
		cmocka_unit_test(events_are_alike_only_when_nothing_but_their_text_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
