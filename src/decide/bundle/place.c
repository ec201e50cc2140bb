/* place.c — what the engine says is wrong with a document, at the place in the file where that stands.
 *
 * The engine compiles documents, which have no lines.  Its errors name a member, a path ("$.budgets[0].limit") or a word: that is looked for in the tree as it was
 * written.  What is not found there has the place of the member that it is about, or none. */
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>

/* Where a person finds out what may stand in a member. */
static const char *fix_of(const char *member)
{
	static const struct {
		const char *member, *fix;
	} rows[] = {
#define MEMBER(name, reader, page) { #name, "docs/formats/" page " says what may stand here" },
#include "decide/checks.def"
#undef MEMBER
	};

	if (text_eq(member, "requires_gates"))
		return "docs/formats/policy-document.md has the names of gates";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (text_eq(rows[i].member, member))
			return rows[i].fix;
	return "docs/formats/policy-document.md says what may stand here";
}

/* ---- looking for it ---- */

struct spot {
	size_t at;
	const char *word;
};

static struct spot spot_of_member(struct reading *r, const struct json_member *m)
{
	return (struct spot){ key_at(r, m), m->name };
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name, with nothing around it that would make it another one; NULL: it is not there. */
static const char *find_word(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; n && (p = strstr(p, name)); p++)
		if ((p == text || !is_word_byte(p[-1])) && !is_word_byte(p[n]))
			return p;
	return NULL;
}

/* The member at the top that the text is about: the one with something in it that it names first. */
static const struct json_member *member_of(const struct json *tree, const char *text)
{
	const struct json_member *found = NULL;
	const char *first = NULL;

	json_each_member (m, tree) {
		const char *at = find_word(text, m->name);
		if (at && (m->value->n > 0 && !json_text(m->value)) && (!first || at < first)) {
			first = at;
			found = m;
		}
	}
	return found;
}

/* Does the path go on with this name? */
static bool goes_on(const char *path, const struct json_member *m)
{
	return path[0] == '.' && strncmp(path + 1, m->name, m->name_n) == 0 &&
		strchr(".[:", path[1 + m->name_n]);
}

/* As far as the path leads.  False: not one step. */
static bool walk(struct reading *r, const struct json *v, const char *path, struct spot *ret)
{
	bool is_there = false;

	for (bool is_on = true; v && is_on;) {
		is_on = false;
		json_each_member (m, v)
			if (goes_on(path, m)) {
				*ret = spot_of_member(r, m);
				path += 1 + m->name_n;
				v = m->value;
				is_on = is_there = true;
				break;
			}
		if (*path != '[' || !json_is(v, JSON_ARRAY))
			continue;
		char *end;
		const struct json *item = json_at(v, (size_t)strtoul(path + 1, &end, 10));
		if (!item || *end != ']')
			break;
		ret->at = item->at;
		path = end + 1;
		v = item;
		is_on = is_there = true;
	}
	const char *word = is_there ? scalar_text(r->a, v) : "";
	if (*word && *path == ':')
		*ret = (struct spot){ v->at, word };
	return is_there;
}

/* A member or a text of that name, wherever it stands below. */
static bool find_below(struct reading *r, const struct json *v, const char *word, struct spot *ret)
{
	if (json_is(v, JSON_STRING) && text_eq(scalar_text(r->a, v), word)) {
		*ret = (struct spot){ v->at, word };
		return true;
	}
	json_each (item, v)
		if (find_below(r, item, word, ret))
			return true;
	json_each_member (m, v) {
		if (text_eq(m->name, word)) {
			*ret = spot_of_member(r, m);
			return true;
		}
		if (find_below(r, m->value, word, ret))
			return true;
	}
	return false;
}

/* What stands in quotes, the first of it that is there. */
static bool find_quoted(struct reading *r, const struct json *v, const char *text, struct spot *ret)
{
	const char *end;

	for (const char *p = text; (p = strchr(p, '\'')); p = end + 1) {
		end = strchr(p + 1, '\'');
		if (!end)
			return false;
		const char *word = arena_strndup(r->a, p + 1, (size_t)(end - p - 1));
		if (*word && find_below(r, v, word, ret))
			return true;
	}
	return false;
}

/* ---- saying it ---- */

/* Of "section "x" $.a.b: type: expected ..." what a person needs beside the place. */
static const char *said(struct arena *a, const char *text, const char *path)
{
	static const char more[] = "additionalProperties: ";
	const char *rest = path ? strstr(path, ": ") : NULL;

	if (!rest)
		return text;
	rest += 2;
	if (text_starts(rest, more))
		return "there is no such member";
	const char *expected = strstr(rest, "expected ");
	return arena_strdup(a, expected ? expected : rest);
}

/* The object below with this id; NULL: there is none. */
static const struct json *object_of_id(const struct json *v, const char *id)
{
	const struct json *found = NULL;

	if (json_is(v, JSON_OBJECT) && text_eq(json_get_text(v, "id", ""), id))
		return v;
	json_each (item, v)
		if (!found)
			found = object_of_id(item, id);
	json_each_member (m, v)
		if (!found)
			found = object_of_id(m->value, id);
	return found;
}

/* "rule 'ID': ...": in that rule, and at its id where nothing else of it is named. */
static bool find_in_rule(struct reading *r, const struct json *tree, const char *text, struct spot *ret)
{
	static const char mark[] = "rule '";
	const char *p = strstr(text, mark), *end = p ? strchr(p + strlen(mark), '\'') : NULL;

	if (!end)
		return false;
	const char *id = arena_strndup(r->a, p + strlen(mark), (size_t)(end - p) - strlen(mark));
	const struct json *rule = *id ? object_of_id(tree, id) : NULL;
	if (rule && !find_quoted(r, rule, end + 1, ret))
		*ret = (struct spot){ json_get(rule, "id")->at, id };
	return rule != NULL;
}

/* As near as can be. */
static bool find(struct reading *r, const struct json *tree, const struct json_member *m, const char *text,
	const char *path, struct spot *ret)
{
	if (path && (walk(r, tree, path, ret) || (m && walk(r, m->value, path, ret))))
		return true;
	if (find_in_rule(r, tree, text, ret) || (m && find_quoted(r, m->value, text, ret)) ||
		find_quoted(r, tree, text, ret))
		return true;
	if (m)
		*ret = spot_of_member(r, m);
	return m != NULL;
}

int policy_compile_error(struct arena *a, struct policy_reading *from, struct err *e)
{
	const struct policy_input in = { .text = from->text, .name = from->file };
	struct reading r = { .a = a, .in = &in, .problems = &from->problems };
	const char *text =
		arena_strdup(a, text_starts(e->text, "policy: ") ? e->text + strlen("policy: ") : e->text);
	const char *code = arena_strdup(a, e->code), *path = strstr(text, "$.");
	const struct json_member *m = member_of(from->source, text);
	struct spot spot = { 0, "" };

	if (find(&r, from->source, m, text, path ? path + 1 : NULL, &spot))
		problem_at(&r, POLICY_ERROR, code, spot.at, spot.word, fix_of(m ? m->name : ""), "%s",
			said(a, text, path));
	else
		problem_add(a, &from->problems,
			&(struct policy_problem){
				.code = code, .file = from->file, .word = "", .text = text, .fix = "" });
	return err_set(
		e, e->rc, code, "%s", policy_problem_line(a, &from->problems.items[from->problems.n - 1]));
}
