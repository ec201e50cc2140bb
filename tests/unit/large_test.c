/* large_test.c — long records: what is summed up instead of read again, and packs whose receipts are lines of files.
 *
 * The files are small here and many, so that everything that happens at a million receipts happens at some hundred. */
#include "audit/audit.h"
#include "base/file.h"
#include "tools/packs.h"
#include "tools/store.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/file.h>

enum { RECEIPTS_MADE = 600, FILE_BYTES = 100000 };

struct fixture {
	struct scratch t;
	struct arena a;
	struct err e;
	struct key *key;
	struct trusted_key trusted;
	struct trust trust;
};

static void begin(struct fixture *f)
{
	const struct store_plan plan = {
		.receipts = RECEIPTS_MADE, .rows = 40, .rotate_bytes = FILE_BYTES, .session = "s"
	};

	*f = (struct fixture){ .trusted = { .id = "" } };
	scratch_open_fast(&f->t);
	f->key = packs_key(&f->t);
	memcpy(f->trusted.key, key_public(f->key), KEY_SIZE);
	f->trust = (struct trust){ .keys = &f->trusted, .key_count = 1, .threads = 2 };
	/* In batches, because a file is only closed between two. */
	for (int i = 0; i < 6; i++) {
		struct store_plan part = plan;
		part.receipts = RECEIPTS_MADE / 6;
		part.rows = i ? 0 : plan.rows;
		assert_int_equal(store_fill(sys_real(), f->t.fd, f->key, &part, &f->e), OK);
	}
	AUTO(recorder_close) struct recorder r;
	recorder_open(&r, sys_real(), f->t.fd, f->key);
	assert_int_equal(log_sign_head(&r, &f->a, NULL, &f->e), OK);
}

static void end(struct fixture *f)
{
	key_free(&f->key);
	arena_done(&f->a);
	scratch_done(&f->t);
}

static int append(struct fixture *f, struct chain_end *ret)
{
	AUTO(recorder_close) struct recorder r;
	struct draft d = {
		.decision_id = "dec-after", .effect_id = "X", .status = "ALLOW", .verdict = "ALLOW"
	};

	recorder_open(&r, sys_real(), f->t.fd, f->key);
	int rc = recorder_append(&r, &f->a, &d, 1, NULL, &f->e);
	*ret = r.at;
	return rc;
}

static void change_byte(struct fixture *f, const char *file, off_t at, char to)
{
	AUTO(close_fd) int fd = openat(f->t.fd, file, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &to, 1, at), 1);
}

static void check(struct fixture *f, bool all, struct log_report *ret)
{
	const char *file = arena_printf(&f->a, "%s/beside/verified.json", f->t.path);
	struct log_check_options options = { .root_fd = f->t.fd, .verified = file, .all = all };

	assert_int_equal(log_check(sys_real(), &f->a, f->t.fd, &f->trust, &options, ret, &f->e), OK);
}

/* ---- a lost edge ---- */

/* Reads that go through here are counted by what they read. */
struct counting_sys {
	struct sys sys;
	int state_fd;
	uint64_t bytes;
};

static ssize_t counted_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	struct counting_sys *c = (struct counting_sys *)s;
	ssize_t got = sys_real()->pread(sys_real(), fd, to, n, at);

	c->bytes += got > 0 ? (uint64_t)got : 0;
	return got;
}

static void lost_edge(void **state)
{
	(void)state;
	struct fixture f;
	struct chain_end before, after;
	struct hash *leaves;
	uint64_t n;
	char **files;
	size_t file_count;

	begin(&f);
	assert_int_equal(append(&f, &before), OK);
	assert_int_equal(receipts_files(sys_real(), &f.a, f.t.fd, &files, &file_count, &f.e), OK);
	assert_true(file_count >= 4);
	(void)unlinkat(f.t.fd, "log/edge", 0);
	assert_int_equal(append(&f, &after), OK);
	assert_int_equal(after.clock, before.clock + 1);
	assert_int_equal(log_leaves(sys_real(), &f.a, f.t.fd, &leaves, &n, &f.e), OK);
	struct hash root = merkle_root(leaves, n), head = merkle_head(&after.tree);
	assert_true(hash_eq(&root, &head));
	/* Files that nobody has touched since the edge are not even hashed: only the newest one is read. */
	struct counting_sys counting = { *sys_real(), f.t.fd, 0 };
	counting.sys.pread = counted_pread;
	AUTO(recorder_close) struct recorder r;
	AUTO(close_fd) int fd = openat(f.t.fd, RECEIPTS, O_RDWR | O_CLOEXEC);
	assert_int_equal(fchmod(fd, 0600), 0); /* another change time */
	recorder_open(&r, &counting.sys, f.t.fd, f.key);
	assert_int_equal(log_settle(&r, &f.a, &f.e), OK);
	struct stat newest;
	assert_int_equal(fstat(fd, &newest), 0);
	assert_true(counting.bytes < (uint64_t)newest.st_size + n * 65 + 16384 * file_count + 65536);
	end(&f);
}

