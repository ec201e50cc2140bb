/* codex.c — Codex.
 *
 * It speaks as Claude Code does, but it cannot put a question to its person. It silently skips every hook
 * that a person has not trusted, so "armed" needs proof: the hash of this very hook, which Codex writes
 * into config.toml when a person trusts it. Only the plain form that Codex itself writes is read; trust in
 * any other spelling is not seen, and then the hook counts as not armed.
 *
 * A shell call `apply_patch <<EOF` is carried out by Codex itself when it stands there alone. Told another command, Codex has a shell run
 * it; its own program does the same under that name. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "clients/parts.h"

#include <fcntl.h>
#include <string.h>

enum { CONFIG_LIMIT = 4 << 20 };

/* The value of `name = value` below the table `header` of a TOML file, as it is written there. NULL when
 * it does not stand there in that plain form. */
static const char *toml_value(struct arena *a, struct bytes text, const char *header, const char *name)
{
	bool is_in = false;

	for (struct bytes rest = text; rest.p && rest.n;) {
		struct bytes line = text_cut(&rest, '\n');
		while (line.n && strchr(" \t", line.p[0])) {
			line.p++;
			line.n--;
		}
		while (line.n && strchr(" \t\r", line.p[line.n - 1]))
			line.n--;
		const char *one = arena_strndup(a, (const char *)line.p, line.n);
		if (*one == '[')
			is_in = text_eq(one, header);
		if (!is_in || !text_starts(one, name))
			continue;
		one += strlen(name);
		one += strspn(one, " \t");
		if (*one == '=')
			return one + 1 + strspn(one + 1, " \t");
	}
	return NULL;
}

/* The hash that Codex computes when a person trusts a hook: event, matcher and handler as canonical JSON
 * with defaults filled in. 600 is Codex's default time-out in seconds. */
static const char *hash_of(
	struct arena *a, const char *event, const struct json *box, const struct json *entry)
{
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);

	json_setb(a, one, "async", json_get_bool(entry, "async", false));
	json_sets(a, one, "command", json_get_text(entry, "command", ""));
	if (json_get_text(entry, "statusMessage", NULL))
		json_sets(a, one, "statusMessage", json_get_text(entry, "statusMessage", ""));
	json_seti(a, one, "timeout", json_get_int(entry, "timeout", 600));
	json_sets(a, one, "type", "command");
	json_push(a, list, one);
	json_sets(a, doc, "event_name", event);
	json_set(a, doc, "hooks", list);
	if (json_get_text(box, "matcher", NULL))
		json_sets(a, doc, "matcher", json_get_text(box, "matcher", ""));
	return json_sha256(a, doc);
}

/* A config.toml that cannot be read is taken as empty; then nothing is trusted and the hook is not armed. */
static struct bytes read_config(struct client_look *l)
{
	const char *moved = l->sys->getenv(l->sys, "CODEX_HOME");
	const char *path = moved && *moved ? arena_printf(l->a, "%s/config.toml", moved)
					   : arena_printf(l->a, "%s/.codex/config.toml", l->home);
	struct bytes text = { 0 };

	(void)!file_read(l->sys, l->a, AT_FDCWD, path, CONFIG_LIMIT, FILE_FOLLOW, &text, NULL);
	return text;
}

static bool is_false(const char *value)
{
	return value && text_starts(value, "false");
}

/* Asks in the order in which Codex decides: is the feature on, is this hook on, is it trusted, is what was
 * trusted this version of it, is the project trusted. The first "no" is the detail that a person sees. */
static void codex_look(struct client_look *l)
{
	struct arena *a = l->a;
	struct bytes text = read_config(l);
	const char *key =
		arena_printf(a, "[hooks.state.\"%s:pre_tool_use:%zu:%zu\"]", l->path, l->group, l->handler);
	const char *trusted = toml_value(a, text, key, "trusted_hash"),
		   *level = toml_value(a, text, arena_printf(a, "[projects.\"%s\"]", l->root), "trust_level");

	/* A broken entry has its own, better explanation already. */
	if (text_eq(l->state, "broken"))
		return;
	if (is_false(toml_value(a, text, "[features]", "hooks")) ||
		is_false(toml_value(a, text, "[features]", "codex_hooks")))
		look_is(l, "not_armed", "Codex's hooks are switched off in config.toml ([features])");
	else if (is_false(toml_value(a, text, key, "enabled")))
		look_is(l, "not_armed", "the hook is switched off in Codex; switch it on with /hooks");
	else if (!trusted)
		look_is(l, "not_armed",
			"Codex skips a hook without a word until you trust it; start "
			"codex and trust it with /hooks");
	else if (!text_starts(
			 trusted, arena_printf(a, "\"%s\"", hash_of(a, "pre_tool_use", l->box, l->entry))))
		look_is(l, "not_armed",
			"what you trusted in Codex is another version of the hook; "
			"trust it again with /hooks");
	else if (text_eq(l->scope, "project") && (!level || !text_starts(level, "\"trusted\"")))
		look_is(l, "not_armed",
			"Codex does not trust this project and reads no hooks from "
			"it");
}

static const struct client_speech speech = { .answer = claude_answer,
	.rewrite = claude_rewrite,
	.remark = claude_remark,
	.denial = claude_denial,
	.payload = claude_payload };

