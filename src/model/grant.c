/* grant.c — grants as JSON, and back.
 *
 * A grant lets something pass that would otherwise be asked about, so reading one is strict: a member that
 * is missing, of the wrong type or unknown makes the whole grant an error, and a grant that is not
 * understood covers nothing. What is written can always be read back to the same grant. */
#include "model/grant.h"

#include "base/text.h"

#include <string.h>

static const char *const reach_names[] = { "exact", "shape", "path", "host" };
TABLE_COVERS(reach_names, REACH_COUNT);

const char *reach_name(enum reach r)
{
	return reach_names[r];
}

/* Whole covers are equal by rule alone; others by every property of the effect, so that a grant for one
 * effect never fits a similar one. */
bool cover_eq(const struct cover *x, const struct cover *y)
{
	return x->is_whole == y->is_whole && text_eq(x->rule, y->rule) &&
		(x->is_whole ||
			(x->kind == y->kind && text_eq(x->tag, y->tag) && x->path_class == y->path_class &&
				x->certainty == y->certainty && x->flags == y->flags &&
				text_eq(x->operand, y->operand)));
}

/* A cover without "kind" is a whole one; cover_from_json() reads it so. */
static struct json *cover_to_json(struct arena *a, const struct cover *c)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "rule", c->rule);
	if (c->is_whole)
		return doc;
	json_sets(a, doc, "kind", effect_kind_name(c->kind));
	json_sets(a, doc, "tag", c->tag);
	json_sets(a, doc, "path_class", path_class_name(c->path_class));
	json_sets(a, doc, "certainty", certainty_name(c->certainty));
	json_seti(a, doc, "flags", c->flags);
	json_sets(a, doc, "operand_sha256", c->operand);
	return doc;
}

struct json *covers_to_json(struct arena *a, const struct cover *covers, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_push(a, list, cover_to_json(a, &covers[i]));
	return list;
}

/* The place of a name in a list; false for an unknown or missing one. */
static bool find_name(const char *name, const char *const *names, size_t n, unsigned *ret)
{
	for (unsigned i = 0; name && i < n; i++)
		if (text_eq(names[i], name)) {
			*ret = i;
			return true;
		}
	return false;
}

/* "kind" decides: without it the cover is whole, with it every other member must be there and be
 * understood. */
static bool cover_from_json(const struct json *doc, struct cover *ret)
{
	const char *kind = json_get_text(doc, "kind", NULL), *class = json_get_text(doc, "path_class", NULL),
		   *certainty = json_get_text(doc, "certainty", NULL);
	struct cover c = { .rule = json_get_text(doc, "rule", NULL), .is_whole = !json_get(doc, "kind") };
	int64_t flags;

	if (!c.rule)
		return false;
	if (!c.is_whole) {
		c.tag = json_get_text(doc, "tag", NULL);
		c.operand = json_get_text(doc, "operand_sha256", NULL);
		if (!kind || !effect_kind_parse(kind, &c.kind) || !c.tag || !c.operand || !class ||
			!path_class_parse(class, &c.path_class) || !certainty ||
			!certainty_parse(certainty, &c.certainty) ||
			!json_int(json_get(doc, "flags"), &flags) || flags < 0 || flags > UINT32_MAX)
			return false;
		c.flags = (unsigned)flags;
	}
	*ret = c;
	return true;
}

/* One item that is not understood spoils the list: dropping it could widen or narrow what was granted. */
int covers_from_json(
	struct arena *a, const struct json *doc, struct cover **ret, size_t *ret_n, struct err *e)
{
	if (!json_is(doc, JSON_ARRAY))
		return err_set(e, E_INPUT, "GRANT_FORMAT", "what is covered is no list");
	struct cover *covers = arena_zalloc(a, doc->n + 1, sizeof(*covers));
	for (uint32_t i = 0; i < doc->n; i++)
		if (!cover_from_json(doc->items[i], &covers[i]))
			return err_set(e, E_INPUT, "GRANT_FORMAT", "covered item %u is not understood", i);
	*ret = covers;
	*ret_n = doc->n;
	return OK;
}

/* Absent bounds are left out, since null would have to mean something. */
static void set_given(struct arena *a, struct json *doc, const char *name, const char *value)
{
	if (value)
		json_sets(a, doc, name, value);
}

