/* wrappers.c — programs whose business is to run another one: sudo, env, timeout, xargs, parallel, gdb
 * and many more.
 *
 * Most of them differ only in their options, so they are rows of share/programs/ read by one function.
 * Each such row starts its option specification with the same five items: 0 an option whose value is
 * shell text, 1 options that open a shell, 2 options after which nothing is run, 3 an option that names
 * the working directory, 4 options that only ask. What is left after options, assignments and skipped
 * operands is the inner command, and it is judged like any other, with the flags of its wrapper (sudo
 * makes it privileged).
 *
 * A wrapper must never make its command look milder. An option the row does not know may take the next
 * word as its value, so that the inner command would begin elsewhere; therefore unknown options are an
 * effect of their own, unless the row is lax. */
#include "propose/programs/programs.h"

#include "base/file.h"
#include "model/command.h"

#include <string.h>

/* Every row of a wrapper starts its options with these five items; those it does not have are called _text, _shell, _nothing,
 * _dir. */
enum { ITEM_TEXT, ITEM_SHELL, ITEM_NOTHING, ITEM_DIR, ITEM_ASK };

/* What a wrapper's words say: the inner command, where it runs, and what else the options ask for. */
struct inner {
	struct word *v;
	size_t n;
	const struct word *dir;
	bool runs_nothing, asks, shell, ran_text, has_unknown;
};

/* Reads the options of a wrapper and finds the inner command. An option's text is run at once. */
static void read_wrapper(struct call *k, unsigned flags, struct inner *in)
{
	struct args s;
	unsigned skip = k->program->mode & MODE_SKIP_1 ? 1 : 0;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, program_options(k->program));
	for (size_t i = 0; k->program->mode & MODE_AFTER_DASHES && i + 1 < k->rest_count; i++)
		if (word_is(&k->rest[i], "--")) {
			in->v = k->rest + i + 1;
			in->n = k->rest_count - i - 1;
			return;
		}
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == ITEM_TEXT && s.value.text) {
			run_text(k, &s.value, flags, k->head);
			in->ran_text = true;
		} else if (item == ITEM_SHELL) {
			in->shell = true;
		} else if (item == ITEM_NOTHING) {
			in->runs_nothing = true;
		} else if (item == ITEM_DIR && s.value.text) {
			struct word *dir = arena_alloc(walk_arena(k->w), sizeof(*dir));
			*dir = s.value;
			in->dir = dir;
		} else if (item == ITEM_ASK) {
			in->asks = true;
		} else if (item == ARG_UNKNOWN) {
			in->has_unknown = true;
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			if (k->program->mode & MODE_ASSIGNS && is_assignment(&s.value)) {
				note_assignment(k, &s.value);
				s.is_over = false;
				continue;
			}
			if (skip) {
				skip--;
				if (k->program->mode & MODE_WRITES_1)
					(void)fx_path(k, TAG_WRITE_FILE, &s.value, FXF_OVERWRITE);
				s.is_over = (k->program->mode & MODE_TEXT_AFTER) == 0;
				continue;
			}
			size_t at = (size_t)(s.word - k->rest);
			in->v = k->rest + at;
			in->n = k->rest_count - at;
			return;
		}
	}
}

/* Judges what was found. An option that is not known could take the next word, so what runs is then not
 * certain; that is an effect of its own, unless the row says that it does not matter. */
