/* detect.c — what a document is, told from its own members, and verified as that.
 *
 * Detection decides which rules are applied, never whether they are: a document that is taken for nothing
 * known is not established, and one that is taken for the wrong kind fails that kind's checks. */
#include "proof/preimage.h"
#include "verify/parts.h"
#include "verify/receipt.h"

#include <string.h>

typedef void verify_fn(struct verification *v, const struct json *doc);

/* These adapters give all kinds one signature, so that the table below can name them.  Roots from
 * elsewhere come from v->trust; what a caller could pin besides is not given. */
static void tree_head(struct verification *v, const struct json *doc)
{
	verify_tree_head(v, doc);
}

static void inclusion(struct verification *v, const struct json *doc)
{
	verify_inclusion(v, doc, v->trust->root);
}

static void consistency(struct verification *v, const struct json *doc)
{
	verify_consistency(v, doc, v->trust->old_root, v->trust->root);
}

static void pack_proof(struct verification *v, const struct json *doc)
{
	verify_pack_entry(v, doc, v->trust->root, NULL, NULL);
}

static void bundle(struct verification *v, const struct json *doc)
{
	verify_receipts(v, json_get(doc, "receipts"), json_get(doc, "permits"));
}

static void receipt_list(struct verification *v, const struct json *doc)
{
	verify_receipts(v, doc, NULL);
}

static void graph(struct verification *v, const struct json *doc)
{
	verify_proofgraph(v, json_get(doc, "nodes"));
}

static void node_list(struct verification *v, const struct json *doc)
{
	verify_proofgraph(v, doc);
}

static void condensed(struct verification *v, const struct json *doc)
{
	verify_condensation_proof(v, json_get(doc, "proof") ? json_get(doc, "proof") : doc);
}

static void launch(struct verification *v, const struct json *doc)
{
	if (json_get(doc, "receipt"))
		verify_launch_receipt(v, json_get(doc, "receipt"), json_get(doc, "authority_binding"),
			json_get(doc, "evidence_dag"));
	else
		verify_launch_receipt(v, doc, NULL, NULL);
}

static void approval(struct verification *v, const struct json *doc)
{
	verify_approval(v, doc, false);
}

static void consumption(struct verification *v, const struct json *doc)
{
	verify_consumption(v, json_get(doc, "consumption"), member_text(doc, "signature"), NULL);
}

static void admission(struct verification *v, const struct json *doc)
{
	verify_admission(v, json_get(doc, "admission"), json_get(doc, "consumption"),
		member_text(doc, "signature"), NULL, NULL);
}

static void release(struct verification *v, const struct json *doc)
{
	verify_release(v, doc, NULL);
}

static void effect_close(struct verification *v, const struct json *doc)
{
	verify_effect_close(v, doc, NULL);
}

static void disposition(struct verification *v, const struct json *doc)
{
	verify_disposition(v, doc, NULL);
}

static void spec_approval(struct verification *v, const struct json *doc)
{
	verify_spec_approval(v, doc, NULL);
}

static void boundary(struct verification *v, const struct json *doc)
{
	verify_boundary_profile(v, doc, NULL);
}

static void update(struct verification *v, const struct json *doc)
{
	verify_update_bundle(v, doc, NULL);
}

static void emergency_stop(struct verification *v, const struct json *doc)
{
	verify_emergency_stop(v, doc, NULL, NULL);
}

/* The first row whose members are all there decides, so narrow rows stand before wide ones: "receipt_id"
 * alone is a receipt only when nothing more special was found.  "a.b" looks inside; "a=x" wants that text;
 * "a=x*" its beginning; "0.a" looks into the first element of a list. */
