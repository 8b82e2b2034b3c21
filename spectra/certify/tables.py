"""Proofs about tables: how far each stored inverse CDF is from the law, and that it ascends.

On a panel the radius is a polynomial P(t) and the probability a function u(t), both exact, and the
error is :math:`E(t) = F(P(t)) - u(t)`: see :mod:`.panel_proofs`, and :mod:`.lobed_tails` for
lobes without end.  Radii are drawn through cells: see :mod:`.cell_proofs`.  What doubles add when
the table is evaluated is bounded apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectra.base.limits.progress import stage
from spectra.certify.balls import Unproved, precision
from spectra.certify.cell_proofs import cell_proof
from spectra.certify.certificates import PartCertificate, TableCertificate
from spectra.certify.panel_proofs import panel_proof
from spectra.certify.signed_laws import law_of_mixture
from spectra.errors import ParameterError, SpectraError
from spectra.kernels.catalogue import kernel_from_text
from spectra.measure import SpectralMeasure
from spectra.table import Part, SpectralTable
from spectra.verdict import spectral_measure

__all__ = ["proved_table"]

_BITS = 160
# A probability u becomes u - 1, or 1 - q, where it passes the split of the two sides.
_KEY_ROUNDED = 2.0**-53


def proved_table(table: SpectralTable, measure: SpectralMeasure | None) -> TableCertificate:
    """Prove the error in probability and the monotony of every part of a table.

    Parameters
    ----------
    table : SpectralTable
        As ``tabulate(measure)`` made it, or as it was loaded.
    measure : SpectralMeasure or None
        The measure that it is to represent, whose exact numbers are read; None for that of the
        formula of the table.

    Returns
    -------
    TableCertificate
        One proof for each part of the table.  Proved are sums and differences of Gaussians times
        polynomials, Matern and rational quadratic kernels, and to infinity the lobes of
        polynomials in z^2 times a power of 1 - z^2/R^2; other parts come back with
        ``rigorous=False`` and the ``reason``.

    Raises
    ------
    ParameterError
        Where the two do not belong together.

    Notes
    -----
    ``docs/proofs.md`` says how, and what is taken for granted.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.measure.tabulation import tabulate
    >>> from spectra.verdict import existence
    >>> measure = existence(radial("exp(-z**2/2)"), dim=3).measure
    >>> (proof,) = proved_table(tabulate(measure), measure)
    >>> proof.rigorous, proof.not_ascending < 1e-17, proof.u_error + proof.rounding < 2e-14
    (True, True, True)
    """
    if measure is None:
        try:
            measure = _named(table)
        except Unproved as why:
            return TableCertificate(_unproved(table, why) for _ in table.parts)
    if not isinstance(measure, SpectralMeasure):
        raise ParameterError(
            f"A table is proved against its measure, and {type(measure).__name__} is none: give "
            "existence(kernel, dim=...).measure, or leave it out."
        )
    if table.dim != measure.dim:
        raise ParameterError(
            f"The table is of R^{table.dim} and the measure of R^{measure.dim}: they do not "
            "belong together."
        )
    with stage("proving a table", has_limit=False):
        return TableCertificate(_certified(part, table, measure) for part in table.parts)


def _named(table: SpectralTable) -> SpectralMeasure:
    """The measure of the kernel that a table names, where its text is all that there is to it."""
    if table.bias or table.domain < np.inf:
        raise Unproved("the table was designed or truncated: pass the measure that it was made of")
    try:
        kernel = kernel_from_text(table.formula, is_zonal=table.sphere or None)
    except SpectraError:
        kernel = None
    if kernel is None or str(kernel) != table.formula or kernel.is_zonal != table.sphere:
        raise Unproved(
            f"the formula of the table, {table.formula}, does not tell the whole kernel: pass the "
            "measure that it was made of"
        )
    return spectral_measure(kernel, table.dim)


def _unproved(table: SpectralTable, why: Unproved) -> PartCertificate:
    return PartCertificate(table.u_error, np.inf, 1.0, np.inf, 0, False, str(why))


def _certified(part: Part, table: SpectralTable, measure: SpectralMeasure) -> PartCertificate:
    try:
        if measure.atoms or measure.radius < float("inf"):
            raise Unproved("a measure with atoms or a truncation has no proof of its table")
        if not measure.components:
            raise Unproved("the measure has no density")
        if part.law.tail is not None:
            raise Unproved("a tail of waves has no proof of its table")
        return _smooth(part, measure)
    except Unproved as why:
        return _unproved(table, why)


def _smooth(part: Part, measure: SpectralMeasure) -> PartCertificate:
    with precision(_BITS):
        law = law_of_mixture(measure.components, int(part.sign), _BITS)
        return _both(panel_proof(law, part.law), cell_proof(law, part.law))


def _both(panels: PartCertificate, cells: PartCertificate) -> PartCertificate:
    """What holds for the panels and for the cells: a radius comes from either."""
    proof = PartCertificate.joined([panels, cells])
    bound = proof.u_error + proof.rounding
    if not np.isfinite(bound):
        raise Unproved("the working precision was lost")
    if bound >= 1.0:
        raise Unproved(f"the bound that was found, {bound:.1g}, is no probability")
    return replace(
        proof,
        rounding=proof.rounding + _KEY_ROUNDED,
        # A step at an edge of both may be that of the panels and that of the cells.
        step_back=panels.step_back + cells.step_back,
    )
