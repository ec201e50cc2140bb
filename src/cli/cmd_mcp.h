/* cmd_mcp.h — inside cli/: servers of tools, and the gateway to them. */
#ifndef CLI_CMD_MCP_H
#define CLI_CMD_MCP_H

#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/mcp/mcp.h"

/* A text that others wrote, as a terminal may see it. */
const char *mcp_safe(struct cli *r, const char *s);
/* One line: the command, or the url. */
const char *mcp_how_in_words(struct cli *r, const struct json *row);
void mcp_print_findings(struct cli *r, const struct json *findings);
/* A person says yes: by --yes, by a key, or by typing it. */
int mcp_confirm(struct cli *r, const struct person *who, const char *what, struct err *e);
/* A person who may loosen, or at least is there, and a kernel that records it. */
int mcp_open(struct cli *r, bool loosens, struct kernel *k, struct person *who, struct err *e);
/* Start these servers inside their walls and ask what they offer: {id: {tools} or {error}}; it is kept as what was seen. */
int mcp_ask(struct cli *r, const struct json *ids, struct json **ret, struct err *e);
/* What helm-serve must know to be a gateway. */
struct json *mcp_options(struct cli *r, const char *transport);

extern const struct opt mcp_add_opts[], mcp_person_opts[], mcp_show_opts[], mcp_approve_opts[],
	mcp_revoke_opts[], mcp_import_opts[], mcp_scan_opts[], mcp_gateway_opts[], mcp_receipts_opts[],
	mcp_authorize_opts[], mcp_shadow_opts[];
int cmd_mcp_add(struct cli *r, struct err *e);
int cmd_mcp_remove(struct cli *r, struct err *e);
int cmd_mcp_list(struct cli *r, struct err *e);
int cmd_mcp_show(struct cli *r, struct err *e);
int cmd_mcp_diff(struct cli *r, struct err *e);
int cmd_mcp_approve(struct cli *r, struct err *e);
int cmd_mcp_revoke(struct cli *r, struct err *e);
int cmd_mcp_quarantine(struct cli *r, struct err *e);
int cmd_mcp_import(struct cli *r, struct err *e);
int cmd_mcp_scan(struct cli *r, struct err *e);
int cmd_mcp_gateway(struct cli *r, struct err *e);
int cmd_mcp_child(struct cli *r, struct err *e);
int cmd_mcp_receipts(struct cli *r, struct err *e);
int cmd_mcp_authorize_call(struct cli *r, struct err *e);
int cmd_mcp_shadow(struct cli *r, struct err *e);

#endif
