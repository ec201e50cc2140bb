/* words.c — from a word of the grammar to the words a program gets: tilde, parameters, substitutions,
 * splitting, quotes.
 *
 * Text is built on one scratch stack (substitutions nest) with markers for what is not known, and copied
 * out once it is complete. Each builder remembers its base in the stack and gives it back at its end;
 * nobody may keep a pointer into the stack, because it moves when it grows. Globs are not matched
 * against the file system: the pattern itself is the value, and is judged by everything it can match.
 *
 * There are two forms of a value. Inside the evaluator it is "marked" text (evaluate.h). For the
 * knowledge of programs it is a struct word: the text without its unknown parts, how much of it is
 * known, and where the unknown parts come from. word_of_marked() and word_marked() translate. */
#include "propose/evaluate/evaluate.h"

bool has_mark(const char *s)
{
	for (; *s; s++)
		if (is_mark(*s))
			return true;
	return false;
}

/* Every text made by expansion is counted, because a few doublings of a variable would otherwise fill
 * the memory. */
const char *text_keep(struct walk *w, const char *p, size_t n)
{
	w->bytes += n;
	if (w->bytes > EVAL_MAX_BYTES)
		eval_stop(w, "expansion_limit", "its expansions are larger than 4 MiB");
	return arena_strndup(w->a, p, n);
}

/* Appends to the text under construction, at the top of the stack. */
static void scratch_add(struct walk *w, const char *p, size_t n)
{
	if (w->scratch_cap - w->scratch_n < n) {
		size_t cap = w->scratch_cap ? w->scratch_cap * 2 : 1024;
		if (cap < w->scratch_n + n)
			cap = w->scratch_n + n;
		w->scratch = arena_grow(w->a, w->scratch, w->scratch_cap, cap);
		w->scratch_cap = cap;
	}
	if (n)
		memcpy(w->scratch + w->scratch_n, p, n);
	w->scratch_n += n;
}

void word_push(struct walk *w, struct word_list *l, struct word x)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 8;
		l->v = arena_grow(w->a, l->v, l->cap * sizeof(*l->v), cap * sizeof(*l->v));
		l->cap = cap;
	}
	l->v[l->n++] = x;
}

static enum origin origin_of(char mark)
{
	return mark == MARK_FETCHED    ? ORIGIN_FETCHED
		: mark == MARK_DECODED ? ORIGIN_DECODED
		: mark == MARK_SECRETS ? ORIGIN_SECRETS
				       : ORIGIN_UNKNOWN;
}

/* Turns marked text into a word by taking the markers out. A name that came from a glob reads as "*".
 * known_n is where the first marker or glob stands; the word is guarded when each unknown part is known
 * not to be empty. */
static void strip_marks(struct walk *w, struct word *x, const char *marked, size_t n, size_t glob_at)
{
	char *text = arena_text(w->a, n + 1);
	size_t k = 0, known = SIZE_MAX;

	x->is_guarded = true;
	for (size_t i = 0; i < n; i++) {
		if (i == glob_at && known == SIZE_MAX)
			known = k;
		if (!is_mark(marked[i])) {
			text[k++] = marked[i];
			continue;
		}
		if (known == SIZE_MAX)
			known = k;
		if (marked[i] == MARK_NAME) {
			x->is_glob = true;
			text[k++] = '*';
			continue;
		}
		if (origin_of(marked[i]) > x->origin)
			x->origin = origin_of(marked[i]);
		if (marked[i] != MARK_FILLED)
			x->is_guarded = false;
	}
	text[k] = '\0';
	x->text = text;
	x->text_n = k;
	x->known_n = known;
	bool only_names = x->origin == ORIGIN_LITERAL;
	x->certainty = known > 0 || only_names ? PREFIXED : DYNAMIC;
	x->marked = text_keep(w, marked, n);
}

/* `glob_at` is where the first live glob character stands; SIZE_MAX when there is none. */
struct word word_of_marked(struct walk *w, const char *marked, size_t n, size_t glob_at, struct span at)
{
	struct word x = { .at = at, .is_glob = glob_at != SIZE_MAX };

	for (size_t i = 0; i < n; i++)
		if (is_mark(marked[i])) {
			strip_marks(w, &x, marked, n, glob_at);
			return x;
		}
	x.text = text_keep(w, marked, n);
	x.text_n = n;
	x.known_n = x.is_glob ? glob_at : n;
	x.certainty = x.is_glob ? PREFIXED : CERTAIN;
	return x;
}

