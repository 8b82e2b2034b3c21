"""Radial kernels as formulas on balls, and how they are made from formulas and functions.

A kernel is a finite sum of pieces, each a formula in z = |x - y| on a ball z <= support and zero
beyond it (support may be infinite).  Pieces with one support are merged, so that equal kernels
are equal objects and cancellations are exact.
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
from scipy.spatial.distance import cdist

from spectra.base.limits import stage, staged
from spectra.base.numbers import FloatArray, check_unit_norms, real_array
from spectra.errors import FormulaError, ParameterError
from spectra.formula.callables import check_stated_properties, opaque_function
from spectra.formula.evaluation.evaluate import numpy_function
from spectra.formula.one_sided_limits import limit_at, refuse_jump_at_zero, value_at_zero
from spectra.formula.pieces import Piece, merge_pieces, zonal_to_radial
from spectra.formula.reader.parameters import exact_length, exact_parameter
from spectra.formula.reader.parsing import Z, parse_formula
from spectra.kernels.algebra import Algebra
from spectra.kernels.asymmetric import AsymmetricKernel, moved
from spectra.kernels.grouped import GroupedKernel, on_columns

__all__ = ["Algebra", "Kernel", "Piece", "radial", "zonal"]

# Distances at which a new piece must be real.
_PROBES_PER_PIECE = 61
# Points without a value at which a limit is looked for: more of them are not isolated.
_MOST_LIMITS = 3


@dataclass(frozen=True, repr=False)
class Kernel(Algebra):
    """A stationary radial kernel k(z), z = |x - y|; make one with :func:`radial` or :func:`zonal`.

    Kernels are immutable, hashable, picklable and compare by their formulas.  They add, subtract
    and multiply with one another and with real numbers.

    Attributes
    ----------
    pieces : tuple of Piece
        Sorted by support; none of them is zero.
    zonal : sympy expression or None
        The formula in u = <x, y> if the kernel lives on the unit sphere.
    label : str
        How to print it if it was named: the text it came from, or its name in the catalogue.

    Examples
    --------
    >>> k = radial("exp(-z**2/2)") - radial("exp(-z**2/200)")
    >>> k([0.0, 1.0])
    array([ 0.        , -0.38848182])
    """

    pieces: tuple[Piece, ...]
    zonal: sympy.Expr | None = None
    label: str = field(default="", compare=False)

    @property
    def formula(self) -> str:
        """The kernel as text in z (or u), with its supports."""
        if self.zonal is not None:
            return f"{self.zonal} at u = <x, y>"
        if not self.pieces:
            return "0"
        return " + ".join(
            str(p.expr) if p.support == sympy.oo else f"[{p.expr} on z <= {p.support}]"
            for p in self.pieces
        )

    @property
    def is_zonal(self) -> bool:
        """Whether the kernel is a formula in u = <x, y> on the unit sphere."""
        return self.zonal is not None

    @property
    def support(self) -> float:
        """The radius beyond which the kernel is zero (``inf`` if there is none)."""
        return max((float(p.support) for p in self.pieces), default=0.0)

    @cached_property
    @staged("finding the limit at z = 0")
    def at_zero(self) -> float:
        """k(0), the limit of k(z) as z falls to 0; a FormulaError if it is not finite or found."""
        total = sympy.Integer(0)
        for piece in self.pieces:
            value = value_at_zero(piece.expr)
            if value is None:
                raise FormulaError(
                    f"The kernel {self} has no finite limit at z = 0 that could be found. A kernel "
                    "with a spectral measure is bounded by k(0): check the formula at z = 0."
                )
            total += value
        return float(total)

    @cached_property
    def _functions(self) -> tuple[tuple[float, Callable[[FloatArray], FloatArray]], ...]:
        return tuple(
            (float(p.support), numpy_function(p.expr, Z, end=float(p.support))) for p in self.pieces
        )

    def _values(self, i: int, z: FloatArray) -> FloatArray:
        """Values of a piece at 0 < z <= its support; at isolated points its limits, or nan."""
        piece, (support, function) = self.pieces[i], self._functions[i]
        values = function(z)
        for point in np.unique(z[np.isnan(values)])[:_MOST_LIMITS]:
            ends = bool(point == support)
            radius = piece.support if ends else sympy.Rational(float(point))
            values[z == point] = limit_at(piece.expr, radius, from_above=not ends)
        return values

    def __getstate__(self) -> dict[str, Any]:
        return {"pieces": self.pieces, "zonal": self.zonal, "label": self.label}

    def __call__(self, z: ArrayLike) -> FloatArray:
        """Values k(z) at distances z >= 0; an array of the shape of z."""
        z = real_array(z, "z")
        if not np.all(z >= 0):
            raise ParameterError(
                f"A radial kernel is a function of a distance z >= 0, and it was asked at z = "
                f"{z[~(z >= 0)].ravel()[0]}."
            )
        value = np.zeros_like(z)
        for i, (support, _) in enumerate(self._functions):
            inside = (z <= support) & (z > 0)
            value[inside] += self._values(i, z[inside])
        if np.any(z == 0):
            value[z == 0] = self.at_zero
        return value

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        distances = cdist(X, Y)
        if self.is_zonal:
            for rows in (X, Y):
                check_unit_norms(np.linalg.norm(rows, axis=1), f"the zonal kernel {self}")
            distances = np.minimum(distances, 2.0)  # unit rows: only rounding can exceed 2
        return self(distances)

    @overload
    def rescale(self, length: float | sympy.Expr) -> Kernel: ...

    @overload
    def rescale(self, length: Sequence[float] | FloatArray) -> GroupedKernel: ...

    def rescale(
        self, length: float | sympy.Expr | Sequence[float] | FloatArray
    ) -> Kernel | GroupedKernel:
        """The kernel k(z / length), which is radial even if k was zonal.

        With a length for each column of the data it is k(|(x - y) / length|), whose verdict and
        table are those of k: the rows are divided.

        Examples
        --------
        >>> k = radial("exp(-z)")
        >>> k.rescale(2)([2.0]) == k([1.0])
        array([ True])
        >>> k.rescale([1.0, 20.0])([3.0, 80.0]) == k(5.0)
        np.True_
        """
        if not isinstance(length, sympy.Basic) and np.ndim(length):
            dim = np.size(length)
            return on_columns(self, range(dim), length, dim)
        scale = exact_length(length)
        return _assembled((p.support * scale, p.expr.subs(Z, Z / scale)) for p in self.pieces)

    def on(self, columns: int | Sequence[int], length: float | ArrayLike = 1.0) -> GroupedKernel:
        """The kernel of the distance in some columns alone, counted from 0.

        Each column is divided by its ``length``, or all of them by one.  Such kernels add and
        multiply with one another, and with numbers.

        Examples
        --------
        >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
        >>> print(space.on([0, 1]) * time.on(2, length=7))
        (exp(-z**2/2)).on([0, 1])*(exp(-z)).on([2], length=[7])
        """
        return on_columns(self, columns, length)

    def shift(self, offset: float | ArrayLike) -> AsymmetricKernel:
        """The asymmetric kernel D -> k(D + offset), D = x - y.

        ``offset`` has one number for each column of the data, or is one number for all of them.
        """
        return moved(self, offset=offset)

    def tilt(self, beta: float | ArrayLike) -> AsymmetricKernel:
        """The asymmetric kernel D -> k(D) exp(beta.D): ``existence`` says whether it has a measure.

        ``beta`` has one number for each column of the data, or is one number for all of them.
        """
        return moved(self, tilt=beta)

    def without_factor(self) -> tuple[float, Kernel]:
        """A number and a kernel whose product this is, so that multiples share a measure."""
        split = [piece.expr.as_independent(Z, as_Add=False) for piece in self.pieces]
        factors = {factor for factor, _ in split}
        if len(factors) != 1 or factors == {1} or not all(rest.has(Z) for _, rest in split):
            return 1.0, self
        pieces = tuple(
            Piece(p.support, rest) for p, (_, rest) in zip(self.pieces, split, strict=True)
        )
        return float(factors.pop()), Kernel(pieces)

    def __add__(self, other: Any) -> Kernel:
        if (other := self._operand(other)) is None:
            return NotImplemented
        pieces = [(p.support, p.expr) for p in (*self.pieces, *other.pieces)]
        return _assembled(pieces, zonal=_both(self, other, sympy.Add))

    def __mul__(self, other: Any) -> Kernel:
        if (other := self._operand(other)) is None:
            return NotImplemented
        pieces = [
            (sympy.Min(p.support, q.support), p.expr * q.expr)
            for p in self.pieces
            for q in other.pieces
        ]
        return _assembled(pieces, zonal=_both(self, other, sympy.Mul))

    def _operand(self, other: Any) -> Kernel | None:
        """A kernel, or a number as one; None for kernels of other kinds, which know how to add."""
        if isinstance(other, Kernel):
            return other
        if not isinstance(other, numbers.Number | sympy.Basic | np.generic):
            return None
        value = exact_parameter("coefficient", other)
        piece = Piece(sympy.Integer(2) if self.is_zonal else sympy.oo, value)
        return Kernel((piece,) if value != 0 else (), value if self.is_zonal else None)


def _assembled(
    pieces: Iterable[tuple[sympy.Expr, sympy.Expr]],
    *,
    zonal: sympy.Expr | None = None,
    label: str = "",
) -> Kernel:
    with stage("adding up the pieces of a kernel", of=label):
        return Kernel(merge_pieces(pieces), zonal, label)


def _both(a: Kernel, b: Kernel, combine: type[sympy.Expr]) -> sympy.Expr | None:
    return None if a.zonal is None or b.zonal is None else combine(a.zonal, b.zonal)


@staged("making a kernel", advice="write its formula shorter, or give a callable")
def radial(
    formula: str | sympy.Expr | Callable[..., Any],
    *,
    support: float | sympy.Expr | None = None,
    **parameters: Any,
) -> Kernel:
    """Make a kernel from a formula in z = |x - y|, or a callable of z, zero beyond ``support``.

    Parameters
    ----------
    formula : str, sympy expression or callable
        A formula in ``z``.  Text is read through a whitelist and never evaluated.  A callable
        takes distances (one, or an array) and shows nothing of itself, so that its facts are
        stated by keywords instead of parameters; see ``docs/callables.md``.
    support : number, optional
        Radius beyond which the kernel is zero; by default there is none.
    **parameters : numbers
        A value for every other symbol of the formula.  For a callable: ``edge`` (k behaves like
        (support - z)**edge at its support), ``breaks`` (the radii inside where it is not smooth,
        with exponents in a mapping; ``()`` for none), ``origin`` ("smooth" for a smooth function of
        z**2, or the least power of z that is no even integer) and ``decay`` ("gaussian",
        "exponential" or the power of 1/z, where there is no support).

    Raises
    ------
    FormulaError
        If the text is not a formula, or is not real on 0 < z <= support.
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
    radius = sympy.oo if support is None else exact_parameter("support", support)
    expr = None if is_callable else parse_formula(formula, variable="z", parameters=parameters)
    if not radius.is_extended_positive:
        raise ParameterError(
            f"The support of a kernel is a radius and must be positive, and {support} is not."
        )
    if expr is None:
        assert callable(formula)
        expr = opaque_function(formula, **check_stated_properties(radius, parameters))(Z)
    label = formula if isinstance(formula, str) and not parameters and support is None else ""
    return _checked_real(_assembled([(radius, expr)], label=label))


