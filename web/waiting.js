// waiting.js — questions and their answers; stopping, and lifting a stop.
//
// An answer is signed by the person's key over the exact bytes that the dialog shows.  The dialog compares those bytes with the question as it
// stands on this page: what does not fit is not offered for signing.
import { ago, announce, facts, h, link, page, parted, plain, said, show, stateBadge, table, when } from './dom.js';
import { actPath } from './acts.js';
import { canonical, requestIsBound, sha256Text } from './proof.js';
import { readMessage, sign } from './passkey.js';
import { askedFor } from './shown.js';
import { listen, setWaiting, source, state } from './app.js';

/* ---- the dialog in which everything is signed ---- */

// rows: what the act says, as pairs; resolves when it was signed and is on record, or null when it was left.
export function confirm(title, rows, message, verb, path, asked) {
	const dialog = document.getElementById('dialog'), error = h('p', { class: 'small', role: 'alert' });
	return new Promise((done) => {
		const close = (result) => { dialog.close(); done(result); };
		const go = async (e) => {
			e.target.disabled = true;
			error.textContent = '';
			try { close(await sign(source, path, asked)); } catch (x) { show(error, h('span', { class: 'badge bad' }, plain(x.message))); e.target.disabled = false; }
		};
		show(dialog, h('h2', { id: 'dialog-title' }, title), facts(rows),
			h('details', null, h('summary', null, 'The exact bytes that your key signs'), h('code', { class: 'block' }, said(message))), error,
			h('div', { class: 'actions' }, h('button', { class: verb === 'Freeze' || verb === 'Deny' ? 'stop' : 'main', onclick: go }, verb + ' with your key'), h('button', { onclick: () => close(null) }, 'Leave it')));
		dialog.oncancel = () => done(null);
		dialog.showModal();
	});
}

/* ---- a question ---- */

// In a fleet a question is one machine's, and an answer an order to it.
const ofMachine = (entry) => (entry.node ? { node: entry.node } : {});

const REACH = { exact: 'this very call', shape: 'calls with the same effects on things of the same kind' };

// Does the grant that is to be signed answer the question that is shown?
async function grantFits(body, q) {
	const g = body.grant;
	return body.request_sha256 === 'sha256:' + (await sha256Text(canonical(q))) && g.approval_id === q.approval_id && (g.principal ?? null) === (q.principal ?? null) &&
		(g.reach !== 'exact' || g.args_sha256 === q.args_sha256) && canonical(g.covers) === canonical(q.covers);
}

async function approve(entry, reach, hours) {
	const q = entry.request, asked = await source.post(`waiting/${q.approval_id}/message`, { ...ofMachine(entry), answer: 'approve', reach, ...(reach === 'shape' ? { hours } : {}) });
	const { domain, body } = readMessage(asked.message);
	if (domain !== 'helm:approval:v2' || !(await grantFits(body, q))) throw new Error('what the server gave to sign is not about this question; nothing was signed');
	const g = body.grant;
	return confirm('Approve', [['Machine', entry.host ? said(entry.host + ', ' + entry.user) : null], ['Call', h('code', { class: 'block' }, said(q.preview))], ['Reaches', REACH[g.reach] || g.reach], ['How often', g.once ? 'once' : 'as often as it is asked'], ['For', said(g.principal || 'anybody')], ['Session', said(g.session || 'any')], ['Until', when(g.expires_at)], ['Grant', h('code', null, g.grant_id)]],
		asked.message, 'Approve', `waiting/${q.approval_id}/answer`, { ...asked, more: ofMachine(entry) });
}

// One of several people: the key signs the challenge of the question, which counts for this very call, once.
async function approveWithOthers(entry) {
	const q = entry.request, asked = await source.post(`waiting/${q.approval_id}/message`, { ...ofMachine(entry), answer: 'approve' });
	const { domain, body } = readMessage(asked.message);
	if (domain !== 'helm:quorum:v1' || body.decision !== 'ALLOW' || body.approval_id !== q.approval_id || body.quorum !== q.approvers || body.request_sha256 !== 'sha256:' + (await sha256Text(canonical(q)))) throw new Error('what the server gave to sign is not about this question; nothing was signed');
	return confirm('Say yes, as one of ' + q.approvers, [['Machine', entry.host ? said(entry.host + ', ' + entry.user) : null], ['Call', h('code', { class: 'block' }, said(q.preview))], ['Reaches', REACH.exact], ['How often', 'once'], ['For', said(q.principal || 'anybody')], ['Takes', `${q.approvers} people, each with a key of their own`], ['Others may join until', when(body.expires_at)]],
		asked.message, 'Approve', `waiting/${q.approval_id}/answer`, { ...asked, more: ofMachine(entry) });
}

