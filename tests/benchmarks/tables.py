"""Inverse CDFs: set-up, time of a draw and error in probability, beside those of scipy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import PchipInterpolator
from scipy.stats.sampling import NumericalInverseHermite, NumericalInversePolynomial

import spectra as sp
from spectra.base.compiled import IMPLEMENTATION_VARIABLE
from tests.oracles.exact_radii import EXACT, ExactLaw

from .timing import Table, best_time, number, patiently, say, seconds

__all__ = ["run"]

FloatArray = NDArray[np.float64]
Quantiles = Callable[[FloatArray], FloatArray]

_DRAWS = 1_000_000
_PATIENCE = 60.0
# Probabilities at which the error is taken; of lobed laws the last hundredth lies hundreds of
# lobes out, where fifty digits are slow.
_PLACES = np.concatenate([np.geomspace(1e-12, 0.4, 60), 0.5 * np.random.default_rng(0).random(60)])
_LOBED_PLACES = np.linspace(0.02, 0.98, 80)


def run() -> list[Table]:
    """Tables against scipy's samplers and against interpolation, for four laws."""
    return [
        _smooth("chi, d = 16: exp(-z²/2)", ("gaussian", 16), sp.catalogue["gaussian"](length=1)),
        _smooth("beta prime, d = 3: Matérn 3/2", ("matern_3/2", 3), sp.catalogue["matern"](nu=1.5)),
        _smooth(
            "delta-Gaussian, d = 16, positive part",
            ("delta_gaussian", 16),
            sp.catalogue["delta_gaussian"](),
        ),
        _lobed(),
    ]


def _table(title: str) -> Table:
    return Table(
        f"Tables: {title}",
        f"{_DRAWS} draws at given uniform numbers. The error is the largest |F(w(u)) - u| over "
        "probabilities down to the last digits of both ends, against fifty digits.",
        ("method", "set-up, ms", "ns a draw", "ratio of ns", "error in probability", "stated"),
        [],
    )


def _worst(
    law: ExactLaw, ppf: Quantiles, isf: Quantiles | None, places: FloatArray, both: bool
) -> float:
    """Largest error of quantiles from below, and of those from above."""
    misses = [
        law.miss(1, float(w), float(u), from_above=False)
        for u, w in zip(places, ppf(places), strict=True)
    ]
    if both:
        # A method without a survival function is asked at 1 - q, as its users would.
        upper = isf(places) if isf is not None else ppf(1.0 - places)
        misses += [
            law.miss(1, float(w), float(q), from_above=True)
            for q, w in zip(places, upper, strict=True)
        ]
    return max(misses)


def _ours(table: Table, kernel: Any, dim: int, exact: ExactLaw, places: FloatArray) -> float:
    measure = sp.spectral_measure(kernel, dim=dim)
    measure.parts()
    setup, made = min((seconds(lambda: sp.tabulate(measure)) for _ in range(3)), key=lambda x: x[0])
    law = made.parts[0].law
    u = np.random.default_rng(1).random(_DRAWS)
    law.ppf(u)
    each = best_time(lambda: law.ppf(u)) / _DRAWS
    error = _worst(exact, law.ppf, law.isf, places, places is _PLACES)
    table.add(
        f"spectra.tabulate, {law.panels.size} panels",
        number(1e3 * setup),
        number(1e9 * each),
        "1",
        number(error),
        number(made.u_error),
    )
    with patch.dict(os.environ, {IMPLEMENTATION_VARIABLE: "numpy"}):
        alone = best_time(lambda: law.ppf(u)) / _DRAWS
    name = "the same table, numpy alone"
    table.add(name, "-", number(1e9 * alone), number(alone / each), "the same bits", "-")
    return each


def _generator_alone(table: Table, ours: float) -> None:
    """What the uniform numbers cost, which is in no other row."""
    rng = np.random.default_rng(0)
    each = best_time(lambda: rng.random(_DRAWS)) / _DRAWS
    name = "the uniform numbers alone, which are in no other row"
    table.add(name, "-", number(1e9 * each), number(each / ours), "-", "-")


def _rival(
    table: Table,
    name: str,
    make: Callable[[], tuple[Quantiles, Quantiles | None]],
    exact: ExactLaw,
    ours: float,
    places: FloatArray,
) -> None:
    def measured() -> tuple[float, float, float]:
        setup, (ppf, isf) = seconds(make)
        u = np.random.default_rng(1).random(_DRAWS)
        ppf(u[:1000])
        each = best_time(lambda: ppf(u), repeats=3) / _DRAWS
        return setup, each, _worst(exact, ppf, isf, places, places is _PLACES)

    answered, found = patiently(measured, limit=_PATIENCE)
    if not answered:
        table.add(name, "-", "-", "-", str(found).replace("|", "/")[:70], "-")
        return
    setup, each, error = found
    table.add(
        name, number(1e3 * setup), number(1e9 * each), number(each / ours), number(error), "-"
    )


def _interpolations(
    cdf: Callable[[FloatArray], FloatArray], end: float
) -> Iterator[tuple[str, Callable[[], tuple[Quantiles, None]]]]:
    def linear() -> tuple[Quantiles, None]:
        w = np.linspace(0.0, end, 10_000)
        f = cdf(w)
        return lambda u: np.asarray(np.interp(u, f, w)), None

    def monotone() -> tuple[Quantiles, None]:
        w = np.linspace(0.0, end, 10_000)
        f, first = np.unique(cdf(w), return_index=True)
        curve = PchipInterpolator(f, w[first])
        return lambda u: np.asarray(curve(np.minimum(u, f[-1]))), None

    yield "numpy.interp, 10 000 points of the exact CDF", linear
    yield "PCHIP, 10 000 points of the exact CDF", monotone


