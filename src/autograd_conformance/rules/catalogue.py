"""The rule catalogue: every rule, with its sentence, its level, the capabilities that it needs, and its sources.

The suites refer to rules by slug. The tape model names the rule that allows each outcome, and reports print the
sentence. `ARTICLES` are documents from which rules were written. They are not authoritative: where an article and
PyTorch's documented semantics differ, the rule follows the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.rules.situations import (
    ADDING,
    CALLS,
    CHANGES,
    COMBINING,
    JOINED,
    SAVING,
    SEVERAL_ELEMENTS,
    SEVERAL_RESULTS,
    STATE,
    TWO_OPERANDS,
    VIEWING,
    WRITING,
    Need,
    claimed,
    either,
)
from autograd_conformance.rules.sources import (
    ACCUMULATED,
    ARTICLES,
    AUTOGRAD_BACKWARD,
    BACKWARD,
    BUFFERS,
    CHAIN_RULE,
    CLIP_NORM,
    CLIP_VALUE,
    CONTROLS,
    DETACH,
    DETACH_IN_PLACE,
    GRAD,
    GRUS,
    HOOKS,
    HOOKS_EXECUTION,
    IN_PLACE,
    LAYOUTS,
    MECHANICS,
    NN,
    NO_GRAD,
    OPTIM,
    PACK,
    RANDOMNESS,
    RETAIN,
    SECOND_TIME,
    TWO_NETWORKS,
    VIEWS,
    ZERO_GRAD,
    Source,
)


class Level(Enum):
    """The strength of a rule, as in RFC 2119. An INFO rule is reported but never judged."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    INFO = "INFO"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Its slug never changes; the part before the slash names the family."""

    slug: str
    level: Level
    sentence: str
    sources: tuple[Source, ...]
    needs: frozenset[Capability] = frozenset()
    situation: tuple[Need, ...] = (CALLS,)
    """Further features without which the rule's situation cannot occur."""

    @property
    def family(self) -> str:
        """The family of the rule, which is also the name of its suite."""
        return self.slug.partition("/")[0]


def _must(
    slug: str, sentence: str, *sources: Source, needs: tuple[Capability, ...] = (), of: tuple[Need, ...] = ()
) -> Rule:
    return Rule(slug, Level.MUST, sentence, sources, frozenset(needs), (CALLS, *of))


def _should(
    slug: str, sentence: str, *sources: Source, needs: tuple[Capability, ...] = (), of: tuple[Need, ...] = ()
) -> Rule:
    return Rule(slug, Level.SHOULD, sentence, sources, frozenset(needs), (CALLS, *of))


def _info(
    slug: str, sentence: str, *sources: Source, needs: tuple[Capability, ...] = (), of: tuple[Need, ...] = ()
) -> Rule:
    return Rule(slug, Level.INFO, sentence, sources, frozenset(needs), (CALLS, *of))


