/* results.c — what a server answered, before it is passed on: how large it is, whether it is what the tool promised, what it says to the model, and
 * what secrets stand in it.
 *
 * Findings are told, in the receipt and beside the result; nothing is rewritten in silence.  Secrets are taken out where a person wants that for a
 * server, and then the result says so. */
#include "serve/mcp/mcp.h"

#include "base/doc.h"
#include "base/schema.h"
#include "base/text.h"
#include "privacy/privacy.h"

#include <string.h>

enum { DEEPEST = 64, PROGRESS_MOST = 1024, LOG_MOST = 4096 };

struct json *result_text(struct arena *a, const char *text, bool is_error)
{
	struct json *result = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "type", "text");
	json_sets(a, one, "text", text);
	json_push(a, list, one);
	json_set(a, result, "content", list);
	json_setb(a, result, "isError", is_error);
	return result;
}

/* ---- what it promised ---- */

/* A part of a type that is not known passes as it is. */
static bool is_content(const struct json *one)
{
	const char *type = json_get_text(one, "type", NULL);

	if (!json_is(one, JSON_OBJECT) || !type)
		return false;
	/* Text of a binary file may hold a NUL: it is JSON like any other, and no program here ends it there. */
	if (text_eq(type, "text"))
		return json_is(json_get(one, "text"), JSON_STRING);
	if (text_eq(type, "image") || text_eq(type, "audio"))
		return json_get_text(one, "data", NULL) && json_get_text(one, "mimeType", NULL);
	return true;
}

static bool is_shape(const struct json *result)
{
	const struct json *content = json_get(result, "content"), *failed = json_get(result, "isError"),
			  *structured = json_get(result, "structuredContent");

	if (!json_is(result, JSON_OBJECT) || (content && !json_is(content, JSON_ARRAY)) ||
		(failed && !json_is_bool(failed)) || (structured && !json_is(structured, JSON_OBJECT)))
		return false;
	json_each (one, content)
		if (!is_content(one))
			return false;
	return true;
}

/* In the era without sessions a server asks by a result that is none. */
static bool is_unfinished(const struct json *result)
{
	return !text_eq(json_get_text(result, "resultType", "complete"), "complete") ||
		json_get(result, "inputRequests");
}

static bool keeps_promise(struct flight *f, const struct json *tool, struct err *e)
{
	const struct json *promised = json_get(tool, "outputSchema"),
			  *given = json_get(f->result, "structuredContent");
	struct schema *compiled;

	if (!promised || json_get_bool(f->result, "isError", false))
		return true;
	if (!given) {
		err_set(e, E_INPUT, "MCP_RESULT", "structuredContent is missing");
		return false;
	}
	/* A schema that is not understood can neither be kept nor broken; the result is labelled below. */
	if (schema_compile(&f->a, promised, "outputSchema", &compiled, NULL))
		return true;
	return schema_check(compiled, given, e) == OK;
}

/* ---- what it says ---- */

/* Bytes that nobody reads as text. */
static bool is_blob(const struct json *of, const char *name)
{
	return text_eq(name, "blob") || (text_eq(name, "data") && json_get(of, "mimeType"));
}

/* Every text in it, wherever it stands: how many secrets; what speaks to the model is added to `said`. */
static size_t look_through(struct arena *a, const struct json *v, unsigned depth, struct json *said)
{
	const struct privacy_options options = { .labels = 1u << PRIVACY_SECRET, .is_strict = true };
	struct privacy_finding *found;
	size_t n = 0;

	if (!v || depth > DEEPEST)
		return 0;
	if (v->type == JSON_STRING) {
		n += privacy_scan(a, v->text, v->n, &options, &found);
		mcp_inspect_text(a, v->text, v->n, said);
	}
	json_each (one, v)
		n += look_through(a, one, depth + 1, said);
	json_each_member (m, v)
		if (!is_blob(v, m->name))
			n += look_through(a, m->value, depth + 1, said);
	return n;
}

static struct json *grave_ones(struct arena *a, const struct json *said)
{
	struct json *names = json_new(a, JSON_ARRAY);

	json_each (one, said)
		if (mcp_severity(json_get_text(one, "severity", "")) >= mcp_severity("high"))
			json_pushs(a, names, json_get_text(one, "finding", ""));
	return names;
}

