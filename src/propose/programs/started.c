/* started.c — files that a program takes in from where it stands, without being told: pytest reads conftest.py, cmake reads
 * CMakeLists.txt, npm install runs what package.json says.
 *
 * One table says which program starts which file, and in which language it is written.  Code is read for literal calls (code.c), and
 * whatever carries command lines (settings of test runners, build descriptions) for those.  How much of it counts says
 * project.c: what reaches out of the project. */
#include "propose/programs/programs.h"

#include "base/conf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/toml.h"

#include <string.h>

/* tox.ini: "commands = ...", and the lines below it that stand further in. */
static void run_ini(struct call *k, struct bytes text, const char *path)
{
	bool is_inside = false;

	while (text.p && text.n) {
		struct bytes line = text_cut(&text, '\n');
		const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
		bool is_more = line.n && strchr(" \t", line.p[0]);
		if (!is_more)
			is_inside = equals &&
				(memmem(line.p, (size_t)(equals - (const char *)line.p), "command", 7) ||
					memmem(line.p, (size_t)(equals - (const char *)line.p), "_cmd", 4) ||
					memmem(line.p, (size_t)(equals - (const char *)line.p),
						"script-shell", 12));
		if (!is_inside)
			continue;
		const char *from = is_more ? (const char *)line.p : equals + 1;
		project_recipe(k,
			(struct bytes){
				(const uint8_t *)from, line.n - (size_t)(from - (const char *)line.p) },
			path);
	}
}

/* Procfile: "web: COMMAND". */
static void run_procfile(struct call *k, struct bytes text, const char *path)
{
	while (text.p && text.n) {
		struct bytes line = text_cut(&text, '\n');
		const uint8_t *colon = line.n && line.p[0] != '#' ? memchr(line.p, ':', line.n) : NULL;
		if (colon)
			project_recipe(
				k, (struct bytes){ colon + 1, line.n - (size_t)(colon + 1 - line.p) }, path);
	}
}

/* Every text of a document that stands where commands do: below a member of one of these names. */
static void run_members(
	struct call *k, const struct json *x, bool is_command, const char *names, const char *path)
{
	if (json_is(x, JSON_STRING) && is_command)
		project_recipe(k, (struct bytes){ (const uint8_t *)x->text, x->n }, path);
	if (json_is(x, JSON_ARRAY))
		json_each (item, x)
			run_members(k, item, is_command, names, path);
	if (json_is(x, JSON_OBJECT))
		json_each_member (m, x)
			run_members(
				k, m->value, is_command || list_has(names, m->name, m->name_n), names, path);
}

/* build-backend with a backend-path: the module that builds lies in the project. */
static void run_backend(struct call *k, const struct json *doc)
{
	struct arena *a = walk_arena(k->w);
	const struct json *system = json_get(doc, "build-system");
	const char *backend = json_get_text(system, "build-backend", NULL);

	if (!backend)
		return;
	char *module = arena_strndup(a, backend, strcspn(backend, ":"));
	for (char *p = strchr(module, '.'); p; p = strchr(p, '.'))
		*p = '/';
	json_each (dir, json_get(system, "backend-path")) {
		if (!json_text(dir))
			continue;
		const char *file = path_join(a, json_text(dir), module);
		project_code(k, project_here(k, arena_printf(a, "%s.py", file)), "python");
		project_code(k, project_here(k, arena_printf(a, "%s/__init__.py", file)), "python");
	}
}

/* One word of a call in CMakeLists.txt as the shell would read it: "${X}" is not known, ; separates. */
static void add_cmake_word(struct buf *to, const char *p, size_t n)
{
	buf_addc(to, ' ');
	for (size_t i = 0; i < n; i++)
		buf_addc(to, p[i] == ';' ? ' ' : p[i]);
}

/* execute_process(COMMAND rm -rf /x WORKING_DIRECTORY y), add_custom_command(... COMMAND ...), file(REMOVE_RECURSE /x): each as a
 * command line.  Words in capitals behind a command are the next argument of the call. */
