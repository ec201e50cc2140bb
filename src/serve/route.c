/* route.c — the table of routes, which is also `helm serve routes`, the OpenAPI document and the tests. */
#include "base/embed.h"
#include "base/hash.h"
#include "base/schema.h"
#include "base/text.h"
#include "serve/fleet/fleet.h"
#include "serve/serve.h"
#include "serve/witness/witness.h"

#include <string.h>

#define DOOR(name) extern const struct route http_##name##_routes[];
#include "serve/doors.def"
#undef DOOR

static const struct route *const tables[] = {
#define DOOR(name) http_##name##_routes,
#include "serve/doors.def"
#undef DOOR
};

enum { ROUTES_MOST = 512 };
static const struct route *listed[ROUTES_MOST + 1];
static pthread_once_t are_listed = PTHREAD_ONCE_INIT;

/* Every request looks through them. */
static void list_all(void)
{
	size_t n = 0;

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct route *r = tables[t]; r->path; r++) {
			if (n == ROUTES_MOST)
				BUG("too many routes");
			listed[n++] = r;
		}
}

const struct route *route_at(size_t i)
{
	pthread_once(&are_listed, list_all);
	return i < ROUTES_MOST ? listed[i] : NULL;
}

/* ---- finding ---- */

/* One %XX decoded; a NUL or something that is none makes the path one that no route has. */
char *path_decoded(struct arena *a, const char *p, size_t n)
{
	char *to = arena_text(a, n + 1);
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned value;
		if (p[i] != '%') {
			to[at++] = p[i];
			continue;
		}
		if (n - i < 3 || !strchr("0123456789abcdefABCDEF", p[i + 1]) ||
			!strchr("0123456789abcdefABCDEF", p[i + 2]) ||
			sscanf(p + i + 1, "%2x", &value) != 1 || !value)
			return NULL;
		to[at++] = (char)value;
		i += 2;
	}
	to[at] = '\0';
	return text_utf8_valid(to, at) == at ? to : NULL;
}

/* %XX and + of a query; what cannot be decoded stays as it is and will not be found to mean anything. */
const char *query_decoded(struct arena *a, const char *text)
{
	char *to = arena_strdup(a, text), *at = to;

	for (const char *p = text; *p; p++) {
		uint8_t value;
		if (*p == '%' && p[1] && p[2] && hex_decode(p + 1, 2, &value, 1, false) && value) {
			*at++ = (char)value;
			p += 2;
		} else {
			*at++ = *p == '+' ? ' ' : *p;
		}
	}
	*at = '\0';
	return to;
}

/* Segment by segment; {name} takes one that is not empty. */
static bool is_match(struct arena *a, const char *pattern, const char *path, const char *args[ROUTE_ARGS])
{
	size_t n = 0;

	while (*pattern && *path) {
		size_t want = strcspn(pattern + 1, "/"), have = strcspn(path + 1, "/");
		if (*pattern != '/' || *path != '/')
			return false;
		/* {*name} takes all that is left, also nothing. */
		if (pattern[1] == '{' && pattern[2] == '*')
			return true;
		if (pattern[1] == '{') {
			char *value = have ? path_decoded(a, path + 1, have) : NULL;
			if (!value || !*value || n == ROUTE_ARGS)
				return false;
			args[n++] = value;
		} else if (want != have || memcmp(pattern, path, want + 1) != 0) {
			return false;
		}
		pattern += want + 1;
		path += have + 1;
	}
	return !*pattern && !*path;
}

const struct route *route_find_in(const struct route *(*at)(size_t), struct arena *a, const char *method,
	const char *path, const char *args[ROUTE_ARGS], const char **ret_allowed)
{
	const struct route *r;
	struct buf allowed;

	buf_init(&allowed, a);
	*ret_allowed = NULL;
	for (size_t i = 0; (r = at(i)); i++) {
		if (!is_match(a, r->path, path, args))
			continue;
		/* A fixed name stands before a {name} in its table, and wins. */
		if (text_eq(r->method, method) || (text_eq(method, "HEAD") && text_eq(r->method, "GET")))
			return r;
		if (!strstr(allowed.p, r->method))
			buf_addf(&allowed, "%s%s", allowed.n ? ", " : "", r->method);
	}
	if (allowed.n)
		*ret_allowed = allowed.p;
	return NULL;
}

const struct route *route_find(struct arena *a, const char *method, const char *path,
	const char *args[ROUTE_ARGS], const char **ret_allowed)
{
	return route_find_in(route_at, a, method, path, args, ret_allowed);
}

/* ---- schemas ---- */

static struct json *schemas(struct arena *a)
{
	struct bytes text;
	struct json *doc;
	struct err e = { 0 };

	if (!embed_find("share/serve/schemas.json", &text) ||
		json_parse(a, text, "schemas.json", NULL, &doc, &e))
		BUG("share/serve/schemas.json");
	return doc;
}

