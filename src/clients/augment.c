/* augment.c — Augment's command line. It has no hook of ours yet. Its settings hold hooks and tool
 * permissions, so a write to them is asked about. */
#include "clients/parts.h"

const struct client client_augment = { .name = "augment",
	.title = "Augment",
	.marks = MARKS("AUGMENT_AGENT"),
	.files =
		FILES({ ".augment/settings.json", CARE_ASK }, { ".augment/settings.local.json", CARE_ASK }) };
