/* shells.c — shells and interpreters: where the text they run comes from, and what it would do.
 *
 * The text is an argument (-c, -e), a file, or standard input. Known text is read, in sh by the
 * evaluator and in other languages by code.c. A shell script inside the workspace is read where that was
 * asked for. Anything else is named for what it is: fetched, decoded, written a moment ago, or unknown;
 * each has its own tag, because "runs what it downloaded" and "runs a script of the project" deserve
 * different answers. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

/* Larger files are not read, and count as scripts whose text is not known. */
enum { SCRIPT_MAX_BYTES = 256 << 10 };

/* The programs' table says which programs are shells. */
static bool has_mode(const char *path, unsigned mode)
{
	const struct program *p = program_find(path_base(path), strlen(path_base(path)));
	return p && p->mode & mode;
}

bool shell_speaks_sh(const char *path)
{
	return has_mode(path, MODE_SPEAKS_SH);
}

bool shell_is_known(const char *path)
{
	return has_mode(path, MODE_SPEAKS_SH | MODE_OTHER_LANGUAGE);
}

static bool is_shell_language(const char *language)
{
	return text_eq(language, "sh");
}

/* Runs known text in a language. Text for Windows' shells that comes from a file is not read. */
static void run_bytes(
	struct call *k, const char *language, const char *text, size_t n, unsigned flags, const char *via)
{
	struct command inner = *k->c;
	inner.flags |= flags;
	struct call at = *k;
	at.c = &inner;
	if (is_shell_language(language))
		walk_bytes(k->w, &inner, text, n, k->c->at, via);
	else if (text_eq(language, "windows"))
		fx(k, TAG_DYNAMIC_TEXT, NULL, 0);
	else
		classify_code_bytes(&at, language, text, n);
}

/* Reads a shell script inside the workspace and goes through it. The text that was judged is recorded
 * with its digest (walk_judged). False when it was not read: no file access, not in the workspace, too
 * large, or no text. */
static bool inspect(struct call *k, const char *path, enum path_class where, const char *language)
{
	const struct surroundings *at = walk_surroundings(k->w);
	struct bytes text;
	if (!is_shell_language(language) && where == PATH_IN)
		project_code(k, path, language);
	if (!at->sys || !at->inspect_scripts || where != PATH_IN || !is_shell_language(language) ||
		k->c->flags & FXF_REMOTE_SIDE)
		return false;
	if (file_read(at->sys, walk_arena(k->w), AT_FDCWD, path, SCRIPT_MAX_BYTES, FILE_FOLLOW, &text, NULL))
		return false;
	if (memchr(text.p, 0, text.n))
		return false;
	walk_judged(k->w, path, text);
	walk_was_read(k->w);
	walk_bytes(k->w, k->c, (const char *)text.p, text.n, k->c->at,
		arena_printf(walk_arena(k->w), "script %s", path));
	return true;
}

/* The same through a link that this text has made. */
static void inspect_linked(struct call *k, const char *real, const char *language)
{
	const char *resolved;
	enum path_class where =
		paths_classify(walk_surroundings(k->w), walk_arena(k->w), real, false, &resolved);

	(void)inspect(k, real, where, language);
}

/* A shell or interpreter is given this as its program. Known text is judged; everything else is named
 * for what it is, and the rules decide. is_file: it comes from a file that this text has written. */
static void run_feed(struct call *k, const struct feed *in, const char *language, bool is_file)
{
	bool is_shell = is_shell_language(language);
	if (in->lines) /* tail -n +2 x.sh | sh: any of them may be run */
		run_bytes(k, language, in->lines, strlen(in->lines), 0, "selected lines");
	switch (in->kind) {
	case FEED_KNOWN:
		run_bytes(k, language, in->text, in->n, 0, is_file ? "written file" : "standard input");
		return;
	case FEED_FETCHED:
		fx(k, TAG_FETCH_EXEC, NULL, 0);
		return;
	case FEED_DECODED:
		fx(k, TAG_DECODE_EXEC, NULL, 0);
		/* The decoded text is shown with its effects for information; they do not count
		 * (FXF_DECODED). */
		if (in->text)
			run_bytes(k, language, in->text, in->n, FXF_DECODED, "decoded text");
		return;
	case FEED_SOCKET:
		fx(k, TAG_REVERSE_SHELL, NULL, 0);
		return;
	case FEED_EMPTY:
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	case FEED_FILE: {
		struct word path = walk_word(k->w, in->text, k->c->at);
		struct effect *e = fx_path(k, TAG_SCRIPT_FILE, &path, 0);
		struct feed content;
		if (e && e->target && note_find(k, e->target, &content) && content.kind != FEED_FILE)
			run_feed(k, &content, language, true);
		else if (!is_shell && e && e->path_class == PATH_IN && e->target) {
			(void)inspect(k, e->target, PATH_IN, language); /* python - < x.py runs x.py */
			return;
		} else if (!e || !e->target || !inspect(k, e->target, e->path_class, language))
			fx(k, is_shell ? TAG_STDIN_SHELL : TAG_STDIN_CODE, &path, 0);
		return;
	}
	case FEED_INHERIT:
		/* docker exec -it web bash: somebody wants a prompt in there. */
		if (k->c->flags & (FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE)) {
			fx(k, TAG_READ_QUERY, NULL, 0);
			return;
		}
		break;
	case FEED_UNKNOWN:
		break;
	}
	if (is_file)
		fx(k, TAG_SCRIPT_GENERATED, NULL, 0);
	else
		fx(k, is_shell ? TAG_STDIN_SHELL : TAG_STDIN_CODE, NULL, 0);
}

