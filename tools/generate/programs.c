/* programs.c — build step: the text files of share/programs/ become one table inside the program.
 *
 *     generate-programs OUT.c SOURCE.c... FILE.txt...
 *
 * The form of the text files is docs/formats/programs.md.  The sources are looked through for HANDLER(name), so that a row can
 * only name a handler that is there, and a handler that no row names is found.  Every mistake is said with file and line, and
 * any of them fails the build.
 *
 * The table holds distances into one text and numbers of handlers, no addresses: nothing in it has to be relocated when the
 * program starts. */
#include "base/mem.h"
#include "base/text.h"
#include "model/effect.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>

enum {
	MAX_TOKENS = 256,
	MAX_PROGRAMS = 8192,
	MAX_VERBS = 8192,
	MAX_VALUES = 4096,
	MAX_HANDLERS = 1024,
	MAX_NAMES = 256,
	MAX_ITEMS = 64
};

static const char *const tag_names[] = {
#define X(id, name, kind, meant, meaning, example) name,
#include "propose/programs/tags.def"
#undef X
};
static const char *const tag_ids[] = {
#define X(id, name, kind, meant, meaning, example) "TAG_" #id,
#include "propose/programs/tags.def"
#undef X
};
static const char *const mode_names[] = {
#define X(id, name, meaning) name,
#include "propose/programs/modes.def"
#undef X
};

static const char *const meaning_names[] = {
#define X(id, name, meaning) name,
#include "propose/programs/values.def"
#undef X
};
static const char *const meaning_ids[] = {
#define X(id, name, meaning) "VALUE_" #id,
#include "propose/programs/values.def"
#undef X
};

/* Where a row stands, for messages. */
struct place {
	const char *file;
	unsigned line;
};

struct row {
	struct place at;
	const char *name; /* a program's name, or the words of a verb */
	int tag; /* of tag_names */
	int handler; /* 0: none */
	unsigned flags, mode;
	const char *options; /* of a program */
	const char *needs, *without; /* of a verb */
	size_t first_verb, verb_count;
	size_t first_value, value_count;
	bool shares_verbs;
};

/* An option of a program, or of one verb of it, whose value is more than a word. */
struct value {
	struct place at;
	const char *program, *verb, *option;
	int meaning; /* of meaning_names */
};

struct named {
	struct place at;
	const char *name, *text;
	size_t first_verb, verb_count;
	bool is_used;
};

static struct arena a;
static unsigned mistakes;
static struct row programs[MAX_PROGRAMS], verbs[MAX_VERBS];
static struct value values[MAX_VALUES];
static size_t program_count, verb_count, value_count;
static struct named option_sets[MAX_NAMES], verb_sets[MAX_NAMES], handlers[MAX_HANDLERS];
static size_t option_set_count, verb_set_count, handler_count;

__attribute__((format(printf, 2, 3))) static void mistake(struct place at, const char *fmt, ...)
{
	va_list list;

	mistakes++;
	(void)fprintf(stderr, "%s:%u: error: ", at.file, at.line);
	va_start(list, fmt);
	(void)vfprintf(stderr, fmt, list);
	va_end(list);
	(void)fputc('\n', stderr);
}

static void stop(const char *what)
{
	(void)fprintf(stderr, "generate-programs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "re");
	struct buf b;
	char part[4096];

	if (!f)
		stop(path);
	buf_init(&b, &a);
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
		buf_add(&b, part, n);
	if (ferror(f))
		stop(path);
	(void)fclose(f);
	buf_addc(&b, '\0');
	return b.p;
}

/* The last two parts of a path: "programs/cloud.txt" is enough to find it, and is the same wherever the tree lies. */
static const char *short_name(const char *path)
{
	const char *at = strstr(path, "share/programs/");

	at = at ? at : strstr(path, "src/propose/");
	return at ? at : path;
}

static struct named *find_named(struct named *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(list[i].name, name))
			return &list[i];
	return NULL;
}

static struct named *add_named(
	struct named *list, size_t *n, size_t max, struct place at, const char *name, const char *what)
{
	if (find_named(list, *n, name))
		mistake(at, "%s '%s' is there already", what, name);
	if (*n == max) {
		mistake(at, "too many of '%s'", what);
		return &list[0];
	}
	list[*n] = (struct named){ .at = at, .name = name };
	return &list[(*n)++];
}

