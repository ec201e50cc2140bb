/* profiles.c — build step: the shipped profiles become the data of model/profile_shipped.h.
 *
 *     generate-profiles OUT.c execution_profiles.json tool_groups.json LIST.txt...
 *
 * The files are read by the code that reads a workspace's own, so what is accepted here is what the program understands.  The lists of hosts are
 * read where that code finds them, inside this program; they are named so that a change of them is noticed. */
#include "base/json.h"
#include "base/text.h"
#include "model/profile_shipped.h"

#include <errno.h>

static struct arena a;
static struct buf pool; /* texts, one behind the other; the first is empty */
static struct buf lists; /* numbers, as C has them */
static struct buf hosts;
static size_t list_n = 1, host_n;

static void stop(const char *what, const char *why)
{
	(void)fprintf(stderr, "generate-profiles: %s: %s\n", what, why);
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

/* Distance in the pool; what is there already is not added again. */
static size_t put_text(const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	const char *found = s ? memmem(pool.p + 1, pool.n - 1, s, n) : NULL;

	if (!s)
		return 0;
	if (!found) {
		buf_add(&pool, s, n);
		found = pool.p + pool.n - n;
	}
	if (found - pool.p > UINT16_MAX)
		stop("too much text", s);
	return (size_t)(found - pool.p);
}

static const char *put_list(const char *const *list, size_t n)
{
	const char *where = arena_printf(&a, "{ %zu, %zu }", list ? list_n : 0, n);

	for (size_t i = 0; i < n; i++)
		buf_addf(&lists, " %zu,", put_text(list[i]));
	list_n += n;
	return where;
}

static const char *put_hosts(const struct egress_rules *rules)
{
	const char *where = arena_printf(&a, "{ %zu, %zu }", host_n, rules->n);

	for (size_t i = 0; i < rules->n; i++) {
		const struct egress_rule *r = &rules->list[i];
		buf_addf(&hosts, "\t{ %zu, %zu, %zu, %u, %d, {", put_text(r->text), put_text(r->from),
			put_text(r->host), r->port, r->is_below);
		for (size_t k = 0; k < EGRESS_ADDRESS; k++)
			buf_addf(&hosts, " %u,", r->address[k]);
		buf_adds(&hosts, " } },\n");
	}
	host_n += rules->n;
	return where;
}

static void print_profile(FILE *to, const struct profile *p)
{
	const struct {
		const char *name, *value;
	} texts[] = { { "name", p->name }, { "description", p->description }, { "backend", p->backend },
		{ "runtime_backend", p->runtime_backend }, { "runtime_target_kind", p->runtime_target_kind },
		{ "isolation", p->isolation }, { "browser_policy_ref", p->browser_policy_ref } };

	(void)fputs("\t{", to);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		(void)fprintf(to, " .%s = %zu,", texts[i].name, put_text(texts[i].value));
	(void)fprintf(to, "\n\t\t.handoff_required = %d, .writes = %d, .network = %d, .checkpoint = %d,",
		p->handoff_required, (int)p->writes, (int)p->network, (int)p->checkpoint);
	(void)fprintf(to, " .reach = %d, .sandbox = %d, .destructive = %d, .unknown_tool = %d,",
		(int)p->reach, (int)p->sandbox, (int)p->destructive, (int)p->unknown_tool);
	(void)fprintf(to, " .unread = %d, .contained = %d, .requires = %u,\n\t\t.tool_rules = {",
		(int)p->unread, (int)p->contained, p->requires);
	for (size_t i = 0; i < GROUP_COUNT; i++)
		(void)fprintf(to, " %d,", (int)p->tool_rules[i]);
	(void)fputs(" },\n\t\t.limits = {", to);
#define PRINT_LIMIT(id) (void)fprintf(to, " .%s = %lld,", #id, (long long)p->limits.id);
	LIMITS(PRINT_LIMIT)
#undef PRINT_LIMIT
	(void)fprintf(to, " },\n\t\t.secrets = %s, .egress = %s, .own_paths = %s, .layers = %s,",
		put_list(p->secrets, p->secret_count), put_list(p->egress, p->egress_count),
		put_list(p->own_paths, p->own_path_count), put_list(p->layers, p->layer_count));
	(void)fprintf(to, " .write_paths = %s, .intended_for = %s, .hosts = %s },\n",
		put_list(p->write_paths, p->write_path_count),
		put_list(p->intended_for, p->intended_for_count), put_hosts(&p->hosts));
}

static void print_pool(FILE *to)
{
	(void)fputs("const char profile_texts[] =\n\t\"", to);
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

int main(int argc, char **argv)
{
	struct profiles all;
	struct err e;
	FILE *to;

	if (argc < 4) {
		(void)fputs(
			"usage: generate-profiles OUT.c execution_profiles.json tool_groups.json LIST.txt...\n",
			stderr);
		return 64;
	}
	buf_init(&pool, &a);
	buf_addc(&pool, '\0');
	buf_init(&lists, &a);
	buf_init(&hosts, &a);
	if (profiles_parse(&a, read_whole(argv[2]), argv[2], read_whole(argv[3]), argv[3], &all, &e))
		stop("error", e.text);
	if (all.warning_count)
		stop("warning", all.warnings[0]);
	to = fopen(argv[1], "we");
	if (!to)
		stop(argv[1], strerror(errno));
	(void)fputs(
		"/* Made from share/execution_profiles.json and its companions by tools/generate/profiles.c. */\n"
		"#include \"model/profile_shipped.h\"\n\nconst struct shipped_profile profile_rows[] = {\n",
		to);
	for (size_t i = 0; i < all.count; i++)
		print_profile(to, &all.list[i]);
	(void)fprintf(to, "};\n\nconst size_t profile_row_count = %zu;\n", all.count);
	(void)fprintf(to, "const uint16_t profile_lists[] = { 0,%s };\n", lists.p);
	(void)fprintf(to, "const struct shipped_host profile_hosts[] = {\n%s};\n", hosts.p);
	print_pool(to);
	if (ferror(to) || fclose(to))
		stop(argv[1], strerror(errno));
	arena_done(&a);
	return 0;
}
