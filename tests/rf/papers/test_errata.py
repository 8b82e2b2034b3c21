"""The page of errata: its commands print what it shows, and its counterexamples hold."""

from __future__ import annotations

import contextlib
import io
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import jv

from rf import RFF
from rf.papers.bounds import BOUNDS, uniform_columns
from rf.papers.published.error_curves import _PUBLISHED
from rf.sampling import COUPLINGS
from rf.variance import VarianceModel
from spectra import derive
from spectra.cli.commands import main
from spectra.errors import ParameterError

PAGE = Path(__file__).parents[3] / "docs" / "errata.md"


def _commands() -> list[tuple[str, str]]:
    """Each command of the page with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    $ "):
            found.append((line.removeprefix("    $ "), []))
            inside = True
        elif inside and line.startswith("    "):
            found[-1][1].append(line.removeprefix("    "))
        else:
            inside = False
    return [(command, "\n".join(lines)) for command, lines in found]


def _printed(command: str) -> str:
    program, *arguments = shlex.split(command)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if program == "spectra":
            assert main(arguments) == 0
        else:
            assert program == "python"
            assert arguments[0] == "-c"
            exec(arguments[1], {})
    return out.getvalue().rstrip()


def test_there_are_ten() -> None:
    assert len(_commands()) == 10


@pytest.mark.slow
@pytest.mark.parametrize(("command", "said"), _commands(), ids=range(1, 1 + len(_commands())))
def test_a_command_prints_what_the_page_shows(command: str, said: str) -> None:
    assert _printed(command) == said


def _cosine_variance(z: float) -> float:
    """The variance of cos(w z) for a standard normal w."""
    return (1.0 + math.exp(-2.0 * z**2)) / 2.0 - math.exp(-(z**2))


def test_theorem_4_of_luo_needs_the_normalised_kernel() -> None:
    z, mass = 0.5, 4.0
    model = VarianceModel(derive("4*exp(-z**2/2)", 1), np.array([z]))
    exact = model.variance((1,), coupling="iid")[0][0]
    assert exact == pytest.approx(mass**2 * _cosine_variance(z), rel=1e-9)
    printed = mass**2 * ((1.0 + mass * math.exp(-2.0 * z**2)) / 2.0 - math.exp(-(z**2)))
    assert printed / exact == pytest.approx(38.2, abs=0.1)


def test_equation_14_of_luo_gives_a_negative_variance() -> None:
    printed = -_cosine_variance(0.5)  # s = 1 and no negative part: E^2(a) - E(a^2) alone
    assert printed < 0.0


@pytest.mark.parametrize(("dim", "mean_square"), [(16, 0.034073), (3, None)])
def test_columns_of_luos_algorithm_1_are_not_orthogonal(
    dim: int, mean_square: float | None
) -> None:
    draws = 2000 if dim == 16 else 8000
    units = COUPLINGS["haar"].directions(2 * dim, dim, np.random.default_rng(0), draws=draws)
    squares = np.sum(units[:, 0] * units[:, 1], axis=1) ** 2
    error = 6.0 * squares.std(ddof=1) / math.sqrt(draws)
    assert abs(squares.mean() - (mean_square or squares.mean())) < error
    assert error < squares.mean() < 1.0 / dim - error  # between orthogonal and independent


def test_orthogonality_between_the_signs_raises_the_variance() -> None:
    model = VarianceModel(derive("exp(-z**2/2) - exp(-z**2/8)", 16), np.array([1.0]))
    iid, blocks, joint = (
        model.variance((16, 16), coupling=c)[0][0] for c in ("iid", "orthogonal", "haar")
    )
    assert blocks < 0.3 * iid
    assert 0.8 * iid < joint < iid


def test_table_2_of_luo_drops_by_half() -> None:
    drops = [
        1.0 - gorf / grff
        for data in ("letter", "ijcnn1", "usps")
        for grff, gorf in zip(
            _PUBLISHED["delta-Gaussian", data, "GRFF"],
            _PUBLISHED["delta-Gaussian", data, "GORF"],
            strict=True,
        )
    ]
    assert round(min(drops), 2) == 0.17
    assert round(max(drops), 2) == 0.67
    assert round(float(np.mean(drops)), 2) == 0.50


def test_the_bound_of_liu_ignores_the_masses() -> None:
    """Independent of c for c k and error c eps is the repaired bound, and not Liu's."""
    ones, tens = derive("exp(-z**2/2)", 3), derive("10*exp(-z**2/2)", 3)
    for bound in BOUNDS:
        few = uniform_columns(ones, 0.1, 0.05, diameter=2.0, bound=bound)
        scaled = uniform_columns(tens, 1.0, 0.05, diameter=2.0, bound=bound)
        assert (scaled == pytest.approx(few, abs=4)) == (bound != "liu")


