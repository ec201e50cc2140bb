/* values.c — options whose value is more than a word: it is run, loaded, written or read.
 *
 * `rsync -e`, `gdb -iex`, `psql -o '|cmd'`, `pytest -c`: hundreds of programs have a few of them, and they differ in nothing but
 * their spelling.  The "values" lines of share/programs/values.txt name them; this file finds them among the words and judges
 * what they hold.  It only adds effects: the program's own row or handler says what the call does otherwise.
 *
 * Where a value stands is found without knowing all options of the program, so a word may be taken for an option
 * that is another option's value.  That errs towards seeing too much, and costs little, because the value must also be
 * something that matters. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Abbreviations of long options are taken from this many letters on. */
enum { SHORTEST_ABBREVIATION = 4 };

/* --name value, --name=value; the beginning of the name may stand for it. */
static bool match_long(const struct word *x, const char *option, bool *ret_next, size_t *ret_skip)
{
	size_t n = strcspn(x->text, "="), whole = strlen(option);

	if (n > x->known_n || n > whole || memcmp(x->text, option, n) != 0 ||
		(n < whole && n < SHORTEST_ABBREVIATION + 2))
		return false;
	*ret_next = x->text[n] != '=';
	*ret_skip = n + 1;
	return true;
}

/* -x value, -xvalue, and at the end of a bundle -abx value. */
static bool match_short(const struct word *x, char letter, bool *ret_next, size_t *ret_skip)
{
	if (x->text[1] == letter) {
		/* -o"$F": the rest of the word is not known, but there is one. */
		*ret_next = x->text_n == 2 && x->certainty == CERTAIN;
		*ret_skip = 2 + (x->text[2] == '=');
		return true;
	}
	*ret_next = true;
	return x->certainty == CERTAIN && x->text_n > 2 && x->text[x->text_n - 1] == letter &&
		strspn(x->text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
		x->text_n - 1;
}

/* Does this word say the option?  *ret_next: the next word is the value; else it is the rest of this one. */
static bool match(const struct word *x, const char *option, bool *ret_next, size_t *ret_skip)
{
	size_t n = strlen(option);
	char last = option[n - 1];

	if (last == '=' || last == ':' || last == '@') {
		*ret_next = false;
		*ret_skip = n;
		return word_starts(x, option);
	}
	if (x->known_n < 2 || x->text[0] != option[0])
		return false;
	if (option[1] == '-')
		return x->text[1] == '-' && match_long(x, option, ret_next, ret_skip);
	if (x->text[1] == '-')
		return false;
	if (n == 2)
		return match_short(x, option[1], ret_next, ret_skip);
	*ret_next = word_is(x, option);
	*ret_skip = n + 1;
	return *ret_next || (word_starts(x, option) && x->text[n] == '=');
}

bool names_command(const char *name, size_t n)
{
	static const char *const ends[] = { "command", "cmd", "exec", "program", "pager", "editor", "askpass",
		"invoke", "hook", "wrapper", "runner", "linker", "executable", "viewer", "browser", "helper",
		"textconv", "sshcommand", "fsmonitor", "script-shell", "script_shell", "_shell", "filter",
		"compiler", "launcher" };

	while (n && name[n - 1] == ':')
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t len = strlen(ends[i]);
		if (n >= len && strncasecmp(name + n - len, ends[i], len) == 0)
			return true;
	}
	return false;
}

/* A file from a place that this work does not own is code of somebody else.  One of the work tree is a script of the project, and
 * is judged as such; a bare name is a module that is installed, or a file here. */
void load_code(struct call *k, const struct word *x, const char *language)
{
	const char *text = x->text;

	if (x->certainty != CERTAIN) {
		fx(k, x->known_n ? TAG_SCRIPT_FILE : TAG_DYNAMIC_TEXT, x, 0);
		return;
	}
	text += word_starts_caseless(x, "file://") ? 7 : text[0] == '@' ? 1 : 0;
	struct word path = word_tail(x, (size_t)(text - x->text));
	if (strstr(text, "://")) {
		fx(k, TAG_FETCH_EXEC, x, 0);
	} else if (strncasecmp(text, "data:", 5) == 0) {
		fx(k, TAG_DYNAMIC_CODE, x, 0);
	} else if (text[0] == '/' || text[0] == '~' || text_starts(text, "../")) {
		struct effect *e = fx_path(k, TAG_SCRIPT_FILE, &path, 0);
		if (e && e->path_class != PATH_IN && e->path_class != PATH_SYS && e->path_class != PATH_SINK)
			fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
		else if (e)
			run_script(k, &path, language);
	} else {
		run_script(k, &path, language);
	}
}

/* Settings of the project are its own business; those of a place that this work does not own are code of somebody else. */
static void judge_config(struct call *k, const struct word *x)
{
	struct feed content;

	if (word_starts(x, "/") || word_starts(x, "~") || word_starts(x, "../")) {
		load_code(k, x, k->head);
	} else if (x->certainty == CERTAIN && *walk_notes(k->w)) {
		const char *cwd = walk_cwd(k->w, k->c);
		if (cwd &&
			note_find(k, path_clean(walk_arena(k->w), path_join(walk_arena(k->w), cwd, x->text)),
				&content))
			run_script(k, x, k->head);
	}
}

