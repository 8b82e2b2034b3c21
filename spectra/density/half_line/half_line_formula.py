r"""A formula that is analytic for z > 0: its values on rays, and its expansions at both ends.

With sines, cosines and Bessel functions it is a sum of waves,

.. math:: k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)

with amplitudes :math:`f_b` that do not oscillate: cosines and sines are exponentials, and
:math:`J_\nu = (H^{(1)}_\nu + H^{(2)}_\nu)/2`.  :math:`e^{ibz} f_b` decays on rays in the upper
half-plane and its conjugate on rays in the lower one, but their sum on neither.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, lru_cache
from math import ceil

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, working_precision
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.ball_function import BallFunction, HankelAmplitude, analytic_continuation
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import Expansion
from spectra.formula.functions import singular_part
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analytic_intervals

__all__ = ["HalfLineFormula", "PowerTerms", "Term", "expand_in_powers", "expand_waves",
           "read_waves", "split_limit"]  # fmt: skip

# Working precisions are multiples of this number of bits: a formula is compiled once for each.
_BITS_STEP = 64
# The argument has this many bits more than the value.
_SPARE_BITS = 16
# How often a value is computed, each time with twice as many bits.
_MOST_TRIALS = 6
# The values of log z at which the scale is searched for.
_SURVEY = np.arange(-60.0, 60.0, 0.25)
# A kernel falls faster than powers if it is below 2^-200 at three neighbors among these values of
# log z - log_scale.
_FAR, _FAR_BITS = np.arange(5.0, 9.0, 0.5), 200
# Exponents are kept up to 12 above the first, up to 5 if that fails, or up to 24 if there are fewer
# than _FEW_TERMS terms.  With more terms an expansion is accurate farther from its point.
_WINDOWS = (12, 5)
_WIDE_WINDOW = 24
_FEW_TERMS = 8

#: A term c t^a log(1/t)^q of a kernel as (a, q, c), in exact numbers; t = z at zero and t = 1/z at
#: infinity.
Term = tuple[sympy.Expr, int, sympy.Expr]
#: Terms of a kernel at one end, the largest first.
PowerTerms = tuple[Term, ...]
_WAVES = (sympy.sin, sympy.cos, sympy.besselj)
# Higher powers of sines, cosines and Bessel functions are not multiplied out.
_LARGEST_POWER = 12


def expand_in_powers(expr: sympy.Expr, point: sympy.Expr) -> PowerTerms:
    """Expand a formula that neither oscillates nor grows exponentially, at 0 or infinity."""
    return _read_terms(_expand_one_sided(expr, point, plain=True), expr, point)


def _read_terms(expansion: Expansion, expr: sympy.Expr, point: sympy.Expr) -> PowerTerms:
    """The terms of an expansion that does not oscillate; error messages name ``expr``."""
    if point == 0 and any(phase.terms for phase, _ in expansion.parts):
        raise NoRouteError(
            f"The formula {expr} has an essential singularity at z = 0, where the numeric route "
            "takes powers and logarithms only. Design a finite measure for your range of distances "
            "(design)."
        )
    terms = []
    for (a, minus_q), c in expansion.as_series().terms:
        q = -minus_q
        if not (q.is_Integer and q >= 0):
            raise NoRouteError(
                f"The formula {expr} has a logarithm to the power {q} at z = {point}, whose "
                "transform has no expansion in powers: the numeric route does not cover it. Design "
                "a finite measure for your range of distances (design)."
            )
        terms.append((a, int(q), c))
    return tuple(terms)


def _expand_one_sided(expr: sympy.Expr, point: sympy.Expr, *, plain: bool = False) -> Expansion:
    """Expand at a point; ``plain`` refuses formulas that oscillate or grow exponentially."""
    reason = ""
    for window in _WINDOWS:
        try:
            expanded = expand_at(expr, point, 1, window)
            few = plain and 1 < len(expanded.as_series().terms) < _FEW_TERMS
        except ExpansionError as error:
            reason = str(error)
            continue
        if few:
            with suppress(ExpansionError):
                expanded = expand_at(expr, point, 1, _WIDE_WINDOW)
        return expanded
    raise NoRouteError(
        f"The formula {expr} could not be expanded at z = {point} ({reason}), and the numeric "
        "route needs its decay and its smoothness. Give its values as a callable and state what it "
        "does at both ends (docs/callables.md), or design a finite measure for your range of "
        "distances (design)."
    )


def expand_waves(expr: sympy.Expr) -> tuple[PowerTerms, dict[sympy.Expr, Term]]:
    """Expand a formula at infinity.

    Returns
    -------
    plain : PowerTerms
        The terms that do not oscillate.
    slow_waves : dict
        The leading term of each wave that decays like a power, by ascending frequency b > 0: with
        the term (a, q, c) the formula has c z^-a log^q(z) exp(ibz) and its conjugate.
    """
    expansion = _expand_one_sided(expr, sympy.oo)
    slow_waves: dict[sympy.Expr, Term] = {}
    for phase, series in expansion.parts:
        if not phase.terms or phase.growth < 0 or not series.terms:
            continue
        # exp(phase) is a wave if the phase is ib/t alone (t = 1/z), of order (-1, 0): no log t.
        (order, factor), *others = phase.terms
        b = factor / sympy.I
        is_wave = phase.growth == 0 and not others and order == (-1, 0) and b.is_real
        if not is_wave or any(not (q.is_Integer and q <= 0) for (_, q), _ in series.terms):
            raise NoRouteError(
                f"The formula {expr} oscillates or grows at infinity, and the numeric route takes "
                "only exp(ibz) times powers of z and whole powers of log z there. Design a finite "
                "measure for your range of distances."
            )
        if b.is_positive:
            (a, minus_q), c = series.terms[0]
            slow_waves[b] = a, -int(minus_q), c
    plain = expansion.with_parts((p, s) for p, s in expansion.parts if p.growth < 0 or not p.terms)
    return _read_terms(plain, expr, sympy.oo), dict(sorted(slow_waves.items()))


def read_waves(expr: sympy.Expr) -> dict[sympy.Expr, sympy.Expr]:
    """The amplitudes f_b of a formula in Z, by ascending frequency b >= 0; {} without waves.

    Examples
    --------
    >>> list(read_waves(sympy.sin(Z) ** 2 / Z**2))
    [0, 2]
    """
    if not expr.has(*_WAVES):
        return {}
    factors: _Factors = {}
    try:
        total = sympy.expand(_rewrite(expr, factors))
    except sympy.PolynomialError as error:
        raise NoRouteError(
            f"The formula {expr} oscillates and is no polynomial in sines, cosines and Bessel "
            f"functions ({error}): the numeric route cannot split it into waves. Design a finite "
            "measure for your range of distances."
        ) from error
    found: dict[sympy.Expr, sympy.Expr] = {}
    for term in sympy.Add.make_args(total):
        b, amplitude = sympy.S.Zero, sympy.S.One
        for base, power in term.as_powers_dict().items():
            frequency, factor = factors.get(base, (sympy.S.Zero, base))
            b, amplitude = b + power * frequency, amplitude * factor**power
        b = sympy.simplify(b) if b.has(sympy.Add) else b
        if not b.is_negative:
            found[b] = found.get(b, sympy.S.Zero) + amplitude
    if set(found) == {sympy.S.Zero}:
        return {}
    return dict(sorted(found.items(), key=lambda wave: float(wave[0].evalf(30))))


#: For each symbol, the frequency b and the amplitude f_b of the wave that it replaces.
_Factors = dict[sympy.Expr, tuple[sympy.Expr, sympy.Expr]]


def _rewrite(expr: sympy.Expr, factors: _Factors) -> sympy.Expr:
    """Rewrite a formula as a polynomial in symbols, each for a wave or for a smooth factor."""
    if not expr.has(*_WAVES):
        return _replace_by_symbol(sympy.S.Zero, expr, factors)
    if expr.is_Add or expr.is_Mul:
        return expr.func(*(_rewrite(part, factors) for part in expr.args))
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= _LARGEST_POWER:
        return _rewrite(expr.base, factors) ** expr.exp
    if isinstance(expr, _WAVES):
        return _rewrite_wave(expr, factors)
    raise sympy.PolynomialError(f"it has {expr}")


def _rewrite_wave(node: sympy.Expr, factors: _Factors) -> sympy.Expr:
    """Rewrite a sine, a cosine or a Bessel function of u = cz + ... as waves exp(+-icz)."""
    u = node.args[-1]
    if u.has(*_WAVES):
        raise sympy.PolynomialError(f"it has {node}")
    terms = {a: c for a, q, c in expand_in_powers(u, sympy.oo) if q == 0}
    c = terms.get(sympy.Integer(-1), sympy.S.Zero)
    if c == 0 or any(a.is_negative and a != -1 for a in terms):
        return _replace_by_symbol(sympy.S.Zero, node, factors)
    is_bessel = isinstance(node, sympy.besselj)
    if is_bessel and not (c.is_positive and node.args[0].is_real):
        raise sympy.PolynomialError(f"it has {node}")
    both = []
    for sign in (1, -1):
        amplitude = sympy.exp(sign * sympy.I * (u - c * Z))
        if is_bessel:
            amplitude *= HankelAmplitude(node.args[0], u, sign)
        both.append(_replace_by_symbol(sign * c, amplitude, factors))
    if isinstance(node, sympy.sin):
        return (both[0] - both[1]) / (2 * sympy.I)
    return (both[0] + both[1]) / 2


def _replace_by_symbol(b: sympy.Expr, amplitude: sympy.Expr, factors: _Factors) -> sympy.Expr:
    symbol = sympy.Dummy()
    factors[symbol] = b, amplitude
    return symbol


class HalfLineFormula:
    """A formula in Z that is continued analytically from the half-line."""

    def __init__(self, expr: sympy.Expr) -> None:
        self.expr = expr

    @cached_property
    def _continuation(self) -> BallFunction:
        return analytic_continuation(self.expr, Z)

    def value(self, s: float, angle: float, bits: int) -> Ball:
        """The value at exp(s + i angle) with an error below 2^-bits; nan if it is not found."""
        work = _BITS_STEP * ceil((max(bits, 0) + 40) / _BITS_STEP)
        for _ in range(_MOST_TRIALS):
            with working_precision(work + _SPARE_BITS):
                z = flint.acb(flint.arb(s), flint.arb(angle)).exp()
            value = self._continuation.at_precision(z, work)
            error = max(value.real.rad(), value.imag.rad())
            if value.is_finite() and error < flint.arb(2) ** -bits:
                return value
            work *= 2
        return flint.acb("nan")

    @cached_property
    def _singular_parts(self) -> list[BallFunction]:
        """Formulas that are infinite at the poles and branch points of this one."""
        nodes = sympy.preorder_traversal(self.expr)
        parts = {part for node in nodes if (part := singular_part(node)) is not None}
        return [analytic_continuation(part, Z) for part in parts if part.has(Z)]

    def is_analytic_on(self, s: float, half_s: float, angle: float, half_angle: float) -> bool:
        """Whether ball arithmetic proves that a box of s and angle has no pole or branch point."""
        with working_precision(_BITS_STEP):
            z = flint.acb(flint.arb(s, half_s), flint.arb(angle, half_angle)).exp()
        values = (part.at_precision(z, _BITS_STEP) for part in self._singular_parts)
        return all(value.is_finite() for value in values)

    def log_size(self, s: float, angle: float, bits: int = 60) -> float:
        """About log|k(exp(s + i angle))|: -inf if it is below 2^-bits, inf if it is not known."""
        size = abs(self.value(s, angle, bits + 2))
        if not size.is_finite():
            return np.inf
        return -np.inf if size.mid() < flint.arb(2) ** -bits else float(size.mid().log())

    @cached_property
    def log_scale(self) -> float:
        """The largest log z at which |k| is within a factor e of its largest value."""
        sizes = np.empty(0)
        for s in _SURVEY:
            sizes = np.append(sizes, self.log_size(float(s), 0.0))
            if sizes[-1] == np.inf:
                raise NoRouteError(
                    f"The formula {self.expr} has no value near z = {np.exp(s):.4g}: the numeric "
                    "route needs a formula that is analytic for z > 0. Write it as pieces with "
                    "support=..., or design a finite measure for your range of distances (design)."
                )
            # Stop after four negligible values, or ten units of log z (40 values) of small ones.
            if sizes.max() > -np.inf and sizes[-4:].max() == -np.inf:
                break
            if s > 0.0 and sizes[-40:].max() < sizes.max() - 1.0:
                break
        if sizes.max() == -np.inf:
            raise NoRouteError(
                f"The formula {self.expr} is negligible at all distances where it was sampled: its "
                "parts are too narrow to be found. Make a finite measure for the distances in your "
                "data (design), or leave the narrow part out."
            )
        return float(_SURVEY[np.flatnonzero(sizes > sizes.max() - 1.0)[-1]])

    @cached_property
    def value_at_zero(self) -> float:
        """The value at zero; nan if none is found."""
        found = value_at_zero(self.expr)
        return np.nan if found is None else float(found)

    @cached_property
    def expansion_at_zero(self) -> PowerTerms:
        """The terms of the expansion at zero."""
        return expand_in_powers(self.expr, sympy.Integer(0))

    @cached_property
    def _infinity(self) -> tuple[PowerTerms, dict[sympy.Expr, Term], dict[sympy.Expr, sympy.Expr]]:
        """The expansion without waves, the slow waves, and all amplitudes."""
        try:
            amplitudes = read_waves(self.expr)
            if amplitudes:
                return *expand_waves(self.expr), amplitudes
            return expand_in_powers(self.expr, sympy.oo), {}, {}
        except NoRouteError:
            if self._falls_fast():
                return (), {}, {}
            raise

    @property
    def expansion_at_infinity(self) -> PowerTerms:
        """The terms at infinity that do not oscillate; () if k falls faster than powers."""
        return self._infinity[0]

    @property
    def decay(self) -> float:
        """The formula without its waves falls like z^-decay; inf if faster than every power."""
        return next((float(a) for a, _, _ in self.expansion_at_infinity), np.inf)

    @property
    def slow_waves(self) -> dict[sympy.Expr, Term]:
        """The leading term of each slow wave, by its frequency."""
        return self._infinity[1]

    @property
    def amplitudes(self) -> dict[sympy.Expr, sympy.Expr]:
        """The amplitude of each frequency; that of b = 0 is the part that does not oscillate."""
        return self._infinity[2]

    def _falls_fast(self) -> bool:
        """Whether the formula falls faster than every power, as far as its values show."""
        try:
            sizes = [self.log_size(self.log_scale + s, 0.0, _FAR_BITS) for s in _FAR]
        except (FormulaError, NoRouteError):
            return False
        three = zip(sizes, sizes[1:], sizes[2:], strict=False)
        return any(max(sizes) == -np.inf for sizes in three)


@lru_cache(maxsize=64)
def split_limit(expr: sympy.Expr) -> tuple[sympy.Expr, HalfLineFormula]:
    """The limit of a formula at infinity, and the formula without it."""
    radii, exprs, unknown = analytic_intervals(Kernel((Piece(sympy.oo, expr),)))
    if unknown or radii:
        where = f"z = {radii[0]}" if radii else "a radius that was not located"
        raise NoRouteError(
            f"The formula {expr} changes at {where}: the numeric route on the half-line takes "
            "formulas that are analytic for z > 0. Write it as pieces with support=..., or design "
            "a finite measure for your range of distances."
        )
    formula = HalfLineFormula(exprs[0])
    terms = formula.expansion_at_infinity
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in terms):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    limit = next((c for a, q, c in terms if a == 0 and q == 0), sympy.Integer(0))
    if limit != 0:
        formula = HalfLineFormula(formula.expr - limit)
    if np.isnan(formula.value_at_zero):
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that is known.")
    return limit, formula
