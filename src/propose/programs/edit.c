/* edit.c — programs that carry a small language: find, fd, sed, the editors, bc and m4.
 *
 * Each is a reader until its language says otherwise: -delete and -exec of find, e and w of sed, :! of
 * an editor. The languages are read just far enough to find those commands. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>

static void nothing(struct call *k)
{
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* A shell or an interpreter among the words, or the file itself as the program: what is selected may be run. */
static bool runs_files(const struct word *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *base = path_base(v[i].text);
		const struct program *p = v[i].certainty == CERTAIN ? program_find(base, strlen(base)) : NULL;
		if ((i == 0 && word_is(&v[i], "{}")) || shell_is_known(v[i].text) ||
			(p && p->handler && text_starts(base, "python")) ||
			word_is_any(&v[i], "node perl ruby php lua source ."))
			return true;
	}
	return false;
}

/* The files below one place that a search by name selects. */
static size_t selected(struct call *k, const struct word *start, const char *pattern, const char **ret)
{
	return start->certainty == CERTAIN
		? tree_select(k, project_here(k, start->text), pattern, false, ret, SCRIPTS_FOUND)
		: 0;
}

/* The command once for every file that is there. */
static void run_found(
	struct call *k, struct word *v, size_t n, const char *const *files, size_t count, bool append)
{
	struct arena *a = walk_arena(k->w);

	for (size_t f = 0; f < count; f++) {
		struct word file = walk_word(k->w, files[f], k->c->at);
		struct word *one = arena_alloc(a, (n + 1) * sizeof(*one));
		bool used = false;
		for (size_t i = 0; i < n; i++) {
			bool is_place = word_is(&v[i], "{}");
			one[i] = is_place ? file : v[i];
			used |= is_place;
		}
		one[n] = file;
		if (used || append)
			run_argv(k, one, n + !used, FXF_FIND, k->head);
	}
}

/* Runs the command of -exec with {} replaced by some file below each start. Eight starts show as much as
 * all of them.  `pattern`: their names fit it; or NULL. */
static void run_selected(struct call *k, struct word *v, size_t n, struct word *starts, size_t start_count,
	const char *pattern, bool append)
{
	struct arena *a = walk_arena(k->w);
	const char *files[SCRIPTS_FOUND];

	for (size_t s = 0; runs_files(v, n) && s < start_count && s < 8; s++)
		run_found(k, v, n, files, selected(k, &starts[s], pattern, files), append);
	/* -exec rm is -delete by another name. */
	for (size_t s = 0; n && word_is_any(&v[0], "rm unlink shred") && s < start_count && s < 8; s++)
		(void)fx_path(k, TAG_DELETE_FIND, &starts[s], FXF_RECURSIVE | FXF_FIND);
	for (size_t s = 0; s < start_count && s < 8; s++) {
		struct word file = word_below(k, &starts[s]);
		struct word *one = arena_alloc(a, (n + 1) * sizeof(*one));
		bool used = false;
		for (size_t i = 0; i < n; i++) {
			one[i] = v[i];
			if (word_is(&v[i], "{}")) {
				one[i] = file;
				used = true;
			} else if (i && word_has(&v[i], "{}")) {
				one[i].certainty = PREFIXED;
				one[i].known_n = (size_t)(strstr(v[i].text, "{}") - v[i].text);
				/* Inside a shell's text the name is just a name. */
				if (strpbrk(v[i].text, " ;|&"))
					one[i] = v[i];
			}
		}
		if (!used && append)
			one[n] = file;
		run_argv(k, one, n + (!used && append), FXF_FIND, k->head);
	}
}

