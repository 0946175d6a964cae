"""The objects that the tests of one process share: `settings` never change, `framework` is the framework under test,
`process_state` remembers the process's latest programs and how many failures it may still run again, `session` holds
these three, and `records` makes the first records of a run.
"""

from autograd_conformance.checking.session.framework import FrameworkUnderTest
from autograd_conformance.checking.session.process_state import ProcessState
from autograd_conformance.checking.session.session import Session
from autograd_conformance.checking.session.settings import Settings

__all__ = ["FrameworkUnderTest", "ProcessState", "Session", "Settings"]
