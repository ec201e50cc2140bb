/* cmd.h — inside cli/: the functions and option specs that rows of commands.c point to, one block per cmd_*.c. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "cli/cli.h"

/* cmd_help.c */
extern const struct opt help_opts[];
int cmd_help(struct cli *r, struct err *e);
int cmd_completion(struct cli *r, struct err *e);
int cmd_version(struct cli *r, struct err *e);

/* cmd_canonical.c, cmd_schema.c */
extern const struct opt canonical_opts[];
int cmd_canonical(struct cli *r, struct err *e);
int cmd_schema_validate(struct cli *r, struct err *e);

/* cmd_conform.c */
extern const struct opt conform_run_opts[];
int cmd_conform_run(struct cli *r, struct err *e);
int cmd_conform_list(struct cli *r, struct err *e);

/* cmd_policy.c */
extern const struct opt policy_eval_opts[];
int cmd_policy_eval(struct cli *r, struct err *e);

/* cmd_proxy.c */
extern const struct opt proxy_opts[], proxy_report_opts[];
int cmd_proxy(struct cli *r, struct err *e);
int cmd_proxy_report(struct cli *r, struct err *e);
int cmd_proxy_pin(struct cli *r, struct err *e);
int cmd_proxy_sign_prices(struct cli *r, struct err *e);

/* cmd_policy_bench.c */
int cmd_policy_bench(struct cli *r, struct err *e);

/* cmd_policy_dsl.c */
extern const struct opt policy_lint_opts[], policy_explain_opts[], policy_fmt_opts[];
int cmd_policy_lint(struct cli *r, struct err *e);
int cmd_policy_explain(struct cli *r, struct err *e);
int cmd_policy_fmt(struct cli *r, struct err *e);

/* cmd_privacy.c */
extern const struct opt privacy_scan_opts[], privacy_tokenize_opts[], privacy_restore_opts[],
	privacy_social_opts[];
int cmd_privacy_scan(struct cli *r, struct err *e);
int cmd_privacy_tokenize(struct cli *r, struct err *e);
int cmd_privacy_restore(struct cli *r, struct err *e);
int cmd_privacy_social(struct cli *r, struct err *e);

/* cmd_memory.c */
extern const struct opt memory_chat_opts[], memory_limit_opts[], memory_crystallize_opts[], memory_op_opts[],
	memory_finalize_opts[], memory_label_opts[];
int cmd_memory_capture_chat(struct cli *r, struct err *e);
int cmd_memory_op(struct cli *r, struct err *e);
int cmd_memory_crystallize(struct cli *r, struct err *e);
int cmd_memory_finalize(struct cli *r, struct err *e);
int cmd_memory_label(struct cli *r, struct err *e);
int cmd_memory_pending(struct cli *r, struct err *e);
int cmd_memory_queue(struct cli *r, struct err *e);
int cmd_memory_audit(struct cli *r, struct err *e);
int cmd_memory_history(struct cli *r, struct err *e);
int cmd_context_recent_state(struct cli *r, struct err *e);
/* cmd_memory_write.c */
extern const struct opt memory_write_opts[], memory_reject_opts[], memory_revert_opts[], memory_merge_opts[],
	memory_entries_opts[];
int cmd_memory_write(struct cli *r, struct err *e);
int cmd_memory_accept(struct cli *r, struct err *e);
int cmd_memory_reject(struct cli *r, struct err *e);
int cmd_memory_revert(struct cli *r, struct err *e);
int cmd_memory_merge(struct cli *r, struct err *e);
int cmd_memory_entries(struct cli *r, struct err *e);
int cmd_memory_blame(struct cli *r, struct err *e);
int cmd_memory_verify(struct cli *r, struct err *e);
/* cmd_memory_note.c */
extern const struct opt memory_note_opts[], lint_phrase_opts[], memory_tree_status_opts[],
	memory_tree_refresh_opts[];
