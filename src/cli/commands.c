/* commands.c — the table of commands. Every command is one row; see cli.h for what a row makes.
 *
 * What a command is called, what it does to the world and where it is listed is said in model/command.def;
 * here are its texts, options and function. A row that is missing here, or that command.def does not name,
 * does not compile.
 *
 * Help, man pages, completion and `helm help --json` are made from these rows. Texts are whole sentences,
 * one or two a line: they are wrapped when they are shown, so a line here may be as long as it is. Lines
 * of examples that begin with "$ " are commands that can be run as they stand. */
#include "cli/cmd.h"
#include "kernel/workspace.h"

#define KNOWN(id) &command_table[COMMAND_##id]

/* Families: the first word of two-word commands, in the order of the overview. */
const struct family families[] = {
	{ "guard", "what would be decided, and why" },
	{ "profile", "what a run may do, by name" },
	{ "task", "tasks and their states" },
	{ "skill", "procedures with a contract that holds" },
	{ "loops", "work that is repeated, within bounds" },
	{ "failures", "what failed, the same counted together" },
	{ "trace", "what runs did" },
	{ "agent", "an agent client inside walls, supervised" },
	{ "workspace", "what was decided about a place, and trust" },
	{ "approval", "what waits for your answer; what was granted" },
	{ "egress", "which hosts runs may reach, by name" },
	{ "privacy", "what a text gives away about people" },
	{ "memory", "what the next run should know, with sources" },
	{ "memory-tree", "summaries of sources and topics" },
	{ "skill-lifecycle", "how skills live, and what they claim" },
	{ "curator", "another name of skill-lifecycle" },
	{ "skill-promotion", "work that could become a skill" },
	{ "skill-intake", "skills from outside" },
	{ "harness", "what work must bring, and what shows it" },
	{ "browser", "sessions of browsers" },
	{ "edit", "how files are changed" },
	{ "gates", "what must hold before work is done" },
	{ "model-repair", "answers of models" },
	{ "respond", "a tool to answer with" },
	{ "action-scope", "what a message asks for at most" },
	{ "compression", "how texts are cut to a budget" },
	{ "health", "which models answer" },
	{ "freshness", "sources outside, and how old they are" },
	{ "state", "what may be said about a note" },
	{ "frontmatter", "folders of notes" },
	{ "context", "what is known about something" },
	{ "setup", "put Helm in front of an agent client" },
	{ "db", "a query index over the ledgers" },
	{ "ops", "rows of the ledgers, and counts over them" },
	{ "hook", "the doors that agent clients knock at" },
	{ "checkpoint", "save files, and bring them back" },
	{ "receipts", "what was decided and what happened" },
	{ "log", "the tamper-evident log over the receipts" },
	{ "key", "the key that signs what this machine records" },
	{ "signer", "a key that another user keeps" },
	{ "evidence", "export, verify and sum up packs of evidence" },
	{ "pack", "packs of rules and controls" },
	{ "policy", "what agents may do, as a file" },
	{ "conform", "run published cases against this program" },
	{ "schema", "documents against their contracts" },
	{ "serve", "answer over HTTP; keys of those who call" },
	{ "fleet", "many machines, one ledger" },
	{ "witness", "vouch for logs, and have them vouched for" },
	{ "proxy", "between programs and their models" },
	{ "mcp", "servers of tools, and the gateway to them" },
	{ NULL, NULL },
};
const size_t family_count = ARRAY_SIZE(families) - 1;

/* Start: from nothing to a guard that is armed. */
static const struct cmd row_init = { KNOWN(init), "", 0, 0, "create or complete a workspace",
	"Creates the directories of a workspace and copies the reference files that are missing.  "
	"Nothing that is there is changed; --force replaces reference files by the shipped ones and keeps each changed file as FILE.bak.  "
	"The new place stands alone, with the shipped defaults; what the tree brings along counts only after 'helm workspace trust'.",
	"$ helm init --path ~/.helm/workspace   # the default place", init_opts, NEW_WORKSPACE, cmd_init };

static const struct cmd row_demo = { KNOWN(demo), "", 0, 0, "write a small workspace to try things on",
	"Writes to --path DIR, default ./helm-demo; an existing directory that is not empty is refused.",
	"$ helm demo --path demo-workspace", NULL, OPENS_ITSELF, cmd_demo };

static const struct cmd row_setup_status = { KNOWN(setup_status), "[CLIENT]", 0, 1,
	"say for each agent client whether the guard is really armed",
	"Looks at the settings of this user and of the project: whether our entries are there, what they run exists, nothing lets the client skip them, and whether Codex trusts them.  "
	"Reads only.  Ends with 0 only when a guard is armed and none that was put in is less than that.",
	"$ helm setup status", setup_status_opts, NEEDS_WORKSPACE, cmd_setup_status };

static const struct cmd row_setup_repair = { KNOWN(setup_repair), "CLIENT", 1, 1,
	"finish or take back a change of settings that was interrupted", NULL,
	"$ helm setup repair claude-code", setup_repair_opts, NEEDS_WORKSPACE, cmd_setup_repair };

static const struct cmd row_setup_remove = { KNOWN(setup_remove), "CLIENT", 1, 1,
	"take our entries out of a client's settings",
	"A file that nobody changed since is given back byte for byte; from another one only our entries go.  "
	"Receipts and keys stay.",
	NULL, setup_remove_opts, NEEDS_WORKSPACE, cmd_setup_remove };

static const struct cmd row_setup = { KNOWN(setup), "CLIENT", 1, 1, "put Helm in front of an agent client",
	"CLIENT is claude-code, codex, cursor or hermes.  "
	"Adds our entries to the client's settings and keeps every other byte of them.  "
	"Then the command that was written is run as the client would, with a destructive call: it must be denied, with a receipt that verifies, or everything is taken back.  "
	"For other clients what to paste is printed.  "
	"Codex runs a hook only after a person trusted it (/hooks).  Ends with 0 only when the guard is armed.",
	"$ helm setup claude-code --scope user --dry-run", setup_opts, NEEDS_WORKSPACE, cmd_setup };

static const struct cmd row_doctor = { KNOWN(doctor), "", 0, 0, "check workspace, keys and protections",
	"Each check is one line, ok or fail, with what to do about it.  Exit 0 when healthy, 1 when not.",
	"$ helm doctor", doctor_opts, ANY_WORKSPACE, cmd_doctor };

static const struct cmd row_detect = { KNOWN(detect), "", 0, 0, "tell what kind of directory this is",
	"Reads markers only; writes nothing.  "
	"Also names agent workspaces and note vaults found below the home directory.",
	"$ helm detect --path .", NULL, ANY_WORKSPACE, cmd_detect };

static const struct cmd row_help = { KNOWN(help), "[COMMAND [VERB] | GROUP]", 0, 2,
	"explain helm, or one command", NULL, "$ helm help init", help_opts, 0, cmd_help };

/* Work: run things inside the boundary, save and go back, and move tasks along. */
static const struct cmd row_run = { KNOWN(run), "-- COMMAND [ARGS...]", 0, 0,
	"run a command under the default profile", "Short for 'profile run' with the default profile.",
	"$ helm run -- git status --short", run_opts, NEEDS_WORKSPACE | CHILD_ARGV, cmd_run };

static const struct cmd row_profile_run = { KNOWN(profile_run), "PROFILE -- COMMAND [ARGS...]", 1, 1,
	"run a command under a profile",
	"The command is understood first; the decision is signed and on disk before anything starts; the kernel enforces the profile; what happened is recorded.  "
	"Exit code: the command's own, 24 when a person must approve, 25 when denied.",
	"$ helm profile run inspect_local --task-name look -- git status --short", profile_run_opts,
	NEEDS_WORKSPACE | CHILD_ARGV | PATH_MAY_BE_FILE, cmd_profile_run };

