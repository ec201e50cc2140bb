/* cmd.h — inside cli/: the functions and option specs that rows of commands.c point to, one block per cmd_*.c. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "cli/cli.h"

/* cmd_help.c */
extern const struct opt help_opts[];
int cmd_help(struct run *r, struct err *e);
int cmd_completion(struct run *r, struct err *e);
int cmd_version(struct run *r, struct err *e);

/* cmd_canonical.c, cmd_schema.c */
extern const struct opt canonical_opts[];
int cmd_canonical(struct run *r, struct err *e);
int cmd_schema_validate(struct run *r, struct err *e);

/* cmd_conform.c */
extern const struct opt conform_run_opts[];
int cmd_conform_run(struct run *r, struct err *e);

/* cmd_evidence.c */
extern const struct opt evidence_export_opts[], evidence_verify_opts[], evidence_prove_opts[];
int cmd_evidence_export(struct run *r, struct err *e);
int cmd_evidence_verify(struct run *r, struct err *e);
int cmd_evidence_prove(struct run *r, struct err *e);
int cmd_evidence_summary(struct run *r, struct err *e);

/* cmd_replay.c */
extern const struct opt replay_opts[];
int cmd_replay(struct run *r, struct err *e);

/* cmd_key.c, cmd_key_trust.c */
extern const struct opt key_export_opts[], key_rotate_opts[], key_revoke_opts[], key_trust_opts[];
int cmd_key_show(struct run *r, struct err *e);
int cmd_key_create(struct run *r, struct err *e);
int cmd_key_export(struct run *r, struct err *e);
int cmd_key_rotate(struct run *r, struct err *e);
int cmd_key_revoke(struct run *r, struct err *e);
int cmd_key_history(struct run *r, struct err *e);
int cmd_key_trust(struct run *r, struct err *e);

/* cmd_receipts.c */
extern const struct opt receipts_list_opts[], receipts_export_opts[], receipts_tail_opts[];
int cmd_receipts_list(struct run *r, struct err *e);
int cmd_receipts_show(struct run *r, struct err *e);
int cmd_receipts_export(struct run *r, struct err *e);
int cmd_receipts_tail(struct run *r, struct err *e);

/* cmd_log.c */
extern const struct opt log_head_opts[], log_prove_opts[], log_consistency_opts[], log_anchor_opts[],
	log_check_opts[], log_repair_opts[];
int cmd_log_head(struct run *r, struct err *e);
int cmd_log_prove(struct run *r, struct err *e);
int cmd_log_consistency(struct run *r, struct err *e);
int cmd_log_anchor(struct run *r, struct err *e);
int cmd_log_check(struct run *r, struct err *e);
int cmd_log_repair(struct run *r, struct err *e);

/* cmd_guard.c, cmd_guard_scan.c */
extern const struct opt guard_check_opts[], guard_explain_opts[], guard_scan_opts[];
int cmd_guard_check(struct run *r, struct err *e);
int cmd_guard_explain(struct run *r, struct err *e);
int cmd_guard_rules(struct run *r, struct err *e);
int cmd_guard_scan(struct run *r, struct err *e);

/* cmd_approval.c, cmd_approval_show.c, cmd_key_trust.c */
extern const struct opt approval_list_opts[], approval_approve_opts[], approval_deny_opts[],
	approval_grant_opts[];
int cmd_approval_list(struct run *r, struct err *e);
int cmd_approval_show(struct run *r, struct err *e);
int cmd_approval_approve(struct run *r, struct err *e);
int cmd_approval_deny(struct run *r, struct err *e);
int cmd_approval_revoke(struct run *r, struct err *e);
int cmd_approval_grant(struct run *r, struct err *e);
int cmd_approval_trust(struct run *r, struct err *e);

/* cmd_tune.c */
extern const struct opt guard_tune_opts[];
int cmd_guard_tune(struct run *r, struct err *e);

/* cmd_profile.c */
int cmd_profile_list(struct run *r, struct err *e);
int cmd_profile_show(struct run *r, struct err *e);
int cmd_profile_policy(struct run *r, struct err *e);

/* cmd_checkpoint.c, cmd_checkpoint_keep.c */
extern const struct opt checkpoint_create_opts[], checkpoint_list_opts[], checkpoint_preview_opts[],
	checkpoint_restore_opts[], checkpoint_task_opts[], checkpoint_prune_opts[], checkpoint_protect_opts[];
