/* policy_file.c — policy files and requests as the commands about policies take them.
 *
 * One way to read a policy, whatever shape it was written in: a file with a mistake is named with line and column and never half used. */
#include "base/conf.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd_policy.h"
#include "cli/cmd_policy_files.h"
#include "kernel/person.h"
#include "kernel/posture.h"
#include "proof/key.h"
#include "proof/preimage.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_REQUEST_BYTES = 1 << 20 };

const char *policy_shown(struct cli *r, const char *text)
{
	return text ? text_safe(r->a, text, strlen(text), false) : "-";
}

/* ---- policies ---- */

static void print_problems(struct cli *r, const struct policy_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		if (problems->items[i].severity == POLICY_ERROR)
			out(r, "%s\n", policy_problem_line(r->a, &problems->items[i]));
}

static int read_one(struct cli *r, const char *path, struct policy_reading *ret, struct err *e)
{
	int rc = policy_source_read(r->sys, r->a, path, (struct policy_way){ 0 }, NULL, ret, e);

	if (rc && ret->problems.errors > 1 && !r->is_json)
		print_problems(r, &ret->problems);
	return rc;
}

/* Packs of other files become packs of this policy; everything else in them has no place here. */
static int add_packs(struct cli *r, const char *path, struct json *document, struct err *e)
{
	struct policy_reading reading;
	int rc = read_one(r, path, &reading, e);

	if (rc)
		return rc;
	const struct json *packs = json_get(reading.document, "packs");
	if (!packs || !packs->n)
		return err_set(
			e, E_INPUT, "POLICY_PACK", "%s holds no packs; --pack names a file of packs", path);
	if (!json_get(document, "packs"))
		json_set(r->a, document, "packs", json_new(r->a, JSON_ARRAY));
	json_each (pack, packs)
		json_push(r->a, json_get(document, "packs"), pack);
	json_each (region, json_get(reading.document, "regions")) {
		if (!json_get(document, "regions"))
			json_set(r->a, document, "regions", json_new(r->a, JSON_ARRAY));
		json_push(r->a, json_get(document, "regions"), region);
	}
	return OK;
}

int policy_file_open(struct cli *r, const char *path, const char *const *packs, size_t pack_count,
	struct policy_file *ret, struct err *e)
{
	*ret = (struct policy_file){ .path = path };
	int rc = read_one(r, path, &ret->reading, e);

	if (rc == OK) {
		ret->document = json_copy(r->a, ret->reading.document);
		(void)json_remove(ret->document, "signature");
	}
	for (size_t i = 0; rc == OK && i < pack_count; i++)
		rc = add_packs(r, packs[i], ret->document, e);
	if (rc == OK && (rc = ruleset_compile(r->a, ret->document, &ret->rules, e)))
		return policy_compile_error(r->a, &ret->reading, e);
	return rc;
}

int policy_file_or_used(struct cli *r, const char *path, struct policy_file *ret,
	const struct json **ret_entry, struct err *e)
{
	const struct json *entry =
		r->ws && r->ws->memo ? json_get(posture_of(r->sys, r->ws)->word, "policy") : NULL;

	*ret_entry = NULL;
	if (path)
		return policy_file_open(r, path, NULL, 0, ret, e);
	if (!entry)
		return err_set(e, E_MISSING, "POLICY_NONE",
			"no policy is in use here; name one with --policy FILE, or 'helm policy use FILE' puts one in use");
	*ret = (struct policy_file){ .path = json_get_text(entry, "source", "the policy in use") };
	*ret_entry = entry;
	int rc = policy_kept(r->sys, r->a, r->ws, json_get_text(entry, "sha256", ""), &ret->document, e);
	return rc ? rc : ruleset_compile(r->a, ret->document, &ret->rules, e);
}

/* ---- who signed ---- */

/* Keys that count as a person here, and our own. */
static int trust_roots(struct cli *r, const char ***ret, size_t *ret_n, struct err *e)
{
	struct json *keys;
	struct bytes own;
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK)
		rc = person_keys(r->sys, r->a, &keys, e);
	if (rc)
		return rc;
	*ret = arena_zalloc(r->a, keys->n + 1, sizeof(**ret));
	*ret_n = 0;
	json_each_member (m, keys)
		if (text_eq(json_text(m->value), m->name))
			(*ret)[(*ret_n)++] = arena_printf(r->a, "ed25519:%s", m->name);
	if (file_read(r->sys, r->a, AT_FDCWD, arena_printf(r->a, "%s/keys/root.pub", home), 4096, 0, &own,
		    NULL) == OK &&
		own.n >= 64)
		(*ret)[(*ret_n)++] = arena_printf(r->a, "ed25519:%.64s", (const char *)own.p);
	return OK;
}

