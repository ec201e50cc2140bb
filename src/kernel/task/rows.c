/* rows.c — the pieces of a run's rows: how a row begins, environment, touched paths, failure signature. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "privacy/privacy.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

/* A word as a person would type it. */
static void quote(struct buf *to, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	buf_adds(to, *word && !word[strspn(word, plain)] ? word : text_quote(to->a, word));
}

char *task_preview(struct arena *a, const char *const *argv, size_t argc)
{
	struct buf text;

	buf_init(&text, a);
	for (size_t i = 0; i < argc; i++) {
		if (i)
			buf_addc(&text, ' ');
		quote(&text, argv[i]);
	}
	return text.p;
}

static char *default_name(struct arena *a, const struct run_spec *spec)
{
	struct buf name;

	buf_init(&name, a);
	for (size_t i = 0; i < spec->argc && i < 3; i++)
		buf_addf(&name, "%s%s", i ? " " : "", spec->argv[i]);
	return name.p;
}

static struct json *runtime_env(struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct utsname host;

	json_sets(a, doc, "helm_version", HELM_VERSION);
	if (uname(&host) == 0)
		json_sets(a, doc, "uname",
			arena_printf(a, "%s %s %s", host.sysname, host.release, host.machine));
	return doc;
}

static struct json *tool_grant(struct arena *a, const struct profile *p)
{
	enum tool_group all[GROUP_COUNT];

	for (int i = 0; i < GROUP_COUNT; i++)
		all[i] = (enum tool_group)i;
	struct json *grant = profile_compute_grant(a, p, all, GROUP_COUNT);
	json_sets(a, grant, "profile", p->name);
	return grant;
}

struct json *task_stub(
	struct kernel *k, const struct run_spec *spec, const struct profile *p, const char *task_id)
{
	struct arena *a = k->a;
	struct json *row = json_new(a, JSON_OBJECT), *command = json_new(a, JSON_ARRAY),
		    *paths = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < spec->argc; i++)
		json_pushs(a, command, spec->argv[i]);
	for (size_t i = 0; i < spec->checkpoint_path_count; i++)
		json_pushs(a, paths, spec->checkpoint_paths[i]);
	json_sets(a, row, "task_id", task_id);
	json_sets(a, row, "parent_task_id", spec->parent_task_id);
	json_sets(a, row, "task_name", spec->task_name ? spec->task_name : default_name(a, spec));
	json_sets(a, row, "task_goal", spec->task_goal);
	json_sets(a, row, "skill", spec->skill);
	json_sets(a, row, "profile", p->name);
	json_sets(a, row, "backend", p->backend);
	json_sets(a, row, "runtime_backend", p->runtime_backend);
	json_sets(a, row, "runtime_target_kind", p->runtime_target_kind);
	json_sets(a, row, "runtime_target", spec->runtime_target);
	json_sets(a, row, "runtime_note", spec->runtime_note);
	json_sets(a, row, "isolation", p->isolation);
	json_setb(a, row, "handoff_required", p->handoff_required);
	json_set(a, row, "command", command);
	json_sets(a, row, "command_preview", task_preview(a, spec->argv, spec->argc));
	json_sets(a, row, "cwd", spec->cwd);
	json_sets(a, row, "started_at", text_time_iso(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "checkpoint_label",
		spec->label ? spec->label : arena_printf(a, "%s-checkpoint", p->name));
	json_set(a, row, "checkpoint_paths", paths);
	json_sets(a, row, "checkpoint_id", NULL);
	json_sets(a, row, "delivery_mode", spec->delivery_mode ? spec->delivery_mode : "inline");
	json_set(a, row, "meta", spec->meta ? json_copy(a, spec->meta) : json_new(a, JSON_OBJECT));
	json_set(a, row, "runtime_env", runtime_env(a));
	json_set(a, row, "tool_grant", tool_grant(a, p));
	json_sets(a, row, "guard_mode", guard_mode_name(spec->mode));
	return row;
}

/* ---- environment ---- */

static bool is_listed(const char *entry, const char *const *names)
{
	size_t n = strcspn(entry, "=");

	for (; *names; names++)
		if (strlen(*names) == n && strncmp(entry, *names, n) == 0)
			return true;
	return false;
}

/* Gates and approvals are ours to set: a child must not hand them on to the next helm. */
static bool is_control(const char *entry)
{
	static const char *const control[] = { "HELM_GUARD_MODE", "HELM_PAUSE_GATE", "OPENCLAW_PAUSE_GATE",
		"HELM_BROWSER_GATE", "OPENCLAW_BROWSER_GATE", "HELM_APPROVAL", "TMPDIR", "TMP", "TEMP",
		NULL };

	return is_listed(entry, control);
}

