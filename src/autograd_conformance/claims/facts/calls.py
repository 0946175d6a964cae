"""Facts R1 to R18 about PyTorch's autograd: backward calls, and the lifetime of graphs."""

from __future__ import annotations

from autograd_conformance.claims.facts.fact import RETURNS, fact
from autograd_conformance.programs import slugs

FREED = "graph freed"
DIAMOND = "a = leaf 3; h = multiply a a; p = exp h; q = sin h"
CHAIN = "a = leaf 2; h = exp a; b = sin h"

CALLING = (
    fact(
        "R1",
        "A root of several elements, or of none, needs a cotangent.",
        (slugs.ERRORS_NON_SCALAR_ROOT,),
        ("a = leaf [1, 2]; b = multiply a a; backward b", "non-scalar root"),
        ("a = leaf (0,) []; b = multiply a a; backward b", "non-scalar root"),
        ("a = leaf [[3]]; b = multiply a a; backward b", RETURNS),
        not_covered="Complex and integer roots: programs have only floating-point dtypes.",
    ),
    fact(
        "R2",
        "A cotangent has exactly the shape of its root, even if either has one element.",
        (slugs.ERRORS_COTANGENT_SHAPE,),
        ("a = leaf [1, 2]; b = multiply a a; backward b with [1, 2, 3]", "cotangent shape"),
        ("a = leaf 3; b = multiply a a; backward b with [1]", "cotangent shape"),
        ("a = leaf [3]; b = multiply a a; backward b with 1", "cotangent shape"),
    ),
    fact(
        "R3",
        "A cotangent of another real dtype is converted; the gradient has the leaf's dtype.",
        (slugs.GRADIENTS_FORM, slugs.GRADIENTS_COTANGENT),
        ("a = leaf [1, 2]; b = multiply a a; backward b with f32 [1, 2]", RETURNS),
        ("a = leaf f32 [1, 2]; b = multiply a a; backward b with [1, 2]", RETURNS),
        not_covered="A complex cotangent for a real root: programs have no complex dtypes.",
    ),
    fact(
        "R4",
        "A cotangent that is not a tensor is a type error.",
        not_covered="Programs cannot express it: a cotangent is a tensor or omitted. The check is the host language's, "
        "not autograd's.",
    ),
    fact(
        "R5",
        "Calling backward on a root that requires no grad, such as a detached value, raises.",
        (slugs.ERRORS_NO_GRAD_ROOT, slugs.DETACH_ROOT_RAISES, slugs.MODES_CONSTANT_ROOT),
        ("a = leaf 3 const; b = multiply a a; backward b", "no grad"),
        ("a = leaf 3; d = detach a; backward d", "no grad"),
        ("a = leaf 3; no_grad: b = exp a; backward b", "no grad"),
    ),
    fact(
        "R6",
        "Several roots give the gradient of their sum, a root listed twice counts twice, and cotangents of scalars may "
        "be omitted.",
        (slugs.GRADIENTS_SEVERAL_ROOTS, slugs.GRADIENTS_COTANGENT),
        ("a = leaf 3; b = exp a; c = sin a; backward b, c", RETURNS),
        ("a = leaf 3; b = exp a; backward b, b", RETURNS),
        ("a = leaf [1, 2]; b = exp a; s = sum b dim=(0,) keepdim=False; backward s, b with none, [1, 2]", RETURNS),
        not_covered="Fewer or more cotangents than roots: programs cannot express it.",
    ),
    fact(
        "R7",
        "The .grad of a leaf that is itself the root is a copy of the cotangent, not the cotangent.",
        (slugs.GRADIENTS_COTANGENT_KEPT,),
        ("a = leaf [1, 2]; backward a with [3, 4]", RETURNS),
        ("a = leaf [1, 2]; backward a with [3, 4]; backward a with [3, 4]", RETURNS),
        not_covered="The difference shows only if a call writes to the cotangent: programs give it no name, so that no "
        "later line can write to it.",
    ),
    fact(
        "R8",
        "A call that raises because of its arguments leaves the graph and the gradients unchanged.",
        (slugs.ERRORS_REFUSAL_KEEPS_GRAPH, slugs.ERRORS_REFUSAL_KEEPS_GRADIENTS),
        ("a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]", RETURNS),
        ("a = leaf [1, 2]; b = exp a; backward b with [1]; backward b with [1, 1]", RETURNS),
        ("a = leaf [1, 2]; b = exp a; c = sin a; backward c with [1, 1]; backward b", "non-scalar root"),
    ),
    fact(
        "R9",
        "A call under no_grad does the same as outside; with create_graph, its gradients are differentiable.",
        (slugs.MODES_BACKWARD_ANYWHERE, slugs.HIGHER_DIFFERENTIABLE),
        ("a = leaf 3; b = exp a; no_grad: backward b", RETURNS),
        ("a = leaf 3; b = exp a; no_grad: g = grad b wrt a create=True; backward g", "returns | not implemented"),
    ),
)

