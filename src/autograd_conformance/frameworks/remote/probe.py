"""The probe of a server: finds forms of leaves that do not read back as written, by running programs."""

from __future__ import annotations

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.probing.probe import ProbeResult
from autograd_conformance.ops.rows.shapes import FORMS, size
from autograd_conformance.programs.language import Leaf, Literal, Program, Shape
from autograd_conformance.programs.observations import Raised, Returned


def probe(target: Target) -> ProbeResult:
    """Find the forms of leaves that a server's framework does not have."""
    dtype = target.dtypes[0]
    shapes = {name: shape for name, shape in FORMS.items() if not target.traits.scalars or shape == ()}
    found = {name: why for name, shape in shapes.items() if (why := _changed(target, dtype, shape))}
    notes = (f"{target.name}: {why}: leaves that are {name} are not drawn" for name, why in found.items())
    return ProbeResult(forms=frozenset(found), notes=tuple(notes))


def _changed(target: Target, dtype: str, shape: Shape) -> str | None:
    """Returns the reason why a leaf does not read back as written; None if it does."""
    what = f"a {dtype} leaf of shape {shape}"
    leaf = Leaf(Literal(tuple(float(k + 1) for k in range(size(shape))), shape, dtype))
    try:
        outcome = target.observe(Program((leaf,)))[0].outcome
    except ENDED as error:
        return f"{what} cannot be made and read ({error.how})"
    match outcome:
        case Raised(_, type_, message):
            return f"{what} cannot be made and read ({type_}: {message})"
        case Returned((value,)) if value is not None and value.value.shape != shape:
            return f"{what} reads back with shape {value.value.shape}"
    return None
