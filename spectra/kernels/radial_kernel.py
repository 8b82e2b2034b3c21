"""Radial kernels as formulas on balls: values, sums and products.

A kernel is a finite sum of pieces, each a formula in z = |x - y| on a ball z <= support and zero
beyond it (support may be infinite).  Pieces with one support are merged, so that equal kernels
are equal objects and cancellations are exact.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import sympy
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.limits import stage, staged
from spectra.base.numbers import FloatArray, check_unit_norms, real_array
from spectra.errors import FormulaError, ParameterError
from spectra.formula.evaluation.evaluate import numpy_function
from spectra.formula.one_sided_limits import limit_at, value_at_zero
from spectra.formula.pieces import Piece, merged
from spectra.formula.reader.parameters import exact_length, exact_parameter
from spectra.formula.reader.parsing import Z
from spectra.kernels.algebra import Algebra

__all__ = ["RadialKernel"]

#: Points without a value at which a limit is looked for: more of them are no isolated ones.
_MOST_LIMITS = 3


@dataclass(frozen=True, repr=False)
class RadialKernel(Algebra):
    """A radial kernel k(z), z = |x - y|, as pieces; its public form is :class:`spectra.Kernel`."""

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

    def rescale(self, length: float | sympy.Expr) -> Self:
        """The kernel k(z / length), which is radial even where k was zonal."""
        scale = exact_length(length)
        return self._assembled((p.support * scale, p.expr.subs(Z, Z / scale)) for p in self.pieces)

    def __add__(self, other: Any) -> Self:
        if (other := self._operand(other)) is None:
            return NotImplemented
        return self._assembled(
            ((p.support, p.expr) for p in (*self.pieces, *other.pieces)),
            zonal=_both(self, other, sympy.Add),
        )

    def __mul__(self, other: Any) -> Self:
        if (other := self._operand(other)) is None:
            return NotImplemented
        return self._assembled(
            (
                (sympy.Min(p.support, q.support), p.expr * q.expr)
                for p in self.pieces
                for q in other.pieces
            ),
            zonal=_both(self, other, sympy.Mul),
        )

    @classmethod
    def _assembled(
        cls,
        pieces: Iterable[tuple[sympy.Expr, sympy.Expr]],
        *,
        zonal: sympy.Expr | None = None,
        label: str = "",
    ) -> Self:
        with stage("adding up the pieces of a kernel", of=label):
            return cls(merged(pieces), zonal, label)

    def _operand(self, other: Any) -> Self | None:
        """A kernel, or a number as one; what else adds to kernels knows how itself."""
        if isinstance(other, type(self)):
            return other
        if not isinstance(other, numbers.Number | sympy.Basic | np.generic):
            return None
        value = exact_parameter("coefficient", other)
        piece = Piece(sympy.Integer(2) if self.is_zonal else sympy.oo, value)
        return type(self)((piece,) if value != 0 else (), value if self.is_zonal else None)


def _both(a: RadialKernel, b: RadialKernel, combine: type[sympy.Expr]) -> sympy.Expr | None:
    return None if a.zonal is None or b.zonal is None else combine(a.zonal, b.zonal)
