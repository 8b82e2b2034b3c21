"""What was proved of a table, and of any of its ranges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["PartCertificate", "TableCertificate"]


@dataclass(frozen=True)
class PartCertificate:
    """What was proved of one part of a table.

    It holds for the stored panels and tail, and for the cells that ``rvs``, ``ppf`` and ``isf``
    read in their place (``part.law.cells``), so that ``u_error + rounding`` bounds the error in
    probability of every radius that they return.

    Attributes
    ----------
    u_error : float
        Upper bound of |F(x(u)) - u| over all u in [0, 1], for all polynomials as exact functions.
    rounding : float
        Upper bound of what the evaluation in doubles (round to nearest) adds to it.
    not_ascending : float
        Probability of the panels and cells inside which the radius was not proved to ascend; 0
        where it ascends everywhere.  At the ends, where a panel holds 1e-18, the radius is a
        constant; between two clusters of radii next to no probability spans a part of the radius.
    step_back : float
        The largest step back from one panel or cell to the next, relative to the radius; computed
        in doubles, with their rounding added.
    pieces : int
        Ranges of panels, of cells and of the tail that were looked at.
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

    @classmethod
    def joined(cls, parts: Iterable[PartCertificate]) -> PartCertificate:
        """What holds where each of some proofs holds on its own ranges."""
        error, rounding, not_ascending, step_back, pieces = zip(
            *((p.u_error, p.rounding, p.not_ascending, p.step_back, p.pieces) for p in parts),
            strict=True,
        )
        return cls(max(error), max(rounding), sum(not_ascending), max(step_back), sum(pieces))


class TableCertificate(tuple[PartCertificate, ...]):
    """What was proved of a table: a certificate for each of its parts, and what holds for all.

    Examples
    --------
    >>> TableCertificate([PartCertificate(1e-15, 2e-15, 0.0, 0.0, 9)])
    proved: errors of at most 3e-15 in probability, ascending
    """

    __slots__ = ()

    @property
    def rigorous(self) -> bool:
        """Whether every part was proved."""
        return all(part.rigorous for part in self)

    @property
    def u_error(self) -> float:
        """Bound of the error in probability of every radius, with the rounding of doubles."""
        return max((part.u_error + part.rounding for part in self), default=0.0)

    @property
    def reason(self) -> str:
        """Why some part was not proved; empty where all were."""
        return next((part.reason for part in self if part.reason), "")

    def __repr__(self) -> str:
        if not self.rigorous:
            return f"not proved: {self.reason}"
        out_of_order = max((part.not_ascending for part in self), default=0.0)
        order = f"ascending but for {out_of_order:.2g}" if out_of_order else "ascending"
        return f"proved: errors of at most {self.u_error:.2g} in probability, {order}"
