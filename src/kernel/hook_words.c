/* hook_words.c — what a client is told about a call: what the hook writes, and the exit code that goes with it.
 *
 * Clients take a crash or an unexpected exit code for "go on", so every error is an answer, too.  An allowed call gets no answer at all: saying
 * "allow" would switch off the client's own questions.  Only a shell call that is to run inside the walls, or once outside of them, is
 * answered, with another command. */
#include "base/text.h"
#include "kernel/hook.h"
#include "model/command.h"

#include <string.h>

enum { BLOCK = 2 }; /* the exit code that every client takes for "no" */

static struct bytes line_of(struct arena *a, const struct json *doc)
{
	struct buf line;

	buf_init(&line, a);
	json_write(&line, doc, 0);
	buf_addc(&line, '\n');
	return buf_bytes(&line);
}

/* A client that cannot ask its person gets a denial in the place of a question. */
static void refuse(struct arena *a, const struct client *c, bool ask, const char *text, const char *person,
	struct hook_said *ret)
{
	const char *word = ask && c->speech->can_ask ? "ask" : "deny";

	*ret = (struct hook_said){ .exit_code = c->speech->deny_exit,
		.out = line_of(a, c->speech->answer(a, word, text, person)) };
	if (c->speech->wants_stderr)
		ret->err = bytes_of(text);
}

/* Which of our parts was missing, as a code that the model and a person can act on. */
static const char *failure_code(const struct err *e)
{
	if (text_starts(e->code, "KEY_") || text_eq(e->code, "HOME_UNSET") || text_eq(e->code, "LOG_KEY"))
		return "[INBOX_SIGNER_UNAVAILABLE] the signer is unavailable";
	/* The payload is read by now, so what is no JSON is a file that says what is permitted. */
	if (text_starts(e->code, "PROFILE_") || text_starts(e->code, "TOOL_GROUPS") ||
		text_starts(e->code, "ACCEPT_") || text_starts(e->code, "JSON_"))
		return "[INBOX_POLICY_PROFILE_UNAVAILABLE] the policy profile is unavailable";
	if (text_starts(e->code, "HOOK_"))
		return "[SCHEMA_VIOLATION] the call could not be read";
	return "[INBOX_RECEIPT_PERSISTENCE_UNAVAILABLE] receipt persistence is unavailable";
}

void hook_say_failure(struct arena *a, const struct client *c, const struct err *e, struct hook_said *ret)
{
	const char *text = arena_printf(a,
		"HELM denied this call because it could not be decided on record: %s: %s. "
		"Remediation: a person should run '%s doctor'.",
		failure_code(e), e->text, command_program());

	text = text_safe(a, text, strlen(text), false);
	/* A payload that is none may not come from the client we think: only the exit code is understood by all of them. */
	if (!c || text_starts(e->code, "HOOK_"))
		*ret = (struct hook_said){ .exit_code = BLOCK, .err = bytes_of(text) };
	else
		refuse(a, c, false, text, "Helm could not decide this on record", ret);
}

void hook_say_late(struct arena *a, const struct client *c, struct hook_said *ret)
{
	refuse(a, c, false,
		arena_printf(a,
			"HELM denied this call: it could not be decided in time. "
			"Remediation: try again; a person should run '%s doctor'.",
			command_program()),
		"Helm ran out of time", ret);
}

/* The same call inside the walls, or once outside.  There no question is needed, so "allow" says that the client need not put its own. */
static struct json *wrap(struct arena *a, const struct client *c, const struct tool_call *call,
	const struct hook_answer *answer)
{
	bool asks = answer->verdict == V_ESCALATE;

	return c->speech->rewrite(a, asks ? "ask" : "allow", call,
		answer->instead ? answer->instead : answer->contained,
		asks ? answer->text
			: answer->instead
			? "a person has permitted it: it is carried out outside the walls, once"
			: "it runs inside the walls of its profile");
}

void hook_say_before(struct arena *a, const struct client *c, const struct tool_call *call,
	const struct hook_answer *answer, struct hook_said *ret)
{
	bool is_allowed = answer->verdict == V_ALLOW;

	*ret = (struct hook_said){ 0 };
	if (answer->contained || (is_allowed && answer->instead && c->speech->rewrite))
		ret->out = line_of(a, wrap(a, c, call, answer));
	else if (!is_allowed)
		refuse(a, c, answer->verdict == V_ESCALATE && !answer->is_asked_elsewhere, answer->text,
			answer->short_text, ret);
}

void hook_say_after(struct arena *a, const struct client *c, const char *text, struct hook_said *ret)
{
	*ret = (struct hook_said){ 0 };
	if (text && c->speech->remark)
		ret->out = line_of(a, c->speech->remark(a, text));
}
