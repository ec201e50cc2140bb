/* bench_mcp.c — what the gateway adds to a call of a server's tool.
 *
 * mcp_call: the median of a call through `helm mcp gateway` to a server inside its walls, less the median of the same call to the same server
 * alone, against one sync of the disk plus one signature.  Each call has two receipts, and so two of both, behind it.
 *
 * mcp_list: the first list of a thousand tools from twenty servers, none of which runs yet and each of which takes its time to list them, against
 * the start and list of one of them alone. */
#include "bench.h"
#include "place.h"

#include "base/file.h"
#include "base/text.h"
#include "kernel/mcp/mcp.h"
#include "proof/key.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 300, WARM = 20, SERVERS = 20, TOOLS = 50, LIST_MS = 500, SYNCS = 50, LONGEST = 4 << 20 };

/* ---- the server: this program once more ---- */

/* helm-bench --mcp TOOLS MILLISECONDS */
int bench_mcp_server(int tools, int list_ms)
{
	static char line[1 << 16];

	while (fgets(line, sizeof(line), stdin)) {
		const char *id = strstr(line, "\"id\":");
		long long n = id ? strtoll(id + 5, NULL, 10) : 0;
		if (!id)
			continue;
		if (strstr(line, "\"initialize\"")) {
			printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"b\",\"version\":\"1\"}}}\n",
				n);
		} else if (strstr(line, "\"tools/list\"")) {
			const struct timespec wait = { list_ms / 1000, list_ms % 1000 * 1000000L };
			(void)nanosleep(&wait, NULL);
			printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"tools\":[", n);
			for (int i = 0; i < tools; i++)
				printf("%s{\"name\":\"tool_%d\",\"description\":\"Does one thing, and says what it did in a sentence.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}",
					i ? "," : "", i);
			printf("]}}\n");
		} else {
			printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n",
				n);
		}
		fflush(stdout);
	}
	return 0;
}

/* ---- a client of it ---- */

struct peer {
	pid_t pid;
	int in, out;
	char *text;
	size_t n;
};

static bool peer_start(struct peer *p, const struct place *at, const char *const *argv)
{
	posix_spawn_file_actions_t files;
	int in[2], out[2];

	*p = (struct peer){ .text = malloc(LONGEST) };
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], 0);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	bool ok =
		posix_spawn(&p->pid, argv[0], &files, NULL, (char *const *)argv, (char *const *)at->env) == 0;
	posix_spawn_file_actions_destroy(&files);
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
	return ok;
}

static void peer_end(struct peer *p)
{
	close(p->in);
	close(p->out);
	if (p->pid > 0)
		(void)waitpid(p->pid, NULL, 0);
	free(p->text);
}

/* One line there, one back.  False: there is none. */
static bool ask(struct peer *p, const char *line)
{
	size_t n = strlen(line);

	if (write(p->in, line, n) != (ssize_t)n)
		return false;
	for (p->n = 0; !p->n || p->text[p->n - 1] != '\n';) {
		ssize_t got = read(p->out, p->text + p->n, LONGEST - p->n - 1);
		if (got <= 0)
			return false;
		p->n += (size_t)got;
	}
	p->text[p->n] = '\0';
	return true;
}

static const char hello[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"b\",\"version\":\"1\"}}}\n";
static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}\n";
static const char call[] =
	"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"tool_0\",\"arguments\":{\"text\":\"hello\"}}}\n";

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double median_call_s(struct peer *p, struct place *at)
{
	double each[CALLS];

	at->has_failed |= !ask(p, hello) || !ask(p, list);
	for (int i = -WARM; i < CALLS && !at->has_failed; i++) {
		double began = bench_now_s();
		at->has_failed |= !ask(p, call) || !strstr(p->text, "\"done\"");
		if (i >= 0)
			each[i] = bench_now_s() - began;
	}
	if (at->has_failed)
		return 0;
	qsort(each, CALLS, sizeof(each[0]), by_size);
	return each[CALLS / 2];
}

/* ---- servers in the registry ---- */

static int add_server(struct kernel *k, struct arena *a, const char *id, const char *program, int tools,
	int list_ms, struct err *e)
{
	const struct person who = { .name = "bench" };
	const struct mcp_terms terms = { 0 };
	struct json *how = json_new(a, JSON_OBJECT), *args = json_new(a, JSON_ARRAY), *row,
		    *seen = json_new(a, JSON_ARRAY);

	json_sets(a, how, "command", program);
	json_pushs(a, args, "--mcp");
	json_pushs(a, args, arena_printf(a, "%d", tools));
	json_pushs(a, args, arena_printf(a, "%d", list_ms));
	json_set(a, how, "args", args);
	for (int i = 0; i < tools; i++) {
		struct json *tool;
		const char *text = arena_printf(a,
			"{\"name\":\"tool_%d\",\"description\":\"Does one thing, and says what it did in a sentence.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}",
			i);
		if (json_parse(a, bytes_of(text), "tool", NULL, &tool, e))
			return e->rc;
		json_push(a, seen, tool);
	}
	int rc = mcp_add(k, a, id, how, &who, &row, e);
	return rc ? rc : mcp_approve(k, a, id, seen, &terms, &who, &row, e);
}

