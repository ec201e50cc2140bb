/* cases.c — running tables of cases; see cases.h. */
#include "tools/cases.h"

#include "base/hash.h"

#include <stdio.h>

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	abort();
}

struct bytes cases_read(struct arena *a, const char *path)
{
	struct buf b;
	char chunk[4096];
	FILE *f = fopen(path, "rb");

	if (!f)
		give_up(path, "cannot open");
	buf_init(&b, a);
	for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
		buf_add(&b, chunk, n);
	fclose(f);
	return buf_bytes(&b);
}

void cases_run(const char *file, cases_fn *fn)
{
	AUTO(arena_done) struct arena files = { 0 };
	struct bytes rest = cases_read(&files, file);
	struct json_limits lim = { .depth = 200 };
	int count = 0;

	while (rest.n) {
		AUTO(arena_done) struct arena a = { 0 };
		struct bytes line = text_cut(&rest, '\n');
		struct json *row;
		struct err e;
		if (line.n == 0)
			continue;
		count++;
		if (json_parse(&a, line, arena_printf(&a, "case %d", count), &lim, &row, &e))
			give_up(file, e.text);
		fn(&a, json_get_text(row, "name", "?"), json_get(row, "given"), json_get(row, "expect"));
	}
	if (count == 0)
		give_up(file, "no cases");
}

struct bytes cases_bytes(struct arena *a, const struct json *given)
{
	const char *hex = json_get_text(given, "hex", NULL);

	if (!hex)
		return (struct bytes){ (const uint8_t *)given->text, given->n };
	size_t n = strlen(hex) / 2;
	uint8_t *p = arena_alloc(a, n + 1);
	if (!hex_decode(hex, strlen(hex), p, n, true))
		give_up(hex, "not hex");
	return (struct bytes){ p, n };
}
