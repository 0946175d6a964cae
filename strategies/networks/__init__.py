"""Networks: parameter leaves of a program under construction, to be called by a framework's modules or op by op.

A `Network` has `parameters` (each leaf once), `operands` with their `names` (where a leaf may occur twice), and three
ways to call it: `module`, `composed`, and `call`, which is one of these two, as drawn. A network can be called any
number of times with the same parameters.
"""

from __future__ import annotations

from autograd_conformance.strategies.networks.convolutional import Convolutional, convolutional
from autograd_conformance.strategies.networks.linear import Linear, Mlp, linear, mlp
from autograd_conformance.strategies.networks.network import Network
from autograd_conformance.strategies.networks.norm import LayerNorm, layer_norm
from autograd_conformance.strategies.networks.recurrent import CELLS, Recurrent, recurrent
from autograd_conformance.strategies.networks.transformer import Transformer, transformer

__all__ = [
    "CELLS",
    "Convolutional",
    "LayerNorm",
    "Linear",
    "Mlp",
    "Network",
    "Recurrent",
    "Transformer",
    "convolutional",
    "layer_norm",
    "linear",
    "mlp",
    "recurrent",
    "transformer",
]
