"""Loads the suite's pytest plugin in the checkout; if the checkout is not installed, prints the command to type."""

import sys
from importlib.util import find_spec
from pathlib import Path


def refuse(reason):
    """End pytest with a one-line message instead of a traceback."""
    print(reason, file=sys.stderr)
    raise SystemExit(4)


if sys.version_info < (3, 11):  # noqa: UP036 - pip has not checked the version in a clone
    refuse("the suite needs Python 3.11 or newer; this is {}.{}".format(*sys.version_info))

here = Path(__file__).resolve().parent
if not (here / "src" / "autograd_conformance" / "strategies").is_dir():
    refuse("symbolic links are missing from this clone; type: git config core.symlinks true && git checkout -- src")

found = find_spec("autograd_conformance")
if not (found and found.origin and Path(found.origin).resolve().parents[2] == here):
    refuse('this checkout is not installed; type: python -m pip install -e ".[torch]"')

pytest_plugins = ["autograd_conformance.plugin.hooks"]
