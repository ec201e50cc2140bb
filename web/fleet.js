// fleet.js — pages that a fleet's front end has instead of those of one workspace: now, one act, freeze, the log, evidence, and making a key.
import { ago, announce, badge, facts, h, isBusy, link, longTable, page, parted, plain, said, show, table, when } from './dom.js';
import { actPath, alertIn, columns, download, nameOf, proofPanel } from './acts.js';
import { heard, isFrozen, logBadge, logWhen, machinePath, missing, named, orderTable, stands } from './machines.js';
import { growth } from './pictures.js';
import { confirm, fleetKey } from './waiting.js';
import { makeFleetKey, readMessage } from './passkey.js';
import { trustLog, trustedLog } from './api.js';
import { canonical } from './proof.js';
import { checkNote, keyOfLog, verifyFleet } from './proof_fleet.js';
import { listen, setWaiting, source, state } from './app.js';

const number = (n, what, kind, href) => h(href ? 'a' : 'div', { class: 'number ' + (n ? kind : ''), href, 'data-go': href ? '' : null }, h('b', null, n >= 100000 ? '100 000+' : n.toLocaleString()), h('span', null, what));
const some = (text) => (text ? said(text) : null);

/* ---- now ---- */

const SHOWN = 12;
export async function now(main, at) {
	const doc = await source.get('now'), wrong = doc.wrong, names = named(wrong);
	setWaiting(doc.waiting);
	show(main, page('Now', null,
		h('div', { class: 'three' },
			number(doc.stopped_24h, 'stopped in 24 hours', 'bad', '/console/acts?verdict=stopped&from=' + encodeURIComponent(new Date(Date.now() - 86400000).toISOString())),
			number(doc.waiting, doc.waiting === 1 ? 'waits for an answer' : 'wait for an answer', 'warn', '/console/waiting'),
			number(doc.wrong_all, doc.wrong_all === 1 ? `machine of ${doc.machines.toLocaleString()} is not right` : `of ${doc.machines.toLocaleString()} machines are not right`, 'bad', '/console/machines?only=wrong')),
		wrong.length ? [h('h2', null, 'Machines that somebody should look at'), table('Machines that are not right, the worst first', [
			{ title: 'Machine', bare: true, cell: (m) => names.cell(m) }, { title: 'Stands', class: 'tight', bare: true, cell: stands }, { title: 'Heard', class: 'tight', cell: heard },
		], wrong.slice(0, SHOWN)), doc.wrong_all > SHOWN ? h('p', { class: 'soft small' }, `${SHOWN} of ${doc.wrong_all.toLocaleString()} are shown. `, link('/console/machines?only=wrong', 'All that are not right')) : null] : null,
		h('h2', null, 'What was stopped'),
		table(state.me.role === 'engineer' ? 'What was asked or denied on your machines, the newest first' : 'What was asked or denied on any machine, the newest first', columns(), doc.stopped, doc.machines || state.me.role === 'engineer' ? 'Nothing was stopped. That is how it should be.' : 'No machine has joined yet. helm fleet token makes a token, and helm fleet join joins with it.'),
		doc.stopped.length < doc.stopped_all ? h('p', { class: 'soft small', id: 'more-stopped' }, `${doc.stopped.length} of ${doc.stopped_all >= 100000 ? 'at least ' : ''}${doc.stopped_all.toLocaleString()} are shown. `, link('/console/acts?verdict=stopped', 'All that were stopped')) : null));
	listen(['stopped', 'asked', 'answered', 'act'], () => at.isCurrent() && now(main, at));
}

/* ---- one act ---- */

const keepLog = (name, given, check) => {
	if (name !== 'checkpoint' || !given.proof) return null;
	const vkey = state.me.log_vkey;
	return h('div', { class: 'small' }, h('p', null, 'Compare with ', h('code', null, 'helm fleet tenant list'), ' at the centre: ', h('code', { class: 'mono' }, plain(vkey))),
		h('button', { class: 'plain', onclick: () => { trustLog(vkey); return check(); } }, 'It is the same; keep it'));
};
const BY_LOG = { verify: (given) => verifyFleet(given, trustedLog(state.me.log_origin)), keep: keepLog };