static void run_inner(struct call *k, struct inner *in, unsigned flags)
{
	unsigned mode = k->program->mode;
	if (in->has_unknown && !(mode & MODE_LAX))
		fx(k, TAG_UNKNOWN_OPTION, &k->rest[0], 0);
	if (in->asks || in->runs_nothing) {
		bool watches = !in->asks && list_has("strace ltrace heaptrack", k->head, strlen(k->head));
		fx(k, watches ? TAG_PROCESS_TRACE : TAG_READ_QUERY, NULL, 0);
		return;
	}
	if (in->shell && !in->ran_text)
		fx(k, flags & FXF_PRIVILEGED ? TAG_PRIVILEGE_SHELL : TAG_STDIN_SHELL, NULL, 0);
	if (in->n && mode & MODE_AS_TEXT) {
		struct word text = words_join(walk_arena(k->w), in->v, in->n);
		run_text(k, &text, flags, k->head);
	} else if (in->n) {
		run_argv_in(k, in->dir, in->v, in->n, flags, k->head);
	} else if (mode & MODE_SHELL_ALONE && !in->ran_text && !in->shell) {
		fx(k, flags & FXF_PRIVILEGED ? TAG_PRIVILEGE_SHELL : TAG_STDIN_SHELL, NULL, 0);
	}
}

/* capsh [options] -- ARGS, where ARGS are those of bash. */
HANDLER(capsh)
{
	size_t i = 0;
	while (i < k->rest_count && !word_is_any(&k->rest[i], "-- =="))
		i++;
	if (i == k->rest_count) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	struct word *v = arena_alloc(walk_arena(k->w), (k->rest_count - i) * sizeof(*v));
	v[0] = walk_word(k->w, "bash", k->rest[i].at);
	memcpy(v + 1, k->rest + i + 1, (k->rest_count - i - 1) * sizeof(*v));
	run_argv(k, v, k->rest_count - i, 0, k->head);
}

/* The handler of most rows. */
HANDLER(wrapper)
{
	struct inner in = { 0 };
	unsigned flags = k->program->flags;
	/* A row that names no tag says that the wrapper itself is not worth a word. */
	if (k->program->tag != TAG_READ_QUERY)
		fx(k, k->program->tag, NULL, 0);
	read_wrapper(k, flags, &in);
	run_inner(k, &in, flags);
}

/* setarch [MACHINE] [options] [command]: the machine may be left out. */
HANDLER(setarch)
{
	static const char machines[] =
		"linux32 linux64 i386 i486 i586 i686 athlon x86_64 uname26 ppc ppc64 "
		"ppc64le ppc32 arm armv7l armv8l aarch64 arm64 mips mips64 mips32 s390 s390x "
		"sparc sparc64 ia64 alpha parisc parisc64 riscv32 riscv64 loongarch64";
	struct inner in = { 0 };

	if (k->rest_count && word_is_any(&k->rest[0], machines)) {
		k->rest++;
		k->rest_count--;
	}
	read_wrapper(k, 0, &in);
	run_inner(k, &in, 0);
}

/* perf stat, record and their kin measure a command; alone they measure the machine. */
HANDLER(perf)
{
	struct inner in = { 0 };
	read_wrapper(k, 0, &in);
	run_inner(k, &in, 0);
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* su [options] [-] [user [args]]: what follows is given to the user's shell, so options are looked for
 * again behind the user. */
HANDLER(su)
{
	struct inner in = { 0 };
	struct word *rest = k->rest;
	size_t count = k->rest_count;
	fx(k, TAG_PRIVILEGE_SUDO, NULL, 0);
	while (k->rest_count && !in.ran_text) {
		in.n = 0;
		read_wrapper(k, FXF_PRIVILEGED, &in);
		if (!in.n)
			break;
		k->rest = in.v + 1; /* the user, or "-" */
		k->rest_count = in.n - 1;
	}
	k->rest = rest;
	k->rest_count = count;
	if (!in.ran_text && !in.asks)
		fx(k, TAG_PRIVILEGE_SHELL, NULL, 0);
}

/* env -S splits its text at blanks and goes on as if those words had been given. */
static void env_split(struct call *k, const struct word *text, struct word *rest, size_t n)
{
	/* env -S splits at blanks and then goes on as if those words had been given. */
	struct arena *a = walk_arena(k->w);
	size_t max = text->text_n / 2 + 2 + n, have = 0;
	struct word *v = arena_alloc(a, (max + 1) * sizeof(*v));
	v[have++] = walk_word(k->w, "env", text->at);
	for (const char *p = text->text; *p;) {
		p += strspn(p, " \t\n");
		struct buf b;
		buf_init(&b, a);
		bool any = false;
		for (char quote = 0; *p && (quote || !strchr(" \t\n", *p)); p++) {
			any = true;
			if (!quote && (*p == '\'' || *p == '"'))
				quote = *p;
			else if (*p == quote)
				quote = 0;
			else if (*p == '\\' && p[1])
				buf_addc(&b, *++p);
			else
				buf_addc(&b, *p);
		}
		if (any && have < max)
			v[have++] = walk_word(k->w, b.p, text->at);
	}
	for (size_t i = 0; i < n && have <= max; i++)
		v[have++] = rest[i];
	if (text->certainty != CERTAIN)
		fx(k, TAG_DYNAMIC_TEXT, text, 0);
	else
		run_argv(k, v, have, 0, "env -S");
}

/* Keys and decisions of Helm are found by HOME: with another one it works under another boundary. */
static void note_home(struct call *k, const struct word *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].certainty == CERTAIN && command_is_program(path_base(v[i].text)))
			fx_name(k, TAG_TAMPER_BOUNDARY, "HOME", 0);
}