def test_the_bound_of_liu_is_false_for_a_large_mass() -> None:
    table, eps, z = derive("100*exp(-z**2/2)", 1), 1.0, np.linspace(0.0, 2.0, 41)[:, None]
    columns = uniform_columns(table, eps, 0.05, diameter=2.0, bound="liu")
    exact = 100.0 * np.exp(-(z[:, 0] ** 2) / 2.0)
    errors = [
        np.abs(
            RFF(table, n_components=columns, random_state=seed).fit(z).gram(z[:1], z)[0] - exact
        ).max()
        for seed in range(20)
    ]
    assert np.mean(np.array(errors) > eps) > 0.5  # the bound says at most 0.05
    enough = uniform_columns(table, 20.0, 0.05, diameter=2.0)
    features = RFF(table, n_components=enough, random_state=0).fit(z)
    assert np.abs(features.gram(z[:1], z)[0] - exact).max() < 20.0


def test_the_bounds_have_the_values_of_their_formulas() -> None:
    """Delta-Gaussian, d = 16, [0, 1]^16, eps = .1, delta = .05: frequencies of each sign."""
    table = derive("exp(-z**2/2) - exp(-z**2/200)", 16)
    found = [uniform_columns(table, 0.1, 0.05, diameter=4.0, bound=b) / 4 for b in BOUNDS]
    np.testing.assert_allclose(found, [9.99e5, 4.83e5, 7.29e4], rtol=2e-3)
    for kernel, options in (("exp(-z)", {}), ("exp(-z**2/2)", {"bound": "sutherland"})):
        with pytest.raises(ParameterError, match=r"mean square|sutherland"):
            uniform_columns(derive(kernel, 2), 0.1, 0.05, diameter=1.0, **options)


def test_the_slope_at_a_random_point_exceeds_the_published_bound() -> None:
    """d = 1, one frequency of {1, sqrt 2, sqrt 3}: the mean of sup |f'|^2 against E w^2 = 2."""
    D, w = np.linspace(0.0, 400.0, 400_001), np.sqrt([1.0, 2.0, 3.0])
    slopes = np.sin(np.multiply.outer(w, D)) * w[:, None]
    largest = np.abs(slopes - slopes.mean(axis=0)).max(axis=1)
    assert np.mean(largest**2) == pytest.approx(3.4, abs=0.05)
    assert np.mean(w**2) == pytest.approx(2.0)


@pytest.mark.parametrize(("dim", "w"), [(16, 4.7), (3, 1.3)])
def test_equation_e5_of_liu_is_dimensionally_wrong(dim: int, w: float) -> None:
    h = dim / 2
    exact, _ = quad(lambda z: z ** (h + 3) * jv(h, z * w), 0.0, 2.0)
    right = 2 ** (h + 3) * (jv(h + 1, 2 * w) / w - jv(h + 2, 2 * w) / w**2)
    printed = 2 ** (h + 3) * jv(h, 2 * w) - 2 ** (h + 2) * jv(h + 2, 2 * w) / w**2
    assert right == pytest.approx(exact, rel=1e-8)
    assert abs(printed - exact) > 0.3 * abs(exact)
