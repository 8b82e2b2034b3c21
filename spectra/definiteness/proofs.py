"""In which dimensions a kernel is proved to be positive definite, and by which theorem."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, islice

import sympy
from sympy import Expr

from spectra.definiteness.closed_forms import (
    Proof,
    prove_askey,
    prove_damped_cosine,
    rational_spectrum_dimension,
    spline_dimension,
)
from spectra.definiteness.monotone import is_completely_monotone
from spectra.definiteness.polya import hat_mixture_dimension, is_nonnegative
from spectra.formula.callables import Opaque
from spectra.formula.expansions.exact_numbers import is_zero, sign
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import U, Z
from spectra.formula.pieces import Piece, factorize
from spectra.kernels.catalogue import DIMENSION, catalogue
from spectra.kernels.great_circle import function_of_angle
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.periodic import is_trigonometric
from spectra.singularities.power_series import (
    DimensionRules,
    has_nonnegative_taylor_series,
    value_or_none,
)
from spectra.singularities.results import LocalAnalysis

__all__ = ["Proof", "proved_on_space", "proved_on_sphere"]

#: Limit on the ways to write a product as a compactly supported kernel times another one.
_MOST_CHOICES = 8
#: The largest order of a spherical Bessel function that is recognised in sines and cosines.
_LARGEST_ORDER = 4
#: Compact kernels of the catalogue whose largest dimensions, 2 and 3, no rule here proves.
_CATALOGUE_MODELS = ("circular", "cubic")
_ZERO = sympy.Integer(0)


@lru_cache(maxsize=200)
def proved_on_space(
    kernel: Kernel, analysis: LocalAnalysis, *, quick: bool = False
) -> Proof | None:
    """The strongest proof for R^d by the rules of this package, or None; ``quick``: by some."""
    pieces = _pieces_with_support(kernel, analysis)
    if not pieces or any(p.expr.has(Opaque) for p in pieces) or not _is_bounded(analysis):
        return None
    is_unlimited = all(p.support is sympy.oo for p in pieces)
    if is_unlimited and all(is_completely_monotone(p.expr) for p in pieces):
        reason = "It is completely monotone in z^2: positive definite in every dimension."
        return math.inf, reason, True
    if len(pieces) == 1:
        piece = pieces[0]
        proof = prove_damped_cosine(piece.expr) if is_unlimited else prove_askey(piece)
        if proof is not None:
            return proof
    dims: dict[str, float] = {
        "It is made of positive definite functions by sums, products and power series": min(
            _piece_dimension(p) for p in pieces
        ),
        "Its spectrum is a nonnegative trigonometric polynomial, times a power of w": (
            spline_dimension(analysis)
        ),
    }
    rational = None
    if is_unlimited and not quick:
        rational = rational_spectrum_dimension(sympy.Add(*(p.expr for p in pieces)))
        dims["Its spectrum is a nonnegative rational function"] = rational or 0
    if rational is None and not quick:  # derivatives of sums with a rational spectrum are slow
        reason = "It is a mixture of convolution squares of balls, by a criterion of Polya's type"
        dims[reason] = hat_mixture_dimension(analysis)
    reason, dim = max(dims.items(), key=lambda item: item[1])
    where = "in every dimension" if dim == math.inf else f"for d <= {dim}"
    return (dim, f"{reason}: positive definite {where}.", False) if dim else None


def _is_bounded(analysis: LocalAnalysis) -> bool:
    """Whether the limit at 0 is finite, and no requirement excludes all dimensions."""
    requirements = (r for point in analysis.points for r in point.requirements)
    return analysis.origin.limit is not None and all(r.dim_bound != 0 for r in requirements)


def _pieces_with_support(kernel: Kernel, analysis: LocalAnalysis) -> tuple[Piece, ...]:
    """The pieces without Max and the like: Max(1 - z, 0) becomes 1 - z with the support 1."""
    exprs = analysis.exprs
    if any(p.support is not sympy.oo for p in kernel.pieces) or analysis.gaps:
        return kernel.pieces
    if len(exprs) == 2 and exprs[-1] == 0:
        return (Piece(analysis.radii[0][0], exprs[0]),)
    return (Piece(sympy.oo, exprs[0]),) if len(exprs) == 1 else kernel.pieces


# --- on R^d: each function returns the largest dimension for which it has a proof; 0 if none ------


@lru_cache(maxsize=500)
def _piece_dimension(piece: Piece) -> float:
    if piece.support is not sympy.oo:
        return _compact_dimension(piece)
    dim, terms = _space_dimension(piece.expr), sympy.Add.make_args(piece.expr)
    if dim or len(terms) == 1 or not piece.expr.has(sympy.Heaviside, sympy.Max, sympy.Min):
        return dim
    # Terms of compact support, written with Max or Heaviside, are proved as separate kernels.
    kernels = [Kernel((Piece(sympy.oo, term),)) for term in terms]
    return min(_piece_dimension(p) for k in kernels for p in _pieces_with_support(k, analyse(k)))


def _compact_dimension(piece: Piece) -> float:
    """Write the piece as a kernel of compact support times one of unlimited support; prove both."""
    factors = sympy.Mul.make_args(factorize(piece.expr))
    polynomials = [f for f in factors if f.has(Z) and f.as_base_exp()[0].is_polynomial(Z)]
    best = _compact_factor_dimension(piece)
    if not polynomials:
        return best
    nonzero_at_end = [f for f in polynomials if not is_zero(f.subs(Z, piece.support))]
    choices = (c for n in range(len(nonzero_at_end) + 1) for c in combinations(nonzero_at_end, n))
    for choice in islice(choices, _MOST_CHOICES):
        compact = sympy.Mul(*(f for f in polynomials if f not in choice))
        other = sympy.Mul(*(f for f in factors if f not in polynomials or f in choice))
        dim = _compact_factor_dimension(Piece(piece.support, compact))
        best = max(best, min(dim, _space_dimension(other)) if dim else 0)
    return best


def _compact_factor_dimension(piece: Piece) -> float:
    """Prove an Askey function or its integrals, a catalogue model, or a hat mixture (``polya``)."""
    proof = prove_askey(piece)
    if proof is not None:
        largest_dim, *_ = proof
        return largest_dim
    return max(_model_dimension(piece), hat_mixture_dimension(analyse(Kernel((piece,)))))


def _model_dimension(piece: Piece) -> int:
    """The largest d of a catalogue model of which the piece is a positive multiple; 0 for none."""
    c = value_at_zero(piece.expr)
    if c is None or not c.is_positive:
        return 0
    for name in _CATALOGUE_MODELS:
        model = catalogue[name](length=1).pieces[0].expr.subs(Z, Z / piece.support)
        if sympy.expand(piece.expr - c * model) == 0:
            condition = catalogue.entries[name].positive_definite_for()
            return max(d for d in range(1, 9) if condition.subs(DIMENSION, d) == sympy.true)
    return 0


def _space_dimension(expr: Expr) -> float:
    expr = expr.replace(sympy.acos, lambda g: sympy.pi / 2 - sympy.asin(g))
    dim = _SPACE_RULES(expr)
    rewritten = expr.replace(  # sin(a)^(2n) = ((1 - cos(2a))/2)^n
        lambda e: e.is_Pow and e.base.func == sympy.sin and e.exp.is_even,
        lambda e: ((1 - sympy.cos(2 * e.base.args[0])) / 2) ** (e.exp / 2),
    )
    return dim if rewritten == expr else max(dim, _SPACE_RULES(rewritten))


def _base_case_dimension(expr: Expr) -> float:
    """Prove a completely monotone function, a cosine, or a product with a mean of plane waves."""
    if is_completely_monotone(expr):
        return math.inf
    if expr.func == sympy.cos and not (expr.args[0] / Z).has(Z):
        return 1
    best = 0.0
    waves, other = _split_waves(expr)
    if waves.has(Z) and other.has(Z):
        best = min(_SPACE_RULES(waves), _SPACE_RULES(other))
    for mean, dim in _plane_wave_means(expr):
        best = max(best, min(dim, _SPACE_RULES(sympy.powsimp(sympy.together(expr / mean)))))
    return best


def _split_waves(product: Expr) -> tuple[Expr, Expr]:
    """The product of the trigonometric factors, such as exp(cos(z)), and that of the others."""
    factors: list[Expr] = []
    for f in sympy.Mul.make_args(product):
        terms = sympy.Add.make_args(sympy.expand(f.args[0])) if f.func == sympy.exp else ()
        factors += [sympy.exp(term) for term in terms] or [f]
    waves = [f for f in factors if is_trigonometric(f)]
    return sympy.Mul(*waves), sympy.Mul(*(f for f in factors if f not in waves))


def _plane_wave_means(product: Expr) -> Iterator[tuple[Expr, float]]:
    r"""Find factors that are means of plane waves, or cosines times a Gaussian; with the largest d.

    :math:`J_\nu(az)/z^\nu` is the mean of plane waves in R^(2 nu + 2), :math:`\sin(az)/z` of R^3
    (I. J. Schoenberg, Metric spaces and completely monotone functions, Ann. Math. 39, 1938).
    The spectrum of :math:`e^{-az^2}\cos(bz)` in R^3 is a positive multiple of
    :math:`w - b\tanh(bw/(2a))`, which is nonnegative for :math:`b^2 \le 2a`, times
    :math:`e^{-w^2/(4a)} \cosh(bw/(2a))/w`.
    """
    for node, order in _spherical_bessels(product):
        yield node / Z ** (2 * order + 1), 2 * order + 3
    rates = [-sympy.expand(f.args[0]).coeff(Z, 2) for f in product.atoms(sympy.exp)]
    for factor in sympy.Mul.make_args(product):
        base, power = factor.as_base_exp()
        if base.func not in (sympy.sin, sympy.cos, sympy.besselj) or (base.args[-1] / Z).has(Z):
            continue
        if not (power.is_Integer and power > 0):
            continue
        if base.func == sympy.sin:
            yield (base / Z) ** power, 3
        elif base.func == sympy.besselj and base.args[0] >= -sympy.S.Half:
            order = base.args[0]
            yield (base / Z**order) ** power, int(sympy.floor(2 * order + 2))
        elif base.func == sympy.cos:
            for rate in (r for r in rates if r.is_positive):
                # The Gaussian exp(-rate z^2) is divided among the ``power`` equal cosines.
                if sign(2 * rate / power - (base.args[0] / Z) ** 2) >= 0:
                    yield sympy.exp(-rate * Z**2) * factor, 3


def _spherical_bessels(product: Expr) -> Iterator[tuple[Expr, int]]:
    """Find factors c z^(n+1) j_n(az), c > 0, n >= 1, such as sin(z) - z cos(z), with n."""
    sums = [f for f in sympy.Mul.make_args(sympy.together(product)) if f.is_Add]
    for factor, wave in ((f, w) for f in sums for w in f.atoms(sympy.sin)):
        x = wave.args[0]
        if (x / Z).has(Z):
            continue
        for n in range(1, _LARGEST_ORDER + 1):
            multiple = sympy.expand_func(sympy.jn(n, Z)).subs(Z, x) * Z ** (n + 1)
            ratio = factor.coeff(wave).subs(Z, 0) / sympy.expand(multiple).coeff(wave).subs(Z, 0)
            if ratio.is_positive and sympy.expand(factor - ratio * multiple) == 0:
                yield factor, n


_SPACE_RULES = DimensionRules(Z, _base_case_dimension, lru_cache(maxsize=2000)(value_at_zero))


# --- on the sphere --------------------------------------------------------------------------


def proved_on_sphere(kernel: Kernel, dim: int) -> str | None:
    """Why a kernel is positive definite on the unit sphere of R^dim; None if that is not proved.

    A formula that is positive definite on R^d proves it, even if the kernel ends at a support >= 2:
    distances are at most 2.  Nonnegative coefficients of the powers of u = <x, y> prove it, too.
    """
    if any(p.expr.has(Opaque) or value_at_zero(p.expr) is None for p in kernel.pieces):
        return None  # without a finite limit at z = 0, as 1/z and, for z = |x - y|, 1/(1 - u)
    if kernel.zonal is None:
        unlimited = (sympy.oo if sign(p.support - 2) >= 0 else p.support for p in kernel.pieces)
        pieces = (Piece(end, p.expr) for end, p in zip(unlimited, kernel.pieces, strict=True))
        proved_dim = min(map(_piece_dimension, pieces), default=0)
    elif has_nonnegative_taylor_series(kernel.zonal):
        return "Its power series in u has nonnegative coefficients."
    else:
        proved_dim = _SPHERE_RULES(kernel.zonal)
    if proved_dim >= dim:
        return "It is made of functions that are positive definite on the sphere."
    of_angle = function_of_angle(kernel).pieces
    reasons = [reason for p in of_angle if (reason := _prove_by_angle(p, dim))]
    return " ".join(dict.fromkeys(reasons)) if len(reasons) == len(of_angle) else None


@lru_cache(maxsize=200)
def _prove_by_angle(piece: Piece, dim: int) -> str:
    """Why a function f of the angle is positive definite on the sphere of R^dim; empty if unproved.

    Completely monotone functions of the angle are positive definite on every sphere, and those that
    are positive definite on R^3 (R) and 0 beyond pi on that of R^4 (R^2) (T. Gneiting, Strictly and
    non-strictly positive definite functions on spheres, Bernoulli 19, 2013, theorems 3 and 7).
    """
    if piece.support < sympy.pi or (piece.support == sympy.pi and not piece.expr.subs(Z, sympy.pi)):
        if dim <= 4 and _piece_dimension(piece) >= (3 if dim > 2 else 1):
            return "It is positive definite on R^3 as a function of the angle, and 0 beyond pi."
        return ""
    if is_completely_monotone(piece.expr.subs(Z, Z**2)):
        return "It is completely monotone in the angle: positive definite on every sphere."
    if dim <= 4 and piece.expr.is_polynomial(Z) and _has_nonnegative_sine_series(piece.expr):
        return "It is a polynomial in the angle with shares >= 0 on the sphere of R^4."
    return ""


def _has_nonnegative_sine_series(f: Expr) -> bool:
    r"""Whether a polynomial of the angle has nonnegative shares on the sphere of R^4.

    They are positive multiples of :math:`a_n - a_{n+2}`, :math:`a_n = \int_0^\pi f(z) \cos(nz) dz`,
    which by partial integration are a polynomial in :math:`y = n^{-2}` for even n, one for odd n.
    """
    mean, start = sympy.integrate(f, (Z, 0, sympy.pi)), []
    for parity in (1, -1):
        terms, derivative, power = [], f.diff(Z), Z
        while derivative != 0:
            terms.append((parity * derivative.subs(Z, sympy.pi) - derivative.subs(Z, 0)) * power)
            derivative, power = derivative.diff(Z, 2), -power * Z
        of_y = sympy.expand(sympy.Add(*terms))
        start.append(of_y.subs(Z, sympy.Rational(1, 4)))
        if not is_nonnegative(of_y.diff(Z), _ZERO, sympy.Rational(5 - 3 * parity, 8)):
            return False
    return bool(sign(mean - start[0]) >= 0)


def _sphere_base_case_dimension(expr: Expr) -> float:
    if expr == U or has_nonnegative_taylor_series(expr):
        return math.inf
    return _space_dimension(sympy.powdenest(sympy.expand(expr.subs(U, 1 - Z**2 / 2)), force=True))


_SPHERE_RULES = DimensionRules(
    U, _sphere_base_case_dimension, lambda expr: value_or_none(expr.subs(U, 1))
)
