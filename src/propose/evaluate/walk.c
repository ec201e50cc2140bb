/* walk.c — the seam to the knowledge of programs, and the way in.
 *
 * propose_shell() and propose_argv() start an analysis. The knowledge of programs (programs/) adds its
 * effects through walk_effect() and walk_path(), and hands back what a program would itself run: texts
 * through walk_text() and walk_bytes(), argument lists through walk_argv(). Each of these goes one level
 * deeper, and depth and work are limited; at a limit the walk stops and the proposal is marked
 * unreadable, so that it is asked about and never taken as harmless. */
#include "propose/evaluate/evaluate.h"

#include "base/file.h"
#include "base/hash.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum { SOURCE_MAX = 256 << 10 }; /* larger files are not read */

/* Stops the analysis. The first reason is kept, because it is the cause of all that follow. */
void eval_stop(struct walk *w, const char *code, const char *text)
{
	w->is_stopped = true;
	if (!w->p->readable)
		return;
	w->p->readable = false;
	w->p->unreadable_code = code;
	w->p->unreadable_text = text;
}

/* ---- steps and effects ---- */

/* Redirections as they appear in the text of a step. The contents of here-documents are left out; only
 * their size is shown. */
static void add_redirects(struct buf *b, const struct command *c)
{
	static const char *const operators[] = { [REDIR_IN] = "<",
		[REDIR_OUT] = ">",
		[REDIR_APPEND] = ">>",
		[REDIR_CLOBBER] = ">|",
		[REDIR_RDWR] = "<>",
		[REDIR_DUP_IN] = "<&",
		[REDIR_DUP_OUT] = ">&",
		[REDIR_BOTH] = "&>",
		[REDIR_BOTH_APPEND] = "&>>",
		[REDIR_HEREDOC] = "<<",
		[REDIR_HERESTRING] = "<<<" };
	TABLE_COVERS(operators, REDIR_COUNT);

	for (size_t i = 0; i < c->redir_count && b->n < 2000; i++) {
		const struct redirect *r = &c->redirs[i];
		buf_addf(b, "%s", b->n ? " " : "");
		if (r->fd >= 0)
			buf_addf(b, "%d", r->fd);
		if (r->op == REDIR_HEREDOC || r->op == REDIR_HERESTRING)
			buf_addf(b, "%s(%zu bytes)", operators[r->op], r->target.text_n);
		else
			buf_addf(b, "%s%s%s", operators[r->op], r->target.certainty == DYNAMIC ? "…" : "",
				r->target.text);
	}
}

/* The command after expansion, for people and for text rules. An ellipsis stands for what is not known.
 * Long texts are cut: the text explains, and effects are what is judged. */
static const char *step_text(struct walk *w, const struct command *c)
{
	struct buf b;

	buf_init(&b, w->a);
	for (size_t i = 0; i < c->assign_count; i++)
		buf_addf(&b, "%s%s=%s%s", i ? " " : "", c->assigns[i].name, c->assigns[i].value.text,
			c->assigns[i].value.certainty == CERTAIN ? "" : "…");
	for (size_t i = 0; i < c->argc && b.n < 2000; i++) {
		const struct word *x = &c->argv[i];
		if (b.n)
			buf_addc(&b, ' ');
		if (x->certainty == CERTAIN || x->is_glob) {
			buf_add(&b, x->text, x->text_n > 2000 ? 2000 : x->text_n);
			continue;
		}
		buf_add(&b, x->text, x->known_n > 2000 ? 2000 : x->known_n);
		buf_adds(&b, "…");
		buf_adds(&b, x->text_n - x->known_n > 2000 ? "" : x->text + x->known_n);
	}
	add_redirects(&b, c);
	return b.p;
}

/* Opens a step inside the current one. The caller sets w->step to the result, and gives the outer step
 * back with walk_step_end(). */
