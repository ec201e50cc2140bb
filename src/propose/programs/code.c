/* code.c — code given on a command line: python -c, perl -e, node -e and their kin.
 *
 * No language is parsed. The text is cut into strings, names and marks (code_lex.c), comments taken out,
 * and the names of functions that delete, write, run or send are looked for. A literal argument is taken
 * at its word: a path is judged, a command is analysed. Anything computed is dynamic, which asks a
 * person. That is enough for one-liners, which is where an agent hides or hurries; it errs on the side
 * of seeing a call where there is none.
 *
 * Two passes: survey() collects what only the whole text can tell (imports, sockets, decoders), then
 * each token is looked at. */
#include "propose/programs/code.h"

#include <ctype.h>
#include <string.h>

/* --- the functions --- */
enum what {
	DELETES,
	WRITES,
	MOVES,
	PERMITS,
	OPENS,
	READS,
	RUNS_TEXT,
	EVALS,
	CONNECTS,
	MUTATES,
	DECODES,
	KILLS,
	SQL
};

/* The functions that are looked for. `owner` is what must stand before the dot: "" is nothing, NULL is
 * anything, and "()" is the result of a call. */
static const struct {
	const char *names;
	unsigned languages;
	const char *owner;
	enum what what;
	unsigned flags;
} apis[] = {
	{ "rmtree remove_tree rm_rf rm_r remove_entry remove_entry_secure remove_dir rmtree_safe rimraf "
	  "emptyDirSync emptyDir",
		ANY, NULL, DELETES, FXF_RECURSIVE },
	{ "remove removedirs", PY | LUA, "os ()", DELETES, 0 },
	{ "unlink rmdir unlinkSync rmdirSync rmSync delete_file", ANY, NULL, DELETES, 0 },
	{ "rm remove removeSync", NODE, "fs promises fsPromises fse fsp Deno ()", DELETES, 0 },
	{ "del trash deleteAsync deleteSync", NODE, "", DELETES, 0 },
	{ "delete unlink", RUBY, "File Dir", DELETES, 0 },
	{ "rm rm_f remove safe_unlink", RUBY, "FileUtils", DELETES, 0 },
	{ "delete_tree", ANY, NULL, DELETES, FXF_RECURSIVE },
	{ "remove rm", OTHER, NULL, DELETES, 0 },
	{ "delete del_dir del_dir_r", OTHER, "file", DELETES, 0 },
	{ "write_text write_bytes writeFile writeFileSync appendFile appendFileSync createWriteStream "
	  "file_put_contents outputFile outputFileSync "
	  "truncateSync ftruncateSync truncate ftruncate",
		ANY, NULL, WRITES, FXF_OVERWRITE },
	{ "write binwrite", RUBY, "File IO Pathname", WRITES, FXF_OVERWRITE },
	{ "makedirs mkdir mkdirSync mkdir_p touch symlink symlinkSync", ANY, NULL, WRITES, 0 },
	{ "copyfile copytree copy copy2 copyFile copyFileSync cp_r cpSync", ANY,
		"shutil fs FileUtils File () fsp fse", WRITES, FXF_OVERWRITE },
	{ "rename renames replace move renameSync moveSync mv", ANY, "os shutil fs FileUtils File () fse",
		MOVES, 0 },
	{ "rename", PERL | PHP, NULL, MOVES, 0 },
	{ "chmod chown chmodSync chownSync lchown chmod_R chown_R", ANY, NULL, PERMITS, 0 },
	{ "open fopen", ANY, NULL, OPENS, 0 },
	{ "read_text read_bytes readFileSync readFile file_get_contents readfile readlines", ANY, NULL, READS,
		0 },
	{ "read", RUBY, "File IO", READS, 0 },
	{ "system popen popen2 popen3 capture2 capture2e capture3 getoutput getstatusoutput check_output "
	  "check_call execSync spawnSync execFile "
	  "execFileSync shell_exec passthru proc_open pcntl_exec execv execve execvp execvpe execl "
	  "execlp execle execlpe spawnl spawnlp spawnv spawnvp "
	  "posix_spawn system2 create_subprocess_shell create_subprocess_exec",
		ANY & ~AWK, NULL, RUNS_TEXT, 0 },
	{ "execute", LUA | PERL | OTHER, NULL, RUNS_TEXT, 0 },
	{ "run call Popen", PY, "subprocess sp () asyncio", RUNS_TEXT, 0 },
	{ "Popen", PY, "", RUNS_TEXT, 0 },
	{ "exec spawn fork", NODE, NULL, RUNS_TEXT, 0 },
	{ "exec spawn", RUBY | PERL | PHP, NULL, RUNS_TEXT, 0 },
	{ "spawn", PY, "pty", RUNS_TEXT, 0 },
	{ "system", AWK, NULL, RUNS_TEXT, 0 },
	{ "run shell", OTHER, "", RUNS_TEXT, 0 },
	{ "exec cmd command sh", OTHER, NULL, RUNS_TEXT, 0 },
	{ "eval exec", PY, "", EVALS, 0 },
	{ "eval", PERL | RUBY | NODE | PHP, NULL, EVALS, 0 },
	{ "instance_eval class_eval Function runInThisContext runInNewContext assert create_function "
	  "loadstring load dofile",
		RUBY | NODE | PHP | LUA, NULL, EVALS, 0 },
	{ "urlopen urlretrieve create_connection fsockopen curl_exec stream_socket_client HTTPConnection "
	  "HTTPSConnection FTP SMTP SMTP_SSL "
	  "XMLHttpRequest WebSocket TCPSocket UDPSocket LWP fetch httpx aiohttp axios getstore getprint",
		ANY, NULL, CONNECTS, 0 },
	{ "socket", PY | LUA | PERL, "socket s", CONNECTS, 0 },
	{ "socket", PERL, "", CONNECTS, 0 },
	{ "connect", NODE | PHP | PERL | LUA, NULL, CONNECTS, 0 },
	{ "get head request", PY | NODE, "requests http https session got client ()", CONNECTS, 0 },
	{ "post put patch delete", PY | NODE | RUBY, "requests axios http https httpx session HTTP", MUTATES,
		0 },
	{ "sendmail send_message", ANY, NULL, MUTATES, 0 },
	{ "HTTP Socket INET", RUBY | PERL, "Net IO Socket", CONNECTS, 0 },
	{ "b64decode b32decode a85decode unhexlify fromhex decompress atob base64_decode gzinflate "
	  "gzuncompress str_rot13 decode64 strict_decode64 "
	  "urlsafe_decode64 decode_base64 unpack hex2bin convert_uudecode",
		ANY, NULL, DECODES, 0 },
	{ "loads", PY, "marshal pickle", DECODES, 0 },
	{ "decode", PY, "codecs base64", DECODES, 0 },
	{ "kill killpg posix_kill", ANY, NULL, KILLS, 0 },
	{ "execute executescript executemany query exec_query raw rawQuery", PY | NODE | RUBY | PHP, NULL,
		SQL, 0 },
};

