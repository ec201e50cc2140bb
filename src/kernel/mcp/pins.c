/* pins.c — what a tool is pinned to, and what is not as it was.
 *
 * A model reads the name, the description and the schemas of a tool, a client its title, annotations and icons; all of it decides what is
 * called and what a person is shown.  So all of it is pinned, in two hashes: what is sent (schemas), and what is said. */
#include "kernel/mcp/mcp.h"

#include "base/embed.h"
#include "base/text.h"
#include "decide/authority/authority.h"

#include <string.h>

enum { PARTS_MOST = 64, DEEPEST = 12 };

static bool is_schema(const char *name)
{
	return text_eq(name, "name") || text_eq(name, "inputSchema") || text_eq(name, "outputSchema");
}

void mcp_pin(struct arena *a, const struct json *tool, struct mcp_pin *ret)
{
	struct json *schema = json_new(a, JSON_OBJECT), *text = json_new(a, JSON_OBJECT);

	if (json_get(tool, "inputSchema"))
		json_set(a, schema, "schema", json_get(tool, "inputSchema"));
	if (json_get(tool, "outputSchema"))
		json_set(a, schema, "output_schema", json_get(tool, "outputSchema"));
	json_each_member (m, tool)
		if (!is_schema(m->name))
			json_set(a, text, m->name, m->value);
	ret->schema = mcp_schema_hash(a, json_get_text(tool, "name", ""), schema);
	ret->text = json_sha256(a, text);
}

const char *mcp_set_sha256(struct arena *a, const struct json *tools)
{
	struct json *set = json_new(a, JSON_OBJECT);

	json_each (tool, tools) {
		struct mcp_pin pin;
		mcp_pin(a, tool, &pin);
		json_sets(a, set, json_get_text(tool, "name", ""),
			arena_printf(a, "%s %s", pin.schema ? pin.schema : "", pin.text));
	}
	return json_sha256(a, set);
}

const struct json *mcp_tool_in(const struct json *tools, const char *name)
{
	json_each (tool, tools)
		if (text_eq(json_get_text(tool, "name", ""), name))
			return tool;
	return NULL;
}

/* Of servers that many people use: what their tools do, whatever they say. */
static const char *known_effect(struct arena *a, const char *server, const char *tool)
{
	struct bytes text;
	struct json *doc;

	if (!embed_find("share/mcp/effects.json", &text) ||
		json_parse(a, text, "share/mcp/effects.json", NULL, &doc, NULL))
		return NULL;
	const char *word = json_get_text(json_get(json_get(doc, "servers"), server), tool, NULL);
	return !word ? NULL : text_eq(word, "read") ? "read" : text_eq(word, "write") ? "write" : "destroy";
}

const char *mcp_effect(const char *server, const struct json *tool)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *says = json_get(tool, "annotations");
	const char *known = known_effect(&a, server, json_get_text(tool, "name", ""));

	if (known)
		return known;
	if (json_get_bool(says, "readOnlyHint", false) && !json_get_bool(says, "destructiveHint", false))
		return "read";
	return json_get_bool(says, "destructiveHint", false) ? "destroy" : "write";
}

/* ---- differences ---- */

static const char *shown(struct arena *a, const struct json *v)
{
	struct buf text;

	if (!v)
		return NULL;
	if (json_text(v))
		return mcp_visible(a, json_text(v), v->n);
	buf_init(&text, a);
	json_write(&text, v, 0);
	return mcp_visible(a, text.p, text.n);
}

static void compare(struct arena *a, const char *at, const struct json *was, const struct json *now,
	unsigned depth, struct json *parts)
{
	struct json *one;

	if (parts->n >= PARTS_MOST || (was && now && json_eq(was, now)))
		return;
	if (json_is(was, JSON_OBJECT) && json_is(now, JSON_OBJECT) && depth < DEEPEST) {
		json_each_member (m, was)
			compare(a, arena_printf(a, "%s%s%s", at, *at ? "." : "", m->name), m->value,
				json_get(now, m->name), depth + 1, parts);
		json_each_member (m, now)
			if (!json_get(was, m->name))
				compare(a, arena_printf(a, "%s%s%s", at, *at ? "." : "", m->name), NULL,
					m->value, depth + 1, parts);
		return;
	}
	one = json_new(a, JSON_OBJECT);
	json_sets(a, one, "at", text_safe(a, at, strlen(at), false));
	json_sets(a, one, "was", shown(a, was));
	json_sets(a, one, "now", shown(a, now));
	json_push(a, parts, one);
}

static struct json *drift_row(struct arena *a, const char *tool, const char *change, const char *severity)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "tool", tool);
	json_sets(a, row, "change", change);
	json_sets(a, row, "severity", severity);
	return row;
}

static struct json *changed_row(
	struct arena *a, const char *name, const struct json *was, const struct json *now)
{
	struct mcp_pin old, new;
	struct json *parts = json_new(a, JSON_ARRAY), *row;

	mcp_pin(a, was, &old);
	mcp_pin(a, now, &new);
	bool schema = !old.schema || !new.schema || !text_eq(old.schema, new.schema);
	bool text = !text_eq(old.text, new.text);
	if (!schema && !text)
		return NULL;
	row = drift_row(a, name,
		schema && text ? "BOTH_CHANGED"
			: text ? "DESCRIPTION_CHANGED"
			       : "SCHEMA_CHANGED",
		schema && text ? "critical"
			: text ? "medium"
			       : "high");
	compare(a, "", was, now, 0, parts);
	json_set(a, row, "parts", parts);
	return row;
}

struct json *mcp_drift(struct arena *a, const struct json *row, const struct json *seen)
{
	struct json *list = json_new(a, JSON_ARRAY);
	const struct json *pinned = json_get(row, "tools");

	json_each_member (m, pinned) {
		const struct json *now = mcp_tool_in(seen, m->name);
		struct json *one = now ? changed_row(a, m->name, json_get(m->value, "definition"), now)
				       : drift_row(a, m->name, "vanished", "medium");
		if (one)
			json_push(a, list, one);
	}
	json_each (tool, seen)
		if (!json_get(pinned, json_get_text(tool, "name", "")))
			json_push(a, list, drift_row(a, json_get_text(tool, "name", ""), "added", "medium"));
	return list;
}

const char *mcp_state_text(
	struct arena *a, const struct json *row, const struct json *offered, int64_t now_us)
{
	const char *state = mcp_state(row, now_us);
	const uint32_t findings = offered ? mcp_inspect_tools(a, offered)->n : 0;
	bool is_changed = false;

	json_each (one, offered ? mcp_drift(a, row, offered) : NULL)
		is_changed |= !text_eq(json_get_text(one, "change", ""), "added");
	return arena_printf(a, "%s%s%s", state,
		is_changed && text_eq(state, "approved") ? ", but changed since" : "",
		findings ? arena_printf(a, ", with %s", text_count(a, findings, "finding")) : "");
}