/* Assignments and options, then the command. Alone it prints all variables, which may hold credentials. */
HANDLER(env)
{
	struct args s;
	struct word dir = { 0 };
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"+S=:split-string C=:chdir u=:unset i0v:ignore-environment,null,debug :help,version "
		":block-signal,default-signal,ignore-signal,list-signal-handling");
	bool any = false, is_other_home = false;
	for (int item; (item = args_next(&s)) != ARG_END;) {
		any = true;
		if (item == 0 && s.value.text) {
			env_split(k, &s.value, k->rest + s.i, k->rest_count - s.i);
			return;
		}
		if (item == 1)
			dir = s.value;
		else if (item == 4)
			break;
		else if (item == ARG_UNKNOWN)
			fx(k, TAG_UNKNOWN_OPTION, s.word, 0);
		if (item == ARG_OPERAND && is_assignment(&s.value)) {
			note_assignment(k, &s.value);
			is_other_home |= word_starts(&s.value, "HOME=");
			s.is_over = false;
		} else if (item == ARG_OPERAND && word_is(&s.value, "-")) {
			s.is_over = false;
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			size_t n = k->rest_count - (size_t)(s.word - k->rest);
			if (is_other_home)
				note_home(k, s.word, n);
			run_argv_in(k, dir.text ? &dir : NULL, s.word, n, 0, "env");
			return;
		}
	}
	if (any && args_find(k->rest, k->rest_count, "help version"))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else
		print_environment(k);
}

/* The text of a file of the project, as lines; NULL: it is not read. */
static const char *file_lines(struct call *k, const char *path)
{
	struct bytes text;

	return path && project_text(k, path, &text)
		? arena_strndup(walk_arena(k->w), (const char *)text.p, text.n)
		: NULL;
}

/* What is in a file of arguments: the text that was written there a moment ago, or something nobody knows. */
static struct feed named_input(struct call *k, const struct word *file)
{
	struct feed content = { .kind = FEED_UNKNOWN };
	struct effect *e;

	if (word_is_any(file, "- /dev/stdin"))
		return k->c->in;
	e = fx_path(k, TAG_READ_FILE, file, 0);
	if (e && e->target && !note_find(k, e->target, &content))
		content.names = file_lines(k, e->target);
	return content;
}

/* The words that xargs and parallel would take from their input; when that is not known, one word that
 * nobody knows. */
