"""The page about the matrix: `docs/results/matrix.md`."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from autograd_conformance.known_differences import known
from autograd_conformance.reporting.render.markdown import environment
from evaluation.kill_matrix import summary
from evaluation.kill_matrix.rows import ROOT, Row
from evaluation.kill_matrix.settings import COMPARED, COMPARED_BY_HAND, OTHERS, WITHIN_ROUNDING
from evaluation.kill_matrix.summary import Results

PAGE = ROOT / "docs" / "results" / "matrix.md"


def page(results: Results, revision: str) -> str:
    """The page, in GitHub's Markdown, with a final newline."""
    return _template("matrix.md.j2", results, revision)


def short(results: Results) -> str:
    """The short table that the command prints."""
    return _template("short.md.j2", results, "").strip()


def _template(name: str, results: Results, revision: str) -> str:
    families, kinds = summary.families(results.by_hand), summary.kinds(results.generated, _kind_order)
    text = _environment().get_template(name).render(
        revision=revision,
        rows=results.by_hand,
        families=families,
        kinds=kinds,
        faults={kind: row.fault.format(op="the op") for kind, row in _kinds().items()},
        equivalent=_equivalent(),
        all_families=summary.total(families, results.by_hand),
        all_kinds=summary.total(kinds, results.generated),
        rule_kills=summary.rule_kills(results.rows),
        waived={entry.rule for entry in known("torch", device="cpu")},
        long=summary.long(results.rows, _why_long),
        survivors=[row for row in results.rows if not row.killed],
        misnamed=[row for row in results.rows if row.own_cell.killed and not row.right],
        elsewhere=[row for row in results.rows if row.killed and not row.own_cell.killed],
        scores=summary.scores(results),
        whole=results.whole,
        others=OTHERS,
        within_rounding=WITHIN_ROUNDING,
        compared=(COMPARED, COMPARED_BY_HAND),
    )  # fmt: skip
    return text.rstrip() + "\n"


def _kinds():  # type: ignore[no-untyped-def]
    from evaluation.mutants.generated import KINDS

    return KINDS


def _kind_order(kind: str) -> int:
    return list(_kinds()).index(kind)


def _why_long(row: Row) -> str:
    from evaluation.mutants import MUTANTS

    if not row.generated:
        return MUTANTS[row.mutant].why_long
    if row.group == "bent":
        return "a second derivative takes a leaf, its gradient and a second call for each operand"
    return "each operand of the op is a line"


def _equivalent() -> dict[str, int]:
    from evaluation.mutants.equivalent import OPS_OF
    from evaluation.mutants.generated import candidates

    return {"tried": len(candidates()), "equivalent": sum(len(ops.split()) for ops in OPS_OF.values())}


def _environment() -> Environment:
    made = environment()
    made.loader = FileSystemLoader(Path(__file__).with_name("templates"))
    made.filters |= {"number": lambda value, digits=0: "" if value is None else f"{value:,.{digits}f}"}
    return made
