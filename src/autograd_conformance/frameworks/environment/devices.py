"""Devices by the names that users give them: `cuda:1`, or, where a module brings the device, `package.module:npu`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BROUGHT = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<name>[^\W\d]\w*(:\d+)?)")
"""A module and a device's name; behind the colon of `cuda:1` stands a number."""


@dataclass(frozen=True)
class Device:
    """A device, and where it comes from."""

    name: str
    """What the framework calls it."""
    module: str | None = None
    """The module that has to be imported for the framework to know it."""

    @classmethod
    def named(cls, text: str) -> Device:
        """The device that a user names."""
        brought = _BROUGHT.fullmatch(text)
        return cls(text) if brought is None else cls(brought["name"], brought["module"])
