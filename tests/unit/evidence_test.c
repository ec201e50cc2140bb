/* evidence_test.c — a workspace's records on their way out: what is chosen, and what the receipts say for themselves. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/hash.h"
#include "tools/fault_sys.h"
#include "tools/packs.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct scratch t;
static struct arena a;
static struct err e;
static struct key *key;

enum { ISSUED = 5 };
#define ROW_ODD "{\"task_id\":\"odd\",\"updated_at\":\"2026-01-01T00:00:00Z\"}"
#define ROW_EVEN "{\"task_id\":\"even\",\"updated_at\":\"2026-01-02T00:00:00Z\"}"
#define ROW_NAMELESS \
	"{\"exit_code\":0,\"updated_at\":\"2026-01-02T00:00:00Z\"}" /* of the task "even", says a receipt */

static void bind(struct json *metadata, const char *row)
{
	struct json *list = json_new(&a, JSON_ARRAY);

	json_pushs(&a, list, sha256_hex(&a, row, strlen(row)));
	json_set(&a, metadata, "rows_sha256", list);
}

static int setup(void **state)
{
	(void)state;
	struct recorder r;

	scratch_open(&t);
	key = packs_key(&t);
	e = (struct err){ 0 };
	recorder_open(&r, sys_real(), t.fd, key);
	for (int i = 0; i < ISSUED; i++) {
		struct json *metadata = json_new(&a, JSON_OBJECT);
		json_sets(&a, metadata, "task_id", i % 2 ? "odd" : "even");
		if (i == 1 || i == 2)
			bind(metadata, i == 1 ? ROW_ODD : ROW_NAMELESS);
		struct draft d = { .decision_id = arena_printf(&a, "dec/%d", i),
			.effect_id = "EXECUTE_COMMAND",
			.status = "ALLOW",
			.verdict = "ALLOW",
			.executor_id = "user:1",
			.tool_name = arena_printf(&a, "tool%d", i),
			.metadata = metadata };
		assert_int_equal(recorder_append(&r, &a, &d, 1, NULL, &e), OK);
	}
	assert_int_equal(log_sign_head(&r, &a, NULL, &e), OK);
	scratch_put(&t, "task-ledger.jsonl", ROW_ODD "\n{torn\n" ROW_EVEN "\n" ROW_NAMELESS "\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	key_free(&key);
	key = NULL;
	arena_done(&a);
	scratch_done(&t);
	return 0;
}

/* What an item gives is what it said, and can be changed then. */
static void into_memory(struct pack_item *item)
{
	struct sink_buf sink;
	struct buf text;
	struct hash digest;

	buf_init(&text, &a);
	assert_int_equal(item->give(item, sink_to_buf(&sink, &text), &e), OK);
	assert_int_equal(text.n, item->size_bytes);
	sha256(text.p, text.n, digest.b);
	assert_true(hash_eq(&digest, &item->digest));
	item->give = NULL;
	item->content = buf_bytes(&text);
}

static size_t collect_by(struct sys *s, const struct evidence_choice *choice, struct pack_item **ret_items)
{
	AUTO(evidence_close) struct evidence x;

	if (evidence_collect(s, &a, t.fd, choice, &x, &e))
		fail_msg("%s", e.text);
	assert_string_equal(x.about.actor_did, "did:helm:user_1");
	for (size_t i = 0; i < x.n; i++)
		if (x.items[i].give)
			into_memory(&x.items[i]);
	*ret_items = x.items;
	return x.n;
}

static size_t collect(const struct evidence_choice *choice, struct pack_item **ret_items)
{
	return collect_by(sys_real(), choice, ret_items);
}

static const struct check *find_check(const struct verification *v, const char *name)
{
	for (size_t i = 0; i < v->check_count; i++)
		if (text_eq(v->checks[i].name, name))
			return &v->checks[i];
	fail_msg("no check named %s", name);
	return NULL;
}

static void judge(struct pack_item *items, size_t n, struct verification *v, struct pack *p)
{
	packs_judge(&a, packs_archive(&t, &a, key, items, n), v, p);
}

static void everything(void **state)
{
	(void)state;
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ 0 }, &items);
	struct verification v;
	struct json *report;
	struct pack p;

	assert_int_equal(n, ISSUED + 4); /* ledger, record, head, leaves */
	judge(items, n, &v, &p);
	if (v.error)
		fail_msg("%s: %s", v.error, v.text);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_string_equal(find_check(&v, "receipts")->detail, "5, each signed by a key given");
	assert_string_equal(find_check(&v, "transparency")->detail, "5 receipts stand in the log of 5");
	assert_int_equal(replay_pack(&a, &p, v.trust, NULL, &report, &e), OK);
	assert_string_equal(json_get_text(report, "status", ""), "COMPLETE");
	assert_int_equal(json_get_int(json_get(report, "receipts"), "hashes_verified", 0), ISSUED - 1);
	assert_int_equal(json_get_int(json_get(report, "receipts"), "signatures_failed", -1), 0);
	assert_int_equal(json_get_int(json_get(report, "receipts"), "signatures_checked", -1), ISSUED);
	/* Without a key there is nothing to check signatures with, and that is no failure. */
	struct trust nobody = { 0 };
	assert_int_equal(replay_pack(&a, &p, &nobody, NULL, &report, &e), OK);
	assert_string_equal(json_get_text(report, "status", ""), "COMPLETE");
	assert_int_equal(json_get_int(json_get(report, "receipts"), "signatures_checked", -1), 0);
}

