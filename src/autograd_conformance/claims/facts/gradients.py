"""Facts R19 to R33 about PyTorch's autograd: the .grad of leaves, and the functional form (`torch.autograd.grad`)."""

from __future__ import annotations

from autograd_conformance.claims.facts.fact import RETURNS, fact
from autograd_conformance.programs import slugs

TWO = "a = leaf 2; b = leaf 3; c = multiply a b"

ACCUMULATION = (
    fact(
        "R19",
        "A call adds to the .grad of a leaf.",
        (slugs.ACCUMULATION_ADDS, slugs.ACCUMULATION_FIRST),
        ("a = leaf 3; b = exp a; backward b retain=True; backward b", RETURNS),
    ),
    fact(
        "R20",
        "Without create_graph, a call adds in place: a reference to the gradient shows the sum.",
        (slugs.ACCUMULATION_IN_PLACE,),
        ("a = leaf 3; b = exp a; backward b retain=True; g = held a; backward b; h = negative g", RETURNS),
        not_covered="The gradient's version number: `_version` is specific to PyTorch.",
    ),
    fact(
        "R21",
        "With create_graph, the leaf gets a new gradient, which is differentiable; the old gradient stays unchanged.",
        (slugs.ACCUMULATION_REPLACES, slugs.HIGHER_DIFFERENTIABLE),
        (
            "a = leaf 3; b = multiply a a; backward b retain=True; g = held a; backward b create=True; h = negative g",
            RETURNS,
        ),
        (
            "a = leaf 3; b = multiply a a; backward b create=True; g = held a; zero a; backward g",
            "returns | not implemented",
        ),
    ),
    fact(
        "R22",
        "`backward` with create_graph warns of a reference cycle that keeps memory; clearing the gradient breaks it.",
        (slugs.MEMORY_CYCLE,),
        ("a = leaf 3; b = exp a; backward b create=True; zero a; drop b", RETURNS),
        not_covered="The warning: an observation records only results and errors.",
    ),
    fact(
        "R23",
        "No two leaves share a .grad.",
        (slugs.ACCUMULATION_OWN_OBJECT,),
        ("a = leaf [1, 2]; b = leaf [3, 4]; c = add a b; backward c with [1, 1]; backward a with [1, 1]", RETURNS),
    ),
    fact(
        "R24",
        "A gradient has the memory layout of its leaf if that is dense, otherwise row-major order.",
        (slugs.ACCUMULATION_LAYOUT,),
        (
            "c = leaf [[1, 2, 1], [2, 1, 2]] const; t = transpose c dim0=0 dim1=1; requires t True; b = exp t; "
            "backward b with [[1, 1], [1, 1], [1, 1]]",
            RETURNS,
        ),
        (
            "c = leaf [1, 2] const; t = broadcast_to c shape=(2,2); requires t True; b = exp t; backward b with [[1, "
            "1], [1, 1]]",
            RETURNS,
        ),
    ),
    fact(
        "R25",
        "Calls add to a .grad that was assigned; a tensor of another shape or dtype, or the leaf itself, cannot be "
        "assigned.",
        (slugs.ACCUMULATION_ASSIGNED, slugs.ACCUMULATION_ASSIGNED_FORM, slugs.ACCUMULATION_ADDS),
        ("a = leaf 3; g = leaf 2 const; assign a g; b = exp a; backward b", RETURNS),
        ("a = leaf 3; g = leaf [1, 2] const; assign a g", "assigned gradient of another form"),
        ("a = leaf 3; g = leaf f32 2 const; assign a g", "returns | assigned gradient of another form"),
        ("a = leaf 3; assign a a", "returns | assigned gradient of another form"),
        not_covered="That another dtype, or the leaf itself, is refused: the documentation does not say so, and both "
        "outcomes are allowed. Programs cannot assign anything but a tensor.",
    ),
    fact(
        "R26",
        "Leaves that a call does not reach keep their .grad, and so do leaves that are frozen, even if only after the "
        "forward pass.",
        (slugs.ACCUMULATION_UNREACHED, slugs.ACCUMULATION_CONSTANT, slugs.MODES_FROZEN_LEAF),
        ("a = leaf 3; b = leaf 2; c = exp a; backward c", RETURNS),
        ("a = leaf 3; b = leaf 2 const; c = multiply a b; backward c", RETURNS),
        (f"{TWO}; requires b False; backward c", RETURNS),
    ),
    fact(
        "R27",
        "Each call adds the contributions of all uses of a leaf.",
        (slugs.GRADIENTS_FAN_OUT, slugs.GRADIENTS_SAME_ARGUMENT),
        ("a = leaf 3; b = exp a; c = multiply a b; backward c", RETURNS),
        ("a = leaf 3; b = multiply a a; backward b", RETURNS),
    ),
)

