"""In which dimensions a kernel is proved to be positive definite, and by which theorem."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, islice

import sympy

from spectra.formula.callables import Opaque
from spectra.formula.expansions.exact_numbers import is_zero, sign
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import U, Z
from spectra.kernels.catalogue import DIMENSION, catalogue
from spectra.kernels.kernel import Kernel
from spectra.singularities.definiteness.closed_forms import (
    largest_of_damped_cosine,
    largest_of_edge,
    largest_of_rational_spectrum,
)
from spectra.singularities.definiteness.monotone import is_completely_monotone
from spectra.singularities.definiteness.polya import hat_dimension
from spectra.singularities.local import analyse
from spectra.singularities.periodic import is_of_waves
from spectra.singularities.places import LocalAnalysis
from spectra.singularities.power_series import closure, finite, has_nonnegative_taylor_series

__all__ = ["Proof", "proved_on_space", "proved_on_sphere"]

#: Ways to split a product into what ends and what does not.
_MOST_CHOICES = 8
#: Models of the catalogue that no rule here proves.
_MODELS = ("circular", "cubic")


#: Positive definite on R^d for every d up to the first, why, and whether for no other d.
Proof = tuple[float, str, bool]


@lru_cache(maxsize=200)
def proved_on_space(kernel: Kernel, analysis: LocalAnalysis) -> Proof | None:
    """The strongest proof for R^d that a rule here gives, or None."""
    pieces = _resolved(kernel, analysis)
    if not pieces or any(p.expr.has(Opaque) for p in pieces) or not _is_bounded(analysis):
        return None
    if all(p.support is sympy.oo and is_completely_monotone(p.expr) for p in pieces):
        text = "It is completely monotone in z^2: positive definite in every dimension."
        return math.inf, text, True
    if len(pieces) == 1:
        (piece,) = pieces
        endless = piece.support is sympy.oo
        known = largest_of_damped_cosine(piece.expr) if endless else largest_of_edge(piece)
        if known is not None:
            return *known, True
    shown: dict[str, float] = {
        "It is made of positive definite functions by sums, products and power series": min(
            _of_piece(p) for p in pieces
        ),
        "It is a mixture of convolution squares of balls, by Polya's criterion or its like": (
            hat_dimension(analysis)
        ),
    }
    if all(p.support is sympy.oo for p in pieces):
        total = sympy.Add(*(p.expr for p in pieces))
        reason = "Its spectrum is a nonnegative rational function"
        shown[reason] = largest_of_rational_spectrum(total)
    reason = max(shown, key=lambda text: shown[text])
    dim = shown[reason]
    where = "in every dimension" if dim == math.inf else f"for d <= {dim}"
    return (dim, f"{reason}: positive definite {where}.", False) if dim else None


def _is_bounded(analysis: LocalAnalysis) -> bool:
    requirements = (r for place in analysis.places for r in place.requirements)
    return analysis.origin.limit is not None and all(r.bound != 0 for r in requirements)


def _resolved(kernel: Kernel, analysis: LocalAnalysis) -> tuple[Piece, ...]:
    """The pieces; of one formula that vanishes beyond a single kink, the part before it."""
    exprs = analysis.exprs
    vanishes = len(exprs) == 2 and not analysis.gaps and exprs[-1] == 0
    if vanishes and all(p.support is sympy.oo for p in kernel.pieces):
        return (Piece(analysis.radii[0][0], exprs[0]),)
    return kernel.pieces


# --- on R^d ---------------------------------------------------------------------------------


@lru_cache(maxsize=500)
def _of_piece(piece: Piece) -> float:
    if piece.support is not sympy.oo:
        return _of_ball(piece)
    whole, terms = _on_space(piece.expr), sympy.Add.make_args(piece.expr)
    if whole or len(terms) == 1 or not piece.expr.has(sympy.Heaviside, sympy.Max, sympy.Min):
        return whole
    # Summands that end somewhere are proved like kernels of their own.
    kernels = [Kernel((Piece(sympy.oo, term),)) for term in terms]
    return min(_of_piece(p) for k in kernels for p in _resolved(k, analyse(k)))


def _of_ball(piece: Piece) -> float:
    """What ends at a radius, times what needs no end: a factor may belong to either side."""
    factors = sympy.Mul.make_args(sympy.factor(piece.expr))
    polynomials = [f for f in factors if f.has(Z) and f.as_base_exp()[0].is_polynomial(Z)]
    best = _of_end(piece)
    if not polynomials:
        return best
    free = [f for f in polynomials if not is_zero(f.subs(Z, piece.support))]
    choices = (c for n in range(len(free) + 1) for c in combinations(free, n))
    for choice in islice(choices, _MOST_CHOICES):
        ends = sympy.Mul(*(f for f in polynomials if f not in choice))
        lasting = sympy.Mul(*(f for f in factors if f not in polynomials or f in choice))
        shown = _of_end(Piece(piece.support, ends))
        best = max(best, min(shown, _on_space(lasting)) if shown else 0)
    return best


def _of_end(piece: Piece) -> float:
    """What ends at a radius: Askey's function and integrals of it, a model, a mixture of hats."""
    known = largest_of_edge(piece)
    if known is not None:
        return known[0]
    return max(_of_model(piece), hat_dimension(analyse(Kernel((piece,)))))


