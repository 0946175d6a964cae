"""`python -m evaluation.pages.capabilities`: write docs/capabilities.md from the tables of what a
framework may claim, what an adapter then has, and which rules ask for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_conformance.frameworks.requirements import KEYWORDS_OF, METHODS_OF
from autograd_conformance.programs.capabilities import Capability as C
from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.catalogue import RULES

PAGE = Path(__file__).parents[2] / "docs" / "capabilities.md"

GROUPS: dict[str, dict[C, str]] = {
    "Calling backward": {
        C.IMPERATIVE: "`root.backward()` or its like leaves a gradient in each leaf that the root depends on.",
        C.ACCUMULATES: "A call adds to the gradient that a leaf holds; without this claim it has to replace it.",
        C.MULTIPLE_ROOTS: "One call takes several roots and traverses what they share once.",
        C.COTANGENTS: "A call can be given the gradient of the root (PyTorch's argument `gradient`).",
        C.INPUTS: "A call can be told into which tensors it accumulates; it changes no others.",
        C.RETAIN: "A call can be told to keep the graph, so that another one can go through it.",
        C.FREES: "A call that does not keep the graph frees it, and a later one that needs it raises an error.",
        C.FUNCTIONAL: "There is a call that returns gradients and accumulates nothing (`torch.autograd.grad`).",
        C.UNUSED: "Such a call can be told what unused inputs give, none or an error; else it is zeros.",
        C.MATERIALIZES: "Such a call gives zeros for unused inputs: where it is told to, or always.",
        C.ANY_INPUTS: "Inputs of such a call may be any values, and listed twice; else they are leaves, each once.",
        C.CREATE_GRAPH: "A call can be told to record itself: gradients have a history and can be differentiated.",
        C.CREATES_IN_LEAVES: "A backward call can be told so, too, and not the functional form alone.",
    },
    "Refusing calls": {
        C.NON_SCALAR_CHECK: "A root of several elements needs an explicit cotangent; without one the call raises.",
        C.COTANGENT_CHECK: "A cotangent of a shape other than the root's is refused.",
        C.NO_GRAD_CHECK: "A root, or an input, that requires no grad is refused.",
        C.KNOWS_ERRORS: 'Claimed by `insists = ("errors",)`: an error that it does not know refuses nothing.',
    },
    "Leaves and the gradients that they hold": {
        C.CONSTANTS: "A leaf can be made that requires no grad.",
        C.REQUIRES_GRAD: "A tensor says whether it requires grad.",
        C.SWITCHES: "`requires_grad` can be switched on and off after a leaf was made.",
        C.IDENTITY: "Gradient objects can be told apart, so that two leaves with one object are seen.",
        C.ZERO_TO_NONE: "A gradient can be cleared to none.",
        C.ZERO_TO_ZEROS: "A gradient can be cleared to zeros.",
        C.ASSIGNS: "The gradient that a leaf holds can be read as a value and replaced.",
        C.ADDS_IN_PLACE: "A second call adds to the gradient object that is there instead of making another.",
        C.RETAINS_GRAD: "Values that are no leaves can be told to hold their gradient, too.",
    },
    "Modes and detaching": {
        C.MODES: "There are blocks in which nothing is recorded, and blocks within them in which it is again.",
        C.DEFAULT_DTYPE: "The dtype of tensors that are given none can be set.",
        C.DETACH: "A tensor can be cut off from its history.",
    },
    "Memory": {
        C.WRITES: "There are operations that write into a tensor in place, and that are recorded.",
        C.WRITE_CHECKS: "A write that would break a graph is refused, such as one into a leaf that requires grad.",
        C.VIEWS: "Some ops return views: tensors over the memory of their operand.",
        C.MEMORY: "It can be told whether two tensors share memory.",
        C.LAYOUT: "A tensor tells its strides.",
        C.PROMOTES: "Elementwise and joining ops take operands of several dtypes; the widest is the result's.",
        C.COUNTS_SAVED: "It can be told how many saved tensors are alive.",
    },
    "Hooks": {
        C.HOOKS: "A function can be registered that is called with the gradient of a tensor and may replace it.",
        C.ACCUMULATED_HOOKS: "A function can be registered that is called after a leaf has accumulated.",
    },
    "Training": {
        C.OPTIMIZERS: "There are optimizers that move leaves by the gradients that they hold.",
        C.MAKES_OPTIMIZERS: "An optimizer is made before its first step, and clears the gradients of its leaves.",
        C.GROUPS: "An optimizer takes groups of leaves with settings of their own.",
        C.FOREACH: "An optimizer can be told to update all leaves at once, or one after the other.",
        C.FUSED: "An optimizer can be told to use its fused implementation.",
        C.CLIPS: "Gradients can be clipped, by their norm or by value.",
        C.MODULES: "There are layers that own parameters: linear, convolutional, recurrent, attention.",
        C.RANDOM: "There are ops that draw, such as dropout, from a generator that can be seeded.",
    },
}
"""What each claim means, by subject."""


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    template = environment().get_template("capabilities.md.j2")
    free = sum(not rule.needs for rule in RULES.values())
    return template.render(groups=GROUPS.items(), methods=methods, rules=rules, free=free).rstrip() + "\n"


def methods(claim: C) -> str:
    """The methods and keywords that an adapter with a claim has besides the twelve of every adapter."""
    found = [
        f"`{method}`" + "".join(f" (with `{other.name}`)" for other in claims if other is not claim)
        for claims, names in METHODS_OF.items()
        if claim in claims
        for method in names
    ]
    if claim in KEYWORDS_OF:
        method, keyword = KEYWORDS_OF[claim]
        found.append(f"`{method}` takes `{keyword}`")
    return ", ".join(found)


def rules(claim: C) -> int:
    """How many rules need a claim."""
    return sum(claim in rule.needs for rule in RULES.values())


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
