"""JAX, optax and SciPy, imported at their first use, because functions that are already staged run without them.

Importing them takes a second and a hundred megabytes, in each process of a run. JAX computes on the CPU and in float64,
whoever imports it first. Its other settings have their defaults, whatever the user's environment says: a setting by
which JAX refuses a computation of the reference would otherwise look like a fault of the framework.
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
"""JAX's settings on which the reference depends, with the values to which this module sets them."""


class LazyModule(ModuleType):
    """A placeholder for a module, which imports the module when an attribute is first read."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # code that inspects modules reads these without using the module
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
