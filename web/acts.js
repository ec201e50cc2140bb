// acts.js — acts on record: found and paged through; one of them with its proof; a session as a line of time.
import { trustKey, trustedKey } from './api.js';
import { add, badge, facts, h, link, page, parted, plain, said, show, stateBadge, table, when } from './dom.js';
import { chain, timeline, tree } from './pictures.js';
import { requestIsBound, verify } from './proof.js';
import { askedFor } from './shown.js';
import { listen, setQuery, source, state } from './app.js';

const FILTERS = ['verdict', 'host', 'node', 'who', 'tool', 'rule', 'session', 'kind', 'q', 'from', 'to'];
export const actPath = (id) => '/console/act/' + encodeURIComponent(id);
export const caption = (act) => h('a', { class: 'caption', href: actPath(act.id), 'data-go': '' }, said(act.caption || act.tool || act.kind || act.id));

export const selfTest = (act) => (act.self_test ? h('span', { class: 'badge' }, 'self-test of helm setup') : null);

const inFleet = () => state.me && state.me.kind === 'fleet';
const machineOf = (a) => link('/console/machine/' + encodeURIComponent(a.node), said(a.host));

// What was done by an order of a fleet's centre names the order by its hash.
const ruleText = (rule) => (rule.startsWith('order:') ? 'order ' + rule.slice(6, 18) + '…' : rule);

export const columns = () => [
	{ title: 'When', class: 'tight', bare: true, cell: (a) => when(a.at) },
	{ title: 'State', class: 'tight', bare: true, cell: stateBadge },
	{ title: 'What', bare: true, cell: (a) => (a.self_test ? [caption(a), ' ', selfTest(a)] : caption(a)) },
	inFleet() ? { title: 'Machine', class: 'mid', cell: (a) => [machineOf(a), h('span', { class: 'soft small' }, ' ', parted(a.user))] } : null,
	{ title: 'Who', class: 'mid', cell: (a) => parted(a.who) },
	{ title: 'Rule', class: 'mid', cell: (a) => (a.rule ? h('span', { class: 'small soft' }, parted(ruleText(a.rule))) : '') },
].filter(Boolean);