static const struct {
	const char *kind;
	const char *members;
	verify_fn *fn;
} kinds[] = {
	{ "decision record", "signature_version=decision_record.*", verify_decision },
	{ "execution intent", "signature_version=authorized_execution_intent.*", verify_intent },
	{ "launch effect receipt", "schema_version=launch_effect_receipt.*", launch },
	{ "launch effect receipt", "receipt.schema_version=launch_effect_receipt.*", launch },
	{ "external decision receipts", "schema_version=external_decision_receipt*",
		verify_external_decisions },
	{ "external decision receipts", "format_id", verify_external_decisions },
	{ "host evidence", "schema_version=external_receipt_chain.*", verify_host_evidence },
	{ "host evidence", "schema_version=external_host_receipt.*", verify_host_evidence },
	{ "host evidence", "receipts.0.host_id", verify_host_evidence },
	{ "workstation receipt", "receipt_version=agent_run_receipt.*", verify_workstation },
	{ "counterfactual receipt", "would_have_verdict", verify_counterfactual },
	{ "effect permit", "permit_id", verify_permit },
	{ "external authorization", "schema_version=extauthz.*", verify_extauthz },
	{ "grant consumption", "consumption.schema_version=approval-grant-consumption.*", consumption },
	{ "dispatch admission", "admission.schema_version=approval-dispatch-admission.*", admission },
	{ "connector release authority", "authority.schema_version=connector-release-authority.*", release },
	{ "effect close", "acknowledgement.schema_version=connector-effect-acknowledgement.*", effect_close },
	{ "effect disposition", "command.schema_version=effect-disposition-command.*", disposition },
	{ "generated-spec approval", "challenge.schema_version=generated-spec-approval-challenge.*",
		spec_approval },
	{ "approval", "assertions challenge authority_snapshot", approval },
	{ "boundary profile", "compile_receipt", boundary },
	{ "update bundle", "manifest.schema_version=update_bundle_manifest.*", update },
	{ "emergency stop", "command_envelope.command.contract_version=emergency-stop-fence.*",
		emergency_stop },
	{ "tree head", "tree_size root_hash log_id timestamp", tree_head },
	{ "inclusion proof", "leaf_index tree_size audit_path", inclusion },
	{ "consistency proof", "old_size new_size consistency_path", consistency },
	{ "inclusion proof", "binding entry merkle_path", pack_proof },
	{ "redacted view", "view_id disclosed proofs", verify_redacted_view },
	{ "condensation proof", "siblings leaf_count", condensed },
	{ "condensation proof", "original_id proof.siblings", condensed },
	{ "ProofGraph", "nodes", graph },
	{ "ProofGraph", "0.node_hash", node_list },
	{ "receipt bundle", "receipts", bundle },
	{ "receipt bundle", "0.receipt_id", receipt_list },
	{ "receipt", "receipt_id", verify_receipt },
	{ "decision record", "verdict phenotype_hash", verify_decision },
};

/* Follows a path of names separated by dots.  NULL when a step is missing. */
static const struct json *look(const struct json *at, const char *path, size_t n)
{
	struct bytes rest = { (const uint8_t *)path, n };

	while (at && rest.p) {
		struct bytes step = text_cut(&rest, '.');
		char name[64];
		if (step.n >= sizeof(name))
			return NULL;
		memcpy(name, step.p, step.n);
		name[step.n] = '\0';
		at = json_is(at, JSON_ARRAY) && text_eq(name, "0") ? json_at(at, 0) : json_get(at, name);
	}
	return at;
}

/* One word of a row's members: a path, with or without a wanted text. */
static bool has_member(const struct json *doc, const char *want, size_t n)
{
	const char *equals = memchr(want, '=', n);
	size_t path_n = equals ? (size_t)(equals - want) : n;
	const struct json *value = look(doc, want, path_n);
	const char *text = json_text(value);

	if (!equals)
		return value != NULL;
	size_t wanted = n - path_n - 1;
	if (equals[wanted] == '*')
		return text && strncmp(text, equals + 1, wanted - 1) == 0;
	return text && strlen(text) == wanted && memcmp(text, equals + 1, wanted) == 0;
}

static bool has_members(const struct json *doc, const char *members)
{
	while (*members) {
		size_t n = strcspn(members, " ");
		if (!has_member(doc, members, n))
			return false;
		members += n + (members[n] == ' ');
	}
	return true;
}

/* A document that is parsed already. */
static void verify_tree(struct verification *v, const struct json *doc)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (has_members(doc, kinds[i].members)) {
			v->kind = kinds[i].kind;
			kinds[i].fn(v, doc);
			return;
		}
	verify_no_record(v);
}

/* Whether a text that cannot be read begins like a record: then it is damaged or tampered with, otherwise
 * it is no record at all.  The marks are names that other documents do not have. */
static bool begins_like_record(struct bytes text)
{
	static const char *const marks[] = { "\"receipt_id\"", "\"signature_version\"", "\"decision_id\"",
		"\"permit_id\"", "\"receipt_version\"", "\"would_have_verdict\"", "\"node_hash\"",
		"\"phenotype_hash\"", "\"args_hash\"", "\"tree_size\"", "\"audit_path\"",
		"\"consistency_path\"", "\"aat_version\"", "\"previous_hash\"", "\"helm-key-history/",
		"\"merkle_path\"", "\"compile_receipt\"", "\"launch_effect_receipt",
		"\"external_decision_receipt", "\"external_receipt_chain", "\"external_host_receipt",
		"\"emergency-stop-fence" };
	size_t n = text.n < 65536 ? text.n : 65536;

	if (!n || (text.p[0] != '{' && text.p[0] != '['))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (memmem(text.p, n, marks[i], strlen(marks[i])))
			return true;
	return false;
}

/* The text ends inside a string, object or list.  Counts brackets only, without judging the rest. */
static bool is_cut_off(struct bytes text)
{
	bool in_string = false;
	int64_t depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (in_string && text.p[i] == '\\')
			i++;
		else if (text.p[i] == '"')
			in_string = !in_string;
		else if (!in_string)
			depth += (text.p[i] == '{' || text.p[i] == '[') -
				(text.p[i] == '}' || text.p[i] == ']');
	}
	return in_string || depth > 0;
}

