r"""The table of a kernel of the l1 distance: its parts, and how their frequencies are drawn.

Two kinds of parts add up to it.  A *mixture* is a radial law of an odd dimension D >= d seen
through other directions: with U uniform on the sphere of R^D and S of the law
Dirichlet(1/2, ..., 1/2),

.. math:: w_i = R\,U_i / \sqrt{S_i}, \qquad
          E \cos(w \cdot \Delta) = E\,\Omega_D(R\,|\Delta|_1 / \sqrt{S_1}),

which depends on the l1 distance alone (S. Cambanis, R. Keener and G. Simons, J. Multivariate Anal.
13 (1983) 213, theorem 3.1); d of the D coordinates are kept.  A *hat* is a multiple of the
truncated l1 distance (:mod:`spectra.table.l1.truncated`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import bound_text
from spectra.errors import ParameterError
from spectra.table.l1.truncated import dominance, drawn_hat, proposal_wave, proposal_wave_error
from spectra.table.part import Part
from spectra.table.parted_table import FrequencySample, PartedTable
from spectra.table.spectral_table import SpectralTable
from spectra.table.table_file import Arrays

__all__ = ["Hat", "L1Part", "L1Table"]

#: The weight and the radius of weight * max(radius - |x - y|_1, 0).
Hat = tuple[float, float]

# Panels of the mean over S_1, of which the last are near s = 2^-60; what is left away of it; the
# nodes of one, whose error is told by every second of them.
_PANELS, _LEFT = 60, 1e-10
_ORDER = 16
# Rounding of a few operations, in parts of their terms.
_ROUNDING = 2.0**-50


def _clenshaw_curtis(order: int) -> FloatArray:
    """Weights at cos(pi j / order) on [-1, 1]."""
    j = np.arange(order + 1)
    even = np.arange(0, order + 1, 2)
    moments = np.where((even == 0) | (even == order), 1.0, 2.0) / (1.0 - even**2.0)
    ends = np.where((j == 0) | (j == order), 1.0, 2.0)
    return np.asarray(ends / order * (np.cos(np.pi * np.outer(j, even) / order) @ moments))


_POINTS = np.cos(np.pi * np.arange(_ORDER + 1) / _ORDER)
_FINE, _COARSE = _clenshaw_curtis(_ORDER), _clenshaw_curtis(_ORDER // 2)


@final
@dataclass(frozen=True, eq=False)
class L1Part:
    """A part of a kernel of the l1 distance: a positive mass and its sign.

    Attributes
    ----------
    mass, mass_error, sign : float
    wave : callable
        E cos(w.D) at differences of shape (n, d), and its error.
    draw : callable
        Independent frequencies of shape (size, d), by their number and a generator.
    """

    mass: float
    mass_error: float
    sign: float
    wave: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    draw: Callable[[int, np.random.Generator], FloatArray]


def _of_mixture(part: Part, ambient: int, dim: int) -> L1Part:
    """A part of the radial law, in its odd dimension D, under the directions of the l1 distance."""
    wave = partial(_mixed_wave, ((1.0, part),), ambient)
    draw = partial(_mixed_draw, part, ambient, dim)
    return L1Part(part.mass, part.mass_error, part.sign, wave, draw)


def _mixed_wave(
    weighted: tuple[tuple[float, Part], ...], ambient: int, differences: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The mean of a sum of radial waves at z / s, where s^2 has the law Beta(1/2, (D - 1)/2).

    On panels that halve until what is left of every summand is small: a sum may vanish where it has
    not begun.  Where laws end in waves of a frequency, the kernel is not smooth at that radius, at
    which one of the panels ends.
    """
    z = np.abs(differences).sum(axis=-1)
    size = sum(abs(weight) for weight, _ in weighted)
    value, error = np.zeros(z.size), np.full(z.size, _ROUNDING * size)
    half = 0.5 * (ambient - 1)
    scale = 2.0 * np.exp(-betaln(0.5, half))
    last, _ = np.frexp(z / _radius_of_kink(weighted))
    low, high = np.where(last > 0.0, last, 0.5), np.ones(z.size)
    active = np.arange(z.size)
    for _ in range(_PANELS):
        wide = 0.5 * (high - low)[active, None]
        s = low[active, None] + wide * (1.0 + _POINTS)
        share = wide * scale * (1.0 - s**2) ** (half - 1.0)
        wave, lost, sizes = np.zeros((3, *s.shape))
        for weight, part in weighted:
            found = part.plane_wave(ambient, (z[active, None] / s).ravel())
            own, own_error = (a.reshape(s.shape) for a in found)
            wave += weight * own
            lost += abs(weight) * own_error
            sizes += abs(weight) * np.abs(own)
        fine, coarse = np.vecdot(wave * share, _FINE), np.vecdot((wave * share)[:, ::2], _COARSE)
        value[active] += fine
        error[active] += np.abs(fine - coarse) + np.vecdot(lost * share, _FINE)
        high, low = low, 0.5 * low
        left = scale * high[active] * sizes.max(axis=1)
        done = left < _LEFT * size
        error[active[done]] += left[done]
        active = active[~done]
        if not active.size:
            return value, error
    error[active] += scale * high[active] * size
    return value, error