static void run_cmake(struct call *k, struct bytes text, const char *path)
{
	static const struct {
		const char *word, *command;
	} means[] = { { "COMMAND", "" }, { "REMOVE_RECURSE", "rm -rf" }, { "REMOVE", "rm" },
		{ "WRITE", "tee" }, { "APPEND", "tee -a" }, { "TOUCH", "touch" }, { "GENERATE", "tee" } };
	struct arena *a = walk_arena(k->w);
	const char *p = arena_strndup(a, (const char *)text.p, text.n);
	struct buf line;
	bool is_open = false;

	buf_init(&line, a);
	while (*p) {
		if (*p == '#') {
			p += strcspn(p, "\n");
			continue;
		}
		if (strchr(" \t\r\n(", *p)) {
			p++;
			continue;
		}
		size_t n = *p == '"' ? strcspn(p + 1, "\"") + 2 : *p == ')' ? 1 : strcspn(p, " \t\r\n()#");
		n = strnlen(p, n);
		bool is_keyword = n > 2 && strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == n;
		if (*p == ')' || is_keyword) {
			if (is_open)
				project_recipe(k, buf_bytes(&line), path);
			is_open = false;
			for (size_t i = 0; is_keyword && i < ARRAY_SIZE(means); i++)
				if (strlen(means[i].word) == n && memcmp(means[i].word, p, n) == 0) {
					buf_init(&line, a);
					buf_adds(&line, means[i].command);
					is_open = true;
				}
		} else if (is_open) {
			add_cmake_word(&line, p, n);
		}
		p += n;
	}
}

/* The text of an attribute or element: from `p` to the end mark. */
static const char *xml_text(struct arena *a, const char *p, const char *end)
{
	return arena_strndup(a, p, strcspn(p, end));
}

/* pom.xml: <executable>rm</executable> with the arguments behind it; build.xml: <exec executable="rm"><arg value="-rf"/>,
 * <delete dir="/x"/>. */
static void run_xml(struct call *k, struct bytes text, const char *path)
{
	static const struct {
		const char *mark, *end, *command; /* NULL: a word of the command that was begun */
	} means[] = { { "<executable>", "<", "" }, { " executable=\"", "\"", "" },
		{ "<argument>", "<", NULL }, { "<commandlineArgs>", "<", NULL },
		{ "<arg value=\"", "\"", NULL }, { "<arg line=\"", "\"", NULL },
		{ "<delete dir=\"", "\"", "rm -rf" }, { "<delete file=\"", "\"", "rm" },
		{ "<touch file=\"", "\"", "touch" }, { " tofile=\"", "\"", "tee" },
		{ " todir=\"", "\"", "touch" } };
	struct arena *a = walk_arena(k->w);
	const char *p = arena_strndup(a, (const char *)text.p, text.n);
	struct buf line;

	buf_init(&line, a);
	for (; *p; p++) {
		if (*p != '<' && *p != ' ')
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
			if (!text_starts(p, means[i].mark))
				continue;
			const char *value = xml_text(a, p + strlen(means[i].mark), means[i].end);
			if (means[i].command) {
				project_recipe(k, buf_bytes(&line), path);
				buf_init(&line, a);
				buf_adds(&line, means[i].command);
			}
			buf_addf(&line, " %s", value);
			break;
		}
	}
	project_recipe(k, buf_bytes(&line), path);
}

/* //go:generate COMMAND */
static void run_generate(struct call *k, struct bytes text, const char *path)
{
	static const char mark[] = "//go:generate ";

	while (text.p && text.n) {
		struct bytes line = text_cut(&text, '\n');
		if (line.n > sizeof(mark) && memcmp(line.p, mark, sizeof(mark) - 1) == 0)
			project_recipe(k,
				(struct bytes){ line.p + sizeof(mark) - 1, line.n - sizeof(mark) + 1 }, path);
	}
}

/* What stands where commands do, by the kind of document. */
static const char command_names[] = "run run_windows hooks script scripts tasks cmd entry command commands";
static const char install_names[] =
	"preinstall install postinstall prepublish preprepare prepare postprepare dependencies";
static const char pack_names[] =
	"prepack postpack prepare prepublishOnly publish postpublish preversion version postversion";

static void run_document(struct call *k, struct bytes text, const char *path, const char *language)
{
	struct arena *a = walk_arena(k->w);
	struct json *doc = NULL;

	if (text_eq(language, "yaml")		      ? conf_parse_yaml(a, text, path, &doc, NULL)
			: text_ends(language, "json") ? json_parse(a, text, path, NULL, &doc, NULL)
						      : toml_parse(a, text, path, &doc, NULL))
		return;
	if (text_eq(language, "pack.json"))
		run_members(k, json_get(doc, "scripts"), false, pack_names, path);
	else if (text_eq(language, "install.json"))
		run_members(k, json_get(doc, "scripts"), false, install_names, path);
	else
		run_members(k, doc, false, command_names, path);
	if (text_eq(language, "toml"))
		run_backend(k, doc);
}

