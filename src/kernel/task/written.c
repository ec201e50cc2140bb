/* written.c — is what was just written still what its name says it is?
 *
 * After a run and after a hook's call the files that were written are read once more: JSON, YAML, TOML, C and C++ here, Python, shell and
 * JavaScript by the syntax check of their own interpreter, in a sandbox that writes nothing and reaches nothing.  Nothing is executed and
 * nothing is decided: what does not parse is said, with file and line, and stands in the ledger entry.
 *
 * Only what is certain is said.  Dialects (comments in JSON, templates in YAML, features that our readers do not have) are not checked, and
 * files of dependencies and builds are not looked at. */
#include "base/conf.h"
#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MOST = 24, FILE_BYTES = 1 << 20, TOLD_MOST = 5, CHECK_SECONDS = 5 };

enum kind { KIND_NONE, KIND_JSON, KIND_YAML, KIND_TOML, KIND_C, KIND_PYTHON, KIND_SHELL, KIND_SCRIPT };
static const char *const kind_names[] = { "", "json", "yaml", "toml", "c", "python", "shell", "javascript" };

struct checking {
	struct kernel *k;
	struct arena *a;
	const struct surroundings *at;
	const char *tree;
	int tree_fd;
	struct json *gates, *paths; /* of the ledger entry */
	struct buf said;
	size_t told, left_out;
};

/* ---- which files ---- */

static enum kind kind_of(const char *path)
{
	static const struct {
		const char *ending;
		enum kind kind;
	} table[] = { { ".json", KIND_JSON }, { ".yaml", KIND_YAML }, { ".yml", KIND_YAML },
		{ ".toml", KIND_TOML }, { ".c", KIND_C }, { ".h", KIND_C }, { ".cc", KIND_C },
		{ ".cpp", KIND_C }, { ".hpp", KIND_C }, { ".py", KIND_PYTHON }, { ".sh", KIND_SHELL },
		{ ".bash", KIND_SHELL }, { ".mjs", KIND_SCRIPT }, { ".cjs", KIND_SCRIPT } };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (text_ends(path, table[i].ending) && path_base(path)[0] != '.')
			return table[i].kind;
	return KIND_NONE;
}

/* Files that nobody here wrote by hand, and JSON that may have comments. */
static bool is_left_alone(const char *path)
{
	static const char *const parts[] = { "node_modules", ".git", ".venv", "venv", "vendor", "dist",
		"build", "target", "__pycache__", ".vscode", ".helm", "site-packages" };
	static const char *const commented[] = { "tsconfig", "jsconfig", "devcontainer", "babel", "deno",
		"turbo", "biome", "api-extractor", "typedoc", "language-configuration" };
	const char *base = path_base(path);

	for (size_t i = 0; i < ARRAY_SIZE(commented); i++)
		if (text_starts(base, commented[i]))
			return true;
	for (const char *p = path; p < base; p += strcspn(p, "/") + 1)
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			if (strcspn(p, "/") == strlen(parts[i]) && memcmp(p, parts[i], strlen(parts[i])) == 0)
				return true;
	return false;
}

/* ---- what is read here ---- */

static int line_of(const char *from, const char *at)
{
	int n = 1;

	for (; from < at; from++)
		n += *from == '\n';
	return n;
}

/* Past a text or a character of C that begins at `p`; NULL: its line ends first. */
static const char *behind_quotes(const char *p)
{
	const char quote = *p++;

	for (; *p && *p != '\n'; p++)
		if (*p == '\\' && p[1])
			p++;
		else if (*p == quote)
			return p + 1;
	return NULL;
}

