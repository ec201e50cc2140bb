// pictures.js — three pictures, drawn by hand: a session on a line of time, a command as a tree, the end of a chain.  Each has a table beside
// it that says the same (whoever calls these puts it there); the picture itself is one image with a name for those who cannot see it.
import { h, plain, s } from './dom.js';

// What has lines of text keeps their size and is scrolled; what is drawn for the width at hand fits.
const isNarrow = () => matchMedia('(max-width: 44rem)').matches;
function frame(width, height, title, ...children) {
	const svg = s('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title }, ...children);
	svg.style.maxWidth = Math.round(width * 1.15) + 'px';
	svg.style.minWidth = Math.round(isNarrow() ? width : width * 0.7) + 'px';
	return h('div', { class: 'picture', tabindex: '0', role: 'group', 'aria-label': title + ' (picture)' }, svg);
}
const cut = (text, n) => { text = plain(text); return text.length > n ? text.slice(0, n - 1) + '…' : text; };
const BY_STATE = { failed: 'DENY', refused: 'DENY', denied: 'DENY', waiting: 'ESCALATE', approved: 'ESCALATE', expired: 'ESCALATE' };
const kindOf = (act) => BY_STATE[act.state] || (['ALLOW', 'DENY', 'ESCALATE'].includes(act.verdict) ? act.verdict : 'other');

export const legend = () => h('div', { class: 'legend', 'aria-hidden': 'true' },
	[['ALLOW', 'allowed'], ['ESCALATE', 'asked'], ['DENY', 'denied'], ['', 'other']].map(([c, t]) => h('span', null, h('i', { class: c || null }), t)));

/* ---- time ---- */

// One lane for each tool; a dot for each act, in the order of time.
export function timeline(acts) {
	const list = [...acts].reverse(), lanes = [...new Set(list.map((a) => a.tool || a.kind || '—'))].slice(0, 8);
	const small = isNarrow(), left = small ? 84 : 110, width = small ? 264 : 860, row = 30, top = 14, height = top + lanes.length * row + 30;
	const first = list[0].at_us, span = Math.max(1, list[list.length - 1].at_us - first);
	const x = (at) => left + 14 + ((at - first) / span) * (width - left - 40);
	const out = [];
	lanes.forEach((lane, i) => {
		const y = top + i * row + row / 2;
		out.push(s('line', { class: 'rule', x1: left, x2: width - 10, y1: y, y2: y }), s('text', { class: 'mono', x: left - 10, y: y + 4, 'text-anchor': 'end' }, cut(lane, small ? 10 : 13)));
	});
	for (const act of list) {
		const lane = lanes.indexOf(act.tool || act.kind || '—');
		if (lane < 0) continue;
		const dot = s('circle', { class: kindOf(act), cx: x(act.at_us).toFixed(1), cy: top + lane * row + row / 2, r: kindOf(act) === 'ALLOW' ? 4 : 6, 'fill-opacity': 0.85, 'stroke-width': 0 });
		dot.append(s('title', null, `${act.at} ${act.state_text || act.verdict || act.kind}: ${plain(act.caption || act.tool)}`));
		out.push(dot);
	}
	const marks = span < 2e6 ? [first] : small ? [first, first + span] : [first, first + span / 2, first + span];
	for (const at of marks) {
		const date = new Date(at / 1000);
		out.push(s('text', { class: 'faint', x: x(at), y: height - 8, 'text-anchor': at === first ? 'start' : at === first + span ? 'end' : 'middle' },
			date.toLocaleTimeString(undefined, { hour12: false })));
	}
	return [frame(width, height, `Time line of ${list.length} acts`, ...out), legend()];
}

/* ---- a command ---- */

// Nodes are {text, verdict, note, children}; drawn as an indented tree, so that it stays readable when it is deep.
export function tree(root) {
	const rows = [];
	const walk = (node, depth, parent) => {
		const mine = rows.push({ node, depth, parent }) - 1;
		for (const child of node.children || []) walk(child, depth + 1, mine);
	};
	walk(root, 0, -1);
	const row = 30, step = 22, width = 860, height = rows.length * row + 12, out = [];
	rows.forEach(({ node, depth, parent }, i) => {
		const x = 16 + depth * step, y = 6 + i * row + row / 2;
		if (parent >= 0) {
			const px = 16 + rows[parent].depth * step, py = 6 + parent * row + row / 2;
			out.push(s('path', { class: 'rule', d: `M${px} ${py + 8}V${y - 6}Q${px} ${y} ${px + 6} ${y}H${x - 8}` }));
		}
		out.push(s('circle', { class: kindOf(node), cx: x, cy: y, r: 5, 'stroke-width': 0 }),
			s('text', { class: 'mono', x: x + 12, y: y + 4 }, cut(node.text, 62)),
			s('text', { class: 'faint', x: Math.min(width - 250, x + 24 + Math.min(62, plain(node.text).length) * 7), y: y + 4 }, cut(node.note || '', 46)));
	});
	return frame(width, height, 'Tree of the command', ...out);
}

/* ---- the chain ---- */

// receipts: [{clock, id, isThis, text}] in order; heads: [{tree_size, timestamp}].  Boxes linked to the one before, a roof over what a head covers.
export function chain(receipts, heads, length) {
	const box = 128, gap = 30, left = 34, top = 64, tall = 52, width = left + receipts.length * (box + gap) + 110, height = top + tall + 46, out = [];
	const last = receipts[receipts.length - 1];
	receipts.forEach((r, i) => {
		const x = left + i * (box + gap);
		if (i || r.clock > 1) out.push(s('path', { class: 'rule', 'stroke-width': 1.6, d: `M${x - 2} ${top + tall / 2}H${i ? x - gap + 2 : 4}` }), s('path', { class: 'other', d: `M${x - gap + 8} ${top + tall / 2 - 4}l-6 4l6 4z` }));
		out.push(s('rect', { class: r.isThis ? 'tint' : 'box', x, y: top, width: box, height: tall, rx: 8, 'stroke-width': r.isThis ? 2 : 1 }),
			s('text', { x: x + 10, y: top + 21, 'font-weight': r.isThis ? 650 : 500 }, '№ ' + r.clock),
			s('text', { class: 'faint mono', x: x + 10, y: top + 39 }, cut(r.text, 16)));
	});
	const end = left + receipts.length * (box + gap) - gap;
	if (length > last.clock) out.push(s('text', { class: 'faint', x: end + 12, y: top + tall / 2 + 4 }, `… ${length - last.clock} more`));
	const head = heads.filter((x) => x.tree_size >= last.clock)[0] || heads[heads.length - 1];
	if (head) {
		const covered = receipts.filter((r) => r.clock <= head.tree_size).length, to = left + covered * (box + gap) - gap;
		if (covered > 0)
			out.push(s('path', { class: 'rule', 'stroke-width': 1.6, d: `M${left} ${top - 8}V${top - 22}H${to}V${top - 8}` }),
				s('text', { x: left, y: top - 32 }, `head over ${head.tree_size} receipts`), s('text', { class: 'faint', x: left, y: top - 48 }, 'signed ' + head.timestamp));
	}
	out.push(s('text', { class: 'faint', x: left, y: height - 12 }, 'Each box names the hash of the one before it.'));
	return frame(Math.max(width, 420), height, 'End of the chain and the head over it', ...out);
}

const stamp = (at) => new Date(at).toLocaleString(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false });
// Growth of the log: how many receipts each signed head covers.
export function growth(heads) {
	const width = isNarrow() ? 264 : 860, height = 170, left = 46, bottom = 26, list = heads.slice(-120);
	const times = list.map((x) => new Date(x.timestamp).getTime()), from = times[0], span = Math.max(1, times[times.length - 1] - from);
	const most = list[list.length - 1].tree_size || 1, x = (i) => left + (span > 1 ? (times[i] - from) / span : i / Math.max(1, list.length - 1)) * (width - left - 20), y = (n) => height - bottom - (n / most) * (height - bottom - 20);
	const line = list.map((head, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(head.tree_size).toFixed(1)}`).join('');
	return frame(width, height, `Growth of the log to ${most} receipts`,
		s('line', { class: 'rule', x1: left, x2: width - 10, y1: height - bottom, y2: height - bottom }),
		s('text', { class: 'faint', x: left - 8, y: y(most) + 4, 'text-anchor': 'end' }, String(most)), s('text', { class: 'faint', x: left - 8, y: height - bottom + 4, 'text-anchor': 'end' }, '0'),
		s('path', { class: 'line', d: line }),
		list.map((head, i) => { const c = s('circle', { class: 'tint', cx: x(i).toFixed(1), cy: y(head.tree_size).toFixed(1), r: 4 }); c.append(s('title', null, `${head.tree_size} receipts, ${head.timestamp}`)); return c; }),
		s('text', { class: 'faint', x: left, y: height - 8 }, stamp(from)), span > 1 ? s('text', { class: 'faint', x: width - 10, y: height - 8, 'text-anchor': 'end' }, stamp(times[times.length - 1])) : null);
}