FUNCTIONAL = (
    fact(
        "R28",
        "`backward` with inputs adds to these alone, even if they are not leaves; an empty list, or an input that "
        "requires no grad, raises.",
        (slugs.FUNCTIONAL_INPUTS_ONLY, slugs.FUNCTIONAL_NO_INPUTS, slugs.FUNCTIONAL_INPUT_NO_GRAD),
        (f"{TWO}; backward c inputs a", RETURNS),
        ("a = leaf 3; b = exp a; c = sin b; backward c inputs b", RETURNS),
        (f"{TWO}; d = leaf 1; backward c inputs a, d", RETURNS),
        (f"{TWO}; backward c inputs none", "no inputs"),
        (f"{TWO}; d = leaf 1 const; backward c inputs d", "input requires no grad | no gradient to retain"),
    ),
    fact(
        "R29",
        "The functional form returns gradients and changes no .grad; the gradients are differentiable only with "
        "create_graph.",
        (
            slugs.FUNCTIONAL_VALUE,
            slugs.FUNCTIONAL_NO_ACCUMULATION,
            slugs.HIGHER_PLAIN_RAISES,
            slugs.HIGHER_DIFFERENTIABLE,
        ),
        (f"{TWO}; g, h = grad c wrt a, b", RETURNS),
        ("a = leaf 3; b = exp a; g = grad b wrt a; backward g", "no grad"),
        ("a = leaf 3; b = exp a; g = grad b wrt a create=True; backward g", "returns | not implemented"),
    ),
    fact(
        "R30",
        "An input that is not used raises; its gradient is None with allow_unused, and zeros with materialize_grads.",
        (
            slugs.FUNCTIONAL_UNUSED_RAISES,
            slugs.FUNCTIONAL_UNUSED_NONE,
            slugs.FUNCTIONAL_MATERIALIZED,
            slugs.FUNCTIONAL_OPTIONS,
        ),
        (f"{TWO}; d = leaf 1; g = grad c wrt d", "unused input"),
        (f"{TWO}; d = leaf 1; g, h = grad c wrt d, a unused=True", RETURNS),
        (f"{TWO}; d = leaf 1; g, h = grad c wrt d, a materialize=True", RETURNS),
        (f"{TWO}; g = grad c wrt a unused=False materialize=True", "options that contradict each other"),
    ),
    fact(
        "R31",
        "An input that requires no grad raises.",
        (slugs.FUNCTIONAL_INPUT_NO_GRAD,),
        (f"{TWO}; d = leaf 1 const; g = grad c wrt d", "input requires no grad"),
    ),
    fact(
        "R32",
        "An input that is listed twice gets its whole gradient twice.",
        (slugs.FUNCTIONAL_DUPLICATES,),
        ("a = leaf 3; b = exp a; g, h = grad b wrt a, a", RETURNS),
    ),
    fact(
        "R33",
        "Cotangents may be a batch; each gives a gradient.",
        not_covered="`is_grads_batched` is a transform on top of the call (vmap), with separate rules; programs do not "
        "have it.",
    ),
)