static const struct cmd row_checkpoint_create = { KNOWN(checkpoint_create), "", 0, 0,
	"save the workspace's files to go back to",
	"Saves every file below the chosen paths, tracked or not, with modes, times, links and empty directories.  "
	"Left out: Helm's own state, version-control directories, and what .helmignore, --exclude and references/checkpoint_policy.json name.  "
	"A file that has not changed since the last checkpoint costs one look at it.",
	"$ helm checkpoint create --label before-upgrade", checkpoint_create_opts, NEEDS_WORKSPACE,
	cmd_checkpoint_create };

static const struct cmd row_checkpoint_list = { KNOWN(checkpoint_list), "", 0, 0,
	"list checkpoints, newest last", NULL, "$ helm checkpoint list", checkpoint_list_opts,
	NEEDS_WORKSPACE, cmd_checkpoint_list };

static const struct cmd row_checkpoint_restore = { KNOWN(checkpoint_restore), "CHECKPOINT", 1, 1,
	"bring files back from a checkpoint",
	"What is about to be replaced is saved first, as a checkpoint labelled pre-restore.  "
	"Every file is replaced in one step, inside the workspace only, never through a link.  "
	"New files stay unless --delete-new is given.  The restore is recorded in the task ledger.  "
	"A file that cannot be brought back does not stop the others: each is named with the reason, and the exit code is 1 when anything that was asked for is not back.  "
	"After an interruption, run it again.",
	NULL, checkpoint_restore_opts, NEEDS_WORKSPACE, cmd_checkpoint_restore };

static const struct cmd row_checkpoint_preview = { KNOWN(checkpoint_preview), "CHECKPOINT", 1, 1,
	"show what a checkpoint holds, and how it differs from the disk",
	"With --diff each file is marked same, changed, touched (only mode or time), missing or new, and text changes are shown as they would be made.  "
	"Changes nothing.",
	NULL, checkpoint_preview_opts, NEEDS_WORKSPACE, cmd_checkpoint_preview };

static const struct cmd row_checkpoint_show = { KNOWN(checkpoint_show), "CHECKPOINT", 1, 1,
	"show one checkpoint's record",
	"CHECKPOINT is an id, a label, the beginning of an id, or 'latest'.  Safety copies go by their whole id only.",
	NULL, NULL, NEEDS_WORKSPACE, cmd_checkpoint_show };

static const struct cmd row_checkpoint_recommend = { KNOWN(checkpoint_recommend), "", 0, 0,
	"name the checkpoint that leads back to before a risky task", NULL, NULL, checkpoint_task_opts,
	NEEDS_WORKSPACE, cmd_checkpoint_recommend };

static const struct cmd row_checkpoint_finalize = { KNOWN(checkpoint_finalize), "", 0, 0,
	"show what a task's end means for its checkpoint and memory", "Inspection only; writes nothing.",
	NULL, checkpoint_task_opts, NEEDS_WORKSPACE, cmd_checkpoint_finalize };

static const struct cmd row_checkpoint_prune = { KNOWN(checkpoint_prune), "", 0, 0,
	"say which checkpoints are no longer needed; --apply removes them",
	"Kept are: the newest, the young, the pinned, and those that a task names.  "
	"Also finds what crashes left behind.",
	NULL, checkpoint_prune_opts, NEEDS_WORKSPACE, cmd_checkpoint_prune };

static const struct cmd row_checkpoint_check = { KNOWN(checkpoint_check), "", 0, 0,
	"check that everything checkpoints need is there",
	"Compares the list of checkpoints with its copy, the packs and the lists of files; with --read-data every saved byte is read and hashed, too.  "
	"Names checkpoint, file and pack of what is damaged.  Changes nothing; exit code 1 when something is damaged.",
	"$ helm checkpoint check --read-data", checkpoint_check_opts, NEEDS_WORKSPACE, cmd_checkpoint_check };

static const struct cmd row_checkpoint_repair = { KNOWN(checkpoint_repair), "", 0, 0,
	"make damaged checkpoints usable again, and name what is lost",
	"Makes the list of checkpoints anew from its copy and from the packs when it is damaged, takes damaged packs out of use, and saves damaged content anew where the work tree still has it.  "
	"What is lost is named by checkpoint and file, and the rest can be restored.  Nothing is removed: what is taken out is kept in checkpoints/damaged.  "
	"Shows what it would do, and asks; where nobody sits at a terminal, --yes does it.  Exit code 1 when something is lost; repairing again changes nothing.",
	"$ helm checkpoint repair", checkpoint_repair_opts, NEEDS_WORKSPACE, cmd_checkpoint_repair };

static const struct cmd row_checkpoint_protect = { KNOWN(checkpoint_protect), "CHECKPOINT", 1, 1,
	"keep a checkpoint whatever retention says", NULL, NULL, checkpoint_protect_opts, NEEDS_WORKSPACE,
	cmd_checkpoint_protect };

static const struct cmd row_checkpoint_policy = { KNOWN(checkpoint_policy), "", 0, 0,
	"show retention and limits", NULL, "$ helm checkpoint policy", NULL, NEEDS_WORKSPACE,
	cmd_checkpoint_policy };

static const struct cmd row_task_complete = { KNOWN(task_complete), "TASK", 1, 1,
	"mark a task as completed, with evidence", NULL, NULL, task_complete_opts, NEEDS_WORKSPACE,
	cmd_task_complete };

static const struct cmd row_task_retry = { KNOWN(task_retry), "TASK", 1, 1,
	"make a new task from one that ended", NULL, NULL, task_retry_opts, NEEDS_WORKSPACE, cmd_task_retry };

static const struct cmd row_task_block = { KNOWN(task_block), "TASK", 1, 1, "mark a task as blocked", NULL,
	NULL, task_block_opts, NEEDS_WORKSPACE, cmd_task_block };

static const struct cmd row_task_reclaim = { KNOWN(task_reclaim), "TASK", 1, 1, "make a task ready again",
	NULL, NULL, task_reclaim_opts, NEEDS_WORKSPACE, cmd_task_reclaim };

static const struct cmd row_task_mark_stale = { KNOWN(task_mark_stale), "TASK", 1, 1,
	"mark a task nobody works on any more", NULL, NULL, task_stale_opts, NEEDS_WORKSPACE,
	cmd_task_mark_stale };

/* Look: these read, and change nothing unless an option says so (`task doctor --fix`). */
static const struct cmd row_status = { KNOWN(status), "", 0, 0, "say how things stand",
	"What is in force, what agents did, what waits, what is wrong and how to mend it.  "
	"With --brief: a few plain sentences, and one command to go on with.",
	"$ helm status --brief", status_opts, NEEDS_WORKSPACE | OR_URL | SAYS_INSIDE, cmd_status };

static const struct cmd row_dashboard = { KNOWN(dashboard), "", 0, 0,
	"recent tasks, checkpoints, what to do next", NULL, "$ helm dashboard", dashboard_opts,
	NEEDS_WORKSPACE, cmd_dashboard };

static const struct cmd row_report = { KNOWN(report), "", 0, 0, "what ran, what was stopped, and why",
	"A list that is cut says so; --limit 0 shows all.  The html form is one self-contained page.",
	"$ helm report --format markdown", report_opts, NEEDS_WORKSPACE, cmd_report };

static const struct cmd row_guard_check = { KNOWN(guard_check), "(-- COMMAND ARGS... | --shell TEXT)", 0, 0,
	"say what would be decided about a command",
	"Nothing runs and nothing is written.  Exit 0: it would run; 24: a person must approve; 25: denied.\n\n"
	"With --batch every line of standard input is a question, {\"id\", \"shell\" or \"argv\", \"profile\", \"cwd\"}, and is answered by one line, in order, as soon as it is there.  "
	"A line that cannot be used is answered with an error.",
	"$ helm guard check -- git status   # allow\n"
	"$ helm guard check --profile inspect_local --json -- ls -la",
	guard_check_opts, MAY_WORKSPACE | CHILD_ARGV, cmd_guard_check };