/* Of each route, in the order of the table; made once, before the first request. */
static struct schema **compiled;

int routes_prepare(struct arena *a, struct err *e)
{
	struct json *all = schemas(a);
	const struct route *r;
	size_t n = 0;

	while (route_at(n))
		n++;
	compiled = arena_zalloc(a, n + 1, sizeof(*compiled));
	for (size_t i = 0; (r = route_at(i)); i++) {
		const struct json *doc = r->request ? json_get(all, r->request) : NULL;
		if (r->request && !doc)
			return err_set(e, E_CORRUPT, "ROUTE_SCHEMA",
				"%s %s names the schema '%s', which is not there", r->method, r->path,
				r->request);
		if (doc && schema_compile(a, doc, r->request, &compiled[i], e))
			return e->rc;
	}
	return OK;
}

int routes_schema(struct arena *a, const char *name, const struct json *doc, struct err *e)
{
	struct schema *schema;
	int rc = schema_compile(a, json_get(schemas(a), name), name, &schema, e);

	return rc ? rc : schema_check(schema, doc, e);
}

int route_check(const struct route *wanted, const struct json *body, struct err *e)
{
	const struct route *r;

	for (size_t i = 0; (r = route_at(i)); i++)
		if (r == wanted)
			return compiled[i] ? schema_check(compiled[i], body, e) : OK;
	return OK;
}

/* ---- as documents ---- */

typedef const struct route *route_table(size_t i);

static struct json *row_of(struct arena *a, const char *server, const struct route *r)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "server", server);
	json_sets(a, row, "method", r->method);
	json_sets(a, row, "path", r->path);
	json_sets(a, row, "auth", auth_class_name(r->auth));
	json_set(a, row, "scopes", apikey_scopes_json(a, r->scope));
	json_sets(a, row, "rate", rate_class_name(r->rate));
	json_sets(a, row, "what",
		r->flags & NOT_OFFERED ? arena_printf(a, "not offered: %s", r->what) : r->what);
	json_setb(a, row, "offered", !(r->flags & NOT_OFFERED));
	json_sets(a, row, "body",
		r->flags & TAKES_JSON		 ? r->flags & BODY_OPTIONAL ? "json?" : "json"
			: r->flags & TAKES_BYTES ? "bytes"
						 : NULL);
	json_setb(a, row, "stream", (r->flags & IS_STREAM) != 0);
	json_setb(a, row, "idempotent", (r->flags & IS_ONCE) != 0);
	json_sets(a, row, "request", r->request);
	json_sets(a, row, "response", r->response);
	return row;
}

struct json *routes_json(struct arena *a)
{
	static const struct {
		const char *name;
		route_table *at;
	} servers[] = { { "serve", route_at }, { "fleet", fleet_route_at }, { "witness", witness_route_at } };
	struct json *list = json_new(a, JSON_ARRAY);
	const struct route *r;

	for (size_t k = 0; k < ARRAY_SIZE(servers); k++)
		for (size_t i = 0; (r = servers[k].at(i)); i++)
			json_push(a, list, row_of(a, servers[k].name, r));
	return list;
}

static struct json *ref_to(struct arena *a, const char *name)
{
	struct json *ref = json_new(a, JSON_OBJECT), *list;

	if (!text_starts(name, "[]")) {
		json_sets(a, ref, "$ref", arena_printf(a, "#/components/schemas/%s", name));
		return ref;
	}
	list = json_new(a, JSON_OBJECT);
	json_sets(a, list, "type", "array");
	json_set(a, list, "items", ref_to(a, name + 2));
	return list;
}

static struct json *content_of(struct arena *a, const char *type, const char *schema)
{
	struct json *content = json_new(a, JSON_OBJECT), *media = json_new(a, JSON_OBJECT);

	if (schema)
		json_set(a, media, "schema", ref_to(a, schema));
	json_set(a, content, type, media);
	return content;
}

static struct json *parameters_of(struct arena *a, const char *path)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (const char *at = path; (at = strchr(at, '{')); at++) {
		struct json *p = json_new(a, JSON_OBJECT), *type = json_new(a, JSON_OBJECT);
		json_sets(a, p, "name", arena_strndup(a, at + 1, strcspn(at + 1, "}")));
		json_sets(a, p, "in", "path");
		json_setb(a, p, "required", true);
		json_sets(a, type, "type", "string");
		json_set(a, p, "schema", type);
		json_push(a, list, p);
	}
	return list;
}

static struct json *operation_of(struct arena *a, const struct route *r)
{
	struct json *op = json_new(a, JSON_OBJECT), *answers = json_new(a, JSON_OBJECT),
		    *good = json_new(a, JSON_OBJECT), *bad = json_new(a, JSON_OBJECT);

