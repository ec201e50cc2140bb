/* workstation_run.c — receipts of judged events, and recorded runs made into one receipt.
 *
 * An imported run is a graph of nodes, each of which names the one before it by hash, and a receipt over all of them.  Times are outside
 * the hashes of nodes.  What an event says about its own verdict is written down as said and never believed: it cannot widen what
 * the profile answers, only add a refusal that somebody else made. */
#include "audit/conform/workstation.h"

#include "base/hash.h"
#include "proof/preimage.h"

#include <string.h>

char *workstation_id(struct arena *a, const char *prefix, const char *const *parts, size_t n)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&b, '\0');
		buf_adds(&b, parts[i]);
	}
	return arena_printf(a, "%s_%.24s", prefix, sha256_hex(a, b.p, b.n));
}

/* Hash and signature are over the record with both empty. */
static void seal(struct arena *a, struct json *receipt, const struct workstation_signer *by)
{
	char hex[2 * 64 + 1] = "";
	uint8_t sig[64];
	struct buf b;

	json_sets(a, receipt, "receipt_hash", "");
	json_sets(a, receipt, "signature", "");
	json_sets(a, receipt, "signer_key_id", by ? by->key_id : "");
	buf_init(&b, a);
	json_canonical(&b, receipt);
	if (by) {
		by->sign(by->arg, buf_bytes(&b), sig);
		hex_encode(sig, sizeof(sig), hex);
	}
	json_sets(a, receipt, "receipt_hash", sha256_hex(a, b.p, b.n));
	json_sets(a, receipt, "signature", hex);
}

static void copy_members(
	struct arena *a, struct json *to, const struct json *from, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_get(from, names[i]))
			json_set(a, to, names[i], json_get(from, names[i]));
}

struct json *workstation_receipt(struct arena *a, const struct json *profile, const struct json *event,
	const struct json *request, const struct workstation_answer *said, bool is_private,
	const char *created_at, const struct workstation_signer *by)
{
	static const char *const of_request[] = { "run_id", "actor_id", "workspace_id", "agent_surface" },
				 *const of_event[] = { "tool_id", "action" };
	const char *target = json_get_text(event, "target", ""), *type = workstation_effect_type(event);
	const char *kept = is_private ? sha256_prefixed(a, target, strlen(target)) : target;
	const char *id = json_get_text(profile, "id", "");
	struct json *q = json_new(a, JSON_OBJECT), *r = json_new(a, JSON_OBJECT);
	const char *asked[] = { json_get_text(request, "run_id", ""), type, target,
		json_get_text(event, "tool_id", ""), json_get_text(event, "action", "") };
	const char *request_id = workstation_id(a, "wreq", asked, ARRAY_SIZE(asked));
	const char *decided[] = { request_id, type, kept, id };

	json_sets(a, q, "request_id", request_id);
	copy_members(a, q, request, of_request, ARRAY_SIZE(of_request));
	copy_members(a, q, event, of_event, ARRAY_SIZE(of_event));
	json_sets(a, q, "effect_type", type);
	json_sets(a, q, "effect_mode", workstation_effect_mode(event));
	json_sets(a, q, "target", kept);
	if (is_private) {
		struct json *more = json_new(a, JSON_OBJECT);
		json_sets(a, more, "target_binding", "sha256:utf-8");
		json_set(a, q, "metadata", more);
	}
	json_sets(a, q, "occurred_at", created_at);
	json_sets(a, r, "receipt_version", "agent_run_receipt.v1");
	json_sets(a, r, "decision_id", workstation_id(a, "wpd", decided, ARRAY_SIZE(decided)));
	json_set(a, r, "request", q);
	json_sets(a, r, "policy_profile", id);
	json_sets(a, r, "verdict", verdict_name(said->verdict));
	if (said->verdict != V_ALLOW) {
		json_sets(a, r, "reason_code", reason_get(said->code)->code);
		json_sets(a, r, "reason", said->reason);
	}
	json_setb(a, r, "observed_only", false);
	json_sets(a, r, "created_at", created_at);
	seal(a, r, by);
	return r;
}

