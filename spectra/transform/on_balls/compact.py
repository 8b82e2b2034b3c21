r"""Kernels of compact support in closed form: polynomials in z, Bochner-Riesz, arc-cosine, NTK.

A piece k(z) on z <= R, a sum of powers of z times 1, (1 - z/R)^p, (1 - z^2/R^2)^p or arcsin(z/R),
becomes one component.  Below ``start`` it is the ascending series, stored on panels; beyond, the
expansion at the edge z = R plus the one at the origin, compared with the series where they meet.
"""

from __future__ import annotations

import mpmath
import numpy as np
import sympy

from spectra.density import Component, OscillatingTail
from spectra.errors import ParameterError
from spectra.numeric import FloatArray
from spectra.transform.on_balls.ascending import AscendingSeries, Panels, build_panels
from spectra.transform.on_balls.ball import BallForm, RadialForm, to_mpf
from spectra.transform.on_balls.ball_formula import ball_formula
from spectra.transform.on_balls.ball_reading import ball_form
from spectra.transform.on_balls.edge import build_tail
from spectra.transform.on_balls.tail import EPS, EdgeTail, ScaledRadius

__all__ = ["BallComponent", "compact_components", "compact_formula"]

# The bulk starts where the envelope reaches this share of its value at R w = n, the turning point
# of J_n: further out the density of a kernel of infinite mass grows without end.
_BULK_SHARE = 1e-6
_BULK_GRID = 400
# A moment of so many zero bits is zero: it is rational, or rational plus rational times pi.  Those
# from quadrature cost more, and are no such numbers.
_MOMENT_BITS, _QUADRATURE_BITS = 512, 256

# The largest value nearby is sought on a grid, between whose points it may be larger by 1e-4.
_ENVELOPE_MARGIN = 1e-3