/* The marked form of a word. Programs' handlers cut words and put them together; x->marked is used only
 * while it still says the same as x->text. Otherwise one marker is put where the known text ends, which
 * is less exact but safe. */
const char *word_marked(struct walk *w, const struct word *x)
{
	static const char marks[] = { [ORIGIN_LITERAL] = MARK_UNKNOWN,
		[ORIGIN_UNKNOWN] = MARK_UNKNOWN,
		[ORIGIN_SECRETS] = MARK_SECRETS,
		[ORIGIN_DECODED] = MARK_DECODED,
		[ORIGIN_FETCHED] = MARK_FETCHED };
	TABLE_COVERS(marks, ORIGIN_COUNT);

	if (x->certainty == CERTAIN || (x->is_glob && x->origin == ORIGIN_LITERAL && !x->marked))
		return x->text;
	if (x->marked) {
		size_t k = 0;
		const char *m = x->marked;
		for (; *m && k <= x->text_n; m++)
			if (!is_mark(*m) || *m == MARK_NAME)
				if (k == x->text_n || x->text[k++] != (*m == MARK_NAME ? '*' : *m))
					break;
		if (!*m && k == x->text_n)
			return x->marked;
	}
	if (x->is_glob && x->origin == ORIGIN_LITERAL)
		return x->text;
	char mark = x->is_guarded && x->origin <= ORIGIN_UNKNOWN ? MARK_FILLED : marks[x->origin];
	return arena_printf(w->a, "%.*s%c%s", (int)x->known_n, x->text, mark, x->text + x->known_n);
}

bool walk_sends_credential(const struct word *x)
{
	const char *from = x->marked, *scheme = from ? strstr(from, "://") : NULL, *at;

	if (scheme) {
		from = scheme + 3;
		at = memrchr(from, '@', strcspn(from, "/?#"));
		from = at ? at + 1 : from;
	}
	return from && strchr(from, MARK_CREDENTIAL);
}

/* ---- fields ---- */

/* Ends the present field, if there is one, and makes it a word. */
void fields_break(struct walk *w, struct fields *f)
{
	if (!f->to || !f->is_open)
		return;
	struct word x = word_of_marked(w, w->scratch + f->base, w->scratch_n - f->base, f->glob_at, f->at);
	x.is_quoted = f->is_quoted;
	word_push(w, f->to, x);
	w->scratch_n = f->base;
	f->glob_at = SIZE_MAX;
	f->is_open = f->is_quoted = false;
}

static bool is_glob_char(char c)
{
	return c == '*' || c == '?' || c == '[';
}

/* Adds text to the present field. With `escapes`, quoted characters that mean something in patterns get
 * a backslash. */
void fields_add(struct walk *w, struct fields *f, const char *p, size_t n, bool is_quoted)
{
	f->is_open |= n > 0 || is_quoted;
	f->is_quoted |= is_quoted;
	if (f->escapes && is_quoted) {
		for (size_t i = 0; i < n; i++) {
			if (is_glob_char(p[i]) || p[i] == '\\' || p[i] == ']')
				scratch_add(w, "\\", 1);
			scratch_add(w, p + i, 1);
		}
		return;
	}
	if (!is_quoted && f->glob_at == SIZE_MAX && f->to)
		for (size_t i = 0; i < n; i++)
			if (is_glob_char(p[i])) {
				f->glob_at = w->scratch_n - f->base + i;
				break;
			}
	scratch_add(w, p, n);
}

/* An IFS that is not known is taken for the usual one. */
static const char *current_ifs(struct walk *w)
{
	const struct value *v = scope_variable(w, "IFS", 3);

	return v->n == 1 && !v->is_array && !has_mark(v->items[0]) ? v->items[0] : " \t\n";
}

/* Adds the value of an expansion, split into fields at IFS unless it is quoted or one text is wanted. */
void fields_add_value(struct walk *w, struct fields *f, const char *s, bool is_quoted)
{
	size_t n = strlen(s);

	w->bytes += n;
	if (w->bytes > EVAL_MAX_BYTES)
		eval_stop(w, "expansion_limit", "its expansions are larger than 4 MiB");
	if (w->is_stopped)
		return;
	if (is_quoted || !f->to) {
		fields_add(w, f, s, n, is_quoted);
		return;
	}
	const char *ifs = current_ifs(w);
	while (*s) {
		size_t len = strcspn(s, ifs);
		if (len)
			fields_add(w, f, s, len, false);
		s += len;
		if (!*s)
			break;
		bool is_blank = *s == ' ' || *s == '\t' || *s == '\n';
		if (!is_blank)
			f->is_open = true; /* a,,b has an empty field */
		fields_break(w, f);
		s++;
	}
}

