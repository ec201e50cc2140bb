/* child.c — one server inside its walls, with our streams, for as long as it lives.
 *
 * The gateway has threads and an HTTP library; what puts up walls has neither.  So each server is the child of a small process of its own, this
 * program once more, which dies with the gateway and takes the server along.
 *
 * What it gets: an empty home and an empty /tmp of its own, which go when it ends; the directories that a person named, read-only or writable;
 * of the environment what a person named; of the network nothing, or the named hosts through the door.  It never sees Helm's own state. */
#include "kernel/mcp/mcp.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/egress/egress.h"
#include "execute/execute.h"
#include "kernel/hosts.h"
#include "kernel/posture.h"
#include "kernel/task/homes.h"
#include "kernel/task/own_environment.h"
#include "kernel/task/tmp.h"
#include "model/secret.h"

#include <fcntl.h>
#include <string.h>

enum { LAYERS = 8 };

struct child {
	struct sys *sys;
	const struct workspace *ws;
	struct arena *a;
	const char *id;
	const struct json *row;
	struct task_tmp tmp;
	const char *home; /* an empty one of its own lies there */
	const char *empty_home; /* with mounts: the directory that lies over it */
	const char *own_home, *own_tmp; /* as it sees them; HOME and TMPDIR */
	struct egress_door *door;
	int door_fd;
	struct sandbox_rules rules;
};

static void child_done(struct child *c)
{
	struct err e = { 0 };

	if (c->door)
		(void)egress_stop(c->door, NULL, NULL, &e);
	task_tmp_give(c->sys, &c->tmp);
}

/* ---- words ---- */

const char *mcp_expanded(struct sys *s, struct arena *a, const char *text)
{
	struct buf to;

	buf_init(&to, a);
	for (const char *p = text; *p;) {
		const char *end = p[0] == '$' && p[1] == '{' ? strchr(p, '}') : NULL;
		if (!end) {
			buf_addc(&to, *p++);
			continue;
		}
		const char *name = arena_strndup(a, p + 2, (size_t)(end - p) - 2),
			   *other = strstr(name, ":-");
		if (other)
			name = arena_strndup(a, name, (size_t)(other - name));
		const char *value = s->getenv(s, name);
		buf_adds(&to, value ? value : other ? other + 2 : "");
		p = end + 1;
	}
	return to.p ? to.p : "";
}

static const char *expanded(struct child *c, const char *text)
{
	return mcp_expanded(c->sys, c->a, text);
}

static const char *place(struct child *c, const char *path)
{
	path = expanded(c, path);
	if (text_starts(path, "~/") && c->home)
		path = arena_printf(c->a, "%s%s", c->home, path + 1);
	return path_clean(c->a, path);
}

static const char *const *list_of(struct child *c, const struct json *list)
{
	const char **all = arena_zalloc(c->a, (size_t)list->n + 1, sizeof(*all));

	for (size_t i = 0; i < list->n; i++)
		all[i] = json_text(list->items[i]);
	return all;
}

static const char *const *argv_of(struct child *c)
{
	struct json *words = json_new(c->a, JSON_ARRAY);

	json_pushs(c->a, words, expanded(c, json_get_text(c->row, "command", "")));
	json_each (arg, json_get(c->row, "args"))
		json_pushs(c->a, words, expanded(c, json_text(arg)));
	return list_of(c, words);
}

/* Without mounts its caches are led to by variables. */
static const char *const *with_caches(struct child *c, const struct json *all)
{
	const struct json *rows = json_get(c->row, "layers");
	const char **layers = arena_zalloc(c->a, rows ? rows->n + 1 : 1, sizeof(*layers));
	const char **env = arena_zalloc(c->a, all->n + OWN_ENVIRONMENT_MAX + 1, sizeof(*env));
	struct own_environment own = { .s = c->sys,
		.a = c->a,
		.dir = c->tmp.path,
		.home = c->home,
		.layers = layers,
		.write_paths = c->rules.write_paths };

	for (size_t i = 0; i < all->n; i++)
		env[i] = json_text(all->items[i]);
	json_each (path, rows)
		if (c->home && path_is_below(place(c, json_text(path)), c->home))
			layers[own.layer_count++] = place(c, json_text(path)) + strlen(c->home) + 1;
	if (c->rules.own_by_environment)
		(void)own_environment(&own, env, all->n);
	return env;
}