static void run_stdin_shell(struct call *k, const struct feed *in, const char *language)
{
	run_feed(k, in, language, false);
}

/* Which language a file of this name is in, or NULL. */
static const char *language_of(const char *path)
{
	static const struct {
		const char *suffix, *language;
	} known[] = { { ".sh", "sh" }, { ".bash", "sh" }, { ".zsh", "sh" }, { ".ksh", "sh" },
		{ ".py", "python" }, { ".pl", "perl" }, { ".rb", "ruby" }, { ".js", "node" },
		{ ".mjs", "node" }, { ".ts", "node" }, { ".php", "php" }, { ".lua", "lua" } };
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_ends(path, known[i].suffix))
			return known[i].language;
	return NULL;
}

/* A file given to a shell or interpreter. The effect "a script is run" is always added; its content is
 * judged as well when it was written earlier in this text or may be read. */
void run_script(struct call *k, const struct word *path, const char *language)
{
	struct feed content;
	if (path->certainty != CERTAIN) {
		const char *files[SCRIPTS_FOUND];
		if (walk_process(k->w, path, &content)) {
			fx(k, tag_of_run(path->origin, TAG_DYNAMIC_TEXT), path, 0);
			run_feed(k, &content, language, false);
			return;
		}
		for (size_t i = 0, n = tree_glob(k, path, files, SCRIPTS_FOUND); i < n; i++) {
			struct word file = walk_word(k->w, files[i], path->at);
			run_script(k, &file, language);
		}
		bool has_name = strchr(path->text, '/') && !text_ends(path->text, "/") &&
			!text_starts(path->text, "/dev/fd/") && path->origin <= ORIGIN_UNKNOWN;
		fx(k,
			tag_of_run(
				path->origin, has_name || path->is_glob ? TAG_SCRIPT_FILE : TAG_DYNAMIC_TEXT),
			path, 0);
		return;
	}
	if (word_is_any(path, "- /dev/stdin /dev/fd/0 /proc/self/fd/0")) {
		run_stdin_shell(k, &k->c->in, language);
		return;
	}
	if (word_starts(path, "/dev/fd/") ||
		word_starts(path, "/proc/self/fd/")) { /* whatever was opened as that */
		fx(k, TAG_DYNAMIC_TEXT, path, 0);
		return;
	}
	struct effect *e = fx_path(k, TAG_SCRIPT_FILE, path, 0);
	if (!e || !e->target)
		return;
	const char *target = e->target;
	enum path_class where = e->path_class;
	const char *real = note_physical(k, path, false); /* ln -s x.sh b; sh b */
	if (note_find(k, target, &content))
		run_feed(k, &content, language, true);
	else if (!inspect(k, target, where, language) && real && !text_eq(real, target))
		inspect_linked(k, real, language);
}

/* A path in the place of the program: a script of the workspace, a file that was just written, a link to
 * a known program, or a program nobody knows. The tests go from what is known for certain to what is
 * only assumed. */