/* What find and fd print: names of files.  It matters where they come from when that is full of secrets. */
static struct feed found_below(struct call *k, const struct word *places, size_t n)
{
	struct feed out = { .kind = FEED_UNKNOWN };
	struct arena *a = walk_arena(k->w);
	const char *cwd = walk_cwd(k->w, k->c);
	for (size_t i = 0; i < n && !out.below; i++) {
		/* Only hidden places matter. */
		if (places[i].certainty != CERTAIN || (places[i].text[0] != '/' && !cwd) ||
			(!strchr(places[i].text, '.') && !(cwd && strstr(cwd, "/."))) ||
			word_is(&places[i], "."))
			continue;
		const char *path = path_clean(a, path_join(a, cwd ? cwd : "/", places[i].text));
		/* Below the home directory and above it lies everything else too. */
		if (paths_holds_secrets(walk_surroundings(k->w), a, path) && strstr(path, "/."))
			out.below = path;
	}
	return out;
}

/* Names of files that a search prints, for a program behind the pipe that runs them. */
static const char *found_names(struct call *k, const struct word *places, size_t n, const char *pattern)
{
	const char *files[SCRIPTS_FOUND];
	struct buf b;

	buf_init(&b, walk_arena(k->w));
	for (size_t i = 0; i < n && i < 8; i++)
		for (size_t j = 0, count = selected(k, &places[i], pattern, files); j < count; j++)
			buf_addf(&b, "%s\n", files[j]);
	return b.n ? b.p : NULL;
}

/* The home directory, or one above it, among the places. */
static const char *all_of_home(struct call *k, const struct word *places, size_t n)
{
	struct arena *a = walk_arena(k->w);
	const struct surroundings *at = walk_surroundings(k->w);
	for (size_t i = 0; i < n; i++)
		if (places[i].certainty == CERTAIN && places[i].text[0] == '/' && at->home &&
			paths_holds_secrets(at, a, path_clean(a, places[i].text)))
			return places[i].text;
	return NULL;
}

/* One action of find. *i is moved behind the words it takes. */
static void find_action(
	struct call *k, size_t *i, struct word *starts, size_t start_count, const char *pattern)
{
	struct word *v = k->rest;
	const struct word *x = &v[*i];
	if (word_is(x, "-delete")) {
		for (size_t s = 0; s < start_count; s++)
			(void)fx_path(k, TAG_DELETE_FIND, &starts[s], FXF_RECURSIVE | FXF_FIND);
	} else if (word_is_any(x, "-exec -execdir -ok -okdir")) {
		size_t from = *i + 1, end = from;
		while (end < k->rest_count && !word_is(&v[end], ";") &&
			!(word_is(&v[end], "+") && end > from && word_is(&v[end - 1], "{}")))
			end++;
		run_selected(k, v + from, end - from, starts, start_count, pattern, false);
		*i = end;
	} else if (word_is_any(x, "-fprint -fprint0 -fls -fprintf") && *i + 1 < k->rest_count) {
		(void)fx_path(k, TAG_WRITE_FILE, &v[++*i], FXF_OVERWRITE);
	} else if (x->certainty != CERTAIN && !x->known_n && !x->is_quoted) {
		fx(k, TAG_DYNAMIC_OPTION, x, 0); /* could be -delete */
	}
}

/* Options, then the places to start from, then the expression. Values of tests are skipped, so that
 * `-name -delete` is no deletion. */
