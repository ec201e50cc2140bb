/* helm.c — two programs of one name: our own, known from model/command.def, and the package manager of Kubernetes.
 *
 * Ours is asked first, because what it does depends on who asks: looking is reading, governed work is writing, `helm run` is the
 * command behind it, and whatever changes what governs is not for those who are governed.  A word that only the other helm
 * knows is judged as its own (the verbs of share/programs/cloud.txt); where both know a word the stricter meaning stands. */
#include "propose/programs/programs.h"

#include "base/file.h"
#include "base/text.h"
#include "model/command.h"

#include <string.h>

/* Where the second word of a command stands: options may come between, as the command line itself
 * allows. */
static size_t second_place(const struct call *k)
{
	size_t i = 1;
	while (i < k->rest_count && word_starts(&k->rest[i], "-") && !word_is(&k->rest[i], "--"))
		i += word_has(&k->rest[i], "=") || word_is_any(&k->rest[i], "--json --help -h") ? 1 : 2;
	return i;
}

/* Can this word be an option, or does the one in front of it take it for its value? */
static bool stands_free(const struct word *v, size_t i)
{
	return !i || !word_starts(&v[i - 1], "-") || word_is(&v[i - 1], "--json") ||
		(v[i - 1].certainty == CERTAIN && word_has(&v[i - 1], "="));
}

/* --name or --name=value. */
static bool says_option(const struct word *x, const char *option)
{
	size_t n = strlen(option);
	return word_is(x, option) || (word_starts(x, option) && x->known_n > n && x->text[n] == '=');
}

/* The class of these words. What makes a command stricter counts wherever it stands; what makes it laxer
 * only where it cannot be anything else. *ret_is_unknown: a word that is not known could be the one that
 * makes it stricter. */
static enum command_class class_of(
	const struct call *k, const struct helm_command *c, size_t end, bool *ret_is_unknown)
{
	const struct word *v = k->rest;
	bool is_option = c->turn && c->turn[0] == '-';
	*ret_is_unknown = false;
	for (size_t i = 0; c->turn && i < end; i++) {
		if (c->turned < c->class ? word_is(&v[i], c->turn) && (is_option ? stands_free(v, i) : i == 0)
					 : says_option(&v[i], c->turn))
			return c->turned;
		*ret_is_unknown |= c->turned > c->class && v[i].certainty != CERTAIN && !v[i].known_n;
	}
	return c->class;
}

/* Options that ask the guard to look away. */
static void find_overruling(struct call *k, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		const struct word *x = &k->rest[i];
		bool is_mode = word_is(x, "--guard-mode") && i + 1 < end;
		if (word_starts(x, "--approve-risk") ||
			(word_starts(x, "--guard-mode=") && !word_is(x, "--guard-mode=enforce")) ||
			(is_mode && !word_is(&k->rest[i + 1], "enforce")))
			fx(k, TAG_TAMPER_GUARD, x, 0);
	}
}

/* A profile that permits no more than the one in force.  Where that is not known, only the one that reads. */
static bool is_narrower(const struct call *k, const struct word *x)
{
	static const char *const least[] = { "inspect_local", NULL };
	const struct surroundings *at = walk_surroundings(k->w);
	for (const char *const *p = at->narrower ? at->narrower : least; *p; p++)
		if (word_is(x, *p))
			return true;
	return false;
}

/* The workspace that governs here anyway. */
static bool is_same_place(const struct call *k, const struct word *x)
{
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c);
	return at->workspace && x->certainty == CERTAIN && (*x->text == '/' || cwd) &&
		text_eq(path_clean(walk_arena(k->w), path_join(walk_arena(k->w), cwd ? cwd : "/", x->text)),
			at->workspace);
}

/* One option with its value, as "--name value" or "--name=value".  False when it is another one or has none. */
static bool option_value(const struct call *k, size_t i, size_t end, const char *name, struct word *ret)
{
	const struct word *x = &k->rest[i];
	size_t n = strlen(name);
	if (!says_option(x, name) || (word_is(x, name) && i + 1 >= end))
		return false;
	*ret = word_is(x, name) ? x[1] : word_tail(x, n + 1);
	return true;
}

/* Behind `profile run`, --path may also name a file that is saved first.  A place in the tree one works in is no way out: whoever goes there is
 * governed by it as well. */
