/* copilot.c — GitHub Copilot's command line and cloud agent. It has no hook of ours yet: a write to its
 * settings is asked about, and the commands it starts are known by its mark in the environment. */
#include "clients/parts.h"

const struct client client_copilot = { .name = "copilot",
	.title = "GitHub Copilot",
	.marks = MARKS("COPILOT_AGENT"),
	.files = FILES({ ".github/hooks/", CARE_ASK }, { ".copilot/config.json", CARE_ASK },
		{ ".copilot/mcp-config.json", CARE_ASK }) };