/* A short list, and what is named. */
static const char *const *environment_of(struct child *c)
{
	static const char *const basic[] = { "PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TERM" };
	struct json *all = json_new(c->a, JSON_ARRAY);
	struct sys *s = c->sys;

	for (size_t i = 0; i < ARRAY_SIZE(basic); i++)
		if (s->getenv(s, basic[i]))
			json_pushs(c->a, all, arena_printf(c->a, "%s=%s", basic[i], s->getenv(s, basic[i])));
	if (c->own_home)
		json_pushs(c->a, all, arena_printf(c->a, "HOME=%s", c->own_home));
	json_pushs(c->a, all, arena_printf(c->a, "TMPDIR=%s", c->own_tmp));
	for (const char *const *one = egress_environment(c->a, c->door); *one; one++)
		json_pushs(c->a, all, *one);
	json_each (name, json_get(c->row, "pass"))
		if (s->getenv(s, json_text(name)))
			json_pushs(c->a, all,
				arena_printf(c->a, "%s=%s", json_text(name), s->getenv(s, json_text(name))));
	json_each_member (m, json_get(c->row, "env"))
		json_pushs(c->a, all, arena_printf(c->a, "%s=%s", m->name, expanded(c, json_text(m->value))));
	return with_caches(c, all);
}

/* ---- walls ---- */

static const char *make_below(struct child *c, const char *name)
{
	struct sys *s = c->sys;
	const char *path = arena_printf(c->a, "%s/%s", c->tmp.path, name);

	return s->mkdir(s, AT_FDCWD, path, 0700) == 0 ? path : NULL;
}

/* An empty directory of ours at `at`.  One that lies in another one is made in that. */
static int add_own(
	struct child *c, struct sandbox_own *own, size_t *n, const char *at, const char *name, struct err *e)
{
	const char *from;

	if (!file_is_dir(c->sys, AT_FDCWD, at))
		return OK;
	for (size_t i = 0; i < *n; i++)
		if (path_is_below(at, own[i].at))
			return file_mkdirs(c->sys, AT_FDCWD,
				arena_printf(c->a, "%s%s", own[i].from, at + strlen(own[i].at)), 0700, e);
	from = make_below(c, name);
	if (!from)
		return err_set(e, E_IO, "MCP_CHILD", "no private directory for server '%s'", c->id);
	own[(*n)++] = (struct sandbox_own){ at, from };
	return OK;
}

static int make_own(struct child *c, struct err *e)
{
	struct sandbox_own *own = arena_zalloc(c->a, 4, sizeof(*own));
	size_t n = 0;

	task_tmp_take(c->sys, c->a, "/tmp", &c->tmp);
	if (!c->tmp.path)
		return err_set(e, E_IO, "MCP_CHILD", "no private directory for server '%s'", c->id);
	c->rules.kind = machine_kind(c->sys, c->a, c->ws->helm_home);
	if (c->rules.kind == SANDBOX_SUPERVISED) {
		c->rules.own_by_environment = true;
		c->rules.own_dir = c->tmp.path;
		c->rules.shm = make_below(c, "shm");
		c->own_tmp = make_below(c, "tmp");
		c->own_home = make_below(c, "home");
		return c->own_tmp && c->own_home
			? OK
			: err_set(e, E_IO, "MCP_CHILD", "no private directory for server '%s'", c->id);
	}
	c->own_tmp = "/tmp";
	c->own_home = c->home;
	c->rules.own = own;
	int rc = add_own(c, own, &n, "/tmp", "tmp", e);
	if (rc == OK)
		rc = add_own(c, own, &n, "/var/tmp", "var", e);
	if (rc == OK && !(c->empty_home = make_below(c, "home")))
		rc = err_set(e, E_IO, "MCP_CHILD", "no private directory for server '%s'", c->id);
	return rc;
}

/* Caches that it may soil: what it writes there goes with it. */
static void make_layers(struct child *c)
{
	struct sandbox_layer *list = arena_zalloc(c->a, LAYERS + 1, sizeof(*list));
	size_t n = 0;

	json_each (path, json_get(c->row, "layers")) {
		const char *at = place(c, json_text(path));
		const char *upper = make_below(c, arena_printf(c->a, "upper%zu", n)),
			   *work = make_below(c, arena_printf(c->a, "work%zu", n));
		if (n < LAYERS && upper && work && file_is_dir(c->sys, AT_FDCWD, at))
			list[n++] = (struct sandbox_layer){ at, upper, work };
	}
	c->rules.layers = n ? list : NULL;
}

