/* gemini.c — Gemini CLI. It has no hook of ours yet. Its settings hold hooks and the list of tools that
 * need no question, so they are closed to everything that is governed. */
#include "clients/parts.h"

/* The account that is active stands in a file of its own. */
static const struct client_login login = {
	.file = ".gemini/google_accounts.json", .account = "active", .newer = "expiry_date"
};

/* Without mounts HOME is the session's: it knows no variable that every version reads. */
static const struct client_session session = { .program = "gemini",
	.state = NAMES(".gemini/"),
	.closed = NAMES(".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/trustedFolders.json",
		".gemini/extensions/", ".gemini/commands/", ".gemini/policies/", ".gemini/skills/",
		".gemini/agents/"),
	.carried = CARRIED({ ".gemini/tmp/", ".json", CARRY_JSON, NULL, NULL },
		{ ".gemini/oauth_creds.json", NULL, CARRY_LOGIN,
			MEMBERS({ "access_token", MEMBER_TEXT }, { "refresh_token", MEMBER_TEXT },
				{ "id_token", MEMBER_TEXT }, { "expiry_date", MEMBER_NUMBER }),
			&login }),
	.dropped =
		NAMES(".gemini/tmp/", ".gemini/history/", ".gemini/telemetry.log", ".gemini/installation_id",
			".gemini/google_account_id", ".gemini/state.json", ".gemini/projects.json"),
	.variables = NAMES("GEMINI_", "GOOGLE_API_KEY", "GOOGLE_CLOUD_", "GOOGLE_GEMINI_", "GOOGLE_GENAI_"),
	.hosts = NAMES(
		"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"),
	.url_variable = "GOOGLE_GEMINI_BASE_URL" };

const struct client client_gemini = { .name = "gemini",
	.title = "Gemini CLI",
	.marks = MARKS("GEMINI_CLI"),
	.files = FILES({ ".gemini/settings.json", CARE_CLOSED }),
	.session = &session };