int cmd_memory_note(struct cli *r, struct err *e);
int cmd_lint_phrase(struct cli *r, struct err *e);
int cmd_validate_vault(struct cli *r, struct err *e);
int cmd_memory_tree_status(struct cli *r, struct err *e);
int cmd_memory_tree_refresh(struct cli *r, struct err *e);
/* cmd_context.c */
extern const struct opt context_opts[], context_snapshot_opts[], context_pack_opts[];
int cmd_context(struct cli *r, struct err *e);
int cmd_context_snapshot(struct cli *r, struct err *e);
int cmd_context_pack(struct cli *r, struct err *e);
/* cmd_adopt.c */
extern const struct opt adopt_opts[], onboard_opts[], sources_opts[];
int cmd_survey(struct cli *r, struct err *e);
int cmd_adopt(struct cli *r, struct err *e);
int cmd_onboard(struct cli *r, struct err *e);
int cmd_sources(struct cli *r, struct err *e);

/* cmd_skill.c */
extern const struct opt skill_list_opts[], skill_route_opts[], skill_run_opts[], skill_sessions_opts[];
int cmd_skill_list(struct cli *r, struct err *e);
int cmd_skill_show(struct cli *r, struct err *e);
int cmd_skill_run(struct cli *r, struct err *e);
int cmd_skill_route(struct cli *r, struct err *e);
int cmd_skill_usage(struct cli *r, struct err *e);
int cmd_skill_validate(struct cli *r, struct err *e);
int cmd_skill_accept(struct cli *r, struct err *e);
int cmd_skill_sessions(struct cli *r, struct err *e);
int cmd_profile_audit_quality(struct cli *r, struct err *e);
/* cmd_skill_draft.c */
extern const struct opt skill_new_opts[], skill_create_opts[], skill_draft_opts[], skill_name_opts[],
	skill_promote_opts[], skill_approve_opts[], skill_reject_opts[];
int cmd_skill_new(struct cli *r, struct err *e);
int cmd_skill_create(struct cli *r, struct err *e);
int cmd_skill_draft(struct cli *r, struct err *e);
int cmd_skill_assess(struct cli *r, struct err *e);
int cmd_skill_promote(struct cli *r, struct err *e);
int cmd_skill_approve(struct cli *r, struct err *e);
int cmd_skill_diff(struct cli *r, struct err *e);
int cmd_skill_reject(struct cli *r, struct err *e);
int skill_draft_from(
	struct cli *r, const char *task_id, const char *name, const char *description, struct err *e);
/* cmd_lifecycle.c */
extern const struct opt life_scan_opts[], life_apply_opts[], life_report_opts[], life_events_opts[],
	life_limit_opts[], life_claims_opts[], life_revalidate_opts[], life_umbrella_opts[],
	life_trajectory_opts[];
int cmd_life_scan(struct cli *r, struct err *e);
int cmd_life_status(struct cli *r, struct err *e);
int cmd_life_report(struct cli *r, struct err *e);
int cmd_life_pin(struct cli *r, struct err *e);
int cmd_life_unpin(struct cli *r, struct err *e);
int cmd_life_stale(struct cli *r, struct err *e);
int cmd_life_archive(struct cli *r, struct err *e);
int cmd_life_restore(struct cli *r, struct err *e);
int cmd_life_events(struct cli *r, struct err *e);
int cmd_life_claims(struct cli *r, struct err *e);
int cmd_life_due(struct cli *r, struct err *e);
int cmd_life_revalidate(struct cli *r, struct err *e);
int cmd_life_umbrella(struct cli *r, struct err *e);
int cmd_life_ledger(struct cli *r, struct err *e);
int cmd_life_outcomes(struct cli *r, struct err *e);
int cmd_life_candidates(struct cli *r, struct err *e);
int cmd_life_selection(struct cli *r, struct err *e);
int cmd_life_trajectory(struct cli *r, struct err *e);
int cmd_life_observe(struct cli *r, struct err *e);
int cmd_life_view(struct cli *r, struct err *e);
/* cmd_promotion.c */
extern const struct opt promotion_digest_opts[], promotion_decide_opts[], promotion_state_opts[],
	intake_classify_opts[], intake_validate_opts[];