HANDLER(find)
{
	size_t i = 0, first;
	while (i < k->rest_count &&
		(word_is_any(&k->rest[i], "-H -L -P -E -X -x -d") || word_starts(&k->rest[i], "-O") ||
			word_is(&k->rest[i], "-D") || (i && word_is(&k->rest[i - 1], "-D"))))
		i++;
	first = i;
	while (i < k->rest_count && !word_starts(&k->rest[i], "-") && !word_is_any(&k->rest[i], "( ! )") &&
		(k->rest[i].known_n || k->rest[i].certainty == CERTAIN || i == first))
		i++;
	struct word here = walk_word(k->w, ".", k->c->at);
	struct word *starts = i > first ? k->rest + first : &here;
	size_t start_count = i > first ? i - first : 1;
	fx_read(k, starts, start_count);
	/* A test by name that selects files with a secret's name. */
	const struct word *secret = NULL;
	const char *pattern = NULL;
	bool is_named = false;
	for (; i < k->rest_count; i++)
		if (word_is_any(&k->rest[i],
			    "-name -iname -path -ipath -regex -iregex -newer -printf -type -user -group")) {
			is_named |= word_is_any(&k->rest[i], "-name -iname -path -ipath -regex -iregex");
			if (i + 1 < k->rest_count &&
				word_is_any(&k->rest[i], "-name -iname -path -ipath -regex -iregex") &&
				!(i && word_is_any(&k->rest[i - 1], "! -not")) &&
				paths_selects_secrets(
					walk_surroundings(k->w), walk_arena(k->w), k->rest[i + 1].text))
				secret = &k->rest[i + 1];
			if (i + 1 < k->rest_count && word_is(&k->rest[i], "-name") &&
				k->rest[i + 1].certainty == CERTAIN &&
				!(i && word_is_any(&k->rest[i - 1], "! -not")))
				pattern = k->rest[i + 1].text;
			i++;
		} else {
			/* find . -name .env -exec cat {} ;: whichever files they are, they are secrets,
			 * and the command gets them. */
			if (secret && word_is_any(&k->rest[i], "-exec -execdir -ok -okdir"))
				fx(k, TAG_SECRET_FILE, secret, 0);
			if (word_is_any(&k->rest[i], "-o -or ,")) /* either of two names: any */
				pattern = NULL;
			find_action(k, &i, starts, start_count, pattern);
		}
	k->c->out = found_below(k, starts, start_count);
	k->c->out.names = walk_is_piped(k->w) ? found_names(k, starts, start_count, pattern) : NULL;
	if (secret) /* find / -name id_rsa | xargs cat */
		k->c->out.below = secret->text;
	else if (!is_named) /* find ~ -type f | xargs cat: everything that lies there */
		k->c->out.below = all_of_home(k, starts, start_count);
}

/* The pattern and the places fd searches: the operands behind the pattern, or what --search-path and --base-directory say. */
static size_t fd_places(struct call *k, struct word *places, const struct word **ret_pattern)
{
	static const char spec[] =
		":search-path= C=:base-directory= xX:exec,exec-batch "
		"eEtdScjgo=:extension=,exclude=,type=,max-depth=,min-depth=,exact-depth=,size=,color=,threads=,glob,owner=,"
		"changed-within=,changed-before=,max-results=,format=,and=,ignore-file=,path-separator=,batch-size=";
	struct args s;
	struct word base = { 0 };
	size_t n = 0, operands = 0;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, spec);
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == 2) { /* the command: up to ";" */
			while (s.i < k->rest_count && !word_is(&k->rest[s.i], ";"))
				s.i++;
			s.cluster = NULL;
		} else if (item == 1) {
			base = s.value;
		} else if (item == 0 && s.value.text) {
			places[n++] = s.value;
		} else if ((item == ARG_OPERAND || item == ARG_DYNAMIC) && !word_is(&s.value, ";")) {
			if (operands++ > 0)
				places[n++] = s.value;
			else
				*ret_pattern = s.word;
		}
	}
	if (!n)
		places[n++] = walk_word(k->w, ".", k->c->at);
	for (size_t i = 0; i < n; i++)
		places[i] = word_join(walk_arena(k->w), base.text ? &base : NULL, &places[i]);
	return n;
}

