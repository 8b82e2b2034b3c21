r"""The symbolic route: spectral densities mu(w) as formulas.

A formula comes from the known transforms (closed forms, and hypergeometric or Meijer functions for
kernels whose Mellin transform is a product of Gamma functions), or from sympy, in a process with a
time limit.  It is accepted only if it agrees at several w with the values of another route, which
are checked against the kernel (:mod:`spectra.density.kernel_check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mpmath
import numpy as np
import sympy

from spectra.base.bessel import log_sphere_area
from spectra.density import (
    SpectralDensity,
    gamma_formula,
    gamma_products,
    lookup,
    spectral_density,
    summands,
)
from spectra.density.closed_pairs import W
from spectra.errors import FormulaError, NoRouteError
from spectra.formula import Opaque
from spectra.formula.parsing import Z
from spectra.kernels import Kernel
from spectra.symbolic.sympy_process import ask_sympy

__all__ = ["compare_formula", "symbolic"]

# Seconds for one task of sympy.
_LIMIT = 30.0
# Digits of the values of a formula, and their largest relative difference from the values of the
# other route, in addition to the error bounds of the latter.
_DIGITS, _TOLERANCE = 25, 1e-11


def symbolic(kernel: Kernel, dim: int) -> SpectralDensity:
    """A spectral density with a checked formula ``expr``.

    Its values are those of another route, since formulas may lose digits in doubles.  Raises a
    NoRouteError if no formula was found, or none that agrees with these values.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> symbolic(radial("exp(-z)"), 3).expr
    1/(pi**2*(w**2 + 1)**2)
    """
    reference = spectral_density(kernel, dim)
    reasons: list[str] = []
    for source, formula in _candidates(kernel, dim, reasons):
        try:
            compare_formula(formula, reference)
            return replace(reference, route="symbolic", expr=formula)
        except FormulaError as error:
            reasons.append(f"the formula {formula} of {source} was rejected: {error}")
    raise NoRouteError(
        f"No formula is known for the spectral density of {kernel} in dimension {dim}: "
        f"{'; '.join(reasons)}. Its values are known: spectral_density(kernel, dim)."
    )


def compare_formula(formula: sympy.Expr, reference: SpectralDensity) -> None:
    """Raise a FormulaError if a formula differs from the density ``reference``."""
    ranges = [component.bulk for component in reference.components] or [(1.0, 1.0)]
    points = [low * (high / low) ** t for low, high in ranges for t in (1 / 3, 2 / 3)]
    for exact in [sympy.Rational(f"{w:.3e}") for w in points]:
        w, dim = float(exact), reference.dim
        where = f"at w = {w:.4g} in dimension {dim}"
        try:
            number = sympy.N(formula.subs(W, exact), _DIGITS)
            real, imaginary = number.as_real_imag()
        except (ArithmeticError, ValueError, mpmath.libmp.NoConvergence) as error:
            raise FormulaError(f"{where} it cannot be evaluated: {error}") from error
        if not real.is_Number or not abs(imaginary) <= _TOLERANCE * abs(real):
            raise FormulaError(f"{where} it is {number}, which is not real")
        # Compare the radial density rho, because mu may overflow a double.
        area = mpmath.exp(log_sphere_area(dim) + (dim - 1) * np.log(w))
        value, expected = area * mpmath.mpf(str(real)), reference.radial([w])[0]
        if not abs(value - expected) <= _TOLERANCE * abs(expected) + reference.error([w])[0]:
            raise FormulaError(
                f"{where} it gives {mpmath.nstr(value, 13)} for the radial density, and the "
                f"{reference.route} route gives {expected:.13g}"
            )


def _candidates(kernel: Kernel, dim: int, reasons: list[str]) -> Iterator[tuple[str, sympy.Expr]]:
    """Yield (source, formula), preferred ones first; add to ``reasons`` why others are missing."""
    formula = _known_formula(kernel, dim)
    tasks, (piece, *others) = ["cosine", "hankel"] if dim % 2 else ["hankel"], kernel.pieces
    expr, support = piece.expr, None if piece.support == sympy.oo else piece.support
    if formula is not None:
        tasks = ["expand"] if formula.has(sympy.hyper, sympy.meijerg) else []
        expr = formula
    elif others or expr.has(Opaque):
        tasks = []
        reasons.append("sympy is not asked: it needs one formula, not pieces or a callable")
    for task in tasks:
        found, reason = ask_sympy(task, expr, dim=dim, support=support, limit=_LIMIT)
        if found is None:
            reasons.append(f"{task}: {reason}")
        else:
            yield f"sympy ({task})", found
    if formula is not None:
        yield "the known transforms", formula


def _known_formula(kernel: Kernel, dim: int) -> sympy.Expr | None:
    """mu(w) in closed form, or by the Mellin transform of a kernel without bounded support."""
    density = lookup(kernel, dim)
    if density is not None:
        return density.expr
    if any(piece.support != sympy.oo for piece in kernel.pieces):
        return None
    # Constants are atoms at w = 0, not part of the density.
    terms = [t for piece in kernel.pieces for t in summands(piece.expr) if t.has(Z)]
    products = gamma_products(sympy.Add(*terms))
    return None if products is None else gamma_formula(products, dim)
