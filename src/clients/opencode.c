/* opencode.c — OpenCode. It has no hook of ours yet. Its settings name permissions and servers, and
 * plugins that lie beside them are loaded without a question, so a write to either is asked about. */
#include "clients/parts.h"

const struct client client_opencode = { .name = "opencode",
	.title = "OpenCode",
	.marks = MARKS("OPENCODE"),
	.files = FILES({ "opencode.json", CARE_ASK }, { "opencode.jsonc", CARE_ASK },
		{ ".opencode/opencode.json", CARE_ASK }, { ".opencode/opencode.jsonc", CARE_ASK },
		{ ".opencode/plugin/", CARE_ASK }, { ".opencode/plugins/", CARE_ASK },
		{ ".config/opencode/opencode.json", CARE_ASK },
		{ ".config/opencode/opencode.jsonc", CARE_ASK }, { ".config/opencode/config.json", CARE_ASK },
		{ ".config/opencode/plugin/", CARE_ASK }, { ".config/opencode/plugins/", CARE_ASK }) };
