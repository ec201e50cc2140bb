/* results.c — what a server answered, before it is passed on: how large it is, whether it is what the tool promised, what it says to the model, and
 * what secrets stand in it.
 *
 * Findings are told, in the receipt and beside the result; nothing is rewritten in silence.  Secrets are taken out where a person wants that for a
 * server, and then the result says so. */
#include "serve/mcp/mcp.h"

#include "base/schema.h"
#include "base/text.h"
#include "privacy/privacy.h"

#include <string.h>

enum { TEXT_MOST = 1 << 20 };

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

static void replace(struct flight *f, const char *text)
{
	f->result = result_text(&f->a, text, true);
}

static struct json *meta_of(struct flight *f)
{
	struct json *meta = json_get(f->result, "_meta");

	if (!json_is(meta, JSON_OBJECT)) {
		meta = json_new(&f->a, JSON_OBJECT);
		json_set(&f->a, f->result, "_meta", meta);
	}
	return meta;
}

/* ---- what it promised ---- */

static bool is_shape(const struct json *result)
{
	const struct json *content = json_get(result, "content");

	if (!json_is(result, JSON_OBJECT) || (content && !json_is(content, JSON_ARRAY)))
		return false;
	json_each (one, content)
		if (!json_is(one, JSON_OBJECT) || !json_get_text(one, "type", NULL))
			return false;
	return true;
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

static size_t count_secrets(struct arena *a, const struct json *v, unsigned depth)
{
	enum { DEEPEST = 64 };
	const struct privacy_options options = { .labels = 1u << PRIVACY_SECRET, .is_strict = true };
	struct privacy_finding *found;
	size_t n = 0;

	if (!v || depth > DEEPEST)
		return 0;
	if (v->type == JSON_STRING && v->n <= TEXT_MOST)
		n += privacy_scan(a, v->text, v->n, &options, &found);
	json_each (one, v)
		n += count_secrets(a, one, depth + 1);
	json_each_member (m, v)
		if (!text_eq(m->name, "blob") && !(text_eq(m->name, "data") && json_get(v, "mimeType")))
			n += count_secrets(a, m->value, depth + 1);
	return n;
}

static struct json *instructions_in(struct arena *a, const struct json *result)
{
	struct json *found = json_new(a, JSON_ARRAY);

	json_each (one, json_get(result, "content")) {
		const struct json *text = json_get(one, "text");
		if (!text)
			text = json_get(json_get(one, "resource"), "text");
		if (text && text->type == JSON_STRING && text->n <= TEXT_MOST)
			mcp_inspect_text(a, text->text, text->n, found);
	}
	return found;
}

static void tell_findings(struct flight *f, const struct json *row, struct json *about)
{
	struct arena *a = &f->a;
	struct json *said = instructions_in(a, f->result), *names = json_new(a, JSON_ARRAY);
	size_t secrets = count_secrets(a, f->result, 0);

	json_each (one, said)
		if (mcp_severity(json_get_text(one, "severity", "")) >= mcp_severity("high"))
			json_pushs(a, names, json_get_text(one, "finding", ""));
	if (!names->n && !secrets)
		return;
	struct json *told = json_new(a, JSON_OBJECT);
	if (names->n) {
		json_set(a, told, "instructions", names);
		json_set(a, about, "result_findings", json_copy(a, names));
	}
	if (secrets) {
		json_seti(a, told, "secrets", (int64_t)secrets);
		json_seti(a, about, "result_secrets", (int64_t)secrets);
	}
	if (secrets && json_get_bool(row, "redact", false)) {
		privacy_redact_json(a, f->result);
		json_setb(a, told, "redacted", true);
		json_sets(a, about, "redacted", "yes");
	}
	json_set(a, meta_of(f), "helm/findings", told);
}

void result_check(struct flight *f, const struct json *row, const struct json *tool, struct json *about)
{
	int64_t most = json_get_int(row, "result_kb", MCP_RESULT_KB) * 1024;
	struct err e = { 0 };

	if (!is_shape(f->result)) {
		json_sets(&f->a, about, "trouble", "the result is none of the protocol");
		replace(f, "The server's result is not one of the protocol; it is held back.");
		return;
	}
	if ((int64_t)f->result_bytes > most) {
		json_sets(&f->a, about, "trouble", "the result is too large");
		replace(f,
			arena_printf(&f->a, "The server's result has %zu bytes; at most %lld are passed on.",
				f->result_bytes, (long long)most));
		return;
	}
	if (!keeps_promise(f, tool, &e)) {
		json_sets(&f->a, about, "trouble", "the result does not fit the tool's output schema");
		replace(f,
			arena_printf(&f->a,
				"The server's result does not fit the output schema of its tool: %s",
				e.text));
		return;
	}
	tell_findings(f, row, about);
}
