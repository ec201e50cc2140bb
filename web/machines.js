// machines.js — the machines of a fleet, where the console is opened at its centre or by its front end; and one of them.
import { badge, facts, h, isBusy, link, longTable, page, parted, plain, said, show, table, when } from './dom.js';
import { columns } from './acts.js';
import { listen, setQuery, source, state } from './app.js';

const STANDINGS = { green: ['good', '✓ heard'], unarmed: ['warn', '! no agent is guarded'], yellow: ['warn', '! late'], dark: ['bad', '✕ dark'], red: ['bad', '✕ forked or set back'], retired: ['', 'retired'] };
// What it found when it last held the log's checkpoint against the one it had seen before.
const CHECKS = { good: ['good', '✓ holds'], failed: ['bad', '✕ does not hold'], old: ['warn', '! long ago'], never: ['', 'never'] };
const check = (m) => CHECKS[(m.log || {}).standing] || CHECKS.never;
export const logBadge = (m) => h('span', { class: ('badge ' + check(m)[0]).trim() }, check(m)[1]);
// By its own clock, which may be wrong: so as an age, and not as a time.
export const logWhen = (m) => ((m.log || {}).at ? since(m.log.age_s) : 'never');
const CHAINS = { 2: 'continued in two ways', 3: 'set back' };
export const standing = (m) => h('span', { class: 'badge ' + (STANDINGS[m.standing] || [''])[0] }, (STANDINGS[m.standing] || [0, plain(m.standing)])[1]);
// What is wrong with its chains, as the ledger writes it: "session state,session state".
const wrong = (m) => (m.wrong || '').split(',').filter(Boolean).map((x) => { const at = x.lastIndexOf(' '); return { session: x.slice(0, at), how: CHAINS[x.slice(at + 1)] || x.slice(at + 1) }; });
export const isFrozen = (m) => Array.isArray(m.frozen) ? m.frozen.length > 0 : Boolean(m.frozen);
const since = (s) => (s < 120 ? `${s} s ago` : s < 7200 ? `${Math.round(s / 60)} min ago` : s < 172800 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86400)} days ago`);
export const heard = (m) => (m.silent_s < 0 ? 'never' : since(m.silent_s));
// Everything about it that somebody should look at, [kind, text]; none: it is right.
const faults = (m) => (m.standing === 'retired' ? [] : [
	(m.log || {}).standing === 'failed' ? ['bad', '✕ the log does not hold there'] : null, m.standing !== 'green' ? STANDINGS[m.standing] || ['', plain(m.standing)] : null,
	(m.log || {}).standing === 'old' ? ['warn', '! has not checked the log for long'] : null, Math.abs(m.skew_ms) > 300000 ? ['warn', '! its clock differs'] : null].filter(Boolean));
export const stands = (m) => { const list = faults(m); return list.length ? h('span', { class: 'faults' }, list.map(([kind, text], i) => [i ? ' ' : null, h('span', { class: ('badge ' + kind).trim() }, text)])) : standing(m); };
// Before its first sign of life nobody knows.
const backlog = (m) => (m.backlog === undefined ? 'not said yet' : m.backlog.toLocaleString());
const armed = (m) => (m.armed || []).map((x) => `${x.client || x.name || ''} ${x.state || ''}`.trim()).join(', ');
// Two that call themselves the same are told apart by their numbers.
export function named(list) {
	const count = new Map(), key = (m) => m.host + '\n' + m.user;
	for (const m of list) count.set(key(m), (count.get(key(m)) || 0) + 1);
	const isOne = (m) => count.get(key(m)) === 1;
	return { text: (m) => `${m.host}, ${m.user}` + (isOne(m) ? '' : `, number ${m.node}`), cell: (m, noUser) => [link(machinePath(m), said(m.host || m.node)), h('span', { class: 'soft small' }, noUser ? null : [' ', said(m.user)], isOne(m) ? null : ' ' + m.node)] };
}
export const machinePath = (m) => '/console/machine/' + encodeURIComponent(m.node);

const KINDS = { freeze: 'Freeze', unfreeze: 'Lift a freeze', lease: 'Lease', revoke_key: 'A key counts no more', approvers: 'Who may answer', grant: 'An answer: yes', deny: 'An answer: no', root: 'Another root key', retire: 'A machine is retired' };
const inFleet = () => state.me.kind === 'fleet', isPart = () => state.me.role === 'engineer';
const byWhom = (o) => ((o.order || {}).body || {}).signed || ((o.order || {}).body || {}).passkey ? h('span', { class: 'badge good' }, 'signed by a person') : null;
const MISSING = 12;
// The list is cut when it is long; how many there are is counted.
export const missing = (o) => { const left = o.meant - o.obeyed - o.refused - MISSING; return [parted((o.missing || []).slice(0, MISSING).join(', ')), left > 0 ? ` and ${left.toLocaleString()} more` : null]; };
export const orderTable = (orders, empty) => table('Orders of the centre, the newest first', [
	{ title: 'When', class: 'tight', bare: true, cell: (o) => when(o.at) }, { title: 'Order', bare: true, cell: (o) => [KINDS[o.kind] || plain(o.kind), ((o.order || {}).body || {}).reason ? h('span', { class: 'soft' }, ' “', said(o.order.body.reason), '”') : '', ' ', byWhom(o)] },
	{ title: 'Confirmed', class: 'tight', cell: (o) => [h('span', { class: 'badge ' + (o.obeyed >= o.meant ? 'good' : 'warn') }, `${o.obeyed} of ${o.meant}`), o.refused ? [' ', h('span', { class: 'badge bad' }, `✕ ${o.refused} refused`)] : null] }, { title: 'Not yet', cell: (o) => missing(o) },
], orders, empty);
const olderOrders = (orders) => { const n = orders.length ? orders[orders.length - 1].older : 0; return n > 0 ? h('p', { class: 'small soft' }, `Only the newest ${orders.length} are shown; ${n} older.`) : null; };
// An engineer sees those that concern their machines: how many there are in all says nothing to them.
const cutOrders = (orders) => (orders.length >= 50 ? h('p', { class: 'small soft' }, `Only the newest ${orders.length} are shown.`) : null);

export async function machines(main, at, isAgain) {
	const doc = await source.get('machines');
	if (isAgain && isBusy(main)) return;
	const list = doc.machines, names = named(list), bad = list.filter((m) => faults(m).length), wanted = (at.query.get('q') || '').toLowerCase(), only = at.query.get('only') === 'wrong';
	const number = (n, what, kind) => h('div', { class: 'number ' + (n ? kind : '') }, h('b', null, n.toLocaleString()), h('span', null, what));
	const isBad = new Set(bad), all = [...bad, ...list.filter((m) => !isBad.has(m))], rows = (only ? bad : all).filter((m) => !wanted || [m.host, m.user, m.node].some((x) => String(x).toLowerCase().includes(wanted)));
	const find = h('input', { type: 'search', name: 'q', value: at.query.get('q') || '', placeholder: 'name, user, number' });
	show(main, page('Machines', isPart() ? 'Your machines, as the ledger of the fleet knows them.' : 'Every machine of the fleet, as its ledger knows it.',
		h('div', { class: 'three' }, number(list.length, list.length === 1 ? 'machine' : 'machines', ''), number(bad.length, 'not as they should be', 'bad'), number(list.filter(isFrozen).length, 'frozen', 'warn')),
		list.length > 10 ? h('form', { class: 'filters narrow', onsubmit: (e) => { e.preventDefault(); setQuery({ q: find.value }); } }, h('label', { class: 'field' }, h('span', null, 'Find'), find), h('label', { class: 'field' }, h('span', null, 'Which'), h('select', { name: 'only', onchange: (e) => setQuery({ only: e.target.value }) }, h('option', { value: '' }, 'all'), h('option', { value: 'wrong', selected: only }, 'not as they should be'))), h('button', null, 'Find')) : null,
		longTable('Machines, those that are not right first', [
			{ title: 'Machine', bare: true, cell: (m) => names.cell(m, true) }, { title: 'Stands', class: 'tight', bare: true, cell: (m) => [stands(m), isFrozen(m) ? [' ', h('span', { class: 'badge warn' }, 'frozen')] : null] },
			{ title: 'User', cell: (m) => said(m.user) }, { title: 'Heard', class: 'tight', cell: heard }, { title: 'Receipts', class: 'num', cell: (m) => m.receipts.toLocaleString() }, { title: 'Not here yet', class: 'num', cell: backlog },
		], rows, list.length ? 'No machine fits that.' : isPart() ? 'None of your machines is in this fleet.' : 'No machine has joined. helm fleet token makes a token, and helm fleet join joins with it.'),
		h('h2', null, 'Orders'), orderTable(doc.orders, isPart() ? 'Nothing was ordered that concerns them.' : 'Nothing was ever ordered.'), isPart() ? cutOrders(doc.orders) : olderOrders(doc.orders),
		isPart() ? null : inFleet() ? h('p', { class: 'soft small' }, 'To stop some or all of them: ', link('/console/freeze', 'Freeze'), '.') : h('p', { class: 'soft small' }, 'All of them are stopped at a terminal of the centre: ', h('code', null, 'helm fleet freeze --reason TEXT'), '. The control key signs it.')));
	if (inFleet()) listen(['act', 'stopped', 'asked', 'answered'], () => at.isCurrent() && !isBusy(main) && machines(main, at, true));
}

export async function machine(main, at) {
	const doc = await source.get('machines/' + encodeURIComponent(at.id)), m = doc.machine, bad = wrong(m);
	const mine = doc.orders.filter((o) => !((o.order || {}).nodes || []).length || o.order.nodes.map(String).includes(m.node));
	show(main, page(['Machine ', said(m.host || m.node)], null,
		bad.map((x) => h('p', { class: 'alert bad' }, h('b', null, said(x.session), ' was ', x.how, '. '), 'Its next receipts are refused until a person there has looked: ', h('code', null, 'helm fleet rejoin'))),
		h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', null, 'How it stands'), h('span', null, stands(m))), facts([
			['User', said(m.user)], ['Heard', heard(m)], ['Guards', said(armed(m) || (m.guard ? m.guard.active ? 'agents run in supervised sessions' : m.guard.expected ? 'no agent is guarded: helm setup there' : 'no agent is expected there' : 'it said nothing about them'))], ['Needs attention', m.attention === undefined ? null : m.attention ? `${m.attention} thing${m.attention === 1 ? '' : 's'}: helm status there` : 'nothing'], ['Frozen', isFrozen(m) ? h('span', { class: 'badge warn' }, 'yes') : 'no'], ['Chains', String(m.chains)], ['Receipts here', m.receipts.toLocaleString()], ['Not here yet', backlog(m)], ['Clock', `${m.skew_ms} ms from the ledger's`], ['Last order it has seen', String(m.order)], ['Its check of the log', m.log ? [logBadge(m), m.log.at ? ` ${logWhen(m)}, from ${m.log.from.toLocaleString()} to ${m.log.to.toLocaleString()} receipts` : null, m.log.why ? [': ', said(m.log.why)] : null] : null], ['Number', h('code', null, m.node)],
		], 'two')),
		isPart() ? null : inFleet() ? h('p', null, link('/console/freeze?node=' + encodeURIComponent(m.node), isFrozen(m) ? 'Let it go on, or freeze others' : 'Freeze this machine'), ' · ', link('/console/evidence?node=' + encodeURIComponent(m.node), 'Evidence of it')) : h('section', { class: 'card' }, h('h2', null, 'To stop it'), h('p', { class: 'soft small' }, 'At a terminal of the centre; the control key signs the order, and the machine confirms it with a receipt.'), h('code', { class: 'block' }, `helm fleet ${isFrozen(m) ? 'unfreeze' : 'freeze'} --node ${m.node}${isFrozen(m) ? '' : ' --reason TEXT'}`)),
		h('h2', null, 'What it did last'),
		inFleet() ? table('Acts of this machine, the newest first', columns().filter((x) => x.title !== 'Machine'), doc.acts, 'Nothing of it is in the ledger yet.') : table('Receipts of this machine, the newest first', [
			{ title: 'When', class: 'tight', bare: true, cell: (a) => when(a.at) }, { title: 'Verdict', class: 'tight', bare: true, cell: (a) => badge(a.verdict, a.type) }, { title: 'What', bare: true, cell: (a) => h('span', { class: 'caption' }, said(a.caption || a.tool || a.type)) }, { title: 'Who', class: 'mid', cell: (a) => parted(a.principal) }, { title: 'Rule', class: 'mid', cell: (a) => h('span', { class: 'small soft' }, parted(a.rule)) },
		], doc.acts, 'Nothing of it is in the ledger yet.'),
		inFleet() && doc.acts.length >= 50 ? h('p', { class: 'soft small' }, 'The newest 50 are shown. ', link('/console/acts?node=' + encodeURIComponent(m.node), 'All of its acts')) : null,
		!inFleet() && doc.acts.length >= 100 ? h('p', { class: 'soft small' }, 'The newest 100 are shown; ', h('code', null, `helm fleet search --node ${m.node} --limit N`), ' shows more.') : null,
		h('h2', null, 'Orders'), orderTable(mine, 'Nothing was ordered that concerns it.'),
		doc.chains ? [h('h2', null, 'Chains'), chains(doc.chains), h('h2', null, 'Keys'), keys(doc.keys)] : null,
		(doc.forks || []).length ? [h('h2', null, 'Two receipts for one place'), doc.forks.map(fork)] : null));
	if (inFleet()) listen(['act', 'stopped', 'asked', 'answered'], () => at.isCurrent() && machine(main, at));
}

