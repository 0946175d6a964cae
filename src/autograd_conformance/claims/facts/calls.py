"""Facts R1 to R18: calling backward, and how long a graph lives."""

from __future__ import annotations

from autograd_conformance.claims.facts.fact import RETURNS, fact

FREED = "graph freed"
DIAMOND = "a = leaf 3; h = multiply a a; p = exp h; q = sin h"
CHAIN = "a = leaf 2; h = exp a; b = sin h"

CALLING = (
    fact(
        "R1",
        "A root of several elements, or of none, needs a cotangent.",
        "errors/non-scalar-root",
        ("a = leaf [1, 2]; b = multiply a a; backward b", "non-scalar root"),
        ("a = leaf (0,) []; b = multiply a a; backward b", "non-scalar root"),
        ("a = leaf [[3]]; b = multiply a a; backward b", RETURNS),
        not_covered="Complex and integer roots: programs have float32 and float64 alone.",
    ),
    fact(
        "R2",
        "A cotangent has exactly the shape of its root, also where either has one element.",
        "errors/cotangent-shape",
        ("a = leaf [1, 2]; b = multiply a a; backward b with [1, 2, 3]", "cotangent shape"),
        ("a = leaf 3; b = multiply a a; backward b with [1]", "cotangent shape"),
        ("a = leaf [3]; b = multiply a a; backward b with 1", "cotangent shape"),
    ),
    fact(
        "R3",
        "A cotangent of another real dtype is converted; the gradient has the leaf's dtype.",
        "gradients/form gradients/cotangent",
        ("a = leaf [1, 2]; b = multiply a a; backward b with f32 [1, 2]", RETURNS),
        ("a = leaf f32 [1, 2]; b = multiply a a; backward b with [1, 2]", RETURNS),
        not_covered="A complex cotangent for a real root: programs have no complex dtypes.",
    ),
    fact(
        "R4",
        "A cotangent that is no tensor is a type error.",
        not_covered="Programs cannot write it: a cotangent is a tensor or left out. The check is the host language's, "
        "not autograd's.",
    ),
    fact(
        "R5",
        "A root that requires no grad, such as a detached value, raises.",
        "errors/no-grad-root detach/root-raises modes/constant-root",
        ("a = leaf 3 const; b = multiply a a; backward b", "no grad"),
        ("a = leaf 3; d = detach a; backward d", "no grad"),
        ("a = leaf 3; no_grad: b = exp a; backward b", "no grad"),
    ),
    fact(
        "R6",
        "Several roots give the gradient of their sum, a root listed twice counts twice, and cotangents may be left "
        "out for scalars.",
        "gradients/several-roots gradients/cotangent",
        ("a = leaf 3; b = exp a; c = sin a; backward b, c", RETURNS),
        ("a = leaf 3; b = exp a; backward b, b", RETURNS),
        ("a = leaf [1, 2]; b = exp a; s = sum b dim=(0,) keepdim=False; backward s, b with none, [1, 2]", RETURNS),
        not_covered="Fewer or more cotangents than roots: programs cannot write it.",
    ),
    fact(
        "R7",
        "A leaf that is itself the root holds a copy of the cotangent, not the cotangent.",
        "gradients/cotangent-kept",
        ("a = leaf [1, 2]; backward a with [3, 4]", RETURNS),
        ("a = leaf [1, 2]; backward a with [3, 4]; backward a with [3, 4]", RETURNS),
        not_covered="A copy or not shows only where a call writes into the cotangent: it has no name by which a later "
        "line could write to it.",
    ),
    fact(
        "R8",
        "A call that is refused for its arguments leaves the graph and the gradients as they were.",
        "errors/refusal-keeps-graph errors/refusal-keeps-gradients",
        ("a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]", RETURNS),
        ("a = leaf [1, 2]; b = exp a; backward b with [1]; backward b with [1, 1]", RETURNS),
        ("a = leaf [1, 2]; b = exp a; c = sin a; backward c with [1, 1]; backward b", "non-scalar root"),
    ),
    fact(
        "R9",
        "A call under no_grad does what it does outside; what it makes with create_graph is differentiable.",
        "modes/backward-anywhere higher/differentiable",
        ("a = leaf 3; b = exp a; no_grad: backward b", RETURNS),
        ("a = leaf 3; b = exp a; no_grad: g = grad b wrt a create=True; backward g", "returns | not implemented"),
    ),
)