def _smooth(title: str, case: tuple[str, int], kernel: Any) -> Table:
    table, exact, dim = _table(title), EXACT[case](), case[1]
    say(title)
    ours = _ours(table, kernel, dim, exact, _PLACES)
    pdf, cdf, end = _closed_form(case)

    def generator(kind: Any, **options: Any) -> Callable[[], tuple[Quantiles, None]]:
        def make() -> tuple[Quantiles, None]:
            made = kind(SimpleNamespace(pdf=pdf, cdf=cdf), domain=(0.0, end), **options)
            return made.ppf, None

        return make

    for digits in (1e-10, 1e-15):
        _rival(
            table, f"scipy PINV, u_resolution {digits:g}",
            generator(NumericalInversePolynomial, u_resolution=digits, center=_mode(case)),
            exact, ours, _PLACES,
        )  # fmt: skip
    _rival(
        table, "scipy HINV, u_resolution 1e-12",
        generator(NumericalInverseHermite, u_resolution=1e-12),
        exact, ours, _PLACES,
    )  # fmt: skip
    _generator_alone(table, ours)
    for name, make in _interpolations(np.vectorize(cdf), min(end, 60.0)):
        _rival(table, name, make, exact, ours, _PLACES)
    if case[0] == "gaussian":
        _rival(
            table, "scipy.special.gammaincinv",
            lambda: (
                lambda u: np.sqrt(2.0 * special.gammaincinv(0.5 * dim, u)),
                lambda q: np.sqrt(2.0 * special.gammainccinv(0.5 * dim, q)),
            ),
            exact, ours, _PLACES,
        )  # fmt: skip
    return table


def _closed_form(
    case: tuple[str, int],
) -> tuple[Callable[[float], float], Callable[[float], float], float]:
    """Density and distribution function of a positive part, and the end of its range."""
    name, dim = case
    wide, narrow = _chi(dim, 1.0), _chi(dim, 10.0)
    if name == "gaussian":
        return *wide, np.inf
    if name == "matern_3/2":
        front = 2.0 * 3.0**1.5 / math.exp(special.betaln(0.5 * dim, 1.5))
        return (
            lambda w: front * w**2 / (3.0 + w * w) ** 3 if w < 1e50 else 0.0,
            lambda w: special.betainc(0.5 * dim, 1.5, 1.0 / (1.0 + 3.0 / (w * w))) if w else 0.0,
            np.inf,
        )
    exact = EXACT[case]()
    start, mass = float(exact.changes[0]), float(exact.masses[1])
    below = wide[1](start) - narrow[1](start)
    return (
        lambda w: (wide[0](w) - narrow[0](w)) / mass if w > start else 0.0,
        lambda w: (wide[1](w) - narrow[1](w) - below) / mass if w > start else 0.0,
        np.inf,
    )


def _chi(dim: int, length: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    log_front = (1.0 - 0.5 * dim) * math.log(2.0) - math.lgamma(0.5 * dim) + math.log(length)

    def pdf(w: float) -> float:
        r = length * w
        if not 0.0 < r < 1e150:
            return 0.0
        return math.exp(log_front + (dim - 1) * math.log(r) - 0.5 * r * r)

    return pdf, lambda w: float(special.gammainc(0.5 * dim, 0.5 * (length * w) ** 2))


def _mode(case: tuple[str, int]) -> float:
    return 1.0 if case[0] == "matern_3/2" else float(np.sqrt(case[1] - 1.0))


def _lobed() -> Table:
    title = "lobes without end, d = 3: (1 - z²/4)² on z ≤ 2, positive part"
    table, case = _table(title), ("spherical_polynomial_2_2", 3)
    say(title)
    exact = EXACT[case]()
    mass = float(exact.masses[1])
    kernel = sp.radial("(1 - z**2/4)**2", support=2)
    ours = _ours(table, kernel, 3, exact, _LOBED_PLACES)

    def pdf(w: float) -> float:
        rho = 8.0 / np.sqrt(np.pi * w**3) * special.jv(3.5, 2.0 * w) if w > 0.0 else 0.0
        return max(float(rho), 0.0) / mass

    _generator_alone(table, ours)
    for end in (3.0, 20.0, 200.0):

        def pinv(end: float = end) -> tuple[Quantiles, None]:
            made = NumericalInversePolynomial(
                SimpleNamespace(pdf=pdf), domain=(0.0, end), center=1.7, u_resolution=1e-10
            )
            return made.ppf, None

        _rival(table, f"scipy PINV on [0, {end:g}]", pinv, exact, ours, _LOBED_PLACES)
    w = np.linspace(1e-9, 2000.0, 2_000_001)
    density = np.maximum(8.0 / np.sqrt(np.pi * w**3) * special.jv(3.5, 2.0 * w), 0.0)
    for end, points in ((20.0, 10_000), (2000.0, 100_000)):

        def linear(end: float = end, points: int = points) -> tuple[Quantiles, None]:
            at = np.linspace(0.0, end, points)
            f = np.cumsum(np.interp(at, w, density))
            return lambda u: np.asarray(np.interp(u, f / f[-1], at)), None

        name = f"linspace, cumsum, numpy.interp: {points} points on [0, {end:g}]"
        _rival(table, name, linear, exact, ours, _LOBED_PLACES)
    return table