_RULES = (
    # gradients: the numbers
    _must("gradients/forward", "An op's result MUST equal its definition within the rounding of its dtype. This dtype MUST be that of its operands, or the widest if they have several.", CHAIN_RULE),
    _must("gradients/op", "The gradient of a single op MUST be its vector-Jacobian product.", CHAIN_RULE, MECHANICS),
    _must("gradients/graph", "A backward call MUST give every leaf that the root depends on the gradient of the computation as it was recorded.", BACKWARD, SECOND_TIME),
    _must("gradients/fan-out", "A value that is used several times MUST receive the sum of the contributions of all its uses.", MECHANICS, of=(JOINED,)),
    _must("gradients/same-argument", "An op that takes the same value twice MUST contribute to that value's gradient once for each operand position.", MECHANICS, of=(TWO_OPERANDS,)),
    _must("gradients/several-results", "Every result of an op with several results MUST carry its cotangent back to the operands.", MECHANICS, of=(SEVERAL_RESULTS,)),
    _must("gradients/several-roots", "One backward call over several roots MUST give the sum of their gradients; a root listed twice counts twice.", AUTOGRAD_BACKWARD, needs=(Capability.MULTIPLE_ROOTS,)),
    _must("gradients/cotangent", "A given cotangent MUST weight the root's elements: the result is the vector-Jacobian product with that cotangent.", BACKWARD, needs=(Capability.COTANGENTS,)),
    _must("gradients/cotangent-kept", "A backward call MUST NOT change the cotangents that the caller passes to it.", BACKWARD, CHAIN_RULE, needs=(Capability.COTANGENTS,)),
    _must("gradients/equal-leaves", "Two leaves of equal values MUST each receive their own gradient.", MECHANICS, of=(JOINED,)),
    _must("gradients/form", "A gradient MUST have the shape and the dtype of its value, in a leaf or anywhere else.", LAYOUTS),
    _must("gradients/requires-grad", "A result MUST require grad if and only if some operand does.", MECHANICS, needs=(Capability.REQUIRES_GRAD,)),
    # accumulation: the gradients that leaves hold
    _must("accumulation/first", "The first backward call that reaches a leaf without a gradient MUST leave exactly its contribution there.", BACKWARD, needs=(Capability.IMPERATIVE,)),
    _must("accumulation/adds", "A backward call MUST add to the gradient that a leaf holds, never replace it.", BACKWARD, CONTROLS, SECOND_TIME, needs=(Capability.ACCUMULATES,)),
    _must("accumulation/unreached", "A leaf that the root does not depend on MUST keep its gradient, or hold none if it held none.", BACKWARD, MECHANICS, needs=(Capability.IMPERATIVE,)),
    _must("accumulation/constant", "A leaf that does not require grad MUST NOT receive a gradient.", MECHANICS, needs=(Capability.CONSTANTS,), of=(TWO_OPERANDS,)),
    _must("accumulation/zero-to-none", "After its gradient is cleared to None, a leaf MUST hold no gradient.", ZERO_GRAD, SECOND_TIME, needs=(Capability.ZERO_TO_NONE,)),
    _must("accumulation/zero-to-zeros", "After its gradient is cleared to zeros, a leaf MUST hold zeros, or no gradient if it held none.", ZERO_GRAD, CONTROLS, needs=(Capability.ZERO_TO_ZEROS,)),
    _must("accumulation/assigned", "A leaf MUST hold the gradient that was assigned to it, and later calls MUST add to that gradient.", LAYOUTS, BUFFERS, needs=(Capability.ASSIGNS,)),
    _must("accumulation/own-object", "The gradients of two leaves MUST NOT share memory.", LAYOUTS, needs=(Capability.IDENTITY,), of=(JOINED,)),
    _must("accumulation/assigned-form", "A gradient of another shape than the leaf's MUST NOT be assignable.", LAYOUTS, needs=(Capability.ASSIGNS,)),
    _should("accumulation/in-place", "A backward call without create_graph SHOULD add in place to the gradient that a leaf holds, so that references to it see the sum.", LAYOUTS, needs=(Capability.ACCUMULATES, Capability.IDENTITY, Capability.ADDS_IN_PLACE)),
    _should("accumulation/replaces", "A backward call with create_graph SHOULD give the leaf a new gradient object and leave the old one as it was.", LAYOUTS, needs=(Capability.IDENTITY, Capability.CREATES_IN_LEAVES)),
    _should("accumulation/layout", "A leaf's first gradient SHOULD have the leaf's strides where its elements are dense, and row-major ones otherwise.", LAYOUTS, needs=(Capability.LAYOUT, Capability.IMPERATIVE)),
    # lifetime: how long a graph can be walked
    _must("lifetime/same-root-raises", "A second backward call on a root whose saved tensors the first one freed MUST raise an error that says so.", BACKWARD, SECOND_TIME, BUFFERS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/freed-subgraph-raises", "A backward call from another root that reaches freed saved tensors MUST raise, even if that root was computed later.", BACKWARD, CONTROLS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/default-frees", "A backward call with retain_graph left out MUST free the part of the graph that it walked.", BACKWARD, CONTROLS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/late-retain-raises", "A later call with retain_graph=True MUST NOT bring back saved tensors that an earlier call freed.", BACKWARD, CONTROLS, needs=(Capability.FREES, Capability.RETAIN), of=(SAVING,)),
    _must("lifetime/last-call-frees", "A graph that was retained MUST be freed by the first call that does not retain it.", BACKWARD, GRUS, needs=(Capability.FREES, Capability.RETAIN), of=(SAVING,)),
    _must("lifetime/retained-works", "A graph that every call so far retained MUST be walkable again, with the same gradients.", BACKWARD, CONTROLS, GRUS, BUFFERS, needs=(Capability.RETAIN,), of=(SAVING,)),
    _must("lifetime/traversed-only", "A backward call MUST free only the part of the graph that it walked: the rest stays walkable.", MECHANICS, needs=(Capability.FREES,), of=(SAVING, TWO_OPERANDS)),
    _must("lifetime/independent", "Freeing one graph MUST NOT affect another that shares only leaves with it.", MECHANICS, TWO_NETWORKS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/rebuilt", "A graph that is recomputed from its leaves MUST be walkable, whatever was freed before.", MECHANICS, SECOND_TIME, needs=(Capability.FREES,), of=(SAVING,)),
    _info("lifetime/nothing-saved", "A second backward call on a graph that saved nothing may raise or may give the right gradient.", MECHANICS, CONTROLS),
    # writes: the effects of in-place ops and of optimizer steps
    _must("writes/error-or-recorded", "A backward call through values that were written to after they were recorded MUST raise an error that says so, or give the gradient of the computation as it was recorded.", IN_PLACE, GRUS, BUFFERS, of=(CHANGES, SAVING)),
    _must("writes/unsaved-works", "A write to a value that no derivative needs MUST NOT keep a graph from being walked.", IN_PLACE, BUFFERS, of=(CHANGES,)),
    _must("writes/value", "A write MUST give its target the value of the op's definition.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _must("writes/aliases", "A write MUST show in every value that shares memory with its target.", VIEWS, DETACH, needs=(Capability.WRITES, Capability.VIEWS), of=(WRITING, either(VIEWING, claimed(Capability.DETACH)))),
    _must("writes/nothing-else", "A write MUST NOT change any value that shares no memory with its target.", VIEWS, needs=(Capability.WRITES,), of=(WRITING,)),
    _must("writes/recorded", "The gradient of a recorded write MUST flow to the operands that were written and, through the write, to the target's earlier value.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _must("writes/requires-grad", "The target of a recorded write MUST require grad afterwards.", MECHANICS, needs=(Capability.WRITES, Capability.REQUIRES_GRAD), of=(WRITING,)),
    _must("writes/leaf-raises", "A recorded write to a leaf that requires grad, or to a view of one, MUST raise.", MECHANICS, needs=(Capability.WRITES, Capability.WRITE_CHECKS), of=(WRITING,)),
    _should("writes/refused-keeps-values", "A write that is refused SHOULD leave every value as it was.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _info("writes/overlap", "The effect of a write is unspecified if its elements overlap in memory, or if it reads its target.", VIEWS),
    # views: values that share memory
    _must("views/shares", "A view, and a detached value, MUST share memory with its source.", VIEWS, DETACH, needs=(Capability.VIEWS, Capability.MEMORY), of=(either(VIEWING, claimed(Capability.DETACH)),)),
    _must("views/own-memory", "A new leaf, the result of an op that returns no view, and a gradient that a call makes MUST NOT share memory with any value.", VIEWS, needs=(Capability.MEMORY,)),
    _must("views/history", "A write to a view MUST become part of the history of its base and of every other view of that base.", IN_PLACE, needs=(Capability.WRITES, Capability.VIEWS), of=(WRITING, VIEWING)),
    _info("views/restricted", "A view made under no_grad, or one of several made by one op, may refuse to be written to, and to be used after its base was written to.", MECHANICS),
    # modes: when ops are recorded
    _must("modes/no-grad-result", "A result computed under no_grad MUST NOT require grad.", NO_GRAD, needs=(Capability.MODES, Capability.REQUIRES_GRAD)),
    _must("modes/recorded", "Under enable_grad inside no_grad, a result MUST be recorded again.", NO_GRAD, needs=(Capability.MODES,)),
    _must("modes/restored", "After a no_grad block, left normally or by an error, results MUST be recorded as before it.", NO_GRAD, needs=(Capability.MODES,)),
    _must("modes/constant", "No gradient MUST flow through a value that was computed under no_grad.", NO_GRAD, needs=(Capability.MODES,), of=(TWO_OPERANDS,)),
    _must("modes/constant-root", "A backward call on a value that was computed under no_grad MUST raise.", NO_GRAD, needs=(Capability.MODES, Capability.NO_GRAD_CHECK)),
    _must("modes/backward-anywhere", "A backward call under no_grad MUST have the same effect as outside.", NO_GRAD, BACKWARD, needs=(Capability.MODES,)),
    _must("modes/unrecorded-write", "A write under no_grad MUST change the value and leave its history as it was.", NO_GRAD, IN_PLACE, needs=(Capability.MODES, Capability.WRITES), of=(WRITING,)),
    _must("modes/frozen-leaf", "A leaf that ceases to require grad MUST keep the gradient that it had, whatever backward call reaches it.", MECHANICS, needs=(Capability.SWITCHES,)),
    _must("modes/toggle-refused", "Switching off requires_grad of a value that is no leaf MUST raise.", MECHANICS, needs=(Capability.SWITCHES,)),
    # higher: gradients of gradients
    _must("higher/differentiable", "A gradient computed with create_graph MUST be differentiable, and its gradients MUST be right.", BACKWARD, CONTROLS, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _must("higher/plain-raises", "A gradient computed without create_graph MUST have no history: a backward call on it raises.", BACKWARD, CONTROLS, needs=(Capability.NO_GRAD_CHECK, Capability.ASSIGNS), of=(SAVING,)),
    _must("higher/op", "The second derivative of a single op MUST be that of its definition.", CHAIN_RULE, BACKWARD, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _must("higher/op-third", "The third derivative of a single op MUST be that of its definition.", CHAIN_RULE, BACKWARD, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _info("higher/unsupported", "A call that differentiates a gradient, or makes one that is differentiable, may raise an error that says that this is not implemented.", BACKWARD, needs=(Capability.CREATE_GRAPH,)),
    # functional: gradients as results
    _must("functional/value", "The functional form MUST return the gradients of the sum of its outputs, each weighted with its cotangent, with respect to every input.", GRAD, needs=(Capability.FUNCTIONAL,)),
    _must("functional/no-accumulation", "The functional form MUST NOT change the gradients that leaves hold.", GRAD, needs=(Capability.FUNCTIONAL, Capability.IMPERATIVE)),
    _must("functional/frees", "The functional form MUST free the part of the graph that it walked unless the call retains it.", GRAD, needs=(Capability.FUNCTIONAL, Capability.FREES), of=(SAVING,)),
    _must("functional/inner-input", "An input that is no leaf MUST get its gradient, too.", GRAD, needs=(Capability.FUNCTIONAL, Capability.ANY_INPUTS)),
    _must("functional/duplicates", "An input that is listed twice MUST get its whole gradient in both places.", GRAD, needs=(Capability.FUNCTIONAL, Capability.ANY_INPUTS)),
    _must("functional/unused-raises", "A call with an input that the outputs do not depend on MUST raise unless unused inputs are allowed.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED)),
    _must("functional/unused-none", "Where unused inputs are allowed, their gradient MUST be None.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED)),
    _must("functional/materialized", "Where gradients are materialised, the gradient of an unused input MUST be zeros.", GRAD, needs=(Capability.FUNCTIONAL, Capability.MATERIALIZES)),
    _must("functional/options", "A call that materialises gradients and forbids unused inputs MUST raise.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED, Capability.MATERIALIZES)),
    _must("functional/input-no-grad", "A call with an input that does not require grad MUST raise.", GRAD, AUTOGRAD_BACKWARD, needs=(Capability.NO_GRAD_CHECK,)),
    _must("functional/inputs-only", "A backward call with inputs MUST accumulate into them and into no other leaf.", AUTOGRAD_BACKWARD, needs=(Capability.INPUTS,)),
    _should("functional/no-inputs", "A backward call with an empty list of inputs SHOULD raise.", AUTOGRAD_BACKWARD, needs=(Capability.INPUTS,)),
    # hooks: functions that are called with gradients, and values that retain theirs
    _must("hooks/called", "A hook MUST be called once by each call that computes its value's gradient, with the whole gradient.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/result", "The gradient that a hook returns MUST replace the original one from there on.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/order", "The hooks of one value MUST be called in the order of their registration, each with the gradient as the previous one left it.", HOOKS_EXECUTION, needs=(Capability.HOOKS,)),
    _must("hooks/removed", "A hook that was removed MUST NOT be called.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/accumulated", "A post-accumulate hook MUST be called when the leaf holds its new gradient.", ACCUMULATED, needs=(Capability.ACCUMULATED_HOOKS,)),
    _must("hooks/refused", "Registering a hook on a value that does not require grad, or a post-accumulate hook on a value that is no leaf, MUST raise.", HOOKS, ACCUMULATED, needs=(Capability.HOOKS,)),
    _must("hooks/raise", "An exception that a hook raises MUST end the call and reach its caller.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/shape", "A hook that returns a gradient of another shape MUST make the call raise.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/retained", "A value that retains its gradient MUST hold the sum of the contributions of all calls so far, as its hooks left them.", RETAIN, HOOKS_EXECUTION, needs=(Capability.ACCUMULATES, Capability.RETAINS_GRAD)),
    _must("hooks/retain-refused", "Calling retain_grad on a value that does not require grad MUST raise.", RETAIN, needs=(Capability.RETAINS_GRAD,)),
    # detach: where history ends
    _must("detach/blocks", "No gradient MUST flow through a detached value to its source.", DETACH, TWO_NETWORKS, SECOND_TIME, needs=(Capability.DETACH,), of=(TWO_OPERANDS,)),
    _must("detach/values", "A detached value MUST have the values of its source and MUST NOT require grad.", DETACH, SECOND_TIME, needs=(Capability.DETACH, Capability.REQUIRES_GRAD)),
    _must("detach/root-raises", "A backward call on a detached value MUST raise, because the value has no history.", DETACH, GRUS, SECOND_TIME, needs=(Capability.DETACH, Capability.NO_GRAD_CHECK)),
    _must("detach/keeps-source", "Detaching a value MUST leave the graph of its source walkable.", DETACH, needs=(Capability.DETACH,)),
    _must("detach/in-place", "A value that is detached in place MUST keep its value and MUST NOT require grad any more.", DETACH_IN_PLACE, needs=(Capability.DETACH, Capability.WRITES)),
    _must("detach/view-raises", "Detaching a view in place MUST raise.", DETACH_IN_PLACE, needs=(Capability.DETACH, Capability.WRITES, Capability.VIEWS), of=(VIEWING,)),
    # errors: calls that are refused, and their effects
    _must("errors/no-grad-root", "A backward call on a root that does not require grad MUST raise.", BACKWARD, needs=(Capability.NO_GRAD_CHECK,)),
    _must("errors/non-scalar-root", "A backward call without cotangent on a root that does not have exactly one element MUST raise.", BACKWARD, AUTOGRAD_BACKWARD, needs=(Capability.NON_SCALAR_CHECK,), of=(SEVERAL_ELEMENTS,)),
    _must("errors/cotangent-shape", "A cotangent whose shape is not the root's MUST be refused.", BACKWARD, needs=(Capability.COTANGENT_CHECK, Capability.COTANGENTS)),
    _must("errors/legal-returns", "A legal call MUST return.", BACKWARD, MECHANICS),
    _should("errors/refusal-keeps-gradients", "A call that is refused for its arguments SHOULD leave every gradient as it was.", AUTOGRAD_BACKWARD, needs=(Capability.IMPERATIVE,)),
    _should("errors/refusal-keeps-graph", "A call that is refused for its arguments SHOULD leave the graph walkable.", AUTOGRAD_BACKWARD),
    _must("errors/atomic", "After a backward call that failed on a freed graph each leaf MUST hold its old gradient or the complete new one.", MECHANICS, needs=(Capability.IMPERATIVE, Capability.FREES), of=(SAVING, TWO_OPERANDS)),
    _must("errors/recovers", "After a call that failed, everything that it did not free MUST work as before.", MECHANICS, needs=(Capability.IMPERATIVE,)),
    # memory: how long saved tensors are alive
    _must("memory/freed", "A backward call that does not retain the graph MUST release the saved tensors of the part that it walks, and no others.", BACKWARD, CONTROLS, needs=(Capability.COUNTS_SAVED, Capability.FREES), of=(SAVING,)),
    _must("memory/retained", "A backward call that retains the graph MUST keep the graph's saved tensors, and save no more unless it creates a graph.", BACKWARD, CONTROLS, needs=(Capability.COUNTS_SAVED, Capability.RETAIN), of=(SAVING,)),
    _must("memory/dropped", "When the last value that leads to a graph is deleted, the graph's saved tensors MUST be released.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    _must("memory/steady", "Building, walking and clearing a graph repeatedly MUST NOT let the number of saved tensors grow.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    _must("memory/cycle", "After the gradients of a call with create_graph are cleared and its values are deleted, the saved tensors of its graph MUST be released.", BACKWARD, needs=(Capability.COUNTS_SAVED, Capability.CREATE_GRAPH), of=(SAVING,)),
    _should("memory/after-error", "The saved tensors of a graph SHOULD be released when the last value that leads to it is deleted, even if a backward call on it failed.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    # relations: two programs that must agree, whatever the right results are
    _must("relations/sum", "A backward call on a sum MUST give the same gradients as successive backward calls on its terms.", AUTOGRAD_BACKWARD, CONTROLS, needs=(Capability.ACCUMULATES, Capability.RETAIN), of=(either(ADDING, claimed(Capability.MULTIPLE_ROOTS)),)),
    _must("relations/scaling", "A cotangent that is multiplied by a number MUST give gradients that are multiplied by that number.", BACKWARD, CHAIN_RULE, needs=(Capability.COTANGENTS,)),
    _must("relations/sharing", "A value that is used several times MUST give the same gradients as if it were recomputed for each use.", MECHANICS, CHAIN_RULE, of=(COMBINING,)),
    _must("relations/order", "Independent instructions MUST give the same results in every order.", MECHANICS),
    _must("relations/repeated", "n backward calls on a retained graph MUST give n times the gradients of one call.", BACKWARD, CONTROLS, GRUS, needs=(Capability.ACCUMULATES, Capability.RETAIN)),
    _must("relations/interleaved", "A program whose instructions are interleaved with those of another MUST give the same results as it does alone.", MECHANICS, TWO_NETWORKS),
    # optimizers: steps, and the clearing and clipping of gradients
    _must("optimizers/formula", "A step MUST move each leaf by the optimizer's published formula.", OPTIM, BUFFERS, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/remembers", "A step MUST use the optimizer's state of each leaf: its averages, and the number of steps that moved it.", OPTIM, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/skips", "A step MUST skip leaves without a gradient: neither such a leaf nor its optimizer state changes.", OPTIM, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/groups", "A step MUST move each leaf by the settings of the leaf's parameter group.", OPTIM, needs=(Capability.OPTIMIZERS, Capability.GROUPS)),
    _should("optimizers/keeps-gradients", "A step SHOULD leave the gradients as they are.", OPTIM, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/clears", "Clearing gradients through an optimizer MUST clear those of all its leaves, and no others.", ZERO_GRAD, SECOND_TIME, needs=(Capability.OPTIMIZERS, Capability.MAKES_OPTIMIZERS)),
    _must("optimizers/clips", "Clipping MUST bring existing gradients within the bound, in place, and leave gradients unchanged that are within it.", CLIP_NORM, CLIP_VALUE, needs=(Capability.CLIPS,)),
    _must("optimizers/variants", "An optimizer MUST take the same steps whether it updates leaf by leaf, all leaves at once, or in a fused kernel.", OPTIM, needs=(Capability.OPTIMIZERS, Capability.FOREACH)),
    # networks: modules of layers
    _must("networks/gradient", "The gradients of a module MUST be those of its documented computation.", NN, CHAIN_RULE, needs=(Capability.MODULES,)),
    _must("networks/module", "A module MUST give the values and gradients of its documented equations, computed op by op.", NN, needs=(Capability.MODULES,)),
    _must("networks/random", "With the same seed, a random op MUST draw the same numbers again, and pass gradients on as if these numbers were constants.", NN, RANDOMNESS, needs=(Capability.RANDOM,)),
    # recurrent: networks over sequences
    _must("recurrent/gradient", "The gradients of a recurrent network MUST count every step, layer and direction, for the input, the first state and each parameter.", NN, CHAIN_RULE, GRUS, needs=(Capability.MODULES,)),
    _must("recurrent/module", "A recurrent module MUST give the values and gradients of its documented equations, computed step by step.", NN, GRUS, needs=(Capability.MODULES,)),
    _must("recurrent/packed", "A sequence in a packed batch MUST give the same values and gradients as it does alone.", PACK, needs=(Capability.MODULES,)),
    _must("recurrent/detached-state", "If a recurrent state is detached when it is carried over, each part of the sequence MUST be walkable separately.", DETACH, GRUS, needs=(Capability.DETACH,), of=(STATE,)),
    _must("recurrent/carried-state", "If a recurrent state is carried over without detaching it, the next backward call MUST reach the freed part, and raise.", BACKWARD, GRUS, SECOND_TIME, needs=(Capability.FREES,), of=(STATE, SAVING)),
    # training: loops
    _must("training/loop", "In a training loop, each forward pass MUST be recorded with the parameters' values at that time, and its gradients computed at these values.", MECHANICS, OPTIM, BUFFERS, needs=(Capability.OPTIMIZERS,)),
    _must("training/micro-batches", "The gradients of parts of a batch, accumulated, MUST be the gradient of the whole batch.", MECHANICS, CHAIN_RULE, needs=(Capability.ACCUMULATES,)),
    _must("training/losses", "Backward calls on several losses of one network MUST give the gradients of one backward call on their sum.", BACKWARD, CONTROLS, GRUS, needs=(Capability.ACCUMULATES, Capability.RETAIN)),
    _must("training/apart", "Networks that share nothing MUST train side by side exactly as each of them does alone.", MECHANICS, TWO_NETWORKS, needs=(Capability.OPTIMIZERS,)),
    # sequences: everything at once
    _must("sequences/history", "Earlier instructions of a program MUST affect a call only as the rules say.", MECHANICS),
    # documents: the claims of the articles
    _info("articles/claims", "The behaviour of a framework on the programs of the articles, which all other rules judge.", *ARTICLES),
)  # fmt: skip

RULES: dict[str, Rule] = {rule.slug: rule for rule in _RULES}
"""Every rule by its slug."""

FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(rule.family for rule in _RULES))
"""The families of rules, in the order of reports."""
