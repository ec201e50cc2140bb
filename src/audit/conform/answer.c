/* answer.c — one effect in a world that a harness describes, for whoever answers such questions over a wire. */
#include "audit/audit.h"
#include "audit/conform/world.h"

int conform_in_world(
	struct sys *s, struct arena *a, const struct json *vector, struct json **ret, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct scene scene = { 0 };
	struct outcome x;
	int rc = world_open(&w, s, "share/policies/default.json", e);

	if (rc == OK)
		rc = scene_begin(&scene, &w, a, vector, e);
	json_each (effect, json_get(vector, "before"))
		if (rc == OK)
			rc = scene_ask(&scene, effect, &x, e);
	if (rc == OK)
		rc = scene_ask(&scene, json_get(json_get(vector, "input"), "effect"), &x, e);
	if (rc == OK) {
		struct json *doc = json_new(a, JSON_OBJECT), *packs = json_new(a, JSON_ARRAY);
		for (size_t i = 0; i < x.judgement.active_pack_count; i++)
			json_pushs(a, packs, x.judgement.active_packs[i]);
		json_sets(a, doc, "verdict", verdict_name(x.verdict));
		if (x.reason_code)
			json_sets(a, doc, "reason_code", x.reason_code);
		json_set(a, doc, "receipt", json_copy(a, x.receipt));
		if (x.intent)
			json_set(a, doc, "intent", json_copy(a, x.intent));
		json_set(a, doc, "active_packs", packs);
		json_setb(a, doc, "quarantined", x.is_quarantined);
		*ret = doc;
	}
	scene_done(&scene);
	return rc;
}
