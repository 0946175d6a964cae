"""The rule catalogue: every rule once, with its sentence, its level, what it needs of a framework, and its sources.

The suites refer to rules by slug; the tape model names the rule that each allowed outcome rests on; reports print the
sentence. `ARTICLES` are the documents that the rules are written from (they are sources, not truth: where one of them
and the official semantics differ, the rule follows the official semantics).
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
    """How binding a rule is, in the words of RFC 2119; INFO is reported, never judged."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    INFO = "INFO"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `slug` is stable, its first part names the family."""

    slug: str
    level: Level
    sentence: str
    sources: tuple[Source, ...]
    needs: frozenset[Capability] = frozenset()
    situation: tuple[Need, ...] = (CALLS,)
    """What else a framework has to have for the rule's situation to come about."""

    @property
    def family(self) -> str:
        """The family of rules that it belongs to, which is also the name of its suite."""
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
    # gradients: what the numbers are
    _must("gradients/forward", "An op's result MUST equal its definition within the rounding of its dtype, which MUST be that of its operands, the widest where they have several.", CHAIN_RULE),
    _must("gradients/op", "The gradient of an op by itself MUST be its vector-Jacobian product.", CHAIN_RULE, MECHANICS),
    _must("gradients/graph", "A backward call MUST give every leaf that the root depends on the gradient of the computation as it was recorded.", BACKWARD, SECOND_TIME),
    _must("gradients/fan-out", "A value that is used several times MUST receive the sum of the contributions of all its uses.", MECHANICS, of=(JOINED,)),
    _must("gradients/same-argument", "An op that takes the same value twice MUST count it for each place that it stands in.", MECHANICS, of=(TWO_OPERANDS,)),
    _must("gradients/several-results", "Every result of an op that has several MUST carry its own cotangent back to the operands.", MECHANICS, of=(SEVERAL_RESULTS,)),
    _must("gradients/several-roots", "One backward call over several roots MUST give the sum of their gradients; a root listed twice counts twice.", AUTOGRAD_BACKWARD, needs=(Capability.MULTIPLE_ROOTS,)),
    _must("gradients/cotangent", "A cotangent that is given MUST weight the root's elements: the result is the vector-Jacobian product with it.", BACKWARD, needs=(Capability.COTANGENTS,)),
    _must("gradients/cotangent-kept", "A backward call MUST leave the cotangents that it is given, which are the caller's, as they were.", BACKWARD, CHAIN_RULE, needs=(Capability.COTANGENTS,)),
    _must("gradients/equal-leaves", "Two leaves of equal values MUST each receive their own gradient.", MECHANICS, of=(JOINED,)),
    _must("gradients/form", "A gradient MUST have the shape and the dtype of what it is the gradient of, in a leaf or anywhere else.", LAYOUTS),
    _must("gradients/requires-grad", "A result MUST require grad if and only if some operand does.", MECHANICS, needs=(Capability.REQUIRES_GRAD,)),
    # accumulation: what a leaf holds
    _must("accumulation/first", "A leaf without a gradient MUST hold exactly what the first backward call contributes.", BACKWARD, needs=(Capability.IMPERATIVE,)),
    _must("accumulation/adds", "A backward call MUST add to the gradient that a leaf holds, never replace it.", BACKWARD, CONTROLS, SECOND_TIME, needs=(Capability.ACCUMULATES,)),
    _must("accumulation/unreached", "A leaf that the root does not depend on MUST keep the gradient that it had, and none if it had none.", BACKWARD, MECHANICS, needs=(Capability.IMPERATIVE,)),
    _must("accumulation/constant", "A leaf that does not require grad MUST NOT receive a gradient.", MECHANICS, needs=(Capability.CONSTANTS,), of=(TWO_OPERANDS,)),
    _must("accumulation/zero-to-none", "After clearing to none a leaf MUST hold no gradient.", ZERO_GRAD, SECOND_TIME, needs=(Capability.ZERO_TO_NONE,)),
    _must("accumulation/zero-to-zeros", "After clearing to zeros a leaf MUST hold zeros where it held a gradient, and none where it held none.", ZERO_GRAD, CONTROLS, needs=(Capability.ZERO_TO_ZEROS,)),
    _must("accumulation/assigned", "A gradient that was assigned MUST be what the leaf holds, and what later calls add to.", LAYOUTS, BUFFERS, needs=(Capability.ASSIGNS,)),
    _must("accumulation/own-object", "The gradients of two leaves MUST NOT share memory.", LAYOUTS, needs=(Capability.IDENTITY,), of=(JOINED,)),
    _must("accumulation/assigned-form", "A gradient of another shape than the leaf's MUST NOT be assignable.", LAYOUTS, needs=(Capability.ASSIGNS,)),
    _should("accumulation/in-place", "A backward call without create_graph SHOULD add in place to the gradient that a leaf holds, so that references to it see the sum.", LAYOUTS, needs=(Capability.ACCUMULATES, Capability.IDENTITY, Capability.ADDS_IN_PLACE)),
    _should("accumulation/replaces", "A backward call with create_graph SHOULD give the leaf a new gradient object and leave the old one as it was.", LAYOUTS, needs=(Capability.IDENTITY, Capability.CREATES_IN_LEAVES)),
    _should("accumulation/layout", "A leaf's first gradient SHOULD have the leaf's strides where its elements are dense, and row-major ones otherwise.", LAYOUTS, needs=(Capability.LAYOUT, Capability.IMPERATIVE)),
    # lifetime: how long a graph can be walked
    _must("lifetime/same-root-raises", "A second backward call on a root whose saved values the first one freed MUST raise an error that says so.", BACKWARD, SECOND_TIME, BUFFERS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/freed-subgraph-raises", "A backward call from another root that walks into freed saved values MUST raise, however new that root is.", BACKWARD, CONTROLS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/default-frees", "A backward call with retain_graph left out MUST free what it walked.", BACKWARD, CONTROLS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/late-retain-raises", "Asking a later call to retain the graph MUST NOT bring back what an earlier call freed.", BACKWARD, CONTROLS, needs=(Capability.FREES, Capability.RETAIN), of=(SAVING,)),
    _must("lifetime/last-call-frees", "A graph that was retained MUST be freed by the first call that does not retain it.", BACKWARD, GRUS, needs=(Capability.FREES, Capability.RETAIN), of=(SAVING,)),
    _must("lifetime/retained-works", "A graph that every call so far retained MUST be walkable again, with the same gradients.", BACKWARD, CONTROLS, GRUS, BUFFERS, needs=(Capability.RETAIN,), of=(SAVING,)),
    _must("lifetime/traversed-only", "A backward call MUST free only what it walked: the rest of the same graph stays walkable.", MECHANICS, needs=(Capability.FREES,), of=(SAVING, TWO_OPERANDS)),
    _must("lifetime/independent", "Freeing one graph MUST NOT affect another that shares only leaves with it.", MECHANICS, TWO_NETWORKS, needs=(Capability.FREES,), of=(SAVING,)),
    _must("lifetime/rebuilt", "A graph that is computed anew from its leaves MUST be walkable, whatever was freed before.", MECHANICS, SECOND_TIME, needs=(Capability.FREES,), of=(SAVING,)),
    _info("lifetime/nothing-saved", "A second backward call on a graph that saved nothing may raise or may give the right gradient.", MECHANICS, CONTROLS),
    # writes: what in-place changes, and an optimizer's steps, do
    _must("writes/error-or-recorded", "A backward call through values that were written to since MUST raise an error that says so or give the gradient of the computation as it was recorded.", IN_PLACE, GRUS, BUFFERS, of=(CHANGES, SAVING)),
    _must("writes/unsaved-works", "A write to a value that no derivative needs MUST NOT keep a graph from being walked.", IN_PLACE, BUFFERS, of=(CHANGES,)),
    _must("writes/value", "A write MUST give its target the value of the op's definition.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _must("writes/aliases", "A write MUST show in every value that shares memory with its target.", VIEWS, DETACH, needs=(Capability.WRITES, Capability.VIEWS), of=(WRITING, either(VIEWING, claimed(Capability.DETACH)))),
    _must("writes/nothing-else", "A write MUST NOT change any value that shares no memory with its target.", VIEWS, needs=(Capability.WRITES,), of=(WRITING,)),
    _must("writes/recorded", "The gradient of a recorded write MUST flow to what was written, and through the write to what was there before.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _must("writes/requires-grad", "The target of a recorded write MUST require grad afterwards.", MECHANICS, needs=(Capability.WRITES, Capability.REQUIRES_GRAD), of=(WRITING,)),
    _must("writes/leaf-raises", "A recorded write to a leaf that requires grad, or to a view of one, MUST raise.", MECHANICS, needs=(Capability.WRITES, Capability.WRITE_CHECKS), of=(WRITING,)),
    _should("writes/refused-keeps-values", "A write that is refused SHOULD leave every value as it was.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _info("writes/overlap", "What a write does whose elements overlap in memory, or that reads what it writes, is not specified.", VIEWS),
    # views: values that share memory
    _must("views/shares", "A view, and a detached value, MUST share memory with its source.", VIEWS, DETACH, needs=(Capability.VIEWS, Capability.MEMORY), of=(either(VIEWING, claimed(Capability.DETACH)),)),
    _must("views/own-memory", "A new leaf, the result of an op that gives no view, and a gradient that a call makes MUST NOT share memory with any value.", VIEWS, needs=(Capability.MEMORY,)),
    _must("views/history", "What is written to a view MUST become part of the history of its base and of every other view of it.", IN_PLACE, needs=(Capability.WRITES, Capability.VIEWS), of=(WRITING, VIEWING)),
    _info("views/restricted", "A view made under no_grad, or one of several made by one op, may refuse to be written to, and to be used after its base was written to.", MECHANICS),
    # modes: what is recorded
    _must("modes/no-grad-result", "A result computed under no_grad MUST NOT require grad.", NO_GRAD, needs=(Capability.MODES, Capability.REQUIRES_GRAD)),
    _must("modes/recorded", "Under enable_grad inside no_grad, a result MUST be recorded again.", NO_GRAD, needs=(Capability.MODES,)),
    _must("modes/restored", "After a no_grad block, left normally or by an error, results MUST be recorded as before it.", NO_GRAD, needs=(Capability.MODES,)),
    _must("modes/constant", "No gradient MUST flow through a value that was computed under no_grad.", NO_GRAD, needs=(Capability.MODES,), of=(TWO_OPERANDS,)),
    _must("modes/constant-root", "A backward call on a value that was computed under no_grad MUST raise.", NO_GRAD, needs=(Capability.MODES, Capability.NO_GRAD_CHECK)),
    _must("modes/backward-anywhere", "A backward call under no_grad MUST do what it does outside.", NO_GRAD, BACKWARD, needs=(Capability.MODES,)),
    _must("modes/unrecorded-write", "A write under no_grad MUST change the value and leave its history as it was.", NO_GRAD, IN_PLACE, needs=(Capability.MODES, Capability.WRITES), of=(WRITING,)),
    _must("modes/frozen-leaf", "A leaf that ceases to require grad MUST keep the gradient that it had, whatever backward call reaches it.", MECHANICS, needs=(Capability.SWITCHES,)),
    _must("modes/toggle-refused", "Switching off requires_grad of a value that is no leaf MUST raise.", MECHANICS, needs=(Capability.SWITCHES,)),
    # higher: gradients of gradients
    _must("higher/differentiable", "A gradient computed with create_graph MUST be differentiable, and its own gradients right.", BACKWARD, CONTROLS, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _must("higher/plain-raises", "A gradient computed without create_graph MUST have no history: a backward call on it raises.", BACKWARD, CONTROLS, needs=(Capability.NO_GRAD_CHECK, Capability.ASSIGNS), of=(SAVING,)),
    _must("higher/op", "The second derivative of an op by itself MUST be that of its definition.", CHAIN_RULE, BACKWARD, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _must("higher/op-third", "The third derivative of an op by itself MUST be that of its definition.", CHAIN_RULE, BACKWARD, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _info("higher/unsupported", "A call that differentiates a gradient, or makes one that is differentiable, may raise an error that says that this is not implemented.", BACKWARD, needs=(Capability.CREATE_GRAPH,)),
    # functional: gradients as results
    _must("functional/value", "The functional form MUST return the gradients of the sum of its outputs, each weighted with its cotangent, with respect to every input.", GRAD, needs=(Capability.FUNCTIONAL,)),
    _must("functional/no-accumulation", "The functional form MUST leave what leaves hold as it was.", GRAD, needs=(Capability.FUNCTIONAL, Capability.IMPERATIVE)),
    _must("functional/frees", "The functional form MUST free what it walked unless it is asked to retain it.", GRAD, needs=(Capability.FUNCTIONAL, Capability.FREES), of=(SAVING,)),
    _must("functional/inner-input", "An input that is no leaf MUST get the gradient with respect to it.", GRAD, needs=(Capability.FUNCTIONAL, Capability.ANY_INPUTS)),
    _must("functional/duplicates", "An input that is listed twice MUST get its whole gradient in both places.", GRAD, needs=(Capability.FUNCTIONAL, Capability.ANY_INPUTS)),
    _must("functional/unused-raises", "An input that the outputs do not depend on MUST raise unless that is allowed.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED)),
    _must("functional/unused-none", "Where unused inputs are allowed, they MUST get none.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED)),
    _must("functional/materialized", "Where gradients are to be materialised, unused inputs MUST get zeros.", GRAD, needs=(Capability.FUNCTIONAL, Capability.MATERIALIZES)),
    _must("functional/options", "Asking for materialised gradients while forbidding unused inputs MUST raise.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED, Capability.MATERIALIZES)),
    _must("functional/input-no-grad", "An input that does not require grad MUST raise.", GRAD, AUTOGRAD_BACKWARD, needs=(Capability.NO_GRAD_CHECK,)),
    _must("functional/inputs-only", "A backward call with inputs MUST accumulate into them and into no other leaf.", AUTOGRAD_BACKWARD, needs=(Capability.INPUTS,)),
    _should("functional/no-inputs", "A backward call with an empty list of inputs SHOULD raise.", AUTOGRAD_BACKWARD, needs=(Capability.INPUTS,)),
    # hooks: functions that are called with gradients, and values that retain theirs
    _must("hooks/called", "A hook MUST be called once by each call that computes its value's gradient, with the whole of it.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/result", "What a hook returns MUST take the gradient's place from there on.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/order", "The hooks of one value MUST be called in the order of their registration, each with what the one before made of the gradient.", HOOKS_EXECUTION, needs=(Capability.HOOKS,)),
    _must("hooks/removed", "A hook that was removed MUST NOT be called.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/accumulated", "A hook after accumulation MUST be called when the leaf holds its new gradient.", ACCUMULATED, needs=(Capability.ACCUMULATED_HOOKS,)),
    _must("hooks/refused", "Registering a hook on a value that does not require grad, or one after accumulation on a value that is no leaf, MUST raise.", HOOKS, ACCUMULATED, needs=(Capability.HOOKS,)),
    _must("hooks/raise", "An exception that a hook raises MUST end the call and reach its caller.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/shape", "A hook that returns a gradient of another shape MUST make the call raise.", HOOKS, needs=(Capability.HOOKS,)),
    _must("hooks/retained", "A value that retains its gradient MUST hold the sum of what the calls so far contributed to it, as its hooks left it.", RETAIN, HOOKS_EXECUTION, needs=(Capability.ACCUMULATES, Capability.RETAINS_GRAD)),
    _must("hooks/retain-refused", "Asking a value that does not require grad to retain its gradient MUST raise.", RETAIN, needs=(Capability.RETAINS_GRAD,)),
    # detach: where history ends
    _must("detach/blocks", "No gradient MUST flow through a detached value to what it was made from.", DETACH, TWO_NETWORKS, SECOND_TIME, needs=(Capability.DETACH,), of=(TWO_OPERANDS,)),
    _must("detach/values", "A detached value MUST have the values of its source and MUST NOT require grad.", DETACH, SECOND_TIME, needs=(Capability.DETACH, Capability.REQUIRES_GRAD)),
    _must("detach/root-raises", "A backward call on a detached value MUST raise, for it has no history.", DETACH, GRUS, SECOND_TIME, needs=(Capability.DETACH, Capability.NO_GRAD_CHECK)),
    _must("detach/keeps-source", "Detaching a value MUST leave the graph behind its source walkable.", DETACH, needs=(Capability.DETACH,)),
    _must("detach/in-place", "A value that is detached in place MUST keep its value and MUST NOT require grad any more.", DETACH_IN_PLACE, needs=(Capability.DETACH, Capability.WRITES)),
    _must("detach/view-raises", "Detaching a view in place MUST raise.", DETACH_IN_PLACE, needs=(Capability.DETACH, Capability.WRITES, Capability.VIEWS), of=(VIEWING,)),
    # errors: what is refused, and what a refusal leaves behind
    _must("errors/no-grad-root", "A backward call on a root that does not require grad MUST raise.", BACKWARD, needs=(Capability.NO_GRAD_CHECK,)),
    _must("errors/non-scalar-root", "A backward call without cotangent on a root that has not exactly one element MUST raise.", BACKWARD, AUTOGRAD_BACKWARD, needs=(Capability.NON_SCALAR_CHECK,), of=(SEVERAL_ELEMENTS,)),
    _must("errors/cotangent-shape", "A cotangent whose shape is not the root's MUST be refused.", BACKWARD, needs=(Capability.COTANGENT_CHECK, Capability.COTANGENTS)),
    _must("errors/legal-returns", "A legal call MUST return.", BACKWARD, MECHANICS),
    _should("errors/refusal-keeps-gradients", "A call that is refused for its arguments SHOULD leave every gradient as it was.", AUTOGRAD_BACKWARD, needs=(Capability.IMPERATIVE,)),
    _should("errors/refusal-keeps-graph", "A call that is refused for its arguments SHOULD leave the graph walkable.", AUTOGRAD_BACKWARD),
    _must("errors/atomic", "After a backward call that failed on a freed graph each leaf MUST hold its old gradient or the complete new one.", MECHANICS, needs=(Capability.IMPERATIVE, Capability.FREES), of=(SAVING, TWO_OPERANDS)),
    _must("errors/recovers", "After a call that failed, what it did not free MUST work as before.", MECHANICS, needs=(Capability.IMPERATIVE,)),
    # memory: what is alive when
    _must("memory/freed", "A backward call that does not retain the graph MUST release what the part that it walks had saved, and nothing else.", BACKWARD, CONTROLS, needs=(Capability.COUNTS_SAVED, Capability.FREES), of=(SAVING,)),
    _must("memory/retained", "A backward call that retains the graph MUST keep what the graph saved, and save nothing more unless it creates a graph.", BACKWARD, CONTROLS, needs=(Capability.COUNTS_SAVED, Capability.RETAIN), of=(SAVING,)),
    _must("memory/dropped", "When the last value that leads to a graph goes away, what the graph saved MUST be released.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    _must("memory/steady", "Building, walking and clearing again and again MUST NOT let the number of saved values grow.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    _must("memory/cycle", "After the gradients of a call with create_graph are cleared and its values are gone, what its graph saved MUST be released.", BACKWARD, needs=(Capability.COUNTS_SAVED, Capability.CREATE_GRAPH), of=(SAVING,)),
    _should("memory/after-error", "What a graph saved SHOULD be released when the last value that leads to it goes away, also where a backward call on it failed.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    # relations: two programs that give the same, whatever that is
    _must("relations/sum", "A backward call on a sum MUST give what backward calls on its terms, one after the other, give.", AUTOGRAD_BACKWARD, CONTROLS, needs=(Capability.ACCUMULATES, Capability.RETAIN), of=(either(ADDING, claimed(Capability.MULTIPLE_ROOTS)),)),
    _must("relations/scaling", "A cotangent that is multiplied by a number MUST give gradients that are multiplied by it.", BACKWARD, CHAIN_RULE, needs=(Capability.COTANGENTS,)),
    _must("relations/sharing", "A value that is used several times MUST give the gradients that computing it anew for each use gives.", MECHANICS, CHAIN_RULE, of=(COMBINING,)),
    _must("relations/order", "Instructions that have nothing to do with one another MUST give the same in every order.", MECHANICS),
    _must("relations/repeated", "Calling backward on a retained graph several times MUST give that many times what one call gives.", BACKWARD, CONTROLS, GRUS, needs=(Capability.ACCUMULATES, Capability.RETAIN)),
    _must("relations/interleaved", "A program whose instructions stand among those of another one MUST give what it gives alone.", MECHANICS, TWO_NETWORKS),
    # optimizers: what steps do, and what is done to gradients for them
    _must("optimizers/formula", "A step MUST move each leaf by the optimizer's published formula.", OPTIM, BUFFERS, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/remembers", "A step MUST go on from what the optimizer remembers of each leaf: its averages, and how many steps moved it.", OPTIM, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/skips", "A step MUST pass over leaves without a gradient: neither they nor what is remembered of them changes.", OPTIM, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/groups", "A step MUST move each leaf by the settings of its own parameter group.", OPTIM, needs=(Capability.OPTIMIZERS, Capability.GROUPS)),
    _should("optimizers/keeps-gradients", "A step SHOULD leave the gradients as they are.", OPTIM, needs=(Capability.OPTIMIZERS,)),
    _must("optimizers/clears", "An optimizer's clearing MUST clear the gradients of all its leaves, and of no others.", ZERO_GRAD, SECOND_TIME, needs=(Capability.OPTIMIZERS, Capability.MAKES_OPTIMIZERS)),
    _must("optimizers/clips", "Clipping MUST bring the gradients that are there within the bound, in place, and leave those that are within it.", CLIP_NORM, CLIP_VALUE, needs=(Capability.CLIPS,)),
    _must("optimizers/variants", "An optimizer MUST take the same steps whether it updates leaf by leaf, all leaves at once, or in a fused kernel.", OPTIM, needs=(Capability.OPTIMIZERS, Capability.FOREACH)),
    # networks: modules of layers
    _must("networks/gradient", "The gradients of a module MUST be those of the computation that it is documented to do.", NN, CHAIN_RULE, needs=(Capability.MODULES,)),
    _must("networks/module", "A module MUST give the values and gradients of its documented equations, computed op by op.", NN, needs=(Capability.MODULES,)),
    _must("networks/random", "With the generator seeded alike, a random op MUST draw the same again, and let gradients through what it drew as constants.", NN, RANDOMNESS, needs=(Capability.RANDOM,)),
    # recurrent: networks over sequences
    _must("recurrent/gradient", "The gradients of a recurrent network MUST count every step, layer and direction, for the input, the first state and each parameter.", NN, CHAIN_RULE, GRUS, needs=(Capability.MODULES,)),
    _must("recurrent/module", "A recurrent module MUST give the values and gradients of its documented equations, computed step by step.", NN, GRUS, needs=(Capability.MODULES,)),
    _must("recurrent/packed", "A packed sequence MUST give the values and gradients that it gives alone.", PACK, needs=(Capability.MODULES,)),
    _must("recurrent/detached-state", "A state that is carried over detached MUST let each part of a sequence be walked by itself.", DETACH, GRUS, needs=(Capability.DETACH,), of=(STATE,)),
    _must("recurrent/carried-state", "A state that is carried over as it is MUST lead the next backward call into the part that was freed, which raises.", BACKWARD, GRUS, SECOND_TIME, needs=(Capability.FREES,), of=(STATE, SAVING)),
    # training: loops
    _must("training/loop", "In a training loop each forward pass MUST be recorded with the parameters' values of that time, and gradients be taken there.", MECHANICS, OPTIM, BUFFERS, needs=(Capability.OPTIMIZERS,)),
    _must("training/micro-batches", "The gradients of parts of a batch, accumulated, MUST be the gradient of the whole batch.", MECHANICS, CHAIN_RULE, needs=(Capability.ACCUMULATES,)),
    _must("training/losses", "Several losses on one network MUST give what a backward call of their sum gives.", BACKWARD, CONTROLS, GRUS, needs=(Capability.ACCUMULATES, Capability.RETAIN)),
    _must("training/apart", "Networks that share nothing MUST be trained side by side as each of them alone.", MECHANICS, TWO_NETWORKS, needs=(Capability.OPTIMIZERS,)),
    # sequences: everything at once
    _must("sequences/history", "What a program did before MUST affect a call only as the rules say.", MECHANICS),
    # documents: what the articles claim
    _info("articles/claims", "What a framework does on the programs of the articles, which are judged by all other rules.", *ARTICLES),
)  # fmt: skip

RULES: dict[str, Rule] = {rule.slug: rule for rule in _RULES}
"""Every rule by its slug."""

FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(rule.family for rule in _RULES))
"""The families of rules, in the order of reports."""