/* Comments that do not end, and #if without #endif or the other way round.  What a compiler would say of the rest needs its options. */
static int check_c(struct bytes text, const char *name, struct err *e)
{
	const char *begin = (const char *)text.p, *open[64];
	size_t depth = 0;
	bool is_line_begin = true;

	for (const char *p = begin; *p;) {
		const char *word = p + 1 + strspn(p + 1, " \t");
		if (p[0] == '/' && p[1] == '*') {
			const char *end = strstr(p + 2, "*/");
			if (!end)
				return err_set(e, E_INPUT, "C_SYNTAX", "%s:%d: a comment that does not end",
					name, line_of(begin, p));
			p = end + 2;
			continue;
		}
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
			continue;
		}
		if (*p == '"' || *p == '\'') {
			const char *behind = behind_quotes(p);
			p = behind ? behind : p + 1; /* an apostrophe in an #error, or a raw string */
			is_line_begin = false;
			continue;
		}
		if (is_line_begin && *p == '#' && text_starts(word, "if")) {
			if (depth < ARRAY_SIZE(open))
				open[depth] = p;
			depth++;
		} else if (is_line_begin && *p == '#' && text_starts(word, "endif") && depth-- == 0) {
			return err_set(
				e, E_INPUT, "C_SYNTAX", "%s:%d: #endif without #if", name, line_of(begin, p));
		}
		is_line_begin = *p == '\n' || (is_line_begin && (*p == ' ' || *p == '\t'));
		p++;
	}
	if (depth)
		return err_set(e, E_INPUT, "C_SYNTAX", "%s:%d: #if without #endif", name,
			line_of(begin, open[depth < ARRAY_SIZE(open) ? depth - 1 : 0]));
	return OK;
}

/* A merge that nobody finished: the three marks at the beginnings of lines, in their order. */
static int check_conflict(struct bytes text, const char *name, struct err *e)
{
	static const char *const marks[] = { "<<<<<<< ", "=======\n", ">>>>>>> " };
	const char *begin = (const char *)text.p, *first = NULL;
	size_t next = 0;

	for (const char *p = begin; p && next < ARRAY_SIZE(marks);
		p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		if (!text_starts(p, marks[next]))
			continue;
		first = next ? first : p;
		next++;
	}
	if (next < ARRAY_SIZE(marks))
		return OK;
	return err_set(e, E_INPUT, "CONFLICT_MARKS", "%s:%d: marks of a merge conflict", name,
		line_of(begin, first));
}

int written_parse(struct arena *a, const char *kind, const char *name, struct bytes text, struct err *e)
{
	struct json *doc;

	if (text_eq(kind, "json"))
		return json_parse(a, text, name, NULL, &doc, e);
	if (text_eq(kind, "toml"))
		return toml_parse(a, text, name, &doc, e);
	if (text_eq(kind, "c"))
		return check_c(text, name, e);
	return conf_parse_yaml_all(a, text, name, &doc, e);
}

/* Is that error certain to be one for every reader?  Ours refuse more than others do. */
static bool is_certain(enum kind kind, struct bytes text, const struct err *e)
{
	if (e->rc != E_INPUT)
		return false;
	if (kind == KIND_YAML)
		return (text_eq(e->code, "CONF_SYNTAX") || text_eq(e->code, "CONF_DUPLICATE_KEY")) &&
			!memmem(text.p, text.n, "{{", 2) && !memmem(text.p, text.n, "{%", 2);
	if (kind == KIND_TOML)
		return text_eq(e->code, "TOML_DUPLICATE_KEY") || text_eq(e->code, "TOML_SYNTAX");
	return true;
}

/* ---- telling ---- */

static void put_gate(struct checking *c, enum kind kind, const char *path, const char *why)
{
	struct arena *a = c->a;
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "name", kind_names[kind]);
	json_sets(a, one, "path", path);
	json_sets(a, one, "status", why ? "failed" : "passed");
	if (why)
		json_sets(a, one, "detail", why);
	json_push(a, c->gates, one);
	json_pushs(a, c->paths, path);
	if (!why)
		return;
	if (++c->told <= TOLD_MOST)
		buf_addf(&c->said, "%swritten, but it does not parse: %s", c->said.n ? "\n" : "",
			text_safe(a, why, strlen(why), false));
}

/* True: nothing is wrong with it so far.  A link that leads out of the tree is not followed: its text must not get into a sentence. */
static bool check_here(struct checking *c, enum kind kind, const char *path)
{
	struct bytes text;
	struct err e = { 0 };
	int rc = file_read(c->k->sys, c->a, c->tree_fd, path, FILE_BYTES, FILE_BENEATH, &text, &e);

	/* Gone, a link, too large, empty, or of a kind that its name does not say. */
	if (rc || !text.n || memchr(text.p, 0, text.n) || text.p[0] == 0xEF)
		return false;
	text = bytes_of(arena_strndup(c->a, (const char *)text.p, text.n));
	rc = check_conflict(text, path, &e);
	if (rc == OK && kind <= KIND_C)
		rc = written_parse(c->a, kind_names[kind], path, text, &e);
	if (rc && !text_eq(e.code, "CONFLICT_MARKS") && !is_certain(kind, text, &e))
		return false;
	if (rc || kind <= KIND_C)
		put_gate(c, kind, path, rc ? arena_strdup(c->a, e.text) : NULL);
	return rc == OK;
}

