/* session.c — a session from what a person asked for to its end.
 *
 * It is one guarded run (task/run.c): decided, on record, inside the walls of its profile, and nothing outlives it.  Added are what its
 * client needs (clients/), hooks that are armed whatever is written inside, and the desk. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/agent/parts.h"
#include "kernel/setup/setup.h"
#include "kernel/task/contain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what its client needs ---- */

static size_t count_names(const char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
}

/* A directory that is not there is made, and a file begins empty, because inside nothing can be made beside it. */
static int make_own(struct session *s, const char *const *names, struct err *e)
{
	for (; s->home && names && *names; names++) {
		const char *path = path_clean(s->a, arena_printf(s->a, "%s/%s", s->home, *names));
		int rc = OK;
		if (text_ends(*names, "/"))
			rc = file_mkdirs(s->sys, AT_FDCWD, path, 0700, e);
		else if (text_ends(*names, ".json") && !file_exists(s->sys, AT_FDCWD, path))
			rc = file_replace(s->sys, AT_FDCWD, path, 0600, BYTES_LITERAL("{}\n"), e);
		if (rc)
			return rc;
	}
	return OK;
}

/* Below the home directory. */
static const char *const *own_paths(struct session *s, const char *const *names)
{
	struct arena *a = s->a;
	size_t n = count_names(names), kept = 0;
	const char **all = arena_zalloc(a, n + 1, sizeof(*all));

	for (size_t i = 0; s->home && i < n; i++) {
		const char *path = path_clean(a, arena_printf(a, "%s/%s", s->home, names[i]));
		/* Walls stand on what is really there. */
		char *real = realpath(path, NULL);
		all[kept++] = real ? arena_strdup(a, real) : path;
		free(real);
	}
	return all;
}

/* Where its service is: as a person says in the environment, else where it usually is.  What cannot be a host is an error now: the
 * client would have no service, and could not say why. */
static int service_hosts(struct sys *s, struct arena *a, const struct client_session *needs,
	const char *const **ret, struct err *e)
{
	const char *url = needs->url_variable ? s->getenv(s, needs->url_variable) : NULL;
	const char *host = url ? strstr(url, "://") : NULL, *at;
	const char **one = arena_zalloc(a, 2, sizeof(*one));
	struct egress_rules rules = { 0 };
	struct err why = { 0 };

	*ret = needs->hosts;
	if (!host)
		return OK;
	one[0] = arena_strndup(a, host + 3, strcspn(host + 3, "/?#"));
	if ((at = strrchr(one[0], '@')))
		one[0] = at + 1;
	if (egress_add(a, &rules, one[0], needs->url_variable, &why))
		return err_set(
			e, E_INPUT, "AGENT_SERVICE", "%s names no host: %s", needs->url_variable, why.text);
	*ret = one;
	return OK;
}

/* Do its settings have our hooks? */
static bool has_armed_settings(const struct setup *s, const struct client *c)
{
	json_each (row, setup_status(s, c->name))
		if (json_get_bool(row, "armed", false))
			return true;
	return false;
}

/* A client's own sandbox cannot be made inside Helm's: one that the person asks for by name is refused, not dropped. */
static int refuse_own_sandbox(const struct agent_spec *spec, const struct client *c, struct err *e)
{
	for (size_t i = 0; c && c->sandbox && i < spec->arg_count; i++)
		for (const char *const *o = c->sandbox->options; o && *o; o++) {
			const char *arg = spec->args[i], *value = NULL;
			if (text_eq(arg, *o))
				value = i + 1 < spec->arg_count ? spec->args[i + 1] : "";
			else if (text_starts(arg, *o) && arg[strlen(*o)] == '=')
				value = arg + strlen(*o) + 1;
			if (value && !text_eq(value, c->sandbox->off_value))
				return err_set(e, E_USAGE, "AGENT_SANDBOX",
					"%s's own sandbox (%s %s) cannot be made inside Helm's; leave it out: in a session the "
					"profile says what the whole client may do",
					c->title, *o, value);
		}
	return OK;
}

/* PROGRAM, the words that arm it, and what the person gave.  The commands are those that setup writes, so that a client which has
 * both runs one. */
