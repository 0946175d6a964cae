"""A cotangent is code that runs after the first lines of the script."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from autograd_conformance.frameworks.torchlike.dialect import dialect
from autograd_conformance.printing.dialect import cotangent
from autograd_conformance.programs.language import Literal

EMPTY, FULL = Literal((), (2, 0)), Literal((1.5, 2.0), (2,))
TEMPLATES = {"import numpy": "numpy.array({data}, '{dtype}')", "import numpy as np": "np.array({data}, np.{dtype})"}


@pytest.mark.parametrize(("prelude", "template"), TEMPLATES.items(), ids=TEMPLATES)
@pytest.mark.parametrize("value", [EMPTY, FULL], ids=["empty", "full"])
def test_an_array_is_made_by_the_name_that_the_script_imports(prelude: str, template: str, value: Literal) -> None:
    names: dict[str, object] = {}
    exec(prelude, names)
    made = eval(cotangent(value, replace(dialect(), prelude=prelude, cotangent=template)), names)
    assert isinstance(made, numpy.ndarray)
    assert (made.shape, made.tolist()) == (value.shape, [[], []] if value is EMPTY else [1.5, 2.0])
