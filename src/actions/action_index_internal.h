/* action_index_internal.h — inside actions/: what action_index.c (making rows) and action_find.c (asking for them) share. */
#ifndef ACTIONS_ACTION_INDEX_INTERNAL_H
#define ACTIONS_ACTION_INDEX_INTERNAL_H

#include "actions/action_index.h"
#include "record/db.h"

struct action_index {
	struct sys *sys;
	struct arena *a;
	const struct workspace *ws;
	struct db *db;
	struct actions_of whose;
	int64_t on_disk; /* receipts: those behind it are not known to be there */
	unsigned texts_read; /* of what was asked, one by one */
	bool has_texts; /* all that are kept stand in the table `texts` of this connection */
	struct json *questions; /* {approval_id: entry} of those that are open; NULL: not asked for yet */
};

#endif
