// views.js — pages that look: now, the log, evidence, policy, tools, spend, memory.
import { ago, badge, facts, h, link, page, parted, plain, said, show, table, when } from './dom.js';
import { alertIn, columns, download } from './acts.js';
import { growth } from './pictures.js';
import { listen, setQuery, setWaiting, source } from './app.js';

const number = (n, what, kind, href) => h(href ? 'a' : 'div', { class: 'number ' + (n ? kind : ''), href, 'data-go': href ? '' : null }, h('b', null, String(n)), h('span', null, what));

/* ---- now ---- */

export async function now(main, at) {
	const doc = await source.get('now'), how = doc.standing, wrong = how.wrong || [], frozen = how.freeze || [], reasons = how.reasons || [];
	setWaiting(doc.waiting);
	const dayAgo = new Date(Date.now() - 86400000).toISOString();
	show(main, page('Now', how.headline || null,
		h('div', { class: 'three' },
			number(doc.stopped_24h, (doc.stopped_24h >= 100000 ? 'or more ' : '') + 'stopped in 24 hours' + (doc.behind ? ', as far as the record was read; reading goes on' : '') + (doc.self_tests_24h ? `; besides ${doc.self_tests_24h} of the self-test of helm setup` : ''), 'bad', '/console/acts?verdict=stopped&from=' + encodeURIComponent(dayAgo)),
			number(doc.waiting, doc.waiting === 1 ? 'waits for an answer' : 'wait for an answer', 'warn', '/console/waiting'),
			number(reasons.length, reasons.length === 1 ? 'thing needs attention' : 'things need attention', wrong.length + frozen.length ? 'bad' : 'warn', frozen.length ? '/console/freeze' : null)),
		frozen.map((f) => h('p', { class: 'alert bad' }, h('b', null, f.principal === '*' ? 'Everything is frozen' : ['Frozen: ', said(f.principal)]), ' ', said(f.reason || ''), ' ', link('/console/freeze', 'Freeze'))),
		wrong.map((w) => h('div', { class: 'alert bad' }, h('b', null, said(w.text)), h('p', { class: 'small soft' }, 'remedy: ', h('code', null, said(w.remedy))))),
		h('h2', null, 'What was stopped'),
		table('What was asked or denied, the newest first', columns(), doc.stopped, 'Nothing was stopped. That is how it should be.'),
		doc.stopped.length < doc.stopped_all ? h('p', { class: 'soft small', id: 'more-stopped' }, `${doc.stopped.length} of ${doc.stopped_all >= 100000 ? 'at least ' : ''}${doc.stopped_all} are shown. `, link('/console/acts?verdict=stopped', 'All that were stopped')) : null));
	listen(['stopped', 'asked', 'answered', 'act'], () => at.isCurrent() && now(main, at));
	if (doc.behind) setTimeout(() => at.isCurrent() && now(main, at), 1000);
}

/* ---- the log ---- */

export async function log(main, at) {
	const doc = await source.get('log'), heads = doc.heads, last = heads[heads.length - 1];
	const check = h('button', { onclick: () => checkHeads(result, heads) }, 'Check the heads here');
	const result = h('div', { 'aria-live': 'polite' });
	show(main, page('Log', 'Every receipt is a leaf of one tree. A signed head fixes all of them; an anchor keeps a head where this machine cannot change it.',
		doc.end_is_sound ? null : h('p', { class: 'alert bad' }, h('b', null, 'The end of the chain is not sound. '), plain(doc.problem || '')),
		doc.record.sound || doc.record.checked === 'no' ? null : h('div', { class: 'alert bad', id: 'record-not-sound' }, h('b', null, 'The record is not sound. '), plain(doc.record.why || ''), h('p', { class: 'small soft' }, 'remedy: ', h('code', null, said(doc.record.remedy || 'helm log check')))),
		h('div', { class: 'three' }, number(doc.receipts, 'receipts', ''), number(last ? last.tree_size : 0, last ? `under the newest head, ${ago(last.timestamp)}` : 'under a signed head', ''), number(doc.anchors.length, 'anchors elsewhere', '')),
		heads.length > 1 ? h('section', { class: 'card' }, h('h2', null, 'Growth'), growth(heads)) : null,
		h('section', { class: 'card' }, h('h2', null, 'This chain'), facts([['Chain', h('code', null, doc.chain_id || '—')], ['Last receipt', when(doc.last_at)], ['Key', last ? h('code', null, last.public_key) : null], ['End', doc.end_is_sound ? h('span', { class: 'badge good' }, '✓ the last receipts continue each other') : h('span', { class: 'badge bad' }, '✕ not sound')], ['Record', plain(doc.record.text)]]), h('div', { class: 'actions' }, heads.length ? check : null), result),
		h('h2', null, 'Signed heads'),
		table('Signed heads, the newest first', [
			{ title: 'When', class: 'tight', bare: true, cell: (x) => when(x.timestamp) }, { title: 'Receipts', class: 'num', cell: (x) => String(x.tree_size) }, { title: 'Root', cell: (x) => h('code', null, x.root_hash) },
		], [...heads].reverse().slice(0, 100), 'No head was signed yet. helm log head --sign signs one.'),
		doc.heads_total > 100 ? h('p', { class: 'soft small' }, `100 of ${doc.heads_total.toLocaleString('en')} heads are shown, the newest. All: `, h('code', null, 'GET /api/v1/boundary/checkpoints')) : null,
		h('h2', null, 'Anchors'),
		table('Anchors', [{ title: 'Kept at', cell: (x) => said(x.to) }, { title: 'Receipts', class: 'num', cell: (x) => String((x.head || {}).tree_size ?? '') }, { title: 'When', cell: (x) => when((x.head || {}).timestamp) }], doc.anchors, 'No head is kept elsewhere. helm log anchor keeps one.')));
	listen(['stopped', 'asked', 'answered', 'act'], () => at.isCurrent() && log(main, at));
}

