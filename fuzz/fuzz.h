/* fuzz.h — what a fuzz target defines: one call with bytes nobody trusts.  It must return normally. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

void fuzz_one(const uint8_t *data, size_t size);

#endif
