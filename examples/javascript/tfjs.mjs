// TensorFlow.js on its CPU backend: https://js.tensorflow.org/api/latest.

import * as tf from '@tensorflow/tfjs';

await tf.setBackend('cpu');

const MESSAGES = [
  ['Cannot compute gradient of y=f(x)', 'UNUSED_INPUT'],
  ['The shape of dy passed in', 'COTANGENT_SHAPE'],
  ['gradient function not found', 'NOT_IMPLEMENTED'],
  ['is not implemented for', 'NOT_IMPLEMENTED'],
];

const REDUCTIONS = {mean: tf.Reduction.MEAN, sum: tf.Reduction.SUM, none: tf.Reduction.NONE};

const all = (dims) => (dims.length ? dims : undefined); // no dimensions mean all
const integers = (nested) => tf.tensor(nested, undefined, 'int32');
const activation = (name) => {
  const layer = tf.layers.activation({activation: name});
  return ([x]) => layer.apply(x);
};
const unary = (f) => ([x]) => f(x);
const binary = (f) => ([a, b]) => f(a, b);
const over = (f) => ([x], {dim, keepdim}) => f(x, all(dim), keepdim);
const along = (f) => ([x], {dim, keepdim}) => f(x, dim, keepdim);
const joined = (f) => (operands, {dim}) => f(operands, dim);

function swapped([x], {dim0, dim1}) {
  const dims = [...x.shape.keys()];
  const [i, j] = [dims.at(dim0), dims.at(dim1)];
  [dims[i], dims[j]] = [j, i];
  return tf.transpose(x, dims);
}

function narrowed([x], {dim, start, length}) {
  const [begin, size] = [x.shape.map(() => 0), [...x.shape]];
  begin[dim] = start;
  size[dim] = length;
  return tf.slice(x, begin, size);
}

function read({shape, dtype, size}, data) {
  if (data.length !== size) throw new RangeError(`a tensor of shape [${shape}] has ${data.length} elements`);
  return {shape, dtype, data: Array.from(data)};
}

