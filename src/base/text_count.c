/* text_count.c — numbers as people read them: "1 receipt", "1,127", "200 of 1,127, all with ...". */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

char *text_count(struct arena *a, int64_t n, const char *one)
{
	const size_t len = strlen(one);

	if (n != 1 && len > 1 && one[len - 1] == 'y' && !strchr("aeiou", one[len - 2]))
		return arena_printf(a, "%lld %.*sies", (long long)n, (int)len - 1, one);
	return arena_printf(a, "%lld %s%s", (long long)n, one, n == 1 ? "" : "s");
}

char *text_thousands(struct arena *a, int64_t n)
{
	char digits[24];
	struct buf b;

	snprintf(digits, sizeof(digits), "%lld", (long long)n);
	size_t sign = n < 0, count = strlen(digits) - sign;
	buf_init(&b, a);
	buf_add(&b, digits, sign);
	for (size_t i = 0; i < count; i++)
		buf_addf(&b, "%s%c", i && (count - i) % 3 == 0 ? "," : "", digits[sign + i]);
	return b.p;
}

char *text_shown_of(struct arena *a, int64_t shown, int64_t total, const char *rest)
{
	return shown < total
		? arena_printf(a, "%s of %s, %s", text_thousands(a, shown), text_thousands(a, total), rest)
		: NULL;
}
