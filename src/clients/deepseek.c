/* deepseek.c — the DeepSeek harness.
 *
 * It loads hooks through a plugin that is named in a YAML patch of its own. That file cannot be edited in
 * place safely, so setup prints what a person pastes. */
#include "base/text.h"
#include "clients/parts.h"

/* It knows no question, so an escalation is answered as a denial, too. */
static struct json *deepseek_answer(struct arena *a, const char *word, const char *text, const char *person)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	(void)word;
	(void)person;
	json_sets(a, doc, "kind", "deny");
	json_sets(a, doc, "reason", text);
	return doc;
}

static const char *deepseek_denial(const struct json *answer)
{
	return text_eq(json_get_text(answer, "kind", ""), "deny") ? json_get_text(answer, "reason", NULL)
								  : NULL;
}

static const struct client_speech speech = { .deny_exit = 2,
	.wants_stderr = true,
	.answer = deepseek_answer,
	.denial = deepseek_denial,
	.payload = claude_payload };

const struct client client_deepseek = { .name = "deepseek",
	.title = "the DeepSeek harness",
	.files = FILES({ ".dsh/hooks.json", CARE_CLOSED }, { ".dsh/cordis.patch.yml", CARE_CLOSED }),
	.speech = &speech,
	.paste = "The DeepSeek harness loads hooks by a plugin named in a YAML file, which cannot be edited "
		 "byte "
		 "for byte.\n"
		 "Enable @deepseek-ai/dsh-hooks-claude-code in cordis.patch.yml with configPath "
		 "~/.dsh/hooks.json and\nfail_closed: true, and let that file run, before every tool:" };