def _radius_of_kink(weighted: tuple[tuple[float, Part], ...]) -> float:
    """Where the kernel of laws with a tail of waves is not smooth; 1, which is any, of others."""
    tails = [part.law.tail for _, part in weighted]
    return max((float(t.density.frequencies[0]) for t in tails if t is not None), default=1.0)


def _mixed_draw(
    part: Part, ambient: int, dim: int, size: int, rng: np.random.Generator
) -> FloatArray:
    gaussian = rng.standard_normal((size, ambient))
    spread = rng.standard_normal((size, ambient))
    # Squares of normal numbers over their sum are Dirichlet(1/2, ..., 1/2).
    stretch = np.linalg.norm(spread, axis=1) / np.linalg.norm(gaussian, axis=1)
    radii = part.law.rvs(size, rng) * stretch
    return np.asarray(radii[:, None] * gaussian[:, :dim] / np.abs(spread[:, :dim]))


def _of_hat(hat: Hat, dim: int, sign: float) -> L1Part:
    """(c q + s mu)/2 of a hat: its share of one sign, of mass (c |k(0)| + s k(0))/2."""
    weight, radius = hat
    mass = 0.5 * (dominance(dim) * abs(weight * radius) + sign * weight * radius)
    own = sign * float(np.sign(weight))
    wave, draw = partial(_hat_wave, radius, own), partial(_hat_draw, radius, own, dim)
    return L1Part(mass, _ROUNDING * mass, sign, wave, draw)