/* ---- what its own interpreter reads ---- */

/* One program for all files of a kind.  It prints a line "N<TAB>why" for the N-th file, "N<TAB>" when that parses, and nothing for what it cannot read. */
struct reader {
	enum kind kind;
	const char *programs[3]; /* the first that is there */
	const char *const *words; /* before the files */
};

static const char python_check[] = "import sys\n"
				   "for i, f in enumerate(sys.argv[1:]):\n"
				   "    try:\n"
				   "        compile(open(f, 'rb').read(), f, 'exec', dont_inherit=True)\n"
				   "        print('%d\\t' % i)\n"
				   "    except SyntaxError as x:\n"
				   "        print('%d\\tline %s: %s' % (i, x.lineno, x.msg))\n"
				   "    except Exception:\n"
				   "        pass\n";
/* said FILE: its first line, or nothing when it parses. */
#define EACH_FILE(said) \
	"i=-1; for f; do i=$((i + 1)); [ -r \"$f\" ] || continue; " said \
	"; printf '%d\\t%s\\n' $i \"$(printf '%s' \"${said#\"$f: \"}\" | head -n 1 | cut -c1-140)\"; done"
static const char shell_check[] = EACH_FILE("said=$(bash -n -- \"$f\" 2>&1)");
static const char script_check[] = EACH_FILE(
	"said=$(node --check \"$f\" 2>&1) || said=$(printf '%s' \"$said\" | grep -m 1 SyntaxError) || continue");

static const char *const python_words[] = { "-I", "-S", "-B", "-c", python_check, NULL };
static const char *const shell_words[] = { "-c", shell_check, "sh", NULL };
static const char *const script_words[] = { "-c", script_check, "sh", NULL };
static const struct reader readers[] = {
	{ KIND_PYTHON, { "/usr/bin/python3", "/usr/local/bin/python3" }, python_words },
	{ KIND_SHELL, { "/bin/bash", "/usr/bin/bash" }, shell_words },
	{ KIND_SCRIPT, { "/bin/bash", "/usr/bin/bash" }, script_words },
};

/* What the reader printed, back to the files it is about: nothing behind the tab means that the file parses. */
static void hear(struct checking *c, const struct reader *r, const char *const *files, size_t n,
	const struct run_stream *out)
{
	const char *text = arena_strndup(c->a, out->tail, out->tail_n);

	for (const char *p = text, *end; *p; p = *end ? end + 1 : end) {
		size_t i = 0, digits = strspn(p, "0123456789");
		end = p + strcspn(p, "\n");
		if (!digits || digits > 3 || p[digits] != '\t')
			continue;
		for (size_t d = 0; d < digits; d++)
			i = 10 * i + (size_t)(p[d] - '0');
		const char *said = p + digits + 1;
		if (i < n)
			put_gate(c, r->kind, files[i],
				end > said ? arena_printf(c->a, "%s: %.*s", files[i], (int)(end - said), said)
					   : NULL);
	}
}

