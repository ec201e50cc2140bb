// canonical.js — canonical bytes: ours against the `canonicalize` package (RFC 8785), for documents whose numbers are
// interoperable; there both forms are the same.
const { execFileSync } = require('child_process');
const loaded = require('canonicalize');
const canonicalize = loaded.default || loaded;
let state = 0x9e3779b9;
const next = (n) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % n;

const alphabets = [[0x20, 0x7e], [0, 0x1f], [0x7f, 0xff], [0x2020, 0x2030], [0xd7f0, 0xd7ff], [0xe000, 0xe010],
  [0xfb30, 0xffff], [0x10000, 0x10010], [0x1f600, 0x1f610], [0x10fff0, 0x10ffff]];
const text = () => {
  let s = '';
  for (let i = next(12); i > 0; i--) {
    const [low, high] = alphabets[next(3) ? 0 : next(alphabets.length)];
    s += String.fromCodePoint(low + next(high - low + 1));
  }
  return s;
};
const value = (depth) => {
  switch (next(depth > 4 ? 5 : 8)) {
    case 0: return null;
    case 1: return next(2) === 0;
    case 2: return next(1000000) - 500000;
    case 3: return [0, 9007199254740991, -9007199254740991][next(3)];
    case 4: return text();
    case 5: return Array.from({ length: next(5) }, () => value(depth + 1));
    default: return Object.fromEntries(Array.from({ length: next(3) ? next(8) : next(60) }, () => [text(), value(depth + 1)]));
  }
};
const documents = Array.from({ length: 20000 }, () => JSON.stringify(value(0), null, next(3)));
const answers = execFileSync(process.argv[2], ['canonical'], {
  input: documents.map((d) => Buffer.from(d).toString('hex')).join('\n') + '\n', maxBuffer: 1 << 29 }).toString().split('\n');
let wrong = 0;
documents.forEach((d, i) => {
  const want = canonicalize(JSON.parse(d));
  if (answers[i] !== want && wrong++ < 5) console.log(`${d}\n  ours  ${answers[i]}\n  other ${want}`);
});
console.log(`${documents.length} documents, ${wrong} differ`);
process.exit(wrong ? 1 : 0);
