"""Serves an adapter with the interpreter that runs this file: `python start.py package.module:factory`.

The interpreter needs NumPy and the framework. The suite itself is imported from the folder of this file.
"""

import json
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from os.path import abspath, dirname, join


def refuse(reason: str) -> None:
    """Reply to the handshake with an error, and exit."""
    sys.stdin.readline()
    print(json.dumps({"error": reason}), flush=True)
    raise SystemExit(1)


def _find_package(folder: str) -> None:
    """Make the suite's package importable from its folder, without other packages that are installed beside it."""
    place = join(folder, "__init__.py")
    spec = spec_from_file_location("autograd_conformance", place, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["autograd_conformance"] = package
    spec.loader.exec_module(package)


def main(name: str) -> None:
    """Find the suite, and serve an adapter."""
    folder = dirname(abspath(__file__))
    sys.path[:] = [path for path in sys.path if abspath(path) != folder]
    if sys.version_info < (3, 11):  # noqa: UP036 - pip did not check this interpreter
        refuse("{} is Python {}.{}; an adapter needs 3.11 or newer".format(sys.executable, *sys.version_info))
    if find_spec("numpy") is None:
        refuse(f"{sys.executable} has no NumPy, which an adapter needs: {sys.executable} -m pip install numpy")
    _find_package(dirname(dirname(folder)))
    from autograd_conformance.frameworks.remote.worker import serve

    serve(name)


if __name__ == "__main__":
    main(sys.argv[1])