/* Everything from -x on, up to ";" or the end, is the command that gets what is found. */
HANDLER(fd)
{
	struct word *places = arena_alloc(walk_arena(k->w), (k->rest_count + 1) * sizeof(*places));
	const struct word *pattern = NULL;
	size_t count = fd_places(k, places, &pattern);
	bool is_secret =
		pattern && paths_selects_secrets(walk_surroundings(k->w), walk_arena(k->w), pattern->text);
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-e --extension") &&
			paths_selects_secrets(walk_surroundings(k->w), walk_arena(k->w),
				arena_printf(walk_arena(k->w), "*.%s", k->rest[i + 1].text))) {
			is_secret = true;
			pattern = &k->rest[i + 1];
		}
	for (size_t i = 0; i < k->rest_count; i++) {
		if (!word_is_any(&k->rest[i], "-x --exec -X --exec-batch"))
			continue;
		size_t end = i + 1;
		while (end < k->rest_count && !word_is(&k->rest[end], ";"))
			end++;
		if (is_secret)
			fx(k, TAG_SECRET_FILE, pattern, 0);
		run_selected(k, &k->rest[i] + 1, end - i - 1, places, count,
			pattern ? arena_printf(walk_arena(k->w), "*%s*", pattern->text) : NULL, true);
		i = end;
	}
	k->c->out = found_below(k, places, count);
	if (is_secret)
		k->c->out.below = pattern->text;
	nothing(k);
}

/* A script of sed: finds the commands that run something (e, s///e) or write a file (w, s///w).
 * Addresses, patterns and texts are skipped, so that an "e" in them does not count. */
static void sed_script(struct call *k, const struct word *script)
{
	if (script->certainty != CERTAIN && !script->known_n) {
		if (!script->is_quoted)
			fx(k, TAG_DYNAMIC_OPTION, script, 0);
		return;
	}
	for (const char *p = walk_marked(k->w, script); *p;) {
		p += strspn(p, " \t\n;{}");
		/* address: numbers, $, /re/, \cREc, with commas and ! */
		for (;;) {
			p += strspn(p, "0123456789$,+~! \t");
			if (*p == '/' || (*p == '\\' && p[1])) {
				char end = *p == '/' ? '/' : *++p;
				for (p++; *p && *p != end; p++)
					p += *p == '\\' && p[1] ? 1 : 0;
				p += *p != '\0';
				p += strspn(p, "IM");
			} else {
				break;
			}
		}
		char cmd = *p ? *p++ : '\0';
		size_t line = strcspn(p, "\n");
		if (cmd == 'e' || cmd == 'w' || cmd == 'W') {
			size_t skip = strspn(p, " \t");
			struct word arg = walk_word(k->w,
				arena_strndup(walk_arena(k->w), p + skip, line - (skip < line ? skip : line)),
				script->at);
			if (cmd == 'e' && arg.text_n)
				run_text(k, &arg, 0, "sed e");
			else if (cmd == 'e')
				fx(k, TAG_DYNAMIC_CODE, script, 0);
			else
				(void)fx_path(k, TAG_WRITE_FILE, &arg, FXF_OVERWRITE);
			p += line;
		} else if (cmd == 's' || cmd == 'y') {
			char end = *p ? *p++ : '\0';
			for (int part = 0; end && part < 2 && *p; p++) {
				if (*p == '\\' && p[1])
					p++;
				else if (*p == end)
					part++;
			}
			/* "w" is the last flag, because the rest of the line is the file's name. */
			size_t flags = strspn(p, "gpiIme0123456789Mw");
			if (cmd == 's' && memchr(p, 'e', flags))
				fx(k, TAG_DYNAMIC_CODE, script, 0);
			if (cmd == 's' && flags && p[flags - 1] == 'w') {
				size_t skip = strspn(p + flags, " \t");
				struct word arg = walk_word(k->w,
					arena_strndup(walk_arena(k->w), p + flags + skip,
						strcspn(p + flags + skip, "\n")),
					script->at);
				(void)fx_path(k, TAG_WRITE_FILE, &arg, FXF_OVERWRITE);
				flags = strcspn(p, "\n");
			}
			p += flags;
		} else if (cmd == 'r' || cmd == 'R') {
			size_t skip = strspn(p, " \t");
			struct word arg = walk_word(k->w,
				arena_strndup(walk_arena(k->w), p + skip, line - (skip < line ? skip : line)),
				script->at);
			fx_read(k, &arg, arg.text_n ? 1 : 0);
			p += line;
		} else if (cmd && strchr("aicbtT:", cmd)) {
			/* These take the rest of the line: texts, file names, labels. */
			p += line;
		}
	}
}

