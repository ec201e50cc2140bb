/* session.c — a session from what a person asked for to its end.
 *
 * It is one guarded run (task/run.c): decided, on record, inside the walls of its profile, and nothing outlives it.  Added are what its
 * client needs (clients/), hooks that are armed whatever is written inside, and the desk. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/agent/parts.h"
#include "kernel/setup/setup.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what its client needs ---- */

/* Below the home directory; a directory that is not there is made, and a file begins empty, because inside nothing can be made beside
 * it. */
static const char *const *own_paths(struct kernel *k, struct arena *a, const char *const *names, bool makes)
{
	size_t n = 0, kept = 0;

	while (names && names[n])
		n++;
	const char **all = arena_zalloc(a, n + 1, sizeof(*all));
	for (size_t i = 0; k->ws->home && i < n; i++) {
		const char *path = path_clean(a, arena_printf(a, "%s/%s", k->ws->home, names[i]));
		if (makes && text_ends(names[i], "/"))
			(void)file_mkdirs(k->sys, AT_FDCWD, path, 0700, NULL);
		else if (makes && text_ends(names[i], ".json") && !file_exists(k->sys, AT_FDCWD, path))
			(void)file_replace(k->sys, AT_FDCWD, path, 0600, BYTES_LITERAL("{}\n"), NULL);
		/* Walls stand on what is really there. */
		char *real = realpath(path, NULL);
		all[kept++] = real ? arena_strdup(a, real) : path;
		free(real);
	}
	return all;
}

/* Where its service is: as a person says in the environment, else where it usually is. */
static const char *const *service_hosts(struct sys *s, struct arena *a, const struct client_session *needs)
{
	const char *url = needs->url_variable ? s->getenv(s, needs->url_variable) : NULL;
	const char *host = url ? strstr(url, "://") : NULL;
	const char **one = arena_zalloc(a, 2, sizeof(*one));

	if (!host)
		return needs->hosts;
	one[0] = arena_strndup(a, host + 3, strcspn(host + 3, "/?#"));
	return one;
}

/* Its settings must have our hooks where it cannot be told on its command line. */
static int check_armed(const struct setup *s, const struct client *c, struct err *e)
{
	json_each (row, setup_status(s, c->name))
		if (json_get_bool(row, "armed", false))
			return OK;
	return err_set(e, E_DENIED, "AGENT_NOT_ARMED",
		"%s would not ask about its calls: its hook is not armed; 'helm setup %s' puts it in, 'helm setup status' says what is missing",
		c->title, c->name);
}

/* PROGRAM, the words that arm it, and what the person gave.  The commands are those that setup writes, so that a client which has
 * both runs one. */
static int make_argv(const struct setup *s, const struct agent_spec *spec, const struct client *c,
	struct run_spec *run, struct err *e)
{
	struct arena *a = s->a;
	const struct client_session *needs = c ? c->session : NULL;
	const char *const *arming = needs && needs->arm
		? needs->arm(a, setup_command(s, c, "pre-tool"), setup_command(s, c, "post-tool"))
		: NULL;
	const char **argv = arena_zalloc(a, spec->arg_count + 8, sizeof(*argv));
	size_t n = 0;

	if (c && c->speech && !arming) {
		int rc = check_armed(s, c, e);
		if (rc)
			return rc;
	}
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

static int begin(void *arg, const struct run_begun *b, struct err *e)
{
	struct session *s = arg;

	s->task = b->task;
	s->task_id = b->task_id;
	s->tmp = b->tmp;
	s->desk = b->desk;
	s->is_cut_off = b->walls->network != NETWORK_FULL;
	s->started_us = s->sys->now_us(s->sys);
	return desk_begin(s, e);
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

/* Of sh's language, or /bin/sh: what is run outside was judged as such. */
static const char *choose_shell(struct sys *s)
{
	const char *shell = s->getenv(s, "SHELL");

	return shell && *shell == '/' && shell_speaks_sh(shell) ? shell : "/bin/sh";
}

int agent_run(struct kernel *k, struct arena *a, const struct agent_spec *spec, struct run_report *ret,
	struct err *e)
{
	const struct client *c = clients_find(spec->client);
	const struct client_session none = { 0 }, *needs = c && c->session ? c->session : &none;
	struct session s = { .sys = k->sys,
		.a = a,
		.root = k->ws->root,
		.client = c ? c->name : path_base(spec->client),
		.chosen = spec->profile,
		.shell = choose_shell(k->sys),
		.desk = -1,
		.stop = -1 };
	struct run_session how = { .client = s.client,
		.variables = needs->variables,
		.hosts = service_hosts(k->sys, a, needs),
		.tmp_variable = needs->tmp_variable,
		.begin = begin,
		.end = end,
		.arg = &s };
	struct run_spec run = { .task_name = spec->name ? spec->name : arena_printf(a, "agent %s", s.client),
		.task_goal = spec->goal,
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.cwd = spec->cwd,
		.session = &how };

	struct setup setup;
	int rc = setup_open(k->sys, a, k->ws, NULL, &setup, e);
	if (rc == OK && spec->profile)
		run.profile = spec->profile;
	else if (rc == OK)
		rc = workspace_default_profile(k->sys, a, k->ws, &run.profile, e);
	s.profile = run.profile;
	if (rc == OK)
		rc = make_argv(&setup, spec, c, &run, e);
	if (rc)
		return rc;
	s.helm = setup.program;
	how.writable = own_paths(k, a, needs->state, true);
	how.closed = own_paths(k, a, needs->closed, false);
	return task_run(k, a, &run, ret, e);
}
