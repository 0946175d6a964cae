"""Keys under which the suite stores its state in pytest's configuration and tests."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.audit.gating import Waiting
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.budget import Budget, CutTest, Share
from autograd_conformance.checking.check import Check
from autograd_conformance.checking.limits import Limits
from autograd_conformance.checking.session import Session
from autograd_conformance.plugin.run_plan import Plan

SESSION = pytest.StashKey[Session]()
AUDITED = pytest.StashKey[AuditResult]()
CHECK = pytest.StashKey[Check]()
BEGAN = pytest.StashKey[float]()
LIMITS = pytest.StashKey[Limits]()
BUDGET = pytest.StashKey[Budget]()
SHARE = pytest.StashKey[Share]()
CUT = pytest.StashKey[dict[pytest.Item, CutTest]]()
PLANNED = pytest.StashKey[Plan]()
NUMBER = pytest.StashKey[int]()
LEFT_OUT = pytest.StashKey[int]()
COLLECTED = pytest.StashKey[int]()
WAITING = pytest.StashKey[Waiting]()