/* What was summed up is believed only while it is there as it was. */
static void older_files_changed(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		struct fixture f;
		struct chain_end at;
		begin(&f);
		if (how == 0)
			change_byte(&f, "receipts-000001.jsonl", 50, '!');
		else if (how == 1)
			assert_int_equal(unlinkat(f.t.fd, "receipts-000002.jsonl", 0), 0);
		else if (how == 2) {
			AUTO(close_fd) int fd = openat(f.t.fd, "receipts-000001.jsonl", O_WRONLY | O_CLOEXEC);
			assert_int_equal(ftruncate(fd, 3000), 0);
		} else
			assert_int_equal(unlinkat(f.t.fd, "receipts-000001.jsonl", 0), 0);
		(void)unlinkat(f.t.fd, "log/edge", 0);
		assert_int_equal(append(&f, &at), E_CORRUPT);
		assert_string_equal(f.e.code, "LOG_DAMAGED");
		end(&f);
	}
}

/* A view looks where the next writer would look, comes to the same answer, and writes nothing. */
static void look_without_edge(void **state)
{
	(void)state;
	for (int how = -1; how < 3; how++) {
		struct fixture f;
		struct chain_end at;
		begin(&f);
		const char *keys = arena_printf(&f.a, "%s/keys", f.t.path);
		if (how == 0)
			change_byte(&f, "receipts-000001.jsonl", 50, '!');
		else if (how == 1)
			assert_int_equal(unlinkat(f.t.fd, "receipts-000002.jsonl", 0), 0);
		else if (how == 2)
			change_byte(&f, "receipts.jsonl", 50, '!');
		else
			scratch_put(&f.t, "log/leaves", ""); /* made again by the writer, no damage */
		(void)unlinkat(f.t.fd, "log/edge", 0);
		assert_int_equal(
			log_look_back(sys_real(), &f.a, f.t.fd, keys, &f.e), how < 0 ? OK : E_CORRUPT);
		assert_int_equal(faccessat(f.t.fd, "log/edge", F_OK, 0), -1);
		assert_int_equal(append(&f, &at), how < 0 ? OK : E_CORRUPT);
		end(&f);
	}
}

/* What a crash left of a last line is for the writer to set aside; a view does not call it damage. */
static void look_at_torn_end(void **state)
{
	(void)state;
	struct fixture f;

	begin(&f);
	AUTO(close_fd) int fd = openat(f.t.fd, RECEIPTS, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "{\"args", 6), 6);
	assert_int_equal(
		log_look_back(sys_real(), &f.a, f.t.fd, arena_printf(&f.a, "%s/keys", f.t.path), &f.e), OK);
	end(&f);
}

/* There are more leaves than are held in memory while they are made again. */
static void all_leaves_lost(void **state)
{
	(void)state;
	struct fixture f;
	struct chain_end at;
	struct hash *before, *after;
	uint64_t n, again;

	begin(&f);
	assert_int_equal(append(&f, &at), OK);
	assert_int_equal(log_leaves(sys_real(), &f.a, f.t.fd, &before, &n, &f.e), OK);
	assert_true(n > 600);
	for (int how = 0; how < 2; how++) {
		AUTO(recorder_close) struct recorder r;
		AUTO(arena_done) struct arena own = { .limit_bytes = 1 << 20 };
		if (how)
			change_byte(&f, "log/leaves", 10, '?');
		else
			scratch_put(&f.t, "log/leaves", "");
		recorder_open(&r, sys_real(), f.t.fd, f.key);
		assert_int_equal(log_refresh(&r, &own, &f.e), OK);
		assert_int_equal(log_leaves(sys_real(), &f.a, f.t.fd, &after, &again, &f.e), OK);
		assert_int_equal(again, n);
		assert_memory_equal(before, after, n * sizeof(*before));
	}
	end(&f);
}

