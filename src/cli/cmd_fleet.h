/* cmd_fleet.h — inside cli/: what the commands at the centre of a fleet share. */
#ifndef CLI_CMD_FLEET_H
#define CLI_CMD_FLEET_H

#include "cli/cmd.h"

#define DATABASE \
	{ \
		"database", OPT_VALUE, "CONNINFO", \
			"of the ledger, as libpq takes it: 'host=/run/postgresql dbname=helm' (HELM_FLEET_DATABASE)", \
			NULL, false \
	}
#define TENANT \
	{ \
		"tenant", OPT_VALUE, "NAME", "which tenant (the only one)", NULL, false \
	}
#define SIGNER \
	{ \
		"signer", OPT_VALUE, "SOCKET", \
			"where 'helm signer log' listens (HELM_FLEET_SIGNER, or /run/helm-log/socket)", \
			NULL, false \
	}
#define NODE_ASKS \
	{ \
		"node", OPT_VALUE, "NODE", "the question of this machine, where several ask the same", NULL, \
			false \
	}
#define WHY \
	{ \
		"reason", OPT_VALUE, "TEXT", "why", NULL, false \
	}
#define LEDGER_URL \
	{ "url", OPT_VALUE, "URL", "ask a front end there instead of the database", NULL, false }, \
		{ "token-file", OPT_VALUE, "FILE", \
			"with --url: a token of 'helm fleet reader add' is in this file", NULL, false }, \
	{ \
		"ca", OPT_VALUE, "FILE", \
			"with --url: certificates that count, in PEM (those of the system)", NULL, false \
	}

/* {do, database}, or where --url is given {do, url, token}; then what is asked goes into it, and the answer comes out. */
int fleet_start(struct cli *r, const char *verb, struct json **ret, struct err *e);
void fleet_add_tenant(struct cli *r, struct json *q);
void fleet_add_signer(struct cli *r, struct json *q);
int fleet_ask(struct cli *r, struct json *q, struct json **ret, struct err *e);
int fleet_ask_and_show(struct cli *r, struct json *q, struct err *e);
/* A text of a machine or of a ledger, for a terminal; empty where there is none. */
const char *fleet_cell(struct cli *r, const struct json *doc, const char *name);
int fleet_ask_and_list(struct cli *r, struct json *q, const char *empty,
	void (*print)(struct cli *, const struct json *), struct err *e);
/* One order: signed, numbered, and in the database, from where the machines fetch it. */
int fleet_order(struct cli *r, const char *kind, struct json *body, const char *node, struct err *e);

#endif
