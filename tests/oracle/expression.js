// expression.js — expressions of policies: ours against @marcbachmann/cel-js, where both have the same types.
//
// Expressions are made from the kinds that their parts need, so that the other's static check accepts them; what fails in the middle (division
// by zero, overflow, a missing key, an index outside) is there on purpose.  Left out: == across kinds and lists of several kinds, which the other
// refuses when it checks, taint_contains, which is ours alone, and the negative of the smallest int, which the other lets grow beyond 64 bits.
const { execFileSync } = require('child_process');
const { pathToFileURL } = require('url');
const path = require('path');

const bindings = { n: 5, m: -3, z: 0, s: 'héllo', e: '', yes: true, no: false, nums: [3, 1, 2], none: [], words: ['a', 'ab', 'é😀'],
  tab: { a: 1, b: 2 }, deep: { x: { y: 'z' } } };
const theirs = (v) => {
  if (typeof v === 'number') return BigInt(v);
  if (Array.isArray(v)) return v.map(theirs);
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, theirs(x)]));
  return v;
};

let state = 0x2468ace;
const next = (n) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % n;
const pick = (list) => list[next(list.length)];
let bound = []; // [name, kind] of macros around here
const local = (kind) => bound.filter(([, k]) => k === kind).map(([name]) => name);
const inside = (name, kind, make) => {
  bound.push([name, kind]);
  const text = make();
  bound.pop();
  return text;
};
const make = {
  int: (d) => {
    if (d > 3) return pick(['0', '1', '-7', '42', '0x1F', '9223372036854775807', '-9223372036854775808', 'n', 'm', 'z', 'tab.a', ...local('int')]);
    return pick([
      () => `${make.int(9)}`,
      () => `(${make.int(d + 1)} ${pick(['+', '-', '*', '/', '%'])} ${make.int(d + 1)})`,
      () => `-(${pick(['n', 'm', 'z', '42', '-7'])})`,
      () => `size(${make[pick(['string', 'ints', 'strings'])](d + 1)})`,
      () => `${make.string(d + 1)}.size()`,
      () => `(${make.bool(d + 1)} ? ${make.int(d + 1)} : ${make.int(d + 1)})`,
      () => `${make.ints(d + 1)}[${make.int(9)}]`,
      () => `tab[${pick(["'a'", "'b'", "'c'"])}]`,
    ])();
  },
  string: (d) => {
    if (d > 3) return pick(["'a'", "''", '"é"', "r'\\d'", "'\\u00e9\\n'", '"""x"y"""', 's', 'e', 'deep.x.y', ...local('string')]);
    return pick([
      () => make.string(9),
      () => `(${make.string(d + 1)} + ${make.string(d + 1)})`,
      () => `(${make.bool(d + 1)} ? ${make.string(d + 1)} : ${make.string(d + 1)})`,
      () => `${make.strings(d + 1)}[${make.int(9)}]`,
    ])();
  },
  bool: (d) => {
    if (d > 3) return pick(['true', 'false', 'yes', 'no', ...local('bool')]);
    const order = () => pick(['<', '<=', '>', '>=', '==', '!=']);
    return pick([
      () => make.bool(9),
      () => `!${make.bool(d + 1)}`,
      () => `(${make.bool(d + 1)} ${pick(['&&', '||'])} ${make.bool(d + 1)})`,
      () => `(${make.int(d + 1)} ${order()} ${make.int(d + 1)})`,
      () => `(${make.string(d + 1)} ${order()} ${make.string(d + 1)})`,
      () => `(${make.ints(d + 1)} ${pick(['==', '!='])} ${make.ints(d + 1)})`,
      () => `(${make.int(d + 1)} in ${make.ints(d + 1)})`,
      () => `(${make.string(d + 1)} in tab)`,
      () => `${make.string(d + 1)}.${pick(['startsWith', 'endsWith', 'contains'])}(${make.string(d + 1)})`,
      () => `${make.string(d + 1)}.matches(${pick(["'^a'", "'l+'", "'[a-c]$'", "'^(a|é)*$'", "'^.{2}$'"])})`,
      () => pick(['has(tab.a)', 'has(tab.c)', 'has(deep.x.y)', 'has(deep.x.q)', 'has(deep.q.y)']),
      () => `${make.ints(d + 1)}.${pick(['all', 'exists', 'exists_one'])}(i${d}, ${inside(`i${d}`, 'int', () => make.bool(d + 1))})`,
      () => `${make.strings(d + 1)}.${pick(['all', 'exists'])}(t${d}, ${inside(`t${d}`, 'string', () => make.bool(d + 1))})`,
    ])();
  },
  ints: (d) => {
    if (d > 3) return pick(['nums', '[1, 2]', '[0]']);
    return pick([
      () => make.ints(9),
      () => `[${make.int(d + 1)}, ${make.int(d + 1)}]`,
      () => `(${make.ints(d + 1)} + ${make.ints(d + 1)})`,
      () => `${make.ints(d + 1)}.filter(f${d}, ${inside(`f${d}`, 'int', () => make.bool(d + 1))})`,
      () => `${make.ints(d + 1)}.map(p${d}, ${inside(`p${d}`, 'int', () => make.int(d + 1))})`,
    ])();
  },
  strings: (d) => (d > 3 ? pick(['words', "['x', 'y']"]) : pick([
    () => make.strings(9),
    () => `[${make.string(d + 1)}, ${make.string(d + 1)}]`,
    () => `(${make.strings(d + 1)} + ${make.strings(d + 1)})`,
  ])()),
};