/* ---- somebody writes while one reads ---- */

static struct {
	ssize_t (*pread)(struct sys *s, int fd, void *to, size_t n, off_t at);
	unsigned looks, at;
} meanwhile;

/* Just before the reader's look number `at`, another process appends; so it first cuts off what was torn. */
static ssize_t pread_meanwhile(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	AUTO(recorder_close) struct recorder r = { 0 };
	struct err none = { 0 };

	if (++meanwhile.looks == meanwhile.at) {
		recorder_open(&r, sys_real(), t.fd, key);
		for (int i = 0; i < 2; i++) {
			struct draft d = { .decision_id = arena_printf(&a, "later/%d", i),
				.effect_id = "EXECUTE_COMMAND",
				.status = "ALLOW",
				.executor_id = "user:1" };
			assert_int_equal(recorder_append(&r, &a, &d, 1, NULL, &none), OK);
		}
	}
	return meanwhile.pread(s, fd, to, n, at);
}

/* A killed writer left half a line, longer than what the next one puts in its place. */
static void leave_torn(void)
{
	AUTO(close_fd) int fd = openat(t.fd, "receipts.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
	char torn[20000] = "{\"";

	memset(torn + 2, 'x', sizeof(torn) - 2);
	assert_int_equal(write(fd, torn, sizeof(torn)), (ssize_t)sizeof(torn));
}

/* The lock is held for the first two looks, at the edge and at the end of the chain; then there is none. */
static void beside_a_writer(void **state)
{
	struct fault f;

	for (unsigned at = 3; at == 3 || at <= meanwhile.looks + 1; at++) {
		struct pack_item *items;
		struct verification v;
		struct pack p;
		(void)setup(state);
		leave_torn();
		fault_init(&f);
		meanwhile.pread = f.sys.pread;
		meanwhile.looks = 0;
		meanwhile.at = at;
		f.sys.pread = pread_meanwhile;
		size_t n = collect_by(&f.sys, &(struct evidence_choice){ 0 }, &items);
		judge(items, n, &v, &p);
		if (v.error)
			fail_msg("%s: %s", v.error, v.text);
		assert_string_equal(
			find_check(&v, "transparency")->detail, "5 receipts stand in the log of 5");
		(void)teardown(state);
	}
	assert_true(meanwhile.looks > 5);
}

static void by_task(void **state)
{
	(void)state;
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ .task = "odd" }, &items);
	struct verification v;
	struct pack p;

	assert_int_equal(n, 2 + 4);
	judge(items, n, &v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_string_equal(find_check(&v, "transparency")->detail, "2 receipts stand in the log of 5");
	const struct pack_file *f = verify_pack_find(&p, "transcripts/task-ledger.jsonl");
	assert_true(bytes_is(f->content, ROW_ODD "\n"));
	assert_non_null(verify_pack_find(&p, "receipts/00000002-rcpt_dec_1.json"));
}

