/* cmd_log.h — inside cli/: whose signatures a workspace's own commands believe. */
#ifndef CLI_CMD_LOG_H
#define CLI_CMD_LOG_H

#include "audit/audit.h"
#include "cli/cli.h"
#include "proof/key.h"

/* The signing key of this user. */
int cmd_log_key(struct cli *r, struct key **ret, struct err *e);
/* A writer of this workspace's chain that knows the keys this user had before. */
void cmd_log_recorder(struct cli *r, struct recorder *ret, struct key *key);
/* --key and --history where the command has them and they were given; else this user's own key with its history. */
int cmd_log_trust(struct cli *r, bool has_options, struct trust *ret, struct err *e);
/* cmd_receipts.c: receipts as a table, or one of them as a line. */
void receipts_table(struct cli *r, const struct json *list);
void receipts_tail_row(struct cli *r, const struct json *receipt);

#endif
