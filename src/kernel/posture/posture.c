/* posture.c — reading the standing word of a workspace.
 *
 * One small file and one signature.  What was read is kept with the workspace and looked at again only when the files have changed,
 * so that every decision of a long process sees a freeze at once and pays two stat() calls for it.
 *
 * Where it closes: a document that is there and cannot be believed freezes everything; one that is lost is looked for in the chain,
 * and of what is found there only freezes and pauses count; while an act is unfinished, the stricter of the old and the new
 * snapshot holds.  A workspace that nobody has spoken about lies under the word of the nearest one above it. */
#include "kernel/posture.h"
#include "audit/keys.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sealed.h"
#include "base/text.h"
#include "execute/execute.h"
#include "kernel/posture_parts.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>

struct posture_memo {
	struct arena a;
	bool is_there;
	struct stamps {
		struct stamp document, intent, place, outer;
	} at;
	int64_t read_us;
	unsigned held;
	const char *dir; /* of this very place, also when the word of another one holds */
	struct posture p;
};

struct posture_memo *posture_memo_new(struct arena *a)
{
	return arena_zalloc(a, 1, sizeof(struct posture_memo));
}

void posture_memo_done(struct posture_memo *m)
{
	if (m)
		arena_done(&m->a);
}

/* A path may hold any bytes, and a text that is signed may not. */
const char *posture_name(struct arena *a, const char *root)
{
	size_t n;

	return text_utf8(a, root, strlen(root), TEXT_BYTE, &n);
}

/* ---- believing ---- */

/* Is this key of ours, now or before a rotation? */
static bool is_own_key(struct sys *s, struct arena *a, const struct workspace *ws, const char *hex)
{
	const char *keys = arena_printf(a, "%s/keys", ws->helm_home);
	struct bytes pub;

	if (file_read(s, a, AT_FDCWD, arena_printf(a, "%s/root.pub", keys), 4096, 0, &pub, NULL) == OK &&
		pub.n >= 64 && strlen(hex) == 64 && memcmp(pub.p, hex, 64) == 0)
		return true;
	return keys_knows(s, a, AT_FDCWD, keys, hex);
}

bool receipt_is_of_user(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *receipt)
{
	const char *signer = json_get_text(json_get(receipt, "public_key_set"), "ed25519", "");
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct verification v;

	if (!ws->helm_home || !trust_parse_key(signer, own.key) || !is_own_key(s, a, ws, signer))
		return false;
	verification_begin(&v, a, &trust, "receipt");
	verify_receipt(&v, receipt);
	return v.integrity == ANSWER_YES && v.trusted == ANSWER_YES;
}

int posture_check_version(const struct json *receipt, const char *where, struct err *e)
{
	return doc_check_version(
		json_get(json_get(receipt, "metadata"), "posture"), "version", POSTURE_VERSION, where, e);
}

bool posture_keys_damaged(struct sys *s, const struct workspace *ws)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct log_report keys = audit_report_new(&a);

	return ws->helm_home && (audit_keys(s, &a, ws->helm_home, &keys, NULL) || !keys.is_sound);
}

/* The signature covers the digest, and the digest the snapshot; the key is ours.  NULL when any of that does not hold. */
const struct json *posture_believe(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *receipt)
{
	const struct json *word = json_get(json_get(receipt, "metadata"), "posture");

	if (!json_is(word, JSON_OBJECT) || json_get_int(word, "version", 0) != POSTURE_VERSION ||
		!text_eq(json_get_text(receipt, "output_hash", ""), json_sha256(a, word)))
		return NULL;
	return receipt_is_of_user(s, a, ws, receipt) ? word : NULL;
}

/* ---- the stricter of two ---- */

/* Everything that either holds still. */
static void unite(struct arena *a, struct json *to, const char *name, const struct json *x)
{
	struct json *part = doc_part(a, to, name);

	json_each_member (m, json_get(x, name))
		if (!json_get(part, m->name))
			json_set(a, part, m->name, m->value);
}

/* A client that one of them contains is contained. */
static void contain_either(struct arena *a, struct json *to, const struct json *x)
{
	json_each_member (m, json_get(x, "contain"))
		if (json_get_bool(json_get(x, "contain"), m->name, false))
			json_setb(a, doc_part(a, to, "contain"), m->name, true);
}