void project_document(struct call *k, const char *path, const char *language)
{
	struct bytes text;

	if (!path || !project_text(k, path, &text))
		return;
	if (text_eq(language, "ini"))
		run_ini(k, text, path);
	else if (text_eq(language, "procfile"))
		run_procfile(k, text, path);
	else if (text_eq(language, "go"))
		run_generate(k, text, path);
	else if (text_eq(language, "cmake"))
		run_cmake(k, text, path);
	else if (text_eq(language, "xml"))
		run_xml(k, text, path);
	else
		run_document(k, text, path, language);
}

static void run_started(struct call *k, const char *path, const char *language)
{
	if (list_has("ini toml yaml json install.json pack.json go cmake xml procfile", language,
		    strlen(language)))
		project_document(k, path, language);
	else
		project_code(k, path, language);
}

/* pytest takes in each conftest.py on the way to the tests that are named, and the tests. */
static void run_tests(struct call *k)
{
	struct arena *a = walk_arena(k->w);

	for (size_t i = 0; i < k->rest_count && i < 16; i++) {
		const struct word *x = &k->rest[i];
		if (x->certainty != CERTAIN || x->text[0] == '-' || !x->text_n)
			continue;
		char *name = arena_strndup(a, x->text, strcspn(x->text, ":"));
		if (text_ends(name, ".py"))
			project_code(k, project_here(k, name), "python");
		for (char *end = name + strlen(name); end; end = strrchr(name, '/')) {
			*end = '\0';
			project_code(k, project_here(k, arena_printf(a, "%s/conftest.py", name)), "python");
		}
	}
}

