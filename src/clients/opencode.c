/* opencode.c — OpenCode. It has no hook of ours yet. Its settings name permissions and servers, and
 * plugins that lie beside them are loaded without a question, so a write to either is asked about. */
#include "clients/parts.h"

/* Its sessions are JSON documents below storage/, or in newer versions a database, which holds permissions as well and stays aside.  bin/ has programs that
 * it starts; auth.json has keys of many services and no account.  Without mounts HOME is the session's: four variables would have to agree. */
static const struct client_session session = { .program = "opencode",
	.state = NAMES(".local/share/opencode/", ".config/opencode/", ".local/state/opencode/"),
	.closed = NAMES(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc",
		".config/opencode/config.json", ".config/opencode/AGENTS.md", ".config/opencode/plugin/",
		".config/opencode/plugins/", ".config/opencode/command/", ".config/opencode/agent/"),
	.carried = CARRIED({ ".local/share/opencode/storage/session/", ".json", CARRY_JSON, NULL, NULL },
		{ ".local/share/opencode/storage/message/", ".json", CARRY_JSON, NULL, NULL },
		{ ".local/share/opencode/storage/part/", ".json", CARRY_JSON, NULL, NULL },
		{ ".local/share/opencode/storage/todo/", ".json", CARRY_JSON, NULL, NULL }),
	.dropped = NAMES(".local/share/opencode/log/", ".local/share/opencode/snapshot/",
		".local/share/opencode/bin/", ".local/share/opencode/tool-output/",
		".local/share/opencode/storage/", ".local/state/opencode/", ".config/opencode/node_modules/",
		".config/opencode/bun.lock", ".config/opencode/package.json", ".config/opencode/.gitignore"),
	.variables = NAMES(
		"OPENCODE_", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
	.hosts = NAMES("opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai") };

const struct client client_opencode = { .name = "opencode",
	.title = "OpenCode",
	.marks = MARKS("OPENCODE"),
	.files = FILES({ "opencode.json", CARE_ASK }, { "opencode.jsonc", CARE_ASK },
		{ ".opencode/opencode.json", CARE_ASK }, { ".opencode/opencode.jsonc", CARE_ASK },
		{ ".opencode/plugin/", CARE_ASK }, { ".opencode/plugins/", CARE_ASK },
		{ ".config/opencode/opencode.json", CARE_ASK },
		{ ".config/opencode/opencode.jsonc", CARE_ASK }, { ".config/opencode/config.json", CARE_ASK },
		{ ".config/opencode/plugin/", CARE_ASK }, { ".config/opencode/plugins/", CARE_ASK }),
	.session = &session };
