"""The versions of PyTorch whose error messages the suite knows."""

from __future__ import annotations

from importlib.metadata import version

from autograd_conformance.frameworks.torchlike.errors import MESSAGES as MESSAGES

READ_FROM = "2.13."
"""Prefix of the PyTorch versions that have the messages in `torchlike.errors.MESSAGES`. In other versions, an unknown
error may be one of these in other words.
"""


def insists() -> tuple[str, ...]:
    """Returns the value of `insists` of PyTorch's adapters: ``("errors",)`` if the installed version has the messages
    in `torchlike.errors.MESSAGES`, so that every error with which PyTorch refuses a call is known; empty for any other
    version.
    """
    return ("errors",) if version("torch").startswith(READ_FROM) else ()
