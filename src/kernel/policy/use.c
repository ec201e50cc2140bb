/* use.c — putting a policy in use: a person's act, and the bytes it is about.
 *
 * The document is on disk before the act names it, so that no act ever names something that is not there.  A document that no act came
 * to name is a file that nobody reads.  What is checked about epoch, revocation and signature is checked under the lock of the standing
 * word, so that of two people at once each sees what the other did. */
#include "kernel/policy/policy.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/posture.h"

#include <fcntl.h>
#include <string.h>

static const char *store_dir(struct arena *a, const struct workspace *ws)
{
	return ws->helm_home ? arena_printf(a, "%s/policies", ws->helm_home) : NULL;
}

static const char *store_file(struct arena *a, const struct workspace *ws, const char *sha256)
{
	uint8_t digest[SHA256_SIZE];
	const char *hex = text_starts(sha256, "sha256:") ? sha256 + strlen("sha256:") : "";

	return ws->helm_home && hex_decode(hex, strlen(hex), digest, SHA256_SIZE, true)
		? arena_printf(a, "%s/%s.json", store_dir(a, ws), hex)
		: NULL;
}

int policy_kept(struct sys *s, struct arena *a, const struct workspace *ws, const char *sha256,
	struct json **ret, struct err *e)
{
	const char *file = store_file(a, ws, sha256);
	struct bytes text;
	struct err why = { 0 };
	int rc = file ? file_read(s, a, AT_FDCWD, file, POLICY_LIMIT_BYTES, 0, &text, &why)
		      : err_set(&why, E_MISSING, "POLICY_LOST", "there is no such digest");

	if (rc == OK && !text_eq(sha256_prefixed(a, text.p, text.n), sha256))
		rc = err_set(&why, E_CORRUPT, "POLICY_LOST", "its bytes have changed");
	if (rc == OK)
		rc = json_parse(a, text, file, NULL, ret, &why);
	return rc
		? err_set(e, E_CORRUPT, "POLICY_LOST",
			  "the policy %s that was put in use is lost (%s); 'helm policy use FILE' puts one in use again",
			  sha256, why.text)
		: OK;
}

/* Its canonical bytes, so that the file's digest is the document's. */
static int keep(
	struct kernel *k, struct arena *a, const struct json *document, const char *sha256, struct err *e)
{
	const char *dir = store_dir(a, k->ws), *file = store_file(a, k->ws, sha256);
	struct json *there;
	struct buf text;

	if (!file)
		return err_set(e, E_MISSING, "HOME_UNSET",
			"HOME is not set; set it, or HELM_HOME, to say where policies are kept");
	if (policy_kept(k->sys, a, k->ws, sha256, &there, NULL) == OK)
		return OK;
	buf_init(&text, a);
	json_canonical(&text, document);
	int rc = file_mkdirs(k->sys, AT_FDCWD, dir, 0700, e);
	return rc ? rc : file_replace(k->sys, AT_FDCWD, file, 0600, buf_bytes(&text), e);
}

/* ---- what it says ---- */

static void drop_origins(struct json *v)
{
	if (json_is(json_get(v, "origin"), JSON_STRING))
		(void)json_remove(v, "origin");
	json_each_member (m, v)
		drop_origins(m->value);
	json_each (one, v)
		drop_origins(one);
}

const char *policy_content_sha256(struct arena *a, const struct json *document)
{
	struct json *content = json_copy(a, document);

	drop_origins(content);
	return json_sha256(a, content);
}

const struct json *policy_revocation(const struct json *word, const char *sha256, const char *content_sha256)
{
	const struct json *revoked = json_get(word, "policy_revoked"), *found = json_get(revoked, sha256);

	if (!found && content_sha256)
		found = json_get(revoked, content_sha256);
	json_each_member (m, revoked)
		if (!found && content_sha256 &&
			text_eq(json_get_text(m->value, "content_sha256", ""), content_sha256))
			found = m->value;
	return found;
}