static bool add_servers(struct place *p, const char *program, int n, int tools, int list_ms)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sys *s = sys_real();
	struct workspace *ws = NULL;
	struct kernel k;
	struct err e = { 0 };

	(void)setenv("HOME", p->home, 1);
	int rc = workspace_open(s, &a, arena_printf(&a, "%s/ws", p->home), 0, &ws, &e);
	if (rc == OK && (rc = kernel_open(s, &a, ws, &k, &e)) == OK) {
		for (int i = 0; i < n && rc == OK; i++)
			rc = add_server(&k, &a, arena_printf(&a, "s%d", i), program, tools, list_ms, &e);
		kernel_close(&k);
	}
	workspace_close(ws);
	if (rc)
		fprintf(stderr, "helm-bench: %s\n", e.text);
	return rc == OK;
}

static const char *own_path(struct arena *a)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return arena_strndup(a, path, n > 0 ? (size_t)n : 0);
}

/* ---- figures ---- */

static double sync_and_sign_s(struct place *p)
{
	const char *file = arena_printf(&p->a, "%s/sync", p->home);
	char block[1500] = { 0 };
	uint8_t signature[SIGN_SIZE];
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct key *key = NULL;
	struct err e = { 0 };

	if (key_create(sys_real(), AT_FDCWD, arena_printf(&p->a, "%s/bench-keys", p->home), "k", &key, &e)) {
		p->has_failed = true;
		return 1;
	}
	double each[SYNCS];

	for (int i = 0; i < SYNCS; i++) {
		double began = bench_now_s();
		p->has_failed |= write(fd, block, sizeof(block)) < 0 || fdatasync(fd);
		key_sign(key, (struct bytes){ (const uint8_t *)block, sizeof(block) }, signature);
		each[i] = bench_now_s() - began;
	}
	qsort(each, SYNCS, sizeof(each[0]), by_size);
	key_free(&key);
	close(fd);
	return each[SYNCS / 2];
}

int bench_mcp_call(struct bench *b)
{
	struct place p;
	struct peer alone, through;

	if (!place_open(&p, b, "mcp_call"))
		return 1;
	const char *self = own_path(&p.a);
	const char *const direct[] = { self, "--mcp", "1", "0", NULL },
			  *const gateway[] = { p.helm, "mcp", "gateway", "--server", "s0", NULL };
	p.has_failed |= !add_servers(&p, self, 1, 1, 0);
	if (!p.has_failed && peer_start(&alone, &p, direct)) {
		b->baseline = median_call_s(&alone, &p);
		peer_end(&alone);
	}
	if (!p.has_failed && peer_start(&through, &p, gateway)) {
		b->value = median_call_s(&through, &p) - b->baseline;
		peer_end(&through);
	}
	double yardstick = sync_and_sign_s(&p);
	b->value *= 1e6;
	b->baseline = yardstick * 1e6;
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	int rc = p.has_failed;
	place_close(&p);
	return rc;
}

static double first_list_s(struct place *p, const char *const *argv, size_t tools)
{
	struct peer x;
	double began = bench_now_s();

	if (!peer_start(&x, p, argv)) {
		p->has_failed = true;
		return 0;
	}
	p->has_failed |= !ask(&x, hello) || !ask(&x, list);
	double took = bench_now_s() - began;
	size_t n = 0;
	for (const char *at = x.text; !p->has_failed && (at = strstr(at, "\"inputSchema\"")); at++)
		n++;
	p->has_failed |= n != tools;
	peer_end(&x);
	return took;
}

int bench_mcp_list(struct bench *b)
{
	struct place p;

	if (!place_open(&p, b, "mcp_list"))
		return 1;
	const char *self = own_path(&p.a), *tools = arena_printf(&p.a, "%d", TOOLS),
		   *ms = arena_printf(&p.a, "%d", LIST_MS);
	const char *const direct[] = { self, "--mcp", tools, ms, NULL },
			  *const gateway[] = { p.helm, "mcp", "gateway", "--no-own-tools", NULL };
	p.has_failed |= !add_servers(&p, self, SERVERS, TOOLS, LIST_MS);
	b->baseline = p.has_failed ? 0 : first_list_s(&p, direct, TOOLS);
	b->value = p.has_failed ? 0 : first_list_s(&p, gateway, SERVERS * TOOLS);
	b->unit = "s";
	b->ratio = b->value / b->baseline;
	int rc = p.has_failed;
	place_close(&p);
	return rc;
}