static const struct cmd row_guard_explain = { KNOWN(guard_explain), "(-- COMMAND ARGS... | --shell TEXT)", 0,
	0, "explain what a command would do, part by part, and what the guard says",
	"The command as a tree: what each part does, which rule speaks, what to do instead.  "
	"Exit codes as guard check.",
	"$ helm guard explain --shell 'git log --oneline | head -3'", guard_explain_opts,
	MAY_WORKSPACE | CHILD_ARGV, cmd_guard_explain };

static const struct cmd row_guard_scan = { KNOWN(guard_scan), "FILE...", 1, -1,
	"find commands in files that would be stopped",
	"Reads shell scripts, makefiles, CI files of GitHub and GitLab, Dockerfiles, package.json and shell histories; \"-\" is a script on standard input.  "
	"Exit 0: nothing would be stopped; 1: something would.",
	NULL, guard_scan_opts, MAY_WORKSPACE, cmd_guard_scan };
static const struct cmd row_guard_rules = { KNOWN(guard_rules), "", 0, 0, "list the rules of the guard", NULL,
	"$ helm guard rules", NULL, MAY_WORKSPACE, cmd_guard_rules };

static const struct cmd row_task_list = { KNOWN(task_list), "", 0, 0, "list tasks, newest last", NULL,
	"$ helm task list", task_list_opts, NEEDS_WORKSPACE, cmd_task_list };

static const struct cmd row_task_show = { KNOWN(task_show), "TASK", 1, 1,
	"show one task; a unique beginning of its id is enough", NULL, NULL, task_show_opts, NEEDS_WORKSPACE,
	cmd_task_show };

static const struct cmd row_task_doctor = { KNOWN(task_doctor), "", 0, 0,
	"find tasks that are stuck, dead or without evidence",
	"Changes nothing unless --fix is given.  Exit 1 when something needs attention.",
	"$ helm task doctor", task_doctor_opts, NEEDS_WORKSPACE, cmd_task_doctor };

static const struct cmd row_task_recover = { KNOWN(task_recover), "", 0, 0,
	"finish the clean-up of killed runs", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_task_recover };
static const struct cmd row_receipts_list = { KNOWN(receipts_list), "", 0, 0,
	"list receipts, the newest last", NULL, "$ helm receipts list --limit 5", receipts_list_opts,
	NEEDS_WORKSPACE | OR_URL, cmd_receipts_list };

static const struct cmd row_receipts_show = { KNOWN(receipts_show), "RECEIPT", 1, 1,
	"show one receipt, verified",
	"RECEIPT is a receipt's or decision's id, or a number of the chain.  "
	"Exit 0 only when it verifies under your own key or its history.",
	NULL, receipts_show_opts, NEEDS_WORKSPACE | OR_URL, cmd_receipts_show };

static const struct cmd row_receipts_tail = { KNOWN(receipts_tail), "", 0, 0,
	"show the newest receipts, and wait for more with --follow", NULL, "$ helm receipts tail --limit 3",
	receipts_tail_opts, NEEDS_WORKSPACE | OR_URL, cmd_receipts_tail };

static const struct cmd row_receipts_export = { KNOWN(receipts_export), "", 0, 0,
	"print receipts as they were signed, one per line",
	"Byte for byte, in order:  'helm verify FILE --key KEY' accepts the output on any machine.",
	"$ helm receipts export --verdict DENY", receipts_export_opts, NEEDS_WORKSPACE | DOCUMENT,
	cmd_receipts_export };

static const struct cmd row_log_sessions = { KNOWN(log_sessions), "", 0, 0,
	"list what agents did, by session", "'helm report --session ID' shows one of them, call by call.",
	"$ helm log sessions", log_sessions_opts, NEEDS_WORKSPACE, cmd_log_sessions };

#define CONTEXT_ABOUT \
	"Looks through notes, memory, ontology, tasks, commands and checkpoints of this workspace and of the sources that were adopted ('helm sources').  " \
	"Words are found in any case and order: first the whole phrase, else all words, else parts of names (parseConfig, parse_config), else most words; where nothing else matches, words spelled nearly like them, and that is said.  " \
	"Chinese, Japanese and Korean are found from two characters on.  " \
	"What redaction hides is neither found nor shown.  Whatever cannot be read is named as a warning.  Nothing is written but an index that can be deleted at any time."

static const struct cmd row_context = { KNOWN(context), "[WORD...]", 0, -1,
	"find what is known about something", CONTEXT_ABOUT,
	"$ helm context --mode failures --limit 5\n$ helm context decision --include notes memory   # only there",
	context_opts, NEEDS_WORKSPACE, cmd_context };

static const struct cmd row_dci = { KNOWN(dci), "[WORD...]", 0, -1, "the same as context", CONTEXT_ABOUT,
	NULL, context_opts, NEEDS_WORKSPACE, cmd_context };

static const struct cmd row_context_pack = { KNOWN(context_pack), "", 0, 0,
	"print what a new session should start with",
	"Goal, last state, open questions, decisions, failures to avoid, files: each line names its source.  "
	"Redacted, bounded, and marked as data, not instruction.  'helm setup CLIENT --context' has the client ask for it at the start of each session.",
	"$ helm context pack --budget 800 --task 'fix the router'", context_pack_opts, NEEDS_WORKSPACE,
	cmd_context_pack };

static const struct cmd row_context_state_snapshot = { KNOWN(context_state_snapshot), "", 0, 0,
	"print the state that a task left behind", NULL, NULL, context_snapshot_opts,
	NEEDS_WORKSPACE | DOCUMENT, cmd_context_snapshot };

static const struct cmd row_survey = { KNOWN(survey), "", 0, 0,
	"list memories of other programs that could be adopted",
	"Looks below the home directory for OpenClaw, Hermes, Obsidian vaults, project memories of Claude Code and Codex, and workspaces of the Python Helm.  Reads names only, and writes nothing.",
	"$ helm survey", NULL, ANY_WORKSPACE, cmd_survey };

static const struct cmd row_adopt = { KNOWN(adopt), "", 0, 0,
	"search another program's memory, too, read-only",
	"Registers a directory as a source of context.  Nothing in it is ever written.  A record of the same name or directory is replaced.  "
	"What agents are given to read is a person's to choose: agents cannot adopt, and a receipt is signed.",
	NULL, adopt_opts, MADE_WORKSPACE, cmd_adopt };

static const struct cmd row_onboard = { KNOWN(onboard), "", 0, 0,
	"adopt what was found, after a look at the plan",
	"Without a choice nothing is adopted.  --dry-run prints the plan and changes nothing, not even making the workspace.",
	"$ helm onboard --use-detected --dry-run", onboard_opts, MADE_WORKSPACE, cmd_onboard };

static const struct cmd row_sources = { KNOWN(sources), "", 0, 0, "list adopted sources, or end an adoption",
	NULL, "$ helm sources", sources_opts, NEEDS_WORKSPACE, cmd_sources };

static const struct cmd row_run_contract = { KNOWN(run_contract), "", 0, 0,
	"show what a task was allowed to do", NULL, "$ helm run-contract", contract_opts, NEEDS_WORKSPACE,
	cmd_run_contract };

static const struct cmd row_capability_diff = { KNOWN(capability_diff), "", 0, 0,
	"compare what two tasks were allowed to do", NULL, "$ helm capability-diff", diff_opts,
	NEEDS_WORKSPACE, cmd_capability_diff };

/* Answer: what waits for a person, and what only a person or a key that a person registered may say. */
static const struct cmd row_watch = { KNOWN(watch), "", 0, 0, "the dashboard, live, and answer what waits",
	"Shows what waits for a person by number.  "
	"A number shows that request; then APPROVE lets it happen once, DENY refuses it.  "
	"An empty line ends it.  With --url it is about a server elsewhere.",
	"$ helm watch", watch_opts, NEEDS_WORKSPACE | OR_URL, cmd_watch };

static const struct cmd row_approval_list = { KNOWN(approval_list), "", 0, 0,
	"list what waits for a person's answer, and the grants in force", NULL, "$ helm approval list",
	approval_list_opts, NEEDS_WORKSPACE | OR_URL, cmd_approval_list };

