/* command_test.c — the commands of this program, one by one: what the guard says when an agent runs them is what command.def
 * says they do. */
#include "model/command.h"

#include "base/text.h"
#include "model/effect.h"
#include "propose/propose.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

static const struct surroundings at = { .cwd = "/home/u/ws",
	.home = "/home/u",
	.workspace = "/home/u/ws",
	.state_dir = "/home/u/ws/.helm",
	.helm_home = "/home/u/.helm",
	.tmpdir = "/tmp" };

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static bool has_kind(const struct proposal *p, enum effect_kind kind)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].kind == kind)
			return true;
	return false;
}

static bool has_only_reading(const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].kind != FX_READ)
			return false;
	return p->effect_count > 0;
}

static bool has_only_work(const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].kind != FX_READ && p->effects[i].kind != FX_WRITE)
			return false;
	return has_kind(p, FX_WRITE);
}

static bool holds(const char *text, enum command_class class)
{
	struct proposal p = { 0 };

	propose_shell(&a, &at, bytes_of(text), &p);
	if (!p.readable)
		return false;
	switch (class) {
	case COMMAND_LOOKS:
		return has_only_reading(&p);
	case COMMAND_ACTS:
		return has_only_work(&p);
	case COMMAND_FOUNDS:
	case COMMAND_CONTROLS:
		return has_kind(&p, FX_TAMPER);
	case COMMAND_WRAPS:
		return has_kind(&p, FX_DELETE);
	case COMMAND_CLASSES:
		break;
	}
	return false;
}

static void check(const char *text, enum command_class class)
{
	if (!holds(text, class))
		fail_msg("'%s' is not judged as a command that %s", text, command_class_name(class));
}

static void the_guard_knows_every_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const struct helm_command *c = &command_table[i];
		const char *tail = c->class == COMMAND_WRAPS ? " x -- rm -rf x" : "";
		check(arena_printf(&a, "helm %s%s", c->name, tail), c->class);
		check(arena_printf(&a, "/usr/local/bin/helm %s --json%s", c->name, tail), c->class);
		if (strchr(c->name, ' '))
			check(arena_printf(&a, "helm %.*s --path . %s%s", (int)strcspn(c->name, " "), c->name,
				      strchr(c->name, ' ') + 1, tail),
				c->class);
		if (c->turn)
			check(arena_printf(&a, "helm %s %s", c->name, c->turn), c->turned);
		check(arena_printf(&a, "helm %s --help", c->name), COMMAND_LOOKS);
	}
}

static void words_find_their_command(void **state)
{
	size_t words;

	(void)state;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const char *name = command_table[i].name, *space = strchr(name, ' ');
		char *first = arena_strndup(&a, name, strcspn(name, " "));
		assert_ptr_equal(command_find(first, space ? space + 1 : "x", &words), &command_table[i]);
		assert_int_equal(words, space ? 2 : 1);
	}
	assert_null(command_find("checkpoint", NULL, &words));
	assert_null(command_find("checkpoint", "creat", &words));
	assert_null(command_find("check", "create", &words));
	assert_string_equal(command_find("setup", "codex", &words)->name, "setup");
}

/* What an agent may call over MCP neither changes what governs it nor hides another command. */
static void tools_are_harmless(void **state)
{
	(void)state;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const struct helm_command *c = &command_table[i];
		if (!c->tool)
			continue;
		if (c->class != COMMAND_LOOKS && c->class != COMMAND_ACTS)
			fail_msg("%s is a tool, and %s", c->name, command_class_name(c->class));
		assert_true(text_starts(c->tool, "helm_"));
		for (size_t k = 0; k < i; k++)
			assert_false(command_table[k].tool && text_eq(command_table[k].tool, c->tool));
	}
}

