// mcp_client.mjs 1|2 stdio PROGRAM ARGS... | 1|2 http URL: an official client of that generation makes the calls of CALLS ([[tool, arguments], ...]) and
// prints {tools, results: [{isError, text} or {thrown}]}.  It lies beside the packages when it runs.
const [generation, transport, ...rest] = process.argv.slice(2);
const load = async (...names) => {
  for (const name of names) {
    try {
      return await import(name);
    } catch (e) {
      if (name === names.at(-1)) throw e;
    }
  }
};
const old = generation === "1";
const { Client } = await load(old ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
let wire;
if (transport === "stdio") {
  const m = old ? await load("@modelcontextprotocol/sdk/client/stdio.js") : await load("@modelcontextprotocol/client/stdio", "@modelcontextprotocol/client");
  wire = new m.StdioClientTransport({ command: rest[0], args: rest.slice(1), env: { ...process.env } });
} else {
  const m = old ? await load("@modelcontextprotocol/sdk/client/streamableHttp.js") : await load("@modelcontextprotocol/client");
  wire = new m.StreamableHTTPClientTransport(new URL(rest[0]));
}
const client = new Client({ name: "helm-test", version: "1" });
await client.connect(wire);
const tools = (await client.listTools()).tools.map((t) => t.name);
const results = [];
for (const [name, args] of JSON.parse(process.env.CALLS)) {
  try {
    const r = await client.callTool({ name, arguments: args });
    results.push({ isError: r.isError ?? false, text: (r.content ?? []).map((c) => c.text ?? "").join("") });
  } catch (e) {
    results.push({ thrown: String(e) });
  }
}
await client.close();
console.log(JSON.stringify({ tools, results }));
