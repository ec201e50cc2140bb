/* group_test.c — many writers in one process: one group is signed while the one before it waits for the disk, and a sync
 * that fails takes back exactly what was not acknowledged. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/scratch.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

enum { WRITERS = 16, EACH = 20, FAILING = 5, PATIENCE_S = 30 };

/* A system whose syncs can be held up and can fail. */
struct slow_sys {
	struct sys s;
	atomic_int syncs; /* begun so far */
	int held; /* the number of the one that waits until the next one begins; 0: none */
	bool held_fails;
	int failing; /* every so many fail; 0: none */
	const struct recorder *r; /* the second writer's sync fails, and so does its edge; NULL: no */
	int state_fd;
	bool was_cut, was_cut_unlocked;
	sem_t is_held, next_began;
	bool has_overlapped;
};

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
	struct slow_sys sys;
	struct recorder_group *g;
};

static bool wait_for(sem_t *sem)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	while (sem_timedwait(sem, &until))
		if (errno != EINTR)
			return false;
	return true;
}

static int slow_sync(struct sys *s, int fd)
{
	struct slow_sys *x = (struct slow_sys *)s;
	int number = ++x->syncs;

	if (x->held && number == x->held) {
		sem_post(&x->is_held);
		x->has_overlapped = wait_for(&x->next_began);
		if (x->held_fails) {
			errno = EIO;
			return -1;
		}
	} else if (x->held && number == x->held + 1) {
		sem_post(&x->next_began);
		if (x->r) {
			errno = EIO;
			return -1;
		}
	}
	if (x->failing && number % x->failing == 0) {
		errno = EIO;
		return -1;
	}
	return sys_real()->sync(sys_real(), fd);
}

static ssize_t slow_write(struct sys *s, int fd, const void *from, size_t n)
{
	const struct slow_sys *x = (const struct slow_sys *)s;

	if (x->r && fd == x->r->edge_fd && x->held && x->syncs >= x->held) {
		errno = ENOSPC;
		return -1;
	}
	return sys_real()->write(sys_real(), fd, from, n);
}

/* What another process would find at this moment: is the log locked? */
static int slow_truncate(struct sys *s, int fd, off_t size)
{
	struct slow_sys *x = (struct slow_sys *)s;
	AUTO(close_fd) int lock = openat(x->state_fd, "log/lock", O_RDWR | O_CLOEXEC);

	x->was_cut = true;
	x->was_cut_unlocked |= flock(lock, LOCK_EX | LOCK_NB) == 0;
	return sys_real()->truncate(sys_real(), fd, size);
}

static void begin(struct fixture *f)
{
	struct err e = { 0 };

	*f = (struct fixture){ .sys = { .s = *sys_real() } };
	f->sys.s.sync = slow_sync;
	f->sys.s.write = slow_write;
	f->sys.s.truncate = slow_truncate;
	sem_init(&f->sys.is_held, 0, 0);
	sem_init(&f->sys.next_began, 0, 0);
	scratch_open(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, &f->sys.s, f->dir.fd, f->key);
	f->sys.state_fd = f->dir.fd;
	f->g = recorder_group_new(&f->r);
}

