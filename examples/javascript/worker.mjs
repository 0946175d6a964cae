// The far end in Node.js: `node worker.mjs NAME` serves the framework of NAME.mjs. docs/protocol.md has the lines that go over the wire.
//
// A framework's module exports one object: its name, version, capabilities, traits and dtypes; `ops`, a function of operands and
// attributes for each op's name; `leaf` and `read`, which copy elements in and out; `vjp`; the `kind` of an error; `cleared`, which runs
// a function and frees what it made; `shared`, another hold on a value, for a call that takes it over, and `released`, which lets go of
// one; and, where `DETACH` is claimed, `detached`.

import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {decoded} from './program.mjs';
import {text} from './numbers.mjs';
import {observed} from './run.mjs';

const VERSION = 1;
const SOURCES = ['worker.mjs', 'program.mjs', 'numbers.mjs', 'run.mjs'];

console.log = console.info = console.debug = console.error; // the standard output is for answers alone

const name = process.argv[2];
if (!/^[a-z]+$/.test(name ?? '')) {
  console.error('usage: node worker.mjs jaxjs|tfjs');
  process.exit(2);
}
const {default: framework} = await import(`./${name}.mjs`);

function digest() {
  const hash = createHash('sha256');
  for (const file of [...SOURCES, `${name}.mjs`]) hash.update(readFileSync(new URL(file, import.meta.url)));
  return hash.digest('hex').slice(0, 16);
}

function greeting(asked) {
  if (asked.protocol !== VERSION) return {error: `this worker speaks version ${VERSION} of the protocol, not ${asked.protocol}`};
  if (asked.device !== 'cpu') return {error: `${framework.name} computes on the CPU here, not on ${asked.device}`};
  const {name, version, capabilities, traits, dtypes} = framework;
  const language = `JavaScript (Node.js ${process.versions.node})`;
  return {protocol: VERSION, name, version, language, capabilities, traits, dtypes, ops: Object.keys(framework.ops), digest: digest()};
}

function ran(form) {
  let program;
  try {
    program = decoded(form);
  } catch (error) {
    return {error: error.message};
  }
  return {observation: framework.cleared(() => observed(program, framework))};
}

function answer(asked) {
  switch (asked.do) {
    case 'hello':
      return greeting(asked);
    case 'run':
      return {id: asked.id, ...ran(asked.program)};
    default:
      return {id: asked.id, error: `this worker does not know how to ${asked.do}`};
  }
}

for await (const line of createInterface({input: process.stdin})) process.stdout.write(text(answer(JSON.parse(line))) + '\n');