uint32_t walk_step_begin(struct walk *w, const struct command *c)
{
	struct proposal *p = w->p;

	if (p->step_count == w->step_cap) {
		size_t cap = w->step_cap ? w->step_cap * 2 : 8;
		p->steps =
			arena_grow(w->a, p->steps, w->step_cap * sizeof(*p->steps), cap * sizeof(*p->steps));
		w->step_cap = cap;
	}
	p->steps[p->step_count] = (struct step){ .depth = w->depth,
		.parent = w->step,
		.source = c->source,
		.at = c->at,
		.program = c->argc && c->argv[0].certainty == CERTAIN ? path_base(c->argv[0].text) : NULL,
		.head = !c->argc			  ? ""
			: c->argv[0].certainty == CERTAIN ? c->argv[0].text
							  : NULL,
		.text = step_text(w, c),
		.first_effect = (uint32_t)p->effect_count };
	return (uint32_t)p->step_count++;
}

void walk_step_end(struct walk *w, uint32_t outer)
{
	struct step *s = &w->p->steps[w->step];

	s->effect_count = (uint32_t)w->p->effect_count - s->first_effect;
	w->step = outer;
}

void walk_git_verb(struct walk *w, const char *verb)
{
	w->p->steps[w->step].git_verb = verb;
}

/* Remembers the digest of a file whose text was judged. Whoever runs the command later can then notice
 * that the file was changed in between. Beyond 32 files the others are simply not vouched for. */
void walk_judged(struct walk *w, const char *path, struct bytes text)
{
	enum { MAX_FILES = 32 };
	struct proposal *p = w->p;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];

	if (!p->files)
		p->files = arena_zalloc(w->a, MAX_FILES, sizeof(*p->files));
	for (size_t i = 0; i < p->file_count; i++)
		if (text_eq(p->files[i].path, path))
			return;
	if (p->file_count == MAX_FILES)
		return;
	sha256(text.p, text.n, digest);
	hex_encode(digest, SHA256_SIZE, hex);
	p->files[p->file_count++] = (struct judged_file){ path, arena_strdup(w->a, hex) };
}

/* The directory the command works in, when there is only one possible answer. */
static const char *only_directory(struct walk *w)
{
	const struct value *dir = scope_directory(w);

	return dir->n == 1 && dir->items[0][0] == '/' && !has_mark(dir->items[0]) ? dir->items[0] : NULL;
}

/* The pointer is valid only until the next effect is added, because the list may move. */
struct effect *walk_effect(
	struct walk *w, const struct command *c, enum effect_kind kind, const struct word *operand)
{
	struct proposal *p = w->p;

	if (p->effect_count == w->effect_cap) {
		size_t cap = w->effect_cap ? w->effect_cap * 2 : 8;
		p->effects = arena_grow(
			w->a, p->effects, w->effect_cap * sizeof(*p->effects), cap * sizeof(*p->effects));
		w->effect_cap = cap;
	}
	struct effect *e = &p->effects[p->effect_count++];
	*e = (struct effect){ .kind = kind,
		.flags = c->flags,
		.program = c->argc && c->argv[0].certainty == CERTAIN ? path_base(c->argv[0].text) : NULL,
		.source = c->source,
		.at = operand && operand->at.end ? operand->at : c->at,
		.cwd = only_directory(w),
		.step = w->step };
	if (operand) {
		e->target = operand->text;
		e->certainty = operand->certainty;
	}
	return e;
}

/* Only effects that change what a path names need its links followed; that costs system calls. */
static bool follows_links(enum effect_kind kind)
{
	return kind == FX_WRITE || kind == FX_DELETE || kind == FX_MOVE || kind == FX_PERMISSION ||
		kind == FX_DEVICE || kind == FX_PERSISTENCE || kind == FX_TAMPER || kind == FX_READ;
}

/* A path made absolute against the working directory, its markers kept. NULL when neither the path nor
 * the directory says where it starts: then it could be anywhere. */
