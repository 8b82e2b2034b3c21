"""Radial and zonal kernels, made from formulas or Python functions.

A kernel is a finite sum of pieces.  A piece is a formula in z = |x - y| for z <= support and zero
beyond; its support is positive, and infinite by default.  The formulas of pieces with the same
support are added symbolically, so that terms cancel exactly.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
import sympy
from numpy.typing import ArrayLike
from sympy.core.function import AppliedUndef

from spectra.base.limits import stage, staged  # limit the processor time of a block or call
from spectra.base.numbers import FloatArray, real_array
from spectra.errors import FormulaError, ParameterError
from spectra.formula.callables import check_stated_properties, opaque_function
from spectra.formula.evaluate import numpy_function
from spectra.formula.one_sided_limits import limit_at, refuse_jump_at_zero, value_at_zero
from spectra.formula.parameters import exact_length, exact_parameter
from spectra.formula.parsing import Z, parse_formula
from spectra.formula.pieces import Piece, merge_pieces, zonal_forms
from spectra.kernels.composite import CompositeKernel, of_factor
from spectra.kernels.metrics import L1
from spectra.kernels.profile import Profile

__all__ = ["Kernel", "l1", "radial", "zonal"]

# Number of distances at which each formula of a new kernel is evaluated, to refuse complex values.
_CHECKED_DISTANCES = 61
# Values such as 0/0 are replaced by limits at no more than this many distances.
_MOST_LIMITS = 3


@dataclass(frozen=True, repr=False)
class Kernel(Profile):
    """A radial kernel k(z), z = |x - y|; make one with :func:`radial` or :func:`zonal`.

    Kernels are immutable, hashable, picklable and compare by their formulas.  Sums, differences
    and products of kernels and real numbers are kernels.

    Attributes
    ----------
    pieces : tuple of Piece
        Formulas, none of them zero, and the radii where they end, sorted by radius (see Piece).
    zonal : sympy expression or None
        The formula in u = <x, y> if the kernel is defined on the unit sphere.
    label : str
        The text that made the kernel, or its name in the catalogue; printed if it is not empty.

    Examples
    --------
    >>> k = radial("exp(-z**2/2)") - radial("exp(-z**2/200)")
    >>> k([0.0, 1.0])
    array([ 0.        , -0.38848182])
    """

    pieces: tuple[Piece, ...]
    zonal: sympy.Expr | None = None
    label: str = field(default="", compare=False)
    adds_up = True

    @property
    def is_zero(self) -> bool:
        """Whether the kernel has no pieces."""
        return not self.pieces

    @property
    def formula(self) -> str:
        """The kernel as text: formulas in z with their supports, or the formula in u."""
        if self.zonal is not None:
            return f"{self.zonal} at u = <x, y>"
        if not self.pieces:
            return "0"
        return " + ".join(
            str(p.expr) if p.support == sympy.oo else f"[{p.expr} on z <= {p.support}]"
            for p in self.pieces
        )

    @property
    def support(self) -> float:
        """The radius beyond which the kernel is zero (``inf`` if there is none)."""
        return max((float(p.support) for p in self.pieces), default=0.0)

    @cached_property
    @staged("finding the limit at z = 0")
    def at_zero(self) -> float:
        """k(0), the limit of k(z) as z falls to 0; a FormulaError if no finite limit is found."""
        values = [value_at_zero(piece.expr) for piece in self.pieces]
        if None in values:
            raise FormulaError(
                f"No finite limit of the kernel {self} at z = 0 was found. A kernel with a finite "
                "spectral measure has one: check the formula at z = 0."
            )
        return float(sympy.Add(*values))

    @cached_property
    def _functions(self) -> tuple[Callable[[FloatArray], FloatArray], ...]:
        """The formulas of the pieces as numpy functions of z."""
        return tuple(numpy_function(p.expr, Z, end=float(p.support)) for p in self.pieces)

    def _evaluate_piece(self, i: int, z: FloatArray) -> FloatArray:
        """Values of a piece at 0 < z <= its support; a limit, or nan, where the formula is 0/0."""
        piece, values = self.pieces[i], self._functions[i](z)
        for point in np.unique(z[np.isnan(values)])[:_MOST_LIMITS]:
            at_support = bool(point == float(piece.support))
            radius = piece.support if at_support else sympy.Rational(float(point))
            values[z == point] = limit_at(piece.expr, radius, both_sides=not at_support)
        return values

    @cached_property
    def slope(self) -> Kernel:
        """k'(z)/z as a function of z > 0; a ParameterError for a callable."""
        pieces = tuple(Piece(p.support, p.expr.diff(Z) / Z) for p in self.pieces)
        if any(p.expr.has(sympy.Derivative, sympy.Subs, AppliedUndef) for p in pieces):
            raise ParameterError(
                f"{self} has no formula to differentiate: write one, or fix its length scales."
            )
        return Kernel(pieces)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are left out: compiled functions cannot be pickled.
        return {"pieces": self.pieces, "zonal": self.zonal, "label": self.label}

    def __call__(self, z: ArrayLike) -> FloatArray:
        """Values k(z) at distances z >= 0; an array of the shape of z."""
        z = real_array(z, "z")
        if not np.all(z >= 0):
            raise ParameterError(
                f"A kernel has values at distances z >= 0, not at z = {z[~(z >= 0)].ravel()[0]}."
            )
        value = np.zeros_like(z)
        for i, piece in enumerate(self.pieces):
            inside = (z <= float(piece.support)) & (z > 0)
            value[inside] += self._evaluate_piece(i, z[inside])
        if np.any(z == 0):
            value[z == 0] = self.at_zero
        return value

    @overload
    def rescale(self, length: float | sympy.Expr) -> Kernel: ...

    @overload
    def rescale(self, length: Sequence[float] | FloatArray) -> CompositeKernel: ...

    def rescale(
        self, length: float | sympy.Expr | Sequence[float] | FloatArray
    ) -> Kernel | CompositeKernel:
        """The kernel k(z / length), which is radial even if k was zonal.

        With one length for each column of the data it is k(|(x - y) / length|), the kernel k of the
        data with each column divided by its length; with a matrix A, k(|A x - A y|).

        Examples
        --------
        >>> k = radial("exp(-z)")
        >>> k.rescale(2)([2.0]) == k([1.0])
        array([ True])
        >>> k.rescale([1.0, 20.0])([3.0, 80.0]) == k(5.0)
        np.True_
        """
        if not isinstance(length, sympy.Basic) and np.ndim(length):
            return self._scaled_columns(length)
        scale = exact_length(length)
        return _sum_pieces((p.support * scale, p.expr.subs(Z, Z / scale)) for p in self.pieces)

    def split_constant(self) -> tuple[float, Kernel]:
        """The pair (c, k / c) for the constant factor c of k; multiples of k share k / c."""
        split = [piece.expr.as_independent(Z, as_Add=False) for piece in self.pieces]
        constants = {constant for constant, _ in split}
        if len(constants) != 1 or constants == {1} or not all(rest.has(Z) for _, rest in split):
            return 1.0, self
        pieces = tuple(
            Piece(p.support, rest) for p, (_, rest) in zip(self.pieces, split, strict=True)
        )
        return float(constants.pop()), Kernel(pieces)

    def __add__(self, other: Any) -> Kernel:
        if (other := self._operand(other)) is None:
            return NotImplemented
        pieces = [(p.support, p.expr) for p in (*self.pieces, *other.pieces)]
        return _sum_pieces(pieces, zonal=_combine_zonal(self, other, sympy.Add))

    def __mul__(self, other: Any) -> Kernel:
        if (other := self._operand(other)) is None:
            return NotImplemented
        pieces = [
            (sympy.Min(p.support, q.support), p.expr * q.expr)
            for p in self.pieces
            for q in other.pieces
        ]
        return _sum_pieces(pieces, zonal=_combine_zonal(self, other, sympy.Mul))

    def _operand(self, other: Any) -> Kernel | None:
        """A radial kernel or a number as a :class:`Kernel`; None for an operand of another type."""
        if isinstance(other, Kernel):
            return other
        if not isinstance(other, numbers.Number | sympy.Basic | np.generic):
            return None
        value = exact_parameter("coefficient", other)
        # Distances between unit vectors are at most 2.
        piece = Piece(sympy.Integer(2) if self.is_zonal else sympy.oo, value)
        return Kernel((piece,) if value != 0 else (), value if self.is_zonal else None)


