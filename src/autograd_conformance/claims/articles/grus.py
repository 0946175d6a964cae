"""The article "How to resolve the `retain_graph` issue when using GRUs?": two losses on one recurrent output, with an
optimizer step in between.
"""

from __future__ import annotations

from autograd_conformance.claims.articles.cases import FREED, case, quoted
from autograd_conformance.claims.articles.claim import Article, Claim, HasGrad, Raises, Returns, Saved
from autograd_conformance.programs import slugs

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
"""Program of six lines: two time steps of a GRU with one input and one hidden unit."""

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
"""Program of ten lines: the article's own GRU, which runs in both directions."""

BOTH = "w, u, b, c, w2, u2, b2, c2"
STEP_BOTH = f"step {BOTH} adam lr=0.125"

RECURRENT = "w = leaf 0.5; h0 = leaf 1 const; a = multiply w h0; h1 = tanh a; b = multiply w h1; h2 = tanh b"
"""Program of two time steps of a recurrent unit in elementary ops, as six instructions."""

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
        truth="Every step of the sequence saves values until backward frees them; with a retained graph, they stay "
        "longer.",
        rules=(slugs.LIFETIME_DEFAULT_FREES, slugs.LIFETIME_RETAINED_WORKS),
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
        says="The error is caused by access to nodes of the graph that were deallocated.",
        truth="The nodes exist for as long as a value refers to them; only the values that they saved are gone. A node "
        "that saved nothing can be walked again.",
        rules=(slugs.LIFETIME_NOTHING_SAVED, slugs.LIFETIME_TRAVERSED_ONLY),
        wrong=(
            case("w = leaf 3; y = negative w; backward y; backward y", Raises(4), note="a node that saved nothing"),
            case("w = leaf 3; h = negative w; y = square h; backward y; k = add h h; backward k", Raises(6),
                 note="the walk from y has freed the values that y's node saved; h's node still exists"),
        ),
        situation="nothing_saved",
    ),
    Claim(
        key="grus-inevitably-fails",
        article="grus",
        section=EXPLANATION,
        says="Further backward passes without retain_graph=True always fail.",
        truth="They fail over the same forward pass. Running the network again makes a new graph, as a training loop "
        "does.",
        condition="the passes go over the same forward computation",
        rules=(slugs.LIFETIME_SAME_ROOT_RAISES, slugs.LIFETIME_REBUILT),
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
        truth="Every retained graph stays for as long as something refers to it, such as a loss in a list that is kept "
        "for logging. Keep loss.item() instead.",
        rules=(slugs.LIFETIME_RETAINED_WORKS,),
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
        truth="Yes. A longer sequence saves more tensors. A larger batch saves as many, but larger ones: as the "
        "suite's own tests measure, every further row of the batch adds the same number of elements.",
        rules=(slugs.LIFETIME_RETAINED_WORKS, slugs.MEMORY_RETAINED),
        right=(
            case(f"{RECURRENT}; c = multiply w h2; h3 = tanh c; backward h3 retain=True", Saved(8, "more", 6),
                 Saved(9, "as many", 8), note="one more step (programs count saved tensors, not their elements)"),
            case("w = leaf 0.5; h0 = leaf [1, 2, 3] const; a = multiply w h0; h1 = tanh a; s = sum h1 dim=(0,) "
                 "keepdim=False; backward s retain=True", Saved(6, "as many", 5), note="a batch of three rows"),
        ),
        situation="recurrent_two_losses",
    ),
    Claim(
        key="grus-error-names-missing-node",
        article="grus",
        section=EXPLANATION,
        says="The error message often mentions a missing node or a freed tensor.",
        truth="The message is always the same: 'Trying to backward through the graph a second time'. It also mentions "
        "saved tensors that have been freed. The graph's nodes still exist.",
        untestable="the wording of messages is not part of a framework's contract; other claims decide whether this "
        "kind of error is raised",
    ),
    Claim(
        key="grus-example-1-first-call",
        article="grus",
        section=ONE,
        says="According to a comment, the first loss's backward call raises.",
        truth="The first call returns, and frees the graph. The next call that needs the graph raises.",
        condition="an earlier call has freed the graph",
        rules=(slugs.ERRORS_LEGAL_RETURNS, slugs.LIFETIME_SAME_ROOT_RAISES),
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
        rules=(slugs.ERRORS_LEGAL_RETURNS, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
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
        says="The second loss's backward call raises, because the first call freed the graph that the losses share.",
        truth="Yes: both losses depend on the same GRU output. Add the two losses and call backward once.",
        rules=(slugs.LIFETIME_FREED_SUBGRAPH_RAISES,),
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
        says="The right way is to retain in the first call, take a step, walk the second loss, and take another step.",
        truth="The optimizer writes into the weights, and the retained graph needs their old values. The call raises "
        "'modified by an inplace operation'. Walk both losses first, then take one step.",
        condition="no optimizer step between the two backward calls",
        rules=(slugs.WRITES_ERROR_OR_RECORDED, slugs.LIFETIME_RETAINED_WORKS),
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
        truth="True, and it is better not to retain: the last call then frees the memory.",
        rules=(slugs.LIFETIME_LAST_CALL_FREES, slugs.LIFETIME_RETAINED_WORKS),
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
        says="If the output is detached before the second loss, both backward calls work without retaining.",
        truth="The second loss then depends on no parameter at all, and its backward call raises 'does not require "
        "grad'. It returns if a later layer with parameters uses the detached output. In both cases, the GRU learns "
        "nothing from it.",
        condition="after the detach, something that requires grad takes part in the loss",
        rules=(slugs.DETACH_ROOT_RAISES, slugs.ERRORS_NO_GRAD_ROOT, slugs.DETACH_BLOCKS),
        right=(
            case("w = leaf 0.5; o = tanh w; backward o; d = detach o; v = leaf 3; p = multiply d v; backward p",
                 Returns(7),
                 note="a separate head after the detach"),
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
        truth="Yes. It even shares their memory, as the programs of another claim show.",
        rules=(slugs.DETACH_VALUES, slugs.DETACH_BLOCKS),
        right=(
            case("x = leaf 3; y = square x; d = detach y; z = multiply x d; backward z", HasGrad(5, "x", (9.0,)),
                 note="d is the constant 9 in the product"),
        ),
        situation="detached_operands",
    ),
    Claim(
        key="grus-example-3-releases",
        article="grus",
        section=THREE,
        says="Detaching releases the memory of the graph for the next loss.",
        truth="Detaching frees nothing: the source keeps its graph. The graph is freed by backward, or when the last "
        "tensor that refers to it is deleted.",
        rules=(slugs.DETACH_KEEPS_SOURCE,),
        wrong=(
            case("x = leaf 3; y = square x; d = detach y", Saved(3, "fewer", 2)),
            case("x = leaf 3; y = square x; d = detach y; backward y", Raises(4, FREED),
                 note="the graph can still be walked"),
            quoted(f"{BIDIRECTIONAL}; {LOSS_1}; backward k; {STEP_BOTH}; d = detach o", Saved(14, "fewer", 13),
                    note="the article's example, in which the backward call has already freed all saved tensors"),
        ),
        situation="detached_sources",
    ),
    Claim(
        key="grus-example-3-stops-growth",
        article="grus",
        section=THREE,
        says="Computing with a detached tensor does not make the graph grow.",
        truth="Ops on constants alone are not recorded. As soon as a parameter takes part, ops are recorded again, but "
        "only from there.",
        rules=(slugs.DETACH_BLOCKS, slugs.GRADIENTS_REQUIRES_GRAD),
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
        says="Detaching is generally preferable, because it saves memory.",
        truth="It is a different computation, not a cheaper one: use it if the second loss is not meant to train the "
        "GRU.",
        untestable="which of two different computations is preferable depends on what you want to train",
    ),
)  # fmt: skip
