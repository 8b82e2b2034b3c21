"""Is the kernel positive definite on R^d: proved, refuted, or neither?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sympy
from mpmath import mp

from spectra.asymmetric import AsymmetricKernel
from spectra.errors import AccuracyError, FormulaError, NoRouteError, UndecidedError
from spectra.formula.evaluate import mpmath_function
from spectra.formula.parsing import Z
from spectra.kernel import Kernel
from spectra.singularity.germs import compare, sign
from spectra.singularity.places import LocalAnalysis, Singularity
from spectra.verdict.largest import known_largest_dimension
from spectra.verdict.status import Status

if TYPE_CHECKING:
    from spectra.verdict.decide import Verdict

__all__ = [
    "Definiteness",
    "definiteness",
    "is_completely_monotone",
    "largest_known_dimension",
]

_PROBES = 60
#: The largest distance probed where the kernel has no edge.
_REACH = 1e3
_DIGITS = 30
#: A claim of excess is repeated with these: cancellation that deceives 30 digits does not them.
_CHECKING_DIGITS = 120
#: An excess below this is left to other rules.
_MARGIN = 1e-12
_LARGEST_MATERN = 40


@dataclass(frozen=True)
class Definiteness:
    """Whether a kernel is positive definite on R^d.

    Attributes
    ----------
    answer : bool or None
        True (proved), False (refuted), or None (neither).  Where no dimension was given, the
        question is whether it is positive definite for every d.
    reason : str
    max_dim : float or None
        The largest d for which it is positive definite: ``math.inf`` for every d, 0 for none, and
        None where that is not known.
    """

    answer: bool | None
    reason: str
    max_dim: float | None = None


def definiteness(verdict: Verdict) -> Definiteness:
    """Decide positive definiteness from the verdict's kernel in its dimension.

    Without a dimension the question is about every d at once.
    """
    kernel, dim = verdict.kernel, verdict.dim
    if isinstance(kernel, AsymmetricKernel):
        return _of_asymmetric(kernel, dim)
    if not isinstance(kernel, Kernel):
        return Definiteness(None, "A callable shows no formula.")
    known = largest_known_dimension(verdict)
    if known is not None:
        largest, reason = known
        return Definiteness(largest == math.inf if dim is None else dim <= largest, reason, largest)
    if verdict.status is Status.INFINITE:
        return Definiteness(
            False,
            "A continuous positive definite kernel has the finite mass k(0), this one has not.",
        )
    if dim is None:
        bounded = verdict.condition not in (None, sympy.true)
        refuted = "It is not for every d, because its mass is not finite for every d."
        return Definiteness(False, refuted) if bounded else Definiteness(None, _NO_RULE)
    tail = _sign_of_tail(verdict.analysis, dim)
    if tail is not None:
        return Definiteness(False, tail)
    if verdict.status is Status.UNDECIDED:
        return Definiteness(None, "No rule decides it, and its mass is not known to be finite.")
    return _by_masses(verdict)


def _of_asymmetric(kernel: AsymmetricKernel, dim: int | None) -> Definiteness:
    """A real positive definite kernel is even: one difference D with K(D) != K(-D) refutes it."""
    d = dim or kernel.dim or 1  # single numbers stand for every coordinate, also in one dimension
    largest = max((abs(v) for t in kernel.terms for v in t.offset), default=0.0)
    for length in (0.3, 1.0, 3.0, largest + 0.5):
        for line in (np.ones(d) / np.sqrt(d), np.eye(d)[0]):
            there, back = kernel([length * line, -length * line])
            if abs(there - back) > _ASYMMETRY * (abs(there) + abs(back)):
                text = f"It is not even: K(D) = {there:.6g} and K(-D) = {back:.6g} at one D."
                return Definiteness(False, text, 0)
    return Definiteness(None, "No rule decides it for sums of shifted and tilted kernels.")


#: A relative difference of K(D) and K(-D) above this is none of rounding.
_ASYMMETRY = 1e-6
_NO_RULE = "No rule that holds in every dimension decides it."


def largest_known_dimension(verdict: Verdict) -> tuple[float, str] | None:
    """The largest dimension in which a radial kernel is positive definite, where that is known."""
    kernel = verdict.kernel
    if not isinstance(kernel, Kernel):
        return None
    if verdict.condition == sympy.false:
        text = "A continuous positive definite kernel has finite mass, this one has it for no d."
        return 0, text
    unbounded = all(p.support is sympy.oo for p in kernel.pieces)
    if unbounded and all(is_completely_monotone(p.expr) for p in kernel.pieces):
        return math.inf, "It is completely monotone in z^2: positive definite in every dimension."
    exceeded = _exceeds_its_value_at_zero(kernel, verdict.analysis)
    if exceeded is not None:
        return 0, exceeded
    known = known_largest_dimension(kernel, verdict.analysis)
    if known is not None:
        return known
    on_the_line = _sign_of_tail(verdict.analysis, 1)
    if on_the_line is not None:
        return 0, f"Even for d = 1 it is not. {on_the_line}"
    return None


def _exceeds_its_value_at_zero(kernel: Kernel, analysis: LocalAnalysis | None) -> str | None:
    """A point where |k(z)| > k(0), which positive definiteness excludes."""
    if not kernel.pieces or analysis is None or analysis.origin.limit is None:
        return None
    functions = [(float(p.support), mpmath_function(p.expr, Z)) for p in kernel.pieces]
    reach = kernel.support if kernel.support != math.inf else _REACH
    limit = analysis.origin.limit

    def excess(z: mp.mpf, digits: int) -> tuple[mp.mpf, mp.mpf]:
        with mp.workdps(digits):
            top = mp.mpf(str(limit.evalf(digits)))
            return abs(mp.fsum(f(z) for s, f in functions if z <= s)), top

    for i in range(1, _PROBES):
        fraction = mp.mpf(i) / _PROBES
        for z in (fraction * reach, fraction**8 * reach):
            try:
                value, top = excess(z, _DIGITS)
                if value <= top + _MARGIN * (1 + abs(top)):
                    continue
                # Formulas such as (sin(z) - z cos(z))/z^3 lose most digits at small z.
                again, top = excess(z, _CHECKING_DIGITS)
            except (AccuracyError, FormulaError):
                return None
            if again > top + _MARGIN * (1 + abs(top)):
                text = f"|k({mp.nstr(z, 6)})| = {mp.nstr(again, 6)} exceeds k(0) = "
                return text + f"{mp.nstr(top, 6)}."
    return None


def _sign_of_tail(analysis: LocalAnalysis | None, dim: int) -> str | None:
    """A spectrum that is negative at large w: it oscillates, or its power tail is negative."""
    if analysis is None or analysis.gaps or any(p.gaps for p in analysis.places):
        return None
    rough = [s for _, e in analysis.radii for s in e.singularities]
    origin = analysis.origin.singularities
    if any(s.log_power != 0 for s in (*rough, *origin)):
        return None
    edge: Singularity | None = None
    for s in rough:
        if edge is None or sign(s.exponent - edge.exponent) < 0:
            edge = s
    source = origin[0] if origin else None
    if edge is not None:
        lead = edge.exponent - sympy.Rational(dim - 1, 2)
        rival = source.exponent if source is not None else analysis.origin.regular_below
        if compare((lead, _NIL), (rival, _NIL)) < 0:
            return f"At large w its spectrum oscillates in sign, because of {edge}."
        if compare((lead, _NIL), (rival, _NIL)) == 0:
            return None
    if source is None:
        return None
    s = source.exponent
    if sign(source.coefficient) * sign(1 / sympy.gamma(-s / 2)) < 0:
        return f"At large w its spectrum is negative, because of {source}."
    return None


_NIL = sympy.Integer(0)


def _by_masses(verdict: Verdict) -> Definiteness:
    """A negative part that is larger than its error refutes; none found proves nothing."""
    try:
        negative = verdict.measure.negative_mass
    except (NoRouteError, UndecidedError, AccuracyError) as error:
        return Definiteness(None, f"No rule decides it, and its masses are not known: {error}")
    if negative.mid > negative.rad:
        text = f"Its spectrum has the negative mass {negative.mid:.6g} in d = {verdict.dim}."
        return Definiteness(False, text, 0 if verdict.dim == 1 else None)
    return Definiteness(None, "No negative part of its spectrum was found, which is no proof.")


# --- completely monotone functions of z^2 ---------------------------------------------------


def is_completely_monotone(expr: sympy.Expr) -> bool:
    """Whether a formula in z can be shown to be completely monotone in z^2.

    Such kernels are positive definite in every dimension, and are the only ones that are
    (I. J. Schoenberg, Metric spaces and completely monotone functions, Ann. Math. 39, 1938).
    Rules: sums and products; exp(-g), g^-b and (c + g)^-b of a Bernstein function g; the Matern
    kernels.

    Examples
    --------
    >>> import sympy
    >>> is_completely_monotone(sympy.exp(-Z) / (1 + Z**2)), is_completely_monotone(1 - Z**2)
    (True, False)
    """
    if not expr.free_symbols:
        return bool(expr.is_nonnegative)
    if expr.is_Add and all(is_completely_monotone(a) for a in expr.args):
        return True
    if _is_matern(expr):
        return True
    if expr.is_Mul and all(is_completely_monotone(a) for a in expr.args):
        return True
    if expr.func == sympy.exp:
        return _is_bernstein(-expr.args[0]) or is_completely_monotone(expr.args[0])
    if expr.is_Pow and not expr.exp.free_symbols:
        if expr.exp.is_Integer and expr.exp > 0:
            return is_completely_monotone(expr.base)
        if expr.exp.is_negative:
            return _is_bernstein(expr.base)
    return False


def _is_bernstein(expr: sympy.Expr) -> bool:
    """Whether a formula is visibly a Bernstein function of z^2, plus a constant >= 0."""
    if not expr.free_symbols:
        return bool(expr.is_nonnegative)
    if expr == Z:
        return True
    if expr.is_Add:
        return all(_is_bernstein(a) for a in expr.args)
    if expr.is_Mul:
        c, rest = expr.as_independent(Z, as_Add=False)
        return bool(c.is_positive) and rest != expr and _is_bernstein(rest)
    if expr.is_Pow and not expr.exp.free_symbols:
        if expr.base == Z:
            return bool(expr.exp.is_positive and expr.exp <= 2)
        return bool(expr.exp.is_positive and expr.exp <= 1) and _is_bernstein(expr.base)
    if expr.func == sympy.log:
        return _is_bernstein(expr.args[0] - 1)
    return False


def _is_matern(expr: sympy.Expr) -> bool:
    """c z^nu K_nu(a z), or exp(-a z) times a nonnegative sum of reverse Bessel polynomials."""
    c, rest = expr.as_independent(Z, as_Add=False)
    if not c.is_positive:
        return False
    if rest.is_Mul and len(rest.args) == 2:
        for power, bessel in (rest.args, rest.args[::-1]):
            if bessel.func != sympy.besselk:
                continue
            nu, scale = bessel.args[0], bessel.args[1] / Z
            if not scale.free_symbols and scale.is_positive and nu.is_positive:
                return bool(power == Z**nu)
    exponentials = [e for e in rest.atoms(sympy.exp) if e.free_symbols]
    if len(exponentials) != 1:
        return False
    rate = sympy.expand(-exponentials[0].args[0] / Z)
    body = sympy.expand(rest / exponentials[0])
    if rate.free_symbols or not rate.is_positive or not body.is_polynomial(Z):
        return False
    poly = sympy.Poly(body.subs(Z, Z / rate), Z)
    if poly.degree() > _LARGEST_MATERN:
        return False
    while not poly.is_zero:
        n, lead = poly.degree(), poly.LC()
        if sign(lead) < 0:
            return False
        poly = poly - sympy.Poly(lead * _reverse_bessel(n), Z)
        if not poly.is_zero and poly.degree() >= n:
            return False
    return True


def _reverse_bessel(n: int) -> sympy.Expr:
    """The monic theta_n: z^(n + 1/2) K_(n + 1/2)(z) is a multiple of theta_n(z) exp(-z)."""
    return sum(
        sympy.factorial(n + k) / (sympy.factorial(n - k) * sympy.factorial(k) * 2**k) * Z ** (n - k)
        for k in range(n + 1)
    )
