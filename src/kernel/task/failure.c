/* failure.c — how a run failed, in a form that can be counted: equal failures have equal fingerprints.
 *
 * Whoever reads the ledger can group failures by fingerprint, to tell "the same thing forty times" from
 * "forty things".  So everything that differs from run to run (paths of this machine, numbers, ids, hashes)
 * is replaced by a name for its kind before the fingerprint is computed.  It is a hint for people; nothing
 * is decided by it. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <ctype.h>
#include <string.h>

static const struct {
	const char *word, *error_class;
} failure_words[] = {
	{ "invalid_grant", "credential_invalid_grant" },
	{ "malformed patch", "patch_failed" },
	{ "hunk failed", "patch_failed" },
	{ "patch does not apply", "patch_failed" },
	{ "command not found", "command_not_found" },
	{ "no such file or directory", "file_not_found" },
	{ "permission denied", "permission_denied" },
	{ "operation not permitted", "permission_denied" },
	{ "read-only file system", "permission_denied" },
	{ "network is unreachable", "network_unreachable" },
	{ "could not resolve host", "dns_failure" },
	{ "name or service not known", "dns_failure" },
	{ "temporary failure in name resolution", "dns_failure" },
	{ "too many requests", "rate_limited" },
	{ "rate limit", "rate_limited" },
	{ "no space left on device", "disk_full" },
	{ "out of memory", "out_of_memory" },
	{ "cannot allocate memory", "out_of_memory" },
	{ "assertion", "assertion_failed" },
	{ "syntaxerror", "syntax_error" },
	{ "syntax error", "syntax_error" },
	{ "modulenotfounderror", "import_error" },
	{ "importerror", "import_error" },
	{ "cannot find module", "import_error" },
	{ "merge conflict", "merge_conflict" },
	{ "timed out", "timeout" },
};

/* The first phrase of the list that occurs decides. */
static const char *class_of(const char *text, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(failure_words); i++) {
		size_t len = strlen(failure_words[i].word);
		for (size_t at = 0; at + len <= n; at++)
			if (strncasecmp(text + at, failure_words[i].word, len) == 0)
				return failure_words[i].error_class;
	}
	return NULL;
}

/* What helm itself did comes first, then what the command said, then how it ended. */
static const char *error_class(const struct json *row, const struct run_result *result)
{
	const char *stage = json_get_text(row, "failure_stage", ""),
		   *status = json_get_text(row, "status", "");
	const char *reason = json_get_text(row, "failure_reason", ""), *found = NULL;

	if (text_eq(stage, "guard") || text_eq(stage, "tool_grant"))
		return "guard_deny";
	if (text_eq(status, "timeout"))
		return "timeout";
	if (result && result->captured)
		found = class_of(result->err.tail, result->err.tail_n);
	if (!found)
		found = class_of(reason, strlen(reason));
	if (!found && result && result->exit_signal)
		found = "signal_killed";
	return found ? found : "exit_nonzero";
}

/* Parts that differ from run to run are named by what they are, so that equal failures have equal
 * fingerprints. */
static char *normal_target(struct arena *a, const struct workspace *ws, const char *text)
{
	struct buf out;

	buf_init(&out, a);
	for (const char *p = text; *p;) {
		size_t hex = strspn(p, "0123456789abcdef"), digits = strspn(p, "0123456789");
		bool word_start = p == text || !isalnum((unsigned char)p[-1]);
		if (ws->root && strncmp(p, ws->root, strlen(ws->root)) == 0) {
			buf_adds(&out, "<workspace>");
			p += strlen(ws->root);
		} else if (ws->home && ws->home[1] && strncmp(p, ws->home, strlen(ws->home)) == 0) {
			buf_adds(&out, "~");
			p += strlen(ws->home);
		} else if (word_start && hex >= 8 && p[hex] == '-' && strspn(p, "0123456789abcdef-") == 36) {
			buf_adds(&out, "<uuid>");
			p += 36;
		} else if (word_start && hex >= 7 && hex <= 40 && hex > digits) {
			buf_adds(&out, "<sha>");
			p += hex;
		} else if (digits >= 4) {
			buf_adds(&out, "<n>");
			p += digits;
		} else {
			buf_addc(&out, *p++);
		}
	}
	return out.p;
}

