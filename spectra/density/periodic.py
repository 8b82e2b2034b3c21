r"""The periodic route: kernels on the line with atoms at the multiples of one frequency.

A kernel of period T has, with v = 2 pi / T, the Fourier series

.. math:: k(z) = \sum_{n \ge 0} a_n \cos(n v z), \qquad
          a_n \approx \frac{2 - [n = 0]}{N} \sum_{j < N} k(j T / N) \cos(2 \pi j n / N) .

The coefficients decrease exponentially if k is analytic near the line.  N grows until the second
half of them, which bounds the aliasing error, is below rounding.

A product of two periodic kernels has atoms at the sums and differences of their frequencies,

.. math:: \cos(n v z) \cos(m u z) = \tfrac12 \cos((n v + m u) z) + \tfrac12 \cos((n v - m u) z).
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.base.accuracy import EPS
from spectra.base.limits import check_time
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working_precision
from spectra.density.components import Atom, Component, Evaluation, SpectralDensity
from spectra.density.gamma_series import series
from spectra.density.lookup import lookup
from spectra.density.numeric import numeric
from spectra.errors import NoRouteError
from spectra.formula.ball_function import analytic_continuation
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.periodic import frequencies_of, is_periodic, is_trigonometric

__all__ = ["fourier_atoms", "periodic"]

#: Entire functions: compositions of them and of quotients are analytic wherever they are finite.
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh)
# Working precision: enough for coefficients down to 2^-60 of the largest value.
_BITS = 192
# Coefficients below this share of the sum of absolute values are left out: they are rounding.
_NEGLIGIBLE = EPS / 256.0
# Atoms of a product below this share are left out: tables resolve probabilities down to it.
_LEAST_SHARE = 2.0 * EPS
# The N tried in turn; N/4 coefficients are kept.
_COUNTS = (64, 256, 1024, 4096, 16384)


def periodic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """The density of a periodic kernel on the line, or of its sum or product with another kernel.

    A product with a kernel in closed form, such as MacKay's quasi-periodic kernel, has copies of
    the density of that kernel, shifted to the frequencies of the periodic factor.  None if dim > 1,
    where periodic kernels have no measure, or if the kernel is not of this form.

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
    left_out: list[Component] = []
    has_shifts = False
    for term in sympy.Add.make_args(kernel.pieces[0].expr):
        term_atoms, factor = _split_periodic(term)
        if not term_atoms:
            rest.append(term)
        elif not factor.has(Z):
            atoms += term_atoms
        else:
            has_shifts = True
            share = sum(a.error - EPS * abs(a.mass) for a in term_atoms)
            alone = lookup(Kernel((Piece(sympy.oo, factor),)), 1)
            # Coefficients fall exponentially: those beyond twice the last radius are nothing.
            last = 2.0 * max(a.radius for a in term_atoms)
            left_out += [_LeftOut(c, share, last) for c in (alone.components if alone else ())]
            rest += [
                sympy.Rational(a.mass) * sympy.cos(sympy.Rational(a.radius) * Z) * factor
                for a in term_atoms
            ]
    if not (atoms or has_shifts):
        if is_periodic(kernel.pieces[0].expr):
            raise _no_route(
                f"{kernel} is periodic, but not smooth or not even: the terms of its Fourier "
                "series fall like powers, too slowly for a table. You can:"
            )
        return None
    if not rest:
        return SpectralDensity(kernel, 1, (), tuple(atoms), "periodic")
    remainder = Kernel((Piece(sympy.oo, sympy.Add(*rest)),))
    for route in (lookup,) if has_shifts else (lookup, series, numeric):
        found = route(remainder, 1)
        if found is not None:
            components, atoms = (*found.components, *left_out), [*atoms, *found.atoms]
            return SpectralDensity(kernel, 1, components, tuple(atoms), "periodic")
    if not has_shifts:
        return None
    raise _no_route(
        f"{kernel} is a periodic formula times one that has no closed form:",
        "write each factor as a kernel, k1.on([0]) * k2.on([0]).",
    )


class _LeftOut(Component):
    """Copies of ``bell``, of a total mass up to ``share``, that are left out: 0 with this error."""

    def __init__(self, bell: Component, share: float, last: float) -> None:
        self._bell, self._log_share, self._last = bell, float(np.log(share)), last
        self.total, self.origin_exponent, self.decay = 0.0, 0.0, bell.decay
        self.bulk = last + bell.bulk[0], last + bell.bulk[1]

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The largest value of bells that may be anywhere up to the last radius."""
        distance = np.maximum(w - self._last, self._bell.bulk[0])
        size = self._log_share + self._bell.log_envelope(distance)
        return np.zeros_like(size), np.full_like(size, -np.inf), size, np.ones_like(size)


def _split_periodic(term: sympy.Expr) -> tuple[tuple[Atom, ...], sympy.Expr]:
    """The atoms of the trigonometric factors of a term, and the product of its other factors.

    There are no atoms, and the product is the whole term, if a factor is not known to be analytic
    or the term is left to other routes.
    """
    factors: dict[bool, list[sympy.Expr]] = {True: [], False: []}
    for factor in sympy.Mul.make_args(sympy.expand_power_exp(term)):
        factors[is_trigonometric(factor)].append(factor)
    waves, rest = factors[True], sympy.Mul(*factors[False])
    product = sympy.Mul(*waves)
    is_polynomial = product.is_polynomial(*product.atoms(sympy.sin, sympy.cos))
    # Other routes handle a polynomial in sines and cosines times a function of z.
    if not waves or (rest.has(Z) and (is_polynomial or not is_periodic(product))):
        return (), term
    if not rest.has(Z):
        waves[0], product, rest = waves[0] * rest, product * rest, sympy.Integer(1)
    found = [fourier_atoms(part) for part in ([product] if is_periodic(product) else waves)]
    known = [atoms for atoms in found if atoms is not None]
    return (reduce(_convolve, known), rest) if len(known) == len(found) else ((), term)


def _convolve(left: tuple[Atom, ...], right: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The atoms of a product of two cosine series."""
    (r, m, m_error), (s, n, n_error) = (
        np.array([(a.radius, a.mass, a.error) for a in atoms]).T for atoms in (left, right)
    )
    mass, outer = np.multiply.outer(m, n), np.multiply.outer
    error = outer(np.abs(m), n_error) + outer(m_error, np.abs(n) + n_error)
    error += EPS * np.abs(mass)
    both = np.array([np.abs(np.subtract.outer(r, s)), np.add.outer(r, s)])
    radii, index = np.unique(both, return_inverse=True)
    masses, errors = (
        np.bincount(index.ravel(), np.tile(0.5 * x.ravel(), 2)) for x in (mass, error)
    )
    return _keep_large(radii, masses, errors, _LEAST_SHARE)


