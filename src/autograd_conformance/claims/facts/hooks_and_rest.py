"""Facts R51 to R61 about PyTorch's autograd: hooks, custom functions, transforms, checkpoints, optimizers, points
without a gradient.
"""

from __future__ import annotations

from autograd_conformance.claims.facts.fact import RETURNS, fact
from autograd_conformance.programs import slugs

CHAIN = "a = leaf 3; b = exp a; c = sin b"

HOOKS = (
    fact(
        "R51",
        "The hooks of a value are called in the order of their registration, the retained gradient is their result, "
        "and hooks after accumulation are called last.",
        (slugs.HOOKS_ORDER, slugs.HOOKS_RETAINED, slugs.HOOKS_ACCUMULATED),
        (f"{CHAIN}; retain b; k = hook b scale 2.0; l = hook b observe; backward c", RETURNS),
        (f"{CHAIN}; k = hook a scale 2.0; l = hook a observe accumulated; backward c", RETURNS),
        not_covered="Hooks on nodes (`grad_fn.register_prehook`, `register_hook`): programs name values, and nodes are "
        "specific to PyTorch.",
    ),
    fact(
        "R52",
        "A hook is called whenever its value's gradient is computed; a hook after accumulation is called only if a "
        "gradient is added.",
        (slugs.HOOKS_CALLED, slugs.HOOKS_ACCUMULATED, slugs.HOOKS_REMOVED),
        (f"{CHAIN}; k = hook b observe; g = grad c wrt b", RETURNS),
        (f"{CHAIN}; k = hook a observe accumulated; g = grad c wrt a", RETURNS),
        (f"{CHAIN}; k = hook a observe accumulated; backward c", RETURNS),
        (f"{CHAIN}; k = hook b observe; unhook k; backward c", RETURNS),
    ),
    fact(
        "R53",
        "A leaf's hook changes the gradient that each call adds, not the accumulated .grad.",
        (slugs.HOOKS_RESULT, slugs.ACCUMULATION_ADDS),
        ("a = leaf 3; b = exp a; k = hook a scale 10.0; backward b retain=True; backward b", RETURNS),
    ),
    fact(
        "R54",
        "A hook belongs to the version of the value at its registration: after a write, it still gets the gradient of "
        "that version.",
        (slugs.HOOKS_CALLED, slugs.HOOKS_RESULT, slugs.WRITES_RECORDED),
        (
            "a = leaf 3; c = leaf 1 const; write c copy_ a; k = hook c scale 2.0; write c mul_scalar_ scalar=3.0; l = "
            "hook c observe; backward c",
            RETURNS,
        ),
    ),
    fact(
        "R55",
        "A call raises if a hook returns another shape or raises. A value that requires no grad cannot have hooks, and "
        "a value that is not a leaf cannot have hooks after accumulation.",
        (slugs.HOOKS_SHAPE, slugs.HOOKS_RAISE, slugs.HOOKS_REFUSED),
        (f"{CHAIN}; k = hook b misshape; backward c", "hook changed the shape"),
        (f"{CHAIN}; k = hook b raise; backward c", "hook raised"),
        ("c = leaf 3 const; k = hook c observe", "hook without gradient"),
        (f"{CHAIN}; k = hook b observe accumulated", "not a leaf | hook without gradient"),
        not_covered="A hook that does not return a tensor: programs cannot express it.",
    ),
)

REST = (
    fact(
        "R56",
        "The backward of a custom function returns as many gradients as the function has operands.",
        not_covered="Custom functions are user code, and their author is responsible for errors in them. Rules are "
        "about the framework's ops.",
    ),
    fact(
        "R57",
        "torch.func's transforms raise for roots that are not scalars, for backward calls inside, and for writes to "
        "captured values.",
        not_covered="This is another interface, without a graph on which to call backward. Programs are sequences of "
        "calls, not functions to transform.",
    ),
    fact(
        "R58",
        "Non-reentrant checkpoints give the same values, gradients and errors; reentrant checkpoints do not support "
        "the functional form.",
        not_covered="This is not a rule but a framework to test: an adapter may run a program's ops under checkpoints, "
        "and is then tested by all rules, as `torch-checkpoint` is.",
    ),
    fact(
        "R59",
        "After clearing to None, references to the gradient keep the old values; clearing to zeros changes the "
        "gradient in place.",
        (slugs.ACCUMULATION_ZERO_TO_NONE, slugs.ACCUMULATION_ZERO_TO_ZEROS),
        ("a = leaf 3; b = exp a; backward b; g = held a; zero a; h = negative g", RETURNS),
        ("a = leaf 3; b = exp a; backward b; zero a to zeros; c = exp a; backward c", RETURNS),
        not_covered="The history of a differentiable gradient after zeroing: the optimizer's method and the tensor's "
        "method differ.",
    ),
    fact(
        "R60",
        "A step skips leaves without a gradient, but not leaves whose gradient is zero.",
        (slugs.OPTIMIZERS_SKIPS,),
        (
            "a = leaf [1, 2]; b = leaf [1, 2]; c = exp a; backward c with [1, 1]; step a, b sgd lr=0.5 "
            "weight_decay=0.5",
            RETURNS,
        ),
        ("a = leaf [1, 2]; z = leaf [0, 0] const; assign a z; step a sgd lr=0.5 weight_decay=0.5", RETURNS),
        not_covered="A parameter that is not a leaf: the optimizer's constructor raises, and programs cannot express "
        "it.",
    ),
    fact(
        "R61",
        "Where a function is not differentiable, its gradient follows conventions.",
        not_covered="The chain rule does not define these conventions, frameworks differ, and PyTorch deviates from "
        "its own list (elu, hypot). Programs avoid kinks, ties and poles.",
    ),
)