/* A skill is held to what either was pinned to; two different pins fit nothing until it is settled which one holds. */
static void pin_either(struct arena *a, struct json *to, const struct json *x)
{
	json_each_member (m, json_get(x, "skills")) {
		struct json *part = doc_part(a, to, "skills"), *old = json_get(part, m->name);
		const char *other = json_get_text(m->value, "sha256", "");
		if (old && text_eq(json_get_text(old, "sha256", ""), other))
			continue;
		struct json *one = json_copy(a, m->value);
		if (old)
			json_sets(a, one, "sha256", "");
		json_set(a, part, m->name, one);
	}
}

/* Only what both have, byte for byte. */
static void intersect(struct arena *a, struct json *to, const char *name, const struct json *x)
{
	const struct json *old = json_get(to, name), *other = json_get(x, name);
	struct json *both = json_new(a, JSON_OBJECT);

	json_each_member (m, old)
		if (text_eq(json_get_text(other, m->name, ""), json_get_text(old, m->name, "-")))
			json_set(a, both, m->name, m->value);
	json_set(a, to, name, both);
}

/* Only hosts that both name. */
static void intersect_hosts(struct arena *a, struct json *to, const struct json *x)
{
	const struct json *old = json_get(to, "egress"), *other = json_get(x, "egress");
	struct json *both = json_new(a, JSON_ARRAY);

	json_each (rule, old)
		json_each (same, other)
			if (json_text(rule) && json_text(same) && text_eq(json_text(rule), json_text(same)))
				json_push(a, both, rule);
	if (old)
		json_set(a, to, "egress", both);
}

/* A policy alone, without what it may answer instead of a person. */
static struct json *policy_without_lifts(struct arena *a, const struct json *policy)
{
	struct json *strict = json_copy(a, policy);

	(void)json_remove(strict, "lifts");
	return strict;
}

/* What either word holds against policies: one that is revoked in either is revoked, and signatures that either wants are wanted. */
static void bar_policies(struct arena *a, struct json *to, const struct json *x)
{
	unite(a, to, "policy_revoked", x);
	if (json_get_bool(x, "policy_signed", false))
		json_setb(a, to, "policy_signed", true);
}

static void collect_policy(struct arena *a, struct json *list, const struct json *policy)
{
	struct json *strict = policy_without_lifts(a, policy);

	json_each (one, list)
		if (json_eq(one, strict))
			return;
	json_push(a, list, strict);
}

/* Every policy that holds by this word. */
static void collect_policies(struct arena *a, struct json *list, const struct json *word)
{
	if (json_get(word, "policy"))
		collect_policy(a, list, json_get(word, "policy"));
	json_each (one, json_get(word, "policy_also"))
		collect_policy(a, list, one);
}

/* Every policy of both is asked where they differ, and none answers for a person. */
static void both_policies(struct arena *a, struct json *to, const struct json *x)
{
	static const char *const parts[] = { "policy", "policy_also" };
	struct json *list = json_new(a, JSON_ARRAY), *also = json_new(a, JSON_ARRAY);
	bool differ = false;

	bar_policies(a, to, x);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		differ |= !json_eq(json_get(to, parts[i]), json_get(x, parts[i]));
	if (!differ)
		return;
	collect_policies(a, list, to);
	collect_policies(a, list, x);
	for (size_t i = 1; i < list->n; i++)
		json_push(a, also, json_at(list, i));
	json_set(a, to, "policy", json_at(list, 0));
	if (also->n)
		json_set(a, to, "policy_also", also);
}

/* DEMAND_* that these settings waive, on whatever machine.  Settings of versions that named no guarantees waive all of them. */
static unsigned waived_by(const struct json *word)
{
	const struct json *names = json_get(word, "degraded_guarantees");
	unsigned waived = DEMAND_ALL;

	if (!json_get_bool(word, "degraded", false))
		return 0;
	if (names)
		(void)guarantees_parse(names, &waived);
	return waived;
}

/* Only what both waive, for the same machine. */
static void waive_both(struct arena *a, struct json *both, const struct json *y)
{
	const unsigned waived =
		text_eq(json_get_text(both, "degraded_machine", ""), json_get_text(y, "degraded_machine", ""))
		? waived_by(both) & waived_by(y)
		: 0;

	json_setb(a, both, "degraded", waived);
	(void)json_remove(both, "degraded_guarantees");
	if (waived && waived != DEMAND_ALL)
		json_set(a, both, "degraded_guarantees", guarantees_list(a, waived));
}

/* Which profile is the stricter one is not asked here, where profiles themselves may be in question: two different choices count
 * as the shipped one that only looks. */