const TITLES = { grant: 'Approved', denial: 'Refused by a person', DENY: 'Denied', ESCALATE: 'Not done until somebody answers', ALLOW: 'Allowed' };
const step = (x, isThis) => h('li', { class: x.kind === 'grant' ? 'ALLOW' : x.kind === 'denial' ? 'DENY' : x.verdict || null }, h('b', null, TITLES[x.kind] || TITLES[x.verdict] || plain(x.kind || 'Put on record')), ' ', when(x.at), h('div', { class: 'soft small' }, isThis ? parted(x.rule || x.reason || '') : [parted(x.who), ' ', link(actPath(x.id), 'receipt')]));

export async function act(main, at) {
	const doc = await source.get('acts/' + encodeURIComponent(at.id)), x = doc.act, given = doc.decision && { ...doc.decision, keys: doc.keys };
	const receipt = given && JSON.parse(given.receipt), about = (receipt && receipt.metadata) || {}, panel = given ? proofPanel(given, 'Proof', BY_LOG) : null;
	const order = about.order, all = [...doc.related.map((r) => [r, false]), [x, true]].sort((a, b) => a[0].clock - b[0].clock);
	show(main, h('div', { class: 'head' }, h('h1', { tabindex: '-1' }, nameOf(x), ' '), badge(x.verdict, x.kind)),
		h('code', { class: 'block' }, said(x.caption || 'The command was not sent here: this machine sends receipts without captions.')),
		h('div', { class: 'pair' },
			h('div', null,
				h('section', { class: 'card' }, h('h2', null, 'What happened'), h('ol', { class: 'steps' }, all.map(([r, isThis]) => step(r, isThis)))),
				h('section', { class: 'card' }, h('h2', null, 'About it'), facts([
					['Machine', [link('/console/machine/' + encodeURIComponent(x.node), said(x.host)), ', ', said(x.user)]], ['Who', parted(x.who)], ['When', when(x.at)], ['Rule', x.rule && !x.rule.startsWith('order:') ? link('/console/acts?rule=' + encodeURIComponent(x.rule), parted(x.rule)) : null], ['Reason', some(x.reason)],
					['Order', order ? `${order.seq}, ${plain(order.kind || '')}` : null], ['Signed by', order && order.approver ? [said(order.approver.label || ''), ' ', h('code', null, parted(order.approver.key_id))] : about.approver ? [said(about.approver.label || ''), ' ', h('code', null, parted(about.approver.key_id || ''))] : null],
					['Profile', some(about.profile)], ['Walls', some(about.containment)], ['Chain', h('code', null, parted(x.session))], ['Clock', String(x.clock)], ['Decision', h('code', null, x.decision_id)],
					['Receipt', receipt ? h('code', null, receipt.receipt_id.split('.')[0]) : 'not kept any more; its leaf is still in the tree'],
				]))),
			h('div', null, panel, given && given.proof ? h('section', { class: 'card' }, h('h2', null, 'In the tree'), place(given.proof)) : null)));
	if (panel) await panel.ready;
}

// Where the leaf lies, level by level: the same as a list, because the picture of a tree with a million leaves is a line.
const place = (proof) => [facts([['Leaf', proof.leaf_index.toLocaleString()], ['Of', Number(proof.checkpoint.split('\n')[1]).toLocaleString()], ['Path', `${proof.audit_path.length} hashes`]]),
	h('details', null, h('summary', null, 'The path and the checkpoint'), h('ol', { class: 'path' }, proof.audit_path.map((x) => h('li', null, h('code', null, x)))), h('code', { class: 'block' }, said(proof.checkpoint)))];

/* ---- one machine, or all ---- */

// Where there are too many for a list to choose from, one is chosen by coming from its own page.
const CHOICES = 200;
function chooseMachine(machines, names, wanted) {
	const list = machines.length > CHOICES ? machines.filter((m) => m.node === wanted) : machines;
	return { select: h('select', { name: 'node' }, h('option', { value: '' }, `all ${machines.length.toLocaleString()} machines`), list.map((m) => h('option', { value: m.node, selected: m.node === wanted }, plain(names.text(m)) + (isFrozen(m) ? ' (frozen)' : '')))),
		hint: list.length < machines.length ? h('p', { class: 'soft small' }, 'One of them is chosen on its own page: ', link('/console/machines', 'Machines'), '.') : null };
}

