/* commands_mcp.h — rows of commands.c about servers of tools. */
#ifndef CLI_COMMANDS_MCP_H
#define CLI_COMMANDS_MCP_H

#include "cli/cmd_mcp.h"

static const struct cmd row_mcp_list = { KNOWN(mcp_list), "", 0, 0,
	"list the servers of tools that are known here", NULL, "$ helm mcp list", NULL, NEEDS_WORKSPACE,
	cmd_mcp_list };

static const struct cmd row_mcp_show = { KNOWN(mcp_show), "SERVER", 1, 1,
	"start a server inside its walls and show what it offers",
	"Each tool is approved, new, or changed since it was approved; what in its texts speaks to the model is told.  Approves nothing.",
	NULL, mcp_show_opts, NEEDS_WORKSPACE, cmd_mcp_show };

static const struct cmd row_mcp_diff = { KNOWN(mcp_diff), "SERVER", 1, 1,
	"show what a server offers now against what was approved",
	"Names, titles, descriptions, annotations and schemas, part by part; characters that nobody sees are made visible.  "
	"Ends with 1 when something differs.",
	NULL, mcp_show_opts, NEEDS_WORKSPACE, cmd_mcp_diff };

static const struct cmd row_mcp_import = { KNOWN(mcp_import), "", 0, 0,
	"take over the servers in the settings of your agent clients",
	"Reads the settings of Claude Code, Codex, Cursor and VS Code, of this user and of the project; shows how each server would be started and what it could reach; "
	"adds them, starts each inside its walls, and approves its tools as they are now.  A server whose texts speak to the model stays in quarantine.  "
	"'helm setup CLIENT' then puts them behind the gateway in the client's settings.",
	"$ helm mcp import --dry-run", mcp_import_opts, NEEDS_WORKSPACE, cmd_mcp_import };

static const struct cmd row_mcp_add = { KNOWN(mcp_add), "SERVER [-- COMMAND ARGS...]", 1, 1,
	"add a server of tools, in quarantine",
	"It runs with an empty home and an empty /tmp of its own, without a network and without our environment, except for what is named here.  "
	"One that is there is replaced; its approval stays only if it is started in the same way.",
	NULL, mcp_add_opts, NEEDS_WORKSPACE | CHILD_ARGV, cmd_mcp_add };

static const struct cmd row_mcp_approve = { KNOWN(mcp_approve), "SERVER", 1, 1,
	"let agents call tools of a server, as they are now",
	"Everything that a model or a client reads of a tool is pinned: when any of it changes, calls of that tool are denied until a person approves it again.  "
	"Calls are decided by their arguments all the same.",
	NULL, mcp_approve_opts, NEEDS_WORKSPACE, cmd_mcp_approve };

static const struct cmd row_mcp_revoke = { KNOWN(mcp_revoke), "SERVER", 1, 1,
	"withdraw the approval of a server, or of one tool", NULL, NULL, mcp_revoke_opts, NEEDS_WORKSPACE,
	cmd_mcp_revoke };

static const struct cmd row_mcp_quarantine = { KNOWN(mcp_quarantine), "SERVER", 1, 1,
	"ask about every call of a server until it is approved again", NULL, NULL, mcp_person_opts,
	NEEDS_WORKSPACE, cmd_mcp_quarantine };

static const struct cmd row_mcp_remove = { KNOWN(mcp_remove), "SERVER", 1, 1, "forget a server", NULL, NULL,
	mcp_person_opts, NEEDS_WORKSPACE, cmd_mcp_remove };

static const struct cmd row_mcp_shadow = { KNOWN(mcp_shadow), "SERVER | report [SERVER]", 1, 2,
	"let calls of a server pass for a time, and record what would have been said",
	"To begin with: nothing of this server is refused until then, except while everything is frozen or paused; each call that would not have been allowed leaves a "
	"counterfactual receipt.  'report' counts them.",
	"$ helm mcp shadow report", mcp_shadow_opts, NEEDS_WORKSPACE, cmd_mcp_shadow };

static const struct cmd row_mcp_scan = { KNOWN(mcp_scan), "", 0, 0,
	"look for trouble in the servers of your clients, those added here, and what they say",
	"Reads settings and what servers offered last; starts nothing.  Ends with 1 from --fail-on on.",
	"$ helm mcp scan", mcp_scan_opts, NEEDS_WORKSPACE, cmd_mcp_scan };

static const struct cmd row_mcp_receipts = { KNOWN(mcp_receipts), "[SERVER]", 0, 1,
	"list decisions and outcomes of calls, the newest first", NULL, "$ helm mcp receipts",
	mcp_receipts_opts, NEEDS_WORKSPACE, cmd_mcp_receipts };

static const struct cmd row_mcp_authorize_call = { KNOWN(mcp_authorize_call), "SERVER TOOL", 2, 2,
	"decide about a call without making it",
	"On record like any other decision.  Ends with 0 when it would be made, else with 1.", NULL,
	mcp_authorize_opts, NEEDS_WORKSPACE, cmd_mcp_authorize_call };

static const struct cmd row_mcp_gateway = { KNOWN(mcp_gateway), "", 0, 0,
	"stand between an agent client and its servers of tools",
	"What a client's settings start in the place of a server.  Every call is checked against the pinned schema, decided, signed and on disk before it is made; "
	"what came of it is recorded.  Servers are started when they are needed, inside walls.",
	NULL, mcp_gateway_opts, MAY_WORKSPACE, cmd_mcp_gateway };

static const struct cmd row_mcp_child = { KNOWN(mcp_child), "SERVER", 1, 1,
	"run one server inside its walls (for the gateway)", NULL, NULL, NULL, NEEDS_WORKSPACE,
	cmd_mcp_child };

#endif
