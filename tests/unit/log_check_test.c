/* log_check_test.c — the full check of a chain and its log: whatever is changed, cut or exchanged is found and named. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
	struct trusted_key trusted;
	struct trust trust;
};

static void append(struct fixture *f, const char *id)
{
	struct json *record;
	char *hash;
	struct err e = { 0 };
	struct decision_draft d = { .id = id,
		.verdict = "ALLOW",
		.subject_id = "agent:test",
		.action = "EXECUTE_COMMAND",
		.resource = "ls",
		.reason = "",
		.reason_code = "" };

	assert_int_equal(record_decision(&f->a, sys_real(), f->key, &d, &record, &hash, &e), OK);
	struct json *about = json_new(&f->a, JSON_OBJECT);
	json_sets(&f->a, about, "door", "test");
	struct draft draft = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.output_hash = hash,
		.subject = record,
		.metadata = about };
	assert_int_equal(recorder_append(&f->r, &f->a, &draft, 1, NULL, &e), OK);
}

static void begin(struct fixture *f, int receipts, uint64_t rotate_bytes)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open_fast(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
	f->r.rotate_bytes = rotate_bytes;
	f->trusted.id = "";
	memcpy(f->trusted.key, key_public(f->key), KEY_SIZE);
	f->trust = (struct trust){ .keys = &f->trusted, .key_count = 1, .threads = 1 };
	for (int i = 1; i <= receipts; i++)
		append(f, arena_printf(&f->a, "dec-%d", i));
	assert_int_equal(log_sign_head(&f->r, &f->a, NULL, &e), 0);
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void check(struct fixture *f, struct arena *a, struct log_report *report)
{
	struct log_check_options options = { .root_fd = f->dir.fd };
	struct err e = { 0 };

	if (log_check(sys_real(), a, f->dir.fd, &f->trust, &options, report, &e))
		fail_msg("%s", e.text);
}

static void repair(struct fixture *f)
{
	struct log_check_options options = { .root_fd = f->dir.fd };
	struct log_repaired done;
	struct err e = { 0 };

	if (audit_repair(&f->r, &f->a, &f->trust, &options, true, &done, &e))
		fail_msg("%s", e.text);
}

static char *content(struct fixture *f, const char *file)
{
	struct bytes text;
	struct err e = { 0 };

	assert_int_equal(file_read(sys_real(), &f->a, f->dir.fd, file, 1 << 26, 0, &text, &e), OK);
	return (char *)(uintptr_t)text.p;
}

static bool has_finding(const struct log_report *report, const char *what)
{
	json_each (f, json_get(report->doc, "findings"))
		if (text_eq(json_get_text(f, "what", ""), what))
			return true;
	return false;
}

static void sound(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 12, 6000);
	check(&f, &f.a, &report);
	assert_true(report.is_sound && !report.is_damaged);
	assert_true(json_get(report.doc, "files")->n > 1);
	assert_int_equal(json_get(report.doc, "findings")->n, 0);
	assert_int_equal(json_get_int(report.doc, "tree_size", 0), report.receipts);
	end(&f);
}

static unsigned exclusive_locks;

static int counting_lock(struct sys *s, int fd, int op)
{
	(void)s;
	exclusive_locks += (op & LOCK_EX) != 0;
	return sys_real()->lock(sys_real(), fd, op);
}

/* A repair that has nothing to do keeps nobody from writing while it reads. */
static void a_sound_log_is_not_locked(void **state)
{
	(void)state;
	struct fixture f;
	struct sys s = *sys_real();

	begin(&f, 3, 1 << 20);
	recorder_close(&f.r);
	s.lock = counting_lock;
	recorder_open(&f.r, &s, f.dir.fd, f.key);
	repair(&f);
	assert_int_equal(exclusive_locks, 0);
	end(&f);
}

