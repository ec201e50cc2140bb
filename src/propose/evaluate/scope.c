/* scope.c — what is known at a point of the walk: variables, functions, aliases, the working directory.
 *
 * One hash table of bindings and one log of changes. Each change of a binding is logged with the value
 * it had before. A subshell is left by undoing the log back to the mark where it began. Branches that
 * may or may not run are walked one after the other from the same state (struct fork): at the end of
 * each branch its changes are noted and undone, and when all were walked the notes are merged, so that a
 * variable has every value some branch gave it. All of it costs as much as was changed, never as much as
 * is known, so deep nesting does not make the analysis slow.
 *
 * Values are immutable and may be shared. In texts, the bytes \1 and \2 are the markers "anything" and
 * "anything but nothing" (evaluate.h). */
#include "propose/evaluate/evaluate.h"

/* FNV-1a over the kind and the name. */
static uint32_t hash_name(enum binding_kind kind, const char *name, size_t n)
{
	uint32_t h = 2166136261u ^ (uint32_t)kind;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h;
}

static void grow_table(struct walk *w)
{
	uint32_t size = w->table_size ? w->table_size * 2 : 32;
	struct binding **table = arena_zalloc(w->a, size, sizeof(*table));

	for (uint32_t i = 0; i < w->table_size; i++)
		for (struct binding *b = w->table[i], *next; b; b = next) {
			next = b->next;
			b->next = table[b->hash & (size - 1)];
			table[b->hash & (size - 1)] = b;
		}
	w->table = table;
	w->table_size = size;
}

/* The one binding of this kind and name. A binding never moves and is never removed, so pointers to it
 * stay valid during the whole analysis. */
struct binding *scope_binding(struct walk *w, enum binding_kind kind, const char *name, size_t n, bool create)
{
	uint32_t hash = hash_name(kind, name, n);

	if (w->table_size)
		for (struct binding *b = w->table[hash & (w->table_size - 1)]; b; b = b->next)
			if (b->hash == hash && b->kind == kind && b->name_n == n &&
				memcmp(b->name, name, n) == 0)
				return b;
	if (!create)
		return NULL;
	if (w->table_count >= w->table_size)
		grow_table(w);
	struct binding *b = arena_zalloc(w->a, 1, sizeof(*b));
	b->name = arena_strndup(w->a, name, n);
	b->name_n = n;
	b->hash = hash;
	b->kind = kind;
	b->next = w->table[hash & (w->table_size - 1)];
	w->table[hash & (w->table_size - 1)] = b;
	w->table_count++;
	return b;
}

/* Every change goes through here, so that it can be undone. */
void scope_set(struct walk *w, struct binding *b, const void *value)
{
	if (b->now == value)
		return;
	if (w->log_n == w->log_cap) {
		size_t cap = w->log_cap ? w->log_cap * 2 : 16;
		w->log = arena_grow(w->a, w->log, w->log_cap * sizeof(*w->log), cap * sizeof(*w->log));
		w->log_cap = cap;
	}
	w->log[w->log_n++] = (struct change){ b, b->now };
	b->now = value;
}

/* Takes back all changes since `mark`, the newest first. */
void scope_undo(struct walk *w, size_t mark)
{
	while (w->log_n > mark) {
		struct change *c = &w->log[--w->log_n];
		c->binding->now = c->before;
	}
}

struct value *value_new(struct walk *w, uint32_t n, bool is_array)
{
	struct value *v = arena_alloc(w->a, sizeof(*v));

	*v = (struct value){ arena_alloc(w->a, n * sizeof(v->items[0])), n, is_array, false, false };
	return v;
}

const struct value *value_text(struct walk *w, const char *text)
{
	struct value *v = value_new(w, 1, false);

	v->items[0] = text;
	return v;
}

static const char *unknown_items[] = { "\1" }, *filled_items[] = { "\2" }, *credential_items[] = { "\16" },
		  *empty_items[] = { "" };
static const struct value unknown = { unknown_items, 1, false, false, false },
			  filled = { filled_items, 1, false, false, false },
			  credential = { credential_items, 1, false, false, false };
static const struct value unset = { empty_items, 0, false, false, false };
/* "$@" of the input itself: there may be any number of arguments. */
static const struct value unknown_list = { unknown_items, 0, true, true, false };

static bool value_equal(const struct value *x, const struct value *y)
{
	if (x == y)
		return true;
	if (x->n != y->n || x->is_array != y->is_array || x->is_open != y->is_open ||
		x->is_keyed != y->is_keyed)
		return false;
	for (uint32_t i = 0; i < x->n; i++)
		if (!text_eq(x->items[i], y->items[i]))
			return false;
	return true;
}

/* Whether a value could do harm as an operand (a path, an option, an expansion, a glob). Such values are
 * kept when there are too many alternatives and others must make room. */
static bool is_pointed(const char *s)
{
	return *s == '/' || *s == '~' || *s == '.' || *s == '-' || *s == '$' || is_mark(*s) || strchr(s, '*');
}

/* Adds an alternative once. "Anything" swallows "anything but nothing". False when there was no room:
 * then the caller must add "anything", so that nothing is lost. */
