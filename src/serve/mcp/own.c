/* own.c — Helm's own tools: commands that only look, as their rows in the command table describe them.
 *
 * The table lies in the other program, which gave it to us when it started us.  A call goes the way of every call; then that program is run with
 * the words of the command.  Nothing here answers a question or changes how anything is governed: such commands are no tools. */
#include "serve/mcp/mcp.h"

#include "base/proc.h"
#include "base/text.h"

#include <string.h>

enum { OUTPUT_MOST = 4 << 20, TIMEOUT_MS = 60000, WORDS_MOST = 256 };

struct json *own_tools(struct gateway *g, struct arena *a)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (tool, json_get(g->o, "own_tools")) {
		struct json *one = json_copy(a, json_get(tool, "definition"));
		json_push(a, list, one);
	}
	return list;
}

struct json *own_row(struct gateway *g, struct arena *a)
{
	struct json *row = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_OBJECT),
		    *list = own_tools(g, a);

	json_sets(a, row, "state", "approved");
	json_setb(a, row, "own", true);
	json_setb(a, row, "trusted", true);
	json_sets(a, row, "launch_sha256", "own");
	json_seti(a, row, "result_kb", OUTPUT_MOST / 1024);
	json_each (tool, list) {
		struct json *one = json_new(a, JSON_OBJECT);
		struct mcp_pin pin;
		mcp_pin(a, tool, &pin);
		json_set(a, one, "definition", tool);
		json_sets(a, one, "schema_sha256", pin.schema);
		json_sets(a, one, "text_sha256", pin.text);
		json_sets(a, one, "effect", "read");
		json_set(a, tools, json_get_text(tool, "name", ""), one);
	}
	json_set(a, row, "tools", tools);
	return row;
}

static const struct json *find(const struct gateway *g, const char *name)
{
	json_each (tool, json_get(g->o, "own_tools"))
		if (text_eq(json_get_text(json_get(tool, "definition"), "name", ""), name))
			return tool;
	return NULL;
}

static void add_option(struct arena *a, struct json *words, const char *name, const struct json *v)
{
	struct buf number;

	if (json_is(v, JSON_TRUE))
		json_pushs(a, words, arena_printf(a, "--%s", name));
	else if (json_text(v))
		json_pushs(a, words, arena_printf(a, "--%s=%s", name, json_text(v)));
	else if (json_is(v, JSON_NUMBER)) {
		buf_init(&number, a);
		json_write(&number, v, 0);
		json_pushs(a, words, arena_printf(a, "--%s=%s", name, number.p));
	}
	json_each (one, v)
		add_option(a, words, name, one);
}

/* A word that looks like an option is none of those that the schema has. */
static int make_words(
	struct flight *f, const struct json *tool, const struct json *args, struct json **ret, struct err *e)
{
	struct arena *a = &f->a;
	struct json *words = json_new(a, JSON_ARRAY);

	json_pushs(a, words, json_get_text(f->g->o, "program", "helm"));
	json_each (word, json_get(tool, "words"))
		json_pushs(a, words, json_text(word));
	json_pushs(a, words, "--workspace");
	json_pushs(a, words, f->g->server->ws->root);
	json_pushs(a, words, "--json");
	json_each_member (m, args)
		if (!text_eq(m->name, "args") && !text_eq(m->name, "command"))
			add_option(a, words, m->name, m->value);
	json_each (one, json_get(args, "args")) {
		if (!json_text(one) || json_text(one)[0] == '-')
			return err_set(
				e, E_INPUT, "MCP_OWN", "an argument is a text that does not begin with -");
		json_pushs(a, words, json_text(one));
	}
	if (json_get(args, "command")) {
		json_pushs(a, words, "--");
		json_each (one, json_get(args, "command"))
			json_pushs(a, words, json_text(one) ? json_text(one) : "");
	}
	*ret = words;
	return words->n <= WORDS_MOST ? OK : err_set(e, E_LIMIT, "MCP_OWN", "these are too many words");
}

static struct json *result_of(struct arena *a, const struct proc_output *said)
{
	const char *text = said->out.n ? (const char *)said->out.p : (const char *)said->err.p;
	struct json *result = result_text(a, text, false), *structured = json_new(a, JSON_OBJECT), *doc;
	bool is_json = said->out.n && json_parse(a, said->out, "output", NULL, &doc, NULL) == OK;

	json_seti(a, structured, "exit_code", said->end.code);
	json_set(a, structured, "output", is_json ? doc : json_string(a, text));
	json_set(a, result, "structuredContent", structured);
	return result;
}

int own_run(struct flight *f, const char *name, const struct json *args, struct err *e)
{
	const struct json *tool = find(f->g, name);
	struct proc_output said = { 0 };
	struct json *words;
	int rc = tool ? make_words(f, tool, args, &words, e)
		      : err_set(e, E_MISSING, "MCP_OWN", "there is no such tool");

	if (rc)
		return rc;
	const char **argv = arena_zalloc(&f->a, (size_t)words->n + 1, sizeof(*argv));
	for (size_t i = 0; i < words->n; i++)
		argv[i] = json_text(words->items[i]);
	const struct proc_spec spec = PROC_SPEC(argv);
	struct sys *s = f->g->server->sys;
	rc = proc_capture(s, &f->a, &spec, (struct bytes){ 0 }, OUTPUT_MOST, TIMEOUT_MS, &said, e);
	if (rc)
		return rc;
	f->result = result_of(&f->a, &said);
	f->result_bytes = said.out.n;
	return OK;
}