/* The output of a command as the value of $(...): known text without newlines at its end, or a marker
 * that says where it comes from. */
const char *mark_of_feed(struct walk *w, const struct feed *f)
{
	if (feed_names_secrets(f))
		return "\6";
	switch (f->kind) {
	case FEED_KNOWN: {
		size_t n = f->n;
		while (n > 0 && f->text[n - 1] == '\n')
			n--;
		return text_keep(w, f->text, strnlen(f->text, n));
	}
	case FEED_INHERIT:
	case FEED_EMPTY:
		return "";
	case FEED_DECODED:
		return "\3";
	case FEED_FETCHED:
	case FEED_SOCKET:
		return "\4";
	case FEED_UNKNOWN:
		if (f->text)
			return arena_printf(w->a, "%.*s%c", (int)f->n, f->text,
				f->is_filled ? MARK_FILLED : MARK_UNKNOWN);
		return f->is_filled ? "\2" : "\1";
	case FEED_FILE:
		break;
	}
	return "\1";
}

bool feed_names_secrets(const struct feed *f)
{
	return (f->kind == FEED_UNKNOWN || f->kind == FEED_DECODED) && f->below && !feed_is_environment(f);
}

enum feed_kind feed_kind_of(enum origin o)
{
	return o == ORIGIN_FETCHED			     ? FEED_FETCHED
		: o == ORIGIN_DECODED || o == ORIGIN_SECRETS ? FEED_DECODED
							     : FEED_UNKNOWN;
}

bool feed_is_environment(const struct feed *f)
{
	return f->below && text_eq(f->below, FEED_ENVIRONMENT);
}

/* <(echo ~/.netrc): one of the lines is the name of a secret. */
static bool lists_secret(struct walk *w, const struct feed *f)
{
	struct bytes rest = { (const uint8_t *)f->text, f->n };

	while (f->kind == FEED_KNOWN && rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		const char *path = arena_strndup(w->a, (const char *)line.p, line.n);
		if (path[0] == '/' && !strchr(path, ' ') && paths_is_secret(w->at, path))
			return true;
	}
	return false;
}

/* <(...) and >(...): a file /dev/fd/N, whose marker tells what can be read from it. */
static void add_process(struct walk *w, const struct shell_part *part, struct fields *f)
{
	struct feed out = eval_output(w, part->script);
	char text[32];
	char mark = out.kind == FEED_FETCHED			    ? MARK_FETCHED
		: feed_names_secrets(&out) || lists_secret(w, &out) ? MARK_SECRETS
		: out.kind == FEED_DECODED			    ? MARK_DECODED
								    : MARK_FILLED;

	if (out.kind == FEED_EMPTY) {
		fields_add(w, f, "/dev/null", 9, true);
		return;
	}
	eval_note_source(w, w->next_fd, &out);
	snprintf(text, sizeof(text), "/dev/fd/%c%d", mark, w->next_fd);
	w->next_fd = w->next_fd > 10 ? w->next_fd - 1 : 63;
	fields_add(w, f, text, strlen(text), true);
}

/* A number that is not known is still not empty. */
static void add_arith(struct walk *w, const struct shell_part *part, struct fields *f)
{
	const char *text = expand_text(w, part->arith, 0);
	int64_t value;
	char number[32];

	if (has_mark(text) || !arith_eval(w, text, &value)) {
		fields_add(w, f, "\2", 1, part->is_quoted);
		return;
	}
	snprintf(number, sizeof(number), "%lld", (long long)value);
	fields_add_value(w, f, number, part->is_quoted);
}

/* Expands the parts of a word in order. Quoted expansions make a field even when they are empty. */
void expand_parts(struct walk *w, const struct shell_part *first, struct fields *f)
{
	for (const struct shell_part *part = first; part && !w->is_stopped; part = part->next) {
		switch (part->kind) {
		case PART_TEXT:
			fields_add(w, f, part->text, part->text_n, part->is_quoted);
			break;
		case PART_PARAM:
			expand_param(w, part, f);
			break;
		case PART_COMMAND: {
			struct feed out = eval_output(w, part->script);
			eval_note_source(w, -1, &out);
			fields_add_value(w, f, mark_of_feed(w, &out), part->is_quoted);
			if (part->is_quoted)
				f->is_open = f->is_quoted = true;
			break;
		}
		case PART_ARITH:
			add_arith(w, part, f);
			break;
		case PART_PROC_IN:
		case PART_PROC_OUT:
			add_process(w, part, f);
			break;
		}
	}
}

