/* commands_loops.h — rows of commands.c about loops, failures, traces, gates that watch, and models. */
#ifndef CLI_COMMANDS_LOOPS_H
#define CLI_COMMANDS_LOOPS_H

static const struct cmd row_failures_list = { KNOWN(failures_list), "", 0, 0,
	"list failures, the same ones together, with what fixed them",
	"Paths, temporary names, ids, hashes and times do not make a failure another one.  FIXED BY is a task that ran the same command in the same directory to a good end after something had changed; 'helm failures show' says what.",
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

static const struct cmd row_loops_inspect = { KNOWN(loops_inspect), "LOOP", 1, 1, "show a loop by its id",
	"Looks in references/loops, then examples/loops, then at those that are shipped.  Exit 1 when it is not valid, or there is none.",
	"$ helm loops inspect docs-sweep", loops_inspect_opts, NEEDS_WORKSPACE, cmd_loops_inspect };

static const struct cmd row_loops_validate = { KNOWN(loops_validate), "FILE", 1, 1,
	"check the file of a loop",
	"Issues are what the specification asks for; warnings are advice.  Exit 0 or 1.", NULL, NULL,
	NEEDS_WORKSPACE, cmd_loops_validate };

static const struct cmd row_loops_run = { KNOWN(loops_run), "LOOP", 1, 1, "run a loop until it stops",
	"Steps with a `run` are guarded runs under the loop's profile.  It stops when its conditions hold, when its turns or minutes are over, and when it makes no progress: the same failure, or no change, again and again.  A run that was killed goes on with 'helm loops resume'.",
	"  # references/loops/docs.yaml of the workspace\n  id: docs\n  title: Documents until they validate\n  use_when: [the documents are out of date]\n  profile: workspace_edit\n  steps:\n    - {name: build, run: \"make docs\"}\n  required_evidence: [process_exit]\n  stop_conditions:\n    success: [{name: valid, run: \"make check-docs\"}]\n  limits: {turns: 20, minutes: 60}\n\n$ helm loops run docs",
	NULL, NEEDS_WORKSPACE, cmd_loops_run };

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

static const struct cmd row_health_launch = { KNOWN(health_launch), "", 0, 0,
	"the same in the background, for five minutes", "Prints {launched, pid}.", NULL, health_launch_opts,
	NEEDS_WORKSPACE, cmd_health_launch };

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

static const struct cmd row_harness_policy = { KNOWN(harness_policy), "", 0, 0,
	"print how strict work is held, by model and profile",
	"The shipped policy, with references/adaptive_harness_policy.json and references/adaptive_harness.d/ laid over it (docs/formats/harness.md).",
	"$ helm harness policy", NULL, NEEDS_WORKSPACE, cmd_harness_policy };

static const struct cmd row_harness_contract = { KNOWN(harness_contract), "", 0, 0,
	"print the contract of a skill with all defaults", NULL, NULL, harness_contract_opts, NEEDS_WORKSPACE,
	cmd_harness_contract };

static const struct cmd row_harness_preflight = { KNOWN(harness_preflight), "-- COMMAND [ARGS...]", 0, 0,
	"say what work would have to bring before it starts",
	"Runs nothing.  Exit 0 when all checks hold, 2 when one does not.",
	"$ helm harness preflight --profile inspect_local -- git status", harness_work_opts,
	NEEDS_WORKSPACE | CHILD_ARGV, cmd_harness_preflight };

static const struct cmd row_harness_run = { KNOWN(harness_run), "-- COMMAND [ARGS...]", 0, 0,
	"the checks before, a guarded run, and the checks after",
	"Prints a document; what the command prints goes to standard error.  Exit 2 when a check before does not hold, the exit code of the command when it fails, 3 when a check afterwards does not hold.  "
	"A run that ended well and shows nothing for it gets the state needs_verification.",
	NULL, harness_work_opts, NEEDS_WORKSPACE | CHILD_ARGV, cmd_harness_run };

static const struct cmd row_harness_postflight = { KNOWN(harness_postflight), "", 0, 0,
	"say whether a task shows what it must to count as done", "Exit 0 or 2.", NULL, harness_task_opts,
	NEEDS_WORKSPACE, cmd_harness_postflight };

static const struct cmd row_harness_reply = { KNOWN(harness_reply), "", 0, 0,
	"say whether somebody may be told that a task is done", "Exit 0 when yes, 3 when not.", NULL,
	harness_reply_opts, NEEDS_WORKSPACE, cmd_harness_reply };

static const struct cmd row_harness_record_evidence = { KNOWN(harness_record_evidence), "", 0, 0,
	"add what was seen to a task",
	"A new row of the task, on record.  Exit 0 when the task then shows all it must, 3 when not.", NULL,
	harness_record_opts, NEEDS_WORKSPACE, cmd_harness_record };

static const struct cmd row_harness_backfill_evidence = { KNOWN(harness_backfill_evidence), "", 0, 0,
	"add to older tasks the evidence that their own rows show",
	"Such evidence is marked as inferred.  Only where the contract of the task's skill asks for it, unless --all-entries.",
	NULL, harness_backfill_opts, NEEDS_WORKSPACE, cmd_harness_backfill };

static const struct cmd row_harness_file_intake = { KNOWN(harness_file_intake), "FILE", 1, 1,
	"what a file really is, by its first bytes",
	"Exit 0 when it is safe to parse: known, and what it is called.",
	"$ helm harness file-intake README.md", NULL, 0, cmd_harness_file_intake };

static const struct cmd row_harness_retrieval = { KNOWN(harness_retrieval), "", 0, 0,
	"how far an attempt to fetch something came, and what to try next", NULL,
	"$ helm harness retrieval --status 403", harness_retrieval_opts, 0, cmd_harness_retrieval };

static const struct cmd row_edit_policy = { KNOWN(edit_policy), "", 0, 0, "print how files are to be changed",
	"references/edit_policy.json over the shipped rules (docs/formats/edit-policy.md).  Without that file nothing is held to it.",
	"$ helm edit policy", NULL, NEEDS_WORKSPACE, cmd_edit_policy };

static const struct cmd row_edit_read = { KNOWN(edit_read), "FILE", 1, 1,
	"print the evidence that a file was read as it is now", NULL, "$ helm edit read README.md", NULL,
	NEEDS_WORKSPACE, cmd_edit_read };

static const struct cmd row_edit_check = { KNOWN(edit_check), "FILE", 1, 1,
	"say whether a file may be changed like this",
	"Exit 0 or 1.  Tools of agent clients are held to the same answer.", NULL, edit_check_opts,
	NEEDS_WORKSPACE, cmd_edit_check };

static const struct cmd row_browser_check = { KNOWN(browser_check), "", 0, 0,
	"say whether a browser may be used like this, under this profile",
	"What 'helm profile run --browser-action' is judged by.  Exit 0 when a session may begin, 27 when not, 24 when a person must confirm it.",
	"$ helm browser check --profile inspect_local --action read --url-pattern https://example.org/",
	browser_check_opts, NEEDS_WORKSPACE, cmd_browser_check };

static const struct cmd row_browser_cleanup = { KNOWN(browser_cleanup), "TASK", 1, 1,
	"say what became of the session of a browser",
	"A new row of the task, on record.  A task that only waited for this is completed by it.", NULL,
	browser_cleanup_opts, NEEDS_WORKSPACE, cmd_browser_cleanup };

static const struct cmd row_repair_evaluate = { KNOWN(repair_evaluate), "", 0, 0,
	"judge a model's answer on standard input: {content, tool_calls}",
	"Verdict ok, nudge_and_retry, abort or give_up; exit 0 only when it is ok.", NULL,
	repair_evaluate_opts, MAY_WORKSPACE, cmd_repair_evaluate };

static const struct cmd row_repair_step = { KNOWN(repair_step), "", 0, 0, "the same, and what to do next",
	"Adds call_again and the messages to add.  Where the gate only watches (HELM_MODEL_REPAIR is not set) no model is called again.",
	NULL, repair_evaluate_opts, MAY_WORKSPACE, cmd_repair_step };

static const struct cmd row_respond_inject = { KNOWN(respond_inject), "", 0, 0,
	"add the tool respond to the tools on standard input", NULL, NULL, respond_inject_opts, DOCUMENT,
	cmd_respond_inject };

static const struct cmd row_respond_strip = { KNOWN(respond_strip), "", 0, 0,
	"make the message of respond the content of an answer on standard input", NULL, NULL, NULL, DOCUMENT,
	cmd_respond_strip };

static const struct cmd row_respond_finalize = { KNOWN(respond_finalize), "", 0, 0,
	"the same, and say when respond was required and is missing", "Exit 1 then.", NULL,
	respond_finalize_opts, DOCUMENT, cmd_respond_finalize };

static const struct cmd row_action_scope = { KNOWN(action_scope), "", 0, 0,
	"say what a message asks for at most, by its verbs",
	"English and Korean; the narrowest verb locks.  Exit 0 when it may be done, 3 when not, 2 for a resource that nobody knows.  Advice: it permits nothing.",
	"$ helm action-scope evaluate --message 'show the calendar'", action_scope_opts, 0,
	cmd_action_scope };

static const struct cmd row_compression_profiles = { KNOWN(compression_profiles), "", 0, 0,
	"list kinds of texts and the budgets they are cut to", NULL, "$ helm compression profiles", NULL, 0,
	cmd_compression_profiles };

static const struct cmd row_repair_check = { KNOWN(repair_check), "", 0, 0,
	"print the rules about answers of models", NULL, "$ helm model-repair check", NULL, MAY_WORKSPACE,
	cmd_repair_check };

static const struct cmd row_gates_run = { KNOWN(gates_run), "[FILE...]", 0, -1,
	"look at files, or at those that a task touched, by the gates for their kind",
	"JSON, YAML and TOML are read here; for other kinds references/gate_policy.json names a command, which is a guarded run under inspect_local.  Exit 0 or 1.",
	NULL, gates_run_opts, NEEDS_WORKSPACE, cmd_gates_run };

#endif