static const char *absolute(struct walk *w, const struct command *c, const char *marked)
{
	if (marked[0] == '/')
		return marked;
	/* A shell has expanded a tilde before this point. In an argument list it is taken for the home
	 * directory, the worse reading. */
	if (c->is_argv && marked[0] == '~' && (marked[1] == '/' || !marked[1]) && w->at->home)
		return arena_printf(w->a, "%s%s", w->at->home, marked + 1);
	if (is_mark(marked[0]) && marked[0] != MARK_NAME)
		return NULL;
	const struct value *dir = scope_directory(w);
	const char *base = dir->n ? dir->items[eval_choose(w, dir, dir->n)] : "\1";
	if (base[0] != '/')
		return NULL;
	return arena_printf(w->a, "%s/%s", base, marked);
}

/* `rm -rf "$DIR/"`: without its unknown parts the operand names something that must not vanish. A part
 * that is known not to be empty (is_guarded) rules that out. */
static bool is_unset_root(struct walk *w, const struct command *c, const struct word *x)
{
	if (x->origin == ORIGIN_LITERAL || x->is_guarded || !x->text_n)
		return false;
	const char *path = absolute(w, c, x->text);
	return path && !has_mark(path) && paths_is_protected(w->at, w->a, path);
}

/* Adds an effect on a path. What is known of the path decides how it is judged: a full path, a glob, or
 * a known beginning with an open end (judged by everything it can lead to). A path that cannot be made
 * absolute has no path class and is DYNAMIC. */
struct effect *walk_path(
	struct walk *w, const struct command *c, enum effect_kind kind, const struct word *operand)
{
	struct effect *e = walk_effect(w, c, kind, operand);

	if (!operand)
		return e;
	const char *marked = word_marked(w, operand);
	const char *path = absolute(w, c, marked);
	if (operand->certainty != CERTAIN && is_unset_root(w, c, operand))
		e->flags |= FXF_UNSET_ROOT;
	if (!path) {
		e->certainty = operand->certainty == CERTAIN || operand->is_glob ? DYNAMIC : e->certainty;
		if (operand->certainty == DYNAMIC)
			e->target = arena_printf(w->a, "%.*s…%s", (int)operand->known_n, operand->text,
				operand->text + operand->known_n);
		return e;
	}
	/* A name that a glob matched is known to be one component; it reads as the glob again. Every
	 * other marker ends what is known. */
	size_t known = 0;
	while (path[known] && (!is_mark(path[known]) || path[known] == MARK_NAME))
		known++;
	enum path_tail tail = path[known]	 ? TAIL_OPEN
		: operand->is_glob || c->is_argv ? TAIL_GLOB
						 : TAIL_NONE;
	char *text = arena_strndup(w->a, path, known);
	for (char *p = text; *p; p++)
		if (*p == MARK_NAME)
			*p = '*';
	if (tail == TAIL_GLOB && !strpbrk(text, "*?[") && !operand->is_glob)
		tail = TAIL_NONE;
	/* Cleaning removes a slash at the end, but "dir/" with an open end names things inside dir, and
	 * "dir" also its neighbours. */
	bool ends_dir = tail == TAIL_OPEN && known > 0 && text[known - 1] == '/';
	text = path_clean(w->a, text);
	if (ends_dir && text[1])
		text = arena_printf(w->a, "%s/", text);
	e->path_class = paths_judge(w->at, w->a, text, tail, follows_links(kind), &e->resolved);
	e->target = text;
	if (tail == TAIL_OPEN) {
		e->certainty = PREFIXED;
		e->flags |= FXF_OPEN_END;
	}
	/* Deleting or moving all that is in the workspace does as much harm as doing it to the workspace itself. */
	if ((kind == FX_DELETE || kind == FX_MOVE) && tail == TAIL_GLOB && text_ends(text, "/*") &&
		e->path_class < PATH_UP && paths_is_protected(w->at, w->a, text))
		e->path_class = PATH_UP;
	return e;
}