async function checkHeads(box, heads) {
	const { canonical, hex, sha256, unhex } = await import('./proof.js');
	let good = 0;
	const bad = [];
	for (const x of heads) {
		try {
			const key = await crypto.subtle.importKey('raw', unhex(x.public_key), { name: 'Ed25519' }, false, ['verify']);
			const text = canonical({ log_id: x.log_id, root_hash: x.root_hash, timestamp: x.timestamp, tree_size: x.tree_size });
			if (x.log_id === hex(await sha256(unhex(x.public_key))) && (await crypto.subtle.verify({ name: 'Ed25519' }, key, unhex(x.signature), new TextEncoder().encode(text)))) good++;
			else bad.push(x);
		} catch { bad.push(x); }
	}
	for (let i = 1; i < heads.length; i++) if (heads[i].tree_size < heads[i - 1].tree_size) bad.push(heads[i]);
	show(box, bad.length ? h('p', { class: 'alert bad' }, `${bad.length} heads do not hold, the first over ${bad[0].tree_size} receipts.`) : h('p', { class: 'alert good' }, `All ${good} signatures hold, and the log never became shorter.`));
}

/* ---- evidence ---- */

export async function evidence(main) {
	const doc = await source.get('evidence');
	const sessionText = h('input', { name: 'session', autocomplete: 'off' }), from = h('input', { type: 'datetime-local' }), to = h('input', { type: 'datetime-local' });
	const iso = (x) => (x.value ? { [x === from ? 'from' : 'to']: new Date(x.value).toISOString() } : {});
	const make = (e) => {
		e.preventDefault();
		download(e.submitter, 'evidence', { ...(sessionText.value ? { session: sessionText.value } : {}), ...iso(from), ...iso(to) }, 'evidence.helmpack.tar').then(() => setTimeout(() => setQuery({}), 400));
	};
	show(main, page('Evidence', 'A pack holds receipts, what belongs to them and the signed head, and can be verified anywhere.',
		h('form', { class: 'card', onsubmit: make }, h('h2', null, 'Make a pack'), h('div', { class: 'filters' },
			h('label', { class: 'field long' }, h('span', null, 'Session (empty: all)'), sessionText), h('label', { class: 'field time' }, h('span', null, 'From'), from), h('label', { class: 'field time' }, h('span', null, 'Before'), to)),
			h('button', { class: 'main', type: 'submit' }, 'Make and download'), h('p', { class: 'soft small after' }, 'Whoever gets it checks it with ', h('code', null, 'helm evidence verify PACK'), '.')),
		h('h2', null, 'Packs that were made here'),
		table('Packs', [
			{ title: 'When', class: 'tight', bare: true, cell: (x) => when(x.at) }, { title: 'By', cell: (x) => said(x.who) },
			{ title: 'Over', cell: (x) => said(x.session ? 'session ' + x.session : [x.from && 'from ' + x.from, x.to && 'before ' + x.to].filter(Boolean).join(', ') || 'everything') },
			{ title: 'Bytes', class: 'num', cell: (x) => String(x.bytes) }, { title: 'Digest', cell: (x) => link('/console/act/' + encodeURIComponent(x.id), h('code', null, (x.sha256 || '').slice(0, 23) + '…')) },
		], doc.packs, 'No pack was made from here yet.'),
		doc.more ? h('p', { class: 'soft small' }, `The newest ${doc.packs.length} are shown. `, link('/console/acts?kind=evidence', 'Acts'), ' has all.') : null));
}