int cmd_checkpoint_create(struct run *r, struct err *e);
int cmd_checkpoint_list(struct run *r, struct err *e);
int cmd_checkpoint_show(struct run *r, struct err *e);
int cmd_checkpoint_preview(struct run *r, struct err *e);
int cmd_checkpoint_restore(struct run *r, struct err *e);
int cmd_checkpoint_recommend(struct run *r, struct err *e);
int cmd_checkpoint_finalize(struct run *r, struct err *e);
int cmd_checkpoint_prune(struct run *r, struct err *e);
int cmd_checkpoint_protect(struct run *r, struct err *e);
int cmd_checkpoint_policy(struct run *r, struct err *e);

/* cmd_verify.c */
extern const struct opt verify_opts[];
int cmd_verify(struct run *r, struct err *e);

/* cmd_workspace.c */
extern const struct opt init_opts[], doctor_opts[];
int cmd_init(struct run *r, struct err *e);
int cmd_detect(struct run *r, struct err *e);
int cmd_doctor(struct run *r, struct err *e);

/* cmd_run.c */
extern const struct opt profile_run_opts[], run_opts[];
int cmd_profile_run(struct run *r, struct err *e);
int cmd_run(struct run *r, struct err *e);

/* cmd_hook.c */
extern const struct opt hook_opts[];
int cmd_hook_pre_tool(struct run *r, struct err *e);
int cmd_hook_post_tool(struct run *r, struct err *e);

/* cmd_setup.c */
extern const struct opt setup_opts[], setup_status_opts[], setup_repair_opts[];
int cmd_setup(struct run *r, struct err *e);
int cmd_setup_status(struct run *r, struct err *e);
int cmd_setup_repair(struct run *r, struct err *e);
int cmd_setup_remove(struct run *r, struct err *e);

/* cmd_observe.c */
extern const struct opt status_opts[], dashboard_opts[], report_opts[], contract_opts[], diff_opts[];
int cmd_status(struct run *r, struct err *e);
int cmd_dashboard(struct run *r, struct err *e);
int cmd_watch(struct run *r, struct err *e);
int cmd_report(struct run *r, struct err *e);
int cmd_run_contract(struct run *r, struct err *e);
int cmd_capability_diff(struct run *r, struct err *e);
int cmd_log_sessions(struct run *r, struct err *e);

/* cmd_task.c */
extern const struct opt task_list_opts[], task_show_opts[], task_block_opts[], task_complete_opts[],
	task_retry_opts[], task_stale_opts[], task_reclaim_opts[], task_doctor_opts[];
int cmd_task_list(struct run *r, struct err *e);
int cmd_task_show(struct run *r, struct err *e);
int cmd_task_block(struct run *r, struct err *e);
int cmd_task_complete(struct run *r, struct err *e);
int cmd_task_retry(struct run *r, struct err *e);
int cmd_task_mark_stale(struct run *r, struct err *e);
int cmd_task_reclaim(struct run *r, struct err *e);
int cmd_task_doctor(struct run *r, struct err *e);

/* cmd_profile_state.c */
extern const struct opt profile_ledger_opts[], profile_rollback_opts[], profile_pause_opts[],
	profile_resume_opts[];
int cmd_profile_ledger(struct run *r, struct err *e);
int cmd_profile_rollback(struct run *r, struct err *e);
extern const struct opt profile_use_opts[];
int cmd_profile_use(struct run *r, struct err *e);
int cmd_profile_pause(struct run *r, struct err *e);
int cmd_profile_resume(struct run *r, struct err *e);
int cmd_profile_paused(struct run *r, struct err *e);

/* cmd_demo.c */
int cmd_demo(struct run *r, struct err *e);

/* cmd_db.c */
extern const struct opt db_query_opts[];
int cmd_db_init(struct run *r, struct err *e);
int cmd_db_rebuild(struct run *r, struct err *e);
int cmd_db_verify(struct run *r, struct err *e);
int cmd_db_status(struct run *r, struct err *e);
int cmd_db_query(struct run *r, struct err *e);

/* cmd_freeze.c */
extern const struct opt freeze_opts[];
int cmd_freeze(struct run *r, struct err *e);
int cmd_unfreeze(struct run *r, struct err *e);

#endif
