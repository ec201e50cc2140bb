/* commands_loops.h — rows of commands.c about loops, failures, traces, gates that watch, and models. */
#ifndef CLI_COMMANDS_LOOPS_H
#define CLI_COMMANDS_LOOPS_H

static const struct cmd row_failures_list = { KNOWN(failures_list), "", 0, 0,
	"list failures, the same ones together, with what helped afterwards",
	"Paths, temporary names, ids, hashes and times do not make a failure another one.",
	"$ helm failures list", failures_list_opts, NEEDS_WORKSPACE, cmd_failures_list };

static const struct cmd row_failures_show = { KNOWN(failures_show), "FINGERPRINT", 1, 1,
	"one of them, with its tasks", NULL, NULL, failures_list_opts, NEEDS_WORKSPACE, cmd_failures_show };

static const struct cmd row_trace_list = { KNOWN(trace_list), "", 0, 0, "list what runs did",
	"A trace is a view of the ledger; files of traces/ that another runtime left are shown beside.",
	"$ helm trace list", trace_list_opts, NEEDS_WORKSPACE, cmd_trace_list };

static const struct cmd row_trace_show = { KNOWN(trace_show), "TASK", 1, 1,
	"one trace: tools, files, decisions, outcome", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_trace_show };

static const struct cmd row_trace_diff = { KNOWN(trace_diff), "TASK TASK", 2, 2,
	"what differs between two runs", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_trace_diff };

static const struct cmd row_trace_replay = { KNOWN(trace_replay), "TASK", 1, 1,
	"would that run still be allowed?",
	"Judges the recorded command by the rules and policy of now, and runs nothing.  Exit 0 when it would be allowed.",
	NULL, NULL, NEEDS_WORKSPACE, cmd_trace_replay };

static const struct cmd row_trace_candidates = { KNOWN(trace_candidates), "", 0, 0,
	"list what repeats: successes, failures, rows of tools", NULL, "$ helm trace candidates",
	trace_candidates_opts, NEEDS_WORKSPACE, cmd_trace_candidates };

static const struct cmd row_trace_export = { KNOWN(trace_export), "", 0, 0,
	"print runs as spans of OpenTelemetry, one a line",
	"OTLP JSON with the GenAI conventions: gen_ai.operation.name, gen_ai.tool.name, error.type.", NULL,
	trace_export_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_trace_export };

static const struct cmd row_loops_list = { KNOWN(loops_list), "", 0, 0,
	"list loops: those of the workspace and those that are shipped", NULL, "$ helm loops list", NULL,
	NEEDS_WORKSPACE, cmd_loops_list };

static const struct cmd row_loops_inspect = { KNOWN(loops_inspect), "LOOP", 1, 1,
	"show a loop by its id or file",
	"Looks in references/loops, then examples/loops, then at those that are shipped.  Exit 1 when it is not valid, or there is none.",
	"$ helm loops inspect docs-sweep", NULL, NEEDS_WORKSPACE, cmd_loops_inspect };

static const struct cmd row_loops_validate = { KNOWN(loops_validate), "FILE", 1, 1,
	"check the file of a loop",
	"Issues are what the specification asks for; warnings are advice.  Exit 0 or 1.", NULL, NULL,
	NEEDS_WORKSPACE, cmd_loops_validate };

static const struct cmd row_loops_run = { KNOWN(loops_run), "LOOP", 1, 1, "run a loop until it stops",
	"Steps with a `run` are guarded runs under the loop's profile.  It stops when its conditions hold, when its turns or minutes are over, and when it makes no progress: the same failure, or no change, again and again.  A run that was killed goes on with 'helm loops resume'.",
	NULL, NULL, NEEDS_WORKSPACE, cmd_loops_run };

static const struct cmd row_loops_resume = { KNOWN(loops_resume), "RUN", 1, 1,
	"go on with a run that was interrupted", "A step whose end is on record is not done again.", NULL,
	NULL, NEEDS_WORKSPACE, cmd_loops_resume };

static const struct cmd row_loops_runs = { KNOWN(loops_runs), "[RUN]", 0, 1,
	"list runs of loops, and why they stopped", NULL, "$ helm loops runs", NULL, NEEDS_WORKSPACE,
	cmd_loops_runs };