/* For Python the module or script tells more than the interpreter does. */
static const char *tool_of(const struct json *row)
{
	const struct json *command = json_get(row, "command");
	const char *head = json_text(json_at(command, 0)), *base = head ? path_base(head) : "";

	if (text_eq(json_get_text(row, "runtime_backend", ""), "conversation"))
		return "conversation";
	if (text_starts(base, "python") && command->n > 1) {
		const char *first = json_text(json_at(command, 1));
		if (first && text_eq(first, "-m"))
			return json_text(json_at(command, 2)) ? json_text(json_at(command, 2)) : base;
		if (first && first[0] != '-')
			return path_base(first);
	}
	return base;
}

/* Four parts make the fingerprint: component, tool, class and target. */
struct json *task_failure_signature(
	struct arena *a, const struct workspace *ws, const struct json *row, const struct run_result *result)
{
	const char *status = json_get_text(row, "status", ""),
		   *stage = json_get_text(row, "failure_stage", "");
	const char *profile = json_get_text(row, "profile", ""),
		   *preview = json_get_text(row, "command_preview", "");
	struct json *doc = json_new(a, JSON_OBJECT);
	uint8_t hash[SHA256_SIZE];
	char hex[SHA256_HEX];

	if (!text_eq(status, "failed") && !text_eq(status, "timeout") && !text_eq(status, "blocked"))
		return NULL;
	bool guard = text_eq(stage, "guard") || text_eq(stage, "tool_grant");
	const char *component = guard ? "guard" : "runner", *class = error_class(row, result),
		   *tool = tool_of(row);
	const char *target = guard	 ? arena_printf(a, "profile:%s", profile)
		: strlen(preview) <= 128 ? normal_target(a, ws, preview)
					 : tool;
	const char *text = arena_printf(a, "%s|%s|%s|%s", component, tool, class, target);
	sha256(text, strlen(text), hash);
	hex_encode(hash, 4, hex);
	json_sets(a, doc, "component", component);
	json_sets(a, doc, "tool", tool);
	json_sets(a, doc, "profile", profile);
	json_sets(a, doc, "error_class", class);
	json_sets(a, doc, "target", target);
	json_sets(a, doc, "fingerprint", hex);
	return doc;
}

/* In the form that older readers of the ledger expect; most of it is empty here. */
struct json *task_experience(struct arena *a, const struct json *row)
{
	struct json *doc = json_new(a, JSON_OBJECT), *signal = json_new(a, JSON_OBJECT),
		    *tools = json_new(a, JSON_ARRAY), *selected = json_new(a, JSON_ARRAY),
		    *skills = json_new(a, JSON_ARRAY), *flags = json_new(a, JSON_ARRAY);
	const struct json *grant = json_get(row, "tool_grant");
	static const char *const lists[] = { "granted", "requires_approval", "denied" };
	bool service = text_eq(json_get_text(row, "profile", ""), "service_ops");

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_each (name, json_get(grant, lists[i]))
			json_push(a, tools, name);
	json_pushs(a, selected, tool_of(row));
	if (json_get_text(row, "skill", NULL))
		json_pushs(a, skills, json_get_text(row, "skill", NULL));
	if (service) {
		struct json *flag = json_new(a, JSON_OBJECT);
		json_sets(a, flag, "type", "missing_service_ops_evidence");
		json_push(a, flags, flag);
	}
	json_sets(a, signal, "status", json_get_text(row, "status", ""));
	json_sets(a, signal, "evidence_state", service ? "missing_required" : "missing_optional");
	json_setb(a, signal, "user_correction", false);
	json_set(a, doc, "memory_candidates", json_new(a, JSON_ARRAY));
	json_set(a, doc, "memory_selected", json_new(a, JSON_ARRAY));
	json_set(a, doc, "skill_candidates", json_new(a, JSON_ARRAY));
	json_set(a, doc, "skill_selected", skills);
	json_set(a, doc, "tool_candidates", tools);
	json_set(a, doc, "tool_selected", selected);
	json_sets(a, doc, "selection_reason", "the command that was given");
	json_set(a, doc, "outcome_signal", signal);
	json_sets(a, doc, "retrospective_score", NULL);
	json_set(a, doc, "review_flags", flags);
	return doc;
}
