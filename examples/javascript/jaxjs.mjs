// jax-js on its default backend, WebAssembly: https://jax-js.com/docs.

import {readFileSync} from 'node:fs';
import {lax, nn, numpy as np, scipySpecial, tree, vjp} from '@jax-js/jax';

if (!globalThis.Float16Array) {
  console.error('jax-js needs Node.js 24: it uses Float16Array and the methods of iterators');
  process.exit(2);
}

const PACKAGE = new URL('../package.json', import.meta.resolve('@jax-js/jax')); // beside `dist`; the library does not export its version

const all = (dims) => (dims.length ? dims : null); // no dimensions mean all
const integers = (nested) => np.array(nested, {dtype: np.int32});
const booleans = (nested) => np.array(nested, {dtype: np.bool});
const ends = (sizes) => sizes.slice(0, -1).map((_, k) => sizes.slice(0, k + 1).reduce((a, b) => a + b)); // but for the last part's
const at = (dim, index) => [...Array(dim).fill([]), index];
const unary = (f) => ([x]) => f(x);
const binary = (f) => ([a, b]) => f(a, b);
const over = (f, more = () => ({})) => ([x], {dim, keepdim, ...rest}) => f(x, all(dim), {keepdims: keepdim, ...more(rest)});
const along = (f) => ([x], {dim, keepdim}) => f(x, dim, {keepdims: keepdim});
const norm = ([x], {ord, dim, keepdim}) => np.linalg.vectorNorm(x, {ord: ord ?? Infinity, axis: all(dim), keepdims: keepdim});
const joined = (f) => (operands, {dim}) => f(operands, dim);

function convolved([x, weight], {stride, padding, dilation, groups}) {
  const each = (value) => Array(x.ndim - 2).fill(value);
  const options = {rhsDilation: each(dilation), featureGroupCount: groups};
  return lax.convGeneralDilated(x, weight, each(stride), each([padding, padding]), options);
}