/* ---- texts and argument lists inside ---- */

/* The last simple command of a list: where the arguments of an alias go. */
static const struct shell_node *last_command(const struct shell_node *n)
{
	while (n) {
		while (n->next)
			n = n->next;
		if (n->kind != SH_AND_OR && n->kind != SH_PIPELINE)
			return n->kind == SH_SIMPLE ? n : NULL;
		n = n->items;
	}
	return NULL;
}

/* Keeps the first error. The place is translated to the text that was given, so that it can be shown
 * there. */
static void note_unreadable(struct walk *w, const struct shell_error *error)
{
	if (!w->p->readable)
		return;
	const struct source *s = error->source;
	w->p->readable = false;
	w->p->unreadable_code = error->code;
	w->p->unreadable_text = s->via ? arena_printf(w->a, "in %s, %s", s->via, error->text) : error->text;
	w->p->unreadable_at = error->at;
	for (; s->parent; s = s->parent) /* a place in the text that was given */
		w->p->unreadable_at = s->in_parent;
}

/* Parses a text and walks it. Commands before a syntax error are walked too, because a shell would have
 * run them. */
static void run_text(struct walk *w, const struct script_call *call, const struct source *source)
{
	struct shell_script *script = arena_alloc(w->a, sizeof(*script));
	struct shell_error error;
	const struct shell_script *outer = w->script;
	const struct shell_node *extra_node = w->extra_node;

	shell_parse(w->a, source, &w->limits, script, &error);
	if (error.code)
		note_unreadable(w, &error);
	if (call->extra_n) {
		w->extra_node = last_command(script->first);
		w->extra = call->extra;
		w->extra_n = call->extra_n;
	}
	w->script = script;
	eval_list(w, script->first);
	w->script = outer;
	w->extra_node = extra_node;
}

/* Walks a text that `from` runs, one level deeper, with from's input and flags, and stores what it
 * prints in from->out. Unless the text runs in place (eval, source), all it changes is undone
 * afterwards. */
void eval_text(struct walk *w, const struct command *from, const struct script_call *call)
{
	struct source *source = arena_alloc(w->a, sizeof(*source));
	size_t mark = w->log_n;
	bool was_dead = w->is_dead;
	struct feed in = w->in;
	unsigned flags = w->flags;
	const struct word *extra = w->extra;
	size_t extra_n = w->extra_n;

	if (w->is_stopped || !eval_enter(w))
		return;
	*source = (struct source){ call->text, call->n, from->source, call->at, call->via };
	w->in = from->in;
	w->flags = from->flags;
	eval_capture_begin(w);
	run_text(w, call, source);
	((struct command *)from)->out = eval_capture_end(w);
	w->in = in;
	w->flags = flags;
	w->extra = extra;
	w->extra_n = extra_n;
	if (!call->in_place) {
		scope_undo(w, mark);
		w->is_dead = was_dead;
	}
	w->depth--;
}

/* bash -c TEXT NAME ARG...: sets $0, $1, ... for the text. The word is found among the arguments by its
 * address. */
static void set_arguments(struct walk *w, const struct command *from, const struct word *text)
{
	const char *head = from->argc ? path_base(from->argv[0].text) : "";
	bool is_shell = shell_speaks_sh(head) || text_eq(head, "busybox");

	for (size_t i = 1; is_shell && i < from->argc; i++) {
		if (from->argv[i].text != text->text)
			continue;
		size_t n = from->argc - i - 1;
		struct value *args = value_new(w, n > 0 ? (uint32_t)n - 1 : 0, true);
		if (n > 0)
			scope_set_variable(w, "0", 1, value_text(w, word_marked(w, &from->argv[i + 1])));
		for (size_t k = 1; k < n; k++)
			args->items[k - 1] = word_marked(w, &from->argv[i + 1 + k]);
		scope_set_variable(w, "@", 1, args);
		return;
	}
}