/* Leaves of receipts that are not read again are made again, too. */
static void older_leaves_lost(void **state)
{
	(void)state;
	struct fixture f;
	struct chain_end at;
	struct hash *leaves;
	uint64_t n;

	begin(&f);
	change_byte(&f, "log/leaves", 10, '?');
	(void)unlinkat(f.t.fd, "log/edge", 0);
	assert_int_equal(append(&f, &at), OK);
	assert_int_equal(log_leaves(sys_real(), &f.a, f.t.fd, &leaves, &n, &f.e), OK);
	assert_int_equal(n, at.clock);
	end(&f);
}

/* ---- a repair that is planned beside writers ---- */

struct meddling_sys {
	struct sys sys;
	struct fixture *f;
	const char *file; /* is damaged when somebody takes the lock alone; NULL: nothing more happens */
	uint64_t read_before, read; /* bytes, without and with it */
	bool is_locked, holds; /* it was taken; somebody has it now */
};

static ssize_t meddled_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	struct meddling_sys *m = (struct meddling_sys *)s;
	ssize_t got = sys_real()->pread(sys_real(), fd, to, n, at);

	*(m->holds ? &m->read : &m->read_before) += got > 0 ? (uint64_t)got : 0;
	return got;
}

static int meddled_lock(struct sys *s, int fd, int op)
{
	struct meddling_sys *m = (struct meddling_sys *)s;
	int rc = sys_real()->lock(sys_real(), fd, op);

	if (rc == 0 && (op & LOCK_UN))
		m->holds = false;
	if (rc == 0 && (op & LOCK_EX)) {
		m->is_locked = m->holds = true;
		if (m->file)
			change_byte(m->f, m->file, 3000, '!');
		m->file = NULL;
	}
	return rc;
}

static uint64_t repair(struct fixture *f, const char *file, bool apply)
{
	struct meddling_sys m = { .sys = *sys_real(), .f = f, .file = file };
	struct log_check_options options = { .root_fd = f->t.fd };
	AUTO(recorder_close) struct recorder r;
	struct log_repaired done;

	m.sys.lock = meddled_lock;
	m.sys.pread = meddled_pread;
	recorder_open(&r, &m.sys, f->t.fd, f->key);
	assert_int_equal(audit_repair(&r, &f->a, &f->trust, &options, apply, &done, &f->e), OK);
	assert_true(done.report.is_damaged);
	assert_int_equal(done.seam != NULL, apply);
	assert_int_equal(m.is_locked, apply);
	return m.read;
}

static uint64_t chain_bytes(struct fixture *f)
{
	uint64_t all = 0;
	struct stat st;
	char **files;
	size_t n;

	assert_int_equal(receipts_files(sys_real(), &f->a, f->t.fd, &files, &n, &f->e), OK);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(fstatat(f->t.fd, files[i], &st, 0), 0);
		all += (uint64_t)st.st_size;
	}
	return all;
}

/* What happens between the plan and the lock is part of the repair; what does not is not looked at again; and a plan that is only shown
 * locks nothing. */
static void repair_is_planned_beside_writers(void **state)
{
	(void)state;
	static const char *const files[] = { NULL, "receipts-000001.jsonl", "receipts-000004.jsonl",
		"receipts.jsonl" };
	uint64_t read[ARRAY_SIZE(files)];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct fixture f;
		struct log_report report;
		struct chain_end at;
		begin(&f);
		change_byte(&f, "receipts-000003.jsonl", 9000, '!');
		(void)repair(&f, files[i], false);
		uint64_t all = chain_bytes(&f);
		read[i] = repair(&f, files[i], true);
		/* The two files that change are hashed and copied; the others are not even read. */
		if (!files[i])
			assert_true(read[i] < all);
		check(&f, true, &report);
		assert_false(report.is_damaged);
		assert_true(report.is_sound);
		assert_int_equal(append(&f, &at), OK);
		end(&f);
	}
	assert_true(read[0] < read[3]);
	assert_true(read[3] < read[2] && read[2] < read[1]);
}

/* ---- proofs without a list ---- */