/* ---- freeze ---- */

async function order(verb, nodes, reason, names) {
	const asked = await source.post('freeze/message', { act: verb, nodes, reason });
	const { domain, body } = readMessage(asked.message);
	if (domain !== 'helm:act:v1' || body.act !== verb || body.reason !== reason || body.origin !== state.me.log_origin || canonical(body.nodes) !== canonical(nodes)) throw new Error('what the server gave to sign is not this order; nothing was signed');
	return confirm(verb === 'freeze' ? 'Freeze' : 'Let go on', [['Which', names], ['Reason', said(reason || '—')], ['Fleet', h('code', null, said(body.origin))]], asked.message, verb === 'freeze' ? 'Freeze' : 'Lift', 'freeze', { ...asked, none: 'The list of approvers names no passkey of this address.' });
}

export async function freeze(main, at, isAgain) {
	const doc = await source.get('freeze');
	if (isAgain && isBusy(main)) return;
	const error = h('div', { 'aria-live': 'polite' }), wanted = at.query.get('node') || '';
	const of = (node) => doc.machines.find((m) => m.node === node);
	const names = named(doc.machines), name = names.text, { select: which, hint } = chooseMachine(doc.machines, names, wanted);
	const reason = h('input', { name: 'reason', maxlength: '200', autocomplete: 'off', required: true });
	const run = (verb) => async (e) => {
		e.preventDefault();
		show(error);
		try {
			const done = await order(verb, which.value ? [which.value] : [], reason.value, which.value ? [said(name(of(which.value))), ', number ', h('code', null, which.value)] : `all ${doc.machines.length.toLocaleString()} machines`);
			if (done) { announce(`Order ${done.order} is given.`); reason.value = ''; document.activeElement.blur(); await freeze(main, at); }
		} catch (x) { show(error, h('p', { class: 'alert bad', role: 'alert' }, plain(x.message))); }
	};
	const newest = doc.orders[0];
	show(main, page('Freeze', 'Frozen means: nothing is allowed any more on that machine until the centre lifts it, or its person leaves the fleet. Where helm fleet ship runs an order is fetched within a second; a machine that is away obeys when it comes back.',
		doc.frozen.length ? h('p', { class: 'alert bad' }, h('b', null, doc.frozen.length === doc.machines.length ? 'Every machine is frozen. ' : `${doc.frozen.length} of ${doc.machines.length} machines say that they are frozen. `), doc.frozen.slice(0, 8).map((m, i) => [i ? '; ' : '', link(machinePath(m), said(name(m)))]), doc.frozen.length > 8 ? ` and ${doc.frozen.length - 8} more` : '') : newest && newest.kind === 'freeze' && newest.obeyed ? h('p', { class: 'alert' }, `Order ${newest.seq} was confirmed; with its next sign of life each machine says itself that it is frozen.`) : h('p', { class: 'alert good' }, doc.machines.length ? 'No machine says that it is frozen.' : 'No machine has joined yet.'),
		newest ? h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', null, `Order ${newest.seq}: ${newest.kind === 'freeze' ? 'freeze' : 'let go on'}`), h('span', { class: 'badge ' + (newest.obeyed >= newest.meant ? 'good' : 'warn') }, `${newest.obeyed} of ${newest.meant} confirmed`)),
			facts([['Given', when(newest.at)], ['Reason', said(((newest.order || {}).body || {}).reason || '—')], ['Not yet', newest.missing.length ? missing(newest) : null]])) : null,
		state.me.has_keys ? h('form', { class: 'card', onsubmit: run('freeze') }, h('h2', null, 'Give an order'), h('div', { class: 'filters' },
			h('label', { class: 'field long' }, h('span', null, 'Which'), which), h('label', { class: 'field long' }, h('span', null, 'Reason'), reason)), hint,
		h('div', { class: 'actions' }, h('button', { class: 'stop' }, 'Freeze'), h('button', { type: 'button', onclick: (e) => (reason.reportValidity() ? run('unfreeze')(e) : null) }, 'Let go on'))) : [fleetKey(), h('p', { class: 'soft small' }, 'At a terminal of the centre: ', h('code', null, 'helm fleet freeze --reason TEXT'))], error,
		h('h2', null, 'Orders that froze or let go on'), orderTable(doc.orders, 'Nothing was ever frozen from here.')));
	listen(['act', 'stopped', 'answered'], () => at.isCurrent() && !isBusy(main) && freeze(main, at, true));
}

