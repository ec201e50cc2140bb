/* memory_test.c — merging lines, labels that decay, the gate, and plans: what each says, without a disk where none is needed. */
#include "base/file.h"
#include "record/record.h"
#include "remember/memory.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(a, bytes_of(text), "given", NULL, &v, &e))
		fail_msg("%s: %s", text, e.text);
	return v;
}

/* ---- merging ---- */

static void merges(const char *base, const char *ours, const char *theirs, const char *want, int conflicts)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *told;
	struct buf b;

	buf_init(&b, &a);
	memory_merge(&a, bytes_of(base), bytes_of(ours), bytes_of(theirs), &b, &told);
	assert_string_equal(b.p, want);
	assert_int_equal(told ? (int)told->n : 0, conflicts);
}

static void test_merge(void **state)
{
	(void)state;
	merges("a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n", 0);
	/* neighbours are one piece: nothing is guessed */
	merges("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", "a\nb\nC\n", 1);
	merges("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n", 0);
	merges("a\n", "a\nours\n", "a\ntheirs\n", "a\ntheirs\nours\n", 0);
	merges("a\n", "a\nsame\n", "a\nsame\n", "a\nsame\n", 0);
	merges("", "ours\n", "theirs\n", "theirs\nours\n", 0);
	merges("a\nb\n", "a\n", "a\nb\nc\n", "a\nb\nc\n", 1);
	merges("a\nb\n", "a\nx\n", "a\ny\n", "a\ny\n", 1);
	merges("a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n", "b\nc\nd\n", 0);
}

/* Whatever both sides do, a line that only one side added is in the result or among the conflicts; and with one side unchanged the other
 * one is the result. */
static void test_merge_loses_nothing(void **state)
{
	static const char *const words[] = { "a", "b", "c", "d", "e" };
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct buf side[3], b, one;
		struct json *told;
		for (int s = 0; s < 3; s++) {
			buf_init(&side[s], &a);
			for (int i = rand_r(&seed) % 7; i > 0; i--)
				buf_addf(&side[s], "%s\n", words[rand_r(&seed) % 5]);
			if (s)
				buf_addf(&side[s], "only %d %d\n", s, round);
		}
		buf_init(&b, &a);
		memory_merge(&a, buf_bytes(&side[0]), buf_bytes(&side[1]), buf_bytes(&side[2]), &b, &told);
		struct buf said;
		buf_init(&said, &a);
		if (told)
			json_write(&said, told, 0);
		if (!strstr(b.p, "only 2") || (!strstr(b.p, "only 1") && !strstr(said.p, "only 1")))
			fail_msg("lost a line:\n%s--\n%s--\n%s=>\n%s", side[0].p, side[1].p, side[2].p, b.p);
		buf_init(&one, &a);
		memory_merge(&a, buf_bytes(&side[0]), buf_bytes(&side[1]), buf_bytes(&side[0]), &one, &told);
		assert_string_equal(one.p, side[1].p);
		assert_null(told);
	}
}

static struct bytes next_line(struct bytes *rest)
{
	struct bytes line = text_cut(rest, '\n');

	return (struct bytes){ line.p, line.n + 1 }; /* every line here has its end */
}

/* Whoever goes along the first text with the difference in hand writes the second. */
static void test_difference_leads_there(void **state)
{
	unsigned seed = 11;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct buf side[2], said, made;
		long from, lines, at = 0;
		for (int s = 0; s < 2; s++) {
			buf_init(&side[s], &a);
			for (int i = rand_r(&seed) % 30; i > 0; i--)
				buf_addf(&side[s], "%d\n", rand_r(&seed) % 8);
		}
		buf_init(&said, &a);
		memory_difference(&a, "f", buf_bytes(&side[0]), buf_bytes(&side[1]), &said);
		struct bytes diff = buf_bytes(&said), old = buf_bytes(&side[0]);
		(void)next_line(&diff);
		(void)next_line(&diff);
		buf_init(&made, &a);
		while (diff.n) {
			struct bytes line = next_line(&diff);
			if (line.p[0] == '@') {
				assert_int_equal(
					sscanf((const char *)line.p, "@@ -%ld,%ld", &from, &lines), 2);
				for (from -= lines > 0; at < from; at++) {
					struct bytes kept = next_line(&old);
					buf_add(&made, kept.p, kept.n);
				}
				continue;
			}
			if (line.p[0] != '+') {
				struct bytes was = next_line(&old);
				assert_memory_equal(was.p, line.p + 1, was.n);
				at++;
			}
			if (line.p[0] != '-')
				buf_add(&made, line.p + 1, line.n - 1);
		}
		buf_add(&made, old.p, old.n);
		assert_string_equal(made.p, side[1].p);
	}
}

