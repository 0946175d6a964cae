"""The checkout's pytest loads the suite's plugin; where that is not installed from here, it says what to type."""

import sys
from importlib.util import find_spec
from pathlib import Path


def refuse(reason):
    """End pytest with one line; a traceback through pytest would hide it."""
    print(reason, file=sys.stderr)
    raise SystemExit(4)


if sys.version_info < (3, 11):  # noqa: UP036 - in a clone nobody has asked pip
    refuse("the suite needs Python 3.11 or newer, and this is {}.{}".format(*sys.version_info))

here = Path(__file__).resolve().parent
if not (here / "src" / "autograd_conformance" / "strategies").is_dir():
    refuse("symbolic links are missing from this clone; type: git config core.symlinks true && git checkout -- src")

found = find_spec("autograd_conformance")
if not (found and found.origin and Path(found.origin).resolve().parents[2] == here):
    refuse('this checkout is not installed; type: python -m pip install -e ".[torch]"')

pytest_plugins = ["autograd_conformance.plugin.hooks"]
