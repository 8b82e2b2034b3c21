r"""Draw frequencies from a table with a coupling.

A table writes the kernel as a sum of parts.  With n_p frequencies of each part p, of mass m_p,

.. math:: \hat k(D) = \sum_i a_i \cos(w_i \cdot D + \theta_i), \qquad a_i = m_p / n_p,

where w_i = R_i u_i, the radius R_i has the distribution of the part, and the direction u_i is
uniform.  The phase is 0 for a positive part and pi for a negative one.  The estimate is unbiased
for every joint distribution of the frequencies of a draw; this *coupling* determines the variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import trunc
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np

from rf.feature_maps.feature_map import Frequencies
from rf.sampling.coupling import (
    HAAR,
    INDEPENDENT,
    ORTHOGONAL,
    RADII,
    SHARED,
    Coupling,
    Radii,
    RadiusRule,
)
from rf.sampling.designed_directions import DESIGNED, KERDOCK
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import random_source, whole_number
from spectra.errors import ParameterError
from spectra.table import Part, SpectralTable

__all__ = [
    "ALLOCATIONS",
    "COUPLINGS",
    "RADII",
    "Allocation",
    "Radii",
    "check_table",
    "checked_choice",
    "draw_frequencies",
    "draw_repeatedly",
    "pooled_frequencies",
]

T = TypeVar("T")

#: Every coupling by its name.  If variances are equal, "auto" prefers the first of them.
COUPLINGS: Mapping[str, Coupling] = MappingProxyType(
    {each.name: each for each in (ORTHOGONAL, INDEPENDENT, HAAR, SHARED, DESIGNED, KERDOCK)}
)

Allocation = Literal["equal", "mass", "optimal"]

#: How frequencies are split over the parts; see :func:`rf.variance.allocation.allocate`.
ALLOCATIONS: tuple[Allocation, ...] = ("equal", "mass", "optimal")


def draw_frequencies(
    table: SpectralTable,
    counts: Sequence[int],
    *,
    coupling: str = "orthogonal",
    radii: Radii = "stratified",
    random_state: np.random.Generator | int | None = None,
) -> Frequencies:
    """Draw frequencies of every part of a table, each exactly from the distribution of its part.

    Parameters
    ----------
    table : SpectralTable
    counts : sequence of int
        Number of frequencies of each part, at least one; see
        :func:`rf.variance.allocation.allocate`.  For a table of one part, a number is accepted.
    coupling : str
        One of ``COUPLINGS``; see :mod:`rf.sampling.coupling`.
    radii : str
        "iid", or "stratified": one radius in each of n_p strata of equal probability, in random
        order.
    random_state : numpy.random.Generator, int or None

    Returns
    -------
    Frequencies

    Raises
    ------
    ParameterError
        For an unknown coupling or rule of radii, or counts that do not fit the parts.

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
    """Many independent results of :func:`draw_frequencies`, much faster than by separate calls.

    ``table``, ``counts``, ``coupling``, ``radii``, ``random_state``: as in
    :func:`draw_frequencies`; ``draws``: how many, at least 1; all are held in memory at one time.
    The results share the array ``part`` and, if no part is shifted, ``weights`` and ``phases``.
    """
    check_table(table)
    rng, parts = random_source(random_state, "random_state"), table.parts
    draws = whole_number(draws, "draws")
    # Counts that were computed from masses may be whole numbers of type float.
    counts = [
        whole_number(trunc(n) if isinstance(n, Real) and n % 1 == 0 else n, "counts", least=0)
        for n in np.ravel(np.asarray(counts, dtype=object))
    ]
    if len(counts) != len(parts) or min(counts, default=0) < 1:
        raise ParameterError(
            f"counts = {tuple(counts)} for a table of {len(parts)} part(s): every part needs its "
            "own number of frequencies, at least 1. Use allocate(table, n)."
        )
    chosen = checked_choice(COUPLINGS, coupling, "coupling")
    rule = checked_choice(RADII, radii, "radii")
    frequencies = np.zeros((draws, sum(counts), table.dim))
    rows = np.split(frequencies, np.cumsum(counts)[:-1], axis=1)
    if table.joint_columns is not None:  # directions of different parts may be dependent
        group = parts[0].groups[0]
        drawn = chosen.draw(counts, group.size(table.dim), rng, radii=rule, draws=draws)
        for p, own, (u, directions) in zip(parts, rows, drawn, strict=True):
            own[:] = p.groups[0].frequencies(table.dim, p.law.ppf(u)[..., None] * directions)
    else:
        for p, own in zip(parts, rows, strict=True):
            _draw_part(p, own, rng, chosen, rule)
    weights = np.repeat([p.mass / n for p, n in zip(parts, counts, strict=True)], counts)
    phases = np.repeat([float(p.phase) for p in parts], counts)
    part = np.repeat(np.arange(len(parts)), counts)
    return tuple(
        Frequencies(w, *_apply_shifts(table, w, weights, phases, part), part) for w in frequencies
    )


