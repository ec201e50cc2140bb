/* sandbox.c — the gate before a sandbox: may this be run in it, and does what it tried lie within its grant?
 *
 * The policy says which actions run there, in which runtimes, with which commands of its own.  The grant of this run (preopened
 * directories, network, code that an agent wrote) is a fact; without it there is none of that. */
#include "base/file.h"
#include "decide/engine/parts.h"

#include <ctype.h>
#include <string.h>

static bool is_listed(const struct json *list, const char *word, size_t n)
{
	json_each (item, list)
		if (item->n == n && memcmp(item->text, word, n) == 0)
			return true;
	return false;
}

static bool text_is_listed(const struct json *list, const struct json *v)
{
	return json_text(v) && is_listed(list, v->text, v->n);
}

static void refuse(struct gate_answer *ret, const char *text)
{
	gate_deny(ret, REASON_SANDBOX_VIOLATION, NULL, text);
}

static bool is_preopened(struct arena *a, const struct sandbox_facts *f, const char *path)
{
	const char *clean = path_clean(a, path);

	for (size_t i = 0; f && clean[0] == '/' && i < f->preopen_count; i++)
		if (path_is_below(clean, path_clean(a, f->preopens[i])))
			return true;
	return false;
}

/* What a run tried to do, as its runtime reports it.  True: that settles it. */
static bool judge_attempt(struct judging *j, struct gate_answer *ret)
{
	const struct json *params = j->ask->params;
	const struct sandbox_facts *f = j->facts->sandbox;
	const char *attempt = json_get_text(params, "attempt", NULL),
		   *path = json_get_text(params, "path", NULL);

	if (!json_get(params, "attempt"))
		return false;
	if (!attempt) {
		refuse(ret, "What was attempted is not named.");
	} else if (text_eq(attempt, "fuel_exhaustion")) {
		gate_deny(ret, REASON_BUDGET_EXCEEDED, NULL, "The run used up its fuel.");
		ret->detail_code = reason_get(REASON_ERR_COMPUTE_GAS_EXHAUSTED)->code;
	} else if (text_eq(attempt, "socket_connect")) {
		if (!f || !f->has_network) {
			refuse(ret, "The run tried to use the network, which its grant does not open.");
			ret->detail_code = reason_get(REASON_DATA_EGRESS_BLOCKED)->code;
		}
	} else if (text_eq(attempt, "read") || text_eq(attempt, "write")) {
		if (!path || !is_preopened(j->a, f, path))
			refuse(ret, "The run tried a path outside of the directories that its grant opens.");
	} else {
		refuse(ret, "The run tried something that no grant knows.");
	}
	return ret->verdict != V_ALLOW;
}

