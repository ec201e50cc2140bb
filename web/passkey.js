// passkey.js — keys of people: coming in with one, registering one, and signing an act with one.
//
// What is signed is the SHA-256 of the message, and the message is what the dialog shows: it is read apart here, not taken from the server's
// description of it.
import { ownKey, setOwnKey, setPage, trustKey } from './api.js';
import { base64url, canonical, challengeOf, hex, unbase64url } from './proof.js';

const known = (ids) => ids.map((id) => ({ type: 'public-key', id: unbase64url(id) }));
const SAID = { NotAllowedError: 'nothing was signed: it was cancelled, or took too long', SecurityError: 'keys are bound to names: open this page by its name (localhost, or that of --origin), and not by a number' };
const plainError = (e) => (SAID[e.name] ? new Error(SAID[e.name]) : e);

// `owner` is told what the key keeps of its owner, where it does.
async function assertion(challenge, rpId, ids, owner) {
	let got;
	try {
		got = await navigator.credentials.get({ publicKey: { challenge, rpId, allowCredentials: known(ids), userVerification: 'required', timeout: 120000 } });
	} catch (e) { throw plainError(e); }
	const r = got.response;
	if (owner && r.userHandle) owner(base64url(new Uint8Array(r.userHandle)));
	return { id: base64url(new Uint8Array(got.rawId)), authenticator_data: base64url(new Uint8Array(r.authenticatorData)), client_data_json: base64url(new Uint8Array(r.clientDataJSON)), signature: base64url(new Uint8Array(r.signature)) };
}

export async function login(source) {
	const asked = await source.post('challenge', {});
	if (!asked.credentials.length) throw new Error('No key is registered here yet. A person invites you: helm serve invite --name NAME');
	const got = await assertion(unbase64url(asked.challenge), asked.rp_id, asked.credentials);
	setPage((await source.post('login', { challenge: asked.challenge, assertion: got })).page);
}

// At the front end of a fleet: no key is named there, so the device offers its own; the one that this browser used last is asked for first.
export async function comeIn(source) {
	const asked = await source.post('challenge', {}), own = ownKey();
	let handle = own ? own.handle : '', got;
	try {
		got = await assertion(unbase64url(asked.challenge), asked.rp_id, own ? [own.id] : [], (x) => { handle = x; });
		setPage((await source.post('login', { challenge: asked.challenge, assertion: { ...got, user_handle: handle } })).page);
	} catch (e) {
		setOwnKey(null); // it may be gone, there or here: the next time the device offers what else it has
		throw e;
	}
	setOwnKey({ id: got.id, handle });
}

// `invite` is the word of a link, or nothing when the session itself may register.
export async function register(source, { invite, key }) {
	const by = invite ? { invite } : {};
	const asked = await source.post('register/begin', by);
	let made;
	try {
		made = await navigator.credentials.create({ publicKey: {
			challenge: unbase64url(asked.challenge), rp: { id: asked.rp_id, name: 'Helm' },
			user: { id: asked.user_handle ? unbase64url(asked.user_handle) : crypto.getRandomValues(new Uint8Array(16)), name: asked.label, displayName: asked.label },
			pubKeyCredParams: [{ type: 'public-key', alg: -8 }, { type: 'public-key', alg: -7 }],
			authenticatorSelection: { userVerification: 'required', residentKey: asked.user_handle ? 'required' : 'preferred' }, attestation: 'none', excludeCredentials: known(asked.credentials), timeout: 120000,
		} });
	} catch (e) { throw plainError(e); }
	const done = await source.post('register', { ...by, challenge: asked.challenge, client_data_json: base64url(new Uint8Array(made.response.clientDataJSON)), attestation_object: base64url(new Uint8Array(made.response.attestationObject)) });
	if (key) trustKey(key);
	if (asked.user_handle) setOwnKey({ id: base64url(new Uint8Array(made.rawId)), handle: asked.user_handle });
	setPage(done.page);
}

/* ---- acts ---- */

// The message apart: {domain, body}; refused unless it is spelled in the one form.
export function readMessage(message) {
	const end = message.indexOf('\n'), domain = message.slice(0, end), text = message.slice(end + 1), body = JSON.parse(text);
	if (canonical(body) !== text || !['helm:approval:v2', 'helm:quorum:v1', 'helm:act:v1'].includes(domain)) throw new Error('the server gave something to sign that is not in the one form; nothing was signed');
	return { domain, body };
}

export async function sign(source, path, asked) {
	readMessage(asked.message);
	if (!asked.credentials.length) throw new Error(asked.none || 'No key is registered for this address. A person invites you: helm serve invite --name NAME');
	const got = await assertion(await challengeOf(asked.message), asked.rp_id, asked.credentials);
	return source.post(path, { ...asked.more, message: asked.message, assertion: got });
}

/* ---- a key for a fleet ---- */

// A passkey for this address, as one word: it counts when the list of approvers that the root key signs has it.  Nothing of it is kept here or sent.
export async function makeFleetKey(me, label) {
	let made;
	try {
		made = await navigator.credentials.create({ publicKey: {
			challenge: crypto.getRandomValues(new Uint8Array(32)), rp: { id: me.rp_id, name: 'Helm' },
			user: { id: crypto.getRandomValues(new Uint8Array(16)), name: label, displayName: label },
			pubKeyCredParams: [{ type: 'public-key', alg: -8 }, { type: 'public-key', alg: -7 }],
			authenticatorSelection: { userVerification: 'required', residentKey: 'preferred' }, attestation: 'none', timeout: 120000,
		} });
	} catch (e) { throw plainError(e); }
	const r = made.response, spki = new Uint8Array(r.getPublicKey()), isEd = r.getPublicKeyAlgorithm() === -8;
	const passkey = { algorithm: isEd ? 'ed25519' : 'es256', credential_id: base64url(new Uint8Array(made.rawId)), origin: me.origin, public_key_hex: hex(spki.slice(isEd ? -32 : -64)), rp_id: me.rp_id };
	return 'helm-passkey:' + base64url(new TextEncoder().encode(canonical(passkey)));
}
