/* record_crash_test.c — the chain and its log when every single system call fails or is the last one: appending, rotating,
 * signing a head, repairing.  What was acknowledged is there, the chain verifies, leaves and tree agree with it, and the next
 * append works.  And two hundred processes at once. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/record.h"
#include "tools/crash.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 4000 }; /* bytes of a chain file that is to be rotated */

static void setup_key(struct crash *c)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	assert_int_equal(key_create(sys_real(), c->t.fd, "keys", "root", &k, &e), OK);
}

static void open_recorder(struct scratch *t, struct sys *s, struct key **key, struct recorder *r)
{
	struct err e = { 0 };

	assert_int_equal(key_load(sys_real(), t->fd, "keys", "root", key, &e), OK);
	recorder_open(r, s, t->fd, *key);
}

static int append_one(struct recorder *r, const char *id, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draft d = {
		.decision_id = id, .effect_id = "EXECUTE_COMMAND", .status = "ALLOW", .verdict = "ALLOW"
	};

	return recorder_append(r, &a, &d, 1, NULL, e);
}

/* Leaves, edge and lock are made again from the receipts, and so are never synced.  A head that became due is not part of
 * what an append promises. */
static void forget_derived(struct crash *c)
{
	static const char *const names[] = { "log", "log/leaves", "log/edge", "log/lock", "log/heads.jsonl" };
	struct stat st;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		if (fstatat(c->t.fd, names[k], &st, 0))
			continue;
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	}
}

static void acknowledge(struct crash *c)
{
	forget_derived(c);
	crash_ack(c);
}

struct look {
	struct arena a;
	struct json *rows;
	struct hash *leaves;
	bool is_there[4096]; /* not lost, or lost and on record */
	uint64_t n;
	unsigned seams;
};

static int collect(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct look *l = arg;
	struct hash chain;

	(void)text;
	if (!receipt)
		fail_msg("%s line %u is no receipt", file, (unsigned)line);
	assert_int_equal(receipt_chain_hash(&l->a, receipt, chain.b, e), OK);
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	assert_true(clock > (int64_t)l->n && clock < 4096);
	l->n = (uint64_t)clock;
	l->leaves[l->n - 1] = merkle_leaf(chain.b, SHA256_SIZE);
	l->is_there[l->n - 1] = true;
	l->seams += text_starts(json_get_text(receipt, "effect_id", ""), "helm.log/");
	json_push(&l->a, l->rows, json_copy(&l->a, receipt));
	return OK;
}

/* Every receipt, verified, and the log over exactly these.  What a repair has put on record as lost may be missing. */
static void look_at(struct scratch *t, struct look *l)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };
	struct trusted_key key = { .id = "" };
	struct trust trust = { .keys = &key, .key_count = 1 };
	struct log_check_options options = { .root_fd = t->fd };
	struct log_report report;
	struct hash *stored;
	uint64_t n;

	*l = (struct look){ .n = 0 };
	l->rows = json_new(&l->a, JSON_ARRAY);
	l->leaves = arena_zalloc(&l->a, 4096, sizeof(*l->leaves));
	assert_int_equal(key_load(sys_real(), t->fd, "keys", "root", &k, &e), OK);
	memcpy(key.key, key_public(k), SIGN_PUBLIC);
	assert_int_equal(receipts_each(sys_real(), t->fd, collect, l, &e), OK);
	assert_int_equal(log_check(sys_real(), &l->a, t->fd, &trust, &options, &report, &e), OK);
	if (!report.is_sound)
		fail_msg("%s", report.why);
	assert_int_equal(log_leaves(sys_real(), &l->a, t->fd, &stored, &n, &e), OK);
	assert_int_equal(n, l->n);
	for (uint64_t i = 0; i < n; i++) {
		assert_true(!l->is_there[i] || hash_eq(&stored[i], &l->leaves[i]));
		l->leaves[i] = stored[i];
	}
}

static bool has_decision(const struct look *l, const char *id)
{
	json_each (row, l->rows)
		if (text_eq(json_get_text(row, "decision_id", ""), id))
			return true;
	return false;
}

/* The next writer always can, and everything holds afterwards. */
static void check_next(struct scratch *t, uint64_t rotate_bytes, struct look *l)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };

	open_recorder(t, sys_real(), &key, &r);
	r.rotate_bytes = rotate_bytes;
	if (append_one(&r, "dec-next", &e))
		fail_msg("cannot append afterwards: %s", e.text);
	look_at(t, l);
	assert_true(has_decision(l, "dec-next"));
	struct hash root = merkle_root(l->leaves, l->n), head = merkle_head(&r.at.tree);
	assert_true(hash_eq(&root, &head));
}

