"""How to resolve the `retain_graph` issue when using GRUs? Two losses on one recurrent output, a step in between."""

from __future__ import annotations

from autograd_conformance.claims.articles.cases import FREED, case, quoted
from autograd_conformance.claims.articles.claim import Article, Claim, HasGrad, Raises, Returns, Saved

EXPLANATION = "1. Explanation of the `retain_graph` Issue with GRUs"
ONE = "Example 1: Incorrect Usage Leading to `RuntimeError`"
TWO = "Example 2: Correct Usage with `retain_graph=True`"
THREE = "Example 3: Optimized Usage with Detached Gradients"

ALL = "dim=(0, 1, 2) keepdim=False"
GRU = """
    x = leaf [[[1]], [[2]]] const
    w = leaf [[0.5], [-1], [1]]
    u = leaf [[1], [0.5], [-0.5]]
    b = leaf [0, 0, 0]
    c = leaf [0, 0, 0]
    o, h = gru x w u b c hidden=1
"""
"""Two steps of a GRU with one input and one hidden unit: six lines."""

WEIGHTS = "w, u, b, c"
STEP = f"step {WEIGHTS} adam lr=0.125"
LOSS_1 = f"k = mean o {ALL}"
LOSS_2 = f"q = square o; m = mean q {ALL}"

BIDIRECTIONAL = """
    x = leaf [[[1]], [[2]]] const
    w = leaf [[0.5], [-1], [1]]
    u = leaf [[1], [0.5], [-0.5]]
    b = leaf [0, 0, 0]
    c = leaf [0, 0, 0]
    w2 = leaf [[-0.5], [1], [0.5]]
    u2 = leaf [[0.5], [1], [-1]]
    b2 = leaf [0, 0, 0]
    c2 = leaf [0, 0, 0]
    o, h = gru_bidirectional x w u b c w2 u2 b2 c2 hidden=1
"""
"""The article's own GRU runs in both directions: ten lines."""

BOTH = "w, u, b, c, w2, u2, b2, c2"
STEP_BOTH = f"step {BOTH} adam lr=0.125"

RECURRENT = "w = leaf 0.5; h0 = leaf 1 const; a = multiply w h0; h1 = tanh a; b = multiply w h1; h2 = tanh b"
"""A recurrent unit written out: two steps, six lines."""

EXAMPLE_1 = f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; {LOSS_2}; backward m; {STEP_BOTH}"
EXAMPLE_2 = f"{BIDIRECTIONAL}; {LOSS_1}; backward k retain=True; {STEP_BOTH}; {LOSS_2}; backward m; {STEP_BOTH}"
EXAMPLE_3 = (
    f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; d = detach o; q = square d; m = mean q {ALL}; backward m; "
    f"{STEP_BOTH}"
)

ARTICLE = Article(
    "grus",
    "How to resolve the `retain_graph` issue when using GRUs in PyTorch 1.6?",
    "002_15efdb5e7f1cd7a4.txt",
    ("Introduction", EXPLANATION, ONE, TWO, THREE, "3. Resource Recommendations"),
    {ONE: (EXAMPLE_1,), TWO: (EXAMPLE_2,), THREE: (EXAMPLE_3,)},
)

