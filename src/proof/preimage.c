/* preimage.c — the exact bytes that records sign and hash; see preimage.h.
 *
 * Signers and verifiers both come here, so there is one definition of what a signature covers.  Most
 * preimages are projections: a table (model/records.h) lists the members, in order, with their types and
 * what happens when one is absent, and projection_write refuses what does not fit.  What the tables cannot
 * express stands here: members that are computed, texts that are normalised, and the old colon-joined
 * forms.
 *
 * A verifier must never get different bytes for one record depending on its mood.  Each function therefore
 * either gives the one preimage that the record's version tag selects, or fails. */
#include "proof/preimage.h"

#include "model/records.h"

#include <string.h>

/* Members the log adds once a receipt is signed.  They are outside the chain hash, since they are not
 * known when the next receipt is linked to it. */
static const char *const AFTER_SIGNING[] = { "leaf_index", "log_id", "transparency", NULL };
static const char *const AFTER_SIGNING_AND_SIGNATURE[] = { "leaf_index", "log_id", "signature",
	"transparency", NULL };

char *preimage_prefixed(struct arena *a, struct bytes preimage)
{
	return sha256_prefixed(a, preimage.p, preimage.n);
}

char *preimage_hex(struct arena *a, struct bytes preimage)
{
	return sha256_hex(a, preimage.p, preimage.n);
}

/* Canonical JSON of the members in `p`, without those in `but`.  *ret is set only on success. */
static int project(struct arena *a, const struct projection *p, const struct except *but,
	const struct json *record, struct bytes *ret, struct err *e)
{
	struct buf b;
	int rc;

	buf_init(&b, a);
	rc = projection_write(&b, p, but, record, e);
	if (rc == OK)
		*ret = buf_bytes(&b);
	return rc;
}

/* Receipts. */

/* The tag is a member like the others for the projection; that it is the right one is checked here. */
int receipt_preimage_v5(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e)
{
	const char *tag = json_text(json_get(receipt, "signature_version"));
	struct err why = { 0 };

	if (tag && !text_eq(tag, RECEIPT_V5))
		return err_set(
			e, E_INPUT, "contract_mismatch", "unsupported receipt signature version \"%s\"", tag);
	if (project(a, &receipt_v5_projection, NULL, receipt, ret, &why) == OK)
		return OK;
	return err_set(e, E_INPUT,
		text_eq(why.code, "non_interoperable_number") ? why.code : "contract_mismatch",
		"receipt.v5 signed %s", why.text);
}

/* Fields joined by colons, unescaped: a colon inside a field moves the border between two fields, so two
 * records can have one preimage.  That is why these forms are only verified on request and never signed.
 * An absent string is empty, an absent clock is 0; the caller has checked that a clock that is there is a
 * number. */
static int join_fields(struct arena *a, const struct json *record, const char *const *names, size_t n,
	struct bytes *ret, struct err *e)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < n; i++) {
		const struct json *v = json_get(record, names[i]);
		bool is_clock = text_eq(names[i], "lamport_clock");
		if (v && !is_clock && !json_is(v, JSON_STRING))
			return err_set(
				e, E_INPUT, "contract_mismatch", "member \"%s\" must be a string", names[i]);
		if (i > 0)
			buf_addc(&b, ':');
		if (v)
			buf_add(&b, v->text, v->n);
		else if (is_clock)
			buf_addc(&b, '0');
	}
	*ret = buf_bytes(&b);
	return OK;
}

int receipt_preimage_v4_fields(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e)
{
	static const char *const names[] = { "receipt_id", "decision_id", "effect_id", "status",
		"output_hash", "prev_hash", "lamport_clock", "args_hash" };
	int64_t clock;
	const struct json *v = json_get(receipt, "lamport_clock");

	if (v && (!json_int(v, &clock) || clock < 0))
		return err_set(
			e, E_INPUT, "non_interoperable_number", "lamport_clock must be an unsigned integer");
	return join_fields(a, receipt, names, ARRAY_SIZE(names), ret, e);
}