static bool is_in_tree(const struct call *k, const struct word *x)
{
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c), *tree = at->work_tree;
	if (!tree || x->certainty != CERTAIN || (*x->text != '/' && !cwd))
		return false;
	return path_is_below(
		path_clean(walk_arena(k->w), path_join(walk_arena(k->w), cwd ? cwd : "/", x->text)), tree);
}

/* Work is asked to be done somewhere else than where the person has set things up, or under more than they chose. */
static void find_boundary(struct call *k, size_t end, bool is_profile_run)
{
	bool has_profile = false;
	struct word value;
	for (size_t i = 0; i < end; i++) {
		const struct word *x = &k->rest[i];
		if (!is_profile_run && option_value(k, i, end, "--profile", &value) &&
			!is_narrower(k, &value))
			fx(k, TAG_TAMPER_BOUNDARY, x, 0);
		if (option_value(k, i, end, "--workspace", &value) && !is_same_place(k, &value))
			fx(k, TAG_TAMPER_BOUNDARY, x, 0);
		if (option_value(k, i, end, "--path", &value) && !is_same_place(k, &value) &&
			!(is_profile_run && is_in_tree(k, &value)))
			fx(k, TAG_TAMPER_BOUNDARY, x, 0);
		if (!is_profile_run || word_starts(x, "-") || !stands_free(k->rest, i))
			continue;
		if (has_profile)
			return; /* the command begins */
		if (!is_narrower(k, x))
			fx(k, TAG_TAMPER_BOUNDARY, x, 0);
		has_profile = true;
	}
}

/* Keys and decisions are found by HOME: another one is another boundary. */
static void find_other_home(struct call *k)
{
	for (size_t i = 0; i < k->c->assign_count; i++)
		if (text_eq(k->c->assigns[i].name, "HOME"))
			fx_name(k, TAG_TAMPER_BOUNDARY, "HOME", 0);
	if (!walk_is_at_home(k->w))
		fx_name(k, TAG_TAMPER_BOUNDARY, "HOME", 0);
}

/* helm run [options] [--] COMMAND.  Without "--" it is not certain which word is an option's value and which the command,
 * so every word that could begin it is judged. */
static void wrapped(struct call *k, size_t end, bool has_profile)
{
	fx(k, TAG_READ_QUERY, NULL, 0);
	if (end < k->rest_count) {
		run_argv(k, k->rest + end + 1, k->rest_count - end - 1, 0, "helm run");
		return;
	}
	for (size_t i = 0; i < end; i++) {
		if (word_starts(&k->rest[i], "-"))
			continue;
		bool is_value = !stands_free(k->rest, i);
		if (has_profile && !is_value) {
			has_profile = false;
			continue;
		}
		run_argv(k, k->rest + i, k->rest_count - i, 0, "helm run");
		if (!is_value)
			return;
	}
}

/* One argument, or the value of an option: a file that is written, a place that is changed, or something that is read. */
static void argument(struct call *k, const char *option, size_t n, const struct word *x, bool acts)
{
	if (n == 7 && strncmp(option, "--shell", n) == 0)
		return;
	if ((n == 5 && strncmp(option, "--out", n) == 0) || (n == 4 && strncmp(option, "--to", n) == 0))
		(void)fx_path(k, TAG_WRITE_FILE, x, 0);
	else if (acts && list_has("--path --workspace", option, n))
		(void)fx_path(k, TAG_WRITE_DIR, x, 0);
	else
		fx_read(k, x, 1);
}

/* Judges every argument and option value as a path that is read or written. */
static void arguments(struct call *k, size_t end, bool acts)
{
	for (size_t i = 0; i < end; i++) {
		const struct word *x = &k->rest[i];
		size_t n = word_starts(x, "-") ? strcspn(x->text, "=") : 0;
		if (n && n < x->text_n) {
			struct word value = word_tail(x, n + 1);
			argument(k, x->text, n, &value, acts);
		} else if (!n) {
			const struct word *before = i && word_starts(x - 1, "-") ? x - 1 : NULL;
			argument(k, before ? before->text : "", before ? before->text_n : 0, x, acts);
		}
	}
}

/* One of our own commands. The class from the command table decides: looking reads, working writes,
 * wrapping is judged by the command inside, and controlling the guard is tampering. */
