/* vscode.c — VS Code's agent mode.
 *
 * Its settings decide which tools run without a question and which servers are started, so writing them is asked about.  Newer
 * versions read hooks in Claude Code's form; we know no file of its own for them. */
#include "clients/parts.h"

static const struct client_speech speech = {
	.can_ask = true, .answer = claude_answer, .denial = claude_denial, .payload = claude_payload
};

const struct client client_vscode = { .name = "vscode",
	.title = "VS Code",
	.files = FILES({ ".vscode/settings.json", CARE_ASK }, { ".vscode/mcp.json", CARE_ASK },
		{ ".vscode/tasks.json", CARE_ASK }),
	.speech = &speech,
	.paste = "VS Code has no settings file for hooks that this program knows.  Where your version reads "
		 "Claude "
		 "Code's\nsettings, 'helm setup claude-code --scope project' guards it; otherwise let its "
		 "hook for tool calls run:" };