/* The directory of traces that somebody names, or the environment does; NULL: the workspace's. */
const char *traces_dir(struct cli *r, const char *given);
int cmd_promotion_digest(struct cli *r, struct err *e);
int cmd_promotion_pending(struct cli *r, struct err *e);
int cmd_promotion_details(struct cli *r, struct err *e);
int cmd_promotion_approve(struct cli *r, struct err *e);
int cmd_promotion_reject(struct cli *r, struct err *e);
int cmd_promotion_reply(struct cli *r, struct err *e);
int cmd_promotion_state_path(struct cli *r, struct err *e);
int cmd_intake_scan(struct cli *r, struct err *e);
int cmd_intake_classify(struct cli *r, struct err *e);
int cmd_intake_validate(struct cli *r, struct err *e);

/* cmd_loops.c */
extern const struct opt shadow_report_opts[];
/* cmd_failures.c */
extern const struct opt failures_list_opts[], failures_signature_opts[], trace_list_opts[],
	trace_candidates_opts[], trace_export_opts[];
/* cmd_health.c */
extern const struct opt health_probe_opts[], health_watch_opts[], health_select_opts[], freshness_opts[];
int cmd_failures_list(struct cli *r, struct err *e);
int cmd_failures_show(struct cli *r, struct err *e);
int cmd_trace_list(struct cli *r, struct err *e);
int cmd_trace_show(struct cli *r, struct err *e);
int cmd_trace_diff(struct cli *r, struct err *e);
int cmd_trace_replay(struct cli *r, struct err *e);
int cmd_trace_candidates(struct cli *r, struct err *e);
int cmd_trace_export(struct cli *r, struct err *e);
int cmd_loops_list(struct cli *r, struct err *e);
extern const struct opt loops_inspect_opts[];
int cmd_loops_inspect(struct cli *r, struct err *e);
int cmd_loops_validate(struct cli *r, struct err *e);
int cmd_loops_run(struct cli *r, struct err *e);
int cmd_loops_resume(struct cli *r, struct err *e);
int cmd_loops_runs(struct cli *r, struct err *e);
int cmd_failures_signature(struct cli *r, struct err *e);
int cmd_failures_transition(struct cli *r, struct err *e);
int cmd_shadow_report(struct cli *r, struct err *e);
int cmd_health_state(struct cli *r, struct err *e);
int cmd_health_select(struct cli *r, struct err *e);
int cmd_health_probe(struct cli *r, struct err *e);
int cmd_health_watch(struct cli *r, struct err *e);
extern const struct opt health_launch_opts[];
int cmd_health_launch(struct cli *r, struct err *e);
int cmd_health_providers(struct cli *r, struct err *e);
int cmd_freshness_status(struct cli *r, struct err *e);

/* cmd_adaptive.c */
extern const struct opt harness_work_opts[], harness_contract_opts[], harness_task_opts[],
	harness_reply_opts[], harness_record_opts[], harness_backfill_opts[];
