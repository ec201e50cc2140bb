/* commands_skill.h — rows of commands.c about skills: using them, making them, and how they live. */
#ifndef CLI_COMMANDS_SKILL_H
#define CLI_COMMANDS_SKILL_H

static const struct cmd row_skill_list = { KNOWN(skill_list), "", 0, 0,
	"list skills, their profiles, and whether their files are those that were accepted",
	"Skills lie in skills/, and where agent clients look for them: .claude/skills, .codex/skills, .agents/skills.",
	"$ helm skill list", skill_list_opts, NEEDS_WORKSPACE, cmd_skill_list };

static const struct cmd row_skill_show = { KNOWN(skill_show), "SKILL", 1, 1,
	"print what a skill may do, and the digests of its files", NULL, NULL, NULL, NEEDS_WORKSPACE,
	cmd_skill_show };

static const struct cmd row_skill_run = { KNOWN(skill_run), "SKILL", 1, 1,
	"start a skill as its contract says",
	"Runs runner.entrypoint of its contract under its default profile, with the words behind -- added.  The contract becomes walls: tools, paths, hosts, commands and budget (docs/formats/skill-contract.md).  The exit code is that of the command; 25 when it leaves the contract.",
	NULL, skill_run_opts, NEEDS_WORKSPACE | CHILD_ARGV, cmd_skill_run };

static const struct cmd row_skill_route = { KNOWN(skill_route), "WORDS...", 1, -1,
	"say which skill a request means",
	"Points for words that request and skill share.  One skill that reaches --min-score is the answer; of several all are listed; exit 1 when none does.",
	"$ helm skill new write-docs; helm skill route write the docs --min-score 30", skill_route_opts,
	NEEDS_WORKSPACE, cmd_skill_route };

static const struct cmd row_skill_usage = { KNOWN(skill_usage), "[SKILL]", 0, 1,
	"what skills cost, and when they last worked",
	"Counts over the runs of each skill: those that were ok, failed, were stopped, or ended otherwise (handed over, not verified, still running) are all runs; how many of them left the contract; how long they took.  Tokens and money are those that runs were given in --meta-json as input_tokens, output_tokens and cost_usd.",
	"$ helm skill usage", NULL, NEEDS_WORKSPACE, cmd_skill_usage };

static const struct cmd row_skill_validate = { KNOWN(skill_validate), "[SKILL]", 0, 1,
	"check contracts of skills, and whether their texts say what is needed",
	"Issues make a contract invalid, and then the skill does not run; warnings are advice.  Exit 0 or 1.",
	"$ helm skill validate", NULL, NEEDS_WORKSPACE, cmd_skill_validate };

static const struct cmd row_skill_accept = { KNOWN(skill_accept), "SKILL", 1, 1,
	"accept the files of a skill as they are now",
	"A skill is held to what its files were when it was first used or accepted; one that has changed is refused until this.  It is on record.  An agent cannot do it.",
	NULL, NULL, NEEDS_WORKSPACE, cmd_skill_accept };

static const struct cmd row_skill_sessions = { KNOWN(skill_sessions), "", 0, 0,
	"list sessions of clients in which skills are active",
	"A client that activates a skill is held to its contract until its session ends, or until a person ends it with --end.",
	"$ helm skill sessions", skill_sessions_opts, NEEDS_WORKSPACE, cmd_skill_sessions };

static const struct cmd row_skill_new = { KNOWN(skill_new), "NAME", 1, 1,
	"make a new skill from the template", NULL, "$ helm skill new release-notes", skill_new_opts,
	NEEDS_WORKSPACE, cmd_skill_new };

static const struct cmd row_skill_create = { KNOWN(skill_create), "", 0, 0,
	"make a new skill from the template, as the Python Helm does", NULL, NULL, skill_create_opts,
	NEEDS_WORKSPACE, cmd_skill_create };

static const struct cmd row_skill_draft_from_task = { KNOWN(skill_draft_from_task), "", 0, 0,
	"make a draft of a skill from a completed task",
	"Writes skill_drafts/NAME with what the task did; a draft is not live until it is promoted.", NULL,
	skill_draft_opts, NEEDS_WORKSPACE, cmd_skill_draft };

static const struct cmd row_skill_assess_draft = { KNOWN(skill_assess_draft), "", 0, 0,
	"say what is missing of a draft",
	"Also kept in meta/assessment.json of the draft.  Exit 0 when it can be promoted.", NULL,
	skill_name_opts, NEEDS_WORKSPACE, cmd_skill_assess };

