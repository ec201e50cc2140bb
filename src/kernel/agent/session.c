/* session.c — a session from what a person asked for to its end.
 *
 * It is one guarded run (task/run.c): decided, on record, inside the walls of its profile, and nothing outlives it.  Added are what its
 * client needs (clients/), hooks that are armed whatever is written inside, and the desk. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "execute/machine.h"
#include "kernel/agent/parts.h"
#include "kernel/setup/setup.h"
#include "kernel/task/contain.h"
#include "kernel/task/layer.h"

#include <string.h>

/* ---- what its client needs ---- */

static size_t count_names(const char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
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

/* A home in which the session works cannot be covered by another one. */
static bool works_in_home(const struct session *s)
{
	return path_is_below(s->home, s->root);
}

/* The layer that it writes its state into is made once the session may begin, and not before. */
static int prepare(void *arg, const char *task_id, struct err *e)
{
	struct session *s = arg;
	struct machine m;

	if (!s->known || !s->known->session || !s->home || !s->helm_home)
		return OK;
	if (works_in_home(s))
		return err_set(e, E_DENIED, "AGENT_HOME",
			"a session cannot work in the home directory itself, because its client's settings lie there; start it in a project: helm agent %s --cwd DIR",
			s->client);
	machine_look(s->sys, s->a, s->helm_home, &m);
	const struct layer_spec spec = { .helm_home = s->helm_home,
		.home = s->home,
		.task_id = task_id,
		.workspace = s->root,
		.client = s->known,
		.has_mounts = m.namespaces,
		.has_overlay = m.overlay };
	int rc = layer_begin(s->sys, s->a, &spec, &s->layer, e);
	if (rc)
		return rc;
	s->has_layer = true;
	s->task_id = task_id;
	s->how->home = s->layer.home;
	s->how->is_home_mounted = s->layer.is_mounted;
	s->how->layers = s->layer.layers;
	s->how->environment = s->layer.environment;
	s->how->own = s->layer.own;
	s->how->closed = s->layer.closed;
	return OK;
}

/* Those of the client come first in the list.  Without one of them the client would begin as on its first day. */
static int check_layers(const struct session *s, const struct run_begun *b, struct err *e)
{
	for (size_t i = 0; i < s->layer.layer_count; i++)
		if (!(b->report->layers_up >> i & 1))
			return err_set(e, E_IO, "AGENT_LAYER",
				"the kernel could not lay the session's directory over '%s'; 'helm doctor' says what this machine offers",
				s->layer.layers[i].at);
	return OK;
}

/* Nothing of the session runs any more. */
static void end_layer(struct session *s, struct json *row)
{
	struct err e = { 0 };

	if (!s->has_layer)
		return;
	s->has_layer = false;
	struct json *result = layer_end(s->sys, s->a, s->helm_home, s->task_id, &e);
	layer_close(&s->layer);
	if (!result) {
		result = json_new(s->a, JSON_OBJECT);
		json_sets(s->a, result, "task_id", s->task_id);
		json_sets(s->a, result, "error", e.text);
	}
	s->not_kept = layer_line(s->a, result);
	if (row)
		layer_tell(s->a, result, row);
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
	int rc = check_layers(s, b, e);
	if (rc == OK)
		rc = desk_begin(s, e);
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
	end_layer(s, row);
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
		.helm_home = k->ws->helm_home,
		.known = c,
		.layer = { .lock = -1 },
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
	rc = task_run(k, a, &run, ret, e);
	end_layer(&s, NULL); /* it was refused before it began */
	if (s.not_kept)
		ret->hint = ret->hint ? arena_printf(a, "%s\n%s", ret->hint, s.not_kept) : s.not_kept;
	return rc;
}
