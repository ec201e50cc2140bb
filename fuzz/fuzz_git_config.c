/* fuzz_git_config.c — any bytes as a git configuration: each setting has a key and a value, and what would start something is one of them. */
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

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t n = 0;

	git_settings(&a, (struct bytes){ data, size }, count, &n);
	if (propose_git_commands(&a, (struct bytes){ data, size })->n > n)
		abort();
}
