/* verbs.c — programs whose meaning is in their subcommands: git-like command lines as rows of a table.
 *
 * A row (the indented lines of share/programs/) names the words after the options, the options that must or must not be
 * present, and the effect.  Most of what is known about container, cloud and package tools is such rows. */
#include "propose/programs/programs.h"

#include <ctype.h>
#include <string.h>

/* Places are kept instead of words, because a handler needs to know where its own words begin. */
size_t verb_words(struct call *k, const char *spec, size_t max, size_t *places)
{
	struct args s;
	size_t n = 0;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, spec);
	for (int item; n < max && (item = args_next(&s)) != ARG_END;)
		if (item == ARG_OPERAND || item == ARG_DYNAMIC)
			places[n++] = (size_t)(s.word - k->rest);
	return n;
}

/* "rm|remove" against a word; "*" is any word. A word that is not certain matches nothing here. */
static bool word_matches(const char *pattern, size_t n, const struct word *x)
{
	if (x->certainty != CERTAIN)
		return false;
	if (n == 1 && *pattern == '*')
		return true;
	for (const char *p = pattern, *end = pattern + n; p < end;) {
		const char *bar = memchr(p, '|', (size_t)(end - p));
		size_t len = (size_t)((bar ? bar : end) - p);
		if (len == x->text_n && memcmp(p, x->text, len) == 0)
			return true;
		p += len + 1;
	}
	return false;
}

bool call_surely(const struct call *k, const char *names)
{
	return args_surely(walk_arena(k->w), k->rest, k->rest_count,
		k->program ? program_options(k->program) : "", names);
}

/* How many words of the row match; -1 when one does not, or when an option that the row asks for is
 * missing or excluded. */
static int row_matches(const struct call *k, const struct verb *row, const size_t *places, size_t n)
{
	int used = 0;
	for (const char *p = program_text + row->words; *p;) {
		const char *end = strchrnul(p, ' ');
		if ((size_t)used >= n || !word_matches(p, (size_t)(end - p), &k->rest[places[used]]))
			return -1;
		used++;
		p = *end ? end + 1 : end;
	}
	/* What makes a row of the harmless kind fit, or keeps one of the other kind from it, must be there for sure. */
	bool is_calm = tag_kind(row->tag) == FX_READ && !row->handler;
	if (row->needs &&
		!(is_calm ? call_surely(k, program_text + row->needs)
			  : args_find(k->rest, k->rest_count, program_text + row->needs)))
		return -1;
	if (row->without &&
		(is_calm ? args_find(k->rest, k->rest_count, program_text + row->without)
			 : call_surely(k, program_text + row->without)))
		return -1;
	return used;
}

/* A rehearsal of a change to the cloud only reads there. */
static enum tag dry_tag(enum tag t, unsigned flags)
{
	return flags & FXF_DRY_RUN && tag_kind(t) == FX_CLOUD ? TAG_REMOTE_READ : t;
}

/* The options by which most tools only say what they would do. */
static unsigned dry_flag(const struct call *k)
{
	return call_surely(k, "dry-run dryrun just-print") ? FXF_DRY_RUN : 0;
}