/* sed -i d, sed -i '1,$d': nothing of the file is left. */
static bool sed_empties(const struct word *script)
{
	const char *p = script->text + strspn(script->text, " ");
	static const char *const all[] = { "1,$", "/./", "/^/", "/.*/", "0,$", "" };
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (text_starts(p, all[i]) &&
			text_eq(p + strlen(all[i]) + strspn(p + strlen(all[i]), " "), "d"))
			return true;
	return false;
}

/* What it prints went through a filter, so it is no longer what was read. */
HANDLER(sed)
{
	enum { IN_PLACE, EXPR, FILE_ };
	struct args s;
	struct arena *a = walk_arena(k->w);
	struct word *files = arena_alloc(a, (k->rest_count + 1) * sizeof(*files));
	size_t n = 0;
	bool edits = false, has_script = false, empties = false;
	args_start(&s, a, k->rest, k->rest_count,
		"i?:in-place e=:expression f=:file l=:line-length nrEsuz:quiet,silent,regexp-extended");
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == IN_PLACE) {
			edits = true;
		} else if (item == EXPR && s.value.text) {
			sed_script(k, &s.value);
			empties |= sed_empties(&s.value);
			has_script = true;
		} else if (item == FILE_) {
			has_script = true;
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			files[n++] = s.value;
		}
	}
	size_t first = 0;
	if (!has_script && n) {
		/* On BSD systems -i takes a suffix as the next word, which may be empty. */
		if (edits && !files[0].text_n && n > 1) /* BSD: sed -i '' script */
			first = 1;
		empties |= sed_empties(&files[first]);
		sed_script(k, &files[first++]);
	}
	if (edits) {
		fx_paths(k, empties ? TAG_WRITE_TRUNCATE : TAG_WRITE_EDIT, files + first, n - first,
			FXF_OVERWRITE);
	} else {
		fx_read(k, files + first, n - first);
		if (n == first)
			nothing(k);
	}
	if (k->c->in.kind == FEED_FETCHED)
		k->c->out = k->c->in;
	else
		k->c->out = (struct feed){ .kind = FEED_DECODED };
	if (!edits)
		keep_lines(k, n == first + 1 ? &files[first] : NULL);
}

/* %d, 1,$d, ,d, g/./d: commands of an editor after which no line is left. */
static bool deletes_all(const struct word *x)
{
	static const char *const ranges[] = { "%", "1,$", ",", "0,$", "g/^/", "g/./", "g/.*/", "v/^$/",
		"1,$!", "gg" };
	const char *p = x->text + strspn(x->text, ": \t");
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (text_starts(p, ranges[i])) {
			const char *verb = p + strlen(ranges[i]);
			verb += strspn(verb, " ");
			if (text_starts(verb, "d") && !text_starts(verb, "di"))
				return true;
		}
	return text_starts(p, "normal ggdG") || text_starts(p, "norm ggdG");
}

/* One command given to an editor on its command line or its input: another file, a program behind "!",
 * or code of a language that is built in. */
