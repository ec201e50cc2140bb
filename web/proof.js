// proof.js — what a receipt proves, checked here and not by whoever served the page (docs/formats/receipt.md, receipt-log.md,
// decision-record.md, transparency-log.md).  Nothing in this file asks the network; it runs in a browser and in node.

const utf8 = new TextEncoder();
export const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
export function unhex(text) {
	if (typeof text !== 'string' || text.length % 2 || /[^0-9a-f]/.test(text)) throw new Error('no lower-case hex digits');
	return Uint8Array.from(text.match(/../g) || [], (two) => parseInt(two, 16));
}
export const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
export const unbase64url = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));

export async function sha256(bytes) {
	return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}
export const sha256Text = async (text) => hex(await sha256(utf8.encode(text)));

// Names sort by UTF-16 code units, which is how strings compare in this language; everything that is signed holds whole numbers only.
export function canonical(value) {
	if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']';
	if (value && typeof value === 'object')
		return '{' + Object.keys(value).sort().map((name) => JSON.stringify(name) + ':' + canonical(value[name])).join(',') + '}';
	return JSON.stringify(value);
}

export async function verifies(keyHex, signatureHex, text) {
	const key = await crypto.subtle.importKey('raw', unhex(keyHex), { name: 'Ed25519' }, false, ['verify']);
	return crypto.subtle.verify({ name: 'Ed25519' }, key, unhex(signatureHex), utf8.encode(text));
}

/* ---- the parts of a receipt ---- */

const SIGNED = ['args_hash', 'decision_id', 'effect_id', 'lamport_clock', 'output_hash', 'policy_hash', 'prev_hash', 'reason_code',
	'receipt_id', 'session_id', 'signature_version', 'status', 'verdict'];
const ALWAYS = new Set(['receipt_id', 'decision_id', 'effect_id', 'external_reference_id', 'status', 'timestamp', 'prev_hash', 'lamport_clock']);
const TIMES = ['created_at', 'installed_at', 'issued_at'];
const OUTSIDE = new Set(['log_id', 'leaf_index', 'transparency']);
const NO_TIME = '0001-01-01T00:00:00Z';

const isEmpty = (v) => v === '' || v === 0 || v === false || v === null || (typeof v === 'object' && Object.keys(v).length === 0);
const shortTime = (text) => text.replace(/\.(\d*?)0+Z$/, (all, digits) => (digits ? '.' + digits : '') + 'Z');

// Every member that the chain binds, as it is written for hashing.
function projection(receipt, without) {
	const out = {};
	for (const [name, value] of Object.entries(receipt))
		if (!OUTSIDE.has(name) && !without.includes(name) && (ALWAYS.has(name) || !isEmpty(value)))
			out[name] = name === 'timestamp' ? shortTime(value) : value;
	for (const name of TIMES) if (!(name in out)) out[name] = NO_TIME;
	return canonical(out);
}
export const chainHash = (receipt) => sha256Text(projection(receipt, []));

async function node(left, right) {
	const both = new Uint8Array(65);
	both[0] = 1;
	both.set(left, 1);
	both.set(right, 33);
	return sha256(both);
}
export async function leafHash(chainHashHex) {
	const input = new Uint8Array(33);
	input.set(unhex(chainHashHex), 1);
	return sha256(input);
}
// RFC 9162, 2.1.3.2.
export async function rootOf(leaf, index, size, path) {
	let at = index, last = size - 1, hash = leaf;
	if (index < 0 || index >= size) throw new Error('the leaf lies outside of the tree');
	for (const one of path) {
		if (last === 0) throw new Error('the path is too long');
		if (at % 2 === 1 || at === last) {
			hash = await node(unhex(one), hash);
			while (at % 2 === 0 && at !== 0) { at = Math.floor(at / 2); last = Math.floor(last / 2); }
		} else hash = await node(hash, unhex(one));
		at = Math.floor(at / 2);
		last = Math.floor(last / 2);
	}
	if (last !== 0) throw new Error('the path is too short');
	return hex(hash);
}

