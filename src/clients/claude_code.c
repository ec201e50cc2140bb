/* claude_code.c — Claude Code: how it asks, how it is answered and how its settings are read.
 *
 * Its hooks are groups of commands below an event's name. A denial is a JSON document on standard output
 * with exit code 0. Newer versions know "onFailure": "block" for a hook that crashed or took too long;
 * older versions let the call pass then, and `helm setup status` says so.
 *
 * Other clients took over its words, so the answer, the denial, the payload and the plain entry are shared
 * through parts.h. */
#include "base/text.h"
#include "clients/parts.h"

/* There is one text for both model and person here, so `person` is not used. */
struct json *claude_answer(struct arena *a, const char *word, const char *text, const char *person)
{
	struct json *doc = json_new(a, JSON_OBJECT), *inner = json_new(a, JSON_OBJECT);

	(void)person;
	json_sets(a, inner, "hookEventName", "PreToolUse");
	json_sets(a, inner, "permissionDecision", word);
	json_sets(a, inner, "permissionDecisionReason", text);
	json_set(a, doc, "hookSpecificOutput", inner);
	return doc;
}

/* All other members of the input stay as they are: its time-out, whether it runs in the background. */
struct json *claude_rewrite(struct arena *a, const char *word, const struct tool_call *call,
	const char *command, const char *text)
{
	struct json *doc = claude_answer(a, word, text, NULL), *input = json_copy(a, call->input);

	json_sets(a, input, "command", command);
	json_set(a, json_get(doc, "hookSpecificOutput"), "updatedInput", input);
	return doc;
}

static struct json *context_for(struct arena *a, const char *event, const char *text)
{
	struct json *doc = json_new(a, JSON_OBJECT), *inner = json_new(a, JSON_OBJECT);

	json_sets(a, inner, "hookEventName", event);
	json_sets(a, inner, "additionalContext", text);
	json_set(a, doc, "hookSpecificOutput", inner);
	return doc;
}

struct json *claude_remark(struct arena *a, const char *text)
{
	return context_for(a, "PostToolUse", text);
}

static struct json *claude_welcome(struct arena *a, const char *text)
{
	return context_for(a, "SessionStart", text);
}

const char *claude_denial(const struct json *answer)
{
	const struct json *inner = json_get(answer, "hookSpecificOutput");

	return text_eq(json_get_text(inner, "permissionDecision", ""), "deny")
		? json_get_text(inner, "permissionDecisionReason", NULL)
		: NULL;
}

struct json *claude_payload(struct arena *a, const char *command)
{
	struct json *doc = json_new(a, JSON_OBJECT), *input = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "hook_event_name", "PreToolUse");
	json_sets(a, doc, "tool_name", "Bash");
	json_sets(a, input, "command", command);
	json_set(a, doc, "tool_input", input);
	return doc;
}

/* One group that holds our command for every tool. Only the entry before a call may block: what fails
 * after a call has nothing left to stop. */
static struct json *entry_of(struct arena *a, const char *command, const char *verb, bool can_block)
{
	struct json *group = json_new(a, JSON_OBJECT), *handlers = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "type", "command");
	json_sets(a, one, "command", command);
	json_seti(a, one, "timeout", CLIENT_TIMEOUT_S);
	if (text_eq(verb, "pre-tool")) {
		json_sets(a, one, "statusMessage", "Checking HELM policy");
		if (can_block)
			json_sets(a, one, "onFailure", "block");
	}
	json_push(a, handlers, one);
	json_sets(a, group, "matcher", ".*");
	json_set(a, group, "hooks", handlers);
	return group;
}

struct json *claude_entry_plain(struct arena *a, const char *command, const char *verb)
{
	return entry_of(a, command, verb, false);
}

static struct json *claude_entry(struct arena *a, const char *command, const char *verb)
{
	return entry_of(a, command, verb, true);
}