struct json *posture_strictest(struct arena *a, const struct json *x, const struct json *y)
{
	static const char *const texts[] = { "default_profile", "destructive" };
	static const char *const strict[] = { "inspect_local", "ask" };
	struct json *both = json_copy(a, x);

	unite(a, both, "freezes", y);
	unite(a, both, "pauses", y);
	contain_either(a, both, y);
	pin_either(a, both, y);
	both_policies(a, both, y);
	intersect(a, both, "accepted", y);
	intersect(a, both, "allowed_paths", y);
	intersect(a, both, "readable_paths", y);
	intersect_hosts(a, both, y);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!text_eq(json_get_text(x, texts[i], ""), json_get_text(y, texts[i], "")))
			json_sets(a, both, texts[i], strict[i]);
	waive_both(a, both, y);
	json_setb(a, both, "require_key",
		json_get_bool(x, "require_key", false) || json_get_bool(y, "require_key", false));
	return both;
}

/* What only forbids. */
struct json *posture_only_strict(struct arena *a, const struct json *word)
{
	struct json *strict = json_new(a, JSON_OBJECT);

	unite(a, strict, "freezes", word);
	unite(a, strict, "pauses", word);
	contain_either(a, strict, word);
	pin_either(a, strict, word);
	both_policies(a, strict, word);
	if (json_get_bool(word, "require_key", false))
		json_setb(a, strict, "require_key", true);
	return strict;
}

/* ---- reading ---- */

/* Nothing is lost where nothing was decided yet.  E_MISSING: nobody says that of this place. */
static int read_new_place(struct sys *s, struct arena *a, const char *root, struct posture *p, struct err *e)
{
	const char *file = arena_printf(a, "%s/" POSTURE_NEW, p->dir);
	struct json *place;
	int rc = doc_read(s, a, AT_FDCWD, file, POSTURE_LIMIT, 0, &place, e);

	if (rc == OK)
		rc = doc_check_version(place, "schema_version", 1, file, e);
	if (rc == E_IO)
		return rc;
	if (rc || !text_eq(json_get_text(place, "root", ""), posture_name(a, root)))
		return E_MISSING;
	p->stands_alone = json_get_bool(place, "stands_alone", false);
	return OK;
}

/* A document that is lost although there are acts on record.  What they forbade is still forbidden; what they permitted has to be
 * said again. */
static int recover(
	struct sys *s, struct arena *a, const struct workspace *ws, struct posture *p, struct err *e)
{
	const struct json *act;
	int rc = posture_in_chain(s, a, ws, &(struct posture_search){ 0 }, &act, e);

	p->is_unfinished = true;
	if (rc || !act)
		return rc;
	p->word = posture_only_strict(a, json_get(json_get(act, "metadata"), "posture"));
	p->receipt_id = json_get_text(act, "receipt_id", NULL);
	p->note =
		"what was decided about this place is not where it is kept any more; of the acts on record, "
		"freezes and pauses hold, and nothing is accepted";
	return OK;
}

/* The file is damaged, older or gone, and what was in it stands in the chain: the newest act about this place.  The seal lies beside the file and
 * has the digest of what was written last; when that is this very act, nothing was decided after it, and all of it holds.  For another
 * place than that of the workspace there is no chain here. */
static bool restore(struct sys *s, struct arena *a, const struct workspace *ws, const char *root,
	const char *file, struct posture *p)
{
	const struct json *act = NULL;

	if (!text_eq(root, ws->root) || !file_exists(s, AT_FDCWD, arena_printf(a, "%s.seal", file)) ||
		posture_in_chain(s, a, ws, &(struct posture_search){ 0 }, &act, NULL) || !act ||
		!sealed_is(s, a, AT_FDCWD, file, act, JSON_SORT))
		return false;
	const struct json *word = json_get(json_get(act, "metadata"), "posture");
	if (!text_eq(json_get_text(word, "root", ""), posture_name(a, root)))
		return false;
	p->word = word;
	p->receipt_id = json_get_text(act, "receipt_id", NULL);
	p->restored = act;
	p->is_spoken = p->is_unfinished = true;
	return true;
}

/* The seal cannot be read, so the file may be an older copy: it counts when the chain has no newer act. */
static bool is_newest(struct sys *s, struct arena *a, const struct workspace *ws, const char *root,
	const struct json *receipt, struct posture *p)
{
	const struct json *act = NULL;

	if (!text_eq(root, ws->root))
		return true;
	if (posture_in_chain(s, a, ws, &(struct posture_search){ 0 }, &act, NULL) || !act ||
		!text_eq(json_get_text(act, "receipt_id", ""), json_get_text(receipt, "receipt_id", "?")))
		return false;
	p->restored = act;
	p->is_unfinished = true;
	return true;
}

