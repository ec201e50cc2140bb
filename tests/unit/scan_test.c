/* scan_test.c — scanning many bytes at a time against the obvious loops; scan_portable_test.c runs it again without SSE2. */
#include "base/mem.h"
#include "base/scan.h"
#include "tools/unit.h"

static size_t obvious_unescaped(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (uint8_t)p[i] >= 0x20 && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
}

static size_t obvious_plain(const char *p)
{
	size_t i = 0;

	while ((uint8_t)p[i] >= 0x20 && (uint8_t)p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
}

/* Every byte value at every place of a few vectors, against the obvious loops. */
static void test_scan(void **state)
{
	char text[40 + SCAN_PADDING] = { 0 };

	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		for (size_t at = 0; at < 40; at++) {
			memset(text, 'a' + byte % 3, 40);
			text[at] = (char)byte;
			assert_int_equal(scan_plain_ascii(text) - text, obvious_plain(text));
			for (size_t n = 0; n <= 40; n++) {
				assert_int_equal(scan_unescaped(text, n), obvious_unescaped(text, n));
				assert_int_equal(scan_is_plain(text, n), obvious_unescaped(text, n) == n);
			}
			/* Behind a match, and next to it: where borrows of the word arithmetic could reach. */
			if (at + 1 < 40) {
				text[at + 1] = (char)(byte + 1);
				assert_int_equal(scan_unescaped(text, 40), obvious_unescaped(text, 40));
				assert_int_equal(scan_special_word(scan_load(text)) == 0,
					obvious_unescaped(text, 8) == 8);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
