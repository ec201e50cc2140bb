/* own_environment_test.c — caches of a run's own by variables: empty directories that go with it, and the old ones are still read. */
#include "base/text.h"
#include "kernel/task/own_environment.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch at;
static struct arena a;
static const char *env[64 + OWN_ENVIRONMENT_MAX];
static size_t n;

static int begin(void **state)
{
	(void)state;
	scratch_open(&at);
	assert_int_equal(mkdirat(at.fd, "home", 0700), 0);
	assert_int_equal(mkdirat(at.fd, "run", 0700), 0);
	memset(env, 0, sizeof(env));
	n = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	scratch_done(&at);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static const char *below(const char *path)
{
	return arena_printf(&a, "%s/%s", at.path, path);
}

static void make(const char *path)
{
	char *dir = arena_strdup(&a, path);

	for (char *slash = strchr(dir, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdirat(at.fd, dir, 0700);
		*slash = '/';
	}
	scratch_put(&at, path, "old");
}

static void lead(const char *layer, const char *write_path)
{
	const char *const layers[] = { layer }, *const writes[] = { write_path, NULL };
	const struct own_environment o = { .s = sys_real(),
		.a = &a,
		.dir = below("run"),
		.home = below("home"),
		.layers = layers,
		.layer_count = 1,
		.write_paths = write_path ? writes : NULL };

	n = own_environment(&o, env, n);
	assert_null(env[n]);
}

static const char *value(const char *name)
{
	const char *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (text_starts(env[i], arena_printf(&a, "%s=", name))) {
			assert_null(found); /* once at most */
			found = env[i] + strlen(name) + 1;
		}
	return found;
}

static void only_layers_of_the_profile_are_led_away(void **state)
{
	(void)state;
	lead(".npm", NULL);
	assert_int_equal(n, 1);
	assert_string_equal(value("npm_config_cache"), below("run/npm"));
	assert_int_equal(access(below("run/npm"), W_OK), 0);
	lead(".no-such-layer", NULL);
	assert_int_equal(n, 1);
	/* A second call of the same session finds it. */
	lead(".npm", NULL);
	assert_int_equal(n, 1);
}

static void a_cache_that_can_be_written_stays(void **state)
{
	(void)state;
	env[n++] = arena_printf(&a, "CARGO_HOME=%s", below("tree/.cargo"));
	lead(".cargo", below("tree"));
	assert_string_equal(value("CARGO_HOME"), below("tree/.cargo"));
	assert_false(scratch_has(&at, "run/cargo"));
}

/* A build with cached crates alone reads the old ones, and new ones have a place. */
static void old_crates_are_read(void **state)
{
	(void)state;
	make("home/.cargo/config.toml");
	make("home/.cargo/credentials.toml");
	make("home/.cargo/.package-cache");
	make("home/.cargo/registry/cache/index-1/serde-1.crate");
	make("home/.cargo/registry/src/index-1/serde-1/lib.rs");
	make("home/.cargo/registry/index/index-1/.cache/se/rd/serde");
	lead(".cargo", NULL);
	assert_string_equal(value("CARGO_HOME"), below("run/cargo"));
	assert_string_equal(scratch_get(&at, "run/cargo/config.toml"), "old");
	assert_string_equal(scratch_get(&at, "run/cargo/registry/cache/index-1/serde-1.crate"), "old");
	assert_string_equal(scratch_get(&at, "run/cargo/registry/src/index-1/serde-1/lib.rs"), "old");
	assert_string_equal(scratch_get(&at, "run/cargo/registry/index/index-1/.cache/se/rd/serde"), "old");
	assert_false(scratch_has(&at, "run/cargo/credentials.toml"));
	assert_false(scratch_has(&at, "run/cargo/.package-cache"));
	scratch_put(&at, "run/cargo/registry/cache/index-1/new.crate", "new");
	assert_false(scratch_has(&at, "home/.cargo/registry/cache/index-1/new.crate"));
}

/* An image that keeps it elsewhere, as those of languages do. */
static void old_crates_elsewhere_are_read(void **state)
{
	(void)state;
	make("opt/cargo/registry/cache/index-1/serde-1.crate");
	env[n++] = arena_printf(&a, "CARGO_HOME=%s", below("opt/cargo"));
	lead(".cargo", below("tree"));
	assert_string_equal(value("CARGO_HOME"), below("run/cargo"));
	assert_string_equal(scratch_get(&at, "run/cargo/registry/cache/index-1/serde-1.crate"), "old");
}

static void go_reads_the_old_modules(void **state)
{
	(void)state;
	make("home/go/pkg/mod/cache/download/x");
	env[n++] = "GOFLAGS=-trimpath";
	lead("go/pkg", NULL);
	assert_string_equal(value("GOFLAGS"), "-trimpath -modcacherw");
	assert_string_equal(value("GOMODCACHE"), below("run/go/pkg/mod"));
	assert_string_equal(value("GOPATH"), arena_printf(&a, "%s:%s", below("run/go"), below("home/go")));
	assert_true(text_starts(
		value("GOPROXY"), arena_printf(&a, "file://%s,", below("home/go/pkg/mod/cache/download"))));
}

static void settings_of_a_program_are_left(void **state)
{
	(void)state;
	make("home/go/pkg/mod/cache/download/x");
	make("home/.config/go/env");
	env[n++] = "GOPATH=/srv/go";
	env[n++] = "MAVEN_OPTS=-Xmx1g";
	lead("go/pkg", NULL);
	assert_null(value("GOPROXY"));
	assert_string_equal(value("GOPATH"), arena_printf(&a, "%s:/srv/go", below("run/go")));
	lead(".m2/repository", NULL);
	assert_string_equal(value("MAVEN_OPTS"),
		arena_printf(&a, "-Xmx1g -Dmaven.repo.local=%s -Dmaven.repo.local.tail=%s",
			below("run/maven"), below("home/.m2/repository")));
}

static void a_lock_of_gradle_is_taken_anew(void **state)
{
	(void)state;
	make("home/.gradle/wrapper/dists/gradle-8/h1/gradle-8.zip.ok");
	make("home/.gradle/wrapper/dists/gradle-8/h1/gradle-8.zip.lck");
	lead(".gradle", NULL);
	assert_string_equal(scratch_get(&at, "run/gradle/wrapper/dists/gradle-8/h1/gradle-8.zip.ok"), "old");
	assert_false(scratch_has(&at, "run/gradle/wrapper/dists/gradle-8/h1/gradle-8.zip.lck"));
	assert_string_equal(value("GRADLE_RO_DEP_CACHE"), below("home/.gradle/caches"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_layers_of_the_profile_are_led_away, begin, end),
		cmocka_unit_test_setup_teardown(a_cache_that_can_be_written_stays, begin, end),
		cmocka_unit_test_setup_teardown(old_crates_are_read, begin, end),
		cmocka_unit_test_setup_teardown(old_crates_elsewhere_are_read, begin, end),
		cmocka_unit_test_setup_teardown(go_reads_the_old_modules, begin, end),
		cmocka_unit_test_setup_teardown(settings_of_a_program_are_left, begin, end),
		cmocka_unit_test_setup_teardown(a_lock_of_gradle_is_taken_anew, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