/* The whole receipt but its signature and what the log added later. */
int receipt_preimage_v5_jcs(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e)
{
	static const struct except but = { .absent = AFTER_SIGNING_AND_SIGNATURE };

	return project(a, &receipt_projection, &but, receipt, ret, e);
}

/* Covers the signature too, and every member the signature leaves out: once a later receipt carries this
 * hash, nothing of the receipt can be changed unnoticed. */
int receipt_text(struct arena *a, const struct json *receipt, struct receipt_text *ret, struct err *e)
{
	struct span spans[] = { { .name = "receipt_id" }, { .name = "signature" }, { 0 } };
	const struct except but = { .absent = AFTER_SIGNING, .spans = spans };
	int rc;

	buf_init(&ret->b, a);
	rc = projection_write(&ret->b, &receipt_projection, &but, receipt, e);
	ret->id_at = spans[0].at;
	ret->id_n = spans[0].n;
	ret->signature_at = rc || !spans[1].n ? ret->b.n : spans[1].at;
	ret->signature_n = spans[1].n;
	return rc;
}

void receipt_text_chain(const struct receipt_text *t, uint8_t ret_hash[SHA256_SIZE])
{
	sha256(t->b.p, t->b.n, ret_hash);
}

/* What stands between and around the two members that are left out. */
void receipt_text_mark(const struct receipt_text *t, uint8_t ret_hash[SHA256_SIZE])
{
	size_t middle = t->id_at + t->id_n, end = t->signature_at + t->signature_n;
	struct sha256 h;

	sha256_begin(&h);
	sha256_add(&h, t->b.p, t->id_at);
	sha256_add(&h, t->b.p + middle, t->signature_at - middle);
	sha256_add(&h, t->b.p + end, t->b.n - end);
	sha256_end(&h, ret_hash);
}

enum { MARK_HEX = 2 * SHA256_SIZE, SIGNATURE_HEX = 128 };

/* Puts `text` in the place of the last characters of a member that is a string. */
static void fill_end(struct receipt_text *t, size_t at, size_t n, const char *text)
{
	size_t length = strlen(text);

	memcpy(t->b.p + at + n - 1 - length, text, length);
}

int receipt_text_begin(struct arena *a, struct json *receipt, struct receipt_text *ret, struct err *e)
{
	const char *id = json_get_text(receipt, "receipt_id", "");
	uint8_t mark[SHA256_SIZE];
	char hex[SHA256_HEX];
	int rc;

	json_sets(a, receipt, "receipt_id", arena_printf(a, "%s.%0*d", id, MARK_HEX, 0));
	json_sets(a, receipt, "signature", arena_printf(a, "%0*d", SIGNATURE_HEX, 0));
	if ((rc = receipt_text(a, receipt, ret, e)))
		return rc;
	receipt_text_mark(ret, mark);
	hex_encode(mark, sizeof(mark), hex);
	fill_end(ret, ret->id_at, ret->id_n, hex);
	json_sets(a, receipt, "receipt_id", arena_printf(a, "%s.%s", id, hex));
	return OK;
}

void receipt_text_sign(struct arena *a, struct json *receipt, struct receipt_text *t, const char *signature)
{
	fill_end(t, t->signature_at, t->signature_n, signature);
	json_sets(a, receipt, "signature", signature);
}

/* Only ids of the form this program writes: "rcpt_", anything, ".", 64 lower-case hex digits. */
const char *receipt_id_mark(const char *id)
{
	size_t n = strlen(id);
	uint8_t mark[SHA256_SIZE];

	if (!text_starts(id, "rcpt_") || n < MARK_HEX + 1 || id[n - MARK_HEX - 1] != '.' ||
		!hex_decode(id + n - MARK_HEX, MARK_HEX, mark, sizeof(mark), true))
		return NULL;
	return id + n - MARK_HEX;
}

