/* rules.c — build step: share/guard_rules.json becomes the shipped layer of decide/policy/policy.h.
 *
 *     generate-rules OUT.c guard_rules.json
 *
 * The file is read by the parser and the rule reader that read a workspace's own file, so what is accepted here is what the
 * program understands.  The digest of the very bytes that were read goes along: it is the hash of the policy in receipts. */
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "decide/policy/policy.h"

#include <errno.h>

enum { MAX_RULES = 1000 };

static struct arena a;

static void stop(const char *what, const char *why)
{
	(void)fprintf(stderr, "generate-rules: %s: %s\n", what, why);
	exit(1);
}

static struct bytes read_whole(const char *path)
{
	FILE *f = fopen(path, "re");
	struct buf b;
	char part[4096];

	if (!f)
		stop(path, strerror(errno));
	buf_init(&b, &a);
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
		buf_add(&b, part, n);
	if (ferror(f))
		stop(path, strerror(errno));
	(void)fclose(f);
	return buf_bytes(&b);
}

static void print_rule(FILE *to, const struct rule *r)
{
	(void)fprintf(to,
		"\t{ .when = { .kinds = UINT64_C(%ju), .first = %u, .n = %u }, .id = %u, .text = %u, .instead = %u,\n"
		"\t\t.recommended_profile = %u, .when_text = %u, .line = %u, .reason = %u, .action = %u, .undo = %u,\n"
		"\t\t.is_destructive = %d },\n",
		(uintmax_t)r->when.kinds, r->when.first, r->when.n, r->id, r->text, r->instead,
		r->recommended_profile, r->when_text, r->line, r->reason, r->action, r->undo,
		r->is_destructive);
}

static void print_tests(FILE *to, const struct when_maker *m)
{
	(void)fputs("};\n\nconst struct when_test shipped_tests[] = {\n", to);
	for (uint32_t i = 0; i < m->n; i++)
		(void)fprintf(to,
			"\t{ .bits = UINT64_C(%ju), .texts = %u, .field = %u, .is_not = %d }, /* %s */\n",
			(uintmax_t)m->tests[i].bits, m->tests[i].texts, m->tests[i].field, m->tests[i].is_not,
			when_field_name((enum when_field)m->tests[i].field));
}

static void print_kinds(FILE *to, const struct rule *rules, size_t n)
{
	size_t start[FX_KIND_COUNT + 1] = { 0 }, total = 0;

	(void)fputs("};\n\nconst uint16_t shipped_by_kind[] = {\n", to);
	for (int kind = 0; kind < FX_KIND_COUNT; kind++) {
		(void)fputs("\t", to);
		for (size_t i = 0; i < n; i++)
			if (rules[i].when.kinds >> kind & 1) {
				(void)fprintf(to, "%zu, ", i);
				total++;
			}
		(void)fprintf(to, "/* %s */\n", effect_kind_name((enum effect_kind)kind));
		start[kind + 1] = total;
	}
	(void)fputs("};\nconst uint16_t shipped_kind_start[FX_KIND_COUNT + 1] = {", to);
	for (int kind = 0; kind <= FX_KIND_COUNT; kind++)
		(void)fprintf(to, " %zu,", start[kind]);
	(void)fputs(" };\n", to);
}

static void print_texts(FILE *to, const struct buf *texts)
{
	(void)fputs("\nconst char shipped_text[] =\n\t\"", to);
	for (size_t i = 0; i + 1 < texts->n; i++) {
		unsigned char c = (unsigned char)texts->p[i];
		if (c == '\0')
			(void)fputs("\\0\"\n\t\"", to);
		else if (c < ' ' || c > '~')
			(void)fprintf(to, "\\%03o", c);
		else
			(void)fprintf(to, strchr("\"\\?", c) ? "\\%c" : "%c", c);
	}
	(void)fputs("\";\n", to); /* the last NUL is the compiler's */
}

static void read_rules(const char *path, struct bytes text, struct rule_layer_maker *ret)
{
	const struct json *list;
	struct json *doc;
	struct err e;

	rule_layer_begin(ret, &a, path, text);
	if (json_parse(&a, text, path, NULL, &doc, &e))
		stop("error", e.text);
	list = json_get(doc, "rules");
	if (!json_is(list, JSON_ARRAY) || !list->n || list->n > MAX_RULES)
		stop(path, "'rules' must be a list");
	json_each (rule, list) {
		if (!json_get_text(rule, "id", NULL))
			stop(path, "a rule has no 'id'");
		if (rule_layer_add(ret, rule, ACTION_ALLOW, &e))
			stop("error", e.text);
	}
}

int main(int argc, char **argv)
{
	struct rule_layer_maker made;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct bytes text;
	FILE *to;

	if (argc != 3) {
		(void)fputs("usage: generate-rules OUT.c guard_rules.json\n", stderr);
		return 64;
	}
	text = read_whole(argv[2]);
	read_rules(argv[2], text, &made);
	sha256(text.p, text.n, digest);
	hex_encode(digest, sizeof(digest), hex);
	to = fopen(argv[1], "we");
	if (!to)
		stop(argv[1], strerror(errno));
	(void)fputs("/* Made from share/guard_rules.json by tools/generate/rules.c. */\n"
		    "#include \"decide/policy/policy.h\"\n\nconst struct rule shipped_rules[] = {\n",
		to);
	for (uint32_t i = 0; i < made.n; i++)
		print_rule(to, &made.rules[i]);
	print_tests(to, &made.when);
	print_kinds(to, made.rules, made.n);
	print_texts(to, &made.when.texts);
	(void)fprintf(to, "\nconst size_t shipped_rule_count = %u;\nconst char shipped_sha256[] = \"%s\";\n",
		made.n, hex);
	if (ferror(to) || fclose(to))
		stop(argv[1], strerror(errno));
	arena_done(&a);
	return 0;
}
