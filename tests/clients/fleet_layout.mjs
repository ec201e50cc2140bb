// fleet_layout.mjs — how the pages of a fleet's console lie on a screen (measure.mjs says what is looked at), with nothing, one, a day's work, hostile texts and ten thousand of
// everything; prints TAP.  Run by tests/fleet/front_layout.t, once for each STAGE.
import { browser, finish, ok, see, tab } from './place.mjs';
import { expected, judge, judgePlaces, look, write } from './measure.mjs';

const { FLEET_LINK, STAGE } = process.env, link = FLEET_LINK, origin = new URL(link).origin, errors = [];
const PAGES = ['now', 'waiting', 'machines', 'acts', 'freeze', 'log', 'evidence', 'key'];
const LEAST = { empty: 300, one: 400, day: 1500, hostile: 1500, many: 3000 }, entered = () => /^Now/.test(document.title);
const api = async (page, path) => page.evaluate(async (p) => { const { source } = await import('/console/_/app.js'); return source.get(p); }, path);

const context = await browser.newContext(), page = await tab(context, errors);
await see(page, link);
await page.waitForFunction(entered);
const acts = (await api(page, 'acts')).acts, machines = (await api(page, 'machines')).machines, asked = acts.find((x) => x.verdict === 'ESCALATE') || acts[0];
const addresses = [...PAGES.map((p) => [p, p]), ...(asked && STAGE !== 'many' ? [['act', 'act/' + encodeURIComponent(asked.id)]] : []), ...(machines.length ? [['machine', 'machine/' + machines[0].node]] : []), ['lost', 'nothing']];
const rows = { machines: machines.length, acts: (await api(page, 'me')).length };

if (STAGE === 'many') {
	// What a look at a page costs in scripting: what the profiler saw running, but waiting and what is the browser's own; the least of several.
	const cdp = await context.newCDPSession(page);
	await cdp.send('Profiler.enable');
	await cdp.send('Profiler.setSamplingInterval', { interval: 200 });
	const scripting = async (path) => {
		const times = [];
		for (let i = 0; i < 4; i++) {
			await cdp.send('Profiler.start');
			await see(page, origin + '/console/' + path, '#main > div h1');
			const { nodes, samples, timeDeltas } = (await cdp.send('Profiler.stop')).profile, other = new Set(nodes.filter((n) => /^\((idle|program|root)\)$/.test(n.callFrame.functionName)).map((n) => n.id));
			times.push(samples.reduce((sum, id, k) => sum + (other.has(id) ? 0 : timeDeltas[k]), 0) / 1000);
		}
		return Math.min(...times);
	};
	const nothing = await scripting('nothing'), slow = [], said = [];
	for (const p of PAGES) { const t = await scripting(p); said.push(`${p} ${t.toFixed(0)}`); if (t > nothing + 100) slow.push(`${p}: ${t.toFixed(0)} ms, an empty page ${nothing.toFixed(0)} ms`); }
	console.log(`# scripting in ms: an empty page ${nothing.toFixed(0)}, ${said.join(', ')}`);
	const waits = [];
	for (const p of ['now', 'machines', 'log', 'freeze', 'evidence', 'waiting']) waits.push(`${p} ` + await page.evaluate(async (x) => { const { source } = await import('/console/_/app.js'), from = performance.now(); await source.get(x); return Math.round(performance.now() - from); }, p));
	console.log(`# what the front end takes to answer, in ms: ${waits.join(', ')}`);
	ok('there are ten thousand of everything', rows.machines >= 10000 && rows.acts >= 10000, rows);
	ok('no page takes its scripts more than 100 ms longer than an empty one', slow.length === 0, ...slow);
	for (const p of ['machines', 'log', 'evidence']) {
		await see(page, origin + '/console/' + p);
		const before = await page.locator('main tbody tr').count(), more = page.locator('.more button').first();
		await more.click();
		await page.waitForFunction((n) => document.querySelectorAll('main tbody tr').length > n, before);
		ok(`a long list says that it is cut, and goes on: ${p}`, before < 1200 && (await page.locator('main tbody tr').count()) > before, before);
	}
	await see(page, origin + '/console/machines?q=host-7777');
	ok('one of ten thousand machines is found by its name', (await page.locator('main table').first().locator('tbody tr').count()) === 1 && /host-7777/.test(await page.textContent('main table')));
	await see(page, origin + '/console/now');
	ok('and those that are not right are counted', /10,0\d\d|10 0\d\d|100 000\+/.test(await page.textContent('.three')), await page.textContent('.three'));
}
if (STAGE === 'day') {
	// By the keyboard alone: from the top of each page its first act, form or row is reached, and what has the focus is seen.
	const bad = [];
	for (const p of PAGES) {
		await see(page, `${origin}/console/${p}`);
		await page.evaluate(() => document.activeElement.blur());
		const reached = new Set();
		for (let i = 0; i < 60; i++) {
			await page.keyboard.press('Tab');
			const at = await page.evaluate(() => { const n = document.activeElement, r = n.getBoundingClientRect(), s = getComputedStyle(n); return { inMain: Boolean(n.closest('main')), seen: r.width > 0 && r.height > 0, ring: s.outlineStyle !== 'none' || n.type === 'datetime-local', // whose parts the browser marks itself
				 name: n.tagName + ' ' + (n.textContent || n.name || '').slice(0, 20) }; });
			if (at.inMain) reached.add(at.name);
			if (at.inMain && (!at.seen || !at.ring)) bad.push(`${p}: ${at.name}`);
		}
		const has = await page.locator('main :is(a[href],button:not([disabled]),input,select,summary)').count();
		if (has && !reached.size) bad.push(`${p}: nothing of ${has} is reached`);
	}
	ok('the keyboard reaches what is there, and shows where it is', bad.length === 0, ...bad.slice(0, 8));
}
await context.close();

const isPlain = STAGE !== 'day', seen = await look({ link, origin, addresses, isPlain, entered, withAxe: STAGE !== 'many', wanted: expected('fleet'), shots: 'layout-' + STAGE }, errors);
judge('', seen, LEAST[STAGE], isPlain);
if (STAGE !== 'many') ok('axe finds nothing on any page', seen.wrong.axe.length === 0, ...seen.wrong.axe.slice(0, 12));
if (STAGE === 'day') {
	if (process.env.LAYOUT === 'write') write('fleet', seen.found);
	judgePlaces('', seen);
}
ok('nothing was thrown', errors.length === 0, ...errors.slice(0, 5));
await browser.close();
finish();