class BallComponent(Component):
    """The radial density of a formula on a ball, from the origin to infinity.

    Attributes
    ----------
    form : RadialForm
        The formula on the unit ball.
    dim : int
    least_start : float
        R w below which the expansions at the ends are known not to serve.
    tail : OscillatingTail
        ``frequency`` is the radius R of the ball; the background comes from odd powers of z.
    """

    def __init__(self, form: RadialForm, dim: int, *, least_start: float = 0.0) -> None:
        self.form = form
        self.dim = dim
        series = AscendingSeries(form, dim)
        self._tail: EdgeTail = build_tail(form, dim, series, least_start=least_start)
        self._radius: ScaledRadius = self._tail.radius
        self._start = self._tail.start
        self._panels: Panels = build_panels(
            series, self._tail.order, self._tail.start_scaled * (1 + 4 * EPS)
        )
        with mpmath.workprec(120 + 2 * dim.bit_length()):
            half = mpmath.mpf(dim) / 2
            radius = to_mpf(form.radius)
            # rho = R C s^(d-1) F(s), C = 2^(2-d) / Gamma(d/2)^2, at s = R start.
            self._log_constant = float(
                mpmath.log(radius)
                + (2 - dim) * mpmath.log(2)
                - 2 * mpmath.loggamma(half)
                + (dim - 1) * mpmath.log(radius * self._start)
            )
        self.total = float(form.value_at_zero)
        self.origin_exponent = float(dim - 1 + 2 * _vanishing_moments(form, dim))
        self.tail = OscillatingTail(
            start=self._start,
            frequency=self._radius.high,
            exponent=-self._tail.amplitude_power,
            log_amplitude=self._tail.log_amplitude,
            phase=self._tail.phase,
            background=self._tail.background,
            background_exponent=self._tail.background_power,
        )
        self.bulk = self._find_bulk()

    def _find_bulk(self) -> tuple[float, float]:
        w = self._start * np.arange(1, _BULK_GRID) / _BULK_GRID
        log = self.log_envelope(w)
        turning = log[np.searchsorted(w, self._tail.order / self._radius.high)]
        first = int(np.argmax(log >= turning + np.log(_BULK_SHARE)))
        return float(w[first]), self._start

    def _log_power(self, w: FloatArray) -> FloatArray:
        return np.asarray(self._log_constant + (self.dim - 1) * np.log(w / self._start))

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        w = np.asarray(w, dtype=float)
        sign = np.empty_like(w)
        log = np.empty_like(w)
        near = w < self._start
        sign[near], log_f = self._panels.signed_log(*self._radius(w[near]))
        log[near] = log_f + self._log_power(w[near])
        sign[~near], log[~near] = self._tail.signed_log(w[~near])
        return sign, log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """A bound of log|rho|: the largest value nearby, or amplitude + |background|."""
        w = np.asarray(w, dtype=float)
        log = np.empty_like(w)
        near = w < self._start
        log[near] = self._panels.log_envelope(self._radius(w[near])[0]) + self._log_power(w[near])
        log[near] += _ENVELOPE_MARGIN
        log[~near] = self._tail.log_envelope(w[~near])
        return log

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the logarithm."""
        w = np.asarray(w, dtype=float)
        bound = np.empty_like(w)
        near = w < self._start
        below = w[near]
        high, _ = self._radius(below)
        power = (self.dim - 1) * np.abs(np.log(below / self._start))
        level = np.abs(self._panels.log_envelope(high))
        bound[near] = self._panels.relative_error(high) + EPS * (
            power + level + abs(self._log_constant) + self.dim**0.5 + 8.0
        )
        bound[~near] = self._tail.relative_error(w[~near])
        return bound


def _vanishing_moments(form: RadialForm, dim: int) -> int:
    """How many of the integrals of x^(d-1+2n) times the formula vanish, to hundreds of bits."""
    bits = _MOMENT_BITS if isinstance(form, BallForm) else _QUADRATURE_BITS
    for n, (value, error) in enumerate(form.moments(dim, bits)):
        if abs(value) > error:
            return n
    raise AssertionError("the moments never end")


def compact_components(expr: sympy.Expr, support: sympy.Expr, dim: int) -> list[Component] | None:
    """The density of the piece ``expr`` in Z on z <= support, or None where it is of another class.

    Parameters
    ----------
    expr, support : sympy expressions
        As in :class:`spectra.kernel.Piece`.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    ParameterError
        Where ``dim`` is not a positive integer.
    AccuracyError
        Where the expansion at the edge could not be matched to the series.

    Examples
    --------
    >>> from spectra.formula.parsing import Z
    >>> (component,) = compact_components(1 - Z, sympy.Integer(1), 1)
    >>> sign, log = component.signed_log(np.array([2.0]))
    >>> bool(abs(np.exp(log[0]) - (1 - np.cos(2.0)) / (2 * np.pi)) < 1e-15)
    True
    """
    if dim < 1:
        raise ParameterError(f"A dimension is a positive integer, and {dim} is not.")
    form = ball_form(expr, support)
    return None if form is None else [BallComponent(form, dim)]


def compact_formula(
    expr: sympy.Expr,
    support: sympy.Expr,
    dim: int | sympy.Expr,
    *,
    variable: sympy.Symbol | None = None,
) -> sympy.Expr | None:
    """The density mu(w) of a piece as a sympy formula, or None where it is of another class.

    Polynomials in z^2 give Bessel functions, the others hypergeometric functions; the formula is
    exact, and it is not meant for evaluation in doubles: use the component.

    Parameters
    ----------
    expr, support : sympy expressions
        As in :class:`spectra.kernel.Piece`.
    dim : int or sympy expression
        Dimension d, which may be a symbol.
    variable : sympy symbol, optional
        The radius of the frequency; by default the positive symbol ``w``.

    Examples
    --------
    >>> from spectra.formula.parsing import Z
    >>> compact_formula(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2), 2)
    hyper((3/2,), (2, 2), -w**2)/(2*pi)
    """
    form = ball_form(expr, support)
    if form is None:
        return None
    w = sympy.Symbol("w", positive=True) if variable is None else variable
    size = dim if isinstance(dim, sympy.Basic) else sympy.Integer(dim)
    return ball_formula(form, size, w)