/* import os as o: the name that `o` stands for. */
static const struct token *unaliased(const struct code *c, const struct token *t)
{
	for (size_t m = 0; t->kind == T_NAME && m < c->import_count; m++) {
		size_t j = c->imports[m];
		if (is_name(&c->v[j], "as") && c->v[j + 1].n == t->n &&
			memcmp(c->v[j + 1].text, t->text, t->n) == 0)
			return &c->v[j - 1];
	}
	return t;
}

/* from os import remove, or *: the function is called without its owner. */
static bool is_imported(const struct code *c, size_t i, const char *owner)
{
	if (!(c->language & PY) || !*owner || !is_mark(&c->v[i + 1], "("))
		return false;
	for (size_t at = 0; at < c->import_count && c->imports[at] + 3 < i; at++) {
		size_t j = c->imports[at];
		if (!is_name(&c->v[j], "from") || !is_name(&c->v[j + 1], owner) ||
			!is_name(&c->v[j + 2], "import"))
			continue;
		for (size_t m = j + 3; m < i && m < j + IMPORTED_NAMES && !is_mark(&c->v[m], ";"); m++)
			if (is_mark(&c->v[m], "*") ||
				(c->v[m].n == c->v[i].n &&
					memcmp(c->v[m].text, c->v[i].text, c->v[i].n) == 0))
				return true;
	}
	return false;
}

/* Whether what stands before the name allows it to be the function of the table. */
static bool owner_fits(const struct code *c, size_t i, const char *owner)
{
	if (!owner)
		return true;
	bool dotted = i &&
		(is_mark(&c->v[i - 1], ".") || is_mark(&c->v[i - 1], "::") || is_mark(&c->v[i - 1], "->") ||
			(c->language & OTHER && *owner && is_mark(&c->v[i - 1], ":")));
	if (!dotted)
		return !*owner || is_imported(c, i, owner);
	if (i < 2)
		return false;
	const struct token *before = unaliased(c, &c->v[i - 2]);
	return is_mark(before, ")") || is_mark(before, "]") ? list_has(owner, "()", 2)
							    : is_name(before, owner);
}