static const char *const *places_of(struct child *c, const char *member)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	json_each (path, json_get(c->row, member))
		json_pushs(c->a, list, place(c, json_text(path)));
	if (text_eq(member, "write") && c->rules.own_by_environment)
		json_pushs(c->a, list, c->tmp.path);
	return list_of(c, list);
}

/* What lies in another one that is open is open with it. */
static const char *const *without_inner(struct child *c, const char *const *list)
{
	struct json *kept = json_new(c->a, JSON_ARRAY);

	for (const char *const *p = list; *p; p++) {
		bool is_inner = path_is_in_one(*p, c->rules.write_paths);
		for (const char *const *o = list; *o; o++)
			is_inner |= o != p && path_is_below(*p, *o) && (o < p || !text_eq(*p, *o));
		if (!is_inner)
			json_pushs(c->a, kept, *p);
	}
	return list_of(c, kept);
}

/* Homes are covered as for runs (homes.h), without toolchains: its own is an empty one that it may write. */
static void cover_homes(struct child *c, struct json *hidden)
{
	struct homes_request q = { .s = c->sys,
		.a = c->a,
		.home = c->home,
		.helm_home = c->ws->helm_home,
		.rules = &c->rules,
		.is_by_names = c->rules.own_by_environment,
		.named = json_new(c->a, JSON_ARRAY),
		.hidden = hidden };

	for (const char *const *p = c->rules.shown; *p; p++)
		json_pushs(c->a, q.named, *p);
	if (q.is_by_names)
		json_each (layer, json_get(c->row, "layers"))
			json_pushs(c->a, q.named, place(c, json_text(layer)));
	homes_look(&q);
	for (struct sandbox_home *h = q.homes; h->at && !c->rules.own_by_environment; h++)
		if (c->home && text_eq(h->at, c->home)) {
			h->from = c->empty_home;
			h->is_writable = true;
		}
	c->rules.homes = q.homes;
	if (c->rules.own_by_environment) /* places of its layers are read where they are */
		c->rules.shown = list_of(c, q.shown);
}

/* Also where a person named a directory above it. */
static void hide_places(struct child *c)
{
	struct json *list = json_new(c->a, JSON_ARRAY);
	const struct workspace *ws = c->ws;
	const char *secret;

	if (ws->helm_home)
		json_pushs(c->a, list, ws->helm_home);
	json_pushs(c->a, list, ws->state_dir);
	cover_homes(c, list);
	for (size_t i = 0; (secret = secret_system_at(i)); i++)
		json_pushs(c->a, list, path_clean(c->a, secret));
	for (size_t i = 0; (secret = secret_door_at(i)); i++) /* its own home and /tmp have none */
		if (secret[0] == '/' && !text_starts(secret, "/tmp/"))
			json_pushs(c->a, list, path_clean(c->a, secret));
	if (c->rules.own_by_environment && c->tmp.all)
		json_pushs(c->a, list, c->tmp.all);
	c->rules.hidden = list_of(c, list);
}

/* ---- the way out ---- */

static int put_row(void *arg, const struct json *record, struct err *e)
{
	struct child *c = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row = hosts_row(&a, record, arena_printf(&a, "mcp:%s", c->id), "mcp"),
		    *note = json_new(&a, JSON_OBJECT), *rows = json_new(&a, JSON_ARRAY);
	char digest[SHA256_HEX];
	int rc = ledger_append(c->sys, &a, c->ws->state_fd, EGRESS_LOG, row, digest, e);

	if (rc)
		return rc;
	json_pushs(&a, rows, digest);
	json_sets(&a, note, "at", json_get_text(row, "at", ""));
	json_sets(&a, note, "event", "egress");
	json_sets(&a, note, "task_id", json_get_text(row, "task_id", ""));
	json_set(&a, note, "rows_sha256", rows);
	return ledger_note(c->sys, &a, c->ws->state_fd, TOOL_CALLS, note, e);
}