/* A list of cmake is a command with its words; the words of maven's exec.executable stand in another setting. */
static struct word whole_command(struct call *k, const struct word *x, struct word value)
{
	struct arena *a = walk_arena(k->w);

	if (value.certainty != CERTAIN)
		return value;
	if (text_eq(k->head, "cmake") && strchr(value.text, ';')) {
		char *text = arena_strdup(a, value.text);
		for (char *p = strchr(text, ';'); p; p = strchr(p, ';'))
			*p = ' ';
		return walk_word(k->w, text, x->at);
	}
	for (size_t i = 0; word_has(x, "exec.executable") && i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "-Dexec.args=") ||
			word_starts(&k->rest[i], "-Dexec.commandlineArgs="))
			return walk_word(k->w,
				arena_printf(a, "%s %s", value.text, strchr(k->rest[i].text, '=') + 1),
				x->at);
	return value;
}

/* wget -e output_document=FILE: a setting that an option has, too. */
static void judge_file_setting(struct call *k, const struct word *x, size_t n)
{
	struct word file = word_tail(x, n + 1 + strspn(x->text + n + 1, "= "));

	if (list_has("output_document logfile save_cookies warc_file rejected_log", x->text, n))
		(void)fx_path(k, TAG_WRITE_FILE, &file, FXF_OVERWRITE);
	else if (list_has("post_file body_file input load_cookies", x->text, n))
		fx_read(k, &file, 1);
	else if (list_has("dir_prefix", x->text, n)) {
		file = word_below(k, &file);
		(void)fx_path(k, TAG_WRITE_FILE, &file, FXF_OVERWRITE);
	}
}

/* NAME=value, or "NAME value" as ssh has it.  A bare file name is a file of settings. */
static void judge_setting(struct call *k, const struct word *x)
{
	size_t n = strcspn(x->text, "= ");

	if (n < x->known_n && text_starts(k->head, "wget"))
		judge_file_setting(k, x, n);
	if (n >= x->known_n || !names_command(x->text, n))
		return;
	struct word value = word_tail(x, n + 1 + strspn(x->text + n + 1, "= "));
	if (value.text_n > 1 && (value.text[0] == '"' || value.text[0] == '\'') &&
		value.text[value.text_n - 1] == value.text[0])
		value = walk_word(
			k->w, arena_strndup(walk_arena(k->w), value.text + 1, value.text_n - 2), x->at);
	value = whole_command(k, x, value);
	if (is_loose_program(&value))
		fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
	if (value.text_n && !word_is_any(&value, "none true false yes no"))
		run_text(k, &value, 0, arena_strndup(walk_arena(k->w), x->text, n));
}

/* clone -c key=value is kept in the new repository. */
static void judge_git_setting(struct call *k, const struct word *x)
{
	size_t n = strcspn(x->text, "=");
	const char *key = arena_strndup(walk_arena(k->w), x->text, n);

	if (git_key_runs(key) || word_has(x, "=!"))
		fx(k, TAG_PERSISTENCE_GIT_CONFIG, x, 0);
	if (git_key_is_proxy(key) && x->text[n] && x->text[n + 1] && !names_local_host(x->text + n + 1))
		fx(k, TAG_ENVIRONMENT_PROXY, x, 0);
}

static void judge_listen(struct call *k, const struct word *x)
{
	if (!word_starts(x, "127.") && !word_starts(x, "localhost") && !word_starts(x, "[::1]") &&
		strpbrk(x->text, ".:["))
		fx(k, TAG_LISTEN_PORT, x, 0);
}

/* gcc -wrapper gdb,--args: the words stand between commas. */
static void run_listed(struct call *k, const struct word *x, const char *via)
{
	struct arena *a = walk_arena(k->w);
	struct bytes rest = { (const uint8_t *)x->text, x->text_n };
	struct word *v = arena_alloc(a, (x->text_n + 1) * sizeof(*v));
	size_t n = 0;

	while (rest.p && rest.n) {
		struct bytes part = text_cut(&rest, ',');
		v[n++] = walk_word(k->w, arena_strndup(a, (const char *)part.p, part.n), x->at);
	}
	run_argv(k, v, n, 0, via);
}

/* The program gets files as its arguments; so it is judged as that command. */
static void judge_program(struct call *k, const struct word *x, const char *via)
{
	struct word text = *x;

	if (is_loose_program(x))
		fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
	if (strstr(via, " -wrapper") && word_has(x, ",")) {
		run_listed(k, x, via);
		return;
	}
	if (x->certainty == CERTAIN)
		text = walk_word(k->w, arena_printf(walk_arena(k->w), "%s ./*", x->text), x->at);
	run_text(k, &text, 0, via);
}

/* "|cmd" and "!cmd" are commands, anything else is a file. */
static void judge_pipe(struct call *k, const struct word *x, const char *via)
{
	bool is_command = word_starts(x, "|") || word_starts(x, "!") || word_starts(x, "%pipe%");
	struct word text = word_tail(x, word_starts(x, "%pipe%") ? 6 : is_command);

	if (is_command)
		run_text(k, &text, 0, via);
	else if (!word_is(x, "-"))
		(void)fx_path(k, TAG_WRITE_FILE, x, FXF_OVERWRITE);
}