/* The arguments of a call, as far as they are literal. */
enum { STRINGS_MAX = 32 };
/* The arguments of a call, as far as they are literal. */
struct arguments {
	struct word strings[STRINGS_MAX];
	size_t n;
	bool is_list; /* an array, or several strings */
	bool is_computed; /* something that is no literal stands among them */
	bool says_recursive;
	const char *mode; /* mode='w' */
	bool has_parens;
};

/* Strings joined by + are put together; more arguments than there is room for count as computed. */
static void add_argument(struct code *c, struct arguments *r, const struct token *t, bool joins)
{
	struct word x = walk_word(c->k->w, t->text, c->k->c->at);
	if (joins && r->n) { /* 'a' + 'b' */
		struct word *last = &r->strings[r->n - 1];
		*last = walk_word(
			c->k->w, arena_printf(walk_arena(c->k->w), "%s%s", last->text, t->text), c->k->c->at);
	} else if (r->n < STRINGS_MAX) {
		r->strings[r->n++] = x;
	} else {
		r->is_computed = true;
	}
}

/* A name among the arguments makes them computed, unless it is a constant or an option that changes
 * nothing. */
static void read_name_argument(const struct code *c, size_t i, struct arguments *r)
{
	const struct token *t = &c->v[i];
	bool is_keyword = is_mark(&c->v[i + 1], "=") || is_mark(&c->v[i + 1], ":");
	if (is_name(t, "recursive") || (is_name(t, "force") && c->language & NODE))
		r->says_recursive |= is_name(t, "recursive");
	if (!is_keyword &&
		!is_name(t,
			"True False true false None null nil undefined shell check capture_output text stdio "
			"inherit recursive force "
			"pipe PIPE STDOUT DEVNULL subprocess stdout stderr Path pathlib"))
		r->is_computed = true;
}

/* Reads the arguments from the token behind the function's name. Languages that call without parentheses
 * end them at a semicolon or at a word such as `if`. */
static void read_arguments(struct code *c, size_t i, struct arguments *r)
{
	*r = (struct arguments){ 0 };
	r->has_parens = is_mark(&c->v[i], "(");
	size_t from = i + (r->has_parens ? 1 : 0);
	int depth = 0, braces = 0;
	bool joins = false;
	for (i = from; i < c->n && i < from + 256; i++) {
		const struct token *t = &c->v[i];
		if (is_mark(t, "(")) {
			depth++;
			if (i > from && c->v[i - 1].kind == T_NAME && !is_name(&c->v[i - 1], "Path Pathname"))
				r->is_computed = true;
		} else if (is_mark(t, ")")) {
			if (depth-- == 0)
				break;
		} else if (is_mark(t, "{")) {
			braces++;
		} else if (is_mark(t, "}")) {
			if (braces-- == 0)
				break;
		} else if (is_mark(t, "[")) {
			r->is_list = true;
		} else if (!r->has_parens && depth == 0 &&
			(is_mark(t, ";") || is_name(t, "if unless for foreach while do end and or"))) {
			break;
		} else if (t->kind == T_STRING) {
			bool is_value =
				i > from && (is_mark(&c->v[i - 1], "=") || is_mark(&c->v[i - 1], ":"));
			if (is_value && i > 1 && is_name(&c->v[i - 2], "mode flag"))
				r->mode = t->text;
			if (t->is_computed || t->is_command)
				r->is_computed = true;
			if (!is_value && !braces)
				add_argument(c, r, t, joins);
			joins = false;
		} else if (is_mark(t, "+") || is_mark(t, "%") ||
			(is_mark(t, ".") && c->language & (PERL | PHP))) {
			joins = is_mark(&c->v[i], "+") || is_mark(&c->v[i], ".");
			/* Two literals joined are still literal; anything else with an operator is
			 * computed. */
			bool folds = i > from && c->v[i - 1].kind == T_STRING && c->v[i + 1].kind == T_STRING;
			r->is_computed |= !folds;
			r->is_list |= false;
			if (folds)
				r->mode = r->mode ? r->mode : "";
		} else if (is_mark(t, "$") || is_mark(t, "@") || is_mark(t, "<") || is_mark(t, "*")) {
			r->is_computed = true;
		} else if (t->kind == T_NAME) {
			read_name_argument(c, i, r);
		}
	}
	r->is_list |= r->n > 1;
}

/* Whether some string was put together from pieces. A command that was is not taken at its word: that is
 * how names are hidden. */
static bool is_joined(const struct code *c, size_t i)
{
	for (size_t j = i; j < c->n && j < i + 64 && !is_mark(&c->v[j], ")") && !is_mark(&c->v[j], ";"); j++)
		if (is_mark(&c->v[j], "+") && j > i && c->v[j - 1].kind == T_STRING)
			return true;
	return false;
}