static struct word *input_words(struct call *k, const struct feed *in, const char *separators, size_t *ret_n)
{
	struct arena *a = walk_arena(k->w);
	struct word *v;
	if (in->kind != FEED_KNOWN) {
		v = arena_zalloc(a, 1, sizeof(*v));
		*v = (struct word){ .text = "",
			.certainty = DYNAMIC,
			.origin = in->kind == FEED_FETCHED ? ORIGIN_FETCHED
				: feed_names_secrets(in)   ? ORIGIN_SECRETS
							   : ORIGIN_UNKNOWN,
			.at = k->c->at,
			.is_guarded = true };
		*ret_n = in->kind == FEED_EMPTY ? 0 : 1;
		return v;
	}
	v = arena_alloc(a, (in->n / 2 + 2) * sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; i < in->n;) {
		while (i < in->n && (!in->text[i] || strchr(separators, in->text[i])))
			i++;
		size_t from = i;
		while (i < in->n && in->text[i] && !strchr(separators, in->text[i]))
			i++;
		if (i > from) {
			const char *p = in->text + from;
			size_t len = i - from;
			if (len > 1 && (*p == '\'' || *p == '"') && p[len - 1] == *p) {
				p++;
				len -= 2;
			}
			v[n++] = walk_word(k->w, arena_strndup(a, p, len), k->c->at);
		}
	}
	*ret_n = n;
	return v;
}

/* Replaces every `mark` in a word by the item. The result is known up to the first part that is not. */
static struct word substitute(
	struct arena *a, const struct word *x, const char *mark, const struct word *item)
{
	size_t m = strlen(mark);
	const char *hit = m ? memmem(x->text, x->text_n, mark, m) : NULL;
	if (!hit)
		return *x;
	struct word r = *x;
	r.marked = NULL;
	size_t before = (size_t)(hit - x->text);
	struct buf b;
	buf_init(&b, a);
	const char *p = x->text;
	for (; hit; hit = memmem(p, x->text_n - (size_t)(p - x->text), mark, m)) {
		buf_add(&b, p, (size_t)(hit - p));
		buf_add(&b, item->text, item->text_n);
		p = hit + m;
	}
	buf_add(&b, p, x->text_n - (size_t)(p - x->text));
	r.text = b.p;
	r.text_n = b.n;
	r.known_n = x->certainty == CERTAIN && item->certainty == CERTAIN ? b.n : before + item->known_n;
	if (item->certainty != CERTAIN) {
		r.certainty = r.known_n ? PREFIXED : DYNAMIC;
		r.origin = item->origin;
		r.is_guarded = item->is_guarded;
		r.is_glob |= item->is_glob;
	}
	return r;
}

/* xargs sh -c, parallel bash -c: the text that is run comes from the input. */
static bool wants_script(const struct word *v, size_t n)
{
	return n > 1 && v[0].certainty == CERTAIN && shell_speaks_sh(v[0].text) &&
		word_is_any(&v[n - 1], "-c -lc -ec -xc");
}

/* sh -c 'echo {}; wc -l {}': a known text with an unknown name in it. The text is walked with a marker
 * in the name's place, so it is judged where the name stands. */
static void run_with_unknown(
	struct call *k, const struct word *text, const char *mark, const struct word *item, unsigned flags)
{
	struct command inner = *k->c;
	struct buf b;
	buf_init(&b, walk_arena(k->w));
	const char *p = text->text;
	for (const char *hit; (hit = strstr(p, mark)); p = hit + strlen(mark)) {
		buf_add(&b, p, (size_t)(hit - p));
		buf_adds(&b, walk_marked(k->w, item));
	}
	buf_adds(&b, p);
	inner.flags |= flags;
	walk_bytes(k->w, &inner, b.p, b.n, text->at, "sh -c");
}

/* Runs the command once for every item (64 at most: the rest would say the same), or once with all items
 * appended. */
