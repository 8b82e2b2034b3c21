r"""Table x coupling x allocation -> frequencies: the random part of every feature map.

A table writes the kernel as a sum of parts, and a draw of n_p frequencies for each part gives

.. math:: \hat k(D) = \sum_i a_i \cos(w_i \cdot D + \theta_i), \qquad a_i = m_p / n_p,

w_i = R_i u_i with a radius of the law of the part and a uniform direction.  Each w_i alone has
exactly the law of its part, so the estimate is unbiased whatever the frequencies of one draw have
to do with one another; that is the *coupling*, and it decides the variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import trunc
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from rf.sampling.coupling import HAAR, INDEPENDENT, ORTHOGONAL, RADII, SHARED, Coupling, Radii
from rf.sampling.designed_directions import DESIGNED, KERDOCK
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import random_source, whole_number
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = [
    "ALLOCATIONS",
    "COUPLINGS",
    "RADII",
    "Allocation",
    "Frequencies",
    "Radii",
    "choice",
    "draw_frequencies",
    "draw_repeatedly",
    "pooled_frequencies",
    "refuse_other_than_table",
]

T = TypeVar("T")

#: Every coupling by its name.  Where variances are equal, "auto" prefers the first.
COUPLINGS: Mapping[str, Coupling] = MappingProxyType(
    {each.name: each for each in (ORTHOGONAL, INDEPENDENT, HAAR, SHARED, DESIGNED, KERDOCK)}
)

Allocation = Literal["equal", "mass", "optimal"]

#: How frequencies are split over the parts; see :func:`rf.variance.allocation.allocate`.
ALLOCATIONS: tuple[Allocation, ...] = ("equal", "mass", "optimal")


@final
@dataclass(frozen=True, eq=False)
class Frequencies:
    """One draw: k(D) is estimated by sum(weights * cos(frequencies @ D + phases)).

    Attributes
    ----------
    frequencies : ndarray of shape (n, d)
        One frequency for each row, in radians per unit of the data.
    weights : ndarray of shape (n,)
        Mass of the part over the number of its frequencies, times what shifts make of it; those of
        a radial table sum to its mass.
    phases : ndarray of shape (n,)
        0 for a positive part, pi for a negative one, and the phases of its shifts.
    part : ndarray of int, shape (n,)
        Index of the part in ``table.parts``; the frequencies of one part are consecutive.

    Examples
    --------
    >>> two = Frequencies(np.eye(2), np.full(2, 0.5), np.zeros(2), np.zeros(2, dtype=np.intp))
    >>> two.estimate([[np.pi, 0.0]]), two.counts
    (array([0.]), (2,))
    """

    frequencies: FloatArray
    weights: FloatArray
    phases: FloatArray
    part: IntArray

    def __post_init__(self) -> None:
        for array in (self.frequencies, self.weights, self.phases, self.part):
            array.setflags(write=False)

    def __repr__(self) -> str:
        counts = " + ".join(map(str, self.counts))
        return f"Frequencies: {len(self)} in R^{self.frequencies.shape[1]}, {counts} of each part"

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of frequencies of each part."""
        return tuple(np.bincount(self.part).tolist())

    def estimate(self, differences: ArrayLike) -> FloatArray:
        """Estimate of k(D) at each row D of ``differences``; shape (rows,)."""
        phase = np.asarray(differences, dtype=float) @ self.frequencies.T
        value: FloatArray = np.cos(phase + self.phases) @ self.weights
        return value


def draw_frequencies(
    table: SpectralTable,
    counts: Sequence[int],
    *,
    coupling: str = "orthogonal",
    radii: Radii = "stratified",
    random_state: np.random.Generator | int | None = None,
) -> Frequencies:
    """Draw frequencies of every part of a table, each with exactly the law of its part.

    Parameters
    ----------
    table : SpectralTable
    counts : sequence of int
        Number of frequencies of each part, at least one; see
        :func:`rf.variance.allocation.allocate`.  A number alone is that of a single part.
    coupling : str
        One of ``COUPLINGS``, described at the head of this file.
    radii : str
        "iid"; "stratified" (one radius in each of n_p layers of equal probability, in random
        order).
    random_state : numpy.random.Generator, int or None

    Returns
    -------
    Frequencies

    Raises
    ------
    ParameterError
        For an unknown coupling or law of radii, or counts that do not fit the parts.

    Examples
    --------
    >>> from rf.inputs.tables import resolve_spectrum
    >>> table = resolve_spectrum("sin(2*z)/(2*z)", 3).table
    >>> drawn = draw_frequencies(table, (3,), random_state=0)
    >>> np.linalg.norm(drawn.frequencies, axis=1), drawn.weights.sum().round(15)
    (array([2., 2., 2.]), np.float64(1.0))
    """
    return draw_repeatedly(
        table, counts, 1, coupling=coupling, radii=radii, random_state=random_state
    )[0]