/* append */

static int act_append(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	int rc = OK;

	open_recorder(&c->t, &c->f.sys, &key, &r);
	r.head_interval = 2;
	for (int i = 1; i <= 3 && rc == OK; i++) {
		char id[16];
		snprintf(id, sizeof(id), "dec-%d", i);
		rc = append_one(&r, id, e);
		if (rc == OK)
			acknowledge(c);
	}
	return rc;
}

static void check_append(struct crash *c, const struct crash_end *end)
{
	struct look l;

	check_next(&c->t, 64 << 20, &l);
	for (unsigned i = 1; i <= end->acks; i++) {
		char id[16];
		snprintf(id, sizeof(id), "dec-%u", i);
		assert_true(has_decision(&l, id));
	}
	/* Who was told that it failed finds nothing, if anything still worked. */
	if (!end->was_killed && end->fault != CRASH_FAIL_ON)
		assert_int_equal(l.n, end->acks + 1);
	arena_done(&l.a);
}

static void append(void **state)
{
	(void)state;
	const struct crash_case what = { "receipt append", setup_key, act_append, check_append };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* rows and receipts with one wait for the disk, as a guarded run has them */

static int put_note(struct recorder *r, struct arena *a, const char *file, const char *text, struct err *e)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "note", text);
	return recorder_row(r, a, file, row, NULL, e);
}

static int act_together(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };
	struct draft d = { .decision_id = "dec-1", .effect_id = "X", .status = "ALLOW", .verdict = "ALLOW" };

	open_recorder(&c->t, &c->f.sys, &key, &r);
	int rc = put_note(&r, &a, TASK_LEDGER, "queued", e);
	if (rc == OK)
		rc = recorder_begin(&r, &a, &d, 1, NULL, e);
	if (rc == OK)
		rc = put_note(&r, &a, TASK_LEDGER, "running", e);
	if (rc == OK || r.begun) {
		struct err late = { 0 };
		int late_rc = recorder_finish(&r, &a, &late);
		if (rc == OK && late_rc)
			*e = late;
		rc = rc ? rc : late_rc;
	}
	if (rc)
		return rc;
	acknowledge(c);
	rc = put_note(&r, &a, COMMAND_LOG, "ran", e);
	if (rc == OK)
		rc = put_note(&r, &a, TASK_LEDGER, "completed", e);
	if (rc == OK)
		rc = append_one(&r, "dec-2", e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static bool has_note(struct scratch *t, const char *file, const char *text)
{
	const char *all = scratch_get(t, file);

	return all && strstr(all, text);
}

static void check_together(struct crash *c, const struct crash_end *end)
{
	struct look l;

	check_next(&c->t, 64 << 20, &l);
	assert_true(end->acks < 1 || has_decision(&l, "dec-1"));
	assert_true(end->acks < 1 || has_note(&c->t, TASK_LEDGER, "running"));
	assert_true(end->acks < 2 || has_decision(&l, "dec-2"));
	/* Never a receipt without the rows it was to speak of. */
	if (has_decision(&l, "dec-2")) {
		assert_true(has_note(&c->t, TASK_LEDGER, "completed"));
		assert_true(has_note(&c->t, COMMAND_LOG, "ran"));
	}
	arena_done(&l.a);
}

static void together(void **state)
{
	(void)state;
	const struct crash_case what = { "rows with receipts", setup_key, act_together, check_together };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* While the disk works another one goes on, and builds on what is written. */
static void begun_holds_nobody_up(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };
	struct crash c = { 0 };
	struct err e = { 0 };
	struct look l;
	struct draft d = { .decision_id = "dec-1", .effect_id = "X", .status = "ALLOW", .verdict = "ALLOW" };

	scratch_open(&c.t);
	setup_key(&c);
	t = c.t;
	open_recorder(&t, sys_real(), &key, &r);
	assert_int_equal(recorder_begin(&r, &a, &d, 1, NULL, &e), OK);
	check_next(&t, 64 << 20, &l);
	assert_int_equal(l.n, 2);
	arena_done(&l.a);
	assert_int_equal(recorder_finish(&r, &a, &e), OK);
	AUTO(close_fd) int lock = openat(t.fd, "log/lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(flock(lock, LOCK_UN), 0);
	assert_int_equal(recorder_finish(&r, &a, &e), OK);
	look_at(&t, &l);
	assert_int_equal(l.n, 2);
	arena_done(&l.a);
}

/* rotate */

static void fill_chain(struct crash *c, int n, uint64_t rotate_bytes)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };

	setup_key(c);
	open_recorder(&c->t, sys_real(), &key, &r);
	r.rotate_bytes = rotate_bytes;
	for (int i = 1; i <= n; i++)
		assert_int_equal(append_one(&r, arena_printf(&a, "dec-%d", i), &e), OK);
	assert_int_equal(log_sign_head(&r, &a, NULL, &e), OK);
}

