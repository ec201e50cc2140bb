/* bench.c — runs the benchmarks named on the command line, or all, and prints one JSON object per line.
 *
 *     helm-bench [--rounds N] [--list] [NAME...]
 *
 * On a terminal a line for a person follows each object on standard error.  Exit 1 when a promise is not kept, so that a
 * script can ask; tests do not, because a busy machine is not a bug. */
#include "bench.h"
#ifdef HAVE_MICROHTTPD
#include "fleet_node.h"
#endif
#include "place.h"

#include "base/json.h"

static const struct bench_row rows[] = {
	{ "startup", bench_startup, 1.6, false, "start `helm version`, against starting /bin/true" },
	{ "sha256", bench_sha256, 0.9, true, "SHA-256 of 16 KiB blocks, against `openssl speed`" },
	{ "guard_check", bench_guard_check, 0.5, false,
		"understand and judge a command, median, against one Ed25519 signature" },
	{ "policy_expression", bench_policy_expression, 0.02, false,
		"evaluate a compiled condition of five terms, against one Ed25519 signature" },
	{ "context_query", bench_context_query, 0.05, false,
		"helm context over 100,000 notes and 100,000 rows, warm, against grep -r over the same files" },
	{ "context_catchup", bench_context_catchup, 2, false,
		"what 1,000 new rows add to a search, against reading these rows" },
	{ "skill_route", bench_skill_route, 2, false,
		"which of 1,000 skills is meant, against reading their headers" },
	{ "skill_run", bench_skill_run, 1.1, false,
		"a run with a skill and its contract, against the same run without" },
	{ "capture_plan", bench_capture_plan, 0.05, false,
		"what of a run is worth remembering, with 100,000 rows before it, against the whole run" },
	{ "trace_export", bench_trace_export, 0.5, true,
		"100,000 rows of the ledger as spans, against reading these rows" },
	{ "privacy_scan", bench_privacy_scan, 0.3, true,
		"look for everything private in 32 MiB of text, against `grep -E` with one pattern for the same kinds" },
	{ "policy_decide", bench_policy_decide, 0.05, false,
		"decide by a policy of 10,000 rules, against one Ed25519 signature" },
	{ "policy_size", bench_policy_size, 1.5, false,
		"decide by a policy of 10,000 rules, against a policy of 10" },
	{ "policy_load", bench_policy_load, 3, false,
		"read and compile a policy of 10,000 rules, against parsing the same file" },
	{ "guard_worst", bench_guard_worst, 10, false, "1 MiB of hostile text, against 128 KiB of the same" },
	{ "guard_exec", bench_guard_exec, 1.7, false,
		"`helm guard check -- git status`, against starting /bin/true" },
	{ "json_parse", bench_json_parse, 5.0, true,
		"parse ledger lines, against jansson with duplicate rejection" },
	{ "canonical", bench_canonical, 2.5, false, "parse and write canonically, against parsing alone" },
	{ "pack_export", bench_pack_export, 3.0, false,
		"write a signed pack of 10 000 files, against sha256sum over them" },
	{ "pack_verify", bench_pack_verify, 3.0, false,
		"verify a pack of 10 000 files, against sha256sum over them" },
	{ "checkpoint_first", bench_checkpoint_first, 0.7, false,
		"save 6,500 files for the first time, against `git add -A` into an empty repository" },
	{ "checkpoint_again", bench_checkpoint_again, 2.0, false,
		"save them again, unchanged, against listing and stat of every file" },
	{ "checkpoint_restore", bench_checkpoint_restore, 1.5, false,
		"restore them all, synced, against `cp -a`, not synced" },
	{ "receipt_append", bench_receipt_append, 0.6, true,
		"sign, chain and sync a decision and its receipt, against appending and syncing the same "
		"bytes" },
	{ "receipt_group", bench_receipt_group, 20, true,
		"the same from 64 writers at once, against one by one; bounded by signing, which is serial" },
	{ "budget_draw", bench_budget_draw, 0.5, true,
		"64 writers on one budget, against the same that draw nothing" },
	{ "verify_log", bench_verify_log, 0.5, true,
		"check a log of a million leaves against its head, against hashing as many nodes" },
	{ "verify_chain", bench_verify_chain, 0.85, true,
		"verify a chain of receipts on all cores, against libsodium verifying their signatures "
		"alone" },
	{ "log_check_warm", bench_log_check_warm, 3, false,
		"check a log of which all but 4,000 receipts were verified before, against verifying those alone" },
	{ "log_edge_lost", bench_log_edge_lost, 6, false,
		"a run on 100,000 receipts without log/edge, against one on 20,000: the newest file is read, older ones are hashed" },
	{ "export_million", bench_export_million, 0.3, true,
		"`helm evidence export --all` of a million receipts, against `tar` of the same files" },
	{ "run_overhead", bench_run_overhead, 4, false,
		"`helm profile run inspect_local -- /bin/true`, with rows and receipts on disk, against "
		"/bin/true" },
	{ "run_scale", bench_run_scale, 1.2, false,
		"the same with a million rows in the ledger, against an empty one" },
	{ "status_large", bench_status_large, 2, false,
		"`helm status --brief` on 100,000 receipts and a million rows, against an empty workspace" },
	{ "report_cold", bench_report_cold, 3, false,
		"the first `helm report` of 100,000 receipts, against libsodium verifying their signatures on all cores" },
	{ "actions_catchup", bench_actions_catchup, 3, true,
		"`helm db rebuild` of 100,000 receipts, against jansson parsing the same lines" },
	{ "report_large", bench_report_large, 3, false,
		"helm report on a million rows against one on a thousand" },
	{ "task_list_large", bench_task_list_large, 3, false,
		"helm task list on a million rows against one on a thousand" },
	{ "memory_rebuild", bench_memory_rebuild, 1, false,
		"memory of helm db rebuild on a million rows, of the 64 MiB allowed" },
	{ "memory_report", bench_memory_report, 1, false,
		"memory of helm report on a million rows, of the 64 MiB allowed" },
	{ "memory_doctor", bench_memory_doctor, 1, false,
		"memory of helm doctor on a million rows, of the 64 MiB allowed" },
	{ "memory_records", bench_memory_records, 1, false,
		"the most memory of any command that reads the chain, on 250,000 receipts, of the 64 MiB allowed" },
	{ "hook_pass", bench_hook_pass, 2, false, "a hook on a call that only reads, against /bin/true" },
	{ "hook_after", bench_hook_after, 2, false,
		"the hook after a call that only read, against /bin/true" },
	{ "hook_decide", bench_hook_decide, 3.5, false,
		"a hook on a call that is decided and signed, against /bin/true" },
	{ "contained_call", bench_contained_call, 6, false,
		"`helm contained ID -- sh true` in a session that runs, redeemed and noted, against /bin/true" },
	{ "contained_build", bench_contained_build, 1.1, false,
		"compiling and testing a small C project inside the walls of develop, against without" },
	{ "contained_npm", bench_contained_npm, 1.1, false,
		"npm ci of forty packages inside the walls of develop, against without" },
	{ "serve_evaluate", bench_serve_evaluate, 0.3, true,
		"durable decisions over 64 connections, against a bare HTTP server that answers as many bytes" },
	{ "serve_group", bench_serve_group, 0.8, true, "the same, against 64 writers of the library" },
	{ "serve_latency", bench_serve_latency, 2, false,
		"median of one client, against the bare server's plus one sync" },
	{ "serve_tail", bench_serve_tail, 10, false,
		"99th of a hundred at full load, against the median there" },
	{ "proxy_first_byte", bench_proxy_first_byte, 1.3, false,
		"the first word of a model that thinks for 20 ms, through the proxy, against a bare forwarder of the same libraries" },
	{ "proxy_stream", bench_proxy_stream, 0.8, true,
		"bytes of a long stream of words, against the bare forwarder" },
	{ "proxy_tool_call", bench_proxy_tool_call, 2, false,
		"how long a call is held after its last byte, against one sync and one signature" },
	{ "mcp_call", bench_mcp_call, 2, false,
		"what the gateway adds to a call of a tool, against one sync and one signature" },
	{ "mcp_list", bench_mcp_list, 1.5, false,
		"a thousand tools of twenty servers that do not run yet, against one of these alone" },
	{ "hook_storm", bench_hook_storm, 10, false,
		"the slowest of 32 such hooks at once on one workspace, none of them lost, against one "
		"alone" },
	{ "egress_rate", bench_egress_rate, 0.5, true,
		"bytes through the door to named hosts, against the same through one loopback connection" },
	{ "session_decide", bench_session_decide, 2, false,
		"a hook inside a supervised session on a call that is decided and signed, against /bin/true" },
	{ "session_storm", bench_session_storm, 6, false,
		"the slowest of 32 such hooks at once in one session, none of them lost, against one alone" },
	{ "fleet_append", bench_fleet_append, 0.5, true,
		"eight machines with one receipt at a time into the ledger, against raw inserts of the same on eight connections" },
	{ "fleet_group", bench_fleet_group, 4, true,
		"256 machines with one receipt each at once, against the same raw inserts" },
	{ "fleet_batch", bench_fleet_batch, 1.2, true,
		"batches of 256 into the ledger, against one raw COPY without an index" },
	{ "fleet_sequence", bench_fleet_sequence, 1, true,
		"leaves folded into the tree, against receipts appended in batches" },
	{ "fleet_ingest", bench_fleet_ingest, 0.7, true,
		"verify and store on all cores, against libsodium verifying as many signatures on all cores" },
	{ "fleet_replay", bench_fleet_replay, 3, true,
		"batches that are stored already, against new ones, over HTTP" },
	{ "fleet_size", bench_fleet_size, 0.35, false, "bytes in the database, against those of the lines" },
	{ "fleet_stopped", bench_fleet_stopped, 15, false,
		"the last 100 that were stopped among a million, against SELECT 1" },
	{ "fleet_lag", bench_fleet_lag, 1, false,
		"from a receipt on disk to its row in the ledger, the slowest of 20, of the 1.5 s allowed" },
	{ "fleet_backlog", bench_fleet_backlog, 1, false,
		"the most memory of helm fleet sync with 100,000 receipts that were never sent, of the 64 MiB allowed" },
};

