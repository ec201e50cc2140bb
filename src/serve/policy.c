/* policy.c — the policy that this door was started with: read once, compiled, and taken whole by each request.
 *
 * A request has one policy from its beginning to its end: it holds on to the one that was in force when it was taken out of the queue,
 * also when another one is loaded meanwhile.  Each loading is on record with the digest that receipts name. */
#include "kernel/policy/policy.h"
#include "kernel/act.h"
#include "kernel/ceiling.h"
#include "serve/serve.h"

#include "base/file.h"
#include "base/hash.h"

#include <fcntl.h>
#include <stdlib.h>

static void free_policy(struct door_policy *p)
{
	arena_done(&p->a);
	free(p);
}

static int record_act(
	struct server *s, struct kernel *k, struct arena *a, const struct door_policy *p, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *what = json_new(a, JSON_OBJECT), *receipt;

	json_sets(a, what, "name", ruleset_name(p->rules));
	json_sets(a, what, "version", ruleset_version(p->rules));
	json_sets(a, what, "sha256", ruleset_sha256(p->rules));
	if (p->authority)
		json_sets(a, what, "authority_sha256", json_sha256(a, p->authority));
	json_set(a, about, "serve_policy", what);
	return act_record(k, a,
		&(struct act){ .effect_id = "helm.serve/policy",
			.type = "setting",
			.output_hash = ruleset_sha256(p->rules),
			.executor_id = arena_printf(a, "user:%u", s->sys->euid(s->sys)),
			.about = about },
		&receipt, e);
}

/* By a kernel of its own: the server's recorder belongs to the group. */
static int record_loaded(struct server *s, const struct door_policy *p, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct workspace *ws = NULL;
	struct kernel k;
	int rc = workspace_open(s->sys, &a, s->ws->root, 0, &ws, e);

	if (rc == OK && (rc = kernel_open(s->sys, &a, ws, &k, e)) == OK) {
		rc = record_act(s, &k, &a, p, e);
		kernel_close(&k);
	}
	workspace_close(ws);
	return rc;
}

/* What this door believes about tools, other agents and other decision points. */
static int load_authority(struct server *s, struct door_policy *p, struct err *e)
{
	struct json *doc;
	struct bytes text;

	if (!s->o.authority)
		return OK;
	int rc = file_read(s->sys, &p->a, AT_FDCWD, s->o.authority, 4 << 20, FILE_FOLLOW, &text, e);
	if (rc == OK)
		rc = json_parse(&p->a, text, s->o.authority, NULL, &doc, e);
	if (rc == OK)
		rc = routes_schema(&p->a, "ServeAuthority", doc, e);
	if (rc)
		return err_wrap(e, "%s", s->o.authority);
	p->authority = doc;
	return OK;
}

/* The file as it is, and the ceilings that an administrator has set beside it. */
static int compile(struct server *s, struct door_policy *p, struct err *e)
{
	struct policy_reading reading;
	struct json *ceilings;
	int rc = policy_source_read(s->sys, &p->a, s->o.policy, (struct policy_way){ 0 }, NULL, &reading, e);

	if (rc == OK)
		rc = policy_speaks(&p->a, reading.document, s->o.policy, e);
	if (rc == OK)
		rc = ceilings_load(s->sys, &p->a, s->ws, &ceilings, e);
	if (rc)
		return rc;
	struct json *document = json_copy(&p->a, reading.document);
	(void)json_remove(document, "signature");
	ceilings_add(&p->a, ceilings, document);
	rc = ruleset_compile(&p->a, document, &p->rules, e);
	return rc ? err_wrap(e, "%s", s->o.policy) : OK;
}

static int64_t changed_at(struct server *s)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *dir = workspace_beside(&a, s->ws);
	struct stat st;

	if (!dir ||
		s->sys->stat(
			s->sys, AT_FDCWD, arena_printf(&a, "%s/" CEILINGS, dir), &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

void policy_look(struct server *s)
{
	int64_t now = changed_at(s);
	struct err e = { 0 };

	if (__atomic_exchange_n(&s->ceilings_ns, now, __ATOMIC_RELAXED) != now && policy_load(s, &e))
		log_line(s, "error", NULL, "the budgets stay as they were: %s", e.text);
}

int policy_load(struct server *s, struct err *e)
{
	struct door_policy *p = calloc(1, sizeof(*p));

	if (!p)
		mem_exhausted(0);
	p->refs = 1;
	p->file = s->o.policy;
	__atomic_store_n(&s->ceilings_ns, changed_at(s), __ATOMIC_RELAXED);
	p->loaded_us = s->sys->now_us(s->sys);
	int rc = compile(s, p, e);
	if (rc == OK)
		rc = load_authority(s, p, e);
	if (rc == OK)
		rc = record_loaded(s, p, e);
	pthread_mutex_lock(&s->lock);
	struct door_policy *old = NULL;
	if (rc == OK) {
		old = s->policy;
		s->policy = p;
	} else {
		__atomic_add_fetch(&s->reload_errors, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free_policy(p);
	policy_drop(s, old);
	return rc;
}

struct door_policy *policy_take(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	struct door_policy *p = s->policy;
	if (p)
		p->refs++;
	pthread_mutex_unlock(&s->lock);
	return p;
}

void policy_drop(struct server *s, struct door_policy *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&s->lock);
	bool is_last = --p->refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (is_last)
		free_policy(p);
}
