/* conformance.c — gates run over what this workspace has on record, now; each report is kept as a receipt.
 *
 * No vectors are shipped: those of a file that HELM_CONFORMANCE_VECTORS names are listed as they stand there. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/act.h"
#include "serve/http/http.h"

#include <fcntl.h>
#include <string.h>

#define REPORT_EFFECT "helm.conformance/report"
enum { PACK_MOST = 256 << 20, VECTORS_MOST = 8 << 20, REPORTS_MOST = 1000 };

/* ---- running ---- */

static int pack_of_all(struct call *c, struct pack *ret, struct err *e)
{
	struct sys *s = c->server->sys;
	const char *name = arena_printf(c->a, ".export-%s.tar", c->request_id);
	AUTO(evidence_close) struct evidence found = { 0 };
	const struct evidence_choice all = { 0 };
	struct pack_written written;
	struct bytes archive;
	int fd = c->server->ws->state_fd;
	int rc = evidence_collect(s, c->a, fd, &all, &found, e);

	if (rc == OK && found.total_bytes > PACK_MOST)
		return call_refuse(c, e, 413, "TOO_LARGE",
			"the record is too long for this: helm conform run --evidence takes a pack of any length");
	if (rc == OK)
		rc = pack_write(s, c->a, fd, name, &found.about, found.items, found.n, c->k->recorder.key,
			&written, e);
	if (rc == OK)
		rc = file_read(s, c->a, fd, name, PACK_MOST, 0, &archive, e);
	(void)s->unlink(s, fd, name, 0);
	return rc ? rc : verify_pack_bytes(c->a, archive, ret, e);
}

/* As the SDKs know it: each gate PASS or FAIL. */
static struct json *result_of(struct call *c, const char *level, const struct json *report)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *details = json_new(c->a, JSON_OBJECT);
	int64_t failed = 0;

	json_each (gate, json_get(report, "gate_results")) {
		bool is_passed = json_get_bool(gate, "pass", false);
		json_sets(c->a, details, json_get_text(gate, "gate_id", json_get_text(gate, "id", "?")),
			is_passed ? "PASS" : "FAIL");
		failed += !is_passed;
	}
	json_sets(c->a, doc, "report_id", json_get_text(report, "run_id", c->request_id));
	json_sets(c->a, doc, "level", level);
	json_sets(c->a, doc, "verdict", json_get_bool(report, "pass", false) ? "PASS" : "FAIL");
	json_seti(c->a, doc, "gates", details->n);
	json_seti(c->a, doc, "failed", failed);
	json_set(c->a, doc, "details", details);
	return doc;
}

static int keep(struct call *c, const struct json *result, struct err *e)
{
	struct json *about = json_new(c->a, JSON_OBJECT), *receipt;

	json_set(c->a, about, "conformance", json_copy(c->a, result));
	json_sets(c->a, about, "tenant", c->who.tenant);
	return act_record(c->k, c->a,
		&(struct act){ .effect_id = REPORT_EFFECT,
			.type = "report",
			.output_hash = json_sha256(c->a, result),
			.executor_id = c->who.principal,
			.about = about },
		&receipt, e);
}

static int run(struct call *c, struct err *e)
{
	const char *level = json_get_text(c->body, "level", ""),
		   *profile = json_get_text(c->body, "profile", NULL);
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct conform_gates ask = { .trust = &trust };
	struct err why = { 0 };
	struct json *report, *result;
	struct pack pack;

	ask.set = profile ? conform_set_find("profile", profile, &why)
			  : conform_set_find("gate_level", level, &why);
	if (!ask.set)
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s", why.text);
	if (key_keeper(c->k->recorder.key))
		return call_refuse(
			c, e, 501, "NOT_OFFERED", "the key is kept by a signer, which signs no packs");
	memcpy(own.key, key_public(c->k->recorder.key), KEY_SIZE);
	call_hold(c);
	int rc = pack_of_all(c, &pack, e);
	ask.pack = &pack;
	if (rc == OK)
		rc = conform_gates(c->server->sys, c->a, &ask, &report, e);
	if (rc)
		return rc;
	result = result_of(c, profile ? profile : level, report);
	rc = keep(c, result, e);
	if (rc == OK)
		call_answer(c, 200, result);
	return rc;
}

/* ---- reports ---- */

static int read_reports(struct call *c, struct json **ret, struct err *e)
{
	struct receipts_filter w = receipts_mine(c);
	struct receipts_page page;

	w.effect = REPORT_EFFECT;
	int rc = receipts_page(c, &w, 0, REPORTS_MOST, &page, e);

	*ret = json_new(c->a, JSON_ARRAY);
	if (rc == OK)
		json_each (receipt, page.list)
			json_push(c->a, *ret, json_get(json_get(receipt, "metadata"), "conformance"));
	return rc;
}

static int reports(struct call *c, struct err *e)
{
	struct json *list;
	int rc = read_reports(c, &list, e);

	if (rc == OK)
		call_answer(c, 200, list);
	return rc;
}

static int report(struct call *c, struct err *e)
{
	struct json *list;
	int rc = read_reports(c, &list, e);

	if (rc)
		return rc;
	json_each (one, list)
		if (text_eq(json_get_text(one, "report_id", ""), c->args[0])) {
			call_answer(c, 200, one);
			return OK;
		}
	return call_refuse(c, e, 404, "NOT_FOUND", "there is no such report");
}

/* ---- vectors ---- */

static int vectors(struct call *c, struct err *e)
{
	struct sys *s = c->server->sys;
	const char *file = s->getenv(s, "HELM_CONFORMANCE_VECTORS");
	struct json *doc = NULL;
	struct bytes text;
	int rc = OK;

	if (file && (rc = file_read(s, c->a, AT_FDCWD, file, VECTORS_MOST, FILE_FOLLOW, &text, e)) == OK)
		rc = json_parse(c->a, text, "vectors", NULL, &doc, e);
	if (rc)
		return rc;
	const struct json *list = json_is(doc, JSON_ARRAY) ? doc : json_get(doc, "vectors");
	call_answer(c, 200, json_is(list, JSON_ARRAY) ? list : json_new(c->a, JSON_ARRAY));
	return OK;
}

const struct route http_conformance_routes[] = {
	{ "POST", "/api/v1/conformance/run", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, TAKES_JSON, run,
		"run the gates of a level or profile over the record", "ConformanceRun",
		"ConformanceResult" },
	{ "GET", "/api/v1/conformance/reports", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, reports,
		"reports on record", NULL, "[]ConformanceResult" },
	{ "GET", "/api/v1/conformance/reports/{id}", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, report,
		"one of them", NULL, "ConformanceResult" },
	{ "GET", "/api/v1/conformance/vectors", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, vectors,
		"vectors of the file that HELM_CONFORMANCE_VECTORS names", NULL, "[]Vector" },
	{ "GET", "/api/v1/conformance/negative", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, vectors, "the same", NULL,
		"[]Vector" },
	{ 0 },
};
