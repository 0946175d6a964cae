"""The guide to adapters quotes the worked example, which conforms."""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import fields
from types import ModuleType

import numpy as np
import pytest
import torch

from autograd_conformance.authoring.check import Blame, check
from autograd_conformance.checking.soundness.templates import FIELDS
from autograd_conformance.frameworks.loading.entry_points import GROUP
from autograd_conformance.frameworks.loading.requirements import ATTRIBUTES, METHODS
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import known
from autograd_conformance.ops.catalogue import VOCABULARY, WRITES
from autograd_conformance.ops.limits import Limit
from autograd_conformance.ops.rows.row import choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned
from examples.functional_adapter import Functions
from examples.synapgrad_adapter import Synapgrad
from tests.plugin.test_cli import ROOT, run

GUIDE = (ROOT / "docs" / "adapter.md").read_text()
NAMES = ("tiny_adapter", "micrograd_adapter", "offloaded_mode", "synapgrad_adapter", "functional_adapter")
EXAMPLES = [(ROOT / "examples" / f"{name}.py").read_text() for name in NAMES]
QUOTES = re.findall(r"^```python\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: quote.strip().splitlines()[0])
def test_the_guide_quotes_an_adapter(quote):
    assert any(quote in adapter or textwrap.indent(quote, "    ") in adapter for adapter in EXAMPLES)


def test_the_guide_speaks_of_all_that_an_adapter_has():
    assert len(QUOTES) >= 5
    assert [name for name in (*METHODS, *ATTRIBUTES) if f"`{name}`" not in GUIDE] == []


def test_the_guide_describes_each_field_of_a_limit():
    assert [each.name for each in fields(Limit) if f"\n| `{each.name}` | " not in GUIDE] == []


def test_the_guide_lists_each_template_with_its_fields_and_pytorchs_code():
    dialect = Torch().dialect
    for name, names in FIELDS.items():
        shown = f"`{example}`" if (example := getattr(dialect, name)) else ""
        assert f"\n| `{name}` | {', '.join(f'`{{{each}}}`' for each in names)} | {shown} |\n" in GUIDE


def test_the_functional_adapter_of_the_guide_has_nothing_to_mend():
    assert [each for each in check(InProcess(Functions())) if each.blame is not Blame.NOTE] == []


def test_the_torch_like_adapter_of_the_guide_prints_what_it_calls(monkeypatch):
    """The framework is PyTorch with NumPy's dtypes and another keyword of `sum`."""
    module = ModuleType("synapgrad")
    module.tensor = lambda data, dtype=None, requires_grad=False: torch.tensor(  # type: ignore[attr-defined]
        np.asarray(data, dtype), requires_grad=requires_grad
    )
    module.sum = lambda x, dim, keepdims: torch.sum(x, dim, keepdim=keepdims)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "synapgrad", module)
    target = InProcess(Synapgrad())
    assert "sum" in target.ops and target.dtypes == USUAL
    leaves = "a = leaf f32 [[1, 2], [3, 4]]; e = leaf (0,) []"
    program = parse(f"{leaves}; b = sum a dim=(1,) keepdim=True; backward b with f32 [[1], [2]]", VOCABULARY)
    for one, two in zip(target.observe(program), target.observe_printed(program), strict=True):
        assert isinstance(one.outcome, Returned) and isinstance(two.outcome, Returned)
        for value, other in zip(one.outcome.values, two.outcome.values, strict=True):
            assert (value.dtype, value.value.tolist()) == (other.dtype, other.value.tolist())


@pytest.mark.parametrize("kind", [Limit, Traits])
def test_the_guide_says_from_where_to_import_what_its_examples_use(kind: type):
    assert f"`from {kind.__module__} import {kind.__name__}`" in GUIDE


def test_the_first_page_names_the_commands_for_a_framework():
    readme = (ROOT / "README.md").read_text()
    assert all(each in readme for each in ("autograd-conformance probe ", "--framework-python PATH"))


def test_an_empty_tuple_of_dimensions_is_only_for_a_number():
    assert "is `()` only for a number" in (ROOT / "docs" / "ops.md").read_text()
    for row in (*OPS.values(), *WRITES.values()):
        for shapes in ((first, *rest) for first in row.fresh if takes(row, first) for rest in rest_of(row, first)):
            for attrs in map(dict, choices_of(row, shapes)):
                assert () not in (attrs.get("dim"), attrs.get("dims")) or shapes[0] == (), (row.name, shapes)


def test_the_known_difference_in_the_guide_can_be_read(tmp_path):
    (block,) = re.findall(r"^```toml\n(\[\[known\]\].*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "tiny.toml").write_text(block)
    (entry,) = known("tiny", [tmp_path])
    assert (entry.rule, entry.op) == ("gradients/op", "hardsigmoid")


def test_the_guide_shows_how_an_adapter_is_registered():
    assert f'[project.entry-points."{GROUP}"]\n' in GUIDE


@pytest.mark.slow
def test_the_worked_example_is_conformant(tmp_path):
    seen = run(tmp_path, "--hypothesis-seed=1")
    assert seen.code == 0, seen.output
    (quoted,) = re.findall(r"^CONFORMANT\. .*", GUIDE, flags=re.MULTILINE)
    assert quoted in " ".join(seen.output.split())
    assert seen.report.header.framework.ops == 7