static const struct cmd row_skill_promote_draft = { KNOWN(skill_promote_draft), "", 0, 0,
	"make a draft a live skill",
	"Takes a draft with nothing missing, and --approve.  Prints JSON.  The files are accepted as they are.",
	NULL, skill_promote_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_skill_promote };

static const struct cmd row_skill_diff = { KNOWN(skill_diff), "", 0, 0,
	"show how a draft differs from the live skill", NULL, NULL, skill_name_opts, NEEDS_WORKSPACE,
	cmd_skill_diff };

static const struct cmd row_skill_review = { KNOWN(skill_review), "", 0, 0, "the same as `skill-diff`", NULL,
	NULL, skill_name_opts, NEEDS_WORKSPACE, cmd_skill_diff };

static const struct cmd row_skill_approve = { KNOWN(skill_approve), "", 0, 0,
	"the same as `skill promote-draft --approve`", NULL, NULL, skill_approve_opts,
	NEEDS_WORKSPACE | DOCUMENT, cmd_skill_approve };

static const struct cmd row_skill_reject = { KNOWN(skill_reject), "", 0, 0, "say why a draft is not taken",
	NULL, NULL, skill_reject_opts, NEEDS_WORKSPACE, cmd_skill_reject };

static const struct cmd row_life_scan = { KNOWN(life_scan), "", 0, 0,
	"take note of skills that are new, gone or archived", NULL, NULL, life_scan_opts, NEEDS_WORKSPACE,
	cmd_life_scan };

static const struct cmd row_life_status = { KNOWN(life_status), "", 0, 0,
	"counts of skills, and what to do about them", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_status };

static const struct cmd row_life_report = { KNOWN(life_report), "", 0, 0, "the same as a document", NULL,
	NULL, life_report_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_life_report };

static const struct cmd row_life_pin = { KNOWN(life_pin), "SKILL", 1, 1,
	"keep a skill, however long it is not used", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_pin };

static const struct cmd row_life_unpin = { KNOWN(life_unpin), "SKILL", 1, 1, "the opposite of `pin`", NULL,
	NULL, NULL, NEEDS_WORKSPACE, cmd_life_unpin };

static const struct cmd row_life_stale = { KNOWN(life_stale), "", 0, 0,
	"list skills that nobody uses any more", NULL, NULL, life_apply_opts, NEEDS_WORKSPACE,
	cmd_life_stale };

static const struct cmd row_life_archive = { KNOWN(life_archive), "SKILL", 1, 1,
	"move a skill to skills/.archive", NULL, NULL, life_apply_opts, NEEDS_WORKSPACE, cmd_life_archive };

static const struct cmd row_life_restore = { KNOWN(life_restore), "SKILL", 1, 1,
	"bring a skill back from the archive", NULL, NULL, life_apply_opts, NEEDS_WORKSPACE,
	cmd_life_restore };

static const struct cmd row_life_events = { KNOWN(life_events), "", 0, 0, "list what happened to skills",
	NULL, NULL, life_events_opts, NEEDS_WORKSPACE, cmd_life_events };

static const struct cmd row_life_negative_claims = { KNOWN(life_negative_claims), "", 0, 0,
	"list lines of skills that say that something does not work", NULL, NULL, life_claims_opts,
	NEEDS_WORKSPACE, cmd_life_claims };

static const struct cmd row_life_revalidation_due = { KNOWN(life_revalidation_due), "", 0, 0,
	"list such lines that nobody has looked at for too long", NULL, NULL, NULL, NEEDS_WORKSPACE,
	cmd_life_due };

static const struct cmd row_life_revalidate_claim = { KNOWN(life_revalidate_claim), "", 0, 0,
	"say whether such a line still holds, or have a command show it", NULL, NULL, life_revalidate_opts,
	NEEDS_WORKSPACE, cmd_life_revalidate };

static const struct cmd row_life_umbrella = { KNOWN(life_umbrella), "", 0, 0, "list skills that could be one",
	NULL, NULL, life_umbrella_opts, NEEDS_WORKSPACE, cmd_life_umbrella };

static const struct cmd row_life_ledger = { KNOWN(life_ledger), "", 0, 0,
	"events with the tasks they belong to", NULL, NULL, life_events_opts, NEEDS_WORKSPACE,
	cmd_life_ledger };

static const struct cmd row_life_outcome_report = { KNOWN(life_outcome_report), "", 0, 0,
	"how runs of each skill came out", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_outcomes };

static const struct cmd row_life_outcome_candidates = { KNOWN(life_outcome_candidates), "", 0, 0,
	"list runs of skills that failed, were repeated or corrected", NULL, NULL, life_limit_opts,
	NEEDS_WORKSPACE, cmd_life_candidates };

