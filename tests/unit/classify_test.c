/* classify_test.c — what programs do: every row of tests/cases/effects.jsonl, and the table itself.
 *
 * A row names a command and effects it must have ({"kind","tag","class"?,"target"?,"flags"?}); more may be there.  "calm" says
 * that it is ordinary work: none of its tags is one meant to be asked about or denied. */
#include "base/text.h"
#include "model/effect.h"
#include "propose/programs/programs.h"
#include "propose/propose.h"
#include "tools/cases.h"
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

static const char *meant_for(const char *tag)
{
	static const struct {
		const char *tag, *meant;
	} tags[] = {
#define X(id, name, kind, meant, meaning, example) { name, meant },
#include "propose/programs/tags.def"
#undef X
	};
	for (size_t i = 0; tag && i < ARRAY_SIZE(tags); i++)
		if (text_eq(tags[i].tag, tag))
			return tags[i].meant;
	return "unlisted";
}

static const struct {
	const char *name;
	unsigned flag;
} flag_names[] = { { "recursive", FXF_RECURSIVE }, { "force", FXF_FORCE }, { "privileged", FXF_PRIVILEGED },
	{ "dry_run", FXF_DRY_RUN }, { "overwrite", FXF_OVERWRITE }, { "append", FXF_APPEND },
	{ "irrecoverable", FXF_IRRECOVERABLE }, { "mutating", FXF_MUTATING },
	{ "unset_root", FXF_UNSET_ROOT }, { "setuid", FXF_SETUID }, { "container", FXF_INSIDE_CONTAINER },
	{ "remote", FXF_REMOTE_SIDE }, { "find", FXF_FIND }, { "decoded", FXF_DECODED },
	{ "host_mount", FXF_HOST_MOUNT } };

static bool has_flags(const struct effect *e, const struct json *flags)
{
	json_each (f, flags) {
		bool found = false;
		for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++)
			found |= text_eq(flag_names[i].name, json_text(f)) && e->flags & flag_names[i].flag;
		if (!found)
			return false;
	}
	return true;
}

static bool matches(const struct effect *e, const struct json *want)
{
	const char *kind = json_get_text(want, "kind", NULL), *tag = json_get_text(want, "tag", NULL);
	const char *class = json_get_text(want, "class", NULL), *target = json_get_text(want, "target", NULL);
	return (!kind || text_eq(effect_kind_name(e->kind), kind)) &&
		(!tag || (e->tag && text_eq(e->tag, tag))) &&
		(!class || text_eq(path_class_name(e->path_class), class)) &&
		(!target || (e->target && text_eq(e->target, target))) &&
		has_flags(e, json_get(want, "flags"));
}

static void print_effects(const char *name, const struct proposal *p)
{
	print_error("%s:\n", name);
	for (size_t i = 0; i < p->effect_count; i++)
		print_error("  %s %s %s %s flags %x\n", effect_kind_name(p->effects[i].kind),
			p->effects[i].tag, path_class_name(p->effects[i].path_class),
			p->effects[i].target ? p->effects[i].target : "-", p->effects[i].flags);
}

static bool row_holds(const struct json *row, const struct proposal *p)
{
	bool ok = p->readable;
	json_each (want, json_get(row, "effects")) {
		bool found = false;
		for (size_t i = 0; i < p->effect_count; i++)
			found |= matches(&p->effects[i], want);
		ok &= found;
	}
	for (size_t i = 0; i < p->effect_count; i++) {
		const char *meant = meant_for(p->effects[i].tag);
		if (json_get_bool(row, "calm", false) && (text_eq(meant, "ask") || text_eq(meant, "deny")))
			ok = false;
		if (text_eq(meant, "unlisted"))
			ok = false;
	}
	return ok;
}

static void propose_row(const struct json *row, struct proposal *p)
{
	const char *shell = json_get_text(row, "shell", NULL);
	const struct json *v = json_get(row, "argv");
	if (shell) {
		propose_shell(&a, &at, bytes_of(shell), p);
		return;
	}
	const char **argv = arena_zalloc(&a, v->n + 1, sizeof(*argv));
	for (size_t i = 0; i < v->n; i++)
		argv[i] = json_text(json_at(v, i));
	propose_argv(&a, &at, argv, v->n, p);
}

