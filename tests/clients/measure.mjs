// measure.mjs — how pages lie on a screen, at three widths and in both schemes; for layout.mjs and fleet_layout.mjs.
//
// Pictures of a browser differ with its fonts; what is compared are facts.  The boxes of the landmarks and the parts of each page, in their order, against
// tests/cases/console-layout.json; nothing wider than the screen, nothing cut, nothing over anything else, nothing too small to touch; the contrast of every
// text by its colours; and what is seen in a box against what is seen there in the other scheme.  With LAYOUT=write the expectations are written anew.
import fs from 'node:fs';
import { SHOTS, SOURCE, axe, browser, ok, see, tab } from './place.mjs';

const FILE = SOURCE + '/tests/cases/console-layout.json', WIDTHS = [320, 768, 1280], SCHEMES = ['light', 'dark'];
const LANDMARKS = { top: '.top', find: '.find', side: '.side', main: '#main', title: '#main h1' };

// What is measured inside the page.
function measured(landmarks) {
	const box = (n) => { const r = n.getBoundingClientRect(); return { x: r.x, y: r.y + scrollY, w: r.width, h: r.height }; };
	const isSeen = (n) => n.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !n.closest('.hidden,.skip,noscript') && !(n.closest('thead') && getComputedStyle(n.closest('thead')).clipPath !== 'none') && !n.closest('details:not([open]) > :not(summary)');
	const name = (n) => n.tagName.toLowerCase() + (n.id ? '#' + n.id : '') + (n.classList.length ? '.' + [...n.classList].join('.') : '') + ' ' + JSON.stringify((n.textContent || '').trim().slice(0, 30));
	const out = { boxes: {}, parts: [], wide: document.documentElement.scrollWidth - innerWidth, cut: [], over: [], small: [], faint: [], texts: 0 };
	for (const [key, selector] of Object.entries(landmarks)) out.boxes[key] = box(document.querySelector(selector));
	// A box may scroll only where it is meant to: the row of pages, a picture, a long text in a dialog.
	const scrolls = (n) => n.closest('.side,.picture,textarea,dialog .block,select,option');
	const all = [...document.querySelectorAll('body *')].filter((n) => isSeen(n) && !n.closest('svg'));
	for (const n of all) {
		if (scrolls(n)) continue;
		const r = n.getBoundingClientRect(), style = getComputedStyle(n);
		if (r.width && (r.right > innerWidth + 1 || r.left < -1)) out.cut.push('leaves the screen: ' + name(n));
		if (style.overflowX !== 'visible' && n.scrollWidth > n.clientWidth + 1 && n.tagName !== 'INPUT') out.cut.push('is cut: ' + name(n));
		if (n.tagName === 'INPUT' && n.placeholder) { const c = document.createElement('canvas').getContext('2d'); c.font = style.font; if (c.measureText(n.placeholder).width > n.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 2) out.cut.push('placeholder is cut: ' + name(n) + n.placeholder); }
		if (n.matches('button,select,input,summary,a.button,.side a') && (r.height < 24 || r.width < 24)) out.small.push(`${Math.round(r.width)}x${Math.round(r.height)} ${name(n)}`);
	}
	// Neighbours do not lie over each other.
	const solid = all.filter((n) => n.matches('.card,.number,button,input,select,textarea,.badge,td,dt,dd,h1,h2,h3,.lead,.alert,summary,.facts,.three,.block'));
	for (const [i, a] of solid.entries())
		for (const b of solid.slice(i + 1, i + 60)) {
			if (a.contains(b) || b.contains(a) || scrolls(a) || scrolls(b) || a.closest('.top') !== b.closest('.top')) continue;
			const p = a.getBoundingClientRect(), q = b.getBoundingClientRect(), w = Math.min(p.right, q.right) - Math.max(p.left, q.left), h = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
			if (w > 2 && h > 2) out.over.push(name(a) + ' / ' + name(b));
		}
	const rgb = (text) => { const m = text.match(/[\d.]+/g).map(Number); return { c: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
	const light = ([r, g, b]) => { const f = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
	const ground = (n) => { for (; n; n = n.parentElement) { const x = rgb(getComputedStyle(n).backgroundColor); if (x.a === 1) return x.c; } return [255, 255, 255]; };
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let t; (t = walk.nextNode());) {
		const n = t.parentElement;
		if (!t.data.trim() || !isSeen(n) || n.closest('svg,option,:disabled')) continue;
		out.texts++;
		const x = light(rgb(getComputedStyle(n).color).c), y = light(ground(n)), ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
		if (ratio < 4.5) out.faint.push(`${ratio.toFixed(2)} ${name(n)}`);
	}
	// The parts of the page, in their order; a row of likes counts once.
	const parts = [...document.querySelector('#main > div').children].filter(isSeen).map((n) => n.tagName.toLowerCase() + (n.classList.length ? '.' + n.classList[0] : ''));
	out.parts = parts.filter((p, i) => p !== parts[i - 1]);
	return out;
}

// Where something is seen: how far each field of a grid over the picture is from the colour most of it has.
const blank = await (await browser.newContext()).newPage();
await blank.goto('about:blank');
const marks = (png, boxes) => blank.evaluate(async ([data, list]) => {
	const image = new Image();
	image.src = 'data:image/png;base64,' + data;
	await image.decode();
	const canvas = document.createElement('canvas'), c = canvas.getContext('2d', { willReadFrequently: true });
	canvas.width = image.width; canvas.height = image.height;
	c.drawImage(image, 0, 0);
	return list.map(({ x, y, w, h }) => {
		w = Math.min(w, image.width - x); h = Math.min(h, image.height - y);
		if (w < 8 || h < 8) return null;
		const { data: d, width, height } = c.getImageData(x, y, w, h), n = 24, sum = new Float64Array(n * n), count = new Float64Array(n * n), levels = new Map();
		const level = (i) => 0.2126 * d[i] + 0.7152 * d[i + 1] + 0.0722 * d[i + 2];
		for (let i = 0; i < d.length; i += 4) { const k = Math.round(level(i) / 4); levels.set(k, (levels.get(k) || 0) + 1); }
		const most = [...levels].sort((a, b) => b[1] - a[1])[0][0] * 4;
		for (let v = 0; v < height; v++) for (let u = 0; u < width; u++) { const k = Math.floor((v * n) / height) * n + Math.floor((u * n) / width); sum[k] += Math.min(1, Math.abs(level((v * width + u) * 4) - most) / 60); count[k]++; }
		return [...sum].map((s, k) => s / Math.max(1, count[k]));
	});
}, [png.toString('base64'), boxes]);
function alike(a, b) {
	if (!a || !b) return 1;
	const n = a.length, ma = a.reduce((x, y) => x + y) / n, mb = b.reduce((x, y) => x + y) / n;
	let ab = 0, aa = 0, bb = 0;
	for (let i = 0; i < n; i++) { ab += (a[i] - ma) * (b[i] - mb); aa += (a[i] - ma) ** 2; bb += (b[i] - mb) ** 2; }
	return aa < 1e-6 && bb < 1e-6 ? 1 : ab / Math.sqrt(aa * bb || 1e-9);
}

// Positions and widths say how a page is laid out; how high a text is says which fonts are there.
const near = (got, want) => ['x', 'w'].every((k) => Math.abs(got[k] - want[k]) <= 6) && Math.abs(got.y - want.y) <= 24;
const round = (b) => Object.fromEntries(Object.entries(b).map(([k, v]) => [k, Math.round(v)]));

// how: {link, origin, addresses: [[name, path]], wanted, isPlain: the schemes differ in nothing, and the parts are not compared; withAxe; shots}
export async function look(how, errors) {
	const { wanted, isPlain, addresses } = how;
	const context = await browser.newContext({ deviceScaleFactor: 1, reducedMotion: 'reduce' }), page = await tab(context, errors);
	await see(page, how.link);
	if (how.entered) await page.waitForFunction(how.entered);
	const found = { boxes: {}, parts: {} }, wrong = { wide: [], cut: [], over: [], small: [], faint: [], moved: [], parts: [], schemes: [], hurt: [], axe: [] };
	let texts = 0;
	for (const width of WIDTHS) {
		await page.setViewportSize({ width, height: 900 });
		for (const [name, path] of addresses) {
			const seen = {}, at = `${name} at ${width}`;
			await see(page, `${how.origin}/console/${path}`, '#main > div h1');
			if (name === 'act') await page.waitForSelector('.proof.pass');
			for (const scheme of isPlain ? ['light'] : SCHEMES) { // where nothing has a colour of its own, one is enough
				await page.emulateMedia({ colorScheme: scheme });
				const m = await page.evaluate(measured, LANDMARKS);
				texts += m.texts;
				if (m.wide > 0) wrong.wide.push(`${at} ${scheme}: ${m.wide}`);
				for (const k of ['cut', 'over', 'small', 'faint']) wrong[k].push(...m[k].slice(0, 5).map((x) => `${at} ${scheme}: ${x}`));
				seen[scheme] = { m, png: isPlain ? null : await page.screenshot() };
				if (SHOTS && how.shots) await page.screenshot({ path: `${SHOTS}/${how.shots}-${name}-${width}-${scheme}.png`, fullPage: true });
				if (!how.withAxe || width === 768) continue;
				await page.evaluate(axe);
				const seenBy = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
				for (const v of seenBy.violations) wrong.axe.push(`${at} ${scheme}: ${v.id} ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')}`);
			}
			const { light, dark = light } = seen;
			for (const key of Object.keys(LANDMARKS)) if (JSON.stringify(round(light.m.boxes[key])) !== JSON.stringify(round(dark.m.boxes[key]))) wrong.schemes.push(`${at}: ${key} lies elsewhere in the dark`);
			if (await page.evaluate(() => window.hurt !== undefined || document.querySelector('main img, main script') !== null)) wrong.hurt.push(at);
			if (isPlain) continue;
			const boxes = [light.m.boxes.top, light.m.boxes.side, { ...light.m.boxes.main, h: 900 - light.m.boxes.main.y }].map((b) => ({ ...b, y: Math.max(0, b.y) }));
			const [a, b] = [await marks(light.png, boxes), await marks(dark.png, boxes)];
			a.forEach((x, i) => { const r = alike(x, b[i]); if (r < 0.8) wrong.schemes.push(`${at}: ${['top', 'side', 'main'][i]} is seen otherwise in the dark, ${r.toFixed(2)}`); });
			found.parts[name] = light.m.parts;
			for (const [key, b_] of Object.entries(light.m.boxes)) {
				const want = (wanted.boxes[width] || {})[key];
				(found.boxes[width] ||= {})[key] ||= round({ x: b_.x, y: b_.y, w: b_.w });
				if (key !== 'title' && (!want || !near(b_, want))) wrong.moved.push(`${at}: ${key} ${JSON.stringify(round(b_))}, not ${JSON.stringify(want)}`);
				if (key === 'title' && (!want || Math.abs(b_.x - want.x) > 6)) wrong.moved.push(`${at}: title at ${b_.x}`);
			}
			if (JSON.stringify(wanted.parts[name]) !== JSON.stringify(light.m.parts)) wrong.parts.push(`${at}: ${light.m.parts.join(' ')}, not ${(wanted.parts[name] || []).join(' ')}`);
		}
	}
	await context.close();
	return { found, wrong, texts };
}

// The lines of a test about what look() found; `of` stands before each.
export function judge(of, { wrong, texts }, least, isPlain) {
	ok(of + 'there is something to look at', texts > least, texts);
	ok(of + 'no page is wider than the screen', wrong.wide.length === 0, ...wrong.wide);
	ok(of + 'nothing is cut', wrong.cut.length === 0, ...wrong.cut.slice(0, 12));
	ok(of + 'nothing lies over anything else', wrong.over.length === 0, ...wrong.over.slice(0, 12));
	ok(of + 'everything can be touched', wrong.small.length === 0, ...wrong.small.slice(0, 12));
	ok(of + 'every text has contrast', wrong.faint.length === 0, ...wrong.faint.slice(0, 12));
	ok(of + 'texts stay texts', wrong.hurt.length === 0, ...wrong.hurt);
	if (!isPlain) ok(of + 'both schemes show the same in the same places', wrong.schemes.length === 0, ...wrong.schemes.slice(0, 12));
}
export function judgePlaces(of, { wrong }) {
	ok(of + 'the landmarks lie where they are expected', wrong.moved.length === 0, ...wrong.moved.slice(0, 12));
	ok(of + 'each page has its parts in their order', wrong.parts.length === 0, ...wrong.parts.slice(0, 12));
}

// Expectations: those of a workspace's console at the top, those of a fleet's under `fleet`.
const all = fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : {};
export const expected = (part) => ({ boxes: {}, parts: {}, ...(part ? all[part] : all) });
export function write(part, found) {
	const next = part ? { ...all, [part]: found } : { ...all, ...found };
	fs.writeFileSync(FILE, JSON.stringify(next, null, '\t').replace(/\{\s+"x": (-?\d+),\s+"y": (-?\d+),\s+"w": (\d+)\s+\}/g, '{ "x": $1, "y": $2, "w": $3 }').replace(/\[\s+("[^\]]+")\s+\]/g, (_, list) => '[' + list.replace(/,\s+/g, ', ') + ']') + '\n');
}
