/* seed.h — where tests that make things at random begin. */
#ifndef TESTS_TOOLS_SEED_H
#define TESTS_TOOLS_SEED_H

#include <stdint.h>
#include <stdlib.h>

/* HELM_TEST_SEED, for more than what every run tries; otherwise the same as ever. */
static inline uint64_t seed_or(uint64_t fixed)
{
	const char *given = getenv("HELM_TEST_SEED");
	uint64_t n = given ? strtoull(given, NULL, 0) : 0;

	return n ? n * UINT64_C(0x9e3779b97f4a7c15) : fixed;
}

#endif