char *receipt_id_short(struct arena *a, const char *id)
{
	const char *mark = receipt_id_mark(id);

	return mark ? arena_strndup(a, id, (size_t)(mark - id) - 1) : arena_strdup(a, id);
}

bool receipt_id_is(const char *id, const char *word)
{
	const char *mark = receipt_id_mark(id);
	size_t n = mark ? (size_t)(mark - id) - 1 : strlen(id);

	return text_eq(id, word) || (strlen(word) == n && memcmp(id, word, n) == 0);
}

int receipt_chain_hash(
	struct arena *a, const struct json *receipt, uint8_t ret_hash[SHA256_SIZE], struct err *e)
{
	struct receipt_text text;
	int rc = receipt_text(a, receipt, &text, e);

	if (rc == OK)
		receipt_text_chain(&text, ret_hash);
	return rc;
}

/* The lengths make the text unambiguous: no two pairs of tenant and decision give the same one. */
char *receipt_tenant_id(struct arena *a, const char *tenant, const char *decision_id, const char **ret_text)
{
	char *text =
		arena_printf(a, "%zu:%s%zu:%s", strlen(tenant), tenant, strlen(decision_id), decision_id);

	if (ret_text)
		*ret_text = text;
	return arena_printf(a, "rcpt-%s", sha256_hex(a, text, strlen(text)));
}

/* Decision records. */

/* Decisions from before version tags; ambiguous like all joined fields. */
static int decision_untagged(struct arena *a, const struct json *decision, struct bytes *ret, struct err *e)
{
	static const char *const names[] = { "id", "verdict", "reason", "phenotype_hash",
		"policy_content_hash", "effect_digest" };

	return join_fields(a, decision, names, ARRAY_SIZE(names), ret, e);
}

/* The hash a decision signs in the place of its threat scan; "" when it has none. */
static int threat_scan_hash(struct arena *a, const struct json *decision, const char **ret, struct err *e)
{
	const struct json *scan = json_get(decision, "threat_scan");
	struct bytes text;

	*ret = "";
	if (!scan || scan->type == JSON_NULL)
		return OK;
	if (project(a, &threat_scan_projection, NULL, scan, &text, e))
		return err_wrap(e, "threat_scan");
	*ret = preimage_prefixed(a, text);
	return OK;
}

/* A copy of the record with the two computed members.  What the record itself says under those names is
 * replaced: otherwise it could state the hash of a reason it does not carry. */
static struct json *with_computed(
	struct arena *a, const struct json *decision, const char *reason_hash, const char *scan_hash)
{
	struct json *view = json_copy(a, decision);

	json_sets(a, view, "reason_hash", reason_hash);
	json_sets(a, view, "threat_scan_hash", scan_hash);
	return view;
}

/* An unknown tag is refused and never read as untagged: the untagged form is weaker, and whoever could
 * choose it by writing a strange tag would. */
int decision_preimage(struct arena *a, const struct json *decision, struct bytes *ret, struct err *e)
{
	const struct json *tag = json_get(decision, "signature_version");
	const struct json *reason = json_get(decision, "reason");
	const char *version = tag ? json_text(tag) : NULL, *scan_hash;
	const struct projection *p;

	if (!tag)
		return decision_untagged(a, decision, ret, e);
	p = !version				? NULL
		: text_eq(version, DECISION_V4) ? &decision_v4_projection
		: text_eq(version, DECISION_V3) ? &decision_v3_projection
		: text_eq(version, DECISION_V2) ? &decision_v2_projection
						: NULL;
	if (!p)
		return err_set(e, E_INPUT, "unsupported_version",
			"unsupported decision signature version \"%s\"", version ? version : "");
	if (reason && reason->type != JSON_STRING)
		return err_set(e, E_INPUT, "contract_mismatch", "member \"reason\" must be a string");
	if (threat_scan_hash(a, decision, &scan_hash, e))
		return E_INPUT;
	/* Version 3 exists to bind a scan.  Without one it would have the meaning of version 2 under
	 * another name. */
	if (p == &decision_v3_projection && *scan_hash == '\0')
		return err_set(e, E_INPUT, "contract_mismatch", "%s requires threat_scan", DECISION_V3);
	const char *reason_hash = sha256_hex(a, reason ? reason->text : "", reason ? reason->n : 0);
	return project(a, p, NULL, with_computed(a, decision, reason_hash, scan_hash), ret, e);
}