/* One bit of every byte of the chain: the damage is found. */
static void every_byte_of_the_chain(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 2, 1 << 20);
	char *text = content(&f, "receipts.jsonl");
	size_t n = strlen(text);
	int fd = openat(f.dir.fd, "receipts.jsonl", O_WRONLY);
	assert_true(fd >= 0);
	for (size_t i = 0; i < n; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		char changed = (char)(text[i] ^ (1 << (i % 7)));
		assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
		check(&f, &a, &report);
		if (report.is_sound || !report.is_damaged)
			fail_msg("a changed byte at %zu goes unnoticed", i);
		assert_int_equal(pwrite(fd, &text[i], 1, (off_t)i), 1);
	}
	close(fd);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	end(&f);
}

static void every_byte_of_the_heads(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 2, 1 << 20);
	char *text = content(&f, "log/heads.jsonl");
	int fd = openat(f.dir.fd, "log/heads.jsonl", O_WRONLY);
	for (size_t i = 0; i + 1 < strlen(text); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		char changed = (char)(text[i] ^ (1 << (i % 7)));
		assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
		check(&f, &a, &report);
		if (report.is_sound)
			fail_msg("a changed byte at %zu goes unnoticed", i);
		assert_int_equal(pwrite(fd, &text[i], 1, (off_t)i), 1);
	}
	close(fd);
	end(&f);
}

/* The tail and everything that knows of it in the workspace are cut; only the head kept elsewhere tells. */
static void anchor_finds_a_clean_cut(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct json *head;
	struct err e = { 0 };

	begin(&f, 4, 1 << 20);
	char *four = content(&f, "receipts.jsonl"), *heads = content(&f, "log/heads.jsonl");
	append(&f, "dec-5");
	char *to = arena_printf(&f.a, "%s/outside.json", f.dir.path);
	assert_int_equal(log_anchor(&f.r, &f.a, f.dir.fd, to, &head, &e), OK);
	scratch_put(&f.dir, "receipts.jsonl", four);
	scratch_put(&f.dir, "log/heads.jsonl", heads);
	assert_int_equal(unlinkat(f.dir.fd, "log/leaves", 0), 0);
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	assert_true(has_finding(&report, "receipts_lost"));
	/* It is put on record, and the old anchor is explained by that. */
	repair(&f);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	assert_true(has_finding(&report, "anchor_before_repair"));
	end(&f);
}

/* Everything is rewritten with the true key: same length, other content. */
static void anchor_finds_a_rewrite(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct json *head;
	struct err e = { 0 };

	begin(&f, 3, 1 << 20);
	char *to = arena_printf(&f.a, "%s/outside.json", f.dir.path);
	assert_int_equal(log_anchor(&f.r, &f.a, f.dir.fd, to, &head, &e), OK);
	recorder_close(&f.r);
	assert_int_equal(unlinkat(f.dir.fd, "receipts.jsonl", 0), 0);
	assert_int_equal(unlinkat(f.dir.fd, "log/leaves", 0), 0);
	assert_int_equal(unlinkat(f.dir.fd, "log/heads.jsonl", 0), 0);
	recorder_open(&f.r, sys_real(), f.dir.fd, f.key);
	for (int i = 0; i < 4; i++)
		append(&f, arena_printf(&f.a, "other-%d", i));
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	assert_true(has_finding(&report, "rewritten"));
	/* And the anchor is not exchanged for one of the new log. */
	assert_true(log_anchor(&f.r, &f.a, f.dir.fd, to, &head, &e) < 0);
	assert_string_equal(e.code, "ANCHOR_CONFLICT");
	end(&f);
}

static void missing_files(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 12, 6000);
	assert_int_equal(unlinkat(f.dir.fd, "receipts-000001.jsonl", 0), 0);
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	repair(&f);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	append(&f, "dec-after");
	end(&f);
}

/* Unchanged, but by somebody else's key. */
static void foreign_key(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 3, 1 << 20);
	AUTO(key_free) struct key *other = NULL;
	struct err e = { 0 };
	assert_int_equal(key_create(sys_real(), f.dir.fd, "others", "root", &other, &e), OK);
	memcpy(f.trusted.key, key_public(other), KEY_SIZE);
	check(&f, &f.a, &report);
	assert_false(report.is_sound);
	assert_false(report.is_damaged);
	end(&f);
}