static void own_command(struct call *k, const struct helm_command *c)
{
	size_t end = 0;
	while (end < k->rest_count && !word_is(&k->rest[end], "--"))
		end++;
	find_overruling(k, end);
	bool is_unknown;
	enum command_class class = class_of(k, c, end, &is_unknown);
	if (k->rest_count && word_is_any(&k->rest[0], "--help -h")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (class == COMMAND_WRAPS) {
		find_boundary(k, end, strchr(c->name, ' ') != NULL);
		find_other_home(k);
		wrapped(k, end, strchr(c->name, ' '));
	} else if (class == COMMAND_CONTROLS) {
		fx_name(k, TAG_TAMPER_GUARD, c->name, 0);
	} else if (class == COMMAND_FOUNDS) {
		fx_name(k, TAG_TAMPER_BOUNDARY, c->name, 0);
		arguments(k, end, true);
	} else {
		if (is_unknown)
			fx(k, TAG_DYNAMIC_OPTION, NULL, 0);
		if (class == COMMAND_ACTS)
			fx_name(k, TAG_WRITE_TOOL,
				arena_printf(walk_arena(k->w), "the workspace (%s)", c->name), 0);
		else
			fx(k, TAG_READ_QUERY, NULL, 0);
		arguments(k, end, class == COMMAND_ACTS);
	}
}

/* The first word of some of our commands: with another word behind it, the strictest of them is meant. */
static bool own_noun(struct call *k, const char *noun)
{
	size_t n = strlen(noun);
	bool is_noun = false, controls = false;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strncmp(command_table[i].name, noun, n) == 0 && command_table[i].name[n] == ' ') {
			is_noun = true;
			controls |= command_table[i].class == COMMAND_CONTROLS ||
				command_table[i].turned == COMMAND_CONTROLS;
		}
	if (!is_noun)
		return false;
	if (k->rest_count == 1 || word_is_any(&k->rest[1], "--help -h"))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else
		fx_name(k, controls ? TAG_TAMPER_GUARD : TAG_WRITE_TOOL, noun, 0);
	return true;
}

/* `helm status RELEASE` asks a cluster; without a release it is ours. */
static bool is_for_cluster(const struct call *k)
{
	return k->rest_count > 1 && word_is(&k->rest[0], "status") && !word_starts(&k->rest[1], "--");
}

/* helm --path DIR run ...: options of ours that stand before the command belong behind its first word. */
static void sort_options(struct call *k)
{
	size_t n = 0;
	while (n < k->rest_count && word_is_option(&k->rest[n], "path workspace json"))
		n += word_has(&k->rest[n], "=") || word_is(&k->rest[n], "--json") ? 1 : 2;
	if (!n || n >= k->rest_count)
		return;
	struct word *v = arena_alloc(walk_arena(k->w), k->rest_count * sizeof(*v));
	v[0] = k->rest[n];
	memcpy(v + 1, k->rest, n * sizeof(*v));
	memcpy(v + 1 + n, k->rest + n + 1, (k->rest_count - n - 1) * sizeof(*v));
	k->rest = v;
}

/* Our own commands first, then the first words of them, then the verbs of the other helm. */
HANDLER(helm)
{
	sort_options(k);
	const struct word *first = k->rest_count ? &k->rest[0] : NULL;
	if (!first) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	if (first->certainty != CERTAIN || is_for_cluster(k)) {
		run_verbs(k);
		return;
	}
	size_t place = second_place(k), words;
	const struct word *second = place < k->rest_count ? &k->rest[place] : NULL;
	const struct helm_command *c = command_find(
		first->text, second && second->certainty == CERTAIN ? second->text : NULL, &words);
	if (!c) {
		if (!own_noun(k, first->text))
			run_verbs(k);
		return;
	}
	/* The words of the command go, what is left are its options and arguments. */
	struct call inner = *k;
	struct word *rest = arena_alloc(walk_arena(k->w), k->rest_count * sizeof(*rest));
	inner.rest = rest;
	inner.rest_count = 0;
	for (size_t i = 1; i < k->rest_count; i++)
		if (words == 1 || i != place)
			rest[inner.rest_count++] = k->rest[i];
	own_command(&inner, c);
}
