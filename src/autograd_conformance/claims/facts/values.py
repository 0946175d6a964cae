"""Facts R34 to R50 about PyTorch's autograd: leaves, detaching, grad modes, and in-place writes."""

from __future__ import annotations

from autograd_conformance.claims.facts.fact import RETURNS, fact
from autograd_conformance.programs import slugs

A = "a = leaf [1, 2]"
MODIFIED = "returns | modified in place"

HISTORY = (
    fact(
        "R34",
        "A result requires grad if its op is recorded and some operand requires grad.",
        (slugs.GRADIENTS_REQUIRES_GRAD, slugs.MODES_NO_GRAD_RESULT),
        (f"{A}; c = leaf [3, 4] const; b = multiply a c", RETURNS),
        (f"{A}; no_grad: b = exp a", RETURNS),
        ("c = leaf [3, 4] const; b = exp c", RETURNS),
    ),
    fact(
        "R35",
        "For a value that is not a leaf, requires_grad cannot be turned off.",
        (slugs.MODES_TOGGLE_REFUSED,),
        (f"{A}; b = exp a; requires b False", "not a leaf"),
    ),
    fact(
        "R36",
        "Integers cannot require grad.",
        not_covered="Programs have only floating-point dtypes.",
    ),
    fact(
        "R37",
        "A detached value shares memory with its source and has no history; a write to it also changes what the graph "
        "of its source saved.",
        (slugs.VIEWS_SHARES, slugs.DETACH_VALUES, slugs.DETACH_BLOCKS, slugs.WRITES_ERROR_OR_RECORDED),
        (f"{A}; b = exp a; d = detach b; c = multiply a d; backward c with [1, 1]", RETURNS),
        (f"{A}; b = exp a; d = detach b; write d mul_scalar_ scalar=2.0; backward b with [1, 1]", MODIFIED),
    ),
    fact(
        "R38",
        "Detaching in place removes a value's history; a view cannot be detached in place.",
        (slugs.DETACH_IN_PLACE, slugs.DETACH_VIEW_RAISES),
        (f"{A}; d = detach a; detach_ d", RETURNS),
        (f"{A}; c = leaf [0, 0] const; write c copy_ a; detach_ c", RETURNS),
        (f"{A}; b = exp a; v = select b dim=0 index=0; detach_ v", "view detached in place"),
    ),
    fact(
        "R39",
        "A value computed under no_grad is a constant; enable_grad inside the block, and the end of the block, turn "
        "recording on again.",
        (slugs.MODES_NO_GRAD_RESULT, slugs.MODES_RECORDED, slugs.MODES_RESTORED, slugs.MODES_CONSTANT),
        (f"{A}; no_grad: b = exp a; c = multiply a b; backward c with [1, 1]", RETURNS),
        (f"{A}; no_grad: enable_grad: b = exp a; backward b with [1, 1]", RETURNS),
        not_covered="That the mode belongs to a thread: programs have no threads.",
    ),
    fact(
        "R40",
        "Tensors made in inference mode cannot be saved for a derivative, nor written to outside of it.",
        not_covered="Inference mode is a stricter no_grad that trades checks for speed. Few frameworks have such a "
        "mode, and it adds restrictions that are specific to PyTorch. Programs do not have it.",
    ),
    fact(
        "R41",
        "A value that is not a leaf has no .grad, unless it retains its gradient.",
        (slugs.HOOKS_RETAINED,),
        (f"{A}; b = exp a; s = sum b dim=(0,) keepdim=False; backward s retain=True; retain b; backward s", RETURNS),
        not_covered="The warning on reading it: an observation records only results and errors.",
    ),
    fact(
        "R42",
        "A value that retains its gradient adds up the gradients of all calls, even of calls for the gradient of "
        "another value. A leaf has a .grad anyway. A value that requires no grad cannot retain one.",
        (slugs.HOOKS_RETAINED, slugs.HOOKS_RETAIN_REFUSED),
        ("a = leaf 3; b = exp a; c = sin b; retain b; retain b; backward c retain=True; backward c", RETURNS),
        ("a = leaf 3; b = exp a; c = sin b; retain b; g = grad c wrt a", RETURNS),
        ("a = leaf 3; retain a; b = exp a; backward b", RETURNS),
        ("c = leaf 3 const; retain c", "no gradient to retain"),
        (f"{A}; c = leaf [0, 0] const; write c copy_ a; retain c; write c neg_; backward c with [1, 1]", RETURNS),
    ),
)