/* By somebody else's key from the first receipt on, and damaged in the last: the damage is named where it is, not where trust ends. */
static void foreign_key_and_damage(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 3, 1 << 20);
	AUTO(key_free) struct key *other = NULL;
	struct err e = { 0 };
	assert_int_equal(key_create(sys_real(), f.dir.fd, "others", "root", &other, &e), OK);
	memcpy(f.trusted.key, key_public(other), KEY_SIZE);
	char *text = content(&f, "receipts.jsonl");
	char *third = strchr(strchr(text, '\n') + 1, '\n') + 1, *at = strstr(third, "\"signature\":\"");
	assert_non_null(at);
	at += strlen("\"signature\":\"");
	*at = *at == '0' ? '1' : '0';
	scratch_put(&f.dir, "receipts.jsonl", text);
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	const struct json *found = json_at(json_get(report.doc, "findings"), 0);
	assert_string_equal(json_get_text(found, "severity", ""), "damage");
	assert_int_equal(json_get_int(found, "line", 0), 3);
	end(&f);
}

static void torn_end_is_no_damage(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 3, 1 << 20);
	scratch_put(
		&f.dir, "receipts.jsonl", arena_printf(&f.a, "%s{\"half\":", content(&f, "receipts.jsonl")));
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	assert_true(has_finding(&report, "torn"));
	end(&f);
}

/* What no signature covers of the newest receipt is known only to its leaf: that is believed, and nobody writes behind it. */
static void the_newest_receipt_is_held_by_its_leaf(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 4, 1 << 20);
	append(&f, "dec-last"); /* no head covers it */
	char *text = content(&f, "receipts.jsonl"), *last = text, *at;
	while ((at = strstr(last + 1, "\"door\":\"test\"")))
		last = at;
	memcpy(last, "\"door\":\"tesT\"", strlen("\"door\":\"tesT\""));
	scratch_put(&f.dir, "receipts.jsonl", text);
	check(&f, &f.a, &report);
	assert_true(report.is_damaged && !report.is_sound);
	struct err e = { 0 };
	struct draft d = {
		.decision_id = "dec-x", .effect_id = "EXECUTE_COMMAND", .status = "ALLOW", .verdict = "ALLOW"
	};
	assert_true(recorder_append(&f.r, &f.a, &d, 1, NULL, &e) < 0);
	assert_string_equal(e.code, "LOG_DAMAGED");
	repair(&f);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	assert_int_equal(json_get(report.doc, "repairs")->n, 1); /* and it says so for ever */
	end(&f);
}

/* Two damages, one after the other, and a head kept elsewhere: each repair ends it. */
static void repairs_converge_with_an_anchor(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct json *head;
	struct err e = { 0 };

	begin(&f, 8, 1 << 20);
	assert_int_equal(log_anchor(&f.r, &f.a, f.dir.fd, arena_printf(&f.a, "%s/outside.json", f.dir.path),
				 &head, &e),
		OK);
	char *text = content(&f, "receipts.jsonl");
	scratch_put(&f.dir, "receipts.jsonl", strchr(text, '\n') + 1);
	repair(&f);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	text = content(&f, "receipts.jsonl");
	memcpy(strstr(text, "\"door\":\"test\""), "\"door\":\"tesT\"", strlen("\"door\":\"tesT\""));
	scratch_put(&f.dir, "receipts.jsonl", text);
	repair(&f);
	check(&f, &f.a, &report);
	if (!report.is_sound)
		fail_msg("%s", report.why);
	end(&f);
}

/* ---- beside a writer ---- */

static void write_until_killed(struct fixture *f)
{
	AUTO(key_free) struct key *key = NULL;
	struct err e = { 0 };

	if (key_load(sys_real(), f->dir.fd, "keys", "root", &key, &e))
		_exit(1);
	AUTO(recorder_close) struct recorder r;
	recorder_open(&r, sys_real(), f->dir.fd, key);
	r.rotate_bytes = 20000;
	r.head_interval = 7;
	for (unsigned i = 0;; i++) {
		struct timespec pause = { 0, 1000000 };
		nanosleep(&pause, NULL); /* so that the chain stays short enough to be checked often */
		AUTO(arena_done) struct arena a = { 0 };
		struct draft d = { .decision_id = arena_printf(&a, "w-%d-%u", (int)getpid(), i),
			.effect_id = "EXECUTE_COMMAND",
			.status = "ALLOW",
			.verdict = "ALLOW" };
		if (recorder_append(&r, &a, &d, 1, NULL, &e))
			_exit(1);
	}
}

