// login.mjs — people come in at a fleet's front end with a passkey, in Chromium with an authenticator of its own; prints TAP.  Run by tests/fleet/login_browser.t.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { HELM, SCRATCH, SHOTS, authenticator, axe, browser, finish, ok, request, see, tab, title } from './place.mjs';

const { FLEET_ORIGIN: origin, FLEET_OTHER: second, FLEET_DB, FLEET_SIGNER } = process.env;
const home = path.join(SCRATCH, 'centre'), centre = (...words) => spawnSync(HELM, ['fleet', ...words, '--tenant', 'acme'], { env: { PATH: process.env.PATH, HOME: home, LC_ALL: 'C.UTF-8', HELM_FLEET_DATABASE: FLEET_DB, HELM_FLEET_SIGNER: FLEET_SIGNER, ASAN_OPTIONS: process.env.ASAN_OPTIONS || '' }, cwd: home, encoding: 'utf8' });
const invite = (name, at, ...more) => centre('reader', 'invite', name, '--link', at, ...more).stdout.split('\n')[0];
const errors = [], isIn = (p) => p.waitForFunction(() => /^Now/.test(document.title) && /live/.test(document.getElementById('live-text').textContent));
const said = (p) => p.waitForFunction(() => (document.querySelector('.enter [role=alert]') || {}).textContent).then(() => p.textContent('.enter [role=alert]'));
const clean = async (p, what) => { await p.evaluate(axe); const found = await p.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] })); ok('axe finds nothing ' + what, found.violations.length === 0, JSON.stringify(found.violations.map((v) => [v.id, v.nodes.map((n) => n.target)]))); };

/* ---- a key by a link, and with the key from then on ---- */

for (const kind of ['ed25519', 'es256']) {
	const name = 'tom-' + kind, context = await browser.newContext(), page = await tab(context, errors), device = await authenticator(page);
	// What the device offers first is what it makes: ES256 alone when that is all the page asks for.
	if (kind === 'es256') await page.addInitScript(() => { const make = navigator.credentials.create.bind(navigator.credentials); navigator.credentials.create = (o) => { o.publicKey.pubKeyCredParams = [{ type: 'public-key', alg: -7 }]; return make(o); }; });
	const link = invite(name, origin);
	await see(page, link);
	ok(`${kind}: the link asks for a key, and is gone from the address`, (await title(page)) === 'Register your key' && !page.url().includes('hfi_'), page.url());
	if (kind === 'ed25519') await clean(page, 'where a key is registered');
	await page.click('text=Make a key');
	await isIn(page);
	ok(`${kind}: it is made, and its person is in`, (await page.textContent('#who')).includes('key of ' + name), await page.textContent('#who'));
	const made = await device.cdp.send('WebAuthn.getCredentials', { authenticatorId: device.authenticatorId });
	ok(`${kind}: the device keeps it, with its owner`, made.credentials.length === 1 && made.credentials[0].isResidentCredential && Buffer.from(made.credentials[0].userHandle, 'base64').length === 16);
	ok(`${kind}: and it is one of that kind`, Buffer.from(made.credentials[0].privateKey, 'base64').length > 100 === (kind === 'es256'));
	ok(`${kind}: the key of the log came with the link`, await page.evaluate(() => /^ledger\.test\/acme\+/.test(localStorage.getItem('helm.log:ledger.test/acme'))));
	ok(`${kind}: no script reads the cookie`, await page.evaluate(() => !document.cookie.includes('helm')));
	const cookie = (await context.cookies(origin)).find((c) => c.name === '__Host-helm');
	ok(`${kind}: which is strict, secure, and lasts eight hours`, cookie.httpOnly && cookie.secure && cookie.sameSite === 'Strict' && Math.abs(cookie.expires - Date.now() / 1000 - 8 * 3600) < 120, JSON.stringify(cookie));
	await page.click('text=Leave');
	await page.waitForSelector('.enter h1');
	ok(`${kind}: who leaves is asked for the key`, (await title(page)) === 'Who is there?');
	if (kind === 'ed25519') await clean(page, 'at the door');
	if (SHOTS && kind === 'ed25519') await page.screenshot({ path: SHOTS + '/fleet-door.png' });
	await page.click('text=Use your key');
	await isIn(page);
	ok(`${kind}: and comes in with it`, (await page.textContent('#who')).includes('key of ' + name));
	await page.click('text=Leave');
	await page.waitForSelector('.enter h1');
	await page.evaluate(() => localStorage.setItem('helm.own', JSON.stringify({ id: 'AAAA', handle: '' })));
	await page.click('text=Use your key');
	ok(`${kind}: a key that is remembered and gone is not there`, /nothing was signed/.test(await said(page)));
	await page.click('text=Use your key');
	await isIn(page);
	ok(`${kind}: then the device offers what it has`, (await page.textContent('#who')).includes('key of ' + name));
	const later = await tab(await browser.newContext(), errors);
	await authenticator(later);
	await see(later, link);
	await later.click('text=Make a key');
	ok(`${kind}: the link has worked once`, /was used/.test(await said(later)), await later.textContent('main'));
	await later.context().close();
	await context.close();
}

