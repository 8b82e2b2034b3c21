r"""Separate directions for each radius: the tolerance and split that a number of columns is worth.

A design within a tolerance has a bias below it and, with n frequencies split in proportion to
:math:`|c_j|\sigma_j`, a variance of about :math:`(\sum_j |c_j|\sigma_j)^2 d / n`.  A smaller
tolerance costs more variance, so that one tolerance is best for each n.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spectra.designs.designed_measure import Design
from spectra.designs.distances import Distances
from spectra.designs.methods.least_mass import design_within
from spectra.designs.wave_columns import wave_covariance
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["design_for_separate"]

# Tolerances tried, as parts of the kernel's size, until the error grows; it is flat at its least.
_TRIED = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)


def design_for_separate(
    kernel: Kernel,
    dim: int,
    served: Distances,
    *,
    n_components: int,
    **asked: Any,
) -> Design:
    """The design of least expected error for a number of columns, with directions for each radius.

    The coupling and the bounds asked for are those of :func:`design_within`.

    Raises
    ------
    AccuracyError
        Where no design within 30 % fits the columns.
    ParameterError
        For less columns than one frequency has, or dim = 1.
    """
    if n_components < 3 or dim < 2:
        raise ParameterError(
            f"n_components = {n_components} columns in dimension {dim}: at least 3 columns and "
            "dimension 2 are needed. In dimension 1 features have no variance: use "
            "objective='mass' and a tol."
        )
    size = float(np.abs(kernel(served.nodes)).max())
    best: Design | None = None
    refusal: AccuracyError | None = None
    for part in _TRIED:
        try:
            made = design_within(kernel, dim, served, tol=part * size, **asked)
        except AccuracyError as found:
            refusal = found
            break  # smaller tolerances need more still
        counts = _split(made, n_components)
        if counts is None:
            continue
        made = _with_counts(made, counts, served, n_components)
        if best is not None and made.expected_error >= best.expected_error:
            break
        best = made
    if best is None:
        low, high = served.domain
        raise AccuracyError(
            f"No design within 30 % of the kernel fits {n_components} columns in dimension {dim} "
            f"on [{low:g}, {high:g}]. Allow more columns or a smaller domain."
        ) from refusal
    return best


def _split(made: Design, columns: int) -> tuple[int, ...] | None:
    """Directions of each radius by the rule of equal proportions; None where they do not fit.

    Orthogonal ones come in whole blocks where every radius can have one: a block that is not full
    leaves its degree 2, which large cancelling masses cannot afford.
    """
    still = made.radii == 0.0
    moving = int(np.count_nonzero(~still))
    n = (columns - int(still.any())) // 2
    if n < moving:
        return None
    block = made.dim if made.coupling == "orthogonal" and n >= moving * made.dim else 1
    shares = np.where(still, 0.0, np.abs(made.masses) * made.deviations)
    counts = np.ones(made.radii.size, dtype=int)
    for _ in range(n // block - moving):
        counts[int(np.argmax(shares**2 / (counts * (counts + 1.0))))] += 1
    return tuple(np.where(still, 1, counts * block).tolist())


def _with_counts(
    made: Design, counts: tuple[int, ...], served: Distances, n_components: int
) -> Design:
    """The design with these directions, blocks that are not full included in its variance."""
    variances = [
        wave_covariance(
            made.dim,
            np.array([w]),
            served.nodes,
            served.weights,
            n=n,
            blocks=made.coupling == "orthogonal",
        )[0, 0]
        for w, n in zip(made.radii.tolist(), counts, strict=True)
    ]
    deviations = np.sqrt(variances)
    deviation = float(np.linalg.norm(made.masses * deviations))
    return replace(
        made,
        counts=counts,
        deviations=deviations,
        deviation=deviation,
        tol=None,
        n_components=n_components,
        dual=None,
    )