static void every_row_has_its_effects(void **state)
{
	(void)state;
	struct bytes rest = cases_read(&a, "tests/cases/effects.jsonl");
	size_t rows = 0, failed = 0;
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		struct json *row;
		struct proposal p = { 0 };
		if (!line.n)
			continue;
		assert_int_equal(json_parse(&a, line, "effects.jsonl", NULL, &row, NULL), OK);
		rows++;
		propose_row(row, &p);
		if (!row_holds(row, &p)) {
			failed++;
			print_effects(json_get_text(row, "name", "?"), &p);
		}
	}
	assert_true(rows > 1900);
	assert_int_equal(failed, 0);
}

/* The build checks the text files; this is about what came of them: every program is found, and is itself. */
static void every_program_is_found(void **state)
{
	(void)state;
	assert_true(program_count > 1300);
	for (size_t i = 0; i < program_count; i++) {
		const char *name = program_name(&programs[i]);
		if (i)
			assert_true(strcmp(program_name(&programs[i - 1]), name) < 0);
		assert_ptr_equal(program_find(name, strlen(name)), &programs[i]);
		assert_true(programs[i].tag < TAG_COUNT);
	}
	assert_null(program_find("", 0));
	assert_null(program_find("bas", 3));
	assert_null(program_find("zzz", 3));
}

/* One list of shells for everyone: by name or by path, and some of them speak another language than sh. */
static void shells_are_known_by_their_row(void **state)
{
	static const char *const speak[] = { "sh", "/bin/bash", "dash", "zsh", "ksh", "mksh", "ash" };
	static const char *const others[] = { "fish", "/usr/bin/tcsh", "csh", "nu", "xonsh" };
	static const char *const none[] = { "", "python3", "sudo", "bash -c", "shred" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(speak); i++)
		assert_true(shell_speaks_sh(speak[i]) && shell_is_known(speak[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(!shell_speaks_sh(others[i]) && shell_is_known(others[i]));
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_false(shell_is_known(none[i]));
}

static void the_document_lists_every_tag(void **state)
{
	(void)state;
	struct bytes doc = cases_read(&a, "docs/formats/effects.md");
	for (int t = 0; t < TAG_COUNT; t++) {
		char *row = arena_printf(&a, "| `%s` | %s | %s |", tag_name((enum tag)t),
			effect_kind_name(tag_kind((enum tag)t)), meant_for(tag_name((enum tag)t)));
		if (!memmem(doc.p, doc.n, row, strlen(row)))
			fail_msg("docs/formats/effects.md lacks %s", row);
	}
}

/* Spelling a program differently, or putting a wrapper in front, adds effects and takes none away. */
static void wrappers_take_nothing_away(void **state)
{
	(void)state;
	static const char *const commands[] = { "rm -rf src", "git reset --hard", "dd if=x of=/dev/sda",
		"chmod -R 777 /", "psql -c 'DROP TABLE t'", "kubectl delete ns prod", "crontab -r" };
	static const char *const wrappers[] = { "sudo ", "env ", "env A=1 ", "nice -n 5 ", "timeout 5 ",
		"nohup ", "command ", "busybox ", "stdbuf -o0 ", "time ", "setsid ", "strace -f ", "xargs ",
		"sudo -u root env B=2 nice " };
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		for (size_t j = 0; j < ARRAY_SIZE(wrappers); j++) {
			struct proposal plain = { 0 }, wrapped = { 0 };
			propose_shell(&a, &at, bytes_of(commands[i]), &plain);
			propose_shell(&a, &at, bytes_of(arena_printf(&a, "%s%s", wrappers[j], commands[i])),
				&wrapped);
			for (size_t n = 0; n < plain.effect_count; n++) {
				bool found = false;
				for (size_t m = 0; m < wrapped.effect_count; m++)
					found |= text_eq(wrapped.effects[m].tag, plain.effects[n].tag);
				if (!found)
					fail_msg("%s%s loses %s", wrappers[j], commands[i],
						plain.effects[n].tag);
			}
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_row_has_its_effects, done),
		cmocka_unit_test(every_program_is_found),
		cmocka_unit_test_teardown(shells_are_known_by_their_row, done),
		cmocka_unit_test_teardown(the_document_lists_every_tag, done),
		cmocka_unit_test_teardown(wrappers_take_nothing_away, done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
