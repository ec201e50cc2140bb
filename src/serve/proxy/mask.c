/* mask.c — the vendor's key stays here, also when the vendor says it.
 *
 * An error that quotes it, or an address that shows what it was sent, would hand it to whoever asked.  In its place stand as many asterisks, so that no
 * length changes.  A beginning of it at the end of a piece waits for the next piece. */
#include "serve/proxy/parts.h"

#include <string.h>

enum { KEY_LEAST = 8 }; /* shorter ones are no secrets, and would be found everywhere */

void mask_begin(struct mask *m, const char *key)
{
	m->waits = 0;
	bulk_drop(&m->text, m->text.n);
	bulk_drop(&m->copy, m->copy.n);
	m->key = NULL;
	if (!key || strlen(key) < KEY_LEAST)
		return;
	bulk_add(&m->copy, key, strlen(key) + 1);
	m->key = m->copy.p;
	m->key_n = strlen(key);
}

bool mask_has(const struct mask *m, const char *value)
{
	return m->key && strstr(value, m->key);
}

/* How many of the last bytes may be the beginning of the key. */
static size_t tail_of(const struct mask *m, const char *p, size_t n)
{
	size_t most = n < m->key_n - 1 ? n : m->key_n - 1;

	for (size_t k = most; k; k--)
		if (memcmp(p + n - k, m->key, k) == 0)
			return k;
	return 0;
}

struct bytes mask_take(struct mask *m, struct bytes some)
{
	if (!m->key)
		return some;
	bool is_plain = !m->waits && !memmem(some.p, some.n, m->key, m->key_n) &&
		!tail_of(m, (const char *)some.p, some.n);
	if (is_plain)
		return some;
	/* What was given out is forgotten now, and not before: it was looked at until here. */
	bulk_drop(&m->text, m->text.n - m->waits);
	bulk_add(&m->text, some.p, some.n);
	for (char *at = m->text.p; (at = memmem(at, m->text.n - (size_t)(at - m->text.p), m->key, m->key_n));)
		memset(at, '*', m->key_n);
	m->waits = tail_of(m, m->text.p, m->text.n);
	return (struct bytes){ (const uint8_t *)m->text.p, m->text.n - m->waits };
}

struct bytes mask_rest(struct mask *m)
{
	struct bytes rest = { (const uint8_t *)m->text.p + m->text.n - m->waits, m->waits };

	m->waits = 0;
	return rest;
}

void mask_free(struct mask *m)
{
	if (m->copy.p)
		explicit_bzero(m->copy.p, m->copy.n);
	bulk_free(&m->copy);
	bulk_free(&m->text);
}