static bool may_pass(const char *entry, const struct profile *p)
{
	static const char *const basic[] = { "PATH", "HOME", "LANG", "LC_ALL", "TERM", "SHELL", "USER",
		"LOGNAME", "SYSTEMROOT", "COMSPEC", "NO_COLOR", "COLORTERM", NULL };
	static const char *const working[] = { "PWD", "OLDPWD", "VIRTUAL_ENV", "CONDA_DEFAULT_ENV",
		"CONDA_PREFIX", NULL };

	if (is_control(entry))
		return false;
	if (p->network == ALLOWANCE_YES)
		return true;
	return is_listed(entry, basic) || text_starts(entry, "HELM_") || text_starts(entry, "OPENCLAW_") ||
		(p->writes == ALLOWANCE_YES && is_listed(entry, working));
}

static void put(struct arena *a, const char **env, size_t *n, const char *name, const char *value)
{
	if (!value)
		return;
	env[(*n)++] = arena_printf(a, "HELM_%s=%s", name, value);
	env[(*n)++] = arena_printf(a, "OPENCLAW_%s=%s", name, value);
}

const char **task_environment(
	struct kernel *k, const struct run_spec *spec, const char *task_id, const char *tmp, const char *card)
{
	const struct profile *p = profiles_find(&k->guard.profiles, spec->profile);
	size_t n = 0, have = 0;

	while (environ[have])
		have++;
	const char **env = arena_zalloc(k->a, have + 32, sizeof(*env));
	for (size_t i = 0; i < have; i++)
		if (may_pass(environ[i], p) && !text_starts(environ[i], "HELM_TASK_") &&
			!text_starts(environ[i], "OPENCLAW_TASK_"))
			env[n++] = environ[i];
	put(k->a, env, &n, "TASK_ID", task_id);
	put(k->a, env, &n, "TASK_PROFILE", spec->profile);
	put(k->a, env, &n, "TASK_SKILL", spec->skill);
	put(k->a, env, &n, "TASK_NAME", spec->task_name);
	put(k->a, env, &n, "PREVIOUS_STATE_SNAPSHOT", card);
	env[n++] = arena_printf(k->a, "HELM_WORKSPACE=%s", k->ws->root);
	if (tmp)
		env[n++] = arena_printf(k->a, "TMPDIR=%s", tmp);
	return env;
}

/* ---- what changed ---- */

struct touched {
	struct arena *a;
	struct json *paths;
	const char *state_name;
	int64_t since_us;
	size_t seen;
};

static int look_at(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct touched *t = arg;
	int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;

	(void)parent;
	(void)e;
	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") || text_eq(name, t->state_name) ? FILE_SKIP : 0;
	/* The file system's clock ticks more coarsely than ours. */
	if (changed >= t->since_us - 10000 && t->paths->n < 500)
		json_pushs(t->a, t->paths, rel);
	return ++t->seen > 200000 ? E_LIMIT : 0;
}

struct json *task_touched(
	struct sys *s, struct arena *a, const char *root, const char *state_name, int64_t since_us)
{
	struct touched t = { a, json_new(a, JSON_ARRAY), state_name, since_us, 0 };

	/* A tree that cannot be walked to its end gives what was seen. */
	(void)file_walk(s, AT_FDCWD, root, look_at, &t, NULL);
	return t.paths;
}

/* ---- how it failed ---- */

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

/* Parts that differ from run to run are named by what they are, so that equal failures have equal fingerprints. */
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

static const char *tool_of(const struct json *row)
{
	const struct json *command = json_get(row, "command");
	const char *head = json_text(json_at(command, 0)), *base = head ? path_base(head) : "";

	if (text_starts(base, "python") && command->n > 1) {
		const char *first = json_text(json_at(command, 1));
		if (first && text_eq(first, "-m"))
			return json_text(json_at(command, 2)) ? json_text(json_at(command, 2)) : base;
		if (first && first[0] != '-')
			return path_base(first);
	}
	return base;
}

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

struct json *task_memory_capture(struct arena *a, int exit_code)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "finalization_status", "unknown");
	json_sets(a, doc, "status", "not_captured");
	json_sets(a, doc, "reason", "this version does not write memory: nothing was captured or planned");
	json_seti(a, doc, "task_exit_code", exit_code);
	return doc;
}
