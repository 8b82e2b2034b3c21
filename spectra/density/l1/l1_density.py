r"""The density of a kernel f(|x - y|_1) of the l1 distance: divided differences in ball arithmetic.

.. math:: \mu(w) = \pi^{-d} (-1)^{d-1} [w_1^2, \ldots, w_d^2]\, G, \qquad
          G(w^2) = \begin{cases}
             (-w^2)^m \int_0^\infty f(s) \cos(w s)\,ds & d = 2m + 1, \\
             (-w^2)^m \int_0^\infty f(s) \sin(w s)\,ds / w & d = 2m,
          \end{cases}

since the mean of :math:`\prod_i \cos(w_i x_i)` over the simplex |x|_1 = s has the Laplace transform
:math:`\prod_i p / (p^2 + w_i^2)`, whose partial fractions are a divided difference.  Where
frequencies coincide they are moved apart by 2^-128, which changes mu by less than its slope does,
and the digits that the differences lose are computed in the first place.  Terms c z^n exp(-t z) of
f have G in closed form and are proved; all others are sums (:mod:`spectra.density.l1.l1_sums`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial, pi
from typing import final

import flint
import numpy as np
import sympy
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, checked_dim, real_array
from spectra.base.precision import Ball, working
from spectra.density.closed_pairs.summands import Summand, read
from spectra.density.continuation.continuation import number
from spectra.density.l1.l1_sums import Share, apart, divided, share_of
from spectra.errors import AccuracyError, DataError, FormulaError, NoRouteError
from spectra.formula.reader.parsing import Z
from spectra.kernels.l1_kernel import L1Kernel
from spectra.singularities.local import profile

__all__ = ["L1Density", "l1_density"]

# Frequencies closer than this are moved apart by as much.
_APART_BITS = 128
# Bits of the first trial, and how often they are doubled.
_FIRST_BITS, _DOUBLINGS = 256, 7
# Relative error that is asked of a value, and what part of the bound of mu is none of it.
_RELATIVE, _ABSOLUTE = 2.0**-54, 2.0**-60


#: c s^n exp(-t s) on an interval: a summand without factors, and both ends.
_Term = tuple[Summand, sympy.Expr, sympy.Expr]


def _transform(term: _Term, w: Ball) -> Ball:
    """The integral of a term against exp(i w s)."""
    summand, start, end = term
    n, q = int(summand.power), number(summand.linear) - flint.acb(0, 1) * w

    def onwards(a: Ball) -> Ball:
        """The integral from a to infinity, as if it converged: parts cancel between ends."""
        steps = (
            factorial(n) // factorial(n - k) * a ** (n - k) / q ** (k + 1) for k in range(n + 1)
        )
        return number(summand.coefficient) * (-q * a).exp() * sum(steps, flint.acb(0))

    total = onwards(number(start))
    return total if end is sympy.oo else total - onwards(number(end))


def _moment(term: _Term, power: int) -> float:
    """Bound of the integral of s^power times the absolute value of a term."""
    summand, _, end = term
    c, t, n = abs(float(summand.coefficient)), float(summand.linear), int(summand.power) + power
    if end is sympy.oo:
        return float(c * factorial(n) / t ** (n + 1))
    b = float(end)
    return float(c * max(1.0, np.exp(-t * b)) * b ** (n + 1) / (n + 1))


@final
@dataclass(frozen=True, eq=False)
class L1Density:
    """mu of a kernel of the l1 distance, as a function of frequencies; :func:`l1_density` makes it.

    Attributes
    ----------
    kernel : L1Kernel
    dim : int
    """

    kernel: L1Kernel
    dim: int
    _terms: tuple[_Term, ...]
    _shares: tuple[Share, ...] = ()

    def __call__(self, w: ArrayLike) -> FloatArray:
        """mu at frequencies of shape (..., d)."""
        return self.enclosure(w)[0]

    @property
    def is_proved(self) -> bool:
        """Whether the errors are: all of f is made of terms c z^n exp(-t z)."""
        return not self._shares

    def enclosure(self, w: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """mu at frequencies of shape (..., d), and the error of each.

        A proved bound where :attr:`is_proved`, else that of sums over every second point.

        Raises
        ------
        DataError
            For frequencies that are not finite, or have another number of coordinates.
        AccuracyError
            Where sums do not settle, as at frequencies where mu is infinite.
        """
        points = real_array(w, "The frequencies", error=DataError)
        if points.shape[-1:] != (self.dim,):
            raise DataError(
                f"mu lives on R^{self.dim}: give frequencies of shape (..., {self.dim}), not "
                f"{points.shape}."
            )
        if not np.all(np.isfinite(points)):
            lost = points[~np.isfinite(points)][0]
            raise DataError(f"mu was asked for at a frequency that is not finite: {lost}.")
        found = [self._everything(row) for row in points.reshape(-1, self.dim)]
        values, errors = np.array(found).reshape(-1, 2).T
        shape = points.shape[:-1]
        return values.reshape(shape), errors.reshape(shape)

    @cached_property
    def bound(self) -> float:
        """A bound of the |mu| of proved terms: the integral of |f(|x|_1)| over (2 pi)^d."""
        dim = self.dim
        return sum(_moment(t, dim - 1) for t in self._terms) / factorial(dim - 1) / pi**dim

    @cached_property
    def _slope(self) -> float:
        """A bound of the slope of mu in one coordinate of w."""
        return sum(_moment(t, self.dim) for t in self._terms) / factorial(self.dim) / pi**self.dim

    def _everything(self, row: FloatArray) -> tuple[float, float]:
        ascending = np.sort(np.abs(row))
        value, error = self._at(ascending) if self._terms else (0.0, 0.0)
        for share in self._shares:
            more, lost = share(ascending)
            value, error = value + more, error + lost + 2.0**-53 * abs(value + more)
        return value, error

    def _at(self, row: FloatArray) -> tuple[float, float]:
        moved = 2.0 * self.dim**2 * 2.0**-_APART_BITS * self._slope
        bits = _FIRST_BITS * self.dim
        for _ in range(_DOUBLINGS):
            with working(bits):
                ball = self._difference(row)
                value, radius = float(ball.mid()), float(ball.rad())
            if radius <= max(_RELATIVE * abs(value), _ABSOLUTE * self.bound):
                return value, radius + moved + 2.0**-53 * abs(value)
            bits *= 2
        raise AccuracyError(f"The density of {self.kernel} at w = {row} lost {bits // 2} bits.")

    def _difference(self, row: FloatArray) -> Ball:
        nodes = apart(row, _APART_BITS)
        difference = divided([self._g(w) for w in nodes], nodes)
        return (-1) ** (self.dim - 1) * difference / flint.arb.pi() ** self.dim

    def _g(self, w: Ball) -> Ball:
        total = sum((_transform(t, w) for t in self._terms), flint.acb(0))
        half = self.dim // 2
        power = (-(w * w)) ** half
        return power * total.real if self.dim % 2 else power * total.imag / w


def l1_density(kernel: L1Kernel, dim: int) -> L1Density:
    """The density of f(|x - y|_1) on R^dim, without the atom at 0 of a constant.

    Raises
    ------
    NoRouteError
        Where f has no limit 0 but for a constant, or is not continued into the plane.

    Examples
    --------
    >>> from spectra import l1
    >>> mu = l1_density(l1("Max(1 - z, 0)"), 2)
    >>> value, error = mu.enclosure([0.0, 0.0])      # the volume 2/3 of a pyramid over (2 pi)^2
    >>> bool(abs(value - 2 / 3 / (2 * np.pi) ** 2) <= error < 1e-17)
    True
    >>> value, error = l1_density(l1("exp(-z**2)"), 2).enclosure([1.0, 2.0])
    >>> bool(error < 1e-12 * value)
    True
    """
    dim = checked_dim(dim)
    cut = profile(kernel.profile)
    ends = (sympy.Integer(0), *cut.radii, sympy.oo)
    if not cut.exprs:
        raise NoRouteError(_refusal(kernel, "its branches could not be told apart"))
    constant = sympy.expand(cut.exprs[-1]).as_independent(Z, as_Add=True)[0]
    terms: list[_Term] = []
    shares: list[Share] = []
    for i, expr in enumerate(cut.exprs):
        start, end, left = ends[i], ends[i + 1], sympy.Integer(0)
        for whole in sympy.Add.make_args(expr - constant):
            # What is not closed stays as it was written: a product of its factors hides a needle.
            split = sympy.Add.make_args(sympy.expand(whole.rewrite(sympy.exp)))
            closed = [read(term) for term in split if term != 0]
            if all(_has_transform(term, end) for term in closed):
                terms += [(term, start, end) for term in closed]
            else:
                left += whole
        if left != 0:
            try:
                shares.append(share_of(left, start, end, dim))
            except FormulaError as fault:
                raise NoRouteError(_refusal(kernel, f"of {left} {fault}")) from fault
    return L1Density(kernel, dim, tuple(terms), tuple(shares))


def _has_transform(s: Summand, end: sympy.Expr) -> bool:
    """Whether it is some c z^n exp(-t z), and has an integral."""
    is_power = s.power.is_Integer and s.power >= 0 and s.quadratic == 0 and not s.factors
    is_real = s.linear.is_real and s.coefficient.is_real
    return bool(is_power and is_real and (end is not sympy.oo or s.linear.is_positive))


def _refusal(kernel: L1Kernel, why: str) -> str:
    return (
        f"The density of {kernel} is known where f is made of formulas that decay, beside a "
        f"constant, and are analytic between a few radii: {why}. Its radial companion or features "
        "to order for the range of the data may serve."
    )
