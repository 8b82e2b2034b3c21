"""Functions inside a formula that must not vanish, and how far their phases turn along a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.numeric import FloatArray

__all__ = ["Phase", "inner_functions"]

ComplexArray = NDArray[Any]

_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.erf, sympy.erfc)
# A phase that moves by more than this between neighbours is looked at between them.
_SMOOTH_STEP = 1.0
_MOST_HALVINGS = 40

Inner = tuple[sympy.Expr, complex | None, bool]


def inner_functions(expr: sympy.Expr) -> Iterator[Inner]:
    """Functions g (or 1 + c g, given c) with no zeros allowed, and whether with a cut.

    Raises
    ------
    FormulaError
        For a function whose singularities are not listed here.
    """
    for node in sympy.preorder_traversal(expr):
        if not node.free_symbols or node.is_Symbol or node.is_Add or node.is_Mul:
            continue
        if node.is_Pow:
            base, exponent = node.args
            if base.free_symbols and not (exponent.is_Integer and exponent >= 0):
                yield _without_growth(base, exponent), None, not exponent.is_Integer
        elif isinstance(node, _ENTIRE):
            continue
        elif isinstance(node, sympy.log):
            yield node.args[0], None, True
        elif isinstance(node, sympy.tan):
            yield 1 + sympy.exp(2 * sympy.I * node.args[0]), None, False
        elif isinstance(node, sympy.tanh):
            yield 1 + sympy.exp(-2 * node.args[0]), None, False
        elif isinstance(node, sympy.asin | sympy.acos):
            yield node.args[0], -1.0, True
            yield node.args[0], 1.0, True
        elif isinstance(node, sympy.atan):
            yield node.args[0], -1.0j, True
            yield node.args[0], 1.0j, True
        elif isinstance(node, sympy.expint):
            yield node.args[1], None, True
        elif isinstance(node, sympy.besselj | sympy.besseli | sympy.besselk):
            if isinstance(node, sympy.besselk) or not node.args[0].is_Integer:
                yield node.args[1], None, True
        else:
            raise FormulaError(f"the singularities of {node.func.__name__} are not followed")


def _without_growth(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """A function of the same zeros: cosh and sinh turn without end, and 1 +- exp(-2u) do not."""
    if exponent.is_Integer and isinstance(base, sympy.cosh):
        return 1 + sympy.exp(-2 * base.args[0])
    if exponent.is_Integer and isinstance(base, sympy.sinh):
        return 1 - sympy.exp(-2 * base.args[0])
    return base


@dataclass(frozen=True)
class Phase:
    """The phase of one inner function along a path."""

    function: Callable[[Any], Any]
    factor: complex | None
    has_cut: bool

    def _values(self, points: ComplexArray) -> ComplexArray:
        value = np.asarray(self.function(points))
        return value if self.factor is None else 1.0 + self.factor * value

    def turn(self, path: Callable[[FloatArray], ComplexArray], s: FloatArray) -> float | None:
        """How far the phase turns along a path, or None where it jumps."""
        value = self._values(path(s))
        for _ in range(_MOST_HALVINGS):
            if not np.all(np.isfinite(value)) or np.any(value == 0.0):
                return None
            # Divided by its size first: a quotient of tiny numbers overflows.
            unit = value / np.abs(value)
            step = np.angle(unit[1:] / unit[:-1])
            jump = np.abs(step)
            if self.has_cut:
                jump = np.maximum(jump, np.abs(np.diff(np.angle(unit))))
            rough = np.flatnonzero(jump > _SMOOTH_STEP)
            if rough.size == 0:
                return float(step.sum())
            between = 0.5 * (s[rough] + s[rough + 1])
            if np.any((between <= s[rough]) | (between >= s[rough + 1])):
                return None
            s = np.insert(s, rough + 1, between)
            value = np.insert(value, rough + 1, self._values(path(between)))
        return None
