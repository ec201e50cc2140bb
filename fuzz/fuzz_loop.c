/* fuzz_loop.c — any bytes as the file of a loop: it is valid or it is not, and one that can be run has bounds. */
#include "base/conf.h"
#include "fuzz.h"
#include "remember/loop.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct loop_plan p;
	struct json *doc;

	if (conf_parse_yaml(&a, (struct bytes){ data, size }, "loop", &doc, NULL) ||
		!json_is(doc, JSON_OBJECT))
		return;
	struct json *v = loop_validate(&a, doc, "loop");
	if (json_get_bool(v, "ok", false) != (json_get(v, "issues")->n == 0))
		abort();
	if (loop_plan(&a, doc, &p, NULL))
		return;
	if (!json_get_bool(v, "ok", false) || !p.profile || !p.step_count || p.turns <= 0 || p.minutes <= 0 ||
		p.same_failure <= 0 || p.no_change <= 0 || p.step_seconds <= 0)
		abort();
}
