/* mcp.h — servers of the Model Context Protocol that agents may call through the gateway (docs/formats/mcp.md).
 *
 * What a person decided about them stands in <helm home>/trees/<place>/mcp.json, where nobody who is governed can write: how each is
 * started or reached, and which of its tools may be called, each pinned by everything that a model or a client reads of it.  Every change is a
 * person's act and on record first.  What servers said last stands beside it (mcp-seen.json); it permits nothing.
 *
 *	discovered	somebody's settings name it; nobody has added it here
 *	quarantined	added: it may be started, inside walls, to be looked at; none of its tools may be called
 *	approved	by tool, effect, arguments, until a time
 *	revoked, expired */
#ifndef KERNEL_MCP_MCP_H
#define KERNEL_MCP_MCP_H

#include "kernel/act.h"
#include "kernel/kernel.h"

#define MCP_REGISTRY "mcp.json"
#define MCP_SEEN "mcp-seen.json"
enum { MCP_TOOLS_MOST = 4096, MCP_LINE_MOST = 4 << 20 };

/* ---- registry.c ---- */

/* {version, servers: {id: row}}; empty when there is none. */
int mcp_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Where it lies; NULL: there is no helm home. */
const char *mcp_path(struct arena *a, const struct workspace *ws);
/* E_MISSING MCP_UNKNOWN names what there is. */
int mcp_find(struct arena *a, const struct json *registry, const char *id, struct json **ret, struct err *e);
/* "quarantined", "approved", "revoked" or "expired", now; "discovered" for NULL. */
const char *mcp_state(const struct json *row, int64_t now_us);
/* An id stands in names of tools and of files: [a-z0-9][a-z0-9_-]{0,62}, without "__". */
bool mcp_is_id(const char *id);

/* What the server said last: {id: {at, tools: [...]}}.  E_INPUT MCP_TOOLS when the list cannot be kept. */
int mcp_seen_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
int mcp_seen_put(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	const struct json *tools, struct err *e);

/* A server, by the members of docs/formats/mcp.md; it is quarantined.  One that is there is replaced, and its approval is over unless
 * it is started in the same way. */
int mcp_add(struct kernel *k, struct arena *a, const char *id, const struct json *how,
	const struct person *who, struct json **ret_row, struct err *e);
int mcp_remove(struct kernel *k, struct arena *a, const char *id, const struct person *who, struct err *e);

struct mcp_terms {
	const char **tools; /* names or globs; none: all that were seen */
	size_t tool_count;
	const char **effects; /* read, write, destroy: tools that do no more; none: all */
	size_t effect_count;
	const struct json *arguments; /* {argument: [glob, ...]}; or NULL */
	int64_t expires_us; /* 0: until it is withdrawn */
	const char *set_sha256; /* only if this is what was seen; or NULL */
};
/* Pins the tools as `seen` has them ([definition, ...]).  E_INPUT MCP_CHANGED when they are not those of set_sha256. */
int mcp_approve(struct kernel *k, struct arena *a, const char *id, const struct json *seen,
	const struct mcp_terms *t, const struct person *who, struct json **ret_row, struct err *e);
/* All of it, or one tool.  A grant to pass ends with it, and a later approval begins with nothing. */
int mcp_revoke(struct kernel *k, struct arena *a, const char *id, const char *tool, const char *reason,
	const struct person *who, struct json **ret_row, struct err *e);
int mcp_quarantine(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret_row, struct err *e);
/* Until that time calls that would not be allowed are made all the same, and what would have been said is on record; 0 ends it.
 * MCP_OVER: it is revoked or expired. */
int mcp_observe(struct kernel *k, struct arena *a, const char *id, int64_t until_us, const struct person *who,
	struct json **ret_row, struct err *e);
/* The grant in force now, or NULL. */
const char *mcp_observed(const struct json *row, int64_t now_us);

/* ---- pins.c ---- */

struct mcp_pin {
	const char *schema; /* name, inputSchema, outputSchema; NULL: it has no canonical form */
	const char *text; /* everything else that it says */
};
void mcp_pin(struct arena *a, const struct json *tool, struct mcp_pin *ret);
/* Over the pins of all of them. */
const char *mcp_set_sha256(struct arena *a, const struct json *tools);
/* "read", "write" or "destroy": by data (share/mcp/), else by what it says of itself. */
const char *mcp_effect(const char *server, const struct json *tool);
/* The definition of that name; NULL: it is not in the list. */
const struct json *mcp_tool_in(const struct json *tools, const char *name);
/* What is not as it was approved: [{tool, change: added|vanished|DESCRIPTION_CHANGED|SCHEMA_CHANGED|BOTH_CHANGED, severity, parts: [{at,
 * was, now}]}]. */
struct json *mcp_drift(struct arena *a, const struct json *row, const struct json *seen);
/* Its state for people, with what is wrong about what it offers: "approved, but changed since", "quarantined, with 2 findings". `offered` NULL: it
 * was never looked at. */