@staged("making a kernel", advice="write its formula shorter")
def zonal(formula: str | sympy.Expr, **parameters: float | sympy.Expr) -> Kernel:
    """Make a kernel on the unit sphere from a formula in u = <x, y>.

    As a radial kernel it is taken at z^2 = 2 - 2u for z <= 2 and zero beyond z = 2.

    Parameters
    ----------
    formula : str or sympy expression
        A formula in ``u``, real on -1 <= u <= 1.
    **parameters : numbers
        A value for every other symbol of the formula.

    Examples
    --------
    >>> zonal("(1 + u)/2")([0.0, 2.0])
    array([1., 0.])
    """
    expr = parse_formula(formula, variable="u", parameters=parameters)
    label = formula if isinstance(formula, str) and not parameters else ""
    pieces = [(sympy.Integer(2), zonal_to_radial(expr))]
    return _checked_real(_assembled(pieces, zonal=expr, label=label))


def _checked_real(kernel: Kernel) -> Kernel:
    for i, (support, _) in enumerate(kernel._functions):
        if np.isinf(support):
            probes = np.geomspace(1e-3, 1e3, _PROBES_PER_PIECE)
        else:
            probes = support * np.linspace(0.0, 1.0, _PROBES_PER_PIECE)[1:]
        bad = np.isnan(kernel._values(i, probes))
        if np.any(bad):
            raise FormulaError(
                f"The formula {kernel.pieces[i].expr} has no real value at z = "
                f"{probes[bad][0]:.6g}. A kernel must be real on its whole domain: restrict it "
                "with support=..., or mend the formula."
            )
    for piece in kernel.pieces:
        refuse_jump_at_zero(piece.expr)
    return kernel