static int cannot_believe(struct err *e, const char *file, const char *what)
{
	return err_set(e, E_CORRUPT, "POSTURE_BROKEN",
		"what was decided about this place cannot be believed (%s %s)", file, what);
}

/* The document of one place: E_MISSING when there is none, E_CORRUPT when it cannot be believed. */
static int read_document(struct sys *s, struct arena *a, const struct workspace *ws, const char *root,
	struct posture *p, struct err *e)
{
	const char *file = arena_printf(a, "%s/" POSTURE_FILE, p->dir);
	struct json *receipt;
	struct err why = { 0 };
	int rc = sealed_read(s, a, AT_FDCWD, file, POSTURE_LIMIT, "posture", &receipt, &why);

	/* An act that is signed is worth more than a seal that cannot be read; one that is gone is looked for in the chain. */
	const bool is_unsealed = rc && text_eq(why.code, "SEAL_READ");
	if (is_unsealed || text_eq(why.code, "SEAL_MISSING"))
		rc = doc_read(s, a, AT_FDCWD, file, POSTURE_LIMIT, 0, &receipt, &why);
	/* A newer release may seal otherwise, so the version is asked first. */
	const bool is_changed = rc && text_eq(why.code, "SEAL_CHANGED");
	if (rc == OK ||
		(is_changed && doc_read(s, a, AT_FDCWD, file, POSTURE_LIMIT, 0, &receipt, NULL) == OK)) {
		int newer = posture_check_version(receipt, file, &why);
		rc = newer ? newer : rc;
	}
	if (rc != OK && rc != E_IO && restore(s, a, ws, root, file, p))
		return OK;
	if (rc == E_MISSING || rc == E_IO) {
		if (e)
			*e = why;
		return rc;
	}
	if (is_changed)
		return cannot_believe(e, file, "is not the newest act: it was changed, or is an older copy");
	const struct json *word = rc ? NULL : posture_believe(s, a, ws, receipt);
	/* Not disproved, so nothing is made in its place: what was decided would be forgotten. */
	if (rc == OK && !word && posture_keys_damaged(s, ws))
		return err_set(e, E_IO, "POSTURE_BROKEN",
			"what was decided about this place cannot be believed while the key history is damaged; run: helm key repair --yes (%s is signed by a "
			"key that it does not show)",
			file);
	if (rc == OK && !word) /* a read may have failed just then */
		word = posture_believe(s, a, ws, receipt);
	if (!word || !text_eq(json_get_text(word, "root", ""), posture_name(a, root)))
		return restore(s, a, ws, root, file, p)
			? OK
			: cannot_believe(e, file, "is not an act signed here");
	if (is_unsealed && !is_newest(s, a, ws, root, receipt, p))
		return cannot_believe(
			e, file, "has a seal that cannot be read, and is not the newest act on record");
	p->word = word;
	p->receipt_id = json_get_text(receipt, "receipt_id", NULL);
	p->is_spoken = true;
	return OK;
}

/* An act that was begun and perhaps not finished: both snapshots count. */
static void add_intent(struct sys *s, struct arena *a, struct posture *p)
{
	struct json *intent;
	struct err e = { 0 };
	int rc = doc_read(
		s, a, AT_FDCWD, arena_printf(a, "%s/" POSTURE_INTENT, p->dir), POSTURE_LIMIT, 0, &intent, &e);

	if (rc == E_MISSING)
		return;
	if (rc == OK)
		rc = doc_check_version(
			json_get(intent, "posture"), "version", POSTURE_VERSION, POSTURE_INTENT, &e);
	p->is_unfinished = true;
	p->is_unreadable = rc == E_IO;
	if (rc || !json_is(json_get(intent, "posture"), JSON_OBJECT)) {
		p->broken = arena_printf(
			a, "an unfinished change of what governs this place cannot be read (%s)", e.text);
		return;
	}
	p->word = posture_strictest(a, p->word, json_get(intent, "posture"));
	p->note =
		"a change of what governs this place was interrupted; until it is finished the stricter choice holds";
}

/* The word about another place holds here, with what is forbidden below it besides: here, and in the places between.  *ret_is_last: nothing
 * above it counts any more. */
