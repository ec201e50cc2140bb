/* commands_agent.h — rows of commands.c about supervised sessions. */
#ifndef CLI_COMMANDS_AGENT_H
#define CLI_COMMANDS_AGENT_H

static const struct cmd row_agent = { KNOWN(agent), "CLIENT [-- ARGS...]", 1, 1,
	"run a whole agent client inside the walls of a profile, and answer for it outside",
	"CLIENT is claude-code, codex, gemini, opencode, copilot, or any program.  Everything it starts runs inside the same walls, on a terminal of its own.  "
	"The profile is the workspace's, or " AGENT_PROFILE " where nobody has chosen one.  "
	"Its hooks ask this process, which has the key and writes the record.  "
	"What a person has permitted and the walls do not let through (git push) is carried out here, once, exactly as it was judged.  "
	"The exit code is the client's own.",
	"$ helm agent sh -- -c 'ls'   # any program; 'helm agent claude-code' and 'helm agent codex -- ARGS' work the same way\n"
	"$ helm agent list",
	agent_opts, NEEDS_WORKSPACE | CHILD_ARGV | SAYS_INSIDE, cmd_agent };

static const struct cmd row_agent_attach = { KNOWN(agent_attach), "[TASK]", 0, 1,
	"sit down at the terminal of a session that was started with --detach",
	"Without TASK the newest session.  You see what was shown last, and type as if you had started it there.  "
	"Ctrl-] and then d leaves it, and it goes on; Ctrl-] twice sends one Ctrl-].  "
	"Only one can sit there at a time, and nothing that runs inside a session can.",
	NULL, NULL, NEEDS_WORKSPACE | SAYS_INSIDE, cmd_agent_attach };

static const struct cmd row_agent_list = { KNOWN(agent_list), "", 0, 0, "list the sessions that are running",
	NULL, "$ helm agent list --all", agent_list_opts, NEEDS_WORKSPACE, cmd_agent_list };

static const struct cmd row_agent_report = { KNOWN(agent_report), "[TASK]", 0, 1,
	"one page about a session: what was done, asked, refused, can be undone, left the walls",
	"Without TASK the newest session.", NULL, NULL, NEEDS_WORKSPACE, cmd_agent_report };

static const struct cmd row_agent_stop = { KNOWN(agent_stop), "TASK", 1, 1,
	"end a session with everything in it", NULL, NULL, NULL, NEEDS_WORKSPACE, cmd_agent_stop };

static const struct cmd row_agent_keep = { KNOWN(agent_keep), "TASK PATH...", 2, -1,
	"put files that a session wrote in the home directory into their place",
	"A session writes into a layer.  At its end transcripts, history and the like come back; settings, hooks, servers and everything else are kept aside, and 'helm agent report' lists them.  "
	"PATH is as listed there, below the home directory; the file takes the place of the one that is there.  Read it first: it was written by an agent, and may start programs later.  "
	"Takes a person, and is on record.",
	"$ helm agent keep 7d1c0b1e-6f3a-4a53-8f0e-1f2f4ff3a001 .claude/CLAUDE.md", agent_keep_opts,
	NEEDS_WORKSPACE, cmd_agent_keep };

static const struct cmd row_agent_discard = { KNOWN(agent_discard), "TASK", 1, 1,
	"remove the files of a session that were kept aside",
	"After 30 days, or when 50 newer sessions have some, they are removed without it.", NULL, NULL,
	NEEDS_WORKSPACE, cmd_agent_discard };

#endif