static bool add_item(struct value *v, const char *s)
{
	for (uint32_t i = 0; i < v->n; i++) {
		if (text_eq(v->items[i], s) || (text_eq(v->items[i], "\1") && text_eq(s, "\2")))
			return true;
		if (text_eq(v->items[i], "\2") && text_eq(s, "\1")) { /* which includes it */
			v->items[i] = s;
			return true;
		}
	}
	if (v->n < EVAL_MAX_ALTERNATIVES) {
		v->items[v->n++] = s;
		return true;
	}
	for (uint32_t i = 1; is_pointed(s) && i < v->n; i++)
		if (!is_pointed(v->items[i])) {
			v->items[i] = s;
			break;
		}
	return false;
}

/* Everything either may be. When the alternatives do not fit, the first one becomes "anything", which
 * includes whatever was left out. An unset scalar counts as empty. Of two arrays all elements are kept,
 * but not their places. */
const struct value *value_union(struct walk *w, const struct value *x, const struct value *y)
{
	if (value_equal(x, y))
		return x;
	bool is_array = x->is_array || y->is_array;
	struct value *v = value_new(w, EVAL_MAX_ALTERNATIVES, is_array);
	bool fits = true;
	v->n = 0;
	if (!is_array && (x->n == 0 || y->n == 0))
		fits &= add_item(v, "");
	for (uint32_t i = 0; i < x->n; i++)
		fits &= add_item(v, x->items[i]);
	for (uint32_t i = 0; i < y->n; i++)
		fits &= add_item(v, y->items[i]);
	/* After a merge nobody knows which of the arrays it is, so neither number nor order of elements
	 * is certain. */
	v->is_open = v->is_keyed = is_array;
	if (!fits)
		v->items[0] = "\1";
	return v;
}