/* What is not on record does not go on. */
static void on_door(void *arg)
{
	struct child *c = arg;
	struct err e = { 0 };

	if (egress_hear(c->door, put_row, c, &e))
		(void)egress_stop(c->door, NULL, NULL, NULL);
	c->door_fd = egress_records(c->door);
}

static int open_door(struct child *c, struct err *e)
{
	const struct json *hosts = json_get(c->row, "hosts");
	struct egress_rules rules = { 0 };

	c->rules.network = text_eq(json_get_text(c->row, "network", "none"), "full") ? NETWORK_FULL
		: hosts && hosts->n						     ? NETWORK_NAMED
										     : NETWORK_LOOPBACK;
	if (c->rules.network != NETWORK_NAMED)
		return OK;
	json_each (host, hosts)
		if (egress_add(c->a, &rules, json_text(host), c->id, e))
			return E_INPUT;
	int rc = egress_start(c->sys, c->a, &rules, arena_printf(c->a, "MCP server %s", c->id), &c->door, e);
	if (rc)
		return rc;
	c->door_fd = egress_records(c->door);
	c->rules.door = egress_inside(c->door);
	if (c->rules.kind != SANDBOX_SUPERVISED)
		return OK;
	c->rules.proxy_port = egress_listen(c->door, e);
	return c->rules.proxy_port ? OK : E_IO;
}

/* ---- all of it ---- */

static int find_server(struct child *c, struct err *e)
{
	struct sys *s = c->sys;
	struct json *registry, *row;
	int rc = mcp_load(s, c->a, c->ws, &registry, e);

	if (rc == OK)
		rc = mcp_find(c->a, registry, c->id, &row, e);
	if (rc)
		return rc;
	c->row = row;
	const char *state = mcp_state(row, s->now_us(s));
	if (text_eq(state, "revoked") || text_eq(state, "expired"))
		return err_set(e, E_DENIED, "MCP_REVOKED",
			"server '%s' is %s, so it is not started; to look at it again: helm mcp quarantine %s",
			c->id, state, c->id);
	if (!json_get_text(row, "command", NULL))
		return err_set(e, E_USAGE, "MCP_CHILD",
			"server '%s' is reached by a url; there is nothing to start", c->id);
	return OK;
}

static int put_up(struct child *c, struct err *e)
{
	int rc = make_own(c, e);

	if (rc == OK)
		rc = open_door(c, e);
	if (rc)
		return rc;
	c->rules.limits = (struct run_limits){ .memory_mb = json_get_int(c->row, "memory_mb", 0),
		.processes = json_get_int(c->row, "processes", 0) };
	c->rules.waived = posture_waived(c->sys, c->a, c->ws);
	if (!c->rules.own_by_environment)
		make_layers(c);
	c->rules.write_paths = places_of(c, "write");
	c->rules.shown = without_inner(c, places_of(c, "read"));
	hide_places(c);
	return OK;
}

int mcp_child(struct sys *s, struct arena *a, const struct workspace *ws, const char *id, int *ret_code,
	struct err *e)
{
	AUTO(child_done)
	struct child c = { .sys = s,
		.ws = ws,
		.a = a,
		.id = id,
		.home = ws->home,
		.door_fd = -1,
		.tmp = { .fd = -1, .rack = -1 } };
	AUTO(run_end) struct running *r = NULL;
	const struct run_result *result = NULL;
	int rc = find_server(&c, e);

	if (rc == OK)
		rc = put_up(&c, e);
	if (rc)
		return rc;
	const char *cwd = json_get_text(c.row, "cwd", NULL);
	const struct run_request request = { .argv = argv_of(&c),
		.environment = environment_of(&c),
		.cwd = cwd	     ? place(&c, cwd)
			: c.own_home ? c.own_home
				     : "/",
		.rules = &c.rules,
		.on_side = c.door ? on_door : NULL,
		.side_arg = &c,
		.side_fd = &c.door_fd };
	rc = run_start(s, a, &request, &r, e);
	if (rc == OK)
		rc = run_go(r, e);
	if (rc == OK)
		rc = run_wait(r, 0, &result, e);
	if (rc == OK && result->report.exec_errno)
		rc = err_set(e, E_MISSING, "MCP_CHILD", "'%s' of server '%s' cannot be started: %s",
			request.argv[0], id, strerror(result->report.exec_errno));
	if (rc == OK)
		*ret_code = result->exit_code;
	return rc;
}