const chains = (list) => table('Chains of this machine', [
	{ title: 'Chain', bare: true, cell: (x) => [h('code', null, parted(x.session)), x.epoch > 1 ? h('span', { class: 'soft small' }, ` epoch ${x.epoch}`) : null] }, { title: 'State', class: 'tight', cell: (x) => h('span', { class: 'badge ' + (x.state === 'growing' ? 'good' : x.state === 'ended' ? '' : 'bad') }, plain(x.state)) },
	{ title: 'Here', class: 'num', cell: (x) => x.head.toLocaleString() }, { title: 'There', class: 'num', cell: (x) => x.local_head.toLocaleString() }, { title: 'In the tree', class: 'num', cell: (x) => x.sequenced.toLocaleString() }, { title: 'Seen', class: 'tight', cell: (x) => when(x.seen_at) },
], list, 'It has sent nothing yet.');
const keys = (list) => table('Keys of this machine', [
	{ title: 'Link', class: 'num', cell: (x) => String(x.sequence) }, { title: 'Key', bare: true, cell: (x) => h('code', null, x.key) }, { title: 'Counts', class: 'tight', cell: (x) => (x.revoked_since ? [h('span', { class: 'badge bad' }, '✕ revoked'), ' since ', when(x.revoked_since)] : h('span', { class: 'badge good' }, '✓ yes')) },
], list, 'It has no key.');
// Both were signed by the machine, and only one can be true.
const fork = (f) => h('section', { class: 'card' }, h('div', { class: 'head' }, h('h3', null, said(f.session), `, clock ${f.clock}`), h('span', { class: 'badge ' + (f.is_repair ? '' : 'bad') }, f.is_repair ? 'a repair' : '✕ continued in two ways')), facts([['Seen', when(f.seen_at)]]),
	h('div', { class: 'pair' }, h('div', null, h('p', { class: 'small soft' }, 'In the ledger'), h('code', { class: 'block' }, said(f.ours || 'not kept any more'))), h('div', null, h('p', { class: 'small soft' }, 'Came second, refused'), h('code', { class: 'block' }, said(f.theirs)))));