static const char *environment_value(const struct walk *w, const char *name, size_t n)
{
	if (!w->at->environment)
		return NULL;
	for (const char *const *e = w->at->environment; *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* Whether the name is in a list separated by blanks. */
static bool is_one_of(const char *list, const char *name, size_t n)
{
	for (const char *p = list; *p;) {
		size_t len = strcspn(p, " ");
		if (len == n && memcmp(p, name, n) == 0)
			return true;
		p += len + (p[len] == ' ');
	}
	return false;
}

/* What a CI runner sets for every step: its checkout, its temporary directory, and the files through
 * which steps talk to it. Such scripts would otherwise be full of writes to unknown places. */
static const char *runner_value(const struct walk *w, const char *name, size_t n)
{
	const char *tmpdir = w->at->tmpdir ? w->at->tmpdir : "/tmp";

	/* Elsewhere its directories are not set, and what is deleted below one would be everything there is. */
	if (w->at->on_runner && is_one_of("GITHUB_WORKSPACE CI_PROJECT_DIR", name, n))
		return w->at->workspace;
	if (w->at->on_runner && is_one_of("RUNNER_TEMP", name, n))
		return arena_printf(w->a, "%s/runner", tmpdir);
	if (is_one_of("GITHUB_OUTPUT GITHUB_ENV GITHUB_PATH GITHUB_STEP_SUMMARY GITHUB_STATE", name, n))
		return arena_printf(w->a, "%s/_runner_file_commands/%.*s", tmpdir, (int)n, name);
	return NULL;
}

/* The value of a variable that the text has not assigned: the shell's own, the environment's, or
 * unknown. The last list names variables that the shell always fills, although with what is not known. */
static const struct value *outside_variable(struct walk *w, const char *name, size_t n)
{
	const char *text = NULL;

	if (n == 1 && (*name == '@' || *name == '*'))
		return &unknown_list;
	if (is_one_of("IFS", name, n))
		return value_text(w, " \t\n");
	if (is_one_of("PWD", name, n))
		return scope_directory(w);
	if (n == 1 && *name == '!')
		return value_text(w, "%%"); /* the job started last, as kill and wait know it */
	if (paths_is_secret_variable(name, n))
		return &credential;
	text = environment_value(w, name, n);
	if (!text && is_one_of("HOME", name, n))
		text = w->at->home;
	if (!text && is_one_of("TMPDIR", name, n))
		text = w->at->tmpdir;
	if (!text && is_one_of("EDITOR VISUAL", name, n))
		text = "vi";
	if (!text && is_one_of("PAGER", name, n))
		text = "less";
	if (!text)
		text = runner_value(w, name, n);
	if (text)
		return value_text(w, text);
	if (is_one_of("0 ? $ # - RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME UID EUID PPID BASHPID "
		      "BASH LINENO HOSTNAME "
		      "BASH_VERSION OSTYPE MACHTYPE HOSTTYPE BASH_SOURCE SHLVL OPTIND",
		    name, n))
		return &filled;
	return &unknown;
}

/* Never NULL. An outside value is kept in the binding without a log entry: it is not a change, it was so
 * all the time. PWD is not kept, because it follows the working directory. */
const struct value *scope_variable(struct walk *w, const char *name, size_t n)
{
	struct binding *b = scope_binding(w, BIND_VARIABLE, name, n, true);

	if (b->now)
		return b->now;
	const struct value *v = outside_variable(w, name, n);
	if (v != scope_directory(w))
		b->now = v; /* remembered, not a change: it was so all the time */
	return v;
}

/* NULL unsets the variable, which is different from never having been assigned. */
void scope_set_variable(struct walk *w, const char *name, size_t n, const struct value *v)
{
	scope_set(w, scope_binding(w, BIND_VARIABLE, name, n, true), v ? v : &unset);
}

const struct value *scope_directory(struct walk *w)
{
	struct binding *b = scope_binding(w, BIND_DIRECTORY, "", 0, true);

	if (!b->now)
		b->now = w->at->cwd ? value_text(w, w->at->cwd) : &unknown;
	return b->now;
}

/* OLDPWD follows, so that `cd -` leads back. */
void scope_set_directory(struct walk *w, const struct value *v)
{
	const struct value *before = scope_directory(w);

	scope_set_variable(w, "OLDPWD", 6, before);
	scope_set(w, scope_binding(w, BIND_DIRECTORY, "", 0, true), v);
}

/* ---- branches ---- */

struct fork_change {
	struct binding *binding;
	const void *value;
};

/* Starts a choice between branches. is_dead is about the branch that is walked, so it starts afresh. */
void fork_begin(struct walk *w, struct fork *f)
{
	*f = (struct fork){ .mark = w->log_n, .was_dead = w->is_dead };
	w->is_dead = false;
}

static void fork_note(struct walk *w, struct fork *f, struct binding *b)
{
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 8;
		f->changes =
			arena_grow(w->a, f->changes, f->cap * sizeof(*f->changes), cap * sizeof(*f->changes));
		f->cap = cap;
	}
	f->changes[f->n++] = (struct fork_change){ b, b->now };
}

/* Ends one branch: notes the final value of each binding it changed, once, and restores the state before
 * the branch. A branch that ended in exit or return leaves nothing to those behind it, so its changes
 * are dropped and it does not count. */
void fork_cut(struct walk *w, struct fork *f)
{
	uint32_t epoch = ++w->epoch;

	if (!w->is_dead) {
		for (size_t i = w->log_n; i-- > f->mark;) {
			struct binding *b = w->log[i].binding;
			if (b->cut_epoch != epoch) {
				b->cut_epoch = epoch;
				fork_note(w, f, b);
			}
		}
		f->branches++;
	}
	w->is_dead = false;
	scope_undo(w, f->mark);
}

/* What a binding may be after one of two branches. Variables have alternatives; functions and aliases do
 * not: the one defined last stays, marked as not certain when only one branch defines it. */
static const void *merge(struct walk *w, const struct binding *b, const void *x, const void *y)
{
	if (b->kind != BIND_VARIABLE && b->kind != BIND_DIRECTORY) {
		if (x == y || !x || !y || b->kind == BIND_ALIAS) {
			const struct function *f = x ? x : y;
			if (x == y || b->kind == BIND_ALIAS || !f)
				return f;
			struct function *maybe = arena_alloc(w->a, sizeof(*maybe));
			*maybe = *f;
			maybe->is_certain = false;
			return maybe;
		}
		return y;
	}
	if (!x || !y) { /* one of them is what it was outside */
		const struct value *outside =
			b->kind == BIND_DIRECTORY ? &unknown : outside_variable(w, b->name, b->name_n);
		x = x ? x : outside;
		y = y ? y : outside;
	}
	return value_union(w, x, y);
}

/* Leaves what may be true after any of the branches. may_skip says that perhaps none of them ran, so the
 * values from before remain possible; so they do for a binding that not every branch changed. The epochs
 * make each binding be merged once, without clearing anything between forks. Returns whether anything
 * differs from before, which tells a loop whether to go on. */
bool fork_end(struct walk *w, struct fork *f, bool may_skip)
{
	uint32_t epoch = ++w->epoch;
	size_t mark = w->log_n;

	/* When every branch ended in exit or return, nothing behind them runs. */
	w->is_dead = f->was_dead || (!may_skip && f->branches == 0);
	for (size_t i = 0; i < f->n; i++) {
		struct binding *b = f->changes[i].binding;
		if (b->merge_epoch != epoch) {
			b->merge_epoch = epoch;
			b->merge_count = 1;
			b->merged = f->changes[i].value;
		} else {
			b->merge_count++;
			b->merged = merge(w, b, b->merged, f->changes[i].value);
		}
	}
	for (size_t i = 0; i < f->n; i++) {
		struct binding *b = f->changes[i].binding;
		if (b->merge_epoch != epoch)
			continue;
		b->merge_epoch = 0;
		const void *after = b->merged;
		if (may_skip || b->merge_count < f->branches)
			after = merge(w, b, b->now, after);
		bool has_values = (b->kind == BIND_VARIABLE || b->kind == BIND_DIRECTORY) && after && b->now;
		bool same = after == b->now || (has_values && value_equal(after, b->now));
		if (!same)
			scope_set(w, b, after);
	}
	return w->log_n != mark;
}