static void editor_command(struct call *k, const struct word *x)
{
	struct word text = *x;
	if ((text_starts(x->text, "e /") || text_starts(x->text, "r /")) && x->certainty == CERTAIN) {
		struct word file = word_tail(x, 2);
		fx_read(k, &file, 1);
		return;
	}
	/* w FILE, w! FILE, saveas FILE, W FILE */
	size_t verb = strspn(x->text, ": ");
	static const char *const writes[] = { "w ", "w! ", "write ", "write! ", "saveas ", "saveas! ", "sav ",
		"W ", "wq " };
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++)
		if (text_starts(x->text + verb, writes[i]) && x->text[verb + strlen(writes[i])] != '!') {
			struct word file = word_tail(x, verb + strlen(writes[i]));
			(void)fx_path(k, TAG_WRITE_FILE, &file, FXF_OVERWRITE);
			return;
		}
	if (deletes_all(x)) {
		fx(k, TAG_WRITE_TRUNCATE, NULL, 0);
		return;
	}
	while (text.known_n && strchr(": %", text.text[0]))
		text = word_tail(&text, 1);
	static const struct {
		const char *prefix, *language;
	} inside[] = { { "py ", "python" }, { "py3 ", "python" }, { "python ", "python" },
		{ "python3 ", "python" }, { "lua ", "lua" }, { "perl ", "perl" }, { "ruby ", "ruby" } };
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++)
		if (word_starts(&text, inside[i].prefix)) {
			struct word code = word_tail(&text, strlen(inside[i].prefix));
			classify_code(k, inside[i].language, &code);
			return;
		}
	const char *bang = strchr(text.text, '!');
	if (bang &&
		(bang == text.text || bang[-1] == ' ' || text_starts(text.text, "r") ||
			text_starts(text.text, "w"))) {
		struct word inner = word_tail(&text, (size_t)(bang + 1 - text.text));
		run_text(k, &inner, 0, "editor :!");
	} else if (word_has(&text, "(delete-") || word_has(&text, "-process ") ||
		word_has(&text, "(rename-file") || word_has(&text, "delete(") ||
		word_has(&text, "(write-region")) {
		fx(k, TAG_DYNAMIC_CODE, x, 0);
	} else if (word_has(&text, "system(") || word_has(&text, "term ") ||
		word_has(&text, "shell-command")) {
		const char *quote = strpbrk(text.text, "'\"");
		const char *end = quote ? strchr(quote + 1, *quote) : NULL;
		if (end) {
			struct word inner = walk_word(k->w,
				arena_strndup(walk_arena(k->w), quote + 1, (size_t)(end - quote - 1)), x->at);
			run_text(k, &inner, 0, "editor system()");
		} else {
			fx(k, TAG_DYNAMIC_CODE, x, 0);
		}
	}
}

/* A file that is opened may be written. Known standard input is a script of commands (ed, ex). */
HANDLER(editor)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		struct word *x = &k->rest[i];
		if ((word_is_any(x, "-c --cmd -S --eval -eval -sc -esc") ||
			    (word_is(x, "-e") && text_eq(k->head, "emacsclient"))) &&
			i + 1 < k->rest_count) {
			editor_command(k, &k->rest[++i]);
		} else if (word_starts(x, "+")) {
			struct word text = word_tail(x, 1);
			editor_command(k, &text);
		} else if (!word_starts(x, "-")) {
			fx_read(k, x, 1);
			(void)fx_path(k, TAG_WRITE_EDIT, x, FXF_OVERWRITE);
		}
	}
	if (k->c->in.kind == FEED_KNOWN) {
		const char *text = k->c->in.text;
		for (size_t i = 0; i < k->c->in.n;) {
			const char *nl = memchr(text + i, '\n', k->c->in.n - i);
			size_t len = nl ? (size_t)(nl - text) - i : k->c->in.n - i;
			struct word line =
				walk_word(k->w, arena_strndup(walk_arena(k->w), text + i, len), k->c->at);
			editor_command(k, &line);
			i += len + 1;
		}
	}
	if (!k->rest_count)
		nothing(k);
}