/* ---- labels ---- */

enum { DAY = 86400 };

static void decays(const char *status, int64_t days, const char *want)
{
	AUTO(arena_done) struct arena a = { 0 };
	int64_t now = INT64_C(1767225600000000);
	struct json *label = json_new(&a, JSON_OBJECT);

	json_sets(&a, label, "status", status);
	if (days >= 0)
		json_sets(&a, label, "last_confirmed_at",
			text_time_iso(&a, now - days * DAY * INT64_C(1000000)));
	struct json *today = memory_label_today(&a, label, now);
	if (!text_eq(json_get_text(today, "status", ""), want))
		fail_msg("%s after %lld days is %s", status, (long long)days,
			json_get_text(today, "status", ""));
	assert_string_equal(json_get_text(label, "status", ""), status);
	assert_true(json_is(json_get(label, "decayed_at"), JSON_NULL) || !json_get(label, "decayed_at"));
}

static void test_decay(void **state)
{
	(void)state;
	decays("raw", 30, "raw");
	decays("raw", 31, "stale");
	decays("candidate", 60, "candidate");
	decays("candidate", 61, "stale");
	decays("promoted", 90, "promoted");
	decays("promoted", 91, "stale");
	decays("promoted", -1, "stale");
	decays("deprecated", 1000, "deprecated");
	decays("stale", 0, "stale");
	decays("something", 31, "stale");
	decays("something", 3, "something");
}

static void test_label_moves(void **state)
{
	static const struct {
		const char *from, *confidence, *to, *evidence, *reason;
		bool is_approved, is_right;
	} moves[] = {
		{ "raw", "low", "candidate", "seen", NULL, false, true },
		{ "raw", "low", "candidate", NULL, NULL, true, false },
		{ "raw", "high", "promoted", "seen", NULL, true, false },
		{ "candidate", "medium", "promoted", "seen", NULL, true, true },
		{ "candidate", "medium", "promoted", "seen", NULL, false, false },
		{ "candidate", "low", "promoted", "seen", NULL, true, false },
		{ "promoted", "high", "stale", NULL, NULL, false, true },
		{ "promoted", "high", "deprecated", NULL, "gone", true, true },
		{ "promoted", "high", "deprecated", NULL, NULL, true, false },
		{ "promoted", "high", "deprecated", NULL, "gone", false, false },
		{ "promoted", "high", "raw", "seen", "why", true, false },
	};
	int64_t now = INT64_C(1767225600000000);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *label = json_new(&a, JSON_OBJECT), *moved = NULL;
		struct label_move m = { moves[i].to, moves[i].evidence, moves[i].reason,
			moves[i].is_approved };
		struct err e = { 0 };
		json_sets(&a, label, "status", moves[i].from);
		json_sets(&a, label, "confidence", moves[i].confidence);
		json_sets(&a, label, "last_confirmed_at", text_time_iso(&a, now));
		int rc = memory_label_move(&a, label, &m, now, &moved, &e);
		if ((rc == OK) != moves[i].is_right)
			fail_msg("move %zu: %s", i, rc ? e.text : "accepted");
	}
}

/* ---- plans ---- */

static void plans(const char *row, const char *member, const char *want)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *plan = memory_plan(&a, parse(&a, row), NULL, INT64_C(1767225600000000));
	struct buf b;

	buf_init(&b, &a);
	json_write(&b, json_get(plan, member), 0);
	if (!text_eq(b.p, want))
		fail_msg("%s\n%s is %s", row, member, b.p);
}

