/* command.c — the table of command.def, and looking a command up in it.
 *
 * A command has one word or two ("run", "task list"). The table says of each whether it only looks, acts,
 * wraps another program or controls the guard itself; the guard and the command line both read that from
 * here, so they cannot disagree. */
#include "model/command.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const struct helm_command command_table[COMMAND_COUNT] = {
#define COMMAND(id, words, class, turn, turned, group, tool) \
	{ words, COMMAND_##class, turn, COMMAND_##turned, GROUP_##group, tool },
#include "model/command.def"
#undef COMMAND
};

/* Two words are tried before one: "profile pause" is found although "profile" may be a command as well.
 * *ret_words says how many words belong to the command, so that the caller knows where its arguments
 * begin. */
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

/* Set once, before anything else runs. */
static char program[64] = "helm";

void command_be_called(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= sizeof(program) || !isalpha((unsigned char)name[0]) ||
		name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")])
		return;
	memcpy(program, name, n + 1);
}

const char *command_program(void)
{
	return program;
}

bool command_is_program(const char *name)
{
	return strcasecmp(name, "helm") == 0 || strcasecmp(name, program) == 0;
}

const char *command_class_name(enum command_class c)
{
	static const char *const names[] = { "looks", "acts", "wraps", "founds", "controls" };
	TABLE_COVERS(names, COMMAND_CLASSES);

	return names[c];
}

const char *command_group_name(enum command_group g)
{
	static const char *const names[] = { "start", "work", "look", "answer", "prove", "govern", "doors",
		"plumbing" };
	TABLE_COVERS(names, COMMAND_GROUPS);

	return names[g];
}