/* bc and dc: a line that starts with ! is a command; m4: syscmd(...) runs one. */
static void calculator_text(struct call *k, const char *text, size_t n)
{
	bool is_m4 = text_eq(k->head, "m4");
	for (size_t i = 0; i < n;) {
		const char *nl = memchr(text + i, '\n', n - i);
		size_t len = nl ? (size_t)(nl - text) - i : n - i;
		const char *line = arena_strndup(walk_arena(k->w), text + i, len);
		const char *from = is_m4 ? strstr(line, "syscmd(") : strchr(line, '!');
		if (from && (is_m4 || from == line + strspn(line, " \t"))) {
			from += is_m4 ? 7 + strspn(from + 7, "`' ") : 1;
			struct word inner = walk_word(k->w,
				arena_strndup(
					walk_arena(k->w), from, is_m4 ? strcspn(from, "')") : strlen(from)),
				k->c->at);
			run_text(k, &inner, 0, k->head);
		}
		i += len + 1;
	}
}

/* Expressions on the command line and known standard input are both read for commands. */
HANDLER(calculator)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "e=:expression= f=:file= D=I=U=:define=", &p);
	if (p.values[0])
		calculator_text(k, p.values[0]->text, p.values[0]->text_n);
	if (k->c->in.kind == FEED_KNOWN)
		calculator_text(k, k->c->in.text, k->c->in.n);
	fx_read(k, p.operands, p.operand_count);
	nothing(k);
}

/* Perl that could make a "/" without writing one, or take it from elsewhere. */
static bool is_open_perl(const char *text)
{
	static const char *const parts[] = { "/", "\\x", "\\0", "\\1", "\\N", "\\o", "chr", "pack", "%c",
		"ENV", "ARGV", "INC", "<", "`", "qx", "eval", "(?{", "(??{", "sprintf(\"%v", "local", "our ",
		"use ", "require", "do " };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

/* The part of s/// or tr/// that starts behind `p`, and ends with `close`; NULL: it has no end. */
static const char *perl_part(struct call *k, const char *p, char open, char close, const char **ret)
{
	const char *from = p;
	for (size_t depth = 0; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == close && !depth--)
			break;
		else if (*p == open && open != close)
			depth++;
	}
	*ret = arena_strndup(walk_arena(k->w), from, (size_t)(p - from));
	return *p ? p + 1 : NULL;
}

/* Code of perl's rename leaves a file in its directory when it replaces parts of the name by what holds no "/".  What else it does to the
 * name is not known.  ret: the last text that a part becomes, where it is a literal one. */
static bool renames_in_place(struct call *k, const char *p, const char **ret)
{
	static const char opens[] = "{([<", closes[] = "})]>";
	while (*(p += strspn(p, " \t\n;"))) {
		size_t n = *p == 's' || *p == 'y' ? 1 : text_starts(p, "tr") ? 2 : 0;
		char open = n ? p[n] : 0;
		const char *from, *to;
		if (!open || isalnum((unsigned char)open) || strchr("_ \t\n;", open)) {
			n = strcspn(p, ";");
			if (is_open_perl(arena_strndup(walk_arena(k->w), p, n)))
				return false;
			p += n;
			continue;
		}
		const char *pair = strchr(opens, open);
		char close = pair ? closes[pair - opens] : open;
		p = perl_part(k, p + n + 1, open, close, &from);
		if (p && pair) {
			p += strspn(p, " \t\n");
			p = *p == open ? p + 1 : NULL;
		}
		p = p ? perl_part(k, p, open, close, &to) : NULL;
		if (!p || is_open_perl(to) || strstr(from, "(?{") || strstr(from, "(??{"))
			return false;
		if (*to && !strpbrk(to, "$@\\"))
			*ret = to;
		p += strspn(p, "acdegilmnoprsux");
	}
	return true;
}

/* s,a,b, or y-a-b-: three of the same sign behind the name. */
static bool is_replacing(const char *p)
{
	size_t n = *p == 's' || *p == 'y' ? 1 : text_starts(p, "tr") ? 2 : 0, count = 0;
	char sign = n ? p[n] : 0;
	for (; sign && !isalnum((unsigned char)sign) && *p; p++)
		count += *p == sign;
	return count > 2;
}

