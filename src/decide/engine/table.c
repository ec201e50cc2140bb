/* table.c — names to numbers: a hash table that is filled once and asked often. */
#include "decide/engine/parts.h"

#include <string.h>

/* Eight bytes at a time; the names of a policy are its author's, so nobody gains from making them collide. */
static uint32_t hash_name(const char *p, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15u, w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	w = 0;
	for (size_t i = 0; i < n; i++)
		w = w << 8 | (uint8_t)p[i];
	h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(h >> 32);
}

void table_begin(struct table *t, struct arena *a, size_t expected)
{
	uint32_t size = 8;

	while (size < expected * 2)
		size *= 2;
	*t = (struct table){ .slots = arena_zalloc(a, size, sizeof(*t->slots)),
		.keys = arena_alloc(a, (expected + 1) * sizeof(*t->keys)),
		.mask = size - 1,
		.room = (uint32_t)expected + 1 };
}

static struct table_slot *find_slot(const struct table *t, uint32_t hash, const char *p, size_t n)
{
	for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
		struct table_slot *s = &t->slots[i];
		if (s->value == 0)
			return s;
		const struct table_key *k = &t->keys[s->value - 1];
		if (s->hash == hash && k->n == n && memcmp(k->p, p, n) == 0)
			return s;
	}
}

uint32_t table_find(const struct table *t, const char *p, size_t n)
{
	return find_slot(t, hash_name(p, n), p, n)->value - 1;
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
	uint32_t hash = hash_name(p, n);
	struct table_slot *slot = find_slot(t, hash, p, n);

	if (slot->value)
		return slot->value - 1;
	if (t->n == t->room) {
		grow(t, a);
		slot = find_slot(t, hash, p, n);
	}
	t->keys[t->n] = (struct table_key){ p, (uint32_t)n };
	*slot = (struct table_slot){ .hash = hash, .value = ++t->n };
	return t->n - 1;
}