int cmd_harness_policy(struct cli *r, struct err *e);
int cmd_harness_contract(struct cli *r, struct err *e);
int cmd_harness_preflight(struct cli *r, struct err *e);
int cmd_harness_run(struct cli *r, struct err *e);
int cmd_harness_postflight(struct cli *r, struct err *e);
int cmd_harness_reply(struct cli *r, struct err *e);
int cmd_harness_record(struct cli *r, struct err *e);
int cmd_harness_backfill(struct cli *r, struct err *e);
/* cmd_edit.c */
extern const struct opt edit_check_opts[];
int cmd_edit_policy(struct cli *r, struct err *e);
int cmd_edit_read(struct cli *r, struct err *e);
int cmd_edit_check(struct cli *r, struct err *e);
/* cmd_browser.c */
extern const struct opt browser_check_opts[], browser_cleanup_opts[];
int cmd_browser_check(struct cli *r, struct err *e);
int cmd_browser_cleanup(struct cli *r, struct err *e);
/* cmd_harness.c */
extern const struct opt harness_retrieval_opts[], repair_evaluate_opts[], task_state_opts[], gates_run_opts[];
int cmd_gates_run(struct cli *r, struct err *e);
int cmd_task_state(struct cli *r, struct err *e);
int cmd_harness_file_intake(struct cli *r, struct err *e);
int cmd_harness_retrieval(struct cli *r, struct err *e);
int cmd_repair_evaluate(struct cli *r, struct err *e);
int cmd_repair_step(struct cli *r, struct err *e);
int cmd_repair_check(struct cli *r, struct err *e);
extern const struct opt respond_inject_opts[], respond_finalize_opts[], action_scope_opts[];
int cmd_respond_inject(struct cli *r, struct err *e);
int cmd_respond_strip(struct cli *r, struct err *e);
int cmd_respond_finalize(struct cli *r, struct err *e);
int cmd_action_scope(struct cli *r, struct err *e);
int cmd_compression_profiles(struct cli *r, struct err *e);

/* cmd_policy_files.c */
extern const struct opt policy_new_opts[], policy_compile_opts[], policy_import_opts[], policy_sign_opts[],
	policy_verify_opts[], pack_show_opts[];
int cmd_policy_new(struct cli *r, struct err *e);
int cmd_policy_compile(struct cli *r, struct err *e);
int cmd_policy_import(struct cli *r, struct err *e);
int cmd_policy_sign(struct cli *r, struct err *e);
int cmd_policy_verify(struct cli *r, struct err *e);
int cmd_pack_show(struct cli *r, struct err *e);
/* cmd_policy_use.c, cmd_policy_test.c, cmd_policy_change.c */
extern const struct opt policy_use_opts[], policy_revoke_opts[], policy_shadow_opts[], policy_simulate_opts[],
	policy_diff_opts[];
int cmd_policy_use(struct cli *r, struct err *e);
int cmd_policy_show(struct cli *r, struct err *e);
int cmd_policy_limits(struct cli *r, struct err *e);
int cmd_policy_revoke(struct cli *r, struct err *e);
int cmd_policy_shadow(struct cli *r, struct err *e);
int cmd_policy_test(struct cli *r, struct err *e);
int cmd_policy_coverage(struct cli *r, struct err *e);
int cmd_policy_simulate(struct cli *r, struct err *e);
int cmd_policy_diff(struct cli *r, struct err *e);

/* cmd_egress.c, cmd_egress_suggest.c */
extern const struct opt egress_list_opts[], egress_check_opts[];
int cmd_egress_list(struct cli *r, struct err *e);
int cmd_egress_check(struct cli *r, struct err *e);
int cmd_egress_suggest(struct cli *r, struct err *e);
int cmd_egress_serve(struct cli *r, struct err *e);

/* cmd_evidence.c */
extern const struct opt evidence_export_opts[], evidence_verify_opts[], evidence_prove_opts[];
int cmd_evidence_export(struct cli *r, struct err *e);
int cmd_evidence_verify(struct cli *r, struct err *e);
int cmd_evidence_prove(struct cli *r, struct err *e);
int cmd_evidence_summary(struct cli *r, struct err *e);

/* cmd_replay.c */
extern const struct opt replay_opts[];
int cmd_replay(struct cli *r, struct err *e);

/* cmd_operator_file.c */
extern const struct opt operator_file_opts[];
int cmd_operator_file(struct cli *r, struct err *e);
/* cmd_key.c, cmd_key_trust.c */
extern const struct opt key_export_opts[], key_rotate_opts[], key_revoke_opts[], key_trust_opts[],
	key_repair_opts[];
int cmd_key_repair(struct cli *r, struct err *e);
int cmd_key_show(struct cli *r, struct err *e);
int cmd_key_create(struct cli *r, struct err *e);
int cmd_key_export(struct cli *r, struct err *e);
int cmd_key_rotate(struct cli *r, struct err *e);
int cmd_key_revoke(struct cli *r, struct err *e);
int cmd_key_history(struct cli *r, struct err *e);
int cmd_key_trust(struct cli *r, struct err *e);

