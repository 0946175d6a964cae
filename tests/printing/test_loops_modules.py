"""A module whose parameters no other module uses is constructed once and called in the loop."""

from __future__ import annotations

import pytest

from autograd_conformance.programs.formats.text import parse
from tests.printing.looping import W, alike, repeated


def cells(op: str, gates: int, states: str) -> str:
    """A training loop of a recurrent network whose state is carried over and detached."""
    rows = [float(k + 1) for k in range(gates)]
    weight, bias, its = str([[row] for row in rows]), str(rows), states.split()
    before = [
        f"w = leaf {weight}; u = leaf {weight}; b = leaf {bias}; d = leaf {bias}; optimizer w, u, b, d sgd lr=0.1"
    ]
    before += [f"{s}-1 = leaf [[0.5]] const" for s in its]
    detached = "".join(f"{s}k@ = detach {s}^; " for s in its)
    made, read = ", ".join(f"{s}@" for s in its), " ".join(f"{s}k@" for s in its)
    settings = "layers=1 directions=1 batch_first=False bias=True state=True lengths=None"
    body = f"x@ = leaf [[@], [1]] const; t@ = leaf [[1], [@]] const; {detached}"
    body += f"y@, {made} = {op} x@ {read} w u b d {settings}; l@ = mse_loss y@ t@ reduction='mean';"
    body += "zero w, u, b, d; backward l@; clip_grad w, u, b, d norm 1.0;"
    return repeated(f"{body} step w, u, b, d sgd lr=0.1", 3, "; ".join(before))


LEARNED = "l@ = mean z@ dim=None keepdim=False; zero w, b; backward l@; step w, b sgd lr=0.1"
MODULES = {
    "gru": cells("nn_gru", 3, "h"),
    "lstm": cells("nn_lstm", 4, "h c"),
    "linear": repeated(f"x@ = leaf [[@, 1]] const; z@ = nn_linear x@ w b bias=True; {LEARNED}", 3, W),
    "a linear module in a linear module": repeated(
        f"x@ = leaf [[@, 1]] const; y@ = nn_linear x@ w b bias=True; z@ = nn_linear y@ v bias=False; {LEARNED}",
        2,
        f"{W}; v = leaf [[2], [1]]",
    ),
    "a weight of two modules": repeated(
        f"x@ = leaf [[@, 1]] const; y@ = nn_linear x@ w b bias=True; k@ = nn_linear x@ w bias=False;"
        f"z@ = add y@ k@; {LEARNED}",
        2,
        W,
    ),
    "a norm": repeated(
        f"x@ = leaf [[@, 1], [2, 5]] const; z@ = nn_layer_norm x@ w b normalized_shape=(2,) affine=True; {LEARNED}",
        2,
        "w = leaf [1, 2]; b = leaf [0.5, 1]",
    ),
    "a convolution": repeated(
        f"x@ = leaf [[[@, 1, 2]]] const; z@ = nn_conv1d x@ w b stride=1 padding=0 bias=True; {LEARNED}",
        2,
        "w = leaf [[[1, 2]]]; b = leaf [0.5]",
    ),
    "attention": repeated(
        "x@ = leaf [[[@, 1], [2, 1]]] const; z@ = nn_attention x@ i j w b heads=1 bias=True batch_first=True "
        f"memory=False mask='causal' padding=None need_weights=False; {LEARNED}",
        2,
        "i = leaf [[1, 0], [0, 1], [1, 1], [2, 1], [1, 0], [0, 1]]; j = leaf [0, 0, 0, 0, 1, 1]; "
        "w = leaf [[1, 0], [1, 1]]; b = leaf [0.5, 1]",
    ),
}


@pytest.mark.parametrize("text", MODULES.values(), ids=MODULES.keys())
def test_modules_in_loops_do_what_the_lines_do(text: str) -> None:
    alike(parse(text))


def test_what_it_prints_of_modules() -> None:
    lines = alike(parse(MODULES["gru"])).splitlines()
    assert lines[0] == "gru = torch.nn.GRU(1, 1, dtype=torch.float64)"
    assert lines[1] == "gru.weight_ih_l0 = torch.nn.Parameter(torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64))"
    assert "    out, h = gru(x, h)" in lines
    assert "optimizer = torch.optim.SGD(gru.parameters(), lr=0.1)" in lines
    assert "    out, (h, c) = lstm(x, (h, c))" in alike(parse(MODULES["lstm"])).splitlines()
    assert alike(parse(MODULES["a convolution"])).startswith(
        "conv1d = torch.nn.Conv1d(1, 1, (2,), dtype=torch.float64)"
    )
    assert "functional_call" in alike(parse(MODULES["a weight of two modules"]))
