"""The article "What does the `retain_graph` parameter control?": the purpose of retaining, and three examples."""

from __future__ import annotations

from autograd_conformance.claims.articles.cases import FREED, case, quoted
from autograd_conformance.claims.articles.claim import Article, Claim, HasGrad, Raises, Returns, Saved
from autograd_conformance.programs import slugs

EXPLANATION = "1. Clear Explanation"
ONE = "Example 1: Single Backward Pass (Default Behavior)"
TWO = "Example 2: Multiple Backward Passes with `retain_graph=True`"
THREE = "Example 3: Higher-Order Gradients"

MEAN = "dim=(0,) keepdim=False"

EXAMPLE_1 = f"""
    x = leaf [1, 2]
    y = multiply_scalar x scalar=2.0
    z = mean y {MEAN}
    backward z
    backward z retain=True
    z2 = mean y {MEAN}
    backward z2
"""
EXAMPLE_2 = f"""
    x = leaf [1, 2]
    y = multiply_scalar x scalar=2.0
    z = mean y {MEAN}
    backward z retain=True
    l = sum y {MEAN}
    backward l retain=True
    zero x to zeros
"""
EXAMPLE_3 = f"""
    x = leaf [1, 2]
    y = square x
    z = mean y {MEAN}
    backward z retain=True
    g = held x
    backward g retain=True
    zero x to zeros
"""
LOSS = f"x = leaf [1, 2]; y = multiply_scalar x scalar=2.0; z = mean y {MEAN}"
"""Program of three lines that computes the mean of x * 2, with which the article's first two examples start."""
SECOND_ORDER = f"x = leaf [1, 2]; y = square x; z = mean y {MEAN}"
"""Program of three lines that computes the mean of x ** 2, with which the article's third example starts."""

ARTICLE = Article(
    "controls",
    "What does the `retain_graph` parameter in PyTorch's `backward()` method control?",
    "000_de5599e1a2786e9e.txt",
    ("Introduction", EXPLANATION, ONE, TWO, THREE, "3. Resource Recommendations"),
    {ONE: (EXAMPLE_1,), TWO: (EXAMPLE_2,), THREE: (EXAMPLE_3,)},
)

