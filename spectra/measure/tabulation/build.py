"""From a finite measure to its table: inverse CDFs of the radius, with a measured error."""

from __future__ import annotations

from numbers import Real

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.limits import staged
from spectra.errors import AccuracyError, ParameterError
from spectra.measure import MeasurePart, SpectralMeasure
from spectra.measure.tabulation.fit import fit_side
from spectra.measure.tabulation.pieces import END_PROBABILITY, sides_of
from spectra.table import Part, SpectralTable
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["tabulate"]

# The share of a tail of waves that rounding may move.
_ROUNDING = 32.0 * EPS
# Half the spacing of doubles below 1: no table can be asked for less.
_LEAST_U_ERROR = 1e-15
# By default, what the fit aims below, and what a density of few digits may leave.
_AIM, _ACCEPTED = 1e-12, 1e-9
# Between the places at which the error is measured, rounding may be larger by this factor.
_UNSEEN = 1.25


@staged(
    "tabulating",
    advice="ask for less (u_error), or for a measure made to order for your distances (design)",
)
def tabulate(measure: SpectralMeasure, *, u_error: float | None = None) -> SpectralTable:
    r"""Tabulate the distribution of the radius of each Jordan part of a finite measure.

    The table of a part is an inverse CDF P with :math:`|F(P(u)) - u|` at most ``u_error``, and
    at most 1e-7 of min(u, 1 - u) down to 2^-64, so that its tails keep their shape.  If a part
    ends at a finite radius, the last 1e-14 of that radius may hold more of 1 - u.  P ascends, up
    to 1e-9 of the radius where a panel holds more than rounding.

    The fit aims three digits below ``u_error``.  Afterwards the error is measured at other places
    against the panels of the density and against k(0).  At a pole of the density, and in a peak
    that is far narrower than its radius is large, neighboring doubles are farther apart in
    probability than the error, which then counts from the nearest of them.

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
    aim, accepted = (_AIM, _ACCEPTED) if u_error is None else (u_error, u_error)
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
    parts, reached = [], 0.0
    held = measure.parts()
    # The distance of the masses from k(0) is an error of the density, apart from the rounding of a
    # larger mass, and all of it may belong to one part.
    total = sum(part.mass.mid for part in held)
    missed = abs(sum(part.sign * part.mass.mid for part in held) - measure.k_zero)
    for part in held:
        law, error = _tabulate_part(part, measure.radius, aim)
        parts.append(Part(part.mass.mid, part.mass.rad, part.phase, law))
        unseen = min(missed + 2.0 * EPS * (total - part.mass.mid), part.mass.rad)
        reached = max(reached, error + unseen / part.mass.mid)
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
        parts=tuple(parts),
        formula="designed" if kernel is None else str(kernel),
        k_zero=measure.k_zero,
        u_error=reached,
        bias=measure.bias,
        sphere=kernel is not None and kernel.is_zonal,
        provenance=_provenance(measure, held),
    )


def _tabulate_part(part: MeasurePart, cut: float, u_error: float) -> tuple[RadialLaw, float]:
    if part.panels is None:
        radii = [a.radius for a in part.atoms]
        masses = np.array([a.mass for a in part.atoms])
        return RadialLaw.from_atoms(radii, masses / masses.sum()), EPS * masses.size
    tail, tail_error = None, 0.0
    # Of less no draw comes.
    if part.waves is not None and part.waves.mass > END_PROBABILITY * part.total:
        tail = WaveTail(part.waves.scaled(1.0 / part.total))
        tail_error = _ROUNDING * tail.mass
    left, right = sides_of(part, cut, tail)
    left_panels, left_error = fit_side(part, left, from_above=False, u_error=u_error)
    right_panels, right_error = fit_side(part, right, from_above=True, u_error=u_error)
    try:
        table = RadialLaw(left_panels, right_panels, tail)
    except ParameterError as fault:
        raise AccuracyError(
            "Where little mass is left, the error of the density is larger than what is left, and "
            "no law that ascends was fitted.",
            in_python="Take another route: spectral_density(kernel, dim, route='numeric').",
        ) from fault
    return table, _UNSEEN * max(tail_error, left_error + EPS, right_error + EPS)


def _provenance(measure: SpectralMeasure, parts: tuple[MeasurePart, ...]) -> str:
    if measure.density is None:
        return "atoms"
    text = f"density by the route {measure.density.route!r}, Jordan parts"
    start = next((part.waves.start for part in parts if part.waves is not None), None)
    if start is not None:
        text += f" up to the radius {start:.6g}, split by squares beyond"
    if np.isfinite(measure.radius):
        text += f", truncated at radius {measure.radius:g}"
    return text
