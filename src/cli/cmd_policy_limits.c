/* cmd_policy_limits.c — helm policy limits: what the policy in use bounds, who has drawn on it, and what is left.
 *
 * The figures are the sum over the chain of this moment; nothing is written. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_policy.h"
#include "decide/bounds/bounds.h"
#include "kernel/posture.h"

/* Cents as people write money. */
static const char *amount_of(
	struct cli *r, const struct json *limit, const struct json *row, const char *name)
{
	long long n = (long long)json_get_int(row, name, 0);

	if (text_eq(json_get_text(limit, "unit", ""), "cents") &&
		!text_eq(json_get_text(limit, "kind", ""), "risk"))
		return arena_printf(r->a, "%lld.%02lld", n / 100, n % 100);
	return arena_printf(r->a, "%lld", n);
}

static void print_limits(struct cli *r, const struct json *view)
{
	static const char *const headings[] = { "LIMIT", "KIND", "WHO", "USED", "HELD", "LEFT", "OF",
		"SINCE" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));

	json_each (limit, view)
		json_each (row, json_get(limit, "rows")) {
			const char *who = json_get_text(row, "who", "");
			const char *cells[] = { policy_shown(r, json_get_text(limit, "id", "")),
				json_get_text(limit, "kind", ""), *who ? policy_shown(r, who) : "(all)",
				amount_of(r, limit, row, "used"), amount_of(r, limit, row, "held"),
				amount_of(r, limit, row, "left"), amount_of(r, limit, limit, "limit"),
				json_get_text(limit, "since", "") };
			out_row(t, cells, NULL);
		}
	out_table_end(t);
}

int cmd_policy_limits(struct cli *r, struct err *e)
{
	AUTO(drawn_done) struct drawn drawn = { 0 };
	const struct json *entry;
	const char *home;
	struct policy_file f;
	int rc = policy_file_or_used(r, r->arg_count ? r->args[0] : NULL, &f, &entry, e);

	if (rc && text_eq(e->code, "POLICY_NONE"))
		return err_set(e, E_MISSING, "POLICY_NONE",
			"no policy is in use here; 'helm policy limits FILE' shows those of a file, and 'helm policy use FILE' puts one in use");
	if (rc == OK)
		rc = workspace_helm_home(r->sys, r->a, &home, e);
	if (rc == OK)
		rc = draws_look(r->sys, r->ws->state_fd, path_join(r->a, home, "keys"), &drawn, e);
	if (rc)
		return rc;
	const char *elsewhere = entry ? policy_counted_at(posture_of(r->sys, r->ws), entry) : NULL;
	const struct limits *limits = ruleset_limits(f.rules);
	struct json *view = limits ? limits_view(r->a, limits, &drawn, r->sys->now_us(r->sys))
				   : json_new(r->a, JSON_ARRAY);
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "policy", ruleset_sha256(f.rules));
		json_sets(r->a, doc, "counted_at", elsewhere);
		json_set(r->a, doc, "limits", view);
		out_json(r, doc);
	} else if (!view->n) {
		out(r, "The policy has no budgets, windows or buckets.\n");
	} else if (elsewhere) {
		out(r, "This place does not stand alone: what the policy bounds is counted in %s, and denied here.\n",
			policy_shown(r, elsewhere));
	} else {
		print_limits(r, view);
	}
	return 0;
}
