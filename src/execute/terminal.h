/* terminal.h — inside execute/: a pseudo-terminal between a session and the person's terminal. */
#ifndef EXECUTE_TERMINAL_H
#define EXECUTE_TERMINAL_H

#include "execute/execute.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <termios.h>

enum { TERMINAL_POLLS = 3, TERMINAL_CHUNK = 4096 };

/* Bytes on their way from one side to the other. */
struct terminal_flow {
	char bytes[TERMINAL_CHUNK];
	size_t at, n;
};

struct terminal {
	bool is_wanted; /* one of our streams is a terminal, and so the session gets one of its own */
	bool is_stream[3]; /* which of them */
	bool is_raw;
	bool has_modes; /* as_found is known */
	int in, out; /* the person's; -1: nothing is read from it, or written to it */
	int own; /* opened by us: not the same open file as the person's shell has; or -1 */
	int master; /* our side of the session's; -1: not there (any more) */
	struct termios as_found;
	struct winsize size;
	struct terminal_flow to_session, to_person;
	/* Of one that nobody sits at. */
	bool is_alone;
	int listener, guest; /* -1: none */
	bool is_new; /* the guest has not said yet how large its window is */
	bool is_cut; /* `kept` begins in the middle of something */
	char *kept; /* what was shown last */
	size_t kept_n, told; /* as far as `told` the guest has it */
};

/* Looks which of our streams are terminals.  Changes nothing. */
void terminal_find(struct terminal *t);
/* Instead of that: it is nobody's. */
void terminal_be_alone(struct terminal *t, const struct run_alone *how);
/* In the session's mount namespace, by the leader of a new kernel session: makes a pseudo-terminal there, gives it the size and modes
 * that were found, makes it the controlling one and puts it in the place of our terminals in 0, 1 and 2.  Returns our side
 * of it, or -1 with errno. */
int terminal_make(const struct terminal *t);
/* From here on every byte is passed on as it is.  Takes over `master`. */
void terminal_begin(struct terminal *t, int master);
/* The person's terminal as it was found, while we are stopped; and as a session needs it again. */
void terminal_yield(struct terminal *t);
void terminal_resume(struct terminal *t);
void terminal_resize(struct terminal *t);
/* For poll(): TERMINAL_POLLS entries; then the same ones to do what became possible. */
void terminal_await(const struct terminal *t, struct pollfd *p);
void terminal_relay(struct terminal *t, const struct pollfd *p);
/* What the session still printed, then the person's terminal as it was found. */
void terminal_end(struct terminal *t);

#endif