struct json *policy_candidate(struct arena *a, const char *kind, const char *name)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "format", "helm.policy.v1");
	json_sets(a, doc, "name", arena_printf(a, "%s:%s", kind, name));
	json_sets(a, doc, "version", "");
	json_sets(a, doc, "coverage", "open");
	return doc;
}

/* ---- the act ---- */

struct change {
	struct kernel *k;
	const struct policy_choice *c;
	const char *sha256, *content_sha256;
	struct json *about; /* of the act */
};

static struct json *entry_of(struct arena *a, const struct change *x)
{
	const struct policy_choice *c = x->c;
	struct json *entry = json_new(a, JSON_OBJECT);

	json_sets(a, entry, "sha256", x->sha256);
	json_sets(a, entry, "content_sha256", x->content_sha256);
	json_sets(a, entry, "name", json_get_text(c->document, "name", ""));
	json_sets(a, entry, "version", json_get_text(c->document, "version", ""));
	json_seti(a, entry, "epoch", json_get_int(c->document, "epoch", 0));
	json_sets(a, entry, "at", text_time_iso(a, x->k->sys->now_us(x->k->sys)));
	if (c->source)
		json_sets(a, entry, "source", text_safe(a, c->source, strlen(c->source), false));
	if (c->candidate_profile)
		json_sets(a, entry, "profile", c->candidate_profile);
	if (c->candidate_skill)
		json_sets(a, entry, "skill", c->candidate_skill);
	if (c->facts && c->facts->n)
		json_set(a, entry, "facts", json_copy(a, c->facts));
	if (c->lifts && c->lifts->n)
		json_set(a, entry, "lifts", json_copy(a, c->lifts));
	if (c->fresh_seconds)
		json_seti(a, entry, "fresh_seconds", c->fresh_seconds);
	if (c->signer)
		json_sets(a, entry, "signer", c->signer);
	return entry;
}

static int check(const struct change *x, const struct json *word, struct err *e)
{
	const struct policy_choice *c = x->c;
	const char *name = json_get_text(c->document, "name", "");
	const struct posture *p = posture_of(x->k->sys, x->k->ws); /* with what holds above this place */
	int64_t epoch = json_get_int(c->document, "epoch", 0),
		highest = json_get_int(json_get(word, "policy_epochs"), name, 0),
		above = json_get_int(json_get(p->word, "policy_epochs"), name, 0);
	const struct json *revoked = policy_revocation(word, x->sha256, x->content_sha256);

	if (above > highest)
		highest = above;
	if (!revoked)
		revoked = policy_revocation(p->word, x->sha256, x->content_sha256);
	if (revoked)
		return err_set(e, E_DENIED, "POLICY_REVOKED", "this policy (%s) was revoked on %s: %s",
			x->sha256, json_get_text(revoked, "at", ""),
			json_get_text(revoked, "reason", "no reason was given"));
	if (p->is_signed_above && !c->signer)
		return err_set(e, E_DENIED, "POLICY_UNSIGNED",
			"only signed policies are taken in %s and below, and no key that is trusted for it has signed this one; "
			"'helm policy sign' signs",
			p->outer);
	if (json_get_bool(word, "policy_signed", false) && !c->signer)
		return err_set(e, E_DENIED, "POLICY_UNSIGNED",
			"only signed policies are taken here, and no key that is trusted for it has signed this one; "
			"'helm policy sign' signs, 'helm policy use --require-signature no' takes others, too");
	if (epoch < highest && !c->may_go_back)
		return err_set(e, E_DENIED, "POLICY_ROLLBACK",
			"epoch %lld of '%s' is older than %lld, which was in use here; --allow-rollback goes back",
			(long long)epoch, name, (long long)highest);
	return OK;
}

