r"""Expansions in 1/x with proved remainders, which add and multiply; Hankel's is one of them.

Each holds where :math:`|z| \ge` ``near`` in a sector around the positive axis:
:math:`f(z) = \sum_{k<n} c_k z^{-k} + R(z)` with :math:`|R(z)| \le B|z|^{-n}`.

With :math:`H^{(1)}_\nu(z) = \sqrt{2/(\pi z)}\,e^{i(z-\nu\pi/2-\pi/4)}(1+h(z))` the function h
satisfies

.. math:: h(z) = \int_0^\infty \frac{e^{2is}-1}{2i}\,\frac{\nu^2-1/4}{(z+s)^2}\,(1+h(z+s))\,ds .

Its kernel is bounded by 1, and :math:`|z+s| \ge \cos(\arg z)|z| + s`, so that after the terms below
:math:`z^{-n}` the remainder is at most

.. math:: 2|a_n(\nu)|\,y^{-n}\exp(|\nu^2-1/4|/y), \qquad y = |z|\cos(\arg z),

(compare DLMF 10.17.14, where it is Olver's bound).
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

from spectra.certify.balls import Ball, sizes

__all__ = ["Expansion", "hankel_coefficients", "hankel_expansion", "hankel_remainder"]


@dataclass(frozen=True)
class Expansion:
    """Coefficients c_0, ..., c_(n-1) (acb), the bound B, and where it holds.

    Examples
    --------
    >>> from spectra.certify.balls import as_ball
    >>> one = flint.acb(1)
    >>> f = Expansion([one, one], as_ball(0.5), as_ball(10))
    >>> g = f * f
    >>> [float(c.real) for c in g.coefficients], 2.0 <= float(g.remainder) <= 2.2
    ([1.0, 2.0], True)
    """

    coefficients: list[Ball]
    remainder: Ball
    near: Ball

    @property
    def size(self) -> Ball:
        """Bound of the absolute value of the sum of the terms."""
        return sizes(self.coefficients)(1 / self.near)

    def __add__(self, other: Expansion) -> Expansion:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Expansion([a + b for a, b in pairs], self.remainder + other.remainder, self.near)

    def __mul__(self, other: Expansion) -> Expansion:
        n = len(self.coefficients)
        full = [flint.acb(0)] * (2 * n - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                full[i + j] = full[i + j] + a * b
        rest = self.size * other.remainder + other.size * self.remainder
        rest = rest + self.remainder * other.remainder / self.near**n
        return Expansion(full[:n], rest + sizes(full[n:])(1 / self.near), self.near)

    def scaled(self, factor: Ball) -> Expansion:
        """The expansion times a number."""
        factor = flint.acb(factor)
        scaled = [factor * c for c in self.coefficients]
        return Expansion(scaled, abs(factor) * self.remainder, self.near)

    def shifted(self, by: int) -> Expansion:
        """The expansion times z^-by."""
        n = len(self.coefficients)
        full = [flint.acb(0)] * by + self.coefficients
        rest = self.remainder / self.near**by
        return Expansion(full[:n], rest + sizes(full[n:])(1 / self.near), self.near)

    def conjugate(self) -> Expansion:
        """The expansion of the conjugate of f at the conjugate of z."""
        return Expansion([c.conjugate() for c in self.coefficients], self.remainder, self.near)

    def divided(self, by: int) -> Expansion:
        """The expansion times z^by, for a function whose first terms vanish exactly.

        The balls of those terms hold 0, which is all that rounding leaves of them.
        """
        first = self.coefficients[:by]
        if not all(c.contains(0) for c in first):
            raise AssertionError("terms that should vanish do not: the expansion has an error")
        return Expansion(self.coefficients[by:], self.remainder, self.near)


def hankel_coefficients(order: Ball, terms: int) -> list[Ball]:
    """a_0, ..., a_terms of DLMF 10.17.1; 1 + h = sum_k (i/z)^k a_k.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from spectra.certify.balls import as_ball
    >>> [float(a) for a in hankel_coefficients(as_ball(Fraction(3, 2)), 2)]     # it ends
    [1.0, 1.0, 0.0]
    """
    found = [flint.arb(1)]
    four = 4 * order * order
    for k in range(terms):
        found.append(found[-1] * (four - (2 * k + 1) ** 2) / (8 * (k + 1)))
    return found


def hankel_remainder(order: Ball, coefficient: Ball, terms: int, cosine: Ball, near: Ball) -> Ball:
    """Bound of |z|^n |1 + h - the first n terms| for |z| >= near and cos(arg z) >= cosine.

    Parameters
    ----------
    order, coefficient : arb
        nu and a_n.
    terms : int
        n.
    cosine, near : arb
    """
    reach = (abs(order * order - flint.arb(1) / 4) / (cosine * near)).exp()
    return 2 * abs(coefficient) * cosine**-terms * reach


def hankel_expansion(
    order: Ball, terms: int, cosine: Ball, near: Ball, stretch: int = 1
) -> Expansion:
    """1 + h_nu(z / stretch) as an expansion in 1/z."""
    known = hankel_coefficients(order, terms)
    unit = [flint.acb(1), flint.acb(0, 1), flint.acb(-1), flint.acb(0, -1)]
    coefficients = [a * unit[k % 4] * stretch**k for k, a in enumerate(known[:terms])]
    rest = hankel_remainder(order, known[terms], terms, cosine, near / stretch)
    return Expansion(coefficients, rest * stretch**terms, near)
