"""The ways in which functional frameworks differentiate a function, as templates of code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

WEIGHTED = '''

def weighted(function, cotangents):
    """Returns a function with one number as its result: the sum of the function's results, weighted by cotangents."""

    def total(*inputs):
        results = function(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        return sum(np.sum(given * result) for given, result in zip(cotangents, results))

    return total
'''
"""The code of a function for frameworks that differentiate functions with one number as their result only."""


@dataclass(frozen=True)
class Way:
    """A way to differentiate a function."""

    called: str
    """The function of the framework that it calls."""
    vjp: str
    """Template of the expression for the gradients, as a sequence: see `printing.dialect.Dialect.vjp`. The framework's
    module is `ad`.
    """
    prelude: str = ""
    """Code that the expression needs, after the imports."""


WAYS = (
    Way("make_vjp", "ad.make_vjp({function}, ({places},))({inputs})[0]({cotangent})"),
    Way("vjp", "ad.vjp({function}, {inputs})[1]({cotangent})"),
    Way("vjp", "ad.vjp({function}, ({places},))({inputs})[1]({cotangent})"),
    Way("vjp", "ad.vjp({function}, [{inputs}], [{cotangents}])[1]"),
    Way("grad", "ad.grad(weighted({function}, [{cotangents}]), ({places},))({inputs})", WEIGHTED),
)
"""All ways, the best first: HIPS autograd; JAX; advect; MLX; and any `grad` of a function with one result."""

TOGETHER = ("({values},)", "ad.builtins.tuple(({values},))")
"""Templates of several results of a differentiated function: a tuple, or the tuple of HIPS autograd."""


class Differentiator:
    """Computes gradients by the code of a way. The functions of the code are made once for each number of arguments."""

    def __init__(self, way: Way, together: str, scope: Mapping[str, object]) -> None:
        self.way, self.together = way, together
        self._scope = dict(scope)
        exec(way.prelude, self._scope)
        self._made: dict[tuple[int, int], Callable[..., object]] = {}
        self.bundle: Callable[..., object] = eval(f"lambda *x: {together.format(values='*x')}", self._scope)
        """Returns several results of a differentiated function as the framework expects them."""

    def __call__(
        self, function: Callable[..., object], inputs: tuple[object, ...], given: tuple[object, ...]
    ) -> object:
        """Returns the gradients of a function at some inputs, for some cotangents."""
        key = (len(inputs), len(given))
        if key not in self._made:
            self._made[key] = eval(self._code(*key), self._scope)
        return self._made[key](function, *inputs, *given)

    def _code(self, inputs: int, given: int) -> str:
        """Returns the code of a function of the function, its inputs and the cotangents."""
        xs, cs = [f"x{k}" for k in range(inputs)], [f"c{k}" for k in range(given)]
        cotangents = ", ".join(cs)
        places = ", ".join(map(str, range(inputs)))
        return f"lambda function, {', '.join([*xs, *cs])}: " + self.way.vjp.format(
            function="function", inputs=", ".join(xs), places=places, cotangents=cotangents,
            cotangent=cs[0] if given == 1 else f"({cotangents})",
        )  # fmt: skip
