// Runs a file of vectors on a framework: `node vectors.mjs NAME VECTORS ANSWERS`. It prints each vector that differs, writes all answers for
// `autograd-conformance vectors check`, and exits with 1 if a vector differs. `node vectors.mjs NAME --claims` prints what the framework
// claims, for `autograd-conformance vectors make --claims`. docs/vectors.md describes the format; NAME is jaxjs or tfjs.

import {readFileSync, writeFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import {claims} from './claims.mjs';
import {text} from './numbers.mjs';
import {decoded} from './program.mjs';
import {observed} from './run.mjs';

const number = (x) => (typeof x === 'string' ? Number(x.replace('inf', 'Infinity')) : x);

// How a tensor differs from the expected one; undefined if it does not.
function difference(got, want) {
  if (!got && want?.may_be_missing) return undefined; // zeros
  if (!got || !want) return !got === !want ? undefined : `${got ? 'a tensor' : 'none'} in place of ${want ? 'a tensor' : 'none'}`;
  if (String(got.shape) !== String(want.shape)) return `shape (${got.shape}) in place of (${want.shape})`;
  if (got.dtype !== want.dtype) return `${got.dtype} in place of ${want.dtype}`;
  const flags = [got.requires_grad, want.requires_grad];
  if (!flags.includes(undefined) && flags[0] !== flags[1]) return `requires_grad is ${got.requires_grad}`;
  const at = got.data.findIndex((x, k) => !(Math.abs(number(x) - want.data[k]) <= want.bound[k]));
  return at < 0 ? undefined : `${got.data[at]} in place of ${want.data[at]}, which may be off by ${want.bound[at]}`;
}

// The first difference among named tensors. A tensor that the framework does not show is not compared.
function firstOf(got, want) {
  for (const [name, expected] of Object.entries(want ?? {})) {
    const found = got && name in got ? difference(got[name], expected) : undefined;
    if (found) return `${name}: ${found}`;
  }
}

// How the outcome of an instruction differs from the expected one; undefined if it does not.
function wrong(seen, want) {
  if (want.skipped) return seen.skipped ? undefined : 'it ran, although a value that it needs does not exist';
  if (want.raised) return seen.raised?.kind === want.raised ? undefined : `it ${done(seen)}; expected: the error ${want.raised}`;
  if (!seen.returned) return `it ${done(seen)}; expected: it returns`;
  const results = want.returned.map((each, k) => difference(seen.returned[k], each)).find(Boolean);
  const calls = Object.fromEntries((seen.fired ?? []).map(({hook, gradient}) => [hook, gradient]));
  const hooks = String((seen.fired ?? []).map(({hook}) => hook).sort()) === String(Object.keys(want.fired ?? {}).sort()) ? undefined : 'other hooks were called, or one twice';
  return results ?? firstOf(seen.gradients, want.gradients) ?? firstOf(seen.values, want.values) ?? hooks ?? firstOf(calls, want.fired);
}

const done = (seen) => (seen.raised ? `raised ${seen.raised.kind} (${seen.raised.type}: ${seen.raised.message})` : seen.skipped ? 'did not run' : 'returned');

function lines(path) {
  const data = readFileSync(path);
  return (data[0] === 0x1f && data[1] === 0x8b ? gunzipSync(data) : data).toString().trimEnd().split('\n');
}

const [name, input, output] = process.argv.slice(2);
if (!/^[a-z]+$/.test(name ?? '') || !input || (input !== '--claims' && !output)) {
  console.error('usage: node vectors.mjs jaxjs|tfjs VECTORS ANSWERS, or node vectors.mjs jaxjs|tfjs --claims');
  process.exit(2);
}
const {default: framework} = await import(`./${name}.mjs`);
if (input === '--claims') {
  process.stdout.write(text(claims(framework)) + '\n');
  process.exit(0);
}

const [first, ...vectors] = lines(input);
if (JSON.parse(first).vectors !== 1) throw new Error(`${input} is no file of vectors of version 1`);
const answers = [text(claims(framework))];
let differing = 0;
for (const line of vectors) {
  const {id, rule, program, expected} = JSON.parse(line);
  const observation = framework.cleared(() => observed(decoded(program), framework));
  answers.push(text({id, observation}));
  const refused = expected.findIndex((want, k) => want.or_raised && observation[k].raised?.kind === want.or_raised);
  const at = expected.findIndex((want, k) => wrong(observation[k], want));
  if (at < 0 || (refused >= 0 && refused <= at)) continue;
  differing += 1;
  console.log(`not ok ${id} ${rule}, instruction ${at}: ${wrong(observation[at], expected[at])}`);
}
writeFileSync(output, answers.join('\n') + '\n');
console.log(`${vectors.length - differing} of ${vectors.length} vectors are right`);
process.exitCode = differing ? 1 : 0;