/* ---- runs ---- */

struct importing {
	struct arena *a;
	const struct workstation_run *run;
	const struct json *profile, *manifest, *diff, *validation;
	struct json *events, *hashes;
	struct json *graph, *refs;
	struct json *files, *actions, *validations, *memories, *loops, *denied, *verdicts;
	const char *run_id, *actor, *started;
	int64_t started_ms;
};

static const char *const node_members[] = { "kind", "lamport", "parents", "payload", "principal",
	"principal_seq", "sig", "sig_purpose" };

static char *node_hash(struct arena *a, const struct json *node)
{
	struct json *hashed = json_new(a, JSON_OBJECT);
	struct buf b;

	copy_members(a, hashed, node, node_members, ARRAY_SIZE(node_members));
	buf_init(&b, a);
	json_canonical(&b, hashed);
	return sha256_hex(a, b.p, b.n);
}

static void add_node(struct importing *m, const char *kind, struct json *payload)
{
	struct json *node = json_new(m->a, JSON_OBJECT), *parents = json_new(m->a, JSON_ARRAY);
	int64_t number = m->graph->n + 1;

	if (m->graph->n)
		json_pushs(m->a, parents, json_get_text(json_at(m->graph, m->graph->n - 1), "node_hash", ""));
	json_sets(m->a, node, "kind", kind);
	json_seti(m->a, node, "lamport", number);
	json_set(m->a, node, "parents", m->graph->n ? parents : json_new(m->a, JSON_NULL));
	json_set(m->a, node, "payload", payload);
	json_sets(m->a, node, "principal", m->actor);
	json_seti(m->a, node, "principal_seq", number);
	json_sets(m->a, node, "sig", "");
	json_sets(m->a, node, "node_hash", node_hash(m->a, node));
	json_seti(m->a, node, "ts_unix_ms", m->started_ms);
	json_push(m->a, m->graph, node);
}

static void add_effect(struct importing *m, const char *type, const char *name, struct json *what)
{
	struct json *payload = json_new(m->a, JSON_OBJECT);

	json_sets(m->a, payload, "effect_type", type);
	json_set(m->a, payload, name, json_copy(m->a, what));
	add_node(m, "EFFECT", payload);
}

static int bad_run(struct err *e, const char *what)
{
	return err_set(e, E_INPUT, "WORKSTATION_RUN", "the recorded run has %s", what);
}

static int read_part(
	struct importing *m, struct bytes text, const char *name, const struct json **ret, struct err *e)
{
	struct json *doc;

	if (!text.p)
		return bad_run(e, arena_printf(m->a, "no %s", name));
	if (json_parse(m->a, text, name, NULL, &doc, e))
		return err_wrap(e, "the recorded run");
	if (!json_is(doc, JSON_OBJECT))
		return bad_run(e, arena_printf(m->a, "a %s that is no object", name));
	json_sets(m->a, m->hashes, name, sha256_hex(m->a, text.p, text.n));
	*ret = doc;
	return OK;
}

static int read_events(struct importing *m, struct err *e)
{
	struct bytes rest = m->run->events;

	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		struct json *event;
		if (!line.n)
			continue;
		if (json_parse(m->a, line, "tool-events.ndjson", NULL, &event, e))
			return err_wrap(e, "the recorded run");
		if (!json_is(event, JSON_OBJECT))
			return bad_run(e, "an event that is no object");
		json_push(m->a, m->events, event);
	}
	if (m->run->events.p)
		json_sets(m->a, m->hashes, "tool-events.ndjson",
			sha256_hex(m->a, m->run->events.p, m->run->events.n));
	return OK;
}

