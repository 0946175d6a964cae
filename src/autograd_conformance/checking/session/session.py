"""The objects that the tests of one process share: the settings, the framework under test, and the process's state."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.checking.session.framework import FrameworkUnderTest
from autograd_conformance.checking.session.process_state import ProcessState
from autograd_conformance.checking.session.settings import Settings


@dataclass(frozen=True)
class Session:
    """The settings, the framework and the state of the process, which the tests of one process share."""

    settings: Settings
    framework: FrameworkUnderTest
    process: ProcessState

    @staticmethod
    def of(settings: Settings) -> Session:
        """Makes a new session, which remembers the latest programs that its framework runs (`PAST` says how many). The
        framework is loaded on first use.
        """
        process = ProcessState(settings)
        return Session(settings, FrameworkUnderTest(settings, process.record_program), process)