static const struct client_setup setup = { .file = ".codex/hooks.json",
	.fresh = "{}\n",
	.events = { { "PreToolUse", "pre-tool" }, { "PostToolUse", "post-tool" } },
	.entry = claude_entry_plain,
	.look = codex_look };

/* The same as TOML, which writes texts, numbers and lists as JSON does. */
static void write_toml(struct arena *a, struct buf *to, const struct json *v)
{
	bool is_next = false;

	if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) {
		json_write(to, v, 0);
		return;
	}
	buf_addc(to, v->type == JSON_OBJECT ? '{' : '[');
	json_each (one, v) {
		buf_adds(to, is_next ? "," : "");
		write_toml(a, to, one);
		is_next = true;
	}
	json_each_member (m, v) {
		buf_adds(to, is_next ? "," : "");
		json_write(to, json_string(a, m->name), 0);
		buf_addc(to, '=');
		write_toml(a, to, m->value);
		is_next = true;
	}
	buf_addc(to, v->type == JSON_OBJECT ? '}' : ']');
}

/* What stands on its command line wins over every file, and may say of its own hooks that they are trusted: as a person does who
 * starts a session.  Where the settings have them, too, they would be run twice; then only the feature is switched on. */
static const char *const *codex_arm(struct arena *a, const char *before, const char *after, bool is_armed)
{
	static const char *const labels[] = { "pre_tool_use", "post_tool_use" };
	struct json *hooks = json_new(a, JSON_OBJECT), *states = json_new(a, JSON_OBJECT);
	const char **words = arena_zalloc(a, 7, sizeof(*words));
	struct buf text;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct json *boxes = json_new(a, JSON_ARRAY), *state = json_new(a, JSON_OBJECT),
			    *box = claude_entry_plain(a, i ? after : before, setup.events[i].verb);
		json_push(a, boxes, box);
		json_set(a, hooks, setup.events[i].event, boxes);
		json_sets(a, state, "trusted_hash",
			hash_of(a, labels[i], box, json_at(json_get(box, "hooks"), 0)));
		json_setb(a, state, "enabled", true);
		json_set(a, states, arena_printf(a, "/<session-flags>/config.toml:%s:0:0", labels[i]), state);
	}
	json_set(a, hooks, "state", states);
	buf_init(&text, a);
	buf_adds(&text, "hooks=");
	write_toml(a, &text, hooks);
	words[0] = "-c";
	words[1] = "features.hooks=true";
	/* Its own sandbox cannot be made inside Helm's, and then nothing runs. */
	words[2] = "-c";
	words[3] = "sandbox_mode=\"danger-full-access\"";
	words[4] = is_armed ? NULL : "-c";
	words[5] = text.p;
	return words;
}

/* The account stands in the document of the login. */
static const struct client_login login = { .account = "tokens.account_id", .newer = "last_refresh" };

static const struct client_session session = { .program = "codex",
	.state = NAMES(".codex/"),
	.closed = NAMES(".codex/config.toml", ".codex/hooks.json", ".codex/hooks/", ".codex/rules/",
		".codex/prompts/", ".codex/skills/", ".codex/AGENTS.md"),
	.carried = CARRIED({ ".codex/sessions/", ".jsonl", CARRY_LINES, NULL, NULL },
		{ ".codex/archived_sessions/", ".jsonl", CARRY_LINES, NULL, NULL },
		{ ".codex/history.jsonl", NULL, CARRY_LINES, NULL, NULL },
		{ ".codex/session_index.jsonl", NULL, CARRY_LINES, NULL, NULL },
		{ ".codex/auth.json", NULL, CARRY_LOGIN,
			MEMBERS({ "tokens", MEMBER_ANY }, { "last_refresh", MEMBER_TEXT }), &login }),
	.dropped = NAMES(".codex/log/", ".codex/tmp/", ".codex/.tmp/", ".codex/cache/",
		".codex/shell_snapshots/", ".codex/models_cache.json", ".codex/version.json",
		".codex/installation_id", ".codex/.personality_migration", ".codex/state_*", ".codex/logs_*",
		".codex/queue_*", ".codex/thread_history_*", ".codex/.sandbox_migration",
		".codex/skills/.system/", ".codex/goals_*", ".codex/memories_*"),
	.home_variable = "CODEX_HOME",
	.variables = NAMES("OPENAI_", "CODEX_"),
	.hosts = NAMES("api.openai.com", "chatgpt.com", "auth.openai.com"),
	.url_variable = "OPENAI_BASE_URL",
	.arm = codex_arm };

static const struct client_sandbox sandbox = { .off = "codex --sandbox danger-full-access",
	.options = NAMES("-s", "--sandbox"),
	.off_value = "danger-full-access" };

const struct client client_codex = { .name = "codex",
	.title = "Codex",
	.marks = MARKS("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"),
	.files = FILES({ ".codex/config.toml", CARE_CLOSED }, { ".codex/hooks.json", CARE_CLOSED },
		{ ".codex/hooks*", CARE_CLOSED }, { ".codex/hooks/", CARE_CLOSED }),
	.speech = &speech,
	.setup = &setup,
	.session = &session,
	.sandbox = &sandbox,
	.commands = NAMES("apply_patch", "applypatch") };
