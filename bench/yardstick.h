/* yardstick.h — other people's code that ours is measured against. */
#ifndef BENCH_YARDSTICK_H
#define BENCH_YARDSTICK_H

#include "base/mem.h"

#include <stdbool.h>

bool yardstick_has_jansson(void);
/* Parse one document with duplicate rejection, read one member, free it. */
void yardstick_jansson(struct bytes text);

void yardstick_evp_sha256(const void *p, size_t n, uint8_t *digest);

bool yardstick_sodium_verify(const uint8_t pub[32], struct bytes msg, const uint8_t sig[64]);

#endif
