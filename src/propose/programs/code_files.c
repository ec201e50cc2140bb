/* code_files.c — what calls in inline code do to files: which of their arguments is the path, and what the mode says.
 *
 * Literal arguments are taken at their word.  A file whose name is computed is ordinary in code that edits a project, so it is not
 * asked about by itself; but then the paths that the code mentions elsewhere, and the words it is given, are what it may
 * mean, and they are judged. */
#include "propose/programs/code.h"

#include "base/file.h"

#include <string.h>

/* Strings joined by + are put together; more arguments than there is room for count as computed. */
static void add_argument(struct code *c, struct arguments *r, const struct token *t, bool joins)
{
	struct word x = walk_word(c->k->w, t->text, c->k->c->at);
	if (joins && r->n) { /* 'a' + 'b' */
		struct word *last = &r->strings[r->n - 1];
		*last = walk_word(
			c->k->w, arena_printf(walk_arena(c->k->w), "%s%s", last->text, t->text), c->k->c->at);
	} else if (r->n < STRINGS_MAX) {
		r->at[r->n] = (size_t)(t - c->v);
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
void read_arguments(struct code *c, size_t i, struct arguments *r)
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
			bool names_file =
				is_value && i > 1 && is_name(&c->v[i - 2], "file filename path dir dst");
			if (is_value && i > 1 && is_name(&c->v[i - 2], "mode flag flags"))
				r->mode = t->text;
			if (t->is_computed || t->is_command)
				r->is_computed = true;
			if ((!is_value || names_file) && !braces)
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
			r->says_write |= is_name(t,
				"O_WRONLY O_RDWR O_CREAT O_TRUNC O_APPEND WRONLY RDWR CREAT TRUNC APPEND inplace");
			read_name_argument(c, i, r);
		} else if (t->kind == T_NUMBER && depth == 0 && i > from && is_mark(&c->v[i - 1], ",")) {
			r->says_write |= t->text[0] != '0';
		}
	}
	r->is_list |= r->n > 1;
}

bool is_joined(const struct code *c, size_t i)
{
	for (size_t j = i; j < c->n && j < i + 64 && !is_mark(&c->v[j], ")") && !is_mark(&c->v[j], ";"); j++)
		if (is_mark(&c->v[j], "+") && j > i && c->v[j - 1].kind == T_STRING)
			return true;
	return false;
}

/* An operand nobody knows. */
struct word dynamic_word(struct code *c)
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
	/* Path('~/x').expanduser().write_text(...) */
	while (i >= 9 && is_mark(&c->v[i - 1], ".") && is_mark(&c->v[i - 2], ")") &&
		is_mark(&c->v[i - 3], "(") && is_name(&c->v[i - 4], "expanduser resolve absolute") &&
		is_mark(&c->v[i - 5], "."))
		i -= 4;
	if (i < 5 || !(is_mark(&c->v[i - 1], ".") || is_mark(&c->v[i - 1], "->")) ||
		!is_mark(&c->v[i - 2], ")") || !is_mark(&c->v[i - 4], "("))
		return false;
	const struct token *path = &c->v[i - 3];
	if (path->kind != T_STRING || path->is_computed ||
		!is_name(&c->v[i - 5], "Path PosixPath PurePath Pathname new path"))
		return false;
	*ret = walk_word(c->k->w, path->text, c->k->c->at);
	return true;
}

/* python -c "open('$X','w')": the shell puts in what nobody knows, as in a redirection. */
static enum tag known_tag(enum tag t, const struct word *path)
{
	return t == TAG_WRITE_CODE && path->certainty == DYNAMIC ? TAG_WRITE_FILE : t;
}

/* An effect on the first `count` literal paths; when there are too few of them, on a path nobody knows. */
void file_effect(struct code *c, size_t i, enum tag t, unsigned flags, size_t count)
{
	struct arguments r;
	struct word path;
	read_arguments(c, i + 1, &r);
	flags |= r.says_recursive && tag_kind(t) == FX_DELETE ? FXF_RECURSIVE : 0;
	if (string_before(c, i, &path)) {
		(void)fx_path(c->k, t, &path, flags);
	} else if (r.n && !(r.is_computed && r.n < count)) {
		c->writes_unknown |= r.is_computed;
		for (size_t j = 0; j < r.n && j < count; j++)
			(void)fx_path(c->k, known_tag(t, &r.strings[j]), &r.strings[j], flags);
	} else {
		path = dynamic_word(c);
		c->writes_unknown = true;
		(void)fx_path(c->k, t, &path, flags);
	}
}