CLAIMS = (
    Claim(
        key="grus-grows-with-length",
        article="grus",
        section=EXPLANATION,
        says="The graph of a recurrent network grows with each time step.",
        truth="Every step of the sequence saves its share until backward has passed; with a retained graph, beyond "
        "that.",
        rules=("lifetime/default-frees", "lifetime/retained-works"),
        right=(
            case(RECURRENT, Saved(6, "more", 4)),
            case(f"{RECURRENT}; backward h2 retain=True", Saved(7, "as many", 6)),
        ),
        situation="recurrent_two_losses",
    ),
    Claim(
        key="grus-nodes-deallocated",
        article="grus",
        section=EXPLANATION,
        says="The error comes of an attempt to access nodes of the graph that were deallocated.",
        truth="The nodes stay for as long as a value leads to them; what is gone is the values that they had saved. A "
        "node that saved nothing can be walked again.",
        rules=("lifetime/nothing-saved", "lifetime/traversed-only"),
        wrong=(
            case("w = leaf 3; y = negative w; backward y; backward y", Raises(4), note="a node that saved nothing"),
            case("w = leaf 3; h = negative w; y = square h; backward y; k = add h h; backward k", Raises(6),
                 note="the walk from y has freed what y's node saved; h's node is still there"),
        ),
        situation="nothing_saved",
    ),
    Claim(
        key="grus-inevitably-fails",
        article="grus",
        section=EXPLANATION,
        says="Further backward passes without retain_graph=True always fail.",
        truth="They fail over the same forward pass. Run the network again and there is a fresh graph to walk, which "
        "is what a training loop does.",
        condition="the passes go over the same forward computation",
        rules=("lifetime/same-root-raises", "lifetime/rebuilt"),
        right=(case("w = leaf 0.5; y = tanh w; backward y; backward y", Raises(4, FREED)),),
        wrong=(
            case("w = leaf 0; y = tanh w; backward y; z = tanh w; backward z", Raises(5, FREED), note="run again"),
        ),
        situation="rebuilt",
    ),
    Claim(
        key="grus-always-retaining",
        article="grus",
        section=EXPLANATION,
        says="Always retaining uses more and more memory.",
        truth="Every retained graph stays for as long as something refers to it: a loss kept in a list for the log is "
        "enough. Keep loss.item() instead.",
        rules=("lifetime/retained-works",),
        right=(
            case("w = leaf 0.5; y = tanh w; backward y retain=True; z = tanh w; backward z retain=True; k = tanh w; "
                 "backward k retain=True", Saved(5, "more", 3), Saved(7, "more", 5)),
        ),
        situation="accumulating_iterations",
    ),
    Claim(
        key="grus-grows-with-batch",
        article="grus",
        section=EXPLANATION,
        says="Retaining costs more with longer sequences and with larger batches.",
        truth="Yes. A longer sequence saves more tensors; a larger batch as many, each of them larger: weighed by the "
        "suite's own tests, every further row of the batch adds the same number of elements.",
        rules=("lifetime/retained-works", "memory/retained"),
        right=(
            case(f"{RECURRENT}; c = multiply w h2; h3 = tanh c; backward h3 retain=True", Saved(8, "more", 6),
                 Saved(9, "as many", 8), note="a step more (programs count saved tensors, and do not weigh them)"),
            case("w = leaf 0.5; h0 = leaf [1, 2, 3] const; a = multiply w h0; h1 = tanh a; s = sum h1 dim=(0,) "
                 "keepdim=False; backward s retain=True", Saved(6, "as many", 5), note="a batch of three rows"),
        ),
        situation="recurrent_two_losses",
    ),
    Claim(
        key="grus-error-names-missing-node",
        article="grus",
        section=EXPLANATION,
        says="The error often speaks of a missing node or of a tensor that was freed.",
        truth="The message is always the same one, 'Trying to backward through the graph a second time', and it goes "
        "on to speak of saved tensors that have been freed. The graph's nodes are still there.",
        untestable="the wording of messages is no part of a framework's contract; that this kind of error is raised, "
        "other claims decide",
    ),
    Claim(
        key="grus-example-1-first-call",
        article="grus",
        section=ONE,
        says="The comment puts the error at the first loss's backward call.",
        truth="The first call returns. It is the one that frees the graph; the error comes at the next call that "
        "needs it.",
        condition="another call has freed the graph before it",
        rules=("errors/legal-returns", "lifetime/same-root-raises"),
        right=(
            case("w = leaf 0.5; o = tanh w; backward o; backward o", Raises(4, FREED), note="not the first"),
        ),
        wrong=(
            case("w = leaf 0.5; o = tanh w; backward o", Raises(3, FREED)),
            case(f"{GRU}; {LOSS_1}; backward k", Raises(8, FREED)),
            quoted(EXAMPLE_1, Raises(12, FREED),
                    note="the article's example; the error comes four lines later"),
        ),
        situation="recurrent_two_losses",
    ),
    Claim(
        key="grus-example-1-making-loss",
        article="grus",
        section=ONE,
        says="Another comment says that computing the second loss raises.",
        truth="Computing forward from a value whose graph was freed is always possible. Only the backward call "
        "through it raises.",
        rules=("errors/legal-returns", "lifetime/freed-subgraph-raises"),
        wrong=(
            case("w = leaf 0.5; o = tanh w; backward o; q = square o", Raises(4)),
            case(f"{GRU}; {LOSS_1}; backward k; {LOSS_2}", Raises(9)),
            quoted(f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; {LOSS_2}", Raises(15)),
        ),
        situation="new_root_on_freed",
    ),
    Claim(
        key="grus-example-1-second-call",
        article="grus",
        section=ONE,
        says="The second loss's backward raises, since the first one's freed the graph that they have in common.",
        truth="Yes: both losses lead back through the same GRU output. Add the two losses and call backward once.",
        rules=("lifetime/freed-subgraph-raises",),
        right=(
            case("w = leaf 0.5; o = tanh w; l = sin o; backward l; m = square o; backward m", Returns(4),
                 Raises(6, FREED)),
            case(f"{GRU}; {LOSS_1}; backward k; {LOSS_2}; backward m", Returns(8), Raises(11, FREED)),
            quoted(f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; {LOSS_2}; backward m", Raises(16),
                    note="the article's example, with the optimizer's step"),
        ),
        situation="recurrent_two_losses",
    ),
    Claim(
        key="grus-example-2-works",
        article="grus",
        section=TWO,
        says="Retain in the first call, take a step, walk the second loss, take another step: that is the right way.",
        truth="The optimizer writes into the weights, and the retained graph needs their old values: 'modified by an "
        "inplace operation'. Walk both losses first, then take one step.",
        condition="no optimizer step between the two backward calls",
        rules=("writes/error-or-recorded", "lifetime/retained-works"),
        right=(
            case(f"{GRU}; {LOSS_1}; backward k retain=True; {LOSS_2}; backward m; {STEP}", Returns(11), Returns(12)),
        ),
        wrong=(
            case("w = leaf 2; y = square w; backward y retain=True; step w sgd lr=0.5; backward y", Returns(5),
                 note="no GRU needed: the weight itself was saved"),
            case(f"{GRU}; {LOSS_1}; backward k retain=True; {STEP}; {LOSS_2}; backward m", Returns(12)),
            quoted(EXAMPLE_2, Returns(16)),
        ),
        situation="recurrent_two_losses",
    ),
    Claim(
        key="grus-example-2-last-call",
        article="grus",
        section=TWO,
        says="The last backward call over a retained graph need not retain it.",
        truth="Right, and better without: the last call then gives the memory back.",
        rules=("lifetime/last-call-frees", "lifetime/retained-works"),
        right=(
            case("w = leaf 0.5; y = tanh w; backward y retain=True; backward y", Returns(4), Saved(4, "none")),
            case(f"{GRU}; {LOSS_1}; backward k retain=True; {LOSS_2}; backward m", Returns(11)),
        ),
        situation="last_calls",
    ),
    Claim(
        key="grus-example-3-second-loss",
        article="grus",
        section=THREE,
        says="Detach the output before the second loss, and both backward calls work without retaining.",
        truth="The second loss then depends on no parameter at all, and its backward call raises 'does not require "
        "grad'. It returns where something that learns stands behind the detached output; the GRU learns nothing from "
        "it either way.",
        condition="after the detach, something that requires grad takes part in the loss",
        rules=("detach/root-raises", "errors/no-grad-root", "detach/blocks"),
        right=(
            case("w = leaf 0.5; o = tanh w; backward o; d = detach o; v = leaf 3; p = multiply d v; backward p",
                 Returns(7),
                 note="a head of its own behind the detach"),
        ),
        wrong=(
            case("w = leaf 0.5; o = tanh w; backward o; d = detach o; p = square d; backward p", Returns(6)),
            quoted(EXAMPLE_3, Returns(17)),
        ),
        situation="detached_roots",
    ),
    Claim(
        key="grus-example-3-shares-values",
        article="grus",
        section=THREE,
        says="A detached tensor has the values of its source, and is not part of its graph.",
        truth="Yes. It even shares their memory: another claim has programs that show it.",
        rules=("detach/values", "detach/blocks"),
        right=(
            case("x = leaf 3; y = square x; d = detach y; z = multiply x d; backward z", HasGrad(5, "x", (9.0,)),
                 note="d stands in the product as the constant 9"),
        ),
        situation="detached_operands",
    ),
    Claim(
        key="grus-example-3-releases",
        article="grus",
        section=THREE,
        says="Detaching releases the memory of the graph for the next loss.",
        truth="Detaching frees nothing: the source keeps its graph. backward frees it, or letting go of the last "
        "tensor that leads into it.",
        rules=("detach/keeps-source",),
        wrong=(
            case("x = leaf 3; y = square x; d = detach y", Saved(3, "fewer", 2)),
            case("x = leaf 3; y = square x; d = detach y; backward y", Raises(4, FREED),
                 note="the graph is still there to be walked"),
            quoted(f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; d = detach o", Saved(14, "fewer", 13),
                    note="the article's example, where the backward call has released all that there was"),
        ),
        situation="detached_sources",
    ),
    Claim(
        key="grus-example-3-stops-growth",
        article="grus",
        section=THREE,
        says="Working on from a detached tensor does not make the graph grow.",
        truth="What is computed from constants alone is not recorded. As soon as a parameter takes part, recording "
        "begins anew, but from there only.",
        rules=("detach/blocks", "gradients/requires-grad"),
        right=(
            case("x = leaf 3; y = square x; d = detach y; z = square d", Saved(4, "as many", 2)),
            quoted(f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; d = detach o; q = square d; m = mean q {ALL}",
                    Saved(16, "as many", 14)),
            case("x = leaf 3; y = square x; z = square y", Saved(3, "more", 2), note="not detached"),
        ),
        situation="detached_operands",
    ),
    Claim(
        key="grus-example-3-preferred",
        article="grus",
        section=THREE,
        says="Detaching is generally to be preferred, for memory's sake.",
        truth="It is another computation, not a cheaper one: use it where the second loss is not meant to train the "
        "GRU.",
        untestable="which of two different computations is preferable depends on what you want to train",
    ),
)  # fmt: skip
