"""The framework under test: the target that runs its programs, its known differences, and the ops that the audit (which
runs each op alone before the tests) found faulty.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, assert_never

import hypothesis

from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.outcome import MOST, NOTHING_FOUND, AuditResult, ops_at_fault
from autograd_conformance.checking.audit.programs import is_long
from autograd_conformance.checking.check import Check, RuleViolated, first_violation, judgement_of, related_as
from autograd_conformance.checking.session.settings import Settings
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.devices import Device
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.interactions.meetings import Meeting
from autograd_conformance.known_differences import Known, is_known, known, read, spared
from autograd_conformance.known_differences.applicable import E, applicable
from autograd_conformance.known_differences.entry import Spared
from autograd_conformance.known_differences.file import shipped
from autograd_conformance.known_differences.versions import untried
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.tables import OPS
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL, lowered
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.casts import has_casts, with_casts
from autograd_conformance.rules.situations import Offer
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import Alphabet
from autograd_conformance.strategies.building.randomness.pool import Pool

TWICE, THRICE = slugs.HIGHER_OP, slugs.HIGHER_OP_THIRD
"""The rules about second and third derivatives of one op. An op that violates one is excluded from programs that
differentiate twice or three times, but not from all programs.
"""


class FrameworkUnderTest:
    """The framework of a run in this process: the target that runs its programs, its known differences, and the ops
    that the audit (which runs each op alone before the tests) found faulty. Only its own methods change it.
    """

    def __init__(
        self, settings: Settings, note: Callable[[Program], None] | None = None, target: Target | None = None
    ) -> None:
        """Takes a function, `note`, that is called with each program before the program runs. `target` runs the
        programs in place of the one that the settings name.
        """
        self.settings = settings
        self._given = target
        self._note = note
        self._audited = NOTHING_FOUND
        self.reported: set[Meeting] = set()
        """The sets of facts that held together in the programs of this process so far."""
        self._unlike: str | None = None

    @cached_property
    def _loaded(self) -> Target:
        if self._given is not None:
            return self._given
        return open_target(self.settings.name, self.settings.device, self._note, self.settings.timeout, scaled_timeout)

    @cached_property
    def target(self) -> Target:
        """The framework, loaded and checked with a first program, without the ops for which the audit (which runs each
        op alone before the tests) found no kernel, and without those that the user skips. Raises the errors of
        `frameworks.loading.registry`.
        """
        missing = self._audited.missing | self.settings.skips.ops
        return self._loaded.without(missing) if missing else self._loaded

    @property
    def audited(self) -> AuditResult:
        """The result of the audit, which the main process starts and which runs each op alone; empty before the
        audit.
        """
        return self._audited

    @property
    def saved_tensor_counter(self) -> Target:
        """The target that counts the framework's saved tensors; the ordinary target if there is none."""
        return self.target.saved_tensor_counter or self.target

    def target_of(self, rule: str) -> Target:
        """Returns the target on which a rule is tested: the one that counts saved tensors, if the rule needs that."""
        return self.saved_tensor_counter if Capability.COUNTS_SAVED in RULES[rule].needs else self.target

    @cached_property
    def untried(self) -> str | None:
        """A sentence that says that nobody has tried this version of the framework, and which ones somebody has; None
        if somebody has, or if the file that comes with the suite does not say so.
        """
        file = None if self.settings.known_files else shipped(self.target.name)
        return untried(self.target.name, self.target.version, file) if file is not None else None

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """The violations listed as known that apply to the framework's version, device and platform: from the user's
        files, or else from the file that comes with the suite.
        """
        listed = [each for file in self._own_files for each in read(file)]
        return self._applicable(listed if self._has_own_files else known(self.target.name))

    @cached_property
    def spared(self) -> tuple[Spared, ...]:
        """The situations that programs leave out, because this version of the framework ends the process in them; from
        the same files as the known differences.
        """
        file = None if self._has_own_files else shipped(self.target.name)
        files = self._own_files if file is None else (file,)
        return self._applicable(each for file in files for each in spared(file))

    @property
    def _has_own_files(self) -> bool:
        """Whether the user's files of known differences replace the file that comes with the suite."""
        return bool(self.settings.known_files) or self.settings.update is not None

    @property
    def _own_files(self) -> tuple[Path, ...]:
        """The user's files of known differences."""
        update = self.settings.update
        return (*self.settings.known_files, *((update,) if update is not None and update.exists() else ()))

    def _applicable(self, listed: Iterable[E]) -> tuple[E, ...]:
        """Returns the entries that apply to the framework's version, device and platform."""
        return applicable(listed, self.target.name, self.target.version, Device.named(self.settings.device).name)

    @property
    def alphabet(self) -> Alphabet:
        """Everything that programs for the framework may use, its faulty ops included."""
        return alphabet_of(self.target, self.drawable, frozenset(entry.situation for entry in self.spared))

    @cached_property
    def drawable(self) -> tuple[str, ...]:
        """The requested dtypes that the framework supports; all that it supports if none was requested and it has no
        usual one.
        """
        found = tuple(dtype for dtype in self.target.dtypes if dtype in self.settings.dtypes)
        return found or (tuple(self.target.dtypes) if self.settings.dtypes == USUAL else ())

    @cached_property
    def description(self) -> Description:
        """The framework's own description when this process loaded it. Every other process of the run has to load a
        framework with the same description.
        """
        return Description.of(self._loaded)

    def expect_description(self, expected: Description) -> None:
        """Compares the framework with its description in the main process; if they differ, `prepare` raises
        `AdapterError`.
        """
        self._unlike = describe_difference(expected, self._loaded, f"the worker {self.settings.worker}")

    def adopt_audit(self, found: AuditResult) -> None:
        """Stores the result of the audit, which ran each op alone before the tests; the target then has no ops without
        kernels.
        """
        self._audited = found
        for name in ("target", "offer"):  # they depend on it
            self.__dict__.pop(name, None)

    def is_settled(self, note: Note) -> bool:
        """Returns whether the note of an earlier audit (which ran each op alone) is still valid: the op was right, or
        its violation is a known difference that excludes the op.
        """
        match note.outcome:
            case "fine":
                return True
            case "twice":
                return note.op in self._listed(THRICE)
            case "once":
                return note.op in self._listed(TWICE)
            case "wrong":
                return note.op in self._listed_once
            case "begun" | "missing":
                return False
            case _:
                assert_never(note.outcome)

    @property
    def faulty_ops(self) -> frozenset[str]:
        """The ops that programs of other tests do not use: those that violate a rule when each runs alone, as the audit
        found or a known difference says, and those that the audit had no time to run, unless it had for none.
        """
        wrong = ops_at_fault(self._audited.wrong - self._audited.widespread, self.target.ops, MOST)
        found = wrong | self._audited.lost | self._listed_once
        known = ({*self.target.ops} & {*OPS}) - self._audited.untried - found  # modules do not run alone
        return found | self._audited.untried if known else found

    @property
    def faulty_second_order(self) -> frozenset[str]:
        """The ops whose second derivatives are wrong or not implemented, as the audit (which runs each op alone) or a
        known difference says.
        """
        return ops_at_fault(self._audited.once, self.target.ops) | self._listed(TWICE)

    @property
    def faulty_third_order(self) -> frozenset[str]:
        """The ops of which only the third derivatives are wrong or not implemented, and the ops whose third derivatives
        are not tested because rounding may exceed the error bounds.
        """
        found = ops_at_fault(self._audited.twice, self.target.ops)
        return found | self._listed(THRICE) | {op for op in OPS if is_long(op)}

    @property
    def _listed_once(self) -> frozenset[str]:
        """The ops whose values or first derivatives have a known difference."""
        named = (entry for entry in self.known if entry.rule not in (TWICE, THRICE) and entry.left_out)
        return frozenset(entry.op for entry in named if entry.op is not None)

    def _listed(self, rule: str) -> frozenset[str]:
        """Returns the ops that a known difference for this rule leaves out of the programs of other tests."""
        named = (entry for entry in self.known if entry.rule == rule and entry.left_out)
        return frozenset(entry.op for entry in named if entry.op is not None)

    def prepare(self) -> None:
        """Prepares this process for drawing and running programs, once, after the audit (which runs each op alone).
        Raises `AdapterError` if the framework differs from that in the main process.

        This changes the process permanently. Strategies draw from the framework's ops without its faulty ones.
        Hypothesis resets the framework's random generator before each program, so that failures replay. The garbage
        collector ignores the objects that exist by now, and runs less often.
        """
        if self._unlike:
            raise AdapterError(self._unlike)
        if self.target.random is not None:
            hypothesis.register_random(self.target.random)
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        left = self.alphabet.without(self.faulty_ops)
        alphabet.use(
            replace(
                left,
                excluded=self.faulty_ops,
                listed=self._listed_once,
                first_order_only=self.faulty_second_order,
                listed_twice=self._listed(TWICE),
                second_order_only=self.faulty_third_order,
            )
        )

    def check(self, rule: str) -> Check:
        """Returns a new check for one test of a rule."""
        leaves_out = None if self.settings.update is None else self.leaves_out
        target = self.target_of(rule)
        pool = Pool(target.programs_each) if target.programs_each else None
        skipped = self.settings.skips.rules
        return Check(target, self.known, rule, self.settings.strict, leaves_out, pool, skipped, reported=self.reported)

    def leaves_out(self, rule: Slug, op: str | None) -> bool:
        """Returns whether tests about other rules leave out an op that violates this rule."""
        return op in {TWICE: self.faulty_second_order, THRICE: self.faulty_third_order}.get(rule, self.faulty_ops)

    def run_covered(self, form: Mapping[str, Any]) -> bool:
        """Runs a program, given as JSON data; returns whether it violates no rule, apart from known differences."""
        program, target = codec.from_json(form, VOCABULARY), self.target.crash_as_error()
        waives = partial(self._is_known, program)
        return first_violation(program, target.observe(program), target, waives) is None

    def violated_by(self, form: Mapping[str, Any]) -> RuleViolated | None:
        """Runs a program, given as JSON data; returns its first violation that no known difference covers."""
        program, target = codec.from_json(form, VOCABULARY), self.target.crash_as_error()
        observation = target.observe(program)
        violation = first_violation(program, observation, target, partial(self._is_known, program))
        return None if violation is None else RuleViolated(program, observation, violation, target)

    def run_witness(self, entry: Known) -> bool:
        """Runs the witness of a known difference, a program that showed it once; returns whether the program still
        does.
        """
        target = self.target_of(entry.rule).crash_as_error()
        if unsupported_by(entry.witness, target):
            return False
        if has_casts(entry.witness):
            pair = with_casts(entry.witness, target.autocast)
            violation = related_as(pair, target.observe(pair.first), target.observe(pair.second), target).violation
            return violation is not None and is_known(entry, entry.witness, violation)
        waives = partial(self._is_known, entry.witness)
        judgement = judgement_of(entry.witness, target.observe(entry.witness), target, waives)
        found = (*judgement.waived, *filter(None, [judgement.violation]))
        return any(is_known(entry, entry.witness, violation) for violation in found)

    def is_skipped(self, entry: Known) -> bool:
        """Returns whether the user's list of skipped ops and rules keeps a known difference from being observed."""
        skips = self.settings.skips
        return entry.rule in skips.rules or bool(skips.ops and unsupported_by(entry.witness, self.target))

    def _is_known(self, program: Program, violation: Violation) -> bool:
        """Returns whether a known difference covers a violation in a program, or the user skips its rule."""
        if violation.rule in self.settings.skips.rules:
            return True
        return any(is_known(entry, program, violation) for entry in self.known)

    def missing(self, rule: str) -> list[str]:
        """Returns the capabilities that a rule needs and the framework does not claim, in words."""
        return sorted(need.value for need in RULES[rule].needs - self.target_of(rule).capabilities)

    @cached_property
    def offer(self) -> Offer:
        """Everything that the framework claims to support, without ops whose values or first derivatives have a known
        difference.
        """
        target = self.target
        return Offer(
            frozenset(target.ops) - self._listed_once,
            target.capabilities,
            target.traits,
            frozenset(target.writes),
            frozenset(target.optimizers),
            frozenset(target.modules),
            frozenset(self.drawable),
            lowered(target.autocast),
        )

    def absent(self, rule: str) -> tuple[str, ...]:
        """Returns what programs for a rule need besides capabilities and the framework does not claim, in words, such
        as ops of a certain kind.
        """
        return tuple(need.words for need in RULES[rule].situation if not need.satisfied_by(self.offer))
