r"""The symbolic route: densities as formulas, for one dimension or for all of them at once.

A formula comes from the tables (closed forms, and pFq or Meijer functions of Gamma products) or
from sympy, in a process with a time limit.  It is accepted only if it agrees with the numbers of
another route at several radii, and in several dimensions if d is a symbol; these numbers must give
back the kernel (:mod:`spectra.density.guard`).  In a dimension without numbers it must agree with
the formula for every d.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import sympy

from spectra.base.special.bessel import log_sphere_area
from spectra.density import (
    SpectralDensity,
    contradiction,
    gamma_products,
    lookup,
    numeric,
    series,
    summands,
)
from spectra.density.ball import ball_form, compact_formula
from spectra.density.closed_pairs import W
from spectra.errors import FormulaError, NoRouteError, SpectraError
from spectra.formula import Opaque
from spectra.formula.reader import Z
from spectra.kernels import Kernel
from spectra.kernels.catalogue import DIMENSION
from spectra.symbolic.gamma_formula import gamma_formula
from spectra.symbolic.mellin_reading import read_mellin
from spectra.symbolic.sympy_limit import ask_sympy

__all__ = ["symbolic", "symbolic_density"]

# Seconds that sympy is given for one formula, where the tables know none that is elementary.
_LIMIT = 30.0
_S = sympy.Symbol("s")
_DIGITS = 25
# Where d is a symbol, a formula is checked in these dimensions.
_CHECKED_DIMENSIONS = (1, 2, 5)
# A kernel that is so much larger far out than at zero has no spectral measure.
_FAR, _UNBOUNDED = 1e9, 1e3
# Formula and numbers agree to this beside the errors that the numbers state, or one of them belongs
# to another kernel.
_AGREEMENT = 1e-11


def symbolic_density(kernel: Kernel, dim: int | None = None) -> sympy.Expr:
    r"""The density mu(w) of a kernel as a checked formula in ``w``, and in ``d`` without ``dim``.

    .. math:: k(z) = \int_{R^d} e^{i\omega\cdot\Delta} \mu(|\omega|)\,d\omega

    The atoms of a kernel (its constant part) are not in it.

    A NoRouteError if no formula was found, or none that agrees with numbers, says what was tried.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> symbolic_density(radial("exp(-z)"), 3)
    1/(pi**2*(w**2 + 1)**2)
    """
    return _believed(kernel, dim)[0]


def symbolic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density with a checked formula; its numbers come from the series of Gamma products.

    Formulas cancel in doubles where they are printed nicely; so numbers are those of the series
    route, or of look-up or quadrature where that does not apply, with which the formula agrees.
    """
    formula, numbers = _believed(kernel, dim)
    if numbers is None:
        raise NoRouteError(
            f"The density of {kernel} in dimension {dim} is {formula}, but no route gives numbers "
            "for it that give back the kernel: evaluate the formula yourself, in as many digits as "
            "it needs (sympy.N)."
        )
    return replace(numbers, route="symbolic", expr=formula)


def _believed(kernel: Kernel, dim: int | None) -> tuple[sympy.Expr, SpectralDensity | None]:
    """The first formula that agrees with numbers, with those of the last dimension; where there are
    none, it has to be a case of the formula for every d."""
    if any(p.support == sympy.oo for p in kernel.pieces):
        far = abs(float(kernel([_FAR])[0]))
        if not far <= _UNBOUNDED * (1.0 + abs(kernel.at_zero)):
            raise NoRouteError(
                f"The kernel {kernel} is {far:.3g} at z = {_FAR:.0e}: it grows without bound, so "
                "it has no finite spectral measure, and a formula would be one of a distribution."
            )
    reasons: list[str] = []
    for source, candidate in _candidates(kernel, dim, reasons):
        try:
            for d in _CHECKED_DIMENSIONS if dim is None else (dim,):
                numbers = _numbers(kernel, d, reasons)
                if numbers is None:
                    _compare_with_others(candidate, kernel, d)
                else:
                    _compare(candidate, numbers)
            return candidate, numbers
        except FormulaError as error:
            reasons.append(f"the formula {candidate} of {source} was not believed: {error}")
    where = "any dimension d" if dim is None else f"dimension {dim}"
    raise NoRouteError(
        f"No formula is known for the spectral density of {kernel} in {where}: "
        f"{'; '.join(reasons) or 'nothing applies'}. Numbers may exist all the same: "
        "spectral_density(kernel, dim) tries every other route."
    )


def _numbers(kernel: Kernel, dim: int, reasons: list[str]) -> SpectralDensity | None:
    """The density of the first route that gives back the kernel; to ``reasons`` why others fail."""
    for route in (series, lookup, numeric):
        try:
            found = route(kernel, dim)
        except SpectraError as error:
            reasons.append(str(error))
            continue
        if found is not None:
            why = contradiction(replace(found, kernel=kernel))
            if not why:
                return found
            reasons.append(f"the numbers of the {found.route} route are wrong: {why}")
    return None