/* rename(from, to). Moving something to /dev/null destroys it. */
void move_effect(struct code *c, size_t i)
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
		c->writes_unknown = true;
		(void)fx_path(c->k, TAG_WRITE_CODE, &path, 0);
	}
}

/* chmod(path, mode) in most languages, chmod(mode, path) in perl and ruby: any string is taken for a
 * path. */
void permit_effect(struct code *c, size_t i)
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

/* The names are kept out of what is looked at last: they are read and nothing else. */
static void read_literal(struct code *c, struct arguments *r, const struct word *path)
{
	c->reads_unknown |= !path || r->is_computed;
	for (size_t j = 0; j < r->n; j++)
		c->v[r->at[j]].is_read = !r->is_computed;
	if (path && strstr(path->text, "://"))
		fx(c->k, TAG_NETWORK_CODE, path, 0);
	else if (path && (path->text_n || path->certainty != CERTAIN))
		fx_read(c->k, path, 1);
}

/* Whether a file is read or written depends on the mode. perl puts it in front of the name and may open
 * a command instead; so may ruby. */
void open_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	const char *mode = r.mode && *r.mode ? r.mode : r.n > 1 ? r.strings[r.n - 1].text : "r";
	const struct word *path = r.n ? &r.strings[0] : NULL;
	/* open(p, 'w'): the one literal is the mode, and the name is computed. */
	if (r.n == 1 && r.is_computed && r.at[0] > i + 2 && path->text_n <= 4 &&
		strspn(path->text, "rwaxbtU+") == path->text_n && !(c->language & PERL)) {
		mode = path->text;
		path = NULL;
	}
	if (c->language & PERL) {
		const char *first = path ? path->text : "";
		/* perl: open(F, '>', name) has a mode of its own, open(F, '>name') has it in the name. */
		size_t signs = strspn(first, "+<>|-& ");
		bool has_mode = *first && (!first[signs] || first[signs] == ':') && signs > 0;
		struct word computed = dynamic_word(c);
		const struct word *file = !has_mode ? path : r.n > 1 ? &r.strings[1] : &computed;
		size_t n = strlen(first);
		if (n && (first[0] == '|' || first[n - 1] == '|')) {
			struct word text = has_mode ? *file
						    : walk_word(c->k->w,
							      arena_strndup(walk_arena(c->k->w),
								      first + (first[0] == '|'), n - 1),
							      path->at);
			run_text(c->k, &text, 0, "perl open");
		} else if ((strchr(first, '>') || text_starts(first, "+<")) && file) {
			c->writes_unknown |= has_mode && r.n < 2;
			struct word to = has_mode ? *file : word_tail(path, strspn(first, "+<>& "));
			(void)fx_path(c->k, TAG_WRITE_CODE, &to, FXF_OVERWRITE);
		} else if (file) {
			struct word from = word_tail(file, strspn(file->text, "< "));
			if (r.says_write)
				(void)fx_path(c->k, TAG_WRITE_CODE, &from, 0);
			else if (r.n > 1 && strpbrk(r.strings[1].text, "wa+") && r.strings[1].text_n <= 3)
				(void)fx_path(c->k, TAG_WRITE_CODE, &from, FXF_OVERWRITE);
			else
				read_literal(c, &r, &from);
		} else {
			c->reads_unknown = true;
		}
		return;
	}
	struct word before, unknown = dynamic_word(c);
	if (string_before(c, i, &before)) { /* Path('x').open('w') */
		mode = r.n ? r.strings[0].text : mode;
		path = &before;
		r.mode = mode;
	}
	/* A mode is short; a longer text as the last argument is something else, such as an encoding. */
	bool writes = (strpbrk(mode, "wax+") && strlen(mode) <= 4 && (r.n > 1 || r.mode || r.is_computed)) ||
		(r.says_write && !is_name(&c->v[i], "fopen"));
	bool empties = strchr(mode, 'w') && is_closed_at_once(c, i),
	     is_named = path && (r.n > 1 || r.mode || r.says_write);
	if (writes) {
		const struct word *to = is_named ? path : &unknown;
		c->writes_unknown |= !is_named || r.is_computed;
		(void)fx_path(c->k, empties ? TAG_WRITE_TRUNCATE : known_tag(TAG_WRITE_CODE, to), to,
			strpbrk(mode, "a") ? FXF_APPEND : FXF_OVERWRITE);
	} else if (c->language & RUBY && path && path->text[0] == '|') {
		struct word text = word_tail(path, 1);
		run_text(c->k, &text, 0, "ruby open");
	} else {
		read_literal(c, &r, path);
	}
}