/* ---- policy ---- */

const SAYS = { DENY: ['DENY', '✕ deny'], ESCALATE: ['ESCALATE', '? ask'], ALLOW: ['ALLOW', '✓ allow'] };
const says = (verdict) => h('span', { class: 'badge ' + (SAYS[verdict] || [''])[0] }, (SAYS[verdict] || [0, plain(verdict || '—')])[1]);
// What a rule fills in when it speaks.
const FILLED = { program: 'a program', target: 'its target' };
const filled = (text) => text.split(/\{(program|target)\}/).map((part, i) => (i % 2 ? h('i', { class: 'soft' }, FILLED[part]) : said(part)));
// A rule of a policy in use need not have a text: then what it is about is said.
const ruleText = (r) => r.text || [...(r.actions || []), typeof r.when === 'string' ? r.when : ''].filter(Boolean).join(' · ');
export async function policy(main, at) {
	const doc = await source.get('policy'), used = await source.get('acts/values');
	const counts = Object.fromEntries(used.rule.map((x) => [x.value, x.count])), identity = (r) => (doc.rule_prefix || '') + r.id, layers = doc.layers || (doc.document || {}).layers || [], rules = layers.flatMap((layer) => (layer.rules || []).map((r) => ({ ...r, text: ruleText(r), layer: layer.name })));
	const seen = new Set(), text = at.query.get('rule') || '';
	const unique = rules.filter((r) => { const key = r.id + r.text; if (seen.has(key)) return false; seen.add(key); return !text || (r.id + ' ' + r.text).toLowerCase().includes(text.toLowerCase()); });
	const reached = new Set(rules.filter((r) => counts[identity(r)]).map((r) => r.id)), ids = new Set(rules.map((r) => r.id));
	const find = h('input', { type: 'search', value: text, 'aria-label': 'Find a rule' });
	const candidate = h('textarea', { spellcheck: 'false', placeholder: 'format: helm.policy.v1\nname: candidate\nversion: "1"\nrules:\n  - {id: pushes, action: AGENT_TOOL_CALL, verdict: ESCALATE, …}' }), result = h('div', { 'aria-live': 'polite' });
	const simulate = async (e) => {
		e.target.disabled = true;
		try { show(result, simulated(await source.post('policy/simulate', { policy: candidate.value, since: '30d' }))); } catch (x) { alertIn(e.target, x.message); } finally { e.target.disabled = false; }
	};
	show(main, page('Policy', 'What decides here, rule by rule, and how often each rule has spoken lately.',
		h('section', { class: 'card' }, h('h2', null, 'In force'), facts([['Name', said(doc.name)], ['Version', said(doc.version)], ['Digest', h('code', null, doc.sha256 || '')], ['What no rule covers', doc.coverage === 'open' ? 'goes by profiles and guard rules' : 'is denied'], ['Coverage', `${reached.size} of ${ids.size} rules have spoken in the last 5 000 acts`]])),
		h('details', { class: 'card' }, h('summary', null, 'Simulate a candidate'), h('p', { class: 'soft small' }, 'Everything that was asked in the last 30 days is asked again. Nothing is changed.'),
			h('label', { class: 'field' }, h('span', null, 'A policy, in any form that helm policy simulate takes'), candidate), h('div', { class: 'actions' }, h('button', { class: 'main', onclick: simulate }, 'Ask it')), result),
		h('form', { class: 'filters narrow', onsubmit: (e) => { e.preventDefault(); setQuery({ rule: find.value }); } }, h('label', { class: 'field' }, h('span', null, 'Rule'), find), h('button', null, 'Find')),
		table('Rules in force', [
			{ title: 'Rule', bare: true, class: 'mid', cell: (r) => link('/console/acts?rule=' + encodeURIComponent(identity(r)), parted(r.id)) },
			{ title: 'Says', class: 'tight', cell: (r) => says(r.verdict) }, { title: 'When', cell: (r) => filled(r.text) },
			{ title: 'Spoke', class: 'num', cell: (r) => (counts[identity(r)] ? String(counts[identity(r)]) : h('span', { class: 'soft' }, 'never')) }, { title: 'From', class: 'tight', cell: (r) => h('span', { class: 'small soft' }, said(r.origin || r.layer)) },
		], unique, 'No rule fits.')));
}

