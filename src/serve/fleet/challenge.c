/* challenge.c — what a key is to sign, given by one front end and taken by any other, once.
 *
 * Nothing is written when one is given: whoever asks without being known costs no row.  A challenge says until when it counts, and bears a mark that only front
 * ends of this database can make; that it was answered stands in the database, where the first who says so has used it. */
#include "base/hash.h"
#include "serve/console.h"
#include "serve/fleet/look.h"

#include <string.h>

enum { LASTS_S = 300, HEAD = 16 }; /* 8 bytes of time, 8 random ones; the rest is the mark */
static const int64_t SECOND_US = 1000000;
#define ACT "act"

static void mark(const struct fleet *f, const char *purpose, const uint8_t *head, uint8_t ret[SHA256_SIZE])
{
	/* Twice, so that what is hashed first ends where we say. */
	for (int i = 0; i < 2; i++) {
		struct sha256 h;
		sha256_begin(&h);
		sha256_add(&h, f->secret, sizeof(f->secret));
		sha256_add(&h, i ? ret : head, i ? (size_t)SHA256_SIZE : (size_t)HEAD);
		sha256_add(&h, purpose, strlen(purpose));
		sha256_end(&h, ret);
	}
}

int challenge_make(struct call *c, const char *purpose, uint8_t ret[SHA256_SIZE], struct err *e)
{
	struct sys *s = c->server->sys;
	uint64_t until_s = (uint64_t)(s->now_us(s) / SECOND_US) + LASTS_S;
	uint8_t tag[SHA256_SIZE];

	for (int i = 0; i < 8; i++)
		ret[i] = (uint8_t)(until_s >> (56 - 8 * i));
	if (s->random(s, ret + 8, HEAD - 8))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	mark(c->server->fleet, purpose, ret, tag);
	memcpy(ret + HEAD, tag, SHA256_SIZE - HEAD);
	return OK;
}

bool challenge_is_ours(struct call *c, const char *purpose, const uint8_t challenge[SHA256_SIZE])
{
	struct sys *s = c->server->sys;
	uint8_t tag[SHA256_SIZE], differ = 0;
	uint64_t until_s = 0;

	mark(c->server->fleet, purpose, challenge, tag);
	for (int i = HEAD; i < SHA256_SIZE; i++)
		differ |= (uint8_t)(challenge[i] ^ tag[i - HEAD]);
	for (int i = 0; i < 8; i++)
		until_s = until_s << 8 | challenge[i];
	return !differ && s->now_us(s) / SECOND_US < (int64_t)until_s;
}

/* By the clock of the database; those of front ends may differ from it by far less than they are kept. */
int challenge_use(struct db *d, const uint8_t challenge[SHA256_SIZE], bool *ret, struct err *e)
{
	int64_t changed = 0;
	int rc = pg_do(d, "DELETE FROM used_challenge WHERE until < now()", NULL, 0, NULL, e);

	if (rc == OK)
		rc = pg_do(d,
			"INSERT INTO used_challenge(challenge, until) VALUES ($1, now() + interval '1 day') ON CONFLICT DO NOTHING",
			(struct pg_value[]){ pg_b((struct bytes){ challenge, SHA256_SIZE }) }, 1, &changed,
			e);
	*ret = rc == OK && changed == 1;
	return rc;
}

/* ---- of acts ---- */

static int act_make(struct call *c, uint8_t ret[SHA256_SIZE], struct err *e)
{
	return challenge_make(c, ACT, ret, e);
}

/* What the database cannot say now counts as used: nothing is done by it. */
static bool act_take(struct call *c, const uint8_t challenge[SHA256_SIZE])
{
	AUTO(lent_back) struct lent l = { 0 };
	struct err e = { 0 };
	bool is_fresh = false;

	if (!challenge_is_ours(c, ACT, challenge) || lend(c->server->fleet->pool, POOL_CONSOLE, 0, &l, &e) ||
		challenge_use(l.d, challenge, &is_fresh, &e) || (is_fresh && pg_commit(l.d, &e))) {
		if (e.rc)
			log_line(c->server, "error", c, "%s: %s", e.code, e.text);
		return false;
	}
	return is_fresh;
}

int challenges_start(struct fleet *f, struct err *e)
{
	static const struct console_challenges shared = { act_make, act_take };
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = lend(f->pool, POOL_CONSOLE, 0, &l, e);

	if (rc == OK)
		rc = pg_ask(l.d, "SELECT secret FROM door", NULL, 0, &rows, e);
	if (rc == OK && (rows.n != 1 || pg_bytes(&rows, 0, 0).n != sizeof(f->secret)))
		rc = err_set(e, E_CORRUPT, "FLEET_SCHEMA", "the table 'door' has not its one row");
	if (rc)
		return rc;
	memcpy(f->secret, pg_bytes(&rows, 0, 0).p, sizeof(f->secret));
	console_share_challenges(f->s, &shared);
	return OK;
}
