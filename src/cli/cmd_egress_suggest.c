/* cmd_egress_suggest.c — egress suggest: which hosts does the work in this directory need?
 *
 * Lock files, package lists and git remotes name them: a file of a package manager needs that manager's registry, and every URL in
 * one needs its host.  Files are read as text, line by line, because only hosts are wanted and none of the formats hides them.  What
 * is found is a suggestion: these files come with the tree, and anybody may have written them. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/workspace.h"
#include "model/egress.h"

#include <fcntl.h>
#include <string.h>

enum { MAX_FILE = 64 << 20, MAX_HOSTS = 200 };

/* A file that a tool reads, and what it needs whatever stands in it. */
static const struct source {
	const char *file, *list; /* list NULL: only what it says */
} sources[] = {
	{ "package-lock.json", "@npm" },
	{ "npm-shrinkwrap.json", "@npm" },
	{ "package.json", "@npm" },
	{ "yarn.lock", "@npm" },
	{ "pnpm-lock.yaml", "@npm" },
	{ ".npmrc", NULL },
	{ ".yarnrc.yml", NULL },
	{ "poetry.lock", "@pypi" },
	{ "uv.lock", "@pypi" },
	{ "Pipfile.lock", "@pypi" },
	{ "requirements.txt", "@pypi" },
	{ "pyproject.toml", "@pypi" },
	{ "Cargo.lock", "@crates" },
	{ "Cargo.toml", "@crates" },
	{ "go.mod", "@go" },
	{ "go.sum", "@go" },
	{ "Gemfile.lock", "@rubygems" },
	{ "pom.xml", "@maven" },
	{ "build.gradle", "@maven" },
	{ "build.gradle.kts", "@maven" },
	{ "settings.gradle", "@maven" },
	{ "gradle/wrapper/gradle-wrapper.properties", "@maven" },
	{ "composer.lock", "@packagist" },
	{ "packages.lock.json", "@nuget" },
	{ "mix.lock", "@hex" },
	{ ".gitmodules", NULL },
	{ ".git/config", NULL },
};
static const char *const apt_sources[] = { "/etc/apt/sources.list", "/etc/apt/sources.list.d" };

struct found {
	struct cli *r;
	struct json *rows;
	struct egress_rules have; /* what was suggested so far */
	const char *file;
};

static void suggest(struct found *f, const char *rule, const char *why)
{
	struct arena *a = f->r->a;
	struct json *row = json_new(a, JSON_OBJECT);

	if (f->rows->n >= MAX_HOSTS || egress_add(a, &f->have, rule, "", NULL))
		return;
	json_sets(a, row, "rule", rule);
	json_sets(a, row, "needed_by", f->file);
	json_sets(a, row, "why", why);
	json_push(a, f->rows, row);
}

/* A host that a rule covers already, or that is none, is passed over. */
static void suggest_host(struct found *f, const char *p, size_t n, uint16_t port, const char *why)
{
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	const char *host;
	bool is_address;
	size_t host_n;

	if (!egress_split(p, n, &host, &host_n, &port) ||
		!egress_host(host, host_n, name, &is_address, address) || !strchr(name, '.') || is_address ||
		egress_names(&f->have, name, port))
		return;
	suggest(f,
		port == 80 || port == 443 ? arena_strdup(f->r->a, name)
					  : arena_printf(f->r->a, "%s:%u", name, port),
		why);
}

static const struct scheme {
	const char *text;
	uint16_t port;
} schemes[] = { { "https://", 443 }, { "http://", 80 }, { "ssh://", 22 }, { "git://", 9418 } };

/* Every URL of a line.  Who stands in front of an '@' is not the host. */
static void take_urls(struct found *f, const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		for (const char *at = line; (at = strstr(at, schemes[i].text)); at++) {
			const char *p = at + strlen(schemes[i].text);
			size_t n = strcspn(p, "/?#\"'<> \t)],\\");
			const char *user = memrchr(p, '@', n);
			if (user) {
				n -= (size_t)(user + 1 - p);
				p = user + 1;
			}
			suggest_host(f, p, n, schemes[i].port, "a URL in it");
		}
}

/* "url = git@host:path": what git takes for ssh without saying so. */
static void take_remote(struct found *f, const char *line)
{
	const char *at = strstr(line, "url = "), *user = at ? strchr(at, '@') : NULL;

	if (!user || strstr(at, "://"))
		return;
	suggest_host(f, user + 1, strcspn(user + 1, ":/"), 22, "a git remote over ssh");
}

/* Lines that are comments name nobody. */
static void take_text(struct found *f, struct bytes text)
{
	bool is_git = text_eq(f->file, ".git/config") || text_eq(f->file, ".gitmodules");
	AUTO(arena_done) struct arena a = { 0 };

	while (text.p) {
		struct bytes line = text_cut(&text, '\n');
		size_t skip = 0;
		while (skip < line.n && (line.p[skip] == ' ' || line.p[skip] == '\t'))
			skip++;
		if (skip == line.n || line.p[skip] == '#')
			continue;
		const char *copy = arena_strndup(&a, (const char *)line.p, line.n);
		take_urls(f, copy);
		if (is_git)
			take_remote(f, copy);
		arena_reset(&a);
	}
}

static void take_file(struct found *f, const char *file, const char *list)
{
	struct cli *r = f->r;
	struct bytes text;

	if (file_read(r->sys, r->a, AT_FDCWD, file, MAX_FILE, 0, &text, NULL))
		return;
	f->file = arena_strdup(r->a, file);
	if (list) {
		struct egress_rules same = { 0 };
		bool is_new = egress_add(r->a, &same, list, "", NULL) == OK && same.n &&
			!egress_names(&f->have, same.list[0].host, 443);
		if (is_new)
			suggest(f, list, "the registry it comes from");
	}
	take_text(f, text);
}

/* The archive that this machine's packages come from. */
static void take_apt(struct found *f)
{
	struct cli *r = f->r;
	char **names;
	size_t n;

	take_file(f, apt_sources[0], NULL);
	if (file_list(r->sys, r->a, AT_FDCWD, apt_sources[1], &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (text_ends(names[i], ".list") || text_ends(names[i], ".sources"))
			take_file(f, arena_printf(r->a, "%s/%s", apt_sources[1], names[i]), NULL);
}

int cmd_egress_suggest(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "RULE", "NEEDED BY", "WHY" };
	struct found f = { .r = r, .rows = json_new(r->a, JSON_ARRAY) };

	(void)e;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		take_file(&f, sources[i].file, sources[i].list);
	take_apt(&f);
	if (r->is_json) {
		out_json(r, f.rows);
		return 0;
	}
	if (!f.rows->n) {
		out(r, "Nothing here names a host.\n");
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (row, f.rows) {
		const char *cells[] = { json_get_text(row, "rule", ""), json_get_text(row, "needed_by", ""),
			json_get_text(row, "why", "") };
		for (size_t i = 0; i < ARRAY_SIZE(cells); i++)
			cells[i] = text_safe(r->a, cells[i], strlen(cells[i]), false);
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}
