"""PyTorch's error messages, with the kind of error of each; frameworks with its interface often have the same ones."""

from __future__ import annotations

from autograd_conformance.programs.observations import Kind

UNSUPPORTED_DTYPES = (
    " not implemented for 'BFloat16'",
    " not implemented for 'ComplexHalf'",
    " not implemented for 'Half'",
    "Low precision dtypes not supported",
    "Unsupported dtype BFloat16",
    "Unsupported dtype Half",
    "MKL FFT doesn't support tensors of type: Half",
    "Expected both inputs to be Half, Float or Double tensors but got BFloat16",
    "input tensor must be either float or double dtype",
    "doesn't handle types other than float and double",
    "linalg.vander supports floating point, complex, and integer tensors, but got",
    "expected a tensor with 2 or more dimensions of float, double",
)
"""The most stable part of the messages with which PyTorch refuses a dtype of few digits."""

MESSAGES = (
    ("Trying to backward through the graph a second time", Kind.GRAPH_FREED),
    ("does not require grad and does not have a grad_fn", Kind.NO_GRAD),
    ("grad can be implicitly created only for scalar outputs", Kind.NON_SCALAR_ROOT),
    ("Mismatch in shape: grad_output", Kind.COTANGENT_SHAPE),
    ("has been modified by an inplace operation", Kind.MODIFIED),
    ("saved tensor that has been detached in-place", Kind.MODIFIED),
    ("a leaf Variable that requires grad is being used in an in-place operation", Kind.LEAF_WRITTEN),
    ("a leaf Variable that requires grad has been used in an in-place operation", Kind.LEAF_WRITTEN),
    ("A view was created in no_grad mode and", Kind.VIEW_WRITTEN),
    ("is a view and is being modified inplace", Kind.VIEW_WRITTEN),
    ("is a view and its base or another view of its base has been modified inplace", Kind.VIEW_WRITTEN),
    ("a view with restricted mutation history cannot be modified inplace", Kind.VIEW_WRITTEN),  # of TensorPlay
    ("a view was modified after its backward history became stale", Kind.VIEW_WRITTEN),  # of TensorPlay
    ("of the written-to tensor refers to a single memory location", Kind.OVERLAP),
    ("a tensor being mutated that has internal overlap", Kind.OVERLAP),
    ("and the written-to tensor refer to a single memory location", Kind.OVERLAP),
    ("you can only change requires_grad flags of leaf variables", Kind.NOT_A_LEAF),
    ("post accumulate grad hooks cannot be registered on non-leaf tensors", Kind.NOT_A_LEAF),
    ("can't optimize a non-leaf Tensor", Kind.NOT_A_LEAF),
    ("Can't detach views in-place", Kind.VIEW_DETACHED),
    ("appears to not have been used in the graph", Kind.UNUSED_INPUT),
    ("One of the differentiated Tensors was not used in the graph", Kind.UNUSED_INPUT),  # of TensorPlay
    ("One of the differentiated Tensors does not require grad", Kind.INPUT_NO_GRAD),
    ("`inputs` argument to `backward()` cannot be empty", Kind.NO_INPUTS),
    ("`inputs` argument to `grad()` cannot be empty", Kind.NO_INPUTS),
    ("Expected allow_unused to be True or not passed when materialize_grads=True", Kind.OPTIONS),
    ("can't retain_grad on Tensor that has requires_grad=False", Kind.RETAIN_NO_GRAD),
    ("cannot register a hook on a tensor that doesn't require gradient", Kind.HOOK_NO_GRAD),
    ("has changed the size of value", Kind.HOOK_SHAPE),
    ("attempting to assign a gradient", Kind.GRADIENT_FORM),
    ("can't assign Variable as its own grad", Kind.GRADIENT_FORM),
    ("A different number of tensors was saved during the original forward", Kind.RECOMPUTED),
    ("trying to save more tensors during recomputation", Kind.RECOMPUTED),
    ("have different metadata than during the forward pass", Kind.RECOMPUTED),
    ("cached during selective activation checkpoint has been mutated", Kind.RECOMPUTED),
    ("none of output has requires_grad=True, this checkpoint() is not necessary", Kind.RECOMPUTED),
    ("requires all the params to be floating point Tensors of supported devices", Kind.NO_KERNEL),  # fused optimizers
    *((part, Kind.NO_KERNEL) for part in UNSUPPORTED_DTYPES),
    ("is not implemented", Kind.NOT_IMPLEMENTED),
    ("does not support 3rd+ order", Kind.NOT_IMPLEMENTED),
    ("ouble backward not implemented", Kind.NOT_IMPLEMENTED),
    ("Double backward is unsupported", Kind.NOT_IMPLEMENTED),
    ("Double backwards is not supported", Kind.NOT_IMPLEMENTED),
    ("aot_autograd() does not yet handle", Kind.NOT_IMPLEMENTED),
)
"""The most stable part of the message of each RuntimeError or ValueError, with its kind."""
