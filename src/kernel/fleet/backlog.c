/* backlog.c — how far the ledger has what is recorded on this machine, by the chains themselves. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "kernel/workspace.h"
#include "proof/preimage.h"
#include "record/record.h"

struct newest {
	struct arena *a;
	struct json *receipt;
};

static int keep_newest(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct newest *n = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	n->receipt = receipt ? json_copy(n->a, receipt) : NULL;
	return receipt != NULL;
}

int fleet_chain_head(
	struct sys *s, struct arena *a, const struct workspace *ws, struct fleet_head *ret, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct newest n = { .a = &scratch };
	const struct receipts_wanted want = { 0 };
	struct hash h;
	int rc = receipts_back(s, ws->state_fd, &want, keep_newest, &n, e);

	if (rc == OK || rc == E_MISSING)
		*ret = (struct fleet_head){ .hash = "" };
	if (rc == E_MISSING || (rc == OK && !n.receipt))
		return OK;
	if (rc == OK)
		rc = receipt_chain_hash(&scratch, n.receipt, h.b, e);
	if (rc)
		return rc;
	const char *session = json_get_text(n.receipt, "session_id", NULL);
	ret->session = session ? arena_strdup(a, session) : NULL;
	ret->clock = json_get_int(n.receipt, "lamport_clock", 0);
	ret->hash = hash_hex(a, &h);
	return OK;
}

/* One workspace; how many receipts of it wait, -1: that cannot be known now. */
static int64_t add_chain(
	struct sys *s, struct arena *a, const char *root, const struct json *state, struct json *list)
{
	AUTO(fleet_close) struct workspace *ws = NULL;
	struct json *one = json_new(a, JSON_OBJECT);
	struct fleet_head head = { 0 };
	struct err e = { 0 };
	int rc = workspace_open(s, a, root, 0, &ws, &e);

	if (rc == OK)
		rc = fleet_chain_head(s, a, ws, &head, &e);
	json_sets(a, one, "workspace", root);
	json_push(a, list, one);
	if (rc) {
		json_sets(a, one, "error", e.text);
		return -1;
	}
	int64_t acked = head.session
		? json_get_int(json_get(json_get(state, "chains"), head.session), "acked", 0)
		: 0;
	int64_t waiting = head.clock > acked ? head.clock - acked : 0;
	if (head.session)
		json_sets(a, one, "session_id", head.session);
	json_seti(a, one, "head", head.clock);
	json_seti(a, one, "acked", acked);
	json_seti(a, one, "waiting", waiting);
	return waiting;
}

struct json *fleet_backlog(
	struct sys *s, struct arena *a, const struct json *joined, const struct json *state)
{
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	int64_t waiting = 0, unread = 0;

	json_each (root, json_get(joined, "workspaces")) {
		int64_t n = add_chain(s, a, json_text(root), state, list);
		waiting += n > 0 ? n : 0;
		unread += n < 0;
	}
	json_seti(a, doc, "waiting", waiting);
	json_seti(a, doc, "unread", unread);
	json_set(a, doc, "chains", list);
	return doc;
}
