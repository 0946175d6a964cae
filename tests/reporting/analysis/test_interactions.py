"""Counts of the pairs and triples of facts that held together, and the record that has them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.analysis.interactions import interaction_counts, interactions_of, united
from autograd_conformance.reporting.records import encoding
from autograd_conformance.reporting.records.records import Interactions
from tests.reporting.miniatures import SOUND

START = "a = leaf [1, 2]; b = exp a; s = sum b dim=(0,) keepdim=False; k = hook b observe; "
MET = {*meetings(parse(START + "backward s create=True")), *meetings(parse(START + "no_grad: c = exp b"))}


def counted(record: Interactions) -> tuple[int, int]:
    counts = interaction_counts(replace(SOUND, interactions=record))
    assert counts is not None
    return counts.pairs, counts.triples


def test_the_counts_are_those_of_all_pairs_and_triples_of_facts_that_held_together() -> None:
    pairs = {each for met in MET for each in combinations(sorted(met), 2)}
    triples = {each for met in MET for each in combinations(sorted(met), 3)}
    assert counted(interactions_of(MET)) == (len(pairs), len(triples))


def test_a_set_of_facts_that_another_one_contains_is_not_recorded() -> None:
    record = interactions_of([frozenset("ab"), frozenset("abc"), frozenset("ad"), frozenset("d")])
    assert record == Interactions(facts=("a", "b", "c", "d"), meetings=((0, 1, 2), (0, 3)))


def test_runs_add_their_interactions() -> None:
    one, other = interactions_of([frozenset("ab")]), interactions_of([frozenset("abc"), frozenset("xa")])
    assert united([one, other]) == interactions_of([frozenset("abc"), frozenset("xa")])
    assert united([]) is None


def test_a_report_without_the_record_has_no_counts() -> None:
    assert interaction_counts(replace(SOUND, interactions=None)) is None


@pytest.mark.parametrize("record", [interactions_of(MET), interactions_of([frozenset("a")])])
def test_the_record_survives_its_json_form(record: Interactions) -> None:
    form = encoding.encode(record)
    assert encoding.decode(form) == record
