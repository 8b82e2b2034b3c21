"""Proved masses of a spectral measure: M+, M- and their sum as balls that hold the truth."""

from __future__ import annotations

from dataclasses import dataclass

import flint

from spectra.base.enclosures import Enclosure
from spectra.base.limits.progress import stage
from spectra.certify.balls import Ball, Unproved, enclosure, precision
from spectra.certify.mixtures import MassBalls, mixture_masses
from spectra.density.ball.compact import BallComponent
from spectra.density.spectral_density import Atom
from spectra.measure import SpectralMeasure

__all__ = ["CertifiedMasses", "proved_masses"]

_ATOM_BITS = 192


@dataclass(frozen=True)
class CertifiedMasses:
    """Masses of a measure, proved or not, and why not.

    Attributes
    ----------
    positive_mass, negative_mass, mass : Enclosure
        M+, M- and M+ + M-; ``rigorous`` is True where they were proved.
    cancelled_mass : Enclosure or None
        Mass lost where components of different sign overlap, to its own relative accuracy: 1 - M+
        of a difference of two normalised kernels.  None where it was not proved.
    sign_changes : tuple of Enclosure
        Radii of the sign changes, of finitely many; empty for lobes without end.
    complete : bool
        Whether the sign changes (or the lobes) were proved to be all.
    reason : str
        Why nothing was proved; empty where it was.
    """

    positive_mass: Enclosure
    negative_mass: Enclosure
    mass: Enclosure
    cancelled_mass: Enclosure | None
    sign_changes: tuple[Enclosure, ...]
    complete: bool
    reason: str = ""

    @property
    def rigorous(self) -> bool:
        """Whether the masses were proved."""
        return self.mass.rigorous

    def __str__(self) -> str:
        text = f"M+ = {self.positive_mass}, M- = {self.negative_mass}, M+ + M- = {self.mass}"
        return f"{text}; not proved: {self.reason}" if self.reason else text

    __repr__ = __str__


def proved_masses(measure: SpectralMeasure) -> CertifiedMasses:
    r"""Masses of a measure with a proof in ball arithmetic, where there is one.

    .. math:: M_\pm = \int \max(0, \pm\rho)\,dw + \sum_{\pm m > 0} |m|, \qquad
              M_+ - M_- = k(0)

    The exact numbers of the kernel are read, not their doubles.  Proved are sums of Gaussians
    times polynomials in z^2, Matern and rational quadratic kernels (all sign changes isolated,
    incomplete integrals in closed form), and single kernels of compact support: Bochner-Riesz and
    other polynomials in z^2 times a power of 1 - z^2/R^2, and the arc-cosine kernels of orders 1
    and 2.

    Parameters
    ----------
    measure : SpectralMeasure
        A finite measure; atoms are taken with the errors that they state.

    Returns
    -------
    CertifiedMasses
        For measures of other kinds, the masses of the measure itself with ``rigorous=False`` and
        the ``reason``.

    Notes
    -----
    ``docs/proofs.md`` says what is proved, how, and what is taken for granted.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.verdict import existence
    >>> kernel = radial("exp(-z**2/2) - exp(-z**2/200)")
    >>> found = proved_masses(existence(kernel, dim=16).measure)
    >>> found.rigorous, found.complete, len(found.sign_changes)
    (True, True, 1)
    >>> print(found.cancelled_mass)                                    # 1 - M+, to all its digits
    8.2103409770752087e-09 ± 6.1e-25 (proved)
    """
    try:
        with stage("proving the masses", has_limit=False):
            return _proved(measure)
    except Unproved as why:
        estimates = measure.positive_mass, measure.negative_mass, measure.mass
        return CertifiedMasses(*estimates, measure.cancelled_mass, (), False, str(why))


def _proved(measure: SpectralMeasure) -> CertifiedMasses:
    if measure.radius < float("inf"):
        raise Unproved("the measure is truncated")
    positive, negative, mass, cancelled, changes, complete = _continuous(measure)
    with precision(max(_ATOM_BITS, flint.ctx.prec)):
        up, down = _atoms(measure.atoms, 1), _atoms(measure.atoms, -1)
        lost = flint.arb(measure.cancelled_atoms) * (1 + flint.arb(0, 2.0**-50))
        return CertifiedMasses(
            enclosure(positive + up),
            enclosure(negative + down),
            enclosure(mass + up + down),
            None if cancelled is None else enclosure(cancelled + lost),
            changes,
            complete,
        )


def _continuous(measure: SpectralMeasure) -> MassBalls:
    if not measure.components:
        nothing = flint.arb(0)
        return nothing, nothing, nothing, nothing, (), True
    balls = [c for c in measure.components if isinstance(c, BallComponent)]
    if balls:
        raise Unproved("densities that oscillate without end are not proved")
    return mixture_masses(measure.components)


def _atoms(atoms: tuple[Atom, ...], sign: int) -> Ball:
    parts = (flint.arb(a.mass, a.error) for a in atoms if a.mass * sign > 0)
    return sum((sign * p for p in parts), flint.arb(0))