/* ---- a device that does not ask who is there; a stranger's ---- */

{
	const context = await browser.newContext(), page = await tab(context, errors), device = await authenticator(page, { isUserVerified: false });
	await see(page, invite('una', origin));
	await page.click('text=Make a key');
	ok('a device that cannot say who is there makes no key', /nothing was signed|who is there|verif/i.test(await said(page)), await page.textContent('main'));
	await device.cdp.send('WebAuthn.setUserVerified', { authenticatorId: device.authenticatorId, isUserVerified: true });
	await see(page, origin + '/console/');
	await page.click('text=Use your key');
	ok('a stranger is told that nothing was signed', /nothing was signed/.test(await said(page)));
	await context.close();
}

/* ---- two front ends, one session; removed while the page is open ---- */

{
	const context = await browser.newContext(), page = await tab(context, errors);
	await authenticator(page);
	await see(page, invite('two', origin));
	await page.click('text=Make a key');
	await isIn(page);
	const st = await page.evaluate(async () => (await fetch('/api/v1/console/me', { headers: { 'X-Helm': '1', 'X-Helm-Page': localStorage.getItem('helm.page') } })).status);
	const cookie = (await context.cookies(origin)).find((c) => c.name === '__Host-helm'), word = await page.evaluate(() => localStorage.getItem('helm.page'));
	const port = new URL(second).port, there = (await request(port, { path: '/api/v1/console/me', headers: { Host: 'localhost:' + port, Cookie: '__Host-helm=' + cookie.value, 'X-Helm-Page': word, 'Sec-Fetch-Site': 'same-origin' } })).status;
	ok('a session of one front end is one at the other', st === 200 && there === 200, st, there);
	centre('reader', 'revoke', 'two');
	await page.waitForSelector('.enter h1');
	ok('who is removed is out while the page is open', /over/.test(await page.textContent('main')), await page.textContent('main'));
	await page.click('text=Use your key');
	ok('and stays out', /opens nothing here/.test(await said(page)), await page.textContent('main'));
	await context.close();
}

/* ---- an engineer ---- */

{
	const context = await browser.newContext(), page = await tab(context, errors);
	await authenticator(page);
	await see(page, invite('ann', origin, '--machines', 'host-of-anna'));
	await page.click('text=Make a key');
	await isIn(page);
	const nav = await page.textContent('#nav');
	ok('an engineer has no page about all machines', /Now/.test(nav) && /Acts/.test(nav) && !/Freeze|Log|Evidence/.test(nav), nav);
	for (const name of ['now', 'waiting', 'machines', 'acts']) {
		await see(page, `${origin}/console/${name}`, 'main h1');
		const text = await page.textContent('main');
		ok(`${name}: their own, and nothing of another's`, /anna/.test(text) && !/bert/.test(text), text.slice(0, 600));
		await clean(page, 'on ' + name);
		for (const width of [320, 1280]) { await page.setViewportSize({ width, height: 900 }); ok(`${name} is not wider than ${width}`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)); }
	}
	ok('machines are called theirs', /Your machines/.test((await see(page, origin + '/console/machines', 'main h1'), await page.textContent('main'))));
	ok('and nothing there leads to a freeze', (await page.locator('main a[href*=freeze]').count()) === 0);
	await page.click('main tbody a');
	await page.waitForFunction(() => /host-of-anna/.test(document.querySelector('h1').textContent));
	ok('nor on the machine', (await page.locator('main a[href*=freeze]').count()) === 0);
	for (const name of ['freeze', 'log']) {
		await see(page, `${origin}/console/${name}`, 'main h1');
		ok(`${name}: by its address it says why not`, /about all machines of the fleet/.test(await page.textContent('main')), await page.textContent('main'));
	}
	await see(page, origin + '/console/acts', 'main h1');
	await page.click('main tbody a.caption');
	await page.waitForSelector('.proof.pass');
	await page.waitForFunction(() => document.querySelectorAll('.checks .pass').length >= 8).catch(() => null);
	const green = await page.locator('.checks .pass').count(), red = await page.locator('.checks .fail').count();
	ok('the proof of their own act is green', green >= 8 && red === 0, `${green} pass, ${red} fail`);
	centre('reader', 'set', 'ann', '--machines', 'all');
	await page.waitForSelector('.enter h1');
	await page.click('text=Use your key');
	await page.waitForSelector('#nav a[data-page=log]');
	ok('another role comes with the next session', /Freeze/.test(await page.textContent('#nav')));
	await context.close();
}
ok('nothing was said to be wrong in any page', errors.filter((x) => !/40[13]|Failed to load resource/.test(x)).length === 0, ...errors);
await finish();
