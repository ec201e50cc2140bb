/* bench_json.c — the parser against jansson, and canonical writing against parsing.
 *
 * The data is 50 MB of lines as a ledger has them: about 695 bytes, nested, hashes, times and paths, some text that is not
 * ASCII.  Each line is parsed on its own into an arena that is emptied after it, as a reader of the ledger does. */
#include "bench.h"

#include "base/json.h"

#include "yardstick.h"

enum { LEDGER_BYTES = 50 << 20 };

struct ledger {
	struct arena a;
	struct buf text;
	struct bytes *lines;
	size_t n;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void add_hash(struct buf *b, uint64_t *seed)
{
	buf_adds(b, "\"sha256:");
	for (int i = 0; i < 4; i++)
		buf_addf(b, "%016llx", (unsigned long long)next_random(seed));
	buf_addc(b, '"');
}

static void add_line(struct buf *b, uint64_t *seed, unsigned i)
{
	static const char *const notes[] = { "build passed after the second attempt", "정책을 확인했다",
		"naïve approach replaced: \\\"cache\\\" removed", "tests green\\n2 skipped",
		"überprüft und freigegeben" };
	static const char *const verdicts[] = { "ALLOW", "DENY", "ESCALATE" };
	uint64_t r = next_random(seed);

	buf_addf(b,
		"{\"task_id\": \"task-%08x\", \"created_at\": \"2026-04-%02uT%02u:%02u:00.%06u+00:00\", "
		"\"event\": \"command_finished\", \"profile\": \"inspect_local\", \"exit_code\": %u, "
		"\"duration_ms\": %u.%u, \"command\": [\"git\", \"-C\", \"/srv/project/src/module_%u\", "
		"\"log\", "
		"\"--oneline\", \"-n\", \"%u\"], ",
		(unsigned)r, i % 28 + 1, i % 24, i % 60, (unsigned)(r >> 40) % 1000000, i % 3,
		(unsigned)(r >> 20) % 9000, i % 10, i % 97, i % 50);
	buf_addf(b,
		"\"decision\": {\"verdict\": \"%s\", \"reason_code\": \"POLICY_MATCH\", \"rule\": "
		"\"risk.git_%u\", "
		"\"is_final\": %s, \"approval\": null, \"policy_hash\": ",
		verdicts[i % 3], i % 40, i % 2 ? "true" : "false");
	add_hash(b, seed);
	buf_addf(b, "}, \"files\": [{\"path\": \"src/base/file_%u.c\", \"bytes\": %u, \"mode\": 420}",
		i % 300, (unsigned)(r >> 30) % 100000);
	buf_addf(b, "], \"note\": \"%s\", \"lamport\": %u, \"prev_hash\": ", notes[i % 5], i);
	add_hash(b, seed);
	buf_addc(b, '}');
}

static void make_ledger(struct ledger *l)
{
	uint64_t seed = 0x9e3779b97f4a7c15u;
	size_t start = 0;

	l->a = (struct arena){ .limit_bytes = (size_t)1 << 30 };
	buf_init(&l->text, &l->a);
	buf_room(&l->text, LEDGER_BYTES + 4096);
	l->lines = arena_alloc(&l->a, (LEDGER_BYTES / 400) * sizeof(struct bytes));
	for (unsigned i = 0; l->text.n < LEDGER_BYTES; i++) {
		add_line(&l->text, &seed, i);
		l->lines[l->n++] = (struct bytes){ (const uint8_t *)l->text.p + start, l->text.n - start };
		buf_addc(&l->text, '\n');
		start = l->text.n;
	}
}

static void parse_line(struct arena *a, struct bytes line, struct json **ret)
{
	struct err e;

	if (json_parse(a, line, "ledger", NULL, ret, &e)) {
		fprintf(stderr, "helm-bench: %s\n", e.text);
		abort();
	}
}

static void parse_all(void *arg)
{
	struct ledger *l = arg;
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		struct json *v;
		parse_line(&a, l->lines[i], &v);
		bench_keep(json_get(v, "lamport"));
		arena_reset(&a);
	}
}

static void canonicalise_all(void *arg)
{
	struct ledger *l = arg;
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		struct json *v;
		struct buf b;
		parse_line(&a, l->lines[i], &v);
		buf_init(&b, &a);
		json_canonical(&b, v);
		bench_keep(b.p);
		arena_reset(&a);
	}
}

static void parse_all_jansson(void *arg)
{
	struct ledger *l = arg;

	for (size_t i = 0; i < l->n; i++)
		yardstick_jansson(l->lines[i]);
}

static double mb_per_s(const struct ledger *l, double s)
{
	return (double)l->text.n / 1e6 / s;
}

int bench_json_parse(struct bench *b)
{
	struct ledger l = { .n = 0 };
	double s, base_s;

	if (!yardstick_has_jansson()) {
		b->skipped = "built without jansson, the yardstick";
		return 0;
	}
	make_ledger(&l);
	bench_pair_cpu(b->rounds, parse_all, parse_all_jansson, &l, &s, &base_s);
	b->value = mb_per_s(&l, s);
	b->baseline = mb_per_s(&l, base_s);
	b->unit = "MB/s";
	b->ratio = base_s / s;
	arena_done(&l.a);
	return 0;
}

int bench_canonical(struct bench *b)
{
	struct ledger l = { .n = 0 };
	double s, base_s;

	make_ledger(&l);
	bench_pair_cpu(b->rounds, canonicalise_all, parse_all, &l, &s, &base_s);
	b->value = mb_per_s(&l, s);
	b->baseline = mb_per_s(&l, base_s);
	b->unit = "MB/s";
	b->ratio = s / base_s;
	arena_done(&l.a);
	return 0;
}