/* The arguments are set before and undone after the text. */
void eval_note_source(struct walk *w, int fd, const struct feed *out)
{
	size_t i = w->source_count % WALK_SOURCES;

	if (out->kind != FEED_FILE && (fd < 0 || out->kind != FEED_KNOWN))
		return;
	w->sources[i].fd = fd;
	w->sources[i].out = *out;
	w->source_count++;
}

bool walk_process(const struct walk *w, const struct word *x, struct feed *ret)
{
	int64_t fd;

	if (x->certainty == CERTAIN || !text_starts(x->text, "/dev/fd/") || !text_int(x->text + 8, &fd))
		return false;
	for (size_t i = 0; i < WALK_SOURCES && i < w->source_count; i++)
		if (w->sources[i].fd == fd) {
			*ret = w->sources[i].out;
			return true;
		}
	return false;
}

void walk_sources(struct walk *w, const struct command *from, int fd)
{
	const char *resolved;
	struct bytes text;

	if (w->is_in_source || !w->at->sys || !w->at->inspect_scripts || from->flags & FXF_REMOTE_SIDE)
		return;
	w->is_in_source = true;
	for (size_t i = 0; i < WALK_SOURCES && i < w->source_count; i++) {
		const struct feed *out = &w->sources[i].out;
		const char *path = out->kind == FEED_FILE ? absolute(w, from, out->text) : NULL;
		if (w->sources[i].fd != fd || !path || strpbrk(path, WALK_MARKS))
			continue;
		path = path_clean(w->a, path);
		if (paths_classify(w->at, w->a, path, false, &resolved) != PATH_IN ||
			file_read(w->at->sys, w->a, AT_FDCWD, path, SOURCE_MAX, FILE_FOLLOW, &text, NULL) ||
			memchr(text.p, 0, text.n))
			continue;
		walk_judged(w, path, text);
		walk_bytes(w, from, (const char *)text.p, text.n, from->at, path);
	}
	w->is_in_source = false;
}

void walk_text(struct walk *w, const struct command *from, const struct word *text, const char *via)
{
	const char *marked = word_marked(w, text);
	size_t mark = w->log_n;

	if (text->certainty != CERTAIN)
		walk_sources(w, from, -1);
	set_arguments(w, from, text);
	eval_text(w, from,
		&(struct script_call){ .text = marked, .n = strlen(marked), .at = text->at, .via = via });
	scope_undo(w, mark);
}

/* Text read with "." or "source" runs in place: what it sets remains. */
void walk_bytes(struct walk *w, const struct command *from, const char *text, size_t n, struct span at,
	const char *via)
{
	bool sources = from->argc && from->argv[0].certainty == CERTAIN &&
		(text_eq(from->argv[0].text, ".") || text_eq(from->argv[0].text, "source"));

	eval_text(w, from,
		&(struct script_call){ .text = text, .n = n, .at = at, .via = via, .in_place = sources });
}

void walk_prompt(struct walk *w, const struct command *from, const char *text)
{
	eval_prompt(w, from, text);
}

/* The inner command has neither the assignments nor the redirections of the outer one: those belong to
 * the wrapper and were judged with it. */
void walk_argv(struct walk *w, struct command *from, struct word *argv, size_t argc, unsigned add_flags,
	const char *via)
{
	struct command inner = *from;

	if (w->is_stopped || argc == 0 || !eval_enter(w))
		return;
	if (++w->work > EVAL_MAX_WORK) {
		eval_stop(w, "expansion_limit", "more than 20000 commands to judge");
		return;
	}
	inner.argv = argv;
	inner.argc = argc;
	inner.assigns = NULL;
	inner.assign_count = 0;
	inner.redirs = NULL;
	inner.redir_count = 0;
	inner.flags |= add_flags;
	inner.out = (struct feed){ 0 };
	uint32_t outer = w->step;
	w->step = walk_step_begin(w, &inner);
	w->p->steps[w->step].wrappers = via;
	classify_command(w, &inner);
	outputs_refine(w, &inner);
	walk_step_end(w, outer);
	from->out = inner.out;
	w->depth--;
}

