// A worker in Node.js: `node worker.mjs NAME` serves the framework of NAME.mjs. docs/protocol.md describes the protocol.
//
// A framework's module exports one object: its name, version, capabilities, traits and dtypes; `ops`, a function of operands and
// attributes for each op's name; `leaf` and `read`, which copy elements in and out; `vjp`; the `kind` of an error; `cleared`, which runs
// a function and frees the tensors that it made; `shared`, which adds a reference to a value, for a call that consumes one; `released`,
// which releases a reference; and, if `DETACH` is claimed, `detached`.

import {createInterface} from 'node:readline';
import {VERSION, claims} from './claims.mjs';
import {decoded} from './program.mjs';
import {text} from './numbers.mjs';
import {observed} from './run.mjs';

console.log = console.info = console.debug = console.error; // standard output is for replies alone

const name = process.argv[2];
if (!/^[a-z]+$/.test(name ?? '')) {
  console.error('usage: node worker.mjs jaxjs|tfjs');
  process.exit(2);
}
const {default: framework} = await import(`./${name}.mjs`);

function handshake(request) {
  if (request.protocol !== VERSION) return {error: `this worker speaks version ${VERSION} of the protocol, not ${request.protocol}`};
  if (request.device !== 'cpu') return {error: `${framework.name} computes on the CPU here, not on ${request.device}`};
  return claims(framework);
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

function reply(request) {
  switch (request.do) {
    case 'hello':
      return handshake(request);
    case 'run':
      return {id: request.id, ...ran(request.program)};
    default:
      return {id: request.id, error: `this worker does not know how to ${request.do}`};
  }
}

for await (const line of createInterface({input: process.stdin})) process.stdout.write(text(reply(JSON.parse(line))) + '\n');
