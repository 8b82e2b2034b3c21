r"""From an asymmetric kernel to the table of its complex measure.

The shifted kernels of a sum are gathered by their radial kernel and by the axis of their shifts,
so that each radial measure is found once and its shifts along one axis make one modulation:
then the Jordan parts of the table are those of the measure itself.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spectra.asymmetric import AsymmetricKernel, gaussian_components
from spectra.derivation import derive
from spectra.errors import ParameterError
from spectra.modulated import NEGLIGIBLE, AsymmetricTable, Decomposition, Modulated, Modulation
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["asymmetric_table"]

FloatArray = NDArray[np.float64]

# Two shifts are parallel, and commensurate, up to this: rounding of their coordinates.
_PARALLEL = 1e-12
# Shifts count as multiples of a common unit where the multiples are at most this.
_LARGEST_STEP = 64
_RECENT_TABLES = 64
# Weights that cancel to a few units of rounding of the numbers they were made of are gone.
_CANCELLED = 1e-15


def asymmetric_table(
    kernel: AsymmetricKernel,
    dim: int,
    *,
    decomposition: Decomposition = "jordan",
    negligible: float = NEGLIGIBLE,
) -> AsymmetricTable:
    """Tabulate the complex measure of an asymmetric kernel in R^dim.

    Parameters
    ----------
    kernel : AsymmetricKernel
    dim : int
    decomposition : {"jordan", "polar", "weighted"}
        The parts; another choice can be made later with ``decomposed``.
    negligible : float
        Share of the mass below which a part is left out; the table says which, and the bias.

    Returns
    -------
    AsymmetricTable

    Raises
    ------
    DataError
        Where the shifts have another number of coordinates.
    ParameterError
        Where the kernel is zero.
    InfiniteMassError, UndecidedError, NoRouteError
        Where a radial kernel in it has no finite measure in this dimension.

    Examples
    --------
    >>> from spectra import radial
    >>> kernel = radial("exp(-z**2/8)").shift(2 / 16)
    >>> masses = asymmetric_table(kernel, 16).part_masses()
    >>> print(f"{masses['real+']:.12f} {masses['real-']:.6e} {masses['imaginary+']:.12f}")
    0.969233234489 1.258424e-11 0.097683488229
    """
    groups: dict[Kernel, list[tuple[float, FloatArray]]] = {}
    for term in kernel.in_dimension(dim):
        groups.setdefault(term.kernel, []).append((term.weight, term.offset))
    summands = [
        Modulated(_radial_table(radial, dim), modulation, _deviation(radial))
        for radial, terms in groups.items()
        for modulation in _modulations(terms, dim)
    ]
    if not summands:
        raise ParameterError("The kernel is zero: there is no measure to tabulate.")
    return AsymmetricTable(
        dim=dim,
        summands=tuple(summands),
        formula=str(kernel),
        k_zero=float(kernel(np.zeros(dim))),
        decomposition=decomposition,
        negligible=negligible,
        provenance="; ".join(dict.fromkeys(s.table.provenance for s in summands)),
    )


def _deviation(kernel: Kernel) -> float:
    """Standard deviation of a coordinate of the frequency where the kernel is one Gaussian."""
    components: tuple[Any, ...] = gaussian_components(kernel) or ()
    return float(np.sqrt(2.0 * float(components[0][1]))) if len(components) == 1 else 0.0


@lru_cache(maxsize=_RECENT_TABLES)
def _radial_table(kernel: Kernel, dim: int) -> SpectralTable:
    return derive(kernel, dim)


def _modulations(terms: list[tuple[float, FloatArray]], dim: int) -> list[Modulation]:
    """Modulations of one kernel: one for each axis, where its shifts have a common unit."""
    centred = _sum([weight for weight, offset in terms if _is_centred(offset)])
    axes: list[tuple[FloatArray, list[tuple[float, float]]]] = []
    for weight, offset in terms:
        if _is_centred(offset):
            continue
        # Squares of the smallest and of the largest doubles are none.
        largest = float(np.abs(offset).max())
        direction = offset / largest
        length = largest * float(np.linalg.norm(direction))
        direction = direction / np.linalg.norm(direction)
        for axis, members in axes:
            cosine = float(axis @ direction)
            if np.linalg.norm(direction - np.sign(cosine) * axis) < _PARALLEL:
                members.append((weight, np.sign(cosine) * length))
                break
        else:
            axes.append((direction, [(weight, length)]))
    out: list[Modulation] = []
    for axis, members in axes:
        unit = _common_unit([length for _, length in members])
        if unit is None:
            # Without a common unit each shift is a measure of its own: valid, of more mass.
            for length in dict.fromkeys(t for _, t in members):
                same = [(w, t) for w, t in members if t == length]
                out.extend(_along(axis, abs(length), same))
        else:
            out.extend(_along(axis, unit, members))
    if centred != 0.0:
        if len(out) == 1:
            steps, weights = out[0].steps, out[0].weights
            out[0] = Modulation(
                out[0].axis, out[0].unit, np.append(steps, 0), np.append(weights, centred)
            )
        else:
            out.append(Modulation(np.eye(dim)[0], 1.0, np.array([0]), np.array([centred])))
    return out


def _is_centred(offset: FloatArray) -> bool:
    """Whether a shift is 0, or below the doubles that have all their digits."""
    return bool(np.abs(offset).max() < np.finfo(float).tiny)


def _along(axis: FloatArray, unit: float, members: list[tuple[float, float]]) -> list[Modulation]:
    """The modulation of shifts by multiples of a unit; none where all of them cancel."""
    weights: dict[int, list[float]] = {}
    for weight, length in members:
        weights.setdefault(round(length / unit), []).append(weight)
    sums = {step: total for step, those in weights.items() if (total := _sum(those))}
    if not sums:
        return []
    return [Modulation(axis, unit, np.array(list(sums)), np.array(list(sums.values())))]


def _sum(weights: list[float]) -> float:
    """The sum, and 0 where it is no more than the rounding of what cancels in it."""
    total = math.fsum(weights)
    return total if abs(total) > _CANCELLED * sum(map(abs, weights)) else 0.0


def _common_unit(lengths: list[float]) -> float | None:
    """The largest length of which all are multiples up to 64; None where there is none."""
    least = min(abs(t) for t in lengths)
    for divisor in range(1, _LARGEST_STEP + 1):
        steps = np.array(lengths) / (least / divisor)
        if np.abs(steps).max() > _LARGEST_STEP:
            return None
        if np.abs(steps - np.round(steps)).max() < _PARALLEL * np.abs(steps).max():
            return least / divisor
    return None
