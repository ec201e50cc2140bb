/* gemini.c — Gemini CLI. It has no hook of ours yet. Its settings hold hooks and the list of tools that
 * need no question, so they are closed to everything that is governed. */
#include "clients/parts.h"

const struct client client_gemini = { .name = "gemini",
	.title = "Gemini CLI",
	.marks = MARKS("GEMINI_CLI"),
	.files = FILES({ ".gemini/settings.json", CARE_CLOSED }) };