static void end(struct fixture *f)
{
	recorder_group_free(f->g);
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static int append(struct fixture *f, const char *id, struct err *e)
{
	struct draft d = { .decision_id = id, .effect_id = "X", .status = "ALLOW" };

	return recorder_group_append(f->g, NULL, &d, 1, NULL, e);
}

/* The receipts as they are on disk; they form a chain. */
static struct json *read_chain(struct fixture *f)
{
	struct bytes text;
	struct err e = { 0 };
	struct trusted_key key = { .id = "" };
	struct trust trust = { .keys = &key, .key_count = 1 };
	struct verification v;
	struct json *rows = json_new(&f->a, JSON_ARRAY);

	memcpy(key.key, key_public(f->key), SIGN_PUBLIC);
	assert_int_equal(file_read(sys_real(), &f->a, f->dir.fd, RECEIPTS, 1 << 30, 0, &text, &e), 0);
	for (struct bytes rest = text; rest.p && rest.n;) {
		struct json *row;
		assert_int_equal(json_parse(&f->a, text_cut(&rest, '\n'), "row", NULL, &row, &e), 0);
		json_push(&f->a, rows, row);
	}
	verification_begin(&v, &f->a, &trust, "chain");
	verify_receipts(&v, rows, NULL);
	assert_int_equal(v.integrity, ANSWER_YES);
	return rows;
}

static int times_in(const struct json *rows, const char *id)
{
	int n = 0;

	json_each (row, rows)
		n += text_eq(json_get_text(row, "decision_id", ""), id);
	return n;
}

static uint64_t leaf_count(struct fixture *f)
{
	uint64_t n = 0;
	struct err e = { 0 };

	assert_int_equal(log_leaf_count(sys_real(), f->dir.fd, &n, &e), 0);
	return n;
}

struct writer {
	struct fixture *f;
	int number;
	bool told_ok[EACH];
	char code[64];
};

static void *write_one(void *arg)
{
	struct writer *w = arg;
	struct err e = { 0 };

	w->told_ok[0] = append(w->f, w->number ? "second" : "first", &e) == OK;
	snprintf(w->code, sizeof(w->code), "%s", e.code);
	return NULL;
}

/* The first one's sync is held until the second one's has begun. */
static void write_two(struct fixture *f, struct writer w[2])
{
	pthread_t threads[2];
	struct err e = { 0 };

	assert_int_equal(append(f, "before", &e), 0);
	f->sys.held = f->sys.syncs + 1;
	for (int i = 0; i < 2; i++) {
		w[i] = (struct writer){ .f = f, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, write_one, &w[i]), 0);
		if (i == 0)
			assert_true(wait_for(&f->sys.is_held));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_true(f->sys.has_overlapped);
	f->sys.held = 0;
}

static void signed_meanwhile(void **state)
{
	struct fixture f;
	struct writer w[2];

	(void)state;
	begin(&f);
	write_two(&f, w);
	assert_true(w[0].told_ok[0] && w[1].told_ok[0]);
	struct json *rows = read_chain(&f);
	assert_int_equal(rows->n, 3);
	assert_int_equal(leaf_count(&f), 3);
	end(&f);
}

/* The second one's own sync succeeds, but it stands on one that was lost. */
static void fails_with_the_one_before(void **state)
{
	struct fixture f;
	struct writer w[2];
	struct err e = { 0 };

	(void)state;
	begin(&f);
	f.sys.held_fails = true;
	write_two(&f, w);
	assert_false(w[0].told_ok[0] || w[1].told_ok[0]);
	assert_string_equal(w[1].code, "LOG_APPEND");
	struct json *rows = read_chain(&f);
	assert_int_equal(rows->n, 1);
	assert_int_equal(times_in(rows, "before"), 1);
	assert_int_equal(leaf_count(&f), 1);
	assert_int_equal(append(&f, "after", &e), 0);
	assert_int_equal(read_chain(&f)->n, 2);
	assert_int_equal(f.r.at.clock, 2);
	end(&f);
}

/* The second one keeps the lock, because its edge could not be written, and waits for the first one.  When that one ends, it has had
 * the lock, too, and must not have given back the second one's: what the second one cuts off, it cuts off locked. */
static void each_has_the_lock_for_itself(void **state)
{
	struct fixture f;
	struct writer w[2];

	(void)state;
	begin(&f);
	f.sys.r = &f.r;
	write_two(&f, w);
	assert_true(w[0].told_ok[0] && !w[1].told_ok[0]);
	assert_true(f.sys.was_cut);
	assert_false(f.sys.was_cut_unlocked);
	f.sys.r = NULL;
	AUTO(close_fd) int lock = openat(f.dir.fd, "log/lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(flock(lock, LOCK_UN), 0);
	assert_int_equal(read_chain(&f)->n, 2);
	assert_int_equal(append(&f, "after", &(struct err){ 0 }), 0);
	assert_int_equal(read_chain(&f)->n, 3);
	end(&f);
}

static const char *id_of(struct arena *a, const struct writer *w, int i)
{
	return arena_printf(a, "dec-%d-%d", w->number, i);
}

static void *write_some(void *arg)
{
	struct writer *w = arg;
	AUTO(arena_done) struct arena a = { 0 };

	for (int i = 0; i < EACH; i++) {
		struct err e = { 0 };
		w->told_ok[i] = append(w->f, id_of(&a, w, i), &e) == OK;
	}
	return NULL;
}

/* Who is told OK is there once, who is told an error is not, and a failure ends. */
static void failures_among_many(void **state)
{
	struct fixture f;
	pthread_t threads[WRITERS];
	struct writer w[WRITERS];
	int failed = 0, done = 0;

	(void)state;
	begin(&f);
	f.r.head_interval = 50; /* heads between them, too */
	f.sys.failing = FAILING;
	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .f = &f, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, write_some, &w[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	struct json *rows = read_chain(&f);
	for (int i = 0; i < WRITERS; i++)
		for (int k = 0; k < EACH; k++) {
			assert_int_equal(times_in(rows, id_of(&f.a, &w[i], k)), w[i].told_ok[k]);
			failed += !w[i].told_ok[k];
			done += w[i].told_ok[k];
		}
	assert_true(failed > 0 && done > 0);
	assert_int_equal(rows->n, done);
	assert_true(leaf_count(&f) <= (uint64_t)done);
	end(&f);
}

/* What a writer is given is its own receipt, as it is in the file, whoever wrote it for them. */
struct given {
	struct fixture *f;
	const char *id;
	struct arena a;
	struct json *receipt;
	int rc;
};

static void *append_and_keep(void *arg)
{
	struct given *g = arg;
	struct draft d = { .decision_id = g->id, .effect_id = "X", .status = "ALLOW" };
	struct err e = { 0 };

	g->rc = recorder_group_append(g->f->g, &g->a, &d, 1, &g->receipt, &e);
	return NULL;
}

static void each_is_given_its_own_receipt(void **state)
{
	static const char *const ids[] = { "one", "two", "three", "four", "five", "six" };
	struct given given[ARRAY_SIZE(ids)] = { 0 };
	pthread_t threads[ARRAY_SIZE(ids)];
	struct fixture f;

	(void)state;
	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		given[i] = (struct given){ .f = &f, .id = ids[i] };
		assert_int_equal(pthread_create(&threads[i], NULL, append_and_keep, &given[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		pthread_join(threads[i], NULL);
	struct json *rows = read_chain(&f);
	assert_int_equal(rows->n, ARRAY_SIZE(ids));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(given[i].rc, 0);
		assert_string_equal(json_get_text(given[i].receipt, "decision_id", ""), ids[i]);
		int64_t clock = json_get_int(given[i].receipt, "lamport_clock", 0);
		assert_true(json_eq(json_at(rows, (size_t)clock - 1), given[i].receipt));
		arena_done(&given[i].a);
	}
	end(&f);
}

/* Several by one thread: one sync for all, each in its turn; one that cannot be signed fails alone. */
static void several_by_one_thread(void **state)
{
	enum { PARTS = 12, FAULTY = 5 };
	struct group_part parts[PARTS] = { 0 };
	struct arena each[PARTS] = { 0 };
	struct draft drafts[PARTS];
	struct json *receipts[PARTS] = { 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	struct json *bad = json_new(&f.a, JSON_OBJECT);
	json_set(&f.a, bad, "x", json_double(&f.a, 1.5)); /* which no receipt may hold */
	for (int faulty = 0; faulty < 2; faulty++) {
		int syncs = f.sys.syncs;
		for (size_t i = 0; i < PARTS; i++) {
			drafts[i] = (struct draft){ .decision_id = arena_printf(&f.a, "%d-%zu", faulty, i),
				.effect_id = "X",
				.status = "ALLOW",
				.metadata = faulty && i == FAULTY ? bad : NULL };
			parts[i] = (struct group_part){
				.a = &each[i], .drafts = &drafts[i], .n = 1, .receipts = &receipts[i]
			};
		}
		recorder_group_append_all(f.g, parts, PARTS);
		for (size_t i = 0; i < PARTS; i++) {
			assert_int_equal(parts[i].rc != OK, faulty && i == FAULTY);
			if (parts[i].rc == OK)
				assert_string_equal(
					json_get_text(receipts[i], "decision_id", ""), drafts[i].decision_id);
		}
		if (!faulty)
			assert_int_equal(f.sys.syncs, syncs + 1);
	}
	struct json *rows = read_chain(&f);
	for (size_t i = 0; i < PARTS; i++) {
		assert_string_equal(
			json_get_text(json_at(rows, i), "decision_id", ""), arena_printf(&f.a, "0-%zu", i));
		assert_int_equal(parts[i].rc == OK, times_in(rows, drafts[i].decision_id));
		arena_done(&each[i]);
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signed_meanwhile),
		cmocka_unit_test(fails_with_the_one_before),
		cmocka_unit_test(each_has_the_lock_for_itself),
		cmocka_unit_test(failures_among_many),
		cmocka_unit_test(each_is_given_its_own_receipt),
		cmocka_unit_test(several_by_one_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
