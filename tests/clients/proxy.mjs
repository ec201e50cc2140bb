// proxy.mjs — the vendors' own clients through the proxy: all their ways to stream, and what they do with a call that is refused.
// The model's name says how the model behaves: allowed, denied, both, text, dies.  Prints TAP; the packages lie in the directory SDKS.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const require = createRequire(process.env.SDKS + "/package.json");
const load = async (name) => { try { return await import(pathToFileURL(require.resolve(name)).href); } catch (e) { console.log("# " + name + " does not load: " + e.message); return null; } };
const base = process.env.BASE;
let count = 0, failed = 0;
const ok = (what, is, ...more) => { count++; if (!is) failed++; console.log(`${is ? "ok" : "not ok"} ${count} - ${what}`); if (!is) for (const m of more) console.log("# " + String(typeof m === "object" ? JSON.stringify(m) : m).slice(0, 1500)); };
const tried = async (fn) => { try { return { value: await fn() }; } catch (error) { return { error }; } };

const openai = await load("openai");
if (openai) {
  const OpenAI = openai.default?.default ?? openai.default ?? openai.OpenAI;
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: "sk-client", maxRetries: 0 });
  const messages = [{ role: "user", content: "hi" }];
  const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
  const isDenied = (e, C) => e && e.code === "NO_POLICY_DEFINED" && e.type === "helm_governance_denied";

  let r = await tried(() => client.chat.completions.create({ model: "allowed", messages, tools }));
  ok("openai chat: an allowed call arrives", r.value?.choices[0].message.tool_calls[0].function.name === "get_weather", r.error ?? r.value);
  r = await tried(() => client.chat.completions.create({ model: "denied", messages }));
  ok("openai chat: a denied one is its permission error", r.error instanceof OpenAI.PermissionDeniedError && isDenied(r.error), r.error ?? r.value);
  const collect = async (params) => { let text = "", args = "", names = []; for await (const c of await client.chat.completions.create({ ...params, stream: true, stream_options: { include_usage: true } })) { const d = c.choices[0]?.delta; text += d?.content ?? ""; for (const t of d?.tool_calls ?? []) { args += t.function?.arguments ?? ""; if (t.function?.name) names.push(t.function.name); } } return { text, args, names }; };
  r = await tried(() => collect({ model: "allowed", messages, tools }));
  ok("openai chat stream: text and call arrive", r.value?.text === "Hello" && r.value.args === '{"city": "Oslo"}', r.error ?? r.value);
  let seen = "";
  r = await tried(async () => { for await (const c of await client.chat.completions.create({ model: "denied", messages, stream: true })) seen += JSON.stringify(c); });
  ok("openai chat stream: a denied call raises, and nothing of it arrived", isDenied(r.error) && !seen.includes("passwd") && seen.includes("Hello"), r.error ?? seen);
  r = await tried(async () => { for await (const c of await client.chat.completions.create({ model: "dies", messages, stream: true })); });
  ok("openai chat stream: an answer that breaks off raises", r.error?.code === "INCOMPLETE", r.error ?? r.value);
  r = await tried(() => client.chat.completions.stream({ model: "allowed", messages, tools }).finalChatCompletion());
  ok("openai chat .stream(): the final message has the call", r.value?.choices[0].message.tool_calls[0].function.arguments === '{"city": "Oslo"}', r.error ?? r.value);
  r = await tried(() => client.chat.completions.stream({ model: "denied", messages }).finalChatCompletion());
  ok("openai chat .stream(): a denied one raises", !!r.error && !r.value, r.value);
  let ran = 0;
  const runnable = (name) => [{ type: "function", function: { name, function: () => { ran++; return "20"; }, parse: JSON.parse, parameters: { type: "object", properties: {} }, description: "d" } }];
  if (client.chat.completions.runTools) {
    r = await tried(() => client.chat.completions.runTools({ model: "loop", messages, tools: runnable("get_weather") }).finalContent());
    ok("openai runTools: the loop goes round", ran === 1 && r.value === "Hello", r.error ?? r.value, ran);
    ran = 0;
    r = await tried(() => client.chat.completions.runTools({ model: "denied", messages, stream: true, tools: runnable("credential_export") }).finalContent());
    ok("openai runTools: what is denied is not run", ran === 0 && !!r.error, r.value, ran);
  }
  r = await tried(() => client.responses.create({ model: "allowed", input: "hi" }));
  ok("openai responses: an allowed call arrives", r.value?.output.some((i) => i.type === "function_call"), r.error ?? r.value);
  r = await tried(() => client.responses.create({ model: "denied", input: "hi" }));
  ok("openai responses: a denied one is its permission error", r.error instanceof OpenAI.PermissionDeniedError && isDenied(r.error), r.error ?? r.value);
  r = await tried(async () => { const types = []; for await (const e of await client.responses.create({ model: "allowed", input: "hi", stream: true })) types.push(e.type); return types; });
  ok("openai responses stream: every event arrives", r.value?.includes("response.completed") && r.value.includes("response.function_call_arguments.delta"), r.error ?? r.value);
  seen = "";
  r = await tried(async () => { for await (const e of await client.responses.create({ model: "denied", input: "hi", stream: true })) seen += JSON.stringify(e); });
  ok("openai responses stream: a denied call raises", !!r.error && !seen.includes("passwd"), r.error, seen);
  r = await tried(async () => { for await (const e of await client.responses.create({ model: "dies", input: "hi", stream: true })); });
  ok("openai responses stream: an answer that breaks off raises", !!r.error, r.value);
  r = await tried(() => client.responses.stream({ model: "allowed", input: "hi" }).finalResponse());
  ok("openai responses .stream(): the final answer has the call", r.value?.output.some((i) => i.type === "function_call"), r.error ?? r.value);
  r = await tried(() => client.responses.stream({ model: "denied", input: "hi" }).finalResponse());
  ok("openai responses .stream(): a denied one raises", !!r.error && !r.value, r.value);
  r = await tried(() => client.embeddings.create({ model: "text", input: "x", encoding_format: "float" }));
  ok("openai embeddings pass", r.value?.data?.[0].embedding[0] === 0.5, r.error ?? r.value);
  r = await tried(() => client.models.list());
  ok("openai models pass", !!r.value, r.error);
  const controller = new AbortController();
  r = await tried(async () => { for await (const c of await client.chat.completions.create({ model: "slow", messages, stream: true }, { signal: controller.signal })) { controller.abort(); } });
  ok("openai: an abort ends", true);
}

