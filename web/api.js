// api.js — where the data comes from.  A source has get, post, download and events; this one is a single workspace.  Another one (many
// machines behind one front) has the same four functions and another base.

const PAGE = 'helm.page', KEY = 'helm.key', LOG = 'helm.log:', OWN = 'helm.own';
const kept = { get: (name) => localStorage.getItem(name), set: (name, value) => (value === null ? localStorage.removeItem(name) : localStorage.setItem(name, value)) };

export const trustedKey = () => kept.get(KEY);
export const trustKey = (key) => kept.set(KEY, key);
// The key of a fleet's log, under its own name; one front end may serve several.
export const trustedLog = (origin) => kept.get(LOG + origin);
export const trustLog = (vkey) => kept.set(LOG + vkey.split('+')[0], vkey);
// Which key this browser came in with at a fleet: its name, no secret.
export const ownKey = () => { try { return JSON.parse(kept.get(OWN)); } catch { return null; } };
export const setOwnKey = (own) => kept.set(OWN, own && JSON.stringify(own));
export const setPage = (word) => kept.set(PAGE, word);

export class Refused extends Error {
	constructor(status, body) {
		super((body && body.detail) || `the server says ${status}`);
		this.status = status;
		this.code = body && body.error && body.error.code;
	}
}

async function refusal(answer) {
	let body = null;
	try { body = await answer.json(); } catch { /* said without a body */ }
	return new Refused(answer.status, body);
}

export function workspaceSource(base) {
	// What only pages of this origin know: the cookie alone is sent to every port of this host.
	const headers = (more) => ({ 'X-Helm': '1', 'X-Helm-Page': kept.get(PAGE) || '', ...more });
	const ask = async (path, options) => {
		let answer;
		try { answer = await fetch(base + path, { credentials: 'same-origin', cache: 'no-store', ...options, headers: headers(options && options.headers) }); } catch (e) {
			throw e.name === 'AbortError' ? e : new Error('The server of this page does not answer: it has ended, or the network is away.');
		}
		if (!answer.ok) throw await refusal(answer);
		return answer;
	};
	return {
		name: 'workspace',
		get: async (path) => (await ask(path)).json(),
		post: async (path, body) => (await ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body || {}) })).json(),
		// The whole file, also where the server gives it in pieces: a piece that is not the last says where the next begins.
		download: async (path, body) => {
			const pieces = [];
			for (let next = ''; next !== null;) {
				const answer = await ask(path + next, body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
				pieces.push(await answer.blob());
				next = answer.headers.get('Helm-Next') ? '&before=' + encodeURIComponent(answer.headers.get('Helm-Next')) : null;
			}
			return new Blob(pieces, { type: pieces[0].type });
		},
		events: (on) => follow((last, signal) => ask('events', { signal, headers: last === null ? {} : { 'Last-Event-ID': last } }), on),
	};
}

/* ---- events ---- */

// Goes on by itself after every cut, from the last event that was given on: nothing is lost and nothing comes twice.
// on: {event(type, data), alive(), stalled(since)}.
function follow(open, on) {
	let last = null, seen = Date.now(), stopped = false, controller = null, wait = 500, isStalled = false;
	const alive = () => {
		seen = Date.now();
		isStalled = false;
		on.alive(seen);
	};
	const stalled = () => {
		if (isStalled || stopped) return;
		isStalled = true;
		on.stalled(seen);
	};
	const give = (block) => {
		let id = null, type = 'message', data = '';
		for (const line of block.split('\n')) {
			if (line.startsWith('id:')) id = line.slice(3).trim();
			else if (line.startsWith('event:')) type = line.slice(6).trim();
			else if (line.startsWith('data:')) data += line.slice(5).trim();
		}
		alive();
		if (id !== null && last !== null && Number(id) <= Number(last)) return;
		if (id !== null) last = id;
		if (data) on.event(type, JSON.parse(data));
	};
	const run = async () => {
		while (!stopped) {
			controller = new AbortController();
			try {
				const answer = await open(last, controller.signal);
				const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
				let text = '';
				wait = 500;
				for (;;) {
					const { value, done } = await reader.read();
					if (done) break;
					text += value;
					for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) give(text.slice(0, end));
				}
			} catch (e) {
				if (e instanceof Refused && e.status === 401) { on.over(e); return; }
			}
			stalled();
			await new Promise((go) => setTimeout(go, wait));
			wait = Math.min(wait * 2, 8000);
		}
	};
	const watch = setInterval(() => {
		if (Date.now() - seen > 20000) {
			stalled();
			if (controller) controller.abort();
			seen = Math.max(seen, Date.now() - 15000);
		}
	}, 1000);
	run();
	return () => { stopped = true; clearInterval(watch); if (controller) controller.abort(); };
}