/* An operand nobody knows. */
static struct word dynamic_word(struct code *c)
{
	return (struct word){ .text = "",
		.certainty = DYNAMIC,
		.origin = ORIGIN_UNKNOWN,
		.is_guarded = true,
		.at = c->k->c->at };
}

/* Path('x').unlink(): the path stands before the function's name. */
static bool string_before(struct code *c, size_t i, struct word *ret)
{
	if (i < 5 || !is_mark(&c->v[i - 1], ".") || !is_mark(&c->v[i - 2], ")") ||
		!is_mark(&c->v[i - 4], "("))
		return false;
	const struct token *path = &c->v[i - 3];
	if (path->kind != T_STRING || path->is_computed ||
		!is_name(&c->v[i - 5], "Path PosixPath PurePath Pathname new"))
		return false;
	*ret = walk_word(c->k->w, path->text, c->k->c->at);
	return true;
}

/* An effect on the first `count` literal paths; when there are too few of them, on a path nobody knows. */
static void file_effect(struct code *c, size_t i, enum tag t, unsigned flags, size_t count)
{
	struct arguments r;
	struct word path;
	read_arguments(c, i + 1, &r);
	flags |= r.says_recursive && tag_kind(t) == FX_DELETE ? FXF_RECURSIVE : 0;
	if (string_before(c, i, &path)) {
		(void)fx_path(c->k, t, &path, flags);
	} else if (r.n && !(r.is_computed && r.n < count)) {
		for (size_t j = 0; j < r.n && j < count; j++)
			(void)fx_path(c->k, t, &r.strings[j], flags);
	} else {
		path = dynamic_word(c);
		(void)fx_path(c->k, t, &path, flags);
	}
}

/* rename(from, to). Moving something to /dev/null destroys it. */
static void move_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	if (r.n >= 2 && word_is(&r.strings[1], "/dev/null")) {
		fx(c->k, TAG_DEVICE_NULL, &r.strings[1], 0);
	} else if (r.n >= 2) {
		(void)fx_path(c->k, TAG_MOVE_FROM, &r.strings[0], 0);
		(void)fx_path(c->k, TAG_MOVE_TO, &r.strings[1], FXF_OVERWRITE);
	} else if (r.n || r.is_computed) {
		struct word path = dynamic_word(c);
		(void)fx_path(c->k, TAG_WRITE_CODE, &path, 0);
	}
}

/* chmod(path, mode) in most languages, chmod(mode, path) in perl and ruby: any string is taken for a
 * path. */
static void permit_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	for (size_t j = 0; j < r.n; j++)
		(void)fx_path(c->k, TAG_PERMISSION_MODE, &r.strings[j], 0);
	if (!r.n && r.has_parens)
		fx(c->k, TAG_PERMISSION_MODE, NULL, 0);
}

/* open(f, 'w').close(), or nothing done with it at all: the file is emptied. */
static bool is_closed_at_once(const struct code *c, size_t i)
{
	size_t depth = 0;
	for (i++; i < c->n; i++) {
		depth += is_mark(&c->v[i], "(");
		if (is_mark(&c->v[i], ")") && --depth == 0)
			break;
	}
	return i >= c->n || c->v[i + 1].kind == T_END || is_mark(&c->v[i + 1], ";") ||
		(is_mark(&c->v[i + 1], ".") && is_name(&c->v[i + 2], "close"));
}

/* Whether a file is read or written depends on the mode. perl puts it in front of the name and may open
 * a command instead; so may ruby. */
static void open_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	const char *mode = r.mode && *r.mode ? r.mode : r.n > 1 ? r.strings[r.n - 1].text : "r";
	const struct word *path = r.n ? &r.strings[0] : NULL;
	if (c->language & PERL) {
		const char *first = path ? path->text : "";
		/* perl: open(F, '>', name) has a mode of its own, open(F, '>name') has it in the name. */
		bool has_mode = r.n > 1 && strspn(first, "+<>|-: utf8") == strlen(first);
		const struct word *file = has_mode ? &r.strings[1] : path;
		size_t n = strlen(first);
		if (n && (first[0] == '|' || first[n - 1] == '|')) {
			struct word text = has_mode ? *file
						    : walk_word(c->k->w,
							      arena_strndup(walk_arena(c->k->w),
								      first + (first[0] == '|'), n - 1),
							      path->at);
			run_text(c->k, &text, 0, "perl open");
		} else if (strchr(first, '>') && file) {
			struct word to = has_mode ? *file : word_tail(path, strspn(first, "+>& "));
			(void)fx_path(c->k, TAG_WRITE_CODE, &to, FXF_OVERWRITE);
		} else if (file) {
			struct word from = word_tail(file, strspn(file->text, "< "));
			fx_read(c->k, &from, 1);
		}
		return;
	}
	/* A mode is short; a longer text as the last argument is something else, such as an encoding. */
	bool writes = strpbrk(mode, "wax+") && strlen(mode) <= 4 && (r.n > 1 || r.mode || r.is_computed);
	struct word unknown = dynamic_word(c);
	bool empties = strchr(mode, 'w') && is_closed_at_once(c, i);
	if (writes)
		(void)fx_path(c->k, empties ? TAG_WRITE_TRUNCATE : TAG_WRITE_CODE,
			path && (r.n > 1 || r.mode) ? path : &unknown,
			strpbrk(mode, "a") ? FXF_APPEND : FXF_OVERWRITE);
	else if (c->language & RUBY && path && path->text[0] == '|') {
		struct word text = word_tail(path, 1);
		run_text(c->k, &text, 0, "ruby open");
	} else if (path && strstr(path->text, "://"))
		fx(c->k, TAG_NETWORK_CODE, path, 0);
	else if (path)
		fx_read(c->k, path, 1);
}

