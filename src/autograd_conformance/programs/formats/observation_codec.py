"""The JSON form of observations: exact both ways, so that a framework may run in another process, in any language.

An observation is a list, an object for each instruction. How the instruction ended is "returned" (the results),
"raised" (kind, type and message) or "skipped"; what was seen behind it stands under the names of `StepObservation`, and
is left out where there is nothing. Numbers are as in `programs.formats.codec`: finite ones are JSON numbers that read
back as the same double, the others are the strings "inf", "-inf" and "nan"; a complex number is a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, assert_never

from autograd_conformance.programs.foreign import arrays
from autograd_conformance.programs.foreign.arrays import NAMES
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.programs.language import SHOWING, Delete, Grad, Hook, Program, Ref, Step
from autograd_conformance.programs.observations import (
    Gradient,
    HookCall,
    Kind,
    Observation,
    Outcome,
    Raised,
    Returned,
    Skipped,
    StepObservation,
    Tensor,
    region_steps,
)
from autograd_conformance.programs.operands import holders, operands, results
from autograd_conformance.programs.own_numpy import np

Json = Any
SHOWN = 80
"""How many characters of a wrong answer are shown."""


class MalformedObservation(ValueError):
    """A JSON form is no observation of its program; the message says what is wrong, and at which instruction."""


# -- written


def to_json(observation: Observation) -> list[dict[str, Json]]:
    """The JSON form of an observation, as plain dicts and lists."""
    return [_step(seen) for seen in observation]


def _step(seen: StepObservation) -> dict[str, Json]:
    form = _outcome(seen.outcome)
    if seen.gradients:
        form["gradients"] = {
            str(ref): None if held is None else _gradient(held) for ref, held in seen.gradients.items()
        }
    if seen.values:
        form["values"] = {str(ref): _tensor(value) for ref, value in seen.values.items()}
    if seen.fired:
        form["fired"] = [_call(call) for call in seen.fired]
    if seen.saved is not None:
        form["saved"] = int(seen.saved)
    if seen.mutated:
        form["mutated"] = list(seen.mutated)
    if seen.region:
        form["unit"] = list(seen.region)
    if seen.unobserved:
        form["unseen"] = list(seen.unobserved)
    return form


def _outcome(outcome: Outcome) -> dict[str, Json]:
    match outcome:
        case Returned(values):
            return {"returned": [None if value is None else _tensor(value) for value in values]}
        case Raised(kind, type_, message):
            return {"raised": {"kind": kind.name, "type": type_, "message": message}}
        case Skipped():
            return {"skipped": True}
        case _:
            assert_never(outcome)


def _tensor(tensor: Tensor) -> dict[str, Json]:
    return _array(tensor.value, tensor.dtype) | _properties(tensor)


def _gradient(gradient: Gradient) -> dict[str, Json]:
    form = _array(gradient.value, gradient.dtype) | _properties(gradient)
    if gradient.identity is not None:
        form["identity"] = int(gradient.identity)
    return form


def _properties(seen: Tensor | Gradient) -> dict[str, Json]:
    form: dict[str, Json] = {}
    if seen.requires_grad is not None:
        form["requires_grad"] = seen.requires_grad
    if seen.memory is not None:
        form["memory"] = int(seen.memory)
    if seen.strides is not None:
        form["strides"] = list(map(int, seen.strides))
    return form


def _call(call: HookCall) -> dict[str, Json]:
    given = None if call.value is None else _array(call.value, call.dtype)
    return {"hook": str(call.hook), "gradient": given}


def _array(value: np.ndarray, dtype: str | None) -> dict[str, Json]:
    """An array of what calls itself `dtype`; "array" says the dtype of its numbers where that is another."""
    form: dict[str, Json] = {"shape": list(value.shape), "dtype": dtype, "data": _numbers(value)}
    if value.dtype is not NAMES.get(dtype or "") and value.dtype.name != dtype:  # asking for its name takes long
        form["array"] = value.dtype.name
    return form


def _numbers(value: np.ndarray) -> list[Json]:
    match value.dtype.kind:
        case "c":
            parts = value.ravel().astype(np.complex128).view(np.float64)
            return [list(pair) for pair in zip(*[iter(_numbers(parts))] * 2, strict=True)]
        case "f":
            flat = value.ravel().tolist() if value.itemsize <= 8 else value.ravel().astype(np.float64).tolist()
            total = sum(flat)
            return flat if total - total == 0 else [x if x - x == 0 else str(x) for x in flat]
        case "b" | "i" | "u":
            return value.ravel().tolist()
        case _:
            raise MalformedObservation(f"an array of {value.dtype} is no array of numbers")


# -- read


def from_json(form: Json, program: Program) -> Observation:
    """The observation of a program that a JSON form holds; `MalformedObservation` says what is wrong, and where.

    Everything that is looked at has to be there: each result, each gradient that is held, each value where all are.
    """
    if not isinstance(form, list):
        _refuse("an observation", form, "a list, an object for each instruction")
    if len(form) != len(program):
        raise MalformedObservation(f"it speaks of {len(form)} instructions, and the program has {len(program)}")
    observation = tuple([_read_step(at, step) for at, step in enumerate(form)])
    _possible(program, observation)
    if not region_steps(observation):  # what stays within a unit is not looked at
        _complete(program, observation)
    return observation


def _possible(program: Program, observation: Observation) -> None:
    """Refuse an instruction that was skipped though all that it needs was made, and one that ran though it was not."""
    made, failed = set[Ref](), _failed_units(observation)
    for at, (step, seen) in enumerate(zip(program, observation)):
        absent = [ref for ref in operands(step) if ref not in made]
        match seen.outcome:
            case Skipped() if not absent and at not in failed:
                raise MalformedObservation(f"instruction {at}: it was skipped, and every value that it needs was made")
            case Returned(values) if absent:
                raise MalformedObservation(
                    f"instruction {at}: it returned, and {absent[0]}, which it needs, was not made"
                )
            case Returned(values):
                known = [value is not None or not isinstance(step, Grad) for value in values] or [True] * results(step)
                made.update(Ref(at, k) for k in range(results(step)) if known[k : k + 1] == [True])


def _failed_units(observation: Observation) -> set[int]:
    """The instructions of units that raised, of which only the first is said to have done so."""
    return {at for seen in observation if isinstance(seen.outcome, Raised) for at in seen.region}


def _complete(program: Program, observation: Observation) -> None:
    """Refuse an observation in which something is missing, or seen that there is not."""
    held_by, alive = holders(program), set[Ref]()
    for at, (step, seen) in enumerate(zip(program, observation)):
        match seen.outcome:
            case Skipped():
                continue
            case Returned(values):
                made = [] if isinstance(step, Hook) else [Ref(at, k) for k in range(results(step))]
                due = len(step.leaves) if isinstance(step, Step) else len(made)
                if len(values) != due:
                    raise MalformedObservation(f"instruction {at}: it returned {len(values)} results, not {due}")
                if None in values and not isinstance(step, Grad):
                    raise MalformedObservation(f"instruction {at}: a result is null; only those of 'grad' may be")
                alive.update(ref for ref, value in zip(made, values) if value is not None)
                if isinstance(step, Delete):
                    alive.difference_update(step.values)
            case Raised():
                pass
            case _:
                assert_never(seen.outcome)
        if not results(step) or isinstance(step, Grad):
            _all("gradients", at, seen, seen.gradients, alive & held_by)
        if isinstance(step, SHOWING):
            _all("values", at, seen, seen.values, alive)


def _all(what: str, at: int, step: StepObservation, seen: Mapping[Ref, object], due: set[Ref]) -> None:
    """Hold what was seen to be about every value that it is due of; after an error less may have been seen."""
    if seen.keys() != due and (seen or isinstance(step.outcome, Returned)):
        names = [", ".join(map(str, sorted(refs))) or "none" for refs in (due, seen)]
        raise MalformedObservation(f"instruction {at}: {what!r} has to be about {names[0]}, and is about {names[1]}")


_SEEN = frozenset(
    {"returned", "raised", "skipped", "gradients", "values", "fired", "saved", "mutated", "unit", "unseen"}
)


def _read_step(at: int, form: Json) -> StepObservation:
    try:
        if not isinstance(form, Mapping):
            _refuse("what was seen", form, "an object")
        if not _SEEN.issuperset(form):
            raise MalformedObservation(f"{min(form.keys() - _SEEN)!r} is no part of an observation")
        outcome = _read_outcome(form)
        if len(form) == 1:
            return StepObservation(outcome)
        return StepObservation(
            outcome,
            {_ref(name): _optional(_read_gradient, held) for name, held in form.get("gradients", {}).items()},
            {_ref(name): _read_tensor(value) for name, value in form.get("values", {}).items()},
            tuple([_read_call(call) for call in form.get("fired", ())]),
            _optional(_whole, form.get("saved")),
            tuple(map(_whole, form.get("mutated", ()))),
            tuple(map(_whole, form.get("unit", ()))),
            tuple(map(_text, form.get("unseen", ()))),
        )
    except KeyError as error:
        raise MalformedObservation(f"instruction {at}: {error} is missing") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MalformedObservation(f"instruction {at}: {error}") from None


def _read_outcome(form: Mapping[str, Json]) -> Outcome:
    if ("returned" in form) + ("raised" in form) + ("skipped" in form) != 1:
        raise MalformedObservation("it says one of 'returned', 'raised' and 'skipped'")
    if "returned" in form:
        results = form["returned"]
        if not isinstance(results, list):
            _refuse("'returned'", results, "a list of all results, empty for what makes none")
        return Returned(tuple([_optional(_read_tensor, value) for value in results]))
    if "raised" in form:
        error = form["raised"]
        kind = Kind.__members__.get(error["kind"])
        if kind is None:
            raise MalformedObservation(
                f"there is no kind of error {error['kind']!r}; one that is not known is 'UNKNOWN'"
            )
        return Raised(kind, _text(error["type"]), _text(error["message"]))
    return Skipped()


def _read_tensor(form: Json) -> Tensor:
    value, dtype = _read_array(form)
    return Tensor(value, dtype, *_read_properties(form))


def _read_gradient(form: Json) -> Gradient:
    value, dtype = _read_array(form)
    return Gradient(value, dtype, _optional(_whole, form.get("identity")), *_read_properties(form))


def _read_properties(form: Mapping[str, Json]) -> tuple[bool | None, int | None, tuple[int, ...] | None]:
    requires, strides = form.get("requires_grad"), form.get("strides")
    if requires is not None and not isinstance(requires, bool):
        _refuse("'requires_grad'", requires, "true, false or null")
    return requires, _optional(_whole, form.get("memory")), None if strides is None else tuple(map(_whole, strides))


def _read_call(form: Json) -> HookCall:
    if form["gradient"] is None:
        return HookCall(_ref(form["hook"]), None)
    given = form["gradient"]
    return HookCall(_ref(form["hook"]), *_read_array(given))


def _read_array(form: Json) -> tuple[np.ndarray, str]:
    if not isinstance(form, Mapping):
        _refuse("a tensor", form, "an object with 'shape', 'dtype' and 'data'")
    dtype, shape, data = _text(form["dtype"]), form["shape"], form["data"]
    try:
        arrays.dtype_of(dtype)
        elements = _elements(data, form.get("array", dtype)).reshape([_whole(size) for size in shape])
        return arrays.numbers(elements, dtype), dtype
    except arrays.InvalidArray as error:
        raise MalformedObservation(f"'array' is {form.get('array')!r}, and the data have to be {error}") from None
    except arrays.InvalidDtype as error:
        raise MalformedObservation(f"'dtype': {error}") from None


def _elements(data: Json, name: Json) -> np.ndarray:
    """The elements of an array, flat, in the dtype of a name."""
    dtype = _dtype(name)
    if dtype is None:
        raise MalformedObservation(
            f"{name!r} is no dtype that data can be read in ({', '.join(NAMES)}); where the dtype is another, "
            "'array' says in which of these its data stand"
        )
    if not isinstance(data, list):
        _refuse("'data'", data, "a list of all elements in row-major order")
    if dtype.kind == "c":
        return np.array([complex(*map(_number, pair)) for pair in data], dtype)
    if not _KINDS[dtype.kind].issuperset(map(type, data)):
        for x in data:
            if x is None:
                raise MalformedObservation('null is no number; write "nan", "inf" or "-inf"')
            if dtype.kind != "f" or isinstance(x, bool):
                _refuse(
                    f"an element of {name} data", x, "true or false" if dtype.kind == "b" else "a number of that kind"
                )
            _number(x)
    return np.array(data, dtype)


def _dtype(name: Json) -> np.dtype | None:
    """The dtype in which data stand: those that not every machine has go by the name of the widest here, too."""
    return np.dtype("longdouble") if name == "longdouble" else NAMES.get(name)


_KINDS: dict[str, set[type]] = {"f": {float, int}, "i": {int}, "u": {int}, "b": {bool}}
"""The types that the elements of arrays of a kind have in JSON, but for floats that JSON lacks."""


def _number(x: Json) -> float:
    if isinstance(x, (list, dict)):
        _refuse("'data'", x, "flat, a number in each place")
    if isinstance(x, str) and x not in ("inf", "-inf", "nan"):
        _refuse("a number", x, "a JSON number")
    return float(x)


def _optional(read: Any, form: Json) -> Any:
    return None if form is None else read(form)


def _whole(form: Json) -> int:
    if form.__class__ is not int:
        _refuse("a number", form, "a whole number")
    return form


def _text(form: Json) -> str:
    return harmless(form) if isinstance(form, str) else _refuse("a name", form, "text")


_REFS: dict[str, Ref] = {str(Ref(at)): Ref(at) for at in range(200)}


def _ref(text: Json) -> Ref:
    known = _REFS.get(text)
    if known is not None:
        return known
    at, _, output = str(text).removeprefix("%").partition(".")
    if not (str(text).startswith("%") and at.isdecimal() and (output or "0").isdecimal()):
        _refuse("a value's name", text, "like %3 or %3.1")
    return Ref(int(at), int(output or 0))


def _refuse(what: str, got: Json, wanted: str) -> NoReturn:
    shown = harmless(repr(got))
    raise MalformedObservation(
        f"{what} has to be {wanted}, not {shown if len(shown) <= SHOWN else f'{shown[:SHOWN]} ...'}"
    )
