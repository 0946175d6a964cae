"""The JSON form of observations: exact both ways, so that a framework may run in another process, in any language.

An observation is a list with an object for each instruction. The outcome is "returned" (the results), "raised" (kind,
type and message) or "skipped". The other fields have the names of `StepObservation`, except for "unit" (`region`) and
"unseen" (`unobserved`), and are left out if they are empty. Numbers are as in `programs.formats.codec`: finite ones are
JSON numbers that read back as the same double, the others are the strings "inf", "-inf" and "nan"; a complex number is
a pair.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn, assert_never

from autograd_conformance.programs.foreign import arrays
from autograd_conformance.programs.foreign.arrays import NAMES
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.programs.language import SHOWING, Apply, Delete, Grad, Hook, Program, Ref, Step
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
"""The most characters of an invalid value that a message shows."""


class MalformedObservation(ValueError):
    """A JSON form is not an observation of its program; the message names the instruction and the problem."""


# -- writing


def to_json(observation: Observation) -> list[dict[str, Json]]:
    """Returns the JSON form of an observation, as plain dicts and lists."""
    return [_step(observed) for observed in observation]


def _step(observed: StepObservation) -> dict[str, Json]:
    form = _outcome(observed.outcome)
    if observed.gradients:
        form["gradients"] = {
            str(ref): None if gradient is None else _gradient(gradient) for ref, gradient in observed.gradients.items()
        }
    if observed.values:
        form["values"] = {str(ref): _tensor(value) for ref, value in observed.values.items()}
    if observed.fired:
        form["fired"] = [_call(call) for call in observed.fired]
    if observed.saved is not None:
        form["saved"] = int(observed.saved)
    if observed.mutated:
        form["mutated"] = list(observed.mutated)
    if observed.region:
        form["unit"] = list(observed.region)
    if observed.unobserved:
        form["unseen"] = list(observed.unobserved)
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


def _properties(observed: Tensor | Gradient) -> dict[str, Json]:
    form: dict[str, Json] = {}
    if observed.requires_grad is not None:
        form["requires_grad"] = observed.requires_grad
    if observed.memory is not None:
        form["memory"] = int(observed.memory)
    if observed.strides is not None:
        form["strides"] = list(map(int, observed.strides))
    return form


def _call(call: HookCall) -> dict[str, Json]:
    given = None if call.value is None else _array(call.value, call.dtype)
    return {"hook": str(call.hook), "gradient": given}


def _array(value: np.ndarray, dtype: str | None) -> dict[str, Json]:
    """Returns the JSON form of an array of the named dtype. "array" names the dtype of the numbers if it differs."""
    form: dict[str, Json] = {"shape": list(value.shape), "dtype": dtype, "data": _numbers(value)}
    if value.dtype is not NAMES.get(dtype or "") and value.dtype.name != dtype:  # computing the name is slow
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
            raise MalformedObservation(f"an array of {value.dtype} is not an array of numbers")


# -- reading


def from_json(form: Json, program: Program, cuts: Collection[str] = ()) -> Observation:
    """Returns the observation of a program, read from its JSON form; `MalformedObservation` names the instruction and
    the problem.

    The observation has to be complete: every result, every gradient of a value that may have one, and all values after
    an instruction that shows them. `cuts` are the ops that cut an operand into as many results as its shape says: if
    one returned another number, the shape may be wrong, so the observation ends there with an undecided error.
    """
    if not isinstance(form, list):
        _refuse("an observation", form, "a list, an object for each instruction")
    if len(form) != len(program):
        raise MalformedObservation(f"it has {len(form)} instructions, but the program has {len(program)}")
    observation = tuple([_read_step(at, step) for at, step in enumerate(form)])
    whole = _up_to_other_count(program, observation, cuts)
    _possible(program, whole)
    if not region_steps(whole):  # the values inside a region are not observed
        _complete(program, whole)
    return (*whole, *[StepObservation(Skipped())] * (len(program) - len(whole)))


def _up_to_other_count(program: Program, observation: Observation, cuts: Collection[str]) -> Observation:
    """Returns the observation up to the first op of `cuts` that returned another number of results than it has to,
    which has an undecided error as its outcome.
    """
    for at, (step, observed) in enumerate(zip(program, observation)):
        match step, observed.outcome:
            case Apply(op), Returned([_, *_] as values) if op in cuts and len(values) != results(step):
                what = f"apply({op!r}) gave {len(values)} results, not {results(step)}"
                return (*observation[:at], StepObservation(Raised(Kind.UNDECIDED, "OtherCount", what)))
    return observation


def _possible(program: Program, observation: Observation) -> None:
    """Raises `MalformedObservation` if an instruction was skipped although all its operands exist, or ran although one
    does not.
    """
    made, failed = set[Ref](), _failed_regions(observation)
    for at, (step, observed) in enumerate(zip(program, observation)):
        absent = [ref for ref in operands(step) if ref not in made]
        match observed.outcome:
            case Skipped() if not absent and at not in failed:
                raise MalformedObservation(f"instruction {at}: it was skipped, although all values that it needs exist")
            case Returned(values) if absent:
                raise MalformedObservation(
                    f"instruction {at}: it returned, although {absent[0]}, which it needs, does not exist"
                )
            case Returned(values):
                known = [value is not None or not isinstance(step, Grad) for value in values] or [True] * results(step)
                made.update(Ref(at, k) for k in range(results(step)) if known[k : k + 1] == [True])


def _failed_regions(observation: Observation) -> set[int]:
    """Returns the numbers of the instructions in regions (compiled or checkpointed functions) that raised; only the
    first instruction of such a region has the error as its outcome.
    """
    return {at for observed in observation if isinstance(observed.outcome, Raised) for at in observed.region}


def _complete(program: Program, observation: Observation) -> None:
    """Raises `MalformedObservation` if an observation lacks a result, gradient or value, or contains one that does not
    exist.
    """
    may_have_grad, alive = holders(program), set[Ref]()
    for at, (step, observed) in enumerate(zip(program, observation)):
        match observed.outcome:
            case Skipped():
                continue
            case Returned(values):
                made = [] if isinstance(step, Hook) else [Ref(at, k) for k in range(results(step))]
                expected = len(step.leaves) if isinstance(step, Step) else len(made)
                if len(values) != expected:
                    raise MalformedObservation(f"instruction {at}: it returned {len(values)} results, not {expected}")
                if None in values and not isinstance(step, Grad):
                    raise MalformedObservation(f"instruction {at}: a result is null; only those of 'grad' may be")
                alive.update(ref for ref, value in zip(made, values) if value is not None)
                if isinstance(step, Delete):
                    alive.difference_update(step.values)
            case Raised():
                pass
            case _:
                assert_never(observed.outcome)
        if not results(step) or isinstance(step, Grad):
            _require_all("gradients", at, observed, observed.gradients, alive & may_have_grad)
        if isinstance(step, SHOWING):
            _require_all("values", at, observed, observed.values, alive)


def _require_all(what: str, at: int, step: StepObservation, observed: Mapping[Ref, object], expected: set[Ref]) -> None:
    """Raises `MalformedObservation` unless the observation covers exactly the expected values; after an error, it may
    cover none.
    """
    if observed.keys() != expected and (observed or isinstance(step.outcome, Returned)):
        names = [", ".join(map(str, sorted(refs))) or "none" for refs in (expected, observed)]
        raise MalformedObservation(f"instruction {at}: {what!r} has to contain {names[0]}, but contains {names[1]}")


_KEYS = frozenset(
    {"returned", "raised", "skipped", "gradients", "values", "fired", "saved", "mutated", "unit", "unseen"}
)


def _read_step(at: int, form: Json) -> StepObservation:
    try:
        if not isinstance(form, Mapping):
            _refuse("the observation of an instruction", form, "an object")
        if not _KEYS.issuperset(form):
            raise MalformedObservation(f"{min(form.keys() - _KEYS)!r} is not a field of an observation")
        outcome = _read_outcome(form)
        if len(form) == 1:
            return StepObservation(outcome)
        return StepObservation(
            outcome,
            {_ref(name): _optional(_read_gradient, gradient) for name, gradient in form.get("gradients", {}).items()},
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
        raise MalformedObservation("it must have exactly one of 'returned', 'raised' and 'skipped'")
    if "returned" in form:
        results = form["returned"]
        if not isinstance(results, list):
            _refuse("'returned'", results, "a list of all results, empty for an instruction without results")
        return Returned(tuple([_optional(_read_tensor, value) for value in results]))
    if "raised" in form:
        error = form["raised"]
        kind = Kind.__members__.get(error["kind"])
        if kind is None:
            raise MalformedObservation(
                f"there is no kind of error {error['kind']!r}; write 'UNKNOWN' for all other errors"
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
        raise MalformedObservation(f"'array' is {form.get('array')!r}, and its data have to be {error}") from None
    except arrays.InvalidDtype as error:
        raise MalformedObservation(f"'dtype': {error}") from None


def _elements(data: Json, name: Json) -> np.ndarray:
    """Returns the elements of an array, flat, in the named dtype."""
    dtype = _dtype(name)
    if dtype is None:
        raise MalformedObservation(
            f"{name!r} is not a dtype in which data can be given ({', '.join(NAMES)}); where the dtype is another, "
            "'array' names the one of these in which its data are given"
        )
    if not isinstance(data, list):
        _refuse("'data'", data, "a list of all elements in row-major order")
    if dtype.kind == "c":
        return np.array([complex(*map(_number, pair)) for pair in data], dtype)
    if not _KINDS[dtype.kind].issuperset(map(type, data)):
        for x in data:
            if x is None:
                raise MalformedObservation('null is not a number; write "nan", "inf" or "-inf"')
            if dtype.kind != "f" or isinstance(x, bool):
                _refuse(
                    f"an element of {name} data", x, "true or false" if dtype.kind == "b" else "a number of that kind"
                )
            _number(x)
    return np.array(data, dtype)


def _dtype(name: Json) -> np.dtype | None:
    """Returns the dtype of stored data, or None if its name is unknown; "longdouble" is the widest float of this
    machine, which has different names on different machines.
    """
    return np.dtype("longdouble") if name == "longdouble" else NAMES.get(name)


_KINDS: dict[str, set[type]] = {"f": {float, int}, "i": {int}, "u": {int}, "b": {bool}}
"""The JSON types of array elements, by the kind of the dtype; infinities and NaN are strings."""


def _number(x: Json) -> float:
    if isinstance(x, (list, dict)):
        _refuse("'data'", x, "a flat list of numbers")
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
