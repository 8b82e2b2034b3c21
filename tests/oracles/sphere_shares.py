"""Gegenbauer series of zonal formulas by Gauss's rule in 60 digits, knowing nothing of the toolkit.

The share of degree n is N(n, d) lambda_n, so that k(u) = sum of share_n P_n(u), with P_n(1) = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import comb

import flint
import numpy as np
import sympy
from mpmath import mp

__all__ = ["sphere_shares"]

_NODES, _BITS = 100, 200


@cache
def _rule() -> np.ndarray:
    """The nodes of Gauss's rule on [-1, 1], and the weights."""
    roots = [flint.arb.legendre_p_root(_NODES, k, weight=True) for k in range(_NODES)]
    return np.array([[mp.make_mpf(x.mid()._mpf_) for x in pair] for pair in roots]).T


def sphere_shares(
    formula: sympy.Expr, kinks: Sequence[sympy.Expr], dim: int, degree: int
) -> np.ndarray:
    """Shares of the degrees 0, ..., ``degree`` of a formula in u that is smooth between kinks."""
    value = sympy.lambdify(sympy.Symbol("u", real=True), formula, "mpmath")
    with mp.workprec(_BITS), flint.ctx.workprec(_BITS):
        cuts = sorted({mp.acos(mp.mpf(str(c.evalf(60)))) for c in (*kinks, sympy.Integer(0))})
        norm = 2 * mp.beta(mp.mpf(dim - 1) / 2, 0.5)
        u, weighted = [], []
        for low, high in pairwise([mp.mpf(0), *cuts, +mp.pi]):
            for x, w in _rule().T:
                theta = (low + high + (high - low) * x) / 2
                weight = w * (high - low) * mp.sin(theta) ** (dim - 2) / norm
                u.append(flint.arb(mp.cos(theta)))
                weighted.append(flint.arb(weight * value(mp.cos(theta))))
        shares, current, following = [], np.ones(len(u), dtype=object), np.array(u)
        for n in range(degree + 1):  # current is P_n, and following P_{n + 1}
            count = comb(n + dim - 1, n) - (comb(n + dim - 3, n - 2) if n > 1 else 0)
            shares.append(float((count * np.sum(weighted * current)).mid()))
            after = ((2 * n + dim) * np.array(u) * following - (n + 1) * current) / (n + dim - 1)
            current, following = following, after
    return np.array(shares)
