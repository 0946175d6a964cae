"""Takes the current folder off the module path, where `python -m` puts it first: a file `code.py` there would replace
Python's own module. This module imports nothing that such a file could replace.
"""

import os
import sys


def leave() -> None:
    """Takes the current folder off the module path if `python -m` runs a module of this package now."""
    if sys.argv[:1] != ["-m"] or sys.flags.safe_path:  # while `python -m` looks for a module, it has this argument
        return
    try:
        here = os.getcwd()
    except FileNotFoundError:  # the current folder was removed
        return
    if sys.path[:1] == [here]:
        del sys.path[0]
