/* embed.c — looking up files that the build put into the program: shipped profiles, rules, schemas and
 * pages.
 *
 * They are in the program so that it works without an installation directory, and so that nobody changes
 * the shipped rules without changing the program. */
#include "base/embed.h"

#include <string.h>

/* Written by cmake/embed.cmake. Names and contents are given as distances from the start of the table and
 * not as pointers, so the table needs no relocation when the program starts. */
struct embedded {
	int32_t name, content;
	uint32_t n;
};
extern const struct embedded embed_table[];
extern const uint64_t embed_count;

static const char *at_distance(int32_t distance)
{
	return (const char *)embed_table + distance;
}

bool embed_at(size_t i, const char **ret_name, struct bytes *ret)
{
	if (i >= embed_count)
		return false;
	*ret_name = at_distance(embed_table[i].name);
	*ret = (struct bytes){ (const uint8_t *)at_distance(embed_table[i].content), embed_table[i].n };
	return true;
}

/* A binary search: the build sorts the table by name. */
static const struct embedded *find(const char *name)
{
	size_t low = 0, high = embed_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name, at_distance(embed_table[mid].name));
		if (c == 0)
			return &embed_table[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

bool embed_find(const char *name, struct bytes *ret)
{
	const struct embedded *row = find(name);

	if (row)
		*ret = (struct bytes){ (const uint8_t *)at_distance(row->content), row->n };
	return row;
}
