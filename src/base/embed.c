/* embed.c — looking up files that the build put into the program. */
#include "base/embed.h"

#include <string.h>

struct embedded {
	const char *name;
	const uint8_t *p;
	uint64_t n;
};
extern const struct embedded embed_table[];
extern const uint64_t embed_count;

bool embed_at(size_t i, const char **ret_name, struct bytes *ret)
{
	if (i >= embed_count)
		return false;
	*ret_name = embed_table[i].name;
	*ret = (struct bytes){ embed_table[i].p, embed_table[i].n };
	return true;
}

/* The table is sorted by name. */
bool embed_find(const char *name, struct bytes *ret)
{
	size_t low = 0, high = embed_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name, embed_table[mid].name);
		if (c == 0) {
			*ret = (struct bytes){ embed_table[mid].p, embed_table[mid].n };
			return true;
		}
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return false;
}