/* A file that is missing or cannot be read switches nothing off. */
static void check_disabled(struct client_look *l, const char *path)
{
	struct json *doc = client_read_json(l, path);

	if (json_get_bool(doc, "disableAllHooks", false))
		look_is(l, "not_armed", arena_printf(l->a, "'%s' says disableAllHooks: no hook runs", path));
	if (json_get_bool(doc, "allowManagedHooksOnly", false))
		look_is(l, "not_armed",
			arena_printf(l->a, "'%s' says allowManagedHooksOnly: ours is skipped", path));
}

/* Looks through every settings file that Claude Code reads, since each of them can switch all hooks off:
 * those of the user, of the project and of the place where our entry lies, and the one an administrator
 * manages. */
static void claude_look(struct client_look *l)
{
	const char *roots[] = { l->home, l->project, l->root };

	if (!text_eq(json_get_text(l->entry, "onFailure", ""), "block"))
		json_pushs(l->a, l->warnings,
			"the entry lacks \"onFailure\": \"block\": a call passes when Helm is ended by a "
			"time-out");
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (!roots[i])
			continue;
		check_disabled(l, arena_printf(l->a, "%s/.claude/settings.json", roots[i]));
		check_disabled(l, arena_printf(l->a, "%s/.claude/settings.local.json", roots[i]));
	}
	check_disabled(l, "/etc/claude-code/managed-settings.json");
}

static const struct client_speech speech = { .can_ask = true,
	.answer = claude_answer,
	.rewrite = claude_rewrite,
	.remark = claude_remark,
	.welcome = claude_welcome,
	.denial = claude_denial,
	.payload = claude_payload };

static const struct client_setup setup = { .file = ".claude/settings.json",
	.fresh = "{}\n",
	.events = { { "PreToolUse", "pre-tool" }, { "PostToolUse", "post-tool" } },
	.start_event = "SessionStart",
	.entry = claude_entry,
	.look = claude_look };

/* Settings on the command line win over those of user and project, so nothing that is written inside switches our hooks off.  An
 * entry that the settings have, too, is run once: it is the same command. */
static const char *const *claude_arm(struct arena *a, const char *before, const char *after, bool is_armed)
{
	struct json *doc = json_new(a, JSON_OBJECT), *hooks = json_new(a, JSON_OBJECT),
		    *own = json_new(a, JSON_OBJECT);
	const char **words = arena_zalloc(a, 3, sizeof(*words));
	struct buf text;

	(void)is_armed;
	for (size_t i = 0; i < 2; i++) {
		struct json *groups = json_new(a, JSON_ARRAY);
		json_push(a, groups,
			claude_entry(
				a, setup.events[i].verb[1] == 'r' ? before : after, setup.events[i].verb));
		json_set(a, hooks, setup.events[i].event, groups);
	}
	json_setb(a, doc, "disableAllHooks", false);
	json_set(a, doc, "hooks", hooks);
	/* Its own sandbox cannot be made inside Helm's, and then nothing runs. */
	json_setb(a, own, "enabled", false);
	json_set(a, doc, "sandbox", own);
	buf_init(&text, a);
	json_write(&text, doc, 0);
	words[0] = "--settings";
	words[1] = text.p;
	return words;
}

/* Counters, flags of what was shown once, and what a project's last session cost.  Servers, trust, permissions, keys and the account itself
 * (mcpServers, hasTrustDialogAccepted, allowedTools, env, apiKeyHelper, customApiKeyResponses, oauthAccount ...) are not among them. */
