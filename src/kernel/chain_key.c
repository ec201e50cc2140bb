/* chain_key.c — a record goes on under the key that it began with, or one that follows it.
 *
 * Keys lie in the helm home and records in workspaces, so two helm homes can meet at one workspace.  A receipt of the second key would be
 * sound by itself, and the record with it unsound for good: nobody has signed that the second key follows the first.  So a writer looks at
 * the end of the chain before it writes anything. */
#include "kernel/chain_key.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/operator_files.h"
#include "proof/sign.h"
#include "record/record.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>

static const char *keys_of(struct arena *a, const char *helm_home)
{
	return arena_printf(a, "%s/keys", helm_home);
}

bool chain_key_is_own(
	struct sys *s, struct arena *a, const char *helm_home, const struct key *key, const char *hex)
{
	char own[2 * SIGN_PUBLIC + 1];

	hex_encode(key_public(key), SIGN_PUBLIC, own);
	return text_eq(own, hex) || keys_knows(s, a, AT_FDCWD, keys_of(a, helm_home), hex);
}

bool chain_key_is_trusted(struct sys *s, struct arena *a, const char *helm_home, const char *hex)
{
	struct trust trust = { 0 };
	struct err none = { 0 };
	uint8_t key[KEY_SIZE];

	if (!trust_parse_key(hex, key) ||
		trust_add_file(s, a, path_join(a, helm_home, "trust/" TRUSTED_KEYS), &trust, &none))
		return false;
	for (size_t i = 0; i < trust.key_count; i++)
		if (memcmp(trust.keys[i].key, key, KEY_SIZE) == 0)
			return true;
	return false;
}

/* The helm home beside the workspace, or the one below the home directory, whose keys know this one; NULL when it is elsewhere. */
static const char *home_of(struct sys *s, struct arena *a, const struct workspace *ws, const char *hex)
{
	const char *places[] = { path_clean(a, arena_printf(a, "%s/..", ws->root)),
		ws->home ? arena_printf(a, "%s/.helm", ws->home) : NULL };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i] && keys_knows(s, a, AT_FDCWD, keys_of(a, places[i]), hex))
			return places[i];
	return NULL;
}

const char *chain_key_remedy(struct sys *s, struct arena *a, const struct workspace *ws, const char *hex)
{
	const char *home = home_of(s, a, ws, hex);

	if (home)
		return arena_printf(a,
			"that key is in %s: set HELM_HOME=%s, or use another workspace (helm init --path DIR)",
			home, home);
	return arena_printf(a,
		"set HELM_HOME to the helm home that has that key, or use another workspace (helm init --path DIR); if it was yours "
		"and is lost: helm key trust add %s",
		hex);
}

int chain_key_check(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct key *key, struct err *e)
{
	uint8_t signer[SIGN_PUBLIC];
	char hex[2 * SIGN_PUBLIC + 1], own[2 * SIGN_PUBLIC + 1];

	if (!ws->helm_home || !log_last_signer(s, a, ws->state_fd, signer) ||
		memcmp(signer, key_public(key), SIGN_PUBLIC) == 0)
		return OK;
	hex_encode(signer, SIGN_PUBLIC, hex);
	hex_encode(key_public(key), SIGN_PUBLIC, own);
	if (chain_key_is_own(s, a, ws->helm_home, key, hex) || chain_key_is_trusted(s, a, ws->helm_home, hex))
		return OK;
	return err_set(e, E_INPUT, "KEY_FOREIGN",
		"the record of %s is signed with the key ed25519:%.16s..., and %s has another one (ed25519:%.16s...), so nothing was "
		"written; %s",
		ws->root, hex, ws->helm_home, own, chain_key_remedy(s, a, ws, hex));
}
