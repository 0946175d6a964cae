"""Tries each op of a framework, to find the features that it lacks.

A feature is missing if a name or a keyword is missing, or if the framework says that it does not implement the feature.
A feature that fails in another way is there, and the rules judge it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import Parameter, isroutine, signature

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.calls import Raised, attempt, reset
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.simplest_calls import calls_by_dimensions, simplest_calls
from autograd_conformance.frameworks.probing.smallest import CALLED, SMALLEST, Smallest
from autograd_conformance.frameworks.running.runner import Run
from autograd_conformance.frameworks.torchlike.interface import TorchInterface
from autograd_conformance.frameworks.torchlike.keywords import (
    DEVICE,
    INDICES,
    LAST_DIM,
    OF_INDICES,
    OF_ONE_NUMBER,
    OF_SEVERAL,
    PLACES,
    fixed,
    other_calls,
)
from autograd_conformance.frameworks.torchlike.refusals import OF_SHAPES, first_is_a_flag, refusal
from autograd_conformance.ops.catalogue import VOCABULARY, row_of
from autograd_conformance.ops.limits import Limit, limited
from autograd_conformance.ops.modules import TABLE
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.rows.row import Op, choices_of, rest_of, takes
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import Attrs, Instruction, Program, Shape
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.own_numpy import np

OTHER_INDICES = "it takes no indices that tensor() makes of integers"
"""The first words of the reason why an op fails that is not missing, but may be called with other indices."""


class _Trial(Run):
    """Runs a program, and raises the framework's error instead of recording it."""

    def raised(self, step: Instruction, error: BaseException):  # type: ignore[no-untyped-def]
        raise error


def tried(adapter: Adapter, program: Program) -> Observation | Raised:
    """Runs a program; returns what happened, or the first error."""
    try:
        return attempt(lambda: _Trial(program, adapter).observe())
    except AdapterError as error:  # what a method returned cannot be read, or a method that prepares a program raised
        return Raised(error.__cause__ or error)


# -- capabilities -----------------------------------------------------------------------------------------------------


def missing_capability(adapter: Adapter, capability: Capability) -> str | None:
    """Returns why a framework does not have a capability, by its smallest program; None if some program shows it."""
    if capability is Capability.COTANGENTS:
        backward = attempt(lambda: adapter.leaf(np.array(2.0), True).backward)
        flag = None if isinstance(backward, Raised) else first_is_a_flag(backward)
        if flag is not None:
            return f"the first argument of backward() is {flag}, and no gradient"
    first, *others = SMALLEST[capability].texts
    why = _missing(adapter, SMALLEST[capability], first)
    if why is None or any(_missing(adapter, SMALLEST[capability], text) is None for text in others):
        return None
    return why


def _missing(adapter: Adapter, smallest: Smallest, text: str) -> str | None:
    """Returns why a program does not show a capability; None if it shows it."""
    result = tried(adapter, parse(text, VOCABULARY))
    if isinstance(result, Raised) and smallest.refuses and " with " in text:
        called = tried(adapter, parse(CALLED, VOCABULARY))
        if isinstance(called, Raised) and not refusal(called.error):
            return f"a right call raises, too: {message(called.error)}"
    if isinstance(result, Raised) and smallest.refuses:
        # these are about the arguments of a call, and about leaves that no call makes
        is_first = text == smallest.text and not isinstance(result.error, TypeError | NotImplementedError)
        return None if is_first else refusal(result.error)
    if isinstance(result, Raised):
        return refusal(result.error)
    if smallest.refuses:
        return None if smallest.shows is not None and smallest.shows(result) else smallest.lacks
    return None if smallest.shows is None or smallest.shows(result) else smallest.lacks