/* ---- the checks, each with a name ---- */

export const CHECKS = [
	['form', 'Written in the one form', 'The text of the receipt is canonical JSON: it can be spelled in no other way.'],
	['mark', 'Every member is bound', 'The mark in the receipt’s id is the digest of all other members.'],
	['signature', 'Signature', 'Ed25519 over the thirteen signed members.'],
	['key', 'Signed by the key you trust', 'The key is the one your link named, or that this browser has kept since.'],
	['decision', 'The decision inside', 'The decision record is signed by itself, and is the one the receipt names.'],
	['shown', 'What was asked', 'The digest of what is shown of the arguments is the one in the receipt.'],
	['link', 'Follows the receipt before', 'Its prev_hash is the chain hash of the receipt before it, and its clock is one more.'],
	['inclusion', 'Is in the log', 'The audit path leads from this receipt to the root of the signed head.'],
	['head', 'Signed head', 'The head of the log is signed by the same key.'],
];

export class Wrong extends Error {}
export const need = (ok, text) => { if (!ok) throw new Wrong(text); };
export class Unknown extends Error {}

export async function checkMark(r) {
	const [, mark] = /^rcpt_[^.]+\.([0-9a-f]{64})$/.exec(r.receipt_id) || [];
	need(mark, 'the id has no mark');
	const found = await sha256Text(projection(r, ['receipt_id', 'signature']));
	need(found === mark, `a member was changed: the mark is ${mark.slice(0, 12)}…, the members give ${found.slice(0, 12)}…`);
}

export async function checkSignature(r) {
	const signed = {};
	for (const name of SIGNED) {
		need(name in r && r[name] !== null, `the signed member ${name} is missing`);
		signed[name] = r[name];
	}
	need(r.signature_version === 'receipt.v5', 'another form of signature');
	need(await verifies(r.public_key_set.ed25519, r.signature, canonical(signed)), 'the signature does not fit the signed members');
}

// What stands in no hash follows from what does.
export async function keyOf(r) {
	const key = r.public_key_set && r.public_key_set.ed25519;
	need(r.key_id === 'ed25519:' + key, 'key_id and public_key_set name two keys');
	need(r.log_id === hex(await sha256(unhex(key))), 'log_id is not that of the key');
	need((r.leaf_index || 0) === r.lamport_clock - 1, 'leaf_index is not the clock less one');
	need(!('transparency' in r), 'it has a member that no workspace writes');
	return key;
}

async function checkKey(r, trusted) {
	const key = await keyOf(r);
	if (!trusted) throw new Unknown('no key is kept in this browser; open the console by a link of helm open');
	need(key === trusted, `signed by ${key.slice(0, 12)}…, and you trust ${trusted.slice(0, 12)}…`);
}

export async function checkDecision(r) {
	const d = r.subject;
	if (!d) throw new Unknown('this receipt stands for no decision');
	const signed = {};
	for (const name of ['action', 'effect_digest', 'id', 'phenotype_hash', 'policy_content_hash', 'reason_code', 'resource', 'signature_type',
		'signature_version', 'subject_id', 'verdict']) signed[name] = d[name] === undefined ? '' : d[name];
	signed.reason_hash = await sha256Text(d.reason || '');
	signed.threat_scan_hash = '';
	const text = canonical(signed);
	need(d.id === r.decision_id, 'it is another decision');
	need(r.output_hash === 'sha256:' + (await sha256Text(text)), 'the decision is not the one that the receipt names');
	need(await verifies(d.signature_type.replace(/^ed25519:/, ''), d.signature, text), 'the signature of the decision does not fit');
}

// What is kept of the arguments, redacted, is bound by its digest; it may be gone by age.
export const isShown = async (shown, sha256) => !!shown && sha256 === 'sha256:' + (await sha256Text(canonical(shown)));
async function checkShown(r, shown, problem) {
	const said = r.metadata && r.metadata.shown_sha256;
	if (!said) return 'this receipt speaks of none';
	if (!shown) throw new Unknown(problem || 'what was asked is not kept any more');
	return need(await isShown(shown, said), 'the arguments that are shown are not those whose digest the receipt has');
}

