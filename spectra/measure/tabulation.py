"""From a finite measure to its table, with a measured error."""

from __future__ import annotations

from numbers import Real

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray
from spectra.errors import AccuracyError, ParameterError
from spectra.measure.spectral_measure import SpectralMeasure
from spectra.table import Part, SpectralTable
from spectra.table.radial.radial_law import RadialLaw

__all__ = ["tabulate"]

# The share of a tail of waves that rounding may move.
_ROUNDING = 32.0 * EPS
# Half the spacing of doubles below 1: no table can be asked for less.
_LEAST_U_ERROR = 1e-15
# By default, what a density of few digits may leave.
_ACCEPTED = 1e-9
# Between the places at which the error is measured, rounding may be larger by this factor.
_UNSEEN = 1.25
# Places of a panel at which it is measured; if so much around a radius, the rounding of a chart,
# holds more probability than the last number, no radius comes closer.
_MEASURED_AT = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 16) / 16)
_NEIGHBORS, _COARSE, _TINY = 16.0 * EPS, 1e-13, 1e-300


@staged(
    "tabulating",
    advice="ask for less (u_error), or for a measure designed for your distances (design)",
)
def tabulate(measure: SpectralMeasure, *, u_error: float | None = None) -> SpectralTable:
    r"""Tabulate the distribution of the radius of each Jordan part of a finite measure.

    The table of a part holds its density on panels, and quantiles are found from their integrals,
    from both ends, so that the tails keep their digits.  The error of quantiles is measured inside
    every panel, and the masses are compared with k(0).  At a pole of the density, and in a peak
    that is far narrower than its radius is large, neighboring doubles are farther apart in
    probability than the error, which is then not counted.

    A density that oscillates without end is split by squares beyond a radius, see
    :meth:`SpectralMeasure.parts <spectra.measure.SpectralMeasure.parts>`.  The kernel of the table
    is still exact.  Its ``mass`` is the mass of what is sampled, and exceeds the mass of the
    measure by at most .4 % for one frequency, 1 % for several.

    Parameters
    ----------
    measure : SpectralMeasure
        A finite measure, such as ``existence(kernel, dim).measure``.
    u_error : float, optional
        Largest error in probability that is accepted.  By default the best that the density
        allows, a few 1e-15 for most, and at most 1e-9.

    Returns
    -------
    SpectralTable
        With ``u_error``, 5/4 of the largest error that was measured, and with ``mass_error``, the
        error of the masses.

    Raises
    ------
    ParameterError
        If ``measure`` is not a finite measure.
    AccuracyError
        If the error asked for is not reached; the message says which one was.

    Examples
    --------
    >>> from spectra.measure import SpectralMeasure
    >>> table = tabulate(SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25]))
    >>> [(part.mass, part.sign) for part in table.parts]
    [(0.75, 1.0), (0.25, -1.0)]
    """
    if not isinstance(measure, SpectralMeasure):
        raise ParameterError(
            f"A table needs a finite SpectralMeasure, and got {type(measure).__name__}. Ask for "
            "the verdict first: existence(kernel, dim=...).measure is finite or says why not; "
            "design(...) and spectra.measure.truncate(...) make one where there is none. The "
            "measure of an asymmetric kernel is tabulated by derive(kernel, dim)."
        )
    accepted = _ACCEPTED if u_error is None else u_error
    if isinstance(accepted, bool) or not isinstance(accepted, Real) or not accepted < 1.0:
        raise ParameterError(
            f"u_error={u_error!r} is not an error in probability: give a number below 1, such as "
            "1e-12."
        )
    if not accepted >= _LEAST_U_ERROR:
        raise ParameterError(
            f"The error {u_error} is below {_LEAST_U_ERROR:g}, the resolution of a probability in "
            "double precision."
        )
    if not measure.bias < np.inf:
        raise ParameterError(
            f"The measure was truncated at radius {measure.radius:g} from one of infinite mass, so "
            "the error that this makes in the kernel has no bound, and a table of it would "
            "represent nothing. Design a finite measure for your range of distances instead."
        )
    parts, reached = measure.parts(), 0.0
    # The distance of the masses from k(0) is an error of the density, apart from the rounding of a
    # larger mass, and all of it may belong to one part.
    total = sum(part.mass for part in parts)
    missed = abs(sum(part.sign * part.mass for part in parts) - measure.k_zero)
    for part in parts:
        unseen = min(missed + 2.0 * EPS * (total - part.mass), part.mass_error)
        reached = max(reached, _measure_error(part.law) + unseen / part.mass)
    if reached > accepted:
        raise AccuracyError(
            f"The table of {measure.kernel} on R^{measure.dim} reached an error of {reached:.2e} "
            f"in probability, not the {accepted:.2e} asked for.",
            in_python=f"Ask for u_error={2 * reached:.1e}.",
            at_shell=f"Ask for --u-error {2 * reached:.1e}.",
        )
    kernel = measure.kernel
    return SpectralTable(
        dim=measure.dim,
        parts=parts,
        formula="designed" if kernel is None else str(kernel),
        k_zero=measure.k_zero,
        u_error=reached,
        bias=measure.bias,
        sphere=kernel is not None and kernel.is_zonal,
        provenance=_provenance(measure, parts),
    )


def _measure_error(law: RadialLaw) -> float:
    """The largest error of quantiles in probability, measured inside each panel."""
    low, high = law.edges[:-1, None], law.edges[1:, None]
    key = (low + (high - low) * _MEASURED_AT).ravel()
    w = law.panel_radii(key)

    def missed(w: FloatArray) -> FloatArray:
        return np.asarray(np.where(key < 0.0, -law.sf(w), law.cdf(w)) - key)

    # At an atom all keys have one radius; beside a pole doubles are far apart in probability.
    step = missed(w * (1.0 + _NEIGHBORS)) - missed(w * (1.0 - _NEIGHBORS) - _TINY)
    error = float(np.where(step > _COARSE, 0.0, np.abs(missed(w))).max(initial=0.0))
    # Only series are inverted by steps, each of which rounds.
    error += (4.0 if np.any(law.panels.are_series) else 1.0) * EPS
    return _UNSEEN * max(error, 0.0 if law.tail is None else _ROUNDING * law.tail.mass)


def _provenance(measure: SpectralMeasure, parts: tuple[Part, ...]) -> str:
    if measure.density is None:
        return "atoms"
    text = f"density by the route {measure.density.route!r}, Jordan parts"
    tails = [part.law.tail for part in parts if part.law.tail is not None]
    if tails:
        text += f" up to the radius {tails[0].start:.6g}, split by squares beyond"
    if np.isfinite(measure.radius):
        text += f", truncated at radius {measure.radius:g}"
    return text