LIFETIME = (
    fact(
        "R10",
        "If retain_graph is omitted, it has the value of create_graph.",
        (slugs.LIFETIME_DEFAULT_FREES, slugs.LIFETIME_RETAINED_WORKS),
        ("a = leaf 3; b = exp a; backward b; backward b", FREED),
        ("a = leaf 3; b = exp a; backward b create=True; zero a; backward b", RETURNS),
    ),
    fact(
        "R11",
        "A second call over nodes that need freed values raises; over nodes that saved nothing it need not raise.",
        (
            slugs.LIFETIME_SAME_ROOT_RAISES,
            slugs.LIFETIME_DEFAULT_FREES,
            slugs.LIFETIME_LATE_RETAIN_RAISES,
            slugs.LIFETIME_LAST_CALL_FREES,
            slugs.LIFETIME_NOTHING_SAVED,
            slugs.MEMORY_FREED,
        ),
        ("a = leaf 3; b = exp a; backward b; backward b", FREED),
        ("a = leaf 3; b = exp a; backward b; backward b retain=True", FREED),
        ("a = leaf 3; b = exp a; backward b retain=True; backward b; backward b", FREED),
        ("a = leaf 3; b = negative a; backward b; backward b", "returns | graph freed"),
        not_covered="The set of ops that save nothing is measured for PyTorch and unspecified for others: walking such "
        "a graph again may raise.",
    ),
    fact(
        "R12",
        "A call frees the saved values of the nodes that it walks, and no others.",
        (slugs.LIFETIME_TRAVERSED_ONLY, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        (f"{CHAIN}; g = grad b wrt h; backward h", RETURNS),
        (f"{CHAIN}; backward h; backward b", FREED),
    ),
    fact(
        "R13",
        "The functional form frees the saved values of the nodes that it walks, unless it retains the graph.",
        (slugs.FUNCTIONAL_FREES,),
        ("a = leaf 2; b = exp a; g = grad b wrt a; h = grad b wrt a", FREED),
        ("a = leaf 2; b = leaf 3; c = multiply a b; g = grad c wrt a; h = grad c wrt b", "returns | graph freed"),
        ("a = leaf 2; b = leaf 3; c = multiply a b; g = grad c wrt a retain=True; h = grad c wrt b", RETURNS),
    ),
    fact(
        "R14",
        "Two roots over one subgraph cannot be walked one after the other without retaining; one call over both can.",
        (slugs.LIFETIME_FREED_SUBGRAPH_RAISES, slugs.LIFETIME_RETAINED_WORKS, slugs.GRADIENTS_SEVERAL_ROOTS),
        (f"{DIAMOND}; backward p; backward q", FREED),
        (f"{DIAMOND}; backward p retain=True; backward q", RETURNS),
        (f"{DIAMOND}; backward p, q", RETURNS),
    ),
    fact(
        "R15",
        "create_graph with retain_graph=False gives a differentiable gradient, and frees the graph of the call.",
        (slugs.HIGHER_DIFFERENTIABLE, slugs.LIFETIME_SAME_ROOT_RAISES),
        (
            "a = leaf 3; b = multiply a a; g = grad b wrt a create=True retain=False; backward g",
            "returns | graph freed | not implemented",
        ),
        ("a = leaf 3; b = exp a; g = grad b wrt a create=True retain=False; backward b", FREED),
        not_covered="Whether the gradient can then be walked: its derivative may need values that were freed, as that "
        "of exp does.",
    ),
    fact(
        "R16",
        "The values that a node saved cannot be read after they are freed.",
        not_covered="Reading saved values from nodes (`grad_fn._saved_result`) is specific to PyTorch. That they are "
        "released is a rule (`memory/freed`).",
    ),
    fact(
        "R17",
        "If two threads walk one graph, one of them fails.",
        not_covered="Programs are sequences without threads, and the result of a race is not predictable.",
    ),
    fact(
        "R18",
        "Each forward pass makes a new graph, whatever was freed before.",
        (slugs.LIFETIME_REBUILT, slugs.LIFETIME_INDEPENDENT),
        ("a = leaf 3; b = exp a; backward b; c = exp a; backward c", RETURNS),
        ("a = leaf 3; b = exp a; c = sin a; backward b; backward c", RETURNS),
    ),
)
