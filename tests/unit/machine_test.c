/* machine_test.c — what this machine offers: the probe, its cache, the choice, and the words. */
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "execute/execute.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch home;
static struct arena a;

static int begin(void **state)
{
	(void)state;
	scratch_open(&home);
	assert_int_equal(mkdirat(home.fd, "keys", 0700), 0);
	assert_int_equal(mkdirat(home.fd, "trees", 0700), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	scratch_done(&home);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static struct machine look(void)
{
	struct machine m;

	machine_look(sys_real(), &a, home.path, &m);
	return m;
}

/* For tests of the cache: an answer without every guarantee is not used by runs. */
static struct machine look_whole(void)
{
	struct machine m = look();

	if (machine_unmet(&m))
		skip();
	return m;
}

static bool is_same(const struct machine *x, const struct machine *y)
{
	return x->landlock_abi == y->landlock_abi && x->namespaces == y->namespaces &&
		x->supervisor == y->supervisor && x->unmet[0] == y->unmet[0] && x->unmet[1] == y->unmet[1];
}

/* ---- probe ---- */

static void the_probe_says_what_it_saw(void **state)
{
	const struct machine_places at = { home.path, arena_printf(&a, "%s/keys", home.path),
		arena_printf(&a, "%s/trees", home.path), NULL };
	struct machine m;

	(void)state;
	machine_probe(sys_real(), &a, &at, &m);
	assert_int_equal(m.landlock_abi, sandbox_landlock_abi());
	assert_int_equal(m.namespaces, !m.unmet[SANDBOX_NAMESPACES]);
	assert_int_equal(m.namespaces, !m.why_not_namespaces);
	assert_int_equal(m.supervisor, !m.why_not_supervisor);
	assert_false(m.is_cached);
	for (int kind = 0; kind < 2; kind++)
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			assert_int_equal(!m.how[kind][g], m.unmet[kind] >> g & 1);
	/* Nothing is left of it. */
	assert_false(scratch_has(&home, MACHINE_FILE));
}

/* ---- cache ---- */

static void a_second_look_is_from_the_cache(void **state)
{
	struct machine first = look_whole(), second = look();
	struct stat st;

	(void)state;
	assert_false(first.is_cached);
	assert_true(second.is_cached);
	assert_true(is_same(&first, &second));
	assert_int_equal(fstatat(home.fd, MACHINE_FILE, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_cache_about_something_else_is_not_used(void **state)
{
	struct machine first = look_whole();
	char *text = arena_strdup(&a, scratch_get(&home, MACHINE_FILE));
	char *key = strstr(text, "sha256:");

	(void)state;
	assert_non_null(key);
	key[10] = key[10] == '0' ? '1' : '0';
	scratch_put(&home, MACHINE_FILE, text);
	struct machine again = look();
	assert_false(again.is_cached);
	assert_true(is_same(&first, &again));
	assert_true(look().is_cached);
}

static void a_damaged_cache_is_made_anew(void **state)
{
	struct machine first = look_whole();
	const char *good = arena_strdup(&a, scratch_get(&home, MACHINE_FILE));
	static const char *const members[] = { "\"version\": 1",
		"\"namespaces\": ", "\"supervisor\": ", "\"unmet\": {" };
	const size_t n = strlen(good);

	(void)state;
	for (size_t cut = 0; cut < n - 2; cut += 7) {
		scratch_put(&home, MACHINE_FILE, arena_strndup(&a, good, cut));
		struct machine m = look();
		if (m.is_cached || !is_same(&first, &m))
			fail_msg("a cache of %zu of %zu bytes was used", cut, n);
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		char *bad = arena_strdup(&a, good), *at = strstr(bad, members[i]);
		assert_non_null(at);
		at[1] = 'X';
		scratch_put(&home, MACHINE_FILE, bad);
		assert_false(look().is_cached);
	}
	scratch_put(&home, MACHINE_FILE, "{\"version\": 1, \"unmet\": 7}");
	assert_false(look().is_cached);
	assert_true(look().is_cached);
}

/* Views show it; a run tries again. */
static void an_answer_with_less_is_for_views_alone(void **state)
{
	struct machine first = look_whole(), m;
	char *text = arena_strdup(&a, scratch_get(&home, MACHINE_FILE)),
	     *at = strstr(text, "\"namespaces\": []");

	(void)state;
	assert_true(machine_recall(sys_real(), &a, home.path, &m));
	assert_true(is_same(&first, &m));
	if (!at)
		skip();
	scratch_put(&home, MACHINE_FILE,
		arena_printf(&a, "%.*s\"namespaces\": [\"own\"]%s", (int)(at - text), text,
			at + strlen("\"namespaces\": []")));
	assert_true(machine_recall(sys_real(), &a, home.path, &m));
	assert_int_equal(m.unmet[SANDBOX_NAMESPACES], DEMAND_OWN);
	m = look();
	assert_false(m.is_cached);
	assert_int_equal(machine_unmet(&m), 0);
	assert_false(machine_recall(sys_real(), &a, NULL, &m));
}

static void a_home_that_cannot_be_written_does_no_harm(void **state)
{
	struct machine first = look(), m;

	(void)state;
	machine_look(sys_real(), &a, arena_printf(&a, "%s/none/at/all", home.path), &m);
	assert_false(m.is_cached);
	assert_int_equal(machine_sandbox(&m), machine_sandbox(&first));
	machine_look(sys_real(), &a, NULL, &m);
	assert_false(m.is_cached);
	assert_int_equal(m.landlock_abi, first.landlock_abi);
}

/* ---- choice ---- */

static void namespaces_first_then_the_supervisor(void **state)
{
	struct machine m = { .namespaces = true, .supervisor = true };

	(void)state;
	assert_int_equal(machine_sandbox(&m), SANDBOX_NAMESPACES);
	m.namespaces = false;
	m.unmet[SANDBOX_NAMESPACES] = DEMAND_WRITE;
	assert_int_equal(machine_sandbox(&m), SANDBOX_SUPERVISED);
	assert_int_equal(machine_unmet(&m), 0);
	assert_non_null(strstr(machine_line(&a, &m), "supervisor"));
	assert_non_null(*sandbox_not_given(machine_sandbox(&m)));
	m.supervisor = false;
	assert_int_equal(machine_sandbox(&m), SANDBOX_NAMESPACES);
	assert_int_equal(machine_unmet(&m), DEMAND_WRITE);
	assert_non_null(strstr(machine_line(&a, &m), "cannot guarantee write"));
	assert_null(*sandbox_not_given(machine_sandbox(&m)));
}

/* ---- words ---- */

static const char *place_with(const char *variable)
{
	const char *const env[] = { variable, NULL };
	struct fault f;

	fault_init(&f);
	f.env = env;
	return machine_place(&f.sys);
}

static void a_place_is_known_by_its_signs(void **state)
{
	(void)state;
	assert_string_equal(place_with("CODESPACES=true"), "codespaces");
	assert_string_equal(place_with("REMOTE_CONTAINERS=true"), "devcontainer");
	assert_string_equal(place_with("KUBERNETES_SERVICE_HOST=10.0.0.1"), "kubernetes");
	assert_string_not_equal(place_with("CODESPACES="), "codespaces");
}

static void every_place_has_a_remedy_that_fits(void **state)
{
	static const char *const variables[] = { "CODESPACES=1", "REMOTE_CONTAINERS=1",
		"KUBERNETES_SERVICE_HOST=x", "NONE=1" };
	struct machine m = { .unmet = { DEMAND_ALL, DEMAND_ALL } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		for (m.landlock_abi = 0; m.landlock_abi < 2; m.landlock_abi++) {
			const char *const env[] = { variables[i], NULL };
			struct fault f;
			fault_init(&f);
			f.env = env;
			const char *text = machine_remedy(&f.sys, &a, &m);
			assert_non_null(text);
			assert_true(*text && strlen(text) < 170);
			assert_int_equal(!strstr(text, "Landlock"), m.landlock_abi > 0);
		}
	m.unmet[SANDBOX_NAMESPACES] = 0;
	m.namespaces = true;
	assert_null(machine_remedy(sys_real(), &a, &m));
}

static void a_refusal_names_guarantee_remedy_and_command(void **state)
{
	const struct sandbox_rules rules = { .waived = DEMAND_OWN };
	struct sandbox_report report = { .unmet = DEMAND_WRITE | DEMAND_OWN | DEMAND_NETWORK };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(machine_refuse(sys_real(), &rules, &report, &e), E_DENIED);
	assert_string_equal(e.code, "SANDBOX_REFUSED");
	assert_non_null(strstr(e.text, "cannot guarantee: write, network;"));
	assert_non_null(strstr(e.text, "what helps here: "));
	assert_non_null(strstr(e.text, "helm workspace trust --degraded write,network"));
	assert_true(text_ends(e.text, "write,network")); /* it was not cut */
	report = (struct sandbox_report){ .refused = "seccomp refused the filter" };
	assert_int_equal(machine_refuse(sys_real(), &rules, &report, &e), E_DENIED);
	assert_non_null(strstr(e.text, "seccomp refused the filter"));
	assert_null(strstr(e.text, "--degraded"));
	assert_int_equal(machine_refuse(sys_real(), &rules, NULL, &e), E_DENIED);
}

static void names_go_to_a_list_and_back(void **state)
{
	struct json *bad = json_new(&a, JSON_ARRAY);
	unsigned mask;

	(void)state;
	for (unsigned m = 0; m <= DEMAND_ALL; m++) {
		assert_true(guarantees_parse(guarantees_list(&a, m), &mask));
		assert_int_equal(mask, m);
	}
	json_pushs(&a, bad, "write");
	json_pushs(&a, bad, "gravity");
	assert_false(guarantees_parse(bad, &mask));
	assert_int_equal(mask, DEMAND_WRITE);
	assert_false(guarantees_parse(NULL, &mask));
	assert_string_equal(guarantees_text(&a, DEMAND_READ | DEMAND_OWN, ","), "read,own");
	assert_string_equal(guarantees_text(&a, 0, ","), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_probe_says_what_it_saw, begin, end),
		cmocka_unit_test_setup_teardown(a_second_look_is_from_the_cache, begin, end),
		cmocka_unit_test_setup_teardown(a_cache_about_something_else_is_not_used, begin, end),
		cmocka_unit_test_setup_teardown(a_damaged_cache_is_made_anew, begin, end),
		cmocka_unit_test_setup_teardown(an_answer_with_less_is_for_views_alone, begin, end),
		cmocka_unit_test_setup_teardown(a_home_that_cannot_be_written_does_no_harm, begin, end),
		cmocka_unit_test_setup_teardown(namespaces_first_then_the_supervisor, begin, end),
		cmocka_unit_test_setup_teardown(a_place_is_known_by_its_signs, begin, end),
		cmocka_unit_test_setup_teardown(every_place_has_a_remedy_that_fits, begin, end),
		cmocka_unit_test_setup_teardown(a_refusal_names_guarantee_remedy_and_command, begin, end),
		cmocka_unit_test_setup_teardown(names_go_to_a_list_and_back, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