static void judge_value(struct call *k, const struct value_option *row, const struct word *x)
{
	const char *via = arena_printf(walk_arena(k->w), "%s %s", k->head, program_text + row->option);
	struct word inside;
	ptrdiff_t when = 0;

	if (!x->text_n && x->certainty == CERTAIN)
		return;
	switch ((enum value_meaning)row->meaning) {
	case VALUE_TEXT:
		/* yt-dlp --exec after_move:cmd says when it runs */
		if (text_eq(k->head, "yt-dlp") && x->certainty == CERTAIN &&
			strspn(x->text, "abcdefghijklmnopqrstuvwxyz_") &&
			x->text[strspn(x->text, "abcdefghijklmnopqrstuvwxyz_")] == ':')
			when = strchr(x->text, ':') + 1 - x->text;
		inside = word_tail(x, (size_t)when);
		x = &inside;
		if (word_is_any(x, "never auto always")) /* bat --pager never */
			break;
		if (is_loose_program(x))
			fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
		run_text(k, x, 0, via);
		break;
	case VALUE_PROGRAM:
		judge_program(k, x, via);
		break;
	case VALUE_CODE:
		classify_code(k,
			text_eq(k->head, "latexmk")	   ? "perl"
				: text_eq(k->head, "rake") ? "ruby"
							   : k->head,
			x);
		break;
	case VALUE_LOAD:
		load_code(k, x, k->head);
		break;
	case VALUE_CONFIG:
		judge_config(k, x);
		break;
	case VALUE_WRITE:
		/* "$BUILD/app": where it goes is the project's business when its name is known and ordinary. */
		if (!word_is(x, "-"))
			(void)fx_path(
				k, walk_knows_name(x) ? TAG_WRITE_TOOL : TAG_WRITE_FILE, x, FXF_OVERWRITE);
		break;
	case VALUE_INTO:
		inside = word_below(k, x);
		(void)fx_path(k, TAG_WRITE_FILE, &inside, FXF_OVERWRITE);
		break;
	case VALUE_PIPE:
		judge_pipe(k, x, via);
		break;
	case VALUE_READ:
		fx_read(k, x, 1);
		break;
	case VALUE_SETTING:
		judge_setting(k, x);
		break;
	case VALUE_GITSETTING:
		judge_git_setting(k, x);
		break;
	case VALUE_NODEOPTIONS:
		classify_assignment(k, &(struct assignment){ .name = "NODE_OPTIONS", .value = *x });
		break;
	case VALUE_DOCKERHOST:
		if (word_starts(&k->rest[0], "-"))
			classify_assignment(k, &(struct assignment){ .name = "DOCKER_HOST", .value = *x });
		break;
	case VALUE_HOST:
		judge_host(k, x);
		break;
	case VALUE_LISTEN:
		judge_listen(k, x);
		break;
	}
}

static bool has_verb(const struct call *k, const char *verb)
{
	for (size_t i = 0; *verb && i < k->rest_count; i++)
		if (word_is(&k->rest[i], verb))
			return true;
	return !*verb;
}

/* The words from here on are those of another program. */
static void classify_behind(struct call *k, const char *program, size_t from)
{
	struct call inner = *k;

	inner.program = program_find(program, strlen(program));
	inner.head = program;
	inner.rest += from;
	inner.rest_count -= from;
	classify_values(&inner);
}

/* Words are few and rows are many, so most rows are ruled out by one byte. */
void classify_values(struct call *k)
{
	const struct value_option *rows = &program_values[k->program->first_value];

	/* Those stand last in the table. */
	if (k->program->value_count && rows[k->program->value_count - 1].meaning == VALUE_HOST)
		classify_hosts(k);
	for (size_t j = 0; j < k->rest_count; j++) {
		const char *text = k->rest[j].text;
		if (word_is(&k->rest[j], "--")) {
			if (text_eq(k->head, "cargo")) /* cargo rustc -- OPTIONS of rustc */
				classify_behind(k, "rustc", j + 1);
			return;
		}
		bool is_long = text[0] == '-' && text[1] == '-';
		if (!strchr("-@", text[0]) && !strchr(text, '='))
			continue;
		for (size_t i = 0; i < k->program->value_count; i++) {
			const char *option = program_text + rows[i].option;
			bool is_next = false;
			size_t skip = 0;
			if (option[0] != text[0] || (is_long && (option[1] != '-' || option[2] != text[2])) ||
				!match(&k->rest[j], option, &is_next, &skip) ||
				!has_verb(k, program_text + rows[i].verb))
				continue;
			if (is_next && j + 1 < k->rest_count) {
				judge_value(k, &rows[i], &k->rest[j + 1]);
			} else if (!is_next &&
				(skip < k->rest[j].text_n || k->rest[j].certainty != CERTAIN)) {
				struct word value = word_tail(&k->rest[j], skip);
				judge_value(k, &rows[i], &value);
			}
		}
	}
}