/* Execution intents and effects. */

/* The white space of ASCII, independent of the locale: the preimage must be the same everywhere. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Trimmed and lower-cased, ASCII only. */
static char *taint_label(struct arena *a, const char *s, size_t n)
{
	char *label;

	while (n > 0 && is_space(s[0])) {
		s++;
		n--;
	}
	while (n > 0 && is_space(s[n - 1]))
		n--;
	label = arena_strndup(a, s, n);
	for (size_t i = 0; i < n; i++)
		if (label[i] >= 'A' && label[i] <= 'Z')
			label[i] = (char)(label[i] - 'A' + 'a');
	return label;
}

static bool has_text(const struct json *list, const char *s)
{
	json_each (item, list)
		if (text_eq(item->text, s))
			return true;
	return false;
}

/* Labels trimmed, lower-cased, each kept once at its first place; empty ones dropped.  A list that holds
 * something other than a text is passed on as it is, so that the projection refuses it.  If such an item
 * were dropped here, anybody could add one to a signed record unnoticed. */
static struct json *normal_taint(struct arena *a, const struct json *taint)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (item, taint) {
		if (!json_text(item))
			return json_copy(a, taint);
		char *label = taint_label(a, item->text, item->n);
		if (*label && !has_text(list, label))
			json_pushs(a, list, label);
	}
	return list;
}

int intent_preimage(struct arena *a, const struct json *intent, struct bytes *ret, struct err *e)
{
	const char *tag = json_get_text(intent, "signature_version", "");
	struct json *view;

	if (!text_eq(tag, INTENT_V2))
		return err_set(e, E_INPUT, "unsupported_version",
			"unsupported intent signature version \"%s\"", tag);
	view = json_copy(a, intent);
	if (json_is(json_get(view, "taint"), JSON_ARRAY))
		json_set(a, view, "taint", normal_taint(a, json_get(view, "taint")));
	return project(a, &intent_projection, NULL, view, ret, e);
}

int effect_digest(struct arena *a, const struct json *binding, char **ret, struct err *e)
{
	struct bytes text;

	int rc = project(a, &effect_binding_projection, NULL, binding, &text, e);
	if (rc)
		return rc;
	*ret = preimage_hex(a, text);
	return OK;
}

/* Permits. */

/* Both spellings of an effect type sign the same word. */
static const char *effect_word(const char *type)
{
	return text_starts(type, "EFFECT_TYPE_") ? type + strlen("EFFECT_TYPE_") : type;
}

/* Works on a copy: the caller's document stays as it was received. */
int permit_preimage(struct arena *a, const struct json *permit, struct bytes *ret, struct err *e)
{
	struct json *view;
	const char *type = json_get_text(permit, "effect_type", NULL);

	if (!json_is(permit, JSON_OBJECT))
		return err_set(e, E_INPUT, "contract_mismatch", "a permit is an object");
	view = json_copy(a, permit);
	if (type)
		json_sets(a, view, "effect_type", effect_word(type));
	return project(a, &permit_projection, NULL, view, ret, e);
}

/* Objects as received. */

/* For records of others that are hashed as received.  Strict: a number that programs read differently is
 * refused, because then two readers would hash different values. */
int sealed_preimage(
	struct arena *a, const struct json *record, const char *without, struct bytes *ret, struct err *e)
{
	struct json *view;
	struct buf b;
	int rc;

