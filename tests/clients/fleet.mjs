// fleet.mjs — drives the console of a fleet's front end in Chromium; prints TAP.  Run by tests/fleet/front_browser.t.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { HELM, SCRATCH, SHOTS, authenticator, axe, browser, finish, ok, see, tab, title, until } from './place.mjs';

const { FLEET_LINK, FLEET_DB, FLEET_SIGNER, FLEET_FRONT, FLEET_PORT } = process.env;
const link = FLEET_LINK, origin = new URL(link).origin, PAGES = ['now', 'waiting', 'machines', 'acts', 'freeze', 'log', 'evidence', 'key'];
const helm = (home, ...words) => spawnSync(HELM, words, { env: { PATH: process.env.PATH, HOME: path.join(SCRATCH, home), LC_ALL: 'C.UTF-8', HELM_FLEET_DATABASE: FLEET_DB, HELM_FLEET_SIGNER: FLEET_SIGNER, ASAN_OPTIONS: process.env.ASAN_OPTIONS || '' }, cwd: path.join(SCRATCH, home), encoding: 'utf8' });
const sync = (...names) => names.forEach((n) => helm('m/' + n, 'fleet', 'sync'));
// synced(NAME, FN): that machine asks for orders and sends what it has, until FN is so.
const synced = (name, isSo) => until(() => { sync(name); return isSo(); });
const chain = (name) => fs.readFileSync(path.join(SCRATCH, 'm', name, '.helm/workspace/.helm/receipts.jsonl'), 'utf8').trim().split('\n').map((l) => JSON.parse(l));
const errors = [], context = await browser.newContext(), page = await tab(context, errors);

/* ---- coming in ---- */

{
	const other = await tab(await browser.newContext(), errors);
	await see(other, origin + '/console/acts');
	ok('a stranger is asked for a key or a token, and sees nothing', (await title(other)) === 'Who is there?' && /reader.s token/.test(await other.textContent('main')), await other.textContent('main'));
	await other.click('summary');
	await other.fill('input[name=token]', 'hfr_acme.0000');
	await other.keyboard.press('Enter');
	await other.waitForFunction(() => document.querySelector('.enter [role=alert]').textContent);
	ok('a token that opens nothing says so', /opens nothing/.test(await other.textContent('.enter [role=alert]')), await other.textContent('main'));
	await other.fill('input[name=token]', new URLSearchParams(new URL(link).hash.slice(1)).get('enter'));
	await other.keyboard.press('Enter');
	await other.waitForSelector('main table');
	ok('one that does leads to the page that was wanted', (await title(other)) === 'Acts' && other.url().endsWith('/console/acts'), other.url());
	await other.context().close();
}
await see(page, link, 'main h1');
await page.waitForFunction(() => /^Now/.test(document.title));
ok('the link opens the first page, and is gone from the address', (await title(page)) === 'Now' && !page.url().includes('hfr_'), page.url());
ok('the key of the log is kept', await page.evaluate(() => /^ledger\.test\/acme\+/.test(localStorage.getItem('helm.log:ledger.test/acme'))));
ok('nothing in the page has the token', await page.evaluate((t) => !JSON.stringify({ ...localStorage, ...sessionStorage }).includes(t) && !document.cookie.includes('helm'), new URLSearchParams(new URL(link).hash.slice(1)).get('enter').split('.')[1]));
await page.waitForFunction(() => /live/.test(document.getElementById('live-text').textContent));
{
	const own = await page.evaluate(() => localStorage.getItem('helm.log:ledger.test/acme')), token = new URLSearchParams(new URL(link).hash.slice(1)).get('enter');
	for (const forged of [own.replace(/.$/, (x) => (x === 'A' ? 'B' : 'A')), own.replace('/acme', '/beta')]) {
		const other = await tab(context, errors);
		await see(other, `${origin}/console/log#enter=${token}&log=${forged}`);
		await other.close();
	}
	ok('a link changes no key that is kept, and brings none of another log', (await page.evaluate(() => JSON.stringify([localStorage.getItem('helm.log:ledger.test/acme'), localStorage.getItem('helm.log:ledger.test/beta')]))) === JSON.stringify([own, null]));
	await page.reload();
	await page.waitForFunction(() => /live/.test(document.getElementById('live-text').textContent));
}

