// doubles.js — numbers from doubles: ours against ECMAScript's own.  Every power of two and ten, edges, and random bits.
const { execFileSync } = require('child_process');
const view = new DataView(new ArrayBuffer(8));
const bits = [];
const add = (value) => {
  view.setFloat64(0, value);
  const high = view.getUint32(0), low = view.getUint32(4);
  bits.push([high, low]);
  // and the neighbours, where shortest text is decided
  if (low < 0xffffffff) bits.push([high, low + 1]);
  if (low > 0) bits.push([high, low - 1]);
};
for (let e = -1074; e < 1024; e++) add(2 ** e);
for (let e = -323; e <= 308; e++) add(Number(`1e${e}`));
for (let i = 0; i < 1000; i++) add(i / 100);
[5e-324, Number.MAX_VALUE, Number.MIN_VALUE, 0.1 + 0.2, 1e21, 1e-7, 123456789012345680000, -0, 0, NaN, Infinity, -1.5].forEach(add);
let state = 0x2545f491;
const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
for (let i = 0; i < 60000; i++) bits.push([next(), next()]);

const hex = (n) => n.toString(16).padStart(8, '0');
const answers = execFileSync(process.argv[2], ['doubles'], {
  input: bits.map(([h, l]) => hex(h) + hex(l)).join('\n') + '\n', maxBuffer: 1 << 28 }).toString().split('\n');
let wrong = 0;
bits.forEach(([h, l], i) => {
  view.setUint32(0, h);
  view.setUint32(4, l);
  const want = JSON.stringify(view.getFloat64(0));
  if (answers[i] !== want && wrong++ < 10) console.log(`${hex(h)}${hex(l)}: ours ${answers[i]}, ECMAScript ${want}`);
});
console.log(`${bits.length} doubles, ${wrong} differ`);
process.exit(wrong ? 1 : 0);
