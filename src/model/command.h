/* command.h — the commands of this program as facts (command.def): for the command line, which runs them, and for the guard,
 * which must know what it means when an agent runs helm. */
#ifndef MODEL_COMMAND_H
#define MODEL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum command_id {
#define COMMAND(id, words, class, turn, turned, group, tool) COMMAND_##id,
#include "model/command.def"
#undef COMMAND
	COMMAND_COUNT
};

enum command_class {
	COMMAND_LOOKS,
	COMMAND_ACTS,
	COMMAND_WRAPS,
	COMMAND_FOUNDS,
	COMMAND_CONTROLS,
	COMMAND_CLASSES
};

enum command_group {
	GROUP_START,
	GROUP_WORK,
	GROUP_LOOK,
	GROUP_ANSWER,
	GROUP_PROVE,
	GROUP_GOVERN,
	GROUP_DOORS,
	GROUP_PLUMBING,
	COMMAND_GROUPS
};

struct helm_command {
	const char *name; /* "checkpoint create" */
	enum command_class class;
	const char *turn; /* an option or first argument that makes it `turned` instead, or NULL */
	enum command_class turned;
	enum command_group group;
	const char *tool; /* MCP tool name, or NULL */
};
extern const struct helm_command command_table[COMMAND_COUNT];

/* The command these words name; `second` may be NULL.  *ret_words says how many of them it took. */
const struct helm_command *command_find(const char *first, const char *second, size_t *ret_words);

/* Owner of the note by which a file is known to be this program, whatever it is called (src/cli/main.c, src/propose/programs/own.c). */
#define COMMAND_NOTE_OWNER "helm boundary"

/* What this program is called where it is installed: "helm", unless somebody gave the file another name (Kubernetes has a helm, too).  Hints, help, man
 * pages and completions name it so, and the guard knows both names.  A name that is no plain word is not taken. */
void command_be_called(const char *name);
const char *command_program(void);
bool command_is_program(const char *name);

const char *command_class_name(enum command_class c); /* "looks" */
const char *command_group_name(enum command_group g); /* "start" */

/* helm-serve reads its options from this descriptor, behind the sign. */
#define SERVE_OPTIONS_FD "--options-fd="

#endif