// jax-js's function for each op, by the catalogue's name, for all attributes and shapes. Left out because they do less: `nn.softplus` has no
// parameters; `np.sort` sorts in ascending order only; `lax.topK` finds the largest only; `np.pad` pads with zeros only; `np.moveaxis` moves
// one dimension; `np.repeat` repeats all elements equally often; `np.diag` takes vectors only; `lax.convTranspose` has no groups;
// `lax.reduceWindow` has no padding; `np.linalg.eigvalsh` has no derivative. There is no `copy`.
const OPS = {
  negative: unary(np.negative),
  add_scalar: ([x], {scalar}) => np.add(x, scalar),
  subtract_scalar: ([x], {scalar}) => np.subtract(x, scalar),
  scalar_subtract: ([x], {scalar}) => np.subtract(scalar, x),
  multiply_scalar: ([x], {scalar}) => np.multiply(x, scalar),
  divide_scalar: ([x], {scalar}) => np.divide(x, scalar),
  scalar_divide: ([x], {scalar}) => np.divide(scalar, x),
  reciprocal: unary(np.reciprocal),
  square: unary(np.square),
  sqrt: unary(np.sqrt),
  pow_scalar: ([x], {exponent}) => np.power(x, exponent),
  pow_integer: ([x], {exponent}) => np.power(x, exponent),
  scalar_pow: ([x], {base}) => np.power(base, x),
  abs: unary(np.abs),
  clip: ([x], {min, max}) => np.clip(x, min ?? undefined, max ?? undefined),
  exp: unary(np.exp),
  exp2: unary(np.exp2),
  expm1: unary(np.expm1),
  log: unary(np.log),
  log2: unary(np.log2),
  log10: unary(np.log10),
  log1p: unary(np.log1p),
  sigmoid: unary(nn.sigmoid),
  logit: unary(scipySpecial.logit),
  sin: unary(np.sin),
  cos: unary(np.cos),
  tan: unary(np.tan),
  asin: unary(np.asin),
  acos: unary(np.acos),
  atan: unary(np.atan),
  sinh: unary(np.sinh),
  cosh: unary(np.cosh),
  tanh: unary(np.tanh),
  asinh: unary(np.asinh),
  acosh: unary(np.acosh),
  atanh: unary(np.atanh),
  sinc: unary(np.sinc),
  deg2rad: unary(np.deg2rad),
  erf: unary(scipySpecial.erf),
  erfc: unary(scipySpecial.erfc),
  sign: unary(np.sign),
  floor: unary(np.floor),
  ceil: unary(np.ceil),
  round: unary(np.round),
  astype_float32: ([x]) => np.astype(x, np.float32),
  add: binary(np.add),
  subtract: binary(np.subtract),
  multiply: binary(np.multiply),
  divide: binary(np.divide),
  pow: binary(np.power),
  atan2: binary(np.atan2),
  hypot: binary(np.hypot),
  logaddexp: binary(np.logaddexp),
  logaddexp2: binary(np.logaddexp2),
  maximum: binary(np.maximum),
  minimum: binary(np.minimum),
  fmax: binary(np.fmax),
  fmin: binary(np.fmin),
  copysign: binary(np.copysign),
  where: ([a, b], {mask}) => np.where(booleans(mask), a, b),
  relu: unary(nn.relu),
  relu6: unary(nn.relu6),
  leaky_relu: ([x], {slope}) => nn.leakyRelu(x, slope),
  elu: ([x], {alpha}) => nn.elu(x, alpha),
  celu: ([x], {alpha}) => nn.celu(x, alpha),
  selu: unary(nn.selu),
  gelu: ([x]) => nn.gelu(x, {approximate: false}),
  gelu_tanh: ([x]) => nn.gelu(x, {approximate: true}),
  silu: unary(nn.silu),
  mish: unary(nn.mish),
  logsigmoid: unary(nn.logSigmoid),
  softsign: unary(nn.softSign),
  hardtanh: unary(nn.hardTanh),
  hardsigmoid: unary(nn.hardSigmoid),
  hardswish: unary(nn.hardSwish),
  glu: ([x], {dim}) => nn.glu(x, dim),
  sum: over(np.sum),
  mean: over(np.mean),
  prod: unary(np.prod),
  prod_dim: along(np.prod),
  logsumexp: over(nn.logsumexp),
  var: over(np.var_, ({correction}) => ({correction})),
  std: over(np.std, ({correction}) => ({correction})),
  max: unary(np.max),
  min: unary(np.min),
  amax: over(np.max),
  amin: over(np.min),
  max_dim: along(np.max),
  min_dim: along(np.min),
  vector_norm: norm,
  vector_norm_inf: norm,
  cumulative_sum: along(np.cumsum),
  cumulative_prod: along(np.cumprod),
  diff: ([x], {n, dim}) => np.diff(x, n, dim),
  reshape: ([x], {shape}) => np.reshape(x, shape),
  permute_dims: ([x], {dims}) => np.permuteDims(x, dims),
  matrix_transpose: unary(np.matrixTranspose),
  transpose: ([x], {dim0, dim1}) => np.swapaxes(x, dim0, dim1),
  expand_dims: ([x], {dim}) => np.expandDims(x, dim),
  squeeze: ([x], {dim}) => np.squeeze(x, dim),
  flip: ([x], {dims}) => np.flip(x, dims),
  roll: ([x], {shifts, dims}) => np.roll(x, shifts, dims),
  rot90: ([x], {k, dims}) => np.rot90(x, k, dims),
  broadcast_to: ([x], {shape}) => np.broadcastTo(x, shape),
  tile: ([x], {dims}) => np.tile(x, dims),
  repeat: ([x], {repeats, dim}) => np.repeat(x, repeats, dim),
  concat: joined(np.concatenate),
  concat_three: joined(np.concatenate),
  stack: joined(np.stack),
  stack_three: joined(np.stack),
  split: ([x], {sizes, dim}) => np.split(x, ends(sizes), dim),
  tensor_split: ([x], {sections, dim}) => np.arraySplit(x, sections, dim),
  unstack: ([x], {dim}) => np.unstack(x, dim),
  select: ([x], {dim, index}) => x.slice(...at(dim, index)),
  narrow: ([x], {dim, start, length}) => x.slice(...at(dim, [start, start + length])),
  take: ([x], {dim, index}) => np.take(x, integers(index), dim),
  take_along_axis: ([x], {dim, index}) => np.takeAlongAxis(x, integers(index), dim),
  take_flat: ([x], {index}) => np.take(x, integers(index)),
  index: ([x], {index}) => x.slice(integers(index)),
  embedding: ([x], {index}) => x.slice(integers(index)),
  masked_fill: ([x], {mask, value}) => np.where(booleans(mask), value, x),
  tril: ([x], {diagonal}) => np.tril(x, diagonal),
  triu: ([x], {diagonal}) => np.triu(x, diagonal),
  diagonal: ([x], {offset}) => np.diagonal(x, offset, -2, -1),
  trace: unary(np.trace),
  matmul: binary(np.matmul),
  mm: binary(np.dot),
  mv: binary(np.dot),
  dot: binary(np.dot),
  bmm: binary(np.matmul),
  vecdot: ([a, b], {dim}) => np.vecdot(a, b, {axis: dim}),
  outer: binary(np.outer),
  inner: binary(np.inner),
  tensordot: ([a, b], {dims}) => np.tensordot(a, b, dims),
  einsum: (operands, {equation}) => np.einsum(equation, ...operands),
  einsum_three: (operands, {equation}) => np.einsum(equation, ...operands),
  cross: ([a, b], {dim}) => np.linalg.cross(a, b, dim),
  multi_dot: (operands) => np.linalg.multiDot(operands),
  softmax: ([x], {dim}) => nn.softmax(x, dim),
  log_softmax: ([x], {dim}) => nn.logSoftmax(x, dim),
  layer_norm: ([x], {normalized_shape, eps}) => nn.standardize(x, normalized_shape.map((_, k) => k - normalized_shape.length), {epsilon: eps}),
  conv1d: convolved,
  conv2d: convolved,
  det: unary(np.linalg.det),
  slogdet: unary(np.linalg.slogdet),
  inv: unary(np.linalg.inv),
  solve: binary(np.linalg.solve),
  solve_triangular: ([a, b], {upper}) => lax.linalg.triangularSolve(a, b, {leftSide: true, lower: !upper}),
  cholesky: ([x]) => np.linalg.cholesky(x, {symmetrizeInput: true}),
  matrix_power: ([x], {n}) => np.linalg.matrixPower(x, n),
  matrix_norm: ([x]) => np.linalg.matrixNorm(x, {ord: 'fro'}),
};

