/* kernel_fixture.h — a whole workspace with key and chain in a private directory, opened as one process sees it, through the twin of the
 * outside world. */
#ifndef TOOLS_KERNEL_FIXTURE_H
#define TOOLS_KERNEL_FIXTURE_H

#include "kernel/kernel.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"

struct kernel_fixture {
	struct scratch home; /* $HOME; the workspace is ws/ in it */
	struct fault f; /* the outside world: set its faults and its clock */
	struct arena process, request; /* what the kernel keeps; what one request needs */
	struct workspace *ws;
	struct kernel k;
	struct surroundings at; /* the workspace's root */
	const char *env[8]; /* HOME and PATH; more may be added */
};

/* A test that cannot have its workspace is aborted. */
void kernel_fixture_begin(struct kernel_fixture *x);
/* The same where commands can be run: walls show them a /dev/shm of their own. */
void kernel_fixture_begin_for_runs(struct kernel_fixture *x);
void kernel_fixture_done(struct kernel_fixture *x);
/* As another process would find it. */
void kernel_fixture_reopen(struct kernel_fixture *x);
void kernel_fixture_setenv(struct kernel_fixture *x, const char *name_and_value);

/* A request for shell text by agent:x in session s, under workspace_edit. */
struct request kernel_fixture_shell(struct kernel_fixture *x, const char *text);

/* The rows of a ledger, and the receipts of a type ("decision", "outcome", ...; NULL: all), in x->request. */
struct json *kernel_fixture_rows(struct kernel_fixture *x, const char *file);
const struct json *kernel_fixture_last_row(struct kernel_fixture *x, const char *file); /* or NULL */
struct json *kernel_fixture_receipts(struct kernel_fixture *x, const char *type);

/* Would a power cut lose nothing of this file of the state? */
bool kernel_fixture_is_durable(struct kernel_fixture *x, const char *file);

#endif