static void run_template(struct call *k, struct word *v, size_t n, const char *mark, struct word *items,
	size_t item_count, unsigned flags, const char *via)
{
	struct arena *a = walk_arena(k->w);
	bool has_mark = false;
	if (wants_script(v, n) || (mark && n > 2 && wants_script(v, n - 1) && word_is(&v[n - 1], mark)))
		fx(k, TAG_DYNAMIC_TEXT, &v[n - 1], 0);
	for (size_t i = 0; mark && i < n; i++)
		has_mark |= memmem(v[i].text, v[i].text_n, mark, strlen(mark)) != NULL;
	if (!has_mark) {
		struct word *all = arena_alloc(a, (n + item_count) * sizeof(*all));
		memcpy(all, v, n * sizeof(*v));
		memcpy(all + n, items, item_count * sizeof(*items));
		run_argv(k, all, n + item_count, flags, via);
		return;
	}
	/* A shell with a known text and an unknown name in it: the text can still be judged. */
	bool is_script = n > 2 && v[0].certainty == CERTAIN && word_is(&v[1], "-c") &&
		v[2].certainty == CERTAIN && shell_speaks_sh(v[0].text);
	for (size_t j = 0; j < item_count && j < 64; j++) {
		if (is_script && items[j].certainty == DYNAMIC && items[j].origin <= ORIGIN_SECRETS) {
			run_with_unknown(k, &v[2], mark, &items[j], flags);
			continue;
		}
		struct word *one = arena_alloc(a, n * sizeof(*one));
		for (size_t i = 0; i < n; i++)
			one[i] = substitute(a, &v[i], mark, &items[j]);
		run_argv(k, one, n, flags, via);
	}
}

/* find ~/.ssh | xargs cat: whichever names come, they are of secrets; asking about their outside is harmless. */
static void read_found(struct call *k, const struct feed *from, const struct word *head)
{
	const struct program *p = head->certainty == CERTAIN
		? program_find(path_base(head->text), strlen(path_base(head->text)))
		: NULL;
	if (feed_names_secrets(from) && !(p && p->mode & (MODE_METADATA | MODE_NOT_FILES)) &&
		!word_is_any(head, "echo printf"))
		fx_name(k, TAG_SECRET_FILE, from->below, 0);
}

/* echo ~/.netrc | cpio -o: the names come from standard input, and the files are read. */
void read_listed(struct call *k)
{
	struct word head = walk_word(k->w, k->head, k->c->at);
	size_t n = 0;
	if (k->c->in.kind == FEED_KNOWN) {
		struct word *names = input_words(k, &k->c->in, "\n", &n);
		fx_read(k, names, n);
	}
	read_found(k, &k->c->in, &head);
}

/* The inner command does not read the input that xargs reads, so its own input is empty. */
HANDLER(xargs)
{
	struct args s;
	const char *mark = NULL, *separators = " \t\n";
	struct feed from = k->c->in;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"+I=:replace-str i?:replace L=:max-lines n=:max-args P=:max-procs s=:max-chars d=:delimiter "
		"E=:eof a=:arg-file "
		"0:null ptvxro:interactive,verbose,exit,no-run-if-empty,open-tty,show-limits J=R=S= l?e?");
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == 0 || item == 1 || s.letter == 'J')
			mark = s.value.text ? s.value.text : "{}";
		else if (item == 6)
			separators = s.value.text && s.value.text[0] == ',' ? "," : "\n";
		else if (item == 8 && s.value.text)
			from = named_input(k, &s.value);
		else if (item == 9)
			separators = "\n";
		else if (item == ARG_UNKNOWN)
			fx(k, TAG_UNKNOWN_OPTION, s.word, 0);
		else if (item == ARG_OPERAND || item == ARG_DYNAMIC)
			break;
	}
	/* The loop has stopped at the first operand; from there on stands the command. */
	size_t at = s.value.text && s.word && s.is_over ? (size_t)(s.word - k->rest) : k->rest_count;
	if (at >= k->rest_count) {
		fx(k, TAG_READ_QUERY, NULL, 0); /* xargs alone is echo */
		return;
	}
	size_t item_count;
	if (mark)
		separators = "\n";
	struct word *items = input_words(k, &from, separators, &item_count);
	struct feed in = k->c->in;
	k->c->in = (struct feed){ .kind = FEED_EMPTY };
	read_found(k, &from, &k->rest[at]);
	run_template(k, k->rest + at, k->rest_count - at, mark, items, item_count, 0, "xargs");
	if (from.names) { /* find . -name x.sh | xargs sh: the files that are there now */
		struct feed names = { .kind = FEED_KNOWN, .text = from.names, .n = strlen(from.names) };
		items = input_words(k, &names, "\n", &item_count);
		for (size_t i = 0; i < item_count; i++)
			run_template(
				k, k->rest + at, k->rest_count - at, mark, &items[i], 1, FXF_FIND, "xargs");
	}
	if (from.below && from.below[0] == '/' && word_is_any(&k->rest[at], "rm unlink shred")) {
		struct word dir = walk_word(k->w, from.below, k->c->at);
		(void)fx_path(k, TAG_DELETE_FIND, &dir, FXF_RECURSIVE | FXF_FIND);
	}
	k->c->in = in;
}