def draw_repeatedly(
    table: SpectralTable,
    counts: Sequence[int],
    draws: int,
    *,
    coupling: str = "orthogonal",
    radii: Radii = "stratified",
    random_state: np.random.Generator | int | None = None,
) -> tuple[Frequencies, ...]:
    """Independent draws of :func:`draw_frequencies`, many times faster than one by one.

    ``table``, ``counts``, ``coupling``, ``radii``, ``random_state``: as in
    :func:`draw_frequencies`; ``draws``: how many, at least 1; all are held in memory at one time;
    returns: they share their part numbers and, where no part is shifted, weights and phases.
    """
    refuse_other_than_table(table)
    rng, parts = random_source(random_state, "random_state"), table.parts
    draws = whole_number(draws, "draws")
    asked_for = np.ravel(np.asarray(counts, dtype=object))
    # Masses times a number give whole numbers as floats.
    counts = [
        whole_number(trunc(n) if isinstance(n, Real) and n % 1 == 0 else n, "counts", least=0)
        for n in asked_for
    ]
    if len(counts) != len(parts) or min(counts, default=0) < 1:
        raise ParameterError(
            f"counts = {tuple(counts)} for a table of {len(parts)} part(s): every part needs its "
            "own number of frequencies, at least 1. Use allocate(table, n)."
        )
    chosen = choice(COUPLINGS, coupling, "coupling")
    rule = choice(RADII, radii, "radii")
    drawn = chosen.draw(counts, table.dim, rng, radii=rule, draws=draws)
    frequencies = np.concatenate(
        [p.law.ppf(u)[..., None] * rows for p, (u, rows) in zip(parts, drawn, strict=True)], axis=1
    )
    weights = np.repeat([p.mass / n for p, n in zip(parts, counts, strict=True)], counts)
    phases = np.repeat([float(p.phase) for p in parts], counts)
    part = np.repeat(np.arange(len(parts)), counts)
    return tuple(
        Frequencies(one, *_moved(table, one, weights, phases, part), part) for one in frequencies
    )


def pooled_frequencies(table: SpectralTable, n: int, rng: np.random.Generator) -> Frequencies:
    """Independent frequencies, each of a part that is drawn by mass: for fewer than the parts."""
    drawn = table.sample(n, rng)
    return Frequencies(
        drawn.frequencies, drawn.weights / n, drawn.phases, np.zeros(n, dtype=np.intp)
    )


def _moved(
    table: SpectralTable,
    frequencies: FloatArray,
    weights: FloatArray,
    phases: FloatArray,
    part: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Weights and phases of one draw: those of the parts, and what shifts make of them."""
    if table.is_radial:
        return weights, phases
    weights, phases = weights.copy(), phases.copy()
    for number, one in enumerate(table.parts):
        if one.shifts is not None:
            chosen = part == number
            sizes, turns = one.shifts.polar(frequencies[chosen])
            weights[chosen] *= sizes
            # Below one turn, so that single precision keeps the digits of a phase.
            phases[chosen] = np.remainder(phases[chosen] + turns, 2.0 * np.pi)
    return weights, phases


def choice(options: Mapping[str, T], name: str, what: str) -> T:
    if name not in options:
        raise ParameterError(f"{what} = {name!r} is not one of {', '.join(map(repr, options))}.")
    return options[name]


def refuse_other_than_table(table: Any, *, radial: bool = True, why: str = "") -> None:
    """A ParameterError for what is no table, or by default one without radial laws."""
    kind = table.kind if isinstance(table, SpectralTable) else None
    if kind is None or (radial and kind not in ("radial", "shifted")):
        what = "a SpectralTable of a radial kernel" if radial else "a SpectralTable"
        found = f"of type {type(table).__name__}" if kind is None else f"of the kind {kind!r}"
        raise ParameterError(
            f"Give {what}, made by spectra.derive(kernel, dim){why}; what was passed is {found}."
        )
