/* engine_fixture.h — policies and questions for tests of the engine, written with ' for ". */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include "decide/engine/engine.h"

/* JSON from text in which ' stands for ". */
struct json *quoted(struct arena *a, const char *text);
/* The policy; its error fails the test. */
struct ruleset *compiled(struct arena *a, const char *text);
/* "CODE: text" of the error that the policy has; fails the test when it has none. */
const char *compile_error(struct arena *a, const char *text);

/* A question as {effect_type, effect_id, principal, tool, params, context}; what is left out is filled in: type "act", id "e1",
 * principal "agent:a". */
struct submission asked(struct arena *a, const char *text);

/* "VERDICT REASON gate rule", without what is not there. */
const char *outcome(struct arena *a, const struct judgement *j);
/* The same for one policy, question and object of known facts (NULL: none). */
const char *judged(struct arena *a, const char *policy, const char *question, const char *known);

#endif
