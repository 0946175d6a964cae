"""A draft: a program under construction, with the objects that draw its instructions."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import DefaultDtype
from autograd_conformance.strategies.building.alphabet import current
from autograd_conformance.strategies.building.drafts.actions import Actions
from autograd_conformance.strategies.building.drafts.operands import Operands
from autograd_conformance.strategies.building.drafts.ops import Ops
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.drafts.writes import Writes
from autograd_conformance.strategies.building.randomness.choices import Choices

OTHER_DEFAULT = "float64"
"""The default dtype of some programs that compute in a narrower one."""


class Draft:
    """A program under construction. It requires only capabilities that the framework claims.

    A draft that is `tracked` follows the tape, the model of what a framework recorded, so later instructions build on
    the state of a framework that follows the rules. One that is not tracked may contain only ops, backward calls, and
    instructions that always return.
    """

    def __init__(self, choices: Choices, dtype: str | None = None, tracked: bool = True) -> None:
        self.choices = choices
        """Draws numbers, and elements of sequences."""

        self.alphabet = current()
        """The ops, dtypes and capabilities that the program may use."""

        self.script = Script(self.alphabet, tracked)
        """The instructions so far, with their exact values."""

        self.operands = Operands(self.script, choices, dtype)
        """Draws tensors, and adds leaves."""

        self.ops = Ops(self.script, choices, self.operands, portable=tracked)
        """Adds drawn ops."""

        self.writes = Writes(self.script, choices, self.operands, self.ops)
        """Adds drawn in-place ops."""

        self.actions = Actions(self.script, choices, self.operands, self.ops)
        """Adds backward calls, hooks, optimizer steps and all other actions (instructions other than ops)."""

        # what nearly every situation uses, under a short name
        self.below, self.pick = choices.below, choices.pick
        self.can, self.require, self.available = self.alphabet.can, self.alphabet.require, self.alphabet.available
        self.reference, self.dtypes = self.script.reference, self.script.dtypes
        self.shape, self.requires, self.under = self.script.shape, self.script.requires, self.script.under
        self.leaf, self.leaf_of, self.vector = self.operands.leaf, self.operands.leaf_of, self.operands.vector
        self.apply, self.detach = self.script.apply, self.script.detach
        self.program, self.drawn = self.script.program, self.script.drawn

    def begin(self) -> None:
        """Begins a program; one time in twelve with float64 as default dtype, if the program computes in another
        one.
        """
        # drawn in either dtype, so that a program shrinks from one dtype to the other
        rare = self.can(Capability.DEFAULT_DTYPE) and self.choices.rarely("default")
        if rare and self.operands.dtype != OTHER_DEFAULT:
            self.script.add(DefaultDtype(OTHER_DEFAULT))