/* Under the profile that only looks.  Where that sandbox does not stand here, or the reader does not end, the files are not checked. */
static void ask_reader(struct checking *c, const struct reader *r, const char *const *files, size_t n)
{
	size_t argc = 0;
	const char *program = NULL, *argv[FILES_MOST + 8];
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(r->programs) && !program; i++)
		if (r->programs[i] && access(r->programs[i], X_OK) == 0)
			program = r->programs[i];
	if (!program || !n)
		return;
	argv[argc++] = program;
	for (const char *const *w = r->words; *w; w++)
		argv[argc++] = *w;
	for (size_t i = 0; i < n; i++)
		argv[argc++] = path_join(c->a, c->tree, files[i]);
	argv[argc] = NULL;
	const struct run_spec spec = { .argv = argv, .argc = argc, .cwd = c->tree, .is_evidence = true };
	struct run_report report = { .handling = { .a = c->a } };
	struct task t = { .k = c->k,
		.a = c->a,
		.spec = &spec,
		.at = *c->at,
		.report = &report,
		.program = { .path = program },
		.timeout_s = CHECK_SECONDS,
		.tmp = { .fd = -1, .rack = -1 } };
	const struct run_result *result = NULL;
	if (profiles_get(&c->k->guard.profiles, "inspect_local", &t.profile, &e))
		return;
	task_walls(&t);
	t.run.last_look = NULL;
	if (run_start(c->k->sys, c->a, &t.run, &t.running, &e) == OK && run_go(t.running, &e) == OK &&
		run_wait(t.running, 0, &result, &e) == OK && result && result->exit_code == 0 &&
		result->captured && result->out.bytes == result->out.tail_n)
		hear(c, r, files, n, &result->out);
	run_end(&t.running);
	task_tmp_give(c->k->sys, &t.tmp);
}

/* ---- all of it ---- */

static bool is_wanted(struct sys *s)
{
	const char *said = s->getenv(s, "HELM_VALIDATION_GATES");

	return !said || !text_eq(said, "0");
}

/* The file's place in the tree; NULL: it lies elsewhere. */
static const char *place_in(const struct checking *c, const char *path)
{
	if (path[0] != '/')
		return path;
	return path_is_below(path, c->tree) && !text_eq(path, c->tree) ? path + strlen(c->tree) + 1 : NULL;
}

const char *written_check(struct kernel *k, struct arena *a, const struct written *w, struct json *row)
{
	struct checking c = { .k = k,
		.a = a,
		.at = w->at,
		.tree = w->tree,
		.gates = json_new(a, JSON_ARRAY),
		.paths = json_new(a, JSON_ARRAY) };
	const char *files[ARRAY_SIZE(readers)][FILES_MOST];
	size_t n[ARRAY_SIZE(readers)] = { 0 }, seen = 0;

	buf_init(&c.said, a);
	if (!is_wanted(k->sys) || !w->tree)
		return NULL;
	AUTO(close_fd)
	int tree_fd = k->sys->open(k->sys, AT_FDCWD, w->tree, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0);
	if (tree_fd < 0)
		return NULL;
	c.tree_fd = tree_fd;
	json_each (item, w->paths) {
		const char *path = json_text(item) ? place_in(&c, json_text(item)) : NULL;
		const enum kind kind = path && !is_left_alone(path) ? kind_of(path) : KIND_NONE;
		if (kind == KIND_NONE)
			continue;
		if (++seen > FILES_MOST) {
			c.left_out++;
			continue;
		}
		if (!check_here(&c, kind, path))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
			if (readers[i].kind == kind)
				files[i][n[i]++] = path;
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers) && w->may_start; i++)
		ask_reader(&c, &readers[i], files[i], n[i]);
	if (!c.gates->n)
		return NULL;
	struct json *told = json_new(a, JSON_OBJECT);
	json_setb(a, told, "ok", c.told == 0);
	json_set(a, told, "checked_paths", c.paths);
	json_sets(a, told, "validator", "helm");
	if (c.left_out)
		json_seti(a, told, "not_checked", (int64_t)c.left_out);
	json_set(a, row, "write_validation", told);
	json_set(a, row, "validation_gates", c.gates);
	if (c.told > TOLD_MOST)
		buf_addf(&c.said, "\n%zu more do not parse", c.told - TOLD_MOST);
	return c.told ? c.said.p : NULL;
}

const char *written_check_call(
	struct kernel *k, struct arena *a, const struct surroundings *at, bool may_start, struct json *row)
{
	const char *first = NULL, *tree = at->work_tree;
	struct json *paths = json_new(a, JSON_ARRAY);

	json_each (path, json_get(row, "changed_files")) {
		const char *text = json_text(path);
		json_pushs(a, paths, text[0] == '/' ? text : path_join(a, k->ws->root, text));
	}
	if (!paths->n)
		return NULL;
	first = json_text(json_at(paths, 0));
	if (!tree || !path_is_below(first, tree))
		tree = path_clean(a, arena_strndup(a, first, (size_t)(path_base(first) - first)));
	const struct written w = { .at = at, .tree = tree, .paths = paths, .may_start = may_start };
	return written_check(k, a, &w, row);
}
