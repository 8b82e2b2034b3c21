r"""The symbolic route: densities as formulas, for one dimension or for all of them at once.

A formula comes from the tables (closed forms, and pFq or Meijer functions of Gamma products) or
from sympy, in a process of its own and under a time limit.  Wherever it comes from, it is believed
only where it agrees with 25-digit quadrature of the Hankel integral, at several radii, and in
several dimensions where d is a symbol.  In high dimension, where quadrature cancels, it has to
agree with the formula for every d, which quadrature confirms in low ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import mpmath
import numpy as np
import sympy

from spectra.density import EndTail, SpectralDensity
from spectra.errors import AccuracyError, FormulaError, NoRouteError, ParameterError
from spectra.families.entry import DIMENSION
from spectra.formula.opaque import Opaque
from spectra.formula.parsing import Z
from spectra.kernel import Kernel
from spectra.transform.formulas.checking import misfit, points_of, refutation
from spectra.transform.formulas.gamma_formula import gamma_formula
from spectra.transform.formulas.mellin_reading import read_mellin
from spectra.transform.formulas.sympy_limit import ask_sympy
from spectra.transform.lookup import lookup
from spectra.transform.mellin_sums.mellin import GammaProduct
from spectra.transform.mellin_sums.mellin_component import mellin_component
from spectra.transform.numeric import numeric
from spectra.transform.on_balls.ball_formula import compact_formula
from spectra.transform.series import gamma_products, series
from spectra.transform.smooth_pairs.pair import W
from spectra.transform.summands import summands

__all__ = ["symbolic", "symbolic_density"]

#: Seconds that sympy is given for one formula.
LIMIT = 30.0
_TRANSFORMS = ("mellin", "cosine", "hankel")
_S = sympy.Symbol("s")
_DIGITS = 25
# Where d is a symbol, a formula is checked in these dimensions.
_CHECKED_DIMENSIONS = (1, 2, 5)
# Quadrature in one dimension loses as many digits as it has: beyond this it takes minutes, and a
# formula is compared with the one for every d, which quadrature confirms in low dimensions.
_LARGEST_CHECKED = 16
# A kernel that is so much larger far out than at zero has no spectral measure.
_FAR, _UNBOUNDED = 1e9, 1e3
# Formula and numbers agree to this, or one of them belongs to another kernel.
_AGREEMENT = 1e-9


@dataclass
class _Attempt:
    """What was tried for one kernel, for the message where nothing was found."""

    kernel: Kernel
    dim: int | None
    limit: float
    #: A transform of sympy's that alone is asked, or None for all that there is.
    by: str | None = None
    reasons: list[str] = field(default_factory=list)
    #: Mellin transforms that sympy found, where the table has none.
    products: list[GammaProduct] | None = None


def symbolic_density(
    kernel: Kernel,
    dim: int | None = None,
    *,
    by: Literal["mellin", "cosine", "hankel"] | None = None,
    limit: float = LIMIT,
) -> sympy.Expr:
    r"""The density mu(w) of a kernel as a checked formula in ``w``, and in ``d`` without ``dim``.

    .. math:: k(z) = \int_{R^d} e^{i\omega\cdot\Delta} \mu(|\omega|)\,d\omega

    The atoms of a kernel (its constant part) are not in it.

    Parameters
    ----------
    kernel : Kernel
    dim : int, optional
        Dimension; without it the formula holds for every d, and has the symbol ``d``.
    by : {"mellin", "cosine", "hankel"}, optional
        Ask sympy for this transform and nothing else: its Mellin transform, from which Gamma
        products lead to the density, the cosine integral of odd d, or its Hankel transform.  By
        default the tables are asked first, and sympy where they know nothing.
    limit : float
        Seconds that sympy is given, in a process of its own, where the tables know no formula or
        only one with hypergeometric functions.

    Returns
    -------
    sympy expression

    Raises
    ------
    NoRouteError
        Where no formula was found, or none that agrees with quadrature; it says what was tried.
    ParameterError
        For another transform, or one that needs a dimension and has none.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> symbolic_density(radial("exp(-z)"), 3)
    1/(pi**2*(w**2 + 1)**2)
    >>> symbolic_density(radial("exp(-z)"), 2, by="hankel")
    1/(2*pi*(w**2 + 1)**(3/2))
    >>> symbolic_density(radial("sqrt(z)*exp(-z**2)"))
    (1/(2*sqrt(pi)))**d*gamma(d/2 + 1/4)*hyper((d/2 + 1/4,), (d/2,), -w**2/4)/gamma(d/2)
    """
    if by not in (None, *_TRANSFORMS):
        raise ParameterError(
            f"by = {by!r} is no transform that sympy is asked for: choose {', '.join(_TRANSFORMS)}."
        )
    if by in ("cosine", "hankel") and (dim is None or (by == "cosine" and dim % 2 == 0)):
        raise ParameterError(
            f"by = {by!r} with dim = {dim}: the Hankel transform is of one dimension, the cosine "
            "integral of an odd one. Give dim, or by='mellin', which holds for every d."
        )
    return _believed(_Attempt(kernel, dim, limit, by))


def symbolic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density with a checked formula; its numbers come from the series of Gamma products.

    Formulas cancel in doubles where they are printed nicely; so numbers are those of the series
    route, or of look-up or quadrature where that does not apply, and are compared with the formula.

    Raises
    ------
    NoRouteError
        As :func:`symbolic_density`, and where a formula is known but no route gives numbers.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> symbolic(radial("exp(-z**2)"), 3).expr
    exp(-w**2/4)/(8*pi**(3/2))
    """
    attempt = _Attempt(kernel, dim, LIMIT)
    formula = _believed(attempt)
    numbers = _numbers(attempt, dim)
    if numbers is None:
        raise NoRouteError(
            f"The density of {kernel} in dimension {dim} is {formula}, but no route gives numbers "
            "for it that are safe at every radius: evaluate the formula yourself, in as many "
            "digits as it needs (sympy.N)."
        )
    for w in points_of(kernel):
        value = float(_value(formula, w, dim))
        mine = float(numbers.density([float(w)])[0])
        allowed = _AGREEMENT + _stated_error(numbers, float(w))
        if not abs(mine - value) <= allowed * max(abs(mine), abs(value)):
            raise NoRouteError(
                f"The formula {formula} gives {value:.6g} at w = {w}, and the numbers of "
                f"the {numbers.route} route {mine:.6g}: one of them is wrong. Please report the "
                f"kernel {kernel}."
            )
    return replace(numbers, route="symbolic", expr=formula)


