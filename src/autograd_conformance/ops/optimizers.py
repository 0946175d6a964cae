"""The table of optimizers: their names, the settings that programs draw, and the sources of their formulas.

A row contains everything about an optimizer except its arithmetic, which is a function of `reference.optimizers`.
Settings have PyTorch's names and defaults. Learning rates and decays are binary fractions: small enough that ten steps
keep values small, and large enough that a step changes them visibly. A large `eps` shows whether it is added inside or
outside the square root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autograd_conformance.programs.language import Attr, Attrs

FOR_LOOP: Attrs = (("foreach", False),)
FOREACH: Attrs = (("foreach", True),)
FUSED: Attrs = (("fused", True),)
IMPLEMENTATION = ("foreach", "fused")
"""Settings that choose among implementations of one formula."""


@dataclass(frozen=True, slots=True)
class Row:
    """The row of one optimizer in the table: names, settings, variants and sources, but not the arithmetic."""

    name: str
    """The optimizer's name in programs, such as ``adam``."""
    torch: str
    """The name of the optimizer's class in `torch.optim`, such as ``Adam``."""
    defaults: Attrs
    """All settings of the optimizer's formula, with PyTorch's defaults."""
    choices: tuple[Attrs, ...]
    """The combinations of settings that drawn programs use, the simplest first."""
    variants: tuple[Attrs, ...]
    """PyTorch's implementations of the optimizer on the CPU, as settings: ``(("foreach", True),)``."""
    overrides: tuple[str, ...]
    """The settings that a parameter group may override."""
    sources: tuple[tuple[str, str], ...]
    """For each setting, the definition that the suite's reference implementation follows: ``("lr", "optax.sgd")``."""

    def formula(self, settings: Mapping[str, Attr]) -> dict[str, Attr]:
        """Returns all settings of the optimizer's formula, in a fixed order, with defaults for those not given;
        `foreach` and `fused` may be given and are left out.

        Raises ValueError if a given setting is not one of the optimizer's.
        """
        known = dict(self.defaults)
        unknown = [name for name in settings if name not in known and name not in IMPLEMENTATION]
        if unknown:
            raise ValueError(f"{self.name} has no setting {', '.join(unknown)}; it has {', '.join(known)}")
        return {name: settings.get(name, default) for name, default in known.items()}


_DECAY = ("weight_decay", "optax.add_decayed_weights, before everything except the sign")
_SIGN = ("maximize", "optax.scale(-1), before everything else")
_ADAM_DEFAULTS: Attrs = (
    ("lr", 0.001), ("betas", (0.9, 0.999)), ("eps", 1e-8), ("weight_decay", 0.0), ("amsgrad", False),
    ("maximize", False),
)  # fmt: skip
_AMSGRAD = (
    "amsgrad",
    "published formula: Reddi, Kale and Kumar 2018, algorithm 2, with the bias corrections of PyTorch's documentation; "
    "it takes the maximum of averaged squares before the bias correction, optax.scale_by_amsgrad after it",
)
_QUICK: tuple[str, Attr] = ("betas", (0.5, 0.75))


def _choices(*settings: tuple[tuple[str, Attr], ...], lr: float = 0.125) -> tuple[Attrs, ...]:
    return tuple((("lr", lr), *more) for more in ((), *settings))