int policy_file_signer(struct cli *r, const struct policy_file *f, const char **ret_signer, struct err *e)
{
	struct policy_trust trust = { .now_us = r->sys->now_us(r->sys) };
	const char **keys;
	int rc = trust_roots(r, &keys, &trust.key_count, e);

	*ret_signer = NULL;
	if (rc || !json_get(f->reading.source, "signature"))
		return rc;
	trust.keys = keys;
	rc = policy_trust_check(r->a, f->reading.source, NULL, &trust, e);
	if (rc == OK)
		*ret_signer = json_get_text(json_get(f->reading.source, "signature"), "key", NULL);
	return rc;
}

/* ---- facts ---- */

int policy_facts_option(struct cli *r, const struct json **ret, struct err *e)
{
	struct json *facts = json_new(r->a, JSON_OBJECT);
	const char **words;
	size_t n = opt_list(r, "fact", &words);

	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(words[i], '=');
		struct json *value;
		if (!eq || eq == words[i])
			return err_set(e, E_USAGE, "USAGE", "--fact takes NAME=VALUE, not '%s'", words[i]);
		const char *name = arena_strndup(r->a, words[i], (size_t)(eq - words[i]));
		if (policy_is_door_fact(name))
			return err_set(e, E_USAGE, "USAGE",
				"'%s' is known by the door itself, and cannot be said", name);
		if (json_parse(r->a, bytes_of(eq + 1), name, NULL, &value, NULL))
			value = json_string(r->a, eq + 1);
		json_set(r->a, facts, name, value);
	}
	*ret = facts;
	return OK;
}

int policy_facts_open(struct cli *r, const char *word, struct json **ret, struct err *e)
{
	bool is_text = word[strspn(word, " \t\n")] == '{';
	struct bytes text = bytes_of(word);
	const char *name = is_text ? "--facts" : text_eq(word, "-") ? "standard input" : word;

	if (!is_text && file_read(r->sys, r->a, AT_FDCWD, word, LARGEST_REQUEST_BYTES, FILE_FOLLOW, &text, e))
		return err_wrap(e, "--facts takes a JSON object, or a file that holds one");
	if (json_parse(r->a, text, name, NULL, ret, e))
		return e->rc;
	return json_is(*ret, JSON_OBJECT) ? OK
					  : err_set(e, E_INPUT, "POLICY_FACTS",
						    "%s holds %s; facts must be an object, {\"name\": value}",
						    name, json_type_name(*ret));
}

int policy_facts_given(struct cli *r, struct json **ret, struct err *e)
{
	const char *word = opt_text(r, "facts", NULL);
	const struct json *said;

	*ret = NULL;
	if (policy_facts_option(r, &said, e) || (word && policy_facts_open(r, word, ret, e)))
		return e->rc;
	if (!*ret && said->n)
		*ret = json_new(r->a, JSON_OBJECT);
	json_each_member (m, said) {
		if (json_get(*ret, m->name))
			return err_set(e, E_USAGE, "USAGE", "--facts and --fact both say '%s'", m->name);
		json_set(r->a, *ret, m->name, m->value);
	}
	return OK;
}

/* ---- requests ---- */

struct search {
	struct arena *a;
	const char *id;
	struct json *found;
};

static int is_the_decision(void *arg, struct json *row)
{
	struct search *q = arg;

	if (!text_eq(json_get_text(row, "decision_id", ""), q->id) || !json_get(row, "asked"))
		return 0;
	q->found = json_copy(q->a, json_get(row, "asked"));
	return 1;
}

const char *policy_decision_id(struct arena *a, const char *word)
{
	const char *id = receipt_id_short(a, word);

	if (text_starts(id, "rcpt_"))
		id += strlen("rcpt_");
	if (text_ends(id, "_outcome"))
		id = arena_strndup(a, id, strlen(id) - strlen("_outcome"));
	return text_starts(id, "dec-") ? id : NULL;
}

static int is_its_receipt(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct search *q = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!text_eq(json_get_text(receipt, "decision_id", ""), q->id) ||
		!text_eq(json_get_text(receipt, "type", ""), "decision"))
		return 0;
	q->found = json_copy(q->a, receipt);
	return 1;
}