static const struct cmd row_approval_show = { KNOWN(approval_show), "REQUEST|GRANT", 1, 1,
	"show one request or grant",
	"A request is shown only when it is what was asked: its text must agree with the signed decision it belongs to.",
	NULL, approval_show_opts, NEEDS_WORKSPACE | OR_URL, cmd_approval_show };

static const struct cmd row_approval_approve = { KNOWN(approval_approve), "REQUEST", 1, 1,
	"say yes to a request, once or for longer",
	"Shows the request and what your answer would let through, then waits for the word APPROVE.  "
	"Needs a terminal that is not an agent's, or --key with a key registered by 'approval trust'.\n\n"
	"The grant is a signed receipt and is named in the record of everything it lets through.  "
	"It never lifts a denial.  By effect, never by text: --shape, --below and --host hold for any command whose every asking effect they cover.",
	NULL, approval_approve_opts, NEEDS_WORKSPACE | OR_URL, cmd_approval_approve };

static const struct cmd row_approval_message = { KNOWN(approval_message), "REQUEST", 1, 1,
	"write the answer that an ssh key signs",
	"The bytes that say yes to this request on the terms of the options; nothing is changed.  "
	"A key that 'approval trust add' has registered signs them, also one in a hardware authenticator, and 'approval approve' takes them:\n\n"
	"  helm approval message REQUEST --once > answer\n"
	"  ssh-keygen -Y sign -f ~/.ssh/id_ed25519_sk -n helm-approval@v1 answer\n"
	"  helm approval approve REQUEST --signed answer",
	NULL, approval_message_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_approval_message };

static const struct cmd row_approval_deny = { KNOWN(approval_deny), "REQUEST", 1, 1, "say no to a request",
	"Shown and typed as an approval is; the word is DENY.", NULL, approval_deny_opts,
	NEEDS_WORKSPACE | OR_URL, cmd_approval_deny };

static const struct cmd row_approval_revoke = { KNOWN(approval_revoke), "GRANT", 1, 1, "take a grant back",
	"The word is REVOKE.", NULL, approval_deny_opts, NEEDS_WORKSPACE | OR_URL, cmd_approval_revoke };

static const struct cmd row_approval_grant = { KNOWN(approval_grant), "(-- COMMAND ARGS... | --shell TEXT)",
	0, 0, "grant something before it is asked for",
	"The command is not run: it shows what is meant.  "
	"What it would ask about is granted, as far as the options say.\n\n"
	"  helm approval grant --shell 'rm -rf build' --shape --for 2h",
	NULL, approval_grant_opts, NEEDS_WORKSPACE | CHILD_ARGV, cmd_approval_grant };

static const struct cmd row_approval_trust = { KNOWN(approval_trust), "add|list|remove [KEY]", 1, 2,
	"keep the keys that may approve without a terminal",
	"KEY is 64 hex digits, an OpenSSH public key (ssh-ed25519, sk-ssh-ed25519@openssh.com), or a file with one.  "
	"Adding and removing take a person at a terminal.",
	"$ helm approval trust list", key_trust_opts, NEEDS_WORKSPACE, cmd_approval_trust };

static const struct cmd row_guard_tune = { KNOWN(guard_tune), "", 0, 0,
	"grants that would save the most questions",
	"Reads the questions of the last days and says which grants would have answered most of them, what they cover and what they would have let through, first of all what you denied.  "
	"Grants nothing unless told: --grant K shows proposal K and takes the word APPROVE, as every approval does.",
	"$ helm guard tune --since 30d", guard_tune_opts, NEEDS_WORKSPACE, cmd_guard_tune };

/* Prove: for others as well as for ourselves. Those that only check a file need no workspace. */
static const struct cmd row_verify = { KNOWN(verify), "FILE...", 1, -1,
	"what a receipt, chain, proof or pack proves",
	"Finds out what each file is and answers two questions, never merged: is it unchanged, and is it signed by a key you trust.  "
	"Trust comes only from --key and --trust, never from the file.  "
	"The first line is ADMISSIBLE (both), UNVERIFIED (not both were established), TAMPERED, DAMAGED (it ends too early) or NOT A RECORD; the first broken link is named exactly.  "
	"Works offline, on any machine.  Exit 0 only when every file is ADMISSIBLE, 2 when those that are not are no records.",
	NULL, verify_opts, 0, cmd_verify };

static const struct cmd row_evidence_export = { KNOWN(evidence_export), "", 0, 0,
	"write a signed pack of what was recorded",
	"Receipts, the ledgers' rows and the log's newest head go into one archive with a manifest, signed by your key.  "
	"The same content gives the same bytes on any machine.  "
	"Whoever has the pack and your public key can verify it offline: helm evidence verify PACK --key KEY.",
	"$ helm evidence export --all --out run.helmpack.tar   # everything this workspace recorded",
	evidence_export_opts, NEEDS_WORKSPACE, cmd_evidence_export };

static const struct cmd row_evidence_verify = { KNOWN(evidence_verify), "PACK", 1, 1,
	"check a pack: unchanged, complete, and signed by a key you trust",
	"PACK is a directory, a tar or a tar.gz, in the manifest layout or the native numbered one.  "
	"Integrity and trust are separate answers: without a key nothing is trusted.  "
	"Exit 0 when both are established, 1 when not, 2 when the archive cannot be read at all.",
	NULL, evidence_verify_opts, 0, cmd_evidence_verify };

static const struct cmd row_evidence_summary = { KNOWN(evidence_summary), "PACK", 1, 1,
	"say what is in a pack", NULL, NULL, NULL, 0, cmd_evidence_summary };

static const struct cmd row_evidence_prove = { KNOWN(evidence_prove), "PACK PATH", 2, 2,
	"prove that one file is in a pack without showing the others",
	"Prints an inclusion proof.  "
	"Pass it on with the file; the pack's Merkle root must reach the reader another way.",
	NULL, evidence_prove_opts, DOCUMENT, cmd_evidence_prove };

static const struct cmd row_replay = { KNOWN(replay), "PACK", 1, 1, "play a pack back: does it still agree?",
	"Executes nothing.  "
	"Exit 0 when everything agrees, 1 when something diverges or there is nothing to play.",
	NULL, replay_opts, 0, cmd_replay };

static const struct cmd row_log_check = { KNOWN(log_check), "", 0, 0,
	"check every receipt, link, leaf, head and anchor",
	"Says exactly what is lost or changed: which receipt, which member, what was expected.  "
	"What was verified before and is unchanged since is not read again; --all reads everything.  "
	"Trusts your own key and its history, or the keys given.  Exit 0 only when all is sound.",
	"$ helm log check", log_check_opts, NEEDS_WORKSPACE, cmd_log_check };

static const struct cmd row_log_head = { KNOWN(log_head), "", 0, 0,
	"show or sign the tree head: one hash over all receipts", NULL, "$ helm log head", log_head_opts,
	NEEDS_WORKSPACE, cmd_log_head };

static const struct cmd row_log_prove = { KNOWN(log_prove), "RECEIPT|INDEX", 1, 1,
	"prove that a receipt is in the log",
	"The proof is checked with 'helm verify FILE --root ROOT' against a root from a signed head.  "
	"Leaf 0 is the first receipt.",
	"$ helm log prove 0", log_prove_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_log_prove };

static const struct cmd row_log_anchor = { KNOWN(log_anchor), "", 0, 0,
	"sign the log and keep the head outside the workspace",
	"'helm log check' compares with every anchor it remembers.  "
	"A git reference keeps all heads, as commits; push it to where nobody can rewrite it.",
	NULL, log_anchor_opts, NEEDS_WORKSPACE, cmd_log_anchor };

static const struct cmd row_archive = { KNOWN(archive), "", 0, 0, "move old closed files of the record away",
	"Whole files only, of the chain and of the ledgers, and only those in which everything is older.  "
	"A signed receipt says what went where, and what says so stays in their place: 'helm log check' reads them where they are now, or says that it cannot.  "
	"Put a file back where it was, and it is as before.  Shows what would go, and asks; where nobody sits at a terminal, --yes does it.  "
	"With --shown, what is kept of the arguments of calls is erased instead, by age or by session; a signed receipt says so.",
	"$ helm archive --before 90d --dry-run   # what would go\n$ helm archive --shown --session s-17 --yes   # forget what a session asked for",
	archive_opts, NEEDS_WORKSPACE, cmd_archive };