static int make_argv(const struct setup *s, const struct agent_spec *spec, const struct client *c,
	struct run_spec *run, struct err *e)
{
	struct arena *a = s->a;
	const struct client_session *needs = c ? c->session : NULL;
	const bool is_armed = c && c->speech && has_armed_settings(s, c);
	const char *const *arming = needs && needs->arm
		? needs->arm(a, setup_command(s, c, "pre-tool"), setup_command(s, c, "post-tool"), is_armed)
		: NULL;
	const char **argv = arena_zalloc(a, spec->arg_count + count_names(arming) + 2, sizeof(*argv));
	size_t n = 0;

	if (c && c->speech && !arming && !is_armed)
		return err_set(e, E_DENIED, "AGENT_NOT_ARMED",
			"%s would not ask about its calls: its hook is not armed; 'helm setup %s' puts it in, 'helm setup status' says what is missing",
			c->title, c->name);
	int rc = refuse_own_sandbox(spec, c, e);
	if (rc)
		return rc;
	argv[n++] = needs ? needs->program : spec->client;
	for (; arming && *arming; arming++)
		argv[n++] = *arming;
	for (size_t i = 0; i < spec->arg_count; i++)
		argv[n++] = spec->args[i];
	run->argv = argv;
	run->argc = n;
	return OK;
}

/* ---- while it runs ---- */

/* Walls stand on what is there: what the client needs is made once the session may begin, and not before. */
static int prepare(void *arg, struct err *e)
{
	struct session *s = arg;
	int rc = make_own(s, s->needs->state, e);

	if (rc)
		return rc;
	s->how->writable = own_paths(s, s->needs->state);
	s->how->closed = own_paths(s, s->needs->closed);
	return OK;
}

static int begin(void *arg, const struct run_begun *b, struct err *e)
{
	struct session *s = arg;

	s->task = b->task;
	s->task_id = b->task_id;
	s->tmp = b->tmp;
	s->desk = b->desk;
	s->is_cut_off = b->walls->network != NETWORK_FULL;
	s->started_us = s->sys->now_us(s->sys);
	int rc = desk_begin(s, e);
	if (rc == OK && s->alone)
		agent_has_begun(s->alone, s->sys, s->a, s->task_id);
	return rc;
}

static void end(void *arg, struct json *row)
{
	struct session *s = arg;
	struct arena *a = s->a;
	struct json *calls = json_new(a, JSON_OBJECT);

	desk_end(s);
	json_seti(a, calls, "decided", s->count.calls);
	json_seti(a, calls, "refused", s->count.refused);
	json_seti(a, calls, "asked", s->count.asked);
	json_seti(a, calls, "outside", s->count.outside);
	json_set(a, row, "agent_calls", calls);
	while (s->permits) {
		struct permit *p = s->permits;
		s->permits = p->next;
		permit_free(p);
	}
}

int agent_run(struct kernel *k, struct arena *a, const struct agent_spec *spec, struct run_report *ret,
	struct err *e)
{
	const struct client *c = clients_find(spec->client);
	const struct client_session none = { 0 }, *needs = c && c->session ? c->session : &none;
	struct session s = { .sys = k->sys,
		.a = a,
		.root = k->ws->root,
		.home = k->ws->home,
		.needs = needs,
		.alone = spec->alone,
		.client = c ? c->name : path_base(spec->client),
		.chosen = spec->profile,
		.started = spec->cwd,
		.shell = shell_of_person(k->sys),
		.desk = -1,
		.stop = -1 };
	struct run_session how = { .client = s.client,
		.alone = spec->alone ? &spec->alone->terminal : NULL,
		.variables = needs->variables,
		.tmp_variable = needs->tmp_variable,
		.prepare = prepare,
		.begin = begin,
		.end = end,
		.arg = &s };
	struct run_spec run = { .task_name = spec->name ? spec->name : arena_printf(a, "agent %s", s.client),
		.task_goal = spec->goal,
		.task_id = spec->task_id,
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.cwd = spec->cwd,
		.session = &how };

	struct setup setup;
	s.how = &how;
	int rc = service_hosts(k->sys, a, needs, &how.hosts, e);
	if (rc == OK)
		rc = setup_open(k->sys, a, k->ws, NULL, &setup, e);
	if (rc == OK && spec->profile)
		run.profile = spec->profile;
	else if (rc == OK)
		rc = workspace_agent_profile(k->sys, a, k->ws, &k->guard.profiles, &run.profile, e);
	s.profile = run.profile;
	if (rc == OK)
		rc = make_argv(&setup, spec, c, &run, e);
	if (rc)
		return rc;
	s.helm = setup.program;
	return task_run(k, a, &run, ret, e);
}