static void test_plan(void **state)
{
	(void)state;
	plans("{\"status\":\"completed\",\"task_name\":\"keynote vintage\"}", "event_types", "[]");
	plans("{\"status\":\"completed\",\"task_name\":\"tag a release_note\"}", "reasons",
		"[\"word:release\",\"word:tag\",\"word:note\"]");
	plans("{\"status\":\"completed\",\"touched_paths\":[\"a/docs/x\",\"README.ko.md\",3,null]}",
		"reasons", "[\"path:README\",\"word:readme\",\"word:docs\"]");
	plans("{\"status\":\"failed\",\"profile\":\"risky_edit\"}", "recommended_layers",
		"[\"daily_memory\",\"long_term_memory\"]");
	plans("{\"status\":\"failed\",\"profile\":\"workspace_edit\",\"task_name\":\"deploy\"}", "relevant",
		"false");
	plans("{\"status\":\"timeout\",\"profile\":\"risky_edit\"}", "relevant", "false");
	plans("{\"status\":\"completed\",\"checkpoint_paths\":[\"a\"],\"touched_paths\":[\"docs/a\"]}",
		"finalization_status", "\"capture_planned\"");
	plans("{\"status\":\"completed\",\"meta\":{\"harness\":{\"browser_evidence\":{\"api_reusable\":true},"
	      "\"retrieval_evidence\":{\"exit_classification\":\"unsafe\"}}}}",
		"event_types", "[\"operational_state\",\"project_state\",\"knowledge_state\"]");
	plans("{\"status\":\"completed\",\"task_name\":\"prefix it\",\"touched_paths\":[\"docs/a\"]}",
		"review_flags", "[]");
	plans("{\"status\":null,\"task_name\":null,\"touched_paths\":{},\"meta\":[]}", "relevant", "false");
}

/* ---- the gate ---- */

struct place {
	char dir[40];
	struct memory_place m;
};

static void open_place(struct place *p, const char *memory)
{
	struct err e;

	snprintf(p->dir, sizeof(p->dir), "/tmp/helm-memory-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->m = (struct memory_place){ .sys = sys_real(), .state_dir = p->dir };
	assert_int_equal(file_open_dir(p->m.sys, AT_FDCWD, p->dir, &p->m.root_fd, &e), OK);
	p->m.state_fd = p->m.root_fd;
	assert_int_equal(file_put(p->m.sys, p->m.root_fd, "MEMORY.md", 0600, bytes_of(memory), &e), OK);
}

static void close_place(struct place *p)
{
	close_fd(&p->m.root_fd);
	file_remove_tree(p->m.sys, AT_FDCWD, p->dir);
}

static void test_gate(void **state)
{
	static const struct {
		const char *line;
		enum gate_answer want;
	} lines[] = {
		{ "the mirror moved to a new host in May", GATE_DUPLICATE },
		{ "- The MIRROR moved, to a new host in May. [source: MEMORY.md:1]", GATE_DUPLICATE },
		{ "the mirror moved to a new host in June", GATE_NEW },
		{ "port 8080 serves the mirror of the packages", GATE_DUPLICATE },
		{ "port 8081 serves the mirror of the packages", GATE_NEW },
		{ "port 8081 serves the mirror of the packages", GATE_DUPLICATE }, /* known from then on */
		{ "ok", GATE_JUNK },
		{ "!!! ---", GATE_JUNK },
		{ "Thanks!", GATE_JUNK },
		{ "Traceback (most recent call last):", GATE_JUNK },
		{ "[2026-01-01 10:00:00] worker started again", GATE_JUNK },
		{ "결정", GATE_NEW },
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct memory_known *known;
	struct place p;
	struct err e;

	(void)state;
	open_place(&p,
		"- the mirror moved to a new host in May <!-- mem-20260101000000000000 -->\n"
		"* port 8080 serves the mirror of the packages\n");
	assert_int_equal(memory_known_load(&p.m, &a, &known, &e), OK);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct gated g;
		memory_gate(known, &a, "MEMORY.md", bytes_of(lines[i].line), &g);
		if (g.is != lines[i].want)
			fail_msg("'%s' is %s: %s", lines[i].line, gate_answer_name(g.is), g.why ? g.why : "");
	}
	close_place(&p);
}

/* Nothing that redaction would hide passes, wherever it stands in a line. */
static void test_gate_hides(void **state)
{
	static const char *const secrets[] = { "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
		"AKIAIOSFODNN7EXAMPLE", "password=hunter2hunter2",
		"Authorization: Bearer abcdef0123456789abcdef", "https://user:pa55word@host.example/x",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop" };
	static const char *const around[] = { "%s", "the key is %s", "%s is the key of the mirror",
		"- [x] use %s, then go on <!-- mem-20260101000000000000 -->" };
	AUTO(arena_done) struct arena a = { 0 };
	struct memory_known *known;
	struct place p;
	struct err e;

	(void)state;
	open_place(&p, "");
	assert_int_equal(memory_known_load(&p.m, &a, &known, &e), OK);
	for (size_t s = 0; s < ARRAY_SIZE(secrets); s++)
		for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
			struct gated g;
			char line[400];
			const char *at = strstr(around[i], "%s");
			snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - around[i]), around[i], secrets[s],
				at + 2);
			memory_gate(known, &a, "MEMORY.md", bytes_of(line), &g);
			assert_true(g.is_redacted);
			if (memory_has_secret(&a, g.text) || strstr(g.text, secrets[s]))
				fail_msg("kept: %s", g.text);
		}
	close_place(&p);
}