static const struct cmd row_log_consistency = { KNOWN(log_consistency), "[OLD_SIZE]", 0, 1,
	"prove that an older log is a beginning of this one",
	"With --head FILE the older head is compared too: one that this log does not continue is an error.",
	"$ helm log consistency 1", log_consistency_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_log_consistency };

static const struct cmd row_log_repair = { KNOWN(log_repair), "", 0, 0,
	"put damage on record, so that work can go on",
	"Takes out what is no receipt and keeps it beside the file; every receipt that verifies stays; a signed seam at the end of the chain says what is lost and why.  "
	"Ledger entries and sealed pieces that are not what receipts say of them are named in it, and what stands in their place goes; the file as it was stays beside it.  "
	"Leaves, which are made from the receipts, are made again."
	"  Refuses when nothing is wrong.  Shows what it would do, and asks; where nobody sits at a terminal, --yes does it.",
	NULL, log_repair_opts, NEEDS_WORKSPACE, cmd_log_repair };

/* Govern: what is allowed, who signs, and the switch that stops everything. */
static const struct cmd row_profile_list = { KNOWN(profile_list), "", 0, 0, "list the execution profiles",
	NULL, "$ helm profile list", NULL, MAY_WORKSPACE, cmd_profile_list };

static const struct cmd row_profile_show = { KNOWN(profile_show), "PROFILE", 1, 1, "show one profile", NULL,
	"$ helm profile show workspace_edit", NULL, MAY_WORKSPACE, cmd_profile_show };

static const struct cmd row_profile_use = { KNOWN(profile_use), "PROFILE", 1, 1,
	"judge agents' calls and 'helm run' by this profile from now on",
	"The choice is a signed record.  A stricter one anybody may make; any other takes a person at a terminal of their own, or a registered key, and is refused while everything is frozen.\n\n"
	"With --destructive checkpoint a command whose every loss is files of this workspace runs without a question, after those files were saved; the receipt names the checkpoint that undoes it.",
	"$ helm profile use service_ops\n"
	"$ helm profile use workspace_edit --destructive checkpoint",
	profile_use_opts, NEEDS_WORKSPACE, cmd_profile_use };

static const struct cmd row_workspace_show = { KNOWN(workspace_show), "", 0, 0,
	"show what was decided about this place",
	"Which word holds here and which receipt it comes from; profile, freezes, pauses, accepted files, and where the files in the tree say something else.",
	"$ helm workspace show", NULL, NEEDS_WORKSPACE, cmd_workspace_show };

static const struct cmd row_workspace_trust = { KNOWN(workspace_trust), "", 0, 0,
	"accept the profiles, rules and choices that the tree brings along",
	"A tree's own files count only when a person has accepted those very bytes; until then the shipped ones hold.  "
	"Shows what would become possible and takes the word TRUST, or a registered key.  The accepted bytes are kept in the helm home and hold from there; a changed file has to be accepted again.  "
	"With --json it is only shown.  The files that say what is frozen, paused and chosen are written again.\n\n"
	"With --require-key yes nobody answers here at a terminal any more, only with a registered key.  "
	"With --degraded NAMES (write,read,network,processes,state,end,privilege,own,autorun) runs go on without exactly these guarantees of the sandbox where this machine cannot meet them; "
	"'yes' stands for those that it cannot meet now, 'no' takes it back.  Each such run says so, and 'helm doctor' is not healthy.",
	"$ helm workspace trust --json", workspace_trust_opts, NEEDS_WORKSPACE, cmd_workspace_trust };

static const struct cmd row_profile_pause = { KNOWN(profile_pause), "PROFILE", 1, 1,
	"let nobody start this profile for now",
	"Runs and agents' calls under it are refused, on record, until it is resumed.  HELM_PAUSE_GATE, which older versions needed for that, changes nothing any more.",
	NULL, profile_pause_opts, NEEDS_WORKSPACE, cmd_profile_pause };

static const struct cmd row_profile_resume = { KNOWN(profile_resume), "PROFILE", 1, 1,
	"end a pause, with the token it was given", NULL, NULL, profile_resume_opts, NEEDS_WORKSPACE,
	cmd_profile_resume };

static const struct cmd row_profile_paused = { KNOWN(profile_paused), "", 0, 0, "list paused profiles", NULL,
	"$ helm profile paused", NULL, NEEDS_WORKSPACE, cmd_profile_paused };

static const struct cmd row_profile_ledger = { KNOWN(profile_ledger), "", 0, 0,
	"print the last rows of the task ledger", NULL, "$ helm profile ledger --limit 5",
	profile_ledger_opts, NEEDS_WORKSPACE, cmd_profile_ledger };

static const struct cmd row_profile_rollback = { KNOWN(profile_rollback), "", 0, 0,
	"say which checkpoint undoes a risky task", NULL, "$ helm profile rollback", profile_rollback_opts,
	NEEDS_WORKSPACE, cmd_profile_rollback };

static const struct cmd row_allow = { KNOWN(allow), "list|path|host|remove [PATH|HOST]", 1, 2,
	"one more place or host for the runs here",
	"'allow path PATH' lets every run here that may write at all write below PATH, too, and guards judge it like the work tree; checkpoints do not hold it.  "
	"'allow path --read PATH' lets every run here read a place of a home that the sandbox would not show ('helm profile show' lists those it shows).  "
	"'allow host HOST[:PORT]' lets the door of profiles that name hosts admit it (rules as in 'helm egress list').  "
	"Takes a person at a terminal of their own, or a registered key; what must stay closed cannot be allowed.  "
	"'allow remove' takes one back; a path has a slash, 'allow list' shows what is allowed.",
	"$ helm allow list", allow_opts, NEEDS_WORKSPACE, cmd_allow };

static const struct cmd row_egress_list = { KNOWN(egress_list), "", 0, 0,
	"list the hosts that runs may reach, and who said so",
	"A profile with \"network\": \"named\" has no route but one door, which admits these hosts and records every connection.  "
	"Rules are host, host:port, *.host, an address, or @list; without a port they mean 80 and 443.",
	"$ helm egress list --lists", egress_list_opts, MAY_WORKSPACE, cmd_egress_list };

static const struct cmd row_egress_check = { KNOWN(egress_check), "HOST[:PORT]", 1, 1,
	"say whether a host may be reached, and why",
	"Without a port it is asked about 443.  Exit 0 when it may be reached, 1 when not.", NULL,
	egress_check_opts, MAY_WORKSPACE, cmd_egress_check };

static const struct cmd row_egress_suggest = { KNOWN(egress_suggest), "", 0, 0,
	"say which hosts the work in this directory needs",
	"Reads lock files, package lists and git remotes of the current directory, and prints the rules they need and why.  "
	"Changes nothing: a person decides what is allowed.",
	"$ helm egress suggest", NULL, MAY_WORKSPACE, cmd_egress_suggest };

static const struct cmd row_egress_serve = { KNOWN(egress_serve), "", 0, 0,
	"serve the door of a run; started by helm itself", NULL, NULL, NULL, 0, cmd_egress_serve };

static const struct cmd row_privacy_scan = { KNOWN(privacy_scan), "[PATH...]", 0, -1,
	"find secrets and what belongs to people in a text or in files",
	"Without PATH the text is --text, --input or standard input.  Files and directories are looked through as program text, as with --strict: only what leaves little doubt is reported; a text is looked through more widely.  .git and node_modules are left out, what is no text and what could not be read is counted, each apart.  With --fail-on-findings a file that could not be read ends with 1, too.  "
	"Kinds are EMAIL, PHONE, KOREAN_RRN, CREDIT_CARD, IBAN and SECRET; IP_ADDRESS and MAC_ADDRESS when --only names them.  "
	"Values are never printed: a finding has its kind, its place and the first digits of its SHA-256.  Writes nothing.",
	"$ echo 'write to ann@corp.example.org' | helm privacy scan\n"
	"$ helm privacy scan --text 'password=hunter2 4111 1111 1111 1111' --json",
	privacy_scan_opts, 0, cmd_privacy_scan };

