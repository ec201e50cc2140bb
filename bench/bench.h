/* bench.h — what a benchmark is.
 *
 * A benchmark measures one promise as a ratio: our way against a yardstick that runs in the same process, on the same
 * data, in the same minute.  Absolute numbers change with the machine; ratios mostly do not.
 *
 * To add one: write `int bench_x(struct bench *b)` in bench_<area>.c and put its row into the table in bench.c. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct bench {
	const char *name;
	const char *program; /* argv[0]: other programs of this build are beside it */
	int rounds; /* best of so many */
	/* Filled by the benchmark. */
	double value, baseline; /* in `unit` */
	const char *unit;
	double ratio; /* as the promise is worded: value/baseline or the other way round */
	double bound; /* the most this ratio can be here, and `bound_by` says why; 0 = unknown */
	const char *bound_by;
	const char *skipped; /* why there is no figure; then the rest is not read */
};

/* Returns 0, or 1 when it could not run although it should have. */
typedef int bench_fn(struct bench *b);

struct bench_row {
	const char *name;
	bench_fn *fn;
	double promise; /* bound on the ratio; 0 = none */
	bool is_least; /* the ratio must be at least the promise (else at most) */
	const char *what; /* one line for a person */
};

/* Seconds of the fastest of `rounds` runs of fn(arg). */
double bench_best(int rounds, void (*fn)(void *), void *arg);
/* The same for two that are compared: their rounds alternate, so that a busy moment meets both. */
void bench_pair(int rounds, void (*fn)(void *), void (*baseline)(void *), void *arg, double *ret_s,
	double *ret_baseline_s);
/* For work that only computes: processor time of this thread, so that neighbours take less of it. */
void bench_pair_cpu(int rounds, void (*fn)(void *), void (*baseline)(void *), void *arg, double *ret_s,
	double *ret_baseline_s);
double bench_now_s(void);

/* Stops the compiler from dropping a computation. */
void bench_keep(const void *p);

bench_fn bench_json_parse, bench_canonical;
bench_fn bench_guard_check, bench_guard_worst, bench_guard_exec;
bench_fn bench_policy_expression;
bench_fn bench_privacy_scan;
bench_fn bench_context_query, bench_context_catchup;
bench_fn bench_skill_route, bench_skill_run, bench_trace_export, bench_capture_plan;
bench_fn bench_policy_decide, bench_policy_size, bench_policy_load;
bench_fn bench_startup, bench_sha256;
bench_fn bench_pack_export, bench_pack_verify;
bench_fn bench_checkpoint_first, bench_checkpoint_again, bench_checkpoint_restore;
bench_fn bench_verify_chain;
bench_fn bench_receipt_append, bench_receipt_group, bench_budget_draw, bench_verify_log;

bench_fn bench_run_overhead, bench_run_scale, bench_status_large, bench_hook_pass, bench_hook_decide;
bench_fn bench_hook_after, bench_hook_storm, bench_egress_rate, bench_contained_call;
bench_fn bench_contained_build, bench_contained_npm;
bench_fn bench_log_check_warm, bench_log_edge_lost, bench_export_million, bench_memory_records;
bench_fn bench_report_cold, bench_actions_catchup;
bench_fn bench_report_large, bench_task_list_large, bench_memory_rebuild, bench_memory_report,
	bench_memory_doctor;
bench_fn bench_session_decide, bench_session_storm;
bench_fn bench_serve_evaluate, bench_serve_group, bench_serve_latency, bench_serve_tail;
bench_fn bench_proxy_first_byte, bench_proxy_stream, bench_proxy_tool_call;
bench_fn bench_mcp_call, bench_mcp_list;
bench_fn bench_fleet_append, bench_fleet_group, bench_fleet_batch, bench_fleet_sequence, bench_fleet_ingest,
	bench_fleet_replay, bench_fleet_size, bench_fleet_stopped, bench_fleet_lag, bench_fleet_backlog;
/* What helm-bench is for them: a server of so many tools, which takes so long to list them. */
int bench_mcp_server(int tools, int list_ms);
/* What helm-bench does inside a session, for the two above. */
int bench_inside(const char *helm, const char *input, int rounds);

#endif
