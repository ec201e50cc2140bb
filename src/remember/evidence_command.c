/* evidence_command.c — a list of beginnings of commands, and what it permits. */
#include "remember/evidence_command.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { PREFIXES_MOST = 200, WORDS_MOST = 64, COMMANDS_MOST = 64, SECONDS_MOST = 3600, CHARS_MOST = 1 << 20 };

/* ---- the file ---- */

static int bad(struct err *e, const char *member, const char *want)
{
	return err_set(e, E_INPUT, "EVIDENCE_COMMANDS", EVIDENCE_FILE ": %s must be %s", member, want);
}

static bool is_words(const struct json *list)
{
	if (!json_is(list, JSON_ARRAY) || !list->n || list->n > WORDS_MOST)
		return false;
	json_each (one, list)
		if (!json_text(one) || !json_text(one)[0])
			return false;
	return true;
}

static bool is_prefixes(const struct json *list)
{
	if (!json_is(list, JSON_ARRAY) || list->n > PREFIXES_MOST)
		return false;
	json_each (one, list)
		if (!is_words(one))
			return false;
	return true;
}

static int read_limit(const struct json *doc, const char *member, int64_t most, int64_t shipped, int64_t *ret,
	struct err *e)
{
	const struct json *limits = json_get(doc, "limits");

	*ret = json_get_int(limits, member, json_get(limits, member) ? -1 : shipped);
	if ((limits && !json_is(limits, JSON_OBJECT)) || *ret < 1 || *ret > most)
		return err_set(e, E_INPUT, "EVIDENCE_COMMANDS",
			EVIDENCE_FILE ": limits.%s must be a number from 1 to %lld", member, (long long)most);
	return OK;
}

static int read_prefixes(
	struct arena *a, const struct json *doc, const char *member, const struct json **ret, struct err *e)
{
	const struct json *list = json_get(doc, member);

	if (list && !is_prefixes(list))
		return bad(e, member, "a list of lists of words");
	*ret = list ? list : json_new(a, JSON_ARRAY);
	return OK;
}

static int read_repositories(struct arena *a, const struct json *doc, const struct json **ret, struct err *e)
{
	const struct json *list = json_get(doc, "repository_prefixes");

	if (list && (!json_is(list, JSON_ARRAY) || list->n > PREFIXES_MOST))
		return bad(e, "repository_prefixes", "a list of {root, prefixes}");
	json_each (one, list)
		if (!json_get_text(one, "root", "")[0] || !is_prefixes(json_get(one, "prefixes")))
			return bad(e, "repository_prefixes", "a list of {root, prefixes}");
	*ret = list ? list : json_new(a, JSON_ARRAY);
	return OK;
}

int evidence_rules_parse(struct arena *a, struct bytes text, struct evidence_rules *ret, struct err *e)
{
	struct evidence_rules r = { 0 };
	struct json *doc;
	int rc = json_parse(a, text, EVIDENCE_FILE, NULL, &doc, e);

	if (rc)
		return rc;
	if (!json_is(doc, JSON_OBJECT))
		return bad(e, "it", "an object");
	if (json_get(doc, "schema_version") && json_get_int(doc, "schema_version", 0) != 1)
		return bad(e, "schema_version", "1");
	if (read_limit(doc, "max_commands", COMMANDS_MOST, 8, &r.max_commands, e) ||
		read_limit(doc, "timeout_seconds", SECONDS_MOST, 300, &r.timeout_seconds, e) ||
		read_limit(doc, "output_chars", CHARS_MOST, 12000, &r.output_chars, e) ||
		read_prefixes(a, doc, "allowed_prefixes", &r.allowed, e) ||
		read_prefixes(a, doc, "service_readback_prefixes", &r.readback, e) ||
		read_repositories(a, doc, &r.repository, e))
		return E_INPUT;
	*ret = r;
	return OK;
}

const struct evidence_rules *evidence_rules_shipped(struct arena *a)
{
	struct evidence_rules *r = arena_zalloc(a, 1, sizeof(*r));
	struct bytes text;

	if (!embed_find("share/evidence_commands.json", &text) || evidence_rules_parse(a, text, r, NULL))
		BUG("share/evidence_commands.json");
	return r;
}

