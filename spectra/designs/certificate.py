r"""The largest error of a design on its whole domain, from few values and a bound between them.

On a panel of half-width h around m the error :math:`e = \sum_j c_j \Omega_d(w_j z) - k(z)` is a
polynomial of degree below n up to a remainder R.  From the values at N > n Chebyshev points,

.. math:: \max |e| \le \Bigl(\max_i |e(z_i)| + R\Bigr) \Big/ \cos\frac{\pi n}{2N} + R

(H. Ehlich and K. Zeller, Mathematische Zeitschrift 86, 1964, 41-44).  The waves contribute at most
:math:`2 \sum_j |c_j| E|s_1|^n (w_j h / 2)^n / n!` to R, whatever the kernel; the kernel contributes
its n-th Taylor coefficient on the panel, bounded in ball arithmetic, or else estimated from its
Chebyshev coefficients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from scipy.fft import dct
from scipy.special import gammaln

from spectra.designs.waves import wave_moment
from spectra.errors import AccuracyError, MissingExtraError, NoRouteError
from spectra.formula.parsing import Z
from spectra.numeric import FloatArray
from spectra.quadrature import EPS, Enclosure
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["estimated_sup_error", "proved_sup_error"]

# Degree of the polynomials, and points per panel: the bound exceeds the sampled maximum by the
# factor 1 / cos(pi/24) = 1.0086.
_DEGREE = 16
_POINTS = 12 * _DEGREE
_INFLATION = float(1.0 / np.cos(0.5 * np.pi * _DEGREE / _POINTS))
# Panels are halved until their remainder is below this part of the tolerance.
_REMAINDER = 2e-3
# Panels start at this phase of the fastest wave, where the remainder of 16 terms is 1e-9.
_FIRST_PHASE = 3.0
# A root or a jump at the end of the domain needs panels as narrow as rounding allows.
_MOST_HALVINGS = 60
# Error of one float64 wave or kernel value, in units of rounding.
_VALUE_ULPS = 32.0
_BITS = 106


def _nodes() -> FloatArray:
    return np.asarray(np.cos((2.0 * np.arange(_POINTS) + 1.0) * np.pi / (2.0 * _POINTS)))


def _wave_remainder(dim: int, radii: FloatArray, masses: FloatArray, half: float) -> float:
    with np.errstate(divide="ignore"):
        logs = _DEGREE * np.log(0.5 * radii * half) - gammaln(_DEGREE + 1)
    return float(2.0 * wave_moment(dim, _DEGREE) * np.sum(np.abs(masses) * np.exp(logs)))


def _first_panels(
    radii: FloatArray, domain: tuple[float, float], breaks: list[float]
) -> list[tuple[float, float]]:
    low, high = domain
    fastest = float(radii.max(initial=0.0))
    count = 1 + int((high - low) * fastest / (2.0 * _FIRST_PHASE))
    edges = np.unique(
        np.concatenate([np.linspace(low, high, count + 1), [b for b in breaks if low < b < high]])
    )
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def estimated_sup_error(
    kernel: Kernel,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    *,
    tol: float,
) -> Enclosure:
    """Largest error on the domain, where only the kernel's smoothness on each panel is estimated.

    The enclosure holds the largest sampled error and the bound between the samples, with
    the rounding of float64 values.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k, w, c = radial("cos(2*z)"), np.array([2.0]), np.array([1.25])
    >>> error = estimated_sup_error(k, 1, w, c, (0.0, 3.0), tol=0.25)
    >>> 0.25 in error and error.rad < 0.003
    True
    """
    x = _nodes()
    breaks = [float(p.support) for p in kernel.pieces if p.support != sympy.oo]
    waiting = [(a, b, 0) for a, b in _first_panels(radii, domain, breaks)]
    lower = upper = 0.0
    rounding = _VALUE_ULPS * EPS * (1.0 + float(np.abs(masses).sum()))
    while waiting:
        a, b, depth = waiting.pop()
        half = 0.5 * (b - a)
        z = np.clip(0.5 * (a + b) + half * x, a, b)
        values = kernel(z)
        error = plane_wave_mean(dim, z[:, None] * radii) @ masses - values
        series = np.abs(dct(values, type=2)) / _POINTS
        # Beyond the last coefficient the decay seen in the last ones goes on: bounded by as much
        # again as the last quarter holds.
        remainder = float(series[_DEGREE:].sum() + series[-_POINTS // 4 :].sum())
        remainder += _wave_remainder(dim, radii, masses, half)
        sampled = float(np.abs(error).max())
        bound = (sampled + remainder) * _INFLATION + remainder
        if remainder > _REMAINDER * tol + rounding and bound > upper:
            middle = 0.5 * (a + b)
            if depth < _MOST_HALVINGS and a < middle < b:
                waiting += [(a, middle, depth + 1), (middle, b, depth + 1)]
                continue
            # No panel is narrower: the kernel jumps here by what its samples show.
            bound += float(np.ptp(values))
        lower, upper = max(lower, sampled), max(upper, bound)
    return Enclosure(0.5 * (lower + upper), 0.5 * (upper - lower) + rounding)


def proved_sup_error(
    kernel: Kernel,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    *,
    tol: float,
) -> Enclosure:
    """Largest error on the domain, proved in ball arithmetic (python-flint).

    The radii and masses are taken as the exact numbers that they are in float64.

    Raises
    ------
    MissingExtraError
        Without python-flint.
    NoRouteError
        Where the formula holds a function, or a support inside the domain, that the ball
        arithmetic here does not know.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k, w, c = radial("cos(2*z)"), np.array([2.0]), np.array([1.25])
    >>> error = proved_sup_error(k, 1, w, c, (0.0, 3.0), tol=0.25)
    >>> 0.25 in error, error.rigorous
    (True, True)
    """
    try:
        import flint
    except ImportError as missing:
        raise MissingExtraError(
            "A proof of the error of a design needs ball arithmetic. Install it with "
            "'pip install kernel-spectra[certify]' (python-flint); sup_error without a proof "
            "needs nothing."
        ) from missing
    formula = _formula_on(kernel, domain)
    ctx = flint.ctx
    saved = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = _BITS, _DEGREE + 1
    try:
        return _prove(_Balls(formula), dim, radii, masses, domain, tol)
    finally:
        ctx.prec, ctx.cap = saved


def _prove(
    balls: _Balls,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    tol: float,
) -> Enclosure:
    from flint import arb

    x = _nodes()
    waves = [(arb(float(w)), arb(float(c))) for w, c in zip(radii, masses, strict=True)]
    slope = wave_moment(dim, 1) * float(np.sum(np.abs(masses) * radii))
    waiting = [(a, b, 0) for a, b in _first_panels(radii, domain, [])]
    lower = upper = 0.0
    while waiting:
        a, b, depth = waiting.pop()
        half = 0.5 * (b - a)
        remainder = 2.0 * balls.coefficient(a, b) * (0.5 * half) ** _DEGREE
        remainder += _wave_remainder(dim, radii, masses, half)
        # All factors above are rounded a few times, none near overflow.
        remainder *= 1.0 + 1e-9
        middle = 0.5 * (a + b)
        if not remainder <= _REMAINDER * tol:
            spread = balls.spread(a, b) + slope * (b - a)
            if spread > _REMAINDER * tol:
                if depth >= _MOST_HALVINGS or not a < middle < b:
                    raise AccuracyError(
                        f"The kernel could not be enclosed on [{a:.17g}, {b:.17g}], so the error "
                        "of the design is not proved there: it jumps, or its formula loses its "
                        "digits. End the domain before that point, or use sup_error, which is not "
                        "a proof."
                    )
                waiting += [(a, middle, depth + 1), (middle, b, depth + 1)]
                continue
            least, most = _absolute(balls.error(dim, waves, middle))
            lower, upper = max(lower, least), max(upper, most + spread)
            continue
        sampled_low = sampled_high = 0.0
        for z in np.clip(middle + half * x, a, b):
            least, most = _absolute(balls.error(dim, waves, float(z)))
            sampled_low, sampled_high = max(sampled_low, least), max(sampled_high, most)
        # Nodes are rounded to doubles: the polynomial moves by less than 1e-12 of its size.
        bound = (sampled_high + remainder) * _INFLATION * (1.0 + 1e-12) + remainder
        lower, upper = max(lower, sampled_low), max(upper, bound)
    middle, spread = 0.5 * (lower + upper), 0.5 * (upper - lower)
    return Enclosure(middle, spread * (1.0 + 4.0 * EPS) + 4.0 * EPS * middle, rigorous=True)


def _absolute(ball: Any) -> tuple[float, float]:
    """Doubles below and above the absolute value of a ball."""
    least, most = float(ball.abs_lower().mid()), float(ball.abs_upper().mid())
    return least * (1.0 - 2.0 * EPS), most * (1.0 + 2.0 * EPS)


def _formula_on(kernel: Kernel, domain: tuple[float, float]) -> sympy.Expr:
    """The one formula that the kernel has on the whole domain."""
    high = sympy.Rational(domain[1])
    total = sympy.Integer(0)
    for piece in kernel.pieces:
        if piece.support != sympy.oo and not (piece.support >= high) == sympy.true:
            raise NoRouteError(
                f"The kernel {kernel} ends at z = {piece.support}, inside the domain up to "
                f"{domain[1]:.17g}. A proof needs one formula on the whole domain: end the domain "
                "at the support or before it."
            )
        total += piece.expr
    return total


class _Balls:
    """A formula in z over balls and over power series of balls."""

    def __init__(self, formula: sympy.Expr) -> None:
        self._formula = formula

    def coefficient(self, a: float, b: float) -> float:
        """Bound of |k^(n)(z)| / n! on [a, b]; inf where none was found."""
        from flint import arb, arb_series

        ball = arb(a).union(arb(b))
        series = self._walk(self._formula, arb_series([ball, 1]))
        if not isinstance(series, arb_series):
            return 0.0
        value = series[_DEGREE]
        return float(value.abs_upper().mid()) * (1.0 + EPS) if value.is_finite() else np.inf

    def spread(self, a: float, b: float) -> float:
        """Width of a range that holds k on [a, b]; inf where none was found."""
        from flint import arb

        value = arb(self._walk(self._formula, arb(a).union(arb(b))))
        return 2.0 * float(value.rad()) * (1.0 + EPS) if value.is_finite() else np.inf

    def error(self, dim: int, waves: list[tuple[Any, Any]], z: float) -> Any:
        """Ball of the error of the design at one distance."""
        from flint import arb

        total = -arb(self._walk(self._formula, arb(z)))
        for w, c in waves:
            total += c * _wave_ball(dim, w * arb(z))
        if not total.is_finite():
            raise AccuracyError(
                f"The error of the design at z = {z:.17g} could not be enclosed: the formula of "
                "the kernel has no value there in ball arithmetic. Begin or end the domain "
                "beside that point."
            )
        return total

    def _walk(self, expr: sympy.Expr, z: Any) -> Any:
        """Value of an expression at z, a ball or a power series of balls."""
        from flint import arb, fmpq

        if expr == Z:
            return z
        if expr.is_Rational:
            return arb(fmpq(int(expr.p), int(expr.q)))
        if expr == sympy.pi:
            return arb.pi()
        if expr == sympy.E:
            return arb.const_e()
        if expr.is_Add:
            total = arb(0)
            for term in expr.args:
                total = self._walk(term, z) + total
            return total
        if expr.is_Mul:
            product = arb(1)
            for factor in expr.args:
                product = self._walk(factor, z) * product
            return product
        if expr.is_Pow:
            return self._power(expr, z)
        name = _FUNCTIONS.get(expr.func)
        if name is None:
            raise NoRouteError(
                f"The formula holds {expr.func.__name__}, which the ball arithmetic of designs "
                "does not know, so the error cannot be proved. The value sup_error is available "
                "without a proof."
            )
        argument = self._walk(expr.args[0], z)
        if name in ("asin", "acos") and isinstance(argument, arb):
            arc = _arc_sine(argument)
            return arc if name == "asin" else arb.pi() / 2 - arc
        return getattr(argument, name)()

    def _power(self, expr: sympy.Expr, z: Any) -> Any:
        from flint import arb

        base, exponent = expr.args
        if base == sympy.E:
            return self._walk(exponent, z).exp()
        value = self._walk(base, z)
        if exponent.is_Integer:
            return value ** int(exponent)
        if exponent.is_Rational and exponent.q == 2:
            if isinstance(value, arb):
                # The kernel is real on its domain, so the true base is not negative.
                value = value.nonnegative_part()
            return value.sqrt() ** int(exponent.p)
        return (self._walk(exponent, z) * value.log()).exp()


# Functions of sympy, and their names as methods of balls and of power series alike.
_FUNCTIONS = {
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.asin: "asin",
    sympy.acos: "acos",
    sympy.atan: "atan",
    sympy.erf: "erf",
    sympy.erfc: "erfc",
}


def _arc_sine(ball: Any) -> Any:
    """Arc sine of a ball whose true numbers lie in [-1, 1], since the kernel is real there."""
    from flint import arb

    quarter = arb.pi() / 2
    low, high = ball.lower(), ball.upper()
    least = low.asin() if low > -1 else -quarter
    most = high.asin() if high < 1 else quarter
    return least.union(most)


def _wave_ball(dim: int, t: Any) -> Any:
    """Ball of Omega_dim(t), t >= 0 exact or nearly so."""
    from flint import arb, ctx

    if dim == 1:
        return t.cos()
    if dim == 3:
        return t.sinc()
    order = arb(dim) / 2 - 1
    for bits in (_BITS, 2 * _BITS, 8 * _BITS, 32 * _BITS):
        with ctx.workprec(bits):
            # The series of 0F1 is the faster one, until it cancels.
            if float(t.mid()) < 4.0 + 0.5 * dim:
                value = (-t * t / 4).hypgeom_0f1(order + 1)
            else:
                value = t.bessel_j(order) * (order + 1).gamma() * ((2 / t).log() * order).exp()
        if value.is_finite() and float(value.rad()) < 2.0**-60:
            return value
    raise AccuracyError(
        f"Arb did not enclose the plane wave of dimension {dim} at {t}. Use sup_error, which is "
        "not a proof, and report the dimension and the radius."
    )