const anthropic = await load("@anthropic-ai/sdk");
if (anthropic) {
  const Anthropic = anthropic.default?.default ?? anthropic.default ?? anthropic.Anthropic;
  const client = new Anthropic({ baseURL: base, apiKey: "sk-client", maxRetries: 0 });
  const params = (model) => ({ model, max_tokens: 100, messages: [{ role: "user", content: "hi" }] });
  let r = await tried(() => client.messages.create(params("allowed")));
  ok("anthropic: an allowed call arrives", r.value?.content.some((b) => b.type === "tool_use"), r.error ?? r.value);
  r = await tried(() => client.messages.create(params("denied")));
  ok("anthropic: a denied one is its permission error", r.error instanceof Anthropic.PermissionDeniedError, r.error ?? r.value);
  r = await tried(async () => { let args = ""; for await (const e of await client.messages.create({ ...params("allowed"), stream: true })) if (e.type === "content_block_delta" && e.delta.type === "input_json_delta") args += e.delta.partial_json; return args; });
  ok("anthropic stream: the call arrives", r.value === '{"city": "Oslo"}', r.error ?? r.value);
  let seen = "";
  r = await tried(async () => { for await (const e of await client.messages.create({ ...params("denied"), stream: true })) seen += JSON.stringify(e); });
  ok("anthropic stream: a denied call raises, and nothing of it arrived", !!r.error && !seen.includes("passwd") && seen.includes("Hello"), r.error, seen);
  r = await tried(async () => { for await (const e of await client.messages.create({ ...params("dies"), stream: true })); });
  ok("anthropic stream: an answer that breaks off raises", !!r.error, r.value);
  r = await tried(() => client.messages.stream(params("allowed")).finalMessage());
  ok("anthropic .stream(): the final message has the call", r.value?.content.some((b) => b.type === "tool_use" && b.input.city === "Oslo"), r.error ?? r.value);
  r = await tried(() => client.messages.stream(params("denied")).finalMessage());
  ok("anthropic .stream(): a denied one raises", !!r.error && !r.value, r.value);
}

const langchain = await load("@langchain/openai");
if (langchain) {
  const model = (name, more) => new langchain.ChatOpenAI({ model: name, apiKey: "sk-client", maxRetries: 0, configuration: { baseURL: base + "/v1" }, ...more });
  let r = await tried(() => model("allowed").invoke("hi"));
  ok("langchain: an allowed call arrives", r.value?.tool_calls?.[0]?.name === "get_weather", r.error ?? r.value);
  r = await tried(() => model("denied").invoke("hi"));
  ok("langchain: a denied one raises", !!r.error, r.value);
  r = await tried(async () => { let all; for await (const c of await model("allowed").stream("hi")) all = all ? all.concat(c) : c; return all; });
  ok("langchain stream: the call arrives", r.value?.tool_calls?.[0]?.args?.city === "Oslo", r.error ?? r.value);
  r = await tried(async () => { for await (const c of await model("denied").stream("hi")); });
  ok("langchain stream: a denied one raises", !!r.error, r.value);
}

const agents = await load("@openai/agents");
if (agents && openai) {
  const OpenAI = openai.default?.default ?? openai.default ?? openai.OpenAI;
  agents.setTracingDisabled?.(true);
  agents.setDefaultOpenAIClient(new OpenAI({ baseURL: base + "/v1", apiKey: "sk-client", maxRetries: 0 }));
  let ran = 0;
  const tool = (name) => agents.tool({ name, description: "d", strict: false, parameters: { type: "object", properties: {}, required: [], additionalProperties: true }, execute: async () => { ran++; return "20"; } });
  for (const stream of [false, true]) {
    const run = async (model, name) => { const result = await agents.run(new agents.Agent({ name: "a", model, tools: [tool(name)] }), "hi", { stream }); if (stream) { for await (const e of result); await result.completed; if (result.error) throw result.error; } return result.finalOutput; };
    ran = 0;
    let r = await tried(() => run("loop", "get_weather"));
    ok(`openai agents${stream ? " stream" : ""}: the loop goes round`, ran === 1 && r.value === "Hello", r.error ?? r.value, ran);
    ran = 0;
    r = await tried(() => run("denied", "credential_export"));
    ok(`openai agents${stream ? " stream" : ""}: what is denied is not run`, ran === 0 && !!r.error, r.value, ran);
  }
}
console.log("1.." + count);
process.exit(failed || !count ? 1 : 0);