/* ---- files that somebody else saves in between ---- */

struct racing {
	struct place *p;
	int saves;
};

static int add_late(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	struct racing *r = arg;

	(void)a;
	/* An editor saves after the text was read. */
	if (r->saves) {
		struct buf b;
		buf_init(&b, a);
		buf_adds(&b, "theirs first\n");
		buf_add(&b, text.p, text.n);
		assert_int_equal(
			file_put(r->p->m.sys, r->p->m.root_fd, "MEMORY.md", 0640, buf_bytes(&b), e), OK);
	}
	buf_add(ret, text.p, text.n);
	buf_adds(ret, "ours\n");
	return OK;
}

static void test_change_beside_an_editor(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *conflicts;
	const char *kept;
	struct bytes text;
	struct place p;
	struct racing r = { &p, 1 };
	struct err e = { 0 };

	(void)state;
	open_place(&p, "a\nb\n");
	assert_int_equal(memory_change_file(&p.m, &a, "MEMORY.md", add_late, &r, &conflicts, &kept, &e), OK);
	assert_null(conflicts);
	assert_int_equal(file_read(p.m.sys, &a, p.m.root_fd, "MEMORY.md", 1000, 0, &text, &e), OK);
	assert_true(bytes_is(text, "theirs first\na\nb\nours\n"));
	/* What a writer left that was ended in between is not lost either: its name says what it should be. */
	static const char left[] = ".MEMORY.md.helm-memory-0123456789abcdef-fedcba9876543210";
	assert_int_equal(
		file_put(p.m.sys, p.m.root_fd, left, 0600, bytes_of("a\nb\nsaved in that moment\n"), &e), OK);
	r.saves = 0;
	assert_int_equal(memory_change_file(&p.m, &a, "MEMORY.md", add_late, &r, &conflicts, &kept, &e), OK);
	assert_non_null(kept);
	assert_int_equal(file_read(p.m.sys, &a, p.m.root_fd, kept, 1000, 0, &text, &e), OK);
	assert_true(bytes_is(text, "a\nb\nsaved in that moment\n"));
	assert_false(file_exists(p.m.sys, p.m.root_fd, left));
	assert_int_equal(
		memory_change_file(&p.m, &a, "notes/new/x.md", add_late, &r, &conflicts, &kept, &e), OK);
	assert_int_equal(file_read(p.m.sys, &a, p.m.root_fd, "notes/new/x.md", 1000, 0, &text, &e), OK);
	assert_true(bytes_is(text, "ours\n"));
	close_place(&p);
}

static int (*real_rename)(struct sys *, int, const char *, int, const char *, unsigned);

/* What comes out of the exchange is gone before anybody has read it. */
static int rename_and_lose(struct sys *s, int from, const char *old, int to, const char *new, unsigned flags)
{
	int rc = real_rename(s, from, old, to, new, flags);

	if (rc == 0 && flags)
		assert_int_equal(s->unlink(s, from, old, 0), 0);
	return rc;
}