def _hat_wave(radius: float, sign: float, differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = differences / radius
    c = dominance(differences.shape[-1])
    value = c * proposal_wave(scaled)
    value = value + sign * np.maximum(1.0 - np.abs(scaled).sum(axis=-1), 0.0)
    return value / (c + sign), c / (c + sign) * proposal_wave_error(scaled)


def _hat_draw(
    radius: float, sign: float, dim: int, size: int, rng: np.random.Generator
) -> FloatArray:
    return drawn_hat(size, dim, sign, rng) / radius


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class L1Table(PartedTable):
    """A tabulated measure of a kernel of the l1 distance in d >= 2 columns.

    Parameters
    ----------
    dim : int
        Number of columns of the data.
    mixture : SpectralTable or None
        The radial laws in an odd dimension D >= dim whose l1 kernel is part of this one.
    hats : tuple of (weight, radius)
        Truncated l1 distances; dim is then 2 or 3.
    formula : str

    Raises
    ------
    ParameterError
        If the pieces do not fit together.

    Examples
    --------
    >>> from spectra import derive, l1
    >>> table = derive(l1("Max(1 - z, 0)"), 2, cache=False)
    >>> [(p.sign, round(p.mass, 12)) for p in table.parts], table.is_jordan
    ([(1.0, 2.4), (-1.0, 1.4)], False)
    >>> table.expected_kernel([[0.25, -0.25]])
    array([0.5])
    """

    dim: int
    mixture: SpectralTable | None
    hats: tuple[Hat, ...]
    formula: str

    formats = (("spectra.L1Table", 2),)
    convention = (
        "k(D) = sum over hats of weight * max(radius - |D|_1, 0) + the mixture over "
        "E Omega(R |D|_1 / sqrt(S_1)), S of the law Dirichlet(1/2)"
    )

    def __post_init__(self) -> None:
        law = self.mixture
        if isinstance(self.dim, bool) or not isinstance(self.dim, int) or self.dim < 2:
            raise ParameterError(f"dim = {self.dim}: in one column a radial table says the same.")
        if law is not None and (
            not law.is_radial
            or law.sphere
            or np.isfinite(law.domain)
            or law.dim < max(3, self.dim)
            or law.dim % 2 == 0
        ):
            raise ParameterError(
                f"The law of {law.formula} is in dimension {law.dim}: a kernel of the l1 distance "
                f"of {self.dim} columns needs a radial one at all distances, in an odd dimension "
                "of at least 3 and of at least as many."
            )
        for weight, radius in self.hats:
            dominance(self.dim)
            if not (np.isfinite(weight) and weight != 0.0 and 0.0 < radius < np.inf):
                raise ParameterError(f"{weight} max({radius} - z, 0) is no truncated distance.")

    def __repr__(self) -> str:
        return (
            f"L1Table of {self.formula} on R^{self.dim}: {len(self.parts)} part(s) of mass "
            f"{self.mass:.12g}; u-error {bound_text(self.u_error)}"
        )

    @cached_property
    def parts(self) -> tuple[L1Part, ...]:
        """The parts, each a positive mass with a sign."""
        law = self.mixture
        mixed = [] if law is None else [_of_mixture(p, law.dim, self.dim) for p in law.parts]
        return (*mixed, *self._of_hats)

    @cached_property
    def _of_hats(self) -> tuple[L1Part, ...]:
        """The parts of the truncated distances."""
        return tuple(_of_hat(hat, self.dim, sign) for hat in self.hats for sign in (1.0, -1.0))

    @property
    def is_jordan(self) -> bool:
        """Whether all parts have one sign: parts of both overlap, and are no Jordan parts."""
        return len({p.sign for p in self.parts}) < 2

    @property
    def k_zero(self) -> float:
        """k(0)."""
        own = 0.0 if self.mixture is None else self.mixture.k_zero
        return float(own + sum(weight * radius for weight, radius in self.hats))

    @property
    def u_error(self) -> float:
        """Error in probability of the radial laws, as a SpectralTable has it."""
        return 0.0 if self.mixture is None else self.mixture.u_error

    @property
    def bias(self) -> float:
        """Bound of |k - expected_kernel| from what the laws leave out on purpose."""
        return 0.0 if self.mixture is None else self.mixture.bias

    @property
    def provenance(self) -> str:
        """How the laws were found."""
        own = [] if self.mixture is None else [self.mixture.provenance]
        return "; ".join([*own, *(["divided differences"] if self.hats else [])])

    def _expected(self, differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
        D = self._differences(differences)
        rows = D.reshape(-1, self.dim)
        value, error = np.zeros(len(rows)), np.zeros(len(rows))
        law = self.mixture
        if law is not None:
            signed = tuple((p.sign * p.mass, p) for p in law.parts)
            value, error = _mixed_wave(signed, law.dim, rows)
            error += sum(p.mass_error for p in law.parts)
        for part in self._of_hats:
            wave, lost = part.wave(rows)
            value += part.sign * part.mass * wave
            error += part.mass * lost + part.mass_error * np.abs(wave)
        return value.reshape(D.shape[:-1]), error.reshape(D.shape[:-1])

    def _draw(self, chosen: IntArray, drawn: FrequencySample, rng: np.random.Generator) -> None:
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(chosen == number)
            drawn.frequencies[rows] = part.draw(rows.size, rng)

    def _members(self) -> tuple[dict[str, Any], Arrays]:
        own = {"hats": [{"weight": weight, "radius": radius} for weight, radius in self.hats]}
        mixture, arrays = (None, {}) if self.mixture is None else self.mixture.members()
        return own | {"mixture": mixture}, arrays

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        inner = header["mixture"]
        return cls(
            dim=header["dim"],
            mixture=None if inner is None else SpectralTable.of_members(inner, arrays, path),
            hats=tuple((float(h["weight"]), float(h["radius"])) for h in header["hats"]),
            formula=str(header["formula"]),
        )