/* ---- ledger entries ---- */

static struct pack_item *find_item(struct pack_item *items, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(items[i].path, path))
			return &items[i];
	fail_msg("there is no %s", path);
	return NULL;
}

/* Rows that a chosen receipt binds go along, also those that do not say whose they are. */
static void bound_rows_go_along(void **state)
{
	(void)state;
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ .task = "even" }, &items);
	struct verification v;
	struct pack p;

	judge(items, n, &v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	const struct pack_file *f = verify_pack_find(&p, "transcripts/task-ledger.jsonl");
	assert_true(bytes_is(f->content, ROW_EVEN "\n" ROW_NAMELESS "\n"));
	assert_string_equal(find_check(&v, "ledger_entries")->detail, "1, each as its receipt says");
}

/* An exporter who changes a row, or leaves one out, is found out although the pack's signature is his. */
static void dishonest_rows(void **state)
{
	static const char *const texts[] = { ROW_EVEN "\n" ROW_NAMELESS "\n",
		"{\"task_id\":\"ODD\",\"updated_at\":\"2026-01-01T00:00:00Z\"}\n" ROW_NAMELESS "\n", "\n",
		ROW_ODD " \n" ROW_NAMELESS "\n" };
	struct pack_item *items;
	struct verification v;
	struct pack p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t n = collect(&(struct evidence_choice){ 0 }, &items);
		find_item(items, n, "transcripts/task-ledger.jsonl")->content = bytes_of(texts[i]);
		judge(items, n, &v, &p);
		assert_int_equal(find_check(&v, "ledger_entries")->status, CHECK_FAIL);
		assert_string_equal(v.error, "ledger_entries");
		assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
	}
}

/* Who says that a row was away does not make the pack complete. */
static void absent_rows(void **state)
{
	(void)state;
	struct pack_item *items;
	struct verification v;
	struct pack p;

	scratch_put(&t, "task-ledger.jsonl", ROW_EVEN "\n" ROW_NAMELESS "\n");
	size_t n = collect(&(struct evidence_choice){ 0 }, &items);
	judge(items, n, &v, &p);
	assert_int_equal(find_check(&v, "ledger_entries")->status, CHECK_NOT_APPLICABLE);
	assert_int_equal(v.complete, ANSWER_UNKNOWN);
}

/* Packs of earlier programs say nothing about rows: they verify as before, and that is told. */
static void pack_without_record(void **state)
{
	(void)state;
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ 0 }, &items);
	struct pack_item *record = find_item(items, n, "record.json");
	struct verification v;
	struct pack p;
	bool is_told = false;

	*record = items[n - 1];
	judge(items, n - 1, &v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	json_each (note, v.notes)
		is_told |= text_starts(json_text(note), "ledger entries are not bound");
	assert_true(is_told);
}

/* A document of what was asked that no receipt has the digest of, and one that is called by another digest: the exporter's signature makes them no truer. */
static void foreign_shown(void **state)
{
	static const char text[] = "{\"tool\":\"Bash\"}";
	const char *const names[] = { sha256_hex(&a, text, sizeof(text) - 1), sha256_hex(&a, "other", 5) };
	struct pack_item *items;
	struct verification v;
	struct pack p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = collect(&(struct evidence_choice){ 0 }, &items);
		struct pack_item *more = arena_zalloc(&a, n + 1, sizeof(*more));
		memcpy(more, items, n * sizeof(*more));
		more[n] = (struct pack_item){ .path = arena_printf(&a, "shown/%s.json", names[i]),
			.content = bytes_of(text) };
		judge(more, n + 1, &v, &p);
		assert_int_equal(find_check(&v, "shown")->status, CHECK_FAIL);
		assert_string_equal(v.error, "shown");
		assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
	}
}

static void unsound_record(void **state)
{
	(void)state;
	const struct record_verdict verdict = {
		.is_known = true, .why = "rows were changed", .findings = json_new(&a, JSON_ARRAY)
	};
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ .verdict = &verdict }, &items);
	struct verification v;
	struct pack p;

	judge(items, n, &v, &p);
	assert_string_equal(v.error, "record");
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
	assert_non_null(strstr(v.text, "rows were changed"));
	find_item(items, n, "record.json")->content = bytes_of("{\"version\": \"helm-pack-record/v9\"}");
	judge(items, n, &v, &p);
	assert_string_equal(v.error, "record");
}