static void test_a_lost_text_is_not_an_empty_one(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *conflicts;
	const char *kept;
	struct bytes text;
	struct place p;
	struct racing r = { &p, 0 };
	struct err e = { 0 };

	(void)state;
	open_place(&p, "a\nb\n");
	struct sys losing = *p.m.sys;
	struct memory_place m = p.m;
	real_rename = p.m.sys->rename;
	losing.rename = rename_and_lose;
	m.sys = &losing;
	assert_int_not_equal(
		memory_change_file(&m, &a, "MEMORY.md", add_late, &r, &conflicts, &kept, &e), OK);
	assert_non_null(strstr(e.text, "was taken away"));
	assert_int_equal(file_read(p.m.sys, &a, p.m.root_fd, "MEMORY.md", 1000, 0, &text, &e), OK);
	assert_true(bytes_is(text, "a\nb\nours\n"));
	close_place(&p);
}

/* Also in a ledger whose rows somebody mixed, and with rows that claim what only later rows can say. */
static void test_entries_are_found(void **state)
{
	static const char rows[] = "{\"id\":\"mem-3\",\"event\":\"write\",\"superseded_by\":\"x\"}\n"
				   "{\"id\":\"mem-1\",\"event\":\"write\"}\n"
				   "{\"id\":\"mem-2\",\"event\":\"write\",\"supersedes\":[\"mem-3\"]}\n"
				   "{\"id\":\"mem-1\",\"event\":\"queue\"}\n";
	AUTO(arena_done) struct arena a = { 0 };
	struct json *entries;
	struct place p;
	size_t damaged;
	struct err e;

	(void)state;
	open_place(&p, "");
	assert_int_equal(memory_entries(&p.m, &a, &entries, &damaged, &e), OK);
	assert_null(memory_entry(entries, "mem-1"));
	assert_int_equal(file_put(p.m.sys, p.m.state_fd, MEMORY_ENTRIES, 0600, bytes_of(rows), &e), OK);
	assert_int_equal(memory_entries(&p.m, &a, &entries, &damaged, &e), OK);
	assert_int_equal(entries->n, 3);
	assert_string_equal(json_get_text(memory_entry(entries, "mem-1"), "state", ""), "waiting");
	assert_string_equal(json_get_text(memory_entry(entries, "mem-2"), "state", ""), "current");
	assert_string_equal(json_get_text(memory_entry(entries, "mem-3"), "state", ""), "superseded");
	assert_true(memory_entry_is_replaced(memory_entry(entries, "mem-3"), "mem-1"));
	assert_false(memory_entry_is_replaced(memory_entry(entries, "mem-3"), "mem-2"));
	assert_null(memory_entry(entries, "mem-4"));
	close_place(&p);
}

static void test_line_entry(void **state)
{
	char id[MEMORY_ID + 1];
	struct bytes text;

	(void)state;
	assert_true(memory_line_entry(bytes_of("- x <!-- mem-20260101000000000000 -->  "), id, &text));
	assert_string_equal(id, "mem-20260101000000000000");
	assert_true(bytes_is(text, "- x"));
	assert_false(memory_line_entry(bytes_of("x <!-- mem-2026010100000000000x -->"), id, &text));
	assert_false(memory_line_entry(bytes_of("<!-- mem-20260101000000000000 --> x"), id, &text));
	assert_true(memory_line_entry(bytes_of("<!-- mem-20260101000000000000 -->"), id, &text));
	assert_int_equal(text.n, 0);
}

static void test_time(void **state)
{
	static const char *const good[] = { "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z",
		"20260101T000000Z", "2026-01-01", "2026-01-01 00:00:00", "2026-01-01T00:00:00.000000" };
	int64_t us;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (!memory_time(good[i], &us))
			fail_msg("%s", good[i]);
		assert_true(us == INT64_C(1767225600000000));
	}
	assert_false(memory_time("2026plan", &us));
	assert_false(memory_time("", &us));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_loses_nothing),
		cmocka_unit_test(test_difference_leads_there),
		cmocka_unit_test(test_decay),
		cmocka_unit_test(test_label_moves),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_gate_hides),
		cmocka_unit_test(test_change_beside_an_editor),
		cmocka_unit_test(test_a_lost_text_is_not_an_empty_one),
		cmocka_unit_test(test_entries_are_found),
		cmocka_unit_test(test_line_entry),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
