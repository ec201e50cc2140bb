/* undo_test.c — what can be undone need not be asked: what is plain about an effect, and which questions a checkpoint answers. */
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kernel_fixture x;

static int begin(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	assert_int_equal(mkdirat(x.ws->root_fd, "build", 0755), 0);
	assert_int_equal(mkdirat(x.ws->root_fd, "build/sub", 0755), 0);
	scratch_put(&x.home, "ws/build/a.o", "one");
	scratch_put(&x.home, "ws/build/sub/b.o", "two");
	assert_int_equal(
		workspace_use_profile(&x.k, &x.request, "workspace_edit", "checkpoint", &receipt, &e), OK);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static struct handling handle(const char *text)
{
	struct handling h = { .a = &x.request };
	struct request q = kernel_fixture_shell(&x, text);
	struct err e = { 0 };

	if (kernel_handle(&x.k, &q, &h, &e))
		fail_msg("%s: %s", text, e.text);
	return h;
}

static void what_is_plain(void **state)
{
	static const struct {
		const char *text;
		bool is_literal, is_direct, is_in_sequence;
	} cases[] = {
		{ "rm -rf build", true, true, true },
		{ "rm -rf build; make", true, true, true },
		{ "rm -rf build && make || true", true, true, true },
		{ "bash -c 'rm -rf build'", true, true, true },
		{ "rm -rf build/*", true, true, true },
		{ "rm -rf build/../src", false, true, true },
		{ "rm -rf build/*/", false, true, true },
		{ "rm -rf ~/build", false, true, true },
		{ "D=build; rm -rf $D", false, true, true },
		{ "timeout 5 rm -rf build", true, false, true },
		{ "echo build | xargs rm -rf", true, false, false },
		{ "rm -rf build & make", true, true, false },
		{ "rm -rf build | cat", true, true, false },
		{ "for i in 1; do rm -rf build; done", true, true, false },
		{ "(rm -rf build)", true, true, false },
		{ "rm -rf build; eval ls", true, true, false },
		{ "rm -rf former; ls", true, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proposal p;
		const struct effect *loss = NULL;
		propose_shell(&x.request, &x.at, bytes_of(cases[i].text), &p);
		for (size_t k = 0; k < p.effect_count && !loss; k++)
			if (p.effects[k].kind == FX_DELETE)
				loss = &p.effects[k];
		if (!loss)
			fail_msg("'%s' deletes nothing", cases[i].text);
		if (loss->is_literal != cases[i].is_literal || loss->is_direct != cases[i].is_direct ||
			loss->is_in_sequence != cases[i].is_in_sequence)
			fail_msg("'%s': literal %d, direct %d, in sequence %d", cases[i].text,
				loss->is_literal, loss->is_direct, loss->is_in_sequence);
	}
}

static void where_it_moves(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
		const char *to;
	} cases[] = {
		{ "rm -rf a", 0, NULL },
		{ "cd /srv && rm -rf a", 1, "/srv" },
		{ "cd sub && rm -rf a", 1, NULL },
		{ "cd /a; cd /b; rm -rf c", 2, "/b" },
		{ "pushd /a; rm -rf c", 1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proposal p;
		propose_shell(&x.request, &x.at, bytes_of(cases[i].text), &p);
		assert_int_equal(p.move_count, cases[i].count);
		if (cases[i].to)
			assert_string_equal(p.moves_to, cases[i].to);
		else
			assert_null(p.moves_to);
	}
}

static void what_is_saved_is_not_asked(void **state)
{
	static const char *const saved[] = { "rm -rf build", "rm -rf build/*", "rm -rf build/a.o build/sub",
		"rm -rf nowhere", "bash -c 'rm -rf build'", "rm -rf build && mkdir build && make",
		"find build -name '*.o' -delete", "truncate -s 0 build/a.o", "chmod -R go-w build" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(saved); i++) {
		struct handling h = handle(saved[i]);
		if (h.verdict != V_ALLOW)
			fail_msg("'%s' is asked: %s", saved[i],
				h.settled.why_asked ? h.settled.why_asked : "-");
		assert_string_equal(h.settled.by, "checkpoint");
		assert_string_equal(
			json_get_text(h.settled.about, "checkpoint_id", ""), h.settled.checkpoint_id);
		/* It is no approval of anybody. */
		assert_null(json_get(json_get(h.decision_receipt, "metadata"), "approved"));
	}
}

static void it_comes_back(void **state)
{
	struct handling h = handle("rm -rf build");
	struct checkpoint_store store;
	struct checkpoint_restored back;
	struct checkpoint_restore how = { .id = h.settled.checkpoint_id };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(unlinkat(x.ws->root_fd, "build/sub/b.o", 0), 0);
	scratch_put(&x.home, "ws/build/a.o", "other");
	assert_int_equal(checkpoint_open(&store, &x.f.sys, &x.request, x.ws->root_fd, x.ws->state_fd,
				 x.ws->state_name, &e),
		OK);
	assert_int_equal(checkpoint_restore(&store, &how, &back, &e), OK);
	checkpoint_close(&store);
	assert_string_equal(scratch_get(&x.home, "ws/build/a.o"), "one");
	assert_string_equal(scratch_get(&x.home, "ws/build/sub/b.o"), "two");
}

static void what_is_in_doubt_is_asked(void **state)
{
	static const struct {
		const char *text, *why; /* NULL: no reason is given */
	} asked[] = {
		{ "rm -rf build/../build", "not written out" },
		{ "D=build; rm -rf $D", "not written out" },
		{ "cd build && rm -rf sub", "not certain" },
		{ "timeout 5 rm -rf build", "another program" },
		{ "ln -s build d; rm -rf d/f", "could change where" },
		{ "rm -rf d/f & ln -s build d", "could change where" },
		{ "for i in 1 2; do rm -rf d/f; ln -s build d; done", "could change where" },
		{ "rm -rf /srv/elsewhere", NULL },
		{ "rm -rf link", "a link leads to" },
		{ "rm -rf build; kill -9 1234", NULL },
	};

	(void)state;
	assert_int_equal(symlinkat("build", x.ws->root_fd, "link"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct handling h = handle(asked[i].text);
		if (h.verdict == V_ALLOW)
			fail_msg("'%s' is not asked", asked[i].text);
		assert_null(h.settled.by);
		if (asked[i].why && (!h.settled.why_asked || !strstr(h.settled.why_asked, asked[i].why)))
			fail_msg("'%s': %s", asked[i].text, h.settled.why_asked ? h.settled.why_asked : "-");
	}
}

/* A checkpoint that cannot be made answers nothing. */
static void what_cannot_be_saved_is_asked(void **state)
{
	struct handling h;

	(void)state;
	assert_int_equal(mkfifoat(x.ws->root_fd, "build/pipe", 0600), 0);
	h = handle("rm -rf build");
	assert_int_equal(h.verdict, V_ESCALATE);
	assert_non_null(strstr(h.settled.why_asked, "fifo"));
	assert_non_null(json_get(json_get(h.decision_receipt, "metadata"), "checkpoint_error"));
}

static void only_where_it_was_chosen(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(workspace_use_profile(&x.k, &x.request, "workspace_edit", "ask", &receipt, &e), OK);
	assert_int_equal(handle("rm -rf build").verdict, V_ESCALATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_plain, begin, end),
		cmocka_unit_test_setup_teardown(where_it_moves, begin, end),
		cmocka_unit_test_setup_teardown(what_is_saved_is_not_asked, begin, end),
		cmocka_unit_test_setup_teardown(it_comes_back, begin, end),
		cmocka_unit_test_setup_teardown(what_is_in_doubt_is_asked, begin, end),
		cmocka_unit_test_setup_teardown(what_cannot_be_saved_is_asked, begin, end),
		cmocka_unit_test_setup_teardown(only_where_it_was_chosen, begin, end),
	};

	return cmocka_run_group_tests_name("undo", tests, NULL, NULL);
}