static int read_profile(struct importing *m, struct err *e)
{
	struct json *doc;

	m->profile = m->run->profile_doc ? m->run->profile_doc : workstation_default_profile(m->a);
	if (m->run->profile.p) {
		if (json_parse(m->a, m->run->profile, "policy-profile.json", NULL, &doc, e))
			return err_wrap(e, "the recorded run");
		json_sets(m->a, m->hashes, "policy-profile.json",
			sha256_hex(m->a, m->run->profile.p, m->run->profile.n));
		m->profile = m->run->profile_doc ? m->run->profile_doc : doc;
	}
	return workstation_profile_check(m->a, m->profile, e);
}

static int read_run(struct importing *m, struct err *e)
{
	int rc = read_part(m, m->run->manifest, "run.manifest.json", &m->manifest, e);

	if (rc == OK)
		rc = read_part(m, m->run->diff, "git.diff-summary.json", &m->diff, e);
	if (rc == OK)
		rc = read_part(m, m->run->validation, "validation.json", &m->validation, e);
	if (rc == OK)
		rc = read_events(m, e);
	if (rc == OK)
		rc = read_profile(m, e);
	if (rc)
		return rc;
	json_sort_members(m->hashes);
	m->run_id = json_get_text(m->manifest, "run_id", "");
	m->actor = json_get_text(m->manifest, "actor_id", "");
	m->started = json_get_text(m->manifest, "started_at", "");
	if (!*m->run_id || !*m->actor || !text_parse_time(m->started, strlen(m->started), &m->started_ms))
		return bad_run(e, "a manifest without run_id, actor_id or started_at");
	m->started_ms /= 1000;
	return OK;
}

/* ---- what it did ---- */

/* Empty texts, zeros and empty lists are left out. */
static struct json *without_empty(struct arena *a, const struct json *from)
{
	struct json *kept = json_new(a, JSON_OBJECT);

	json_each_member (m, from) {
		bool is_zero = json_is(m->value, JSON_NUMBER) && text_eq(m->value->text, "0");
		bool is_empty = !m->value->n &&
			(json_is(m->value, JSON_STRING) || json_is(m->value, JSON_ARRAY) ||
				json_is(m->value, JSON_OBJECT));
		if (text_eq(m->name, "exit_code") || !(is_zero || is_empty))
			json_set(a, kept, m->name, m->value);
	}
	return kept;
}

static struct json *action_of(
	struct importing *m, const struct json *event, const char *verdict, const char *code)
{
	static const char *const names[] = { "occurred_at", "status", "taint_labels", "target", "tool_id",
		"metadata" };
	struct json *x = json_new(m->a, JSON_OBJECT);

	json_sets(m->a, x, "action", json_get_text(event, "action", ""));
	json_sets(m->a, x, "action_id", json_get_text(event, "event_id", ""));
	json_sets(m->a, x, "effect_mode", workstation_effect_mode(event));
	json_sets(m->a, x, "effect_type", workstation_effect_type(event));
	copy_members(m->a, x, event, names, ARRAY_SIZE(names));
	json_sets(m->a, x, "verdict", verdict);
	json_sets(m->a, x, "reason_code", code);
	return without_empty(m->a, x);
}

static void add_files(struct importing *m)
{
	json_each (file, json_get(m->diff, "changed_files")) {
		const char *path = json_get_text(file, "path", ""),
			   *status = json_get_text(file, "status", "");
		const char *parts[] = { m->run_id, path, status };
		struct json *event = workstation_event(m->a, "file", path), *kept = without_empty(m->a, file);
		struct json *payload = json_new(m->a, JSON_OBJECT);
		struct workstation_answer said;
		workstation_judge(m->a, m->profile, event, NULL, &said);
		json_sets(m->a, payload, "effect_type", "WORKSTATION_FILE_DRAFT");
		json_set(m->a, payload, "file", kept);
		json_sets(m->a, payload, "verdict", verdict_name(said.verdict));
		add_node(m, "EFFECT", payload);
		json_push(m->a, m->files, kept);
		json_sets(m->a, event, "effect_type", "WORKSTATION_FILE_DRAFT");
		json_sets(m->a, event, "event_id", workstation_id(m->a, "file", parts, ARRAY_SIZE(parts)));
		json_sets(m->a, event, "action", "draft_file_change");
		json_sets(m->a, event, "tool_id", "git.diff");
		json_sets(m->a, event, "status", "observed");
		json_sets(m->a, event, "occurred_at", m->started);
		json_push(m->a, m->actions,
			action_of(m, event, verdict_name(said.verdict),
				said.verdict == V_ALLOW ? "" : reason_get(said.code)->code));
	}
}

