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

static bool is_unseen(uint32_t cp)
{
	static const uint32_t alone[] = { 0xad, 0x34f, 0x115f, 0x1160, 0x180e, 0x200b, 0x3164, 0xfeff,
		0xffa0 };

	for (size_t i = 0; i < ARRAY_SIZE(alone); i++)
		if (cp == alone[i])
			return true;
	return (cp >= 0x2060 && cp <= 0x2064) || (cp >= 0xe0000 && cp <= 0xe007f);
}

/* Some scripts, and pictures, are joined by characters without a width; ASCII is not. */
bool memory_has_unseen(const char *text)
{
	size_t n = strlen(text);
	uint32_t cp, before = 0;

	for (size_t i = 0, len; i < n; i += len) {
		len = text_decode(text + i, n - i, &cp);
		if (!len) {
			len = 1;
			cp = 0xfffd;
		}
		bool joins = cp == 0x200c || cp == 0x200d;
		unsigned char next = (unsigned char)text[i + len];
		if (is_unseen(cp) || (joins && (before < 0x80 || next < 0x80)))
			return true;
		before = cp;
	}
	return false;
}

const char *memory_lower(struct arena *a, const char *text, size_t n)
{
	const char *clean = text_utf8(a, text, n, TEXT_BYTE, &n);

	return text_fold(a, clean, n);
}

bool memory_time(const char *text, int64_t *ret_us)
{
	static const char *const endings[] = { "", "Z", ":00Z", "T00:00:00Z" };
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