/* `while true`, `until false`, `for ((;;))`: a loop that nothing ends. */
static bool has_endless_loop(const char *command)
{
	static const char *const heads[] = { "whiletrue", "while:", "untilfalse", "while[1]", "while((1))",
		"for((;;))" };
	char squeezed[256];
	size_t n = 0;

	for (const char *p = command; *p && n + 1 < sizeof(squeezed); p++)
		if (!isspace((unsigned char)*p))
			squeezed[n++] = *p;
	squeezed[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (strstr(squeezed, heads[i]))
			return true;
	return false;
}

/* Seconds of a plain `sleep n`; -1 when it is none, INT64_MAX when it is not a number that fits. */
static int64_t sleep_seconds(struct arena *a, const char *command)
{
	int64_t n;

	if (!text_starts(command, "sleep") || !isspace((unsigned char)command[strlen("sleep")]))
		return -1;
	const char *p = command + strlen("sleep");
	while (isspace((unsigned char)*p))
		p++;
	const char *word = arena_strndup(a, p, strcspn(p, " \t\r\n"));
	return text_int(word, &n) && n >= 0 ? n : INT64_MAX;
}

/* Each command of a list or pipeline starts with a word of the sandbox. */
static bool all_listed(const struct sandbox_rules *r, const char *command)
{
	size_t found = 0;

	for (const char *p = command;; p += strcspn(p, ";|&\n")) {
		p += strspn(p, ";|& \t\r\n");
		if (!*p)
			return found > 0;
		if (!is_listed(r->commands, p, strcspn(p, " \t\r\n;|&<>")))
			return false;
		found++;
	}
}

/* The same of a command that was understood: every program that it starts.  What is only known when it runs is none of them. */
static bool all_started_listed(const struct sandbox_rules *r, const struct proposal *p)
{
	for (size_t i = 0; i < p->step_count; i++) {
		const char *head = p->steps[i].head, *name = head ? path_base(head) : "";
		if (!is_listed(r->commands, name, strlen(name)) &&
			!(head && is_listed(r->commands, head, strlen(head))))
			return false;
	}
	return p->readable && p->step_count > 0;
}

static void judge_started(struct judging *j, struct gate_answer *ret)
{
	if (!all_started_listed(j->rules->sandbox, j->ask->proposal))
		refuse(ret, "The policy does not list every program that this starts for the sandbox.");
}

static void judge_command(struct judging *j, struct gate_answer *ret)
{
	const struct sandbox_rules *r = j->rules->sandbox;
	const struct json *params = j->ask->params;
	const char *command = json_get_text(params, "command", "");
	int64_t gas = json_get_int(params, "gas_limit", json_get(params, "gas_limit") ? -1 : INT64_MAX);
	int64_t timeout_ms =
		json_get_int(params, "timeout_ms", json_get(params, "timeout_ms") ? 0 : INT64_MAX);

	while (isspace((unsigned char)*command))
		command++;
	int64_t seconds = sleep_seconds(j->a, command);
	if (gas < r->min_gas)
		refuse(ret, "The gas limit is too low for anything to run.");
	else if (has_endless_loop(command))
		refuse(ret, "The command is a loop that nothing ends.");
	else if (strpbrk(command, "`") || strstr(command, "$(") || strstr(command, "<(") ||
		!all_listed(r, command))
		refuse(ret, "The sandbox has no such command of its own.");
	else if (seconds >= 0 && seconds > timeout_ms / 1000)
		refuse(ret, "The command would sleep for longer than its time limit.");
}

/* By which grant it was refused, and what it was about: without saying it, since receipts travel. */
static void bind_grant(struct judging *j, struct gate_answer *ret)
{
	const struct sandbox_facts *f = j->facts->sandbox;
	struct json *grant = json_new(j->a, JSON_OBJECT), *open = json_new(j->a, JSON_ARRAY),
		    *bound = json_new(j->a, JSON_OBJECT);
	const struct json *path = json_get(j->ask->params, "path");

	for (size_t i = 0; f && i < f->preopen_count; i++)
		json_pushs(j->a, open, f->preopens[i]);
	if (f && f->runtime)
		json_sets(j->a, grant, "runtime", f->runtime);
	json_setb(j->a, grant, "may_run_generated", f && f->may_run_generated);
	json_setb(j->a, grant, "has_network", f && f->has_network);
	json_set(j->a, grant, "preopens", open);
	json_sets(j->a, bound, "sandbox_grant_hash", json_sha256(j->a, grant));
	if (json_text(path))
		json_sets(j->a, bound, "path_hash", json_sha256(j->a, path));
	ret->bound = bound;
}

static void judge_sandbox(struct judging *j, struct gate_answer *ret)
{
	const struct sandbox_rules *r = j->rules->sandbox;
	const struct json *params = j->ask->params;

	const struct sandbox_facts *f = j->facts->sandbox;
	bool is_named = f && f->runtime ? is_listed(r->runtimes, f->runtime, strlen(f->runtime))
					: text_is_listed(r->runtimes, json_get(params, "sandbox"));

	if (!is_named)
		refuse(ret, "It must run in a sandbox that the policy names.");
	else if (f && f->runtime && j->ask->proposal)
		judge_started(j, ret);
	else if (judge_attempt(j, ret))
		return;
	else if (!json_get(params, "code_hash"))
		judge_command(j, ret);
	else if (!j->facts->sandbox || !j->facts->sandbox->may_run_generated)
		refuse(ret, "Running code that an agent wrote needs a grant.");
}

void gate_sandbox(struct judging *j, struct gate_answer *ret)
{
	ret->is_active = true;
	if (!is_listed(j->rules->sandbox->actions, j->ask->effect_type, strlen(j->ask->effect_type)))
		return;
	judge_sandbox(j, ret);
	if (ret->verdict != V_ALLOW)
		bind_grant(j, ret);
}
