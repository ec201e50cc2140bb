/* request.c — what a program asks its model for: which model, which tools, how much, and what would leave with it.
 *
 * Whatever is decided from a request is read here, strictly: one that two readers could take in two ways is refused, because the vendor is the second reader. */
#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "privacy/privacy.h"
#include "serve/proxy/parts.h"

#include <string.h>
#include <strings.h>

enum { RESULT_MOST = 256 << 10 };

/* ---- tools ---- */

static bool starts_with_any(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (text_starts(word, *list))
			return true;
	return false;
}

/* Who carries it out?  The client, only where that is known. */
static bool is_vendors(const struct form *form, const char *type, const struct json *entry)
{
	static const char *const chat[] = { "function", "custom", NULL };
	static const char *const responses[] = { "function", "custom", "local_shell", "apply_patch", NULL };
	static const char *const messages[] = { "custom", "bash_", "text_editor_", "computer_", "memory_",
		NULL };

	if (form == &form_messages)
		return *type && !starts_with_any(type, messages);
	if (form == &form_responses && text_eq(type, "shell"))
		return !text_eq(json_get_text(json_get(entry, "environment"), "type", ""), "local");
	const char *const *own = form == &form_responses ? responses : chat;
	for (; *own; own++)
		if (text_eq(type, *own))
			return false;
	return true;
}

static int add_tool(
	struct call *c, struct asked *q, const struct json *entry, const char *fallback, struct err *e)
{
	const char *type = json_get_text(entry, "type", fallback);
	const struct json *inner = json_get(entry, "function") ? json_get(entry, "function")
		: json_get(entry, "custom")		       ? json_get(entry, "custom")
							       : entry;
	const struct json *schema = json_get(inner, "parameters") ? json_get(inner, "parameters")
								  : json_get(inner, "input_schema");
	const char *name = json_get_text(inner, "name", NULL);

	if (!json_is(entry, JSON_OBJECT) || q->tool_n == q->tool_room)
		return call_refuse(c, e, 400, "BAD_REQUEST", "tools cannot be read");
	struct offered_tool *t = &q->tools[q->tool_n++];
	*t = (struct offered_tool){ .name = arena_strdup(c->a,
					    name && *name   ? name
						    : *type ? type
							    : "?"),
		.sha256 = json_sha256(c->a, entry),
		.is_vendors = is_vendors(q->form, type, entry) };
	if (json_is(schema, JSON_OBJECT))
		t->schema = json_copy(c->a, schema);
	if (t->is_vendors)
		t->entry = json_copy(c->a, entry);
	return OK;
}

static int add_tools(
	struct call *c, struct asked *q, const struct json *list, const char *type, struct err *e)
{
	int rc = OK;

	if (list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
		return call_refuse(c, e, 400, "BAD_REQUEST", "tools is no list");
	json_each (entry, list)
		if (rc == OK)
			rc = add_tool(c, q, entry, type, e);
	return rc;
}

static size_t listed(const struct json *list)
{
	return json_is(list, JSON_ARRAY) ? list->n : 0;
}

static int read_tools(struct call *c, struct asked *q, const struct json *body, struct err *e)
{
	const struct json *tools = json_get(body, "tools");
	struct json *search = json_get(body, "web_search_options");

	q->tool_room = listed(tools) + listed(json_get(body, "functions")) +
		listed(json_get(body, "mcp_servers")) + 1;
	q->tools = arena_zalloc(c->a, q->tool_room, sizeof(*q->tools));
	int rc = add_tools(c, q, tools, q->form == &form_messages ? "" : "?", e);
	if (rc == OK)
		rc = add_tools(c, q, json_get(body, "functions"), "function", e);
	/* Servers that the vendor itself calls. */
	if (rc == OK)
		rc = add_tools(c, q, json_get(body, "mcp_servers"), "mcp", e);
	if (rc == OK && json_is(search, JSON_OBJECT)) {
		struct json *entry = json_copy(c->a, search);
		json_sets(c->a, entry, "type", "web_search");
		rc = add_tool(c, q, entry, "web_search", e);
	}
	if (rc)
		return rc;
	const char **names = arena_zalloc(c->a, q->tool_n + 1, sizeof(*names));
	for (size_t i = 0; i < q->tool_n; i++)
		names[i] = q->tools[i].name;
	q->names = names;
	if (json_is(tools, JSON_ARRAY))
		q->tools_sha256 = json_sha256(c->a, tools);
	return OK;
}

/* ---- the conversation ---- */

/* What a person or a tool wrote; keys of the vendor's own and pictures are left alone. */
static bool is_opaque(const char *name)
{
	static const char *const names[] = { "data", "b64_json", "encrypted_content", "signature", "id",
		"tool_call_id", "tool_use_id", "call_id", "type", "role", "cache_control", "file_id" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(name, names[i]))
			return true;
	return false;
}

struct scanning {
	struct arena *a;
	struct proxy *p;
	struct asked *q;
};

static struct json *scanned_text(struct scanning *s, struct json *v)
{
	struct privacy_options options = { .labels = privacy_default_labels() | s->p->redact | s->p->refuse,
		.is_strict = true };
	struct privacy_finding *found;
	struct buf out;
	size_t at = 0;
	bool is_changed = false;

