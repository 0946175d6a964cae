"""The article "Why does calling .backward() on two different networks trigger an error?", although it mostly does
not.
"""

from __future__ import annotations

from autograd_conformance.claims.articles.cases import FREED, case, quoted
from autograd_conformance.claims.articles.claim import Article, Claim, HasGrad, Raises, Returns, Saved
from autograd_conformance.programs import slugs

EXPLANATION = "Explanation"
ONE = "Example 1: Error Scenario"
TWO = "Example 2: Correct Usage with `retain_graph=True`"
THREE = "Example 3: Optimized Approach with Separate Graphs and Detachment"

ALL = "dim=(0, 1) keepdim=False"
FIRST = f"""
    i = leaf [[1, 2]] const
    w = leaf [[1, 0], [0, 1]]
    b = leaf [0, 0]
    o = linear_bias i w b
    l = mean o {ALL}
"""
SECOND = f"""
    j = leaf [[3]] const
    v = leaf [[1], [2]]
    c = leaf [0, 0]
    p = linear_bias j v c
    m = mean p {ALL}
"""

EXAMPLE_1 = f"{FIRST}; backward l; {SECOND}; backward m"
EXAMPLE_2 = f"{FIRST}; backward l retain=True; {SECOND}; backward m"
EXAMPLE_3 = f"{FIRST}; backward l; {SECOND.replace('p = linear_bias j', 'd = detach j; p = linear_bias d')}; backward m"

SMALL = "i = leaf [[2]] const; w = leaf [[1]]; o = linear i w; backward o"
"""Program of four lines: one network with one weight, and a backward call from its output."""

ARTICLE = Article(
    "two-networks",
    "Why does calling .backward() on two different networks trigger a `retain_graph=True` error?",
    "001_00c30a1f6ea32b68.txt",
    ("Introduction", EXPLANATION, ONE, TWO, THREE, "Resource Recommendations"),
    {ONE: (EXAMPLE_1,), TWO: (EXAMPLE_2, EXAMPLE_1), THREE: (EXAMPLE_3, EXAMPLE_1)},
)