/* The effect of a row, or its handler with the words behind the verb. */
static void run_row(struct call *k, const struct verb *row, const size_t *places, size_t n, size_t used)
{
	if (row->handler) {
		struct call inner = *k;
		size_t from = used ? places[used - 1] + 1 : 0;
		inner.rest += from;
		inner.rest_count -= from;
		program_handle(row->handler, &inner);
		return;
	}
	unsigned flags = row->flags;
	if (call_surely(k, "help")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	flags |= dry_flag(k);
	const struct word *target = used < n ? &k->rest[places[used]] : n ? &k->rest[places[n - 1]] : NULL;
	/* The target is the word behind the verb: npm publish has none, and kubectl delete ns prod is
	 * about "ns prod". */
	struct word both;
	if (used == n && tag_kind(row->tag) == FX_PUBLISH)
		target = NULL;
	if (used + 1 < n && tag_kind(row->tag) == FX_CLOUD && places[used + 1] == places[used] + 1) {
		both = words_join(walk_arena(k->w), &k->rest[places[used]], 2);
		target = &both;
	}
	fx(k, dry_tag(row->tag, flags), target, flags);
}

/* The first row that matches speaks, so rows with more words or options stand above the general ones. */
bool run_rows(struct call *k)
{
	size_t places[6];
	size_t n = verb_words(k, program_options(k->program), ARRAY_SIZE(places), places);
	for (size_t i = 0; i < k->program->verb_count; i++) {
		const struct verb *row = &program_verbs[k->program->first_verb + i];
		int used = row_matches(k, row, places, n);
		if (used >= 0) {
			run_row(k, row, places, n, (size_t)used);
			return true;
		}
	}
	return false;
}

/* pip show drop, brew search purge: behind such a verb stands the name of a thing, not another verb. */
bool verb_only_shows(const struct word *x)
{
	return word_is_any(
		x, "show info search find list ls describe get view cat explain help why inspect doc man");
}

/* No row knows these words, and the program itself is harmless: then a destroying verb among them is
 * taken at its word. */
static bool names_destruction(struct call *k)
{
	enum effect_kind kind = tag_kind(k->program->tag);
	size_t places[3];
	if (kind != FX_READ && kind != FX_WRITE && kind != FX_UNKNOWN && k->program->tag != TAG_REMOTE_READ)
		return false;
	size_t n = verb_words(k, program_options(k->program), ARRAY_SIZE(places), places);
	for (size_t i = 0; i < n; i++) {
		const struct word *x = &k->rest[places[i]];
		if (verb_only_shows(x))
			return false;
		if (x->certainty == CERTAIN && verb_is_destroying(x->text, x->text_n))
			return !call_surely(k, "help dry-run");
	}
	return false;
}

/* Rows first, then help, then what the words say, and last the tag of the program itself. */
void run_verbs(struct call *k)
{
	const struct program *p = k->program;
	size_t place;
	if (run_rows(k))
		return;
	if (call_surely(k, "help")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	size_t n = verb_words(k, program_options(p), 1, &place);
	/* A word that is not known in the place of the verb could be any verb. */
	if (n && k->rest[place].certainty != CERTAIN)
		fx(k, TAG_DYNAMIC_OPTION, &k->rest[place], 0);
	else if (names_destruction(k))
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[place], 0);
	else
		fx(k, dry_tag(p->tag, dry_flag(k)), n ? &k->rest[place] : NULL, p->flags | dry_flag(k));
}

/* The program's own options must not be looked for again behind the verb, so a copy of the program
 * without them is used. */
void run_verbs_at(struct call *k, enum tag t)
{
	const struct program *was = k->program;
	struct program bare = *was;
	bare.options = 0;
	bare.tag = (uint16_t)t;
	k->program = &bare;
	run_verbs(k);
	k->program = was;
}

/* Compares the verb alone, the first part of "terminate-instances", the last of "apps:destroy", or the
 * first word of "TerminateInstances". */
bool verb_in(const char *list, const char *word, size_t n)
{
	if (list_has(list, word, n))
		return true;
	size_t part = strcspn(word, "-_");
	if (part < n && list_has(list, word, part))
		return true;
	/* apps:destroy: the last part is the verb. */
	const char *colon = memrchr(word, ':', n);
	if (colon)
		return verb_in(list, colon + 1, n - (size_t)(colon + 1 - word));
	/* TerminateInstances, deleteBucket: a capital ends the verb. */
	char low[16];
	size_t i = 0;
	for (; i < n && i < sizeof(low) - 1 && isalpha((unsigned char)word[i]); i++) {
		if (i && isupper((unsigned char)word[i]))
			break;
		low[i] = (char)tolower((unsigned char)word[i]);
	}
	return i < n && isupper((unsigned char)word[i]) && list_has(list, low, i);
}

/* Verbs of command lines that take something away for good. */
bool verb_is_destroying(const char *word, size_t n)
{
	static const char verbs[] =
		"delete destroy terminate remove rm rmi rb purge drop uninstall "
		"deregister wipe erase nuke del truncate "
		"flushall teardown unpublish yank deprovision decommission obliterate "
		"dropdb rmdir undeploy unregister shred "
		"zap expunge factory-reset rmr deleteall delete_all destroy_all dropall drop_all "
		"reset force_reset revert prune sql-drop rmpool remove-all delete-all drop-all wipe-all "
		"uncommit trash detonate";
	static const char last[] = "delete destroy remove drop purge wipe erase terminate uninstall";
	if (verb_in(verbs, word, n))
		return true;
	/* repo-delete, cluster_destroy */
	const char *dash = memrchr(word, '-', n), *line = memrchr(word, '_', n);
	const char *tail = dash > line ? dash : line;
	return tail && list_has(last, tail + 1, n - (size_t)(tail + 1 - word));
}

/* Verbs that only report. */
bool verb_is_reading(const char *word, size_t n)
{
	static const char verbs[] = "get list ls describe show status info view inspect help version search "
				    "find print cat head top logs log "
				    "diff history whoami explain query scan read check validate plan lint "
				    "count test preview tail watch wait "
				    "lookup head-object filter batch-get select estimate simulate verify "
				    "doctor env completion config-list ping "
				    "events api-resources api-versions cluster-info auth can-i dashboard "
				    "open about usage statistics stat du detect discover analyze decode "
				    "current active ip endpoint endpoints url outputs metrics exists";
	return verb_in(verbs, word, n);
}

bool verb_logs_in(const struct call *k, const size_t *places, size_t i)
{
	const struct word *x = &k->rest[places[i]];

	return (word_is_any(x, "login signin sign-in log-in") || word_starts(x, "login:")) &&
		(!i || word_is_any(&k->rest[places[i - 1]], "auth sso account user session"));
}
