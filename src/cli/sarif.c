/* sarif.c — see sarif.h. */
#include "cli/sarif.h"

#include "base/text.h"

#include <string.h>

static struct json *message(struct arena *a, const char *text)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_sets(a, v, "text", text);
	return v;
}

/* A relative reference: everything but unreserved characters and slashes is percent-encoded. */
static const char *uri(struct arena *a, const char *file)
{
	struct buf b;

	buf_init(&b, a);
	for (; *file; file++)
		if (strchr("-._~/", *file) || (*file >= '0' && *file <= '9') ||
			((*file | 32) >= 'a' && (*file | 32) <= 'z'))
			buf_addc(&b, *file);
		else
			buf_addf(&b, "%%%02X", (unsigned)(unsigned char)*file);
	return b.p;
}

/* The index of a rule among those listed so far; a new rule is listed. */
static int64_t rule_index(struct sarif *s, const struct sarif_result *r)
{
	struct json *rule;

	for (size_t i = 0; i < s->rules->n; i++)
		if (text_eq(json_get_text(json_at(s->rules, i), "id", ""), r->rule))
			return (int64_t)i;
	rule = json_new(s->a, JSON_OBJECT);
	json_sets(s->a, rule, "id", r->rule);
	json_set(s->a, rule, "shortDescription", message(s->a, r->about_rule));
	json_set(s->a, rule, "help", message(s->a, r->help));
	json_push(s->a, s->rules, rule);
	return (int64_t)s->rules->n - 1;
}

static struct json *location(struct arena *a, const struct sarif_result *r)
{
	struct json *physical = json_new(a, JSON_OBJECT), *artifact = json_new(a, JSON_OBJECT);
	struct json *region = json_new(a, JSON_OBJECT), *v = json_new(a, JSON_OBJECT);

	json_sets(a, artifact, "uri", uri(a, r->file));
	json_seti(a, region, "startLine", r->line);
	if (r->snippet)
		json_set(a, region, "snippet", message(a, r->snippet));
	json_set(a, physical, "artifactLocation", artifact);
	json_set(a, physical, "region", region);
	json_set(a, v, "physicalLocation", physical);
	return v;
}

void sarif_begin(struct sarif *s, struct arena *a)
{
	*s = (struct sarif){ a, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY) };
}

void sarif_add(struct sarif *s, const struct sarif_result *r)
{
	struct json *v = json_new(s->a, JSON_OBJECT), *locations = json_new(s->a, JSON_ARRAY);

	json_push(s->a, locations, location(s->a, r));
	json_sets(s->a, v, "ruleId", r->rule);
	json_seti(s->a, v, "ruleIndex", rule_index(s, r));
	json_sets(s->a, v, "level", r->is_error ? "error" : "warning");
	json_set(s->a, v, "message", message(s->a, r->text));
	json_set(s->a, v, "locations", locations);
	json_push(s->a, s->results, v);
}

struct json *sarif_end(const struct sarif *s)
{
	struct arena *a = s->a;
	struct json *doc = json_new(a, JSON_OBJECT), *runs = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);
	struct json *tool = json_new(a, JSON_OBJECT), *driver = json_new(a, JSON_OBJECT);

	json_sets(a, driver, "name", "helm");
	json_sets(a, driver, "version", HELM_VERSION);
	json_set(a, driver, "rules", s->rules);
	json_set(a, tool, "driver", driver);
	json_set(a, one, "tool", tool);
	json_sets(a, one, "columnKind", "utf16CodeUnits");
	json_set(a, one, "results", s->results);
	json_push(a, runs, one);
	json_sets(a, doc, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_sets(a, doc, "version", "2.1.0");
	json_set(a, doc, "runs", runs);
	return doc;
}
