/* plain.c — words in text, as people mean them: "tag" is not in "stage". */
#include "remember/parts.h"

#include <string.h>

static bool is_part_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(unsigned char)c >= 0x80;
}

static bool is_ascii(const char *s)
{
	while (*s && (unsigned char)*s < 0x80)
		s++;
	return !*s;
}

bool memory_has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	if (!is_ascii(word))
		return strstr(text, word) != NULL;
	for (const char *at = text; n && (at = strstr(at, word)); at++)
		if ((at == text || !is_part_of_word(at[-1])) && !is_part_of_word(at[n]))
			return true;
	return false;
}

const char *memory_lower(struct arena *a, const char *text, size_t n)
{
	const char *clean = text_utf8(a, text, n, TEXT_BYTE, &n);

	return text_fold(a, clean, n);
}

bool memory_time(const char *text, int64_t *ret_us)
{
	static const char *const endings[] = { "", "Z", "T00:00:00Z" };
	char whole[64];
	size_t n = strlen(text);

	for (size_t i = 0; i < ARRAY_SIZE(endings) && n + strlen(endings[i]) < sizeof(whole); i++) {
		memcpy(whole, text, n);
		memcpy(whole + n, endings[i], strlen(endings[i]) + 1);
		if (n > 10 && whole[10] == ' ')
			whole[10] = 'T';
		if (text_parse_time(whole, strlen(whole), ret_us))
			return true;
	}
	return false;
}
