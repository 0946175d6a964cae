"""Serves an adapter from the environment of whoever runs this file: `python start.py package.module:factory`.

It needs NumPy and the framework. The suite's source, which is where this file lies, is all that comes along.
"""

import json
import sys
from importlib.util import find_spec
from os.path import abspath, dirname
from types import ModuleType


def refuse(reason: str) -> None:
    """Answer the greeting with a reason, and end."""
    sys.stdin.readline()
    print(json.dumps({"error": reason}), flush=True)
    raise SystemExit(1)


def main(name: str) -> None:
    """Find the suite, and serve an adapter."""
    folder = dirname(abspath(__file__))
    sys.path[:] = [path for path in sys.path if abspath(path) != folder]
    if sys.version_info < (3, 11):  # noqa: UP036 - whose interpreter this is nobody has asked pip
        refuse("{} is Python {}.{}; an adapter needs 3.11 or newer".format(sys.executable, *sys.version_info))
    if find_spec("numpy") is None:
        refuse(f"{sys.executable} has no NumPy, which an adapter needs: {sys.executable} -m pip install numpy")
    package = ModuleType("autograd_conformance")
    package.__path__ = [dirname(dirname(folder))]
    sys.modules["autograd_conformance"] = package
    from autograd_conformance.frameworks.remote.worker import serve

    serve(name)


if __name__ == "__main__":
    main(sys.argv[1])
