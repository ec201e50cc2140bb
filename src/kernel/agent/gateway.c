/* gateway.c — the gateway to tools for who is inside a session: it runs outside, where registry, key and chain are, and has the streams of who asked.
 *
 * Whoever is inside says which servers, by their names, and nothing else: what these may do, how they are started and which of their tools may be called is a
 * person's word, and each call is decided by the gateway as for any client.  The client's name is the session's, not the caller's. */
#include "base/proc.h"
#include "base/text.h"
#include "kernel/agent/parts.h"

#include <string.h>

enum { SERVERS_MOST = 32, WORDS = 8, END_MS = 3000 };

/* No option and no path; which servers there are the gateway knows. */
static bool is_name(const char *s)
{
	return *s && *s != '-' && strlen(s) < 64 &&
		s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

static bool come_in(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	bool has_room = s->gateways < AGENT_GATEWAYS && !s->is_over;
	s->gateways += has_room;
	pthread_mutex_unlock(&s->lock);
	return has_room;
}

static void go_out(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	s->gateways--;
	pthread_mutex_unlock(&s->lock);
}

static int add_servers(
	const struct json *servers, const char **argv, size_t *at, struct arena *a, struct err *e)
{
	if (servers && (!json_is(servers, JSON_ARRAY) || servers->n > SERVERS_MOST))
		return err_set(
			e, E_INPUT, "MCP_SERVERS", "servers are a list of up to %d names", SERVERS_MOST);
	json_each (one, servers) {
		if (!json_text(one) || !is_name(json_text(one)))
			return err_set(e, E_INPUT, "MCP_SERVERS", "that is no name of a server");
		argv[(*at)++] = "--server";
		argv[(*at)++] = arena_strdup(a, json_text(one));
	}
	return OK;
}

static int run(
	struct session *s, const char *const *argv, const int streams[3], int conn, int *ret, struct err *e)
{
	AUTO(proc_done) struct proc p = { 0 };
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc_end end;

	spec.in_fd = streams[0];
	spec.out_fd = streams[1];
	spec.err_fd = streams[2];
	int rc = proc_start(s->sys, &spec, &p, e);
	if (rc)
		return rc;
	outside_attend(s, p.pid, p.pidfd, conn);
	rc = proc_wait(s->sys, &p, END_MS, &end, e);
	if (rc == OK)
		*ret = end.code;
	return rc;
}

int gateway_outside(struct session *s, struct arena *a, const struct json *servers, const int streams[3],
	int conn, int *ret, struct err *e)
{
	const char *argv[WORDS + 2 * SERVERS_MOST] = { s->helm, "mcp", "gateway", "--workspace", s->root,
		"--client", s->client };
	size_t n = 7;
	int rc = add_servers(servers, argv, &n, a, e);

	if (rc)
		return rc;
	if (!come_in(s))
		return err_set(e, E_LIMIT, "MCP_BUSY", "%d gateways run for this session", AGENT_GATEWAYS);
	rc = run(s, argv, streams, conn, ret, e);
	go_out(s);
	return rc;
}