/* A function that runs a command. A literal command is judged; one that is computed is dynamic, or worse
 * when the code also fetches or decodes something. */
static void run_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	/* These names are common in JavaScript; they run programs only when the module for that is
	 * mentioned. */
	if (c->language & NODE && is_name(&c->v[i], "exec spawn fork") && !c->child_process)
		return; /* regex.exec() */
	if (!r.n && !r.has_parens && !r.is_computed)
		return; /* a name that is only mentioned */
	if (!r.n || r.is_computed || is_joined(c, i + 1)) {
		enum tag t = c->fetches ? TAG_FETCH_EXEC : c->decodes ? TAG_DECODE_EXEC : TAG_DYNAMIC_CODE;
		fx_name(c->k, t, arena_strndup(walk_arena(c->k->w), c->v[i].text, c->v[i].n), 0);
		if (r.n && r.is_list && !is_joined(c, i + 1))
			run_argv(c->k, r.strings, r.n, 0, "inline code");
		return;
	}
	struct word *v = r.strings;
	size_t n = r.n;
	/* execl(path, argv[0], ...): the name it gets may be any; the path is what runs */
	const char *name = arena_strndup(walk_arena(c->k->w), c->v[i].text, c->v[i].n);
	/* execl(path, argv[0], ...): the name the program gets may be any; the path is what runs. */
	bool names_itself = text_starts(name, "execl") || text_starts(name, "execv") ||
		text_starts(name, "spawnl") || text_starts(name, "spawnv");
	if (n > 1 && (names_itself || (text_starts(name, "exec") && text_eq(v[0].text, v[1].text)))) {
		v[1] = v[0];
		v++;
		n--;
	}
	if (n == 1 && !(r.is_list && !strchr(v[0].text, ' ')))
		run_text(c->k, &v[0], 0, "inline code");
	else
		run_argv(c->k, v, n, 0, "inline code");
}

enum { CODE_MAX_DEPTH = 8 };

/* Code inside code.  One literal is read in the same language; anything computed is dynamic. */
static void eval_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	if (is_mark(&c->v[i + 1], "{")) /* perl: eval { ... } */
		return;
	if (r.n == 1 && !r.is_computed && !is_joined(c, i + 1)) {
		static const char *const names[] = { "python", "perl", "ruby", "node", "php", "lua" };
		/* Code in code in code: read as deep as anybody writes it, and beyond that not known. */
		if (c->k->code_depth >= CODE_MAX_DEPTH) {
			fx(c->k, TAG_DYNAMIC_CODE, NULL, 0);
			return;
		}
		c->k->code_depth++;
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			if (code_language(names[j]) == c->language)
				classify_code_bytes(c->k, names[j], r.strings[0].text, r.strings[0].text_n);
		c->k->code_depth--;
		return;
	}
	if (r.n || r.has_parens || r.is_computed)
		fx(c->k,
			c->fetches	     ? TAG_FETCH_EXEC
				: c->decodes ? TAG_DECODE_EXEC
					     : TAG_DYNAMIC_CODE,
			NULL, 0);
}

/* execute() is a common name; only a literal that starts with a word of SQL is judged as SQL. */
static void sql_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	size_t n = r.n ? strcspn(r.strings[0].text, " \n\t;(") : 0;
	char first[16] = { 0 };
	for (size_t j = 0; j < n && j < sizeof(first) - 1; j++)
		first[j] = (char)toupper((unsigned char)r.strings[0].text[j]);
	if (n &&
		list_has("DROP DELETE TRUNCATE UPDATE ALTER INSERT CREATE GRANT REVOKE REPLACE WITH SELECT "
			 "VACUUM",
			first, strlen(first)))
		classify_sql_bytes(c->k, r.strings[0].text, r.strings[0].text_n);
	else
		c->any = c->any && r.n; /* some other execute() */
}

