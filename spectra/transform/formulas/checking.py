r"""A formula is believed when it agrees with quadrature of the Hankel integral, at several points.

On the half-line the contour is turned into the upper half-plane, where everything decays:

.. math:: \mu(w) = (2\pi)^{-d/2} w^{1-d/2}\,\mathrm{Re}\int_0^{\infty e^{i\varphi}}
          k(z) z^{d/2} H^{(1)}_{d/2-1}(wz)\,dz .

That needs k to be analytic in the wedge; where it is not, the numbers differ and the formula is
refused, which is the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import flint
import sympy
from mpmath import mp

from spectra.density import Atom
from spectra.errors import FormulaError
from spectra.formula.evaluate import mpmath_function
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernel import Kernel
from spectra.transform.rays.precision import working
from spectra.transform.summands import to_mpf

__all__ = ["hankel_quadrature", "misfit", "points_of", "refutation"]

_DIGITS = 25
# Formulas and quadrature agree to this share of the size of the integrand, or one of them is
# wrong: both carry 25 digits, and few of them cancel at the points chosen.
_AGREEMENT = 1e-11
# An algebraic end of a spectrum, and an atom in doubles, leave this in an integral over it.
_GIVEN_BACK = 1e-9
# Angle of the ray: exp(-z^p) decays on it for p < 4.
_TURN = 8
# In t, r = exp(t - exp(-t)) / (w sin(pi/8)) runs from 1e-29 to where a wave is exp(-65) = 1e-28.
_FIRST, _LAST = -4.125, 4.25
_FIRST_STEP = 1.0 / 8.0
_HALVINGS = 3
# Where Arb still takes the ascending series of K, it loses up to twice as many bits.
_BITS = 4
# Halving the step squares the error, so that what settles to this is right to its square.
_SETTLED = 1e-8


def hankel_quadrature(kernel: Kernel, dim: int, w: Any) -> tuple[Any, Any]:
    """mu(w) of a kernel by quadrature in 25 digits, and the size of the integrand behind it.

    Raises
    ------
    FormulaError
        Where the kernel has no analytic continuation and no compact support.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> value, size = hankel_quadrature(radial("exp(-z)"), 3, 2)
    >>> bool(abs(value - 1 / (mp.pi**2 * 25)) < 1e-15)
    True
    """
    # The part of H that drops out is larger by Gamma(d/2) (2/wz)^(d-2).
    with mp.workdps(_DIGITS + dim):
        half, w = mp.mpf(dim) / 2, to_mpf(w)
        value = size = mp.mpf(0)
        for piece in kernel.pieces:
            part, part_size = (_on_ray if piece.support == sympy.oo else _on_ball)(piece, half, w)
            value, size = value + part, size + part_size
        front = (2 * mp.pi) ** (-half) * w ** (1 - half)
        return value * front, size * front


def _on_ball(piece: Piece, half: Any, w: Any) -> tuple[Any, Any]:
    function = mpmath_function(piece.expr, Z)
    end = to_mpf(piece.support)
    count = max(2, int(mp.ceil(end * w / mp.pi)))
    parts = [
        mp.quad(lambda z: function(z) * z**half * mp.besselj(half - 1, w * z), [a, b])
        for a, b in pairwise(mp.linspace(0, end, count + 1))
    ]
    return mp.fsum(parts), max(abs(p) for p in parts)


def _on_ray(piece: Piece, half: Any, w: Any) -> tuple[Any, Any]:
    """The double-exponential rule of Takahasi and Mori for exponential decay, halved to its end."""
    function = mpmath_function(piece.expr, Z)
    turn = mp.expjpi(mp.mpf(1) / _TURN)
    unit = 1 / (w * mp.im(turn))

    def integrand(t: Any) -> Any:
        r = mp.exp(t - mp.exp(-t)) * unit
        z = r * turn
        hankel = _hankel(half - 1, w * z)
        return turn * function(z) * z**half * hankel * r * (1 + mp.exp(-t))

    step = _FIRST_STEP
    nodes = [_FIRST + step * j for j in range(int((_LAST - _FIRST) / step) + 1)]
    terms = [integrand(mp.mpf(t)) for t in nodes]
    total, size = mp.fsum(terms) * step, max(abs(mp.re(v)) for v in terms)
    for _ in range(_HALVINGS):
        terms = [integrand(mp.mpf(t + step / 2)) for t in nodes]
        finer = (total + mp.fsum(terms) * step) / 2
        size = max(size, max(abs(mp.re(v)) for v in terms))
        if abs(mp.re(finer - total)) <= _SETTLED * size:
            return mp.re(finer), size
        nodes = sorted(nodes + [t + step / 2 for t in nodes])
        total, step = finer, step / 2
    raise FormulaError(
        "the quadrature does not settle, so the kernel is not analytic in the upper half-plane "
        "near the real axis, or has two very different lengths"
    )


def _hankel(order: Any, x: Any) -> Any:
    """H^(1)(x) = 2/(pi i) exp(-i pi order/2) K(-ix), DLMF 10.27.8; mpmath's own are slow."""
    with working(_BITS * mp.prec):
        value = flint.acb(-1j * x).bessel_k(flint.acb(order))
    return mp.mpc(value) * 2 / (mp.pi * 1j) * mp.expjpi(-order / 2)