// tfjs's differentiable function for each op, by the catalogue's name, for all attributes and shapes. Left out: `tf.softmax` and
// `tf.logSoftmax`, which take the last dimension only; `tf.elu` and `tf.softplus`, which have no parameters; convolution and pooling, which
// want channels last; `tf.cumprod`, `tf.topk`, `tf.einsum`, `tf.stridedSlice` and other diagonals of `tf.linalg.bandPart`, which have no
// derivative.
const OPS = {
  negative: unary(tf.neg),
  add_scalar: ([x], {scalar}) => tf.add(x, scalar),
  subtract_scalar: ([x], {scalar}) => tf.sub(x, scalar),
  scalar_subtract: ([x], {scalar}) => tf.sub(scalar, x),
  multiply_scalar: ([x], {scalar}) => tf.mul(x, scalar),
  divide_scalar: ([x], {scalar}) => tf.div(x, scalar),
  scalar_divide: ([x], {scalar}) => tf.div(scalar, x),
  reciprocal: unary(tf.reciprocal),
  square: unary(tf.square),
  sqrt: unary(tf.sqrt),
  rsqrt: unary(tf.rsqrt),
  pow_scalar: ([x], {exponent}) => tf.pow(x, exponent),
  pow_integer: ([x], {exponent}) => tf.pow(x, exponent),
  scalar_pow: ([x], {base}) => tf.pow(base, x),
  abs: unary(tf.abs),
  clip: ([x], {min, max}) => tf.clipByValue(x, min ?? -Infinity, max ?? Infinity),
  exp: unary(tf.exp),
  expm1: unary(tf.expm1),
  log: unary(tf.log),
  log1p: unary(tf.log1p),
  sigmoid: unary(tf.sigmoid),
  sin: unary(tf.sin),
  cos: unary(tf.cos),
  tan: unary(tf.tan),
  asin: unary(tf.asin),
  acos: unary(tf.acos),
  atan: unary(tf.atan),
  sinh: unary(tf.sinh),
  cosh: unary(tf.cosh),
  tanh: unary(tf.tanh),
  asinh: unary(tf.asinh),
  acosh: unary(tf.acosh),
  atanh: unary(tf.atanh),
  erf: unary(tf.erf),
  sign: unary(tf.sign),
  floor: unary(tf.floor),
  ceil: unary(tf.ceil),
  round: unary(tf.round),
  clone: unary(tf.clone),
  astype_float32: ([x]) => tf.cast(x, 'float32'),
  add: binary(tf.add),
  subtract: binary(tf.sub),
  multiply: binary(tf.mul),
  divide: binary(tf.div),
  pow: binary(tf.pow),
  atan2: binary(tf.atan2),
  maximum: binary(tf.maximum),
  minimum: binary(tf.minimum),
  where: ([a, b], {mask}) => tf.where(tf.tensor(mask, undefined, 'bool'), a, b),
  relu: unary(tf.relu),
  relu6: unary(tf.relu6),
  leaky_relu: ([x], {slope}) => tf.leakyRelu(x, slope),
  selu: unary(tf.selu),
  gelu: activation('gelu'),
  gelu_tanh: activation('gelu_new'),
  silu: activation('swish'),
  mish: activation('mish'),
  logsigmoid: unary(tf.logSigmoid),
  softsign: activation('softsign'),
  sum: over(tf.sum),
  mean: over(tf.mean),
  prod: unary(tf.prod),
  prod_dim: along(tf.prod),
  logsumexp: over(tf.logSumExp),
  max: unary(tf.max),
  min: unary(tf.min),
  amax: over(tf.max),
  amin: over(tf.min),
  max_dim: along(tf.max),
  min_dim: along(tf.min),
  cumulative_sum: along(tf.cumsum),
  reshape: ([x], {shape}) => tf.reshape(x, shape),
  permute_dims: ([x], {dims}) => tf.transpose(x, dims),
  matrix_transpose: ([x]) => swapped([x], {dim0: -2, dim1: -1}),
  transpose: swapped,
  expand_dims: ([x], {dim}) => tf.expandDims(x, dim),
  squeeze: ([x], {dim}) => tf.squeeze(x, dim),
  flip: ([x], {dims}) => tf.reverse(x, dims),
  broadcast_to: ([x], {shape}) => tf.broadcastTo(x, shape),
  concat: joined(tf.concat),
  concat_three: joined(tf.concat),
  stack: joined(tf.stack),
  stack_three: joined(tf.stack),
  split: ([x], {sizes, dim}) => tf.split(x, sizes, dim),
  unstack: ([x], {dim}) => tf.unstack(x, dim),
  narrow: narrowed,
  take: ([x], {dim, index}) => tf.gather(x, integers(index), dim),
  index: ([x], {index}) => tf.gather(x, integers(index)),
  embedding: ([x], {index}) => tf.gather(x, integers(index)),
  mm: binary(tf.matMul),
  bmm: binary(tf.matMul),
  mv: binary(tf.dot),
  dot: binary(tf.dot),
  outer: binary(tf.outerProduct),
  mse_loss: ([x, y], {reduction}) => tf.losses.meanSquaredError(y, x, undefined, REDUCTIONS[reduction]),
  l1_loss: ([x, y], {reduction}) => tf.losses.absoluteDifference(y, x, undefined, REDUCTIONS[reduction]),
  huber_loss: ([x, y], {delta, reduction}) => tf.losses.huberLoss(y, x, undefined, delta, REDUCTIONS[reduction]),
  binary_cross_entropy: ([x, y], {reduction}) => tf.losses.logLoss(y, x, undefined, 0, REDUCTIONS[reduction]),
  bce_with_logits: ([x, y], {reduction}) => tf.losses.sigmoidCrossEntropy(y, x, undefined, 0, REDUCTIONS[reduction]),
};

export default {
  name: 'tfjs',
  version: tf.version.tfjs,
  // Sources: the documentation of `tf.grads` (gradients of a function of one result, weighted with `dy`), and tests of nested gradients.
  capabilities: ['FUNCTIONAL', 'MATERIALIZES', 'COTANGENTS', 'CREATE_GRAPH'],
  traits: {implicit_ones: true},
  dtypes: ['float32'],
  ops: OPS,
  leaf: (data, shape) => tf.tensor(data, shape, 'float32'),
  read: (value) => read(value, value.dataSync()),
  shared: (value) => value,
  released: () => {}, // tensors live until `cleared` has run its function
  cleared: (f) => {
    tf.engine().startScope();
    try {
      return f();
    } finally {
      tf.engine().endScope();
    }
  },
  // `tf.grads` refuses inputs that the result does not depend on. The engine's `gradients`, which it calls, documents null for them; programs
  // that request zeros get zeros instead.
  vjp: (roots, inputs, [dy], {materialize_grads}) => {
    const root = (...given) => roots(...given)[0];
    if (!materialize_grads) return tf.grads(root)(inputs, dy ?? undefined);
    const {grads} = tf.engine().gradients(() => root(...inputs), inputs, dy, true);
    return grads.map((gradient, k) => gradient ?? tf.zerosLike(inputs[k]));
  },
  kind: (error) => MESSAGES.find(([part]) => String(error?.message).includes(part))?.[1] ?? 'UNKNOWN',
};
