"""The article "How can I avoid freeing model buffers before a second backward pass?": optimizer steps between calls,
several losses, and gradients that are assigned.
"""

from __future__ import annotations

from autograd_conformance.claims.articles.cases import FREED, case, quoted
from autograd_conformance.claims.articles.claim import Article, Claim, HasGrad, Raises, Returns, Saved
from autograd_conformance.programs import slugs

EXPLANATION = "1. Clear Explanation"
ONE = "Example 1: Basic Implementation with `retain_graph=True`"
TWO = "Example 2: Handling Multiple Losses with `retain_graph=True`"
THREE = "Example 3: Detached Gradient Computation (Memory Efficient)"

LINEAR = """
    i = leaf [[1, 2]] const
    t = leaf [[1]] const
    w = leaf [[1, 1]]
    b = leaf [0]
    o = linear_bias i w b
    l = mse_loss o t reduction='mean'
"""
"""Program of six lines: one linear layer and its loss, (1·1 + 2·1 - 1)² = 4."""

DEEP = """
    i = leaf [[1, 2]] const
    t = leaf [[1]] const
    w = leaf [[1, 1]]
    v = leaf [[2]]
    h = linear i w
    r = relu h
    o = linear r v
    l = mse_loss o t reduction='mean'
"""
"""Program of eight lines: two linear layers with a relu between them, and a loss."""

SGD = "step w, b sgd lr=0.125"
AGAIN = "h2 = linear i w; r2 = relu h2; o2 = linear r2 v; l2 = mse_loss o2 t reduction='mean'"

EXAMPLE_1 = f"{LINEAR}; backward l retain=True; {SGD}; zero w, b; backward l; {SGD}; zero w, b"
EXAMPLE_2 = f"{DEEP}; {AGAIN}; backward l retain=True; backward l2; step w, v adam lr=0.125; zero w, v"
WITHOUT_FLAG = EXAMPLE_2.replace(" retain=True", "")
EXAMPLE_3 = f"""
    {LINEAR}
    backward l
    g = held w
    k = clone g
    d = detach k
    g2 = held b
    k2 = clone g2
    d2 = detach k2
    {SGD}
    zero w, b
    assign w d
    assign b d2
    {SGD}
    zero w, b
"""

ARTICLE = Article(
    "buffers",
    "How can I avoid freeing model buffers before a second backward pass in PyTorch?",
    "003_a45e0f268b009bfb.txt",
    ("Introduction", EXPLANATION, ONE, TWO, THREE, "3. Resource Recommendations"),
    {ONE: (EXAMPLE_1,), TWO: (EXAMPLE_2, WITHOUT_FLAG), THREE: (EXAMPLE_3,)},
)