/* parallel quotes the items it puts in, so an unknown one is an operand and nothing else. */
static void run_quoted(struct call *k, const struct word *text, const struct word *item)
{
	struct word any = {
		.text = "", .certainty = DYNAMIC, .origin = item->origin, .at = item->at, .is_guarded = true
	};
	const char *marked = walk_marked(k->w, &any);
	struct buf b;
	buf_init(&b, walk_arena(k->w));
	for (const char *p = text->text, *hit; p; p = hit ? hit + 2 : NULL) {
		hit = strstr(p, "{}");
		buf_add(&b, p, hit ? (size_t)(hit - p) : strlen(p));
		if (hit)
			buf_addf(&b, "\"%s\"", marked);
	}
	walk_bytes(k->w, k->c, b.p, b.n, text->at, "parallel");
}

/* parallel cmd ::: items, or items from standard input; the command goes to a shell. */
static void run_parallel(struct call *k)
{
	struct arena *a = walk_arena(k->w);
	struct args s;
	args_start(&s, a, k->rest, k->rest_count,
		"+j=:jobs,max-procs I= a=:arg-file C=:colsep S=:sshlogin N=:max-replace-args :joblog= "
		":results= :delay= :retries= "
		":timeout= :halt= k:keep-order :wd=,workdir=");
	size_t at = k->rest_count;
	struct feed from = k->c->in;
	for (int item; (item = args_next(&s)) != ARG_END;)
		if (item == 12 && s.value.text) {
			walk_set_cwd(k->w, k->c, &s.value);
		} else if (item == 2 && s.value.text) {
			from = named_input(k, &s.value);
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			at = (size_t)(s.word - k->rest);
			break;
		}
	size_t end = at;
	while (end < k->rest_count && !word_is_any(&k->rest[end], "::: :::: :::+ ::::+"))
		end++;
	size_t item_count;
	struct word *items;
	if (end < k->rest_count && word_starts(&k->rest[end], ":::") && k->rest[end].text[3] != ':') {
		items = k->rest + end + 1;
		item_count = k->rest_count - end - 1;
	} else {
		if (end + 1 < k->rest_count)
			from = named_input(k, &k->rest[end + 1]);
		items = input_words(k, &from, "\n", &item_count);
	}
	/* --pipe: each job reads its part of the input. */
	if (args_find(k->rest, at, "pipe pipepart pipe-part") && end > at)
		run_argv(k, k->rest + at, end - at, 0, k->head);
	/* Without a command of its own, parallel runs each item as one. */
	if (end == at) { /* the items are the commands */
		if (from.kind == FEED_FILE && project_here(k, from.text))
			from.names = file_lines(k, project_here(k, from.text));
		if (from.names)
			walk_bytes(k->w, k->c, from.names, strlen(from.names), k->c->at, "parallel");
		for (size_t i = 0; i < item_count && i < 64; i++)
			run_text(k, &items[i], 0, "parallel");
		return;
	}
	struct word *v = k->rest + at;
	size_t n = end - at;
	if (wants_script(v, n))
		fx(k, TAG_DYNAMIC_TEXT, &v[n - 1], 0);
	struct word text = words_join(a, v, n);
	/* Without a place for the item, it is appended. */
	if (!word_has(&text, "{}")) {
		struct word tail = walk_word(k->w, " {}", v[0].at);
		text.text = arena_printf(a, "%s%s", text.text, tail.text);
		text.text_n += 3;
		text.known_n += text.certainty == CERTAIN ? 3 : 0;
	}
	for (size_t i = 0; i < item_count && i < 64; i++) {
		struct word one = substitute(a, &text, "{}", &items[i]);
		if (text.certainty == CERTAIN && items[i].certainty != CERTAIN &&
			items[i].origin <= ORIGIN_SECRETS)
			run_quoted(k, &text, &items[i]);
		else
			run_text(k, &one, 0, "parallel");
	}
}

