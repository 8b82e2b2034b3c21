r"""The symbolic route: spectral densities mu(w) as formulas.

A formula comes from the known transforms (closed forms, and hypergeometric or Meijer functions for
kernels whose Mellin transform is a product of Gamma functions), or from sympy, in a process with a
time limit.  It is accepted only if it agrees at several w with the values of another route, which
are checked against the kernel (:mod:`spectra.density.kernel_check`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import mpmath
import numpy as np
import sympy

from spectra.base.accuracy import DENSITY
from spectra.base.bessel import log_sphere_area
from spectra.base.limits import seconds_left
from spectra.density.closed_pairs import W
from spectra.density.closed_pairs.pair import summands
from spectra.density.components import SpectralDensity
from spectra.density.gamma_product import gamma_formula, gamma_products
from spectra.density.lookup import lookup
from spectra.density.sympy_process import ask_sympy
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.callables import Opaque
from spectra.formula.parsing import Z
from spectra.kernels.kernel import Kernel

__all__ = ["checked_formula", "compare_formula", "symbolic"]

# Digits of the values of a formula, and their largest relative difference from the values of the
# other route, in addition to the error bounds of the latter.
_DIGITS, _TOLERANCE = 25, 10.0 * DENSITY


def symbolic(reference: SpectralDensity) -> SpectralDensity:
    """A spectral density with a checked formula ``expr``, from the density by another route.

    Its values remain those of the other route, since formulas may lose digits in doubles.  Raises a
    NoRouteError if no formula was found, or none that agrees with these values.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> symbolic(lookup(radial("exp(-z)"), 3)).expr
    1/(pi**2*(w**2 + 1)**2)
    """
    kernel, (piece, *others) = reference.kernel, reference.kernel.pieces
    expr = sympy.Dummy("pieces") if others else piece.expr
    known = _known_formula(kernel, reference.dim)
    formula = checked_formula(expr, piece.support, known, [({}, reference)], str(kernel))
    return replace(reference, route="symbolic", expr=formula)


def checked_formula(
    expr: sympy.Expr,
    support: sympy.Expr,
    known: sympy.Expr | None,
    references: Sequence[tuple[Mapping[sympy.Symbol, sympy.Expr], SpectralDensity]],
    subject: str,
) -> sympy.Expr:
    """The formula ``known`` or one of sympy that agrees with all ``references``.

    A reference is a density and the values of the symbols of ``expr`` at which it was computed.
    """
    reasons: list[str] = []
    dim = references[0][1].dim
    for source, formula in _candidates(expr, support, known, dim, reasons):
        try:
            for values, reference in references:
                compare_formula(formula.subs(values), reference)
            return formula
        except FormulaError as error:
            reasons.append(f"the formula {formula} of {source} was rejected: {error}")
    raise NoRouteError(
        f"No formula is known for the spectral density of {subject} in dimension {dim}: "
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


def _candidates(
    expr: sympy.Expr, end: sympy.Expr, known: sympy.Expr | None, dim: int, reasons: list[str]
) -> Iterator[tuple[str, sympy.Expr]]:
    """Yield (source, formula), preferred ones first; add to ``reasons`` why others are missing."""
    tasks = ["cosine", "hankel"] if dim % 2 else ["hankel"]
    support = None if end == sympy.oo else end
    if known is not None:
        is_long = known.has(sympy.hyper, sympy.meijerg) and expr.free_symbols <= {Z}
        tasks = ["expand"] if is_long else []
        expr = known
    elif not expr.has(Z) or expr.has(Opaque):
        tasks = []
        reasons.append("sympy is not asked: it needs one formula, not pieces or a callable")
    left, start = seconds_left(), time.monotonic()
    for task in tasks:
        limit = None if left is None else max(start + left - time.monotonic(), 0.0)
        found, reason = ask_sympy(task, expr, dim=dim, support=support, limit=limit)
        if found is None:
            reasons.append(f"{task}: {reason}")
        else:
            yield f"sympy ({task})", found
    if known is not None:
        yield "the known transforms", known


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