/* Beside a result in its _meta, beside an error in its data. */
static void tell_findings(struct flight *f, const struct json *row, struct json *about)
{
	struct arena *a = &f->a;
	struct json *answer = f->result ? f->result : f->error, *said = json_new(a, JSON_ARRAY);
	size_t secrets = look_through(a, answer, 0, said);
	struct json *names = grave_ones(a, said), *told = json_new(a, JSON_OBJECT);

	if (f->error)
		(void)json_remove(f->error, "data"); /* only its code and its message are passed on */
	if (!names->n && !secrets)
		return;
	if (names->n) {
		json_set(a, told, "instructions", names);
		json_set(a, about, "result_findings", json_copy(a, names));
	}
	if (secrets) {
		json_seti(a, told, "secrets", (int64_t)secrets);
		json_seti(a, about, "result_secrets", (int64_t)secrets);
	}
	if (secrets && json_get_bool(row, "redact", false)) {
		privacy_redact_json(a, answer);
		json_setb(a, told, "redacted", true);
		json_sets(a, about, "redacted", "yes");
	}
	json_set(a, doc_part(a, answer, f->result ? "_meta" : "data"), "helm/findings", told);
}

struct json *progress_check(struct arena *a, const struct json *row, const struct json *params)
{
	static const char *const numbers[] = { "progress", "total" };
	struct json *told = json_new(a, JSON_OBJECT), *said = json_new(a, JSON_ARRAY),
		    *text = json_get(params, "message");

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (json_is(json_get(params, numbers[i]), JSON_NUMBER))
			json_set(a, told, numbers[i], json_copy(a, json_get(params, numbers[i])));
	if (!text || text->type != JSON_STRING || text->n > PROGRESS_MOST)
		return told;
	(void)look_through(a, text, 0, said);
	if (grave_ones(a, said)->n)
		return told;
	json_set(a, told, "message", json_copy(a, text));
	if (json_get_bool(row, "redact", false))
		privacy_redact_json(a, told);
	return told;
}

size_t texts_check(struct arena *a, const struct json *v, struct json **ret_grave)
{
	struct json *said = json_new(a, JSON_ARRAY);
	size_t n = look_through(a, v, 0, said);

	*ret_grave = grave_ones(a, said);
	return n;
}

struct json *told_check(struct arena *a, const struct json *row, const struct json *params)
{
	struct json *told = json_new(a, JSON_OBJECT), *grave;
	struct buf text;

	buf_init(&text, a);
	json_write(&text, json_get(params, "data"), 0);
	if (!json_get(params, "data") || text.n > LOG_MOST)
		return NULL;
	(void)texts_check(a, params, &grave);
	if (grave->n)
		return NULL;
	json_set(a, told, "data", json_copy(a, json_get(params, "data")));
	if (json_get_bool(row, "redact", false))
		privacy_redact_json(a, told);
	return told;
}

static void hold_back(
	struct flight *f, struct json *about, const char *trouble, const char *text, bool is_call)
{
	json_sets(&f->a, about, "trouble", trouble);
	f->result = is_call ? result_text(&f->a, text, true) : NULL;
	f->error = is_call ? NULL : json_get(rpc_error(&f->a, NULL, RPC_INTERNAL, text), "error");
}

void result_check(struct flight *f, const struct json *row, const struct json *tool, struct json *about)
{
	int64_t most = json_get_int(row, "result_kb", MCP_RESULT_KB) * 1024;
	struct err e = { 0 };

	if (f->result && is_unfinished(f->result))
		hold_back(f, about, "the server asks instead of answering",
			"The server asks for more instead of answering; that is not offered to it here.",
			tool != NULL);
	else if (f->result && tool && !is_shape(f->result))
		hold_back(f, about, "the result is none of the protocol",
			"The server's result is not one of the protocol; it is held back.", true);
	else if ((int64_t)f->result_bytes > most)
		hold_back(f, about, "the result is too large",
			arena_printf(&f->a, "The server's result has %zu bytes; at most %lld are passed on.",
				f->result_bytes, (long long)most),
			tool && f->result);
	else if (f->result && tool && !keeps_promise(f, tool, &e))
		hold_back(f, about, "the result does not fit the tool's output schema",
			arena_printf(&f->a,
				"The server's result does not fit the output schema of its tool: %s", e.text),
			true);
	else
		tell_findings(f, row, about);
}
