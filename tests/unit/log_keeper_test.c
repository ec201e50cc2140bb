/* log_keeper_test.c — the keeper of a log's keys, asked without a socket: no smaller tree, no other one, orders one after the other, files that were set
 * back or damaged. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/log_keeper.h"
#include "tools/fault_sys.h"
#include "tools/log_fixture.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <unistd.h>

static struct scratch t;
static struct arena a;
static struct err e;
static struct log_keeper *keeper;
static struct log_line *line;
static struct log_facts facts;
static const char *note;

static const char *home(void)
{
	return arena_printf(&a, "%s/keeper", t.path);
}

static void begin(void)
{
	assert_int_equal(log_keeper_open(sys_real(), home(), &keeper, &e), OK);
	assert_int_equal(log_line_open(sys_real(), "", keeper, &line, &e), OK);
}

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	e = (struct err){ 0 };
	assert_int_equal(log_keeper_create(sys_real(), &a, home(), "team", LOG_ORIGIN, &e), OK);
	begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_line_close(&line);
	log_keeper_close(&keeper);
	scratch_done(&t);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static const char *ask_head(struct tlog_head next, struct tlog_request request, const char *newest)
{
	e = (struct err){ 0 };
	note = NULL;
	return log_ask_head(line, &a, "team", &next, &request, newest, &note, &e) ? e.code : "OK";
}

static const char *step(uint64_t old, uint64_t size, uint8_t story)
{
	return ask_head(log_head(size, story), log_step(old, size, story), NULL);
}

static void ask_facts(void)
{
	e = (struct err){ 0 };
	assert_int_equal(log_ask_facts(line, &a, "team", &facts, &e), OK);
}

static void holds(uint64_t size)
{
	struct tlog_policy p;
	struct tlog_seen seen;

	ask_facts();
	p = tlog_policy_of(&a, &facts.log, NULL, 0);
	assert_int_equal(tlog_policy_check(&a, &p, bytes_of(note), "note", &seen, &e), OK);
	assert_int_equal(seen.head.size, size);
}

static void trees_only_grow(void **state)
{
	(void)state;
	ask_facts();
	assert_string_equal(facts.log.name, LOG_ORIGIN);
	assert_string_equal(facts.control.name, LOG_ORIGIN "/control");
	assert_int_equal(facts.last.size, 0);
	assert_string_equal(step(0, 5, 0), "OK");
	holds(5);
	assert_string_equal(step(5, 5, 0), "OK"); /* once more */
	assert_string_equal(step(5, 9, 0), "OK");
	holds(9);
	assert_string_equal(step(5, 7, 0), "LOG_SMALLER"); /* a database that was set back */
	assert_string_equal(step(9, 7, 0), "LOG_SMALLER");
	assert_string_equal(step(5, 12, 0), "LOG_ELSEWHERE"); /* somebody else was faster */
	assert_string_equal(step(0, 12, 0), "LOG_ELSEWHERE");
	assert_string_equal(
		step(9, 9, 7), "LOG_DIFFERENT"); /* a database that was set back, and grew again */
	assert_string_equal(step(9, 12, 7), "LOG_DIFFERENT");
	assert_string_equal(step(9, 12, 9), "OK");
	holds(12);
	struct tlog_head other = log_head(13, 9);
	other.origin = "ledger.example/else";
	assert_string_equal(ask_head(other, log_step(12, 13, 9), NULL), "LOG_ORIGIN");
}

static void it_remembers_behind_a_new_start(void **state)
{
	(void)state;
	assert_string_equal(step(0, 9, 0), "OK");
	struct log_keeper *second = NULL;
	assert_int_equal(log_keeper_open(sys_real(), home(), &second, &e), E_INPUT);
	assert_string_equal(e.code, "SIGNER_RUNS");
	log_line_close(&line);
	log_keeper_close(&keeper);
	begin();
	assert_string_equal(step(0, 9, 3), "LOG_ELSEWHERE");
	assert_string_equal(step(9, 9, 3), "LOG_DIFFERENT");
	assert_string_equal(step(9, 10, 0), "OK");
}

