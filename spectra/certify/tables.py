"""Proofs about tables: how far each stored inverse CDF is from the law, and that it ascends.

On a panel the radius is a polynomial P(t) and the probability a function u(t), both exact, and the
error is :math:`E(t) = F(P(t)) - u(t)`.  Laws without oscillation are in :mod:`.smooth_tables`,
lobes in :mod:`.lobed_tables` and :mod:`.lobed_tails`.  What doubles add when the table is
evaluated is bounded apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectra.certify.balls import Unproved, exact_ball, flint, precision, upper_double
from spectra.certify.lobed_law import LobedLaw
from spectra.certify.lobed_tables import LobedProof
from spectra.certify.lobed_tails import LobedTailProof
from spectra.certify.lobes import Lobes, proved_lobes
from spectra.certify.parts import ProvedLaw
from spectra.certify.smooth_tables import ORDER, SmoothProof
from spectra.errors import ParameterError
from spectra.measure import SpectralMeasure
from spectra.table import Part, SpectralTable
from spectra.transform.on_balls.compact import BallComponent

__all__ = ["PartCertificate", "certify_table"]

_BITS = 160
_LOBED_BITS = 192
# Lobes are enclosed one by one up to so many times the radius at which the tail starts.
_REACH = 4.0


@dataclass(frozen=True)
class PartCertificate:
    """What was proved of one part of a table.

    Attributes
    ----------
    u_error : float
        Upper bound of |F(x(u)) - u| over all u in [0, 1], for the stored polynomials.
    rounding : float
        Upper bound of what the evaluation in doubles (round to nearest) adds to it.
    not_ascending : float
        Probability of the panels inside which the radius was not proved to ascend; 0 where it
        ascends everywhere.  At the ends, where a panel holds 1e-18, the radius is a constant.
    step_back : float
        The largest step back from one panel to the next, relative to the radius; computed in
        doubles, with their rounding added.
    pieces : int
        Taylor models used.
    rigorous : bool
        Whether the above was proved; otherwise ``u_error`` is what the table states.
    reason : str
        Why nothing was proved; empty where it was.
    """

    u_error: float
    rounding: float
    not_ascending: float
    step_back: float
    pieces: int
    rigorous: bool = True
    reason: str = ""


def certify_table(table: SpectralTable, measure: SpectralMeasure) -> tuple[PartCertificate, ...]:
    """Prove the error in probability and the monotony of every part of a table.

    Parameters
    ----------
    table : SpectralTable
        As ``tabulate(measure)`` made it, or as it was loaded.
    measure : SpectralMeasure
        The measure that it is to represent; its exact numbers are read.

    Returns
    -------
    tuple of PartCertificate
        One for each part of the table.  Proved are sums of Gaussians times polynomials and of
        Matern kernels; other parts come back with ``rigorous=False`` and the ``reason``.

    Raises
    ------
    ParameterError
        Where the two do not belong together.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> from spectra.tabulation import tabulate
    >>> from spectra.verdict import existence
    >>> measure = existence(radial("exp(-z**2/2)"), dim=3).measure
    >>> (proof,) = certify_table(tabulate(measure), measure)
    >>> proof.rigorous, proof.not_ascending < 1e-17, proof.u_error + proof.rounding < 2e-14
    (True, True, True)
    """
    if not isinstance(table, SpectralTable) or not isinstance(measure, SpectralMeasure):
        raise ParameterError(
            f"A certificate needs a table and its measure, not {type(table).__name__} and "
            f"{type(measure).__name__}."
        )
    if table.dim != measure.dim:
        raise ParameterError(
            f"The table is of R^{table.dim} and the measure of R^{measure.dim}: they do not "
            "belong together."
        )
    found: list[Lobes] = []
    return tuple(_certified(part, table, measure, found) for part in table.parts)


def _certified(
    part: Part, table: SpectralTable, measure: SpectralMeasure, found: list[Lobes]
) -> PartCertificate:
    try:
        if flint is None:
            raise Unproved("python-flint is missing: pip install kernel-spectra[certify]")
        if measure.atoms or measure.radius < float("inf"):
            raise Unproved("a measure with atoms or a truncation has no proof of its table")
        if not measure.components:
            raise Unproved("the measure has no density")
        if part.law.tail is not None:
            return _lobed(part, measure, found)
        return _smooth(part, measure)
    except Unproved as why:
        return PartCertificate(table.u_error, np.inf, 1.0, np.inf, 0, False, str(why))


def _smooth(part: Part, measure: SpectralMeasure) -> PartCertificate:
    with precision(_BITS, cap=ORDER + 1):
        law = ProvedLaw(measure.components, int(part.sign), _BITS)
        proof = SmoothProof(law, part.law)
        proof.all_panels()
        # Mass of unknown sign shifts every probability by at most twice its share.
        error, rounding, lost, pieces = proof.numbers(3 * law.loose / law.mass)
        return PartCertificate(error, rounding, lost, proof.step_back, pieces)


def _lobed(part: Part, measure: SpectralMeasure, found: list[Lobes]) -> PartCertificate:
    component = measure.components[0]
    if len(measure.components) > 1 or not isinstance(component, BallComponent):
        raise Unproved("lobes beside another component have no proof of their table")
    tail = part.law.tail
    assert tail is not None
    with precision(_LOBED_BITS):
        radius = exact_ball(component.form.radius)
        if not found:
            found.append(proved_lobes(component, _REACH * float(radius) * tail.period * tail.kappa))
        law = LobedLaw(found[0], int(part.sign), radius)
        proof = LobedProof(law, part.law)
        proof.all_panels()
        far = LobedTailProof(law, part.law)
        error, rounding, lost, pieces = proof.numbers(3 * law.loose / law.mass)
        return PartCertificate(
            max(error, upper_double(far.error)),
            max(rounding, upper_double(far.rounding)),
            lost + upper_double(far.not_ascending),
            max(proof.step_back, far.step_back),
            pieces + far.pieces,
        )
