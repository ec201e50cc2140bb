/* commands_memory.h — rows of commands.c about memory. */
#ifndef CLI_COMMANDS_MEMORY_H
#define CLI_COMMANDS_MEMORY_H

static const struct cmd row_memory_capture_chat = { KNOWN(memory_capture_chat), "", 0, 0,
	"put work on record that was done in a conversation",
	"Adds three rows to the task ledger; the last one says what of it is worth remembering, in which layer, and why (docs/formats/memory.md).  "
	"Writes no memory: 'helm memory write' does.  --file names what was changed; a --path that is no workspace is taken for one, as in the Python Helm.",
	"$ helm memory capture-chat --task-name 'document the release' --file README.md", memory_chat_opts,
	NEEDS_WORKSPACE | PATH_MAY_BE_FILE, cmd_memory_capture_chat };

static const struct cmd row_memory_review_queue = { KNOWN(memory_review_queue), "", 0, 0,
	"list what waits: captures to be written, flags, what is stale",
	"The newest task comes first, with what holds it up and what to do about it.  Tasks that were superseded, archived or rolled back are left out.",
	"$ helm memory review-queue", memory_limit_opts, NEEDS_WORKSPACE, cmd_memory_queue };

static const struct cmd row_memory_pending_captures = { KNOWN(memory_pending_captures), "", 0, 0,
	"list tasks whose capture was planned and is not written", NULL, "$ helm memory pending-captures",
	memory_limit_opts, NEEDS_WORKSPACE, cmd_memory_pending };

static const struct cmd row_memory_finalize = { KNOWN(memory_finalize), "", 0, 0,
	"say where a planned capture was written",
	"The file must be there and belong to the layer: memory/YYYY-MM-DD.md for daily_memory, MEMORY.md for long_term_memory, a file below notes/ or memory/ or in an adopted vault for notes; an entity or relation of the ontology is named with --id.  "
	"Path and digest are kept; when every layer of the plan has a proof the capture is written.",
	NULL, memory_finalize_opts, NEEDS_WORKSPACE, cmd_memory_finalize };

static const struct cmd row_memory_crystallize = { KNOWN(memory_crystallize), "", 0, 0,
	"keep what a task has taught",
	"Prints the record as JSON.  A task that was kept before takes --force.", NULL,
	memory_crystallize_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_memory_crystallize };

static const struct cmd row_memory_op = { KNOWN(memory_op), "write|promote|supersede|archive|rollback", 1, 1,
	"put an operation on memory on record",
	"Prints the record as JSON.  A write or promotion that names a task says that its capture was made.  A task that is superseded, archived or rolled back leaves the review queue.",
	NULL, memory_op_opts, NEEDS_WORKSPACE | DOCUMENT, cmd_memory_op };

static const struct cmd row_memory_label = { KNOWN(memory_label), "", 0, 0,
	"say how far what a task taught can be relied upon",
	"raw and stale become candidate, a candidate becomes promoted; both take --evidence.  Anything becomes stale, or deprecated with --reason.  Promoting and deprecating take a person.",
	NULL, memory_label_opts, NEEDS_WORKSPACE, cmd_memory_label };

static const struct cmd row_memory_history = { KNOWN(memory_history), "", 0, 0,
	"list the last operations on memory, oldest first", NULL, "$ helm memory history", memory_limit_opts,
	NEEDS_WORKSPACE, cmd_memory_history };

static const struct cmd row_memory_audit_coherence = { KNOWN(memory_audit_coherence), "", 0, 0,
	"find what does not fit together",
	"Everything that waits in the review queue, and operations and crystallized records about tasks that nobody knows.  Exit 1 when there is something.  --limit cuts the text only.",
	"$ helm memory audit-coherence", memory_limit_opts, NEEDS_WORKSPACE, cmd_memory_audit };

static const struct cmd row_memory_write = { KNOWN(memory_write), "", 0, 0,
	"write down what the next run should know",
	"One entry, to today's note, MEMORY.md, a note of its own or the ontology (there --text is one row as JSON).  Every line ends in the name of its entry, which says who wrote it, from what, and since when it holds.  "
	"Secrets are taken out first.  Junk, what memory says already and what only repeats it is left out, and told.  "
	"An entry has the least trust of who writes it and of its sources: what a program printed or what was fetched waits until 'helm memory accept', and so does what would supersede something more trusted.",
	"$ helm memory write --layer long_term_memory --text 'Releases are cut on Tuesdays'",
	memory_write_opts, NEEDS_WORKSPACE, cmd_memory_write };

static const struct cmd row_memory_entries = { KNOWN(memory_entries), "", 0, 0,
	"list what was written, and whether it holds", NULL, "$ helm memory entries --waiting",
	memory_entries_opts, NEEDS_WORKSPACE, cmd_memory_entries };