def _sum_pieces(
    pieces: Iterable[tuple[sympy.Expr, sympy.Expr]],
    *,
    zonal: sympy.Expr | None = None,
    label: str = "",
) -> Kernel:
    """The kernel that is the sum of pieces, which are pairs (support, formula in z)."""
    with stage("adding up the pieces of a kernel", of=label):
        return Kernel(merge_pieces(pieces), zonal, label)


def _combine_zonal(a: Kernel, b: Kernel, combine: type[sympy.Expr]) -> sympy.Expr | None:
    """The formula in u of a sum or a product; None unless both kernels are zonal."""
    return None if a.zonal is None or b.zonal is None else combine(a.zonal, b.zonal)


@staged("making a kernel", advice="simplify the formula, or pass a callable")
def radial(
    formula: str | sympy.Expr | Callable[..., Any],
    *,
    support: float | str | sympy.Expr | None = None,
    **parameters: Any,
) -> Kernel:
    """Make a radial kernel from a formula in z = |x - y| or a callable of z.

    Parameters
    ----------
    formula : str, sympy expression or callable
        A formula in ``z``.  Text is parsed with a whitelist, never executed.  A callable takes a
        distance or an array of distances.  Describe where it is not smooth and how it decays with
        keywords; see ``docs/callables.md``.
    support : number or str, optional
        Radius beyond which the kernel is zero; infinite by default.  Text such as "sqrt(2)" is the
        exact number.
    **parameters : numbers
        A value for every other symbol of the formula.  For a callable: ``edge`` (k behaves like
        (support - z)**edge at its support), ``breaks`` (other radii where k is not smooth, or a
        mapping from these to exponents; ``()`` for none), ``origin`` ("smooth" for a smooth
        function of z**2, else the lowest power of z at 0 that is not an even integer) and, if there
        is no support, ``decay`` ("gaussian", "exponential" or the exponent of a power of 1/z).

    Raises
    ------
    FormulaError
        If the text is not a valid formula, or its value is not real for 0 < z <= support.
    ParameterError
        If a parameter or the support is not a real number in its range.

    Examples
    --------
    >>> radial("(1 - z**2/a**2)**p", support=2, a=2, p=2)([0.0, 1.0, 3.0])
    array([1.    , 0.5625, 0.    ])
    >>> k = radial(lambda z: (1 - z)**3, support=1, edge=3, breaks=(), origin=1)
    >>> (2 * k.rescale(2))([0.0, 1.0])
    array([2.  , 0.25])
    """
    is_callable = callable(formula) and not isinstance(formula, type | Kernel | sympy.Basic)
    if isinstance(support, str):
        support = parse_formula(support, variable="z")
    radius = sympy.oo if support is None else exact_parameter("support", support)
    expr = None if is_callable else parse_formula(formula, variable="z", parameters=parameters)
    if not radius.is_extended_positive:
        raise ParameterError(
            f"The support of a kernel is a radius and must be positive; got {support}."
        )
    if expr is None:
        assert callable(formula)
        expr = opaque_function(formula, **check_stated_properties(radius, parameters))(Z)
    label = formula if isinstance(formula, str) and not parameters and support is None else ""
    return _check_values(_sum_pieces([(radius, expr)], label=label))


