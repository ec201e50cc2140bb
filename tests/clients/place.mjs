// place.mjs — for tests that drive the console in Chromium: TAP, a place to look at, a browser.  The environment says where everything is.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';

export const { BROWSER, SANDBOX, MODULES, HELM, SOURCE, SCRATCH, SHOTS } = process.env;
const need = createRequire(path.join(MODULES, 'x.js'));
const { chromium } = need('playwright-core');
export const axe = fs.readFileSync(need.resolve('axe-core/axe.min.js'), 'utf8');

let count = 0, failures = 0;
export function ok(what, isSo, ...more) {
	count++;
	if (!isSo) failures++;
	console.log(`${isSo ? 'ok' : 'not ok'} ${count} - ${what}`);
	if (!isSo) for (const m of more) console.log('#', String(typeof m === 'string' ? m : JSON.stringify(m)).slice(0, 1500));
	return isSo;
}
export function finish() {
	console.log('1..' + count);
	process.exit(failures ? 1 : 0);
}

/* ---- a place to look at ---- */

export class Place {
	constructor(name, isMade) {
		this.home = path.join(SCRATCH, name);
		this.env = { PATH: process.env.PATH, HOME: this.home, LC_ALL: 'C.UTF-8', ASAN_OPTIONS: process.env.ASAN_OPTIONS || '', TERMINALS: process.env.TERMINALS };
		if (!isMade) { fs.mkdirSync(this.home); this.helm('init'); }
		this.state = path.join(this.home, '.helm/workspace/.helm');
		this.project = path.join(SCRATCH, 'project');
		this.calls = 0;
	}
	helm(...words) { return spawnSync(HELM, words, { env: this.env, cwd: this.project || SCRATCH, encoding: 'utf8' }); }
	person(...words) { return spawnSync('python3', [SOURCE + '/tests/tools/terminal.py', '--', HELM, ...words], { env: { ...this.env, TERM: 'dumb' }, cwd: this.project, encoding: 'utf8' }).stdout.replace(/\r/g, ''); }
	call(command, session = 's-1', tool = 'Bash', more = {}) {
		const input = JSON.stringify({ tool_name: tool, tool_input: { command }, session_id: session, cwd: this.project, tool_use_id: 'u' + ++this.calls, ...more });
		const said = spawnSync('python3', [SOURCE + '/tests/tools/agent.py', HELM, 'hook', 'pre-tool', '--client', 'claude-code'], { env: this.env, cwd: this.project, input, encoding: 'utf8' });
		return (/"permissionDecision":"(\w+)"/.exec(said.stdout) || [, 'allow'])[1];
	}
	receipts() { return fs.readFileSync(path.join(this.state, 'receipts.jsonl'), 'utf8').trim().split('\n').map((l) => JSON.parse(l)); }
	// Calls that only read are rows without receipts: so many are made at once.
	fill(n) {
		const out = [], from = Date.now() - n * 1000;
		for (let i = 0; i < n; i++)
			out.push(JSON.stringify({ at: new Date(from + i * 1000).toISOString().replace('Z', '000+00:00'), client: 'claude-code', cwd: this.project, decision_id: null, guard_action: 'allow', input_sha256: 'sha256:' + '0'.repeat(64), preview: `ls -la directory-${i}`, rule: null, session: 's-' + (i % 40), tool: 'Bash', tool_use_id: 'f' + i, verdict: 'ALLOW' }));
		fs.appendFileSync(path.join(this.state, 'tool-calls.jsonl'), out.join('\n') + '\n', { mode: 0o600 });
	}
	// A day of work, through every door (tests/tools/day.py).
	day(isHostile) {
		const said = spawnSync('python3', [SOURCE + '/tests/tools/day.py'], { env: { ...this.env, HOSTILE: isHostile ? '1' : '', TEST_HOME: this.home, HELM_BUILD: path.dirname(HELM), HELM_SOURCE: SOURCE }, cwd: this.project, encoding: 'utf8' });
		if (said.status) throw new Error('day.py: ' + said.stderr.slice(-500));
	}
	async open() {
		this.server = spawn(HELM, ['open', '--json'], { env: this.env, cwd: this.project, stdio: ['ignore', 'pipe', 'inherit'] });
		let text = '';
		const doc = await new Promise((go, no) => { this.server.stdout.on('data', (d) => { text += d; try { go(JSON.parse(text)); } catch { /* more comes */ } }); this.server.on('exit', () => no(new Error('helm open ended'))); });
		const server = this.server;
		process.on('exit', () => server.kill('SIGKILL'));
		this.link = doc.url;
		this.origin = new URL(doc.url).origin;
		return doc;
	}
	// The server itself is a child of the command.
	hold(signal) { process.kill(Number(fs.readFileSync(`/proc/${this.server.pid}/task/${this.server.pid}/children`, 'utf8').trim()), signal); }
	async close() {
		const ended = new Promise((go) => this.server.on('exit', go));
		this.server.kill('SIGINT');
		return ended;
	}
}

export function request(port, options, body) {
	return new Promise((go, no) => {
		const q = http.request({ host: '127.0.0.1', port, ...options }, (r) => { let t = ''; r.on('data', (d) => (t += d)); r.on('end', () => go({ status: r.statusCode, headers: r.headers, text: t })); });
		q.on('error', no);
		if (body) q.write(body);
		q.end();
	});
}

process.on('uncaughtException', (e) => { console.log('not ok - ' + e.message.split('\n')[0]); console.log('# ' + (e.stack || '').split('\n').slice(1, 4).join(' ')); process.exit(1); });
process.on('unhandledRejection', (e) => { throw e; });
export const browser = await chromium.launch({ executablePath: BROWSER, args: SANDBOX ? [SANDBOX] : [] });
export const PAGES = ['now', 'waiting', 'acts', 'sessions', 'freeze', 'log', 'evidence', 'policy', 'mcp', 'spend', 'memory'];
const PATIENCE = 120000;
// until(FN): FN is asked again and again until it says yes; whether it ever did.
export async function until(isSo) {
	for (const end = Date.now() + PATIENCE; ; await new Promise((go) => setTimeout(go, 100))) {
		if (await isSo()) return true;
		if (Date.now() > end) return false;
	}
}
export async function tab(context, errors) {
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE); // nothing is waited for longer than it takes; this is for a machine that has much else to do
	page.on('pageerror', (e) => errors.push('pageerror: ' + e.message));
	page.on('console', (m) => { if (m.type() === 'error' && !/status of (401|403|404|409|422)|net::ERR|TrustedScript/.test(m.text())) errors.push('console: ' + m.text()); });
	return page;
}
export const see = async (page, url, what = 'main h1') => { await page.goto(url); await page.waitForSelector(what); await page.waitForTimeout(80); };
export const title = (page) => page.textContent('main h1');

export async function authenticator(on, options) {
	const cdp = await on.context().newCDPSession(on);
	await cdp.send('WebAuthn.enable');
	const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true, ...options } });
	return { cdp, authenticatorId };
}