static const struct cmd row_memory_accept = { KNOWN(memory_accept), "ENTRY|FILE", 1, 1,
	"let what waits into memory",
	"An entry keeps the trust of where it comes from.  Of a file, all lines that are not on record become an entry: what you wrote with an editor, and what "
	"a run wrote around the gate, which keeps its trust.  Look first: helm memory blame FILE.  Takes a person.",
	"$ helm memory accept MEMORY.md", NULL, NEEDS_WORKSPACE, cmd_memory_accept };

static const struct cmd row_memory_reject = { KNOWN(memory_reject), "ENTRY", 1, 1,
	"keep what waits out of memory", "The entry stays on record.  Takes a person.", NULL,
	memory_reject_opts, NEEDS_WORKSPACE, cmd_memory_reject };

static const struct cmd row_memory_revert = { KNOWN(memory_revert), "ENTRY", 1, 1, "take an entry back",
	"Its lines leave the file, what it had superseded holds again, and the entry stays on record.  Lines that somebody changed since stay, unless --force.  What a person wrote or accepted only a person takes back.",
	NULL, memory_revert_opts, NEEDS_WORKSPACE, cmd_memory_revert };

static const struct cmd row_memory_merge = { KNOWN(memory_merge), "FILE", 1, 1,
	"put a changed text back into a file of memory that others change, too",
	"--base is the text as it was read, --input as it should be.  What changed meanwhile is merged line by line.  Where both changed the same lines those in the file stay; ours are kept beside it in FILE.conflict-TIME.md, and the exit code is 1.",
	NULL, memory_merge_opts, NEEDS_WORKSPACE, cmd_memory_merge };

static const struct cmd row_memory_blame = { KNOWN(memory_blame), "FILE", 1, 1,
	"say of each line who put it there, when, and by which receipt", NULL,
	"$ helm memory blame MEMORY.md", NULL, NEEDS_WORKSPACE, cmd_memory_blame };

static const struct cmd row_memory_verify = { KNOWN(memory_verify), "", 0, 0,
	"check every entry against the chain, its sources and its file",
	"Errors are entries that no receipt knows or that are not what it has the digest of, sources that are not on record, trust that was raised, secrets, and lines that name an entry nobody made.  Lines that a person changed or took out are told, and are no error.  Exit 1 with errors.  'helm log check' checks the chain itself.",
	"$ helm memory verify", NULL, NEEDS_WORKSPACE, cmd_memory_verify };

static const struct cmd row_memory_note = { KNOWN(memory_note), "FILE", 1, 1,
	"look at a note with a lifecycle, or move it on",
	"States are captured, reviewed, applied, promoted and rejected.  Promoting takes a person.  "
	"A body that a person edited is never written over: --draft then goes to agent_redraft, and the note to reviewed.  Without options it shows state and problems; exit 1 when there are some.",
	NULL, memory_note_opts, NEEDS_WORKSPACE, cmd_memory_note };

#define LINT_ABOUT \
	"'applied' takes a note that is applied or promoted, 'is now a rule' a promoted one, 'saved' one that is not rejected; a negation in the same sentence cancels it.  Exit 3 when the text claims more, 2 for an unknown state."
static const struct cmd row_memory_lint_phrase = { KNOWN(memory_lint_phrase), "", 0, 0,
	"say whether a text claims more than a note holds", LINT_ABOUT,
	"$ helm memory lint-phrase --state reviewed --text 'not applied yet'", lint_phrase_opts, 0,
	cmd_lint_phrase };

static const struct cmd row_state_lint_phrase = { KNOWN(state_lint_phrase), "", 0, 0,
	"the same as `memory lint-phrase`", LINT_ABOUT, NULL, lint_phrase_opts, 0, cmd_lint_phrase };

static const struct cmd row_frontmatter_validate_vault = { KNOWN(frontmatter_validate_vault), "DIR", 1, 1,
	"say which folders a vault of notes lacks", "Exit 3 when one is missing, 2 when DIR is no directory.",
	NULL, NULL, 0, cmd_validate_vault };

static const struct cmd row_memory_tree_status = { KNOWN(memory_tree_status), "", 0, 0,
	"list summaries of sources and topics", NULL, "$ helm memory-tree status", memory_tree_status_opts,
	NEEDS_WORKSPACE, cmd_memory_tree_status };

static const struct cmd row_memory_tree_refresh = { KNOWN(memory_tree_refresh), "", 0, 0,
	"make a summary anew",
	"With --source or --topic the text of one; with --trigger global_compact the page over all topics, within its budget: the oldest topics with the fewest links are left out first, and named in excluded_topics.",
	NULL, memory_tree_refresh_opts, NEEDS_WORKSPACE, cmd_memory_tree_refresh };

static const struct cmd row_context_recent_state = { KNOWN(context_recent_state), "", 0, 0,
	"list the last tasks with what was planned to be remembered of them", NULL,
	"$ helm context recent-state", memory_limit_opts, NEEDS_WORKSPACE, cmd_context_recent_state };

#endif
