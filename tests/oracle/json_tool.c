/* json_tool.c — answers for us in differential tests: one question per line on standard input, one answer per line.
 *
 *     json_tool doubles     16 hex digits (bits of a double)   -> the text json_double() prints
 *     json_tool canonical   a document, as hex digits           -> its canonical bytes, or "! CODE"
 *     json_tool schema      {"schema": ..., "value": ...}       -> valid, invalid, or "! CODE"
 *     json_tool expression  {"expr": ..., "bindings": ...}      -> the value as canonical JSON, or "! CODE" */
#include "base/hash.h"
#include "base/schema.h"
#include "decide/expression/expression.h"

typedef void answer_fn(struct arena *a, struct bytes line);

static void answer_double(struct arena *a, struct bytes line)
{
	uint8_t big_endian[8];
	uint64_t bits = 0;
	double value;

	if (!hex_decode((const char *)line.p, line.n, big_endian, 8, true))
		abort();
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | big_endian[i];
	memcpy(&value, &bits, sizeof(value));
	struct json *v = json_double(a, value);
	puts(json_is(v, JSON_NUMBER) ? v->text : "null");
}

static void answer_canonical(struct arena *a, struct bytes line)
{
	size_t n = line.n / 2;
	uint8_t *text = arena_alloc(a, n + 1);
	struct json *v;
	struct err e;
	struct buf b;

	if (!hex_decode((const char *)line.p, line.n, text, n, true))
		abort();
	if (json_parse(a, (struct bytes){ text, n }, "oracle", NULL, &v, &e)) {
		printf("! %s\n", e.code);
		return;
	}
	buf_init(&b, a);
	json_canonical(&b, v);
	fwrite(b.p, 1, b.n, stdout);
	putchar('\n');
}

static void answer_expression(struct arena *a, struct bytes line)
{
	struct json *v, *value;
	struct expression *x;
	struct err e;
	struct buf b;

	if (json_parse(a, line, "oracle", NULL, &v, &e))
		abort();
	if (expression_compile(a, bytes_of(json_get_text(v, "expr", "")), "oracle", &x, &e) ||
		expression_value(x, json_get(v, "bindings"), a, &value, &e)) {
		printf("! %s\n", e.code);
		return;
	}
	buf_init(&b, a);
	json_canonical(&b, value);
	puts(b.p);
}

static void answer_schema(struct arena *a, struct bytes line)
{
	struct json_limits lim = { .depth = 200 };
	struct json *v;
	struct schema *s;
	struct err e;
	int rc = json_parse(a, line, "oracle", &lim, &v, &e);

	if (!rc)
		rc = schema_compile(a, json_get(v, "schema"), "oracle", &s, &e);
	if (rc) {
		printf("! %s\n", e.code);
		return;
	}
	rc = schema_check(s, json_get(v, "value"), &e);
	if (rc == E_LIMIT)
		printf("! %s\n", e.code);
	else
		puts(rc ? "invalid" : "valid");
}

int main(int argc, char **argv)
{
	answer_fn *fn = NULL;
	char *line = NULL;
	size_t room = 0;

	if (argc == 2 && text_eq(argv[1], "doubles"))
		fn = answer_double;
	else if (argc == 2 && text_eq(argv[1], "canonical"))
		fn = answer_canonical;
	else if (argc == 2 && text_eq(argv[1], "schema"))
		fn = answer_schema;
	else if (argc == 2 && text_eq(argv[1], "expression"))
		fn = answer_expression;
	if (!fn) {
		fprintf(stderr, "usage: json_tool doubles|canonical|schema|expression\n");
		return 2;
	}
	for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
		AUTO(arena_done) struct arena a = { 0 };
		fn(&a, (struct bytes){ (const uint8_t *)line, (size_t)n - (line[n - 1] == '\n') });
	}
	free(line);
	return 0;
}