/* truncate(f, 0), write_text(''), writeFileSync(f, ''): nothing is left of what was there. */
static bool writes_empty(const struct code *c, size_t i)
{
	if (is_name(&c->v[i], "truncate ftruncate truncateSync ftruncateSync"))
		return true;
	if (!is_name(&c->v[i], "write_text write_bytes writeFileSync writeFile file_put_contents write"))
		return false;
	for (size_t j = i + 1; j < c->n && j < i + 16 && !is_mark(&c->v[j], ")"); j++)
		if (c->v[j].kind == T_STRING && !c->v[j].n && is_mark(&c->v[j + 1], ")"))
			return true;
	return false;
}

/* The effect of one call that was found. */
static void act(struct code *c, size_t i, enum what what, unsigned flags)
{
	c->any = true;
	switch (what) {
	case DELETES:
		file_effect(c, i, TAG_DELETE_CODE, flags, STRINGS_MAX);
		break;
	case WRITES:
		file_effect(c, i, writes_empty(c, i) ? TAG_WRITE_TRUNCATE : TAG_WRITE_CODE, flags, 1);
		break;
	case MOVES:
		move_effect(c, i);
		break;
	case PERMITS:
		permit_effect(c, i);
		break;
	case OPENS:
		open_effect(c, i);
		break;
	case READS: {
		struct arguments r;
		struct word path;
		read_arguments(c, i + 1, &r);
		if (string_before(c, i, &path))
			fx_read(c->k, &path, 1);
		else if (r.n && strstr(r.strings[0].text, "://"))
			fx(c->k, TAG_NETWORK_CODE, &r.strings[0], 0);
		else if (r.n)
			fx_read(c->k, r.strings, 1);
		break;
	}
	case RUNS_TEXT:
		run_effect(c, i);
		break;
	case EVALS:
		eval_effect(c, i);
		break;
	case CONNECTS:
		fx(c->k, TAG_NETWORK_CODE, NULL, 0);
		break;
	case MUTATES:
		fx(c->k, TAG_NETWORK_MUTATE, NULL, FXF_MUTATING);
		break;
	case DECODES:
		break;
	case KILLS:
		fx(c->k, TAG_PROCESS_KILL, NULL, 0);
		break;
	case SQL:
		sql_effect(c, i);
		break;
	}
}

/* The name is imported or defined here, not called. */
static bool is_mentioned_only(const struct code *c, size_t i)
{
	return i && is_name(&c->v[i - 1], "import from def function sub use require new class as") &&
		!is_name(&c->v[i - 1], "new");
}

/* getattr(os, ...), vars(os)[...], process.binding: a function reached by a name that is put together. */
static bool hides_function(const struct code *c, size_t i)
{
	if (c->language & PY && is_name(&c->v[i], "getattr vars __dict__") && is_mark(&c->v[i + 1], "("))
		return is_name(&c->v[i + 2],
			"os subprocess shutil builtins sys pty socket __builtins__ __import__ importlib");
	return c->language & NODE && is_name(&c->v[i], "binding") && i > 1 &&
		is_name(&c->v[i - 2], "process");
}

/* The first row of the table that fits speaks. */
static void look_at_name(struct code *c, size_t i)
{
	if (hides_function(c, i)) {
		fx(c->k, TAG_DYNAMIC_CODE, NULL, 0);
		c->any = true;
		return;
	}
	if (is_mentioned_only(c, i) || (c->language & PY && is_name(&c->v[i + 1], "as")))
		return;
	const struct token *t = unaliased(c, &c->v[i]);
	for (size_t j = 0; j < ARRAY_SIZE(apis); j++)
		if (apis[j].languages & c->language && list_has(apis[j].names, t->text, t->n) &&
			owner_fits(c, i, apis[j].owner)) {
			act(c, i, apis[j].what, apis[j].flags);
			return;
		}
}

/* import a.b as c, from a import b as c: remembered by place, so that looking one up costs the same in
 * any text. When there are too many to remember, the code counts as dynamic. */
