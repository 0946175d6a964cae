// Runs a program on a functional framework and records each outcome. A call for gradients becomes a call of `vjp`, whose function
// recomputes the values that depend on the inputs. If it needs a gradient that is differentiated again, it calls `vjp` inside.

import {body, operands} from './program.mjs';

// The outcome of each instruction, as the protocol writes it. Any error of the framework is an outcome.
export function observed(program, framework) {
  const values = new Map();
  const deleted = new Set(); // deleted by the program; later functions may still need them
  const leaves = [];
  const observation = program.map((step) => {
    const seen = outcome(step, () => done(program, step, values, framework));
    if (seen.returned && step.do === 'leaf') leaves.push(step.made[0]);
    if (seen.returned && step.do === 'drop') step.values.forEach((ref) => deleted.add(ref));
    if (step.do === 'grad' || step.do === 'drop') {
      const kept = leaves.filter((ref) => !deleted.has(ref));
      seen.gradients = Object.fromEntries(kept.map((ref) => [ref, null])); // leaves of a functional framework have no gradient
    }
    return seen;
  });
  values.forEach(framework.released);
  return observation;

  function outcome(step, make) {
    if (!operands(step).every((ref) => values.has(ref))) return {skipped: true};
    try {
      const made = make();
      const returned = made.map((value) => value && framework.read(value));
      made.forEach((value, k) => value && values.set(step.made[k], value));
      return {returned};
    } catch (error) {
      return {raised: {kind: framework.kind(error), type: error?.constructor?.name ?? typeof error, message: String(error?.message ?? error)}};
    }
  }
}

function done(program, step, values, framework) {
  switch (step.do) {
    case 'leaf':
      return [framework.leaf(step.data, step.shape, step.dtype)];
    case 'apply':
    case 'detach':
      return applied(step, (ref) => values.get(ref), framework);
    case 'grad':
      return gradients(program, step, (ref) => values.get(ref), framework);
    default:
      return [];
  }
}

function applied(step, value, framework) {
  const given = operands(step).map((ref) => framework.shared(value(ref)));
  const made = step.do === 'detach' ? framework.detached(...given) : framework.ops[step.op](given, step.attrs);
  return Array.isArray(made) ? made : [made];
}

// The gradients of a call's roots; `outside` returns the constants and the inputs of the differentiated function.
function gradients(program, call, outside, framework) {
  const steps = body(program, call);

  function roots(...inputs) {
    const known = new Map(call.inputs.map((ref, k) => [ref, inputs[k]]));
    const value = (ref) => known.get(ref) ?? outside(ref);
    try {
      for (const step of steps) {
        const made = step.do === 'grad' ? gradients(program, step, value, framework) : applied(step, value, framework);
        made.forEach((each, k) => known.set(step.made[k], each));
      }
      return call.roots.map((ref) => framework.shared(value(ref)));
    } finally {
      known.forEach(framework.released);
    }
  }

  const cotangents = call.cotangents.map((each) => each && framework.leaf(each.data, each.shape, each.dtype));
  return framework.vjp(roots, call.inputs.map((ref) => framework.shared(outside(ref))), cotangents, call);
}