static bool lies_under(struct sys *s, struct arena *a, const struct workspace *ws, const char *root,
	struct posture *p, bool *ret_is_last)
{
	struct posture above = { .dir = workspace_place(a, ws, root) };
	struct err e = { 0 };
	int rc = read_document(s, a, ws, root, &above, &e);

	if (rc == E_MISSING)
		return false;
	p->outer = arena_strdup(a, root);
	p->broken = rc ? arena_strdup(a, e.text) : NULL;
	*ret_is_last = true;
	if (rc)
		return true;
	add_intent(s, a, &above);
	p->is_signed_above |= json_get_bool(above.word, "policy_signed", false);
	struct json *word = json_copy(a, above.word);
	unite(a, word, "freezes", p->word);
	unite(a, word, "pauses", p->word);
	if (json_get(p->word, "policy"))
		both_policies(a, word, p->word);
	else
		bar_policies(a, word, p->word);
	p->word = word;
	p->dir = above.dir;
	p->broken = above.broken;
	*ret_is_last = p->broken || json_get_bool(above.word, "stands_alone", false);
	return true;
}

/* Where nobody has spoken for this place alone: every directory above that somebody has spoken about, up to the first that stands alone, and at
 * last the default workspace, which governs work in any place.  What a place between says can only add to that: otherwise whoever makes two
 * places, one in the other, would be out of reach in the inner one. */
static void look_above(struct sys *s, struct arena *a, const struct workspace *ws, struct posture *p)
{
	char *dir = arena_strdup(a, ws->root), *slash;
	const char *anywhere = workspace_default_root(a, ws);
	bool is_last = false;

	if (anywhere && text_eq(anywhere, ws->root))
		anywhere = NULL;
	while (!is_last && (slash = strrchr(dir, '/')) && slash != dir) {
		*slash = '\0';
		if (lies_under(s, a, ws, dir, p, &is_last) && anywhere && text_eq(anywhere, dir))
			anywhere = NULL;
	}
	if (!is_last && anywhere)
		(void)lies_under(s, a, ws, anywhere, p, &is_last);
}

/* The digest, not the id itself: receipts travel, and the id is not for others (machine-id(5)). */
const char *posture_machine(struct sys *s, struct arena *a)
{
	static const char *const places[] = { "/etc/machine-id", "/var/lib/dbus/machine-id",
		"/proc/sys/kernel/hostname" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char id[256];
		AUTO(close_fd) int fd = s->open(s, AT_FDCWD, places[i], O_RDONLY | O_NONBLOCK, 0, 0);
		ssize_t n = fd < 0 ? 0 : s->read(s, fd, id, sizeof(id) - 1);
		id[n > 0 ? n : 0] = '\0';
		id[strcspn(id, "\n")] = '\0';
		/* systemd writes this word before the first start has given the machine an id. */
		if (!id[0] || text_eq(id, "uninitialized"))
			continue;
		const char *text = arena_printf(a, "helm:machine:v1\n%s", id);
		return sha256_prefixed(a, text, strlen(text));
	}
	return "unknown";
}

unsigned posture_waived(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const struct json *word = posture_of(s, ws)->word;
	const unsigned waived = waived_by(word);

	return waived && text_eq(json_get_text(word, "degraded_machine", ""), posture_machine(s, a)) ? waived
												     : 0;
}

bool posture_binds(const struct posture *p)
{
	static const char *const parts[] = { "freezes", "pauses", "accepted", "egress", "allowed_paths",
		"readable_paths" };
	bool says = json_get(p->word, "default_profile") || json_get(p->word, "policy") ||
		json_get(p->word, "destructive") || json_get_bool(p->word, "require_key", false) ||
		json_get_bool(p->word, "degraded", false);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		says |= json_get(p->word, parts[i]) && json_get(p->word, parts[i])->n;
	return p->outer && (p->broken || says);
}

void posture_read(struct sys *s, struct arena *a, const struct workspace *ws, struct posture *ret)
{
	struct posture p = { .word = json_new(a, JSON_OBJECT), .dir = workspace_place(a, ws, ws->root) };
	struct err e = { 0 };
	int rc = p.dir ? read_document(s, a, ws, ws->root, &p, &e) : OK;

	/* The first act puts its document there and then takes place.json away: whoever saw neither looks again. */
	if (rc == E_MISSING && (rc = read_new_place(s, a, ws->root, &p, &e)) == E_MISSING &&
		(rc = read_document(s, a, ws, ws->root, &p, &e)) == E_MISSING)
		rc = recover(s, a, ws, &p, &e);
	p.is_unreadable = rc == E_IO;
	if (rc)
		p.broken = arena_strdup(a, e.text);
	else if (p.is_spoken)
		p.stands_alone = json_get_bool(p.word, "stands_alone", false);
	if (p.dir && !p.broken)
		add_intent(s, a, &p);
	p.own = p.word;
	if (p.dir && !p.broken && !p.stands_alone)
		look_above(s, a, ws, &p);
	*ret = p;
}