async function deny(entry, reason) {
	const q = entry.request, asked = await source.post(`waiting/${q.approval_id}/message`, { ...ofMachine(entry), answer: 'deny', reason });
	const { domain, body } = readMessage(asked.message);
	if (domain !== 'helm:act:v1' || body.act !== 'deny' || body.approval_id !== q.approval_id || body.reason !== reason || (entry.node && (body.origin !== state.me.log_origin || canonical(body.nodes) !== canonical([entry.node]))) || body.request_sha256 !== 'sha256:' + (await sha256Text(canonical(q)))) throw new Error('what the server gave to sign is not this answer; nothing was signed');
	return confirm('Deny', [['Machine', entry.host ? said(entry.host + ', ' + entry.user) : null], ['Call', h('code', { class: 'block' }, said(q.preview))], ['Reason', said(reason || '—')]], asked.message, 'Deny', `waiting/${q.approval_id}/answer`, { ...asked, more: ofMachine(entry) });
}

// Who has said yes to a question that takes several, and how many are missing: in words, and as as many places.
function people(entry) {
	const q = entry.request, yes = entry.said_yes || [], missing = Math.max(0, q.approvers - yes.length), sent = yes.filter((y) => y.order);
	return h('div', { class: 'people' }, h('ul', { class: 'places', 'aria-label': 'Who has said yes' },
		yes.map((y) => h('li', { class: 'badge ' + (y.order ? 'warn' : 'good'), title: y.order ? `order ${y.order}` : y.key_id }, y.order ? '… ' : '✓ ', said(y.label || (y.key_id ? y.key_id.slice(0, 20) + '…' : 'somebody')))),
		Array.from({ length: Math.min(missing, 12) }, () => h('li', { class: 'badge open' }, 'open'))),
	h('p', { class: 'small soft' }, `This takes ${q.approvers} people, each with a key of their own. ${yes.length ? `${yes.length} said yes, ${missing} missing.` : 'Nobody has said yes yet.'}${sent.length ? ` The machine has not confirmed ${sent.length === 1 ? 'order ' + sent[0].order : 'orders ' + sent.map((y) => y.order).join(', ')} yet.` : ''}`));
}

function answers(entry, isBound, again) {
	const q = entry.request, several = q.approvers > 1, error = h('div', { 'aria-live': 'polite' });
	if (!isBound) return h('p', { class: 'alert bad' }, 'This is not the text that was signed. It cannot be answered here.');
	if (entry.order) return h('p', { class: 'alert' }, `Order ${entry.order} answers it. The machine has not confirmed that yet.`);
	if (!state.me.has_keys) return null;
	const run = (f) => async (e) => {
		const buttons = e.target.closest('.actions').querySelectorAll('button');
		show(error);
		for (const b of buttons) b.disabled = true;
		try {
			const done = await f();
			if (done) { announce(done.order ? `Order ${done.order} is given; the machine confirms it with a receipt.` : done.missing ? `Done; it is on record. ${done.missing} more must say yes.` : 'Done; it is on record.'); return again(done); }
		} catch (x) { show(error, h('p', { class: 'alert bad', role: 'alert' }, plain(x.message))); }
		for (const b of buttons) b.disabled = false;
		return null;
	};
	const reason = h('input', { name: 'reason', maxlength: '200', autocomplete: 'off', placeholder: 'why not', 'aria-label': 'Reason of a denial, for the record' });
	const mine = several && state.me.key_id && (entry.said_yes || []).some((y) => y.key_id === state.me.key_id);
	return h('div', { class: 'answers' },
		h('div', { class: 'actions' }, several
			? h('button', { class: 'main', disabled: mine, onclick: run(() => approveWithOthers(entry)) }, mine ? 'You have said yes' : 'Approve, as one of ' + q.approvers)
			: [h('button', { class: 'main', onclick: run(() => approve(entry, 'once')) }, 'Approve once'), h('button', { onclick: run(() => approve(entry, 'shape', 8)) }, 'Approve for this shape, 8 h')],
		h('span', { class: 'deny' }, reason, h('button', { class: 'stop', onclick: run(() => deny(entry, reason.value)) }, 'Deny'))), error);
}

const understood = (q) => (q.understood || []).filter((x) => x !== q.risk_reason);