/* cmd_receipts.c */
extern const struct opt receipts_list_opts[], receipts_export_opts[], receipts_tail_opts[];
int cmd_receipts_list(struct cli *r, struct err *e);
int cmd_receipts_show(struct cli *r, struct err *e);
int cmd_receipts_export(struct cli *r, struct err *e);
int cmd_receipts_tail(struct cli *r, struct err *e);

/* cmd_log.c */
extern const struct opt log_head_opts[], log_prove_opts[], log_consistency_opts[], log_anchor_opts[],
	log_check_opts[], log_repair_opts[], archive_opts[];
int cmd_log_head(struct cli *r, struct err *e);
int cmd_log_prove(struct cli *r, struct err *e);
int cmd_log_consistency(struct cli *r, struct err *e);
int cmd_log_anchor(struct cli *r, struct err *e);
int cmd_log_check(struct cli *r, struct err *e);
int cmd_log_repair(struct cli *r, struct err *e);
int cmd_archive(struct cli *r, struct err *e);

/* cmd_guard.c, cmd_guard_scan.c */
extern const struct opt guard_check_opts[], guard_explain_opts[], guard_scan_opts[];
int cmd_guard_check(struct cli *r, struct err *e);
int cmd_guard_explain(struct cli *r, struct err *e);
int cmd_guard_rules(struct cli *r, struct err *e);
int cmd_guard_scan(struct cli *r, struct err *e);

/* cmd_approval.c, cmd_approval_show.c, cmd_key_trust.c */
extern const struct opt approval_list_opts[], approval_approve_opts[], approval_message_opts[],
	approval_deny_opts[], approval_grant_opts[];
int cmd_approval_list(struct cli *r, struct err *e);
int cmd_approval_show(struct cli *r, struct err *e);
int cmd_approval_approve(struct cli *r, struct err *e);
int cmd_approval_message(struct cli *r, struct err *e);
int cmd_approval_deny(struct cli *r, struct err *e);
int cmd_approval_revoke(struct cli *r, struct err *e);
int cmd_approval_grant(struct cli *r, struct err *e);
int cmd_approval_trust(struct cli *r, struct err *e);

/* cmd_tune.c */
extern const struct opt guard_tune_opts[];
int cmd_guard_tune(struct cli *r, struct err *e);

/* cmd_profile.c */
int cmd_profile_list(struct cli *r, struct err *e);
int cmd_profile_show(struct cli *r, struct err *e);
int cmd_profile_policy(struct cli *r, struct err *e);

/* cmd_checkpoint.c, cmd_checkpoint_keep.c */
extern const struct opt checkpoint_create_opts[], checkpoint_list_opts[], checkpoint_preview_opts[],
	checkpoint_restore_opts[], checkpoint_task_opts[], checkpoint_prune_opts[], checkpoint_protect_opts[],
	checkpoint_check_opts[], checkpoint_repair_opts[];
int cmd_checkpoint_create(struct cli *r, struct err *e);
int cmd_checkpoint_list(struct cli *r, struct err *e);
int cmd_checkpoint_show(struct cli *r, struct err *e);
int cmd_checkpoint_preview(struct cli *r, struct err *e);
int cmd_checkpoint_restore(struct cli *r, struct err *e);
int cmd_checkpoint_check(struct cli *r, struct err *e);
int cmd_checkpoint_repair(struct cli *r, struct err *e);
int cmd_checkpoint_recommend(struct cli *r, struct err *e);
int cmd_checkpoint_finalize(struct cli *r, struct err *e);
int cmd_checkpoint_prune(struct cli *r, struct err *e);
int cmd_checkpoint_protect(struct cli *r, struct err *e);
int cmd_checkpoint_policy(struct cli *r, struct err *e);

/* cmd_verify.c */
extern const struct opt verify_opts[];
/* Told by content and names: this file or directory may be a pack.  What cannot be read may be one. */
bool may_be_pack(struct cli *r, struct arena *a, const char *name);
int cmd_verify(struct cli *r, struct err *e);