	if (!record)
		return err_set(e, E_INPUT, "MEMBER_MISSING", "there is no record to hash");
	view = json_copy(a, record);
	if (without)
		(void)json_remove(view, without);
	buf_init(&b, a);
	rc = json_canonical_strict(&b, view, e);
	if (rc == OK)
		*ret = buf_bytes(&b);
	return rc;
}

int fence_preimage(
	struct arena *a, const struct json *members, const char *action, struct bytes *ret, struct err *e)
{
	struct json *view = json_copy(a, members);

	(void)json_remove(view, "receipt_hash");
	json_sets(a, view, "action", action);
	return sealed_preimage(a, view, NULL, ret, e);
}

const struct json *sealed_cleared(struct arena *a, const struct json *record)
{
	static const char *const pairs[][2] = { { "record_hash", "signature" },
		{ "kernel_verdict_hash", "kernel_verdict_signature" } };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (json_get(record, pairs[i][0]) && json_get(record, pairs[i][1])) {
			struct json *view = json_copy(a, record);
			json_sets(a, view, pairs[i][0], "");
			json_sets(a, view, pairs[i][1], "");
			return view;
		}
	return record;
}

/* Compatible with the writer of policy bundles, which escapes <, > and & and keeps the order of members.
 * Rules keep their order, since the order of rules has a meaning. */
int bundle_preimage(struct arena *a, const struct json *bundle, struct bytes *ret, struct err *e)
{
	static const char *const members[] = { "id", "action", "expression", "verdict", "reason" };
	struct json *view = json_new(a, JSON_OBJECT), *rules = json_new(a, JSON_ARRAY);
	struct buf b;

	if (!json_get_text(bundle, "name", NULL))
		return err_set(e, E_INPUT, "contract_mismatch", "a policy bundle needs a name");
	json_sets(a, view, "name", json_get_text(bundle, "name", ""));
	json_sets(a, view, "version", json_get_text(bundle, "version", ""));
	json_set(a, view, "rules", rules);
	json_each (rule, json_get(bundle, "rules")) {
		struct json *copy = json_new(a, JSON_OBJECT);
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			json_sets(a, copy, members[i], json_get_text(rule, members[i], ""));
		json_push(a, rules, copy);
	}
	buf_init(&b, a);
	json_write(&b, view, JSON_HTML_SAFE);
	*ret = buf_bytes(&b);
	return OK;
}

int log_head_preimage(struct arena *a, const struct json *head, struct bytes *ret, struct err *e)
{
	return project(a, &tree_head_projection, NULL, head, ret, e);
}

/* One link of a key history.  Both signatures (of the key in force, and of the new key) are over the same
 * bytes, so both are left out. */
int key_link_preimage(struct arena *a, const struct json *link, struct bytes *ret, struct err *e)
{
	struct json *bare = json_copy(a, link);
	struct buf b;

	(void)json_remove(bare, "signature");
	(void)json_remove(bare, "possession");
	buf_init(&b, a);
	int rc = json_canonical_strict(&b, bare, e);
	if (rc == OK)
		*ret = buf_bytes(&b);
	return rc;
}

/* Numbers anywhere below a member are hashed as what a double makes of them, so only one spelling of each
 * is accepted: whole, within 2^53-1, no "-0". */
bool receipt_has_plain_numbers(const struct json *v)
{
	int64_t number;

	if (v->type == JSON_NUMBER)
		return json_int(v, &number) && number <= 9007199254740991 && number >= -9007199254740991 &&
			!text_eq(v->text, "-0");
	json_each (item, v) {
		if (!receipt_has_plain_numbers(item))
			return false;
	}
	json_each_member (m, v)
		if (!receipt_has_plain_numbers(m->value))
			return false;
	return true;
}

void receipt_plain_numbers(struct arena *a, struct json *v)
{
	json_each (item, v)
		receipt_plain_numbers(a, item);
	json_each_member (m, v)
		receipt_plain_numbers(a, m->value);
	if (v->type == JSON_NUMBER && !receipt_has_plain_numbers(v))
		*v = *json_string(a, v->text);
}
