"""Mutants whose fault is in the gradients of modules; the values of the modules are right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from autograd_conformance.ops.modules import MODULES, inputs, parameters
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, Recording, gated

CELLS = ("nn_rnn", "nn_gru", "nn_lstm")
Tensors = Sequence[torch.Tensor]


def names(op: str, attrs: Attrs, x: torch.Tensor) -> list[str]:
    """The names of a module's operands."""
    sizes = defaultdict[str, int](lambda: 1)
    return [name for name, _ in (*inputs(op, attrs, sizes, tuple(x.shape)), *parameters(op, attrs, sizes))]


def changed(attrs: Attrs, **settings: object) -> Attrs:
    """A module's settings with some of them replaced."""
    return tuple({**dict(attrs), **settings}.items())  # type: ignore[arg-type]


def through(values: Tensors, way: Tensors) -> Tensors:
    """The `values` with the gradients of `way`, tensors of the same shapes."""
    return [value.detach() + (other - other.detach()) for value, other in zip(values, way, strict=True)]


class Modules(Mutant):
    """A mutant whose fault is in modules: `gate` changes an operand of a module, by its name."""

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        """Apply an op; the operands of a module pass through `gate`."""
        if op in MODULES:
            named = zip(operands, names(op, attrs, operands[0]), strict=True)
            operands = [self.gate(x, name, op, dict(attrs), operands[0]) for x, name in named]
        return super().apply(op, operands, attrs)

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        """The value that a module uses for an operand; here the operand itself."""
        return value


# -- recurrent modules -------------------------------------------------------------------------------------------------


class Truncates(Mutant):
    """Backpropagation through a recurrent module stops after two time steps."""

    killed_by = ("recurrent/gradient", "recurrent/module")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        settings = dict(attrs)
        along = 1 if op in CELLS and settings["batch_first"] and operands[0].ndim == 3 else 0
        length = operands[0].shape[along] if operands[0].ndim else 0
        if op not in CELLS or length < 3 or settings["lengths"] or settings["layers"] * settings["directions"] > 1:
            return made
        states = len(made) - 1
        weights = operands[1 + states * bool(settings["state"]) :]
        starts = operands[1 : 1 + states] if settings["state"] else [torch.zeros_like(s) for s in made[1:]]
        given, last = changed(attrs, state=True), operands[0].narrow(along, length - 2, 2)
        before, *kept = super().apply(op, (operands[0].narrow(along, 0, length - 2), *starts, *weights), given)
        after, *ends = super().apply(op, (last, *(s.detach() for s in kept), *weights), given)
        return [torch.cat([before, after], along), *ends]


class ReverseForgotten(Modules):
    """A bidirectional module's weights of the reverse direction get gradients of zero."""

    killed_by = ("recurrent/gradient", "recurrent/module")
    longest = 13
    why_long = "a bidirectional module has an input, a state and eight parameters, each a line"

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        return gated(value, torch.zeros_like) if name.endswith("_reverse") else value


class WrongAtLengthOne(Modules):
    """A recurrent module doubles the gradients of its weights if the sequence has one step."""

    killed_by = ("recurrent/gradient", "recurrent/module")

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        single = op in CELLS and x.shape[1 if settings["batch_first"] and x.ndim == 3 else 0] == 1
        return gated(value, lambda g: 2 * g) if single and name.startswith("weight") else value


class FirstStateDropped(Modules):
    """A recurrent module propagates no gradient to an initial state that is a leaf."""

    killed_by = ("recurrent/gradient", "recurrent/module")
    longest = 9

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        return value.detach() if name in ("h0", "c0") and value.is_leaf else value


class SecondBiasDoubled(Modules):
    """The gradients of the biases of a recurrent module's second layer are doubled."""

    killed_by = ("recurrent/module", "recurrent/gradient")
    longest = 15
    why_long = "a module of two layers has an input and eight parameters, each a line"

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        return gated(value, lambda g: 2 * g) if name in ("bias_ih_l1", "bias_hh_l1") else value


class HiddenBiasForgotten(Modules):
    """The hidden-to-hidden biases of a recurrent module get no gradient."""

    killed_by = ("recurrent/gradient", "recurrent/module")

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        return value.detach() if name.startswith("bias_hh") else value


class LastStateAlone(Modules):
    """The gradients through a recurrent module's final states are doubled."""

    killed_by = ("recurrent/gradient", "recurrent/module")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        out, *rest = super().apply(op, operands, attrs)
        return [out, *(gated(s, lambda g: 2 * g) for s in rest)] if op in CELLS else [out, *rest]