def _stated_error(density: SpectralDensity, w: float) -> float:
    """The error of a density relative to itself, which may lie below every double."""
    at = np.array([w])
    _, log = density.signed_log_radial(at)
    if np.isneginf(log[0]):  # beyond the end of a spectrum
        return 0.0
    shares = (np.exp(c.log_envelope(at) - log) * c.relative_error(at) for c in density.components)
    return float(sum(share[0] for share in shares))


def _numbers(attempt: _Attempt, dim: int) -> SpectralDensity | None:
    kernel = attempt.kernel
    for route in (series, lookup, numeric):
        try:
            found = route(kernel, dim)
        except AccuracyError as error:
            attempt.reasons.append(str(error))
            continue
        if found is not None:
            return found
    if attempt.products is None:
        return None
    component = mellin_component(attempt.products, dim)
    if component is None:
        return None
    return SpectralDensity(kernel, dim, (component,), (), "series")


def _believed(attempt: _Attempt) -> sympy.Expr:
    """The first candidate that agrees with quadrature."""
    kernel, dim = attempt.kernel, attempt.dim
    if any(p.support == sympy.oo for p in kernel.pieces):
        far = abs(float(kernel([_FAR])[0]))
        if not far <= _UNBOUNDED * (1.0 + abs(kernel.at_zero)):
            raise NoRouteError(
                f"The kernel {kernel} is {far:.3g} at z = {_FAR:.0e}: it grows without bound, so "
                "it has no finite spectral measure, and a formula would be one of a distribution."
            )
    for source, candidate in _candidates(attempt):
        reason = _refuted(attempt, candidate)
        if reason is None:
            return candidate
        attempt.reasons.append(f"the formula of {source} was not believed: {reason}")
    where = "any dimension d" if dim is None else f"dimension {dim}"
    raise NoRouteError(
        f"No formula is known for the spectral density of {kernel} in {where}: "
        f"{'; '.join(attempt.reasons) or 'nothing applies'}. Numbers may exist all the same: "
        "spectral_density(kernel, dim) tries every other route."
    )