/* ---- every page ---- */

{
	const bad = [], wide = [], faint = [];
	for (const width of [320, 768, 1280]) {
		await page.setViewportSize({ width, height: 900 });
		for (const name of PAGES) {
			await see(page, `${origin}/console/${name}`);
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			if (over > 0) wide.push(`${name} at ${width}: ${over}`);
			if (!(await title(page))) bad.push('no title: ' + name);
			for (const scheme of ['light', 'dark']) {
				await page.emulateMedia({ colorScheme: scheme });
				if (SHOTS) await page.screenshot({ path: `${SHOTS}/fleet-${name}-${width}-${scheme}.png`, fullPage: true });
				if (width === 768) continue;
				await page.evaluate(axe);
				const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
				for (const v of found.violations) bad.push(`${name} ${width} ${scheme}: ${v.id} ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')}`);
			}
			await page.emulateMedia({ colorScheme: 'light' });
		}
	}
	ok('axe finds nothing on any page, narrow and wide, in both schemes', bad.length === 0, ...bad.slice(0, 12));
	ok('no page is wider than the screen', wide.length === 0, ...wide);
}
await page.setViewportSize({ width: 1280, height: 900 });

/* ---- acts, hostile texts, proofs ---- */

await see(page, origin + '/console/acts');
{
	const text = await page.textContent('main');
	ok('acts of all machines, and of no other tenant', /rm -rf main/.test(text) && /rm -rf other/.test(text) && !/secret-of-beta/.test(text));
	ok('a hostile text is shown as text, what cannot be seen is spelled out', text.includes('<img src=x onerror=window.hurt=1>') && text.includes('\\u{202E}') && !text.includes('\u202e') && (await page.evaluate(() => window.hurt)) === undefined && (await page.locator('main img').count()) === 0, text.slice(0, 600));
	await page.fill('input[name=q]', 'rm -rf main');
	await page.keyboard.press('Enter');
	await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 1);
	ok('a search is an address', /q=rm(\+|%20)-rf(\+|%20)main/.test(page.url()), page.url());
	await page.click('main tbody a.caption');
	await page.waitForSelector('.proof.pass');
	ok('the proof is green, by this browser', (await page.locator('.checks .pass').count()) === 8 && /The proof holds/.test(await page.textContent('.proof-title')), await page.textContent('.proof'));
	if (SHOTS) await page.screenshot({ path: SHOTS + '/fleet-act-1280-light.png', fullPage: true });
	await page.evaluate(axe);
	ok('axe finds nothing there', (await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))).violations.length === 0);
	await page.click('.proof summary');
	const line = await page.inputValue('.proof textarea');
	for (const [name, from, to] of [['signature', /"signature":"(.)/, 'signature'], ['mark', '"verdict":"ESCALATE"', '"verdict":"ALLOW"']]) {
		await page.fill('.proof textarea', typeof from === 'string' ? line.replace(from, to) : line.replace(/"signature":"([0-9a-f])([^"]*)","signature_algorithm"/, (all, x, rest) => `"signature":"${x === '0' ? '1' : '0'}${rest}","signature_algorithm"`));
		await page.waitForSelector(`.proof.fail [data-check=${name}].fail`);
		ok(`a changed ${name} turns it red, and says where`, /The proof fails at/.test(await page.textContent('.proof-title')));
	}
	await page.fill('.proof textarea', line);
	await page.waitForSelector('.proof.pass');
	await page.click('.flip');
	await page.waitForSelector('.proof.fail');
	ok('one flipped bit turns it red', (await page.locator('.checks .fail').count()) > 0, await page.textContent('.proof-title'));
	const given = await page.evaluate(async () => {
		const { source, state } = await import('/console/_/app.js'), { verifyFleet } = await import('/console/_/proof_fleet.js'), { trustedLog } = await import('/console/_/api.js');
		const doc = await source.get('acts/' + location.pathname.split('/').pop()), whole = { ...doc.decision, keys: doc.keys }, key = trustedLog(state.me.log_origin);
		const failing = async (x, k = key) => (await verifyFleet(x, k)).filter((r) => r.state !== 'pass').map((r) => r.name + ':' + r.state).join(' ');
		// Every character of the receipt, by its lowest bit: what stays green would be a lie that nobody sees.
		const unseen = [];
		for (let i = 0; i < whole.receipt.length; i++) {
			const receipt = whole.receipt.slice(0, i) + String.fromCharCode(whole.receipt.charCodeAt(i) ^ 1) + whole.receipt.slice(i + 1);
			if (!(await verifyFleet({ ...whole, receipt }, key)).some((r) => r.state === 'fail')) unseen.push(whole.receipt.slice(Math.max(0, i - 30), i + 1));
		}
		const p = whole.proof, flip = (t, i) => t.slice(0, i) + (t[i] === '0' ? '1' : '0') + t.slice(i + 1);
		return {
			unseen,
			good: await failing(whole),
			path: await failing({ ...whole, proof: { ...p, audit_path: [flip(p.audit_path[0], 5), ...p.audit_path.slice(1)] } }),
			leaf: await failing({ ...whole, proof: { ...p, leaf_index: p.leaf_index + 1 } }),
			root: await failing({ ...whole, proof: { ...p, checkpoint: p.checkpoint.replace(/\n(.)(.*)=\n\n/, (a, x, rest) => `\n${x === 'A' ? 'B' : 'A'}${rest}=\n\n`) } }),
			size: await failing({ ...whole, proof: { ...p, checkpoint: p.checkpoint.replace(/\n(\d+)\n/, (a, n) => `\n${Number(n) + 1}\n`) } }),
			cosign: await failing({ ...whole, proof: { ...p, checkpoint: p.checkpoint.replace(/— (\S+) (\S{8})(\S)/, (a, n, b, x) => `— ${n} ${b}${x === 'A' ? 'B' : 'A'}`) } }),
			other: await failing(whole, key.replace('ledger.test/acme', 'ledger.test/beta')),
			nokey: await failing(whole, null),
			history: await failing({ ...whole, keys: whole.keys.map((l) => l.replace('"event":"created"', '"event":"rotated"')) }),
			nokeys: await failing({ ...whole, keys: [] }),
			before: await failing({ ...whole, previous: whole.previous && flip(whole.previous, whole.previous.indexOf('"signature":"') + 14) }),
		};
	});
	ok('whichever bit is flipped', given.unseen.length === 0, given.unseen.length, ...given.unseen.slice(0, 5));
	const want = { good: '', path: 'inclusion:fail', leaf: 'inclusion:fail', root: 'inclusion:fail checkpoint:fail', size: /checkpoint:fail/, cosign: 'checkpoint:fail', other: 'checkpoint:fail', nokey: 'checkpoint:unknown', history: 'history:fail', nokeys: 'history:fail', before: /^(link:fail)?$/ };
	const wrong = Object.entries(want).filter(([k, v]) => !(v instanceof RegExp ? v.test(given[k]) : given[k] === v));
	ok('each part of the proof that is changed is named', wrong.length === 0, wrong, given);
}
{
	const log = await (await see(page, origin + '/console/log'), page.textContent('main'));
	await page.click('button:has-text("Check the checkpoints here")');
	await page.waitForSelector('.alert.good');
	ok('the checkpoints hold against the key of the link', /All \d+ checkpoints are signed/.test(await page.textContent('.alert.good')) && /this key/.test(log));
}

/* ---- a key of a person ---- */

await see(page, origin + '/console/waiting');
await page.locator('.badge.good:has-text("text that was signed")').nth(1).waitFor();
ok('without a key questions are looked at, and the way to one is said', /Make one for this address/.test(await page.textContent('main')) && (await page.locator('button:has-text("Approve")').count()) === 0 && (await page.locator('.badge.good:has-text("text that was signed")').count()) >= 2, await page.textContent('main'));
const touch = await authenticator(page);
await page.click('a:has-text("Make one for this address")');
await page.waitForSelector('input[name=label]');
await page.fill('input[name=label]', 'boss');
await page.keyboard.press('Enter');
await page.waitForSelector('#approver');
const command = await page.textContent('#approver'), word = /boss=(helm-passkey:\S+)/.exec(command)[1];
const list = helm('offline', 'fleet', 'approvers', 'sign', 'boss=' + word, '--root-key', path.join(SCRATCH, 'offline/.helm/keys/root.key'), '--origin', 'ledger.test/acme');
fs.writeFileSync(path.join(SCRATCH, 'list.json'), list.stdout);
helm('centre', 'fleet', 'approvers', 'give', path.join(SCRATCH, 'list.json'), '--tenant', 'acme');
sync('anna', 'bert', 'carl', 'erik');
ok('the root key names the key that was made', list.status === 0 && JSON.parse(list.stdout).keys[0].passkey.rp_id === 'localhost', list.stderr);

/* ---- freezing ---- */

await page.goto(origin + '/console/freeze');
await page.waitForSelector('form.card');
const anna = await page.evaluate(async () => { const { source } = await import('/console/_/app.js'); const doc = await source.get('acts?q=' + encodeURIComponent('rm -rf main')); return doc.acts[0].node; });
await page.selectOption('select[name=node]', anna);
await page.fill('input[name=reason]', 'look <b>at</b> it');
await page.click('button.stop');
await page.waitForSelector('dialog[open]');
ok('the dialog shows what is signed', /look <b>at<\/b> it/.test(await page.textContent('dialog')) && /ledger\.test\/acme/.test(await page.textContent('dialog')));
if (SHOTS) await page.screenshot({ path: SHOTS + '/fleet-dialog-1280-light.png' });
await page.keyboard.press('Escape');
await page.waitForSelector('dialog', { state: 'hidden' });
ok('Escape leaves it, and nothing was ordered', !/Order/.test(await page.textContent('main h2')));
await page.click('button.stop');
await page.waitForSelector('dialog[open]');
await page.click('dialog button.stop');
await page.waitForSelector('text=0 of 1 confirmed');
ok('an order is given, and nobody has confirmed it yet', true);
sync('bert', 'carl');
await synced('anna', () => page.locator('text=1 of 1 confirmed').count());
const frozen = chain('anna').find((r) => r.effect_id === 'helm.freeze/set');
ok('the machine confirms it, and the page sees that by itself', frozen && frozen.metadata.order.approver.label === 'boss' && !chain('bert').some((r) => r.effect_id === 'helm.freeze/set'), frozen);
if (SHOTS) for (const scheme of ['light', 'dark']) { await page.emulateMedia({ colorScheme: scheme }); await page.screenshot({ path: `${SHOTS}/fleet-frozen-1280-${scheme}.png`, fullPage: true }); }
await page.emulateMedia({ colorScheme: 'light' });
await page.selectOption('select[name=node]', anna);
await page.fill('input[name=reason]', 'seen');
await page.click('button:has-text("Let go on")');
await page.waitForSelector('dialog[open]');
await page.click('dialog button.main');
await page.waitForFunction(() => /let go on/.test(document.querySelector('main .card h2').textContent));
ok('and lets it go on', await synced('anna', () => chain('anna').some((r) => r.effect_id === 'helm.freeze/lift')));

/* ---- answering ---- */

await see(page, origin + '/console/waiting');
const card = page.locator('article.question', { hasText: 'rm -rf main' });
await card.locator('button:has-text("Approve once")').click();
await page.waitForSelector('dialog[open]');
await page.click('dialog button.main');
await page.waitForSelector('article.question:has-text("rm -rf main") .alert:has-text("answers it")');
ok('an answer is an order, and the page says so', true);
await synced('anna', () => page.evaluate(() => ![...document.querySelectorAll('article.question')].some((x) => /rm -rf main/.test(x.textContent))));
ok('when the machine has confirmed it, it stands below', /approved/.test(await page.textContent('main table')) && chain('anna').some((r) => r.type === 'grant' && r.metadata.approver.label === 'boss'));
const other = page.locator('article.question', { hasText: 'rm -rf other' });
await other.locator('input[name=reason]').fill('no');
await other.locator('button:has-text("Deny")').click();
await page.waitForSelector('dialog[open]');
await touch.cdp.send('WebAuthn.setUserVerified', { authenticatorId: touch.authenticatorId, isUserVerified: false });
await page.click('dialog button.stop');
await page.waitForSelector('dialog .badge.bad');
ok('whom the device does not know denies nothing', !chain('bert').some((r) => r.type === 'denial'));
await touch.cdp.send('WebAuthn.setUserVerified', { authenticatorId: touch.authenticatorId, isUserVerified: true });
await page.click('dialog button.stop');
await page.waitForSelector('dialog', { state: 'hidden' });
ok('the person does', await synced('bert', () => chain('bert').some((r) => r.type === 'denial' && JSON.stringify(r).includes('"label":"boss"'))));

/* ---- what takes two people ---- */

const shared = () => page.locator('article.question', { hasText: 'what-takes-two' });
ok('a question that takes two shows two places', (await shared().locator('.places .open').count()) === 2 && /Nobody has said yes yet/.test(await shared().textContent()), await shared().textContent());
await shared().locator('button:has-text("Approve, as one of 2")').click();
await page.waitForSelector('dialog[open]');
ok('the dialog says that others have to join', /2 people, each with a key/.test(await page.textContent('dialog')) && /what-takes-two/.test(await page.textContent('dialog')));
await page.click('dialog button.main');
await page.waitForFunction(() => /has not confirmed order \d+ yet/.test(document.querySelector('main').textContent));
ok('who has said yes is shown, and that the machine has not counted it yet', (await shared().locator('.places .warn').textContent()).includes('boss') && (await shared().locator('.places .open').count()) === 1);
await synced('erik', () => page.locator('article.question .places .good').count());
ok('when the machine has counted it, the page sees that by itself', (await shared().locator('.places .good').textContent()).includes('boss') && /1 said yes, 1 missing/.test(await shared().textContent()) && !chain('erik').some((r) => r.type === 'grant'));
await shared().locator('button:has-text("Approve, as one of 2")').click();
await page.waitForSelector('dialog[open]');
await page.click('dialog button.main');
await page.waitForSelector('dialog .badge.bad');
ok('the same person does not count twice, and is told so', /boss has said yes already/.test(await page.textContent('dialog')), await page.textContent('dialog'));
await page.click('dialog button:has-text("Leave it")');

/* ---- what is taken ---- */

await see(page, origin + '/console/evidence');
{
	const [file] = await Promise.all([page.waitForEvent('download'), page.click('button:has-text("Make and download")')]);
	await page.waitForSelector('#taken tbody tr');
	const { createHash } = await import('node:crypto'), digest = createHash('sha256').update(fs.readFileSync(await file.path())).digest('hex');
	ok('a pack that was taken stands below at once, with who took it and the digest of the file', (await page.textContent('#taken tbody tr')).includes(digest) && /look/.test(await page.textContent('#taken tbody tr')), await page.textContent('#taken'));
}

/* ---- one machine, with the keyboard alone ---- */

await see(page, origin + '/console/machines');
for (let i = 0; i < 40 && !(await page.evaluate(() => /\/machine\//.test(document.activeElement.getAttribute('href') || ''))); i++) await page.keyboard.press('Tab');
await page.keyboard.press('Enter');
await page.waitForFunction(() => /^Machine /.test(document.querySelector('main h1')?.textContent || ''));
ok('the keyboard alone leads to one machine', /Chains/.test(await page.textContent('main')) && /Keys/.test(await page.textContent('main')));
if (SHOTS) for (const width of [320, 1280]) { await page.setViewportSize({ width, height: 900 }); await page.screenshot({ path: `${SHOTS}/fleet-machine-${width}-light.png`, fullPage: true }); }
await page.evaluate(axe);
ok('axe finds nothing there', (await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))).violations.length === 0);
await page.setViewportSize({ width: 1280, height: 900 });

/* ---- the front end goes away and comes back, another takes over: nothing is lost ---- */

await see(page, origin + '/console/now');
await page.waitForFunction(() => /live/.test(document.getElementById('live-text').textContent));
// Pages come and go, and take their listeners with them; this one stays.
await page.evaluate(async () => { const { state } = await import('/console/_/app.js'), all = state.listeners, keep = (type, data) => { if (type !== 'begin' && type !== 'checkpoint') window.seen.push(data.id); }; window.seen = []; all.add(keep); all.clear = () => { Set.prototype.clear.call(all); all.add(keep); }; });
const from = await page.evaluate(async () => { const { source } = await import('/console/_/app.js'); return (await source.get('me')).length; });
const pid = Number(fs.readFileSync(FLEET_FRONT, 'utf8'));
process.kill(pid, 'SIGTERM');
await page.waitForFunction(() => document.querySelector('.top').classList.contains('stalled'));
ok('while it is away the head says since when', /stalled since/.test(await page.textContent('#live-text')));
await page.click('nav a[data-page=acts]');
await page.waitForSelector('.alert.bad');
ok('and a page that cannot be read says so in words', /does not answer/.test(await page.textContent('.alert.bad')), await page.textContent('main'));
if (SHOTS) await page.screenshot({ path: SHOTS + '/fleet-away-1280-light.png' });
const again = spawn(HELM, ['serve', 'fleet', '--database', FLEET_DB, '--signer', FLEET_SIGNER, '--port', FLEET_PORT], { env: { PATH: process.env.PATH, HOME: path.join(SCRATCH, 'centre'), LC_ALL: 'C.UTF-8', ASAN_OPTIONS: process.env.ASAN_OPTIONS || '' }, stdio: ['ignore', 'pipe', 'inherit'] });
process.on('exit', () => again.kill('SIGKILL'));
await new Promise((go) => again.stdout.once('data', go));
const hook = (name, text) => spawnSync('python3', [process.env.SOURCE + '/tests/tools/agent.py', HELM, 'hook', 'pre-tool', '--client', 'claude-code'], { env: { PATH: process.env.PATH, HOME: path.join(SCRATCH, 'm', name), LC_ALL: 'C.UTF-8' }, cwd: path.join(SCRATCH, 'm', name), input: JSON.stringify({ tool_name: 'Bash', tool_input: { command: text }, session_id: 's', cwd: path.join(SCRATCH, 'm', name) }) });
hook('bert', 'rm -rf /etc/again');
await synced('bert', () => page.evaluate(() => /live/.test(document.getElementById('live-text').textContent)));
await page.waitForSelector('main table');
ok('when it is back the page shows itself', (await title(page)) === 'Acts');
// What was in the log before the listener was there may be heard late; from then on each entry once, in its order.
let seen, size;
await synced('bert', async () => {
	[seen, size] = await page.evaluate(async () => { const { source } = await import('/console/_/app.js'), now = (await source.get('me')).length; return [window.seen, now]; });
	seen = seen.filter((id) => Number(id.replace('leaf-', '')) >= from);
	return size > from && seen.length >= size - from;
});
ok('the session goes on with another process, and the stream behind the last event: nothing lost, nothing twice', JSON.stringify(seen) === JSON.stringify(Array.from({ length: size - from }, (_, i) => 'leaf-' + (from + i))), seen, from, size);

/* ---- the end of it ---- */

helm('centre', 'fleet', 'reader', 'revoke', 'look', '--tenant', 'acme');
await page.waitForSelector('.enter input[name=token]', { state: 'attached' });
ok('a reader who was revoked is outside, without asking', /session is over/.test(await page.textContent('main')), await page.textContent('main'));
ok('nothing was thrown', errors.length === 0, ...errors.slice(0, 5));
await context.close();
await browser.close();
again.kill('SIGTERM');
finish();
