"""Tables of known laws, built from scipy's quantile functions and from nothing of the toolkit.

They let the tests of features and variances run against an oracle that shares no code with the
transforms, measures and inverse CDFs of ``spectra``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

from spectra.base.piecewise import Piecewise
from spectra.table import Part, SpectralTable
from spectra.table.radial_law import RadialLaw

# Panels end where the probability below or above is a power of 1/4, down to one that no test can
# see.
_TINY = 0.25 ** np.arange(30.0, 0.5, -1.0)
_NODES = 20


def panels_of(pdf: Any, ends: Any) -> Piecewise:
    """A density of the radius on panels in log w between radii."""
    edges = np.log(ends)
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    w = np.exp(edges[:-1, None] + 0.5 * np.diff(edges)[:, None] * (1.0 + x))
    basis = np.polynomial.legendre.legvander(x, _NODES - 1) * (np.arange(_NODES) + 0.5)
    charts = np.zeros((edges.size - 1, 5))
    charts[:, 1], charts[:, 2], charts[:, 3] = 1.0, edges[:-1], edges[1:]
    return Piecewise(charts, (pdf(w) * w * weights) @ basis)


def law_of(distribution: Any, *, rates: tuple[float, float]) -> RadialLaw:
    """The law of a scipy distribution on [0, inf), to about 1e-13.

    ``rates`` are the powers with which probabilities fall towards 0 and infinity.
    """
    radii = np.concatenate([distribution.ppf(_TINY), distribution.isf(_TINY[::-1])])
    ends = [
        Piecewise([[0.0, 1.0, np.log(edge), np.log(edge), power]], [[_TINY[0]]])
        for edge, power in ((radii[0], 1.0 / rates[0]), (radii[-1], -1.0 / rates[1]))
    ]
    panels = Piecewise.join([ends[0], panels_of(distribution.pdf, radii), ends[1]])
    return RadialLaw(panels.scaled(1.0 / panels.masses.sum()))


def ball_law(dim: int, radius: float = 1.0) -> RadialLaw:
    """Radii of a uniform ball: F(w) = (w / radius)^dim."""
    radii = radius * np.append(_TINY, 1.0) ** (1.0 / dim)
    head = Piecewise([[0.0, 1.0, *np.log(radii[[0, 0]]), 1.0 / dim]], [[_TINY[0]]])
    return RadialLaw(
        Piecewise.join([head, panels_of(lambda w: dim / w * (w / radius) ** dim, radii)])
    )


def gaussian_law(dim: int, length: float = 1.0) -> RadialLaw:
    """Radii of exp(-z^2 / (2 length^2)): chi_d / length."""
    return law_of(stats.chi(dim, scale=1.0 / length), rates=(dim, 100.0))


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

    def pdf(self, w: Any) -> Any:
        d, nu = self._dim, self._nu
        log = (d - 1) * np.log(w) - (nu + 0.5 * d) * np.log1p(w**2 / (2.0 * nu))
        scale = np.log(2.0) - 0.5 * d * np.log(2.0 * nu) - special.betaln(0.5 * d, nu)
        return np.exp(log + scale)


def matern_law(dim: int, nu: float) -> RadialLaw:
    """Radii of the Matern kernel of order nu and length 1."""
    return law_of(_MaternRadius(dim, nu), rates=(dim, 2.0 * nu))


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
