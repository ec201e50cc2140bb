/* cline.c — Cline. It has no hook of ours yet. It runs the programs in its hooks directory around every
 * tool call, so a write there is asked about. */
#include "clients/parts.h"

const struct client client_cline = { .name = "cline",
	.title = "Cline",
	.marks = MARKS("CLINE_ACTIVE"),
	.files = FILES({ ".clinerules/hooks/", CARE_ASK }) };