def _of_model(piece: Piece) -> int:
    """What the catalogue knows of a positive multiple of a model that ends at the same radius."""
    c = value_at_zero(piece.expr)
    if c is None or not c.is_positive:
        return 0
    for name in _MODELS:
        model = catalogue[name](length=piece.support).pieces[0].expr
        if sympy.expand(piece.expr - c * model) == 0:
            condition = catalogue.entries[name].positive_definite_for()
            return max(d for d in range(1, 9) if condition.subs(DIMENSION, d) == sympy.true)
    return 0


def _on_space(expr: sympy.Expr) -> float:
    expr = expr.replace(sympy.acos, lambda g: sympy.pi / 2 - sympy.asin(g))
    plain = _SPACE(expr)
    rewritten = expr.replace(_is_even_sine, _with_double_angle)
    return plain if rewritten == expr else max(plain, _SPACE(rewritten))


def _is_even_sine(e: sympy.Expr) -> bool:
    return bool(e.is_Pow and e.base.func == sympy.sin and e.exp.is_even)


def _with_double_angle(e: sympy.Expr) -> sympy.Expr:
    return ((1 - sympy.cos(2 * e.base.args[0])) / 2) ** (e.exp / 2)


def _atom(expr: sympy.Expr) -> float:
    """Formulas that are positive definite of themselves, alone or beside another factor."""
    if is_completely_monotone(expr):
        return math.inf
    if expr.func == sympy.cos and not (expr.args[0] / Z).has(Z):
        return 1
    best = 0.0
    waves, decaying = _split_waves(expr)
    if waves.has(Z) and decaying.has(Z):
        best = min(_SPACE(waves), _SPACE(decaying))
    for part, dim in _plane_wave_means(expr):
        best = max(best, min(dim, _SPACE(sympy.powsimp(expr / part))))
    return best


def _split_waves(product: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """The factors that are functions of waves alone, such as exp(cos(z)), and the others."""
    factors: list[sympy.Expr] = []
    for f in sympy.Mul.make_args(product):
        terms = sympy.Add.make_args(sympy.expand(f.args[0])) if f.func == sympy.exp else ()
        factors += [sympy.exp(term) for term in terms] or [f]
    waves = [f for f in factors if is_of_waves(f)]
    return sympy.Mul(*waves), sympy.Mul(*(f for f in factors if f not in waves))


def _plane_wave_means(product: sympy.Expr) -> Iterator[tuple[sympy.Expr, float]]:
    r"""Factors that are means of plane waves, alone or with a Gaussian, and their dimensions.

    :math:`J_\nu(az)/z^\nu` is the mean of plane waves in R^(2 nu + 2), :math:`\sin(az)/z` of R^3
    (I. J. Schoenberg, Metric spaces and completely monotone functions, Ann. Math. 39, 1938).
    The spectrum of :math:`e^{-az^2}\cos(bz)` in R^3 is a positive multiple of
    :math:`w - b\tanh(bw/(2a))`, which is nonnegative for :math:`b^2 \le 2a`.
    """
    half = sympy.Rational(1, 2)
    squares = [-sympy.expand(f.args[0]).coeff(Z, 2) for f in product.atoms(sympy.exp)]
    for factor in sympy.Mul.make_args(product):
        base, power = factor.as_base_exp()
        if base.func not in (sympy.sin, sympy.cos, sympy.besselj) or (base.args[-1] / Z).has(Z):
            continue
        if not (power.is_Integer and power > 0):
            continue
        if base.func == sympy.sin:
            yield (base / Z) ** power, 3
        elif base.func == sympy.besselj and base.args[0] >= -half:
            order = base.args[0]
            yield (base / Z**order) ** power, int(sympy.floor(2 * order + 2))
        elif base.func == sympy.cos:
            for rate in (r for r in squares if r.is_positive):
                # Each of the waves has its share of the Gaussian.
                if sign(2 * rate / power - (base.args[0] / Z) ** 2) >= 0:
                    yield sympy.exp(-rate * Z**2) * factor, 3


_SPACE = closure(Z, _atom, lru_cache(maxsize=2000)(value_at_zero))


# --- on the sphere --------------------------------------------------------------------------


def proved_on_sphere(kernel: Kernel, dim: int) -> str | None:
    """Why a kernel is positive definite on the unit sphere of R^dim, where that is proved.

    The formula counts on z <= 2 only: one that is positive definite on R^d without its end is so
    on the sphere, and so are power series in u = <x, y> with nonnegative coefficients.
    """
    if any(p.expr.has(Opaque) for p in kernel.pieces):
        return None
    if kernel.zonal is not None and has_nonnegative_taylor_series(kernel.zonal):
        return "Its power series in u has nonnegative coefficients."
    shown = (
        _SPHERE(kernel.zonal)
        if kernel.zonal is not None
        else min((_of_piece(_unended(p)) for p in kernel.pieces), default=0)
    )
    if shown >= dim:
        return "It is made of functions that are positive definite on the sphere."
    return None


def _unended(piece: Piece) -> Piece:
    return Piece(sympy.oo, piece.expr) if sign(piece.support - 2) >= 0 else piece


def _sphere_atom(expr: sympy.Expr) -> float:
    if expr == U or has_nonnegative_taylor_series(expr):
        return math.inf
    return _on_space(sympy.powdenest(sympy.expand(expr.subs(U, 1 - Z**2 / 2)), force=True))


_SPHERE = closure(U, _sphere_atom, lambda expr: finite(expr.subs(U, 1)))