/* Where perl's code puts the files. */
static void judge_renaming(struct call *k, const struct word *code, const struct word *files, size_t n)
{
	const char *becomes = NULL;
	if ((code->certainty == CERTAIN || code->is_glob) && !renames_in_place(k, code->text, &becomes))
		fx(k, TAG_DYNAMIC_OPTION, code, 0);
	for (size_t i = 0; becomes && i < n; i++) {
		const char *slash = files[i].certainty == CERTAIN ? strrchr(files[i].text, '/') : NULL;
		struct word to = walk_word(k->w,
			arena_printf(walk_arena(k->w), "%.*s%s", slash ? (int)(slash + 1 - files[i].text) : 0,
				files[i].text, becomes),
			code->at);
		(void)fx_path(k, TAG_MOVE_TO, &to, FXF_OVERWRITE);
	}
}

/* rename FROM TO FILE: the first FROM in the name becomes TO; in the last part of the path only, unless one of them has a "/".  Where a word
 * is not known, or not the first FROM is meant, TO itself is what is known of the place. */
static void judge_replacing(struct call *k, const struct word *from, const struct word *to,
	const struct word *file, bool is_first)
{
	bool is_known = from->certainty == CERTAIN && to->certainty == CERTAIN && file->certainty == CERTAIN;
	const char *slash = is_known && !strchr(from->text, '/') && !strchr(to->text, '/')
		? strrchr(file->text, '/')
		: NULL;
	const char *at = is_known ? strstr(slash ? slash + 1 : file->text, from->text) : NULL;
	if (at) {
		struct word target = walk_word(k->w,
			arena_printf(walk_arena(k->w), "%.*s%s%s", (int)(at - file->text), file->text,
				to->text, at + from->text_n),
			to->at);
		(void)fx_path(k, TAG_MOVE_TO, &target, FXF_OVERWRITE);
	}
	if (!is_known || (at && !is_first))
		(void)fx_path(k, TAG_MOVE_TO, to, FXF_OVERWRITE);
}

/* rename has two meanings: `rename FROM TO FILE...`, and perl's, whose first operand is code that is asked for each name. */
HANDLER(rename)
{
	enum { DRY, CODE, OTHERS };
	static const char spec[] = "n:no-act,nono,dry-run e=E=:expr=,expression= la:last,all "
				   "v0fodsih:verbose,null,force,no-overwrite,symlink,help,version";
	struct parsed p;
	struct args s;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, spec, &p);
	bool has_code = args_has(&p, CODE), is_dry = args_has(&p, DRY);
	const struct word *first = p.operand_count && !has_code ? &p.operands[0] : NULL;
	bool is_code = first &&
		(!text_eq(k->head, "rename") || /* the others know only perl */
			p.operand_count == 2 || first->certainty != CERTAIN ||
			strpbrk(first->text, "/|{}($;`") || is_replacing(first->text));
	/* FROM may have such a sign, too: then both meanings are judged. */
	bool is_words = first && text_eq(k->head, "rename") && p.operand_count > 2;
	size_t at = has_code ? 0 : is_code ? 1 : 2;
	const struct word *files = p.operands + (at < p.operand_count ? at : p.operand_count);
	size_t count = at < p.operand_count ? p.operand_count - at : 0;
	if (is_code)
		classify_code(k, "perl", first);
	if (is_code && !is_dry)
		judge_renaming(k, first, files, count);
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, spec);
	for (int item; (item = args_next(&s)) != ARG_END;)
		if (item == CODE && s.value.text) {
			classify_code(k, "perl", &s.value);
			if (!is_dry)
				judge_renaming(k, &s.value, files, count);
		}
	for (size_t i = 2; is_words && !is_dry && i < p.operand_count; i++)
		judge_replacing(k, first, &p.operands[1], &p.operands[i], !args_has(&p, OTHERS));
	if (is_dry || !count)
		fx(k, TAG_READ_QUERY, NULL, 0);
	for (size_t i = 0; !is_dry && i < count; i++)
		(void)fx_path(k, TAG_WRITE_EDIT, &files[i], 0);
}
