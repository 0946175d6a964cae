"""The exceptions with which the suite skips a test: the rule does not apply to the framework, none of the test's
programs can be drawn, or the test waits for a stage that is wholly broken.

Pytest and Hypothesis both end a test at these exceptions. Any other skip is not the suite's, and says nothing about the
framework.
"""

from __future__ import annotations

import unittest


class NotApplicable(unittest.SkipTest):
    """Skips a test because the framework does not claim something that the test needs; the message names it."""


class NothingDrawn(unittest.SkipTest):
    """Skips a test because no program could be drawn, although the framework claims the needed capabilities: nothing
    was tested.
    """


class WaitsForStage(unittest.SkipTest):
    """Skips a test because a stage that it needs is wholly broken, so that it could only show the same fault again."""