static void by_time(void **state)
{
	(void)state;
	struct evidence_choice none = { .has_until = true, .until_us = 0 };
	AUTO(evidence_close) struct evidence x;

	assert_int_equal(evidence_collect(sys_real(), &a, t.fd, &none, &x, &e), E_MISSING);
	assert_string_equal(e.code, "PACK_EMPTY");
}

/* An exporter who changes receipts, or where they stand, is found out although the pack's signature is his. */
static void dishonest_exporter(void **state)
{
	(void)state;
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ 0 }, &items);
	struct verification v;
	struct pack p;
	struct bytes first = items[0].content;

	items[0].content = items[1].content;
	items[1].content = first;
	judge(items, n, &v, &p);
	assert_string_equal(v.error, "transparency");
	n = collect(&(struct evidence_choice){ 0 }, &items);
	char *text = arena_strndup(&a, (const char *)items[2].content.p, items[2].content.n);
	memcpy(strstr(text, "\"verdict\":\"ALLOW\""), "\"verdict\":\"DENYX\"", 17);
	items[2].content = bytes_of(text);
	judge(items, n, &v, &p);
	assert_string_equal(v.error, "receipts");
	assert_int_equal(find_check(&v, "receipts")->status, CHECK_FAIL);
	assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	struct trust nobody = { 0 };
	struct json *report;
	assert_int_equal(replay_pack(&a, &p, &nobody, NULL, &report, &e), OK);
	assert_string_not_equal(json_get_text(report, "status", ""), "COMPLETE");
	assert_non_null(
		strstr(json_text(json_at(json_get(report, "issues"), 0)), "the chain breaks at receipt"));
}

static void dishonest_leaves(void **state)
{
	(void)state;
	struct pack_item *items;
	size_t n = collect(&(struct evidence_choice){ .task = "odd" }, &items);
	struct verification v;
	struct pack p;

	for (size_t i = 0; i < n; i++)
		if (text_eq(items[i].path, "transparency/leaves.txt")) {
			char *text = arena_strndup(&a, (const char *)items[i].content.p, items[i].content.n);
			text[0] = text[0] == '0' ? '1' : '0'; /* of a receipt that is not here */
			items[i].content = bytes_of(text);
		}
	judge(items, n, &v, &p);
	assert_string_equal(v.error, "transparency");
	assert_non_null(strstr(v.text, "do not have the root"));
}

static void two_traces(void **state)
{
	(void)state;
	struct pack_item *items, *fewer;
	size_t n = collect(&(struct evidence_choice){ 0 }, &items),
	       m = collect(&(struct evidence_choice){ .task = "odd" }, &fewer);
	struct verification v;
	struct pack x, y;
	struct json *report;

	judge(items, n, &v, &x);
	judge(fewer, m, &v, &y);
	assert_int_equal(replay_compare(&a, &x, &x, &report, &e), OK);
	assert_true(json_get_bool(report, "identical", false));
	assert_int_equal(json_get_int(report, "match_count", 0), ISSUED);
	assert_int_equal(replay_compare(&a, &x, &y, &report, &e), OK);
	assert_false(json_get_bool(report, "identical", true));
	assert_int_equal(json_get_int(report, "only_in_a", 0), 3);
	assert_int_equal(json_get_int(report, "only_in_b", -1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything, setup, teardown),
		cmocka_unit_test(beside_a_writer),
		cmocka_unit_test_setup_teardown(by_task, setup, teardown),
		cmocka_unit_test_setup_teardown(by_time, setup, teardown),
		cmocka_unit_test_setup_teardown(bound_rows_go_along, setup, teardown),
		cmocka_unit_test_setup_teardown(dishonest_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(absent_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(pack_without_record, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(unsound_record, setup, teardown),
		cmocka_unit_test_setup_teardown(dishonest_exporter, setup, teardown),
		cmocka_unit_test_setup_teardown(dishonest_leaves, setup, teardown),
		cmocka_unit_test_setup_teardown(two_traces, setup, teardown),
	};

	return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