/* Writers that rotate and sign heads all the time: a check never takes them for damage. */
static void beside_a_writer(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	pid_t writers[2];

	begin(&f, 5, 1 << 20);
	for (int i = 0; i < 2; i++) {
		writers[i] = fork();
		if (!writers[i])
			write_until_killed(&f);
	}
	uint64_t last = 0;
	for (int i = 0; i < 15; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		check(&f, &a, &report);
		if (!report.is_sound) {
			struct buf b;
			buf_init(&b, &a);
			json_write(&b, json_get(report.doc, "findings"), 0);
			fail_msg("round %d: %s", i, b.p);
		}
		assert_true(report.receipts >= last);
		last = report.receipts;
	}
	for (int i = 0; i < 2; i++) {
		int status;
		kill(writers[i], SIGKILL);
		assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
		assert_true(WIFSIGNALED(status)); /* it was still at work */
	}
	assert_true(last > 5);
	end(&f);
}

/* ---- repairs ---- */

static uint64_t dice_state = 88172645463325252u;
static unsigned dice(unsigned n)
{
	dice_state ^= dice_state << 13;
	dice_state ^= dice_state >> 7;
	dice_state ^= dice_state << 17;
	return (unsigned)(dice_state % n);
}

/* Some damage to one file of the chain. */
static void wound(struct fixture *f, const char *file)
{
	char *text = content(f, file), *lines[64], *out = arena_text(&f->a, 2 * strlen(text) + 4096);
	int n = 0;

	for (char *p = text; *p && n < 64; n++) {
		char *end = strchr(p, '\n') + 1;
		lines[n] = arena_strndup(&f->a, p, (size_t)(end - p));
		p = end;
	}
	int at = (int)dice((unsigned)n), other = (int)dice((unsigned)n), kind = (int)dice(7);
	char *tmp = lines[at];
	if (kind == 0)
		tmp[dice((unsigned)strlen(tmp) - 1)] ^= (char)(1 << dice(7));
	if (kind == 1)
		lines[at] = arena_strdup(&f->a, "");
	if (kind == 2)
		lines[at] = arena_printf(&f->a, "%s%s", tmp, tmp);
	if (kind == 3) {
		lines[at] = lines[other];
		lines[other] = tmp;
	}
	if (kind == 4)
		lines[at] = arena_printf(&f->a, "garbage %u\n%s", dice(1000), tmp);
	if (kind == 5)
		lines[at] = arena_strndup(&f->a, tmp, strlen(tmp) / 2);
	if (kind == 6)
		lines[at] = arena_strdup(&f->a, "{}\n[]\n\n");
	out[0] = '\0';
	size_t used = 0;
	for (int i = 0; i < n; i++)
		used += (size_t)snprintf(out + used, strlen(lines[i]) + 1, "%s", lines[i]);
	scratch_put(&f->dir, file, out);
}

struct survivors {
	struct fixture *f;
	struct json *ids; /* of receipts that verify, by clock, and their chain hashes */
	struct json *named; /* chain hashes that a receipt says it continues, by the clock before its own */
};

static int note_survivor(
	void *arg, off_t offset, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct survivors *s = arg;
	struct verification v;
	struct json *receipt;
	struct hash chain;
	struct buf spelling;

	(void)offset;
	(void)number;
	(void)e;
	verification_begin(&v, &a, &s->f->trust, "receipt");
	if (!is_whole || !verify_receipt_line(&v, text, "line", &receipt, &chain))
		return OK;
	buf_init(&spelling, &a);
	json_canonical(&spelling, receipt);
	if (!bytes_eq(buf_bytes(&spelling), text))
		return OK;
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	json_sets(&s->f->a, s->ids, arena_printf(&a, "%lld", (long long)clock), hash_hex(&a, &chain));
	json_sets(&s->f->a, s->named, arena_printf(&a, "%lld", (long long)clock - 1),
		json_get_text(receipt, "prev_hash", ""));
	return OK;
}

