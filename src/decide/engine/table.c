/* table.c — names to numbers: a hash table that is filled once and asked often. */
#include "decide/engine/parts.h"

#include <string.h>

void table_begin(struct table *t, struct arena *a, size_t expected)
{
	uint32_t size = 8;

	while (size < expected + expected / 2)
		size *= 2;
	*t = (struct table){ .slots = arena_zalloc(a, size, sizeof(*t->slots)),
		.keys = arena_alloc(a, (expected + 1) * sizeof(*t->keys)),
		.mask = size - 1,
		.room = (uint32_t)expected + 1 };
}

static void grow(struct table *t, struct arena *a)
{
	struct table bigger;

	table_begin(&bigger, a, (size_t)t->room * 2);
	for (uint32_t i = 0; i < t->n; i++)
		(void)table_add(&bigger, a, t->keys[i].p, t->keys[i].n);
	*t = bigger;
}

uint32_t table_add(struct table *t, struct arena *a, const char *p, size_t n)
{
	uint32_t hash = table_hash(p, n);
	struct table_slot *slot = table_slot(t, hash, p, n);

	if (slot->value)
		return slot->value - 1;
	if (t->n == t->room) {
		grow(t, a);
		slot = table_slot(t, hash, p, n);
	}
	t->keys[t->n] = (struct table_key){ p, (uint32_t)n };
	slot->hash = hash;
	slot->value = ++t->n;
	slot->n = n <= TABLE_INLINE ? (uint8_t)n : TABLE_INLINE + 1;
	if (n <= TABLE_INLINE)
		memcpy(slot->name, p, n);
	return t->n - 1;
}
