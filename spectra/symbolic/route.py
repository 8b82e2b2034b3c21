r"""The symbolic route: densities as formulas.

A formula comes from the tables (closed forms, and pFq or Meijer functions of Gamma products) or
from sympy, in a process with a time limit.  It is accepted only if it agrees with the numbers of
another route at several radii.  These numbers give back the kernel, as every density does
(:mod:`spectra.density.kernel_check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mpmath
import numpy as np
import sympy

from spectra.base.special.bessel import log_sphere_area
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
from spectra.formula.reader import Z
from spectra.kernels import Kernel
from spectra.symbolic.sympy_process import ask_sympy

__all__ = ["symbolic"]

# Seconds that sympy is given for one transform, if the tables know no elementary formula.
_LIMIT = 30.0
_DIGITS = 25
# Formula and numbers agree to this beside the errors that the numbers state, or one of them belongs
# to another kernel.
_AGREEMENT = 1e-11


def symbolic(kernel: Kernel, dim: int) -> SpectralDensity:
    """Spectral density with a checked formula; its numbers are those of the route that checked it.

    Printed formulas lose digits in doubles, so the density is not evaluated by its formula.  A
    NoRouteError says what was tried if no formula was found, or none that agrees with the numbers.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> symbolic(radial("exp(-z)"), 3).expr
    1/(pi**2*(w**2 + 1)**2)
    """
    numbers = spectral_density(kernel, dim)
    reasons: list[str] = []
    for source, formula in _candidates(kernel, dim, reasons):
        try:
            _compare(formula, numbers)
            return replace(numbers, route="symbolic", expr=formula)
        except FormulaError as error:
            reasons.append(f"the formula {formula} of {source} was not believed: {error}")
    raise NoRouteError(
        f"No formula is known for the spectral density of {kernel} in dimension {dim}: "
        f"{'; '.join(reasons)}. Its numbers are known: spectral_density(kernel, dim)."
    )


def _compare(formula: sympy.Expr, numbers: SpectralDensity) -> None:
    """Raise a FormulaError if a formula disagrees with numbers in the bulk of a component."""
    bulks = [c.bulk for c in numbers.components] or [(1.0, 1.0)]
    radii = [low * (high / low) ** share for low, high in bulks for share in (1 / 3, 2 / 3)]
    for exact in [sympy.Rational(f"{w:.3e}") for w in radii]:
        w, dim = float(exact), numbers.dim
        where = f"at w = {w:.4g} in dimension {dim}"
        try:
            number = sympy.N(formula.subs(W, exact), _DIGITS)
            real, imaginary = number.as_real_imag()
        except (ArithmeticError, ValueError, mpmath.libmp.NoConvergence) as error:
            raise FormulaError(f"{where} it has no value: {error}") from error
        if not real.is_Number or not abs(imaginary) <= _AGREEMENT * abs(real):
            raise FormulaError(f"{where} it is {number}, which is no real number")
        # The density mu may lie outside of the doubles; rho does not.
        area = mpmath.exp(log_sphere_area(dim) + (dim - 1) * np.log(w))
        found, known = area * mpmath.mpf(str(real)), numbers.radial([w])[0]
        if not abs(found - known) <= _AGREEMENT * abs(known) + numbers.error([w])[0]:
            raise FormulaError(
                f"{where} it gives {mpmath.nstr(found, 13)} for the radial density, and the "
                f"{numbers.route} route {known:.13g}"
            )


def _candidates(kernel: Kernel, dim: int, reasons: list[str]) -> Iterator[tuple[str, sympy.Expr]]:
    """Sources and formulas, the shortest formula first; what gives none goes to ``reasons``."""
    formula = _from_tables(kernel, dim)
    tasks, (piece, *others) = ["cosine", "hankel"] if dim % 2 else ["hankel"], kernel.pieces
    expr, support = piece.expr, None if piece.support == sympy.oo else piece.support
    if formula is not None:
        tasks = ["expand"] if formula.has(sympy.hyper, sympy.meijerg) else []
        expr = formula
    elif others or expr.has(Opaque):
        tasks = []
        reasons.append("sympy is not asked: it takes one formula, and no callable")
    for task in tasks:
        found, reason = ask_sympy(task, expr, dim=dim, support=support, limit=_LIMIT)
        if found is None:
            reasons.append(f"{task}: {reason}")
        else:
            yield f"sympy ({task})", found
    if formula is not None:
        yield "the tables", formula


def _from_tables(kernel: Kernel, dim: int) -> sympy.Expr | None:
    """mu(w) in closed form, or by the Mellin transform of a kernel on the half-line."""
    known = lookup(kernel, dim)
    if known is not None:
        return known.expr
    if any(piece.support != sympy.oo for piece in kernel.pieces):
        return None
    parts = [t for piece in kernel.pieces for t in summands(piece.expr) if t.has(Z)]
    products = gamma_products(sympy.Add(*parts))
    return None if products is None else gamma_formula(products, dim)