static void add_validations(struct importing *m)
{
	json_each (v, json_get(m->validation, "commands")) {
		struct json *kept = without_empty(m->a, v);
		add_effect(m, "WORKSTATION_VALIDATION_RUN", "validation", kept);
		json_push(m->a, m->validations, kept);
	}
}

/* An effect that a decision receipt was named for needs that receipt: of a trusted signer, an ALLOW, about this very effect. */
static bool is_bound(const struct importing *m, const struct json *event)
{
	const char *ref = json_get_text(json_get(event, "metadata"), "policy_decision_ref", NULL);
	const struct json *receipt = ref ? json_get(m->run->receipts, ref) : NULL,
			  *q = json_get(receipt, "request");

	if (!ref)
		return true;
	return receipt && text_eq(json_get_text(receipt, "decision_id", ""), ref) &&
		text_eq(json_get_text(receipt, "verdict", ""), "ALLOW") &&
		text_eq(json_get_text(q, "effect_type", ""), workstation_effect_type(event)) &&
		text_eq(json_get_text(q, "target", ""), json_get_text(event, "target", "")) &&
		text_eq(json_get_text(q, "tool_id", ""), json_get_text(event, "tool_id", "")) &&
		text_eq(json_get_text(q, "action", ""), json_get_text(event, "action", ""));
}

/* What is written down of one event: our verdict, or a refusal that the event itself declares. */
struct outcome {
	const char *verdict, *code, *reason;
};

static struct outcome judge_event(struct importing *m, const struct json *event)
{
	const char *declared = json_get_text(event, "verdict", ""),
		   *code = json_get_text(event, "reason_code", "");
	struct workstation_answer said;

	workstation_judge(m->a, m->profile, event, NULL, &said);
	if (said.verdict != V_ALLOW)
		return (struct outcome){ "DENY", reason_get(said.code)->code, said.reason };
	if (!is_bound(m, event))
		return (struct outcome){ "DENY", "VERIFICATION_FAILURE",
			"the decision receipt does not hold for this effect" };
	if (*declared && !text_eq(declared, "ALLOW"))
		return (struct outcome){ "DENY", code, "declared by the event" };
	return (struct outcome){ "ALLOW", "", "" };
}

/* Sensitivity and the data class it means. */
static const char *data_class_of(const char *sensitivity)
{
	static const char *const restricted[] = { "restricted", "secret", "credential", "credentials",
		"high" },
				 *const confidential[] = { "confidential", "sensitive", "pii", "medium" };

	if (text_eq(sensitivity, "public"))
		return "public";
	for (size_t i = 0; i < ARRAY_SIZE(restricted); i++)
		if (text_eq(restricted[i], sensitivity))
			return "restricted";
	for (size_t i = 0; i < ARRAY_SIZE(confidential); i++)
		if (text_eq(confidential[i], sensitivity))
			return "confidential";
	return "internal";
}

/* A memory or loop that comes with an event, with what was said about it. */
static void add_carried(struct importing *m, const struct json *event, const char *name,
	const struct outcome *o, struct json *list)
{
	const struct json *carried = json_get(event, name);
	struct json *x;

	if (!json_is(carried, JSON_OBJECT))
		return;
	x = json_copy(m->a, carried);
	if (text_eq(name, "memory_effect")) {
		if (!*json_get_text(x, "sensitivity", ""))
			json_sets(m->a, x, "sensitivity", "internal");
		if (!*json_get_text(x, "data_class", ""))
			json_sets(m->a, x, "data_class", data_class_of(json_get_text(x, "sensitivity", "")));
	}
	json_setb(m->a, x, "observed_only", true);
	json_sets(m->a, x, "verdict", o->verdict);
	json_sets(m->a, x, "reason_code", o->code);
	json_push(m->a, list, without_empty(m->a, x));
}

