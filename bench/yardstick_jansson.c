/* yardstick_jansson.c — jansson, in a file of its own: it uses the same names as our JSON module. */
#include "bench.h"
#include "yardstick.h"

#ifdef HAVE_JANSSON
#include <jansson.h>

bool yardstick_has_jansson(void)
{
	return true;
}

void yardstick_jansson(struct bytes text)
{
	json_error_t error;
	json_t *v = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, &error);

	if (!v) {
		fprintf(stderr, "helm-bench: jansson: %s\n", error.text);
		abort();
	}
	bench_keep(json_object_get(v, "lamport"));
	json_decref(v);
}

#else

bool yardstick_has_jansson(void)
{
	return false;
}

void yardstick_jansson(struct bytes text)
{
	(void)text;
}

#endif
