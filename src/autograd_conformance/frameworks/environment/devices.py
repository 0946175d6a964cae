"""Devices as users name them: `cuda:1`, or `package.module:npu` if a module provides the device."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BROUGHT = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<name>[^\W\d]\w*(:\d+)?)")
"""The pattern of a device with the module that provides it: ``package.module:npu``. It does not match ``cuda:1``,
because the name of a device does not begin with a digit.
"""


@dataclass(frozen=True)
class Device:
    """A device, and the module that provides it."""

    name: str
    """Name of the device in the framework."""
    module: str | None = None
    """Module to import so that the framework knows the device."""

    @classmethod
    def named(cls, text: str) -> Device:
        """Returns the device that a user named, as ``cuda:1`` or ``package.module:npu``."""
        brought = _BROUGHT.fullmatch(text)
        return cls(text) if brought is None else cls(brought["name"], brought["module"])