/* --wd holds for what it starts. */
HANDLER(parallel)
{
	const char *was = walk_cwd(k->w, k->c);
	struct word back = was ? walk_word(k->w, arena_strdup(walk_arena(k->w), was), k->c->at)
			       : (struct word){ .text = "", .certainty = DYNAMIC, .at = k->c->at };

	run_parallel(k);
	if (args_find(k->rest, k->rest_count, "wd workdir"))
		walk_set_cwd(k->w, k->c, &back);
}

/* busybox, toybox: the first word is the program. */
HANDLER(multicall)
{
	if (k->rest_count && !word_starts(&k->rest[0], "-"))
		run_argv(k, k->rest, k->rest_count, 0, k->head);
	else if (k->rest_count && word_starts(&k->rest[0], "--coreutils-prog=")) {
		k->rest[0] = word_tail(&k->rest[0], strlen("--coreutils-prog="));
		run_argv(k, k->rest, k->rest_count, 0, k->head);
	} else
		fx(k, TAG_READ_QUERY, NULL, 0);
}

/* One command for a debugger: a shell's, code of a language that is built in, a file of commands, or a call into the program. */
static void debugger_command(struct call *k, const struct word *x)
{
	static const char *const shells[] = { "shell ", "shel ", "she ", "platform shell ", "!", "make ",
		"mak " };
	const char *bar = strchr(x->text, '|');
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (word_starts(x, shells[i])) {
			struct word text = word_tail(x, strlen(shells[i]));
			run_text(k, &text, 0, "gdb shell");
			return;
		}
	size_t n = strcspn(x->text, " "); /* a name can be cut short */
	if (x->text[n] &&
		(list_has("py script pi", x->text, n) ||
			(n > 2 && strncmp("python-interactive", x->text, n) == 0))) {
		struct word code = word_tail(x, n + 1);
		classify_code(k, "python", &code);
	} else if (x->text[n] && n > 1 && strncmp("source", x->text, n) == 0) {
		struct word file = word_tail(x, n + 1);
		load_code(k, &file, "gdb");
	} else if ((word_starts(x, "pipe ") || word_starts(x, "| ")) && bar) {
		struct word text = word_tail(x, (size_t)(bar + 1 - x->text));
		run_text(k, &text, 0, "gdb pipe");
	} else if (word_has(x, "system(") || word_has(x, "system (") || word_has(x, "exec") ||
		word_has(x, "os.")) {
		fx(k, TAG_DYNAMIC_CODE, x, 0);
	}
}

