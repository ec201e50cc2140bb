/* fleet.h — this machine as one of many: what it has joined, what was acknowledged there, what it is told to do.
 *
 * Nothing here touches the network, and a decision reads one small file of it at most (the lease).  What is sent is the chain itself, so nothing
 * is kept beside it but how far the ledger has it; that is a cache.  Orders come signed and numbered; each is done by the same functions as the
 * command line's, and ends in a receipt that names it (docs/formats/fleet-orders.md). */
#ifndef KERNEL_FLEET_FLEET_H
#define KERNEL_FLEET_FLEET_H

#include "kernel/kernel.h"
#include "proof/key.h"
#include "proof/webauthn.h"

#define FLEET_DIR "fleet" /* in the helm home */
#define FLEET_JOINED "joined.json"
#define FLEET_STATE "state.json"
#define FLEET_APPROVERS "approvers.json"
#define FLEET_APPROVERS_V1 "helm-fleet-approvers/1"
enum { FLEET_PATIENCE_S = 600 }; /* with a log that does not show what was acknowledged */
enum { CAPTION_BYTES = 16384 }; /* of one caption or question, at most */
#define FLEET_ROOT_V1 "helm-fleet-root/1"
#define FLEET_BATCH_V1 "helm-fleet-batch/1"
#define FLEET_JOIN_V1 "helm-fleet-join/1"

/* For AUTO(), before the kernel that is opened on it. */
static inline void fleet_close(struct workspace **ws)
{
	workspace_close(*ws);
}

/* What a request says when it is signed: "helm:fleet:v1\n<origin>\n<method>\n<path>\n<sha256 of body>\n<time>\n". */
struct fleet_request {
	const char *origin, *method, *path;
	struct bytes body;
	int64_t time_s;
};
struct bytes fleet_message(struct arena *a, const struct fleet_request *q);
/* The same from {origin, method, path, body_sha256, time}, as a signer is asked; false: it is something else. */
bool fleet_message_of(struct arena *a, const struct json *doc, struct bytes *ret);
int fleet_sign(struct arena *a, const struct key *k, const struct fleet_request *q, uint8_t ret[SIGN_SIZE],
	struct err *e);

/* {version, url, origin, log_vkey, control_vkey, root_key, ca, ship, workspaces: [path], ...}; *ret NULL: this user has joined nothing. */
int fleet_joined(struct sys *s, struct arena *a, const char *helm_home, struct json **ret, struct err *e);
int fleet_join_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *doc, struct err *e);
/* {chains: {session: {acked, hash, path, stopped}}, checkpoint, order, lease, contact, ...}; an empty one when there is none: it is a cache.  One that is damaged is
 * empty, too, but for `damaged`, which says why; when it is saved, the damaged file is kept aside. */
int fleet_state(struct sys *s, struct arena *a, const char *helm_home, struct json **ret, struct err *e);
int fleet_state_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *doc, struct err *e);

/* The newest receipt of a workspace's chain; session NULL: nothing was recorded yet. */
struct fleet_head {
	const char *session;
	int64_t clock;
	const char *hash; /* of the chain, in hex */
};
int fleet_chain_head(
	struct sys *s, struct arena *a, const struct workspace *ws, struct fleet_head *ret, struct err *e);
/* What is recorded here now and was not acknowledged: {waiting, unread, chains: [{workspace, session_id, head, acked, waiting}]}.  `waiting` is
 * the total over all workspaces that were joined but `unread` ones, which have `error` instead of numbers. */
struct json *fleet_backlog(
	struct sys *s, struct arena *a, const struct json *joined, const struct json *state);

/* What a person should know: [{text, remedy}]; empty when nothing is wrong, or nothing was joined. */
struct json *fleet_wrong(struct sys *s, struct arena *a, const char *helm_home);

/* ---- lease ---- */

/* Every contact says for how long this machine may go on without the next; 0: for ever.  Counted by the clock that runs on while the machine
 * sleeps, within one boot. */
int fleet_lease_renew(struct sys *s, struct arena *a, const char *helm_home, int64_t seconds, struct err *e);
/* Why everything stands as if frozen, or NULL.  One small file is read, when there is one. */
const char *fleet_lease_over(struct sys *s, struct arena *a, const char *helm_home);

/* ---- orders ---- */

/* Is this the next order of the chain of orders that was joined, signed by its control key?  `after` and `last_hash` ("" for none) are those of the one before; *ret_hash
 * is its own.  E_DENIED FLEET_ORDER says what is wrong: then nothing more is obeyed. */
int fleet_order_check(struct arena *a, const struct json *joined, const struct json *order, int64_t after,
	const char *last_hash, const char **ret_hash, struct err *e);
/* Is it for this node? */
bool fleet_order_is_for(const struct json *order, const char *node);
/* Do it in this workspace: a receipt there names the order.  *ret_done is a sentence.  Where another root key is pinned by it, `joined` has it, too.
 * `es256`: ECDSA, for passkeys of that kind, or NULL. */
int fleet_obey(struct kernel *k, struct arena *a, struct json *joined, const struct json *order,
	const char *hash, webauthn_es256 *es256, const char **ret_done, struct err *e);
/* A list of approvers, {version, origin, serial, keys: [{public_key_hex, ssh_key or passkey, label}], at}: signed by the tenant's root key, and checked against it. */
int fleet_approvers_sign(struct arena *a, const struct key *root, struct json *list, struct err *e);
int fleet_approvers_check(
	struct arena *a, const char *root, const char *origin, const struct json *list, struct err *e);
/* {key_id: {label, public_key_hex}}: whom the list in force on this machine names; NULL: nothing was joined, or there is no list that holds. */
struct json *fleet_named(struct sys *s, struct arena *a, const char *helm_home);
/* The same list with the rows that can be read here; *ret_unread (or NULL) is how many cannot. */
struct json *fleet_approvers_readable(struct arena *a, const struct json *list, uint32_t *ret_unread);
/* Another root key: {version, origin, old_key, new_key, at, signature, new_signature}, signed by both.  Checked is only that they have: whether the old
 * one is the pinned one asks whoever obeys. */
struct json *fleet_root_sign(
	struct arena *a, const char *origin, const char *at, const struct key *old, const struct key *new);
int fleet_root_check(struct arena *a, const char *origin, const struct json *doc, struct err *e);
/* A person leaves: on record in this workspace, and what the centre had frozen goes on.  fleet_forget() is the end of it. */
int fleet_leave(struct kernel *k, struct arena *a, const struct json *joined, struct err *e);
int fleet_forget(struct sys *s, struct arena *a, const char *helm_home, struct err *e);
/* A receipt of type `fleet` that carries the newest checkpoint seen, the newest order heard and the root key that is pinned: what the ledger has shown this machine is in
 * the tree with it. */
int fleet_note_checkpoint(struct kernel *k, struct arena *a, const struct json *joined,
	const struct json *state, const char *why, struct err *e);

#endif