/* `words`: only with one of them among the arguments; "" stands for no argument at all. */
static const struct {
	const char *programs, *files, *language, *words;
} started[] = {
	{ "pytest py.test tox nox", "conftest.py tests/conftest.py test/conftest.py", "python", NULL },
	{ "pip pip3 uv pipx", "setup.py", "python", ". .[dev] .[test] .[all] -e --editable build sync" },
	{ "pip pip3 uv pipx", "pyproject.toml", "toml", ". .[dev] .[test] .[all] -e --editable build sync" },
	{ "build flit hatch poetry pdm", "setup.py build.py hatch_build.py", "python", NULL },
	{ "build flit hatch poetry pdm poe rye", "pyproject.toml", "toml", NULL },
	{ "tox", "tox.ini setup.cfg", "ini", NULL },
	{ "nox", "noxfile.py", "python", NULL },
	{ "scons", "SConstruct SConscript", "python", NULL },
	{ "waf", "wscript", "python", NULL },
	{ "fab", "fabfile.py", "python", NULL },
	{ "invoke inv", "tasks.py", "python", NULL },
	{ "doit", "dodo.py", "python", NULL },
	{ "snakemake", "Snakefile workflow/Snakefile", "python", NULL },
	{ "celery", "celeryconfig.py", "python", NULL },
	{ "gunicorn", "gunicorn.conf.py", "python", NULL },
	{ "alembic", "alembic/env.py migrations/env.py", "python", NULL },
	{ "rake", "Rakefile rakefile Rakefile.rb", "ruby", NULL },
	{ "bundle bundler", "Gemfile", "ruby", NULL },
	{ "rspec", "spec/spec_helper.rb", "ruby", NULL },
	{ "vagrant", "Vagrantfile", "ruby", NULL },
	{ "pod", "Podfile", "ruby", NULL },
	{ "gulp", "gulpfile.js gulpfile.mjs gulpfile.ts", "node", NULL },
	{ "grunt", "Gruntfile.js", "node", NULL },
	{ "webpack", "webpack.config.js webpack.config.cjs webpack.config.ts", "node", NULL },
	{ "jest", "jest.config.js jest.config.cjs jest.config.mjs jest.config.ts jest.setup.js", "node",
		NULL },
	{ "karma", "karma.conf.js", "node", NULL },
	{ "mocha", ".mocharc.js .mocharc.cjs", "node", NULL },
	{ "playwright", "playwright.config.js playwright.config.ts", "node", NULL },
	{ "cypress", "cypress.config.js cypress.config.ts", "node", NULL },
	{ "vite vitest", "vite.config.js vite.config.ts vite.config.mjs vitest.config.js vitest.config.ts",
		"node", NULL },
	{ "rollup", "rollup.config.js rollup.config.mjs", "node", NULL },
	{ "next", "next.config.js next.config.mjs next.config.ts", "node", NULL },
	{ "eslint", "eslint.config.js eslint.config.mjs .eslintrc.js .eslintrc.cjs", "node", NULL },
	{ "prettier", "prettier.config.js prettier.config.mjs .prettierrc.js", "node", NULL },
	{ "babel", "babel.config.js babel.config.cjs babel.config.mjs .babelrc.js", "node", NULL },
	{ "postcss tailwindcss tailwind",
		"postcss.config.js postcss.config.cjs tailwind.config.js tailwind.config.ts", "node", NULL },
	{ "nuxt nuxi", "nuxt.config.js nuxt.config.ts", "node", NULL },
	{ "astro", "astro.config.mjs astro.config.js astro.config.ts", "node", NULL },
	{ "storybook", ".storybook/main.js .storybook/main.ts .storybook/main.cjs", "node", NULL },
	{ "expo metro react-native", "metro.config.js app.config.js app.config.ts", "node", NULL },
	{ "ava", "ava.config.js ava.config.cjs ava.config.mjs", "node", NULL },
	{ "tsup", "tsup.config.js tsup.config.ts", "node", NULL },
	{ "knex", "knexfile.js knexfile.ts", "node", NULL },
	{ "drizzle-kit", "drizzle.config.ts drizzle.config.js", "node", NULL },
	{ "pnpm", ".pnpmfile.cjs pnpmfile.js", "node", NULL },
	{ "npm pnpm yarn npx", ".npmrc", "ini", NULL },
	{ "deno", "deno.json deno.jsonc", "json", "task" },
	{ "devbox", "devbox.json", "json", NULL },
	{ "nx", "project.json", "json", NULL },
	{ "guard", "Guardfile", "ruby", NULL },
	{ "danger", "Dangerfile", "ruby", NULL },
	{ "fastlane", "fastlane/Fastfile Fastfile", "ruby", NULL },
	{ "rails", "config/boot.rb config/application.rb", "ruby", NULL },
	{ "cap", "Capfile config/deploy.rb", "ruby", NULL },
	{ "tilt", "Tiltfile", "python", NULL },
	{ "foreman honcho overmind hivemind goreman forego", "Procfile Procfile.dev", "procfile", NULL },
	{ "npm pnpm yarn bun", "package.json", "install.json",
		"install i in ins inst insta instal isnt isnta isntal isntall ci ic clean-install install-clean it install-test cit "
		"clean-install-test install-ci-test sit add a update up upgrade udpate rebuild rb link ln dedupe pack publish" },
	{ "npm pnpm yarn bun", "package.json", "pack.json", "pack publish version" },
	{ "yarn", "package.json", "install.json", "" },
	{ "composer", "composer.json", "json", NULL },
	{ "cargo", "build.rs", "rust", NULL },
	{ "gradle gradlew", "build.gradle settings.gradle build.gradle.kts settings.gradle.kts init.gradle",
		"groovy", NULL },
	{ "sbt", "build.sbt project/plugins.sbt", "groovy", NULL },
	{ "mix", "mix.exs", "groovy", NULL },
	{ "meson", "meson.build", "groovy", NULL },
	{ "cmake ctest cpack", "CMakeLists.txt CTestTestfile.cmake CTestConfig.cmake", "cmake", NULL },
	{ "mvn mvnw", "pom.xml", "xml", NULL },
	{ "ant", "build.xml", "xml", NULL },
	{ "mise", "mise.toml .mise.toml .config/mise.toml mise.local.toml", "toml", NULL },
	{ "pre-commit", ".pre-commit-config.yaml", "yaml", NULL },
	{ "lefthook", "lefthook.yml .lefthook.yml lefthook.yaml", "yaml", NULL },
	{ "dvc", "dvc.yaml", "yaml", "repro exp run" },
	{ "go", "generate.go gen.go main.go doc.go tools.go", "go", "generate" },
};

static bool has_one_of(const struct call *k, const char *words)
{
	for (size_t i = 0; words && i < k->rest_count; i++)
		if (word_is_any(&k->rest[i], words))
			return true;
	return !words || (!*words && !k->rest_count);
}

void project_started(struct call *k)
{
	struct arena *a = walk_arena(k->w);
	struct bytes text;
	/* Of others it is said that they start something, where there is such a file. */
	bool is_build = k->program && k->program->tag == TAG_SCRIPT_BUILD;

	if (!project_is_read(k) && !*walk_notes(k->w))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(started); i++) {
		struct bytes rest = bytes_of(started[i].files);
		if (!list_has(started[i].programs, k->head, strlen(k->head)) ||
			!has_one_of(k, started[i].words))
			continue;
		while (rest.p && rest.n) {
			struct bytes name = text_cut(&rest, ' ');
			const char *path = project_here(k, arena_strndup(a, (const char *)name.p, name.n));
			if (!path || (!is_build && !project_text(k, path, &text)))
				continue;
			run_started(k, path, started[i].language);
			if (!is_build)
				fx_name(k, TAG_SCRIPT_BUILD, path, 0);
		}
	}
	if (list_has("pytest py.test", k->head, strlen(k->head)))
		run_tests(k);
}
