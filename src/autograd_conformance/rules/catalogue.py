"""The rule catalogue: every rule, with its sentence, its level, the capabilities that it needs, and its sources.

The suites refer to rules by slug. The tape model names the rule that allows each outcome, and reports print the
sentence. `ARTICLES` are documents from which rules were written. They are not authoritative: where an article and
PyTorch's documented semantics differ, the rule follows the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial

from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.slugs import Family, Slug, family
from autograd_conformance.rules.situations import (
    ADDING,
    CALLS,
    CHANGES,
    COMBINING,
    FEW_DIGITS,
    JOINED,
    LISTED,
    SAVING,
    SEVERAL_ELEMENTS,
    SEVERAL_RESULTS,
    STATE,
    TRAINING,
    TWO_OPERANDS,
    VIEWING,
    WRITING,
    Need,
    claimed,
    either,
)
from autograd_conformance.rules.sources import (
    ACCUMULATED,
    ACCURACY,
    AMP,
    AMP_EXAMPLES,
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
    KINKS,
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


class Compares(Enum):
    """The results that the check of a rule compares with the required ones."""

    VALUES = "values"
    """The check compares the elements of values or gradients with the right elements."""
    DIGITS = "digits"
    """The check compares the elements of gradients with numbers of more digits than the reference and JAX have."""
    PLACES = "places"
    """The check compares elements of one value or gradient with each other."""
    RUNS = "runs"
    """The check compares elements of values or gradients with those of another run of the program."""
    MOVES = "moves"
    """The check compares the values of leaves after an optimizer step with the right values."""
    HELD_GRADIENTS = "held gradients"
    """The check compares the gradients that leaves hold, after clearing or clipping, with the right gradients."""
    UNCHANGED_VALUES = "unchanged values"
    """The check compares values after an instruction with the values before the instruction."""
    UNCHANGED_GRADIENTS = "unchanged gradients"
    """The check compares the gradients that leaves hold after an instruction with those that they held before."""
    OTHER = "other"
    """The check compares anything else, such as outcomes, flags and memory."""

    @property
    def has_no_reference(self) -> bool:
        """Whether the reference, JAX and difference quotients do not have what the check compares with."""
        return self in (Compares.DIGITS, Compares.PLACES, Compares.RUNS)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, with its sentence, such as "A legal call MUST return." The slug of a rule never changes."""

    slug: Slug
    level: Level
    sentence: str
    sources: tuple[Source, ...]
    needs: frozenset[Capability] = frozenset()
    situation: tuple[Need, ...] = (CALLS,)
    """Features of a framework, besides the capabilities in `needs`, without which no program can test the rule."""
    compares: Compares = Compares.OTHER
    graph_rule: Slug | None = None
    """For a rule about a single op: the rule about graphs that is reported instead if the op may not be the cause of
    the violation.
    """
    general: bool = False
    """Whether, if a known fault explains a violation of this rule, the rule that the fault breaks is reported instead.
    """
    same_work: bool = False
    """For a rule about pairs of programs: whether both compute the same results from the same tensors, so that they
    must agree whatever numbers the tensors contain.
    """

    @property
    def family(self) -> Family:
        """The family of the rule: the part of the slug before the slash, such as `hooks`."""
        return family(self.slug)

    @property
    def is_about_lifetime(self) -> bool:
        """Whether the rule is about legal or refused calls, or about graphs and saved tensors being kept or freed."""
        return self.family in (slugs.LIFETIME, slugs.ERRORS, slugs.MEMORY) or self.slug == slugs.FUNCTIONAL_FREES

    @property
    def compares_values(self) -> bool:
        """Whether the rule is about the elements of values or gradients, or about the places to which optimizer steps
        move leaves.
        """
        return self.compares in (Compares.VALUES, Compares.DIGITS, Compares.MOVES)

    @property
    def keeps_state(self) -> bool:
        """Whether the rule says that values or gradients must stay unchanged."""
        return self.compares in (Compares.UNCHANGED_VALUES, Compares.UNCHANGED_GRADIENTS)

    @property
    def is_about_held_gradients(self) -> bool:
        """Whether the rule is about the gradients that leaves hold, even if the instruction changes values too."""
        return self.compares in (Compares.HELD_GRADIENTS, Compares.UNCHANGED_GRADIENTS)


def _rule(
    level: Level,
    slug: Slug,
    sentence: str,
    *sources: Source,
    needs: tuple[Capability, ...] = (),
    of: tuple[Need, ...] = (),
    compares: Compares = Compares.OTHER,
    graph_rule: Slug | None = None,
    general: bool = False,
    same_work: bool = False,
) -> Rule:
    situation = (CALLS, *of)
    return Rule(slug, level, sentence, sources, frozenset(needs), situation, compares, graph_rule, general, same_work)


_must, _should, _info = (partial(_rule, level) for level in Level)


