/* copilot.c — GitHub Copilot's command line and cloud agent. It has no hook of ours yet: a write to its
 * settings is asked about, and the commands it starts are known by its mark in the environment. */
#include "clients/parts.h"

/* config.json holds its login beside trusted directories and settings, and does not come back.  Without mounts HOME is the session's. */
static const struct client_session session = { .program = "copilot",
	.state = NAMES(".copilot/"),
	.closed = NAMES(".copilot/hooks/", ".copilot/mcp-config.json", ".copilot/agents/", ".copilot/skills/",
		".copilot/copilot-instructions.md", ".copilot/lsp-config.json"),
	.carried = CARRIED({ ".copilot/session-state/", ".jsonl", CARRY_LINES, NULL, NULL },
		{ ".copilot/history-session-state/", ".json", CARRY_JSON, NULL, NULL }),
	.dropped = NAMES(".copilot/logs/", ".copilot/session-state/", ".copilot/pkg/", ".copilot/tmp/",
		".copilot/command-history-state.json", ".copilot/session-store.db*"),
	.variables = NAMES("COPILOT_"),
	.hosts = NAMES("api.githubcopilot.com", "api.individual.githubcopilot.com",
		"api.business.githubcopilot.com", "api.enterprise.githubcopilot.com", "api.github.com") };

const struct client client_copilot = { .name = "copilot",
	.title = "GitHub Copilot",
	.marks = MARKS("COPILOT_AGENT"),
	.files = FILES({ ".github/hooks/", CARE_ASK }, { ".copilot/config.json", CARE_ASK },
		{ ".copilot/mcp-config.json", CARE_ASK }),
	.session = &session };
