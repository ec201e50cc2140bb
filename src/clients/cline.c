/* cline.c — Cline.  No hook of ours yet: programs in its hooks directory are run around every tool call. */
#include "clients/parts.h"

const struct client client_cline = { .name = "cline",
	.title = "Cline",
	.marks = MARKS("CLINE_ACTIVE"),
	.files = FILES({ ".clinerules/hooks/", CARE_ASK }) };