static const struct cmd row_life_selection_stats = { KNOWN(life_selection_stats), "", 0, 0,
	"why skills were chosen, counted", NULL, NULL, life_events_opts, NEEDS_WORKSPACE,
	cmd_life_selection };

static const struct cmd row_life_promote_from_trajectory = { KNOWN(life_promote_from_trajectory), "", 0, 0,
	"make a draft from such a run", NULL, NULL, life_trajectory_opts, NEEDS_WORKSPACE,
	cmd_life_trajectory };

static const struct cmd row_life_observe = { KNOWN(life_observe), "", 0, 0,
	"take note of skills that were read or changed", NULL, NULL, life_scan_opts, NEEDS_WORKSPACE,
	cmd_life_observe };

static const struct cmd row_life_view = { KNOWN(life_view), "SKILL", 1, 1, "note that a skill was read", NULL,
	NULL, NULL, NEEDS_WORKSPACE, cmd_life_view };

static const struct cmd row_curator_scan = { KNOWN(curator_scan), "", 0, 0,
	"the same as `skill-lifecycle scan`", NULL, NULL, life_scan_opts, NEEDS_WORKSPACE, cmd_life_scan };

static const struct cmd row_curator_status = { KNOWN(curator_status), "", 0, 0,
	"the same as `skill-lifecycle status`", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_status };

static const struct cmd row_curator_report = { KNOWN(curator_report), "", 0, 0,
	"the same as `skill-lifecycle report`", NULL, NULL, life_report_opts, NEEDS_WORKSPACE | DOCUMENT,
	cmd_life_report };

static const struct cmd row_curator_pin = { KNOWN(curator_pin), "SKILL", 1, 1,
	"the same as `skill-lifecycle pin`", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_pin };

static const struct cmd row_curator_unpin = { KNOWN(curator_unpin), "SKILL", 1, 1,
	"the same as `skill-lifecycle unpin`", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_unpin };

static const struct cmd row_curator_stale = { KNOWN(curator_stale), "", 0, 0,
	"the same as `skill-lifecycle stale`", NULL, NULL, life_apply_opts, NEEDS_WORKSPACE, cmd_life_stale };

static const struct cmd row_curator_archive = { KNOWN(curator_archive), "SKILL", 1, 1,
	"the same as `skill-lifecycle archive`", NULL, NULL, life_apply_opts, NEEDS_WORKSPACE,
	cmd_life_archive };

static const struct cmd row_curator_restore = { KNOWN(curator_restore), "SKILL", 1, 1,
	"the same as `skill-lifecycle restore`", NULL, NULL, life_apply_opts, NEEDS_WORKSPACE,
	cmd_life_restore };

static const struct cmd row_curator_events = { KNOWN(curator_events), "", 0, 0,
	"the same as `skill-lifecycle events`", NULL, NULL, life_events_opts, NEEDS_WORKSPACE,
	cmd_life_events };

static const struct cmd row_curator_negative_claims = { KNOWN(curator_negative_claims), "", 0, 0,
	"the same as `skill-lifecycle negative-claims`", NULL, NULL, life_claims_opts, NEEDS_WORKSPACE,
	cmd_life_claims };

static const struct cmd row_curator_revalidation_due = { KNOWN(curator_revalidation_due), "", 0, 0,
	"the same as `skill-lifecycle revalidation-due`", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_due };

static const struct cmd row_curator_revalidate_claim = { KNOWN(curator_revalidate_claim), "", 0, 0,
	"the same as `skill-lifecycle revalidate-claim`", NULL, NULL, life_revalidate_opts, NEEDS_WORKSPACE,
	cmd_life_revalidate };

static const struct cmd row_curator_umbrella = { KNOWN(curator_umbrella), "", 0, 0,
	"the same as `skill-lifecycle umbrella`", NULL, NULL, life_umbrella_opts, NEEDS_WORKSPACE,
	cmd_life_umbrella };

static const struct cmd row_curator_ledger = { KNOWN(curator_ledger), "", 0, 0,
	"the same as `skill-lifecycle ledger`", NULL, NULL, life_events_opts, NEEDS_WORKSPACE,
	cmd_life_ledger };

static const struct cmd row_curator_outcome_report = { KNOWN(curator_outcome_report), "", 0, 0,
	"the same as `skill-lifecycle outcome-report`", NULL, NULL, NULL, NEEDS_WORKSPACE,
	cmd_life_outcomes };