static void ranges(void **state)
{
	(void)state;
	struct fixture f;
	struct hash *leaves, path[MERKLE_MAX_PATH], roots[MERKLE_MAX_PATH];
	struct merkle_range parts[MERKLE_MAX_PATH];
	uint64_t n;

	begin(&f);
	assert_int_equal(log_leaves(sys_real(), &f.a, f.t.fd, &leaves, &n, &f.e), OK);
	for (uint64_t size = 1; size <= 70; size++)
		for (uint64_t i = 0; i < size; i++) {
			size_t steps = merkle_prove_inclusion(leaves, size, i, path);
			assert_int_equal(merkle_inclusion_ranges(size, i, parts), steps);
			assert_int_equal(log_roots(sys_real(), f.t.fd, parts, steps, roots, &f.e), OK);
			assert_memory_equal(roots, path, steps * sizeof(*path));
			steps = merkle_prove_consistency(leaves, size, i + 1, path);
			assert_int_equal(merkle_consistency_ranges(size, i + 1, parts), steps);
			assert_int_equal(log_roots(sys_real(), f.t.fd, parts, steps, roots, &f.e), OK);
			assert_memory_equal(roots, path, steps * sizeof(*path));
		}
	assert_int_equal(
		log_roots(sys_real(), f.t.fd, &(struct merkle_range){ n, 1 }, 1, roots, &f.e), E_CORRUPT);
	end(&f);
}

/* ---- a chain in one file, piece by piece ---- */

static int put_line(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	(void)file;
	(void)line;
	(void)receipt;
	(void)e;
	buf_add(arg, text.p, text.n);
	buf_addc(arg, '\n');
	return 0;
}

static const char *report(struct fixture *f, struct verification *v)
{
	struct buf b;

	buf_init(&b, &f->a);
	json_write(&b, verification_json(&f->a, v), 0);
	buf_addc(&b, 0);
	return b.p;
}

/* Whatever was done to the file: the same answer, to the letter, as when it is read as a whole. */
static void pieces_change_nothing(void **state)
{
	(void)state;
	static const char *const edits[][2] = { { NULL, NULL },
		{ "\"verdict\":\"ALLOW\"", "\"verdict\":\"DENYX\"" },
		{ "\"prev_hash\":\"", "\"prev_hash\":\"0" }, { "{\"args", "[\"args" }, { "\n", " " } };
	static const size_t sizes[] = { 2000, 5000, 40000, 10 << 20 };
	struct fixture f;
	struct buf text;

	begin(&f);
	buf_init(&text, &f.a);
	assert_int_equal(receipts_each(sys_real(), f.t.fd, put_line, &text, &f.e), OK);
	struct chain_end at;
	assert_int_equal(append(&f, &at), OK); /* the root of a log that has one more */
	struct hash other = merkle_head(&at.tree);
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++)
		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
			char *copy = arena_strndup(&f.a, text.p, text.n);
			if (edits[i][0])
				memcpy(strstr(copy + text.n / 2, edits[i][0]), edits[i][1],
					strlen(edits[i][1]));
			struct trust trust = f.trust;
			trust.root = k % 2 ? hash_hex(&f.a, &other) : NULL;
			struct verification whole, pieces;
			verification_begin(&whole, &f.a, &trust, "receipt chain");
			verify_receipt_lines(&whole, (struct bytes){ (uint8_t *)copy, text.n }, "chain");
			AUTO(close_fd)
			int fd = openat(f.t.fd, "chain", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			assert_int_equal(write(fd, copy, text.n), (ssize_t)text.n);
			int rc;
			verification_begin(&pieces, &f.a, &trust, "receipt chain");
			bool is_one =
				verify_receipt_file(&pieces, sys_real(), fd, "chain", sizes[k], &rc, &f.e);
			assert_int_equal(rc, OK);
			if (!is_one) { /* a line that is no receipt is of no session: read as a whole */
				assert_true(i >= 3);
				continue;
			}
			assert_string_equal(report(&f, &pieces), report(&f, &whole));
		}
	end(&f);
}

/* ---- packs with lines ---- */

static void export(struct fixture *f, const struct evidence_choice *choice, struct evidence *x)
{
	struct pack_written w;

	assert_int_equal(evidence_collect(sys_real(), &f->a, f->t.fd, choice, x, &f->e), OK);
	if (pack_write(sys_real(), &f->a, f->t.fd, "p.tar", &x->about, x->items, x->n, f->key, &w, &f->e))
		fail_msg("%s", f->e.text);
	evidence_close(x);
}

static const struct check *find_check(const struct verification *v, const char *name)
{
	for (size_t i = 0; i < v->check_count; i++)
		if (text_eq(v->checks[i].name, name))
			return &v->checks[i];
	fail_msg("no check named %s", name);
	return NULL;
}