void classify_path_head(struct call *k)
{
	const struct word *head = &k->c->argv[0];
	const char *language = language_of(head->text);
	struct feed content;
	struct effect *e = fx_path(k, TAG_SCRIPT_FILE, head, 0);
	if (!e)
		return;
	if (e->target && (text_starts(e->target, "/etc/init.d/") || text_starts(e->target, "/etc/rc.d/"))) {
		fx(k, k->rest_count && word_is(&k->rest[0], "status") ? TAG_READ_QUERY : TAG_PROCESS_SERVICE,
			head, 0);
		return;
	}
	/* ln -s /bin/rm y; ./y runs rm. */
	const char *known = e->target ? note_program(k, e->target) : NULL;
	if (known) { /* ln -s /bin/rm y; ./y */
		struct word *argv = arena_zalloc(walk_arena(k->w), k->c->argc, sizeof(*argv));
		memcpy(argv, k->c->argv, k->c->argc * sizeof(*argv));
		argv[0] = walk_word(k->w, path_base(known), head->at);
		run_argv(k, argv, k->c->argc, 0, "link");
		return;
	}
	/* ./cluster.sh destroy: a script that is told to */
	if (!k->program && k->rest_count &&
		word_is_any(&k->rest[0], "delete destroy wipe purge drop nuke teardown uninstall detonate"))
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[0], 0);
	if (!e->target || (e->certainty == CERTAIN && !note_find(k, e->target, &content)) ||
		e->certainty != CERTAIN) {
		enum path_class where = e->path_class;
		const char *target = e->target;
		/* A program of the system is no script: it is judged by its name.  One with a known name that lies elsewhere is judged as both. */
		if (k->program || where == PATH_SYS) {
			if (k->program && where != PATH_SYS && target && e->certainty == CERTAIN)
				(void)inspect(k, target, where, language ? language : "sh");
			else {
				e->kind = FX_READ;
				e->tag = tag_name(TAG_READ_QUERY);
			}
			if (k->program && only_asks_help(k))
				fx(k, TAG_READ_QUERY, NULL, 0);
			else if (k->program)
				classify_known(k);
			else
				classify_unknown(k);
			return;
		}
		const char *real = target ? note_physical(k, head, false) : NULL;
		if (target && e->certainty == CERTAIN &&
			!inspect(k, target, where, language ? language : "sh") && real)
			inspect_linked(k, real, language_of(real) ? language_of(real) : "sh");
		return;
	}
	if (content.kind == FEED_KNOWN && text_starts(content.text, "#!") && !language) {
		const char *line_end = memchr(content.text, '\n', content.n);
		size_t n = line_end ? (size_t)(line_end - content.text) : content.n;
		language = memmem(content.text, n, "python", 6) ? "python"
			: memmem(content.text, n, "perl", 4)	? "perl"
			: memmem(content.text, n, "ruby", 4)	? "ruby"
			: memmem(content.text, n, "node", 4)	? "node"
								: "sh";
	}
	run_feed(k, &content, language ? language : "sh", true);
}

/* Options of a shell, as far as they say where the text is. */
struct shell_options {
	bool has_text, reads_stdin, asks; /* asks: it only prints, or checks the syntax */
	struct word attached; /* -c'text' */
};

/* Bundled letters, such as -lc. *i is moved when a letter takes the next word. */
static void read_cluster(struct call *k, const struct word *x, size_t *i, struct shell_options *o)
{
	for (size_t j = 1; j < x->known_n; j++) {
		char letter = x->text[j];
		if (letter == 'c') {
			o->has_text = true;
			struct word rest = word_tail(x, j + 1);
			if (strpbrk(rest.text, " ;|&$/")) {
				o->attached = rest;
				return;
			}
		} else if (letter == 's') {
			o->reads_stdin = true;
		} else if (letter == 'n' && x->text[0] == '-' && k->program->mode & MODE_SPEAKS_SH) {
			o->asks = true;
		} else if (letter == 'o' || letter == 'O') {
			if (j + 1 == x->text_n)
				++*i;
			return;
		} else if (letter < 'A') {
			/* No option of a shell is a digit or a sign, so this word is no bundle of options. */
			fx(k, TAG_UNKNOWN_OPTION, x, 0);
		}
	}
}

