/* parts.h — inside clients/: the rows, and what several clients have in common. */
#ifndef CLIENTS_PARTS_H
#define CLIENTS_PARTS_H

#include "clients/clients.h"

/* In the order in which lists name them. */
#define CLIENTS(X) \
	X(claude_code) \
	X(codex) \
	X(cursor) \
	X(hermes) \
	X(deepseek) \
	X(vscode) \
	X(copilot) \
	X(gemini) \
	X(opencode) \
	X(openclaw) \
	X(augment) \
	X(cline)

#define CLIENTS_ROW(id) extern const struct client client_##id;
CLIENTS(CLIENTS_ROW)
#undef CLIENTS_ROW

/* Lists inside a row. */
#define MARKS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define FILES(...) ((const struct client_file[]){ __VA_ARGS__, { NULL, CARE_NONE } })

#define CARRIED(...) ((const struct client_carry[]){ __VA_ARGS__, { 0 } })
#define MEMBERS(...) ((const struct client_member[]){ __VA_ARGS__, { 0 } })

enum { CLIENT_TIMEOUT_S = 30 };

/* The words of Claude Code, which others took over. */
struct json *claude_answer(struct arena *a, const char *word, const char *text, const char *person);
struct json *claude_rewrite(struct arena *a, const char *word, const struct tool_call *call,
	const char *command, const char *text);
const char *claude_denial(const struct json *answer);
struct json *claude_remark(struct arena *a, const char *text);
struct json *claude_payload(struct arena *a, const char *command);
/* Its entry without what only its own newer versions know. */
struct json *claude_entry_plain(struct arena *a, const char *command, const char *verb);

/* A settings file of JSON wherever it lies, links followed; NULL when it cannot be read. */
struct json *client_read_json(const struct client_look *l, const char *path);

static inline void look_is(struct client_look *l, const char *state, const char *detail)
{
	l->state = state;
	l->detail = detail;
}

#endif