LIFETIME = (
    fact(
        "R10",
        "Where retain_graph is left out, it is what create_graph is.",
        "lifetime/default-frees lifetime/retained-works",
        ("a = leaf 3; b = exp a; backward b; backward b", FREED),
        ("a = leaf 3; b = exp a; backward b create=True; zero a; backward b", RETURNS),
    ),
    fact(
        "R11",
        "A second call over nodes that need freed values raises; over nodes that saved nothing it need not.",
        "lifetime/same-root-raises lifetime/default-frees lifetime/late-retain-raises lifetime/last-call-frees "
        "lifetime/nothing-saved memory/freed",
        ("a = leaf 3; b = exp a; backward b; backward b", FREED),
        ("a = leaf 3; b = exp a; backward b; backward b retain=True", FREED),
        ("a = leaf 3; b = exp a; backward b retain=True; backward b; backward b", FREED),
        ("a = leaf 3; b = negative a; backward b; backward b", "returns | graph freed"),
        not_covered="Which ops save nothing is measured for PyTorch and left open to others: walking such a graph "
        "again may raise.",
    ),
    fact(
        "R12",
        "A call frees what it walks, and no more.",
        "lifetime/traversed-only lifetime/freed-subgraph-raises",
        (f"{CHAIN}; g = grad b wrt h; backward h", RETURNS),
        (f"{CHAIN}; backward h; backward b", FREED),
    ),
    fact(
        "R13",
        "The functional form frees what it walks, unless it retains it.",
        "functional/frees",
        ("a = leaf 2; b = exp a; g = grad b wrt a; h = grad b wrt a", FREED),
        ("a = leaf 2; b = leaf 3; c = multiply a b; g = grad c wrt a; h = grad c wrt b", "returns | graph freed"),
        ("a = leaf 2; b = leaf 3; c = multiply a b; g = grad c wrt a retain=True; h = grad c wrt b", RETURNS),
    ),
    fact(
        "R14",
        "Two roots over one subgraph cannot be walked one after the other without retaining; one call over both can.",
        "lifetime/freed-subgraph-raises lifetime/retained-works gradients/several-roots",
        (f"{DIAMOND}; backward p; backward q", FREED),
        (f"{DIAMOND}; backward p retain=True; backward q", RETURNS),
        (f"{DIAMOND}; backward p, q", RETURNS),
    ),
    fact(
        "R15",
        "create_graph with retain_graph=False gives a differentiable gradient, and frees the graph it came from.",
        "higher/differentiable lifetime/same-root-raises",
        (
            "a = leaf 3; b = multiply a a; g = grad b wrt a create=True retain=False; backward g",
            "returns | graph freed | not implemented",
        ),
        ("a = leaf 3; b = exp a; g = grad b wrt a create=True retain=False; backward b", FREED),
        not_covered="Whether the gradient can be walked then: its derivative may need what was freed, as that of exp "
        "does.",
    ),
    fact(
        "R16",
        "What a node saved cannot be read once it is freed.",
        not_covered="What nodes show of what they saved (`grad_fn._saved_result`) is PyTorch's own. That it is "
        "released is a rule (`memory/freed`).",
    ),
    fact(
        "R17",
        "Of two threads that walk one graph, one fails.",
        not_covered="Programs are sequences: they have no threads, and what a race gives cannot be said beforehand.",
    ),
    fact(
        "R18",
        "Each forward pass makes a graph of its own, whatever was freed before.",
        "lifetime/rebuilt lifetime/independent",
        ("a = leaf 3; b = exp a; backward b; c = exp a; backward c", RETURNS),
        ("a = leaf 3; b = exp a; c = sin a; backward b; backward c", RETURNS),
    ),
)
