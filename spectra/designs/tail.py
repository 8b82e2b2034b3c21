r"""A fixed part of closed form for the hard tail, and a design for the rest.

A kink :math:`k = k(0) + s z + \dots` at z = 0 needs mass at all high frequencies, of which a design
holds few.  The Laplace kernel :math:`-s\ell\,e^{-z/\ell}` has the same kink and a measure in closed
form; what is left is smoother, and needs low radii alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from spectra.designs.distances import check_domain
from spectra.designs.least import ADVICE, Design, Objective, design_within
from spectra.errors import AccuracyError, ParameterError
from spectra.formula.parsing import Z
from spectra.kernel import Kernel, radial
from spectra.progress import staged
from spectra.quadrature import Enclosure

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = ["TailedDesign", "design_with_tail"]

FloatArray = NDArray[np.float64]

# Lengths of the Laplace part that are tried, as parts of z_max: short ones have little mass, long
# ones leave a smooth rest.
_LENGTHS = (0.125, 0.25, 0.5)


@dataclass(frozen=True, eq=False)
class TailedDesign:
    """A kernel on a range of distances as a fixed closed-form part and a design of the rest.

    Attributes
    ----------
    kernel, tail : Kernel
        What was asked for, and the fixed part.
    rest : Design
        Of kernel - tail.
    """

    kernel: Kernel
    tail: Kernel
    rest: Design

    @property
    def sup_error(self) -> Enclosure:
        """Largest error on the domain: that of the rest, since the fixed part is exact."""
        return self.rest.sup_error

    @property
    def mass(self) -> float:
        """Total mass: |k(0)| of the Laplace part, which has one sign, and that of the rest."""
        return abs(self.tail.at_zero) + self.rest.mass

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The kernel that the two parts stand for."""
        return np.asarray(self.tail(z) + self.rest(z))

    @property
    def table(self) -> SpectralTable:
        """The table that features draw from: the parts of the tail, and one for each sphere."""
        from spectra.tabulation import tabulate
        from spectra.verdict import spectral_measure

        fixed = tabulate(spectral_measure(self.tail, self.rest.dim))
        spheres = self.rest.table
        return replace(
            spheres,
            parts=(*fixed.parts, *spheres.parts),
            formula=str(self.kernel),
            k_zero=fixed.k_zero + spheres.k_zero,
            u_error=fixed.u_error,
            sphere=self.kernel.is_zonal,
            provenance=f"{spheres.provenance}, after {self.tail}",
        )


@staged("designing a measure with a tail", advice=ADVICE)
def design_with_tail(
    kernel: Kernel,
    dim: int,
    *,
    domain: tuple[float, float],
    tol: float,
    tail: Kernel | Literal["laplace"] = "laplace",
    objective: Objective = "mass",
    max_radius: float | None = None,
) -> TailedDesign:
    r"""Design a kernel with a kink at z = 0 as a Laplace part and a measure for the rest.

    Parameters
    ----------
    kernel, dim, domain, tol, objective, max_radius :
        As for :func:`spectra.design`.
    tail : Kernel or "laplace"
        The fixed part, of a kernel with one sign and known measure; "laplace" takes
        :math:`-s\ell\,e^{-z/\ell}` with the slope s of the kernel at 0 and the length of least
        total mass of three.

    Raises
    ------
    ParameterError
        Where the kernel has no slope at 0 for "laplace" to match.
    AccuracyError
        Where no measure is within ``tol``, as :func:`spectra.design` says.

    Examples
    --------
    >>> made = design_with_tail(radial("1 - z/2", support=2), 16, domain=(0, 1.6), tol=3e-3)
    >>> bool(made.sup_error.mid + made.sup_error.rad <= 3e-3), made.mass < 1.7
    (True, True)
    """
    high = check_domain(domain)[1]
    if isinstance(tail, Kernel):
        parts = [tail]
    else:
        slope = _slope(kernel)
        # Short decimals, not the binary fractions behind them: they are only a choice.
        lengths = [sympy.Rational(f"{part * high:.3g}") for part in _LENGTHS]
        parts = [radial(-slope * length * sympy.exp(-Z / length)) for length in lengths]
    best: TailedDesign | None = None
    refusal: AccuracyError | None = None
    for part in parts:
        try:
            rest = design_within(
                kernel - part,
                dim,
                domain=domain,
                tol=tol,
                objective=objective,
                max_radius=max_radius,
            )
        except AccuracyError as found:
            refusal = found
            continue
        made = TailedDesign(kernel, part, rest)
        if best is None or made.mass < best.mass:
            best = made
    if best is None:
        assert refusal is not None  # each part either led to a design or to an error
        raise refusal
    return best


def _slope(kernel: Kernel) -> sympy.Expr:
    """k'(0+), exactly."""
    total = sympy.Integer(0)
    for piece in kernel.pieces:
        total += sympy.limit(sympy.diff(piece.expr, Z), Z, 0, "+")
    slope = sympy.simplify(total)
    if slope == 0 or not slope.is_finite:
        raise ParameterError(
            f"The slope of {kernel} at z = 0 is {slope}, and a Laplace part has a finite kink "
            "there. Pass the fixed part as a kernel, or take design() for a smooth one."
        )
    return slope