class PaddingContributes(Mutant):
    """The gradients of a packed batch are those of the padded batch."""

    killed_by = ("recurrent/packed",)
    longest = 11
    why_long = "a module has an input and up to five parameters, each a line"

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        if op not in CELLS or dict(attrs)["lengths"] is None:
            return made
        return through(made, super().apply(op, operands, changed(attrs, lengths=None)))


class DetachesState(Modules):
    """A recurrent module detaches its initial state."""

    killed_by = ("recurrent/carried-state", "recurrent/gradient")
    longest = 12
    why_long = "a module has an input, a state and up to four parameters, and its state has to come from somewhere"

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        if name not in ("h0", "c0") or not value.requires_grad or value.is_leaf:
            return value
        return value.detach().requires_grad_()


class KeepsHistory(Recording):
    """A product, a linear layer or a recurrent module propagates gradients through a detached operand to its source."""

    killed_by = ("recurrent/detached-state",)
    longest = 14
    why_long = "a module has an input, a state and up to four parameters, and its state has to come from somewhere"

    def reset(self) -> None:
        super().reset()
        self.sources: dict[int, torch.Tensor] = {}

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        made = value.detach()
        self.values.append(made)
        self.sources[id(made)] = value
        return made

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op in (*CELLS, "multiply", "linear", "linear_bias") and any(x.requires_grad for x in operands):
            operands = [self.sources.get(id(x), x) for x in operands]
        return super().apply(op, operands, attrs)


# -- other modules -----------------------------------------------------------------------------------------------------


class MaskIgnored(Mutant):
    """The gradients of attention ignore its mask."""

    killed_by = ("networks/module", "networks/gradient")
    longest = 10

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        if op != "nn_attention" or dict(attrs)["mask"] is None:
            return made
        return through(made, super().apply(op, operands, changed(attrs, mask=None)))


class PaddedKeysLearn(Mutant):
    """The gradients of an encoder layer ignore its key padding mask."""

    killed_by = ("networks/gradient", "networks/module")
    longest = 18
    why_long = "an encoder layer has an input and a dozen parameters, each a line"

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        if op != "nn_transformer" or dict(attrs)["padding"] is None:
            return made
        return through(made, super().apply(op, operands, changed(attrs, padding=None)))


class NormIsConstant(Modules):
    """Layer normalisation treats the mean and the standard deviation as constants in its derivative."""

    killed_by = ("networks/gradient", "networks/module")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        if op != "nn_layer_norm":
            return made
        x, *scales = operands
        dims = tuple(range(-len(dict(attrs)["normalized_shape"]), 0))
        spread = x.detach().var(dims, correction=0, keepdim=True)
        way = (x - x.detach().mean(dims, keepdim=True)) / torch.sqrt(spread + 1e-5)
        return through(made, [way * scales[0] + scales[1] if scales else way])


class RunningAsBatch(Mutant):
    """Batch normalisation by running statistics has the gradients of batch normalisation by batch statistics."""

    killed_by = ("networks/gradient", "networks/module")
    longest = 14
    why_long = "running statistics, weights and biases are separate lines"

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        if op != "nn_batch_norm_eval":
            return made
        x, _, _, *scales = operands
        return through(made, super().apply("nn_batch_norm", (x, *scales), attrs))


class ConvolutionForgets(Modules):
    """A convolution with a stride above one gives its input a gradient of zeros."""

    killed_by = ("networks/gradient", "networks/module")
    longest = 11
    why_long = "weights and biases are separate lines, and a loss is a sum of squares"

    def gate(self, value: torch.Tensor, name: str, op: str, settings: dict, x: torch.Tensor) -> torch.Tensor:
        return gated(value, torch.zeros_like) if name == "x" and settings.get("stride", 1) > 1 else value


class BiasOnce(Modules):
    """A linear layer's bias gets the first sample's gradient times the number of samples instead of the sum over
    samples.
    """

    killed_by = ("networks/module", "networks/gradient")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op != "nn_linear" or len(operands) < 3 or operands[0].ndim != 2:
            return super().apply(op, operands, attrs)
        x, weight, bias = operands
        (made,) = super().apply(op, (x, weight), changed(attrs, bias=False))
        rows = gated(bias.expand_as(made), lambda g: g[:1].expand_as(g)) if bias.requires_grad else bias
        return (made + rows,)