def _compare(formula: sympy.Expr, numbers: SpectralDensity) -> None:
    """Raise a FormulaError if a formula disagrees with numbers in the bulk of a component."""
    parts = numbers.components
    bulks = [c.bulk for c in parts] or [(1.0, 1.0)]
    radii = [low * (high / low) ** share for low, high in bulks for share in (1 / 3, 2 / 3)]
    for w in [sympy.Rational(f"{w:.3e}") for w in radii]:
        value = _value(formula, w, numbers.dim)
        at = np.array([float(w)])
        (sign,), (log,) = numbers.signed_log_radial(at)
        # It may lie below every double.
        log_area = log_sphere_area(numbers.dim) + (numbers.dim - 1) * np.log(at[0])
        mine = int(sign) * mpmath.exp(log - log_area)
        shares = [np.exp(c.log_envelope(at) - log) * c.relative_error(at) for c in parts]
        allowed = _AGREEMENT + float(sum(share[0] for share in shares if mine))
        if not abs(mine - value) <= allowed * max(abs(mine), abs(value)):
            raise FormulaError(
                f"at w = {at[0]:.4g} in dimension {numbers.dim} it gives "
                f"{mpmath.nstr(value, 13)}, and the {numbers.route} route {mpmath.nstr(mine, 13)}"
            )


def _compare_with_others(formula: sympy.Expr, kernel: Kernel, dim: int) -> None:
    """Raise a FormulaError unless it is a case of the formula for every d, checked in low ones."""
    general = None if dim in _CHECKED_DIMENSIONS else _from_tables(kernel, DIMENSION)
    if general is None:
        raise FormulaError(f"there are no numbers to compare it with in dimension {dim}")
    for d in _CHECKED_DIMENSIONS:
        numbers = _numbers(kernel, d, [])
        if numbers is None:
            raise FormulaError(f"there are no numbers in dimensions {d} and {dim}")
        _compare(general, numbers)
        for c in numbers.components:
            w = sympy.Rational(f"{c.bulk[1]:.3e}")
            mine, other = (_value(each, w, dim) for each in (formula, general))
            if not abs(mine - other) <= _AGREEMENT * abs(other):
                raise FormulaError(f"it is no case of the formula {general} for every d")


def _value(formula: sympy.Expr, w: sympy.Rational, dim: int) -> Any:
    try:
        number = sympy.N(formula.subs(DIMENSION, dim).subs(W, w), _DIGITS)
        real, imaginary = number.as_real_imag()
    except (ArithmeticError, ValueError, mpmath.libmp.NoConvergence) as error:
        raise FormulaError(f"at w = {w} in dimension {dim} it has no value: {error}") from error
    if not (real.is_Float or real.is_Rational) or not abs(imaginary) <= _AGREEMENT * abs(real):
        raise FormulaError(f"at w = {w} in dimension {dim} it is {number}, which is no real number")
    with mpmath.workdps(_DIGITS):
        return mpmath.mpf(str(real))


# --- where formulas come from -----------------------------------------------------------------


def _candidates(
    kernel: Kernel, dim: int | None, reasons: list[str]
) -> Iterator[tuple[str, sympy.Expr]]:
    """Formulas, the shortest first, with their sources; to ``reasons`` what gives none."""
    size = DIMENSION if dim is None else sympy.Integer(dim)

    def asked(
        tasks: list[str], expr: sympy.Expr, support: sympy.Expr | None = None
    ) -> Iterator[tuple[str, sympy.Expr]]:
        if expr.has(Opaque):
            reasons.append("sympy is not asked: a callable has no formula")
            return
        answers = ask_sympy(tasks, expr, dim=dim or 1, support=support, limit=_LIMIT)
        for task, found, reason in answers:
            if found is None:
                reasons.append(f"{task}: {reason}")
                continue
            formula = found
            if task == "mellin":
                products = read_mellin(found, _S)
                formula = None if products is None else gamma_formula(products, size, W)
            if formula is None:
                reasons.append(f"mellin: {found} is no product of Gamma functions")
            else:
                yield f"sympy ({task})", formula

    if dim is not None:
        known = lookup(kernel, dim)
        if known is not None and known.expr is not None and not _is_special(known.expr):
            yield "the catalogue", known.expr
    formula = _from_tables(kernel, size)
    if formula is not None:
        if dim is not None and _is_special(formula):
            yield from asked(["expand"], formula)
        yield "the tables", formula
        return
    reasons.append("the tables know no Mellin transform of it")
    tasks = ["mellin"]
    if dim is not None:
        tasks += ["cosine", "hankel"] if dim % 2 else ["hankel"]
    if len(kernel.pieces) != 1:
        reasons.append("sympy is asked for kernels of one piece only")
        return
    (piece,) = kernel.pieces
    yield from asked(tasks, piece.expr, None if piece.support == sympy.oo else piece.support)


def _is_special(formula: sympy.Expr) -> bool:
    return bool(formula.has(sympy.hyper, sympy.meijerg))


def _from_tables(kernel: Kernel, dim: sympy.Expr) -> sympy.Expr | None:
    """mu(w) piece by piece, its atoms left out; None if a summand has no formula."""
    total = sympy.Integer(0)
    for piece in kernel.pieces:
        if piece.support == sympy.oo:
            moving = sympy.Add(*(t for t in summands(piece.expr) if t.has(Z)))
            if moving == 0:
                continue
            products = gamma_products(moving)
            part = None if products is None else gamma_formula(products, dim, W)
        else:
            form = ball_form(piece.expr, piece.support)
            part = None if form is None else compact_formula(form, dim)
        if part is None:
            return None
        total += part
    return total