bool walk_attempt(struct walk *w, struct command *from, struct word *argv, size_t argc,
	const struct word *text, bool (*is_bad)(const struct effect *))
{
	struct proposal *p = w->p, before = *p;
	struct feed out = from->out;
	size_t mark = w->log_n;
	bool was_dead = w->is_dead, found = false;

	if (w->is_attempt || w->is_stopped)
		return false;
	w->is_attempt = true;
	if (text)
		walk_text(w, from, text, "attempt");
	else
		walk_argv(w, from, argv, argc, 0, "attempt");
	for (size_t i = before.effect_count; i < p->effect_count && !found; i++)
		found = is_bad(&p->effects[i]);
	scope_undo(w, mark);
	p->effect_count = before.effect_count;
	p->step_count = before.step_count;
	p->max_depth = before.max_depth;
	p->file_count = before.file_count;
	p->heredoc_input = before.heredoc_input;
	if (!w->is_stopped) {
		p->readable = before.readable;
		p->unreadable_code = before.unreadable_code;
		p->unreadable_text = before.unreadable_text;
		p->unreadable_at = before.unreadable_at;
	}
	from->out = out;
	w->is_dead = was_dead;
	w->is_attempt = false;
	return found;
}

struct walk_mark walk_mark(const struct walk *w)
{
	return (struct walk_mark){ w->p->effect_count, w->p->step_count, w->p->readable };
}

void walk_keep(struct walk *w, struct walk_mark mark, bool (*keeps)(const struct effect *))
{
	struct proposal *p = w->p;
	size_t n = mark.effects;

	for (size_t i = mark.effects; i < p->effect_count; i++)
		if (keeps(&p->effects[i])) {
			p->effects[n] = p->effects[i];
			p->effects[n++].step = w->step;
		}
	p->effect_count = n;
	p->step_count = mark.steps;
	/* A script that cannot be parsed to its end is unread, which its own effect says. */
	if (mark.readable && !w->is_stopped) {
		p->readable = true;
		p->unreadable_code = p->unreadable_text = NULL;
	}
}

bool walk_has(const struct walk *w, struct walk_mark mark, bool (*is_such)(const struct effect *))
{
	for (size_t i = mark.effects; i < w->p->effect_count; i++)
		if (is_such(&w->p->effects[i]))
			return true;
	return false;
}

void walk_was_read(struct walk *w)
{
	for (size_t i = w->p->effect_count; i-- > 0;)
		if (w->p->effects[i].kind == FX_SCRIPT) {
			w->p->effects[i].flags |= FXF_WAS_READ;
			return;
		}
}

/* ---- what classify may ask ---- */

struct arena *walk_arena(struct walk *w)
{
	return w->a;
}

void **walk_notes(struct walk *w)
{
	return &w->notes;
}

const struct surroundings *walk_surroundings(const struct walk *w)
{
	return w->at;
}

/* When there are several possible directories, the one chosen for the present try (eval_choose). */
const char *walk_cwd(const struct walk *w, const struct command *c)
{
	struct walk *mutable = (struct walk *)w;
	const struct value *dir = scope_directory(mutable);

	(void)c;
	if (dir->n == 0)
		return NULL;
	const char *path = dir->items[eval_choose(mutable, dir, dir->n)];
	return path[0] == '/' && !has_mark(path) ? path : NULL;
}

/* A directory that is not known makes every relative path behind it unknown. */
void walk_set_cwd(struct walk *w, struct command *c, const struct word *dir)
{
	const char *path = absolute(w, c, word_marked(w, dir));

	/* No directory has such a long name. Joining one path to the next over and over would cost the
	 * square of the text. */
	if (!path || strlen(path) >= PATH_MAX)
		path = "\1";
	else if (!has_mark(path))
		path = path_clean(w->a, path);
	scope_set_directory(w, value_text(w, path));
}