static struct json *survivors(struct fixture *f)
{
	struct survivors s = { f, json_new(&f->a, JSON_OBJECT), json_new(&f->a, JSON_OBJECT) };
	struct err e = { 0 };
	char **files;
	size_t n;

	assert_int_equal(receipts_files(sys_real(), &f->a, f->dir.fd, &files, &n, &e), OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(lines_each(sys_real(), f->dir.fd, files[i], note_survivor, &s, &e), OK);
	/* One that was changed where only the chain hash sees it is none of them. */
	for (uint32_t i = s.ids->n; i-- > 0;) {
		const struct json_member *m = &s.ids->members[i];
		const char *named = json_get_text(s.named, m->name, NULL);
		if (named && !text_eq(named, json_text(m->value)))
			(void)json_remove(s.ids, m->name);
	}
	return s.ids;
}

/* Whatever happened to the files: every receipt that verified before the repair is in the chain behind it, the log is sound,
 * and work goes on. */
static void no_repair_removes_a_receipt(void **state)
{
	(void)state;
	for (int round = 0; round < 60; round++) {
		struct fixture f;
		struct log_report report;
		char **files;
		size_t n;
		struct err e = { 0 };
		begin(&f, 14, 6000);
		assert_int_equal(receipts_files(sys_real(), &f.a, f.dir.fd, &files, &n, &e), OK);
		assert_true(n > 1);
		for (unsigned k = 0; k <= dice(3); k++)
			wound(&f, files[dice((unsigned)n)]);
		if (dice(3) == 0)
			(void)unlinkat(f.dir.fd, "log/leaves", 0);
		struct json *before = survivors(&f);
		check(&f, &f.a, &report);
		bool was_damaged = report.is_damaged;
		repair(&f);
		struct json *after = survivors(&f);
		json_each_member (m, before)
			if (!json_get(after, m->name))
				fail_msg("round %d: the repair removed %s", round, m->name);
		/* And the seam; and receipts that stood behind half a line come back. */
		assert_true(after->n >= before->n + was_damaged);
		check(&f, &f.a, &report);
		if (!report.is_sound) {
			struct buf b;
			buf_init(&b, &f.a);
			json_write(&b, json_get(report.doc, "findings"), 0);
			fail_msg("round %d: %s", round, b.p);
		}
		append(&f, "dec-after");
		recorder_close(&f.r);
		(void)unlinkat(f.dir.fd, "log/edge", 0);
		recorder_open(&f.r, sys_real(), f.dir.fd, f.key);
		append(&f, "dec-later");
		check(&f, &f.a, &report);
		assert_true(report.is_sound);
		end(&f);
	}
}

/* One wrong digit in what is made from the receipts: it is made again, and nothing is lost. */
static void wrong_leaves_are_made_again(void **state)
{
	(void)state;
	for (int older = 0; older < 2; older++) {
		struct fixture f;
		struct log_report report;
		begin(&f, 14, 6000);
		char *leaves = content(&f, "log/leaves");
		size_t at = older ? 70 : strlen(leaves) - 5;
		leaves[at] = leaves[at] == 'a' ? 'b' : 'a';
		scratch_put(&f.dir, "log/leaves", leaves);
		check(&f, &f.a, &report);
		assert_true(report.is_sound && report.has_wrong_leaves);
		struct json *before = survivors(&f);
		if (older) {
			recorder_close(&f.r);
			(void)unlinkat(f.dir.fd, "log/edge", 0);
			recorder_open(&f.r, sys_real(), f.dir.fd, f.key);
			append(&f, "dec-after"); /* a writer that looks is not stopped by it */
		} else {
			repair(&f);
			assert_int_equal(survivors(&f)->n, before->n);
		}
		check(&f, &f.a, &report);
		assert_true(report.is_sound && !report.has_wrong_leaves);
		end(&f);
	}
}

/* Processor time of a check, the shortest of three. */
static clock_t check_takes(struct fixture *f)
{
	clock_t shortest = 0;

	for (int i = 0; i < 3; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct log_report report;
		clock_t from = clock();
		check(f, &a, &report);
		clock_t took = clock() - from;
		assert_true(report.is_sound);
		shortest = i && shortest < took ? shortest : took;
	}
	return shortest;
}

/* Receipts and the decisions they carry name their key: whoever has rotated often does not pay for it with each receipt. */
static void many_keys_cost_nothing(void **state)
{
	(void)state;
	enum { OTHERS = 60 };
	struct fixture f;
	struct trusted_key keys[OTHERS + 1] = { 0 };
	struct err e = { 0 };

	begin(&f, 40, 1 << 20);
	clock_t one = check_takes(&f);
	for (int i = 0; i < OTHERS; i++) {
		AUTO(key_free) struct key *k = NULL;
		const char *name = arena_printf(&f.a, "k%d", i);
		assert_int_equal(key_create(sys_real(), f.dir.fd, "others", name, &k, &e), 0);
		keys[i].id = name;
		memcpy(keys[i].key, key_public(k), KEY_SIZE);
	}
	keys[OTHERS] = f.trusted;
	f.trust = (struct trust){ .keys = keys, .key_count = OTHERS + 1, .threads = 1 };
	assert_true(check_takes(&f) < 5 * one);
	end(&f);
}

static bool is_locked;
static uint64_t read_bytes; /* while it was */

static int noting_lock(struct sys *s, int fd, int op)
{
	(void)s;
	is_locked = (op & LOCK_EX) != 0;
	return sys_real()->lock(sys_real(), fd, op);
}

static ssize_t noting_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	ssize_t got = sys_real()->pread(sys_real(), fd, to, n, at);

