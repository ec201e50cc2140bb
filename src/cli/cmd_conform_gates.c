/* cmd_conform_gates.c — helm conform run --level, --profile: the gates of a level or profile over an evidence pack; and what is said of any
 * run of conformance to others: the signed report and the registry entry.
 *
 * Scales that share names are printed with theirs: gate_level, profile, spec_level, tier, protocol_level. */
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"
#include "cli/cmd_conform.h"
#include "proof/key.h"
#include "record/record.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#define REPORT_DOMAIN "HELM/ConformanceReport/v1\n"

/* ---- gates ---- */

static int read_trust(struct cli *r, struct trust *ret, struct err *e)
{
	const char *file = opt_text(r, "trust", NULL), **words;
	size_t n = opt_list(r, "key", &words);

	*ret = (struct trust){ 0 };
	for (size_t i = 0; i < n; i++)
		if (trust_add_key(r->sys, r->a, words[i], ret, e))
			return e->rc;
	return file ? trust_add_file(r->sys, r->a, file, ret, e) : OK;
}

int conform_run_gates(struct cli *r, struct json **ret, struct err *e)
{
	const char *level = opt_text(r, "level", NULL), *profile = opt_text(r, "profile", NULL);
	const char *evidence = opt_text(r, "evidence", NULL);
	struct conform_gates ask = { .jurisdiction = opt_text(r, "jurisdiction", NULL) };
	struct trust trust;
	struct pack pack;

	if (level && profile)
		return err_set(e, E_USAGE, "USAGE", "--level and --profile are two scales; give one of them");
	if (!evidence)
		return err_set(e, E_USAGE, "USAGE",
			"gates look at an evidence pack; --evidence names its directory or archive");
	if (level || profile) {
		ask.set = conform_set_find(level ? "gate_level" : "profile", level ? level : profile, e);
		if (!ask.set)
			return e->rc;
	}
	ask.only_count = opt_list(r, "gate", &ask.only);
	int rc = read_trust(r, &trust, e);
	if (rc == OK)
		rc = verify_pack_open(r->sys, r->a, AT_FDCWD, evidence, NULL, &pack, e);
	if (rc)
		return rc;
	ask.pack = &pack;
	ask.trust = &trust;
	rc = conform_gates(r->sys, r->a, &ask, ret, e);
	if (rc == OK)
		json_sets(r->a, *ret, "evidence", evidence);
	return rc;
}

void conform_show_gates(struct cli *r, const struct json *report)
{
	static const char *const headings[] = { "GATE", "", "REASONS" };
	static const char *const scales[] = { "gate_level", "profile" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));

	json_each (row, json_get(report, "gate_results")) {
		bool passed = json_get_bool(row, "pass", false);
		struct buf why;
		buf_init(&why, r->a);
		json_each (reason, json_get(row, "reasons"))
			buf_addf(&why, "%s%s", why.n ? ", " : "",
				text_safe(r->a, reason->text, reason->n, false));
		bool is_not_run = json_get_bool(row, "not_run", false);
		if (is_not_run)
			buf_adds(&why, "the pack holds nothing to look at");
		const char *cells[] = { json_get_text(row, "gate_id", ""),
			passed		     ? "pass"
				: is_not_run ? "not run"
					     : "FAIL",
			why.p };
		const enum paint paints[] = { PAINT_OFF, passed ? PAINT_GOOD : PAINT_BAD, PAINT_OFF };
		out_row(t, cells, paints);
	}
	out_table_end(t);
	for (size_t i = 0; i < ARRAY_SIZE(scales); i++)
		if (json_get(report, scales[i]))
			out(r, "%s %s: ", scales[i], json_get_text(report, scales[i], ""));
	out(r, "%s, %lld of %lld gates\n", json_get_bool(report, "pass", false) ? "passed" : "failed",
		(long long)json_get_int(report, "passed", 0),
		(long long)(json_get_int(report, "passed", 0) + json_get_int(report, "failed", 0) +
			json_get_int(report, "not_run", 0)));
	json_each (one, json_get(json_get(report, "metadata"), "not_checked"))
		out(r, "not checked: %s (this profile demands it, and no gate can see it in a pack)\n",
			json_text(one));
}

/* ---- what is said to others ---- */