struct word walk_word(struct walk *w, const char *text, struct span at)
{
	return word_of_marked(w, text, strlen(text), SIZE_MAX, at);
}

const char *walk_marked(struct walk *w, const struct word *x)
{
	return word_marked(w, x);
}

bool walk_knows_name(const struct word *x)
{
	if (x->certainty == CERTAIN || x->is_glob || x->origin > ORIGIN_UNKNOWN || !x->marked)
		return false;
	const char *slash = strrchr(x->marked, '/');
	return slash && slash[1] && !has_mark(slash);
}

bool walk_names_variable(struct walk *w, const char *name)
{
	return scope_binding(w, BIND_VARIABLE, name, strlen(name), false) != NULL;
}

const char *walk_value(struct walk *w, const char *name, size_t i)
{
	const struct binding *b = scope_binding(w, BIND_VARIABLE, name, strlen(name), false);
	const struct value *v = b ? b->now : NULL;

	return v && i < v->n ? v->items[i] : NULL;
}

void walk_may_be(struct walk *w, const char *name, const struct word *x)
{
	const struct value *v = value_text(w, word_marked(w, x));

	if (walk_value(w, name, 0))
		v = value_union(w, scope_variable(w, name, strlen(name)), v);
	scope_set_variable(w, name, strlen(name), v);
}

bool walk_is_piped(const struct walk *w)
{
	return w->pipeline;
}

bool walk_is_at_home(struct walk *w)
{
	const struct binding *b = scope_binding(w, BIND_VARIABLE, "HOME", 4, false);
	const struct value *v = b ? b->now : NULL;

	return !v || (w->at->home && v->n == 1 && text_eq(v->items[0], w->at->home));
}

/* ---- the way in ---- */

/* The first step has no parent, which UINT32_MAX says; a diagonal of -1 means that none is being tried
 * (eval.c). */
static void begin(struct walk *w, struct arena *a, const struct surroundings *at, struct proposal *ret)
{
	*ret = (struct proposal){ .readable = true };
	memset(w, 0, sizeof(*w));
	w->a = a;
	w->at = at;
	w->p = ret;
	w->limits.max_nodes = WALK_MAX_NODES;
	w->diagonal = -1;
	w->next_fd = 63;
	w->step = UINT32_MAX;
	w->scratch_cap = 512;
	w->scratch = arena_text(a, w->scratch_cap);
}

/* Functions that were defined and never called are judged last (eval_uncalled). */
static void run_input(struct walk *w, const struct source *source)
{
	struct command none = { .source = NULL };

	(void)none;
	run_text(w, &(struct script_call){ 0 }, source);
	eval_uncalled(w);
}

static const struct source *new_source(struct arena *a, const char *text, size_t n)
{
	struct source *source = arena_alloc(a, sizeof(*source));

	*source = (struct source){ .text = text, .n = n };
	return source;
}

void propose_shell(struct arena *a, const struct surroundings *at, struct bytes text, struct proposal *ret)
{
	struct walk w;
	size_t seen_n;

	begin(&w, a, at, ret);
	const char *copy = arena_strndup(a, (const char *)text.p, text.n);
	ret->source = new_source(a, copy, text.n);
	ret->normalized_command = copy;
	ret->shell_wrapped = true;
	ret->shell_inner_command = copy;
	ambiguity_check_text(a, "the command", copy, text.n, ret);
	/* Both readings count.  The one that is seen comes first: it is judged as if it stood alone. */
	const char *seen = ambiguity_seen_as(a, copy, text.n, &seen_n);
	if (seen)
		run_input(&w, new_source(a, seen, seen_n));
	run_input(&w, ret->source);
	ambiguity_check_effects(a, ret);
	propose_mark_plain(ret);
}