function simulated(doc) {
	const replay = doc.replay || {};
	return [h('p', { class: 'alert ' + (doc.different ? '' : 'good') }, `${doc.same} of ${replay.replayed ?? doc.same + doc.different} would be as they were, ${doc.different} would change.`),
		(doc.by_rule || []).length ? table('What would change, by rule', [{ title: 'Count', class: 'num', cell: (r) => String(r.count) }, { title: 'Change', cell: (r) => said(r.change) }, { title: 'By', cell: (r) => said(r.rule) }], doc.by_rule) : null,
		(doc.changes || []).length ? table('Each of them', [{ title: 'When', cell: (r) => when(r.at) }, { title: 'Change', cell: (r) => said(r.change) }, { title: 'What', cell: (r) => h('span', { class: 'caption' }, said(r.what || r.tool || '')) }], doc.changes.slice(0, 100)) : null];
}

/* ---- servers of tools ---- */

const toolState = (server, t) => {
	const changed = server.drift.some((d) => d.tool === t.tool && (d.parts || []).length);
	return t.approved && changed ? h('span', { class: 'badge bad' }, '✕ changed since') : t.approved && server.state === 'approved' ? h('span', { class: 'badge good' }, '✓ approved') : h('span', { class: 'badge warn' }, 'not approved');
};
const CHANGES = { DESCRIPTION_CHANGED: 'its description changed', SCHEMA_CHANGED: 'its arguments changed', added: 'new, not approved', removed: 'gone' };
const standing = (x) => {
	const changed = x.state === 'approved' && x.drift.some((d) => d.change !== 'added');
	return h('span', { class: 'badge ' + (changed || x.findings.length ? 'bad' : STATES[x.state] || '') }, plain(x.state_text || x.state));
};
const STATES = { approved: 'good', quarantined: 'warn', revoked: 'bad', expired: 'bad' };
export async function servers(main) {
	const doc = await source.get('mcp');
	show(main, page('Tools', 'Servers of tools that agents may call through the gateway. A tool counts as it was approved; what has changed since is in quarantine.',
		doc.servers.length ? null : h('div', { class: 'card' }, h('p', { class: 'soft' }, 'There are no servers. ', h('code', null, 'helm mcp import'), ' takes those of your agent clients.')),
		doc.servers.map((x) => h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', null, said(x.server_id)), standing(x)),
			facts([['Started as', h('code', null, parted([x.command, ...(x.args || [])].filter(Boolean).join(' ') || x.url || ''))], ['Tools offered', String(x.offered.length)], ['Last seen', x.seen_at ? when(x.seen_at) : 'never']]),
			x.findings.length ? h('div', { class: 'alert bad' }, h('b', null, 'What it says speaks to the model'), h('ul', null, x.findings.map((f) => h('li', { class: 'small' }, badge(null, f.severity), ' ', said(String(f.finding).replaceAll('_', ' ')), f.tool ? [' in ', h('b', null, said(f.tool))] : '', ': ', h('code', null, said(f.evidence || '')))))) : null,
			x.drift.length ? h('details', { open: true }, h('summary', null, `${x.drift.length} not as approved`), h('ul', { class: 'diff' }, x.drift.map((d) => h('li', null, h('h3', null, said(d.tool), ' ', badge(null, CHANGES[d.change] || d.change)), (d.parts || []).map((p) => [h('p', { class: 'small soft' }, said(p.at)), p.was ? h('del', null, said(p.was)) : null, p.now ? h('ins', null, said(p.now)) : null]))))) : null,
			x.offered.length ? table('Tools of ' + x.server_id, [{ title: 'Tool', class: 'tight', cell: (t) => h('code', null, said(t.tool)) }, { title: 'State', class: 'tight', cell: (t) => toolState(x, t) }, { title: 'Effect', cell: (t) => said(t.effect) }, { title: 'Says', cell: (t) => h('span', { class: 'small soft' }, said((t.description || '').slice(0, 300))) }], x.offered) : null))));
}

/* ---- spend ---- */