/* Suites or gates, those that passed and those that did not. */
static void name_suites(struct cli *r, const struct json *report, struct json *passed, struct json *failed)
{
	const char *suite = json_get_text(report, "suite", NULL);

	json_each (row, json_get(report, "gate_results"))
		json_pushs(r->a, json_get_bool(row, "pass", false) ? passed : failed,
			json_get_text(row, "gate_id", ""));
	json_each (row, json_get(report, "suites"))
		json_pushs(r->a,
			json_get_int(row, "failed", 0) == 0 && json_get_int(row, "passed", 0) > 0 ? passed
												  : failed,
			json_get_text(row, "suite", ""));
	if (json_get(report, "gate_results") || json_get(report, "suites"))
		return;
	json_pushs(r->a,
		json_get_int(report, "failed", 0) == 0 && json_get_int(report, "passed", 0) > 0 ? passed
												: failed,
		suite ? suite : "cases");
}

/* The row of the suite v1, which has the published vectors: of a run without it nothing is claimed on those scales. */
static const struct json *vectors_of(const struct json *report)
{
	json_each (row, json_get(report, "suites"))
		if (text_eq(json_get_text(row, "suite", ""), "v1"))
			return row;
	return NULL;
}

/* Of the vectors themselves, without the fixtures beside them. */
static const char *count_of(struct cli *r, const struct json *report)
{
	int64_t passed = 0;

	json_each (row, json_get(report, "families"))
		if (text_eq(json_get_text(row, "family", ""), "vectors"))
			passed = json_get_int(row, "passed", 0);
	return arena_printf(r->a, "%lld/%lld", (long long)passed,
		(long long)json_get_int(json_get(report, "edition"), "vectors", 0));
}

/* A program gives itself no more than what it has just shown: every vector's verdict and code is level 1, and compatible.  Of a file that is
 * no published edition, whatever it calls itself, nothing follows. */
static bool shows_all(const struct json *report, const struct json *run)
{
	return run && json_get_bool(json_get(report, "edition"), "is_published", false) &&
		json_get_int(run, "passed", 0) > 0 && !json_get_int(run, "failed", 0) &&
		!json_get_int(run, "not_supported", 0);
}

static const char *version_of(const struct json *report)
{
	return json_get_text(json_get(report, "edition"), "version", "");
}

static struct json *metadata_of(struct cli *r, const struct json *report)
{
	static const char *const scales[] = { "gate_level", "profile" };
	const struct json *vectors = vectors_of(report);
	struct json *doc = json_new(r->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(scales); i++)
		if (json_get(report, scales[i]))
			json_sets(r->a, doc, scales[i], json_get_text(report, scales[i], ""));
	if (vectors) {
		json_sets(r->a, doc, "vectors_passed", count_of(r, report));
		json_sets(r->a, doc, "vectors_version", version_of(report));
		json_sets(r->a, doc, "spec_level", shows_all(report, vectors) ? "1" : "0");
		json_sets(r->a, doc, "tier", shows_all(report, vectors) ? "compatible" : "none");
	}
	json_sets(r->a, doc, "helm_version", HELM_VERSION);
	return doc;
}

int conform_registry_entry(struct cli *r, const struct json *report, struct json **ret, struct err *e)
{
	const struct json *vectors = vectors_of(report);
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (!vectors)
		return err_set(e, E_USAGE, "USAGE",
			"a registry entry counts the published vectors; run --suite v1 (or all) with --registry-entry");
	json_sets(r->a, doc, "name", "helm");
	json_sets(r->a, doc, "type", "implementation");
	json_sets(r->a, doc, "version", HELM_VERSION);
	json_sets(r->a, doc, "tier", shows_all(report, vectors) ? "compatible" : "none");
	json_seti(r->a, doc, "conformance_level", shows_all(report, vectors) ? 1 : 0);
	json_sets(r->a, doc, "vectors_passed", count_of(r, report));
	json_sets(r->a, doc, "vectors_version", version_of(report));
	json_set(r->a, doc, "last_verified",
		json_stringn(r->a, text_time_z(r->a, r->sys->now_us(r->sys)), 10));
	*ret = doc;
	return OK;
}