WRITES = (
    fact(
        "R43",
        "A leaf that requires grad, and a view of it, cannot be written to while writes are recorded; under no_grad "
        "they can.",
        (slugs.WRITES_LEAF_RAISES, slugs.WRITES_REFUSED_KEEPS_VALUES, slugs.MODES_UNRECORDED_WRITE, slugs.WRITES_VALUE),
        (f"{A}; write a zero_", "leaf written in place"),
        (f"{A}; v = select a dim=0 index=0; write v zero_", "leaf written in place"),
        (f"{A}; no_grad: write a zero_", RETURNS),
    ),
    fact(
        "R44",
        "A write to a value that a derivative needs does not raise; a call that needs the value does. Other writes "
        "have no effect on calls.",
        (slugs.WRITES_ERROR_OR_RECORDED, slugs.WRITES_UNSAVED_WORKS),
        (f"{A}; b = exp a; write b add_scalar_ scalar=1.0; backward b with [1, 1]", MODIFIED),
        (f"{A}; b = negative a; write b add_scalar_ scalar=1.0; backward b with [1, 1]", RETURNS),
        (f"{A}; b = exp a; c = sin a; no_grad: write b zero_; backward c with [1, 1]", RETURNS),
        not_covered="The framework chooses which operands an op saves. If it may save an operand, it may raise, or "
        "give the gradient of the recorded computation.",
    ),
    fact(
        "R45",
        "An optimizer's step is a write to its leaves.",
        (slugs.OPTIMIZERS_FORMULA, slugs.WRITES_ERROR_OR_RECORDED, slugs.WRITES_UNSAVED_WORKS),
        (f"{A}; b = square a; backward b with [1, 1] retain=True; step a sgd lr=0.5; backward b with [1, 1]", MODIFIED),
        (
            f"{A}; b = negative a; backward b with [1, 1] retain=True; step a sgd lr=0.5; backward b with [1, 1]",
            RETURNS,
        ),
    ),
    fact(
        "R46",
        "A write to `.data` is not detected.",
        not_covered="Unsafe by contract: PyTorch documents that such writes can make gradients silently wrong, so "
        "every outcome is allowed.",
    ),
    fact(
        "R47",
        "A recorded write to a view becomes part of its base's history; a constant to which a recorded value is "
        "written requires grad from then on.",
        (slugs.VIEWS_HISTORY, slugs.WRITES_REQUIRES_GRAD, slugs.WRITES_RECORDED, slugs.WRITES_ALIASES),
        (
            f"{A}; b = clone a; v = select b dim=0 index=0; write v mul_scalar_ scalar=3.0; backward b with [1, 1]",
            RETURNS,
        ),
        (f"{A}; c = leaf [0, 0] const; write c copy_ a; backward c with [1, 1]", RETURNS),
        not_covered="The name of the node (`AsStridedBackward0`).",
    ),
    fact(
        "R48",
        "A recorded write to one of several views that an op returns raises.",
        (slugs.VIEWS_RESTRICTED,),
        (
            f"{A}; b = clone a; p, q = split b sizes=(1,1) dim=0; write p zero_",
            "returns | view may not be written",
        ),
        not_covered="Not a documented promise: a framework may raise or not (level INFO), and a returned result is not "
        "judged.",
    ),
    fact(
        "R49",
        "A recorded write to a view that was made under no_grad raises.",
        (slugs.VIEWS_RESTRICTED,),
        (
            f"{A}; c = leaf [3, 4] const; no_grad: v = slice c start=0 stop=2 step=1; write v copy_ a",
            "returns | view may not be written",
        ),
        not_covered="As R48.",
    ),
    fact(
        "R50",
        "A call that raises halfway may already have added to some leaves.",
        (slugs.ERRORS_ATOMIC,),
        (
            "a = leaf 2; b = leaf 3; p = multiply a a; q = multiply b b; j = add p q; backward p; backward j",
            "graph freed",
        ),
        ("a = leaf 2; b = leaf 3; p = exp a; q = exp b; j = add p q; write p zero_; backward j", MODIFIED),
    ),
)