async function card(entry, again, needsKey) {
	const q = entry.request, bound = await requestIsBound(q, entry.decision), more = understood(q), what = await askedFor(entry, entry.node ? null : q.shown_sha256);
	return h('article', { class: 'card question', id: q.approval_id, 'aria-label': 'Question ' + q.approval_id },
		h('div', { class: 'head' }, h('h2', null, parted(q.risk_reason || q.pending_action)), h('span', { class: 'soft small ends' }, 'expires ', ago(q.expires_at))),
		h('code', { class: 'block' }, said(q.preview)), what,
		more.length ? h('ul', { class: 'understood' }, more.map((x) => h('li', null, parted(x)))) : null,
		facts([
			['Machine', entry.node ? [link('/console/machine/' + encodeURIComponent(entry.node), said(entry.host)), ', ', said(entry.user)] : null], ['Who', parted(q.principal)], ['Rule', parted((q.rules || []).join(', '))], ['Where', h('code', null, parted(q.cwd || '—'))], ['Asked', [when(q.created_at), ' by ', said(q.door)]],
		], 'two'),
		q.approvers > 1 ? people(entry) : null,
		answers(entry, bound, again),
		h('div', { class: 'tail' },
			bound ? h('span', { class: 'badge good' }, '✓ this is the text that was signed') : h('span', { class: 'badge bad' }, '✕ not the text that was signed'),
			entry.decision_id ? link(actPath(entry.decision_id), 'receipt and proof') : null,
			h('details', null, h('summary', null, 'More'), facts([
				['At a terminal', h('code', null, entry.node ? `helm fleet approve ${q.approval_id} --node ${entry.node} --key FILE` : `helm approval approve ${q.approval_id}${needsKey || q.approvers > 1 ? ' --key FILE' : ''}`)], ['Session', q.session && entry.node ? said(q.session) : q.session ? link('/console/session/' + encodeURIComponent(q.session), said(q.session)) : null], ['Profile', said(q.profile)], ['Id', h('code', null, q.approval_id)],
			]))));
}

// Once for all questions: how somebody without a key comes to one.
const howTo = () => (state.me.has_keys ? null : state.me.kind === 'fleet' ? fleetKey() : h('p', { class: 'alert' }, 'You can look. Answering here takes a registered key: ', state.me.may_register ? 'register yours above.' : ['a person at a terminal invites you with ', h('code', null, 'helm serve invite --name NAME'), ', or answers there.']));

// A fleet has no registration of its own: who may answer stands in a list that a key kept offline has signed.
export const fleetKey = () => h('div', { class: 'alert' }, 'You can look. Answering and freezing here takes a passkey that the fleet’s list of approvers names. ', link('/console/key', 'Make one for this address'));

// What a fleet knows of an answer, in the words of actions.
const answerOf = (state) => ({ state: state === 'denied' ? 'refused' : state, state_text: state === 'denied' ? 'refused' : state });

// A list that is cut says of how many, and how to see the rest.
function cutLine(doc) {
	if (doc.shown >= doc.total) return null;
	const isFleet = state.me.kind === 'fleet', counted = `${doc.shown.toLocaleString('en')} of ${doc.total.toLocaleString('en')} questions are shown, the ${isFleet ? 'oldest' : 'newest'}. `;
	return h('p', { class: 'alert' }, counted, isFleet ? ['All: ', h('code', null, 'helm fleet questions')] : doc.shown < 1000 ? link('/console/waiting?limit=1000', 'Show more') : ['All: ', h('code', null, `helm approval list --limit ${doc.total}`)]);
}

export async function waiting(main, at) {
	const limit = at.query.get('limit'), doc = await source.get('waiting' + (limit ? '?limit=' + encodeURIComponent(limit) : '')), wanted = at.query.get('id'), open = doc.waiting;
	setWaiting(doc.total);
	const again = () => at.isCurrent() && waiting(main, at);
	const cards = await Promise.all(open.map((entry) => card(entry, again, doc.require_key)));
	const answered = state.me.kind === 'fleet' ? doc.answered : [...doc.answered].reverse();
	show(main, page('Waiting', open.length ? null : 'Nothing waits for an answer.', open.length ? howTo() : null, cutLine(doc), cards,
		h('h2', null, 'Answered'),
		table('Questions that were answered or have expired', [
			{ title: 'Answered', class: 'tight', bare: true, cell: (x) => when(x.resolved_at || x.request.expires_at) }, { title: 'Answer', bare: true, cell: (x) => stateBadge(x.action || answerOf(x.state)) },
			{ title: 'What', bare: true, cell: (x) => h('a', { class: 'caption', href: actPath(x.decision_id || ''), 'data-go': '' }, said(x.request.preview)) }, { title: 'Asked by', class: 'mid', cell: (x) => [x.host ? [said(x.host), ', '] : null, parted(x.request.principal)] }, { title: 'By', class: 'mid', cell: (x) => h('span', { class: 'small' }, parted(x.responder), x.said_yes && x.said_yes.length > 1 ? ` and ${x.said_yes.length - 1} before` : '') },
		], answered, 'No question was answered yet.'),
		doc.more ? h('p', { class: 'soft small' }, `The newest ${answered.length} are shown. `, link('/console/acts?kind=grant', 'Acts'), ' has all.') : null));
	const target = wanted && document.getElementById(wanted);
	if (target) target.scrollIntoView({ block: 'center' });
	listen(['asked', 'answered'], () => at.isCurrent() && !document.getElementById('dialog').open && !main.contains(document.activeElement?.closest('input')) && waiting(main, at));
}