static const char *signed_json(void)
{
	return arena_printf(&a, "%s/logs/team/signed.json", home());
}

static void copy(const char *from, const char *to)
{
	struct bytes text;

	assert_int_equal(file_read(sys_real(), &a, AT_FDCWD, from, 1 << 20, 0, &text, &e), OK);
	assert_int_equal(file_replace(sys_real(), AT_FDCWD, to, 0600, text, &e), OK);
}

/* Files of the keeper that were put back from an old copy: found by the first note that anybody shows. */
static void being_set_back_is_found(void **state)
{
	const char *old = arena_printf(&a, "%s/old", t.path), *newest;

	(void)state;
	assert_string_equal(step(0, 5, 0), "OK");
	copy(signed_json(), old);
	assert_string_equal(step(5, 9, 0), "OK");
	newest = note;
	copy(old, signed_json());
	struct tlog_head next = log_head(12, 0);
	assert_string_equal(ask_head(next, log_step(5, 12, 0), newest), "LOG_SET_BACK");
	assert_non_null(strstr(e.text, "set back by 4 leaves"));
	/* A note that it did not sign says nothing: whoever asks cannot stop it with one. */
	assert_string_equal(ask_head(next, log_step(5, 12, 0), "nonsense"), "OK");
	/* The same size and another root, signed by this key, is the worst. */
	copy(old, signed_json());
	assert_string_equal(step(5, 9, 6), "OK");
	assert_string_equal(ask_head(log_head(12, 6), log_step(9, 12, 6), newest), "LOG_SET_BACK");
}

static void damaged_state_signs_nothing(void **state)
{
	static const char *const bad[] = {
		"{\"version\":2}", "[]", "{",
		"{\"version\":1,\"origin\":\"" LOG_ORIGIN "\",\"size\":3,\"root\":\"00\"}",
		"{\"version\":1,\"origin\":\"else\",\"size\":0,\"root\":\"0000000000000000000000000000000000000000000000000000000000000000\"}",
		"{\"version\":1,\"origin\":\"" LOG_ORIGIN
		"\",\"size\":-1,\"root\":\"0000000000000000000000000000000000000000000000000000000000000000\"}"
	};

	(void)state;
	assert_string_equal(step(0, 5, 0), "OK");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(
			file_replace(sys_real(), AT_FDCWD, signed_json(), 0600, bytes_of(bad[i]), &e), OK);
		assert_string_not_equal(step(0, 5, 0), "OK");
		assert_null(note);
	}
}

/* ---- orders ---- */

static struct json *order(int64_t seq, const char *prev, const char *kind)
{
	struct json *doc = json_new(&a, JSON_OBJECT);

	json_sets(&a, doc, "version", FLEET_ORDER_V1);
	json_sets(&a, doc, "origin", LOG_ORIGIN);
	json_seti(&a, doc, "seq", seq);
	json_sets(&a, doc, "prev_hash", prev);
	json_sets(&a, doc, "kind", kind);
	return doc;
}

static struct json *got;

static const char *ask_order(const struct json *doc)
{
	e = (struct err){ 0 };
	got = NULL;
	return log_ask_order(line, &a, "team", doc, &got, &e) ? e.code : "OK";
}

static void is_signed(const struct json *doc)
{
	const char *hex = json_get_text(doc, "signature", "");
	uint8_t raw[SIGN_SIZE];

	ask_facts();
	assert_true(hex_decode(hex, strlen(hex), raw, SIGN_SIZE, true));
	assert_true(sign_verify(facts.control.pub, log_order_message(&a, doc), raw));
}

