/* fuzz_ontology.c — any JSON as a row of the ontology: what is read is text, whatever stands there. */
#include "base/text.h"
#include "fuzz.h"
#include "remember/ontology.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row;
	struct entity x;
	struct relation r;

	if (json_parse(&a, (struct bytes){ data, size }, "fuzz", NULL, &row, NULL))
		return;
	if (entity_read(&a, row, &x)) {
		if (!*x.id || !x.type || !x.name || !x.status || !x.notes || !x.at ||
			!entity_is(&a, &x, x.id))
			abort();
		if (*x.name && !entity_is(&a, &x, x.name))
			abort();
	}
	if (relation_read(&a, row, &r) && (!*r.from || !*r.to || !r.type))
		abort();
}