/* For commands that can be about a boundary elsewhere (OR_URL): cmd_remote.c. */
#define URL_OPTIONS \
	{ "url", OPT_VALUE, "URL", \
		"of 'helm serve' elsewhere: https://host:7714, http://127.0.0.1:7714, unix:/path", NULL, \
		false }, \
		{ "api-key-file", OPT_VALUE, "FILE", \
			"with --url: the key is in this file (else in HELM_KEY)", NULL, false }, \
		{ "client-cert", OPT_VALUE, "FILE", \
			"with --url: a certificate instead of a key, in PEM, and --client-key", NULL, \
			false }, \
		{ "client-key", OPT_VALUE, "FILE", "with --url: the key of --client-cert", NULL, false }, \
	{ \
		"ca", OPT_VALUE, "FILE", \
			"with --url: certificates that count, in PEM (those of the system)", NULL, false \
	}
extern const struct opt watch_opts[], approval_show_opts[], receipts_show_opts[], serve_reload_opts[];
int remote_status(struct cli *r, struct err *e);
int remote_receipts(struct cli *r, bool is_followed, struct err *e);
int remote_receipt(struct cli *r, struct err *e);
int remote_approvals(struct cli *r, struct err *e);
int remote_approval(struct cli *r, struct err *e);
int remote_answer(struct cli *r, const char *verb, struct err *e); /* "approve", "deny", "revoke" */
int remote_watch(struct cli *r, struct err *e);
int cmd_serve_reload(struct cli *r, struct err *e);

/* For commands that change something which is confirmed: confirm.c. */
#define CONFIRM_OPTIONS \
	{ "dry-run", OPT_FLAG, NULL, "show what would be done, and change nothing", NULL, false }, \
	{ \
		"yes", OPT_FLAG, NULL, "do it without asking; needed when nobody sits at a terminal", NULL, \
			false \
	}
bool confirm_can_ask(const struct cli *r);
bool confirm_asks(struct cli *r, const char *question);
/* OK: --yes was given, or the word was typed. */
int confirm_approve(struct cli *r, const char *what, struct err *e);
/* Shows it (is_dry), or does it; *ret_has_work: there is something to be done. */
typedef int confirmed_step(struct cli *r, bool is_dry, bool *ret_has_work, struct err *e);
int confirm_and_do(struct cli *r, confirmed_step *fn, const char *question, struct err *e);

/* For commands that a person uses: cmd_trust.c. */
#define PERSON_KEY \
	{ \
		"key", OPT_VALUE, "FILE", \
			"answer with this registered approver's key instead of a terminal", NULL, false \
	}
extern const struct opt workspace_trust_opts[];
int cmd_workspace_trust(struct cli *r, struct err *e);
extern const struct opt workspace_repair_opts[];
int cmd_workspace_repair(struct cli *r, struct err *e);
int cmd_workspace_show(struct cli *r, struct err *e);

/* cmd_ops.c */
extern const struct opt ops_daily_opts[], ops_tasks_opts[], ops_commands_opts[], ops_capture_state_opts[],
	reconcile_opts[];
int cmd_ops_daily(struct cli *r, struct err *e);
int cmd_ops_tasks(struct cli *r, struct err *e);
int cmd_ops_commands(struct cli *r, struct err *e);
int cmd_ops_capture_state(struct cli *r, struct err *e);
int cmd_validate(struct cli *r, struct err *e);
int cmd_profile_validate_manifests(struct cli *r, struct err *e);
int cmd_verify_contract(struct cli *r, struct err *e);
int cmd_reconcile(struct cli *r, struct err *e);

/* cmd_workspace.c */
extern const struct opt init_opts[], doctor_opts[];
int cmd_init(struct cli *r, struct err *e);
/* Key, directory, first word about the place, state: whatever of these is missing. */
int make_workspace(struct cli *r, bool force, struct json **ret_done, bool *ret_new_key, struct err *e);
int cmd_detect(struct cli *r, struct err *e);
int cmd_doctor(struct cli *r, struct err *e);