static const struct cmd row_privacy_tokenize = { KNOWN(privacy_tokenize), "", 0, 0,
	"replace what belongs to people by names that can be turned back",
	"The same value has the same name within a scope: <PRIVATE_EMAIL_1>.  Secrets become <SECRET_REDACTED_1> and are kept nowhere.  "
	"Values lie in .helm/privacy-vault.json, sealed with a key of the helm home.  Every call leaves a row in .helm/privacy-audit.jsonl.",
	"$ helm privacy tokenize --text 'call 010-1234-5678' --scope demo", privacy_tokenize_opts,
	NEEDS_WORKSPACE | DOCUMENT, cmd_privacy_tokenize };

static const struct cmd row_privacy_restore = { KNOWN(privacy_restore), "", 0, 0,
	"turn the names of a scope back into what they stand for",
	"An act on record: a receipt says which scope, how many and, with --authorize, why.  A name that the scope does not have stays as it is.",
	NULL, privacy_restore_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_privacy_restore };

static const struct cmd row_freeze = { KNOWN(freeze), "[status]", 0, 1,
	"allow nothing any more, to one or to all",
	"A signed record that every decision reads first; it stands above every mode and approval.  "
	"What is frozen already stays as it was: since when, and why.  'freeze status' shows what is frozen, and how each is lifted.",
	"$ helm freeze status", freeze_opts, NEEDS_WORKSPACE, cmd_freeze };

static const struct cmd row_unfreeze = { KNOWN(unfreeze), "", 0, 0, "lift a freeze",
	"Takes a person at a terminal of their own, or a registered key.", NULL, unfreeze_opts,
	NEEDS_WORKSPACE, cmd_unfreeze };

static const struct cmd row_signer_status = { KNOWN(signer_status), "", 0, 0,
	"does the keeper of the key answer", NULL, "$ helm signer status", NULL, 0, cmd_signer_status };

static const struct cmd row_signer_use = { KNOWN(signer_use), "SOCKET KEY", 2, 2,
	"let a signer sign what this user records",
	"In a helm home that has no key yet, or when the signer has another one than before.  KEY is the signer's public key: 'helm key export', run by the signer's user.  "
	"From then on the secret is nowhere in this user's reach; when the signer is away, nothing is recorded, and so nothing is allowed.",
	NULL, NULL, 0, cmd_signer_use };

static const struct cmd row_signer_run = { KNOWN(signer_run), "", 0, 0,
	"keep the key of other users, and sign for them",
	"Runs as a user of its own, until it is ended, with the key of that user's helm home ('helm key create').  "
	"Signs the next receipt of each chain it has signed from the beginning, never two for one place, and no grant and nothing that loosens without a person's key that its own user has registered ('helm approval trust add').\n\n"
	"  helm signer run --socket /run/helm-signer/socket --for alice",
	NULL, signer_run_opts, 0, cmd_signer_run };

static const struct cmd row_key_show = { KNOWN(key_show), "", 0, 0,
	"show the signing key's id, public key and place", NULL, "$ helm key show", NULL, 0, cmd_key_show };

static const struct cmd row_key_create = { KNOWN(key_create), "", 0, 0, "create the signing key of this user",
	"The key is made in ~/.helm/keys (HELM_HOME moves ~/.helm), readable by you only.  "
	"A key that is there is never overwritten; 'helm key rotate' replaces it by a new one, and keeps old records verifiable.",
	"$ helm key create", NULL, 0, cmd_key_create };

static const struct cmd row_key_export = { KNOWN(key_export), "", 0, 0,
	"print the public key, for those who verify",
	"Give the output to whoever shall check what this machine signs.  The secret never leaves its file.",
	"$ helm key export", key_export_opts, DOCUMENT, cmd_key_export };

static const struct cmd row_key_rotate = { KNOWN(key_rotate), "", 0, 0,
	"replace the signing key by a new one, signed for by the old",
	"The change is a link in the key history: signed by the old key, and by the new one.  "
	"Only when both are on disk is the old secret destroyed.  Old records stay verifiable: 'helm verify FILE --key NEW --history HISTORY' follows the history back.  "
	"Restart long-running helm processes afterwards.",
	"$ helm key rotate --reason 'yearly'", key_rotate_opts, MAY_WORKSPACE, cmd_key_rotate };

static const struct cmd row_key_revoke = { KNOWN(key_revoke), "KEY", 1, 1,
	"put on record that a former key is not to be trusted any more",
	"What the key signed before --since stays trusted.  "
	"The key in force cannot be revoked; rotate it first.",
	NULL, key_revoke_opts, MAY_WORKSPACE, cmd_key_revoke };

static const struct cmd row_key_history = { KNOWN(key_history), "", 0, 0,
	"show which keys this user had, and whether their history is unbroken", NULL, "$ helm key history",
	NULL, 0, cmd_key_history };

static const struct cmd row_key_repair = { KNOWN(key_repair), "", 0, 0, "bring back a damaged key history",
	"Links are put together from what is left of the file, from the record of this workspace, and from a copy (--from); a link in which one byte was changed is found by its digest, and so is one wrong digit of the signing key.  "
	"Nothing counts that its signatures do not prove.  The damaged file stays beside the new one.  Only an operator does it.",
	"$ helm key repair", key_repair_opts, MAY_WORKSPACE, cmd_key_repair };

static const struct cmd row_operator_file = { KNOWN(operator_file), "list|accept|reset [NAME]", 1, 2,
	"look after the files in which operators decide who may do what",
	"Approvers, trusted keys, keys and budgets of callers, servers of tools: each file is known by the digest of what was written last, so that a changed digit, an older copy or a removed file is found, and whoever needs it is refused.  "
	"'list' shows them.  'accept' takes what a file says now, after you have looked at it; 'reset' puts it aside and starts it anew.",
	"$ helm operator-file list", operator_file_opts, MAY_WORKSPACE, cmd_operator_file };

static const struct cmd row_key_trust = { KNOWN(key_trust), "add|list|remove [KEY]", 1, 2,
	"keep the keys of others that you trust",
	"KEY is 64 hex digits, or a file with them.  "
	"The keys stand in ~/.helm/trust/keys.json, for 'helm verify --trust'; receipts of this workspace that they signed count for 'helm log check', so that a key which was lost can be vouched for.",
	"$ helm key trust list", key_trust_opts, MAY_WORKSPACE, cmd_key_trust };

/* Plumbing: for scripts, clients and tests. */
static const struct cmd row_version = { KNOWN(version), "", 0, 0,
	"say which version this is, of what it is made, and what the kernel offers", NULL, "$ helm version",
	NULL, 0, cmd_version };

static const struct cmd row_completion = { KNOWN(completion), "bash|zsh|fish", 0, 1,
	"print a completion script for a shell",
	"Source the output, or put it where the shell looks for completions.", "$ helm completion bash", NULL,
	CHILD_ARGV | DOCUMENT, cmd_completion };

static const struct cmd row_hook_pre_tool = { KNOWN(hook_pre_tool), "", 0, 0,
	"answer an agent client before it makes a tool call",
	"Reads the client's payload on standard input.  No answer means: go on.  "
	"A refusal is said in the client's own words and is signed and on disk before it is said.  "
	"Whatever fails ends in a block.",
	"$ echo '{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | helm hook pre-tool --client claude-code",
	hook_opts, OPENS_ITSELF, cmd_hook_pre_tool };

static const struct cmd row_hook_post_tool = { KNOWN(hook_post_tool), "", 0, 0,
	"record what became of a tool call",
	"Reads the client's payload on standard input and binds the outcome to the decision of the same call.",
	NULL, hook_opts, OPENS_ITSELF, cmd_hook_post_tool };