/* ---- handlers ---- */

static void find_handlers(const char *path)
{
	static const char start[] = "HANDLER(";
	const char *p = read_whole(path);
	struct place at = { short_name(path), 1 };

	for (; *p; p = strchrnul(p, '\n'), p += *p == '\n', at.line++)
		if (text_starts(p, start)) {
			const char *name = p + sizeof(start) - 1;
			(void)add_named(handlers, &handler_count, MAX_HANDLERS, at,
				arena_strndup(&a, name, strcspn(name, ")")), "handler");
		}
}

static int compare_named(const void *x, const void *y)
{
	return strcmp(((const struct named *)x)->name, ((const struct named *)y)->name);
}

/* ---- the words of a line ---- */

struct line {
	struct place at;
	bool is_indented;
	const char *words[MAX_TOKENS];
	size_t n;
};

/* One line without its comment, those that go on with a backslash joined.  False at the end of the file. */
static bool next_line(const char **text, struct place *at, struct buf *b)
{
	b->n = 0;
	if (!**text)
		return false;
	at->line++;
	for (;;) {
		size_t n = strcspn(*text, "\n"), kept = n;
		for (size_t i = 0; i < n; i++)
			if ((*text)[i] == '#' && (i == 0 || (*text)[i - 1] == ' ')) {
				kept = i;
				break;
			}
		bool goes_on = kept == n && n && (*text)[n - 1] == '\\';
		buf_add(b, *text, goes_on ? n - 1 : kept);
		*text += n + ((*text)[n] == '\n');
		if (!goes_on)
			return true;
		*text += strspn(*text, " ");
		at->line++;
	}
}

static void cut_words(struct line *l, const char *text)
{
	l->n = 0;
	l->is_indented = *text == ' ';
	if (strchr(text, '\t'))
		mistake(l->at, "use blanks, not tabs");
	while (*(text += strspn(text, " \t"))) {
		size_t n = strcspn(text, " \t");
		if (l->n == MAX_TOKENS) {
			mistake(l->at, "too many words");
			return;
		}
		l->words[l->n++] = arena_strndup(&a, text, n);
		text += n;
	}
}

/* ---- attributes ---- */

