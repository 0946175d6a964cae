"""Known differences: rule violations of a framework that are listed in TOML files, each with a reason and a witness, a
program that shows the difference.

A run reports a listed difference and does not fail for it. The run reports an entry as stale if its witness no longer
shows the difference. Modules: `entry` is one entry, `conditions` has one class for each condition of an entry, `table`
lists all keys, `file` reads files, `matching` compares a violation with an entry, `update` writes entries for a run.
"""

from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.file import known, read, spared
from autograd_conformance.known_differences.matching import is_known
from autograd_conformance.known_differences.parts import MalformedKnownDifferences, own_files

__all__ = ["Known", "MalformedKnownDifferences", "is_known", "known", "own_files", "read", "spared"]