static const struct cmd row_hook_session_start = { KNOWN(hook_session_start), "", 0, 0,
	"tell a session that starts what is known",
	"Prints what 'helm context pack' prints, in the words of the client.  Put in by 'helm setup CLIENT --context'.",
	NULL, hook_opts, NEEDS_WORKSPACE, cmd_hook_session_start };

static const struct cmd row_outside = { KNOWN(outside), "DECISION", 1, 1,
	"inside a supervised session: have done what a decision permits outside of its walls",
	"A hook's answer puts this in the place of a command that a person has permitted and the walls do not let through.  "
	"It works once, in that session only.",
	NULL, NULL, 0, cmd_outside };

static const struct cmd row_contained = { KNOWN(contained), "ID", 1, 1,
	"run an allowed shell call of an agent client inside the walls of its profile",
	"A client that was set up with --contain on runs this in the place of its command; nobody types it.  "
	"ID is redeemed once, by the command, directory and session it was allowed for.  "
	"The words behind -- are $0 of the client's shell, the command, and the shell's arguments.  "
	"Ends as the command ends; 25 when it is refused.",
	NULL, contained_opts, CHILD_ARGV, cmd_contained };

static const struct cmd row_db_init = { KNOWN(db_init), "", 0, 0,
	"make the query index, or bring it up to the ledgers", NULL, "$ helm db init", NULL, NEEDS_WORKSPACE,
	cmd_db_init };

static const struct cmd row_db_rebuild = { KNOWN(db_rebuild), "", 0, 0,
	"make the query index anew from the ledgers", NULL, "$ helm db rebuild", NULL, NEEDS_WORKSPACE,
	cmd_db_rebuild };

static const struct cmd row_db_verify = { KNOWN(db_verify), "", 0, 0,
	"compare the query index with the ledgers", "Exit 1 when they differ; 'db rebuild' mends it.",
	"$ helm db verify", NULL, NEEDS_WORKSPACE, cmd_db_verify };

static const struct cmd row_db_status = { KNOWN(db_status), "", 0, 0,
	"say whether there is a query index, and how large it is", NULL, "$ helm db status", NULL,
	NEEDS_WORKSPACE, cmd_db_status };

static const struct cmd row_db_query = { KNOWN(db_query), "", 0, 0,
	"ask the query index for tasks or guard decisions", "The index is brought up to the ledgers first.",
	"$ helm db query --guard-action deny", db_query_opts, NEEDS_WORKSPACE, cmd_db_query };

static const struct cmd row_policy_lint = { KNOWN(policy_lint), "FILE", 1, 1,
	"check a policy file, and say where it is wrong",
	"FILE is a policy of any kind: a policy document in YAML or JSON, a bundle, packs, a serve or launch policy, layers, requirements, or a text in the language of rules over nodes, edges and flows; - is standard input.  "
	"Every mistake is named with line, column, the word and what to write instead, one for each rule.  "
	"Warnings say what may not be meant, above all which rules have no objection when a fact is absent.  "
	"Exit 0 when the policy can be used, 1 when it cannot; with --strict warnings count, too.",
	"$ echo 'module data { rule r { scope: node when: has_tag(delta.node, \"pii\") enforce: deny explain: CPI.DATA.FORBIDDEN.PII } }' | helm policy lint -",
	policy_lint_opts, 0, cmd_policy_lint };

static const struct cmd row_policy_use = { KNOWN(policy_use), "[FILE]", 0, 1,
	"put a policy in use: every door obeys it from then on",
	"A person's act, on record: the document that is made of FILE is kept by its digest in the helm home, and holds whatever becomes of the file.  "
	"A policy makes answers stricter; with --lift RULE an explicit ALLOW also answers what that guard rule only asks about.  "
	"An epoch older than the one before is refused unless --allow-rollback says that it is meant.  "
	"--none goes back to profiles and guard rules alone.  --require-signature alone leaves the policy in use as it is.  "
	"Warnings say what may not be meant: that nothing is allowed, or that a pack waits for a fact that was not given.",
	NULL, policy_use_opts, NEEDS_WORKSPACE, cmd_policy_use };

static const struct cmd row_policy_show = { KNOWN(policy_show), "", 0, 0,
	"show the policy that is in use, and where each rule comes from",
	"Without one, what profiles and guard rules say is shown as a policy.", "$ helm policy show", NULL,
	MAY_WORKSPACE, cmd_policy_show };

static const struct cmd row_policy_limits = { KNOWN(policy_limits), "[FILE]", 0, 1,
	"show what a policy bounds, who has drawn on it, and what is left",
	"The policy in use, or FILE.  The figures are the sum over the receipts of this moment; HELD is money of calls whose outcome is not known yet.",
	NULL, NULL, NEEDS_WORKSPACE, cmd_policy_limits };

static const struct cmd row_policy_explain = { KNOWN(policy_explain), "[REQUEST]", 0, 1,
	"send a request through the gates, and say which rule answers and what would change it",
	"REQUEST is a file (JSON, or YAML when named .yaml), - for standard input, or the id of a decision on record (docs/formats/policy-request.md).  "
	"The policy is the one in use, or --policy FILE.  "
	"With --command or --as a door of this workspace is asked, with all that it knows (where it stands, the profile, where links lead, what was used up): "
	"the verdict is then the one that 'helm run' or the hook would give, with profiles and guard rules.  "
	"A request in a file is judged by the policy alone, with the facts that it names.  "
	"What would change the answer is found by trying: every line is what the policy says to a request that differs in one thing.  "
	"With --request REQ the argument is a policy in the language of rules over nodes, edges and flows.  "
	"Only judges: nothing is run or changed.  Exit 0 for ALLOW, 24 for ESCALATE, 25 for DENY.",
	NULL, policy_explain_opts, MAY_WORKSPACE, cmd_policy_explain };

static const struct cmd row_policy_test = { KNOWN(policy_test), "FILE...", 1, -1,
	"run the tests that stand beside a policy",
	"FILE is a policy, whose tests are NAME.test.yaml beside it, or such a file of tests (docs/formats/policy-test.md).  "
	"The policy alone is asked: profiles and guard rules are not part of a test.  Exit 0 only when something passed and nothing failed.",
	NULL, NULL, MAY_WORKSPACE, cmd_policy_test };

static const struct cmd row_policy_coverage = { KNOWN(policy_coverage), "FILE", 1, 1,
	"say which rules of a policy no test reaches",
	"Runs the tests beside it.  Exit 1 when a rule is not reached, or a test fails.", NULL, NULL,
	MAY_WORKSPACE, cmd_policy_coverage };

static const struct cmd row_policy_simulate = { KNOWN(policy_simulate), "CANDIDATE", 1, 1,
	"ask a candidate everything that was asked here, and say what would change, by rule",
	"Reads what the rows of agents' calls and runs have kept; nothing is run, and nothing is changed.  "
	"What is drawn on the candidate's budgets is summed up on the way.  "
	"Says how many decisions could not be asked again, or only with texts that were cut or redacted.",
	NULL, policy_simulate_opts, NEEDS_WORKSPACE, cmd_policy_simulate };

static const struct cmd row_policy_diff = { KNOWN(policy_diff), "A B", 2, 2,
	"say what policy B answers otherwise than policy A: newly allowed, newly asked, newly denied",
	"Asks both what their own rules suggest (each rule met, and each of its conditions just missed), and what was recorded here.  "
	"Exit 1 when they differ.",
	NULL, policy_diff_opts, MAY_WORKSPACE, cmd_policy_diff };

static const struct cmd row_policy_shadow = { KNOWN(policy_shadow), "start [FILE]|report|stop", 1, 2,
	"let a candidate decide beside the policy in use, and note only where it would differ",
	"The candidate is a policy, or with --profile another profile, or with --skill the contract of a skill.  It answers nobody.  report says what would have been different since it was started, by rule.  Starting and stopping are a person's act, on record.",
	NULL, policy_shadow_opts, NEEDS_WORKSPACE, cmd_policy_shadow };

