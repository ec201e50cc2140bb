/* world.h — the world that a case of the decision suites describes, set up around the engine.
 *
 * Some members of a case are not part of the request but say how the world is: what is left of a budget, what the external decision point does,
 * who the caller was found to be.  Only the harness reads them, and makes facts of them; a door never does.  Every answer is recorded by the
 * real recorder, in a folder of its own that is gone afterwards. */
#ifndef AUDIT_CONFORM_WORLD_H
#define AUDIT_CONFORM_WORLD_H

#include "audit/conform/conform.h"
#include "decide/engine/engine.h"
#include "model/draw.h"
#include "record/record.h"

struct world {
	struct sys *sys;
	struct arena a; /* lives as long as the world */
	struct json *policy; /* the document that is judged by */
	const struct ruleset *rules; /* NULL: there is none */
	char dir[256]; /* of the ledger */
	int dir_fd;
	struct key *key;
	struct recorder recorder;
};
/* `policy` is the name of a shipped document ("share/policies/default.json"). */
int world_open(struct world *w, struct sys *s, const char *policy, struct err *e);
void world_close(struct world *w); /* for AUTO(); fine on { 0 } */

/* What the world of one case is, beyond the request. */
struct scene {
	struct world *w;
	struct arena *a; /* of the case */
	const struct json *vector; /* the case: input, and what describes the world beside it */
	const struct ruleset *rules;
	struct drawn drawn; /* what the effects of this case used up so far */
	int64_t now_us;
	const struct policy_facts *about; /* what is known about the policy itself; or NULL */
	struct json *known; /* what an entry point would state, by the same names (decide/engine/engine.h) */
};
int scene_begin(struct scene *s, struct world *w, struct arena *a, const struct json *vector, struct err *e);
void scene_done(struct scene *s);
/* One more member in a section of the policy that the scene is judged by. */
int scene_overlay(
	struct scene *s, const char *section, const char *name, const struct json *value, struct err *e);

struct outcome {
	struct judgement judgement;
	enum verdict verdict; /* after the output was looked at */
	const char *reason_code, *detail_code; /* NULL: none */
	struct json *receipt; /* as recorded, signed */
	struct json *intent; /* only with ALLOW; else NULL */
	const char *output_hash; /* of what came out; or NULL */
	bool is_quarantined;
};
/* One effect of the case: judged, recorded, completed. */
int scene_ask(struct scene *s, const struct json *effect, struct outcome *ret, struct err *e);

/* Every member of `expected` is in `got` with the same value, and nothing is expected that is not known here. */
bool world_meets(const struct json *expected, const struct json *got);

#endif
