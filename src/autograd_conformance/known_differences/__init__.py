"""Known differences: what a framework is known to do otherwise, as data, with the reason and a program that shows it.

A difference that is listed is reported, not failed; an entry that a run no longer sees is reported as stale. `entry` is
what an entry says, `file` how one is read, `matching` whether a violation is one, `update` how a run writes its own.
"""

from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.file import MalformedKnownDifferences, known, own_files, read
from autograd_conformance.known_differences.matching import is_known

__all__ = ["Known", "MalformedKnownDifferences", "is_known", "known", "own_files", "read"]