/* cmd_run.c */
extern const struct opt profile_run_opts[], run_opts[];
int cmd_profile_run(struct cli *r, struct err *e);
int cmd_run(struct cli *r, struct err *e);

/* cmd_agent.c */
extern const struct opt agent_opts[], agent_list_opts[], agent_keep_opts[];
int cmd_agent(struct cli *r, struct err *e);
int cmd_agent_attach(struct cli *r, struct err *e);
int cmd_agent_list(struct cli *r, struct err *e);
int cmd_agent_report(struct cli *r, struct err *e);
int cmd_agent_stop(struct cli *r, struct err *e);
int cmd_agent_keep(struct cli *r, struct err *e);
int cmd_agent_discard(struct cli *r, struct err *e);
int cmd_outside(struct cli *r, struct err *e);

/* cmd_contained.c */
extern const struct opt contained_opts[];
int cmd_contained(struct cli *r, struct err *e);

/* cmd_hook.c */
extern const struct opt hook_opts[];
int cmd_hook_pre_tool(struct cli *r, struct err *e);
int cmd_hook_post_tool(struct cli *r, struct err *e);
int cmd_hook_session_start(struct cli *r, struct err *e);

/* cmd_setup.c */
extern const struct opt setup_opts[], setup_remove_opts[], setup_status_opts[], setup_repair_opts[];
int cmd_setup(struct cli *r, struct err *e);
int cmd_setup_status(struct cli *r, struct err *e);
int cmd_setup_repair(struct cli *r, struct err *e);
int cmd_setup_remove(struct cli *r, struct err *e);

/* cmd_actions.c */
extern const struct opt status_opts[], dashboard_opts[], report_opts[], contract_opts[], diff_opts[];
int cmd_status(struct cli *r, struct err *e);
int cmd_dashboard(struct cli *r, struct err *e);
int cmd_watch(struct cli *r, struct err *e);
int cmd_report(struct cli *r, struct err *e);
int cmd_run_contract(struct cli *r, struct err *e);
int cmd_capability_diff(struct cli *r, struct err *e);
extern const struct opt log_sessions_opts[];
int cmd_log_sessions(struct cli *r, struct err *e);

/* cmd_task.c */
extern const struct opt task_list_opts[], task_show_opts[], task_block_opts[], task_complete_opts[],
	task_retry_opts[], task_stale_opts[], task_reclaim_opts[], task_doctor_opts[];
int cmd_task_list(struct cli *r, struct err *e);
int cmd_task_show(struct cli *r, struct err *e);
int cmd_task_bundle(struct cli *r, struct err *e);
int cmd_task_block(struct cli *r, struct err *e);
int cmd_task_complete(struct cli *r, struct err *e);
int cmd_task_retry(struct cli *r, struct err *e);
int cmd_task_mark_stale(struct cli *r, struct err *e);
int cmd_task_reclaim(struct cli *r, struct err *e);
int cmd_task_doctor(struct cli *r, struct err *e);
int cmd_task_recover(struct cli *r, struct err *e);

/* cmd_profile_state.c */
extern const struct opt profile_ledger_opts[], profile_rollback_opts[], profile_pause_opts[],
	profile_resume_opts[];
int cmd_profile_ledger(struct cli *r, struct err *e);
int cmd_profile_rollback(struct cli *r, struct err *e);
extern const struct opt profile_use_opts[];
int cmd_profile_use(struct cli *r, struct err *e);
int cmd_profile_pause(struct cli *r, struct err *e);
int cmd_profile_resume(struct cli *r, struct err *e);
int cmd_profile_paused(struct cli *r, struct err *e);

/* cmd_demo.c */
int cmd_demo(struct cli *r, struct err *e);

/* cmd_db.c */
extern const struct opt db_query_opts[];
int cmd_db_init(struct cli *r, struct err *e);
int cmd_db_rebuild(struct cli *r, struct err *e);
int cmd_db_verify(struct cli *r, struct err *e);
int cmd_db_status(struct cli *r, struct err *e);
int cmd_db_query(struct cli *r, struct err *e);