/* Times are written in UTC; bounds that do not hold are left out. */
struct json *grant_to_json(struct arena *a, const struct grant *g)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "grant_id", g->id);
	json_sets(a, doc, "reach", reach_name(g->reach));
	json_setb(a, doc, "once", g->is_once);
	set_given(a, doc, "principal", g->principal);
	set_given(a, doc, "session", g->session);
	json_sets(a, doc, "profile", g->profile);
	set_given(a, doc, "args_sha256", g->args_sha256);
	set_given(a, doc, "cwd", g->cwd);
	set_given(a, doc, "path", g->path);
	set_given(a, doc, "host", g->host);
	json_sets(a, doc, "created_at", text_time_z(a, g->created_us));
	json_sets(a, doc, "expires_at", text_time_z(a, g->expires_us));
	set_given(a, doc, "approval_id", g->request_id);
	json_sets(a, doc, "responder", g->responder);
	if (g->approvers > 1)
		json_seti(a, doc, "approvers", g->approvers);
	set_given(a, doc, "quorum_sha256", g->quorum_sha256);
	json_set(a, doc, "covers", covers_to_json(a, g->covers, g->cover_count));
	return doc;
}

/* A missing time is no time. */
static bool read_time(const struct json *doc, const char *name, int64_t *ret)
{
	const char *text = json_get_text(doc, name, "");

	return text_parse_time(text, strlen(text), ret);
}

/* Whether the member that bounds this kind of reach is there. A grant without its bound would cover
 * everything, so it is no grant. A shape is bounded by its covers. */
static bool is_bounded(const struct grant *g)
{
	switch (g->reach) {
	case REACH_EXACT:
		return g->args_sha256 && g->cwd;
	case REACH_SHAPE:
		return true;
	case REACH_PATH:
		return g->path && g->path[0] == '/';
	case REACH_HOST:
		return g->host && *g->host;
	case REACH_COUNT:
		break;
	}
	return false;
}

/* Nothing is written to *ret unless the whole grant is understood. */
int grant_from_json(struct arena *a, const struct json *doc, struct grant *ret, struct err *e)
{
	struct grant g = { .id = json_get_text(doc, "grant_id", NULL),
		.principal = json_get_text(doc, "principal", NULL),
		.session = json_get_text(doc, "session", NULL),
		.profile = json_get_text(doc, "profile", NULL),
		.args_sha256 = json_get_text(doc, "args_sha256", NULL),
		.cwd = json_get_text(doc, "cwd", NULL),
		.path = json_get_text(doc, "path", NULL),
		.host = json_get_text(doc, "host", NULL),
		.request_id = json_get_text(doc, "approval_id", NULL),
		.responder = json_get_text(doc, "responder", NULL),
		.quorum_sha256 = json_get_text(doc, "quorum_sha256", NULL) };
	int64_t approvers = json_get_int(doc, "approvers", 0);
	unsigned reach = 0;

	if (!g.id || !g.profile || !g.responder || !json_is_bool(json_get(doc, "once")) ||
		!find_name(json_get_text(doc, "reach", NULL), reach_names, ARRAY_SIZE(reach_names), &reach) ||
		!read_time(doc, "created_at", &g.created_us) || !read_time(doc, "expires_at", &g.expires_us))
		return err_set(e, E_INPUT, "GRANT_FORMAT", "a grant is not understood");
	/* A bound that is there but is no text would read as NULL, which means "anybody". It is an error
	 * instead. */
	static const char *const bounds[] = { "principal", "session" };
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		if (json_get(doc, bounds[i]) && !json_get_text(doc, bounds[i], NULL))
			return err_set(e, E_INPUT, "GRANT_FORMAT", "a grant's %s is no text", bounds[i]);
	/* Both or none: a number that nothing proves is none. */
	if ((json_get(doc, "approvers") != NULL) != (g.quorum_sha256 != NULL) || approvers < 0 ||
		approvers > MOST_APPROVERS)
		return err_set(e, E_INPUT, "GRANT_FORMAT", "a grant of several people is not understood");
	g.approvers = (int)approvers;
	g.reach = (enum reach)reach;
	g.is_once = json_get_bool(doc, "once", false);
	if (!is_bounded(&g))
		return err_set(e, E_INPUT, "GRANT_FORMAT", "a grant says not how far it reaches");
	int rc = covers_from_json(a, json_get(doc, "covers"), &g.covers, &g.cover_count, e);
	if (rc == OK)
		*ret = g;
	return rc;
}