/* With `how`: as a stream; without: from what was kept. */
static void judge(struct fixture *f, bool is_stream, struct verification *v, struct pack *p)
{
	struct pack_reading how = { .trust = &f->trust };

	verification_begin(v, &f->a, &f->trust, "evidence pack");
	assert_int_equal(
		verify_pack_open(sys_real(), &f->a, f->t.fd, "p.tar", is_stream ? &how : NULL, p, &f->e), OK);
	verify_pack(v, p);
}

static void lines_verify(void **state)
{
	(void)state;
	struct evidence_choice choices[] = { { .singles = 50 }, { .singles = 50, .session = "s" },
		{ .singles = 5, .task = "task-3" } };

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		for (int is_stream = 0; is_stream < 2; is_stream++) {
			struct fixture f;
			struct evidence x;
			struct verification v;
			struct pack p;
			begin(&f);
			export(&f, &choices[i], &x);
			assert_true(x.n < 8);
			assert_true(x.receipts > (i == 2 ? 5 : 50));
			judge(&f, is_stream, &v, &p);
			if (v.error)
				fail_msg("%s: %s", v.error, v.text);
			assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
			const char *count =
				arena_printf(&f.a, "%llu, each signed", (unsigned long long)x.receipts);
			assert_true(text_starts(find_check(&v, "receipts")->detail, count));
			const char *placed = arena_printf(
				&f.a, "%llu receipts stand in the log", (unsigned long long)x.receipts);
			assert_true(text_starts(find_check(&v, "transparency")->detail, placed));
			struct json *report;
			struct replay_lines *l = replay_begin(&f.a);
			assert_int_equal(replay_pack(&f.a, &p, &f.trust, l, &report, &f.e), OK);
			replay_done(l);
			assert_string_equal(json_get_text(report, "status", ""), "COMPLETE");
			assert_int_equal(
				json_get_int(json_get(report, "receipts"), "total_receipts", 0), x.receipts);
			end(&f);
		}
}

/* What is remembered of each receipt that is chosen is one bit. */
static void lines_are_not_held(void **state)
{
	(void)state;
	const struct store_plan more = { .receipts = 6000, .start_us = 1767225600000000, .step_us = 1000000 };
	struct fixture f;
	struct evidence x;

	begin(&f);
	assert_int_equal(store_fill(sys_real(), f.t.fd, f.key, &more, &f.e), OK);
	AUTO(arena_done) struct arena own = { .limit_bytes = 150000 };
	const struct evidence_choice all = { .singles = 5 };
	assert_int_equal(evidence_collect(sys_real(), &own, f.t.fd, &all, &x, &f.e), OK);
	assert_true(x.receipts > 6600);
	evidence_close(&x);
	end(&f);
}

/* An item with its content in memory, so that it can be changed. */
static struct pack_item *take(struct fixture *f, struct evidence *x, const char *start)
{
	for (size_t i = 0; i < x->n; i++) {
		struct pack_item *item = &x->items[i];
		struct sink_buf sink;
		struct buf text;
		if (!text_starts(item->path, start))
			continue;
		buf_init(&text, &f->a);
		assert_int_equal(item->give(item, sink_to_buf(&sink, &text), &f->e), OK);
		item->give = NULL;
		item->content = buf_bytes(&text);
		return item;
	}
	fail_msg("no item %s", start);
	return NULL;
}