static void orders_are_a_chain(void **state)
{
	struct json *first = order(1, "", "freeze"), *other;
	const char *hash;

	(void)state;
	assert_string_equal(ask_order(order(2, "", "freeze")), "LOG_ORDER");
	assert_string_equal(ask_order(order(0, "", "freeze")), "LOG_SMALLER");
	assert_string_equal(ask_order(order(1, "x", "freeze")), "LOG_ORDER");
	assert_string_equal(ask_order(first), "OK");
	is_signed(got);
	hash = log_order_hash(&a, got);
	ask_facts();
	assert_int_equal(facts.order_seq, 1);
	assert_string_equal(facts.order_hash, hash);
	/* Asked again, the same; another one under its number is answered with the one that stands there. */
	assert_string_equal(ask_order(first), "OK");
	is_signed(got);
	assert_string_equal(ask_order(order(1, "", "unfreeze")), "LOG_ORDER_TAKEN");
	assert_string_equal(json_get_text(got, "kind", ""), "freeze");
	is_signed(got);
	assert_string_equal(ask_order(order(2, "", "unfreeze")), "LOG_ORDER");
	assert_string_equal(ask_order(order(2, hash, "unfreeze")), "OK");
	assert_string_equal(ask_order(first), "LOG_SMALLER");
	other = order(3, log_order_hash(&a, got), "freeze");
	json_sets(&a, other, "origin", "else");
	assert_string_equal(ask_order(other), "LOG_ORDER");
	json_sets(&a, other, "origin", LOG_ORIGIN);
	json_sets(&a, other, "signature", "");
	assert_string_equal(ask_order(other), "LOG_ORDER");
	assert_int_equal(
		file_replace(sys_real(), AT_FDCWD, arena_printf(&a, "%s/logs/team/ordered.json", home()),
			0600, BYTES_LITERAL("{\"order\":{}}"), &e),
		OK);
	assert_string_equal(ask_order(order(3, "", "freeze")), "LOG_STATE");
	assert_int_equal(log_ask_facts(line, &a, "team", &facts, &e), E_DENIED);
}

static const char *answer(const char *question)
{
	struct json *doc = log_keeper_answer(keeper, &a, 7, bytes_of(question));

	return json_get_text(doc, "error", "OK");
}

static void other_questions_are_refused(void **state)
{
	(void)state;
	assert_string_not_equal(answer(""), "OK");
	assert_string_not_equal(answer("{"), "OK");
	assert_string_equal(answer("{}"), "LOG_UNKNOWN");
	assert_string_equal(answer("{\"op\":\"log_head\",\"record\":[]}"), "LOG_UNKNOWN");
	assert_string_equal(answer("{\"op\":\"log_head\",\"record\":{\"log\":\"../team\"}}"), "LOG_UNKNOWN");
	assert_string_equal(answer("{\"op\":\"log_head\",\"record\":{\"log\":\"none\"}}"), "LOG_UNKNOWN");
	assert_string_equal(answer("{\"op\":\"receipt\",\"record\":{\"log\":\"team\"}}"), "SIGNER_REFUSES");
	assert_string_equal(answer("{\"op\":\"log_head\",\"record\":{\"log\":\"team\"}}"), "TLOG_REQUEST");
	assert_string_equal(
		answer("{\"op\":\"log_head\",\"record\":{\"log\":\"team\",\"request\":\"old 0\\n\\nx\"}}"),
		"TLOG_HEAD");
	assert_string_equal(answer("{\"op\":\"log_order\",\"record\":{\"log\":\"team\"}}"), "LOG_ORDER");
	assert_int_equal(log_keeper_create(sys_real(), &a, home(), "team", LOG_ORIGIN, &e), E_INPUT);
	assert_string_equal(e.code, "LOG_EXISTS");
	assert_int_equal(log_keeper_create(sys_real(), &a, home(), "../x", LOG_ORIGIN, &e), E_USAGE);
	assert_int_equal(log_keeper_create(sys_real(), &a, home(), "x", "a b", &e), E_USAGE);
	struct log_line *none = NULL;
	assert_int_equal(log_line_open(sys_real(), "relative", NULL, &none, &e), E_USAGE);
	assert_int_equal(log_line_open(sys_real(), "/nowhere/socket", NULL, &none, &e), OK);
	assert_int_equal(log_ask_facts(none, &a, "team", &facts, &e), E_IO);
	assert_string_equal(e.code, "LOG_AWAY");
	log_line_close(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(trees_only_grow, setup, teardown),
		cmocka_unit_test_setup_teardown(it_remembers_behind_a_new_start, setup, teardown),
		cmocka_unit_test_setup_teardown(being_set_back_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_state_signs_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(orders_are_a_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(other_questions_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