static int new_uuid(struct cli *r, const char **ret, struct err *e)
{
	uint8_t b[16];
	char hex[33];

	if (r->sys->random(r->sys, b, sizeof(b)))
		return err_sys(e, "RANDOM", "no random bytes");
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	hex_encode(b, sizeof(b), hex);
	*ret = arena_printf(r->a, "%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return OK;
}

static int check_revision(const char *revision, struct err *e)
{
	uint8_t sha1[20];

	return revision && hex_decode(revision, strlen(revision), sha1, sizeof(sha1), true)
		? OK
		: err_set(e, E_USAGE, "USAGE",
			  "a signed report names the revision that was tested; --revision is its 40 hexadecimal digits");
}

static struct json *report_v1(struct cli *r, const struct json *report, const char *id, const char *signer)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *passed = json_new(r->a, JSON_ARRAY),
		    *failed = json_new(r->a, JSON_ARRAY);
	struct utsname host;

	name_suites(r, report, passed, failed);
	json_sets(r->a, doc, "report_id", id);
	json_sets(r->a, doc, "timestamp", text_time_z(r->a, r->sys->now_us(r->sys)));
	json_sets(r->a, doc, "git_revision", opt_text(r, "revision", ""));
	json_sets(r->a, doc, "platform",
		uname(&host) == 0 ? arena_printf(r->a, "%s/%s", host.sysname, host.machine) : "unknown");
	json_sets(r->a, doc, "standard", "helm-conformance-v1");
	json_set(r->a, doc, "passed_suites", passed);
	json_set(r->a, doc, "failed_suites", failed);
	json_set(r->a, doc, "metadata", metadata_of(r, report));
	json_sets(r->a, doc, "signer_id", signer);
	return doc;
}

static struct bytes message_of(struct cli *r, const struct json *doc)
{
	struct buf text;

	buf_init(&text, r->a);
	buf_adds(&text, REPORT_DOMAIN);
	json_canonical(&text, doc);
	return buf_bytes(&text);
}

/* Three files beside each other, as readers of older reports know them, and the report for registries. */
static int write_files(
	struct cli *r, const struct json *report, const struct key *key, const struct json *v1, struct err *e)
{
	const char *dir = opt_text(r, "output", ".");
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct buf whole, second;

	buf_init(&whole, r->a);
	json_write(&whole, report, JSON_INDENT | JSON_SORT);
	buf_init(&second, r->a);
	json_write(&second, v1, JSON_INDENT | JSON_SORT);
	key_sign(key, buf_bytes(&whole), signature);
	hex_encode(signature, SIGN_SIZE, hex);
	const struct {
		const char *name;
		struct bytes text;
	} files[] = { { "conform_report.json", buf_bytes(&whole) },
		{ "conform_report.json.sha256", bytes_of(sha256_hex(r->a, whole.p, whole.n)) },
		{ "conform_report.json.sig", bytes_of(hex) },
		{ "conformance_report_v1.json", buf_bytes(&second) } };
	int rc = file_mkdirs(r->sys, AT_FDCWD, dir, 0755, e);
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(files); i++)
		rc = file_replace(
			r->sys, AT_FDCWD, path_join(r->a, dir, files[i].name), 0644, files[i].text, e);
	return rc;
}

int conform_sign(struct cli *r, const struct json *report, struct json **ret, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	const char *home, *uuid;
	uint8_t signature[SIGN_SIZE];
	char id[KEY_ID];
	int rc = check_revision(opt_text(r, "revision", NULL), e);

	if (rc == OK)
		rc = workspace_helm_home(r->sys, r->a, &home, e);
	if (rc == OK)
		rc = keys_load(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), &key, e);
	if (rc == OK && key_keeper(key))
		rc = err_set(e, E_DENIED, "CONFORM_SIGNER",
			"the key is kept by somebody else, who signs only what is recorded; sign the report where the key is");
	if (rc == OK)
		rc = new_uuid(r, &uuid, e);
	if (rc)
		return rc;
	key_id(key_public(key), id);
	struct json *v1 = report_v1(r, report, uuid, id);
	key_sign(key, message_of(r, v1), signature);
	json_sets(r->a, v1, "signature", base64_encode(r->a, signature, SIGN_SIZE, BASE64_STD, true));
	rc = write_files(r, report, key, v1, e);
	*ret = v1;
	return rc;
}