def _refuted(attempt: _Attempt, candidate: sympy.Expr) -> str | None:
    if attempt.dim is not None and attempt.dim > _LARGEST_CHECKED:
        general = _from_tables(attempt.kernel, DIMENSION)
        if general is not None:
            return _unlike(attempt, candidate, general)
    first, second = points_of(attempt.kernel)
    dims = _CHECKED_DIMENSIONS if attempt.dim is None else (attempt.dim,)
    points = [(d, w) for d in dims[:1] for w in (first, second)] + [(d, first) for d in dims[1:]]
    values = []
    for d, w in points:
        try:
            values.append((d, w, _value(candidate, w, d)))
        except FormulaError as error:
            return str(error)
    reason = refutation(attempt.kernel, values)
    if reason is None or attempt.dim is None:
        return reason
    closed = lookup(attempt.kernel, attempt.dim)
    if closed is None:
        return reason
    ends = [c.tail.radius for c in closed.components if isinstance(c.tail, EndTail)]
    if len(ends) < len(closed.components):
        return reason
    return misfit(attempt.kernel, candidate, W, attempt.dim, atoms=closed.atoms, ends=ends)


def _unlike(attempt: _Attempt, candidate: sympy.Expr, general: sympy.Expr) -> str | None:
    """Why a formula is not the one for every d at this d, or that one is wrong."""
    reason = _refuted(_Attempt(attempt.kernel, None, attempt.limit), general)
    if reason is not None:
        return f"it should be a case of {general}, and {reason}"
    for w in points_of(attempt.kernel):
        try:
            mine, other = (_value(f, w, attempt.dim) for f in (candidate, general))
        except FormulaError as error:
            return str(error)
        if not abs(mine - other) <= _AGREEMENT * abs(other):
            return f"at w = {w} it gives {mine}, and the formula for every d {other}"
    return None


def _value(formula: sympy.Expr, w: sympy.Rational, dim: int | None) -> Any:
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


def _candidates(attempt: _Attempt) -> Iterator[tuple[str, sympy.Expr]]:
    """Formulas with their sources, the shortest to read first."""
    kernel, dim = attempt.kernel, attempt.dim
    if attempt.by is not None:
        yield from _of_one_piece(attempt, [attempt.by])
        return
    if dim is not None:
        known = lookup(kernel, dim)
        if known is not None and known.expr is not None and not _is_special(known.expr):
            yield "the catalogue", known.expr
    size = DIMENSION if dim is None else sympy.Integer(dim)
    formula = _from_tables(kernel, size)
    if formula is not None:
        if dim is not None and _is_special(formula):
            yield from _asked(attempt, ["expand"], formula)
        yield "the tables", formula
        return
    attempt.reasons.append("the tables know no Mellin transform of it")
    tasks = ["mellin"]
    if dim is not None:
        tasks += ["cosine", "hankel"] if dim % 2 else ["hankel"]
    yield from _of_one_piece(attempt, tasks)


def _of_one_piece(attempt: _Attempt, tasks: list[str]) -> Iterator[tuple[str, sympy.Expr]]:
    if len(attempt.kernel.pieces) != 1:
        attempt.reasons.append("sympy is asked for kernels of one piece only")
        return
    (piece,) = attempt.kernel.pieces
    support = None if piece.support == sympy.oo else piece.support
    yield from _asked(attempt, tasks, piece.expr, support=support)


def _is_special(formula: sympy.Expr) -> bool:
    return bool(formula.has(sympy.hyper, sympy.meijerg))


def _asked(
    attempt: _Attempt,
    tasks: list[str],
    expr: sympy.Expr,
    *,
    support: sympy.Expr | None = None,
) -> Iterator[tuple[str, sympy.Expr]]:
    if expr.has(Opaque):
        attempt.reasons.append("sympy is not asked: a callable has no formula")
        return
    answers = ask_sympy(
        tasks,
        expr,
        dim=attempt.dim or 1,
        support=support,
        limit=attempt.limit,
    )
    for task, found, reason in answers:
        formula = found
        if found is None:
            attempt.reasons.append(f"{task}: {reason}")
            continue
        if task == "mellin":
            products = read_mellin(found, _S)
            size = DIMENSION if attempt.dim is None else sympy.Integer(attempt.dim)
            formula = None if products is None else gamma_formula(products, size, W)
            if formula is None:
                attempt.reasons.append(f"mellin: {found} is no product of Gamma functions")
                continue
            attempt.products = products
        yield f"sympy ({task})", formula


def _from_tables(kernel: Kernel, dim: sympy.Expr) -> sympy.Expr | None:
    """mu(w) piece by piece, its atoms left out; None where a summand has no formula."""
    total = sympy.Integer(0)
    for piece in kernel.pieces:
        if piece.support == sympy.oo:
            moving = sympy.Add(*(t for t in summands(piece.expr) if t.has(Z)))
            if moving == 0:
                continue
            products = gamma_products(moving)
            part = None if products is None else gamma_formula(products, dim, W)
        else:
            part = compact_formula(piece.expr, piece.support, dim, variable=W)
        if part is None:
            return None
        total += part
    return total
