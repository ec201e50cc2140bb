/* vouch.h — the newest state of a log that somebody has put their name to, on disk (docs/formats/fleet-signer.md).
 *
 * Whoever signs heads of a log, as the log itself or as a witness of it, must never sign two that do not go on from each other.  So what was signed
 * last is here, and is replaced, synced, before a signature is given away: after a kill at any moment it is known what may have been given. */
#ifndef KERNEL_VOUCH_H
#define KERNEL_VOUCH_H

#include "base/sys.h"
#include "proof/tlog_proof.h"

/* One file for each log. */
struct vouch_place {
	struct sys *sys;
	int dirfd;
	const char *file;
};
struct vouched {
	struct tlog_head head; /* size 0: nothing */
	const char *note; /* in which it was; or NULL: whoever vouches is who wrote it */
};

/* What was signed last of a log.  VOUCH_STATE when the file is not what was written: then nothing may be signed. */
int vouch_last(
	const struct vouch_place *p, struct arena *a, const char *origin, struct vouched *ret, struct err *e);
/* May `next` be signed?  *ret_answer TLOG_COSIGN: yes, and it is on disk as the last one, with its note when it has one.  Otherwise no, *e says why, and
 * nothing has changed.  *ret_last is what was the last one before.  Several processes and threads may ask at once; one after the other gets an answer.
 * Fails only when the state cannot be read or written. */
int vouch_step(const struct vouch_place *p, struct arena *a, const struct vouched *next,
	const struct tlog_request *request, enum tlog_answer *ret_answer, struct vouched *ret_last,
	struct err *e);

#endif
