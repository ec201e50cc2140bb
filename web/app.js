// app.js — the frame: who looks, which page, and what is live.
import { Refused, setPage, trustKey, trustLog, trustedLog, workspaceSource } from './api.js';
import { announce, clockText, h, link, page, parted, plain, show } from './dom.js';
import * as acts from './acts.js';
import * as all from './fleet.js';
import * as fleet from './machines.js';
import * as views from './views.js';
import * as waiting from './waiting.js';
import { comeIn, login, register } from './passkey.js';

export const source = workspaceSource('/api/v1/console/');
const $ = (id) => document.getElementById(id);

const PAGES = [
	['now', 'Now', views.now], ['waiting', 'Waiting', waiting.waiting], ['acts', 'Acts', acts.list], ['sessions', 'Sessions', acts.sessions], ['machines', 'Machines', fleet.machines],
	['freeze', 'Freeze', waiting.freeze], ['log', 'Log', views.log], ['evidence', 'Evidence', views.evidence],
	['policy', 'Policy', views.policy], ['mcp', 'Tools', views.servers], ['spend', 'Spend', views.spend], ['memory', 'Memory', views.memory],
];
const INNER = [['act', 'acts', acts.one], ['session', 'sessions', acts.session], ['machine', 'machines', fleet.machine]];
// Of a fleet, where its front end serves them: for all machines of a tenant.
const ALL_PAGES = [
	['now', 'Now', all.now], ['waiting', 'Waiting', waiting.waiting], ['machines', 'Machines', fleet.machines], ['acts', 'Acts', acts.list], ['freeze', 'Freeze', all.freeze], ['log', 'Log', all.log], ['evidence', 'Evidence', all.evidence],
];
const ALL_INNER = [['act', 'acts', all.act], ['machine', 'machines', fleet.machine], ['key', 'freeze', all.key]];
const isAll = () => state.me.kind === 'fleet', pages = () => (isAll() ? ALL_PAGES : PAGES), inner = () => (isAll() ? ALL_INNER : INNER);
// What is about all machines is not for an engineer, who sees some; the server refuses it, too.
const FOR_ALL = new Set(['freeze', 'log', 'evidence']);
const isThere = (name) => (name !== 'machines' || state.me.has_fleet) && !(state.me.role === 'engineer' && FOR_ALL.has(name));
const GAPS = new Set(['freeze', 'policy']);

export const state = { me: null, waiting: 0, listeners: new Set() };
let turn = 0, isFirst = true, isBroken = false;

/* ---- addresses ---- */

export function go(href, replace) {
	history[replace ? 'replaceState' : 'pushState'](null, '', href);
	return route();
}
// Another filter of the same page: the address says it, and nothing else moves.
export function setQuery(values) {
	const url = new URL(location.href);
	for (const [name, value] of Object.entries(values)) if (value) url.searchParams.set(name, value); else url.searchParams.delete(name);
	return go(url.pathname + url.search);
}

function where() {
	const parts = location.pathname.replace(/^\/console\/?/, '').split('/').map(decodeURIComponent);
	const one = inner().find(([name]) => name === parts[0]);
	if (one) return { name: one[1], make: one[2], id: parts.slice(1).join('/') };
	const found = pages().find(([name]) => name === (parts[0] || 'now'));
	return found ? { name: found[0], make: found[2] } : { name: '', make: lost };
}

const lost = async (main) => show(main, page('There is no such page', null, h('p', null, link('/console/now', 'Go to Now'))));

async function route() {
	const at = where(), mine = ++turn, main = $('main');
	state.listeners.clear();
	isBroken = false;
	for (const a of $('nav').querySelectorAll('a'))
		if (a.dataset.page === at.name) { a.setAttribute('aria-current', 'page'); center(a); } else a.removeAttribute('aria-current');
	const box = h('div');
	const slow = setTimeout(() => mine === turn && show(main, h('p', { class: 'note' }, 'Reading …')), 250);
	try {
		await at.make(box, { query: new URLSearchParams(location.search), id: at.id, isCurrent: () => mine === turn });
	} catch (e) {
		if (e instanceof Refused && e.status === 401) { clearTimeout(slow); return mine === turn && door(e); }
		isBroken = !(e instanceof Refused);
		show(box, page('This cannot be shown', null, h('p', { class: 'alert bad' }, plain(e.message)), h('p', null, h('button', { onclick: () => route() }, 'Try again'), isBroken ? h('span', { class: 'soft small' }, ' It is tried by itself as soon as the server is heard again.') : null)));
	}
	clearTimeout(slow);
	if (mine !== turn) return;
	show(main, box);
	const title = box.querySelector('h1');
	document.title = (title ? title.textContent + ' · ' : '') + 'Helm';
	// The first page begins at its beginning; whoever goes on to another one is led to its title.
	if (title && !isFirst && document.activeElement !== $('find-text') && !main.contains(document.activeElement)) title.focus({ preventScroll: true });
	if (title && !isFirst) announce(title.textContent);
	isFirst = false;
}

