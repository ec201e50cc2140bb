// mcp_asked.mjs PROGRAM ARGS...: the official client starts that gateway to server-everything, lets itself be asked, and prints {asked: [method], sampled, elicited, prompts,
// resources}.  It lies beside the packages when it runs.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const asked = [];
const client = new Client({ name: "helm-test", version: "1" }, { capabilities: { sampling: {}, elicitation: {} } });
client.setRequestHandler(CreateMessageRequestSchema, async (r) => {
  asked.push(r.method);
  return { role: "assistant", content: { type: "text", text: "sampled words" }, model: "m" };
});
client.setRequestHandler(ElicitRequestSchema, async (r) => {
  asked.push(r.method);
  return { action: "accept", content: { name: "Ann", check: true } };
});
await client.connect(new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3), env: { ...process.env } }));
await client.listTools();
const text = async (name, args) => ((await client.callTool({ name, arguments: args })).content ?? []).map((c) => c.text ?? "").join("");
const sampled = await text("trigger-sampling-request", { prompt: "hi", maxTokens: 10 });
const elicited = await text("trigger-elicitation-request", {});
const prompts = (await client.listPrompts()).prompts.length;
const resources = (await client.listResources()).resources.length;
await client.close();
console.log(JSON.stringify({ asked, sampled, elicited, prompts, resources }));
