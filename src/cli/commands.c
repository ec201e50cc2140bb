/* commands.c — THE TABLE.  Every command is one row; see cli.h for what a row makes. */
#include "cli/cmd.h"

/* Families: the first word of two-word commands, in the order of the overview. */
const struct family families[] = {
	{ "guard", "what would be decided about a command, and why" },
	{ "profile", "what a run may do, by name" },
	{ "task", "tasks and their states" },
	{ "approval", "what waits for a person's answer, and what was granted" },
	{ "setup", "put Helm in front of an agent client, or take it away" },
	{ "db", "a query index over the ledgers" },
	{ "hook", "the doors that agent clients knock at" },
	{ "checkpoint", "save the files of a workspace, and bring them back" },
	{ "receipts", "what was decided and what happened" },
	{ "log", "the tamper-evident log over the receipts" },
	{ "key", "the key that signs what this machine records" },
	{ "evidence", "export, verify and show packs of evidence" },
	{ "conform", "run published cases against this program" },
	{ "schema", "documents against their contracts" },
	{ NULL, NULL },
};
const size_t family_count = ARRAY_SIZE(families) - 1;

const struct cmd commands[] = {
	/* Workspaces. */
	{ "init", "", 0, 0, "create or complete a workspace",
		"Creates the directories of a workspace and copies the reference files that are missing.  "
		"Nothing that is there\n"
		"is changed; --force replaces reference files by the shipped ones and keeps each changed "
		"file as FILE.bak.",
		"$ helm init --path ~/.helm/workspace   # the default place", init_opts, NEW_WORKSPACE,
		cmd_init, NULL },
	{ "detect", "", 0, 0, "tell what kind of directory this is",
		"Reads markers only; writes nothing.  Also names agent workspaces and note vaults found "
		"below the home directory.",
		"$ helm detect --path .", NULL, ANY_WORKSPACE, cmd_detect, NULL },
	{ "doctor", "", 0, 0, "check that workspace, keys and protections are sound",
		"Each check is one line, ok or fail, with what to do about it.  Exit 0 when healthy, 1 when "
		"not.",
		"$ helm doctor", doctor_opts, ANY_WORKSPACE, cmd_doctor, "helm_doctor" },

	/* Runs. */
	{ "run", "-- COMMAND [ARGS...]", 0, 0, "run a command under the workspace's default profile",
		"Short for 'profile run' with the default profile.", "$ helm run -- git status --short",
		run_opts, NEEDS_WORKSPACE | CHILD_ARGV, cmd_run, NULL },
	{ "profile run", "PROFILE -- COMMAND [ARGS...]", 1, 1, "run a command under a profile",
		"The command is understood first; the decision is signed and on disk before anything starts; "
		"the kernel "
		"enforces the\nprofile; what happened is recorded.  Exit code: the command's own, 24 when a "
		"person must "
		"approve, 25 when denied.",
		"$ helm profile run inspect_local --task-name look -- git status --short", profile_run_opts,
		NEEDS_WORKSPACE | CHILD_ARGV | PATH_IS_VALUE, cmd_profile_run, NULL },

	/* The guard. */
	{ "guard check", "(-- COMMAND ARGS... | --shell TEXT)", 0, 0,
		"say what would be decided about a command",
		"Nothing runs and nothing is written.  Exit 0: it would run; 24: a person must approve; 25: "
		"denied.\n"
		"\n"
		"With --batch every line of standard input is a question, {\"id\", \"shell\" or \"argv\", "
		"\"profile\", "
		"\"cwd\"}, and is\n"
		"answered by one line, in order, as soon as it is there.  A line that cannot be used is "
		"answered with an error.",
		"$ helm guard check -- git status   # allow\n"
		"$ helm guard check --profile inspect_local --json -- ls -la",
		guard_check_opts, MAY_WORKSPACE | CHILD_ARGV, cmd_guard_check, "helm_guard_check" },
	{ "guard explain", "(-- COMMAND ARGS... | --shell TEXT)", 0, 0,
		"explain what a command would do, part by part, and what the guard says",
		"The command as a tree: what each part does, which rule speaks, what to do instead.  Exit "
		"codes as guard check.",
		"$ helm guard explain --shell 'git log --oneline | head -3'", guard_explain_opts,
		MAY_WORKSPACE | CHILD_ARGV, cmd_guard_explain, NULL },
	{ "guard scan", "FILE...", 1, -1, "find commands in files that would be stopped",
		"Reads shell scripts, makefiles, CI files of GitHub and GitLab, Dockerfiles, package.json "
		"and shell histories; "
		"\"-\" is a\n"
		"script on standard input.  Exit 0: nothing would be stopped; 1: something would.",
		NULL, guard_scan_opts, MAY_WORKSPACE, cmd_guard_scan, "helm_guard_scan" },
	{ "guard tune", "", 0, 0, "propose grants that would have saved the most questions",
		"Reads the questions of the last days and says which grants would have answered most of "
		"them, what they cover and "
		"what they\nwould have let through, first of all what you denied.  Grants nothing unless "
		"told: --apply K shows proposal "
		"K and takes the\nword APPROVE, as every approval does.",
		"$ helm guard tune --days 30", guard_tune_opts, NEEDS_WORKSPACE, cmd_guard_tune, NULL },
	{ "guard rules", "", 0, 0, "list the rules of the guard", NULL, "$ helm guard rules", NULL,
		MAY_WORKSPACE, cmd_guard_rules, NULL },

	/* Looking. */
	{ "status", "", 0, 0, "say how things stand",
		"What is in force, what agents did, what waits, what is wrong and how to mend it.  With "
		"--brief: a few "
		"plain sentences, and one command to go on with.",
		"$ helm status --brief", status_opts, NEEDS_WORKSPACE, cmd_status, "helm_status" },
	{ "dashboard", "", 0, 0, "show recent tasks, checkpoints and what to do next", NULL,
		"$ helm dashboard", dashboard_opts, NEEDS_WORKSPACE, cmd_dashboard, NULL },
	{ "watch", "", 0, 0, "the dashboard, live, and answer what waits",
		"Shows what waits for a person by number.  A number shows that request; then APPROVE lets it "
		"happen once, "
		"DENY refuses it.\nAn empty line ends it.",
		"$ helm watch", NULL, NEEDS_WORKSPACE, cmd_watch, NULL },
	{ "report", "", 0, 0, "what happened: runs, what was stopped and why, checkpoints, receipts",
		"A list that is cut says so; --limit 0 shows all.  The html form is one self-contained page.",
		"$ helm report --format markdown", report_opts, NEEDS_WORKSPACE, cmd_report, "helm_report" },
	{ "run-contract", "", 0, 0, "show what a task was allowed to do", NULL, "$ helm run-contract",
		contract_opts, NEEDS_WORKSPACE, cmd_run_contract, NULL },
	{ "capability-diff", "", 0, 0, "compare what two tasks were allowed to do", NULL,
		"$ helm capability-diff", diff_opts, NEEDS_WORKSPACE, cmd_capability_diff, NULL },
	{ "task list", "", 0, 0, "list tasks, newest last", NULL, "$ helm task list", task_list_opts,
		NEEDS_WORKSPACE, cmd_task_list, "helm_task_list" },
	{ "task show", "ID", 1, 1, "show one task; a unique beginning of its id is enough", NULL, NULL,
		task_show_opts, NEEDS_WORKSPACE, cmd_task_show, NULL },
	{ "task block", "ID", 1, 1, "mark a task as blocked", NULL, NULL, task_block_opts, NEEDS_WORKSPACE,
		cmd_task_block, NULL },
	{ "task complete", "ID", 1, 1, "mark a task as completed, with evidence", NULL, NULL,
		task_complete_opts, NEEDS_WORKSPACE, cmd_task_complete, NULL },
	{ "task retry", "ID", 1, 1, "make a new task from one that ended", NULL, NULL, task_retry_opts,
		NEEDS_WORKSPACE, cmd_task_retry, NULL },
	{ "task mark-stale", "ID", 1, 1, "mark a task nobody works on any more", NULL, NULL, task_stale_opts,
		NEEDS_WORKSPACE, cmd_task_mark_stale, NULL },
	{ "task reclaim", "ID", 1, 1, "make a task ready again", NULL, NULL, task_reclaim_opts,
		NEEDS_WORKSPACE, cmd_task_reclaim, NULL },
	{ "task doctor", "", 0, 0, "find tasks that are stuck, dead or without evidence",
		"Changes nothing unless --fix is given.  Exit 1 when something needs attention.",
		"$ helm task doctor", task_doctor_opts, NEEDS_WORKSPACE, cmd_task_doctor, NULL },

	/* Profiles. */
	{ "profile list", "", 0, 0, "list the execution profiles", NULL, "$ helm profile list", NULL,
		MAY_WORKSPACE, cmd_profile_list, "helm_profile_list" },
	{ "profile show", "NAME", 1, 1, "show one profile as JSON", NULL,
		"$ helm profile show workspace_edit", NULL, MAY_WORKSPACE, cmd_profile_show,
		"helm_profile_show" },
	{ "profile policy", "", 0, 0, "show which skills may use which profiles",
		"Merges references/skill_profile_policies.json with what each skill's contract.json says; "
		"the central "
		"file wins.",
		"$ helm profile policy", NULL, MAY_WORKSPACE, cmd_profile_policy, NULL },

	/* Going back. */
	{ "checkpoint create", "", 0, 0, "save the workspace's files to go back to",
		"Saves every file below the chosen paths, tracked or not, with modes, times, links and empty "
		"directories.  "
		"Left out:\n"
		"Helm's own state, version-control directories, and what .helmignore, --exclude and\n"
		"references/checkpoint_policy.json name.  A file that has not changed since the last "
		"checkpoint costs one "
		"look at it.\n"
		"In a pipe the record is printed as JSON.",
		"$ helm checkpoint create --label before-upgrade", checkpoint_create_opts, NEEDS_WORKSPACE,
		cmd_checkpoint_create, "helm_checkpoint_create" },
	{ "checkpoint list", "", 0, 0, "list checkpoints, newest last", NULL, "$ helm checkpoint list",
		checkpoint_list_opts, NEEDS_WORKSPACE, cmd_checkpoint_list, "helm_checkpoint_list" },
	{ "checkpoint show", "ID", 1, 1, "show one checkpoint's record",
		"ID is an id, the beginning of one, or 'latest'.", NULL, NULL, NEEDS_WORKSPACE,
		cmd_checkpoint_show, NULL },
	{ "checkpoint preview", "ID", 1, 1, "show what a checkpoint holds, and how it differs from the disk",
		"With --diff each file is marked same, changed, touched (only mode or time), missing or new, "
		"and text changes "
		"are\n"
		"shown as they would be made.  Changes nothing.  In a pipe the answer is JSON.",
		NULL, checkpoint_preview_opts, NEEDS_WORKSPACE, cmd_checkpoint_preview,
		"helm_checkpoint_preview" },
	{ "checkpoint restore", "ID", 1, 1, "bring files back from a checkpoint",
		"What is about to be replaced is saved first, as a checkpoint labelled pre-restore.  Every "
		"file is replaced "
		"in one step,\n"
		"inside the workspace only, never through a link.  New files stay unless --delete-new is "
		"given.  The restore "
		"is recorded\n"
		"in the task ledger.  After an interruption, run it again.",
		NULL, checkpoint_restore_opts, NEEDS_WORKSPACE, cmd_checkpoint_restore,
		"helm_checkpoint_restore" },
	{ "checkpoint recommend", "", 0, 0, "name the checkpoint that leads back to before a risky task",
		NULL, NULL, checkpoint_task_opts, NEEDS_WORKSPACE, cmd_checkpoint_recommend,
		"helm_checkpoint_recommend" },
	{ "checkpoint-recommend", "", 0, 0, "the same as `checkpoint recommend`", NULL, NULL,
		checkpoint_task_opts, NEEDS_WORKSPACE | HIDDEN, cmd_checkpoint_recommend, NULL },
	{ "checkpoint finalize", "", 0, 0, "show what a task's end means for its checkpoint and memory",
		"Inspection only; writes nothing.", NULL, checkpoint_task_opts, NEEDS_WORKSPACE,
		cmd_checkpoint_finalize, NULL },
	{ "checkpoint prune", "", 0, 0, "say which checkpoints are no longer needed; --apply removes them",
		"Kept are: the newest, the young, the pinned, and those that a task names.  Also finds what "
		"crashes left "
		"behind.",
		NULL, checkpoint_prune_opts, NEEDS_WORKSPACE, cmd_checkpoint_prune, NULL },
	{ "checkpoint protect", "ID", 1, 1, "keep a checkpoint whatever retention says", NULL, NULL,
		checkpoint_protect_opts, NEEDS_WORKSPACE, cmd_checkpoint_protect, NULL },
	{ "checkpoint policy", "", 0, 0, "show retention and limits", NULL, "$ helm checkpoint policy", NULL,
		NEEDS_WORKSPACE, cmd_checkpoint_policy, NULL },

	{ "profile ledger", "", 0, 0, "print the last rows of the task ledger", NULL,
		"$ helm profile ledger --limit 5", profile_ledger_opts, NEEDS_WORKSPACE, cmd_profile_ledger,
		NULL },
	{ "profile rollback", "", 0, 0, "say which checkpoint undoes a risky task", NULL,
		"$ helm profile rollback", profile_rollback_opts, NEEDS_WORKSPACE, cmd_profile_rollback,
		NULL },
	{ "profile use", "PROFILE", 1, 1, "judge agents' calls and 'helm run' by this profile from now on",
		"The choice is a signed record.  A guarded run cannot make it.\n\nWith --destructive "
		"checkpoint "
		"a command whose every loss is files of this workspace runs without a\nquestion, after "
		"those files were saved; the receipt names the checkpoint that undoes it.",
		"$ helm profile use service_ops\n$ helm profile use workspace_edit --destructive checkpoint",
		profile_use_opts, NEEDS_WORKSPACE, cmd_profile_use, NULL },
	{ "profile pause", "PROFILE", 1, 1, "let nobody start this profile for now",
		"Runs are stopped by it only while HELM_PAUSE_GATE is set.", NULL, profile_pause_opts,
		NEEDS_WORKSPACE, cmd_profile_pause, NULL },
	{ "profile resume", "PROFILE", 1, 1, "end a pause, with the token it was given", NULL, NULL,
		profile_resume_opts, NEEDS_WORKSPACE, cmd_profile_resume, NULL },
	{ "profile paused", "", 0, 0, "list paused profiles", NULL, "$ helm profile paused", NULL,
		NEEDS_WORKSPACE, cmd_profile_paused, NULL },
	{ "demo", "", 0, 0, "write a small workspace to try things on",
		"Writes to --path DIR, default ./helm-demo; an existing "
		"directory that is not empty is refused.",
		"$ helm demo --path demo-workspace", NULL, 0, cmd_demo, NULL },

	{ "db init", "", 0, 0, "make the query index, or bring it up to the ledgers", NULL, "$ helm db init",
		NULL, NEEDS_WORKSPACE, cmd_db_init, NULL },
	{ "db rebuild", "", 0, 0, "make the query index anew from the ledgers", NULL, "$ helm db rebuild",
		NULL, NEEDS_WORKSPACE, cmd_db_rebuild, NULL },
	{ "db verify", "", 0, 0, "compare the query index with the ledgers",
		"Exit 1 when they differ; 'db rebuild' mends it.", "$ helm db verify", NULL, NEEDS_WORKSPACE,
		cmd_db_verify, NULL },
	{ "db status", "", 0, 0, "say whether there is a query index, and how large it is", NULL,
		"$ helm db status", NULL, NEEDS_WORKSPACE, cmd_db_status, NULL },
	{ "db query", "", 0, 0, "ask the query index for tasks or guard decisions",
		"The index is brought up to the ledgers first.", "$ helm db query --guard-action deny",
		db_query_opts, NEEDS_WORKSPACE, cmd_db_query, NULL },

	{ "log sessions", "", 0, 0, "list the sessions of agents, with what was allowed, asked and denied",
		"'helm report --session ID' shows one of them, call by call.", "$ helm log sessions", NULL,
		NEEDS_WORKSPACE, cmd_log_sessions, NULL },

	/* Approvals. */
	{ "approval list", "", 0, 0, "list what waits for a person's answer, and the grants in force", NULL,
		"$ helm approval list", approval_list_opts, NEEDS_WORKSPACE, cmd_approval_list, NULL },
	{ "approval show", "ID", 1, 1, "show one request or grant",
		"A request is shown only when it is what was asked: its text must agree with the signed "
		"decision it "
		"belongs to.",
		NULL, NULL, NEEDS_WORKSPACE, cmd_approval_show, NULL },
	{ "approval approve", "ID", 1, 1, "say yes to a request, once or for longer",
		"Shows the request and what your answer would let through, then waits for the word APPROVE.  "
		"Needs a "
		"terminal that is not\nan agent's, or --key with a key registered by 'approval trust'.\n"
		"\n"
		"The grant is a signed receipt and is named in the record of everything it lets through.  It "
		"never lifts "
		"a denial.  By\neffect, never by text: --shape, --path and --host hold for any command "
		"whose every "
		"asking effect they cover.",
		NULL, approval_approve_opts, NEEDS_WORKSPACE | PATH_IS_VALUE, cmd_approval_approve, NULL },
	{ "approval deny", "ID", 1, 1, "say no to a request",
		"Shown and typed as an approval is; the word is DENY.", NULL, approval_deny_opts,
		NEEDS_WORKSPACE, cmd_approval_deny, NULL },
	{ "approval cancel", "ID", 1, 1, "the same as `approval deny`", NULL, NULL, approval_deny_opts,
		NEEDS_WORKSPACE | HIDDEN, cmd_approval_deny, NULL },
	{ "approval revoke", "GRANT", 1, 1, "take a grant back", "The word is REVOKE.", NULL,
		approval_deny_opts, NEEDS_WORKSPACE, cmd_approval_revoke, NULL },
	{ "approval grant", "(-- COMMAND ARGS... | --shell TEXT)", 0, 0,
		"grant something before it is asked for",
		"The command is not run: it shows what is meant.  What it would ask about is granted, as far "
		"as the "
		"options say.\n"
		"\n"
		"  helm approval grant --shell 'rm -rf build' --shape --for 2h",
		NULL, approval_grant_opts, NEEDS_WORKSPACE | CHILD_ARGV | PATH_IS_VALUE, cmd_approval_grant,
		NULL },
	{ "approval trust", "add|list|remove [KEY]", 1, 2,
		"keep the keys that may approve without a terminal",
		"KEY is 64 hex digits, or a file with them.  Adding and removing take a person at a "
		"terminal.",
		"$ helm approval trust list", key_trust_opts, NEEDS_WORKSPACE, cmd_approval_trust, NULL },

	/* Stop. */
	{ "freeze", "[status]", 0, 1, "allow nothing any more, to anybody or to one principal",
		"A signed record that every decision reads first; it stands above every mode and approval.  "
		"'freeze status' shows "
		"what is\nfrozen.",
		"$ helm freeze status", freeze_opts, NEEDS_WORKSPACE, cmd_freeze, NULL },
	{ "unfreeze", "", 0, 0, "lift a freeze", NULL, NULL, freeze_opts, NEEDS_WORKSPACE, cmd_unfreeze,
		NULL },

	/* Agent clients.  The verbs of setup stand before its bare form, which takes any other word for a client. */
	{ "setup status", "[CLIENT]", 0, 1, "say for each agent client whether the guard is really armed",
		"Looks at the settings of this user and of the project: whether our entries are there, what "
		"they run exists, "
		"nothing\nlets the client skip them, and whether Codex trusts them.  Reads only.  Ends with "
		"0 "
		"only when a guard is\narmed and none that was put in is less than that.",
		"$ helm setup status", setup_status_opts, NEEDS_WORKSPACE, cmd_setup_status, NULL },
	{ "setup repair", "CLIENT", 1, 1, "finish or take back a change of settings that was interrupted",
		NULL, "$ helm setup repair claude-code", setup_repair_opts, NEEDS_WORKSPACE, cmd_setup_repair,
		NULL },
	{ "setup remove", "CLIENT", 1, 1, "take our entries out of a client's settings",
		"A file that nobody changed since is given back byte for byte; from another one only our "
		"entries go.  Receipts "
		"and\nkeys stay.",
		NULL, setup_opts, NEEDS_WORKSPACE, cmd_setup_remove, NULL },
	{ "setup", "CLIENT", 1, 1, "put Helm in front of claude-code, codex, cursor or hermes",
		"Adds our entries to the client's settings and keeps every other byte of them.  Then the "
		"command that was "
		"written is\nrun as the client would, with a destructive call: it must be denied, with a "
		"receipt that "
		"verifies, or everything is\ntaken back.  For other clients what to paste is printed.  Codex "
		"runs a hook only "
		"after a person trusted it (/hooks).\nEnds with 0 only when the guard is armed.",
		"$ helm setup claude-code --scope user --dry-run", setup_opts, NEEDS_WORKSPACE, cmd_setup,
		NULL },
	{ "hook pre-tool", "", 0, 0, "answer an agent client before it makes a tool call",
		"Reads the client's payload on standard input.  No answer means: go on.  A refusal is said "
		"in the client's own "
		"words and is\nsigned and on disk before it is said.  Whatever fails ends in a block.",
		"$ echo '{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | helm hook pre-tool "
		"--client "
		"claude-code",
		hook_opts, 0, cmd_hook_pre_tool, NULL },
	{ "hook post-tool", "", 0, 0, "record what became of a tool call",
		"Reads the client's payload on standard input and binds the outcome to the decision of the "
		"same call.",
		NULL, hook_opts, HIDDEN, cmd_hook_post_tool, NULL },

	/* Proof. */
	{ "evidence export", "", 0, 0, "write a signed pack of what was recorded",
		"Receipts, the ledgers' rows and the log's newest head go into one archive with a manifest, "
		"signed by your key.\nThe same content gives the same bytes on any machine.  Whoever has the "
		"pack "
		"and your public key can verify it\noffline: helm evidence verify PACK --key KEY.",
		"$ helm evidence export --all --out run.helmpack.tar   # everything this workspace recorded",
		evidence_export_opts, NEEDS_WORKSPACE, cmd_evidence_export, "helm_evidence_export" },
	{ "evidence verify", "PACK", 1, 1, "check a pack: unchanged, complete, and signed by a key you trust",
		"PACK is a directory, a tar or a tar.gz, in the manifest layout or the native numbered one.  "
		"Integrity "
		"and trust are\nseparate answers: without a key nothing is trusted.  Exit 0 when both are "
		"established, "
		"1 when not, 2 when the\narchive cannot be read at all.",
		NULL, evidence_verify_opts, 0, cmd_evidence_verify, "helm_evidence_verify" },
	{ "evidence prove", "PACK PATH", 2, 2, "prove that one file is in a pack without showing the others",
		"Prints an inclusion proof.  Pass it on with the file; the pack's Merkle root must reach the "
		"reader "
		"another way.",
		NULL, evidence_prove_opts, 0, cmd_evidence_prove, NULL },
	{ "evidence summary", "PACK", 1, 1, "say what is in a pack", NULL, NULL, NULL, 0,
		cmd_evidence_summary, NULL },
	{ "replay", "PACK", 1, 1, "play a pack back: do its tapes, runs and receipts still agree?",
		"Executes nothing.  Exit 0 when everything agrees, 1 when something diverges or there is "
		"nothing to play.",
		NULL, replay_opts, 0, cmd_replay, NULL },
	{ "receipts list", "", 0, 0, "list receipts, the newest last", NULL, "$ helm receipts list --limit 5",
		receipts_list_opts, NEEDS_WORKSPACE, cmd_receipts_list, "helm_receipts_list" },
	{ "receipts show", "ID", 1, 1, "show one receipt, verified",
		"ID is a receipt's or decision's id, or a number of the chain.  Exit 0 only when it verifies "
		"under your own "
		"key or its history.",
		NULL, NULL, NEEDS_WORKSPACE, cmd_receipts_show, "helm_receipts_show" },
	{ "receipts export", "", 0, 0, "print receipts as they were signed, one per line",
		"Byte for byte, in order: 'helm verify FILE --key KEY' accepts the output on any machine.",
		"$ helm receipts export --verdict DENY", receipts_export_opts, NEEDS_WORKSPACE,
		cmd_receipts_export, NULL },
	{ "receipts tail", "", 0, 0, "show the newest receipts, and wait for more with --follow", NULL,
		"$ helm receipts tail --limit 3", receipts_tail_opts, NEEDS_WORKSPACE, cmd_receipts_tail,
		NULL },
	{ "log head", "", 0, 0, "show or sign the tree head: one hash over all receipts", NULL,
		"$ helm log head", log_head_opts, NEEDS_WORKSPACE, cmd_log_head, NULL },
	{ "log prove", "RECEIPT|INDEX", 1, 1, "prove that a receipt is in the log",
		"The proof is checked with 'helm verify FILE --root ROOT' against a root from a signed head. "
		" Leaf 0 is the "
		"first receipt.",
		"$ helm log prove 0", log_prove_opts, NEEDS_WORKSPACE, cmd_log_prove, NULL },
	{ "log consistency", "[OLD_SIZE]", 0, 1, "prove that an older log is a beginning of this one",
		"With --head FILE the older head is compared too: one that this log does not continue is an "
		"error.",
		"$ helm log consistency 1", log_consistency_opts, NEEDS_WORKSPACE, cmd_log_consistency,
		NULL },
	{ "log anchor", "", 0, 0, "sign the log and keep the head outside the workspace",
		"'helm log check' compares with every anchor it remembers.  A git reference keeps all heads, "
		"as commits; push "
		"it to\nwhere nobody can rewrite it.",
		NULL, log_anchor_opts, NEEDS_WORKSPACE, cmd_log_anchor, NULL },
	{ "log check", "", 0, 0, "check every receipt, link, leaf, head and anchor",
		"Says exactly what is lost or changed: which receipt, which member, what was expected.  "
		"Trusts your own key "
		"and its\nhistory, or the keys given.  Exit 0 only when all is sound.",
		"$ helm log check", log_check_opts, NEEDS_WORKSPACE, cmd_log_check, "helm_log_check" },
	{ "log repair", "", 0, 0, "put damage on record, so that work can go on",
		"The chain is cut behind its last good receipt; what is cut is kept beside it; a signed seam "
		"says what was "
		"lost\nand why.  Refuses when nothing is wrong.",
		NULL, log_repair_opts, NEEDS_WORKSPACE, cmd_log_repair, NULL },

	{ "key show", "", 0, 0, "show the signing key's id, public key and place", NULL, "$ helm key show",
		NULL, 0, cmd_key_show, NULL },
	{ "key create", "", 0, 0, "create the signing key of this user",
		"The key is made in ~/.helm/keys (HELM_HOME moves ~/.helm), readable by you only.  A key "
		"that "
		"is there is never\noverwritten; 'helm key rotate' replaces it by a new one, and keeps old "
		"records verifiable.",
		"$ helm key create", NULL, 0, cmd_key_create, NULL },
	{ "key export", "", 0, 0, "print the public key, for those who verify",
		"Give the output to whoever shall check what this machine signs.  The secret never leaves "
		"its "
		"file.",
		"$ helm key export", key_export_opts, 0, cmd_key_export, NULL },
	{ "verify", "FILE...", 1, -1, "say what a receipt, chain, proof, record or pack proves",
		"Finds out what each file is and answers two questions, never merged: is it unchanged, and "
		"is it "
		"signed by a key you\ntrust.  Trust comes only from --key and --trust, never from the file.  "
		"The "
		"first line is ADMISSIBLE (both), UNVERIFIED\n(not both were established) or TAMPERED; the "
		"first "
		"broken link is named exactly.  Works offline, on any machine.\nExit 0 only when every file "
		"is "
		"ADMISSIBLE.",
		NULL, verify_opts, 0, cmd_verify, "helm_verify" },
	{ "key rotate", "", 0, 0, "replace the signing key by a new one, signed for by the old",
		"The change is a link in the key history: signed by the old key, and by the new one.  Only "
		"when both are on "
		"disk is\nthe old secret destroyed.  Old records stay verifiable: 'helm verify FILE --key "
		"NEW --history "
		"HISTORY' follows the\nhistory back.  Restart long-running helm processes afterwards.",
		"$ helm key rotate --reason 'yearly'", key_rotate_opts, 0, cmd_key_rotate, NULL },
	{ "key revoke", "KEY", 1, 1, "put on record that a former key is not to be trusted any more",
		"What the key signed before --since stays trusted.  The key in force cannot be revoked; "
		"rotate it first.",
		NULL, key_revoke_opts, 0, cmd_key_revoke, NULL },
	{ "key history", "", 0, 0, "show which keys this user had, and whether their history is unbroken",
		NULL, "$ helm key history", NULL, 0, cmd_key_history, NULL },
	{ "key trust", "add|list|remove [KEY]", 1, 2, "keep the keys of others that you trust",
		"KEY is 64 hex digits, or a file with them.  The keys stand in ~/.helm/trust/keys.json, for "
		"'helm verify "
		"--trust'.",
		"$ helm key trust list", key_trust_opts, 0, cmd_key_trust, NULL },
	{ "conform run", "", 0, 0, "run a directory of published cases and compare the answers",
		"Reads DIR/cases.jsonl.  Every member of a case's expected answer must be met.  Families "
		"this "
		"program does not know\nare counted as not supported, never as passed.  Exit 0 only when "
		"something passed and nothing failed.",
		NULL, conform_run_opts, 0, cmd_conform_run, NULL },

	{ "canonical", "[FILE]", 0, 1, "print the canonical bytes of a JSON document, or why it has none",
		"These are the bytes that are hashed and signed: no white space, members sorted by UTF-16 "
		"code units,\n"
		"numbers as they were written, no final newline.  Reads standard input without FILE.  With "
		"--check nothing "
		"is\nprinted and the exit code says whether the input is such bytes already, strict numbers "
		"included.",
		"$ echo '{\"b\": 1, \"a\": [true, null]}' | helm canonical", canonical_opts, HIDDEN,
		cmd_canonical, NULL },
	{ "schema validate", "SCHEMA FILE", 2, 2, "check a document against a JSON Schema",
		"SCHEMA and FILE are JSON, or YAML when named .yaml or .yml; FILE may be lines of JSON when "
		"named "
		".jsonl.\nThe schema may use the keywords our contracts use; one that uses more is refused, "
		"because half a "
		"check is none.",
		NULL, NULL, HIDDEN, cmd_schema_validate, NULL },

	/* About the program. */
	{ "help", "[COMMAND [VERB]]", 0, 2, "explain helm, or one command", NULL, "$ helm help init",
		help_opts, 0, cmd_help, NULL },
	{ "version", "", 0, 0, "say which version this is, of what it is made, and what the kernel offers",
		NULL, "$ helm version", NULL, 0, cmd_version, NULL },
	{ "completion", "bash|zsh|fish", 0, 1, "print a completion script for a shell",
		"Source the output, or put it where the shell looks for completions.",
		"$ helm completion bash", NULL, CHILD_ARGV, cmd_completion, NULL },
};
const size_t command_count = ARRAY_SIZE(commands);