@staged("making a kernel", advice="simplify the formula")
def zonal(formula: str | sympy.Expr, **parameters: float | sympy.Expr) -> Kernel:
    """Make a kernel on the unit sphere from a formula in u = <x, y>.

    As a radial kernel it is the formula at u = 1 - z^2/2 for z <= 2, and zero beyond.

    Parameters
    ----------
    formula : str or sympy expression
        A formula in ``u``, real on -1 <= u <= 1.
    **parameters : numbers
        A value for every other symbol of the formula.

    Raises
    ------
    FormulaError
        If the text is not a valid formula, its value is not real for -1 <= u < 1, or it has no
        finite limit at u = 1.

    Examples
    --------
    >>> zonal("(1 + u)/2")([0.0, 2.0])
    array([1., 0.])
    """
    expr, radial = zonal_forms(parse_formula(formula, variable="u", parameters=parameters))
    label = formula if isinstance(formula, str) and not parameters else ""
    return _check_values(_sum_pieces([(sympy.Integer(2), radial)], zonal=expr, label=label))


def _check_values(kernel: Kernel) -> Kernel:
    """Return the kernel; a FormulaError if it has complex values or a jump at z = 0."""
    for i, piece in enumerate(kernel.pieces):
        if np.isinf(support := float(piece.support)):
            z = np.geomspace(1e-3, 1e3, _CHECKED_DISTANCES)
        else:
            z = support * np.linspace(0.0, 1.0, _CHECKED_DISTANCES)[1:]
        bad = np.isnan(kernel._evaluate_piece(i, z))
        if np.any(bad):
            raise FormulaError(
                f"The formula {piece.expr} has no real value at z = {z[bad][0]:.6g}. A kernel must "
                "be real on its whole domain: restrict it with support=... (if irrational, as text "
                'such as "sqrt(2)"), or correct the formula.'
            )
        refuse_jump_at_zero(piece.expr)
    return kernel


def l1(formula: str | sympy.Expr, **parameters: Any) -> CompositeKernel:
    """Make a kernel of the l1 distance from a formula in z = |x - y|_1 = sum_i |x_i - y_i|.

    Parameters
    ----------
    formula, **parameters :
        As for :func:`radial`, including ``support``; z is the l1 distance.

    Returns
    -------
    CompositeKernel
        Every formula has values and kernel matrices.  In several columns, spectral measures are
        available for sums of multiples of ``exp(-c*z)`` only; ``SpectralFeatures`` approximates the
        others on the data.

    References
    ----------
    X. Huang et al., "Classification with truncated l1 distance kernel", IEEE Trans. Neural Netw.
    Learn. Syst. 29 (2018) 2025.

    Examples
    --------
    >>> kernel = l1("Max(tau - z, 0)", tau=3)
    >>> kernel.gram([[0.0, 0.0], [1.0, 1.0]])
    array([[3., 1.],
           [1., 3.]])
    """
    return of_factor(radial(formula, **parameters), metric=L1)