/* cmd_allow.c */
extern const struct opt allow_opts[];
int cmd_allow(struct cli *r, struct err *e);
/* cmd_signer.c */
extern const struct opt signer_run_opts[];
int cmd_signer_run(struct cli *r, struct err *e);
int cmd_signer_log(struct cli *r, struct err *e);
int cmd_signer_log_key(struct cli *r, struct err *e);
int cmd_signer_use(struct cli *r, struct err *e);
int cmd_signer_status(struct cli *r, struct err *e);

/* cmd_witness.c */
extern const struct opt witness_serve_opts[], witness_ask_opts[];
int cmd_witness_key(struct cli *r, struct err *e);
int cmd_witness_serve(struct cli *r, struct err *e);
int cmd_witness_ask(struct cli *r, struct err *e);

/* cmd_open.c */
extern const struct opt open_opts[], serve_invite_opts[];
int cmd_open(struct cli *r, struct err *e);
int cmd_serve_invite(struct cli *r, struct err *e);
/* cmd_serve.c */
extern const struct opt serve_opts[], serve_key_opts[];
int cmd_serve(struct cli *r, struct err *e);
int cmd_serve_routes(struct cli *r, struct err *e);
int cmd_serve_key(struct cli *r, struct err *e);

/* cmd_fleet.c, cmd_fleet_centre.c */
extern const struct opt fleet_join_opts[], serve_fleet_opts[], fleet_tenant_opts[], fleet_token_opts[],
	fleet_audit_opts[], fleet_view_opts[], fleet_orders_opts[], fleet_order_opts[], fleet_freeze_opts[],
	fleet_leave_opts[], fleet_search_opts[], fleet_export_opts[];
/* cmd_fleet_answer.c */
extern const struct opt fleet_questions_opts[], fleet_approve_opts[], fleet_deny_opts[],
	fleet_approvers_opts[], fleet_reader_opts[], fleet_retire_opts[], fleet_root_opts[];
int cmd_fleet_questions(struct cli *r, struct err *e);
int cmd_fleet_approve(struct cli *r, struct err *e);
int cmd_fleet_deny(struct cli *r, struct err *e);
int cmd_fleet_approvers(struct cli *r, struct err *e);
int cmd_fleet_reader(struct cli *r, struct err *e);
int cmd_fleet_export(struct cli *r, struct err *e);
int cmd_fleet_leave(struct cli *r, struct err *e);
int cmd_fleet_search(struct cli *r, struct err *e);
int cmd_fleet_audit(struct cli *r, struct err *e);
int cmd_fleet_freeze(struct cli *r, struct err *e);
int cmd_fleet_unfreeze(struct cli *r, struct err *e);
int cmd_fleet_lease(struct cli *r, struct err *e);
int cmd_fleet_revoke_key(struct cli *r, struct err *e);
int cmd_fleet_retire(struct cli *r, struct err *e);
int cmd_fleet_root(struct cli *r, struct err *e);
int cmd_fleet_orders(struct cli *r, struct err *e);
int cmd_fleet_join(struct cli *r, struct err *e);
int cmd_fleet_status(struct cli *r, struct err *e);
int cmd_fleet_sync(struct cli *r, struct err *e);
int cmd_fleet_ship(struct cli *r, struct err *e);
int cmd_fleet_rejoin(struct cli *r, struct err *e);
int cmd_serve_fleet(struct cli *r, struct err *e);
int cmd_fleet_tenant(struct cli *r, struct err *e);
int cmd_fleet_token(struct cli *r, struct err *e);
int cmd_fleet_nodes(struct cli *r, struct err *e);

/* cmd_freeze.c */
extern const struct opt freeze_opts[], unfreeze_opts[];
int cmd_freeze(struct cli *r, struct err *e);
int cmd_unfreeze(struct cli *r, struct err *e);

#endif
