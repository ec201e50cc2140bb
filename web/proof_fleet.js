// proof_fleet.js — what a receipt proves in the ledger of a fleet, checked here: the machine's own signature and chain, the history of its keys, and its place in
// the tree of a checkpoint that the key of the log has signed (docs/formats/key-history.md, fleet-tiles.md, fleet-notes.md).
import { Unknown, canonical, chainHash, checkDecision, checkLink, checkMark, checkSignature, hex, keyOf, leafHash, need, rootOf, runChecks, sha256, sha256Text, verifies } from './proof.js';

export const CHECKS = [
	['form', 'Written in the one form', 'The text of the receipt is canonical JSON: it can be spelled in no other way.'],
	['mark', 'Every member is bound', 'The mark in the receipt’s id is the digest of all other members.'],
	['signature', 'Signature', 'Ed25519 over the thirteen signed members.'],
	['history', 'A key of this machine', 'The key stands in the history that the machine has joined with, each link signed.'],
	['decision', 'The decision inside', 'The decision record is signed by itself, and is the one the receipt names.'],
	['link', 'Follows the receipt before', 'Its prev_hash is the chain hash of the receipt before it, and its clock is one more.'],
	['inclusion', 'Is in the tree of the fleet', 'The audit path leads from this receipt to the root of the checkpoint.'],
	['checkpoint', 'Signed checkpoint', 'The checkpoint is signed by the key of the log that your link named, or that this browser has kept since.'],
];

const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// Every link, from the first; the keys they introduce, and since when one counts no more.
async function keysOf(links) {
	const keys = new Map();
	let before = '', inForce = null;
	for (const [i, line] of links.entries()) {
		const link = JSON.parse(line), { signature, possession, ...rest } = link;
		need(canonical(link) === line, `link ${i + 1} of the key history departs from the one form`);
		need(link.sequence === i + 1 && link.prev_hash === before, `link ${i + 1} of the key history does not continue the one before it`);
		need(await verifies(link.signer, signature, canonical(rest)), `link ${i + 1} of the key history is not signed by its signer`);
		if (link.event === 'revoked') {
			need(keys.has(link.signer) && keys.has(link.key), `link ${i + 1} revokes a key that is not of this line`);
			keys.set(link.key, link.since);
		} else {
			need(await verifies(link.key, possession, canonical(rest)), `link ${i + 1} of the key history: the new key has not signed`);
			need(link.event === 'created' ? link.signer === link.key : link.signer === link.previous_key && link.previous_key === inForce, `link ${i + 1} of the key history follows no rule`);
			keys.set(link.key, null);
			inForce = link.key;
		}
		before = await sha256Text(line);
	}
	return keys;
}

async function checkHistory(r, links) {
	const key = await keyOf(r), keys = await keysOf(links);
	need(keys.has(key), `${String(key).slice(0, 12)}… is no key of this machine`);
	need(!keys.get(key) || r.timestamp < keys.get(key), `the key was revoked; what it signed since ${keys.get(key)} does not count`);
}

// A signed note: {origin, size, root (hex), text, signatures: [{name, bytes}]}.
export function readNote(note) {
	const end = note.lastIndexOf('\n\n'), text = note.slice(0, end + 1), lines = text.split('\n');
	need(end > 0 && lines.length >= 4 && /^\d+$/.test(lines[1]), 'this is no checkpoint');
	const signatures = note.slice(end + 2).split('\n').filter(Boolean).map((line) => {
		const [, name, value] = /^— (\S+) (\S+)$/.exec(line) || [];
		need(name, 'a line of the signatures cannot be read');
		return { name, bytes: bytesOf(value) };
	});
	return { origin: lines[0], size: Number(lines[1]), root: hex(bytesOf(lines[2])), text, signatures };
}

export async function keyOfLog(vkey) {
	const [name, id, value] = [vkey.split('+')[0], vkey.split('+')[1], vkey.split('+').slice(2).join('+')], bytes = bytesOf(value);
	need(bytes.length === 33 && bytes[0] === 1, 'the key of the log is of no kind that is known here');
	const head = new TextEncoder().encode(name + '\n'), all = new Uint8Array(head.length + 33);
	all.set(head);
	all.set(bytes, head.length);
	need(hex((await sha256(all)).slice(0, 4)) === id, 'the key of the log is not spelled as it should be');
	return { name, id, key: hex(bytes.slice(1)) };
}

export async function checkNote(note, vkey) {
	const said = readNote(note), log = await keyOfLog(vkey);
	need(said.origin === log.name, `it is the checkpoint of ${said.origin}`);
	const mine = said.signatures.find((s) => s.name === log.name && hex(s.bytes.slice(0, 4)) === log.id);
	need(mine, 'the key of the log has not signed it');
	need(await verifies(log.key, hex(mine.bytes.slice(4)), said.text), 'the signature of the checkpoint does not fit');
	return said;
}

async function checkInclusion(r, proof) {
	if (!proof) throw new Unknown('no checkpoint covers it yet; in some seconds one does');
	const said = readNote(proof.checkpoint), root = await rootOf(await leafHash(await chainHash(r)), proof.leaf_index, said.size, proof.audit_path);
	need(root === said.root, `the path leads to ${root.slice(0, 12)}…, the checkpoint says ${said.root.slice(0, 12)}…`);
	return `leaf ${proof.leaf_index} of ${said.size}`;
}

async function checkCheckpoint(proof, trusted) {
	if (!proof) throw new Unknown('no checkpoint covers it yet; in some seconds one does');
	if (!trusted) throw new Unknown('no key of this log is kept in this browser; come in by a link of helm fleet reader invite');
	const said = await checkNote(proof.checkpoint, trusted), others = said.signatures.length - 1;
	return others ? `and ${others} ${others === 1 ? 'witness has' : 'witnesses have'} signed beside it (not checked here)` : '';
}

// `given` is {receipt, previous, proof: {leaf_index, audit_path, checkpoint}, keys: [lines]}; `trusted` the key of the log.
export const verifyFleet = (given, trusted) => runChecks(CHECKS, given, (receipt, before) => ({
	mark: () => checkMark(receipt),
	signature: () => checkSignature(receipt),
	history: () => checkHistory(receipt, given.keys),
	decision: () => checkDecision(receipt),
	link: () => checkLink(receipt, before),
	inclusion: () => checkInclusion(receipt, given.proof),
	checkpoint: () => checkCheckpoint(given.proof, trusted),
}));