static int edit_use(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct change *x = arg;
	const struct policy_choice *c = x->c;

	json_sets(a, x->about, "before", json_get_text(json_get(word, "policy"), "sha256", "none"));
	/* Said first, so that the very policy that comes with it is held to it. */
	if (c->require_signature)
		json_setb(a, word, "policy_signed", text_eq(c->require_signature, "yes"));
	if (c->is_as_before)
		return OK;
	if (!c->document) {
		(void)json_remove(word, "policy");
		return OK;
	}
	int rc = check(x, word, e);
	if (rc)
		return rc;
	struct json *epochs = doc_part(a, word, "policy_epochs");
	const char *name = json_get_text(c->document, "name", "");
	json_set(a, word, "policy", entry_of(a, x));
	/* The highest that was ever in use: going back once is no leave to go back again. */
	if (json_get_int(c->document, "epoch", 0) >= json_get_int(epochs, name, 0))
		json_seti(a, epochs, name, json_get_int(c->document, "epoch", 0));
	/* Whoever lets a policy answer questions permits more than holds around this place, and so lets it stand alone. */
	if (c->lifts && c->lifts->n)
		json_setb(a, word, "stands_alone", true);
	return OK;
}

static int edit_shadow(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct change *x = arg;

	json_sets(a, x->about, "before", json_get_text(json_get(word, "policy_shadow"), "sha256", "none"));
	if (x->c->document) {
		json_set(a, word, "policy_shadow", entry_of(a, x));
		return OK;
	}
	return json_remove(word, "policy_shadow")
		? OK
		: err_set(e, E_MISSING, "POLICY_NO_SHADOW", "no policy decides beside the one in use here");
}

/* What it was before is said under the lock. */
static struct json *about_change(struct arena *a, const struct change *x)
{
	const struct policy_choice *c = x->c;
	struct json *about = json_new(a, JSON_OBJECT);

	if (!c->is_as_before)
		json_sets(a, about, "after", c->document ? x->sha256 : "none");
	if (c->document)
		json_sets(a, about, "policy_name", json_get_text(c->document, "name", ""));
	if (c->require_signature)
		json_sets(a, about, "require_signature", c->require_signature);
	if (c->may_go_back)
		json_setb(a, about, "rollback_meant", true);
	return about;
}

static int change(struct kernel *k, struct arena *a, const struct policy_choice *c, const char *effect,
	posture_edit *edit, struct json **ret_receipt, struct err *e)
{
	struct change x = { .k = k,
		.c = c,
		.sha256 = c->document ? json_sha256(a, c->document) : NULL,
		.content_sha256 = c->document ? policy_content_sha256(a, c->document) : NULL };
	int rc = c->document ? keep(k, a, c->document, x.sha256, e) : OK;

	if (rc)
		return rc;
	x.about = about_change(a, &x);
	return posture_change(k, a,
		&(struct act){ .effect_id = effect,
			.type = "setting",
			.executor_id = c->executor,
			.about = x.about },
		edit, &x, ret_receipt, e);
}

int policy_use(struct kernel *k, struct arena *a, const struct policy_choice *c, struct json **ret_receipt,
	struct err *e)
{
	return change(k, a, c, "helm.policy/use", edit_use, ret_receipt, e);
}

int policy_shadow(struct kernel *k, struct arena *a, const struct policy_choice *c, struct json **ret_receipt,
	struct err *e)
{
	return change(k, a, c, c->document ? "helm.policy/shadow" : "helm.policy/unshadow", edit_shadow,
		ret_receipt, e);
}

/* One more policy where none is in use adds to what holds; a signature that is wanted does, too.  Everything else may permit what was
 * not permitted. */
bool policy_choice_is_stricter(struct kernel *k, const struct policy_choice *c)
{
	const struct json *word = posture_of(k->sys, k->ws)->word;
	bool drops_signature = c->require_signature && text_eq(c->require_signature, "no") &&
		json_get_bool(word, "policy_signed", false);

	if (c->is_as_before)
		return !drops_signature;
	return c->document && !json_get(word, "policy") && !(c->lifts && c->lifts->n) && !c->may_go_back &&
		!drops_signature;
}

/* ---- revoking ---- */

struct revocation {
	struct kernel *k;
	const char *sha256, *content_sha256, *reason;
};

