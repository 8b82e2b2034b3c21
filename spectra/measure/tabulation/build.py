"""From a finite measure to its table: inverse CDFs of the radius, with a measured error."""

from __future__ import annotations

from numbers import Real

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.limits.progress import staged
from spectra.errors import AccuracyError, ParameterError
from spectra.measure import MeasurePart, SpectralMeasure
from spectra.measure.tabulation.fit import fit_side
from spectra.measure.tabulation.pieces import END_PROBABILITY, sides_of
from spectra.table import Part, SpectralTable
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["tabulate"]

# Probabilities summed from below and from above agree to this fraction; a span that is shorter is
# the rounding of these sums.
_SAME = 16.0 * EPS
# Distance of a radius from an atom, relative to it, that rounding can make.
_ROUNDING = 32.0 * EPS
# Where so much around a radius, the rounding of the series of a panel, holds more probability than
# the second number, no radius comes much closer.
_NEIGHBOURS, _COARSE = 16.0 * EPS, 1e-13
# Half the spacing of doubles below 1: no table can be asked for less.
_LEAST_U_ERROR = 1e-15
# Without a wish: what the fit aims below, and what a density of few digits may leave.
_AIM = 1e-12
_ACCEPTED = 1e-9
# Between the places at which the error is measured rounding may be larger by this.
_UNSEEN = 1.25
# Places in each panel at which its error is measured, more than its series can pass through, and
# closer to its ends, which are two of them; none is a node of the fit.
_MEASURED_AT = 0.5 - 0.5 * np.cos(np.pi * np.arange(51) / 50)


@staged(
    "tabulating",
    advice="ask for less (u_error), or for a measure made to order for your distances (design)",
)
def tabulate(measure: SpectralMeasure, *, u_error: float | None = None) -> SpectralTable:
    r"""Tabulate the law of the radius of each Jordan part of a finite measure.

    The table of a part is an inverse CDF P with :math:`|F(P(u)) - u|` at most ``u_error``, and
    at most 1e-7 of min(u, 1 - u) down to 2^-64, so that its tails keep their shape; where a part
    ends at a finite radius, up to 1e-14 of that radius, which is more of 1 - u there.  It ascends,
    up to 1e-9 of the radius where a panel holds more than rounding.  The fit aims three digits
    below ``u_error``; by default it goes down to the rounding of a probability, a few 1e-15, where
    the density has the digits for it, and accepts 1e-9 where it has not. The error is measured
    afterwards, off the nodes of the fit, against a quadrature twice as fine and against k(0). Where
    neighbouring doubles are further apart in probability than that, at a pole of the density or in
    a bell that is far narrower than its radius is large, it counts from the nearest of them: a
    radius is a double.

    A density that oscillates without end is split by squares beyond a radius, as
    :meth:`SpectralMeasure.parts <spectra.measure.SpectralMeasure.parts>` says.  The kernel of the
    table is exact all the same; its ``mass`` is that of what is sampled, and exceeds the mass of
    the measure by at most .4 % for one frequency, 1 % for several.

    Parameters
    ----------
    measure : SpectralMeasure
        A finite measure, such as ``existence(kernel, dim).measure``.
    u_error : float, optional
        Largest error in probability that is accepted; 1e-6 is reached in a third of the time.
        None for the best that the density allows, at most 1e-9.

    Returns
    -------
    SpectralTable
        With the measured ``u_error``, 5/4 of the largest error that was seen; what is not known of
        the masses is their ``mass_error``.

    Raises
    ------
    ParameterError
        Where what is given is not a finite measure: ask for the verdict first.
    AccuracyError
        Where the error asked for is not reached; the message says what was.

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
    # What the masses miss k(0) by is the density's own error, as far as it can be seen beside the
    # rounding of a larger mass: all of it may be that of one part.
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
    # The sums of probabilities are rounded, and series leave something out.
    error = 4.0 * EPS + float(part.panels.unresolved.sum()) / part.total
    return table, _UNSEEN * max(tail_error, left_error + error, right_error + error)


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