/* Spellings that must not make an answer laxer. */
static void tricks_do_not_help(void **state)
{
	static const struct {
		const char *text;
		enum command_class class;
	} rows[] = {
		{ "helm freeze --reason status", COMMAND_CONTROLS },
		{ "helm freeze --principal x status", COMMAND_CONTROLS },
		{ "helm setup codex --project --dry-run", COMMAND_CONTROLS },
		{ "helm setup --json --dry-run codex", COMMAND_LOOKS },
		{ "helm setup codex --scope user --dry-run", COMMAND_LOOKS },
		{ "helm approval grant rm --help", COMMAND_CONTROLS },
		{ "helm approval $verb x", COMMAND_CONTROLS },
		{ "helm approval approve \"$id\"", COMMAND_CONTROLS },
		{ "helm -n x approval approve 1", COMMAND_CONTROLS },
		{ "helm approvals list", COMMAND_CONTROLS },
		{ "helm guard tune --grant=1", COMMAND_CONTROLS },
		{ "helm guard tune --since --grant", COMMAND_CONTROLS },
		{ "helm key nonsense", COMMAND_CONTROLS },
		{ "helm profile --guard-mode off run x -- ls", COMMAND_CONTROLS },
		{ "helm run --guard-mode audit -- ls", COMMAND_CONTROLS },
		{ "helm run --guard-mode=off ls", COMMAND_CONTROLS },
		{ "helm run --approve-risk -- ls", COMMAND_CONTROLS },
		{ "helm run rm -rf x", COMMAND_WRAPS },
		{ "helm run --task-name look rm -rf x", COMMAND_WRAPS },
		{ "helm run --json rm -rf x", COMMAND_WRAPS },
		{ "helm profile run risky_edit rm -rf x", COMMAND_WRAPS },
		{ "helm profile run --label l risky_edit rm -rf x", COMMAND_WRAPS },
		{ "helm report --out x.html", COMMAND_ACTS },
		{ "helm report --out=x.html", COMMAND_ACTS },
		{ "helm guard check --shell 'rm -rf /'", COMMAND_LOOKS },
		{ "helm guard check -- rm -rf /", COMMAND_LOOKS },
		{ "helm", COMMAND_LOOKS },
		{ "helm approval", COMMAND_LOOKS },
		{ "helm approval --help", COMMAND_LOOKS },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].text, rows[i].class);
}

/* A file that is named is a file that is read or written, whoever reads it. */
static void files_are_seen(void **state)
{
	struct proposal p = { 0 };

	(void)state;
	propose_shell(&a, &at, bytes_of("helm canonical /home/u/.ssh/id_ed25519"), &p);
	assert_string_equal(p.effects[p.effect_count - 1].target, "/home/u/.ssh/id_ed25519");
	memset(&p, 0, sizeof(p));
	propose_shell(&a, &at, bytes_of("helm init --path /srv/elsewhere"), &p);
	assert_string_equal(p.effects[p.effect_count - 1].target, "/srv/elsewhere");
	assert_int_equal(p.effects[p.effect_count - 1].kind, FX_WRITE);
}

/* The other helm: words that only Kubernetes' package manager has. */
static void kubernetes_is_told_apart(void **state)
{
	static const char *const cloud[] = { "helm install x .", "helm -n prod uninstall web",
		"helm status web", "helm rollback web 1", "helm list -A", "helm frobnicate" };
	struct proposal p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cloud); i++) {
		memset(&p, 0, sizeof(p));
		propose_shell(&a, &at, bytes_of(cloud[i]), &p);
		if (!has_kind(&p, FX_CLOUD))
			fail_msg("%s", cloud[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_guard_knows_every_command, done),
		cmocka_unit_test_teardown(words_find_their_command, done),
		cmocka_unit_test_teardown(tools_are_harmless, done),
		cmocka_unit_test_teardown(tricks_do_not_help, done),
		cmocka_unit_test_teardown(files_are_seen, done),
		cmocka_unit_test_teardown(kubernetes_is_told_apart, done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