static void setup_long(struct crash *c)
{
	fill_chain(c, 5, 64 << 20);
}

static int act_rotate(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;

	open_recorder(&c->t, &c->f.sys, &key, &r);
	r.rotate_bytes = SMALL;
	int rc = append_one(&r, "dec-6", e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static void check_rotate(struct crash *c, const struct crash_end *end)
{
	struct look l;
	char id[16];

	check_next(&c->t, SMALL, &l);
	for (unsigned i = 1; i <= 5 + end->acks; i++) {
		snprintf(id, sizeof(id), "dec-%u", i);
		assert_true(has_decision(&l, id));
	}
	/* However it went, the file was put aside once, and its successor says so. */
	assert_true(scratch_has(&c->t, "receipts-000001.jsonl"));
	assert_false(scratch_has(&c->t, "receipts-000002.jsonl"));
	assert_int_equal(l.seams, 1);
	arena_done(&l.a);
}

static void rotate(void **state)
{
	(void)state;
	const struct crash_case what = { "rotate", setup_long, act_rotate, check_rotate };

	assert_true(crash_sweep(&what, NULL) >= 6);
}

/* head */

static int act_head(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };

	open_recorder(&c->t, &c->f.sys, &key, &r);
	int rc = append_one(&r, "dec-6", e);
	if (rc == OK)
		rc = log_sign_head(&r, &a, NULL, e);
	struct stat st;
	for (size_t i = 0; rc == OK && i < c->f.unsynced_count; i++)
		assert_true(fstatat(c->t.fd, "log/heads.jsonl", &st, 0) == 0 &&
			c->f.unsynced[i].ino != st.st_ino);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static void check_head(struct crash *c, const struct crash_end *end)
{
	struct look l;
	struct json *head;
	struct err e = { 0 };

	check_next(&c->t, 64 << 20, &l);
	assert_int_equal(log_last_head(sys_real(), &l.a, c->t.fd, &head, &e), OK);
	int64_t size = json_get_int(head, "tree_size", 0);
	if (end->acks)
		assert_int_equal(size, 6);
	struct hash root = merkle_root(l.leaves, (uint64_t)size);
	assert_string_equal(hash_hex(&l.a, &root), json_get_text(head, "root_hash", ""));
	arena_done(&l.a);
}

static void sign_head(void **state)
{
	(void)state;
	const struct crash_case what = { "sign head", setup_long, act_head, check_head };

	assert_true(crash_sweep(&what, NULL) >= 4);
}

/* repair */

struct wound {
	const char *file;
	int lines; /* good ones */
	uint64_t rotate_bytes;
	bool is_cut; /* else a byte is changed */
};

static off_t line_start(const char *text, int lines)
{
	const char *p = text;

	for (int i = 0; i < lines; i++)
		p = strchr(p, '\n') + 1;
	return p - text;
}

static void setup_damage(struct crash *c)
{
	const struct wound *w = c->arg;
	char text[64 << 10];

	fill_chain(c, 8, w->rotate_bytes);
	snprintf(text, sizeof(text), "%s", scratch_get(&c->t, w->file));
	off_t at = line_start(text, w->lines);
	if (w->is_cut)
		text[at] = '\0';
	else
		text[at + 20] ^= 1;
	scratch_put(&c->t, w->file, text);
}

static int repair(struct recorder *r, struct scratch *t, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct log_check_options options = { .root_fd = t->fd };
	struct log_repaired done;

	memcpy(own.key, key_public(r->key), KEY_SIZE);
	return audit_repair(r, &a, &trust, &options, true, &done, e);
}

static int act_repair(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;

	open_recorder(&c->t, &c->f.sys, &key, &r);
	int rc = repair(&r, &c->t, e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

/* Is a text that was in the chain before the repair still in some file? */
static bool is_kept(struct scratch *t, const char *needle)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	char **names;
	size_t n;

	assert_int_equal(file_list(sys_real(), &a, t->fd, ".", &names, &n, &e), OK);
	for (size_t i = 0; i < n; i++) {
		const char *text = text_starts(names[i], "receipts") ? scratch_get(t, names[i]) : NULL;
		if (text && strstr(text, needle))
			return true;
	}
	return false;
}

static void check_repair(struct crash *c, const struct crash_end *end)
{
	const struct wound *w = c->arg;
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };
	struct look l;

	open_recorder(&c->t, sys_real(), &key, &r);
	r.rotate_bytes = 64 << 20;
	/* Either the damage still stands in the way, or it is on record. */
	if (append_one(&r, "dec-after", &e)) {
		assert_string_equal(e.code, "LOG_DAMAGED");
		assert_int_equal(end->acks, 0);
		if (repair(&r, &c->t, &e))
			fail_msg("cannot repair afterwards: %s", e.text);
	}
	check_next(&c->t, 64 << 20, &l);
	unsigned repairs = 0;
	json_each (row, l.rows)
		repairs += text_eq(json_get_text(row, "effect_id", ""), "helm.log/repair");
	assert_int_equal(repairs, 1);
	if (w->lines)
		assert_true(is_kept(&c->t, "\"decision_id\":\"dec-1\""));
	if (!w->is_cut)
		assert_true(is_kept(&c->t, "\"decision_id\":\"dec-8\""));
	arena_done(&l.a);
}

static void repair_sweep(void **state)
{
	(void)state;
	struct wound changed = { "receipts.jsonl", 3, 64 << 20, false };
	struct wound cut = { "receipts.jsonl", 6, 64 << 20, true };
	struct wound first = { "receipts.jsonl", 0, 64 << 20, false };
	struct wound segment = { "receipts-000001.jsonl", 2, SMALL, false };
	const struct crash_case what = { "repair", setup_damage, act_repair, check_repair };

	assert_true(crash_sweep(&what, &changed) >= 10);
	crash_sweep(&what, &cut);
	crash_sweep(&what, &first);
	crash_sweep(&what, &segment);
}

/* What a power failure may leave of files that are not synced. */
static void derived_files_are_made_again(void **state)
{
	(void)state;
	static const char zeros[256] = { 0 };
	struct crash c = { .arg = NULL };
	struct look l;

	for (int variant = 0; variant < 6; variant++) {
		scratch_open_fast(&c.t);
		fill_chain(&c, 6, SMALL);
		int fd = openat(c.t.fd, "log/leaves", O_WRONLY);
		if (variant == 0)
			assert_int_equal(unlinkat(c.t.fd, "log/leaves", 0), 0);
		if (variant == 1)
			assert_int_equal(ftruncate(fd, 100), 0);
		if (variant == 2)
			assert_int_equal(pwrite(fd, zeros, 70, 0), 70);
		if (variant == 3)
			assert_int_equal(pwrite(fd, zeros, 70, 5 * 65 + 9), 70);
		if (variant == 4)
			assert_int_equal(pwrite(fd, zeros, 200, 7 * 65), 200);
		close(fd);
		if (variant == 5)
			scratch_put(&c.t, "log/edge", "garbage");
		else
			assert_int_equal(unlinkat(c.t.fd, "log/edge", 0), 0);
		check_next(&c.t, 64 << 20, &l);
		arena_done(&l.a);
		scratch_done(&c.t);
	}
}

/* Two hundred processes, at once, from a torn tail, across rotations: nothing is lost and no link is broken. */
enum { WRITERS = 200, EACH = 2 };

static void write_some(struct scratch *t, int who)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct key *key = NULL;
	struct recorder r;
	struct err e = { 0 };

	open_recorder(t, sys_real(), &key, &r);
	r.rotate_bytes = 100 << 10;
	for (int i = 0; i < EACH; i++)
		if (append_one(&r, arena_printf(&a, "dec-%d-%d", who, i), &e))
			_exit(1);
	_exit(0);
}

static void two_hundred_processes(void **state)
{
	(void)state;
	struct crash c = { .arg = NULL };
	struct look l;
	char id[32];
	int status;

	scratch_open_fast(&c.t);
	setup_key(&c);
	scratch_put(&c.t, "receipts.jsonl", "{\"torn\":");
	for (int who = 0; who < WRITERS; who++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			write_some(&c.t, who);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look_at(&c.t, &l);
	assert_int_equal(l.n - l.seams, WRITERS * EACH);
	assert_true(l.seams >= 2);
	for (int who = 0; who < WRITERS; who++) {
		snprintf(id, sizeof(id), "dec-%d-%d", who, EACH - 1);
		assert_true(has_decision(&l, id));
	}
	arena_done(&l.a);
	scratch_done(&c.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append),
		cmocka_unit_test(together),
		cmocka_unit_test(begun_holds_nobody_up),
		cmocka_unit_test(rotate),
		cmocka_unit_test(sign_head),
		cmocka_unit_test(repair_sweep),
		cmocka_unit_test(derived_files_are_made_again),
		cmocka_unit_test(two_hundred_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