static const struct cmd row_failures_signature = { KNOWN(failures_signature), "", 0, 0,
	"print the signature of an event on standard input", NULL, NULL, failures_signature_opts,
	MAY_WORKSPACE, cmd_failures_signature };

static const struct cmd row_failures_transition = { KNOWN(failures_transition), "", 0, 0,
	"print what follows from a list of failures on standard input", NULL, NULL, NULL, 0,
	cmd_failures_transition };

static const struct cmd row_shadow_report = { KNOWN(shadow_report), "", 0, 0,
	"what gates that only watch would have done, and whether that is enough to switch them on", NULL,
	"$ helm shadow-report --with-recommendations", shadow_report_opts, NEEDS_WORKSPACE | DOCUMENT,
	cmd_shadow_report };

static const struct cmd row_health_state = { KNOWN(health_state), "", 0, 0, "what is known about models",
	NULL, "$ helm health state", NULL, NEEDS_WORKSPACE, cmd_health_state };

static const struct cmd row_health_select = { KNOWN(health_select), "", 0, 0, "which model to use now",
	"The best one that answered within fresh_after_seconds; else one below a model that is down and that answered before; else the first of references/model_recovery_policy.json.  Exit 1 when there is none.",
	"$ helm health select --no-save", health_select_opts, NEEDS_WORKSPACE, cmd_health_select };

static const struct cmd row_health_probe = { KNOWN(health_probe), "", 0, 0, "ask models whether they answer",
	"One short generation each, which providers bill.  Keys are read from the environment, and stand in no address, log or state.  A model that failed is not asked again for a while, longer each time, unless it is named or --again.  Exit 0 when all answer.",
	NULL, health_probe_opts, NEEDS_WORKSPACE, cmd_health_probe };

static const struct cmd row_health_watch = { KNOWN(health_watch), "", 0, 0,
	"ask better models than the current one until one answers", NULL, NULL, health_watch_opts,
	NEEDS_WORKSPACE, cmd_health_watch };

static const struct cmd row_health_providers = { KNOWN(health_providers), "", 0, 0,
	"which providers are configured or listen here",
	"By the names of variables, never their values, and by ports of this machine.",
	"$ helm health providers", NULL, 0, cmd_health_providers };

static const struct cmd row_freshness_status = { KNOWN(freshness_status), "", 0, 0,
	"how old what sources outside said is", NULL, "$ helm freshness status", freshness_opts,
	NEEDS_WORKSPACE, cmd_freshness_status };

static const struct cmd row_task_state = { KNOWN(task_state), "TASK", 1, 1,
	"what a task must still do, and whether it may be called final",
	"Without options it only shows.  Steps that are required are done in any order; finalizing takes all of them, and nothing in the way.",
	NULL, task_state_opts, NEEDS_WORKSPACE, cmd_task_state };

static const struct cmd row_harness_file_intake = { KNOWN(harness_file_intake), "FILE", 1, 1,
	"what a file really is, by its first bytes",
	"Exit 0 when it is safe to parse: known, and what it is called.",
	"$ helm harness file-intake README.md", NULL, 0, cmd_harness_file_intake };

static const struct cmd row_harness_retrieval = { KNOWN(harness_retrieval), "", 0, 0,
	"how far an attempt to fetch something came, and what to try next", NULL,
	"$ helm harness retrieval --status 403", harness_retrieval_opts, 0, cmd_harness_retrieval };

static const struct cmd row_repair_evaluate = { KNOWN(repair_evaluate), "", 0, 0,
	"judge a model's answer on standard input: {content, tool_calls}",
	"Verdict ok, nudge_and_retry, abort or give_up; exit 0 only when it is ok.", NULL,
	repair_evaluate_opts, MAY_WORKSPACE, cmd_repair_evaluate };

static const struct cmd row_repair_check = { KNOWN(repair_check), "", 0, 0,
	"print the rules about answers of models", NULL, "$ helm model-repair check", NULL, 0,
	cmd_repair_check };

static const struct cmd row_gates_run = { KNOWN(gates_run), "[FILE...]", 0, -1,
	"look at files, or at those that a task touched, by the gates for their kind",
	"JSON, YAML and TOML are read here; for other kinds references/gate_policy.json names a command, which is a guarded run under inspect_local.  Exit 0 or 1.",
	NULL, gates_run_opts, NEEDS_WORKSPACE, cmd_gates_run };

#endif