static void note_import(struct code *c, size_t i)
{
	bool is_alias = is_name(&c->v[i], "as") && i > 1 &&
		(is_name(&c->v[i - 2], "import") || is_mark(&c->v[i - 2], ",") ||
			is_mark(&c->v[i - 2], ".") || is_mark(&c->v[i - 2], "("));
	bool is_from = is_name(&c->v[i], "from") && i + 2 < c->n && is_name(&c->v[i + 2], "import");
	if (!(c->language & PY) || !(is_alias || is_from))
		return;
	if (c->import_count < IMPORTS_MAX)
		c->imports[c->import_count++] = i;
	else if (is_alias || is_name(&c->v[i + 1], "os subprocess shutil"))
		c->imports_overflow = true;
}

/* What the whole says: names and strings that matter wherever they stand. */
static void survey(struct code *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct token *t = &c->v[i];
		if (t->kind == T_NAME) {
			note_import(c, i);
			c->has_socket |= is_name(t,
				"socket TCPSocket fsockopen create_connection INET Socket net connect "
				"stream_socket_client");
			c->has_dup |= is_name(t, "dup2 pty fdopen reopen proc_open") ||
				(is_name(t, "pipe") && c->language & NODE);
			c->decodes |= is_name(t,
				"b64decode b32decode unhexlify fromhex marshal decompress atob base64_decode "
				"gzinflate str_rot13 decode64 "
				"decode_base64 unpack hex2bin");
			c->fetches |=
				is_name(t, "urlopen urlretrieve requests httpx fetch curl_exec LWP axios");
			c->loops |= is_name(t, "while loop for until");
			c->forks |= is_name(t, "fork pcntl_fork") && !(c->language & NODE);
			c->child_process |= is_name(t, "child_process cp execa shelljs");
		} else if (t->kind == T_STRING) {
			c->has_shell_text |= strstr(t->text, "/bin/sh") || strstr(t->text, "/bin/bash") ||
				strstr(t->text, "cmd.exe") || strstr(t->text, "bash -i") ||
				strstr(t->text, "sh -i") || strstr(t->text, "powershell") ||
				strstr(t->text, "/bin/zsh") || shell_is_known(t->text);
			c->child_process |= strstr(t->text, "child_process") != NULL;
			c->decodes |= text_eq(t->text, "base64") || text_eq(t->text, "hex") ||
				text_eq(t->text, "rot13");
			c->has_socket |= strstr(t->text, "/inet/tcp") != NULL;
		}
	}
}

/* s.replace(/a/, 'rmSync'), print('unlink'): the text is only looked at, changed or shown. */
static bool is_text_argument(const struct code *c, size_t i)
{
	static const char harmless[] =
		"replace replaceAll sub gsub split index indexOf find includes startsWith "
		"endsWith startswith endswith test match search print log puts echo count "
		"append push join re str len has hasOwnProperty";
	int depth = 0;
	while (i-- > 0 && !is_mark(&c->v[i], ";")) {
		if (is_mark(&c->v[i], ")"))
			depth++;
		else if (is_mark(&c->v[i], "(") && depth-- == 0)
			return i && is_name(&c->v[i - 1], harmless);
	}
	return false;
}

/* getattr(os, 'system'), array_map("unlink", ...): a function named by a string is called all the same. */
static void look_at_string(struct code *c, size_t i)
{
	static const char names[] = "system popen unlink rmtree rmdir execSync rmSync unlinkSync shell_exec "
				    "passthru spawnSync rm_rf";
	const struct token *t = &c->v[i];
	if (i && list_has(names, t->text, t->n) &&
		(is_mark(&c->v[i - 1], "(") || is_mark(&c->v[i - 1], ",") || is_mark(&c->v[i - 1], "[")) &&
		!is_text_argument(c, i)) {
		fx_name(c->k, TAG_DYNAMIC_CODE, t->text, 0);
		c->any = true;
	}
}

/* awk: print > "file", print | "cmd", "cmd" | getline. A > inside parentheses compares. */
static void look_at_awk(struct code *c, size_t i, bool *prints, int *depth)
{
	const struct token *t = &c->v[i];
	if (is_name(t, "print printf"))
		*prints = true;
	else if (is_mark(t, ";") || is_mark(t, "}") || is_mark(t, "{"))
		*prints = false;
	else if (is_mark(t, "(") || is_mark(t, ")"))
		*depth += is_mark(t, "(") ? 1 : -1;
	const struct token *next = &c->v[i + 1];
	if (*prints && *depth == 0 && (is_mark(t, ">") || is_mark(t, ">>"))) {
		struct word path = next->kind == T_STRING ? walk_word(c->k->w, next->text, c->k->c->at)
							  : dynamic_word(c);
		(void)fx_path(c->k, TAG_WRITE_CODE, &path, is_mark(t, ">") ? FXF_OVERWRITE : FXF_APPEND);
		c->any = true;
	} else if ((*prints || is_name(next, "getline")) && (is_mark(t, "|") || is_mark(t, "|&"))) {
		const struct token *command = *prints ? next : i ? &c->v[i - 1] : next;
		struct word text = command->kind == T_STRING ? walk_word(c->k->w, command->text, c->k->c->at)
							     : dynamic_word(c);
		if (!is_mark(t, "|") || !is_mark(next, "|"))
			run_text(c->k, &text, 0, "awk pipe");
		c->any = true;
	}
}

