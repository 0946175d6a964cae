// What a framework claims, as the protocol's handshake and the first line of a file of answers have it.

import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';

export const VERSION = 1;
const SOURCES = ['worker.mjs', 'claims.mjs', 'program.mjs', 'numbers.mjs', 'run.mjs'];

export function claims(framework) {
  const {name, version, capabilities, traits, dtypes, ops} = framework;
  const language = `JavaScript (Node.js ${process.versions.node})`;
  return {protocol: VERSION, name, version, language, capabilities, traits, dtypes, ops: Object.keys(ops), digest: digest(name)};
}

// Changes with the sources of the runner and the framework's table.
function digest(name) {
  const hash = createHash('sha256');
  for (const file of [...SOURCES, `${name}.mjs`]) hash.update(readFileSync(new URL(file, import.meta.url)));
  return hash.digest('hex').slice(0, 16);
}
