/* copilot.c — GitHub Copilot's command line and cloud agent.  No hook of ours yet: its settings are watched, and it is known by its mark. */
#include "clients/parts.h"

const struct client client_copilot = { .name = "copilot",
	.title = "GitHub Copilot",
	.marks = MARKS("COPILOT_AGENT"),
	.files = FILES({ ".github/hooks/", CARE_ASK }, { ".copilot/config.json", CARE_ASK },
		{ ".copilot/mcp-config.json", CARE_ASK }) };