/* Returns the place of the first word that is no option. */
static size_t read_shell_options(struct call *k, struct shell_options *o)
{
	static const char valueless[] =
		"--login --norc --noprofile --posix --verbose --restricted --debugger "
		"--noediting --interactive --no-rcs --no-globalrcs --no-config --private "
		"--stdin --dump-strings --pretty-print --no-config-file --no-std-lib";
	size_t i = 0;
	for (; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (!x->known_n || (x->text[0] != '-' && x->text[0] != '+') || x->text_n < 2)
			break;
		if (word_is(x, "--")) {
			i++;
			break;
		}
		if (word_is_any(x, "--help --version"))
			o->asks = true;
		else if (word_is_any(x, "--command --commands"))
			o->has_text = true;
		else if (word_is_any(
				 x, "--init-file --rcfile --emulate --config --env-config -C --init-command"))
			i++;
		else if (x->text[1] != '-')
			read_cluster(k, x, &i, o);
		else if (word_starts(x, "--command=")) {
			o->has_text = true;
			o->attached = word_tail(x, 10);
		} else if (!strchr(x->text, '=') && !word_is_any(x, valueless)) {
			/* It may take the next word, so where the text is, is not known. */
			fx(k, TAG_UNKNOWN_OPTION, x, 0);
		}
	}
	if (i < k->rest_count && word_is(&k->rest[i], "-")) {
		o->reads_stdin = true;
		i++;
	}
	return i;
}

/* What zsh evaluates and a shell of sh's language does not: flags of ${(e)x}, the code of a glob's qualifiers, =program,
 * redirections that overwrite, aliases that are no commands, its modules and its hooks.  The text is not parsed as zsh's; so where one of
 * them stands, a person is asked. */
/* *(e:code:), *(oe:code:), *(u:me:e[code]): somewhere among the qualifiers stands an e with its code. */
static bool has_code_qualifier(const char *text)
{
	for (const char *p = text; (p = strchr(p, '(')); p++) {
		if (p == text || !strchr("*?])/", p[-1]))
			continue;
		for (const char *q = p + 1; *q && *q != ')' && !isspace((unsigned char)*q); q++)
			if (*q == 'e' && q[1] && strchr(":*'\"{[<^", q[1]))
				return true;
	}
	return false;
}

static bool zsh_evaluates(const char *text)
{
	static const char *const parts[] = { "(e:", "(e*", "(e'", "(e\"", "(e{", "(+", "zmodload", "alias -g",
		"alias -s", "emulate ", "sched ", "print -z", "print -P", "zstyle -e", "bindkey -s",
		"add-zsh-hook", "vared ", ">! ", ">>! ", ">|! ", "$=", "zle ", "TRAPEXIT", "precmd",
		"preexec", "chpwd", "zf_", "sysopen", "ztcp", "ztie ", "zmv ", "functions[", "aliases[",
		"commands[" };
	if (has_code_qualifier(text))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(text, parts[i]) &&
			!(text_eq(parts[i], "print -P") && !strstr(text, "$(") && !strchr(text, '`')))
			return true;
	/* An array without an index is all of its words. */
	if (strstr(text, "=(") && (strstr(text, "; $") || strstr(text, ";$") || strstr(text, "\n$")))
		return true;
	for (const char *p = text; *p; p++) /* =rm, at the start of a command */
		if (*p == '=' && p[1] >= 'a' && p[1] <= 'z' &&
			(p == text || strchr(";|&({\n", p[-1]) ||
				(p[-1] == ' ' && p >= text + 2 && strchr(";|&({", p[-2]))))
			return true;
	return false;
}

/* The order is the shell's own: -c takes the text from the words, -s or no operand from standard input,
 * and otherwise the first operand is a script. */
HANDLER(shell)
{
	struct shell_options o = { 0 };
	size_t i = read_shell_options(k, &o);
	if (o.asks) {
		fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (o.attached.text) {
		run_text(k, &o.attached, 0, arena_printf(walk_arena(k->w), "%s -c", k->head));
	} else if (o.has_text && i < k->rest_count) {
		if (text_eq(k->head, "zsh") && zsh_evaluates(k->rest[i].text))
			fx(k, TAG_DYNAMIC_TEXT, &k->rest[i], 0);
		run_text(k, &k->rest[i], 0, arena_printf(walk_arena(k->w), "%s -c", k->head));
	} else if (o.has_text) {
		fx(k, TAG_DYNAMIC_TEXT, NULL, 0);
	} else if (o.reads_stdin || i >= k->rest_count) {
		run_stdin_shell(k, &k->c->in, "sh");
	} else {
		run_script(k, &k->rest[i], "sh");
	}
}

/* pwsh, powershell and cmd. Options may be abbreviated and in any case; -EncodedCommand is decoded text
 * by definition. */
HANDLER(powershell)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		char low[24] = { 0 };
		for (size_t j = 0; j < sizeof(low) - 1 && j < x->known_n; j++)
			low[j] =
				(char)(x->text[j] >= 'A' && x->text[j] <= 'Z' ? x->text[j] + 32 : x->text[j]);
		/* -e, -enc, -EncodedCommand, but not -ExecutionPolicy. */
		if (text_starts(low, "-e") && !text_starts(low, "-ex")) {
			fx(k, TAG_DECODE_EXEC, NULL, 0);
			return;
		}
		if (text_starts(low, "-c") || text_eq(low, "/c") || text_eq(low, "/k")) {
			struct word text =
				words_join(walk_arena(k->w), k->rest + i + 1, k->rest_count - i - 1);
			classify_windows_text(k, &text);
			return;
		}
		if (text_starts(low, "-w") || text_starts(low, "-ex") || text_starts(low, "-v") ||
			text_eq(low, "-ep") || text_starts(low, "-in") || text_starts(low, "-o")) {
			i++; /* -WindowStyle Hidden, -ExecutionPolicy Bypass */
			continue;
		}
		if (text_starts(low, "-f") && i + 1 < k->rest_count) {
			run_script(k, &k->rest[i + 1], "windows");
			return;
		}
		if (low[0] != '-' && low[0] != '/') {
			if (text_ends(low, ".ps1") || text_ends(low, ".bat")) {
				run_script(k, x, "windows");
			} else {
				struct word text =
					words_join(walk_arena(k->w), k->rest + i, k->rest_count - i);
				classify_windows_text(k, &text);
			}
			return;
		}
	}
	fx(k, TAG_STDIN_SHELL, NULL, 0);
}

