"""Tabulate a finite measure, and measure the error of the quantiles in the table."""

from __future__ import annotations

from numbers import Real

import numpy as np

from spectra.base.accuracy import DENSITY, EPS, PROBABILITY, VALUE
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray
from spectra.errors import AccuracyError, ParameterError
from spectra.measure.spectral_measure import SpectralMeasure
from spectra.table import Part, SpectralTable
from spectra.table.radial_law import RadialLaw

__all__ = ["tabulate"]

# Smallest error that can be requested: a few times the spacing of doubles below 1.
_LEAST_U_ERROR = PROBABILITY / 1e3
# Safety factor on the error, as it may be larger between the check points.
_SAFETY = 1.25
# Check points in a panel, as shares of its probability.
_CHECK_SHARES = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 16) / 16)


@staged(
    "tabulating",
    advice="ask for less accuracy (u_error), or for a measure designed for your distances (design)",
)
def tabulate(measure: SpectralMeasure, *, u_error: float | None = None) -> SpectralTable:
    r"""Tabulate the distribution of the radius of each Jordan part of a finite measure.

    The table stores the density of each part on panels.  Quantiles are found from the integrals of
    the density from both ends, so that both tails keep their relative precision.  The error of the
    quantiles is measured in every panel, and the masses are compared with k(0).  Errors are not
    counted where the spacing of doubles is more than 1e-13 in probability: at a pole of the density
    and in a very narrow peak.

    The oscillating tail of a density is split into two nonnegative parts that overlap, see
    :meth:`SpectralMeasure.parts <spectra.measure.SpectralMeasure.parts>`.  The kernel of the table
    remains exact.  Its ``mass``, with which features are drawn, exceeds the mass of the measure by
    at most 0.4 % for one frequency of oscillation, 1 % for several.

    Parameters
    ----------
    measure : SpectralMeasure
        A finite measure, such as ``existence(kernel, dim).measure``.
    u_error : float, optional
        Largest error in probability that is accepted, 1e-12 by default.  The error reached is the
        smallest that the density allows, a few 1e-15 for most kernels.

    Returns
    -------
    SpectralTable
        Its ``u_error`` is the largest, over the parts, of 5/4 of the error measured in the
        quantiles plus the relative error of the mass; its ``mass_error`` bounds errors of masses.

    Raises
    ------
    ParameterError
        If ``measure`` is not a finite measure.
    AccuracyError
        If the error exceeds ``u_error``; the message contains the error that was reached.

    Examples
    --------
    >>> from spectra.measure import SpectralMeasure
    >>> table = tabulate(SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25]))
    >>> [(part.mass, part.sign) for part in table.parts]
    [(0.75, 1.0), (0.25, -1.0)]
    """
    if not isinstance(measure, SpectralMeasure):
        raise ParameterError(
            f"A table needs a finite SpectralMeasure; got {type(measure).__name__}. Use "
            "existence(kernel, dim=...).measure, or design(...) for a finite measure on the range "
            "of your distances. For an asymmetric kernel use derive(kernel, dim)."
        )
    accepted = PROBABILITY if u_error is None else u_error
    is_number = isinstance(accepted, Real) and not isinstance(accepted, bool)
    if not (is_number and _LEAST_U_ERROR <= accepted < 1.0):
        raise ParameterError(
            f"{u_error!r} is not a valid error in probability (u_error). Give a number below 1 and "
            f"not below {_LEAST_U_ERROR:g}, the resolution of probabilities in double precision."
        )
    if not measure.bias < np.inf:
        raise ParameterError(
            f"A measure of infinite mass was truncated at the radius {measure.radius:g}, so the "
            "error of its kernel has no bound. Design a finite measure for your range of distances "
            "instead."
        )
    parts, reached = measure.parts(), 0.0
    # The difference between M+ - M- and k(0) is an error of the density plus rounding, which the
    # parts share in proportion to the errors that they state.
    total, stated = sum(part.mass for part in parts), sum(part.mass_error for part in parts)
    difference = abs(sum(part.sign * part.mass for part in parts) - measure.k_zero)
    for part in parts:
        missed = difference + 2.0 * EPS * (total - part.mass)
        mass_error = part.mass_error * min(missed / stated, 1.0) if stated else 0.0
        reached = max(reached, _quantile_error(part.law) + mass_error / part.mass)
    if reached > accepted:
        raise AccuracyError(
            f"The table of {measure.name} on R^{measure.dim} reached an error of {reached:.2e} "
            f"in probability, more than the {accepted:.2e} accepted.",
            in_python=f"Ask for u_error={2 * reached:.1e}.",
            at_shell=f"Ask for --u-error {2 * reached:.1e}.",
        )
    kernel = measure.kernel
    return SpectralTable(
        dim=measure.dim,
        parts=parts,
        formula=measure.name,
        k_zero=measure.k_zero,
        u_error=reached,
        bias=measure.bias,
        sphere=kernel is not None and kernel.is_zonal,
        provenance=_describe_origin(measure, parts),
    )


def _quantile_error(law: RadialLaw) -> float:
    """5/4 of the largest error of quantiles, in probability, at check points in each panel."""
    low, high = law.edges[:-1, None], law.edges[1:, None]
    # Keys are probabilities u from below and -(1 - u) from above, see RadialLaw.edges.
    key = (low + (high - low) * _CHECK_SHARES).ravel()
    w = law.radii_by_panels(key)

    def difference(w: FloatArray) -> FloatArray:
        return np.where(key < 0.0, -law.sf(w), law.cdf(w)) - key

    # If it exceeds 1e-13, the error of a quantile is due to the spacing of doubles: not counted.
    # The probability of radii within rounding: large at an atom and near a pole of the density.
    step = difference(w * (1.0 + 2.0 * VALUE)) - difference(w * (1.0 - 2.0 * VALUE) - 1e-300)
    error = float(np.where(step > DENSITY / 10.0, 0.0, np.abs(difference(w))).max(initial=0.0))
    # The iteration that inverts a series adds rounding errors.
    error += (4.0 if np.any(law.panels.are_series) else 1.0) * EPS
    return _SAFETY * max(error, 0.0 if law.tail is None else 4.0 * VALUE * law.tail.mass)


def _describe_origin(measure: SpectralMeasure, parts: tuple[Part, ...]) -> str:
    if measure.density is None:
        return "atoms"
    text = f"density by the route {measure.density.route!r}, Jordan parts"
    tails = [part.law.tail for part in parts if part.law.tail is not None]
    if tails:
        text += f" up to the radius {tails[0].start:.6g}, overlapping parts beyond"
    if np.isfinite(measure.radius):
        text += f", truncated at radius {measure.radius:g}"
    return text