CLAIMS = (
    Claim(
        key="buffers-frees-buffers",
        article="buffers",
        section="Introduction",
        says="The first backward pass frees the model's buffers.",
        truth="Parameters, buffers and outputs stay. backward frees the values saved in the graph of that one forward "
        "pass, and the next forward pass saves new ones.",
        rules=(slugs.LIFETIME_REBUILT,),
        wrong=(
            case("w = leaf 3; y = square w; backward y; z = square w; backward z", Raises(5),
                 note="the same model, run again"),
            case("w = leaf 3; y = square w; backward y; z = negative y", Raises(4), note="the output is still there"),
        ),
        situation="rebuilt",
    ),
    Claim(
        key="buffers-needs-retain",
        article="buffers",
        section="Introduction",
        says="Without retain_graph=True, further backward passes are impossible.",
        truth="Over the same graph, yes. A new forward pass makes a new graph, and parts of the old graph that were "
        "not walked can still be walked.",
        condition="the later pass walks nodes that the earlier pass walked, and these nodes saved values",
        rules=(slugs.LIFETIME_SAME_ROOT_RAISES, slugs.LIFETIME_TRAVERSED_ONLY),
        right=(case("x = leaf 3; y = exp x; backward y; backward y", Raises(4, FREED)),),
        wrong=(
            case("x = leaf 3; h = add x x; p = square h; q = sin h; backward p; backward q", Raises(6, FREED),
                 note="two losses on h, but the walks meet only in nodes that saved nothing"),
        ),
        situation="branches",
    ),
    Claim(
        key="buffers-keeps-everything",
        article="buffers",
        section="Introduction",
        says="Retaining keeps the whole graph in memory.",
        truth="Yes, the graph from which the walked root was computed. None of its saved values is freed.",
        rules=(slugs.LIFETIME_RETAINED_WORKS,),
        right=(
            case("x = leaf 3; y = exp x; z = sin y; backward z retain=True", Saved(4, "as many", 3)),
            case(f"{DEEP}; backward l retain=True", Saved(9, "as many", 8)),
        ),
        situation="retained",
    ),
    Claim(
        key="buffers-simplest",
        article="buffers",
        section="Introduction",
        says="Retaining in the first call is the simplest and most reliable way.",
        truth="Adding the losses and calling backward once is simpler, and cannot run into modified weights.",
        untestable="which way is simplest is a matter of taste; other claims show where retaining fails",
    ),
    Claim(
        key="buffers-records-everything",
        article="buffers",
        section=EXPLANATION,
        says="The graph records all operations on tensors.",
        truth="Only operations with an operand that requires grad. A value computed from data alone has no graph, and "
        "no memory to free.",
        condition="some operand requires grad",
        rules=(slugs.GRADIENTS_REQUIRES_GRAD,),
        right=(case("x = leaf 3; y = square x", Saved(2, "more", 1)),),
        wrong=(case("x = leaf 3 const; y = square x", Saved(2, "more", 1)),),
        situation="constant_leaves",
    ),
    Claim(
        key="buffers-example-1-step-between",
        article="buffers",
        section=ONE,
        says="The sequence of backward with retain, optimizer step and backward works.",
        truth="In this one-layer model it does, since the layer saves its input and not its weight. With a second "
        "layer, the step overwrites a weight that the graph needs, and the call raises 'modified by an inplace "
        "operation'.",
        condition="the graph saved no parameter that the optimizer changes: one linear layer, with an input that "
        "requires no grad",
        rules=(slugs.WRITES_ERROR_OR_RECORDED, slugs.WRITES_UNSAVED_WORKS),
        right=(
            quoted(EXAMPLE_1, Returns(10)),
        ),
        wrong=(
            case(f"{DEEP}; backward l retain=True; step w, v sgd lr=0.125; zero w, v; backward l", Returns(12)),
            case("w = leaf 2; y = square w; backward y retain=True; step w sgd lr=0.125; backward y", Returns(5)),
        ),
        situation="deep_steps_between_calls",
    ),
    Claim(
        key="buffers-example-1-second-gradient",
        article="buffers",
        section=ONE,
        says="The second call computes gradients for a second update of the model.",
        truth="It computes the old gradient again, of the forward pass recorded before the step. For the gradient at "
        "the new weights, run the model again.",
        condition="you want the old weights' gradient; the new weights' gradient needs a new forward pass",
        rules=(slugs.WRITES_UNSAVED_WORKS, slugs.GRADIENTS_GRAPH),
        right=(
            quoted(f"{LINEAR}; backward l retain=True; {SGD}; zero w, b; backward l", HasGrad(7, "w", (4.0, 8.0)),
                    HasGrad(10, "w", (4.0, 8.0))),
        ),
        wrong=(
            case(f"{LINEAR}; backward l retain=True; {SGD}; zero w, b; o2 = linear_bias i w b; "
                 "l2 = mse_loss o2 t reduction='mean'; backward l2", HasGrad(12, "w", (4.0, 8.0)),
                 note="the gradient at the stepped weights differs: w = [0.5, 0], b = -0.5, output 0, target 1"),
        ),
        situation="steps_between_calls",
    ),
    Claim(
        key="buffers-example-2-returns",
        article="buffers",
        section=TWO,
        says="For two losses from two runs of a model, both backward calls work if the first one retains.",
        truth="They do.",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.ACCUMULATION_ADDS),
        right=(
            quoted(EXAMPLE_2, Returns(14)),
        ),
        situation="two_forwards",
    ),
    Claim(
        key="buffers-example-2-essential",
        article="buffers",
        section=TWO,
        says="The retain_graph=True in the first of the two calls is essential.",
        truth="It is not needed: each run of the model made its own graph. It would be needed if both losses came from "
        "one run.",
        condition="both losses come from the same run of the model",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case(f"{DEEP}; backward l; l2 = square o; backward l2", Raises(11, FREED), note="one run, two losses"),
        ),
        wrong=(
            quoted(f"{DEEP}; {AGAIN}; backward l; backward l2", Raises(14, FREED),
                    note="the article's example without the flag"),
            case("w = leaf 3; p = square w; q = square w; backward p; backward q", Raises(5, FREED)),
        ),
        situation="two_forwards",
    ),
    Claim(
        key="buffers-example-3-works",
        article="buffers",
        section=THREE,
        says="Gradients that were set aside can be put back and used for a second step, without a second backward.",
        truth="Yes: the optimizer reads the parameters' .grad, wherever the values come from.",
        rules=(slugs.ACCUMULATION_ASSIGNED, slugs.OPTIMIZERS_FORMULA),
        right=(
            quoted(EXAMPLE_3, HasGrad(17, "w", (4.0, 8.0)), HasGrad(17, "b", (4.0,)), Returns(18)),
        ),
        situation="reassigned_gradients",
    ),
    Claim(
        key="buffers-example-3-assigning",
        article="buffers",
        section=THREE,
        says="After zero_grad has set it to None, p.grad can be assigned a tensor.",
        truth="Yes, a tensor of the parameter's shape and dtype (and on its device). Any other tensor is refused.",
        condition="the tensor has the parameter's shape and dtype",
        rules=(slugs.ACCUMULATION_ASSIGNED, slugs.ACCUMULATION_ASSIGNED_FORM),
        right=(
            quoted(EXAMPLE_3, HasGrad(15, "w", None), Returns(16), HasGrad(16, "w", (4.0, 8.0))),
            case("w = leaf [1, 2]; k = leaf [3, 4] const; zero w; assign w k", HasGrad(4, "w", (3.0, 4.0))),
        ),
        wrong=(
            case("w = leaf [1, 2]; k = leaf [[3, 4]] const; zero w; assign w k", Returns(4), note="another shape"),
            case("w = leaf [1, 2]; k = leaf f32 [3, 4] const; zero w; assign w k", Returns(4), note="another dtype"),
        ),
        situation="reassigned_gradients",
    ),
    Claim(
        key="buffers-example-3-saves-memory",
        article="buffers",
        section=THREE,
        says="This way, the graph need not be kept.",
        truth="Yes: backward has freed it, and only the gradients remain, which are as large as the parameters.",
        rules=(slugs.LIFETIME_DEFAULT_FREES,),
        right=(
            quoted(f"{LINEAR}; backward l; g = held w; k = clone g; d = detach k", Saved(7, "none"),
                    Saved(10, "none")),
        ),
        situation="reassigned_gradients",
    ),
    Claim(
        key="buffers-example-3-severs",
        article="buffers",
        section=THREE,
        says="Gradients refer to the graph until they are detached.",
        truth="After a plain backward they do not: a gradient requires no grad and keeps nothing alive. Only with "
        "create_graph=True does it have a graph. Clone it all the same, because zero_grad(set_to_none=False) and later "
        "calls write into it.",
        condition="backward was called with create_graph=True",
        rules=(slugs.HIGHER_PLAIN_RAISES,),
        right=(case("x = leaf 3; y = square x; backward y create=True; g = held x; backward g", Returns(5)),),
        wrong=(
            case("x = leaf 3; y = square x; backward y; g = held x; backward g", Returns(5)),
            quoted(f"{LINEAR}; backward l; g = held w; backward g with [[1, 1]]", Returns(9),
                    note="the article's example, before it detaches: the gradient has no graph"),
        ),
        situation="backward_on_gradients",
    ),
    Claim(
        key="buffers-example-3-second-order",
        article="buffers",
        section=THREE,
        says="Reusing the gradients of the first pass matters if second-order gradients are needed directly.",
        truth="There are none: a detached gradient has no history, and neither has the gradient of a plain backward. "
        "Second derivatives need create_graph=True and no detach.",
        condition="the first pass was walked with create_graph=True, and its gradients are not detached",
        rules=(slugs.HIGHER_PLAIN_RAISES, slugs.HIGHER_DIFFERENTIABLE, slugs.DETACH_ROOT_RAISES),
        right=(
            case(f"{LINEAR}; backward l create=True; g = held w; k = clone g; assign w none; assign b none; "
                 "backward k with [[1, 1]]", Returns(12), HasGrad(12, "w", (6.0, 12.0)),
                 note="2·(1 + 2) of each input"),
        ),
        wrong=(
            quoted(f"{LINEAR}; backward l; g = held w; k = clone g; d = detach k; backward d with [[1, 1]]",
                    Returns(11), note="the article's example, and a backward call on the gradient that it set aside"),
            case("w = leaf 3; y = square w; backward y create=True; g = held w; d = detach g; backward d", Returns(6),
                 note="the detach alone is enough to lose them"),
        ),
        situation="backward_on_gradients",
    ),
    Claim(
        key="buffers-example-3-stands-in",
        article="buffers",
        section=THREE,
        says="Reusing the first pass's gradients is a cheap substitute for the second backward pass.",
        truth="It is equivalent to walking the same graph again, which gives the same gradient. It is not equivalent "
        "to another forward and backward pass with the stepped weights.",
        condition="the second pass would have walked the same graph; after a step, a fresh pass gives another "
        "gradient",
        rules=(slugs.LIFETIME_RETAINED_WORKS, slugs.GRADIENTS_GRAPH),
        right=(
            case(f"{LINEAR}; backward l retain=True; zero w, b; backward l", HasGrad(7, "w", (4.0, 8.0)),
                 HasGrad(9, "w", (4.0, 8.0))),
        ),
        wrong=(
            case(f"{LINEAR}; backward l; {SGD}; zero w, b; o2 = linear_bias i w b; "
                 "l2 = mse_loss o2 t reduction='mean'; backward l2",
                 HasGrad(12, "w", (4.0, 8.0)), note="the gradient is [-2, -4], because the step went too far"),
        ),
        situation="reassigned_gradients",
    ),
)  # fmt: skip
