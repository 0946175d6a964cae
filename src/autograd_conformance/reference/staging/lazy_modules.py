"""JAX, optax and SciPy, imported when they are first used: what was staged before runs without them.

Importing them takes a second and a hundred megabytes, in each process of a run. JAX computes on the CPU and in float64,
whoever imports it, and by its own defaults, whatever the user's environment says: a setting by which JAX refuses what
the reference does would be taken for a fault.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

SETTINGS = {
    "jax_enable_x64": True,
    "jax_numpy_rank_promotion": "allow",
    "jax_numpy_dtype_promotion": "standard",
    "jax_debug_nans": False,
    "jax_debug_infs": False,
    "jax_disable_jit": False,
    "jax_check_tracer_leaks": False,
}
"""JAX's settings that the reference depends on."""


class LazyModule(ModuleType):
    """Stands for a module, which is imported when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks at a module without using it asks for these
            raise AttributeError(name)
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


os.environ.setdefault("JAX_PLATFORMS", "cpu")
for _name, _value in SETTINGS.items():
    os.environ[_name.upper()] = str(_value).lower()
    if "jax" in sys.modules:
        sys.modules["jax"].config.update(_name, _value)

jax, jnp, jax_core = LazyModule("jax"), LazyModule("jax.numpy"), LazyModule("jax.extend.core")
optax = LazyModule("optax")
special = LazyModule("scipy.special")
