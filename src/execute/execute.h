/* execute.h — run one command inside its walls, and know how it ended.  Checkpoints: checkpoint/checkpoint.h.
 *
 * The command gets its own process group and, on a terminal, the foreground, so that interactive programs work.  INT, TERM,
 * HUP and QUIT sent to helm are passed on; when time runs out or helm is asked to end, the whole tree gets TERM, a grace
 * period, and KILL.  Nothing that the command started outlives it. */
#ifndef EXECUTE_EXECUTE_H
#define EXECUTE_EXECUTE_H

#include "base/hash.h"
#include "execute/sandbox.h"

enum { RUN_TAIL_BYTES = 4096, RUN_GRACE_MS = 5000 };

struct run_request {
	const char *const *argv; /* NULL-terminated */
	const char
		*program; /* run exactly this file; NULL: argv[0] is looked up in the PATH of `environment` */
	const char *const *environment; /* NULL-terminated NAME=value: the whole of it */
	const char *cwd; /* absolute */
	int64_t timeout_ms; /* 0: none */
	bool capture; /* pass output through and keep tails and digests; off on a terminal */
	bool quiet; /* captured output is not passed on to our own streams */
	/* Called while the walls are put up; the command is executed only when it has returned OK.  Its error is that of
	 * run_command().  May be NULL. */
	int (*commit)(void *arg, struct err *e);
	const struct sandbox_rules *rules;
	/* In the child, as the last thing before it becomes the command.  False refuses, for the reason in `why`.  May be NULL. */
	bool (*last_look)(void *arg, char *why, size_t why_n);
	/* The command has ended, *ret says how; what it left behind is still being ended.  May be NULL. */
	void (*ended)(void *arg);
	void (*sign_of_life)(void *arg); /* every sign_ms while it runs; may be NULL */
	int64_t sign_ms;
	void *arg; /* of all of them */
};

struct run_stream {
	uint64_t bytes;
	char tail[RUN_TAIL_BYTES]; /* the last bytes, in order */
	size_t tail_n;
	uint8_t sha256[SHA256_SIZE];
};

struct run_result {
	int exit_code; /* of the command; 124 timeout, 126/127 not executed, 128+n signal */
	int exit_signal; /* or 0 */
	bool timed_out;
	bool interrupted; /* helm was asked to end */
	bool captured;
	int64_t started_us, finished_us;
	struct run_stream out, err; /* when captured */
	struct sandbox_report report;
};

/* Run it to its end.  E_DENIED when nothing was executed: SANDBOX_REFUSED when a required wall is missing, RUN_CHANGED
 * when last_look refused.  E_IO when the process could not be started.  A command that fails is not an error of this function. */
int run_command(struct sys *s, const struct run_request *request, struct run_result *ret, struct err *e);

#endif
