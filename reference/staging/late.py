"""JAX, optax and SciPy, imported when they are first used: what was staged before runs without them.

Importing them takes a second and a hundred megabytes, in each process of a run. JAX computes on the CPU and in float64,
whoever imports it.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any


class Late(ModuleType):
    """Stands for a module, which is imported when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks at a module without using it asks for these
            raise AttributeError(name)
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_ENABLE_X64"] = "true"
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)

jax, jnp, jax_core = Late("jax"), Late("jax.numpy"), Late("jax.extend.core")
optax = Late("optax")
special = Late("scipy.special")