/* ---- freeze ---- */

async function freezeAct(act, principal, reason) {
	const asked = await source.post('freeze/message', { act, principal, reason });
	const { domain, body } = readMessage(asked.message);
	if (domain !== 'helm:act:v1' || body.act !== act || body.principal !== principal || body.reason !== reason) throw new Error('what the server gave to sign is not this act; nothing was signed');
	return confirm(act === 'freeze' ? 'Freeze' : 'Lift the freeze', [['Who', principal === '*' ? 'everybody' : said(principal)], ['Reason', said(reason || '—')], ['Workspace', h('code', null, said(body.workspace))]], asked.message, act === 'freeze' ? 'Freeze' : 'Lift', 'freeze', asked);
}

export async function freeze(main, at) {
	const doc = await source.get('freeze'), error = h('div', { 'aria-live': 'polite' });
	const who = h('select', { name: 'principal' }, h('option', { value: '*' }, 'everybody'), doc.principals.filter((x) => /^(agent|user|person):/.test(x.value)).map((x) => h('option', { value: x.value }, plain(x.value)))), reason = h('input', { name: 'reason', maxlength: '200', autocomplete: 'off', required: true });
	const run = async (f) => {
		show(error);
		try { if (await f()) { announce('Done; it is on record.'); await freeze(main, at); } } catch (x) { show(error, h('p', { class: 'alert bad' }, plain(x.message))); }
	};
	const why = (f) => h('input', { 'aria-label': 'Reason to lift the freeze of ' + plain(f.principal), placeholder: 'reason', maxlength: '200' });
	show(main, page('Freeze', 'Frozen means: nothing is allowed any more, for one or for everybody, until a person lifts it.',
		doc.frozen.length ? doc.frozen.map((f) => {
			const text = why(f);
			return h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', null, f.principal === '*' ? 'Everybody' : said(f.principal)), h('span', { class: 'badge bad' }, '✕ frozen')),
				facts([['Since', when(f.since)], ['Why', said(f.reason || '—')], ['By', said(f.by || '')], ['Receipt', f.receipt_id ? link(actPath(f.receipt_id), h('code', null, f.receipt_id)) : null]]),
				state.me.has_keys ? h('div', { class: 'actions' }, text, h('button', { onclick: () => run(() => freezeAct('unfreeze', f.principal, text.value)) }, 'Lift it')) : null);
		}) : h('p', { class: 'alert good' }, 'Nobody is frozen.'),
		state.me.has_keys ? h('form', { class: 'card', onsubmit: (e) => { e.preventDefault(); run(() => freezeAct('freeze', who.value, reason.value)); } }, h('h2', null, 'Freeze'), h('div', { class: 'filters' },
			h('label', { class: 'field' }, h('span', null, 'Who'), who), h('label', { class: 'field' }, h('span', null, 'Reason'), reason)), h('button', { class: 'stop' }, 'Freeze'))
			: h('p', { class: 'soft small' }, 'Freezing here takes a registered key; ', h('code', null, 'helm freeze'), ' works at a terminal.'), error,
		h('h2', null, 'Before'),
		table('Freezes and their ends', [{ title: 'When', class: 'tight', bare: true, cell: (x) => when(x.at) }, { title: 'What', bare: true, cell: (x) => h('a', { class: 'caption', href: actPath(x.id), 'data-go': '' }, said(x.caption)) }, { title: 'By', cell: (x) => said(x.who || '') }], doc.history, 'Nobody was ever frozen here.'),
		doc.more ? h('p', { class: 'soft small' }, `The newest ${doc.history.length} are shown. `, link('/console/acts?kind=freeze', 'Acts'), ' has all.') : null));
	listen(['act'], () => at.isCurrent() && !document.getElementById('dialog').open && !main.contains(document.activeElement?.closest('input')) && freeze(main, at));
}