_RULES = (
    # gradients: the numbers
    _must(slugs.GRADIENTS_FORWARD, "An op's result MUST equal its definition within the rounding of its dtype. This dtype MUST be that of its operands, or the widest if they have several.", CHAIN_RULE, compares=Compares.VALUES),
    _must(slugs.GRADIENTS_OP, "The gradient of a single op MUST be its vector-Jacobian product.", CHAIN_RULE, MECHANICS, compares=Compares.VALUES, graph_rule=slugs.GRADIENTS_GRAPH, general=True),
    _must(slugs.GRADIENTS_GRAPH, "A backward call MUST give every leaf that the root depends on the gradient of the computation as it was recorded.", BACKWARD, SECOND_TIME, compares=Compares.VALUES, general=True),
    _must(slugs.GRADIENTS_FAN_OUT, "A value that is used several times MUST receive the sum of the contributions of all its uses.", MECHANICS, of=(JOINED,), compares=Compares.VALUES),
    _must(slugs.GRADIENTS_SAME_ARGUMENT, "An op that takes the same value twice MUST contribute to that value's gradient once for each operand position.", MECHANICS, of=(TWO_OPERANDS,), compares=Compares.VALUES),
    _must(slugs.GRADIENTS_SEVERAL_RESULTS, "Every result of an op with several results MUST carry its cotangent back to the operands.", MECHANICS, of=(SEVERAL_RESULTS,), compares=Compares.VALUES),
    _must(slugs.GRADIENTS_SEVERAL_ROOTS, "One backward call over several roots MUST give the sum of their gradients; a root listed twice counts twice.", AUTOGRAD_BACKWARD, needs=(Capability.MULTIPLE_ROOTS,), compares=Compares.VALUES),
    _must(slugs.GRADIENTS_COTANGENT, "A given cotangent MUST weight the root's elements: the result is the vector-Jacobian product with that cotangent.", BACKWARD, needs=(Capability.COTANGENTS,), compares=Compares.VALUES),
    _must(slugs.GRADIENTS_COTANGENT_KEPT, "A backward call MUST NOT change the cotangents that the caller passes to it.", BACKWARD, CHAIN_RULE, needs=(Capability.COTANGENTS,)),
    _must(slugs.GRADIENTS_EQUAL_LEAVES, "Two leaves of equal values MUST each receive their own gradient.", MECHANICS, of=(JOINED,)),
    _must(slugs.GRADIENTS_FORM, "A gradient MUST have the shape and the dtype of its value, in a leaf or anywhere else.", LAYOUTS),
    _must(slugs.GRADIENTS_REQUIRES_GRAD, "A result MUST require grad if and only if some operand does.", MECHANICS, needs=(Capability.REQUIRES_GRAD,)),
    _should(slugs.GRADIENTS_TAILS, "Where an op's result rounds to a constant, or near a removable singularity, its first and second derivative SHOULD have half of the digits of their dtype.", CHAIN_RULE, needs=(Capability.COTANGENTS,), compares=Compares.DIGITS),
    _should(slugs.GRADIENTS_DIGITS, "In a dtype of few digits, the result and the gradients of a single op SHOULD have half of the digits that a computation in float32 has if it rounds once.", ACCURACY, of=(FEW_DIGITS,), compares=Compares.VALUES),
    _should(slugs.GRADIENTS_ELEMENTS, "An elementwise op SHOULD give equal elements equal results and gradients at any position, even where an element is NaN or infinite.", CHAIN_RULE, needs=(Capability.COTANGENTS,), compares=Compares.PLACES),
    _should(slugs.GRADIENTS_KINKS, "At a kink or a tie, a mode SHOULD give the result and the gradients that its framework gives without the mode, and float32 those that float64 gives.", KINKS, needs=(Capability.COTANGENTS,), compares=Compares.RUNS),
    _should(slugs.GRADIENTS_CANCELLATION, "Where the numbers of an operand are close together and far from zero, the result and the gradients of a single op SHOULD have the digits of a formula that subtracts the mean first.", ACCURACY, of=(SEVERAL_ELEMENTS,), compares=Compares.VALUES),
    # accumulation: the gradients that leaves hold
    _must(slugs.ACCUMULATION_FIRST, "The first backward call that reaches a leaf without a gradient MUST leave exactly its contribution there.", BACKWARD, needs=(Capability.IMPERATIVE,)),
    _must(slugs.ACCUMULATION_ADDS, "A backward call MUST add to the gradient that a leaf holds, never replace it.", BACKWARD, CONTROLS, SECOND_TIME, needs=(Capability.ACCUMULATES,)),
    _must(slugs.ACCUMULATION_UNREACHED, "A leaf that the root does not depend on MUST keep its gradient, or hold none if it held none.", BACKWARD, MECHANICS, needs=(Capability.IMPERATIVE,)),
    _must(slugs.ACCUMULATION_CONSTANT, "A leaf that does not require grad MUST NOT receive a gradient.", MECHANICS, needs=(Capability.CONSTANTS,), of=(TWO_OPERANDS,)),
    _must(slugs.ACCUMULATION_ZERO_TO_NONE, "After its gradient is cleared to None, a leaf MUST hold no gradient.", ZERO_GRAD, SECOND_TIME, needs=(Capability.ZERO_TO_NONE,)),
    _must(slugs.ACCUMULATION_ZERO_TO_ZEROS, "After its gradient is cleared to zeros, a leaf MUST hold zeros, or no gradient if it held none.", ZERO_GRAD, CONTROLS, needs=(Capability.ZERO_TO_ZEROS,)),
    _must(slugs.ACCUMULATION_ASSIGNED, "A leaf MUST hold the gradient that was assigned to it, and later calls MUST add to that gradient.", LAYOUTS, BUFFERS, needs=(Capability.ASSIGNS,)),
    _must(slugs.ACCUMULATION_OWN_OBJECT, "The gradients of two leaves MUST NOT share memory.", LAYOUTS, needs=(Capability.IDENTITY,), of=(JOINED,)),
    _must(slugs.ACCUMULATION_ASSIGNED_FORM, "A gradient of another shape than the leaf's MUST NOT be assignable.", LAYOUTS, needs=(Capability.ASSIGNS,)),
    _should(slugs.ACCUMULATION_IN_PLACE, "A backward call without create_graph SHOULD add in place to the gradient that a leaf holds, so that references to it see the sum.", LAYOUTS, needs=(Capability.ACCUMULATES, Capability.IDENTITY, Capability.ADDS_IN_PLACE)),
    _should(slugs.ACCUMULATION_REPLACES, "A backward call with create_graph SHOULD give the leaf a new gradient object and leave the old one as it was.", LAYOUTS, needs=(Capability.IDENTITY, Capability.CREATES_IN_LEAVES)),
    _should(slugs.ACCUMULATION_LAYOUT, "A leaf's first gradient SHOULD have the leaf's strides where its elements are dense, and row-major ones otherwise.", LAYOUTS, needs=(Capability.LAYOUT, Capability.IMPERATIVE)),
    # lifetime: how long a graph can be walked
    _must(slugs.LIFETIME_SAME_ROOT_RAISES, "A second backward call on a root whose saved tensors the first one freed MUST raise an error that says so.", BACKWARD, SECOND_TIME, BUFFERS, needs=(Capability.FREES,), of=(SAVING,)),
    _must(slugs.LIFETIME_FREED_SUBGRAPH_RAISES, "A backward call from another root that reaches freed saved tensors MUST raise, even if that root was computed later.", BACKWARD, CONTROLS, needs=(Capability.FREES,), of=(SAVING,)),
    _must(slugs.LIFETIME_DEFAULT_FREES, "A backward call with retain_graph left out MUST free the part of the graph that it walked.", BACKWARD, CONTROLS, needs=(Capability.FREES,), of=(SAVING,)),
    _must(slugs.LIFETIME_LATE_RETAIN_RAISES, "A later call with retain_graph=True MUST NOT bring back saved tensors that an earlier call freed.", BACKWARD, CONTROLS, needs=(Capability.FREES, Capability.RETAIN), of=(SAVING,)),
    _must(slugs.LIFETIME_LAST_CALL_FREES, "A graph that was retained MUST be freed by the first call that does not retain it.", BACKWARD, GRUS, needs=(Capability.FREES, Capability.RETAIN), of=(SAVING,)),
    _must(slugs.LIFETIME_RETAINED_WORKS, "A graph that every call so far retained MUST be walkable again, with the same gradients.", BACKWARD, CONTROLS, GRUS, BUFFERS, needs=(Capability.RETAIN,), of=(SAVING,)),
    _must(slugs.LIFETIME_TRAVERSED_ONLY, "A backward call MUST free only the part of the graph that it walked: the rest stays walkable.", MECHANICS, needs=(Capability.FREES,), of=(SAVING, TWO_OPERANDS)),
    _must(slugs.LIFETIME_INDEPENDENT, "Freeing one graph MUST NOT affect another that shares only leaves with it.", MECHANICS, TWO_NETWORKS, needs=(Capability.FREES,), of=(SAVING,)),
    _must(slugs.LIFETIME_REBUILT, "A graph that is recomputed from its leaves MUST be walkable, whatever was freed before.", MECHANICS, SECOND_TIME, needs=(Capability.FREES,), of=(SAVING,)),
    _info(slugs.LIFETIME_NOTHING_SAVED, "A second backward call on a graph that saved nothing may raise or may give the right gradient.", MECHANICS, CONTROLS),
    # writes: the effects of in-place ops and of optimizer steps
    _must(slugs.WRITES_ERROR_OR_RECORDED, "A backward call through values that were written to after they were recorded MUST raise an error that says so, or give the gradient of the computation as it was recorded.", IN_PLACE, GRUS, BUFFERS, of=(CHANGES, SAVING), compares=Compares.VALUES),
    _must(slugs.WRITES_UNSAVED_WORKS, "A write to a value that no derivative needs MUST NOT keep a graph from being walked.", IN_PLACE, BUFFERS, of=(CHANGES,)),
    _must(slugs.WRITES_VALUE, "A write MUST give its target the value of the op's definition.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,), compares=Compares.VALUES),
    _must(slugs.WRITES_ALIASES, "A write MUST show in every value that shares memory with its target.", VIEWS, DETACH, needs=(Capability.WRITES, Capability.VIEWS), of=(WRITING, either(VIEWING, claimed(Capability.DETACH))), compares=Compares.VALUES),
    _must(slugs.WRITES_NOTHING_ELSE, "A write, or a step of an optimizer, MUST NOT change any value that shares no memory with its target.", VIEWS, OPTIM, of=(CHANGES,), compares=Compares.UNCHANGED_VALUES),
    _must(slugs.WRITES_RECORDED, "The gradient of a recorded write MUST flow to the operands that were written and, through the write, to the target's earlier value.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,)),
    _must(slugs.WRITES_REQUIRES_GRAD, "The target of a recorded write MUST require grad afterwards.", MECHANICS, needs=(Capability.WRITES, Capability.REQUIRES_GRAD), of=(WRITING,)),
    _must(slugs.WRITES_LEAF_RAISES, "A recorded write to a leaf that requires grad, or to a view of one, MUST raise.", MECHANICS, needs=(Capability.WRITES, Capability.WRITE_CHECKS), of=(WRITING,)),
    _should(slugs.WRITES_REFUSED_KEEPS_VALUES, "A write that is refused SHOULD leave every value as it was.", IN_PLACE, needs=(Capability.WRITES,), of=(WRITING,), compares=Compares.UNCHANGED_VALUES),
    _info(slugs.WRITES_OVERLAP, "The effect of a write is unspecified if its elements overlap in memory, or if it reads its target.", VIEWS),
    # views: values that share memory
    _must(slugs.VIEWS_SHARES, "A view, and a detached value, MUST share memory with its source.", VIEWS, DETACH, needs=(Capability.VIEWS, Capability.MEMORY), of=(either(VIEWING, claimed(Capability.DETACH)),)),
    _must(slugs.VIEWS_OWN_MEMORY, "A new leaf, the result of an op that returns no view, and a gradient that a call makes MUST NOT share memory with any value.", VIEWS, needs=(Capability.MEMORY,)),
    _must(slugs.VIEWS_HISTORY, "A write to a view MUST become part of the history of its base and of every other view of that base.", IN_PLACE, needs=(Capability.WRITES, Capability.VIEWS), of=(WRITING, VIEWING)),
    _info(slugs.VIEWS_RESTRICTED, "A view made under no_grad, or one of several made by one op, may refuse to be written to, and to be used after its base was written to.", MECHANICS),
    # modes: when ops are recorded
    _must(slugs.MODES_NO_GRAD_RESULT, "A result computed under no_grad MUST NOT require grad.", NO_GRAD, needs=(Capability.MODES, Capability.REQUIRES_GRAD)),
    _must(slugs.MODES_RECORDED, "Under enable_grad inside no_grad, a result MUST be recorded again.", NO_GRAD, needs=(Capability.MODES,)),
    _must(slugs.MODES_RESTORED, "After a no_grad block, left normally or by an error, results MUST be recorded as before it.", NO_GRAD, needs=(Capability.MODES,)),
    _must(slugs.MODES_CONSTANT, "No gradient MUST flow through a value that was computed under no_grad.", NO_GRAD, needs=(Capability.MODES,), of=(TWO_OPERANDS,)),
    _must(slugs.MODES_CONSTANT_ROOT, "A backward call on a value that was computed under no_grad MUST raise.", NO_GRAD, needs=(Capability.MODES, Capability.NO_GRAD_CHECK)),
    _must(slugs.MODES_BACKWARD_ANYWHERE, "A backward call under no_grad MUST have the same effect as outside.", NO_GRAD, BACKWARD, needs=(Capability.MODES,)),
    _must(slugs.MODES_UNRECORDED_WRITE, "A write under no_grad MUST change the value and leave its history as it was.", NO_GRAD, IN_PLACE, needs=(Capability.MODES, Capability.WRITES), of=(WRITING,)),
    _must(slugs.MODES_FROZEN_LEAF, "A leaf that ceases to require grad MUST keep the gradient that it had, whatever backward call reaches it.", MECHANICS, needs=(Capability.SWITCHES,)),
    _must(slugs.MODES_TOGGLE_REFUSED, "Switching off requires_grad of a value that is no leaf MUST raise.", MECHANICS, needs=(Capability.SWITCHES,)),
    # higher: gradients of gradients
    _must(slugs.HIGHER_DIFFERENTIABLE, "A gradient computed with create_graph MUST be differentiable, and its gradients MUST be right.", BACKWARD, CONTROLS, needs=(Capability.CREATE_GRAPH,), of=(SAVING,)),
    _must(slugs.HIGHER_PLAIN_RAISES, "A gradient computed without create_graph MUST have no history: a backward call on it raises.", BACKWARD, CONTROLS, needs=(Capability.NO_GRAD_CHECK, Capability.ASSIGNS), of=(SAVING,)),
    _must(slugs.HIGHER_OP, "The second derivative of a single op MUST be that of its definition.", CHAIN_RULE, BACKWARD, needs=(Capability.CREATE_GRAPH,), of=(SAVING,), compares=Compares.VALUES, graph_rule=slugs.HIGHER_DIFFERENTIABLE),
    _must(slugs.HIGHER_OP_THIRD, "The third derivative of a single op MUST be that of its definition.", CHAIN_RULE, BACKWARD, needs=(Capability.CREATE_GRAPH,), of=(SAVING,), compares=Compares.VALUES, graph_rule=slugs.HIGHER_DIFFERENTIABLE),
    _info(slugs.HIGHER_UNSUPPORTED, "A call that differentiates a gradient, or makes one that is differentiable, may raise an error that says that this is not implemented.", BACKWARD, needs=(Capability.CREATE_GRAPH,)),
    # functional: gradients as results
    _must(slugs.FUNCTIONAL_VALUE, "The functional form MUST return the gradients of the sum of its outputs, each weighted with its cotangent, with respect to every input.", GRAD, needs=(Capability.FUNCTIONAL,)),
    _must(slugs.FUNCTIONAL_NO_ACCUMULATION, "The functional form MUST NOT change the gradients that leaves hold.", GRAD, needs=(Capability.FUNCTIONAL, Capability.IMPERATIVE), compares=Compares.UNCHANGED_GRADIENTS),
    _must(slugs.FUNCTIONAL_FREES, "The functional form MUST free the part of the graph that it walked unless the call retains it.", GRAD, needs=(Capability.FUNCTIONAL, Capability.FREES), of=(SAVING,)),
    _must(slugs.FUNCTIONAL_INNER_INPUT, "An input that is no leaf MUST get its gradient, too.", GRAD, needs=(Capability.FUNCTIONAL, Capability.ANY_INPUTS)),
    _must(slugs.FUNCTIONAL_DUPLICATES, "An input that is listed twice MUST get its whole gradient in both places.", GRAD, needs=(Capability.FUNCTIONAL, Capability.ANY_INPUTS)),
    _must(slugs.FUNCTIONAL_UNUSED_RAISES, "A call with an input that the outputs do not depend on MUST raise unless unused inputs are allowed.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED)),
    _must(slugs.FUNCTIONAL_UNUSED_NONE, "Where unused inputs are allowed, their gradient MUST be None.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED)),
    _must(slugs.FUNCTIONAL_MATERIALIZED, "Where gradients are materialised, the gradient of an unused input MUST be zeros.", GRAD, needs=(Capability.FUNCTIONAL, Capability.MATERIALIZES)),
    _must(slugs.FUNCTIONAL_OPTIONS, "A call that materialises gradients and forbids unused inputs MUST raise.", GRAD, needs=(Capability.FUNCTIONAL, Capability.UNUSED, Capability.MATERIALIZES)),
    _must(slugs.FUNCTIONAL_INPUT_NO_GRAD, "A call with an input that does not require grad MUST raise.", GRAD, AUTOGRAD_BACKWARD, needs=(Capability.NO_GRAD_CHECK,)),
    _must(slugs.FUNCTIONAL_INPUTS_ONLY, "A backward call with inputs MUST accumulate into them and into no other leaf.", AUTOGRAD_BACKWARD, needs=(Capability.INPUTS,)),
    _should(slugs.FUNCTIONAL_NO_INPUTS, "A backward call with an empty list of inputs SHOULD raise.", AUTOGRAD_BACKWARD, needs=(Capability.INPUTS,)),
    # hooks: functions that are called with gradients, and values that retain theirs
    _must(slugs.HOOKS_CALLED, "A hook MUST be called once by each call that computes its value's gradient, with the whole gradient.", HOOKS, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_RESULT, "The gradient that a hook returns MUST replace the original one from there on.", HOOKS, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_ORDER, "The hooks of one value MUST be called in the order of their registration, each with the gradient as the previous one left it.", HOOKS_EXECUTION, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_REMOVED, "A hook that was removed MUST NOT be called.", HOOKS, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_ACCUMULATED, "A post-accumulate hook MUST be called when the leaf holds its new gradient.", ACCUMULATED, needs=(Capability.ACCUMULATED_HOOKS,)),
    _must(slugs.HOOKS_REFUSED, "Registering a hook on a value that does not require grad, or a post-accumulate hook on a value that is no leaf, MUST raise.", HOOKS, ACCUMULATED, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_RAISE, "An exception that a hook raises MUST end the call and reach its caller.", HOOKS, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_SHAPE, "A hook that returns a gradient of another shape MUST make the call raise.", HOOKS, needs=(Capability.HOOKS,)),
    _must(slugs.HOOKS_RETAINED, "A value that retains its gradient MUST hold the sum of the contributions of all calls so far, as its hooks left them.", RETAIN, HOOKS_EXECUTION, needs=(Capability.ACCUMULATES, Capability.RETAINS_GRAD)),
    _must(slugs.HOOKS_RETAIN_REFUSED, "Calling retain_grad on a value that does not require grad MUST raise.", RETAIN, needs=(Capability.RETAINS_GRAD,)),
    # detach: where history ends
    _must(slugs.DETACH_BLOCKS, "No gradient MUST flow through a detached value to its source.", DETACH, TWO_NETWORKS, SECOND_TIME, needs=(Capability.DETACH,), of=(TWO_OPERANDS,)),
    _must(slugs.DETACH_VALUES, "A detached value MUST have the values of its source and MUST NOT require grad.", DETACH, SECOND_TIME, needs=(Capability.DETACH, Capability.REQUIRES_GRAD)),
    _must(slugs.DETACH_ROOT_RAISES, "A backward call on a detached value MUST raise, because the value has no history.", DETACH, GRUS, SECOND_TIME, needs=(Capability.DETACH, Capability.NO_GRAD_CHECK)),
    _must(slugs.DETACH_KEEPS_SOURCE, "Detaching a value MUST leave the graph of its source walkable.", DETACH, needs=(Capability.DETACH,)),
    _must(slugs.DETACH_IN_PLACE, "A value that is detached in place MUST keep its value and MUST NOT require grad any more.", DETACH_IN_PLACE, needs=(Capability.DETACHES_IN_PLACE,)),
    _must(slugs.DETACH_VIEW_RAISES, "Detaching a view in place MUST raise.", DETACH_IN_PLACE, needs=(Capability.DETACHES_IN_PLACE, Capability.VIEWS), of=(VIEWING,)),
    # errors: calls that are refused, and their effects
    _must(slugs.ERRORS_NO_GRAD_ROOT, "A backward call on a root that does not require grad MUST raise.", BACKWARD, needs=(Capability.NO_GRAD_CHECK,)),
    _must(slugs.ERRORS_NON_SCALAR_ROOT, "A backward call without cotangent on a root that does not have exactly one element MUST raise.", BACKWARD, AUTOGRAD_BACKWARD, needs=(Capability.NON_SCALAR_CHECK,), of=(SEVERAL_ELEMENTS,)),
    _must(slugs.ERRORS_COTANGENT_SHAPE, "A cotangent whose shape is not the root's MUST be refused.", BACKWARD, needs=(Capability.COTANGENT_CHECK, Capability.COTANGENTS)),
    _must(slugs.ERRORS_LEGAL_RETURNS, "A legal call MUST return.", BACKWARD, MECHANICS),
    _should(slugs.ERRORS_REFUSAL_KEEPS_GRADIENTS, "A call that is refused for its arguments SHOULD leave every gradient as it was.", AUTOGRAD_BACKWARD, needs=(Capability.IMPERATIVE,)),
    _should(slugs.ERRORS_REFUSAL_KEEPS_GRAPH, "A call that is refused for its arguments SHOULD leave the graph walkable.", AUTOGRAD_BACKWARD),
    _must(slugs.ERRORS_ATOMIC, "After a backward call that failed midway, such as on a freed graph or an overwritten value, each leaf MUST hold its old gradient or the complete new one.", MECHANICS, needs=(Capability.IMPERATIVE, Capability.FREES), of=(SAVING, TWO_OPERANDS)),
    _must(slugs.ERRORS_RECOVERS, "After a call that failed, everything that it did not free MUST work as before.", MECHANICS, needs=(Capability.IMPERATIVE,)),
    # memory: how long saved tensors are alive
    _must(slugs.MEMORY_FREED, "A backward call that does not retain the graph MUST release the saved tensors of the part that it walks, and no others.", BACKWARD, CONTROLS, needs=(Capability.COUNTS_SAVED, Capability.FREES), of=(SAVING,)),
    _must(slugs.MEMORY_RETAINED, "A backward call that retains the graph MUST keep the graph's saved tensors, and save no more unless it creates a graph.", BACKWARD, CONTROLS, needs=(Capability.COUNTS_SAVED, Capability.RETAIN), of=(SAVING,)),
    _must(slugs.MEMORY_DROPPED, "When the last value that leads to a graph is deleted, the graph's saved tensors MUST be released.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    _must(slugs.MEMORY_STEADY, "Building, walking and clearing a graph repeatedly MUST NOT let the number of saved tensors grow.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    _must(slugs.MEMORY_CYCLE, "After the gradients of a call with create_graph are cleared and its values are deleted, the saved tensors of its graph MUST be released.", BACKWARD, needs=(Capability.COUNTS_SAVED, Capability.CREATE_GRAPH), of=(SAVING,)),
    _should(slugs.MEMORY_AFTER_ERROR, "The saved tensors of a graph SHOULD be released when the last value that leads to it is deleted, even if a backward call on it failed.", MECHANICS, needs=(Capability.COUNTS_SAVED,), of=(SAVING,)),
    # relations: two programs that must agree, whatever the right results are
    _must(slugs.RELATIONS_SUM, "A backward call on a sum MUST give the same gradients as successive backward calls on its terms.", AUTOGRAD_BACKWARD, CONTROLS, needs=(Capability.ACCUMULATES, Capability.RETAIN), of=(either(ADDING, claimed(Capability.MULTIPLE_ROOTS)),)),
    _must(slugs.RELATIONS_SCALING, "A cotangent that is multiplied by a number MUST give gradients that are multiplied by that number.", BACKWARD, CHAIN_RULE, needs=(Capability.COTANGENTS,)),
    _must(slugs.RELATIONS_SHARING, "A value that is used several times MUST give the same gradients as if it were recomputed for each use.", MECHANICS, CHAIN_RULE, of=(COMBINING,), same_work=True),
    _must(slugs.RELATIONS_ORDER, "Independent instructions MUST give the same results in every order.", MECHANICS, same_work=True),
    _must(slugs.RELATIONS_REPEATED, "n backward calls on a retained graph MUST give n times the gradients of one call.", BACKWARD, CONTROLS, GRUS, needs=(Capability.ACCUMULATES, Capability.RETAIN)),
    _must(slugs.RELATIONS_INTERLEAVED, "A program whose instructions are interleaved with those of another MUST give the same results as it does alone.", MECHANICS, TWO_NETWORKS, same_work=True),
    # optimizers: steps, and the clearing and clipping of gradients
    _must(slugs.OPTIMIZERS_FORMULA, "A step MUST move each leaf by the optimizer's published formula.", OPTIM, BUFFERS, needs=(Capability.OPTIMIZERS,), compares=Compares.MOVES),
    _must(slugs.OPTIMIZERS_REMEMBERS, "A step MUST use the optimizer's state of each leaf: its averages, and the number of steps that moved it.", OPTIM, needs=(Capability.OPTIMIZERS,), compares=Compares.MOVES),
    _must(slugs.OPTIMIZERS_SKIPS, "A step MUST skip leaves without a gradient: neither such a leaf nor its optimizer state changes.", OPTIM, needs=(Capability.OPTIMIZERS,), compares=Compares.MOVES),
    _must(slugs.OPTIMIZERS_GROUPS, "A step MUST move each leaf by the settings of the leaf's parameter group.", OPTIM, needs=(Capability.OPTIMIZERS, Capability.GROUPS), compares=Compares.MOVES),
    _should(slugs.OPTIMIZERS_KEEPS_GRADIENTS, "A step SHOULD leave the gradients as they are.", OPTIM, needs=(Capability.OPTIMIZERS,), compares=Compares.UNCHANGED_GRADIENTS),
    _should(slugs.OPTIMIZERS_FINITE, "In a dtype of few digits, a step from finite numbers SHOULD leave a leaf finite if the formula's result is within the dtype's range, although the number that keeps the formula from dividing by 0 may be below that range.", OPTIM, needs=(Capability.OPTIMIZERS,), of=(FEW_DIGITS,), compares=Compares.MOVES),
    _must(slugs.OPTIMIZERS_CLEARS, "Clearing gradients through an optimizer MUST clear those of all its leaves, and no others.", ZERO_GRAD, SECOND_TIME, needs=(Capability.OPTIMIZERS, Capability.MAKES_OPTIMIZERS), compares=Compares.HELD_GRADIENTS),
    _must(slugs.OPTIMIZERS_CLIPS, "Clipping MUST bring existing gradients within the bound, in place, and leave gradients unchanged that are within it.", CLIP_NORM, CLIP_VALUE, needs=(Capability.CLIPS,), compares=Compares.HELD_GRADIENTS),
    _must(slugs.OPTIMIZERS_VARIANTS, "An optimizer MUST take the same steps whether it updates leaf by leaf, all leaves at once, or in a fused kernel.", OPTIM, needs=(Capability.OPTIMIZERS, Capability.FOREACH), compares=Compares.MOVES),
    # networks: modules of layers
    _must(slugs.NETWORKS_GRADIENT, "The gradients of a module MUST be those of its documented computation.", NN, CHAIN_RULE, needs=(Capability.MODULES,), compares=Compares.VALUES),
    _must(slugs.NETWORKS_MODULE, "A module MUST give the values and gradients of its documented equations, computed op by op.", NN, needs=(Capability.MODULES,)),
    _must(slugs.NETWORKS_RANDOM, "With the same seed, a random op MUST draw the same numbers again, and pass gradients on as if these numbers were constants.", NN, RANDOMNESS, needs=(Capability.RANDOM,)),
    # recurrent: networks over sequences
    _must(slugs.RECURRENT_GRADIENT, "The gradients of a recurrent network MUST count every step, layer and direction, for the input, the first state and each parameter.", NN, CHAIN_RULE, GRUS, needs=(Capability.MODULES,), compares=Compares.VALUES),
    _must(slugs.RECURRENT_MODULE, "A recurrent module MUST give the values and gradients of its documented equations, computed step by step.", NN, GRUS, needs=(Capability.MODULES,)),
    _must(slugs.RECURRENT_PACKED, "A sequence in a packed batch MUST give the same values and gradients as it does alone.", PACK, needs=(Capability.MODULES,)),
    _must(slugs.RECURRENT_DETACHED_STATE, "If a recurrent state is detached when it is carried over, each part of the sequence MUST be walkable separately.", DETACH, GRUS, needs=(Capability.DETACH,), of=(STATE,)),
    _must(slugs.RECURRENT_CARRIED_STATE, "If a recurrent state is carried over without detaching it, the next backward call MUST reach the freed part, and raise.", BACKWARD, GRUS, SECOND_TIME, needs=(Capability.FREES,), of=(STATE, SAVING)),
    # autocast: blocks in which listed ops cast their operands
    _must(slugs.AUTOCAST_GRADIENT, "Under autocast, values and gradients MUST be those of the computation with its documented casts written out.", AMP, needs=(Capability.AUTOCAST,), of=(LISTED,), same_work=True),
    _must(slugs.AUTOCAST_NESTED, "Where autocast is switched off inside of a block, and after the block, ops MUST compute in the dtypes of their operands.", AMP, needs=(Capability.AUTOCAST,), of=(LISTED,), same_work=True),
    _must(slugs.AUTOCAST_UNRECORDED, "A leaf that a block uses under no_grad first MUST get its gradient through the later uses.", AMP, NO_GRAD, needs=(Capability.AUTOCAST, Capability.MODES), of=(LISTED,), same_work=True),
    _must(slugs.AUTOCAST_HIGHER, "A gradient that is differentiated under autocast MUST give the gradients of the computation with its documented casts written out.", AMP_EXAMPLES, needs=(Capability.AUTOCAST, Capability.CREATE_GRAPH, Capability.FUNCTIONAL), of=(LISTED,), same_work=True),
    _should(slugs.AUTOCAST_WRITTEN, "A leaf that is written to inside of a block SHOULD be used as it is from then on.", AMP, needs=(Capability.AUTOCAST, Capability.MODES, Capability.WRITES), of=(LISTED,), same_work=True),
    # training: loops
    _must(slugs.TRAINING_LOOP, "In a training loop, each forward pass MUST be recorded with the parameters' values at that time, and its gradients computed at these values.", MECHANICS, OPTIM, BUFFERS, needs=(Capability.OPTIMIZERS,), compares=Compares.VALUES, general=True, of=(TRAINING,)),
    _must(slugs.TRAINING_MICRO_BATCHES, "The gradients of parts of a batch, accumulated, MUST be the gradient of the whole batch.", MECHANICS, CHAIN_RULE, needs=(Capability.ACCUMULATES,), of=(TRAINING,)),
    _must(slugs.TRAINING_LOSSES, "Backward calls on several losses of one network MUST give the gradients of one backward call on their sum.", BACKWARD, CONTROLS, GRUS, needs=(Capability.ACCUMULATES, Capability.RETAIN), of=(TRAINING,)),
    _must(slugs.TRAINING_APART, "Networks that share nothing MUST train side by side exactly as each of them does alone.", MECHANICS, TWO_NETWORKS, needs=(Capability.OPTIMIZERS,), same_work=True, of=(TRAINING,)),
    # sequences: everything at once
    _must(slugs.SEQUENCES_HISTORY, "Earlier instructions of a program MUST affect a call only as the rules say.", MECHANICS),
    # documents: the claims of the articles
    _info(slugs.ARTICLES_CLAIMS, "The behaviour of a framework on the programs of the articles, which all other rules judge.", *ARTICLES),
)  # fmt: skip

RULES: dict[str, Rule] = {rule.slug: rule for rule in _RULES}
"""Every rule by its slug."""

FAMILIES: tuple[Family, ...] = tuple(dict.fromkeys(rule.family for rule in _RULES))
"""The families of rules, in the order of reports."""
