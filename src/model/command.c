/* command.c — the table of command.def, and looking a command up in it. */
#include "model/command.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

const struct helm_command command_table[COMMAND_COUNT] = {
#define COMMAND(id, words, class, turn, turned, group, tool) \
	{ words, COMMAND_##class, turn, COMMAND_##turned, GROUP_##group, tool },
#include "model/command.def"
#undef COMMAND
};

const struct helm_command *command_find(const char *first, const char *second, size_t *ret_words)
{
	const struct helm_command *single = NULL;

	*ret_words = 1;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const char *name = command_table[i].name, *space = strchrnul(name, ' ');
		size_t n = (size_t)(space - name);
		if (strlen(first) != n || memcmp(first, name, n) != 0)
			continue;
		if (!*space) {
			single = &command_table[i];
		} else if (second && text_eq(space + 1, second)) {
			*ret_words = 2;
			return &command_table[i];
		}
	}
	return single;
}

const char *command_class_name(enum command_class c)
{
	static const char *const names[] = { "looks", "acts", "wraps", "controls" };

	return names[c];
}

const char *command_group_name(enum command_group g)
{
	static const char *const names[] = { "start", "work", "look", "answer", "prove", "govern", "serve",
		"plumbing" };

	return names[g];
}
