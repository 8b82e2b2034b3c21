r"""Separate directions for each radius: the tolerance and split that a number of columns is worth.

A design within a tolerance has a bias below it and, with n frequencies split in proportion to
:math:`|c_j|\sigma_j`, a variance of about :math:`(\sum_j |c_j|\sigma_j)^2 d / n`.  A smaller
tolerance costs more variance, so that one tolerance is best for each n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.designs.budget import BudgetDesign, block_angular_means
from spectra.designs.distances import check_domain, law_of_distances
from spectra.designs.least import Coupling, Design, design_within
from spectra.errors import AccuracyError, ParameterError
from spectra.harmonics import wave_coefficients

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["design_for_separate"]

FloatArray = NDArray[np.float64]

# Tolerances tried, as parts of the kernel's size, until the error grows; it is flat at its least.
_TRIED = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
# Distances count as at least this part of z_max.
_NEAREST = 1e-6


def design_for_separate(
    kernel: Kernel,
    dim: int,
    *,
    budget: int,
    domain: tuple[float, float],
    coupling: Coupling = "orthogonal",
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    max_mass: float | None = None,
    max_radius: float | None = None,
) -> BudgetDesign:
    """The design of least expected error for a number of columns, with directions for each radius.

    Raises
    ------
    AccuracyError
        Where no design within 30 % fits the columns.
    ParameterError
        For a budget of less than one frequency, or dim = 1.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> d = design_for_separate(radial("exp(-z**2/2)"), 5, budget=200, domain=(0, 2))
    >>> d.columns <= 200, d.expected_error < 0.05
    (True, True)
    """
    low, high = check_domain(domain)
    if budget < 3 or dim < 2:
        raise ParameterError(
            f"budget = {budget} columns in dimension {dim}: at least 3 columns and dimension 2 are "
            "needed. In dimension 1 features have no variance: use objective='mass' and a tol."
        )
    nodes, weights = law_of_distances(kernel, (low, high), distances)
    nodes = np.maximum(nodes, _NEAREST * high)
    values = kernel(nodes)
    size = float(np.abs(values).max())
    best: BudgetDesign | None = None
    refusal: AccuracyError | None = None
    for part in _TRIED:
        try:
            made = design_within(
                kernel,
                dim,
                domain=(low, high),
                tol=part * size,
                coupling=coupling,
                distances=distances,
                max_mass=max_mass,
                max_radius=max_radius,
            )
        except AccuracyError as found:
            refusal = found
            break  # smaller tolerances need more still
        counts = _split(made, budget, coupling)
        if counts is None:
            continue
        bias = float(np.sqrt(weights @ (made(nodes) - values) ** 2))
        deviation = _deviation(made, counts, coupling, nodes, weights)
        if best is not None and np.hypot(bias, deviation) >= best.expected_error:
            break
        best = BudgetDesign(
            kernel=kernel,
            dim=dim,
            domain=(low, high),
            coupling=coupling,
            radii=made.radii,
            masses=made.masses,
            counts=counts,
            powers=np.zeros(0),
            bias=bias,
            deviation=deviation,
            sup_error=made.sup_error,
        )
    if best is None:
        raise AccuracyError(
            f"No design within 30 % of the kernel fits {budget} columns in dimension {dim} on "
            f"[{low:g}, {high:g}]. Allow more columns or a smaller domain."
        ) from refusal
    return best


def _split(made: Design, budget: int, coupling: str) -> tuple[int, ...] | None:
    """Directions of each radius by the rule of equal proportions; None where they do not fit.

    Orthogonal ones come in whole blocks where every radius can have one: a block that is not full
    leaves its degree 2, which large cancelling masses cannot afford.
    """
    still = made.radii == 0.0
    moving = int(np.count_nonzero(~still))
    n = (budget - int(still.any())) // 2
    if n < moving:
        return None
    block = made.dim if coupling == "orthogonal" and n >= moving * made.dim else 1
    shares = np.where(still, 0.0, np.abs(made.masses) * made.deviations)
    counts = np.ones(made.radii.size, dtype=int)
    for _ in range(n // block - moving):
        counts[int(np.argmax(shares**2 / (counts * (counts + 1.0))))] += 1
    return tuple(np.where(still, 1, counts * block).tolist())


def _deviation(
    made: Design,
    counts: tuple[int, ...],
    coupling: str,
    nodes: FloatArray,
    weights: FloatArray,
) -> float:
    """Root mean square of the standard deviation, blocks that are not full included."""
    total = 0.0
    for w, c, n in zip(made.radii, made.masses, counts, strict=True):
        if w == 0.0:
            continue
        t = w * nodes
        last = int(3.0 * np.sqrt(made.dim) + 1.1 * t.max() + 20.0)
        squares = wave_coefficients(made.dim, last, t)[2::2] ** 2
        means = np.full(len(squares), 1.0 / n)
        if coupling == "orthogonal":
            known = block_angular_means(made.dim, n)[1 : len(squares) + 1]
            means[: known.size] = np.maximum(known, 0.0)  # sums of squares, up to rounding
        total += float(c) ** 2 * float(means @ squares @ weights)
    return float(np.sqrt(total))