_ROWS = (
    Row(
        name="sgd",
        torch="SGD",
        defaults=(
            ("lr", 0.001), ("momentum", 0.0), ("dampening", 0.0), ("weight_decay", 0.0), ("nesterov", False),
            ("maximize", False),
        ),
        choices=_choices(
            (("momentum", 0.5),),
            (("momentum", 0.5), ("nesterov", True)),
            (("weight_decay", 0.25),),
            (("momentum", 0.5), ("dampening", 0.5)),
            (("maximize", True),),
            (("momentum", 0.75), ("weight_decay", 0.25), ("nesterov", True)),
            (("momentum", 0.5), ("dampening", 0.25), ("weight_decay", 0.25), ("maximize", True)),
        ),
        variants=(FOR_LOOP, FOREACH, FUSED),
        overrides=("lr", "momentum", "dampening", "weight_decay", "maximize"),
        sources=(
            ("lr", "optax.sgd"),
            ("momentum", "optax.trace, in optax.sgd"),
            ("nesterov", "optax.trace(nesterov=True), in optax.sgd"),
            _DECAY,
            _SIGN,
            ("dampening", "published formula: PyTorch's documentation of SGD, after Sutskever et al. 2013; "
             "the first step is not dampened; optax has none"),
        ),
    ),
    Row(
        name="adam",
        torch="Adam",
        defaults=_ADAM_DEFAULTS,
        choices=_choices(
            (_QUICK,),
            (_QUICK, ("weight_decay", 0.25)),
            (_QUICK, ("eps", 0.125)),
            (_QUICK, ("amsgrad", True)),
            (_QUICK, ("maximize", True)),
            (_QUICK, ("eps", 0.0625), ("weight_decay", 0.25), ("amsgrad", True), ("maximize", True)),
        ),
        variants=(FOR_LOOP, FOREACH, FUSED),
        overrides=("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize"),
        sources=(("lr", "optax.adam"), ("betas", "optax.adam"), ("eps", "optax.adam"), _DECAY, _SIGN, _AMSGRAD),
    ),
    Row(
        name="adamw",
        torch="AdamW",
        defaults=tuple({**dict(_ADAM_DEFAULTS), "weight_decay": 0.01}.items()),
        choices=_choices(
            (_QUICK, ("weight_decay", 0.25)),
            (_QUICK, ("weight_decay", 0.0)),
            (_QUICK, ("weight_decay", 0.25), ("eps", 0.125)),
            (_QUICK, ("weight_decay", 0.25), ("amsgrad", True)),
            (_QUICK, ("weight_decay", 0.25), ("maximize", True)),
            (_QUICK, ("weight_decay", 0.5), ("eps", 0.0625), ("amsgrad", True), ("maximize", True)),
        ),
        variants=(FOR_LOOP, FOREACH, FUSED),
        overrides=("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize"),
        sources=(
            ("lr", "optax.adamw"),
            ("betas", "optax.adamw"),
            ("eps", "optax.adamw"),
            ("weight_decay", "optax.adamw: decoupled, Loshchilov and Hutter 2019"),
            _SIGN,
            _AMSGRAD,
        ),
    ),
    Row(
        name="adagrad",
        torch="Adagrad",
        defaults=(
            ("lr", 0.01), ("lr_decay", 0.0), ("weight_decay", 0.0), ("initial_accumulator_value", 0.0), ("eps", 1e-10),
            ("maximize", False),
        ),
        choices=_choices(
            (("lr_decay", 0.5),),
            (("initial_accumulator_value", 0.25),),
            (("weight_decay", 0.25),),
            (("eps", 0.125),),
            (("maximize", True),),
            (("lr_decay", 0.25), ("weight_decay", 0.25), ("initial_accumulator_value", 0.5), ("eps", 0.0625),
             ("maximize", True)),
        ),
        variants=(FOR_LOOP, FOREACH, FUSED),
        overrides=("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "maximize"),
        sources=(
            ("lr", "published formula: Duchi, Hazan and Singer 2011, as PyTorch's documentation of Adagrad has it"),
            ("lr_decay", "published formula: PyTorch's documentation of Adagrad; optax.adagrad has none"),
            ("initial_accumulator_value", "published formula: the start of the sum, as in optax.adagrad"),
            ("eps", "published formula: PyTorch's documentation of Adagrad adds it to the root; optax.scale_by_rss "
             "adds it under the root"),
            _DECAY,
            _SIGN,
        ),
    ),
    Row(
        name="rmsprop",
        torch="RMSprop",
        defaults=(
            ("lr", 0.01), ("alpha", 0.99), ("eps", 1e-8), ("weight_decay", 0.0), ("momentum", 0.0), ("centered", False),
            ("maximize", False),
        ),
        choices=_choices(
            (("alpha", 0.75),),
            (("alpha", 0.75), ("momentum", 0.5)),
            (("alpha", 0.75), ("centered", True)),
            (("alpha", 0.75), ("weight_decay", 0.25)),
            (("alpha", 0.75), ("eps", 0.125)),
            (("alpha", 0.75), ("maximize", True)),
            (("alpha", 0.875), ("eps", 0.0625), ("weight_decay", 0.25), ("momentum", 0.5), ("centered", True),
             ("maximize", True)),
            lr=0.0625,
        ),
        variants=(FOR_LOOP, FOREACH),  # PyTorch 2.13 has no fused one
        overrides=("lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize"),
        sources=(
            ("lr", "optax.rmsprop(eps_in_sqrt=False)"),
            ("alpha", "optax.scale_by_rms(eps_in_sqrt=False), in optax.rmsprop"),
            ("eps", "optax.scale_by_rms(eps_in_sqrt=False), in optax.rmsprop"),
            ("momentum", "optax.trace, in optax.rmsprop: after the rate, which is equivalent if the rate is constant"),
            ("centered", "optax.scale_by_stddev(eps_in_sqrt=False), in optax.rmsprop"),
            _DECAY,
            _SIGN,
        ),
    ),
)  # fmt: skip

OPTIMIZERS: dict[str, Row] = {row.name: row for row in _ROWS}