/* The exporter signs the pack; that does not let him change a receipt, its place, or the log. */
static void lines_dishonest(void **state)
{
	(void)state;
	static const struct {
		const char *item, *error;
		const char *find, *put; /* NULL: the first line goes to the end */
	} cases[] = {
		{ "receipts/", "receipts", "\"verdict\":\"ALLOW\"", "\"verdict\":\"DENYX\"" },
		{ "receipts/", "transparency", NULL, NULL },
		{ "transparency/leaves.txt", "transparency", "", "" },
		{ "receipts/", "receipts", "{\"", "[\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int is_stream = 0; is_stream < 2; is_stream++) {
			struct fixture f;
			struct evidence x;
			struct pack_written w;
			struct verification v;
			struct pack p;
			begin(&f);
			const struct evidence_choice all = { .singles = 50 };
			assert_int_equal(evidence_collect(sys_real(), &f.a, f.t.fd, &all, &x, &f.e), OK);
			struct pack_item *item = take(&f, &x, cases[i].item);
			char *text = arena_strndup(&f.a, (const char *)item->content.p, item->content.n);
			if (!cases[i].find) {
				size_t first = strcspn(text, "\n") + 1;
				char *line = arena_strndup(&f.a, text, first);
				memmove(text, text + first, item->content.n - first);
				memcpy(text + item->content.n - first, line, first);
			} else if (!*cases[i].find) {
				text[3] = text[3] == '0' ? '1' : '0';
			} else {
				memcpy(strstr(text, cases[i].find), cases[i].put, strlen(cases[i].put));
			}
			item->content.p = (const uint8_t *)text;
			assert_int_equal(pack_write(sys_real(), &f.a, f.t.fd, "p.tar", &x.about, x.items, x.n,
						 f.key, &w, &f.e),
				OK);
			evidence_close(&x);
			judge(&f, is_stream, &v, &p);
			assert_non_null(v.error);
			assert_string_equal(v.error, cases[i].error);
			assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
			end(&f);
		}
}

/* What an item said before it is written is signed: other bytes end the export, and the old file stays. */
static void changed_meanwhile(void **state)
{
	(void)state;
	struct fixture f;
	struct evidence x;
	struct pack_written w;

	begin(&f);
	scratch_put(&f.t, "p.tar", "old");
	assert_int_equal(evidence_collect(sys_real(), &f.a, f.t.fd,
				 &(struct evidence_choice){ .singles = 50 }, &x, &f.e),
		OK);
	change_byte(&f, "receipts-000001.jsonl", 50, '!');
	assert_int_equal(
		pack_write(sys_real(), &f.a, f.t.fd, "p.tar", &x.about, x.items, x.n, f.key, &w, &f.e), E_IO);
	assert_string_equal(f.e.code, "PACK_CHANGED");
	assert_string_equal(scratch_get(&f.t, "p.tar"), "old");
	evidence_close(&x);
	end(&f);
}

/* ---- verified before ---- */

static void verified_before(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report all, rest;
	struct chain_end at;

	begin(&f);
	check(&f, false, &all);
	assert_true(all.is_sound && !all.before);
	assert_int_equal(append(&f, &at), OK);
	check(&f, false, &rest);
	assert_true(rest.is_sound && rest.before);
	assert_int_equal(rest.receipts_before, all.receipts);
	assert_int_equal(rest.receipts, all.receipts + 1);
	assert_int_equal(json_get(rest.doc, "files")->n, json_get(all.doc, "files")->n);
	check(&f, true, &all);
	assert_string_equal(
		json_get_text(rest.doc, "root_hash", ""), json_get_text(all.doc, "root_hash", "?"));
	assert_int_equal(json_get_int(rest.doc, "heads", 0), json_get_int(all.doc, "heads", -1));
	/* A change of an older file is found, though its length is the same. */
	change_byte(&f, "receipts-000002.jsonl", 70, '!');
	check(&f, false, &rest);
	assert_true(!rest.is_sound && !rest.before);
	end(&f);
}

/* The file that was the newest then may have been closed since. */
static void verified_then_rotated(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	const struct store_plan more = { .receipts = 200, .rotate_bytes = FILE_BYTES };

	begin(&f);
	check(&f, false, &report);
	for (int i = 0; i < 3; i++)
		assert_int_equal(store_fill(sys_real(), f.t.fd, f.key, &more, &f.e), OK);
	uint64_t had = report.receipts;
	check(&f, false, &report);
	assert_true(report.is_sound && report.before);
	assert_int_equal(report.receipts_before, had);
	/* Another trust, and nothing of it counts. */
	struct trusted_key other = f.trusted;
	other.key[0] ^= 1;
	f.trust.keys = &other;
	check(&f, false, &report);
	assert_true(!report.is_sound && !report.before);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_edge),
		cmocka_unit_test(older_files_changed),
		cmocka_unit_test(older_leaves_lost),
		cmocka_unit_test(look_without_edge),
		cmocka_unit_test(look_at_torn_end),
		cmocka_unit_test(all_leaves_lost),
		cmocka_unit_test(repair_is_planned_beside_writers),
		cmocka_unit_test(ranges),
		cmocka_unit_test(pieces_change_nothing),
		cmocka_unit_test(lines_verify),
		cmocka_unit_test(lines_are_not_held),
		cmocka_unit_test(lines_dishonest),
		cmocka_unit_test(changed_meanwhile),
		cmocka_unit_test(verified_before),
		cmocka_unit_test(verified_then_rotated),
	};

	return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