export async function checkLink(r, before) {
	if (r.lamport_clock === 1) return need(r.prev_hash === '', 'the first receipt follows nothing'), 'the first of its chain';
	if (!before) throw new Unknown('the receipt before it was not given');
	need(before.session_id === r.session_id, 'the receipt before belongs to another chain');
	need(before.lamport_clock === r.lamport_clock - 1, `the receipt before has the clock ${before.lamport_clock}`);
	const found = await chainHash(before);
	need(r.prev_hash === found, `prev_hash is ${r.prev_hash.slice(0, 12)}…, the receipt before hashes to ${found.slice(0, 12)}…`);
}

async function checkInclusion(r, proof) {
	if (!proof || !proof.head) throw new Unknown('no signed head covers it yet');
	need(proof.leaf_index === r.lamport_clock - 1, 'the proof is about another leaf');
	const root = await rootOf(await leafHash(await chainHash(r)), proof.leaf_index, proof.head.tree_size, proof.audit_path);
	need(root === proof.head.root_hash, `the path leads to ${root.slice(0, 12)}…, the head says ${proof.head.root_hash.slice(0, 12)}…`);
}

async function checkHead(r, proof) {
	const h = proof && proof.head;
	if (!h) throw new Unknown('no signed head covers it yet');
	need(h.public_key === r.public_key_set.ed25519, 'the head is signed by another key');
	need(h.log_id === hex(await sha256(unhex(h.public_key))), 'the head names another log');
	const text = canonical({ log_id: h.log_id, root_hash: h.root_hash, timestamp: h.timestamp, tree_size: h.tree_size });
	need(await verifies(h.public_key, h.signature, text), 'the signature of the head does not fit');
}

// `given` is {receipt: line, previous: line or null, ...}; lines are texts.  The answer has a row for each check:
// {name, title, about, state: pass|fail|unknown, detail}.  `made(receipt, before)` gives the functions of the checks by their names.
export async function runChecks(checks, given, made) {
	let receipt = null, before = null, broken = null;
	try {
		receipt = JSON.parse(given.receipt);
		before = given.previous ? JSON.parse(given.previous) : null;
	} catch (e) {
		broken = 'this is no JSON: ' + e.message;
	}
	const run = { form: () => need(canonical(receipt) === given.receipt, 'the text departs from the canonical form'), ...made(receipt, before) };
	const rows = [];
	for (const [name, title, about] of checks) {
		let state = 'pass', detail = '';
		try {
			if (broken) throw new Wrong(broken);
			detail = (await run[name]()) || '';
		} catch (e) {
			state = e instanceof Unknown ? 'unknown' : 'fail';
			detail = e instanceof Wrong || e instanceof Unknown ? e.message : 'it cannot be read: ' + e.message;
		}
		rows.push({ name, title, about, state, detail: typeof detail === 'string' ? detail : '' });
	}
	return rows;
}

// Of one workspace: `given.proof` is {leaf_index, audit_path, head}; `given.shown` what is kept of the arguments, or null.
export const verify = (given, trusted) => runChecks(CHECKS, given, (receipt, before) => ({
	mark: () => checkMark(receipt),
	signature: () => checkSignature(receipt),
	key: () => checkKey(receipt, trusted),
	decision: () => checkDecision(receipt),
	shown: () => checkShown(receipt, given.shown, given.shown_problem),
	link: () => checkLink(receipt, before),
	inclusion: () => checkInclusion(receipt, given.proof),
	head: () => checkHead(receipt, given.proof),
}));

// The question that a person reads is the one whose digest the decision was signed over.
export async function requestIsBound(request, decision) {
	return !!decision && decision.phenotype_hash === 'sha256:' + (await sha256Text(canonical(request)));
}

// What a key signs to answer: SHA-256 of the message, which is the grant as it is shown (docs/formats/approvals.md).
export async function challengeOf(message) {
	return sha256(utf8.encode(message));
}