static const struct client_member kept_members[] = { { "numStartups", MEMBER_NUMBER },
	{ "firstStartTime", MEMBER_TEXT }, { "userID", MEMBER_TEXT }, { "anonymousId", MEMBER_TEXT },
	{ "hasCompletedOnboarding", MEMBER_BOOL }, { "lastOnboardingVersion", MEMBER_TEXT },
	{ "lastReleaseNotesSeen", MEMBER_TEXT }, { "changelogLastFetched", MEMBER_NUMBER },
	{ "tipsHistory.*", MEMBER_NUMBER }, { "memoryUsageCount", MEMBER_NUMBER },
	{ "promptQueueUseCount", MEMBER_NUMBER }, { "subscriptionNoticeCount", MEMBER_NUMBER },
	{ "hasSeenTasksHint", MEMBER_BOOL }, { "machineID", MEMBER_TEXT },
	{ "migrationVersion", MEMBER_NUMBER }, { "*MigrationComplete", MEMBER_BOOL },
	{ "claudeCodeFirstTokenDate", MEMBER_TEXT }, { "theme", MEMBER_TEXT },
	{ "projects.*.history", MEMBER_ANY }, { "projects.*.projectOnboardingSeenCount", MEMBER_NUMBER },
	{ "projects.*.lastCost", MEMBER_NUMBER }, { "projects.*.lastAPIDuration", MEMBER_NUMBER },
	{ "projects.*.lastToolDuration", MEMBER_NUMBER }, { "projects.*.lastDuration", MEMBER_NUMBER },
	{ "projects.*.lastLinesAdded", MEMBER_NUMBER }, { "projects.*.lastLinesRemoved", MEMBER_NUMBER },
	{ "projects.*.lastTotal*", MEMBER_NUMBER }, { "projects.*.lastSessionId", MEMBER_TEXT }, { 0 } };

/* The account stands beside the login, in another file. */
static const struct client_login login = {
	.file = ".claude.json", .account = "oauthAccount.accountUuid", .newer = "claudeAiOauth.expiresAt"
};

static const struct client_session session = { .program = "claude",
	.state = NAMES(".claude/", ".claude.json"),
	.closed = NAMES(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/",
		".claude/commands/", ".claude/agents/", ".claude/skills/", ".claude/plugins/",
		".claude/output-styles/", ".claude/CLAUDE.md"),
	.carried = CARRIED({ ".claude/projects/", ".jsonl", CARRY_LINES, NULL, NULL },
		{ ".claude/history.jsonl", NULL, CARRY_LINES, NULL, NULL },
		{ ".claude/todos/", ".json", CARRY_JSON, NULL, NULL },
		{ ".claude/tasks/", ".json", CARRY_JSON, NULL, NULL },
		{ ".claude.json", NULL, CARRY_MEMBERS, kept_members, NULL },
		{ ".claude/.credentials.json", NULL, CARRY_LOGIN, MEMBERS({ "claudeAiOauth", MEMBER_ANY }),
			&login }),
	.dropped = NAMES(".claude/statsig/", ".claude/telemetry/", ".claude/debug/", ".claude/cache/",
		".claude/shell-snapshots/", ".claude/session-env/", ".claude/sessions/", ".claude/ide/",
		".claude/file-history/", ".claude/paste-cache/", ".claude/image-cache/", ".claude/backups/",
		".claude/logs/", ".claude/usage-data/", ".claude/stats-cache.json", ".claude/.update.lock",
		".claude/.last-cleanup", ".claude/policy-limits.json", ".claude.json.backup*",
		".claude.json.lock"),
	.dropped_members = NAMES("cached*", "*.cached*"),
	.home_variable = "CLAUDE_CONFIG_DIR",
	.moved = NAMES(".claude.json"),
	.variables = NAMES("ANTHROPIC_", "CLAUDE_", "DISABLE_", "IS_SANDBOX", "MCP_",
		"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "MAX_THINKING_TOKENS"),
	.tmp_variable = "CLAUDE_CODE_TMPDIR",
	.hosts = NAMES("api.anthropic.com", "console.anthropic.com", "claude.ai", "platform.claude.com"),
	.url_variable = "ANTHROPIC_BASE_URL",
	.arm = claude_arm };

static const struct client_sandbox sandbox = {
	.off = "claude --settings '{\"sandbox\":{\"enabled\":false}}'"
};

const struct client client_claude_code = { .name = "claude-code",
	.alias = "claude",
	.title = "Claude Code",
	.marks = MARKS("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
	.files = FILES({ ".claude/settings.json", CARE_CLOSED },
		{ ".claude/settings.local.json", CARE_CLOSED }, { ".claude/settings*.json", CARE_CLOSED },
		{ ".claude/hooks/", CARE_CLOSED }, { ".claude.json", CARE_CLOSED },
		{ ".mcp.json", CARE_ASK }),
	.speech = &speech,
	.setup = &setup,
	.session = &session,
	.sandbox = &sandbox };