function saveAs(blob, name) {
	const url = URL.createObjectURL(blob), a = h('a', { href: url, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}
export async function download(button, path, body, name) {
	button.disabled = true;
	try { saveAs(await source.download(path, body), name); } catch (e) { alertIn(button, e.message); } finally { button.disabled = false; }
}
export function alertIn(node, text) {
	const old = node.parentNode.querySelector('.alert');
	if (old) old.remove();
	node.parentNode.append(h('p', { class: 'alert bad', role: 'alert' }, plain(text)));
}

/* ---- the list ---- */

const asQuery = (query) => {
	const out = new URLSearchParams();
	for (const name of FILTERS) if (query.get(name)) out.set(name, query.get(name));
	return out;
};

function choose(which, title, query, options) {
	const all = options.some((o) => o.value === query.get(which)) || !query.get(which) ? options : [{ value: query.get(which) }, ...options];
	return h('label', { class: 'field' }, h('span', null, title),
		h('select', { name: which, onchange: (e) => setQuery({ [which]: e.target.value, before: null }) },
			h('option', { value: '' }, 'any'), all.map((o) => h('option', { value: o.value, selected: query.get(which) === o.value }, plain(o.title || o.value) + (o.count ? ` (${o.count})` : '')))));
}

function moment(which, title, query) {
	const given = query.get(which), local = given ? new Date(new Date(given) - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 16) : '';
	return h('label', { class: 'field time' }, h('span', null, title), h('input', { type: 'datetime-local', name: which, value: local,
		onchange: (e) => setQuery({ [which]: e.target.value ? new Date(e.target.value).toISOString() : null, before: null }) }));
}

export async function list(main, at) {
	const query = asQuery(at.query);
	const [first, values] = await Promise.all([source.get('acts?limit=50&' + query), source.get('acts/values')]);
	let next = first.next;
	const text = h('input', { type: 'search', name: 'q', value: at.query.get('q') || '', placeholder: 'words of it' });
	const fresh = h('div', { 'aria-live': 'polite' });
	const inner = h('form', { class: 'filters', onsubmit: (e) => { e.preventDefault(); setQuery({ q: text.value }); } },
		h('label', { class: 'field long' }, h('span', null, 'Text'), text),
		choose('verdict', 'Verdict', at.query, [{ value: 'stopped', title: 'asked or denied' }, { value: 'ALLOW', title: 'allowed' }, { value: 'ESCALATE', title: 'asked' }, { value: 'DENY', title: 'denied' }]),
		values.host ? choose('host', 'Machine', at.query, values.host) : null,
		choose('who', 'Who', at.query, values.who), choose('tool', 'Tool', at.query, values.tool), choose('rule', 'Rule', at.query, values.rule),
		choose('kind', 'Kind', at.query, values.kind), values.session ? choose('session', 'Session', at.query, values.session) : null, moment('from', 'From', at.query), moment('to', 'Before', at.query),
		h('button', { type: 'submit' }, 'Find'));
	const isWide = matchMedia('(min-width: 44rem)').matches, used = [...query.keys()].length;
	const filters = h('details', { class: 'filterbox', open: isWide || used > 0 }, h('summary', null, used ? `Filters (${used})` : 'Filters'), inner);
	const rows = table('Acts on record, the newest first', columns(), first.acts, [...query.keys()].length ? 'Nothing on record fits these filters.' : 'Nothing is on record yet. What an agent does behind Helm appears here at once.');
	const more = h('div', { class: 'more' }), far = (doc) => (doc.is_cut ? h('span', { class: 'soft small' }, 'So far nothing more was found; older acts were not looked through yet.') : null);
	let last = first;
	const older = async (button) => {
		button.disabled = true;
		let got;
		try { got = await source.get(`acts?limit=100&before=${encodeURIComponent(next)}&${query}`); } catch (e) { button.disabled = false; return alertIn(button, e.message); }
		next = got.next;
		last = got;
		rows.put(got.acts);
		return foot();
	};
	const count = async (e) => { let n; try { n = (await source.get('acts?limit=1&count=1&' + query)).count; } catch (x) { return alertIn(e.target, x.message); } return e.target.replaceWith(h('span', { class: 'soft small' }, n >= 100000 ? 'more than 100 000' : `${n} in all`)); };
	const foot = () => show(more,
		far(last),
		next ? h('button', { onclick: (e) => older(e.target) }, last.is_cut ? 'Look further back' : 'Older ones') : first.acts.length ? h('span', { class: 'soft small' }, 'These are all.') : null,
		first.acts.length ? h('button', { class: 'plain', onclick: count }, 'Count them') : null,
		first.acts.length ? h('button', { class: 'plain', onclick: (e) => download(e.target, 'acts/export?format=csv&' + query, undefined, 'acts.csv') }, 'CSV') : null,
		first.acts.length ? h('button', { class: 'plain', onclick: (e) => download(e.target, 'acts/export?format=jsonl&' + query, undefined, 'acts.jsonl') }, 'JSON lines') : null,
		inFleet() ? null : h('button', { class: 'plain', onclick: (e) => download(e.target, 'evidence', pick(query), 'evidence.helmpack.tar') }, 'Evidence pack'));
	foot();
	rows.append(more);
	show(main, page('Acts', null, first.behind ? h('p', { class: 'alert' }, 'The list is still being made from the record; older acts come with the next look.') : null, filters, fresh, rows));
	let n = 0;
	state.listeners.add((type) => {
		if (type === 'begin' || type === 'checkpoint') return;
		n++;
		show(fresh, h('p', { class: 'alert' }, `${n} new since you looked. `, h('button', { class: 'plain', onclick: () => setQuery({}) }, 'Show')));
	});
}

const pick = (query) => Object.fromEntries(['session', 'from', 'to'].filter((n) => query.get(n)).map((n) => [n, query.get(n)]));

/* ---- sessions ---- */

export async function sessions(main, at) {
	const limit = at.query.get('limit'), doc = await source.get('sessions' + (limit ? '?limit=' + encodeURIComponent(limit) : ''));
	const cut = doc.shown < doc.total ? h('p', { class: 'alert' }, `${doc.shown.toLocaleString('en')} of ${doc.total.toLocaleString('en')} sessions are shown, the newest. `, doc.shown < 1000 ? link('/console/sessions?limit=1000', 'Show more') : ['All: ', h('code', null, 'helm log sessions --limit 0')]) : null;
	show(main, page('Sessions', 'What agents did, session by session.', doc.note ? h('p', { class: 'alert' }, doc.note) : null, cut,
		table('Sessions of agents, the newest first', [
			{ title: 'Last act', class: 'tight', bare: true, cell: (x) => when(x.last_at) },
			{ title: 'Session', cell: (x) => link('/console/session/' + encodeURIComponent(x.session), said(x.session)) },
			{ title: 'Client', cell: (x) => said(x.client) },
			{ title: 'Calls', class: 'num', cell: (x) => String(x.calls) }, { title: 'Allowed', class: 'num', cell: (x) => String(x.allowed) },
			{ title: 'Asked', class: 'num', cell: (x) => String(x.asked) }, { title: 'Denied', class: 'num', cell: (x) => String(x.denied) },
		], doc.sessions, 'No agent has called yet. helm setup CLIENT puts Helm in front of one.')));
}

export async function session(main, at) {
	const doc = await source.get('acts?limit=500&session=' + encodeURIComponent(at.id)), rows = doc.acts;
	show(main, page(['Session ', h('span', { class: 'mono' }, said(at.id))], rows.length ? `${rows.length}${doc.next ? ' newest' : ''} acts of ${plain(rows[0].who || '')}.` : null,
		doc.next ? h('p', { class: 'alert' }, `The newest ${rows.length} are shown. `, link('/console/acts?session=' + encodeURIComponent(at.id), 'All of this session')) : null,
		rows.length ? h('div', { class: 'card' }, h('h2', null, 'Time line'), timeline(rows)) : null,
		table('Acts of this session, the newest first', columns(), rows, 'Nothing is on record of this session.'),
		rows.length ? h('div', { class: 'actions' }, h('button', { onclick: (e) => download(e.target, 'evidence', { session: at.id }, 'evidence.helmpack.tar') }, 'Evidence pack of this session')) : null));
	listen(['stopped', 'asked', 'answered', 'act'], () => at.isCurrent() && session(main, at));
}

/* ---- one act ---- */

// What there is nothing of has no row.
const some = (text) => (text ? said(text) : null);
const KINDS = { grant: 'Approval', denial: 'Refusal', freeze: 'Freeze', evidence: 'Evidence pack', setting: 'Setting', fleet: 'Fleet' };
export const nameOf = (act) => (act.tool ? said(act.tool) : KINDS[act.kind] || plain(act.kind || 'Act'));

const SIGNS = { pass: '✓', fail: '✕', unknown: '?' };

// How the receipts of one workspace are checked: against the key that this browser keeps.
const HERE = { verify: (given) => verify(given, trustedKey()), keep: (...x) => keepKey(...x) };

// Checked here, from the exact line; whoever doubts it changes a character and sees.
export function proofPanel(given, title, by = HERE) {
	const box = h('section', { class: 'card proof', 'aria-label': title || 'Proof' });
	const line = h('textarea', { spellcheck: 'false', 'aria-label': 'The receipt as it was signed; change it, and it is checked again' });
	const result = h('div', { 'aria-live': 'polite' });
	line.value = given.receipt;
	let asked = 0;
	const check = async () => {
		const began = performance.now(), mine = ++asked;
		box.className = 'card proof';
		const rows = await by.verify({ ...given, receipt: line.value });
		if (mine !== asked) return; // it was changed meanwhile, and is looked at again
		const wrong = rows.filter((r) => r.state === 'fail'), open = rows.filter((r) => r.state === 'unknown' && r.name !== 'decision');
		const how = wrong.length ? 'fail' : open.length ? 'unknown' : 'pass';
		box.className = 'card proof ' + how;
		show(result,
			h('div', { class: 'verdictline' }, h('span', { class: 'seal', 'aria-hidden': 'true' }, SIGNS[how]),
				h('div', null, h('h2', { class: 'proof-title' }, how === 'pass' ? 'The proof holds' : how === 'fail' ? `The proof fails at: ${wrong.map((r) => r.title.toLowerCase()).join('; ')}` : 'The proof holds as far as it can be checked'),
					h('p', { class: 'soft small' }, `${rows.filter((r) => r.state === 'pass').length} checks hold. Made in this browser in ${(performance.now() - began).toFixed(1)} ms, not by the server.`))),
			h('ul', { class: 'checks' }, rows.map((r) => h('li', { class: r.state, 'data-check': r.name }, h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[r.state]),
				h('div', null, h('b', null, r.title), h('span', { class: 'hidden' }, r.state === 'pass' ? ': holds' : r.state === 'fail' ? ': fails' : ': not known'), h('small', null, r.detail ? plain(r.detail) : r.about),
					r.state === 'unknown' ? by.keep(r.name, given, check) : null)))));
	};
	const flip = () => {
		const bytes = new TextEncoder().encode(line.value), at = Math.floor(Math.random() * bytes.length);
		for (let i = 0; i < bytes.length; i++) {
			const k = (at + i) % bytes.length, changed = bytes[k] ^ 1;
			if (/[0-9a-z]/.test(String.fromCharCode(bytes[k])) && /[0-9a-z]/.test(String.fromCharCode(changed))) { bytes[k] = changed; break; }
		}
		line.value = new TextDecoder().decode(bytes);
		return check();
	};
	add(box, [result, h('details', null, h('summary', null, 'The receipt as it was signed'),
		h('p', { class: 'soft small' }, 'Change any character: the check that fails says so.'), line,
		h('div', { class: 'actions' }, h('button', { onclick: flip, class: 'flip' }, 'Flip one bit'), h('button', { onclick: () => { line.value = given.receipt; return check(); } }, 'Put it back')))]);
	line.addEventListener('input', check);
	box.ready = check();
	return box;
}

const keepKey = (name, given, check) => {
	if (name !== 'key') return null;
	const key = JSON.parse(given.receipt).public_key_set.ed25519;
	return h('div', { class: 'small' }, h('p', null, 'Compare with ', h('code', null, 'helm key show'), ': ', h('code', { class: 'mono' }, key)),
		h('button', { class: 'plain', onclick: () => { trustKey(key); return check(); } }, 'It is the same; keep it'));
};

const STEPS = { grant: 'Approved', denial: 'Refused by a person' };
function steps(doc) {
	const { act, question, outcome } = doc, rows = [];
	if (question) rows.push(['ESCALATE', 'Asked', question.request.created_at, question.request.risk_reason]);
	rows.push([act.kind === 'grant' ? 'ALLOW' : act.kind === 'denial' ? 'DENY' : act.verdict, act.verdict === 'DENY' ? 'Denied' : act.verdict === 'ESCALATE' ? 'Not done until somebody answers' : act.verdict === 'ALLOW' ? 'Allowed' : STEPS[act.kind] || 'Put on record', act.at, act.reason || act.rule || '']);
	for (const one of doc.related.filter((x) => x.id !== act.id))
		rows.push([one.kind === 'grant' ? 'ALLOW' : one.kind === 'denial' ? 'DENY' : one.verdict, STEPS[one.kind] || (one.verdict === 'ESCALATE' ? 'Not done until somebody answers' : one.kind), one.at, [one.who, ' ', link(actPath(one.id), 'receipt')]]);
	if (outcome) rows.push([act.state === 'failed' ? 'DENY' : 'ALLOW', act.state_text || act.status, JSON.parse(outcome.receipt).timestamp, '']);
	rows.sort((x, y) => new Date(x[2]) - new Date(y[2]));
	return h('ol', { class: 'steps' }, rows.map(([kind, title, at, text]) => h('li', { class: kind || null }, h('b', null, title), ' ', when(at), text && h('div', { class: 'soft small' }, Array.isArray(text) ? text : said(text)))));
}

function understood(call) {
	const effects = ((call && call.asked) || {}).effects || [];
	if (!effects.length) return null;
	return h('section', null, h('h2', null, 'What was understood'), table('Effects that were understood', [
		{ title: 'Does', class: 'tight', cell: (x) => said(x.kind) }, { title: 'How', class: 'tight', cell: (x) => h('span', { class: 'small soft' }, said(x.tag || '')) },
		{ title: 'On', cell: (x) => h('span', { class: 'caption' }, said(x.target || '')) }, { title: 'By', class: 'tight', cell: (x) => said(x.program || '') }, { title: 'Certain', class: 'tight', cell: (x) => said(x.certainty || '') },
	], effects));
}

// What `helm guard explain` says about a command, as nodes of a tree.
const STRICT = { deny: 2, require_approval: 1 };
function explained(doc) {
	const worst = (list) => list.reduce((w, f) => ((STRICT[f.action] || 0) > (STRICT[w] || 0) ? f.action : w), '');
	const word = (action) => ({ deny: 'DENY', require_approval: 'ESCALATE' })[action] || 'ALLOW';
	const nodes = (doc.steps || []).map((x) => ({ text: x.text, verdict: word(worst(x.findings)),
		note: x.findings.map((f) => f.rule).join(', ') || x.effects.map((f) => [f.kind, f.where && `(${f.where})`].filter(Boolean).join(' ')).join(', '), more: x.findings.map((f) => f.text + (f.instead ? '; instead: ' + f.instead : '')).join('. '), children: [], parent: x.parent }));
	const root = { text: doc.verdict === 'DENY' ? 'denied' : doc.verdict === 'ESCALATE' ? 'a person must approve' : 'allowed', verdict: doc.verdict, note: doc.detail_code || '', more: doc.understood || '', children: [] };
	for (const n of nodes) (n.parent >= 0 && nodes[n.parent] ? nodes[n.parent] : root).children.push(n);
	return nodes.length ? root : null;
}

async function explain(box, command, cwd) {
	const doc = await source.post('explain', cwd ? { command, cwd } : { command });
	const root = explained(doc);
	if (!root) return;
	const rows = [];
	const walk = (n, depth) => { rows.push({ ...n, depth }); for (const c of n.children) walk(c, depth + 1); };
	walk(root, 0);
	show(box, h('section', { class: 'card' }, h('h2', null, 'The command as a tree'), h('p', { class: 'soft small' }, 'As helm guard explain reads it now.'), tree(root),
		h('details', null, h('summary', null, 'As a table'), table('Parts of the command', [
			{ title: 'Level', class: 'num', cell: (x) => String(x.depth) }, { title: 'Part', cell: (x) => h('span', { class: 'caption' }, said(x.text)) }, { title: 'Verdict', cell: (x) => badge(x.verdict, '—') }, { title: 'Rule or effect', cell: (x) => said(x.note) }, { title: 'Why', cell: (x) => said(x.more || '') },
		], rows))));
}

async function chainPicture(box, given, act) {
	const r = JSON.parse(given.receipt), log = await source.get('log'), before = given.previous && JSON.parse(given.previous);
	const short = (x) => (x.receipt_id.split('.')[1] || x.receipt_id).slice(0, 14);
	const list = [before && { clock: before.lamport_clock, text: short(before) }, { clock: r.lamport_clock, text: short(r), isThis: true }].filter(Boolean);
	const head = given.proof && given.proof.head;
	show(box, h('section', { class: 'card' }, h('h2', null, 'In the chain'), chain(list, head ? [head] : log.heads, log.receipts),
		h('details', null, h('summary', null, 'As a table'), table('This receipt and its neighbours', [
			{ title: 'Clock', class: 'num', cell: (x) => String(x.clock) }, { title: 'Mark', cell: (x) => h('code', null, x.text) }, { title: 'Which', cell: (x) => (x.isThis ? 'this one' : 'the one before') },
		], list))));
}

export async function one(main, at) {
	const doc = await source.get('acts/' + encodeURIComponent(at.id)), { act, decision, call, question } = doc;
	const receipt = decision && JSON.parse(decision.receipt), about = (receipt && receipt.metadata) || {};
	const command = call && call.asked && call.asked.params && call.asked.params.command;
	const treeBox = h('div'), chainBox = h('div');
	const panel = decision ? proofPanel(decision) : null;
	const what = await askedFor(decision, about.shown_sha256);
	const bound = question && receipt && receipt.subject ? await requestIsBound(question.request, receipt.subject) : null;
	show(main,
		h('div', { class: 'head' }, h('h1', { tabindex: '-1' }, nameOf(act), ' '), stateBadge(act), selfTest(act)),
		h('code', { class: 'block' }, said(command || (question && question.request.preview) || act.sentence || act.caption || '—')), what,
		h('div', { class: 'pair' },
			h('div', null,
				h('section', { class: 'card' }, h('h2', null, 'What happened'), steps(doc)),
				h('section', { class: 'card' }, h('h2', null, 'About it'), facts([
					['Who', parted(act.who)], ['When', when(act.at)], ['Rule', act.rule ? link('/console/acts?rule=' + encodeURIComponent(act.rule), parted(act.rule)) : null], ['Reason', some(act.reason)],
					['Came by', some(act.entry_point || act.door)], ['Session', act.session ? link('/console/session/' + encodeURIComponent(act.session), said(act.session)) : null],
					['Profile', some(about.profile)], ['Walls', some(about.containment)], ['Directory', call && call.cwd ? h('code', null, parted(call.cwd)) : null], ['Task', act.task_id ? h('code', null, act.task_id) : null],
					['Question', act.approval_id ? link('/console/waiting?id=' + encodeURIComponent(act.approval_id), act.approval_id) : null],
					['Text', bound === null ? null : bound ? h('span', { class: 'badge good' }, '✓ what is shown is what was signed') : h('span', { class: 'badge bad' }, '✕ the text is not the one that was signed')],
					['Receipt', receipt ? h('code', null, receipt.receipt_id.split('.')[0]) : 'none of its own: it only read; its row is bound by a later receipt'],
				]), doc.question_problem ? h('p', { class: 'alert bad' }, plain(doc.question_problem)) : null),
				understood(call)),
			h('div', null, panel, doc.outcome ? h('details', { class: 'card' }, h('summary', null, 'Proof of the outcome'), proofPanel(doc.outcome, 'Proof of the outcome')) : null, chainBox)),
		treeBox);
	if (panel) await panel.ready;
	if (command) explain(treeBox, command, call.cwd).catch(() => {});
	if (decision) chainPicture(chainBox, decision, act).catch(() => {});
}