/* ---- the frame ---- */

function nav() {
	show($('nav'), pages().filter(([name]) => isThere(name)).map(([name, title]) => h('li', { class: GAPS.has(name) ? 'gap' : null },
		h('a', { href: '/console/' + name, 'data-go': '', 'data-page': name }, h('span', null, title),
			name === 'waiting' && state.waiting ? h('span', { class: 'count' }, String(state.waiting), h('span', { class: 'hidden' }, ' wait')) : null))));
	const current = where().name;
	for (const a of $('nav').querySelectorAll('a')) if (a.dataset.page === current) { a.setAttribute('aria-current', 'page'); center(a); }
}
// On a narrow screen the pages are a row that scrolls: the current one is seen.
function center(a) {
	const row = a.closest('.side');
	row.scrollLeft += a.getBoundingClientRect().left - row.getBoundingClientRect().left - (row.clientWidth - a.clientWidth) / 2;
}

export function setWaiting(n) {
	if (n !== state.waiting) { state.waiting = n; nav(); }
}

function who() {
	const me = state.me;
	show($('who'), isAll() ? [h('span', { class: 'badge' + (me.key_id ? ' good' : ''), title: me.key_id }, (me.key_id ? 'key of ' : 'reader ') + plain(me.reader)), h('button', { class: 'plain', onclick: leave }, 'Leave')] : me.label
		? [h('span', { class: 'badge good', title: me.key_id }, 'key of ' + plain(me.label)), h('button', { class: 'plain', onclick: leave }, 'Leave')]
		: [h('span', { class: 'badge' }, 'looking'),
			me.may_register ? h('button', { class: 'plain', onclick: (e) => register(source, {}).then(start).catch((x) => { e.target.title = x.message; announce(x.message); }) }, 'Register a key') : null,
			me.has_keys ? h('button', { class: 'plain', onclick: () => login(source).then(start).catch((x) => announce(x.message)) }, 'Use your key') : null]);
	show($('place'), parted(isAll() ? me.log_origin : me.workspace));
}

async function leave() {
	await source.post('leave', {});
	setPage(null);
	location.assign('/console/');
}

function live() {
	const box = $('live'), text = $('live-text'), top = document.querySelector('.top');
	let stop = null;
	const begin = () => {
		stop = source.events({
			event: (type, data) => { if (type === 'begin' && data.lost) type = 'act'; for (const f of [...state.listeners]) f(type, data); if (type === 'asked' || type === 'answered') count().catch(() => {}); },
			alive: (at) => { if (isBroken) route(); box.classList.add('on'); top.classList.remove('stalled'); text.textContent = 'live · ' + clockText(at); },
			stalled: (at) => { box.classList.remove('on'); top.classList.add('stalled'); text.textContent = 'stalled since ' + clockText(at); },
			over: (e) => door(e),
		});
	};
	begin();
	addEventListener('pagehide', () => stop && stop());
	addEventListener('pageshow', (e) => { if (e.persisted) { stop(); begin(); } });
}

async function count() {
	setWaiting((await source.get('waiting')).total);
}

// A page asks to be told, and again whenever it draws itself anew: there is one who listens.  When another page comes it is told no more.
export function listen(types, f) {
	let timer = null;
	state.listeners.clear();
	state.listeners.add((type) => {
		if (!types.includes(type)) return;
		clearTimeout(timer);
		timer = setTimeout(() => Promise.resolve(f()).catch(() => {}), 150); // what cannot be read now is read with the next event
	});
}

/* ---- coming in ---- */

// `why` is what the server said, or nothing.
function door(why) {
	turn++;
	document.body.classList.add('outside');
	const isReader = (why && why.code === 'READER_TOKEN') || (state.me && isAll());
	const error = h('p', { class: 'small', role: 'alert' }, why && (why.status !== 401 || state.me) ? plain(state.me && why.status === 401 ? 'This session is over. ' + why.message : why.message) : '');
	show($('main'), h('div', { class: 'enter' }, h('h1', { tabindex: '-1' }, 'Who is there?'), isReader ? byToken(error) : byKey(error), error));
	document.title = 'Come in · Helm';
}