def has_arrays_as_gradients(adapter: TorchInterface) -> bool:
    """Whether the gradient of a leaf is an array after a call, so that no program can assign a tensor in its place."""

    def held() -> object:
        reset(adapter)
        leaf = adapter.leaf(np.array(2.0), True)
        adapter.backward(adapter.apply("multiply", [leaf, leaf], ()), [None], None)
        return adapter.gradient(leaf)

    return isinstance(attempt(held), np.ndarray | np.generic)


# -- ops --------------------------------------------------------------------------------------------------------------


def operands_of(op: Op, shapes: Sequence[Shape], dtype: str) -> Iterator[np.ndarray]:
    """Yields an array inside the op's domain for each operand."""
    start = 0
    for k, shape in enumerate(shapes):
        free = (np.arange(start, start + size(shape)) * 0.375 % 4 + 0.25).reshape(shape)
        yield np.asarray(op.domain(k).fit(free), dtype)
        start += size(shape) + 1


def missing_op(adapter: Adapter, name: str, dtype: str, limit: Limit = Limit()) -> str | None:  # noqa: B008
    """Returns why a framework does not have an op or its derivative, within a limit; None if it has both."""
    op, why = limited(row_of(name), limit), None
    for error in _errors(adapter, op, dtype):
        if error is None:
            return None
        why = refusal(error, name not in TABLE) or _refusal_of_argument(error, op)
    return why


def _errors(adapter: Adapter, op: Op, dtype: str) -> Iterator[BaseException | None]:
    """Yields the error of each of an op's simplest calls, None for a call that returns."""
    for shapes, attrs in simplest_calls(op) if op.name in TABLE else calls_by_dimensions(op).values():
        called = attempt(lambda: _called(adapter, op, shapes, attrs, dtype))  # noqa: B023
        yield called.error if isinstance(called, Raised) else None


def other_call(adapter: TorchInterface, name: str, dtype: str, why: str) -> str | None:
    """Returns a template with which a framework has an op that it lacks, for the reason `why`, as PyTorch calls it;
    None if there is none.
    """
    code = adapter.code
    usual = code.templates.get(name, row_of(name).template)
    waiting = [(usual, why)] if isinstance(usual, str) else []
    try:
        while waiting:
            for template in other_calls(*waiting.pop(0)):
                limit = Limit(fixed(name, template))
                if not any(takes(limited(row_of(name), limit), shape) for shape in row_of(name).fresh):
                    continue
                adapter.code = code.with_templates({name: template})
                problem = missing_op(adapter, name, dtype, limit)
                if problem is not None:
                    waiting.append((template, problem))
                elif not why.startswith(OTHER_INDICES) or None in _errors(adapter, limited(row_of(name), limit), dtype):
                    return template
    finally:
        adapter.code = code
    return None


def _refusal_of_argument(error: BaseException, op: Op) -> str | None:
    """Returns why an error says that an op's code may not pass None, a tuple, one number for all dimensions or such
    indices, where PyTorch takes it; None if it does not say so.
    """
    code = op.torch if isinstance(op.torch, str) else ""
    if "None" in code and "'NoneType'" in str(error):
        return f"it takes no None: {message(error)}"
    if PLACES.match(code) and isinstance(error, TypeError) and OF_SEVERAL.search(str(error)):
        return f"it takes no number for all dimensions: {message(error)}"
    if OF_INDICES.search(str(error)) and INDICES.search(DEVICE.sub("", code)):
        return f"{OTHER_INDICES}: {message(error)}"
    is_about_tuple = isinstance(error, TypeError) and OF_ONE_NUMBER.search(str(error)) is not None
    return f"it takes no tuple: {message(error)}" if is_about_tuple and LAST_DIM.match(code) else None


def missing_dimensions(adapter: Adapter, name: str, dtype: str, limit: Limit) -> Iterator[tuple[int, str]]:
    """Yields the numbers of dimensions for which a framework refuses an op that it has, within a limit, each with the
    reason.
    """
    calls = calls_by_dimensions(limited(row_of(name), limit))
    for count, (shapes, attrs) in calls.items() if len(calls) > 1 else ():
        result = attempt(lambda: _called(adapter, row_of(name), shapes, attrs, dtype))  # noqa: B023
        why = refusal(result.error, True) if isinstance(result, Raised) else None
        if why is not None:
            yield count, why


