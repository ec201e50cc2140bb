/* cmd_conform_remote.c — helm conform run --endpoint: published vectors against a boundary over HTTP.  The other program asks; this one shows. */
#include "base/text.h"
#include "base/url.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_conform.h"
#include "cli/cmd_serve.h"

#include <string.h>

enum { UNREACHABLE = 3, RUN_MS = 600000 };

static int read_options(struct cli *r, struct json **ret, struct err *e)
{
	static const char *const texts[][2] = { { "binding", "binding" }, { "token-env", "token_env" },
		{ "tenant", "tenant" }, { "principal", "principal" } };
	const char *url = opt_text(r, "endpoint", ""), *vectors = opt_text(r, "vectors", NULL),
		   *binding = opt_text(r, "binding", "effects");
	int64_t timeout_us = 5000000;
	struct json *o = json_new(r->a, JSON_OBJECT);

	if (!vectors)
		return err_set(e, E_USAGE, "USAGE",
			"--endpoint needs --vectors FILE, the published test-vectors.json");
	if (!text_starts(url, "http://") && !text_starts(url, "https://"))
		return err_set(e, E_USAGE, "USAGE", "--endpoint takes a URL: https://host:port");
	if (!url_is_private(url) && !opt_flag(r, "allow-http-remote"))
		return err_set(e, E_USAGE, "USAGE",
			"over http:// everybody on the way reads the key: use https://, or say --allow-http-remote");
	if (!text_eq(binding, "effects") && !text_eq(binding, "decide"))
		return err_set(e, E_USAGE, "USAGE", "--binding is effects or decide");
	if (opt_span(r, "timeout", &timeout_us, e))
		return e->rc;
	json_sets(r->a, o, "endpoint", url);
	json_sets(r->a, o, "vectors", vectors);
	json_seti(r->a, o, "timeout_ms", timeout_us / 1000);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (opt_text(r, texts[i][0], NULL))
			json_sets(r->a, o, texts[i][1], opt_text(r, texts[i][0], NULL));
	*ret = json_new(r->a, JSON_OBJECT);
	json_set(r->a, *ret, "conform", o);
	return OK;
}

static void show(struct cli *r, const struct json *report)
{
	static const char *const heads[] = { "VECTOR", "RESULT", "DIFFERENCE", "EXPECTED", "GOT" };
	const struct json *kinds = json_get(report, "differences");
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (row, json_get(report, "vectors")) {
		const struct json *want = json_get(row, "expected"), *got = json_get(row, "got");
		const char *cells[] = { json_get_text(row, "id", ""), json_get_text(row, "verdict", ""),
			json_get_text(row, "difference", ""),
			arena_printf(r->a, "%s %s", json_get_text(want, "verdict", ""),
				json_get_text(want, "reason_code", "")),
			got ? arena_printf(r->a, "%s %s", json_get_text(got, "verdict", ""),
				      json_get_text(got, "reason_code", ""))
			    : json_get_text(row, "why", "") };
		if (!text_eq(cells[1], "PASS"))
			out_row(t, cells, NULL);
	}
	out_table_end(t);
	out(r, "%s: %lld passed, %lld failed, %lld not run at %s\n", json_get_text(report, "result", ""),
		(long long)json_get_int(report, "passed", 0), (long long)json_get_int(report, "failed", 0),
		(long long)json_get_int(report, "not_run", 0), json_get_text(report, "endpoint", ""));
	out(r, "differences: %lld of the wire, %lld of the verdict, %lld of the code\n",
		(long long)json_get_int(kinds, "wire", 0), (long long)json_get_int(kinds, "verdict", 0),
		(long long)json_get_int(kinds, "code", 0));
	if (json_get_int(report, "allowed_where_refused", 0))
		out(r, "%lld were allowed that must be refused\n",
			(long long)json_get_int(report, "allowed_where_refused", 0));
}

int conform_endpoint(struct cli *r, struct err *e)
{
	struct json *options, *report;
	int code = 0, rc = read_options(r, &options, e);

	if (rc)
		return rc;
	rc = serve_ask(r, options, RUN_MS, &report, &code, e);
	if (rc && code == UNREACHABLE) {
		const char *why = arena_printf(r->a, "helm: %s\n", e->text);
		(void)!r->sys->write(r->sys, 2, why, strlen(why));
		return UNREACHABLE;
	}
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, report);
	else
		show(r, report);
	return code ? EXIT_NO : 0;
}