/* Words that a shell would read as operators. */
static bool is_operator(const char *s)
{
	static const char *const operators[] = { "|", "||", "&", "&&", ";", "<", ">", ">>", "<<", "<<<", "<>",
		">&", "&>", "(", ")", "{", "}" };

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (text_eq(s, operators[i]))
			return true;
	return false;
}

/* Programs whose own language uses these words. */
static bool owns_operators(const char *head)
{
	static const char *const names[] = { "find", "test", "[", "expr", "fd", "parallel", "jq", "awk" };
	const char *base = path_base(head);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(base, names[i]))
			return true;
	return false;
}

/* Notes the text of `sh -c TEXT` for people and for text rules. */
static void describe_argv(struct proposal *p, const char *const *argv, size_t argc)
{
	const char *base = argc ? path_base(argv[0]) : "";
	bool is_shell = text_ends(base, "sh") && strlen(base) <= 4;

	for (size_t i = 1; is_shell && i + 1 < argc; i++)
		if (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i], 'c')) {
			p->shell_wrapped = true;
			p->shell_inner_command = argv[i + 1];
			return;
		}
}

/* The same command as it is seen, without characters that have no width. */
static void walk_seen_argv(struct walk *w, const struct command *c, const char *const *argv)
{
	struct command seen = *c;

	seen.argv = arena_zalloc(w->a, c->argc, sizeof(*seen.argv));
	for (size_t i = 0; i < c->argc; i++) {
		size_t n = strlen(argv[i]);
		const char *word = ambiguity_seen_as(w->a, argv[i], n, &n);
		seen.argv[i] = word ? word_of_marked(w, word, n, SIZE_MAX, c->at) : c->argv[i];
	}
	w->step = walk_step_begin(w, &seen);
	classify_command(w, &seen);
	walk_step_end(w, UINT32_MAX);
}

/* No shell is involved, so nothing in the words is expanded. Operators as separate words are suspicious,
 * though: then the words are also judged as if a shell read them, in addition and never instead. */
void propose_argv(struct arena *a, const struct surroundings *at, const char *const *argv, size_t argc,
	struct proposal *ret)
{
	struct walk w;
	struct command c = { .is_argv = true, .argc = argc };
	struct buf joined;

	begin(&w, a, at, ret);
	buf_init(&joined, a);
	c.argv = arena_zalloc(a, argc ? argc : 1, sizeof(*c.argv));
	for (size_t i = 0; i < argc; i++) {
		if (i)
			buf_addc(&joined, ' ');
		struct span place = { (uint32_t)joined.n, (uint32_t)(joined.n + strlen(argv[i])) };
		buf_adds(&joined, argv[i]);
		c.argv[i] = word_of_marked(&w, argv[i], strlen(argv[i]), SIZE_MAX, place);
		ret->operator_in_argv |= i > 0 && is_operator(argv[i]) && !owns_operators(argv[0]);
		ret->heredoc_input |= text_eq(argv[i], "<<");
		ambiguity_check_text(a, "a word of the command", argv[i], strlen(argv[i]), ret);
	}
	ret->source = new_source(a, joined.p, joined.n);
	ret->normalized_command = joined.p;
	ret->argv = argv;
	ret->argc = argc;
	describe_argv(ret, argv, argc);
	c.source = ret->source;
	c.at = (struct span){ 0, (uint32_t)joined.n };
	if (argc && ambiguity_seen_as(a, joined.p, joined.n, &(size_t){ 0 }))
		walk_seen_argv(&w, &c, argv);
	if (argc) {
		w.step = walk_step_begin(&w, &c);
		classify_command(&w, &c);
		walk_step_end(&w, UINT32_MAX);
	}
	/* Whoever wrote an operator may have meant a shell to see it. */
	if (ret->operator_in_argv && !w.is_stopped)
		run_input(&w, ret->source);
	ambiguity_check_effects(a, ret);
	propose_mark_plain(ret);
}