/* ---- a key ---- */

export async function key(main) {
	const me = state.me, out = h('div', { 'aria-live': 'polite' }), label = h('input', { name: 'label', required: true, maxlength: '64', pattern: '[A-Za-z0-9._\\-]+', autocomplete: 'off', placeholder: 'anna' });
	const make = async (e) => {
		e.preventDefault();
		try {
			const word = await makeFleetKey(me, label.value);
			show(out, h('p', { class: 'alert good' }, h('b', null, 'It is made. '), 'It stays in your device and counts for nothing yet.'),
				h('p', null, 'Give this line to whoever keeps the fleet’s root key. They sign a list that has it, and the centre gives the list to the machines:'),
				h('code', { class: 'block', id: 'approver' }, `helm fleet approvers sign ${label.value}=${word} --root-key FILE --origin ${me.log_origin} > list.json\nhelm fleet approvers give list.json`),
				h('p', { class: 'soft small' }, 'A list names everybody who may answer: those who are in it now are named again.'));
		} catch (x) { show(out, h('p', { class: 'alert bad', role: 'alert' }, plain(x.message))); }
	};
	show(main, page('A key for this address', 'What you do here is signed by a passkey in your device, and each machine checks that before anything happens. Whose keys count stands in a list that the fleet’s root key has signed; that key is nowhere near this server.',
		me.has_root ? null : h('p', { class: 'alert' }, 'This fleet has no root key yet, so no machine takes answers from here: ', h('code', null, 'helm fleet tenant add NAME --root KEY'), '.'),
		h('form', { class: 'card', onsubmit: make }, h('div', { class: 'filters narrow' }, h('label', { class: 'field' }, h('span', null, 'Your name in the list'), label)), h('button', { class: 'main' }, 'Make a key'), out)));
}

/* ---- the log ---- */

// Each machine holds every checkpoint that it is shown against the one before: what it last found, the worst first.
function checks(list) {
	const of = (standing) => list.filter((m) => m.log.standing === standing).length, failed = of('failed'), old = of('old'), never = of('never');
	const box = longTable('What machines found when they last checked the log, the worst first', [
		{ title: 'Machine', bare: true, cell: named(list).cell }, { title: 'The log', class: 'tight', bare: true, cell: logBadge }, { title: 'Checked', class: 'tight', cell: logWhen },
		{ title: 'From', class: 'num', cell: (m) => (m.log.at ? m.log.from.toLocaleString() : '—') }, { title: 'To', class: 'num', cell: (m) => (m.log.at ? m.log.to.toLocaleString() : '—') }, { title: 'Why', cell: (m) => (m.log.why ? said(m.log.why) : m.log.standing === 'never' ? 'It has told nothing of a check.' : '') },
	], list, 'No machine has joined yet.');
	return [h('h2', { id: 'checks' }, 'Checked by the machines'),
		failed ? h('p', { class: 'alert bad', role: 'alert' }, h('b', null, failed === 1 ? 'On one machine the log does not hold. ' : `On ${failed} machines the log does not hold. `), 'Either it was set back or changed here, or they were shown another one. They obey no orders until a person there has looked.') : null,
		list.length ? h('p', { class: 'soft small' }, `${of('good').toLocaleString()} of ${list.length.toLocaleString()} found within the last hour that the log only grew`, old ? `; ${old} ${old === 1 ? 'has' : 'have'} not checked it for longer` : null, never ? `; ${never.toLocaleString()} never told` : null, '.') : null, box];
}

