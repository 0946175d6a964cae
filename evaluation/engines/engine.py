"""The engines whose source text is mutated, with the files that differentiate and the engine's own tests of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Engine:
    """An autograd engine written in Python."""

    name: str
    """The name of its adapter."""
    package: str
    """The package that is mutated."""
    version: str
    """The version whose results are stored."""
    files: tuple[str, ...]
    """Patterns of the files that differentiate, relative to the package."""
    added: tuple[str, ...] = ()
    """Files that were added to a sample that was judged already, each with its share of the places."""
    tests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Files of the engine's own tests, by the beginning of the mutated file's path; the first that fits counts."""
    deselected: tuple[str, ...] = ()
    """Own tests that fail on the unchanged engine."""
    notes: str = ""
    """Sentences for the page about the engine, its files and its own tests."""

    @property
    def folder(self) -> Path:
        """The folder of the installed package. The package is not imported for it."""
        spec = find_spec(self.package)
        assert spec is not None and spec.origin is not None, f"{self.package} is not installed"
        return Path(spec.origin).parent

    def mutated_files(self) -> list[str]:
        """The files that differentiate, in order."""
        folder = self.folder
        found = {path.relative_to(folder).as_posix() for each in self.files for path in folder.glob(each)}
        return sorted(file for file in found if not file.endswith("/__init__.py") or file in self.files)

    def own_tests(self, file: str) -> tuple[str, ...]:
        """The engine's own tests that are relevant to a file."""
        return next((tests for start, tests in self.tests.items() if file.startswith(start)), ())


MYGRAD = Engine(
    "mygrad",
    "mygrad",
    "2.5.0",
    (
        "math/*/ops.py", "math/_special.py", "linalg/funcs.py", "linalg/ops.py", "nnet/activations/*.py",
        "nnet/layers/batchnorm.py", "tensor_manip/*/ops.py", "indexing_routines/ops.py", "_tensor_core_ops/indexing.py",
        "operation_base.py", "tensor_base.py", "_utils/__init__.py", "_utils/graph_tracking.py",
    ),
    ("_utils/duplicating_graph.py",),
    {
        "math/sequential": ("tests/math/sequence", "tests/tensor_ops/test_sequence_ops.py"),
        "math/misc": ("tests/linalg/test_matmul.py", "tests/math", "tests/ufuncs"),
        "math/arithmetic": ("tests/tensor_ops/test_sequence_ops.py", "tests/math/binary", "tests/math/unary",
                            "tests/ufuncs", "tests/test_where_mask.py"),
        "math/": ("tests/math/unary", "tests/math/binary", "tests/ufuncs", "tests/test_where_mask.py"),
        "linalg/": ("tests/linalg",),
        "nnet/activations": ("tests/nnet/activations",),
        "nnet/layers": ("tests/nnet/layers/test_batchnorm.py",),
        "tensor_manip/tensor_joining": ("tests/test_tensor_joining.py",),
        "tensor_manip/array_shape": ("tests/test_tensor_manip.py", "tests/tensor_ops"),
        "tensor_manip/": ("tests/test_tensor_manip.py",),
        "indexing_routines/": ("tests/test_indexing_routines.py",),
        "_tensor_core_ops/": ("tests/tensor_ops", "tests/test_in_place_semantics.py", "tests/test_view_semantics.py"),
        "": ("tests/tensor_base", "tests/test_operation_base.py", "tests/test_constant_inference.py",
             "tests/test_no_autodiff.py", "tests/test_utils.py", "tests/test_view_semantics.py",
             "tests/test_in_place_semantics.py", "tests/tensor_ops", "tests/test_weakref.py",
             "tests/state_testing", "tests/ufuncs"),
    },
    notes="Files are left out that serve no op of the adapter: losses, convolutions, pooling and recurrent layers. The "
    "file with the copies of the graph that writes in place make was added later, with two mutants, its share. "
    "MyGrad's own tests are those of its repository in December 2025, with its Hypothesis profile `dev` (10 examples "
    "for each test, in place of 100) and a fixed seed; the tests that ran are about the changed file.",
)  # fmt: skip
"""MyGrad."""

AUTOGRAD = Engine(
    "autograd",
    "autograd",
    "1.9.1",
    ("numpy/numpy_vjps.py", "core.py", "tracer.py", "util.py"),
    (),
    {
        "numpy/": ("tests/test_scalar_ops.py", "tests/test_binary_ops.py", "tests/test_systematic.py",
                   "tests/test_numpy.py", "tests/test_complex.py"),
        "": ("tests/test_core.py", "tests/test_graphs.py", "tests/test_wrappers.py", "tests/test_vspaces.py",
             "tests/test_misc.py", "tests/test_scalar_ops.py", "tests/test_dict.py", "tests/test_list.py",
             "tests/test_tuple.py", "tests/test_builtins.py", "tests/test_numpy.py"),
    },
    notes="The first 20 mutants of a sample of 50; time did not suffice for more, nor for HIPS autograd's own tests.",
)  # fmt: skip
"""HIPS autograd."""

ENGINES = {engine.name: engine for engine in (MYGRAD, AUTOGRAD)}
"""The engines, by name."""
