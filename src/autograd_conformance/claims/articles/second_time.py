"""The article "How to avoid 'Trying to backward through the graph a second time'?": retaining, detaching, and
zeroing.
"""

from __future__ import annotations

from autograd_conformance.claims.articles.cases import FREED, MODIFIED, case, quoted
from autograd_conformance.claims.articles.claim import Article, Claim, HasGrad, Raises, Returns, Saved
from autograd_conformance.programs import slugs

SOURCE = "1. Understanding PyTorch's Autograd and the Source of the Error"
STRATEGIES = "2. Strategies for Avoiding the Error"
RETAINING = "a. Utilizing `retain_graph=True`"
DETACHING = "b. Detaching the Computational Graph"
ZEROING = "c. Zeroing Gradients Before Each Backward Pass"

MEAN = "dim=(0,) keepdim=False"
LOSS = f"x = leaf [1, 2]; y = multiply_scalar x scalar=2.0; z = mean y {MEAN}"
"""Program of three lines that computes the mean of x * 2, with which the article's examples start."""

ROUND = f"y = multiply_scalar x scalar=2.0; z = mean y {MEAN}; zero x; backward z; step x sgd lr=0.5"
"""Five lines of a program: one iteration of the training loop in part c of the article."""

BARE = f"y = multiply_scalar x scalar=2.0; z = mean y {MEAN}; backward z; step x sgd lr=0.5"
"""Four lines of a program: one iteration of the training loop in part c of the article, without clearing gradients."""

EXAMPLE_A = f"{LOSS}; backward z retain=True; backward z; zero x to zeros; backward z"
DETACHED = f"{LOSS}; backward z; d = detach x; w = multiply_scalar d scalar=3.0"
EXAMPLE_B = f"""
    {DETACHED}
    zero x to zeros
    d = detach x
    w = multiply_scalar d scalar=3.0
    y = multiply_scalar x scalar=2.0
    z = mean y {MEAN}
    backward z
"""
EXAMPLE_C = f"x = leaf [1, 2]; {ROUND}; {ROUND}; {ROUND}"
WITHOUT_ZEROING = f"x = leaf [1, 2]; {BARE}; {BARE}; {BARE}"

ARTICLE = Article(
    "second-time",
    "How to avoid 'RuntimeError: Trying to backward through the graph a second time'?",
    "004_e0148f0ab01e4721.txt",
    ("Introduction", SOURCE, STRATEGIES, RETAINING, DETACHING, ZEROING, "3. Resource Recommendations"),
    {RETAINING: (EXAMPLE_A,), DETACHING: (EXAMPLE_B,), ZEROING: (EXAMPLE_C, WITHOUT_ZEROING)},
)