static double read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_now_s(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void bench_keep(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static double time_once(clockid_t clock, void (*fn)(void *), void *arg)
{
	double start = read_clock(clock);

	fn(arg);
	return read_clock(clock) - start;
}

double bench_best(int rounds, void (*fn)(void *), void *arg)
{
	double best = 1e9;

	for (int i = 0; i < rounds; i++) {
		double s = time_once(CLOCK_MONOTONIC, fn, arg);
		best = s < best ? s : best;
	}
	return best;
}

static void pair(clockid_t clock, int rounds, void (*fn)(void *), void (*baseline)(void *), void *arg,
	double *ret_s, double *ret_baseline_s)
{
	*ret_s = *ret_baseline_s = 1e9;
	for (int i = 0; i < rounds; i++) {
		double s = time_once(clock, fn, arg), base_s = time_once(clock, baseline, arg);
		*ret_s = s < *ret_s ? s : *ret_s;
		*ret_baseline_s = base_s < *ret_baseline_s ? base_s : *ret_baseline_s;
	}
}

void bench_pair(int rounds, void (*fn)(void *), void (*baseline)(void *), void *arg, double *ret_s,
	double *ret_baseline_s)
{
	pair(CLOCK_MONOTONIC, rounds, fn, baseline, arg, ret_s, ret_baseline_s);
}

void bench_pair_cpu(int rounds, void (*fn)(void *), void (*baseline)(void *), void *arg, double *ret_s,
	double *ret_baseline_s)
{
	pair(CLOCK_THREAD_CPUTIME_ID, rounds, fn, baseline, arg, ret_s, ret_baseline_s);
}

/* Where the promise is beyond what is possible here, the bound takes its place. */
static bool is_kept(const struct bench_row *row, const struct bench *b)
{
	double limit = row->promise;

	if (limit <= 0)
		return true;
	if (b->bound > 0 && (row->is_least ? b->bound < limit : b->bound > limit))
		limit = b->bound;
	return row->is_least ? b->ratio >= limit : b->ratio <= limit;
}

static double rounded(double x)
{
	char text[40];

	snprintf(text, sizeof(text), "%.4g", x);
	return strtod(text, NULL);
}

static void print_json(const struct bench_row *row, const struct bench *b)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *line = json_new(&a, JSON_OBJECT);
	struct buf out;

	json_sets(&a, line, "name", b->name);
	if (b->skipped) {
		json_sets(&a, line, "skipped", b->skipped);
	} else {
		json_set(&a, line, "value", json_double(&a, rounded(b->value)));
		json_sets(&a, line, "unit", b->unit);
		json_set(&a, line, "baseline", json_double(&a, rounded(b->baseline)));
		json_set(&a, line, "ratio", json_double(&a, rounded(b->ratio)));
		if (row->promise > 0) {
			json_sets(&a, line, "promised",
				arena_printf(&a, "at %s %g", row->is_least ? "least" : "most", row->promise));
			json_setb(&a, line, "kept", is_kept(row, b));
		}
		if (b->bound > 0) {
			json_set(&a, line, "bound", json_double(&a, rounded(b->bound)));
			json_sets(&a, line, "bound_by", b->bound_by);
		}
	}
	buf_init(&out, &a);
	json_write(&out, line, 0);
	puts(out.p);
	fflush(stdout);
}

static void print_text(const struct bench_row *row, const struct bench *b)
{
	if (b->skipped) {
		fprintf(stderr, "  %-16s skipped: %s\n", row->name, b->skipped);
		return;
	}
	fprintf(stderr, "  %-16s %.4g %s against %.4g: %.3g", row->name, b->value, b->unit, b->baseline,
		b->ratio);
	if (row->promise > 0)
		fprintf(stderr, " (promised: at %s %g, %s)", row->is_least ? "least" : "most", row->promise,
			is_kept(row, b) ? "kept" : "NOT KEPT");
	fprintf(stderr, "\n  %-16s %s\n", "", row->what);
}

static int run(const struct bench_row *row, const char *program, int rounds)
{
	struct bench b = { .name = row->name, .program = program, .rounds = rounds, .unit = "" };

	if (row->fn(&b)) {
		fprintf(stderr, "helm-bench: %s: could not run\n", row->name);
		return 1;
	}
	print_json(row, &b);
	if (isatty(STDERR_FILENO))
		print_text(row, &b);
	return !b.skipped && !is_kept(row, &b);
}

static const struct bench_row *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (text_eq(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		printf("%-16s %s\n", rows[i].name, rows[i].what);
	return 0;
}

int main(int argc, char **argv)
{
	int64_t rounds = 5;
	int result = 0, named = 0;

	if (argc == 5 && text_eq(argv[1], "--inside") && text_int(argv[4], &rounds))
		return bench_inside(argv[2], argv[3], (int)rounds);
	if (argc > 3 && text_eq(argv[1], "--peak"))
		return place_peak(argv[2], argv + 3);
	int64_t tools, list_ms;
	if (argc == 4 && text_eq(argv[1], "--mcp") && text_int(argv[2], &tools) &&
		text_int(argv[3], &list_ms))
		return bench_mcp_server((int)tools, (int)list_ms);
#ifdef HAVE_MICROHTTPD
	if (argc > 1 && text_eq(argv[1], "--machines"))
		return fleet_machines(argc, argv);
#endif
	for (int i = 1; i < argc; i++) {
		if (text_eq(argv[i], "--list"))
			return list();
		if (text_eq(argv[i], "--rounds")) {
			if (++i == argc || !text_int(argv[i], &rounds) || rounds < 1 || rounds > 1000) {
				fprintf(stderr, "helm-bench: --rounds takes a number from 1 to 1000\n");
				return 2;
			}
			continue;
		}
		const struct bench_row *row = find(argv[i]);
		if (!row) {
			fprintf(stderr, "helm-bench: no benchmark '%s'; --list shows them\n", argv[i]);
			return 2;
		}
		result |= run(row, argv[0], (int)rounds);
		named++;
	}
	for (size_t i = 0; !named && i < ARRAY_SIZE(rows); i++)
		result |= run(&rows[i], argv[0], (int)rounds);
	return result;
}