const char *mcp_state_text(
	struct arena *a, const struct json *row, const struct json *offered, int64_t now_us);

/* ---- inspect.c ---- */

/* What in a text speaks to the model instead of about the tool: [{finding, severity, evidence}] are added to `to`. */
void mcp_inspect_text(struct arena *a, const char *text, size_t n, struct json *to);
/* All that a server says about its tools; each finding names the tool. */
struct json *mcp_inspect_tools(struct arena *a, const struct json *tools);
/* How it is started, and what it is called beside the others. */
struct json *mcp_inspect_server(
	struct arena *a, const char *id, const struct json *how, const struct json *others);
/* For a terminal, with characters that nobody sees spelled out: \u{200B}. */
const char *mcp_visible(struct arena *a, const char *text, size_t n);
/* Of a list of findings: "critical", "high", "medium", "low"; "" for none. */
const char *mcp_worst(const struct json *findings);
int mcp_severity(const char *name); /* 0 for none of them */

/* ---- judge.c ---- */

struct mcp_question {
	const char *server, *tool;
	const struct json *row; /* of the registry; or NULL */
	const struct json *seen; /* the definition as it is now; NULL: the server does not list it */
	const struct json *args;
	int64_t now_us;
};
struct mcp_answer {
	enum rule_effect action; /* ACTION_ALLOW: the registry has no objection */
	enum reason_code code;
	const char *rule, *text;
	const char *effect;
	struct mcp_pin pin; /* of what is called */
};
/* Pure: may this tool be called with these arguments, as far as a person has said so? */
void mcp_judge(struct arena *a, const struct mcp_question *q, struct mcp_answer *ret);
/* Can arguments be checked against its schema at all?  A tool of which nobody can tell stays in quarantine.  E_INPUT MCP_SCHEMA. */
int mcp_check_tool(struct arena *a, const struct json *tool, struct err *e);
/* Do the arguments fit the schema that the tool is pinned to?  E_INPUT with one of ERR_TOOL_ARGS_MISSING_REQUIRED, _UNKNOWN_FIELD, _TYPE_MISMATCH;
 * MCP_SCHEMA when nobody can tell. */
int mcp_check_args(struct arena *a, const struct json *tool, const struct json *args, struct err *e);

/* ---- authorize.c ---- */

/* Where a server of this row carries out its calls: its program runs in a sandbox that Helm puts up; one that is reached by a URL, or that nobody
 * knows (NULL), does not. */
enum placement mcp_placement(const struct json *row);
/* The directories that an operator granted to the server of this row are places it works in: at->allowed has them, too. */
void mcp_surround(
	struct sys *s, struct arena *a, const struct json *row, const char *home, struct surroundings *at);

/* Decide about a call as the gateway would, by what the server offered last; on record, and not made. */
int mcp_authorize(struct kernel *k, const char *server, const char *tool, const struct json *args,
	const char *client, struct handling *h, struct err *e);

/* ---- import.c: servers in the settings of agent clients ---- */

/* [{id, client, scope, path, keys: [...], how}] of this user and this project; `how` as mcp_add() takes it.  Files that cannot be read are
 * told in *ret_notes: [sentence]. */
struct json *mcp_find_servers(
	struct sys *s, struct arena *a, const char *home, const char *project, struct json **ret_notes);

/* ---- rewire.c: the gateway in the place of servers, in a client's settings, and back ---- */

struct mcp_rewiring {
	const char *client, *path;
	struct bytes before, after;
	unsigned mode;
	struct json *servers; /* ids */
	struct json *record; /* how it is taken back; NULL: it is */
};
/* Of the files that name servers of the registry in the very words they were imported with.  Writes nothing. */
int mcp_rewire_plan(struct sys *s, struct arena *a, const struct workspace *ws, const char *project,
	const char *client, const char *program, struct mcp_rewiring **ret, size_t *ret_n, struct err *e);
/* How it is taken back: the same bytes as before when nobody changed the file since, else only what is ours. */
int mcp_unwire_plan(struct sys *s, struct arena *a, const struct workspace *ws, const char *client,
	struct mcp_rewiring **ret, size_t *ret_n, struct err *e);
/* Make one of them.  MCP_REWIRE_CHANGED when the file is not what it was when it was planned. */
int mcp_rewire(struct sys *s, struct arena *a, const struct workspace *ws, const struct mcp_rewiring *w,
	struct err *e);

/* ---- child.c ---- */

/* ${NAME} and ${NAME:-other}, as clients write them; what is not set and has no other is empty. */
const char *mcp_expanded(struct sys *s, struct arena *a, const char *text);

/* Run this server inside its walls, with our streams, until it ends: *ret_code as its exit code. */
int mcp_child(struct sys *s, struct arena *a, const struct workspace *ws, const char *id, int *ret_code,
	struct err *e);

#endif