/* A literal name is a file that is read, or an address; anything else is some file. */
void read_effect(struct code *c, size_t i)
{
	struct arguments r;
	struct word path;
	read_arguments(c, i + 1, &r);
	if (string_before(c, i, &path))
		fx_read(c->k, &path, 1);
	else
		read_literal(c, &r, r.n ? &r.strings[0] : NULL);
}

/* copy(from, to): the first is read, the second written. */
void copy_effect(struct code *c, size_t i, unsigned flags)
{
	struct arguments r;
	struct word to = dynamic_word(c);
	read_arguments(c, i + 1, &r);
	if (r.n && strstr(r.strings[0].text, "://"))
		fx(c->k, TAG_NETWORK_CODE, &r.strings[0], 0);
	else if (r.n)
		fx_read_tree(c->k, r.strings, 1);
	if (r.n > 1)
		to = r.strings[1];
	else
		c->writes_unknown = true;
	(void)fx_path(c->k, known_tag(TAG_WRITE_CODE, &to), &to, flags);
}

/* symlink(target, path): writes through it go to the target. */
void link_effect(struct code *c, size_t i)
{
	struct arguments r;
	struct word to = dynamic_word(c);
	read_arguments(c, i + 1, &r);
	if (r.n > 1)
		to = r.strings[1];
	struct effect *e = fx_path(c->k, TAG_WRITE_LINK, &to, 0);
	if (e && e->target && r.n > 1)
		note_link(c->k, e->target, &r.strings[0]);
}

/* extractall(dir), unpack_archive(file, dir): whatever is in it goes there. */
void extract_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	bool takes_file = is_name(&c->v[i], "unpack_archive");
	struct word dir =
		r.n > (takes_file ? 1 : 0) ? r.strings[takes_file] : walk_word(c->k->w, ".", c->k->c->at);
	struct word inside = word_below(c->k, &dir);
	(void)fx_path(c->k, TAG_WRITE_EXTRACT, &inside, FXF_OVERWRITE | FXF_RECURSIVE);
}

/* require("/tmp/x"): code of another file.  Only a path is one; a bare name is a module that is installed. */
void load_effect(struct code *c, size_t i)
{
	struct arguments r;
	read_arguments(c, i + 1, &r);
	bool is_shown = is_name(&c->v[i], "require import") && !is_mark(&c->v[i + 1], "(") &&
		c->v[i + 1].kind != T_STRING;
	if (!is_shown && r.n &&
		(strchr("/~", r.strings[0].text[0]) || strstr(r.strings[0].text, "../") ||
			strstr(r.strings[0].text, "://")))
		load_code(c->k, &r.strings[0], c->k->head);
}

/* Path.home() / '.bashrc': the name of a start-up file in code that asks for the home directory. */
static const char *home_path(struct code *c, const char *text)
{
	static const char *const names[] = { ".bashrc", ".bash_profile", ".zshrc", ".zshenv", ".profile",
		".ssh", ".gitconfig", ".config/autostart", ".helm", ".claude", ".aws", ".npmrc" };
	const char *home = walk_surroundings(c->k->w)->home;
	bool asks = false, is_named = false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_named |= text_starts(text, names[i]);
	for (size_t i = 0; is_named && i < c->n; i++)
		asks |= is_name(&c->v[i], "expanduser homedir home HOME") ||
			(c->v[i].kind == T_STRING && text_eq(c->v[i].text, "HOME"));
	return asks && home ? arena_printf(walk_arena(c->k->w), "%s/%s", home, text) : text;
}