export async function log(main, at, isAgain) {
	const doc = await source.get('log');
	if (isAgain && isBusy(main)) return;
	const list = doc.checkpoints, last = list[0], result = h('div', { 'aria-live': 'polite' });
	const trusted = trustedLog(doc.origin);
	const check = async (e) => {
		e.target.disabled = true;
		const bad = [];
		for (const x of list) try { const said_ = await checkNote(x.note, trusted); if (said_.size !== x.tree_size || said_.root !== x.root_hash) bad.push([x, 'the row says something else']); } catch (error) { bad.push([x, error.message]); }
		show(result, bad.length ? h('p', { class: 'alert bad' }, `${bad.length} checkpoints do not hold, the first over ${bad[0][0].tree_size} receipts: `, plain(bad[0][1])) : h('p', { class: 'alert good' }, `All ${list.length} checkpoints are signed by the key of the log that you trust.`));
		e.target.disabled = false;
	};
	const keep = async () => { await keyOfLog(doc.log_vkey); trustLog(doc.log_vkey); await log(main, at); };
	const age = last ? Date.now() - new Date(last.timestamp) : 0;
	show(main, page('Log', 'Every receipt of every machine is a leaf of one tree. A signed checkpoint fixes all of them; machines and witnesses hold each new one against the one before.',
		last && age > 15 * 60000 ? h('p', { class: 'alert bad' }, h('b', null, `The newest checkpoint was signed ${ago(last.timestamp)}. `), 'Its signer or its witnesses do not answer: ', h('code', null, 'helm fleet audit'), ' says more.') : null,
		h('div', { class: 'three' }, number(doc.receipts, 'receipts in the tree', ''), number(last ? last.tree_size : 0, last ? `under the newest checkpoint, ${ago(last.timestamp)}` : 'under a checkpoint', ''), number(last ? last.cosigned : 0, 'witnesses signed it', '')),
		doc.not_in_the_tree ? h('p', { class: 'soft small' }, `${doc.not_in_the_tree.toLocaleString()} receipts have come and are not in the tree yet.`) : null,
		list.length > 1 ? h('section', { class: 'card' }, h('h2', null, 'Growth'), growth([...list].reverse())) : null,
		h('section', { class: 'card' }, h('h2', null, 'This log'), facts([['Origin', h('code', null, parted(doc.origin))], ['Key', h('code', null, parted(doc.log_vkey))], ['You trust', !trusted ? 'no key of this log yet' : trusted === doc.log_vkey ? h('span', { class: 'badge good' }, '✓ this key') : h('span', { class: 'badge bad' }, '✕ another key')]]),
			h('div', { class: 'actions' }, trusted ? h('button', { onclick: check, disabled: !list.length }, 'Check the checkpoints here') : [h('span', { class: 'soft small' }, 'Compare with ', h('code', null, 'helm fleet tenant list'), '. '), h('button', { onclick: keep }, 'It is the same; keep it')]), result),
		checks(doc.checks),
		h('h2', null, 'Checkpoints'),
		table('Checkpoints, the newest first', [
			{ title: 'When', class: 'tight', bare: true, cell: (x) => when(x.timestamp) }, { title: 'Receipts', class: 'num', cell: (x) => x.tree_size.toLocaleString() }, { title: 'Witnesses', class: 'num', cell: (x) => String(x.cosigned) }, { title: 'Root', cell: (x) => h('code', null, x.root_hash) },
		], list.slice(0, 100), 'Nothing was signed yet. The first checkpoint comes with the first receipt.'),
		list.length > 100 ? h('p', { class: 'soft small' }, 'The newest 100 are shown; those before are in the log itself: ', h('code', null, 'helm serve fleet tiles DIR')) : null));
	listen(['checkpoint'], () => at.isCurrent() && !isBusy(main) && log(main, at, true));
}

/* ---- evidence ---- */