/* What a tilde at the start stands for, and how many bytes of the text it takes; NULL when there is
 * none. ~user is taken for the usual place of homes, which is enough to see that it lies outside the
 * workspace. */
static const char *tilde(struct walk *w, const char *p, size_t n, size_t *ret_n)
{
	size_t len = 1;

	if (n == 0 || p[0] != '~')
		return NULL;
	while (len < n && p[len] != '/' && p[len] != ':')
		len++;
	*ret_n = len;
	if (len == 1) {
		const struct value *home = scope_variable(w, "HOME", 4);
		return home->n ? home->items[eval_choose(w, home, home->n)] : "";
	}
	if (len == 2 && (p[1] == '+' || p[1] == '-')) {
		const struct value *v = p[1] == '+' ? scope_directory(w) : scope_variable(w, "OLDPWD", 6);
		return v->n ? v->items[eval_choose(w, v, v->n)] : "";
	}
	if (len == 5 && memcmp(p, "~root", 5) == 0)
		return "/root";
	return arena_printf(w->a, "/home/%.*s", (int)len - 1, p + 1);
}

/* Adds the first part with its tilde expanded and returns the part to go on with. The value counts as
 * quoted: it is neither split nor a glob. `skip` is the length of NAME= in front of a value. */
static const struct shell_part *add_tilde(
	struct walk *w, const struct shell_part *part, uint32_t skip, struct fields *f)
{
	size_t used = 0;

	if (!part || part->kind != PART_TEXT || part->is_quoted)
		return part;
	const char *home = tilde(w, part->text + skip, part->text_n - skip, &used);
	if (!home) {
		if (!skip)
			return part;
		used = 0;
	} else {
		/* ~$x and ~'x' are not tildes */
		if (skip + used == part->text_n && part->next && part->next->kind != PART_TEXT)
			return skip ? (fields_add(w, f, part->text + skip, part->text_n - skip, false),
					      part->next)
				    : part;
		fields_add(w, f, home, strlen(home), true);
	}
	fields_add(w, f, part->text + skip + used, part->text_n - skip - used, false);
	return part->next;
}

/* One word after its braces were expanded, into as many fields as it makes. */
static void expand_fields(
	struct walk *w, const struct shell_part *first, struct word_list *to, const struct shell_word *word)
{
	struct fields f = { .to = to, .base = w->scratch_n, .glob_at = SIZE_MAX, .at = word->at };

	/* of=~/x: a word that looks like an assignment has its tilde behind the sign. */
	uint32_t skip = first && first == word->first && first->kind == PART_TEXT && word->name_n &&
			!word->index && word->value_skip < first->text_n &&
			first->text[word->value_skip] == '~'
		? word->value_skip
		: 0;
	if (skip)
		fields_add(w, &f, first->text, skip, false);
	expand_parts(w, add_tilde(w, first, skip, &f), &f);
	if (word->is_extglob && f.is_open && f.glob_at == SIZE_MAX)
		f.glob_at = 0;
	fields_break(w, &f);
	w->scratch_n = f.base;
}

/* Plain words, which are the most common, take a short way. */
void expand_word(struct walk *w, const struct shell_word *word, struct word_list *to)
{
	struct shell_part **list;

	if (word->is_plain) {
		word_push(
			w, to, word_of_marked(w, word->first->text, word->first->text_n, SIZE_MAX, word->at));
		return;
	}
	size_t n = word->has_brace ? expand_braces(w, word, &list) : 0;
	if (n == 0)
		expand_fields(w, word->first, to, word);
	for (size_t i = 0; i < n && !w->is_stopped; i++)
		expand_fields(w, list[i], to, word);
}

/* The word as one marked text, not split. */
static const char *expand_one(struct walk *w, const struct shell_word *word, uint32_t skip, bool escapes)
{
	struct fields f = { .base = w->scratch_n, .glob_at = SIZE_MAX, .escapes = escapes };

	if (!word)
		return "";
	expand_parts(w, add_tilde(w, word->first, skip, &f), &f);
	const char *text = text_keep(w, w->scratch + f.base, w->scratch_n - f.base);
	w->scratch_n = f.base;
	return text;
}

const char *expand_text(struct walk *w, const struct shell_word *word, uint32_t skip)
{
	return expand_one(w, word, skip, false);
}

const char *expand_pattern(struct walk *w, const struct shell_word *word)
{
	return expand_one(w, word, 0, true);
}
