"""Facts R51 to R61: hooks, custom functions, transforms, checkpoints, optimizers, points without a gradient."""

from __future__ import annotations

from autograd_conformance.claims.facts.fact import RETURNS, fact

CHAIN = "a = leaf 3; b = exp a; c = sin b"

HOOKS = (
    fact(
        "R51",
        "The hooks of a value are called in the order of their registration, the retained gradient is what they left, "
        "and hooks after accumulation come last.",
        "hooks/order hooks/retained hooks/accumulated",
        (f"{CHAIN}; retain b; k = hook b scale 2.0; l = hook b observe; backward c", RETURNS),
        (f"{CHAIN}; k = hook a scale 2.0; l = hook a observe accumulated; backward c", RETURNS),
        not_covered="Hooks on nodes (`grad_fn.register_prehook`, `register_hook`): programs name values, and nodes are "
        "PyTorch's own.",
    ),
    fact(
        "R52",
        "A hook is called whenever its value's gradient is computed; one after accumulation only where something is "
        "added.",
        "hooks/called hooks/accumulated hooks/removed",
        (f"{CHAIN}; k = hook b observe; g = grad c wrt b", RETURNS),
        (f"{CHAIN}; k = hook a observe accumulated; g = grad c wrt a", RETURNS),
        (f"{CHAIN}; k = hook a observe accumulated; backward c", RETURNS),
        (f"{CHAIN}; k = hook b observe; unhook k; backward c", RETURNS),
    ),
    fact(
        "R53",
        "A leaf's hook changes what each call adds, not what the leaf holds.",
        "hooks/result accumulation/adds",
        ("a = leaf 3; b = exp a; k = hook a scale 10.0; backward b retain=True; backward b", RETURNS),
    ),
    fact(
        "R54",
        "A hook stays with the value as it was when the hook was registered: a write makes a new one.",
        "hooks/called hooks/result writes/recorded",
        (
            "a = leaf 3; c = leaf 1 const; write c copy_ a; k = hook c scale 2.0; write c mul_scalar_ scalar=3.0; l = "
            "hook c observe; backward c",
            RETURNS,
        ),
    ),
    fact(
        "R55",
        "A hook that returns another shape, or raises, ends the call; values that require no grad refuse hooks, and "
        "values that are no leaves those after accumulation.",
        "hooks/shape hooks/raise hooks/refused",
        (f"{CHAIN}; k = hook b misshape; backward c", "hook changed the shape"),
        (f"{CHAIN}; k = hook b raise; backward c", "hook raised"),
        ("c = leaf 3 const; k = hook c observe", "hook without gradient"),
        (f"{CHAIN}; k = hook b observe accumulated", "not a leaf | hook without gradient"),
        not_covered="A hook that returns no tensor: programs cannot write it.",
    ),
)

REST = (
    fact(
        "R56",
        "A function with a backward of its own returns as many gradients as it has operands.",
        not_covered="Custom functions are code, and an error in them is their author's. Ops are a framework's own.",
    ),
    fact(
        "R57",
        "torch.func's transforms refuse roots that are no scalars, backward calls inside, and writes to what they "
        "capture.",
        not_covered="Another interface, without a tape to call backward on; programs are sequences of calls, not "
        "functions to transform.",
    ),
    fact(
        "R58",
        "Checkpoints without re-entrance give the same values, gradients and errors; those with it refuse the "
        "functional form.",
        not_covered="Not a rule but a framework to test: an adapter may run a program's ops under checkpoints, and is "
        "then held to all rules. There is no such adapter yet.",
    ),
    fact(
        "R59",
        "Clearing to none lets references keep the old values; clearing to zeros changes the gradient in place.",
        "accumulation/zero-to-none accumulation/zero-to-zeros",
        ("a = leaf 3; b = exp a; backward b; g = held a; zero a; h = negative g", RETURNS),
        ("a = leaf 3; b = exp a; backward b; zero a to zeros; c = exp a; backward c", RETURNS),
        not_covered="What zeroing makes of a differentiable gradient's history: the optimizer's method and the "
        "tensor's differ in it.",
    ),
    fact(
        "R60",
        "A step passes over leaves without a gradient, and not over those whose gradient is zero.",
        "optimizers/skips",
        (
            "a = leaf [1, 2]; b = leaf [1, 2]; c = exp a; backward c with [1, 1]; step a, b sgd lr=0.5 "
            "weight_decay=0.5",
            RETURNS,
        ),
        ("a = leaf [1, 2]; z = leaf [0, 0] const; assign a z; step a sgd lr=0.5 weight_decay=0.5", RETURNS),
        not_covered="A parameter that is no leaf: the optimizer refuses it when it is made, and programs cannot write "
        "it.",
    ),
    fact(
        "R61",
        "Where a function is not differentiable, the gradient follows conventions.",
        not_covered="They are not the chain rule's, frameworks differ in them, and PyTorch departs from its own list "
        "(elu, hypot). Programs keep away from kinks, ties and poles.",
    ),
)