/* Lines of objects, the first of which is no record of any kind: somebody's journal, or a ledger. */
static bool is_other_journal(struct verification *v, struct bytes text)
{
	struct bytes rest = text, first = text_cut(&rest, '\n');
	struct json *row;

	if (!rest.n || json_parse(v->a, first, "line", NULL, &row, NULL) || !json_is(row, JSON_OBJECT))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (has_members(row, kinds[i].members))
			return false;
	return true;
}

/* A record that ends too early is damaged; one that breaks the rules in its middle was changed. */
static void refute_unreadable(struct verification *v, struct bytes text, const struct err *e)
{
	if (!begins_like_record(text) || is_other_journal(v, text)) {
		verify_no_record(v);
		return;
	}
	v->is_damaged = is_cut_off(text);
	(void)verify_refute_err(v, e);
}

/* A file of lines whose last line is incomplete, as a crash while writing leaves it, and all others can be
 * read.  Asked only when the first failure was that a line could not be read as JSON: a line like that in
 * the middle is no crash, and neither is a torn one behind a line that was changed. */
static bool has_torn_tail(const struct verification *v, struct bytes text, const char *name)
{
	struct bytes last = { 0 }, rest = text;
	struct json *row;
	struct err e;

	if (!text.n || text.p[text.n - 1] == '\n' || !v->error || !text_starts(v->error, "JSON_"))
		return false;
	for (last = text_cut(&rest, '\n'); rest.p; last = text_cut(&rest, '\n')) {
		struct arena_mark mark = arena_mark(v->a);
		if (json_parse(v->a, last, name, NULL, &row, &e))
			return false;
		arena_release(v->a, mark);
	}
	return json_parse(v->a, last, name, NULL, &row, &e) && is_cut_off(last);
}

/* The audit log is judged as a whole, so all its lines are parsed first. */
static void verify_audit_lines(struct verification *v, struct bytes text, const char *name)
{
	struct json *events = json_new(v->a, JSON_ARRAY), *row;
	struct err e = { 0 };

	while (text.n > 0) {
		if (json_parse(v->a, text_cut(&text, '\n'), name, NULL, &row, &e)) {
			json_seti(v->a, v->values, "at", (int64_t)events->n);
			(void)verify_refute_err(v, &e);
			return;
		}
		json_push(v->a, events, row);
	}
	verify_audit_log(v, events, v->trust->side_head);
}

/* The first line tells what a file of lines holds.  False when it is none of the known kinds; nothing was
 * recorded then, and the text is read as one document. */
static bool verify_lines(struct verification *v, struct bytes text, const char *name)
{
	struct bytes rest = text, first = text_cut(&rest, '\n');
	struct json *row;

	if (json_parse(v->a, first, name, NULL, &row, NULL) || !json_is(row, JSON_OBJECT))
		return false;
	if (json_get(row, "aat_version")) {
		v->kind = "audit trail";
		verify_audit_trail(v, text);
	} else if (json_get(row, "upstream") && json_get(row, "input_hash")) {
		v->kind = "proxy journal";
		verify_proxy_journal(v, text);
	} else if (has_members(row, "sequence previous_hash hash actor")) {
		v->kind = "audit log";
		verify_audit_lines(v, text, name);
	} else if (has_members(row, "version=helm-key-history/*")) {
		v->kind = "key history";
		verify_key_history(v, text, name);
	} else if (rest.n > 0 && json_get(row, "receipt_id")) {
		v->kind = "receipt chain";
		verify_receipt_lines(v, text, name);
	} else {
		return false;
	}
	return true;
}

/* A selective disclosure begins with base64url of '{"', which is "ey", and has at least one tilde. */
static bool is_presentation(struct bytes text)
{
	return text.n > 2 && text.p[0] == 'e' && text.p[1] == 'y' && memchr(text.p, '~', text.n);
}

/* Presentations first, since they are no JSON; then files of lines, whose first line alone would pass for
 * a document; then single documents. */
void verify_document(struct verification *v, struct bytes text, const char *name)
{
	struct err e = { 0 };
	struct json *doc;

	v->kind = "document";
	if (is_presentation(text)) {
		while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
			text.n--;
		verify_sdjwt(v, text);
		return;
	}
	if (verify_lines(v, text, name)) {
		v->is_damaged = has_torn_tail(v, text, name);
		return;
	}
	if (json_parse(v->a, text, name, NULL, &doc, &e)) {
		refute_unreadable(v, text, &e);
		return;
	}
	verify_tree(v, doc);
	if (text_eq(v->kind, "receipt") || text_eq(v->kind, "receipt bundle"))
		verify_receipt_spelling(v, text, doc);
}
