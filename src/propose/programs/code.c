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
	COPIES,
	LINKS,
	EXTRACTS,
	LOADS,
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
	SQL,
	INSTALLS,
	FOREIGN
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
	{ "remove_dir_all RemoveAll deleteDir deleteRecursively", OTHER, NULL, DELETES, FXF_RECURSIVE },
	{ "remove_file Remove", OTHER, "fs os ()", DELETES, 0 },
	{ "WriteFile Create", OTHER, "os ioutil File", WRITES, FXF_OVERWRITE },
	{ "write", OTHER, "fs", WRITES, FXF_OVERWRITE },
	{ "Command", OTHER, "exec", RUNS_TEXT, 0 },
	{ "commandLine", OTHER, NULL, RUNS_TEXT, 0 },
	{ "remove removedirs", PY | LUA, "os ()", DELETES, 0 },
	{ "remove", PERL, "POSIX", DELETES, 0 },
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
	{ "makedirs mkdir mkdirSync mkdir_p touch", ANY, NULL, WRITES, 0 },
	{ "write", RUBY, "()", WRITES, FXF_OVERWRITE },
	{ "write_file spew append_file overwrite_file edit_file to_csv to_json to_excel to_parquet to_pickle to_html "
	  "to_feather savetxt savez savefig imwrite imsave FileHandler RotatingFileHandler TimedRotatingFileHandler",
		ANY, NULL, WRITES, FXF_OVERWRITE },
	{ "save", PY, "np numpy torch", WRITES, FXF_OVERWRITE },
	{ "connect", PY, "sqlite3 duckdb", WRITES, 0 },
	{ "open", PY, "shelve dbm", WRITES, 0 },
	{ "make_archive", PY, NULL, WRITES, FXF_OVERWRITE },
	{ "output", LUA, "io", WRITES, FXF_OVERWRITE },
	{ "copyfile copytree copy copy2 copyFile copyFileSync cp cpSync cp_r install", ANY,
		"shutil fs promises fsPromises FileUtils File () fsp fse Deno", COPIES, FXF_OVERWRITE },
	{ "copy", PERL | PHP, "", COPIES, FXF_OVERWRITE },
	{ "copy cp syscopy", PERL, "File::Copy Copy", COPIES, FXF_OVERWRITE },
	{ "copyfile copytree copy2", PY, "", COPIES, FXF_OVERWRITE },
	{ "urlretrieve", PY, NULL, COPIES, FXF_OVERWRITE },
	{ "symlink symlinkSync link linkSync ln_s ln_sf ln make_symlink symlink_to hardlink_to", ANY,
		"os fs File FileUtils () promises fsp", LINKS, 0 },
	{ "symlink link", PERL | PHP, "", LINKS, 0 },
	{ "extractall unpack_archive extractTo", ANY, NULL, EXTRACTS, 0 },
	{ "run_path run_module CDLL cdll LoadLibrary spec_from_file_location execfile", PY, NULL, LOADS, 0 },
	{ "require import", NODE, "", LOADS, 0 },
	{ "require do", PERL, "", LOADS, 0 },
	{ "require load require_relative", RUBY, "", LOADS, 0 },
	{ "include include_once require require_once", PHP, "", LOADS, 0 },
	{ "dofile loadfile loadlib", LUA, NULL, LOADS, 0 },
	{ "rename renames replace move renameSync moveSync mv", ANY, "os shutil fs FileUtils File () fse",
		MOVES, 0 },
	{ "rename", PERL | PHP | LUA, NULL, MOVES, 0 },
	{ "move", PERL | PY, "", MOVES, 0 },
	{ "chmod chown chmodSync chownSync lchown chmod_R chown_R", ANY, NULL, PERMITS, 0 },
	{ "open fopen openSync sysopen FileIO BZ2File LZMAFile GzipFile ZipFile", ANY, NULL, OPENS, 0 },
	{ "new", RUBY, "File", OPENS, 0 },
	{ "new", PERL, "IO::File File", OPENS, 0 },
	{ "input", PY, "fileinput", OPENS, 0 },
	{ "read_text read_bytes readFileSync readFile file_get_contents readfile readlines glob iglob "
	  "createReadStream slurp read_file",
		ANY, NULL, READS, 0 },
	{ "read", RUBY, "File IO", READS, 0 },
	{ "file filebase64 templatefile", OTHER, "", READS, 0 },
	{ "system popen popen2 popen3 capture2 capture2e capture3 getoutput getstatusoutput check_output "
	  "check_call execSync spawnSync execFile "
	  "execFileSync shell_exec passthru proc_open pcntl_exec execv execve execvp execvpe execl "
	  "execlp execle execlpe spawnl spawnlp spawnv spawnvp "
	  "posix_spawn system2 create_subprocess_shell create_subprocess_exec",
		ANY & ~AWK, NULL, RUNS_TEXT, 0 },
	{ "execute", LUA | PERL | OTHER, NULL, RUNS_TEXT, 0 },
	{ "run call Popen", PY, "subprocess sp () asyncio", RUNS_TEXT, 0 },
	{ "run sudo local", PY, "c ctx context conn", RUNS_TEXT, 0 }, /* of invoke and fabric */
	{ "main", PY, "pip", INSTALLS, 0 },
	{ "Popen", PY, "", RUNS_TEXT, 0 },
	{ "exec spawn fork", NODE, NULL, RUNS_TEXT, 0 },
	{ "exec spawn", RUBY | PERL | PHP, NULL, RUNS_TEXT, 0 },
	{ "spawn", PY, "pty", RUNS_TEXT, 0 },
	{ "system", AWK, NULL, RUNS_TEXT, 0 },
	{ "sh", RUBY, "", RUNS_TEXT, 0 }, /* of rake */
	{ "run shell", OTHER, "", RUNS_TEXT, 0 },
	{ "exec cmd command sh run_command", OTHER, NULL, RUNS_TEXT, 0 },
	{ "eval exec", PY, "", EVALS, 0 },
	{ "eval", PERL | RUBY | NODE | PHP, NULL, EVALS, 0 },
	{ "instance_eval class_eval Function runInThisContext runInNewContext assert create_function "
	  "loadstring load",
		RUBY | NODE | PHP | LUA, NULL, EVALS, 0 },
	{ "breakpoint", PY, "", RUNS_TEXT, 0 },
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
	{ "syscall dlopen cdef", ANY & ~OTHER, NULL, FOREIGN, 0 },
	{ "Process ProcessBuilder", OTHER, NULL, RUNS_TEXT, 0 },
	{ "execute executescript executemany query exec_query raw rawQuery", PY | NODE | RUBY | PHP, NULL,
		SQL, 0 },
};