def _draw_part(
    part: Part, rows: FloatArray, rng: np.random.Generator, coupling: Coupling, rule: RadiusRule
) -> None:
    """Add the frequencies of one part to ``rows``, zeros of shape (draws, n, d).

    The coupling works within each group.  Several groups have random signs and a random order, so
    that they are independent of one another (see :mod:`rf.variance.variance`).
    """
    draws, n, dim = rows.shape
    for group in part.groups:
        size = group.size(dim)
        if group.is_coupled:
            ((u, directions),) = coupling.draw([n], size, rng, radii=rule, draws=draws)
            own = group.law.ppf(u)[..., None] * directions
        else:
            own = group.law.draw(size, draws * n, rng).reshape(draws, n, size)
        if len(part.groups) > 1:
            own = own * rng.choice([-1.0, 1.0], size=(draws, n, 1))
            own = np.stack([each[rng.permutation(n)] for each in own])
        rows += group.frequencies(dim, own)


def pooled_frequencies(table: SpectralTable, n: int, rng: np.random.Generator) -> Frequencies:
    """Independent frequencies, each from a random part chosen with probability ~ mass.

    For tables with more than n parts.  The result counts all frequencies as one part.
    """
    drawn = table.sample(n, rng)
    return Frequencies(
        drawn.frequencies, drawn.weights / n, drawn.phases, np.zeros(n, dtype=np.intp)
    )


def _apply_shifts(
    table: SpectralTable,
    frequencies: FloatArray,
    weights: FloatArray,
    phases: FloatArray,
    part: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Weights and phases with the factor sum_j c_j exp(i t_j e.w) of the shifts of each part."""
    if table.is_symmetric:
        return weights, phases
    weights, phases = weights.copy(), phases.copy()
    for index, p in enumerate(table.parts):
        if p.shifts is not None:
            mask = part == index
            moduli, angles = p.shifts.polar(frequencies[mask])
            weights[mask] *= moduli
            # Phases in [0, 2 pi) keep their digits in single precision.
            phases[mask] = np.remainder(phases[mask] + angles, 2.0 * np.pi)
    return weights, phases


def checked_choice(options: Mapping[str, T], name: str, parameter: str) -> T:
    """The option of a name; ParameterError if there is none."""
    if name not in list(options):  # names without a hash, too
        raise ParameterError(
            f"{parameter} = {name!r} is not one of {', '.join(map(repr, options))}."
        )
    return options[name]


def check_table(table: Any) -> None:
    """Raise ParameterError unless ``table`` is a SpectralTable."""
    if not isinstance(table, SpectralTable):
        found = "None, as for features designed for the data" if table is None else repr(table)
        raise ParameterError(
            f"Give a SpectralTable, made by spectra.derive(kernel, dim); this is {found}."
        )