CLAIMS = (
    Claim(
        key="two-networks-other-network-raises",
        article="two-networks",
        section="Introduction",
        says="After the backward call of one network, the backward call of another network raises, unless the first "
        "call retained.",
        truth="Every forward pass makes its own graph, and backward frees only what the nodes that it walks saved. The "
        "second network fails only if its loss depends on the first network's graph, because its input is the first "
        "network's output.",
        condition="the second loss was computed from a value inside the first network's freed graph",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case(f"{SMALL}; v = leaf [[3]]; p = linear o v; backward p", Raises(7, FREED), note="chained"),
        ),
        wrong=(
            quoted(EXAMPLE_1, Raises(12, FREED)),
            case(f"{SMALL}; v = leaf [[3]]; p = linear i v; backward p", Raises(7, FREED), note="independent"),
            case(f"{SMALL}; j = leaf [[5]] const; p = linear j w; backward p", Raises(7, FREED),
                 note="they share their parameters, and still nothing is freed twice"),
        ),
        situation="chained_networks",
    ),
    Claim(
        key="two-networks-update-frees",
        article="two-networks",
        section=EXPLANATION,
        says="The graph is discarded once the optimizer has used the gradients.",
        truth="backward frees it before it returns; the optimizer neither frees nor needs a graph.",
        rules=(slugs.LIFETIME_DEFAULT_FREES,),
        wrong=(
            case("w = leaf 3; y = square w; backward y; backward y", Returns(4),
                 note="there is no optimizer yet, and the graph is gone"),
            case("w = leaf 3; y = square w; backward y; step w sgd lr=0.5", Saved(3, "as many", 2)),
        ),
        situation="backward_twice",
    ),
    Claim(
        key="two-networks-retain-for-others",
        article="two-networks",
        section=EXPLANATION,
        says="Retaining in the first call lets later calls on the same network or another one work.",
        truth="True, but needed only if the later loss depends on the first graph.",
        rules=(slugs.LIFETIME_RETAINED_WORKS,),
        right=(
            quoted(EXAMPLE_2, Returns(12)),
            case("i = leaf [[2]] const; w = leaf [[1]]; o = linear i w; backward o retain=True; v = leaf [[3]]; "
                 "p = linear o v; backward p", HasGrad(7, "w", (8.0,)), HasGrad(7, "v", (2.0,)),
                 note="chained networks"),
            case("i = leaf [[2]] const; w = leaf [[1]]; o = linear i w; backward o retain=True; v = leaf [[3]]; "
                 "p = linear i v; backward p", Returns(7), note="independent: retaining does no harm"),
        ),
        situation="chained_networks",
    ),
    Claim(
        key="two-networks-many-passes-exhaust",
        article="two-networks",
        section=EXPLANATION,
        says="Retaining without need over many backward passes can exhaust the memory.",
        truth="Retained graphs add up, calls do not: walking one retained graph ten times keeps no more than walking "
        "it once.",
        condition="every pass makes and keeps its own graph",
        rules=(slugs.LIFETIME_RETAINED_WORKS,),
        right=(
            case("x = leaf 3; y = square x; backward y retain=True; z = square x; backward z retain=True",
                 Saved(5, "more", 3)),
        ),
        wrong=(
            case("x = leaf 3; y = square x; backward y retain=True; backward y retain=True", Saved(4, "more", 3)),
        ),
        situation="retained",
    ),
    Claim(
        key="two-networks-design-choice",
        article="two-networks",
        section="Introduction",
        says="Freeing the graph is not a bug but a design choice that saves memory.",
        truth="PyTorch's documentation says so, too.",
        untestable="no program decides why something was designed as it is",
    ),
    Claim(
        key="two-networks-message-names-graph",
        article="two-networks",
        section=EXPLANATION,
        says="The error message says directly that the graph for the second network's gradients is missing.",
        truth="Two networks as in the examples raise no error. If there is an error, its message mentions a graph "
        "walked a second time: look for the value that connects the second loss to the first graph.",
        rules=(slugs.LIFETIME_INDEPENDENT,),
        wrong=(
            quoted(EXAMPLE_1, Raises(12)),
            case(f"{SMALL}; v = leaf [[3]]; p = linear i v; backward p", Raises(7)),
        ),
        situation="two_networks",
    ),
    Claim(
        key="two-networks-example-1-raises",
        article="two-networks",
        section=ONE,
        says="If two unconnected linear networks are walked one after the other, the second call raises.",
        truth="It returns, with the right gradients. The two graphs have nothing in common.",
        condition="the second network's input is the first one's output, not detached",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case(f"{SMALL}; v = leaf [[3]]; p = linear o v; backward p", Raises(7, FREED), note="connected"),
        ),
        wrong=(
            quoted(EXAMPLE_1, Raises(12, FREED)),
            case("i = leaf 2; o = square i; backward o; j = leaf 3; p = square j; backward p", Raises(6, FREED)),
        ),
        situation="two_networks",
    ),
    Claim(
        key="two-networks-example-2-returns",
        article="two-networks",
        section=TWO,
        says="With retain_graph=True in the first call, the second network's backward works.",
        truth="It works, as it would without the flag.",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_RETAINED_WORKS),
        right=(quoted(EXAMPLE_2, Returns(12), HasGrad(12, "c", (0.5, 0.5))),),
        situation="two_networks",
    ),
    Claim(
        key="two-networks-example-2-reason",
        article="two-networks",
        section=TWO,
        says="It works because the first network's graph still exists.",
        truth="It also works without the first graph: the second call does not use it.",
        condition="the second network's input is the first one's output",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case(f"{SMALL}; v = leaf [[3]]; p = linear o v; backward p", Raises(7, FREED),
                 note="connected, and the first graph is gone"),
        ),
        wrong=(
            quoted(EXAMPLE_1, Raises(12, FREED), note="the article's example without the flag"),
            case(f"{SMALL}; v = leaf [[3]]; p = linear i v; backward p", Raises(7, FREED),
                 note="the first graph is gone, as the count of saved tensors shows"),
        ),
        situation="two_networks",
    ),
    Claim(
        key="two-networks-example-2-overhead",
        article="two-networks",
        section=TWO,
        says="Keeping the first graph costs memory.",
        truth="Yes: the first network's saved tensors stay alive beside the second network's, without any use.",
        rules=(slugs.LIFETIME_RETAINED_WORKS,),
        right=(
            case("i = leaf [[2]] const; w = leaf [[1]]; o = linear i w; backward o retain=True",
                 Saved(4, "as many", 3)),
            case(SMALL, Saved(4, "none")),
            quoted(EXAMPLE_2, Saved(6, "as many", 5), Saved(11, "more", 6)),
        ),
        situation="two_networks",
    ),
    Claim(
        key="two-networks-example-3-returns",
        article="two-networks",
        section=THREE,
        says="Detaching the second network's input lets its backward call return.",
        truth="It returns. If the first network computed the input, the detach is indeed the reason.",
        rules=(slugs.DETACH_BLOCKS, slugs.LIFETIME_INDEPENDENT),
        right=(
            quoted(EXAMPLE_3, Returns(13), HasGrad(13, "c", (0.5, 0.5))),
            case(f"{SMALL}; d = detach o; v = leaf [[3]]; p = linear d v; backward p", Returns(8),
                 HasGrad(8, "v", (2.0,)),
                 note="chained, and detached"),
        ),
        situation="chained_networks",
    ),
    Claim(
        key="two-networks-example-3-crucial",
        article="two-networks",
        section=THREE,
        says="The detach of the (newly made) input gives the second network its own graph.",
        truth="A new input has no history, so nothing changes without the detach. It matters only for a value that "
        "another network computed.",
        condition="the input was computed by the first network",
        rules=(slugs.LIFETIME_INDEPENDENT, slugs.LIFETIME_FREED_SUBGRAPH_RAISES),
        right=(
            case(f"{SMALL}; v = leaf [[3]]; p = linear o v; backward p", Raises(7, FREED), note="chained, not "
            "detached"),
        ),
        wrong=(
            quoted(EXAMPLE_1, Raises(12, FREED), note="the article's example without the detach"),
            case(f"{SMALL}; v = leaf [[3]]; p = linear i v; backward p", Raises(7, FREED), note="not detached, either"),
        ),
        situation="chained_networks",
    ),
    Claim(
        key="two-networks-example-3-correct",
        article="two-networks",
        section=THREE,
        says="Detaching saves memory, and the result stays correct.",
        truth="The first network no longer learns from the second loss. That is right for separate networks, and wrong "
        "for a chain that should be trained as a whole. No error reports it.",
        condition="the second loss is not meant to reach the first network",
        rules=(slugs.DETACH_BLOCKS,),
        right=(
            quoted(EXAMPLE_3, HasGrad(13, "w", (0.5, 1.0, 0.5, 1.0)), HasGrad(13, "v", (1.5, 1.5))),
            case(f"{SMALL}; j = leaf [[5]] const; d = detach j; v = leaf [[3]]; p = linear d v; backward p",
                 HasGrad(9, "w", (2.0,)), HasGrad(9, "v", (5.0,)),
                 note="separate networks: both gradients are complete"),
        ),
        wrong=(
            case("i = leaf [[2]] const; w = leaf [[1]]; o = linear i w; backward o; d = detach o; v = leaf [[3]]; "
                 "p = linear d v; backward p", HasGrad(8, "w", (8.0,)),
                 note="a chain: 2 from the first loss, but the 6 from the second are missing"),
        ),
        situation="chained_networks",
    ),
)  # fmt: skip