bool posture_knows(struct sys *s, struct arena *a, const struct workspace *ws, const char *root)
{
	struct posture p = { .dir = workspace_place(a, ws, root) };

	return p.dir &&
		(file_exists(s, AT_FDCWD, arena_printf(a, "%s/" POSTURE_FILE, p.dir)) ||
			read_new_place(s, a, root, &p, NULL) != E_MISSING);
}

/* ---- once, until it changes ---- */

struct stamp posture_stamp(struct sys *s, const char *path, int flags)
{
	struct stat st;

	if (s->stat(s, AT_FDCWD, path, &st, flags))
		return (struct stamp){ 0 };
	return (struct stamp){ st.st_dev, st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_ctim.tv_sec,
		(uint64_t)st.st_ctim.tv_nsec, (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec };
}

static struct stamp file_stamp(struct sys *s, const char *path)
{
	return posture_stamp(s, path, AT_SYMLINK_NOFOLLOW);
}

static struct stamps stamps_of(struct sys *s, const struct workspace *ws)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct posture_memo *m = ws->memo;
	const char *dir = m->dir, *outer = m->p.outer;

	if (!dir)
		return (struct stamps){ 0 };
	return (struct stamps){ file_stamp(s, arena_printf(&a, "%s/" POSTURE_FILE, dir)),
		file_stamp(s, arena_printf(&a, "%s/" POSTURE_INTENT, dir)),
		file_stamp(s, arena_printf(&a, "%s/" POSTURE_NEW, dir)),
		outer ? file_stamp(s, arena_printf(&a, "%s/" POSTURE_FILE, workspace_place(&a, ws, outer)))
		      : (struct stamp){ 0 } };
}

static bool is_same_text(const char *x, const char *y)
{
	return x && y ? text_eq(x, y) : x == y;
}

/* Read again and found to say the same: then what is there stays, and whoever was made from it, too. */
static bool is_same_again(struct sys *s, const struct workspace *ws, const struct posture *was)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct posture p;

	posture_read(s, &a, ws, &p);
	return json_eq(p.word, was->word) && json_eq(p.own, was->own) &&
		is_same_text(p.receipt_id, was->receipt_id) && is_same_text(p.dir, was->dir) &&
		is_same_text(p.outer, was->outer) && is_same_text(p.broken, was->broken) &&
		is_same_text(p.note, was->note) && p.is_spoken == was->is_spoken &&
		p.stands_alone == was->stands_alone && p.is_signed_above == was->is_signed_above &&
		p.is_unreadable == was->is_unreadable && p.is_unfinished == was->is_unfinished;
}

/* Where a place does not stand alone, somebody may speak about any place above it: that is looked for again after a second.  The stamps are those
 * from before the reading, so that what changes meanwhile is noticed the next time. */
const struct posture *posture_of(struct sys *s, const struct workspace *ws)
{
	struct posture_memo *m = ws->memo;

	if (m->held)
		return &m->p;
	if (!m->dir)
		m->dir = workspace_place(&m->a, ws, ws->root);
	struct stamps at = stamps_of(s, ws);
	int64_t now = s->mono_us(s);

	if (m->is_there && memcmp(&at, &m->at, sizeof(at)) == 0 &&
		(m->p.stands_alone || now - m->read_us < 1000000))
		return &m->p;
	if (!m->is_there || !is_same_again(s, ws, &m->p))
		posture_read(s, &m->a, ws, &m->p);
	m->at = at;
	m->read_us = s->mono_us(s); /* of a long chain, reading alone takes longer than that */
	m->is_there = true;
	return &m->p;
}

const struct workspace *posture_hold(struct sys *s, const struct workspace *ws)
{
	if (ws) {
		(void)posture_of(s, ws);
		ws->memo->held++;
	}
	return ws;
}

void posture_release(const struct workspace **ws)
{
	if (*ws)
		(*ws)->memo->held--;
}