/* A place that no ordinary code changes. */
static bool is_dangerous_path(struct code *c, const char *text)
{
	struct arena *a = walk_arena(c->k->w);
	const struct surroundings *at = walk_surroundings(c->k->w);
	const char *resolved;
	size_t n = strlen(text);
	if (n < 3 || n > 200 || strpbrk(text, " \n\t*?<>|") || !(text[0] == '/' || text_starts(text, "~/")))
		return false;
	if (text[0] == '~' && at->home)
		text = arena_printf(a, "%s%s", at->home, text + 1);
	enum path_class where = paths_classify(at, a, path_clean(a, text), false, &resolved);
	return where == PATH_HOME || where == PATH_SYS || where == PATH_STATE || where == PATH_DEV ||
		strstr(text, "/.ssh") || strstr(text, "/.bashrc") || strstr(text, "/.zshrc") ||
		strstr(text, "/.profile") || strstr(text, "/.git/hooks");
}

/* Path.home() / ".aws" / "credentials", join(home, ".ssh", "id_rsa"): names that follow each other, with what separates them, as
 * one path.  NULL: it stands alone. */
static const char *composed(struct code *c, size_t i)
{
	struct arena *a = walk_arena(c->k->w);
	const char *path = c->v[i].text;
	size_t n = 1;

	if (i > 1 && is_mark(&c->v[i - 1], "/") && c->v[i - 2].kind == T_STRING)
		return NULL; /* the middle of one */
	for (; n < STRINGS_MAX && i + 2 < c->n &&
		(is_mark(&c->v[i + 1], "/") || is_mark(&c->v[i + 1], ",")) && c->v[i + 2].kind == T_STRING &&
		c->v[i + 2].n < 200;
		i += 2, n++)
		path = arena_printf(a, "%s/%s", path, c->v[i + 2].text);
	return n > 1 && path[0] ? path : NULL;
}

void mentioned_effects(struct code *c)
{
	const struct surroundings *at = walk_surroundings(c->k->w);
	for (size_t i = 0; i < c->n; i++) {
		const struct token *t = &c->v[i];
		if (t->kind != T_STRING || t->is_read || !t->n)
			continue;
		const char *whole = c->writes_unknown || c->reads_unknown ? composed(c, i) : NULL;
		whole = whole ? home_path(c, whole) : t->text;
		const char *path = c->writes_unknown ? home_path(c, whole) : whole;
		struct word x = walk_word(c->k->w, path, c->k->c->at);
		if (c->writes_unknown && is_dangerous_path(c, path))
			(void)fx_path(c->k, TAG_WRITE_CODE, &x, FXF_OVERWRITE);
		else if (c->reads_unknown && t->n < 200 && strchr(whole, '/') &&
			(paths_is_secret(at, whole) || paths_holds_secrets(at, walk_arena(c->k->w), whole)))
			fx(c->k, TAG_SECRET_FILE, &x, 0);
	}
	/* open(sys.argv[1], 'w'): the words behind the code are what it writes. */
	for (size_t i = 0; c->writes_unknown && i < c->n; i++) {
		if (!is_name(&c->v[i], "argv ARGV ARGF arg"))
			continue;
		for (size_t j = 0; j < c->k->operand_count; j++)
			(void)fx_path(c->k, known_tag(TAG_WRITE_CODE, &c->k->operands[j]), &c->k->operands[j],
				FXF_OVERWRITE);
		break;
	}
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

/* What write_text and its kin leave; an empty text leaves nothing of what was there. */
void write_effect(struct code *c, size_t i, unsigned flags)
{
	struct word path;
	/* x.write(...) of ruby is a path's only where the path is written in front of it. */
	if (c->language & RUBY && is_name(&c->v[i], "write") && i && is_mark(&c->v[i - 1], ".") && i > 1 &&
		is_mark(&c->v[i - 2], ")") && !string_before(c, i, &path))
		return;
	bool is_empty = writes_empty(c, i);
	/* p.write_text('x'): what stands in the parentheses is the content, the path is whatever p is. */
	if (is_name(&c->v[i], "write_text write_bytes spew") && i && !string_before(c, i, &path)) {
		path = dynamic_word(c);
		c->writes_unknown = true;
		(void)fx_path(c->k, TAG_WRITE_CODE, &path, flags);
		return;
	}
	file_effect(c, i, is_empty ? TAG_WRITE_TRUNCATE : TAG_WRITE_CODE, flags, 1);
}
