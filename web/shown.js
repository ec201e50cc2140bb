// shown.js — what was asked, as it is kept beside the record (docs/formats/shown.md): the diff of a write or an edit, the arguments of any other call.
//
// Agents wrote it, and a person answers by it.  So it is shown only when its digest is the one that was signed, and every part of it is a text.
import { h, plain, said } from './dom.js';
import { canonical, isShown } from './proof.js';

const KINDS = { '+': 'come', '-': 'gone', '@': 'place' };

// Heads of files begin with the same signs as lines: they stand before the first place.
function lines(diff) {
	let inside = false;
	return diff.replace(/\n$/, '').split('\n').map((line) => {
		inside = inside || line.startsWith('@@');
		return h('span', { class: inside ? KINDS[line[0]] || null : 'place' }, said(line), '\n');
	});
}

// Nothing beyond the command that stands above it already.
const isCommand = (args) => Object.keys(args).length === 1 && ('command' in args || 'argv' in args);

function body(shown) {
	if (typeof shown.diff === 'string') return h('code', { class: 'block changes', 'aria-label': 'What it changes' }, shown.diff ? lines(shown.diff) : 'it changes nothing');
	const args = shown.arguments && typeof shown.arguments === 'object' ? shown.arguments : {};
	if (isCommand(args) || !Object.keys(args).length) return null;
	return h('dl', { class: 'facts asked', 'aria-label': 'Arguments' }, Object.entries(args).map(([name, value]) => h('div', null, h('dt', null, said(name)), h('dd', null, h('code', { class: 'block' }, said(typeof value === 'string' ? value : canonical(value)))))));
}

// `of` has `shown` and `shown_problem` as the server gives them; `sha256` is what was signed.
export async function askedFor(of, sha256) {
	if (!sha256) return null;
	if (!of || !of.shown) return h('p', { class: 'soft small' }, plain((of && of.shown_problem) || 'what was asked is not kept any more'));
	if (!(await isShown(of.shown, sha256))) return h('p', { class: 'alert bad' }, 'What is kept of the arguments is not what was asked: its digest is another one.');
	return [body(of.shown), of.shown.note ? h('p', { class: 'alert' }, said(of.shown.note)) : null,
		of.shown.left_out_bytes ? h('p', { class: 'alert' }, `${of.shown.left_out_bytes} bytes of what was asked are left out here.`) : null];
}