static int64_t less(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

struct evidence_rules evidence_rules_both(
	const struct evidence_rules *own, const struct evidence_rules *within)
{
	struct evidence_rules r = *own;

	r.max_commands = less(own->max_commands, within->max_commands);
	r.timeout_seconds = less(own->timeout_seconds, within->timeout_seconds);
	r.output_chars = less(own->output_chars, within->output_chars);
	r.within = within;
	return r;
}

/* ---- words ---- */

/* python, python3.11: the same program for whoever writes lists. */
static const char *plain_program(const char *word)
{
	const char *name = path_base(word), *rest = name + strlen("python");

	if (!text_starts(name, "python"))
		return name;
	return rest[strspn(rest, "0123456789.")] ? name : "python3";
}

/* What a shell would take for more than a word: nobody means it, so whoever brings it means something else. */
static bool is_plain(const char *word)
{
	return !word[strcspn(word, ";&|`<>\r\n")] && !strstr(word, "$(") && !strstr(word, "${");
}

static bool begins(const struct json *argv, const struct json *prefix)
{
	if (argv->n < prefix->n)
		return false;
	for (size_t i = 0; i < prefix->n; i++) {
		const char *want = json_text(prefix->items[i]), *have = json_text(argv->items[i]);
		if (!text_eq(i ? want : plain_program(want), i ? have : plain_program(have)))
			return false;
	}
	return true;
}

static const struct json *find(const struct json *prefixes, const struct json *argv)
{
	json_each (one, prefixes)
		if (begins(argv, one))
			return one;
	return NULL;
}

static const struct json *find_all(
	struct arena *a, const struct evidence_rules *r, const struct evidence_question *q)
{
	if (r->within && !find_all(a, r->within, q))
		return NULL;
	const struct json *found = find(q->is_readback ? r->readback : r->allowed, q->argv);
	json_each (one, q->is_readback ? NULL : r->repository) {
		const char *root = path_clean(a, path_join(a, q->workspace, json_get_text(one, "root", "")));
		if (!found && (text_eq(q->tree, root) || path_is_below(q->tree, root)))
			found = find(json_get(one, "prefixes"), q->argv);
	}
	return found;
}

const struct json *evidence_prefix(struct arena *a, const struct evidence_rules *rules,
	const struct evidence_question *q, const char **ret_why)
{
	if (!is_words(q->argv)) {
		*ret_why = arena_printf(a, "a command is a list of 1 to %d words", WORDS_MOST);
		return NULL;
	}
	json_each (word, q->argv)
		if (!is_plain(json_text(word))) {
			*ret_why = "a word has a character of the shell";
			return NULL;
		}
	const struct json *found = find_all(a, rules, q);
	if (!found)
		*ret_why = q->is_readback ? "it is no readback command that a person accepted"
					  : "it is not on the list of evidence commands";
	return found;
}

const char *evidence_kind(const struct json *prefix)
{
	static const struct {
		const char *word, *kind;
	} kinds[] = { { "test", "test" }, { "pytest", "test" }, { "unittest", "test" }, { "build", "build" },
		{ "lint", "static_check" }, { "typecheck", "static_check" }, { "mypy", "static_check" },
		{ "ruff", "static_check" }, { "--check", "static_check" } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		json_each (word, prefix)
			if (text_eq(json_text(word), kinds[i].word))
				return kinds[i].kind;
	return "verification";
}

/* ---- what is new ---- */

static const char *joined(struct arena *a, const struct json *words)
{
	struct buf text;

	buf_init(&text, a);
	json_each (one, words)
		buf_addf(&text, "%s%s", text.n ? " " : "", json_text(one));
	return text.p;
}

static void say_new(struct arena *a, struct json *list, const struct json *prefixes, const struct json *known,
	const char *what)
{
	json_each (one, prefixes)
		if (!find(known, one))
			json_push(a, list, json_stringf(a, "evidence: '%s' %s", joined(a, one), what));
}

struct json *evidence_rules_loosen(
	struct arena *a, const struct evidence_rules *own, const struct evidence_rules *than)
{
	struct json *list = json_new(a, JSON_ARRAY);

	say_new(a, list, own->allowed, than->allowed, "shows that work was done");
	say_new(a, list, own->readback, than->readback, "shows what a service has");
	json_each (one, own->repository)
		say_new(a, list, json_get(one, "prefixes"), than->allowed,
			arena_printf(a, "shows that work was done in %s", json_get_text(one, "root", "")));
	if (own->max_commands > than->max_commands || own->timeout_seconds > than->timeout_seconds ||
		own->output_chars > than->output_chars)
		json_pushs(a, list, "evidence: more or longer commands than shipped");
	return list;
}
