/* rules.c — build step: share/guard_rules.json becomes the data of decide/policy/policy.h (struct shipped_rule).
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
static struct buf pool; /* texts, one behind the other; the first is empty */

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

/* Distance of `n` bytes in the pool; what is there already is not added again. */
static size_t pool_bytes(const char *p, size_t n)
{
	const char *found = memmem(pool.p + 1, pool.n - 1, p, n);

	if (found)
		return (size_t)(found - pool.p);
	buf_add(&pool, p, n);
	return pool.n - n;
}

static size_t pool_text(const char *s)
{
	return s ? pool_bytes(s, strlen(s) + 1) : 0;
}

/* Texts that end with an empty one. */
static size_t pool_list(const char *list)
{
	const char *end = list;

	if (!list)
		return 0;
	while (*end)
		end += strlen(end) + 1;
	return pool_bytes(list, (size_t)(end - list) + 1);
}

static const char *when_text(const struct json *when)
{
	struct buf b;

	buf_init(&b, &a);
	json_write(&b, when, 0);
	return b.p;
}

static void print_rule(FILE *to, const struct rule *r)
{
	(void)fprintf(to,
		"\t{ .id = %zu, .text = %zu, .instead = %zu, .recommended_profile = %zu, .when = %zu,\n",
		pool_text(r->id), pool_text(r->text), pool_text(r->instead),
		pool_text(r->recommended_profile), pool_text(when_text(r->when)));
	(void)fprintf(to,
		"\t\t.tags = %zu, .programs = %zu, .not_programs = %zu, .targets = %zu, .hosts = %zu, .profiles = %zu,\n",
		pool_list(r->tags), pool_list(r->programs), pool_list(r->not_programs), pool_list(r->targets),
		pool_list(r->hosts), pool_list(r->profiles));
	(void)fprintf(to,
		"\t\t.kinds = UINT64_C(%ju), .flags = %u, .not_flags = %u, .classes = %u, .not_classes = "
		"%u,\n",
		(uintmax_t)r->kinds, r->flags, r->not_flags, r->classes, r->not_classes);
	(void)fprintf(to,
		"\t\t.reason = %d, .certainties = %u, .action = %d, .undo = %d, .where = %d,\n"
		"\t\t.is_destructive = %d, .only_above = %d, .only_read_only = %d, .only_uncontained = %d, .only_contained = %d },\n",
		(int)r->reason, r->certainties, (int)r->action, (int)r->undo, (int)r->where,
		r->is_destructive, r->only_above, r->only_read_only, r->only_uncontained, r->only_contained);
}

static void print_kinds(FILE *to, const struct rule *rules, size_t n)
{
	size_t start[FX_KIND_COUNT + 1] = { 0 }, total = 0;

	(void)fputs("};\n\nconst uint16_t shipped_by_kind[] = {\n", to);
	for (int kind = 0; kind < FX_KIND_COUNT; kind++) {
		(void)fputs("\t", to);
		for (size_t i = 0; i < n; i++)
			if (!rules[i].kinds || (rules[i].kinds >> kind & 1)) {
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

static void print_pool(FILE *to)
{
	(void)fputs("\nconst char shipped_text[] =\n\t\"", to);
	for (size_t i = 0; i + 1 < pool.n; i++) {
		unsigned char c = (unsigned char)pool.p[i];
		if (c == '\0')
			(void)fputs("\\0\"\n\t\"", to);
		else if (c < ' ' || c > '~')
			(void)fprintf(to, "\\%03o", c);
		else
			(void)fprintf(to, strchr("\"\\?", c) ? "\\%c" : "%c", c);
	}
	(void)fputs("\";\n", to); /* the last NUL is the compiler's */
}

static size_t read_rules(const char *path, struct bytes text, struct rule *rules)
{
	const struct json *list;
	struct json *doc;
	struct err e;
	size_t n = 0;

	if (json_parse(&a, text, path, NULL, &doc, &e))
		stop("error", e.text);
	list = json_get(doc, "rules");
	if (!json_is(list, JSON_ARRAY) || !list->n || list->n > MAX_RULES)
		stop(path, "'rules' must be a list");
	json_each (rule, list) {
		if (!json_get_text(rule, "id", NULL))
			stop(path, "a rule has no 'id'");
		if (rules_parse_one(&a, rule, path, &rules[n++], &e))
			stop("error", e.text);
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct rule rules[MAX_RULES];
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct bytes text;
	size_t n;
	FILE *to;

	if (argc != 3) {
		(void)fputs("usage: generate-rules OUT.c guard_rules.json\n", stderr);
		return 64;
	}
	buf_init(&pool, &a);
	buf_addc(&pool, '\0');
	text = read_whole(argv[2]);
	n = read_rules(argv[2], text, rules);
	sha256(text.p, text.n, digest);
	hex_encode(digest, sizeof(digest), hex);
	to = fopen(argv[1], "we");
	if (!to)
		stop(argv[1], strerror(errno));
	(void)fputs("/* Made from share/guard_rules.json by tools/generate/rules.c. */\n"
		    "#include \"decide/policy/policy.h\"\n\nconst struct shipped_rule shipped_rules[] = {\n",
		to);
	for (size_t i = 0; i < n; i++)
		print_rule(to, &rules[i]);
	print_kinds(to, rules, n);
	print_pool(to);
	(void)fprintf(to, "\nconst size_t shipped_rule_count = %zu;\nconst char shipped_sha256[] = \"%s\";\n",
		n, hex);
	if (ferror(to) || fclose(to))
		stop(argv[1], strerror(errno));
	arena_done(&a);
	return 0;
}