const dollars = (micro) => (micro / 1e8).toLocaleString(undefined, { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });
// A model without a price is not free.
const money = (r) => (!r.unpriced ? dollars(r.cost_micro_cents || 0) : r.cost_micro_cents ? [dollars(r.cost_micro_cents), h('span', { class: 'soft small' }, ' and more, without a price')] : h('span', { class: 'soft small' }, 'no price'));
export async function spend(main, at) {
	const days = at.query.get('days') || '30', doc = await source.get('spend?days=' + encodeURIComponent(days));
	const rows = (list, what) => table('Spend by ' + what.toLowerCase(), [
		{ title: what, cell: (r) => said(r.name) }, { title: 'Requests', class: 'num', cell: (r) => String(r.requests) }, { title: 'Refused', class: 'num', cell: (r) => String(r.refused || 0) }, { title: 'Tool calls', class: 'num', cell: (r) => String(r.calls || 0) }, { title: 'Denied', class: 'num', cell: (r) => String(r.denied || 0) },
		{ title: 'Tokens in', class: 'num', cell: (r) => (r.input_tokens || 0).toLocaleString() }, { title: 'Tokens out', class: 'num', cell: (r) => (r.output_tokens || 0).toLocaleString() }, { title: 'Cost', class: 'num', cell: (r) => money(r) },
	], list, 'Nothing has passed the proxy in this span. helm proxy stands between programs and their models.');
	show(main, page('Spend', 'What passed the model proxy.',
		h('div', { class: 'filters narrow' }, h('label', { class: 'field' }, h('span', null, 'Span'), h('select', { onchange: (e) => setQuery({ days: e.target.value }) }, [['1', 'a day'], ['7', 'a week'], ['30', '30 days'], ['365', 'a year']].map(([v, t]) => h('option', { value: v, selected: v === days }, t))))),
		h('h2', null, 'By model'), rows(doc.models, 'Model'), h('h2', null, 'By principal'), rows(doc.principals, 'Principal'),
		doc.denials.length ? [h('h2', null, 'What was denied'), table('Denied tool calls', [{ title: 'Tool', cell: (r) => said(r.tool) }, { title: 'Rule', cell: (r) => parted(r.rule) }, { title: 'Count', class: 'num', cell: (r) => String(r.count) }], doc.denials)] : null));
}

/* ---- memory ---- */

export async function memory(main) {
	const doc = await source.get('memory'), pack = doc.next_run, items = doc.entries.items || [];
	show(main, page('Memory', 'What the next run will be told, and where each line comes from. It is given as data, not as instruction.',
		h('h2', null, 'The next run will be told'),
		table('Lines for the next run', [
			{ title: 'Part', class: 'tight', cell: (x) => said(x.section) }, { title: 'Line', bare: true, cell: (x) => said(x.text) }, { title: 'Source', cell: (x) => h('span', { class: 'small soft' }, sourceOf(x.source)) }, { title: 'When', class: 'tight', cell: (x) => when(x.at) },
		], pack.lines || [], 'Nothing yet.'),
		h('div', { class: 'card' }, facts([['Length', `about ${pack.used_tokens} of ${pack.budget_tokens} tokens`], ['Left out', pack.left_out ? `${pack.left_out} that did not fit` : 'nothing'], ['Not on record', pack.not_on_record ? h('span', { class: 'badge warn' }, `${pack.not_on_record} lines without a receipt`) : 'nothing: every line has its receipt'], ['Speaks to agents', pack.addressed_to_agents ? h('span', { class: 'badge bad' }, `${pack.addressed_to_agents} lines`) : 'no line']]),
			h('details', null, h('summary', null, 'The exact text'), h('code', { class: 'block' }, said(pack.text || '')))),
		h('h2', null, 'Entries'),
		table('Entries of memory', [
			{ title: 'When', class: 'tight', cell: (x) => when(x.timestamp) }, { title: 'State', class: 'tight', cell: (x) => h('span', { class: 'badge ' + (x.state === 'current' ? 'good' : x.state === 'waiting' ? 'warn' : '') }, plain(x.state || '—')) }, { title: 'Entry', bare: true, cell: (x) => said((x.lines || []).map((l) => l.replace(/^- /, '')).join('\n')) }, { title: 'File', cell: (x) => h('code', null, parted(x.file)) }, { title: 'By', class: 'tight', cell: (x) => (x.trust && x.trust !== x.writer ? [said(x.writer || ''), ', trusted as ', said(x.trust)] : said(x.writer || '')) }, { title: 'Receipt', cell: (x) => sourceOf(x.receipt_id) },
		], items, 'Nothing was written down yet. helm memory write does.')));
}

function sourceOf(text) {
	const found = /rcpt_(dec-[0-9a-f]+)/.exec(text || '');
	return found ? [said(text.slice(0, found.index)), link('/console/act/' + found[1], found[0].slice(0, 18) + '…')] : said(text || '');
}