static void add_known(struct arena *a, struct json *list, const struct json *entry, bool in_use)
{
	const char *sha256 = json_get_text(entry, "sha256", "");
	struct json *row = json_new(a, JSON_OBJECT);

	json_each (one, list)
		if (text_eq(json_get_text(one, "sha256", ""), sha256))
			return;
	json_sets(a, row, "sha256", sha256);
	json_sets(a, row, "name", json_get_text(entry, "name", ""));
	json_sets(a, row, "version", json_get_text(entry, "version", ""));
	json_sets(a, row, "content_sha256", json_get_text(entry, "content_sha256", NULL));
	json_setb(a, row, "in_use", in_use);
	json_push(a, list, row);
}

/* One that was kept, by the name of its file; of one that cannot be read any more only the digest is known. */
static void add_kept(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json *list, const char *file)
{
	static const char end[] = ".json";
	const char *sha256;
	struct json *document = NULL, *entry = json_new(a, JSON_OBJECT);

	if (!text_ends(file, end))
		return;
	sha256 = arena_printf(a, "sha256:%.*s", (int)(strlen(file) - strlen(end)), file);
	if (!store_file(a, ws, sha256))
		return;
	json_sets(a, entry, "sha256", sha256);
	if (policy_kept(s, a, ws, sha256, &document, NULL) == OK) {
		json_sets(a, entry, "name", json_get_text(document, "name", ""));
		json_sets(a, entry, "version", json_get_text(document, "version", ""));
		json_sets(a, entry, "content_sha256", policy_content_sha256(a, document));
	}
	add_known(a, list, entry, false);
}

struct json *policy_known_here(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const struct json *word = posture_of(s, ws)->word;
	struct json *list = json_new(a, JSON_ARRAY);
	char **files;
	size_t n = 0;

	if (json_get(word, "policy"))
		add_known(a, list, json_get(word, "policy"), true);
	json_each (one, json_get(word, "policy_also"))
		add_known(a, list, one, true);
	if (json_get(word, "policy_shadow"))
		add_known(a, list, json_get(word, "policy_shadow"), false);
	if (ws->helm_home && file_list(s, a, AT_FDCWD, store_dir(a, ws), &files, &n, NULL) == OK)
		for (size_t i = 0; i < n; i++)
			add_kept(s, a, ws, list, files[i]);
	return list;
}

static int edit_revoke(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct revocation *x = arg;
	struct json *one = json_new(a, JSON_OBJECT);

	(void)e;
	json_sets(a, one, "at", text_time_iso(a, x->k->sys->now_us(x->k->sys)));
	json_sets(a, one, "reason", x->reason);
	if (x->content_sha256)
		json_sets(a, one, "content_sha256", x->content_sha256);
	json_set(a, doc_part(a, word, "policy_revoked"), x->sha256, one);
	return OK;
}

int policy_revoke(struct kernel *k, struct arena *a, const char *sha256, const char *reason,
	bool is_unknown_meant, const char *executor, struct json **ret_receipt, struct err *e)
{
	struct revocation x = { .k = k, .sha256 = sha256, .reason = reason };
	struct json *about = json_new(a, JSON_OBJECT);
	bool is_known = false;

	if (!store_file(a, k->ws, sha256))
		return err_set(e, E_INPUT, "POLICY_DIGEST",
			"'%s' is no digest of a policy; it is 'sha256:' and 64 hexadecimal digits, as 'helm policy show' prints it",
			sha256);
	json_each (one, policy_known_here(k->sys, a, k->ws))
		if (text_eq(json_get_text(one, "sha256", ""), sha256)) {
			is_known = true;
			x.content_sha256 = json_get_text(one, "content_sha256", NULL);
		}
	if (!is_known && !is_unknown_meant)
		return err_set(e, E_MISSING, "POLICY_UNKNOWN",
			"no policy with the digest %s is known here, so nothing is revoked; "
			"--even-unknown refuses it should it come",
			sha256);
	json_sets(a, about, "policy", sha256);
	json_sets(a, about, "reason", reason);
	return posture_change(k, a,
		&(struct act){ .effect_id = "helm.policy/revoke",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		edit_revoke, &x, ret_receipt, e);
}