/* Interpreters: item 0 of the specification is code, item 1 a module or package to run, item 2 editing in place, item 3 code
 * loaded first. */
enum { CODE, MODULE, IN_PLACE, PRELOAD };

/* python -m zipfile -e a.zip DIR, python -m json.tool IN OUT: modules that are programs for files. */
static bool run_file_module(struct call *k, const struct word *name, const struct word *v, size_t n)
{
	struct parsed p;
	struct word *copy = arena_alloc(walk_arena(k->w), (n + 1) * sizeof(*copy));
	memcpy(copy, v, n * sizeof(*copy));
	args_parse(walk_arena(k->w), copy, n,
		"e:extract c:create l:list t:test d:decode :indent= o=:output=", &p);
	if (word_is_any(name, "zipfile tarfile")) {
		struct word here = walk_word(k->w, ".", k->c->at);
		struct word inside = word_below(k, p.operand_count > 1 ? &p.operands[1] : &here);
		fx_read(k, p.operands, p.operand_count && !args_has(&p, 1) ? 1 : 0);
		if (args_has(&p, 0))
			(void)fx_path(k, TAG_WRITE_EXTRACT, &inside, FXF_OVERWRITE | FXF_RECURSIVE);
		else if (args_has(&p, 1) && p.operand_count)
			(void)fx_path(k, TAG_WRITE_FILE, &p.operands[0], FXF_OVERWRITE);
		if (args_has(&p, 1) && p.operand_count)
			fx_read_tree(k, p.operands + 1, p.operand_count - 1);
		fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (word_is(name, "json.tool") || word_is(name, "json")) {
		fx_read(k, p.operands, p.operand_count ? 1 : 0);
		if (p.operand_count > 1)
			(void)fx_path(k, TAG_WRITE_FILE, &p.operands[1], FXF_OVERWRITE);
		else
			fx(k, TAG_READ_QUERY, name, 0);
	} else if (word_is_any(name, "gzip zipapp")) { /* what it makes lies beside what it reads */
		struct word *made = p.values[6] ? p.values[6] : p.operands;
		fx_read_tree(k, p.operands, p.operand_count);
		for (size_t i = 0; i < (p.values[6] ? 1 : p.operand_count); i++)
			(void)fx_path(k, TAG_WRITE_FILE, &made[i], FXF_OVERWRITE);
		fx(k, TAG_READ_QUERY, name, 0);
	} else if (word_is_any(name, "base64 quopri uu fileinput tokenize py_compile ast dis tabnanny")) {
		fx_read(k, p.operands, p.operand_count);
		fx(k, TAG_READ_QUERY, name, 0);
	} else if (word_is_any(name, "venv virtualenv compileall")) {
		for (size_t i = 0; i < p.operand_count; i++) {
			struct effect *e = fx_path(k, TAG_WRITE_DIR, &p.operands[i], 0);
			if (e && e->path_class != PATH_IN && args_find(copy, n, "clear"))
				(void)fx_path(k, TAG_DELETE_FILE, &p.operands[i], FXF_RECURSIVE);
		}
		fx(k, TAG_WRITE_TOOL, name, 0);
	} else {
		return false;
	}
	return true;
}

/* python -m timeit CODE, python -m pdb -c COMMAND: the words are code. */
static bool run_code_module(struct call *k, const struct word *name, struct word *v, size_t n)
{
	struct parsed p;
	if (!word_is_any(name, "timeit pdb idlelib idlelib.idle code asyncio cProfile profile trace runpy"))
		return false;
	args_parse(walk_arena(k->w), v, n, "c=s=n=r=u=o=:setup=,number=,repeat=,unit=,outfile=", &p);
	for (size_t i = 0; i + 1 < n; i++)
		if (word_is_any(&v[i], "-c -s --setup"))
			classify_code(k, "python", &v[i + 1]);
		else if (word_is_any(&v[i], "-o --outfile"))
			(void)fx_path(k, TAG_WRITE_FILE, &v[i + 1], FXF_OVERWRITE);
	for (size_t i = 0; word_is(name, "timeit") && i < p.operand_count; i++)
		classify_code(k, "python", &p.operands[i]);
	if (word_is(name, "code") || (!n && !word_is(name, "timeit")))
		run_stdin_shell(k, &k->c->in, "python");
	if (word_is_any(name, "pdb cProfile profile trace runpy") && p.operand_count)
		run_script(k, &p.operands[0], "python");
	fx(k, TAG_SCRIPT_BUILD, name, 0);
	return true;
}

/* python -m name: well-known modules are judged for what they do, programs among them as those programs. */
static void run_module(struct call *k, struct word *v, size_t n)
{
	static const struct {
		const char *modules;
		enum tag tag;
	} known[] = { { "http.server SimpleHTTPServer smtpd aiosmtpd pyftpdlib", TAG_LISTEN_PORT },
		{ "webbrowser ftplib telnetlib smtplib poplib imaplib", TAG_NETWORK_CONNECT },
		{ "ensurepip", TAG_PACKAGE_INSTALL },
		{ "pytest unittest tox nox mypy ruff black flake8 pylint coverage build doctest isort "
		  "pyright",
			TAG_SCRIPT_BUILD },
		{ "this calendar platform site sysconfig uuid mimetypes antigravity", TAG_READ_QUERY } };
	if (n > 1 && args_find(v + 1, n - 1, "help")) {
		fx(k, TAG_READ_QUERY, &v[0], 0);
		return;
	}
	if (word_is_any(&v[0],
		    "pip pip3 pipx easy_install poetry pdm hatch twine uv conda flask alembic sqlite3 pytest tox nox invoke")) {
		run_argv(k, v, n, 0, "python -m");
		return;
	}
	struct call at = *k; /* what it takes in, under its own name */
	at.head = v[0].certainty == CERTAIN ? v[0].text : "";
	at.rest = v + 1;
	at.rest_count = n - 1;
	project_started(&at);
	if (run_file_module(k, &v[0], v + 1, n - 1) || run_code_module(k, &v[0], v + 1, n - 1))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (word_is_any(&v[0], known[i].modules)) {
			fx(k, known[i].tag, &v[0], 0);
			return;
		}
	fx(k, v[0].certainty == CERTAIN ? TAG_SCRIPT_FILE : TAG_DYNAMIC_TEXT, &v[0], 0);
	if (v[0].certainty != CERTAIN)
		return;
	/* A module of the project: a.b is a/b.py, or the package a/b. */
	struct arena *a = walk_arena(k->w);
	char *file = arena_strdup(a, v[0].text);
	for (char *dot = strchr(file, '.'); dot; dot = strchr(dot, '.'))
		*dot = '/';
	project_code(k, project_here(k, arena_printf(a, "%s.py", file)), "python");
	project_code(k, project_here(k, arena_printf(a, "%s/__main__.py", file)), "python");
}

/* The language of an interpreter by its name. */
static const char *language_named(const char *head)
{
	static const char *const prefixes[] = { "python", "perl", "ruby", "node", "php", "lua" };
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (text_starts(head, prefixes[i]))
			return prefixes[i];
	if (text_starts(head, "pypy") || text_eq(head, "py"))
		return "python";
	return list_has("deno bun tsx ts-node", head, strlen(head)) ? "node" : head;
}

/* python manage.py flush, php artisan migrate:fresh: scripts that are programs of their own have rows in
 * the table. */
static void run_script_operand(struct call *k, struct word *v, size_t n, const char *language)
{
	const char *base = strrchr(v[0].text, '/');
	base = base ? base + 1 : v[0].text;
	const struct program *p = v[0].certainty == CERTAIN &&
			list_has("manage.py artisan console rails rake setup.py", base, strlen(base))
		? program_find(base, strlen(base))
		: NULL;
	if (p) {
		const char *cwd = walk_cwd(k->w, k->c);
		if (cwd)
			project_code(k,
				path_clean(walk_arena(k->w), path_join(walk_arena(k->w), cwd, v[0].text)),
				language);
		(void)fx_path(k, TAG_SCRIPT_FILE, &v[0], 0);
		run_argv(k, v, n, 0, k->head);
	} else {
		run_script(k, &v[0], language);
	}
}

/* Options after which an interpreter says something about itself or checks a file, and runs nothing.  They stand in front of the script, at
 * `script`; what stands behind it is the script's.  With -v python, ruby and lua run it all the same. */
static bool only_prints(struct call *k, const char *language, size_t script)
{
	const char *spec = program_options(k->program);
	struct arena *a = walk_arena(k->w);
	static const struct {
		const char *language, *options;
	} known[] = { { "php", "i m l info modules ini rf rc re ri rz" }, { "ruby", "c copyright" },
		{ "perl", "c" }, { "node", "c check v8-options completion-bash" } };
	if (args_surely(a, k->rest, script, spec, "V h help version version-full") ||
		(args_surely(a, k->rest, script, spec, "v") &&
			(script == k->rest_count || list_has("node perl php", language, strlen(language)))))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(language, known[i].language))
			return args_surely(a, k->rest, script, spec, known[i].options);
	return false;
}

