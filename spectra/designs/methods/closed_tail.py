r"""A fixed part of closed form for the hard tail, and a design for the rest.

A kink :math:`k = k(0) + s z + \dots` at z = 0 needs mass at all high frequencies, of which a design
holds few.  The Laplace kernel :math:`-s\ell\,e^{-z/\ell}` has the same kink and a measure in closed
form; what is left is smoother, and needs low radii alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import sympy

from spectra.designs.designed_measure import Design
from spectra.designs.distances import Distances
from spectra.designs.methods.least_mass import design_within
from spectra.errors import AccuracyError, ParameterError
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel, radial

__all__ = ["design_with_tail"]

# Lengths of the Laplace part that are tried, as parts of z_max: short ones have little mass, long
# ones leave a smooth rest.
_LENGTHS = (0.125, 0.25, 0.5)


def design_with_tail(
    kernel: Kernel,
    dim: int,
    served: Distances,
    *,
    tail: Kernel | Literal["laplace"],
    **asked: Any,
) -> Design:
    """Design what a fixed part leaves of a kernel; "laplace" takes the best of three lengths.

    The tolerance and all else that is asked for are those of :func:`design_within`.

    Raises
    ------
    ParameterError
        Where the kernel has no slope at 0 for "laplace" to match.
    AccuracyError
        Where no measure is within ``tol``, as :func:`spectra.design` says.
    """
    if isinstance(tail, Kernel):
        parts = [tail]
    elif tail == "laplace":
        slope = _slope(kernel)
        # Short decimals, not the binary fractions behind them: they are only a choice.
        lengths = [sympy.Rational(f"{part * served.domain[1]:.3g}") for part in _LENGTHS]
        parts = [radial(-slope * length * sympy.exp(-Z / length)) for length in lengths]
    else:
        raise ParameterError(f"tail = {tail!r}: give a kernel, or 'laplace' for a kink at z = 0.")
    best: Design | None = None
    refusal: AccuracyError | None = None
    for part in parts:
        try:
            rest = design_within(kernel - part, dim, served, **asked)
        except AccuracyError as found:
            refusal = found
            continue
        made = replace(rest, kernel=kernel, tail=part)
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
            "there. Pass the fixed part as a kernel, or leave the tail out for a smooth one."
        )
    return slope
