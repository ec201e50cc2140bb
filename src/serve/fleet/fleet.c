/* fleet.c — the front end from start to end. */
#include "base/text.h"
#include "serve/fleet/look.h"

#include <stdlib.h>

int fleet_start(struct server *s, const struct json *doc, struct err *e)
{
	struct fleet *f = arena_zalloc(&s->a, 1, sizeof(*f));
	int patience_s = (int)json_get_int(doc, "patience_s", DATABASE_S);
	int rc = ledger_check(s->sys, &s->a, json_get_text(doc, "database", ""), patience_s, e);

	if (rc)
		return rc;
	*f = (struct fleet){ .s = s, .conninfo = json_get_text(doc, "database", "") };
	f->pool = dbpool_new(s->sys, f->conninfo, patience_s);
	s->fleet = f;
	rc = append_start(f, &f->appender, e);
	if (rc == OK)
		rc = orders_start(f, e);
	if (rc == OK)
		rc = challenges_start(f, e);
	if (rc == OK)
		rc = look_start(f, e);
	if (rc == OK)
		rc = sequence_start(f, doc, e);
	return rc;
}

void fleet_quiesce(struct server *s)
{
	if (s->fleet)
		orders_quiesce(s->fleet);
}

void fleet_stop(struct server *s)
{
	struct fleet *f = s->fleet;

	if (!f)
		return;
	orders_quiesce(f);
	append_stop(f->appender);
	sequence_stop(f);
	orders_stop(f);
	look_stop(f);
	dbpool_free(f->pool);
	s->fleet = NULL;
}