/* Code that is loaded first.  What stands behind perl's -M is put into the program as it is: code may follow the name. */
static void preload(struct call *k, const struct word *x, const char *language)
{
	if (text_eq(language, "perl") && strpbrk(x->text, ";({`"))
		classify_code(k, language, x);
	else if (text_eq(language, "perl"))
		fx(k, x->certainty == CERTAIN ? TAG_READ_QUERY : TAG_DYNAMIC_TEXT, x, 0);
	else
		load_code(k, x, language);
}

/* Items of the row's options come in the order of the enum above. What an interpreter prints may be
 * anything, and counts as decoded text. */
HANDLER(interpreter)
{
	const char *language = language_named(k->head);
	struct args s;
	struct arena *a = walk_arena(k->w);
	bool has_code = false, edits = false;
	for (size_t i = 0; text_eq(language, "node") && i < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-pe -ep")) /* print what is evaluated */
			k->rest[i] = walk_word(k->w, "-p", k->rest[i].at);
		else if (word_is(&k->rest[i], "--run") || word_starts(&k->rest[i], "--run=")) {
			const bool is_joined = word_starts(&k->rest[i], "--run=");
			struct word name = is_joined	? word_tail(&k->rest[i], strlen("--run="))
				: i + 1 < k->rest_count ? k->rest[i + 1]
							: walk_word(k->w, "", k->rest[i].at);
			project_script(k, &name);
			fx(k, TAG_SCRIPT_BUILD, &name, 0);
			return;
		}
	args_start(&s, a, k->rest, k->rest_count, program_options(k->program));
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == CODE && s.value.text) {
			has_code = true;
			k->operands = k->rest + s.i;
			k->operand_count = k->rest_count - s.i;
			classify_code(k, language, &s.value);
			k->operand_count = 0;
		} else if (item == MODULE && s.value.text) {
			struct word *v = arena_alloc(a, (k->rest_count + 1) * sizeof(*v));
			v[0] = s.value;
			memcpy(v + 1, k->rest + s.i, (k->rest_count - s.i) * sizeof(*v));
			run_module(k, v, k->rest_count - s.i + 1);
			return;
		} else if (item == IN_PLACE) {
			edits = true;
		} else if (item == PRELOAD && s.value.text) {
			preload(k, &s.value, language);
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			/* The operand is given back: from here on stand the script and its arguments. */
			s.i--;
			break;
		}
	}
	if (text_eq(language, "ruby") && k->rest_count > 2 && word_is(&k->rest[0], "-run"))
		fx(k, TAG_LISTEN_PORT, NULL, 0);
	if (text_eq(language, "php") && args_find(k->rest, k->rest_count, "S"))
		fx(k, TAG_LISTEN_PORT, NULL, 0);
	size_t from = s.i < k->rest_count ? s.i : k->rest_count;
	struct word *v = k->rest + from;
	size_t n = k->rest_count - from;
	if (has_code && edits)
		fx_paths(k, TAG_WRITE_EDIT, v, n, FXF_OVERWRITE);
	else if (has_code && !text_eq(language, "python") && !text_eq(language, "node"))
		fx_read(k, v, n);
	else if (!has_code && only_prints(k, language, from))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (!has_code && n)
		run_script_operand(k, v, n, language);
	else if (!has_code && args_find(k->rest, k->rest_count, "test run check watch"))
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
	else if (!has_code)
		run_stdin_shell(k, &k->c->in, language);
	/* What code that shows all variables prints is known as that already. */
	if (!feed_is_environment(&k->c->out))
		k->c->out =
			(struct feed){ .kind = k->c->in.kind == FEED_FETCHED ? FEED_FETCHED : FEED_DECODED };
}

