/* hermes.c — Hermes.
 *
 * Its settings are YAML, and only the user's file is read. A denial is a document together with exit code
 * 2. A hook that crashes or takes too long blocks the call only where the entry says fail_closed, which
 * ours does. */
#include "base/text.h"
#include "clients/parts.h"

/* It knows no question, so an escalation is answered as a block, too. */
static struct json *hermes_answer(struct arena *a, const char *word, const char *text, const char *person)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	(void)word;
	(void)person;
	json_sets(a, doc, "action", "block");
	json_sets(a, doc, "message", text);
	return doc;
}

static const char *hermes_denial(const struct json *answer)
{
	return text_eq(json_get_text(answer, "action", ""), "block") ? json_get_text(answer, "message", NULL)
								     : NULL;
}

/* Its shell tool is called "terminal" and its input stands in "args". */
static struct json *hermes_payload(struct arena *a, const char *command)
{
	struct json *doc = json_new(a, JSON_OBJECT), *input = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "tool_name", "terminal");
	json_sets(a, input, "command", command);
	json_set(a, doc, "args", input);
	return doc;
}

static struct json *hermes_entry(struct arena *a, const char *command, const char *verb)
{
	struct json *one = json_new(a, JSON_OBJECT);

	(void)verb;
	json_sets(a, one, "matcher", ".*");
	json_sets(a, one, "command", command);
	json_setb(a, one, "fail_closed", true);
	json_seti(a, one, "timeout", CLIENT_TIMEOUT_S);
	return one;
}

static void hermes_look(struct client_look *l)
{
	if (!json_get_bool(l->entry, "fail_closed", false))
		json_pushs(l->a, l->warnings,
			"the entry lacks fail_closed: true: a call passes when Helm is ended by a time-out");
}

static const struct client_speech speech = {
	.deny_exit = 2, .answer = hermes_answer, .denial = hermes_denial, .payload = hermes_payload
};

static const struct client_setup setup = { .file = ".hermes/config.yaml",
	.fresh = "",
	.is_yaml = true,
	.is_flat = true,
	.is_of_user = true,
	.events = { { "pre_tool_call", "pre-tool" } },
	.entry = hermes_entry,
	.look = hermes_look };

const struct client client_hermes = { .name = "hermes",
	.title = "Hermes",
	.files = FILES({ ".hermes/config.yaml", CARE_CLOSED }),
	.speech = &speech,
	.setup = &setup };
