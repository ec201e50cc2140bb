// dom.js — making pages of nodes.  Texts come from agents and are hostile: they only ever become text, and what nobody can see is spelled out.

// Control characters, bidirectional overrides, joiners and other signs that change how the text around them looks.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]/gu;

const spell = (c) => '\\u{' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '}';

// A text as nodes: the parts that can be seen, and escapes for those that cannot.
export function said(text) {
	text = String(text ?? '');
	if (text.search(UNSEEN) < 0) return text ? [text] : [];
	const out = [];
	let last = 0;
	for (const m of text.matchAll(UNSEEN)) {
		if (m.index > last) out.push(text.slice(last, m.index));
		out.push(h('span', { class: 'esc', title: 'a character that is not seen' }, spell(m[0])));
		last = m.index + m[0].length;
	}
	if (last < text.length) out.push(text.slice(last));
	return out;
}
// A name of several words (a rule, a path, an id): where it has to break, it breaks between them.
export function parted(text) {
	return String(text ?? '').split(/(?<=\w[._:@-])(?=\w)|(?<=\/)(?=[\w.])/).map((part, i) => [i ? h('wbr') : null, said(part)]);
}
export const plain = (text) => String(text ?? '').replace(UNSEEN, spell);

// h('a', {href, class, onclick}, children...); children are nodes, texts, arrays, null.
export function h(name, attributes, ...children) {
	return fill(document.createElement(name), attributes, children);
}
const SVG = 'http://www.w3.org/2000/svg';
export function s(name, attributes, ...children) {
	return fill(document.createElementNS(SVG, name), attributes, children);
}
function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
		else if (name === 'value') node.value = value;
		else node.setAttribute(name, value === true ? '' : String(value));
	}
	add(node, children);
	return node;
}
export function add(node, children) {
	for (const child of [children].flat(Infinity))
		if (child !== null && child !== undefined && child !== false) node.append(child.nodeType ? child : document.createTextNode(String(child)));
	return node;
}
export function show(node, ...children) {
	node.replaceChildren();
	return add(node, children);
}

/* ---- times ---- */

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
export const clockText = (date) => clock.format(date);

export function when(stamp) {
	const date = new Date(stamp);
	if (!stamp || Number.isNaN(date.getTime())) return h('span', { class: 'soft' }, '—');
	const isToday = date >= new Date().setHours(0, 0, 0, 0) && date < new Date().setHours(24, 0, 0, 0);
	return h('time', { datetime: date.toISOString(), title: stamp }, (isToday ? '' : day.format(date) + ', ') + clock.format(date));
}
export function ago(stamp, now = Date.now()) {
	const seconds = Math.round((now - new Date(stamp)) / 1000), past = seconds >= 0, n = Math.abs(seconds);
	const text = n < 60 ? `${n} s` : n < 3600 ? `${Math.round(n / 60)} min` : n < 172800 ? `${Math.round(n / 3600)} h` : `${Math.round(n / 86400)} days`;
	return past ? `${text} ago` : `in ${text}`;
}

/* ---- pieces ---- */

const WORDS = { ALLOW: '✓ allowed', DENY: '✕ denied', ESCALATE: '? asked' };
export function badge(verdict, kind) {
	if (WORDS[verdict]) return h('span', { class: `badge ${verdict}` }, WORDS[verdict]);
	return h('span', { class: 'badge' }, plain(kind || verdict || '—'));
}

// The state of an action, in the words that every other view has; a fleet knows verdicts only.
const COLOURS = { waiting: ['warn', '?'], approved: ['warn', '✓'], refused: ['bad', '✕'], expired: ['', '–'], denied: ['bad', '✕'], allowed: ['good', '✓'], running: ['warn', '…'], done: ['good', '✓'], failed: ['bad', '✕'], undone: ['', '↶'] };
export function stateBadge(act) {
	const known = COLOURS[act.state];
	if (!known) return badge(act.verdict, act.kind);
	return h('span', { class: ('badge ' + known[0]).trim(), 'data-state': act.state }, `${known[1]} ${plain(act.state_text)}`);
}

export const link = (href, ...children) => h('a', { href, 'data-go': '' }, ...children);

// columns: [{title, cell(row), class, bare}]; roles are said aloud because narrow screens show rows as cards.
export function table(caption, columns, rows, empty) {
	const head = h('tr', { role: 'row' }, columns.map((c) => h('th', { role: 'columnheader', scope: 'col', class: c.class }, c.title)));
	const body = h('tbody', { role: 'rowgroup' });
	const put = (list, first) => {
		for (const row of list) {
			const tr = h('tr', { role: 'row' }, columns.map((c) =>
				h('td', { role: 'cell', class: [c.class, c.bare && 'bare'].filter(Boolean).join(' ') || null, 'data-label': c.title }, c.cell(row))));
			if (first) body.prepend(tr); else body.append(tr);
		}
	};
	put(rows);
	const node = h('table', { class: 'rows', role: 'table' }, h('caption', { class: 'hidden' }, caption),
		h('thead', { role: 'rowgroup' }, head), body);
	const box = h('div', { class: 'card flush' }, rows.length ? node : h('p', { class: 'note' }, empty || 'Nothing is here.'));
	box.put = (list) => { if (list.length && !node.isConnected) box.querySelector('.note').replaceWith(node); put(list); };
	return box;
}

// Somebody types there, or reads on in a long list: what comes in draws nothing anew under their hands.
export const isBusy = (main) => document.getElementById('dialog').open || main.contains(document.activeElement?.closest('input,textarea,select')) || main.querySelector('.expanded');

// A long list: the first of it, and more when it is asked for.
export function longTable(caption, columns, rows, empty, first = 100) {
	const box = table(caption, columns, rows.slice(0, first), empty), foot = h('div', { class: 'more' }), step = 500;
	let n = Math.min(first, rows.length);
	const offer = () => show(foot, h('span', { class: 'soft small' }, `${n.toLocaleString()} of ${rows.length.toLocaleString()} are shown.`), h('button', { class: 'plain', onclick: () => {
		box.put(rows.slice(n, n + step));
		box.classList.add('expanded'); // who reads on is not taken back to the beginning by what comes in
		n = Math.min(n + step, rows.length);
		if (n < rows.length) offer(); else foot.remove();
	} }, `Show ${Math.min(step, rows.length - n)} more`));
	if (n < rows.length) { offer(); box.append(foot); }
	return box;
}

export const facts = (pairs, how) => h('dl', { class: how ? 'facts ' + how : 'facts' },
	pairs.filter(([, value]) => value !== null && value !== undefined && value !== '').map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));

export const page = (title, lead, ...children) => [h('div', { class: 'head' }, h('h1', { tabindex: '-1' }, title)), lead && h('p', { class: 'lead' }, lead), ...children];

export function announce(text) {
	document.getElementById('said').textContent = text;
}
