/* serve.c — a serve policy (TOML) and the reference pack it names (JSON): actions that are allowed, each when its requirements are met.
 *
 * What the pack does not list, or lists as disabled, no rule covers. */
#include "decide/bundle/parts.h"

#include <string.h>

/* ---- the pack ---- */

/* The condition of an action as a set: that of the file, with the expression as one more requirement. */
static struct json *set_of(struct reading *r, const struct json *row, const char *name, const char *action)
{
	struct json *made = json_new(r->a, JSON_OBJECT), *list = json_new(r->a, JSON_ARRAY), *leaf;
	const struct json *set = json_get(row, "requirement_set"), *expression = json_get(row, "expression");
	const char *id = arena_printf(r->a, "%s:%s", name, action);

	if (set && read_requirement_set(r, set, action)) {
		struct json *given = requirement_set_made(r, set);
		id = json_get_text(given, "id", id);
		if (!expression)
			return given;
		leaf = json_new(r->a, JSON_ARRAY);
		json_push(r->a, leaf, given);
		json_set(r->a, made, "children", leaf);
	}
	if (expression && take_expression(r, expression)) {
		leaf = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, leaf, "id", arena_printf(r->a, "%s:expression", id));
		json_sets(r->a, leaf, "expression", json_text(expression));
		json_push(r->a, list, leaf);
	}
	json_sets(r->a, made, "id", id);
	json_sets(r->a, made, "logic", "AND");
	json_set(r->a, made, "requirements", list);
	if (!json_get(made, "children"))
		json_set(r->a, made, "children", json_new(r->a, JSON_ARRAY));
	json_sets(r->a, made, "origin", origin_at(r, row->at));
	return made;
}

static void read_action(struct reading *r, const struct json *row, const char *name, struct json *graph)
{
	const struct json *enabled = json_get(row, "enabled");
	const char *action;

	r->rule = NULL;
	if (!take_object(r, row, "an action", "REFERENCE_PACK"))
		return;
	r->rule = action = take_text(r, row, "action", "REFERENCE_PACK");
	if (enabled && !json_is_bool(enabled)) {
		problem_at(r, POLICY_ERROR, "REFERENCE_PACK", enabled->at, scalar_text(r->a, enabled),
			"write true or false", "'enabled' is no truth value");
		return;
	}
	if (json_get(row, "command_patterns"))
		problem_at(r, POLICY_WARNING, "REFERENCE_PACK", json_get(row, "command_patterns")->at,
			"command_patterns", "a rule over effects says what a command may do",
			"patterns over commands decide nothing here");
	if (!*action || json_is(enabled, JSON_FALSE))
		return;
	if (json_get(graph, action)) {
		problem_at(r, POLICY_ERROR, "POLICY_DUPLICATE", row->at, action, "keep one of them",
			"the action '%s' stands twice in the pack", action);
		return;
	}
	json_set(r->a, graph, action, set_of(r, row, name, action));
}

/* The pack's tree is r->tree. */
static void read_pack(struct reading *r, const char *name)
{
	static const char *const lists[] = { "runtime_actions", "actions" };
	struct json *graph = json_new(r->a, JSON_OBJECT);
	const struct json *version = json_get(r->tree, "version");

	(void)take_text(r, r->tree, "pack_id", "REFERENCE_PACK");
	(void)take_text(r, r->tree, "version", "REFERENCE_PACK");
	make_document(r, name, scalar_text(r->a, version), "closed");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct json *rows_given = take_list(r, r->tree, lists[i], "REFERENCE_PACK");
		json_each (row, rows_given)
			read_action(r, row, name, graph);
	}
	r->rule = NULL;
	if (graph->n == 0)
		problem_at(r, POLICY_WARNING, "POLICY_ALLOWS_NOTHING", r->tree->at, "",
			"add 'actions', or use another policy",
			"no action is enabled: every effect is NO_POLICY_DEFINED");
	json_set(r->a, r->document, "requirements", graph);
}

void read_actions(struct reading *r)
{
	read_pack(r, take_text(r, r->tree, "pack_id", "REFERENCE_PACK"));
}

/* ---- the wrapper ---- */

static void check_server(struct reading *r)
{
	const struct json *server = json_get(r->tree, "server"), *receipts = json_get(r->tree, "receipts"),
			  *port = json_get(server, "port");
	int64_t number = 0;

	if (take_object(r, server, "'[server]'", "SERVE_POLICY")) {
		(void)take_text(r, server, "bind", "SERVE_POLICY");
		(void)TAKE_ONLY(r, server, "POLICY_MEMBER", "bind", "port");
		if (!json_int(port, &number) || number < 1 || number > 65535)
			problem_at(r, POLICY_ERROR, "SERVE_POLICY", port ? port->at : server->at,
				scalar_text(r->a, port), "write a number from 1 to 65535",
				"'port' is no port");
	}
	if (take_object(r, receipts, "'[receipts]'", "SERVE_POLICY")) {
		(void)take_text(r, receipts, "store", "SERVE_POLICY");
		(void)take_text(r, receipts, "path", "SERVE_POLICY");
		(void)TAKE_ONLY(r, receipts, "POLICY_MEMBER", "store", "path");
	}
}

/* Relative, and not upwards: the pack lies with its policy. */
static bool is_beside(const char *path)
{
	struct bytes rest = bytes_of(path);

	if (*path == '/')
		return false;
	while (rest.p) {
		if (bytes_is(text_cut(&rest, '/'), ".."))
			return false;
	}
	return true;
}

/* Problems of the pack have its own name and places: it is a reading of its own, into the same list. */
static void read_named(struct reading *r, const char *name, const char *path)
{
	struct policy_input in = *r->in;
	struct reading pack = { .a = r->a, .in = &in, .ret = r->ret, .problems = r->problems };
	const char *slash = strrchr(path, '/');
	struct err why = { 0 };

	in.name = path;
	pack.file = slash ? slash + 1 : path;
	if (!in.fetch)
		(void)err_set(&why, E_INPUT, "SERVE_POLICY", "it cannot be read from here");
	if (!in.fetch || in.fetch(in.fetch_ctx, path, &in.text, &why) ||
		json_parse(r->a, in.text, path, NULL, &pack.tree, &why)) {
		problem_at(r, POLICY_ERROR, arena_strdup(r->a, why.code),
			json_get(r->tree, "reference_pack")->at, path,
			"the pack is a JSON file beside the policy", "the reference pack cannot be used: %s",
			why.text);
		return;
	}
	if (take_object(&pack, pack.tree, "a reference pack", "REFERENCE_PACK"))
		read_pack(&pack, name);
	r->document = pack.document;
}

void read_serve(struct reading *r)
{
	const char *name = take_text(r, r->tree, "name", "SERVE_POLICY"), *path;

	(void)take_text(r, r->tree, "profile", "SERVE_POLICY");
	path = take_text(r, r->tree, "reference_pack", "SERVE_POLICY");
	(void)TAKE_ONLY(
		r, r->tree, "POLICY_MEMBER", "name", "profile", "reference_pack", "server", "receipts");
	check_server(r);
	if (*path && !is_beside(path))
		problem_at(r, POLICY_ERROR, "SERVE_POLICY", json_get(r->tree, "reference_pack")->at, path,
			"write a relative path without '..'",
			"the reference pack must lie beside the policy");
	else if (*path)
		read_named(r, name, path);
}
