/* fuzz_failure.c — any bytes as what failed: it is normalised, and its signature has a fingerprint. */
#include "base/text.h"
#include "fuzz.h"
#include "remember/failure.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct failure_place at = { "/w/space", "/home/u" };
	struct json *event = json_new(&a, JSON_OBJECT), *command = json_new(&a, JSON_ARRAY);
	const char *text = arena_strndup(&a, (const char *)data, size);

	(void)failure_normal(&a, &at, text);
	json_pushs(&a, command, text);
	json_sets(&a, event, "command_preview", text);
	json_set(&a, event, "command", command);
	json_sets(&a, event, "status", "failed");
	json_seti(&a, event, "exit_code", 1);
	struct json *s = failure_signature(&a, event, &at, (struct bytes){ data, size });
	if (strlen(json_get_text(s, "fingerprint", "")) != 8)
		abort();
}
