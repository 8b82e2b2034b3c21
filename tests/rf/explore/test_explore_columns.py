"""What ``spectra explore`` says of kernels of groups of columns and of the l1 distance."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("flask", reason='pip install -e ".[explore]" brings what serves the page')
pytest.importorskip("matplotlib", reason='pip install -e ".[plot]" brings what draws')

from rf.explore.answers.answer import Answers
from rf.explore.panel import Panel
from rf.explore.question import Question
from spectra import derive, existence, l1

PRODUCT = "(exp(-z**2/2)).on([0, 1])*(exp(-z)).on([2]) - 0.5*(exp(-z)).on([2])"


@cache
def panel_of(name: str) -> Panel:
    """What is said of the product of groups, which several tests look at."""
    return Answers(Question(PRODUCT, "4"))(name)


def _mid(shown: str) -> float:
    return float(shown.removeprefix("at most, as parts overlap: ").split()[0])


@pytest.mark.slow
def test_every_group_is_shown_by_itself() -> None:
    for name in ("kernel", "verdict", "density"):
        assert [title for title, _ in panel_of(name).pieces] == [
            "exp(-z**2/2) of the columns [0, 1]",
            "exp(-z) of the columns [2]",
        ]
    assert dict(panel_of("kernel").facts)["columns without a say"] == "3"
    alone = Answers(Question("exp(-z)", "1"))
    for name in ("verdict", "density"):
        shown = alone(name)
        assert panel_of(name).pieces[1][1].lines == shown.lines
        assert panel_of(name).pieces[1][1].facts == shown.facts


@pytest.mark.slow
def test_the_masses_are_those_of_the_table() -> None:
    assert [float(value.split()[0]) for _, value in panel_of("density").facts] == pytest.approx(
        [1.0, 0.5, 1.5]
    )
    overlapping = "(exp(-z)).on([0])*(exp(-z)).on([0, 1]) - (exp(-z)).on([1])*(exp(-z)).on([0, 1])"
    panel = Answers(Question(overlapping, "2"))("density")
    assert all(value.startswith("at most, as parts overlap: 1 ±") for _, value in panel.facts[:2])


def test_an_infinite_group_is_named_and_the_others_are_shown() -> None:
    answers = Answers(Question("(Max(1 - z, 0)).on([0, 1, 2])*(exp(-z)).on([3])", "4"))
    verdict, density = answers("verdict"), answers("density")
    assert [row[3] for row in verdict.tables[0].rows] == ["infinite", "finite"]
    assert density.refusal is not None
    assert [piece.refusal is None for _, piece in density.pieces] == [False, True]
    assert all(piece.picture for _, piece in density.pieces)
    assert "no finite measure" in answers("columns").lines[0]


def test_a_malformed_kernel_is_refused_in_its_words() -> None:
    for question, message in (
        (Question(PRODUCT, "2"), "2"),
        (Question("(exp(-q*z)).on([0])", "2"), "'q' has no value"),
        (Question("(exp(-z)).on([0]) + 3 4", "2"), "is wanted"),
        (Question("exp(u)", "2", metric="l1"), "formula in z"),
        (Question("exp(-z)", "2", metric="l7"), "'l7'"),
        (Question(PRODUCT, "3", support="2"), "support"),
    ):
        refusal = Answers(question)("kernel").refusal
        assert refusal is not None
        assert message in refusal.message


@pytest.mark.parametrize(
    ("formula", "dim", "hats", "pieces"),
    [
        ("Max(2 - z, 0)", "2", 1, 0),
        pytest.param("exp(-z) + exp(-2*z)", "3", 0, 2, marks=pytest.mark.slow),
        pytest.param("exp(-z)", "1", 0, 0, marks=pytest.mark.slow),
    ],
)
def test_a_kernel_of_the_l1_distance_is_shown_with_what_it_is_drawn_from(
    formula: str, dim: str, hats: int, pieces: int
) -> None:
    answers = Answers(Question(formula, dim, metric="l1"))
    assert answers("kernel").facts[1] == (
        "written in", "z = |x − y|₁, the sum of the distances of all columns"
    )  # fmt: skip
    verdict = existence(l1(formula), int(dim))
    assert answers("verdict").lines[1 : 1 + len(verdict.reasons)] == verdict.reasons
    density, table = answers("density"), derive(l1(formula), int(dim), cache=False)
    assert sum(len(g.rows) for g in density.tables if g.caption.startswith("Truncated")) == hats
    assert len(density.pieces) == pieces
    plus, minus, both = (_mid(value) for _, value in density.facts[:3])
    assert plus + minus == pytest.approx(both)
    assert plus - minus == pytest.approx(l1(formula).at_zero)
    assert both <= table.mass * (1 + 1e-9)
    assert answers("table").picture.startswith("<svg")


def test_a_finite_mass_without_a_law_is_refused_with_the_way_out() -> None:
    answers = Answers(Question("Max(1 - z, 0)", "9", metric="l1"))
    assert "finite mass" in answers("verdict").lines[0]
    for name in ("density", "table", "columns"):
        refusal = answers(name).refusal
        assert refusal is not None
        assert refusal.kind == "NoRouteError"