CLAIMS = (
    Claim(
        key="controls-default-frees",
        article="controls",
        section=EXPLANATION,
        says="By default, backward frees the graph, and a second backward over it raises.",
        truth="backward frees the values that ops saved for their gradients. Most ops save some (products, powers, "
        "sigmoid, linear layers). A graph of sums and negations saves none, and PyTorch can walk it any number of "
        "times.",
        condition="some op that the second call walks saved a value",
        rules=(slugs.LIFETIME_DEFAULT_FREES, slugs.LIFETIME_SAME_ROOT_RAISES, slugs.LIFETIME_NOTHING_SAVED),
        right=(
            case("x = leaf 3; y = square x; backward y; backward y", Returns(3), Raises(4, FREED)),
            quoted(f"{LOSS}; backward z; backward z", Returns(4), Raises(5, FREED),
                    note="the article's example, with the call that it leaves in a comment"),
        ),
        wrong=(
            case(f"x = leaf [1, 2]; y = negative x; z = mean y {MEAN}; backward z; backward z", Raises(5, FREED),
                 note="negation and mean save nothing"),
            case(f"x = leaf [1, 2]; y = add x x; z = mean y {MEAN}; backward z; backward z", Raises(5, FREED),
                 note="nor does x + x, which is what the first example computes as x * 2"),
        ),
        situation="backward_twice",
    ),
    Claim(
        key="controls-retain-allows-more",
        article="controls",
        section=EXPLANATION,
        says="With retain_graph=True the graph stays, so that later backward calls over it work.",
        truth="Each call decides separately: the first call that does not retain frees the graph, whatever earlier "
        "calls passed. So every call but the last has to retain.",
        condition="every call so far retained",
        rules=(slugs.LIFETIME_RETAINED_WORKS, slugs.LIFETIME_LAST_CALL_FREES),
        right=(
            case("x = leaf 3; y = square x; backward y retain=True; backward y retain=True; backward y",
                 Returns(4), Returns(5), HasGrad(5, "x", (18.0,))),
            quoted(f"{LOSS}; backward z retain=True; l = sum y {MEAN}; backward l retain=True", Returns(6)),
        ),
        wrong=(
            case("x = leaf 3; y = square x; backward y retain=True; backward y; backward y", Returns(5),
                 note="only the first call retained; the second one freed"),
        ),
        situation="last_calls",
    ),
    Claim(
        key="controls-no-recomputation",
        article="controls",
        section=EXPLANATION,
        says="Retaining saves the forward computation that another backward call would need otherwise.",
        truth="Yes: two calls over one retained graph give the same gradients as computing the forward pass twice, and "
        "run each forward op once. (Counted: four calls over a chain of six ops run 6 forward ops; if the forward pass "
        "is repeated, 24.) Adding the losses and calling backward once is cheaper still.",
        rules=(slugs.LIFETIME_RETAINED_WORKS, slugs.LIFETIME_REBUILT),
        right=(
            case("x = leaf 3; y = square x; backward y retain=True; backward y", HasGrad(4, "x", (12.0,)),
                 note="one forward op for two calls"),
            case("x = leaf 3; y = square x; backward y; z = square x; backward z", HasGrad(5, "x", (12.0,)),
                 note="two forward ops for two calls, and the same gradient"),
        ),
        situation="retained",
    ),
    Claim(
        key="controls-single-pass",
        article="controls",
        section=EXPLANATION,
        says="If one backward pass is all that is needed, retain_graph=False is preferable for memory.",
        truth="Yes, and leaving the flag out has the same effect: the gradient is the same, and nothing is kept.",
        rules=(slugs.MEMORY_FREED, slugs.MEMORY_RETAINED),
        right=(
            case("x = leaf 3; y = exp x; z = sin y; backward z retain=False", Saved(4, "none")),
            case("x = leaf 3; y = exp x; z = sin y; backward z retain=True", Saved(4, "as many", 3),
                 note="retained without need"),
            case("x = leaf 3; y = square x; backward y retain=False", HasGrad(3, "x", (6.0,))),
        ),
        situation="retained",
    ),
    Claim(
        key="controls-false-is-default",
        article="controls",
        section=EXPLANATION,
        says="Leaving retain_graph out means retain_graph=False.",
        truth="If it is left out, it takes the value of create_graph. With create_graph=True the graph is therefore "
        "retained, unless you write retain_graph=False.",
        condition="create_graph is not set",
        rules=(slugs.LIFETIME_DEFAULT_FREES,),
        right=(
            case("x = leaf 3; y = square x; backward y retain=False; backward y", Raises(4, FREED)),
            case("x = leaf 3; y = square x; backward y; backward y", Raises(4, FREED)),
        ),
        wrong=(
            case("x = leaf 3; y = square x; backward y create=True; backward y", Raises(4, FREED),
                 note="create_graph retains by default"),
        ),
        situation="backward_on_gradients",
    ),
    Claim(
        key="controls-false-on-later-call",
        article="controls",
        section=EXPLANATION,
        says="Calling backward another time with retain_graph=False raises, unless the graph was rebuilt.",
        truth="The flag of a call matters only to the calls after it. A second call with retain_graph=False works if "
        "the first one retained.",
        condition="no earlier call retained the graph; only the flags of earlier calls count",
        rules=(slugs.LIFETIME_SAME_ROOT_RAISES, slugs.LIFETIME_RETAINED_WORKS),
        right=(
            case("x = leaf 3; y = square x; backward y; backward y retain=False", Raises(4, FREED)),
            case("x = leaf 3; y = square x; backward y; y2 = square x; backward y2 retain=False", Returns(5)),
        ),
        wrong=(
            case("x = leaf 3; y = square x; backward y retain=True; backward y retain=False", Raises(4, FREED)),
        ),
        situation="last_calls",
    ),
    Claim(
        key="controls-memory-for-time",
        article="controls",
        section=EXPLANATION,
        says="Retaining trades memory for time: without it, the memory of the graph is freed.",
        truth="After a backward that does not retain, no saved tensor of the walked graph is left; after one that "
        "retains, as many as the forward pass saved.",
        rules=(slugs.LIFETIME_DEFAULT_FREES, slugs.LIFETIME_RETAINED_WORKS),
        right=(
            case("x = leaf 3; y = square x; z = sin y; backward z", Saved(4, "none")),
            case("x = leaf 3; y = square x; z = sin y; backward z retain=True; backward z",
                 Saved(4, "as many", 3), Saved(5, "none")),
        ),
        situation="retained",
    ),
    Claim(
        key="controls-losses-need-retain",
        article="controls",
        section=EXPLANATION,
        says="Several losses over one forward pass require several backward calls, and therefore retaining.",
        truth="You need neither: add the losses, or pass them to one backward call. The gradients are the same, and "
        "nothing has to be retained.",
        condition="each loss is walked by a separate call, and the walks meet",
        rules=(slugs.LIFETIME_FREED_SUBGRAPH_RAISES, slugs.GRADIENTS_SEVERAL_ROOTS),
        right=(
            case("x = leaf 3; h = square x; p = sin h; q = cos h; backward p; backward q", Raises(6, FREED)),
        ),
        wrong=(
            case("x = leaf 3; h = square x; p = negative h; q = square h; l = add p q; backward l", Raises(6, FREED),
                 note="one call over the sum: (x⁴ - x²)' = 4x³ - 2x = 102"),
        ),
        situation="several_roots",
    ),
    Claim(
        key="controls-cryptic",
        article="controls",
        section=EXPLANATION,
        says="Wrong use of the flag causes cryptic errors, mostly with nested loops or second-order methods.",
        truth="Today's message names the cause and the flag. It also appears in the simplest loops.",
        untestable="no program decides how cryptic a message is, or how often it appears",
    ),
    Claim(
        key="controls-example-1-second-call",
        article="controls",
        section=ONE,
        says="The mean of x * 2 cannot be walked twice without retaining.",
        truth="That is true in PyTorch, but only because x * 2 saves the number 2, which is freed. A framework may "
        "keep it elsewhere. Written as x + x, the same mean can be walked again.",
        rules=(slugs.LIFETIME_SAME_ROOT_RAISES, slugs.LIFETIME_NOTHING_SAVED),
        right=(
            quoted(f"{LOSS}; backward z; backward z", HasGrad(4, "x", (1.0, 1.0)), Raises(5, FREED),
                    note="the article's example, with the call that it leaves in a comment"),
        ),
        situation="nothing_saved",
    ),
    Claim(
        key="controls-example-1-late-retain",
        article="controls",
        section=ONE,
        says="Passing retain_graph=True to the second call avoids the error.",
        truth="The flag comes too late: the first call has freed the graph. Retain in every call but the last.",
        condition="the first call retained, too (then the second call need not retain), or the graph saved nothing",
        rules=(slugs.LIFETIME_LATE_RETAIN_RAISES, slugs.LIFETIME_RETAINED_WORKS, slugs.LIFETIME_NOTHING_SAVED),
        right=(
            case(f"{LOSS}; backward z retain=True; backward z retain=True", Returns(5), HasGrad(5, "x", (2.0, 2.0)),
                 note="the flag in the first call, too"),
            case("x = leaf 3; y = add x x; backward y; backward y retain=True", Returns(4),
                 note="nothing was saved; no flag was needed"),
        ),
        wrong=(
            quoted(f"{LOSS}; backward z; backward z retain=True", Returns(5)),
            case("x = leaf 3; y = square x; backward y; backward y retain=True", Returns(4), HasGrad(4, "x", (12.0,))),
        ),
        situation="late_retains",
    ),
    Claim(
        key="controls-example-1-text-against-code",
        article="controls",
        section=ONE,
        says="According to the text below it, the code shows how to retain in the first call.",
        truth="Text and code contradict each other: the code passes the flag to the second call, which raises. The "
        "text is right.",
        condition="the flag is moved from the second call to the first",
        rules=(slugs.LIFETIME_LATE_RETAIN_RAISES, slugs.LIFETIME_RETAINED_WORKS),
        right=(
            case(f"{LOSS}; backward z retain=True; backward z", Returns(5), HasGrad(5, "x", (2.0, 2.0)),
                 note="what the text describes"),
        ),
        wrong=(quoted(f"{LOSS}; backward z; backward z retain=True", Returns(5), HasGrad(5, "x", (2.0, 2.0)),
                       note="what the code does"),),
        situation="late_retains",
    ),
    Claim(
        key="controls-example-1-rebuild-last",
        article="controls",
        section=ONE,
        says="Computing the last op again recreates the graph, so that it can be walked again.",
        truth="Only the ops that you compute again are new. Begin with the first op whose saved values are gone, here "
        "y = x * 2. The easiest way is to run the whole forward pass again.",
        condition="all ops before the new one that saved values are computed again, too",
        rules=(slugs.LIFETIME_FREED_SUBGRAPH_RAISES, slugs.LIFETIME_REBUILT),
        right=(
            case(f"{LOSS}; backward z; y2 = multiply_scalar x scalar=2.0; z2 = mean y2 {MEAN}; backward z2",
                 Returns(7), HasGrad(7, "x", (2.0, 2.0)), note="y is computed again, too"),
        ),
        wrong=(
            quoted(EXAMPLE_1, Returns(7), HasGrad(7, "x", (2.0, 2.0)),
                    note="the article's example; Python would not reach its last line, because line 5 already raises"),
            case(f"{LOSS}; backward z; z2 = mean y {MEAN}; backward z2", Returns(6), HasGrad(6, "x", (2.0, 2.0)),
                 note="without the call that raises before it"),
        ),
        situation="rebuilt_last_op",
    ),
    Claim(
        key="controls-example-1-accumulates",
        article="controls",
        section=ONE,
        says="With the retain_graph=True of the second call, the gradients of both calls add up.",
        truth="In the example the second call raises, and x.grad stays as the first one left it. Gradients of calls "
        "that return add up until you clear them, retained or not.",
        condition="the first call retained, so that the second returns",
        rules=(slugs.ACCUMULATION_ADDS,),
        right=(
            case("x = leaf 3; y = square x; backward y retain=True; backward y", HasGrad(3, "x", (6.0,)),
                 HasGrad(4, "x", (12.0,))),
            case("x = leaf 3; y = square x; backward y; z = square x; backward z", HasGrad(5, "x", (12.0,)),
                 note="they add up without retaining too"),
        ),
        wrong=(
            quoted(f"{LOSS}; backward z; backward z retain=True", HasGrad(5, "x", (2.0, 2.0))),
        ),
        situation="accumulations",
    ),
    Claim(
        key="controls-example-2-two-losses",
        article="controls",
        section=TWO,
        says="Two losses over one value can be walked one after the other if the first call retains.",
        truth="Yes. The second call need not retain: that only keeps memory that is never used again.",
        rules=(slugs.LIFETIME_RETAINED_WORKS, slugs.ACCUMULATION_ADDS),
        right=(
            quoted(f"{LOSS}; backward z retain=True; l = sum y {MEAN}; backward l retain=True",
                    HasGrad(4, "x", (1.0, 1.0)), HasGrad(6, "x", (3.0, 3.0))),
            case(f"{LOSS}; backward z retain=True; l = sum y {MEAN}; backward l", HasGrad(6, "x", (3.0, 3.0)),
                 note="the last call need not retain"),
        ),
        situation="retained",
    ),
    Claim(
        key="controls-example-2-zeroing",
        article="controls",
        section=TWO,
        says="Zeroing the gradient afterwards keeps it out of the next, unrelated computation.",
        truth="Yes, if the next computation shares leaves with this one.",
        rules=(slugs.ACCUMULATION_ZERO_TO_ZEROS, slugs.ACCUMULATION_ADDS),
        right=(
            quoted(EXAMPLE_2, HasGrad(6, "x", (3.0, 3.0)), HasGrad(7, "x", (0.0, 0.0))),
            case("x = leaf 3; y = square x; backward y; zero x to zeros; z = square x; backward z",
                 HasGrad(4, "x", (0.0,)), HasGrad(6, "x", (6.0,))),
        ),
        situation="cleared_to_zeros",
    ),
    Claim(
        key="controls-example-3-second-order",
        article="controls",
        section=THREE,
        says="After a backward that retained, calling backward on the gradient gives second derivatives.",
        truth="Retaining is not enough: the gradient itself must have been recorded, which needs create_graph=True. "
        "Without it, the call raises, because the gradient does not require grad.",
        condition="the first call passed create_graph=True, and x has one element",
        rules=(slugs.HIGHER_PLAIN_RAISES, slugs.HIGHER_DIFFERENTIABLE),
        right=(
            case("x = leaf 3; y = square x; backward y create=True; g = held x; assign x none; backward g",
                 HasGrad(6, "x", (2.0,))),
        ),
        wrong=(
            case("x = leaf 3; y = square x; backward y retain=True; g = held x; backward g retain=True", Returns(5)),
            quoted(f"{SECOND_ORDER}; backward z retain=True; g = held x; backward g retain=True", Returns(6)),
        ),
        situation="backward_on_gradients",
    ),
    Claim(
        key="controls-example-3-vector",
        article="controls",
        section=THREE,
        says="A plain backward call walks x.grad, which has ten elements.",
        truth="With any create_graph and retain_graph, a value of several elements needs a cotangent: 'grad can be "
        "implicitly created only for scalar outputs'. Pass one with g.backward(v), or walk g.sum().",
        condition="the call is given a cotangent, and the first call passed create_graph=True",
        rules=(slugs.ERRORS_NON_SCALAR_ROOT, slugs.GRADIENTS_COTANGENT, slugs.HIGHER_DIFFERENTIABLE),
        right=(
            case(f"{SECOND_ORDER}; backward z create=True; g = held x; assign x none; backward g with [1, 1]",
                 HasGrad(7, "x", (1.0, 1.0)), note="with a cotangent"),
        ),
        wrong=(
            quoted(f"{SECOND_ORDER}; backward z retain=True; g = held x; backward g retain=True", Returns(6)),
            case(f"{SECOND_ORDER}; backward z create=True; g = held x; backward g", Returns(6),
                 note="create_graph=True alone is not enough"),
            case(f"{SECOND_ORDER}; backward z retain=True; g = held x; backward g with [1, 1]", Returns(6),
                 note="nor is the cotangent alone"),
        ),
        situation="backward_on_gradients",
    ),
    Claim(
        key="controls-example-3-printed",
        article="controls",
        section=THREE,
        says="After that second call, x.grad is the second derivative.",
        truth="Even with create_graph=True, the second derivative is added to the first derivative, which x.grad still "
        "holds: 6 + 2 = 8 here. Clear x.grad in between, or use torch.autograd.grad, which does not accumulate.",
        condition="the first call passed create_graph=True, x has one element, and its first gradient was set to None "
        "before the second call",
        rules=(slugs.HIGHER_DIFFERENTIABLE, slugs.ACCUMULATION_ADDS),
        right=(
            case("x = leaf 3; y = square x; backward y create=True; g = held x; assign x none; backward g",
                 HasGrad(6, "x", (2.0,))),
        ),
        wrong=(
            case("x = leaf 3; y = square x; backward y create=True; g = held x; backward g", HasGrad(5, "x", (2.0,))),
            quoted(f"{SECOND_ORDER}; backward z retain=True; g = held x; backward g retain=True",
                    HasGrad(6, "x", (1.0, 1.0))),
        ),
        situation="backward_on_gradients",
    ),
)  # fmt: skip