int policy_recorded_answer(struct cli *r, const char *id, struct json **ret, struct err *e)
{
	static const char *const kept[] = { "name", "version", "rule", "origin", "gate" };
	const struct receipts_wanted want = { .text = text_is_plain(id) ? id : NULL };
	struct search q = { r->a, id, NULL };

	*ret = NULL;
	if (!r->ws || r->ws->state_fd < 0)
		return OK;
	if (receipts_back(r->sys, r->ws->state_fd, &want, is_its_receipt, &q, e))
		return e->rc;
	if (!q.found)
		return OK;
	const struct json *metadata = json_get(q.found, "metadata"), *policy = json_get(metadata, "policy");
	struct json *doc = json_new(r->a, JSON_OBJECT), *by = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "decision_id", id);
	json_sets(r->a, doc, "at", json_get_text(q.found, "timestamp", ""));
	json_sets(r->a, doc, "verdict", json_get_text(q.found, "verdict", ""));
	if (*json_get_text(q.found, "reason_code", ""))
		json_sets(r->a, doc, "reason_code", json_get_text(q.found, "reason_code", ""));
	if (json_get(metadata, "rule"))
		json_sets(r->a, doc, "rule", json_get_text(metadata, "rule", ""));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_get(policy, kept[i]))
			json_sets(r->a, by, kept[i], json_get_text(policy, kept[i], ""));
	if (policy) {
		json_sets(r->a, by, "sha256", json_get_text(q.found, "policy_hash", ""));
		json_set(r->a, doc, "policy", by);
	}
	*ret = doc;
	return OK;
}

/* What was asked, as the rows have kept it. */
static int find_recorded(struct cli *r, const char *id, struct json **ret, struct err *e)
{
	static const char *const ledgers[] = { TOOL_CALLS, TASK_LEDGER };
	struct search q = { r->a, id, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(ledgers) && r->ws && r->ws->state_fd >= 0 && !q.found; i++)
		if (rows_back(r->sys, r->a, r->ws->state_fd, ledgers[i], 0, id, is_the_decision, &q, e))
			return e->rc;
	*ret = q.found;
	return q.found ? OK
		       : err_set(e, E_MISSING, "POLICY_REQUEST",
				 "no row of this workspace says what was asked in decision %s", id);
}

static int read_request(struct cli *r, const char *word, struct json **ret, struct err *e)
{
	const char *name = text_eq(word, "-") ? "standard input" : word;
	struct bytes text;

	if (policy_decision_id(r->a, word) && !file_exists(r->sys, AT_FDCWD, word))
		return find_recorded(r, policy_decision_id(r->a, word), ret, e);
	int rc = file_read(r->sys, r->a, AT_FDCWD, word, LARGEST_REQUEST_BYTES, FILE_FOLLOW, &text, e);
	if (rc)
		return rc;
	return text_ends(word, ".yaml") || text_ends(word, ".yml")
		? conf_parse_yaml(r->a, text, name, ret, e)
		: json_parse(r->a, text, name, NULL, ret, e);
}

int policy_request_open(struct cli *r, const char *word, struct policy_question *ret, struct err *e)
{
	struct json *doc;
	int rc = read_request(r, word, &doc, e);

	if (rc)
		return rc;
	rc = policy_question_read(r->a, doc, ret, e);
	if (rc)
		return err_wrap(e, "%s", word);
	if (!*ret->principal)
		ret->principal = arena_printf(r->a, "user:%u", getuid());
	if (!ret->now_us)
		ret->now_us = r->sys->now_us(r->sys);
	const char *command = json_get_text(doc, "command", NULL);
	return command && !policy_request_guard(r, ret, command, e) ? e->rc : OK;
}

/* Understood as a shell would; the question gets its effects and, where it has none, its action and params. */
const struct decision *policy_request_guard(
	struct cli *r, struct policy_question *q, const char *command, struct err *e)
{
	struct decision *d = arena_zalloc(r->a, 1, sizeof(*d));
	struct proposal *p = arena_zalloc(r->a, 1, sizeof(*p));
	struct guard g;

	if (guard_open(r->sys, r->a, r->ws, NULL, &g, e))
		return NULL;
	propose_shell(r->a, &g.at, bytes_of(command), p);
	if (guard_judge(&g, r->a, NULL, p, d, e))
		return NULL;
	q->proposal = p;
	if (!*q->action)
		q->action = "EXECUTE_COMMAND";
	policy_tools(r->a, q, !q->tool);
	if (!q->params) {
		struct json *params = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, params, "command", command);
		q->params = params;
	}
	return d;
}
