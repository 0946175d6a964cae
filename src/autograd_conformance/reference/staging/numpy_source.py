"""Translation of JAX functions to NumPy functions: JAX traces and differentiates, NumPy runs the result.

Compiling with XLA costs about 45 ms for each op, shape and attribute, and running un-jitted about 1 ms per op, but the
arrays of a drawn program have six elements. So a function is traced once with `jax.make_jaxpr`, and its jaxpr,
a flat list of simple equations, becomes straight-line NumPy source. The body of a `lax.scan` becomes a separate
function, which a loop calls. Differentiation is JAX's own: a gradient is staged from the jaxpr of `jax.vjp`.
`tests/reference/test_reference.py` compares the staged functions with JAX running the originals, and every verdict that
is not a plain pass is recomputed by JAX itself (`reference.whole_program`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.primitives import PRIMITIVES
from autograd_conformance.reference.staging.source import Reads, Source

if TYPE_CHECKING:
    import jax
    import jax.extend.core as jax_core
else:
    from autograd_conformance.reference.staging.lazy_modules import jax, jax_core

_INLINED = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr",
    "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
}  # fmt: skip


TRACES = 1000
"""Number of traces between two clearings of JAX's caches, which take a hundred megabytes, while few traces are
repeated."""

_TRACED = count(1)


def stage(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Source:
    """Returns the source of a NumPy function that computes what `function` computes on float64 arrays of the given
    shapes, as a tuple.
    """
    avals = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes]
    source = _Writer().write(jax.make_jaxpr(function)(*avals))
    if next(_TRACED) % TRACES == 0:
        jax.clear_caches()  # other users of JAX in this process compile again
    return source


class _Line(NamedTuple):
    """A line of NumPy source: the names that it makes, its left-hand side, its expression, and the names that it reads.

    `depends` lists, for each name that it makes, the positions in `args` of the names on which that one depends; None
    means all.
    """

    made: list[str]
    target: str
    code: str
    args: list[str]
    depends: Reads | None = None


def named(
    closed: jax_core.ClosedJaxpr,
    arguments: Sequence[str],
    constant: Callable[[Any], str],
    equation: Callable[[Any, list[str]], list[str]],
) -> list[str]:
    """Writes the equations of a jaxpr, and returns the names of its results, given the names of its arguments.
    `constant` names a constant. `equation` writes an equation, given the names of its operands, and names its results.
    """
    jaxpr = closed.jaxpr
    name: dict[Any, str] = dict(zip(jaxpr.invars, arguments, strict=True))
    name.update({v: constant(c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True)})

    def read(atom: Any) -> str:
        return constant(atom.val) if isinstance(atom, jax_core.Literal) else name[atom]

    for eqn in jaxpr.eqns:
        name.update(zip(eqn.outvars, equation(eqn, [read(a) for a in eqn.invars]), strict=True))
    return [read(v) for v in jaxpr.outvars]


class _Writer:
    """Writes the NumPy source of functions, and assigns names to variables and constants in the order of their use."""

    def __init__(self) -> None:
        self.constants: dict[str, Any] = {}
        self.portable = True
        self.functions: list[str] = []
        self.body: list[_Line] = []
        self.names = 0

    def write(self, closed: jax_core.ClosedJaxpr) -> Source:
        reads = self._function("staged", closed)
        return Source("".join(self.functions), self.constants, reads, self.portable)

    def _function(self, name: str, closed: jax_core.ClosedJaxpr) -> Reads:
        """Writes one function, after the functions that it calls; returns, for each of its results, the arguments on
        which the result depends.
        """
        outer, self.body = self.body, []
        arguments = [self._fresh("x") for _ in closed.jaxpr.invars]
        made = self._inline(closed, arguments)
        results = [f"np.float64{r}" if r.startswith("(") else r for r in made]
        lines = "".join(f"    {line.target} = {line.code}\n" for line in self._live(results))
        returned = "".join(f"{r}, " for r in results)
        self.functions.append(f"def {name}({', '.join(arguments)}):\n{lines}    return ({returned})\n")
        reads = self._reads(arguments, made)
        self.body = outer
        return reads

    def _fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _constant(self, value: Any) -> str:
        array = np.asarray(value)
        if array.ndim == 0 and array.dtype == np.float64 and np.isfinite(array):
            return f"({float(array)!r})"
        name = self._fresh("c")
        self.constants[name] = array[()]
        return name

    def _inline(self, closed: jax_core.ClosedJaxpr, arguments: Sequence[str]) -> list[str]:
        return named(closed, arguments, self._constant, self._equation)

    def _equation(self, eqn: Any, args: list[str]) -> list[str]:
        primitive = eqn.primitive.name
        if primitive in _INLINED:
            inner = eqn.params[_INLINED[primitive]]
            return self._inline(
                inner if isinstance(inner, jax_core.ClosedJaxpr) else jax_core.ClosedJaxpr(inner, ()), args
            )
        if primitive == "iota":
            return [self._constant(_run(eqn)())]
        made = [self._fresh("v") for _ in eqn.outvars]
        if primitive == "scan" and (loop := _loop(eqn.params)) is not None:
            self.body.append(self._scan(eqn, args, made, *loop))
            return made
        target = ", ".join(made) + ("," if eqn.primitive.multiple_results else "")
        try:
            self.body.append(_Line(made, target, PRIMITIVES[primitive](args, eqn.params, eqn), args))
        except KeyError:  # no expression for the primitive, or this version of JAX names its settings otherwise
            run = self._fresh("jax_")
            self.constants[run] = _run(eqn)
            self.portable = False
            self.body.append(_Line(made, target, f"{run}({', '.join(args)})", args))
        return made

    def _scan(self, eqn: Any, args: list[str], made: list[str], consts: int, carries: int) -> _Line:
        """Returns the line that calls `scan`, a loop over the first dimension of the equation's last operands; the
        loop's body is a function. The first operands are the constants, the next ones the carries.
        """
        body = self._fresh("body")
        reads = self._function(body, eqn.params["jaxpr"])
        stacked = tuple((tuple(v.aval.shape), str(v.aval.dtype)) for v in eqn.outvars[carries:])
        parts = (args[:consts], args[consts : consts + carries], args[consts + carries :])
        given = ", ".join(f"({''.join(f'{a}, ' for a in part)})" for part in parts)
        code = f"scan({body}, {given}, {eqn.params['length']}, {eqn.params['reverse']}, {stacked})"
        return _Line(made, f"{', '.join(made)},", code, args, _looped(reads, consts, carries))

    def _live(self, results: list[str]) -> Iterator[_Line]:
        """Returns the lines on which the results depend, in order."""
        needed, kept = set(results), []
        for line in reversed(self.body):
            if needed.intersection(line.made):
                needed.update(line.args)
                kept.append(line)
        return reversed(kept)

    def _reads(self, arguments: list[str], results: list[str]) -> Reads:
        """Returns, for each result, the positions of the arguments on which the result depends."""
        nothing: frozenset[int] = frozenset()
        read = {name: frozenset([at]) for at, name in enumerate(arguments)}
        for line in self.body:
            upstream = [read.get(a, nothing) for a in line.args]
            for k, name in enumerate(line.made):
                on = range(len(upstream)) if line.depends is None else line.depends[k]
                read[name] = nothing.union(*(upstream[i] for i in on))
        return tuple(read.get(r, nothing) for r in results)


def _loop(params: dict[str, Any]) -> tuple[int, int] | None:
    """Returns the numbers of constants and carries of a `scan`, under the names that JAX has for them up to 0.10 and
    from 0.11. None if it has others: then JAX runs the loop, which is slower.
    """
    match params:
        case {"num_consts": int(consts), "num_carry": int(carries)}:
            return consts, carries
        case {"ft_in": tree}:
            consts, carries, _ = tree.unpack()
            return len(consts), len(carries)
        case _:
            return None


def _looped(reads: Reads, consts: int, carries: int) -> Reads:
    """Computes the dependencies of a loop's results from those of its body's results; a carry also depends on its
    initial value.
    """
    found = [read | {consts + k} if k < carries else read for k, read in enumerate(reads)]
    while True:
        carried = [frozenset(range(consts, consts + carries)) & read for read in found]
        wider = [read.union(*(found[i - consts] for i in on)) for read, on in zip(found, carried, strict=True)]
        if wider == found:
            return tuple(found)
        found = wider


def _run(eqn: Any) -> Callable[..., Any]:
    """Returns a function in which JAX runs a primitive for which there is no NumPy expression."""

    def run(*args: Any) -> Any:
        typed = [jax.numpy.asarray(a, dtype=v.aval.dtype) for a, v in zip(args, eqn.invars, strict=True)]
        out = eqn.primitive.bind(*typed, **eqn.params)
        return [np.asarray(o) for o in out] if eqn.primitive.multiple_results else np.asarray(out)

    return run