const WHAT = { pack: 'Evidence pack', csv: 'Acts as CSV', jsonl: 'Acts as JSONL' };
const FILTER = { verdict: 'verdict', node: 'machine', host: 'host', who: 'who', tool: 'tool', rule: 'rule', kind: 'kind', session: 'chain', q: 'text', from: 'from', to: 'to' };
// In words: which receipts it was made of.
function overWhat(x, machines, names) {
	const over = x.over || {}, of = (node) => { const m = machines.find((y) => y.node === node); return m ? names.text(m) : node; };
	const parts = Object.keys(FILTER).filter((k) => over[k]).map((k) => `${FILTER[k]} ${k === 'node' ? of(over[k]) : over[k]}`);
	return [parts.length ? said(parts.join('; ')) : x.what === 'pack' ? 'all machines' : 'all acts', over.before !== undefined ? h('span', { class: 'soft small' }, `, of the first ${Number(over.before).toLocaleString()} receipts in the tree`) : null];
}
const size = (n) => (n < 10000 ? `${n.toLocaleString()} bytes` : n < 10000000 ? `${Math.round(n / 1000).toLocaleString()} kB` : `${Math.round(n / 1000000).toLocaleString()} MB`);

function takenTable(doc, machines, names) {
	const box = table('Packs and exports that were taken here, the newest first', [
		{ title: 'When', class: 'tight', bare: true, cell: (x) => when(x.at) }, { title: 'What', bare: true, cell: (x) => [h('b', null, WHAT[x.what] || plain(x.what)), h('div', { class: 'soft small' }, 'SHA-256 ', h('code', null, (x.sha256 || '').replace(/^sha256:/, '')))] }, { title: 'By', class: 'mid', cell: (x) => parted((x.by || '').replace(/^reader:/, '')) }, { title: 'Over', class: 'mid', cell: (x) => overWhat(x, machines, names) },
		{ title: 'How much', class: 'num', cell: (x) => (x.rows === undefined ? size(x.bytes) : `${x.rows.toLocaleString()} rows`) }, { title: 'Order', class: 'num', cell: (x) => h('span', { title: x.hash }, x.order.toLocaleString()) }
	], doc.taken, 'Nothing was taken here yet.');
	const more = h('div', { class: 'more' });
	const offer = (next) => show(more, next ? h('button', { onclick: async (e) => { e.target.disabled = true; try { const d = await source.get('evidence?before=' + encodeURIComponent(next)); box.put(d.taken); offer(d.next); } catch (x) { alertIn(e.target, x.message); e.target.disabled = false; } } }, 'Older ones') : h('span', { class: 'soft small' }, 'These are all.'));
	offer(doc.next);
	if (doc.next) box.append(more);
	return box;
}

export async function evidence(main, at) {
	const [doc, taken] = await Promise.all([source.get('machines'), source.get('evidence')]), wanted = at.query.get('node') || '', names = named(doc.machines);
	const { select: which, hint } = chooseMachine(doc.machines, names, wanted);
	const list = h('div', { id: 'taken' }, takenTable(taken, doc.machines, names));
	const make = async (e) => {
		e.preventDefault();
		await download(e.submitter, 'evidence', which.value ? { node: which.value } : {}, 'fleet.helmpack');
		if (at.isCurrent()) show(list, takenTable(await source.get('evidence'), doc.machines, names));
	};
	show(main, page('Evidence', 'A pack holds every receipt of the chains it is about, the history of the keys that signed them, a proof that each chain’s end is in the signed tree, the checkpoint with its cosignatures, the orders and the forks.',
		h('form', { class: 'card', onsubmit: make }, h('h2', null, 'Make a pack'), h('div', { class: 'filters narrow' }, h('label', { class: 'field' }, h('span', null, 'Of'), which)), hint, h('button', { class: 'main', type: 'submit' }, 'Make and download'),
			h('p', { class: 'soft small after' }, 'Whoever gets it checks it alone: ', h('code', null, `helm verify fleet.helmpack --log-key ${state.me.log_vkey}`)), h('p', { class: 'soft small' }, 'One that is too large for a download is made at the centre: ', h('code', null, 'helm fleet export --out FILE'), '.')),
		h('h2', null, 'Taken here'), h('p', { class: 'soft small' }, 'Each pack, and each piece of an export of ', link('/console/acts', 'Acts'), ', is on record before it is given: as an order for no machine, in the chain that the control key signs, that every machine follows and that is in every pack. What cannot be put on record is not given. At a terminal: ', h('code', null, 'helm fleet orders --taken'), '.'), list));
}