/* deno and bun: subcommands first. */
HANDLER(eval)
{
	size_t i = 0;
	while (i < k->rest_count && word_starts(&k->rest[i], "-"))
		i++;
	if (i < k->rest_count)
		classify_code(k, "node", &k->rest[i]);
}
/* A script by address or by name. */
HANDLER(file)
{
	size_t i = 0;
	while (i < k->rest_count && word_starts(&k->rest[i], "-"))
		i++;
	if (i < k->rest_count && (strstr(k->rest[i].text, "://")))
		fx(k, TAG_FETCH_EXEC, &k->rest[i], 0);
	else if (i < k->rest_count && strchr(k->rest[i].text, '.'))
		run_script(k, &k->rest[i], "node");
	else if (i < k->rest_count) { /* bun run NAME; deno knows no names here */
		project_script(k, &k->rest[i]);
		fx(k, TAG_SCRIPT_BUILD, &k->rest[i], 0);
	}
}

/* bun start, bun tool.ts: a script of package.json, or a file. */
HANDLER(bun_word)
{
	if (strpbrk(k->rest[-1].text, "./"))
		run_script(k, k->rest - 1, "node");
	else {
		project_script(k, k->rest - 1);
		fx(k, TAG_SCRIPT_FILE, k->rest - 1, 0);
	}
}