const table = ['1 / 0', '-7 / 2', '-7 % 3', '7 % -3', 'z / z == 1 || yes', 'z / z == 1 && no', 'no || z / z == 1', "'a' < 'b' && 'B' < 'a'",
  "'\\x41\\101\\U0001f600'", "'''a\nb'''", "size('é😀')", 'nums[3]', 'tab.c', "has(tab.c) && tab.c == 1", '[0, 2].all(x, 4 / x == 1)', '[0, 4].exists(x, 4 / x == 1)',
  '{"a": 1, "b": 2} == {"b": 2, "a": 1}', '9223372036854775807 + 1', '-9223372036854775808 - 1', '9223372036854775807 * 2',
  '"abc".matches("^(a+)+$")', 'no ? 1 : yes ? 2 : 3', '[1, 2,] == [1, 2]', '{1: "x"}[1] == "x"', '{"a": 1, "a": 2}', '1 // comment\n + 2'];
const questions = [...table];
for (let i = 0; i < Number(process.argv[3]); i++) questions.push(make[pick(['int', 'string', 'bool', 'bool', 'bool', 'ints'])](0));

const plain = (v) => {
  if (typeof v === 'bigint') return v.toString();
  if (Array.isArray(v)) return `[${v.map(plain).join(',')}]`;
  return JSON.stringify(v);
};

(async () => {
  const { Environment } = await import(pathToFileURL(path.join(process.env.NODE_PATH, '@marcbachmann/cel-js/lib/index.js')));
  const other = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false });
  const given = theirs(bindings);
  const answers = execFileSync(process.argv[2], ['expression'], {
    input: questions.map((q) => JSON.stringify({ expr: q, bindings })).join('\n') + '\n', maxBuffer: 1 << 28 }).toString().split('\n');
  let wrong = 0, errors = 0, left = 0;
  questions.forEach((q, i) => {
    let want;
    try {
      want = plain(other.evaluate(q, given));
    } catch (e) {
      want = `! ${e.message.split('\n')[0]}`;
    }
    const ours = answers[i];
    if (ours === '! EXPRESSION_SIZE') { // the other has other limits
      left++;
      return;
    }
    errors += want[0] === '!';
    const same = want[0] === '!' ? ours[0] === '!' : ours === want;
    if (!same && wrong++ < 15) console.log(`${q}: ours ${ours}, cel-js ${want}`);
  });
  console.log(`${questions.length} expressions (${errors} errors), ${left} left out, ${wrong} differ`);
  process.exit(wrong ? 1 : 0);
})();