	(void)s;
	read_bytes += is_locked && got > 0 ? (uint64_t)got : 0;
	return got;
}

/* How often the chain is read while everybody waits, when a byte of this file was changed. */
static unsigned walks_under_lock(const char *file, size_t at)
{
	struct fixture f;
	struct log_report report;
	struct stat st;

	begin(&f, 60, 1 << 20);
	char *text = content(&f, file);
	text[at] = text[at] == '0' ? '1' : '0';
	scratch_put(&f.dir, file, text);
	struct sys s = *sys_real();
	s.lock = noting_lock;
	s.pread = noting_pread;
	recorder_close(&f.r);
	recorder_open(&f.r, &s, f.dir.fd, f.key);
	read_bytes = 0;
	repair(&f);
	assert_int_equal(fstatat(f.dir.fd, "receipts.jsonl", &st, 0), 0);
	check(&f, &f.a, &report);
	assert_true(!report.is_damaged && !report.has_wrong_leaves);
	end(&f);
	return (unsigned)((read_bytes + (uint64_t)st.st_size / 2) / (uint64_t)st.st_size);
}

/* Leaves are made again in one walk along the chain.  Damage takes more: every line is judged, and files are made anew; but the check, which
 * comes before, is not made again. */
static void writers_wait_for_few_walks(void **state)
{
	(void)state;
	assert_int_equal(walks_under_lock("log/leaves", 700), 1);
	assert_true(walks_under_lock("receipts.jsonl", 20000) <= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound),
		cmocka_unit_test(a_sound_log_is_not_locked),
		cmocka_unit_test(every_byte_of_the_chain),
		cmocka_unit_test(every_byte_of_the_heads),
		cmocka_unit_test(anchor_finds_a_clean_cut),
		cmocka_unit_test(anchor_finds_a_rewrite),
		cmocka_unit_test(missing_files),
		cmocka_unit_test(foreign_key),
		cmocka_unit_test(foreign_key_and_damage),
		cmocka_unit_test(torn_end_is_no_damage),
		cmocka_unit_test(the_newest_receipt_is_held_by_its_leaf),
		cmocka_unit_test(repairs_converge_with_an_anchor),
		cmocka_unit_test(beside_a_writer),
		cmocka_unit_test(no_repair_removes_a_receipt),
		cmocka_unit_test(wrong_leaves_are_made_again),
		cmocka_unit_test(writers_wait_for_few_walks),
		cmocka_unit_test(many_keys_cost_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