static void add_denied(struct importing *m, const struct json *action, const struct outcome *o)
{
	struct json *x = json_new(m->a, JSON_OBJECT);
	static const char *const names[] = { "action", "effect_type", "occurred_at", "tool_id" };

	copy_members(m->a, x, action, names, ARRAY_SIZE(names));
	json_sets(m->a, x, "effect_id", json_get_text(action, "action_id", ""));
	json_sets(m->a, x, "reason", o->reason);
	json_sets(m->a, x, "reason_code", o->code);
	json_push(m->a, m->denied, without_empty(m->a, x));
}

static void add_events(struct importing *m)
{
	json_each (event, m->events) {
		struct outcome o = judge_event(m, event);
		struct json *row = json_new(m->a, JSON_OBJECT),
			    *action = action_of(m, event, o.verdict, o.code);
		json_sets(m->a, row, "event_id", json_get_text(event, "event_id", ""));
		json_sets(m->a, row, "verdict", o.verdict);
		json_sets(m->a, row, "reason_code", o.code);
		json_push(m->a, m->verdicts, row);
		json_push(m->a, m->actions, action);
		add_carried(m, event, "memory_effect", &o, m->memories);
		add_carried(m, event, "recurring_loop_effect", &o, m->loops);
		if (!text_eq(o.verdict, "ALLOW"))
			add_denied(m, action, &o);
	}
	json_each (x, m->actions)
		add_effect(m, json_get_text(x, "effect_type", ""), "tool_action", x);
	json_each (x, m->memories)
		add_effect(m, "WORKSTATION_MEMORY_WRITE", "memory_effect", x);
	json_each (x, m->loops)
		add_effect(m, "WORKSTATION_RECURRING_LOOP", "recurring_loop_effect", x);
	json_each (x, m->denied)
		add_effect(m, "WORKSTATION_DENIED_EFFECT", "denied_effect", x);
}

/* ---- the receipt ---- */

static struct json *part_of(struct importing *m, const char *const *from, const char *const *to, size_t n)
{
	struct json *x = json_new(m->a, JSON_OBJECT);

	for (size_t i = 0; i < n; i++)
		json_sets(m->a, x, to[i], json_get_text(m->manifest, from[i], ""));
	return without_empty(m->a, x);
}

static struct json *make_receipt(struct importing *m, const struct workstation_signer *by)
{
	static const char *const actor[] = { "actor_id", "actor_type" },
				 *const place[] = { "workspace_id", "workspace_path", "repository" },
				 *const place_to[] = { "workspace_id", "path", "repository" },
				 *const plain[] = { "run_id", "goal", "agent_surface", "completed_at" };
	struct json *r = json_new(m->a, JSON_OBJECT), *packs = json_new(m->a, JSON_ARRAY);
	const char *root = json_sha256(m->a, m->hashes) + strlen("sha256:");
	const char *parts[] = { m->run_id, root };

	json_pushs(m->a, packs, arena_printf(m->a, "artifact-root:%s", root));
	json_sets(m->a, r, "receipt_version", "agent_run_receipt.v1");
	json_sets(m->a, r, "receipt_id", workstation_id(m->a, "arr", parts, ARRAY_SIZE(parts)));
	copy_members(m->a, r, m->manifest, plain, ARRAY_SIZE(plain));
	json_set(m->a, r, "actor", part_of(m, actor, actor, ARRAY_SIZE(actor)));
	json_set(m->a, r, "workspace", part_of(m, place, place_to, ARRAY_SIZE(place)));
	json_sets(m->a, r, "policy_profile", json_get_text(m->profile, "id", ""));
	json_sets(m->a, r, "created_at", m->started);
	json_set(m->a, r, "artifact_hashes", m->hashes);
	json_set(m->a, r, "changed_files", m->files);
	json_set(m->a, r, "tool_actions", m->actions);
	json_set(m->a, r, "validation_results", m->validations);
	json_set(m->a, r, "memory_effects", m->memories);
	json_set(m->a, r, "recurring_loop_effects", m->loops);
	json_set(m->a, r, "denied_effects", m->denied);
	json_set(m->a, r, "proofgraph_refs", m->refs);
	json_set(m->a, r, "evidence_pack_refs", packs);
	seal(m->a, r, by);
	return r;
}

