r"""mu(w) by 25-digit quadrature of the Hankel integral: truth for kernels that decay slowly.

On the half-line the contour is turned into the upper half-plane, where everything decays:

.. math:: \mu(w) = (2\pi)^{-d/2} w^{1-d/2}\,\mathrm{Re}\int_0^{\infty e^{i\varphi}}
          k(z) z^{d/2} H^{(1)}_{d/2-1}(wz)\,dz .

That needs k to be analytic in the wedge.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import flint
import sympy
from mpmath import mp

from spectra.base.precision import working
from spectra.density.closed_pairs.summands import to_mpf
from spectra.errors import FormulaError
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel

__all__ = ["hankel_quadrature"]

_DIGITS = 25
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
    >>> from spectra.kernels.kernel import radial
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