static const struct cmd row_curator_outcome_candidates = { KNOWN(curator_outcome_candidates), "", 0, 0,
	"the same as `skill-lifecycle outcome-candidates`", NULL, NULL, life_limit_opts, NEEDS_WORKSPACE,
	cmd_life_candidates };

static const struct cmd row_curator_selection_stats = { KNOWN(curator_selection_stats), "", 0, 0,
	"the same as `skill-lifecycle selection-stats`", NULL, NULL, life_events_opts, NEEDS_WORKSPACE,
	cmd_life_selection };

static const struct cmd row_curator_promote_from_trajectory = { KNOWN(curator_promote_from_trajectory), "", 0,
	0, "the same as `skill-lifecycle promote-from-trajectory`", NULL, NULL, life_trajectory_opts,
	NEEDS_WORKSPACE, cmd_life_trajectory };

static const struct cmd row_curator_observe = { KNOWN(curator_observe), "", 0, 0,
	"the same as `skill-lifecycle observe`", NULL, NULL, life_scan_opts, NEEDS_WORKSPACE,
	cmd_life_observe };

static const struct cmd row_curator_view = { KNOWN(curator_view), "SKILL", 1, 1,
	"the same as `skill-lifecycle view`", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_life_view };

static const struct cmd row_promotion_digest = { KNOWN(promotion_digest), "", 0, 0,
	"list work that succeeded three times or more and could become a skill", NULL, NULL,
	promotion_digest_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_promotion_digest };

static const struct cmd row_promotion_pending = { KNOWN(promotion_pending), "", 0, 0,
	"list what was offered and not answered", NULL, NULL, promotion_state_opts, NEEDS_WORKSPACE,
	cmd_promotion_pending };

static const struct cmd row_promotion_details = { KNOWN(promotion_details), "ID", 1, 1, "one of them", NULL,
	NULL, promotion_state_opts, NEEDS_WORKSPACE, cmd_promotion_details };

static const struct cmd row_promotion_approve = { KNOWN(promotion_approve), "ID", 1, 1,
	"say that it shall become a skill, and make the draft",
	"The draft is made of the newest task of that name; the next command is printed.  Nothing is installed.",
	NULL, promotion_decide_opts, NEEDS_WORKSPACE, cmd_promotion_approve };

static const struct cmd row_promotion_reject = { KNOWN(promotion_reject), "ID", 1, 1, "say that it shall not",
	NULL, NULL, promotion_decide_opts, NEEDS_WORKSPACE, cmd_promotion_reject };

static const struct cmd row_promotion_reply = { KNOWN(promotion_reply), "TEXT", 1, 1,
	"an answer as somebody wrote it: approve ID, reject ID why, details ID", NULL, NULL,
	promotion_decide_opts, NEEDS_WORKSPACE, cmd_promotion_reply };

static const struct cmd row_promotion_state_path = { KNOWN(promotion_state_path), "", 0, 0,
	"print where the answers are kept", NULL, NULL, promotion_state_opts, NEEDS_WORKSPACE,
	cmd_promotion_state_path };

static const struct cmd row_intake_scan = { KNOWN(intake_scan), "DIR", 1, 1,
	"read every file of a skill from outside, and say whether it can be taken",
	"Commands are judged by the guard; instructions to the model, the network, secrets and characters that cannot be seen are looked for in all files.  Nothing is run.  Exit 0 only when the verdict is accept.",
	NULL, NULL, MAY_WORKSPACE, cmd_intake_scan };

static const struct cmd row_intake_classify = { KNOWN(intake_classify), "NAME", 1, 1,
	"sort a skill from outside by its name and description", NULL,
	"$ helm skill-intake classify release-checklist", intake_classify_opts, 0, cmd_intake_classify };

static const struct cmd row_intake_validate = { KNOWN(intake_validate), "NAME", 1, 1,
	"check a class and what is done with it", NULL, NULL, intake_validate_opts, 0, cmd_intake_validate };

static const struct cmd row_profile_audit_manifest_quality = { KNOWN(profile_audit_manifest_quality), "", 0,
	0, "contracts that are valid and could be better", "Exit 0 or 2.", NULL, NULL, NEEDS_WORKSPACE,
	cmd_profile_audit_quality };

static const struct cmd row_profile_policy = { KNOWN(profile_policy), "", 0, 0,
	"show which skills may use which profiles",
	"Merges references/skill_profile_policies.json with what each skill's contract.json says; the contract wins.  Prints JSON.",
	"$ helm profile policy", NULL, MAY_WORKSPACE | DOCUMENT, cmd_profile_policy };

#endif