def missing_broadcasts(adapter: Adapter, name: str, dtype: str, limit: Limit) -> str | None:
    """Returns why a framework takes the operands of an op that it has in one shape only; None if it takes other ones,
    or if its errors are not about shapes.
    """
    op, why = limited(row_of(name), limit), None
    if op.family != "binary":
        return None
    calls = [(first, *rest) for first in op.fresh for rest in rest_of(op, first)]
    for shapes in calls:
        if len({*shapes}) > 1 and all(map(size, shapes)):
            result = attempt(lambda: _called(adapter, op, shapes, choices_of(op, shapes)[0], dtype))  # noqa: B023
            if not isinstance(result, Raised) or not OF_SHAPES.search(str(result.error)):
                return None
            why = f"{type_of(result.error)}: {message(result.error)}"
    return why


def _called(adapter: Adapter, op: Op, shapes: Sequence[Shape], attrs: Attrs, dtype: str) -> None:
    """Applies an op to new leaves, and calls backward from its first result if that requires grad."""
    reset(adapter)
    leaves = [adapter.leaf(array, True) for array in operands_of(op, shapes, dtype)]
    first = adapter.apply(op.name, leaves, attrs)[0]
    if isroutine(first):
        raise NotImplementedError("it is a method, where PyTorch has a property")
    if Capability.IMPERATIVE in adapter.capabilities and adapter.requires_grad(first) is not False:
        given = np.ones_like(adapter.read(first)) if Capability.COTANGENTS in adapter.capabilities else None
        adapter.backward([first], [given], None)


def missing_write(adapter: Adapter, name: str, dtype: str) -> str | None:
    """Returns why a framework does not have an in-place op; None if it has it."""
    op = row_of(name)
    shapes, attrs = next(simplest_calls(op))
    reset(adapter)
    target, *rest = (adapter.leaf(array, False) for array in operands_of(op, shapes, dtype))
    result = attempt(lambda: adapter.write(name, target, rest, attrs))
    return refusal(result.error) if isinstance(result, Raised) else None


def missing_optimizer(adapter: Adapter, name: str) -> str | None:
    """Returns why a framework does not have an optimizer; None if it has it."""
    reset(adapter)
    leaf = adapter.leaf(np.array([1.0, 2.0]), True)
    result = attempt(lambda: adapter.optimizer([leaf], name, OPTIMIZERS[name].choices[0]))
    if isinstance(result, Raised) and isinstance(result.error, TypeError):
        return f"{type_of(result.error)}: {message(result.error)}"  # it takes other arguments, whatever its words are
    return refusal(result.error) if isinstance(result, Raised) else None


def other_defaults(adapter: TorchInterface, name: str) -> Iterator[tuple[str, str]]:
    """Yields the settings of an optimizer whose defaults differ from PyTorch's, each with both defaults in words. The
    rate is none of them, since every program gives it.
    """
    kind = getattr(adapter.torch.optim, OPTIMIZERS[name].torch)
    parameters = attempt(lambda: signature(kind).parameters)
    if isinstance(parameters, Raised):  # a class of a compiled module has no signature
        return
    for setting, usual in OPTIMIZERS[name].defaults:
        default = parameters[setting].default if setting in parameters else usual
        if setting != "lr" and default is not Parameter.empty and not _equal(default, usual):
            yield f"{name}.{setting}", f"its default is {default!r}, that of PyTorch {usual!r}: programs give it"


def _equal(default: object, usual: object) -> bool:
    """Whether a default is equal to PyTorch's, where a pair may be a list, and False may be None or 0."""
    if isinstance(usual, tuple) and isinstance(default, list | tuple):
        return tuple(default) == usual
    return default == usual or (not default and not usual)
