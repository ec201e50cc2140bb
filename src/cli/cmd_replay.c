/* cmd_replay.c — replay: a pack played back, or two compared.
 *
 * Nothing is executed: the recorded decisions are followed again, link by link, and any that do not agree
 * are told. With --against the decisions of two packs are compared, for example before and after a change
 * of policy. */
#include "audit/audit.h"
#include "cli/cmd.h"

#include <fcntl.h>
#include <unistd.h>

const struct opt replay_opts[] = {
	{ "key", OPT_LIST, "KEY", "check signatures under this public key (hex or file)", NULL, false },
	{ "against", OPT_VALUE, "PACK", "compare the decisions of two packs instead", NULL, false },
	{ 0 },
};

/* Exit code 0 only when the two packs decide everything alike. */
static int show_comparison(struct cli *r, const struct json *report)
{
	bool is_same = json_get_bool(report, "identical", false);

	if (r->is_json) {
		out_json(r, report);
		return is_same ? OK : EXIT_NO;
	}
	json_each (row, json_get(report, "divergences"))
		out(r, "%s %s: %s, then %s\n", json_get_text(row, "action", ""),
			json_get_text(row, "resource", ""), json_get_text(row, "verdict_a", ""),
			json_get_text(row, "verdict_b", ""));
	out(r, "same decisions: %lld, different: %lld, only in the first pack: %lld, only in the second: %lld\n",
		(long long)json_get_int(report, "match_count", 0),
		(long long)json_get_int(report, "divergent_count", 0),
		(long long)json_get_int(report, "only_in_a", 0),
		(long long)json_get_int(report, "only_in_b", 0));
	return is_same ? OK : EXIT_NO;
}

/* Anything but COMPLETE is a "no", an empty pack as well. */
static int show_replay(struct cli *r, const struct json *report)
{
	const char *status = json_get_text(report, "status", "");
	const struct json *receipts = json_get(report, "receipts"), *runs = json_get(report, "runs");

	if (r->is_json) {
		out_json(r, report);
	} else {
		out(r,
			"%s: %lld receipts (%lld links verified, %lld signatures checked), %u runs, %lld "
			"tapes\n",
			status, (long long)json_get_int(receipts, "total_receipts", 0),
			(long long)json_get_int(receipts, "hashes_verified", 0),
			(long long)json_get_int(receipts, "signatures_checked", 0), runs->n,
			(long long)json_get_int(report, "tapes", 0));
		json_each (issue, json_get(report, "issues"))
			out(r, "  %s\n", text_safe(r->a, json_text(issue), strlen(json_text(issue)), false));
	}
	return text_eq(status, "COMPLETE") ? OK : EXIT_NO;
}

/* A pack that is not what was exported proves nothing by playing back. */
static int check_unchanged(struct cli *r, const struct pack *p, const struct trust *trust, struct err *e)
{
	struct trust asked = *trust;
	struct verification v;

	asked.allow_self_attested = !trust->key_count;
	verification_begin(&v, r->a, &asked, "evidence pack");
	verify_pack(&v, p);
	if (v.integrity != ANSWER_NO)
		return OK;
	return err_set(e, E_CORRUPT, "PACK_CHANGED",
		"the pack was changed, so playing it back shows nothing: %s; 'helm evidence verify' says more",
		v.text ? v.text : v.error);
}

/* Keys are optional: without them links are checked and signatures are not. */
int cmd_replay(struct cli *r, struct err *e)
{
	const char *against = opt_text(r, "against", NULL), **keys;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct trust trust = { .threads = cores > 1 ? (unsigned)cores : 1 };
	struct json *report;
	struct pack p, other;
	size_t n = opt_list(r, "key", &keys);
	int rc;

	for (size_t i = 0; i < n; i++)
		if ((rc = trust_add_key(r->sys, r->a, keys[i], &trust, e)))
			return rc;
	struct replay_lines *lines = replay_begin(r->a);
	struct pack_reading how = { &trust, replay_visit, lines };
	rc = verify_pack_open(r->sys, r->a, AT_FDCWD, r->args[0], &how, &p, e);
	if (rc == OK)
		rc = check_unchanged(r, &p, &trust, e);
	if (rc == OK && !against)
		rc = replay_pack(r->a, &p, &trust, lines, &report, e);
	replay_done(lines);
	if (rc || !against)
		return rc ? rc : show_replay(r, report);
	if ((rc = verify_pack_open(r->sys, r->a, AT_FDCWD, against, NULL, &other, e)) ||
		(rc = replay_compare(r->a, &p, &other, &report, e)))
		return rc;
	return show_comparison(r, report);
}
