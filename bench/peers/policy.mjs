// policy.mjs — the other side of bench/peers/policy.sh: makes the data, and asks one engine.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const [, , verb, ...args] = process.argv

// The same numbers on every run.
let seed = 88172645463325252n
const next = (n) => {
	seed ^= (seed << 13n) & 0xffffffffffffffffn
	seed ^= seed >> 7n
	seed ^= (seed << 17n) & 0xffffffffffffffffn
	return Number((seed >> 33n) % BigInt(n))
}

function make(count, rulesFile, requestsFile) {
	const rules = Array.from({ length: count }, (_, i) => ({ tool: `tool_${i}`, prefix: `/srv/data/${i}/`, max: 1000 + i }))
	const lines = []
	for (let i = 0; i < 5000; i++) {
		const r = rules[next(count)]
		const q = { tool: r.tool, args: { path: `${r.prefix}file${i}.txt`, size: next(r.max), mode: next(2) ? 'ro' : 'rw' }, expect: true }
		const kind = next(20)
		if (kind === 0) q.tool = `nobody_${i}`
		else if (kind === 1) q.args.path = '/etc/passwd'
		else if (kind === 2) q.args.size = r.max
		else if (kind === 3) q.args.mode = 'x'
		else if (kind === 4) q.args.path = `${r.prefix}../x`
		q.expect = kind > 4
		lines.push(JSON.stringify(q))
	}
	writeFileSync(rulesFile, JSON.stringify(rules))
	writeFileSync(requestsFile, `${lines.join('\n')}\n`)
}

const plain = (r, a) => a.path.startsWith(r.prefix) && !a.path.includes('..') && a.size < r.max && (a.mode === 'ro' || a.mode === 'rw')

const engines = {
	map(rules) {
		const byTool = new Map(rules.map((r) => [r.tool, r]))
		return (q) => {
			const r = byTool.get(q.tool)
			return r !== undefined && plain(r, q.args)
		}
	},
	async casl(rules) {
		const { AbilityBuilder, createMongoAbility, subject } = await import('@casl/ability')
		const { can, build } = new AbilityBuilder(createMongoAbility)
		for (const r of rules)
			can(r.tool, 'Args', { path: { $regex: `^${r.prefix}(?!.*\\.\\.)` }, size: { $lt: r.max }, mode: { $in: ['ro', 'rw'] } })
		const ability = build()
		return (q) => ability.can(q.tool, subject('Args', { ...q.args }))
	},
	async casbin(rules) {
		const { newEnforcer, newModelFromString, StringAdapter } = await import('casbin')
		const model = newModelFromString(
			'[request_definition]\nr = tool, path, size, mode\n[policy_definition]\np = tool, prefix, max\n[policy_effect]\ne = some(where (p.eft == allow))\n' +
				'[matchers]\nm = r.tool == p.tool && fits(r.path, p.prefix, r.size, p.max, r.mode)\n'
		)
		const e = await newEnforcer(model, new StringAdapter(rules.map((r) => `p, ${r.tool}, ${r.prefix}, ${r.max}`).join('\n')))
		await e.addFunction('fits', (path, prefix, size, max, mode) => plain({ prefix, max: Number(max) }, { path, size, mode }))
		return (q) => e.enforceSync(q.tool, q.args.path, q.args.size, q.args.mode)
	},
	async cedar(rules) {
		const cedar = await import('@cedar-policy/cedar-wasm/nodejs')
		const text = rules
			.map(
				(r) =>
					`permit(principal, action == Action::"${r.tool}", resource) when { context.path like "${r.prefix}*" && !(context.path like "*..*") ` +
					`&& context.size < ${r.max} && (context.mode == "ro" || context.mode == "rw") };`
			)
			.join('\n')
		const policies = { staticPolicies: text }
		return (q) =>
			cedar.isAuthorized({
				principal: { type: 'Agent', id: 'a' },
				action: { type: 'Action', id: q.tool },
				resource: { type: 'Tool', id: q.tool },
				context: q.args,
				policies,
				entities: [],
			}).response?.decision === 'allow'
	},
	async opa(rules) {
		const { loadPolicy } = (await import('@open-policy-agent/opa-wasm')).default
		const rego = rules
			.map(
				(r) =>
					`allow if { input.tool == "${r.tool}"; startswith(input.args.path, "${r.prefix}"); not contains(input.args.path, ".."); ` +
					`input.args.size < ${r.max}; input.args.mode in {"ro", "rw"} }`
			)
			.join('\n')
		writeFileSync('bench.rego', `package bench\nimport rego.v1\ndefault allow := false\n${rego}\n`)
		execFileSync('opa', ['build', '-t', 'wasm', '-e', 'bench/allow', 'bench.rego', '-o', 'bundle.tar.gz'])
		execFileSync('tar', ['xzf', 'bundle.tar.gz', '/policy.wasm'])
		const policy = await loadPolicy(readFileSync('policy.wasm'))
		return (q) => policy.evaluate(q)[0]?.result === true
	},
}

async function run(name, count, rulesFile, requestsFile) {
	const rules = JSON.parse(readFileSync(rulesFile, 'utf8'))
	const requests = readFileSync(requestsFile, 'utf8').trim().split('\n').map((l) => JSON.parse(l))
	const begun = process.hrtime.bigint()
	const ask = await engines[name](rules)
	const loadMs = Number(process.hrtime.bigint() - begun) / 1e6
	const until = Date.now() + 10000
	let wrong = 0
	const samples = []
	for (let round = 0; round < 10 && Date.now() < until; round++)
		for (const q of requests) {
			const t = process.hrtime.bigint()
			const answer = ask(q)
			samples.push(Number(process.hrtime.bigint() - t))
			if (round === 0 && answer !== q.expect) wrong++
			if (Date.now() > until) break
		}
	const empty = []
	for (let i = 0; i < 20000; i++) {
		const t = process.hrtime.bigint()
		empty.push(Number(process.hrtime.bigint() - t))
	}
	const by = (x, y) => x - y
	samples.sort(by)
	empty.sort(by)
	const at = (p) => Math.max(0, samples[Math.floor((samples.length - 1) * p)] - empty[0])
	const mean = samples.reduce((s, x) => s + x, 0) / samples.length - empty[0]
	console.log(name, count, loadMs.toFixed(3), at(0.5), at(0.95), at(0.99), mean.toFixed(1), wrong)
}

if (verb === 'make') make(Number(args[0]), args[1], args[2])
else await run(args[0], Number(args[1]), args[2], args[3])
