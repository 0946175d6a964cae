"""`python -m evaluation.pages.capabilities`: writes docs/capabilities.md, with the meaning of each claim, the adapter's
methods for it, and the number of rules that require it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_conformance.frameworks.loading.requirements import KEYWORDS_OF, METHODS_OF
from autograd_conformance.programs.capabilities import Capability as C
from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.catalogue import RULES

PAGE = Path(__file__).parents[2] / "docs" / "capabilities.md"

GROUPS: dict[str, dict[C, str]] = {
    "Calling backward": {
        C.IMPERATIVE: "`root.backward()` or a similar call leaves a gradient in each leaf on which the root depends.",
        C.ACCUMULATES: "A call adds to a leaf's gradient; without this claim, it has to replace the gradient.",
        C.MULTIPLE_ROOTS: "One call takes several roots, and traverses shared parts of their graphs once. A root may "
        "be listed twice, and then counts twice; a framework that refuses that, or whose interface cannot express it, "
        "states the trait `distinct_roots`.",
        C.COTANGENTS: "A call accepts the gradient of the root (PyTorch's argument `gradient`).",
        C.INPUTS: "A call accepts the tensors to accumulate into, and changes no others.",
        C.RETAIN: "A call has an option to keep the graph, so that another call can go through it.",
        C.FREES: "A call that does not keep the graph frees it, and a later one that needs it raises an error.",
        C.FUNCTIONAL: "There is a call that returns gradients and accumulates nothing (`torch.autograd.grad`).",
        C.UNUSED: "Such a call has an option for unused inputs, None or an error; else they get zeros.",
        C.MATERIALIZES: "Such a call gives zeros for unused inputs, by an option or always.",
        C.ANY_INPUTS: "Inputs of such a call may be any values, even listed twice; else they are distinct leaves.",
        C.CREATE_GRAPH: "A call has an option to record itself, so that its gradients can be differentiated.",
        C.CREATES_IN_LEAVES: "Backward calls have this option, too, and not only the functional form.",
    },
    "Refusing calls": {
        C.NON_SCALAR_CHECK: "A root of several elements requires an explicit cotangent; without one, the call raises.",
        C.COTANGENT_CHECK: "A cotangent of a shape other than the root's is refused.",
        C.NO_GRAD_CHECK: "A root, or an input, that does not require grad is refused.",
        C.KNOWS_ERRORS: 'Claimed by `insists = ("errors",)`: unclassified errors do not count as refusals.',
    },
    "Leaves and their gradients": {
        C.CONSTANTS: "A leaf can be made that does not require grad.",
        C.REQUIRES_GRAD: "A tensor has a flag that says whether it requires grad.",
        C.SWITCHES: "`requires_grad` of a leaf can be changed later.",
        C.IDENTITY: "Gradient objects can be compared by identity, which shows two leaves with one gradient object.",
        C.ZERO_TO_NONE: "A gradient can be cleared to None.",
        C.ZERO_TO_ZEROS: "A gradient can be cleared to zeros.",
        C.ASSIGNS: "A leaf's gradient can be read as a value, and replaced.",
        C.ADDS_IN_PLACE: "A second call adds to the existing gradient object instead of making another one.",
        C.RETAINS_GRAD: "Values that are no leaves can retain their gradients.",
    },
    "Modes and detaching": {
        C.MODES: "There are blocks in which nothing is recorded, and inner blocks that record again.",
        C.AUTOCAST: "There are blocks in which listed ops cast their operands, and inner blocks in which none does.",
        C.DEFAULT_DTYPE: "The default dtype of new tensors can be set.",
        C.DETACH: "A tensor can be detached from its history.",
        C.DETACHES_IN_PLACE: "A tensor can be detached in place: the same object has no history any more.",
    },
    "Memory": {
        C.WRITES: "There are recorded operations that write into a tensor in place.",
        C.WRITE_CHECKS: "A write that would break a graph is refused, such as one into a leaf that requires grad.",
        C.VIEWS: "Some ops return views: tensors over the memory of their operand.",
        C.MEMORY: "It can be queried whether two tensors share memory.",
        C.LAYOUT: "A tensor's strides can be queried.",
        C.PROMOTES: "Elementwise and joining ops take operands of several dtypes; the widest is the result's.",
        C.COUNTS_SAVED: "The number of saved tensors that are alive can be queried.",
    },
    "Hooks": {
        C.HOOKS: "A function can be registered that receives the gradient of a tensor and may replace it.",
        C.ACCUMULATED_HOOKS: "A function can be registered that is called after a leaf's gradient was accumulated.",
    },
    "Training": {
        C.OPTIMIZERS: "There are optimizers that update leaves by their gradients.",
        C.MAKES_OPTIMIZERS: "An optimizer is made before its first step, and clears the gradients of its leaves.",
        C.GROUPS: "An optimizer accepts groups of leaves with separate settings.",
        C.FOREACH: "An optimizer has an option to update all leaves at once or one after the other.",
        C.FUSED: "An optimizer has an option to use its fused implementation.",
        C.CLIPS: "Gradients can be clipped, by their norm or by value.",
        C.MODULES: "There are layers with parameters: linear, convolutional, recurrent, attention.",
        C.RANDOM: "There are random ops, such as dropout, with a generator that can be seeded.",
    },
}
"""The meaning of each claim, by subject."""


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    template = environment().get_template("capabilities.md.j2")
    free = sum(not rule.needs for rule in RULES.values())
    return template.render(groups=GROUPS.items(), methods=methods, rules=rules, free=free).rstrip() + "\n"


def methods(claim: C) -> str:
    """The methods and keywords that a claim requires of an adapter, besides the twelve methods of every adapter."""
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
    """Number of rules that require a claim."""
    return sum(claim in rule.needs for rule in RULES.values())


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
