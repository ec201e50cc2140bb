/* gemini.c — Gemini CLI.  No hook of ours yet: its settings, which hold hooks and what needs no question, are closed. */
#include "clients/parts.h"

const struct client client_gemini = { .name = "gemini",
	.title = "Gemini CLI",
	.marks = MARKS("GEMINI_CLI"),
	.files = FILES({ ".gemini/settings.json", CARE_CLOSED }) };
