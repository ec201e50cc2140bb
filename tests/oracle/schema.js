// schema.js — schemas: ours against ajv, over the table of cases and over schemas and values made at random.
const { execFileSync } = require('child_process');
const fs = require('fs');
const Ajv2020 = require('ajv/dist/2020').default;
const Ajv = require('ajv').default;
const formats = require('ajv-formats').default;
const options = { strict: false, allErrors: false, logger: false };
const draft07 = new Ajv(options), draft2020 = new Ajv2020(options);
[draft07, draft2020].forEach((ajv) => formats(ajv, ['date-time', 'uri', 'uuid']));
const other = (schema, value) => {
  const is07 = schema && typeof schema === 'object' && String(schema.$schema).includes('draft-07');
  const ajv = is07 ? draft07 : draft2020;
  const answer = ajv.compile(schema)(value) ? 'valid' : 'invalid';
  if (typeof schema === 'object') ajv.removeSchema(schema);
  return answer;
};

const questions = []; // [name, schema, value, line]
let skipped = 0;
for (const line of fs.readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean)) {
  const row = JSON.parse(line);
  if (row.expect.refused || row.differs) {
    skipped += row.differs ? 1 : 0;
    continue;
  }
  // The value goes to us as it was written, since numbers are text to us.
  const given = line.slice(line.indexOf('"given": ') + 9, line.lastIndexOf(', "expect"'));
  questions.push([row.name, row.given.schema, row.given.value, given]);
}

let state = 0x1234567;
const next = (n) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % n;
const pick = (list) => list[next(list.length)];
const names = ['a', 'b', 'ab', 'c', 'é']; // ajv overlooks that the empty name is missing
const scalar = () => pick([null, true, false, 0, 1, 2, 3, 5, -1, 2.5, 'a', 'ab', 'b', '', '정책', 'abc']);
const value = (d) => {
  if (d > 2 || next(3)) return scalar();
  return next(2) ? Array.from({ length: next(4) }, () => value(d + 1)) :
    Object.fromEntries(Array.from({ length: next(4) }, () => [pick(names), value(d + 1)]));
};
const list = (make, n = 1 + next(3)) => Array.from({ length: n }, make);
const schema = (d) => {
  if (d > 3) return pick([true, false, {}, { type: pick(types) }]);
  const s = {};
  for (let i = next(4); i >= 0; i--) {
    const k = pick(Object.keys(keywords));
    s[k] = keywords[k](d + 1);
  }
  if ('const' in s) delete s.enum; // together they are refused by us
  if ('prefixItems' in s) delete s.contains; // ajv takes [] there
  return s;
};
const types = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'];
const keywords = {
  type: () => (next(3) ? pick(types) : [...new Set(list(() => pick(types)))]),
  const: () => value(1), enum: () => [...new Map(list(() => value(1)).map((v) => [JSON.stringify(v), v])).values()],
  properties: (d) => Object.fromEntries(list(() => [pick(names), schema(d)])),
  patternProperties: (d) => Object.fromEntries(list(() => [pick(['^a', 'b$', '^.b?$', '[ac]']), schema(d)])),
  additionalProperties: (d) => schema(d), propertyNames: (d) => schema(d), required: () => [...new Set(list(() => pick(names)))],
  minProperties: () => next(3), maxProperties: () => next(3), minItems: () => next(3), maxItems: () => next(3),
  items: (d) => schema(d), prefixItems: (d) => list(() => schema(d)), contains: (d) => schema(d), uniqueItems: () => next(2) === 0,
  minLength: () => next(3), maxLength: () => next(3), pattern: () => pick(['^a', 'b$', '^.{2}$', '[ac]', '^$']),
  minimum: () => next(4), maximum: () => next(4), exclusiveMinimum: () => next(4), exclusiveMaximum: () => next(4),
  multipleOf: () => 1 + next(3), allOf: (d) => list(() => schema(d)), anyOf: (d) => list(() => schema(d)),
  oneOf: (d) => list(() => schema(d)), not: (d) => schema(d), if: (d) => schema(d), then: (d) => schema(d), else: (d) => schema(d),
  dependentRequired: () => Object.fromEntries(list(() => [pick(names), [...new Set(list(() => pick(names)))]])),
};
for (let i = 0; i < Number(process.argv[4]); i++) {
  const s = schema(0), v = value(0);
  questions.push([`random ${i}`, s, v, JSON.stringify({ schema: s, value: v })]);
}

const answers = execFileSync(process.argv[2], ['schema'], {
  input: questions.map((q) => q[3]).join('\n') + '\n', maxBuffer: 1 << 28 }).toString().split('\n');
let wrong = 0, valid = 0;
questions.forEach(([name, s, v, line], i) => {
  let want;
  try {
    want = other(s, v);
  } catch (e) {
    skipped++; // its generated code failed
    return;
  }
  valid += want === 'valid';
  if (answers[i] !== want && wrong++ < 10) console.log(`${name}: ours ${answers[i]}, ajv ${want}: ${line}`);
});
console.log(`${questions.length} pairs (${valid} valid), ${skipped} left out, ${wrong} differ`);
process.exit(wrong ? 1 : 0);
