/* openclaw.c — OpenClaw.  Its directory holds settings, state and the record of what it did: all of it is closed. */
#include "clients/parts.h"

const struct client client_openclaw = { .name = "openclaw",
	.title = "OpenClaw",
	.marks = MARKS("OPENCLAW_TASK_ID"),
	.files = FILES({ ".openclaw/", CARE_CLOSED }) };
