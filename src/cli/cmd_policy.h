/* cmd_policy.h — inside cli/: what the commands about policies share. */
#ifndef CLI_CMD_POLICY_H
#define CLI_CMD_POLICY_H

#include "cli/cli.h"
#include "decide/bundle/bundle.h"
#include "decide/engine/engine.h"
#include "kernel/policy/policy.h"

/* A policy file, read and compiled. */
struct policy_file {
	const char *path;
	struct policy_reading reading;
	struct json *document; /* helm.policy.v1, without a signature */
	struct ruleset *rules;
};
/* Any shape that policies are written in, with the packs that are added to it.  What is wrong with it is printed with file, line and column, and *e says that
 * it cannot be used. */
int policy_file_open(struct cli *r, const char *path, const char *const *packs, size_t pack_count,
	struct policy_file *ret, struct err *e);
/* By its file, or what is in use here when `path` is NULL.  E_MISSING POLICY_NONE when nothing is. */
int policy_file_or_used(struct cli *r, const char *path, struct policy_file *ret,
	const struct json **ret_entry, struct err *e);
/* Who has signed it: a registered approver, or this user's own key.  *ret_signer is NULL when nobody did; a signature that does not hold is an error. */
int policy_file_signer(struct cli *r, const struct policy_file *f, const char **ret_signer, struct err *e);

/* What `--fact NAME=VALUE` says: a value is JSON where it reads as such, and a text otherwise.  What the door knows itself cannot be said. */
int policy_facts_option(struct cli *r, const struct json **ret, struct err *e);
/* What `--facts FACTS` says: a JSON object, or the file ('-': standard input) that holds one. */
int policy_facts_open(struct cli *r, const char *word, struct json **ret, struct err *e);
/* What --facts and --fact say together; *ret is NULL when neither says anything. */
int policy_facts_given(struct cli *r, struct json **ret, struct err *e);

/* A request: a JSON or YAML file, '-', or the id of a decision on record or of its receipt. */
int policy_request_open(struct cli *r, const char *word, struct policy_question *ret, struct err *e);
/* "dec-..." of that id, or of a receipt's as lists show it; NULL when it is none. */
const char *policy_decision_id(struct arena *a, const char *word);
/* What was answered then: {decision_id, at, verdict, reason_code?, rule?, policy?: {name, version, sha256, rule, origin, gate}}; NULL: no receipt says it. */
int policy_recorded_answer(struct cli *r, const char *id, struct json **ret, struct err *e);
/* What profiles and guard rules say about it here, where it names a command; NULL otherwise. */
const struct decision *policy_request_guard(
	struct cli *r, struct policy_question *q, const char *command, struct err *e);

/* cmd_policy_explain.c: by a policy file, or what is in use; a request, or the text of a command. */
int policy_explain_request(
	struct cli *r, const char *policy, const char *request, const char *command, struct err *e);

/* A text or list as a terminal may show it. */
const char *policy_shown(struct cli *r, const char *text);

#endif
