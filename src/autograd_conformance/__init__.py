"""A conformance suite for reverse-mode automatic differentiation.

Pytest need not rewrite its assertions: PYTEST_DONT_REWRITE.
"""

from autograd_conformance.package.current_folder import leave

leave()

from autograd_conformance.package.moved import install  # noqa: E402

install()
