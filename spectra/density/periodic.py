r"""Periodic kernels on the line: atoms at the multiples of one frequency.

.. math:: k(z) = \sum_{n \ge 0} a_n \cos(n v z), \qquad
          a_n \approx \frac{2 - [n = 0]}{N} \sum_{j < N} k(j T / N) \cos(2 \pi j n / N)

with v = 2 pi / T.  The coefficients of a kernel that is analytic near the line fall exponentially;
N is doubled until the last half of them is below rounding, which is what the sums alias.

A product of periodic kernels whose periods have no ratio has atoms at the sums and differences,

.. math:: \cos(n v z) \cos(m u z) = \tfrac12 \cos((n v + m u) z) + \tfrac12 \cos((n v - m u) z).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working_precision
from spectra.density.components import Atom, SpectralDensity
from spectra.density.gamma_sums.series import series
from spectra.density.lookup import lookup
from spectra.density.numeric import numeric
from spectra.errors import NoRouteError
from spectra.formula.evaluation.ball_function import continued
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.periodic import is_of_waves, is_periodic, wave_rates

__all__ = ["fourier_atoms", "periodic"]

#: Entire functions: a composition of them, and of quotients, is analytic where it is finite.
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh)
# Bits of the values; coefficients keep them down to 2^-60 of the largest value.
_BITS = 192
# What is left out, relative to the kernel: below the rounding of its largest atom.
_LEFT = 2.0**-60
# The least probability of an atom that has others on both sides.
_DRAWN = 2.0**-51
# Numbers of values that are tried; every fourth gives an atom.
_COUNTS = (64, 256, 1024, 4096, 16384)


def periodic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """The density of a periodic kernel on the line, or of a sum or product of one with others.

    Of a product with a kernel of a closed form it is a sum of densities of that kernel, moved to
    the frequencies of the periodic one (MacKay's quasi-periodic kernel is such a product).
    None for another dimension, in which no periodic kernel has a measure, and where the Fourier
    series is not that of an analytic function.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> found = periodic(radial("exp(cos(z))"), 1)
    >>> [(a.radius, round(a.mass, 12)) for a in found.atoms[:2]]    # I_0(1), 2 I_1(1)
    [(0.0, 1.266065877752), (1.0, 1.130318207985)]
    """
    if dim != 1 or len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    atoms: list[Atom] = []
    rest: list[sympy.Expr] = []
    moved = False
    for term in sympy.Add.make_args(kernel.pieces[0].expr):
        waves, factor = _split_waves(term)
        if not waves:
            rest.append(term)
        elif not factor.has(Z):
            atoms += waves
        else:
            moved = True
            rest += [
                sympy.Rational(a.mass) * sympy.cos(sympy.Rational(a.radius) * Z) * factor
                for a in waves
            ]
    if not (atoms or moved):
        return None
    if not rest:
        return SpectralDensity(kernel, 1, (), tuple(atoms), "periodic")
    left = Kernel((Piece(sympy.oo, sympy.Add(*rest)),))
    for route in (lookup,) if moved else (lookup, series, numeric):
        known = route(left, 1)
        if known is not None:
            return replace(
                known, kernel=kernel, atoms=(*atoms, *known.atoms), route="periodic", expr=None
            )
    if not moved:
        return None
    raise _no_atoms(
        f"{kernel} is a periodic formula times one that has no closed form:",
        "write the factors as kernels of their own, k1.on([0]) * k2.on([0]).",
    )


def _split_waves(term: sympy.Expr) -> tuple[tuple[Atom, ...], sympy.Expr]:
    """The atoms of the factors of waves in a term, and the product of the others.

    No atoms and the term itself if the waves are not seen to be analytic, and if other routes
    follow the product: of polynomials in sines and cosines, or waves whose periods have no ratio.
    """
    parts: dict[bool, list[sympy.Expr]] = {True: [], False: []}
    for factor in sympy.Mul.make_args(sympy.expand_power_exp(term)):
        parts[is_of_waves(factor)].append(factor)
    turning, rest = parts[True], sympy.Mul(*parts[False])
    whole = sympy.Mul(*turning)
    expands = whole.is_polynomial(*whole.atoms(sympy.sin, sympy.cos))
    if not turning or (rest.has(Z) and (expands or not is_periodic(whole))):
        return (), term
    if not rest.has(Z):
        turning[0], whole, rest = turning[0] * rest, whole * rest, sympy.Integer(1)
    found = [fourier_atoms(part) for part in ([whole] if is_periodic(whole) else turning)]
    known = [atoms for atoms in found if atoms is not None]
    return (reduce(_convolve, known), rest) if len(known) == len(found) else ((), term)


def _convolve(left: tuple[Atom, ...], right: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The atoms of a product of two cosine series.

    Small atoms lie between large ones here, where a law has no room for them.
    """
    (r, m, e), (s, n, f) = (
        np.array([(a.radius, a.mass, a.error) for a in atoms]).T for atoms in (left, right)
    )
    mass, outer = np.multiply.outer(m, n), np.multiply.outer
    error = outer(np.abs(m), f) + outer(e, np.abs(n) + f) + 2.0**-52 * np.abs(mass)
    both = np.array([np.abs(np.subtract.outer(r, s)), np.add.outer(r, s)])
    radii, where = np.unique(both, return_inverse=True)
    masses, errors = (
        np.bincount(where.ravel(), np.tile(0.5 * x.ravel(), 2)) for x in (mass, error)
    )
    return _keep_large(radii, masses, errors, _DRAWN)


def _keep_large(
    radii: NDArray[Any], masses: NDArray[Any], errors: NDArray[Any], share: float
) -> tuple[Atom, ...]:
    """Atoms above a share of the total mass; the others are in the error of the first."""
    small = np.abs(masses) < share * np.abs(masses).sum()
    errors[np.flatnonzero(~small)[0]] += np.sum((np.abs(masses) + errors)[small])
    kept = zip(radii[~small], masses[~small], errors[~small], strict=True)
    return tuple(Atom(*map(float, row)) for row in kept)


def fourier_atoms(expr: sympy.Expr) -> tuple[Atom, ...] | None:
    """The cosine series of an even periodic formula in Z that is analytic near the line; else None.

    The error of the first atom holds what is left out of the others.

    Examples
    --------
    >>> atoms = fourier_atoms(1 / (2 - sympy.cos(Z)))
    >>> bool(abs(atoms[3].mass - 2 / 3**0.5 * (2 - 3**0.5) ** 3) < 1e-16)
    True
    """
    if is_of_waves(expr) and not is_periodic(expr):
        raise _no_atoms(
            f"{expr} has waves whose periods have no ratio, and atoms of such functions are "
            "known where they are products of periodic ones:"
        )
    if not (is_periodic(expr) and _is_analytic(expr)) or expr.subs(Z, -Z) != expr:
        return None
    rate = _rate(expr)
    # In x = v z the period is 2 pi.
    k = continued(expr.subs(Z, Z / rate), Z)
    for count in _COUNTS:
        with working_precision(_BITS):
            turn = 2 * flint.arb.pi() / count
            values = [k.resolved(flint.acb(turn * j), _BITS).real for j in range(count // 2 + 1)]
        if not all(value.is_finite() for value in values):
            break
        masses = _find_coefficients(values)
        # The last half of the coefficients shows what is left out and what is aliased.
        left = float(np.abs(masses[count // 4 :]).sum())
        if left <= _LEFT * np.abs(masses).sum():
            kept = masses[: count // 4]
            errors = 2.0**-52 * np.abs(kept) + 2.0 * left
            errors[0] += left
            return _keep_large(float(rate) * np.arange(kept.size), kept, errors, _LEFT)
    raise _no_atoms(
        f"The Fourier series of {expr} has more than {_COUNTS[-1] // 4} terms above rounding, or "
        "a pole is on the line. What can be done:",
    )


def _no_atoms(
    reason: str, advice: str = "make a finite measure for the distances of your data (design)."
) -> NoRouteError:
    at_shell = "'spectra design' makes a finite measure for the distances of your data."
    return NoRouteError(reason, in_python=advice, at_shell=at_shell)


def _is_analytic(expr: sympy.Expr) -> bool:
    """Whether the formula is made of entire functions, sums, products and whole powers."""
    for node in sympy.preorder_traversal(expr):
        if not node.has(Z) or node == Z or node.is_Add or node.is_Mul or node.func in _ENTIRE:
            continue
        if not (node.is_Pow and node.exp.is_Integer):
            return False
    return True


def _rate(expr: sympy.Expr) -> sympy.Expr:
    """The frequency of which all waves are multiples."""
    rates = [sympy.Abs(rate) for rate in wave_rates(expr)]
    shares = [sympy.nsimplify(r / rates[0]) for r in rates]
    return rates[0] * reduce(sympy.gcd, shares)


def _find_coefficients(values: list[Ball]) -> FloatArray:
    """The coefficients of cos(nx) from values at equal steps from 0 to pi."""
    half = len(values) - 1
    with working_precision(_BITS):
        period = [flint.acb(v) for v in [*values, *values[half - 1 : 0 : -1]]]
        sums = [float((s.real / half).mid()) for s in flint.acb.dft(period)[: half + 1]]
    return np.array([0.5 * sums[0], *sums[1:]])