def _keep_large(
    radii: NDArray[Any], masses: NDArray[Any], errors: NDArray[Any], share: float
) -> tuple[Atom, ...]:
    """Atoms above a share of the absolute mass; the error of the first includes the others."""
    small = np.abs(masses) < share * np.abs(masses).sum()
    errors[np.flatnonzero(~small)[0]] += np.sum((np.abs(masses) + errors)[small])
    kept = zip(radii[~small], masses[~small], errors[~small], strict=True)
    return tuple(Atom(*map(float, row)) for row in kept)


def fourier_atoms(expr: sympy.Expr) -> tuple[Atom, ...] | None:
    """The cosine series of an even, periodic, analytic formula in Z as atoms; None for others.

    The error of the first atom includes the atoms left out.

    Examples
    --------
    >>> atoms = fourier_atoms(1 / (2 - sympy.cos(Z)))
    >>> bool(abs(atoms[3].mass - 2 / 3**0.5 * (2 - 3**0.5) ** 3) < 1e-16)
    True
    """
    if is_trigonometric(expr) and not is_periodic(expr):
        raise _no_route(
            f"{expr} has incommensurable periods and is no product of periodic formulas:"
        )
    if not (is_periodic(expr) and _is_analytic(expr)) or expr.subs(Z, -Z) != expr:
        return None
    frequency = _base_frequency(expr)
    # As a function of x = v z, the formula has the period 2 pi.
    k = analytic_continuation(expr.subs(Z, Z / frequency), Z)
    for count in _COUNTS:
        check_time()
        with working_precision(_BITS):
            step = 2 * flint.arb.pi() / count
            values = [k.to_accuracy(flint.acb(step * j), _BITS).real for j in range(count // 2 + 1)]
        if not all(value.is_finite() for value in values):
            break
        masses = _find_coefficients(values)
        # The second half of the coefficients bounds both truncation and aliasing.
        left_out = float(np.abs(masses[count // 4 :]).sum())
        if left_out <= _NEGLIGIBLE * np.abs(masses).sum():
            kept = masses[: count // 4]
            errors = EPS * np.abs(kept) + 2.0 * left_out
            errors[0] += left_out
            radii = float(frequency) * np.arange(kept.size)
            return _keep_large(radii, kept, errors, _NEGLIGIBLE)
    raise _no_route(
        f"The Fourier series of {expr} has more than {_COUNTS[-1] // 4} terms above rounding, or "
        "a pole is on the line. You can:",
    )


def _no_route(
    reason: str, advice: str = "make a finite measure for the distances in your data (design)."
) -> NoRouteError:
    """The error of a kernel that this route cannot handle, with advice."""
    at_shell = "'spectra design' makes a finite measure for the distances in your data."
    return NoRouteError(reason, in_python=advice, at_shell=at_shell)


def _is_analytic(expr: sympy.Expr) -> bool:
    """Whether a formula consists of entire functions, sums, products and integer powers."""
    for node in sympy.preorder_traversal(expr):
        if not node.has(Z) or node == Z or node.is_Add or node.is_Mul or node.func in _ENTIRE:
            continue
        if not (node.is_Pow and node.exp.is_Integer):
            return False
    return True


def _base_frequency(expr: sympy.Expr) -> sympy.Expr:
    """The largest frequency of which all frequencies in a formula are multiples."""
    frequencies = [sympy.Abs(rate) for rate in frequencies_of(expr)]
    ratios = [sympy.nsimplify(f / frequencies[0]) for f in frequencies]
    return frequencies[0] * reduce(sympy.gcd, ratios)


def _find_coefficients(values: list[Ball]) -> FloatArray:
    """The coefficients of cos(n x) from values at equal steps from x = 0 to pi."""
    half = len(values) - 1
    with working_precision(_BITS):
        period = [flint.acb(v) for v in [*values, *values[half - 1 : 0 : -1]]]
        sums = [float((s.real / half).mid()) for s in flint.acb.dft(period)[: half + 1]]
    return np.array([0.5 * sums[0], *sums[1:]])
