"""The JSON form of two related programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.validation import MalformedProgram, Vocabulary
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.relation import Alike, Related

Json = Any


def to_json(related: Related) -> dict[str, Json]:
    """Returns the JSON form of two related programs, as plain dicts and lists; values are written as in the JSON form
    of one program.
    """
    return {
        "relation": related.rule,
        "first": codec.to_json(related.first),
        "second": codec.to_json(related.second),
        "alike": [[str(a.first), list(map(str, a.second)), a.factor] for a in related.alike],
        "same": [list(pair) for pair in related.same],
        "exact": related.exact,
        "torn": related.interrupted,
    }


def is_relation(form: Json) -> bool:
    """Whether a JSON form is that of two related programs, and not of a single program."""
    return isinstance(form, Mapping) and "relation" in form


def from_json(form: Json, vocabulary: Vocabulary | None = None) -> Related:
    """Returns the related programs of a JSON form; raises `MalformedProgram`, whose message describes the error."""
    try:
        first, second = (codec.from_json(form[name], vocabulary) for name in ("first", "second"))
        alike = tuple(_alike(*each) for each in form["alike"])
        same = tuple((int(at), int(place)) for at, place in form["same"])
        rule = form["relation"]
        if rule not in RULES:
            raise MalformedProgram(f"unknown rule {rule!r}")
        _check(first, [a.first for a in alike] + [Ref(at) for at, _ in same])
        _check(second, [ref for a in alike for ref in a.second] + [Ref(place) for _, place in same])
        return Related(rule, first, second, alike, same, bool(form["exact"]), bool(form["torn"]))
    except KeyError as error:
        raise MalformedProgram(f"a relation needs {error}") from None
    except (TypeError, AttributeError) as error:
        raise MalformedProgram(f"a relation is malformed: {error}") from None


def _alike(first: str, second: list[str], factor: float) -> Alike:
    return Alike(_ref(first), tuple(map(_ref, second)), float(factor))


def _ref(text: str) -> Ref:
    at, _, output = text.removeprefix("%").partition(".")
    return Ref(int(at), int(output or 0))


def _check(program: Program, refs: list[Ref]) -> None:
    if any(not 0 <= ref.at < len(program) for ref in refs):
        raise MalformedProgram("a relation names an instruction that does not exist")