export default {
  name: 'jaxjs',
  version: JSON.parse(readFileSync(PACKAGE)).version,
  // Sources: the documentation of `vjp` (cotangents of the outputs in, of the inputs out), of transformations (they compose) and of `lax.stopGradient`.
  capabilities: ['FUNCTIONAL', 'MATERIALIZES', 'COTANGENTS', 'MULTIPLE_ROOTS', 'CREATE_GRAPH', 'DETACH'],
  traits: {},
  dtypes: ['float32'], // float64 is computed as float32: docs/findings.md
  ops: OPS,
  leaf: (data, shape, dtype) => np.array(data, {shape, dtype}),
  read: (value) => ({shape: value.shape, dtype: value.dtype, data: Array.from(value.ref.dataSync())}),
  // Every function consumes a reference of each array that it is given; an array without references is freed.
  shared: (value) => value.ref,
  released: (value) => {
    if (value.refCount !== 0) value.dispose(); // `vjp` frees a value that its function returns twice once too often
  },
  cleared: (f) => f(),
  detached: (value) => lax.stopGradient(value),
  vjp: (roots, inputs, cotangents) => {
    const [made, pull] = vjp(roots, inputs);
    try {
      return pull(cotangents.map((each, k) => each ?? np.onesLike(made[k].ref))); // as `grad` does for a root of one element
    } finally {
      tree.dispose(made);
      pull.dispose();
    }
  },
  kind: (error) => (String(error?.message).includes('not implemented') ? 'NOT_IMPLEMENTED' : 'UNKNOWN'),
};
