/* person.h — who may change what governs: a person at a terminal of their own, or a registered key.
 *
 * One function decides it for every command that asks (SECURITY.md says how far that goes). */
#ifndef KERNEL_PERSON_H
#define KERNEL_PERSON_H

#include "kernel/workspace.h"
#include "proof/key.h"
#include "proof/webauthn.h"

#define APPROVERS "approvers.json" /* in <helm home>/trust/: keys that count as a person */
#define APPROVAL_NAMESPACE "helm-approval@v1" /* ssh-keygen -Y sign -n: what the signature is for */

struct person {
	const char *name; /* "user:1000 at /dev/pts/3", "key ed25519:..." */
	struct key *key; /* signs too; or NULL */
	const struct json *
		proof; /* what an OpenSSH key or a passkey has signed, for the record: {key_id, signature, ...}; or NULL */
	webauthn_es256 *es256; /* ECDSA, of the door a passkey came by; or NULL */
	const struct json *
		assertion; /* of one of several, whose key has signed it elsewhere (approval_quorum_assert()); or NULL */
	const struct json *
		fleet; /* {key_id: {label, public_key_hex}}: whose keys count besides those that are registered here; or NULL */
	const struct json *
		order; /* the order of a fleet's centre that brought the answer: {seq, hash, kind, origin}; or NULL */
};

/* A person at a terminal, or with `key_file` (or NULL) a registered key, outside of everything that is governed.  E_DENIED
 * APPROVAL_INSIDE, APPROVAL_TERMINAL, APPROVAL_KEY, APPROVER_UNKNOWN.  `ws` may be NULL. */
int person_open(struct sys *s, struct arena *a, const struct workspace *ws, const char *key_file,
	struct person *ret, struct err *e);
/* A registered OpenSSH key that has signed exactly this message (proof/sshsig.h).  Errors as above, and those of sshsig_verify(). */
int person_open_signed(struct sys *s, struct arena *a, const struct workspace *ws, struct bytes message,
	struct bytes signature, struct person *ret, struct err *e);
/* The key in the file NAME.key, with NAME.pub beside it, whether anybody registered it or not. */
int person_load_key(struct sys *s, struct arena *a, const char *file, struct key **ret, struct err *e);
/* Is this key ("ed25519:...") registered now, and under which label?  Two keys of one label are one person. */
int person_of_key(struct sys *s, struct arena *a, const char *key_id, bool *ret_is_known,
	const char **ret_label, struct err *e);
/* Whom the fleet that this user has joined names, {key_id: {label, public_key_hex}}: for what its orders brought.  NULL: nobody. */
const struct json *person_of_fleet(struct sys *s, struct arena *a);
/* {label or hex: hex} of the registered keys. */
int person_keys(struct sys *s, struct arena *a, struct json **ret, struct err *e);
/* The first half alone: not below a guarded run or an agent client, nor at a terminal that one could have made. */
int person_is_outside(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e);
/* Nothing is loosened while everything is frozen, by whomever, or the lease of a fleet is over: E_DENIED SYSTEM_FROZEN. */
int person_may_loosen(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e);

/* The program that called this hook (`hook`: its process, 0: ours), for the row of the call: the nearest ancestor that is no shell or
 * the like.  pid 0 when there is none nearby. */
struct caller {
	int64_t pid, start_ticks;
	int64_t audit_session; /* -1 where the kernel counts none */
};
void person_caller(struct sys *s, int64_t hook, struct caller *ret);
/* Kept in the helm home, <helm home>/callers.jsonl, for all workspaces of this user: whoever is an agent in one is none's person.  Written when it is
 * called for the first time; not synced, because nothing of it counts after the machine has started again. */
int person_note_caller(struct sys *s, struct arena *a, const struct caller *caller, struct err *e);
/* The directory it is in; NULL when there is no such program, or it cannot be asked. */
const char *person_caller_place(struct sys *s, struct arena *a, const struct caller *caller);

#endif