	size_t n = privacy_scan(s->a, v->text, v->n, &options, &found);
	buf_init(&out, s->a);
	for (size_t i = 0; i < n; i++) {
		s->q->findings[found[i].label]++;
		if (!(s->p->redact & 1u << found[i].label))
			continue;
		buf_add(&out, v->text + at, found[i].start - at);
		buf_addf(&out, "[REDACTED:%s]", privacy_label_name(found[i].label));
		at = found[i].end;
		is_changed = true;
	}
	if (!is_changed)
		return v;
	buf_add(&out, v->text + at, v->n - at);
	s->q->is_redacted = true;
	return json_stringn(s->a, out.p, out.n);
}

static struct json *scan(struct scanning *s, struct json *v)
{
	if (json_is(v, JSON_STRING))
		return scanned_text(s, v);
	if (json_is(v, JSON_ARRAY))
		for (size_t i = 0; i < v->n; i++)
			v->items[i] = scan(s, v->items[i]);
	json_each_member (m, v)
		if (!is_opaque(m->name))
			m->value = scan(s, m->value);
	return v;
}

static void scan_body(struct scanning *s, struct json *body)
{
	static const char *const parts[] = { "messages", "input", "system", "instructions", "prompt" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct json *v = json_get(body, parts[i]);
		if (v)
			json_set(s->a, body, parts[i], scan(s, v));
	}
}

static bool is_result(const struct json *m)
{
	const char *type = json_get_text(m, "type", ""), *role = json_get_text(m, "role", "");

	return text_eq(role, "tool") || text_eq(role, "function") || text_ends(type, "_output") ||
		text_ends(type, "tool_result");
}

static void gather(struct asked *q, const struct json *v, struct buf *to)
{
	bool is_text = json_is(v, JSON_STRING), fits = is_text && to->n + v->n < RESULT_MOST;

	if (fits) {
		buf_add(to, v->text, v->n);
		buf_addc(to, '\n');
	}
	q->is_cut |= is_text && !fits;
	json_each (item, v)
		gather(q, item, to);
	json_each_member (m, v)
		if (!is_opaque(m->name))
			gather(q, m->value, to);
}

/* What tools said since the model last spoke is new to it, and was written by nobody whom one has to believe. */
static void look_at_results(const struct json *list, struct asked *q, struct buf *text)
{
	json_each (m, list) {
		if (text_eq(json_get_text(m, "role", ""), "assistant")) {
			text->n = 0;
			q->is_cut = false;
		}
		if (is_result(m)) {
			q->has_results = true;
			gather(q, m, text);
		}
		json_each (part, json_get(m, "content"))
			if (is_result(part)) {
				q->has_results = true;
				gather(q, part, text);
			}
	}
}

static void read_taint(struct call *c, struct arena *scratch, const struct json *body, struct asked *q)
{
	struct buf text;

	buf_init(&text, scratch);
	look_at_results(json_get(body, "messages"), q, &text);
	look_at_results(json_get(body, "input"), q, &text);
	if (!q->has_results)
		return;
	q->taint = json_new(c->a, JSON_ARRAY);
	json_pushs(c->a, q->taint, "tool_output");
	if (text.n && threat_quarantines(threat_scan(scratch, text.p, text.n)))
		json_pushs(c->a, q->taint, "suspicious");
	if (q->is_cut)
		json_pushs(c->a, q->taint, "not_looked_through");
}

/* One session is what the client says it is, or else a conversation that begins with the same words. */
static const char *session_of(struct call *c, struct arena *scratch, const struct json *body)
{
	static const char *const headers[] = { "X-Helm-Session-ID", "session_id", "session-id",
		"x-claude-code-session-id" };
	static const char *const parts[] = { "system", "instructions" };
	const struct json *list =
		json_get(body, "messages") ? json_get(body, "messages") : json_get(body, "input");
	struct json *first = json_new(scratch, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const char *said = call_header(c, headers[i]);
		if (said && text_is_id(said))
			return said;
	}
	json_pushs(scratch, first, c->who.principal);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (json_get(body, parts[i]))
			json_push(scratch, first, json_get(body, parts[i]));
	if (json_text(list))
		json_pushs(scratch, first, json_text(list));
	json_each (m, list) {
		json_push(scratch, first, m);
		if (text_eq(json_get_text(m, "role", ""), "user"))
			break;
	}
	return arena_printf(c->a, "conv-%.16s", json_sha256(scratch, first) + strlen("sha256:"));
}

/* ---- how much ---- */

/* The largest, as nobody knows by which one a vendor goes, and no more than can be counted with; `fallback` when there is none. */
static int64_t largest(const struct json *body, const char *const *names, int64_t fallback)
{
	enum { MOST = 1 << 30 };
	int64_t n, most = 0;

	for (; *names; names++) {
		const struct json *v = json_get(body, *names);
		if (!json_is(v, JSON_NUMBER))
			continue;
		n = json_int(v, &n) ? n : MOST;
		most = n > most ? n : most;
	}
	return !most ? fallback : most < MOST ? most : MOST;
}

static void read_amounts(struct proxy *p, const struct json *body, struct asked *q)
{
	static const char *const most[] = { "max_completion_tokens", "max_output_tokens", "max_tokens",
		NULL };
	static const char *const choices[] = { "n", "best_of", "candidate_count", NULL };

	q->bytes = (int64_t)q->body.n;
	/* Three bytes are a careful guess; budgets hold one token for each, as none is shorter. */
	q->input_tokens = (q->bytes + 2) / 3;
	q->output_tokens = largest(body, most, p->assumed_output) * largest(body, choices, 1);
	if (!json_get(body, "messages") && !json_get(body, "prompt") && q->form == &form_other)
		q->output_tokens = 0; /* embeddings and the like */
}

/* ---- all of it ---- */

static bool is_json_type(const char *type)
{
	return type && strcasestr(type, "json");
}

static int read_json(struct call *c, struct proxy *p, struct arena *scratch, struct asked *q, struct err *e)
{
	const struct json_limits limits = { .size_bytes = (size_t)p->request_bytes };
	struct scanning s = { .a = scratch, .p = p, .q = q };
	struct json *body;

	if (json_parse(scratch, c->raw, "body", &limits, &body, e))
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s", arena_strdup(c->a, e->text));
	if (!json_is(body, JSON_OBJECT))
		return q->form == &form_other
			? OK
			: call_refuse(c, e, 400, "BAD_REQUEST", "the body is no JSON object");
	q->is_json = true;
	const struct json *model = json_get(body, "model");
	if (model && (!json_text(model) || model->n > NAME_MOST))
		return call_refuse(c, e, 400, "BAD_REQUEST", "model is no name of a model");
	q->model = arena_strdup(c->a, model ? json_text(model) : "");
	q->is_stream = json_get_bool(body, "stream", false);
	q->session = session_of(c, scratch, body);
	int rc = read_tools(c, q, body, e);
	if (rc)
		return rc;
	read_taint(c, scratch, body, q);
	scan_body(&s, body);
	if (q->is_redacted) {
		struct buf text;
		buf_init(&text, c->a);
		json_write(&text, body, 0);
		q->body = buf_bytes(&text);
	}
	read_amounts(p, body, q);
	return OK;
}

/* However it is spelled: a path, without anything by which it could lead out of the vendor's own. */
static bool is_vendor_path(struct arena *a, const char *path)
{
	const char *decoded = path_decoded(a, path, strlen(path));

	if (!decoded || *path != '/' || strpbrk(path, " \t\r\n#"))
		return false;
	for (const char *p = decoded; *p;) {
		size_t n = strcspn(p, "/\\");
		if ((n == 1 && *p == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
				return false;
		p += n + (p[n] != '\0');
	}
	return true;
}

int request_read(struct call *c, struct proxy *p, struct asked *ret, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct asked q = { .form = form_of_path(c->path), .model = "", .session = NULL, .body = c->raw };
	bool has_body = c->raw.n > 0;
	size_t at = 0;

	if (!is_vendor_path(&scratch, c->path))
		return call_refuse(c, e, 400, "BAD_REQUEST", "this is no path of a vendor");
	if (has_body && (int64_t)c->raw.n > p->request_bytes)
		return call_refuse(c, e, 413, "TOO_LARGE", "a request has at most %lld bytes",
			(long long)p->request_bytes);
	while (at < c->raw.n && strchr(" \t\r\n\xef\xbb\xbf", c->raw.p[at]) && c->raw.p[at])
		at++;
	bool is_json = has_body &&
		(q.form != &form_other || is_json_type(call_header(c, "Content-Type")) ||
			c->raw.p[at < c->raw.n ? at : 0] == '{');
	int rc = is_json ? read_json(c, p, &scratch, &q, e) : OK;
	if (rc)
		return rc;
	/* An answer that is fetched later has no body that could ask for events. */
	if (text_eq(c->method, "GET"))
		q.is_stream = text_eq(call_query(c, "stream") ? call_query(c, "stream") : "", "true");
	q.bytes = (int64_t)c->raw.n;
	if (!q.names)
		q.names = arena_zalloc(c->a, 1, sizeof(*q.names));
	if (!q.session)
		q.session = session_of(c, &scratch, NULL);
	*ret = q;
	return OK;
}
