/* fuzz_git_config.c — any bytes as a git configuration: each setting has a key and a value, what would start something is one of them, and
 * what a run leaves behind in one gets nothing into the file outside that starts something there. */
#include "base/json.h"
#include "fuzz.h"
#include "propose/git.h"

#include <stdlib.h>
#include <string.h>

static void count(void *arg, const char *key, const char *value)
{
	if (!strchr(key, '.') || !value)
		abort();
	++*(size_t *)arg;
}

static const char outside[] = "[core]\n\tbare = false\n[user]\n\tname = x\n";

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct git_merge m;
	size_t n = 0;

	git_settings(&a, (struct bytes){ data, size }, count, &n);
	if (propose_git_commands(&a, (struct bytes){ data, size })->n > n)
		abort();
	propose_git_merge(&a, bytes_of(outside), bytes_of(outside), (struct bytes){ data, size }, &m);
	if (propose_git_commands(&a, m.text)->n)
		abort();
}
