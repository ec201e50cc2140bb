/* fuzz_mcp.c — what a client or a server sends to the gateway: lines in pieces, each a message of JSON-RPC or none.
 *
 * The first byte says how large the pieces are and how long a line may be.  However the bytes are cut, the same lines come out; what is
 * a message has what its kind must have; and a tool that is in one can be pinned, judged and looked at. */
#include "fuzz.h"

#include "base/text.h"
#include "kernel/mcp/mcp.h"
#include "serve/mcp/rpc.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void look_at_tools(struct arena *a, const struct json *tools)
{
	struct json *registry = json_new(a, JSON_OBJECT);
	struct mcp_answer said;
	struct err e = { 0 };

	json_each (tool, tools) {
		const struct mcp_question q = { .server = "s",
			.tool = json_get_text(tool, "name", ""),
			.row = registry,
			.seen = tool,
			.args = tool };
		mcp_judge(a, &q, &said);
		check(said.action != ACTION_ALLOW); /* nobody has approved it */
		(void)mcp_check_args(a, tool, json_get(tool, "args"), &e);
	}
	(void)mcp_inspect_tools(a, tools);
	check(mcp_drift(a, registry, tools)->n <= (tools ? tools->n : 0));
	(void)mcp_set_sha256(a, tools);
}

static void look_at(struct arena *a, struct bytes line)
{
	struct rpc m;

	rpc_read(a, line, &m);
	switch (m.kind) {
	case RPC_REQUEST:
		check(m.id && m.method);
		break;
	case RPC_NOTIFICATION:
		check(!m.id && m.method);
		break;
	case RPC_RESPONSE:
		check(m.id && !m.result != !m.error);
		look_at_tools(a, json_get(m.result, "tools"));
		break;
	default:
		check(m.code == RPC_PARSE || m.code == RPC_INVALID_REQUEST);
	}
}

static size_t lines_of(
	struct arena *a, const uint8_t *data, size_t size, size_t piece, size_t most, bool is_looked_at)
{
	struct rpc_lines lines = { .most = most };
	struct bytes line;
	enum rpc_line what;
	size_t n = 0;

	for (size_t at = 0; at < size; at += piece) {
		rpc_lines_put(&lines, data + at, size - at < piece ? size - at : piece);
		while ((what = rpc_lines_next(&lines, &line)) != RPC_NO_LINE) {
			n++;
			check(what != RPC_LINE || (line.n && line.n <= most));
			if (what == RPC_LINE && is_looked_at)
				look_at(a, line);
		}
	}
	rpc_lines_free(&lines);
	return n;
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };

	if (!size)
		return;
	size_t piece = (size_t)(data[0] & 15) + 1, most = data[0] & 16 ? 64 : 1 << 16;
	check(lines_of(&a, data + 1, size - 1, piece, most, false) ==
		lines_of(&a, data + 1, size - 1, size, most, true));
}
