/* fuzz_privacy.c — any text: findings are in order, inside it and apart; nothing that was found is in the tokenized text, and restoring gives
 * back every byte but the secrets. */
#include "base/text.h"
#include "fuzz.h"
#include "privacy/privacy.h"

#include <string.h>

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void scan(struct arena *a, const char *text, size_t n, unsigned labels, bool is_strict)
{
	const struct privacy_options options = { labels, is_strict };
	struct privacy_finding *found;
	size_t count = privacy_scan(a, text, n, &options, &found), end = 0;

	for (size_t i = 0; i < count; i++) {
		must(found[i].start >= end && found[i].end > found[i].start && found[i].end <= n);
		must(labels & 1u << found[i].label);
		end = found[i].end;
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *text = (const char *)data;
	unsigned personal = privacy_default_labels() & ~(1u << PRIVACY_SECRET);
	const struct privacy_options options = { personal, false };
	size_t n;

	scan(&a, text, size, privacy_default_labels(), false);
	scan(&a, text, size, (1u << PRIVACY_LABEL_COUNT) - 1, true);
	(void)privacy_redact(&a, text, size, &n);
	if (text_utf8_valid(text, size) != size || memchr(text, 0, size))
		return;
	struct json *scope = json_new(&a, JSON_OBJECT);
	const struct json *made = json_get(privacy_tokenize(&a, text, size, &options, scope, true), "text");
	const struct json *back = json_get(privacy_restore(&a, made->text, made->n, scope), "text");
	must(back->n == size && memcmp(back->text, text, size) == 0);
}