static const struct cmd row_policy_revoke = { KNOWN(policy_revoke), "DIGEST", 1, 1,
	"never again put the policy of this digest in use",
	"Where it is in use, everything is denied until another policy is, or 'helm policy use --none'.  "
	"It holds for what the policy says: a copy of the file under another name is refused, too.  "
	"A digest that is not known here is refused, and those that are known are shown, unless --even-unknown says that it is meant.",
	NULL, policy_revoke_opts, NEEDS_WORKSPACE, cmd_policy_revoke };

static const struct cmd row_policy_fmt = { KNOWN(policy_fmt), "FILE", 1, 1,
	"print a policy file in its one layout",
	"Comments stay, and what the policy means does not change.  A text with mistakes is not laid out; 'policy lint' names them.  "
	"With --check nothing is printed, and the exit code says whether FILE has that layout already.",
	"$ echo 'module data{rule r{scope:node when:has_tag(delta.node,\"pii\") enforce:deny explain:CPI.DATA.FORBIDDEN.PII}}' | helm policy fmt -",
	policy_fmt_opts, DOCUMENT, cmd_policy_fmt };

static const struct cmd row_policy_new = { KNOWN(policy_new), "[TEMPLATE]", 0, 1,
	"list policies to start from, or print one",
	"With --out the policy is written to a new file, and its tests beside it (docs/formats/policy-test.md).",
	"$ helm policy new\n"
	"$ helm policy new two-tools --name mine",
	policy_new_opts, DOCUMENT, cmd_policy_new };

static const struct cmd row_policy_compile = { KNOWN(policy_compile), "FILE...", 1, -1,
	"print the policy document that a file becomes",
	"The document is what decides, what a person accepts and what receipts name by its digest (docs/formats/policy-document.md).  "
	"Several FILEs must be bundles: they become one, and of rules with the same id the strictest counts.  "
	"A compliance pack is a mapping that decides nothing, unless --as policy compiles its rules; then every variable that nothing here supplies is named.",
	NULL, policy_compile_opts, DOCUMENT, cmd_policy_compile };

static const struct cmd row_policy_import = { KNOWN(policy_import), "FILE", 1, 1,
	"make a policy document of an older kind of file",
	"Reads the shapes 'loader', 'managed' and 'lint' as well as everything that 'policy compile' reads.  What has no verdict there (log, warn, encrypt) is left out and named.",
	NULL, policy_import_opts, DOCUMENT, cmd_policy_import };

static const struct cmd row_policy_sign = { KNOWN(policy_sign), "FILE", 1, 1,
	"sign a policy with this user's key",
	"Ed25519 over 'HELM/PolicyBundle/v1', a newline and the canonical JSON of the whole document without its signature.  A policy document or bundle is signed as it stands; anything else as what it becomes.  "
	"An agent cannot do it.",
	NULL, policy_sign_opts, MAY_WORKSPACE | DOCUMENT, cmd_policy_sign };

static const struct cmd row_policy_verify = { KNOWN(policy_verify), "FILE", 1, 1,
	"check the signature of a policy against keys that you name",
	"Refused are: a policy that is not signed, a signature that is not of these bytes, a key that is none of --key, a digest on the list of --revoked, and an epoch below --epoch.  Exit 0 or 1.",
	NULL, policy_verify_opts, 0, cmd_policy_verify };

static const struct cmd row_pack_show = { KNOWN(pack_show), "FILE", 1, 1,
	"print the controls and rules of a pack, and what nothing enforces",
	"FILE is a compliance reference pack (JSON), or packs of jurisdictions, industries and business functions (YAML).",
	NULL, pack_show_opts, 0, cmd_pack_show };

static const struct cmd row_policy_eval = { KNOWN(policy_eval), "EXPRESSION", 1, 1,
	"evaluate an expression of a policy and print its value",
	"EXPRESSION is of the language that conditions of policies are written in, a subset of CEL (docs/formats/expression.md): null, bool, int, string, list and map; "
	"== != < <= > >= in && || ! + - * / % ?: ; size, startsWith, endsWith, contains, matches, has, all, exists, exists_one, map, filter, taint_contains.  "
	"Variables come from --input.  The value is printed as JSON; an error says line, column, word and remedy, and ends with 1.  "
	"With --requirement the exit code is 0 only when it is satisfied.  An expression that begins with '-' goes behind '--'.",
	"$ helm policy eval '[1, 2, 3].exists(x, x > 2)'\n"
	"$ helm policy eval --check 'input.amount <= 500 && \"admin\" in input.roles'",
	policy_eval_opts, DOCUMENT, cmd_policy_eval };

static const struct cmd row_policy_bench = { KNOWN(policy_bench), "RULES REQUESTS", 2, 2,
	"measure what a decision of the policy engine costs",
	"RULES is a list of {tool, prefix, max}: the tool is allowed when args.path starts with prefix and has no '..', args.size is below max and args.mode is ro or rw.  "
	"REQUESTS has one {tool, args, expect} per line.  The rules become a policy, and every request goes through the whole engine and is timed alone.  "
	"Prints {load_ms, p50_ns, p95_ns, p99_ns, mean_ns, wrong}; ends with 1 when an answer was wrong.",
	"$ helm policy bench rules.json requests.ndjson", NULL, DOCUMENT, cmd_policy_bench };

static const struct cmd row_conform_list = { KNOWN(conform_list), "", 0, 0,
	"list the suites, families of cases, levels, profiles and gates that this program answers", NULL,
	"$ helm conform list", NULL, 0, cmd_conform_list };

static const struct cmd row_conform_run = { KNOWN(conform_run), "", 0, 0,
	"run a directory of published cases and compare the answers",
	"Reads DIR/cases.jsonl, or with --suite the files of that suite below DIR, in their publisher's own layout.  "
	"Every member of a case's expected answer must be met.  "
	"Families this program does not know are counted as not supported, never as passed.  "
	"With --level or --profile it runs gates over an evidence pack instead; each reason is one of the published codes (docs/formats/conformance-gates.md).  "
	"With --endpoint it asks a boundary over HTTP, and says which differences are of the wire, the verdict or the code (docs/formats/conform-wire.md); exit 3 when nothing answers.  "
	"Scales that share names are printed with theirs: gate_level, profile, spec_level, tier.  "
	"Exit 0 only when something passed and nothing failed.",
	NULL, conform_run_opts, 0, cmd_conform_run };

static const struct cmd row_canonical = { KNOWN(canonical), "[FILE]", 0, 1,
	"print the canonical bytes of a JSON document, or why it has none",
	"These are the bytes that are hashed and signed: no white space, members sorted by UTF-16 code units, numbers as they were written, no final newline.  "
	"Reads standard input without FILE.  "
	"With --check nothing is printed and the exit code says whether the input is such bytes already, strict numbers included.",
	"$ echo '{\"b\": 1, \"a\": [true, null]}' | helm canonical", canonical_opts, DOCUMENT,
	cmd_canonical };

static const struct cmd row_schema_validate = { KNOWN(schema_validate), "SCHEMA FILE", 2, 2,
	"check a document against a JSON Schema",
	"SCHEMA and FILE are JSON, or YAML when named .yaml or .yml; FILE may be lines of JSON when named .jsonl.  "
	"The schema may use the keywords our contracts use; one that uses more is refused, because half a check is none.",
	NULL, NULL, 0, cmd_schema_validate };

#include "cli/commands_agent.h"
#include "cli/commands_fleet.h"
#include "cli/commands_loops.h"
#include "cli/commands_mcp.h"
#include "cli/commands_memory.h"
#include "cli/commands_serve.h"
#include "cli/commands_skill.h"

#include "cli/commands_ops.h"
#include "cli/commands_proxy.h"
#include "cli/commands_witness.h"

/* The table: the rows of command.def in their order, each with its text. */
const struct cmd *const commands[] = {
#define COMMAND(id, words, class, turn, turned, group, tool) &row_##id,
#include "model/command.def"
#undef COMMAND
};
const size_t command_count = ARRAY_SIZE(commands);
