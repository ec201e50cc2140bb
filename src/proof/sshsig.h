/* sshsig.h — public keys and detached signatures of OpenSSH, verified without any ssh program (docs/formats/approvals.md).
 *
 * Two kinds of keys: ssh-ed25519, and sk-ssh-ed25519@openssh.com, whose private half never leaves a hardware authenticator.  The
 * second kind signs only when somebody touches it, and says so in the signed flags; a signature without that is refused. */
#ifndef PROOF_SSHSIG_H
#define PROOF_SSHSIG_H

#include "base/err.h"
#include "proof/sign.h"

enum { SSH_KEY_LIMIT = 1024, SSHSIG_LIMIT = 4096 };

struct ssh_key {
	bool is_sk; /* in an authenticator */
	uint8_t pub[SIGN_PUBLIC];
	struct bytes application; /* of is_sk: begins with "ssh:", and is part of what is signed */
	struct bytes blob; /* the key as OpenSSH encodes it: equal keys have equal blobs */
};

/* "TYPE BASE64 COMMENT", as it stands in id_ed25519_sk.pub; the comment may be missing.  SSH_KEY_FORMAT when it is something else,
 * SSH_KEY_TYPE for other algorithms, KEY_WEAK as key_parse_public().  The key lives in `a`. */
int ssh_key_parse(struct arena *a, struct bytes line, const char *where, struct ssh_key *ret, struct err *e);
/* Does the text begin as such a line does?  So that whoever reads keys knows which parser to ask. */
bool ssh_key_is_line(struct bytes text);
/* "TYPE BASE64", without a comment; and "SHA256:...", as `ssh-keygen -l` names it. */
char *ssh_key_text(struct arena *a, const struct ssh_key *key);
char *ssh_key_fingerprint(struct arena *a, const struct ssh_key *key);

/* What a signature says besides being one. */
struct sshsig_facts {
	bool is_verified; /* the authenticator also asked for a PIN or a finger */
	uint32_t counter; /* how often the authenticator had signed; 0 for a plain key */
};

/* OK only when `text` (the armoured file of `ssh-keygen -Y sign`) is a signature over `message` by exactly this key, in exactly this
 * namespace.  Everything in it is read: nothing may be missing, left over or spelled otherwise.  SSHSIG_FORMAT, SSHSIG_KEY,
 * SSHSIG_NAMESPACE, SSHSIG_PRESENCE, SSHSIG_INVALID. */
int sshsig_verify(struct arena *a, const struct ssh_key *key, const char *name_space, struct bytes message,
	struct bytes text, struct sshsig_facts *ret, struct err *e);

#endif