CLAIMS = (
    Claim(
        key="second-time-optimizer-steps-cause",
        article="second-time",
        section="Introduction",
        says="Optimizer steps in the wrong place are a common cause of this error.",
        truth="A step never frees a graph. In the wrong place, between two calls over a retained graph, it causes "
        "another error: 'modified by an inplace operation'.",
        rules=(slugs.WRITES_ERROR_OR_RECORDED,),
        wrong=(
            case("w = leaf 2; y = square w; backward y retain=True; step w sgd lr=0.125; backward y", Raises(5, FREED)),
            case("w = leaf 2; y = square w; step w sgd lr=0.125; backward y", Raises(4, FREED),
                 note="the leaf holds no gradient yet, so the step does nothing"),
        ),
        situation="deep_steps_between_calls",
    ),
    Claim(
        key="second-time-anew-each-forward",
        article="second-time",
        section=SOURCE,
        says="Each forward pass makes a new graph.",
        truth="For the values that it computes, yes. A value that is carried over from an earlier pass, such as a "
        "hidden state or a running loss, refers to that pass's freed graph. Detach the values that you carry over.",
        condition="the new pass uses no value of an earlier pass, except detached ones",
        rules=(slugs.LIFETIME_REBUILT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case("w = leaf 3; y = square w; backward y; z = square w; backward z", HasGrad(5, "w", (12.0,))),
            quoted(EXAMPLE_C, Returns(10), Returns(15)),
            case("w = leaf 0.5; h = tanh w; backward h; d = detach h; k = multiply w d; backward k", Returns(6),
                 note="a hidden state, detached"),
        ),
        wrong=(
            case("w = leaf 0.5; h = tanh w; backward h; k = multiply w h; backward k", Returns(5),
                 note="a hidden state, carried over"),
        ),
        situation="carried_state",
    ),
    Claim(
        key="second-time-each-operation",
        article="second-time",
        section=SOURCE,
        says="Each operation on tensors makes a node of the graph.",
        truth="Only an operation with an operand that requires grad does. The article's second example has an "
        "operation that makes none, as its operand is detached.",
        condition="some operand requires grad",
        rules=(slugs.GRADIENTS_REQUIRES_GRAD, slugs.ERRORS_NO_GRAD_ROOT),
        right=(
            case("x = leaf 3; y = square x; backward y", Returns(3)),
            case("x = leaf 3 const; w = leaf 2; y = multiply x w; backward y", Returns(4), note="one is enough"),
        ),
        wrong=(
            case("x = leaf 3 const; y = square x; backward y", Returns(3), note="no node, nothing to walk"),
            quoted(f"{DETACHED}; backward w", Returns(7),
                    note="the article's example, with the call that it leaves in a comment"),
        ),
        situation="constant_leaves",
    ),
    Claim(
        key="second-time-state-deleted",
        article="second-time",
        section=SOURCE,
        says="backward deletes the values that the graph saved.",
        truth="It deletes the saved values of the nodes that it walks, between this root and the leaves. Other "
        "branches of the same graph keep theirs.",
        condition="all nodes that saved values are between the root and the leaves",
        rules=(slugs.LIFETIME_DEFAULT_FREES, slugs.LIFETIME_TRAVERSED_ONLY),
        right=(case("x = leaf 3; y = square x; z = sin y; backward z", Saved(4, "none")),),
        wrong=(
            case("x = leaf 3; p = square x; q = exp x; backward p", Saved(4, "none"), note="q can still be walked"),
        ),
        situation="branches",
    ),
    Claim(
        key="second-time-once-per-forward",
        article="second-time",
        section=STRATEGIES,
        says="The solution is to call backward only once for each forward pass.",
        truth="That is a good habit, but stricter than necessary: several calls work if they do not meet in the graph. "
        "It does not help if a value of an earlier pass is carried over.",
        condition="sufficient unless a value is carried over from an earlier pass; not necessary if the walks do not "
        "meet",
        rules=(slugs.LIFETIME_TRAVERSED_ONLY, slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case("w = leaf 3; y = square w; backward y; zero w; z = square w; backward z", Returns(3), Returns(6)),
        ),
        wrong=(
            case("w = leaf 3; p = square w; q = exp w; backward p; backward q", Raises(5, FREED),
                 note="one forward pass, two calls, no error"),
            case("w = leaf 0.5; h = tanh w; backward h; k = multiply w h; backward k", Returns(5),
                 note="two forward passes, a call for each, and an error: k depends on h"),
        ),
        situation="carried_state",
    ),
    Claim(
        key="second-time-a-retained-twice",
        article="second-time",
        section=RETAINING,
        says="With retain_graph=True in the first call, a second call over the same root works and adds to the "
        "gradient.",
        truth="Yes; and without the flag, as the comment says, the second call raises.",
        rules=(slugs.LIFETIME_RETAINED_WORKS, slugs.ACCUMULATION_ADDS),
        right=(
            quoted(f"{LOSS}; backward z retain=True; backward z", HasGrad(4, "x", (1.0, 1.0)),
                    HasGrad(5, "x", (2.0, 2.0))),
            case(f"{LOSS}; backward z; backward z", Raises(5, FREED), note="without the flag"),
        ),
        situation="retained",
    ),
    Claim(
        key="second-time-a-zero-then-walk",
        article="second-time",
        section=RETAINING,
        says="Without retaining, one can zero the gradient and call backward again.",
        truth="Zeroing clears x.grad and does not restore the graph, so the call raises. The forward pass has to be "
        "run again.",
        condition="the forward pass is run again, or every call before this one retained",
        rules=(slugs.LIFETIME_SAME_ROOT_RAISES, slugs.LIFETIME_REBUILT, slugs.LIFETIME_RETAINED_WORKS),
        right=(
            case(f"{LOSS}; backward z; zero x to zeros; y2 = multiply_scalar x scalar=2.0; z2 = mean y2 {MEAN}; "
                 "backward z2", HasGrad(8, "x", (1.0, 1.0)), note="the forward pass is run again"),
            case(f"{LOSS}; backward z retain=True; backward z retain=True; zero x to zeros; backward z",
                 HasGrad(7, "x", (1.0, 1.0)), note="the flag in the second call, too"),
        ),
        wrong=(
            quoted(EXAMPLE_A, Returns(7), note="the article's example; its second call has freed the graph"),
            case("x = leaf 3; y = square x; backward y; zero x to zeros; backward y", Returns(5),
                 HasGrad(5, "x", (6.0,))),
        ),
        situation="zeroed_then_backward",
    ),
    Claim(
        key="second-time-a-more-memory",
        article="second-time",
        section=RETAINING,
        says="Retaining costs much more memory.",
        truth="It needs no more memory than the forward pass already uses, but keeps it for longer. It costs memory if "
        "the next graph is built while the old one still exists.",
        condition="compared with freeing the graph; the peak of one forward and backward pass is the same",
        rules=(slugs.LIFETIME_DEFAULT_FREES, slugs.LIFETIME_RETAINED_WORKS),
        right=(
            case("x = leaf 3; p = exp x; q = exp x; backward p retain=True; backward q", Saved(4, "as many", 3),
                 Saved(5, "fewer", 4),
                 note="one retained, one freed"),
        ),
        wrong=(case("x = leaf 3; y = exp x; backward y retain=True", Saved(3, "more", 2)),),
        situation="retained",
    ),
    Claim(
        key="second-time-a-not-recommended",
        article="second-time",
        section=RETAINING,
        says="For ordinary training, retaining is not recommended.",
        truth="Good advice: ordinary training does not need it, and it can hide an error: a value carried over from an "
        "earlier iteration then makes the graph grow, and no call raises.",
        untestable="a recommendation is not true or false",
    ),
    Claim(
        key="second-time-b-no-contribution",
        article="second-time",
        section=DETACHING,
        says="Operations on a detached tensor add nothing to the gradient.",
        truth="Nothing through the detached tensor; its source may still receive gradients through other paths.",
        rules=(slugs.DETACH_BLOCKS,),
        right=(
            case("x = leaf 3; d = detach x; w = multiply x d; backward w", HasGrad(4, "x", (3.0,)),
                 note="not 6, as for x * x"),
            quoted(EXAMPLE_B, HasGrad(12, "x", (1.0, 1.0))),
        ),
        situation="detached_operands",
    ),
    Claim(
        key="second-time-b-prevents",
        article="second-time",
        section=DETACHING,
        says="Detaching therefore prevents the error.",
        truth="It does if the second walk would have reached the freed graph through the detached value. The old root "
        "itself still cannot be walked again.",
        condition="every path from the new root into the freed graph is cut",
        rules=(slugs.DETACH_BLOCKS, slugs.LIFETIME_SAME_ROOT_RAISES),
        right=(
            case("x = leaf 3; y = square x; backward y; d = detach y; v = leaf 2; z = multiply d v; backward z",
                 Returns(7)),
            quoted(EXAMPLE_B, Returns(12), note="the article's example, which would return without the detach, too"),
        ),
        wrong=(
            case(f"{LOSS}; backward z; d = detach x; w = multiply_scalar d scalar=3.0; backward z", Returns(7),
                 note="detached, and the old root walked again"),
        ),
        situation="detached_sources",
    ),
    Claim(
        key="second-time-b-backward-on-detached",
        article="second-time",
        section=DETACHING,
        says="Calling backward on a value that was computed from a detached tensor raises no error; it only does "
        "nothing.",
        truth="It raises 'element 0 of tensors does not require grad and does not have a grad_fn': there is nothing "
        "to walk.",
        condition="after the detach, something that requires grad takes part; x still receives no gradient",
        rules=(slugs.DETACH_ROOT_RAISES, slugs.ERRORS_NO_GRAD_ROOT, slugs.DETACH_BLOCKS),
        right=(
            case("x = leaf 3; d = detach x; v = leaf 2; w = multiply d v; backward w", Returns(5),
                 HasGrad(5, "x", None)),
        ),
        wrong=(
            case("x = leaf 3; d = detach x; w = multiply_scalar d scalar=3.0; backward w", Returns(4)),
            quoted(f"{DETACHED}; backward w", Returns(7),
                    note="the article's example, with the call that it leaves in a comment"),
        ),
        situation="detached_roots",
    ),
    Claim(
        key="second-time-b-example-proceeds",
        article="second-time",
        section=DETACHING,
        says="After zeroing and detaching, the last backward call of the example works.",
        truth="It does, because y and z were computed again two lines before. Neither the zeroing nor the detaching is "
        "needed for it.",
        rules=(slugs.LIFETIME_REBUILT,),
        right=(
            quoted(EXAMPLE_B, HasGrad(12, "x", (1.0, 1.0))),
            case(f"{LOSS}; backward z; y2 = multiply_scalar x scalar=2.0; z2 = mean y2 {MEAN}; backward z2", Returns(7),
                 note="neither zeroed nor detached"),
        ),
        situation="rebuilt",
    ),
    Claim(
        key="second-time-b-shares-data",
        article="second-time",
        section=DETACHING,
        says="The detached tensor shares its data with the source.",
        truth="Yes, they share memory: a write to one changes the other, and a graph that had saved the source detects "
        "the write. Clone it before you write.",
        rules=(slugs.VIEWS_SHARES, slugs.DETACH_VALUES, slugs.WRITES_ERROR_OR_RECORDED),
        right=(
            case("x = leaf 3; d = detach x; write d mul_scalar_ scalar=2.0; y = square x; backward y",
                 HasGrad(5, "x", (12.0,)), note="x is 6 now: 2·6"),
            case("x = leaf 3; y = square x; d = detach x; write d mul_scalar_ scalar=2.0; backward y",
                 Raises(5, MODIFIED), note="the graph had saved x"),
            case("x = leaf 3; d = detach x; k = clone d; write k mul_scalar_ scalar=2.0; y = square x; backward y",
                 HasGrad(6, "x", (6.0,)), note="a clone shares nothing"),
        ),
        situation="detached_sources",
    ),
    Claim(
        key="second-time-b-nested-loops",
        article="second-time",
        section=DETACHING,
        says="In nested loops, such as those of meta-learning, detaching is vital.",
        truth="Often it is right. But if the outer loop has to differentiate through the inner one, detaching removes "
        "the very gradient that is needed.",
        untestable="it depends on what the outer loop is meant to compute",
    ),
    Claim(
        key="second-time-c-missing-zero-triggers",
        article="second-time",
        section=ZEROING,
        says="A forgotten zero_grad is the most common cause of this error.",
        truth="It never causes this error. Without zero_grad, gradients add up, and the training silently goes wrong.",
        rules=(slugs.ACCUMULATION_ADDS, slugs.LIFETIME_REBUILT),
        wrong=(
            quoted(f"x = leaf [1, 2]; {BARE}; {BARE}", Raises(8, FREED),
                    note="two rounds of the article's example, without zero_grad"),
            case("x = leaf 3; y = square x; backward y; z = square x; backward z", Raises(5, FREED)),
        ),
        situation="accumulating_iterations",
    ),
    Claim(
        key="second-time-c-zero-cures",
        article="second-time",
        section=ZEROING,
        says="Clearing the gradients before each backward avoids the error.",
        truth="Gradients and graphs are independent. However often gradients are cleared, the second call over a freed "
        "graph raises.",
        rules=(slugs.LIFETIME_SAME_ROOT_RAISES, slugs.ACCUMULATION_ZERO_TO_NONE),
        wrong=(
            case("x = leaf 3; y = square x; zero x; backward y; zero x; backward y", Returns(6)),
            case(f"{LOSS}; zero x; backward z; step x sgd lr=0.5; zero x; backward z; step x sgd lr=0.5", Returns(8),
                 note="the article's loop, with its forward pass before it"),
        ),
        situation="zeroed_then_backward",
    ),
    Claim(
        key="second-time-c-once-per-forward",
        article="second-time",
        section=ZEROING,
        says="Clearing makes sure that backward is called only once for each forward pass.",
        truth="It has no effect on that. There is one call for each pass because both are in the loop, with or without "
        "zero_grad.",
        rules=(slugs.LIFETIME_REBUILT, slugs.ACCUMULATION_ADDS, slugs.LIFETIME_SAME_ROOT_RAISES),
        wrong=(
            quoted(f"x = leaf [1, 2]; {BARE}; {BARE}; {BARE}", Raises(8), Raises(12),
                    note="the article's example without zero_grad: still one call for each forward pass"),
            case("x = leaf 3; y = square x; zero x; backward y; zero x; backward y", Returns(6),
                 note="cleared, and two calls for one forward pass"),
        ),
        situation="zeroed_then_backward",
    ),
    Claim(
        key="second-time-c-stale-gradients",
        article="second-time",
        section=ZEROING,
        says="Without clearing, gradients of earlier iterations enter the next update.",
        truth="Yes. That is an error in most training loops, and intended in some: gradient accumulation over several "
        "batches.",
        rules=(slugs.ACCUMULATION_ADDS,),
        right=(
            case("x = leaf 3; y = square x; backward y; z = square x; backward z", HasGrad(3, "x", (6.0,)),
                 HasGrad(5, "x", (12.0,))),
            quoted(f"x = leaf [1, 2]; {BARE}; {BARE}", HasGrad(4, "x", (1.0, 1.0)), HasGrad(8, "x", (2.0, 2.0)),
                    note="two rounds of the article's example, without zero_grad"),
        ),
        situation="accumulating_iterations",
    ),
    Claim(
        key="second-time-c-loop-works",
        article="second-time",
        section=ZEROING,
        says="The loop of forward pass, zero_grad, backward and optimizer step runs without error.",
        truth="It does, because the forward pass is inside the loop.",
        rules=(slugs.LIFETIME_REBUILT, slugs.ACCUMULATION_ZERO_TO_NONE),
        right=(
            quoted(EXAMPLE_C, HasGrad(5, "x", (1.0, 1.0)), HasGrad(10, "x", (1.0, 1.0)), HasGrad(15, "x", (1.0, 1.0)),
                    Returns(16)),
        ),
        situation="accumulating_iterations",
    ),
)  # fmt: skip