/* gdb --args prog ... runs a program; -ex and its kin are commands for the debugger. */
HANDLER(gdb)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		if (word_is_any(&k->rest[i], "--args -args --")) {
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, k->head);
			return;
		}
		if (word_is_any(&k->rest[i],
			    "-ex -iex -eval-command --eval-command -init-eval-command --init-eval-command -o -O -k -K "
			    "--one-line --one-line-before-file --ex --iex") &&
			i + 1 < k->rest_count)
			debugger_command(k, &k->rest[i + 1]);
		size_t dashes = strspn(k->rest[i].text, "-"), n = strcspn(k->rest[i].text, "=");
		if (dashes && n < k->rest[i].text_n &&
			list_has("ex iex eval-command init-eval-command one-line one-line-before-file",
				k->rest[i].text + dashes, n - dashes)) {
			struct word command = word_tail(&k->rest[i], n + 1);
			debugger_command(k, &command);
		}
	}
	if (args_find(k->rest, k->rest_count, "p pid attach-pid n attach-name"))
		fx(k, TAG_PROCESS_TRACE, NULL, 0);
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* Every program of a directory, whatever lies there. */
HANDLER(run_parts)
{
	bool looks = args_find(k->rest, k->rest_count, "test list help version");
	const char *files[SCRIPTS_FOUND];
	const char *dir = !looks && k->rest_count && k->rest[k->rest_count - 1].certainty == CERTAIN
		? project_here(k, k->rest[k->rest_count - 1].text)
		: NULL;
	for (size_t i = 0, n = tree_select(k, dir, "*", true, files, SCRIPTS_FOUND); i < n; i++) {
		struct word file = walk_word(k->w, files[i], k->c->at);
		run_script(k, &file, "sh");
	}
	fx(k, looks ? TAG_READ_QUERY : TAG_DYNAMIC_TEXT, k->rest_count ? &k->rest[k->rest_count - 1] : NULL,
		0);
}

/* A directory of this machine that a confined command can write to, and that is not its own work. */
static bool opens_host(struct call *k, const struct word *source)
{
	struct effect *e = fx_path(k, TAG_READ_FILE, source, 0);
	return e && e->path_class != PATH_IN && e->path_class != PATH_TMP && e->path_class != PATH_SINK &&
		!(e->path_class == PATH_UP && word_is(source, "."));
}

/* bwrap and the like take pairs of paths; the command follows "--" or is the first word that is no
 * option value. What is bound writable is this machine's: then the command does not count as inside a
 * container, and where it goes by another name there, that itself is an effect. */
HANDLER(bwrap)
{
	static const char pairs[] =
		"--bind --ro-bind --dev-bind --bind-try --ro-bind-try --dev-bind-try --symlink --setenv "
		"--file --bind-data --ro-bind-data";
	static const char ones[] =
		"--dev --proc --tmpfs --mqueue --dir --chdir --uid --gid --hostname --unsetenv --lock-file "
		"--sync-fd --exec-label --file-label --seccomp --perms --cap-add --cap-drop --args";
	unsigned flags = FXF_INSIDE_CONTAINER;
	size_t i = 0;
	for (; i < k->rest_count && word_starts(&k->rest[i], "--"); i++) {
		if (word_is(&k->rest[i], "--")) {
			i++;
			break;
		}
		bool is_pair = word_is_any(&k->rest[i], pairs);
		if (word_is_any(&k->rest[i], "--bind --bind-try --dev-bind --dev-bind-try") &&
			i + 2 < k->rest_count && opens_host(k, &k->rest[i + 1])) {
			flags = 0;
			if (!text_eq(k->rest[i + 1].text, k->rest[i + 2].text))
				fx(k, TAG_CONTAINER_HOST_MOUNT, &k->rest[i + 1], 0);
		}
		i += is_pair ? 2 : word_is_any(&k->rest[i], ones) ? 1 : 0;
	}
	fx(k, TAG_CONTAINER_CONFINE, NULL, 0);
	if (i < k->rest_count)
		run_argv(k, k->rest + i, k->rest_count - i, flags, k->head);
}

/* command, builtin and exec: in a shell's text the walker knows them as builtins; as programs of an argv
 * they come here. */
HANDLER(command_word)
{
	struct inner in = { 0 };
	read_wrapper(k, 0, &in);
	if (in.asks || !in.n)
		fx(k, TAG_READ_QUERY, NULL, 0);
	else
		run_argv(k, in.v, in.n, 0, k->head);
}

/* Edits files with privileges. */
HANDLER(sudoedit)
{
	fx(k, TAG_PRIVILEGE_SUDO, NULL, 0);
	for (size_t i = 0; i < k->rest_count; i++)
		if (!word_starts(&k->rest[i], "-"))
			(void)fx_path(k, TAG_WRITE_EDIT, &k->rest[i], FXF_PRIVILEGED);
}
