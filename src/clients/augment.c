/* augment.c — Augment's command line.  No hook of ours yet: its settings hold hooks and tool permissions. */
#include "clients/parts.h"

const struct client client_augment = { .name = "augment",
	.title = "Augment",
	.marks = MARKS("AUGMENT_AGENT"),
	.files =
		FILES({ ".augment/settings.json", CARE_ASK }, { ".augment/settings.local.json", CARE_ASK }) };
