"""The session of one process: `settings` never change, `framework` is the framework under test, `process_state` counts
the programs and confirmations of the process, `session` holds the three, `records` are the first records of a run.
"""

from autograd_conformance.checking.session.framework import FrameworkUnderTest
from autograd_conformance.checking.session.process_state import ProcessState
from autograd_conformance.checking.session.session import Session
from autograd_conformance.checking.session.settings import Settings

__all__ = ["FrameworkUnderTest", "ProcessState", "Session", "Settings"]
