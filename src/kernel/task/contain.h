/* contain.h — shell calls of an agent client that was started bare, inside the walls all the same.
 *
 * The hook answers an allowed call with the same call, wrapped: the client runs `helm contained ID ...` in the place of its command.
 * What the hook leaves behind for that is a ticket, <helm home>/calls/ID (docs/formats/contained.md).  The wrapper hands the call to
 * the keeper of the client's session, which redeems the ticket once, runs the command inside and says how it ended. */
#ifndef KERNEL_TASK_CONTAIN_H
#define KERNEL_TASK_CONTAIN_H

#include "clients/clients.h"
#include "kernel/kernel.h"

#define CONTAINED_EVENT "contained" /* "event" of the row that a call leaves in the ledger of tool calls */
#define CONTAINED_USE "contained_use_id" /* in it: the client's id of the call */

/* ---- in the hook ---- */

/* Does a person want the shell calls of this client contained here?  `helm setup CLIENT --contain on` said so. */
bool contain_is_on(struct sys *s, const struct workspace *ws, const char *client);
bool contain_is_decided(struct sys *s, const struct workspace *ws, const char *client); /* on or off */
/* Change that: an act on record. */
int contain_set(struct kernel *k, struct arena *a, const char *client, bool on, const char *executor,
	struct json **ret_receipt, struct err *e);

/* The text that a shell call runs; NULL: it is none, or cannot be wrapped. */
const char *contain_text_of(const struct tool_call *call);
/* May a call that a person is asked about run inside, once they said yes?  Not when what is asked about is to leave the walls. */
bool contain_fits(const struct decision *d, const struct proposal *p, const struct profile *profile);

/* A question about something that the sandbox of its profile keeps closed (opening.c).  Possible: a yes opens it, for a run of its own, because no
 * sandbox that stands is widened.  Never: it is denied in *h, with what to do.  `argv`: the command, for that sentence. */
enum opening_answer { OPENING_NONE, OPENING_POSSIBLE, OPENING_NEVER };
enum opening_answer opening_conclude(
	struct kernel *k, const struct request *q, const char *const *argv, size_t argc, struct handling *h);

struct contain_offer {
	const char *client;
	const struct tool_call *call;
	const struct surroundings *at; /* as it was judged */
	const struct caller *caller;
	const struct profile *profile;
	const struct handling *handling;
	bool is_look; /* only reads: there is no decision on record, and it is judged again when it is redeemed */
};
/* Leave a ticket, and say what the client is to run instead.  */
int contain_offer(struct kernel *k, struct arena *a, const struct contain_offer *o, const char **ret_command,
	struct err *e);

/* ---- in the wrapper ---- */

struct contained_call {
	const char *id;
	const char *text; /* "": as the ticket has it */
	const char *name; /* $0 of the client's shell */
	const char *const *args; /* its $1...; NULL-terminated */
	int state_fd; /* what the client's shell has loaded, as commands; or -1 */
	int input_fd; /* standard input of the command */
};
/* Redeem and run: *ret_status is a wait status, *ret_word a line for the person, or "".  The session is started when there is none.
 * E_DENIED with the reason when it is not permitted: then nothing was executed, and that is on record. */
int contained_run(struct sys *s, struct arena *a, const struct contained_call *call, int *ret_status,
	const char **ret_word, struct err *e);

/* Start the session of a call that was offered, and nothing else: for the hook, which holds a key that a session must not have. */
int contained_start(struct sys *s, struct arena *a, const char *id, struct err *e);

/* $SHELL where that speaks sh's language, as commands are judged; else /bin/sh. */
const char *shell_of_person(struct sys *s);

#endif