def misfit(
    kernel: Kernel,
    formula: sympy.Expr,
    variable: sympy.Symbol,
    dim: int,
    *,
    atoms: Sequence[Atom],
    ends: Sequence[float],
) -> str | None:
    r"""Why a density on a bounded spectrum does not give its kernel back, or None where it does.

    .. math:: k(z) = \sum_{atoms} m \Omega_d(r z)
              + S_{d-1}\int_0^R \Omega_d(wz) \mu(w) w^{d-1} dw

    Kernels that oscillate without decay have such spectra, and no Hankel integral to compare with.
    """
    density = mpmath_function(formula, variable)
    with mp.workdps(_DIGITS):
        half = mp.mpf(dim) / 2
        area = 2 * mp.pi**half / mp.gamma(half)
        for z in points_of(kernel):
            point = to_mpf(z)
            exact = mp.fsum(
                mpmath_function(p.expr, Z)(point) for p in kernel.pieces if p.support >= z
            )

            def wave(w: Any, at: Any = point) -> Any:
                return mp.hyp0f1(half, -((w * at) ** 2) / 4)

            found = mp.fsum(mp.mpf(a.mass) * wave(mp.mpf(a.radius)) for a in atoms)
            for low, high in pairwise([mp.mpf(0), *sorted({mp.mpf(e) for e in ends})]):
                found += mp.quad(
                    lambda w, at=wave: area * w ** (dim - 1) * density(w) * at(w),
                    mp.linspace(low, high, 9),
                )
            if not abs(found - exact) <= _GIVEN_BACK * max(abs(exact), abs(kernel.at_zero)):
                return (
                    f"at z = {z} in dimension {dim} it gives {mp.nstr(found, 6)} back, and the "
                    f"kernel is {mp.nstr(exact, 6)}"
                )
    return None


def points_of(kernel: Kernel) -> tuple[sympy.Rational, sympy.Rational]:
    """Two radii at the kernel's own scale, where its density is neither flat nor gone."""
    length = sympy.Integer(1)
    k_zero = abs(kernel.at_zero)
    for exponent in range(-24, 25):
        z = 2.0**exponent
        if abs(float(kernel([z])[0]) - kernel.at_zero) > 0.3 * max(k_zero, 1e-300):
            length = sympy.Integer(2) ** exponent
            break
    return sympy.Rational(3, 4) / length, sympy.Rational(19, 10) / length


def refutation(
    kernel: Kernel,
    values: Sequence[tuple[int, sympy.Rational, Any]],
) -> str | None:
    """Why values (dim, w, mu) of a formula are not those of a kernel, or None where they agree.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> refutation(radial("exp(-z)"), [(3, sympy.Integer(2), mp.mpf("0.0040528473456936"))])
    >>> refutation(radial("exp(-z)"), [(3, sympy.Integer(2), mp.mpf("0.004"))])
    'at w = 2 in dimension 3 it gives 0.004, and quadrature 0.00405285'
    """
    for dim, w, value in values:
        try:
            exact, size = hankel_quadrature(kernel, dim, w)
        except FormulaError as error:
            return f"it could not be checked by quadrature: {error}"
        if not abs(value - exact) <= _AGREEMENT * max(size, abs(exact)):
            return (
                f"at w = {w} in dimension {dim} it gives {mp.nstr(value, 6)}, and quadrature "
                f"{mp.nstr(exact, 6)}"
            )
    return None
