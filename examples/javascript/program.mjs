// Programs: how they are read, and which instructions compute a call's roots from its inputs. References such as `%3.1` are kept as text.

import {number} from './numbers.mjs';

// A program of the wire with its numbers and attributes as JavaScript has them, and a list of the references that each instruction makes.
export function decoded(form) {
  return form.instructions.map((step, at) => {
    const read = {...step};
    if (step.data) read.data = step.data.map(number);
    if (step.do === 'apply') read.attrs = attribute(step.attrs ?? {});
    if (step.cotangents) read.cotangents = step.cotangents.map((each) => each && {...each, data: each.data.map(number)});
    read.made = Array.from({length: results(step)}, (_, k) => (k ? `%${at}.${k}` : `%${at}`));
    return read;
  });
}

function attribute(form) {
  if (Array.isArray(form)) return form.map(attribute);
  if (form === null || typeof form !== 'object') return form;
  if ('float' in form) return number(form.float);
  return Object.fromEntries(Object.entries(form).map(([name, value]) => [name, attribute(value)]));
}

function results(step) {
  switch (step.do) {
    case 'leaf':
    case 'detach':
      return 1;
    case 'apply':
      return step.results ?? 1;
    case 'grad':
      return step.inputs.length;
    case 'drop':
      return 0;
    default:
      throw new Error(`this worker claims nothing for which it could be asked to ${step.do}`);
  }
}

// The values that an instruction reads.
export const operands = (step) => step.args ?? step.values ?? [...(step.source ? [step.source] : []), ...(step.roots ?? []), ...(step.inputs ?? [])];

// The instructions between a call's inputs and its roots, in order: the body of the function that is differentiated. All other values are
// its constants. A call for gradients is in the body if its results are differentiated.
export function body(program, call) {
  const depends = new Set(call.inputs);
  const steps = [];
  for (const step of program.slice(0, program.indexOf(call))) {
    if (passes(step) && reads(program, step).some((ref) => depends.has(ref))) {
      steps.push(step);
      step.made.forEach((ref) => depends.add(ref));
    }
  }
  const needed = new Set(call.roots);
  const kept = [];
  for (const step of steps.reverse()) {
    if (step.made.some((ref) => needed.has(ref))) {
      kept.unshift(step);
      reads(program, step).forEach((ref) => needed.add(ref));
    }
  }
  return kept;
}

// Whether an instruction computes something that can be differentiated.
const passes = (step) => step.do === 'apply' || step.do === 'detach' || (step.do === 'grad' && step.create_graph);

// The values that a step of a body reads; for a call for gradients, the inputs and constants of its function.
function reads(program, step) {
  if (step.do !== 'grad') return operands(step);
  const inner = body(program, step);
  const within = new Set(inner.flatMap((each) => each.made));
  const used = [...inner.flatMap((each) => reads(program, each)), ...step.roots];
  return [...step.inputs, ...used.filter((ref) => !within.has(ref))];
}
