"""Tables of known laws, built from scipy's quantile functions and from nothing of the toolkit.

They let the tests of features and variances run against an oracle that shares no code with the
transforms, measures and inverse CDFs of ``spectra``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special, stats

from spectra.table import Part, SpectralTable
from spectra.table.radial.panels import PanelKind, Panels
from spectra.table.radial.radial_law import RadialLaw

# Panels halve towards both ends, down to a probability that no test can see.
_LEVELS = 60
_DEGREE = 16


def _side(quantile: Any, tail_exponent: float | None) -> Panels:
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-_LEVELS, 0.0)])
    t = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    rows = np.zeros((_LEVELS, _DEGREE + 1))
    kinds = np.full(_LEVELS, PanelKind.LINEAR)
    exponents = np.ones(_LEVELS)
    rows[0, 0] = quantile(edges[1])
    if tail_exponent is not None:
        kinds[0], exponents[0] = PanelKind.TAIL_POWER, tail_exponent
    for i in range(1, _LEVELS):
        c = edges[i] + (edges[i + 1] - edges[i]) * 0.5 * (1.0 + t)
        rows[i] = chebyshev.chebfit(t, quantile(c), _DEGREE)
    return Panels.from_chebyshev(edges, rows, kinds, exponents)


def law_of(distribution: Any, *, tail_exponent: float | None = None) -> RadialLaw:
    """The law of a scipy distribution on [0, inf), to about 1e-11."""
    return RadialLaw(_side(distribution.ppf, None), _side(distribution.isf, tail_exponent))


def gaussian_law(dim: int, length: float = 1.0) -> RadialLaw:
    """Radii of exp(-z^2 / (2 length^2)): chi_d / length."""
    return law_of(stats.chi(dim, scale=1.0 / length))


def gaussian_atoms(dim: int, length: float = 1.0, nodes: int = 60) -> RadialLaw:
    """A law of atoms whose plane waves are those of chi_d / length to rounding error."""
    x, w = special.roots_genlaguerre(nodes, dim / 2 - 1)
    keep = w / w.sum() > 1e-25
    return RadialLaw.from_atoms(np.sqrt(2 * x[keep]) / length, w[keep] / w[keep].sum())


class _MaternRadius:
    """Radius of Student's t in R^d with 2 nu degrees of freedom: 2 nu / (2 nu + R^2) is beta."""

    def __init__(self, dim: int, nu: float) -> None:
        self._dim = dim
        self._nu = nu

    def ppf(self, u: Any) -> Any:
        x = special.betaincinv(0.5 * self._dim, self._nu, u)
        return np.sqrt(2.0 * self._nu * x / (1.0 - x))

    def isf(self, q: Any) -> Any:
        y = special.betaincinv(self._nu, 0.5 * self._dim, q)
        return np.sqrt(2.0 * self._nu * (1.0 - y) / y)


def matern_law(dim: int, nu: float) -> RadialLaw:
    """Radii of the Matern kernel of order nu and length 1."""
    return law_of(_MaternRadius(dim, nu), tail_exponent=2.0 * nu)


def table_of(
    dim: int, parts: list[tuple[float, RadialLaw]], *, formula: str = "by hand", **options: Any
) -> SpectralTable:
    """A table of signed masses and their laws."""
    return SpectralTable(
        dim=dim,
        parts=tuple(
            Part(abs(mass), 1e-12 * abs(mass), 0.0 if mass > 0 else np.pi, law)
            for mass, law in parts
        ),
        formula=formula,
        k_zero=sum(mass for mass, _ in parts),
        u_error=1e-11,
        provenance="scipy's quantile functions",
        **options,
    )


def gaussian_mixture(dim: int, terms: list[tuple[float, float]], **options: Any) -> SpectralTable:
    """The kernel sum of mass * exp(-z^2 / (2 length^2)), one part for each term."""
    return table_of(dim, [(m, gaussian_law(dim, length)) for m, length in terms], **options)
