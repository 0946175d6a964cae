"""Why the suite itself skips a test: its rule does not apply to what is claimed, or none of its programs can be drawn.

Pytest and Hypothesis both stop a test at these. Any other skip is somebody else's, and says nothing of the framework.
"""

from __future__ import annotations

import unittest


class NotApplicable(unittest.SkipTest):
    """The framework does not claim what the test needs; the message says what that is."""


class NothingDrawn(unittest.SkipTest):
    """No program could be drawn, though the framework claims what the test needs: nothing was tested."""