/* Languages that have only a few telling forms: do shell script "..." of AppleScript, "..." ! of Scala,
 * file delete of Tcl, tell ... to delete. */
static void look_at_other(struct code *c, size_t i)
{
	bool bangs = is_mark(&c->v[i + 1], "!") || (is_mark(&c->v[i + 1], ".") && is_mark(&c->v[i + 2], "!"));
	if (c->v[i].kind == T_STRING && bangs) {
		struct word text = walk_word(c->k->w, c->v[i].text, c->k->c->at);
		run_text(c->k, &text, 0, "process");
		c->any = true;
	}
	if (is_name(&c->v[i], "delete") && i &&
		(is_name(&c->v[i - 1], "file to") || is_name(&c->v[i + 1], "every all")) &&
		c->v[i + 1].kind != T_END) {
		fx(c->k, TAG_DELETE_CODE, NULL, 0);
		c->any = true;
	}
	if (is_name(&c->v[i], "empty") && is_name(&c->v[i + 1], "trash the")) {
		fx(c->k, TAG_DELETE_CODE, NULL, 0);
		c->any = true;
	}
	if (i >= 3 && c->v[i].kind == T_STRING && is_name(&c->v[i - 1], "script") &&
		is_name(&c->v[i - 2], "shell")) {
		struct word text = walk_word(c->k->w, c->v[i].text, c->k->c->at);
		run_text(c->k, &text, 0, "do shell script");
		c->any = true;
	}
}

/* When nothing telling was found the code is unknown, not harmless; only awk, which mostly reads, counts
 * as reading. */
void classify_code_bytes(struct call *k, const char *language, const char *text, size_t n)
{
	struct code c = { .k = k, .language = code_language(language) };
	size_t room = n + 3 < TOKENS_MAX ? n + 3 : TOKENS_MAX;
	c.v = arena_alloc(walk_arena(k->w), (room + 2) * sizeof(*c.v));
	code_lex(&c, text, text + n);
	/* The text was cut at the limit: what follows was not seen. */
	if (c.n + 2 >= TOKENS_MAX)
		fx(k, TAG_DYNAMIC_CODE, NULL, 0);
	survey(&c);
	if (c.imports_overflow)
		fx(k, TAG_DYNAMIC_CODE, NULL, 0);
	bool prints = false;
	int depth = 0;
	for (size_t i = 0; i < c.n; i++) {
		if (c.language & AWK)
			look_at_awk(&c, i, &prints, &depth);
		if (c.language & OTHER)
			look_at_other(&c, i);
		if (c.v[i].kind == T_NAME) {
			look_at_name(&c, i);
		} else if (c.v[i].kind == T_STRING && c.v[i].is_command) {
			struct word x = walk_word(k->w, c.v[i].text, k->c->at);
			if (c.v[i].is_computed)
				fx(k, TAG_DYNAMIC_CODE, NULL, 0);
			else
				run_text(k, &x, 0, "backquotes");
			c.any = true;
		} else if (c.v[i].kind == T_STRING) {
			look_at_string(&c, i);
		}
	}
	/* A socket together with a shell or with redirected descriptors is how reverse shells look in
	 * every language. */
	if (c.has_socket && (c.has_dup || c.has_shell_text)) {
		fx(k, TAG_REVERSE_SHELL, NULL, 0);
		c.any = true;
	}
	if (c.forks && c.loops) {
		fx(k, TAG_FORK_BOMB, NULL, 0);
		c.any = true;
	}
	if (!c.any)
		fx(k, c.language & AWK ? TAG_READ_QUERY : TAG_UNKNOWN_CODE, NULL, 0);
}

/* Code that is not certain gets an effect for that, and what is known of it is read in addition. */
void classify_code(struct call *k, const char *language, const struct word *text)
{
	if (text->certainty != CERTAIN) {
		enum tag t = text->origin == ORIGIN_FETCHED ? TAG_FETCH_EXEC
			: text->origin == ORIGIN_DECODED    ? TAG_DECODE_EXEC
			: text->known_n			    ? TAG_UNKNOWN_CODE
							    : TAG_DYNAMIC_TEXT;
		fx(k, t, text, 0);
	}
	classify_code_bytes(k, language, text->text, text->text_n);
}