function byKey(error) {
	const enter = async () => {
		try { await login(source); location.reload(); } catch (e) { error.textContent = e.message; }
	};
	return [h('p', { class: 'soft' }, 'This console shows what agents did here. Come in with your key, or by a link that ', h('code', null, 'helm open'), ' prints.'),
		h('button', { class: 'main', onclick: enter }, 'Use your key')];
}

function byToken(error) {
	const token = h('input', { type: 'password', name: 'token', autocomplete: 'current-password', required: true, 'aria-label': 'Reader’s token' });
	const enter = async (e) => {
		e.preventDefault();
		error.textContent = '';
		try { setPage((await source.post('enter', { token: token.value.trim() })).page); location.reload(); } catch (x) { error.textContent = x.message; token.select(); }
	};
	const byOwn = async () => {
		error.textContent = '';
		try { await comeIn(source); location.reload(); } catch (x) { error.textContent = x.message; }
	};
	return [h('p', { class: 'soft' }, 'This console shows what agents did on the machines of a fleet. Come in with your key. You register one by a link that works once; whoever keeps the fleet makes it: ', h('code', null, 'helm fleet reader invite NAME'), '.'),
		h('button', { class: 'main', onclick: byOwn }, 'Use your key'),
		h('details', { class: 'after' }, h('summary', null, 'With a reader’s token'), h('form', { class: 'token', onsubmit: enter }, token, h('button', null, 'Come in')))];
}

async function byLink() {
	const hash = location.hash, words = new URLSearchParams(hash.slice(1));
	const token = words.get('enter'), invite = words.get('invite'), key = /^[0-9a-f]{64}$/.test(words.get('key') || '') ? words.get('key') : null;
	if (!token && !invite) return null;
	history.replaceState(null, '', location.pathname + location.search);
	const at = hash.indexOf('&log='), vkey = at < 0 ? null : decodeURIComponent(hash.slice(at + 5));
	if (invite) return invited(invite, key).then(() => keepLog(vkey));
	const { page } = await source.post('enter', { token });
	// Only now: anybody can write a link, and the key that it names decides which proofs hold.
	if (key) trustKey(key);
	setPage(page);
	return keepLog(vkey);
}
// Nor does a link change a key that is kept, or name one for another log than the one it opens: its page of the log says which.
async function keepLog(vkey) {
	if (!vkey) return;
	const { log_origin } = await source.get('me');
	if (vkey.split('+')[0] === log_origin && !trustedLog(log_origin)) trustLog(vkey);
}

// A browser makes a key only when its person has asked for that: so there is a button.
const invited = (invite, key) => new Promise((done) => {
	const error = h('p', { class: 'small', role: 'alert' });
	const go = async () => { try { await register(source, { invite, key }); done(null); } catch (e) { error.textContent = e.message; } };
	show($('main'), h('div', { class: 'enter' }, h('h1', { tabindex: '-1' }, 'Register your key'),
		h('p', { class: 'soft' }, invite.startsWith('hfi_') ? 'You are invited to look here. ' : 'You are invited to answer questions here. ', 'Your key stays in your device; it asks who you are each time it signs.'),
		h('button', { class: 'main', onclick: go }, 'Make a key'), error));
});

let isLive = false;
async function start() {
	state.me = await source.get('me');
	document.body.classList.remove('outside');
	nav();
	who();
	if (!isLive) { isLive = true; live(); count().catch(() => {}); }
	return route();
}

document.addEventListener('click', (e) => {
	const a = e.target.closest('a[data-go]');
	if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
	e.preventDefault();
	go(a.getAttribute('href'));
	scrollTo(0, 0);
});
addEventListener('popstate', () => state.me && route());
document.addEventListener('keydown', (e) => {
	if (e.key !== '/' || e.target.closest('input,textarea,select,dialog')) return;
	e.preventDefault();
	$('find-text').focus();
});
$('find').addEventListener('submit', (e) => {
	e.preventDefault();
	const text = $('find-text').value.trim();
	if (/^(rcpt_)?(dec-|call-)[0-9a-f]{6,}/.test(text) || (isAll() && /^leaf-\d+$/.test(text))) return go('/console/act/' + encodeURIComponent(text));
	if (/^approval-[0-9a-f]+$/.test(text)) return go('/console/waiting?id=' + encodeURIComponent(text));
	return go('/console/acts?q=' + encodeURIComponent(text));
});

byLink().then(start).catch((e) => door(e));
