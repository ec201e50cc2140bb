/* fuzz_authority.c — any bytes as a URL, and as a document from outside: manifest, fence command, envelope, recorded run.  A host that was read
 * reads again as itself. */
#include "audit/conform/workstation.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "fuzz.h"

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void read_host(struct arena *a, struct bytes text)
{
	const char *url = arena_strndup(a, (const char *)text.p, text.n), *why;
	struct authority to, again;

	if (!authority_of(a, url, &to, &why))
		return;
	must(authority_of(a, to.host, &again, &why) && text_eq(again.host, to.host));
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes text = { data, size };
	struct fence_kernel by = { "k", "00", NULL };
	struct a2a_local us = { .receipt_id = "r" };
	struct workstation_run run = { .manifest = text, .diff = text, .validation = text, .events = text };
	struct json *doc, *state, *ack;
	enum fence_outcome how;
	struct err e;

	read_host(&a, text);
	(void)threat_scan(&a, (const char *)data, size);
	(void)!workstation_import(&a, &run, NULL, &doc, &e);
	if (json_parse(&a, text, "fuzz", NULL, &doc, &e))
		return;
	(void)!capability_manifest_check(&a, doc, &e);
	(void)!capability_plan_check(&a, doc, doc, &e);
	must(fence_apply(&a, NULL, doc, doc, &by, 0, &how, &state, &ack, &e) != OK);
	must(!json_get_bool(a2a_negotiate(&a, doc, &us), "accepted", true));
}
