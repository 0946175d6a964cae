"""Networks: parameter leaves in a draft, and calls of them by a framework's modules or op by op.

`Network` says what every one has: its `parameters` (each leaf once), its `operands` by their `names` (where a leaf may
stand twice), and three ways to call it: `module`, `composed`, and `call`, which is one of both, as was drawn. A network
may be called as often as one likes; it is the same parameters each time.
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