static void add_beginning(struct importing *m)
{
	static const char *const names[] = { "agent_surface", "goal", "run_id" };
	struct json *intent = json_new(m->a, JSON_OBJECT), *attested = json_new(m->a, JSON_OBJECT);

	copy_members(m->a, intent, m->manifest, names, ARRAY_SIZE(names));
	json_sets(m->a, intent, "policy_profile", json_get_text(m->profile, "id", ""));
	add_node(m, "INTENT", intent);
	json_set(m->a, attested, "artifact_hashes", m->hashes);
	add_node(m, "ATTESTATION", attested);
}

static void add_end(struct importing *m, const struct json *receipt)
{
	static const char *const names[] = { "evidence_pack_refs", "receipt_hash", "receipt_id" };
	struct json *payload = json_new(m->a, JSON_OBJECT);

	copy_members(m->a, payload, receipt, names, ARRAY_SIZE(names));
	add_node(m, "CHECKPOINT", payload);
}

static char *root_of(struct arena *a, const struct json *receipt, const struct json *graph)
{
	struct json *both = json_new(a, JSON_OBJECT);

	json_set(a, both, "receipt", json_copy(a, receipt));
	json_set(a, both, "proofgraph", json_copy(a, graph));
	return json_sha256(a, both) + strlen("sha256:");
}

int workstation_import(struct arena *a, const struct workstation_run *run,
	const struct workstation_signer *by, struct json **ret, struct err *e)
{
	struct importing m = { .a = a, .run = run, .hashes = json_new(a, JSON_OBJECT) };
	struct json **const lists[] = { &m.events, &m.graph, &m.refs, &m.files, &m.actions, &m.validations,
		&m.memories, &m.loops, &m.denied, &m.verdicts };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		*lists[i] = json_new(a, JSON_ARRAY);
	int rc = read_run(&m, e);
	if (rc)
		return rc;
	add_beginning(&m);
	add_files(&m);
	add_validations(&m);
	add_events(&m);
	json_each (node, m.graph)
		json_pushs(a, m.refs, json_get_text(node, "node_hash", ""));
	struct json *doc = json_new(a, JSON_OBJECT), *receipt = make_receipt(&m, by);
	add_end(&m, receipt);
	json_set(a, doc, "PolicyProfile", json_copy(a, m.profile));
	json_set(a, doc, "receipt", receipt);
	json_set(a, doc, "proofgraph", m.graph);
	json_sets(a, doc, "replay_root_hash", root_of(a, receipt, m.graph));
	json_set(a, doc, "verdicts", m.verdicts);
	*ret = doc;
	return OK;
}

bool workstation_import_holds(struct arena *a, const struct json *imported)
{
	const struct json *receipt = json_get(imported, "receipt"), *graph = json_get(imported, "proofgraph");
	struct bytes text;
	struct json *cleared;

	if (!json_is(receipt, JSON_OBJECT) || !json_is(graph, JSON_ARRAY))
		return false;
	json_each (node, graph)
		if (!text_eq(json_get_text(node, "node_hash", ""), node_hash(a, node)))
			return false;
	cleared = json_copy(a, receipt);
	json_sets(a, cleared, "receipt_hash", "");
	json_sets(a, cleared, "signature", "");
	if (sealed_preimage(a, cleared, NULL, &text, NULL) ||
		!text_eq(json_get_text(receipt, "receipt_hash", ""), preimage_hex(a, text)))
		return false;
	return text_eq(json_get_text(imported, "replay_root_hash", ""), root_of(a, receipt, graph));
}
