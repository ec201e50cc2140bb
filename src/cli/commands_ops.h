/* commands_ops.h — rows of commands.c: what people who come from the Python Helm know as ops, validate and reconcile. */

static const struct cmd row_workspace_repair = { KNOWN(workspace_repair), "", 0, 0,
	"put back what operators decided about this place, and files of the workspace that are no documents any more",
	"The settings of a place are signed acts in its record; posture.json in the helm home is a copy of the newest one.  While that copy cannot be believed everything is frozen.  "
	"This command puts the newest act back, on record, when the record is sound.  Where receipts behind that act are lost, one of them may have taken a permission back: then only freezes, pauses and the like come back, and what was permitted has to be said again.  "
	"Files that are no documents any more are put aside and made again, as shipped.  Only an operator does it.",
	"$ helm workspace repair", workspace_repair_opts, NEEDS_WORKSPACE, cmd_workspace_repair };

static const struct cmd row_task_bundle = { KNOWN(task_bundle), "TASK", 1, 1,
	"show what a task left for whoever goes on with it",
	"How it stands, and the files of its bundle: documents, and copies of what it touched, each held against the digest on record.  "
	"Exit 1: one of them is missing or another one.",
	NULL, NULL, NEEDS_WORKSPACE, cmd_task_bundle };

static const struct cmd row_ops_daily = { KNOWN(ops_daily), "", 0, 0,
	"counts, failures and checkpoints of the last tasks",
	"Of the last 20 tasks, whenever they were; with --days of those that began in so many days.",
	"$ helm ops daily --days 1", ops_daily_opts, NEEDS_WORKSPACE, cmd_ops_daily };

static const struct cmd row_ops_tasks = { KNOWN(ops_tasks), "", 0, 0,
	"the last rows of the task ledger, as they are",
	"Every change of a task is a row; --latest shows each task once, by its newest row, in the order in which they began.  "
	"--summary counts states, profiles, skills, finalization and evidence over the rows that are shown; with --json it is one document of `summary` and `rows`.",
	"$ helm ops tasks --summary --latest", ops_tasks_opts, NEEDS_WORKSPACE, cmd_ops_tasks };

static const struct cmd row_ops_commands = { KNOWN(ops_commands), "", 0, 0,
	"the last rows of the command log, as they are", NULL, "$ helm ops commands --failed-only",
	ops_commands_opts, NEEDS_WORKSPACE, cmd_ops_commands };

static const struct cmd row_ops_capture_state = { KNOWN(ops_capture_state), "", 0, 0,
	"what of the last tasks is still to be remembered",
	"Tasks whose plan of what to remember is not carried out, or only in part.",
	"$ helm ops capture-state", ops_capture_state_opts, NEEDS_WORKSPACE, cmd_ops_capture_state };

static const struct cmd row_validate = { KNOWN(validate), "", 0, 0,
	"check that profiles, skill policies and contracts fit together",
	"Looks at the files of the tree as they lie there: references/execution_profiles.json, references/skill_profile_policies.json, and contract.json of every draft and skill.  "
	"Everything that is wrong is listed with file and member.  Exit 0 or 1.",
	"$ helm validate", NULL, NEEDS_WORKSPACE, cmd_validate };

static const struct cmd row_profile_validate_manifests = { KNOWN(profile_validate_manifests), "", 0, 0,
	"the same check as `validate`, with skills that have no contract",
	"Lists the profiles of the tree and the skills that have a SKILL.md and no contract.json.  Exit 0 or 1.",
	"$ helm profile validate-manifests", NULL, NEEDS_WORKSPACE, cmd_profile_validate_manifests };

static const struct cmd row_verify_contract = { KNOWN(verify_contract), "", 0, 0,
	"try out that what is promised holds here",
	"Judges a destructive command and a harmless one without rules, a tool that is denied, and a path that leads out; runs and changes nothing.  Exit 0 when all of it is as it must be, 1 when not.",
	"$ helm verify-contract", NULL, NEEDS_WORKSPACE, cmd_verify_contract };

static const struct cmd row_reconcile = { KNOWN(reconcile), "", 0, 0,
	"compare reference files with the shipped ones, and bring them back",
	"Looks only, unless --apply is given: that brings back what is missing, and up to date what is as an earlier release shipped it.  --apply --force also replaces what you changed or accepted, and keeps your text as FILE.bak.  "
	"A link or directory in the place of a file is never written.  What the files say counts only after a person accepted it ('helm workspace trust').  "
	"Exit 1 when something is in the way of a file, or it cannot be written.",
	"$ helm reconcile", reconcile_opts, ANY_WORKSPACE, cmd_reconcile };

static const struct cmd row_privacy_social = { KNOWN(privacy_social), "", 0, 0,
	"judge a request about what people write in public",
	"Looking at one post is fine.  Collecting what somebody wrote, or drawing conclusions about them, needs consent, a purpose, a scope and how long it is kept: "
	"what of these neither the message nor an option says is listed.  English and Korean.  Exit 0 when it may be done, 3 when something is missing.",
	"$ helm privacy social --message 'summarize this post: https://example.org/1'", privacy_social_opts,
	0, cmd_privacy_social };

/* Former names, kept so that old scripts go on working. */
static const struct cmd row_checkpoint_recommend_old = { KNOWN(checkpoint_recommend_old), "", 0, 0,
	"the same as `checkpoint recommend`", NULL, NULL, checkpoint_task_opts, NEEDS_WORKSPACE,
	cmd_checkpoint_recommend };

static const struct cmd row_approval_cancel = { KNOWN(approval_cancel), "REQUEST", 1, 1,
	"the same as `approval deny`", NULL, NULL, approval_deny_opts, NEEDS_WORKSPACE | OR_URL,
	cmd_approval_deny };