	json_sets(a, op, "summary", r->what);
	json_sets(a, op, "x-helm-auth", auth_class_name(r->auth));
	json_sets(a, op, "x-helm-rate", rate_class_name(r->rate));
	json_set(a, op, "parameters", parameters_of(a, r->path));
	if (r->auth != AUTH_PUBLIC) {
		struct json *security = json_new(a, JSON_ARRAY), *one = json_new(a, JSON_OBJECT);
		json_set(a, one, r->auth == AUTH_MACHINE ? "machine" : "bearer", json_new(a, JSON_ARRAY));
		json_push(a, security, one);
		json_set(a, op, "security", security);
	}
	if (r->flags & (TAKES_JSON | TAKES_BYTES)) {
		struct json *body = json_new(a, JSON_OBJECT);
		json_setb(a, body, "required", !(r->flags & BODY_OPTIONAL));
		json_set(a, body, "content",
			content_of(a, r->flags & TAKES_JSON ? "application/json" : "multipart/form-data",
				r->request));
		json_set(a, op, "requestBody", body);
	}
	json_sets(a, good, "description", "the answer");
	if (r->response || r->flags & IS_STREAM)
		json_set(a, good, "content",
			content_of(a, r->flags & IS_STREAM ? "text/event-stream" : "application/json",
				r->flags & IS_STREAM ? NULL : r->response));
	json_set(a, answers, "2XX", good);
	json_sets(a, bad, "description", "what was wrong, as a problem and as an error of the SDKs");
	json_set(a, bad, "content", content_of(a, "application/problem+json", "HelmError"));
	json_set(a, answers, "default", bad);
	json_set(a, op, "responses", answers);
	return op;
}

/* "get", as OpenAPI spells it. */
static const char *lower(struct arena *a, const char *method)
{
	char *to = arena_strdup(a, method);

	for (char *p = to; *p; p++)
		*p = (char)(*p | 0x20);
	return to;
}

/* How a caller shows who it is. */
static struct json *security_schemes(struct arena *a, bool has_machines)
{
	struct json *schemes = json_new(a, JSON_OBJECT), *bearer = json_new(a, JSON_OBJECT),
		    *machine = json_new(a, JSON_OBJECT);

	json_sets(a, bearer, "type", "http");
	json_sets(a, bearer, "scheme", "bearer");
	json_set(a, schemes, "bearer", bearer);
	if (!has_machines)
		return schemes;
	json_sets(a, machine, "type", "apiKey");
	json_sets(a, machine, "in", "header");
	json_sets(a, machine, "name", "Helm-Signature");
	json_sets(a, machine, "description",
		"by the key of a machine that has joined, with Helm-Origin, Helm-Key and Helm-Time (docs/formats/fleet-wire.md)");
	json_set(a, schemes, "machine", machine);
	return schemes;
}

struct json *routes_openapi(struct arena *a, const struct server *s)
{
	bool is_fleet = s && s->fleet;
	route_table *at = is_fleet ? fleet_route_at : route_at;
	struct json *doc = json_new(a, JSON_OBJECT), *info = json_new(a, JSON_OBJECT),
		    *paths = json_new(a, JSON_OBJECT), *components = json_new(a, JSON_OBJECT);
	const struct route *r;

	json_sets(a, doc, "openapi", "3.1.0");
	json_sets(a, info, "title", is_fleet ? "Helm, the ledger of a fleet" : "Helm");
	json_sets(a, info, "version", HELM_VERSION);
	json_set(a, doc, "info", info);
	for (size_t i = 0; (r = at(i)); i++) {
		if (!json_get(paths, r->path))
			json_set(a, paths, r->path, json_new(a, JSON_OBJECT));
		json_set(a, json_get(paths, r->path), lower(a, r->method), operation_of(a, r));
	}
	json_set(a, doc, "paths", paths);
	json_set(a, components, "schemas", schemas(a));
	json_set(a, components, "securitySchemes", security_schemes(a, is_fleet));
	json_set(a, doc, "components", components);
	return doc;
}

/* JSON is YAML, so one text serves both names. */
int route_openapi(struct call *c, struct err *e)
{
	const char *seen = call_header(c, "If-None-Match");
	struct buf text;

	(void)e;
	buf_init(&text, c->a);
	json_write(&text, routes_openapi(c->a, c->server), JSON_INDENT);
	buf_addc(&text, '\n');
	const char *tag = arena_printf(c->a, "\"%s\"", sha256_hex(c->a, text.p, text.n));
	call_send_header(c, "ETag", tag);
	call_send_header(c, "Cache-Control", "no-cache");
	if (seen && text_eq(seen, tag))
		call_bytes(c, 304, NULL, (struct bytes){ 0 });
	else
		call_bytes(c, 200, text_ends(c->path, ".json") ? "application/json" : "application/yaml",
			buf_bytes(&text));
	return OK;
}