/* import os as o: the name that `o` stands for. */
static const struct token *unaliased(const struct code *c, const struct token *t)
{
	for (size_t m = 0; t->kind == T_NAME && m < c->import_count; m++) {
		size_t j = c->imports[m];
		if ((is_name(&c->v[j], "as") || is_mark(&c->v[j], ":")) && c->v[j + 1].n == t->n &&
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

/* One URL that is written out is where it goes; a part that is filled in when it runs could name another host. */
static void connect_effect(struct code *c, size_t i)
{
	struct arguments r;

	read_arguments(c, i + 1, &r);
	bool is_plain = r.n == 1 && !r.is_computed && !is_joined(c, i + 1) &&
		text_starts(r.strings[0].text, "http") && !strpbrk(r.strings[0].text, "{}$%\\");
	fx(c->k, TAG_NETWORK_CODE, is_plain ? &r.strings[0] : NULL, 0);
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
		write_effect(c, i, flags);
		break;
	case COPIES:
		copy_effect(c, i, flags);
		break;
	case LINKS:
		link_effect(c, i);
		break;
	case EXTRACTS:
		extract_effect(c, i);
		break;
	case LOADS:
		load_effect(c, i);
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
	case READS:
		read_effect(c, i);
		break;
	case RUNS_TEXT:
		run_effect(c, i);
		break;
	case EVALS:
		eval_effect(c, i);
		break;
	case CONNECTS:
		connect_effect(c, i);
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
	case INSTALLS:
		fx(c->k, TAG_PACKAGE_INSTALL, NULL, 0);
		break;
	case FOREIGN: /* the kernel, or a library of another language: by number or by name, what it does is not seen */
		if (is_mark(&c->v[i + 1], "(") || c->v[i + 1].kind == T_NUMBER || is_mark(&c->v[i + 1], "&"))
			fx(c->k, TAG_DYNAMIC_CODE, NULL, 0);
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
	/* const {writeFileSync: w} = require('fs') */
	if (c->language & NODE && is_mark(&c->v[i], ":") && i && c->v[i - 1].kind == T_NAME &&
		c->v[i + 1].kind == T_NAME && c->import_count < IMPORTS_MAX)
		c->imports[c->import_count++] = i;
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
		if (is_mark(t, ":"))
			note_import(c, i);
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

/* urlopen(url, str(os.environ)), fetch(url, {body: JSON.stringify(process.env)}): the same statement sends it away. */
static bool is_sent_by(const struct code *c, size_t i)
{
	enum { STATEMENT = 48 };
	for (size_t n = 0;
		(c->fetches || c->has_socket) && i-- > 0 && n < STATEMENT && !is_mark(&c->v[i], ";"); n++)
		if (is_name(&c->v[i], "urlopen urlretrieve post put request fetch axios send sendall sendto"))
			return true;
	return false;
}

/* print(os.environ["API_TOKEN"]), process.env.API_TOKEN: the code shows a credential that it was given; print(os.environ), p ENV:
 * it shows all variables, as env does (*ret_all). */
static bool shows_credential(const struct code *c, bool *ret_all)
{
	bool prints = (c->language & NODE && args_find(c->k->rest, c->k->rest_count, "p print pe")) ||
		text_starts(c->k->head, "nix"),
	     reads = false;
	bool all = false, is_sent = false;

	for (size_t i = 0; i < c->n; i++) {
		prints |= is_name(&c->v[i],
			"print puts p pp console echo write writeln log printf print_r var_dump say");
		if (!is_name(&c->v[i], "environ getenv getEnv env ENV ENVIRON _ENV"))
			continue;
		const struct token *next = &c->v[i + 1];
		bool is_call =
			is_name(&c->v[i], "getenv") && is_mark(next, "(") && is_mark(&c->v[i + 2], ")");
		all |= is_call || next->kind == T_END || is_mark(next, ")") || is_mark(next, ";") ||
			is_mark(next, "}") ||
			(is_mark(next, ".") &&
				is_name(&c->v[i + 2], "items copy to_h to_a each inspect map"));
		is_sent |= all && is_sent_by(c, i);
		for (size_t j = i + 1; j < c->n && j < i + 5; j++) {
			if (is_mark(&c->v[j], ";"))
				break;
			reads |= (c->v[j].kind == T_NAME || c->v[j].kind == T_STRING) &&
				paths_is_secret_variable(c->v[j].text, c->v[j].n);
		}
	}
	*ret_all = prints && all;
	return is_sent || (prints && reads);
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
	/* fs['writeFileSync'](...) */
	bool is_indexed =
		i && is_mark(&c->v[i - 1], "[") && is_mark(&c->v[i + 1], "]") && is_mark(&c->v[i + 2], "(");
	for (size_t j = 0; is_indexed && j < ARRAY_SIZE(apis); j++)
		if (apis[j].languages & c->language && apis[j].what <= RUNS_TEXT && apis[j].what != READS &&
			list_has(apis[j].names, t->text, t->n)) {
			fx_name(c->k, TAG_DYNAMIC_CODE, t->text, 0);
			c->any = true;
			return;
		}
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
	/* @load "lib.so", @include "file.awk" */
	if (is_mark(t, "@") && is_name(next, "load include") && c->v[i + 2].kind == T_STRING) {
		struct word file = walk_word(c->k->w, c->v[i + 2].text, c->k->c->at);
		load_code(c->k, &file, "awk");
		c->any = true;
	}
	/* (getline line < "file") */
	if (is_mark(t, "<") && next->kind == T_STRING &&
		(is_name(&c->v[i - (i > 0)], "getline") || is_name(&c->v[i - (i > 1 ? 2 : 0)], "getline"))) {
		struct word path = walk_word(c->k->w, next->text, c->k->c->at);
		fx_read(c->k, &path, 1);
	}
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
	mentioned_effects(&c);
	/* A socket together with a shell or with redirected descriptors is how reverse shells look in
	 * every language. */
	if (c.has_socket && (c.has_dup || c.has_shell_text)) {
		fx(k, TAG_REVERSE_SHELL, NULL, 0);
		c.any = true;
	}
	bool all = false;
	if (shows_credential(&c, &all)) {
		fx(k, TAG_SECRET_STORE, NULL, 0);
		c.any = true;
	} else if (all) {
		print_environment(k);
		c.any = true;
	}
	if (c.forks && c.loops) {
		fx(k, TAG_FORK_BOMB, NULL, 0);
		c.any = true;
	}
	if (!c.any)
		fx(k, c.language & AWK ? TAG_READ_QUERY : TAG_UNKNOWN_CODE, NULL, 0);
}

/* python -c 'import x': x.py of the project is run by that. */
static void follow_imports(struct call *k, const char *text)
{
	static const char *const words[] = { "import ", "from " };
	struct arena *a = walk_arena(k->w);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *p = text; (p = strstr(p, words[i]));) {
			bool begins = p == text || strchr(" \t\n;:", p[-1]);
			p += strlen(words[i]);
			size_t n =
				strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
			char *name = arena_strndup(a, p, n);
			for (char *dot = strchr(name, '.'); dot; dot = strchr(dot, '.'))
				*dot = '/';
			if (!begins || !n)
				continue;
			project_code(k, project_here(k, arena_printf(a, "%s.py", name)), "python");
			project_code(k, project_here(k, arena_printf(a, "%s/__init__.py", name)), "python");
		}
}

/* Code that is not certain gets an effect for that, and what is known of it is read in addition. */
void classify_code(struct call *k, const char *language, const struct word *text)
{
	if (text->certainty != CERTAIN)
		fx(k, tag_of_run(text->origin, text->known_n ? TAG_UNKNOWN_CODE : TAG_DYNAMIC_TEXT), text, 0);
	const char *marked = walk_marked(k->w, text);
	classify_code_bytes(k, language, marked, strlen(marked));
	if (text_eq(language, "python"))
		follow_imports(k, marked);
}
