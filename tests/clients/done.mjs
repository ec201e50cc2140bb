// done.mjs — what a team sees on the first day: Helm installed from its packages on a Debian where nothing else is, an agent's hour, a question, a key, a proof; prints TAP.
// Run by tools/package_try.sh; HELM is the installed program in that root, as a person there.  Chromium and what drives it are of this machine.
import { spawn, spawnSync } from 'node:child_process';
import { HELM, SHOTS, SOURCE, authenticator, axe, browser, finish, ok, see, tab, title } from './place.mjs';

const PROJECT = '/home/person/project';
const helm = (...words) => spawnSync(HELM, words, { encoding: 'utf8' });
const call = (command, session = 's-1') => {
	const said = spawnSync('python3', [SOURCE + '/tests/tools/agent.py', HELM, 'hook', 'pre-tool', '--client', 'claude-code'], { input: JSON.stringify({ tool_name: 'Bash', tool_input: { command }, session_id: session, cwd: PROJECT, tool_use_id: 'u' + Math.random() }), encoding: 'utf8' });
	return (/"permissionDecision":"(\w+)"/.exec(said.stdout) || [, 'allow'])[1];
};

ok('the program is the installed one', helm('version', '--json').status === 0 && JSON.parse(helm('version', '--json').stdout).libraries !== undefined, helm('version', '--json'));
// A person's terminal is there before what it watches.
const server = spawn('python3', ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', HELM, 'open', '--print'], { stdio: ['ignore', 'pipe', 'inherit'] });
process.on('exit', () => server.kill('SIGKILL'));
let text = '';
const link = await new Promise((go, no) => { server.stdout.on('data', (d) => { text += d; const found = /http:\/\/localhost:\d+\/console\/#\S+/.exec(text.replace(/\r/g, '')); if (found) go(found[0]); }); server.on('exit', () => no(new Error('helm open ended: ' + text))); });
for (const c of ['ls -la', 'git status', 'cat README', 'grep -rn TODO .', 'make test', 'git log --oneline']) call(c);
ok('an agent is stopped where it should be', call('rm -rf /') === 'deny' && call('rm -rf cache') !== 'allow');

const origin = new URL(link).origin, errors = [], context = await browser.newContext(), page = await tab(context, errors);
await authenticator(page);
await see(page, link);
ok('helm open shows the hour: what was stopped, what waits', (await title(page)) === 'Now' && (await page.textContent('.number')).startsWith('2') && /rm -rf cache/.test(await page.textContent('main')), await page.textContent('main'));
if (SHOTS) await page.screenshot({ path: SHOTS + '/done-now.png' });
await see(page, origin + '/console/acts');
const acts = await page.textContent('main tbody');
ok('and every act of it', ['ls -la', 'git status', 'make test', 'rm -rf /', 'rm -rf cache'].every((x) => acts.includes(x)), acts);

await page.click('button:has-text("Register a key")');
await page.waitForSelector('#who .badge.good');
ok('the person at the terminal registers a key', true);
await see(page, origin + '/console/waiting');
await page.click('button:has-text("Approve once")');
await page.waitForSelector('dialog[open]');
await page.click('dialog button.main');
await page.waitForSelector('dialog', { state: 'hidden' });
await page.waitForFunction(() => document.querySelectorAll('article.question').length === 0);
ok('the question is answered with it, and the call let through', call('rm -rf cache') === 'allow');
await see(page, origin + '/console/acts?kind=grant');
await page.click('main tbody a.caption');
await page.waitForSelector('.proof.pass');
ok('the proof of its receipt is green in the browser', (await page.locator('.checks .pass').count()) >= 7, await page.textContent('.proof'));
if (SHOTS) await page.screenshot({ path: SHOTS + '/done-green.png', fullPage: true });
await page.click('.proof summary');
await page.click('.flip');
await page.waitForSelector('.proof.fail');
const red = await page.textContent('.proof-title'), failing = await page.locator('.checks .fail b').allTextContents();
ok('one flipped bit turns it red, and says which check failed', /^The proof fails at: /.test(red) && failing.length > 0 && failing.every((x) => red.toLowerCase().includes(x.toLowerCase())), red, failing);
if (SHOTS) await page.screenshot({ path: SHOTS + '/done-red.png', fullPage: true });
await page.goto(origin + '/docs/');
ok('the documents are there', /Helm/.test(await page.title()) && (await page.locator('a').count()) > 10, await page.title());
await see(page, origin + '/console/now');
await page.evaluate(axe);
ok('axe finds nothing', (await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))).violations.length === 0);
ok('nothing was thrown', errors.length === 0, ...errors.slice(0, 5));
await browser.close();
server.kill('SIGTERM');
finish();