static bool is_key(const char *word)
{
	static const char *const keys[] = {
		"run:", "flags:", "mode:", "options:", "verbs:", "needs:", "without:"
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (text_eq(word, keys[i]))
			return true;
	return false;
}

/* letters[=|?][:long,long...], as args_start() reads it. */
static bool is_good_item(const char *item)
{
	item += strspn(item, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/=?");
	if (*item != ':')
		return !*item;
	do {
		size_t n =
			strspn(++item, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");
		if (!n)
			return false;
		item += n + (item[n] == '=');
	} while (*item == ',');
	return !*item;
}

static const char *check_options(struct place at, const char *text)
{
	size_t items = 0;

	for (const char *p = text + strspn(text, "+~"); *p;) {
		size_t n = strcspn(p, " ");
		const char *item = arena_strndup(&a, p, n);
		if (!n || !is_good_item(item))
			mistake(at, "'%s' is no item of options", item);
		items++;
		p += n + (p[n] == ' ');
	}
	if (items > MAX_ITEMS)
		mistake(at, "more than %d items of options", MAX_ITEMS);
	return text;
}

/* @name is replaced by what was given that name in this file. */
static const char *join_options(struct place at, const char *const *words, size_t n)
{
	struct buf b;

	buf_init(&b, &a);
	for (size_t i = 0; i < n; i++) {
		struct named *set =
			words[i][0] == '@' ? find_named(option_sets, option_set_count, words[i]) : NULL;
		if (words[i][0] == '@' && !set)
			mistake(at, "there are no options '%s' above in this file", words[i]);
		if (set)
			set->is_used = true;
		buf_addf(&b, "%s%s", i ? " " : "", set ? set->text : words[i]);
	}
	return check_options(at, b.p);
}

/* -f --force: as args_find() wants them, "f force". */
static const char *option_names(struct place at, const char *const *words, size_t n)
{
	struct buf b;

	buf_init(&b, &a);
	for (size_t i = 0; i < n; i++) {
		size_t dashes = strspn(words[i], "-"), rest = strlen(words[i]) - dashes;
		if (!rest || dashes != (rest == 1 ? 1u : 2u))
			mistake(at, "'%s': an option is -x or --name", words[i]);
		buf_addf(&b, "%s%s", i ? " " : "", words[i] + dashes);
	}
	return b.p;
}

static int find_word(const char *const *names, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(names[i], word))
			return (int)i;
	return -1;
}

static void set_handler(struct row *r, const char *name)
{
	struct named *h = find_named(handlers, handler_count, name);

	if (!h) {
		mistake(r->at, "no HANDLER(%s) is in src/propose/programs/", name);
		return;
	}
	h->is_used = true;
	r->handler = (int)(h - handlers) + 1;
}

static void set_verbs(struct row *r, const char *name)
{
	struct named *set = find_named(verb_sets, verb_set_count, name);

	if (!set) {
		mistake(r->at, "there are no verbs '%s' above in this file", name);
		return;
	}
	set->is_used = true;
	r->shares_verbs = true;
	r->first_verb = set->first_verb;
	r->verb_count = set->verb_count;
}

static void set_bits(struct row *r, const char *key, const char *word)
{
	unsigned flag;
	int mode = find_word(mode_names, ARRAY_SIZE(mode_names), word);

	if (text_eq(key, "flags:") && effect_flag_parse(word, &flag))
		r->flags |= flag;
	else if (text_eq(key, "mode:") && mode >= 0)
		r->mode |= 1u << mode;
	else
		mistake(r->at, "there is no %.*s '%s'", (int)strlen(key) - 1, key, word);
}

static void set_attribute(struct row *r, bool is_verb, const char *key, const char *const *words, size_t n)
{
	bool is_for_both = text_eq(key, "run:") || text_eq(key, "flags:");
	bool is_for_verbs = text_eq(key, "needs:") || text_eq(key, "without:");

	if (!is_for_both && is_verb != is_for_verbs)
		mistake(r->at, "'%s' is not for %s", key, is_verb ? "verbs" : "programs");
	else if (!n || (n > 1 && (text_eq(key, "run:") || text_eq(key, "verbs:"))))
		mistake(r->at, "'%s' takes %s", key, n ? "one word" : "a value");
	else if (text_eq(key, "run:"))
		set_handler(r, words[0]);
	else if (text_eq(key, "verbs:"))
		set_verbs(r, words[0]);
	else if (text_eq(key, "options:"))
		r->options = join_options(r->at, words, n);
	else if (text_eq(key, "needs:"))
		r->needs = option_names(r->at, words, n);
	else if (text_eq(key, "without:"))
		r->without = option_names(r->at, words, n);
	else
		for (size_t i = 0; i < n; i++)
			set_bits(r, key, words[i]);
}

/* What stands behind the name or the words: `tag` and attributes. */
static void read_attributes(struct row *r, bool is_verb, const struct line *l, size_t from)
{
	size_t end;

	for (size_t i = from; i < l->n; i = end) {
		for (end = i + 1; end < l->n && !is_key(l->words[end]);)
			end++;
		if (is_key(l->words[i]))
			set_attribute(r, is_verb, l->words[i], l->words + i + 1, end - i - 1);
		else
			mistake(r->at, "'%s' is not expected here", l->words[i]);
	}
}

static int read_tag(const struct line *l, const char *word)
{
	int tag = find_word(tag_names, ARRAY_SIZE(tag_names), word);

	if (tag < 0)
		mistake(l->at, "there is no tag '%s' in src/propose/programs/tags.def", word);
	return tag < 0 ? 0 : tag;
}

/* Programs that only run a handler look, as far as the table knows. */
static int tag_of_looking(void)
{
	return find_word(tag_names, ARRAY_SIZE(tag_names), "read.query");
}

/* ---- rows ---- */

static void check_name(const struct row *r)
{
	for (const char *p = r->name; *p; p++)
		if (!isgraph((unsigned char)*p) || isupper((unsigned char)*p) || *p == '/') {
			mistake(r->at, "'%s': a program's name is in lower case and no path", r->name);
			return;
		}
}

static struct row *read_program(const struct line *l, const char *last_name)
{
	struct row r = { .at = l->at, .name = l->words[0], .tag = tag_of_looking(), .options = "" };
	size_t from = 1;

	check_name(&r);
	if (last_name && strcmp(last_name, r.name) >= 0)
		mistake(l->at, "'%s' does not come after '%s': the programs of a file are sorted", r.name,
			last_name);
	if (l->n > 1 && !is_key(l->words[1]))
		r.tag = read_tag(l, l->words[from++]);
	read_attributes(&r, false, l, from);
	if (from == 1 && !r.handler)
		mistake(l->at, "'%s' needs a tag or 'run:'", r.name);
	if (program_count == MAX_PROGRAMS) {
		mistake(l->at, "too many programs");
		return &programs[0];
	}
	programs[program_count] = r;
	return &programs[program_count++];
}

static void check_verb_words(const struct row *r, size_t words)
{
	if (words > 3)
		mistake(r->at, "more than three words of a verb");
	if (strstr(r->name, "||") || strstr(r->name, "| ") || strstr(r->name, " |") || r->name[0] == '|' ||
		text_ends(r->name, "|"))
		mistake(r->at, "an alternative between bars is empty");
}

/* words... tag attributes, or words... run: handler. */
static void read_verb(const struct line *l)
{
	struct row r = { .at = l->at, .tag = tag_of_looking() };
	struct buf b;
	size_t plain = 0, words;
	bool is_run;

	while (plain < l->n && !is_key(l->words[plain]))
		plain++;
	is_run = plain < l->n && text_eq(l->words[plain], "run:");
	if (!plain && !is_run) {
		mistake(l->at, "a verb needs a tag or 'run:'");
		return;
	}
	words = is_run ? plain : plain - 1;
	buf_init(&b, &a);
	for (size_t i = 0; i < words; i++)
		buf_addf(&b, "%s%s", i ? " " : "", l->words[i]);
	r.name = b.n ? b.p : "";
	if (!is_run)
		r.tag = read_tag(l, l->words[plain - 1]);
	read_attributes(&r, true, l, plain);
	check_verb_words(&r, words);
	if (verb_count == MAX_VERBS)
		mistake(l->at, "too many verbs");
	else
		verbs[verb_count++] = r;
}

static bool is_definition(const struct line *l, const char *what)
{
	return l->n > 1 && text_eq(l->words[0], what) && l->words[1][0] == '@';
}

static void check_sets_are_used(void)
{
	for (size_t i = 0; i < option_set_count; i++)
		if (!option_sets[i].is_used)
			mistake(option_sets[i].at, "no program uses the options '%s'", option_sets[i].name);
	for (size_t i = 0; i < verb_set_count; i++)
		if (!verb_sets[i].is_used)
			mistake(verb_sets[i].at, "no program uses the verbs '%s'", verb_sets[i].name);
}

static void define_options(const struct line *l)
{
	struct named *set =
		add_named(option_sets, &option_set_count, MAX_NAMES, l->at, l->words[1], "options");

	set->text = join_options(l->at, l->words + 2, l->n - 2);
}

static struct named *define_verbs(const struct line *l)
{
	struct named *set = add_named(verb_sets, &verb_set_count, MAX_NAMES, l->at, l->words[1], "verbs");

	set->first_verb = verb_count;
	if (l->n > 2)
		mistake(l->at, "'%s' is not expected here", l->words[2]);
	return set;
}

/* An indented line: one more verb of the program or of the set above it. */
static void add_verb(const struct line *l, struct row *program, struct named *set)
{
	if (!program && !set) {
		mistake(l->at, "a verb belongs below a program or below 'verbs @name'");
		return;
	}
	if (program && program->shares_verbs)
		mistake(l->at, "'%s' has other verbs already", program->name);
	if (program && !program->verb_count)
		program->first_verb = verb_count;
	read_verb(l);
	if (program)
		program->verb_count = verb_count - program->first_verb;
	else
		set->verb_count = verb_count - set->first_verb;
}

/* ---- values of options ---- */

/* "text:" is the meaning "text"; -1 for any other word. */
static int meaning_of(const char *word)
{
	size_t n = strlen(word);

	return n > 1 && word[n - 1] == ':'
		? find_word(meaning_names, ARRAY_SIZE(meaning_names), arena_strndup(&a, word, n - 1))
		: -1;
}

/* "git" or "git/clone". */
static void add_value(const struct line *l, const char *owner, const char *option, int meaning)
{
	const char *slash = strchr(owner, '/');
	struct value v = { .at = l->at, .option = option, .meaning = meaning };

	v.program = arena_strndup(&a, owner, slash ? (size_t)(slash - owner) : strlen(owner));
	v.verb = slash ? slash + 1 : "";
	if (value_count == MAX_VALUES)
		mistake(l->at, "too many values");
	else
		values[value_count++] = v;
}

/* values PROGRAM... MEANING: OPTION... MEANING: OPTION... */
static void read_values(const struct line *l)
{
	size_t owners = 1;
	int meaning = -1;

	while (owners < l->n && meaning_of(l->words[owners]) < 0 && !text_ends(l->words[owners], ":"))
		owners++;
	if (owners == 1 || owners + 1 >= l->n)
		mistake(l->at, "values need programs, a meaning and options");
	for (size_t i = owners; i < l->n; i++) {
		int found = meaning_of(l->words[i]);
		if (found >= 0)
			meaning = found;
		else if (meaning < 0)
			mistake(l->at, "there is no meaning '%s'", l->words[i]);
		else
			for (size_t j = 1; j < owners; j++)
				add_value(l, l->words[j], l->words[i], meaning);
	}
}

static int compare_values(const void *x, const void *y)
{
	const struct value *v = x, *u = y;
	int order = strcmp(v->program, u->program);

	return order ? order : v->at.line < u->at.line ? -1 : v->at.line > u->at.line ? 1 : 0;
}

/* Gives each program its part of the values; those of a program that is not there are a mistake. */
static void share_values(void)
{
	struct row *owner = NULL;

	qsort(values, value_count, sizeof(values[0]), compare_values);
	for (size_t i = 0; i < value_count; i++) {
		if (!i || !text_eq(values[i - 1].program, values[i].program)) {
			owner = NULL;
			for (size_t j = 0; j < program_count && !owner; j++)
				if (text_eq(programs[j].name, values[i].program))
					owner = &programs[j];
			if (!owner)
				mistake(values[i].at, "there is no program '%s'", values[i].program);
			else
				owner->first_value = i;
		} else if (text_eq(meaning_names[values[i - 1].meaning], "host") &&
			!text_eq(meaning_names[values[i].meaning], "host"))
			mistake(values[i].at, "hosts of '%s' stand behind its other values",
				values[i].program);
		if (owner)
			owner->value_count++;
	}
}

static void read_file(const char *path)
{
	const char *text = read_whole(path), *last_name = NULL;
	struct line l = { .at = { short_name(path), 0 } };
	struct place at = { l.at.file, 0 };
	struct row *program = NULL;
	struct named *set = NULL;
	struct buf b;

	option_set_count = verb_set_count = 0;
	buf_init(&b, &a);
	for (l.at.line = 1; next_line(&text, &at, &b); l.at.line = at.line + 1) {
		buf_addc(&b, '\0');
		cut_words(&l, b.p);
		if (!l.n)
			continue;
		if (l.is_indented) {
			add_verb(&l, program, set);
		} else if (is_definition(&l, "options")) {
			define_options(&l);
		} else if (text_eq(l.words[0], "values")) {
			read_values(&l);
		} else if (is_definition(&l, "verbs")) {
			program = NULL;
			set = define_verbs(&l);
		} else {
			set = NULL;
			program = read_program(&l, last_name);
			last_name = program->name;
		}
	}
	check_sets_are_used();
}

static int compare_programs(const void *x, const void *y)
{
	return strcmp(((const struct row *)x)->name, ((const struct row *)y)->name);
}

static void check_whole(void)
{
	qsort(programs, program_count, sizeof(programs[0]), compare_programs);
	for (size_t i = 1; i < program_count; i++)
		if (text_eq(programs[i - 1].name, programs[i].name))
			mistake(programs[i].at, "'%s' stands in %s:%u too", programs[i].name,
				programs[i - 1].at.file, programs[i - 1].at.line);
	share_values();
	for (size_t i = 0; i < handler_count; i++)
		if (!handlers[i].is_used)
			mistake(handlers[i].at, "no row of share/programs/ runs HANDLER(%s)",
				handlers[i].name);
	if (!program_count)
		mistake((struct place){ "share/programs", 0 }, "no programs");
}

/* ---- the result ---- */

struct pool {
	struct buf b;
	FILE *to;
};

/* Distance of a text in the pool; equal texts stand there once, or at the end of another. */
static size_t pool_add(struct pool *p, const char *text)
{
	size_t n = strlen(text) + 1;
	const char *found = p->b.n ? memmem(p->b.p, p->b.n, text, n) : NULL;

	if (found)
		return (size_t)(found - p->b.p);
	buf_add(&p->b, text, n);
	return p->b.n - n;
}

static void print_pool(const struct pool *p)
{
	(void)fputs("\nconst char program_text[] =\n", p->to);
	for (size_t i = 0; i < p->b.n; i += strlen(p->b.p + i) + 1) {
		(void)fputs("\t\"", p->to);
		for (const char *c = p->b.p + i; *c; c++)
			(void)fprintf(p->to, strchr("\"\\?", *c) ? "\\%c" : "%c", *c);
		/* the last NUL is the compiler's */
		(void)fputs(i + strlen(p->b.p + i) + 1 < p->b.n ? "\\0\"\n" : "\";\n", p->to);
	}
}

static void print_result(FILE *to)
{
	struct pool pool = { .to = to };

	buf_init(&pool.b, &a);
	(void)pool_add(&pool, "");
	(void)fputs("/* Made from share/programs/ by tools/generate/programs.c. */\n"
		    "#include \"propose/programs/programs.h\"\n\n",
		to);
	for (size_t i = 0; i < handler_count; i++)
		(void)fprintf(to, "void handle_%s(struct call *k);\n", handlers[i].name);
	(void)fputs("\nvoid program_handle(unsigned handler, struct call *k)\n{\n\tswitch (handler) {\n", to);
	for (size_t i = 0; i < handler_count; i++)
		(void)fprintf(to, "\tcase %zu:\n\t\thandle_%s(k);\n\t\treturn;\n", i + 1, handlers[i].name);
	(void)fputs("\tdefault:\n\t\tBUG(\"no such handler\");\n\t}\n}\n\nconst struct verb program_verbs[] "
		    "= {\n",
		to);
	for (size_t i = 0; i < verb_count; i++) {
		const struct row *v = &verbs[i];
		(void)fprintf(to, "\t{ %zu, %zu, %zu, %s, %d, %u },\n", pool_add(&pool, v->name),
			pool_add(&pool, v->needs ? v->needs : ""),
			pool_add(&pool, v->without ? v->without : ""), tag_ids[v->tag], v->handler, v->flags);
	}
	(void)fputs("};\n\nconst struct value_option program_values[] = {\n", to);
	for (size_t i = 0; i < value_count; i++)
		(void)fprintf(to, "\t{ %zu, %zu, %s },\n", pool_add(&pool, values[i].option),
			pool_add(&pool, values[i].verb), meaning_ids[values[i].meaning]);
	(void)fputs("\t{ 0, 0, 0 }\n};\n\nconst struct program programs[] = {\n", to);
	for (size_t i = 0; i < program_count; i++) {
		const struct row *p = &programs[i];
		(void)fprintf(to, "\t{ %zu, %zu, %zu, %zu, %s, %d, %u, %u, %zu, %zu },\n",
			pool_add(&pool, p->name), pool_add(&pool, p->options), p->first_verb, p->verb_count,
			tag_ids[p->tag], p->handler, p->flags, p->mode, p->first_value, p->value_count);
	}
	(void)fprintf(to, "};\nconst size_t program_count = %zu;\n", program_count);
	print_pool(&pool);
}

int main(int argc, char **argv)
{
	FILE *to;

	if (argc < 3) {
		(void)fputs("usage: generate-programs OUT.c SOURCE.c... FILE.txt...\n", stderr);
		return 64;
	}
	for (int i = 2; i < argc; i++)
		if (text_ends(argv[i], ".c"))
			find_handlers(argv[i]);
	qsort(handlers, handler_count, sizeof(handlers[0]), compare_named);
	for (int i = 2; i < argc; i++)
		if (!text_ends(argv[i], ".c"))
			read_file(argv[i]);
	if (!mistakes)
		check_whole();
	if (mistakes)
		return 1;
	to = fopen(argv[1], "we");
	if (!to)
		stop(argv[1]);
	print_result(to);
	if (ferror(to) || fclose(to))
		stop(argv[1]);
	arena_done(&a);
	return 0;
}