/* erl -eval takes code; anything else starts a system of the project. */
HANDLER(erl)
{
	bool has_code = false;
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-eval --eval")) {
			classify_code(k, "erlang", &k->rest[i + 1]);
			has_code = true;
		}
	if (!has_code)
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* bun runs code, scripts of the project, and is a package manager; the options of the first kind are
 * looked for first. */
HANDLER(bun)
{
	if (args_find(k->rest, k->rest_count, "e eval p print") || !k->rest_count) {
		handle_interpreter(k);
		return;
	}
	if (k->rest_count > 1 && word_is(&k->rest[0], "run") && task_destroys(&k->rest[1]) &&
		!strpbrk(k->rest[1].text, "./")) {
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[1], 0);
		return;
	}
	run_verbs_at(k, TAG_SCRIPT_FILE);
}

/* expect -c 'spawn cmd; ...': the programs it starts are judged; the rest is a conversation. */
HANDLER(expect)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "+c= f=", &p);
	bool has_input = k->c->in.kind == FEED_KNOWN && !p.operand_count && !p.values[1];
	if (!p.values[0] && !has_input) {
		const struct word *file = p.values[1] ? p.values[1] : p.operand_count ? p.operands : NULL;
		if (file)
			run_script(k, file, "expect");
		else
			classify_unknown(k);
		return;
	}
	struct word script = p.values[0]
		? *p.values[0]
		: walk_word(k->w, arena_strndup(walk_arena(k->w), k->c->in.text, k->c->in.n), k->c->at);
	for (char *nl = strchr(script.text, '\n'); nl; nl = strchr(nl, '\n'))
		*nl = ';';
	struct bytes rest = { (const uint8_t *)script.text, script.text_n };
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, ';');
		const char *text = arena_strndup(walk_arena(k->w), (const char *)line.p, line.n);
		text += strspn(text, " \t");
		size_t n = strcspn(text, " \t");
		struct word inner = walk_word(k->w, text + n, script.at);
		if (list_has("spawn exec system", text, n))
			run_text(k, &inner, 0, "expect");
	}
	fx(k, TAG_UNKNOWN_CODE, NULL, 0);
}

/* zsh takes a function from a file: one that is named, or one that FPATH finds. */
HANDLER(autoload)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (k->rest[i].certainty != CERTAIN || strchr(k->rest[i].text, '/'))
			load_code(k, &k->rest[i], "zsh");
	fx(k, TAG_READ_QUERY, NULL, 0);
}

HANDLER(osascript)
{
	handle_interpreter(k);
}
